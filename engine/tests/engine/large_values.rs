//! Values that are too large for registers: through every instruction that takes them, uniform and varying, in all widths,
//! with calls and without, and against the same in Rust. The same program with small values takes the way through registers.

use std::sync::Arc;
use ze_engine::analysis::inlining::Inlining;
use ze_engine::jit::hash::digest;
use ze_engine::{Dispatch, Engine, EngineConfig, LinkedPart};
use ze_tests::assembler::assemble;

use crate::support::load;

/// Arrays that the kernel writes for each work-item.
const OUT: usize = 8;

/// A kernel that does everything with arrays of `n` integers that can be done with them.
fn module(n: usize, width: Option<u32>) -> Vec<u8> {
    let mode = width.map_or(String::new(), |width| format!("OpExecutionMode %main SubgroupSize {width}\n"));
    let digits: String = (0..10).map(|at| format!("%d{at} = OpConstant %uint {at}\n")).collect();
    let table: String = (0..n).map(|at| format!(" %d{}", at % 10)).collect();
    let last = n - 1;
    let stores: String = ["p", "q", "f", "s", "s2", "g", "v", "w"]
        .iter()
        .enumerate()
        .map(|(at, value)| {
            format!(
                "%o{at} = OpIAdd %uint %first %d{at}\n%to{at} = OpInBoundsPtrAccessChain %ga %out %o{at}\n\
                 OpStore %to{at} %{value} Aligned 4\n"
            )
        })
        .collect();
    assemble(&format!(
        "OpCapability Addresses\nOpCapability Kernel\nOpCapability Int8\nOpCapability Int64\nOpCapability SubgroupDispatch\n\
OpMemoryModel Physical64 OpenCL\nOpEntryPoint Kernel %main \"main\" %gid\n{mode}\
OpDecorate %gid BuiltIn GlobalInvocationId\nOpDecorate %tight CPacked\n\
%void = OpTypeVoid\n%bool = OpTypeBool\n%uint = OpTypeInt 32 0\n%ulong = OpTypeInt 64 0\n%uchar = OpTypeInt 8 0
%three = OpTypeVector %ulong 3\n%pin = OpTypePointer Input %three\n%gid = OpVariable %pin Input
{digits}%c13 = OpConstant %uint 13\n%c8 = OpConstant %uint 8\n%len = OpConstant %uint {n}
%odd = OpConstant %uchar 200
%arr = OpTypeArray %uint %len\n%pair = OpTypeStruct %arr %uint\n%tight = OpTypeStruct %uchar %arr %uchar
%ga = OpTypePointer CrossWorkgroup %arr\n%gu = OpTypePointer CrossWorkgroup %uint
%pa = OpTypePointer Function %arr\n%pu = OpTypePointer Function %uint
%table = OpConstantComposite %arr{table}\n%zeros = OpConstantNull %arr\n%any = OpUndef %arr
%kernel = OpTypeFunction %void %ga %ga %gu %ga\n%choose = OpTypeFunction %arr %arr %arr %uint
%main = OpFunction %void None %kernel
%in = OpFunctionParameter %ga\n%shared = OpFunctionParameter %ga\n%res = OpFunctionParameter %gu
%out = OpFunctionParameter %ga
%entry = OpLabel
%var = OpVariable %pa Function %table
%id3 = OpLoad %three %gid\n%id64 = OpCompositeExtract %ulong %id3 0\n%i = OpUConvert %uint %id64
%twice = OpIMul %uint %i %d2\n%next = OpIAdd %uint %twice %d1\n%first = OpIMul %uint %i %c8
%at_a = OpInBoundsPtrAccessChain %ga %in %twice\n%at_b = OpInBoundsPtrAccessChain %ga %in %next
%a = OpLoad %arr %at_a\n%b = OpLoad %arr %at_b Aligned 4\n%u = OpLoad %arr %shared
%x = OpCompositeExtract %uint %a {last}\n%y = OpCompositeExtract %uint %b 3\n%z = OpCompositeExtract %uint %u {last}
%w1 = OpCompositeInsert %arr %x %a 7\n%w = OpCompositeInsert %arr %z %w1 8
%low = OpBitwiseAnd %uint %x %d1\n%even = OpIEqual %bool %low %d0
%s = OpSelect %arr %even %a %b\n%s2 = OpSelect %arr %even %table %s
%steps = OpBitwiseAnd %uint %x %d7
OpBranch %head\n%head = OpLabel
%p = OpPhi %arr %a %entry %q %body\n%q = OpPhi %arr %b %entry %r %body\n%k = OpPhi %uint %d0 %entry %k1 %body
%more = OpULessThan %bool %k %steps
OpBranchConditional %more %body %done
%body = OpLabel
%e = OpCompositeExtract %uint %q {last}\n%sum = OpIAdd %uint %e %k\n%r = OpCompositeInsert %arr %sum %p {last}
%k1 = OpIAdd %uint %k %d1\nOpBranch %head
%done = OpLabel
%copy = OpCopyObject %arr %w
%f = OpFunctionCall %arr %fun %p %copy %x
%t0 = OpCompositeConstruct %pair %f %x\n%t = OpCompositeInsert %pair %y %t0 0 1
%g0 = OpCompositeExtract %arr %t 0\n%tx = OpCompositeExtract %uint %t 1
%packed = OpCompositeConstruct %tight %odd %g0 %odd
%px = OpCompositeExtract %uint %packed 1 2\n%pa0 = OpCompositeExtract %arr %packed 1
OpBranchConditional %even %yes %join
%yes = OpLabel
%h = OpFunctionCall %arr %fun %zeros %pa0 %y
OpBranch %join
%join = OpLabel
%g = OpPhi %arr %h %yes %any %done
%where = OpUMod %uint %x %len\n%place = OpInBoundsAccessChain %pu %var %where\nOpStore %place %x
%v = OpLoad %arr %var
{stores}%r1 = OpBitwiseXor %uint %x %y\n%r2 = OpIAdd %uint %r1 %tx\n%r3 = OpIAdd %uint %r2 %px\n%r4 = OpIMul %uint %r3 %c13
%r5 = OpIAdd %uint %r4 %z\n%to = OpInBoundsPtrAccessChain %gu %res %i\nOpStore %to %r5
OpReturn\nOpFunctionEnd
%fun = OpFunction %arr None %choose
%pf = OpFunctionParameter %arr\n%qf = OpFunctionParameter %arr\n%xf = OpFunctionParameter %uint
%in_f = OpLabel\n%bit = OpBitwiseAnd %uint %xf %d2\n%is = OpINotEqual %bool %bit %d0
OpBranchConditional %is %one %two
%one = OpLabel\n%changed = OpCompositeInsert %arr %xf %pf 0\nOpReturnValue %changed
%two = OpLabel\nOpReturnValue %qf
OpFunctionEnd\n"
    ))
}

