//! `zetMetric*`: groups, queries and streamers, and what belongs to them of `zetDevice*`, `zetContext*` and `zetCommandList*`.

use std::sync::Arc;

use ze_core::command_list::{CommandList, Events};
use ze_core::context::Context;
use ze_core::device::Device;
use ze_core::driver::Driver;
use ze_core::error::{Error, Result};
use ze_core::event::Event;
use ze_core::handle::{self, Object};
use ze_core::metrics::query::{Edge, Query, QueryPool};
use ze_core::metrics::report::Layout;
use ze_core::metrics::streamer::Streamer;
use ze_core::metrics::{Metric, MetricGroup};
use ze_core::operation::Operation;
use ze_core::parts::Parts;
use ze_headers::*;

use crate::args::{address, bytes, events, handles, input, list, output};

/// Answers a query for a list of parts.
///
/// # Safety
/// As [`list`].
unsafe fn parts<T: Object>(parts: &Parts<T>, count: *mut u32, out: *mut T::Handle) -> Result<()> {
    // SAFETY: the caller's promise.
    unsafe {
        list(count, out, parts.count(), |index, out| {
            *out = parts.handle(index)?;
            Ok(())
        })
    }
}

/// The groups of an array.
///
/// # Safety
/// `groups` is null or an array of `count` handles.
unsafe fn groups(count: u32, groups: *const zet_metric_group_handle_t) -> Result<Vec<Arc<MetricGroup>>> {
    // SAFETY: the caller's promise.
    let groups = unsafe { handles::<MetricGroup>(count, groups, "phMetricGroups") }?;
    Ok(groups.iter().map(|group| Arc::clone(group)).collect())
}

/// `zetMetricGroupGet`.
pub unsafe fn zetMetricGroupGet(
    hDevice: zet_device_handle_t,
    pCount: *mut u32,
    phMetricGroups: *mut zet_metric_group_handle_t,
) -> Result<()> {
    let device = handle::get::<Device>(hDevice)?;
    address(pCount, "pCount")?;
    // SAFETY: the caller passes null or an array of as many handles.
    unsafe { parts(device.metrics().groups()?, pCount, phMetricGroups) }
}

/// `zetMetricGroupGetProperties`.
pub unsafe fn zetMetricGroupGetProperties(
    hMetricGroup: zet_metric_group_handle_t,
    pProperties: *mut zet_metric_group_properties_t,
) -> Result<()> {
    let group = handle::get::<MetricGroup>(hMetricGroup)?;
    // SAFETY: the caller passes null or a valid structure with a valid chain.
    unsafe { group.properties(output(pProperties, "pProperties")?) };
    Ok(())
}

/// `zetMetricGet`.
pub unsafe fn zetMetricGet(
    hMetricGroup: zet_metric_group_handle_t,
    pCount: *mut u32,
    phMetrics: *mut zet_metric_handle_t,
) -> Result<()> {
    let group = handle::get::<MetricGroup>(hMetricGroup)?;
    // SAFETY: the caller passes null or an array of as many handles.
    unsafe { parts(group.metrics(), pCount, phMetrics) }
}

/// `zetMetricGetProperties`.
pub unsafe fn zetMetricGetProperties(
    hMetric: zet_metric_handle_t,
    pProperties: *mut zet_metric_properties_t,
) -> Result<()> {
    let metric = handle::get::<Metric>(hMetric)?;
    // SAFETY: the caller passes null or a valid structure with a valid chain.
    unsafe { metric.properties(output(pProperties, "pProperties")?) };
    Ok(())
}

/// Raw data of a program's.
///
/// # Safety
/// `data` is null or `size` bytes that nobody writes while they are borrowed.
unsafe fn raw<'a>(size: usize, data: *const u8, name: &'static str) -> Result<&'a [u8]> {
    address(data, name)?;
    // SAFETY: the caller's promise.
    Ok(unsafe { std::slice::from_raw_parts(data, size) })
}

