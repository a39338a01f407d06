//! The addresses of functions: numbers that mean the same in all kernels of a program, whatever they are compiled for.
//!
//! A function has code once for each variant of each kernel that may call it, so its address is not code's. It is a
//! number that no other function of the process ever has, far from all memory. A program has a
//! table from the numbers to its functions, and compiled code looks there before it calls (`lower::dispatch`): what is
//! no address, or one of a function of another program, is found out and ends the launch.

use rustc_hash::FxHashMap;
use spirv_env::{Id, Module};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Addresses are this far apart: C++'s pointers to members need the lowest bit.
pub const STEP: u64 = 16;
/// The first address. No processor has memory at such ones, which are neither half of its address space.
const FIRST: u64 = 0x70F0_0000_0000_0000;

/// The next address that no function has.
static NEXT: AtomicU64 = AtomicU64::new(FIRST);

/// What compiled code reads to find a function. Field offsets are used by `lower::dispatch`.
#[repr(C)]
pub struct Lookup {
    /// The lowest address.
    pub first: u64,
    /// Entries of the table.
    pub count: u64,
    /// By an address's distance from the first in steps: 0, or one more than the function's place among the
    /// module's addressable functions.
    pub table: *const u32,
}

/// The addresses of a program's functions.
pub struct FunctionPointers {
    addresses: FxHashMap<Id, u64>,
    by_name: FxHashMap<String, Id>,
    /// Addresses that functions also have: as parts of programs that were linked, each with its place.
    others: Vec<(u64, u32)>,
    lookup: Box<Lookup>,
    _table: Box<[u32]>,
}

// SAFETY: the pointer is to the table, which does not change.
unsafe impl Send for FunctionPointers {}
// SAFETY: as above.
unsafe impl Sync for FunctionPointers {}

/// A program that another one is linked from.
pub struct Part<'a> {
    pub module: &'a Module,
    pub pointers: &'a Arc<FunctionPointers>,
}

