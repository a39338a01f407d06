//! The device's clock: `CLOCK_MONOTONIC_RAW`, which SYCL's adapter also reads for the host's side.

use ze_extensions::DeviceProfile;

const NANOSECONDS_A_SECOND: u128 = 1_000_000_000;

/// Host time in nanoseconds.
pub fn now() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is a valid place to write to, and the clock exists on every Linux.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC_RAW, &mut time) };
    time.tv_sec as u64 * NANOSECONDS_A_SECOND as u64 + time.tv_nsec as u64
}

/// Turns host time into the timestamps that a device reports.
#[derive(Clone, Copy, Debug)]
pub struct DeviceClock {
    frequency_hz: u64,
    mask: u64,
    kernel_mask: u64,
}

impl DeviceClock {
    pub fn new(profile: &DeviceProfile) -> Self {
        let mask = |bits: u32| 1u64.checked_shl(bits).map_or(u64::MAX, |bit| bit - 1);
        Self {
            frequency_hz: profile.limits.timer_frequency_hz,
            mask: mask(profile.limits.timestamp_valid_bits),
            kernel_mask: mask(profile.limits.kernel_timestamp_valid_bits),
        }
    }

    fn ticks(&self, nanoseconds: u64) -> u64 {
        // Truncation is the wrap-around that the valid bits announce.
        (u128::from(nanoseconds) * u128::from(self.frequency_hz) / NANOSECONDS_A_SECOND) as u64
    }

    /// A global timestamp (`timestampValidBits` wide).
    pub fn global(&self, nanoseconds: u64) -> u64 {
        self.ticks(nanoseconds) & self.mask
    }

    /// A timestamp of a kernel (`kernelTimestampValidBits` wide).
    pub fn kernel(&self, nanoseconds: u64) -> u64 {
        self.ticks(nanoseconds) & self.kernel_mask
    }

    /// Nanoseconds of a tick, at least 1.
    pub fn resolution_ns(&self) -> u64 {
        (NANOSECONDS_A_SECOND as u64).div_ceil(self.frequency_hz.max(1))
    }

    pub fn frequency_hz(&self) -> u64 {
        self.frequency_hz
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timestamps_have_the_announced_frequency_and_width() {
        let clock = DeviceClock { frequency_hz: 19_200_000, mask: 0xffff_ffff, kernel_mask: 0xffff };
        assert_eq!(clock.global(1_000_000_000), 19_200_000);
        assert_eq!(clock.global(1_000_000_000_000), 19_200_000_000 & 0xffff_ffff);
        assert_eq!(clock.kernel(1_000_000_000), 19_200_000 & 0xffff);
        assert_eq!(clock.resolution_ns(), 53);
        assert!(now() <= now());
    }
}
