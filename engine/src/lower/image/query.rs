//! What images say of themselves (SPIR-V 1.2 §3.32.10): sizes, levels, samples, format and order.

use super::super::builder::Value;
use super::emit::Emitter;
use super::surface::{ImageForm, Surface};
use crate::analysis::leaves::Scalar;
use crate::image::descriptor::field;
use spirv::Op;

/// The size of an image at a level of detail, in each direction, and its layers. A level that it does not have is the last.
pub(super) fn size(
    em: &Emitter<'_>,
    descriptor: Value,
    form: ImageForm,
    level: Option<Value>,
    to: Scalar,
) -> Vec<Value> {
    let b = em.b;
    let level = level.map(|level| {
        let last = b.sub(em.word(descriptor, field::LEVEL_COUNT), b.i32(1));
        em.umin(b.zext_or_trunc(level, Scalar::I32), last)
    });
    let surface = Surface::level(em, descriptor, form, level);
    surface.sizes.iter().map(|size| b.zext_or_trunc(*size, to)).collect()
}

/// The word that a query asks for.
pub(super) fn word(em: &Emitter<'_>, descriptor: Value, op: Op) -> Option<Value> {
    let at = match op {
        Op::ImageQueryLevels => field::LEVEL_COUNT,
        Op::ImageQuerySamples => field::SAMPLES,
        Op::ImageQueryFormat => field::QUERY_TYPE,
        Op::ImageQueryOrder => field::QUERY_ORDER,
        _ => return None,
    };
    Some(em.word(descriptor, at))
}
