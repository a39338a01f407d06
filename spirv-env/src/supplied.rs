//! Functions that the driver supplies to modules which import them, where no linked module defines them.

use crate::module::{Block, Constant, ConstantValue, ExtSet, Id, Inst, Module, Operand, Type, TypeId};
use rustc_hash::FxHashMap;
use smallvec::smallvec;
use spirv::Op;

/// What an instruction of [`ExtSet::Driver`] does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Supplied {
    /// `__devicelib_assert_fail` of SYCL's device library: expression, file, line, function, and the global and local
    /// ids of a work-item whose assertion failed.
    AssertFail,
}

/// A type of a parameter.
#[derive(Clone, Copy)]
enum Parameter {
    /// A pointer, to whatever: translators of LLVM's untyped pointers guess what it points to from its uses, and
    /// declare an array of characters where a literal is passed.
    String,
    Int(u32),
}

struct Definition {
    name: &'static str,
    what: Supplied,
    parameters: &'static [Parameter],
}

const DEFINITIONS: &[Definition] = {
    use Parameter::{Int, String};
    const ID: Parameter = Int(64);
    &[Definition {
        name: "__devicelib_assert_fail",
        what: Supplied::AssertFail,
        parameters: &[String, String, Int(32), String, ID, ID, ID, ID, ID, ID],
    }]
};

impl Inst {
    /// What an instruction of the driver's own set does.
    pub fn supplied(&self, module: &Module) -> Option<Supplied> {
        if self.op != Op::ExtInst || module.ext_sets.get(&self.id(0)) != Some(&ExtSet::Driver) {
            return None;
        }
        DEFINITIONS.get(usize::try_from(self.lit(1)).ok()?).map(|definition| definition.what)
    }

    /// Whether it writes to the buffer of what a launch prints.
    pub fn prints(&self, module: &Module) -> bool {
        use crate::opcodes::opencl_std::Family;
        self.supplied(module).is_some()
            || self.opencl_std(module).is_some_and(|function| function.family == Family::Print)
    }
}

/// Gives imported functions that the driver supplies a body: one instruction of its own set with the parameters.
/// One with another type is not the driver's and stays an import.
pub(crate) fn define(module: &mut Module, imported: &mut FxHashMap<Id, String>) {
    let mut set = None;
    for at in 0..module.functions.len() {
        if specialization(module, at, imported).is_some() {
            imported.remove(&module.functions[at].id);
            continue;
        }
        let function = &module.functions[at];
        let number = imported
            .get(&function.id)
            .filter(|_| function.blocks.is_empty())
            .and_then(|name| DEFINITIONS.iter().position(|definition| definition.name == *name));
        let Some(number) = number.filter(|&number| fits(module, at, &DEFINITIONS[number])) else { continue };
        let mut fresh = || {
            module.bound += 1;
            Id(module.bound - 1)
        };
        let label = fresh();
        let set = *set.get_or_insert_with(&mut fresh);
        let result = fresh();
        module.ext_sets.insert(set, ExtSet::Driver);
        let function = &mut module.functions[at];
        let parameters = function.params.iter().map(|(param, _)| Operand::Id(*param));
        let inst = |op, operands| Inst { op, ty: None, result: None, operands, line: None };
        let operands =
            [Operand::Id(set), Operand::Lit(number as u64)].into_iter().chain(parameters).collect();
        let call = Inst { ty: Some(function.result), result: Some(result), ..inst(Op::ExtInst, operands) };
        let insts = vec![call, inst(Op::Return, Default::default())];
        function.blocks.push(Block { label, insts });
        function.linkage = None;
        imported.remove(&function.id);
    }
}

/// Parts of the names of the templates by which SYCL reads a specialization constant: of scalars, and of structures.
const SPECIALIZATION: [&str; 2] =
    ["__sycl_getScalar2020SpecConstantValueI", "__sycl_getComposite2020SpecConstantValueI"];

