//! Writes of texels: one vector store where lanes follow each other in a row, else one access a lane. What is outside of the
//! image is not written.

use super::super::builder::{Function, Inline, Value};
use super::emit::Emitter;
use super::encode::encode;
use super::fetch::{self, KIND_MASK, Row, TEXEL_BYTES, Texel};
use super::surface::{ImageForm, Surface};
use crate::analysis::leaves::Scalar;
use crate::image::descriptor::{FieldKind, class, field};

/// Writes a colour to the texel of each lane that is on; all are, without a mask.
#[allow(clippy::too_many_arguments)]
pub(super) fn store(
    em: &Emitter<'_>,
    surface: &Surface,
    level: Value,
    indices: &[Value],
    first: Option<Value>,
    color: &[Value],
    texel: Texel,
    mask: Option<Value>,
) {
    let b = em.b;
    if em.lanes > 1 && !b.image_access_in_place() {
        return shared(em, surface, level, indices, color, texel, mask);
    }
    in_place(em, surface, level, indices, first, color, texel, mask);
}

/// [`store`] by a function of the program.
fn shared(
    em: &Emitter<'_>,
    surface: &Surface,
    level: Value,
    indices: &[Value],
    color: &[Value],
    texel: Texel,
    mask: Option<Value>,
) {
    let (b, form) = (em.b, surface.form);
    let name = format!("ze_cpu_store_rows_{}_{}_{}", form.name(), texel.name(), em.lanes);
    let params = params(em, form, texel, &vec![em.lanes; form.coordinates()]);
    let function = b.shared_function(&name, &params, &[], Inline::Never, |function| {
        let of = Operands::of(em, form, function);
        let surface = Surface::level(em, of.descriptor, form, Some(of.level));
        in_place(em, &surface, of.level, &of.indices, None, &of.color, texel, Some(of.mask));
        Vec::new()
    });
    let indices: Vec<Value> = indices.iter().map(|index| em.all(*index)).collect();
    call(em, function, surface, level, &indices, color, mask);
}

#[allow(clippy::too_many_arguments)]
fn in_place(
    em: &Emitter<'_>,
    surface: &Surface,
    level: Value,
    indices: &[Value],
    first: Option<Value>,
    color: &[Value],
    texel: Texel,
    mask: Option<Value>,
) {
    let b = em.b;
    let slow = || {
        let function = function(em, surface.form, texel, &fetch::lanes_of(em, indices));
        call(em, function, surface, level, indices, color, mask);
        Vec::new()
    };
    let Some(row) = Row::of(em, surface, indices, first, mask) else {
        slow();
        return;
    };
    let common = texel.common();
    let classes: Vec<u64> = common.iter().map(|(kind, bytes)| u64::from(class(*kind, *bytes))).collect();
    let selector = b.select(row.is_one, surface.class, b.i32(u32::MAX));
    let color: Vec<Value> = color.iter().map(|value| em.all(*value)).collect();
    em.select_case(selector, &classes, |case| match case {
        None => slow(),
        Some(at) => {
            let (kind, bytes) = common[at];
            let words = encode(em, surface.descriptor, &color, kind, bytes.div_ceil(4) as usize, true);
            store_row(em, row.address(em, surface, bytes), &words, bytes, mask);
            Vec::new()
        }
    });
}

/// Stores texels side by side.
fn store_row(em: &Emitter<'_>, address: Value, words: &[Value], bytes: u32, mask: Option<Value>) {
    let b = em.b;
    let (value, each) = match bytes {
        1 => (b.zext_or_trunc(words[0], Scalar::I8), 1),
        2 => (b.zext_or_trunc(words[0], Scalar::I16), 1),
        _ => (b.interleave(words.to_vec()), words.len()),
    };
    let Some(mask) = mask else { return b.store(value, address, 1) };
    let mask = if each == 1 {
        mask
    } else {
        let indices: Vec<i32> = (0..em.lanes as usize * each).map(|at| (at / each) as i32).collect();
        b.shuffle(mask, mask, &indices)
    };
    b.masked_store(value, address, 1, mask);
}

/// The parameters of functions that store: a descriptor, a level, a mask, indices and components of colours.
fn params(em: &Emitter<'_>, form: ImageForm, texel: Texel, lanes: &[u32]) -> Vec<(Scalar, u32)> {
    let mut params = vec![(Scalar::Ptr, 1), (Scalar::I32, 1), (Scalar::Bool, em.lanes)];
    params.extend(lanes.iter().map(|lanes| (Scalar::I32, *lanes)));
    params.extend((0..form.components()).map(|_| (texel.scalar(), em.lanes)));
    params
}

