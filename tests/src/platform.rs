//! The driver, device and context that tests share, and the error that their calls return.

use std::cell::Cell;
use std::ffi::CStr;
use std::fmt;
use std::ptr;
use std::sync::LazyLock;

use ze_headers::*;

use crate::loader::Api;

/// A failed call.
#[derive(Clone)]
pub struct Error {
    /// What the function returned.
    pub code: ze_result_t,
    /// The function.
    pub function: &'static str,
    /// The driver's last error description, or a module's build log.
    pub reason: String,
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} returned {}: {}", self.function, result_name(self.code), self.reason)
    }
}

pub type Result<T> = std::result::Result<T, Error>;

/// The names of the results that tests meet, for messages.
pub fn result_name(code: ze_result_t) -> String {
    macro_rules! names {
        ($($name:ident)*) => {
            match code {
                $($name => stringify!($name).to_owned(),)*
                other => format!("ze_result_t {:#x}", other.0),
            }
        };
    }
    names! {
        ZE_RESULT_SUCCESS ZE_RESULT_NOT_READY ZE_RESULT_ERROR_DEVICE_LOST ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY
        ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY ZE_RESULT_ERROR_MODULE_BUILD_FAILURE
        ZE_RESULT_ERROR_MODULE_LINK_FAILURE ZE_RESULT_ERROR_UNINITIALIZED ZE_RESULT_ERROR_UNSUPPORTED_VERSION
        ZE_RESULT_ERROR_UNSUPPORTED_FEATURE ZE_RESULT_ERROR_INVALID_ARGUMENT ZE_RESULT_ERROR_INVALID_NULL_HANDLE
        ZE_RESULT_ERROR_HANDLE_OBJECT_IN_USE ZE_RESULT_ERROR_INVALID_NULL_POINTER ZE_RESULT_ERROR_INVALID_SIZE
        ZE_RESULT_ERROR_UNSUPPORTED_SIZE ZE_RESULT_ERROR_UNSUPPORTED_ALIGNMENT
        ZE_RESULT_ERROR_INVALID_SYNCHRONIZATION_OBJECT ZE_RESULT_ERROR_INVALID_ENUMERATION
        ZE_RESULT_ERROR_UNSUPPORTED_ENUMERATION ZE_RESULT_ERROR_UNSUPPORTED_IMAGE_FORMAT
        ZE_RESULT_ERROR_INVALID_NATIVE_BINARY ZE_RESULT_ERROR_INVALID_GLOBAL_NAME
        ZE_RESULT_ERROR_INVALID_KERNEL_NAME ZE_RESULT_ERROR_INVALID_FUNCTION_NAME
        ZE_RESULT_ERROR_INVALID_GROUP_SIZE_DIMENSION ZE_RESULT_ERROR_INVALID_GLOBAL_WIDTH_DIMENSION
        ZE_RESULT_ERROR_INVALID_KERNEL_ARGUMENT_INDEX ZE_RESULT_ERROR_INVALID_KERNEL_ARGUMENT_SIZE
        ZE_RESULT_ERROR_INVALID_KERNEL_ATTRIBUTE_VALUE ZE_RESULT_ERROR_INVALID_MODULE_UNLINKED
        ZE_RESULT_ERROR_INVALID_COMMAND_LIST_TYPE ZE_RESULT_ERROR_OVERLAPPING_REGIONS ZE_RESULT_ERROR_UNKNOWN
        ZE_RESULT_QUERY_TRUE ZE_RESULT_QUERY_FALSE ZE_RESULT_ERROR_INVALID_GRAPH
        ZE_RESULT_ERROR_GRAPH_CAPTURE_UNSUPPORTED ZE_RESULT_ERROR_GRAPH_CAPTURE_MERGE_ATTEMPT
        ZE_RESULT_ERROR_COMMAND_LIST_NOT_CAPTURING ZE_RESULT_ERROR_GRAPH_UNJOINED_FORKS
        ZE_RESULT_ERROR_GRAPH_INTERNAL_EVENT
    }
}

