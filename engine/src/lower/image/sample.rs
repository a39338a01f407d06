//! Samples: nearest texels and linear filters (`linear`), at a level of detail or between two.
//!
//! With a literal sampler everything about it is known here. Nearest texels are then fetched in place; what filters, and what
//! learns its sampler when it runs, is a function of the program, one for each literal sampler and one for all others.

use super::super::builder::{Function, Inline, RealPred, Value};
use super::address::{self, Sampling};
use super::emit::Emitter;
use super::fetch::{Texel, fetch};
use super::linear::{linear, mix};
use super::surface::{ImageForm, Surface};
use crate::analysis::leaves::Scalar;
use crate::image::descriptor::field;

/// Where a sample is taken.
pub(super) struct Sample<'a> {
    pub descriptor: Value,
    /// The packed sampler.
    pub sampler: Value,
    pub form: ImageForm,
    pub texel: Texel,
    /// Components of the coordinate, floats or integers.
    pub at: &'a [Value],
    /// The index of the first lane in the first direction, of integer coordinates that go up by one from lane to lane.
    pub first: Option<Value>,
    /// A level of detail that is not known to be 0.
    pub lod: Option<Value>,
    pub mask: Value,
}

/// The colours of a sample.
pub(super) fn sample(em: &Emitter<'_>, sample: &Sample<'_>) -> Vec<Value> {
    let b = em.b;
    let Sample { descriptor, sampler, form, texel, at, first, lod, mask } = *sample;
    let sampling = Sampling::of(em, sampler);
    let exact = !b.scalar_of(at[0]).is_float();
    let nearest = exact || b.constant_int(sampling.linear) == Some(0);
    if lod.is_none() && nearest && b.constant_int(sampler).is_some() {
        let surface = Surface::level(em, descriptor, form, None);
        let indices = indices(em, &surface, at, &sampling);
        // Where the whole row is inside, clamping changes nothing.
        let first = first.filter(|_| exact);
        return fetch(em, &surface, None, &indices, first, &sampling, texel, Some(mask));
    }
    let of = Of { form, texel, exact, literal: b.constant_int(sampler) };
    let mut operands = vec![descriptor, sampler];
    let function = match lod {
        Some(lod) => {
            operands.push(em.all(lod));
            of.at_lod(em)
        }
        None => {
            operands.push(b.i32(0));
            of.at_level(em)
        }
    };
    operands.push(mask);
    operands.extend(at.iter().map(|at| em.all(*at)));
    b.call_with_results(function, &operands, form.components())
}

/// The nearest texel in each direction.
fn indices(em: &Emitter<'_>, surface: &Surface, at: &[Value], sampling: &Sampling) -> Vec<Value> {
    let dimensions = surface.form.dimensions;
    let of = |(number, (at, size)): (usize, (&Value, &Value))| match em.b.scalar_of(*at).is_float() {
        _ if number >= dimensions => address::layer(em, *at, *size),
        true => address::nearest(&em.with_lanes(em.b.lanes(*at)), *at, *size, sampling),
        false => address::exact(em, *at, *size, sampling),
    };
    at.iter().zip(&surface.sizes).enumerate().map(of).collect()
}

/// What one function samples.
#[derive(Clone, Copy)]
struct Of {
    form: ImageForm,
    texel: Texel,
    /// Coordinates are integers.
    exact: bool,
    literal: Option<u64>,
}

impl Of {
    fn name(self, what: &str, lanes: u32) -> String {
        let coordinates = if self.exact { "i" } else { "f" };
        let sampler = self.literal.map_or("any".to_owned(), |bits| bits.to_string());
        format!("ze_cpu_{what}_{}_{}_{coordinates}_{sampler}_{lanes}", self.form.name(), self.texel.name())
    }

