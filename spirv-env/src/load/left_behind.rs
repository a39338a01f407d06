//! Decorations of conversions whose ids a translator has given up.
//!
//! A phi names a value of a loop before that is made. LLVM's translator gives it an id then, gives the value another one when it makes it, decorates that, and
//! has the value take the first one in the end: `convert_uchar_sat(sum + x)` loses its saturation in a loop that goes on with it. The ids are numbered in
//! the order in which they were given, so what is missing among them tells which instruction took its place: of those with an id of before, the
//! first took that of the first missing one, and so on up to the next instruction that has its own.

use super::Loader;
use crate::diagnostics::{Fault, RuleId};
use crate::module::{Decorated, Id};
use spirv::Decoration;

pub(super) const DECORATED: RuleId = RuleId { id: "ids.decorated", source: "SPIR-V 1.2 §2.16.1" };
/// Ids that are looked at to find those that are missing.
const MOST_IDS: usize = 1 << 24;

#[derive(Default)]
pub(super) struct LeftBehind {
    /// What is said of conversions, with the place of each.
    said: Vec<(Id, Decorated, u32)>,
    /// Ids between two instructions that have their own, with the instructions between them.
    spans: Vec<Span>,
    /// The last id of an instruction's own.
    latest: Id,
    /// Those behind it.
    open: Vec<Taker>,
}

struct Span {
    from: Id,
    /// The first id behind; none at the end of a function.
    to: Option<Id>,
    takers: Vec<Taker>,
}

#[derive(Clone, Copy)]
struct Taker {
    id: Id,
    is_conversion: bool,
}

impl LeftBehind {
    /// Takes what is said of an id, if it is of a conversion.
    pub fn takes(&mut self, target: Id, decorated: &Decorated, at: u32) -> bool {
        let is_of_conversion =
            matches!(decorated.kind, Decoration::FPRoundingMode | Decoration::SaturatedConversion);
        if is_of_conversion {
            self.said.push((target, decorated.clone(), at));
        }
        is_of_conversion
    }

    /// A function begins.
    pub fn enter(&mut self, function: Id) {
        self.close(None);
        self.latest = function;
    }

    /// An instruction with a result, which may be a conversion.
    pub fn see(&mut self, is_conversion: bool, id: Id) {
        if self.said.is_empty() {
            return;
        }
        if id > self.latest {
            self.close(Some(id));
            self.latest = id;
        } else {
            self.open.push(Taker { id, is_conversion });
        }
    }

    fn close(&mut self, to: Option<Id>) {
        let takers = std::mem::take(&mut self.open);
        if takers.iter().any(|taker| taker.is_conversion) {
            self.spans.push(Span { from: self.latest, to, takers });
        }
    }

    /// The conversion that took the place of one with a missing id, if that is certain.
    fn taker(&self, target: Id, is_missing: &impl Fn(Id) -> bool, left: &mut usize) -> Option<Id> {
        let is_in = |span: &&Span| span.from < target && span.to.is_none_or(|to| target < to);
        let mut found = None;
        for span in self.spans.iter().filter(is_in) {
            let mut at = 0;
            let mut wanted = None;
            let end = span.to.map_or(target.0.saturating_add(1), |to| to.0);
            for id in (span.from.0 + 1..end).map(Id) {
                *left = left.checked_sub(1)?;
                if is_missing(id) {
                    wanted = if id == target { Some(at) } else { wanted };
                    at += 1;
                }
            }
            let are_as_many = span.to.is_none() || at == span.takers.len();
            let taker = wanted.and_then(|at: usize| span.takers.get(at)).filter(|taker| taker.is_conversion);
            match (taker.filter(|_| are_as_many), found) {
                (Some(taker), None) => found = Some(taker.id),
                (Some(_), Some(_)) => return None,
                (None, _) => {}
            }
        }
        found
    }
}

