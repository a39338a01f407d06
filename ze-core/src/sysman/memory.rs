//! Memory modules: the host's memory, from `/proc/meminfo` and the kernel's memory controllers.

use crate::error::{Error, Result};
use crate::handle::object;
use crate::pnext::Outputs;
use crate::sysman::roots::{Roots, entries, number, text};
use crate::sysman::{ras, structures};
use std::fs;
use std::path::PathBuf;
use std::sync::Arc;
use ze_extensions::DeviceProfile;
use ze_headers::*;

structures! {
    zes_mem_properties_t = ZES_STRUCTURE_TYPE_MEM_PROPERTIES;
    zes_mem_state_t = ZES_STRUCTURE_TYPE_MEM_STATE;
    zes_mem_bandwidth_counter_bits_exp_properties_t =
        ZES_STRUCTURE_TYPE_MEM_BANDWIDTH_COUNTER_BITS_EXP_PROPERTIES;
    zes_mem_page_offline_state_exp_t = ZES_STRUCTURE_TYPE_MEMORY_PAGE_OFFLINE_STATE_EXP;
}

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;
const PAGE_SIZE: u64 = 4096;
/// Of the API: the value is not known.
const UNKNOWN: i32 = -1;

/// Ends of the kernel's names of memory types, the more special first, and the API's.
const TYPES: [(&str, zes_mem_type_t); 9] = [
    ("LPDDR5", ZES_MEM_TYPE_LPDDR5),
    ("LPDDR4", ZES_MEM_TYPE_LPDDR4),
    ("LPDDR3", ZES_MEM_TYPE_LPDDR3),
    ("HBM2", ZES_MEM_TYPE_HBM2),
    ("HBM3", ZES_MEM_TYPE_HBM3),
    ("DDR5", ZES_MEM_TYPE_DDR5),
    ("DDR4", ZES_MEM_TYPE_DDR4),
    ("DDR3", ZES_MEM_TYPE_DDR3),
    ("DDR2", ZES_MEM_TYPE_DDR2),
];

/// The device's memory.
pub struct MemoryModule {
    profile: Arc<DeviceProfile>,
    meminfo: PathBuf,
    kind: zes_mem_type_t,
    /// Of all modules, where the kernel's memory controllers know them.
    installed: Option<u64>,
    counters: ras::Counters,
}

object!(MemoryModule, MemoryModule, zes_mem_handle_t);

/// The kernel's modules: their type and their size in bytes.
fn modules(roots: &Roots) -> Vec<(String, u64)> {
    let controllers = entries(&roots.sys("devices/system/edac/mc"), "mc");
    let modules = controllers.iter().flat_map(|controller| {
        let mut modules = entries(controller, "dimm");
        modules.extend(entries(controller, "rank"));
        modules
    });
    let modules = modules.filter_map(|module| {
        let size: u64 = number(&module.join("size"))?;
        Some((text(&module.join("dimm_mem_type"))?, size.saturating_mul(MIB)))
    });
    modules.filter(|(_, size)| *size != 0).collect()
}

/// One module: the host's memory.
pub fn discover(roots: &Roots, profile: &Arc<DeviceProfile>) -> Vec<MemoryModule> {
    let modules = modules(roots);
    let kind = modules.first().and_then(|(name, _)| TYPES.iter().find(|(end, _)| name.ends_with(end)));
    let installed: u64 = modules.iter().map(|(_, size)| size).sum();
    vec![MemoryModule {
        profile: Arc::clone(profile),
        meminfo: roots.proc("meminfo"),
        kind: kind.map_or(ZES_MEM_TYPE_DDR, |(_, kind)| *kind),
        installed: (installed != 0).then_some(installed),
        counters: ras::Counters::new(roots),
    }]
}

/// A line of `/proc/meminfo`, in bytes.
fn line(meminfo: &str, name: &str) -> Option<u64> {
    let line = meminfo.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kib.saturating_mul(KIB))
}

impl MemoryModule {
    /// `zesMemoryGetProperties`.
    ///
    /// # Safety
    /// The structure's `pNext` is a valid chain.
    pub unsafe fn properties(&self, out: &mut zes_mem_properties_t) {
        let memory = &self.profile.memory;
        out.type_ = self.kind;
        out.onSubdevice = 0;
        out.subdeviceId = 0;
        out.location = if self.profile.integrated { ZES_MEM_LOC_SYSTEM } else { ZES_MEM_LOC_DEVICE };
        out.physicalSize = self.installed.map_or(memory.total_size, |size| size.max(memory.total_size));
        out.busWidth = i32::try_from(memory.bus_width).ok().filter(|&width| width != 0).unwrap_or(UNKNOWN);
        out.numChannels = UNKNOWN;
        // SAFETY: the caller's promise.
        unsafe { Outputs::of(out) }.for_each(|mut link| {
            if let Some(out) = link.get::<zes_mem_bandwidth_counter_bits_exp_properties_t>() {
                // Nothing counts what goes over the bus.
                out.validBitsCount = 0;
            }
        });
    }

