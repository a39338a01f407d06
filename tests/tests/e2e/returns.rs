//! What the specification says that functions return: each entry is provoked, or stands here with why it cannot be.
//!
//! The driver is called by itself, so that no layer of a loader answers for it. All arguments but the one in question are right.

use std::ffi::c_void;
use std::path::Path;
use std::ptr::{null, null_mut};

use ze_headers::*;
use ze_tests::images::{RGBA, format, image_desc};
use ze_tests::loader::{Api, driver_path};
use ze_tests::platform::result_name;
use ze_tests::returns::{Entry, RETURNS};
use ze_tests::{
    CommandList, Event, EventPool, Fence, Image, Kernel, ListOptions, Module, Platform, Queue, platform,
    spirv,
};

/// A page of virtual memory is no smaller.
const PAGE: usize = 1 << 21;

/// Live objects, and places for what functions write.
struct World {
    /// The driver itself.
    api: Api,
    platform: &'static Platform,
    queue: Queue,
    regular: CommandList,
    immediate: CommandList,
    /// An immediate list whose commands wait for an event that nobody signals.
    blocked: CommandList,
    never: Event,
    pool: EventPool,
    event: Event,
    counter_based: Event,
    fence: Fence,
    module: Module,
    kernel: Kernel,
    image: Image,
    /// A megabyte of device memory.
    memory: *mut c_void,
    /// Two pages of addresses, of which the first has memory.
    reserved: *mut c_void,
    physical: ze_physical_mem_handle_t,
}

impl World {
    fn new() -> World {
        let platform = platform();
        let queue = Queue::new(ListOptions::asynchronous()).unwrap();
        let pool = EventPool::host_visible(2);
        let (event, never) = (pool.event(0), pool.event(1));
        let blocked = CommandList::immediate(ListOptions::in_order()).unwrap();
        blocked.wait_on_events(&[&never]).unwrap();
        let module = Module::named("vector_add");
        let kernel = module.kernel("vector_add");
        // Nothing here is executed.
        for (index, size) in [8, 8, 8, 4].into_iter().enumerate() {
            kernel.set_bytes(index as u32, &[0; 8][..size]).unwrap();
        }
        let desc = image_desc(
            ZE_IMAGE_TYPE_2D,
            format(ZE_IMAGE_FORMAT_LAYOUT_8_8_8_8, ZE_IMAGE_FORMAT_TYPE_UNORM),
            [16, 16, 1],
        );
        let (mut reserved, mut physical) = (null_mut(), null_mut());
        let mut physical_desc = physical_desc();
        // SAFETY: live handles.
        unsafe {
            let api = &platform.api;
            api.zeVirtualMemReserve(platform.context, null(), 2 * PAGE, &mut reserved);
            let (context, device) = (platform.context, platform.device);
            api.zePhysicalMemCreate(context, device, &mut physical_desc, &mut physical);
            let access = ZE_MEMORY_ACCESS_ATTRIBUTE_READWRITE;
            let code = api.zeVirtualMemMap(context, reserved, PAGE, physical, 0, access);
            platform.check("zeVirtualMemMap", code).unwrap();
        }
        World {
            api: Api::open(&driver_path()).expect("the driver is open already"),
            platform,
            fence: Fence::new(&queue, false).unwrap(),
            regular: CommandList::regular(false).unwrap(),
            immediate: CommandList::immediate(ListOptions::asynchronous()).unwrap(),
            blocked,
            never,
            queue,
            pool,
            event,
            counter_based: Event::counter_based(ZE_EVENT_COUNTER_BASED_FLAG_IMMEDIATE),
            kernel,
            module,
            image: Image::new(&desc).unwrap(),
            memory: platform.allocate(ze_tests::MemoryKind::Device, 1 << 20, 0).unwrap(),
            reserved,
            physical,
        }
    }

    fn context(&self) -> ze_context_handle_t {
        self.platform.context
    }

    fn device(&self) -> ze_device_handle_t {
        self.platform.device
    }
}

impl Drop for World {
    fn drop(&mut self) {
        self.never.signal().unwrap();
        self.blocked.synchronize(u64::MAX).unwrap();
        // SAFETY: nothing uses the memory any more.
        unsafe {
            self.api.zeVirtualMemUnmap(self.context(), self.reserved, PAGE);
            self.api.zeVirtualMemFree(self.context(), self.reserved, 2 * PAGE);
            self.api.zePhysicalMemDestroy(self.context(), self.physical);
            self.api.zeMemFree(self.context(), self.memory);
        }
    }
}

fn physical_desc() -> ze_physical_mem_desc_t {
    ze_physical_mem_desc_t {
        stype: ZE_STRUCTURE_TYPE_PHYSICAL_MEM_DESC,
        flags: ZE_PHYSICAL_MEM_FLAG_ALLOCATE_ON_DEVICE,
        size: PAGE,
        ..Default::default()
    }
}

fn rgba8(kind: ze_image_type_t) -> ze_image_desc_t {
    image_desc(kind, format(ZE_IMAGE_FORMAT_LAYOUT_8_8_8_8, ZE_IMAGE_FORMAT_TYPE_UNORM), [16, 16, 1])
}

/// A format whose components are of no kind that its layout has.
fn impossible_format() -> ze_image_desc_t {
    let [x, y, z, w] = RGBA;
    let (layout, type_) = (ZE_IMAGE_FORMAT_LAYOUT_11_11_10, ZE_IMAGE_FORMAT_TYPE_SINT);
    ze_image_desc_t { format: ze_image_format_t { layout, type_, x, y, z, w }, ..rgba8(ZE_IMAGE_TYPE_2D) }
}

fn module_desc(format: ze_module_format_t, bytes: &[u8]) -> ze_module_desc_t {
    ze_module_desc_t {
        stype: ZE_STRUCTURE_TYPE_MODULE_DESC,
        format,
        inputSize: bytes.len(),
        pInputModule: bytes.as_ptr(),
        ..Default::default()
    }
}

/// An extension of a descriptor that no function knows what to do with: sharing with another operating system.
fn foreign_export() -> ze_external_memory_export_desc_t {
    ze_external_memory_export_desc_t {
        stype: ZE_STRUCTURE_TYPE_EXTERNAL_MEMORY_EXPORT_DESC,
        flags: ZE_EXTERNAL_MEMORY_TYPE_FLAG_D3D12_HEAP,
        ..Default::default()
    }
}

fn chained<T>(structure: &T) -> *const c_void {
    (&raw const *structure).cast()
}

/// An entry of the specification, and a call that has to return its code.
struct Case {
    function: &'static str,
    code: ze_result_t,
    when: &'static str,
    call: fn(&World) -> ze_result_t,
}

