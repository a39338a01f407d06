//! Integers of any width (`SPV_INTEL_arbitrary_precision_integers`): every ordinary instruction against 128-bit arithmetic.

use super::{Random, Results, SUBGROUPS, run};
use std::ops::Range;

/// Words of a number in memory.
const WORDS: usize = 4;

fn mask(bits: u128, width: u32) -> u128 {
    bits & u128::MAX >> (128 - width)
}

fn signed(bits: u128, width: u32) -> i128 {
    (bits << (128 - width)) as i128 >> (128 - width)
}

/// What an instruction computes from `%x` and `%y` of a width, before it is cut to that width; `None` if it is undefined.
type Expected = fn(u128, u128, u32) -> Option<u128>;

/// `%r@` is of the type `%t`.
const NUMBERS: &[(&str, Expected)] = &[
    ("%r@ = OpIAdd %t %x %y", |x, y, _| Some(x.wrapping_add(y))),
    ("%r@ = OpISub %t %x %y", |x, y, _| Some(x.wrapping_sub(y))),
    ("%r@ = OpIMul %t %x %y", |x, y, _| Some(x.wrapping_mul(y))),
    ("%r@ = OpUDiv %t %x %y", |x, y, _| x.checked_div(y)),
    ("%r@ = OpUMod %t %x %y", |x, y, _| x.checked_rem(y)),
    ("%r@ = OpSDiv %t %x %y", |x, y, w| quotient(x, y, w).map(|(q, _)| q as u128)),
    ("%r@ = OpSRem %t %x %y", |x, y, w| quotient(x, y, w).map(|(_, r)| r as u128)),
    ("%r@ = OpSMod %t %x %y", |x, y, w| {
        let ((_, r), d) = (quotient(x, y, w)?, signed(y, w));
        Some(if r != 0 && (r < 0) != (d < 0) { r + d } else { r } as u128)
    }),
    ("%r@ = OpSNegate %t %x", |x, _, _| Some(x.wrapping_neg())),
    ("%r@ = OpNot %t %x", |x, _, _| Some(!x)),
    ("%r@ = OpBitwiseAnd %t %x %y", |x, y, _| Some(x & y)),
    ("%r@ = OpBitwiseOr %t %x %y", |x, y, _| Some(x | y)),
    ("%r@ = OpBitwiseXor %t %x %y", |x, y, _| Some(x ^ y)),
    ("%r@ = OpShiftLeftLogical %t %x %amount", |x, y, w| Some(x << (y % u128::from(w)))),
    ("%r@ = OpShiftRightLogical %t %x %amount", |x, y, w| Some(x >> (y % u128::from(w)))),
    ("%r@ = OpShiftRightArithmetic %t %x %amount", |x, y, w| {
        Some((signed(x, w) >> (y % u128::from(w))) as u128)
    }),
    // Undefined, and no crash.
    ("%r@ = OpShiftLeftLogical %t %x %y", |x, y, w| (y < u128::from(w)).then(|| x << y)),
    ("%r@ = OpBitReverse %t %x", |x, _, w| Some(x.reverse_bits() >> (128 - w))),
    ("%c@ = OpBitCount %uint %x\n%r@ = OpUConvert %t %c@", |x, _, _| Some(u128::from(x.count_ones()))),
    ("%r@ = OpBitFieldUExtract %t %x %offset %count", |x, y, w| {
        let (offset, count) = field(y, w);
        Some(x >> offset & ones(count))
    }),
    ("%r@ = OpBitFieldSExtract %t %x %offset %count", |x, y, w| {
        let (offset, count) = field(y, w);
        Some(if count == 0 { 0 } else { signed(x >> offset, count) as u128 })
    }),
    ("%r@ = OpBitFieldInsert %t %x %y %offset %count", |x, y, w| {
        let (offset, count) = field(y, w);
        let field = ones(count) << offset;
        Some(x & !field | y << offset & field)
    }),
    ("%c@ = OpULessThan %bool %x %y\n%r@ = OpSelect %t %c@ %x %y", |x, y, _| Some(x.min(y))),
    ("%c@ = OpSLessThanEqual %bool %x %y\n%r@ = OpSelect %t %c@ %y %x", |x, y, w| {
        Some(signed(x, w).max(signed(y, w)) as u128)
    }),
    ("%c@ = OpUGreaterThanEqual %bool %x %y\n%r@ = OpSelect %t %c@ %zero %y", |x, y, _| {
        Some(if x >= y { 0 } else { y })
    }),
    ("%c@ = OpSGreaterThan %bool %x %y\n%r@ = OpSelect %t %c@ %y %zero", |x, y, w| {
        Some(if signed(x, w) > signed(y, w) { y } else { 0 })
    }),
    ("%c@ = OpIEqual %bool %x %y\n%r@ = OpSelect %t %c@ %constant %y", |x, y, w| {
        Some(if x == y { constant(w) } else { y })
    }),
    ("%r@ = OpBitwiseXor %t %x %constant", |x, _, w| Some(x ^ constant(w))),
    ("%r@ = OpIAdd %t %x %computed", |x, _, w| Some(x.wrapping_add(constant(w).wrapping_mul(constant(w))))),
    ("%e@ = OpIAddCarry %tt %x %y\n%r@ = OpCompositeExtract %t %e@ 1", |x, y, w| {
        Some(u128::from(x.overflowing_add(y).1 || mask(x.wrapping_add(y), w) != x.wrapping_add(y)))
    }),
    ("%e@ = OpISubBorrow %tt %x %y\n%r@ = OpCompositeExtract %t %e@ 1", |x, y, _| Some(u128::from(x < y))),
    ("%e@ = OpUMulExtended %tt %x %y\n%r@ = OpCompositeExtract %t %e@ 1", |x, y, w| {
        Some(product(x, y).1.checked_shl(128 - w).unwrap_or(0) | product(x, y).0.checked_shr(w).unwrap_or(0))
    }),
    ("%e@ = OpSMulExtended %tt %x %y\n%r@ = OpCompositeExtract %t %e@ 0", |x, y, _| Some(x.wrapping_mul(y))),
    // Narrowed and widened.
    ("%c@ = OpSConvert %ushort %x16\n%d@ = OpSConvert %wide %c@\n%r@ = OpNarrow %t %d@", |x, _, _| {
        Some(x as u16 as i16 as u128)
    }),
    ("%c@ = OpUConvert %i129 %x\n%r@ = OpNarrow %t %c@", |x, _, _| Some(x)),
    // Vectors, structures and calls.
    (
        "%v@ = OpCompositeConstruct %t3 %x %y %x\n%s@ = OpIAdd %t3 %v@ %v@\n%u@ = OpVectorShuffle %t3 %s@ %v@ 1 5 0\n\
         %r@ = OpCompositeExtract %t %u@ 0",
        |_, y, _| Some(y.wrapping_add(y)),
    ),
    ("%r@ = OpFunctionCall %t %twice %x", |x, _, _| Some(x.wrapping_add(x))),
    // Memory: private objects that are registers, that are indexed, and whose addresses are seen.
    ("OpStore %var_simple %x\n%r@ = OpLoad %t %var_simple", |x, _, _| Some(x)),
    (
        "%p@ = OpInBoundsPtrAccessChain %pf_t %var_array %ul0 %ul1\n%q@ = OpInBoundsPtrAccessChain %pf_t %var_array %ul0 %third\n\
         OpStore %q@ %y\nOpStore %p@ %x\n%k@ = OpLoad %t %q@\n%l@ = OpLoad %t %p@\n%r@ = OpBitwiseXor %t %k@ %l@",
        |x, y, _| Some(x ^ y),
    ),
    (
        "%a@ = OpInBoundsPtrAccessChain %pf_uchar %var_struct %ul0 %u0\n%p@ = OpInBoundsPtrAccessChain %pf_t %var_struct %ul0 %u1\n\
         %b@ = OpInBoundsPtrAccessChain %pf_uchar %var_struct %ul0 %u2\nOpStore %a@ %byte\nOpStore %b@ %byte\nOpStore %p@ %x\n\
         %k@ = OpLoad %uchar %a@\n%l@ = OpLoad %uchar %b@\n%m@ = OpLoad %t %p@\n%f@ = OpIEqual %bool %k@ %l@\n\
         %r@ = OpSelect %t %f@ %m@ %zero",
        |x, _, _| Some(x),
    ),
    ("%k@ = OpLoad %t %var_set\n%r@ = OpISub %t %k@ %x", |x, _, w| Some(constant(w).wrapping_sub(x))),
    ("%k@ = OpLoad %t %module_variable\n%r@ = OpISub %t %x %k@", |x, _, w| Some(x.wrapping_sub(constant(w)))),
];

