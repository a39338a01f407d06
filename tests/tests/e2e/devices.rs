//! Several devices and sub-devices: which a program sees, and that they work together. A process has one machine, so each is
//! looked at by a test that runs in a process of its own.

use std::ffi::c_void;
use std::process::Command;
use std::ptr::null_mut;

use ze_headers::*;
use ze_tests::{CommandList, EventPool, ListOptions, Module, Platform, platform, spirv};

/// Runs an ignored test of this file in a process with these variables, and returns what it printed and what the driver logged.
fn with(variables: &[(&str, &str)], test: &str) -> (String, String) {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "--ignored", "--nocapture", &format!("devices::{test}")]);
    command.env_remove("ZE_FLAT_DEVICE_HIERARCHY").env_remove("ZE_AFFINITY_MASK");
    command.envs(variables.iter().copied()).env("ZE_CPU_LOG", "warn");
    let output = command.output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let (out, errors) = (text(&output.stdout), text(&output.stderr));
    assert!(output.status.success() && out.contains("1 passed"), "{variables:?}, {test}:\n{out}\n{errors}");
    (out, errors)
}

/// What a device says about its place among the others.
fn place(platform: &Platform) -> String {
    let properties = platform.device_properties().unwrap();
    let kind = match properties.type_ {
        ZE_DEVICE_TYPE_GPU => "gpu",
        ZE_DEVICE_TYPE_CPU => "cpu",
        _ => "other",
    };
    let sub = if properties.flags & ZE_DEVICE_PROPERTY_FLAG_SUBDEVICE != 0 { " sub" } else { "" };
    let mut root = null_mut();
    // SAFETY: a live device and a place for a handle.
    let code = unsafe { platform.api.zeDeviceGetRootDevice(platform.device, &mut root) };
    platform.check("zeDeviceGetRootDevice", code).unwrap();
    let root = if root.is_null() { "" } else { " rooted" };
    let eus = properties.numSlices * properties.numSubslicesPerSlice * properties.numEUsPerSubslice;
    let memory = memory_bytes(platform) >> 30;
    format!("{kind}{sub}{root} {} {eus} EUs {memory} GiB", properties.subdeviceId)
}

fn memory_bytes(platform: &Platform) -> u64 {
    let mut memory = ze_device_memory_properties_t {
        stype: ZE_STRUCTURE_TYPE_DEVICE_MEMORY_PROPERTIES,
        ..Default::default()
    };
    // SAFETY: a live device and one structure.
    let code = unsafe { platform.api.zeDeviceGetMemoryProperties(platform.device, &mut 1, &mut memory) };
    platform.check("zeDeviceGetMemoryProperties", code).unwrap();
    memory.totalSize
}

fn uuid(platform: &Platform) -> [u8; 16] {
    platform.device_properties().unwrap().uuid.id
}

/// Prints the devices and their sub-devices, a line each, and their UUIDs.
#[test]
#[ignore = "run by another test, with variables"]
fn says_what_there_is() {
    for device in platform().devices() {
        let device = platform().with_device(device);
        println!("= {}", place(&device));
        println!("# {:02x?}", uuid(&device));
        for part in device.sub_devices() {
            let part = device.with_device(part);
            println!("=   {}", place(&part));
            println!("# {:02x?}", uuid(&part));
            assert!(part.sub_devices().is_empty());
        }
    }
}

/// The lines of [`says_what_there_is`] that begin so.
fn lines(variables: &[(&str, &str)], start: &str) -> Vec<String> {
    let (out, _) = with(variables, "says_what_there_is");
    out.lines().filter_map(|line| line.strip_prefix(start)).map(|line| line.trim_start().to_owned()).collect()
}

const MAX_1550: (&str, &str) = ("ZE_CPU_PROFILE", "max-1550");

fn hierarchy(value: &'static str) -> (&'static str, &'static str) {
    ("ZE_FLAT_DEVICE_HIERARCHY", value)
}

fn mask(value: &'static str) -> (&'static str, &'static str) {
    ("ZE_AFFINITY_MASK", value)
}