/// Writes values as far as there is room, and their number.
///
/// # Safety
/// As [`list`].
unsafe fn values(all: &[zet_typed_value_t], count: *mut u32, out: *mut zet_typed_value_t) -> Result<()> {
    // SAFETY: the caller's promise.
    unsafe {
        list(count, out, all.len(), |index, out| {
            *out = all[index];
            Ok(())
        })
    }
}

/// `zetMetricGroupCalculateMetricValues`.
pub unsafe fn zetMetricGroupCalculateMetricValues(
    hMetricGroup: zet_metric_group_handle_t,
    type_: zet_metric_group_calculation_type_t,
    rawDataSize: usize,
    pRawData: *const u8,
    pMetricValueCount: *mut u32,
    pMetricValues: *mut zet_typed_value_t,
) -> Result<()> {
    let group = handle::get::<MetricGroup>(hMetricGroup)?;
    address(pMetricValueCount, "pMetricValueCount")?;
    // SAFETY: the caller passes null or valid arrays.
    unsafe {
        let all = group.layout().calculate(raw(rawDataSize, pRawData, "pRawData")?, type_)?;
        values(&all, pMetricValueCount, pMetricValues)
    }
}

/// One set of values: what is measured of a device is not told apart by its parts.
///
/// # Safety
/// `sets`, `counts` as [`list`], and so are `count`, `out`.
unsafe fn one_set(
    all: &[zet_typed_value_t],
    (sets, counts): (*mut u32, *mut u32),
    (count, out): (*mut u32, *mut zet_typed_value_t),
) -> Result<()> {
    // SAFETY: the caller's promise.
    unsafe {
        values(all, count, out)?;
        list(sets, counts, 1, |_, counted| {
            *counted = *count;
            Ok(())
        })
    }
}

/// `zetMetricGroupCalculateMultipleMetricValuesExp`.
pub unsafe fn zetMetricGroupCalculateMultipleMetricValuesExp(
    hMetricGroup: zet_metric_group_handle_t,
    type_: zet_metric_group_calculation_type_t,
    rawDataSize: usize,
    pRawData: *const u8,
    pSetCount: *mut u32,
    pTotalMetricValueCount: *mut u32,
    pMetricCounts: *mut u32,
    pMetricValues: *mut zet_typed_value_t,
) -> Result<()> {
    let group = handle::get::<MetricGroup>(hMetricGroup)?;
    address(pSetCount, "pSetCount")?;
    address(pTotalMetricValueCount, "pTotalMetricValueCount")?;
    // SAFETY: the caller passes null or valid arrays.
    unsafe {
        let all = group.layout().calculate(raw(rawDataSize, pRawData, "pRawData")?, type_)?;
        one_set(&all, (pSetCount, pMetricCounts), (pTotalMetricValueCount, pMetricValues))
    }
}

/// `zetMetricGroupGetExportDataExp`.
pub unsafe fn zetMetricGroupGetExportDataExp(
    hMetricGroup: zet_metric_group_handle_t,
    pRawData: *const u8,
    rawDataSize: usize,
    pExportDataSize: *mut usize,
    pExportData: *mut u8,
) -> Result<()> {
    let group = handle::get::<MetricGroup>(hMetricGroup)?;
    // SAFETY: the caller passes null or valid arrays.
    unsafe {
        let data = group.layout().export(raw(rawDataSize, pRawData, "pRawData")?)?;
        bytes(pExportDataSize, pExportData, &data)
    }
}

/// `zetMetricGroupCalculateMetricExportDataExp`.
pub unsafe fn zetMetricGroupCalculateMetricExportDataExp(
    hDriver: ze_driver_handle_t,
    type_: zet_metric_group_calculation_type_t,
    exportDataSize: usize,
    pExportData: *const u8,
    pCalculateDescriptor: *mut zet_metric_calculate_exp_desc_t,
    pSetCount: *mut u32,
    pTotalMetricValueCount: *mut u32,
    pMetricCounts: *mut u32,
    pMetricValues: *mut zet_typed_value_t,
) -> Result<()> {
    handle::get::<Driver>(hDriver)?;
    address(pSetCount, "pSetCount")?;
    address(pTotalMetricValueCount, "pTotalMetricValueCount")?;
    // SAFETY: the caller passes null or valid structures and arrays.
    unsafe {
        let data = raw(exportDataSize, pExportData, "pExportData")?;
        let skipped = input(pCalculateDescriptor, "pCalculateDescriptor")?.rawReportSkipCount as usize;
        let (layout, reports) = Layout::import(data)?;
        let left = reports.get(skipped.saturating_mul(layout.report_size())..).unwrap_or_default();
        let all = layout.calculate(left, type_)?;
        one_set(&all, (pSetCount, pMetricCounts), (pTotalMetricValueCount, pMetricValues))
    }
}