macro_rules! cases {
    ($($code:ident { $($function:ident $when:literal => |$world:pat_param| $call:expr;)* })*) => {
        /// The calls.
        const CALLS: &[Case] = &[$($(Case {
            function: stringify!($function),
            code: $code,
            when: $when,
            call: |$world: &World| {
                #[allow(unused_unsafe, reason = "not all of them call by themselves")]
                // SAFETY: live handles, valid structures and chains.
                unsafe { $call }
            },
        },)*)*];
    };
}

const LAST_BIT: u32 = 1 << 31;

macro_rules! flagged {
    ($type:ident { $($field:ident: $value:expr),* }) => {{
        #[allow(clippy::needless_update, reason = "some structures have no other fields")]
        let flagged = $type { $($field: $value,)* ..Default::default() };
        flagged
    }};
}

fn event_pool(w: &World, count: u32, flags: u32, devices: u32) -> ze_result_t {
    let desc = flagged!(ze_event_pool_desc_t {
        stype: ZE_STRUCTURE_TYPE_EVENT_POOL_DESC,
        flags: flags,
        count: count
    });
    // SAFETY: live handles.
    unsafe { w.api.zeEventPoolCreate(w.context(), &desc, devices, null_mut(), &mut null_mut()) }
}

fn event(w: &World, signal: u32, wait: u32) -> ze_result_t {
    let desc = flagged!(ze_event_desc_t {
        stype: ZE_STRUCTURE_TYPE_EVENT_DESC,
        index: 0,
        signal: signal,
        wait: wait
    });
    // SAFETY: live handles.
    unsafe { w.api.zeEventCreate(w.pool.handle, &desc, &mut null_mut()) }
}

fn counter_event(w: &World, flags: u32, signal: u32, wait: u32) -> ze_result_t {
    let desc = flagged!(ze_event_counter_based_desc_t {
        stype: ZE_STRUCTURE_TYPE_EVENT_COUNTER_BASED_DESC,
        flags: flags | ZE_EVENT_COUNTER_BASED_FLAG_IMMEDIATE,
        signal: signal,
        wait: wait
    });
    // SAFETY: live handles.
    unsafe { w.api.zeEventCounterBasedCreate(w.context(), w.device(), &desc, &mut null_mut()) }
}

fn queue_desc(flags: u32, mode: u32, priority: u32) -> ze_command_queue_desc_t {
    flagged!(ze_command_queue_desc_t {
        stype: ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC,
        flags: flags,
        mode: ze_command_queue_mode_t(mode),
        priority: ze_command_queue_priority_t(priority)
    })
}

fn queue(w: &World, flags: u32, mode: u32, priority: u32) -> ze_result_t {
    let desc = queue_desc(flags, mode, priority);
    // SAFETY: live handles.
    unsafe { w.api.zeCommandQueueCreate(w.context(), w.device(), &desc, &mut null_mut()) }
}

fn immediate(w: &World, flags: u32, mode: u32, priority: u32) -> ze_result_t {
    let desc = queue_desc(flags, mode, priority);
    // SAFETY: live handles.
    unsafe { w.api.zeCommandListCreateImmediate(w.context(), w.device(), &desc, &mut null_mut()) }
}

/// What an allocation asks for.
#[derive(Clone, Copy)]
struct Request {
    device_flags: u32,
    host_flags: u32,
    size: usize,
    alignment: usize,
    next: *const c_void,
}

const PLAIN: Request = Request { device_flags: 0, host_flags: 0, size: 64, alignment: 0, next: null() };

impl Request {
    fn descriptors(self) -> (ze_device_mem_alloc_desc_t, ze_host_mem_alloc_desc_t) {
        (
            flagged!(ze_device_mem_alloc_desc_t {
                stype: ZE_STRUCTURE_TYPE_DEVICE_MEM_ALLOC_DESC,
                flags: self.device_flags,
                pNext: self.next
            }),
            flagged!(ze_host_mem_alloc_desc_t {
                stype: ZE_STRUCTURE_TYPE_HOST_MEM_ALLOC_DESC,
                flags: self.host_flags,
                pNext: self.next
            }),
        )
    }

    fn shared(self, w: &World) -> ze_result_t {
        let ((device, host), mut out) = (self.descriptors(), null_mut());
        // SAFETY: live handles and a valid chain, here and below.
        unsafe {
            let (size, alignment) = (self.size, self.alignment);
            w.api.zeMemAllocShared(w.context(), &device, &host, size, alignment, w.device(), &mut out)
        }
    }

    fn device(self, w: &World) -> ze_result_t {
        let ((device, _), mut out) = (self.descriptors(), null_mut());
        // SAFETY: see above.
        unsafe {
            let (size, alignment) = (self.size, self.alignment);
            w.api.zeMemAllocDevice(w.context(), &device, size, alignment, w.device(), &mut out)
        }
    }

    fn host(self, w: &World) -> ze_result_t {
        let ((_, host), mut out) = (self.descriptors(), null_mut());
        // SAFETY: see above.
        unsafe { w.api.zeMemAllocHost(w.context(), &host, self.size, self.alignment, &mut out) }
    }
}

fn image(w: &World, desc: ze_image_desc_t) -> ze_result_t {
    // SAFETY: live handles.
    unsafe { w.api.zeImageCreate(w.context(), w.device(), &desc, &mut null_mut()) }
}

fn image_properties(w: &World, desc: ze_image_desc_t) -> ze_result_t {
    let mut out = flagged!(ze_image_properties_t { stype: ZE_STRUCTURE_TYPE_IMAGE_PROPERTIES });
    // SAFETY: live handles.
    unsafe { w.api.zeImageGetProperties(w.device(), &desc, &mut out) }
}

fn view(w: &World, desc: ze_image_desc_t) -> ze_result_t {
    // SAFETY: live handles.
    unsafe { w.api.zeImageViewCreateExt(w.context(), w.device(), &desc, w.image.handle, &mut null_mut()) }
}

fn view_exp(w: &World, desc: ze_image_desc_t) -> ze_result_t {
    // SAFETY: live handles.
    unsafe { w.api.zeImageViewCreateExp(w.context(), w.device(), &desc, w.image.handle, &mut null_mut()) }
}

fn sampler(w: &World, addressing: u32, filter: u32) -> ze_result_t {
    let desc = flagged!(ze_sampler_desc_t {
        stype: ZE_STRUCTURE_TYPE_SAMPLER_DESC,
        addressMode: ze_sampler_address_mode_t(addressing),
        filterMode: ze_sampler_filter_mode_t(filter)
    });
    // SAFETY: live handles.
    unsafe { w.api.zeSamplerCreate(w.context(), w.device(), &desc, &mut null_mut()) }
}

fn module(w: &World, desc: ze_module_desc_t) -> ze_result_t {
    // SAFETY: live handles.
    unsafe { w.api.zeModuleCreate(w.context(), w.device(), &desc, &mut null_mut(), null_mut()) }
}

