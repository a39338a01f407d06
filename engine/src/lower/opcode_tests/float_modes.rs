//! Rounding, denormals and contraction as execution modes and decorations ask for, against the processor's own modes.

use super::{Random, Results, build, run};
use crate::setup::Setup;
use crate::{Engine, EngineConfig};
use half::f16;
use spirv::FPRoundingMode;
use std::arch::asm;
use std::sync::Arc;

/// A kernel with modes and decorations.
fn with_modes(text: &str, capabilities: &str, extension: &str, modes: &str) -> String {
    let declared: String =
        capabilities.split_whitespace().map(|name| format!("OpCapability {name}\n")).collect();
    text.replacen("OpCapability Kernel\n", &format!("OpCapability Kernel\n{declared}"), 1)
        .replacen("%std = ", &format!("OpExtension \"{extension}\"\n%std = "), 1)
        .replacen("OpDecorate %gid", &format!("{modes}OpDecorate %gid"), 1)
}

/// Operands: the work-item's, or the first ones for all.
fn operands(at: &str) -> String {
    format!(
        "%own = OpInBoundsPtrAccessChain %pg_uint %in {at}
%x = OpLoad %uint %own
%own_y = OpInBoundsPtrAccessChain %pg_uint %index {at}
%y = OpLoad %uint %own_y
%xf = OpBitcast %float %x
%yf = OpBitcast %float %y
%xy = OpCompositeConstruct %uint2 %x %y
%yx = OpCompositeConstruct %uint2 %y %x
%xl = OpBitcast %ulong %xy
%yl = OpBitcast %ulong %yx
%xd = OpBitcast %double %xl
%yd = OpBitcast %double %yl
%xs = OpUConvert %ushort %x
%ys = OpUConvert %ushort %y
%xh = OpBitcast %half %xs
%yh = OpBitcast %half %ys
"
    )
}

const OPS: [&str; 4] = ["FAdd", "FSub", "FMul", "FDiv"];

/// The processor's result with its own rounding mode.
macro_rules! hardware {
    ($name:ident, $ty:ty, $add:literal, $sub:literal, $mul:literal, $div:literal) => {
        fn $name(op: &str, mode: FPRoundingMode, a: $ty, b: $ty) -> $ty {
            const MASKED: u32 = 0x1f80;
            let field = match mode {
                FPRoundingMode::RTE => 0,
                FPRoundingMode::RTN => 1,
                FPRoundingMode::RTP => 2,
                FPRoundingMode::RTZ => 3,
            };
            let (new, mut result) = (MASKED | field << 13, a);
            macro_rules! of {
                ($inst:literal) => {
                    // SAFETY: the control register is what it was before when the block ends.
                    unsafe {
                        asm!("ldmxcsr [{new}]", $inst, "ldmxcsr [{old}]", new = in(reg) &raw const new,
                            old = in(reg) &raw const MASKED_AGAIN, a = inout(xmm_reg) result, b = in(xmm_reg) b,
                            options(nostack))
                    }
                };
            }
            static MASKED_AGAIN: u32 = MASKED;
            match op {
                "FAdd" => of!($add),
                "FSub" => of!($sub),
                "FMul" => of!($mul),
                _ => of!($div),
            }
            result
        }
    };
}
hardware!(of_floats, f32, "addss {a}, {b}", "subss {a}, {b}", "mulss {a}, {b}", "divss {a}, {b}");
hardware!(of_doubles, f64, "addsd {a}, {b}", "subsd {a}, {b}", "mulsd {a}, {b}", "divsd {a}, {b}");

/// A double rounds to a half in the direction that it was itself rounded in.
fn of_halves(op: &str, mode: FPRoundingMode, a: f16, b: f16) -> f16 {
    let exact = of_doubles(op, mode, a.to_f64(), b.to_f64());
    let near = f16::from_f64(exact);
    if near.is_nan() || near.to_f64() == exact {
        return near;
    }
    let (more, negative) = (near.to_f64() > exact, near.is_sign_negative());
    let wrong = match mode {
        FPRoundingMode::RTP => !more,
        FPRoundingMode::RTN => more,
        _ => more != negative,
    };
    let outward = more == negative;
    match (wrong, outward) {
        (false, _) => near,
        (true, true) => f16::from_bits(near.to_bits() + 1),
        (true, false) => f16::from_bits(near.to_bits() - 1),
    }
}