/// `zetMetricGroupGetGlobalTimestampsExp`.
pub unsafe fn zetMetricGroupGetGlobalTimestampsExp(
    hMetricGroup: zet_metric_group_handle_t,
    synchronizedWithHost: ze_bool_t,
    globalTimestamp: *mut u64,
    metricTimestamp: *mut u64,
) -> Result<()> {
    let group = handle::get::<MetricGroup>(hMetricGroup)?;
    // SAFETY: the caller passes null or valid pointers.
    unsafe {
        let global = output(globalTimestamp, "globalTimestamp")?;
        let metric = output(metricTimestamp, "metricTimestamp")?;
        (*global, *metric) = group.timestamps(synchronizedWithHost != 0);
    }
    Ok(())
}

/// `zetDeviceGetConcurrentMetricGroupsExp`.
pub unsafe fn zetDeviceGetConcurrentMetricGroupsExp(
    hDevice: zet_device_handle_t,
    metricGroupCount: u32,
    phMetricGroups: *mut zet_metric_group_handle_t,
    pMetricGroupsCountPerConcurrentGroup: *mut u32,
    pConcurrentGroupCount: *mut u32,
) -> Result<()> {
    let device = handle::get::<Device>(hDevice)?;
    // SAFETY: the caller passes null or valid arrays.
    unsafe {
        let count = output(pConcurrentGroupCount, "pConcurrentGroupCount")?;
        let sets = device.metrics().concurrent(&groups(metricGroupCount, phMetricGroups)?)?;
        list(count, pMetricGroupsCountPerConcurrentGroup, sets.len(), |index, out| {
            *out = sets[index].len() as u32;
            Ok(())
        })?;
        let old: Vec<_> = (0..metricGroupCount as usize).map(|at| phMetricGroups.add(at).read()).collect();
        for (at, from) in sets.into_iter().flatten().enumerate() {
            phMetricGroups.add(at).write(old[from]);
        }
    }
    Ok(())
}

/// `zetDeviceEnableMetricsExp`.
pub unsafe fn zetDeviceEnableMetricsExp(hDevice: zet_device_handle_t) -> Result<()> {
    handle::get::<Device>(hDevice)?.metrics().enable();
    Ok(())
}

/// `zetDeviceDisableMetricsExp`.
pub unsafe fn zetDeviceDisableMetricsExp(hDevice: zet_device_handle_t) -> Result<()> {
    handle::get::<Device>(hDevice)?.metrics().disable()
}

/// `zetContextActivateMetricGroups`.
pub unsafe fn zetContextActivateMetricGroups(
    hContext: zet_context_handle_t,
    hDevice: zet_device_handle_t,
    count: u32,
    phMetricGroups: *mut zet_metric_group_handle_t,
) -> Result<()> {
    handle::get::<Context>(hContext)?;
    let device = handle::get::<Device>(hDevice)?;
    // ZE_RESULT_ERROR_INVALID_SIZE: (nullptr == phMetricGroups) && (0 < count)
    if phMetricGroups.is_null() && count != 0 {
        return Err(Error::InvalidSize(format!("{count} metric groups, and no array of them")));
    }
    // SAFETY: the caller passes null or an array of as many handles.
    device.metrics().activate(&unsafe { groups(count, phMetricGroups) }?)
}