fn kernel(w: &World, module: &Module, flags: u32, name: &std::ffi::CStr) -> ze_result_t {
    let desc = flagged!(ze_kernel_desc_t {
        stype: ZE_STRUCTURE_TYPE_KERNEL_DESC,
        flags: flags,
        pKernelName: name.as_ptr()
    });
    // SAFETY: live handles.
    unsafe { w.api.zeKernelCreate(module.handle, &desc, &mut null_mut()) }
}

/// Maps the second page.
fn map(w: &World, at: usize, size: usize, offset: usize, access: u32) -> ze_result_t {
    let access = ze_memory_access_attribute_t(access);
    let at = w.reserved.wrapping_byte_add(at);
    // SAFETY: live handles.
    unsafe { w.api.zeVirtualMemMap(w.context(), at, size, w.physical, offset, access) }
}

fn access_of(w: &World, at: usize, size: usize) -> ze_result_t {
    let (mut access, mut out) = (ze_memory_access_attribute_t(0), 0);
    let at = w.reserved.wrapping_byte_add(at);
    // SAFETY: live handles.
    unsafe { w.api.zeVirtualMemGetAccessAttribute(w.context(), at, size, &mut access, &mut out) }
}

fn set_access(w: &World, at: usize, size: usize, access: u32) -> ze_result_t {
    let at = w.reserved.wrapping_byte_add(at);
    // SAFETY: live handles.
    unsafe {
        w.api.zeVirtualMemSetAccessAttribute(w.context(), at, size, ze_memory_access_attribute_t(access))
    }
}

fn physical(w: &World, change: impl FnOnce(&mut ze_physical_mem_desc_t)) -> ze_result_t {
    let mut desc = physical_desc();
    change(&mut desc);
    // SAFETY: live handles and a valid chain.
    unsafe { w.api.zePhysicalMemCreate(w.context(), w.device(), &mut desc, &mut null_mut()) }
}

const GROUPS: ze_group_count_t = ze_group_count_t { groupCountX: 1, groupCountY: 1, groupCountZ: 1 };

/// A list whose first command, a launch, may change in all ways, and the command's number.
struct Mutable {
    list: ze_command_list_handle_t,
    id: u64,
}

impl Mutable {
    fn id_of(w: &World, list: ze_command_list_handle_t, flags: u32) -> (ze_result_t, u64) {
        let mut id = 0;
        let desc = flagged!(ze_mutable_command_id_exp_desc_t {
            stype: ZE_STRUCTURE_TYPE_MUTABLE_COMMAND_ID_EXP_DESC,
            flags: flags
        });
        // SAFETY: live handles.
        (unsafe { w.api.zeCommandListGetNextCommandIdExp(list, &desc, &mut id) }, id)
    }

    fn list(w: &World) -> ze_command_list_handle_t {
        let mutable = flagged!(ze_mutable_command_list_exp_desc_t {
            stype: ZE_STRUCTURE_TYPE_MUTABLE_COMMAND_LIST_EXP_DESC
        });
        let desc = flagged!(ze_command_list_desc_t {
            stype: ZE_STRUCTURE_TYPE_COMMAND_LIST_DESC,
            pNext: chained(&mutable)
        });
        let mut list = null_mut();
        // SAFETY: live handles and a valid chain.
        let code = unsafe { w.api.zeCommandListCreate(w.context(), w.device(), &desc, &mut list) };
        w.platform.check("zeCommandListCreate", code).unwrap();
        list
    }

    fn new(w: &World) -> Mutable {
        let list = Mutable::list(w);
        let flags = ZE_MUTABLE_COMMAND_EXP_FLAG_GROUP_COUNT
            | ZE_MUTABLE_COMMAND_EXP_FLAG_WAIT_EVENTS
            | ZE_MUTABLE_COMMAND_EXP_FLAG_KERNEL_ARGUMENTS;
        let (code, id) = Mutable::id_of(w, list, flags);
        w.platform.check("zeCommandListGetNextCommandIdExp", code).unwrap();
        let mut waits = w.event.handle;
        // SAFETY: live handles.
        unsafe {
            let (kernel, events) = (w.kernel.handle, &raw mut waits);
            let code = w.api.zeCommandListAppendLaunchKernel(list, kernel, &GROUPS, null_mut(), 1, events);
            w.platform.check("zeCommandListAppendLaunchKernel", code).unwrap();
            w.api.zeCommandListClose(list);
        }
        Mutable { list, id }
    }
}

/// What a call says of a list that is destroyed behind it.
fn with_mutable(w: &World, call: impl FnOnce(&Mutable) -> ze_result_t) -> ze_result_t {
    let mutable = Mutable::new(w);
    let code = call(&mutable);
    // SAFETY: a list that nothing uses.
    unsafe { w.api.zeCommandListDestroy(mutable.list) };
    code
}

