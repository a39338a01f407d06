//! How much code a kernel will be, estimated from its instructions before anything is made of them.
//!
//! A module of a mebibyte can ask for gigabytes of code: wide values, calls of calls, operations that every lane takes
//! in turn. What is beyond [`KERNEL_WORK`] is refused when the module is loaded, by name and number.

use super::func::Func;
use super::inlining::{Inlining, Plan};
use super::{cfg, loops};
use crate::error::EngineError;
use crate::lower::opencl_std::table;
use rustc_hash::{FxHashMap, FxHashSet};
use spirv::Op;
use spirv_env::opcodes::{Cost, Family, Memory, Opcode, Signature};
use spirv_env::{ConstantValue, Function, Id, Inst, Kernel, Module, Type, TypeId, own_opcodes};
use std::rc::Rc;
use ze_extensions::limits::{KERNEL_WORK, LOOP_BLOCKS};

/// LLVM instructions for each scalar of an instruction that lanes execute one after the other.
const LANE_BY_LANE: u64 = 70;
/// Operands of the least atomic: a pointer, a scope and semantics.
const LEAST_OPERANDS: u64 = 3;
/// How much more an operation of a whole work-group is: it meets at barriers.
const BY_WORK_GROUP: u64 = 4;
/// What an integer counts that has no register, in scalars: lanes are taken apart, and divisions call a function for each.
const WIDE_INTEGER: u64 = 8;
/// Those for each scalar of an access to memory, with its address.
const ACCESS: u64 = 4;
/// Those for each scalar that an edge hands over to a phi, with masks.
const EDGE: u64 = 4;
/// Those of a case of a switch: two comparisons' worth under masks, and a vector constant, of which LLVM keeps a list that
/// it searches from the start.
const CASE: u64 = 36;
/// Those of a block, with masks.
const BLOCK: u64 = 8;
/// Those of a call that stays one, without its arguments.
const CALL: u64 = 16;
/// Those of an access to an image, for each component.
const IMAGE_ACCESS: u64 = 60;
/// Those of the largest instruction, for each scalar of the widest type.
const MOST: u64 = BY_WORK_GROUP * LANE_BY_LANE;

/// Fails for a kernel that would be too much code.
pub fn check(module: &Module) -> Result<(), EngineError> {
    let scalars = scalars(&module.types);
    // Operands count too: those of phis and switches are edges.
    let of_insts = |insts: &[Inst]| insts.iter().map(|inst| 1 + inst.operands.len() as u64).sum::<u64>();
    let own =
        |function: &Function| function.blocks.iter().map(|block| of_insts(&block.insts) + BLOCK).sum::<u64>();
    let widest = scalars.iter().copied().max().unwrap_or(1);
    // Nearly all modules are small enough to need no second look.
    let calls = module.functions.iter().flat_map(|function| &function.blocks).flat_map(|block| &block.insts);
    let calls = calls.filter(|inst| inst.row().family == Family::Call).count();
    let all = module.functions.iter().map(own).fold(0, u64::saturating_add);
    let loops = module.functions.iter().map(loop_blocks).fold(0, u64::saturating_add);
    let is_short = module.matrix_lanes.is_none() && calls == 0;
    if is_short && all.saturating_mul(widest).saturating_mul(MOST) <= KERNEL_WORK && loops <= LOOP_BLOCKS {
        return Ok(());
    }
    for kernel in &module.kernels {
        // What cannot be inlined, nor called, is refused here too.
        let plan = Plan::new(module, kernel, Inlining::default())?;
        let work = of_kernel(module, kernel, &scalars, &plan);
        if work > KERNEL_WORK {
            return Err(EngineError::TooLarge { kernel: kernel.name.clone(), work, limit: KERNEL_WORK });
        }
        check_loops(module, kernel, plan)?;
    }
    Ok(())
}

/// The most blocks that the loops of a function can have together: as many loops as there are blocks that others lead
/// back to, with all blocks.
fn loop_blocks(function: &Function) -> u64 {
    headers(function).saturating_mul(function.blocks.len() as u64)
}

fn headers(function: &Function) -> u64 {
    let (mut seen, mut headers) = (FxHashSet::default(), FxHashSet::default());
    for block in &function.blocks {
        seen.insert(block.label);
        let last = block.insts.last().into_iter().filter(|inst| inst.row().family == Family::Terminator);
        headers.extend(last.flat_map(Inst::ids).filter(|label| seen.contains(label)));
    }
    headers.len() as u64
}

