//! Loads object code into executable memory.
//!
//! A kernel is a few functions with their constants and a handful of external symbols, so this does what a linker
//! does for that and no more: places the sections in one mapping (code, then constants and the table of
//! addresses), applies the relocations, and then takes the write permission away. No page is ever writable
//! and executable at once. Code has no writable data: its state is in `abi::Worker`.

use super::JitError;
use super::elf::{Definition, Relocatable, Relocation, Section, Symbol};
use crate::pages::{Pages, page_size};
use rustc_hash::FxHashMap;

pub(super) use arch::MACHINE;

/// Finds the address of a symbol that the object code does not define.
pub type Resolver<'a> = dyn Fn(&str) -> Option<usize> + 'a;

/// Code in memory, until it is dropped. It does not change after loading.
#[derive(Debug)]
pub struct LoadedCode {
    pages: Pages,
    symbols: Vec<(String, usize)>,
}

impl LoadedCode {
    /// The address of a symbol that the object code defines.
    pub fn address(&self, name: &str) -> Option<*const u8> {
        let (_, offset) = self.symbols.iter().find(|(symbol, _)| symbol == name)?;
        // SAFETY: offsets of symbols were checked to be inside the mapping.
        Some(unsafe { self.pages.base().add(*offset) }.as_ptr().cast_const())
    }

    /// Where the sections of an object are, if this is its code: `None` for those that are none. The object may have debug
    /// information that the one which was loaded did not have.
    pub(super) fn places(&self, object: &Relocatable) -> Option<Vec<Option<usize>>> {
        let layout = lay_out(object).ok().filter(|layout| layout.end == self.pages.len())?;
        let memory = self.contents();
        let place = |(number, section): (usize, &Section)| {
            let Some(start) = layout.sections[number].filter(|_| section.is_code()) else {
                return Some(None);
            };
            let mut code = memory[start..start + section.data.len()].to_vec();
            for relocation in object.relocations.iter().filter(|relocation| relocation.section == number) {
                let from = usize::try_from(relocation.offset).ok()?;
                let to = from.checked_add(arch::width(relocation.kind) as usize)?;
                code.get_mut(from..to)?.copy_from_slice(section.data.get(from..to)?);
            }
            (code == section.data).then(|| Some(memory.as_ptr() as usize + start))
        };
        object.sections.iter().enumerate().map(place).collect()
    }

    /// The bytes at an address of the code.
    pub(super) fn bytes(&self, address: usize, len: usize) -> &[u8] {
        address
            .checked_sub(self.start())
            .and_then(|at| self.contents().get(at..at.checked_add(len)?))
            .unwrap_or(&[])
    }

    /// Where the code begins.
    pub fn start(&self) -> usize {
        self.pages.base().as_ptr() as usize
    }

    /// The code and data as they were loaded.
    pub fn contents(&self) -> &[u8] {
        // SAFETY: the mapping has this size, can be read, and does not change.
        unsafe { std::slice::from_raw_parts(self.pages.base().as_ptr(), self.pages.len()) }
    }

    /// Bytes that the code takes.
    pub fn len(&self) -> usize {
        self.pages.len()
    }

    pub fn is_empty(&self) -> bool {
        self.pages.is_empty()
    }
}

/// Where the parts of the object are in the mapping.
struct Layout {
    /// Offset of each section; `None` for those that are not loaded.
    sections: Vec<Option<usize>>,
    /// Offset of the stub for each external symbol that is called.
    stubs: FxHashMap<usize, usize>,
    /// Offset of the address of each symbol that is reached through the table of addresses.
    slots: FxHashMap<usize, usize>,
    /// End of the executable part, a multiple of the page size.
    code_end: usize,
    end: usize,
}

fn no_memory(error: std::io::Error) -> JitError {
    JitError::Memory(error.kind())
}

fn unsupported(what: String) -> JitError {
    JitError::Object(what)
}