cases! {
    ZE_RESULT_ERROR_INVALID_ENUMERATION {
        zeInit "0x3 < flags" => |w| w.api.zeInit(4);
        zeInitDrivers "0x0 == desc->flags" => |w| {
            let mut desc = flagged!(ze_init_driver_type_desc_t { stype: ZE_STRUCTURE_TYPE_INIT_DRIVER_TYPE_DESC });
            w.api.zeInitDrivers(&mut 0, null_mut(), &mut desc)
        };
        zeContextCreate "0x1 < desc->flags" => |w| {
            let desc = flagged!(ze_context_desc_t { stype: ZE_STRUCTURE_TYPE_CONTEXT_DESC, flags: 2 });
            w.api.zeContextCreate(w.platform.driver, &desc, &mut null_mut())
        };
        zeContextCreateEx "0x1 < desc->flags" => |w| {
            let desc = flagged!(ze_context_desc_t { stype: ZE_STRUCTURE_TYPE_CONTEXT_DESC, flags: 2 });
            w.api.zeContextCreateEx(w.platform.driver, &desc, 0, null_mut(), &mut null_mut())
        };
        zeCommandQueueCreate "0x7 < desc->flags" => |w| queue(w, 8, 0, 0);
        zeCommandQueueCreate "ZE_COMMAND_QUEUE_MODE_ASYNCHRONOUS < desc->mode" => |w| queue(w, 0, 3, 0);
        zeCommandQueueCreate "ZE_COMMAND_QUEUE_PRIORITY_PRIORITY_HIGH < desc->priority" => |w| queue(w, 0, 0, 3);
        zeCommandListCreate "0x3f < desc->flags" => |w| {
            let desc = flagged!(ze_command_list_desc_t { stype: ZE_STRUCTURE_TYPE_COMMAND_LIST_DESC, flags: 0x40 });
            w.api.zeCommandListCreate(w.context(), w.device(), &desc, &mut null_mut())
        };
        zeCommandListCreateImmediate "0x7 < altdesc->flags" => |w| immediate(w, 8, 0, 0);
        zeCommandListCreateImmediate "ZE_COMMAND_QUEUE_MODE_ASYNCHRONOUS < altdesc->mode" => |w| immediate(w, 0, 3, 0);
        zeCommandListCreateImmediate "ZE_COMMAND_QUEUE_PRIORITY_PRIORITY_HIGH < altdesc->priority" =>
            |w| immediate(w, 0, 0, 3);
        zeCommandListAppendMemAdvise "ZE_MEMORY_ADVICE_CLEAR_SYSTEM_MEMORY_PREFERRED_LOCATION < advice" => |w| {
            let advice = ZE_MEMORY_ADVICE_CLEAR_SYSTEM_MEMORY_PREFERRED_LOCATION.0 + 1;
            w.api.zeCommandListAppendMemAdvise(w.regular.handle, w.device(), w.memory, 64, ze_memory_advice_t(advice))
        };
        zeEventPoolCreate "0xf < desc->flags" => |w| event_pool(w, 1, 0x10, 0);
        zeEventCreate "0x7 < desc->signal" => |w| event(w, 8, 0);
        zeEventCreate "0x7 < desc->wait" => |w| event(w, 0, 8);
        zeEventCounterBasedCreate "0x7f < desc->flags" => |w| counter_event(w, 0x80, 0, 0);
        zeEventCounterBasedCreate "0x7 < desc->signal" => |w| counter_event(w, 0, 8, 0);
        zeEventCounterBasedCreate "0x7 < desc->wait" => |w| counter_event(w, 0, 0, 8);
        zeFenceCreate "0x1 < desc->flags" => |w| {
            let desc = flagged!(ze_fence_desc_t { stype: ZE_STRUCTURE_TYPE_FENCE_DESC, flags: 2 });
            w.api.zeFenceCreate(w.queue.handle, &desc, &mut null_mut())
        };
        zeImageGetProperties "0x3 < desc->flags" =>
            |w| image_properties(w, ze_image_desc_t { flags: 4, ..rgba8(ZE_IMAGE_TYPE_2D) });
        zeImageGetProperties "ZE_IMAGE_TYPE_BUFFER < desc->type" =>
            |w| image_properties(w, rgba8(ze_image_type_t(ZE_IMAGE_TYPE_BUFFER.0 + 1)));
        zeImageCreate "0x3 < desc->flags" => |w| image(w, ze_image_desc_t { flags: 4, ..rgba8(ZE_IMAGE_TYPE_2D) });
        zeImageCreate "ZE_IMAGE_TYPE_BUFFER < desc->type" =>
            |w| image(w, rgba8(ze_image_type_t(ZE_IMAGE_TYPE_BUFFER.0 + 1)));
        zeMemAllocShared "0x7 < device_desc->flags" => |w| Request { device_flags: 8, ..PLAIN }.shared(w);
        zeMemAllocShared "0x1f < host_desc->flags" => |w| Request { host_flags: 0x20, ..PLAIN }.shared(w);
        zeMemAllocDevice "0x7 < device_desc->flags" => |w| Request { device_flags: 8, ..PLAIN }.device(w);
        zeMemAllocHost "0x1f < host_desc->flags" => |w| Request { host_flags: 0x20, ..PLAIN }.host(w);
        zeMemOpenIpcHandle "0x3 < flags" => |w| {
            let mut handle = ze_ipc_mem_handle_t::default();
            w.api.zeMemGetIpcHandle(w.context(), w.memory, &mut handle);
            w.api.zeMemOpenIpcHandle(w.context(), w.device(), handle, 4, &mut null_mut())
        };
        zeMemSetAtomicAccessAttributeExp "0x7f < attr" =>
            |w| w.api.zeMemSetAtomicAccessAttributeExp(w.context(), w.device(), w.memory, 64, 0x80);
        zeModuleCreate "ZE_MODULE_FORMAT_NATIVE < desc->format" =>
            |w| module(w, module_desc(ze_module_format_t(ZE_MODULE_FORMAT_NATIVE.0 + 1), &spirv("saxpy")));
        zeKernelCreate "0x3 < desc->flags" => |w| kernel(w, &w.module, 4, c"vector_add");
        zeKernelSetIndirectAccess "0x7 < flags" => |w| w.api.zeKernelSetIndirectAccess(w.kernel.handle, 8);
        zeKernelSetCacheConfig "0x3 < flags" => |w| w.api.zeKernelSetCacheConfig(w.kernel.handle, LAST_BIT);
        zeSamplerCreate "ZE_SAMPLER_ADDRESS_MODE_MIRROR < desc->addressMode" =>
            |w| sampler(w, ZE_SAMPLER_ADDRESS_MODE_MIRROR.0 + 1, 0);
        zeSamplerCreate "ZE_SAMPLER_FILTER_MODE_LINEAR < desc->filterMode" =>
            |w| sampler(w, 0, ZE_SAMPLER_FILTER_MODE_LINEAR.0 + 1);
        zePhysicalMemCreate "0x3 < desc->flags" => |w| physical(w, |desc| desc.flags = 4);
        zeVirtualMemMap "ZE_MEMORY_ACCESS_ATTRIBUTE_READONLY < access" => |w| map(w, PAGE, PAGE, 0, 3);
        zeVirtualMemSetAccessAttribute "ZE_MEMORY_ACCESS_ATTRIBUTE_READONLY < access" =>
            |w| set_access(w, 0, PAGE, 3);
        zeImageViewCreateExt "0x3 < desc->flags" =>
            |w| view(w, ze_image_desc_t { flags: 4, ..rgba8(ZE_IMAGE_TYPE_2D) });
        zeImageViewCreateExt "ZE_IMAGE_TYPE_BUFFER < desc->type" =>
            |w| view(w, rgba8(ze_image_type_t(ZE_IMAGE_TYPE_BUFFER.0 + 1)));
        zeImageViewCreateExp "0x3 < desc->flags" =>
            |w| view_exp(w, ze_image_desc_t { flags: 4, ..rgba8(ZE_IMAGE_TYPE_2D) });
        zeImageViewCreateExp "ZE_IMAGE_TYPE_BUFFER < desc->type" =>
            |w| view_exp(w, rgba8(ze_image_type_t(ZE_IMAGE_TYPE_BUFFER.0 + 1)));
        zeKernelSchedulingHintExp "0x7 < pHint->flags" => |w| {
            let mut hint = flagged!(ze_scheduling_hint_exp_desc_t {
                stype: ZE_STRUCTURE_TYPE_SCHEDULING_HINT_EXP_DESC, flags: 8
            });
            w.api.zeKernelSchedulingHintExp(w.kernel.handle, &mut hint)
        };
        zeModuleInspectLinkageExt "0x7 < pInspectDesc->flags" => |w| {
            let mut desc = flagged!(ze_linkage_inspection_ext_desc_t {
                stype: ZE_STRUCTURE_TYPE_LINKAGE_INSPECTION_EXT_DESC, flags: 8
            });
            let mut module = w.module.handle;
            w.api.zeModuleInspectLinkageExt(&mut desc, 1, &mut module, &mut null_mut())
        };
        zeMemFreeExt "0x3 < pMemFreeDesc->freePolicy" => |w| {
            let desc = flagged!(ze_memory_free_ext_desc_t {
                stype: ZE_STRUCTURE_TYPE_MEMORY_FREE_EXT_DESC, freePolicy: 4
            });
            w.api.zeMemFreeExt(w.context(), &desc, w.memory)
        };
        zeCommandListGetNextCommandIdExp "0xff < desc->flags" =>
            |w| with_mutable(w, |mutable| Mutable::id_of(w, mutable.list, 0x100).0);
        zeCommandListGetNextCommandIdWithKernelsExp "0xff < desc->flags" => |w| with_mutable(w, |mutable| {
            let desc = flagged!(ze_mutable_command_id_exp_desc_t {
                stype: ZE_STRUCTURE_TYPE_MUTABLE_COMMAND_ID_EXP_DESC, flags: 0x100
            });
            w.api.zeCommandListGetNextCommandIdWithKernelsExp(mutable.list, &desc, 0, null_mut(), &mut 0)
        });
    }
    ZE_RESULT_ERROR_UNSUPPORTED_ENUMERATION {
        zeMemAllocShared "" => |w| Request { next: chained(&foreign_export()), ..PLAIN }.shared(w);
        zeMemAllocDevice "" => |w| Request { next: chained(&foreign_export()), ..PLAIN }.device(w);
        zeMemAllocHost "" => |w| Request { next: chained(&foreign_export()), ..PLAIN }.host(w);
        zeImageCreate "" => |w| {
            let export = foreign_export();
            image(w, ze_image_desc_t { pNext: chained(&export), ..rgba8(ZE_IMAGE_TYPE_2D) })
        };
        zePhysicalMemCreate "" => |w| {
            let export = foreign_export();
            physical(w, |desc| desc.pNext = chained(&export))
        };
    }
    ZE_RESULT_ERROR_UNSUPPORTED_FEATURE {
        zeCommandListAppendMemoryCopyWithParameters "an extension in pNext" => |w| {
            let (to, from) = (w.memory, w.memory.wrapping_byte_add(64));
            let (list, next) = (w.regular.handle, foreign_export());
            let next = chained(&next);
            w.api.zeCommandListAppendMemoryCopyWithParameters(list, to, from, 64, next, null_mut(), 0, null_mut())
        };
        zeCommandListAppendMemoryFillWithParameters "an extension in pNext" => |w| {
            let (list, pattern, next) = (w.regular.handle, 0u32, foreign_export());
            let (pattern, next) = (chained(&pattern), chained(&next));
            w.api.zeCommandListAppendMemoryFillWithParameters(
                list, w.memory, pattern, 4, 64, next, null_mut(), 0, null_mut(),
            )
        };
        zeCommandListAppendLaunchKernelWithParameters "an extension in pNext" => |w| {
            let (list, kernel, next) = (w.regular.handle, w.kernel.handle, foreign_export());
            let next = chained(&next);
            w.api.zeCommandListAppendLaunchKernelWithParameters(
                list, kernel, &GROUPS, next, null_mut(), 0, null_mut(),
            )
        };
        zeCommandListAppendLaunchKernelWithArguments "an extension in pNext" => |w| {
            let next = foreign_export();
            launch_with_arguments(w, [8, 1, 1], chained(&next))
        };
        zeCommandListImmediateAppendCommandListsWithParameters "an extension in pNext" => |w| {
            let (mut list, next) = (w.regular.handle, foreign_export());
            let next = chained(&next);
            w.api.zeCommandListImmediateAppendCommandListsWithParameters(
                w.immediate.handle, 1, &mut list, next, null_mut(), 0, null_mut(),
            )
        };
        zeCommandListAppendHostFunction "an extension in pNext" => |w| {
            let next = foreign_export();
            let (next, function) = (chained(&next).cast_mut(), Some(nothing as unsafe extern "C" fn(_)));
            w.api.zeCommandListAppendHostFunction(
                w.regular.handle, function, null_mut(), next, null_mut(), 0, null_mut(),
            )
        };
    }
    ZE_RESULT_ERROR_INVALID_ARGUMENT {
        zeDeviceGetCounterBasedEventMaxValue "hDevice or maxValue is wrong" =>
            |w| w.api.zeDeviceGetCounterBasedEventMaxValue(w.event.handle.cast(), &mut 0);
        zeCommandListHostSynchronize "not an immediate list" =>
            |w| w.api.zeCommandListHostSynchronize(w.regular.handle, 0);
        zeCommandListImmediateGetIndex "not an immediate list" =>
            |w| w.api.zeCommandListImmediateGetIndex(w.regular.handle, &mut 0);
        zeCommandListImmediateGetFlags "not an immediate list" =>
            |w| w.api.zeCommandListImmediateGetFlags(w.regular.handle, &mut 0);
        zeCommandListImmediateGetMode "not an immediate list" =>
            |w| w.api.zeCommandListImmediateGetMode(w.regular.handle, &mut ze_command_queue_mode_t(0));
        zeCommandListImmediateGetPriority "not an immediate list" =>
            |w| w.api.zeCommandListImmediateGetPriority(w.regular.handle, &mut ze_command_queue_priority_t(0));
        zeContextMakeMemoryResident "ptr is in no allocation" => |w| {
            let mut own = [0u8; 64];
            w.api.zeContextMakeMemoryResident(w.context(), w.device(), own.as_mut_ptr().cast(), 64)
        };
        zeCommandListUpdateMutableCommandsExp "an argument or descriptor that does not fit" => |w| with_mutable(w, |mutable| {
            let value = 0u64;
            let argument = flagged!(ze_mutable_kernel_argument_exp_desc_t {
                stype: ZE_STRUCTURE_TYPE_MUTABLE_KERNEL_ARGUMENT_EXP_DESC,
                commandId: mutable.id,
                argIndex: 99,
                argSize: size_of::<u64>(),
                pArgValue: chained(&value)
            });
            let desc = flagged!(ze_mutable_commands_exp_desc_t {
                stype: ZE_STRUCTURE_TYPE_MUTABLE_COMMANDS_EXP_DESC, pNext: chained(&argument)
            });
            w.api.zeCommandListUpdateMutableCommandsExp(mutable.list, &desc)
        });
    }
    ZE_RESULT_ERROR_INVALID_SIZE {
        zeContextCreateEx "(nullptr == phDevices) && (0 < numDevices)" => |w| {
            let desc = flagged!(ze_context_desc_t { stype: ZE_STRUCTURE_TYPE_CONTEXT_DESC });
            w.api.zeContextCreateEx(w.platform.driver, &desc, 1, null_mut(), &mut null_mut())
        };
        zeCommandQueueExecuteCommandLists "0 == numCommandLists" => |w| {
            let mut list = w.regular.handle;
            w.api.zeCommandQueueExecuteCommandLists(w.queue.handle, 0, &mut list, null_mut())
        };
        zeCommandListAppendMemoryFill "size % pattern_size != 0" => |w| {
            let pattern = 0u32;
            fill(w, chained(&pattern), 4, 66)
        };
        zeCommandListAppendMemoryFillWithParameters "size % pattern_size != 0" => |w| {
            let pattern = 0u32;
            let (list, pattern) = (w.regular.handle, chained(&pattern));
            w.api.zeCommandListAppendMemoryFillWithParameters(
                list, w.memory, pattern, 4, 66, null(), null_mut(), 0, null_mut(),
            )
        };
        zeEventPoolCreate "0 == desc->count" => |w| event_pool(w, 0, 0, 0);
        zeEventPoolCreate "(nullptr == phDevices) && (0 < numDevices)" => |w| event_pool(w, 1, 0, 1);
        zeModuleCreate "0 == desc->inputSize" => |w| {
            let bytes = spirv("saxpy");
            module(w, ze_module_desc_t { inputSize: 0, ..module_desc(ZE_MODULE_FORMAT_IL_SPIRV, &bytes) })
        };
        zeCommandListUpdateMutableCommandWaitEventsExp "another number of events" => |w| with_mutable(w, |mutable| {
            let mut events = [w.event.handle; 2];
            let (list, id) = (mutable.list, mutable.id);
            w.api.zeCommandListUpdateMutableCommandWaitEventsExp(list, id, 2, events.as_mut_ptr())
        });
    }
    ZE_RESULT_ERROR_HANDLE_OBJECT_IN_USE {
        zeContextDestroy "" => |w| w.api.zeContextDestroy(w.api.zeDriverGetDefaultContext(w.platform.driver));
    }
    ZE_RESULT_ERROR_INVALID_COMMAND_LIST_TYPE {
        zeCommandQueueExecuteCommandLists "" => |w| {
            let mut list = w.immediate.handle;
            w.api.zeCommandQueueExecuteCommandLists(w.queue.handle, 1, &mut list, null_mut())
        };
    }
    ZE_RESULT_ERROR_INVALID_SYNCHRONIZATION_OBJECT {
        zeCommandQueueExecuteCommandLists "" => |w| {
            let signalled = Fence::new(&w.queue, true).unwrap();
            let list = CommandList::regular(false).unwrap();
            list.close().unwrap();
            let mut list = list.handle;
            w.api.zeCommandQueueExecuteCommandLists(w.queue.handle, 1, &mut list, signalled.handle)
        };
        zeEventPoolGetIpcHandle "" =>
            |w| w.api.zeEventPoolGetIpcHandle(w.pool.handle, &mut ze_ipc_event_pool_handle_t::default());
        zeEventCounterBasedGetIpcHandle "" => |w| {
            let mut handle = ze_ipc_event_counter_based_handle_t::default();
            w.api.zeEventCounterBasedGetIpcHandle(w.counter_based.handle, &mut handle)
        };
        zeEventCounterBasedCloseIpcHandle "" => |w| w.api.zeEventCounterBasedCloseIpcHandle(w.counter_based.handle);
        zeEventHostSignal "" => |w| w.api.zeEventHostSignal(w.counter_based.handle);
        zeEventHostReset "" => |w| w.api.zeEventHostReset(w.counter_based.handle);
        zeCommandListAppendEventReset "" =>
            |w| w.api.zeCommandListAppendEventReset(w.regular.handle, w.counter_based.handle);
    }
    ZE_RESULT_NOT_READY {
        zeCommandQueueSynchronize "not done when the time is over" => |w| {
            let queue = Queue::new(ListOptions::asynchronous()).unwrap();
            let (list, gate) = (CommandList::regular(false).unwrap(), EventPool::host_visible(1).event(0));
            list.wait_on_events(&[&gate]).unwrap();
            list.close().unwrap();
            queue.execute(&[&list], None).unwrap();
            let code = w.api.zeCommandQueueSynchronize(queue.handle, 0);
            gate.signal().unwrap();
            queue.synchronize(u64::MAX).unwrap();
            code
        };
        zeCommandListHostSynchronize "not done when the time is over" =>
            |w| w.api.zeCommandListHostSynchronize(w.blocked.handle, 1000);
        zeEventHostSynchronize "not done when the time is over" => |w| w.api.zeEventHostSynchronize(w.never.handle, 1000);
        zeEventQueryStatus "not signalled" => |w| w.api.zeEventQueryStatus(w.never.handle);
        zeEventQueryKernelTimestamp "not signalled" => |w| {
            let event = EventPool::timestamps(1).event(0);
            w.api.zeEventQueryKernelTimestamp(event.handle, &mut ze_kernel_timestamp_result_t::default())
        };
        zeFenceHostSynchronize "not done when the time is over" => |w| w.api.zeFenceHostSynchronize(w.fence.handle, 1000);
        zeFenceQueryStatus "not signalled" => |w| w.api.zeFenceQueryStatus(w.fence.handle);
    }
    ZE_RESULT_ERROR_UNSUPPORTED_ALIGNMENT {
        zeMemAllocShared "no power of two" => |w| Request { alignment: 24, ..PLAIN }.shared(w);
        zeMemAllocDevice "no power of two" => |w| Request { alignment: 24, ..PLAIN }.device(w);
        zeMemAllocHost "no power of two" => |w| Request { alignment: 24, ..PLAIN }.host(w);
        zeVirtualMemFree "" => |w| w.api.zeVirtualMemFree(w.context(), w.reserved.wrapping_byte_add(64), 2 * PAGE);
        zeVirtualMemMap "" => |w| map(w, PAGE + 64, PAGE, 0, 1);
        zeVirtualMemUnmap "ptr within a page" =>
            |w| w.api.zeVirtualMemUnmap(w.context(), w.reserved.wrapping_byte_add(64), PAGE);
        zeVirtualMemSetAccessAttribute "ptr within a page" => |w| set_access(w, 64, PAGE, 1);
        zeVirtualMemGetAccessAttribute "ptr within a page" => |w| access_of(w, 64, PAGE);
    }
    ZE_RESULT_ERROR_OVERLAPPING_REGIONS {
        zeCommandListAppendMemoryCopyRegion "" => |w| {
            let region = ze_copy_region_t { width: 16, height: 2, ..Default::default() };
            let (list, to, from) = (w.regular.handle, w.memory, w.memory.wrapping_byte_add(8));
            w.api.zeCommandListAppendMemoryCopyRegion(
                list, to, &region, 32, 0, from, &region, 32, 0, null_mut(), 0, null_mut(),
            )
        };
        zeCommandListAppendImageCopyRegion "" => |w| {
            let (list, image) = (w.regular.handle, w.image.handle);
            let to = ze_tests::images::region_of([0, 0, 0], [8, 8, 1]);
            let from = ze_tests::images::region_of([4, 4, 0], [8, 8, 1]);
            w.api.zeCommandListAppendImageCopyRegion(list, image, image, &to, &from, null_mut(), 0, null_mut())
        };
    }
    ZE_RESULT_ERROR_UNSUPPORTED_IMAGE_FORMAT {
        zeImageCreate "" => |w| image(w, impossible_format());
        zeImageViewCreateExt "" => |w| view(w, impossible_format());
        zeImageViewCreateExp "" => |w| view_exp(w, impossible_format());
    }
    ZE_RESULT_ERROR_UNSUPPORTED_SIZE {
        zeMemAllocShared "0 == size" => |w| Request { size: 0, ..PLAIN }.shared(w);
        zeMemAllocDevice "0 == size" => |w| Request { size: 0, ..PLAIN }.device(w);
        zeMemAllocHost "0 == size" => |w| Request { size: 0, ..PLAIN }.host(w);
        zeVirtualMemReserve "0 == size" => |w| w.api.zeVirtualMemReserve(w.context(), null(), 0, &mut null_mut());
        zeVirtualMemFree "0 == size" => |w| w.api.zeVirtualMemFree(w.context(), w.reserved, 0);
        zePhysicalMemCreate "0 == desc->size" => |w| physical(w, |desc| desc.size = 0);
        zeVirtualMemMap "0 == size" => |w| map(w, PAGE, 0, 0, 1);
        zeVirtualMemUnmap "0 == size" => |w| w.api.zeVirtualMemUnmap(w.context(), w.reserved, 0);
        zeVirtualMemUnmap "size of no whole pages" => |w| w.api.zeVirtualMemUnmap(w.context(), w.reserved, PAGE - 64);
        zeVirtualMemSetAccessAttribute "0 == size" => |w| set_access(w, 0, 0, 1);
        zeVirtualMemSetAccessAttribute "size of no whole pages" => |w| set_access(w, 0, PAGE - 64, 1);
        zeVirtualMemGetAccessAttribute "0 == size" => |w| access_of(w, 0, 0);
        zeVirtualMemGetAccessAttribute "size of no whole pages" => |w| access_of(w, 0, PAGE - 64);
    }
    ZE_RESULT_ERROR_ADDRESS_NOT_FOUND {
        zeMemGetAddressRange "" => |w| {
            let own = 0u64;
            w.api.zeMemGetAddressRange(w.context(), chained(&own), &mut null_mut(), &mut 0)
        };
    }
    ZE_RESULT_ERROR_INVALID_NATIVE_BINARY {
        zeModuleCreate "" => |w| module(w, module_desc(ZE_MODULE_FORMAT_NATIVE, b"made by nobody"));
    }
    ZE_RESULT_ERROR_MODULE_BUILD_FAILURE {
        zeModuleCreate "" => |w| module(w, module_desc(ZE_MODULE_FORMAT_IL_SPIRV, b"no words of SPIR-V: "));
    }
    ZE_RESULT_ERROR_MODULE_LINK_FAILURE {
        zeModuleDynamicLink "" => |w| {
            let user = Module::named("linked_user");
            let mut module = user.handle;
            w.api.zeModuleDynamicLink(1, &mut module, null_mut())
        };
    }
    ZE_RESULT_ERROR_INVALID_GLOBAL_NAME {
        zeModuleGetGlobalPointer "" =>
            |w| w.api.zeModuleGetGlobalPointer(w.module.handle, c"nothing".as_ptr(), &mut 0, &mut null_mut());
    }
    ZE_RESULT_ERROR_INVALID_KERNEL_NAME {
        zeKernelCreate "" => |w| kernel(w, &w.module, 0, c"nothing");
    }
    ZE_RESULT_ERROR_INVALID_MODULE_UNLINKED {
        zeKernelCreate "" => |w| kernel(w, &Module::named("linked_user"), 0, c"user_state");
    }
    ZE_RESULT_ERROR_INVALID_FUNCTION_NAME {
        zeModuleGetFunctionPointer "" =>
            |w| w.api.zeModuleGetFunctionPointer(w.module.handle, c"nothing".as_ptr(), &mut null_mut());
    }
    ZE_RESULT_ERROR_INVALID_GROUP_SIZE_DIMENSION {
        zeKernelSetGroupSize "" => |w| w.api.zeKernelSetGroupSize(w.kernel.handle, 0, 1, 1);
        zeCommandListAppendLaunchKernelWithArguments "" => |w| launch_with_arguments(w, [u32::MAX, 1, 1], null());
    }
    ZE_RESULT_ERROR_INVALID_GLOBAL_WIDTH_DIMENSION {
        zeKernelSuggestGroupSize "" =>
            |w| w.api.zeKernelSuggestGroupSize(w.kernel.handle, 0, 1, 1, &mut 0, &mut 0, &mut 0);
    }
    ZE_RESULT_ERROR_INVALID_KERNEL_ARGUMENT_INDEX {
        zeKernelSetArgumentValue "" => |w| {
            let value = 0u64;
            w.api.zeKernelSetArgumentValue(w.kernel.handle, 99, size_of::<u64>(), chained(&value))
        };
    }
    ZE_RESULT_ERROR_INVALID_KERNEL_ARGUMENT_SIZE {
        zeKernelSetArgumentValue "" => |w| {
            let value = 0u64;
            w.api.zeKernelSetArgumentValue(w.kernel.handle, 0, 3, chained(&value))
        };
    }
    ZE_RESULT_ERROR_INVALID_KERNEL_HANDLE {
        zeCommandListUpdateMutableCommandKernelsExp "a kernel that was not announced" => |w| {
            let (list, other, mut id) = (Mutable::list(w), w.module.kernel("vector_add"), 0);
            let desc = flagged!(ze_mutable_command_id_exp_desc_t {
                stype: ZE_STRUCTURE_TYPE_MUTABLE_COMMAND_ID_EXP_DESC,
                flags: ZE_MUTABLE_COMMAND_EXP_FLAG_KERNEL_INSTRUCTION
            });
            let (mut kernel, mut announced) = (other.handle, w.kernel.handle);
            let out = &raw mut id;
            w.api.zeCommandListGetNextCommandIdWithKernelsExp(list, &desc, 1, &mut announced, out);
            w.api.zeCommandListAppendLaunchKernel(list, announced, &GROUPS, null_mut(), 0, null_mut());
            w.api.zeCommandListClose(list);
            let code = w.api.zeCommandListUpdateMutableCommandKernelsExp(list, 1, &mut id, &mut kernel);
            w.api.zeCommandListDestroy(list);
            code
        };
    }
}

