//! The catalogue as a table of results and as `docs/environment.md`.

use super::{Case, RuleText, entries};
use crate::environment::{Environment, ModuleInput};
use crate::{Module, build};
use std::fmt::Write;

/// What came of a rule's two modules.
pub struct Outcome {
    pub rule: &'static str,
    pub says: &'static str,
    /// The rule's place in a specification, as its diagnostic has it.
    pub section: &'static str,
    /// `Err` has the log of a module that should have been accepted.
    pub accepting: Result<(), String>,
    /// `Err` says which rules rejected the module instead, if any.
    pub rejecting: Result<(), String>,
}

impl Outcome {
    pub fn holds(&self) -> bool {
        self.accepting.is_ok() && self.rejecting.is_ok()
    }
}

fn run(case: &Case) -> Result<Module, crate::BuildError> {
    let mut inputs: Vec<ModuleInput<'_>> = case.inputs.iter().map(|bytes| ModuleInput::new(bytes)).collect();
    if let Some(first) = inputs.first_mut() {
        first.constants.clone_from(&case.constants);
    }
    build(&inputs, &Environment::new(&case.profile))
}

fn outcome(entry: &RuleText) -> Outcome {
    let accepting = run(&(entry.accepts)()).map(|_| ()).map_err(|error| error.to_string());
    let mut section = "";
    let rejecting = match run(&(entry.rejects)()) {
        Ok(_) => Err("accepted".to_owned()),
        Err(error) => match error.diagnostics.iter().find(|found| found.rule == entry.rule) {
            Some(found) => {
                section = found.source;
                Ok(())
            }
            None => Err(error.to_string()),
        },
    };
    Outcome { rule: entry.rule, says: entry.says, section, accepting, rejecting }
}

/// Builds the two modules of every rule.
pub fn outcomes() -> Vec<Outcome> {
    entries().map(outcome).collect()
}

const INTRODUCTION: &str = "\
# What a module is held to

Every rule that the intake applies to a SPIR-V module, with its place in the specifications. `ci/rules` writes this page
from the rules' own data, after it has built for each a module that keeps it and one that breaks it. A build log has the
id of each rule that is broken, the sentence from here, and the instruction, function and source line where it is broken.

";

/// Where the intake takes what a specification forbids, and why.
const ACCEPTED: &[(&str, &str)] = &[
    (
        "Blocks in front of those that dominate them (SPIR-V 1.2 §2.16.1)",
        "The LLVM translator before LLVM 16 keeps the order of the source's blocks. They are put in order.",
    ),
    (
        "The capabilities `Shader` and `Matrix` in modules with `OpBitReverse` (L0 SPIR-V Guide, Required Capabilities)",
        "clang knows how bits are reversed, and the LLVM translator declares what SPIR-V asks for it where no extension does. Nothing else of shaders is accepted.",
    ),
    (
        "An `Unequal` operand with `Release` or `AcquireRelease` (SPIR-V 1.2 §3.32.18)",
        "DPC++ gives a compare-exchange the order of its success for its failure, too. A failed one acquires.",
    ),
    (
        "Variables behind other instructions of the first block (SPIR-V 1.2 §2.4)",
        "The LLVM translator 15 makes those of `memmove` where it is called. They are moved to the block's front.",
    ),
    (
        "Variables in other blocks that nothing is done with but copying bytes into and out of them (SPIR-V 1.2 §2.4)",
        "The LLVM translator, 15 and later ones, makes those of `memmove` in a branch or a loop so: of `if (i < n) { S s = in[i]; out[i] = s; }`. They are moved to the first block.",
    ),
    (
        "A block and its value more than once in a phi (SPIR-V 1.2 §3.32.17)",
        "The LLVM translator writes a pair for each case of a switch that leads to the phi's block.",
    ),
    (
        "Variables of storage class Generic outside of functions (SPIR-V 1.2 §3.32.8)",
        "The compiler in SYCL's runtime makes the names of specialization constants so. They are global memory.",
    ),
    (
        "Function types that are declared twice (SPIR-V 1.2 §2.8)",
        "Producers tell them apart by types that are one in SPIR-V.",
    ),
    (
        "Decorations that only shaders have, such as `NoContraction` (SPIR-V 1.2 §3.20)",
        "They say nothing to a kernel, and are not looked at.",
    ),
    (
        "Names of ids that are not defined (SPIR-V 1.2 §2.16.1)",
        "`OpName` stays behind where a producer drops a value.",
    ),
    (
        "Decorations of conversions that are not defined: `FPRoundingMode` and `SaturatedConversion` (SPIR-V 1.2 §2.16.1)",
        "The LLVM translator 15 leaves them behind where a loop's phi refers to the conversion first.",
    ),
    (
        "`double`, `bool` and arrays as kernel arguments (L0 SPIR-V Guide, Kernel Arguments)",
        "DPC++ passes them and GPUs take them.",
    ),
    (
        "Generic pointers in structures that kernels take (L0 SPIR-V Guide, Kernel Arguments)",
        "DPC++ captures pointers as Generic ones, which oneMKL's kernels have.",
    ),
    (
        "`GroupNonUniformBroadcastFirst` of a Boolean (L0 SPIR-V Guide, Extended Subgroups)",
        "Producers pass the results of votes on.",
    ),
    (
        "Block reads and writes of 8 and 64 bits, of sixteen narrow components, and of local memory (L0 SPIR-V Guide, \
         Intel Subgroups)",
        "OpenCL's later sub-group extensions have them.",
    ),
    (
        "`SignExtend`, `ZeroExtend` and `Nontemporal` where an image is written (L0 SPIR-V Guide, Validation Rules)",
        "The LLVM translator writes them for SPIR-V 1.4, and 1.6, and newer.",
    ),
    (
        "Shuffles of three components and of vectors of wide ones (L0 SPIR-V Guide, Intel Subgroups)",
        "OpenCL C's `intel_sub_group_shuffle` has them.",
    ),
    (
        "Constants that are `PtrCastToGeneric` or `GenericCastToPtr` of a pointer to another type (SPIR-V 1.2 §3.32.11)",
        "The LLVM translator writes a table of strings so, and the list of the variables that XLA's kernels use.",
    ),
    (
        "Capabilities of `SPV_INTEL_subgroups` without the extension's declaration",
        "oneMKL's OpenCL C kernels use them so.",
    ),
    (
        "Execution mode `SubgroupSize` without `SubgroupDispatch` (SPIR-V 1.2 §3.6)",
        "The LLVM translator leaves the capability out; oneMKL's products of matrices are such.",
    ),
    (
        "Execution mode `FPFastMathDefault` without `FloatControls2` (SPV_KHR_float_controls2)",
        "LLVM's SPIR-V backend 22 writes it for every kernel where it may use the extension, and no capability.",
    ),
    (
        "`OpAny` and `OpAll` of integers, whose sign bits count (SPIR-V 1.2 §3.32.15)",
        "LLVM's SPIR-V backend writes OpenCL C's `any` and `all` so.",
    ),
    (
        "Scalars for vectors in `fclamp`, `fmin`, `fmax`, `mix`, `step`, `smoothstep`, `ldexp` and the integers' `min`, `max` and \
         `clamp` (OpenCL extended instructions §2)",
        "LLVM's SPIR-V backend passes OpenCL C's scalars on. They stand for each component.",
    ),
    (
        "Built-in variables of 32 bits for those of `size_t` (OpenCL SPIR-V Env 3.0, Built-in Variables)",
        "Zig's compiler declares ids and sizes so. What is loaded is narrowed.",
    ),
    (
        "Texels of up to three components and of narrow integers, with `BindlessImagesINTEL` (L0 SPIR-V Guide, Validation \
         Rules)",
        "SYCL's bindless images have pixels of the image's own channels.",
    ),
    (
        "`ArbitraryPrecisionIntegersINTEL` and `FPFastMathModeINTEL` without their extensions' declarations",
        "The LLVM translator 14 leaves them out; kernels of Level Zero's conformance tests and of oneMKL are such.",
    ),
];

