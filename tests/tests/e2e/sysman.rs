//! System management (`zes*`): initialisation, what every function refuses, and what the parts of the device say.

use std::mem::{transmute_copy, zeroed};
use std::path::Path;
use std::process::Command;
use std::sync::LazyLock;
use std::{fs, ptr};

use ze_headers::*;
use ze_tests::loader::{ALT_DRIVERS_VARIABLE, driver_path};
use ze_tests::{CommandList, ListOptions, MemoryKind, Module, Platform, platform};

use super::loaders::{loaders, second_driver};

const SYSMAN: &str = env!("CARGO_BIN_EXE_sysman");

/// The platform with system management initialised, and its driver and device.
fn sysman() -> (&'static Platform, zes_driver_handle_t, zes_device_handle_t) {
    static HANDLES: LazyLock<(usize, usize)> = LazyLock::new(|| {
        let api = &platform().api;
        let (mut one, mut driver, mut device) = (1, ptr::null_mut(), ptr::null_mut());
        // SAFETY: room for one handle.
        unsafe {
            assert_eq!(api.zesInit(0), ZE_RESULT_SUCCESS);
            assert_eq!(api.zesDriverGet(&mut one, &mut driver), ZE_RESULT_SUCCESS);
            assert_eq!(api.zesDeviceGet(driver, &mut one, &mut device), ZE_RESULT_SUCCESS);
        }
        assert_eq!(one, 1);
        (driver as usize, device as usize)
    });
    (platform(), HANDLES.0 as _, HANDLES.1 as _)
}

/// The handles of a list of parts; checks the count protocol on the way.
#[track_caller]
fn listed<T: Copy + PartialEq + std::fmt::Debug>(ask: impl Fn(*mut u32, *mut T) -> ze_result_t) -> Vec<T> {
    let mut total = 0;
    assert_eq!(ask(&mut total, ptr::null_mut()), ZE_RESULT_SUCCESS);
    let read = |mut count: u32| {
        // SAFETY: handles and numbers, for which zero is a value.
        let mut items: Vec<T> = vec![unsafe { zeroed() }; count as usize];
        assert_eq!(ask(&mut count, items.as_mut_ptr()), ZE_RESULT_SUCCESS);
        items.truncate(count as usize);
        items
    };
    let all = read(total + 3);
    assert_eq!(all.len(), total as usize, "a count that is too large is corrected");
    assert_eq!(all, read(total.max(1)), "the same again");
    if total > 1 {
        assert_eq!(read(total - 1), all[..all.len() - 1], "as many as there is room for");
    }
    assert_eq!(ask(ptr::null_mut(), ptr::null_mut()), ZE_RESULT_ERROR_INVALID_NULL_POINTER);
    all
}

