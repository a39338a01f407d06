//! What the loader needs of a relocatable file (System V ABI, chapter 4): sections, symbols and relocations, read by the `object`
//! crate. Every access is checked, since the bytes may come from a damaged file, and what LLVM does not make of a kernel
//! is refused.

use super::JitError;
use object::LittleEndian;
use object::elf::{
    ET_REL, FileHeader64, Rela64, SHF_ALLOC, SHF_COMPRESSED, SHF_EXECINSTR, SHF_TLS, SHF_WRITE, SHN_ABS,
    SHN_UNDEF, SHT_PROGBITS, SHT_REL, SHT_RELA, SHT_SYMTAB, SHT_X86_64_UNWIND, STT_FUNC, STT_GNU_IFUNC,
    STT_TLS, SectionHeader64, Sym64,
};
use object::read::SymbolIndex;
use object::read::elf::{FileHeader, Rela, SectionHeader, SectionTable, Sym, SymbolTable};

/// LLVM's code is little-endian on every machine that the loader knows.
const ENDIAN: LittleEndian = LittleEndian;

/// A section.
#[derive(Clone, Copy, Debug)]
pub struct Section<'a> {
    pub name: &'a str,
    flags: u64,
    kind: u32,
    pub align: u64,
    /// The contents. Empty where there are none in the file.
    pub data: &'a [u8],
}

impl Section<'_> {
    /// Whether it is part of the running code. Tables that only debuggers and unwinders read are not.
    pub fn is_loaded(&self) -> bool {
        self.has(SHF_ALLOC) && !self.data.is_empty() && self.name != ".eh_frame"
    }

    /// Whether it is what debuggers read.
    pub fn is_debug_info(&self) -> bool {
        self.name.starts_with(".debug_") && !self.has(SHF_COMPRESSED)
    }

    pub fn is_code(&self) -> bool {
        self.has(SHF_EXECINSTR)
    }

    /// Whether code may change it. Constants that hold addresses are not meant: they are written once, by the relocations.
    pub fn is_variable(&self) -> bool {
        self.has(SHF_TLS) || (self.has(SHF_WRITE) && !self.name.starts_with(".data.rel.ro"))
    }

    fn has(&self, flag: u32) -> bool {
        self.flags & u64::from(flag) != 0
    }
}

/// Where a symbol is defined.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Definition {
    /// In no section of this file.
    External,
    /// At an offset in the section of this number.
    Inside { section: usize, offset: u64 },
    /// At this address.
    Absolute(u64),
}

/// A symbol table entry.
#[derive(Clone, Copy, Debug)]
pub struct Symbol<'a> {
    /// Empty for sections.
    pub name: &'a str,
    pub definition: Definition,
    /// Bytes of what it stands for, if it is a function.
    pub code_bytes: Option<u64>,
}

/// A relocation with addend.
#[derive(Clone, Copy, Debug)]
pub struct Relocation {
    /// The number of the section that it changes.
    pub section: usize,
    /// Offset in it.
    pub offset: u64,
    pub kind: u32,
    /// The number of its symbol, which there is.
    pub symbol: usize,
    pub addend: i64,
}

/// A relocatable file.
pub struct Relocatable<'a> {
    pub machine: u16,
    pub sections: Vec<Section<'a>>,
    pub symbols: Vec<Symbol<'a>>,
    /// Those of loaded sections.
    pub relocations: Vec<Relocation>,
    /// Those of what debuggers read.
    pub debug_relocations: Vec<Relocation>,
}

impl From<object::read::Error> for JitError {
    fn from(error: object::read::Error) -> JitError {
        JitError::Object(format!("damaged: {error}"))
    }
}

/// An error for what is well-formed and not expected.
fn unexpected<T>(what: impl Into<String>) -> Result<T, JitError> {
    Err(JitError::Object(what.into()))
}

type Sections<'a> = SectionTable<'a, FileHeader64<LittleEndian>>;
type Symbols<'a> = SymbolTable<'a, FileHeader64<LittleEndian>>;