/// Fails for a kernel whose loops nest so deep that analyses would take too long.
fn check_loops(module: &Module, kernel: &Kernel, plan: Plan) -> Result<(), EngineError> {
    // With what is inlined: how many blocks, and how many loops at most.
    let sum = |of: fn(&Function) -> u64| sums(module, kernel, &plan, of).values().fold(0, |a, b| a.max(*b));
    if sum(headers).saturating_mul(sum(|function| function.blocks.len() as u64)) <= LOOP_BLOCKS {
        return Ok(());
    }
    let plan = Rc::new(plan);
    for id in plan.functions().iter().chain([&kernel.function]) {
        let mut func = Func::of(module, kernel, *id, &plan)?;
        cfg::remove_unreachable(&mut func);
        if !loops::nested_blocks_fit(&cfg::Cfg::new(&func), LOOP_BLOCKS) {
            return Err(func.unsupported(format!(
                "loops of more than {LOOP_BLOCKS} blocks, each counted for every loop around it,"
            )));
        }
    }
    Ok(())
}

/// By function: a sum over it and what is inlined into it.
fn sums(module: &Module, kernel: &Kernel, plan: &Plan, of: impl Fn(&Function) -> u64) -> FxHashMap<Id, u64> {
    fold(module, kernel, |function, sums| {
        let insts = function.blocks.iter().flat_map(|block| &block.insts);
        let inlined = insts.filter(|inst| inst.op == Op::FunctionCall && !plan.keeps(inst.id(0)));
        inlined.filter_map(|call| sums.get(&call.id(0))).fold(of(function), |sum, of| sum.saturating_add(*of))
    })
}

/// By type: scalars in a value.
fn scalars(types: &spirv_env::Types) -> Vec<u64> {
    let mut counts: Vec<u64> = Vec::with_capacity(types.len());
    for at in 0..types.len() {
        let of = |ty: &TypeId| counts.get(ty.0 as usize).copied().unwrap_or(1);
        let count = match types.get(TypeId(at as u32)) {
            Type::Vector { elem, len } => of(elem).saturating_mul(u64::from(*len)),
            Type::Array { elem, len } => of(elem).saturating_mul(*len),
            Type::Struct { members, .. } => members.iter().map(of).fold(0, u64::saturating_add),
            Type::Int { width, .. } if *width > u64::BITS => WIDE_INTEGER,
            _ => 1,
        };
        counts.push(count);
    }
    counts
}

/// The work of a kernel: its own with that of each inlined call, and once that of each function that stays one.
fn of_kernel(module: &Module, kernel: &Kernel, scalars: &[u64], plan: &Plan) -> u64 {
    let work = fold(module, kernel, |function, work| of_function(module, function, scalars, work, plan));
    let compiled = plan.functions().iter().chain([&kernel.function]);
    compiled.filter_map(|id| work.get(id)).fold(0, |total, work| total.saturating_add(*work))
}

/// A number for each function that a kernel reaches, which may depend on those of its callees.
fn fold(
    module: &Module,
    kernel: &Kernel,
    number: impl Fn(&Function, &FxHashMap<Id, u64>) -> u64,
) -> FxHashMap<Id, u64> {
    let mut numbers: FxHashMap<Id, u64> = FxHashMap::default();
    // Callees first. There is no recursion.
    let mut stack: Vec<(Id, bool)> =
        kernel.indirect.iter().chain([&kernel.function]).map(|id| (*id, false)).collect();
    while let Some((id, callees_known)) = stack.pop() {
        if numbers.contains_key(&id) {
            continue;
        }
        let Some(function) = module.function(id) else { continue };
        if callees_known {
            let number = number(function, &numbers);
            numbers.insert(id, number);
            continue;
        }
        stack.push((id, true));
        let insts = function.blocks.iter().flat_map(|block| &block.insts);
        let callees = insts.filter(|inst| inst.op == Op::FunctionCall).map(|inst| inst.id(0));
        stack.extend(callees.filter(|callee| !numbers.contains_key(callee)).map(|callee| (callee, false)));
    }
    numbers
}