#[test]
fn tiles_are_devices_or_sub_devices_as_the_hierarchy_says() {
    let tiles = ["gpu 0 512 EUs 64 GiB", "gpu 1 512 EUs 64 GiB"];
    assert_eq!(lines(&[MAX_1550], "="), tiles, "as on the real device");
    assert_eq!(lines(&[MAX_1550, hierarchy("FLAT")], "="), tiles);
    let combined = ["gpu sub rooted 0 512 EUs 64 GiB", "gpu sub rooted 1 512 EUs 64 GiB"];
    assert_eq!(lines(&[MAX_1550, hierarchy("COMBINED")], "="), combined);
    let composite = ["gpu 0 1024 EUs 128 GiB", combined[0], combined[1]];
    assert_eq!(lines(&[MAX_1550, hierarchy("COMPOSITE")], "="), composite);
}

#[test]
fn a_mask_leaves_what_it_names() {
    let two = [MAX_1550, ("ZE_CPU_DEVICES", "2")];
    let seen = |kind: &'static str, names: &'static str| {
        lines(&[two[0], two[1], hierarchy(kind), mask(names)], "=").join(", ")
    };
    let tile = "gpu 0 512 EUs 64 GiB";
    assert_eq!(seen("COMPOSITE", "1.1"), tile, "a device by itself");
    assert_eq!(seen("COMPOSITE", "0.0,1.1"), format!("{tile}, {tile}"));
    assert!(seen("COMPOSITE", "1").starts_with("gpu 0 1024 EUs 128 GiB, gpu sub rooted 0"));
    assert_eq!(seen("FLAT", "3"), tile);
    assert_eq!(seen("FLAT", "0,1"), format!("{tile}, gpu 1 512 EUs 64 GiB"));
    assert_eq!(seen("COMBINED", "2"), "gpu sub rooted 0 512 EUs 64 GiB");
}

#[test]
fn a_device_has_one_uuid_however_it_is_seen() {
    let two = ("ZE_CPU_DEVICES", "2");
    let all = lines(&[MAX_1550, two, hierarchy("COMPOSITE")], "#");
    let mut distinct = all.clone();
    distinct.sort();
    distinct.dedup();
    assert_eq!((all.len(), distinct.len()), (6, 6), "two devices of two parts");
    let parts = [&all[1], &all[2], &all[4], &all[5]].map(String::clone);
    assert_eq!(lines(&[MAX_1550, two, hierarchy("FLAT")], "#"), parts);
    assert_eq!(lines(&[MAX_1550, two, hierarchy("FLAT"), mask("2")], "#"), [all[4].clone()]);
    assert_eq!(lines(&[MAX_1550, two, hierarchy("COMPOSITE"), mask("1.0")], "#"), [all[4].clone()]);
    assert_eq!(lines(&[MAX_1550, hierarchy("COMPOSITE")], "#"), all[..3]);
}

#[test]
fn variables_say_how_many_devices_there_are() {
    assert_eq!(lines(&[("ZE_CPU_DEVICES", "5")], "=").len(), 5);
    let lines = lines(&[("ZE_CPU_DEVICES", "2"), ("ZE_CPU_SUBDEVICES", "3")], "=");
    let shape: Vec<_> = lines.iter().map(|line| line.contains(" sub ")).collect();
    assert_eq!(shape, [false, true, true, true, false, true, true, true]);
}

#[test]
fn a_number_of_devices_that_cannot_be_is_told_and_not_used() {
    for (variable, value) in [
        ("ZE_CPU_DEVICES", "0"),
        ("ZE_CPU_DEVICES", "65"),
        ("ZE_CPU_SUBDEVICES", "17"),
        ("ZE_CPU_SUBDEVICES", "two"),
    ] {
        let (out, errors) = with(&[(variable, value)], "says_what_there_is");
        assert_eq!(out.matches("\n= ").count(), 1, "{out}");
        assert!(errors.contains(&format!("{variable}={value}: expected a number")), "{errors}");
    }
    let (_, errors) = with(&[hierarchy("flat")], "says_what_there_is");
    assert!(errors.contains("ZE_FLAT_DEVICE_HIERARCHY=flat"), "{errors}");
}

