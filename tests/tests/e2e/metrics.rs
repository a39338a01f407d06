//! Metrics (`zet*`): groups, queries, streamers and what is calculated from their data.
//!
//! Metrics are the whole process's, so that each test runs in a process of its own.

use std::mem::zeroed;
use std::process::Command;
use std::ptr::{null, null_mut};

use ze_headers::*;
use ze_tests::platform::text;
use ze_tests::{CommandList, Event, EventPool, Kernel, ListOptions, Module, Queue, platform};

const FOREVER: u64 = u64::MAX;

/// Runs an ignored test of this file in a process of its own.
fn alone(test: &str, enabled: &str) {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "--ignored", "--nocapture", &format!("metrics::{test}")]);
    let output = command.env("ZET_ENABLE_METRICS", enabled).output().expect("the program starts");
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{said}{}", String::from_utf8_lossy(&output.stderr));
    assert!(said.contains("1 passed"), "{said}");
}

#[test]
fn metrics_are_listed_once_they_are_enabled() {
    alone("listed_once_enabled", "0");
}

#[test]
fn groups_and_metrics_are_described() {
    alone("described", "1");
}

#[test]
fn queries_count_what_is_between_their_ends() {
    alone("queried", "1");
}

#[test]
fn streamers_report_markers_and_notify() {
    alone("streamed", "1");
}

#[test]
fn metric_functions_refuse_what_they_cannot_do() {
    alone("refused", "1");
}

fn check(code: ze_result_t) {
    platform().check("zet", code).unwrap_or_else(|error| panic!("{error:?}"));
}

/// What a function lists.
fn listed<T: Copy>(ask: impl Fn(*mut u32, *mut T) -> ze_result_t) -> Vec<T> {
    // SAFETY: handles and numbers, for which zero is a value.
    platform().listed("zet", unsafe { zeroed::<T>() }, ask).unwrap_or_else(|error| panic!("{error:?}"))
}

fn groups() -> Vec<zet_metric_group_handle_t> {
    // SAFETY: a live device, and arrays of the length that is said.
    listed(|count, groups| unsafe { platform().api.zetMetricGroupGet(platform().device, count, groups) })
}

fn properties(group: zet_metric_group_handle_t) -> zet_metric_group_properties_t {
    let mut properties = zet_metric_group_properties_t {
        stype: ZET_STRUCTURE_TYPE_METRIC_GROUP_PROPERTIES,
        ..Default::default()
    };
    // SAFETY: a live group and a structure without a chain.
    check(unsafe { platform().api.zetMetricGroupGetProperties(group, &mut properties) });
    properties
}

fn group(name: &str) -> zet_metric_group_handle_t {
    groups().into_iter().find(|&group| text(&properties(group).name) == name).expect("every system has it")
}

fn metrics(group: zet_metric_group_handle_t) -> Vec<zet_metric_properties_t> {
    let api = &platform().api;
    // SAFETY: a live group, and arrays of the length that is said.
    let metrics = listed(|count, metrics| unsafe { api.zetMetricGet(group, count, metrics) });
    let properties = |metric| {
        let mut properties =
            zet_metric_properties_t { stype: ZET_STRUCTURE_TYPE_METRIC_PROPERTIES, ..Default::default() };
        // SAFETY: a live metric and a structure without a chain.
        check(unsafe { api.zetMetricGetProperties(metric, &mut properties) });
        properties
    };
    metrics.into_iter().map(properties).collect()
}

fn activate(groups: &mut [zet_metric_group_handle_t]) -> ze_result_t {
    let platform = platform();
    let first = if groups.is_empty() { null_mut() } else { groups.as_mut_ptr() };
    // SAFETY: live handles, and as many groups.
    unsafe {
        platform.api.zetContextActivateMetricGroups(
            platform.context,
            platform.device,
            groups.len() as u32,
            first,
        )
    }
}

