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
use crate::module::{Constant, ConstantValue, Function, Id, Inst, Module};
use crate::rules::{self, InstructionRule};
use rustc_hash::FxHashMap;
use spirv::{LinkageType, Op};

const OPERAND_TYPES: RuleId = RuleId { id: "types.operands", source: "SPIR-V 1.2 §3.32" };
const ENGINE: RuleId = RuleId { id: "engine.unsupported", source: "this driver" };
const LINKAGE: RuleId = RuleId { id: "functions.linkage", source: "SPIR-V 1.2 §2.16.1" };

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
    let mut judges: FxHashMap<Op, Judge> = FxHashMap::default();
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
                let judge = judges.entry(inst.op).or_insert_with(|| Judge::new(module, inst.op));
                if let Err(fault) = judge.instruction(&ctx, inst) {
                    report(Some((block, at)), fault);
                }
            }
        }
    }
    for &id in &loaded.expressions {
        if let Err(message) = expression(module, env, loaded, &leaves, id) {
            let fault = Fault::new(OPERAND_TYPES, message);
            let result = Some(loaded.defs.raw(id));
            let instruction = InstructionRef { opcode: op_name(Op::SpecConstantOp), offset: 0, result };
            diagnostics.push(Diagnostic { input, instruction: Some(instruction), ..Diagnostic::new(fault) });
        }
    }
}

/// A constant that stays an expression is checked as if it were an instruction.
fn expression(
    module: &Module,
    env: &Environment<'_>,
    loaded: &Loaded,
    leaves: &[u64],
    id: Id,
) -> Result<(), String> {
    let Some(Constant { ty, value: ConstantValue::Expression { op, operands } }) = module.constants.get(&id)
    else {
        return Ok(());
    };
    let check =
        FAMILIES.iter().find_map(|family| family(*op)).ok_or_else(|| format!("{op:?} is not supported"))?;
    let function = Function {
        id,
        result: *ty,
        params: Vec::new(),
        control: spirv::FunctionControl::NONE,
        blocks: Vec::new(),
        name: None,
        linkage: None,
    };
    let inst =
        Inst { op: *op, ty: Some(*ty), result: Some(id), operands: operands.as_slice().into(), line: None };
    let ctx = Ctx { module, defs: &loaded.defs, function: &function, leaves, env };
    ctx.result_size(&inst).and_then(|()| check(&ctx, &inst))
}

/// All that is to be known about an opcode, looked up once a module.
struct Judge {
    supported: Result<Check, Fault>,
    rules: Vec<&'static InstructionRule>,
}

impl Judge {
    fn new(module: &Module, op: Op) -> Self {
        let check = FAMILIES.iter().find_map(|family| family(op));
        let check = check.ok_or_else(|| Fault::new(OPCODE, format!("{} is not supported", op_name(op))));
        let supported = check.and_then(|check| rules::instruction_capability(module, op).map(|()| check));
        Self { supported, rules: rules::of(op) }
    }

    fn instruction(&self, ctx: &Ctx<'_>, inst: &Inst) -> Result<(), Fault> {
        let check = self.supported.as_ref().map_err(Fault::clone)?;
        let types = ctx.result_size(inst).and_then(|()| check(ctx, inst));
        types.map_err(|message| Fault::new(OPERAND_TYPES, message))?;
        self.rules
            .iter()
            .try_for_each(|rule| (rule.check)(ctx, inst).map_err(|message| Fault::new(rule.id, message)))
    }
}

/// Asks the engine about everything that is left to be compiled.
pub(crate) fn ask_engine(
    module: &Module,
    env: &Environment<'_>,
    loaded: &[Loaded],
    diagnostics: &mut Diagnostics,
) {
    let Some(engine_ops) = env.engine_ops else { return };
    let functions: FxHashMap<Id, &Function> =
        module.functions.iter().map(|function| (function.id, function)).collect();
    for (at, input) in loaded.iter().enumerate() {
        for source in &input.sources {
            let Some(function) = functions.get(&source.function) else { continue };
            for (block, offsets) in function.blocks.iter().zip(&source.blocks) {
                for (inst, &offset) in block.insts.iter().zip(offsets) {
                    if let Err(reason) = engine_ops(module, inst) {
                        let fault = Fault::new(ENGINE, reason);
                        let diagnostic = locate(module, input, function, Some((inst, offset)), fault);
                        diagnostics
                            .push(Diagnostic { input: (loaded.len() > 1).then_some(at), ..diagnostic });
                    }
                }
            }
        }
    }
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
