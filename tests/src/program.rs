//! Modules, kernels and their arguments.

use std::ffi::CString;
use std::mem::size_of;
use std::path::PathBuf;
use std::{fs, ptr, slice};

use ze_headers::*;

use crate::memory::Buffer;
use crate::platform::{Error, Platform, Result, platform};
use crate::queue::{CommandList, ListOptions};

/// The folder of `tests/kernels`.
fn folder() -> PathBuf {
    match std::env::var_os("ZE_TEST_KERNELS") {
        Some(folder) => PathBuf::from(folder),
        None => PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/kernels")),
    }
}

/// The SPIR-V of a kernel file of `tests/kernels`, by the file's name without extension.
pub fn spirv(name: &str) -> Vec<u8> {
    let path = folder().join(name).with_extension("spv");
    fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The OpenCL C that it was built from, if it was, and the folder of what that includes.
pub fn source(name: &str) -> Option<(Vec<u8>, PathBuf)> {
    let folder = folder();
    fs::read(folder.join(name).with_extension("cl")).ok().map(|text| (text, folder))
}

/// A module on the shared platform.
pub struct Module {
    pub handle: ze_module_handle_t,
    /// The build log of the creation; may be empty.
    pub log: String,
}

// SAFETY: the API allows every thread to use a module.
unsafe impl Send for Module {}
// SAFETY: as above.
unsafe impl Sync for Module {}

impl Module {
    /// Creates a module from SPIR-V. A failure's reason is the build log.
    pub fn new(words: &[u8]) -> Result<Module> {
        Module::with_flags(words, "")
    }

    pub fn with_flags(words: &[u8], flags: &str) -> Result<Module> {
        Module::on(platform(), words, flags)
    }

    pub fn on(platform: &Platform, words: &[u8], flags: &str) -> Result<Module> {
        let flags = CString::new(flags).expect("flags without NUL");
        let desc = ze_module_desc_t {
            stype: ZE_STRUCTURE_TYPE_MODULE_DESC,
            format: ZE_MODULE_FORMAT_IL_SPIRV,
            inputSize: words.len(),
            pInputModule: words.as_ptr(),
            pBuildFlags: flags.as_ptr(),
            ..Default::default()
        };
        let mut handle = ptr::null_mut();
        let mut log = ptr::null_mut();
        // SAFETY: live handles; the descriptor's pointers outlive the call.
        let code = unsafe {
            platform.api.zeModuleCreate(platform.context, platform.device, &desc, &mut handle, &mut log)
        };
        let result = platform.check("zeModuleCreate", code);
        let log = if log.is_null() { String::new() } else { build_log(platform, log) };
        match result {
            Ok(()) => Ok(Module { handle, log }),
            Err(error) if log.is_empty() => Err(error),
            Err(error) => Err(Error { reason: log, ..error }),
        }
    }

    /// The module of a file of `tests/kernels`.
    pub fn named(name: &str) -> Module {
        Module::new(&spirv(name)).unwrap_or_else(|error| panic!("module {name}: {error:?}"))
    }

    pub fn kernel(&self, name: &str) -> Kernel {
        self.try_kernel(name).unwrap_or_else(|error| panic!("kernel {name}: {error:?}"))
    }

    pub fn try_kernel(&self, name: &str) -> Result<Kernel> {
        let platform = platform();
        let name = CString::new(name).expect("a name without NUL");
        let desc = ze_kernel_desc_t {
            stype: ZE_STRUCTURE_TYPE_KERNEL_DESC,
            pKernelName: name.as_ptr(),
            ..Default::default()
        };
        let mut handle = ptr::null_mut();
        // SAFETY: a live module; the name outlives the call.
        let code = unsafe { platform.api.zeKernelCreate(self.handle, &desc, &mut handle) };
        platform.check("zeKernelCreate", code).map(|()| Kernel { handle })
    }

    /// The names of the module's kernels.
    pub fn kernel_names(&self) -> Result<Vec<String>> {
        let platform = platform();
        // SAFETY: a live module, and room for as many names as are asked for.
        let names = platform.listed("zeModuleGetKernelNames", ptr::null(), |count, names| unsafe {
            platform.api.zeModuleGetKernelNames(self.handle, count, names)
        })?;
        // SAFETY: texts that the module owns.
        let name = |name| unsafe { std::ffi::CStr::from_ptr(name) }.to_string_lossy().into_owned();
        Ok(names.into_iter().map(name).collect())
    }
}

impl Drop for Module {
    fn drop(&mut self) {
        // SAFETY: tests drop kernels before their module, or never use them after it.
        unsafe { platform().api.zeModuleDestroy(self.handle) };
    }
}

fn build_log(platform: &Platform, log: ze_module_build_log_handle_t) -> String {
    let mut size = 0;
    // SAFETY: a live log; then room for `size` bytes.
    unsafe {
        platform.api.zeModuleBuildLogGetString(log, &mut size, ptr::null_mut());
        let mut bytes = vec![0u8; size];
        platform.api.zeModuleBuildLogGetString(log, &mut size, bytes.as_mut_ptr().cast());
        platform.api.zeModuleBuildLogDestroy(log);
        String::from_utf8_lossy(&bytes).trim_end_matches('\0').to_owned()
    }
}

/// A kernel object. Its arguments and group size are state, as in the API.
pub struct Kernel {
    pub handle: ze_kernel_handle_t,
}

// SAFETY: tests do not change one kernel from two threads.
unsafe impl Send for Kernel {}

impl Kernel {
    /// Sets an argument from its bytes.
    pub fn set_bytes(&self, index: u32, value: &[u8]) -> Result<()> {
        // SAFETY: a live kernel; the value is as long as it says.
        let code = unsafe {
            platform().api.zeKernelSetArgumentValue(self.handle, index, value.len(), value.as_ptr().cast())
        };
        platform().check("zeKernelSetArgumentValue", code)
    }

    /// Sets an argument without a value: local memory of `size` bytes, or a null buffer.
    pub fn set_size(&self, index: u32, size: usize) -> Result<()> {
        // SAFETY: a live kernel; no value.
        let code = unsafe { platform().api.zeKernelSetArgumentValue(self.handle, index, size, ptr::null()) };
        platform().check("zeKernelSetArgumentValue", code)
    }

    pub fn set_group_size(&self, size: [u32; 3]) -> Result<()> {
        // SAFETY: a live kernel.
        let code = unsafe { platform().api.zeKernelSetGroupSize(self.handle, size[0], size[1], size[2]) };
        platform().check("zeKernelSetGroupSize", code)
    }

    pub fn set_global_offset(&self, offset: [u32; 3]) -> Result<()> {
        // SAFETY: a live kernel.
        let code = unsafe {
            platform().api.zeKernelSetGlobalOffsetExp(self.handle, offset[0], offset[1], offset[2])
        };
        platform().check("zeKernelSetGlobalOffsetExp", code)
    }

    pub fn suggest_group_size(&self, global: [u32; 3]) -> Result<[u32; 3]> {
        let mut size = [0; 3];
        let [x, y, z] = &mut size;
        // SAFETY: a live kernel.
        let code = unsafe {
            platform().api.zeKernelSuggestGroupSize(self.handle, global[0], global[1], global[2], x, y, z)
        };
        platform().check("zeKernelSuggestGroupSize", code).map(|()| size)
    }

    pub fn properties(&self) -> Result<ze_kernel_properties_t> {
        let mut properties =
            ze_kernel_properties_t { stype: ZE_STRUCTURE_TYPE_KERNEL_PROPERTIES, ..Default::default() };
        // SAFETY: a live kernel and a structure of the announced type.
        let code = unsafe { platform().api.zeKernelGetProperties(self.handle, &mut properties) };
        platform().check("zeKernelGetProperties", code).map(|()| properties)
    }

    pub fn set_arguments(&self, arguments: &[&dyn Argument]) -> Result<()> {
        arguments.iter().zip(0..).try_for_each(|(argument, index)| argument.set(self, index))
    }

    /// Sets group size and arguments, launches on a synchronous immediate list, and returns when it is done.
    pub fn try_run(&self, groups: [u32; 3], group_size: [u32; 3], arguments: &[&dyn Argument]) -> Result<()> {
        self.set_group_size(group_size)?;
        self.set_arguments(arguments)?;
        let list = CommandList::immediate(ListOptions::synchronous())?;
        list.launch(self, groups, None, &[])
    }

    /// [`Kernel::try_run`] that panics where a step fails.
    pub fn run(&self, groups: [u32; 3], group_size: [u32; 3], arguments: &[&dyn Argument]) {
        self.try_run(groups, group_size, arguments).unwrap_or_else(|error| panic!("{error:?}"));
    }

    /// Runs in one dimension with the fewest groups that cover `items`.
    pub fn run_1d(&self, items: usize, group_size: u32, arguments: &[&dyn Argument]) {
        self.run([(items as u32).div_ceil(group_size), 1, 1], [group_size, 1, 1], arguments);
    }
}

impl Drop for Kernel {
    fn drop(&mut self) {
        // SAFETY: the kernel is not used any more; commands that were appended keep what they need.
        unsafe { platform().api.zeKernelDestroy(self.handle) };
    }
}

/// What a kernel argument can be set from.
pub trait Argument {
    fn set(&self, kernel: &Kernel, index: u32) -> Result<()>;
}

/// Marks types whose bytes are a kernel's by-value argument.
///
/// # Safety
/// No padding that the kernel could read, and the kernel's own layout.
pub unsafe trait ByValue: Copy {}

macro_rules! by_value {
    ($($type:ty)*) => {
        $(
            // SAFETY: OpenCL's scalar types have Rust's layout.
            unsafe impl ByValue for $type {}
        )*
    };
}
by_value!(i8 u8 i16 u16 i32 u32 i64 u64 f32 f64);
// SAFETY: a vector argument is its elements; vectors of three are passed with four.
unsafe impl<T: ByValue, const N: usize> ByValue for [T; N] {}

impl<T: ByValue> Argument for T {
    fn set(&self, kernel: &Kernel, index: u32) -> Result<()> {
        // SAFETY: the bytes of a live value; `ByValue` says that they may be looked at.
        kernel.set_bytes(index, unsafe { slice::from_raw_parts(ptr::from_ref(self).cast(), size_of::<T>()) })
    }
}

impl<T: Copy> Argument for Buffer<T> {
    fn set(&self, kernel: &Kernel, index: u32) -> Result<()> {
        kernel.set_bytes(index, &(self.pointer() as usize).to_ne_bytes())
    }
}

/// A buffer argument that is null.
pub struct NullBuffer;

impl Argument for NullBuffer {
    fn set(&self, kernel: &Kernel, index: u32) -> Result<()> {
        kernel.set_size(index, size_of::<*mut u8>())
    }
}

/// Local memory of this many bytes.
pub struct Local(pub usize);

impl Argument for Local {
    fn set(&self, kernel: &Kernel, index: u32) -> Result<()> {
        kernel.set_size(index, self.0)
    }
}
