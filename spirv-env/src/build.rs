//! The intake from end to end.

use crate::binary::Binary;
use crate::diagnostics::{BuildError, Diagnostic, Diagnostics, Fault, RuleId};
use crate::environment::{Environment, ModuleInput};
use crate::grammar::Cursor;
use crate::load::{self, Loaded, TypeMeasures};
use crate::module::{Id, Module, Type, integer_layout};
use crate::{
    block_io, decided, demote, indirect, link, prune, reflect, rules, supplied, validate, variable_arrays,
};
use rustc_hash::FxHashMap;
use spirv::{Decoration, LinkageType, Op};
use ze_extensions::limits::INTEGER_BITS;

const INTERNAL: RuleId = RuleId { id: "internal", source: "this driver" };
const LINK: RuleId = RuleId { id: "link.inputs", source: "Level Zero, ze_module_program_exp_desc_t" };

/// Builds one module from one or more: decodes, validates, specializes, links and reflects.
pub fn build(inputs: &[ModuleInput<'_>], env: &Environment<'_>) -> Result<Module, BuildError> {
    // The intake has no panic that is known of; one that is not must not cross into the application.
    let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| build_inputs(inputs, env)));
    let outcome =
        outcome.unwrap_or_else(|_| Err(Fault::new(INTERNAL, "the module made the intake panic").into()));
    match &outcome {
        Ok(module) => tracing::debug!(
            inputs = inputs.len(),
            kernels = module.kernels.len(),
            functions = module.functions.len(),
            unresolved = module.unresolved.len(),
            "module built"
        ),
        Err(error) => tracing::debug!(inputs = inputs.len(), %error, "module rejected"),
    }
    outcome
}