/// One initialised driver with its first device and a context on it.
pub struct Platform {
    pub api: Api,
    pub driver: ze_driver_handle_t,
    pub device: ze_device_handle_t,
    pub context: ze_context_handle_t,
}

// SAFETY: the handles are the driver's objects, which the API allows every thread to use.
unsafe impl Send for Platform {}
// SAFETY: as above.
unsafe impl Sync for Platform {}

thread_local! {
    static CURRENT: Cell<Option<&'static Platform>> = const { Cell::new(None) };
}

/// The platform that all tests of a process share, or the one that [`on`] put in its place on this thread.
pub fn platform() -> &'static Platform {
    static PLATFORM: LazyLock<Platform> = LazyLock::new(|| {
        let api = Api::open_loader().expect("the Level Zero loader opens");
        Platform::initialise(api).expect("the driver initialises")
    });
    CURRENT.get().unwrap_or_else(|| &PLATFORM)
}

/// Does something with another platform as this thread's.
pub fn on<R>(platform: &'static Platform, work: impl FnOnce() -> R) -> R {
    struct Back(Option<&'static Platform>);
    impl Drop for Back {
        fn drop(&mut self) {
            CURRENT.set(self.0);
        }
    }
    let _back = Back(CURRENT.replace(Some(platform)));
    work()
}

impl Platform {
    /// Initialises the API and takes the driver under test, the first whose device is there.
    pub fn initialise(api: Api) -> Result<Platform> {
        // SAFETY: plain values in and out.
        unsafe {
            let no_reason = |function, code| bare(function, code);
            no_reason("zeInit", api.zeInit(0))?;
            let drivers = listed(ptr::null_mut(), |count, drivers| api.zeDriverGet(count, drivers))
                .map_err(|code| Error { code, function: "zeDriverGet", reason: String::new() })?;
            let (driver, device) = drivers
                .iter()
                .find_map(|&driver| Some((driver, devices(&api, driver).into_iter().next()?)))
                .ok_or_else(|| Error {
                    code: ZE_RESULT_ERROR_UNINITIALIZED,
                    function: "zeDeviceGet",
                    reason: "no driver has a device".to_owned(),
                })?;
            let desc = ze_context_desc_t { stype: ZE_STRUCTURE_TYPE_CONTEXT_DESC, ..Default::default() };
            let mut context = ptr::null_mut();
            no_reason("zeContextCreate", api.zeContextCreate(driver, &desc, &mut context))?;
            Ok(Platform { api, driver, device, context })
        }
    }

    /// The same with another device.
    pub fn with_device(&self, device: ze_device_handle_t) -> Platform {
        Platform { api: self.api, driver: self.driver, device, context: self.context }
    }

    /// The devices that the driver lists.
    pub fn devices(&self) -> Vec<ze_device_handle_t> {
        devices(&self.api, self.driver)
    }

    /// The sub-devices of the platform's device.
    pub fn sub_devices(&self) -> Vec<ze_device_handle_t> {
        // SAFETY: a live device, and room for as many handles as are asked for.
        self.listed("zeDeviceGetSubDevices", ptr::null_mut(), |count, devices| unsafe {
            self.api.zeDeviceGetSubDevices(self.device, count, devices)
        })
        .expect("a live device")
    }

    /// What a function lists, with the driver's description of an error.
    pub fn listed<T: Clone>(
        &self,
        function: &'static str,
        blank: T,
        ask: impl FnMut(*mut u32, *mut T) -> ze_result_t,
    ) -> Result<Vec<T>> {
        listed(blank, ask).map_err(|code| Error { code, function, reason: self.last_error() })
    }

    /// Makes a result of a returned code, with the driver's description of the error.
    pub fn check(&self, function: &'static str, code: ze_result_t) -> Result<()> {
        match code {
            ZE_RESULT_SUCCESS => Ok(()),
            code => Err(Error { code, function, reason: self.last_error() }),
        }
    }

    /// The driver's last error description on this thread; empty where there is none.
    pub fn last_error(&self) -> String {
        if !self.api.has("zeDriverGetLastErrorDescription") {
            return String::new();
        }
        let mut text = ptr::null();
        // SAFETY: the driver's string lives until this thread's next call.
        unsafe {
            match self.api.zeDriverGetLastErrorDescription(self.driver, &mut text) {
                ZE_RESULT_SUCCESS if !text.is_null() => CStr::from_ptr(text).to_string_lossy().into_owned(),
                _ => String::new(),
            }
        }
    }

    /// The extensions that the driver lists: names and versions.
    pub fn extensions(&self) -> Result<Vec<(String, u32)>> {
        let blank = ze_driver_extension_properties_t::default();
        // SAFETY: a live driver, and room for as many structures as are asked for.
        let extensions =
            self.listed("zeDriverGetExtensionProperties", blank, |count, extensions| unsafe {
                self.api.zeDriverGetExtensionProperties(self.driver, count, extensions)
            })?;
        Ok(extensions.iter().map(|extension| (text(&extension.name), extension.version)).collect())
    }

    pub fn device_properties(&self) -> Result<ze_device_properties_t> {
        let mut properties =
            ze_device_properties_t { stype: ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES, ..Default::default() };
        // SAFETY: a live device and a structure of the announced type.
        let code = unsafe { self.api.zeDeviceGetProperties(self.device, &mut properties) };
        self.check("zeDeviceGetProperties", code).map(|()| properties)
    }

    pub fn device_name(&self) -> Result<String> {
        Ok(text(&self.device_properties()?.name))
    }

    pub fn compute_properties(&self) -> Result<ze_device_compute_properties_t> {
        let mut properties = ze_device_compute_properties_t {
            stype: ZE_STRUCTURE_TYPE_DEVICE_COMPUTE_PROPERTIES,
            ..Default::default()
        };
        // SAFETY: as above.
        let code = unsafe { self.api.zeDeviceGetComputeProperties(self.device, &mut properties) };
        self.check("zeDeviceGetComputeProperties", code).map(|()| properties)
    }

    /// The sub-group sizes that the device reports, ascending.
    pub fn sub_group_sizes(&self) -> Result<Vec<u32>> {
        let properties = self.compute_properties()?;
        let mut sizes = properties.subGroupSizes[..properties.numSubGroupSizes as usize].to_vec();
        sizes.sort_unstable();
        Ok(sizes)
    }

    pub fn api_version(&self) -> Result<(u32, u32)> {
        let mut version = ze_api_version_t(0);
        // SAFETY: a live driver.
        let code = unsafe { self.api.zeDriverGetApiVersion(self.driver, &mut version) };
        self.check("zeDriverGetApiVersion", code)?;
        Ok((version.0 >> 16, version.0 & 0xffff))
    }
}

/// The text of a fixed-size character array.
pub fn text(characters: &[std::ffi::c_char]) -> String {
    let bytes: Vec<u8> = characters.iter().take_while(|&&c| c != 0).map(|&c| c as u8).collect();
    String::from_utf8_lossy(&bytes).into_owned()
}

/// The devices of a driver; none where it cannot say.
fn devices(api: &Api, driver: ze_driver_handle_t) -> Vec<ze_device_handle_t> {
    // SAFETY: a live driver, and room for as many handles as are asked for.
    listed(ptr::null_mut(), |count, devices| unsafe { api.zeDeviceGet(driver, count, devices) })
        .unwrap_or_default()
}

/// What a function lists: asked for the count first, then for as many, which start as copies of a blank one.
pub fn listed<T: Clone>(
    blank: T,
    mut ask: impl FnMut(*mut u32, *mut T) -> ze_result_t,
) -> std::result::Result<Vec<T>, ze_result_t> {
    let mut count = 0;
    let mut items = Vec::new();
    for round in 0..2 {
        let room = if round == 0 { ptr::null_mut() } else { items.as_mut_ptr() };
        match ask(&mut count, room) {
            ZE_RESULT_SUCCESS => items.resize(count as usize, blank.clone()),
            code => return Err(code),
        }
    }
    Ok(items)
}

fn bare(function: &'static str, code: ze_result_t) -> Result<()> {
    match code {
        ZE_RESULT_SUCCESS => Ok(()),
        code => Err(Error { code, function, reason: String::new() }),
    }
}
