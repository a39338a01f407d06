//! Rules about execution scopes and the types that group and sub-group instructions take.

use super::{GUIDE, InstructionRule};
use crate::diagnostics::RuleId;
use crate::module::Inst;
use crate::opcodes::{self, Convergence, Family, Memory, Signature};
use crate::validate::{Ctx, Scalar};
use spirv::{Capability, GroupOperation, Op, Scope, StorageClass};

const SUBGROUPS: &str = "L0 SPIR-V Guide, Extended Subgroups";
const INTEL: &str = "L0 SPIR-V Guide, Intel Subgroups";

pub(super) const INSTRUCTIONS: &[InstructionRule] = &[
    InstructionRule {
        id: RuleId { id: "env.async-scope", source: GUIDE },
        applies: |op| convergence(op) == Convergence::Workgroup,
        check: async_scope,
    },
    InstructionRule {
        id: RuleId { id: "env.execution-scope", source: GUIDE },
        applies: |op| {
            matches!(convergence(op), Convergence::Barrier | Convergence::Group | Convergence::Subgroup)
        },
        check: execution_scope,
    },
    InstructionRule {
        id: RuleId { id: "env.group-value", source: SUBGROUPS },
        applies: |op| is_of_family(op, Family::Reduction),
        check: scalar_value,
    },
    InstructionRule {
        id: RuleId { id: "env.cluster-size", source: SUBGROUPS },
        applies: |op| is_of_family(op, Family::Reduction) && convergence(op) == Convergence::Subgroup,
        check: cluster,
    },
    InstructionRule {
        id: RuleId { id: "env.non-uniform-value", source: SUBGROUPS },
        applies: |op| {
            matches!(
                op,
                Op::GroupNonUniformShuffle
                    | Op::GroupNonUniformShuffleXor
                    | Op::GroupNonUniformShuffleUp
                    | Op::GroupNonUniformShuffleDown
                    | Op::GroupNonUniformBroadcastFirst
                    | Op::GroupNonUniformAllEqual
            )
        },
        check: non_uniform_value,
    },
    InstructionRule {
        id: RuleId { id: "env.shuffle-data", source: INTEL },
        applies: |op| {
            matches!(
                op,
                Op::SubgroupShuffleINTEL
                    | Op::SubgroupShuffleXorINTEL
                    | Op::SubgroupShuffleUpINTEL
                    | Op::SubgroupShuffleDownINTEL
            )
        },
        check: shuffle_data,
    },
    InstructionRule {
        id: RuleId { id: "env.block-type", source: INTEL },
        applies: |op| {
            use Signature as S;
            let signature = opcodes::row(op).map(|row| row.signature);
            matches!(signature, Some(S::BlockRead | S::BlockWrite | S::ImageBlockRead | S::ImageBlockWrite))
        },
        check: block_type,
    },
    InstructionRule {
        id: RuleId { id: "env.block-pointer", source: INTEL },
        applies: |op| {
            opcodes::row(op).is_some_and(|row| {
                matches!(row.memory, Memory::BlockRead | Memory::BlockWrite) && row.family != Family::Matrix
            })
        },
        check: block_pointer,
    },
];

fn convergence(op: Op) -> Convergence {
    opcodes::row(op).map_or(Convergence::None, |row| row.convergence)
}

fn is_of_family(op: Op, family: Family) -> bool {
    opcodes::row(op).is_some_and(|row| row.family == family)
}

fn scope(ctx: &Ctx<'_>, inst: &Inst) -> Result<Option<Scope>, String> {
    Ok(u32::try_from(ctx.constant(inst, 0)?).ok().and_then(Scope::from_u32))
}

fn async_scope(ctx: &Ctx<'_>, inst: &Inst) -> Result<(), String> {
    match scope(ctx, inst)? {
        Some(Scope::Workgroup) => Ok(()),
        _ => Err("the execution scope is not Workgroup".into()),
    }
}

fn execution_scope(ctx: &Ctx<'_>, inst: &Inst) -> Result<(), String> {
    match scope(ctx, inst)? {
        Some(Scope::Subgroup) => Ok(()),
        // The guide's extended sub-groups are of sub-groups only.
        Some(Scope::Workgroup) if convergence(inst.op) != Convergence::Subgroup => Ok(()),
        // For SYCL's root groups: all work-groups of a cooperative launch.
        Some(Scope::Device) if inst.op == Op::ControlBarrier => Ok(()),
        _ if convergence(inst.op) == Convergence::Subgroup => {
            Err("the execution scope is not Subgroup".into())
        }
        _ => Err("the execution scope is neither Workgroup nor Subgroup".into()),
    }
}

fn scalar_value(ctx: &Ctx<'_>, inst: &Inst) -> Result<(), String> {
    match ctx.result_lanes(inst)? {
        (_, 1) => Ok(()),
        (_, lanes) => Err(format!("a value of {lanes} components where a scalar belongs")),
    }
}

