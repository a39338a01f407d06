//! Samplers: how kernels find and filter texels.

use crate::error::{Error, Result};
use crate::handle::object;
use crate::pnext::structures;
use std::sync::Arc;
use ze_engine::image::{Addressing, Filter, Sampler as State};
use ze_headers::*;

structures! {
    ze_sampler_desc_t = ZE_STRUCTURE_TYPE_SAMPLER_DESC;
}

/// A sampler.
pub struct Sampler {
    state: State,
}

object!(Sampler, Sampler, ze_sampler_handle_t);

impl Sampler {
    /// `zeSamplerCreate`.
    pub fn new(desc: &ze_sampler_desc_t) -> Result<Arc<Self>> {
        Ok(Arc::new(Self { state: state(desc)? }))
    }

    /// What compiled code takes.
    pub fn state(&self) -> State {
        self.state
    }
}

/// The sampler that a descriptor describes. The border's colour is that of `ze_sampler_address_mode_t`: zeros, with an
/// alpha of one where the image's format has no alpha.
pub fn state(desc: &ze_sampler_desc_t) -> Result<State> {
    let addressing = match desc.addressMode {
        ZE_SAMPLER_ADDRESS_MODE_NONE => Addressing::None,
        ZE_SAMPLER_ADDRESS_MODE_REPEAT => Addressing::Repeat,
        ZE_SAMPLER_ADDRESS_MODE_CLAMP => Addressing::ClampToEdge,
        ZE_SAMPLER_ADDRESS_MODE_CLAMP_TO_BORDER => Addressing::Clamp,
        ZE_SAMPLER_ADDRESS_MODE_MIRROR => Addressing::MirroredRepeat,
        // ZE_RESULT_ERROR_INVALID_ENUMERATION: ZE_SAMPLER_ADDRESS_MODE_MIRROR < desc->addressMode
        other => {
            return Err(Error::InvalidEnumeration {
                what: "ze_sampler_address_mode_t",
                value: other.0.into(),
            });
        }
    };
    let filter = match desc.filterMode {
        ZE_SAMPLER_FILTER_MODE_NEAREST => Filter::Nearest,
        ZE_SAMPLER_FILTER_MODE_LINEAR => Filter::Linear,
        // ZE_RESULT_ERROR_INVALID_ENUMERATION: ZE_SAMPLER_FILTER_MODE_LINEAR < desc->filterMode
        other => {
            return Err(Error::InvalidEnumeration {
                what: "ze_sampler_filter_mode_t",
                value: other.0.into(),
            });
        }
    };
    Ok(State { addressing, filter, normalized: desc.isNormalized != 0, ..State::default() })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(address: u32, filter: u32, normalized: ze_bool_t) -> Result<State> {
        state(&ze_sampler_desc_t {
            addressMode: ze_sampler_address_mode_t(address),
            filterMode: ze_sampler_filter_mode_t(filter),
            isNormalized: normalized,
            ..Default::default()
        })
    }

    #[test]
    fn every_mode_of_the_api_is_one_of_the_engines() {
        let modes = [
            Addressing::None,
            Addressing::Repeat,
            Addressing::ClampToEdge,
            Addressing::Clamp,
            Addressing::MirroredRepeat,
        ];
        for (code, addressing) in (0..).zip(modes) {
            for (code_of_filter, filter) in [(0, Filter::Nearest), (1, Filter::Linear)] {
                for normalized in [false, true] {
                    let found = of(code, code_of_filter, normalized.into()).expect("a mode");
                    assert_eq!(found, State { addressing, filter, normalized, ..State::default() });
                }
            }
        }
    }

    #[test]
    fn modes_that_do_not_exist_are_invalid_enumerations() {
        for (address, filter) in [(5, 0), (u32::MAX, 0), (0, 2), (0, 0x7fff_ffff)] {
            assert!(matches!(of(address, filter, 0), Err(Error::InvalidEnumeration { .. })));
        }
    }
}
