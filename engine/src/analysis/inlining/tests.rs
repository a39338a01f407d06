//! Which functions stay functions.

use super::{Inlining, Plan};
use spirv_env::{Environment, ModuleInput};
use ze_tests::assembler::assemble;

/// Functions that a kernel calls: name, types of parameters, type of the result, and the result.
const FUNCTIONS: [(&str, &[&str], &str, &str); 6] = [
    ("plain", &["uint"], "uint", "%plain_0"),
    ("nothing", &[], "void", ""),
    ("global", &["to_uint", "uint"], "to_uint", "%global_0"),
    ("takes_built_in", &["uint", "input"], "uint", "%takes_built_in_0"),
    ("takes_built_in_first", &["input", "uint"], "uint", "%takes_built_in_first_1"),
    ("returns_built_in", &["uint"], "input", "%id"),
];

fn module() -> spirv_env::Module {
    let mut text = "OpCapability Addresses\nOpCapability Kernel\nOpCapability Int64\n\
        OpMemoryModel Physical64 OpenCL\nOpEntryPoint Kernel %main \"main\" %id\n"
        .to_owned();
    FUNCTIONS.iter().for_each(|(name, ..)| text += &format!("OpName %{name} \"{name}\"\n"));
    text += "OpDecorate %id BuiltIn GlobalInvocationId\n%void = OpTypeVoid\n%uint = OpTypeInt 32 0\n\
        %ulong = OpTypeInt 64 0\n%ulong3 = OpTypeVector %ulong 3\n%input = OpTypePointer Input %ulong3\n\
        %to_uint = OpTypePointer CrossWorkgroup %uint\n%one = OpConstant %uint 1\n%id = OpVariable %input Input\n\
        %kernel = OpTypeFunction %void %to_uint\n";
    for (name, params, result, _) in FUNCTIONS {
        let params: String = params.iter().map(|ty| format!(" %{ty}")).collect();
        text += &format!("%type_{name} = OpTypeFunction %{result}{params}\n");
    }
    text +=
        "%main = OpFunction %void None %kernel\n%pointer = OpFunctionParameter %to_uint\n%entry = OpLabel\n";
    for (name, params, result, _) in FUNCTIONS {
        let argument = |ty: &&str| match *ty {
            "uint" => " %one",
            "input" => " %id",
            _ => " %pointer",
        };
        let arguments: String = params.iter().map(argument).collect();
        text += &format!("%of_{name} = OpFunctionCall %{result} %{name}{arguments}\n");
    }
    text += "OpReturn\nOpFunctionEnd\n";
    for (name, params, result, value) in FUNCTIONS {
        text += &format!("%{name} = OpFunction %{result} None %type_{name}\n");
        for (at, ty) in params.iter().enumerate() {
            text += &format!("%{name}_{at} = OpFunctionParameter %{ty}\n");
        }
        text += &format!("%{name}_entry = OpLabel\n");
        text += &if value.is_empty() { "OpReturn\n".to_owned() } else { format!("OpReturnValue {value}\n") };
        text += "OpFunctionEnd\n";
    }
    let profile = ze_extensions::DeviceProfile::host();
    spirv_env::build(&[ModuleInput::new(&assemble(&text))], &Environment::new(&profile))
        .unwrap_or_else(|error| panic!("{error}\n{text}"))
}

/// The names of the functions that stay functions.
fn kept(inlining: Inlining) -> Vec<String> {
    let module = module();
    let plan =
        Plan::new(&module, module.kernel("main").expect("the module has it"), inlining).expect("small");
    let name = |function: &spirv_env::Function| function.name.clone().expect("all have names");
    let kept = module.functions.iter().filter(|function| plan.keeps(function.id)).map(name);
    kept.collect()
}

#[test]
fn pointers_to_built_in_variables_are_neither_passed_nor_returned_by_calls() {
    assert_eq!(kept(Inlining::Never), ["plain", "nothing", "global"]);
}

#[test]
fn small_kernels_have_no_calls() {
    assert!(kept(Inlining::WithinBudget).is_empty());
    assert!(kept(Inlining::Always).is_empty());
}
