//! Graphs: what is captured, where, what is not, and what instances do.

use std::ffi::{CString, c_void};
use std::ptr::{null, null_mut};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use ze_headers::*;
use ze_tests::platform::result_name;
use ze_tests::{Buffer, CommandList, Event, EventPool, Kernel, ListOptions, Module, Queue, Result, platform};

const FOREVER: u64 = u64::MAX;

/// A graph, which destroys itself.
struct Graph(ze_graph_handle_t);

impl Graph {
    fn new() -> Graph {
        let mut graph = null_mut();
        // SAFETY: a live context.
        let code = unsafe { platform().api.zeGraphCreateExt(platform().context, null(), &mut graph) };
        platform().check("zeGraphCreateExt", code).unwrap();
        Graph(graph)
    }

    fn capture(&self, list: &CommandList) -> Result<()> {
        // SAFETY: live handles.
        let code =
            unsafe { platform().api.zeCommandListBeginCaptureIntoGraphExt(list.handle, self.0, null()) };
        platform().check("zeCommandListBeginCaptureIntoGraphExt", code)
    }

    fn instance(&self) -> Result<Instance> {
        let mut instance = null_mut();
        // SAFETY: a live graph.
        let code = unsafe { platform().api.zeGraphInstantiateExt(self.0, null(), &mut instance) };
        platform().check("zeGraphInstantiateExt", code).map(|()| Instance(instance))
    }

    fn is_empty(&self) -> ze_result_t {
        // SAFETY: a live graph.
        unsafe { platform().api.zeGraphIsEmptyExt(self.0) }
    }

    /// What the driver writes about it.
    fn dump(&self, mode: ze_record_replay_graph_ext_dump_mode_t) -> String {
        let name = format!("ze_cpu_graph_{}_{:?}.gv", std::process::id(), std::thread::current().id());
        let path = std::env::temp_dir().join(name.replace(['(', ')'], ""));
        let text = CString::new(path.to_str().expect("a path of letters")).unwrap();
        let desc = ze_record_replay_graph_ext_dump_desc_t {
            stype: ZE_STRUCTURE_TYPE_RECORD_REPLAY_GRAPH_EXT_DUMP_DESC,
            mode,
            ..Default::default()
        };
        // SAFETY: a live graph, a text and a valid chain.
        let code =
            unsafe { platform().api.zeGraphDumpContentsExt(self.0, text.as_ptr(), (&raw const desc).cast()) };
        platform().check("zeGraphDumpContentsExt", code).unwrap();
        let dot = std::fs::read_to_string(&path).unwrap();
        std::fs::remove_file(path).unwrap();
        dot
    }
}

impl Drop for Graph {
    fn drop(&mut self) {
        // SAFETY: nothing uses it.
        unsafe { platform().api.zeGraphDestroyExt(self.0) };
    }
}

/// An executable graph, which destroys itself.
struct Instance(ze_executable_graph_handle_t);

impl Instance {
    fn append(&self, list: &CommandList, done: Option<&Event>, waits: &[&Event]) -> Result<()> {
        let mut waits: Vec<_> = waits.iter().map(|event| event.handle).collect();
        let done = done.map_or(null_mut(), |event| event.handle);
        // SAFETY: live handles.
        let code = unsafe {
            let (count, waits) = (waits.len() as u32, waits.as_mut_ptr());
            platform().api.zeCommandListAppendGraphExt(list.handle, self.0, null(), done, count, waits)
        };
        platform().check("zeCommandListAppendGraphExt", code)
    }
}

impl Drop for Instance {
    fn drop(&mut self) {
        // SAFETY: tests synchronise before they drop.
        unsafe { platform().api.zeExecutableGraphDestroyExt(self.0) };
    }
}

/// Begins a capture into a graph of its own.
fn begin(list: &CommandList) -> ze_result_t {
    // SAFETY: a live list.
    unsafe { platform().api.zeCommandListBeginGraphCaptureExt(list.handle, null()) }
}

