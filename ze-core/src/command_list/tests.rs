//! Regular and immediate lists by themselves: order, replays, what they wait for and signal.

use super::*;
use crate::driver::Driver;
use crate::event::EventPool;
use crate::queue::CommandQueue;
use std::ptr::{null, null_mut};

struct Fixture {
    context: Arc<Context>,
    device: Arc<Device>,
}

impl Fixture {
    fn new() -> Self {
        let driver = Driver::for_tests();
        Self { device: Arc::clone(driver.device()), context: Context::new(driver) }
    }

    fn regular(&self) -> Arc<CommandList> {
        let desc = ze_command_list_desc_t::default();
        CommandList::regular((&self.context, null_mut()), (&self.device, null_mut()), &desc, false)
            .expect("a valid descriptor")
    }

    fn queue_desc(&self, mode: ze_command_queue_mode_t) -> ze_command_queue_desc_t {
        ze_command_queue_desc_t { mode, ..Default::default() }
    }

    fn immediate(&self, mode: ze_command_queue_mode_t) -> Arc<CommandList> {
        let desc = self.queue_desc(mode);
        CommandList::immediate((&self.context, null_mut()), (&self.device, null_mut()), &desc)
            .expect("a valid descriptor")
    }

    fn queue(&self) -> Arc<CommandQueue> {
        let desc = self.queue_desc(ZE_COMMAND_QUEUE_MODE_ASYNCHRONOUS);
        CommandQueue::new(Arc::clone(&self.context), &self.device, &desc).expect("a valid descriptor")
    }

    fn event(&self) -> Arc<Event> {
        self.event_of_pool(0)
    }

    fn event_of_pool(&self, flags: ze_event_pool_flags_t) -> Arc<Event> {
        let desc = ze_event_pool_desc_t { pNext: null(), flags, count: 1, ..Default::default() };
        let pool = EventPool::new(Arc::clone(&self.context), null_mut(), &desc, false).expect("valid");
        Event::new(pool, null_mut(), &ze_event_desc_t::default()).expect("in the pool")
    }
}

fn counter_based() -> Arc<Event> {
    let (context, desc) = (Context::new(Driver::for_tests()), ze_event_counter_based_desc_t::default());
    // SAFETY: there is no chain.
    unsafe { Event::new_counter_based(&context, &desc) }.expect("valid")
}

fn waiting_for(event: &Arc<Event>) -> Events {
    Events { signal: None, waits: [Arc::clone(event)].into_iter().collect() }
}

fn signalling(event: &Arc<Event>) -> Events {
    Events { signal: Some(Arc::clone(event)), waits: SmallVec::new() }
}

fn fill(target: &mut [u8], value: u8) -> Operation {
    let pattern = [value].into_iter().collect();
    Operation::Fill { dst: target.as_mut_ptr() as usize, pattern, len: target.len() }
}

#[test]
fn a_regular_list_executes_as_often_as_it_is_submitted() {
    let fixture = Fixture::new();
    let (list, queue) = (fixture.regular(), fixture.queue());
    let mut memory = [0u8; 64];
    list.append(fill(&mut memory, 7), &Events::default()).expect("open");
    assert!(queue.execute(&[&list], None).is_err(), "it is not closed");
    list.close().expect("regular");
    list.append(fill(&mut memory, 9), &Events::default()).expect("it is closed: this is not executed");
    for _ in 0..2 {
        memory.fill(0);
        queue.execute(&[&list], None).expect("closed");
        queue.synchronize(u64::MAX).expect("nothing fails");
        assert_eq!(memory, [7; 64]);
    }
    list.reset().expect("regular");
    assert!(queue.execute(&[&list], None).is_err());
}

#[test]
fn lists_of_different_queues_wait_for_each_others_events() {
    let fixture = Fixture::new();
    let (first, second) = (fixture.queue(), fixture.queue());
    let event = fixture.event();
    let (waiter, signaller) = (fixture.regular(), fixture.regular());
    let mut memory = vec![0u8; 1 << 20];
    waiter.append(fill(&mut memory, 2), &waiting_for(&event)).expect("open");
    signaller.append(Operation::Barrier, &signalling(&event)).expect("open");
    waiter.close().expect("regular");
    signaller.close().expect("regular");
    first.execute(&[&waiter], None).expect("closed");
    assert!(matches!(first.synchronize(1_000_000), Err(Error::NotReady)));
    second.execute(&[&signaller], None).expect("closed");
    first.synchronize(u64::MAX).expect("the event came");
    assert!(memory.iter().all(|&byte| byte == 2));
}

#[test]
fn an_immediate_list_keeps_its_order_in_both_modes() {
    let fixture = Fixture::new();
    for mode in [ZE_COMMAND_QUEUE_MODE_SYNCHRONOUS, ZE_COMMAND_QUEUE_MODE_ASYNCHRONOUS] {
        let list = fixture.immediate(mode);
        let mut memory = vec![0u8; 256 << 10];
        for value in 1..=9 {
            list.append(fill(&mut memory, value), &Events::default()).expect("immediate");
        }
        list.synchronize(u64::MAX).expect("nothing fails");
        assert!(memory.iter().all(|&byte| byte == 9));
        assert!(list.close().is_ok() && list.reset().is_ok());
        assert!(list.append(Operation::Barrier, &Events::default()).is_ok(), "it is never closed");
    }
}

