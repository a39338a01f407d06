//! Measures kernels on the driver and, in turns in the same process, on the first OpenCL device, from the same SPIR-V.
//!
//! ```text
//! bench [--rounds N] [--alone | --peer | --native] [WORD...]
//! ```
//!
//! Only cases whose name contains one of the words are measured. `--alone` leaves the OpenCL device out, `--peer` the
//! driver. With `--native`, the peer is loops by hand, which the cases over images have.

use std::env;
use std::time::Duration;

use ze_tests::bench::level_zero::LevelZero;
use ze_tests::bench::native::Native;
use ze_tests::bench::opencl::OpenCl;
use ze_tests::bench::{Backend, Result, cases, images, measure};
use ze_tests::platform;

fn milliseconds(time: Duration) -> String {
    format!("{:.3}", time.as_secs_f64() * 1e3)
}

fn main() -> Result<()> {
    let (mut rounds, mut alone, mut only_peer, mut native, mut words) = (9, false, false, false, Vec::new());
    let mut args = env::args().skip(1);
    while let Some(arg) = args.next() {
        match arg.as_str() {
            "--rounds" => rounds = args.next().ok_or("--rounds needs a number")?.parse()?,
            "--alone" => alone = true,
            "--peer" => only_peer = true,
            "--native" => native = true,
            _ => words.push(arg.to_lowercase()),
        }
    }
    let peer = if alone || native { None } else { Some(OpenCl::open()?) };
    let mut backends: Vec<&dyn Backend> = Vec::new();
    if !only_peer {
        println!("driver: {}", platform().device_name().map_err(|error| format!("{error:?}"))?);
        backends.push(&LevelZero);
    }
    if let Some(peer) = &peer {
        println!("peer:   {}", peer.name);
        backends.push(peer);
    }
    if native {
        println!("peer:   loops by hand");
        backends.push(&Native);
    }
    println!("milliseconds, launch and wait; `first` is from SPIR-V to the first result");
    print!("{:24}", "");
    for name in
        backends.iter().zip(if only_peer { ["peer", ""] } else { ["driver", "peer"] }).map(|(_, name)| name)
    {
        print!(" {:>10} {:>10} {:>10}", format!("{name} best"), "median", "first");
    }
    println!("{}", if backends.len() == 2 { " best / peer's best" } else { "" });
    let mut failed = false;
    let others = if native { &[][..] } else { cases::CASES };
    for case in others.iter().chain(images::CASES) {
        let case = case();
        let name = case.name.to_lowercase();
        if !words.is_empty() && !words.iter().any(|word| name.contains(word)) {
            continue;
        }
        print!("{:24}", case.name);
        match measure(&case, &backends, rounds) {
            Ok(times) => {
                for time in &times {
                    print!(
                        " {:>11} {:>10} {:>10}",
                        milliseconds(time.best()),
                        milliseconds(time.median()),
                        milliseconds(time.first)
                    );
                }
                if let [driver, peer] = times.as_slice() {
                    print!(" {:>8.2}", driver.best().as_secs_f64() / peer.best().as_secs_f64());
                }
                println!();
            }
            Err(error) => {
                failed = true;
                println!(" {error}");
            }
        }
    }
    if failed { Err("not every case gave its result".into()) } else { Ok(()) }
}
