//! Calls through pointers: which functions there are to be called, and which a call may lead to.
//!
//! A pointer may come from anywhere, so a call may lead to every function that has an address and is handed the same,
//! scalar by scalar. Names of types do not matter for that: compilers give a method and the calls of it
//! different types of `this`, and modules that are linked differ in more.

use crate::module::{ConstantValue, Function, Id, Module, Type, TypeId, Types};
use rustc_hash::{FxHashMap, FxHashSet};
use spirv::{Decoration, LinkageType, Op};

/// What a call hands over, in order: calls and functions fit together if it is the same for both.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct CallShape(Vec<Handed>);

/// A scalar that is handed over.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Handed {
    Bool,
    Int(u32),
    Float(u32),
    Pointer,
    /// A handle of this type.
    Handle(TypeId),
    /// What comes before is the result.
    Result,
}

impl CallShape {
    /// Scalars that a call through a pointer hands over at most, its result included.
    pub const MOST_SCALARS: usize = 1 << 10;

    /// The shape of a call that returns a result, or nothing; none if it hands over too much.
    pub fn new(
        types: &Types,
        result: Option<TypeId>,
        params: impl IntoIterator<Item = TypeId>,
    ) -> Option<Self> {
        let mut shape = CallShape(Vec::new());
        if let Some(result) = result.filter(|ty| *types.get(*ty) != Type::Void) {
            shape.add(types, result)?;
        }
        shape.0.push(Handed::Result);
        params.into_iter().try_for_each(|param| shape.add(types, param))?;
        Some(shape)
    }

    /// The shape of calls of a function.
    pub fn of(types: &Types, function: &Function) -> Option<Self> {
        Self::new(types, Some(function.result), function.params.iter().map(|(_, ty)| *ty))
    }

    fn add(&mut self, types: &Types, ty: TypeId) -> Option<()> {
        let scalar = match types.get(ty) {
            Type::Vector { elem, len } => return (0..*len).try_for_each(|_| self.add(types, *elem)),
            Type::Array { elem, len } => return (0..*len).try_for_each(|_| self.add(types, *elem)),
            Type::Struct { members, .. } => {
                return members.iter().try_for_each(|member| self.add(types, *member));
            }
            Type::Bool => Handed::Bool,
            Type::Int { width } => Handed::Int(*width),
            Type::Float { width } => Handed::Float(*width),
            Type::Pointer { .. } => Handed::Pointer,
            _ => Handed::Handle(ty),
        };
        (self.0.len() <= Self::MOST_SCALARS).then(|| self.0.push(scalar))
    }
}

/// Functions that are kept because something may have their address.
pub(crate) fn roots(module: &Module) -> impl Iterator<Item = Id> + '_ {
    let taken = module.constants.values().filter_map(|constant| match constant.value {
        ConstantValue::FunctionPointer(function) => Some(function),
        _ => None,
    });
    let declared = module.functions.iter().map(|function| function.id);
    taken.chain(declared.filter(|id| module.has_decoration(*id, Decoration::ReferencedIndirectlyINTEL)))
}

/// The functions of a pruned module whose address somebody may have, in the module's order.
pub(crate) fn addressable(module: &Module, kernels: &[Id]) -> Vec<Id> {
    let roots: FxHashSet<Id> = roots(module).collect();
    let has_address = |function: &&Function| {
        let exported = function.linkage == Some(LinkageType::Export);
        (exported || roots.contains(&function.id))
            && !function.blocks.is_empty()
            && !kernels.contains(&function.id)
    };
    module.functions.iter().filter(has_address).map(|function| function.id).collect()
}

/// Addressable functions by what they are handed.
pub(crate) fn targets(module: &Module) -> FxHashMap<CallShape, Vec<Id>> {
    let mut targets: FxHashMap<CallShape, Vec<Id>> = FxHashMap::default();
    for function in module.addressable.iter().filter_map(|id| module.function(*id)) {
        if let Some(shape) = CallShape::of(&module.types, function) {
            targets.entry(shape).or_default().push(function.id);
        }
    }
    targets
}

