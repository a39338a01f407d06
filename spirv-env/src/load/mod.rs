//! From instructions to a [`Module`]: one pass that gives every id its meaning.
//!
//! What an instruction's own words and the declarations before it can show is checked here. What needs the
//! whole function (uses, types, control flow) is checked by `validate`.

mod annotations;
mod assembly;
mod bfloat;
mod constants;
mod debug_info;
mod functions;
mod left_behind;
mod masked;
mod narrow_builtins;
mod opencl_c;
mod preamble;
mod rewriting;
mod types;
mod universal;
mod untyped;
mod variables;

use crate::binary::{Binary, RawInst};
use crate::defs::{Def, Defs, ID_RANGE};
use crate::diagnostics::{Diagnostic, Diagnostics, Fault, InstructionRef, RuleId};
use crate::environment::{Environment, ModuleInput};
use crate::grammar::{Cursor, format, op_name};
use crate::module::{Decorated, Id, Module, Operand, TypeId};
use crate::opcodes::{self, Family, Opcode, Section};
use crate::rules::{self, Declarations};
use rustc_hash::{FxHashMap, FxHashSet};
use spirv::{ExecutionMode, LinkageType, Op};
use std::sync::Arc;

pub(crate) use functions::FunctionSource;
pub(crate) use types::TypeMeasures;

const LAYOUT: RuleId = RuleId { id: "module.layout", source: "SPIR-V 1.2 §2.4" };
pub(crate) const OPCODE: RuleId = RuleId { id: "module.opcode", source: "SPIR-V 1.2 §3.32" };

/// An opcode that has no row, or does not belong where it stands.
pub(crate) fn not_supported(op: Op) -> Fault {
    Fault::new(OPCODE, format!("{} is not supported", op_name(op)))
}

/// `OpEntryPoint`.
#[derive(Debug)]
pub(crate) struct EntryPoint {
    pub function: Id,
    pub name: String,
    /// Of its declaration, in words from the start of the module.
    pub offset: u32,
}

/// An `Import`, `Export` or `LinkOnceODR` name.
#[derive(Clone, Debug)]
pub(crate) struct Linkage {
    pub name: String,
    pub kind: LinkageType,
}

/// What the later stages need to know about an input besides its module.
pub(crate) struct Loaded {
    pub defs: Defs,
    /// One for each of the functions that this input added to the module, in their order.
    pub sources: Vec<FunctionSource>,
    /// The input's first function in the module.
    pub first_function: usize,
    pub entry_points: Vec<EntryPoint>,
    pub modes: FxHashMap<Id, Vec<(ExecutionMode, Vec<u32>)>>,
    pub linkage: FxHashMap<Id, Linkage>,
    pub texts: Vec<Arc<str>>,
    /// Constants that are [`ConstantValue::Expression`](crate::module::ConstantValue::Expression), each with its
    /// instruction's place.
    pub expressions: Vec<(Id, u32)>,
}

impl Loaded {
    /// What a diagnostic calls a function.
    pub fn function_name(&self, module: &Module, id: Id) -> String {
        let entry = self.entry_points.iter().find(|entry| entry.function == id);
        match (entry, module.names.get(&id)) {
            (Some(entry), _) => format!("kernel {}", entry.name),
            (None, Some(name)) => format!("function {name}"),
            (None, None) => format!("function {}", self.defs.raw(id)),
        }
    }
}