fn end(list: &CommandList) -> (ze_result_t, Graph) {
    let mut graph = null_mut();
    // SAFETY: a live list.
    let code = unsafe { platform().api.zeCommandListEndGraphCaptureExt(list.handle, null(), &mut graph) };
    (code, Graph(graph))
}

fn ended(list: &CommandList) -> Graph {
    let (code, graph) = end(list);
    assert_eq!(code, ZE_RESULT_SUCCESS, "{}", platform().last_error());
    graph
}

fn is_captured(list: &CommandList) -> ze_result_t {
    // SAFETY: a live list.
    unsafe { platform().api.zeCommandListIsGraphCaptureEnabledExt(list.handle) }
}

fn asynchronous() -> CommandList {
    CommandList::immediate(ListOptions::in_order()).unwrap()
}

fn code(result: Result<()>) -> ze_result_t {
    result.map_or_else(|error| error.code, |()| ZE_RESULT_SUCCESS)
}

#[track_caller]
fn expect(result: Result<()>, want: ze_result_t) {
    let got = code(result);
    assert_eq!(got, want, "{} instead of {}", result_name(got), result_name(want));
}

/// A kernel that adds `step` to every element of `sum`.
fn add(module: &Module, sum: &Buffer<f32>, step: &Buffer<f32>) -> Kernel {
    let kernel = module.kernel("vector_add");
    kernel.set_group_size([sum.len() as u32, 1, 1]).unwrap();
    kernel.set_arguments(&[sum, step, sum, &(sum.len() as u32)]).unwrap();
    kernel
}

fn copy(
    list: &CommandList,
    to: &Buffer<u32>,
    from: &Buffer<u32>,
    done: Option<&Event>,
    waits: &[&Event],
) -> Result<()> {
    // SAFETY: the tests keep both buffers until they have synchronised.
    unsafe { list.copy(to.pointer().cast(), from.pointer().cast(), from.bytes(), done, waits) }
}

fn fill(
    list: &CommandList,
    to: &Buffer<u32>,
    value: u32,
    done: Option<&Event>,
    waits: &[&Event],
) -> Result<()> {
    // SAFETY: as above.
    unsafe { list.fill(to.pointer().cast(), &value.to_le_bytes(), to.bytes(), done, waits) }
}

#[test]
fn the_device_and_the_driver_say_that_there_are_graphs() {
    let mut graphs = ze_record_replay_graph_ext_properties_t {
        stype: ZE_STRUCTURE_TYPE_RECORD_REPLAY_GRAPH_EXT_PROPERTIES,
        ..Default::default()
    };
    let mut properties = ze_device_properties_t {
        stype: ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES,
        pNext: (&raw mut graphs).cast(),
        ..Default::default()
    };
    // SAFETY: a live device and a valid chain.
    unsafe { platform().api.zeDeviceGetProperties(platform().device, &mut properties) };
    assert_eq!(graphs.graphFlags, ZE_RECORD_REPLAY_GRAPH_EXT_FLAG_IMMUTABLE_GRAPH);
}

#[test]
fn a_graph_executes_what_was_captured_each_time_it_is_appended() {
    const REPLAYS: usize = 1000;
    let module = Module::named("vector_add");
    let (sum, step) = (platform().filled(0f32, 64), platform().filled(1f32, 64));
    let kernel = add(&module, &sum, &step);
    let list = asynchronous();
    assert_eq!((begin(&list), is_captured(&list)), (ZE_RESULT_SUCCESS, ZE_RESULT_QUERY_TRUE));
    list.launch(&kernel, [1, 1, 1], None, &[]).unwrap();
    // What is set later is for later launches.
    kernel.set_arguments(&[&step, &step, &step, &64u32]).unwrap();
    let (mut during, mut primary) = (null_mut(), null_mut());
    // SAFETY: live handles.
    let codes = unsafe {
        [
            platform().api.zeCommandListGetGraphExt(list.handle, &mut during),
            platform().api.zeGraphGetPrimaryCommandListExt(during, &mut primary),
        ]
    };
    assert_eq!((codes, primary), ([ZE_RESULT_SUCCESS; 2], list.handle));
    let graph = ended(&list);
    assert_eq!((graph.0, is_captured(&list)), (during, ZE_RESULT_QUERY_FALSE));
    assert_eq!(graph.is_empty(), ZE_RESULT_QUERY_FALSE);
    list.synchronize(FOREVER).unwrap();
    assert_eq!((sum[0], step[0]), (0.0, 1.0), "nothing was executed yet");
    let instance = graph.instance().unwrap();
    for _ in 0..REPLAYS {
        instance.append(&list, None, &[]).unwrap();
    }
    list.synchronize(FOREVER).unwrap();
    assert!(sum.iter().all(|&sum| sum == REPLAYS as f32), "{:?}", &sum[..4]);
    assert_eq!(step[0], 1.0);
    let mut source = null_mut();
    // SAFETY: live handles.
    unsafe { platform().api.zeExecutableGraphGetSourceGraphExt(instance.0, &mut source) };
    assert_eq!(source, graph.0);
}

