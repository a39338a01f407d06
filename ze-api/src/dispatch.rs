//! Which function of the API is implemented, and where.
//!
//! A name that is imported here from the file of its handle type stands for the function; every other name is the
//! fallback's, because an explicit import hides one that a `*` brings in.

pub use crate::unsupported::*;

pub use crate::append::{
    zeCommandListAppendBarrier, zeCommandListAppendEventReset, zeCommandListAppendHostFunction,
    zeCommandListAppendMemAdvise, zeCommandListAppendMemoryCopy, zeCommandListAppendMemoryCopyFromContext,
    zeCommandListAppendMemoryCopyRegion, zeCommandListAppendMemoryCopyWithParameters,
    zeCommandListAppendMemoryFill, zeCommandListAppendMemoryFillWithParameters,
    zeCommandListAppendMemoryPrefetch, zeCommandListAppendMemoryRangesBarrier,
    zeCommandListAppendQueryKernelTimestamps, zeCommandListAppendSignalEvent,
    zeCommandListAppendWaitOnEvents, zeCommandListAppendWriteGlobalTimestamp,
    zeCommandListImmediateAppendCommandListsExp, zeCommandListImmediateAppendCommandListsWithParameters,
};
pub use crate::command_list::{
    zeCommandListClose, zeCommandListCreate, zeCommandListCreateCloneExp, zeCommandListCreateImmediate,
    zeCommandListDestroy, zeCommandListGetContextHandle, zeCommandListGetDeviceHandle, zeCommandListGetFlags,
    zeCommandListGetOrdinal, zeCommandListHostSynchronize, zeCommandListImmediateGetFlags,
    zeCommandListImmediateGetIndex, zeCommandListImmediateGetMode, zeCommandListImmediateGetPriority,
    zeCommandListIsImmediate, zeCommandListReset,
};
pub use crate::context::{
    zeContextCreate, zeContextCreateEx, zeContextDestroy, zeContextEvictMemory, zeContextGetStatus,
    zeContextMakeMemoryResident, zeContextSystemBarrier,
};
pub use crate::device::{
    zeDeviceCanAccessPeer, zeDeviceGet, zeDeviceGetAggregatedCopyOffloadIncrementValue,
    zeDeviceGetCacheProperties, zeDeviceGetCommandQueueGroupProperties, zeDeviceGetComputeProperties,
    zeDeviceGetCounterBasedEventMaxValue, zeDeviceGetExternalMemoryProperties, zeDeviceGetGlobalTimestamps,
    zeDeviceGetImageProperties, zeDeviceGetMemoryAccessProperties, zeDeviceGetMemoryProperties,
    zeDeviceGetModuleProperties, zeDeviceGetP2PProperties, zeDeviceGetProperties, zeDeviceGetRootDevice,
    zeDeviceGetStatus, zeDeviceGetSubDevices, zeDeviceGetVectorWidthPropertiesExt,
    zeDevicePciGetPropertiesExt, zeDeviceSynchronize,
};
pub use crate::driver::{
    zeDriverGet, zeDriverGetApiVersion, zeDriverGetDefaultContext, zeDriverGetExtensionFunctionAddress,
    zeDriverGetExtensionProperties, zeDriverGetIpcProperties, zeDriverGetLastErrorDescription,
    zeDriverGetProperties, zeInit, zeInitDrivers,
};
pub use crate::event::{
    zeEventCounterBasedCloseIpcHandle, zeEventCounterBasedCreate, zeEventCounterBasedGetDeviceAddress,
    zeEventCounterBasedGetIpcHandle, zeEventCounterBasedOpenIpcHandle, zeEventCreate, zeEventDestroy,
    zeEventGetCounterBasedFlags, zeEventGetEventPool, zeEventGetSignalScope, zeEventGetWaitScope,
    zeEventHostReset, zeEventHostSignal, zeEventHostSynchronize, zeEventPoolCloseIpcHandle,
    zeEventPoolCreate, zeEventPoolDestroy, zeEventPoolGetContextHandle, zeEventPoolGetFlags,
    zeEventPoolGetIpcHandle, zeEventPoolOpenIpcHandle, zeEventPoolPutIpcHandle, zeEventQueryKernelTimestamp,
    zeEventQueryKernelTimestampsExt, zeEventQueryStatus, zeEventQueryTimestampsExp,
};
pub use crate::fabric::{
    zeDeviceGetFabricVertexExp, zeFabricEdgeGetExp, zeFabricEdgeGetPropertiesExp, zeFabricEdgeGetVerticesExp,
    zeFabricVertexGetDeviceExp, zeFabricVertexGetExp, zeFabricVertexGetPropertiesExp,
    zeFabricVertexGetSubVerticesExp,
};
pub use crate::fence::{
    zeFenceCreate, zeFenceDestroy, zeFenceHostSynchronize, zeFenceQueryStatus, zeFenceReset,
};
pub use crate::graph::{
    zeCommandListAppendGraphExt, zeCommandListBeginCaptureIntoGraphExt, zeCommandListBeginGraphCaptureExt,
    zeCommandListEndGraphCaptureExt, zeCommandListGetGraphExt, zeCommandListIsGraphCaptureEnabledExt,
    zeExecutableGraphDestroyExt, zeExecutableGraphGetSourceGraphExt, zeGraphCreateExt, zeGraphDestroyExt,
    zeGraphDumpContentsExt, zeGraphGetPrimaryCommandListExt, zeGraphInstantiateExt, zeGraphIsEmptyExt,
    zeGraphSetDestructionCallbackExt,
};
pub use crate::image::{
    zeContextEvictImage, zeContextMakeImageResident, zeImageCreate, zeImageDestroy,
    zeImageGetAllocPropertiesExt, zeImageGetDeviceOffsetExp, zeImageGetMemoryPropertiesExp,
    zeImageGetProperties, zeImageViewCreateExp, zeImageViewCreateExt, zeMemGetPitchFor2dImage,
};
pub use crate::image_copy::{
    zeCommandListAppendImageCopy, zeCommandListAppendImageCopyFromMemory,
    zeCommandListAppendImageCopyFromMemoryExt, zeCommandListAppendImageCopyRegion,
    zeCommandListAppendImageCopyToMemory, zeCommandListAppendImageCopyToMemoryExt,
};
pub use crate::kernel::{
    zeKernelCreate, zeKernelDestroy, zeKernelGetAllocationPropertiesExp, zeKernelGetIndirectAccess,
    zeKernelGetName, zeKernelGetProperties, zeKernelGetSourceAttributes, zeKernelSchedulingHintExp,
    zeKernelSetArgumentValue, zeKernelSetCacheConfig, zeKernelSetGlobalOffsetExp, zeKernelSetGroupSize,
    zeKernelSetIndirectAccess, zeKernelSuggestGroupSize, zeKernelSuggestMaxCooperativeGroupCount,
};
pub use crate::launch::{
    zeCommandListAppendLaunchCooperativeKernel, zeCommandListAppendLaunchKernel,
    zeCommandListAppendLaunchKernelIndirect, zeCommandListAppendLaunchKernelWithArguments,
    zeCommandListAppendLaunchKernelWithParameters, zeCommandListAppendLaunchMultipleKernelsIndirect,
};
pub use crate::memory::{
    zeMemAllocDevice, zeMemAllocHost, zeMemAllocShared, zeMemCloseIpcHandle, zeMemFree, zeMemFreeExt,
    zeMemGetAddressRange, zeMemGetAllocProperties, zeMemGetAtomicAccessAttributeExp,
    zeMemGetFileDescriptorFromIpcHandleExp, zeMemGetIpcHandle, zeMemGetIpcHandleFromFileDescriptorExp,
    zeMemGetIpcHandleWithProperties, zeMemOpenIpcHandle, zeMemPutIpcHandle, zeMemSetAtomicAccessAttributeExp,
};
pub use crate::metric::{
    zetCommandListAppendMetricMemoryBarrier, zetCommandListAppendMetricQueryBegin,
    zetCommandListAppendMetricQueryEnd, zetCommandListAppendMetricStreamerMarker,
    zetContextActivateMetricGroups, zetDeviceDisableMetricsExp, zetDeviceEnableMetricsExp,
    zetDeviceGetConcurrentMetricGroupsExp, zetDeviceGetDebugProperties, zetMetricGet, zetMetricGetProperties,
    zetMetricGroupCalculateMetricExportDataExp, zetMetricGroupCalculateMetricValues,
    zetMetricGroupCalculateMultipleMetricValuesExp, zetMetricGroupGet, zetMetricGroupGetExportDataExp,
    zetMetricGroupGetGlobalTimestampsExp, zetMetricGroupGetProperties, zetMetricProgrammableGetExp,
    zetMetricQueryCreate, zetMetricQueryDestroy, zetMetricQueryGetData, zetMetricQueryPoolCreate,
    zetMetricQueryPoolDestroy, zetMetricQueryReset, zetMetricStreamerClose, zetMetricStreamerOpen,
    zetMetricStreamerReadData,
};
pub use crate::module::{
    zeModuleBuildLogDestroy, zeModuleBuildLogGetString, zeModuleCreate, zeModuleDestroy, zeModuleDynamicLink,
    zeModuleGetFunctionPointer, zeModuleGetGlobalPointer, zeModuleGetKernelNames, zeModuleGetNativeBinary,
    zeModuleGetProperties, zeModuleInspectLinkageExt, zetModuleGetDebugInfo,
};
pub use crate::mutable::{
    zeCommandListGetNextCommandIdExp, zeCommandListGetNextCommandIdWithKernelsExp, zeCommandListIsMutableExp,
    zeCommandListUpdateMutableCommandKernelsExp, zeCommandListUpdateMutableCommandSignalEventExp,
    zeCommandListUpdateMutableCommandWaitEventsExp, zeCommandListUpdateMutableCommandsExp,
};
pub use crate::queue::{
    zeCommandQueueCreate, zeCommandQueueDestroy, zeCommandQueueExecuteCommandLists, zeCommandQueueGetFlags,
    zeCommandQueueGetIndex, zeCommandQueueGetMode, zeCommandQueueGetOrdinal, zeCommandQueueGetPriority,
    zeCommandQueueSynchronize,
};
pub use crate::runtime::{
    zerGetDefaultContext, zerGetLastErrorDescription, zerTranslateDeviceHandleToIdentifier,
    zerTranslateIdentifierToDeviceHandle,
};
pub use crate::sampler::{zeSamplerCreate, zeSamplerDestroy};
pub use crate::sysman::absent::{
    zesDeviceEnumActiveVFExp, zesDeviceEnumDiagnosticTestSuites, zesDeviceEnumEnabledVFExp,
    zesDeviceEnumFabricPorts, zesDeviceEnumFans, zesDeviceEnumFirmwares, zesDeviceEnumLeds,
    zesDeviceEnumOverclockDomains, zesDeviceEnumPerformanceFactorDomains, zesDeviceEnumPsus,
    zesDeviceEnumSchedulers, zesDeviceEnumStandbyDomains, zesDiagnosticsGetProperties,
    zesDiagnosticsGetTests, zesDiagnosticsRunTests, zesFabricPortGetConfig,
    zesFabricPortGetFabricErrorCounters, zesFabricPortGetLinkType, zesFabricPortGetMultiPortThroughput,
    zesFabricPortGetProperties, zesFabricPortGetState, zesFabricPortGetThroughput, zesFabricPortSetConfig,
    zesFanGetConfig, zesFanGetProperties, zesFanGetState, zesFanSetDefaultMode, zesFanSetFixedSpeedMode,
    zesFanSetSpeedTableMode, zesFirmwareFlash, zesFirmwareGetConsoleLogs, zesFirmwareGetFlashProgress,
    zesFirmwareGetProperties, zesFirmwareGetSecurityVersionExp, zesFirmwareSetSecurityVersionExp,
    zesLedGetProperties, zesLedGetState, zesLedSetColor, zesLedSetState, zesOverclockGetControlCurrentValue,
    zesOverclockGetControlPendingValue, zesOverclockGetControlState, zesOverclockGetDomainControlProperties,
    zesOverclockGetDomainProperties, zesOverclockGetDomainVFProperties, zesOverclockGetVFPointValues,
    zesOverclockSetControlUserValue, zesOverclockSetVFPointValues, zesPerformanceFactorGetConfig,
    zesPerformanceFactorGetProperties, zesPerformanceFactorSetConfig, zesPsuGetProperties, zesPsuGetState,
    zesSchedulerGetCurrentMode, zesSchedulerGetProperties, zesSchedulerGetTimeoutModeProperties,
    zesSchedulerGetTimesliceModeProperties, zesSchedulerSetComputeUnitDebugMode,
    zesSchedulerSetExclusiveMode, zesSchedulerSetTimeoutMode, zesSchedulerSetTimesliceMode,
    zesStandbyGetMode, zesStandbyGetProperties, zesStandbySetMode, zesVFManagementGetVFCapabilitiesExp,
    zesVFManagementGetVFCapabilitiesExp2, zesVFManagementGetVFEngineUtilizationExp,
    zesVFManagementGetVFEngineUtilizationExp2, zesVFManagementGetVFMemoryUtilizationExp,
    zesVFManagementGetVFMemoryUtilizationExp2, zesVFManagementGetVFPropertiesExp,
    zesVFManagementSetVFTelemetryModeExp, zesVFManagementSetVFTelemetrySamplingIntervalExp,
};
pub use crate::sysman::device::{
    zesDeviceEccAvailable, zesDeviceEccConfigurable, zesDeviceEventRegister, zesDeviceGet,
    zesDeviceGetEccState, zesDeviceGetOverclockControls, zesDeviceGetOverclockDomains,
    zesDeviceGetProperties, zesDeviceGetState, zesDeviceGetSubDevicePropertiesExp, zesDevicePciGetBars,
    zesDevicePciGetProperties, zesDevicePciGetState, zesDevicePciGetStats, zesDevicePciLinkSpeedUpdateExt,
    zesDeviceProcessesGetState, zesDeviceReadOverclockState, zesDeviceReset, zesDeviceResetExt,
    zesDeviceResetOverclockSettings, zesDeviceSetEccState, zesDeviceSetOverclockWaiver,
};
pub use crate::sysman::driver::{
    zesDriverEventListen, zesDriverEventListenEx, zesDriverGet, zesDriverGetDeviceByUuidExp,
    zesDriverGetExtensionFunctionAddress, zesDriverGetExtensionProperties, zesInit,
};
pub use crate::sysman::engine::{
    zesDeviceEnumEngineGroups, zesEngineGetActivity, zesEngineGetActivityExt, zesEngineGetProperties,
};
pub use crate::sysman::frequency::{
    zesDeviceEnumFrequencyDomains, zesFrequencyGetAvailableClocks, zesFrequencyGetProperties,
    zesFrequencyGetRange, zesFrequencyGetState, zesFrequencyGetThrottleTime, zesFrequencyOcGetCapabilities,
    zesFrequencyOcGetFrequencyTarget, zesFrequencyOcGetIccMax, zesFrequencyOcGetMode, zesFrequencyOcGetTjMax,
    zesFrequencyOcGetVoltageTarget, zesFrequencyOcSetFrequencyTarget, zesFrequencyOcSetIccMax,
    zesFrequencyOcSetMode, zesFrequencyOcSetTjMax, zesFrequencyOcSetVoltageTarget, zesFrequencySetRange,
};
pub use crate::sysman::memory::{
    zesDeviceEnumMemoryModules, zesMemoryGetBandwidth, zesMemoryGetProperties, zesMemoryGetState,
};
pub use crate::sysman::power::{
    zesDeviceEnumPowerDomains, zesDeviceGetCardPowerDomain, zesPowerGetEnergyCounter,
    zesPowerGetEnergyThreshold, zesPowerGetLimits, zesPowerGetLimitsExt, zesPowerGetLimitsExt2,
    zesPowerGetProperties, zesPowerGetUsage, zesPowerSetEnergyThreshold, zesPowerSetLimits,
    zesPowerSetLimitsExt, zesPowerSetLimitsExt2,
};
pub use crate::sysman::ras::{
    zesDeviceEnumRasErrorSets, zesRasClearStateExp, zesRasGetConfig, zesRasGetConfigExp, zesRasGetProperties,
    zesRasGetState, zesRasGetStateExp, zesRasGetStateExp2, zesRasGetSupportedCategoriesExp, zesRasSetConfig,
    zesRasSetConfigExp,
};
pub use crate::sysman::temperature::{
    zesDeviceEnumTemperatureSensors, zesTemperatureGetConfig, zesTemperatureGetProperties,
    zesTemperatureGetState, zesTemperatureSetConfig,
};
pub use crate::virtual_memory::{
    zePhysicalMemCreate, zePhysicalMemDestroy, zePhysicalMemGetProperties, zeVirtualMemFree,
    zeVirtualMemGetAccessAttribute, zeVirtualMemMap, zeVirtualMemQueryPageSize, zeVirtualMemReserve,
    zeVirtualMemSetAccessAttribute, zeVirtualMemUnmap,
};
