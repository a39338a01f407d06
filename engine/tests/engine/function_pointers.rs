//! Calls through pointers, against what the functions compute: tables of them, divergent and uniform, under masks, with
//! barriers, sub-group operations and private objects in the functions, and everything that a pointer must not be.

use std::sync::Arc;
use ze_engine::analysis::inlining::Inlining;
use ze_engine::{Dispatch, Engine, EngineConfig, EngineError, Program};
use ze_tests::assembler::assemble;

use crate::support::load;

const GROUPS: u32 = 3;

/// Sub-group sizes, and work-items of a group: whole sub-groups, and one that has lanes off.
const SHAPES: [(u32, u32); 7] = [(1, 1), (8, 16), (8, 21), (16, 32), (16, 40), (32, 64), (32, 45)];

const INLINING: [Inlining; 3] = [Inlining::WithinBudget, Inlining::Never, Inlining::Always];

/// A kernel of three pointers, `%in` and `%out` to `uint` and `%table` to `ulong`, with its own functions. `%x` is the
/// work-item's element of `%in`, and what the body leaves in `%r` goes to `%out`.
fn module(width: u32, declarations: &str, functions: &str, body: &str) -> String {
    let mode =
        if width > 1 { format!("OpExecutionMode %main SubgroupSize {width}\n") } else { String::new() };
    let names = ["twice", "square", "negate", "third"];
    let used = |name: &&&str| functions.contains(&format!("%{name} = OpFunction "));
    let exported: String = names
        .iter()
        .filter(used)
        .map(|name| format!("OpDecorate %{name} LinkageAttributes \"{name}\" Export\n"))
        .collect();
    let (decorations, declarations): (Vec<&str>, Vec<&str>) =
        declarations.lines().partition(|line| line.starts_with("OpDecorate"));
    let exported = exported + &decorations.iter().map(|line| format!("{line}\n")).collect::<String>();
    let declarations: String = declarations.iter().map(|line| format!("{line}\n")).collect();
    let numbers: String =
        [0, 1, 2, 3, 4, 5, 7, 15, 100].iter().map(|n| format!("%u{n} = OpConstant %uint {n}\n")).collect();
    format!(
        "OpCapability Addresses\nOpCapability Kernel\nOpCapability Linkage\nOpCapability Int64\nOpCapability Int8\n\
         OpCapability GenericPointer\nOpCapability SubgroupDispatch\nOpCapability GroupNonUniform\n\
         OpCapability GroupNonUniformArithmetic\nOpCapability FunctionPointersINTEL\n\
         OpExtension \"SPV_INTEL_function_pointers\"\nOpMemoryModel Physical64 OpenCL\n\
         OpEntryPoint Kernel %main \"main\" %gid %group\n{mode}\
         OpDecorate %gid BuiltIn GlobalInvocationId\nOpDecorate %group BuiltIn WorkgroupId\n{exported}\
         %void = OpTypeVoid\n%bool = OpTypeBool\n%uchar = OpTypeInt 8 0\n%uint = OpTypeInt 32 0\n%ulong = OpTypeInt 64 0\n\
         %float = OpTypeFloat 32\n%ulong3 = OpTypeVector %ulong 3\n\
         %p_in = OpTypePointer Input %ulong3\n%p_uint = OpTypePointer CrossWorkgroup %uint\n\
         %p_ulong = OpTypePointer CrossWorkgroup %ulong\n%p_any = OpTypePointer Generic %uchar\n\
         %p_private = OpTypePointer Function %uint\n%p_generic = OpTypePointer Generic %uint\n\
         %p_local = OpTypePointer Workgroup %uint\n\
         %unary = OpTypeFunction %uint %uint\n%to_unary = OpTypePointer CodeSectionINTEL %unary\n\
         %with_float = OpTypeFunction %uint %float\n%to_float = OpTypePointer CodeSectionINTEL %with_float\n\
         %fn = OpTypeFunction %void %p_uint %p_ulong %p_uint\n{numbers}%ul0 = OpConstant %ulong 0\n%ul3 = OpConstant %ulong 3\n\
         %nobody = OpConstantNull %to_unary\n\
         %gid = OpVariable %p_in Input\n%group = OpVariable %p_in Input\n{declarations}{functions}\
         %main = OpFunction %void None %fn\n%in = OpFunctionParameter %p_uint\n%table = OpFunctionParameter %p_ulong\n\
         %out = OpFunctionParameter %p_uint\n%entry = OpLabel\n{}\
         %ids = OpLoad %ulong3 %gid\n%gx = OpCompositeExtract %ulong %ids 0\n\
         %groups = OpLoad %ulong3 %group\n%g = OpCompositeExtract %ulong %groups 0\n\
         %from = OpInBoundsPtrAccessChain %p_uint %in %gx\n%to = OpInBoundsPtrAccessChain %p_uint %out %gx\n\
         %x = OpLoad %uint %from\n{body}\nOpStore %to %r\nOpReturn\nOpFunctionEnd\n",
        if body.contains("%object") { "%object = OpVariable %p_private Function\n" } else { "" }
    )
}