#[test]
fn an_empty_graph_is_executed_as_nothing() {
    let (list, graph, pool) = (asynchronous(), Graph::new(), EventPool::host_visible(2));
    assert_eq!(graph.is_empty(), ZE_RESULT_QUERY_TRUE);
    expect(graph.instance().map(drop), ZE_RESULT_ERROR_INVALID_ARGUMENT);
    graph.capture(&list).unwrap();
    // A program that has the graph needs no output.
    // SAFETY: a live list.
    let code = unsafe { platform().api.zeCommandListEndGraphCaptureExt(list.handle, null(), null_mut()) };
    assert_eq!(code, ZE_RESULT_SUCCESS);
    assert_eq!(graph.is_empty(), ZE_RESULT_QUERY_TRUE);
    let (gate, done) = (pool.event(0), pool.event(1));
    let instance = graph.instance().unwrap();
    instance.append(&list, Some(&done), &[&gate]).unwrap();
    expect(done.wait(1_000_000), ZE_RESULT_NOT_READY);
    gate.signal().unwrap();
    done.wait(FOREVER).unwrap();
    // Nothing is in it, so that it can be captured into.
    graph.capture(&list).unwrap();
    assert_eq!(ended(&list).0, graph.0);
    std::mem::forget(graph);
}

/// Captures a fork: the parent writes 1 to `a`, the child copies it to `b` on a list of its own, and the parent then writes
/// 2 to `a`.
fn capture_fork(lists: &[CommandList; 2], events: &[Event; 2], a: &Buffer<u32>, b: &Buffer<u32>) -> Graph {
    let [parent, child] = lists;
    let [fork, join] = events;
    assert_eq!(begin(parent), ZE_RESULT_SUCCESS);
    fill(parent, a, 1, Some(fork), &[]).unwrap();
    assert_eq!(is_captured(child), ZE_RESULT_QUERY_FALSE);
    copy(child, b, a, Some(join), &[fork]).unwrap();
    assert_eq!(is_captured(child), ZE_RESULT_QUERY_TRUE);
    fill(parent, a, 2, None, &[join]).unwrap();
    let graph = ended(parent);
    assert_eq!(lists.each_ref().map(is_captured), [ZE_RESULT_QUERY_FALSE; 2]);
    graph
}

#[test]
fn a_list_that_waits_for_a_captured_command_is_captured_too() {
    let pool = EventPool::host_visible(2);
    let kinds = [
        [pool.event(0), pool.event(1)],
        [Event::counter_based(0), Event::counter_based(0)],
        [0, 1].map(|_| Event::counter_based(ZE_EVENT_COUNTER_BASED_FLAG_GRAPH_EXTERNAL)),
    ];
    for events in kinds {
        let lists = [asynchronous(), asynchronous()];
        let (mut a, mut b) = (platform().filled(0u32, 1000), platform().filled(0u32, 1000));
        let graph = capture_fork(&lists, &events, &a, &b);
        let instances = [graph.instance().unwrap(), graph.instance().unwrap()];
        for round in 0..4 {
            a.fill(0);
            b.fill(0);
            instances[round % 2].append(&lists[round / 2], None, &[]).unwrap();
            lists[round / 2].synchronize(FOREVER).unwrap();
            assert!(a.iter().all(|&a| a == 2) && b.iter().all(|&b| b == 1), "{} and {}", a[0], b[0]);
        }
    }
}

