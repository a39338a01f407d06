//! From the words of texels to colours (OpenCL SPIR-V Env 3.0 §7.4), all lanes at once.
//!
//! Where each component lies is in the descriptor (`image::descriptor::Decode`), so that one piece of code serves all layouts
//! and swizzles of a kind: shift, mask, convert. Quotients of normalized fields are exact.

use super::super::builder::{Opcode, RealPred, Value};
use super::emit::Emitter;
use crate::analysis::leaves::Scalar;
use crate::image::descriptor::{Decode, FieldKind, field};
use std::mem::offset_of;

/// The 32-bit words of texels; only as many as a texel has.
pub(super) type Words = Vec<Value>;

/// The parameters of one component.
struct Component<'e, 'b> {
    em: &'e Emitter<'b>,
    base: Value,
}

impl<'e, 'b> Component<'e, 'b> {
    fn of(em: &'e Emitter<'b>, descriptor: Value, at: usize) -> Self {
        Component { em, base: em.b.offset_const(descriptor, field::DECODE + at as u64 * field::DECODE_BYTES) }
    }

    /// A word of the parameters, in all lanes.
    fn word(&self, at: usize) -> Value {
        self.em.all(self.em.word(self.base, at as u64))
    }

    fn float(&self, at: usize) -> Value {
        self.em.all(self.em.field(Scalar::F32, self.base, at as u64))
    }

    /// The field's bits.
    fn field(&self, words: &Words) -> Value {
        let b = self.em.b;
        let mut word = words[0];
        if words.len() > 1 {
            let which = self.em.word(self.base, offset_of!(Decode, word) as u64);
            for (at, other) in words.iter().enumerate().skip(1) {
                word = b.select(self.em.equal(which, b.i32(at as u32)), *other, word);
            }
        }
        b.and(b.lshr(word, self.word(offset_of!(Decode, shift))), self.word(offset_of!(Decode, mask)))
    }

    /// The field with its sign.
    fn signed(&self, words: &Words) -> Value {
        let (b, sign) = (self.em.b, self.word(offset_of!(Decode, sign)));
        b.sub(b.xor(self.field(words), sign), sign)
    }

    /// The quotient by the greatest value, or the constant of a component without a field.
    fn quotient(&self, field: Value) -> Value {
        self.quotient_and(field, self.float(offset_of!(Decode, constant_float)))
    }

    /// The quotient by the greatest value, plus a constant.
    fn quotient_and(&self, field: Value, constant: Value) -> Value {
        if self.em.fma {
            let low = self.em.fma(field, self.float(offset_of!(Decode, scale_low)), constant);
            return self.em.fma(field, self.float(offset_of!(Decode, scale)), low);
        }
        self.em.fadd(self.em.fdiv(field, self.float(offset_of!(Decode, greatest))), constant)
    }

    /// The bits of 0 or 1 where there is no field, to be combined with a field that is 0 then.
    fn constant_bits(&self) -> Value {
        self.em.bits_of(self.float(offset_of!(Decode, constant_float)))
    }

    fn half(&self, words: &Words, up: bool) -> Value {
        let (em, b) = (self.em, self.em.b);
        let mut field = self.field(words);
        if up {
            field = b.shl(field, self.word(offset_of!(Decode, up)));
        }
        em.float_of(b.or(em.bits_of(em.half_to_float(field)), self.constant_bits()))
    }

    fn value(&self, words: &Words, kind: FieldKind) -> Value {
        let (em, b) = (self.em, self.em.b);
        let not_below_one = |x: Value| {
            let least = em.float(-1.0);
            b.select(b.fcmp(RealPred::LLVMRealOLT, x, least), least, x)
        };
        match kind {
            FieldKind::Uint | FieldKind::Sint => {
                let constant = self.word(offset_of!(Decode, constant));
                let field = if kind == FieldKind::Uint { self.field(words) } else { self.signed(words) };
                b.or(field, constant)
            }
            // Fields of up to 16 bits have no sign as 32-bit integers, whose conversion is one instruction.
            FieldKind::Unorm | FieldKind::Rgba8 => self.quotient(em.converted(self.field(words))),
            FieldKind::Snorm => not_below_one(self.quotient(em.converted(self.signed(words)))),
            FieldKind::WideUnorm => self.quotient(b.cast(Opcode::LLVMUIToFP, self.field(words), Scalar::F32)),
            FieldKind::WideSnorm => not_below_one(self.quotient(em.converted(self.signed(words)))),
            FieldKind::Float => em.float_of(b.or(self.field(words), self.constant_bits())),
            FieldKind::Half => self.half(words, false),
            FieldKind::SmallFloat => self.half(words, true),
            FieldKind::Srgb => {
                let field = self.field(words);
                let linear = self.quotient(em.converted(field));
                let curved = super::srgb::decode(em, field);
                let is_linear = em.equal(self.word(offset_of!(Decode, linear)), em.int(1));
                b.select(is_linear, linear, curved)
            }
        }
    }
}

