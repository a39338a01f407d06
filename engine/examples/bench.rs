//! Times the engine on the end-to-end tests' kernels, and checks what they compute.
//!
//! `cargo run --release -p ze-engine --example bench [NAME...]`, in the top folder of the project. The environment
//! variable `BENCH_DUMP=ir,asm:DIR` writes what the engine makes of the kernels.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};
use ze_engine::jit::dump::DumpConfig;
use ze_engine::jit::hash::digest;
use ze_engine::{Dispatch, Engine, EngineConfig, Kernel};

const RUNS: usize = 9;

/// A kernel of one of the test modules, with its arguments.
struct Launch {
    kernel: Arc<Kernel>,
    args: Vec<u8>,
    next: usize,
    compiled: Duration,
}

impl Launch {
    fn new(engine: &Arc<Engine>, module: &str, name: &str, size: [u32; 3]) -> Launch {
        let path = Path::new("tests/kernels").join(module).with_extension("spv");
        let bytes = std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let profile = ze_extensions::DeviceProfile::host();
        let environment = spirv_env::Environment::new(&profile).with_engine(&Engine::supports);
        let built = spirv_env::build(&[spirv_env::ModuleInput::new(&bytes)], &environment).expect("valid");
        let program = engine.load(Arc::new(built), digest(&[&bytes])).expect("loads");
        let kernel = program.kernel(name).expect("the module has the kernel");
        let start = Instant::now();
        kernel.prepare(size).expect("compiles");
        let compiled = start.elapsed();
        let args = vec![0; kernel.reflection().arg_block_size as usize];
        Launch { kernel, args, next: 0, compiled }
    }

    fn arg(mut self, bytes: &[u8]) -> Launch {
        let at = self.kernel.reflection().args[self.next].offset as usize;
        self.args[at..at + bytes.len()].copy_from_slice(bytes);
        self.next += 1;
        self
    }

    fn buffer<T>(self, buffer: &[T]) -> Launch {
        self.arg(&(buffer.as_ptr() as u64).to_le_bytes())
    }

    fn f32(self, value: f32) -> Launch {
        self.arg(&value.to_le_bytes())
    }

    fn u32(self, value: u32) -> Launch {
        self.arg(&value.to_le_bytes())
    }

    fn local(self, bytes: u64) -> Launch {
        self.arg(&bytes.to_le_bytes())
    }

    fn run(&self, group_count: [u32; 3], group_size: [u32; 3]) {
        assert_eq!(self.next, self.kernel.reflection().args.len(), "every argument is set");
        let dispatch = Dispatch { group_count, group_size, global_offset: [0; 3], args: &self.args };
        self.kernel.launch(&dispatch).expect("launches");
    }

    /// The best time of several launches.
    fn time(&self, name: &str, group_count: [u32; 3], group_size: [u32; 3]) {
        let once = || {
            let start = Instant::now();
            self.run(group_count, group_size);
            start.elapsed()
        };
        let best = (0..RUNS).map(|_| once()).min().unwrap_or_default();
        println!(
            "{name:<24} {:>9.3} ms   compiled in {:.1} ms",
            milliseconds(best),
            milliseconds(self.compiled)
        );
    }
}

fn milliseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

/// Numbers between 0 and 1 that look random.
fn noise(count: usize) -> Vec<f32> {
    let mut state = 0x9e37_79b9u32;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
        (state >> 8) as f32 / (1 << 24) as f32
    };
    (0..count).map(|_| next()).collect()
}

fn check(name: &str, computed: &[f32], expected: impl Fn(usize) -> f64, tolerance: f64) {
    // A prime stride looks at enough of a large result.
    for at in (0..computed.len()).step_by(if computed.len() > 1 << 16 { 101 } else { 1 }) {
        let (got, want) = (f64::from(computed[at]), expected(at));
        assert!((got - want).abs() <= tolerance * want.abs().max(1.0), "{name}[{at}] is {got}, not {want}");
    }
}

fn saxpy(engine: &Arc<Engine>) {
    const N: usize = 16 << 20;
    let (x, y) = (noise(N), vec![1f32; N]);
    let launch = Launch::new(engine, "saxpy", "saxpy", [256, 1, 1]);
    let launch = launch.f32(2.0).buffer(&x).buffer(&y).u32(N as u32);
    launch.run([N as u32 / 256, 1, 1], [256, 1, 1]);
    check("saxpy", &y, |i| 2.0 * f64::from(x[i]) + 1.0, 1e-6);
    launch.time("saxpy 16 M", [N as u32 / 256, 1, 1], [256, 1, 1]);
}

fn matmul(engine: &Arc<Engine>, kernel: &str) {
    const N: usize = 512;
    let (a, b, c) = (noise(N * N), noise(N * N), vec![0f32; N * N]);
    let launch = Launch::new(engine, "matmul", kernel, [16, 16, 1]);
    let launch = launch.buffer(&a).buffer(&b).buffer(&c).u32(N as u32).u32(N as u32).u32(N as u32);
    launch.run([N as u32 / 16, N as u32 / 16, 1], [16, 16, 1]);
    let product = |i: usize| {
        let (row, col) = (i / N, i % N);
        (0..N).map(|k| f64::from(a[row * N + k]) * f64::from(b[k * N + col])).sum()
    };
    check(kernel, &c, product, 1e-4);
    launch.time(&format!("{kernel} 512"), [N as u32 / 16, N as u32 / 16, 1], [16, 16, 1]);
}

