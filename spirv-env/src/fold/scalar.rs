//! Scalar arithmetic of constant folding: one evaluation a signature.

use super::{Scalar, ScalarKind};
use crate::opcodes::{self, Family, Signature, divides_integers};
use spirv::Op;

/// What an operation on scalars, or on vectors component by component, takes and gives; none of what is no such operation, or
/// may not stand in a constant.
pub(super) fn signature(op: Op) -> Option<Signature> {
    let row = opcodes::row(op).filter(|row| row.in_constants)?;
    let is_computed = matches!(row.family, Family::Arithmetic | Family::Conversion);
    Some(row.signature).filter(|signature| is_computed && *signature != Signature::Select)
}

/// Whether operand and result types agree with the opcode.
pub(super) fn check(op: Op, result: Scalar, args: &[Scalar]) -> Result<(), String> {
    use ScalarKind::*;
    use Signature as S;
    let Some(signature) = signature(op) else { return Err(format!("{op:?} is not folded")) };
    let same = |kind: ScalarKind, count: usize| {
        result.kind == kind && args.len() == count && args.iter().all(|arg| *arg == result)
    };
    let fine = match signature {
        S::IntUnary => same(Int, 1),
        S::IntBinary => same(Int, 2),
        S::Shift => args.len() == 2 && args[0] == result && result.kind == Int && args[1].kind == Int,
        S::IntCompare => args.len() == 2 && args[0] == args[1] && args[0].kind == Int && result.kind == Bool,
        S::FloatUnary => same(Float, 1),
        S::FloatBinary => same(Float, 2),
        S::BoolUnary => same(Bool, 1),
        S::BoolBinary => same(Bool, 2),
        S::IntToInt => args.len() == 1 && args[0].kind == Int && result.kind == Int,
        S::FloatToFloat => args.len() == 1 && args[0].kind == Float && result.kind == Float,
        S::FloatToInt => args.len() == 1 && args[0].kind == Float && result.kind == Int,
        S::IntToFloat => args.len() == 1 && args[0].kind == Int && result.kind == Float,
        _ => false,
    };
    if fine { Ok(()) } else { Err(format!("operand types do not agree with {op:?}")) }
}

fn truncate(bits: u128, width: u32) -> u128 {
    if width >= u128::BITS { bits } else { bits & ((1 << width) - 1) }
}

fn sign_extend(bits: u128, width: u32) -> i128 {
    let unused = u128::BITS - width.clamp(1, u128::BITS);
    (bits << unused) as i128 >> unused
}

/// Computes one component. The types were checked by [`check`].
pub(super) fn evaluate(op: Op, result: Scalar, kinds: &[Scalar], args: &[u128]) -> Result<u128, String> {
    use Signature as S;
    let Some(signature) = signature(op) else { return Err(format!("{op:?} is not folded")) };
    let a = args[0];
    let b = args.get(1).copied().unwrap_or(0);
    let width = kinds[0].width;
    Ok(match signature {
        S::IntUnary | S::IntBinary | S::Shift => truncate(integer(op, width, a, b)?, result.width),
        S::IntCompare => u128::from(compare(op, width, a, b)),
        S::FloatUnary => a ^ 1 << (width - 1),
        S::FloatBinary => float_binary(op, width, a, b),
        S::BoolUnary => u128::from(a == 0),
        S::BoolBinary => match op {
            Op::LogicalOr => a | b,
            Op::LogicalAnd => a & b,
            Op::LogicalEqual => u128::from(a == b),
            _ => a ^ b,
        },
        S::IntToInt if op == Op::SConvert => truncate(sign_extend(a, width) as u128, result.width),
        S::IntToInt => truncate(a, result.width),
        S::FloatToFloat => from_f64(to_f64(a, width), result.width),
        S::FloatToInt if op == Op::ConvertFToS => truncate(to_f64(a, width) as i128 as u128, result.width),
        S::FloatToInt => truncate(to_f64(a, width) as u128, result.width),
        S::IntToFloat => int_to_float(op, width, a, result.width),
        _ => return Err(format!("{op:?} is not folded")),
    })
}

/// Whether SPIR-V does not say what an operation makes of these: of a quotient by zero, or that is too large, and of a shift of the whole width or more.
pub(super) fn is_undefined(op: Op, kinds: &[Scalar], args: &[u128]) -> bool {
    let (width, b) = (kinds[0].width, args.get(1).copied().unwrap_or(0));
    let is_largest = |b: u128| sign_extend(b, width) == -1 && args[0] == 1 << (width - 1);
    (divides_integers(op) && (b == 0 || !matches!(op, Op::UDiv | Op::UMod) && is_largest(b)))
        || signature(op) == Some(Signature::Shift) && b >= u128::from(width)
}