/// What the kernel does for one work-item: its arrays but for what is undefined, and its number.
fn in_rust(a: &[u32], b: &[u32], u: &[u32]) -> (Vec<Option<Vec<u32>>>, u32) {
    let n = a.len();
    let last = n - 1;
    let (x, y, z) = (a[last], b[3], u[last]);
    let table: Vec<u32> = (0..n as u32).map(|at| at % 10).collect();
    let mut w = a.to_vec();
    (w[7], w[8]) = (x, z);
    let even = x % 2 == 0;
    let s = if even { a } else { b };
    let s2 = if even { &table } else { s };
    let (mut p, mut q) = (a.to_vec(), b.to_vec());
    for k in 0..x & 7 {
        p[last] = q[last].wrapping_add(k);
        std::mem::swap(&mut p, &mut q);
    }
    let choose = |p: &[u32], q: &[u32], x: u32| match x & 2 {
        0 => q.to_vec(),
        _ => [&[x], &p[1..]].concat(),
    };
    let f = choose(&p, &w, x);
    let mut changed = f.clone();
    changed[1] = y;
    let g = even.then(|| choose(&vec![0; n], &changed, y));
    let mut v = table.clone();
    v[x as usize % n] = x;
    let number = ((x ^ y).wrapping_add(x).wrapping_add(f[2])).wrapping_mul(13).wrapping_add(z);
    (vec![Some(p), Some(q), Some(f), Some(s.to_vec()), Some(s2.to_vec()), g, Some(v), Some(w)], number)
}

#[track_caller]
fn check(n: usize, width: Option<u32>, size: u32, inlining: Inlining) {
    let groups = 2;
    let items = (groups * size) as usize;
    let bytes = module(n, width);
    let engine = Engine::new(EngineConfig { threads: 1, inlining, ..EngineConfig::default() });
    let kernel = load(&engine, &bytes).kernel("main").expect("the kernel");
    let number = |at: usize| (at as u32).wrapping_mul(2_654_435_761) >> 7;
    let input: Vec<u32> = (0..2 * items * n).map(number).collect();
    let shared: Vec<u32> = (0..n).map(|at| number(at + 17)).collect();
    let (mut out, mut numbers) = (vec![0u32; OUT * items * n], vec![0u32; items]);
    let args: Vec<u8> = [input.as_ptr(), shared.as_ptr(), numbers.as_mut_ptr(), out.as_mut_ptr()]
        .iter()
        .flat_map(|pointer| (*pointer as u64).to_le_bytes())
        .collect();
    let (group_count, group_size) = ([groups, 1, 1], [size, 1, 1]);
    kernel
        .launch(&Dispatch { group_count, group_size, global_offset: [0; 3], args: &args })
        .unwrap_or_else(|error| panic!("{error}"));
    for item in 0..items {
        let [a, b] = [0, 1].map(|at| &input[(2 * item + at) * n..][..n]);
        let (arrays, expected) = in_rust(a, b, &shared);
        let of = format!("arrays of {n}, width {width:?}, groups of {size}, {inlining:?}, item {item}");
        for (at, array) in arrays.iter().enumerate() {
            let Some(array) = array else { continue };
            let found = &out[(OUT * item + at) * n..][..n];
            let wrong = array.iter().zip(found).position(|(expected, found)| expected != found);
            assert_eq!(wrong, None, "{of}: array {at}");
        }
        assert_eq!(numbers[item], expected, "{of}");
    }
}

