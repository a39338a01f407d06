//! Branches that specialization constants decide.
//!
//! Programs switch off by them what a device does not have: Embree's traversal calls functions of ray-tracing hardware, which
//! nobody defines here, in a branch that a constant closes. What such a branch alone leads to is dropped before imports are
//! looked for, and nothing behind has to look at it. Only modules that declare such constants are looked through; compilers
//! have decided all other branches on constants.

use crate::fold::fold_numbers;
use crate::load::FunctionSource;
use crate::module::{ConstantValue, Function, Id, Inst, Module, Operand, Type, TypeId};
use crate::prune;
use crate::reflect::constant_scalar;
use rustc_hash::{FxHashMap, FxHashSet};
use spirv::Op;

/// Decides the branches of all functions, whose blocks are in an order in which definitions come first.
pub(crate) fn branches<'a>(module: &mut Module, sources: impl Iterator<Item = &'a mut FunctionSource>) {
    if module.spec_constants.is_empty() {
        return;
    }
    let mut functions = std::mem::take(&mut module.functions);
    for (function, source) in functions.iter_mut().zip(sources) {
        if decide(module, function) {
            prune::unreachable_blocks(function, source);
        }
    }
    module.functions = functions;
}

/// A constant's number, for integers and Booleans of up to 64 bits. One that is undefined decides nothing.
fn constant(module: &Module, id: Id) -> Option<(TypeId, u64)> {
    let constant = module.constants.get(&id)?;
    let number = match constant.value {
        ConstantValue::Bool(value) => u64::from(value),
        _ => constant_scalar(module, id)?,
    };
    Some((constant.ty, number))
}

/// What instructions of a function make of constants alone.
struct Known<'a> {
    module: &'a Module,
    computed: FxHashMap<Id, (TypeId, u64)>,
}

impl Known<'_> {
    fn number(&self, operand: Operand) -> Option<(TypeId, u64)> {
        let Operand::Id(id) = operand else { return None };
        self.computed.get(&id).copied().or_else(|| constant(self.module, id))
    }

    fn look_at(&mut self, inst: &Inst) {
        let (Some(ty), Some(result)) = (inst.ty, inst.result) else { return };
        // Most instructions have a first operand that is not known.
        let Some(first) = inst.operands.first().and_then(|&operand| self.number(operand)) else { return };
        let number = if inst.op == Op::Select {
            let chosen = inst.operands.get(if first.1 != 0 { 1 } else { 2 });
            chosen
                .and_then(|&chosen| self.number(chosen))
                .filter(|(of, _)| *of == ty)
                .map(|(_, number)| number)
        } else {
            let numbers = inst.operands.iter().map(|&operand| self.number(operand));
            numbers.collect::<Option<Vec<_>>>().and_then(|all| fold_numbers(self.module, inst.op, ty, &all))
        };
        if let Some(number) = number {
            self.computed.insert(result, (ty, number));
        }
    }

    /// The only label that a terminator goes to.
    fn target(&self, last: &Inst) -> Option<Id> {
        let (&selector, targets) = last.operands.split_first()?;
        match last.op {
            Op::BranchConditional => {
                let (_, number) = self.number(selector)?;
                let &Operand::Id(label) = targets.get(usize::from(number == 0))? else { return None };
                Some(label)
            }
            Op::Switch => {
                let (ty, number) = self.number(selector)?;
                let &Type::Int { width } = self.module.types.get(ty) else { return None };
                // A literal of fewer bits than a word has may be extended by its sign.
                let bits = u64::MAX >> u64::BITS.checked_sub(width)?;
                let (default, cases) = targets.split_first()?;
                let (cases, _) = cases.as_chunks();
                let is_it = |value: &Operand| matches!(value, Operand::Lit(value) if value & bits == number);
                let case = cases.iter().find(|[value, _]| is_it(value));
                let &Operand::Id(label) = case.map_or(default, |[_, label]| label) else { return None };
                Some(label)
            }
            _ => None,
        }
    }
}

