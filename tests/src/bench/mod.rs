//! The benchmark: kernels that programs have, on the driver and on its competitors, from the same SPIR-V.
//!
//! A case (`cases`) is data: a module, launches, inputs, what they must leave, and what bounds it. A competitor is a
//! [`Backend`]. What was measured is a [`report::Report`], which is written as a page, pictures and JSON.

pub mod cases;
pub mod figures;
pub mod images;
pub mod level_zero;
pub mod native;
pub mod opencl;
pub mod own;
pub mod page;
pub mod pictures;
pub mod report;

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

/// Says whether the buffers hold what the case must leave.
pub type Verify = Box<dyn Fn(&[&[u8]]) -> std::result::Result<(), String>>;

/// What a loop of one's own would need at least.
pub enum Limit {
    /// No native loop does the same.
    Unknown,
    /// Memory: bytes that are only read, changed in place, and only written.
    Memory { read: usize, update: usize, write: usize },
    /// So many multiplications with an addition, of f32.
    Multiplications(u64),
    /// The same of f64.
    DoubleMultiplications(u64),
    /// A filter over images, by hand.
    Filter,
    /// A loop with the processor's vectors that computes the same into the same buffers.
    Loop(native::Loop),
}

/// One launch of a kernel.
pub struct Launch {
    pub kernel: &'static str,
    pub groups: [u32; 3],
    pub group_size: [u32; 3],
    pub args: Vec<Arg>,
}

/// One thing to measure.
pub struct Case {
    pub name: &'static str,
    pub module: &'static str,
    /// What is launched, one after the other.
    pub launches: Vec<Launch>,
    /// Contents of the buffers before the first launch.
    pub buffers: Vec<Vec<u8>>,
    pub verify: Verify,
    /// Whether the kernel computes its indices in 32 bits.
    pub int_indices: bool,
    pub limit: Limit,
}

impl Case {
    /// A case without launches yet.
    pub fn new(name: &'static str, module: &'static str, buffers: Vec<Vec<u8>>, verify: Verify) -> Case {
        let limit = Limit::Unknown;
        Case { name, module, launches: Vec::new(), buffers, verify, int_indices: false, limit }
    }

    /// Adds a launch.
    pub fn launch(
        mut self,
        kernel: &'static str,
        groups: [u32; 3],
        group_size: [u32; 3],
        args: Vec<Arg>,
    ) -> Case {
        self.launches.push(Launch { kernel, groups, group_size, args });
        self
    }

    /// Adds a launch of so many work-items in a row, a multiple of the group's size.
    fn launch_over(self, kernel: &'static str, items: usize, group: u32, args: Vec<Arg>) -> Case {
        self.launch(kernel, [items as u32 / group, 1, 1], [group, 1, 1], args)
    }

    /// Says what bounds it.
    pub fn limit(self, limit: Limit) -> Case {
        Case { limit, ..self }
    }

    /// Says that its indices have 32 bits.
    pub fn int(self) -> Case {
        Case { int_indices: true, ..self }
    }

    /// The same with another kernel, whose indices have 32 bits.
    fn by(mut self, name: &'static str, module: &'static str, kernel: &'static str) -> Case {
        self.launches[0].kernel = kernel;
        Case { name, module, ..self }.int()
    }

    /// The kernels that it launches, each once.
    pub fn kernels(&self) -> Vec<&'static str> {
        let mut names: Vec<_> = self.launches.iter().map(|launch| launch.kernel).collect();
        names.sort_unstable();
        names.dedup();
        names
    }
}

/// Who computes.
pub trait Backend {
    /// What a column is called.
    fn name(&self) -> &'static str;
    /// Device and version.
    fn version(&self) -> String;
    /// Prepares the case's buffers, then builds its kernels and sets the arguments. Also says when the building began. None: it
    /// does not take part in this case.
    fn prepare(&self, case: &Case) -> Result<Option<(Box<dyn Prepared>, Instant)>>;
}

/// A case that is ready to be launched.
pub trait Prepared {
    /// Launches it once and waits.
    fn launch(&self) -> Result<()>;
    /// The buffers as the host sees them.
    fn buffers(&self) -> Vec<&[u8]>;
    /// Whether the buffers hold the case's results after a launch.
    fn has_results(&self) -> bool {
        true
    }
}

/// What was measured of one case on one competitor.
pub struct Times {
    /// From SPIR-V to the result of the first launch, each time anew.
    pub firsts: Vec<Duration>,
    pub launches: Vec<Duration>,
}

