//! Kernels of which nobody can tell beforehand whether vectors of work-items serve them better, or one work-item after the other.
//!
//! Where lanes access memory each for itself in loops, vectors gather and scatter, and where they also go through loops for different times, lanes
//! that are through wait for the others. What that costs depends on the data, and on the processor. Launches find out
//! (`exec/trial.rs`), so the results must be the same in both ways, to the last bit.

use super::Analysis;
use super::func::BlockId;
use super::shapes::Shape;
use rustc_hash::FxHashMap;
use spirv::{Op, OpenclStd100Op};
use spirv_env::opcodes::opencl_std::Family as StdFamily;
use spirv_env::opcodes::{Convergence, Family, Memory};
use spirv_env::{Id, Inst};

/// Instructions of such a kernel at most: it is compiled in both ways.
const MOST_INSTS: usize = 400;

/// Functions of floats that are the same instructions for one number as for many.
const EXACT: [OpenclStd100Op; 15] = [
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
    OpenclStd100Op::rint,
    OpenclStd100Op::sqrt,
    OpenclStd100Op::native_sqrt,
    OpenclStd100Op::trunc,
];

impl Analysis<'_> {
    /// Whether a kernel may be faster as one work-item after the other, and does the same.
    pub fn may_be_faster_alone(&self) -> bool {
        let insts = || {
            let of_block =
                |block: BlockId| self.func.blocks[block].insts.iter().map(move |inst| (block, inst));
            self.func.block_ids().flat_map(of_block)
        };
        let differs = |block: BlockId, id: Id| self.shape(block, id).contains(&Shape::Varying);
        let is_own = |block: BlockId, inst: &Inst| {
            let is_access = matches!(inst.row().memory, Memory::Read { .. } | Memory::Write { .. })
                || inst.row().memory.is_atomic();
            let is_own = match self.vector_access(inst) {
                Some([index, pointer]) => differs(block, pointer) || differs(block, index),
                None => {
                    is_access
                        && !self.builtins.contains_key(&inst.id(0))
                        && (self.private.interleaved.contains_key(&inst.id(0)) || differs(block, inst.id(0)))
                }
            };
            is_own && self.loops.of(block).is_some()
        };
        insts().any(|(block, inst)| is_own(block, inst))
            && insts().count() <= MOST_INSTS
            && insts().all(|(block, inst)| self.does_the_same_alone(block, inst))
            && self.products_stay()
    }

    /// The index and the pointer of `vloadn`, `vstoren` and the like.
    fn vector_access(&self, inst: &Inst) -> Option<[Id; 2]> {
        let function = inst.opencl_std(self.func.module).filter(|std| std.family == StdFamily::VectorData)?;
        let (pointer, _) = function.pointer()?;
        Some([inst.argument(pointer - 1), inst.argument(pointer)])
    }

    /// Whether an instruction gives the same, and asks nothing of other work-items, whether lanes are work-items or not.
    fn does_the_same_alone(&self, block: BlockId, inst: &Inst) -> bool {
        let row = inst.row();
        if inst.is_volatile()
            || row.family == Family::Call
            || row.convergence != Convergence::None
            || row.memory.is_of_images()
            || matches!(inst.op, Op::Dot | Op::FRem | Op::FMod)
        {
            return false;
        }
        if row.family == Family::Extended {
            return self.is_function_among(inst, &EXACT) || self.vector_access(inst).is_some();
        }
        // Who looks at what others write, again and again, may wait for it.
        let waits = || inst.result.is_some_and(|result| self.uses(result) > 0);
        match row.memory {
            memory if memory.is_atomic() => self.loops.of(block).is_none() || !waits(),
            _ => !row.synchronizes(),
        }
    }

    /// Whether no product may be fused with a sum of another block: with lanes under a mask something may lie between them.
    fn products_stay(&self) -> bool {
        let mut products: FxHashMap<Id, BlockId> = FxHashMap::default();
        for block in self.func.block_ids() {
            let insts = self.func.blocks[block].insts.iter();
            products.extend(
                insts
                    .filter(|inst| matches!(inst.op, Op::FMul | Op::VectorTimesScalar))
                    .filter_map(|inst| Some((inst.result?, block))),
            );
        }
        let stays = |id: Id, block: BlockId| products.get(&id).is_none_or(|of| *of == block);
        self.func.block_ids().all(|block| {
            let code = &self.func.blocks[block];
            let mut incoming = code.phis.iter().flat_map(|phi| &phi.incoming);
            code.insts.iter().all(|inst| inst.ids().all(|id| stays(id, block)))
                && incoming.all(|(_, id)| !products.contains_key(id))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::testing::{VARIANT, counted_loop, of_blocks};

    /// Whether a kernel with a loop of these instructions, in which `%place` is anywhere, may be faster alone.
    fn may(inside: &str) -> bool {
        let before = "%id = OpLoad %ulong %GlobalLinearId
            %odd = OpIMul %ulong %id %any_ulong
            %place = OpInBoundsPtrAccessChain %to_uint %pointer %odd\n";
        of_blocks(&format!("{before}{}", counted_loop("", inside)), VARIANT, |a| a.may_be_faster_alone())
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
        assert!(may(
            "%ones = OpCompositeConstruct %uint2 %n %n\n%none = OpExtInst %void %std vstoren %ones %odd %pointer"
        ));
    }

    #[test]
    fn others_stay_vectors() {
        let row = "%there = OpInBoundsPtrAccessChain %to_uint %pointer %id\nOpStore %there %n";
        assert!(!may(row), "rows");
        assert!(!may(""), "nothing in memory");
        let sine = "%loaded = OpLoad %uint %place\n%f = OpConvertUToF %float %loaded\n%sine = OpExtInst %float %std sin %f";
        assert!(!may(sine), "other bits");
        assert!(!may("%loaded = OpLoad %uint %place Volatile"), "may wait");
        let looks = "%seen = OpAtomicIAdd %uint %place %uint_1 %uint_0 %n\nOpStore %place %seen";
        assert!(!may(looks), "may wait");
        assert!(!may("OpStore %place %n\nOpControlBarrier %uint_2 %uint_2 %uint_0"), "meets others");
        assert!(!may(&"OpStore %place %n\n".repeat(MOST_INSTS)), "long");
    }

    #[test]
    fn products_are_summed_up_where_they_are_made() {
        let product = "%loaded = OpLoad %uint %place\n%f = OpConvertUToF %float %loaded\n%product = OpFMul %float %f %any_float\n";
        assert!(may(&format!("{product}%sum = OpFAdd %float %product %any_float")));
        let elsewhere = format!(
            "{product}OpBranchConditional %any_bool %then %behind\n%then = OpLabel\n
             %sum = OpFAdd %float %product %any_float\nOpBranch %behind\n%behind = OpLabel"
        );
        let body = counted_loop("", &elsewhere).replace("%entry %next %inside", "%entry %next %behind");
        let before = "%id = OpLoad %ulong %GlobalLinearId
            %odd = OpIMul %ulong %id %any_ulong
            %place = OpInBoundsPtrAccessChain %to_uint %pointer %odd\n";
        assert!(!of_blocks(&format!("{before}{body}"), VARIANT, |a| a.may_be_faster_alone()));
    }
}
