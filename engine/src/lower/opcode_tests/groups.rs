//! What groups compute together, against an interpreter that sees all lanes at once; and that a result which a row
//! says is the same in all lanes is.

use super::{Random, Results, run};
use spirv::Op;
use spirv_env::op_name;
use spirv_env::opcodes::{self, Convergence, Family, Memory, Opcode, Signature, Uniformity};

/// A work-item as its group sees it.
#[derive(Clone, Copy)]
struct Lane {
    active: bool,
    value: u32,
    /// A lane number or distance.
    index: u32,
    /// What lies at its place in memory.
    memory: u32,
}

impl Lane {
    fn predicate(self) -> bool {
        self.value & 2 != 0
    }

    /// Small enough that sums and products of a group are exact.
    fn float(self) -> f32 {
        1.0 + (self.value & 1) as f32
    }

    fn other(self) -> u32 {
        self.value.wrapping_mul(3)
    }
}

/// An associative operation on words, with its identity; floats are their bits.
fn combine(name: &str) -> (u32, fn(u32, u32) -> u32) {
    fn float(f: fn(f32, f32) -> f32, a: u32, b: u32) -> u32 {
        f(f32::from_bits(a), f32::from_bits(b)).to_bits()
    }
    match name {
        "IAdd" => (0, u32::wrapping_add),
        "IMul" => (1, u32::wrapping_mul),
        "SMin" => (i32::MAX as u32, |a, b| (a as i32).min(b as i32) as u32),
        "UMin" => (u32::MAX, u32::min),
        "SMax" => (i32::MIN as u32, |a, b| (a as i32).max(b as i32) as u32),
        "UMax" => (0, u32::max),
        "BitwiseAnd" => (u32::MAX, |a, b| a & b),
        "BitwiseOr" => (0, |a, b| a | b),
        "BitwiseXor" => (0, |a, b| a ^ b),
        "LogicalAnd" => (1, |a, b| a & b),
        "LogicalOr" => (0, |a, b| a | b),
        "LogicalXor" => (0, |a, b| a ^ b),
        "FAdd" => (0.0f32.to_bits(), |a, b| float(|a, b| a + b, a, b)),
        "FMul" => (1.0f32.to_bits(), |a, b| float(|a, b| a * b, a, b)),
        "FMin" => (f32::INFINITY.to_bits(), |a, b| float(f32::min, a, b)),
        "FMax" => (f32::NEG_INFINITY.to_bits(), |a, b| float(f32::max, a, b)),
        name => panic!("no operation {name}"),
    }
}

/// The size of clusters.
const CLUSTER: usize = 4;

/// What a reduction or scan gives a lane.
fn reduction(row: &Opcode, operation: &str, lanes: &[Lane], me: usize) -> u32 {
    let name = op_name(row.op);
    let name =
        name.trim_start_matches("OpGroupNonUniform").trim_start_matches("OpGroup").trim_end_matches("KHR");
    let (identity, apply) = combine(name);
    let of = |lane: &Lane| match row.signature {
        Signature::GroupFloat => lane.float().to_bits(),
        Signature::GroupBool => u32::from(lane.predicate()),
        _ => lane.value,
    };
    let range = match operation {
        "Reduce" => 0..lanes.len(),
        "InclusiveScan" => 0..me + 1,
        "ExclusiveScan" => 0..me,
        _ => me / CLUSTER * CLUSTER..lanes.len().min((me / CLUSTER + 1) * CLUSTER),
    };
    lanes[range].iter().filter(|lane| lane.active).map(of).fold(identity, apply)
}

