//! Mistakes of modules that are written by hand, one a line: each is refused by the rule that names it, and what is right
//! beside it is not.

use crate::test_support::{KERNEL, build_text, kernel, profile_without_images, rejected_on, with_parameter};

/// The first rule that a module breaks.
fn rule(text: &str) -> String {
    match build_text(text) {
        Ok(_) => "accepted".into(),
        Err(error) => error.diagnostics[0].rule.into(),
    }
}

#[track_caller]
fn table(rows: &[(&str, &str, String)]) {
    let wrong: Vec<String> = rows
        .iter()
        .map(|(want, what, text)| (want, what, rule(text)))
        .filter(|(want, _, got)| **want != got.as_str())
        .map(|(want, what, got)| format!("{what}: {got}, not {want}"))
        .collect();
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

fn declaring(names: &str, text: &str) -> String {
    let lines: String = names.split_whitespace().map(|name| format!("OpCapability {name}\n")).collect();
    format!("{lines}{text}")
}

fn without(capability: &str, text: &str) -> String {
    text.replace(&format!("OpCapability {capability}\n"), "")
}

fn before_types(line: &str, text: &str) -> String {
    text.replacen("%void = ", &format!("{line}\n%void = "), 1)
}

const IMAGE: &str = "%image = OpTypeImage %void";

#[test]
fn capabilities_are_declared_or_implied() {
    let atomic = kernel(
        "%p = OpTypePointer CrossWorkgroup %ulong\n%n = OpConstantNull %p",
        "%r = OpAtomicIAdd %ulong %n %u1 %u0 %ul1",
    );
    let class = |class: &str| kernel(&format!("%p = OpTypePointer {class} %uint"), "");
    let image = |rest: &str| with_parameter(&format!("{IMAGE} {rest}"), "%image");
    let sampler = "%t = OpTypeSampler\n%s = OpConstantSampler %t None 0 Nearest";
    table(&[
        ("accepted", "Int64 is implied by Int64Atomics", without("Int64", &atomic)),
        ("env.atomic-type", "Int64Atomics", without("Int64Atomics", &atomic)),
        ("accepted", "Kernel is implied by Vector16", declaring("Vector16", &without("Kernel", KERNEL))),
        ("env.kernel-capability", "Kernel", without("Kernel", KERNEL)),
        ("accepted", "GenericPointer", class("Generic")),
        ("env.storage-class", "Generic pointers", without("GenericPointer", &class("Generic"))),
        ("env.storage-class", "Uniform", class("Uniform")),
        ("env.storage-class", "PushConstant", class("PushConstant")),
        ("env.storage-class", "StorageBuffer", class("StorageBuffer")),
        ("env.storage-class", "Private", class("Private")),
        ("env.storage-class", "AtomicCounter", class("AtomicCounter")),
        ("env.instruction-capability", "pipes", kernel("%t = OpTypePipe ReadOnly", "")),
        ("env.instruction-capability", "queues", kernel("%t = OpTypeQueue", "")),
        ("env.instruction-capability", "device events", kernel("%t = OpTypeDeviceEvent", "")),
        ("module.opcode", "named barriers", kernel("%t = OpTypeNamedBarrier", "")),
        ("accepted", "ImageBasic", declaring("ImageBasic", &image("2D 0 0 0 0 Unknown ReadOnly"))),
        ("env.image-capability", "images", image("2D 0 0 0 0 Unknown ReadOnly")),
        ("env.image-capability", "1D images", declaring("ImageBasic", &image("1D 0 0 0 0 Unknown ReadOnly"))),
        (
            "env.image-capability",
            "buffers",
            declaring("ImageBasic", &image("Buffer 0 0 0 0 Unknown ReadOnly")),
        ),
        (
            "env.image-capability",
            "images that are read and written",
            declaring("ImageBasic", &image("2D 0 0 0 0 Unknown ReadWrite")),
        ),
        ("accepted", "LiteralSampler", declaring("ImageBasic LiteralSampler", &kernel(sampler, ""))),
        ("env.instruction-capability", "literal samplers", declaring("ImageBasic", &kernel(sampler, ""))),
        ("env.float-width", "halves", without("Float16", &kernel("", ""))),
        ("env.float-width", "doubles", without("Float64", &kernel("", ""))),
        ("env.int-width", "bytes", without("Int8", &kernel("", ""))),
        (
            "env.instruction-capability",
            "groups",
            without("Groups", &kernel("", "%r = OpGroupAll %bool %u2 %true")),
        ),
        (
            "env.enumerant-capability",
            "linkage",
            before_types(
                "OpDecorate %f LinkageAttributes \"f\" Export",
                &without(
                    "Linkage",
                    &format!(
                        "{}%f = OpFunction %void None %fn\n%l = OpLabel\nOpReturn\nOpFunctionEnd\n",
                        kernel("", "")
                    ),
                ),
            ),
        ),
    ]);
    let without_images = profile_without_images();
    for capability in ["ImageBasic", "Sampled1D", "SampledBuffer", "ImageReadWrite", "LiteralSampler"] {
        let module = declaring(capability, KERNEL);
        assert!(rejected_on(&module, &without_images).contains(&"env.capability"), "{capability}");
    }
}

#[test]
fn kernels_take_what_programs_can_pass() {
    let by_value = before_types(
        "OpDecorate %param FuncParamAttr ByVal",
        &with_parameter("%s = OpTypeStruct %uint\n%p = OpTypePointer Function %s", "%p"),
    );
    table(&[
        ("accepted", "a structure ByVal", by_value.clone()),
        (
            "env.kernel-arguments",
            "a Function pointer",
            by_value.replace("OpDecorate %param FuncParamAttr ByVal\n", ""),
        ),
        ("env.kernel-arguments", "an event", with_parameter("%e = OpTypeEvent", "%e")),
        (
            "env.kernel-arguments",
            "a Generic pointer",
            with_parameter("%p = OpTypePointer Generic %uint", "%p"),
        ),
        (
            "env.kernel-arguments",
            "a pointer to Input",
            with_parameter("%p = OpTypePointer Input %uint", "%p"),
        ),
    ]);
}

#[test]
fn groups_exchange_what_they_can() {
    let vote = |value: &str| {
        declaring(
            "GroupNonUniform GroupNonUniformVote",
            &kernel(
                "%v = OpConstantNull %uint4",
                &format!("%r = OpGroupNonUniformAllEqual %bool %u3 {value}"),
            ),
        )
    };
    let intel = |body: &str| {
        declaring("SubgroupShuffleINTEL SubgroupBufferBlockIOINTEL", &kernel(
            "%uint3 = OpTypeVector %uint 3\n%uint16 = OpTypeVector %uint 16\n%p = OpTypePointer CrossWorkgroup %uint\n%n = OpConstantNull %p",
            body,
        ))
        .replace("%std = ", "OpExtension \"SPV_INTEL_subgroups\"\n%std = ")
    };
    let read = |ty: &str| intel(&format!("%r = OpSubgroupBlockReadINTEL {ty} %n"));
    table(&[
        ("accepted", "AllEqual of a number", vote("%u1")),
        ("env.non-uniform-value", "AllEqual of a vector", vote("%v")),
        ("accepted", "a shuffle", intel("%r = OpSubgroupShuffleINTEL %uint %u1 %u0")),
        ("env.shuffle-data", "a shuffle of Booleans", intel("%r = OpSubgroupShuffleINTEL %bool %true %u0")),
        ("accepted", "a block", read("%uint4")),
        ("env.block-type", "a block of three", read("%uint3")),
        ("env.block-type", "a block of sixteen", read("%uint16")),
        ("types.operands", "a block of floats", read("%float")),
    ]);
}

#[test]
fn modules_are_of_the_version_that_they_say() {
    let old = |text: &str| {
        let mut bytes = crate::test_support::assemble(text);
        bytes[4..8].copy_from_slice(&0x0001_0000u32.to_ne_bytes());
        let env = ze_extensions::DeviceProfile::host();
        let built = crate::build(&[crate::ModuleInput::new(&bytes)], &crate::Environment::new(&env));
        built.map_or_else(|error| error.diagnostics[0].rule, |_| "accepted")
    };
    let pointers = "%p = OpTypePointer Function %uint\n%n = OpConstantNull %p\n%s = OpTypeStruct %uint\n%t = OpTypeStruct %uint\n%c = OpConstantNull %s";
    assert_eq!(old(&kernel("", "")), "accepted");
    assert_eq!(old(&kernel(pointers, "%r = OpCopyLogical %t %c")), "env.instruction-version");
    assert_eq!(old(&kernel(pointers, "%r = OpPtrDiff %uint %n %n")), "env.instruction-version");
    assert_eq!(old(&kernel(pointers, "%r = OpSizeOf %uint %n")), "env.instruction-version");
    assert_eq!(old(&declaring("GroupNonUniform", &kernel("", ""))), "env.enumerant-version");
    assert_eq!(old(&before_types("OpModuleProcessed \"x\"", KERNEL)), "env.instruction-version");
}

#[test]
fn modules_keep_what_holds_for_all_of_them() {
    let function = "%f = OpFunction %void None %fn\n%l = OpLabel\nOpReturn\nOpFunctionEnd\n";
    let pointer = "%p = OpTypePointer CrossWorkgroup %uint\n%n = OpConstantNull %p";
    let flag = |semantics: &str| {
        kernel(
            &format!(
                "%p = OpTypePointer CrossWorkgroup %uint\n%n = OpConstantNull %p\n%s = OpConstant %uint {semantics}"
            ),
            "%r = OpAtomicLoad %uint %n %u1 %s",
        )
    };
    let sized = |size: &str| {
        kernel(
            &format!(
                "%b = OpTypePointer CrossWorkgroup %uchar\n%n = OpConstantNull %b\n%size = OpConstant %ulong {size}"
            ),
            "OpCopyMemorySized %n %n %size",
        )
    };
    let local = |initializer: &str| {
        kernel(
            &format!(
                "%s = OpTypeStruct %uint %uint\n%undef = OpUndef %uint\n%whole = OpUndef %s\n%some = OpConstantComposite %s %undef %undef\n%p = OpTypePointer Workgroup %s\n%v = OpVariable %p Workgroup {initializer}"
            ),
            "",
        )
    };
    table(&[
        ("types.unique", "a type twice", kernel("%again = OpTypeInt 32 0", "")),
        (
            "kernels.linkage",
            "an exported kernel",
            before_types("OpDecorate %main LinkageAttributes \"main\" Export", &kernel("", "")),
        ),
        (
            "kernels.called",
            "a call of a kernel",
            format!(
                "{}{}",
                kernel("", ""),
                function.replace("OpReturn", "%r = OpFunctionCall %void %main\nOpReturn")
            ),
        ),
        ("kernels.interface", "a type in the interface", KERNEL.replace("\"main\"", "\"main\" %void")),
        (
            "kernels.mode-target",
            "a mode of a function",
            before_types("OpExecutionMode %fn LocalSize 1 1 1", KERNEL),
        ),
        (
            "kernels.mode-twice",
            "two sizes",
            before_types(
                "OpExecutionMode %main LocalSize 1 1 1\nOpExecutionMode %main LocalSize 1 1 1",
                KERNEL,
            ),
        ),
        (
            "types.forward-pointer",
            "another class",
            kernel(
                "OpTypeForwardPointer %fw Workgroup\n%s = OpTypeStruct %fw\n%fw = OpTypePointer CrossWorkgroup %s",
                "",
            ),
        ),
        ("types.function-pointer", "a pointer to a function", kernel("%p = OpTypePointer Function %fn", "")),
        (
            "module.layout",
            "a capability behind the memory model",
            KERNEL.replace(
                "OpMemoryModel Physical64 OpenCL\n",
                "OpMemoryModel Physical64 OpenCL\nOpCapability Int8\n",
            ),
        ),
        ("module.layout", "a name behind types", KERNEL.replace("%fn = ", "OpName %void \"v\"\n%fn = ")),
        (
            "module.layout",
            "a decoration behind types",
            KERNEL.replace("%fn = ", "OpDecorate %void CPacked\n%fn = "),
        ),
        ("module.layout", "a type behind functions", format!("{KERNEL}%late = OpTypeInt 32 0\n")),
        ("ids.decorated", "a decoration of nothing", before_types("OpDecorate %nothing CPacked", KERNEL)),
        ("memory.copy-size", "a copy of nothing", sized("0")),
        ("accepted", "a copy", sized("8")),
        ("accepted", "acquire", flag("2")),
        ("memory.order", "acquire and release", flag("6")),
        (
            "types.parameters",
            "4097 parameters",
            kernel(&format!("%many = OpTypeFunction %void{}", " %uint".repeat(4097)), ""),
        ),
        ("accepted", "an undefined initializer", local("%whole")),
        ("accepted", "an initializer of undefined parts", local("%some")),
        (
            "variables.well-formed",
            "a local variable with a value",
            kernel("%p = OpTypePointer Workgroup %uint\n%v = OpVariable %p Workgroup %u1", ""),
        ),
        ("accepted", "a null pointer", kernel(pointer, "")),
        ("flow.entry", "a branch to the entry", kernel("", "OpBranch %entry\n%x = OpLabel")),
        (
            "functions.well-formed",
            "a result of another type",
            KERNEL.replace("%main = OpFunction %void", "%main = OpFunction %fn"),
        ),
    ]);
}
