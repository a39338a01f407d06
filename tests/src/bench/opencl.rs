//! OpenCL runtimes with shared virtual memory, opened at run time: platforms of the ICD loader, by name.

use std::ffi::{CString, c_char, c_void};
use std::ptr;
use std::time::Instant;

use libloading::Library;

use super::{Arg, Backend, Case, ImageArg, Prepared, Result, Texels};
use crate::program::source;
use crate::spirv;

type Handle = *mut c_void;

/// `CL_DEVICE_TYPE_ALL`.
const DEVICE_TYPE_ALL: u64 = 0xffff_ffff;
/// `CL_PLATFORM_NAME`.
const PLATFORM_NAME: u32 = 0x902;
/// `CL_DEVICE_NAME`.
const DEVICE_NAME: u32 = 0x102b;
/// `CL_DRIVER_VERSION`.
const DRIVER_VERSION: u32 = 0x102d;
/// `CL_PROGRAM_BUILD_LOG`.
const PROGRAM_BUILD_LOG: u32 = 0x1183;
/// `CL_MEM_READ_WRITE | CL_MEM_SVM_FINE_GRAIN_BUFFER`.
const SVM_FLAGS: u64 = 1 | 1 << 10;

/// `CL_MEM_READ_WRITE`.
const READ_WRITE: u64 = 1;
/// `CL_MEM_OBJECT_IMAGE2D`.
const IMAGE_2D: u32 = 0x10f1;
/// `CL_RGBA`.
const RGBA: u32 = 0x10b5;
/// `CL_UNORM_INT8` and `CL_FLOAT`.
const UNORM_INT8: u32 = 0x10d2;
const FLOAT: u32 = 0x10de;

/// `cl_image_desc`.
#[repr(C)]
struct ImageDesc {
    kind: u32,
    width: usize,
    height: usize,
    depth: usize,
    layers: usize,
    row_pitch: usize,
    slice_pitch: usize,
    levels: u32,
    samples: u32,
    memory: Handle,
}

macro_rules! functions {
    ($($name:ident: fn($($type:ty),*) -> $result:ty;)*) => {
        /// The functions of the C interface that the benchmark calls.
        #[allow(non_snake_case)]
        struct Functions {
            $($name: unsafe extern "C" fn($($type),*) -> $result,)*
        }

        impl Functions {
            fn load(library: &Library) -> std::result::Result<Functions, libloading::Error> {
                Ok(Functions {
                    // SAFETY: the signatures are OpenCL's.
                    $($name: unsafe { *library.get(stringify!($name).as_bytes())? },)*
                })
            }
        }
    };
}
functions! {
    clGetPlatformIDs: fn(u32, *mut Handle, *mut u32) -> i32;
    clGetPlatformInfo: fn(Handle, u32, usize, *mut c_void, *mut usize) -> i32;
    clGetDeviceIDs: fn(Handle, u64, u32, *mut Handle, *mut u32) -> i32;
    clGetDeviceInfo: fn(Handle, u32, usize, *mut c_void, *mut usize) -> i32;
    clCreateContext: fn(*const isize, u32, *const Handle, *const c_void, *mut c_void, *mut i32) -> Handle;
    clCreateCommandQueueWithProperties: fn(Handle, Handle, *const u64, *mut i32) -> Handle;
    clCreateProgramWithSource: fn(Handle, u32, *const *const c_char, *const usize, *mut i32) -> Handle;
    clCreateProgramWithIL: fn(Handle, *const c_void, usize, *mut i32) -> Handle;
    clBuildProgram: fn(Handle, u32, *const Handle, *const c_char, *const c_void, *mut c_void) -> i32;
    clGetProgramBuildInfo: fn(Handle, Handle, u32, usize, *mut c_void, *mut usize) -> i32;
    clCreateKernel: fn(Handle, *const c_char, *mut i32) -> Handle;
    clSetKernelArg: fn(Handle, u32, usize, *const c_void) -> i32;
    clSetKernelArgSVMPointer: fn(Handle, u32, *const c_void) -> i32;
    clSVMAlloc: fn(Handle, u64, usize, u32) -> *mut c_void;
    clSVMFree: fn(Handle, *mut c_void) -> ();
    clEnqueueNDRangeKernel:
        fn(Handle, Handle, u32, *const usize, *const usize, *const usize, u32, *const Handle, *mut Handle) -> i32;
    clFinish: fn(Handle) -> i32;
    clCreateImage: fn(Handle, u64, *const [u32; 2], *const ImageDesc, *mut c_void, *mut i32) -> Handle;
    clEnqueueWriteImage: fn(Handle, Handle, u32, *const [usize; 3], *const [usize; 3], usize, usize, *const c_void, u32, *const Handle, *mut Handle) -> i32;
    clEnqueueReadImage: fn(Handle, Handle, u32, *const [usize; 3], *const [usize; 3], usize, usize, *mut c_void, u32, *const Handle, *mut Handle) -> i32;
    clReleaseMemObject: fn(Handle) -> i32;
    clReleaseKernel: fn(Handle) -> i32;
    clReleaseProgram: fn(Handle) -> i32;
}

