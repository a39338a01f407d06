//! Linking: imports meet exports across inputs, and of equal `LinkOnceODR` definitions one stays.

use crate::diagnostics::{Diagnostic, Diagnostics, Fault, RuleId};
use crate::load::Loaded;
use crate::module::{ConstantValue, Id, Module, Operand, TypeId};
use rustc_hash::{FxHashMap, FxHashSet};
use spirv::LinkageType;

const DUPLICATE: RuleId = RuleId { id: "link.duplicate", source: "SPIR-V 1.2 §2.9" };
const TYPE: RuleId = RuleId { id: "link.type", source: "SPIR-V 1.2 §2.9" };
const ODR: RuleId = RuleId { id: "link.linkonce-odr", source: "L0 SPIR-V Guide, Linkonce ODR" };

/// A definition that other modules may refer to.
struct Definition {
    id: Id,
    ty: Option<TypeId>,
    kind: LinkageType,
}

/// Resolves linkage among all inputs and renames ids accordingly.
pub(crate) fn link(module: &mut Module, loaded: &mut [Loaded], diagnostics: &mut Diagnostics) {
    let builtins: FxHashSet<Id> =
        module.globals.iter().filter(|global| global.builtin.is_some()).map(|global| global.id).collect();
    let type_of = |id: Id| loaded.iter().find_map(|input| input.defs.type_of(id));
    let mut linked: Vec<(Id, &str, LinkageType)> = loaded
        .iter()
        .flat_map(|input| input.linkage.iter())
        .filter(|(id, _)| !builtins.contains(id))
        .map(|(id, linkage)| (*id, linkage.name.as_str(), linkage.kind))
        .collect();
    linked.sort_unstable_by_key(|(id, ..)| *id);

    let mut definitions: FxHashMap<&str, Definition> = FxHashMap::default();
    let mut renamed: FxHashMap<Id, Id> = FxHashMap::default();
    for &(id, name, kind) in linked.iter().filter(|(.., kind)| *kind != LinkageType::Import) {
        let ty = type_of(id);
        match definitions.get_mut(name) {
            None => {
                definitions.insert(name, Definition { id, ty, kind });
            }
            Some(first) if first.ty != ty => {
                let message = format!("\"{name}\" is defined with two types");
                diagnostics.push(Diagnostic::new(Fault::new(TYPE, message)));
            }
            Some(first) => match (first.kind, kind) {
                (LinkageType::Export, LinkageType::Export) => {
                    let message = format!("\"{name}\" is exported more than once");
                    diagnostics.push(Diagnostic::new(Fault::new(DUPLICATE, message)));
                }
                (LinkageType::LinkOnceODR, LinkageType::Export) => {
                    renamed.insert(first.id, id);
                    *first = Definition { id, ty, kind };
                }
                _ => {
                    renamed.insert(id, first.id);
                }
            },
        }
    }
    for &(id, name, _) in linked.iter().filter(|(.., kind)| *kind == LinkageType::Import) {
        match definitions.get(name) {
            Some(definition) if definition.ty == type_of(id) => {
                renamed.insert(id, definition.id);
            }
            Some(_) => {
                let message = format!("\"{name}\" is imported with another type than it is exported with");
                diagnostics.push(Diagnostic::new(Fault::new(TYPE, message)));
            }
            None => {}
        }
    }
    // A definition that gave way to an export may itself be what others were renamed to.
    for id in renamed.keys().copied().collect::<Vec<_>>() {
        let mut to = renamed[&id];
        while let Some(&next) = renamed.get(&to) {
            to = next;
        }
        renamed.insert(id, to);
    }
    if !renamed.is_empty() {
        rename(module, &renamed);
        for entry in loaded.iter_mut().flat_map(|input| input.entry_points.iter_mut()) {
            entry.function = renamed.get(&entry.function).copied().unwrap_or(entry.function);
        }
    }
}

/// `LinkOnceODR` needs its extension.
pub(crate) fn check_linkonce(module: &Module, input: &Loaded) -> Result<(), Fault> {
    let used = input.linkage.values().any(|linkage| linkage.kind == LinkageType::LinkOnceODR);
    if used && !module.extensions.iter().any(|name| name == "SPV_KHR_linkonce_odr") {
        return Err(Fault::new(ODR, "LinkOnceODR is used without SPV_KHR_linkonce_odr"));
    }
    Ok(())
}

fn rename(module: &mut Module, renamed: &FxHashMap<Id, Id>) {
    let rename = |id: &mut Id| {
        if let Some(to) = renamed.get(id) {
            *id = *to;
        }
    };
    let rename_operands = |operands: &mut [Operand]| {
        for operand in operands {
            if let Operand::Id(id) = operand {
                rename(id);
            }
        }
    };
    module.functions.retain(|function| !renamed.contains_key(&function.id));
    module.globals.retain(|global| !renamed.contains_key(&global.id));
    for function in &mut module.functions {
        for inst in function.blocks.iter_mut().flat_map(|block| &mut block.insts) {
            rename_operands(&mut inst.operands);
        }
    }
    for global in &mut module.globals {
        if let Some(initializer) = &mut global.initializer {
            rename(initializer);
        }
    }
    for constant in module.constants.values_mut() {
        match &mut constant.value {
            ConstantValue::Composite(parts) => parts.iter_mut().for_each(rename),
            ConstantValue::Expression { operands, .. } => rename_operands(operands),
            ConstantValue::FunctionPointer(function) => rename(function),
            _ => {}
        }
    }
}
