//! The curve of sRGB (IEC 61966-2-1), for 8-bit channels: by tables, which are exact.

use super::super::builder::{RealPred, Value};
use super::emit::Emitter;
use crate::analysis::leaves::Scalar;

/// The linear value of a channel value in [0, 1].
pub(super) fn to_linear(channel: f64) -> f64 {
    if channel <= 0.04045 { channel / 12.92 } else { ((channel + 0.055) / 1.055).powf(2.4) }
}

fn table(em: &Emitter<'_>, name: &str, of: impl Fn(u32) -> f64) -> Value {
    let bytes: Vec<u8> = (0..256).flat_map(|at| (of(at) as f32).to_le_bytes()).collect();
    em.b.shared_data(name, &bytes, 64)
}

fn look_up(em: &Emitter<'_>, table: Value, at: Value) -> Value {
    let addresses = em.b.gep(table, em.b.zext_or_trunc(at, Scalar::I64), Scalar::F32);
    super::fetch::each(em, Scalar::F32, addresses)
}

/// The linear values of 8-bit channels.
pub(super) fn decode(em: &Emitter<'_>, channel: Value) -> Value {
    let table = table(em, "ze_cpu_srgb_to_linear", |at| to_linear(f64::from(at) / 255.0));
    // Fields of other widths never come here, but indices shall be of the table whatever a descriptor says.
    look_up(em, table, em.b.and(channel, em.int(255)))
}

/// The 8-bit channels of linear values: the nearest on the curve, found by halving where each begins.
pub(super) fn encode(em: &Emitter<'_>, x: Value) -> Value {
    let b = em.b;
    let table = table(em, "ze_cpu_srgb_from_linear", |at| {
        if at == 0 { f64::NEG_INFINITY } else { to_linear((f64::from(at) - 0.5) / 255.0) }
    });
    let mut at = em.int(0);
    for step in (0..8).rev().map(|bit| 1 << bit) {
        let next = b.add(at, em.int(step));
        let reached = b.fcmp(RealPred::LLVMRealOGE, x, look_up(em, table, next));
        at = b.select(reached, next, at);
    }
    at
}