impl Loader<'_> {
    /// Gives conversions what was said of ids that are missing. Where it is not certain of which, the module is not to be had: numbers would be others.
    pub(super) fn decorate_takers(&mut self, report: &mut dyn FnMut(Option<u32>, Fault)) {
        self.left_behind.close(None);
        let left_behind = std::mem::take(&mut self.left_behind);
        let defs = &self.out.defs;
        let is_missing = |id: Id| defs.get(id) == crate::defs::Def::None;
        let mut left = MOST_IDS;
        for (target, decorated, at) in left_behind.said.iter().filter(|(target, ..)| is_missing(*target)) {
            match left_behind.taker(*target, &is_missing, &mut left) {
                Some(taker) => {
                    self.module.decorations.entry(taker).or_default().push(decorated.clone());
                }
                // There is no conversion that it could be about.
                None if left_behind.spans.is_empty() => {}
                None => {
                    let message = format!(
                        "{} has {:?} and is not defined, and nothing tells which conversion is meant",
                        defs.raw(*target),
                        decorated.kind
                    );
                    report(Some(*at), Fault::new(DECORATED, message));
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::module::Id;
    use crate::test_support::{assemble, kernel};
    use crate::{Environment, ModuleInput, build};
    use spirv::{Decoration, Op};
    use ze_extensions::DeviceProfile;

    /// A module with a loop that adds up bytes, whose sum has an id of before, and what is said of the sum. Where it is `taken`, the decoration is of the id
    /// that is missing behind it. Products are missing, too.
    fn sums(taken: bool, between: &str) -> Vec<u8> {
        let body = format!(
            "OpBranch %head
             %head = OpLabel
             %before = OpPhi %uchar %uc1 %entry %sum %head
             %wide = OpUConvert %uint %before
             {between}
             %sum = OpUConvert %uchar %wide
             %missing = OpIMul %uint %wide %wide
             %goes_on = OpINotEqual %bool %wide %u1
             OpBranchConditional %goes_on %head %last
             %last = OpLabel"
        );
        let text = kernel("%uc1 = OpConstant %uchar 1", &body)
            .replace("%void = ", "OpDecorate %sum SaturatedConversion\n%void = ");
        let bytes = assemble(&text);
        let words: Vec<u32> =
            bytes.chunks(4).map(|word| u32::from_ne_bytes(word.try_into().expect("4"))).collect();
        let (head, mut rest) = words.split_at(5);
        let mut insts: Vec<Vec<u32>> = Vec::new();
        while let Some(first) = rest.first() {
            let (inst, behind) = rest.split_at((first >> 16) as usize);
            insts.push(inst.to_vec());
            rest = behind;
        }
        let is = |inst: &[u32], op: Op| inst[0] & 0xffff == op as u32;
        let missing = insts.iter().rfind(|inst| is(inst, Op::IMul)).expect("it is there")[2];
        insts.retain(|inst| !is(inst, Op::IMul));
        if taken {
            let of_sum = |inst: &&mut Vec<u32>| {
                is(inst, Op::Decorate) && inst[2] == Decoration::SaturatedConversion as u32
            };
            insts.iter_mut().find(of_sum).expect("it is decorated")[1] = missing;
        }
        head.iter().chain(insts.iter().flatten()).flat_map(|word| word.to_ne_bytes()).collect()
    }

    /// How many conversions are saturated, or the rule that a module breaks.
    fn saturated(bytes: &[u8]) -> Result<usize, &'static str> {
        let profile = DeviceProfile::host();
        let module = build(&[ModuleInput::new(bytes)], &Environment::new(&profile));
        let module = module.map_err(|error| error.diagnostics[0].rule)?;
        let insts =
            module.functions.iter().flat_map(|function| &function.blocks).flat_map(|block| &block.insts);
        let is_saturated = |id: &Id| module.has_decoration(*id, Decoration::SaturatedConversion);
        Ok(insts
            .filter(|inst| inst.op == Op::UConvert)
            .filter_map(|inst| inst.result)
            .filter(is_saturated)
            .count())
    }

    #[test]
    fn what_took_the_place_of_what_is_missing_is_decorated() {
        assert_eq!(saturated(&sums(false, "")), Ok(1), "it has its id");
        assert_eq!(saturated(&sums(true, "")), Ok(1));
        assert_eq!(saturated(&sums(true, "%other = OpIAdd %uint %wide %wide")), Ok(1), "that has its own");
    }

    #[test]
    fn what_is_not_certain_is_refused() {
        // Two ids are missing, and one instruction has an id of before.
        assert_eq!(saturated(&sums(true, "%other = OpIMul %uint %wide %wide")), Err("ids.decorated"));
    }
}