fn integer(op: Op, width: u32, a: u128, b: u128) -> Result<u128, String> {
    let (sa, sb) = (sign_extend(a, width), sign_extend(b, width));
    if divides_integers(op) && b == 0 {
        // The result is undefined: zero is the same in every run.
        return Ok(0);
    }
    // Shifts of the whole width or more are undefined as well.
    let within = b < u128::from(width);
    Ok(match op {
        Op::SNegate => a.wrapping_neg(),
        Op::Not => !a,
        Op::IAdd => a.wrapping_add(b),
        Op::ISub => a.wrapping_sub(b),
        Op::IMul => a.wrapping_mul(b),
        Op::UDiv => a / b,
        Op::SDiv => sa.wrapping_div(sb) as u128,
        Op::UMod => a % b,
        Op::SRem => sa.wrapping_rem(sb) as u128,
        Op::SMod => {
            let rest = sa.wrapping_rem(sb);
            (if rest != 0 && (rest < 0) != (sb < 0) { rest + sb } else { rest }) as u128
        }
        Op::BitwiseOr => a | b,
        Op::BitwiseXor => a ^ b,
        Op::BitwiseAnd => a & b,
        Op::ShiftRightLogical => {
            if within {
                a >> b
            } else {
                0
            }
        }
        Op::ShiftRightArithmetic => (sa >> b.min(127)) as u128,
        Op::ShiftLeftLogical => {
            if within {
                a << b
            } else {
                0
            }
        }
        _ => return Err(format!("{op:?} is not integer arithmetic")),
    })
}

fn compare(op: Op, width: u32, a: u128, b: u128) -> bool {
    let (sa, sb) = (sign_extend(a, width), sign_extend(b, width));
    match op {
        Op::IEqual => a == b,
        Op::INotEqual => a != b,
        Op::ULessThan => a < b,
        Op::SLessThan => sa < sb,
        Op::UGreaterThan => a > b,
        Op::SGreaterThan => sa > sb,
        Op::ULessThanEqual => a <= b,
        Op::SLessThanEqual => sa <= sb,
        Op::UGreaterThanEqual => a >= b,
        _ => sa >= sb,
    }
}

fn float_binary(op: Op, width: u32, a: u128, b: u128) -> u128 {
    // Single precision is computed in single precision: a double's rounding in between could differ. Half is
    // exact in single precision for one operation up to the final rounding (24 ≥ 2·11 + 2 bits).
    if width == 64 {
        let (x, y) = (f64::from_bits(a as u64), f64::from_bits(b as u64));
        let value = match op {
            Op::FAdd => x + y,
            Op::FSub => x - y,
            Op::FMul => x * y,
            Op::FDiv => x / y,
            Op::FRem => x % y,
            _ => floor_mod(x, y),
        };
        return u128::from(value.to_bits());
    }
    let (x, y) = (to_f64(a, width) as f32, to_f64(b, width) as f32);
    let value = match op {
        Op::FAdd => x + y,
        Op::FSub => x - y,
        Op::FMul => x * y,
        Op::FDiv => x / y,
        Op::FRem => x % y,
        _ => floor_mod(f64::from(x), f64::from(y)) as f32,
    };
    from_f64(f64::from(value), width)
}

/// `OpFMod`: the sign is the divisor's.
fn floor_mod(x: f64, y: f64) -> f64 {
    let rest = x % y;
    if rest != 0.0 && (rest < 0.0) != (y < 0.0) { rest + y } else { rest }
}

fn int_to_float(op: Op, from: u32, bits: u128, to: u32) -> u128 {
    let signed = op == Op::ConvertSToF;
    match (to, signed) {
        (64, true) => u128::from((sign_extend(bits, from) as f64).to_bits()),
        (64, false) => u128::from((bits as f64).to_bits()),
        (32, true) => u128::from((sign_extend(bits, from) as f32).to_bits()),
        (32, false) => u128::from((bits as f32).to_bits()),
        // Whatever a half can hold is exact in a double; the rest overflows to infinity either way.
        (_, true) => from_f64(sign_extend(bits, from) as f64, 16),
        (_, false) => from_f64(bits as f64, 16),
    }
}

fn to_f64(bits: u128, width: u32) -> f64 {
    match width {
        64 => f64::from_bits(bits as u64),
        32 => f64::from(f32::from_bits(bits as u32)),
        _ => half_to_f64(bits as u16),
    }
}

fn from_f64(value: f64, width: u32) -> u128 {
    match width {
        64 => u128::from(value.to_bits()),
        32 => u128::from((value as f32).to_bits()),
        _ => u128::from(f64_to_half(value)),
    }
}

const HALF_INFINITY: u16 = 0x7C00;
const HALF_QUIET_NAN: u16 = 0x7E00;

fn half_to_f64(bits: u16) -> f64 {
    let (exponent, fraction) = (i32::from(bits >> 10 & 0x1F), f64::from(bits & 0x3FF));
    let magnitude = match exponent {
        0 => fraction * 2f64.powi(-24),
        31 if fraction == 0.0 => f64::INFINITY,
        31 => f64::NAN,
        _ => (1024.0 + fraction) * 2f64.powi(exponent - 25),
    };
    if bits >> 15 == 1 { -magnitude } else { magnitude }
}

