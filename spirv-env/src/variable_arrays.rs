//! Arrays of variable length whose length is known once the module is specialized: they become variables
//! (`SPV_INTEL_variable_length_array`).
//!
//! SYCL and OpenCL C have no others, and a sub-group that had would need a stack of unknown size for each lane. One place
//! serves all that one instruction allocates, as memory is restored before it comes again.

use crate::diagnostics::{Diagnostic, Diagnostics, Fault, RuleId};
use crate::load::{FunctionSource, Loaded};
use crate::module::{Block, Constant, ConstantValue, Function, Id, Inst, Module, Operand, Type, TypeId};
use crate::prune::successors;
use crate::reflect::constant_scalar;
use crate::validate::locate;
use rustc_hash::{FxHashMap, FxHashSet};
use spirv::{Op, StorageClass};

const LENGTH: RuleId = RuleId { id: "limits.variable-length", source: "SPV_INTEL_variable_length_array" };

/// Replaces the instructions of the extension in all functions.
pub(crate) fn resolve(module: &mut Module, loaded: &mut [Loaded], diagnostics: &mut Diagnostics) {
    if !module.capabilities.contains(&spirv::Capability::VariableLengthArrayINTEL) {
        return;
    }
    for at in 0..loaded.len() {
        let mut sources = std::mem::take(&mut loaded[at].sources);
        for source in &mut sources {
            let Some(place) = module.functions.place(source.function) else { continue };
            match function(module, place, source) {
                Ok(()) => {}
                Err((block, inst, message)) => {
                    let function = &module.functions[place];
                    let fault = Fault::new(LENGTH, message);
                    let found = (&function.blocks[block].insts[inst], source.blocks[block][inst]);
                    let diagnostic = locate(module, &loaded[at], function, Some(found), fault);
                    let input = (loaded.len() > 1).then_some(at);
                    diagnostics.push(Diagnostic { input, ..diagnostic });
                }
            }
        }
        loaded[at].sources = sources;
    }
}

fn function(
    module: &mut Module,
    place: usize,
    source: &mut FunctionSource,
) -> Result<(), (usize, usize, String)> {
    let mut found: Vec<(usize, usize)> = Vec::new();
    let function = &module.functions[place];
    for (block, of) in function.blocks.iter().enumerate() {
        for (at, inst) in of.insts.iter().enumerate() {
            if inst.op == Op::VariableLengthArrayINTEL {
                found.push((block, at));
            }
        }
    }
    let repeated = repeated_without_restoring(function);
    let (mut variables, mut variable_offsets) = (Vec::new(), Vec::new());
    for (block, at) in found {
        let inst = module.functions[place].blocks[block].insts[at].clone();
        let offset = source.blocks[block][at];
        let fail = |message: &str| (block, at, message.to_owned());
        if repeated.contains(&block) {
            return Err(fail("an array of variable length is allocated again before memory is restored"));
        }
        let length = constant_scalar(module, inst.id(0))
            .ok_or_else(|| fail("the length of the array is not constant once the module is specialized"))?;
        let (Some(pointer), Some(result)) = (inst.ty, inst.result) else { continue };
        let Type::Pointer { pointee, .. } = *module.types.get(pointer) else { continue };
        // Nothing is read from an array without elements, but it has an address.
        let array = Type::Array { elem: pointee, len: length.max(1) };
        let made = make(module, array, result, pointer).ok_or_else(|| fail("the array is too large"))?;
        module.functions[place].blocks[block].insts[at] = Inst { line: inst.line, ..made.address };
        variables.push(Inst { line: inst.line, ..made.variable });
        variable_offsets.push(offset);
    }
    if let (Some(entry), Some(offsets)) =
        (module.functions[place].blocks.first_mut(), source.blocks.first_mut())
    {
        entry.insts.splice(..0, variables);
        offsets.splice(..0, variable_offsets);
    }
    for (block, offsets) in module.functions[place].blocks.iter_mut().zip(&mut source.blocks) {
        forget_states(block, offsets);
    }
    Ok(())
}

struct Made {
    variable: Inst,
    address: Inst,
}

/// The variable, and the address of its first element under the array's id.
fn make(module: &mut Module, array: Type, result: Id, pointer: TypeId) -> Option<Made> {
    let class = StorageClass::Function;
    let array = module.types.intern(array, false)?;
    let to_array = module.types.intern(Type::Pointer { class, pointee: array }, false)?;
    let index = module.types.intern(Type::Int { width: 32 }, false)?;
    let (variable, zero) = (Id(module.bound), Id(module.bound.checked_add(1)?));
    module.bound = module.bound.checked_add(2)?;
    module.constants.insert(zero, Constant { ty: index, value: ConstantValue::Scalar(0) });
    let inst = |op, ty, result, operands: &[Operand]| Inst {
        op,
        ty: Some(ty),
        result: Some(result),
        operands: operands.into(),
        line: None,
    };
    Some(Made {
        variable: inst(Op::Variable, to_array, variable, &[Operand::Lit(class as u64)]),
        address: inst(Op::InBoundsAccessChain, pointer, result, &[Operand::Id(variable), Operand::Id(zero)]),
    })
}