/// `zetMetricStreamerOpen`.
pub unsafe fn zetMetricStreamerOpen(
    hContext: zet_context_handle_t,
    hDevice: zet_device_handle_t,
    hMetricGroup: zet_metric_group_handle_t,
    desc: *mut zet_metric_streamer_desc_t,
    hNotificationEvent: ze_event_handle_t,
    phMetricStreamer: *mut zet_metric_streamer_handle_t,
) -> Result<()> {
    handle::get::<Context>(hContext)?;
    let device = handle::get::<Device>(hDevice)?;
    let group = handle::get::<MetricGroup>(hMetricGroup)?;
    // SAFETY: the caller passes null or valid pointers.
    let (desc, out) = unsafe { (output(desc, "desc")?, output(phMetricStreamer, "phMetricStreamer")?) };
    let event = handle::get_optional::<Event>(hNotificationEvent)?.map(|event| event.clone());
    *out = handle::publish(Streamer::open(device.metrics(), &group, desc, event)?)?;
    Ok(())
}

/// `zetMetricStreamerClose`.
pub unsafe fn zetMetricStreamerClose(hMetricStreamer: zet_metric_streamer_handle_t) -> Result<()> {
    handle::release::<Streamer>(hMetricStreamer).map(drop)
}

/// `zetMetricStreamerReadData`.
pub unsafe fn zetMetricStreamerReadData(
    hMetricStreamer: zet_metric_streamer_handle_t,
    maxReportCount: u32,
    pRawDataSize: *mut usize,
    pRawData: *mut u8,
) -> Result<()> {
    let streamer = handle::get::<Streamer>(hMetricStreamer)?;
    // SAFETY: the caller passes null or valid pointers.
    let size = unsafe { output(pRawDataSize, "pRawDataSize") }?;
    if *size == 0 || pRawData.is_null() {
        *size = streamer.size(maxReportCount);
        return Ok(());
    }
    let read = streamer.read(maxReportCount, *size);
    // SAFETY: the caller passes as many bytes as it says, of which the reports are no more.
    unsafe { bytes(size, pRawData, &read.reports) }?;
    // ZE_RESULT_WARNING_DROPPED_DATA: reduce sampling period
    if read.dropped { Err(Error::DroppedData("reports found no room until they were read")) } else { Ok(()) }
}

/// `zetMetricQueryPoolCreate`.
pub unsafe fn zetMetricQueryPoolCreate(
    hContext: zet_context_handle_t,
    hDevice: zet_device_handle_t,
    hMetricGroup: zet_metric_group_handle_t,
    desc: *const zet_metric_query_pool_desc_t,
    phMetricQueryPool: *mut zet_metric_query_pool_handle_t,
) -> Result<()> {
    handle::get::<Context>(hContext)?;
    let device = handle::get::<Device>(hDevice)?;
    let group = handle::get::<MetricGroup>(hMetricGroup)?;
    // SAFETY: the caller passes null or valid pointers.
    let (desc, out) = unsafe { (input(desc, "desc")?, output(phMetricQueryPool, "phMetricQueryPool")?) };
    *out = handle::publish(QueryPool::new(device.metrics(), &group, desc)?)?;
    Ok(())
}

/// `zetMetricQueryPoolDestroy`.
pub unsafe fn zetMetricQueryPoolDestroy(hMetricQueryPool: zet_metric_query_pool_handle_t) -> Result<()> {
    handle::release::<QueryPool>(hMetricQueryPool).map(drop)
}

/// `zetMetricQueryCreate`.
pub unsafe fn zetMetricQueryCreate(
    hMetricQueryPool: zet_metric_query_pool_handle_t,
    index: u32,
    phMetricQuery: *mut zet_metric_query_handle_t,
) -> Result<()> {
    let pool = handle::get::<QueryPool>(hMetricQueryPool)?;
    // SAFETY: the caller passes null or a valid pointer.
    let out = unsafe { output(phMetricQuery, "phMetricQuery") }?;
    *out = handle::publish(pool.query(index)?)?;
    Ok(())
}

/// `zetMetricQueryDestroy`.
pub unsafe fn zetMetricQueryDestroy(hMetricQuery: zet_metric_query_handle_t) -> Result<()> {
    handle::release::<Query>(hMetricQuery).map(drop)
}

/// `zetMetricQueryReset`.
pub unsafe fn zetMetricQueryReset(hMetricQuery: zet_metric_query_handle_t) -> Result<()> {
    handle::get::<Query>(hMetricQuery)?.reset();
    Ok(())
}

