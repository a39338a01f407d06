//! Instructions of single work-items, with operands that are the same in all lanes and that are not.

use super::{Random, Results, SUBGROUPS, run};

/// An instruction whose result is the `uint` `%r`, from `%x`, `%y`, and what it computes.
struct Case {
    text: &'static str,
    expected: fn(u32, u32) -> u32,
}

const fn case(text: &'static str, expected: fn(u32, u32) -> u32) -> Case {
    Case { text, expected }
}

fn bytes(word: u32) -> [u8; 4] {
    word.to_le_bytes()
}

fn dot(x: u32, y: u32, first: fn(u8) -> i64, second: fn(u8) -> i64) -> i64 {
    bytes(x).into_iter().zip(bytes(y)).map(|(x, y)| first(x) * second(y)).sum()
}

fn signed(byte: u8) -> i64 {
    i64::from(byte as i8)
}

fn unsigned(byte: u8) -> i64 {
    i64::from(byte)
}

fn signed_saturated(sum: i64) -> u32 {
    sum.clamp(i64::from(i32::MIN), i64::from(i32::MAX)) as i32 as u32
}

fn field(y: u32) -> (u32, u32) {
    let offset = y % 32;
    (offset, (y >> 8) % (33 - offset))
}

fn ones(count: u32) -> u32 {
    u32::MAX.checked_shr(32 - count).unwrap_or(0)
}

/// A number whose significand has 24 bits, the last of which is set.
fn wide(x: u32) -> f32 {
    (x >> 8 | 0x80_0001) as f32
}

