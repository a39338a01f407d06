//! The processor's vectors: one interface to AVX-512 and AVX2, chosen at run time.

use std::arch::x86_64::*;
use std::sync::OnceLock;

/// Bytes of a memory access of `traffic`.
pub const CHUNK: usize = 64;

/// Vectors of 32-bit numbers.
///
/// # Safety
/// All functions are called where the processor has the instructions.
pub unsafe trait Simd: Copy {
    const LANES: usize;
    type F: Copy;
    type U: Copy;
    /// Which lanes.
    type M: Copy;

    unsafe fn splat(value: f32) -> Self::F;
    unsafe fn load(from: *const f32) -> Self::F;
    unsafe fn store(to: *mut f32, value: Self::F);
    unsafe fn add(a: Self::F, b: Self::F) -> Self::F;
    unsafe fn sub(a: Self::F, b: Self::F) -> Self::F;
    unsafe fn mul(a: Self::F, b: Self::F) -> Self::F;
    unsafe fn div(a: Self::F, b: Self::F) -> Self::F;
    /// `a * b + c`, rounded once.
    unsafe fn fma(a: Self::F, b: Self::F, c: Self::F) -> Self::F;
    unsafe fn sqrt(a: Self::F) -> Self::F;
    /// An estimate of the reciprocal root, good to 11 bits at least.
    unsafe fn rsqrt(a: Self::F) -> Self::F;
    unsafe fn round(a: Self::F) -> Self::F;
    unsafe fn less(a: Self::F, b: Self::F) -> Self::M;
    unsafe fn at_most(a: Self::F, b: Self::F) -> Self::M;
    unsafe fn select(mask: Self::M, yes: Self::F, no: Self::F) -> Self::F;
    unsafe fn any(mask: Self::M) -> bool;
    /// `count`, one more where the mask is set.
    unsafe fn count(count: Self::U, mask: Self::M) -> Self::U;

    unsafe fn bits(a: Self::F) -> Self::U;
    unsafe fn floats(a: Self::U) -> Self::F;
    unsafe fn to_int(a: Self::F) -> Self::U;
    unsafe fn from_int(a: Self::U) -> Self::F;
    unsafe fn splat_u(value: u32) -> Self::U;
    unsafe fn load_u(from: *const u32) -> Self::U;
    unsafe fn store_u(to: *mut u32, value: Self::U);
    /// A store past the caches, aligned to the vector.
    unsafe fn stream(to: *mut u32, value: Self::U);
    /// Every `stride`th number.
    unsafe fn spaced(from: *const u32, stride: i32) -> Self::U;
    unsafe fn add_u(a: Self::U, b: Self::U) -> Self::U;
    unsafe fn sub_u(a: Self::U, b: Self::U) -> Self::U;
    unsafe fn mul_u(a: Self::U, b: Self::U) -> Self::U;
    unsafe fn and(a: Self::U, b: Self::U) -> Self::U;
    unsafe fn xor(a: Self::U, b: Self::U) -> Self::U;
    unsafe fn right<const N: u32>(a: Self::U) -> Self::U;
    unsafe fn left<const N: u32>(a: Self::U) -> Self::U;
    unsafe fn rotate_right<const N: u32, const REST: u32>(a: Self::U) -> Self::U;
    /// `a & b | !a & c`.
    unsafe fn choose(a: Self::U, b: Self::U, c: Self::U) -> Self::U;
    unsafe fn majority(a: Self::U, b: Self::U, c: Self::U) -> Self::U;
    unsafe fn xor3(a: Self::U, b: Self::U, c: Self::U) -> Self::U;
}

#[derive(Clone, Copy)]
pub struct Avx512;

#[derive(Clone, Copy)]
pub struct Avx2;

/// Functions that are one intrinsic or expression each.
macro_rules! each {
    ($($name:ident($($arg:ident: $type:ty),*) $(-> $result:ty)? = $value:expr;)*) => {
        $(
            #[inline(always)]
            unsafe fn $name($($arg: $type),*) $(-> $result)? {
                // SAFETY: the trait's.
                #[allow(unused_unsafe)]
                unsafe { $value }
            }
        )*
    };
}

// SAFETY: nothing is promised but by the callers.
unsafe impl Simd for Avx512 {
    const LANES: usize = 16;
    type F = __m512;
    type U = __m512i;
    type M = __mmask16;

