//! What the core API says: the driver, its devices and their properties.

use std::ffi::c_void;
use std::ptr::null_mut;

use ze_headers::*;

use crate::api::{Api, list};
use crate::json::{Map, Value, error, object, text, uuid, value_or_error, version};
use crate::names;

/// Asks for one structure and turns it into JSON.
macro_rules! query {
    ($api:ident.$function:ident($handle:expr), $type:ident { stype: $stype:ident $(, pNext: $next:expr)? }, |$out:ident| $body:expr) => {{
        #[allow(unused_mut)]
        let mut $out = $type { stype: $stype, $(pNext: $next,)? ..Default::default() };
        // SAFETY: a live handle, and a structure of the announced type with a valid chain.
        let answer = unsafe { $api.$function($handle, &mut $out) };
        answer.map(|()| $body)
    }};
}
pub(crate) use query;

/// Puts structures behind each other: each one's `pNext` is the one before, and the last is what to pass on.
macro_rules! chain {
    ($first:ident $(, $rest:ident)*) => {{
        let mut next: *mut c_void = std::ptr::null_mut();
        $first.pNext = next.cast();
        next = (&raw mut $first).cast();
        $(
            $rest.pNext = next.cast();
            next = (&raw mut $rest).cast();
        )*
        next
    }};
}

/// The initialised drivers.
pub fn drivers(api: &Api) -> Result<Vec<ze_driver_handle_t>, String> {
    // SAFETY: plain values in and out.
    unsafe {
        api.zeInit(0)?;
        list(null_mut(), |count, out| api.zeDriverGet(count, out))
    }
}

/// A driver's devices.
pub fn devices(api: &Api, driver: ze_driver_handle_t) -> Result<Vec<ze_device_handle_t>, String> {
    // SAFETY: a live driver.
    list(null_mut(), |count, out| unsafe { api.zeDeviceGet(driver, count, out) })
}

/// A device's sub-devices.
pub fn sub_devices(api: &Api, device: ze_device_handle_t) -> Result<Vec<ze_device_handle_t>, String> {
    // SAFETY: a live device.
    list(null_mut(), |count, out| unsafe { api.zeDeviceGetSubDevices(device, count, out) })
}

fn extensions(api: &Api, driver: ze_driver_handle_t) -> Result<Value, String> {
    // SAFETY: a live driver.
    let extensions = list(ze_driver_extension_properties_t::default(), |count, out| unsafe {
        api.zeDriverGetExtensionProperties(driver, count, out)
    })?;
    let entries = extensions.iter().map(|extension| (text(&extension.name), version(extension.version)));
    Ok(Value::Object(entries.collect::<Map<_, _>>()))
}

/// A driver, with what `device` makes of each of its devices.
pub fn driver(api: &Api, driver: ze_driver_handle_t, device: impl Fn(ze_device_handle_t) -> Value) -> Value {
    let mut api_version = ze_api_version_t(0);
    // SAFETY: a live driver.
    let known = unsafe { api.zeDriverGetApiVersion(driver, &mut api_version) };
    let properties = query!(
        api.zeDriverGetProperties(driver),
        ze_driver_properties_t { stype: ZE_STRUCTURE_TYPE_DRIVER_PROPERTIES },
        |out| object!(out; driverVersion; uuid = uuid(&out.uuid.id))
    );
    let ipc = query!(
        api.zeDriverGetIpcProperties(driver),
        ze_driver_ipc_properties_t { stype: ZE_STRUCTURE_TYPE_DRIVER_IPC_PROPERTIES },
        |out| names::ipc_flags(out.flags)
    );
    let devices = devices(api, driver).map(|devices| devices.into_iter().map(device).collect::<Value>());
    object!((); ;
        apiVersion = value_or_error(known.map(|()| version(api_version.0))),
        properties = value_or_error(properties),
        ipc = value_or_error(ipc),
        extensions = value_or_error(extensions(api, driver)),
        devices = value_or_error(devices),
    )
}

