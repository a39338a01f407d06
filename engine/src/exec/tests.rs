//! Launches of hand-written code: both kinds of entry, on one and on several threads.

use super::arguments::Arguments;
use super::launch::{Code, Plan, Range};
use super::promotion::Promotion;
use super::scheduler::Scheduler;
use crate::abi::{CodeInfo, LaneMapping, LaunchInfo, Variant, Worker};
use crate::error::{EngineError, LaunchFault};
use crate::fork::OnceLock;
use crate::jit::pipeline::{self, Tier};
use crate::jit::target::Target;
use crate::jit::{Context, IrModule, load, symbols};
use spirv_env::{ArgKind, Id, Kernel, KernelArg, TypeId};
use std::mem::offset_of;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak, mpsc};

/// Adds one to `out[group]` for each work-group of the run.
const COUNT_GROUPS: &str = "
define void @ze_cpu_kernel(ptr %info, ptr %worker, i64 %first, i64 %count, i32 %along_y) {
entry:
  %args = load ptr, ptr %info
  %out = load ptr, ptr %args
  %last = add i64 %first, %count
  br label %loop
loop:
  %group = phi i64 [ %first, %entry ], [ %next, %loop ]
  %place = getelementptr i32, ptr %out, i64 %group
  %old = load i32, ptr %place
  %new = add i32 %old, 1
  store i32 %new, ptr %place
  %next = add i64 %group, 1
  %more = icmp ult i64 %next, %last
  br i1 %more, label %loop, label %done
done:
  ret void
}";

/// Each sub-group writes `group + subgroup` to local memory and reads its neighbour's, with barriers between,
/// `rounds` times; the sum goes to `out[group * subgroups + subgroup]`. Arguments: out, rounds.
const NEIGHBOURS: &str = "
define internal void @group(ptr %info, ptr %worker, i64 %group, i32 %subgroup) {
entry:
  %args = load ptr, ptr %info
  %out = load ptr, ptr %args
  %rounds.at = getelementptr i8, ptr %args, i64 8
  %rounds = load i32, ptr %rounds.at
  %local = load ptr, ptr %worker
  %barrier.at = getelementptr i8, ptr %worker, i64 BARRIER
  %barrier = load ptr, ptr %barrier.at
  %count.at = getelementptr i8, ptr %info, i64 SUBGROUPS
  %count = load i32, ptr %count.at
  %mine = getelementptr i64, ptr %local, i32 %subgroup
  %after = add i32 %subgroup, 1
  %neighbour = urem i32 %after, %count
  %theirs = getelementptr i64, ptr %local, i32 %neighbour
  %wide = zext i32 %subgroup to i64
  %start = add i64 %group, %wide
  br label %loop
loop:
  %round = phi i32 [ 0, %entry ], [ %next, %loop ]
  %sum = phi i64 [ 0, %entry ], [ %total, %loop ]
  %value = phi i64 [ %start, %entry ], [ %changed, %loop ]
  store i64 %value, ptr %mine
  call void %barrier(ptr %worker)
  %read = load i64, ptr %theirs
  %total = add i64 %sum, %read
  call void %barrier(ptr %worker)
  %changed = add i64 %value, 1
  %next = add i32 %round, 1
  %more = icmp ult i32 %next, %rounds
  br i1 %more, label %loop, label %done
done:
  %wide.count = zext i32 %count to i64
  %row = mul i64 %group, %wide.count
  %at = add i64 %row, %wide
  %place = getelementptr i64, ptr %out, i64 %at
  store i64 %total, ptr %place
  ret void
}";

/// The entry point of code with barriers, which says what one sub-group does in one work-group.
const EACH_GROUP: &str = "
define void @ze_cpu_kernel(ptr %info, ptr %worker, i64 %first, i64 %count, i32 %along_y, i32 %bundle) {
entry:
  %next.at = getelementptr i8, ptr %worker, i64 NEXT_GROUP
  %next = load ptr, ptr %next.at
  br label %loop
loop:
  %done = phi i64 [ 0, %entry ], [ %now, %between ]
  %group = add i64 %first, %done
  call void @group(ptr %info, ptr %worker, i64 %group, i32 %bundle)
  %now = add i64 %done, 1
  %more = icmp ult i64 %now, %count
  br i1 %more, label %between, label %end
between:
  call void %next(ptr %worker)
  br label %loop
end:
  ret void
}";