impl<'a> Relocatable<'a> {
    pub fn parse(file: &'a [u8]) -> Result<Relocatable<'a>, JitError> {
        let header = FileHeader64::<LittleEndian>::parse(file)?;
        // The type's byte order is the only one that passes.
        header.endian()?;
        if header.e_type(ENDIAN) != ET_REL {
            return unexpected("not a relocatable file");
        }
        let table = header.sections(ENDIAN, file)?;
        let sections: Vec<_> =
            table.iter().map(|raw| section(raw, &table, file)).collect::<Result<_, JitError>>()?;
        if table.iter().filter(|raw| raw.sh_type(ENDIAN) == SHT_SYMTAB).count() > 1 {
            return unexpected("more than one symbol table");
        }
        let symbol_table = table.symbols(ENDIAN, file, SHT_SYMTAB)?;
        let symbols: Vec<_> = symbol_table
            .enumerate()
            .map(|(index, raw)| symbol(index, raw, &symbol_table, &table))
            .collect::<Result<_, JitError>>()?;
        let (mut relocations, mut debug_relocations) = (Vec::new(), Vec::new());
        for raw in table.iter() {
            let changed = raw.sh_info(ENDIAN) as usize;
            let kind = raw.sh_type(ENDIAN);
            let list = match sections.get(changed) {
                Some(section) if section.is_loaded() => &mut relocations,
                Some(section) if section.is_debug_info() => &mut debug_relocations,
                _ => continue,
            };
            if !matches!(kind, SHT_RELA | SHT_REL) {
                continue;
            }
            let Some((entries, linked)) = raw.rela(ENDIAN, file)? else {
                return unexpected("relocations without addends");
            };
            if linked != symbol_table.section() {
                return unexpected("relocations of another table's symbols");
            }
            for entry in entries {
                list.push(relocation(entry, changed, symbols.len())?);
            }
        }
        let machine = header.e_machine(ENDIAN);
        Ok(Relocatable { machine, sections, symbols, relocations, debug_relocations })
    }
}

fn text(bytes: &[u8]) -> Result<&str, JitError> {
    std::str::from_utf8(bytes).map_err(|_| JitError::Object("damaged: a name is not UTF-8".into()))
}

fn section<'a>(
    raw: &'a SectionHeader64<LittleEndian>,
    table: &Sections<'a>,
    file: &'a [u8],
) -> Result<Section<'a>, JitError> {
    let section = Section {
        name: text(table.section_name(ENDIAN, raw)?)?,
        flags: raw.sh_flags(ENDIAN),
        kind: raw.sh_type(ENDIAN),
        align: raw.sh_addralign(ENDIAN).max(1),
        data: raw.data(ENDIAN, file)?,
    };
    // Sections without contents are variables that begin as zero.
    let is_missing = section.has(SHF_ALLOC) && section.data.is_empty() && raw.sh_size(ENDIAN) != 0;
    if is_missing || (section.is_loaded() && section.is_variable()) {
        return unexpected(format!("writable data in section {}", section.name));
    }
    let is_plain = matches!(section.kind, SHT_PROGBITS | SHT_X86_64_UNWIND) && !section.has(SHF_COMPRESSED);
    if section.is_loaded() && !is_plain {
        return unexpected(format!("section {} of type {}", section.name, section.kind));
    }
    Ok(section)
}

fn symbol<'a>(
    index: SymbolIndex,
    raw: &'a Sym64<LittleEndian>,
    symbols: &Symbols<'a>,
    sections: &Sections<'a>,
) -> Result<Symbol<'a>, JitError> {
    let name = text(symbols.symbol_name(ENDIAN, raw)?)?;
    if matches!(raw.st_type(), STT_TLS | STT_GNU_IFUNC) {
        return unexpected(format!("symbol '{name}' of type {}", raw.st_type()));
    }
    let value = raw.st_value(ENDIAN);
    let definition = match (symbols.symbol_section(ENDIAN, raw, index)?, raw.st_shndx(ENDIAN)) {
        (Some(section), _) => {
            // One past the end is the place behind the last byte.
            if value > sections.section(section)?.sh_size(ENDIAN) {
                return unexpected(format!("symbol '{name}' outside its section"));
            }
            Definition::Inside { section: section.0, offset: value }
        }
        (None, SHN_UNDEF) => Definition::External,
        (None, SHN_ABS) => Definition::Absolute(value),
        (None, other) => return unexpected(format!("symbol '{name}' in section {other}")),
    };
    let code_bytes = (raw.st_type() == STT_FUNC).then(|| raw.st_size(ENDIAN));
    Ok(Symbol { name, definition, code_bytes })
}

fn relocation(raw: &Rela64<LittleEndian>, section: usize, symbols: usize) -> Result<Relocation, JitError> {
    let relocation = Relocation {
        section,
        offset: raw.r_offset(ENDIAN),
        kind: raw.r_type(ENDIAN, false),
        symbol: raw.r_sym(ENDIAN, false) as usize,
        addend: raw.r_addend(ENDIAN),
    };
    // The first entry of a table stands for no symbol.
    if relocation.symbol == 0 || relocation.symbol >= symbols {
        return unexpected("relocation of an unknown symbol");
    }
    Ok(relocation)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_object_file_is_refused() {
        assert!(Relocatable::parse(b"").is_err());
        assert!(Relocatable::parse(&[0; 64]).is_err());
        assert!(Relocatable::parse(b"\x7fELF\x02\x01").is_err());
    }
}