#[test]
fn large_arrays_go_through_every_instruction_that_takes_them() {
    for (width, size) in [(None, 1), (Some(8), 8), (Some(16), 20), (Some(32), 32)] {
        check(5_000, width, size, Inlining::WithinBudget);
    }
}

#[test]
fn calls_that_stay_calls_take_and_give_large_arrays() {
    check(5_000, Some(16), 20, Inlining::Never);
    check(4_097, None, 1, Inlining::Never);
}

#[test]
fn the_reference_agrees_about_small_arrays() {
    for (width, size) in [(None, 1), (Some(16), 20)] {
        check(40, width, size, Inlining::WithinBudget);
    }
}

/// Constants that are variables now have no ids of the module, which other modules' ids follow when it is linked.
#[test]
fn large_constants_of_a_module_stay_apart_from_what_it_is_linked_with() {
    const TABLES: usize = 8;
    let header = "OpCapability Addresses\nOpCapability Kernel\nOpCapability Linkage\nOpMemoryModel Physical64 OpenCL\n";
    let types = "%void = OpTypeVoid\n%uint = OpTypeInt 32 0\n%get = OpTypeFunction %uint\n";
    let items = " %five".repeat(5_000);
    let tables: String =
        (0..TABLES).map(|at| format!("%t{at} = OpConstantComposite %arr{items}\n")).collect();
    let sum: String = (0..TABLES)
        .map(|at| {
            format!(
                "%x{at} = OpCompositeExtract %uint %t{at} {at}\n%s{} = OpIAdd %uint %s{at} %x{at}\n",
                at + 1
            )
        })
        .collect();
    let library = assemble(&format!(
        "{header}OpDecorate %f LinkageAttributes \"sum\" Export\n{types}%five = OpConstant %uint 5\n\
%n = OpConstant %uint 5000\n%arr = OpTypeArray %uint %n\n{tables}%f = OpFunction %uint None %get\n%l = OpLabel\n\
%s0 = OpCopyObject %uint %five\n{sum}OpReturnValue %s{TABLES}\nOpFunctionEnd\n"
    ));
    // The first ids of the other module are variables.
    let each = |text: &dyn Fn(usize) -> String| -> String { (0..40).map(text).collect() };
    let program = assemble(&format!(
        "{header}OpEntryPoint Kernel %main \"main\"\n{}OpDecorate %f LinkageAttributes \"sum\" Import\n{types}\
%seven = OpConstant %uint 7\n%gu = OpTypePointer CrossWorkgroup %uint\n{}%fn = OpTypeFunction %void %gu\n\
%f = OpFunction %uint None %get\nOpFunctionEnd\n\
%main = OpFunction %void None %fn\n%out = OpFunctionParameter %gu\n%entry = OpLabel\n\
%r0 = OpFunctionCall %uint %f\n{}OpStore %out %r40\nOpReturn\nOpFunctionEnd\n",
        each(&|at| format!("OpName %g{at} \"g{at}\"\n")),
        each(&|at| format!("%g{at} = OpVariable %gu CrossWorkgroup %seven\n")),
        each(&|at| { format!("%v{at} = OpLoad %uint %g{at}\n%r{} = OpIAdd %uint %r{at} %v{at}\n", at + 1) }),
    ));
    let engine = Engine::new(EngineConfig { threads: 1, ..EngineConfig::default() });
    let profile = ze_extensions::DeviceProfile::host();
    let environment = spirv_env::Environment::new(&profile);
    let built = |parts: &[&[u8]]| {
        let inputs: Vec<_> = parts.iter().map(|bytes| spirv_env::ModuleInput::new(bytes)).collect();
        Arc::new(spirv_env::build(&inputs, &environment).unwrap_or_else(|error| panic!("{error}")))
    };
    let parts = [&library, &program].map(|bytes| load(&engine, bytes));
    let parts = parts.each_ref().map(|program| LinkedPart { program, linked: false });
    let key = digest(&[&library, &program]);
    let linked = engine.link(built(&[&library, &program]), key, &parts).expect("links");
    let mut out = 0u32;
    let args = (&raw mut out as u64).to_le_bytes();
    let dispatch = Dispatch { group_count: [1; 3], group_size: [1; 3], global_offset: [0; 3], args: &args };
    linked.kernel("main").expect("the kernel").launch(&dispatch).expect("launches");
    assert_eq!(out, 5 * (TABLES as u32 + 1) + 40 * 7);
}
