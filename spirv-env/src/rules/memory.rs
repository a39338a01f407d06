//! Rules about atomics and memory scopes.

use super::{GUIDE, InstructionRule};
use crate::diagnostics::RuleId;
use crate::module::{Inst, Type};
use crate::opcodes::{self, Convergence, Memory, ORDERS};
use crate::reflect::constant_scalar;
use crate::validate::{Ctx, Scalar};
use spirv::{Capability, MemorySemantics, Op, Scope, StorageClass};
use ze_extensions::FpAtomicFlags;

const FLOAT: &str = "L0 SPIR-V Guide, Floating-Point Atomics";

pub(super) const INSTRUCTIONS: &[InstructionRule] = &[
    InstructionRule {
        id: RuleId { id: "env.atomic-type", source: GUIDE },
        applies: is_atomic,
        check: int_width,
    },
    InstructionRule {
        id: RuleId { id: "env.atomic-class", source: GUIDE },
        applies: is_atomic,
        check: storage_class,
    },
    InstructionRule {
        id: RuleId { id: "env.float-atomic", source: FLOAT },
        applies: is_atomic,
        check: float_support,
    },
    InstructionRule {
        id: RuleId { id: "env.memory-scope", source: GUIDE },
        applies: |op| memory_scope_place(op).is_some(),
        check: memory_scope,
    },
    InstructionRule {
        id: RuleId { id: "memory.order", source: "SPIR-V 1.2 §3.25" },
        applies: |op| semantics_place(op).is_some(),
        check: memory_order,
    },
    InstructionRule {
        id: RuleId { id: "memory.flag-order", source: "SPIR-V 1.2 §3.32.18" },
        applies: |op| op == Op::AtomicFlagClear,
        check: flag_order,
    },
    InstructionRule {
        id: RuleId { id: "memory.copy-size", source: "SPIR-V 1.2 §3.32.8" },
        applies: |op| op == Op::CopyMemorySized,
        check: copy_size,
    },
];

fn is_atomic(op: Op) -> bool {
    opcodes::row(op).is_some_and(|row| row.memory.is_atomic())
}

fn target(ctx: &Ctx<'_>, inst: &Inst) -> Result<(StorageClass, Scalar), String> {
    let (class, pointee) = ctx.pointer(inst, 0)?;
    let (scalar, _) = ctx.lanes(pointee).ok_or("the pointer is not to a scalar")?;
    Ok((class, scalar))
}

fn int_width(ctx: &Ctx<'_>, inst: &Inst) -> Result<(), String> {
    match target(ctx, inst)?.1 {
        Scalar::Int(64) if !ctx.module.capabilities.contains(&Capability::Int64Atomics) => {
            Err("atomics on 64-bit integers need capability Int64Atomics".into())
        }
        Scalar::Int(width @ (8 | 16)) => Err(format!("an atomic on {width}-bit integers")),
        _ => Ok(()),
    }
}

fn storage_class(ctx: &Ctx<'_>, inst: &Inst) -> Result<(), String> {
    use StorageClass::*;
    match target(ctx, inst)?.0 {
        Function | Workgroup | CrossWorkgroup | Generic => Ok(()),
        class => Err(format!("an atomic on {class:?} memory")),
    }
}

