//! Random control flow, checked against an interpreter that runs one work-item after the other.
//!
//! Graphs are arbitrary: nested, unstructured, irreducible, with loops left in several ways. Values are in
//! pruned SSA form, so that phis, uses across blocks and uses after loops all occur.

use crate::{Dispatch, Engine, EngineConfig};
use rspirv::binary::Assemble;
use rspirv::dr::{Builder, Operand};
use spirv::{AddressingModel, BuiltIn, Capability, Decoration, ExecutionMode, ExecutionModel};
use spirv::{FunctionControl, MemoryModel, StorageClass};
use std::sync::Arc;

/// Variables of a program: some start uniform, some differ between work-items.
const VARS: usize = 4;
/// Back edges that a work-item takes before it is made to leave.
const FUEL: i32 = 24;

/// xorshift64*: the tests need reproducible variety, not statistics.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 16
    }

    fn below(&mut self, n: usize) -> usize {
        (self.next() % n as u64) as usize
    }
}

#[derive(Clone, Copy, Debug)]
enum Op {
    Add,
    Sub,
    Mul,
    Xor,
    And,
}

#[derive(Clone, Copy, Debug)]
enum Source {
    Var(usize),
    Const(i32),
}

#[derive(Clone, Debug)]
struct Step {
    to: usize,
    op: Op,
    from: usize,
    with: Source,
}

#[derive(Clone, Debug)]
enum Exit {
    Jump(usize),
    /// `(var & mask) < limit`
    If {
        var: usize,
        mask: i32,
        limit: i32,
        then: usize,
        els: usize,
    },
    /// `var & 3`
    Switch {
        var: usize,
        cases: [usize; 3],
        default: usize,
    },
    /// Uses up fuel, and leaves the program without any.
    Back(usize),
    End,
}

#[derive(Clone, Debug)]
struct Node {
    steps: Vec<Step>,
    exit: Exit,
}

/// The last variable is uniform in a row, and nothing else of it.
const ROW: usize = VARS - 1;

/// With `calm`, only hammocks diverge: branches within loops and out of them depend on what all work-items agree on.
fn program(random: &mut Random, calm: bool) -> Vec<Node> {
    let count = 3 + random.below(12);
    let mut nodes = Vec::new();
    for _ in 0..count {
        let steps = (0..random.below(4))
            .map(|_| Step {
                to: random.below(VARS),
                op: [Op::Add, Op::Sub, Op::Mul, Op::Xor, Op::And][random.below(5)],
                from: random.below(VARS),
                with: if random.below(2) == 0 {
                    Source::Var(random.below(VARS))
                } else {
                    Source::Const(random.below(50) as i32 - 10)
                },
            })
            .collect();
        nodes.push(Node { steps, exit: Exit::End });
    }
    // Edges to earlier nodes go through nodes of their own that use fuel.
    let mut backs = Vec::new();
    for (at, node) in nodes.iter_mut().enumerate() {
        let target = |random: &mut Random, backs: &mut Vec<usize>| {
            // Mostly near by, so that there is structure.
            let reach = if random.below(3) == 0 { count } else { 4 };
            let low = at.saturating_sub(if random.below(2) == 0 { 0 } else { reach });
            let to = (low + random.below(reach + 2)).min(count);
            if to > at {
                return to;
            }
            backs.push(to.max(1));
            count + backs.len()
        };
        let exit = match random.below(10) {
            0..=1 => Exit::Jump(target(random, &mut backs)),
            2..=7 => Exit::If {
                var: random.below(VARS),
                mask: [1, 3, 7, 15][random.below(4)],
                limit: 1 + random.below(5) as i32,
                then: target(random, &mut backs),
                els: target(random, &mut backs),
            },
            8 => {
                let mut to = || target(random, &mut backs);
                let cases = [to(), to(), to()];
                let default = to();
                Exit::Switch { var: random.below(VARS), cases, default }
            }
            _ => Exit::Jump(at + 1),
        };
        node.exit = exit;
    }
    if calm {
        calm_down(&mut nodes, random);
    }
    nodes.push(Node { steps: Vec::new(), exit: Exit::End });
    for to in backs {
        nodes.push(Node { steps: Vec::new(), exit: Exit::Back(to) });
    }
    nodes
}