const CASES: &[Case] = &[
    // SPV_KHR_integer_dot_product, packed and as vectors.
    case("%r = OpSDot %uint %x %y 0", |x, y| dot(x, y, signed, signed) as u32),
    case("%r = OpUDot %uint %x %y 0", |x, y| dot(x, y, unsigned, unsigned) as u32),
    case("%r = OpSUDot %uint %x %y 0", |x, y| dot(x, y, signed, unsigned) as u32),
    case("%r = OpSDot %uint %xc %yc", |x, y| dot(x, y, signed, signed) as u32),
    case("%r = OpSUDot %uint %xc %yc", |x, y| dot(x, y, signed, unsigned) as u32),
    case("%q = OpSDot %uchar %xc %yc\n%r = OpSConvert %uint %q", |x, y| {
        dot(x, y, signed, signed) as i8 as u32
    }),
    case("%r = OpUDot %uint %x2 %y2", |x, y| x.wrapping_mul(y).wrapping_add(y.wrapping_mul(x))),
    case("%r = OpSDotAccSat %uint %x %y %y 0", |x, y| {
        signed_saturated(dot(x, y, signed, signed) + i64::from(y as i32))
    }),
    case("%r = OpUDotAccSat %uint %x %y %y 0", |x, y| {
        (dot(x, y, unsigned, unsigned) + i64::from(y)).min(i64::from(u32::MAX)) as u32
    }),
    case("%r = OpSUDotAccSat %uint %x %y %y 0", |x, y| {
        signed_saturated(dot(x, y, signed, unsigned) + i64::from(y as i32))
    }),
    case("%r = OpUDotAccSat %uint %xc %yc %x", |x, y| {
        (dot(x, y, unsigned, unsigned) + i64::from(x)).min(i64::from(u32::MAX)) as u32
    }),
    // SPV_KHR_bit_instructions.
    case("%r = OpBitReverse %uint %x", |x, _| x.reverse_bits()),
    case("%r = OpBitFieldUExtract %uint %x %offset %count", |x, y| {
        let (offset, count) = field(y);
        x >> offset & ones(count)
    }),
    case("%r = OpBitFieldSExtract %uint %x %offset %count", |x, y| {
        let (offset, count) = field(y);
        let value = x >> offset & ones(count);
        if count > 0 && value >> (count - 1) & 1 == 1 { value | !ones(count) } else { value }
    }),
    case("%r = OpBitFieldInsert %uint %x %y %offset %count", |x, y| {
        let (offset, count) = field(y);
        let mask = ones(count) << offset;
        x & !mask | y << offset & mask
    }),
    // SPV_INTEL_bfloat16_conversion.
    case("%q = OpConvertFToBF16INTEL %ushort %xf\n%r = OpUConvert %uint %q", |x, _| {
        let bits = x;
        if f32::from_bits(bits).is_nan() {
            return bits >> 16 | 0x40;
        }
        let (cut, rest) = (bits >> 16, bits & 0xFFFF);
        cut + u32::from(rest > 0x8000 || (rest == 0x8000 && cut & 1 == 1))
    }),
    case("%q = OpConvertBF16ToFINTEL %float %xs\n%r = OpBitcast %uint %q", |x, _| x << 16),
    // SPV_INTEL_ternary_bitwise_function: selection by the third operand, all bits, and the sum of a full adder.
    case("%r = OpBitwiseFunctionINTEL %uint %x %y %x %u202", |x, y| (x & !x) | (y & x)),
    case("%r = OpBitwiseFunctionINTEL %uint %y %x %x %u202", |x, y| (y & !x) | x),
    case("%r = OpBitwiseFunctionINTEL %uint %x %y %u7 %u202", |x, y| (x & !7) | (y & 7)),
    case("%r = OpBitwiseFunctionINTEL %uint %x %y %u7 %u150", |x, y| x ^ y ^ 7),
    case("%r = OpBitwiseFunctionINTEL %uint %x %y %u7 %u0", |_, _| 0),
    // SPV_INTEL_tensor_float32_conversion.
    case("%q = OpRoundFToTF32INTEL %float %xf\n%r = OpBitcast %uint %q", |x, _| {
        if f32::from_bits(x).is_nan() {
            return x;
        }
        let (cut, rest) = (x >> 13, x & 0x1FFF);
        (cut + u32::from(rest > 0x1000 || (rest == 0x1000 && cut & 1 == 1))) << 13
    }),
    // SPV_KHR_fma: the product of two odd numbers of 24 bits has 48, of which the sum leaves the lower ones.
    case("%q = OpFmaKHR %float %wide_x %wide_y %minus\n%r = OpBitcast %uint %q", |x, y| {
        let (x, y) = (wide(x), wide(y));
        f32::mul_add(x, y, -(x * y)).to_bits()
    }),
    case(
        "%h = OpFConvert %half %small\n%q = OpFmaKHR %half %h %h %h\n%w = OpFConvert %float %q\n%r = OpBitcast %uint %w",
        |_, y| (((y & 7) * (y & 7) + (y & 7)) as f32).to_bits(),
    ),
    // SPV_INTEL_fpga_reg, and sizes.
    case("%r = OpFPGARegINTEL %uint %x", |x, _| x),
    case("%r = OpSizeOf %uint %own", |_, _| 4),
    case("%r = OpSizeOf %uint %va", |_, _| 16),
    // Hints and fences pass values on.
    case("%r = OpExpectKHR %uint %x %u1", |x, _| x),
    case("OpAssumeTrueKHR %true_x\n%r = OpCopyObject %uint %y", |_, y| y),
    case("%q = OpArithmeticFenceEXT %float %yn\n%r = OpBitcast %uint %q", |_, y| (y as f32).to_bits()),
    case(
        "%h = OpFConvert %half %small\n%q = OpArithmeticFenceEXT %half %h\n%w = OpFConvert %float %q\n%r = OpBitcast %uint %w",
        |_, y| ((y & 7) as f32).to_bits(),
    ),
    // Where generic pointers lead.
    case("%g = OpPtrCastToGeneric %gen %own\n%r = OpGenericPtrMemSemantics %uint %g", |_, _| 0x200),
    case("%g = OpPtrCastToGeneric %gen %local\n%r = OpGenericPtrMemSemantics %uint %g", |_, _| 0x100),
];

