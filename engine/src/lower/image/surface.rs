//! One level of an image: where its texels are, and how large it is.

use super::super::builder::Value;
use super::emit::Emitter;
use crate::analysis::leaves::Scalar;
use crate::image::MipLevel;
use crate::image::descriptor::field;
use spirv::Dim;
use spirv_env::ImageType;
use std::mem::offset_of;

/// What code knows of an image before it runs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct ImageForm {
    /// Coordinates that name a texel within a layer: 1 to 3.
    pub dimensions: usize,
    pub arrayed: bool,
    /// Texels have one component.
    pub depth: bool,
}

impl ImageForm {
    pub fn of(image: &ImageType) -> ImageForm {
        let dimensions = match image.dim {
            Dim::Dim2D => 2,
            Dim::Dim3D => 3,
            _ => 1,
        };
        ImageForm { dimensions, arrayed: image.arrayed, depth: image.depth }
    }

    /// Components of a coordinate.
    pub fn coordinates(self) -> usize {
        self.dimensions + usize::from(self.arrayed)
    }

    /// Components of a texel.
    pub fn components(self) -> usize {
        if self.depth { 1 } else { 4 }
    }

    /// A part of a function's name.
    pub fn name(self) -> String {
        let (array, depth) = (if self.arrayed { "a" } else { "" }, if self.depth { "d" } else { "" });
        format!("{}{array}{depth}", self.dimensions)
    }
}

/// A level of an image, in scalars.
pub(super) struct Surface {
    pub descriptor: Value,
    pub base: Value,
    row_pitch: Value,
    slice_pitch: Value,
    /// Texels in each direction, and layers behind them.
    pub sizes: Vec<Value>,
    pub form: ImageForm,
    /// The word that tells the format.
    pub class: Value,
}

impl Surface {
    /// The level of a number, which the image has.
    pub fn level(em: &Emitter<'_>, descriptor: Value, form: ImageForm, level: Option<Value>) -> Surface {
        let b = em.b;
        let at = match level {
            None => b.offset_const(descriptor, field::LEVELS),
            Some(level) => {
                let offset = b.mul(b.zext_or_trunc(level, Scalar::I64), b.i64(field::LEVEL_BYTES));
                b.offset(b.offset_const(descriptor, field::LEVELS), offset)
            }
        };
        let extents =
            [offset_of!(MipLevel, width), offset_of!(MipLevel, height), offset_of!(MipLevel, depth)];
        let mut sizes: Vec<Value> =
            extents[..form.dimensions].iter().map(|of| em.word(at, *of as u64)).collect();
        if form.arrayed {
            sizes.push(em.word(descriptor, field::LAYERS));
        }
        let pitch = em.word(at, offset_of!(MipLevel, row_pitch) as u64);
        Surface {
            descriptor,
            base: em.field(Scalar::Ptr, at, offset_of!(MipLevel, base) as u64),
            row_pitch: b.zext_or_trunc(pitch, Scalar::I64),
            slice_pitch: em.field(Scalar::I64, at, offset_of!(MipLevel, slice_pitch) as u64),
            sizes,
            form,
            class: em.word(descriptor, field::CLASS),
        }
    }

    /// The address of the row that a texel is in, by its coordinates but the first: a scalar where they are.
    pub fn row(&self, em: &Emitter<'_>, rest: &[Value]) -> Value {
        let b = em.b;
        let mut address = self.base;
        for (at, index) in rest.iter().enumerate().rev() {
            let is_row = at == 0 && self.form.dimensions > 1;
            let pitch = if is_row { self.row_pitch } else { self.slice_pitch };
            let lanes = b.lanes(*index);
            let offset = b.mul(b.zext_or_trunc(*index, Scalar::I64), b.splat(pitch, lanes));
            address = b.offset(address, offset);
        }
        address
    }

    /// The addresses of texels of an image whose bytes are numbered by 31 bits, by bounded indices.
    pub fn near(&self, em: &Emitter<'_>, indices: &[Value], bytes: u32) -> Value {
        let b = em.b;
        let mut offset = b.mul(em.all(indices[0]), em.int(bytes));
        for (at, index) in indices.iter().enumerate().skip(1) {
            let is_row = at == 1 && self.form.dimensions > 1;
            let pitch = if is_row { self.row_pitch } else { self.slice_pitch };
            let pitch = em.all(b.zext_or_trunc(pitch, Scalar::I32));
            offset = b.add(offset, b.mul(em.all(*index), pitch));
        }
        b.offset(self.base, b.sext_or_trunc(offset, Scalar::I64))
    }

    /// The address of a texel in its row.
    pub fn texel(&self, em: &Emitter<'_>, row: Value, x: Value, bytes: Value) -> Value {
        let b = em.b;
        let lanes = b.lanes(x);
        let bytes = b.splat(b.zext_or_trunc(bytes, Scalar::I64), lanes);
        b.offset(row, b.mul(b.zext_or_trunc(x, Scalar::I64), bytes))
    }
}
