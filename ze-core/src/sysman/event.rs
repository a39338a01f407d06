//! Events of the system management: which are registered, and waiting for them. None of them ever happens to a CPU that the
//! program runs on, so that waiting ends by its time limit, or because nothing is registered any more.

use crate::error::{Error, Result};
use crate::futex::{Counter, Deadline};
use ze_headers::zes_event_type_flags_t;

/// All types of events that there are.
pub const ALL: zes_event_type_flags_t = 0xffff;
const NANOSECONDS_A_MILLISECOND: u64 = 1_000_000;

/// The meaning of a `timeout` in milliseconds; `u64::MAX` is no limit.
pub fn deadline(timeout: u64) -> Deadline {
    match timeout {
        u64::MAX => Deadline::Never,
        timeout => Deadline::after(timeout.saturating_mul(NANOSECONDS_A_MILLISECOND).min(u64::MAX - 1)),
    }
}

/// The events that a program registered for on a device.
#[derive(Debug, Default)]
pub struct Events(Counter);

impl Events {
    /// `zesDeviceEventRegister`: replaces what was registered.
    pub fn register(&self, events: zes_event_type_flags_t) -> Result<()> {
        // ZE_RESULT_ERROR_INVALID_ENUMERATION: 0xffff < events
        if events & !ALL != 0 {
            return Err(Error::InvalidEnumeration { what: "zes_event_type_flags_t", value: events.into() });
        }
        self.0.set(events);
        Ok(())
    }

    pub fn registered(&self) -> zes_event_type_flags_t {
        self.0.get()
    }

    /// Waits while something is registered.
    pub fn listen(&self, deadline: Deadline) {
        self.0.wait(deadline, |registered| registered == 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use std::time::{Duration, Instant};

    #[test]
    fn unknown_types_are_refused_and_known_ones_replace_each_other() {
        let events = Events::default();
        assert!(matches!(events.register(0x1_0000), Err(Error::InvalidEnumeration { .. })));
        events.register(0x41).expect("known");
        events.register(0x2).expect("known");
        assert_eq!(events.registered(), 2);
    }

    #[test]
    fn listening_lasts_as_long_as_it_may_and_something_is_registered() {
        let events = Arc::new(Events::default());
        events.listen(deadline(u64::MAX));
        events.register(1).expect("known");
        events.listen(deadline(0));
        let start = Instant::now();
        events.listen(deadline(3));
        assert!(start.elapsed() >= Duration::from_millis(3));
        let listener = std::thread::spawn({
            let events = Arc::clone(&events);
            move || events.listen(deadline(u64::MAX))
        });
        events.register(0).expect("none is known");
        assert!(listener.join().is_ok());
    }
}
