//! Null arguments: every function of the API refuses those that the specification does, with its code.
//!
//! The driver is called by itself, as a loader looks into handles first.

use std::any::type_name;
use std::ffi::c_void;
use std::path::Path;
use std::ptr::{null, null_mut};

use ze_headers::*;
use ze_tests::loader::{Api, driver_path};
use ze_tests::parameters::PARAMETERS;
use ze_tests::platform::result_name;
use ze_tests::{CommandList, Event, EventPool, Fence, ListOptions, Module, Queue, platform};

/// What a function of the API returns, where it is a result code.
trait Returned {
    fn code(self) -> Option<ze_result_t>;
}

impl Returned for ze_result_t {
    fn code(self) -> Option<ze_result_t> {
        Some(self)
    }
}

impl Returned for u32 {
    fn code(self) -> Option<ze_result_t> {
        None
    }
}

impl<T> Returned for *mut T {
    fn code(self) -> Option<ze_result_t> {
        None
    }
}

/// An argument of which the bits are given. Structures are zeros.
///
/// # Safety
/// The bits are a value of the type.
unsafe fn argument<T>(bits: u64) -> T {
    let mut value = std::mem::MaybeUninit::<T>::zeroed();
    if size_of::<T>() <= size_of::<u64>() {
        // SAFETY: the value has no more bytes than that.
        unsafe { value.as_mut_ptr().cast::<u8>().copy_from(bits.to_le_bytes().as_ptr(), size_of::<T>()) };
    }
    // SAFETY: the caller's promise; zeros are a value of the API's structures.
    unsafe { value.assume_init() }
}

macro_rules! calls {
    ($($api:ident $aggregate:ident { $($member:ident $table:ident $get:ident {
        $([$major:literal $minor:literal] $name:ident $field:ident ($($arg:ident: $type:ty),*) -> $result:ty;)*
    })* })*) => {
        /// Calls a function with the bits of its arguments.
        ///
        /// # Safety
        /// They are what the function may be called with.
        unsafe fn call(api: &Api, function: &str, bits: &[u64]) -> Option<ze_result_t> {
            #[allow(unused_mut, unused_variables, reason = "some functions have no arguments")]
            let mut bits = bits.iter().copied();
            match function {
                $($($(stringify!($name) => {
                    // SAFETY: the caller's promise.
                    unsafe { api.$name($(argument::<$type>(bits.next().unwrap_or_default())),*).code() }
                })*)*)*
                _ => None,
            }
        }

        /// The types of a function's parameters.
        fn types(function: &str) -> Vec<&'static str> {
            match function {
                $($($(stringify!($name) => vec![$(type_name::<$type>()),*],)*)*)*
                _ => Vec::new(),
            }
        }
    };
}
for_each_function! { calls }