    /// Declares a function of a descriptor, a sampler, a level or level of detail, a mask and coordinates.
    fn function(
        self,
        em: &Emitter<'_>,
        what: &str,
        level: (Scalar, u32),
        body: impl FnOnce(Operands) -> Vec<Value>,
    ) -> Function {
        let b = em.b;
        let mut params = vec![(Scalar::Ptr, 1), (Scalar::I64, 1), level, (Scalar::Bool, em.lanes)];
        let coordinate = if self.exact { Scalar::I32 } else { Scalar::F32 };
        params.extend((0..self.form.coordinates()).map(|_| (coordinate, em.lanes)));
        let results = vec![(self.texel.scalar(), em.lanes); self.form.components()];
        b.shared_function(&self.name(what, em.lanes), &params, &results, Inline::Never, |function| {
            let param = |at: u32| b.param(function, at);
            body(Operands {
                descriptor: param(0),
                sampler: self.literal.map_or_else(|| param(1), |bits| b.i64(bits)),
                level: param(2),
                mask: param(3),
                at: (0..self.form.coordinates() as u32).map(|at| param(4 + at)).collect(),
            })
        })
    }

    /// The function that samples one level, which the image has.
    fn at_level(self, em: &Emitter<'_>) -> Function {
        self.function(em, "sample", (Scalar::I32, 1), |of| {
            let surface = Surface::level(em, of.descriptor, self.form, Some(of.level));
            let sampling = Sampling::of(em, of.sampler);
            let nearest = || {
                let indices = indices(em, &surface, &of.at, &sampling);
                fetch(em, &surface, Some(of.level), &indices, None, &sampling, self.texel, Some(of.mask))
            };
            // Integers are not interpolated.
            if self.exact || self.texel == Texel::Int {
                return nearest();
            }
            em.choose_all(sampling.linear, || linear(em, &surface, of.level, &of.at, &sampling), nearest)
        })
    }

    /// The function that samples at a level of detail of each lane's own.
    fn at_lod(self, em: &Emitter<'_>) -> Function {
        let b = em.b;
        let of_level = self.at_level(em);
        self.function(em, "sample_lod", (Scalar::F32, em.lanes), |of| {
            let sampling = Sampling::of(em, of.sampler);
            let last = b.sub(em.word(of.descriptor, field::LEVEL_COUNT), b.i32(1));
            let lod = em.clamp(of.level, em.float(0.0), em.all(em.with_lanes(1).converted(last)));
            let rounded = || em.floor(em.fadd(lod, em.float(0.5)));
            let is_between =
                if self.texel == Texel::Int { b.int(Scalar::Bool, 1, 0) } else { sampling.mip_linear };
            let whole = em.choose(is_between, || em.floor(lod), rounded);
            let like = vec![self.texel.scalar(); self.form.components()];
            let color = |level: Value| {
                let level = em.umin(level, em.all(last));
                em.waterfall(&[level], of.mask, &like, |keys, mask| {
                    let mut operands = vec![of.descriptor, of.sampler, keys[0], mask];
                    operands.extend(&of.at);
                    b.call_with_results(of_level, &operands, like.len())
                })
            };
            let level = em.truncated(whole);
            let low = color(level);
            // Integers are not interpolated.
            if self.texel == Texel::Int {
                return low;
            }
            let weight = em.fsub(lod, whole);
            let between = b.fcmp(RealPred::LLVMRealOGT, weight, em.float(0.0));
            let blend = b.and(is_between, b.any(b.and(between, of.mask)));
            em.choose_all(
                blend,
                || {
                    let high = color(b.add(level, em.int(1)));
                    low.iter().zip(high).map(|(low, high)| mix(em, *low, high, weight)).collect()
                },
                || low.clone(),
            )
        })
    }
}

struct Operands {
    descriptor: Value,
    sampler: Value,
    level: Value,
    mask: Value,
    at: Vec<Value>,
}

/// The level of detail of each lane's gradients: of the first coordinate's change in x and y, then of the second one's.
pub(super) fn lod_of_gradients(
    em: &Emitter<'_>,
    descriptor: Value,
    form: ImageForm,
    gradients: &[Value],
) -> Value {
    let b = em.b;
    let surface = Surface::level(em, descriptor, form, None);
    let mut most = em.float(0.0);
    for direction in gradients.chunks(form.dimensions) {
        let mut length = em.float(0.0);
        for (part, size) in direction.iter().zip(&surface.sizes) {
            let texels = em.fmul(em.all(*part), em.all(em.with_lanes(1).converted(*size)));
            length = em.fadd(length, em.fmul(texels, texels));
        }
        most = b.select(b.fcmp(RealPred::LLVMRealOGT, length, most), length, most);
    }
    // Half the logarithm of the square.
    em.fmul(em.float(0.5), b.intrinsic("llvm.log2", &[most]))
}
