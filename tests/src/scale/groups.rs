//! What a work-group or a sub-group does together, and images.

use super::assembler::{Assembler, put};
use spirv::{Capability, GroupOperation, Op, Scope, StorageClass};

pub(super) fn barriers(n: u32) -> Vec<u8> {
    let mut a = Assembler::new();
    let (scope, semantics, item) = (a.constant(Scope::Workgroup as u32), a.constant(0x108), a.item);
    for _ in 0..n {
        a.act(Op::ControlBarrier, &[scope, scope, semantics]);
    }
    a.finish(item)
}

/// Values that live from one barrier to the next.
pub(super) fn live_across_barriers(n: u32) -> Vec<u8> {
    let mut a = Assembler::new();
    let (uint, item) = (a.uint(), a.item);
    let (scope, semantics) = (a.constant(Scope::Workgroup as u32), a.constant(0x108));
    let mut values: Vec<u32> = (0..64)
        .map(|at| {
            let constant = a.constant(at);
            a.value(Op::BitwiseXor, uint, &[item, constant])
        })
        .collect();
    for at in 0..n as usize {
        a.act(Op::ControlBarrier, &[scope, scope, semantics]);
        let other = values[(at * 7 + 1) % 64];
        values[at % 64] = a.value(Op::IMul, uint, &[values[at % 64], other]);
    }
    let sum = values.into_iter().reduce(|x, y| a.add(x, y)).expect("some");
    a.finish(sum)
}

/// Sums over work-groups or sub-groups.
pub(super) fn sums(n: u32, scope: Scope, operation: GroupOperation) -> Vec<u8> {
    let mut a = Assembler::new();
    a.capabilities.push(Capability::Groups);
    let (uint, scope, mut value) = (a.uint(), a.constant(scope as u32), a.item);
    for _ in 0..n {
        value = a.value(Op::GroupIAdd, uint, &[scope, operation as u32, value]);
    }
    a.finish(value)
}

pub(super) fn shuffles(n: u32) -> Vec<u8> {
    let mut a = Assembler::new();
    a.capabilities.push(Capability::SubgroupShuffleINTEL);
    a.extensions.push("SPV_INTEL_subgroups");
    let (uint, mut value, item) = (a.uint(), a.item, a.item);
    for _ in 0..n {
        value = a.value(Op::SubgroupShuffleINTEL, uint, &[item, value]);
    }
    a.finish(value)
}

/// Copies by the work-group, each of which is waited for.
pub(super) fn async_copies(n: u32) -> Vec<u8> {
    let mut a = Assembler::new();
    let (uint, ulong, item, out) = (a.uint(), a.ulong(), a.item, a.out);
    let (array, count) = (a.array(uint, 64), a.constant(64));
    let (of_array, element) =
        (a.pointer(StorageClass::Workgroup, array), a.pointer(StorageClass::Workgroup, uint));
    let local = a.id();
    put(&mut a.declarations, Op::Variable, &[of_array, local, StorageClass::Workgroup as u32]);
    let event = a.ty(Op::TypeEvent, &[]);
    let of_event = a.pointer(StorageClass::Function, event);
    let none = a.id();
    put(&mut a.declarations, Op::ConstantNull, &[event, none]);
    let (scope, zero, one) = (a.constant(Scope::Workgroup as u32), a.constant(0), a.constant(1));
    let place = a.value(Op::InBoundsAccessChain, element, &[local, zero]);
    let (count, stride) = (a.value(Op::UConvert, ulong, &[count]), a.value(Op::UConvert, ulong, &[one]));
    let variable = a.variables(event, 1)[0];
    let _ = of_event;
    for _ in 0..n {
        let done = a.value(Op::GroupAsyncCopy, event, &[scope, place, out, count, stride, none]);
        a.act(Op::Store, &[variable, done]);
        a.act(Op::GroupWaitEvents, &[scope, one, variable]);
    }
    a.finish(item)
}

/// Reads of an image, each at the place that the one before says.
pub(super) fn image_reads(n: u32) -> Vec<u8> {
    image(n, false)
}

pub(super) fn image_writes(n: u32) -> Vec<u8> {
    image(n, true)
}

fn image(n: u32, write: bool) -> Vec<u8> {
    let mut a = Assembler::new();
    a.capabilities.push(Capability::ImageBasic);
    let (void, uint, ulong, item, out) = (a.ty(Op::TypeVoid, &[]), a.uint(), a.ulong(), a.item, a.out);
    let two_dimensions = 1;
    let ty = a.ty(Op::TypeImage, &[void, two_dimensions, 0, 0, 0, 0, 0, u32::from(write)]);
    let (uint2, uint4) = (a.ty(Op::TypeVector, &[uint, 2]), a.ty(Op::TypeVector, &[uint, 4]));
    let _ = (ulong, out);
    let image = a.kernel_parameter(ty);
    let mut value = item;
    for _ in 0..n {
        let place = a.value(Op::CompositeConstruct, uint2, &[value, item]);
        if write {
            let texel = a.value(Op::CompositeConstruct, uint4, &[item, item, item, item]);
            a.act(Op::ImageWrite, &[image, place, texel]);
        } else {
            let texel = a.value(Op::ImageRead, uint4, &[image, place]);
            value = a.value(Op::CompositeExtract, uint, &[texel, 0]);
        }
    }
    a.finish(value)
}