/// `docs/environment.md`.
pub fn page(outcomes: &[Outcome]) -> String {
    let mut page = INTRODUCTION.to_owned();
    let cell = |text: &str| text.replace('|', "\\|");
    page.push_str("| rule | section | what it says |\n|---|---|---|\n");
    for outcome in outcomes {
        // Writing to a string does not fail.
        let _ = writeln!(page, "| `{}` | {} | {} |", outcome.rule, cell(outcome.section), cell(outcome.says));
    }
    page.push_str(
        "\n## Accepted beyond the specifications\n\nReal modules need these:\n\n| what | why |\n|---|---|\n",
    );
    for (what, why) in ACCEPTED {
        let _ = writeln!(page, "| {what} | {why} |");
    }
    page
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;
    use std::path::Path;

    #[test]
    fn every_rule_accepts_and_rejects_what_it_says() {
        for outcome in outcomes() {
            assert_eq!(outcome.accepting, Ok(()), "{} rejects the module that keeps it", outcome.rule);
            assert_eq!(
                outcome.rejecting,
                Ok(()),
                "{} does not reject the module that breaks it",
                outcome.rule
            );
        }
    }

    /// Rules that no module breaks: one says that there is no module, one that the driver has a defect, one that the
    /// engine was asked, one is about the time that a graph of millions of calls takes, and one is never shown.
    const WITHOUT_CASES: [&str; 5] =
        ["consequence", "engine.unsupported", "internal", "limits.call-graph", "link.inputs"];

    fn declared(folder: &Path, found: &mut BTreeSet<String>) {
        for entry in std::fs::read_dir(folder).unwrap().flatten() {
            let path = entry.path();
            if path.is_dir() {
                declared(&path, found);
            } else {
                let text = std::fs::read_to_string(&path).unwrap();
                for (start, _) in text.match_indices("id: \"").chain(text.match_indices("about_types(\"")) {
                    let rule = text[start..].split('"').nth(1).unwrap();
                    if rule.contains('.') || !rule.contains(' ') {
                        found.insert(rule.to_owned());
                    }
                }
            }
        }
    }

    #[test]
    fn every_rule_of_the_source_is_in_the_catalogue_once() {
        let mut found = BTreeSet::new();
        declared(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"), &mut found);
        found.retain(|rule| !rule.is_empty() && !WITHOUT_CASES.contains(&rule.as_str()));
        let listed: Vec<String> = entries().map(|entry| entry.rule.to_owned()).collect();
        assert_eq!(listed.iter().collect::<BTreeSet<_>>().len(), listed.len(), "a rule is listed twice");
        assert_eq!(listed.into_iter().collect::<BTreeSet<_>>(), found);
    }

    #[test]
    fn the_page_of_the_environment_is_current() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/environment.md");
        let text = std::fs::read_to_string(path).unwrap_or_default();
        assert!(text == page(&outcomes()), "docs/environment.md is not what ci/rules writes");
    }
}