/// The bytes of texels as floats.
fn bytes(em: &Emitter<'_>, word: Value, components: usize) -> Vec<Value> {
    let of = |at: usize| {
        let above = if at == 0 { word } else { em.b.lshr(word, em.int(8 * at as u32)) };
        em.converted(if at == 3 { above } else { em.b.and(above, em.int(255)) })
    };
    (0..components).map(of).collect()
}

/// The nearest float to a byte's part of 255.
fn part_of_255(em: &Emitter<'_>, byte: Value) -> Value {
    if !em.fma {
        return em.fdiv(byte, em.float(255.0));
    }
    let scale = (1.0 / 255.0) as f32;
    let rest = (1.0 / 255.0 - f64::from(scale)) as f32;
    em.fma(byte, em.float(scale), em.fmul(byte, em.float(rest)))
}

/// Colours of normalized formats without sign before the division: the fields of components as floats.
pub(super) struct Undivided<'e, 'b> {
    pub em: &'e Emitter<'b>,
    pub descriptor: Value,
    pub kind: FieldKind,
    /// Colours of other components than the texels' are among them, so that components without a field, whose constant
    /// is else added at the end, have theirs from the beginning.
    pub mixed: bool,
}

impl Undivided<'_, '_> {
    fn component(&self, at: usize) -> Component<'_, '_> {
        Component::of(self.em, self.descriptor, at)
    }

    pub fn of(&self, words: &Words, components: usize) -> Vec<Value> {
        if self.kind == FieldKind::Rgba8 {
            return bytes(self.em, words[0], components);
        }
        let of = |at: usize| {
            let component = self.component(at);
            let field = component.field(words);
            let whole = match self.mixed {
                true => self.em.b.or(field, component.word(offset_of!(Decode, constant))),
                false => field,
            };
            self.em.converted(whole)
        };
        (0..components).map(of).collect()
    }

    /// What texels of a colour would have.
    pub fn of_color(&self, color: &[Value]) -> Vec<Value> {
        if self.kind == FieldKind::Rgba8 {
            return color.iter().map(|value| self.em.fmul(*value, self.em.float(255.0))).collect();
        }
        let of = |(at, value): (usize, &Value)| {
            self.em.fmul(*value, self.component(at).float(offset_of!(Decode, greatest)))
        };
        color.iter().enumerate().map(of).collect()
    }

    /// Divides them, or a weighted sum of them.
    pub fn divided(&self, fields: &[Value]) -> Vec<Value> {
        if self.kind == FieldKind::Rgba8 {
            return fields.iter().map(|field| part_of_255(self.em, *field)).collect();
        }
        let of = |(at, field): (usize, &Value)| match self.mixed {
            true => self.component(at).quotient_and(*field, self.em.float(0.0)),
            false => self.component(at).quotient(*field),
        };
        fields.iter().enumerate().map(of).collect()
    }
}

/// Components of texels of a kind; the result is floats or integers as the kind is. `plain`: texels of 128 bits whose
/// components are words in their places, of 64 bits whose components are halves in theirs, or of 32 with bytes.
pub(super) fn decode(
    em: &Emitter<'_>,
    descriptor: Value,
    words: &Words,
    kind: FieldKind,
    components: usize,
    plain: bool,
) -> Vec<Value> {
    if plain && kind == FieldKind::Rgba8 {
        return bytes(em, words[0], components).into_iter().map(|byte| part_of_255(em, byte)).collect();
    }
    if plain && kind == FieldKind::Half && words.len() == 2 {
        let half = |at: usize| match at % 2 {
            0 => words[at / 2],
            _ => em.b.lshr(words[at / 2], em.int(16)),
        };
        return (0..components).map(|at| em.half_to_float(half(at))).collect();
    }
    if plain && words.len() == 4 {
        let of = |word: &Value| if kind == FieldKind::Float { em.float_of(*word) } else { *word };
        return words[..components].iter().map(of).collect();
    }
    let of = |at: usize| Component::of(em, descriptor, at).value(words, kind);
    (0..components).map(of).collect()
}