pub(crate) struct Loader<'m> {
    module: &'m mut Module,
    env: &'m Environment<'m>,
    measures: &'m mut TypeMeasures,
    binary: &'m Binary,
    spec_values: FxHashMap<u32, &'m [u8]>,
    out: Loaded,
    /// The instruction's place, in words from the start of the module.
    at: u32,
    /// The next id that no input uses: for constants that folding creates.
    next_id: u32,
    line: Option<u32>,
    files: FxHashMap<(Id, u32, u32), u32>,
    shader_debug: debug_info::ShaderDebug,
    groups: FxHashMap<Id, Vec<Decorated>>,
    /// Decorations that groups gave to their targets.
    expanded: usize,
    entry_names: FxHashSet<String>,
    forward_pointers: FxHashMap<Id, TypeId>,
    /// By storage class and pointee, as words: the pointer with a forward declaration that later ones are equal to.
    pointer_twins: FxHashMap<(u32, u32), Id>,
    twins_found: bool,
    /// By opcode and words behind the id: types of which there may be one.
    declared_types: FxHashMap<(Op, Vec<u32>), Id>,
    assemblies: assembly::Assemblies,
    references: universal::References,
    left_behind: left_behind::LeftBehind,
    untyped: untyped::Untyped,
    narrow_builtins: narrow_builtins::NarrowBuiltins,
    /// What is wrong with instructions that others take the place of, with the function and the place.
    replaced_faults: Vec<(Id, u32, Fault)>,
    open: Option<functions::OpenFunction>,
    /// The rest of a function of which something essential was rejected.
    skipping: bool,
    /// How deep constant expressions nest, by id; others are not in here.
    expression_depths: FxHashMap<Id, u32>,
    memory_model: bool,
    section: Section,
    /// Rules that the instruction breaks and that nothing relies on.
    judged: Vec<Fault>,
    reverses_bits: bool,
}

/// Loads one input behind those that are already in `module`.
pub(crate) fn load(
    module: &mut Module,
    measures: &mut TypeMeasures,
    env: &Environment<'_>,
    binary: &Binary,
    input: &ModuleInput<'_>,
    diagnostics: &mut Diagnostics,
    input_index: Option<usize>,
) -> Option<Loaded> {
    let base = module.bound;
    let Some(next_id) = base.checked_add(binary.bound) else {
        let fault = Fault::new(ID_RANGE, "the modules have more ids together than there are");
        diagnostics.push(Diagnostic { input: input_index, ..Diagnostic::new(fault) });
        return None;
    };
    module.inputs.push(Id(base));
    let first_function = module.functions.len();
    module.version = module.version.max(binary.version);
    measures.next_input();
    let mut loader = Loader {
        module,
        env,
        measures,
        binary,
        spec_values: input.constants.iter().map(|(id, value)| (*id, value.as_slice())).collect(),
        out: Loaded {
            defs: Defs::new(base, binary.bound),
            sources: Vec::new(),
            first_function,
            entry_points: Vec::new(),
            modes: FxHashMap::default(),
            linkage: FxHashMap::default(),
            texts: Vec::new(),
            expressions: Vec::new(),
        },
        next_id,
        at: 0,
        line: None,
        files: FxHashMap::default(),
        shader_debug: debug_info::ShaderDebug::default(),
        groups: FxHashMap::default(),
        expanded: 0,
        entry_names: FxHashSet::default(),
        forward_pointers: FxHashMap::default(),
        pointer_twins: FxHashMap::default(),
        twins_found: false,
        declared_types: FxHashMap::default(),
        assemblies: assembly::Assemblies::default(),
        references: universal::References::default(),
        left_behind: left_behind::LeftBehind::default(),
        untyped: untyped::Untyped::default(),
        narrow_builtins: narrow_builtins::NarrowBuiltins::default(),
        replaced_faults: Vec::new(),
        open: None,
        skipping: false,
        expression_depths: FxHashMap::default(),
        memory_model: false,
        section: Section::default(),
        judged: Vec::new(),
        reverses_bits: declares_shaders(binary)
            && binary.instructions().map_while(Result::ok).any(|inst| inst.op == Op::BitReverse),
    };
    let mut instructions = binary.instructions().peekable();
    let mut complete = true;
    while let Some(inst) = instructions.next() {
        let inst = match inst {
            Ok(inst) => inst,
            Err(bad) => {
                let mut diagnostic = loader.diagnostic(None, bad.fault);
                diagnostic.input = input_index;
                diagnostic.message.push_str(&format!(" (word {})", bad.offset));
                diagnostics.push(diagnostic);
                complete = false;
                break;
            }
        };
        // The members or constituents of one that exceeds an instruction's 65,535 words.
        let mut whole: Option<Vec<u32>> = None;
        while let Some(Ok(next)) = instructions.peek()
            && continues(inst.op, next.op)
        {
            whole.get_or_insert_with(|| inst.operands.to_vec()).extend_from_slice(next.operands);
            instructions.next();
        }
        let full = RawInst { operands: whole.as_deref().unwrap_or(inst.operands), ..inst };
        loader.at = inst.offset;
        let outcome = loader.instruction(&full);
        let judged = std::mem::take(&mut loader.judged);
        if let Err(fault) = outcome {
            // A rule that was broken says more than what comes of it.
            if judged.is_empty() && !fault.is_consequence() {
                let diagnostic = loader.diagnostic(Some(inst), fault);
                diagnostics.push(Diagnostic { input: input_index, ..diagnostic });
            }
            diagnostics.spoil();
            loader.recover(&full);
        }
        for fault in judged {
            let diagnostic = loader.diagnostic(Some(inst), fault);
            diagnostics.judge(Diagnostic { input: input_index, ..diagnostic });
        }
        for (function, at, fault) in std::mem::take(&mut loader.replaced_faults) {
            diagnostics.spoil();
            if !fault.is_consequence() {
                let mut diagnostic = loader.diagnostic(binary.instruction_at(at), fault);
                diagnostic.function = Some(loader.out.function_name(loader.module, function));
                diagnostics.push(Diagnostic { input: input_index, ..diagnostic });
            }
        }
    }
    if complete {
        let sound = diagnostics.is_sound();
        loader.end(sound, &mut |at, fault| {
            let mut diagnostic = Diagnostic { input: input_index, ..Diagnostic::new(fault) };
            diagnostic.instruction = at.and_then(|at| binary.instruction_at(at)).map(instruction_ref);
            diagnostics.push(diagnostic);
        });
    }
    loader.module.bound = loader.next_id;
    Some(loader.out)
}