/// SYCL's compilers turn specialization constants into instructions, but for the one in SYCL's runtime: it leaves calls that
/// take the constant's name, the address of its default and that of the values that the program set. Where it is at
/// work no program can set one, so what the function returns is the default.
fn specialization(module: &mut Module, at: usize, imported: &FxHashMap<Id, String>) -> Option<()> {
    let function = &module.functions[at];
    let name = imported.get(&function.id).filter(|_| function.blocks.is_empty())?;
    SPECIALIZATION.iter().find(|part| name.contains(*part))?;
    let pointer = |module: &Module, ty: TypeId| match *module.types.get(ty) {
        Type::Pointer { class, pointee } => Some((class, pointee)),
        _ => None,
    };
    let (result, params) = (function.result, function.params.clone());
    params.iter().try_for_each(|(_, ty)| pointer(module, *ty).map(|_| ()))?;
    let is_void = *module.types.get(result) == Type::Void;
    // A structure may be returned in memory, which is the first parameter.
    let (target, default, value) = match (params.as_slice(), is_void) {
        (&[_, default, _], false) => (None, default, result),
        (&[target, _, default, _], true) => (Some(target.0), default, pointer(module, target.1)?.1),
        _ => return None,
    };
    if matches!(module.types.get(value), Type::Void | Type::Function { .. }) {
        return None;
    }
    let (class, _) = pointer(module, default.1)?;
    let mut fresh = || {
        let id = Id(module.bound);
        module.bound = module.bound.checked_add(1)?;
        Some(id)
    };
    let (label, address, made) = (fresh()?, fresh()?, fresh()?);
    let inst = |op, ty, result, operands| Inst { op, ty, result, operands, line: None };
    let mut insts = Vec::new();
    match target {
        None => {
            let typed = module.types.intern(Type::Pointer { class, pointee: value }, false)?;
            let from = smallvec![Operand::Id(default.0)];
            insts.push(inst(Op::Bitcast, Some(typed), Some(address), from));
            insts.push(inst(Op::Load, Some(value), Some(made), smallvec![Operand::Id(address)]));
            insts.push(inst(Op::ReturnValue, None, None, smallvec![Operand::Id(made)]));
        }
        Some(target) => {
            let size = module.types.layout(value).size;
            let word = module.types.intern(Type::Int { width: u64::BITS }, false)?;
            module.constants.insert(made, Constant { ty: word, value: ConstantValue::Scalar(size) });
            let copied = smallvec![Operand::Id(target), Operand::Id(default.0), Operand::Id(made)];
            insts.push(inst(Op::CopyMemorySized, None, None, copied));
            insts.push(inst(Op::Return, None, None, smallvec![]));
        }
    }
    let function = &mut module.functions[at];
    function.blocks.push(Block { label, insts });
    function.linkage = None;
    Some(())
}

/// Whether a function has the type that the definition says.
fn fits(module: &Module, at: usize, definition: &Definition) -> bool {
    let (function, types) = (&module.functions[at], &module.types);
    let is = |(parameter, (_, ty)): (&Parameter, &(Id, TypeId))| match (parameter, types.get(*ty)) {
        (Parameter::String, Type::Pointer { .. }) => true,
        (Parameter::Int(bits), Type::Int { width }) => bits == width,
        _ => false,
    };
    *types.get(function.result) == Type::Void
        && function.params.len() == definition.parameters.len()
        && definition.parameters.iter().zip(&function.params).all(is)
}

#[cfg(test)]
mod tests {
    use crate::test_support::{build_text, kernel};
    use spirv::Op;

    /// The unresolved imports of a kernel that calls an imported function of this name and these parameters.
    fn unresolved(name: &str, parameters: &str) -> Vec<String> {
        let count = parameters.split_whitespace().count();
        let declarations = format!(
            "%string = OpTypePointer Generic %uchar\n\
             %length = OpConstant %uint 25\n\
             %characters = OpTypeArray %uchar %length\n\
             %literal = OpTypePointer Generic %characters\n\
             %imported = OpTypeFunction %void {parameters}\n"
        );
        let constants: String = parameters
            .split_whitespace()
            .enumerate()
            .map(|(at, ty)| format!("%arg{at} = OpConstantNull {ty}\n"))
            .collect();
        let function: String = std::iter::once("%f = OpFunction %void None %imported\n".to_owned())
            .chain(parameters.split_whitespace().map(|ty| format!("%x{ty} = OpFunctionParameter {ty}\n")))
            .enumerate()
            .map(|(at, line)| line.replace("%x%", &format!("%x{at}")))
            .collect();
        let arguments: Vec<String> = (0..count).map(|at| format!("%arg{at}")).collect();
        let body = format!("%r = OpFunctionCall %void %f {}", arguments.join(" "));
        let text = kernel(&(declarations + &constants), &body)
            .replacen("%void = ", &format!("OpDecorate %f LinkageAttributes \"{name}\" Import\n%void = "), 1)
            .replace("%main = OpFunction", &format!("{function}OpFunctionEnd\n%main = OpFunction"));
        build_text(&text).unwrap_or_else(|error| panic!("{error}\n{text}")).unresolved
    }

