//! `zeSampler*`.

use ze_core::context::Context;
use ze_core::device::Device;
use ze_core::error::{Error, Result};
use ze_core::handle;
use ze_core::sampler::Sampler;
use ze_headers::*;

use crate::args::{input, output};

/// `zeSamplerCreate`.
pub unsafe fn zeSamplerCreate(
    hContext: ze_context_handle_t,
    hDevice: ze_device_handle_t,
    desc: *const ze_sampler_desc_t,
    phSampler: *mut ze_sampler_handle_t,
) -> Result<()> {
    handle::get::<Context>(hContext)?;
    let device = handle::get::<Device>(hDevice)?;
    // SAFETY: the caller passes null or valid pointers.
    let (desc, out) = unsafe { (input(desc, "desc")?, output(phSampler, "phSampler")?) };
    // "if 0, then sampling is unsupported"
    if device.profile().images.max_samplers == 0 {
        return Err(Error::UnsupportedFeature("sampling"));
    }
    *out = handle::publish(Sampler::new(desc)?)?;
    Ok(())
}

/// `zeSamplerDestroy`: launches have what they need of it.
pub unsafe fn zeSamplerDestroy(hSampler: ze_sampler_handle_t) -> Result<()> {
    handle::release::<Sampler>(hSampler).map(drop)
}
