//! Counter-based events: their addresses, counters of the program, and other processes. The other process is `src/bin/ipc.rs`.

use std::ptr::{null, null_mut};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use ze_headers::*;
use ze_tests::{Buffer, CommandList, Event, EventPool, ListOptions, Queue, Result, platform};

use crate::ipc::{Other, digits};

const FOREVER: u64 = u64::MAX;
/// Enough for anything that is not wrong.
const NANOSECONDS: u64 = 60_000_000_000;

fn asynchronous() -> CommandList {
    CommandList::immediate(ListOptions::in_order()).unwrap()
}

#[track_caller]
fn expect<T>(result: Result<T>, want: ze_result_t) {
    assert_eq!(result.map_or_else(|error| error.code, |_| ZE_RESULT_SUCCESS), want);
}

/// The value that an event's counter gets, and where.
fn address(event: &Event) -> Result<(u64, &'static AtomicU64)> {
    let (mut value, mut address) = (0, 0);
    // SAFETY: a live event.
    let code =
        unsafe { platform().api.zeEventCounterBasedGetDeviceAddress(event.handle, &mut value, &mut address) };
    // SAFETY: the address is the driver's, and the tests keep the event.
    platform()
        .check("zeEventCounterBasedGetDeviceAddress", code)
        .map(|()| (value, unsafe { &*std::ptr::with_exposed_provenance(address as usize) }))
}

fn is_there((value, address): (u64, &AtomicU64)) -> bool {
    address.load(Ordering::Acquire) >= value
}

/// An event with a counter of the program's: `increment` is added by its commands, if any.
fn with_counter(counter: &Buffer<u64>, completion: u64, increment: Option<u64>) -> Event {
    let external = ze_event_counter_based_external_sync_allocation_desc_t {
        stype: ZE_STRUCTURE_TYPE_EVENT_COUNTER_BASED_EXTERNAL_SYNC_ALLOCATION_DESC,
        deviceAddress: counter.pointer(),
        hostAddress: counter.pointer(),
        completionValue: completion,
        ..Default::default()
    };
    let aggregate = ze_event_counter_based_external_aggregate_storage_desc_t {
        stype: ZE_STRUCTURE_TYPE_EVENT_COUNTER_BASED_EXTERNAL_AGGREGATE_STORAGE_DESC,
        deviceAddress: counter.pointer(),
        incrementValue: increment.unwrap_or_default(),
        completionValue: completion,
        ..Default::default()
    };
    Event::of_counter(&ze_event_counter_based_desc_t {
        stype: ZE_STRUCTURE_TYPE_EVENT_COUNTER_BASED_DESC,
        pNext: match increment {
            None => (&raw const external).cast(),
            Some(_) => (&raw const aggregate).cast(),
        },
        flags: ZE_EVENT_COUNTER_BASED_FLAG_IMMEDIATE | ZE_EVENT_COUNTER_BASED_FLAG_HOST_VISIBLE,
        ..Default::default()
    })
    .unwrap()
}

fn store(counter: &Buffer<u64>, value: u64) {
    // SAFETY: the buffer is aligned memory.
    unsafe { AtomicU64::from_ptr(counter.pointer()) }.store(value, Ordering::Release);
}

#[test]
fn who_moves_a_counter_on_may_wait_at_once_for_what_waits_for_it() {
    for round in 0..20 {
        let (counter, list) = (platform().filled(0u64, 1), asynchronous());
        let event = with_counter(&counter, 1, None);
        list.wait_on_events(&[&event]).unwrap();
        // Long enough, now and then, for the list to have itself told.
        std::thread::sleep(Duration::from_micros(200 * (round % 4)));
        store(&counter, 1);
        list.synchronize(NANOSECONDS).unwrap();
        assert!(event.is_signalled());
    }
}

