//! The linear filter: two, four or eight texels (OpenCL SPIR-V Env 3.0 §7.2.1.2).
//!
//! Images that are scaled have lanes that read the same rows, a few texels apart. Their texels are then two vectors of a row
//! and a permutation of them, instead of one access a lane. Normalized fields are filtered as the integers that they are, and
//! the sum is divided once.

use super::super::builder::{IntPred, Value};
use super::address::{self, Pair, Sampling};
use super::decode::{Undivided, Words, decode};
use super::emit::Emitter;
use super::fetch::{self, Texel};
use super::surface::Surface;
use crate::analysis::leaves::Scalar;
use crate::image::descriptor::{FieldKind, class};

/// `low` × (1 − `weight`) + `high` × `weight`, exact where both are the same and at both ends.
pub(super) fn mix(em: &Emitter<'_>, low: Value, high: Value, weight: Value) -> Value {
    if em.fma {
        return em.fma(weight, high, em.fma(em.b.fneg(weight), low, low));
    }
    let rest = em.fsub(em.float(1.0), weight);
    em.fadd(em.fmul(low, rest), em.fmul(high, weight))
}

/// The texels of a filter in all directions; of corners, the bits of their number say which texel of each pair it has.
struct Corners {
    pairs: Vec<Pair>,
    layer: Option<Value>,
}

impl Corners {
    fn count(&self) -> usize {
        1 << self.pairs.len()
    }

    fn indices(&self, corner: usize) -> Vec<Value> {
        let of = |(axis, pair): (usize, &Pair)| if corner >> axis & 1 == 0 { pair.low } else { pair.high };
        self.pairs.iter().enumerate().map(of).chain(self.layer).collect()
    }

    /// Weighs the colours of all corners.
    fn filter(&self, em: &Emitter<'_>, mut colors: Vec<Vec<Value>>) -> Vec<Value> {
        for pair in &self.pairs {
            let join = |two: &[Vec<Value>]| {
                two[0].iter().zip(&two[1]).map(|(low, high)| mix(em, *low, *high, pair.weight)).collect()
            };
            colors = colors.chunks_exact(2).map(join).collect();
        }
        colors.swap_remove(0)
    }
}

/// The filtered colour of a level.
pub(super) fn linear(
    em: &Emitter<'_>,
    surface: &Surface,
    level: Value,
    at: &[Value],
    sampling: &Sampling,
) -> Vec<Value> {
    let dimensions = surface.form.dimensions;
    let pair = |axis: usize| address::pair(em, at[axis], surface.sizes[axis], sampling);
    let corners = Corners {
        pairs: (0..dimensions).map(pair).collect(),
        layer: surface.form.arrayed.then(|| address::layer(em, at[dimensions], surface.sizes[dimensions])),
    };
    let common = Texel::Float.common();
    let classes: Vec<u64> = common.iter().map(|(kind, bytes)| u64::from(class(*kind, *bytes))).collect();
    em.select_case(surface.class, &classes, |case| match case {
        Some(at) => common_format(em, surface, &corners, sampling, common[at]),
        None => {
            let color = |corner: usize| {
                fetch::any(em, surface, level, &corners.indices(corner), sampling, Texel::Float)
            };
            corners.filter(em, (0..corners.count()).map(color).collect())
        }
    })
}

