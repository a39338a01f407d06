//! Source lines of the code that is made, as LLVM's metadata: where someone asks for debug information (`jit/debug_file.rs`).
//!
//! Functions that are described have a subprogram, and each instruction there the line of the SPIR-V instruction that it was made
//! for, or line 0 where it was made for none. The driver's own functions have neither: where LLVM inlines them, their code belongs to the
//! line of the call. Metadata changes no code, so code can be described that was made without it.

use super::{Builder, Function};
use llvm_sys::LLVMModuleFlagBehavior;
use llvm_sys::core::*;
use llvm_sys::debuginfo::*;
use llvm_sys::prelude::*;
use rustc_hash::FxHashMap;
use spirv_env::Line;
use std::cell::{Cell, RefCell};
use std::ffi::c_char;
use std::ptr::null_mut;

/// What a file is called where the module does not tell: LLVM wants a name.
const UNKNOWN_FILE: &str = "<SPIR-V>";

/// The version that every debugger and profiler reads.
const DWARF_VERSION: u32 = 4;

pub(super) struct Lines {
    raw: LLVMDIBuilderRef,
    /// What the program was made from: `Inst::line` is an index into it.
    lines: Vec<Line>,
    files: RefCell<FxHashMap<String, LLVMMetadataRef>>,
    /// What a place of a file in a function is in.
    scopes: RefCell<FxHashMap<(LLVMMetadataRef, LLVMMetadataRef), LLVMMetadataRef>>,
    /// The file of each subprogram that may have lines.
    homes: RefCell<FxHashMap<LLVMMetadataRef, LLVMMetadataRef>>,
    /// The line of the instruction that is being lowered.
    current: Cell<Option<u32>>,
}

impl Drop for Lines {
    fn drop(&mut self) {
        llvm!({
            LLVMDIBuilderFinalize(self.raw);
            LLVMDisposeDIBuilder(self.raw);
        });
    }
}

/// A text as the C API takes it: it has a length and no end.
fn text(text: &str) -> (*const c_char, usize) {
    (text.as_ptr().cast(), text.len())
}

impl Lines {
    fn file(&self, name: &str) -> LLVMMetadataRef {
        let mut files = self.files.borrow_mut();
        *files.entry(name.to_owned()).or_insert_with(|| {
            let (folder, file) = match name.rsplit_once('/') {
                Some(("", file)) => ("/", file),
                Some((folder, file)) => (folder, file),
                None => ("", name),
            };
            let ((file, file_len), (folder, folder_len)) = (text(file), text(folder));
            llvm!(LLVMDIBuilderCreateFile(self.raw, file, file_len, folder, folder_len))
        })
    }

    fn place(&self, line: Option<u32>) -> Option<&Line> {
        self.lines.get(line? as usize)
    }

    /// The file of a line, or the first that there is.
    fn file_of(&self, line: Option<&Line>) -> LLVMMetadataRef {
        let line = line.or(self.lines.first()).filter(|line| !line.file.is_empty());
        self.file(line.map_or(UNKNOWN_FILE, |line| &line.file))
    }

    fn subprogram(&self, name: &str, line: Option<&Line>, flags: LLVMDIFlags) -> LLVMMetadataRef {
        let file = self.file_of(line);
        let number = line.map_or(0, |line| line.line);
        let (name, name_len) = text(name);
        llvm!({
            let ty = LLVMDIBuilderCreateSubroutineType(self.raw, file, null_mut(), 0, LLVMDIFlagZero);
            LLVMDIBuilderCreateFunction(
                self.raw, file, name, name_len, name, 0, file, number, ty, 1, 1, number, flags, 1,
            )
        })
    }

