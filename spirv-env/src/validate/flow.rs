//! Blocks, branch targets, phis and the dominance of uses by definitions.

use super::ctx::Ctx;
use super::dominators::Dominators;
use crate::defs::Def;
use crate::diagnostics::{Fault, RuleId};
use crate::module::{Id, Inst, Operand};
use crate::opcodes;
use crate::prune::successors;
use rustc_hash::FxHashMap;
use spirv::Op;

const SOURCE: &str = "SPIR-V 1.2 §2.16.1";
const TARGET: RuleId = RuleId { id: "flow.target", source: SOURCE };
const ENTRY: RuleId = RuleId { id: "flow.entry", source: SOURCE };
const PHI: RuleId = RuleId { id: "flow.phi", source: "SPIR-V 1.2 §3.32.17" };
const VARIABLE: RuleId = RuleId { id: "flow.variable", source: "SPIR-V 1.2 §2.4" };
const DOMINANCE: RuleId = RuleId { id: "flow.dominance", source: SOURCE };
const OPERAND: RuleId = RuleId { id: "ids.operand", source: SOURCE };

/// Block and instruction.
type Place = (usize, usize);
/// What is wrong, and where.
type Found = Vec<(Option<Place>, Fault)>;

/// Where ids of a function are defined. Kept across functions: ids are unique.
pub(crate) struct Places {
    /// By the input's id: function, block and instruction, each plus one in the first.
    at: Vec<(u32, u32, u32)>,
    function: u32,
}

impl Places {
    pub fn new(ids: usize) -> Self {
        Self { at: vec![(0, 0, 0); ids], function: 0 }
    }

    fn get(&self, raw: Id) -> Option<Place> {
        let &(function, block, inst) = self.at.get(raw.0 as usize)?;
        (function == self.function).then_some((block as usize, inst as usize))
    }

    fn set(&mut self, raw: Id, block: usize, inst: usize) {
        if let Some(slot) = self.at.get_mut(raw.0 as usize) {
            *slot = (self.function, block as u32, inst as u32);
        }
    }
}

/// What an operand may be besides a value.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Role {
    Value,
    Label,
    Function,
    ExtSet,
    /// A value, or an alias list that nothing reads.
    Access,
}

fn role(inst: &Inst, at: usize) -> Role {
    match inst.op {
        Op::Branch => Role::Label,
        Op::BranchConditional | Op::Switch if at > 0 => Role::Label,
        Op::Phi if at % 2 == 1 => Role::Label,
        Op::FunctionCall if at == 0 => Role::Function,
        Op::ExtInst if at == 0 => Role::ExtSet,
        _ if opcodes::row(inst.op).and_then(|row| row.memory.access()).is_some_and(|mask| at > mask) => {
            Role::Access
        }
        _ => Role::Value,
    }
}

/// Checks the function's graph and every use in it. Returns whether the graph is one: otherwise nothing else was looked at.
pub(crate) fn check(ctx: &Ctx<'_>, places: &mut Places, found: &mut Found) -> bool {
    let function = ctx.function;
    places.function += 1;
    let mut blocks: FxHashMap<Id, usize> = FxHashMap::default();
    blocks.reserve(function.blocks.len());
    // Parameters are defined in front of the entry's instructions.
    const PARAMETER: usize = 0;
    for (id, _) in &function.params {
        places.set(ctx.defs.raw(*id), 0, PARAMETER);
    }
    for (at, block) in function.blocks.iter().enumerate() {
        blocks.insert(block.label, at);
        for (place, inst) in block.insts.iter().enumerate() {
            if let Some(id) = inst.result {
                places.set(ctx.defs.raw(id), at, place + 1);
            }
        }
    }
    let Some(edges) = edges(ctx, &blocks, found) else { return false };
    let dominators = Dominators::new(&edges);
    let mut predecessors: Vec<Vec<usize>> = vec![Vec::new(); edges.len()];
    for (from, targets) in edges.iter().enumerate() {
        for &to in targets {
            // A switch or a conditional branch may name a block twice; it is one predecessor.
            if predecessors[to].last() != Some(&from) {
                predecessors[to].push(from);
            }
        }
    }
    let uses = Uses { ctx, places, dominators: &dominators, blocks: &blocks };
    for (at, block) in function.blocks.iter().enumerate() {
        let mut beginning = true;
        for (place, inst) in block.insts.iter().enumerate() {
            let mut blame = |fault| found.push((Some((at, place)), fault));
            if inst.op == Op::Variable && at > 0 {
                blame(Fault::new(VARIABLE, "a variable outside of the entry block"));
                continue;
            }
            let uses = if inst.op == Op::Phi {
                if !beginning {
                    blame(Fault::new(PHI, "a phi behind other instructions of its block"));
                    continue;
                }
                uses.phi(inst, &predecessors[at])
            } else {
                beginning = false;
                uses.operands(inst, (at, place))
            };
            if let Err(fault) = uses {
                blame(fault);
            }
        }
    }
    true
}