/// What a function's calls through pointers hand over, each once.
pub(crate) fn calls(module: &Module, function: &Function) -> Vec<CallShape> {
    let insts = || function.blocks.iter().flat_map(|block| &block.insts);
    let mut shapes: Vec<CallShape> = Vec::new();
    let mut calls = insts().filter(|inst| inst.op == Op::FunctionPointerCallINTEL).peekable();
    if calls.peek().is_none() {
        return shapes;
    }
    let results = insts().filter_map(|inst| Some((inst.result?, inst.ty?)));
    let globals = module.globals.iter().map(|global| (global.id, global.ty));
    let values: FxHashMap<Id, TypeId> =
        function.params.iter().copied().chain(results).chain(globals).collect();
    let type_of =
        |id: Id| values.get(&id).copied().or_else(|| module.constants.get(&id).map(|constant| constant.ty));
    let mut seen = FxHashSet::default();
    for call in calls {
        let arguments: Option<Vec<TypeId>> = call.ids().skip(1).map(type_of).collect();
        let shape = arguments.and_then(|arguments| CallShape::new(&module.types, call.ty, arguments));
        shapes.extend(shape.filter(|shape| seen.insert(shape.clone())));
    }
    shapes
}

#[cfg(test)]
mod tests {
    use crate::module::Module;
    use crate::test_support::{assert_accepted, assert_rejected, build_text, declaring, kernel};

    /// A kernel with two functions from an integer to an integer, and one from and to a pointer. `%f`, `%g` and `%h`
    /// are their addresses where `taken` says so.
    fn module(taken: &str, declarations: &str, body: &str) -> String {
        let types = "%pc = OpTypePointer CrossWorkgroup %uchar\n%pu = OpTypePointer CrossWorkgroup %uint\n\
            %pg = OpTypePointer Generic %uchar\n%tf = OpTypeFunction %uint %uint\n%th = OpTypeFunction %void %pc\n\
            %pf = OpTypePointer CodeSectionINTEL %tf\n%ph = OpTypePointer CodeSectionINTEL %th\n%nc = OpConstantNull %pc\n\
            %nu = OpConstantNull %pu\n%nf = OpConstantNull %pf\n";
        let addresses: String = taken
            .chars()
            .map(|name| {
                let ty = if name == 'h' { "%ph" } else { "%pf" };
                format!("%{name} = OpConstantFunctionPointerINTEL {ty} %function_{name}\n")
            })
            .collect();
        let simple = |name: &str| {
            format!(
                "%function_{name} = OpFunction %uint None %tf\n%x{name} = OpFunctionParameter %uint\n%l{name} = OpLabel\n\
                 OpReturnValue %x{name}\nOpFunctionEnd\n"
            )
        };
        let h = "%function_h = OpFunction %void None %th\n%xh = OpFunctionParameter %pc\n%lh = OpLabel\nOpReturn\nOpFunctionEnd\n";
        let text =
            kernel(&format!("{types}{addresses}{declarations}"), body) + &simple("f") + &simple("g") + h;
        declaring("FunctionPointersINTEL", &text).replacen(
            "%std = ",
            "OpExtension \"SPV_INTEL_function_pointers\"\n%std = ",
            1,
        )
    }

    /// Names of functions by their results: the first has none named.
    fn reached(module: &Module) -> Vec<String> {
        let name = |id| module.names.get(id).cloned().unwrap_or_default();
        module.kernels[0].indirect.iter().map(name).collect()
    }

    fn named(text: &str) -> Module {
        let names: String =
            "fgh".chars().map(|name| format!("OpName %function_{name} \"{name}\"\n")).collect();
        const STRING: &str = "%file = OpString \"kernel.cl\"\n";
        build_text(&text.replacen(STRING, &format!("{STRING}{names}"), 1))
            .unwrap_or_else(|error| panic!("{error}\n{text}"))
    }