#[test]
fn the_cpu_is_beside_the_gpu_where_the_profile_says_so() {
    let lines = lines(&[("ZE_CPU_PROFILE", "host-cpu")], "=");
    let kinds: Vec<_> = lines.iter().map(|line| &line[..3]).collect();
    assert_eq!(kinds, ["gpu", "cpu"]);
}

/// All devices and sub-devices.
fn everything() -> Vec<Platform> {
    let roots = platform().devices().into_iter().map(|device| platform().with_device(device));
    roots
        .flat_map(|root| {
            let parts: Vec<_> = root.sub_devices().into_iter().map(|part| root.with_device(part)).collect();
            std::iter::once(root).chain(parts)
        })
        .collect()
}

fn device_memory(device: &Platform, bytes: usize) -> ze_tests::Result<*mut c_void> {
    let desc =
        ze_device_mem_alloc_desc_t { stype: ZE_STRUCTURE_TYPE_DEVICE_MEM_ALLOC_DESC, ..Default::default() };
    let mut memory = null_mut();
    // SAFETY: live handles.
    let code =
        unsafe { device.api.zeMemAllocDevice(device.context, &desc, bytes, 0, device.device, &mut memory) };
    device.check("zeMemAllocDevice", code).map(|()| memory)
}

/// The device that memory is of.
fn device_of(memory: *const c_void) -> ze_device_handle_t {
    let mut properties = ze_memory_allocation_properties_t {
        stype: ZE_STRUCTURE_TYPE_MEMORY_ALLOCATION_PROPERTIES,
        ..Default::default()
    };
    let (p, mut device) = (platform(), null_mut());
    // SAFETY: live handles and places for what is written.
    let code = unsafe { p.api.zeMemGetAllocProperties(p.context, memory, &mut properties, &mut device) };
    p.check("zeMemGetAllocProperties", code).unwrap();
    device
}

#[test]
#[ignore = "run by another test, with variables"]
fn works_together() {
    const ITEMS: usize = 1000;
    let devices = everything();
    assert_eq!(devices.len(), 6);
    let words = spirv("vector_add");
    let pool = EventPool::host_visible(16);
    let events: Vec<_> = (0..=devices.len() as u32).map(|index| pool.event(index)).collect();
    // Each adds its number to what the one before has, in its own memory, when that one's event says so.
    let mut before = device_memory(&devices[0], 4 * ITEMS).unwrap();
    let zeros = platform().filled(0f32, ITEMS);
    // SAFETY: memory of this size, which no command uses yet.
    unsafe { before.cast::<f32>().copy_from_nonoverlapping(zeros.pointer(), ITEMS) };
    let mut lists = Vec::new();
    for (number, device) in devices.iter().enumerate() {
        let module = Module::on(device, &words, "").unwrap();
        let kernel = module.kernel("vector_add");
        let memory = device_memory(device, 4 * ITEMS).unwrap();
        assert_eq!(device_of(memory), device.device);
        let own = platform().filled((number + 1) as f32, ITEMS);
        kernel.set_group_size([50, 1, 1]).unwrap();
        for (index, pointer) in [before, own.pointer().cast(), memory].into_iter().enumerate() {
            kernel.set_bytes(index as u32, &(pointer as usize).to_ne_bytes()).unwrap();
        }
        kernel.set_bytes(3, &(ITEMS as u32).to_ne_bytes()).unwrap();
        let list = CommandList::immediate_on(device, ListOptions::asynchronous()).unwrap();
        let (wait, done) = (&events[number], &events[number + 1]);
        list.launch(&kernel, [ITEMS as u32 / 50, 1, 1], Some(done), &[wait]).unwrap();
        lists.push((list, module, kernel, own));
        before = memory;
    }
    assert!(!events[devices.len()].is_signalled());
    events[0].signal().unwrap();
    for (list, ..) in &lists {
        list.synchronize(u64::MAX).unwrap();
    }
    // SAFETY: the last device's memory, which is written.
    let sums = unsafe { std::slice::from_raw_parts(before.cast::<f32>(), ITEMS) };
    assert!(sums.iter().all(|&sum| sum == 21.0), "{:?}", &sums[..4]);
}