/// The filtered colour of texels of a format that is known here, and of an image of less than 2 GiB.
fn common_format(
    em: &Emitter<'_>,
    surface: &Surface,
    corners: &Corners,
    sampling: &Sampling,
    (kind, bytes): (FieldKind, u32),
) -> Vec<Value> {
    let b = em.b;
    let bounded: Vec<(Vec<Value>, Value)> =
        (0..corners.count()).map(|corner| fetch::bounded(em, surface, &corners.indices(corner))).collect();
    let places: Vec<&Vec<Value>> = bounded.iter().map(|(indices, _)| indices).collect();
    let each = || -> Vec<Words> {
        places.iter().map(|place| fetch::own_words(em, surface.near(em, place, bytes), bytes)).collect()
    };
    let window = if bytes == 4 { window(em, surface, &places) } else { None };
    let words = match window {
        None => each(),
        Some(window) => {
            let from_window = || places.iter().map(|place| window.texels(em, surface, place)).collect();
            let one_word = || each().into_iter().map(|words| words[0]).collect();
            let all = em.choose_all(window.is_one, from_window, one_word);
            all.into_iter().map(|word| vec![word]).collect()
        }
    };
    let components = surface.form.components();
    // Only clamping leads outside.
    let stays = b.or(sampling.to_edge, b.or(sampling.repeat, sampling.mirrored));
    let stays = b.constant_int(stays).is_some_and(|stays| stays != 0);
    // The same arithmetic for all samplers, also those whose addressing is known here.
    let undivided = matches!(kind, FieldKind::Unorm | FieldKind::Rgba8).then_some(Undivided {
        em,
        descriptor: surface.descriptor,
        kind,
        mixed: !stays,
    });
    let outside = (!stays).then(|| {
        let color = fetch::border(em, surface, sampling.border, Texel::Float);
        match &undivided {
            Some(undivided) => undivided.of_color(&color),
            None => color,
        }
    });
    let color = |(words, (_, inside)): (&Words, &(Vec<Value>, Value))| {
        let color = match &undivided {
            Some(undivided) => undivided.of(words, components),
            None => decode(em, surface.descriptor, words, kind, components, true),
        };
        match &outside {
            Some(outside) => fetch::inside_or(em, *inside, color, outside),
            None => color,
        }
    };
    let sum = corners.filter(em, words.iter().zip(&bounded).map(color).collect());
    match undivided {
        Some(undivided) => undivided.divided(&sum),
        None => sum,
    }
}

/// Texels of all lanes that are in rows that the lanes share, and in a window of twice as many texels as there are lanes.
struct Window {
    is_one: Value,
    /// The first column of the window.
    start: Value,
}

/// The window of some texels, if the CPU permutes two vectors by lane numbers.
fn window(em: &Emitter<'_>, surface: &Surface, places: &[&Vec<Value>]) -> Option<Window> {
    let b = em.b;
    em.permutation()?;
    // Lanes go one way: the first column is that of the first or last lane.
    let ends = |column: Value| {
        let last = b.extract(column, b.i32(em.lanes - 1));
        em.smin(em.first(column), last)
    };
    let columns = [places[0][0], places[1][0]];
    let start = em.smin(ends(columns[0]), ends(columns[1]));
    let room = b.sub(surface.sizes[0], b.i32(2 * em.lanes));
    let mut is_one = b.icmp(IntPred::LLVMIntSLE, start, room);
    let wide = em.int(2 * em.lanes);
    let near = columns.map(|column| em.below(b.sub(column, em.all(start)), wide));
    let mut every = b.and(near[0], near[1]);
    for place in places.iter().step_by(2) {
        for index in &place[1..] {
            every = b.and(every, em.equal(*index, em.all(em.first(*index))));
        }
    }
    is_one = b.and(is_one, em.every(every));
    Some(Window { is_one, start })
}

impl Window {
    /// The 32-bit texels of one corner.
    fn texels(&self, em: &Emitter<'_>, surface: &Surface, place: &[Value]) -> Value {
        let b = em.b;
        let rest: Vec<Value> = place[1..].iter().map(|index| em.first(*index)).collect();
        let row = surface.row(em, &rest);
        let start = surface.texel(em, row, self.start, b.i32(4));
        let low = b.load(Scalar::I32, em.lanes, start, 1);
        let high = b.load(Scalar::I32, em.lanes, b.offset_const(start, 4 * u64::from(em.lanes)), 1);
        let numbers = b.sub(place[0], em.all(self.start));
        let name = em.permutation().expect("a window is made where there is one");
        b.intrinsic_plain(name, &[low, numbers, high])
    }
}
