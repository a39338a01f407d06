//! Shows that a program which knows nothing of the driver runs on it: finds the device through the loader, computes a
//! matrix product on it and checks the result on the host.
//!
//! `--init` only initialises, and prints the CPU time of that and how many threads it left behind. `--quiet` computes
//! and prints one line.

use std::env;
use std::error::Error;
use std::path::Path;
use std::time::{Duration, Instant};

use ze_headers::ZE_RECORD_REPLAY_GRAPH_EXT_NAME;
use ze_tests::loader::{ALT_DRIVERS_VARIABLE, LOADER_VARIABLE, loader_name};
use ze_tests::process::status;
use ze_tests::{Api, Module, Platform, Random, platform};

const SIZE: usize = 256;

fn main() -> Result<(), Box<dyn Error>> {
    let mode = env::args().nth(1).unwrap_or_default();
    if mode == "--init" {
        return initialise();
    }
    let platform = platform();
    let name = platform.device_name().map_err(|error| format!("{error:?}"))?;
    let (major, minor) = platform.api_version().map_err(|error| format!("{error:?}"))?;
    let drivers = driver_count(platform);
    check_extensions(platform)?;
    if mode != "--quiet" {
        let loader = env::var(LOADER_VARIABLE).unwrap_or_else(|_| "libze_loader.so.1".to_owned());
        println!("Loader:   {loader}, which sees {drivers} driver(s)");
        println!("Driver:   {}, API {major}.{minor}", env::var(ALT_DRIVERS_VARIABLE).unwrap_or_default());
        println!("Device:   {name}");
    }

    let mut random = Random::new(1);
    let (a, b) = (random.floats(SIZE * SIZE, -1.0, 1.0), random.floats(SIZE * SIZE, -1.0, 1.0));
    let c = platform.filled(f32::NAN, SIZE * SIZE);
    let start = Instant::now();
    let module = Module::named("matmul");
    let kernel = module.kernel("matmul_tiled");
    let (tiles, size) = (SIZE as u32 / 16, SIZE as u32);
    let groups = [tiles, tiles, 1];
    let (buffer_a, buffer_b) = (platform.buffer(&a), platform.buffer(&b));
    kernel.run(groups, [16, 16, 1], &[&buffer_a, &buffer_b, &c, &size, &size, &size]);
    let first = start.elapsed();
    let start = Instant::now();
    kernel.run(groups, [16, 16, 1], &[&buffer_a, &buffer_b, &c, &size, &size, &size]);
    let second = start.elapsed();

    let mut worst = 0.0f64;
    for (row, col) in (0..SIZE).flat_map(|row| (0..SIZE).map(move |col| (row, col))) {
        let want: f64 = (0..SIZE).map(|k| f64::from(a[row * SIZE + k]) * f64::from(b[k * SIZE + col])).sum();
        worst = worst.max((f64::from(c[row * SIZE + col]) - want).abs());
    }
    if worst.is_nan() || worst > 1e-4 {
        return Err(format!("the product is wrong: off by {worst:e}").into());
    }
    if mode == "--quiet" {
        println!("ok: {drivers} driver(s), {name}");
    } else {
        println!(
            "Kernel:   matmul_tiled, {SIZE}x{SIZE}, built and run in {first:.2?}, again in {second:.2?}"
        );
        println!("Verified: all {} elements, largest error {worst:.1e}", SIZE * SIZE);
    }
    Ok(())
}

fn driver_count(platform: &Platform) -> u32 {
    let mut count = 0;
    // SAFETY: only the count is asked for.
    unsafe { platform.api.zeDriverGet(&mut count, std::ptr::null_mut()) };
    count
}

/// Fails if the driver lists an extension whose functions programs look for in the loader, and the loader has them not.
fn check_extensions(platform: &Platform) -> Result<(), Box<dyn Error>> {
    let graphs = ZE_RECORD_REPLAY_GRAPH_EXT_NAME.to_str()?;
    let extensions = platform.extensions().map_err(|error| format!("{error:?}"))?;
    let is_listed = extensions.iter().any(|(name, _)| name == graphs);
    let is_there = Api::open(Path::new(&loader_name()))?.has("zeCommandListIsGraphCaptureEnabledExt");
    match is_listed == is_there {
        true => Ok(()),
        false => Err(format!("graphs are listed: {is_listed}; the loader has them: {is_there}").into()),
    }
}

fn initialise() -> Result<(), Box<dyn Error>> {
    let start = cpu_time();
    let api = Api::open_loader()?;
    // SAFETY: a call without pointers.
    let code = unsafe { api.zeInit(0) };
    let elapsed = cpu_time() - start;
    if code != ze_headers::ZE_RESULT_SUCCESS {
        return Err(format!("zeInit returned {}", ze_tests::platform::result_name(code)).into());
    }
    println!("{} us, {} thread(s)", elapsed.as_micros(), status("Threads"));
    Ok(())
}

/// What the process has used, which does not grow while others have the CPUs.
fn cpu_time() -> Duration {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is a valid place to write to.
    unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &mut time) };
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}
