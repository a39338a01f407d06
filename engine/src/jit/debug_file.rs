//! An ELF file that describes code in memory to debuggers and profilers (DWARF 4).
//!
//! Code is compiled without debug information. Where someone asks for it, the same code is compiled once more with it, and
//! what LLVM says of that object's sections is moved to where the code is: what a linker does with debug information, for
//! as many objects as there are. So the file has addresses of this process (`add-symbol-file` in gdb, or a profile's samples),
//! and is right as long as the code is there.

use super::JitError;
use super::elf::{Definition, Relocatable, Relocation, Symbol};
use super::load::{LoadedCode, MACHINE};
use crate::abi::ENTRY_SYMBOL;
use object::elf::{
    ELFCLASS64, ELFDATA2LSB, ELFMAG, ELFOSABI_NONE, ET_EXEC, EV_CURRENT, FileHeader64, Ident,
    R_X86_64_32 as R_32, R_X86_64_64 as R_64, SHF_ALLOC, SHF_EXECINSTR, SHN_LORESERVE, SHT_NULL,
    SHT_PROGBITS, SHT_STRTAB, SHT_SYMTAB, STB_LOCAL, STT_FUNC, SectionHeader64, Sym64,
};
use object::pod::bytes_of;
use object::{LittleEndian as Little, U16, U32, U64};

/// Code in memory, and an object with debug information that is the same code.
pub struct Piece<'a> {
    /// The kernel's name and which code of it this is.
    pub name: String,
    pub kernel: &'a str,
    pub object: &'a [u8],
    pub code: &'a LoadedCode,
}

/// Whether an object is a piece of code in memory, but for debug information.
pub fn is_code_of(object: &[u8], code: &LoadedCode) -> bool {
    Relocatable::parse(object).is_ok_and(|object| code.places(&object).is_some())
}

