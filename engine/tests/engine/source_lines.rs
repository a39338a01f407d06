//! Code that says which source lines it was made from is the code that says nothing.

use spirv_env::{Line, Module};
use ze_engine::abi::{Coarsening, LaneMapping, Variant};
use ze_engine::analysis::inlining::Inlining;
use ze_engine::jit::Context;
use ze_engine::jit::elf::{Definition, Relocatable};
use ze_engine::jit::pipeline::{self, Tier};
use ze_engine::jit::target::{Isa, Target};
use ze_engine::lower::{Options, SourceLines, lower_with};

use crate::support::{built, file};

/// One module in so many is looked at: compiling all four times takes minutes.
const SPARSE: usize = 9;

/// Gives each instruction a line of its own.
fn with_lines(mut module: Module) -> Module {
    let mut lines = Vec::new();
    for function in module.functions.iter_mut() {
        for inst in function.blocks.iter_mut().flat_map(|block| &mut block.insts) {
            inst.line = Some(lines.len() as u32);
            lines.push(Line { file: "/a/kernel.cl".into(), line: lines.len() as u32 + 1, column: 1 });
        }
    }
    module.lines = lines;
    module
}

fn object(
    module: &Module,
    kernel: &str,
    variant: Variant,
    tier: Tier,
    lines: SourceLines,
) -> Option<Vec<u8>> {
    let target = Target::limited(Isa::Avx2).expect("a target machine");
    let kernel = module.kernel(kernel)?;
    let options = Options { lines, ..Options::of(tier) };
    let (ir, ..) =
        lower_with(module, kernel, variant, Inlining::default(), options, &target, &Context::new()).ok()?;
    ir.verify().unwrap_or_else(|error| panic!("{}: {error}", kernel.name));
    pipeline::optimise(&ir, &target, tier).expect("passes");
    Some(pipeline::object_code(ir, &target, tier).expect("object code").bytes)
}

/// What is loaded of an object: sections with their bytes, and what relocations change of them.
fn loaded(object: &[u8]) -> Vec<(String, Vec<u8>, Vec<String>)> {
    let object = Relocatable::parse(object).expect("an object");
    let of = |number: usize| {
        let relocations = object.relocations.iter().filter(move |relocation| relocation.section == number);
        let text = relocations.map(|relocation| {
            let symbol = &object.symbols[relocation.symbol];
            let place = match symbol.definition {
                Definition::Inside { section, offset } => {
                    format!("{}+{offset}", object.sections[section].name)
                }
                other => format!("{other:?}"),
            };
            // Labels of constants are numbered through the file.
            let name = if symbol.name.starts_with(".L") { "" } else { symbol.name };
            format!("{} {} {name} {place} {}", relocation.offset, relocation.kind, relocation.addend)
        });
        text.collect()
    };
    let sections = object.sections.iter().enumerate().filter(|(_, section)| section.is_loaded());
    sections.map(|(at, section)| (section.name.to_owned(), section.data.to_vec(), of(at))).collect()
}

#[test]
fn source_lines_change_no_code() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/kernels");
    let mut names: Vec<String> = std::fs::read_dir(folder)
        .expect("the kernels")
        .filter_map(|entry| Some(entry.ok()?.path().file_name()?.to_str()?.strip_suffix(".spv")?.to_owned()))
        .collect();
    names.sort();
    let base = Variant::new(8, LaneMapping::Line);
    let mut compared = 0;
    for name in names.iter().step_by(SPARSE).map(String::as_str).chain(["lines", "calls"]) {
        let Ok(module) = built(&file(name)) else { continue };
        let module = with_lines(module);
        for kernel in module.kernels.iter().take(4) {
            for (tier, coarsening) in
                [(Tier::Fast, Coarsening::Off), (Tier::Optimising, Coarsening::AlongX(4))]
            {
                let variant = Variant { coarsening, ..base };
                let make = |lines| object(&module, &kernel.name, variant, tier, lines);
                let (Some(plain), Some(described)) =
                    (make(SourceLines::Unknown), make(SourceLines::Recorded))
                else {
                    continue;
                };
                assert!(loaded(&plain) == loaded(&described), "{name}: {} {tier:?}", kernel.name);
                assert!(described.len() > plain.len());
                compared += 1;
            }
        }
    }
    assert!(compared > 30, "{compared}");
}