fn compile(text: &str, has_barrier: bool) -> Arc<Code> {
    let (target, context) = (Target::host().expect("target"), Context::new());
    let text = format!("{text}{}", if has_barrier { EACH_GROUP } else { "" });
    let text = text.replace("NEXT_GROUP", &offset_of!(Worker, next_group).to_string());
    let text = text.replace("BARRIER", &offset_of!(Worker, barrier).to_string());
    let text = text.replace("SUBGROUPS", &offset_of!(LaunchInfo, subgroups).to_string());
    let ir = IrModule::parse(&context, &text, &target).expect("IR");
    ir.verify().expect("valid IR");
    pipeline::optimise(&ir, &target, Tier::Optimising).expect("passes");
    let object = pipeline::object_code(ir, &target, Tier::Optimising).expect("object code");
    let loaded = load::load(&object.bytes, &symbols::function_address).expect("loads");
    let variant = Variant::new(16, LaneMapping::Rows);
    Arc::new(
        Code::new(loaded, CodeInfo { has_barrier, ..CodeInfo::default() }, variant).expect("has an entry"),
    )
}

fn arg(name: &str, kind: ArgKind, offset: u64) -> KernelArg {
    KernelArg {
        name: name.into(),
        type_name: String::new(),
        kind,
        ty: TypeId(0),
        size: 8,
        offset,
        restrict: false,
        constant: false,
        volatile: false,
    }
}

fn kernel(args: Vec<KernelArg>, static_local_size: u64) -> Kernel {
    Kernel {
        name: "test".into(),
        function: Id(1),
        arg_block_size: args.iter().map(|arg| arg.offset + arg.size).max().unwrap_or(0),
        arg_block_align: 8,
        args,
        local_variables: Vec::new(),
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
        prints: false,
        uses_barrier: false,
        indirect: Vec::new(),
        static_local_size,
        zeroed_local: 0..0,
        sees_groups: true,
        private_size: 0,
        modes: Vec::new(),
        attributes: String::new(),
    }
}

fn range(groups: u32, items: u32) -> Range {
    Range { group_count: [groups, 1, 1], group_size: [items, 1, 1], global_offset: [0; 3] }
}

/// The arguments with these values; those of local memory are sizes.
fn arguments(kernel: &Kernel, values: &[u64]) -> Arguments {
    let mut arguments = Arguments::new(kernel).expect("memory");
    for (at, (arg, value)) in kernel.args.iter().zip(values).enumerate() {
        match arg.kind {
            ArgKind::LocalPointer => arguments.set_local(kernel, at, *value),
            _ => arguments.set(arg, &value.to_le_bytes()),
        }
    }
    arguments
}

fn launch(
    scheduler: &Scheduler,
    code: &Arc<Code>,
    arguments: &Arguments,
    range: Range,
) -> Result<(), EngineError> {
    let plan = Plan::new(Arc::clone(code), range, range, arguments.local_bytes()).expect("a range");
    plan.run(scheduler, "test", arguments, 0, None)
}

fn count_groups(scheduler: &Scheduler, code: &Arc<Code>, groups: u32) {
    let mut out = vec![0u32; groups as usize];
    let kernel = kernel(vec![arg("out", ArgKind::GlobalPointer, 0)], 0);
    let arguments = arguments(&kernel, &[out.as_mut_ptr() as u64]);
    launch(scheduler, code, &arguments, range(groups, 16)).expect("launches");
    assert!(out.iter().all(|count| *count == 1), "{groups} groups on {} threads", scheduler.threads());
}

