//! Compilation of large modules: in proportion to their size, or refused with a reason.

use ze_engine::abi::{Coarsening, LaneMapping, Variant};
use ze_engine::analysis::inlining::Inlining;
use ze_engine::engine::DEFAULT_MAX_GROUP_SIZE;
use ze_engine::jit::pipeline::{self, Tier};
use ze_engine::jit::size::Size;
use ze_engine::jit::target::{Isa, Target};
use ze_engine::jit::{Context, IrModule};
use ze_tests::scale::{PATTERNS, Pattern};

use crate::support::built;

const VARIANT: Variant = Variant {
    width: 16,
    mapping: LaneMapping::Rows,
    coarsening: Coarsening::Off,
    large_ids: false,
    most_items: DEFAULT_MAX_GROUP_SIZE,
};

/// The IR of a module's first kernel, or why there is none.
fn lowered(pattern: &Pattern, size: u32, target: &Target) -> Result<IrModule, String> {
    let bytes = (pattern.module)(size);
    let module = built(&bytes)?;
    ze_engine::analysis::work::check(&module).map_err(|error| error.to_string())?;
    let kernel = module.kernel("main").expect("the module has the kernel");
    let ir = ze_engine::lower::lower(&module, kernel, VARIANT, Inlining::default(), target, &Context::new());
    ir.map(|(ir, ..)| ir).map_err(|error| error.to_string())
}

#[test]
fn code_grows_in_proportion_to_the_module() {
    let target = Target::limited(Isa::Avx512).expect("a target machine");
    for pattern in PATTERNS {
        // As many phis in as many blocks again: four times the code.
        let most = if pattern.name == "blocks with phis" { 4.4 } else { 2.6 };
        let count = |size| {
            let ir = lowered(pattern, size, &target).map(|ir| Size::of(&ir, &target).instructions as f64);
            // Some are too much code at any size that is worth looking at.
            let refused = |reason: &String| reason.contains("supported");
            ir.inspect_err(|reason| assert!(refused(reason), "{}: {reason}", pattern.name)).ok()
        };
        let (Some(one), Some(two)) = (count(pattern.large / 16), count(pattern.large / 8)) else { continue };
        assert!(two <= most * one + 200.0, "{}: {one} and then {two} instructions", pattern.name);
    }
}

#[test]
fn large_modules_are_lowered_or_refused_by_number() {
    let target = Target::limited(Isa::Avx512).expect("a target machine");
    for pattern in PATTERNS {
        match lowered(pattern, pattern.large, &target) {
            Ok(ir) => assert!(Size::of(&ir, &target).instructions < 3_000_000, "{}", pattern.name),
            Err(reason) => assert!(reason.contains("supported"), "{}: {reason}", pattern.name),
        }
    }
}

#[test]
fn code_in_pieces_is_valid_and_generated() {
    let target = Target::limited(Isa::Avx512).expect("a target machine");
    for pattern in PATTERNS {
        let Ok(ir) = lowered(pattern, pattern.large / 32, &target) else { continue };
        pipeline::optimise(&ir, &target, Tier::Optimising).expect("optimises");
        ir.verify().expect("valid IR");
        let tier = Size::of(&ir, &target).tier(Tier::Optimising);
        let cut = ir.clone();
        ze_engine::jit::size::split_blocks(&cut);
        cut.verify().unwrap_or_else(|error| panic!("{} in pieces: {error}", pattern.name));
        let object = pipeline::object_code(ir, &target, tier).expect("emits");
        assert!(!object.bytes.is_empty());
    }
}

fn pattern(name: &str) -> &'static Pattern {
    PATTERNS.iter().find(|pattern| pattern.name == name).expect("a pattern of this name")
}

#[test]
fn irreducible_cycles_nest_as_deep_as_loops() {
    let target = Target::limited(Isa::Avx512).expect("a target machine");
    for name in ["nested loops", "nest of irreducible cycles"] {
        lowered(pattern(name), 300, &target)
            .unwrap_or_else(|reason| panic!("{name}: {reason}"))
            .verify()
            .expect(name);
        // Ten thousand blocks in thousands of cycles.
        let refused = lowered(pattern(name), 8000, &target).err();
        assert!(refused.is_some_and(|reason| reason.contains("loops of more than")), "{name}");
    }
}

#[test]
fn what_passes_would_compare_with_each_other_is_counted() {
    let target = Target::limited(Isa::Avx512).expect("a target machine");
    let size = |name: &str, size: u32| {
        Size::of(&lowered(pattern(name), size, &target).expect("is not refused"), &target)
    };
    for (large, small) in [(2000, 200), (1000, 100)] {
        let name = "uniform switch, one target a case";
        assert!(!size(name, large).can_simplify() && size(name, small).can_simplify());
        assert_eq!(size(name, large).tier(Tier::Optimising), Tier::Fast);
    }
    let (large, small) = (size("structures", 16_000), size("structures", 2000));
    assert!(!large.can_compare_stores() && small.can_compare_stores());
    assert!(large.accesses > large.stores);
}

#[test]
fn variables_of_large_blocks_become_registers() {
    let target = Target::limited(Isa::Avx512).expect("a target machine");
    let ir = lowered(pattern("ifs in a row"), 700, &target).expect("is not refused");
    assert!(Size::of(&ir, &target).variables > 2000);
    pipeline::optimise(&ir, &target, Tier::Optimising).expect("optimises");
    ir.verify().expect("valid IR");
    assert_eq!(Size::of(&ir, &target).variables, 0);
}