/// What an instruction gives the lane `me` of its group; none where that is undefined.
fn interpret(row: &Opcode, operation: &str, lanes: &[Lane], me: usize) -> Option<u32> {
    if row.family == opcodes::Family::Reduction {
        return Some(reduction(row, operation, lanes, me));
    }
    let mut active = lanes.iter().filter(|lane| lane.active);
    let this = lanes[me];
    let all_bits = u32::MAX >> (32 - lanes.len().min(32));
    let from = |lane: usize| lanes.get(lane).filter(|lane| lane.active).map(|lane| lane.value);
    let ballot = || {
        let bits = lanes.iter().enumerate().filter(|(_, lane)| lane.active && lane.predicate());
        bits.fold(0, |bits, (at, _)| bits | 1 << at)
    };
    let index = this.index as usize;
    match row.op {
        Op::GroupAll | Op::GroupNonUniformAll | Op::SubgroupAllKHR => {
            Some(u32::from(active.all(|lane| lane.predicate())))
        }
        Op::GroupAny | Op::GroupNonUniformAny | Op::SubgroupAnyKHR => {
            Some(u32::from(active.any(|lane| lane.predicate())))
        }
        Op::GroupNonUniformAllEqual => Some(u32::from(active.all(|lane| lane.value == this.value))),
        Op::SubgroupAllEqualKHR => Some(u32::from(active.all(|lane| lane.predicate() == this.predicate()))),
        Op::GroupBroadcast | Op::GroupNonUniformBroadcast | Op::SubgroupReadInvocationKHR => from(1),
        Op::GroupNonUniformBroadcastFirst | Op::SubgroupFirstInvocationKHR => {
            active.next().map(|lane| lane.value)
        }
        Op::GroupNonUniformElect => {
            lanes.iter().position(|lane| lane.active).map(|first| u32::from(first == me))
        }
        Op::GroupNonUniformBallot | Op::SubgroupBallotKHR => Some(ballot()),
        Op::GroupNonUniformInverseBallot => Some(this.value >> me & 1),
        Op::GroupNonUniformBallotBitExtract => Some(this.value >> (index % 32) & 1),
        Op::GroupNonUniformBallotBitCount => {
            let below = |lanes: usize| u32::MAX.checked_shr(32 - lanes as u32).unwrap_or(0);
            let mask = match operation {
                "Reduce" => all_bits,
                "InclusiveScan" => below(me + 1),
                _ => below(me),
            };
            Some((this.value & mask).count_ones())
        }
        Op::GroupNonUniformBallotFindLSB => {
            Some(this.value & all_bits).filter(|bits| *bits != 0).map(u32::trailing_zeros)
        }
        Op::GroupNonUniformBallotFindMSB => {
            Some(this.value & all_bits).filter(|bits| *bits != 0).map(|bits| 31 - bits.leading_zeros())
        }
        Op::GroupNonUniformShuffle | Op::SubgroupShuffleINTEL => from(index),
        Op::GroupNonUniformShuffleXor | Op::SubgroupShuffleXorINTEL => from(me ^ index),
        Op::GroupNonUniformShuffleUp => me.checked_sub(index).and_then(from),
        Op::GroupNonUniformShuffleDown => from(me + index),
        Op::GroupNonUniformRotateKHR => from((me + index) % lanes.len()),
        Op::SubgroupShuffleUpINTEL => match me.checked_sub(index) {
            Some(lane) => from(lane),
            None => lanes.get(lanes.len() + me - index).filter(|lane| lane.active).map(|lane| lane.other()),
        },
        Op::SubgroupShuffleDownINTEL => match (me + index).checked_sub(lanes.len()) {
            None => from(me + index),
            Some(lane) => lanes.get(lane).filter(|lane| lane.active).map(|lane| lane.other()),
        },
        Op::SubgroupBlockReadINTEL => Some(lanes[me].memory),
        op => panic!("{op:?} is not interpreted"),
    }
}

/// A use of an opcode: its group operation, and whether the whole work-group executes it.
struct Use {
    row: &'static Opcode,
    operation: &'static str,
    of_work_group: bool,
}

/// All uses of opcodes that groups execute together for a result.
fn uses() -> Vec<Use> {
    let mut uses = Vec::new();
    let results = opcodes::rows().filter(|row| {
        row.convergence != Convergence::None
            && row.uniformity != Uniformity::Nothing
            && row.memory != Memory::AsyncCopy
            && !matches!(row.family, Family::Image | Family::Matrix)
            && row.family.is_lowered()
    });
    for row in results {
        let operations: &[&str] = match (row.uniformity, row.convergence) {
            (Uniformity::ByOperation, Convergence::Subgroup) => {
                &["Reduce", "InclusiveScan", "ExclusiveScan", "ClusteredReduce"]
            }
            (Uniformity::ByOperation | Uniformity::CountByOperation, _) => {
                &["Reduce", "InclusiveScan", "ExclusiveScan"]
            }
            _ => &[""],
        };
        let scopes: &[bool] = if row.convergence == Convergence::Group { &[false, true] } else { &[false] };
        for &operation in operations {
            uses.extend(scopes.iter().map(|&of_work_group| Use { row, operation, of_work_group }));
        }
    }
    uses
}