fn of_function(
    module: &Module,
    function: &Function,
    scalars: &[u64],
    work: &FxHashMap<Id, u64>,
    plan: &Plan,
) -> u64 {
    let insts = || function.blocks.iter().flat_map(|block| &block.insts);
    let variables = insts().filter(|inst| inst.op == Op::Variable).count() as u64;
    let types: FxHashMap<Id, TypeId> = function
        .params
        .iter()
        .copied()
        .chain(insts().filter_map(|inst| Some((inst.result?, inst.ty?))))
        .collect();
    let width =
        |ty: Option<TypeId>| ty.map_or(1, |ty| scalars.get(ty.0 as usize).copied().unwrap_or(1).max(1));
    let of = |id: Id| width(types.get(&id).copied().or_else(|| Some(module.constants.get(&id)?.ty)));
    let is_wide = |ty: Option<TypeId>| {
        let element = ty.map(|ty| match module.types.get(ty) {
            Type::Vector { elem, .. } => module.types.get(*elem),
            ty => ty,
        });
        matches!(element, Some(Type::Int { width, .. }) if *width > u64::BITS)
    };
    let of_inst = |inst: &Inst| {
        let (row, result, operands) = (inst.row(), width(inst.ty), inst.operands.len() as u64);
        match (row.family, row.memory) {
            (Family::Call, _) if row.signature == Signature::PointerCall => CALL.saturating_add(operands),
            (Family::Call, _) if plan.keeps(inst.id(0)) => CALL.saturating_add(operands),
            (Family::Call, _) => work.get(&inst.id(0)).copied().unwrap_or(0).saturating_add(result),
            (_, Memory::Read { .. }) => ACCESS.saturating_mul(result),
            (_, Memory::Write { .. }) => ACCESS.saturating_mul(of(inst.id(1))),
            (_, Memory::Copy { .. }) => LANE_BY_LANE,
            (_, Memory::ImageRead | Memory::ImageWrite) => IMAGE_ACCESS.saturating_mul(result.max(4)),
            (Family::Matrix, _) => of_matrix(module, inst, |id| types.get(&id).copied(), result),
            (Family::Phi, _) => EDGE.saturating_mul(result).saturating_mul(operands / 2),
            (Family::Extended, _)
                if inst.opencl_std(module).is_some_and(|function| table::is_long(function.op)) =>
            {
                LANE_BY_LANE.saturating_mul(result)
            }
            (Family::Extended, _) => LANE_BY_LANE.saturating_mul(result) / 4,
            _ if row.signature == Signature::Switch => CASE.saturating_mul(operands / 2),
            _ if row.signature == Signature::Extract => result.saturating_add(of(inst.id(0)) / 64),
            _ if row.locates => 4 * variables.max(1),
            (Family::Collective | Family::Reduction, _) if inst.waits_for_work_group(module) => {
                (BY_WORK_GROUP * LANE_BY_LANE).saturating_mul(result)
            }
            // Each vector that it takes is taken apart, too.
            (Family::Atomic, _) => LANE_BY_LANE.saturating_mul(operands) / LEAST_OPERANDS,
            _ if is_lane_by_lane(row) => LANE_BY_LANE.saturating_mul(result),
            _ if is_taken_apart(inst.op)
                && (is_wide(inst.ty) || is_wide(types.get(&inst.id(0)).copied())) =>
            {
                LANE_BY_LANE.saturating_mul(result.max(WIDE_INTEGER))
            }
            _ => 2u64.saturating_mul(result),
        }
    };
    let blocks = BLOCK.saturating_mul(function.blocks.len() as u64);
    insts().map(of_inst).fold(blocks, u64::saturating_add)
}

/// Instructions that integers without a register take many others for, or a call, in each lane.
fn is_taken_apart(op: Op) -> bool {
    use Op::{ConvertFToS, ConvertFToU, ConvertSToF, ConvertUToF};
    use Op::{IMul, ShiftLeftLogical, ShiftRightArithmetic, ShiftRightLogical};
    matches!(op, IMul | ShiftLeftLogical | ShiftRightArithmetic | ShiftRightLogical)
        || matches!(op, ConvertFToS | ConvertFToU | ConvertSToF | ConvertUToF)
}

