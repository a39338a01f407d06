//! Texels by their indices: one vector load where lanes follow each other in a row, else one access a lane.
//!
//! A row of lanes that is inside of the image as a whole is found by a comparison with the first lane. Formats that are common
//! are decoded in place; everything else is one function of the program, for all formats, in which lanes outside of the
//! image read the texel next to them and get the border's colour.

use super::super::builder::{Function, Inline, IntPred, Value};
use super::address::Sampling;
use super::decode::{Words, decode};
use super::emit::Emitter;
use super::surface::{ImageForm, Surface};
use crate::analysis::leaves::Scalar;
use crate::image::Border;
use crate::image::descriptor::{FieldKind, class, field};

/// The type of a texel's components, and of what is computed with them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Texel {
    Float,
    Int,
}

impl Texel {
    pub fn scalar(self) -> Scalar {
        if self == Texel::Float { Scalar::F32 } else { Scalar::I32 }
    }

    pub fn kinds(self) -> impl Iterator<Item = FieldKind> {
        FieldKind::ALL
            .into_iter()
            .filter(move |kind| super::encode::takes_integers(*kind) == (self == Texel::Int))
    }

    /// The formats whose code stands in every place that reads or writes images: kind, and bytes of a texel.
    pub fn common(self) -> &'static [(FieldKind, u32)] {
        match self {
            Texel::Float => &[
                (FieldKind::Rgba8, 4),
                (FieldKind::Unorm, 4),
                (FieldKind::Float, 16),
                (FieldKind::Float, 4),
                (FieldKind::Unorm, 1),
                (FieldKind::Half, 8),
            ],
            Texel::Int => {
                &[(FieldKind::Uint, 4), (FieldKind::Uint, 16), (FieldKind::Uint, 1), (FieldKind::Sint, 4)]
            }
        }
    }

    pub fn name(self) -> &'static str {
        if self == Texel::Float { "f" } else { "i" }
    }

    /// A value for lanes that read nothing.
    fn zero(self, em: &Emitter<'_>) -> Value {
        em.b.zero(self.scalar(), em.lanes)
    }
}

/// Sizes that texels have, in bytes.
pub(super) const TEXEL_BYTES: [u64; 8] = [1, 2, 3, 4, 6, 8, 12, 16];

/// Lanes that follow each other in a row of the image, all of them inside.
pub(super) struct Row {
    /// Whether they do.
    pub is_one: Value,
    /// The index of the first lane, and the other indices.
    first: Value,
    rest: Vec<Value>,
}

impl Row {
    /// Compares the lanes' indices. `first` is that of the first lane where each lane is known to be one further.
    pub fn of(
        em: &Emitter<'_>,
        surface: &Surface,
        indices: &[Value],
        first: Option<Value>,
        mask: Option<Value>,
    ) -> Option<Row> {
        let b = em.b;
        if em.lanes == 1 || b.lanes(indices[0]) == 1 {
            return None;
        }
        // Lanes that are off have any index.
        let every = |same: Value| em.every(mask.map_or(same, |mask| b.or(same, b.not(mask))));
        let (x, width) = (first.unwrap_or_else(|| em.first(indices[0])), surface.sizes[0]);
        let room = b.sub(width, b.i32(em.lanes));
        let from = b.icmp(IntPred::LLVMIntSGE, x, b.i32(0));
        let mut is_one = b.and(from, b.icmp(IntPred::LLVMIntSLE, x, room));
        if first.is_none() {
            let expected = b.add(em.all(x), em.lane_numbers());
            is_one = b.and(is_one, every(em.equal(indices[0], expected)));
        }
        let mut rest = Vec::new();
        for (index, size) in indices[1..].iter().zip(&surface.sizes[1..]) {
            let own = em.first(*index);
            is_one = b.and(is_one, em.below(own, *size));
            if b.lanes(*index) > 1 {
                is_one = b.and(is_one, every(em.equal(*index, em.all(own))));
            }
            rest.push(own);
        }
        Some(Row { is_one, first: x, rest })
    }

