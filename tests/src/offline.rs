//! Files as Intel's offline compiler writes them: ELF files of sections, and archives of them.

/// A file with sections of these kinds and contents.
pub fn file(sections: &[(u32, &[u8])]) -> Vec<u8> {
    let (header, entry) = (64u64, 64u64);
    let names = b"\0.shstrtab\0";
    let mut all: Vec<(u32, u32, &[u8])> = vec![(0, 0, &[])];
    all.extend(sections.iter().map(|&(kind, data)| (0, kind, data)));
    all.push((1, 3, names));
    let mut out = [0x7f, b'E', b'L', b'F', 2, 1, 1, 0].to_vec();
    out.extend([0; 8]);
    // Type, machine, version, entry, program headers, section headers, flags.
    out.extend(0xff04u16.to_le_bytes());
    out.extend(0u16.to_le_bytes());
    out.extend(1u32.to_le_bytes());
    out.extend([0; 16]);
    out.extend(header.to_le_bytes());
    out.extend([0; 4]);
    for number in [64, 56, 0, 64, all.len() as u16, all.len() as u16 - 1] {
        out.extend(number.to_le_bytes());
    }
    let mut at = header + entry * all.len() as u64;
    for (name, kind, data) in &all {
        out.extend(name.to_le_bytes());
        out.extend(kind.to_le_bytes());
        out.extend([0; 16]);
        out.extend(at.to_le_bytes());
        out.extend((data.len() as u64).to_le_bytes());
        out.extend([0; 24]);
        at += data.len() as u64;
    }
    all.iter().for_each(|(_, _, data)| out.extend(*data));
    out
}

/// An archive of members with these names.
pub fn archive(members: &[(&str, &[u8])]) -> Vec<u8> {
    let mut out = b"!<arch>\n".to_vec();
    for (name, data) in members {
        let name = format!("{name}/");
        out.extend(format!("{name:<16}{:<12}{:<6}{:<6}{:<8}{:<10}`\n", 0, 0, 0, 644, data.len()).bytes());
        out.extend(*data);
        out.extend((data.len() % 2 == 1).then_some(b'\n'));
    }
    out
}
