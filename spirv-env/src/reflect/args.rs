//! Kernel arguments: kinds, sizes and places in the argument block, and what the source called them.

use super::EntryPoint;
use crate::diagnostics::{Fault, RuleId};
use crate::module::{ArgKind, Function, Id, KernelArg, Layout, Module, Type, TypeId};
use rustc_hash::FxHashMap;
use spirv::{Decoration, FunctionParameterAttribute, StorageClass};
use std::sync::Arc;
use ze_extensions::limits::ARGUMENT_ALIGNMENT;

const ARGUMENTS: RuleId = RuleId { id: "env.kernel-arguments", source: "L0 SPIR-V Guide, Kernel Arguments" };

/// The arguments of a kernel, and size and alignment of their block in bytes.
pub(super) struct Arguments {
    pub args: Vec<KernelArg>,
    pub block_size: u64,
    pub block_align: u64,
}

/// The arguments of a kernel and the size of their block.
pub(super) fn arguments(
    module: &Module,
    source: &SourceLists<'_>,
    entry: &EntryPoint,
    function: &Function,
) -> Result<Arguments, Fault> {
    let types = source.list("kernel_arg_type", &entry.name);
    let qualifiers = source.list("kernel_arg_type_qual", &entry.name);
    let mut args = Vec::with_capacity(function.params.len());
    let (mut end, mut block_align) = (0u64, 1u64);
    for (at, &(id, ty)) in function.params.iter().enumerate() {
        let (kind, layout) = classify(module, id, ty)
            .map_err(|reason| Fault::new(ARGUMENTS, format!("argument {at} is {reason}")))?;
        let align = layout.align.clamp(1, ARGUMENT_ALIGNMENT);
        let offset = end.next_multiple_of(align);
        end = offset
            .checked_add(layout.size)
            .ok_or_else(|| Fault::new(ARGUMENTS, "the arguments are too large"))?;
        block_align = block_align.max(align);
        let qualifiers = qualifiers.get(at).copied().unwrap_or("");
        let qualified = |word: &str| qualifiers.split(' ').any(|qualifier| qualifier == word);
        args.push(KernelArg {
            name: module.names.get(&id).cloned().unwrap_or_default(),
            type_name: types.get(at).map_or_else(|| type_name(module, ty), |name| (*name).to_owned()),
            kind,
            ty,
            size: layout.size,
            offset,
            restrict: qualified("restrict")
                || module.has_decoration(id, Decoration::Restrict)
                || has_attribute(module, id, FunctionParameterAttribute::NoAlias),
            constant: qualified("const")
                || module.has_decoration(id, Decoration::Constant)
                || has_attribute(module, id, FunctionParameterAttribute::NoWrite),
            volatile: qualified("volatile") || module.has_decoration(id, Decoration::Volatile),
        });
    }
    Ok(Arguments { args, block_size: end.next_multiple_of(block_align), block_align })
}

/// How a parameter of this type is passed, and its place in the argument block.
fn classify(module: &Module, id: Id, ty: TypeId) -> Result<(ArgKind, Layout), String> {
    const HANDLE: Layout = Layout { size: 8, align: 8 };
    Ok(match *module.types.get(ty) {
        // A function's address is a number that the program is given (`zeModuleGetFunctionPointer`).
        Type::Pointer { class, pointee }
            if class == StorageClass::CodeSectionINTEL
                || matches!(module.types.get(pointee), Type::Function { .. }) =>
        {
            (ArgKind::Value, HANDLE)
        }
        Type::Pointer { class: StorageClass::CrossWorkgroup, .. } => (ArgKind::GlobalPointer, HANDLE),
        Type::Pointer { class: StorageClass::UniformConstant, .. } => (ArgKind::ConstantPointer, HANDLE),
        Type::Pointer { class: StorageClass::Workgroup, .. } => (ArgKind::LocalPointer, HANDLE),
        // Producers pass structures behind a ByVal pointer; the guide lists the structure itself.
        Type::Pointer { class: StorageClass::Function, pointee } => {
            if !has_attribute(module, id, FunctionParameterAttribute::ByVal) {
                return Err("a Function pointer without ByVal".into());
            }
            if module.types.is_untyped(ty) {
                return Err("an untyped pointer with ByVal, of which nothing says how large it is".into());
            }
            (ArgKind::Value, module.types.layout(pointee))
        }
        Type::Image(image) => (ArgKind::Image(image), HANDLE),
        Type::Sampler => (ArgKind::Sampler, HANDLE),
        // The guide lists neither Booleans, doubles nor arrays; DPC++ passes them and GPUs take them.
        Type::Bool
        | Type::Int { .. }
        | Type::Float { .. }
        | Type::Vector { .. }
        | Type::Struct { .. }
        | Type::Array { .. } => (ArgKind::Value, module.types.layout(ty)),
        Type::Pointer { class, .. } => return Err(format!("a {class:?} pointer")),
        _ => return Err("of a type that kernels cannot take".into()),
    })
}

fn has_attribute(module: &Module, id: Id, attribute: FunctionParameterAttribute) -> bool {
    module.decorations_of(id).iter().any(|decorated| {
        decorated.kind == Decoration::FuncParamAttr && decorated.literals[0] == attribute as u32
    })
}

/// What OpenCL C front ends keep of the source: an `OpString` of `key.kernel.a,b,c,`.
pub(super) struct SourceLists<'a> {
    /// By key and kernel.
    lists: FxHashMap<(&'a str, &'a str), &'a str>,
}

impl<'a> SourceLists<'a> {
    pub fn new(texts: &'a [Arc<str>]) -> Self {
        let split = |text: &'a Arc<str>| {
            let (key, rest) = text.split_once('.')?;
            let (kernel, list) = rest.rsplit_once('.')?;
            key.starts_with("kernel_arg_").then_some(((key, kernel), list))
        };
        Self { lists: texts.iter().filter_map(split).collect() }
    }

    fn list(&self, key: &str, kernel: &str) -> Vec<&'a str> {
        let list = self.lists.get(&(key, kernel));
        list.map_or_else(Vec::new, |list| list.strip_suffix(',').unwrap_or(list).split(',').collect())
    }
}

/// A type's name in OpenCL C, for modules that do not carry the source's.
fn type_name(module: &Module, ty: TypeId) -> String {
    match module.types.get(ty) {
        _ if module.types.is_bfloat(ty) => "bfloat16".into(),
        Type::Bool => "bool".into(),
        Type::Int { width: 8 } => "char".into(),
        Type::Int { width: 16 } => "short".into(),
        Type::Int { width: 32 } => "int".into(),
        Type::Int { .. } => "long".into(),
        Type::Float { width: 16 } => "half".into(),
        Type::Float { width: 32 } => "float".into(),
        Type::Float { .. } => "double".into(),
        Type::Vector { elem, len } => format!("{}{len}", type_name(module, *elem)),
        Type::Struct { id, .. } => module
            .names
            .get(id)
            .map_or("struct", |name| name.strip_prefix("struct.").unwrap_or(name))
            .to_owned(),
        Type::Pointer { .. } if module.types.is_untyped(ty) => "void*".into(),
        Type::Pointer { class: StorageClass::Function, pointee } => type_name(module, *pointee),
        Type::Pointer { pointee, .. } => match module.types.get(*pointee) {
            // Chains of pointers may be long or, with forward declarations, cyclic.
            Type::Pointer { .. } => "void**".into(),
            _ => format!("{}*", type_name(module, *pointee)),
        },
        Type::Sampler => "sampler_t".into(),
        Type::Image(_) => "image".into(),
        _ => "void".into(),
    }
}