/// The values of a metric in all reports, as a program calculates them.
fn values(group: zet_metric_group_handle_t, raw: &[u8], name: &str) -> Vec<u64> {
    // SAFETY: a live group and arrays of the length that is said.
    let values = listed(|count, values| unsafe {
        platform().api.zetMetricGroupCalculateMetricValues(
            group,
            ZET_METRIC_GROUP_CALCULATION_TYPE_METRIC_VALUES,
            raw.len(),
            raw.as_ptr(),
            count,
            values,
        )
    });
    let metrics = metrics(group);
    let place = metrics.iter().position(|metric| text(&metric.name) == name).expect("of the group");
    let value = |report: &[zet_typed_value_t]| {
        assert_eq!(report[place].type_, ZET_VALUE_TYPE_UINT64);
        // SAFETY: its type says so.
        unsafe { report[place].value.ui64 }
    };
    values.chunks(metrics.len()).map(value).collect()
}

struct Query {
    pool: zet_metric_query_pool_handle_t,
    handle: zet_metric_query_handle_t,
}

impl Query {
    fn new(group: zet_metric_group_handle_t) -> Query {
        let platform = platform();
        let desc = zet_metric_query_pool_desc_t {
            stype: ZET_STRUCTURE_TYPE_METRIC_QUERY_POOL_DESC,
            count: 3,
            ..Default::default()
        };
        let (mut pool, mut handle) = (null_mut(), null_mut());
        // SAFETY: live handles and room for one.
        unsafe {
            check(platform.api.zetMetricQueryPoolCreate(
                platform.context,
                platform.device,
                group,
                &desc,
                &mut pool,
            ));
            check(platform.api.zetMetricQueryCreate(pool, 2, &mut handle));
        }
        Query { pool, handle }
    }

    fn begin(&self, list: &CommandList) -> ze_result_t {
        // SAFETY: live handles.
        unsafe { platform().api.zetCommandListAppendMetricQueryBegin(list.handle, self.handle) }
    }

    fn end(&self, list: &CommandList, done: Option<&Event>, wait: Option<&Event>) {
        let mut wait: Vec<_> = wait.iter().map(|event| event.handle).collect();
        let done = done.map_or(null_mut(), |event| event.handle);
        // SAFETY: live handles.
        check(unsafe {
            platform().api.zetCommandListAppendMetricQueryEnd(
                list.handle,
                self.handle,
                done,
                wait.len() as u32,
                wait.as_mut_ptr(),
            )
        });
    }

    fn data(&self) -> Result<Vec<u8>, ze_result_t> {
        let (api, mut size) = (&platform().api, 0);
        // SAFETY: a live query, and as many bytes as it says.
        unsafe {
            check(api.zetMetricQueryGetData(self.handle, &mut size, null_mut()));
            let mut data = vec![0; size];
            match api.zetMetricQueryGetData(self.handle, &mut size, data.as_mut_ptr()) {
                ZE_RESULT_SUCCESS => Ok(data),
                code => Err(code),
            }
        }
    }

    fn destroy(self) {
        // SAFETY: live handles that are not used any more.
        unsafe {
            check(platform().api.zetMetricQueryDestroy(self.handle));
            check(platform().api.zetMetricQueryPoolDestroy(self.pool));
        }
    }
}

/// A kernel that runs for any arguments.
fn kernel() -> (Module, Kernel) {
    let module = Module::named("empty");
    let name = module.kernel_names().unwrap().remove(0);
    let kernel = module.kernel(&name);
    (module, kernel)
}

#[test]
#[ignore = "metrics_are_listed_once_they_are_enabled runs it"]
fn listed_once_enabled() {
    let (api, device, mut count) = (&platform().api, platform().device, 7);
    // SAFETY: a live device.
    unsafe {
        let code = api.zetMetricGroupGet(device, &mut count, null_mut());
        assert_eq!(code, ZE_RESULT_ERROR_DEPENDENCY_UNAVAILABLE);
        check(api.zetDeviceEnableMetricsExp(device));
        let kernels = group("Kernels");
        check(activate(&mut [kernels]));
        assert_eq!(api.zetDeviceDisableMetricsExp(device), ZE_RESULT_ERROR_HANDLE_OBJECT_IN_USE);
        check(activate(&mut []));
        let query = Query::new(kernels);
        assert_eq!(api.zetDeviceDisableMetricsExp(device), ZE_RESULT_ERROR_HANDLE_OBJECT_IN_USE);
        query.destroy();
        check(api.zetDeviceDisableMetricsExp(device));
        assert_eq!(activate(&mut [kernels]), ZE_RESULT_ERROR_DEPENDENCY_UNAVAILABLE);
        assert!(!groups().is_empty(), "what was listed stays so");
    }
}