    /// `zesMemoryGetState`: what programs could allocate now, and all there is; not more than the profile says.
    ///
    /// # Safety
    /// The structure's `pNext` is a valid chain.
    pub unsafe fn state(&self, out: &mut zes_mem_state_t) -> Result<()> {
        let meminfo = fs::read_to_string(&self.meminfo)
            .map_err(|error| Error::NotAvailable(format!("{}: {error}", self.meminfo.display())))?;
        let missing = || Error::NotAvailable(format!("{} has no sizes", self.meminfo.display()));
        let size = line(&meminfo, "MemTotal").ok_or_else(missing)?;
        let free =
            line(&meminfo, "MemAvailable").or_else(|| line(&meminfo, "MemFree")).ok_or_else(missing)?;
        out.size = size.min(self.profile.memory.total_size);
        out.free = free.min(out.size);
        out.health = match self.counters.total(ZES_RAS_ERROR_TYPE_UNCORRECTABLE) {
            Some(0) => ZES_MEM_HEALTH_OK,
            _ => ZES_MEM_HEALTH_UNKNOWN,
        };
        // SAFETY: the caller's promise.
        unsafe { Outputs::of(out) }.for_each(|mut link| {
            if let Some(out) = link.get::<zes_mem_page_offline_state_exp_t>() {
                let pages = |bytes: u64| u32::try_from(bytes / PAGE_SIZE).unwrap_or(u32::MAX);
                // Pages that the kernel does not use any more because they are broken. It allows that for all.
                out.memoryPageOffline = line(&meminfo, "HardwareCorrupted").map_or(0, pages);
                out.maxMemoryPageOffline = pages(size);
            }
        });
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sysman::roots::Tree;

    const MEMINFO: &str = "MemTotal:       16000000 kB\nMemFree:         1000000 kB\nMemAvailable:    9000000 kB\n\
                           HardwareCorrupted:     8 kB\n";

    fn profile(size: u64) -> Arc<DeviceProfile> {
        let mut profile = DeviceProfile::host();
        profile.memory.total_size = size;
        Arc::new(profile)
    }

    fn state(tree: &Tree, size: u64) -> Result<zes_mem_state_t> {
        let mut state = zes_mem_state_t { stype: ZES_STRUCTURE_TYPE_MEM_STATE, ..Default::default() };
        // SAFETY: there is no chain.
        unsafe { discover(&tree.roots(), &profile(size))[0].state(&mut state) }.map(|()| state)
    }

    #[test]
    fn state_is_that_of_the_host_within_what_the_profile_has() {
        let tree = Tree::new(&[("proc/meminfo", MEMINFO)]);
        let host = state(&tree, u64::MAX).expect("meminfo is there");
        assert_eq!((host.size, host.free), (16_000_000 << 10, 9_000_000 << 10));
        assert_eq!(host.health, ZES_MEM_HEALTH_UNKNOWN);
        let small = state(&tree, 1 << 30).expect("meminfo is there");
        assert_eq!((small.size, small.free), (1 << 30, 1 << 30));
        assert!(matches!(state(&Tree::new(&[]), 1), Err(Error::NotAvailable(_))));
    }

    #[test]
    fn pages_that_are_broken_are_counted_in_the_chain() {
        let tree = Tree::new(&[("proc/meminfo", MEMINFO)]);
        let mut pages = zes_mem_page_offline_state_exp_t {
            stype: ZES_STRUCTURE_TYPE_MEMORY_PAGE_OFFLINE_STATE_EXP,
            ..Default::default()
        };
        let mut state = zes_mem_state_t {
            stype: ZES_STRUCTURE_TYPE_MEM_STATE,
            pNext: (&raw const pages).cast(),
            ..Default::default()
        };
        // SAFETY: the chain is built above.
        unsafe { discover(&tree.roots(), &profile(1 << 40))[0].state(&mut state) }.expect("meminfo is there");
        assert_eq!((pages.memoryPageOffline, pages.maxMemoryPageOffline), (2, 4_000_000));
        // A program that did not set the type of its structure did not set the chain either.
        (state.stype, pages.memoryPageOffline) = (zes_structure_type_t(0), 77);
        // SAFETY: as above.
        unsafe { discover(&tree.roots(), &profile(1 << 40))[0].state(&mut state) }.expect("meminfo is there");
        assert_eq!(pages.memoryPageOffline, 77);
    }

    #[test]
    fn memory_controllers_know_type_size_and_health() {
        let mc = "sys/devices/system/edac/mc/mc0";
        let tree = Tree::new(&[("proc/meminfo", MEMINFO)]);
        for (file, text) in [
            ("dimm0/size", "8192\n"),
            ("dimm0/dimm_mem_type", "Registered-DDR4\n"),
            ("dimm1/size", "8192\n"),
            ("dimm1/dimm_mem_type", "Registered-DDR4\n"),
            ("ce_count", "3\n"),
            ("ue_count", "0\n"),
        ] {
            tree.write(&format!("{mc}/{file}"), text);
        }
        let modules = discover(&tree.roots(), &profile(1 << 30));
        let mut properties = zes_mem_properties_t::default();
        // SAFETY: there is no chain.
        unsafe { modules[0].properties(&mut properties) };
        assert_eq!((properties.type_, properties.physicalSize), (ZES_MEM_TYPE_DDR4, 16 << 30));
        assert_eq!(state(&tree, 1 << 30).expect("meminfo is there").health, ZES_MEM_HEALTH_OK);
        tree.write(&format!("{mc}/ue_count"), "1\n");
        assert_eq!(state(&tree, 1 << 30).expect("meminfo is there").health, ZES_MEM_HEALTH_UNKNOWN);
    }
}
