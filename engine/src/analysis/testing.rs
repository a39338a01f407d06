//! Kernels for tests of analyses: a few instructions, or blocks, and the facts about the values that they make.

use super::func::{BlockId, ENTRY, Func};
use super::inlining::{Inlining, Plan};
use super::{Analysis, cfg, loops};
use crate::abi::{LaneMapping, Variant};
use spirv_env::{Environment, Inst, Module, ModuleInput};
use std::rc::Rc;
use ze_extensions::limits::VALUE_SCALARS;
use ze_tests::assembler::assemble;

/// 16 lanes in rows of x, ids below 2^31, and 1024 work-items in a work-group.
pub const VARIANT: Variant = Variant::new(16, LaneMapping::Rows);

const TYPES: [(&str, u32); 4] = [("uchar", 8), ("ushort", 16), ("uint", 32), ("ulong", 64)];

/// Built-in variables, and the types of what is in them.
const BUILTINS: [(&str, &str); 14] = [
    ("GlobalInvocationId", "ulong3"),
    ("GlobalLinearId", "ulong"),
    ("GlobalSize", "ulong3"),
    ("GlobalOffset", "ulong3"),
    ("LocalInvocationId", "ulong3"),
    ("LocalInvocationIndex", "ulong"),
    ("SubgroupId", "uint"),
    ("WorkgroupSize", "ulong3"),
    ("NumSubgroups", "uint"),
    ("SubgroupLocalInvocationId", "uint"),
    ("SubgroupMaxSize", "uint"),
    ("WorkgroupId", "ulong3"),
    ("NumWorkgroups", "ulong3"),
    ("WorkDim", "uint"),
];

/// Numbers of which there are constants: `%uint_8`.
const NUMBERS: [u64; 26] =
    [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 16, 24, 30, 31, 32, 33, 39, 63, 64, 65, 70, 127, 128, 129, 255];

/// A kernel of these instructions. There are types and constants of all widths, the built-ins under their names,
/// and arguments of which nothing is known, under the name of their type: `%any_uint`, also `%any_bool`.
/// A result `%saturated` is decorated as that, and `%object` is a private variable of a `uint`;
/// `%callee` is a function from `uint` to `uint`. `%by_value` is a structure of a `ulong` and two `uint` that is passed by value,
/// and `%tile` a local array of 255 `uint` that begins as zeros. `%words` is a private array of four `uint`, `%zeros` one of 16 `uchar` that are initialised.
pub fn module(body: &str) -> Module {
    let mut text = String::new();
    for capability in [
        "Addresses",
        "Kernel",
        "Groups",
        "Int8",
        "Int16",
        "Int64",
        "SubgroupDispatch",
        "SubgroupShuffleINTEL",
    ] {
        text += &format!("OpCapability {capability}\n");
    }
    let has_doubles = body.contains("%double");
    if has_doubles {
        text += "OpCapability Float64\n";
    }
    let has_generic = body.contains("%generic_uint");
    if has_generic {
        text += "OpCapability GenericPointer\n";
    }
    text += "%std = OpExtInstImport \"OpenCL.std\"\nOpMemoryModel Physical64 OpenCL\nOpEntryPoint Kernel %main \"main\"";
    BUILTINS.iter().for_each(|(name, _)| text += &format!(" %{name}"));
    text += "\n";
    BUILTINS.iter().for_each(|(name, _)| text += &format!("OpDecorate %{name} BuiltIn {name}\n"));
    if body.contains("%by_value") {
        text += "OpDecorate %by_value FuncParamAttr ByVal\n";
    }
    if body.contains("%saturated =") {
        text += "OpDecorate %saturated SaturatedConversion\n";
    }
    text +=
        "%void = OpTypeVoid\n%bool = OpTypeBool\n%float = OpTypeFloat 32\n%float4 = OpTypeVector %float 4\n";
    if has_doubles {
        text += "%double = OpTypeFloat 64\n";
    }
    for (name, width) in TYPES {
        text += &format!("%{name} = OpTypeInt {width} 0\n%{name}2 = OpTypeVector %{name} 2\n");
        for number in NUMBERS {
            text += &format!("%{name}_{number} = OpConstant %{name} {number}\n");
        }
    }
    text += "%ulong3 = OpTypeVector %ulong 3\n%uint_null = OpConstantNull %uint\n";
    text += "%ulong_and_two = OpTypeStruct %ulong %ulong2\n";
    for ty in ["uint", "ulong", "ulong3"] {
        text += &format!("%input_{ty} = OpTypePointer Input %{ty}\n");
    }
    BUILTINS.iter().for_each(|(name, ty)| text += &format!("%{name} = OpVariable %input_{ty} Input\n"));
    text += "%uint_minus_1 = OpConstant %uint 4294967295\n%ulong_low_half = OpConstant %ulong 4294967295\n";
    for length in [VALUE_SCALARS, VALUE_SCALARS + 1] {
        text += &format!("%length_{length} = OpConstant %uint {length}\n");
        text += &format!("%array_{length} = OpTypeArray %uint %length_{length}\n");
    }
    text += "%to_uint = OpTypePointer CrossWorkgroup %uint\n%private_uint = OpTypePointer Function %uint\n";
    if has_generic {
        text += "%generic_uint = OpTypePointer Generic %uint\n";
    }
    if body.contains("%zeros") {
        text += "%words_type = OpTypeArray %uint %ulong_4\n%private_words = OpTypePointer Function %words_type\n\
            %bytes_type = OpTypeArray %uchar %ulong_16\n%private_bytes = OpTypePointer Function %bytes_type\n\
            %private_uchar = OpTypePointer Function %uchar\n%no_bytes = OpConstantNull %bytes_type\n";
    }
    if body.contains("%tile ") {
        text += "%local_words = OpTypeArray %uint %ulong_255\n%to_local_words = OpTypePointer Workgroup %local_words\n\
            %no_words = OpConstantNull %local_words\n%tile = OpVariable %to_local_words Workgroup %no_words\n\
            %to_local = OpTypePointer Workgroup %uint\n";
    }
    let by_value = if body.contains("%by_value") { " %private_members" } else { "" };
    text +=
        "%members = OpTypeStruct %ulong %uint %uint\n%private_members = OpTypePointer Function %members\n";
    text += "%private_ulong = OpTypePointer Function %ulong\n";
    text +=
        &format!("%kernel = OpTypeFunction %void %uchar %ushort %uint %ulong %float %to_uint{by_value}\n");
    text += "%of_uint = OpTypeFunction %uint %uint\n%main = OpFunction %void None %kernel\n";
    for ty in ["uchar", "ushort", "uint", "ulong", "float"] {
        text += &format!("%any_{ty} = OpFunctionParameter %{ty}\n");
    }
    text += "%pointer = OpFunctionParameter %to_uint\n";
    if !by_value.is_empty() {
        text += "%by_value = OpFunctionParameter %private_members\n";
    }
    text += "%entry = OpLabel\n";
    if body.contains("%object") {
        text += "%object = OpVariable %private_uint Function\n";
    }
    if body.contains("%zeros") {
        text += "%words = OpVariable %private_words Function\n%zeros = OpVariable %private_bytes Function %no_bytes\n";
    }
    text += "%any_bool = OpIEqual %bool %any_uint %uint_0\n";
    text += body;
    text += "\nOpReturn\nOpFunctionEnd\n";
    if body.contains("%callee") {
        text += "%callee = OpFunction %uint None %of_uint\n%passed = OpFunctionParameter %uint\n\
            %callee_entry = OpLabel\nOpReturnValue %passed\nOpFunctionEnd\n";
    }
    let bytes = assemble(&text);
    let profile = ze_extensions::DeviceProfile::host();
    spirv_env::build(&[ModuleInput::new(&bytes)], &Environment::new(&profile))
        .unwrap_or_else(|error| panic!("{error}\n{body}"))
}