/// `%r@` is of the type `%wide`, of 128 bits, and not cut.
const WIDE: &[(&str, Expected)] = &[
    // Exact, saturated both ways.
    ("%f@ = OpConvertUToF %double %x\n%b@ = OpBitcast %ulong %f@\n%r@ = OpUConvert %wide %b@", |x, _, _| {
        Some(u128::from((x as f64).to_bits()))
    }),
    ("%f@ = OpConvertSToF %double %x\n%b@ = OpBitcast %ulong %f@\n%r@ = OpUConvert %wide %b@", |x, _, w| {
        Some(u128::from((signed(x, w) as f64).to_bits()))
    }),
    ("%f@ = OpConvertUToF %float %x\n%b@ = OpBitcast %uint %f@\n%r@ = OpUConvert %wide %b@", |x, _, _| {
        Some(u128::from((x as f32).to_bits()))
    }),
    ("%f@ = OpConvertSToF %float %x\n%b@ = OpBitcast %uint %f@\n%r@ = OpUConvert %wide %b@", |x, _, w| {
        Some(u128::from((signed(x, w) as f32).to_bits()))
    }),
    ("%i@ = OpConvertFToU %t %number\n%r@ = OpWiden %wide %i@", |_, y, w| {
        (number(y) >= 0.0 && number(y) < 2f64.powi(w as i32)).then_some(number(y) as u128)
    }),
    ("%i@ = OpConvertFToS %t %number\n%r@ = OpWiden %wide %i@", |_, y, w| {
        let limit = 2f64.powi(w as i32 - 1);
        (number(y) > -limit && number(y) < limit).then(|| mask(number(y) as i128 as u128, w))
    }),
    ("%sat_u@ = OpConvertFToU %t %number\n%r@ = OpWiden %wide %sat_u@", |_, y, w| {
        Some((number(y) as u128).min(mask(u128::MAX, w)))
    }),
    ("%sat_s@ = OpConvertFToS %t %number\n%r@ = OpWiden %wide %sat_s@", |_, y, w| {
        let most = (mask(u128::MAX, w) >> 1) as i128;
        Some(mask((number(y) as i128).clamp(-most - 1, most) as u128, w))
    }),
    // The same from f32, which does not hold the greatest integers.
    ("%sat_f@ = OpConvertFToU %t %single\n%r@ = OpWiden %wide %sat_f@", |_, y, w| {
        Some((number(y) as f32 as u128).min(mask(u128::MAX, w)))
    }),
    ("%sat_g@ = OpConvertFToS %t %single\n%r@ = OpWiden %wide %sat_g@", |_, y, w| {
        let most = (mask(u128::MAX, w) >> 1) as i128;
        Some(mask((number(y) as f32 as i128).clamp(-most - 1, most) as u128, w))
    }),
    ("%sat_w@ = OpSatConvertSToU %t %wide_y\n%r@ = OpWiden %wide %sat_w@", |_, y, w| {
        Some((number_bits(y) as i128).clamp(0, (mask(u128::MAX, w) >> u32::from(w == 128)) as i128) as u128)
    }),
    ("%sat_v@ = OpSatConvertUToS %t %wide_y\n%r@ = OpWiden %wide %sat_v@", |_, y, w| {
        Some(number_bits(y).min(mask(u128::MAX, w) >> 1))
    }),
    ("%s@ = OpSignWiden %wide %x\n%r@ = OpCopyObject %wide %s@", |x, _, w| Some(signed(x, w) as u128)),
];