#[test]
#[ignore = "groups_and_metrics_are_described runs it"]
fn described() {
    let (api, device) = (&platform().api, platform().device);
    let mut all = groups();
    let mut domains = Vec::new();
    for &group in &all {
        let group_properties = properties(group);
        let metrics = metrics(group);
        assert_eq!(group_properties.metricCount as usize, metrics.len());
        let both =
            ZET_METRIC_GROUP_SAMPLING_TYPE_FLAG_EVENT_BASED | ZET_METRIC_GROUP_SAMPLING_TYPE_FLAG_TIME_BASED;
        assert_eq!(group_properties.samplingType, both);
        domains.push(group_properties.domain);
        for metric in &metrics {
            let said = [&metric.name[..], &metric.description, &metric.component].map(text);
            assert!(said.iter().all(|text| !text.is_empty()), "{said:?}");
        }
        let ends = [&metrics[0], &metrics[1], &metrics[metrics.len() - 1]].map(|metric| text(&metric.name));
        assert_eq!(ends, ["ReportTime", "ElapsedTime", "StreamMarker"]);
    }
    // A group of a domain twice: it needs a run of its own.
    all.push(all[0]);
    let (mut counts, mut sets) = (vec![0; all.len()], 0);
    let ask = |groups: &mut Vec<_>, counts: *mut u32, sets: *mut u32| {
        let length = groups.len() as u32;
        // SAFETY: a live device and live groups.
        unsafe {
            api.zetDeviceGetConcurrentMetricGroupsExp(device, length, groups.as_mut_ptr(), counts, sets)
        }
    };
    check(ask(&mut all, null_mut(), &mut sets));
    domains.sort_unstable();
    domains.dedup();
    check(ask(&mut all, counts.as_mut_ptr(), &mut sets));
    assert_eq!(counts[..sets as usize].iter().sum::<u32>() as usize, all.len());
    assert_eq!((counts[0] as usize, sets >= 2), (domains.len(), true));
    let (mut resolution, mut source) = (
        zet_metric_global_timestamps_resolution_exp_t {
            stype: ZET_STRUCTURE_TYPE_METRIC_GLOBAL_TIMESTAMPS_RESOLUTION_EXP,
            ..Default::default()
        },
        zet_metric_source_id_exp_t { stype: ZET_STRUCTURE_TYPE_METRIC_SOURCE_ID_EXP, ..Default::default() },
    );
    source.pNext = (&raw mut resolution).cast();
    // As programs for API 1.6 ask.
    let mut older = zet_metric_global_timestamps_resolution_exp_t {
        stype: ZET_STRUCTURE_TYPE_GLOBAL_METRICS_TIMESTAMPS_EXP_PROPERTIES,
        ..Default::default()
    };
    resolution.pNext = (&raw mut older).cast();
    let mut chained = zet_metric_group_properties_t {
        stype: ZET_STRUCTURE_TYPE_METRIC_GROUP_PROPERTIES,
        pNext: (&raw mut source).cast(),
        ..Default::default()
    };
    let ([mut host, mut device_time], mut moments) = ([0; 2], [0; 2]);
    let mut debug = zet_device_debug_properties_t {
        stype: ZET_STRUCTURE_TYPE_DEVICE_DEBUG_PROPERTIES,
        flags: 77,
        ..Default::default()
    };
    let mut programmable = 5;
    // SAFETY: live handles and valid structures.
    unsafe {
        check(api.zetMetricGroupGetProperties(all[0], &mut chained));
        check(api.zetMetricGroupGetGlobalTimestampsExp(all[0], 1, &mut host, &mut moments[0]));
        check(api.zetMetricGroupGetGlobalTimestampsExp(all[0], 0, &mut device_time, &mut moments[1]));
        check(api.zetDeviceGetDebugProperties(device, &mut debug));
        check(api.zetMetricProgrammableGetExp(device, &mut programmable, null_mut()));
    }
    for resolution in [resolution, older] {
        assert_eq!((resolution.timerResolution, resolution.timestampValidBits), (1_000_000_000, 64));
    }
    assert_eq!((source.sourceId, debug.flags, programmable), (chained.domain, 0, 0));
    assert!(host == moments[0] && moments[0] <= moments[1] && device_time != 0);
}