fn neighbours(scheduler: &Scheduler, code: &Arc<Code>, groups: u32, subgroups: u32, rounds: u32) {
    let mut out = vec![0u64; groups as usize * subgroups as usize];
    let args_of_kernel = vec![arg("out", ArgKind::GlobalPointer, 0), arg("rounds", ArgKind::Value, 8)];
    let kernel = kernel(args_of_kernel, 8 * u64::from(subgroups));
    let arguments = arguments(&kernel, &[out.as_mut_ptr() as u64, u64::from(rounds)]);
    launch(scheduler, code, &arguments, range(groups, 16 * subgroups)).expect("launches");
    for (at, sum) in out.into_iter().enumerate() {
        let (group, subgroup) = (at as u64 / u64::from(subgroups), at as u64 % u64::from(subgroups));
        let neighbour = (subgroup + 1) % u64::from(subgroups);
        let expected: u64 = (0..u64::from(rounds)).map(|round| group + neighbour + round).sum();
        assert_eq!(sum, expected, "group {group}, sub-group {subgroup} of {subgroups}");
    }
}

#[test]
fn every_group_of_a_range_runs_once() {
    let code = compile(COUNT_GROUPS, false);
    for threads in [1, 2, 5] {
        let scheduler = Scheduler::new(threads);
        for groups in [1, 2, 3, 63, 64, 1000, 300_000] {
            count_groups(&scheduler, &code, groups);
        }
    }
}

#[test]
fn a_long_launch_does_not_end_in_the_code_that_it_began_with() {
    let numbered = |number: u32| {
        let text = COUNT_GROUPS.replace("%old, 1", &format!("%old, {number}"));
        assert!(number == 1 || text != COUNT_GROUPS);
        compile(&text, false)
    };
    let (first, better) = (numbered(1), numbered(2));
    for threads in [1, 3] {
        // The better code is there as soon as it is asked for.
        let given: Arc<OnceLock<Weak<Code>>> = Arc::default();
        let (to, code) = (Arc::clone(&given), Arc::clone(&better));
        let give = move || {
            let first = to.get().and_then(Weak::upgrade).expect("it is running");
            first.promotion().expect("has one").give(Arc::clone(&code));
        };
        let first = Arc::new(first.with_promotion(Promotion::new(give)));
        given.get_or_init(|| Arc::downgrade(&first));
        let groups = 8 << 20;
        let mut out = vec![0u32; groups as usize];
        let kernel = kernel(vec![arg("out", ArgKind::GlobalPointer, 0)], 0);
        let arguments = arguments(&kernel, &[out.as_mut_ptr() as u64]);
        launch(&Scheduler::new(threads), &first, &arguments, range(groups, 16)).expect("launches");
        assert_eq!((out[0], out[groups as usize - 1]), (1, 2), "{threads} threads");
        assert!(out.iter().all(|number| [1, 2].contains(number)), "a group ran twice, or not at all");
    }
}

#[test]
fn sub_groups_meet_at_barriers_in_loops() {
    let code = compile(NEIGHBOURS, true);
    for threads in [1, 3] {
        let scheduler = Scheduler::new(threads);
        // Shrinking and growing: coroutines are kept between launches and new ones join.
        for subgroups in [1, 2, 7, 64, 3, 128, 1] {
            for (groups, rounds) in [(1, 1), (2, 3), (97, 10), (500, 2)] {
                neighbours(&scheduler, &code, groups, subgroups, rounds);
            }
        }
    }
}

#[test]
fn coroutines_serve_different_kernels_in_turn() {
    let (first, second) = (compile(NEIGHBOURS, true), compile(NEIGHBOURS, true));
    let scheduler = Scheduler::new(2);
    for _ in 0..10 {
        neighbours(&scheduler, &first, 20, 4, 3);
        neighbours(&scheduler, &second, 20, 6, 2);
    }
}