fn identity(api: &Api, device: ze_device_handle_t) -> Result<Value, String> {
    // The older type of the structure asks for the timer in cycles a second, the newer in nanoseconds a cycle.
    let timer = query!(
        api.zeDeviceGetProperties(device),
        ze_device_properties_t { stype: ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES_1_2 },
        |out| Value::from(out.timerResolution)
    );
    let mut ip =
        ze_device_ip_version_ext_t { stype: ZE_STRUCTURE_TYPE_DEVICE_IP_VERSION_EXT, ..Default::default() };
    let mut eus = ze_eu_count_ext_t { stype: ZE_STRUCTURE_TYPE_EU_COUNT_EXT, ..Default::default() };
    let next = chain!(ip, eus);
    query!(
        api.zeDeviceGetProperties(device),
        ze_device_properties_t { stype: ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES, pNext: next },
        |out| object!(out;
            name vendorId deviceId subdeviceId coreClockRate maxMemAllocSize maxHardwareContexts
            maxCommandQueuePriority numThreadsPerEU physicalEUSimdWidth numEUsPerSubslice numSubslicesPerSlice
            numSlices timerResolution timestampValidBits kernelTimestampValidBits;
            type = names::device_type(out.type_),
            flags = names::device_flags(out.flags),
            uuid = uuid(&out.uuid.id),
            ipVersion = ip.ipVersion,
            numTotalEUs = eus.numTotalEUs,
            timerFrequency = value_or_error(timer),
        )
    )
}

fn module(api: &Api, device: ze_device_handle_t) -> Result<Value, String> {
    let mut atomics = ze_float_atomic_ext_properties_t {
        stype: ZE_STRUCTURE_TYPE_FLOAT_ATOMIC_EXT_PROPERTIES,
        ..Default::default()
    };
    let mut hints = ze_scheduling_hint_exp_properties_t {
        stype: ZE_STRUCTURE_TYPE_SCHEDULING_HINT_EXP_PROPERTIES,
        ..Default::default()
    };
    let next = chain!(atomics, hints);
    query!(
        api.zeDeviceGetModuleProperties(device),
        ze_device_module_properties_t { stype: ZE_STRUCTURE_TYPE_DEVICE_MODULE_PROPERTIES, pNext: next },
        |out| object!(out; maxArgumentsSize printfBufferSize;
            spirvVersionSupported = version(out.spirvVersionSupported),
            flags = names::module_flags(out.flags),
            fp16flags = names::fp_flags(out.fp16flags),
            fp32flags = names::fp_flags(out.fp32flags),
            fp64flags = names::fp_flags(out.fp64flags),
            nativeKernelSupported = uuid(&out.nativeKernelSupported.id),
            fp16Atomics = names::fp_atomic_flags(atomics.fp16Flags),
            fp32Atomics = names::fp_atomic_flags(atomics.fp32Flags),
            fp64Atomics = names::fp_atomic_flags(atomics.fp64Flags),
            schedulingHints = names::hint_flags(hints.schedulingHintFlags),
        )
    )
}

fn compute(api: &Api, device: ze_device_handle_t) -> Result<Value, String> {
    query!(
        api.zeDeviceGetComputeProperties(device),
        ze_device_compute_properties_t { stype: ZE_STRUCTURE_TYPE_DEVICE_COMPUTE_PROPERTIES },
        |out| {
            let sizes = &out.subGroupSizes[..out.subGroupSizes.len().min(out.numSubGroupSizes as usize)];
            object!(out;
                maxTotalGroupSize maxGroupSizeX maxGroupSizeY maxGroupSizeZ maxGroupCountX maxGroupCountY
                maxGroupCountZ maxSharedLocalMemory;
                subGroupSizes = sizes.to_vec(),
            )
        }
    )
}

/// Items of a list as an array.
fn array<T>(items: Result<Vec<T>, String>, json: impl Fn(&T) -> Value) -> Result<Value, String> {
    items.map(|items| items.iter().map(json).collect())
}

