//! Calls through pointers: one function for all calls that hand over the same scalars.
//!
//! A dispatcher is `results f(context, mask, pointers, parameters)`. It takes the pointer of the first lane that
//! waits, finds the function's place in the program's table (`pointers::Lookup`) and calls it for all lanes with that
//! pointer, until none waits: uniform pointers make one call, others as many as there are different ones. Which functions there
//! are for what is handed over is known when a kernel is compiled, so the place picks one of direct calls: a
//! pointer that leads to none of them (null, garbage, a function of other parameters or of another program) ends the
//! launch. So does a call that finds too little stack left for what it may lead to.

use super::builder::{Builder, Function, Inline, IntPred, Label, Opcode, Value};
use super::calls::{Functions, Passed, field};
use crate::analysis::Analysis;
use crate::analysis::calls::AnalysedKernel;
use crate::analysis::leaves::Scalar;
use crate::error::EngineError;
use crate::exec::failure::{NO_FUNCTION, TOO_DEEP};
use crate::jit::symbols::{FAIL, LOOKUP};
use crate::pointers::{Lookup, STEP};
use rustc_hash::FxHashMap;
use spirv_env::{CallShape, Id, Inst};
use std::mem::offset_of;

/// A function that calls through pointers.
#[derive(Debug)]
pub(super) struct Dispatcher {
    pub function: Function,
    pub symbol: String,
    pub results: Vec<Passed>,
    /// The functions that it may lead to, by their places in the program's table.
    pub targets: Vec<(u32, Id)>,
    params: Vec<Passed>,
}

/// Parameters in front of those that are handed over.
const OWN_PARAMS: u32 = 3;

impl Dispatcher {
    /// Declares the dispatcher of all calls like this one.
    pub fn declare(
        b: &Builder,
        unit: &AnalysedKernel<'_>,
        a: &Analysis<'_>,
        call: &Inst,
        shape: &CallShape,
        number: usize,
    ) -> Result<Dispatcher, EngineError> {
        let w = a.variant.width;
        let (module, func) = (a.func.module, &a.func);
        let leaves = |ty| {
            let leaves = a.leaves.get(ty);
            let leaves = leaves.ok_or_else(|| func.unsupported("a call that hands over too much".into()))?;
            Ok(leaves.iter().map(|leaf| Passed::varying(leaf.scalar, w)).collect::<Vec<_>>())
        };
        let results = call.ty.map(leaves).transpose()?.unwrap_or_default();
        let mut params = Vec::new();
        for ty in call.ids().skip(1).filter_map(|id| func.type_of(id)) {
            params.extend(leaves(ty)?);
        }
        let places: FxHashMap<Id, u32> = module.addressable.iter().copied().zip(1..).collect();
        let fits = |id: &Id| {
            module.function(*id).and_then(|function| CallShape::of(&module.types, function)).as_ref()
                == Some(shape)
        };
        let indirect = unit.callees.iter().filter(|callee| callee.indirect);
        let targets = indirect.map(|callee| callee.analysis.func.function).filter(fits);
        let mut targets: Vec<(u32, Id)> = targets.filter_map(|id| Some((*places.get(&id)?, id))).collect();
        targets.sort_unstable();
        let symbol = format!("ze_cpu_dispatch_{number}");
        let of = |list: &[Passed]| list.iter().map(|leaf| (leaf.scalar, leaf.lanes(w))).collect::<Vec<_>>();
        let own = [(Scalar::Ptr, 1), (Scalar::Bool, w), (Scalar::I64, w)];
        let all: Vec<_> = own.into_iter().chain(of(&params)).collect();
        let function = b.function_with_results(&symbol, &all, &of(&results), Inline::Never);
        b.param_read_only(function, 0);
        Ok(Dispatcher { function, symbol, results, targets, params })
    }

