//! glibc's vector math library, opened at run time: which functions it has and where they are.
//!
//! Names follow the x86-64 vector function ABI: `_ZGV` ISA `N` lanes, a `v` for each parameter, `_` name,
//! with an `f` at the end for f32. ISA `b` is SSE4, `d` AVX2, `e` AVX-512; `N` means no mask.

use crate::fork::OnceLock;
use libloading::Library;
use rustc_hash::FxHashMap;

const LIBRARY: &str = "libmvec.so.1";

/// A function of libmvec.
struct Function {
    name: &'static str,
    parameters: usize,
    /// The f32 form is within the error bound of the OpenCL SPIR-V Environment, §6.6.1.
    accurate_f32: bool,
}

const fn accurate(name: &'static str, parameters: usize) -> Function {
    Function { name, parameters, accurate_f32: true }
}

/// Measured beyond the bound: 2 ULP for `cbrt`, 3 for the others.
const fn rough(name: &'static str) -> Function {
    Function { name, parameters: 1, accurate_f32: false }
}

/// All functions of glibc 2.35 and later; before, there were `cos`, `exp`, `log`, `pow` and `sin` only.
/// `sincos` is left out: its results come through vectors of pointers, and a sine and a cosine are faster.
const FUNCTIONS: [Function; 26] = [
    accurate("acos", 1),
    accurate("acosh", 1),
    accurate("asin", 1),
    accurate("asinh", 1),
    accurate("atan", 1),
    accurate("atan2", 2),
    accurate("atanh", 1),
    rough("cbrt"),
    accurate("cos", 1),
    accurate("cosh", 1),
    accurate("erf", 1),
    accurate("erfc", 1),
    accurate("exp", 1),
    rough("exp10"),
    accurate("exp2", 1),
    accurate("expm1", 1),
    accurate("hypot", 2),
    rough("log"),
    rough("log10"),
    accurate("log1p", 1),
    accurate("log2", 1),
    accurate("pow", 2),
    accurate("sin", 1),
    accurate("sinh", 1),
    accurate("tan", 1),
    accurate("tanh", 1),
];

/// The letter of an ISA and the bits of its vectors.
const ISAS: [(char, u32); 3] = [('b', 128), ('d', 256), ('e', 512)];

/// A function of the library for one number of lanes.
struct VectorFunction {
    symbol: &'static str,
    address: usize,
    accurate: bool,
}

struct Table {
    by_function: FxHashMap<(&'static str, bool, u32), VectorFunction>,
    by_symbol: FxHashMap<&'static str, usize>,
    /// Keeps the addresses valid.
    _library: Library,
}

fn table() -> Option<&'static Table> {
    static TABLE: OnceLock<Option<Table>> = OnceLock::new();
    TABLE.get_or_init(open).as_ref()
}

fn open() -> Option<Table> {
    // SAFETY: glibc's own library; its initialisers only choose implementations for the CPU.
    let library = unsafe { Library::new(LIBRARY) }
        .inspect_err(|error| tracing::info!("no vector math library: {error}"))
        .ok()?;
    let mut by_function = FxHashMap::default();
    for (isa, bits) in ISAS.into_iter().filter(|(isa, _)| cpu_has(*isa)) {
        for function in &FUNCTIONS {
            for f64 in [false, true] {
                let lanes = bits / if f64 { 64 } else { 32 };
                let parameters = "v".repeat(function.parameters);
                let suffix = if f64 { "" } else { "f" };
                let symbol = format!("_ZGV{isa}N{lanes}{parameters}_{}{suffix}", function.name);
                // SAFETY: only the address is taken; callers follow the ABI that the name states.
                let found = unsafe { library.get::<unsafe extern "C" fn()>(symbol.as_bytes()) };
                let Ok(address) = found.map(|found| *found as usize) else { continue };
                let accurate = f64 || function.accurate_f32;
                // The table lives as long as the process.
                let entry = VectorFunction { symbol: symbol.leak(), address, accurate };
                by_function.insert((function.name, f64, lanes), entry);
            }
        }
    }
    let by_symbol = by_function.values().map(|entry| (entry.symbol, entry.address)).collect();
    Some(Table { by_function, by_symbol, _library: library })
}

#[cfg(target_arch = "x86_64")]
fn cpu_has(isa: char) -> bool {
    match isa {
        'b' => is_x86_feature_detected!("sse4.1"),
        'd' => is_x86_feature_detected!("avx2"),
        'e' => is_x86_feature_detected!("avx512f"),
        _ => false,
    }
}

#[cfg(not(target_arch = "x86_64"))]
fn cpu_has(_isa: char) -> bool {
    false
}

/// Whether this system has the library.
pub fn is_available() -> bool {
    table().is_some_and(|table| !table.by_symbol.is_empty())
}

/// The symbol of the vector form of a libm function (`"sin"`, without the `f` of f32) with this many lanes,
/// where this system and CPU have it and its results are within OpenCL's error bound. It takes and returns
/// vectors of `lanes` elements.
pub fn lookup(name: &str, f64: bool, lanes: u32) -> Option<&'static str> {
    entry(name, f64, lanes).filter(|entry| entry.accurate).map(|entry| entry.symbol)
}

/// As [`lookup`], also where the error is beyond OpenCL's bound: for `native_` functions and relaxed math.
pub fn lookup_relaxed(name: &str, f64: bool, lanes: u32) -> Option<&'static str> {
    entry(name, f64, lanes).map(|entry| entry.symbol)
}

fn entry(name: &str, f64: bool, lanes: u32) -> Option<&'static VectorFunction> {
    // The key's lifetime is that of the table's names, so the name has to be one of them.
    let name = FUNCTIONS.iter().find(|function| function.name == name)?.name;
    table()?.by_function.get(&(name, f64, lanes))
}

/// The address of one of the library's symbols.
pub fn address(symbol: &str) -> Option<usize> {
    table()?.by_symbol.get(symbol).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_symbol_that_is_looked_up_has_an_address() {
        for function in &FUNCTIONS {
            for (f64, lanes) in [(false, 4), (false, 8), (false, 16), (true, 2), (true, 4), (true, 8)] {
                if let Some(symbol) = lookup_relaxed(function.name, f64, lanes) {
                    assert!(address(symbol).is_some(), "{symbol}");
                }
            }
        }
    }

    #[test]
    fn rough_functions_are_for_relaxed_math_only() {
        assert_eq!(lookup("log", false, 8), None);
        if is_available() && cpu_has('d') {
            assert_eq!(lookup_relaxed("log", false, 8), Some("_ZGVdN8v_logf"));
            assert_eq!(lookup("log", true, 4), Some("_ZGVdN4v_log"));
            assert_eq!(lookup("pow", false, 8), Some("_ZGVdN8vv_powf"));
        }
    }

    #[test]
    fn unknown_names_and_widths_are_not_found() {
        assert_eq!(lookup("lgamma", false, 8), None);
        assert_eq!(lookup_relaxed("sin", false, 3), None);
    }
}