#[test]
#[ignore = "queries_count_what_is_between_their_ends runs it"]
fn queried() {
    let (_module, kernel) = kernel();
    kernel.set_group_size([8, 2, 1]).unwrap();
    let [kernels, copies, process] = ["Kernels", "Copies", "Process"].map(group);
    check(activate(&mut [kernels, copies, process]));
    let queries = [kernels, copies, process].map(Query::new);
    let memory = platform().filled(0u8, 1000);
    let pool = EventPool::host_visible(2);
    let (done, ran) = (pool.event(0), pool.event(1));
    // A list that is executed twice, and an immediate one; what is before and behind is not counted.
    let queue = Queue::new(ListOptions::asynchronous()).unwrap();
    let (list, immediate) =
        (CommandList::regular(false).unwrap(), CommandList::immediate(ListOptions::asynchronous()).unwrap());
    for (list, is_immediate) in [(&list, false), (&immediate, true)] {
        list.launch(&kernel, [100, 1, 1], None, &[]).unwrap();
        queries.iter().for_each(|query| check(query.begin(list)));
        list.launch(&kernel, [3, 2, 1], None, &[]).unwrap();
        list.launch(&kernel, [1, 1, 1], Some(&ran), &[]).unwrap();
        // SAFETY: a live list, and memory that is there.
        check(unsafe {
            platform().api.zeCommandListAppendMemoryFill(
                list.handle,
                memory.pointer().cast(),
                [7u8].as_ptr().cast(),
                1,
                1000,
                null_mut(),
                0,
                null_mut(),
            )
        });
        // SAFETY: a live list.
        check(unsafe { platform().api.zetCommandListAppendMetricMemoryBarrier(list.handle) });
        queries[1].end(list, None, None);
        queries[2].end(list, None, Some(&ran));
        queries[0].end(list, Some(&done), None);
        list.launch(&kernel, [100, 1, 1], None, &[]).unwrap();
        if !is_immediate {
            list.close().unwrap();
            queries.iter().for_each(|query| assert_eq!(query.data().unwrap_err(), ZE_RESULT_NOT_READY));
            for _ in 0..2 {
                queue.execute(&[list], None).unwrap();
            }
            queue.synchronize(FOREVER).unwrap();
        }
        done.wait(FOREVER).unwrap();
        let count = |query: &Query, group, name: &str| {
            let all = values(group, &query.data().expect("it ended"), name);
            assert_eq!(all.len(), 1, "a query is one report");
            all[0]
        };
        let of_kernels = ["KernelLaunches", "WorkGroups", "WorkItems", "StreamMarker"];
        assert_eq!(of_kernels.map(|name| count(&queries[0], kernels, name)), [2, 7, 112, 0]);
        assert_eq!(["Copies", "BytesCopied"].map(|name| count(&queries[1], copies, name)), [1, 1000]);
        let [busy, elapsed] = ["KernelTime", "ElapsedTime"].map(|name| count(&queries[0], kernels, name));
        assert!(busy <= elapsed + 1000, "{busy} of {elapsed} ns");
        assert!(count(&queries[2], process, "ReportTime") > 0);
        immediate.synchronize(FOREVER).unwrap();
        for query in &queries {
            // SAFETY: a live query that no command uses.
            check(unsafe { platform().api.zetMetricQueryReset(query.handle) });
            assert_eq!(query.data().unwrap_err(), ZE_RESULT_NOT_READY);
        }
        done.reset().unwrap();
    }
    queries.into_iter().for_each(Query::destroy);
    check(activate(&mut []));
}

