//! Forks again and again while other threads compile, allocate, free, create and destroy handles, start threads, and launch. Each child does
//! all of that too, with as many threads as its parent. The argument is the number of forks. Fails where a child
//! does, or where an alarm ends it. `ZE_CPU_THREADS` says how many threads run kernels.

use std::sync::atomic::{AtomicBool, AtomicPtr, Ordering};
use std::time::{Duration, Instant};

use ze_headers::*;
use ze_tests::{CommandList, EventPool, Fence, ListOptions, Module, Queue, platform};

const ITEMS: usize = 1 << 18;
/// Seconds that a child may take. It does about a second's work.
const SECONDS: u32 = 60;
const NANOSECONDS: u64 = 50_000_000_000;

static STOP: AtomicBool = AtomicBool::new(false);
/// The module that a thread of the parent compiles, or compiled last.
static MODULE: AtomicPtr<Module> = AtomicPtr::new(std::ptr::null_mut());

fn new_module() -> &'static Module {
    Box::leak(Box::new(Module::named("saxpy")))
}

/// Compiles if nobody has, and launches what is worth all threads.
fn run(module: &Module, group_size: u32) {
    let (x, y) = (platform().filled(1.0f32, ITEMS), platform().filled(0.0f32, ITEMS));
    let kernel = module.kernel("saxpy");
    for _ in 0..3 {
        kernel.run_1d(ITEMS, group_size, &[&2.0f32, &x, &y, &(ITEMS as u32)]);
    }
    assert!(y.iter().all(|&y| y == 6.0));
}

fn compile() {
    let module = new_module();
    MODULE.store(std::ptr::from_ref(module).cast_mut(), Ordering::Release);
    run(module, 64);
    run(module, 24);
}

fn allocate() {
    for size in [64, 5000, 5 << 20, 9 << 20] {
        let memory = platform().filled(7u8, size);
        assert!(memory[0] == 7 && memory[size - 1] == 7);
    }
}

fn create_handles() {
    let pool = EventPool::host_visible(4);
    let (event, queue) = (pool.event(2), Queue::new(ListOptions::asynchronous()).unwrap());
    let (list, fence) = (CommandList::regular(false).unwrap(), Fence::new(&queue, false).unwrap());
    list.barrier(Some(&event), &[]).unwrap();
    list.close().unwrap();
    queue.execute(&[&list], Some(&fence)).unwrap();
    fence.wait(NANOSECONDS).unwrap();
    assert!(event.is_signalled());
    queue.synchronize(NANOSECONDS).unwrap();
}

/// A metric group, made active.
fn metrics() -> zet_metric_group_handle_t {
    let (api, mut groups, mut count) = (&platform().api, [std::ptr::null_mut()], 1);
    // SAFETY: live handles and arrays of the length that is said.
    unsafe {
        assert_eq!(
            api.zetMetricGroupGet(platform().device, &mut count, groups.as_mut_ptr()),
            ZE_RESULT_SUCCESS
        );
        let (context, device) = (platform().context, platform().device);
        let code = api.zetContextActivateMetricGroups(context, device, 1, groups.as_mut_ptr());
        assert_eq!(code, ZE_RESULT_SUCCESS);
    }
    groups[0]
}

/// Each metric streamer is a thread.
fn start_threads(metrics: zet_metric_group_handle_t) {
    let api = &platform().api;
    for _ in 0..50 {
        let mut desc = zet_metric_streamer_desc_t {
            stype: ZET_STRUCTURE_TYPE_METRIC_STREAMER_DESC,
            notifyEveryNReports: 1,
            samplingPeriod: 1_000_000,
            ..Default::default()
        };
        let (context, device, mut streamer) = (platform().context, platform().device, std::ptr::null_mut());
        // SAFETY: live handles, and places to write to.
        unsafe {
            let event = std::ptr::null_mut();
            let code = api.zetMetricStreamerOpen(context, device, metrics, &mut desc, event, &mut streamer);
            assert_eq!(code, ZE_RESULT_SUCCESS);
            assert_eq!(api.zetMetricStreamerClose(streamer), ZE_RESULT_SUCCESS);
        }
    }
}