/// Loads object code. `resolve` is asked for every symbol that the code refers to and does not define.
pub fn load(object: &[u8], resolve: &Resolver) -> Result<LoadedCode, JitError> {
    let object = Relocatable::parse(object)?;
    if object.machine != arch::MACHINE {
        return Err(unsupported(format!("made for ELF machine {}", object.machine)));
    }
    let layout = lay_out(&object)?;
    let pages = Pages::new(layout.end).map_err(no_memory)?;
    // SAFETY: the mapping is writable, of this size, and nobody else knows it.
    let memory = unsafe { std::slice::from_raw_parts_mut(pages.base().as_ptr(), layout.end) };
    for (section, offset) in object.sections.iter().zip(&layout.sections) {
        if let Some(offset) = *offset {
            memory[offset..offset + section.data.len()].copy_from_slice(section.data);
        }
    }
    link(&object, &layout, memory, resolve)?;
    let mut symbols = Vec::new();
    for symbol in &object.symbols {
        if let (false, Some(offset)) = (symbol.name.is_empty(), symbol_offset(symbol, &layout)) {
            symbols.push((symbol.name.to_owned(), offset));
        }
    }
    pages.protect(0..layout.code_end, libc::PROT_READ | libc::PROT_EXEC).map_err(no_memory)?;
    pages.protect(layout.code_end..layout.end, libc::PROT_READ).map_err(no_memory)?;
    Ok(LoadedCode { pages, symbols })
}

fn lay_out(object: &Relocatable) -> Result<Layout, JitError> {
    let page = page_size();
    let mut sections = vec![None; object.sections.len()];
    let mut end = 0usize;
    let place = |section: &Section, end: &mut usize| -> Result<usize, JitError> {
        let align =
            usize::try_from(section.align).ok().filter(|align| align.is_power_of_two() && *align <= page);
        let align = align.ok_or_else(|| unsupported(format!("alignment of section {}", section.name)))?;
        let offset = end.next_multiple_of(align);
        *end = offset.checked_add(section.data.len()).ok_or_else(|| unsupported("size".into()))?;
        Ok(offset)
    };
    for (at, section) in object.sections.iter().enumerate() {
        if section.is_loaded() && section.is_code() {
            sections[at] = Some(place(section, &mut end)?);
        }
    }
    let (mut stubs, mut slots) = (FxHashMap::default(), FxHashMap::default());
    for relocation in &object.relocations {
        let is_external = object.symbols[relocation.symbol].definition == Definition::External;
        if is_external && arch::needs_stub(relocation.kind) {
            stubs.entry(relocation.symbol).or_insert(0);
            slots.entry(relocation.symbol).or_insert(0);
        } else if arch::needs_slot(relocation.kind) {
            slots.entry(relocation.symbol).or_insert(0);
        }
    }
    end = end.next_multiple_of(arch::STUB_BYTES);
    for stub in stubs.values_mut() {
        *stub = end;
        end += arch::STUB_BYTES;
    }
    let code_end = end.next_multiple_of(page);
    end = code_end;
    for slot in slots.values_mut() {
        *slot = end;
        end += size_of::<usize>();
    }
    for (at, section) in object.sections.iter().enumerate() {
        if section.is_loaded() && !section.is_code() {
            sections[at] = Some(place(section, &mut end)?);
        }
    }
    Ok(Layout { sections, stubs, slots, code_end, end: end.next_multiple_of(page).max(page) })
}

/// Offset of a symbol of a loaded section in the mapping.
fn symbol_offset(symbol: &Symbol, layout: &Layout) -> Option<usize> {
    let Definition::Inside { section, offset } = symbol.definition else { return None };
    // At most the section's size.
    Some((*layout.sections.get(section)?)? + offset as usize)
}