#[test]
#[ignore = "streamers_report_markers_and_notify runs it"]
fn streamed() {
    let platform = platform();
    let (api, kernels) = (&platform.api, group("Kernels"));
    let (_module, kernel) = kernel();
    check(activate(&mut [kernels]));
    let pool = EventPool::host_visible(1);
    let event = pool.event(0);
    let mut desc = zet_metric_streamer_desc_t {
        stype: ZET_STRUCTURE_TYPE_METRIC_STREAMER_DESC,
        notifyEveryNReports: 20,
        samplingPeriod: 1,
        ..Default::default()
    };
    let mut streamer = null_mut();
    // SAFETY: live handles.
    check(unsafe {
        api.zetMetricStreamerOpen(
            platform.context,
            platform.device,
            kernels,
            &mut desc,
            event.handle,
            &mut streamer,
        )
    });
    assert_eq!((desc.samplingPeriod, desc.notifyEveryNReports), (100_000, 20), "what is done instead");
    let read = |most: u32| {
        let mut size = 0;
        // SAFETY: a live streamer, and as many bytes as it says.
        unsafe {
            check(api.zetMetricStreamerReadData(streamer, most, &mut size, null_mut()));
            let mut data = vec![0; size];
            check(api.zetMetricStreamerReadData(streamer, most, &mut size, data.as_mut_ptr()));
            data.truncate(size);
            data
        }
    };
    let list = CommandList::immediate(ListOptions::synchronous()).unwrap();
    for marker in [10, 20, 30] {
        list.launch(&kernel, [marker, 1, 1], None, &[]).unwrap();
        // SAFETY: live handles.
        check(unsafe { api.zetCommandListAppendMetricStreamerMarker(list.handle, streamer, marker) });
    }
    event.wait(FOREVER).unwrap();
    let mut raw = read(5);
    assert_eq!(values(kernels, &raw, "ElapsedTime").len(), 5, "no more than is asked for");
    raw.extend(read(u32::MAX));
    assert!(values(kernels, &raw, "ElapsedTime").len() >= 20);
    let markers = values(kernels, &raw, "StreamMarker");
    assert_eq!(markers.into_iter().filter(|&marker| marker != 0).collect::<Vec<_>>(), [10, 20, 30]);
    assert_eq!(values(kernels, &raw, "KernelLaunches").iter().sum::<u64>(), 3);
    assert_eq!(values(kernels, &raw, "WorkGroups").iter().sum::<u64>(), 60);

    // Calculated elsewhere, with the first reports left out.
    let export = |data: &mut Vec<u8>, size: &mut usize| {
        let out = if data.is_empty() { null_mut() } else { data.as_mut_ptr() };
        // SAFETY: a live group, and arrays of the length that is said.
        check(unsafe { api.zetMetricGroupGetExportDataExp(kernels, raw.as_ptr(), raw.len(), size, out) });
    };
    let (mut exported, mut size) = (Vec::new(), 0);
    export(&mut exported, &mut size);
    exported.resize(size, 0);
    export(&mut exported, &mut size);
    let mut skip = zet_metric_calculate_exp_desc_t {
        stype: ZET_STRUCTURE_TYPE_METRIC_CALCULATE_EXP_DESC,
        rawReportSkipCount: 4,
        ..Default::default()
    };
    let (mut sets, mut total, mut counts) = (0, 0, [0; 1]);
    let of_report = metrics(kernels).len() as u32;
    let all = ZET_METRIC_GROUP_CALCULATION_TYPE_METRIC_VALUES;
    // SAFETY: live handles, and arrays of the length that is said.
    unsafe {
        let (data, no_values) = (exported.as_ptr(), null_mut());
        check(api.zetMetricGroupCalculateMetricExportDataExp(
            platform.driver,
            all,
            size,
            data,
            &mut skip,
            &mut sets,
            &mut total,
            null_mut(),
            no_values,
        ));
        let reports = values(kernels, &raw, "ElapsedTime").len() as u32;
        assert_eq!((sets, total), (1, (reports - 4) * of_report));
        let mut calculated = vec![zet_typed_value_t::default(); total as usize];
        check(api.zetMetricGroupCalculateMultipleMetricValuesExp(
            kernels,
            all,
            raw.len(),
            raw.as_ptr(),
            &mut sets,
            &mut total,
            counts.as_mut_ptr(),
            calculated.as_mut_ptr(),
        ));
        assert_eq!(
            (sets, counts[0], total),
            (1, total, (reports - 4) * of_report),
            "as many as there is room for"
        );
    }
    // SAFETY: a live streamer, which a list that ends later may still mark.
    check(unsafe { api.zetMetricStreamerClose(streamer) });
    check(activate(&mut []));
}

