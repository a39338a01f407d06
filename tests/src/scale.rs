//! Modules of one pattern in any size: what compilation has to stay near-linear in, or has to refuse.
//!
//! The modules are put together word by word, so that generating a large one takes no time to speak of.

mod assembler;
mod control;
mod declarations;
mod memory;
mod values;

/// A family of modules with one kernel `main`, which takes a pointer to 32-bit integers and an integer.
pub struct Pattern {
    pub name: &'static str,
    /// A size at which a module is about as large as hostile ones are: up to a mebibyte.
    pub large: u32,
    pub module: fn(u32) -> Vec<u8>,
}

/// All patterns.
pub const PATTERNS: &[Pattern] = &[
    Pattern { name: "nested loops", large: 1000, module: control::nested_loops },
    Pattern { name: "loops in a row", large: 4000, module: control::loops_in_a_row },
    Pattern { name: "switch, one target a case", large: 32_000, module: |n| control::switch(n, true, false) },
    Pattern {
        name: "uniform switch, one target a case",
        large: 32_000,
        module: |n| control::switch(n, true, true),
    },
    Pattern { name: "switch, one target", large: 100_000, module: |n| control::switch(n, false, false) },
    Pattern { name: "nested ifs", large: 10_000, module: |n| control::nested_ifs(n, false) },
    Pattern { name: "uniform nested ifs", large: 10_000, module: |n| control::nested_ifs(n, true) },
    Pattern { name: "nested switches", large: 4000, module: control::nested_switches },
    Pattern { name: "ifs in a row", large: 8000, module: |n| control::ifs_in_a_row(n, false) },
    Pattern { name: "uniform ifs in a row", large: 8000, module: |n| control::ifs_in_a_row(n, true) },
    Pattern { name: "chain of blocks", large: 40_000, module: control::chain_of_blocks },
    Pattern { name: "early exits", large: 20_000, module: control::early_exits },
    Pattern { name: "blocks with phis", large: 100, module: control::blocks_with_phis },
    Pattern { name: "dependent multiplications", large: 50_000, module: values::multiplications },
    Pattern { name: "independent additions", large: 50_000, module: values::independent_additions },
    Pattern { name: "live vectors", large: 4000, module: values::live_vectors },
    Pattern { name: "live across a loop", large: 4000, module: values::live_across_a_loop },
    Pattern { name: "variables", large: 10_000, module: memory::variables },
    Pattern { name: "private arrays", large: 2000, module: memory::private_arrays },
    Pattern { name: "gathers", large: 20_000, module: memory::gathers },
    Pattern { name: "atomics", large: 15_000, module: memory::atomics },
    Pattern { name: "built-ins", large: 15_000, module: memory::builtins },
    Pattern { name: "insertions into a wide array", large: 20_000, module: memory::insertions },
    Pattern { name: "wide arrays", large: 4096, module: memory::wide_arrays },
    Pattern { name: "constants", large: 60_000, module: declarations::constants },
    Pattern { name: "deep types", large: 240, module: declarations::deep_types },
    Pattern { name: "structures", large: 20_000, module: declarations::structures },
    Pattern { name: "names and decorations", large: 30_000, module: declarations::names_and_decorations },
    Pattern { name: "kernels", large: 5000, module: declarations::kernels },
    Pattern { name: "cycle with many entries", large: 4000, module: control::irreducible_entries },
    Pattern { name: "irreducible cycles in a row", large: 3000, module: control::irreducible_cycles },
    Pattern { name: "nest of irreducible cycles", large: 5000, module: control::irreducible_nest },
    Pattern { name: "cycle with many entries and phis", large: 8000, module: control::entries_with_phis },
    Pattern { name: "members of a structure", large: 30_000, module: memory::members },
    Pattern { name: "large arrays", large: 20_000, module: memory::large_arrays },
    Pattern { name: "phis of large arrays", large: 8000, module: memory::large_phis },
    Pattern { name: "types", large: 40_000, module: declarations::types },
    Pattern { name: "copies", large: 50_000, module: values::copies },
    Pattern { name: "pointer chain", large: 30_000, module: memory::pointer_chain },
    Pattern { name: "divisions", large: 20_000, module: values::divisions },
    Pattern { name: "math functions", large: 20_000, module: values::math_functions },
];