/// Sub-groups that disagree about a barrier break the kernel language's rules; the driver must survive it, and no work-group
/// begins before all of the one before it is through: who begins and ends is counted.
#[test]
fn barrier_that_some_sub_groups_leave_out_does_not_hang() {
    const UNEVEN: &str = "
    define internal void @group(ptr %info, ptr %worker, i64 %group, i32 %subgroup) {
    entry:
      %barrier.at = getelementptr i8, ptr %worker, i64 BARRIER
      %barrier = load ptr, ptr %barrier.at
      %args = load ptr, ptr %info
      %out = load ptr, ptr %args
      %count.at = getelementptr i8, ptr %info, i64 SUBGROUPS
      %count = load i32, ptr %count.at
      %begun.at = getelementptr i8, ptr %out, i64 4
      %ended.at = getelementptr i8, ptr %out, i64 8
      %begun = load i32, ptr %begun.at
      %ended = load i32, ptr %ended.at
      %more.begun = add i32 %begun, 1
      store i32 %more.begun, ptr %begun.at
      %of.this.group = urem i32 %begun, %count
      %before = sub i32 %begun, %of.this.group
      %mixed = icmp ult i32 %ended, %before
      br i1 %mixed, label %tell, label %test
    tell:
      store i32 1, ptr %out
      br label %test
    test:
      %at = phi i32 [ 0, %entry ], [ 0, %tell ], [ %next, %meet ]
      %more = icmp ult i32 %at, %subgroup
      br i1 %more, label %meet, label %done
    meet:
      call void %barrier(ptr %worker)
      %next = add i32 %at, 1
      br label %test
    done:
      %ended.now = load i32, ptr %ended.at
      %more.ended = add i32 %ended.now, 1
      store i32 %more.ended, ptr %ended.at
      ret void
    }";
    let (code, scheduler) = (compile(UNEVEN, true), Scheduler::new(1));
    let mut counts = [0u32; 3];
    let kernel = kernel(vec![arg("counts", ArgKind::GlobalPointer, 0)], 0);
    let arguments = arguments(&kernel, &[counts.as_mut_ptr() as u64]);
    launch(&scheduler, &code, &arguments, range(100, 160)).expect("launches");
    assert_eq!(counts, [0, 1000, 1000], "groups that began too early, who began, who ended");
}

#[test]
fn launches_from_several_threads_and_from_the_pool_all_end() {
    let (code, scheduler) = (compile(NEIGHBOURS, true), Arc::new(Scheduler::new(3)));
    // Starts the pool.
    neighbours(&scheduler, &code, 2000, 8, 20);
    let (sender, receiver) = mpsc::channel();
    for at in 0..8 {
        let (code, scheduler, sender) = (Arc::clone(&code), Arc::clone(&scheduler), sender.clone());
        let inner = Arc::clone(&scheduler);
        let work = move || {
            neighbours(&inner, &code, 500, 5, 4);
            let _ = sender.send(());
        };
        if at % 2 == 0 {
            assert!(scheduler.in_background(work).is_ok(), "the pool runs");
        } else {
            std::thread::spawn(work);
        }
    }
    drop(sender);
    assert_eq!(receiver.iter().count(), 8);
}

#[test]
fn small_launches_start_no_threads() {
    let code = compile(COUNT_GROUPS, false);
    // How long a launch is is measured, and a machine with other work may stop one in the middle of it: that is not so each time.
    let is_alone = |_: u32| {
        let scheduler = Scheduler::new(4);
        for _ in 0..5 {
            count_groups(&scheduler, &code, 8);
        }
        let ran = Arc::new(AtomicBool::new(false));
        let flag = Arc::clone(&ran);
        let is_refused = scheduler.in_background(move || flag.store(true, Ordering::Relaxed)).is_err();
        assert!(!is_refused || !ran.load(Ordering::Relaxed), "what is given back has not been run");
        is_refused
    };
    assert!((0..50).any(is_alone));
}