fn run(launch: Option<&Path>, drivers: &str, way: &str, enable: &str) -> String {
    let mut command = launch.map_or_else(
        || Command::new(SYSMAN),
        |launch| {
            let mut command = Command::new(launch);
            command.arg(SYSMAN);
            command
        },
    );
    command.arg(way).env(ALT_DRIVERS_VARIABLE, drivers).env("ZES_ENABLE_SYSMAN", enable);
    let output = command.output().expect("the program starts");
    assert!(output.status.success(), "{way}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Initialises in every way with every loader. A loader that wraps handles wraps those of system management too.
#[track_caller]
fn check_ways(drivers: &str) {
    for (name, launch) in loaders() {
        for (way, enable) in [("init", "0"), ("both", "0"), ("both", "1"), ("core", "1")] {
            let text = run(launch.as_deref(), drivers, way, enable);
            if text.starts_with("the loader is older than zesInit") {
                continue;
            }
            assert!(text.contains("zesDeviceEnumEngineGroups 0x0 5"), "loader {name}, {way}:\n{text}");
            assert!(text.lines().all(|line| line.contains(" 0x0")), "loader {name}, {way}:\n{text}");
        }
    }
}

#[test]
fn every_way_of_initialising_works_with_every_loader() {
    check_ways(&driver_path().to_string_lossy());
}

#[test]
fn every_way_of_initialising_works_beside_another_driver() {
    check_ways(&format!("{},{}", driver_path().display(), second_driver().display()));
}

#[test]
fn a_program_that_initialises_only_the_core_has_no_system_management() {
    let uninitialized = format!("{:#x}", ZE_RESULT_ERROR_UNINITIALIZED.0);
    let text = run(None, &driver_path().to_string_lossy(), "core", "0");
    for function in ["zesDeviceGetProperties", "zesDeviceEnumEngineGroups", "zesEngineGetActivity"] {
        assert!(text.contains(&format!("{function} {uninitialized}")), "{text}");
    }
}

macro_rules! refusals {
    ($($api:ident $aggregate:ident { $($member:ident $table:ident $get:ident {
        $([$major:literal $minor:literal] $name:ident $field:ident
            ($($first:ident: $first_ty:ty $(, $arg:ident: $ty:ty)*)?) -> $ret:ty;)*
    })* })*) => {
        /// Calls every function of system management that takes a handle, with this address as the handle and nothing else.
        fn refusals(address: usize) -> Vec<(&'static str, u32)> {
            let api = &sysman().0.api;
            let mut results = Vec::new();
            $($($(
                let name = stringify!($name);
                if name.starts_with("zes") && !["zesInit", "zesDriverGet"].contains(&name) {
                    // SAFETY: null and invalid handles are refused before anything is read.
                    let code = unsafe { api.$name($(transmute_copy::<usize, $first_ty>(&address) $(, zeroed::<$ty>())*)?) };
                    // SAFETY: functions of system management return a code.
                    results.push((name, unsafe { transmute_copy::<_, u32>(&code) }));
                }
            )*)*)*
            results
        }
    };
}
for_each_function! { refusals }

#[test]
fn every_function_refuses_a_null_handle() {
    let results = refusals(0);
    assert_eq!(results.len(), 155);
    for (name, code) in results {
        assert_eq!(code, ZE_RESULT_ERROR_INVALID_NULL_HANDLE.0, "{name}");
    }
}

#[test]
fn every_function_refuses_a_handle_that_is_none() {
    for (name, code) in refusals(0x1000) {
        assert_eq!(code, ZE_RESULT_ERROR_INVALID_ARGUMENT.0, "{name}");
    }
    // Those of another kind too: a driver is neither a device nor a part of one.
    let driver = sysman().1 as usize;
    for (name, code) in refusals(driver).into_iter().filter(|(name, _)| !name.starts_with("zesDriver")) {
        if name != "zesDeviceGet" {
            assert_eq!(code, ZE_RESULT_ERROR_INVALID_ARGUMENT.0, "{name}");
        }
    }
}

#[test]
fn a_device_refuses_null_pointers() {
    let device = sysman().2 as usize;
    let supported = [
        // They take no pointer.
        "zesDeviceReset",
        "zesDeviceEventRegister",
        "zesDeviceSetOverclockWaiver",
        "zesDeviceResetOverclockSettings",
    ];
    let wanted = |(name, _): &(&str, u32)| {
        name.starts_with("zesDevice") && *name != "zesDeviceGet" && !supported.contains(name)
    };
    let results: Vec<_> = refusals(device).into_iter().filter(wanted).collect();
    assert!(results.len() > 30);
    for (name, code) in results {
        assert_eq!(code, ZE_RESULT_ERROR_INVALID_NULL_POINTER.0, "{name}");
    }
}

#[test]
fn the_device_is_the_core_device_and_found_by_its_uuid() {
    let (platform, driver, device) = sysman();
    let core = platform.device_properties().unwrap();
    let mut ext =
        zes_device_ext_properties_t { stype: ZES_STRUCTURE_TYPE_DEVICE_EXT_PROPERTIES, ..Default::default() };
    let mut unknown =
        zes_base_properties_t { stype: zes_structure_type_t(0x7fff), pNext: (&raw mut ext).cast() };
    let mut properties = zes_device_properties_t {
        stype: ZES_STRUCTURE_TYPE_DEVICE_PROPERTIES,
        pNext: (&raw mut unknown).cast(),
        ..Default::default()
    };
    let (mut found, mut on_subdevice, mut subdevice) = (ptr::null_mut(), 7, 7);
    // SAFETY: a live device, a chain that is built above, and places for the answers.
    unsafe {
        assert_eq!(platform.api.zesDeviceGetProperties(device, &mut properties), ZE_RESULT_SUCCESS);
        let mut find = |uuid| {
            platform.api.zesDriverGetDeviceByUuidExp(
                driver,
                uuid,
                &mut found,
                &mut on_subdevice,
                &mut subdevice,
            )
        };
        assert_eq!(find(ext.uuid), ZE_RESULT_SUCCESS);
        assert_eq!(find(zes_uuid_t { id: [0; 16] }), ZE_RESULT_ERROR_INVALID_ARGUMENT);
    }
    assert_eq!(ext.uuid.id, core.uuid.id);
    assert_eq!(properties.core.uuid.id, core.uuid.id);
    assert_eq!((found, on_subdevice, subdevice), (device, 0, 0));
    assert_eq!(properties.core.name, core.name);
}

#[test]
fn lists_keep_the_count_protocol_and_their_handles() {
    let (Platform { api, .. }, driver, device) = sysman();
    // SAFETY: a live device, and arrays of the announced length.
    unsafe {
        assert_eq!(listed(|count, out| api.zesDriverGet(count, out)), [driver]);
        assert_eq!(listed(|count, out| api.zesDeviceGet(driver, count, out)), [device]);
        assert_eq!(listed(|count, out| api.zesDeviceEnumEngineGroups(device, count, out)).len(), 5);
        assert_eq!(listed(|count, out| api.zesDeviceEnumMemoryModules(device, count, out)).len(), 1);
        listed(|count, out| api.zesDeviceEnumFrequencyDomains(device, count, out));
        listed(|count, out| api.zesDeviceEnumPowerDomains(device, count, out));
        listed(|count, out| api.zesDeviceEnumTemperatureSensors(device, count, out));
        listed(|count, out| api.zesDeviceEnumRasErrorSets(device, count, out));
        assert!(listed(|count, out| api.zesDeviceEnumFabricPorts(device, count, out)).is_empty());
        assert!(listed(|count, out| api.zesDeviceEnumFans(device, count, out)).is_empty());
        assert!(listed(|count, out| api.zesDeviceEnumStandbyDomains(device, count, out)).is_empty());
        assert!(listed(|count, out| api.zesDeviceEnumSchedulers(device, count, out)).is_empty());
    }
}

#[test]
fn a_host_is_not_reset_and_in_no_slot() {
    let (Platform { api, .. }, _, device) = sysman();
    let (mut pci, mut state) = (zes_pci_properties_t::default(), zes_pci_state_t::default());
    let mut reset =
        zes_reset_properties_t { stype: ZES_STRUCTURE_TYPE_RESET_PROPERTIES, ..Default::default() };
    // SAFETY: a live device and structures of the announced types.
    unsafe {
        assert_eq!(api.zesDeviceReset(device, 1), ZE_RESULT_ERROR_UNSUPPORTED_FEATURE);
        assert_eq!(api.zesDeviceResetExt(device, &mut reset), ZE_RESULT_ERROR_UNSUPPORTED_FEATURE);
        reset.resetType = zes_reset_type_t(3);
        assert_eq!(api.zesDeviceResetExt(device, &mut reset), ZE_RESULT_ERROR_INVALID_ENUMERATION);
        assert_eq!(api.zesDevicePciGetProperties(device, &mut pci), ZE_RESULT_SUCCESS);
        let mut same =
            ze_pci_ext_properties_t { stype: ZE_STRUCTURE_TYPE_PCI_EXT_PROPERTIES, ..Default::default() };
        assert_eq!(api.zeDevicePciGetPropertiesExt(platform().device, &mut same), ZE_RESULT_SUCCESS);
        let (address, of_core) = (pci.address, same.address);
        assert_eq!([address.domain, address.bus, address.device, address.function], [0; 4]);
        assert_eq!([of_core.domain, of_core.bus, of_core.device, of_core.function], [0; 4]);
        let speed = same.maxSpeed;
        assert_eq!((speed.genVersion, speed.width, speed.maxBandwidth), (-1, -1, -1));
        assert_eq!((pci.maxSpeed.gen_, pci.maxSpeed.width, pci.maxSpeed.maxBandwidth), (-1, -1, -1));
        assert_eq!(api.zesDevicePciGetState(device, &mut state), ZE_RESULT_SUCCESS);
        assert_eq!((state.status, state.speed.gen_), (ZES_PCI_LINK_STATUS_UNKNOWN, -1));
        let mut bars = 9;
        assert_eq!(api.zesDevicePciGetBars(device, &mut bars, ptr::null_mut()), ZE_RESULT_SUCCESS);
        assert_eq!(bars, 0);
    }
}

fn engine(kind: zes_engine_group_t) -> zes_engine_handle_t {
    let (Platform { api, .. }, _, device) = sysman();
    // SAFETY: a live device, and arrays of the announced length.
    let engines = unsafe { listed(|count, out| api.zesDeviceEnumEngineGroups(device, count, out)) };
    let mut of_kind = engines.into_iter().filter(|&engine| {
        let mut properties =
            zes_engine_properties_t { stype: ZES_STRUCTURE_TYPE_ENGINE_PROPERTIES, ..Default::default() };
        // SAFETY: a live engine group and a structure of the announced type.
        assert_eq!(unsafe { api.zesEngineGetProperties(engine, &mut properties) }, ZE_RESULT_SUCCESS);
        properties.type_ == kind
    });
    of_kind.next().expect("the device has such a group")
}

fn activity(engine: zes_engine_handle_t) -> zes_engine_stats_t {
    let mut stats = zes_engine_stats_t::default();
    // SAFETY: a live engine group and a place for the answer.
    assert_eq!(unsafe { sysman().0.api.zesEngineGetActivity(engine, &mut stats) }, ZE_RESULT_SUCCESS);
    stats
}

#[test]
fn engines_are_busy_for_as_long_as_commands_run() {
    const N: usize = 1 << 20;
    let module = Module::named("vector_add");
    let kernel = module.kernel("vector_add");
    let [a, b, sum] = [1.0f32, 2.0, 0.0].map(|value| platform().filled(value, N));
    let list = CommandList::immediate(ListOptions::synchronous()).unwrap();
    let [all, compute, copy] =
        [ZES_ENGINE_GROUP_ALL, ZES_ENGINE_GROUP_COMPUTE_ALL, ZES_ENGINE_GROUP_COPY_ALL].map(engine);
    let before = [all, compute, copy].map(activity);
    for _ in 0..20 {
        kernel.run_1d(N, 256, &[&a, &b, &sum, &(N as u32)]);
        // SAFETY: both are of this size, and nothing else uses them.
        unsafe { list.copy(a.pointer().cast(), sum.pointer().cast(), a.bytes(), None, &[]) }.unwrap();
    }
    let after = [all, compute, copy].map(activity);
    for (before, after) in before.iter().zip(&after) {
        let (active, passed) = (after.activeTime - before.activeTime, after.timestamp - before.timestamp);
        // A unit for what rounding the two numbers takes.
        assert!(active > 0 && active <= passed + 1, "{active} µs of {passed} µs");
    }
    assert!(activity(engine(ZES_ENGINE_GROUP_COMPUTE_SINGLE)).activeTime >= after[1].activeTime);
}

#[test]
fn this_process_is_listed_with_the_device_memory_that_it_has() {
    let (Platform { api, .. }, _, device) = sysman();
    let state = || {
        let mut state = zes_process_state_t { stype: ZES_STRUCTURE_TYPE_PROCESS_STATE, ..Default::default() };
        let mut count = 5;
        // SAFETY: a live device; there is one process, and room for it.
        unsafe {
            assert_eq!(
                api.zesDeviceProcessesGetState(device, &mut count, ptr::null_mut()),
                ZE_RESULT_SUCCESS
            );
            assert_eq!(api.zesDeviceProcessesGetState(device, &mut count, &mut state), ZE_RESULT_SUCCESS);
        }
        assert_eq!((count, state.processId), (1, std::process::id()));
        state.memSize
    };
    // Other tests allocate meanwhile, but no such amount.
    const HUGE: usize = 3 << 30;
    let before = state();
    let memory = platform().allocate(MemoryKind::Device, HUGE, 64).unwrap();
    let with = state();
    // SAFETY: nothing used it.
    unsafe { platform().free(memory) }.unwrap();
    let after = state();
    assert!(with > before + (HUGE as u64) / 2 && after < with - (HUGE as u64) / 2, "{before} {with} {after}");
}

#[test]
fn memory_is_the_machine_s_with_some_of_it_free() {
    let (Platform { api, .. }, _, device) = sysman();
    // SAFETY: a live device, and arrays of the announced length.
    let modules = unsafe { listed(|count, out| api.zesDeviceEnumMemoryModules(device, count, out)) };
    let mut properties =
        zes_mem_properties_t { stype: ZES_STRUCTURE_TYPE_MEM_PROPERTIES, ..Default::default() };
    let mut state = zes_mem_state_t { stype: ZES_STRUCTURE_TYPE_MEM_STATE, ..Default::default() };
    let mut bandwidth = zes_mem_bandwidth_t::default();
    // SAFETY: a live module and structures of the announced types.
    unsafe {
        assert_eq!(api.zesMemoryGetProperties(modules[0], &mut properties), ZE_RESULT_SUCCESS);
        assert_eq!(api.zesMemoryGetState(modules[0], &mut state), ZE_RESULT_SUCCESS);
        let code = api.zesMemoryGetBandwidth(modules[0], &mut bandwidth);
        assert_eq!(code, ZE_RESULT_ERROR_UNSUPPORTED_FEATURE);
    }
    assert!(0 < state.free && state.free < state.size && state.size <= properties.physicalSize);
    let meminfo = fs::read_to_string("/proc/meminfo").unwrap();
    let total: u64 =
        meminfo.split_whitespace().nth(1).and_then(|kib| kib.parse().ok()).expect("MemTotal comes first");
    assert!(state.size <= total << 10);
    assert_eq!(properties.location, ZES_MEM_LOC_SYSTEM);
}

#[test]
fn parts_that_this_machine_has_say_something_sensible() {
    let (Platform { api, .. }, _, device) = sysman();
    // SAFETY: live handles, and places for the answers.
    unsafe {
        for domain in listed(|count, out| api.zesDeviceEnumFrequencyDomains(device, count, out)) {
            let mut properties = zes_freq_properties_t::default();
            assert_eq!(api.zesFrequencyGetProperties(domain, &mut properties), ZE_RESULT_SUCCESS);
            assert!(0.0 < properties.min && properties.min <= properties.max);
            let clocks = listed(|count, out| api.zesFrequencyGetAvailableClocks(domain, count, out));
            assert!(clocks.is_sorted() && clocks.len() >= 2);
        }
        for sensor in listed(|count, out| api.zesDeviceEnumTemperatureSensors(device, count, out)) {
            let mut celsius = -1000.0;
            assert_eq!(api.zesTemperatureGetState(sensor, &mut celsius), ZE_RESULT_SUCCESS);
            assert!((-50.0..150.0).contains(&celsius), "{celsius}");
        }
        for domain in listed(|count, out| api.zesDeviceEnumPowerDomains(device, count, out)) {
            let mut energy = [zes_power_energy_counter_t::default(); 2];
            for energy in &mut energy {
                assert_eq!(api.zesPowerGetEnergyCounter(domain, energy), ZE_RESULT_SUCCESS);
            }
            assert!(energy[0].energy <= energy[1].energy && energy[0].timestamp <= energy[1].timestamp);
        }
    }
}

#[test]
fn listening_tells_of_no_events_and_unknown_ones_cannot_be_registered() {
    let (Platform { api, .. }, driver, device) = sysman();
    let mut devices = [device, device];
    let (mut number, mut events) = (9, [9, 9, 9]);
    // SAFETY: live handles and arrays of two entries.
    unsafe {
        assert_eq!(api.zesDeviceEventRegister(device, 0x1_0000), ZE_RESULT_ERROR_INVALID_ENUMERATION);
        let events_of_two = events.as_mut_ptr();
        for timeout in [0, 2] {
            assert_eq!(
                api.zesDeviceEventRegister(device, ZES_EVENT_TYPE_FLAG_DEVICE_RESET_REQUIRED),
                ZE_RESULT_SUCCESS
            );
            let start = std::time::Instant::now();
            let code = api.zesDriverEventListenEx(
                driver,
                timeout,
                2,
                devices.as_mut_ptr(),
                &mut number,
                events_of_two,
            );
            assert_eq!((code, number), (ZE_RESULT_SUCCESS, 0));
            assert!(start.elapsed().as_millis() as u64 >= timeout);
        }
        assert_eq!(api.zesDeviceEventRegister(device, 0), ZE_RESULT_SUCCESS);
        // Nothing is registered, so nothing is waited for.
        let code =
            api.zesDriverEventListen(driver, u32::MAX, 2, devices.as_mut_ptr(), &mut number, events_of_two);
        assert_eq!(code, ZE_RESULT_SUCCESS);
    }
    assert_eq!(events, [0, 0, 9]);
}

#[test]
fn extensions_are_listed_and_their_functions_found() {
    let (Platform { api, .. }, driver, _) = sysman();
    // SAFETY: a live driver, and places for the answers.
    unsafe {
        let ask = |count, out| api.zesDriverGetExtensionProperties(driver, count, out);
        let extensions = ze_tests::platform::listed(zes_driver_extension_properties_t::default(), ask);
        let names: Vec<_> =
            extensions.unwrap().iter().map(|extension| ze_tests::platform::text(&extension.name)).collect();
        assert!(names.contains(&"ZES_extension_engine_activity".to_owned()), "{names:?}");
        let mut address = ptr::null_mut();
        let mut find = |name: &std::ffi::CStr| {
            api.zesDriverGetExtensionFunctionAddress(driver, name.as_ptr(), &mut address)
        };
        assert_eq!(find(c"zesRasGetStateExp2"), ZE_RESULT_SUCCESS);
        assert_eq!(find(c"zesEngineGetActivityExt"), ZE_RESULT_SUCCESS);
        assert_eq!(find(c"zesSomethingElseExp"), ZE_RESULT_ERROR_INVALID_ARGUMENT);
        assert!(names.len() > 3);
    }
}
