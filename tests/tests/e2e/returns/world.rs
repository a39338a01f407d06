//! Live objects of every kind, and calls with all arguments right but those that are given.

use std::ffi::c_void;
use std::ptr::{null, null_mut};

use ze_headers::*;
use ze_tests::images::{RGBA, format, image_desc};
use ze_tests::loader::{Api, driver_path};
use ze_tests::{
    CommandList, Event, EventPool, Fence, Image, Kernel, ListOptions, Module, Platform, Queue, platform,
};

/// A page of virtual memory is no smaller.
pub(super) const PAGE: usize = 1 << 21;

/// Live objects, and places for what functions write.
pub(super) struct World {
    /// The driver itself.
    pub api: Api,
    pub platform: &'static Platform,
    pub queue: Queue,
    pub regular: CommandList,
    pub immediate: CommandList,
    /// An immediate list whose commands wait for an event that nobody signals.
    pub blocked: CommandList,
    pub never: Event,
    pub pool: EventPool,
    pub event: Event,
    pub counter_based: Event,
    pub fence: Fence,
    pub module: Module,
    pub kernel: Kernel,
    pub image: Image,
    /// A megabyte of device memory.
    pub memory: *mut c_void,
    /// Two pages of addresses, of which the first has memory.
    pub reserved: *mut c_void,
    pub physical: ze_physical_mem_handle_t,
}