/// A function of one `uint`, of which `result` computes `%y_NAME` from `%a_NAME`.
fn unary(name: &str, result: &str) -> String {
    format!(
        "%{name} = OpFunction %uint None %unary\n%a_{name} = OpFunctionParameter %uint\n%l_{name} = OpLabel\n{result}\n\
         OpReturnValue %y_{name}\nOpFunctionEnd\n"
    )
}

fn three() -> String {
    unary("twice", "%y_twice = OpIAdd %uint %a_twice %a_twice")
        + &unary("square", "%y_square = OpIMul %uint %a_square %a_square")
        + &unary("negate", "%y_negate = OpSNegate %uint %a_negate")
}

/// What the three compute.
fn apply(number: u32, x: u32) -> u32 {
    match number % 3 {
        0 => x.wrapping_add(x),
        1 => x.wrapping_mul(x),
        _ => x.wrapping_neg(),
    }
}

/// Addresses of the three, and a variable with a table of them, as C++ has its virtual functions.
const TABLE: &str = "%fp_twice = OpConstantFunctionPointerINTEL %to_unary %twice\n\
     %fp_square = OpConstantFunctionPointerINTEL %to_unary %square\n\
     %fp_negate = OpConstantFunctionPointerINTEL %to_unary %negate\n\
     %any_twice = OpSpecConstantOp %p_any PtrCastToGeneric %fp_twice\n\
     %any_square = OpSpecConstantOp %p_any PtrCastToGeneric %fp_square\n\
     %any_negate = OpSpecConstantOp %p_any PtrCastToGeneric %fp_negate\n\
     %any_3 = OpTypeArray %p_any %u3\n%p_any_3 = OpTypePointer CrossWorkgroup %any_3\n\
     %p_any_in = OpTypePointer CrossWorkgroup %p_any\n\
     %all = OpConstantComposite %any_3 %any_twice %any_square %any_negate\n\
     %functions = OpVariable %p_any_3 CrossWorkgroup %all\n";

/// The function with the number `%n` of the table, as `%f`.
const PICK: &str = "%m = OpUMod %uint %n %u3\n%place = OpInBoundsPtrAccessChain %p_any_in %functions %u0 %m\n\
     %f = OpLoad %p_any %place\n";

struct Running {
    program: Arc<Program>,
}

impl Running {
    fn new(text: &str, inlining: Inlining) -> Running {
        let engine = Engine::new(EngineConfig { threads: 3, inlining, ..EngineConfig::default() });
        Running { program: load(&engine, &assemble(text)) }
    }

    fn run(&self, size: u32, groups: u32, input: &[u32], table: &[u64]) -> Result<Vec<u32>, EngineError> {
        let mut out = vec![0u32; input.len()];
        let pointers = [input.as_ptr() as u64, table.as_ptr() as u64, out.as_mut_ptr() as u64];
        let args: Vec<u8> = pointers.iter().flat_map(|pointer| pointer.to_le_bytes()).collect();
        let dispatch = Dispatch {
            group_count: [groups, 1, 1],
            group_size: [size, 1, 1],
            global_offset: [0; 3],
            args: &args,
        };
        self.program.kernel("main").expect("the kernel").launch(&dispatch).map(|()| out)
    }
}

