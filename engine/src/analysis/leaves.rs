//! Types as flat lists of scalar leaves: the form in which lowering holds every value.
//!
//! A 4-component vector is four leaves, a structure the leaves of its members. A leaf becomes one LLVM
//! scalar (uniform) or one LLVM vector with a lane for each work-item (varying).

use rustc_hash::FxHashMap;
use smallvec::{SmallVec, smallvec};
use spirv_env::{Module, Operand, Type, TypeId};
use std::cell::RefCell;
use std::rc::Rc;
use ze_extensions::limits::{INTEGER_BITS, VALUE_SCALARS};

/// The machine type of a leaf.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Scalar {
    Bool,
    I8,
    I16,
    I32,
    I64,
    /// An integer of another width, in bits.
    Int(u16),
    F16,
    F32,
    F64,
    Ptr,
}

impl Scalar {
    /// Width in bits; a bool has 1 as a value and 8 in memory.
    pub fn bits(self) -> u32 {
        match self {
            Scalar::Bool => 1,
            Scalar::I8 => 8,
            Scalar::I16 | Scalar::F16 => 16,
            Scalar::I32 | Scalar::F32 => 32,
            Scalar::I64 | Scalar::F64 | Scalar::Ptr => 64,
            Scalar::Int(bits) => u32::from(bits),
        }
    }

    /// Size in memory, in bytes.
    pub fn bytes(self) -> u64 {
        u64::from(self.bits().div_ceil(8))
    }

    pub fn is_float(self) -> bool {
        matches!(self, Scalar::F16 | Scalar::F32 | Scalar::F64)
    }

    pub fn is_int(self) -> bool {
        matches!(self, Scalar::I8 | Scalar::I16 | Scalar::I32 | Scalar::I64 | Scalar::Int(_))
    }

    /// The integer type of a width; products have twice the width of what a module declares.
    pub fn int(bits: u32) -> Option<Self> {
        Some(match bits {
            1 => Scalar::Bool,
            8 => Scalar::I8,
            16 => Scalar::I16,
            32 => Scalar::I32,
            64 => Scalar::I64,
            0 => return None,
            _ if bits > 2 * INTEGER_BITS => return None,
            _ => Scalar::Int(bits as u16),
        })
    }

    /// The integer type of a width that the CPU has registers and memory accesses of.
    pub fn machine_int(bits: u32) -> Option<Self> {
        Self::int(bits).filter(|int| !matches!(int, Scalar::Bool | Scalar::Int(_)))
    }

    /// The accesses that a scalar at a byte offset is made of: of its whole bytes and no others, whose padding may be
    /// somebody else's under another type. One, but for integers of odd widths; those of lower order come first.
    pub fn accesses(self, offset: u64) -> SmallVec<[Leaf; 1]> {
        if !matches!(self, Scalar::Int(_)) {
            return smallvec![Leaf { scalar: self, offset }];
        }
        let (mut at, bytes) = (0, self.bytes());
        let mut accesses = SmallVec::new();
        for unit in [Scalar::I64, Scalar::I32, Scalar::I16, Scalar::I8] {
            while bytes - at >= unit.bytes() {
                accesses.push(Leaf { scalar: unit, offset: offset + at });
                at += unit.bytes();
            }
        }
        accesses
    }
}

/// A leaf and its byte offset in memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Leaf {
    pub scalar: Scalar,
    pub offset: u64,
}

impl Leaf {
    /// Those of elements that follow each other.
    pub fn consecutive(scalar: Scalar, count: usize) -> Vec<Leaf> {
        (0..count as u64).map(|at| Leaf { scalar, offset: at * scalar.bytes() }).collect()
    }
}

/// Leaf lists of a module's types, made on demand.
#[derive(Debug)]
pub struct LeafTable<'m> {
    module: &'m Module,
    /// Few of a module's types: a unit has a table for each of its functions.
    lists: RefCell<FxHashMap<TypeId, Rc<[Leaf]>>>,
    /// By structure: where the leaves of each member begin.
    firsts: RefCell<FxHashMap<TypeId, Rc<[usize]>>>,
}

impl<'m> LeafTable<'m> {
    pub fn new(module: &'m Module) -> Self {
        Self { module, lists: RefCell::default(), firsts: RefCell::default() }
    }

    /// The leaves of a type in memory order; `None` for types that have too many.
    pub fn get(&self, ty: TypeId) -> Option<Rc<[Leaf]>> {
        if let Some(list) = self.lists.borrow().get(&ty) {
            return Some(list.clone());
        }
        let mut list = Vec::new();
        self.collect(ty, 0, &mut list)?;
        let list: Rc<[Leaf]> = list.into();
        self.lists.borrow_mut().insert(ty, list.clone());
        Some(list)
    }