/// A load or store may be one of each lane; a product is a multiplication and a choice of its operand for each step.
fn of_matrix(module: &Module, inst: &Inst, ty: impl Fn(Id) -> Option<TypeId>, result: u64) -> u64 {
    let matrix = |at: usize| ty(inst.id(at)).and_then(|ty| module.types.matrix(ty));
    if let Some(access) = inst.matrix_access() {
        let stored = access.object.and_then(matrix).map_or(result, |matrix| u64::from(matrix.length()));
        return LANE_BY_LANE.saturating_mul(stored);
    }
    match inst.op {
        own_opcodes::CONSTRUCT_CHECKED => 8u64.saturating_mul(result),
        own_opcodes::GET_ELEMENT_COORD => 8,
        Op::CooperativeMatrixMulAddKHR => {
            let depth = matrix(0).map_or(1, |matrix| u64::from(matrix.columns));
            3u64.saturating_mul(result).saturating_mul(depth)
        }
        Op::SubgroupMatrixMultiplyAccumulateINTEL => {
            let depth = module.constants.get(&inst.id(0)).map(|depth| &depth.value);
            let depth = if let Some(&ConstantValue::Scalar(depth)) = depth { depth } else { 1 };
            (3u64.saturating_mul(result) + 16).saturating_mul(depth)
        }
        Op::CooperativeMatrixLengthKHR => result,
        // Blocks of memory: their values are arrays.
        _ => {
            let stored = inst.ids().last().and_then(&ty).map_or(1, |ty| match module.types.get(ty) {
                Type::Array { len, .. } => *len,
                _ => 1,
            });
            4 * LANE_BY_LANE.saturating_mul(result.max(stored))
        }
    }
}

/// Operations of groups, and divisions of integers.
fn is_lane_by_lane(row: &Opcode) -> bool {
    use Family::{Barrier, Collective, Reduction, Shuffle, Vote};
    row.cost == Cost::High || matches!(row.family, Barrier | Collective | Reduction | Shuffle | Vote)
}

#[cfg(test)]
mod tests {
    use super::super::testing;
    use super::*;

    /// What a kernel of these instructions counts, beyond one of none.
    fn work(body: &str) -> u64 {
        let of = |body: &str| {
            let module = testing::module(body);
            let kernel = module.kernel("main").expect("the module has it");
            let plan = Plan::new(&module, kernel, Inlining::default()).expect("a kernel without calls");
            of_kernel(&module, kernel, &scalars(&module.types), &plan)
        };
        of(body) - of("")
    }

    #[test]
    fn an_instruction_counts_by_its_kind_and_by_the_scalars_of_its_value() {
        let pair = "%pair = OpCompositeConstruct %uint2 %any_uint %any_uint\n";
        for (body, expected) in [
            ("%r = OpIAdd %uint %any_uint %uint_1", 2),
            ("%r = OpUDiv %uint %any_uint %uint_1", LANE_BY_LANE),
            ("%r = OpSMod %uint %any_uint %uint_1", LANE_BY_LANE),
            ("%r = OpAtomicIIncrement %uint %pointer %uint_1 %uint_0", LANE_BY_LANE),
            (
                "%r = OpAtomicCompareExchange %uint %pointer %uint_1 %uint_0 %uint_0 %any_uint %uint_1",
                2 * LANE_BY_LANE,
            ),
            // Products take one instruction, unless no register has their integers.
            ("%r = OpIMul %uint %any_uint %uint_3", 2),
            ("%r = OpExtInst %float %std fabs %any_float", LANE_BY_LANE / 4),
            ("%r = OpExtInst %float %std tgamma %any_float", LANE_BY_LANE),
            ("%r = OpLoad %uint %pointer", ACCESS),
            ("OpStore %pointer %any_uint", ACCESS),
        ] {
            assert_eq!(work(body), expected, "{body}");
        }
        // Two scalars count twice: those of the construction, and of what follows.
        let own = work(pair);
        assert_eq!(own, 4);
        let after = |body: &str| work(&format!("{pair}{body}")) - own;
        assert_eq!(after("%r = OpIAdd %uint2 %pair %pair"), 4);
        assert_eq!(after("%r = OpUDiv %uint2 %pair %pair"), 2 * LANE_BY_LANE);
        assert_eq!(after("%r = OpCompositeExtract %uint %pair 0"), 1);
    }
}