fn nbody(engine: &Arc<Engine>) {
    const N: usize = 8192;
    const DT: f32 = 0.01;
    let (position, velocity) = (noise(4 * N), vec![0f32; 4 * N]);
    let (next_position, next_velocity) = (vec![0f32; 4 * N], vec![0f32; 4 * N]);
    let launch = Launch::new(engine, "nbody", "nbody_step", [256, 1, 1]);
    let launch = launch.buffer(&position).buffer(&velocity).buffer(&next_position).buffer(&next_velocity);
    let launch = launch.u32(N as u32).f32(DT).f32(0.01);
    launch.run([N as u32 / 256, 1, 1], [256, 1, 1]);
    for i in (0..N).step_by(997) {
        let at = |j: usize, c: usize| f64::from(position[4 * j + c]);
        for c in 0..3 {
            let pull = |j: usize| {
                let d2: f64 = (0..3).map(|c| (at(j, c) - at(i, c)).powi(2)).sum::<f64>() + 0.01;
                (at(j, c) - at(i, c)) * at(j, 3) / (d2 * d2.sqrt())
            };
            let want = (0..N).map(pull).sum::<f64>() * f64::from(DT);
            let got = f64::from(next_velocity[4 * i + c]);
            assert!((got - want).abs() < 1e-3 * want.abs().max(1.0), "velocity[{i}] {got} {want}");
        }
    }
    launch.time("nbody 8192", [N as u32 / 256, 1, 1], [256, 1, 1]);
}

fn mandelbrot(engine: &Arc<Engine>) {
    const N: usize = 1024;
    let counts = vec![0u32; N * N];
    let launch = Launch::new(engine, "mandelbrot", "mandelbrot", [16, 16, 1]);
    let launch = launch.buffer(&counts).u32(N as u32).u32(N as u32);
    let launch = launch.f32(-2.0).f32(-1.5).f32(3.0 / N as f32).u32(500);
    launch.run([N as u32 / 16, N as u32 / 16, 1], [16, 16, 1]);
    assert_eq!(counts[N * N / 2 + N / 2], 500);
    launch.time("mandelbrot 1024", [N as u32 / 16, N as u32 / 16, 1], [16, 16, 1]);
}

fn black_scholes(engine: &Arc<Engine>) {
    const N: usize = 2 << 20;
    let above = |least: f32| noise(N).into_iter().map(|x| least + x).collect::<Vec<f32>>();
    let (spot, strike, years, call, put) = (above(0.5), above(0.6), above(0.2), vec![0f32; N], vec![0f32; N]);
    let launch = Launch::new(engine, "black_scholes", "black_scholes", [256, 1, 1]);
    let launch = launch.buffer(&spot).buffer(&strike).buffer(&years).buffer(&call).buffer(&put);
    let launch = launch.f32(0.02).f32(0.3).u32(N as u32);
    launch.run([N as u32 / 256, 1, 1], [256, 1, 1]);
    // Put-call parity.
    let parity = |i: usize| {
        f64::from(call[i]) - f64::from(spot[i]) + f64::from(strike[i]) * (-0.02 * f64::from(years[i])).exp()
    };
    check("put", &put, parity, 1e-4);
    launch.time("black_scholes 2 M", [N as u32 / 256, 1, 1], [256, 1, 1]);
}

fn reduction(engine: &Arc<Engine>) {
    const N: usize = 16 << 20;
    const GROUPS: u32 = 256;
    let (input, partial) = (noise(N), vec![0f32; GROUPS as usize]);
    let launch = Launch::new(engine, "reduction", "reduce_float", [256, 1, 1]);
    let launch = launch.buffer(&input).buffer(&partial).local(4 * 256).u32(N as u32);
    launch.run([GROUPS, 1, 1], [256, 1, 1]);
    let (sum, want): (f64, f64) =
        (partial.iter().copied().map(f64::from).sum(), input.iter().copied().map(f64::from).sum());
    assert!((sum - want).abs() < 1e-5 * want, "{sum} {want}");
    launch.time("reduction 16 M", [GROUPS, 1, 1], [256, 1, 1]);
}

fn histogram(engine: &Arc<Engine>) {
    const N: usize = 16 << 20;
    const GROUPS: u32 = 256;
    let input: Vec<u8> = noise(N).into_iter().map(|x| (x * 256.0) as u8).collect();
    let bins = vec![0u32; 256];
    let launch = Launch::new(engine, "histogram", "histogram", [256, 1, 1]);
    let launch = launch.buffer(&input).buffer(&bins).u32(N as u32);
    launch.run([GROUPS, 1, 1], [256, 1, 1]);
    assert_eq!(bins.iter().sum::<u32>() as usize, N);
    assert_eq!(bins[7] as usize, input.iter().filter(|byte| **byte == 7).count());
    launch.time("histogram 16 M", [GROUPS, 1, 1], [256, 1, 1]);
}

