//! Every flag of `ze_device_module_properties_t` and of `ze_float_atomic_ext_properties_t`, in every profile: where it is set, a module
//! that needs it runs and computes what it should; where it is not, the module is refused, or computes what a device without it does.

use std::fs;
use std::process::Command;

use ze_headers::*;
use ze_tests::assembler::assemble;
use ze_tests::{Module, platform};

/// What a device without the flag does with the module.
enum Without {
    /// It does not build it.
    Refuses,
    /// It computes these bits.
    Computes(u64),
    /// There is nothing that a module could tell it by: it runs all the same.
    Runs,
}
use Without::{Computes, Refuses, Runs};

/// Which word of the properties a flag is in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Field {
    Module,
    Fp16,
    Fp32,
    Fp64,
    Atomics16,
    Atomics32,
    Atomics64,
}

/// A flag, and a module whose kernel `main(out, a, b)` shows it.
struct Row {
    field: Field,
    flag: u32,
    text: String,
    /// Bits of the arguments `a` and `b`, as wide as the module's type.
    input: [u64; 2],
    with: u64,
    without: Without,
}

/// A kernel of one type: `out[0] = body(a, b)`. `out` begins as `a`. The text has `%a`, `%b`, `%out` and makes `%r`.
fn kernel(
    capabilities: &str,
    preamble: &str,
    declarations: &str,
    width: u32,
    is_float: bool,
    body: &str,
) -> String {
    let capabilities: String =
        capabilities.split_whitespace().map(|name| format!("OpCapability {name}\n")).collect();
    let kind = if is_float { format!("OpTypeFloat {width}") } else { format!("OpTypeInt {width} 0") };
    let value = if is_float || width != 32 { format!("%t = {kind}\n") } else { String::new() };
    let t = if value.is_empty() { "%uint" } else { "%t" };
    let store = if body.contains("%r = ") { "OpStore %out %r" } else { "" };
    format!(
        "OpCapability Addresses
OpCapability Kernel
{capabilities}{}%std = OpExtInstImport \"OpenCL.std\"
OpMemoryModel Physical64 OpenCL
OpEntryPoint Kernel %main \"main\" %local
{}%void = OpTypeVoid
%bool = OpTypeBool
%uint = OpTypeInt 32 0
{value}%u0 = OpConstant %uint 0
%u1 = OpConstant %uint 1
%u2 = OpConstant %uint 2
%global_t = OpTypePointer CrossWorkgroup {t}
%local_t = OpTypePointer Workgroup {t}
{}
%local = OpVariable %local_t Workgroup
%fn = OpTypeFunction %void %global_t {t} {t}
%main = OpFunction %void None %fn
%out = OpFunctionParameter %global_t
%a = OpFunctionParameter {t}
%b = OpFunctionParameter {t}
%entry = OpLabel
{}
{store}
OpReturn
OpFunctionEnd
",
        preamble
            .lines()
            .filter(|line| line.starts_with("OpExtension"))
            .map(|line| format!("{line}\n"))
            .collect::<String>(),
        preamble
            .lines()
            .filter(|line| !line.starts_with("OpExtension"))
            .map(|line| format!("{line}\n"))
            .collect::<String>(),
        declarations.replace("%T", t),
        body.replace("%T", t),
    )
}