fn launch(module: &Module) {
    let (x, y) = (platform().filled(1.0f32, ITEMS), platform().filled(0.0f32, ITEMS));
    let kernel = module.kernel("saxpy");
    kernel.set_group_size([64, 1, 1]).unwrap();
    kernel.set_arguments(&[&1.0f32, &x, &y, &(ITEMS as u32)]).unwrap();
    let list = CommandList::immediate(ListOptions::in_order()).unwrap();
    let pool = EventPool::host_visible(1);
    let done = pool.event(0);
    for _ in 0..4 {
        list.launch(&kernel, [ITEMS as u32 / 64, 1, 1], None, &[]).unwrap();
    }
    list.barrier(Some(&done), &[]).unwrap();
    done.wait(NANOSECONDS).unwrap();
    list.synchronize(NANOSECONDS).unwrap();
    assert!(y.iter().all(|&y| y == 4.0));
}

/// Threads of this process that run kernels beside the one that launches.
fn kernel_threads() -> usize {
    let names = std::fs::read_dir("/proc/self/task").unwrap().flatten();
    let names = names.filter_map(|task| std::fs::read_to_string(task.path().join("comm")).ok());
    names.filter(|name| name.starts_with("ze-cpu-worker")).count()
}

/// Launches until as many threads run kernels as should: one that has just started is not known by its name yet.
fn launch_on_all_threads(module: &Module, threads: usize) {
    let end = Instant::now() + Duration::from_nanos(NANOSECONDS);
    loop {
        launch(module);
        let found = kernel_threads();
        if found == threads {
            return;
        }
        assert!(
            Instant::now() < end,
            "{found} threads run kernels beside the one that launches, not {threads}"
        );
    }
}

fn child(threads: usize, metrics: zet_metric_group_handle_t) {
    // SAFETY: the default action ends the process.
    unsafe { libc::alarm(SECONDS) };
    // SAFETY: null, or a module that is never dropped.
    if let Some(module) = unsafe { MODULE.load(Ordering::Acquire).as_ref() } {
        run(module, 64);
        run(module, 24);
    }
    compile();
    allocate();
    create_handles();
    start_threads(metrics);
    launch_on_all_threads(new_module(), threads);
}

fn main() {
    let forks = std::env::args().nth(1).map_or(20, |count| count.parse().expect("a number of forks"));
    let module = new_module();
    let threads: usize = std::env::var("ZE_CPU_THREADS")
        .ok()
        .and_then(|count| count.parse().ok())
        .expect("ZE_CPU_THREADS is set");
    let threads = threads - 1;
    launch_on_all_threads(module, threads);
    let metrics = metrics();
    let own = metrics as usize;
    let workers: [Box<dyn Fn() + Send>; 6] = [
        Box::new(compile),
        Box::new(allocate),
        Box::new(create_handles),
        Box::new(create_handles),
        Box::new(move || start_threads(own as zet_metric_group_handle_t)),
        Box::new(move || launch(module)),
    ];
    let workers = workers.map(|work| {
        std::thread::spawn(move || {
            while !STOP.load(Ordering::Relaxed) {
                work();
            }
        })
    });
    for at in 0..forks {
        // Another moment each time.
        std::thread::sleep(Duration::from_micros(u64::from(at % 50u32) * 100));
        // SAFETY: the child ends below.
        let child_id = unsafe { libc::fork() };
        assert!(child_id >= 0, "the process cannot fork");
        if child_id == 0 {
            let done = std::panic::catch_unwind(|| child(threads, metrics)).is_ok();
            // SAFETY: ends the child, without the exit handlers of its parent.
            unsafe { libc::_exit(if done { 0 } else { 1 }) };
        }
        let mut status = 0;
        // SAFETY: `status` is a valid place to write to.
        unsafe { libc::waitpid(child_id, &mut status, 0) };
        assert_eq!(status, 0, "how child {at} ended");
    }
    STOP.store(true, Ordering::Relaxed);
    assert!(workers.into_iter().all(|worker| worker.join().is_ok()));
    // SAFETY: a call without pointers.
    assert_eq!(unsafe { platform().api.zeInit(0) }, ZE_RESULT_SUCCESS);
    println!("ok: {forks} children");
}
