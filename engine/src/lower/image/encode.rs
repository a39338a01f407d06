//! From colours to the words of texels (OpenCL SPIR-V Env 3.0 §7.4), all lanes at once.
//!
//! As in `decode`, the descriptor says where each component goes; one that has no field has no bits.

use super::super::builder::{RealPred, Value};
use super::emit::Emitter;
use crate::analysis::leaves::Scalar;
use crate::image::descriptor::{Encode, FieldKind, field};
use std::mem::offset_of;

const HALF_INFINITY: u32 = 0x7c00;
const F32_EXPONENT: u32 = 0x7f80_0000;
const LAST_PLACE_IS_ONE: f32 = 1.5 * 8_388_608.0;

struct Component<'e, 'b> {
    em: &'e Emitter<'b>,
    base: Value,
}

impl Component<'_, '_> {
    fn word(&self, at: usize) -> Value {
        self.em.all(self.em.word(self.base, at as u64))
    }

    fn float(&self, at: usize) -> Value {
        self.em.all(self.em.field(Scalar::F32, self.base, at as u64))
    }

    /// A normalized field before it is rounded. What is no number is 0.
    fn normalized(&self, x: Value, kind: FieldKind) -> Value {
        let em = self.em;
        let most = self.float(offset_of!(Encode, scale));
        if matches!(kind, FieldKind::Snorm | FieldKind::WideSnorm) {
            let least = self.float(offset_of!(Encode, least_float));
            let number = em.b.select(em.b.fcmp(RealPred::LLVMRealORD, x, x), x, em.float(0.0));
            return em.clamp(em.fmul(number, most), least, most);
        }
        em.clamp(em.fmul(x, most), em.float(0.0), most)
    }

    /// The low bits of the nearest integer to a number of less than 22 bits: beside a number whose last place is 1, the bits of
    /// a float are those of the integer.
    fn rounded(&self, x: Value) -> Value {
        self.em.bits_of(self.em.fadd(x, self.em.float(LAST_PLACE_IS_ONE)))
    }

    /// A float without sign, of 10 or 11 bits.
    fn small_float(&self, x: Value) -> Value {
        let (em, b) = (self.em, self.em.b);
        let (zero, largest) = (em.float(0.0), self.float(offset_of!(Encode, largest)));
        let finite = em.clamp(x, zero, largest);
        // A number so large that its last place is that of the result: adding and subtracting it rounds.
        let exponent = b.and(em.bits_of(finite), em.int(F32_EXPONENT));
        let magic = b.add(exponent, self.word(offset_of!(Encode, round_exponent)));
        let least = self.word(offset_of!(Encode, round_least));
        let magic = em.float_of(em.smax(magic, least));
        let rounded = em.fsub(em.fadd(finite, magic), magic);
        let half = em.float_to_half(rounded);
        let infinite = b.fcmp(RealPred::LLVMRealOEQ, x, em.float(f32::INFINITY));
        let half = b.select(infinite, em.int(HALF_INFINITY), half);
        let bits = b.lshr(half, self.word(offset_of!(Encode, down)));
        let no_number = b.fcmp(RealPred::LLVMRealUNO, x, x);
        b.select(no_number, em.int(u32::MAX), bits)
    }

    /// The field of a component, in its place in its word.
    fn field(&self, x: Value, kind: FieldKind) -> Value {
        let (em, b) = (self.em, self.em.b);
        let bits = match kind {
            FieldKind::Uint => em.umin(x, self.word(offset_of!(Encode, most))),
            FieldKind::Sint => {
                let raised = em.smax(x, self.word(offset_of!(Encode, least)));
                em.smin(raised, self.word(offset_of!(Encode, most)))
            }
            FieldKind::Unorm | FieldKind::Snorm | FieldKind::Rgba8 => self.rounded(self.normalized(x, kind)),
            FieldKind::WideUnorm | FieldKind::WideSnorm => {
                let name = if kind == FieldKind::WideUnorm { "llvm.fptoui.sat" } else { "llvm.fptosi.sat" };
                let types = [(Scalar::I32, em.lanes), (Scalar::F32, em.lanes)];
                b.intrinsic_on(name, &types, &[em.rint(self.normalized(x, kind))])
            }
            FieldKind::Float => em.bits_of(x),
            FieldKind::Half => em.float_to_half(x),
            FieldKind::SmallFloat => self.small_float(x),
            FieldKind::Srgb => {
                let linear = self.rounded(self.normalized(x, kind));
                let is_linear = em.equal(self.word(offset_of!(Encode, linear)), em.int(1));
                b.select(is_linear, linear, super::srgb::encode(em, x))
            }
        };
        let masked = b.and(bits, self.word(offset_of!(Encode, mask)));
        b.shl(masked, self.word(offset_of!(Encode, shift)))
    }
}

/// Bytes of red, green, blue and alpha in their places.
fn bytes(em: &Emitter<'_>, color: &[Value]) -> Value {
    let b = em.b;
    let most = em.float(255.0);
    let of = |(at, x): (usize, &Value)| {
        let bounded = em.clamp(em.fmul(*x, most), em.float(0.0), most);
        // As `Component::rounded`.
        let bits = em.bits_of(em.fadd(bounded, em.float(LAST_PLACE_IS_ONE)));
        match at {
            3 => b.shl(bits, em.int(24)),
            _ => b.shl(b.and(bits, em.int(255)), em.int(8 * at as u32)),
        }
    };
    let parts: Vec<Value> = color.iter().enumerate().map(of).collect();
    b.or(b.or(parts[0], parts[1]), b.or(parts[2], parts[3]))
}

/// The words of texels of a kind, as many as are asked for, from their colours. `plain` as for `decode`.
pub(super) fn encode(
    em: &Emitter<'_>,
    descriptor: Value,
    color: &[Value],
    kind: FieldKind,
    count: usize,
    plain: bool,
) -> Vec<Value> {
    let b = em.b;
    if plain && kind == FieldKind::Rgba8 && color.len() == 4 {
        return vec![bytes(em, color)];
    }
    if plain && kind == FieldKind::Half && color.len() == 4 {
        let two = |pair: &[Value]| {
            let high = b.shl(em.float_to_half(pair[1]), em.int(16));
            b.or(em.float_to_half(pair[0]), high)
        };
        return color.chunks_exact(2).map(two).collect();
    }
    if plain && count == 4 && color.len() == 4 {
        return color.iter().map(|x| if kind == FieldKind::Float { em.bits_of(*x) } else { *x }).collect();
    }
    let mut words = vec![b.zero(Scalar::I32, em.lanes); count];
    for (at, x) in color.iter().enumerate() {
        let base = b.offset_const(descriptor, field::ENCODE + at as u64 * field::ENCODE_BYTES);
        let component = Component { em, base };
        let bits = component.field(*x, kind);
        let which = em.word(base, offset_of!(Encode, word) as u64);
        for (number, word) in words.iter_mut().enumerate() {
            let own = match count {
                1 => bits,
                _ => {
                    let here = em.equal(which, b.i32(number as u32));
                    b.select(here, bits, b.zero(Scalar::I32, em.lanes))
                }
            };
            *word = b.or(*word, own);
        }
    }
    words
}

/// Whether conversion of a kind takes integers.
pub(super) fn takes_integers(kind: FieldKind) -> bool {
    matches!(kind, FieldKind::Uint | FieldKind::Sint)
}
