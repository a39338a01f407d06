//! `ZE_CPU_DUMP`: what the engine reads and makes, written to files for people.

use super::folder::{Access, Folder};
use super::load::LoadedCode;
use crate::fork::Mutex;
use std::fmt::Write;
use std::path::PathBuf;

/// The lines of [`DumpConfig::perf`] so far. A forked child has its parent's code.
static MAP: Mutex<String> = Mutex::new(String::new());

/// What is written, and where to.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct DumpConfig {
    pub spirv: bool,
    pub ir: bool,
    pub asm: bool,
    pub code: bool,
    pub perf: bool,
    pub dir: PathBuf,
}

impl DumpConfig {
    /// Reads `KIND[,KIND...]:DIR` with the kinds `spirv`, `ir`, `asm`, `code` and `perf`. The error says what is wrong.
    pub fn parse(text: &str) -> Result<DumpConfig, String> {
        let (kinds, dir) = text
            .split_once(':')
            .ok_or_else(|| format!("'{text}' is not of the form spirv,ir,asm,code,perf:DIR"))?;
        if dir.is_empty() {
            return Err(format!("'{text}' names no folder"));
        }
        let mut config = DumpConfig { dir: PathBuf::from(dir), ..DumpConfig::default() };
        for kind in kinds.split(',') {
            match kind {
                "spirv" => config.spirv = true,
                "ir" => config.ir = true,
                "asm" => config.asm = true,
                "code" => config.code = true,
                "perf" => config.perf = true,
                _ => return Err(format!("'{kind}' is none of spirv, ir, asm, code, perf")),
            }
        }
        Ok(config)
    }

    /// Writes a module's SPIR-V as `NAME.spv`.
    pub fn spirv(&self, name: &str, bytes: &[u8]) {
        if self.spirv {
            self.write(name, "spv", bytes);
        }
    }

    /// Writes LLVM IR as `NAME.STAGE.ll`. The text is made only if it is wanted.
    pub fn ir(&self, name: &str, stage: &str, text: impl FnOnce() -> String) {
        if self.ir {
            self.write(&format!("{name}.{stage}"), "ll", text().as_bytes());
        }
    }

    /// Writes assembly as `NAME.s`. The text is made only if it is wanted.
    pub fn asm<E: std::fmt::Display>(&self, name: &str, text: impl FnOnce() -> Result<String, E>) {
        if self.asm {
            match text() {
                Ok(text) => self.write(name, "s", text.as_bytes()),
                Err(error) => tracing::warn!("no assembly of {name}: {error}"),
            }
        }
    }

    /// Writes machine code as it was loaded, data behind it included, as `NAME.bin`: what the addresses of a profile point into
    /// (`objdump -D -b binary -m i386:x86-64`).
    pub fn code(&self, name: &str, code: &LoadedCode) {
        if self.code {
            self.write(name, "bin", code.contents());
        }
    }

    /// Adds code to `perf-PID.map`, where Linux's `perf` finds what code that was made at run time is called. It looks in `/tmp`.
    pub fn perf(&self, name: &str, code: &LoadedCode) {
        if self.perf {
            let mut map = MAP.lock();
            let [start, length] = [code.start(), code.len()];
            // Writing to a string does not fail.
            _ = writeln!(map, "{start:x} {length:x} {name}");
            let contents = map.clone();
            drop(map);
            self.write(&format!("perf-{}", std::process::id()), "map", contents.as_bytes());
        }
    }

    /// Whatever is in the way stays: a link, a pipe, another user's file.
    fn write(&self, name: &str, extension: &str, bytes: &[u8]) {
        let name = format!("{}.{extension}", file_name(name));
        let folder = Folder::open(&self.dir, Access::Any, true);
        if let Err(error) = folder.and_then(|folder| folder.overwrite(&name, bytes)) {
            tracing::warn!("{}: {error}", self.dir.join(name).display());
        }
    }
}

/// Longest part of a kernel's name that goes into a file name; C++ names are longer than file names may be.
const MAX_NAME: usize = 160;

/// A kernel's name as part of a file name.
fn file_name(name: &str) -> String {
    let safe = |c: char| if c.is_ascii_alphanumeric() || "._-".contains(c) { c } else { '_' };
    let skip = name.chars().count().saturating_sub(MAX_NAME);
    // The variant is at the end and tells more than the start of a long name.
    name.chars().map(safe).skip(skip).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_and_folder_are_read() {
        let config = DumpConfig::parse("ir,asm:/tmp/d").expect("valid");
        assert_eq!(config, DumpConfig { ir: true, asm: true, dir: "/tmp/d".into(), ..DumpConfig::default() });
    }

    #[test]
    fn what_is_no_dump_request_is_refused() {
        for text in ["", "ir", "ir:", "llvm:/tmp/d", ":/tmp/d"] {
            assert!(DumpConfig::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_dump_overwrites_its_own_files_and_follows_no_link() {
        let dir = std::env::temp_dir().join(format!("ze-cpu-dump-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&dir);
        let config = DumpConfig { spirv: true, dir: dir.join("new/folder"), ..DumpConfig::default() };
        config.spirv("module", b"long contents");
        config.spirv("module", b"short");
        let path = config.dir.join("module.spv");
        assert_eq!(std::fs::read(&path).expect("written"), b"short");
        std::fs::rename(&path, dir.join("precious")).expect("own");
        std::os::unix::fs::symlink(dir.join("precious"), &path).expect("a new link");
        config.spirv("module", b"dump");
        assert_eq!(std::fs::read(dir.join("precious")).expect("there"), b"short");
        let _ = std::fs::remove_dir_all(dir);
    }

    #[test]
    fn names_cannot_leave_the_folder() {
        assert_eq!(file_name("../a b"), ".._a_b");
        assert!(file_name(&"x".repeat(1000)).len() <= MAX_NAME);
    }
}