#[test]
fn a_fork_is_joined_by_its_parent_behind_all_of_its_work() {
    let pool = EventPool::host_visible(4);
    let [fork, join, other] = [0, 1, 2].map(|index| pool.event(index));
    let (a, b) = (platform().filled(0u32, 10), platform().filled(0u32, 10));
    type Body<'a> = Box<dyn Fn(&CommandList, &CommandList) + 'a>;
    let unjoined: [(&str, Body<'_>); 3] = [
        ("nobody waits", Box::new(|_, _| {})),
        (
            "the child's work is behind its signal",
            Box::new(|parent, child| {
                child.signal_event(&join).unwrap();
                copy(child, &b, &a, None, &[]).unwrap();
                parent.wait_on_events(&[&join]).unwrap();
            }),
        ),
        (
            "the child waits itself",
            Box::new(|_, child| {
                child.signal_event(&join).unwrap();
                child.wait_on_events(&[&join]).unwrap();
            }),
        ),
    ];
    for (what, body) in unjoined {
        let (parent, child) = (asynchronous(), asynchronous());
        assert_eq!(begin(&parent), ZE_RESULT_SUCCESS);
        parent.signal_event(&fork).unwrap();
        child.wait_on_events(&[&fork]).unwrap();
        body(&parent, &child);
        let (code, graph) = end(&parent);
        assert_eq!(code, ZE_RESULT_ERROR_GRAPH_UNJOINED_FORKS, "{what}");
        assert_eq!(graph.is_empty(), ZE_RESULT_ERROR_INVALID_GRAPH, "{what}");
        expect(graph.instance().map(drop), ZE_RESULT_ERROR_INVALID_GRAPH);
        assert_eq!(is_captured(&child), ZE_RESULT_QUERY_FALSE, "{what}");
    }
    // Only the last signal counts, and what only synchronises may come behind it.
    let (parent, child) = (asynchronous(), asynchronous());
    assert_eq!(begin(&parent), ZE_RESULT_SUCCESS);
    parent.signal_event(&fork).unwrap();
    copy(&child, &b, &a, Some(&other), &[&fork]).unwrap();
    parent.wait_on_events(&[&other]).unwrap();
    copy(&child, &b, &a, Some(&join), &[]).unwrap();
    child.barrier(None, &[]).unwrap();
    parent.wait_on_events(&[&join]).unwrap();
    ended(&parent);
}

#[test]
fn forks_of_forks_are_captured() {
    let events = [0, 1, 2, 3].map(|_| Event::counter_based(0));
    let lists = [asynchronous(), asynchronous(), asynchronous()];
    let buffers = [0, 1, 2].map(|_| platform().filled(0u32, 10));
    let graph = Graph::new();
    graph.capture(&lists[0]).unwrap();
    fill(&lists[0], &buffers[0], 7, Some(&events[0]), &[]).unwrap();
    copy(&lists[1], &buffers[1], &buffers[0], Some(&events[1]), &[&events[0]]).unwrap();
    copy(&lists[2], &buffers[2], &buffers[1], Some(&events[2]), &[&events[1]]).unwrap();
    lists[1].barrier(Some(&events[3]), &[&events[2]]).unwrap();
    lists[0].wait_on_events(&[&events[3]]).unwrap();
    std::mem::forget(ended(&lists[0]));
    let instance = graph.instance().unwrap();
    instance.append(&lists[0], None, &[]).unwrap();
    lists[0].synchronize(FOREVER).unwrap();
    assert!(buffers.iter().all(|buffer| buffer.iter().all(|&value| value == 7)));
}

#[test]
fn a_capture_begins_on_immediate_asynchronous_lists_and_into_empty_graphs() {
    let (regular, list) = (CommandList::regular(true).unwrap(), asynchronous());
    let synchronous = CommandList::immediate(ListOptions::synchronous()).unwrap();
    let (graph, other) = (Graph::new(), Graph::new());
    for wrong in [&regular, &synchronous] {
        assert_eq!(begin(wrong), ZE_RESULT_ERROR_INVALID_ARGUMENT);
        expect(graph.capture(wrong), ZE_RESULT_ERROR_INVALID_ARGUMENT);
        assert_eq!(is_captured(wrong), ZE_RESULT_QUERY_FALSE);
    }
    let mut out = 8 as ze_graph_handle_t;
    // SAFETY: a live list.
    let code = unsafe { platform().api.zeCommandListGetGraphExt(list.handle, &mut out) };
    assert_eq!((code, out), (ZE_RESULT_ERROR_COMMAND_LIST_NOT_CAPTURING, null_mut()));
    assert_eq!(end(&list).0, ZE_RESULT_ERROR_COMMAND_LIST_NOT_CAPTURING);
    graph.capture(&list).unwrap();
    assert_eq!(begin(&list), ZE_RESULT_ERROR_INVALID_ARGUMENT, "it is captured already");
    expect(other.capture(&list), ZE_RESULT_ERROR_INVALID_ARGUMENT);
    expect(graph.capture(&asynchronous()), ZE_RESULT_ERROR_INVALID_ARGUMENT);
    expect(graph.instance().map(drop), ZE_RESULT_ERROR_INVALID_ARGUMENT);
    list.barrier(None, &[]).unwrap();
    std::mem::forget(ended(&list));
    expect(graph.capture(&list), ZE_RESULT_ERROR_INVALID_ARGUMENT);
}

#[test]
fn what_a_capture_cannot_record_is_refused() {
    let pool = EventPool::host_visible(4);
    let [fork, join, own, regular_event] = [0, 1, 2, 3].map(|index| pool.event(index));
    let internal = Event::counter_based(0);
    let (list, child, outside) = (asynchronous(), asynchronous(), asynchronous());
    let (other, regular) = (asynchronous(), CommandList::regular(true).unwrap());
    let synchronous = CommandList::immediate(ListOptions::synchronous()).unwrap();
    assert_eq!(begin(&other), ZE_RESULT_SUCCESS);
    other.barrier(Some(&own), &[]).unwrap();
    let instance = {
        let graph = ended(&other);
        graph.instance().unwrap()
    };
    let queue = Queue::new(ListOptions::asynchronous()).unwrap();
    let closed = CommandList::regular(true).unwrap();
    closed.close().unwrap();
    assert_eq!(begin(&list), ZE_RESULT_SUCCESS);
    assert_eq!(begin(&other), ZE_RESULT_SUCCESS);
    list.barrier(Some(&fork), &[]).unwrap();
    list.barrier(Some(&internal), &[]).unwrap();
    child.barrier(Some(&join), &[&fork]).unwrap();
    other.barrier(Some(&own), &[]).unwrap();
    let mut lists = [closed.handle];
    let mut append_lists = |to: &CommandList, waits: &[&Event]| {
        let mut waits: Vec<_> = waits.iter().map(|event| event.handle).collect();
        // SAFETY: live handles.
        unsafe {
            platform().api.zeCommandListImmediateAppendCommandListsExp(
                to.handle,
                1,
                lists.as_mut_ptr(),
                null_mut(),
                waits.len() as u32,
                waits.as_mut_ptr(),
            )
        }
    };
    // Waits of the host for what is not executed.
    expect(list.synchronize(0), ZE_RESULT_ERROR_GRAPH_CAPTURE_UNSUPPORTED);
    expect(child.synchronize(0), ZE_RESULT_ERROR_GRAPH_CAPTURE_UNSUPPORTED);
    expect(fork.wait(0), ZE_RESULT_ERROR_GRAPH_CAPTURE_UNSUPPORTED);
    // Graphs and lists inside of graphs.
    assert_eq!(append_lists(&list, &[]), ZE_RESULT_ERROR_GRAPH_CAPTURE_UNSUPPORTED);
    assert_eq!(append_lists(&outside, &[&fork]), ZE_RESULT_ERROR_GRAPH_CAPTURE_UNSUPPORTED);
    expect(instance.append(&list, None, &[]), ZE_RESULT_ERROR_GRAPH_CAPTURE_UNSUPPORTED);
    // Two captures.
    expect(list.wait_on_events(&[&own]), ZE_RESULT_ERROR_GRAPH_CAPTURE_MERGE_ATTEMPT);
    expect(outside.wait_on_events(&[&own, &fork]), ZE_RESULT_ERROR_GRAPH_CAPTURE_MERGE_ATTEMPT);
    assert_eq!(is_captured(&outside), ZE_RESULT_QUERY_FALSE);
    // Lists that cannot be captured, and events of a graph outside of it.
    expect(regular.wait_on_events(&[&fork]), ZE_RESULT_ERROR_INVALID_COMMAND_LIST_TYPE);
    expect(synchronous.wait_on_events(&[&internal]), ZE_RESULT_ERROR_INVALID_COMMAND_LIST_TYPE);
    for list in [&outside, &regular, &synchronous] {
        expect(list.signal_event(&internal), ZE_RESULT_ERROR_GRAPH_INTERNAL_EVENT);
    }
    outside.signal_event(&regular_event).unwrap();
    regular_event.wait(FOREVER).unwrap();
    // Only the list that it began on ends a capture, and none of these errors has ended it.
    let mut graph = null_mut();
    // SAFETY: a live list.
    let code = unsafe { platform().api.zeCommandListEndGraphCaptureExt(child.handle, null(), &mut graph) };
    assert_eq!(code, ZE_RESULT_ERROR_INVALID_ARGUMENT);
    // SAFETY: a live list.
    let code = unsafe { platform().api.zeCommandListEndGraphCaptureExt(list.handle, null(), null_mut()) };
    assert_eq!(code, ZE_RESULT_ERROR_INVALID_NULL_POINTER, "nobody would have the graph");
    list.wait_on_events(&[&join]).unwrap();
    let graph = ended(&list);
    ended(&other);
    // All is free again.
    outside.signal_event(&internal).unwrap();
    internal.wait(FOREVER).unwrap();
    expect(fork.wait(0), ZE_RESULT_NOT_READY);
    let instance = graph.instance().unwrap();
    let copies = CommandList::copies();
    for wrong in [&closed, &copies] {
        expect(instance.append(wrong, None, &[]), ZE_RESULT_ERROR_INVALID_COMMAND_LIST_TYPE);
    }
    queue.execute(&[&closed], None).unwrap();
    queue.synchronize(FOREVER).unwrap();
}

#[test]
fn an_instance_executes_once_at_a_time() {
    #[derive(Default)]
    struct Executions {
        now: AtomicU32,
        most: AtomicU32,
        all: AtomicU32,
    }
    unsafe extern "C" fn count(data: *mut c_void) {
        // SAFETY: the test passes its counters, which outlive the list.
        let executions = unsafe { &*data.cast::<Executions>() };
        let now = executions.now.fetch_add(1, Ordering::SeqCst) + 1;
        executions.most.fetch_max(now, Ordering::SeqCst);
        std::thread::sleep(Duration::from_micros(300));
        executions.now.fetch_sub(1, Ordering::SeqCst);
        executions.all.fetch_add(1, Ordering::SeqCst);
    }
    let executions = Executions::default();
    let lists = [asynchronous(), asynchronous(), asynchronous()];
    assert_eq!(begin(&lists[0]), ZE_RESULT_SUCCESS);
    // SAFETY: the counters outlive the lists' work.
    unsafe { lists[0].host_function(count, (&raw const executions).cast_mut().cast(), None, &[]) }.unwrap();
    let graph = ended(&lists[0]);
    let instance = graph.instance().unwrap();
    for round in 0..30 {
        instance.append(&lists[round % 3], None, &[]).unwrap();
    }
    lists.iter().for_each(|list| list.synchronize(FOREVER).unwrap());
    assert_eq!(executions.all.load(Ordering::SeqCst), 30);
    assert_eq!(executions.most.load(Ordering::SeqCst), 1);
}

#[test]
fn external_events_connect_a_graph_with_what_is_outside() {
    let pool = EventPool::host_visible(1);
    let gate = pool.event(0);
    let external = || Event::counter_based(ZE_EVENT_COUNTER_BASED_FLAG_GRAPH_EXTERNAL);
    let (before, after) = (external(), external());
    let (a, b) = (platform().filled(0u32, 10), platform().filled(0u32, 10));
    let (list, producer) = (asynchronous(), asynchronous());
    assert_eq!(begin(&list), ZE_RESULT_SUCCESS);
    copy(&list, &b, &a, Some(&after), &[&before]).unwrap();
    let graph = ended(&list);
    assert!(after.is_signalled(), "nothing was executed");
    let instance = graph.instance().unwrap();
    for round in 1..10 {
        // The graph waits for the latest fill, and the host for the latest execution.
        producer.wait_on_events(&[&gate]).unwrap();
        producer.reset_event(&gate).unwrap();
        fill(&producer, &a, round, Some(&before), &[]).unwrap();
        instance.append(&list, None, &[]).unwrap();
        expect(after.wait(100_000), ZE_RESULT_NOT_READY);
        gate.signal().unwrap();
        after.wait(FOREVER).unwrap();
        assert!(b.iter().all(|&value| value == round), "round {round}: {}", b[0]);
    }
}

#[test]
fn timestamps_of_events_of_a_graph_are_those_of_its_execution() {
    let event = Event::counter_based(ZE_EVENT_COUNTER_BASED_FLAG_DEVICE_TIMESTAMP);
    let times = platform().filled(0u64, 4);
    let list = asynchronous();
    assert_eq!(begin(&list), ZE_RESULT_SUCCESS);
    list.barrier(Some(&event), &[]).unwrap();
    let mut events = [event.handle];
    // SAFETY: live handles; the buffer outlives the work.
    let code = unsafe {
        platform().api.zeCommandListAppendQueryKernelTimestamps(
            list.handle,
            1,
            events.as_mut_ptr(),
            times.pointer().cast(),
            null(),
            null_mut(),
            0,
            null_mut(),
        )
    };
    platform().check("zeCommandListAppendQueryKernelTimestamps", code).unwrap();
    let graph = ended(&list);
    let instance = graph.instance().unwrap();
    let mut last = 0;
    for _ in 0..3 {
        instance.append(&list, None, &[]).unwrap();
        list.synchronize(FOREVER).unwrap();
        assert!(times[0] > last && times[1] >= times[0], "{:?} behind {last}", &times[..2]);
        last = times[1];
    }
}

#[test]
fn callbacks_tell_of_a_graph_s_end() {
    unsafe extern "C" fn count(data: *mut c_void) {
        // SAFETY: the test passes its counter.
        unsafe { *data.cast::<u32>() += 1 };
    }
    let mut calls = 0u32;
    let graph = Graph::new();
    for _ in 0..2 {
        // SAFETY: a live graph, and a counter that outlives it.
        let code = unsafe {
            let data = (&raw mut calls).cast();
            platform().api.zeGraphSetDestructionCallbackExt(graph.0, Some(count), data, null())
        };
        assert_eq!(code, ZE_RESULT_SUCCESS);
    }
    // SAFETY: as above.
    let code = unsafe { platform().api.zeGraphSetDestructionCallbackExt(graph.0, None, null_mut(), null()) };
    assert_eq!(code, ZE_RESULT_ERROR_INVALID_NULL_POINTER);
    drop(graph);
    assert_eq!(calls, 2);
}

#[test]
fn a_list_that_is_destroyed_leaves_no_capture() {
    let pool = EventPool::host_visible(1);
    let (event, list, other) = (pool.event(0), asynchronous(), asynchronous());
    assert_eq!(begin(&list), ZE_RESULT_SUCCESS);
    list.barrier(Some(&event), &[]).unwrap();
    let mut graph = null_mut();
    // SAFETY: a live list.
    unsafe { platform().api.zeCommandListGetGraphExt(list.handle, &mut graph) };
    drop(list);
    // SAFETY: the driver tells a destroyed handle from a live one.
    assert_eq!(unsafe { platform().api.zeGraphIsEmptyExt(graph) }, ZE_RESULT_ERROR_INVALID_ARGUMENT);
    other.wait_on_events(&[&event]).unwrap();
    assert_eq!(is_captured(&other), ZE_RESULT_QUERY_FALSE);
    event.signal().unwrap();
    other.synchronize(FOREVER).unwrap();
}

#[test]
fn a_graph_is_written_as_dot() {
    let module = Module::named("vector_add");
    let (sum, step) = (platform().filled(0f32, 64), platform().filled(1f32, 64));
    let kernel = add(&module, &sum, &step);
    let pool = EventPool::host_visible(2);
    let (fork, join) = (pool.event(0), pool.event(1));
    let (list, child) = (asynchronous(), asynchronous());
    assert_eq!(begin(&list), ZE_RESULT_SUCCESS);
    list.launch(&kernel, [1, 1, 1], Some(&fork), &[]).unwrap();
    list.barrier(None, &[]).unwrap();
    child.barrier(Some(&join), &[&fork]).unwrap();
    list.wait_on_events(&[&join]).unwrap();
    let graph = ended(&list);
    let simple = graph.dump(ZE_RECORD_REPLAY_GRAPH_EXT_DUMP_MODE_SIMPLE);
    let detailed = graph.dump(ZE_RECORD_REPLAY_GRAPH_EXT_DUMP_MODE_DETAILED);
    for dot in [&simple, &detailed] {
        assert!(dot.starts_with("digraph ") && dot.trim_end().ends_with('}'), "{dot}");
        assert_eq!(dot.matches('{').count(), dot.matches('}').count(), "{dot}");
        assert!(dot.contains("kernel vector_add"), "{dot}");
        for edge in ["n0 -> n1;", "n0 -> n2;", "n1 -> n3;", "n2 -> n3;"] {
            assert_eq!(dot.matches(edge).count(), 1, "{edge} in {dot}");
        }
        assert_eq!(dot.matches(" -> ").count(), 4, "{dot}");
    }
    assert!(!simple.contains("argument"), "{simple}");
    let pointer = format!("= {:#x}", step.pointer() as usize);
    assert!(detailed.contains(&pointer) && detailed.contains("argument 3: int = 0x40"), "{detailed}");
    assert!(detailed.contains("float*") && detailed.contains("group size: [64, 1, 1]"), "{detailed}");
    // SAFETY: a live graph and a text.
    let codes = unsafe {
        let (nowhere, path) = (c"/nowhere/graph.gv".as_ptr(), c"/dev/null".as_ptr());
        let wrong = ze_record_replay_graph_ext_dump_desc_t {
            stype: ZE_STRUCTURE_TYPE_RECORD_REPLAY_GRAPH_EXT_DUMP_DESC,
            mode: ze_record_replay_graph_ext_dump_mode_t(9),
            ..Default::default()
        };
        let other = ze_event_desc_t { stype: ZE_STRUCTURE_TYPE_EVENT_DESC, ..Default::default() };
        let dump = |path, next| platform().api.zeGraphDumpContentsExt(graph.0, path, next);
        [
            dump(nowhere, null()),
            dump(path, (&raw const wrong).cast()),
            dump(path, (&raw const other).cast()),
            dump(null(), null()),
            dump(path, null()),
        ]
    };
    assert_eq!(
        codes,
        [
            ZE_RESULT_ERROR_INVALID_ARGUMENT,
            ZE_RESULT_ERROR_INVALID_ARGUMENT,
            ZE_RESULT_ERROR_UNSUPPORTED_FEATURE,
            ZE_RESULT_ERROR_INVALID_NULL_POINTER,
            ZE_RESULT_SUCCESS,
        ]
    );
}