/// Rounds to nearest even.
fn f64_to_half(value: f64) -> u16 {
    let sign = ((value.to_bits() >> 63) as u16) << 15;
    let magnitude = value.abs();
    if magnitude.is_nan() {
        return sign | HALF_QUIET_NAN;
    }
    // Halfway between the largest half and the next power of two rounds away.
    if magnitude >= 65520.0 {
        return sign | HALF_INFINITY;
    }
    let exponent = ((magnitude.to_bits() >> 52) as i32 - 1023).max(-14);
    let steps = (magnitude / 2f64.powi(exponent - 10)).round_ties_even() as u16;
    // 1,024 steps are one binade: a carry moves into the exponent, and a subnormal has none.
    sign | ((((exponent + 14) as u16) << 10) + steps)
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn int(width: u32) -> Scalar {
        Scalar { kind: ScalarKind::Int, width }
    }

    fn eval(op: Op, width: u32, a: u128, b: u128) -> u128 {
        evaluate(op, int(width), &[int(width), int(width)], &[a, b]).unwrap()
    }

    #[test]
    fn integers_wrap_at_their_width() {
        assert_eq!(eval(Op::IAdd, 8, 0xFF, 2), 1);
        assert_eq!(eval(Op::ISub, 16, 0, 1), 0xFFFF);
        assert_eq!(eval(Op::SDiv, 32, 0x8000_0000, 0xFFFF_FFFF), 0x8000_0000);
        assert_eq!(eval(Op::SDiv, 64, 1 << 63, u128::from(u64::MAX)), 1 << 63);
        assert_eq!(eval(Op::UDiv, 32, 7, 0), 0);
        assert_eq!(eval(Op::SRem, 32, -7i32 as u32 as u128, 3), -1i32 as u32 as u128);
        assert_eq!(eval(Op::SMod, 32, -7i32 as u32 as u128, 3), 2);
        assert_eq!(eval(Op::ShiftRightArithmetic, 8, 0x80, 1), 0xC0);
        assert_eq!(eval(Op::ShiftLeftLogical, 32, 1, 32), 0);
    }

    #[test]
    fn odd_and_wide_integers_wrap_at_their_width() {
        let all = (1 << 33) - 1;
        assert_eq!(eval(Op::IAdd, 33, all, 2), 1);
        assert_eq!(eval(Op::IMul, 33, all, all), 1);
        assert_eq!(eval(Op::SDiv, 33, all - 6, 2), all - 2);
        assert_eq!(eval(Op::ShiftRightArithmetic, 33, 1 << 32, 32), all);
        assert_eq!(eval(Op::SLessThan, 3, 4, 3), 1);
        assert_eq!(eval(Op::IMul, 128, u128::MAX, 3), u128::MAX - 2);
        assert_eq!(eval(Op::ShiftLeftLogical, 100, 3, 99), 1 << 99);
        assert_eq!(eval(Op::SDiv, 128, 1 << 127, u128::MAX), 1 << 127);
        assert_eq!(evaluate(Op::SConvert, int(100), &[int(33)], &[1 << 32]), Ok((1 << 100) - (1 << 32)));
        let double = Scalar { kind: ScalarKind::Float, width: 64 };
        let bits = u128::from((2f64.powi(100)).to_bits());
        assert_eq!(evaluate(Op::ConvertUToF, double, &[int(128)], &[1 << 100]), Ok(bits));
    }

    #[test]
    fn halves_round_to_nearest_even() {
        for (value, bits) in [
            (1.0, 0x3C00),
            (-2.0, 0xC000),
            (65504.0, 0x7BFF),
            (65519.9, 0x7BFF),
            (65520.0, 0x7C00),
            (2f64.powi(-24), 1),
            (2f64.powi(-25), 0),
            (2f64.powi(-14), 0x0400),
            (1.0 + 2f64.powi(-11), 0x3C00),
            (1.0 + 3.0 * 2f64.powi(-11), 0x3C02),
            (2047.9999, 0x6800),
        ] {
            assert_eq!(f64_to_half(value), bits, "{value}");
        }
        for bits in (0..=u16::MAX).filter(|bits| bits & 0x7C00 != 0x7C00) {
            assert_eq!(f64_to_half(half_to_f64(bits)), bits);
        }
    }

    #[test]
    fn operand_types_are_checked() {
        let float = Scalar { kind: ScalarKind::Float, width: 32 };
        assert!(check(Op::IAdd, int(32), &[int(32), int(32)]).is_ok());
        assert!(check(Op::IAdd, int(32), &[int(32), float]).is_err());
        assert!(check(Op::ShiftLeftLogical, int(32), &[int(32), int(8)]).is_ok());
        assert!(check(Op::UConvert, int(8), &[int(64)]).is_ok());
        assert!(check(Op::FConvert, int(8), &[float]).is_err());
    }
}