    /// The address of the first lane's texel.
    pub fn address(&self, em: &Emitter<'_>, surface: &Surface, bytes: u32) -> Value {
        let row = surface.row(em, &self.rest);
        surface.texel(em, row, self.first, em.b.i32(bytes))
    }
}

/// The words of texels that lie side by side.
fn row_words(em: &Emitter<'_>, address: Value, bytes: u32) -> Words {
    let (b, lanes) = (em.b, em.lanes);
    let narrow = |scalar: Scalar| b.zext_or_trunc(b.load(scalar, lanes, address, 1), Scalar::I32);
    match bytes {
        1 => vec![narrow(Scalar::I8)],
        2 => vec![narrow(Scalar::I16)],
        _ => {
            let count = (bytes / 4).max(1) as usize;
            let all = b.load(Scalar::I32, lanes * count as u32, address, 1);
            b.deinterleave(all, count)
        }
    }
}

/// One element from each address; all of them can be read.
pub(super) fn each(em: &Emitter<'_>, scalar: Scalar, addresses: Value) -> Value {
    let b = em.b;
    match b.lanes(addresses) {
        1 => b.load(scalar, 1, addresses, 1),
        _ => b.gather(scalar, addresses, 1, em.yes()),
    }
}

/// The words of texels of a size, each at its own address.
pub(super) fn own_words(em: &Emitter<'_>, addresses: Value, bytes: u32) -> Words {
    let b = em.b;
    let part = |scalar: Scalar, at: u64| {
        b.zext_or_trunc(each(em, scalar, b.offset_const(addresses, at)), Scalar::I32)
    };
    let joined = |low: Value, high: Value, bits: u32| b.or(low, b.shl(high, em.int(bits)));
    match bytes {
        1 => vec![part(Scalar::I8, 0)],
        2 => vec![part(Scalar::I16, 0)],
        3 => vec![joined(part(Scalar::I16, 0), part(Scalar::I8, 2), 16)],
        6 => vec![joined(part(Scalar::I16, 0), part(Scalar::I16, 2), 16), part(Scalar::I16, 4)],
        8 | 12 | 16 if em.lanes > 1 => {
            let count = (bytes / 4) as usize;
            b.deinterleave(side_by_side(em, addresses, count as u32), count)
        }
        _ => (0..bytes / 4).map(|word| part(Scalar::I32, u64::from(4 * word))).collect(),
    }
}

/// Loads so many words from each address and puts them one behind the other: a load a lane, which are fewer than the
/// gathers of each word have.
fn side_by_side(em: &Emitter<'_>, addresses: Value, words: u32) -> Value {
    let b = em.b;
    let load = |lane: u32| {
        let at = b.extract(addresses, b.i32(lane));
        b.load(Scalar::I32, words, at, 1)
    };
    b.concat((0..em.lanes).map(load).collect())
}

/// Indices bounded to the image, and the lanes whose texel is inside.
pub(super) fn bounded(em: &Emitter<'_>, surface: &Surface, indices: &[Value]) -> (Vec<Value>, Value) {
    let b = em.b;
    let mut inside = em.yes();
    let bound = |(index, size): (&Value, &Value)| {
        let index = em.all(*index);
        inside = b.and(inside, em.below(index, em.all(*size)));
        let last = b.sub(em.all(*size), em.int(1));
        em.smax(em.smin(index, last), em.int(0))
    };
    (indices.iter().zip(&surface.sizes).map(bound).collect(), inside)
}

/// The addresses of texels, of bounded indices.
pub(super) fn addresses(em: &Emitter<'_>, surface: &Surface, indices: &[Value], bytes: Value) -> Value {
    let row = surface.row(em, &indices[1..]);
    surface.texel(em, row, indices[0], bytes)
}

/// The colour of texels outside: by a number of [`Border`], and by whether the image has alpha.
pub(super) fn border(em: &Emitter<'_>, surface: &Surface, border: Value, texel: Texel) -> Vec<Value> {
    let b = em.b;
    let is = |of: Border| em.equal(border, b.i32(of as u32));
    let of_image = em.word(surface.descriptor, field::BORDER_ALPHA);
    let white = b.zext_or_trunc(is(Border::OpaqueWhite), Scalar::I32);
    let opaque = b.zext_or_trunc(is(Border::OpaqueBlack), Scalar::I32);
    let alpha = b.select(is(Border::OfImage), of_image, b.or(white, opaque));
    let of = |value: Value| match texel {
        Texel::Int => em.all(value),
        Texel::Float => em.all(em.with_lanes(1).converted(value)),
    };
    // A depth image's only component is no alpha.
    (0..surface.form.components()).map(|at| of(if at == 3 { alpha } else { white })).collect()
}