/// Whether a module declares, where it begins, what only shaders have.
fn declares_shaders(binary: &Binary) -> bool {
    let declared = binary.instructions().map_while(Result::ok).take_while(|inst| inst.op == Op::Capability);
    declared.filter_map(|inst| inst.operands.first().copied()).any(rules::is_of_shaders)
}

fn instruction_ref(inst: RawInst<'_>) -> InstructionRef {
    let at = result_place(inst.op);
    InstructionRef {
        opcode: op_name(inst.op),
        offset: inst.offset,
        result: at.and_then(|at| inst.operands.get(at)).map(|&word| Id(word)),
        text: None,
    }
}

/// The operand at a place, as an id; `rule` is the one that says that it is.
fn operand_id(operands: &[Operand], at: usize, rule: RuleId) -> Result<Id, Fault> {
    match operands.get(at) {
        Some(Operand::Id(id)) => Ok(*id),
        _ => Err(Fault::new(rule, format!("operand {at} is not an id"))),
    }
}

/// Which of an instruction's words behind the first is its result.
fn result_place(op: Op) -> Option<usize> {
    format(op).filter(|format| format.has_result).map(|format| usize::from(format.has_type))
}

/// `SPV_INTEL_long_composites`.
fn continues(op: Op, next: Op) -> bool {
    matches!(
        (op, next),
        (Op::TypeStruct, Op::TypeStructContinuedINTEL)
            | (Op::ConstantComposite, Op::ConstantCompositeContinuedINTEL)
            | (Op::SpecConstantComposite, Op::SpecConstantCompositeContinuedINTEL)
            | (Op::CompositeConstruct, Op::CompositeConstructContinuedINTEL)
    )
}

