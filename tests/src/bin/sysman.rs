//! Initialises system management in one of the ways that there are and prints what it then answers: `sysman init` calls `zesInit`
//! alone, `sysman both` that and `zeInit`, `sysman core` only `zeInit`, for which programs set `ZES_ENABLE_SYSMAN=1`.

use std::path::Path;
use std::ptr;

use ze_headers::*;
use ze_tests::Api;
use ze_tests::loader::LOADER_VARIABLE;

fn main() {
    let way = std::env::args().nth(1).unwrap_or_default();
    let api = Api::open_loader().expect("the Level Zero loader opens");
    let loader = std::env::var_os(LOADER_VARIABLE).unwrap_or_else(|| "libze_loader.so.1".into());
    if way != "core" && !Api::open(Path::new(&loader)).is_ok_and(|loader| loader.has("zesInit")) {
        println!("the loader is older than zesInit");
        return;
    }
    // SAFETY: plain values in and out, and room for one handle.
    unsafe {
        let mut device = ptr::null_mut();
        if way != "init" {
            println!("zeInit {:#x}", api.zeInit(0).0);
            let (mut one, mut driver) = (1, ptr::null_mut());
            println!("zeDriverGet {:#x}", api.zeDriverGet(&mut one, &mut driver).0);
            println!("zeDeviceGet {:#x}", api.zeDeviceGet(driver, &mut one, &mut device).0);
        }
        if way != "core" {
            println!("zesInit {:#x}", api.zesInit(0).0);
            let (mut one, mut driver) = (1, ptr::null_mut());
            println!("zesDriverGet {:#x}", api.zesDriverGet(&mut one, &mut driver).0);
            println!("zesDeviceGet {:#x}", api.zesDeviceGet(driver, &mut one, &mut device).0);
        }
        let mut properties =
            zes_device_properties_t { stype: ZES_STRUCTURE_TYPE_DEVICE_PROPERTIES, ..Default::default() };
        println!("zesDeviceGetProperties {:#x}", api.zesDeviceGetProperties(device, &mut properties).0);
        let mut count = 0;
        let code = api.zesDeviceEnumEngineGroups(device, &mut count, ptr::null_mut());
        println!("zesDeviceEnumEngineGroups {:#x} {count}", code.0);
        let (mut one, mut engine) = (1, ptr::null_mut());
        api.zesDeviceEnumEngineGroups(device, &mut one, &mut engine);
        let mut stats = zes_engine_stats_t::default();
        println!("zesEngineGetActivity {:#x}", api.zesEngineGetActivity(engine, &mut stats).0);
    }
}
