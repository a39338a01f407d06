//! Functions of single elements, compiled alone and called in every form that this machine runs.

mod doubles;
mod floats;
mod lanes;

use super::super::builder::{Builder, Inline, Value};
use super::super::float_modes;
use super::element::Element;
use super::table;
use crate::analysis::leaves::Scalar;
use crate::jit::load::{self, LoadedCode};
use crate::jit::pipeline::{self, Tier};
use crate::jit::target::{Isa, Target};
use crate::jit::{Context, IrModule, symbols};
use spirv::OpenclStd100Op as StdOp;
use spirv_env::opcodes::opencl_std;

/// Bytes of the longest operand: 64 lanes of f64.
const MOST_BYTES: usize = 512;

#[repr(align(64))]
#[derive(Clone, Copy)]
struct Buffer([u8; MOST_BYTES]);

/// A function from up to three operands to up to two results, for some number of lanes.
pub struct Compiled {
    code: LoadedCode,
    pub lanes: usize,
}

type Function = unsafe extern "C" fn(*const u8, *const u8, *const u8, *mut u8, *mut u8);

pub fn compile(
    target: &Target,
    lanes: u32,
    operands: &[Scalar],
    f: impl Fn(&Element<'_>, &[Value]) -> Vec<Value>,
) -> Compiled {
    let context = Context::new();
    let ir = IrModule::new(&context, "test", target);
    // SAFETY: context and module outlive the builder.
    let b = unsafe { Builder::new(context.raw(), ir.raw(), lanes, target) };
    let function = b.function("entry", &[(Scalar::Ptr, 1); 5], false, Inline::Free);
    b.at_end(b.block(function, "start"));
    let values: Vec<Value> = operands
        .iter()
        .enumerate()
        .map(|(at, scalar)| b.load(*scalar, lanes, b.param(function, at as u32), 1))
        .collect();
    let m = Element::of(&b, target, values[0]);
    for (at, result) in f(&m, &values).into_iter().enumerate() {
        b.store(result, b.param(function, 3 + at as u32), 1);
    }
    b.ret();
    drop(b);
    ir.verify().expect("valid IR");
    pipeline::optimise(&ir, target, Tier::Optimising).expect("passes");
    if let Some(dir) = std::env::var_os("ZE_CPU_TEST_ASM") {
        let text = pipeline::assembly(&ir, target, Tier::Optimising).expect("assembly");
        std::fs::write(std::path::Path::new(&dir).join("last.s"), text).expect("written");
    }
    let object = pipeline::object_code(ir, target, Tier::Optimising).expect("code");
    let code = load::load(&object.bytes, &symbols::function_address).expect("loads");
    Compiled { code, lanes: lanes as usize }
}

/// Functions are tested with one input in this many, over all bit patterns. A prime, so that all kinds of significands are met.
pub const SPARSE: usize = 40_009;

/// `ZE_CPU_TEST_SPARSE`, which overrides [`SPARSE`] for a closer look.
pub fn asked_for() -> Option<usize> {
    std::env::var("ZE_CPU_TEST_SPARSE").ok()?.parse().ok().filter(|sparse| *sparse > 0)
}

/// The forms that code takes on this machine: CPUs and lanes. One is a machine without libmvec, and all are where errors are
/// printed.
pub fn forms() -> Vec<(Target, Vec<u32>)> {
    let mut found = vec![(Isa::Sse, vec![1, 4, 8])];
    if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
        found.push((Isa::Avx2, vec![1, 4, 8, 16]));
    }
    if is_x86_feature_detected!("avx512dq") && is_x86_feature_detected!("avx512vl") {
        found.push((Isa::Avx512, vec![4, 8, 16, 32, 64]));
    }
    let target = |isa: &Isa| Target::limited(*isa).expect("target");
    let mut forms: Vec<_> = found.iter().map(|(isa, lanes)| (target(isa), lanes.clone())).collect();
    let plain = if prints() { found.len() } else { 1 };
    for (isa, _) in found.iter().rev().take(plain) {
        let mut plain = target(isa);
        plain.libmvec = false;
        forms.push((plain, vec![4]));
    }
    forms
}

/// The forms in which functions are tested with denormals flushed.
pub fn flushing_forms() -> Vec<(Target, u32)> {
    let with_libmvec = forms().into_iter().filter(|(target, _)| target.libmvec);
    let widest = with_libmvec.map(|(target, lanes)| (target, lanes.last().copied().unwrap_or(1)));
    widest.collect()
}

/// Which function of which type in which form.
pub struct Form {
    op: StdOp,
    ty: &'static str,
    bits: u32,
    kind: &'static str,
    lanes: u32,
}

pub fn form(op: StdOp, target: &Target, lanes: u32, ty: &'static str) -> Form {
    let kind = if target.libmvec { "libmvec" } else { "plain" };
    Form { op, ty, bits: target.simd_bits(), kind, lanes }
}

