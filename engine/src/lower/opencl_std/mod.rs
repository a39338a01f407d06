//! The `OpenCL.std` extended instruction set.
//!
//! | file | what |
//! |---|---|
//! | `element` | what functions of single elements are written with; calls of the C library |
//! | `table` | which function an instruction is |
//! | `exponential`, `logarithm`, `table_logarithm`, `pair_logarithm`, `table_power`, `power`, `trigonometric`, `inverse`, `circular`, `hyperbolic`, `error_function`, `wide_error_function`, `gamma`, `parts`, `remainder`, `common` | functions of single floats |
//! | `integer` | functions of single integers |
//! | `geometric` | functions of whole vectors |
//! | `vector_data` | vector loads and stores |
//! | `print` | `printf`, and what is reported like it |

mod circular;
mod common;
pub mod element;
mod error_function;
mod exponential;
mod gamma;
mod geometric;
mod hyperbolic;
pub(super) mod integer;
mod inverse;
mod logarithm;
mod native;
mod pair_logarithm;
mod parts;
mod power;
pub mod print;
mod remainder;
pub mod table;
mod table_logarithm;
mod table_power;
mod trigonometric;
pub(super) mod vector_data;
mod wide_error_function;

use super::builder::{Builder, IntPred, Value};
use super::values::{Reg, Val};
use super::{Lowerer, access, remembered};
use crate::error::EngineError;
use crate::jit::target::Target;
use element::Element;
use smallvec::SmallVec;
use spirv::OpenclStd100Op as StdOp;
use spirv_env::opcodes::opencl_std::{Family, Function};
use spirv_env::{Id, Inst, Module, Type};

/// Whether this folder lowers an instruction; the error names what is missing.
pub fn supports(inst: &Inst, module: &Module) -> Result<(), String> {
    match inst.opencl_std(module) {
        Some(_) => Ok(()),
        None => Err(format!("OpenCL.std instruction {}", inst.lit(1))),
    }
}

pub fn lower(
    this: &mut Lowerer<'_, '_>,
    inst: &Inst,
    function: &Function,
) -> Result<Option<Val>, EngineError> {
    let op = function.op;
    let missing = || this.no_lowering(inst);
    match function.family {
        Family::Float => {
            let function = table::function(op).ok_or_else(missing)?;
            element_wise(this, inst, Some(op), |m, x| m.promoted(x, |m, x| function.call(m, x))).map(Some)
        }
        Family::Bits => {
            let function = table::native_function(op).ok_or_else(missing)?;
            element_wise(this, inst, None, function).map(Some)
        }
        Family::Integer => {
            let function = integer::function(op).ok_or_else(missing)?;
            element_wise(this, inst, None, |m, x| function(m.b, x)).map(Some)
        }
        Family::Pair => {
            let function = table::pair_function(op).ok_or_else(missing)?;
            with_pointer(this, inst, op, function).map(Some)
        }
        Family::Geometric => {
            let function = geometric::function(op).ok_or_else(missing)?;
            whole_vectors(this, inst, function).map(Some)
        }
        Family::VectorData => vector_data::lower(this, inst, function),
        Family::Selection => match op {
            StdOp::bitselect => element_wise(this, inst, None, bit_select).map(Some),
            StdOp::select => select(this, inst).map(Some),
            StdOp::shuffle | StdOp::shuffle2 => shuffle(this, inst).map(Some),
            _ => Err(missing()),
        },
        Family::Hint => Ok(None),
        Family::Print => print::printf(this, inst).map(Some),
    }
}

/// `x[0] * x[1] + x[2]`, rounded once.
pub fn fma(b: &Builder, target: &Target, x: &[Value]) -> Value {
    Element::of(b, target, x[0]).promoted(x, parts::fma)
}

/// What is left of `x[0]` by `x[1]`, with the sign of `x[0]`.
pub fn fmod(b: &Builder, target: &Target, x: &[Value]) -> Value {
    Element::of(b, target, x[0]).promoted(x, remainder::fmod)
}

fn operands(inst: &Inst) -> SmallVec<[Id; 4]> {
    inst.ids().skip(1).collect()
}

/// Lanes that a function of a value for all lanes is computed with, of which one is wanted: as scalars, functions are calls of the C library
/// where lanes are computed in place, and a call spills all vectors that live. Where a lane is all that there is, it gets what it would get
/// among others, so that either kind of code may go on with the other's work (`analysis::alone`).
const LANES_OF_UNIFORM: u32 = 4;