    each! {
        splat(value: f32) -> __m512 = _mm512_set1_ps(value);
        load(from: *const f32) -> __m512 = _mm512_loadu_ps(from);
        store(to: *mut f32, value: __m512) = _mm512_storeu_ps(to, value);
        add(a: __m512, b: __m512) -> __m512 = _mm512_add_ps(a, b);
        sub(a: __m512, b: __m512) -> __m512 = _mm512_sub_ps(a, b);
        mul(a: __m512, b: __m512) -> __m512 = _mm512_mul_ps(a, b);
        div(a: __m512, b: __m512) -> __m512 = _mm512_div_ps(a, b);
        fma(a: __m512, b: __m512, c: __m512) -> __m512 = _mm512_fmadd_ps(a, b, c);
        sqrt(a: __m512) -> __m512 = _mm512_sqrt_ps(a);
        rsqrt(a: __m512) -> __m512 = _mm512_rsqrt14_ps(a);
        round(a: __m512) -> __m512 = _mm512_roundscale_ps(a, 0);
        less(a: __m512, b: __m512) -> __mmask16 = _mm512_cmp_ps_mask(a, b, _CMP_LT_OQ);
        at_most(a: __m512, b: __m512) -> __mmask16 = _mm512_cmp_ps_mask(a, b, _CMP_LE_OQ);
        select(mask: __mmask16, yes: __m512, no: __m512) -> __m512 = _mm512_mask_blend_ps(mask, no, yes);
        any(mask: __mmask16) -> bool = mask != 0;
        count(count: __m512i, mask: __mmask16) -> __m512i =
            _mm512_mask_add_epi32(count, mask, count, _mm512_set1_epi32(1));
        bits(a: __m512) -> __m512i = _mm512_castps_si512(a);
        floats(a: __m512i) -> __m512 = _mm512_castsi512_ps(a);
        to_int(a: __m512) -> __m512i = _mm512_cvtps_epi32(a);
        from_int(a: __m512i) -> __m512 = _mm512_cvtepi32_ps(a);
        splat_u(value: u32) -> __m512i = _mm512_set1_epi32(value as i32);
        load_u(from: *const u32) -> __m512i = _mm512_loadu_si512(from.cast());
        store_u(to: *mut u32, value: __m512i) = _mm512_storeu_si512(to.cast(), value);
        stream(to: *mut u32, value: __m512i) = _mm512_stream_si512(to.cast(), value);
        spaced(from: *const u32, stride: i32) -> __m512i = {
            let lanes = _mm512_set_epi32(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);
            _mm512_i32gather_epi32::<4>(_mm512_mullo_epi32(lanes, _mm512_set1_epi32(stride)), from.cast())
        };
        add_u(a: __m512i, b: __m512i) -> __m512i = _mm512_add_epi32(a, b);
        sub_u(a: __m512i, b: __m512i) -> __m512i = _mm512_sub_epi32(a, b);
        mul_u(a: __m512i, b: __m512i) -> __m512i = _mm512_mullo_epi32(a, b);
        and(a: __m512i, b: __m512i) -> __m512i = _mm512_and_si512(a, b);
        xor(a: __m512i, b: __m512i) -> __m512i = _mm512_xor_si512(a, b);
        choose(a: __m512i, b: __m512i, c: __m512i) -> __m512i = _mm512_ternarylogic_epi32::<0xca>(a, b, c);
        majority(a: __m512i, b: __m512i, c: __m512i) -> __m512i = _mm512_ternarylogic_epi32::<0xe8>(a, b, c);
        xor3(a: __m512i, b: __m512i, c: __m512i) -> __m512i = _mm512_ternarylogic_epi32::<0x96>(a, b, c);
    }

    #[inline(always)]
    unsafe fn right<const N: u32>(a: __m512i) -> __m512i {
        // SAFETY: the trait's.
        unsafe { _mm512_srli_epi32::<N>(a) }
    }

    #[inline(always)]
    unsafe fn left<const N: u32>(a: __m512i) -> __m512i {
        // SAFETY: the trait's.
        unsafe { _mm512_slli_epi32::<N>(a) }
    }

    #[inline(always)]
    unsafe fn rotate_right<const N: u32, const REST: u32>(a: __m512i) -> __m512i {
        // SAFETY: the trait's.
        unsafe { _mm512_or_si512(_mm512_srli_epi32::<N>(a), _mm512_slli_epi32::<REST>(a)) }
    }
}

// SAFETY: nothing is promised but by the callers.
unsafe impl Simd for Avx2 {
    const LANES: usize = 8;
    type F = __m256;
    type U = __m256i;
    type M = __m256;