    /// Number of leaves of a type.
    pub fn count(&self, ty: TypeId) -> usize {
        self.get(ty).map_or(0, |list| list.len())
    }

    /// The index of the first leaf of a component or member of a composite type, and that part's type.
    pub fn part(&self, ty: TypeId, index: u64) -> Option<(usize, TypeId)> {
        let types = &self.module.types;
        match types.get(ty) {
            Type::Vector { elem, len } if index < u64::from(*len) => Some((index as usize, *elem)),
            Type::Array { elem, len } if index < *len => Some((index as usize * self.count(*elem), *elem)),
            Type::Struct { members, .. } => {
                let member = *members.get(index as usize)?;
                Some((self.firsts(ty, members)[index as usize], member))
            }
            _ => None,
        }
    }

    /// The first leaf and the type that literal indices lead to.
    pub fn path(&self, ty: Option<TypeId>, indices: &[Operand]) -> (usize, TypeId) {
        let mut ty = ty.expect("validated: a composite has a type");
        let mut first = 0;
        for index in indices {
            if let Operand::Lit(index) = index
                && let Some((leaf, part)) = self.part(ty, *index)
            {
                first += leaf;
                ty = part;
            }
        }
        (first, ty)
    }

    fn firsts(&self, ty: TypeId, members: &[TypeId]) -> Rc<[usize]> {
        if let Some(firsts) = self.firsts.borrow().get(&ty) {
            return Rc::clone(firsts);
        }
        let count = |first: &mut usize, member: &TypeId| {
            let here = *first;
            *first += self.count(*member);
            Some(here)
        };
        let firsts: Rc<[usize]> = members.iter().scan(0, count).collect();
        self.firsts.borrow_mut().insert(ty, Rc::clone(&firsts));
        firsts
    }

    /// The scalar of a type with exactly one leaf, or of a vector's components.
    pub fn scalar(&self, ty: TypeId) -> Option<Scalar> {
        Some(match self.module.types.get(ty) {
            Type::Bool => Scalar::Bool,
            // One byte in memory, of which one bit counts; a bool is anything but 0.
            Type::Int { width: 1 } => Scalar::Int(1),
            Type::Int { width } => Scalar::int(*width)?,
            Type::Float { width: 16 } => Scalar::F16,
            Type::Float { width: 32 } => Scalar::F32,
            Type::Float { width: 64 } => Scalar::F64,
            Type::Vector { elem, .. } => return self.scalar(*elem),
            // Its bits, see `crate::image`.
            Type::Sampler => Scalar::I64,
            Type::Pointer { .. } | Type::Image(_) | Type::Event | Type::Opaque { .. } => Scalar::Ptr,
            _ => return None,
        })
    }

    fn collect(&self, ty: TypeId, at: u64, list: &mut Vec<Leaf>) -> Option<()> {
        let types = &self.module.types;
        match types.get(ty) {
            Type::Void | Type::Function { .. } => {}
            // The image and the sampler.
            Type::SampledImage(_) => list.extend([
                Leaf { scalar: Scalar::Ptr, offset: at },
                Leaf { scalar: Scalar::I64, offset: at + Scalar::Ptr.bytes() },
            ]),
            Type::Vector { elem, len } => {
                let size = types.layout(*elem).size;
                for index in 0..u64::from(*len) {
                    self.collect(*elem, at + index * size, list)?;
                }
            }
            Type::Array { elem, len } => {
                let size = types.layout(*elem).size;
                if *len > VALUE_SCALARS {
                    return None;
                }
                for index in 0..*len {
                    self.collect(*elem, at + index * size, list)?;
                }
            }
            Type::Struct { members, .. } => {
                for (member, offset) in members.iter().zip(types.member_offsets(ty).iter()) {
                    self.collect(*member, at + offset, list)?;
                }
            }
            _ => list.push(Leaf { scalar: self.scalar(ty)?, offset: at }),
        }
        (list.len() as u64 <= VALUE_SCALARS).then_some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_has_as_many_leaves_as_the_limit_and_no_more() {
        let module = super::super::testing::module("");
        let table = LeafTable::new(&module);
        let mut seen = Vec::new();
        for at in 0..module.types.len() {
            let ty = TypeId(at as u32);
            if let Type::Array { len, .. } = module.types.get(ty) {
                seen.push((*len, table.get(ty).map(|leaves| leaves.len() as u64)));
            }
        }
        let most = VALUE_SCALARS;
        assert_eq!(seen, [(most, Some(most)), (most + 1, None)]);
    }
}