fn input(count: u32) -> Vec<u32> {
    (0..count).map(|at| at.wrapping_mul(2_654_435_761).rotate_left(7) ^ at).collect()
}

/// Runs a kernel in all shapes; `expected` says what a work-item writes, from its input, its id, its group and the
/// work-items of a group and a sub-group.
fn agrees(
    declarations: &str,
    functions: &str,
    body: &str,
    expected: impl Fn(&[u32], usize, u32, u32) -> u32,
) {
    for (width, size) in SHAPES {
        for inlining in INLINING {
            let running = Running::new(&module(width, declarations, functions, body), inlining);
            let input = input(GROUPS * size);
            let names = ["twice", "square", "negate"];
            let table: Vec<u64> =
                names.iter().filter_map(|name| running.program.function_pointer(name)).collect();
            let out = running.run(size, GROUPS, &input, &table).unwrap_or_else(|error| panic!("{error}"));
            for (at, found) in out.iter().enumerate() {
                let wanted = expected(&input, at, size, width);
                assert_eq!(
                    *found, wanted,
                    "work-item {at} of groups of {size}, {width} lanes, {inlining:?}\n{body}"
                );
            }
        }
    }
}

#[test]
fn lanes_call_what_their_pointers_say() {
    let body = format!("%n = OpCopyObject %uint %x\n{PICK}%r = OpFunctionPointerCallINTEL %uint %f %x");
    agrees(TABLE, &three(), &body, |input, at, _, _| apply(input[at], input[at]));
}

#[test]
fn what_all_lanes_call_is_called_once() {
    let body = format!("%n = OpUConvert %uint %g\n{PICK}%r = OpFunctionPointerCallINTEL %uint %f %x");
    agrees(TABLE, &three(), &body, |input, at, size, _| apply(at as u32 / size, input[at]));
}

#[test]
fn a_constant_pointer_is_called_like_any() {
    agrees(TABLE, &three(), "%r = OpFunctionPointerCallINTEL %uint %fp_square %x", |input, at, _, _| {
        apply(1, input[at])
    });
}

#[test]
fn some_lanes_call_and_others_do_not() {
    let body = format!(
        "%low = OpBitwiseAnd %uint %x %u4\n%odd = OpINotEqual %bool %low %u0\n%n = OpCopyObject %uint %x\n{PICK}\
         OpBranchConditional %odd %then %join\n%then = OpLabel\n%c = OpFunctionPointerCallINTEL %uint %f %x\nOpBranch %join\n\
         %join = OpLabel\n%r = OpPhi %uint %x %entry %c %then"
    );
    let expected = |input: &[u32], at: usize, _, _| {
        if input[at] & 4 != 0 { apply(input[at], input[at]) } else { input[at] }
    };
    agrees(TABLE, &three(), &body, expected);
}

#[test]
fn loops_call_as_often_as_each_lane_wants() {
    let body = "%count = OpBitwiseAnd %uint %x %u7\nOpBranch %head\n%head = OpLabel\n\
        %i = OpPhi %uint %u0 %entry %i1 %inside\n%v = OpPhi %uint %x %entry %w %inside\n\
        %more = OpULessThan %bool %i %count\nOpBranchConditional %more %inside %done\n%inside = OpLabel\n\
        %n = OpIAdd %uint %v %i\nPICK%w = OpFunctionPointerCallINTEL %uint %f %v\n%i1 = OpIAdd %uint %i %u1\nOpBranch %head\n\
        %done = OpLabel\n%r = OpCopyObject %uint %v";
    let expected = |input: &[u32], at: usize, _, _| {
        (0..input[at] & 7).fold(input[at], |value, i| apply(value.wrapping_add(i), value))
    };
    agrees(TABLE, &three(), &body.replace("PICK", PICK), expected);
}

#[test]
fn the_host_hands_pointers_over_as_numbers() {
    let body = "%n = OpUMod %uint %x %u3\n%at = OpInBoundsPtrAccessChain %p_ulong %table %n\n%number = OpLoad %ulong %at\n\
        %f = OpConvertUToPtr %to_unary %number\n%r = OpFunctionPointerCallINTEL %uint %f %x";
    agrees("", &three(), body, |input, at, _, _| apply(input[at], input[at]));
}