impl Loader<'_> {
    fn instruction(&mut self, inst: &RawInst<'_>) -> Result<(), Fault> {
        if self.skipping {
            match inst.op {
                Op::FunctionEnd => {
                    self.skipping = false;
                    return Ok(());
                }
                Op::Function => self.skipping = false,
                _ => return Ok(()),
            }
        }
        let forward = RawInst { op: Op::ExtInst, ..*inst };
        let inst = if self.is_forward_debug_info(inst) { &forward } else { inst };
        let row = opcodes::row(inst.op).ok_or_else(|| not_supported(inst.op))?;
        match inst.op {
            Op::Nop => return Ok(()),
            Op::NoLine => {
                self.line = None;
                return Ok(());
            }
            Op::Line => return self.op_line(&mut Cursor::new(inst.operands)),
            Op::Function | Op::FunctionEnd | Op::FunctionParameter => return self.function_level(inst),
            _ if self.open.is_some() => return self.body_instruction(inst, row),
            _ => {}
        }
        self.module_level(inst, row)
    }

    /// Makes what comes next meaningful, as far as that is possible.
    fn recover(&mut self, inst: &RawInst<'_>) {
        let result = result_place(inst.op).and_then(|at| inst.operands.get(at)).copied();
        if let Some(id) = result.and_then(|raw| self.id(raw).ok()) {
            self.out.defs.poison(id);
        }
        let structure =
            matches!(inst.op, Op::Function | Op::FunctionParameter | Op::FunctionEnd | Op::Label | Op::Line);
        let is_terminator = opcodes::row(inst.op).is_some_and(|row| row.family == Family::Terminator);
        let in_block = self.open.as_ref().is_some_and(functions::OpenFunction::is_in_block);
        let in_function = self.open.is_some() || inst.op == Op::Function;
        if in_function && inst.op != Op::Line && (structure || is_terminator || !in_block) {
            self.open = None;
            self.skipping = inst.op != Op::FunctionEnd;
        }
    }

    /// Later sections rely on earlier ones: a decoration behind what it decorates would have no effect.
    fn enter(&mut self, section: Section) -> Result<(), Fault> {
        if section < self.section {
            return Err(Fault::new(
                LAYOUT,
                format!("an instruction of section {section:?} behind {:?}", self.section),
            ));
        }
        self.section = section;
        Ok(())
    }

    fn module_level(&mut self, inst: &RawInst<'_>, row: &Opcode) -> Result<(), Fault> {
        match row.section {
            Some(section) => self.enter(section)?,
            // Not in any section, then: it computes, or ends a block.
            None if row.in_function && !matches!(row.family, Family::Extended | Family::Structure) => {
                return Err(not_supported(inst.op));
            }
            None => {}
        }
        let so_far = Declarations {
            op: inst.op,
            module: self.module,
            env: self.env,
            defs: &self.out.defs,
            reverses_bits: self.reverses_bits,
        };
        rules::declaration(&so_far, inst, &mut self.judged);
        let cursor = &mut Cursor::new(inst.operands);
        match inst.op {
            Op::Capability => self.capability(cursor),
            Op::Extension => {
                let name = cursor.string()?;
                self.module.extensions.push(name);
                cursor.end()
            }
            Op::ExtInstImport => self.ext_inst_import(cursor),
            Op::MemoryModel => self.op_memory_model(cursor),
            Op::EntryPoint => self.entry_point(cursor),
            Op::ExecutionMode | Op::ExecutionModeId => self.execution_mode(inst.op, cursor),
            Op::String => {
                let id = self.id(cursor.word()?)?;
                let text = self.out.texts.len() as u32;
                self.out.texts.push(cursor.string()?.into());
                cursor.end()?;
                self.out.defs.define(id, Def::Text(text))
            }
            Op::Name => {
                let id = self.id(cursor.word()?)?;
                let name = cursor.string()?;
                self.module.names.insert(id, name);
                cursor.end()
            }
            Op::Source | Op::SourceContinued | Op::SourceExtension | Op::MemberName | Op::ModuleProcessed => {
                Ok(())
            }
            Op::Decorate
            | Op::DecorateId
            | Op::DecorateString
            | Op::MemberDecorate
            | Op::MemberDecorateString
            | Op::DecorationGroup
            | Op::GroupDecorate
            | Op::GroupMemberDecorate => self.annotation(inst.op, cursor),
            // Alias scopes name sets of memory accesses: hints that nothing depends on.
            Op::AliasDomainDeclINTEL | Op::AliasScopeDeclINTEL | Op::AliasScopeListDeclINTEL => {
                let id = self.id(cursor.word()?)?;
                self.out.defs.define(id, Def::Inert)
            }
            Op::ExtInst => self.inert_ext_inst(cursor),
            Op::AsmTargetINTEL | Op::AsmINTEL => self.assembly(inst.op, cursor),
            _ if row.family == Family::Type => self.type_declaration(inst),
            Op::Variable => self.global_variable(cursor),
            Op::UntypedVariableKHR => self.untyped_global(cursor),
            _ => self.constant(inst),
        }
    }

    /// The intake's id for a word of this input.
    fn id(&self, raw: u32) -> Result<Id, Fault> {
        self.out.defs.id(raw)
    }

    /// What is known at the end of the module. `report` takes the place of the instruction to blame. In one that is
    /// not `sound`, ids may be missing that are there.
    fn end(&mut self, sound: bool, report: &mut dyn FnMut(Option<u32>, Fault)) {
        if self.open.is_some() || self.skipping {
            report(None, Fault::new(LAYOUT, "the module ends inside a function"));
        }
        if !self.memory_model {
            report(None, Fault::new(LAYOUT, "the module has no OpMemoryModel"));
        }
        let mut missing: Vec<Id> = self.forward_pointers.keys().copied().collect();
        missing.sort_unstable();
        for id in missing {
            let message = format!("forward pointer {} is never declared", self.out.defs.raw(id));
            report(None, Fault::new(types::TYPES, message));
        }
        if sound {
            self.universal_references(report);
            self.decorate_takers(report);
        }
    }

    fn diagnostic(&self, inst: Option<RawInst<'_>>, fault: Fault) -> Diagnostic {
        let mut diagnostic = Diagnostic::new(fault);
        diagnostic.function = self.open.as_ref().map(|open| self.out.function_name(self.module, open.id()));
        diagnostic.line = self.line.and_then(|line| self.module.lines.get(line as usize)).cloned();
        diagnostic.instruction = inst.map(instruction_ref);
        diagnostic
    }
}

