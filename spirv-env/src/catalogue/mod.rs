//! Every rule in one sentence, with a module that keeps it and one that breaks it: what the build log quotes,
//! what `ci/rules` runs, and what `docs/environment.md` is written from.

mod core;
mod driver;
mod guide;
#[cfg(any(test, feature = "catalogue"))]
mod page;

#[cfg(any(test, feature = "catalogue"))]
pub use page::{Outcome, outcomes, page};

/// A rule as people read it. What it checks is where its id is declared.
pub struct RuleText {
    /// [`RuleId`](crate::diagnostics::RuleId)'s.
    pub rule: &'static str,
    pub says: &'static str,
    #[cfg(any(test, feature = "catalogue"))]
    pub accepts: fn() -> Case,
    #[cfg(any(test, feature = "catalogue"))]
    pub rejects: fn() -> Case,
}

/// Modules that are built together for a device.
#[cfg(any(test, feature = "catalogue"))]
pub struct Case {
    pub inputs: Vec<Vec<u8>>,
    pub profile: ze_extensions::DeviceProfile,
    /// Values for specialization constants of the first input.
    pub constants: Vec<(u32, Vec<u8>)>,
}

#[cfg(any(test, feature = "catalogue"))]
impl<T: AsRef<str>> From<T> for Case {
    fn from(text: T) -> Self {
        Self {
            inputs: vec![crate::test_support::assemble(text.as_ref())],
            profile: ze_extensions::DeviceProfile::host(),
            constants: Vec::new(),
        }
    }
}

#[cfg(any(test, feature = "catalogue"))]
impl Case {
    fn on(self, profile: ze_extensions::DeviceProfile) -> Self {
        Self { profile, ..self }
    }

    fn specialized(self, id: u32, value: &[u8]) -> Self {
        Self { constants: vec![(id, value.to_vec())], ..self }
    }

    fn with(mut self, other: impl Into<Case>) -> Self {
        self.inputs.extend(other.into().inputs);
        self
    }

    /// With other words at a place.
    fn patched(mut self, at: usize, word: u32) -> Self {
        self.inputs[0][at * 4..at * 4 + 4].copy_from_slice(&word.to_ne_bytes());
        self
    }

    fn shortened(mut self, bytes: usize) -> Self {
        let len = self.inputs[0].len();
        self.inputs[0].truncate(len - bytes);
        self
    }
}

/// A line of a table: the rule, its sentence, a module that keeps it and one that breaks it.
macro_rules! rule {
    ($rule:literal, $says:literal, $accepts:expr, $rejects:expr $(,)?) => {
        super::RuleText {
            rule: $rule,
            says: $says,
            #[cfg(any(test, feature = "catalogue"))]
            accepts: || super::Case::from($accepts),
            #[cfg(any(test, feature = "catalogue"))]
            rejects: || super::Case::from($rejects),
        }
    };
}
use rule;

/// All rules: those of Level Zero, those of SPIR-V, those of this driver.
pub fn entries() -> impl Iterator<Item = &'static RuleText> {
    [guide::RULES, core::RULES, driver::RULES].into_iter().flatten()
}

/// A rule's sentence.
pub fn says(rule: &str) -> Option<&'static str> {
    entries().find(|entry| entry.rule == rule).map(|entry| entry.says)
}