#[test]
fn pointers_are_values_that_are_stored_compared_and_converted() {
    // The pointer goes through a private variable as a number; a null pointer is not called.
    let declarations =
        format!("{TABLE}%p_f = OpTypePointer Function %ulong\n%null = OpConstantNull %p_any\n");
    let body = format!(
        "%n = OpCopyObject %uint %x\n{PICK}%low = OpBitwiseAnd %uint %x %u1\n%odd = OpINotEqual %bool %low %u0\n\
         %chosen = OpSelect %p_any %odd %f %null\n%number = OpConvertPtrToU %ulong %chosen\n\
         %half = OpUConvert %uint %number\nOpStore %object %half\n%c32 = OpBitwiseXor %uint %half %half\n\
         %back = OpConvertUToPtr %p_any %number\n%none = OpIEqual %bool %number %ul0\n\
         OpBranchConditional %none %join %then\n%then = OpLabel\n%c = OpFunctionPointerCallINTEL %uint %back %x\n\
         OpBranch %join\n%join = OpLabel\n%r0 = OpPhi %uint %u100 %entry %c %then\n%r = OpBitwiseOr %uint %r0 %c32"
    );
    let expected =
        |input: &[u32], at: usize, _, _| if input[at] & 1 != 0 { apply(input[at], input[at]) } else { 100 };
    agrees(&declarations, &three(), &body, expected);
}

#[test]
fn sub_group_operations_are_of_the_lanes_that_call_the_same_function() {
    let sum = unary(
        "twice",
        "%s_twice = OpGroupNonUniformIAdd %uint %u3 Reduce %a_twice\n%y_twice = OpIAdd %uint %s_twice %u1",
    ) + &unary("square", "%y_square = OpGroupNonUniformIAdd %uint %u3 Reduce %a_square")
        + &unary("negate", "%y_negate = OpSNegate %uint %a_negate");
    let body = format!("%n = OpCopyObject %uint %x\n{PICK}%r = OpFunctionPointerCallINTEL %uint %f %x");
    agrees(TABLE, &sum, &body, |input, at, size, width| {
        let group = at as u32 / size * size;
        let first = group + (at as u32 - group) / width * width;
        let last = (first + width).min(group + size);
        let same = |other: &u32| other % 3 == input[at] % 3;
        let sum = || {
            input[first as usize..last as usize]
                .iter()
                .filter(|x| same(x))
                .fold(0u32, |sum, x| sum.wrapping_add(*x))
        };
        match input[at] % 3 {
            0 => sum().wrapping_add(1),
            1 => sum(),
            _ => input[at].wrapping_neg(),
        }
    });
}

#[test]
fn functions_that_all_work_items_call_wait_for_each_other() {
    // Each work-item leaves its number in local memory, and takes its neighbour's behind the barrier.
    let declarations = format!(
        "{TABLE}%n1024 = OpConstant %uint 1024\n%array = OpTypeArray %uint %n1024\n%p_array = OpTypePointer Workgroup %array\n\
         %local = OpVariable %p_array Workgroup\n%lid = OpVariable %p_in Input\n%size = OpVariable %p_in Input\n\
         %semantics = OpConstant %uint 0x110\n"
    );
    let exchange = unary(
        "twice",
        "%lids = OpLoad %ulong3 %lid\n%l64 = OpCompositeExtract %ulong %lids 0\n%l = OpUConvert %uint %l64\n\
         %sizes = OpLoad %ulong3 %size\n%s64 = OpCompositeExtract %ulong %sizes 0\n%s = OpUConvert %uint %s64\n\
         %mine = OpInBoundsPtrAccessChain %p_local %local %u0 %l\nOpStore %mine %a_twice\n\
         OpControlBarrier %u2 %u2 %semantics\n%l1 = OpIAdd %uint %l %u1\n%next = OpUMod %uint %l1 %s\n\
         %theirs = OpInBoundsPtrAccessChain %p_local %local %u0 %next\n%y_twice = OpLoad %uint %theirs",
    );
    let functions = exchange
        + &unary("square", "%y_square = OpIMul %uint %a_square %a_square")
        + &unary("negate", "%y_negate = OpSNegate %uint %a_negate");
    let body = format!("%n = OpUConvert %uint %g\n{PICK}%r = OpFunctionPointerCallINTEL %uint %f %x");
    let built_in = |text: String| {
        text.replace("%void = OpTypeVoid", "OpDecorate %lid BuiltIn LocalInvocationId\nOpDecorate %size BuiltIn WorkgroupSize\n%void = OpTypeVoid")
    };
    for (width, size) in SHAPES {
        let running =
            Running::new(&built_in(module(width, &declarations, &functions, &body)), Inlining::default());
        let input = input(GROUPS * size);
        let out = running.run(size, GROUPS, &input, &[]).unwrap_or_else(|error| panic!("{error}"));
        for (at, found) in out.iter().enumerate() {
            let (group, local) = (at as u32 / size, at as u32 % size);
            let wanted = match group {
                0 => input[((local + 1) % size) as usize],
                group => apply(group, input[at]),
            };
            assert_eq!(*found, wanted, "work-item {at} of groups of {size}, {width} lanes");
        }
    }
}