#[test]
fn kernels_events_and_memory_of_all_devices_go_together() {
    let variables = [("ZE_CPU_DEVICES", "2"), ("ZE_CPU_SUBDEVICES", "2"), hierarchy("COMPOSITE")];
    with(&variables, "works_together");
}

#[test]
#[ignore = "run by another test, with variables"]
fn keeps_apart_what_is_of_another_device() {
    let devices: Vec<_> = platform().devices().iter().map(|&device| platform().with_device(device)).collect();
    let (p, [first, second]) = (platform(), [&devices[0], &devices[1]]);
    // All memory is near: every device reaches every other.
    let mut value = 0;
    let mut p2p =
        ze_device_p2p_properties_t { stype: ZE_STRUCTURE_TYPE_DEVICE_P2P_PROPERTIES, ..Default::default() };
    // SAFETY: live devices, places for what is written.
    unsafe {
        p.check("peer", p.api.zeDeviceCanAccessPeer(first.device, second.device, &mut value)).unwrap();
        p.check("p2p", p.api.zeDeviceGetP2PProperties(first.device, second.device, &mut p2p)).unwrap();
    }
    assert_eq!(value, 1);
    assert_eq!(p2p.flags, ZE_DEVICE_P2P_PROPERTY_FLAG_ACCESS | ZE_DEVICE_P2P_PROPERTY_FLAG_ATOMICS);
    // A kernel runs on the device that its module was made for, and a list where it was made.
    let module = Module::on(first, &spirv("empty"), "").unwrap();
    let kernel = module.kernel(&module.kernel_names().unwrap()[0]);
    kernel.set_group_size([1, 1, 1]).unwrap();
    let list = CommandList::immediate_on(second, ListOptions::synchronous()).unwrap();
    let refused = list.launch(&kernel, [1, 1, 1], None, &[]).unwrap_err();
    assert_eq!(refused.code, ZE_RESULT_ERROR_INVALID_ARGUMENT);
    assert!(refused.reason.contains("another device"), "{}", refused.reason);
    let part = first.with_device(first.sub_devices()[1]);
    let list = CommandList::immediate_on(&part, ListOptions::synchronous()).unwrap();
    list.launch(&kernel, [1, 1, 1], None, &[]).expect("parts have the code of the whole");
    let desc = ze_command_list_desc_t { stype: ZE_STRUCTURE_TYPE_COMMAND_LIST_DESC, ..Default::default() };
    let queue_desc =
        ze_command_queue_desc_t { stype: ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC, ..Default::default() };
    let (mut list, mut queue) = (null_mut(), null_mut());
    // SAFETY: live handles, places for what is written.
    let code = unsafe {
        p.check("list", p.api.zeCommandListCreate(p.context, first.device, &desc, &mut list)).unwrap();
        p.check("close", p.api.zeCommandListClose(list)).unwrap();
        p.check("queue", p.api.zeCommandQueueCreate(p.context, second.device, &queue_desc, &mut queue))
            .unwrap();
        p.api.zeCommandQueueExecuteCommandLists(queue, 1, &mut list, null_mut())
    };
    assert_eq!(code, ZE_RESULT_ERROR_INVALID_ARGUMENT, "{}", p.last_error());
    // A context of one device has no memory of the other, but of its parts.
    let desc = ze_context_desc_t { stype: ZE_STRUCTURE_TYPE_CONTEXT_DESC, ..Default::default() };
    let mut context = null_mut();
    let mut of = [second.device];
    // SAFETY: as above.
    let code = unsafe { p.api.zeContextCreateEx(p.driver, &desc, 1, of.as_mut_ptr(), &mut context) };
    p.check("zeContextCreateEx", code).unwrap();
    let within = |device: &Platform| Platform { context, ..device.with_device(device.device) };
    assert_eq!(device_memory(&within(first), 64).unwrap_err().code, ZE_RESULT_ERROR_DEVICE_LOST);
    let memory = device_memory(&within(second), 64).unwrap();
    assert_eq!(device_of(memory), second.device);
    let part = second.with_device(second.sub_devices()[0]);
    assert_eq!(device_of(device_memory(&within(&part), 64).unwrap()), part.device);
    // Memory that is made shareable in its place is still the device's; what runs elsewhere does not matter.
    let mut handle = ze_ipc_mem_handle_t::default();
    // SAFETY: live handles, places for what is written.
    let opened = unsafe {
        p.check("get", p.api.zeMemGetIpcHandle(context, memory, &mut handle)).unwrap();
        let mut opened = null_mut();
        p.check("open", p.api.zeMemOpenIpcHandle(p.context, first.device, handle, 0, &mut opened)).unwrap();
        opened
    };
    assert_eq!((device_of(opened), device_of(memory)), (first.device, second.device));
    // Each device has memory of its own, of which a part has its share.
    let all = memory_bytes(first);
    assert_eq!(memory_bytes(&part) * 2, memory_bytes(second));
    assert_eq!(all, memory_bytes(second));
    // Both are at the same time.
    let (mut host, mut times) = (0, [0; 2]);
    for (device, time) in devices.iter().zip(&mut times) {
        // SAFETY: live devices, places for what is written.
        unsafe {
            p.check("time", p.api.zeDeviceGetGlobalTimestamps(device.device, &mut host, time)).unwrap()
        };
    }
    assert!(times[0] <= times[1] && times[1] - times[0] < 60_000_000_000, "{times:?}");
}

