//! Structural safety: what a consumer of a [`Module`] relies on, checked function by function.
//!
//! `flow` looks at blocks, targets and dominance; the other files hold the types that each family of
//! opcodes takes and gives. An opcode that no family knows is not supported.

mod arithmetic;
mod atomics;
mod composites;
mod control;
mod conversions;
mod ctx;
mod dominators;
mod flow;
mod groups;
mod images;
mod memory;
mod opencl_std;

pub(crate) use ctx::{Ctx, Scalar};

use crate::diagnostics::{Diagnostic, Diagnostics, Fault, InstructionRef, RuleId};
use crate::environment::Environment;
use crate::grammar::op_name;
use crate::load::{Loaded, OPCODE};
use crate::module::{ConstantValue, Function, Inst, Module};
use crate::rules::{self, InstructionRule};
use rustc_hash::FxHashMap;
use spirv::{LinkageType, Op};

const OPERAND_TYPES: RuleId = RuleId { id: "types.operands", source: "SPIR-V 1.2 §3.32" };
const LINKAGE: RuleId = RuleId { id: "functions.linkage", source: "SPIR-V 1.2 §2.16.1" };
const FUNCTION_POINTER: RuleId =
    RuleId { id: "constants.function-pointer", source: "SPV_INTEL_function_pointers" };

/// Checks the operands of one opcode; the error says what is wrong with them.
type Check = fn(&Ctx<'_>, &Inst) -> Result<(), String>;

/// The families in the order of how often their opcodes occur.
const FAMILIES: &[fn(Op) -> Option<Check>] = &[
    memory::check,
    arithmetic::check,
    conversions::check,
    composites::check,
    control::check,
    opencl_std::check,
    groups::check,
    atomics::check,
    images::check,
];

/// Checks all functions that an input brought.
pub(crate) fn validate(
    module: &Module,
    env: &Environment<'_>,
    loaded: &Loaded,
    input: Option<usize>,
    diagnostics: &mut Diagnostics,
) {
    let leaves = ctx::leaves(&module.types);
    let mut checks: FxHashMap<Op, (Option<Check>, Vec<&'static InstructionRule>)> = FxHashMap::default();
    let functions = &module.functions[loaded.first_function..];
    let mut places = flow::Places::new(loaded.defs.len());
    for (function, source) in functions.iter().zip(&loaded.sources) {
        let ctx = Ctx { module, defs: &loaded.defs, function, leaves: &leaves, env };
        let mut report = |at: Option<(usize, usize)>, fault: Fault| {
            let inst =
                at.map(|(block, inst)| (&function.blocks[block].insts[inst], source.blocks[block][inst]));
            let mut diagnostic = locate(module, loaded, function, inst, fault);
            if inst.is_none() {
                diagnostic.instruction = Some(InstructionRef {
                    opcode: op_name(Op::Function),
                    offset: source.offset,
                    result: Some(loaded.defs.raw(function.id)),
                });
            }
            diagnostics.push(Diagnostic { input, ..diagnostic });
        };
        if let Err(fault) = linkage(function) {
            report(None, fault);
            continue;
        }
        if let Err((at, fault)) = flow::check(&ctx, &mut places) {
            report(at, fault);
            continue;
        }
        for (block, insts) in function.blocks.iter().enumerate() {
            for (at, inst) in insts.insts.iter().enumerate() {
                let (check, rules) = checks.entry(inst.op).or_insert_with(|| {
                    (FAMILIES.iter().find_map(|family| family(inst.op)), rules::of(inst.op))
                });
                if let Err(fault) = instruction(&ctx, inst, *check, rules) {
                    report(Some((block, at)), fault);
                }
            }
        }
    }
    for (id, constant) in &module.constants {
        if let ConstantValue::FunctionPointer(function) = constant.value
            && !module.functions.iter().any(|candidate| candidate.id == function)
        {
            let message = format!(
                "{} points to {}, which is not a function",
                loaded.defs.raw(*id),
                loaded.defs.raw(function)
            );
            diagnostics.push(Diagnostic { input, ..Diagnostic::new(Fault::new(FUNCTION_POINTER, message)) });
        }
    }
}

fn instruction(
    ctx: &Ctx<'_>,
    inst: &Inst,
    check: Option<Check>,
    rules: &[&InstructionRule],
) -> Result<(), Fault> {
    let check = check.ok_or_else(|| Fault::new(OPCODE, format!("{} is not supported", op_name(inst.op))))?;
    let types = ctx.result_size(inst).and_then(|()| check(ctx, inst));
    types.map_err(|message| Fault::new(OPERAND_TYPES, message))?;
    rules.iter().try_for_each(|rule| (rule.check)(ctx, inst).map_err(|message| Fault::new(rule.id, message)))
}

/// A function has a body or is imported.
fn linkage(function: &Function) -> Result<(), Fault> {
    match (function.blocks.is_empty(), function.linkage == Some(LinkageType::Import)) {
        (true, false) => Err(Fault::new(LINKAGE, "the function has no body and is not imported")),
        (false, true) => Err(Fault::new(LINKAGE, "the function is imported and has a body")),
        _ => Ok(()),
    }
}

/// Says where a fault is.
pub(crate) fn locate(
    module: &Module,
    loaded: &Loaded,
    function: &Function,
    inst: Option<(&Inst, u32)>,
    fault: Fault,
) -> Diagnostic {
    let mut diagnostic = Diagnostic::new(fault);
    diagnostic.function = Some(loaded.function_name(module, function.id));
    if let Some((inst, offset)) = inst {
        diagnostic.line = inst.line.and_then(|line| module.lines.get(line as usize)).cloned();
        diagnostic.instruction = Some(InstructionRef {
            opcode: op_name(inst.op),
            offset,
            result: inst.result.map(|id| loaded.defs.raw(id)),
        });
    }
    diagnostic
}