/// Numbers of all kinds: denormals, neighbours of powers of two, the largest, infinities and opposites.
fn draw(random: &mut Random, other: u32) -> u32 {
    match random.next() % 10 {
        0 => random.next() & 0x807F_FFFF,
        1 => random.next() & 0x800F_0003 | 0x3F80_0000,
        2 => 0x7F7F_FFFF ^ random.next() & 0x8000_0003,
        3 => 0x7F80_0000 ^ random.next() & 0x8000_0000,
        4 => other ^ 0x8000_0000,
        5 => 0x0080_0000 ^ random.next() & 0x8000_0001,
        6 => random.next() & 0x807F_8001 | 0x3C00_0000,
        7 => 0x7BFF_7BFF ^ random.next() & 0x8001_8001,
        _ => random.next(),
    }
}

fn check(mode: FPRoundingMode, text: &str, results: &Results, uniform: bool) {
    const GROUP: u32 = 256;
    let items = 2 * GROUP as usize;
    let mut random = Random(77 + mode as u64);
    let mut pair = |_| {
        let x = draw(&mut random, 0);
        (x, draw(&mut random, x))
    };
    let (x, y): (Vec<u32>, Vec<u32>) = (0..items).map(&mut pair).unzip();
    let output = run(text, GROUP, &x, &y, results.words);
    for item in 0..items {
        let from = if uniform { 0 } else { item };
        let (x, y) = (x[from], y[from]);
        let mut words = output[item * results.words..][..results.words].iter().copied();
        let mut next = || words.next().expect("a word");
        for op in OPS {
            let expected = of_floats(op, mode, f32::from_bits(x), f32::from_bits(y));
            let got = f32::from_bits(next());
            assert!(
                got.to_bits() == expected.to_bits() || (got.is_nan() && expected.is_nan()),
                "{op} {mode:?} of {x:#x} and {y:#x}: {got:e} instead of {expected:e}"
            );
            let wide = |low: u32, high: u32| f64::from_bits(u64::from(high) << 32 | u64::from(low));
            let (a, b) = (wide(x, y), wide(y, x));
            let expected = of_doubles(op, mode, a, b);
            let (low, high) = (next(), next());
            let got = wide(low, high);
            assert!(
                got.to_bits() == expected.to_bits() || (got.is_nan() && expected.is_nan()),
                "{op} {mode:?} of {a:e} and {b:e}: {got:e} instead of {expected:e}"
            );
            let (a, b) = (f16::from_bits(x as u16), f16::from_bits(y as u16));
            let expected = of_halves(op, mode, a, b);
            let got = f16::from_bits(next() as u16);
            assert!(
                got.to_bits() == expected.to_bits() || (got.is_nan() && expected.is_nan()),
                "{op} {mode:?} of {a:?} and {b:?}: {got:?} instead of {expected:?}"
            );
        }
    }
}

fn all_operations() -> Results {
    let mut results = Results::default();
    for (at, op) in OPS.iter().enumerate() {
        results.push(&format!("%rf{at} = Op{op} %float %xf %yf\n%wf{at} = OpBitcast %uint %rf{at}"));
        results.keep(&format!("%wf{at}"));
        results.push(&format!(
            "%rd{at} = Op{op} %double %xd %yd\n%wd{at} = OpBitcast %uint2 %rd{at}\n\
             %low{at} = OpCompositeExtract %uint %wd{at} 0\n%high{at} = OpCompositeExtract %uint %wd{at} 1"
        ));
        results.keep(&format!("%low{at}"));
        results.keep(&format!("%high{at}"));
        results.push(&format!(
            "%rh{at} = Op{op} %half %xh %yh\n%sh{at} = OpBitcast %ushort %rh{at}\n%wh{at} = OpUConvert %uint %sh{at}"
        ));
        results.keep(&format!("%wh{at}"));
    }
    results
}

const DIRECTIONS: [(FPRoundingMode, &str); 3] = [
    (FPRoundingMode::RTZ, "RoundingModeRTZ"),
    (FPRoundingMode::RTP, "RoundingModeRTPINTEL"),
    (FPRoundingMode::RTN, "RoundingModeRTNINTEL"),
];

#[test]
fn arithmetic_rounds_as_the_kernel_asks() {
    let results = all_operations();
    for (mode, name) in DIRECTIONS {
        let modes: String =
            [16, 32, 64].iter().map(|width| format!("OpExecutionMode %main {name} {width}\n")).collect();
        for uniform in [false, true] {
            let text = results.text(16, &operands(if uniform { "%ul0" } else { "%gx" }));
            let capabilities = "RoundingModeRTZ RoundToInfinityINTEL";
            let text = with_modes(&text, capabilities, "SPV_INTEL_float_controls2", &modes);
            check(mode, &text, &results, uniform);
        }
    }
}