unsafe extern "C" fn nothing(_: *mut c_void) {}

fn fill(w: &World, pattern: *const c_void, pattern_size: usize, size: usize) -> ze_result_t {
    // SAFETY: live handles and a pattern of that size.
    unsafe {
        let list = w.regular.handle;
        w.api.zeCommandListAppendMemoryFill(
            list,
            w.memory,
            pattern,
            pattern_size,
            size,
            null_mut(),
            0,
            null_mut(),
        )
    }
}

fn launch_with_arguments(w: &World, size: [u32; 3], next: *const c_void) -> ze_result_t {
    let sizes = ze_group_size_t { groupSizeX: size[0], groupSizeY: size[1], groupSizeZ: size[2] };
    let (mut pointer, mut count) = (w.memory, 8u32);
    let mut arguments: [*mut c_void; 4] = [
        (&raw mut pointer).cast(),
        (&raw mut pointer).cast(),
        (&raw mut pointer).cast(),
        (&raw mut count).cast(),
    ];
    let (list, kernel, arguments) = (w.regular.handle, w.kernel.handle, arguments.as_mut_ptr());
    // SAFETY: live handles, and a value for each argument.
    unsafe {
        w.api.zeCommandListAppendLaunchKernelWithArguments(
            list,
            kernel,
            GROUPS,
            sizes,
            arguments,
            next,
            null_mut(),
            0,
            null_mut(),
        )
    }
}

