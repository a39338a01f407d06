//! Measures what the engine itself costs: compiling, loading, launching, and switching at barriers.
//!
//! `cargo run --release -p ze-engine --example latency`

use spirv_env::{ArgKind, Id, Kernel, KernelArg, TypeId};
use std::hint::black_box;
use std::mem::offset_of;
use std::sync::Arc;
use std::time::{Duration, Instant};
use ze_engine::abi::{CodeInfo, LaneMapping, Variant, Worker};
use ze_engine::exec::{Arguments, Code, Plan, Range, Scheduler};
use ze_engine::jit::pipeline::{self, Tier};
use ze_engine::jit::target::Target;
use ze_engine::jit::{Context, IrModule, load, symbols};

const EMPTY: &str = "
define void @ze_cpu_kernel(ptr %info, ptr %worker, i64 %first, i64 %groups, i32 %along_y) { ret void }";

/// Twice as many barriers as the first argument says, at two places in turn, and nothing between them.
const BARRIERS: &str = "
define void @ze_cpu_kernel(ptr %info, ptr %worker, i64 %first, i64 %groups, i32 %along_y, i32 %bundle) {
  %args = load ptr, ptr %info
  %count = load i64, ptr %args
  %barrier.at = getelementptr i8, ptr %worker, i64 BARRIER
  %barrier = load ptr, ptr %barrier.at
  br label %loop
loop:
  %at = phi i64 [ 0, %0 ], [ %next, %loop ]
  call void %barrier(ptr %worker)
  call void %barrier(ptr %worker)
  %next = add i64 %at, 1
  %more = icmp ult i64 %next, %count
  br i1 %more, label %loop, label %done
done:
  ret void
}";

/// A kernel of ordinary size: y = a * x + y over the range's work-groups of 16, with a call and a constant table.
const SAXPY: &str = "
@table = private constant [4 x float] [float 1.0, float 2.0, float 3.0, float 4.0]
declare float @sinf(float)
define void @ze_cpu_kernel(ptr %info, ptr %worker, i64 %first, i64 %groups, i32 %along_y) {
entry:
  %args = load ptr, ptr %info
  %x = load ptr, ptr %args
  %y.at = getelementptr i8, ptr %args, i64 8
  %y = load ptr, ptr %y.at
  %last = add i64 %first, %groups
  %entry.at = and i64 %first, 3
  %t = getelementptr [4 x float], ptr @table, i64 0, i64 %entry.at
  %t0 = load float, ptr %t
  %a = call float @sinf(float %t0)
  %s = insertelement <16 x float> poison, float %a, i32 0
  %splat = shufflevector <16 x float> %s, <16 x float> poison, <16 x i32> zeroinitializer
  br label %loop
loop:
  %group = phi i64 [ %first, %entry ], [ %next, %loop ]
  %base = mul i64 %group, 16
  %px = getelementptr float, ptr %x, i64 %base
  %py = getelementptr float, ptr %y, i64 %base
  %vx = load <16 x float>, ptr %px, align 4
  %vy = load <16 x float>, ptr %py, align 4
  %m = fmul <16 x float> %vx, %splat
  %r = fadd <16 x float> %m, %vy
  store <16 x float> %r, ptr %py, align 4
  %next = add i64 %group, 1
  %more = icmp ult i64 %next, %last
  br i1 %more, label %loop, label %done
done:
  ret void
}";

fn object(text: &str, target: &Target, tier: Tier) -> Vec<u8> {
    let context = Context::new();
    let text = text.replace("BARRIER", &offset_of!(Worker, barrier).to_string());
    let ir = IrModule::parse(&context, &text, target).expect("IR");
    ir.verify().expect("valid");
    pipeline::optimise(&ir, target, tier).expect("passes");
    pipeline::object_code(ir, target, tier).expect("code").bytes
}

fn code(text: &str, target: &Target, has_barrier: bool) -> Arc<Code> {
    let object = object(text, target, Tier::Optimising);
    let loaded = load::load(&object, &symbols::function_address).expect("loads");
    let variant = Variant::new(16, LaneMapping::Rows);
    let info = CodeInfo { has_barrier, ..CodeInfo::default() };
    Arc::new(Code::new(loaded, info, variant).expect("entry"))
}