/// Computes several values at once from leaves: from scalars if all are uniform, else from lanes. `op` is the function, if it is one of
/// floats.
fn compute(
    this: &Lowerer<'_, '_>,
    regs: &[Reg],
    op: Option<StdOp>,
    f: impl FnOnce(&Element<'_>, &[Value]) -> Vec<Value>,
) -> Val {
    let b = &this.b;
    let form = |values: &[Value]| Element::of(b, this.target, values[0]);
    let uniform: Option<Vec<Value>> = regs.iter().map(Reg::of_all_lanes).collect();
    let Some(scalars) = uniform else {
        let values: Vec<Value> = regs.iter().map(|reg| this.vector(*reg)).collect();
        return f(&form(&values), &values).into_iter().map(Reg::varying).collect();
    };
    if op.is_some_and(|op| table::is_faster_in_lanes(op, form(&scalars).ty, this.target)) {
        let values: Vec<Value> = scalars.iter().map(|x| b.splat(*x, LANES_OF_UNIFORM)).collect();
        let results = f(&form(&values), &values).into_iter();
        return results.map(|x| Reg::uniform(b.extract(x, b.i32(0)))).collect();
    }
    f(&form(&scalars), &scalars).into_iter().map(Reg::uniform).collect()
}

/// The leaves with this number of several values.
fn column(vals: &[Val], leaf: usize) -> SmallVec<[Reg; 4]> {
    vals.iter().map(|val| if val.len() == 1 { val[0] } else { val[leaf] }).collect()
}

fn values(this: &mut Lowerer<'_, '_>, ids: &[Id]) -> Result<SmallVec<[Val; 4]>, EngineError> {
    ids.iter().map(|id| this.value(*id)).collect()
}

/// Applies a function to each component.
fn element_wise(
    this: &mut Lowerer<'_, '_>,
    inst: &Inst,
    op: Option<StdOp>,
    f: impl Fn(&Element<'_>, &[Value]) -> Value,
) -> Result<Val, EngineError> {
    let leaves = this.leaves(inst.ty.expect("functions have a type"))?;
    let ids = operands(inst);
    let vals = values(this, &ids)?;
    let is_long = op.is_some_and(|op| table::length(op).0 > 1) && remembered::is_worth_it(this, &ids);
    let of_leaf = |leaf: usize| -> Reg {
        let regs = column(&vals, leaf);
        let make = || compute(this, &regs, op, |m, x| vec![f(m, x)])[0];
        let scalars: Option<Vec<Value>> = regs.iter().map(Reg::of_all_lanes).collect();
        match scalars.filter(|_| is_long) {
            Some(scalars) => {
                let made = || make().of_all_lanes().expect("what is made of scalars is one");
                Reg::uniform(remembered::of(this, leaves[leaf].scalar, &scalars, made))
            }
            None => make(),
        }
    };
    Ok((0..leaves.len()).map(of_leaf).collect())
}

/// Applies a function with two results to each component; the second goes through the last operand, a pointer.
fn with_pointer(
    this: &mut Lowerer<'_, '_>,
    inst: &Inst,
    op: StdOp,
    f: table::PairFunction,
) -> Result<Val, EngineError> {
    let leaves = this.leaves(inst.ty.expect("functions have a type"))?.len();
    let mut ids = operands(inst);
    let pointer = ids.pop().expect("validated: there is a pointer");
    let vals = values(this, &ids)?;
    let (mut results, mut stored) = (Val::new(), Val::new());
    for leaf in 0..leaves {
        let pair = compute(this, &column(&vals, leaf), Some(op), |m, x| {
            let mut second = None;
            let first = m.promoted(x, |wide, x| {
                let [first, other] = f(wide, x);
                second = Some(m.narrowed(other));
                first
            });
            vec![first, second.expect("set by the call")]
        });
        results.push(pair[0]);
        stored.push(pair[1]);
    }
    let pointee = match this.a.func.type_of(pointer).map(|ty| this.a.func.module.types.get(ty)) {
        Some(Type::Pointer { pointee, .. }) => *pointee,
        _ => return Err(this.unsupported(format!("a result through {pointer}, which is no pointer"))),
    };
    access::store_to(this, pointer, pointee, stored, access::Access::default())?;
    Ok(results)
}

/// Applies a function to all components of all operands.
fn whole_vectors(
    this: &mut Lowerer<'_, '_>,
    inst: &Inst,
    f: geometric::Function,
) -> Result<Val, EngineError> {
    let regs: SmallVec<[Reg; 8]> = values(this, &operands(inst))?.into_iter().flatten().collect();
    Ok(compute(this, &regs, None, |m, x| {
        let wide: Vec<Value> = x.iter().map(|x| m.widened(*x)).collect();
        let form = Element { ty: m.b.scalar_of(wide[0]), ..*m };
        f(&form, &wide).into_iter().map(|x| m.narrowed(x)).collect()
    }))
}

fn bit_select(m: &Element<'_>, x: &[Value]) -> Value {
    let (a, b, c) = (m.bits(x[0]), m.bits(x[1]), m.bits(x[2]));
    m.b.reinterpret(m.b.xor(a, m.b.and(m.b.xor(a, b), c)), m.ty)
}

/// By the condition's sign bit for vectors, by its being zero for scalars (OpenCL C 2.0 §6.13.6).
fn select(this: &mut Lowerer<'_, '_>, inst: &Inst) -> Result<Val, EngineError> {
    let ty = inst.ty.expect("functions have a type");
    let predicate = match this.a.func.module.types.get(ty) {
        Type::Vector { .. } => IntPred::LLVMIntSLT,
        _ => IntPred::LLVMIntNE,
    };
    element_wise(this, inst, None, |m, x| {
        let zero = m.b.zero(m.b.scalar_of(x[2]), m.lanes);
        m.b.select(m.b.icmp(predicate, x[2], zero), x[1], x[0])
    })
}

fn shuffle(this: &mut Lowerer<'_, '_>, inst: &Inst) -> Result<Val, EngineError> {
    let ids = operands(inst);
    let (mask, sources) = ids.split_last().expect("validated: there is a mask");
    let mask = this.value(*mask)?;
    let mut vals = Val::new();
    for source in sources {
        let val = this.value(*source)?;
        vals.extend(val.iter().copied());
        // The second source begins at a power of two.
        vals.resize(vals.len().next_power_of_two(), val[0]);
    }
    let count = vals.len();
    vals.extend(mask);
    Ok(compute(this, &vals, None, |m, x| geometric::shuffle(m, &x[..count], &x[count..])))
}

#[cfg(test)]
pub(in crate::lower) mod tests;