#[cfg(test)]
mod tests {
    use crate::test_support::{KERNEL, assert_rejected, build_text, kernel};

    #[test]
    fn modules_have_a_layout() {
        for (from, to, rule) in [
            ("OpMemoryModel Physical64 OpenCL\n", "", "module.layout"),
            ("OpMemoryModel", "OpMemoryModel Physical64 OpenCL\nOpMemoryModel", "module.layout"),
            ("OpFunctionEnd\n", "", "module.layout"),
            ("OpReturn\nOpFunctionEnd", "OpFunctionEnd", "blocks.well-formed"),
            ("OpReturn\n", "OpReturn\nOpReturn\n", "blocks.well-formed"),
            ("%entry = OpLabel\n", "", "blocks.well-formed"),
            ("OpReturn\n", "%second = OpLabel\nOpReturn\n", "blocks.well-formed"),
            ("%main = OpFunction %void", "%main = OpFunction %fn", "functions.well-formed"),
            ("%entry = OpLabel", "%p = OpFunctionParameter %void\n%entry = OpLabel", "functions.well-formed"),
            ("OpFunctionEnd\n", "OpFunctionEnd\nOpFunctionEnd\n", "module.layout"),
            ("%entry = OpLabel\nOpReturn\n", "", "functions.linkage"),
        ] {
            assert_rejected(&KERNEL.replacen(from, to, 1), rule);
        }
    }

    #[test]
    fn sections_are_in_order() {
        let move_behind = |line: &str, anchor: &str| {
            let text = kernel("%s = OpTypeStruct %uint", "");
            text.replacen(&format!("{line}\n"), "", 1).replacen(anchor, &format!("{anchor}\n{line}"), 1)
        };
        assert_rejected(
            &move_behind("OpCapability Linkage", "OpMemoryModel Physical64 OpenCL"),
            "module.layout",
        );
        assert_rejected(&move_behind("OpDecorate %s CPacked", "%s = OpTypeStruct %uint"), "module.layout");
        assert_rejected(&move_behind("OpName %s \"s\"", "OpFunctionEnd"), "module.layout");
        for (line, anchor) in [
            ("OpExtension \"SPV_KHR_expect_assume\"", "%std = OpExtInstImport \"OpenCL.std\""),
            ("OpSource OpenCL_C 200000", "OpName %void \"void\""),
            ("OpName %void \"void\"", "OpModuleProcessed \"done\""),
        ] {
            let ordered =
                kernel("", "").replace(anchor, "").replace("%void = ", &format!("{anchor}\n%void = "));
            assert_rejected(&ordered.replace(anchor, &format!("{anchor}\n{line}")), "module.layout");
        }
    }

