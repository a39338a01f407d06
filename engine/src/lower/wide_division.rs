//! Quotients in vectors of numbers that are too large for one division of floating-point numbers of their size.
//!
//! No vector unit has the upper half of a product of 64 bits, so LLVM takes each lane out for it where the divisor is a constant, and for a division where
//! it is none. Four products of 32 bits are less (`mul_hi`), and so are two estimates by a reciprocal in floating-point numbers: the first leaves a rest
//! of which the second is exact but for one. Of 32 bits, two in single precision are less than a division in double precision.

use super::builder::{Builder, IntPred, Opcode, Value};
use super::division::Divisor;
use super::opencl_std::integer::mul_hi;
use crate::analysis::leaves::Scalar;
use crate::jit::target::Target;

/// The quotient of vectors of 32 or 64 bits by what is neither 0 nor a power of two that the module says; none, where another division is as fast. The least
/// number by -1 gives itself.
pub(super) fn quotient(
    b: &Builder,
    target: &Target,
    signed: bool,
    n: Value,
    d: Value,
    divisor: Divisor,
) -> Option<Value> {
    let bits = b.scalar_of(n).bits();
    let inverts = bits == u64::BITS && target.simd_bits() >= 256;
    let by_constant = divisor.constant.filter(|constant| *constant != 0 && inverts);
    let of_magnitudes = |n: Value, d: Value| match by_constant {
        Some(constant) => {
            let (size, most) = match signed {
                true => (constant.unsigned_abs(), 1 << 63),
                false => (constant as u64, u64::MAX),
            };
            Inverse::of(size, most).divide(b, n)
        }
        None => by_estimates(b, n, d, divisor.is_uniform),
    };
    // Unsigned numbers are converted at once.
    if by_constant.is_none() && !target.has_avx512() {
        return None;
    }
    if !signed {
        return Some(of_magnitudes(n, d));
    }
    let sign = |x: Value| b.ashr(x, number(b, x, u64::from(bits) - 1));
    // With a sign of all ones a number is one more than what is inverted.
    let with_sign = |x: Value, sign: Value| b.sub(b.xor(x, sign), sign);
    let (of_n, of_d) = (sign(n), sign(d));
    let quotient = of_magnitudes(with_sign(n, of_n), with_sign(d, of_d));
    Some(with_sign(quotient, b.xor(of_n, of_d)))
}

fn number(b: &Builder, like: Value, number: u64) -> Value {
    b.int(b.scalar_of(like), b.lanes(like), number)
}

/// Of numbers without a sign.
fn by_estimates(b: &Builder, n: Value, d: Value, is_uniform: bool) -> Value {
    let (scalar, lanes) = (b.scalar_of(n), b.lanes(n));
    // What estimates are multiplied by so that they are never too large: each has five errors of half of a significand's last bit.
    let (float, below) = match scalar {
        Scalar::I32 => (Scalar::F32, 1.0 - 1.0 / f64::from(1 << 21)),
        _ => (Scalar::F64, 1.0 - 1.0 / (1u64 << 50) as f64),
    };
    let up = |x: Value| b.cast(Opcode::LLVMUIToFP, x, float);
    let inverse = |d: Value| {
        let lanes = b.lanes(d);
        let exact = b.fdiv(b.float(float, lanes, 1.0), up(d));
        b.fmul(exact, b.float(float, lanes, below))
    };
    let inverse = match is_uniform {
        true => b.splat(inverse(b.extract(d, b.i32(0))), lanes),
        false => inverse(d),
    };
    // At most n / d, and at least that without the 2^-49th of it, or the 2^-20th.
    let estimate = |n: Value| b.cast(Opcode::LLVMFPToUI, b.fmul(up(n), inverse), scalar);
    let first = estimate(n);
    // Below d + 2^15, or d + 2^12.
    let rest = b.sub(n, b.mul(first, d));
    let second = estimate(rest);
    // Below 2 d.
    let rest = b.sub(rest, b.mul(second, d));
    let one = b.zext_or_trunc(b.icmp(IntPred::LLVMIntUGE, rest, d), scalar);
    b.add(b.add(first, second), one)
}

