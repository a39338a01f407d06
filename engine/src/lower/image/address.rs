//! From coordinates to texels: samplers, addressing modes, layers (OpenCL SPIR-V Env 3.0 §7.2; OpenCL C 2.0 §6.13.14).
//!
//! Indices may lie beside the image, never far: floats are clamped before they are converted, so that no coordinate, also
//! none that is infinite or no number, is more than two texels outside. Fetching bounds them, see `fetch`.

use super::super::builder::{IntPred, Value};
use super::emit::Emitter;
use crate::analysis::leaves::Scalar;
use crate::image::sampler::bits;
use crate::image::{Addressing, Border};

/// A sampler in parts, all scalars.
#[derive(Clone, Copy)]
pub(super) struct Sampling {
    pub to_edge: Value,
    pub repeat: Value,
    pub mirrored: Value,
    pub normalized: Value,
    pub linear: Value,
    pub mip_linear: Value,
    /// A number of [`Border`].
    pub border: Value,
}

impl Sampling {
    /// The parts of a packed sampler; of a literal one they are constants.
    pub fn of(em: &Emitter<'_>, sampler: Value) -> Sampling {
        let b = em.b;
        let word = b.zext_or_trunc(sampler, Scalar::I32);
        let part = |at: u64, mask: u32| b.and(b.lshr(word, b.i32(at as u32)), b.i32(mask));
        let addressing = part(bits::ADDRESSING, 7);
        let is = |mode: Addressing| em.equal(addressing, b.i32(mode as u32));
        let flag = |at: u64| em.equal(part(at, 1), b.i32(1));
        Sampling {
            to_edge: is(Addressing::ClampToEdge),
            repeat: is(Addressing::Repeat),
            mirrored: is(Addressing::MirroredRepeat),
            normalized: flag(bits::NORMALIZED),
            linear: flag(bits::LINEAR),
            mip_linear: flag(bits::MIP_LINEAR),
            border: part(bits::BORDER, 3),
        }
    }

    /// What reads without a sampler do: nothing is outside of the image but zeros.
    pub fn none(em: &Emitter<'_>) -> Sampling {
        let sampler = crate::image::Sampler { border: Border::TransparentBlack, ..Default::default() };
        Self::of(em, em.b.i64(sampler.bits()))
    }
}

/// The two texels of a linear filter in one direction, and how much of the second one counts.
pub(super) struct Pair {
    pub low: Value,
    pub high: Value,
    pub weight: Value,
}

/// A size as a float in all lanes.
fn float_size(em: &Emitter<'_>, size: Value) -> Value {
    em.all(em.with_lanes(1).converted(size))
}

/// The coordinate in texels, for each family of addressing modes.
fn unnormalized(em: &Emitter<'_>, at: Value, size: Value, sampling: &Sampling) -> Value {
    let n = float_size(em, size);
    // Unnormalized coordinates have no meaning where images repeat; a multiple of the size is the least surprising one.
    let fraction = || em.choose(sampling.normalized, || at, || em.fdiv(at, n));
    let texels = || em.choose(sampling.normalized, || em.fmul(at, n), || at);
    let repeat = || {
        let s = fraction();
        em.fmul(em.fsub(s, em.floor(s)), n)
    };
    let mirrored = || {
        let s = fraction();
        let even = em.fmul(em.float(2.0), em.rint(em.fmul(em.float(0.5), s)));
        em.fmul(em.abs(em.fsub(s, even)), n)
    };
    em.choose(sampling.repeat, repeat, || em.choose(sampling.mirrored, mirrored, texels))
}

/// The nearest texel in one direction.
pub(super) fn nearest(em: &Emitter<'_>, at: Value, size: Value, sampling: &Sampling) -> Value {
    let b = em.b;
    let u = unnormalized(em, at, size, sampling);
    let least = em.float(-1.0);
    let index = em.truncated(em.clamp(em.floor(u), least, float_size(em, size)));
    let (size, one) = (em.all(size), em.int(1));
    let last = b.sub(size, one);
    let zero = em.int(0);
    // A fraction may round up to 1, which is 0 again.
    let repeat = || b.select(b.icmp(IntPred::LLVMIntSGT, index, last), zero, em.smax(index, zero));
    let edge = || em.smax(em.smin(index, last), zero);
    em.choose(sampling.repeat, repeat, || {
        em.choose(b.or(sampling.mirrored, sampling.to_edge), edge, || index)
    })
}

/// The texels of a linear filter in one direction.
pub(super) fn pair(em: &Emitter<'_>, at: Value, size: Value, sampling: &Sampling) -> Pair {
    let b = em.b;
    let u = em.fsub(unnormalized(em, at, size, sampling), em.float(0.5));
    // Two texels outside, both are the border's.
    let u = em.clamp(u, em.float(-2.0), em.fadd(float_size(em, size), em.float(1.0)));
    let whole = em.floor(u);
    let weight = em.fsub(u, whole);
    let low = em.truncated(whole);
    let (size, one, zero) = (em.all(size), em.int(1), em.int(0));
    let (high, last) = (b.add(low, one), b.sub(size, one));
    let repeat = || {
        let wrapped = b.select(b.icmp(IntPred::LLVMIntSLT, low, zero), last, low);
        let wrapped_high = b.select(b.icmp(IntPred::LLVMIntSGT, high, last), zero, high);
        vec![wrapped, wrapped_high]
    };
    let bound = |index: Value| em.smax(em.smin(index, last), zero);
    let edge = || vec![bound(low), bound(high)];
    let indices = em.choose_all(sampling.repeat, repeat, || {
        em.choose_all(b.or(sampling.mirrored, sampling.to_edge), edge, || vec![low, high])
    });
    Pair { low: indices[0], high: indices[1], weight }
}

/// A texel named by an integer: samplers with integer coordinates only clamp.
pub(super) fn exact(em: &Emitter<'_>, at: Value, size: Value, sampling: &Sampling) -> Value {
    let b = em.b;
    let em = em.with_lanes(b.lanes(at));
    let last = em.all(b.sub(size, b.i32(1)));
    b.select(sampling.to_edge, em.smax(em.smin(at, last), em.int(0)), at)
}

/// The layer of an array, which is clamped whatever the addressing mode is.
pub(super) fn layer(em: &Emitter<'_>, at: Value, layers: Value) -> Value {
    let b = em.b;
    let em = em.with_lanes(b.lanes(at));
    let last = b.sub(layers, b.i32(1));
    let index = if b.scalar_of(at).is_float() {
        em.truncated(em.clamp(em.rint(at), em.float(0.0), float_size(&em, last)))
    } else {
        at
    };
    em.smax(em.smin(index, em.all(last)), em.int(0))
}
