//! What stands outside of functions.

use super::assembler::{Assembler, put, text};
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
    a.extensions.push("SPV_KHR_no_integer_wrap_decoration");
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

/// Constants of specialization, each computed from those before.
pub(super) fn specialization(n: u32) -> Vec<u8> {
    let mut a = Assembler::new();
    let (uint, item) = (a.uint(), a.item);
    let first = a.id();
    put(&mut a.declarations, Op::SpecConstant, &[uint, first, 7]);
    put(&mut a.decorations, Op::Decorate, &[first, Decoration::SpecId as u32, 1]);
    let mut value = first;
    for _ in 0..n {
        let next = a.id();
        put(&mut a.declarations, Op::SpecConstantOp, &[uint, next, Op::IAdd as u32, value, first]);
        value = next;
    }
    let value = a.add(value, item);
    a.finish(value)
}

/// Composite constants, each of two of the one before, and as many levels as there may be.
pub(super) fn doubling_constants(n: u32) -> Vec<u8> {
    let mut a = Assembler::new();
    let (uint, item) = (a.uint(), a.item);
    for start in 0..n / 8 {
        let (mut ty, mut value) = (uint, a.constant(start));
        for _ in 0..8 {
            ty = a.array(ty, 2);
            let next = a.id();
            put(&mut a.declarations, Op::ConstantComposite, &[ty, next, value, value]);
            value = next;
        }
        let pointer = a.pointer(StorageClass::UniformConstant, ty);
        let variable = a.id();
        let class = StorageClass::UniformConstant as u32;
        put(&mut a.declarations, Op::Variable, &[pointer, variable, class, value]);
    }
    a.finish(item)
}

/// One composite constant that doubles with each level.
pub(super) fn deep_constant(n: u32) -> Vec<u8> {
    let mut a = Assembler::new();
    let uint = a.uint();
    let (mut ty, mut value) = (uint, a.constant(7));
    for _ in 0..n {
        ty = a.array(ty, 2);
        let next = a.id();
        put(&mut a.declarations, Op::ConstantComposite, &[ty, next, value, value]);
        value = next;
    }
    let mut path = vec![value];
    path.extend((0..n).map(|_| 1));
    let value = a.value(Op::CompositeExtract, uint, &path);
    a.finish(value)
}

/// Arrays with all of their elements.
pub(super) fn initialisers(n: u32, each: u32) -> Vec<u8> {
    let mut a = Assembler::new();
    let (uint, item) = (a.uint(), a.item);
    let (array, element) = (a.array(uint, each), a.pointer(StorageClass::UniformConstant, uint));
    let (pointer, class) =
        (a.pointer(StorageClass::UniformConstant, array), StorageClass::UniformConstant as u32);
    let mut value = item;
    let mask = a.constant(each - 1);
    for at in 0..n {
        let elements: Vec<u32> = (0..each).map(|i| a.constant((i * at) % 99)).collect();
        let (all, variable) = (a.id(), a.id());
        put(&mut a.declarations, Op::ConstantComposite, &[&[array, all], &elements[..]].concat());
        put(&mut a.declarations, Op::Variable, &[pointer, variable, class, all]);
        let index = a.value(Op::BitwiseAnd, uint, &[value, mask]);
        let place = a.value(Op::InBoundsAccessChain, element, &[variable, index]);
        value = a.value(Op::Load, uint, &[place]);
    }
    a.finish(value)
}

/// Variables of the module that each hold the address of the one before.
pub(super) fn addresses(n: u32) -> Vec<u8> {
    let mut a = Assembler::new();
    let (uint, item) = (a.uint(), a.item);
    let (mut ty, class) = (uint, StorageClass::CrossWorkgroup);
    let zero = a.constant(0);
    let mut before = zero;
    for at in 0..n {
        if at % 200 == 0 {
            (ty, before) = (uint, zero);
        }
        let pointer = a.pointer(class, ty);
        let variable = a.id();
        put(&mut a.declarations, Op::Variable, &[pointer, variable, class as u32, before]);
        (ty, before) = (pointer, variable);
    }
    a.finish(item)
}

