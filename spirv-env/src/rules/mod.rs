//! The environment's rules: data with one loop over them.
//!
//! A rule is a function with an id and the text it comes from, and has a case that it accepts and one that it
//! rejects beside it. `module` looks at declarations, `instructions` at what functions do, `kernels` at entry points.

mod enumerants;
mod groups;
mod images;
mod kernels;
mod memory;
#[cfg(test)]
mod mistakes;
mod module;
mod types;

pub(crate) use module::{instruction_capability, instruction_version, is_of_shaders};

use crate::binary::RawInst;
use crate::defs::Defs;
use crate::diagnostics::{Diagnostic, Diagnostics, Fault, RuleId};
use crate::environment::Environment;
use crate::load::Loaded;
use crate::module::{Inst, Kernel, Module};
use crate::opcodes;
use crate::validate::Ctx;
use spirv::Op;

const GUIDE: &str = "L0 SPIR-V Guide, Validation Rules";

/// A rule about declarations, seen as words. They were not looked at by anything else yet.
pub(crate) struct DeclarationRule {
    pub id: RuleId,
    pub ops: &'static [Op],
    pub check: fn(&Declarations<'_>, &[u32]) -> Result<(), String>,
}

/// What a declaration is judged by: all that came before it.
pub(crate) struct Declarations<'a> {
    /// What is declared.
    pub op: Op,
    pub module: &'a Module,
    pub env: &'a Environment<'a>,
    pub defs: &'a Defs,
    /// Whether the module has `OpBitReverse`, if it declares what only shaders have.
    pub reverses_bits: bool,
}

/// A rule about instructions in functions, whose types are known to agree.
pub(crate) struct InstructionRule {
    pub id: RuleId,
    pub applies: fn(Op) -> bool,
    pub check: fn(&Ctx<'_>, &Inst) -> Result<(), String>,
}

/// A rule about a module as a whole.
pub(crate) struct ModuleRule {
    pub id: RuleId,
    pub check: fn(&Module, &Environment<'_>) -> Result<(), String>,
}

/// A rule about a kernel.
pub(crate) struct KernelRule {
    pub id: RuleId,
    pub check: fn(&Module, &Environment<'_>, &Kernel) -> Result<(), String>,
}

const DECLARATIONS: &[&[DeclarationRule]] =
    &[module::DECLARATIONS, enumerants::DECLARATIONS, types::DECLARATIONS, images::DECLARATIONS];
const INSTRUCTIONS: &[&[InstructionRule]] =
    &[memory::INSTRUCTIONS, groups::INSTRUCTIONS, images::INSTRUCTIONS, types::INSTRUCTIONS];

/// Judges a declaration by all rules that are about it.
pub(crate) fn declaration(context: &Declarations<'_>, inst: &RawInst<'_>, broken: &mut Vec<Fault>) {
    if let Err(fault) = module::instruction_capability(context.module, inst.op) {
        broken.push(fault);
    }
    if let Some(Err(fault)) =
        opcodes::row(inst.op).map(|row| module::instruction_version(context.module, row))
    {
        broken.push(fault);
    }
    for rule in DECLARATIONS.iter().copied().flatten().filter(|rule| rule.ops.contains(&inst.op)) {
        if let Err(message) = (rule.check)(context, inst.operands) {
            broken.push(Fault::new(rule.id, message));
        }
    }
}

/// The rules for an opcode.
pub(crate) fn of(op: Op) -> Vec<&'static InstructionRule> {
    INSTRUCTIONS.iter().copied().flatten().filter(|rule| (rule.applies)(op)).collect()
}

/// Judges what an input declares once all of it is known.
pub(crate) fn declared(module: &Module, env: &Environment<'_>, diagnostics: &mut Diagnostics) {
    for rule in module::WHOLE {
        if let Err(message) = (rule.check)(module, env) {
            diagnostics.judge(Diagnostic::new(Fault::new(rule.id, message)));
        }
    }
}

/// Judges the linked module as a whole.
pub(crate) fn functions(
    module: &Module,
    loaded: &[Loaded],
    env: &Environment<'_>,
    diagnostics: &mut Diagnostics,
) {
    if let Some(diagnostic) = kernels::recursion(module, loaded) {
        diagnostics.judge(diagnostic);
    }
    for rule in kernels::WHOLE {
        if let Err(message) = (rule.check)(module, env) {
            diagnostics.judge(Diagnostic::new(Fault::new(rule.id, message)));
        }
    }
}

/// Judges the kernels.
pub(crate) fn kernels(module: &Module, env: &Environment<'_>, diagnostics: &mut Diagnostics) {
    for kernel in &module.kernels {
        for rule in kernels::KERNELS {
            if let Err(message) = (rule.check)(module, env, kernel) {
                let fault = Fault::new(rule.id, message);
                let function = Some(format!("kernel {}", kernel.name));
                diagnostics.judge(Diagnostic { function, ..Diagnostic::new(fault) });
            }
        }
    }
}