/// Which runtime, and what it builds.
#[derive(Clone, Copy, PartialEq)]
pub enum Runtime {
    /// Intel's OpenCL CPU runtime, from SPIR-V.
    Intel,
    /// PoCL. Debian's takes no SPIR-V, so it is given the OpenCL C that the SPIR-V was built from.
    Pocl,
}

impl Runtime {
    /// What the platform's name contains.
    fn platform(self) -> &'static str {
        match self {
            Runtime::Intel => "Intel",
            Runtime::Pocl => "Portable Computing Language",
        }
    }
}

/// A device, its context and queue. Objects of these live until the process ends.
pub struct OpenCl {
    runtime: Runtime,
    functions: &'static Functions,
    device: Handle,
    context: Handle,
    queue: Handle,
    version: String,
}

struct Ready {
    functions: &'static Functions,
    context: Handle,
    queue: Handle,
    program: Handle,
    kernels: Vec<(Handle, [usize; 3], [usize; 3])>,
    buffers: Vec<(*mut c_void, usize)>,
    images: Vec<(ImageArg, Handle)>,
}

/// A log without the folders of this machine, which reports do not name.
fn without_folders(log: &str) -> String {
    let name = |word: &str| {
        word.strip_prefix('/').and_then(|path| path.rsplit('/').next()).unwrap_or(word).to_owned()
    };
    log.split_whitespace().map(name).collect::<Vec<_>>().join(" ")
}

fn check(what: &str, code: i32) -> Result<()> {
    if code == 0 { Ok(()) } else { Err(format!("{what} returned {code}").into()) }
}

/// A text that a function of the interface writes.
fn text(read: impl Fn(usize, *mut c_void) -> i32) -> String {
    let mut text = vec![0u8; 1024];
    if read(text.len(), text.as_mut_ptr().cast()) != 0 {
        return String::new();
    }
    let len = text.iter().position(|&byte| byte == 0).unwrap_or(text.len());
    String::from_utf8_lossy(&text[..len]).trim().to_owned()
}

impl OpenCl {
    /// The first device of the runtime's platform.
    pub fn open(runtime: Runtime) -> Result<OpenCl> {
        // SAFETY: OpenCL's functions with valid arguments throughout; the library is never closed.
        unsafe {
            let library = Library::new("libOpenCL.so.1")?;
            let functions: &'static Functions = Box::leak(Box::new(Functions::load(&library)?));
            std::mem::forget(library);
            let f = functions;
            let (mut platforms, mut count) = ([ptr::null_mut(); 16], 0);
            check("clGetPlatformIDs", (f.clGetPlatformIDs)(16, platforms.as_mut_ptr(), &mut count))?;
            let name = |platform| {
                text(|len, to| (f.clGetPlatformInfo)(platform, PLATFORM_NAME, len, to, ptr::null_mut()))
            };
            let platform = platforms[..platforms.len().min(count as usize)]
                .iter()
                .copied()
                .find(|&platform| name(platform).contains(runtime.platform()))
                .ok_or_else(|| format!("there is no OpenCL platform of {}", runtime.platform()))?;
            let mut device = ptr::null_mut();
            let code = (f.clGetDeviceIDs)(platform, DEVICE_TYPE_ALL, 1, &mut device, ptr::null_mut());
            check("clGetDeviceIDs", code)?;
            let mut code = 0;
            let context =
                (f.clCreateContext)(ptr::null(), 1, &device, ptr::null(), ptr::null_mut(), &mut code);
            check("clCreateContext", code)?;
            let queue = (f.clCreateCommandQueueWithProperties)(context, device, ptr::null(), &mut code);
            check("clCreateCommandQueueWithProperties", code)?;
            let [device_name, driver] = [DEVICE_NAME, DRIVER_VERSION]
                .map(|what| text(|len, to| (f.clGetDeviceInfo)(device, what, len, to, ptr::null_mut())));
            let version = format!("{}, {driver}, {device_name}", name(platform));
            Ok(OpenCl { runtime, functions, device, context, queue, version })
        }
    }