/// A state of memory is a pointer that only leads back.
fn forget_states(block: &mut Block, offsets: &mut Vec<u32>) {
    let mut keep = block.insts.iter().map(|inst| inst.op != Op::RestoreMemoryINTEL);
    offsets.retain(|_| keep.next().unwrap_or(true));
    block.insts.retain(|inst| inst.op != Op::RestoreMemoryINTEL);
    for inst in block.insts.iter_mut().filter(|inst| inst.op == Op::SaveMemoryINTEL) {
        inst.op = Op::Undef;
    }
}

/// The blocks that a path leads back to without restoring memory.
fn repeated_without_restoring(function: &Function) -> FxHashSet<usize> {
    let restores = |block: &Block| block.insts.iter().any(|inst| inst.op == Op::RestoreMemoryINTEL);
    let places: FxHashMap<Id, usize> =
        function.blocks.iter().enumerate().map(|(at, block)| (block.label, at)).collect();
    let allocates = |block: &Block| block.insts.iter().any(|inst| inst.op == Op::VariableLengthArrayINTEL);
    let mut repeated = FxHashSet::default();
    for (start, block) in function.blocks.iter().enumerate().filter(|(_, block)| allocates(block)) {
        let mut seen = FxHashSet::default();
        let mut work = vec![block];
        while let Some(block) = work.pop() {
            if restores(block) {
                continue;
            }
            for to in successors(block) {
                let Some(&to) = places.get(&to) else { continue };
                if to == start {
                    repeated.insert(start);
                } else if seen.insert(to) {
                    work.push(&function.blocks[to]);
                }
            }
        }
    }
    repeated
}

#[cfg(test)]
mod tests {
    use crate::test_support::{assert_accepted, assert_rejected, build_text, declaring, kernel};
    use spirv::Op;

    fn with_array(declarations: &str, length: &str, rest: &str) -> String {
        let declarations = format!("%pf = OpTypePointer Function %uint\n{declarations}");
        let body = format!(
            "%state = OpSaveMemoryINTEL %pf\n%array = OpVariableLengthArrayINTEL %pf {length}\n\
             OpStore %array %u1\n{rest}"
        );
        declaring("VariableLengthArrayINTEL", &kernel(&declarations, &body))
            .replace("%std = ", "OpExtension \"SPV_INTEL_variable_length_array\"\n%std = ")
    }

    #[test]
    fn arrays_of_a_specialized_length_are_variables() {
        let text = with_array("%n = OpSpecConstant %uint 5", "%n", "OpRestoreMemoryINTEL %state")
            .replace("%void = ", "OpDecorate %n SpecId 3\n%void = ");
        let module = build_text(&text).unwrap();
        assert_eq!(module.kernels[0].private_size, 20);
        let ops: Vec<Op> = module.functions[0].blocks[0].insts.iter().map(|inst| inst.op).collect();
        assert_eq!(ops, [Op::Variable, Op::Undef, Op::InBoundsAccessChain, Op::Store, Op::Return]);
    }

    #[test]
    fn several_arrays_are_several_variables() {
        let again =
            "%second = OpVariableLengthArrayINTEL %pf %u4\nOpStore %second %u2\nOpRestoreMemoryINTEL %state";
        let module = build_text(&with_array("", "%u3", again)).unwrap();
        assert_eq!(module.kernels[0].private_size, 28);
    }

    #[test]
    fn lengths_are_constants() {
        let loaded = "%p = OpTypePointer CrossWorkgroup %uint\n%v = OpVariable %p CrossWorkgroup";
        assert_rejected(
            &with_array(loaded, "%n", "").replace("%state = ", "%n = OpLoad %uint %v\n%state = "),
            "limits.variable-length",
        );
        assert_rejected(&with_array("", "%f1", ""), "types.operands");
        assert_accepted(&with_array("", "%u0", ""));
    }

    #[test]
    fn arrays_in_loops_are_restored_each_time() {
        let in_loop = |restore: &str| {
            with_array("", "%u3", &format!("{restore}OpBranchConditional %true %again %end\n%end = OpLabel"))
                .replace("%state = ", "OpBranch %again\n%again = OpLabel\n%state = ")
        };
        assert_accepted(&in_loop("OpRestoreMemoryINTEL %state\n"));
        assert_rejected(&in_loop(""), "limits.variable-length");
    }
}
