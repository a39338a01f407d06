//! What the intake says about a module it rejects: the module build log.

use crate::binary::Binary;
use crate::catalogue;
use crate::listing::Listing;
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

/// Not a rule of its own: what fails because of something that was reported where it is.
const CONSEQUENCE: RuleId = RuleId { id: "consequence", source: "this driver" };

impl Fault {
    pub fn new(rule: RuleId, message: impl Into<String>) -> Self {
        Self { rule, message: message.into() }
    }

    /// Something does not work because an id stands for something that was rejected: nobody is told twice.
    pub fn consequence() -> Self {
        Self::new(CONSEQUENCE, "follows from what was rejected before")
    }

    pub fn is_consequence(&self) -> bool {
        self.rule == CONSEQUENCE
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
    /// The instruction as text, with names where the module has them.
    pub text: Option<String>,
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
        if let Some(says) = catalogue::says(self.rule) {
            write!(f, "\n  rule: {says}")?;
        }
        if let Some(instruction) = &self.instruction {
            match (&instruction.text, instruction.result) {
                (Some(text), _) => write!(f, "\n  at {text}")?,
                (None, Some(result)) => write!(f, "\n  at {result} = {}", instruction.opcode)?,
                (None, None) => write!(f, "\n  at {}", instruction.opcode)?,
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
    /// How many more were found than are listed.
    pub more: usize,
}

impl fmt::Display for BuildError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, diagnostic) in self.diagnostics.iter().enumerate() {
            if at > 0 {
                writeln!(f)?;
            }
            write!(f, "{diagnostic}")?;
        }
        if self.more > 0 {
            write!(f, "\nand {} more", self.more)?;
        }
        Ok(())
    }
}

impl std::error::Error for BuildError {}

impl From<Fault> for BuildError {
    fn from(fault: Fault) -> Self {
        Self { diagnostics: vec![Diagnostic::new(fault)], more: 0 }
    }
}

/// Diagnostics as they are found. A broken module breaks many rules: after [`Self::LIMIT`] they are only counted.
#[derive(Default, Debug)]
pub struct Diagnostics {
    found: Vec<Diagnostic>,
    more: usize,
    unsound: bool,
}

impl Diagnostics {
    const LIMIT: usize = 64;

    /// Takes what makes the module unfit for the stages to come, which rely on it.
    pub fn push(&mut self, diagnostic: Diagnostic) {
        self.unsound = true;
        self.judge(diagnostic);
    }

    /// Takes a broken rule that later stages do not rely on.
    pub fn judge(&mut self, diagnostic: Diagnostic) {
        if self.found.len() < Self::LIMIT {
            self.found.push(diagnostic);
        } else {
            self.more += 1;
        }
    }

    /// Later stages cannot be relied on to make sense of the module, although there is nothing to add to the log.
    pub fn spoil(&mut self) {
        self.unsound = true;
    }

    /// Whether later stages can look at the module.
    pub fn is_sound(&self) -> bool {
        !self.unsound
    }

    pub fn is_empty(&self) -> bool {
        self.found.is_empty()
    }

    /// Where instructions of an input were found wanting, in words from its start.
    pub fn places(&self) -> impl Iterator<Item = (Option<usize>, u32)> + '_ {
        self.found.iter().filter_map(|found| found.instruction.as_ref().map(|at| (found.input, at.offset)))
    }

    /// The build log, with instructions as text; `None` where there is nothing to say.
    pub fn finish(self, inputs: &[Option<Binary>]) -> Option<BuildError> {
        let Self { found: mut diagnostics, more, .. } = self;
        if diagnostics.is_empty() {
            return None;
        }
        let mut listings: Vec<Option<Listing<'_>>> = inputs.iter().map(|_| None).collect();
        for diagnostic in &mut diagnostics {
            let at = diagnostic.input.unwrap_or(0);
            let Some(binary) = inputs.get(at).and_then(Option::as_ref) else { continue };
            // Without it, several inputs share the diagnostic.
            if diagnostic.input.is_none() && inputs.len() > 1 {
                continue;
            }
            let listing = listings[at].get_or_insert_with(|| Listing::new(binary));
            diagnostic.message = listing.with_names(&diagnostic.message);
            if let Some(instruction) = &mut diagnostic.instruction {
                instruction.text = listing.instruction(instruction.offset);
            }
        }
        Some(BuildError { diagnostics, more })
    }
}
