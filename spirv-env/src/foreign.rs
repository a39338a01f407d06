//! Native binaries of Intel's offline compiler: the SPIR-V that lies in them beside machine code.
//!
//! A program that is compiled ahead of time for Intel's GPUs (`-fsycl-targets=spir64_gen`) brings an archive with a member
//! for each of them and, as `generic_ir`, the SPIR-V for those that are not among them, in an ELF file. Machine code of a single
//! GPU is such a file, too, and can have SPIR-V in it. SYCL's runtime prefers these images to those of SPIR-V and asks for no
//! other when one is refused.

use crate::container::ContainerError;
use object::LittleEndian;
use object::elf::FileHeader64;
use object::read::archive::ArchiveFile;
use object::read::elf::{FileHeader, SectionHeader};

/// Kinds of sections.
const SPIRV: u32 = 0xff00_0009;
const OPTIONS: u32 = 0xff00_0006;

/// The section of options in machine code's files.
const NAMED_OPTIONS: &[u8] = b".misc.buildOptions";

/// The member for GPUs that no other is for.
const GENERIC: &[u8] = b"generic_ir";

/// Members that only move the next one to a multiple of bytes.
const PADDING: &[u8] = b"pad_";

/// SPIR-V, and the options that it was compiled with.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Found<'a> {
    pub spirv: &'a [u8],
    pub options: &'a str,
}

/// The SPIR-V in a binary of the offline compiler.
pub fn find(binary: &[u8]) -> Result<Found<'_>, ContainerError> {
    if binary.starts_with(&object::archive::MAGIC) {
        in_archive(binary)
    } else if binary.starts_with(&object::elf::ELFMAG) {
        in_file(binary).ok_or(ContainerError::MachineCode)
    } else {
        Err(ContainerError::Foreign)
    }
}

fn in_archive(binary: &[u8]) -> Result<Found<'_>, ContainerError> {
    let archive = ArchiveFile::parse(binary).map_err(|_| ContainerError::Archive)?;
    let (mut first, mut names) = (None, Vec::new());
    for member in archive.members() {
        let member = member.map_err(|_| ContainerError::Archive)?;
        let name = member.name();
        let found = member.data(binary).ok().and_then(in_file);
        if name == GENERIC && found.is_some() {
            return found.ok_or(ContainerError::Archive);
        }
        first = first.or(found);
        // As many as a person reads.
        if names.len() < 16 && !name.starts_with(PADDING) {
            names.push(String::from_utf8_lossy(name).into_owned());
        }
    }
    first.ok_or_else(|| ContainerError::MachineCodes(names.join(", ")))
}

/// What an ELF file has of it.
fn in_file(file: &[u8]) -> Option<Found<'_>> {
    let header = FileHeader64::<LittleEndian>::parse(file).ok()?;
    let endian = header.endian().ok()?;
    let sections = header.sections(endian, file).ok()?;
    let (mut spirv, mut options) = (None, "");
    for section in sections.iter() {
        let is_named = || sections.section_name(endian, section).is_ok_and(|name| name == NAMED_OPTIONS);
        match section.sh_type(endian) {
            SPIRV => spirv = spirv.or(section.data(endian, file).ok().filter(|data| !data.is_empty())),
            kind if kind == OPTIONS || is_named() => {
                let text = section.data(endian, file).ok().and_then(|data| str::from_utf8(data).ok());
                options = text.map_or(options, |text| text.trim_end_matches('\0'));
            }
            _ => {}
        }
    }
    Some(Found { spirv: spirv?, options })
}

#[cfg(test)]
mod tests {
    use super::*;
    use ze_tests::offline::{archive, file};

    const CODE: u32 = 1;

    #[test]
    fn spirv_is_found_beside_machine_code() {
        let generic = file(&[(SPIRV, b"spirv"), (OPTIONS, b"-cl-mad-enable\0")]);
        let found = Found { spirv: b"spirv", options: "-cl-mad-enable" };
        assert_eq!(find(&generic), Ok(found));
        let machine = file(&[(CODE, b"code")]);
        let other = file(&[(CODE, b"code"), (SPIRV, b"other")]);
        let all =
            archive(&[("pad_0", b"1"), ("64.dg2", &machine), ("64.mtl", &other), ("generic_ir", &generic)]);
        assert_eq!(find(&all), Ok(found));
        let one = archive(&[("64.dg2", &machine), ("64.mtl", &other)]);
        assert_eq!(find(&one), Ok(Found { spirv: b"other", options: "" }));
    }

    #[test]
    fn machine_code_alone_is_refused_by_name() {
        let machine = file(&[(CODE, b"code"), (SPIRV, b"")]);
        assert_eq!(find(&machine), Err(ContainerError::MachineCode));
        let both = archive(&[("pad_0", b"1"), ("64.dg2", &machine), ("64.mtl", b"no file")]);
        assert_eq!(find(&both), Err(ContainerError::MachineCodes("64.dg2, 64.mtl".into())));
        assert_eq!(find(b"!<thin>"), Err(ContainerError::Foreign));
    }

    #[test]
    fn damage_is_found() {
        let whole = archive(&[("generic_ir", &file(&[(SPIRV, b"spirv")]))]);
        for len in 0..whole.len() {
            assert!(find(&whole[..len]).is_err(), "{len} bytes");
        }
        for at in 0..whole.len() {
            let mut damaged = whole.clone();
            damaged[at] ^= 0xff;
            // No panic; what is found lies in the file.
            if let Ok(found) = find(&damaged) {
                assert!(damaged.as_ptr_range().contains(&found.spirv.as_ptr()), "byte {at}");
            }
        }
    }
}