    /// Where a line of a function is, or what belongs to none.
    fn location(&self, context: LLVMContextRef, subprogram: LLVMMetadataRef) -> LLVMMetadataRef {
        let home = self.homes.borrow().get(&subprogram).copied();
        let (scope, number, column) = match (home, self.place(self.current.get())) {
            (Some(home), Some(line)) => {
                let file = self.file(&line.file);
                let in_file = || llvm!(LLVMDIBuilderCreateLexicalBlockFile(self.raw, subprogram, file, 0));
                let scope = match home == file {
                    true => subprogram,
                    false => *self.scopes.borrow_mut().entry((subprogram, file)).or_insert_with(in_file),
                };
                (scope, line.line, line.column)
            }
            _ => (subprogram, 0, 0),
        };
        llvm!(LLVMDIBuilderCreateDebugLocation(context, number, column, scope, null_mut()))
    }
}

impl Builder {
    /// From now on, says which lines code is made from. `lines` are those that [`at_line`](Self::at_line) counts.
    pub fn record_lines(&mut self, producer: &str, lines: &[Line]) {
        let recorder = Lines {
            raw: llvm!(LLVMCreateDIBuilder(self.module)),
            lines: lines.to_vec(),
            files: RefCell::default(),
            scopes: RefCell::default(),
            homes: RefCell::default(),
            current: Cell::new(None),
        };
        let (producer, producer_len) = text(producer);
        let none = c"".as_ptr();
        llvm!({
            let flag = |name: &str, value: u32| {
                let (name, name_len) = text(name);
                let value = LLVMValueAsMetadata(LLVMConstInt(self.i[3], u64::from(value), 0));
                let behaviour = LLVMModuleFlagBehavior::LLVMModuleFlagBehaviorWarning;
                LLVMAddModuleFlag(self.module, behaviour, name, name_len, value);
            };
            flag("Debug Info Version", LLVMDebugMetadataVersion());
            flag("Dwarf Version", DWARF_VERSION);
            LLVMDIBuilderCreateCompileUnit(
                recorder.raw,
                LLVMDWARFSourceLanguage::LLVMDWARFSourceLanguageOpenCL,
                recorder.file_of(None),
                producer,
                producer_len,
                1,
                none,
                0,
                0,
                none,
                0,
                LLVMDWARFEmissionKind::LLVMDWARFEmissionKindFull,
                0,
                1,
                0,
                none,
                0,
                none,
                0,
            );
        });
        self.lines = Some(recorder);
    }

    /// What comes next is made for an instruction of this line, or for none.
    pub fn at_line(&self, line: Option<u32>) {
        if let Some(lines) = &self.lines {
            lines.current.set(line);
            self.locate();
        }
    }

    /// A function's name for people, and the line that it begins with.
    pub fn describe(&self, function: Function, name: &str, line: Option<u32>) {
        if let Some(lines) = &self.lines {
            let line = lines.place(line);
            let subprogram = lines.subprogram(name, line, LLVMDIFlagZero);
            lines.homes.borrow_mut().insert(subprogram, lines.file_of(line));
            lines.current.set(None);
            llvm!(LLVMSetSubprogram(function.value, subprogram));
        }
    }

    /// A function that others with lines are inlined into, and that has none itself.
    pub fn describe_frame(&self, function: Function, name: &str) {
        if let Some(lines) = &self.lines {
            lines.current.set(None);
            llvm!(LLVMSetSubprogram(function.value, lines.subprogram(name, None, LLVMDIFlagArtificial)));
        }
    }

    /// Tells LLVM where the code comes from that is made next.
    pub(super) fn locate(&self) {
        let Some(lines) = &self.lines else { return };
        let block = llvm!(LLVMGetInsertBlock(self.raw));
        if block.is_null() {
            return;
        }
        let subprogram = llvm!(LLVMGetSubprogram(LLVMGetBasicBlockParent(block)));
        let location = match subprogram.is_null() {
            true => null_mut(),
            false => lines.location(self.context, subprogram),
        };
        llvm!(LLVMSetCurrentDebugLocation2(self.raw, location));
    }
}