impl FunctionPointers {
    /// Gives every addressable function an address. Those of `parts`, whose inputs are the module's in the same order,
    /// keep theirs; one that gave way to a definition of the same name stands for that. `None` without memory for the table.
    pub fn new(module: &Module, parts: &[Part<'_>]) -> Option<FunctionPointers> {
        let place_of: FxHashMap<Id, u32> = module.addressable.iter().copied().zip(1..).collect();
        let named =
            |name: &str| module.functions.iter().find(|function| function.name.as_deref() == Some(name));
        let mut addresses: FxHashMap<Id, u64> = FxHashMap::default();
        let mut others = Vec::new();
        let mut inputs = module.inputs.iter();
        for part in parts {
            let starts: Vec<(Id, Id)> =
                part.module.inputs.iter().copied().zip(inputs.by_ref().copied()).collect();
            let linked = |id: Id| {
                let (from, to) = starts.iter().rev().find(|(from, _)| *from <= id)?;
                Some(Id(id.0 - from.0 + to.0))
            };
            for (&id, &address) in &part.pointers.addresses {
                let name = || part.module.function(id)?.name.as_deref();
                let same = linked(id).filter(|id| place_of.contains_key(id));
                let Some(now) = same.or_else(|| named(name()?).map(|function| function.id)) else { continue };
                let Some(&place) = place_of.get(&now) else { continue };
                if *addresses.entry(now).or_insert(address) != address {
                    others.push((address, place));
                }
            }
            let names = part.pointers.others.iter().filter_map(|&(address, place)| {
                let was = *part.module.addressable.get(place as usize - 1)?;
                Some((address, *place_of.get(&linked(was)?)?))
            });
            others.extend(names);
        }
        let new =
            module.addressable.iter().filter(|id| !addresses.contains_key(id)).copied().collect::<Vec<_>>();
        let start = NEXT.fetch_add(new.len() as u64 * STEP, Ordering::Relaxed);
        addresses.extend(new.into_iter().zip((start..).step_by(STEP as usize)));
        let entries =
            || addresses.iter().map(|(id, &address)| (address, place_of[id])).chain(others.iter().copied());
        let first = entries().map(|(address, _)| address).min().unwrap_or(FIRST);
        let last = entries().map(|(address, _)| address).max();
        let count = usize::try_from(last.map_or(0, |last| (last - first) / STEP + 1)).ok()?;
        let mut table = Vec::new();
        table.try_reserve_exact(count).ok()?;
        table.resize(count, 0u32);
        entries().for_each(|(address, place)| table[((address - first) / STEP) as usize] = place);
        let table = table.into_boxed_slice();
        let lookup = Box::new(Lookup { first, count: count as u64, table: table.as_ptr() });
        // What the host asks for by name: exports, then what is only declared to be referenced.
        let mut by_name = FxHashMap::default();
        let exported = |id: &&Id| module.function(**id).is_some_and(|function| function.linkage.is_some());
        let (exported, inner): (Vec<&Id>, Vec<&Id>) = module.addressable.iter().partition(exported);
        for id in exported.into_iter().chain(inner) {
            if let Some(name) = module.function(*id).and_then(|function| function.name.clone()) {
                by_name.entry(name).or_insert(*id);
            }
        }
        Some(FunctionPointers { addresses, by_name, others, lookup, _table: table })
    }

    /// The address of a function; none if nobody may have it.
    pub fn address(&self, function: Id) -> Option<u64> {
        self.addresses.get(&function).copied()
    }

    /// The address of the function with this name.
    pub fn by_name(&self, name: &str) -> Option<u64> {
        self.address(*self.by_name.get(name)?)
    }

    /// What compiled code reads.
    pub fn lookup(&self) -> &Lookup {
        &self.lookup
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use spirv_env::{Environment, ModuleInput};
    use ze_tests::assembler::assemble;

    /// A module with two functions, of which these names are exported.
    fn text(names: &[&str], linkage: &str) -> String {
        let mut text = String::from(
            "OpCapability Addresses\nOpCapability Kernel\nOpCapability Linkage\nOpCapability FunctionPointersINTEL\n\
             OpExtension \"SPV_INTEL_function_pointers\"\nOpExtension \"SPV_KHR_linkonce_odr\"\nOpMemoryModel Physical64 OpenCL\n",
        );
        for name in names {
            text += &format!("OpDecorate %{name} LinkageAttributes \"{name}\" {linkage}\n");
        }
        text += "%void = OpTypeVoid\n%fn = OpTypeFunction %void\n%p = OpTypePointer CodeSectionINTEL %fn\n";
        for name in names {
            text += &format!("%address_{name} = OpConstantFunctionPointerINTEL %p %{name}\n");
        }
        for name in names {
            text += &format!(
                "%{name} = OpFunction %void None %fn\n%l{name} = OpLabel\nOpReturn\nOpFunctionEnd\n"
            );
        }
        text
    }

    fn build(texts: &[String]) -> Module {
        let bytes: Vec<Vec<u8>> = texts.iter().map(|text| assemble(text)).collect();
        let inputs: Vec<ModuleInput<'_>> = bytes.iter().map(|bytes| ModuleInput::new(bytes)).collect();
        let profile = ze_extensions::DeviceProfile::host();
        spirv_env::build(&inputs, &Environment::new(&profile)).unwrap_or_else(|error| panic!("{error}"))
    }

    /// The place that the table has for an address.
    fn place(pointers: &FunctionPointers, address: u64) -> Option<u32> {
        let lookup = pointers.lookup();
        let distance = address.checked_sub(lookup.first)?.rotate_right(4);
        // SAFETY: below the table's length.
        (distance < lookup.count).then(|| unsafe { *lookup.table.add(distance as usize) })
    }

    #[test]
    fn every_function_has_an_address_of_its_own_that_leads_back_to_it() {
        let module = build(&[text(&["f", "g"], "Export")]);
        let (one, other) = (FunctionPointers::new(&module, &[]), FunctionPointers::new(&module, &[]));
        let (one, other) = (one.expect("memory"), other.expect("memory"));
        let [f, g] = ["f", "g"].map(|name| one.by_name(name).expect("it is exported"));
        assert_ne!(f, g);
        for (place_of, address) in [(1, f), (2, g)] {
            assert_eq!(place(&one, address), Some(place_of));
            assert!(place(&one, address + 1).is_none_or(|place| place == 0));
            assert!(place(&other, address).is_none_or(|place| place == 0));
        }
        assert_eq!(one.by_name("h"), None);
    }

    #[test]
    fn linked_programs_know_the_addresses_that_functions_had_before() {
        let [a, b] = ["a", "b"].map(|name| build(&[text(&[name, "shared"], "LinkOnceODR")]));
        let [of_a, of_b] =
            [&a, &b].map(|module| Arc::new(FunctionPointers::new(module, &[]).expect("memory")));
        let linked = build(&["a", "b"].map(|name| text(&[name, "shared"], "LinkOnceODR")));
        let parts = [(&a, &of_a), (&b, &of_b)].map(|(module, pointers)| Part { module, pointers });
        let pointers = FunctionPointers::new(&linked, &parts).expect("memory");
        for (part, name) in [(&of_a, "a"), (&of_b, "b")] {
            assert_eq!(pointers.by_name(name), part.by_name(name));
        }
        let shared = [&of_a, &of_b].map(|part| part.by_name("shared").expect("it is there"));
        assert_ne!(shared[0], shared[1]);
        assert_eq!(place(&pointers, shared[0]), place(&pointers, shared[1]));
        assert!(place(&pointers, shared[0]).is_some_and(|place| place > 0));
        // And once more: what is linked may be linked again.
        let whole = Arc::new(pointers);
        let again =
            FunctionPointers::new(&linked, &[Part { module: &linked, pointers: &whole }]).expect("memory");
        assert_eq!(place(&again, shared[1]), place(&whole, shared[1]));
    }
}
