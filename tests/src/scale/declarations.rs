//! What stands outside of functions.

use super::assembler::{Assembler, put};
use spirv::{Decoration, Op, StorageClass};

pub(super) fn constants(n: u32) -> Vec<u8> {
    let mut a = Assembler::new();
    let (uint, mut value) = (a.uint(), a.item);
    let all: Vec<u32> = (0..n).map(|at| a.constant(at.wrapping_mul(2_654_435_761))).collect();
    for constant in all.into_iter().step_by(64) {
        value = a.value(Op::BitwiseXor, uint, &[value, constant]);
    }
    a.finish(value)
}

/// Structures in structures, `n` deep, behind an access chain that goes all the way.
pub(super) fn deep_types(n: u32) -> Vec<u8> {
    let mut a = Assembler::new();
    let (uint, item, zero) = (a.uint(), a.item, a.constant(0));
    let mut ty = uint;
    for _ in 0..n {
        ty = {
            let id = a.id();
            put(&mut a.declarations, Op::TypeStruct, &[id, ty]);
            id
        };
    }
    let variable = a.variables(ty, 1)[0];
    let pointer = a.pointer(StorageClass::Function, uint);
    let mut indices = vec![variable];
    indices.extend((0..n).map(|_| zero));
    let place = a.value(Op::InBoundsAccessChain, pointer, &indices);
    a.act(Op::Store, &[place, item]);
    let whole = a.value(Op::Load, ty, &[variable]);
    let mut path = vec![whole];
    path.extend((0..n).map(|_| 0));
    let value = a.value(Op::CompositeExtract, uint, &path);
    a.finish(value)
}

/// Structure types, each with a variable.
pub(super) fn structures(n: u32) -> Vec<u8> {
    let mut a = Assembler::new();
    let (uint, mut value, zero) = (a.uint(), a.item, a.constant(0));
    let pointer = a.pointer(StorageClass::Function, uint);
    for _ in 0..n / 16 {
        let ty = a.id();
        put(&mut a.declarations, Op::TypeStruct, &[ty, uint, uint, uint, uint]);
        let variable = a.variables(ty, 1)[0];
        let place = a.value(Op::InBoundsAccessChain, pointer, &[variable, zero]);
        a.act(Op::Store, &[place, value]);
        let loaded = a.value(Op::Load, uint, &[place]);
        value = a.add(value, loaded);
    }
    a.finish(value)
}

pub(super) fn names_and_decorations(n: u32) -> Vec<u8> {
    let mut a = Assembler::new();
    let mut value = a.item;
    for at in 0..n {
        let constant = a.constant(at % 3);
        value = a.add(value, constant);
        put(&mut a.decorations, Op::Decorate, &[value, Decoration::NoUnsignedWrap as u32]);
    }
    a.finish(value)
}

pub(super) fn kernels(n: u32) -> Vec<u8> {
    let mut a = Assembler::new();
    for at in 1..n {
        let item = a.item;
        a.end(item);
        a.kernel(&format!("k{at}"));
    }
    let item = a.item;
    a.finish(item)
}

/// Structure types, each of the one before and an integer, and an array of it.
pub(super) fn types(n: u32) -> Vec<u8> {
    let mut a = Assembler::new();
    let (uint, item) = (a.uint(), a.item);
    for _ in 0..n / 8 {
        let mut ty = uint;
        for _ in 0..4 {
            let structure = a.id();
            put(&mut a.declarations, Op::TypeStruct, &[structure, ty, uint]);
            ty = a.array(structure, 2);
        }
    }
    a.finish(item)
}
