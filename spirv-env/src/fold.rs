//! Folding of `OpSpecConstantOp` once specialization constants have their values.
//!
//! Scalars and vectors of integers, floating-point numbers and Booleans are computed here. Addresses are not
//! known yet: operations on pointers stay [`Folded::Expression`].

use crate::module::{ConstantValue, Id, Module, Operand, Type, TypeId};
use spirv::Op;

mod scalar;

/// A constant's bits. Booleans are 0 and 1.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Value {
    Scalar(u128),
    Vector(Vec<u128>),
    /// A part of, or the same as, a constant that is already there.
    Existing(ConstantValue),
}

#[derive(Debug)]
pub(crate) enum Folded {
    Value(Value),
    Expression,
}

/// What an operand type is, as far as folding cares.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Scalar {
    pub kind: ScalarKind,
    pub width: u32,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ScalarKind {
    Bool,
    Int,
    Float,
}

fn scalar_of(module: &Module, ty: TypeId) -> Option<(Scalar, usize)> {
    let (elem, lanes) = match module.types.get(ty) {
        Type::Vector { elem, len } => (*elem, *len as usize),
        _ => (ty, 1),
    };
    let (kind, width) = match module.types.get(elem) {
        Type::Bool => (ScalarKind::Bool, 1),
        Type::Int { width } => (ScalarKind::Int, *width),
        Type::Float { width } => (ScalarKind::Float, *width),
        _ => return None,
    };
    Some((Scalar { kind, width }, lanes))
}

/// What an operation on integers and Booleans of up to 64 bits makes of known ones, given with their types; none of other operations, and where
/// the result is undefined.
pub fn fold_numbers(module: &Module, op: Op, result: TypeId, operands: &[(TypeId, u64)]) -> Option<u64> {
    let number = |ty: TypeId| match scalar_of(module, ty)? {
        (Scalar { kind: ScalarKind::Float, .. }, _) => None,
        (scalar, 1) => Some(scalar).filter(|scalar| scalar.width <= u64::BITS),
        _ => None,
    };
    let kinds = operands.iter().map(|(ty, _)| number(*ty)).collect::<Option<Vec<Scalar>>>()?;
    let result = number(result)?;
    scalar::check(op, result, &kinds).ok()?;
    let args: Vec<u128> = operands.iter().map(|(_, bits)| u128::from(*bits)).collect();
    if scalar::is_undefined(op, &kinds, &args) {
        return None;
    }
    scalar::evaluate(op, result, &kinds, &args).ok().map(|bits| bits as u64)
}

/// Folds `op` to a value of type `ty`. `Err` has the reason that the operation is malformed.
pub(crate) fn fold(
    module: &Module,
    type_of: &dyn Fn(Id) -> Option<TypeId>,
    op: Op,
    ty: TypeId,
    operands: &[Operand],
) -> Result<Folded, String> {
    match op {
        Op::CompositeExtract => return extract(module, type_of, ty, operands),
        Op::Select => return select(module, type_of, ty, operands),
        Op::CompositeInsert | Op::VectorShuffle => return rearrange(module, type_of, op, ty, operands),
        _ => {}
    }
    if scalar::signature(op).is_none() && op != Op::Bitcast {
        return Ok(Folded::Expression);
    }
    let mut inputs = Vec::with_capacity(operands.len());
    let mut scalars = Vec::with_capacity(operands.len());
    for operand in operands {
        let Operand::Id(id) = operand else {
            return Err("a literal operand where a constant belongs".into());
        };
        let Some((scalar, lanes)) = type_of(*id).and_then(|ty| scalar_of(module, ty)) else {
            // A pointer or, in a malformed module, something that the validation of expressions reports.
            return Ok(Folded::Expression);
        };
        match bits(module, *id, lanes) {
            Some(bits) => inputs.push(bits),
            None => return Ok(Folded::Expression),
        }
        scalars.push((scalar, lanes));
    }
    let Some((result, lanes)) = scalar_of(module, ty) else { return Ok(Folded::Expression) };
    if op == Op::Bitcast {
        return bitcast(&inputs, &scalars, result, lanes);
    }
    if scalars.iter().any(|(_, found)| *found != lanes) {
        return Err("operands and result have different component counts".into());
    }
    let kinds: Vec<Scalar> = scalars.iter().map(|(scalar, _)| *scalar).collect();
    scalar::check(op, result, &kinds)?;
    let mut out = Vec::with_capacity(lanes);
    for lane in 0..lanes {
        let args: Vec<u128> = inputs.iter().map(|input| input[lane]).collect();
        out.push(scalar::evaluate(op, result, &kinds, &args)?);
    }
    Ok(Folded::Value(if lanes == 1 { Value::Scalar(out[0]) } else { Value::Vector(out) }))
}