fn build_inputs(inputs: &[ModuleInput<'_>], env: &Environment<'_>) -> Result<Module, BuildError> {
    if inputs.is_empty() {
        return Err(Fault::new(LINK, "there is no module to build").into());
    }
    let mut diagnostics = Diagnostics::default();
    let [major, minor] = env.profile.module.spirv_version;
    let binaries: Vec<Option<Binary>> = inputs
        .iter()
        .enumerate()
        .map(|(at, input)| {
            let fault = match Binary::new(input.bytes, (major, minor)) {
                Ok(binary) => return Some(binary),
                Err(fault) => fault,
            };
            diagnostics
                .push(Diagnostic { input: (inputs.len() > 1).then_some(at), ..Diagnostic::new(fault) });
            None
        })
        .collect();
    let built = stages(inputs, &binaries, env, &mut diagnostics);
    match (diagnostics.finish(&binaries), built) {
        (Some(error), _) => Err(error),
        (None, Some(module)) => Ok(module),
        (None, None) => Err(Fault::new(INTERNAL, "the module was rejected without a reason").into()),
    }
}

/// One stage after the other, for as long as what they found leaves the next one something to rely on.
fn stages(
    inputs: &[ModuleInput<'_>],
    binaries: &[Option<Binary>],
    env: &Environment<'_>,
    diagnostics: &mut Diagnostics,
) -> Option<Module> {
    let mut module = Module::default();
    let mut measures = TypeMeasures::default();
    let mut loaded = Vec::with_capacity(inputs.len());
    let index = |at: usize| (inputs.len() > 1).then_some(at);
    for (at, (input, binary)) in inputs.iter().zip(binaries).enumerate() {
        let Some(binary) = binary else { continue };
        let one = load::load(&mut module, &mut measures, env, binary, input, diagnostics, index(at))?;
        loaded.push((at, one));
    }
    rules::declared(&module, env, diagnostics);
    for (at, input) in &loaded {
        if let Err(fault) = link::check_linkonce(&module, input) {
            diagnostics.judge(Diagnostic { input: index(*at), ..Diagnostic::new(fault) });
        }
        validate::validate(&module, env, input, measures.leaves(), index(*at), diagnostics);
    }
    if !diagnostics.is_sound() {
        return None;
    }
    // Everything of a module was looked at; from here on its kernels are functions like others.
    let without_kernels = loaded.iter_mut().filter(|(at, _)| !inputs[*at].kernels);
    without_kernels.for_each(|(_, input)| input.entry_points.clear());
    let mut loaded: Vec<Loaded> = loaded.into_iter().map(|(_, input)| input).collect();
    let sources = loaded.iter_mut().flat_map(|input| &mut input.sources);
    for (function, source) in module.functions.iter_mut().zip(sources) {
        prune::unreachable_blocks(function, source);
        prune::order_blocks(function, source);
    }
    decided::branches(&mut module, loaded.iter_mut().flat_map(|input| &mut input.sources));
    link::link(&mut module, &mut loaded, diagnostics);
    if !diagnostics.is_sound() {
        return None;
    }
    let kernels: Vec<Id> =
        loaded.iter().flat_map(|input| &input.entry_points).map(|entry| entry.function).collect();
    let mut imported: FxHashMap<Id, String> = loaded
        .iter()
        .flat_map(|input| &input.linkage)
        .filter(|(_, linkage)| linkage.kind == LinkageType::Import)
        .map(|(id, linkage)| (*id, linkage.name.clone()))
        .collect();
    supplied::define(&mut module, &mut imported);
    prune::unused_functions(&mut module, &kernels, &imported);
    variable_arrays::resolve(&mut module, &mut loaded, diagnostics);
    let sizes = &env.profile.compute.sub_group_sizes;
    if let Err(fault) = block_io::through_values(&mut module, &mut measures, &mut loaded, sizes) {
        diagnostics.judge(Diagnostic::new(fault));
        return None;
    }
    if !diagnostics.is_sound() {
        return None;
    }
    module.addressable = indirect::addressable(&module, &kernels);
    rules::functions(&module, &loaded, env, diagnostics);
    validate::ask_engine(&module, env, &loaded, diagnostics);
    if !diagnostics.is_sound() {
        return None;
    }
    // Who compares numbers on a module's behalf finds the type of the answer, whether or not it is declared.
    module.types.intern(Type::Bool, false);
    module.inputs_end = Id(module.bound);
    if let Err(fault) = demote::large_values(&mut module, measures.leaves(), &kernels) {
        diagnostics.judge(Diagnostic::new(fault));
        return None;
    }
    reflect::reflect(&mut module, &loaded, diagnostics);
    rules::kernels(&module, env, diagnostics);
    reflect::add_device(&mut module, env.profile);
    Some(module)
}

/// A specialization constant that a module declares.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SpecConstantInfo {
    pub spec_id: u32,
    /// Bytes of its value in memory; a Boolean has 1.
    pub size: u32,
}

/// Lists the specialization constants of a module without building it, for callers that hold values
/// whose sizes only the module knows. A module that is malformed has none: building it says why.
pub fn spec_constants(bytes: &[u8]) -> Vec<SpecConstantInfo> {
    const ANY_VERSION: (u8, u8) = (1, u8::MAX);
    let Ok(binary) = Binary::new(bytes, ANY_VERSION) else { return Vec::new() };
    let mut spec_ids: FxHashMap<u32, u32> = FxHashMap::default();
    let mut widths: FxHashMap<u32, u32> = FxHashMap::default();
    let mut found = Vec::new();
    for inst in binary.instructions().map_while(Result::ok) {
        let mut words = Cursor::new(inst.operands);
        let mut word = || words.word().unwrap_or(0);
        match inst.op {
            Op::Decorate => {
                let target = word();
                if word() == Decoration::SpecId as u32 {
                    spec_ids.insert(target, word());
                }
            }
            Op::TypeBool => {
                widths.insert(word(), 8);
            }
            Op::TypeInt | Op::TypeFloat => {
                let (ty, width) = (word(), word());
                // The caller reads as many bytes as this says: only what is certain is listed.
                if (1..=INTEGER_BITS).contains(&width) {
                    widths.insert(ty, 8 * integer_layout(width).size as u32);
                }
            }
            Op::SpecConstant | Op::SpecConstantTrue | Op::SpecConstantFalse => {
                let (ty, id) = (word(), word());
                if let (Some(&width), Some(&spec_id)) = (widths.get(&ty), spec_ids.get(&id)) {
                    found.push(SpecConstantInfo { spec_id, size: width / 8 });
                }
            }
            Op::Function => break,
            _ => {}
        }
    }
    found
}