fn transpose(engine: &Arc<Engine>) {
    const ROWS: usize = 4096;
    const COLS: usize = 2048;
    let (input, out) = (noise(ROWS * COLS), vec![0f32; ROWS * COLS]);
    let launch = Launch::new(engine, "transpose", "transpose", [16, 16, 1]);
    let launch = launch.buffer(&input).buffer(&out).u32(ROWS as u32).u32(COLS as u32);
    launch.run([COLS as u32 / 16, ROWS as u32 / 16, 1], [16, 16, 1]);
    check("transpose", &out, |i| f64::from(input[i % ROWS * COLS + i / ROWS]), 0.0);
    launch.time("transpose 4096x2048", [COLS as u32 / 16, ROWS as u32 / 16, 1], [16, 16, 1]);
}

fn stencil(engine: &Arc<Engine>) {
    const N: usize = 2048;
    let (input, out) = (noise(N * N), vec![0f32; N * N]);
    let launch = Launch::new(engine, "stencil", "stencil5", [256, 1, 1]);
    let launch = launch.buffer(&input).buffer(&out).u32(N as u32).u32(N as u32).f32(0.5).f32(0.125);
    launch.run([N as u32 / 256, N as u32, 1], [256, 1, 1]);
    let expected = |i: usize| {
        let (x, y) = (i % N, i / N);
        let at = |i: usize| f64::from(input[i]);
        if x == 0 || y == 0 || x == N - 1 || y == N - 1 {
            return at(i);
        }
        0.5 * at(i) + 0.125 * (at(i - 1) + at(i + 1) + at(i - N) + at(i + N))
    };
    check("stencil", &out, expected, 1e-6);
    launch.time("stencil 2048", [N as u32 / 256, N as u32, 1], [256, 1, 1]);
}

fn spmv(engine: &Arc<Engine>) {
    const ROWS: usize = 262_144;
    let lengths: Vec<u32> = noise(ROWS).into_iter().map(|x| (x * 32.0) as u32).collect();
    let starts: Vec<u32> = std::iter::once(0)
        .chain(lengths.iter().scan(0, |sum, length| {
            *sum += length;
            Some(*sum)
        }))
        .collect();
    let entries = starts[ROWS] as usize;
    let columns: Vec<u32> = noise(entries).into_iter().map(|x| (x * ROWS as f32) as u32).collect();
    let (values, x, y) = (noise(entries), noise(ROWS), vec![0f32; ROWS]);
    let launch = Launch::new(engine, "spmv", "spmv_csr", [256, 1, 1]);
    let launch =
        launch.buffer(&starts).buffer(&columns).buffer(&values).buffer(&x).buffer(&y).u32(ROWS as u32);
    launch.run([ROWS as u32 / 256, 1, 1], [256, 1, 1]);
    let expected = |row: usize| {
        let range = starts[row] as usize..starts[row + 1] as usize;
        range.map(|i| f64::from(values[i]) * f64::from(x[columns[i] as usize])).sum()
    };
    check("spmv", &y, expected, 1e-5);
    launch.time("spmv 262144", [ROWS as u32 / 256, 1, 1], [256, 1, 1]);
}

fn integer_mixing(engine: &Arc<Engine>) {
    const N: usize = 1 << 20;
    let state: Vec<u32> = (0..N as u32).collect();
    let launch = Launch::new(engine, "integer_mixing", "integer_mixing", [256, 1, 1]);
    let launch = launch.buffer(&state).u32(N as u32).u32(256);
    launch.run([N as u32 / 256, 1, 1], [256, 1, 1]);
    launch.time("integer_mixing 1 M x 256", [N as u32 / 256, 1, 1], [256, 1, 1]);
}

fn main() {
    let dump = std::env::var("BENCH_DUMP").ok().map(|text| DumpConfig::parse(&text).expect("kinds:folder"));
    let threads = std::env::var("BENCH_THREADS").ok().and_then(|text| text.parse().ok()).unwrap_or(0);
    let engine = Engine::new(EngineConfig { dump, threads, ..EngineConfig::default() });
    type Benchmark = (&'static str, fn(&Arc<Engine>));
    let benchmarks: [Benchmark; 12] = [
        ("saxpy", saxpy),
        ("matmul_naive", |engine| matmul(engine, "matmul_naive")),
        ("matmul_tiled", |engine| matmul(engine, "matmul_tiled")),
        ("nbody", nbody),
        ("mandelbrot", mandelbrot),
        ("black_scholes", black_scholes),
        ("reduction", reduction),
        ("histogram", histogram),
        ("transpose", transpose),
        ("stencil", stencil),
        ("spmv", spmv),
        ("integer_mixing", integer_mixing),
    ];
    let wanted: Vec<String> = std::env::args().skip(1).collect();
    for (name, benchmark) in benchmarks {
        if wanted.is_empty() || wanted.iter().any(|wanted| wanted == name) {
            benchmark(&engine);
        }
    }
}