#[test]
fn functions_change_private_objects_of_their_callers() {
    let declarations = "%change = OpTypeFunction %void %p_generic %uint\n%to_change = OpTypePointer CodeSectionINTEL %change\n\
        %fp_add = OpConstantFunctionPointerINTEL %to_change %add\n%fp_put = OpConstantFunctionPointerINTEL %to_change %put\n";
    let function = |name: &str, value: &str| {
        format!(
            "%{name} = OpFunction %void None %change\n%p_{name} = OpFunctionParameter %p_generic\n\
             %a_{name} = OpFunctionParameter %uint\n%l_{name} = OpLabel\n%own_{name} = OpVariable %p_private Function\n\
             OpStore %own_{name} %a_{name}\n%old_{name} = OpLoad %uint %p_{name}\n%arg_{name} = OpLoad %uint %own_{name}\n\
             {value}\nOpStore %p_{name} %new_{name}\nOpReturn\nOpFunctionEnd\n"
        )
    };
    let functions = function("add", "%new_add = OpIAdd %uint %old_add %arg_add")
        + &function("put", "%new_put = OpBitwiseXor %uint %arg_put %u5");
    let body = "%low = OpBitwiseAnd %uint %x %u2\n%even = OpIEqual %bool %low %u0\n%f = OpSelect %to_change %even %fp_add %fp_put\n\
        OpStore %object %u7\n%generic = OpPtrCastToGeneric %p_generic %object\n\
        %nothing = OpFunctionPointerCallINTEL %void %f %generic %x\n%r = OpLoad %uint %object";
    let expected = |input: &[u32], at: usize, _, _| {
        if input[at] & 2 == 0 { input[at].wrapping_add(7) } else { input[at] ^ 5 }
    };
    agrees(declarations, &functions, body, expected);
}

/// As C++ passes structures: the callee's parameter is an object of its own, whatever the call says.
#[test]
fn objects_that_are_passed_by_value_stay_the_callers() {
    let declarations = "%take = OpTypeFunction %uint %p_private\n%to_take = OpTypePointer CodeSectionINTEL %take\n\
        %fp_spoil = OpConstantFunctionPointerINTEL %to_take %spoil\n%fp_read = OpConstantFunctionPointerINTEL %to_take %read\n";
    let functions = "%spoil = OpFunction %uint None %take\n%p_spoil = OpFunctionParameter %p_private\n%l_spoil = OpLabel\n\
        %old_spoil = OpLoad %uint %p_spoil\nOpStore %p_spoil %u100\n%new_spoil = OpLoad %uint %p_spoil\n\
        %y_spoil = OpIAdd %uint %old_spoil %new_spoil\nOpReturnValue %y_spoil\nOpFunctionEnd\n\
        %read = OpFunction %uint None %take\n%p_read = OpFunctionParameter %p_private\n%l_read = OpLabel\n\
        %y_read = OpLoad %uint %p_read\nOpReturnValue %y_read\nOpFunctionEnd\n";
    let body = "%low = OpBitwiseAnd %uint %x %u2\n%even = OpIEqual %bool %low %u0\n%f = OpSelect %to_take %even %fp_spoil %fp_read\n\
        OpStore %object %x\n%first = OpFunctionPointerCallINTEL %uint %f %object\n%second = OpLoad %uint %object\n\
        %shifted = OpIMul %uint %second %u7\n%r = OpIAdd %uint %first %shifted";
    let expected = |input: &[u32], at: usize, _, _| {
        let x = input[at];
        let first = if x & 2 == 0 { x.wrapping_add(100) } else { x };
        first.wrapping_add(x.wrapping_mul(7))
    };
    let by_value = "OpDecorate %p_spoil FuncParamAttr ByVal\nOpDecorate %p_read FuncParamAttr ByVal\n";
    agrees(&format!("{by_value}{declarations}"), functions, body, expected);
}