/// By block: its successors.
fn edges(ctx: &Ctx<'_>, blocks: &FxHashMap<Id, usize>, found: &mut Found) -> Option<Vec<Vec<usize>>> {
    let before = found.len();
    let mut edges = Vec::with_capacity(ctx.function.blocks.len());
    for (at, block) in ctx.function.blocks.iter().enumerate() {
        let last = block.insts.len().saturating_sub(1);
        let mut targets = Vec::new();
        for label in successors(block) {
            let raw = ctx.defs.raw(label);
            match blocks.get(&label) {
                Some(0) => {
                    let fault = Fault::new(ENTRY, "the entry block has a predecessor");
                    found.push((Some((at, last)), fault));
                }
                Some(&to) => targets.push(to),
                None => {
                    let message = format!("{raw} is not a block of this function");
                    found.push((Some((at, last)), Fault::new(TARGET, message)));
                }
            }
        }
        targets.sort_unstable();
        targets.dedup();
        edges.push(targets);
    }
    (found.len() == before).then_some(edges)
}

struct Uses<'a> {
    ctx: &'a Ctx<'a>,
    places: &'a Places,
    dominators: &'a Dominators,
    blocks: &'a FxHashMap<Id, usize>,
}

impl Uses<'_> {
    fn operands(&self, inst: &Inst, here: Place) -> Result<(), Fault> {
        for (at, operand) in inst.operands.iter().enumerate() {
            let Operand::Id(id) = operand else { continue };
            let wanted = role(inst, at);
            match (self.ctx.defs.get(*id), wanted) {
                (Def::Constant(_) | Def::Global(_), Role::Value | Role::Access)
                | (Def::Inert, Role::Access) => {}
                (Def::Value(_), Role::Value | Role::Access) => self.dominated(*id, here)?,
                (Def::Label, Role::Label)
                | (Def::Function(_), Role::Function)
                | (Def::ExtSet, Role::ExtSet) => {}
                (Def::Poison, _) => return Err(Fault::consequence()),
                (Def::None, _) => {
                    return Err(Fault::new(OPERAND, format!("{} is not defined", self.ctx.defs.raw(*id))));
                }
                _ => {
                    let message = format!("operand {at}, {}, is of the wrong kind", self.ctx.defs.raw(*id));
                    return Err(Fault::new(OPERAND, message));
                }
            }
        }
        Ok(())
    }

    /// A definition comes before its use on every path.
    fn dominated(&self, id: Id, (block, place): Place) -> Result<(), Fault> {
        let raw = self.ctx.defs.raw(id);
        let Some((def_block, def_place)) = self.places.get(raw) else {
            return Err(Fault::new(DOMINANCE, format!("{raw} is defined in another function")));
        };
        // Unreachable code is dropped, whatever it uses.
        let fine = !self.dominators.is_reachable(block)
            || if def_block == block {
                def_place <= place
            } else {
                self.dominators.dominates(def_block, block)
            };
        if fine {
            Ok(())
        } else {
            Err(Fault::new(DOMINANCE, format!("{raw} is used where its definition does not dominate")))
        }
    }

    fn phi(&self, phi: &Inst, predecessors: &[usize]) -> Result<(), Fault> {
        let mut sources = Vec::with_capacity(predecessors.len());
        let (pairs, rest) = phi.operands.as_chunks::<2>();
        if !rest.is_empty() {
            return Err(Fault::new(PHI, "a value without a block"));
        }
        for pair in pairs {
            let [Operand::Id(value), Operand::Id(label)] = pair else {
                return Err(Fault::new(PHI, "a literal among values and blocks"));
            };
            let from = self.blocks.get(label).copied();
            let from = from.filter(|from| predecessors.binary_search(from).is_ok()).ok_or_else(|| {
                Fault::new(PHI, format!("{} is not a predecessor", self.ctx.defs.raw(*label)))
            })?;
            sources.push(from);
            match self.ctx.defs.get(*value) {
                Def::Constant(_) | Def::Global(_) => {}
                // At the end of the predecessor.
                Def::Value(_) => self.dominated(*value, (from, usize::MAX))?,
                Def::Poison => return Err(Fault::consequence()),
                _ => {
                    return Err(Fault::new(OPERAND, format!("{} is not a value", self.ctx.defs.raw(*value))));
                }
            }
        }
        sources.sort_unstable();
        if sources != predecessors {
            return Err(Fault::new(PHI, "the blocks are not the predecessors, each once"));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use crate::test_support::{assert_accepted, assert_rejected, build_text, kernel};
    use spirv::Op;

    /// `body` runs from the entry block to the kernel's `OpReturn`.
    fn check(body: &str, rule: Option<&str>) {
        let text = kernel("%p = OpTypePointer Function %uint", body);
        match rule {
            Some(rule) => assert_rejected(&text, rule),
            None => assert_accepted(&text),
        }
    }

    #[test]
    fn targets_are_blocks_of_the_function() {
        check("OpBranch %a\n%a = OpLabel", None);
        check("OpBranch %nowhere\n%a = OpLabel", Some("flow.target"));
        check("OpBranch %uint\n%a = OpLabel", Some("flow.target"));
        check("OpBranchConditional %true %a %entry\n%a = OpLabel", Some("flow.entry"));
    }

    #[test]
    fn definitions_dominate_uses() {
        let diamond = |left: &str, end: &str| {
            format!(
                "OpBranchConditional %true %a %b\n%a = OpLabel\n{left}\nOpBranch %c\n%b = OpLabel\nOpBranch %c\n%c = OpLabel\n{end}"
            )
        };
        check(&diamond("%x = OpIAdd %uint %u1 %u1", "%y = OpPhi %uint %x %a %u0 %b"), None);
        check(&diamond("%x = OpIAdd %uint %u1 %u1", "%y = OpIAdd %uint %x %u1"), Some("flow.dominance"));
        check(&diamond("%x = OpIAdd %uint %u1 %u1", "%y = OpPhi %uint %x %b %u0 %a"), Some("flow.dominance"));
        check("%x = OpIAdd %uint %x %u1", Some("flow.dominance"));
        check("%x = OpIAdd %uint %missing %u1", Some("ids.operand"));
        check("%x = OpIAdd %uint %uint %u1", Some("ids.operand"));
        check("%x = OpIAdd %uint %main %u1", Some("ids.operand"));
    }

    #[test]
    fn phis_have_each_predecessor_once() {
        let join = |phi: &str| {
            format!("OpBranchConditional %true %a %b\n%a = OpLabel\nOpBranch %b\n%b = OpLabel\n{phi}")
        };
        check(&join("%x = OpPhi %uint %u1 %a %u2 %entry"), None);
        check(&join("%x = OpPhi %uint %u1 %a"), Some("flow.phi"));
        check(&join("%x = OpPhi %uint %u1 %a %u2 %a"), Some("flow.phi"));
        check(&join("%x = OpPhi %uint %u1 %a %u2 %b"), Some("flow.phi"));
        // What llvm-spirv 21 makes of a switch with several cases that lead to one block.
        check(&join("%x = OpPhi %uint %u1 %a %u2 %entry %u1 %a %u1 %a"), None);
        check(&join("%x = OpPhi %uint %u1 %a %u2 %entry %u3 %a"), Some("flow.phi"));
        check(&join("%y = OpIAdd %uint %u1 %u1\n%x = OpPhi %uint %u1 %a %u2 %entry"), Some("flow.phi"));
        check(&join("%x = OpPhi %uint %f1 %a %u2 %entry"), Some("types.operands"));
    }

    #[test]
    fn variables_are_in_the_entry_block() {
        check("%v = OpVariable %p Function", None);
        check("OpBranch %a\n%a = OpLabel\n%v = OpVariable %p Function", Some("flow.variable"));
    }

    /// What llvm-spirv 15 makes of `memmove`.
    #[test]
    fn variables_behind_other_instructions_of_the_entry_block_are_moved_to_its_front() {
        let body = "%x = OpIAdd %uint %u1 %u1\n%v = OpVariable %p Function %u2\nOpStore %v %x\n%w = OpVariable %p Function";
        let text = kernel("%p = OpTypePointer Function %uint", body);
        let module = build_text(&text).unwrap();
        let ops: Vec<Op> = module.functions[0].blocks[0].insts.iter().map(|inst| inst.op).collect();
        assert_eq!(ops, [Op::Variable, Op::Variable, Op::IAdd, Op::Store, Op::Return]);
        // The place of what is wrong is still that of the instruction.
        let error = build_text(&text.replace("OpStore %v %x", "OpStore %v %f1")).unwrap_err();
        assert_eq!(error.diagnostics[0].instruction.as_ref().unwrap().opcode, "OpStore");
        check("%x = OpIAdd %uint %u1 %u1\n%v = OpVariable %p Function %x", Some("flow.dominance"));
    }

    /// What it makes of `memmove` in other blocks.
    #[test]
    fn variables_that_bytes_are_copied_through_are_moved_to_the_entry_block() {
        let types = "%p = OpTypePointer Function %uint\n%bytes = OpTypePointer Function %uchar";
        let text = |last: &str| {
            let copies = "%v = OpVariable %p Function\n%to = OpBitcast %bytes %v\nOpLifetimeStart %to 0\nOpCopyMemorySized %to %w %ul1 Aligned 1";
            let back = "%from = OpBitcast %bytes %v\nOpCopyMemorySized %w %from %ul1 Aligned 1\nOpLifetimeStop %from 0";
            let body = format!(
                "%w = OpVariable %bytes Function\nOpBranch %a\n%a = OpLabel\n{copies}\n{back}\n{last}"
            );
            kernel(types, &body)
        };
        let module = build_text(&text("")).unwrap();
        let ops =
            |at: usize| module.functions[0].blocks[at].insts.iter().map(|inst| inst.op).collect::<Vec<Op>>();
        assert_eq!(ops(0), [Op::Variable, Op::Variable, Op::Branch]);
        assert!(!ops(1).contains(&Op::Variable));
        for other in [
            "OpStore %v %u1",
            "%read = OpLoad %uchar %from",
            "%address = OpConvertPtrToU %ulong %to",
            "OpBranch %b\n%b = OpLabel\n%either = OpPhi %bytes %from %a",
        ] {
            let error = build_text(&text(other)).unwrap_err();
            let first = &error.diagnostics[0];
            assert_eq!(
                (first.rule, first.instruction.as_ref().unwrap().opcode.as_str()),
                ("flow.variable", "OpVariable")
            );
        }
    }

    #[test]
    fn values_stay_in_their_function() {
        let other = "%f = OpFunction %void None %fn\n%l = OpLabel\n%x = OpIAdd %uint %u1 %u1\nOpReturn\nOpFunctionEnd\n%main = OpFunction";
        let text = kernel("", "%y = OpIAdd %uint %x %u1").replace("%main = OpFunction", other);
        assert_rejected(&text, "flow.dominance");
    }

    #[test]
    fn unreachable_blocks_are_dropped_with_what_phis_have_from_them() {
        let body = "OpBranch %b\n%a = OpLabel\n%x = OpIAdd %uint %u1 %u1\nOpBranch %b\n%b = OpLabel\n%y = OpPhi %uint %u1 %entry %x %a";
        let module = build_text(&kernel("", body)).unwrap();
        let blocks = &module.functions[0].blocks;
        assert_eq!(blocks.len(), 2);
        assert_eq!(blocks[1].insts[0].operands.len(), 2);
    }
}
