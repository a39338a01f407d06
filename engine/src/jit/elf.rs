//! Reads a 64-bit little-endian ELF relocatable file (System V ABI, chapter 4). Every access is checked: the
//! bytes may come from a damaged file.

use super::JitError;

const MAGIC: [u8; 4] = [0x7f, b'E', b'L', b'F'];
const CLASS_64: u8 = 2;
const DATA_LITTLE_ENDIAN: u8 = 1;
const TYPE_RELOCATABLE: u16 = 1;
const FILE_HEADER: usize = 64;
const SECTION_HEADER: usize = 64;
const SYMBOL: usize = 24;
const RELOCATION: usize = 24;

pub const SHT_SYMTAB: u32 = 2;
pub const SHT_RELA: u32 = 4;
pub const SHT_NOBITS: u32 = 8;
pub const SHT_REL: u32 = 9;
pub const SHF_WRITE: u64 = 1;
pub const SHF_ALLOC: u64 = 2;
pub const SHF_EXECINSTR: u64 = 4;
pub const SHF_TLS: u64 = 0x400;
pub const SHN_UNDEF: u16 = 0;
pub const SHN_ABS: u16 = 0xfff1;
/// Section numbers from here on have special meanings.
pub const SHN_LORESERVE: u16 = 0xff00;

/// A section header.
#[derive(Clone, Debug)]
pub struct Section<'a> {
    pub name: &'a str,
    pub kind: u32,
    pub flags: u64,
    pub size: u64,
    pub align: u64,
    /// For relocations: the section that they change.
    pub info: u32,
    link: u32,
    /// Empty for `SHT_NOBITS`.
    pub data: &'a [u8],
}

/// A symbol table entry.
#[derive(Clone, Copy, Debug)]
pub struct Symbol<'a> {
    pub name: &'a str,
    pub section: u16,
    /// Offset in the section.
    pub value: u64,
}

/// A relocation with addend.
#[derive(Clone, Copy, Debug)]
pub struct Relocation {
    /// Offset in the section that it changes.
    pub offset: u64,
    pub kind: u32,
    pub symbol: u32,
    pub addend: i64,
}

/// A relocatable file.
pub struct Object<'a> {
    pub machine: u16,
    pub sections: Vec<Section<'a>>,
    pub symbols: Vec<Symbol<'a>>,
}

fn damaged(what: &str) -> JitError {
    JitError::Object(format!("damaged: {what}"))
}

fn bytes<'a>(file: &'a [u8], offset: u64, size: u64, what: &str) -> Result<&'a [u8], JitError> {
    let range = usize::try_from(offset).ok().zip(usize::try_from(size).ok());
    range.and_then(|(offset, size)| file.get(offset..offset.checked_add(size)?)).ok_or_else(|| damaged(what))
}

/// Reads a little-endian number at a place that the caller has checked to be inside.
macro_rules! number {
    ($ty:ty, $bytes:expr, $at:expr) => {{
        let mut raw = [0; size_of::<$ty>()];
        raw.copy_from_slice(&$bytes[$at..$at + size_of::<$ty>()]);
        <$ty>::from_le_bytes(raw)
    }};
}

fn string(table: &[u8], offset: u32) -> Result<&str, JitError> {
    let tail = table.get(offset as usize..).ok_or_else(|| damaged("string offset"))?;
    let end = tail.iter().position(|&byte| byte == 0).ok_or_else(|| damaged("string end"))?;
    std::str::from_utf8(&tail[..end]).map_err(|_| damaged("string"))
}

impl<'a> Object<'a> {
    pub fn parse(file: &'a [u8]) -> Result<Object<'a>, JitError> {
        let header = bytes(file, 0, FILE_HEADER as u64, "file header")?;
        if header[..4] != MAGIC || header[4] != CLASS_64 || header[5] != DATA_LITTLE_ENDIAN {
            return Err(JitError::Object("not a 64-bit little-endian ELF file".into()));
        }
        if number!(u16, header, 16) != TYPE_RELOCATABLE {
            return Err(JitError::Object("not a relocatable file".into()));
        }
        let (count, names) = (number!(u16, header, 60), number!(u16, header, 62));
        let size = u64::from(count) * SECTION_HEADER as u64;
        let headers = bytes(file, number!(u64, header, 40), size, "section headers")?;
        let mut sections = Vec::with_capacity(usize::from(count));
        let mut name_offsets = Vec::with_capacity(usize::from(count));
        for raw in headers.chunks_exact(SECTION_HEADER) {
            let (kind, size) = (number!(u32, raw, 4), number!(u64, raw, 32));
            let in_file = if kind == SHT_NOBITS { 0 } else { size };
            name_offsets.push(number!(u32, raw, 0));
            sections.push(Section {
                name: "",
                kind,
                flags: number!(u64, raw, 8),
                size,
                align: number!(u64, raw, 48).max(1),
                info: number!(u32, raw, 44),
                link: number!(u32, raw, 40),
                data: bytes(file, number!(u64, raw, 24), in_file, "section")?,
            });
        }
        let table =
            sections.get(usize::from(names)).map(|s| s.data).ok_or_else(|| damaged("section names"))?;
        for (section, offset) in sections.iter_mut().zip(name_offsets) {
            section.name = string(table, offset)?;
        }
        let symbols = read_symbols(&sections)?;
        Ok(Object { machine: number!(u16, header, 18), sections, symbols })
    }

    /// The relocations in a section of type `SHT_RELA`.
    pub fn relocations(&self, section: &Section<'a>) -> impl Iterator<Item = Relocation> + use<'a> {
        section.data.chunks_exact(RELOCATION).map(|raw| {
            let info = number!(u64, raw, 8);
            Relocation {
                offset: number!(u64, raw, 0),
                kind: info as u32,
                symbol: (info >> 32) as u32,
                addend: number!(i64, raw, 16),
            }
        })
    }
}

fn read_symbols<'a>(sections: &[Section<'a>]) -> Result<Vec<Symbol<'a>>, JitError> {
    let Some(table) = sections.iter().find(|section| section.kind == SHT_SYMTAB) else {
        return Ok(Vec::new());
    };
    let names = sections.get(table.link as usize).map(|s| s.data).ok_or_else(|| damaged("symbol names"))?;
    let read = |raw: &[u8]| {
        let name = string(names, number!(u32, raw, 0))?;
        Ok(Symbol { name, section: number!(u16, raw, 6), value: number!(u64, raw, 8) })
    };
    table.data.chunks_exact(SYMBOL).map(read).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_object_file_is_refused() {
        assert!(Object::parse(b"").is_err());
        assert!(Object::parse(&[0; 64]).is_err());
        assert!(Object::parse(b"\x7fELF\x02\x01").is_err());
    }
}