/// Floating-point atomics are what the device's flags say, for global and local memory apart.
fn float_support(ctx: &Ctx<'_>, inst: &Inst) -> Result<(), String> {
    let (class, Scalar::Float(width)) = target(ctx, inst)? else { return Ok(()) };
    let (kind, capability) = match inst.op {
        Op::AtomicFAddEXT => (FpAtomicFlags::ADD, add_capability(width)),
        Op::AtomicFMinEXT | Op::AtomicFMaxEXT => (FpAtomicFlags::MIN_MAX, min_max_capability(width)),
        // Single and double precision are loaded, stored and exchanged like integers of their size.
        _ if width != 16 => return Ok(()),
        _ => (FpAtomicFlags::LOAD_STORE, None),
    };
    if let Some(capability) = capability
        && !ctx.module.capabilities.contains(&capability)
    {
        return Err(format!("{:?} on {width} bits needs capability {capability:?}", inst.op));
    }
    let place = match class {
        StorageClass::CrossWorkgroup => {
            FpAtomicFlags::GLOBAL_LOAD_STORE | FpAtomicFlags::GLOBAL_ADD | FpAtomicFlags::GLOBAL_MIN_MAX
        }
        StorageClass::Workgroup => {
            FpAtomicFlags::LOCAL_LOAD_STORE | FpAtomicFlags::LOCAL_ADD | FpAtomicFlags::LOCAL_MIN_MAX
        }
        // Generic and private pointers may be either: one kind of memory suffices.
        _ => FpAtomicFlags::all(),
    };
    if ctx.env.profile.fp_atomics(width).intersects(kind & place) {
        Ok(())
    } else {
        Err(format!("the device has no {:?} on {width} bits of {class:?} memory", inst.op))
    }
}

fn add_capability(width: u32) -> Option<Capability> {
    match width {
        16 => Some(Capability::AtomicFloat16AddEXT),
        32 => Some(Capability::AtomicFloat32AddEXT),
        _ => Some(Capability::AtomicFloat64AddEXT),
    }
}

fn min_max_capability(width: u32) -> Option<Capability> {
    match width {
        16 => Some(Capability::AtomicFloat16MinMaxEXT),
        32 => Some(Capability::AtomicFloat32MinMaxEXT),
        _ => Some(Capability::AtomicFloat64MinMaxEXT),
    }
}

fn memory_scope_place(op: Op) -> Option<usize> {
    let row = opcodes::row(op)?;
    match (row.memory, row.convergence) {
        (Memory::Fence, _) => Some(0),
        (_, Convergence::Barrier) => Some(1),
        (memory, _) => memory.is_atomic().then_some(1),
    }
}

fn memory_scope(ctx: &Ctx<'_>, inst: &Inst) -> Result<(), String> {
    let at = memory_scope_place(inst.op).unwrap_or(0);
    let id = ctx.id(inst, at)?;
    debug_assert!(ctx.value(id).is_ok_and(|ty| matches!(ctx.get(ty), Type::Int { .. })));
    // A scope that is computed is one of these or undefined.
    let Some(scope) = constant_scalar(ctx.module, id) else { return Ok(()) };
    match u32::try_from(scope).ok().and_then(Scope::from_u32) {
        Some(Scope::CrossDevice | Scope::Device | Scope::Workgroup | Scope::Subgroup | Scope::Invocation) => {
            Ok(())
        }
        _ => Err(format!("memory scope {scope}")),
    }
}

/// Operands that are memory semantics.
fn semantics_place(op: Op) -> Option<std::ops::Range<usize>> {
    match op {
        Op::MemoryBarrier => Some(1..2),
        Op::ControlBarrier | Op::ControlBarrierArriveINTEL | Op::ControlBarrierWaitINTEL => Some(2..3),
        Op::AtomicCompareExchange | Op::AtomicCompareExchangeWeak => Some(2..4),
        op if is_atomic(op) => Some(2..3),
        _ => None,
    }
}

/// The orders that a constant semantics operand names.
fn orders(ctx: &Ctx<'_>, inst: &Inst, at: usize) -> Result<MemorySemantics, String> {
    let bits = constant_scalar(ctx.module, ctx.id(inst, at)?).unwrap_or(0);
    Ok(MemorySemantics::from_bits_truncate(bits as u32) & ORDERS)
}

/// That an `Unequal` operand names no release is not asked for: DPC++ gives a compare-exchange the order of its success
/// for its failure, too.
fn memory_order(ctx: &Ctx<'_>, inst: &Inst) -> Result<(), String> {
    for at in semantics_place(inst.op).into_iter().flatten() {
        let named = orders(ctx, inst, at)?;
        if named.bits().count_ones() > 1 {
            let names: Vec<&str> = named.iter_names().map(|(name, _)| name).collect();
            return Err(format!("more than one memory order: {}", names.join(" and ")));
        }
    }
    Ok(())
}