#[test]
fn the_device_says_which_kinds_of_counters_there_are() {
    let mut events = ze_device_event_properties_t {
        stype: ZE_STRUCTURE_TYPE_DEVICE_EVENT_PROPERTIES,
        ..Default::default()
    };
    let mut properties = ze_device_properties_t {
        stype: ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES,
        pNext: (&raw mut events).cast(),
        ..Default::default()
    };
    let (mut increment, mut most) = (0, 0);
    let (api, device) = (&platform().api, platform().device);
    // SAFETY: a live device and a valid chain.
    let codes = unsafe {
        [
            api.zeDeviceGetProperties(device, &mut properties),
            api.zeDeviceGetAggregatedCopyOffloadIncrementValue(device, &mut increment),
            api.zeDeviceGetCounterBasedEventMaxValue(device, &mut most),
        ]
    };
    assert_eq!(codes, [ZE_RESULT_SUCCESS; 3]);
    assert_eq!((events.flags, increment, most), (7, 1, u64::MAX));
}

#[test]
fn the_address_of_an_event_tells_when_its_latest_command_is_done() {
    let pool = EventPool::host_visible(2);
    let gates = [pool.event(0), pool.event(1)];
    let event = Event::counter_based(0);
    expect(address(&event), ZE_RESULT_ERROR_INVALID_ARGUMENT);
    let lists = [asynchronous(), asynchronous()];
    let mut places = Vec::new();
    for (list, gate) in lists.iter().zip(&gates) {
        list.barrier(Some(&event), &[gate]).unwrap();
        places.push(address(&event).unwrap());
    }
    assert!(places.iter().all(|&place| !is_there(place)));
    // Each stays that of its own command.
    gates[1].signal().unwrap();
    event.wait(FOREVER).unwrap();
    assert!(is_there(places[1]) && !is_there(places[0]));
    gates[0].signal().unwrap();
    lists[0].synchronize(FOREVER).unwrap();
    assert!(is_there(places[0]));
    // A regular event has one that follows its state, unless it has timestamps.
    let place = address(&gates[0]).unwrap();
    assert!(is_there(place));
    gates[0].reset().unwrap();
    assert!(!is_there(place));
    expect(address(&EventPool::timestamps(1).event(0)), ZE_RESULT_ERROR_INVALID_ARGUMENT);
}

#[test]
fn the_address_counts_the_executions_of_a_list() {
    let pool = EventPool::host_visible(1);
    let (gate, event) = (pool.event(0), Event::counter_based(0));
    let (list, queue) =
        (CommandList::regular(true).unwrap(), Queue::new(ListOptions::asynchronous()).unwrap());
    list.barrier(Some(&event), &[&gate]).unwrap();
    list.reset_event(&gate).unwrap();
    list.close().unwrap();
    for _ in 0..3 {
        queue.execute(&[&list], None).unwrap();
        let place = address(&event).unwrap();
        assert!(!is_there(place));
        gate.signal().unwrap();
        queue.synchronize(FOREVER).unwrap();
        assert!(is_there(place));
    }
}

#[test]
fn an_event_follows_the_counter_that_the_program_writes() {
    let counter = platform().filled(0u64, 1);
    let event = with_counter(&counter, 5, None);
    assert!(!event.is_signalled());
    assert_eq!(address(&event).unwrap().0, 5);
    store(&counter, 7);
    assert!(event.is_signalled());
    event.wait(FOREVER).unwrap();
    store(&counter, 0);
    expect(event.wait(1_000_000), ZE_RESULT_NOT_READY);
    // Commands and hosts that wait are told.
    let (list, done) = (asynchronous(), Event::counter_based(0));
    list.barrier(Some(&done), &[&event]).unwrap();
    expect(done.wait(2_000_000), ZE_RESULT_NOT_READY);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            std::thread::sleep(Duration::from_millis(5));
            store(&counter, 5);
        });
        event.wait(NANOSECONDS).unwrap();
    });
    done.wait(NANOSECONDS).unwrap();
    // A command of its own takes the counter's place.
    let pool = EventPool::host_visible(1);
    let gate = pool.event(0);
    list.barrier(Some(&event), &[&gate]).unwrap();
    assert!(!event.is_signalled() && counter[0] == 5);
    gate.signal().unwrap();
    event.wait(FOREVER).unwrap();
    assert_eq!(counter[0], 5);
}