/// The 128 bits that are the input `%wide_y`, which the rest is cut from. The tests keep them in a thread's own place,
/// since what is expected is a function of the cut numbers.
fn number_bits(_: u128) -> u128 {
    INPUT.with(std::cell::Cell::get)
}

thread_local! {
    static INPUT: std::cell::Cell<u128> = const { std::cell::Cell::new(0) };
}

/// The floating-point input: the whole second input as a signed number.
fn number(y: u128) -> f64 {
    number_bits(y) as i128 as f64
}

fn quotient(x: u128, y: u128, w: u32) -> Option<(i128, i128)> {
    let (n, d) = (signed(x, w), signed(y, w));
    let least = signed(1 << (w - 1), w);
    (d != 0 && !(n == least && d == -1)).then(|| (n / d, n % d))
}

/// Low and high half of a product.
fn product(x: u128, y: u128) -> (u128, u128) {
    let half = |n: u128| (n & u128::from(u64::MAX), n >> 64);
    let ((x0, x1), (y0, y1)) = (half(x), half(y));
    let middle = x1 * y0 + ((x0 * y0) >> 64);
    let other = x0 * y1 + (middle & u128::from(u64::MAX));
    (x.wrapping_mul(y), x1 * y1 + (middle >> 64) + (other >> 64))
}

