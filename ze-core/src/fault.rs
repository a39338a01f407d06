//! What the program is told of a fault: what was accessed, by what, and which allocations are near.

use crate::allocations::Range;
use crate::driver::Driver;
use crate::error::Error;
use crate::memory::Allocation;
use std::sync::Arc;
use ze_engine::exec::fault::{Access, Fault};

/// An allocation that ends so near below an address, or begins so near above it, is taken for the one that was meant.
const NEAR: usize = 64 << 20;

/// The error of a command that did what the processor refuses.
pub(crate) fn lost(by: &str, fault: Fault) -> Error {
    Error::DeviceLost(format!("{by}: {fault}{}", nearby(fault)))
}

/// Where the address is, seen from the program's allocations.
pub(crate) fn nearby(fault: Fault) -> String {
    let is_memory = matches!(fault.access, Access::Read | Access::Write);
    let Some(driver) = Driver::get().ok().filter(|_| is_memory) else { return String::new() };
    let all: Vec<Arc<Allocation>> = driver.allocations().iter().collect();
    describe(fault.address, all.iter().map(|of| (of.base(), of.size(), of.kind().name())))
}

fn describe<'a>(address: usize, all: impl Iterator<Item = (usize, usize, &'a str)> + Clone) -> String {
    let below = all.clone().filter(|(base, ..)| *base <= address).max_by_key(|(base, ..)| *base);
    let above = all.filter(|(base, ..)| *base > address).min_by_key(|(base, ..)| *base);
    let behind = below.map(|(base, size, kind)| (address - base, size, kind));
    let before = above.map(|(base, size, kind)| (base - address, size, kind));
    match (behind, before) {
        (Some((at, size, kind)), _) if at < size => {
            format!("; it is byte {at} of {size} bytes of {kind} memory")
        }
        (Some((at, size, kind)), before)
            if at - size < NEAR && before.is_none_or(|(before, ..)| at - size <= before) =>
        {
            format!("; it is {} bytes behind the end of {size} bytes of {kind} memory", at - size)
        }
        (_, Some((before, size, kind))) if before < NEAR => {
            format!("; it is {before} bytes in front of {size} bytes of {kind} memory")
        }
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_allocation_is_told() {
        let all = [(0x10000, 0x100, "device"), (0x20000, 0x1000, "shared"), (0x4000_0000_0000, 1, "host")];
        let describe = |address| describe(address, all.into_iter());
        assert_eq!(describe(0x20008), "; it is byte 8 of 4096 bytes of shared memory");
        assert_eq!(describe(0x10100), "; it is 0 bytes behind the end of 256 bytes of device memory");
        assert_eq!(describe(0x1fff8), "; it is 8 bytes in front of 4096 bytes of shared memory");
        assert_eq!(describe(0xfff0), "; it is 16 bytes in front of 256 bytes of device memory");
        assert_eq!(describe(0x2000_0000_0000), "");
    }
}