impl Use {
    /// The instruction, its result turned into a `uint`.
    fn emit(&self, results: &mut Results, at: usize) {
        use Signature as S;
        let name = op_name(self.row.op);
        let scope = match (self.row.convergence.has_scope(), self.of_work_group) {
            (false, _) => "",
            (true, false) => "%u3",
            (true, true) => "%u2",
        };
        let operation = self.operation;
        let cluster = if operation == "ClusteredReduce" { "%u4" } else { "" };
        let (ty, operands) = match self.row.signature {
            S::GroupInt => ("uint", format!("{operation} %value {cluster}")),
            S::GroupFloat => ("float", format!("{operation} %fvalue {cluster}")),
            S::GroupBool => ("bool", format!("{operation} %predicate {cluster}")),
            S::GroupVote | S::KhrVote => ("bool", "%predicate".into()),
            S::AllEqual => ("bool", "%value".into()),
            S::Elect => ("bool", String::new()),
            S::GroupBroadcast => ("uint", "%value %lane1".into()),
            S::IntelShuffle if self.row.uniformity == Uniformity::Uniform => ("uint", "%value %lane1".into()),
            S::BroadcastFirst | S::KhrFirst => ("uint", "%value".into()),
            S::Ballot | S::KhrBallot => ("uint4", "%predicate".into()),
            S::InverseBallot => ("bool", "%words".into()),
            S::BallotBitExtract => ("bool", "%words %number".into()),
            S::BallotBitCount => ("uint", format!("{operation} %words")),
            S::BallotFind => ("uint", "%words".into()),
            S::Shuffle | S::Rotate | S::IntelShuffle => ("uint", "%value %number".into()),
            S::IntelShufflePair if self.row.op == Op::SubgroupShuffleUpINTEL => {
                ("uint", "%other %value %number".into())
            }
            S::IntelShufflePair => ("uint", "%value %other %number".into()),
            S::BlockRead => ("uint", "%block".into()),
            signature => panic!("{signature:?} is not emitted"),
        };
        results.push(&format!("%r{at} = {name} %{ty} {scope} {operands}"));
        match ty {
            "uint" => results.keep(&format!("%r{at}")),
            "bool" => {
                results.push(&format!("%w{at} = OpSelect %uint %r{at} %u1 %u0"));
                results.keep(&format!("%w{at}"));
            }
            "float" => {
                results.push(&format!("%w{at} = OpBitcast %uint %r{at}"));
                results.keep(&format!("%w{at}"));
            }
            _ => {
                results.push(&format!("%w{at} = OpCompositeExtract %uint %r{at} 0"));
                results.keep(&format!("%w{at}"));
            }
        }
    }
}

/// Which operands are the same in all lanes, and whether some lanes are off.
#[derive(Clone, Copy, Debug)]
struct Setting {
    uniform_value: bool,
    uniform_number: bool,
    masked: bool,
}

