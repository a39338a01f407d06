//! What the specification says that functions return: each entry is provoked, or stands here with why it cannot be.
//!
//! The driver is called by itself, so that no layer of a loader answers for it. All arguments but the one in question are right.

#[macro_use]
mod world;

use std::path::Path;
use std::ptr::{null, null_mut};

use world::*;
use ze_headers::*;
use ze_tests::platform::result_name;
use ze_tests::returns::{Entry, RETURNS};
use ze_tests::{CommandList, EventPool, Fence, ListOptions, Module, Queue, spirv};

const LAST_BIT: u32 = 1 << 31;

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
            w.api.zeContextMakeMemoryResident(w.context(), w.device(), 64 as _, 64)
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