#[test]
fn local_memory_arguments_come_after_the_static_part_and_are_aligned() {
    /// Stores the offsets of its two local arguments and the address of local memory.
    const OFFSETS: &str = "
    define void @ze_cpu_kernel(ptr %info, ptr %worker, i64 %first, i64 %count, i32 %along_y) {
      %args = load ptr, ptr %info
      %out = load ptr, ptr %args
      %a.at = getelementptr i8, ptr %args, i64 8
      %a = load i64, ptr %a.at
      %b.at = getelementptr i8, ptr %args, i64 16
      %b = load i64, ptr %b.at
      %local = load i64, ptr %worker
      store i64 %a, ptr %out
      %out.b = getelementptr i8, ptr %out, i64 8
      store i64 %b, ptr %out.b
      %out.local = getelementptr i8, ptr %out, i64 16
      store i64 %local, ptr %out.local
      %end = add i64 %local, %b
      %end.ptr = inttoptr i64 %end to ptr
      store i64 1, ptr %end.ptr
      ret void
    }";
    let (code, scheduler) = (compile(OFFSETS, false), Scheduler::new(1));
    let kernel = kernel(
        vec![
            arg("out", ArgKind::GlobalPointer, 0),
            arg("a", ArgKind::LocalPointer, 8),
            arg("b", ArgKind::LocalPointer, 16),
        ],
        20,
    );
    let mut out = [0u64; 3];
    let place = out.as_mut_ptr() as u64;
    let set = |values: [u64; 2]| arguments(&kernel, &[place, values[0], values[1]]);
    launch(&scheduler, &code, &set([1000, 8]), range(1, 1)).expect("launches");
    assert_eq!(set([1000, 8]).local_bytes(), 1160);
    assert_eq!(out[..2], [128, 1152]);
    assert_eq!(out[2] % 128, 0);

    let error = launch(&scheduler, &code, &set([u64::MAX / 2, 8]), range(1, 1));
    assert!(matches!(error, Err(EngineError::OutOfMemory { .. })), "{error:?}");
    assert_eq!(set([u64::MAX, u64::MAX]).local_bytes(), u64::MAX);
}

#[test]
fn an_argument_block_has_the_alignment_of_its_largest_argument() {
    for (align, bytes) in [(1, 0), (8, 8), (16, 136), (32, 96), (64, 64), (128, 1024)] {
        let value = KernelArg { size: bytes, ..arg("value", ArgKind::Value, 0) };
        let kernel = Kernel { arg_block_align: align, ..kernel(vec![value], 0) };
        let mut arguments = Arguments::new(&kernel).expect("memory");
        let value: Vec<u8> = (0..bytes).map(|at| at as u8 ^ 0x5a).collect();
        arguments.set(&kernel.args[0], &value);
        // Copies of copies, each somewhere else.
        for _ in 0..3 {
            let copy = Box::new(arguments.try_clone().expect("memory"));
            assert_eq!(copy.as_ptr() as u64 % align, 0, "alignment {align}");
            // SAFETY: the block has the arguments' bytes.
            assert_eq!(unsafe { std::slice::from_raw_parts(copy.as_ptr(), bytes as usize) }, value);
            arguments = *copy;
        }
    }
}

#[test]
fn an_argument_block_for_which_there_is_no_memory_is_an_error() {
    let kernel = Kernel { arg_block_size: 1 << 60, ..kernel(vec![], 0) };
    assert!(Arguments::new(&kernel).is_err());
}

#[test]
fn launches_that_make_no_sense_are_refused() {
    let (code, scheduler) = (compile(COUNT_GROUPS, false), Scheduler::new(2));
    let plan = |range| Plan::new(Arc::clone(&code), range, range, 0).map(drop);
    assert!(matches!(plan(range(1, 0)), Err(LaunchFault::GroupSize(_))));
    let size = [u32::MAX; 3];
    assert!(matches!(plan(Range { group_size: size, ..range(1, 1) }), Err(LaunchFault::GroupSize(_))));
    assert!(matches!(plan(Range { group_count: size, ..range(1, 1) }), Err(LaunchFault::GroupCount(_))));
    // No work-groups is no error, and touches nothing.
    let kernel = kernel(vec![arg("out", ArgKind::GlobalPointer, 0)], 0);
    launch(&scheduler, &code, &arguments(&kernel, &[0]), range(0, 16)).expect("empty");
    let none = Range { group_count: [u32::MAX, u32::MAX, 0], ..range(1, 16) };
    launch(&scheduler, &code, &arguments(&kernel, &[0]), none).expect("empty");
}