fn check(width: u32, group_size: u32, setting: Setting, seed: u64) {
    // Divergent lanes do not meet in work-groups.
    let uses: Vec<Use> = uses().into_iter().filter(|of| !(setting.masked && of.of_work_group)).collect();
    let mut results = Results::default();
    let at = |uniform: bool| if uniform { "%ul0" } else { "%gx" };
    let before = format!(
        "%place = OpInBoundsPtrAccessChain %pg_uint %in {}
%value = OpLoad %uint %place
%place_i = OpInBoundsPtrAccessChain %pg_uint %index {}
%number = OpLoad %uint %place_i
%own = OpInBoundsPtrAccessChain %pg_uint %in %gx
%mine_value = OpLoad %uint %own
%other = OpIMul %uint %value %u3
%low = OpBitwiseAnd %uint %value %u1
%more = OpIAdd %uint %low %u1
%fvalue = OpConvertUToF %float %more
%second = OpBitwiseAnd %uint %value %u2
%predicate = OpINotEqual %bool %second %u0
%words = OpCompositeConstruct %uint4 %value %value %value %value
%lane1 = OpCopyObject %uint %u1
%gx32 = OpUConvert %uint %gx
%lx = OpUMod %uint %gx32 %group_size
%rest = OpUMod %uint %lx %width
%begin = OpISub %uint %gx32 %rest
%begin_s = OpGroupNonUniformBroadcastFirst %uint %u3 %begin
%block = OpInBoundsPtrAccessChain %pg_uint %in %begin_s
%bits4 = OpBitwiseAnd %uint %mine_value %u4
%on = OpIEqual %bool %bits4 %u0
",
        at(setting.uniform_value),
        at(setting.uniform_number)
    );
    if setting.masked {
        results.push("OpBranchConditional %on %then %join\n%then = OpLabel");
    }
    for (number, of) in uses.iter().enumerate() {
        of.emit(&mut results, number);
    }
    if setting.masked {
        results.push("OpBranch %join\n%join = OpLabel");
    }
    let text = results
        .text(width, &before)
        .replace("%fn = OpTypeFunction", &format!(
                "%width = OpConstant %uint {width}\n%group_size = OpConstant %uint {group_size}\n%fn = OpTypeFunction"
            ));
    let items = 2 * group_size as usize;
    let mut random = Random(seed);
    let input: Vec<u32> = (0..items).map(|_| random.next()).collect();
    let index: Vec<u32> = (0..items).map(|_| random.next() % width).collect();
    let output = run(&text, group_size, &input, &index, uses.len());
    let lane = |item: usize| Lane {
        active: !setting.masked || input[item] & 4 == 0,
        value: input[if setting.uniform_value { 0 } else { item }],
        index: index[if setting.uniform_number { 0 } else { item }],
        memory: input[item],
    };
    for (number, of) in uses.iter().enumerate() {
        let (group_size, width) = (group_size as usize, width as usize);
        let members = if of.of_work_group { group_size } else { width };
        for first in (0..items).filter(|item| (item % group_size).is_multiple_of(members)) {
            // The last sub-group of a work-group may have fewer work-items than lanes.
            let end = (first + members).min((first / group_size + 1) * group_size);
            let mut lanes: Vec<Lane> = (first..end).map(lane).collect();
            lanes.resize(members, Lane { active: false, value: 0, index: 0, memory: 0 });
            let expected =
                |me: usize| interpret(of.row, of.operation, &lanes, me).filter(|_| lanes[me].active);
            let what = || format!("{:?} {} of {members} lanes, {setting:?}", of.row.op, of.operation);
            for me in 0..members {
                if let Some(expected) = expected(me) {
                    let got = output[(first + me) * uses.len() + number];
                    assert_eq!(got, expected, "{}, lane {me}", what());
                }
            }
            let is_uniform = match of.row.uniformity {
                Uniformity::Uniform => true,
                Uniformity::UniformIf(_) => setting.uniform_number,
                Uniformity::ByOperation => of.operation == "Reduce",
                Uniformity::CountByOperation => of.operation == "Reduce" && setting.uniform_value,
                Uniformity::Elementwise => setting.uniform_value && setting.uniform_number,
                _ => false,
            };
            let mut defined = (0..members).filter_map(expected);
            let one = defined.next();
            assert!(
                !is_uniform || defined.all(|other| Some(other) == one),
                "{} differs between lanes",
                what()
            );
        }
    }
}

/// Lanes of a sub-group, and work-items of a work-group: whole sub-groups, and one that is not.
const GROUPS: [(u32, u32); 4] = [(8, 16), (16, 32), (32, 64), (16, 21)];

#[test]
fn groups_compute_what_an_interpreter_does() {
    for (number, (width, group_size)) in GROUPS.into_iter().enumerate() {
        for bits in 0..8 {
            let bit = |at: u32| bits >> at & 1 != 0;
            let setting = Setting { uniform_value: bit(0), uniform_number: bit(1), masked: bit(2) };
            check(width, group_size, setting, 0x9E37_79B9 + 8 * number as u64 + bits);
        }
    }
}