/// Variables 1 and 2 keep what all work-items agree on, and branches go by them, but for hammocks.
fn calm_down(nodes: &mut [Node], random: &mut Random) {
    let last = nodes.len();
    for node in nodes.iter_mut() {
        for step in &mut node.steps {
            if matches!(step.to, 1 | 2) {
                step.from = 1 + step.from % 2;
                if let Source::Var(var) = &mut step.with {
                    *var = 1 + *var % 2;
                }
            }
        }
        match &mut node.exit {
            Exit::If { var, .. } | Exit::Switch { var, .. } => *var = 1 + *var % 2,
            _ => {}
        }
    }
    let mut at = 0;
    while at + 2 < last {
        if random.below(3) == 0 {
            let (var, mask) = ([0, ROW][random.below(2)], [1, 3][random.below(2)]);
            nodes[at].exit = Exit::If { var, mask, limit: 1, then: at + 1, els: at + 2 };
            nodes[at + 1].exit = Exit::Jump(at + 2);
            nodes[at + 1].steps.retain(|step| matches!(step.to, 0 | ROW));
            at += 1;
        }
        at += 1;
    }
}

fn end_of(nodes: &[Node]) -> usize {
    nodes.iter().position(|node| matches!(node.exit, Exit::End)).expect("one node is the end")
}

fn apply(op: Op, a: i32, b: i32) -> i32 {
    match op {
        Op::Add => a.wrapping_add(b),
        Op::Sub => a.wrapping_sub(b),
        Op::Mul => a.wrapping_mul(b),
        Op::Xor => a ^ b,
        Op::And => a & b,
    }
}

fn start(input: i32, group: i32, row: i32) -> [i32; VARS] {
    [input, 5, group.wrapping_mul(7), row]
}

fn result(vars: &[i32; VARS]) -> i32 {
    vars.iter().fold(0, |hash: i32, var| hash.wrapping_mul(31).wrapping_add(*var))
}

fn interpret(nodes: &[Node], input: i32, group: i32, row: i32) -> i32 {
    let mut vars = start(input, group, row);
    let (mut at, mut fuel) = (0, FUEL);
    loop {
        for step in &nodes[at].steps {
            let with = match step.with {
                Source::Var(var) => vars[var],
                Source::Const(value) => value,
            };
            vars[step.to] = apply(step.op, vars[step.from], with);
        }
        at = match &nodes[at].exit {
            Exit::Jump(to) => *to,
            Exit::If { var, mask, limit, then, els } => {
                if vars[*var] & mask < *limit {
                    *then
                } else {
                    *els
                }
            }
            Exit::Switch { var, cases, default } => {
                cases.get((vars[*var] & 3) as usize).copied().unwrap_or(*default)
            }
            Exit::Back(to) => {
                fuel -= 1;
                if fuel > 0 { *to } else { end_of(nodes) }
            }
            Exit::End => return result(&vars),
        };
    }
}

/// Values in SSA form: numbers that stand for a phi, a computed value or a start value.
#[derive(Clone, Default)]
struct Ssa {
    /// Replacement of a trivial phi.
    same: Vec<usize>,
}

impl Ssa {
    fn new_value(&mut self) -> usize {
        self.same.push(self.same.len());
        self.same.len() - 1
    }

    fn find(&self, mut value: usize) -> usize {
        while self.same[value] != value {
            value = self.same[value];
        }
        value
    }
}

fn successors(nodes: &[Node], at: usize) -> Vec<usize> {
    let mut list = match &nodes[at].exit {
        Exit::Jump(to) => vec![*to],
        Exit::If { then, els, .. } => vec![*then, *els],
        Exit::Switch { cases, default, .. } => cases.iter().copied().chain([*default]).collect(),
        Exit::Back(to) => vec![*to, end_of(nodes)],
        Exit::End => vec![],
    };
    list.sort_unstable();
    list.dedup();
    list
}

