//! Uses the driver where the system gives the process as many threads as the argument says, which may be no more than it
//! has. Fails where that means more than fewer threads.

use ze_tests::{CommandList, ListOptions, Module, platform, spirv};

const ITEMS: usize = 1 << 18;
/// The system does not limit root: this user is limited, who has no other processes.
const USER: libc::uid_t = 54_321;
const SECONDS: u32 = 60;

fn main() {
    // SAFETY: the default action ends the process.
    unsafe { libc::alarm(SECONDS) };
    let most: libc::rlim_t = std::env::args().nth(1).map_or(1, |most| most.parse().expect("a number"));
    // Opened with the rights to do so.
    let (module, other) = (Module::named("saxpy"), spirv("matmul"));
    // SAFETY: plain values.
    unsafe {
        let limit = libc::rlimit { rlim_cur: most, rlim_max: most };
        assert_eq!(libc::setrlimit(libc::RLIMIT_NPROC, &limit), 0);
        if libc::geteuid() == 0 {
            assert_eq!(libc::setresuid(USER, USER, USER), 0);
        }
    }
    let (x, y) = (platform().filled(1.0f32, ITEMS), platform().filled(0.0f32, ITEMS));
    for group_size in [64, 24, 1] {
        let kernel = module.kernel("saxpy");
        kernel.run_1d(ITEMS, group_size, &[&1.0f32, &x, &y, &(ITEMS as u32)]);
        let list = CommandList::immediate(ListOptions::asynchronous()).unwrap();
        list.launch(&kernel, [(ITEMS as u32).div_ceil(group_size), 1, 1], None, &[]).unwrap();
        list.synchronize(u64::MAX).unwrap();
    }
    assert!(y.iter().all(|&y| y == 6.0));
    let other = Module::new(&other).unwrap();
    for name in other.kernel_names().unwrap() {
        other.kernel(&name);
    }
    println!("ok: at most {most} threads");
}