#[test]
fn commands_of_several_lists_add_to_an_aggregate() {
    let counter = platform().filled(1u64, 1);
    let event = with_counter(&counter, 31, Some(3));
    let waiting = asynchronous();
    let seen = platform().filled(0u64, 1);
    // SAFETY: both buffers outlive the commands.
    unsafe {
        waiting.copy(seen.pointer().cast(), counter.pointer().cast(), 8, None, &[&event]).unwrap();
    }
    let lists = [asynchronous(), asynchronous()];
    for round in 0..9 {
        lists[round % 2].barrier(Some(&event), &[]).unwrap();
    }
    lists.iter().for_each(|list| list.synchronize(FOREVER).unwrap());
    assert_eq!(counter[0], 28);
    assert!(!event.is_signalled());
    lists[0].barrier(Some(&event), &[]).unwrap();
    event.wait(NANOSECONDS).unwrap();
    waiting.synchronize(NANOSECONDS).unwrap();
    assert_eq!((counter[0], seen[0]), (31, 31));
    // What is added is the program's to take back.
    store(&counter, 0);
    assert!(!event.is_signalled());
}

#[test]
fn a_counter_that_cannot_be_is_refused() {
    let counter = platform().filled(0u64, 2);
    let aggregate = ze_event_counter_based_external_aggregate_storage_desc_t {
        stype: ZE_STRUCTURE_TYPE_EVENT_COUNTER_BASED_EXTERNAL_AGGREGATE_STORAGE_DESC,
        deviceAddress: counter.pointer(),
        ..Default::default()
    };
    let external =
        |device: *mut u64, host: *mut u64, next| ze_event_counter_based_external_sync_allocation_desc_t {
            stype: ZE_STRUCTURE_TYPE_EVENT_COUNTER_BASED_EXTERNAL_SYNC_ALLOCATION_DESC,
            pNext: next,
            deviceAddress: device,
            hostAddress: host,
            completionValue: 1,
        };
    let at = counter.pointer();
    let chains = [
        external(at, at, (&raw const aggregate).cast()),
        external(null_mut(), at, null()),
        external(at, null_mut(), null()),
        external(at, at.wrapping_byte_add(4), null()),
    ];
    for chain in &chains {
        let desc = ze_event_counter_based_desc_t {
            stype: ZE_STRUCTURE_TYPE_EVENT_COUNTER_BASED_DESC,
            pNext: std::ptr::from_ref(chain).cast(),
            ..Default::default()
        };
        expect(Event::of_counter(&desc), ZE_RESULT_ERROR_INVALID_ARGUMENT);
    }
    let (device, host, ipc) = (
        ZE_EVENT_COUNTER_BASED_FLAG_DEVICE_TIMESTAMP,
        ZE_EVENT_COUNTER_BASED_FLAG_HOST_TIMESTAMP,
        ZE_EVENT_COUNTER_BASED_FLAG_IPC,
    );
    for flags in [device | host, device | ipc, host | ipc] {
        let desc = ze_event_counter_based_desc_t {
            stype: ZE_STRUCTURE_TYPE_EVENT_COUNTER_BASED_DESC,
            flags,
            ..Default::default()
        };
        expect(Event::of_counter(&desc), ZE_RESULT_ERROR_INVALID_ARGUMENT);
    }
}

#[test]
fn what_waits_for_the_counter_of_a_destroyed_event_ends_with_an_error() {
    let counter = platform().filled(0u64, 1);
    let event = with_counter(&counter, 1, None);
    let list = asynchronous();
    list.wait_on_events(&[&event]).unwrap();
    drop(event);
    expect(list.synchronize(NANOSECONDS), ZE_RESULT_ERROR_DEVICE_LOST);
    list.barrier(None, &[]).unwrap();
    list.synchronize(NANOSECONDS).unwrap();
}