#[test]
fn arithmetic_rounds_as_its_decoration_asks() {
    let results = all_operations();
    for (mode, _) in DIRECTIONS {
        let decorated: String = (0..OPS.len())
            .flat_map(|at| {
                ["rf", "rd", "rh"]
                    .map(|name| format!("OpDecorate %{name}{at} FPRoundingMode {}\n", mode as u32))
            })
            .collect();
        let text = results.text(16, &operands("%gx"));
        check(mode, &with_modes(&text, "", "SPV_INTEL_float_controls2", &decorated), &results, false);
    }
}

fn flushed(x: f32) -> f32 {
    if x.is_subnormal() { 0f32.copysign(x) } else { x }
}

#[test]
fn denormals_are_zeros_where_the_kernel_flushes_them() {
    type Expected = fn(f32, f32) -> u32;
    let cases: [(&str, Expected); 6] = [
        ("%r = OpFAdd %float %xf %yf\n%w = OpBitcast %uint %r", |x, y| {
            flushed(flushed(x) + flushed(y)).to_bits()
        }),
        ("%r = OpFMul %float %xf %yf\n%w = OpBitcast %uint %r", |x, y| {
            flushed(flushed(x) * flushed(y)).to_bits()
        }),
        ("%r = OpFUnordEqual %bool %xf %zero\n%w = OpSelect %uint %r %u1 %u0", |x, _| {
            u32::from(flushed(x) == 0.0 || x.is_nan())
        }),
        ("%r = OpExtInst %float %std fmax %xf %zero\n%w = OpBitcast %uint %r", |x, _| {
            flushed(x).max(0.0).to_bits()
        }),
        // To a width whose denormals are kept, and back.
        ("%d = OpFConvert %double %xf\n%r = OpFConvert %float %d\n%w = OpBitcast %uint %r", |x, _| {
            flushed(x).to_bits()
        }),
        // What only moves keeps its bits.
        ("%t = OpIEqual %bool %x %x\n%r = OpSelect %float %t %xf %yf\n%w = OpBitcast %uint %r", |x, _| {
            x.to_bits()
        }),
    ];
    let mut results = Results::default();
    for (at, (text, _)) in cases.iter().enumerate() {
        let mut text = (*text).to_owned();
        for name in ["%r", "%w", "%d", "%t"] {
            text = text.replace(&format!("{name} "), &format!("{name}_{at} "));
            text = text.replace(&format!("{name}\n"), &format!("{name}_{at}\n"));
            if text.ends_with(name) {
                text.push_str(&format!("_{at}"));
            }
        }
        results.push(&text);
        results.keep(&format!("%w_{at}"));
    }
    let text = results.text(16, &operands("%gx")).replacen(
        "%fn = OpTypeFunction",
        "%zero = OpConstant %float 0\n%fn = OpTypeFunction",
        1,
    );
    let text = with_modes(
        &text,
        "DenormFlushToZero",
        "SPV_KHR_float_controls",
        "OpExecutionMode %main DenormFlushToZero 32\n",
    );
    const GROUP: u32 = 256;
    let items = 2 * GROUP as usize;
    let mut random = Random(5);
    let mut one = |_| match random.next() % 3 {
        0 => random.next() & 0x807F_FFFF,
        // Products and sums of these are denormal.
        1 => random.next() & 0x80FF_FFFF | 0x2000_0000,
        _ => random.next() & 0x81FF_FFFF,
    };
    let (x, y): (Vec<u32>, Vec<u32>) = (0..items).map(|at| (one(at), one(at))).unzip();
    let output = run(&text, GROUP, &x, &y, results.words);
    for ((x, y), got) in x.iter().zip(&y).zip(output.chunks(results.words)) {
        for ((case, expected), got) in cases.iter().zip(got) {
            let expected = expected(f32::from_bits(*x), f32::from_bits(*y));
            assert_eq!(*got, expected, "{case} of {x:#x} and {y:#x}");
        }
    }
}

