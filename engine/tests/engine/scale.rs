//! Compilation of large modules: in proportion to their size, or refused with a reason.

use ze_engine::abi::{LaneMapping, Variant};
use ze_engine::analysis::inlining::Inlining;
use ze_engine::jit::pipeline::{self, Tier};
use ze_engine::jit::size::Size;
use ze_engine::jit::target::{Isa, Target};
use ze_engine::jit::{Context, IrModule};
use ze_tests::scale::{PATTERNS, Pattern};

use crate::support::built;

const VARIANT: Variant = Variant::new(16, LaneMapping::Rows);

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
        let count = |size| {
            let ir = lowered(pattern, size, &target).map(|ir| Size::of(&ir, &target).instructions as f64);
            // Some are too much code at any size that is worth looking at.
            let refused = |reason: &String| reason.contains("supported");
            ir.inspect_err(|reason| assert!(refused(reason), "{}: {reason}", pattern.name)).ok()
        };
        let sizes = [pattern.large / 16, pattern.large / 8];
        let (Some(one), Some(two)) = (count(sizes[0]), count(sizes[1])) else { continue };
        // As many edges from as many blocks again are four times the module.
        let bytes = sizes.map(|size| (pattern.module)(size).len() as f64);
        let most = 1.3 * (bytes[1] / bytes[0]).max(2.0);
        assert!(two <= most * one + 200.0, "{}: {one} and then {two} instructions", pattern.name);
    }
}

#[test]
fn large_modules_are_lowered_or_refused_by_number() {
    let target = Target::limited(Isa::Avx512).expect("a target machine");
    for pattern in PATTERNS {
        match lowered(pattern, pattern.large / 2, &target) {
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
        ze_engine::jit::blocks::split_blocks(&cut);
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
    // Each of so many ways into a block reads and writes as many variables.
    let (large, small) = (size("many phis of many ways", 350), size("many phis of many ways", 100));
    assert!(large.has_large_blocks() && !large.can_promote() && small.can_promote());
    let (large, small) = (size("rows that are copied", 1000), size("rows that are copied", 100));
    assert!(!large.can_compare_stores() && small.can_compare_stores());
    assert!(large.accesses > large.stores);
    // What code generation takes longer for than for its size: a pattern in two sizes, of which one fits.
    let tier = |name: &str, of: u32| size(name, of).code_tier(Tier::Optimising);
    for (name, large, small) in [
        ("pointer chain", 2000, 100),
        ("calls with many arguments", 300, 5),
        ("rows that are copied", 2000, 100),
        ("deep accesses", 2000, 20),
        ("generic pointers", 2000, 50),
        ("products of wide integers", 1000, 10),
        ("image writes", 3000, 50),
    ] {
        assert_eq!(tier(name, large), Tier::Fast, "{name}");
        assert_eq!(tier(name, small), Tier::Optimising, "{name}");
    }
}

#[test]
fn what_lanes_do_one_after_the_other_is_counted() {
    let target = Target::limited(Isa::Avx512).expect("a target machine");
    for (name, size) in [
        ("math functions of doubles", 20_000),
        ("products of wide integers", 4000),
        ("quotients of wide integers", 4000),
        ("sums over a work-group", 8000),
    ] {
        let refused = lowered(pattern(name), size, &target).err();
        assert!(refused.is_some_and(|reason| reason.contains("its code would be")), "{name}");
    }
}

#[test]
fn blocks_that_are_searched_for_long_are_cut_and_promoted() {
    let target = Target::limited(Isa::Avx512).expect("a target machine");
    let ir = lowered(pattern("many phis of many ways"), 350, &target).expect("is not refused");
    assert!(Size::of(&ir, &target).variables > 350);
    pipeline::optimise(&ir, &target, Tier::Optimising).expect("optimises");
    assert!(Size::of(&ir, &target).variables < 10);
}

#[test]
fn blocks_that_follow_each_other_become_one() {
    let target = Target::limited(Isa::Avx512).expect("a target machine");
    for name in ["cycle with many entries", "cycle with many entries and phis", "nested loops"] {
        let ir = lowered(pattern(name), 200, &target).expect("is not refused");
        let before = Size::of(&ir, &target);
        ze_engine::jit::blocks::merge_rows(&ir);
        ir.verify().unwrap_or_else(|error| panic!("{name}: {error}"));
        let after = Size::of(&ir, &target);
        assert!(after.blocks < before.blocks, "{name}: {} and then {} blocks", before.blocks, after.blocks);
        // Only branches are gone, and phis of one way.
        assert!(before.instructions - after.instructions <= 2 * (before.blocks - after.blocks), "{name}");
        assert_eq!(after.variables, before.variables, "{name}");
    }
}

#[test]
fn blocks_that_the_module_has_in_a_row_are_one_from_the_start() {
    let target = Target::limited(Isa::Avx512).expect("a target machine");
    let ir = lowered(pattern("chain of blocks"), 200, &target).expect("is not refused");
    assert!(Size::of(&ir, &target).blocks < 20);
}

#[test]
fn functions_that_stay_functions_are_compiled_however_many_they_are() {
    let target = Target::limited(Isa::Avx512).expect("a target machine");
    let ir = lowered(pattern("tiny functions"), 6000, &target).expect("is not refused");
    ir.verify().expect("valid IR");
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