/// Assembles the program as a kernel `(global int *in, global int *out)`.
fn assemble(nodes: &[Node], width: Option<u32>) -> Vec<u8> {
    // Variables and, as the last one, the fuel.
    const ALL: usize = VARS + 1;
    let mut reachable = vec![false; nodes.len()];
    let mut work = vec![0];
    while let Some(at) = work.pop() {
        if !std::mem::replace(&mut reachable[at], true) {
            work.extend(successors(nodes, at));
        }
    }
    let mut preds: Vec<Vec<usize>> = vec![Vec::new(); nodes.len()];
    for at in (0..nodes.len()).filter(|at| reachable[*at]) {
        for to in successors(nodes, at) {
            preds[to].push(at);
        }
    }
    // Maximal SSA form, then without trivial phis (Braun and others, CC 2013).
    let mut ssa = Ssa::default();
    let starts: Vec<usize> = (0..ALL).map(|_| ssa.new_value()).collect();
    let ins: Vec<Vec<usize>> = (0..nodes.len())
        .map(|at| if at == 0 { starts.clone() } else { (0..ALL).map(|_| ssa.new_value()).collect() })
        .collect();
    let mut outs = ins.clone();
    let mut computed: Vec<Vec<usize>> = vec![Vec::new(); nodes.len()];
    for (at, node) in nodes.iter().enumerate() {
        for step in &node.steps {
            let value = ssa.new_value();
            computed[at].push(value);
            outs[at][step.to] = value;
        }
        if matches!(node.exit, Exit::Back(_)) {
            let value = ssa.new_value();
            computed[at].push(value);
            outs[at][VARS] = value;
        }
    }
    loop {
        let mut changed = false;
        for at in (1..nodes.len()).filter(|at| reachable[*at]) {
            for var in 0..ALL {
                let phi = ins[at][var];
                if ssa.find(phi) != phi {
                    continue;
                }
                let mut others: Vec<usize> =
                    preds[at].iter().map(|pred| ssa.find(outs[*pred][var])).filter(|v| *v != phi).collect();
                others.sort_unstable();
                others.dedup();
                if let [only] = others[..] {
                    ssa.same[phi] = only;
                    changed = true;
                }
            }
        }
        if !changed {
            break;
        }
    }

    let mut b = Builder::new();
    b.set_version(1, 2);
    for capability in [
        Capability::Addresses,
        Capability::Kernel,
        Capability::Int64,
        Capability::SubgroupDispatch,
        Capability::Linkage,
    ] {
        b.capability(capability);
    }
    b.memory_model(AddressingModel::Physical64, MemoryModel::OpenCL);
    let (void, int, long, boolean) = (b.type_void(), b.type_int(32, 0), b.type_int(64, 0), b.type_bool());
    let vector = b.type_vector(long, 3);
    let input_ty = b.type_pointer(None, StorageClass::Input, vector);
    let buffer = b.type_pointer(None, StorageClass::CrossWorkgroup, int);
    let function_ty = b.type_function(void, vec![buffer, buffer]);
    let builtin = |b: &mut Builder, kind: BuiltIn| {
        let id = b.variable(input_ty, None, StorageClass::Input, None);
        b.decorate(id, Decoration::BuiltIn, [Operand::BuiltIn(kind)]);
        b.decorate(id, Decoration::Constant, []);
        id
    };
    let global_id = builtin(&mut b, BuiltIn::GlobalInvocationId);
    let group_id = builtin(&mut b, BuiltIn::WorkgroupId);
    let linear = {
        let ty = b.type_pointer(None, StorageClass::Input, long);
        let id = b.variable(ty, None, StorageClass::Input, None);
        b.decorate(id, Decoration::BuiltIn, [Operand::BuiltIn(BuiltIn::GlobalLinearId)]);
        id
    };
    let constant = |b: &mut Builder, value: i32| b.constant_bit32(int, value as u32);
    let kernel = b.begin_function(void, None, FunctionControl::NONE, function_ty).expect("no open function");
    let (input, output) = (
        b.function_parameter(buffer).expect("in a function"),
        b.function_parameter(buffer).expect("in a function"),
    );
    let labels: Vec<u32> = nodes.iter().map(|_| b.id()).collect();
    // Ids of all values that stay: known before they are defined, since phis look ahead.
    let ids: Vec<u32> = ssa.same.iter().map(|_| b.id()).collect();
    let id_of = |ssa: &Ssa, value: usize| ids[ssa.find(value)];

    b.begin_block(None).expect("in a function");
    let entry_label = b.selected_block().expect("a block is open");
    let entry = b.module_ref().functions[0].blocks[entry_label].label.as_ref().and_then(|l| l.result_id);
    let entry = entry.expect("a block has a label");
    let place = b.load(vector, None, global_id, None, []).expect("in a block");
    let gid = b.load(long, None, linear, None, []).expect("in a block");
    let groups = b.load(vector, None, group_id, None, []).expect("in a block");
    let group = b.composite_extract(long, None, groups, [0]).expect("in a block");
    let group = b.u_convert(int, None, group).expect("in a block");
    let at = b.in_bounds_ptr_access_chain(buffer, None, input, gid, []).expect("in a block");
    let _ = b.load(int, Some(ids[starts[0]]), at, None, []).expect("in a block");
    let five = constant(&mut b, 5);
    b.copy_object(int, Some(ids[starts[1]]), five).expect("in a block");
    let seven = constant(&mut b, 7);
    b.i_mul(int, Some(ids[starts[2]]), group, seven).expect("in a block");
    let row = b.composite_extract(long, None, place, [1]).expect("in a block");
    b.u_convert(int, Some(ids[starts[ROW]]), row).expect("in a block");
    let fuel = constant(&mut b, FUEL);
    b.copy_object(int, Some(ids[starts[4]]), fuel).expect("in a block");
    b.branch(labels[0]).expect("in a block");
    let _ = entry;

    for (at, node) in nodes.iter().enumerate().filter(|(at, _)| reachable[*at]) {
        b.begin_block(Some(labels[at])).expect("in a function");
        if at != 0 {
            for var in 0..ALL {
                let phi = ins[at][var];
                if ssa.find(phi) == phi {
                    let incoming: Vec<(u32, u32)> =
                        preds[at].iter().map(|pred| (id_of(&ssa, outs[*pred][var]), labels[*pred])).collect();
                    b.phi(int, Some(ids[phi]), incoming).expect("in a block");
                }
            }
        }
        let mut now = ins[at].clone();
        for (step, value) in node.steps.iter().zip(&computed[at]) {
            let x = id_of(&ssa, now[step.from]);
            let y = match step.with {
                Source::Var(var) => id_of(&ssa, now[var]),
                Source::Const(value) => constant(&mut b, value),
            };
            let id = Some(ids[*value]);
            match step.op {
                Op::Add => b.i_add(int, id, x, y),
                Op::Sub => b.i_sub(int, id, x, y),
                Op::Mul => b.i_mul(int, id, x, y),
                Op::Xor => b.bitwise_xor(int, id, x, y),
                Op::And => b.bitwise_and(int, id, x, y),
            }
            .expect("in a block");
            now[step.to] = *value;
        }
        match &node.exit {
            Exit::Jump(to) => b.branch(labels[*to]).expect("in a block"),
            Exit::If { var, mask, limit, then, els } => {
                let (mask, limit) = (constant(&mut b, *mask), constant(&mut b, *limit));
                let bits = b.bitwise_and(int, None, id_of(&ssa, now[*var]), mask).expect("in a block");
                let less = b.s_less_than(boolean, None, bits, limit).expect("in a block");
                b.branch_conditional(less, labels[*then], labels[*els], []).expect("in a block");
            }
            Exit::Switch { var, cases, default } => {
                let three = constant(&mut b, 3);
                let bits = b.bitwise_and(int, None, id_of(&ssa, now[*var]), three).expect("in a block");
                let cases = cases.iter().enumerate();
                let cases: Vec<(Operand, u32)> =
                    cases.map(|(case, to)| (Operand::LiteralBit32(case as u32), labels[*to])).collect();
                b.switch(bits, labels[*default], cases).expect("in a block");
            }
            Exit::Back(to) => {
                let (one, zero) = (constant(&mut b, 1), constant(&mut b, 0));
                let fuel = ids[computed[at][0]];
                b.i_sub(int, Some(fuel), id_of(&ssa, now[VARS]), one).expect("in a block");
                let more = b.s_greater_than(boolean, None, fuel, zero).expect("in a block");
                b.branch_conditional(more, labels[*to], labels[end_of(nodes)], []).expect("in a block");
            }
            Exit::End => {
                let factor = constant(&mut b, 31);
                let mut hash = constant(&mut b, 0);
                for var in now.iter().take(VARS) {
                    let scaled = b.i_mul(int, None, hash, factor).expect("in a block");
                    hash = b.i_add(int, None, scaled, id_of(&ssa, *var)).expect("in a block");
                }
                let to = b.in_bounds_ptr_access_chain(buffer, None, output, gid, []).expect("in a block");
                b.store(to, hash, None, []).expect("in a block");
                b.ret().expect("in a block");
            }
        }
    }
    b.end_function().expect("in a function");
    b.entry_point(ExecutionModel::Kernel, kernel, "random", vec![global_id, group_id, linear]);
    if let Some(width) = width {
        b.execution_mode(kernel, ExecutionMode::SubgroupSize, [width]);
    }
    b.module().assemble().iter().flat_map(|word| word.to_le_bytes()).collect()
}