/// `zetMetricQueryGetData`: one report.
pub unsafe fn zetMetricQueryGetData(
    hMetricQuery: zet_metric_query_handle_t,
    pRawDataSize: *mut usize,
    pRawData: *mut u8,
) -> Result<()> {
    let query = handle::get::<Query>(hMetricQuery)?;
    // SAFETY: the caller passes null or valid pointers.
    let size = unsafe { output(pRawDataSize, "pRawDataSize") }?;
    if *size == 0 || pRawData.is_null() {
        *size = query.size();
        return Ok(());
    }
    let report = query.report()?;
    // Only whole reports.
    let fits: &[u8] = if *size < report.len() { &[] } else { &report };
    // SAFETY: the caller passes as many bytes as it says.
    unsafe { bytes(size, pRawData, fits) }
}

/// `zetCommandListAppendMetricQueryBegin`.
pub unsafe fn zetCommandListAppendMetricQueryBegin(
    hCommandList: zet_command_list_handle_t,
    hMetricQuery: zet_metric_query_handle_t,
) -> Result<()> {
    let list = handle::get::<CommandList>(hCommandList)?;
    let query = handle::get::<Query>(hMetricQuery)?;
    let command = query.command(list.device().metrics(), Edge::Begin)?;
    list.append(Operation::MetricQuery(command), &Events::default())
}

/// `zetCommandListAppendMetricQueryEnd`.
pub unsafe fn zetCommandListAppendMetricQueryEnd(
    hCommandList: zet_command_list_handle_t,
    hMetricQuery: zet_metric_query_handle_t,
    hSignalEvent: ze_event_handle_t,
    numWaitEvents: u32,
    phWaitEvents: *mut ze_event_handle_t,
) -> Result<()> {
    let list = handle::get::<CommandList>(hCommandList)?;
    let query = handle::get::<Query>(hMetricQuery)?;
    // SAFETY: the caller passes null or an array of as many events.
    let events = unsafe { events(hSignalEvent, numWaitEvents, phWaitEvents) }?;
    let command = query.command(list.device().metrics(), Edge::End)?;
    list.append(Operation::MetricQuery(command), &events)
}

/// `zetCommandListAppendMetricMemoryBarrier`: counters are in no cache of the device.
pub unsafe fn zetCommandListAppendMetricMemoryBarrier(hCommandList: zet_command_list_handle_t) -> Result<()> {
    handle::get::<CommandList>(hCommandList)?.append(Operation::Barrier, &Events::default())
}

/// `zetCommandListAppendMetricStreamerMarker`.
pub unsafe fn zetCommandListAppendMetricStreamerMarker(
    hCommandList: zet_command_list_handle_t,
    hMetricStreamer: zet_metric_streamer_handle_t,
    value: u32,
) -> Result<()> {
    let list = handle::get::<CommandList>(hCommandList)?;
    let streamer = handle::get::<Streamer>(hMetricStreamer)?;
    list.append(Operation::MetricMarker(streamer.marker(value)), &Events::default())
}

/// `zetMetricProgrammableGetExp`: counters are what they are.
pub unsafe fn zetMetricProgrammableGetExp(
    hDevice: zet_device_handle_t,
    pCount: *mut u32,
    phMetricProgrammables: *mut zet_metric_programmable_exp_handle_t,
) -> Result<()> {
    handle::get::<Device>(hDevice)?;
    // SAFETY: the caller passes null or an array of as many handles.
    unsafe { list(pCount, phMetricProgrammables, 0, |_, _| Ok(())) }
}

/// `zetDeviceGetDebugProperties`: no debugger can attach to the device; kernels are code of the process.
pub unsafe fn zetDeviceGetDebugProperties(
    hDevice: zet_device_handle_t,
    pDebugProperties: *mut zet_device_debug_properties_t,
) -> Result<()> {
    handle::get::<Device>(hDevice)?;
    // SAFETY: the caller passes null or a valid structure.
    unsafe { output(pDebugProperties, "pDebugProperties") }?.flags = 0;
    Ok(())
}