    /// An image with the contents of memory, which has all its texels.
    unsafe fn image(&self, arg: &ImageArg, from: *const c_void) -> Result<Handle> {
        let f = self.functions;
        let ImageArg { width, height, texels, .. } = *arg;
        let format = [RGBA, if texels == Texels::Rgba8 { UNORM_INT8 } else { FLOAT }];
        let desc = ImageDesc {
            kind: IMAGE_2D,
            width: width as usize,
            height: height as usize,
            depth: 0,
            layers: 0,
            row_pitch: 0,
            slice_pitch: 0,
            levels: 0,
            samples: 0,
            memory: ptr::null_mut(),
        };
        let extent = [width as usize, height as usize, 1];
        let mut code = 0;
        // SAFETY: as above.
        unsafe {
            let image =
                (f.clCreateImage)(self.context, READ_WRITE, &format, &desc, ptr::null_mut(), &mut code);
            check("clCreateImage", code)?;
            let no_events = (ptr::null(), ptr::null_mut());
            let code = (f.clEnqueueWriteImage)(
                self.queue,
                image,
                1,
                &[0; 3],
                &extent,
                0,
                0,
                from,
                0,
                no_events.0,
                no_events.1,
            );
            check("clEnqueueWriteImage", code)?;
            Ok(image)
        }
    }

    fn build(&self, case: &Case) -> Result<(Handle, Instant)> {
        let f = self.functions;
        let il = self.runtime == Runtime::Intel;
        let (module, options) = if il {
            (spirv(case.module), CString::default())
        } else {
            let (text, folder) = source(case.module).ok_or("its SPIR-V was not made from OpenCL C")?;
            (text, CString::new(format!("-cl-std=CL2.0 -I{}", folder.display()))?)
        };
        let start = Instant::now();
        // SAFETY: as above.
        unsafe {
            let mut code = 0;
            let program = if il {
                (f.clCreateProgramWithIL)(self.context, module.as_ptr().cast(), module.len(), &mut code)
            } else {
                let text = module.as_ptr().cast();
                (f.clCreateProgramWithSource)(self.context, 1, &text, &module.len(), &mut code)
            };
            check("the creation of the program", code)?;
            let code =
                (f.clBuildProgram)(program, 1, &self.device, options.as_ptr(), ptr::null(), ptr::null_mut());
            if code == 0 {
                return Ok((program, start));
            }
            let log = text(|len, to| {
                (f.clGetProgramBuildInfo)(program, self.device, PROGRAM_BUILD_LOG, len, to, ptr::null_mut())
            });
            Err(format!("clBuildProgram returned {code}: {}", without_folders(&log)).into())
        }
    }
}

