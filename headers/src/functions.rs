//! The one list of every function of the API. Written by `ci/update-headers`, which keeps the versions.

/// Gives the list of every function to the macro `$then`.
///
/// One block an API: its prefix and the type of its aggregate table. In it one block a DDI table, in the order of the
/// aggregate: its member there, its type, and the function that fills it. In it one line a function, in the order of
/// the table's fields: the API version in which it appeared, its name, its field and its signature.
/// [`Table`](crate::Table) says how the versions were found.
#[macro_export]
macro_rules! for_each_function {
    ($then:ident) => {
        $then! {
            ze ze_dditable_driver_t {
                RTASBuilder ze_rtas_builder_dditable_t zeGetRTASBuilderProcAddrTable {
                    [1 13] zeRTASBuilderCreateExt pfnCreateExt (hDriver: ze_driver_handle_t,
                        pDescriptor: *const ze_rtas_builder_ext_desc_t,
                        phBuilder: *mut ze_rtas_builder_ext_handle_t) -> ze_result_t;
                    [1 13] zeRTASBuilderGetBuildPropertiesExt pfnGetBuildPropertiesExt (
                        hBuilder: ze_rtas_builder_ext_handle_t,
                        pBuildOpDescriptor: *const ze_rtas_builder_build_op_ext_desc_t,
                        pProperties: *mut ze_rtas_builder_ext_properties_t) -> ze_result_t;
                    [1 13] zeRTASBuilderBuildExt pfnBuildExt (hBuilder: ze_rtas_builder_ext_handle_t,
                        pBuildOpDescriptor: *const ze_rtas_builder_build_op_ext_desc_t,
                        pScratchBuffer: *mut c_void, scratchBufferSizeBytes: usize, pRtasBuffer: *mut c_void,
                        rtasBufferSizeBytes: usize,
                        hParallelOperation: ze_rtas_parallel_operation_ext_handle_t,
                        pBuildUserPtr: *mut c_void, pBounds: *mut ze_rtas_aabb_ext_t,
                        pRtasBufferSizeBytes: *mut usize) -> ze_result_t;
                    [1 13] zeRTASBuilderCommandListAppendCopyExt pfnCommandListAppendCopyExt (
                        hCommandList: ze_command_list_handle_t, dstptr: *mut c_void, srcptr: *const c_void,
                        size: usize, hSignalEvent: ze_event_handle_t, numWaitEvents: u32,
                        phWaitEvents: *mut ze_event_handle_t) -> ze_result_t;
                    [1 13] zeRTASBuilderDestroyExt pfnDestroyExt (
                        hBuilder: ze_rtas_builder_ext_handle_t) -> ze_result_t;
                }
                RTASBuilderExp ze_rtas_builder_exp_dditable_t zeGetRTASBuilderExpProcAddrTable {
                    [1 7] zeRTASBuilderCreateExp pfnCreateExp (hDriver: ze_driver_handle_t,
                        pDescriptor: *const ze_rtas_builder_exp_desc_t,
                        phBuilder: *mut ze_rtas_builder_exp_handle_t) -> ze_result_t;
                    [1 7] zeRTASBuilderGetBuildPropertiesExp pfnGetBuildPropertiesExp (
                        hBuilder: ze_rtas_builder_exp_handle_t,
                        pBuildOpDescriptor: *const ze_rtas_builder_build_op_exp_desc_t,
                        pProperties: *mut ze_rtas_builder_exp_properties_t) -> ze_result_t;
                    [1 7] zeRTASBuilderBuildExp pfnBuildExp (hBuilder: ze_rtas_builder_exp_handle_t,
                        pBuildOpDescriptor: *const ze_rtas_builder_build_op_exp_desc_t,
                        pScratchBuffer: *mut c_void, scratchBufferSizeBytes: usize, pRtasBuffer: *mut c_void,
                        rtasBufferSizeBytes: usize,
                        hParallelOperation: ze_rtas_parallel_operation_exp_handle_t,
                        pBuildUserPtr: *mut c_void, pBounds: *mut ze_rtas_aabb_exp_t,
                        pRtasBufferSizeBytes: *mut usize) -> ze_result_t;
                    [1 7] zeRTASBuilderDestroyExp pfnDestroyExp (
                        hBuilder: ze_rtas_builder_exp_handle_t) -> ze_result_t;
                }
                RTASParallelOperation ze_rtas_parallel_operation_dditable_t zeGetRTASParallelOperationProcAddrTable {
                    [1 13] zeRTASParallelOperationCreateExt pfnCreateExt (hDriver: ze_driver_handle_t,
                        phParallelOperation: *mut ze_rtas_parallel_operation_ext_handle_t) -> ze_result_t;
                    [1 13] zeRTASParallelOperationGetPropertiesExt pfnGetPropertiesExt (
                        hParallelOperation: ze_rtas_parallel_operation_ext_handle_t,
                        pProperties: *mut ze_rtas_parallel_operation_ext_properties_t) -> ze_result_t;
                    [1 13] zeRTASParallelOperationJoinExt pfnJoinExt (
                        hParallelOperation: ze_rtas_parallel_operation_ext_handle_t) -> ze_result_t;
                    [1 13] zeRTASParallelOperationDestroyExt pfnDestroyExt (
                        hParallelOperation: ze_rtas_parallel_operation_ext_handle_t) -> ze_result_t;
                }
                RTASParallelOperationExp ze_rtas_parallel_operation_exp_dditable_t zeGetRTASParallelOperationExpProcAddrTable {
                    [1 7] zeRTASParallelOperationCreateExp pfnCreateExp (hDriver: ze_driver_handle_t,
                        phParallelOperation: *mut ze_rtas_parallel_operation_exp_handle_t) -> ze_result_t;
                    [1 7] zeRTASParallelOperationGetPropertiesExp pfnGetPropertiesExp (
                        hParallelOperation: ze_rtas_parallel_operation_exp_handle_t,
                        pProperties: *mut ze_rtas_parallel_operation_exp_properties_t) -> ze_result_t;
                    [1 7] zeRTASParallelOperationJoinExp pfnJoinExp (
                        hParallelOperation: ze_rtas_parallel_operation_exp_handle_t) -> ze_result_t;
                    [1 7] zeRTASParallelOperationDestroyExp pfnDestroyExp (
                        hParallelOperation: ze_rtas_parallel_operation_exp_handle_t) -> ze_result_t;
                }
                Global ze_global_dditable_t zeGetGlobalProcAddrTable {
                    [1 0] zeInit pfnInit (flags: ze_init_flags_t) -> ze_result_t;
                    [1 10] zeInitDrivers pfnInitDrivers (pCount: *mut u32, phDrivers: *mut ze_driver_handle_t,
                        desc: *mut ze_init_driver_type_desc_t) -> ze_result_t;
                }
                Driver ze_driver_dditable_t zeGetDriverProcAddrTable {
                    [1 0] zeDriverGet pfnGet (pCount: *mut u32,
                        phDrivers: *mut ze_driver_handle_t) -> ze_result_t;
                    [1 0] zeDriverGetApiVersion pfnGetApiVersion (hDriver: ze_driver_handle_t,
                        version: *mut ze_api_version_t) -> ze_result_t;
                    [1 0] zeDriverGetProperties pfnGetProperties (hDriver: ze_driver_handle_t,
                        pDriverProperties: *mut ze_driver_properties_t) -> ze_result_t;
                    [1 0] zeDriverGetIpcProperties pfnGetIpcProperties (hDriver: ze_driver_handle_t,
                        pIpcProperties: *mut ze_driver_ipc_properties_t) -> ze_result_t;
                    [1 0] zeDriverGetExtensionProperties pfnGetExtensionProperties (
                        hDriver: ze_driver_handle_t, pCount: *mut u32,
                        pExtensionProperties: *mut ze_driver_extension_properties_t) -> ze_result_t;
                    [1 1] zeDriverGetExtensionFunctionAddress pfnGetExtensionFunctionAddress (
                        hDriver: ze_driver_handle_t, name: *const c_char,
                        ppFunctionAddress: *mut *mut c_void) -> ze_result_t;
                    [1 6] zeDriverGetLastErrorDescription pfnGetLastErrorDescription (
                        hDriver: ze_driver_handle_t, ppString: *mut *const c_char) -> ze_result_t;
                    [1 13] zeDriverRTASFormatCompatibilityCheckExt pfnRTASFormatCompatibilityCheckExt (
                        hDriver: ze_driver_handle_t, rtasFormatA: ze_rtas_format_ext_t,
                        rtasFormatB: ze_rtas_format_ext_t) -> ze_result_t;
                    [1 14] zeDriverGetDefaultContext pfnGetDefaultContext (
                        hDriver: ze_driver_handle_t) -> ze_context_handle_t;
                }
                DriverExp ze_driver_exp_dditable_t zeGetDriverExpProcAddrTable {
                    [1 7] zeDriverRTASFormatCompatibilityCheckExp pfnRTASFormatCompatibilityCheckExp (
                        hDriver: ze_driver_handle_t, rtasFormatA: ze_rtas_format_exp_t,
                        rtasFormatB: ze_rtas_format_exp_t) -> ze_result_t;
                }
                Device ze_device_dditable_t zeGetDeviceProcAddrTable {
                    [1 0] zeDeviceGet pfnGet (hDriver: ze_driver_handle_t, pCount: *mut u32,
                        phDevices: *mut ze_device_handle_t) -> ze_result_t;
                    [1 0] zeDeviceGetSubDevices pfnGetSubDevices (hDevice: ze_device_handle_t,
                        pCount: *mut u32, phSubdevices: *mut ze_device_handle_t) -> ze_result_t;
                    [1 0] zeDeviceGetProperties pfnGetProperties (hDevice: ze_device_handle_t,
                        pDeviceProperties: *mut ze_device_properties_t) -> ze_result_t;
                    [1 0] zeDeviceGetComputeProperties pfnGetComputeProperties (hDevice: ze_device_handle_t,
                        pComputeProperties: *mut ze_device_compute_properties_t) -> ze_result_t;
                    [1 0] zeDeviceGetModuleProperties pfnGetModuleProperties (hDevice: ze_device_handle_t,
                        pModuleProperties: *mut ze_device_module_properties_t) -> ze_result_t;
                    [1 0] zeDeviceGetCommandQueueGroupProperties pfnGetCommandQueueGroupProperties (
                        hDevice: ze_device_handle_t, pCount: *mut u32,
                        pCommandQueueGroupProperties: *mut ze_command_queue_group_properties_t) -> ze_result_t;
                    [1 0] zeDeviceGetMemoryProperties pfnGetMemoryProperties (hDevice: ze_device_handle_t,
                        pCount: *mut u32, pMemProperties: *mut ze_device_memory_properties_t) -> ze_result_t;
                    [1 0] zeDeviceGetMemoryAccessProperties pfnGetMemoryAccessProperties (
                        hDevice: ze_device_handle_t,
                        pMemAccessProperties: *mut ze_device_memory_access_properties_t) -> ze_result_t;
                    [1 0] zeDeviceGetCacheProperties pfnGetCacheProperties (hDevice: ze_device_handle_t,
                        pCount: *mut u32, pCacheProperties: *mut ze_device_cache_properties_t) -> ze_result_t;
                    [1 0] zeDeviceGetImageProperties pfnGetImageProperties (hDevice: ze_device_handle_t,
                        pImageProperties: *mut ze_device_image_properties_t) -> ze_result_t;
                    [1 0] zeDeviceGetExternalMemoryProperties pfnGetExternalMemoryProperties (
                        hDevice: ze_device_handle_t,
                        pExternalMemoryProperties: *mut ze_device_external_memory_properties_t) -> ze_result_t;
                    [1 0] zeDeviceGetP2PProperties pfnGetP2PProperties (hDevice: ze_device_handle_t,
                        hPeerDevice: ze_device_handle_t,
                        pP2PProperties: *mut ze_device_p2p_properties_t) -> ze_result_t;
                    [1 0] zeDeviceCanAccessPeer pfnCanAccessPeer (hDevice: ze_device_handle_t,
                        hPeerDevice: ze_device_handle_t, value: *mut ze_bool_t) -> ze_result_t;
                    [1 0] zeDeviceGetStatus pfnGetStatus (hDevice: ze_device_handle_t) -> ze_result_t;
                    [1 1] zeDeviceGetGlobalTimestamps pfnGetGlobalTimestamps (hDevice: ze_device_handle_t,
                        hostTimestamp: *mut u64, deviceTimestamp: *mut u64) -> ze_result_t;
                    [1 2] zeDeviceReserveCacheExt pfnReserveCacheExt (hDevice: ze_device_handle_t,
                        cacheLevel: usize, cacheReservationSize: usize) -> ze_result_t;
                    [1 2] zeDeviceSetCacheAdviceExt pfnSetCacheAdviceExt (hDevice: ze_device_handle_t,
                        ptr: *mut c_void, regionSize: usize,
                        cacheRegion: ze_cache_ext_region_t) -> ze_result_t;
                    [1 3] zeDevicePciGetPropertiesExt pfnPciGetPropertiesExt (hDevice: ze_device_handle_t,
                        pPciProperties: *mut ze_pci_ext_properties_t) -> ze_result_t;
                    [1 7] zeDeviceGetRootDevice pfnGetRootDevice (hDevice: ze_device_handle_t,
                        phRootDevice: *mut ze_device_handle_t) -> ze_result_t;
                    [1 12] zeDeviceImportExternalSemaphoreExt pfnImportExternalSemaphoreExt (
                        hDevice: ze_device_handle_t, desc: *const ze_external_semaphore_ext_desc_t,
                        phSemaphore: *mut ze_external_semaphore_ext_handle_t) -> ze_result_t;
                    [1 12] zeDeviceReleaseExternalSemaphoreExt pfnReleaseExternalSemaphoreExt (
                        hSemaphore: ze_external_semaphore_ext_handle_t) -> ze_result_t;
                    [1 13] zeDeviceGetVectorWidthPropertiesExt pfnGetVectorWidthPropertiesExt (
                        hDevice: ze_device_handle_t, pCount: *mut u32,
                        pVectorWidthProperties: *mut ze_device_vector_width_properties_ext_t) -> ze_result_t;
                    [1 14] zeDeviceSynchronize pfnSynchronize (hDevice: ze_device_handle_t) -> ze_result_t;
                    [1 15] zeDeviceGetAggregatedCopyOffloadIncrementValue pfnGetAggregatedCopyOffloadIncrementValue (
                        hDevice: ze_device_handle_t, incrementValue: *mut u32) -> ze_result_t;
                    [1 16] zeDeviceGetRuntimeRequirements pfnGetRuntimeRequirements (
                        hDevice: ze_device_handle_t, pObjDesc: *const c_void, pSize: *mut usize,
                        pRequirements: *mut c_char) -> ze_result_t;
                    [1 16] zeDeviceGetRuntimeRequirementsKey pfnGetRuntimeRequirementsKey (
                        hDevice: ze_device_handle_t, pKey: *mut *const c_char) -> ze_result_t;
                    [1 16] zeDeviceValidateRuntimeRequirements pfnValidateRuntimeRequirements (
                        hDevice: ze_device_handle_t, pRequirements: *const c_char,
                        pOut: *mut ze_validate_runtime_requirements_output_t) -> ze_result_t;
                    [1 17] zeDeviceGetCounterBasedEventMaxValue pfnGetCounterBasedEventMaxValue (
                        hDevice: ze_device_handle_t, maxValue: *mut u64) -> ze_result_t;
                }
                DeviceExp ze_device_exp_dditable_t zeGetDeviceExpProcAddrTable {
                    [1 4] zeDeviceGetFabricVertexExp pfnGetFabricVertexExp (hDevice: ze_device_handle_t,
                        phVertex: *mut ze_fabric_vertex_handle_t) -> ze_result_t;
                }
                Context ze_context_dditable_t zeGetContextProcAddrTable {
                    [1 0] zeContextCreate pfnCreate (hDriver: ze_driver_handle_t,
                        desc: *const ze_context_desc_t, phContext: *mut ze_context_handle_t) -> ze_result_t;
                    [1 0] zeContextDestroy pfnDestroy (hContext: ze_context_handle_t) -> ze_result_t;
                    [1 0] zeContextGetStatus pfnGetStatus (hContext: ze_context_handle_t) -> ze_result_t;
                    [1 0] zeContextSystemBarrier pfnSystemBarrier (hContext: ze_context_handle_t,
                        hDevice: ze_device_handle_t) -> ze_result_t;
                    [1 0] zeContextMakeMemoryResident pfnMakeMemoryResident (hContext: ze_context_handle_t,
                        hDevice: ze_device_handle_t, ptr: *mut c_void, size: usize) -> ze_result_t;
                    [1 0] zeContextEvictMemory pfnEvictMemory (hContext: ze_context_handle_t,
                        hDevice: ze_device_handle_t, ptr: *mut c_void, size: usize) -> ze_result_t;
                    [1 0] zeContextMakeImageResident pfnMakeImageResident (hContext: ze_context_handle_t,
                        hDevice: ze_device_handle_t, hImage: ze_image_handle_t) -> ze_result_t;
                    [1 0] zeContextEvictImage pfnEvictImage (hContext: ze_context_handle_t,
                        hDevice: ze_device_handle_t, hImage: ze_image_handle_t) -> ze_result_t;
                    [1 1] zeContextCreateEx pfnCreateEx (hDriver: ze_driver_handle_t,
                        desc: *const ze_context_desc_t, numDevices: u32, phDevices: *mut ze_device_handle_t,
                        phContext: *mut ze_context_handle_t) -> ze_result_t;
                }
                CommandQueue ze_command_queue_dditable_t zeGetCommandQueueProcAddrTable {
                    [1 0] zeCommandQueueCreate pfnCreate (hContext: ze_context_handle_t,
                        hDevice: ze_device_handle_t, desc: *const ze_command_queue_desc_t,
                        phCommandQueue: *mut ze_command_queue_handle_t) -> ze_result_t;
                    [1 0] zeCommandQueueDestroy pfnDestroy (
                        hCommandQueue: ze_command_queue_handle_t) -> ze_result_t;
                    [1 0] zeCommandQueueExecuteCommandLists pfnExecuteCommandLists (
                        hCommandQueue: ze_command_queue_handle_t, numCommandLists: u32,
                        phCommandLists: *mut ze_command_list_handle_t,
                        hFence: ze_fence_handle_t) -> ze_result_t;
                    [1 0] zeCommandQueueSynchronize pfnSynchronize (hCommandQueue: ze_command_queue_handle_t,
                        timeout: u64) -> ze_result_t;
                    [1 9] zeCommandQueueGetOrdinal pfnGetOrdinal (hCommandQueue: ze_command_queue_handle_t,
                        pOrdinal: *mut u32) -> ze_result_t;
                    [1 9] zeCommandQueueGetIndex pfnGetIndex (hCommandQueue: ze_command_queue_handle_t,
                        pIndex: *mut u32) -> ze_result_t;
                    [1 17] zeCommandQueueGetFlags pfnGetFlags (hCmdQueue: ze_command_queue_handle_t,
                        pFlags: *mut ze_command_queue_flags_t) -> ze_result_t;
                    [1 17] zeCommandQueueGetMode pfnGetMode (hCmdQueue: ze_command_queue_handle_t,
                        pMode: *mut ze_command_queue_mode_t) -> ze_result_t;
                    [1 17] zeCommandQueueGetPriority pfnGetPriority (hCmdQueue: ze_command_queue_handle_t,
                        pPriority: *mut ze_command_queue_priority_t) -> ze_result_t;
                }
                CommandList ze_command_list_dditable_t zeGetCommandListProcAddrTable {
                    [1 0] zeCommandListCreate pfnCreate (hContext: ze_context_handle_t,
                        hDevice: ze_device_handle_t, desc: *const ze_command_list_desc_t,
                        phCommandList: *mut ze_command_list_handle_t) -> ze_result_t;
                    [1 0] zeCommandListCreateImmediate pfnCreateImmediate (hContext: ze_context_handle_t,
                        hDevice: ze_device_handle_t, altdesc: *const ze_command_queue_desc_t,
                        phCommandList: *mut ze_command_list_handle_t) -> ze_result_t;
                    [1 0] zeCommandListDestroy pfnDestroy (
                        hCommandList: ze_command_list_handle_t) -> ze_result_t;
                    [1 0] zeCommandListClose pfnClose (hCommandList: ze_command_list_handle_t) -> ze_result_t;
                    [1 0] zeCommandListReset pfnReset (hCommandList: ze_command_list_handle_t) -> ze_result_t;
                    [1 0] zeCommandListAppendWriteGlobalTimestamp pfnAppendWriteGlobalTimestamp (
                        hCommandList: ze_command_list_handle_t, dstptr: *mut u64,
                        hSignalEvent: ze_event_handle_t, numWaitEvents: u32,
                        phWaitEvents: *mut ze_event_handle_t) -> ze_result_t;
                    [1 0] zeCommandListAppendBarrier pfnAppendBarrier (hCommandList: ze_command_list_handle_t,
                        hSignalEvent: ze_event_handle_t, numWaitEvents: u32,
                        phWaitEvents: *mut ze_event_handle_t) -> ze_result_t;
                    [1 0] zeCommandListAppendMemoryRangesBarrier pfnAppendMemoryRangesBarrier (
                        hCommandList: ze_command_list_handle_t, numRanges: u32, pRangeSizes: *const usize,
                        pRanges: *mut *const c_void, hSignalEvent: ze_event_handle_t, numWaitEvents: u32,
                        phWaitEvents: *mut ze_event_handle_t) -> ze_result_t;
                    [1 0] zeCommandListAppendMemoryCopy pfnAppendMemoryCopy (
                        hCommandList: ze_command_list_handle_t, dstptr: *mut c_void, srcptr: *const c_void,
                        size: usize, hSignalEvent: ze_event_handle_t, numWaitEvents: u32,
                        phWaitEvents: *mut ze_event_handle_t) -> ze_result_t;
                    [1 0] zeCommandListAppendMemoryFill pfnAppendMemoryFill (
                        hCommandList: ze_command_list_handle_t, ptr: *mut c_void, pattern: *const c_void,
                        pattern_size: usize, size: usize, hSignalEvent: ze_event_handle_t, numWaitEvents: u32,
                        phWaitEvents: *mut ze_event_handle_t) -> ze_result_t;
                    [1 0] zeCommandListAppendMemoryCopyRegion pfnAppendMemoryCopyRegion (
                        hCommandList: ze_command_list_handle_t, dstptr: *mut c_void,
                        dstRegion: *const ze_copy_region_t, dstPitch: u32, dstSlicePitch: u32,
                        srcptr: *const c_void, srcRegion: *const ze_copy_region_t, srcPitch: u32,
                        srcSlicePitch: u32, hSignalEvent: ze_event_handle_t, numWaitEvents: u32,
                        phWaitEvents: *mut ze_event_handle_t) -> ze_result_t;
                    [1 0] zeCommandListAppendMemoryCopyFromContext pfnAppendMemoryCopyFromContext (
                        hCommandList: ze_command_list_handle_t, dstptr: *mut c_void,
                        hContextSrc: ze_context_handle_t, srcptr: *const c_void, size: usize,
                        hSignalEvent: ze_event_handle_t, numWaitEvents: u32,
                        phWaitEvents: *mut ze_event_handle_t) -> ze_result_t;
                    [1 0] zeCommandListAppendImageCopy pfnAppendImageCopy (
                        hCommandList: ze_command_list_handle_t, hDstImage: ze_image_handle_t,
                        hSrcImage: ze_image_handle_t, hSignalEvent: ze_event_handle_t, numWaitEvents: u32,
                        phWaitEvents: *mut ze_event_handle_t) -> ze_result_t;
                    [1 0] zeCommandListAppendImageCopyRegion pfnAppendImageCopyRegion (
                        hCommandList: ze_command_list_handle_t, hDstImage: ze_image_handle_t,
                        hSrcImage: ze_image_handle_t, pDstRegion: *const ze_image_region_t,
                        pSrcRegion: *const ze_image_region_t, hSignalEvent: ze_event_handle_t,
                        numWaitEvents: u32, phWaitEvents: *mut ze_event_handle_t) -> ze_result_t;
                    [1 0] zeCommandListAppendImageCopyToMemory pfnAppendImageCopyToMemory (
                        hCommandList: ze_command_list_handle_t, dstptr: *mut c_void,
                        hSrcImage: ze_image_handle_t, pSrcRegion: *const ze_image_region_t,
                        hSignalEvent: ze_event_handle_t, numWaitEvents: u32,
                        phWaitEvents: *mut ze_event_handle_t) -> ze_result_t;
                    [1 0] zeCommandListAppendImageCopyFromMemory pfnAppendImageCopyFromMemory (
                        hCommandList: ze_command_list_handle_t, hDstImage: ze_image_handle_t,
                        srcptr: *const c_void, pDstRegion: *const ze_image_region_t,
                        hSignalEvent: ze_event_handle_t, numWaitEvents: u32,
                        phWaitEvents: *mut ze_event_handle_t) -> ze_result_t;
                    [1 0] zeCommandListAppendMemoryPrefetch pfnAppendMemoryPrefetch (
                        hCommandList: ze_command_list_handle_t, ptr: *const c_void,
                        size: usize) -> ze_result_t;
                    [1 0] zeCommandListAppendMemAdvise pfnAppendMemAdvise (
                        hCommandList: ze_command_list_handle_t, hDevice: ze_device_handle_t,
                        ptr: *const c_void, size: usize, advice: ze_memory_advice_t) -> ze_result_t;
                    [1 0] zeCommandListAppendSignalEvent pfnAppendSignalEvent (
                        hCommandList: ze_command_list_handle_t, hEvent: ze_event_handle_t) -> ze_result_t;
                    [1 0] zeCommandListAppendWaitOnEvents pfnAppendWaitOnEvents (
                        hCommandList: ze_command_list_handle_t, numEvents: u32,
                        phEvents: *mut ze_event_handle_t) -> ze_result_t;
                    [1 0] zeCommandListAppendEventReset pfnAppendEventReset (
                        hCommandList: ze_command_list_handle_t, hEvent: ze_event_handle_t) -> ze_result_t;
                    [1 0] zeCommandListAppendQueryKernelTimestamps pfnAppendQueryKernelTimestamps (
                        hCommandList: ze_command_list_handle_t, numEvents: u32,
                        phEvents: *mut ze_event_handle_t, dstptr: *mut c_void, pOffsets: *const usize,
                        hSignalEvent: ze_event_handle_t, numWaitEvents: u32,
                        phWaitEvents: *mut ze_event_handle_t) -> ze_result_t;
                    [1 0] zeCommandListAppendLaunchKernel pfnAppendLaunchKernel (
                        hCommandList: ze_command_list_handle_t, hKernel: ze_kernel_handle_t,
                        pLaunchFuncArgs: *const ze_group_count_t, hSignalEvent: ze_event_handle_t,
                        numWaitEvents: u32, phWaitEvents: *mut ze_event_handle_t) -> ze_result_t;
                    [1 0] zeCommandListAppendLaunchCooperativeKernel pfnAppendLaunchCooperativeKernel (
                        hCommandList: ze_command_list_handle_t, hKernel: ze_kernel_handle_t,
                        pLaunchFuncArgs: *const ze_group_count_t, hSignalEvent: ze_event_handle_t,
                        numWaitEvents: u32, phWaitEvents: *mut ze_event_handle_t) -> ze_result_t;
                    [1 0] zeCommandListAppendLaunchKernelIndirect pfnAppendLaunchKernelIndirect (
                        hCommandList: ze_command_list_handle_t, hKernel: ze_kernel_handle_t,
                        pLaunchArgumentsBuffer: *const ze_group_count_t, hSignalEvent: ze_event_handle_t,
                        numWaitEvents: u32, phWaitEvents: *mut ze_event_handle_t) -> ze_result_t;
                    [1 0] zeCommandListAppendLaunchMultipleKernelsIndirect pfnAppendLaunchMultipleKernelsIndirect (
                        hCommandList: ze_command_list_handle_t, numKernels: u32,
                        phKernels: *mut ze_kernel_handle_t, pCountBuffer: *const u32,
                        pLaunchArgumentsBuffer: *const ze_group_count_t, hSignalEvent: ze_event_handle_t,
                        numWaitEvents: u32, phWaitEvents: *mut ze_event_handle_t) -> ze_result_t;
                    [1 3] zeCommandListAppendImageCopyToMemoryExt pfnAppendImageCopyToMemoryExt (
                        hCommandList: ze_command_list_handle_t, dstptr: *mut c_void,
                        hSrcImage: ze_image_handle_t, pSrcRegion: *const ze_image_region_t, destRowPitch: u32,
                        destSlicePitch: u32, hSignalEvent: ze_event_handle_t, numWaitEvents: u32,
                        phWaitEvents: *mut ze_event_handle_t) -> ze_result_t;
                    [1 3] zeCommandListAppendImageCopyFromMemoryExt pfnAppendImageCopyFromMemoryExt (
                        hCommandList: ze_command_list_handle_t, hDstImage: ze_image_handle_t,
                        srcptr: *const c_void, pDstRegion: *const ze_image_region_t, srcRowPitch: u32,
                        srcSlicePitch: u32, hSignalEvent: ze_event_handle_t, numWaitEvents: u32,
                        phWaitEvents: *mut ze_event_handle_t) -> ze_result_t;
                    [1 6] zeCommandListHostSynchronize pfnHostSynchronize (
                        hCommandList: ze_command_list_handle_t, timeout: u64) -> ze_result_t;
                    [1 9] zeCommandListGetDeviceHandle pfnGetDeviceHandle (
                        hCommandList: ze_command_list_handle_t,
                        phDevice: *mut ze_device_handle_t) -> ze_result_t;
                    [1 9] zeCommandListGetContextHandle pfnGetContextHandle (
                        hCommandList: ze_command_list_handle_t,
                        phContext: *mut ze_context_handle_t) -> ze_result_t;
                    [1 9] zeCommandListGetOrdinal pfnGetOrdinal (hCommandList: ze_command_list_handle_t,
                        pOrdinal: *mut u32) -> ze_result_t;
                    [1 9] zeCommandListImmediateGetIndex pfnImmediateGetIndex (
                        hCommandListImmediate: ze_command_list_handle_t, pIndex: *mut u32) -> ze_result_t;
                    [1 9] zeCommandListIsImmediate pfnIsImmediate (hCommandList: ze_command_list_handle_t,
                        pIsImmediate: *mut ze_bool_t) -> ze_result_t;
                    [1 12] zeCommandListAppendSignalExternalSemaphoreExt pfnAppendSignalExternalSemaphoreExt (
                        hCommandList: ze_command_list_handle_t, numSemaphores: u32,
                        phSemaphores: *mut ze_external_semaphore_ext_handle_t,
                        signalParams: *mut ze_external_semaphore_signal_params_ext_t,
                        hSignalEvent: ze_event_handle_t, numWaitEvents: u32,
                        phWaitEvents: *mut ze_event_handle_t) -> ze_result_t;
                    [1 12] zeCommandListAppendWaitExternalSemaphoreExt pfnAppendWaitExternalSemaphoreExt (
                        hCommandList: ze_command_list_handle_t, numSemaphores: u32,
                        phSemaphores: *mut ze_external_semaphore_ext_handle_t,
                        waitParams: *mut ze_external_semaphore_wait_params_ext_t,
                        hSignalEvent: ze_event_handle_t, numWaitEvents: u32,
                        phWaitEvents: *mut ze_event_handle_t) -> ze_result_t;
                    [1 14] zeCommandListAppendLaunchKernelWithParameters pfnAppendLaunchKernelWithParameters (
                        hCommandList: ze_command_list_handle_t, hKernel: ze_kernel_handle_t,
                        pGroupCounts: *const ze_group_count_t, pNext: *const c_void,
                        hSignalEvent: ze_event_handle_t, numWaitEvents: u32,
                        phWaitEvents: *mut ze_event_handle_t) -> ze_result_t;
                    [1 14] zeCommandListAppendLaunchKernelWithArguments pfnAppendLaunchKernelWithArguments (
                        hCommandList: ze_command_list_handle_t, hKernel: ze_kernel_handle_t,
                        groupCounts: ze_group_count_t, groupSizes: ze_group_size_t,
                        pArguments: *mut *mut c_void, pNext: *const c_void, hSignalEvent: ze_event_handle_t,
                        numWaitEvents: u32, phWaitEvents: *mut ze_event_handle_t) -> ze_result_t;
                    [1 16] zeCommandListAppendMemoryCopyWithParameters pfnAppendMemoryCopyWithParameters (
                        hCommandList: ze_command_list_handle_t, dstptr: *mut c_void, srcptr: *const c_void,
                        size: usize, pNext: *const c_void, hSignalEvent: ze_event_handle_t,
                        numWaitEvents: u32, phWaitEvents: *mut ze_event_handle_t) -> ze_result_t;
                    [1 16] zeCommandListAppendMemoryFillWithParameters pfnAppendMemoryFillWithParameters (
                        hCommandList: ze_command_list_handle_t, ptr: *mut c_void, pattern: *const c_void,
                        pattern_size: usize, size: usize, pNext: *const c_void,
                        hSignalEvent: ze_event_handle_t, numWaitEvents: u32,
                        phWaitEvents: *mut ze_event_handle_t) -> ze_result_t;
                    [1 16] zeCommandListImmediateAppendCommandListsWithParameters pfnImmediateAppendCommandListsWithParameters (
                        hCommandListImmediate: ze_command_list_handle_t, numCommandLists: u32,
                        phCommandLists: *mut ze_command_list_handle_t, pNext: *const c_void,
                        hSignalEvent: ze_event_handle_t, numWaitEvents: u32,
                        phWaitEvents: *mut ze_event_handle_t) -> ze_result_t;
                    [1 17] zeCommandListGetFlags pfnGetFlags (hCommandList: ze_command_list_handle_t,
                        pFlags: *mut ze_command_list_flags_t) -> ze_result_t;
                    [1 17] zeCommandListImmediateGetFlags pfnImmediateGetFlags (
                        hCommandList: ze_command_list_handle_t,
                        pFlags: *mut ze_command_queue_flags_t) -> ze_result_t;
                    [1 17] zeCommandListImmediateGetMode pfnImmediateGetMode (
                        hCommandList: ze_command_list_handle_t,
                        pMode: *mut ze_command_queue_mode_t) -> ze_result_t;
                    [1 17] zeCommandListImmediateGetPriority pfnImmediateGetPriority (
                        hCommandList: ze_command_list_handle_t,
                        pPriority: *mut ze_command_queue_priority_t) -> ze_result_t;
                    [1 17] zeCommandListBeginGraphCaptureExt pfnBeginGraphCaptureExt (
                        hCommandList: ze_command_list_handle_t, pNext: *const c_void) -> ze_result_t;
                    [1 17] zeCommandListBeginCaptureIntoGraphExt pfnBeginCaptureIntoGraphExt (
                        hCommandList: ze_command_list_handle_t, hGraph: ze_graph_handle_t,
                        pNext: *const c_void) -> ze_result_t;
                    [1 17] zeCommandListIsGraphCaptureEnabledExt pfnIsGraphCaptureEnabledExt (
                        hCommandList: ze_command_list_handle_t) -> ze_result_t;
                    [1 17] zeCommandListEndGraphCaptureExt pfnEndGraphCaptureExt (
                        hCommandList: ze_command_list_handle_t, pNext: *const c_void,
                        phGraph: *mut ze_graph_handle_t) -> ze_result_t;
                    [1 17] zeCommandListGetGraphExt pfnGetGraphExt (hCommandList: ze_command_list_handle_t,
                        phGraph: *mut ze_graph_handle_t) -> ze_result_t;
                    [1 17] zeCommandListAppendGraphExt pfnAppendGraphExt (
                        hCommandList: ze_command_list_handle_t, hGraph: ze_executable_graph_handle_t,
                        pNext: *const c_void, hSignalEvent: ze_event_handle_t, numWaitEvents: u32,
                        phWaitEvents: *mut ze_event_handle_t) -> ze_result_t;
                    [1 17] zeCommandListAppendHostFunction pfnAppendHostFunction (
                        hCommandList: ze_command_list_handle_t, pfnHostFunction: ze_host_function_callback_t,
                        pUserData: *mut c_void, pNext: *const c_void, hSignalEvent: ze_event_handle_t,
                        numWaitEvents: u32, phWaitEvents: *mut ze_event_handle_t) -> ze_result_t;
                }
                CommandListExp ze_command_list_exp_dditable_t zeGetCommandListExpProcAddrTable {
                    [1 9] zeCommandListCreateCloneExp pfnCreateCloneExp (
                        hCommandList: ze_command_list_handle_t,
                        phClonedCommandList: *mut ze_command_list_handle_t) -> ze_result_t;
                    [1 9] zeCommandListImmediateAppendCommandListsExp pfnImmediateAppendCommandListsExp (
                        hCommandListImmediate: ze_command_list_handle_t, numCommandLists: u32,
                        phCommandLists: *mut ze_command_list_handle_t, hSignalEvent: ze_event_handle_t,
                        numWaitEvents: u32, phWaitEvents: *mut ze_event_handle_t) -> ze_result_t;
                    [1 9] zeCommandListGetNextCommandIdExp pfnGetNextCommandIdExp (
                        hCommandList: ze_command_list_handle_t, desc: *const ze_mutable_command_id_exp_desc_t,
                        pCommandId: *mut u64) -> ze_result_t;
                    [1 9] zeCommandListUpdateMutableCommandsExp pfnUpdateMutableCommandsExp (
                        hCommandList: ze_command_list_handle_t,
                        desc: *const ze_mutable_commands_exp_desc_t) -> ze_result_t;
                    [1 9] zeCommandListUpdateMutableCommandSignalEventExp pfnUpdateMutableCommandSignalEventExp (
                        hCommandList: ze_command_list_handle_t, commandId: u64,
                        hSignalEvent: ze_event_handle_t) -> ze_result_t;
                    [1 9] zeCommandListUpdateMutableCommandWaitEventsExp pfnUpdateMutableCommandWaitEventsExp (
                        hCommandList: ze_command_list_handle_t, commandId: u64, numWaitEvents: u32,
                        phWaitEvents: *mut ze_event_handle_t) -> ze_result_t;
                    [1 10] zeCommandListGetNextCommandIdWithKernelsExp pfnGetNextCommandIdWithKernelsExp (
                        hCommandList: ze_command_list_handle_t, desc: *const ze_mutable_command_id_exp_desc_t,
                        numKernels: u32, phKernels: *mut ze_kernel_handle_t,
                        pCommandId: *mut u64) -> ze_result_t;
                    [1 10] zeCommandListUpdateMutableCommandKernelsExp pfnUpdateMutableCommandKernelsExp (
                        hCommandList: ze_command_list_handle_t, numKernels: u32, pCommandId: *mut u64,
                        phKernels: *mut ze_kernel_handle_t) -> ze_result_t;
                    [1 17] zeCommandListIsMutableExp pfnIsMutableExp (hCommandList: ze_command_list_handle_t,
                        pIsMutable: *mut ze_bool_t) -> ze_result_t;
                }
                Image ze_image_dditable_t zeGetImageProcAddrTable {
                    [1 0] zeImageGetProperties pfnGetProperties (hDevice: ze_device_handle_t,
                        desc: *const ze_image_desc_t,
                        pImageProperties: *mut ze_image_properties_t) -> ze_result_t;
                    [1 0] zeImageCreate pfnCreate (hContext: ze_context_handle_t, hDevice: ze_device_handle_t,
                        desc: *const ze_image_desc_t, phImage: *mut ze_image_handle_t) -> ze_result_t;
                    [1 0] zeImageDestroy pfnDestroy (hImage: ze_image_handle_t) -> ze_result_t;
                    [1 3] zeImageGetAllocPropertiesExt pfnGetAllocPropertiesExt (
                        hContext: ze_context_handle_t, hImage: ze_image_handle_t,
                        pImageAllocProperties: *mut ze_image_allocation_ext_properties_t) -> ze_result_t;
                    [1 5] zeImageViewCreateExt pfnViewCreateExt (hContext: ze_context_handle_t,
                        hDevice: ze_device_handle_t, desc: *const ze_image_desc_t, hImage: ze_image_handle_t,
                        phImageView: *mut ze_image_handle_t) -> ze_result_t;
                }
                ImageExp ze_image_exp_dditable_t zeGetImageExpProcAddrTable {
                    [1 2] zeImageGetMemoryPropertiesExp pfnGetMemoryPropertiesExp (hImage: ze_image_handle_t,
                        pMemoryProperties: *mut ze_image_memory_properties_exp_t) -> ze_result_t;
                    [1 2] zeImageViewCreateExp pfnViewCreateExp (hContext: ze_context_handle_t,
                        hDevice: ze_device_handle_t, desc: *const ze_image_desc_t, hImage: ze_image_handle_t,
                        phImageView: *mut ze_image_handle_t) -> ze_result_t;
                    [1 9] zeImageGetDeviceOffsetExp pfnGetDeviceOffsetExp (hImage: ze_image_handle_t,
                        pDeviceOffset: *mut u64) -> ze_result_t;
                }
                Mem ze_mem_dditable_t zeGetMemProcAddrTable {
                    [1 0] zeMemAllocShared pfnAllocShared (hContext: ze_context_handle_t,
                        device_desc: *const ze_device_mem_alloc_desc_t,
                        host_desc: *const ze_host_mem_alloc_desc_t, size: usize, alignment: usize,
                        hDevice: ze_device_handle_t, pptr: *mut *mut c_void) -> ze_result_t;
                    [1 0] zeMemAllocDevice pfnAllocDevice (hContext: ze_context_handle_t,
                        device_desc: *const ze_device_mem_alloc_desc_t, size: usize, alignment: usize,
                        hDevice: ze_device_handle_t, pptr: *mut *mut c_void) -> ze_result_t;
                    [1 0] zeMemAllocHost pfnAllocHost (hContext: ze_context_handle_t,
                        host_desc: *const ze_host_mem_alloc_desc_t, size: usize, alignment: usize,
                        pptr: *mut *mut c_void) -> ze_result_t;
                    [1 0] zeMemFree pfnFree (hContext: ze_context_handle_t, ptr: *mut c_void) -> ze_result_t;
                    [1 0] zeMemGetAllocProperties pfnGetAllocProperties (hContext: ze_context_handle_t,
                        ptr: *const c_void, pMemAllocProperties: *mut ze_memory_allocation_properties_t,
                        phDevice: *mut ze_device_handle_t) -> ze_result_t;
                    [1 0] zeMemGetAddressRange pfnGetAddressRange (hContext: ze_context_handle_t,
                        ptr: *const c_void, pBase: *mut *mut c_void, pSize: *mut usize) -> ze_result_t;
                    [1 0] zeMemGetIpcHandle pfnGetIpcHandle (hContext: ze_context_handle_t,
                        ptr: *const c_void, pIpcHandle: *mut ze_ipc_mem_handle_t) -> ze_result_t;
                    [1 0] zeMemOpenIpcHandle pfnOpenIpcHandle (hContext: ze_context_handle_t,
                        hDevice: ze_device_handle_t, handle: ze_ipc_mem_handle_t,
                        flags: ze_ipc_memory_flags_t, pptr: *mut *mut c_void) -> ze_result_t;
                    [1 0] zeMemCloseIpcHandle pfnCloseIpcHandle (hContext: ze_context_handle_t,
                        ptr: *const c_void) -> ze_result_t;
                    [1 3] zeMemFreeExt pfnFreeExt (hContext: ze_context_handle_t,
                        pMemFreeDesc: *const ze_memory_free_ext_desc_t, ptr: *mut c_void) -> ze_result_t;
                    [1 6] zeMemPutIpcHandle pfnPutIpcHandle (hContext: ze_context_handle_t,
                        handle: ze_ipc_mem_handle_t) -> ze_result_t;
                    [1 9] zeMemGetPitchFor2dImage pfnGetPitchFor2dImage (hContext: ze_context_handle_t,
                        hDevice: ze_device_handle_t, imageWidth: usize, imageHeight: usize,
                        elementSizeInBytes: c_uint, rowPitch: *mut usize) -> ze_result_t;
                    [1 15] zeMemGetIpcHandleWithProperties pfnGetIpcHandleWithProperties (
                        hContext: ze_context_handle_t, ptr: *const c_void, pNext: *mut c_void,
                        pIpcHandle: *mut ze_ipc_mem_handle_t) -> ze_result_t;
                }
                MemExp ze_mem_exp_dditable_t zeGetMemExpProcAddrTable {
                    [1 6] zeMemGetIpcHandleFromFileDescriptorExp pfnGetIpcHandleFromFileDescriptorExp (
                        hContext: ze_context_handle_t, handle: u64,
                        pIpcHandle: *mut ze_ipc_mem_handle_t) -> ze_result_t;
                    [1 6] zeMemGetFileDescriptorFromIpcHandleExp pfnGetFileDescriptorFromIpcHandleExp (
                        hContext: ze_context_handle_t, ipcHandle: ze_ipc_mem_handle_t,
                        pHandle: *mut u64) -> ze_result_t;
                    [1 7] zeMemSetAtomicAccessAttributeExp pfnSetAtomicAccessAttributeExp (
                        hContext: ze_context_handle_t, hDevice: ze_device_handle_t, ptr: *const c_void,
                        size: usize, attr: ze_memory_atomic_attr_exp_flags_t) -> ze_result_t;
                    [1 7] zeMemGetAtomicAccessAttributeExp pfnGetAtomicAccessAttributeExp (
                        hContext: ze_context_handle_t, hDevice: ze_device_handle_t, ptr: *const c_void,
                        size: usize, pAttr: *mut ze_memory_atomic_attr_exp_flags_t) -> ze_result_t;
                }
                Fence ze_fence_dditable_t zeGetFenceProcAddrTable {
                    [1 0] zeFenceCreate pfnCreate (hCommandQueue: ze_command_queue_handle_t,
                        desc: *const ze_fence_desc_t, phFence: *mut ze_fence_handle_t) -> ze_result_t;
                    [1 0] zeFenceDestroy pfnDestroy (hFence: ze_fence_handle_t) -> ze_result_t;
                    [1 0] zeFenceHostSynchronize pfnHostSynchronize (hFence: ze_fence_handle_t,
                        timeout: u64) -> ze_result_t;
                    [1 0] zeFenceQueryStatus pfnQueryStatus (hFence: ze_fence_handle_t) -> ze_result_t;
                    [1 0] zeFenceReset pfnReset (hFence: ze_fence_handle_t) -> ze_result_t;
                }
                EventPool ze_event_pool_dditable_t zeGetEventPoolProcAddrTable {
                    [1 0] zeEventPoolCreate pfnCreate (hContext: ze_context_handle_t,
                        desc: *const ze_event_pool_desc_t, numDevices: u32,
                        phDevices: *mut ze_device_handle_t,
                        phEventPool: *mut ze_event_pool_handle_t) -> ze_result_t;
                    [1 0] zeEventPoolDestroy pfnDestroy (hEventPool: ze_event_pool_handle_t) -> ze_result_t;
                    [1 0] zeEventPoolGetIpcHandle pfnGetIpcHandle (hEventPool: ze_event_pool_handle_t,
                        phIpc: *mut ze_ipc_event_pool_handle_t) -> ze_result_t;
                    [1 0] zeEventPoolOpenIpcHandle pfnOpenIpcHandle (hContext: ze_context_handle_t,
                        hIpc: ze_ipc_event_pool_handle_t,
                        phEventPool: *mut ze_event_pool_handle_t) -> ze_result_t;
                    [1 0] zeEventPoolCloseIpcHandle pfnCloseIpcHandle (
                        hEventPool: ze_event_pool_handle_t) -> ze_result_t;
                    [1 6] zeEventPoolPutIpcHandle pfnPutIpcHandle (hContext: ze_context_handle_t,
                        hIpc: ze_ipc_event_pool_handle_t) -> ze_result_t;
                    [1 9] zeEventPoolGetContextHandle pfnGetContextHandle (hEventPool: ze_event_pool_handle_t,
                        phContext: *mut ze_context_handle_t) -> ze_result_t;
                    [1 9] zeEventPoolGetFlags pfnGetFlags (hEventPool: ze_event_pool_handle_t,
                        pFlags: *mut ze_event_pool_flags_t) -> ze_result_t;
                }
                Event ze_event_dditable_t zeGetEventProcAddrTable {
                    [1 0] zeEventCreate pfnCreate (hEventPool: ze_event_pool_handle_t,
                        desc: *const ze_event_desc_t, phEvent: *mut ze_event_handle_t) -> ze_result_t;
                    [1 0] zeEventDestroy pfnDestroy (hEvent: ze_event_handle_t) -> ze_result_t;
                    [1 0] zeEventHostSignal pfnHostSignal (hEvent: ze_event_handle_t) -> ze_result_t;
                    [1 0] zeEventHostSynchronize pfnHostSynchronize (hEvent: ze_event_handle_t,
                        timeout: u64) -> ze_result_t;
                    [1 0] zeEventQueryStatus pfnQueryStatus (hEvent: ze_event_handle_t) -> ze_result_t;
                    [1 0] zeEventHostReset pfnHostReset (hEvent: ze_event_handle_t) -> ze_result_t;
                    [1 0] zeEventQueryKernelTimestamp pfnQueryKernelTimestamp (hEvent: ze_event_handle_t,
                        dstptr: *mut ze_kernel_timestamp_result_t) -> ze_result_t;
                    [1 6] zeEventQueryKernelTimestampsExt pfnQueryKernelTimestampsExt (
                        hEvent: ze_event_handle_t, hDevice: ze_device_handle_t, pCount: *mut u32,
                        pResults: *mut ze_event_query_kernel_timestamps_results_ext_properties_t) -> ze_result_t;
                    [1 9] zeEventGetEventPool pfnGetEventPool (hEvent: ze_event_handle_t,
                        phEventPool: *mut ze_event_pool_handle_t) -> ze_result_t;
                    [1 9] zeEventGetSignalScope pfnGetSignalScope (hEvent: ze_event_handle_t,
                        pSignalScope: *mut ze_event_scope_flags_t) -> ze_result_t;
                    [1 9] zeEventGetWaitScope pfnGetWaitScope (hEvent: ze_event_handle_t,
                        pWaitScope: *mut ze_event_scope_flags_t) -> ze_result_t;
                    [1 15] zeEventCounterBasedCreate pfnCounterBasedCreate (hContext: ze_context_handle_t,
                        hDevice: ze_device_handle_t, desc: *const ze_event_counter_based_desc_t,
                        phEvent: *mut ze_event_handle_t) -> ze_result_t;
                    [1 15] zeEventCounterBasedGetIpcHandle pfnCounterBasedGetIpcHandle (
                        hEvent: ze_event_handle_t,
                        phIpc: *mut ze_ipc_event_counter_based_handle_t) -> ze_result_t;
                    [1 15] zeEventCounterBasedOpenIpcHandle pfnCounterBasedOpenIpcHandle (
                        hContext: ze_context_handle_t, hIpc: ze_ipc_event_counter_based_handle_t,
                        phEvent: *mut ze_event_handle_t) -> ze_result_t;
                    [1 15] zeEventCounterBasedCloseIpcHandle pfnCounterBasedCloseIpcHandle (
                        hEvent: ze_event_handle_t) -> ze_result_t;
                    [1 15] zeEventCounterBasedGetDeviceAddress pfnCounterBasedGetDeviceAddress (
                        hEvent: ze_event_handle_t, completionValue: *mut u64,
                        deviceAddress: *mut u64) -> ze_result_t;
                    [1 17] zeEventGetCounterBasedFlags pfnGetCounterBasedFlags (hEvent: ze_event_handle_t,
                        pFlags: *mut ze_event_counter_based_flags_t) -> ze_result_t;
                }
                EventExp ze_event_exp_dditable_t zeGetEventExpProcAddrTable {
                    [1 2] zeEventQueryTimestampsExp pfnQueryTimestampsExp (hEvent: ze_event_handle_t,
                        hDevice: ze_device_handle_t, pCount: *mut u32,
                        pTimestamps: *mut ze_kernel_timestamp_result_t) -> ze_result_t;
                }
                Module ze_module_dditable_t zeGetModuleProcAddrTable {
                    [1 0] zeModuleCreate pfnCreate (hContext: ze_context_handle_t,
                        hDevice: ze_device_handle_t, desc: *const ze_module_desc_t,
                        phModule: *mut ze_module_handle_t,
                        phBuildLog: *mut ze_module_build_log_handle_t) -> ze_result_t;
                    [1 0] zeModuleDestroy pfnDestroy (hModule: ze_module_handle_t) -> ze_result_t;
                    [1 0] zeModuleDynamicLink pfnDynamicLink (numModules: u32,
                        phModules: *mut ze_module_handle_t,
                        phLinkLog: *mut ze_module_build_log_handle_t) -> ze_result_t;
                    [1 0] zeModuleGetNativeBinary pfnGetNativeBinary (hModule: ze_module_handle_t,
                        pSize: *mut usize, pModuleNativeBinary: *mut u8) -> ze_result_t;
                    [1 0] zeModuleGetGlobalPointer pfnGetGlobalPointer (hModule: ze_module_handle_t,
                        pGlobalName: *const c_char, pSize: *mut usize, pptr: *mut *mut c_void) -> ze_result_t;
                    [1 0] zeModuleGetKernelNames pfnGetKernelNames (hModule: ze_module_handle_t,
                        pCount: *mut u32, pNames: *mut *const c_char) -> ze_result_t;
                    [1 0] zeModuleGetProperties pfnGetProperties (hModule: ze_module_handle_t,
                        pModuleProperties: *mut ze_module_properties_t) -> ze_result_t;
                    [1 0] zeModuleGetFunctionPointer pfnGetFunctionPointer (hModule: ze_module_handle_t,
                        pFunctionName: *const c_char, pfnFunction: *mut *mut c_void) -> ze_result_t;
                    [1 3] zeModuleInspectLinkageExt pfnInspectLinkageExt (
                        pInspectDesc: *mut ze_linkage_inspection_ext_desc_t, numModules: u32,
                        phModules: *mut ze_module_handle_t,
                        phLog: *mut ze_module_build_log_handle_t) -> ze_result_t;
                }
                ModuleBuildLog ze_module_build_log_dditable_t zeGetModuleBuildLogProcAddrTable {
                    [1 0] zeModuleBuildLogDestroy pfnDestroy (
                        hModuleBuildLog: ze_module_build_log_handle_t) -> ze_result_t;
                    [1 0] zeModuleBuildLogGetString pfnGetString (
                        hModuleBuildLog: ze_module_build_log_handle_t, pSize: *mut usize,
                        pBuildLog: *mut c_char) -> ze_result_t;
                }
                Kernel ze_kernel_dditable_t zeGetKernelProcAddrTable {
                    [1 0] zeKernelCreate pfnCreate (hModule: ze_module_handle_t,
                        desc: *const ze_kernel_desc_t, phKernel: *mut ze_kernel_handle_t) -> ze_result_t;
                    [1 0] zeKernelDestroy pfnDestroy (hKernel: ze_kernel_handle_t) -> ze_result_t;
                    [1 0] zeKernelSetCacheConfig pfnSetCacheConfig (hKernel: ze_kernel_handle_t,
                        flags: ze_cache_config_flags_t) -> ze_result_t;
                    [1 0] zeKernelSetGroupSize pfnSetGroupSize (hKernel: ze_kernel_handle_t, groupSizeX: u32,
                        groupSizeY: u32, groupSizeZ: u32) -> ze_result_t;
                    [1 0] zeKernelSuggestGroupSize pfnSuggestGroupSize (hKernel: ze_kernel_handle_t,
                        globalSizeX: u32, globalSizeY: u32, globalSizeZ: u32, groupSizeX: *mut u32,
                        groupSizeY: *mut u32, groupSizeZ: *mut u32) -> ze_result_t;
                    [1 0] zeKernelSuggestMaxCooperativeGroupCount pfnSuggestMaxCooperativeGroupCount (
                        hKernel: ze_kernel_handle_t, totalGroupCount: *mut u32) -> ze_result_t;
                    [1 0] zeKernelSetArgumentValue pfnSetArgumentValue (hKernel: ze_kernel_handle_t,
                        argIndex: u32, argSize: usize, pArgValue: *const c_void) -> ze_result_t;
                    [1 0] zeKernelSetIndirectAccess pfnSetIndirectAccess (hKernel: ze_kernel_handle_t,
                        flags: ze_kernel_indirect_access_flags_t) -> ze_result_t;
                    [1 0] zeKernelGetIndirectAccess pfnGetIndirectAccess (hKernel: ze_kernel_handle_t,
                        pFlags: *mut ze_kernel_indirect_access_flags_t) -> ze_result_t;
                    [1 0] zeKernelGetSourceAttributes pfnGetSourceAttributes (hKernel: ze_kernel_handle_t,
                        pSize: *mut u32, pString: *mut *mut c_char) -> ze_result_t;
                    [1 0] zeKernelGetProperties pfnGetProperties (hKernel: ze_kernel_handle_t,
                        pKernelProperties: *mut ze_kernel_properties_t) -> ze_result_t;
                    [1 0] zeKernelGetName pfnGetName (hKernel: ze_kernel_handle_t, pSize: *mut usize,
                        pName: *mut c_char) -> ze_result_t;
                }
                KernelExp ze_kernel_exp_dditable_t zeGetKernelExpProcAddrTable {
                    [1 1] zeKernelSetGlobalOffsetExp pfnSetGlobalOffsetExp (hKernel: ze_kernel_handle_t,
                        offsetX: u32, offsetY: u32, offsetZ: u32) -> ze_result_t;
                    [1 2] zeKernelSchedulingHintExp pfnSchedulingHintExp (hKernel: ze_kernel_handle_t,
                        pHint: *mut ze_scheduling_hint_exp_desc_t) -> ze_result_t;
                    [1 12] zeKernelGetBinaryExp pfnGetBinaryExp (hKernel: ze_kernel_handle_t,
                        pSize: *mut usize, pKernelBinary: *mut u8) -> ze_result_t;
                    [1 14] zeKernelGetAllocationPropertiesExp pfnGetAllocationPropertiesExp (
                        hKernel: ze_kernel_handle_t, pCount: *mut u32,
                        pAllocationProperties: *mut ze_kernel_allocation_exp_properties_t) -> ze_result_t;
                }
                Sampler ze_sampler_dditable_t zeGetSamplerProcAddrTable {
                    [1 0] zeSamplerCreate pfnCreate (hContext: ze_context_handle_t,
                        hDevice: ze_device_handle_t, desc: *const ze_sampler_desc_t,
                        phSampler: *mut ze_sampler_handle_t) -> ze_result_t;
                    [1 0] zeSamplerDestroy pfnDestroy (hSampler: ze_sampler_handle_t) -> ze_result_t;
                }
                PhysicalMem ze_physical_mem_dditable_t zeGetPhysicalMemProcAddrTable {
                    [1 0] zePhysicalMemCreate pfnCreate (hContext: ze_context_handle_t,
                        hDevice: ze_device_handle_t, desc: *mut ze_physical_mem_desc_t,
                        phPhysicalMemory: *mut ze_physical_mem_handle_t) -> ze_result_t;
                    [1 0] zePhysicalMemDestroy pfnDestroy (hContext: ze_context_handle_t,
                        hPhysicalMemory: ze_physical_mem_handle_t) -> ze_result_t;
                    [1 15] zePhysicalMemGetProperties pfnGetProperties (hContext: ze_context_handle_t,
                        hPhysicalMem: ze_physical_mem_handle_t,
                        pMemProperties: *mut ze_physical_mem_properties_t) -> ze_result_t;
                }
                VirtualMem ze_virtual_mem_dditable_t zeGetVirtualMemProcAddrTable {
                    [1 0] zeVirtualMemReserve pfnReserve (hContext: ze_context_handle_t,
                        pStart: *const c_void, size: usize, pptr: *mut *mut c_void) -> ze_result_t;
                    [1 0] zeVirtualMemFree pfnFree (hContext: ze_context_handle_t, ptr: *const c_void,
                        size: usize) -> ze_result_t;
                    [1 0] zeVirtualMemQueryPageSize pfnQueryPageSize (hContext: ze_context_handle_t,
                        hDevice: ze_device_handle_t, size: usize, pagesize: *mut usize) -> ze_result_t;
                    [1 0] zeVirtualMemMap pfnMap (hContext: ze_context_handle_t, ptr: *const c_void,
                        size: usize, hPhysicalMemory: ze_physical_mem_handle_t, offset: usize,
                        access: ze_memory_access_attribute_t) -> ze_result_t;
                    [1 0] zeVirtualMemUnmap pfnUnmap (hContext: ze_context_handle_t, ptr: *const c_void,
                        size: usize) -> ze_result_t;
                    [1 0] zeVirtualMemSetAccessAttribute pfnSetAccessAttribute (hContext: ze_context_handle_t,
                        ptr: *const c_void, size: usize, access: ze_memory_access_attribute_t) -> ze_result_t;
                    [1 0] zeVirtualMemGetAccessAttribute pfnGetAccessAttribute (hContext: ze_context_handle_t,
                        ptr: *const c_void, size: usize, access: *mut ze_memory_access_attribute_t,
                        outSize: *mut usize) -> ze_result_t;
                }
                FabricVertexExp ze_fabric_vertex_exp_dditable_t zeGetFabricVertexExpProcAddrTable {
                    [1 4] zeFabricVertexGetExp pfnGetExp (hDriver: ze_driver_handle_t, pCount: *mut u32,
                        phVertices: *mut ze_fabric_vertex_handle_t) -> ze_result_t;
                    [1 4] zeFabricVertexGetSubVerticesExp pfnGetSubVerticesExp (
                        hVertex: ze_fabric_vertex_handle_t, pCount: *mut u32,
                        phSubvertices: *mut ze_fabric_vertex_handle_t) -> ze_result_t;
                    [1 4] zeFabricVertexGetPropertiesExp pfnGetPropertiesExp (
                        hVertex: ze_fabric_vertex_handle_t,
                        pVertexProperties: *mut ze_fabric_vertex_exp_properties_t) -> ze_result_t;
                    [1 4] zeFabricVertexGetDeviceExp pfnGetDeviceExp (hVertex: ze_fabric_vertex_handle_t,
                        phDevice: *mut ze_device_handle_t) -> ze_result_t;
                }
                FabricEdgeExp ze_fabric_edge_exp_dditable_t zeGetFabricEdgeExpProcAddrTable {
                    [1 4] zeFabricEdgeGetExp pfnGetExp (hVertexA: ze_fabric_vertex_handle_t,
                        hVertexB: ze_fabric_vertex_handle_t, pCount: *mut u32,
                        phEdges: *mut ze_fabric_edge_handle_t) -> ze_result_t;
                    [1 4] zeFabricEdgeGetVerticesExp pfnGetVerticesExp (hEdge: ze_fabric_edge_handle_t,
                        phVertexA: *mut ze_fabric_vertex_handle_t,
                        phVertexB: *mut ze_fabric_vertex_handle_t) -> ze_result_t;
                    [1 4] zeFabricEdgeGetPropertiesExp pfnGetPropertiesExp (hEdge: ze_fabric_edge_handle_t,
                        pEdgeProperties: *mut ze_fabric_edge_exp_properties_t) -> ze_result_t;
                }
                Graph ze_graph_dditable_t zeGetGraphProcAddrTable {
                    [1 17] zeGraphCreateExt pfnCreateExt (hContext: ze_context_handle_t, pNext: *const c_void,
                        phGraph: *mut ze_graph_handle_t) -> ze_result_t;
                    [1 17] zeGraphGetPrimaryCommandListExt pfnGetPrimaryCommandListExt (
                        hGraph: ze_graph_handle_t,
                        phCommandList: *mut ze_command_list_handle_t) -> ze_result_t;
                    [1 17] zeGraphSetDestructionCallbackExt pfnSetDestructionCallbackExt (
                        hGraph: ze_graph_handle_t, pfnCallback: zex_mem_graph_free_callback_fn_t,
                        pUserData: *mut c_void, pNext: *const c_void) -> ze_result_t;
                    [1 17] zeGraphInstantiateExt pfnInstantiateExt (hGraph: ze_graph_handle_t,
                        pNext: *const c_void,
                        phExecutableGraph: *mut ze_executable_graph_handle_t) -> ze_result_t;
                    [1 17] zeGraphIsEmptyExt pfnIsEmptyExt (hGraph: ze_graph_handle_t) -> ze_result_t;
                    [1 17] zeGraphDumpContentsExt pfnDumpContentsExt (hGraph: ze_graph_handle_t,
                        filePath: *const c_char, pNext: *const c_void) -> ze_result_t;
                    [1 17] zeGraphDestroyExt pfnDestroyExt (hGraph: ze_graph_handle_t) -> ze_result_t;
                }
                ExecutableGraph ze_executable_graph_dditable_t zeGetExecutableGraphProcAddrTable {
                    [1 17] zeExecutableGraphGetSourceGraphExt pfnGetSourceGraphExt (
                        hGraph: ze_executable_graph_handle_t,
                        phSourceGraph: *mut ze_graph_handle_t) -> ze_result_t;
                    [1 17] zeExecutableGraphDestroyExt pfnDestroyExt (
                        hGraph: ze_executable_graph_handle_t) -> ze_result_t;
                }
            }
            zes zes_dditable_driver_t {
                Global zes_global_dditable_t zesGetGlobalProcAddrTable {
                    [1 5] zesInit pfnInit (flags: zes_init_flags_t) -> ze_result_t;
                }
                Device zes_device_dditable_t zesGetDeviceProcAddrTable {
                    [1 0] zesDeviceGetProperties pfnGetProperties (hDevice: zes_device_handle_t,
                        pProperties: *mut zes_device_properties_t) -> ze_result_t;
                    [1 0] zesDeviceGetState pfnGetState (hDevice: zes_device_handle_t,
                        pState: *mut zes_device_state_t) -> ze_result_t;
                    [1 0] zesDeviceReset pfnReset (hDevice: zes_device_handle_t,
                        force: ze_bool_t) -> ze_result_t;
                    [1 0] zesDeviceProcessesGetState pfnProcessesGetState (hDevice: zes_device_handle_t,
                        pCount: *mut u32, pProcesses: *mut zes_process_state_t) -> ze_result_t;
                    [1 0] zesDevicePciGetProperties pfnPciGetProperties (hDevice: zes_device_handle_t,
                        pProperties: *mut zes_pci_properties_t) -> ze_result_t;
                    [1 0] zesDevicePciGetState pfnPciGetState (hDevice: zes_device_handle_t,
                        pState: *mut zes_pci_state_t) -> ze_result_t;
                    [1 0] zesDevicePciGetBars pfnPciGetBars (hDevice: zes_device_handle_t, pCount: *mut u32,
                        pProperties: *mut zes_pci_bar_properties_t) -> ze_result_t;
                    [1 0] zesDevicePciGetStats pfnPciGetStats (hDevice: zes_device_handle_t,
                        pStats: *mut zes_pci_stats_t) -> ze_result_t;
                    [1 0] zesDeviceEnumDiagnosticTestSuites pfnEnumDiagnosticTestSuites (
                        hDevice: zes_device_handle_t, pCount: *mut u32,
                        phDiagnostics: *mut zes_diag_handle_t) -> ze_result_t;
                    [1 0] zesDeviceEnumEngineGroups pfnEnumEngineGroups (hDevice: zes_device_handle_t,
                        pCount: *mut u32, phEngine: *mut zes_engine_handle_t) -> ze_result_t;
                    [1 0] zesDeviceEventRegister pfnEventRegister (hDevice: zes_device_handle_t,
                        events: zes_event_type_flags_t) -> ze_result_t;
                    [1 0] zesDeviceEnumFabricPorts pfnEnumFabricPorts (hDevice: zes_device_handle_t,
                        pCount: *mut u32, phPort: *mut zes_fabric_port_handle_t) -> ze_result_t;
                    [1 0] zesDeviceEnumFans pfnEnumFans (hDevice: zes_device_handle_t, pCount: *mut u32,
                        phFan: *mut zes_fan_handle_t) -> ze_result_t;
                    [1 0] zesDeviceEnumFirmwares pfnEnumFirmwares (hDevice: zes_device_handle_t,
                        pCount: *mut u32, phFirmware: *mut zes_firmware_handle_t) -> ze_result_t;
                    [1 0] zesDeviceEnumFrequencyDomains pfnEnumFrequencyDomains (hDevice: zes_device_handle_t,
                        pCount: *mut u32, phFrequency: *mut zes_freq_handle_t) -> ze_result_t;
                    [1 0] zesDeviceEnumLeds pfnEnumLeds (hDevice: zes_device_handle_t, pCount: *mut u32,
                        phLed: *mut zes_led_handle_t) -> ze_result_t;
                    [1 0] zesDeviceEnumMemoryModules pfnEnumMemoryModules (hDevice: zes_device_handle_t,
                        pCount: *mut u32, phMemory: *mut zes_mem_handle_t) -> ze_result_t;
                    [1 0] zesDeviceEnumPerformanceFactorDomains pfnEnumPerformanceFactorDomains (
                        hDevice: zes_device_handle_t, pCount: *mut u32,
                        phPerf: *mut zes_perf_handle_t) -> ze_result_t;
                    [1 0] zesDeviceEnumPowerDomains pfnEnumPowerDomains (hDevice: zes_device_handle_t,
                        pCount: *mut u32, phPower: *mut zes_pwr_handle_t) -> ze_result_t;
                    [1 3] zesDeviceGetCardPowerDomain pfnGetCardPowerDomain (hDevice: zes_device_handle_t,
                        phPower: *mut zes_pwr_handle_t) -> ze_result_t;
                    [1 0] zesDeviceEnumPsus pfnEnumPsus (hDevice: zes_device_handle_t, pCount: *mut u32,
                        phPsu: *mut zes_psu_handle_t) -> ze_result_t;
                    [1 0] zesDeviceEnumRasErrorSets pfnEnumRasErrorSets (hDevice: zes_device_handle_t,
                        pCount: *mut u32, phRas: *mut zes_ras_handle_t) -> ze_result_t;
                    [1 0] zesDeviceEnumSchedulers pfnEnumSchedulers (hDevice: zes_device_handle_t,
                        pCount: *mut u32, phScheduler: *mut zes_sched_handle_t) -> ze_result_t;
                    [1 0] zesDeviceEnumStandbyDomains pfnEnumStandbyDomains (hDevice: zes_device_handle_t,
                        pCount: *mut u32, phStandby: *mut zes_standby_handle_t) -> ze_result_t;
                    [1 0] zesDeviceEnumTemperatureSensors pfnEnumTemperatureSensors (
                        hDevice: zes_device_handle_t, pCount: *mut u32,
                        phTemperature: *mut zes_temp_handle_t) -> ze_result_t;
                    [1 4] zesDeviceEccAvailable pfnEccAvailable (hDevice: zes_device_handle_t,
                        pAvailable: *mut ze_bool_t) -> ze_result_t;
                    [1 4] zesDeviceEccConfigurable pfnEccConfigurable (hDevice: zes_device_handle_t,
                        pConfigurable: *mut ze_bool_t) -> ze_result_t;
                    [1 4] zesDeviceGetEccState pfnGetEccState (hDevice: zes_device_handle_t,
                        pState: *mut zes_device_ecc_properties_t) -> ze_result_t;
                    [1 4] zesDeviceSetEccState pfnSetEccState (hDevice: zes_device_handle_t,
                        newState: *const zes_device_ecc_desc_t,
                        pState: *mut zes_device_ecc_properties_t) -> ze_result_t;
                    [1 5] zesDeviceGet pfnGet (hDriver: zes_driver_handle_t, pCount: *mut u32,
                        phDevices: *mut zes_device_handle_t) -> ze_result_t;
                    [1 5] zesDeviceSetOverclockWaiver pfnSetOverclockWaiver (
                        hDevice: zes_device_handle_t) -> ze_result_t;
                    [1 5] zesDeviceGetOverclockDomains pfnGetOverclockDomains (hDevice: zes_device_handle_t,
                        pOverclockDomains: *mut u32) -> ze_result_t;
                    [1 5] zesDeviceGetOverclockControls pfnGetOverclockControls (hDevice: zes_device_handle_t,
                        domainType: zes_overclock_domain_t, pAvailableControls: *mut u32) -> ze_result_t;
                    [1 5] zesDeviceResetOverclockSettings pfnResetOverclockSettings (
                        hDevice: zes_device_handle_t, onShippedState: ze_bool_t) -> ze_result_t;
                    [1 5] zesDeviceReadOverclockState pfnReadOverclockState (hDevice: zes_device_handle_t,
                        pOverclockMode: *mut zes_overclock_mode_t, pWaiverSetting: *mut ze_bool_t,
                        pOverclockState: *mut ze_bool_t, pPendingAction: *mut zes_pending_action_t,
                        pPendingReset: *mut ze_bool_t) -> ze_result_t;
                    [1 5] zesDeviceEnumOverclockDomains pfnEnumOverclockDomains (hDevice: zes_device_handle_t,
                        pCount: *mut u32, phDomainHandle: *mut zes_overclock_handle_t) -> ze_result_t;
                    [1 7] zesDeviceResetExt pfnResetExt (hDevice: zes_device_handle_t,
                        pProperties: *mut zes_reset_properties_t) -> ze_result_t;
                    [1 15] zesDevicePciLinkSpeedUpdateExt pfnPciLinkSpeedUpdateExt (
                        hDevice: zes_device_handle_t, shouldDowngrade: ze_bool_t,
                        pendingAction: *mut zes_device_action_t) -> ze_result_t;
                }
                DeviceExp zes_device_exp_dditable_t zesGetDeviceExpProcAddrTable {
                    [1 9] zesDeviceGetSubDevicePropertiesExp pfnGetSubDevicePropertiesExp (
                        hDevice: zes_device_handle_t, pCount: *mut u32,
                        pSubdeviceProps: *mut zes_subdevice_exp_properties_t) -> ze_result_t;
                    [1 9] zesDeviceEnumActiveVFExp pfnEnumActiveVFExp (hDevice: zes_device_handle_t,
                        pCount: *mut u32, phVFhandle: *mut zes_vf_handle_t) -> ze_result_t;
                    [1 10] zesDeviceEnumEnabledVFExp pfnEnumEnabledVFExp (hDevice: zes_device_handle_t,
                        pCount: *mut u32, phVFhandle: *mut zes_vf_handle_t) -> ze_result_t;
                }
                Driver zes_driver_dditable_t zesGetDriverProcAddrTable {
                    [1 0] zesDriverEventListen pfnEventListen (hDriver: ze_driver_handle_t, timeout: u32,
                        count: u32, phDevices: *mut zes_device_handle_t, pNumDeviceEvents: *mut u32,
                        pEvents: *mut zes_event_type_flags_t) -> ze_result_t;
                    [1 1] zesDriverEventListenEx pfnEventListenEx (hDriver: ze_driver_handle_t, timeout: u64,
                        count: u32, phDevices: *mut zes_device_handle_t, pNumDeviceEvents: *mut u32,
                        pEvents: *mut zes_event_type_flags_t) -> ze_result_t;
                    [1 5] zesDriverGet pfnGet (pCount: *mut u32,
                        phDrivers: *mut zes_driver_handle_t) -> ze_result_t;
                    [1 8] zesDriverGetExtensionProperties pfnGetExtensionProperties (
                        hDriver: zes_driver_handle_t, pCount: *mut u32,
                        pExtensionProperties: *mut zes_driver_extension_properties_t) -> ze_result_t;
                    [1 8] zesDriverGetExtensionFunctionAddress pfnGetExtensionFunctionAddress (
                        hDriver: zes_driver_handle_t, name: *const c_char,
                        ppFunctionAddress: *mut *mut c_void) -> ze_result_t;
                }
                DriverExp zes_driver_exp_dditable_t zesGetDriverExpProcAddrTable {
                    [1 9] zesDriverGetDeviceByUuidExp pfnGetDeviceByUuidExp (hDriver: zes_driver_handle_t,
                        uuid: zes_uuid_t, phDevice: *mut zes_device_handle_t, onSubdevice: *mut ze_bool_t,
                        subdeviceId: *mut u32) -> ze_result_t;
                }
                Overclock zes_overclock_dditable_t zesGetOverclockProcAddrTable {
                    [1 5] zesOverclockGetDomainProperties pfnGetDomainProperties (
                        hDomainHandle: zes_overclock_handle_t,
                        pDomainProperties: *mut zes_overclock_properties_t) -> ze_result_t;
                    [1 5] zesOverclockGetDomainVFProperties pfnGetDomainVFProperties (
                        hDomainHandle: zes_overclock_handle_t,
                        pVFProperties: *mut zes_vf_property_t) -> ze_result_t;
                    [1 5] zesOverclockGetDomainControlProperties pfnGetDomainControlProperties (
                        hDomainHandle: zes_overclock_handle_t, DomainControl: zes_overclock_control_t,
                        pControlProperties: *mut zes_control_property_t) -> ze_result_t;
                    [1 5] zesOverclockGetControlCurrentValue pfnGetControlCurrentValue (
                        hDomainHandle: zes_overclock_handle_t, DomainControl: zes_overclock_control_t,
                        pValue: *mut f64) -> ze_result_t;
                    [1 5] zesOverclockGetControlPendingValue pfnGetControlPendingValue (
                        hDomainHandle: zes_overclock_handle_t, DomainControl: zes_overclock_control_t,
                        pValue: *mut f64) -> ze_result_t;
                    [1 5] zesOverclockSetControlUserValue pfnSetControlUserValue (
                        hDomainHandle: zes_overclock_handle_t, DomainControl: zes_overclock_control_t,
                        pValue: f64, pPendingAction: *mut zes_pending_action_t) -> ze_result_t;
                    [1 5] zesOverclockGetControlState pfnGetControlState (
                        hDomainHandle: zes_overclock_handle_t, DomainControl: zes_overclock_control_t,
                        pControlState: *mut zes_control_state_t,
                        pPendingAction: *mut zes_pending_action_t) -> ze_result_t;
                    [1 5] zesOverclockGetVFPointValues pfnGetVFPointValues (
                        hDomainHandle: zes_overclock_handle_t, VFType: zes_vf_type_t,
                        VFArrayType: zes_vf_array_type_t, PointIndex: u32,
                        PointValue: *mut u32) -> ze_result_t;
                    [1 5] zesOverclockSetVFPointValues pfnSetVFPointValues (
                        hDomainHandle: zes_overclock_handle_t, VFType: zes_vf_type_t, PointIndex: u32,
                        PointValue: u32) -> ze_result_t;
                }
                Scheduler zes_scheduler_dditable_t zesGetSchedulerProcAddrTable {
                    [1 0] zesSchedulerGetProperties pfnGetProperties (hScheduler: zes_sched_handle_t,
                        pProperties: *mut zes_sched_properties_t) -> ze_result_t;
                    [1 0] zesSchedulerGetCurrentMode pfnGetCurrentMode (hScheduler: zes_sched_handle_t,
                        pMode: *mut zes_sched_mode_t) -> ze_result_t;
                    [1 0] zesSchedulerGetTimeoutModeProperties pfnGetTimeoutModeProperties (
                        hScheduler: zes_sched_handle_t, getDefaults: ze_bool_t,
                        pConfig: *mut zes_sched_timeout_properties_t) -> ze_result_t;
                    [1 0] zesSchedulerGetTimesliceModeProperties pfnGetTimesliceModeProperties (
                        hScheduler: zes_sched_handle_t, getDefaults: ze_bool_t,
                        pConfig: *mut zes_sched_timeslice_properties_t) -> ze_result_t;
                    [1 0] zesSchedulerSetTimeoutMode pfnSetTimeoutMode (hScheduler: zes_sched_handle_t,
                        pProperties: *mut zes_sched_timeout_properties_t,
                        pNeedReload: *mut ze_bool_t) -> ze_result_t;
                    [1 0] zesSchedulerSetTimesliceMode pfnSetTimesliceMode (hScheduler: zes_sched_handle_t,
                        pProperties: *mut zes_sched_timeslice_properties_t,
                        pNeedReload: *mut ze_bool_t) -> ze_result_t;
                    [1 0] zesSchedulerSetExclusiveMode pfnSetExclusiveMode (hScheduler: zes_sched_handle_t,
                        pNeedReload: *mut ze_bool_t) -> ze_result_t;
                    [1 0] zesSchedulerSetComputeUnitDebugMode pfnSetComputeUnitDebugMode (
                        hScheduler: zes_sched_handle_t, pNeedReload: *mut ze_bool_t) -> ze_result_t;
                }
                PerformanceFactor zes_performance_factor_dditable_t zesGetPerformanceFactorProcAddrTable {
                    [1 0] zesPerformanceFactorGetProperties pfnGetProperties (hPerf: zes_perf_handle_t,
                        pProperties: *mut zes_perf_properties_t) -> ze_result_t;
                    [1 0] zesPerformanceFactorGetConfig pfnGetConfig (hPerf: zes_perf_handle_t,
                        pFactor: *mut f64) -> ze_result_t;
                    [1 0] zesPerformanceFactorSetConfig pfnSetConfig (hPerf: zes_perf_handle_t,
                        factor: f64) -> ze_result_t;
                }
                Power zes_power_dditable_t zesGetPowerProcAddrTable {
                    [1 0] zesPowerGetProperties pfnGetProperties (hPower: zes_pwr_handle_t,
                        pProperties: *mut zes_power_properties_t) -> ze_result_t;
                    [1 0] zesPowerGetEnergyCounter pfnGetEnergyCounter (hPower: zes_pwr_handle_t,
                        pEnergy: *mut zes_power_energy_counter_t) -> ze_result_t;
                    [1 0] zesPowerGetLimits pfnGetLimits (hPower: zes_pwr_handle_t,
                        pSustained: *mut zes_power_sustained_limit_t, pBurst: *mut zes_power_burst_limit_t,
                        pPeak: *mut zes_power_peak_limit_t) -> ze_result_t;
                    [1 0] zesPowerSetLimits pfnSetLimits (hPower: zes_pwr_handle_t,
                        pSustained: *const zes_power_sustained_limit_t,
                        pBurst: *const zes_power_burst_limit_t,
                        pPeak: *const zes_power_peak_limit_t) -> ze_result_t;
                    [1 0] zesPowerGetEnergyThreshold pfnGetEnergyThreshold (hPower: zes_pwr_handle_t,
                        pThreshold: *mut zes_energy_threshold_t) -> ze_result_t;
                    [1 0] zesPowerSetEnergyThreshold pfnSetEnergyThreshold (hPower: zes_pwr_handle_t,
                        threshold: f64) -> ze_result_t;
                    [1 4] zesPowerGetLimitsExt pfnGetLimitsExt (hPower: zes_pwr_handle_t, pCount: *mut u32,
                        pSustained: *mut zes_power_limit_ext_desc_t) -> ze_result_t;
                    [1 4] zesPowerSetLimitsExt pfnSetLimitsExt (hPower: zes_pwr_handle_t, pCount: *mut u32,
                        pSustained: *mut zes_power_limit_ext_desc_t) -> ze_result_t;
                    [1 16] zesPowerGetUsage pfnGetUsage (hPower: zes_pwr_handle_t, pInstantPower: *mut u32,
                        pAveragePower: *mut u32) -> ze_result_t;
                    [1 16] zesPowerGetLimitsExt2 pfnGetLimitsExt2 (hPower: zes_pwr_handle_t,
                        pLimit: *mut u32) -> ze_result_t;
                    [1 16] zesPowerSetLimitsExt2 pfnSetLimitsExt2 (hPower: zes_pwr_handle_t,
                        limit: u32) -> ze_result_t;
                }
                Frequency zes_frequency_dditable_t zesGetFrequencyProcAddrTable {
                    [1 0] zesFrequencyGetProperties pfnGetProperties (hFrequency: zes_freq_handle_t,
                        pProperties: *mut zes_freq_properties_t) -> ze_result_t;
                    [1 0] zesFrequencyGetAvailableClocks pfnGetAvailableClocks (hFrequency: zes_freq_handle_t,
                        pCount: *mut u32, phFrequency: *mut f64) -> ze_result_t;
                    [1 0] zesFrequencyGetRange pfnGetRange (hFrequency: zes_freq_handle_t,
                        pLimits: *mut zes_freq_range_t) -> ze_result_t;
                    [1 0] zesFrequencySetRange pfnSetRange (hFrequency: zes_freq_handle_t,
                        pLimits: *const zes_freq_range_t) -> ze_result_t;
                    [1 0] zesFrequencyGetState pfnGetState (hFrequency: zes_freq_handle_t,
                        pState: *mut zes_freq_state_t) -> ze_result_t;
                    [1 0] zesFrequencyGetThrottleTime pfnGetThrottleTime (hFrequency: zes_freq_handle_t,
                        pThrottleTime: *mut zes_freq_throttle_time_t) -> ze_result_t;
                    [1 0] zesFrequencyOcGetCapabilities pfnOcGetCapabilities (hFrequency: zes_freq_handle_t,
                        pOcCapabilities: *mut zes_oc_capabilities_t) -> ze_result_t;
                    [1 0] zesFrequencyOcGetFrequencyTarget pfnOcGetFrequencyTarget (
                        hFrequency: zes_freq_handle_t, pCurrentOcFrequency: *mut f64) -> ze_result_t;
                    [1 0] zesFrequencyOcSetFrequencyTarget pfnOcSetFrequencyTarget (
                        hFrequency: zes_freq_handle_t, CurrentOcFrequency: f64) -> ze_result_t;
                    [1 0] zesFrequencyOcGetVoltageTarget pfnOcGetVoltageTarget (hFrequency: zes_freq_handle_t,
                        pCurrentVoltageTarget: *mut f64, pCurrentVoltageOffset: *mut f64) -> ze_result_t;
                    [1 0] zesFrequencyOcSetVoltageTarget pfnOcSetVoltageTarget (hFrequency: zes_freq_handle_t,
                        CurrentVoltageTarget: f64, CurrentVoltageOffset: f64) -> ze_result_t;
                    [1 0] zesFrequencyOcSetMode pfnOcSetMode (hFrequency: zes_freq_handle_t,
                        CurrentOcMode: zes_oc_mode_t) -> ze_result_t;
                    [1 0] zesFrequencyOcGetMode pfnOcGetMode (hFrequency: zes_freq_handle_t,
                        pCurrentOcMode: *mut zes_oc_mode_t) -> ze_result_t;
                    [1 0] zesFrequencyOcGetIccMax pfnOcGetIccMax (hFrequency: zes_freq_handle_t,
                        pOcIccMax: *mut f64) -> ze_result_t;
                    [1 0] zesFrequencyOcSetIccMax pfnOcSetIccMax (hFrequency: zes_freq_handle_t,
                        ocIccMax: f64) -> ze_result_t;
                    [1 0] zesFrequencyOcGetTjMax pfnOcGetTjMax (hFrequency: zes_freq_handle_t,
                        pOcTjMax: *mut f64) -> ze_result_t;
                    [1 0] zesFrequencyOcSetTjMax pfnOcSetTjMax (hFrequency: zes_freq_handle_t,
                        ocTjMax: f64) -> ze_result_t;
                }
                Engine zes_engine_dditable_t zesGetEngineProcAddrTable {
                    [1 0] zesEngineGetProperties pfnGetProperties (hEngine: zes_engine_handle_t,
                        pProperties: *mut zes_engine_properties_t) -> ze_result_t;
                    [1 0] zesEngineGetActivity pfnGetActivity (hEngine: zes_engine_handle_t,
                        pStats: *mut zes_engine_stats_t) -> ze_result_t;
                    [1 7] zesEngineGetActivityExt pfnGetActivityExt (hEngine: zes_engine_handle_t,
                        pCount: *mut u32, pStats: *mut zes_engine_stats_t) -> ze_result_t;
                }
                Standby zes_standby_dditable_t zesGetStandbyProcAddrTable {
                    [1 0] zesStandbyGetProperties pfnGetProperties (hStandby: zes_standby_handle_t,
                        pProperties: *mut zes_standby_properties_t) -> ze_result_t;
                    [1 0] zesStandbyGetMode pfnGetMode (hStandby: zes_standby_handle_t,
                        pMode: *mut zes_standby_promo_mode_t) -> ze_result_t;
                    [1 0] zesStandbySetMode pfnSetMode (hStandby: zes_standby_handle_t,
                        mode: zes_standby_promo_mode_t) -> ze_result_t;
                }
                Firmware zes_firmware_dditable_t zesGetFirmwareProcAddrTable {
                    [1 0] zesFirmwareGetProperties pfnGetProperties (hFirmware: zes_firmware_handle_t,
                        pProperties: *mut zes_firmware_properties_t) -> ze_result_t;
                    [1 0] zesFirmwareFlash pfnFlash (hFirmware: zes_firmware_handle_t, pImage: *mut c_void,
                        size: u32) -> ze_result_t;
                    [1 8] zesFirmwareGetFlashProgress pfnGetFlashProgress (hFirmware: zes_firmware_handle_t,
                        pCompletionPercent: *mut u32) -> ze_result_t;
                    [1 9] zesFirmwareGetConsoleLogs pfnGetConsoleLogs (hFirmware: zes_firmware_handle_t,
                        pSize: *mut usize, pFirmwareLog: *mut c_char) -> ze_result_t;
                }
                FirmwareExp zes_firmware_exp_dditable_t zesGetFirmwareExpProcAddrTable {
                    [1 9] zesFirmwareGetSecurityVersionExp pfnGetSecurityVersionExp (
                        hFirmware: zes_firmware_handle_t, pVersion: *mut c_char) -> ze_result_t;
                    [1 9] zesFirmwareSetSecurityVersionExp pfnSetSecurityVersionExp (
                        hFirmware: zes_firmware_handle_t) -> ze_result_t;
                }
                Memory zes_memory_dditable_t zesGetMemoryProcAddrTable {
                    [1 0] zesMemoryGetProperties pfnGetProperties (hMemory: zes_mem_handle_t,
                        pProperties: *mut zes_mem_properties_t) -> ze_result_t;
                    [1 0] zesMemoryGetState pfnGetState (hMemory: zes_mem_handle_t,
                        pState: *mut zes_mem_state_t) -> ze_result_t;
                    [1 0] zesMemoryGetBandwidth pfnGetBandwidth (hMemory: zes_mem_handle_t,
                        pBandwidth: *mut zes_mem_bandwidth_t) -> ze_result_t;
                }
                FabricPort zes_fabric_port_dditable_t zesGetFabricPortProcAddrTable {
                    [1 0] zesFabricPortGetProperties pfnGetProperties (hPort: zes_fabric_port_handle_t,
                        pProperties: *mut zes_fabric_port_properties_t) -> ze_result_t;
                    [1 0] zesFabricPortGetLinkType pfnGetLinkType (hPort: zes_fabric_port_handle_t,
                        pLinkType: *mut zes_fabric_link_type_t) -> ze_result_t;
                    [1 0] zesFabricPortGetConfig pfnGetConfig (hPort: zes_fabric_port_handle_t,
                        pConfig: *mut zes_fabric_port_config_t) -> ze_result_t;
                    [1 0] zesFabricPortSetConfig pfnSetConfig (hPort: zes_fabric_port_handle_t,
                        pConfig: *const zes_fabric_port_config_t) -> ze_result_t;
                    [1 0] zesFabricPortGetState pfnGetState (hPort: zes_fabric_port_handle_t,
                        pState: *mut zes_fabric_port_state_t) -> ze_result_t;
                    [1 0] zesFabricPortGetThroughput pfnGetThroughput (hPort: zes_fabric_port_handle_t,
                        pThroughput: *mut zes_fabric_port_throughput_t) -> ze_result_t;
                    [1 7] zesFabricPortGetFabricErrorCounters pfnGetFabricErrorCounters (
                        hPort: zes_fabric_port_handle_t,
                        pErrors: *mut zes_fabric_port_error_counters_t) -> ze_result_t;
                    [1 7] zesFabricPortGetMultiPortThroughput pfnGetMultiPortThroughput (
                        hDevice: zes_device_handle_t, numPorts: u32, phPort: *mut zes_fabric_port_handle_t,
                        pThroughput: *mut *mut zes_fabric_port_throughput_t) -> ze_result_t;
                }
                Temperature zes_temperature_dditable_t zesGetTemperatureProcAddrTable {
                    [1 0] zesTemperatureGetProperties pfnGetProperties (hTemperature: zes_temp_handle_t,
                        pProperties: *mut zes_temp_properties_t) -> ze_result_t;
                    [1 0] zesTemperatureGetConfig pfnGetConfig (hTemperature: zes_temp_handle_t,
                        pConfig: *mut zes_temp_config_t) -> ze_result_t;
                    [1 0] zesTemperatureSetConfig pfnSetConfig (hTemperature: zes_temp_handle_t,
                        pConfig: *const zes_temp_config_t) -> ze_result_t;
                    [1 0] zesTemperatureGetState pfnGetState (hTemperature: zes_temp_handle_t,
                        pTemperature: *mut f64) -> ze_result_t;
                }
                Psu zes_psu_dditable_t zesGetPsuProcAddrTable {
                    [1 0] zesPsuGetProperties pfnGetProperties (hPsu: zes_psu_handle_t,
                        pProperties: *mut zes_psu_properties_t) -> ze_result_t;
                    [1 0] zesPsuGetState pfnGetState (hPsu: zes_psu_handle_t,
                        pState: *mut zes_psu_state_t) -> ze_result_t;
                }
                Fan zes_fan_dditable_t zesGetFanProcAddrTable {
                    [1 0] zesFanGetProperties pfnGetProperties (hFan: zes_fan_handle_t,
                        pProperties: *mut zes_fan_properties_t) -> ze_result_t;
                    [1 0] zesFanGetConfig pfnGetConfig (hFan: zes_fan_handle_t,
                        pConfig: *mut zes_fan_config_t) -> ze_result_t;
                    [1 0] zesFanSetDefaultMode pfnSetDefaultMode (hFan: zes_fan_handle_t) -> ze_result_t;
                    [1 0] zesFanSetFixedSpeedMode pfnSetFixedSpeedMode (hFan: zes_fan_handle_t,
                        speed: *const zes_fan_speed_t) -> ze_result_t;
                    [1 0] zesFanSetSpeedTableMode pfnSetSpeedTableMode (hFan: zes_fan_handle_t,
                        speedTable: *const zes_fan_speed_table_t) -> ze_result_t;
                    [1 0] zesFanGetState pfnGetState (hFan: zes_fan_handle_t, units: zes_fan_speed_units_t,
                        pSpeed: *mut i32) -> ze_result_t;
                }
                Led zes_led_dditable_t zesGetLedProcAddrTable {
                    [1 0] zesLedGetProperties pfnGetProperties (hLed: zes_led_handle_t,
                        pProperties: *mut zes_led_properties_t) -> ze_result_t;
                    [1 0] zesLedGetState pfnGetState (hLed: zes_led_handle_t,
                        pState: *mut zes_led_state_t) -> ze_result_t;
                    [1 0] zesLedSetState pfnSetState (hLed: zes_led_handle_t,
                        enable: ze_bool_t) -> ze_result_t;
                    [1 0] zesLedSetColor pfnSetColor (hLed: zes_led_handle_t,
                        pColor: *const zes_led_color_t) -> ze_result_t;
                }
                Ras zes_ras_dditable_t zesGetRasProcAddrTable {
                    [1 0] zesRasGetProperties pfnGetProperties (hRas: zes_ras_handle_t,
                        pProperties: *mut zes_ras_properties_t) -> ze_result_t;
                    [1 0] zesRasGetConfig pfnGetConfig (hRas: zes_ras_handle_t,
                        pConfig: *mut zes_ras_config_t) -> ze_result_t;
                    [1 0] zesRasSetConfig pfnSetConfig (hRas: zes_ras_handle_t,
                        pConfig: *const zes_ras_config_t) -> ze_result_t;
                    [1 0] zesRasGetState pfnGetState (hRas: zes_ras_handle_t, clear: ze_bool_t,
                        pState: *mut zes_ras_state_t) -> ze_result_t;
                }
                RasExp zes_ras_exp_dditable_t zesGetRasExpProcAddrTable {
                    [1 8] zesRasGetStateExp pfnGetStateExp (hRas: zes_ras_handle_t, pCount: *mut u32,
                        pState: *mut zes_ras_state_exp_t) -> ze_result_t;
                    [1 8] zesRasClearStateExp pfnClearStateExp (hRas: zes_ras_handle_t,
                        category: zes_ras_error_category_exp_t) -> ze_result_t;
                    [1 16] zesRasGetSupportedCategoriesExp pfnGetSupportedCategoriesExp (
                        hRas: zes_ras_handle_t, pCount: *mut u32,
                        pCategories: *mut zes_ras_error_category_exp_t) -> ze_result_t;
                    [1 16] zesRasGetStateExp2 pfnGetStateExp2 (hRas: zes_ras_handle_t, count: u32,
                        pCategories: *const zes_ras_error_category_exp_t,
                        pState: *mut zes_ras_state_exp2_t) -> ze_result_t;
                    [1 16] zesRasGetConfigExp pfnGetConfigExp (hRas: zes_ras_handle_t, count: u32,
                        pConfig: *mut zes_ras_config_exp_t) -> ze_result_t;
                    [1 16] zesRasSetConfigExp pfnSetConfigExp (hRas: zes_ras_handle_t, count: u32,
                        pConfig: *const zes_ras_config_exp_t) -> ze_result_t;
                }
                Diagnostics zes_diagnostics_dditable_t zesGetDiagnosticsProcAddrTable {
                    [1 0] zesDiagnosticsGetProperties pfnGetProperties (hDiagnostics: zes_diag_handle_t,
                        pProperties: *mut zes_diag_properties_t) -> ze_result_t;
                    [1 0] zesDiagnosticsGetTests pfnGetTests (hDiagnostics: zes_diag_handle_t,
                        pCount: *mut u32, pTests: *mut zes_diag_test_t) -> ze_result_t;
                    [1 0] zesDiagnosticsRunTests pfnRunTests (hDiagnostics: zes_diag_handle_t,
                        startIndex: u32, endIndex: u32, pResult: *mut zes_diag_result_t) -> ze_result_t;
                }
                VFManagementExp zes_vf_management_exp_dditable_t zesGetVFManagementExpProcAddrTable {
                    [1 9] zesVFManagementGetVFPropertiesExp pfnGetVFPropertiesExp (hVFhandle: zes_vf_handle_t,
                        pProperties: *mut zes_vf_exp_properties_t) -> ze_result_t;
                    [1 9] zesVFManagementGetVFMemoryUtilizationExp pfnGetVFMemoryUtilizationExp (
                        hVFhandle: zes_vf_handle_t, pCount: *mut u32,
                        pMemUtil: *mut zes_vf_util_mem_exp_t) -> ze_result_t;
                    [1 9] zesVFManagementGetVFEngineUtilizationExp pfnGetVFEngineUtilizationExp (
                        hVFhandle: zes_vf_handle_t, pCount: *mut u32,
                        pEngineUtil: *mut zes_vf_util_engine_exp_t) -> ze_result_t;
                    [1 9] zesVFManagementSetVFTelemetryModeExp pfnSetVFTelemetryModeExp (
                        hVFhandle: zes_vf_handle_t, flags: zes_vf_info_util_exp_flags_t,
                        enable: ze_bool_t) -> ze_result_t;
                    [1 9] zesVFManagementSetVFTelemetrySamplingIntervalExp pfnSetVFTelemetrySamplingIntervalExp (
                        hVFhandle: zes_vf_handle_t, flag: zes_vf_info_util_exp_flags_t,
                        samplingInterval: u64) -> ze_result_t;
                    [1 10] zesVFManagementGetVFCapabilitiesExp pfnGetVFCapabilitiesExp (
                        hVFhandle: zes_vf_handle_t,
                        pCapability: *mut zes_vf_exp_capabilities_t) -> ze_result_t;
                    [1 10] zesVFManagementGetVFMemoryUtilizationExp2 pfnGetVFMemoryUtilizationExp2 (
                        hVFhandle: zes_vf_handle_t, pCount: *mut u32,
                        pMemUtil: *mut zes_vf_util_mem_exp2_t) -> ze_result_t;
                    [1 10] zesVFManagementGetVFEngineUtilizationExp2 pfnGetVFEngineUtilizationExp2 (
                        hVFhandle: zes_vf_handle_t, pCount: *mut u32,
                        pEngineUtil: *mut zes_vf_util_engine_exp2_t) -> ze_result_t;
                    [1 12] zesVFManagementGetVFCapabilitiesExp2 pfnGetVFCapabilitiesExp2 (
                        hVFhandle: zes_vf_handle_t,
                        pCapability: *mut zes_vf_exp2_capabilities_t) -> ze_result_t;
                }
            }
            zet zet_dditable_driver_t {
                MetricProgrammableExp zet_metric_programmable_exp_dditable_t zetGetMetricProgrammableExpProcAddrTable {
                    [1 9] zetMetricProgrammableGetExp pfnGetExp (hDevice: zet_device_handle_t,
                        pCount: *mut u32,
                        phMetricProgrammables: *mut zet_metric_programmable_exp_handle_t) -> ze_result_t;
                    [1 9] zetMetricProgrammableGetPropertiesExp pfnGetPropertiesExp (
                        hMetricProgrammable: zet_metric_programmable_exp_handle_t,
                        pProperties: *mut zet_metric_programmable_exp_properties_t) -> ze_result_t;
                    [1 9] zetMetricProgrammableGetParamInfoExp pfnGetParamInfoExp (
                        hMetricProgrammable: zet_metric_programmable_exp_handle_t, pParameterCount: *mut u32,
                        pParameterInfo: *mut zet_metric_programmable_param_info_exp_t) -> ze_result_t;
                    [1 9] zetMetricProgrammableGetParamValueInfoExp pfnGetParamValueInfoExp (
                        hMetricProgrammable: zet_metric_programmable_exp_handle_t, parameterOrdinal: u32,
                        pValueInfoCount: *mut u32,
                        pValueInfo: *mut zet_metric_programmable_param_value_info_exp_t) -> ze_result_t;
                }
                MetricTracerExp zet_metric_tracer_exp_dditable_t zetGetMetricTracerExpProcAddrTable {
                    [1 10] zetMetricTracerCreateExp pfnCreateExp (hContext: zet_context_handle_t,
                        hDevice: zet_device_handle_t, metricGroupCount: u32,
                        phMetricGroups: *mut zet_metric_group_handle_t,
                        desc: *mut zet_metric_tracer_exp_desc_t, hNotificationEvent: ze_event_handle_t,
                        phMetricTracer: *mut zet_metric_tracer_exp_handle_t) -> ze_result_t;
                    [1 10] zetMetricTracerDestroyExp pfnDestroyExp (
                        hMetricTracer: zet_metric_tracer_exp_handle_t) -> ze_result_t;
                    [1 10] zetMetricTracerEnableExp pfnEnableExp (
                        hMetricTracer: zet_metric_tracer_exp_handle_t, synchronous: ze_bool_t) -> ze_result_t;
                    [1 10] zetMetricTracerDisableExp pfnDisableExp (
                        hMetricTracer: zet_metric_tracer_exp_handle_t, synchronous: ze_bool_t) -> ze_result_t;
                    [1 10] zetMetricTracerReadDataExp pfnReadDataExp (
                        hMetricTracer: zet_metric_tracer_exp_handle_t, pRawDataSize: *mut usize,
                        pRawData: *mut u8) -> ze_result_t;
                    [1 10] zetMetricTracerDecodeExp pfnDecodeExp (
                        phMetricDecoder: zet_metric_decoder_exp_handle_t, pRawDataSize: *mut usize,
                        pRawData: *mut u8, metricsCount: u32, phMetrics: *mut zet_metric_handle_t,
                        pSetCount: *mut u32, pMetricEntriesCountPerSet: *mut u32,
                        pMetricEntriesCount: *mut u32,
                        pMetricEntries: *mut zet_metric_entry_exp_t) -> ze_result_t;
                }
                MetricDecoderExp zet_metric_decoder_exp_dditable_t zetGetMetricDecoderExpProcAddrTable {
                    [1 10] zetMetricDecoderCreateExp pfnCreateExp (
                        hMetricTracer: zet_metric_tracer_exp_handle_t,
                        phMetricDecoder: *mut zet_metric_decoder_exp_handle_t) -> ze_result_t;
                    [1 10] zetMetricDecoderDestroyExp pfnDestroyExp (
                        phMetricDecoder: zet_metric_decoder_exp_handle_t) -> ze_result_t;
                    [1 10] zetMetricDecoderGetDecodableMetricsExp pfnGetDecodableMetricsExp (
                        hMetricDecoder: zet_metric_decoder_exp_handle_t, pCount: *mut u32,
                        phMetrics: *mut zet_metric_handle_t) -> ze_result_t;
                }
                Device zet_device_dditable_t zetGetDeviceProcAddrTable {
                    [1 0] zetDeviceGetDebugProperties pfnGetDebugProperties (hDevice: zet_device_handle_t,
                        pDebugProperties: *mut zet_device_debug_properties_t) -> ze_result_t;
                }
                DeviceExp zet_device_exp_dditable_t zetGetDeviceExpProcAddrTable {
                    [1 10] zetDeviceGetConcurrentMetricGroupsExp pfnGetConcurrentMetricGroupsExp (
                        hDevice: zet_device_handle_t, metricGroupCount: u32,
                        phMetricGroups: *mut zet_metric_group_handle_t,
                        pMetricGroupsCountPerConcurrentGroup: *mut u32,
                        pConcurrentGroupCount: *mut u32) -> ze_result_t;
                    [1 10] zetDeviceCreateMetricGroupsFromMetricsExp pfnCreateMetricGroupsFromMetricsExp (
                        hDevice: zet_device_handle_t, metricCount: u32, phMetrics: *mut zet_metric_handle_t,
                        pMetricGroupNamePrefix: *const c_char, pDescription: *const c_char,
                        pMetricGroupCount: *mut u32,
                        phMetricGroup: *mut zet_metric_group_handle_t) -> ze_result_t;
                    [1 13] zetDeviceEnableMetricsExp pfnEnableMetricsExp (
                        hDevice: zet_device_handle_t) -> ze_result_t;
                    [1 13] zetDeviceDisableMetricsExp pfnDisableMetricsExp (
                        hDevice: zet_device_handle_t) -> ze_result_t;
                }
                Context zet_context_dditable_t zetGetContextProcAddrTable {
                    [1 0] zetContextActivateMetricGroups pfnActivateMetricGroups (
                        hContext: zet_context_handle_t, hDevice: zet_device_handle_t, count: u32,
                        phMetricGroups: *mut zet_metric_group_handle_t) -> ze_result_t;
                }
                CommandList zet_command_list_dditable_t zetGetCommandListProcAddrTable {
                    [1 0] zetCommandListAppendMetricStreamerMarker pfnAppendMetricStreamerMarker (
                        hCommandList: zet_command_list_handle_t,
                        hMetricStreamer: zet_metric_streamer_handle_t, value: u32) -> ze_result_t;
                    [1 0] zetCommandListAppendMetricQueryBegin pfnAppendMetricQueryBegin (
                        hCommandList: zet_command_list_handle_t,
                        hMetricQuery: zet_metric_query_handle_t) -> ze_result_t;
                    [1 0] zetCommandListAppendMetricQueryEnd pfnAppendMetricQueryEnd (
                        hCommandList: zet_command_list_handle_t, hMetricQuery: zet_metric_query_handle_t,
                        hSignalEvent: ze_event_handle_t, numWaitEvents: u32,
                        phWaitEvents: *mut ze_event_handle_t) -> ze_result_t;
                    [1 0] zetCommandListAppendMetricMemoryBarrier pfnAppendMetricMemoryBarrier (
                        hCommandList: zet_command_list_handle_t) -> ze_result_t;
                }
                CommandListExp zet_command_list_exp_dditable_t zetGetCommandListExpProcAddrTable {
                    [1 13] zetCommandListAppendMarkerExp pfnAppendMarkerExp (
                        hCommandList: zet_command_list_handle_t, hMetricGroup: zet_metric_group_handle_t,
                        value: u32) -> ze_result_t;
                }
                Module zet_module_dditable_t zetGetModuleProcAddrTable {
                    [1 0] zetModuleGetDebugInfo pfnGetDebugInfo (hModule: zet_module_handle_t,
                        format: zet_module_debug_info_format_t, pSize: *mut usize,
                        pDebugInfo: *mut u8) -> ze_result_t;
                }
                Kernel zet_kernel_dditable_t zetGetKernelProcAddrTable {
                    [1 0] zetKernelGetProfileInfo pfnGetProfileInfo (hKernel: zet_kernel_handle_t,
                        pProfileProperties: *mut zet_profile_properties_t) -> ze_result_t;
                }
                Metric zet_metric_dditable_t zetGetMetricProcAddrTable {
                    [1 0] zetMetricGet pfnGet (hMetricGroup: zet_metric_group_handle_t, pCount: *mut u32,
                        phMetrics: *mut zet_metric_handle_t) -> ze_result_t;
                    [1 0] zetMetricGetProperties pfnGetProperties (hMetric: zet_metric_handle_t,
                        pProperties: *mut zet_metric_properties_t) -> ze_result_t;
                }
                MetricExp zet_metric_exp_dditable_t zetGetMetricExpProcAddrTable {
                    [1 9] zetMetricCreateFromProgrammableExp pfnCreateFromProgrammableExp (
                        hMetricProgrammable: zet_metric_programmable_exp_handle_t,
                        pParameterValues: *mut zet_metric_programmable_param_value_exp_t, parameterCount: u32,
                        pName: *const c_char, pDescription: *const c_char, pMetricHandleCount: *mut u32,
                        phMetricHandles: *mut zet_metric_handle_t) -> ze_result_t;
                    [1 9] zetMetricDestroyExp pfnDestroyExp (hMetric: zet_metric_handle_t) -> ze_result_t;
                    [1 11] zetMetricCreateFromProgrammableExp2 pfnCreateFromProgrammableExp2 (
                        hMetricProgrammable: zet_metric_programmable_exp_handle_t, parameterCount: u32,
                        pParameterValues: *mut zet_metric_programmable_param_value_exp_t,
                        pName: *const c_char, pDescription: *const c_char, pMetricHandleCount: *mut u32,
                        phMetricHandles: *mut zet_metric_handle_t) -> ze_result_t;
                }
                MetricGroup zet_metric_group_dditable_t zetGetMetricGroupProcAddrTable {
                    [1 0] zetMetricGroupGet pfnGet (hDevice: zet_device_handle_t, pCount: *mut u32,
                        phMetricGroups: *mut zet_metric_group_handle_t) -> ze_result_t;
                    [1 0] zetMetricGroupGetProperties pfnGetProperties (
                        hMetricGroup: zet_metric_group_handle_t,
                        pProperties: *mut zet_metric_group_properties_t) -> ze_result_t;
                    [1 0] zetMetricGroupCalculateMetricValues pfnCalculateMetricValues (
                        hMetricGroup: zet_metric_group_handle_t, type_: zet_metric_group_calculation_type_t,
                        rawDataSize: usize, pRawData: *const u8, pMetricValueCount: *mut u32,
                        pMetricValues: *mut zet_typed_value_t) -> ze_result_t;
                }
                MetricGroupExp zet_metric_group_exp_dditable_t zetGetMetricGroupExpProcAddrTable {
                    [1 3] zetMetricGroupCalculateMultipleMetricValuesExp pfnCalculateMultipleMetricValuesExp (
                        hMetricGroup: zet_metric_group_handle_t, type_: zet_metric_group_calculation_type_t,
                        rawDataSize: usize, pRawData: *const u8, pSetCount: *mut u32,
                        pTotalMetricValueCount: *mut u32, pMetricCounts: *mut u32,
                        pMetricValues: *mut zet_typed_value_t) -> ze_result_t;
                    [1 6] zetMetricGroupGetGlobalTimestampsExp pfnGetGlobalTimestampsExp (
                        hMetricGroup: zet_metric_group_handle_t, synchronizedWithHost: ze_bool_t,
                        globalTimestamp: *mut u64, metricTimestamp: *mut u64) -> ze_result_t;
                    [1 7] zetMetricGroupGetExportDataExp pfnGetExportDataExp (
                        hMetricGroup: zet_metric_group_handle_t, pRawData: *const u8, rawDataSize: usize,
                        pExportDataSize: *mut usize, pExportData: *mut u8) -> ze_result_t;
                    [1 7] zetMetricGroupCalculateMetricExportDataExp pfnCalculateMetricExportDataExp (
                        hDriver: ze_driver_handle_t, type_: zet_metric_group_calculation_type_t,
                        exportDataSize: usize, pExportData: *const u8,
                        pCalculateDescriptor: *mut zet_metric_calculate_exp_desc_t, pSetCount: *mut u32,
                        pTotalMetricValueCount: *mut u32, pMetricCounts: *mut u32,
                        pMetricValues: *mut zet_typed_value_t) -> ze_result_t;
                    [1 9] zetMetricGroupCreateExp pfnCreateExp (hDevice: zet_device_handle_t,
                        pName: *const c_char, pDescription: *const c_char,
                        samplingType: zet_metric_group_sampling_type_flags_t,
                        phMetricGroup: *mut zet_metric_group_handle_t) -> ze_result_t;
                    [1 9] zetMetricGroupAddMetricExp pfnAddMetricExp (hMetricGroup: zet_metric_group_handle_t,
                        hMetric: zet_metric_handle_t, pErrorStringSize: *mut usize,
                        pErrorString: *mut c_char) -> ze_result_t;
                    [1 9] zetMetricGroupRemoveMetricExp pfnRemoveMetricExp (
                        hMetricGroup: zet_metric_group_handle_t, hMetric: zet_metric_handle_t) -> ze_result_t;
                    [1 9] zetMetricGroupCloseExp pfnCloseExp (
                        hMetricGroup: zet_metric_group_handle_t) -> ze_result_t;
                    [1 9] zetMetricGroupDestroyExp pfnDestroyExp (
                        hMetricGroup: zet_metric_group_handle_t) -> ze_result_t;
                }
                MetricStreamer zet_metric_streamer_dditable_t zetGetMetricStreamerProcAddrTable {
                    [1 0] zetMetricStreamerOpen pfnOpen (hContext: zet_context_handle_t,
                        hDevice: zet_device_handle_t, hMetricGroup: zet_metric_group_handle_t,
                        desc: *mut zet_metric_streamer_desc_t, hNotificationEvent: ze_event_handle_t,
                        phMetricStreamer: *mut zet_metric_streamer_handle_t) -> ze_result_t;
                    [1 0] zetMetricStreamerClose pfnClose (
                        hMetricStreamer: zet_metric_streamer_handle_t) -> ze_result_t;
                    [1 0] zetMetricStreamerReadData pfnReadData (
                        hMetricStreamer: zet_metric_streamer_handle_t, maxReportCount: u32,
                        pRawDataSize: *mut usize, pRawData: *mut u8) -> ze_result_t;
                }
                MetricQueryPool zet_metric_query_pool_dditable_t zetGetMetricQueryPoolProcAddrTable {
                    [1 0] zetMetricQueryPoolCreate pfnCreate (hContext: zet_context_handle_t,
                        hDevice: zet_device_handle_t, hMetricGroup: zet_metric_group_handle_t,
                        desc: *const zet_metric_query_pool_desc_t,
                        phMetricQueryPool: *mut zet_metric_query_pool_handle_t) -> ze_result_t;
                    [1 0] zetMetricQueryPoolDestroy pfnDestroy (
                        hMetricQueryPool: zet_metric_query_pool_handle_t) -> ze_result_t;
                }
                MetricQuery zet_metric_query_dditable_t zetGetMetricQueryProcAddrTable {
                    [1 0] zetMetricQueryCreate pfnCreate (hMetricQueryPool: zet_metric_query_pool_handle_t,
                        index: u32, phMetricQuery: *mut zet_metric_query_handle_t) -> ze_result_t;
                    [1 0] zetMetricQueryDestroy pfnDestroy (
                        hMetricQuery: zet_metric_query_handle_t) -> ze_result_t;
                    [1 0] zetMetricQueryReset pfnReset (
                        hMetricQuery: zet_metric_query_handle_t) -> ze_result_t;
                    [1 0] zetMetricQueryGetData pfnGetData (hMetricQuery: zet_metric_query_handle_t,
                        pRawDataSize: *mut usize, pRawData: *mut u8) -> ze_result_t;
                }
                TracerExp zet_tracer_exp_dditable_t zetGetTracerExpProcAddrTable {
                    [1 0] zetTracerExpCreate pfnCreate (hContext: zet_context_handle_t,
                        desc: *const zet_tracer_exp_desc_t,
                        phTracer: *mut zet_tracer_exp_handle_t) -> ze_result_t;
                    [1 0] zetTracerExpDestroy pfnDestroy (hTracer: zet_tracer_exp_handle_t) -> ze_result_t;
                    [1 0] zetTracerExpSetPrologues pfnSetPrologues (hTracer: zet_tracer_exp_handle_t,
                        pCoreCbs: *mut zet_core_callbacks_t) -> ze_result_t;
                    [1 0] zetTracerExpSetEpilogues pfnSetEpilogues (hTracer: zet_tracer_exp_handle_t,
                        pCoreCbs: *mut zet_core_callbacks_t) -> ze_result_t;
                    [1 0] zetTracerExpSetEnabled pfnSetEnabled (hTracer: zet_tracer_exp_handle_t,
                        enable: ze_bool_t) -> ze_result_t;
                }
                Debug zet_debug_dditable_t zetGetDebugProcAddrTable {
                    [1 0] zetDebugAttach pfnAttach (hDevice: zet_device_handle_t,
                        config: *const zet_debug_config_t,
                        phDebug: *mut zet_debug_session_handle_t) -> ze_result_t;
                    [1 0] zetDebugDetach pfnDetach (hDebug: zet_debug_session_handle_t) -> ze_result_t;
                    [1 0] zetDebugReadEvent pfnReadEvent (hDebug: zet_debug_session_handle_t, timeout: u64,
                        event: *mut zet_debug_event_t) -> ze_result_t;
                    [1 0] zetDebugAcknowledgeEvent pfnAcknowledgeEvent (hDebug: zet_debug_session_handle_t,
                        event: *const zet_debug_event_t) -> ze_result_t;
                    [1 0] zetDebugInterrupt pfnInterrupt (hDebug: zet_debug_session_handle_t,
                        thread: ze_device_thread_t) -> ze_result_t;
                    [1 0] zetDebugResume pfnResume (hDebug: zet_debug_session_handle_t,
                        thread: ze_device_thread_t) -> ze_result_t;
                    [1 0] zetDebugReadMemory pfnReadMemory (hDebug: zet_debug_session_handle_t,
                        thread: ze_device_thread_t, desc: *const zet_debug_memory_space_desc_t, size: usize,
                        buffer: *mut c_void) -> ze_result_t;
                    [1 0] zetDebugWriteMemory pfnWriteMemory (hDebug: zet_debug_session_handle_t,
                        thread: ze_device_thread_t, desc: *const zet_debug_memory_space_desc_t, size: usize,
                        buffer: *const c_void) -> ze_result_t;
                    [1 0] zetDebugGetRegisterSetProperties pfnGetRegisterSetProperties (
                        hDevice: zet_device_handle_t, pCount: *mut u32,
                        pRegisterSetProperties: *mut zet_debug_regset_properties_t) -> ze_result_t;
                    [1 0] zetDebugReadRegisters pfnReadRegisters (hDebug: zet_debug_session_handle_t,
                        thread: ze_device_thread_t, type_: u32, start: u32, count: u32,
                        pRegisterValues: *mut c_void) -> ze_result_t;
                    [1 0] zetDebugWriteRegisters pfnWriteRegisters (hDebug: zet_debug_session_handle_t,
                        thread: ze_device_thread_t, type_: u32, start: u32, count: u32,
                        pRegisterValues: *mut c_void) -> ze_result_t;
                    [1 5] zetDebugGetThreadRegisterSetProperties pfnGetThreadRegisterSetProperties (
                        hDebug: zet_debug_session_handle_t, thread: ze_device_thread_t, pCount: *mut u32,
                        pRegisterSetProperties: *mut zet_debug_regset_properties_t) -> ze_result_t;
                }
            }
            zer zer_dditable_driver_t {
                Global zer_global_dditable_t zerGetGlobalProcAddrTable {
                    [1 14] zerGetLastErrorDescription pfnGetLastErrorDescription (
                        ppString: *mut *const c_char) -> ze_result_t;
                    [1 14] zerTranslateDeviceHandleToIdentifier pfnTranslateDeviceHandleToIdentifier (
                        hDevice: ze_device_handle_t) -> u32;
                    [1 14] zerTranslateIdentifierToDeviceHandle pfnTranslateIdentifierToDeviceHandle (
                        identifier: u32) -> ze_device_handle_t;
                    [1 14] zerGetDefaultContext pfnGetDefaultContext () -> ze_context_handle_t;
                }
            }
        }
    };
}