/// The bits of a scalar or of a vector's components; `None` where they are not known before loading.
fn bits(module: &Module, id: Id, lanes: usize) -> Option<Vec<u128>> {
    match &module.constants.get(&id)?.value {
        // Undefined values may be anything; zero is the same in every run.
        ConstantValue::Null | ConstantValue::Undef => Some(vec![0; lanes]),
        ConstantValue::Bool(value) => Some(vec![u128::from(*value)]),
        ConstantValue::Scalar(value) => Some(vec![u128::from(*value)]),
        ConstantValue::Wide(value) => Some(vec![*value]),
        ConstantValue::Composite(parts) => {
            parts.iter().map(|part| bits(module, *part, 1).map(|bits| bits[0])).collect()
        }
        _ => None,
    }
}

fn id_at(operands: &[Operand], at: usize) -> Result<Id, String> {
    match operands.get(at) {
        Some(Operand::Id(id)) => Ok(*id),
        _ => Err(format!("operand {at} is not an id")),
    }
}

fn literals(operands: &[Operand], from: usize) -> Result<Vec<u64>, String> {
    operands
        .iter()
        .skip(from)
        .map(|operand| match operand {
            Operand::Lit(literal) => Ok(*literal),
            Operand::Id(_) => Err("an id where a literal belongs".to_owned()),
        })
        .collect()
}

fn extract(
    module: &Module,
    type_of: &dyn Fn(Id) -> Option<TypeId>,
    ty: TypeId,
    operands: &[Operand],
) -> Result<Folded, String> {
    let mut id = id_at(operands, 0)?;
    let mut at = type_of(id).ok_or("an operand without a type")?;
    let indices = literals(operands, 1)?;
    let mut null = false;
    for &index in &indices {
        at = member(module, at, index).ok_or_else(|| format!("index {index} is outside of the composite"))?;
        match module.constants.get(&id).map(|constant| &constant.value) {
            Some(ConstantValue::Composite(parts)) if !null => id = parts[index as usize],
            Some(ConstantValue::Null | ConstantValue::Undef) => null = true,
            _ if null => {}
            _ => return Ok(Folded::Expression),
        }
    }
    if at != ty {
        return Err("the extracted member is of another type than the result".into());
    }
    Ok(match module.constants.get(&id) {
        _ if null => Folded::Value(Value::Existing(ConstantValue::Null)),
        Some(constant) => Folded::Value(Value::Existing(constant.value.clone())),
        None => Folded::Expression,
    })
}

fn member(module: &Module, ty: TypeId, index: u64) -> Option<TypeId> {
    match module.types.get(ty) {
        Type::Vector { elem, len } if index < u64::from(*len) => Some(*elem),
        Type::Array { elem, len } if index < *len => Some(*elem),
        Type::Struct { members, .. } => members.get(usize::try_from(index).ok()?).copied(),
        _ => None,
    }
}