fn check(
    seed: u64,
    calm: bool,
    engine: &Arc<Engine>,
    width: Option<u32>,
    group_size: [u32; 3],
    group_count: [u32; 3],
) {
    let nodes = program(&mut Random(seed), calm);
    let bytes = assemble(&nodes, width);
    let profile = ze_extensions::DeviceProfile::host();
    let environment = spirv_env::Environment::new(&profile);
    let module = spirv_env::build(&[spirv_env::ModuleInput::new(&bytes)], &environment)
        .unwrap_or_else(|error| panic!("seed {seed}: {error}"));
    let key = crate::jit::hash::digest(&[&bytes]);
    let program = engine.load(Arc::new(module), key).expect("a module without variables");
    let kernel = program.kernel("random").expect("the kernel");
    let per_group: u32 = group_size.iter().product();
    let items = (per_group * group_count.iter().product::<u32>()) as usize;
    let mut random = Random(seed ^ 0xABCD_EF01);
    let input: Vec<i32> = (0..items).map(|_| random.below(64) as i32 - 8).collect();
    let mut output = vec![0i32; items];
    let mut args = Vec::new();
    args.extend((input.as_ptr() as u64).to_le_bytes());
    args.extend((output.as_mut_ptr() as u64).to_le_bytes());
    kernel
        .launch(&Dispatch { group_count, group_size, global_offset: [0; 3], args: &args })
        .unwrap_or_else(|error| panic!("seed {seed}: {error}"));
    let global = [0, 1, 2].map(|dim| group_size[dim] * group_count[dim]);
    for (at, (input, output)) in input.iter().zip(&output).enumerate() {
        let x = at as u32 % global[0];
        let group = (x / group_size[0]) as i32;
        let row = (at as u32 / global[0] % global[1]) as i32;
        let expected = interpret(&nodes, *input, group, row);
        assert_eq!(
            *output, expected,
            "seed {seed}, width {width:?}, groups of {group_size:?}, work-item {at}, input {input}\n{nodes:#?}"
        );
    }
}