/// Entries that no call can provoke, with why. No function stands for all functions with that code that have no call.
const NEVER: &[(Option<&str>, ze_result_t, &str)] = &[
    (None, ZE_RESULT_ERROR_UNSUPPORTED_ENUMERATION, "every value that the function takes is supported"),
    (None, ZE_RESULT_ERROR_HANDLE_OBJECT_IN_USE, "who uses an object keeps it until it is done with it"),
    (
        None,
        ZE_RESULT_ERROR_INVALID_SYNCHRONIZATION_OBJECT,
        "an event may be used in every state that it can be in",
    ),
    (
        Some("zeCommandListAppendMemoryFill"),
        ZE_RESULT_ERROR_UNSUPPORTED_ALIGNMENT,
        "memory is filled wherever it begins, with patterns wherever they are",
    ),
    (
        Some("zeCommandListAppendMemoryFillWithParameters"),
        ZE_RESULT_ERROR_UNSUPPORTED_ALIGNMENT,
        "memory is filled wherever it begins, with patterns wherever they are",
    ),
    (
        Some("zePhysicalMemCreate"),
        ZE_RESULT_ERROR_UNSUPPORTED_ALIGNMENT,
        "a size that is not of whole pages is an unsupported size",
    ),
    (Some("zeDeviceGetGlobalTimestamps"), ZE_RESULT_ERROR_UNSUPPORTED_FEATURE, "every platform has clocks"),
    (
        Some("zeEventCounterBasedCreate"),
        ZE_RESULT_ERROR_INVALID_ARGUMENT,
        "the largest value is that of 64 bits",
    ),
    (
        Some("zeVirtualMemQueryPageSize"),
        ZE_RESULT_ERROR_UNSUPPORTED_SIZE,
        "the conformance tests ask for the page of no memory, and expect an answer",
    ),
    (Some("zeFabricVertexGetDeviceExp"), ZE_RESULT_EXP_ERROR_VERTEX_IS_NOT_DEVICE, "there are no switches"),
    (Some("zeFabricVertexGetDeviceExp"), ZE_RESULT_EXP_ERROR_REMOTE_DEVICE, "there are no other machines"),
    (
        Some("zeDeviceGetFabricVertexExp"),
        ZE_RESULT_EXP_ERROR_DEVICE_IS_NOT_VERTEX,
        "every device is a vertex",
    ),
    (
        Some("zeKernelSetArgumentValue"),
        ZE_RESULT_ERROR_UNSUPPORTED_IMAGE_FORMAT,
        "shown with images and kernels for them: image_arguments",
    ),
    (
        Some("zeCommandListAppendLaunchKernelWithArguments"),
        ZE_RESULT_ERROR_UNSUPPORTED_IMAGE_FORMAT,
        "as zeKernelSetArgumentValue, by the same code",
    ),
];

