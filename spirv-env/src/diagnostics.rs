//! What the intake says about a module it rejects: the module build log.

use crate::module::{Id, Line};
use std::fmt;

/// A rule that modules are held to: a stable name and the specification it comes from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RuleId {
    pub id: &'static str,
    /// For example `L0 SPIR-V Guide, Validation Rules`.
    pub source: &'static str,
}

/// A broken rule, before it is known which instruction is to blame.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Fault {
    pub rule: RuleId,
    pub message: String,
}

impl Fault {
    pub fn new(rule: RuleId, message: impl Into<String>) -> Self {
        Self { rule, message: message.into() }
    }
}

/// The instruction a diagnostic is about.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct InstructionRef {
    /// With its `Op` prefix.
    pub opcode: String,
    /// Words from the start of the module.
    pub offset: u32,
    /// The result id, as numbered in the module.
    pub result: Option<Id>,
}

/// One broken rule in one place.
#[derive(Clone, Debug)]
pub struct Diagnostic {
    pub rule: &'static str,
    pub source: &'static str,
    /// Which of several inputs that are linked together.
    pub input: Option<usize>,
    pub instruction: Option<InstructionRef>,
    /// The kernel's or function's name.
    pub function: Option<String>,
    pub line: Option<Line>,
    pub message: String,
}

impl Diagnostic {
    pub fn new(fault: Fault) -> Self {
        Self {
            rule: fault.rule.id,
            source: fault.rule.source,
            input: None,
            instruction: None,
            function: None,
            line: None,
            message: fault.message,
        }
    }
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(line) = &self.line {
            write!(f, "{}:{}:{}: ", line.file, line.line, line.column)?;
        }
        write!(f, "error: {} [{}; {}]", self.message, self.rule, self.source)?;
        if let Some(instruction) = &self.instruction {
            write!(f, "\n  at {}", instruction.opcode)?;
            if let Some(result) = instruction.result {
                write!(f, " {result}")?;
            }
            write!(f, ", word {}", instruction.offset)?;
        }
        if let Some(function) = &self.function {
            write!(f, "\n  in {function}")?;
        }
        if let Some(input) = self.input {
            write!(f, "\n  in module {input} of those linked")?;
        }
        Ok(())
    }
}

/// A module that is not accepted, with the reasons. Its `Display` is the build log.
#[derive(Clone, Debug)]
pub struct BuildError {
    /// At least one.
    pub diagnostics: Vec<Diagnostic>,
}

impl fmt::Display for BuildError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, diagnostic) in self.diagnostics.iter().enumerate() {
            if at > 0 {
                writeln!(f)?;
            }
            write!(f, "{diagnostic}")?;
        }
        Ok(())
    }
}

impl std::error::Error for BuildError {}

impl From<Fault> for BuildError {
    fn from(fault: Fault) -> Self {
        Self { diagnostics: vec![Diagnostic::new(fault)] }
    }
}

/// Diagnostics as they are found. A broken module breaks many rules: after [`Self::LIMIT`], no more are kept.
#[derive(Default, Debug)]
pub struct Diagnostics {
    found: Vec<Diagnostic>,
}

impl Diagnostics {
    const LIMIT: usize = 32;

    pub fn push(&mut self, diagnostic: Diagnostic) {
        if !self.is_full() {
            self.found.push(diagnostic);
        }
    }

    pub fn is_full(&self) -> bool {
        self.found.len() >= Self::LIMIT
    }

    /// The end of a stage: later stages rely on what this one checked.
    pub fn finish(&mut self) -> Result<(), BuildError> {
        if self.found.is_empty() {
            Ok(())
        } else {
            Err(BuildError { diagnostics: std::mem::take(&mut self.found) })
        }
    }
}