    const PARAMETERS: &str = "%string %string %uint %string %ulong %ulong %ulong %ulong %ulong %ulong";

    #[test]
    fn a_failed_assertion_is_the_drivers() {
        assert!(unresolved("__devicelib_assert_fail", PARAMETERS).is_empty());
    }

    #[test]
    fn its_strings_may_be_pointers_to_arrays_of_characters() {
        let arrays = PARAMETERS.replace("%string", "%literal");
        assert!(unresolved("__devicelib_assert_fail", &arrays).is_empty());
    }

    #[test]
    fn other_names_and_other_types_stay_imports() {
        assert_eq!(unresolved("__devicelib_assert_fall", PARAMETERS), ["__devicelib_assert_fall"]);
        let shorter = PARAMETERS.trim_end_matches(" %ulong");
        assert_eq!(unresolved("__devicelib_assert_fail", shorter), ["__devicelib_assert_fail"]);
    }

    /// The operations of a function that reads a specialization constant.
    fn reader(name: &str, result: &str, parameters: &[&str]) -> Vec<Op> {
        let declarations = format!(
            "%text = OpTypePointer Generic %uchar\n%pair = OpTypeStruct %uint %float\n\
             %pairs = OpTypePointer Function %pair\n%read = OpTypeFunction {result} {}\n{}",
            parameters.join(" "),
            parameters
                .iter()
                .enumerate()
                .map(|(at, ty)| format!("%a{at} = OpConstantNull {ty}\n"))
                .collect::<String>()
        );
        let lines: String = parameters
            .iter()
            .enumerate()
            .map(|(at, ty)| format!("%x{at} = OpFunctionParameter {ty}\n"))
            .collect();
        let arguments: String = (0..parameters.len()).map(|at| format!(" %a{at}")).collect();
        let text = kernel(&declarations, &format!("%r = OpFunctionCall {result} %f{arguments}"))
            .replacen("%void = ", &format!("OpDecorate %f LinkageAttributes \"{name}\" Import\n%void = "), 1)
            .replace(
                "%main = OpFunction",
                &format!("%f = OpFunction {result} None %read\n{lines}OpFunctionEnd\n%main = OpFunction"),
            );
        let module = build_text(&text).unwrap();
        let function =
            module.functions.iter().find(|function| function.params.len() == parameters.len()).unwrap();
        function.blocks.iter().flat_map(|block| &block.insts).map(|inst| inst.op).collect()
    }

    #[test]
    fn specialization_constants_that_nobody_can_set_are_their_defaults() {
        let scalar = "_Z37__sycl_getScalar2020SpecConstantValueIiET_PKcPKvS4_";
        let composite = "_Z40__sycl_getComposite2020SpecConstantValueI4PairET_PKcPKvS5_";
        let text = ["%text"; 3];
        assert_eq!(reader(scalar, "%uint", &text), [Op::Bitcast, Op::Load, Op::ReturnValue]);
        assert_eq!(reader(composite, "%pair", &text), [Op::Bitcast, Op::Load, Op::ReturnValue]);
        let in_memory = ["%pairs", "%text", "%text", "%text"];
        assert_eq!(reader(composite, "%void", &in_memory), [Op::CopyMemorySized, Op::Return]);
        // Others are imported.
        assert!(reader("_Z37__sycl_getScalar2019SpecConstantValueIiET_PKcPKvS4_", "%uint", &text).is_empty());
        assert!(reader(scalar, "%uint", &["%text", "%uint", "%text"]).is_empty());
    }
}