fn ipc_handle(event: &Event) -> Result<ze_ipc_event_counter_based_handle_t> {
    let mut handle = ze_ipc_event_counter_based_handle_t::default();
    // SAFETY: a live event.
    let code = unsafe { platform().api.zeEventCounterBasedGetIpcHandle(event.handle, &mut handle) };
    platform().check("zeEventCounterBasedGetIpcHandle", code).map(|()| handle)
}

#[test]
fn another_process_waits_for_what_this_one_appends_and_the_other_way_round() {
    let pool = EventPool::new(2, ZE_EVENT_POOL_FLAG_HOST_VISIBLE | ZE_EVENT_POOL_FLAG_IPC).unwrap();
    let gates = [pool.event(0), pool.event(1)];
    let event = Event::counter_based(ZE_EVENT_COUNTER_BASED_FLAG_IPC);
    let mut other = Other::start();
    assert_eq!(other.ask(&format!("counter {}", digits(&ipc_handle(&event).unwrap().data))), "0");
    let mut handle = ze_ipc_event_pool_handle_t::default();
    // SAFETY: a live pool.
    unsafe { platform().api.zeEventPoolGetIpcHandle(pool.handle, &mut handle) };
    assert_eq!(other.ask(&format!("pool {}", digits(&handle.data))), "0");
    assert_eq!(other.ask("event 0 1"), "1");
    assert_eq!(other.ask("query 0"), "done", "nothing was appended yet");
    let list = asynchronous();
    for _ in 0..3 {
        list.barrier(Some(&event), &[&gates[0]]).unwrap();
        list.reset_event(&gates[0]).unwrap();
        assert!(other.ask("query 0").contains("NOT_READY"));
        assert!(other.ask("wait 0 1000000").contains("NOT_READY"));
        gates[0].signal().unwrap();
        assert_eq!(other.ask(&format!("wait 0 {NANOSECONDS}")), "done");
        assert_eq!(other.ask("list 0"), "done");
        // The other process's command takes the place of this one's.
        assert_eq!(other.ask("append 0 1"), "done");
        assert!(!event.is_signalled());
        list.wait_on_events(&[&event]).unwrap();
        expect(list.synchronize(1_000_000), ZE_RESULT_NOT_READY);
        gates[1].signal().unwrap();
        event.wait(NANOSECONDS).unwrap();
        list.synchronize(NANOSECONDS).unwrap();
        gates[1].reset().unwrap();
    }
    assert_eq!(other.ask("uncounter 0"), "done");
    assert!(other.ask("uncounter 1").contains("INVALID_SYNCHRONIZATION_OBJECT"));
}

#[test]
fn only_events_that_are_made_for_it_are_shared() {
    let pool = EventPool::host_visible(1);
    expect(ipc_handle(&Event::counter_based(0)), ZE_RESULT_ERROR_INVALID_SYNCHRONIZATION_OBJECT);
    expect(ipc_handle(&pool.event(0)), ZE_RESULT_ERROR_INVALID_SYNCHRONIZATION_OBJECT);
    let event = Event::counter_based(ZE_EVENT_COUNTER_BASED_FLAG_IPC);
    let mut handle = ipc_handle(&event).unwrap();
    let open = |handle| {
        let mut opened = null_mut();
        // SAFETY: a live context.
        let code = unsafe {
            platform().api.zeEventCounterBasedOpenIpcHandle(platform().context, handle, &mut opened)
        };
        platform().check("zeEventCounterBasedOpenIpcHandle", code).map(|()| Event { handle: opened })
    };
    drop(open(handle).expect("it is of this process"));
    for byte in 0..24 {
        handle.data[byte] = !handle.data[byte];
        let opened = open(handle);
        // The first four and the next but one four bytes are hints where to look.
        assert!(opened.is_err() || byte < 4 || (8..16).contains(&byte), "byte {byte}");
        handle.data[byte] = !handle.data[byte];
    }
    // SAFETY: a live event.
    let code = unsafe { platform().api.zeEventCounterBasedCloseIpcHandle(event.handle) };
    assert_eq!(code, ZE_RESULT_ERROR_INVALID_SYNCHRONIZATION_OBJECT);
}