/// Judges the last instruction of a kernel; the last line of `body` is what comes after its `=`.
pub fn of_last<T>(body: &str, variant: Variant, judge: impl FnOnce(&Analysis<'_>, &Inst) -> T) -> T {
    let (before, last) = body.rsplit_once('\n').unwrap_or(("", body));
    let module = module(&format!("{before}\n%last = {last}"));
    let kernel = module.kernel("main").expect("the module has it");
    let plan = Rc::new(Plan::new(&module, kernel, Inlining::Never).expect("it is small"));
    let analysis = Analysis::new(Func::build(&module, kernel, &plan).expect("it is small"), variant);
    let last = analysis.func.blocks[ENTRY].insts.last().expect("the kernel has instructions");
    judge(&analysis, last)
}

/// Judges a kernel of several blocks before anything is done to it but that unreachable blocks are gone.
pub fn of_func<T>(body: &str, judge: impl FnOnce(Func<'_>) -> T) -> T {
    let module = module(body);
    let kernel = module.kernel("main").expect("the module has it");
    let plan = Rc::new(Plan::new(&module, kernel, Inlining::default()).expect("a kernel without calls"));
    let mut func = Func::build(&module, kernel, &plan).expect("it is small");
    cfg::remove_unreachable(&mut func);
    judge(func)
}

/// Judges a kernel of several blocks in the form that lowering analyses: `body` ends in a block without a terminator.
pub fn of_blocks<T>(body: &str, variant: Variant, judge: impl FnOnce(&Analysis<'_>) -> T) -> T {
    of_func(body, |mut func| {
        loops::canonicalize(&mut func);
        func.sort_phis();
        judge(&Analysis::new(func, variant))
    })
}

/// A loop with these phis that goes on while a condition `%more`, made behind them, holds: `%entry` is in front of it, its body is
/// `%inside`, and `%exit` is where it leads to.
pub fn a_loop(phis: &str, condition: &str, body: &str) -> String {
    format!(
        "OpBranch %head
         %head = OpLabel
         {phis}
         {condition}
         OpBranchConditional %more %inside %exit
         %inside = OpLabel
         {body}
         OpBranch %head
         %exit = OpLabel"
    )
}

/// One of `%any_uint` iterations, which counts in `%n`.
pub fn counted_loop(phis: &str, body: &str) -> String {
    let phis = format!("%n = OpPhi %uint %uint_0 %entry %next %inside\n{phis}");
    let body = format!("{body}\n%next = OpIAdd %uint %n %uint_1");
    a_loop(&phis, "%more = OpULessThan %bool %n %any_uint", &body)
}

/// The block, in the order of the text, with this number.
pub fn block(number: u32) -> BlockId {
    BlockId::from_u32(number)
}