/// Replaces the colour of lanes that are outside.
pub(super) fn with_border(
    em: &Emitter<'_>,
    surface: &Surface,
    sampling: &Sampling,
    texel: Texel,
    inside: Value,
    color: Vec<Value>,
) -> Vec<Value> {
    inside_or(em, inside, color, &border(em, surface, sampling.border, texel))
}

/// Another colour for the lanes that are outside.
pub(super) fn inside_or(em: &Emitter<'_>, inside: Value, color: Vec<Value>, outside: &[Value]) -> Vec<Value> {
    color.into_iter().zip(outside).map(|(color, outside)| em.b.select(inside, color, *outside)).collect()
}

/// Colours of the texels at these indices, in any order and of any format.
pub(super) fn any(
    em: &Emitter<'_>,
    surface: &Surface,
    level: Value,
    indices: &[Value],
    sampling: &Sampling,
    texel: Texel,
) -> Vec<Value> {
    let function = function(em, surface.form, texel, &lanes_of(em, indices));
    let mut operands = vec![surface.descriptor, level, sampling.border];
    operands.extend(indices);
    em.b.call_with_results(function, &operands, surface.form.components())
}

/// Colours of the texels at these indices, which need not be inside. `first` and `mask` as for [`Row::of`].
#[allow(clippy::too_many_arguments)]
pub(super) fn fetch(
    em: &Emitter<'_>,
    surface: &Surface,
    level: Option<Value>,
    indices: &[Value],
    first: Option<Value>,
    sampling: &Sampling,
    texel: Texel,
    mask: Option<Value>,
) -> Vec<Value> {
    let b = em.b;
    let level = level.unwrap_or_else(|| b.i32(0));
    if em.lanes > 1 && !b.image_access_in_place() {
        return shared(em, surface, level, indices, sampling, texel, mask);
    }
    in_place(em, surface, level, indices, first, sampling, texel, mask)
}

/// [`fetch`] by a function of the program.
fn shared(
    em: &Emitter<'_>,
    surface: &Surface,
    level: Value,
    indices: &[Value],
    sampling: &Sampling,
    texel: Texel,
    mask: Option<Value>,
) -> Vec<Value> {
    let (b, form) = (em.b, surface.form);
    let name = format!("ze_cpu_fetch_rows_{}_{}_{}", form.name(), texel.name(), em.lanes);
    let mut params = vec![(Scalar::Ptr, 1), (Scalar::I32, 1), (Scalar::I32, 1), (Scalar::Bool, em.lanes)];
    params.extend((0..form.coordinates()).map(|_| (Scalar::I32, em.lanes)));
    let results = vec![(texel.scalar(), em.lanes); form.components()];
    let function = b.shared_function(&name, &params, &results, Inline::Never, |function| {
        let param = |at: u32| b.param(function, at);
        let surface = Surface::level(em, param(0), form, Some(param(1)));
        let sampling = Sampling { border: param(2), ..Sampling::none(em) };
        let indices: Vec<Value> = (0..form.coordinates() as u32).map(|at| param(4 + at)).collect();
        in_place(em, &surface, param(1), &indices, None, &sampling, texel, Some(param(3)))
    });
    let mut operands = vec![surface.descriptor, level, sampling.border, mask.unwrap_or_else(|| em.yes())];
    operands.extend(indices.iter().map(|index| em.all(*index)));
    b.call_with_results(function, &operands, form.components())
}

