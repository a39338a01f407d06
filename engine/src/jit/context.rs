//! Owning wrappers of an LLVM context and of a module in it.
//!
//! The C API is used as it is: whether a value is a scalar or a vector is known only at run time here, which
//! a statically typed wrapper cannot express.

use super::JitError;
use super::target::Target;
use llvm_sys::analysis::{LLVMVerifierFailureAction, LLVMVerifyModule};
use llvm_sys::core::*;
use llvm_sys::ir_reader::LLVMParseIRInContext;
use llvm_sys::linker::LLVMLinkModules2;
use llvm_sys::prelude::*;
use llvm_sys::{LLVMDiagnosticSeverity, core};
use std::cell::RefCell;
use std::ffi::{CStr, CString, c_char, c_void};
use std::mem::ManuallyDrop;
use std::rc::Rc;

/// An LLVM context: everything that one compilation makes. Bound to the thread that made it.
#[derive(Clone)]
pub struct Context(Rc<ContextOwner>);

struct ContextOwner {
    raw: LLVMContextRef,
    /// Boxed: LLVM keeps its address.
    reports: Box<Reports>,
}

/// What LLVM has reported.
#[derive(Default)]
struct Reports {
    errors: RefCell<Vec<String>>,
    /// The functions that code was made for, and the bytes of their stack frames.
    frames: RefCell<Vec<(String, u64)>>,
}

impl Default for Context {
    fn default() -> Context {
        Context::new()
    }
}

impl Context {
    pub fn new() -> Context {
        super::isolate::install_fatal_error_handler();
        let reports = Box::new(Reports::default());
        // SAFETY: a new context is valid until it is disposed of in `drop`; `reports` outlives it.
        let raw = unsafe {
            let raw = LLVMContextCreate();
            LLVMContextSetDiagnosticHandler(
                raw,
                Some(collect_diagnostic),
                (&raw const *reports).cast_mut().cast::<c_void>(),
            );
            raw
        };
        Context(Rc::new(ContextOwner { raw, reports }))
    }

    /// The context for the C API. Valid while a `Context` or an `IrModule` of it lives.
    pub fn raw(&self) -> LLVMContextRef {
        self.0.raw
    }

    /// Fails with the errors that LLVM reported since the last call, if there were any.
    pub fn check(&self) -> Result<(), JitError> {
        let errors = self.0.reports.errors.take();
        if errors.is_empty() { Ok(()) } else { Err(JitError::Llvm(errors.join("; "))) }
    }

    /// The functions that code was made for since the last call, with the bytes of their stack frames. Only functions
    /// with the attribute [`REPORT_FRAME`] and a frame count.
    pub(super) fn take_frames(&self) -> Vec<(String, u64)> {
        self.0.reports.frames.take()
    }
}

impl Drop for ContextOwner {
    fn drop(&mut self) {
        // SAFETY: every module of the context holds the `Rc` that keeps this alive, so all are gone.
        unsafe { LLVMContextDispose(self.raw) };
    }
}

/// A function attribute, with its value, that makes LLVM report the size of the function's stack frame: as a
/// warning that it exceeds 0 bytes. The C API has no other way to learn it.
pub(super) const REPORT_FRAME: [&str; 2] = ["warn-stack-size", "0"];

/// A function and the size of its stack frame, if a diagnostic reports that:
/// `PLACE: stack frame size (N) exceeds limit (0) in function 'NAME'`.
fn frame(text: &str) -> Option<(String, u64)> {
    let (_, size) = text.split_once("stack frame size (")?;
    let (size, function) = size.split_once(") exceeds limit (0) in function '")?;
    Some((function.trim_end_matches('\'').to_owned(), size.parse().ok()?))
}

extern "C" fn collect_diagnostic(info: LLVMDiagnosticInfoRef, reports: *mut c_void) {
    // SAFETY: LLVM passes a live diagnostic, and the pointer registered with the handler, which points
    // into the owner of the context that reports.
    let (severity, text, reports) = unsafe {
        let text = take_message(LLVMGetDiagInfoDescription(info));
        (LLVMGetDiagInfoSeverity(info), text, &*reports.cast::<Reports>())
    };
    if let Some(frame) = frame(&text) {
        return reports.frames.borrow_mut().push(frame);
    }
    match severity {
        LLVMDiagnosticSeverity::LLVMDSError => reports.errors.borrow_mut().push(text),
        LLVMDiagnosticSeverity::LLVMDSWarning => tracing::warn!("LLVM: {text}"),
        _ => tracing::trace!("LLVM: {text}"),
    }
}