    /// The rules that a module breaks, in order.
    fn all(text: &str) -> Vec<&'static str> {
        build_text(text).unwrap_err().diagnostics.iter().map(|diagnostic| diagnostic.rule).collect()
    }

    #[test]
    fn every_broken_rule_is_reported_where_it_is_broken() {
        let text = kernel(
            "%s1 = OpTypeInt 16 1\n%bad = OpTypeInt 129 0\n%p = OpTypePointer Uniform %bad\n%v = OpTypeVector %bad 2",
            "%a = OpIAdd %uint %u1 %f1\n%b = OpIAdd %uint %a %u1\n%c = OpIAdd %bad %b %b\n\
             %d = OpIAdd %uint %c %missing\nOpMemoryBarrier %u5 %u0\n%e = OpFAdd %float %f1 %u1\n\
             OpMemoryBarrier %u1 %u3",
        );
        // What uses a rejected type or value is not to blame: %v, %c and %d.
        let expected = [
            "env.signedness",
            "types.well-formed",
            "env.storage-class",
            "types.operands",
            "env.memory-scope",
            "types.operands",
        ];
        assert_eq!(all(&text), expected);
    }

    #[test]
    fn a_function_that_cannot_be_read_hides_no_other() {
        let other = "%f = OpFunction %void None %fn\n%l = OpLabel\n%r = OpIAdd %uint %u1 %f1\nOpReturn\nOpFunctionEnd\n";
        for broken in ["%p = OpFunctionParameter %void\n%entry = OpLabel", "OpReturn\n%entry = OpLabel"] {
            let text = format!("{}{other}", kernel("", "").replace("%entry = OpLabel", broken));
            let found = all(&text);
            assert_eq!(found.len(), 2, "{found:?}");
            assert_eq!(found[1], "types.operands");
        }
    }

    #[test]
    fn a_selector_may_be_defined_in_a_block_that_comes_later() {
        let of = |selector: &str| {
            let body = "OpBranch %first\n%second = OpLabel\nOpSwitch %selector %end 1 %case 2 %end\n\
                 %first = OpLabel\n%number = OpIAdd %uint %u1 %u2\n%other = OpFAdd %float %f1 %f1\nOpBranch %second\n\
                 %case = OpLabel\nOpBranch %end\n%end = OpLabel";
            kernel("", &body.replace("%selector", selector))
        };
        let module = build_text(&of("%number")).expect("a module");
        let blocks = &module.functions[0].blocks;
        let switch =
            blocks.iter().filter_map(|block| block.insts.last()).find(|inst| inst.op == spirv::Op::Switch);
        assert_eq!(switch.map(|inst| (inst.lit(2), inst.lit(4))), Some((1, 2)));
        assert_eq!(all(&of("%other")), ["binary.operands"]);
        assert_eq!(all(&of("%missing")), ["ids.defined"]);
    }

    #[test]
    fn a_log_of_many_faults_is_cut_and_says_so() {
        let text = kernel("", &"%uint = OpIAdd %uint %u1 %f1\n".repeat(100));
        let error = build_text(&text).unwrap_err();
        assert_eq!((error.diagnostics.len(), error.more), (64, 36));
        assert!(error.to_string().ends_with("and 36 more"));
    }

    #[test]
    fn the_log_names_rule_instruction_kernel_and_line() {
        let error = build_text(&kernel("", "OpLine %file 12 3\n%r = OpIAdd %uint %u1 %f1")).unwrap_err();
        let diagnostic = &error.diagnostics[0];
        assert_eq!(diagnostic.rule, "types.operands");
        let instruction = diagnostic.instruction.as_ref().unwrap();
        assert_eq!(instruction.opcode, "OpIAdd");
        assert!(instruction.offset > 5 && instruction.result.is_some());
        assert_eq!(diagnostic.function.as_deref(), Some("kernel main"));
        let log = error.to_string();
        for part in [
            "kernel.cl:12:3",
            "operand 1 is f32 instead of i32",
            "types.operands",
            "SPIR-V 1.2",
            "kernel main",
        ] {
            assert!(log.contains(part), "{part}: {log}");
        }
    }
}