impl World {
    pub fn new() -> World {
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

    pub fn context(&self) -> ze_context_handle_t {
        self.platform.context
    }

    pub fn device(&self) -> ze_device_handle_t {
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

pub(super) fn physical_desc() -> ze_physical_mem_desc_t {
    ze_physical_mem_desc_t {
        stype: ZE_STRUCTURE_TYPE_PHYSICAL_MEM_DESC,
        flags: ZE_PHYSICAL_MEM_FLAG_ALLOCATE_ON_DEVICE,
        size: PAGE,
        ..Default::default()
    }
}

pub(super) fn rgba8(kind: ze_image_type_t) -> ze_image_desc_t {
    image_desc(kind, format(ZE_IMAGE_FORMAT_LAYOUT_8_8_8_8, ZE_IMAGE_FORMAT_TYPE_UNORM), [16, 16, 1])
}

/// A format whose components are of no kind that its layout has.
pub(super) fn impossible_format() -> ze_image_desc_t {
    let [x, y, z, w] = RGBA;
    let (layout, type_) = (ZE_IMAGE_FORMAT_LAYOUT_11_11_10, ZE_IMAGE_FORMAT_TYPE_SINT);
    ze_image_desc_t { format: ze_image_format_t { layout, type_, x, y, z, w }, ..rgba8(ZE_IMAGE_TYPE_2D) }
}

pub(super) fn module_desc(format: ze_module_format_t, bytes: &[u8]) -> ze_module_desc_t {
    ze_module_desc_t {
        stype: ZE_STRUCTURE_TYPE_MODULE_DESC,
        format,
        inputSize: bytes.len(),
        pInputModule: bytes.as_ptr(),
        ..Default::default()
    }
}

/// An extension of a descriptor that no function knows what to do with: sharing with another operating system.
pub(super) fn foreign_export() -> ze_external_memory_export_desc_t {
    ze_external_memory_export_desc_t {
        stype: ZE_STRUCTURE_TYPE_EXTERNAL_MEMORY_EXPORT_DESC,
        flags: ZE_EXTERNAL_MEMORY_TYPE_FLAG_D3D12_HEAP,
        ..Default::default()
    }
}

pub(super) fn chained<T>(structure: &T) -> *const c_void {
    (&raw const *structure).cast()
}

macro_rules! flagged {
    ($type:ident { $($field:ident: $value:expr),* }) => {{
        #[allow(clippy::needless_update, reason = "some structures have no other fields")]
        let flagged = $type { $($field: $value,)* ..Default::default() };
        flagged
    }};
}

pub(super) fn event_pool(w: &World, count: u32, flags: u32, devices: u32) -> ze_result_t {
    let desc = flagged!(ze_event_pool_desc_t {
        stype: ZE_STRUCTURE_TYPE_EVENT_POOL_DESC,
        flags: flags,
        count: count
    });
    // SAFETY: live handles.
    unsafe { w.api.zeEventPoolCreate(w.context(), &desc, devices, null_mut(), &mut null_mut()) }
}

pub(super) fn event(w: &World, signal: u32, wait: u32) -> ze_result_t {
    let desc = flagged!(ze_event_desc_t {
        stype: ZE_STRUCTURE_TYPE_EVENT_DESC,
        index: 0,
        signal: signal,
        wait: wait
    });
    // SAFETY: live handles.
    unsafe { w.api.zeEventCreate(w.pool.handle, &desc, &mut null_mut()) }
}

pub(super) fn counter_event(w: &World, flags: u32, signal: u32, wait: u32) -> ze_result_t {
    let desc = flagged!(ze_event_counter_based_desc_t {
        stype: ZE_STRUCTURE_TYPE_EVENT_COUNTER_BASED_DESC,
        flags: flags | ZE_EVENT_COUNTER_BASED_FLAG_IMMEDIATE,
        signal: signal,
        wait: wait
    });
    // SAFETY: live handles.
    unsafe { w.api.zeEventCounterBasedCreate(w.context(), w.device(), &desc, &mut null_mut()) }
}

pub(super) fn queue_desc(flags: u32, mode: u32, priority: u32) -> ze_command_queue_desc_t {
    flagged!(ze_command_queue_desc_t {
        stype: ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC,
        flags: flags,
        mode: ze_command_queue_mode_t(mode),
        priority: ze_command_queue_priority_t(priority)
    })
}

pub(super) fn queue(w: &World, flags: u32, mode: u32, priority: u32) -> ze_result_t {
    let desc = queue_desc(flags, mode, priority);
    // SAFETY: live handles.
    unsafe { w.api.zeCommandQueueCreate(w.context(), w.device(), &desc, &mut null_mut()) }
}

pub(super) fn immediate(w: &World, flags: u32, mode: u32, priority: u32) -> ze_result_t {
    let desc = queue_desc(flags, mode, priority);
    // SAFETY: live handles.
    unsafe { w.api.zeCommandListCreateImmediate(w.context(), w.device(), &desc, &mut null_mut()) }
}

/// What an allocation asks for.
#[derive(Clone, Copy)]
pub(super) struct Request {
    pub device_flags: u32,
    pub host_flags: u32,
    pub size: usize,
    pub alignment: usize,
    pub next: *const c_void,
}

pub(super) const PLAIN: Request =
    Request { device_flags: 0, host_flags: 0, size: 64, alignment: 0, next: null() };

impl Request {
    pub fn descriptors(self) -> (ze_device_mem_alloc_desc_t, ze_host_mem_alloc_desc_t) {
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

    pub fn shared(self, w: &World) -> ze_result_t {
        let ((device, host), mut out) = (self.descriptors(), null_mut());
        // SAFETY: live handles and a valid chain, here and below.
        unsafe {
            let (size, alignment) = (self.size, self.alignment);
            w.api.zeMemAllocShared(w.context(), &device, &host, size, alignment, w.device(), &mut out)
        }
    }

    pub fn device(self, w: &World) -> ze_result_t {
        let ((device, _), mut out) = (self.descriptors(), null_mut());
        // SAFETY: see above.
        unsafe {
            let (size, alignment) = (self.size, self.alignment);
            w.api.zeMemAllocDevice(w.context(), &device, size, alignment, w.device(), &mut out)
        }
    }

    pub fn host(self, w: &World) -> ze_result_t {
        let ((_, host), mut out) = (self.descriptors(), null_mut());
        // SAFETY: see above.
        unsafe { w.api.zeMemAllocHost(w.context(), &host, self.size, self.alignment, &mut out) }
    }
}

pub(super) fn image(w: &World, desc: ze_image_desc_t) -> ze_result_t {
    // SAFETY: live handles.
    unsafe { w.api.zeImageCreate(w.context(), w.device(), &desc, &mut null_mut()) }
}

pub(super) fn image_properties(w: &World, desc: ze_image_desc_t) -> ze_result_t {
    let mut out = flagged!(ze_image_properties_t { stype: ZE_STRUCTURE_TYPE_IMAGE_PROPERTIES });
    // SAFETY: live handles.
    unsafe { w.api.zeImageGetProperties(w.device(), &desc, &mut out) }
}

pub(super) fn view(w: &World, desc: ze_image_desc_t) -> ze_result_t {
    // SAFETY: live handles.
    unsafe { w.api.zeImageViewCreateExt(w.context(), w.device(), &desc, w.image.handle, &mut null_mut()) }
}

pub(super) fn view_exp(w: &World, desc: ze_image_desc_t) -> ze_result_t {
    // SAFETY: live handles.
    unsafe { w.api.zeImageViewCreateExp(w.context(), w.device(), &desc, w.image.handle, &mut null_mut()) }
}

pub(super) fn sampler(w: &World, addressing: u32, filter: u32) -> ze_result_t {
    let desc = flagged!(ze_sampler_desc_t {
        stype: ZE_STRUCTURE_TYPE_SAMPLER_DESC,
        addressMode: ze_sampler_address_mode_t(addressing),
        filterMode: ze_sampler_filter_mode_t(filter)
    });
    // SAFETY: live handles.
    unsafe { w.api.zeSamplerCreate(w.context(), w.device(), &desc, &mut null_mut()) }
}

pub(super) fn module(w: &World, desc: ze_module_desc_t) -> ze_result_t {
    // SAFETY: live handles.
    unsafe { w.api.zeModuleCreate(w.context(), w.device(), &desc, &mut null_mut(), null_mut()) }
}

pub(super) fn kernel(w: &World, module: &Module, flags: u32, name: &std::ffi::CStr) -> ze_result_t {
    let desc = flagged!(ze_kernel_desc_t {
        stype: ZE_STRUCTURE_TYPE_KERNEL_DESC,
        flags: flags,
        pKernelName: name.as_ptr()
    });
    // SAFETY: live handles.
    unsafe { w.api.zeKernelCreate(module.handle, &desc, &mut null_mut()) }
}

/// Maps the second page.
pub(super) fn map(w: &World, at: usize, size: usize, offset: usize, access: u32) -> ze_result_t {
    let access = ze_memory_access_attribute_t(access);
    let at = w.reserved.wrapping_byte_add(at);
    // SAFETY: live handles.
    unsafe { w.api.zeVirtualMemMap(w.context(), at, size, w.physical, offset, access) }
}

pub(super) fn access_of(w: &World, at: usize, size: usize) -> ze_result_t {
    let (mut access, mut out) = (ze_memory_access_attribute_t(0), 0);
    let at = w.reserved.wrapping_byte_add(at);
    // SAFETY: live handles.
    unsafe { w.api.zeVirtualMemGetAccessAttribute(w.context(), at, size, &mut access, &mut out) }
}

pub(super) fn set_access(w: &World, at: usize, size: usize, access: u32) -> ze_result_t {
    let at = w.reserved.wrapping_byte_add(at);
    // SAFETY: live handles.
    unsafe {
        w.api.zeVirtualMemSetAccessAttribute(w.context(), at, size, ze_memory_access_attribute_t(access))
    }
}

pub(super) fn physical(w: &World, change: impl FnOnce(&mut ze_physical_mem_desc_t)) -> ze_result_t {
    let mut desc = physical_desc();
    change(&mut desc);
    // SAFETY: live handles and a valid chain.
    unsafe { w.api.zePhysicalMemCreate(w.context(), w.device(), &mut desc, &mut null_mut()) }
}

pub(super) const GROUPS: ze_group_count_t =
    ze_group_count_t { groupCountX: 1, groupCountY: 1, groupCountZ: 1 };

/// A list whose first command, a launch, may change in all ways, and the command's number.
pub(super) struct Mutable {
    pub list: ze_command_list_handle_t,
    pub id: u64,
}

impl Mutable {
    pub fn id_of(w: &World, list: ze_command_list_handle_t, flags: u32) -> (ze_result_t, u64) {
        let mut id = 0;
        let desc = flagged!(ze_mutable_command_id_exp_desc_t {
            stype: ZE_STRUCTURE_TYPE_MUTABLE_COMMAND_ID_EXP_DESC,
            flags: flags
        });
        // SAFETY: live handles.
        (unsafe { w.api.zeCommandListGetNextCommandIdExp(list, &desc, &mut id) }, id)
    }

    pub fn list(w: &World) -> ze_command_list_handle_t {
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

    pub fn new(w: &World) -> Mutable {
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
pub(super) fn with_mutable(w: &World, call: impl FnOnce(&Mutable) -> ze_result_t) -> ze_result_t {
    let mutable = Mutable::new(w);
    let code = call(&mutable);
    // SAFETY: a list that nothing uses.
    unsafe { w.api.zeCommandListDestroy(mutable.list) };
    code
}

pub(super) unsafe extern "C" fn nothing(_: *mut c_void) {}

pub(super) fn fill(w: &World, pattern: *const c_void, pattern_size: usize, size: usize) -> ze_result_t {
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

pub(super) fn launch_with_arguments(w: &World, size: [u32; 3], next: *const c_void) -> ze_result_t {
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