fn link(
    object: &Relocatable,
    layout: &Layout,
    memory: &mut [u8],
    resolve: &Resolver,
) -> Result<(), JitError> {
    let base = memory.as_ptr() as usize;
    let address_of = |symbol: &Symbol| -> Result<usize, JitError> {
        match symbol.definition {
            Definition::External => {
                resolve(symbol.name).ok_or_else(|| JitError::MissingSymbol(symbol.name.to_owned()))
            }
            Definition::Absolute(address) => Ok(address as usize),
            Definition::Inside { section, .. } => {
                let offset = symbol_offset(symbol, layout).ok_or_else(|| {
                    let name = object.sections.get(section).map_or("", |section| section.name);
                    unsupported(format!("symbol '{}' in section {name}", symbol.name))
                })?;
                Ok(base + offset)
            }
        }
    };
    for (symbol, &slot) in &layout.slots {
        let address = address_of(&object.symbols[*symbol])?;
        memory[slot..slot + size_of::<usize>()].copy_from_slice(&address.to_le_bytes());
    }
    for (symbol, &stub) in &layout.stubs {
        let code = arch::stub(base + stub, base + layout.slots[symbol])?;
        memory[stub..stub + arch::STUB_BYTES].copy_from_slice(&code);
    }
    for relocation in &object.relocations {
        let symbol = &object.symbols[relocation.symbol];
        let size = object.sections[relocation.section].data.len() as u64;
        let inside = relocation.offset < size && size - relocation.offset >= arch::width(relocation.kind);
        let place = layout.sections[relocation.section].zip(inside.then_some(relocation.offset as usize));
        let Some((start, offset)) = place else {
            return Err(unsupported("relocation outside its section".into()));
        };
        let at = start + offset;
        let target = if let (true, Some(stub)) =
            (arch::needs_stub(relocation.kind), layout.stubs.get(&relocation.symbol))
        {
            base + stub
        } else if arch::needs_slot(relocation.kind) {
            base + layout.slots[&relocation.symbol]
        } else {
            address_of(symbol)?
        };
        arch::relocate(&mut memory[at..], *relocation, target as i64, (base + at) as i64)
            .ok_or_else(|| unsupported(format!("relocation {} of '{}'", relocation.kind, symbol.name)))?;
    }
    Ok(())
}

/// Relocations of the x86-64 psABI, §4.4.
#[cfg(target_arch = "x86_64")]
mod arch {
    use super::{JitError, Relocation, unsupported};
    use object::elf::{
        EM_X86_64, R_X86_64_32 as R_32, R_X86_64_32S as R_32S, R_X86_64_64 as R_64,
        R_X86_64_GOTPCREL as R_GOTPCREL, R_X86_64_GOTPCRELX as R_GOTPCRELX, R_X86_64_PC32 as R_PC32,
        R_X86_64_PC64 as R_PC64, R_X86_64_PLT32 as R_PLT32, R_X86_64_REX_GOTPCRELX as R_REX_GOTPCRELX,
    };

    pub const MACHINE: u16 = EM_X86_64;
    /// `jmp *slot(%rip)`, padded.
    pub const STUB_BYTES: usize = 8;

    /// A call that may be redirected to a stub.
    pub fn needs_stub(kind: u32) -> bool {
        kind == R_PLT32
    }

    /// A reference to the place where the symbol's address is.
    pub fn needs_slot(kind: u32) -> bool {
        matches!(kind, R_GOTPCREL | R_GOTPCRELX | R_REX_GOTPCRELX)
    }

    /// Bytes that a relocation changes.
    pub fn width(kind: u32) -> u64 {
        if matches!(kind, R_64 | R_PC64) { 8 } else { 4 }
    }

    pub fn stub(at: usize, slot: usize) -> Result<[u8; STUB_BYTES], JitError> {
        const JUMP: [u8; 2] = [0xff, 0x25];
        const JUMP_BYTES: i64 = 6;
        let distance = i32::try_from(slot as i64 - (at as i64 + JUMP_BYTES));
        let distance = distance.map_err(|_| unsupported("more than 2 GiB".into()))?.to_le_bytes();
        let [a, b, c, d] = distance;
        Ok([JUMP[0], JUMP[1], a, b, c, d, 0xcc, 0xcc])
    }

    /// Changes `memory`, which begins at `place`. `None` if the kind is unknown or the value does not fit.
    pub fn relocate(memory: &mut [u8], relocation: Relocation, target: i64, place: i64) -> Option<()> {
        let absolute = target.wrapping_add(relocation.addend);
        let relative = absolute.wrapping_sub(place);
        match relocation.kind {
            R_64 => memory[..8].copy_from_slice(&absolute.to_le_bytes()),
            R_PC64 => memory[..8].copy_from_slice(&relative.to_le_bytes()),
            R_32 => memory[..4].copy_from_slice(&u32::try_from(absolute).ok()?.to_le_bytes()),
            R_32S => memory[..4].copy_from_slice(&i32::try_from(absolute).ok()?.to_le_bytes()),
            R_PC32 | R_PLT32 | R_GOTPCREL | R_GOTPCRELX | R_REX_GOTPCRELX => {
                memory[..4].copy_from_slice(&i32::try_from(relative).ok()?.to_le_bytes());
            }
            _ => return None,
        }
        Some(())
    }
}

#[cfg(not(target_arch = "x86_64"))]
compile_error!("engine/src/jit/load.rs: add the relocations of this architecture to `mod arch`");