/// What to multiply by in place of a division (Granlund and Montgomery, "Division by Invariant Integers using Multiplication", 1994).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Inverse {
    /// Bits that the dividend is shifted right by before.
    before: u32,
    factor: u64,
    /// The factor is 2^64 more.
    is_long: bool,
    /// Bits that the upper half of the product is shifted right by.
    behind: u32,
}

impl Inverse {
    /// Of a divisor that is no power of two, for dividends up to `most`.
    fn of(divisor: u64, most: u64) -> Inverse {
        debug_assert!(!divisor.is_power_of_two() && divisor > 2);
        let zeros = divisor.trailing_zeros();
        let short = Inverse::short(divisor, most, 0);
        let shifted = || Inverse::short(divisor >> zeros, most >> zeros, zeros);
        short.or_else(shifted).unwrap_or_else(|| {
            let bits = u64::BITS - divisor.leading_zeros();
            let rest = (1u128 << bits) - u128::from(divisor);
            let factor = ((rest << 64) / u128::from(divisor)) as u64 + 1;
            Inverse { before: 0, factor, is_long: true, behind: bits - 1 }
        })
    }

    /// With a factor of 64 bits, if that is exact for all dividends.
    fn short(divisor: u64, most: u64, before: u32) -> Option<Inverse> {
        (0..u64::BITS - divisor.leading_zeros()).find_map(|behind| {
            let power = 1u128 << (64 + behind);
            let factor = u64::try_from(power / u128::from(divisor) + 1).ok()?;
            let excess = u128::from(factor) * u128::from(divisor) - power;
            let is_exact = excess.checked_mul(u128::from(most)).is_some_and(|error| error < power);
            is_exact.then_some(Inverse { before, factor, is_long: false, behind })
        })
    }

    fn divide(self, b: &Builder, n: Value) -> Value {
        let shifted = |x: Value, bits: u32| if bits == 0 { x } else { b.lshr(x, number(b, x, bits.into())) };
        let n = shifted(n, self.before);
        let high = mul_hi(b, n, number(b, n, self.factor), false);
        match self.is_long {
            true => shifted(b.add(high, shifted(b.sub(n, high), 1)), self.behind),
            false => shifted(high, self.behind),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn divided(inverse: Inverse, n: u64) -> u64 {
        let n = n >> inverse.before;
        let high = ((u128::from(n) * u128::from(inverse.factor)) >> 64) as u64;
        match inverse.is_long {
            true => (high + ((n - high) >> 1)) >> inverse.behind,
            false => high >> inverse.behind,
        }
    }

    #[test]
    fn products_are_quotients() {
        let mut divisors: Vec<u64> = (3..2000).collect();
        divisors.extend((0..63).flat_map(|bit| [(1 << bit) + 1, (3 << bit) - 1, (5 << bit) + 7]));
        divisors.extend([u64::MAX, u64::MAX - 1, u64::MAX / 3, 1_000_000_007, 998_244_353, 86_400_000]);
        for divisor in divisors.into_iter().filter(|divisor| *divisor > 2 && !divisor.is_power_of_two()) {
            for most in [u64::MAX, 1 << 63] {
                let inverse = Inverse::of(divisor, most);
                let multiples =
                    [1, 2, 3, most / divisor / 2, (most / divisor).saturating_sub(1), most / divisor];
                let around = multiples.into_iter().filter_map(|of| divisor.checked_mul(of));
                let around = around.flat_map(|of| [of.wrapping_sub(1), of, of.wrapping_add(1)]);
                for n in around.chain([0, 1, most, most - 1, most / 2]).filter(|n| *n <= most) {
                    assert_eq!(divided(inverse, n), n / divisor, "{n} by {divisor}: {inverse:?}");
                }
            }
        }
    }

    #[test]
    fn most_inverses_are_short() {
        let of = |divisor: u64| Inverse::of(divisor, u64::MAX);
        assert_eq!(of(3), Inverse { before: 0, factor: 0xAAAA_AAAA_AAAA_AAAB, is_long: false, behind: 1 });
        assert!(of(7).is_long && !of(1000).is_long && of(14).before == 1);
        assert!(!Inverse::of(7, 1 << 63).is_long, "a magnitude has a bit less");
    }
}