/// The rows of one precision: its modes and its atomics.
fn precision(width: u32, capability: &str, field: Field, atomics: Field) -> Vec<Row> {
    let [one, two, three, four]: [u64; 4] = match width {
        16 => [0x3C00, 0x4000, 0x4200, 0x4400],
        32 => [0x3F80_0000, 0x4000_0000, 0x4040_0000, 0x4080_0000],
        _ => [0x3FF0_0000_0000_0000, 0x4000_0000_0000_0000, 0x4008_0000_0000_0000, 0x4010_0000_0000_0000],
    };
    // Three quarters of what is between one and the next number, infinity, and a third.
    let [most_of_a_step, infinity, third] = match width {
        16 => [0x1200, 0x7C00, 0x3555],
        32 => [0x33C0_0000, 0x7F80_0000, 0x3EAA_AAAB],
        _ => [0x3CA8_0000_0000_0000, 0x7FF0_0000_0000_0000, 0x3FD5_5555_5555_5555],
    };
    let row = |flag, text, input, with, without| Row { field, flag, text, input, with, without };
    let plain = |body: &str| kernel(capability, "", "", width, true, body);
    let mode = |name: &str, extension: &str, mode: &str| {
        let preamble = format!("{extension}OpExecutionMode %main {mode} {width}\n");
        kernel(&format!("{capability} {name}"), &preamble, "", width, true, "%r = OpFAdd %T %a %b")
    };
    let intel = "OpExtension \"SPV_INTEL_float_controls2\"\n";
    let mut rows = vec![
        row(ZE_DEVICE_FP_FLAG_DENORM, plain("%r = OpFAdd %T %a %b"), [1, 2], 3, Computes(0)),
        row(ZE_DEVICE_FP_FLAG_INF_NAN, plain("%r = OpFDiv %T %a %b"), [one, 0], infinity, Refuses),
        row(
            ZE_DEVICE_FP_FLAG_ROUND_TO_NEAREST,
            mode("RoundingModeRTE", "", "RoundingModeRTE"),
            [one, most_of_a_step],
            one + 1,
            Refuses,
        ),
        row(
            ZE_DEVICE_FP_FLAG_ROUND_TO_ZERO,
            mode("RoundingModeRTZ", "", "RoundingModeRTZ"),
            [one, most_of_a_step],
            one,
            Refuses,
        ),
        row(
            ZE_DEVICE_FP_FLAG_ROUND_TO_INF,
            mode("RoundToInfinityINTEL", intel, "RoundingModeRTNINTEL"),
            [one, most_of_a_step],
            one,
            Refuses,
        ),
        row(ZE_DEVICE_FP_FLAG_FMA, plain("%r = OpExtInst %T %std fma %a %b %b"), [one, two], four, Runs),
        row(ZE_DEVICE_FP_FLAG_ROUNDED_DIVIDE_SQRT, plain("%r = OpFDiv %T %a %b"), [one, three], third, Runs),
    ];
    let atomic = |class: &str, more: &str, extensions: &str, body: &str| {
        let pointer = if class == "global" { "%out" } else { "%local" };
        let begin = if class == "global" { "OpStore %out %a" } else { "OpStore %local %a" };
        let end = if class == "global" { "" } else { "%r = OpLoad %T %local" };
        let body = format!("{begin}\n{}\n{end}", body.replace("%p", pointer));
        kernel(&format!("{capability} {more}"), extensions, "", width, true, &body)
    };
    let add_extension = match width {
        16 => "OpExtension \"SPV_EXT_shader_atomic_float16_add\"\n",
        _ => "OpExtension \"SPV_EXT_shader_atomic_float_add\"\n",
    };
    let add = format!("AtomicFloat{width}AddEXT");
    let max = format!("AtomicFloat{width}MinMaxEXT");
    for (class, flags) in [
        (
            "global",
            [
                ZE_DEVICE_FP_ATOMIC_EXT_FLAG_GLOBAL_LOAD_STORE,
                ZE_DEVICE_FP_ATOMIC_EXT_FLAG_GLOBAL_ADD,
                ZE_DEVICE_FP_ATOMIC_EXT_FLAG_GLOBAL_MIN_MAX,
            ],
        ),
        (
            "local",
            [
                ZE_DEVICE_FP_ATOMIC_EXT_FLAG_LOCAL_LOAD_STORE,
                ZE_DEVICE_FP_ATOMIC_EXT_FLAG_LOCAL_ADD,
                ZE_DEVICE_FP_ATOMIC_EXT_FLAG_LOCAL_MIN_MAX,
            ],
        ),
    ] {
        let [load_store, adds, min_max] = flags;
        let row =
            |flag, text, with| Row { field: atomics, flag, text, input: [one, two], with, without: Refuses };
        // Numbers of full size move like integers, and need no flag.
        let moves = row(load_store, atomic(class, "", "", "OpAtomicStore %p %u1 %u0 %b"), two);
        rows.push(Row { without: if width == 16 { Refuses } else { Runs }, ..moves });
        rows.push(row(
            adds,
            atomic(class, &add, add_extension, "%old = OpAtomicFAddEXT %T %p %u1 %u0 %b"),
            three,
        ));
        rows.push(row(
            min_max,
            atomic(
                class,
                &max,
                "OpExtension \"SPV_EXT_shader_atomic_float_min_max\"\n",
                "%old = OpAtomicFMaxEXT %T %p %u1 %u0 %b",
            ),
            two,
        ));
    }
    rows
}