#[test]
fn random_control_flow_agrees_with_an_interpreter() {
    let engine = Engine::new(EngineConfig { threads: 1, ..EngineConfig::default() });
    let first: u64 = std::env::var("ZE_CPU_TEST_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(1);
    let count: u64 =
        std::env::var("ZE_CPU_TEST_COUNT").ok().and_then(|count| count.parse().ok()).unwrap_or(60);
    for number in first..first + count {
        let seed = number.wrapping_mul(0x9E37_79B9_7F4A_7C15);
        let calm = number % 2 == 0;
        match seed >> 61 {
            0 => check(seed, calm, &engine, Some(16), [32, 1, 1], [3, 1, 1]),
            1 => check(seed, calm, &engine, Some(8), [20, 1, 1], [3, 1, 1]),
            2 => check(seed, calm, &engine, None, [5, 3, 2], [2, 2, 1]),
            3 => check(seed, calm, &engine, Some(32), [32, 3, 1], [2, 1, 1]),
            // Several sub-groups side by side.
            4 => check(seed, calm, &engine, Some(8), [64, 1, 1], [2, 1, 1]),
            5 => check(seed, calm, &engine, Some(16), [16, 4, 1], [2, 1, 2]),
            6 => check(seed, calm, &engine, Some(8), [8, 6, 2], [2, 2, 1]),
            _ => check(seed, calm, &engine, Some(8), [24, 2, 1], [2, 1, 1]),
        }
        check(seed, calm, &engine, None, [1, 1, 1], [8, 1, 1]);
    }
}
