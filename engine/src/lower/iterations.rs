//! Loops whose iterations become lanes: addresses in the form in which LLVM's vectoriser sees that they are consecutive.
//!
//! An index of 32 bits that goes up by one with each iteration is sign-extended in each, and may wrap around for all that LLVM
//! knows. As for the lanes of a sub-group (`Trust::Addresses`) both sides of that would be 4 GiB apart, so where it is an address
//! that is accessed, it is the extension of what the index was in the first iteration and as many steps in 64 bits as there were
//! iterations since. Those are counted beside the loop's own counter; LLVM drops what it does not need.

use super::Lowerer;
use super::builder::{Opcode, Value};
use super::values::Reg;
use crate::abi::LaneMapping;
use crate::analysis::func::BlockId;
use crate::analysis::leaves::Scalar;
use crate::analysis::loops::{Loop, LoopId};
use crate::error::EngineError;
use spirv::Op;
use spirv_env::Id;

/// Where a loop has the number of its iteration, and that of the next one.
#[derive(Clone, Copy)]
pub(super) struct Counter {
    now: Value,
    next: Value,
}

impl Lowerer<'_, '_> {
    /// Counts the iterations of the loop that this block is in front of, the header of, or the latch of. The next number is made in the header: a latch that does
    /// nothing but hand on values is none for LLVM, and one that computes has a loop of one block turned, with its first iteration in front of it.
    pub(super) fn count_iterations(&mut self, block: BlockId) {
        let a = self.a;
        if a.variant.mapping != LaneMapping::Iterations {
            return;
        }
        let is_part = |this: &Loop| [this.preheader, this.header, this.latch].contains(&block);
        for (id, this) in a.loops.loops.iter().filter(|(_, this)| is_part(this)) {
            let Counter { now, next } = self.counter(id);
            if block == this.preheader {
                self.b.store(self.b.i64(0), now, 8);
            }
            if block == this.header {
                self.b.store(self.b.add(self.b.load(Scalar::I64, 1, now, 8), self.b.i64(1)), next, 8);
            }
            if block == this.latch {
                self.b.store(self.b.load(Scalar::I64, 1, next, 8), now, 8);
            }
        }
    }

    /// Where a loop counts its iterations, in 64 bits.
    fn counter(&mut self, id: LoopId) -> Counter {
        if let Some(counter) = self.flow.iterations.get(&id) {
            return *counter;
        }
        let [now, next] = [(); 2].map(|()| self.prologue_alloca(Scalar::I64, 1));
        *self.flow.iterations.entry(id).or_insert(Counter { now, next })
    }

    /// An index of an access chain.
    pub(super) fn index(&mut self, id: Id) -> Result<Reg, EngineError> {
        let (a, block) = (self.a, self.current_block());
        let Some(inside) = a.loops.of(block).filter(|_| a.variant.mapping == LaneMapping::Iterations) else {
            return self.leaf(id);
        };
        let narrow = a.definition(id).filter(|inst| inst.op == Op::SConvert).map_or(id, |inst| inst.id(0));
        let step = a.iteration_step(inside, narrow).filter(|step| *step != 0);
        let is_widened = a.index_width(narrow) == Some(u32::BITS) && a.index_width(id) >= Some(u32::BITS);
        let Some(step) = step.filter(|_| is_widened) else { return self.leaf(id) };
        // The narrow one may have no value in this block.
        let now = self.leaf(id)?;
        let Counter { now: counter, .. } = self.counter(inside);
        let b = &self.b;
        let count = b.load(Scalar::I64, 1, counter, 8);
        let moved = b.mul(count, b.i64(step as u64));
        Ok(self.apply(&[now], |this, values| {
            let b = &this.b;
            let now = b.sext_or_trunc(values[0], Scalar::I32);
            let first = b.sub(now, b.cast(Opcode::LLVMTrunc, moved, Scalar::I32));
            b.add(b.cast(Opcode::LLVMSExt, first, Scalar::I64), moved)
        }))
    }
}