fn rows() -> Vec<Row> {
    let row =
        |flag, text, input, with| Row { field: Field::Module, flag, text, input, with, without: Refuses };
    let mut rows = vec![
        row(
            ZE_DEVICE_MODULE_FLAG_FP16,
            kernel("Float16", "", "", 16, true, "%r = OpFAdd %T %a %b"),
            [0x3C00, 0x3C00],
            0x4000,
        ),
        row(
            ZE_DEVICE_MODULE_FLAG_FP64,
            kernel("Float64", "", "", 64, true, "%r = OpFAdd %T %a %b"),
            [0x3FF0_0000_0000_0000, 0x3FF0_0000_0000_0000],
            0x4000_0000_0000_0000,
        ),
        row(
            ZE_DEVICE_MODULE_FLAG_INT64_ATOMICS,
            kernel(
                "Int64 Int64Atomics",
                "",
                "",
                64,
                false,
                "OpStore %out %a\n%old = OpAtomicIAdd %T %out %u1 %u0 %b",
            ),
            [1 << 40, 5],
            (1 << 40) + 5,
        ),
        row(
            ZE_DEVICE_MODULE_FLAG_DP4A,
            kernel(
                "DotProduct DotProductInput4x8BitPacked",
                "OpExtension \"SPV_KHR_integer_dot_product\"",
                "",
                32,
                false,
                "%r = OpUDot %T %a %b 0",
            ),
            [0x0102_0304, 0x0101_0101],
            10,
        ),
    ];
    rows.extend(precision(16, "Float16", Field::Fp16, Field::Atomics16));
    rows.extend(precision(32, "", Field::Fp32, Field::Atomics32));
    rows.extend(precision(64, "Float64", Field::Fp64, Field::Atomics64));
    rows
}

/// The flags that the device reports, by where.
fn reported() -> impl Fn(Field) -> u32 {
    let mut atomics = ze_float_atomic_ext_properties_t {
        stype: ZE_STRUCTURE_TYPE_FLOAT_ATOMIC_EXT_PROPERTIES,
        ..Default::default()
    };
    let mut module = ze_device_module_properties_t {
        stype: ZE_STRUCTURE_TYPE_DEVICE_MODULE_PROPERTIES,
        pNext: (&raw mut atomics).cast(),
        ..Default::default()
    };
    // SAFETY: the structures are of the types that they say.
    let code = unsafe { platform().api.zeDeviceGetModuleProperties(platform().device, &mut module) };
    platform().check("zeDeviceGetModuleProperties", code).unwrap();
    move |field| match field {
        Field::Module => module.flags,
        Field::Fp16 => module.fp16flags,
        Field::Fp32 => module.fp32flags,
        Field::Fp64 => module.fp64flags,
        Field::Atomics16 => atomics.fp16Flags,
        Field::Atomics32 => atomics.fp32Flags,
        Field::Atomics64 => atomics.fp64Flags,
    }
}

const FIELDS: [Field; 7] = [
    Field::Module,
    Field::Fp16,
    Field::Fp32,
    Field::Fp64,
    Field::Atomics16,
    Field::Atomics32,
    Field::Atomics64,
];

fn bytes_of(field: Field, flag: u32) -> usize {
    match (field, flag) {
        (Field::Fp16 | Field::Atomics16, _) | (Field::Module, ZE_DEVICE_MODULE_FLAG_FP16) => 2,
        (Field::Fp64 | Field::Atomics64, _) => 8,
        (Field::Module, ZE_DEVICE_MODULE_FLAG_FP64 | ZE_DEVICE_MODULE_FLAG_INT64_ATOMICS) => 8,
        _ => 4,
    }
}