/// A module of LLVM IR, with the context it lives in.
pub struct IrModule {
    raw: LLVMModuleRef,
    context: Context,
}

impl IrModule {
    /// An empty module with the target's triple and data layout.
    pub fn new(context: &Context, name: &str, target: &Target) -> IrModule {
        let name = c_string(name);
        // SAFETY: all pointers are valid for the calls, which copy what they need.
        let raw = unsafe {
            let raw = LLVMModuleCreateWithNameInContext(name.as_ptr(), context.raw());
            LLVMSetTarget(raw, target.triple().as_ptr());
            LLVMSetDataLayout(raw, target.data_layout().as_ptr());
            raw
        };
        IrModule { raw, context: context.clone() }
    }

    /// Reads the textual form of LLVM IR and gives it the target's triple and data layout.
    pub fn parse(context: &Context, text: &str, target: &Target) -> Result<IrModule, JitError> {
        let (text, name) = (c_string(text), c"ir");
        let mut raw = std::ptr::null_mut();
        let mut message = std::ptr::null_mut();
        // SAFETY: the text ends in a null byte, which the copying buffer needs; the parser takes over the
        // buffer; the results are read only where the returned flag says they were written.
        unsafe {
            let buffer = LLVMCreateMemoryBufferWithMemoryRangeCopy(
                text.as_ptr(),
                text.as_bytes().len(),
                name.as_ptr(),
            );
            if LLVMParseIRInContext(context.raw(), buffer, &mut raw, &mut message) != 0 {
                return Err(JitError::Verification(take_message(message)));
            }
            LLVMSetTarget(raw, target.triple().as_ptr());
            LLVMSetDataLayout(raw, target.data_layout().as_ptr());
        }
        Ok(IrModule { raw, context: context.clone() })
    }

    /// The module for the C API. Valid while `self` lives.
    pub fn raw(&self) -> LLVMModuleRef {
        self.raw
    }

    pub fn context(&self) -> &Context {
        &self.context
    }

    /// Moves everything of another module of the same context into this one.
    pub(super) fn take_in(&self, other: IrModule) -> Result<(), JitError> {
        let IrModule { raw, context } = &*ManuallyDrop::new(other);
        // SAFETY: both modules are alive; the linker disposes of the other one, and its context is released once.
        let failed = unsafe {
            let failed = LLVMLinkModules2(self.raw, *raw) != 0;
            drop(std::ptr::read(context));
            failed
        };
        self.context.check()?;
        if failed { Err(JitError::Llvm("modules do not link".into())) } else { Ok(()) }
    }

    /// Checks LLVM's rules for IR.
    pub fn verify(&self) -> Result<(), JitError> {
        let mut message = std::ptr::null_mut();
        // SAFETY: the module is alive; the message is always written and owned by us.
        let (broken, text) = unsafe {
            let action = LLVMVerifierFailureAction::LLVMReturnStatusAction;
            let broken = LLVMVerifyModule(self.raw, action, &mut message) != 0;
            (broken, take_message(message))
        };
        if broken { Err(JitError::Verification(text)) } else { Ok(()) }
    }

    /// The textual form of the IR.
    pub fn text(&self) -> String {
        // SAFETY: the module is alive; the string is ours.
        unsafe { take_message(LLVMPrintModuleToString(self.raw)) }
    }
}

impl Clone for IrModule {
    fn clone(&self) -> IrModule {
        // SAFETY: the module is alive; the copy lives in the same context.
        IrModule { raw: unsafe { core::LLVMCloneModule(self.raw) }, context: self.context.clone() }
    }
}

impl Drop for IrModule {
    fn drop(&mut self) {
        // SAFETY: the module is ours and its context still lives.
        unsafe { LLVMDisposeModule(self.raw) };
    }
}

/// Takes over a message that LLVM allocated.
///
/// # Safety
/// `message` is null or a string from LLVM that nobody else frees.
pub(super) unsafe fn take_message(message: *mut c_char) -> String {
    if message.is_null() {
        return String::new();
    }
    // SAFETY: by the contract it is a null-terminated string, freed once, after the copy.
    unsafe {
        let text = CStr::from_ptr(message).to_string_lossy().trim_end().to_owned();
        LLVMDisposeMessage(message);
        text
    }
}

/// A C string without the text's null bytes, which SPIR-V literals cannot have.
pub(super) fn c_string(text: &str) -> CString {
    CString::new(text.replace('\0', "")).unwrap_or_default()
}