fn queue_groups(api: &Api, device: ze_device_handle_t) -> Result<Value, String> {
    let item = ze_command_queue_group_properties_t {
        stype: ZE_STRUCTURE_TYPE_COMMAND_QUEUE_GROUP_PROPERTIES,
        ..Default::default()
    };
    // SAFETY: a live device.
    let groups =
        list(item, |count, out| unsafe { api.zeDeviceGetCommandQueueGroupProperties(device, count, out) });
    array(
        groups,
        |out| object!(out; numQueues maxMemoryFillPatternSize; flags = names::queue_flags(out.flags)),
    )
}

fn memories(api: &Api, device: ze_device_handle_t) -> Result<Value, String> {
    let item = ze_device_memory_properties_t {
        stype: ZE_STRUCTURE_TYPE_DEVICE_MEMORY_PROPERTIES,
        ..Default::default()
    };
    // SAFETY: a live device.
    let mut memories =
        list(item, |count, out| unsafe { api.zeDeviceGetMemoryProperties(device, count, out) })?;
    // Each with the structure that says more, in arrays that stay where they are.
    let ext = ze_device_memory_ext_properties_t {
        stype: ZE_STRUCTURE_TYPE_DEVICE_MEMORY_EXT_PROPERTIES,
        ..Default::default()
    };
    let mut more = vec![ext; memories.len()];
    for (memory, ext) in memories.iter_mut().zip(&mut more) {
        memory.pNext = std::ptr::from_mut(ext).cast();
    }
    let mut count = memories.len() as u32;
    // SAFETY: a live device, and `count` structures with valid chains.
    unsafe { api.zeDeviceGetMemoryProperties(device, &mut count, memories.as_mut_ptr()) }?;
    let both = memories.iter().zip(&more);
    Ok(both
        .map(|(memory, ext)| {
            object!(memory; name totalSize maxClockRate maxBusWidth;
                type = names::memory_type(ext.type_),
                physicalSize = ext.physicalSize,
                readBandwidth = ext.readBandwidth,
                writeBandwidth = ext.writeBandwidth,
            )
        })
        .collect())
}

fn caches(api: &Api, device: ze_device_handle_t) -> Result<Value, String> {
    let item = ze_device_cache_properties_t {
        stype: ZE_STRUCTURE_TYPE_DEVICE_CACHE_PROPERTIES,
        ..Default::default()
    };
    // SAFETY: a live device.
    let caches = list(item, |count, out| unsafe { api.zeDeviceGetCacheProperties(device, count, out) });
    array(caches, |out| object!(out; cacheSize; flags = names::cache_flags(out.flags)))
}

fn vector_widths(api: &Api, device: ze_device_handle_t) -> Result<Value, String> {
    let item = ze_device_vector_width_properties_ext_t {
        stype: ZE_STRUCTURE_TYPE_DEVICE_VECTOR_WIDTH_PROPERTIES_EXT,
        ..Default::default()
    };
    // SAFETY: a live device.
    let widths =
        list(item, |count, out| unsafe { api.zeDeviceGetVectorWidthPropertiesExt(device, count, out) });
    array(widths, |out| {
        object!(out; vector_width_size preferred_vector_width_char preferred_vector_width_short
            preferred_vector_width_int preferred_vector_width_long preferred_vector_width_float
            preferred_vector_width_double preferred_vector_width_half native_vector_width_char
            native_vector_width_short native_vector_width_int native_vector_width_long
            native_vector_width_float native_vector_width_double native_vector_width_half)
    })
}

fn access(api: &Api, device: ze_device_handle_t) -> Result<Value, String> {
    query!(
        api.zeDeviceGetMemoryAccessProperties(device),
        ze_device_memory_access_properties_t { stype: ZE_STRUCTURE_TYPE_DEVICE_MEMORY_ACCESS_PROPERTIES },
        |out| object!((); ;
            hostAllocCapabilities = names::access_flags(out.hostAllocCapabilities),
            deviceAllocCapabilities = names::access_flags(out.deviceAllocCapabilities),
            sharedSingleDeviceAllocCapabilities = names::access_flags(out.sharedSingleDeviceAllocCapabilities),
            sharedCrossDeviceAllocCapabilities = names::access_flags(out.sharedCrossDeviceAllocCapabilities),
            sharedSystemAllocCapabilities = names::access_flags(out.sharedSystemAllocCapabilities),
        )
    )
}