    #[test]
    fn a_call_reaches_functions_with_an_address_that_take_what_it_hands_over() {
        let call = "%r = OpFunctionPointerCallINTEL %uint %f %u1";
        assert_eq!(reached(&named(&module("fgh", "", call))), ["f", "g"]);
        assert_eq!(reached(&named(&module("fh", "", call))), ["f"]);
        assert_eq!(reached(&named(&module("fgh", "", ""))), [""; 0]);
        // Whatever pointers point to, they are passed alike.
        let method = "%p = OpBitcast %ph2 %h\n%r = OpFunctionPointerCallINTEL %void %p %nu";
        let other = "%th2 = OpTypeFunction %void %pu\n%ph2 = OpTypePointer CodeSectionINTEL %th2\n";
        assert_eq!(reached(&named(&module("fgh", other, method))), ["h"]);
    }

    #[test]
    fn exported_functions_and_those_declared_to_be_referenced_have_addresses() {
        let call = "%r = OpFunctionPointerCallINTEL %uint %nf %u1";
        let text = module("", "", call);
        assert!(named(&text).addressable.is_empty());
        let with = |decoration: &str| {
            let text = declaring("IndirectReferencesINTEL", &text);
            named(&text.replacen("%void = ", &format!("OpDecorate {decoration}\n%void = "), 1))
        };
        assert_eq!(reached(&with("%function_f LinkageAttributes \"f\" Export")), ["f"]);
        assert_eq!(reached(&with("%function_g ReferencedIndirectlyINTEL")), ["g"]);
    }

    #[test]
    fn calls_through_pointers_hand_over_what_the_pointers_type_says() {
        let call = |call: &str| module("fgh", "", &format!("%r = OpFunctionPointerCallINTEL {call}"));
        assert_accepted(&call("%uint %f %u1"));
        assert_rejected(&call("%float %f %u1"), "types.operands");
        assert_rejected(&call("%uint %f %f1"), "types.operands");
        assert_rejected(&call("%uint %f"), "types.operands");
        assert_rejected(&call("%uint %u1 %u1"), "types.operands");
        assert_accepted(&call("%void %h %nu"));
        // What a pointer that says nothing leads to is seen when it is called.
        assert_accepted(&call("%float %nc %f1"));
    }

    #[test]
    fn tables_hold_functions_as_pointers_to_anything() {
        let table = "%two = OpTypeArray %pg %u2\n%pt = OpTypePointer CrossWorkgroup %two\n\
            %gf = OpSpecConstantOp %pg PtrCastToGeneric %f\n%gh = OpSpecConstantOp %pg PtrCastToGeneric %h\n\
            %c = OpConstantComposite %two %gf %gh\n%v = OpVariable %pt CrossWorkgroup %c\n";
        assert_accepted(&module("fh", table, ""));
        let wrong = "%gf = OpSpecConstantOp %pc PtrCastToGeneric %f\n";
        assert_rejected(&module("fh", wrong, ""), "types.operands");
    }

    #[test]
    fn what_functions_do_that_are_called_through_pointers_the_kernel_does() {
        let barrier = "OpControlBarrier %u2 %u2 %u0";
        let text = module("f", "", "%r = OpFunctionPointerCallINTEL %uint %f %u1")
            .replace("%lf = OpLabel", &format!("%lf = OpLabel\n{barrier}"))
            .replace("%lg = OpLabel", &format!("%lg = OpLabel\n{barrier}"));
        assert!(named(&text).kernels[0].uses_barrier);
        assert!(
            !named(&module("g", "", "").replace("%lg = OpLabel", &format!("%lg = OpLabel\n{barrier}")))
                .kernels[0]
                .uses_barrier
        );
    }
}