/// A product and the negative of its nearest float: zero with two roundings, the product's error with one.
fn sums_of_a_product(capabilities: &str, extension: &str, modes: &str) -> Vec<u32> {
    let mut results = Results::default();
    results
        .push("%product = OpFMul %float %a %b\n%r = OpFAdd %float %product %minus\n%w = OpBitcast %uint %r");
    results.keep("%w");
    let before = format!(
        "{}%ao = OpBitwiseOr %uint %x %odd\n%bo = OpBitwiseOr %uint %y %odd\n%a = OpConvertUToF %float %ao\n%b = OpConvertUToF %float %bo\n\
         %ad = OpFConvert %double %a\n%bd = OpFConvert %double %b\n%pd = OpFMul %double %ad %bd\n\
         %pe = OpArithmeticFenceEXT %double %pd\n%pf = OpFConvert %float %pe\n%minus = OpFNegate %float %pf\n",
        operands("%gx")
    );
    let constants = "%odd = OpConstant %uint 0x800001\n%none = OpConstant %uint 0\n%fn = OpTypeFunction";
    let text = results.text(16, &before).replacen("%fn = OpTypeFunction", constants, 1);
    let text = with_modes(&text, capabilities, extension, modes);
    let input: Vec<u32> = (0..512u32).map(|at| at.wrapping_mul(0x9E37_79B1) >> 8).collect();
    let other: Vec<u32> = (0..512u32).map(|at| at.wrapping_mul(0x85EB_CA6B) >> 8).collect();
    run(&text, 256, &input, &other, 1)
}

#[test]
fn contraction_is_off_where_the_module_says_so() {
    let any = |results: &[u32]| results.iter().any(|bits| f32::from_bits(*bits) != 0.0);
    let (fast, controls) = ("SPV_KHR_float_controls", "SPV_KHR_float_controls2");
    if is_x86_feature_detected!("fma") {
        assert!(any(&sums_of_a_product("", fast, "")), "nothing is contracted: the other cases show nothing");
        const ALLOW_CONTRACT: u32 = 0x10000;
        let allowed = ["%product", "%r"]
            .map(|id| format!("OpDecorate {id} FPFastMathMode {ALLOW_CONTRACT}\n"))
            .concat();
        assert!(any(&sums_of_a_product("FloatControls2", controls, &allowed)), "{allowed}");
    }
    let none = "OpExecutionModeId %main FPFastMathDefault %float %none\n";
    for (capabilities, extension, modes) in [
        ("", fast, "OpExecutionMode %main ContractionOff\n"),
        ("", fast, "OpDecorate %r NoContraction\n"),
        ("", fast, "OpDecorate %product NoContraction\n"),
        ("FloatControls2", controls, none),
        // As LLVM's SPIR-V backend has it.
        ("", controls, none),
        ("FloatControls2", controls, "OpDecorate %r FPFastMathMode 0\n"),
    ] {
        assert!(!any(&sums_of_a_product(capabilities, extension, modes)), "{modes}");
    }
}

#[test]
fn launches_keep_the_group_sizes_that_a_kernel_declares() {
    let engine = Engine::new(EngineConfig { threads: 1, ..EngineConfig::default() });
    let setup = |modes: &str| {
        let text =
            Results::default().text(1, "").replacen("OpDecorate %gid", &format!("{modes}OpDecorate %gid"), 1);
        let text = text
            .replacen(
                "OpCapability Kernel\n",
                "OpCapability Kernel\nOpCapability KernelAttributesINTEL\nOpCapability SubgroupDispatch\n",
                1,
            )
            .replacen("%std = ", "OpExtension \"SPV_INTEL_kernel_attributes\"\n%std = ", 1);
        let key = crate::jit::hash::digest(&[text.as_bytes()]);
        let program = engine.load(Arc::new(build(&text)), key).expect("loads");
        Setup::new(program.kernel("main").expect("the kernel")).expect("a setup")
    };
    let mut limited = setup("OpExecutionMode %main MaxWorkgroupSizeINTEL 64 2 1\n");
    assert!(limited.set_group_size([64, 2, 1]).is_ok());
    assert!(limited.set_group_size([65, 1, 1]).is_err());
    assert!(limited.set_group_size([1, 3, 1]).is_err());
    let suggested = limited.kernel().suggest_group_size([1 << 20, 1 << 10, 1]);
    assert!(suggested[0] <= 64 && suggested[1] <= 2, "{suggested:?}");
    let mut counted =
        setup("OpExecutionMode %main SubgroupSize 8\nOpExecutionMode %main SubgroupsPerWorkgroup 3\n");
    assert!(counted.set_group_size([24, 1, 1]).is_ok());
    assert!(counted.set_group_size([17, 1, 1]).is_ok());
    assert!(counted.set_group_size([16, 1, 1]).is_err());
    assert!(counted.set_group_size([1, 1, 1]).is_err());
    assert_eq!(counted.kernel().suggest_group_size([240, 1, 1]), [24, 1, 1]);
    let both =
        setup("OpExecutionMode %main LocalSize 64 1 1\nOpExecutionMode %main SubgroupsPerWorkgroup 8\n");
    assert_eq!(both.kernel().subgroup_size(), 8);
}