    each! {
        splat(value: f32) -> __m256 = _mm256_set1_ps(value);
        load(from: *const f32) -> __m256 = _mm256_loadu_ps(from);
        store(to: *mut f32, value: __m256) = _mm256_storeu_ps(to, value);
        add(a: __m256, b: __m256) -> __m256 = _mm256_add_ps(a, b);
        sub(a: __m256, b: __m256) -> __m256 = _mm256_sub_ps(a, b);
        mul(a: __m256, b: __m256) -> __m256 = _mm256_mul_ps(a, b);
        div(a: __m256, b: __m256) -> __m256 = _mm256_div_ps(a, b);
        fma(a: __m256, b: __m256, c: __m256) -> __m256 = _mm256_fmadd_ps(a, b, c);
        sqrt(a: __m256) -> __m256 = _mm256_sqrt_ps(a);
        rsqrt(a: __m256) -> __m256 = _mm256_rsqrt_ps(a);
        round(a: __m256) -> __m256 = _mm256_round_ps(a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
        less(a: __m256, b: __m256) -> __m256 = _mm256_cmp_ps(a, b, _CMP_LT_OQ);
        at_most(a: __m256, b: __m256) -> __m256 = _mm256_cmp_ps(a, b, _CMP_LE_OQ);
        select(mask: __m256, yes: __m256, no: __m256) -> __m256 = _mm256_blendv_ps(no, yes, mask);
        any(mask: __m256) -> bool = _mm256_movemask_ps(mask) != 0;
        count(count: __m256i, mask: __m256) -> __m256i = _mm256_sub_epi32(count, _mm256_castps_si256(mask));
        bits(a: __m256) -> __m256i = _mm256_castps_si256(a);
        floats(a: __m256i) -> __m256 = _mm256_castsi256_ps(a);
        to_int(a: __m256) -> __m256i = _mm256_cvtps_epi32(a);
        from_int(a: __m256i) -> __m256 = _mm256_cvtepi32_ps(a);
        splat_u(value: u32) -> __m256i = _mm256_set1_epi32(value as i32);
        load_u(from: *const u32) -> __m256i = _mm256_loadu_si256(from.cast());
        store_u(to: *mut u32, value: __m256i) = _mm256_storeu_si256(to.cast(), value);
        stream(to: *mut u32, value: __m256i) = _mm256_stream_si256(to.cast(), value);
        spaced(from: *const u32, stride: i32) -> __m256i = {
            let lanes = _mm256_set_epi32(7, 6, 5, 4, 3, 2, 1, 0);
            _mm256_i32gather_epi32::<4>(from.cast(), _mm256_mullo_epi32(lanes, _mm256_set1_epi32(stride)))
        };
        add_u(a: __m256i, b: __m256i) -> __m256i = _mm256_add_epi32(a, b);
        sub_u(a: __m256i, b: __m256i) -> __m256i = _mm256_sub_epi32(a, b);
        mul_u(a: __m256i, b: __m256i) -> __m256i = _mm256_mullo_epi32(a, b);
        and(a: __m256i, b: __m256i) -> __m256i = _mm256_and_si256(a, b);
        xor(a: __m256i, b: __m256i) -> __m256i = _mm256_xor_si256(a, b);
        choose(a: __m256i, b: __m256i, c: __m256i) -> __m256i =
            _mm256_xor_si256(c, _mm256_and_si256(a, _mm256_xor_si256(b, c)));
        majority(a: __m256i, b: __m256i, c: __m256i) -> __m256i =
            _mm256_or_si256(_mm256_and_si256(a, b), _mm256_and_si256(c, _mm256_or_si256(a, b)));
        xor3(a: __m256i, b: __m256i, c: __m256i) -> __m256i = _mm256_xor_si256(a, _mm256_xor_si256(b, c));
    }

    #[inline(always)]
    unsafe fn right<const N: u32>(a: __m256i) -> __m256i {
        // SAFETY: the trait's.
        unsafe { _mm256_srl_epi32(a, _mm_cvtsi32_si128(N as i32)) }
    }

    #[inline(always)]
    unsafe fn left<const N: u32>(a: __m256i) -> __m256i {
        // SAFETY: the trait's.
        unsafe { _mm256_sll_epi32(a, _mm_cvtsi32_si128(N as i32)) }
    }

    #[inline(always)]
    unsafe fn rotate_right<const N: u32, const REST: u32>(a: __m256i) -> __m256i {
        // SAFETY: the trait's.
        unsafe { _mm256_or_si256(Self::right::<N>(a), Self::left::<REST>(a)) }
    }
}

fn avx512() -> bool {
    static HAS: OnceLock<bool> = OnceLock::new();
    *HAS.get_or_init(|| is_x86_feature_detected!("avx512f"))
}

/// Whether the processor has any of the two.
pub fn supported() -> bool {
    avx512() || (is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma"))
}

/// What is used.
pub fn name() -> &'static str {
    if avx512() { "AVX-512" } else { "AVX2" }
}

/// A loop that is written once for both.
pub trait Work {
    /// # Safety
    /// The processor has `S`.
    unsafe fn run<S: Simd>(self);
}

#[target_feature(enable = "avx512f")]
unsafe fn with_avx512(work: impl Work) {
    // SAFETY: the caller's promise.
    unsafe { work.run::<Avx512>() }
}

#[target_feature(enable = "avx2,fma")]
unsafe fn with_avx2(work: impl Work) {
    // SAFETY: the caller's promise.
    unsafe { work.run::<Avx2>() }
}

/// Runs a loop with the best vectors. The processor is `supported`.
pub fn run(work: impl Work) {
    // SAFETY: the processor was asked.
    unsafe { if avx512() { with_avx512(work) } else { with_avx2(work) } }
}

/// Memory of each kind: where it begins, and how many chunks.
type Pieces = [(*mut u8, usize); 3];

/// Reads the first, changes the second, writes the third, a block of each in turn.
///
/// # Safety
/// The memory is there, and nobody else uses what is written.
pub unsafe fn traffic(pieces: Pieces, stream: bool) {
    struct Traffic(Pieces, bool);

    impl Work for Traffic {
        #[inline(always)]
        unsafe fn run<S: Simd>(self) {
            const BLOCK: usize = 256;
            let Traffic(pieces, stream) = self;
            let steps = CHUNK / 4 / S::LANES;
            let blocks = pieces.iter().map(|piece| piece.1.div_ceil(BLOCK)).max().unwrap_or(0);
            let part = |number: usize, block: usize| {
                let (memory, len) = pieces[number];
                let [first, end] = [block, block + 1].map(|block| len * block / blocks * 16);
                (memory.cast::<u32>(), first..end)
            };
            // SAFETY: within the pieces.
            unsafe {
                let one = S::splat_u(1);
                let mut sums = [one; 4];
                for block in 0..blocks {
                    let (memory, range) = part(0, block);
                    let mut at = range.start;
                    while at + 4 * S::LANES <= range.end {
                        for (k, sum) in sums.iter_mut().enumerate() {
                            *sum = S::xor(*sum, S::load_u(memory.add(at + k * S::LANES)));
                        }
                        at += 4 * S::LANES;
                    }
                    let (memory, range) = part(1, block);
                    for chunk in range.step_by(16) {
                        for step in 0..steps {
                            let at = memory.add(chunk + step * S::LANES);
                            S::store_u(at, S::add_u(S::load_u(at), one));
                        }
                    }
                    let (memory, range) = part(2, block);
                    for chunk in range.step_by(16) {
                        for step in 0..steps {
                            let at = memory.add(chunk + step * S::LANES);
                            if stream { S::stream(at, one) } else { S::store_u(at, one) }
                        }
                    }
                }
                let sum = S::xor(S::xor(sums[0], sums[1]), S::xor(sums[2], sums[3]));
                let mut look = [0u32; 16];
                S::store_u(look.as_mut_ptr(), sum);
                std::hint::black_box(look);
                _mm_sfence();
            }
        }
    }

    run(Traffic(pieces, stream));
}

/// That many multiplications with additions, shared by the lanes and by chains that hide their latency. Whether what comes out is
/// something that it never is.
pub fn multiplications(count: u64, double: bool) -> bool {
    // SAFETY: the processor was asked.
    unsafe {
        match (avx512(), double) {
            (true, false) => chains_512(count / 16),
            (true, true) => chains_512_double(count / 8),
            (false, false) => chains_256(count / 8),
            (false, true) => chains_256_double(count / 4),
        }
    }
}

/// Chains at a time: more than latency times units, and less than registers.
const CHAINS: usize = 12;

macro_rules! chains {
    ($name:ident, $features:literal, $splat:ident, $fma:ident, $first:ident) => {
        #[target_feature(enable = $features)]
        unsafe fn $name(count: u64) -> bool {
            let factor = std::hint::black_box($splat(0.999));
            let mut chains = [std::hint::black_box($splat(1.0)); CHAINS];
            for _ in 0..count / CHAINS as u64 {
                for chain in &mut chains {
                    *chain = $fma(*chain, factor, factor);
                }
            }
            chains.iter().any(|chain| $first(*chain) < 0.0)
        }
    };
}
chains!(chains_512, "avx512f", _mm512_set1_ps, _mm512_fmadd_ps, _mm512_cvtss_f32);
chains!(chains_512_double, "avx512f", _mm512_set1_pd, _mm512_fmadd_pd, _mm512_cvtsd_f64);
chains!(chains_256, "avx2,fma", _mm256_set1_ps, _mm256_fmadd_ps, _mm256_cvtss_f32);
chains!(chains_256_double, "avx2,fma", _mm256_set1_pd, _mm256_fmadd_pd, _mm256_cvtsd_f64);