/// What SYCL's adapter does for each replay of a graph: on a queue, a list that resets an event and one that works and
/// signals it; then, on an immediate list of the same ordinal and index, a wait for it.
#[test]
fn replays_of_a_graph_stay_in_step_with_the_immediate_list_that_waits_for_them() {
    unsafe extern "C" fn work(count: *mut std::ffi::c_void) {
        // SAFETY: the test passes a number that only this queue's functions change.
        unsafe { *count.cast::<u64>() += 1 };
        std::thread::sleep(std::time::Duration::from_micros(200));
    }
    const REPLAYS: usize = 100;
    let fixture = Fixture::new();
    let (queue, immediate) = (fixture.queue(), fixture.immediate(ZE_COMMAND_QUEUE_MODE_ASYNCHRONOUS));
    let (event, reset, signal) = (fixture.event(), fixture.regular(), fixture.regular());
    let mut count = 0u64;
    reset.append(event.reset_command().expect("a flag"), &Events::default()).expect("open");
    let function = Operation::HostFunction { function: work, data: (&raw mut count) as usize };
    signal.append(function, &Events::default()).expect("open");
    signal.append(Operation::Barrier, &signalling(&event)).expect("open");
    reset.close().expect("regular");
    signal.close().expect("regular");
    let mut seen = [0u64; REPLAYS];
    for seen in &mut seen {
        queue.execute(&[&reset], None).expect("closed");
        queue.execute(&[&signal], None).expect("closed");
        immediate.append(Operation::Barrier, &waiting_for(&event)).expect("immediate");
        let (dst, src) = (std::ptr::from_mut(seen) as usize, (&raw const count) as usize);
        let copy = Operation::Copy { dst, src, len: size_of::<u64>() };
        immediate.append(copy, &Events::default()).expect("immediate");
    }
    immediate.synchronize(u64::MAX).expect("nothing fails");
    queue.synchronize(u64::MAX).expect("nothing fails");
    for (replay, seen) in seen.into_iter().enumerate() {
        assert!(seen > replay as u64, "replay {replay} saw the work of {seen}");
    }
}

#[test]
fn lists_can_be_appended_to_an_immediate_list() {
    let fixture = Fixture::new();
    let (list, immediate) = (fixture.regular(), fixture.immediate(ZE_COMMAND_QUEUE_MODE_ASYNCHRONOUS));
    let (event, done) = (fixture.event(), fixture.event());
    let mut memory = [0u8; 64];
    list.append(fill(&mut memory, 4), &signalling(&event)).expect("open");
    list.close().expect("regular");
    immediate.append_lists(&[&list, &list], &signalling(&done)).expect("closed");
    done.wait(u64::MAX).expect("it is signalled");
    assert!(event.status().is_ok());
    assert_eq!(memory, [4; 64]);
}

#[test]
fn appended_lists_wait_in_no_thread_of_the_program() {
    let fixture = Fixture::new();
    let (list, immediate) = (fixture.regular(), fixture.immediate(ZE_COMMAND_QUEUE_MODE_ASYNCHRONOUS));
    let (reached, gate, after) = (fixture.event(), fixture.event(), fixture.event());
    list.append(Operation::Barrier, &signalling(&reached)).expect("open");
    list.append(gate.reset_command().expect("a flag"), &Events::default()).expect("open");
    list.append(Operation::Barrier, &waiting_for(&gate)).expect("open");
    list.close().expect("regular");
    gate.host_signal().expect("a flag");
    immediate.append_lists(&[&list], &signalling(&after)).expect("closed");
    reached.wait(u64::MAX).expect("it is signalled");
    assert!(matches!(after.wait(1_000_000), Err(Error::NotReady)));
    gate.host_signal().expect("a flag");
    immediate.synchronize(u64::MAX).expect("nothing fails");
    after.status().expect("all is done");
}

#[test]
fn appended_lists_come_after_their_events_and_before_their_signal() {
    let fixture = Fixture::new();
    let (list, immediate) = (fixture.regular(), fixture.immediate(ZE_COMMAND_QUEUE_MODE_ASYNCHRONOUS));
    let (gate, done) = (fixture.event(), fixture.event());
    let mut memory = [0u8; 64];
    list.append(fill(&mut memory, 4), &Events::default()).expect("open");
    list.close().expect("regular");
    let events = Events { signal: Some(Arc::clone(&done)), ..waiting_for(&gate) };
    immediate.append_lists(&[&list, &list], &events).expect("closed");
    assert!(matches!(immediate.synchronize(1_000_000), Err(Error::NotReady)));
    assert_eq!(memory, [0; 64]);
    gate.host_signal().expect("a flag");
    done.wait(u64::MAX).expect("it is signalled");
    assert_eq!(memory, [4; 64]);
}