/// Arguments with this value of this many bytes.
fn arguments(value: &[u8]) -> Arguments {
    let bytes = value.len() as u64;
    let arg = KernelArg {
        name: "argument".into(),
        type_name: String::new(),
        kind: ArgKind::Value,
        ty: TypeId(0),
        size: bytes,
        offset: 0,
        restrict: false,
        constant: false,
        volatile: false,
    };
    let kernel = Kernel {
        name: "kernel".into(),
        function: Id(1),
        args: vec![arg],
        arg_block_size: bytes,
        arg_block_align: 8,
        required_group_size: None,
        group_size_hint: None,
        required_subgroup_size: None,
        uses_subgroups: false,
        subgroup_sizes: vec![8, 16, 32],
        least_lanes: 0,
        has_loops: false,
        has_small_values: false,
        divisors: Vec::new(),
        may_wait: false,
        size: 0,
        uses_barrier: false,
        indirect: Vec::new(),
        local_variables: Vec::new(),
        static_local_size: 0,
        zeroed_local: 0..0,
        sees_groups: true,
        private_size: 0,
        modes: Vec::new(),
        attributes: String::new(),
        prints: false,
    };
    let mut arguments = Arguments::new(&kernel).expect("memory");
    arguments.set(&kernel.args[0], value);
    arguments
}

/// The best of several measurements of `count` calls, for one call.
fn best(count: u32, mut work: impl FnMut()) -> Duration {
    let once = |work: &mut dyn FnMut()| {
        let start = Instant::now();
        (0..count).for_each(|_| work());
        start.elapsed() / count
    };
    (0..7).map(|_| once(&mut work)).min().unwrap_or_default()
}

fn plan(code: &Arc<Code>, groups: u32, items: u32) -> Plan {
    let range = Range { group_count: [groups, 1, 1], group_size: [items, 1, 1], global_offset: [0; 3] };
    Plan::new(Arc::clone(code), range, range, 0).expect("a range")
}

fn run(scheduler: &Scheduler, plan: &Plan, arguments: &Arguments) {
    plan.run(scheduler, "kernel", arguments, 0, None).expect("launches");
}

fn main() {
    let start = Instant::now();
    let target = Target::host().expect("target");
    println!("target                            {:>10.1?}   {}", start.elapsed(), target.cpu());
    for tier in [Tier::Fast, Tier::Optimising] {
        let time = best(20, || drop(black_box(object(SAXPY, &target, tier))));
        println!("compile a small kernel            {time:>10.1?}   {tier:?}");
    }
    let small = object(SAXPY, &target, Tier::Optimising);
    let time = best(200, || drop(black_box(load::load(&small, &symbols::function_address).expect("loads"))));
    println!("load and free object code         {time:>10.1?}   {} bytes", small.len());

    let (empty, one) = (code(EMPTY, &target, false), Scheduler::new(1));
    let scheduler = Scheduler::new(std::thread::available_parallelism().map_or(1, usize::from));
    let plain = arguments(&[0; 8]);
    for groups in [1, 64, 4096] {
        let plan = plan(&empty, groups, 256);
        let time = best(10_000, || run(&scheduler, &plan, &plain));
        println!("launch an empty kernel            {time:>10.1?}   {groups} groups");
    }

    let mut memory = vec![0f32; 16 << 20];
    let (x, y) = memory.split_at_mut(8 << 20);
    let args = [x.as_mut_ptr() as u64, y.as_mut_ptr() as u64].map(u64::to_le_bytes).concat();
    let (saxpy, args) = (code(SAXPY, &target, false), arguments(&args));
    for (scheduler, groups) in
        [(&one, 1 << 19), (&scheduler, 1 << 19), (&one, 1 << 12), (&scheduler, 1 << 12)]
    {
        let plan = plan(&saxpy, groups, 16);
        let time = best(10, || run(scheduler, &plan, &args));
        println!(
            "saxpy                             {time:>10.1?}   {} items, {} threads",
            groups * 16,
            scheduler.threads()
        );
    }

    let barriers = code(BARRIERS, &target, true);
    for subgroups in [1, 2, 16, 64] {
        const COUNT: u64 = 100_000;
        let (args, plan) = (arguments(&COUNT.to_le_bytes()), plan(&barriers, 1, subgroups * 16));
        let time = best(1, || run(&one, &plan, &args));
        let switches = 2.0 * COUNT as f64 * f64::from(subgroups);
        println!(
            "barrier of one sub-group          {:>8.2}ns   {subgroups} sub-groups",
            time.as_nanos() as f64 / switches
        );
    }
    for subgroups in [2, 16] {
        const GROUPS: u32 = 10_000;
        let (args, plan) = (arguments(&1u64.to_le_bytes()), plan(&barriers, GROUPS, subgroups * 16));
        let time = best(1, || run(&one, &plan, &args));
        let each = time.as_nanos() as f64 / f64::from(GROUPS * subgroups);
        println!("sub-group with two barriers       {each:>8.2}ns   {subgroups} sub-groups, {GROUPS} groups");
    }
}