/// `sum(n, f) = n == 0 ? 0 : n + f(n - 1, f)`, with a private object for each activation.
const SUM: &str = "%sum = OpFunction %uint None %folding\n%sn = OpFunctionParameter %uint\n%sf = OpFunctionParameter %p_any\n\
    %sl = OpLabel\n%keep = OpVariable %p_private Function\nOpStore %keep %sn\n%z = OpIEqual %bool %sn %u0\n\
    OpBranchConditional %z %zero %rest\n%zero = OpLabel\nOpReturnValue %u0\n%rest = OpLabel\n%less = OpISub %uint %sn %u1\n\
    %inner = OpFunctionPointerCallINTEL %uint %sf %less %sf\n%kept = OpLoad %uint %keep\n%total = OpIAdd %uint %kept %inner\n\
    OpReturnValue %total\nOpFunctionEnd\n";
const FOLDING: &str = "%folding = OpTypeFunction %uint %uint %p_any\n%to_folding = OpTypePointer CodeSectionINTEL %folding\n\
    %fp_sum = OpConstantFunctionPointerINTEL %to_folding %sum\n";

#[test]
fn functions_call_themselves_through_pointers() {
    let body = "%n = OpBitwiseAnd %uint %x %u15\n%self = OpPtrCastToGeneric %p_any %fp_sum\n\
        %r = OpFunctionPointerCallINTEL %uint %self %n %self";
    agrees(FOLDING, SUM, body, |input, at, _, _| (input[at] & 15) * ((input[at] & 15) + 1) / 2);
}

fn reason(result: Result<Vec<u32>, EngineError>) -> String {
    match result {
        Ok(_) => "it ran".into(),
        Err(EngineError::Failed { reason, .. }) => reason.to_string(),
        Err(error) => format!("another error: {error}"),
    }
}

#[test]
fn recursion_without_an_end_ends_with_an_error() {
    // As the sum, and it never sees the end: n is large.
    let body = "%self = OpPtrCastToGeneric %p_any %fp_sum\n%n = OpNot %uint %u0\n\
        %r = OpFunctionPointerCallINTEL %uint %self %n %self";
    let barrier = format!("OpControlBarrier %u2 %u2 %u0\n{body}");
    for (width, size) in [(1, 1), (8, 16), (16, 40), (32, 64)] {
        for body in [body, &barrier] {
            let running = Running::new(&module(width, FOLDING, SUM, body), Inlining::default());
            let input = input(GROUPS * size);
            for _ in 0..2 {
                assert!(
                    reason(running.run(size, GROUPS, &input, &[])).contains("deeper than the stack"),
                    "{width}"
                );
            }
        }
    }
}