#[test]
fn what_is_of_another_device_is_refused_where_a_gpu_would_not_have_it() {
    let variables = [("ZE_CPU_DEVICES", "2"), ("ZE_CPU_SUBDEVICES", "2"), hierarchy("COMPOSITE")];
    with(&variables, "keeps_apart_what_is_of_another_device");
}

#[test]
#[ignore = "run by another test, with variables"]
fn management_knows_the_machine() {
    let p = platform();
    // SAFETY: live handles, places for what is written, and room for `count` of them.
    unsafe {
        p.check("zesInit", p.api.zesInit(0)).unwrap();
        let mut drivers = [null_mut(); 1];
        p.check("drivers", p.api.zesDriverGet(&mut 1, drivers.as_mut_ptr())).unwrap();
        let mut count = 0;
        p.check("count", p.api.zesDeviceGet(drivers[0], &mut count, null_mut())).unwrap();
        assert_eq!(count, 2, "the mask is for programs that compute");
        let mut roots = [null_mut(); 2];
        p.check("devices", p.api.zesDeviceGet(drivers[0], &mut count, roots.as_mut_ptr())).unwrap();
        let mut properties =
            zes_device_properties_t { stype: ZES_STRUCTURE_TYPE_DEVICE_PROPERTIES, ..Default::default() };
        p.check("properties", p.api.zesDeviceGetProperties(roots[1], &mut properties)).unwrap();
        assert_eq!(properties.numSubdevices, 2);
        let mut parts = [zes_subdevice_exp_properties_t::default(); 2];
        count = 2;
        let code = p.api.zesDeviceGetSubDevicePropertiesExp(roots[1], &mut count, parts.as_mut_ptr());
        p.check("parts", code).unwrap();
        assert_eq!(parts.map(|part| part.subdeviceId), [0, 1]);
        for part in parts {
            let (mut device, mut on_part, mut id) = (null_mut(), 0, 9);
            let uuid = zes_uuid_t { id: part.uuid.id };
            let code =
                p.api.zesDriverGetDeviceByUuidExp(drivers[0], uuid, &mut device, &mut on_part, &mut id);
            p.check("by UUID", code).unwrap();
            assert_eq!((device, on_part, id), (roots[1], 1, part.subdeviceId));
        }
    }
    let seen = platform().devices();
    assert_eq!(seen.len(), 1);
    assert_eq!(platform().with_device(seen[0]).sub_devices().len(), 2);
}

#[test]
fn system_management_knows_all_devices_and_their_parts() {
    let variables = [("ZE_CPU_DEVICES", "2"), ("ZE_CPU_SUBDEVICES", "2"), hierarchy("COMPOSITE"), mask("1")];
    with(&variables, "management_knows_the_machine");
}