fn images(api: &Api, device: ze_device_handle_t) -> Result<Value, String> {
    query!(
        api.zeDeviceGetImageProperties(device),
        ze_device_image_properties_t { stype: ZE_STRUCTURE_TYPE_DEVICE_IMAGE_PROPERTIES },
        |out| object!(out; maxImageDims1D maxImageDims2D maxImageDims3D maxImageBufferSize maxImageArraySlices
            maxSamplers maxReadImageArgs maxWriteImageArgs)
    )
}

fn external_memory(api: &Api, device: ze_device_handle_t) -> Result<Value, String> {
    query!(
        api.zeDeviceGetExternalMemoryProperties(device),
        ze_device_external_memory_properties_t { stype: ZE_STRUCTURE_TYPE_DEVICE_EXTERNAL_MEMORY_PROPERTIES },
        |out| object!((); ;
            memoryAllocationImportTypes = names::external_memory_flags(out.memoryAllocationImportTypes),
            memoryAllocationExportTypes = names::external_memory_flags(out.memoryAllocationExportTypes),
            imageImportTypes = names::external_memory_flags(out.imageImportTypes),
            imageExportTypes = names::external_memory_flags(out.imageExportTypes),
        )
    )
}

fn peer(api: &Api, device: ze_device_handle_t) -> Result<Value, String> {
    let mut out =
        ze_device_p2p_properties_t { stype: ZE_STRUCTURE_TYPE_DEVICE_P2P_PROPERTIES, ..Default::default() };
    // SAFETY: a live device that is its own peer.
    unsafe { api.zeDeviceGetP2PProperties(device, device, &mut out) }?;
    Ok(object!((); ; itself = names::peer_flags(out.flags)))
}

/// What changes from one moment to the next.
fn now(api: &Api, device: ze_device_handle_t) -> Value {
    let mut usable = ze_device_usablemem_size_ext_properties_t {
        stype: ZE_STRUCTURE_TYPE_DEVICE_USABLEMEM_SIZE_EXT_PROPERTIES,
        ..Default::default()
    };
    let next = chain!(usable);
    let memory = query!(
        api.zeDeviceGetProperties(device),
        ze_device_properties_t { stype: ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES, pNext: next },
        |out| {
            let _ = out;
            Value::from(usable.currUsableMemSize)
        }
    );
    let (mut host, mut on_device) = (0, 0);
    // SAFETY: a live device, and places for the answers.
    let timestamps = unsafe { api.zeDeviceGetGlobalTimestamps(device, &mut host, &mut on_device) };
    let timestamps = timestamps.map(|()| object!((); ; host = host, device = on_device));
    // SAFETY: a live device.
    let status = unsafe { api.zeDeviceGetStatus(device) };
    object!((); ;
        status = status.map_or_else(error, |()| Value::from("OK")),
        currUsableMemSize = value_or_error(memory),
        globalTimestamps = value_or_error(timestamps),
    )
}

/// A device and its sub-devices.
pub fn device(api: &Api, device: ze_device_handle_t) -> Value {
    let sub_devices = sub_devices(api, device)
        .map(|devices| devices.into_iter().map(|device| self::device(api, device)).collect::<Value>());
    object!((); ;
        properties = value_or_error(identity(api, device)),
        compute = value_or_error(compute(api, device)),
        module = value_or_error(module(api, device)),
        queueGroups = value_or_error(queue_groups(api, device)),
        memories = value_or_error(memories(api, device)),
        memoryAccess = value_or_error(access(api, device)),
        caches = value_or_error(caches(api, device)),
        images = value_or_error(images(api, device)),
        externalMemory = value_or_error(external_memory(api, device)),
        peers = value_or_error(peer(api, device)),
        vectorWidths = value_or_error(vector_widths(api, device)),
        subDevices = value_or_error(sub_devices),
        now = now(api, device),
    )
}