struct Operands {
    descriptor: Value,
    level: Value,
    mask: Value,
    indices: Vec<Value>,
    color: Vec<Value>,
}

impl Operands {
    /// What a function that stores is called with.
    fn of(em: &Emitter<'_>, form: ImageForm, function: Function) -> Operands {
        let param = |at: usize| em.b.param(function, at as u32);
        let first_color = 3 + form.coordinates();
        Operands {
            descriptor: param(0),
            level: param(1),
            mask: param(2),
            indices: (3..first_color).map(param).collect(),
            color: (first_color..first_color + form.components()).map(param).collect(),
        }
    }
}

fn call(
    em: &Emitter<'_>,
    function: Function,
    surface: &Surface,
    level: Value,
    indices: &[Value],
    color: &[Value],
    mask: Option<Value>,
) {
    let mut operands = vec![surface.descriptor, level, mask.unwrap_or_else(|| em.yes())];
    operands.extend(indices);
    operands.extend(color.iter().map(|value| em.all(*value)));
    em.b.call_with_results(function, &operands, 0);
}

/// The program's function that stores texels of all formats.
fn function(em: &Emitter<'_>, form: ImageForm, texel: Texel, lanes: &[u32]) -> Function {
    let uniform = fetch::name_of(em, lanes);
    let name = format!("ze_cpu_store_{}_{}_{}{uniform}", form.name(), texel.name(), em.lanes);
    em.b.shared_function(&name, &params(em, form, texel, lanes), &[], Inline::Cold, |function| {
        let of = Operands::of(em, form, function);
        let surface = Surface::level(em, of.descriptor, form, Some(of.level));
        let (indices, inside) = fetch::bounded(em, &surface, &of.indices);
        any_format(em, &surface, &indices, &of.color, texel, em.b.and(of.mask, inside));
        Vec::new()
    })
}

/// Writes texels of any format, of bounded indices.
fn any_format(
    em: &Emitter<'_>,
    surface: &Surface,
    indices: &[Value],
    color: &[Value],
    texel: Texel,
    mask: Value,
) {
    let b = em.b;
    let kind = b.and(b.lshr(surface.class, b.i32(8)), b.i32(KIND_MASK));
    let kinds: Vec<FieldKind> = texel.kinds().collect();
    let numbers: Vec<u64> = kinds.iter().map(|kind| *kind as u64).collect();
    let mut encoded = em.select_case(kind, &numbers, |case| match case {
        Some(at) => {
            let mut words = encode(em, surface.descriptor, color, kinds[at], 4, false);
            words.push(b.int(Scalar::Bool, 1, 1));
            words
        }
        // Colours of another type than the texels' are not written.
        None => {
            let mut words = vec![b.zero(Scalar::I32, em.lanes); 4];
            words.push(b.int(Scalar::Bool, 1, 0));
            words
        }
    });
    let is_written = encoded.pop().expect("whether the format fits");
    let mask = b.and(mask, em.all(is_written));
    let bytes = em.word(surface.descriptor, field::BYTES);
    let addresses = fetch::addresses(em, surface, indices, bytes);
    em.select_case(bytes, &TEXEL_BYTES, |case| {
        if let Some(at) = case {
            store_words(em, addresses, &encoded, TEXEL_BYTES[at] as u32, mask);
        }
        Vec::new()
    });
}

/// Stores the words of texels of a size, each at its own address.
fn store_words(em: &Emitter<'_>, addresses: Value, words: &[Value], bytes: u32, mask: Value) {
    let b = em.b;
    let part = |word: Value, scalar: Scalar, at: u64| {
        em.store_each(b.zext_or_trunc(word, scalar), b.offset_const(addresses, at), mask);
    };
    let above = |word: Value| b.lshr(word, em.int(16));
    match bytes {
        1 => part(words[0], Scalar::I8, 0),
        2 => part(words[0], Scalar::I16, 0),
        3 => {
            part(words[0], Scalar::I16, 0);
            part(above(words[0]), Scalar::I8, 2);
        }
        6 => {
            part(words[0], Scalar::I16, 0);
            part(above(words[0]), Scalar::I16, 2);
            part(words[1], Scalar::I16, 4);
        }
        _ => {
            for (at, word) in words[..(bytes / 4) as usize].iter().enumerate() {
                part(*word, Scalar::I32, 4 * at as u64);
            }
        }
    }
}
