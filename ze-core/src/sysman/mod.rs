//! Sysman, the system management of Level Zero (`zes*`): what the host says about its CPU and memory.
//!
//! One file a handle type. Drivers and devices are those of the core API, so that handles of both APIs are the same, whichever
//! way a program initialises. Parts of a device are found when they are first asked for, and then stay, so that their handles
//! do. Values come from `/sys` and `/proc`; what is not there has no object, and nothing is made up. Queries take
//! no lock, as the specification asks.

pub mod absent;
pub mod activity;
pub mod device;
pub mod engine;
pub mod event;
pub mod frequency;
pub mod memory;
pub mod power;
pub mod ras;
pub mod roots;
pub mod temperature;

use crate::driver::Driver;
use crate::error::{Error, Result};
use crate::handle::{self, Object, Ref};
pub use crate::parts::Parts;
use activity::Activity;
use roots::Roots;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use ze_extensions::DeviceProfile;

/// Set to 1 by programs that use the core API's device handles for system management, before they initialise that.
const ENABLE_VARIABLE: &str = "ZES_ENABLE_SYSMAN";

static INITIALIZED: AtomicBool = AtomicBool::new(false);

/// Implements [`Structure`](crate::pnext::Structure) for structures of system management and tools. Their type tags have values that core
/// structures have too, and are only looked for in their own chains.
macro_rules! structures {
    ($($type:ty = $($stype:ident)|+;)*) => {
        $(
            // SAFETY: the pairs are those of the API's headers.
            unsafe impl $crate::pnext::Structure for $type {
                const STYPES: &'static [::ze_headers::ze_structure_type_t] =
                    &[$(::ze_headers::ze_structure_type_t(::ze_headers::$stype.0)),+];
            }
        )*
    };
}
pub(crate) use structures;

/// `zesInit`.
pub fn initialize() -> Result<()> {
    Driver::configured()?;
    INITIALIZED.store(true, Ordering::Release);
    Ok(())
}

/// The core API was initialised, which is enough for programs that said so.
pub fn core_is_initialized() {
    if std::env::var_os(ENABLE_VARIABLE).is_some_and(|value| value == "1") {
        INITIALIZED.store(true, Ordering::Release);
    }
}

/// The driver, if the program may manage its system.
pub fn driver() -> Result<&'static Arc<Driver>> {
    if !INITIALIZED.load(Ordering::Acquire) {
        return Err(Error::SysmanUninitialized);
    }
    Driver::configured()
}

/// The object behind a handle of system management.
pub fn get<T: Object>(handle: T::Handle) -> Result<Ref<T>> {
    driver()?;
    handle::get(handle)
}

/// What a device consists of.
pub struct Sysman {
    pub engines: Parts<engine::EngineGroup>,
    pub frequencies: Parts<frequency::FrequencyDomain>,
    pub memory: Parts<memory::MemoryModule>,
    pub power: Parts<power::PowerDomain>,
    pub ras: Parts<ras::RasErrorSet>,
    pub temperatures: Parts<temperature::TemperatureSensor>,
    pub events: event::Events,
}

impl Sysman {
    pub fn discover(roots: &Roots, profile: &Arc<DeviceProfile>, activity: &Arc<Activity>) -> Self {
        Self {
            engines: Parts::new(engine::discover(activity)),
            frequencies: Parts::new(frequency::discover(roots)),
            memory: Parts::new(memory::discover(roots, profile)),
            power: Parts::new(power::discover(roots)),
            ras: Parts::new(ras::discover(roots)),
            temperatures: Parts::new(temperature::discover(roots)),
            events: event::Events::default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use roots::Tree;
    use ze_headers::*;

    #[test]
    fn a_bare_system_has_engines_and_memory_and_nothing_that_it_does_not_say() {
        let tree = Tree::new(&[]);
        let profile = Arc::new(DeviceProfile::host());
        let sysman = Sysman::discover(&tree.roots(), &profile, &Arc::default());
        let counts = [sysman.frequencies.count(), sysman.power.count(), sysman.ras.count()];
        assert_eq!((counts, sysman.temperatures.count()), ([0; 3], 0));
        assert_eq!((sysman.engines.count(), sysman.memory.count()), (5, 1));
    }

    #[test]
    fn handles_of_parts_stay_the_same_and_lead_to_their_objects() {
        let profile = Arc::new(DeviceProfile::host());
        let sysman = Sysman::discover(&Roots::default(), &profile, &Arc::default());
        let [first, second, again] =
            [0, 1, 0].map(|index| sysman.engines.handle(index).expect("there are handles left"));
        assert!(first == again && first != second);
        let mut properties = zes_engine_properties_t::default();
        // SAFETY: there is no chain.
        unsafe { handle::get::<engine::EngineGroup>(second).expect("live").properties(&mut properties) };
        assert_eq!(properties.type_, ZES_ENGINE_GROUP_COMPUTE_ALL);
    }

    #[test]
    fn nothing_works_before_it_is_initialised() {
        assert!(matches!(get::<engine::EngineGroup>(std::ptr::null_mut()), Err(Error::SysmanUninitialized)));
        initialize().unwrap();
        assert!(matches!(get::<engine::EngineGroup>(std::ptr::null_mut()), Err(Error::NullHandle(_))));
    }
}