fn cluster(ctx: &Ctx<'_>, inst: &Inst) -> Result<(), String> {
    let clustered = ctx.lit(inst, 1)? == GroupOperation::ClusteredReduce as u64;
    if clustered && !ctx.module.capabilities.contains(&Capability::GroupNonUniformClustered) {
        return Err("a cluster size needs capability GroupNonUniformClustered".into());
    }
    Ok(())
}

fn non_uniform_value(ctx: &Ctx<'_>, inst: &Inst) -> Result<(), String> {
    const VALUE: usize = 1;
    match ctx.operand_lanes(inst, VALUE)? {
        // Producers pass Booleans of votes on; to all lanes, they are as good as integers.
        (Scalar::Bool, 1) if inst.op == Op::GroupNonUniformBroadcastFirst => Ok(()),
        (Scalar::Bool, _) => Err("a Boolean where a number belongs".into()),
        (_, 1) => Ok(()),
        (_, lanes) => Err(format!("a value of {lanes} components where a scalar belongs")),
    }
}

fn shuffle_data(ctx: &Ctx<'_>, inst: &Inst) -> Result<(), String> {
    // The guide lists vectors of up to 32 bits a component and wider scalars; wider vectors come from newer producers.
    match ctx.result_lanes(inst)? {
        (Scalar::Bool, _) => Err("a shuffle of Booleans".into()),
        _ => Ok(()),
    }
}

fn block_type(ctx: &Ctx<'_>, inst: &Inst) -> Result<(), String> {
    let data = match inst.op {
        Op::SubgroupBlockWriteINTEL => ctx.operand_lanes(inst, 1),
        Op::SubgroupImageBlockWriteINTEL => ctx.operand_lanes(inst, 2),
        _ => ctx.result_lanes(inst),
    };
    match data? {
        // The guide lists 16 and 32 bits; 8 and 64 are what `cl_intel_subgroups_char` and `_long` add, and sixteen
        // components what they and `_short` have of narrow ones.
        (Scalar::Int(_), 1 | 2 | 4 | 8) | (Scalar::Int(8 | 16), 16) => Ok(()),
        (scalar, lanes) => Err(format!("a block of {lanes} x {scalar:?}")),
    }
}

fn block_pointer(ctx: &Ctx<'_>, inst: &Inst) -> Result<(), String> {
    match ctx.pointer(inst, 0)?.0 {
        // Local memory is not in the guide and is what `cl_intel_subgroup_local_block_io` adds.
        StorageClass::CrossWorkgroup | StorageClass::Workgroup => Ok(()),
        class => Err(format!("a block of {class:?} memory")),
    }
}

#[cfg(test)]
mod tests {
    use crate::test_support::{assert_accepted, assert_rejected, kernel};

    fn with_subgroups(body: &str) -> String {
        kernel("", body)
            .replace("OpCapability Kernel", "OpCapability Kernel\nOpCapability SubgroupShuffleINTEL\nOpCapability SubgroupBufferBlockIOINTEL")
            .replace("%std = ", "OpExtension \"SPV_INTEL_subgroups\"\n%std = ")
    }

    #[test]
    fn barriers_are_of_groups() {
        assert_accepted(&kernel("", "OpControlBarrier %u2 %u2 %u0"));
        assert_accepted(&kernel("", "OpControlBarrier %u3 %u2 %u0"));
        assert_accepted(&kernel("", "OpControlBarrier %u1 %u2 %u0"));
        assert_rejected(&kernel("", "OpControlBarrier %u0 %u2 %u0"), "env.execution-scope");
    }

    #[test]
    fn non_uniform_instructions_are_of_sub_groups() {
        let add = |scope: &str| {
            kernel("", &format!("%r = OpGroupNonUniformIAdd %uint {scope} Reduce %u1"))
                .replace("OpCapability Kernel", "OpCapability Kernel\nOpCapability GroupNonUniformArithmetic")
        };
        assert_accepted(&add("%u3"));
        assert_rejected(&add("%u2"), "env.execution-scope");
    }

    #[test]
    fn async_copies_are_of_work_groups() {
        let copy = |scope: &str| {
            let types = "%local = OpTypePointer Workgroup %uint\n%global = OpTypePointer CrossWorkgroup %uint\n\
                %event = OpTypeEvent\n%to = OpConstantNull %local\n%from = OpConstantNull %global\n\
                %none = OpConstantNull %event";
            kernel(types, &format!("%r = OpGroupAsyncCopy %event {scope} %to %from %ul1 %ul1 %none"))
        };
        assert_accepted(&copy("%u2"));
        assert_rejected(&copy("%u3"), "env.async-scope");
    }