/// Runs the module of a row.
fn run(row: &Row, module: &Module) -> u64 {
    let out = platform().filled(0u64, 1);
    let kernel = module.kernel("main");
    kernel.set_group_size([1, 1, 1]).unwrap();
    kernel.set_bytes(0, &(out.pointer() as usize).to_ne_bytes()).unwrap();
    for (index, value) in row.input.iter().enumerate() {
        kernel.set_bytes(index as u32 + 1, &value.to_le_bytes()[..bytes_of(row.field, row.flag)]).unwrap();
    }
    let list = ze_tests::CommandList::immediate(ze_tests::ListOptions::synchronous()).unwrap();
    list.launch(&kernel, [1, 1, 1], None, &[]).unwrap();
    out[0]
}

#[test]
#[ignore = "run by another test, with a profile"]
fn says_what_it_does() {
    let (flags, mut wrong) = (reported(), Vec::new());
    let rows = rows();
    for field in FIELDS {
        let known = rows.iter().filter(|row| row.field == field).fold(0, |all, row| all | row.flag);
        assert_eq!(flags(field) & !known, 0, "flags of {field:?} that no module shows");
    }
    for row in &rows {
        let set = flags(row.field) & row.flag != 0;
        let what = format!("{:?} {:#x}, set: {set}", row.field, row.flag);
        let got = match Module::new(&assemble(&row.text)) {
            Ok(module) => Ok(run(row, &module)),
            Err(error) => Err(error.reason),
        };
        // A precision that is not there has no modules at all.
        let there = match row.field {
            Field::Fp16 | Field::Atomics16 => flags(Field::Module) & ZE_DEVICE_MODULE_FLAG_FP16 != 0,
            Field::Fp64 | Field::Atomics64 => flags(Field::Module) & ZE_DEVICE_MODULE_FLAG_FP64 != 0,
            _ => true,
        };
        let right = match (&got, set, &row.without) {
            (Ok(bits), true, _) => *bits == row.with,
            (Err(_), false, _) if !there => true,
            (Err(_), false, Refuses) => true,
            (Ok(bits), false, Computes(want)) => there && bits == want,
            (Ok(bits), false, Runs) => there && *bits == row.with,
            _ => false,
        };
        if !right {
            wrong.push(format!("{what}: {got:x?}"));
        }
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

/// The test above with a profile.
fn walk(profile: &str) {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "--ignored", "--nocapture", "flag_walk::says_what_it_does"]);
    let output = command.env("ZE_CPU_PROFILE", profile).env("ZE_CPU_LOG", "error").output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let (out, errors) = (text(&output.stdout), text(&output.stderr));
    assert!(output.status.success() && out.contains("1 passed"), "{profile}:\n{out}\n{errors}");
    assert!(!errors.contains("ZE_CPU_PROFILE"), "{errors}");
}

#[test]
fn built_in_profiles_do_what_their_flags_say() {
    for profile in ["host", "host-cpu", "arc-a770", "arc-b580", "arc-140v", "max-1550", "uhd-770"] {
        walk(profile);
    }
}

#[test]
fn a_profile_without_a_flag_is_without_what_it_means() {
    let always = "INF_NAN | ROUND_TO_NEAREST";
    let files = [
        ("no-optional-precision", "[module]\nflags = 'INT64_ATOMICS'\nfp16 = ''\nfp64 = ''\nfp16_atomics = ''\nfp64_atomics = ''\n".to_owned()),
        ("no-integers", "[module]\nflags = 'FP16 | FP64'\ndot_product = ''\n".to_owned()),
        ("no-modes", format!("[module]\nfp16 = '{always}'\nfp32 = '{always}'\nfp64 = '{always}'\n")),
        ("denormals", format!("[module]\nfp16 = '{always} | DENORM'\nfp32 = '{always} | FMA'\nfp64 = '{always} | DENORM'\n")),
        ("no-atomics", "[module]\nfp16_atomics = ''\nfp32_atomics = ''\nfp64_atomics = ''\n".to_owned()),
        (
            "local-atomics",
            "[module]\nfp16_atomics = 'LOCAL_ADD'\nfp32_atomics = 'LOCAL_LOAD_STORE | LOCAL_MIN_MAX'\nfp64_atomics = 'GLOBAL_ADD'\n".to_owned(),
        ),
    ];
    let folder = std::env::temp_dir().join(format!("ze_cpu-flags-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    for (name, text) in files {
        let path = folder.join(name).with_extension("toml");
        fs::write(&path, text).unwrap();
        walk(path.to_str().unwrap());
    }
    fs::remove_dir_all(&folder).unwrap();
}