impl Backend for OpenCl {
    fn name(&self) -> &'static str {
        match self.runtime {
            Runtime::Intel => "Intel",
            Runtime::Pocl => "PoCL",
        }
    }

    fn version(&self) -> String {
        self.version.clone()
    }

    fn prepare(&self, case: &Case) -> Result<Option<(Box<dyn Prepared>, Instant)>> {
        let f = self.functions;
        let mut ready = Ready {
            functions: f,
            context: self.context,
            queue: self.queue,
            program: ptr::null_mut(),
            kernels: Vec::new(),
            buffers: Vec::new(),
            images: Vec::new(),
        };
        // SAFETY: as above.
        unsafe {
            for data in &case.buffers {
                let pointer = (f.clSVMAlloc)(self.context, SVM_FLAGS, data.len(), 64);
                if pointer.is_null() {
                    return Err("clSVMAlloc returned nothing".into());
                }
                ptr::copy_nonoverlapping(data.as_ptr(), pointer.cast(), data.len());
                ready.buffers.push((pointer, data.len()));
            }
            for arg in case.launches.iter().flat_map(|launch| &launch.args) {
                if let Arg::Image(arg) = arg {
                    ready.images.push((*arg, self.image(arg, ready.buffers[arg.buffer].0)?));
                }
            }
            let (program, start) = self.build(case)?;
            let mut of_arguments = ready.images.iter();
            ready.program = program;
            for launch in &case.launches {
                let name = CString::new(launch.kernel)?;
                let mut code = 0;
                let kernel = (f.clCreateKernel)(program, name.as_ptr(), &mut code);
                check("clCreateKernel", code)?;
                for (arg, index) in launch.args.iter().zip(0..) {
                    let code = match arg {
                        Arg::Buffer(number) => {
                            (f.clSetKernelArgSVMPointer)(kernel, index, ready.buffers[*number].0)
                        }
                        Arg::Value(bytes) => {
                            (f.clSetKernelArg)(kernel, index, bytes.len(), bytes.as_ptr().cast())
                        }
                        Arg::Image(_) => {
                            let (_, image) = of_arguments.next().expect("an image for each argument");
                            (f.clSetKernelArg)(kernel, index, size_of::<Handle>(), (&raw const *image).cast())
                        }
                        Arg::Local(bytes) => (f.clSetKernelArg)(kernel, index, *bytes, ptr::null()),
                    };
                    check("clSetKernelArg", code)?;
                }
                let local = launch.group_size.map(|size| size as usize);
                let global = [0, 1, 2].map(|d| local[d] * launch.groups[d] as usize);
                ready.kernels.push((kernel, global, local));
            }
            Ok(Some((Box::new(ready), start)))
        }
    }
}

impl Prepared for Ready {
    fn launch(&self) -> Result<()> {
        let f = self.functions;
        // SAFETY: live kernels with their arguments set.
        unsafe {
            for (kernel, global, local) in &self.kernels {
                let code = (f.clEnqueueNDRangeKernel)(
                    self.queue,
                    *kernel,
                    3,
                    ptr::null(),
                    global.as_ptr(),
                    local.as_ptr(),
                    0,
                    ptr::null(),
                    ptr::null_mut(),
                );
                check("clEnqueueNDRangeKernel", code)?;
            }
            check("clFinish", (f.clFinish)(self.queue))
        }
    }

    fn buffers(&self) -> Vec<&[u8]> {
        for (arg, image) in &self.images {
            let extent = [arg.width as usize, arg.height as usize, 1];
            let to = self.buffers[arg.buffer].0;
            // SAFETY: the buffer has all texels, nobody looks at it, and the call waits.
            let code = unsafe {
                (self.functions.clEnqueueReadImage)(
                    self.queue,
                    *image,
                    1,
                    &[0; 3],
                    &extent,
                    0,
                    0,
                    to,
                    0,
                    ptr::null(),
                    ptr::null_mut(),
                )
            };
            check("clEnqueueReadImage", code).expect("a copy of all texels");
        }
        // SAFETY: fine-grained shared memory, and the queue is idle.
        self.buffers
            .iter()
            .map(|&(pointer, len)| unsafe { std::slice::from_raw_parts(pointer.cast(), len) })
            .collect()
    }
}

impl Drop for Ready {
    fn drop(&mut self) {
        let f = self.functions;
        // SAFETY: the queue is idle, and nobody else has these objects.
        unsafe {
            for &(kernel, ..) in &self.kernels {
                (f.clReleaseKernel)(kernel);
            }
            if !self.program.is_null() {
                (f.clReleaseProgram)(self.program);
            }
            for (_, image) in &self.images {
                (f.clReleaseMemObject)(*image);
            }
            self.buffers.iter().for_each(|&(pointer, _)| (f.clSVMFree)(self.context, pointer));
        }
    }
}