#[test]
fn instructions_compute_what_they_are_specified_to() {
    for (width, subgroups) in SUBGROUPS {
        for (first, second) in [("%gx", "%gx"), ("%ul0", "%gx"), ("%gx", "%ul0"), ("%ul0", "%ul0")] {
            let mut results = Results::default();
            for (number, case) in CASES.iter().enumerate() {
                let mut text = case.text.to_owned();
                for name in ["%r", "%q", "%h", "%w", "%g"] {
                    text = text.replace(&format!("{name} "), &format!("{name}_{number} "));
                    text = text
                        .lines()
                        .map(|line| match line.strip_suffix(name) {
                            Some(rest) => format!("{rest}{name}_{number}"),
                            None => line.to_owned(),
                        })
                        .collect::<Vec<_>>()
                        .join("\n");
                }
                results.push(&text);
                results.keep(&format!("%r_{number}"));
            }
            let before = format!(
                "%own = OpInBoundsPtrAccessChain %pg_uint %in {first}
%x = OpLoad %uint %own
%own_y = OpInBoundsPtrAccessChain %pg_uint %index {second}
%y = OpLoad %uint %own_y
%xc = OpBitcast %uchar4 %x
%yc = OpBitcast %uchar4 %y
%x2 = OpCompositeConstruct %uint2 %x %y
%y2 = OpCompositeConstruct %uint2 %y %x
%xf = OpBitcast %float %x
%yn = OpConvertUToF %float %y
%xs = OpUConvert %ushort %x
%low = OpBitwiseAnd %uint %y %u7
%small = OpConvertUToF %float %low
%offset = OpBitwiseAnd %uint %y %u31
%high = OpShiftRightLogical %uint %y %u8
%span = OpISub %uint %u33 %offset
%count = OpUMod %uint %high %span
%upper_x = OpShiftRightLogical %uint %x %u8
%upper_y = OpShiftRightLogical %uint %y %u8
%odd_x = OpBitwiseOr %uint %upper_x %odd24
%odd_y = OpBitwiseOr %uint %upper_y %odd24
%wide_x = OpConvertUToF %float %odd_x
%wide_y = OpConvertUToF %float %odd_y
%product = OpFMul %float %wide_x %wide_y
%fenced = OpArithmeticFenceEXT %float %product
%minus = OpFNegate %float %fenced
%true_x = OpIEqual %bool %x %x
"
            );
            let text = results.text(width, &before).replace(
                "%fn = OpTypeFunction",
                "%u150 = OpConstant %uint 150\n%u202 = OpConstant %uint 202\n%odd24 = OpConstant %uint 0x800001\n%u33 = OpConstant %uint 33\n%fn = OpTypeFunction",
            );
            let group_size = width * subgroups;
            let items = 2 * group_size as usize;
            let mut random = Random(0x1234_5678 + u64::from(width));
            let mut draw = || match random.next() % 8 {
                0 => 0,
                1 => 0x8080_8080,
                2 => 0x7FFF_FFFF,
                3 => 0xFFFF_FFFF,
                4 => 0x7F80_0001,
                _ => random.next(),
            };
            let (x, y): (Vec<u32>, Vec<u32>) = (0..items).map(|_| (draw(), draw())).unzip();
            let output = run(&text, group_size, &x, &y, CASES.len());
            for item in 0..items {
                let at = |place: &str| if place == "%ul0" { 0 } else { item };
                let (x, y) = (x[at(first)], y[at(second)]);
                for (number, case) in CASES.iter().enumerate() {
                    let got = output[item * CASES.len() + number];
                    let expected = (case.expected)(x, y);
                    assert_eq!(
                        got, expected,
                        "{} of {x:#x}, {y:#x}, {width} lanes, {first} {second}",
                        case.text
                    );
                }
            }
        }
    }
}