/// Live objects of the kinds that tests have, and memory for what functions write.
struct Samples {
    handles: Vec<(&'static str, u64)>,
    memory: u64,
    _owners: (Queue, CommandList, EventPool, Event, Fence, Module, ze_tests::Kernel),
}

unsafe extern "C" fn nothing(_: *mut c_void) {}

impl Samples {
    fn new() -> Samples {
        let platform = platform();
        let queue = Queue::new(ListOptions::asynchronous()).unwrap();
        let list = CommandList::immediate(ListOptions::asynchronous()).unwrap();
        let pool = EventPool::host_visible(1);
        let event = pool.event(0);
        let fence = Fence::new(&queue, false).unwrap();
        let module = Module::named("vector_add");
        let kernel = module.kernel("vector_add");
        let (mut graph, mut physical) = (null_mut(), null_mut());
        let mut desc = ze_physical_mem_desc_t {
            stype: ZE_STRUCTURE_TYPE_PHYSICAL_MEM_DESC,
            flags: ZE_PHYSICAL_MEM_FLAG_ALLOCATE_ON_DEVICE,
            size: 1 << 21,
            ..Default::default()
        };
        // SAFETY: live handles.
        unsafe {
            platform.api.zeGraphCreateExt(platform.context, null(), &mut graph);
            platform.api.zePhysicalMemCreate(platform.context, platform.device, &mut desc, &mut physical);
        }
        let handles = vec![
            (type_name::<ze_driver_handle_t>(), platform.driver as u64),
            (type_name::<ze_device_handle_t>(), platform.device as u64),
            (type_name::<ze_context_handle_t>(), platform.context as u64),
            (type_name::<ze_command_queue_handle_t>(), queue.handle as u64),
            (type_name::<ze_command_list_handle_t>(), list.handle as u64),
            (type_name::<ze_event_pool_handle_t>(), pool.handle as u64),
            (type_name::<ze_event_handle_t>(), event.handle as u64),
            (type_name::<ze_fence_handle_t>(), fence.handle as u64),
            (type_name::<ze_module_handle_t>(), module.handle as u64),
            (type_name::<ze_kernel_handle_t>(), kernel.handle as u64),
            (type_name::<ze_graph_handle_t>(), graph as u64),
            (type_name::<ze_physical_mem_handle_t>(), physical as u64),
            (type_name::<zes_driver_handle_t>(), platform.driver as u64),
            (type_name::<zes_device_handle_t>(), platform.device as u64),
        ];
        // More than any function writes where it is given one item's room.
        let memory = Box::leak(vec![0u64; 1 << 16].into_boxed_slice()).as_ptr() as u64;
        Samples { handles, memory, _owners: (queue, list, pool, event, fence, module, kernel) }
    }

    fn handle(&self, ty: &str) -> Option<u64> {
        self.handles.iter().find(|(own, _)| *own == ty).map(|(_, handle)| *handle)
    }

    /// An argument that is not null, but null where that may be; a handle of a kind that there is none of is nothing.
    fn argument(&self, kind: char, ty: &str) -> Option<u64> {
        match kind {
            'H' => self.handle(ty),
            'P' | 'A' if ty.contains("fn(") => Some(nothing as *const () as u64),
            'P' => Some(self.memory),
            'v' => Some(1),
            _ => Some(0),
        }
    }
}

fn driver() -> Api {
    Api::open(&driver_path()).expect("the driver is open already")
}

/// The functions that the driver implements.
fn implemented() -> Vec<&'static str> {
    ze_tests::api_page::implemented(Path::new(env!("CARGO_MANIFEST_DIR"))).expect("the driver's list")
}

impl Samples {
    /// The bits of a call's arguments, with one parameter as it is given. Nothing where a handle is needed that there is none of.
    fn bits(&self, function: &str, kinds: &str, (at, bits): (usize, u64)) -> Option<Vec<u64>> {
        let types = types(function);
        assert_eq!(types.len(), kinds.len(), "{function}");
        let kinds: Vec<char> = kinds.chars().collect();
        let argument = |index: usize| {
            // What counts an array counts nothing, unless the array is what is tried.
            let counts_none = kinds.get(index + 1) == Some(&'A') && index + 1 != at;
            match index {
                _ if index == at => Some(bits),
                _ if counts_none => Some(0),
                _ => self.argument(kinds[index], types[index]),
            }
        };
        (0..kinds.len()).map(argument).collect()
    }
}

/// Calls each function of the core API with each parameter of a kind null. Says what does not return `want`.
fn faults(kind: char, want: ze_result_t, leave_out: &[(&str, usize)]) -> Vec<String> {
    let (api, samples, implemented, mut faults) = (driver(), Samples::new(), implemented(), Vec::new());
    for (function, kinds) in core() {
        for at in kinds.char_indices().filter(|(_, own)| *own == kind).map(|(at, _)| at) {
            if leave_out.contains(&(function, at)) {
                continue;
            }
            let Some(bits) = samples.bits(function, kinds, (at, 0)) else { continue };
            // SAFETY: handles are live or null, and pointers lead to memory of the test.
            let Some(got) = (unsafe { call(&api, function, &bits) }) else { continue };
            let want =
                if implemented.contains(&function) { want } else { ZE_RESULT_ERROR_UNSUPPORTED_FEATURE };
            if got != want {
                faults.push(format!("{function}, parameter {at}: {}", result_name(got)));
            }
        }
    }
    faults
}