#[test]
#[ignore = "metric_functions_refuse_what_they_cannot_do runs it"]
fn refused() {
    let platform = platform();
    let (api, kernels) = (&platform.api, group("Kernels"));
    let (context, device) = (platform.context, platform.device);
    assert_eq!(activate(&mut [kernels, kernels]), ZE_RESULT_ERROR_INVALID_ARGUMENT, "of one domain");
    let list = CommandList::regular(false).unwrap();
    let query = Query::new(kernels);
    assert_eq!(query.begin(&list), ZE_RESULT_ERROR_NOT_AVAILABLE, "the group is not active");
    let mut streamer = null_mut();
    let mut desc = zet_metric_streamer_desc_t::default();
    // SAFETY: live handles but for those that are refused.
    unsafe {
        let open = |event, streamer: &mut _, desc: &mut _| {
            api.zetMetricStreamerOpen(context, device, kernels, desc, event, streamer)
        };
        assert_eq!(open(null_mut(), &mut streamer, &mut desc), ZE_RESULT_ERROR_NOT_AVAILABLE);
        check(activate(&mut [kernels]));
        let counter_based = Event::counter_based(0);
        let code = open(counter_based.handle, &mut streamer, &mut desc);
        assert_eq!(code, ZE_RESULT_ERROR_INVALID_SYNCHRONIZATION_OBJECT);
        let code = api.zetContextActivateMetricGroups(context, device, 1, null_mut());
        assert_eq!(code, ZE_RESULT_ERROR_INVALID_SIZE);
        let mut handle = null_mut();
        assert_eq!(api.zetMetricQueryCreate(query.pool, 3, &mut handle), ZE_RESULT_ERROR_INVALID_ARGUMENT);
        let no_query = zet_metric_query_pool_desc_t::default();
        let mut pool = null_mut();
        let code = api.zetMetricQueryPoolCreate(context, device, kernels, &no_query, &mut pool);
        assert_eq!(code, ZE_RESULT_ERROR_INVALID_SIZE);
        let foreign = [1u8; 16];
        let (mut sets, mut total) = (0, 0);
        let mut skip = zet_metric_calculate_exp_desc_t::default();
        let code = api.zetMetricGroupCalculateMetricExportDataExp(
            platform.driver,
            ZET_METRIC_GROUP_CALCULATION_TYPE_METRIC_VALUES,
            foreign.len(),
            foreign.as_ptr(),
            &mut skip,
            &mut sets,
            &mut total,
            null_mut(),
            null_mut(),
        );
        assert_eq!(code, ZE_RESULT_ERROR_INVALID_ARGUMENT);
        let (all, mut count) = (ZET_METRIC_GROUP_CALCULATION_TYPE_METRIC_VALUES, 0);
        let calculate = |group, size, data, count: &mut u32| {
            api.zetMetricGroupCalculateMetricValues(group, all, size, data, count, null_mut())
        };
        assert_eq!(calculate(kernels, 5, foreign.as_ptr(), &mut count), ZE_RESULT_ERROR_INVALID_SIZE);
        assert_eq!(calculate(kernels, 5, null(), &mut count), ZE_RESULT_ERROR_INVALID_NULL_POINTER);
        assert_eq!(calculate(kernels, 0, foreign.as_ptr(), &mut count), ZE_RESULT_SUCCESS);
        assert_eq!(count, 0, "no reports have no values");
        let stale = query.handle;
        query.destroy();
        assert_eq!(api.zetMetricQueryReset(stale), ZE_RESULT_ERROR_INVALID_ARGUMENT);
    }
}