impl Form {
    /// The same where denormals count as zeros.
    pub fn flushing(self) -> Form {
        Form { kind: "flush", ..self }
    }
}

/// A function as a kernel has it that flushes denormals.
pub fn flushing(
    f: impl Fn(&Element<'_>, &[Value]) -> Vec<Value>,
) -> impl Fn(&Element<'_>, &[Value]) -> Vec<Value> {
    move |m, x| {
        let flushed = |x: &Value| if m.b.scalar_of(*x).is_float() { float_modes::flush(m.b, *x) } else { *x };
        let x: Vec<Value> = x.iter().map(flushed).collect();
        f(m, &x).iter().map(flushed).collect()
    }
}

/// Whether a kernel's mode is of a function: others move bits, or have no denormals to give.
pub fn is_flushed(op: StdOp) -> bool {
    opencl_std::of_number(op as u64).is_some_and(|function| function.family == opencl_std::Family::Float)
}

/// Whether errors are printed, for `ci/accuracy` and people.
fn prints() -> bool {
    std::env::var_os("ZE_CPU_TEST_ULP").is_some()
}

impl Compiled {
    /// Calls the function for as many elements as it has lanes.
    pub fn call<A: Copy, B: Copy, C: Copy, R: Copy, S: Copy>(
        &self,
        a: &[A],
        b: &[B],
        c: &[C],
        r: &mut [R],
        s: &mut [S],
    ) {
        fn load<T: Copy>(values: &[T], lanes: usize) -> Buffer {
            let mut buffer = Buffer([0; MOST_BYTES]);
            let bytes = size_of::<T>() * values.len().min(lanes);
            // SAFETY: both are at least as long, and any bytes make a buffer.
            unsafe { std::ptr::copy_nonoverlapping(values.as_ptr().cast(), buffer.0.as_mut_ptr(), bytes) };
            buffer
        }
        fn store<T: Copy>(buffer: &Buffer, values: &mut [T], lanes: usize) {
            let bytes = size_of::<T>() * values.len().min(lanes);
            // SAFETY: both are at least as long, and the types that tests use have no invalid bytes.
            unsafe { std::ptr::copy_nonoverlapping(buffer.0.as_ptr(), values.as_mut_ptr().cast(), bytes) };
        }
        let (a, b, c) = (load(a, self.lanes), load(b, self.lanes), load(c, self.lanes));
        let (mut first, mut second) = (Buffer([0; MOST_BYTES]), Buffer([0; MOST_BYTES]));
        let entry = self.code.address("entry").expect("defined");
        // SAFETY: `compile` gave the function this type, and buffers hold every operand and result.
        unsafe {
            let entry: Function = std::mem::transmute(entry);
            entry(a.0.as_ptr(), b.0.as_ptr(), c.0.as_ptr(), first.0.as_mut_ptr(), second.0.as_mut_ptr());
        }
        store(&first, r, self.lanes);
        store(&second, s, self.lanes);
    }

    pub fn map<A: Copy, B: Copy, C: Copy, R: Copy + Default>(&self, a: &[A], b: &[B], c: &[C]) -> Vec<R> {
        let mut results = vec![R::default(); a.len()];
        let part = |at: usize, len: usize| at.min(len)..(at + self.lanes).min(len);
        for at in (0..a.len()).step_by(self.lanes) {
            let r = part(at, a.len());
            self.call(
                &a[r.clone()],
                &b[part(at, b.len())],
                &c[part(at, c.len())],
                &mut results[r],
                &mut [0u8; 0],
            );
        }
        results
    }
}

pub fn call(op: StdOp) -> impl Fn(&Element<'_>, &[Value]) -> Vec<Value> {
    move |m, x| match table::function(op) {
        Some(function) => vec![m.promoted(x, |m, x| function.call(m, x))],
        None => vec![table::native_function(op).expect("a function of single elements")(m, x)],
    }
}

/// The worst error and where it is.
pub fn worst<X: Copy + std::fmt::Debug, R: Copy>(
    x: &[X],
    got: &[R],
    error: impl Fn(X, R) -> f64,
) -> (f64, String) {
    let mut worst = (0.0, String::new());
    for (x, got) in x.iter().zip(got) {
        let error = error(*x, *got);
        if error > worst.0 {
            worst = (error, format!("{x:?}"));
        }
    }
    worst
}

/// Reports an error of a form of a function; `failures` collects those beyond the bound.
pub fn report(failures: &mut Vec<String>, what: &Form, (error, at): (f64, String), bound: f64) {
    let Form { op, ty, bits, kind, lanes } = what;
    if prints() {
        // The test's name stands on the line of the first one.
        println!("\nulp\t{op:?}\t{ty}\t{bits}\t{kind}\t{error:.3}\t{bound}\t{lanes} lanes, at {at}");
    }
    if error > bound {
        let place = format!("{bits} bits, {lanes} lanes, {kind}");
        failures.push(format!("{op:?} {ty}, {place}: {error:.3} at {at}, bound {bound}"));
    }
}
