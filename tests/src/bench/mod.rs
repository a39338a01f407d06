//! The benchmark: kernels that programs have, on the driver and on an OpenCL runtime, from the same SPIR-V.

pub mod cases;
pub mod images;
pub mod level_zero;
pub mod native;
pub mod opencl;

use std::error::Error;
use std::time::{Duration, Instant};

pub type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// A kernel argument.
pub enum Arg {
    /// The buffer of this number.
    Buffer(usize),
    /// A value, by its bytes.
    Value(Vec<u8>),
    /// Local memory of this many bytes.
    Local(usize),
    /// An image with the contents of a buffer; after a launch, the buffer has the image's.
    Image(ImageArg),
}

/// A 2D image.
#[derive(Clone, Copy)]
pub struct ImageArg {
    pub buffer: usize,
    pub width: u32,
    pub height: u32,
    pub texels: Texels,
}

/// Texels of red, green, blue and alpha.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Texels {
    /// Bytes that are fractions of 255.
    Rgba8,
    RgbaFloat,
}

impl Texels {
    /// Bytes of a texel.
    pub fn bytes(self) -> usize {
        if self == Self::Rgba8 { 4 } else { 16 }
    }

    /// The component of a number.
    pub fn component(self, data: &[u8], at: usize) -> f64 {
        match self {
            Self::Rgba8 => f64::from(data[at]) / 255.0,
            Self::RgbaFloat => {
                let bytes = data[4 * at..4 * at + 4].try_into().expect("four bytes");
                f64::from(f32::from_le_bytes(bytes))
            }
        }
    }

    /// How far a component may be from the number that was stored.
    pub fn rounding(self) -> f64 {
        if self == Self::Rgba8 { 0.5 / 255.0 + 1e-9 } else { 1e-7 }
    }
}

/// Says whether the buffers hold what one launch must leave.
pub type Verify = Box<dyn Fn(&[&[u8]]) -> std::result::Result<(), String>>;

/// One thing to measure.
pub struct Case {
    pub name: &'static str,
    pub module: &'static str,
    pub kernel: &'static str,
    pub groups: [u32; 3],
    pub group_size: [u32; 3],
    /// Contents of the buffers before the first launch.
    pub buffers: Vec<Vec<u8>>,
    pub args: Vec<Arg>,
    pub verify: Verify,
}

/// A runtime with a device.
pub trait Backend {
    /// Prepares the case's buffers, then builds its kernel and sets the arguments. Also says when the building began.
    fn prepare(&self, case: &Case) -> Result<(Box<dyn Prepared>, Instant)>;
}

/// A kernel that is ready to be launched.
pub trait Prepared {
    /// Launches it once and waits.
    fn launch(&self) -> Result<()>;
    /// The buffers as the host sees them.
    fn buffers(&self) -> Vec<&[u8]>;
}

/// What was measured of one case on one runtime.
pub struct Times {
    /// From SPIR-V to the result of the first launch.
    pub first: Duration,
    pub launches: Vec<Duration>,
}

impl Times {
    pub fn best(&self) -> Duration {
        self.launches.iter().copied().min().unwrap_or_default()
    }

    pub fn median(&self) -> Duration {
        let mut sorted = self.launches.clone();
        sorted.sort_unstable();
        sorted.get(sorted.len() / 2).copied().unwrap_or_default()
    }
}

/// Launches of one runtime before it is the other's turn: the first of a turn finds the caches as the other left them.
const LAUNCHES_A_TURN: usize = 3;

/// Measures a case on every backend, in turns, after checking each one's first result.
pub fn measure(case: &Case, backends: &[&dyn Backend], rounds: usize) -> Result<Vec<Times>> {
    let mut prepared = Vec::new();
    let mut times = Vec::new();
    for backend in backends {
        let (kernel, start) = backend.prepare(case)?;
        kernel.launch()?;
        times.push(Times { first: start.elapsed(), launches: Vec::new() });
        (case.verify)(&kernel.buffers()).map_err(|what| format!("{}: {what}", case.name))?;
        prepared.push(kernel);
    }
    for _ in 0..rounds {
        for (kernel, times) in prepared.iter().zip(&mut times) {
            for _ in 0..LAUNCHES_A_TURN {
                let start = Instant::now();
                kernel.launch()?;
                times.launches.push(start.elapsed());
            }
        }
    }
    Ok(times)
}