fn field(y: u128, w: u32) -> (u32, u32) {
    let offset = (y % u128::from(w)) as u32;
    (offset, (w - offset) / 2)
}

fn ones(count: u32) -> u128 {
    u128::MAX.checked_shr(128 - count).unwrap_or(0)
}

fn constant(w: u32) -> u128 {
    mask(0xC5A3_9B71_E2D4_F608_1B3D_5F79_8ACE_0247, w)
}

/// Loads 128 bits as `%name` from the words of a work-item.
fn load(name: &str, base: &str, at: &str) -> String {
    format!(
        "%{name}_first = OpIMul %ulong {at} %ul4
%{name}_words = OpInBoundsPtrAccessChain %pg_uint {base} %{name}_first
%{name}_place = OpBitcast %pg_wide %{name}_words
%{name} = OpLoad %wide %{name}_place Aligned 4
"
    )
}

/// Instructions of a kernel: code of as many integers that no register has takes more than linear time.
const PART: usize = 12;

/// A kernel with a part of the instructions, by their numbers.
fn program(w: u32, width: u32, [first, second]: [&str; 2], part: &Range<usize>) -> String {
    let (narrow, widen, sign_widen) = match w {
        128 => ("OpCopyObject", "OpCopyObject", "OpCopyObject"),
        _ => ("OpUConvert", "OpUConvert", "OpSConvert"),
    };
    let mut results = Results::default();
    let mut decorations = String::new();
    for (at, (text, _)) in NUMBERS.iter().chain(WIDE).enumerate().filter(|(at, _)| part.contains(at)) {
        let text = match w {
            // Of the same width: no conversion.
            128 => text.replace("OpUConvert %i129 %x", "OpCopyObject %t %x"),
            _ => text.replace("%i129", "%wide"),
        };
        let text = text
            .replace(
                "OpSatConvertSToU %t %wide_y",
                if w == 128 { "OpBitcast %t %clamped" } else { "OpSatConvertSToU %t %wide_y" },
            )
            .replace(
                "OpSatConvertUToS %t %wide_y",
                if w == 128 { "OpBitcast %t %capped" } else { "OpSatConvertUToS %t %wide_y" },
            );
        let text = text
            .replace("OpNarrow", narrow)
            .replace("OpSignWiden", sign_widen)
            .replace("OpWiden", widen)
            .replace('@', &format!("_{at}"));
        for kind in ["u", "s", "f", "g"] {
            if text.contains(&format!("%sat_{kind}_{at} =")) {
                decorations.push_str(&format!("OpDecorate %sat_{kind}_{at} SaturatedConversion\n"));
            }
        }
        results.push(&text);
        if at < NUMBERS.len() {
            results.push(&format!("%n_{at} = {widen} %wide %r_{at}"));
        } else {
            results.push(&format!("%n_{at} = OpCopyObject %wide %r_{at}"));
        }
        for word in 0..WORDS {
            results.push(&format!(
                "%s_{at}_{word} = OpShiftRightLogical %wide %n_{at} %shift{word}\n%w_{at}_{word} = OpUConvert %uint %s_{at}_{word}"
            ));
            results.keep(&format!("%w_{at}_{word}"));
        }
    }
    // Through memory of the host: as many bytes as the width has, and no others.
    let word = results.words;
    results.words += 2 * WORDS;
    results.push(&format!(
        "%m_words = OpInBoundsPtrAccessChain %pg_uint %mine %place{word}\n%m_place = OpBitcast %pg_t %m_words\n\
         OpStore %m_place %x Aligned 4\n%o_place = OpBitcast %pg_t %x_wide_words\n%o = OpLoad %t %o_place Aligned 4\n\
         %o_wide = {widen} %wide %o"
    ));
    results.push(&format!(
        "%o_words = OpInBoundsPtrAccessChain %pg_uint %mine %place{}\n%o_to = OpBitcast %pg_wide %o_words\nOpStore %o_to %o_wide Aligned 4",
        word + WORDS
    ));
    let before = load("x_wide", "%in", first)
        + &load("wide_y", "%index", second)
        + &format!(
            "%x = {narrow} %t %x_wide
%y = {narrow} %t %wide_y
%amount = OpUMod %t %y %width
%y_back = {widen} %wide %y
%offset_wide = OpUMod %wide %y_back %wide_width
%offset = OpUConvert %uint %offset_wide
%rest = OpISub %uint %uint_width %offset
%count = OpShiftRightLogical %uint %rest %u1
%number = OpConvertSToF %double %wide_y
%single = OpFConvert %float %number
%x16 = OpUConvert %uint %x_wide
%byte = OpUConvert %uchar %x_wide
%third_byte = OpBitwiseAnd %uint %x16 %u2
%third = OpUConvert %ulong %third_byte
%negative = OpSLessThan %bool %wide_y %wide_zero
%clamped = OpSelect %wide %negative %wide_zero %wide_y
%capped = OpSelect %wide %negative %wide_most %wide_y
"
        );
    let wide = if w == 128 { "%t" } else { "%wide" };
    let declarations = format!(
        "%t = OpTypeInt {w} 0
{}
%uint_width = OpConstant %uint {w}
%wide_width = OpConstant %wide {w}
%wide_zero = OpConstantNull %wide
%wide_most = OpConstant %wide {:#x}
%width = OpConstant %t {w}
%zero = OpConstantNull %t
%constant = OpSpecConstant %t {:#x}
%computed = OpSpecConstantOp %t IMul %constant %constant
{}%tt = OpTypeStruct %t %t
%t3 = OpTypeVector %t 3
%t_array = OpTypeArray %t %u3
%t_struct = OpTypeStruct %uchar %t %uchar
%pf_t = OpTypePointer Function %t
%pf_uchar = OpTypePointer Function %uchar
%pf_t_array = OpTypePointer Function %t_array
%pf_t_struct = OpTypePointer Function %t_struct
%pg_t = OpTypePointer CrossWorkgroup %t
%pg_wide = OpTypePointer CrossWorkgroup {wide}
%twice_fn = OpTypeFunction %t %t
%module_variable = OpVariable %pg_t CrossWorkgroup %constant
",
        if w == 128 { "" } else { "%wide = OpTypeInt 128 0\n" },
        u128::MAX >> 1,
        constant(w),
        (0..WORDS).map(|at| format!("%shift{at} = OpConstant %wide {}\n", 32 * at)).collect::<String>(),
    );
    let twice = "%twice = OpFunction %t None %twice_fn
%twice_x = OpFunctionParameter %t
%twice_entry = OpLabel
%twice_r = OpIAdd %t %twice_x %twice_x
OpReturnValue %twice_r
OpFunctionEnd
";
    let variables = "%entry = OpLabel
%var_simple = OpVariable %pf_t Function
%var_array = OpVariable %pf_t_array Function
%var_struct = OpVariable %pf_t_struct Function
%var_set = OpVariable %pf_t Function %constant
";
    let text = results
        .text(width, &before)
        .replace("%fn = OpTypeFunction", &format!("{declarations}%fn = OpTypeFunction"))
        .replace("%main = OpFunction", &format!("{twice}%main = OpFunction"))
        .replace("%entry = OpLabel\n", variables)
        .replace("%void = OpTypeVoid", &format!("{decorations}%void = OpTypeVoid"));
    match w {
        128 => text
            .replace("%wide ", "%t ")
            .replace("%wide\n", "%t\n")
            .replace("%pg_wide = OpTypePointer CrossWorkgroup %t\n", "")
            .replace("%pg_wide", "%pg_t"),
        // The core's own type.
        _ => text,
    }
}

fn check(w: u32, width: u32, subgroups: u32, places: [&str; 2]) {
    let group_size = width * subgroups;
    let items = 2 * group_size as usize;
    let mut random = Random(0x9E37_79B9 ^ u64::from(w) << 8 ^ u64::from(width));
    let mut draw = || -> u128 {
        let whole = (0..WORDS).fold(0, |bits, _| bits << 32 | u128::from(random.next()));
        match random.next() % 8 {
            0 => 0,
            1 => u128::MAX,
            2 => 1 << (w - 1),
            3 => (1 << (w - 1)) - 1,
            4 => whole >> (random.next() % 128),
            5 => (whole as i128 >> (random.next() % 128)) as u128,
            _ => whole,
        }
    };
    let (x, y): (Vec<u128>, Vec<u128>) = (0..items).map(|_| (draw(), draw())).unzip();
    let words = |numbers: &[u128]| -> Vec<u32> {
        numbers.iter().flat_map(|n| (0..WORDS).map(move |at| (n >> (32 * at)) as u32)).collect()
    };
    let all = NUMBERS.len() + WIDE.len();
    for first in (0..all).step_by(PART) {
        let part = first..all.min(first + PART);
        let text = program(w, width, places, &part);
        let output = run(&text, group_size, &words(&x), &words(&y), (part.len() + 2) * WORDS);
        compare(w, width, places, &part, &output, &x, &y);
    }
}

/// What the work-items of a part wrote, with what they should have.
fn compare(
    w: u32,
    width: u32,
    places: [&str; 2],
    part: &Range<usize>,
    output: &[u32],
    x: &[u128],
    y: &[u128],
) {
    let count = part.len() + 2;
    for item in 0..x.len() {
        let at = |place: &str| if place == "%ul0" { 0 } else { item };
        let (whole_x, whole_y) = (x[at(places[0])], y[at(places[1])]);
        INPUT.with(|input| input.set(whole_y));
        let (x, y) = (mask(whole_x, w), mask(whole_y, w));
        let got = |number: usize| {
            let first = (item * count + number) * WORDS;
            output[first..first + WORDS].iter().rev().fold(0u128, |bits, word| bits << 32 | u128::from(*word))
        };
        let all = NUMBERS.iter().chain(WIDE).enumerate();
        for (number, (text, expected)) in all.filter(|(number, _)| part.contains(number)) {
            let Some(expected) = expected(x, y, w) else { continue };
            let expected = if number < NUMBERS.len() { mask(expected, w) } else { expected };
            let got = got(number - part.start);
            assert!(
                got == expected,
                "{text}\nof {x:#x}, {y:#x} ({whole_y:#x}), {w} bits, {width} lanes, {places:?}: {got:#x}, not {expected:#x}"
            );
        }
        let bytes = w.div_ceil(8) * 8;
        let stored = got(count - 2);
        assert!(
            mask(stored, w) == x && mask(stored, bytes) == stored,
            "{w} bits stored: {stored:#x} of {x:#x}"
        );
        assert_eq!(got(count - 1), x, "{w} bits loaded");
    }
}

/// Compiling is what takes time: each width takes one sub-group size with operands that vary, and one with some that do not.
fn check_widths(widths: &[u32]) {
    for (at, w) in widths.iter().enumerate() {
        let (width, subgroups) = SUBGROUPS[at % SUBGROUPS.len()];
        check(*w, width, subgroups, ["%gx", "%gx"]);
        check(*w, 8, 1, if at % 2 == 0 { ["%ul0", "%gx"] } else { ["%gx", "%ul0"] });
    }
}

#[test]
fn integers_below_a_word_compute_what_they_are_specified_to() {
    check_widths(&[17, 24, 1, 3]);
}

#[test]
fn integers_below_two_words_compute_what_they_are_specified_to() {
    check_widths(&[63, 7, 33, 48]);
}

#[test]
fn integers_above_two_words_compute_what_they_are_specified_to() {
    check_widths(&[100, 128, 65, 96]);
}

/// `for (k = 0; k <= n; k++) r += k;` as clang has it, behind a branch; a quotient that divisors of zero do not reach,
/// a selection by it, and a join.
#[test]
fn loops_that_clang_solved_in_33_bits_give_their_sum() {
    for (width, subgroups) in SUBGROUPS {
        for [first, second] in [["%gx", "%gx"], ["%ul0", "%gx"], ["%gx", "%ul0"], ["%ul0", "%ul0"]] {
            let mut results = Results::default();
            results.push(
                "OpBranch %start
%start = OpLabel
%none = OpIEqual %bool %n %u0
OpBranchConditional %none %join %some
%some = OpLabel
%n_wide = OpUConvert %i33 %n
%before = OpISub %uint %n %u1
%before_wide = OpUConvert %i33 %before
%twice = OpIMul %i33 %n_wide %before_wide
%halved = OpShiftRightLogical %i33 %twice %one
%narrow = OpUConvert %uint %halved
%sum = OpIAdd %uint %narrow %n
OpBranch %join
%join = OpLabel
%r = OpPhi %uint %u0 %start %sum %some
%by_zero = OpIEqual %bool %d %u0
OpBranchConditional %by_zero %joined %divide
%divide = OpLabel
%n_again = OpUConvert %i33 %n
%d_wide = OpSConvert %i33 %d
%quotient = OpSDiv %i33 %n_again %d_wide
OpBranch %joined
%joined = OpLabel
%q = OpPhi %i33 %seven %join %quotient %divide
OpSwitch %q %other 7 %is_seven 0x1FFFFFFFF %is_minus_one
%is_seven = OpLabel
OpBranch %end
%is_minus_one = OpLabel
OpBranch %end
%other = OpLabel
%q_narrow = OpUConvert %uint %q
OpBranch %end
%end = OpLabel
%s = OpPhi %uint %u16 %is_seven %u31 %is_minus_one %q_narrow %other",
            );
            results.keep("%r");
            results.keep("%s");
            let before = format!(
                "%n_place = OpInBoundsPtrAccessChain %pg_uint %in {first}
%n = OpLoad %uint %n_place
%d_place = OpInBoundsPtrAccessChain %pg_uint %index {second}
%d = OpLoad %uint %d_place
"
            );
            let text = results.text(width, &before).replace(
                "%fn = OpTypeFunction",
                "%i33 = OpTypeInt 33 0\n%one = OpConstant %i33 1\n%seven = OpConstant %i33 7\n%fn = OpTypeFunction",
            );
            let items = 2 * (width * subgroups) as usize;
            let mut random = Random(0x5EED + u64::from(width));
            let mut draw = |_| random.next() >> (random.next() % 32);
            let n: Vec<u32> = (0..items).map(&mut draw).map(|n| if n % 5 == 0 { 0 } else { n }).collect();
            let d: Vec<u32> = (0..items)
                .map(&mut draw)
                .zip(&n)
                .map(|(d, n)| match d % 4 {
                    0 => 0,
                    1 => n.wrapping_neg(),
                    _ => d,
                })
                .collect();
            let output = run(&text, width * subgroups, &n, &d, 2);
            for item in 0..items {
                let at = |place: &str| if place == "%ul0" { 0 } else { item };
                let (n, d) = (n[at(first)], d[at(second)]);
                let sum = (u64::from(n) * (u64::from(n) + 1) / 2) as u32;
                let selected = match i64::from(n).checked_div(i64::from(d as i32)) {
                    None | Some(7) => 16,
                    Some(-1) => 31,
                    Some(quotient) => quotient as u32,
                };
                let got = [output[2 * item], output[2 * item + 1]];
                assert_eq!(got, [sum, selected], "{n} and {d:#x}, {width} lanes, {first} {second}");
            }
        }
    }
}

/// `SPV_INTEL_int4`: packed in an integer, and as numbers.
#[test]
fn integers_of_four_bits_are_packed_and_converted() {
    let types = "%i4 = OpTypeInt 4 0\n%v8 = OpTypeVector %i4 8\n%h8 = OpTypeVector %half 8\n%w8 = OpTypeVector %uint 8\n";
    let input: Vec<u32> = (0..2 * 64u32).map(|at| at.wrapping_mul(0x9E37_79B9)).collect();
    for (at, uniform) in [("%gx", false), ("%ul1", true)] {
        for (width, subgroups) in SUBGROUPS {
            let mut results = Results::default();
            results.push(
                "%v = OpBitcast %v8 %x\n%h = OpConvertSToF %h8 %v\n%back = OpConvertFToS %v8 %h\n%same = OpBitcast %uint %back\n\
                 %wide = OpSConvert %w8 %v\n%low = OpCompositeExtract %uint %wide 0\n%high = OpCompositeExtract %uint %wide 7",
            );
            ["%same", "%low", "%high"].into_iter().for_each(|value| results.keep(value));
            let before = format!("%px = OpInBoundsPtrAccessChain %pg_uint %in {at}\n%x = OpLoad %uint %px\n");
            let text = results
                .text(width, &before)
                .replacen("OpCapability Kernel\n", "OpCapability Kernel\nOpCapability Int4TypeINTEL\n", 1)
                .replacen("%std = ", "OpExtension \"SPV_INTEL_int4\"\n%std = ", 1)
                .replacen("%fn = OpTypeFunction", &format!("{types}%fn = OpTypeFunction"), 1);
            let output = run(&text, width * subgroups, &input, &input, results.words);
            for (item, words) in output.chunks(results.words).enumerate() {
                let x = input[if uniform { 1 } else { item }];
                let signed = |shift: u32| ((x << shift) as i32 >> 28) as u32;
                assert_eq!(words, [x, signed(28), signed(0)], "{width} {item}");
            }
        }
    }
}