/// The functions of the core and runtime APIs. System management has to be initialised, which is for the whole process.
fn core() -> impl Iterator<Item = (&'static str, &'static str)> {
    PARAMETERS.iter().copied().filter(|(function, _)| !function.starts_with("zes"))
}

#[test]
fn null_handles_are_refused_by_every_function() {
    // No device stands for all of them.
    let leave_out = [("zeMemSetAtomicAccessAttributeExp", 1), ("zeMemGetAtomicAccessAttributeExp", 1)];
    let faults = faults('H', ZE_RESULT_ERROR_INVALID_NULL_HANDLE, &leave_out);
    assert!(faults.is_empty(), "{faults:#?}");
}

#[test]
fn a_null_handle_comes_before_null_pointers() {
    let (api, implemented, mut faults) = (driver(), implemented(), Vec::new());
    for (function, kinds) in
        core().filter(|(name, kinds)| kinds.starts_with('H') && implemented.contains(name))
    {
        // SAFETY: the function finds nothing that it could use.
        let got = unsafe { call(&api, function, &vec![0; kinds.len()]) };
        if got.is_some_and(|got| got != ZE_RESULT_ERROR_INVALID_NULL_HANDLE) {
            faults.push(format!("{function}: {}", result_name(got.unwrap_or(ZE_RESULT_SUCCESS))));
        }
    }
    assert!(faults.is_empty(), "{faults:#?}");
}

#[test]
fn null_pointers_are_refused_by_every_function() {
    let leave_out = [
        // The flags of the descriptor, which has none, are looked at first.
        ("zeInitDrivers", 0),
        // Who created the graph needs no output, and this list is not captured.
        ("zeCommandListEndGraphCaptureExt", 2),
    ];
    let faults = faults('P', ZE_RESULT_ERROR_INVALID_NULL_POINTER, &leave_out);
    assert!(faults.is_empty(), "{faults:#?}");
}

#[test]
fn arrays_that_are_counted_and_not_there_are_of_an_invalid_size() {
    let leave_out = [
        // Their other arrays, whose handles are null here, come first.
        ("zeCommandListAppendQueryKernelTimestamps", 7),
        ("zeCommandListAppendLaunchMultipleKernelsIndirect", 7),
        // A function that is optional for the headers, and not here.
        ("zeCommandListAppendHostFunction", 6),
    ];
    let faults = faults('A', ZE_RESULT_ERROR_INVALID_SIZE, &leave_out);
    assert!(faults.is_empty(), "{faults:#?}");
}

#[test]
fn handles_of_nothing_and_of_another_kind_are_refused_by_every_function() {
    let (api, samples, mut faults) = (driver(), Samples::new(), Vec::new());
    let other =
        |ty: &str| samples.handles.iter().find(|(own, _)| *own != ty).map_or(0, |(_, handle)| *handle);
    for (function, kinds) in core() {
        for at in kinds.char_indices().filter(|(_, own)| *own == 'H').map(|(at, _)| at) {
            for wrong in [samples.memory, samples.memory + 8, other(types(function)[at])] {
                let Some(bits) = samples.bits(function, kinds, (at, wrong)) else { continue };
                // SAFETY: the driver tells its live handles from anything else.
                let Some(got) = (unsafe { call(&api, function, &bits) }) else { continue };
                let refused = [ZE_RESULT_ERROR_INVALID_ARGUMENT, ZE_RESULT_ERROR_UNSUPPORTED_FEATURE];
                if !refused.contains(&got) {
                    faults.push(format!("{function}, parameter {at}: {}", result_name(got)));
                }
            }
        }
    }
    assert!(faults.is_empty(), "{faults:#?}");
}
