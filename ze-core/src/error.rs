//! Every failure of the driver: one enum, whose text is the reason that a program can ask for, and its `ze_result_t`.

use crate::fault;
use thiserror::Error;
use ze_engine::exec::failure::Reason;
use ze_headers::*;

pub type Result<T> = std::result::Result<T, Error>;

/// Why a call did not succeed. [`Error::code`] is what the C function returns.
#[derive(Debug, Error)]
pub enum Error {
    /// Not a failure: what is waited for or asked about has not happened yet.
    #[error("not ready")]
    NotReady,
    /// Not a failure either: what a query that has no other way to answer says.
    #[error("the answer is {0}")]
    Answer(bool),
    #[error("the driver is not initialised: call zeInit or zeInitDrivers first")]
    Uninitialized,
    #[error("system management is not initialised: call zesInit, or set ZES_ENABLE_SYSMAN=1 before zeInit")]
    SysmanUninitialized,
    #[error("handle {0} is null")]
    NullHandle(&'static str),
    #[error("pointer {0} is null")]
    NullPointer(&'static str),
    #[error("handle {handle:#x} is not a live {expected}: {found}")]
    InvalidHandle { handle: usize, expected: &'static str, found: &'static str },
    #[error("{0}")]
    InvalidArgument(String),
    #[error("{0:#x} is in no allocation of this driver")]
    AddressNotFound(usize),
    #[error("{what} has the invalid value {value:#x}")]
    InvalidEnumeration { what: &'static str, value: u64 },
    #[error("{what} has the value {value:#x}, which the CPU driver does not support")]
    UnsupportedEnumeration { what: &'static str, value: u64 },
    #[error("{0}")]
    InvalidSize(String),
    #[error("{0}")]
    UnsupportedSize(String),
    #[error("alignment {0} is not zero or a power of two within the supported range")]
    UnsupportedAlignment(usize),
    #[error("{0} is not supported by the CPU driver")]
    UnsupportedFeature(&'static str),
    #[error("{0}")]
    UnsupportedImageFormat(String),
    #[error("{0}")]
    NotAvailable(String),
    #[error("{0}")]
    DependencyUnavailable(&'static str),
    /// Not a failure: there is an answer, but what it should have had is not there any more.
    #[error("{0}")]
    DroppedData(&'static str),
    #[error("{0}")]
    InsufficientPermissions(&'static str),
    #[error("{0}")]
    InvalidSynchronizationObject(&'static str),
    #[error("{0}")]
    InvalidCommandListType(&'static str),
    #[error("the command list is in no graph capture")]
    NotCapturing,
    #[error("{0} while a graph is captured")]
    GraphUnsupported(&'static str),
    #[error("the command waits for an event of another graph capture")]
    GraphMerge,
    #[error("{0}")]
    GraphInternalEvent(&'static str),
    #[error("a fork of the graph capture was not joined, or work came behind its join")]
    GraphUnjoined,
    #[error("{0}")]
    InvalidGraph(&'static str),
    #[error("source and destination regions overlap")]
    OverlappingRegions,
    #[error("module build failed:\n{0}")]
    ModuleBuild(String),
    #[error("module link failed:\n{0}")]
    ModuleLink(String),
    #[error("{0}")]
    InvalidNativeBinary(String),
    #[error("the module imports symbols that no linked module defines: {0}")]
    ModuleUnlinked(String),
    #[error("the module has no kernel named '{0}'")]
    InvalidKernelName(String),
    #[error("{0}")]
    InvalidKernelHandle(&'static str),
    #[error("the module has no global variable named '{0}'")]
    InvalidGlobalName(String),
    #[error("the module has no function named '{0}' whose address can be had")]
    InvalidFunctionName(String),
    #[error("{0}")]
    InvalidGroupSize(String),
    #[error("{0}")]
    InvalidGlobalWidth(String),
    #[error("{0}")]
    InvalidKernelArgumentIndex(String),
    #[error("{0}")]
    InvalidKernelArgumentSize(String),
    #[error("{0}")]
    OutOfHostMemory(String),
    #[error("{0}")]
    OutOfDeviceMemory(String),
    #[error("{0}")]
    ObjectInUse(&'static str),
    /// A command failed while the device executed it.
    #[error("{0}")]
    DeviceLost(String),
    #[error("{0}")]
    Unknown(String),
}

impl Error {
    /// The result code of the C API.
    pub fn code(&self) -> ze_result_t {
        use Error::*;
        match self {
            NotReady => ZE_RESULT_NOT_READY,
            Uninitialized | SysmanUninitialized => ZE_RESULT_ERROR_UNINITIALIZED,
            NullHandle(_) => ZE_RESULT_ERROR_INVALID_NULL_HANDLE,
            NullPointer(_) => ZE_RESULT_ERROR_INVALID_NULL_POINTER,
            InvalidHandle { .. } | InvalidArgument(_) => ZE_RESULT_ERROR_INVALID_ARGUMENT,
            AddressNotFound(_) => ZE_RESULT_ERROR_ADDRESS_NOT_FOUND,
            InvalidEnumeration { .. } => ZE_RESULT_ERROR_INVALID_ENUMERATION,
            UnsupportedEnumeration { .. } => ZE_RESULT_ERROR_UNSUPPORTED_ENUMERATION,
            InvalidSize(_) => ZE_RESULT_ERROR_INVALID_SIZE,
            UnsupportedSize(_) => ZE_RESULT_ERROR_UNSUPPORTED_SIZE,
            UnsupportedAlignment(_) => ZE_RESULT_ERROR_UNSUPPORTED_ALIGNMENT,
            UnsupportedFeature(_) => ZE_RESULT_ERROR_UNSUPPORTED_FEATURE,
            UnsupportedImageFormat(_) => ZE_RESULT_ERROR_UNSUPPORTED_IMAGE_FORMAT,
            NotAvailable(_) => ZE_RESULT_ERROR_NOT_AVAILABLE,
            DependencyUnavailable(_) => ZE_RESULT_ERROR_DEPENDENCY_UNAVAILABLE,
            DroppedData(_) => ZE_RESULT_WARNING_DROPPED_DATA,
            InsufficientPermissions(_) => ZE_RESULT_ERROR_INSUFFICIENT_PERMISSIONS,
            InvalidSynchronizationObject(_) => ZE_RESULT_ERROR_INVALID_SYNCHRONIZATION_OBJECT,
            InvalidCommandListType(_) => ZE_RESULT_ERROR_INVALID_COMMAND_LIST_TYPE,
            Answer(true) => ZE_RESULT_QUERY_TRUE,
            Answer(false) => ZE_RESULT_QUERY_FALSE,
            NotCapturing => ZE_RESULT_ERROR_COMMAND_LIST_NOT_CAPTURING,
            GraphUnsupported(_) => ZE_RESULT_ERROR_GRAPH_CAPTURE_UNSUPPORTED,
            GraphMerge => ZE_RESULT_ERROR_GRAPH_CAPTURE_MERGE_ATTEMPT,
            GraphInternalEvent(_) => ZE_RESULT_ERROR_GRAPH_INTERNAL_EVENT,
            GraphUnjoined => ZE_RESULT_ERROR_GRAPH_UNJOINED_FORKS,
            InvalidGraph(_) => ZE_RESULT_ERROR_INVALID_GRAPH,
            OverlappingRegions => ZE_RESULT_ERROR_OVERLAPPING_REGIONS,
            ModuleBuild(_) => ZE_RESULT_ERROR_MODULE_BUILD_FAILURE,
            ModuleLink(_) => ZE_RESULT_ERROR_MODULE_LINK_FAILURE,
            InvalidNativeBinary(_) => ZE_RESULT_ERROR_INVALID_NATIVE_BINARY,
            ModuleUnlinked(_) => ZE_RESULT_ERROR_INVALID_MODULE_UNLINKED,
            InvalidKernelName(_) => ZE_RESULT_ERROR_INVALID_KERNEL_NAME,
            InvalidKernelHandle(_) => ZE_RESULT_ERROR_INVALID_KERNEL_HANDLE,
            InvalidGlobalName(_) => ZE_RESULT_ERROR_INVALID_GLOBAL_NAME,
            InvalidFunctionName(_) => ZE_RESULT_ERROR_INVALID_FUNCTION_NAME,
            InvalidGroupSize(_) => ZE_RESULT_ERROR_INVALID_GROUP_SIZE_DIMENSION,
            InvalidGlobalWidth(_) => ZE_RESULT_ERROR_INVALID_GLOBAL_WIDTH_DIMENSION,
            InvalidKernelArgumentIndex(_) => ZE_RESULT_ERROR_INVALID_KERNEL_ARGUMENT_INDEX,
            InvalidKernelArgumentSize(_) => ZE_RESULT_ERROR_INVALID_KERNEL_ARGUMENT_SIZE,
            OutOfHostMemory(_) => ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY,
            OutOfDeviceMemory(_) => ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY,
            ObjectInUse(_) => ZE_RESULT_ERROR_HANDLE_OBJECT_IN_USE,
            DeviceLost(_) => ZE_RESULT_ERROR_DEVICE_LOST,
            Unknown(_) => ZE_RESULT_ERROR_UNKNOWN,
        }
    }
}

impl From<ze_engine::EngineError> for Error {
    fn from(error: ze_engine::EngineError) -> Self {
        use ze_engine::{EngineError, LaunchFault};
        let reason = error.to_string();
        match error {
            EngineError::Unresolved { .. } => Error::ModuleUnlinked(reason),
            EngineError::OutOfMemory { .. } => Error::OutOfDeviceMemory(reason),
            EngineError::Failed { reason: Reason::Fault(of), .. } => {
                Error::DeviceLost(reason + &fault::nearby(of))
            }
            EngineError::Failed { .. } => Error::DeviceLost(reason),
            EngineError::OutOfHostMemory { .. } => Error::OutOfHostMemory(reason),
            EngineError::InvalidLaunch { fault, .. } => match fault {
                LaunchFault::GroupSize(_) | LaunchFault::InFlight(_) => Error::InvalidGroupSize(reason),
                LaunchFault::GroupCount(_) => Error::InvalidGlobalWidth(reason),
                LaunchFault::ArgumentIndex { .. } => Error::InvalidKernelArgumentIndex(reason),
                LaunchFault::ArgumentSize { .. } => Error::InvalidKernelArgumentSize(reason),
                LaunchFault::ArgumentValue { .. } => Error::InvalidArgument(reason),
                LaunchFault::LocalMemory { .. } => Error::OutOfDeviceMemory(reason),
            },
            _ => Error::ModuleBuild(reason),
        }
    }
}