fn select(
    module: &Module,
    type_of: &dyn Fn(Id) -> Option<TypeId>,
    ty: TypeId,
    operands: &[Operand],
) -> Result<Folded, String> {
    let [condition, then, other] = [id_at(operands, 0)?, id_at(operands, 1)?, id_at(operands, 2)?];
    if type_of(then) != Some(ty) || type_of(other) != Some(ty) {
        return Err("both objects are of the result's type".into());
    }
    let lanes = match type_of(condition).map(|ty| module.types.get(ty)) {
        Some(Type::Bool) => 1,
        Some(Type::Vector { elem, len }) if *module.types.get(*elem) == Type::Bool => *len as usize,
        _ => return Err("the condition is not Boolean".into()),
    };
    let Some(condition) = bits(module, condition, lanes) else { return Ok(Folded::Expression) };
    if lanes == 1 {
        let chosen = if condition[0] != 0 { then } else { other };
        return Ok(match module.constants.get(&chosen) {
            Some(constant) => Folded::Value(Value::Existing(constant.value.clone())),
            None => Folded::Expression,
        });
    }
    match (bits(module, then, lanes), bits(module, other, lanes)) {
        (Some(then), Some(other)) if then.len() == lanes && other.len() == lanes => {
            let lane = |at: usize| if condition[at] != 0 { then[at] } else { other[at] };
            Ok(Folded::Value(Value::Vector((0..lanes).map(lane).collect())))
        }
        _ => Err("a vector condition selects components of vectors".into()),
    }
}

/// `OpVectorShuffle` and `OpCompositeInsert` into vectors; other composites stay expressions.
fn rearrange(
    module: &Module,
    type_of: &dyn Fn(Id) -> Option<TypeId>,
    op: Op,
    ty: TypeId,
    operands: &[Operand],
) -> Result<Folded, String> {
    let [first, second] = [id_at(operands, 0)?, id_at(operands, 1)?];
    let literals = literals(operands, 2)?;
    let vector = |id: Id| {
        let (_, lanes) = scalar_of(module, type_of(id)?)?;
        bits(module, id, lanes)
    };
    let (Some((_, lanes)), Some(a), Some(b)) = (scalar_of(module, ty), vector(first), vector(second)) else {
        return Ok(Folded::Expression);
    };
    let elem = |ty: TypeId| match module.types.get(ty) {
        Type::Vector { elem, .. } => *elem,
        _ => ty,
    };
    let elem_of = |id: Id| type_of(id).map(elem);
    if op == Op::VectorShuffle {
        const UNDEFINED: u64 = 0xFFFF_FFFF;
        let both = [a, b].concat();
        if literals.len() != lanes || elem_of(first) != Some(elem(ty)) || elem_of(second) != Some(elem(ty)) {
            return Err("the shuffle's components do not make up the result".into());
        }
        let lane = |&at: &u64| match at {
            UNDEFINED => Ok(0),
            at => both.get(at as usize).copied().ok_or_else(|| format!("component {at} of {}", both.len())),
        };
        return Ok(Folded::Value(Value::Vector(literals.iter().map(lane).collect::<Result<_, _>>()?)));
    }
    let ([index], true) =
        (literals.as_slice(), type_of(second) == Some(ty) && elem_of(first) == Some(elem(ty)))
    else {
        return Err("an insertion into a vector has one index and a component".into());
    };
    let mut out = b;
    match out.get_mut(*index as usize) {
        Some(slot) if a.len() == 1 && lanes > 1 => *slot = a[0],
        _ => return Err(format!("index {index} is outside of the vector")),
    }
    Ok(Folded::Value(Value::Vector(out)))
}

fn bitcast(
    inputs: &[Vec<u128>],
    scalars: &[(Scalar, usize)],
    result: Scalar,
    lanes: usize,
) -> Result<Folded, String> {
    let (input, (from, count)) = match (inputs, scalars) {
        ([input], [scalar]) => (input, *scalar),
        _ => return Err("a bit cast has one operand".into()),
    };
    if from.width as usize * count != result.width as usize * lanes
        || from.kind == ScalarKind::Bool
        || result.kind == ScalarKind::Bool
    {
        return Err("a bit cast keeps the number of bits".into());
    }
    // Bit by bit: components need not be whole bytes.
    let bit = |at: usize| input[at / from.width as usize] >> (at % from.width as usize) & 1;
    let component = |at: usize| {
        let first = at * result.width as usize;
        (0..result.width as usize).fold(0, |bits, place| bits | bit(first + place) << place)
    };
    let out: Vec<u128> = (0..lanes).map(component).collect();
    Ok(Folded::Value(if lanes == 1 { Value::Scalar(out[0]) } else { Value::Vector(out) }))
}
