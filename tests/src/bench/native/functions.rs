//! Exponential and logarithm of vectors, to about 2 ULP: Cody and Waite's reduction and Cephes' polynomials.

use super::simd::Simd;

/// Up to 88; 0 for what is less than -87.
#[inline(always)]
pub unsafe fn exp<S: Simd>(x: S::F) -> S::F {
    // SAFETY: the caller's promise.
    unsafe {
        let lowest = S::splat(-87.0);
        let vanishes = S::less(x, lowest);
        let x = S::select(vanishes, lowest, x);
        let n = S::round(S::mul(x, S::splat(std::f32::consts::LOG2_E)));
        let r = S::fma(n, S::splat(-0.693_359_4), x);
        let r = S::fma(n, S::splat(2.121_944_4e-4), r);
        let mut p = S::splat(1.987_569_2e-4);
        for c in [1.398_199_9e-3, 8.333_452e-3, 4.166_579_6e-2, 1.666_666_5e-1, 0.5] {
            p = S::fma(p, r, S::splat(c));
        }
        let p = S::add(S::fma(S::mul(r, r), p, r), S::splat(1.0));
        let scale = S::left::<23>(S::add_u(S::to_int(n), S::splat_u(127)));
        S::select(vanishes, S::splat(0.0), S::mul(p, S::floats(scale)))
    }
}

/// Of normal positive numbers.
#[inline(always)]
pub unsafe fn log<S: Simd>(x: S::F) -> S::F {
    // SAFETY: the caller's promise.
    unsafe {
        // The mantissa between sqrt(1/2) and sqrt(2).
        let bits = S::sub_u(S::bits(x), S::splat_u(0x3f35_04f3));
        let exponent = S::sub_u(S::right::<23>(S::add_u(bits, S::splat_u(0x8000_0000))), S::splat_u(256));
        let mantissa = S::add_u(S::and(bits, S::splat_u(0x7f_ffff)), S::splat_u(0x3f35_04f3));
        let e = S::from_int(exponent);
        let m = S::sub(S::floats(mantissa), S::splat(1.0));
        let mut p = S::splat(7.037_683_6e-2);
        let rest = [
            -1.151_461e-1,
            1.167_699_9e-1,
            -1.242_014_1e-1,
            1.424_932_3e-1,
            -1.666_805_7e-1,
            2.000_071_4e-1,
            -2.499_999_4e-1,
            3.333_333e-1,
        ];
        for c in rest {
            p = S::fma(p, m, S::splat(c));
        }
        let square = S::mul(m, m);
        let y = S::fma(S::mul(S::mul(p, m), square), S::splat(1.0), S::mul(e, S::splat(-2.121_944_4e-4)));
        let y = S::fma(square, S::splat(-0.5), y);
        S::fma(e, S::splat(0.693_359_4), S::add(m, y))
    }
}
