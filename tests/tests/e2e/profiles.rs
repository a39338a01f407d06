//! Device profiles: what a device of another name reports, and that it is held to it. A process has one profile, so
//! each is looked at by a test that runs in a process of its own.

use std::process::Command;

use ze_headers::*;
use ze_tests::{Module, platform, spirv};

/// Runs an ignored test of this file with a profile and returns what the driver logged.
fn in_profile(profile: &str, test: &str) -> String {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "--ignored", "--nocapture", &format!("profiles::{test}")]);
    command.env("ZE_CPU_PROFILE", profile).env("ZE_CPU_LOG", "error");
    let output = command.output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let (out, errors) = (text(&output.stdout), text(&output.stderr));
    assert!(output.status.success() && out.contains("1 passed"), "{profile}, {test}:\n{out}\n{errors}");
    errors
}

fn module_properties() -> ze_device_module_properties_t {
    let mut properties = ze_device_module_properties_t {
        stype: ZE_STRUCTURE_TYPE_DEVICE_MODULE_PROPERTIES,
        ..Default::default()
    };
    // SAFETY: the structure is of the type that its `stype` says.
    let code = unsafe { platform().api.zeDeviceGetModuleProperties(platform().device, &mut properties) };
    assert_eq!(code, ZE_RESULT_SUCCESS);
    properties
}

#[test]
#[ignore = "run by another test, with a profile"]
fn has_no_doubles() {
    let properties = module_properties();
    assert_eq!(properties.flags & ZE_DEVICE_MODULE_FLAG_FP64, 0);
    assert_eq!(properties.fp64flags, 0);
    let Err(error) = Module::new(&spirv("math_f64")) else { panic!("doubles are accepted") };
    assert_eq!(error.code, ZE_RESULT_ERROR_MODULE_BUILD_FAILURE);
    assert!(error.reason.contains("Float64"), "{}", error.reason);
    Module::named("saxpy");
}

#[test]
#[ignore = "run by another test, with a profile"]
fn has_doubles() {
    assert_ne!(module_properties().flags & ZE_DEVICE_MODULE_FLAG_FP64, 0);
    Module::named("math_f64");
}

#[test]
#[ignore = "run by another test, with a profile"]
fn is_the_arc_a770() {
    let properties = platform().device_properties().unwrap();
    assert_eq!((properties.vendorId, properties.deviceId), (0x8086, 0x56a0));
    assert_eq!(platform().device_name().unwrap(), "Intel(R) Arc(TM) A770 Graphics");
    let compute = platform().compute_properties().unwrap();
    assert_eq!(compute.maxSharedLocalMemory, 64 << 10);
    assert_eq!(platform().sub_group_sizes().unwrap(), [8, 16, 32]);
}

#[test]
#[ignore = "run by another test, with a profile"]
fn is_the_host() {
    assert!(platform().device_name().unwrap().starts_with("ze_cpu on "));
}

#[test]
fn a_device_without_double_precision_refuses_it_and_one_with_it_does_not() {
    for profile in ["arc-a770", "uhd-770"] {
        in_profile(profile, "has_no_doubles");
    }
    for profile in ["host", "arc-b580", "arc-140v", "max-1550"] {
        in_profile(profile, "has_doubles");
    }
}

#[test]
fn a_built_in_profile_reports_the_devices_figures() {
    in_profile("arc-a770", "is_the_arc_a770");
}

/// What a program without a device ends with, whatever is logged.
fn refused(profile: &str) -> String {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "--ignored", "--nocapture", "profiles::is_the_host"]);
    let output = command.env("ZE_CPU_PROFILE", profile).env_remove("ZE_CPU_LOG").output().unwrap();
    assert!(!output.status.success(), "{profile}");
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn a_profile_that_is_none_is_told_and_there_is_no_device() {
    let errors = refused("arc-a880");
    assert!(errors.contains("ze_cpu: ZE_CPU_PROFILE=arc-a880: "), "{errors}");
    assert!(errors.contains("built in are host, host-cpu, arc-140v"), "{errors}");
}

#[test]
fn a_file_that_no_device_is_like_is_told_with_its_line_and_key() {
    let path = std::env::temp_dir().join(format!("ze-cpu-profile-{}.toml", std::process::id()));
    for (text, said) in [
        ("name = 'mine'\n\n[module]\nflag = 'FP16'\n", "key `module.flag`, line 4: "),
        ("[compute]\nsub_group_sizes = [64]\n", "key `compute.sub_group_sizes`, line 2: "),
        ("[module]\ndot_product = 'DPAS'\n", "key `module.dot_product`, line 2: "),
    ] {
        std::fs::write(&path, text).unwrap();
        let errors = refused(path.to_str().unwrap());
        assert!(errors.contains(said), "{errors}");
    }
    let _ = std::fs::remove_file(path);
}