#[test]
fn a_counter_based_event_stands_for_the_list_that_was_executed_last() {
    let fixture = Fixture::new();
    let queue = fixture.queue();
    let event = counter_based();
    let lists = [fixture.regular(), fixture.regular()];
    for list in &lists {
        list.append(Operation::Barrier, &signalling(&event)).expect("open");
        list.close().expect("regular");
    }
    assert!(matches!(event.status(), Err(Error::NotReady)));
    for list in [&lists[0], &lists[1], &lists[0]] {
        queue.execute(&[list], None).expect("closed");
        event.wait(10_000_000_000).expect("that list signals it");
    }
}

#[test]
fn a_clone_signals_as_its_original_does() {
    let fixture = Fixture::new();
    let (event, gate) = (counter_based(), fixture.event());
    let list = fixture.regular();
    list.append(Operation::Barrier, &Events { signal: Some(Arc::clone(&event)), ..waiting_for(&gate) })
        .expect("open");
    list.close().expect("regular");
    let clone = list.duplicate().expect("closed");
    let queues = [fixture.queue(), fixture.queue()];
    queues[0].execute(&[&list], None).expect("closed");
    queues[1].execute(&[&clone], None).expect("closed");
    assert!(matches!(event.wait(1_000_000), Err(Error::NotReady)));
    gate.host_signal().expect("a flag");
    event.wait(u64::MAX).expect("both are done");
    assert!(queues.iter().all(|queue| queue.synchronize(0).is_ok() || queue.synchronize(u64::MAX).is_ok()));
}

#[test]
fn queries_write_the_timestamps_that_the_host_would_get() {
    let driver = Driver::for_tests();
    let mut profile = driver.device().profile().as_ref().clone();
    profile.limits.timer_frequency_hz = 12_500_000;
    let fixture = Fixture { device: Device::new(profile), context: Context::new(driver) };
    let list = fixture.immediate(ZE_COMMAND_QUEUE_MODE_SYNCHRONOUS);
    let flags = [ZE_EVENT_POOL_FLAG_KERNEL_TIMESTAMP, ZE_EVENT_POOL_FLAG_KERNEL_MAPPED_TIMESTAMP];
    let events = flags.map(|flags| fixture.event_of_pool(flags));
    for event in &events {
        list.append(Operation::Barrier, &signalling(event)).expect("immediate");
    }
    let mut results = [ze_kernel_timestamp_result_t::default(); 2];
    let size = size_of::<ze_kernel_timestamp_result_t>();
    let dst = results.as_mut_ptr() as usize;
    for offsets in [None, Some([0, size].as_slice())] {
        let query = list.query_timestamps(&events, dst, offsets).expect("in the array");
        list.append(query, &Events::default()).expect("immediate");
        for (event, result) in events.iter().zip(&results) {
            let want = event.kernel_timestamp(&fixture.device).expect("signalled");
            assert_eq!(result.global.kernelStart, want.global.kernelStart);
            assert_eq!(result.context.kernelEnd, want.context.kernelEnd);
        }
        results = Default::default();
    }
    assert!(list.query_timestamps(&events, dst, Some(&[0, usize::MAX])).is_err());
}

#[test]
fn what_only_immediate_lists_have_is_an_invalid_argument_of_others() {
    let list = Fixture::new().regular();
    assert!(matches!(list.synchronize(0), Err(Error::InvalidArgument(_))));
    assert!(matches!(list.queue_desc(), Err(Error::InvalidArgument(_))));
    assert!(matches!(list.append_lists(&[], &Events::default()), Err(Error::InvalidArgument(_))));
}

#[test]
fn an_immediate_list_has_the_flags_of_its_creation() {
    let fixture = Fixture::new();
    let desc = ze_command_queue_desc_t {
        flags: ZE_COMMAND_QUEUE_FLAG_EXPLICIT_ONLY | ZE_COMMAND_QUEUE_FLAG_COPY_OFFLOAD_HINT,
        ..fixture.queue_desc(ZE_COMMAND_QUEUE_MODE_ASYNCHRONOUS)
    };
    let device = (&fixture.device, null_mut());
    let list = CommandList::immediate((&fixture.context, null_mut()), device, &desc).expect("valid");
    assert_eq!(list.flags(), ZE_COMMAND_LIST_FLAG_EXPLICIT_ONLY | ZE_COMMAND_LIST_FLAG_COPY_OFFLOAD_HINT);
}

#[test]
fn events_may_be_destroyed_while_commands_refer_to_them() {
    let fixture = Fixture::new();
    let list = fixture.immediate(ZE_COMMAND_QUEUE_MODE_ASYNCHRONOUS);
    let gate = fixture.event();
    let signal = gate.current();
    list.append(Operation::Barrier, &waiting_for(&gate)).expect("immediate");
    drop(gate);
    assert!(matches!(list.synchronize(1_000_000), Err(Error::NotReady)));
    signal.raise();
    list.synchronize(u64::MAX).expect("the wait is over");
}
