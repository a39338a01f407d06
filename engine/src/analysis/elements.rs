//! Vectors that are loaded from a private array or stored to one, as accesses to its elements.
//!
//! `vload16(0, bytes)` is of what `bytes[k]` is, and whoever looks for registers in a private array knows loads and stores, not functions. So each
//! element is an access of its own. In other memory a vector is one access, which is what processors want.

use super::func::Func;
use super::pointers::Pointers;
use rustc_hash::FxHashSet;
use spirv::{Op, OpenclStd100Op as StdOp, StorageClass};
use spirv_env::{Id, Inst, Operand, Type, TypeId};

/// Has `vloadn` and `vstoren` of private memory be loads and stores of elements.
pub fn access_elements(func: &mut Func<'_>) {
    let is_access = |inst: &Inst| access(func, inst).is_some();
    if !func.blocks.values().flat_map(|block| &block.insts).any(is_access) {
        return;
    }
    let private: FxHashSet<Id> = in_private_objects(func);
    for block in func.block_ids() {
        let mut insts = Vec::new();
        for inst in std::mem::take(&mut func.blocks[block].insts) {
            match access(func, &inst).filter(|access| private.contains(&access.pointer)) {
                Some(access) => access.expand(func, &inst, &mut insts),
                None => insts.push(inst),
            }
        }
        func.blocks[block].insts = insts;
    }
}

/// Pointers into private objects, whatever their own class: OpenCL C 2.0 has these functions take generic ones.
fn in_private_objects(func: &Func<'_>) -> FxHashSet<Id> {
    let pointers = Pointers::new(func);
    let is_private = |pointer: Id| func.class_of(pointers.root(pointer)) == Some(StorageClass::Function);
    let insts = func.blocks.values().flat_map(|block| &block.insts);
    let accessed = insts.filter_map(|inst| access(func, inst)).map(|access| access.pointer);
    accessed.filter(|pointer| is_private(*pointer)).collect()
}

/// Where a vector is loaded from or stored to.
struct Access {
    pointer: Id,
    pointer_type: TypeId,
    /// In vectors.
    offset: Id,
    index_type: TypeId,
    /// What is stored.
    value: Option<Id>,
    element: TypeId,
    len: u32,
}

/// What an instruction accesses, if that is a vector behind a pointer to an element.
fn access(func: &Func<'_>, inst: &Inst) -> Option<Access> {
    let (pointer, offset, value, ty) = match inst.opencl_std(func.module)?.op {
        StdOp::vloadn => (inst.id(3), inst.id(2), None, inst.ty?),
        StdOp::vstoren => (inst.id(4), inst.id(3), Some(inst.id(2)), func.type_of(inst.id(2))?),
        _ => return None,
    };
    let Type::Vector { elem, len } = *func.module.types.get(ty) else { return None };
    let (pointer_type, index_type) = (func.type_of(pointer)?, func.type_of(offset)?);
    Some(Access { pointer, pointer_type, offset, index_type, value, element: elem, len })
}

impl Access {
    /// The accesses to elements that take the place of an instruction.
    fn expand(&self, func: &mut Func<'_>, inst: &Inst, insts: &mut Vec<Inst>) {
        let len = i64::from(self.len);
        let first = func.constant_int(self.offset).map(|offset| offset.wrapping_mul(len));
        let base = if first.is_some() {
            self.pointer
        } else {
            let len = func.number(len as u64, self.index_type);
            let elements = push(insts, func.computed(Op::IMul, self.index_type, &[self.offset, len]));
            push(insts, func.computed(Op::PtrAccessChain, self.pointer_type, &[self.pointer, elements]))
        };
        let mut parts = Vec::new();
        for at in 0..len {
            let index = func.number(first.unwrap_or(0).wrapping_add(at) as u64, self.index_type);
            let pointer = push(insts, func.computed(Op::PtrAccessChain, self.pointer_type, &[base, index]));
            let Some(value) = self.value else {
                parts.push(push(insts, func.computed(Op::Load, self.element, &[pointer])));
                continue;
            };
            let (mut part, element) = func.computed(Op::CompositeExtract, self.element, &[value]);
            part.operands.push(Operand::Lit(at as u64));
            let operands = [pointer, element].map(Operand::Id).into_iter().collect();
            insts.extend([part, Inst { op: Op::Store, ty: None, result: None, operands, line: inst.line }]);
        }
        if self.value.is_none() {
            let operands = parts.into_iter().map(Operand::Id).collect();
            insts.push(Inst { op: Op::CompositeConstruct, operands, ..inst.clone() });
        }
    }
}

/// Puts an instruction behind others: what it computes.
fn push(insts: &mut Vec<Inst>, (inst, result): (Inst, Id)) -> Id {
    insts.push(inst);
    result
}

#[cfg(test)]
mod tests {
    use super::super::testing::of_func;
    use super::access_elements;
    use spirv::Op;

    /// How many loads, stores and functions a kernel has then.
    fn left(body: &str) -> [usize; 3] {
        of_func(body, |mut func| {
            access_elements(&mut func);
            let insts = || func.blocks.values().flat_map(|block| &block.insts);
            [Op::Load, Op::Store, Op::ExtInst].map(|op| insts().filter(|inst| inst.op == op).count())
        })
    }

    #[test]
    fn vectors_of_private_arrays_are_elements() {
        let load = "%pair = OpExtInst %uint2 %std vloadn %ulong_1 %object 2\n";
        let store = "%none = OpExtInst %void %std vstoren %pair %any_ulong %object\n";
        assert_eq!(left(&format!("{load}{store}")), [2, 2, 0]);
        let generic = "%g = OpPtrCastToGeneric %generic_uint %object\n";
        assert_eq!(
            left(&format!("{generic}{}", load.replace("%object", "%g"))),
            [2, 0, 0],
            "a generic pointer"
        );
    }

    #[test]
    fn those_of_other_memory_stay() {
        let load = "%pair = OpExtInst %uint2 %std vloadn %ulong_1 %pointer 2\n";
        assert_eq!(left(load), [0, 0, 1]);
    }
}