#[test]
fn what_is_no_function_of_the_program_ends_the_launch() {
    let body = "%at = OpInBoundsPtrAccessChain %p_ulong %table %u0\n%one = OpLoad %ulong %at\n\
        %at1 = OpInBoundsPtrAccessChain %p_ulong %table %u1\n%two = OpLoad %ulong %at1\n\
        %last = OpIEqual %bool %x %u5\n%number = OpSelect %ulong %last %two %one\n\
        %f = OpConvertUToPtr %to_unary %number\n%r = OpFunctionPointerCallINTEL %uint %f %x";
    // A function that takes something else has an address too.
    let other = "%third = OpFunction %uint None %with_float\n%a_third = OpFunctionParameter %float\n%l_third = OpLabel\n\
        %y_third = OpBitcast %uint %a_third\nOpReturnValue %y_third\nOpFunctionEnd\n";
    let functions = three() + other;
    let barrier = format!("OpControlBarrier %u2 %u2 %u0\n{body}");
    for (width, size) in [(1, 1), (1, 4), (8, 16), (16, 40), (32, 64)] {
        for body in [body, &barrier] {
            let running = Running::new(&module(width, "", &functions, body), Inlining::default());
            let elsewhere = Running::new(&module(width, "", &functions, body), Inlining::default());
            let good = running.program.function_pointer("square").expect("it is exported");
            let third = running.program.function_pointer("third").expect("it is exported");
            let foreign = elsewhere.program.function_pointer("square").expect("it is exported");
            let mut values: Vec<u32> = (0..64 * size).map(|at| at + 100).collect();
            values[33 * size as usize] = 5;
            let run = |bad: u64| running.run(size, 64, &values, &[good, bad]);
            assert!(reason(run(0)).contains("null"));
            for bad in [
                1,
                16,
                good + 1,
                good + 8,
                good - 1,
                third,
                foreign,
                u64::MAX,
                values.as_ptr() as u64,
                1 << 47,
            ] {
                let reason = reason(run(bad));
                assert!(reason.contains(&format!("{bad:#x}")), "{reason}");
            }
            // Nothing of it stays behind.
            let out = run(good).expect("all pointers are good");
            assert!(out.iter().zip(&values).all(|(out, x)| *out == x * x));
        }
    }
}

#[test]
fn pointers_lead_nowhere_where_no_function_has_an_address() {
    let text = module(8, "", "", "%r = OpFunctionPointerCallINTEL %uint %nobody %x");
    let running = Running::new(&text, Inlining::default());
    assert!(reason(running.run(16, GROUPS, &input(48), &[])).contains("null"));
}

#[test]
fn one_pointer_is_good_in_kernels_of_every_width() {
    let kernel = |name: &str, width: u32| {
        format!(
            "%{name} = OpFunction %void None %fn\n%in_{name} = OpFunctionParameter %p_uint\n%table_{name} = OpFunctionParameter %p_ulong\n\
             %out_{name} = OpFunctionParameter %p_uint\n%entry_{name} = OpLabel\n%number_{name} = OpLoad %ulong %table_{name}\n\
             %f_{name} = OpConvertUToPtr %to_unary %number_{name}\n%r_{name} = OpFunctionPointerCallINTEL %uint %f_{name} %u{width}\n\
             OpStore %out_{name} %r_{name}\nOpReturn\nOpFunctionEnd\n"
        )
    };
    let widths = [4, 7, 15];
    let kernels: String = widths.iter().map(|width| kernel(&format!("k{width}"), *width)).collect();
    let text = (module(32, "", &three(), "%r = OpCopyObject %uint %x") + &kernels).replace(
        "OpEntryPoint Kernel %main",
        "OpEntryPoint Kernel %k4 \"k4\"\nOpEntryPoint Kernel %k7 \"k7\"\nOpEntryPoint Kernel %k15 \"k15\"\nOpEntryPoint Kernel %main",
    );
    let text = text.replace(
        "OpExecutionMode %main",
        "OpExecutionMode %k7 SubgroupSize 8\nOpExecutionMode %k15 SubgroupSize 16\nOpExecutionMode %main",
    );
    let running = Running::new(&text, Inlining::default());
    let table = [running.program.function_pointer("square").expect("it is exported")];
    for width in widths {
        let mut out = 0u32;
        let pointers = [0, table.as_ptr() as u64, (&raw mut out) as u64];
        let args: Vec<u8> = pointers.iter().flat_map(|pointer| pointer.to_le_bytes()).collect();
        let dispatch =
            Dispatch { group_count: [1; 3], group_size: [1; 3], global_offset: [0; 3], args: &args };
        let kernel = running.program.kernel(&format!("k{width}")).expect("the kernel");
        kernel.launch(&dispatch).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(out, width * width);
    }
}