/// The file for pieces of code.
pub fn write(pieces: &[Piece<'_>]) -> Result<Vec<u8>, JitError> {
    let mut file = File::default();
    for piece in pieces {
        file.add(piece)?;
    }
    // Beside those of the parts there are one for none, symbols and two of names.
    if file.parts.len() + 4 >= usize::from(SHN_LORESERVE) {
        return Err(JitError::Object(format!("{} pieces of code, more than a file has", pieces.len())));
    }
    Ok(file.finish())
}

/// A section of the file.
struct Part {
    name: String,
    /// Of code; debug information has none.
    address: Option<usize>,
    data: Vec<u8>,
}

struct Function {
    name: String,
    /// The number of its section among the parts.
    part: usize,
    address: usize,
    bytes: u64,
}

#[derive(Default)]
struct File {
    parts: Vec<Part>,
    functions: Vec<Function>,
}

impl File {
    fn add(&mut self, piece: &Piece<'_>) -> Result<(), JitError> {
        let object = Relocatable::parse(piece.object)?;
        let places = piece.code.places(&object);
        let places = places.ok_or_else(|| JitError::Object(format!("{} is other code", piece.name)))?;
        // Where each section went: its part, and the address or offset of its start.
        let mut went = vec![None; object.sections.len()];
        for (number, section) in object.sections.iter().enumerate() {
            if let Some(address) = places[number] {
                let data = piece.code.bytes(address, section.data.len()).to_vec();
                let name = format!("{}.{}", section.name, piece.name);
                self.parts.push(Part { name, address: Some(address), data });
                went[number] = Some((self.parts.len() - 1, address as u64));
            } else if section.is_debug_info() {
                let part = self.debug_part(section.name);
                let data = &mut self.parts[part].data;
                went[number] = Some((part, data.len() as u64));
                data.extend_from_slice(section.data);
            }
        }
        for relocation in &object.debug_relocations {
            self.relocate(&object, &went, relocation)?;
        }
        for symbol in &object.symbols {
            if let (Some(bytes), Definition::Inside { section, offset }) =
                (symbol.code_bytes, symbol.definition)
                && let Some((part, address)) = went[section]
            {
                let name = match symbol.name {
                    ENTRY_SYMBOL => piece.kernel.to_owned(),
                    name => format!("{}.{name}", piece.kernel),
                };
                self.functions.push(Function { name, part, address: (address + offset) as usize, bytes });
            }
        }
        Ok(())
    }

    fn debug_part(&mut self, name: &str) -> usize {
        let known = self.parts.iter().position(|part| part.address.is_none() && part.name == name);
        known.unwrap_or_else(|| {
            self.parts.push(Part { name: name.to_owned(), address: None, data: Vec::new() });
            self.parts.len() - 1
        })
    }

    /// Debug information has addresses of code and offsets into other debug information.
    fn relocate(
        &mut self,
        object: &Relocatable<'_>,
        went: &[Option<(usize, u64)>],
        relocation: &Relocation,
    ) -> Result<(), JitError> {
        let Symbol { name, definition, .. } = object.symbols[relocation.symbol];
        let unexpected =
            || JitError::Object(format!("debug information: relocation {} of '{name}'", relocation.kind));
        let Definition::Inside { section, offset } = definition else { return Err(unexpected()) };
        let (_, start) = went[section].ok_or_else(unexpected)?;
        let value = start.wrapping_add(offset).wrapping_add_signed(relocation.addend);
        let (part, base) = went[relocation.section].ok_or_else(unexpected)?;
        let at = usize::try_from(base + relocation.offset).map_err(|_| unexpected())?;
        let word = value.to_le_bytes();
        let width = match relocation.kind {
            R_64 => 8,
            R_32 if value <= u64::from(u32::MAX) => 4,
            _ => return Err(unexpected()),
        };
        let data = self.parts[part].data.get_mut(at..at + width).ok_or_else(unexpected)?;
        data.copy_from_slice(&word[..width]);
        Ok(())
    }

    fn finish(self) -> Vec<u8> {
        let mut strings = Strings::default();
        let mut symbols = vec![symbol(0, 0, 0, 0, 0)];
        for function in &self.functions {
            let name = strings.add(&function.name);
            let section = FIRST_PART + function.part as u16;
            symbols.push(symbol(
                name,
                (STB_LOCAL << 4) | STT_FUNC,
                section,
                function.address,
                function.bytes,
            ));
        }
        let symbol_bytes: Vec<u8> = symbols.iter().flat_map(bytes_of).copied().collect();
        let mut names = Strings::default();
        let mut writer = Writer::default();
        writer.section(0, SHT_NULL, 0, 0, &[]);
        for part in &self.parts {
            let flags = if part.address.is_some() { u64::from(SHF_ALLOC | SHF_EXECINSTR) } else { 0 };
            let name = names.add(&part.name);
            writer.section(name, SHT_PROGBITS, flags, part.address.unwrap_or(0), &part.data);
        }
        let strings_at = writer.headers.len() as u32 + 1;
        writer.section(names.add(".symtab"), SHT_SYMTAB, 0, 0, &symbol_bytes);
        if let Some(table) = writer.headers.last_mut() {
            // Its strings' section, and how many symbols are local: all.
            table.sh_link = U32::new(Little, strings_at);
            table.sh_info = U32::new(Little, symbols.len() as u32);
            table.sh_entsize = U64::new(Little, size_of::<Sym64<Little>>() as u64);
        }
        writer.section(names.add(".strtab"), SHT_STRTAB, 0, 0, &strings.0);
        let name = names.add(".shstrtab");
        writer.section(name, SHT_STRTAB, 0, 0, &names.0);
        writer.finish()
    }
}

/// The number of the first part's section; the one before stands for none.
const FIRST_PART: u16 = 1;

/// Names, each ended by a zero. The first is empty.
struct Strings(Vec<u8>);

impl Default for Strings {
    fn default() -> Self {
        Strings(vec![0])
    }
}

impl Strings {
    fn add(&mut self, name: &str) -> u32 {
        let at = self.0.len() as u32;
        self.0.extend(name.bytes().filter(|&byte| byte != 0));
        self.0.push(0);
        at
    }
}

fn symbol(name: u32, info: u8, section: u16, address: usize, bytes: u64) -> Sym64<Little> {
    Sym64 {
        st_name: U32::new(Little, name),
        st_info: info,
        st_other: 0,
        st_shndx: U16::new(Little, section),
        st_value: U64::new(Little, address as u64),
        st_size: U64::new(Little, bytes),
    }
}

/// Sections, one behind the other, behind the file's header.
#[derive(Default)]
struct Writer {
    data: Vec<u8>,
    headers: Vec<SectionHeader64<Little>>,
}

impl Writer {
    const ALIGN: usize = 16;
    const HEADER: usize = size_of::<FileHeader64<Little>>();

    fn section(&mut self, name: u32, kind: u32, flags: u64, address: usize, data: &[u8]) {
        self.data.resize(self.data.len().next_multiple_of(Self::ALIGN), 0);
        let align = if kind == SHT_SYMTAB { 8 } else { 1 };
        self.headers.push(SectionHeader64 {
            sh_name: U32::new(Little, name),
            sh_type: U32::new(Little, kind),
            sh_flags: U64::new(Little, flags),
            sh_addr: U64::new(Little, address as u64),
            sh_offset: U64::new(Little, (Self::HEADER + self.data.len()) as u64),
            sh_size: U64::new(Little, data.len() as u64),
            sh_link: U32::new(Little, 0),
            sh_info: U32::new(Little, 0),
            sh_addralign: U64::new(Little, align),
            sh_entsize: U64::new(Little, 0),
        });
        self.data.extend_from_slice(data);
    }

    /// The names' section is the last.
    fn finish(mut self) -> Vec<u8> {
        self.data.resize(self.data.len().next_multiple_of(Self::ALIGN), 0);
        let count = self.headers.len() as u16;
        let header = FileHeader64 {
            e_ident: Ident {
                magic: ELFMAG,
                class: ELFCLASS64,
                data: ELFDATA2LSB,
                version: EV_CURRENT,
                os_abi: ELFOSABI_NONE,
                abi_version: 0,
                padding: [0; 7],
            },
            e_type: U16::new(Little, ET_EXEC),
            e_machine: U16::new(Little, MACHINE),
            e_version: U32::new(Little, EV_CURRENT.into()),
            e_entry: U64::new(Little, 0),
            e_phoff: U64::new(Little, 0),
            e_shoff: U64::new(Little, (Self::HEADER + self.data.len()) as u64),
            e_flags: U32::new(Little, 0),
            e_ehsize: U16::new(Little, Self::HEADER as u16),
            e_phentsize: U16::new(Little, 0),
            e_phnum: U16::new(Little, 0),
            e_shentsize: U16::new(Little, size_of::<SectionHeader64<Little>>() as u16),
            e_shnum: U16::new(Little, count),
            e_shstrndx: U16::new(Little, count - 1),
        };
        let mut file = bytes_of(&header).to_vec();
        file.append(&mut self.data);
        self.headers.iter().for_each(|header| file.extend_from_slice(bytes_of(header)));
        file
    }
}