/// Whether any branch is decided.
fn decide(module: &Module, function: &mut Function) -> bool {
    let mut known = Known { module, computed: FxHashMap::default() };
    // Edges that are no more: from a block to another.
    let mut closed: FxHashSet<(Id, Id)> = FxHashSet::default();
    for block in &mut function.blocks {
        let others = prune::successors(block);
        for inst in &mut block.insts {
            known.look_at(inst);
            if let Some(label) = known.target(inst) {
                closed.extend(
                    others.iter().filter(|&&other| other != label).map(|&other| (block.label, other)),
                );
                inst.op = Op::Branch;
                inst.operands = [Operand::Id(label)].into_iter().collect();
            }
        }
    }
    if closed.is_empty() {
        return false;
    }
    let ends: FxHashSet<Id> = closed.iter().map(|(_, to)| *to).collect();
    for block in function.blocks.iter_mut().filter(|block| ends.contains(&block.label)) {
        let label = block.label;
        for phi in block.insts.iter_mut().filter(|inst| inst.op == Op::Phi) {
            let open = |pair: &&[Operand]| !matches!(pair, [_, Operand::Id(from)] if closed.contains(&(*from, label)));
            phi.operands = phi.operands.chunks(2).filter(open).flatten().copied().collect();
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use crate::environment::{Environment, ModuleInput};
    use crate::module::Module;
    use crate::test_support::{assemble, kernel};
    use crate::{BuildError, build};
    use spirv::Op;
    use ze_extensions::DeviceProfile;

    /// A kernel that calls an imported function where constant 7 is not 3.
    fn calling(body: &str) -> String {
        let declarations = "%given = OpSpecConstant %uint 3
            %flag = OpSpecConstantOp %bool INotEqual %given %u3
            %closed = OpFunction %void None %fn
            OpFunctionEnd";
        let decorations = "OpDecorate %given SpecId 7
            OpDecorate %closed LinkageAttributes \"closed\" Import
            %void = OpTypeVoid";
        kernel(declarations, body).replace("%void = OpTypeVoid", decorations)
    }

    fn specialized(text: &str, value: u32) -> Result<Module, BuildError> {
        let profile = DeviceProfile::host();
        let bytes = assemble(text);
        let constants = vec![(7, value.to_ne_bytes().to_vec())];
        build(&[ModuleInput { constants, ..ModuleInput::new(&bytes) }], &Environment::new(&profile))
    }

    fn ops(module: &Module) -> Vec<Op> {
        let blocks = module.functions.iter().flat_map(|function| &function.blocks);
        blocks.flat_map(|block| &block.insts).map(|inst| inst.op).collect()
    }

    #[test]
    fn what_a_constant_closes_needs_no_definition() {
        let bodies = [
            "OpBranchConditional %flag %call %end\n%call = OpLabel\n%r = OpFunctionCall %void %closed\n\
             OpBranch %end\n%end = OpLabel",
            // By way of instructions.
            "%m = OpBitwiseXor %uint %given %u3\n%n = OpIEqual %bool %m %u0\n%s = OpSelect %bool %n %true %n\n\
             OpBranchConditional %s %end %call\n%call = OpLabel\n%r = OpFunctionCall %void %closed\n\
             OpBranch %end\n%end = OpLabel\n%p = OpPhi %uint %u1 %entry %u2 %call\n%q = OpIAdd %uint %p %p",
            "OpSwitch %given %call 3 %end\n%call = OpLabel\n%r = OpFunctionCall %void %closed\n\
             OpBranch %end\n%end = OpLabel",
            // A byte of all ones, extended by its sign.
            "%less = OpISub %uint %given %u4\n%byte = OpUConvert %uchar %less\n\
             OpSwitch %byte %call 0xFFFFFFFF %end\n%call = OpLabel\n%r = OpFunctionCall %void %closed\n\
             OpBranch %end\n%end = OpLabel",
        ];
        for body in bodies {
            let open = specialized(&calling(body), 4).unwrap();
            assert_eq!(open.unresolved, ["closed"], "{body}");
            assert!(ops(&open).contains(&Op::FunctionCall), "{body}");
            let closed = specialized(&calling(body), 3).unwrap();
            assert!(closed.unresolved.is_empty(), "{body}");
            assert!(!ops(&closed).contains(&Op::FunctionCall), "{body}");
            let phis = closed.functions[0].blocks.iter().flat_map(|block| &block.insts);
            for phi in phis.filter(|inst| inst.op == Op::Phi) {
                assert_eq!(phi.operands.len(), 2, "{body}");
            }
        }
    }

    #[test]
    fn a_branch_on_what_is_not_known_stays() {
        let body = "%undef = OpUndef %uint\n%m = OpUDiv %uint %given %u0\n%n = OpIEqual %bool %m %undef\n\
            OpBranchConditional %n %call %end\n%call = OpLabel\n%r = OpFunctionCall %void %closed\n\
            OpBranch %end\n%end = OpLabel";
        assert_eq!(specialized(&calling(body), 3).unwrap().unresolved, ["closed"]);
    }

    #[test]
    fn both_ways_to_one_block_are_one() {
        let body = "OpBranchConditional %flag %end %end\n%end = OpLabel\n%p = OpPhi %uint %u1 %entry\n\
            %q = OpIAdd %uint %p %p";
        let module = specialized(&calling(body), 3).unwrap();
        assert!(ops(&module).contains(&Op::Branch));
        assert!(!ops(&module).contains(&Op::BranchConditional));
    }
}
