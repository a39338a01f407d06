//! What is measured: sizes, inputs, how the result is checked, and what bounds it. One file a kind of work; a case is a
//! function that makes it, and a line of [`CASES`].

mod grids;
mod hashing;
mod linear;
mod matrices;
mod simulation;
mod sorting;

use super::{Arg, Case};
use crate::Random;

/// The bytes of a slice of plain numbers.
fn bytes<T: Copy>(values: &[T]) -> Vec<u8> {
    // SAFETY: plain numbers have no padding.
    unsafe { std::slice::from_raw_parts(values.as_ptr().cast(), size_of_val(values)) }.to_vec()
}

/// The numbers behind the bytes of a buffer.
fn numbers<T: Copy>(bytes: &[u8]) -> &[T] {
    // SAFETY: buffers are aligned to 64 bytes and hold numbers of any bits.
    unsafe { std::slice::from_raw_parts(bytes.as_ptr().cast(), bytes.len() / size_of::<T>()) }
}

fn value<T: Copy>(value: T) -> Arg {
    Arg::Value(bytes(&[value]))
}

/// Checks a sample of elements, all with one tolerance.
fn sample(
    got: &[f32],
    count: usize,
    tolerance: f64,
    mut want: impl FnMut(usize) -> f64,
) -> std::result::Result<(), String> {
    let mut random = Random::new(99);
    for _ in 0..count {
        let i = random.below(got.len() as u32) as usize;
        let want = want(i);
        if (f64::from(got[i]) - want).abs() > tolerance {
            return Err(format!("element {i} is {}, not {want}", got[i]));
        }
    }
    Ok(())
}

fn all_equal<T: PartialEq + std::fmt::Debug>(got: &[T], want: &[T]) -> std::result::Result<(), String> {
    match got.iter().zip(want).position(|(got, want)| got != want) {
        None => Ok(()),
        Some(i) => Err(format!("element {i} is {:?}, not {:?}", got[i], want[i])),
    }
}

/// All cases, in the order of the report. Built when they are asked for: each holds its inputs.
pub const CASES: &[fn() -> Case] = &[
    linear::empty,
    linear::saxpy,
    linear::saxpy_int,
    linear::triad,
    linear::members,
    linear::structures,
    linear::arrays,
    linear::reduction,
    linear::reduction_int,
    linear::scan,
    linear::histogram,
    linear::histogram_int,
    linear::search,
    linear::search_each,
    linear::tiny_groups,
    matrices::sgemm_naive,
    matrices::sgemm_tiled_edges,
    matrices::sgemm_tiled,
    matrices::sgemm_o0,
    matrices::sgemm_registers,
    matrices::product_half,
    matrices::product_double,
    matrices::transpose,
    matrices::transpose_int,
    matrices::transpose_o0,
    matrices::spmv,
    grids::stencil,
    grids::stencil_uint,
    grids::stencil_flat,
    grids::stencil_o0,
    grids::stencil_3d,
    grids::convolution,
    grids::median,
    grids::diffusion,
    simulation::nbody,
    simulation::mandelbrot,
    simulation::ray_marching,
    simulation::black_scholes,
    simulation::monte_carlo,
    simulation::functions_float,
    simulation::functions_double,
    simulation::fourier,
    hashing::integer_mixing,
    hashing::sha256,
    hashing::aes,
    sorting::bitonic,
    sorting::radix,
    sorting::breadth_first,
];

/// What scaling is measured by: a case that arithmetic bounds, and one that memory does.
pub const SCALING_ARITHMETIC: fn() -> Case = simulation::nbody;
pub const SCALING_MEMORY: fn() -> Case = linear::triad;

pub use hashing::constants as sha256_constants;