fn median(times: &[Duration]) -> Duration {
    let mut sorted = times.to_vec();
    sorted.sort_unstable();
    sorted.get(sorted.len() / 2).copied().unwrap_or_default()
}

impl Times {
    pub fn best(&self) -> Duration {
        self.launches.iter().copied().min().unwrap_or_default()
    }

    pub fn median(&self) -> Duration {
        median(&self.launches)
    }

    pub fn first(&self) -> Duration {
        median(&self.firsts)
    }
}

/// How long to measure.
#[derive(Clone, Copy)]
pub struct Effort {
    /// How often each builds the kernels anew.
    pub builds: usize,
    /// Turns of each, while there is time.
    pub rounds: usize,
    /// How long all launches of a competitor before the timed ones may take: better code is made meanwhile.
    pub warm_up: Duration,
    /// How long the timed launches of a competitor may take.
    pub limit: Duration,
}

impl Effort {
    pub fn full() -> Effort {
        let [warm_up, limit] = [250, 800].map(Duration::from_millis);
        Effort { builds: 3, rounds: 25, warm_up, limit }
    }

    pub fn quick() -> Effort {
        let [warm_up, limit] = [100, 150].map(Duration::from_millis);
        Effort { builds: 1, rounds: 3, warm_up, limit }
    }
}

/// Launches of one competitor before it is the other's turn: the first of a turn finds the caches as the other left them.
const LAUNCHES_A_TURN: usize = 3;

/// Launches before the timed ones.
const MOST_WARM_UPS: usize = 2000;

/// What was measured on one competitor: nothing where it does not take part, or why it failed.
pub type Outcome = std::result::Result<Option<Times>, String>;

/// Builds, launches and checks once.
fn begin(case: &Case, backend: &dyn Backend) -> Result<Option<(Box<dyn Prepared>, Duration)>> {
    let Some((ready, start)) = backend.prepare(case)? else { return Ok(None) };
    ready.launch()?;
    let first = start.elapsed();
    if ready.has_results() {
        (case.verify)(&ready.buffers())?;
    }
    Ok(Some((ready, first)))
}

/// Launches a case once and checks its result.
pub fn check(case: &Case, backend: &dyn Backend) -> Result<()> {
    begin(case, backend).map(drop)
}

/// Measures a case on every competitor, in turns, after checking each one's first result.
pub fn measure(case: &Case, backends: &[&dyn Backend], effort: Effort) -> Vec<Outcome> {
    let mut outcomes = Vec::new();
    let mut ready = Vec::new();
    for build in 0..effort.builds.max(1) {
        let last = build + 1 >= effort.builds;
        for (number, backend) in backends.iter().enumerate() {
            if build == 0 {
                outcomes.push(Ok(None));
            }
            if build > 0 && !matches!(outcomes[number], Ok(Some(_))) {
                continue;
            }
            match begin(case, *backend) {
                Ok(None) => {}
                Ok(Some((prepared, first))) => {
                    if let Ok(times) = &mut outcomes[number] {
                        let new = || Times { firsts: Vec::new(), launches: Vec::new() };
                        times.get_or_insert_with(new).firsts.push(first);
                    }
                    if last {
                        ready.push((number, prepared));
                    }
                }
                Err(error) => outcomes[number] = Err(error.to_string()),
            }
        }
    }
    ready.retain(|(number, prepared)| {
        let start = Instant::now();
        let mut result = Ok(());
        for _ in 0..MOST_WARM_UPS {
            result = prepared.launch();
            if result.is_err() || start.elapsed() > effort.warm_up {
                break;
            }
        }
        if let Err(error) = &result {
            outcomes[*number] = Err(error.to_string());
        }
        result.is_ok()
    });
    let mut spent = vec![Duration::ZERO; backends.len()];
    for _ in 0..effort.rounds {
        for (number, prepared) in &ready {
            for _ in 0..LAUNCHES_A_TURN {
                let Ok(Some(times)) = &mut outcomes[*number] else { break };
                if spent[*number] > effort.limit {
                    break;
                }
                let start = Instant::now();
                let result = prepared.launch();
                let time = start.elapsed();
                times.launches.push(time);
                spent[*number] += time;
                if let Err(error) = result {
                    outcomes[*number] = Err(error.to_string());
                }
            }
        }
    }
    outcomes
}
