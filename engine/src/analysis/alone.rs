//! Kernels of which nobody can tell beforehand whether vectors of work-items serve them better, or one work-item after the other.
//!
//! Where lanes access memory each for itself, in loops if there are any, vectors gather and scatter, or take apart and put together what lies far apart,
//! and where they also go through loops for different times, lanes
//! that are through wait for the others, above all where each leaves the loop by what it has loaded, or divides integers in it, which vectors
//! have no instruction for. What that costs depends on the
//! data, and on the processor. Launches find out (`exec/trial.rs`), so the results must be the same in both ways, to the last bit.

use super::Analysis;
use super::func::{BlockId, Terminator};
use super::shapes::Shape;
use crate::jit::target::Target;
use crate::lower::opencl_std::table;
use rustc_hash::FxHashSet;
use spirv::{Op, OpenclStd100Op};
use spirv_env::opcodes::opencl_std::{Family as StdFamily, Through};
use spirv_env::opcodes::{Convergence, Family, Memory, divides_integers};
use spirv_env::{Id, Inst};

/// Instructions of such a kernel at most: it is compiled in both ways.
const MOST_INSTS: usize = 400;
/// Bytes from lane to lane that are a lane's own, as those of other lanes are.
const APART: u64 = 16;
/// Bytes of a vector that is as much as a register is: one work-item has it in one, and lanes have as many as it has components.
const A_REGISTER: u64 = 32;
/// Instructions, one of the other, that a condition is looked through.
const MOST_DEPTH: u32 = 5;

/// Functions of floats that are the same instructions for one number as for many.
const EXACT: [OpenclStd100Op; 16] = [
    OpenclStd100Op::ceil,
    OpenclStd100Op::copysign,
    OpenclStd100Op::fabs,
    OpenclStd100Op::fclamp,
    OpenclStd100Op::floor,
    OpenclStd100Op::fma,
    OpenclStd100Op::fmax,
    OpenclStd100Op::fmax_common,
    OpenclStd100Op::fmin,
    OpenclStd100Op::fmin_common,
    OpenclStd100Op::mad,
    OpenclStd100Op::mix,
    OpenclStd100Op::rint,
    OpenclStd100Op::sqrt,
    OpenclStd100Op::native_sqrt,
    OpenclStd100Op::trunc,
];