#[test]
fn functions_return_what_the_specification_says() {
    let w = World::new();
    let fault = |case: &Case| {
        let (got, want) = ((case.call)(&w), case.code);
        let wrong =
            || format!("{} [{}]: {}, not {}", case.function, case.when, result_name(got), result_name(want));
        (got != want).then(wrong)
    };
    let faults: Vec<String> = CALLS.iter().filter_map(fault).collect();
    assert!(faults.is_empty(), "{faults:#?}");
}

#[test]
fn every_entry_of_the_specification_has_a_call_or_a_reason() {
    let implemented = ze_tests::api_page::implemented(Path::new(env!("CARGO_MANIFEST_DIR"))).unwrap();
    let entries = |&(code, functions): &(ze_result_t, &'static [Entry])| {
        functions
            .iter()
            .flat_map(move |&(function, whens)| whens.iter().map(move |&when| (function, code, when)))
    };
    let all: Vec<_> = RETURNS.iter().flat_map(entries).collect();
    let has_call = |entry: &(&str, ze_result_t, &str)| {
        CALLS.iter().any(|case| (case.function, case.code, case.when) == *entry)
    };
    let has_reason = |function: &str, code| {
        NEVER.iter().any(|(own, of, _)| *of == code && own.is_none_or(|own| own == function))
    };
    let is_shown = |entry: &&(&'static str, ze_result_t, &str)| {
        !implemented.contains(&entry.0) || has_call(entry) || has_reason(entry.0, entry.1)
    };
    let missing: Vec<_> =
        all.iter().filter(|entry| !is_shown(entry)).map(|(function, _, when)| (function, when)).collect();
    assert!(missing.is_empty(), "{missing:#?}");

    let unknown: Vec<_> = CALLS
        .iter()
        .filter(|case| !all.contains(&(case.function, case.code, case.when)))
        .map(|case| case.function)
        .collect();
    assert!(unknown.is_empty(), "no entries of the specification: {unknown:#?}");
    let needless = |(function, code, _): &&(Option<&str>, ze_result_t, &str)| {
        function
            .is_some_and(|function| CALLS.iter().any(|case| case.function == function && case.code == *code))
    };
    assert_eq!(NEVER.iter().filter(needless).count(), 0, "what cannot be provoked is");
}