fn flag_order(ctx: &Ctx<'_>, inst: &Inst) -> Result<(), String> {
    if orders(ctx, inst, 2)?.intersects(MemorySemantics::ACQUIRE | MemorySemantics::ACQUIRE_RELEASE) {
        Err("a flag is cleared with an order that acquires".into())
    } else {
        Ok(())
    }
}

fn copy_size(ctx: &Ctx<'_>, inst: &Inst) -> Result<(), String> {
    let size = ctx.id(inst, 2)?;
    // The application chooses a specialization constant, and may choose 0.
    let chosen = ctx.module.spec_constants.iter().any(|constant| constant.id == size);
    match constant_scalar(ctx.module, size) {
        Some(0) if !chosen => Err("a copy of no bytes".into()),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use crate::test_support::{assert_accepted, assert_rejected, kernel, profile_without_flags, rejected_on};
    use ze_extensions::{DeviceProfile, FpAtomicFlags};

    fn atomic(class: &str, ty: &str, inst: &str) -> String {
        kernel(
            &format!(
                "%ptr = OpTypePointer {class} %{ty}\n%nil = OpConstantNull %ptr\n%zero = OpConstantNull %{ty}"
            ),
            &inst.replace("TYPE", &format!("%{ty}")),
        )
    }

    const ADD: &str = "%r = OpAtomicIAdd TYPE %nil %u1 %u0 %zero";

    #[test]
    fn atomics_on_64_bits_need_their_capability() {
        let module = atomic("CrossWorkgroup", "ulong", ADD);
        assert_accepted(&module);
        assert_rejected(&module.replace("OpCapability Int64Atomics\n", ""), "env.atomic-type");
        assert!(rejected_on(&module, &profile_without_flags()).contains(&"env.capability"));
    }

    #[test]
    fn atomics_on_narrow_integers_are_rejected() {
        assert_accepted(&atomic("CrossWorkgroup", "uint", ADD));
        assert_rejected(&atomic("CrossWorkgroup", "ushort", ADD), "env.atomic-type");
    }

    #[test]
    fn atomics_are_not_on_constant_memory() {
        assert_accepted(&atomic("Generic", "uint", ADD));
        assert_rejected(&atomic("UniformConstant", "uint", ADD), "env.atomic-class");
    }

    #[test]
    fn float_atomics_follow_the_device() {
        let module = atomic("Workgroup", "float", "%r = OpAtomicFAddEXT TYPE %nil %u1 %u0 %zero")
            .replace("OpCapability Kernel", "OpCapability Kernel\nOpCapability AtomicFloat32AddEXT")
            .replace("%std = ", "OpExtension \"SPV_EXT_shader_atomic_float_add\"\n%std = ");
        assert_accepted(&module);
        let mut profile = DeviceProfile::host();
        profile.module.fp32_atomics.remove(FpAtomicFlags::LOCAL_ADD);
        assert_eq!(rejected_on(&module, &profile), ["env.float-atomic"]);
        assert_rejected(&module.replace("AtomicFloat32AddEXT", "AtomicFloat64AddEXT"), "env.float-atomic");
    }

    #[test]
    fn sums_and_extremes_of_floats_need_the_capability_of_their_width() {
        let types = [("half", 16), ("float", 32), ("double", 64)];
        for (op, name, narrow, wide) in [
            (
                "OpAtomicFAddEXT",
                "Add",
                "SPV_EXT_shader_atomic_float16_add",
                "SPV_EXT_shader_atomic_float_add",
            ),
            ("OpAtomicFMaxEXT", "MinMax", "SPV_EXT_shader_atomic_float_min_max", ""),
        ] {
            for (ty, width) in types {
                let extensions: String = [narrow, wide]
                    .iter()
                    .filter(|name| !name.is_empty())
                    .map(|name| format!("OpExtension \"{name}\"\n"))
                    .collect();
                let with = |width: u32| {
                    atomic("CrossWorkgroup", ty, &format!("%r = {op} TYPE %nil %u1 %u0 %zero"))
                        .replace(
                            "OpCapability Kernel",
                            &format!("OpCapability Kernel\nOpCapability AtomicFloat{width}{name}EXT"),
                        )
                        .replace("%std = ", &format!("{extensions}%std = "))
                };
                assert_accepted(&with(width));
                for (_, other) in types.iter().filter(|(_, other)| *other != width) {
                    assert_rejected(&with(*other), "env.float-atomic");
                }
            }
        }
    }

    #[test]
    fn floats_of_full_size_move_like_integers_and_halves_as_the_device_says() {
        let load = |ty: &str| atomic("CrossWorkgroup", ty, "%r = OpAtomicLoad TYPE %nil %u1 %u0");
        let mut profile = DeviceProfile::host();
        profile.module.fp32_atomics = FpAtomicFlags::empty();
        profile.module.fp64_atomics = FpAtomicFlags::empty();
        assert_eq!(rejected_on(&load("float"), &profile), [""; 0]);
        assert_eq!(rejected_on(&load("double"), &profile), [""; 0]);
        profile.module.fp16_atomics = FpAtomicFlags::GLOBAL_LOAD_STORE;
        assert_eq!(rejected_on(&load("half"), &profile), [""; 0]);
        profile.module.fp16_atomics = FpAtomicFlags::LOCAL_LOAD_STORE;
        assert_eq!(rejected_on(&load("half"), &profile), ["env.float-atomic"]);
    }

    #[test]
    fn memory_orders_are_one() {
        let barrier = |semantics: u32| {
            kernel(&format!("%sem = OpConstant %uint {semantics}"), "OpMemoryBarrier %u1 %sem")
        };
        // Sequentially consistent, of work-group and global memory.
        assert_accepted(&barrier(0x310));
        assert_rejected(&barrier(0x6), "memory.order");
        assert_rejected(&barrier(0x18), "memory.order");
        let clear = |semantics: &str| {
            atomic("CrossWorkgroup", "uint", &format!("OpAtomicFlagClear %nil %u1 {semantics}"))
        };
        assert_accepted(&clear("%u4"));
        assert_rejected(&clear("%u2"), "memory.flag-order");
    }

    /// What DPC++ makes of `compare_exchange_strong(expected, desired, memory_order::acq_rel)`.
    #[test]
    fn a_failed_exchange_may_name_the_order_of_a_successful_one() {
        let exchange = |equal: u32, unequal: u32| {
            kernel(
                &format!(
                    "%ptr = OpTypePointer CrossWorkgroup %uint\n%nil = OpConstantNull %ptr\n\
                     %e = OpConstant %uint {equal}\n%n = OpConstant %uint {unequal}"
                ),
                "%r = OpAtomicCompareExchange %uint %nil %u1 %e %n %u1 %u1",
            )
        };
        assert_accepted(&exchange(0x388, 0x388));
        assert_rejected(&exchange(0x388, 0x386), "memory.order");
    }

    #[test]
    fn copies_have_a_size() {
        let copy = |size: &str| {
            kernel(
                "%p = OpTypePointer CrossWorkgroup %uchar\n%nil = OpConstantNull %p\n%ul0 = OpConstantNull %ulong",
                &format!("OpCopyMemorySized %nil %nil {size}"),
            )
        };
        assert_accepted(&copy("%ul1"));
        assert_rejected(&copy("%ul0"), "memory.copy-size");
    }

    #[test]
    fn memory_scopes_are_those_of_devices() {
        assert_accepted(&kernel("", "OpMemoryBarrier %u1 %u0"));
        assert_rejected(&kernel("", "OpMemoryBarrier %u5 %u0"), "env.memory-scope");
    }
}