impl Analysis<'_> {
    /// Whether a kernel may be faster as one work-item after the other, and does the same.
    pub fn may_be_faster_alone(&self, target: &Target) -> bool {
        let has_loops = !self.loops.loops.is_empty();
        let is_own = |block: BlockId, inst: &Inst| {
            self.is_access_of_own(block, inst) && (!has_loops || self.loops.of(block).is_some())
        };
        let own = || self.insts_in_blocks().any(|(block, inst)| is_own(block, inst));
        (own() || self.leaves_by_what_it_loads() || self.divides_where_lanes_wait())
            && self.insts_in_blocks().count() <= MOST_INSTS
            && self.insts_in_blocks().all(|(block, inst)| self.does_the_same_alone(block, inst, target))
    }

    /// The kernel's instructions, with their blocks.
    pub(super) fn insts_in_blocks(&self) -> impl Iterator<Item = (BlockId, &Inst)> {
        self.func.blocks.iter().flat_map(|(block, code)| code.insts.iter().map(move |inst| (block, inst)))
    }

    /// Whether an instruction accesses memory in which lanes' objects lie anywhere, or far from each other.
    fn is_access_of_own(&self, block: BlockId, inst: &Inst) -> bool {
        let is_access = matches!(inst.row().memory, Memory::Read { .. } | Memory::Write { .. })
            || inst.row().memory.is_atomic();
        let (bytes, steps) = match self.vector_access(inst) {
            Some((index, pointer, through)) => {
                let vector = self.vector_type(inst, through);
                let bytes = vector.map_or(0, |ty| self.func.module.types.layout(ty).size);
                (bytes, [Some((index, bytes)), Some((pointer, 1))])
            }
            None if is_access && !self.builtins.contains_key(&inst.id(0)) => {
                (self.func.pointee_bytes(inst.id(0)).unwrap_or(0), [Some((inst.id(0), 1)), None])
            }
            None => return false,
        };
        let mut apart: u64 = 0;
        for (id, unit) in steps.into_iter().flatten() {
            for shape in self.shape(block, id) {
                match shape {
                    Shape::Varying => return true,
                    Shape::Strided(step) => {
                        apart = apart.saturating_add(step.unsigned_abs().saturating_mul(unit))
                    }
                    _ => {}
                }
            }
        }
        self.private.interleaved.contains_key(&inst.id(0))
            || apart >= if bytes >= A_REGISTER { bytes } else { APART.max(2 * bytes) }
    }

    /// Whether lanes leave a loop when they like what they have loaded in it: a few may go on for long.
    fn leaves_by_what_it_loads(&self) -> bool {
        self.loops.loops.iter().any(|(id, this)| {
            let inside = |id: Id| self.def.get(&id).is_some_and(|block| this.blocks.contains(block));
            let is_loaded = |inst: &Inst| matches!(inst.row().memory, Memory::Read { .. });
            let decides = |block: BlockId| self.branches_by(block, &|id, inst| inside(id) && is_loaded(inst));
            self.control.divergent_loops.contains(id) && this.exits.iter().any(|(from, _)| decides(*from))
        })
    }

    /// Whether a block branches by a condition that is made, by nothing but computing, of what such an instruction gives.
    pub(super) fn branches_by(&self, block: BlockId, wanted: &impl Fn(Id, &Inst) -> bool) -> bool {
        match self.func.blocks[block].term {
            Terminator::Cond { cond, .. } => self.is_made_of(cond, MOST_DEPTH, wanted),
            _ => false,
        }
    }

    /// Whether lanes divide integers in a loop that they leave at different times.
    fn divides_where_lanes_wait(&self) -> bool {
        self.loops.loops.iter().any(|(id, this)| {
            let divides =
                |inst: &Inst| divides_integers(inst.op) && self.func.constant_bits(inst.id(1)).is_none();
            let insts = || this.blocks.iter().flat_map(|block| &self.func.blocks[*block].insts);
            self.control.divergent_loops.contains(id) && insts().any(divides)
        })
    }

    /// Whether a value is made, by nothing but computing, of what such an instruction gives.
    pub fn is_made_of(&self, id: Id, depth: u32, wanted: &impl Fn(Id, &Inst) -> bool) -> bool {
        let Some(inst) = self.definition(id).filter(|_| depth > 0) else { return false };
        wanted(id, inst)
            || (inst.row().is_pure() && inst.ids().any(|of| self.is_made_of(of, depth - 1, wanted)))
    }

    /// The index and the pointer of `vloadn`, `vstoren` and the like, and what is done through it.
    fn vector_access(&self, inst: &Inst) -> Option<(Id, Id, Through)> {
        let function = inst.opencl_std(self.func.module).filter(|std| std.family == StdFamily::VectorData)?;
        let (pointer, through) = function.pointer()?;
        Some((inst.argument(pointer - 1), inst.argument(pointer), through))
    }

    /// Whether an instruction gives the same, and asks nothing of other work-items, whether lanes are work-items or not.
    pub(super) fn does_the_same_alone(&self, block: BlockId, inst: &Inst, target: &Target) -> bool {
        let row = inst.row();
        if self.may_wait_for_others(block, inst)
            || row.family == Family::Call
            || row.convergence != Convergence::None
            || row.memory.is_of_images()
            || matches!(inst.op, Op::FRem | Op::FMod)
        {
            return false;
        }
        if row.family == Family::Extended {
            return self.is_function_among(inst, &EXACT)
                || self.vector_access(inst).is_some()
                || self.is_computed_in_lanes(inst, target);
        }
        true
    }

    /// Whether work-items may wait with an instruction for what others do.
    pub(super) fn may_wait_for_others(&self, block: BlockId, inst: &Inst) -> bool {
        let row = inst.row();
        // Who looks at what others write, again and again, may wait for it.
        let waits = || inst.result.is_some_and(|result| self.uses(result) > 0 && self.decides(result));
        match row.memory {
            memory if memory.is_atomic() => self.loops.of(block).is_some() && waits(),
            // What is stored is nothing that anybody waits for here.
            memory => row.synchronizes() || (inst.is_volatile() && !matches!(memory, Memory::Write { .. })),
        }
    }

    /// Whether an instruction is a function of floats that one lane is computed for as many are.
    fn is_computed_in_lanes(&self, inst: &Inst, target: &Target) -> bool {
        let function = inst.opencl_std(self.func.module).filter(|std| std.family == StdFamily::Float);
        let leaves = inst.ty.and_then(|ty| self.leaves.get(ty));
        function.zip(leaves).is_some_and(|(function, leaves)| {
            leaves.iter().all(|leaf| table::is_faster_in_lanes(function.op, leaf.scalar, target))
        })
    }

    /// Whether it depends on a value which way control goes, but for what is done or left out in place.
    fn decides(&self, value: Id) -> bool {
        let blocks = || self.func.blocks.values();
        let mut made: FxHashSet<Id> = FxHashSet::from_iter([value]);
        loop {
            let before = made.len();
            for block in blocks() {
                let pure = block
                    .insts
                    .iter()
                    .filter(|inst| inst.row().is_pure() && inst.ids().any(|id| made.contains(&id)));
                let results: Vec<Id> = pure.filter_map(|inst| inst.result).collect();
                let phis =
                    block.phis.iter().filter(|phi| phi.incoming.iter().any(|(_, id)| made.contains(id)));
                let phis: Vec<Id> = phis.map(|phi| phi.result).collect();
                made.extend(results.into_iter().chain(phis));
            }
            if made.len() == before {
                break;
            }
        }
        self.func.blocks.iter().any(|(at, block)| match block.term {
            Terminator::Cond { cond, then, els } => {
                made.contains(&cond) && !self.is_in_place(at, then, els) && !self.is_in_place(at, els, then)
            }
            Terminator::Switch { selector, .. } | Terminator::Dispatch { selector, .. } => {
                made.contains(&selector)
            }
            Terminator::IfNeeded { needed, .. } | Terminator::IfAll { holds: needed, .. } => {
                made.contains(&needed)
            }
            _ => false,
        })
    }

    /// Whether a block's branch to another does something, or leaves it out, and goes on at a third with the same values.
    fn is_in_place(&self, from: BlockId, inside: BlockId, behind: BlockId) -> bool {
        let goes_on = matches!(self.func.blocks[inside].term, Terminator::Branch(to) if to == behind);
        let is_only = self.cfg.preds[inside].as_slice() == [from];
        let is_same = self.func.blocks[behind].phis.iter().all(|phi| {
            let of = |pred: BlockId| phi.incoming.iter().find(|(of, _)| *of == pred).map(|(_, id)| *id);
            of(from) == of(inside)
        });
        goes_on && is_only && is_same
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::testing::{VARIANT, counted_loop, of_blocks};
    use crate::jit::target::Isa;

    /// Whether a kernel with a loop of these instructions, in which `%place` is anywhere, may be faster alone.
    fn may(inside: &str) -> bool {
        judged(&counted_loop("", inside))
    }

    /// The same of a kernel that is such a loop.
    fn judged(body: &str) -> bool {
        let before = "%id = OpLoad %ulong %GlobalLinearId
            %odd = OpIMul %ulong %id %any_ulong
            %place = OpInBoundsPtrAccessChain %to_uint %pointer %odd\n";
        let target = Target::limited(Isa::Avx2).expect("a target machine");
        of_blocks(&format!("{before}{body}"), VARIANT, |a| a.may_be_faster_alone(&target))
    }

    #[test]
    fn kernels_whose_lanes_go_their_own_ways_may_be_faster_alone() {
        assert!(may("OpStore %place %n"));
        assert!(may("%loaded = OpLoad %uint %place"));
        assert!(may("%before = OpAtomicIAdd %uint %place %uint_1 %uint_0 %n"));
        assert!(may(
            "%loaded = OpLoad %uint %place\n%f = OpConvertUToF %float %loaded\n%root = OpExtInst %float %std sqrt %f"
        ));
    }

    #[test]
    fn vectors_that_are_loaded_from_anywhere_count() {
        let load = |index: &str| format!("%pair = OpExtInst %uint2 %std vloadn %{index} %pointer 2");
        assert!(may(&load("odd")));
        assert!(!may(&load("id")), "rows of vectors");
        assert!(
            may(&format!("%fourth = OpIMul %ulong %id %ulong_4\n{}", load("fourth"))),
            "far from each other"
        );
        assert!(may(
            "%ones = OpCompositeConstruct %uint2 %n %n\n%none = OpExtInst %void %std vstoren %ones %odd %pointer"
        ));
    }

    #[test]
    fn without_loops_all_of_a_kernel_counts() {
        assert!(judged("OpStore %place %any_uint"));
        assert!(!judged(&counted_loop("", "").replacen("OpBranch", "OpStore %place %any_uint\nOpBranch", 1)));
        assert!(!judged("%there = OpInBoundsPtrAccessChain %to_uint %pointer %id\nOpStore %there %any_uint"));
    }

    #[test]
    fn divisions_count_where_lanes_wait_for_others() {
        let divides = |by: &str| counted_loop("", &format!("%rest = OpUMod %uint %any_uint {by}"));
        let apart = |body: String| {
            let each = body.replace("%bool %n %any_uint", "%bool %n %own");
            format!("%own = OpUConvert %uint %odd\n{each}")
        };
        assert!(judged(&apart(divides("%n"))));
        assert!(!judged(&apart(divides("%uint_4"))), "a multiplication");
        assert!(!judged(&divides("%n")), "all lanes go as far");
    }

    #[test]
    fn others_stay_vectors() {
        let row = "%there = OpInBoundsPtrAccessChain %to_uint %pointer %id\nOpStore %there %n";
        assert!(!may(row), "rows");
        let apart = |times: u32| {
            may(&format!(
                "%times = OpIMul %ulong %id %ulong_{times}\n%there = OpInBoundsPtrAccessChain %to_uint %pointer %times\nOpStore %there %n"
            ))
        };
        assert!(apart(16) && apart(4) && !apart(3), "far from each other");
        assert!(!may(""), "nothing in memory");
        let of = |ty: &str, function: &str| {
            may(&format!(
                "%loaded = OpLoad %uint %place\n%f = OpConvertUToF %{ty} %loaded\n%of = OpExtInst %{ty} %std {function} %f"
            ))
        };
        assert!(of("float", "sin") && of("float", "lgamma"), "computed as in lanes");
        assert!(!of("double", "lgamma"), "other bits");
        assert!(!may("%loaded = OpLoad %uint %place Volatile"), "may wait");
        let looks = "%seen = OpAtomicIAdd %uint %place %uint_1 %uint_0 %n\nOpStore %place %seen";
        assert!(may(looks), "a place in a list");
        let branch = |then: &str| {
            format!(
                "%seen = OpAtomicIAdd %uint %place %uint_1 %uint_0 %n\n%few = OpULessThan %bool %seen %any_uint\n\
                 OpBranchConditional %few %then %behind\n%then = OpLabel\n{then}"
            )
        };
        let in_place = "OpStore %place %n\nOpBranch %behind\n%behind = OpLabel";
        let body =
            counted_loop("", &branch(in_place)).replace("%entry %next %inside", "%entry %next %behind");
        assert!(judged(&body), "what is done or left out in place");
        let leaves = "OpBranch %behind\n%behind = OpLabel\n%left = OpPhi %uint %n %inside %seen %then\n\
             %again = OpINotEqual %bool %left %uint_0\nOpBranchConditional %again %more_of_it %way_out\n\
             %way_out = OpLabel\nOpReturn\n%more_of_it = OpLabel";
        let body =
            counted_loop("", &branch(leaves)).replace("%entry %next %inside", "%entry %next %more_of_it");
        assert!(!judged(&body), "may wait");
        assert!(!may("OpStore %place %n\nOpControlBarrier %uint_2 %uint_2 %uint_0"), "meets others");
        assert!(!may(&"OpStore %place %n\n".repeat(MOST_INSTS)), "long");
    }
}