    #[test]
    fn reductions_take_scalars() {
        assert_accepted(&kernel("", "%r = OpGroupIAdd %uint %u3 Reduce %u1"));
        let vector = kernel("%v = OpConstantNull %uint2", "%r = OpGroupIAdd %uint2 %u3 Reduce %v");
        assert_rejected(&vector, "env.group-value");
    }

    #[test]
    fn clusters_need_their_capability() {
        let module = kernel("", "%r = OpGroupNonUniformIAdd %uint %u3 ClusteredReduce %u1 %u2")
            .replace("OpCapability Kernel", "OpCapability Kernel\nOpCapability GroupNonUniformArithmetic\nOpCapability GroupNonUniformClustered");
        assert_accepted(&module);
        assert_rejected(&module.replace("OpCapability GroupNonUniformClustered\n", ""), "env.cluster-size");
    }

    #[test]
    fn non_uniform_shuffles_take_scalars() {
        let shuffle = |ty: &str| {
            kernel(
                &format!("%v = OpConstantNull {ty}"),
                &format!("%r = OpGroupNonUniformShuffle {ty} %u3 %v %u1"),
            )
            .replace("OpCapability Kernel", "OpCapability Kernel\nOpCapability GroupNonUniformShuffle")
        };
        assert_accepted(&shuffle("%float"));
        assert_rejected(&shuffle("%float2"), "env.non-uniform-value");
        assert_rejected(&shuffle("%bool"), "env.non-uniform-value");
    }

    #[test]
    fn the_first_lane_broadcasts_numbers_and_votes() {
        let broadcast = |ty: &str| {
            kernel(
                &format!("%bool2 = OpTypeVector %bool 2\n%v = OpConstantNull {ty}"),
                &format!("%r = OpGroupNonUniformBroadcastFirst {ty} %u3 %v"),
            )
            .replace("OpCapability Kernel", "OpCapability Kernel\nOpCapability GroupNonUniformBallot")
        };
        assert_accepted(&broadcast("%float"));
        assert_accepted(&broadcast("%bool"));
        assert_rejected(&broadcast("%bool2"), "env.non-uniform-value");
        assert_rejected(&broadcast("%float2"), "env.non-uniform-value");
    }

    #[test]
    fn equality_is_of_scalars() {
        let equal = |ty: &str| {
            kernel(&format!("%v = OpConstantNull {ty}"), "%r = OpGroupNonUniformAllEqual %bool %u3 %v")
                .replace("OpCapability Kernel", "OpCapability Kernel\nOpCapability GroupNonUniformVote")
        };
        assert_accepted(&equal("%float"));
        assert_rejected(&equal("%float2"), "env.non-uniform-value");
    }

    #[test]
    fn blocks_are_of_listed_lengths() {
        let read = |elem: &str, len: &str| {
            with_subgroups("%r = OpSubgroupBlockReadINTEL %block %nil").replace(
                "%main = OpFunction",
                &format!(
                    "%block = OpTypeVector {elem} {len}\n%ptr = OpTypePointer CrossWorkgroup {elem}\n\
                     %nil = OpConstantNull %ptr\n%main = OpFunction"
                ),
            )
        };
        assert_accepted(&read("%uint", "8"));
        assert_accepted(&read("%ushort", "16"));
        assert_rejected(&read("%uint", "3"), "env.block-type");
        assert_rejected(&read("%uint", "16"), "env.block-type");
        let write = |elem: &str, len: &str| {
            let text = read(elem, len).replace("%nil = ", "%value = OpConstantNull %block\n%nil = ");
            text.replace("%r = OpSubgroupBlockReadINTEL %block %nil", "OpSubgroupBlockWriteINTEL %nil %value")
        };
        assert_accepted(&write("%uint", "8"));
        assert_rejected(&write("%uint", "3"), "env.block-type");
    }

    #[test]
    fn intel_shuffles_take_numbers() {
        assert_accepted(&with_subgroups("%r = OpSubgroupShuffleINTEL %uint %u1 %u0"));
        assert_rejected(&with_subgroups("%r = OpSubgroupShuffleINTEL %bool %true %u0"), "env.shuffle-data");
    }

    #[test]
    fn blocks_are_of_global_memory() {
        let read = |class: &str| {
            with_subgroups("%r = OpSubgroupBlockReadINTEL %uint %nil").replace(
                "%main = OpFunction",
                &format!(
                    "%ptr = OpTypePointer {class} %uint\n%nil = OpConstantNull %ptr\n%main = OpFunction"
                ),
            )
        };
        assert_accepted(&read("CrossWorkgroup"));
        assert_rejected(&read("Generic"), "env.block-pointer");
        let floats = read("CrossWorkgroup")
            .replace("OpSubgroupBlockReadINTEL %uint", "OpSubgroupBlockReadINTEL %float");
        assert_rejected(&floats.replace("CrossWorkgroup %uint", "CrossWorkgroup %float"), "env.block-type");
    }
}