#[allow(clippy::too_many_arguments)]
fn in_place(
    em: &Emitter<'_>,
    surface: &Surface,
    level: Value,
    indices: &[Value],
    first: Option<Value>,
    sampling: &Sampling,
    texel: Texel,
    mask: Option<Value>,
) -> Vec<Value> {
    let b = em.b;
    let slow = || any(em, surface, level, indices, sampling, texel);
    let Some(row) = Row::of(em, surface, indices, first, mask) else { return slow() };
    // Formats that have no code here go the same way as lanes that are not in a row: there is one call of the function.
    let common = texel.common();
    let classes: Vec<u64> = common.iter().map(|(kind, bytes)| u64::from(class(*kind, *bytes))).collect();
    let none = b.i32(u32::MAX);
    let selector = b.select(row.is_one, surface.class, none);
    em.select_case(selector, &classes, |case| match case {
        None => slow(),
        Some(at) => {
            let (kind, bytes) = common[at];
            let words = row_words(em, row.address(em, surface, bytes), bytes);
            decode(em, surface.descriptor, &words, kind, surface.form.components(), true)
        }
    })
}

/// How many lanes each index has. Functions that are called now and then take those that all lanes share as scalars: LLVM
/// moves what makes vectors of them out of the caller's loops, where it costs in each turn what few calls need.
pub(super) fn lanes_of(em: &Emitter<'_>, indices: &[Value]) -> Vec<u32> {
    indices.iter().map(|index| em.b.lanes(*index)).collect()
}

/// A part of a function's name: which indices are shared by all lanes.
pub(super) fn name_of(em: &Emitter<'_>, lanes: &[u32]) -> String {
    if lanes.iter().all(|lanes| *lanes == em.lanes) {
        return String::new();
    }
    let letters: String = lanes.iter().map(|lanes| if *lanes == em.lanes { 'v' } else { 's' }).collect();
    format!("_{letters}")
}

/// The program's function that fetches texels of all formats: of a descriptor, a level, a border and indices.
fn function(em: &Emitter<'_>, form: ImageForm, texel: Texel, lanes: &[u32]) -> Function {
    let b = em.b;
    let name = format!("ze_cpu_fetch_{}_{}_{}{}", form.name(), texel.name(), em.lanes, name_of(em, lanes));
    let mut params = vec![(Scalar::Ptr, 1), (Scalar::I32, 1), (Scalar::I32, 1)];
    params.extend(lanes.iter().map(|lanes| (Scalar::I32, *lanes)));
    let results = vec![(texel.scalar(), em.lanes); form.components()];
    b.shared_function(&name, &params, &results, Inline::Cold, |function| {
        let param = |at: u32| b.param(function, at);
        let surface = Surface::level(em, param(0), form, Some(param(1)));
        let sampling = Sampling { border: param(2), ..Sampling::none(em) };
        let indices: Vec<Value> = (0..form.coordinates() as u32).map(|at| param(3 + at)).collect();
        let (indices, inside) = bounded(em, &surface, &indices);
        let color = any_format(em, &surface, &indices, texel);
        with_border(em, &surface, &sampling, texel, inside, color)
    })
}

/// Colours of texels of any format, of bounded indices.
fn any_format(em: &Emitter<'_>, surface: &Surface, indices: &[Value], texel: Texel) -> Vec<Value> {
    let b = em.b;
    let bytes = em.word(surface.descriptor, field::BYTES);
    let addresses = addresses(em, surface, indices, bytes);
    let words = em.select_case(bytes, &TEXEL_BYTES, |case| {
        let mut words = match case {
            Some(at) => own_words(em, addresses, TEXEL_BYTES[at] as u32),
            None => Words::new(),
        };
        words.resize(4, b.zero(Scalar::I32, em.lanes));
        words
    });
    let kind = b.and(b.lshr(surface.class, b.i32(8)), b.i32(KIND_MASK));
    let kinds: Vec<FieldKind> = texel.kinds().collect();
    let numbers: Vec<u64> = kinds.iter().map(|kind| *kind as u64).collect();
    let components = surface.form.components();
    em.select_case(kind, &numbers, |case| match case {
        Some(at) => decode(em, surface.descriptor, &words, kinds[at], components, false),
        // Texels of another type than the instruction's have no value.
        None => vec![texel.zero(em); components],
    })
}

/// The bits of a class that are the kind, above those of the texel's size.
pub(super) const KIND_MASK: u32 = 0x7f;