    /// Makes its code.
    pub fn emit(&self, b: &Builder, functions: &Functions) {
        let w = b.width;
        let block = |name: &str| b.block(self.function, name);
        let [start, overflow, next, wrong, done] = ["start", "overflow", "next", "wrong", "done"].map(block);
        let (context, mask) = (b.param(self.function, 0), b.param(self.function, 1));
        b.at_end(start);
        let limit = b.load(Scalar::I64, 1, b.offset_const(context, field::STACK_LIMIT), 8);
        let frame = b.reinterpret(b.frame_address(), Scalar::I64);
        // Pointers of lanes that are off may be anything, and have to be the same anything each time.
        let pointers = b.freeze(b.param(self.function, 2));
        b.cond_br(b.icmp(IntPred::LLVMIntULT, frame, limit), overflow, next);

        b.at_end(next);
        let waiting = b.phi(Scalar::Bool, w);
        b.add_incoming(waiting, mask, start);
        let so_far: Vec<Value> = self.results.iter().map(|leaf| b.phi(leaf.scalar, leaf.lanes(w))).collect();
        for (phi, leaf) in so_far.iter().zip(&self.results) {
            b.add_incoming(*phi, b.poison(leaf.scalar, leaf.lanes(w)), start);
        }
        let (pointer, called, rest) = if w == 1 {
            (pointers, waiting, b.int(Scalar::Bool, 1, 0))
        } else {
            let first = b.intrinsic_on(
                "llvm.cttz",
                &[(Scalar::I64, 1)],
                &[b.mask_bits(waiting), b.int(Scalar::Bool, 1, 1)],
            );
            let pointer = b.extract(pointers, b.zext_or_trunc(first, Scalar::I32));
            let same = b.icmp(IntPred::LLVMIntEQ, pointers, b.splat(pointer, w));
            (pointer, b.and(waiting, same), b.and(waiting, b.not(same)))
        };
        let place = self.place(b, pointer);
        let labels: Vec<Label> = self.targets.iter().map(|_| block("call")).collect();
        let cases: Vec<(u64, Label)> =
            self.targets.iter().zip(&labels).map(|((place, _), label)| (u64::from(*place), *label)).collect();
        b.switch(place, wrong, &cases);

        let join = block("called");
        let mut returned: Vec<(Label, Vec<Value>)> = Vec::new();
        for ((_, id), label) in self.targets.iter().zip(&labels) {
            b.at_end(*label);
            let callable = &functions.by_id[id];
            let mut operands = vec![context, called];
            operands.extend((0..self.params.len() as u32).map(|at| b.param(self.function, OWN_PARAMS + at)));
            let values = b.call_with_results(callable.function, &operands, callable.results.len());
            returned.push((b.here(), values));
            b.br(join);
        }

        b.at_end(join);
        if returned.is_empty() {
            // Nobody comes here.
            b.unreachable();
        } else {
            let mut blended = Vec::new();
            for (at, (leaf, old)) in self.results.iter().zip(&so_far).enumerate() {
                let phi = b.phi(leaf.scalar, leaf.lanes(w));
                returned.iter().for_each(|(from, values)| b.add_incoming(phi, values[at], *from));
                blended.push((phi, *old));
            }
            let blended: Vec<Value> = blended
                .into_iter()
                .map(|(new, old)| if w == 1 { new } else { b.select(called, new, old) })
                .collect();
            b.add_incoming(waiting, rest, join);
            so_far.iter().zip(&blended).for_each(|(phi, value)| b.add_incoming(*phi, *value, join));
            b.cond_br(b.any(rest), next, done);
            b.at_end(done);
            b.ret_values(&blended);
        }
        if returned.is_empty() {
            b.at_end(done);
            b.unreachable();
        }
        self.fail(b, overflow, TOO_DEEP, b.i64(0));
        self.fail(b, wrong, NO_FUNCTION, pointer);
    }

    /// A function's place in the program's table; 0 for what is no address of the program's functions.
    fn place(&self, b: &Builder, pointer: Value) -> Value {
        let lookup = b.external(LOOKUP);
        let word = |at: usize, scalar: Scalar| b.load_invariant(scalar, b.offset_const(lookup, at as u64), 8);
        let bytes = b.sub(pointer, word(offset_of!(Lookup, first), Scalar::I64));
        // What is between two addresses becomes large.
        let shift = STEP.trailing_zeros();
        let distance = b.or(
            b.bin(Opcode::LLVMLShr, bytes, b.i64(u64::from(shift))),
            b.bin(Opcode::LLVMShl, bytes, b.i64(u64::from(u64::BITS - shift))),
        );
        let inside = b.icmp(IntPred::LLVMIntULT, distance, word(offset_of!(Lookup, count), Scalar::I64));
        let table = word(offset_of!(Lookup, table), Scalar::Ptr);
        b.branch(
            inside,
            || b.load_invariant(Scalar::I32, b.gep(table, distance, Scalar::I32), 4),
            || b.i32(0),
        )
    }

    /// Ends the launch.
    fn fail(&self, b: &Builder, at: Label, code: u64, value: Value) {
        b.at_end(at);
        let worker = b.load(Scalar::Ptr, 1, b.offset_const(b.param(self.function, 0), field::WORKER), 8);
        b.call_engine(FAIL, Scalar::I64, &[worker, b.i64(code), value]);
        b.unreachable();
    }
}