pub(super) fn local_variables(n: u32) -> Vec<u8> {
    let mut a = Assembler::new();
    let (uint, item) = (a.uint(), a.item);
    let pointer = a.pointer(StorageClass::Workgroup, uint);
    for _ in 0..n {
        let variable = a.id();
        put(&mut a.declarations, Op::Variable, &[pointer, variable, StorageClass::Workgroup as u32]);
        a.act(Op::Store, &[variable, item]);
    }
    a.finish(item)
}

pub(super) fn names(n: u32) -> Vec<u8> {
    let mut a = Assembler::new();
    let item = a.item;
    for _ in 0..n {
        let string = a.id();
        put(&mut a.debug, Op::String, &[&[string], &text("a string of no use")[..]].concat());
    }
    for at in 0..n {
        let id = if at % 2 == 0 { item } else { a.id() };
        put(&mut a.debug, Op::Name, &[&[id], &text("name")[..]].concat());
    }
    a.finish(item)
}

/// A name that is as long as the module.
pub(super) fn long_names(n: u32) -> Vec<u8> {
    let mut a = Assembler::new();
    let item = a.item;
    for _ in 0..4 {
        let name = text(&"x".repeat(n as usize));
        put(&mut a.debug, Op::Name, &[&[item], &name[..]].concat());
    }
    a.finish(item)
}

/// A line of the source for each instruction.
pub(super) fn lines(n: u32) -> Vec<u8> {
    let mut a = Assembler::new();
    let (file, mut value) = (a.id(), a.item);
    put(&mut a.debug, Op::String, &[&[file], &text("kernel.cl")[..]].concat());
    for at in 0..n {
        a.act(Op::Line, &[file, at, 1]);
        value = a.add(value, value);
    }
    a.finish(value)
}

/// A group of decorations with many members and many targets.
pub(super) fn decoration_groups(n: u32) -> Vec<u8> {
    let mut a = Assembler::new();
    a.extensions.push("SPV_KHR_no_integer_wrap_decoration");
    let item = a.item;
    let group = a.id();
    for _ in 0..n {
        put(&mut a.decorations, Op::Decorate, &[group, Decoration::NoSignedWrap as u32]);
    }
    put(&mut a.decorations, Op::DecorationGroup, &[group]);
    let targets: Vec<u32> = (0..n).map(|_| a.add(item, item)).collect();
    for targets in targets.chunks(1000) {
        put(&mut a.decorations, Op::GroupDecorate, &[&[group], targets].concat());
    }
    a.finish(item)
}

/// Structures that hold pointers to each other.
pub(super) fn recursive_structures(n: u32) -> Vec<u8> {
    let mut a = Assembler::new();
    let (uint, item) = (a.uint(), a.item);
    let class = StorageClass::CrossWorkgroup as u32;
    let pointers: Vec<u32> = (0..n).map(|_| a.id()).collect();
    for pointer in &pointers {
        put(&mut a.declarations, Op::TypeForwardPointer, &[*pointer, class]);
    }
    for at in 0..n as usize {
        let structure = a.id();
        let (x, y) = (pointers[(at + 1) % pointers.len()], pointers[at * 7 % pointers.len()]);
        put(&mut a.declarations, Op::TypeStruct, &[structure, uint, x, y]);
        put(&mut a.declarations, Op::TypePointer, &[pointers[at], class, structure]);
    }
    a.finish(item)
}

/// Pointers to pointers.
pub(super) fn deep_pointers(n: u32) -> Vec<u8> {
    let mut a = Assembler::new();
    let (uint, item) = (a.uint(), a.item);
    let mut ty = uint;
    for _ in 0..n {
        ty = a.pointer(StorageClass::CrossWorkgroup, ty);
    }
    let place = a.element(item);
    a.value(Op::Bitcast, ty, &[place]);
    a.finish(item)
}

/// Types of functions, each of which takes a pointer to the one before.
pub(super) fn function_types(n: u32) -> Vec<u8> {
    let mut a = Assembler::new();
    let (uint, item) = (a.uint(), a.item);
    let types = vec![uint; 255];
    for at in 0..n {
        let vector = a.ty(Op::TypeVector, &[uint, 2 + at % 3]);
        let id = a.id();
        let parameters: Vec<u32> =
            types.iter().copied().chain([vector]).take(250 + at as usize % 5).collect();
        put(&mut a.declarations, Op::TypeFunction, &[&[id, uint], &parameters[..]].concat());
    }
    a.finish(item)
}
