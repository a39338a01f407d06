//! The `host` profile: what this machine's CPU and memory are, from cpuid, sysconf and /sys.

use crate::flags::{DotProductFlags, FpAtomicFlags, FpFlags, ModuleFlags};
use crate::limits::NEWEST_SPIRV;
use crate::profile::{
    Cache, Compute, DeviceKind, DeviceProfile, Images, Limits, Memory, ModuleProperties, SubDevices, Topology,
};
use std::fs;
use std::path::Path;

/// Intel's PCI vendor id: SYCL's device selectors and oneMKL look for it.
const VENDOR_INTEL: u32 = 0x8086;
/// A device id that no Intel GPU has, so that nothing mistakes the CPU for a GPU it has native code for.
const DEVICE_ID: u32 = 0xCB00;
/// That of the same CPU where it says that it is one.
const CPU_DEVICE_ID: u32 = 0xCB01;
/// That of the Arc B series (20.1.4). oneAPI's libraries need an architecture that they know: with any other number oneMKL
/// throws "unknown GPU architecture" in matrix products, factorisations and more. This one selects the newer of SYCL's
/// adapters (0x05004000 and later), and for it oneMKL's SPIR-V images work.
const IP_VERSION: u32 = ip_version(20, 1, 4);

const MAX_GROUP_SIZE: u32 = 1024;
const SHARED_LOCAL_MEMORY: u32 = 128 << 10;
const MAX_ARGUMENTS_SIZE: u32 = 4096;
const PRINTF_BUFFER_SIZE: u32 = 4 << 20;
const NANOSECONDS_A_SECOND: u64 = 1_000_000_000;

/// What a current GPU reports. A buffer's texels have coordinates of 32 bits, with a sign.
const IMAGES: Images = Images {
    max_dims_1d: 16384,
    max_dims_2d: 16384,
    max_dims_3d: 2048,
    max_buffer_size: 1 << 30,
    max_array_slices: 2048,
    max_samplers: 16,
    max_read_args: 128,
    max_write_args: 128,
};

/// `ze_device_ip_version_ext_t::ipVersion` of an architecture's release and revision.
const fn ip_version(architecture: u32, release: u32, revision: u32) -> u32 {
    architecture << 22 | release << 14 | revision
}

pub(crate) fn detect() -> DeviceProfile {
    let fp = FpFlags::DENORM
        | FpFlags::INF_NAN
        | FpFlags::ROUND_TO_NEAREST
        | FpFlags::ROUND_TO_ZERO
        | FpFlags::ROUND_TO_INF
        | FpFlags::FMA
        | FpFlags::ROUNDED_DIVIDE_SQRT;
    let memory = host_memory();
    DeviceProfile {
        name: format!("ze_cpu on {}", cpu_name()),
        kind: DeviceKind::Gpu,
        vendor_id: VENDOR_INTEL,
        device_id: DEVICE_ID,
        ip_version: IP_VERSION,
        integrated: true,
        on_demand_paging: true,
        ecc: false,
        core_clock_mhz: core_clock_mhz(),
        topology: topology(),
        limits: Limits {
            max_alloc_size: memory,
            max_hardware_contexts: 1 << 16,
            max_queue_priority: 0,
            timer_frequency_hz: NANOSECONDS_A_SECOND,
            timestamp_valid_bits: 64,
            kernel_timestamp_valid_bits: 64,
        },
        compute: Compute {
            max_total_group_size: MAX_GROUP_SIZE,
            max_group_size: [MAX_GROUP_SIZE; 3],
            max_group_count: [u32::MAX; 3],
            max_shared_local_memory: SHARED_LOCAL_MEMORY,
            sub_group_sizes: vec![8, 16, 32],
        },
        module: ModuleProperties {
            spirv_version: NEWEST_SPIRV,
            flags: ModuleFlags::FP16 | ModuleFlags::FP64 | ModuleFlags::INT64_ATOMICS | ModuleFlags::DP4A,
            fp16: fp,
            fp32: fp,
            fp64: fp,
            fp16_atomics: FpAtomicFlags::all(),
            fp32_atomics: FpAtomicFlags::all(),
            fp64_atomics: FpAtomicFlags::all(),
            dot_product: DotProductFlags::DP4A,
            max_arguments_size: MAX_ARGUMENTS_SIZE,
            printf_buffer_size: PRINTF_BUFFER_SIZE,
        },
        memory: Memory { name: "DDR".into(), total_size: memory, clock_mhz: 0, bus_width: 64 },
        caches: caches(),
        cache_line: sysconf(libc::_SC_LEVEL1_DCACHE_LINESIZE).unwrap_or(64) as u32,
        images: IMAGES,
        sub_devices: SubDevices::default(),
        without_extensions: Vec::new(),
    }
}

/// The same CPU as a device of type CPU. It names no GPU architecture, for which libraries would have GPU code.
pub(crate) fn detect_as_cpu() -> DeviceProfile {
    let host = detect();
    DeviceProfile { kind: DeviceKind::Cpu, device_id: CPU_DEVICE_ID, ip_version: 0, ..host }
}

fn topology() -> Topology {
    // The affinity mask and the cgroup's quota count, not what the machine has.
    let threads = std::thread::available_parallelism().map_or(1, |count| count.get() as u32);
    let per_core = cpu_list_length("/sys/devices/system/cpu/cpu0/topology/thread_siblings_list").unwrap_or(1);
    let sockets = cpu_list_length("/sys/devices/system/node/online").unwrap_or(1);
    split(threads, per_core, sockets)
}

/// What a core counts for: it is what GPUs call a sub-slice or Xe-core, which has 8 or 16 execution units. SYCL's compute units are their number,
/// and programs divide it before they divide their work by it: llama.cpp by 16, oneDPL by 8.
const EUS_OF_A_CORE: u32 = 16;

/// Shares `threads` out so that no thread is left over, whatever the mask is.
fn split(threads: u32, per_core: u32, sockets: u32) -> Topology {
    let divides = |whole: u32, part: u32| part != 0 && whole.is_multiple_of(part);
    let threads_per_eu = if divides(threads, per_core) { per_core } else { 1 };
    let cores = threads / threads_per_eu;
    let slices = if divides(cores, sockets) { sockets } else { 1 };
    Topology {
        slices,
        subslices_per_slice: cores / slices,
        eus_per_subslice: EUS_OF_A_CORE,
        threads_per_eu,
        simd_width: simd_width(),
    }
}

/// Counts the numbers in a kernel list such as `0-3,8`.
fn cpu_list_length(path: &str) -> Option<u32> {
    list_length(fs::read_to_string(path).ok()?.trim())
}

fn list_length(list: &str) -> Option<u32> {
    list.split(',').try_fold(0u32, |count, range| {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        let (first, last): (u32, u32) = (first.parse().ok()?, last.parse().ok()?);
        count.checked_add(last.checked_sub(first)?.checked_add(1)?)
    })
}

fn sysconf(name: libc::c_int) -> Option<u64> {
    // SAFETY: sysconf reads a value and has no preconditions; unknown names return -1.
    let value = unsafe { libc::sysconf(name) };
    u64::try_from(value).ok().filter(|&value| value > 0)
}

/// The machine's memory in bytes, or the cgroup's limit where that is lower.
pub fn host_memory() -> u64 {
    const FALLBACK: u64 = 1 << 30;
    let physical = sysconf(libc::_SC_PHYS_PAGES)
        .zip(sysconf(libc::_SC_PAGESIZE))
        .map_or(FALLBACK, |(pages, page)| pages.saturating_mul(page));
    ["/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"]
        .iter()
        .filter_map(|path| fs::read_to_string(path).ok()?.trim().parse::<u64>().ok())
        .fold(physical, u64::min)
}

/// Data and unified caches of the first core, the nearest first.
fn caches() -> Vec<Cache> {
    let root = Path::new("/sys/devices/system/cpu/cpu0/cache");
    let read = |index: u32, file: &str| {
        fs::read_to_string(root.join(format!("index{index}/{file}"))).ok().map(|text| text.trim().to_owned())
    };
    let mut caches: Vec<Cache> = (0..16)
        .map_while(|index| Some((index, read(index, "type")?)))
        .filter(|(_, kind)| kind != "Instruction")
        .filter_map(|(index, _)| {
            let kib: u64 = read(index, "size")?.strip_suffix('K')?.parse().ok()?;
            Some(Cache { level: read(index, "level")?.parse().ok()?, size: kib << 10 })
        })
        .collect();
    if caches.is_empty() {
        let levels = [
            (1, libc::_SC_LEVEL1_DCACHE_SIZE),
            (2, libc::_SC_LEVEL2_CACHE_SIZE),
            (3, libc::_SC_LEVEL3_CACHE_SIZE),
        ];
        caches.extend(levels.iter().filter_map(|&(level, name)| Some(Cache { level, size: sysconf(name)? })));
    }
    caches.sort_by_key(|cache| cache.level);
    caches
}

/// Bytes of the last level of caches that so many threads have, if they are on cores beside each other.
pub fn last_level_cache(threads: usize) -> Option<u64> {
    let last = caches().last()?.size;
    let root = Path::new("/sys/devices/system/cpu/cpu0/cache");
    let sharers = (0..16)
        .map_while(|index| fs::read_to_string(root.join(format!("index{index}/shared_cpu_map"))).ok())
        .map(|map| map.chars().filter_map(|digit| digit.to_digit(16)).map(u32::count_ones).sum::<u32>())
        .last();
    let sharers = u64::from(sharers.unwrap_or(1).max(1));
    Some(own_part(last, sharers).saturating_mul((threads as u64).div_ceil(sharers)))
}

/// Bytes of a last cache that belong to those hardware threads of whom the system says that they share it. A virtual machine sees all of a cache that it shares
/// with others it does not see.
fn own_part(bytes: u64, sharers: u64) -> u64 {
    /// Bytes for a hardware thread: no processor has more.
    const MOST: u64 = 16 << 20;
    /// Those that are counted where there seem to be more. With two of an Emerald Rapids' cores, which see 260 MB, 16 MB are written and read again faster past
    /// them than through them.
    const AMONG_OTHERS: u64 = 8 << 20;
    if bytes > sharers.saturating_mul(MOST) { sharers.saturating_mul(AMONG_OTHERS) } else { bytes }
}

fn core_clock_mhz() -> u32 {
    let khz = fs::read_to_string("/sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq")
        .ok()
        .and_then(|text| text.trim().parse::<u32>().ok());
    khz.map(|khz| khz / 1000)
        .or_else(|| cpuinfo("cpu MHz")?.parse::<f64>().ok().map(|mhz| mhz.round() as u32))
        .unwrap_or(0)
}

fn cpuinfo(key: &str) -> Option<String> {
    fs::read_to_string("/proc/cpuinfo").ok()?.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        (name.trim() == key).then(|| value.trim().to_owned())
    })
}

#[cfg(target_arch = "x86_64")]
fn cpu_name() -> String {
    use std::arch::x86_64::__cpuid;
    const BRAND_FIRST: u32 = 0x8000_0002;
    const BRAND_LAST: u32 = 0x8000_0004;
    if __cpuid(0x8000_0000).eax < BRAND_LAST {
        return "x86-64 CPU".into();
    }
    let bytes: Vec<u8> = (BRAND_FIRST..=BRAND_LAST)
        .map(__cpuid)
        .flat_map(|leaf| [leaf.eax, leaf.ebx, leaf.ecx, leaf.edx])
        .flat_map(u32::to_le_bytes)
        .take_while(|&byte| byte != 0)
        .collect();
    let brand = String::from_utf8_lossy(&bytes).split_whitespace().collect::<Vec<_>>().join(" ");
    if brand.is_empty() { "x86-64 CPU".into() } else { brand }
}

#[cfg(not(target_arch = "x86_64"))]
fn cpu_name() -> String {
    cpuinfo("model name").unwrap_or_else(|| format!("{} CPU", std::env::consts::ARCH))
}

/// 32-bit lanes of the widest vector register that the operating system lets programs use.
#[cfg(target_arch = "x86_64")]
fn simd_width() -> u32 {
    if is_x86_feature_detected!("avx512f") {
        16
    } else if is_x86_feature_detected!("avx2") {
        8
    } else {
        4
    }
}

#[cfg(not(target_arch = "x86_64"))]
fn simd_width() -> u32 {
    4
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cache_that_is_larger_than_a_processor_has_is_shared_with_others() {
        const MIB: u64 = 1 << 20;
        for (bytes, sharers, own) in
            [(32, 2, 32), (32, 16, 32), (96, 16, 96), (260, 2, 16), (260, 48, 260), (17, 1, 8)]
        {
            assert_eq!(own_part(bytes * MIB, sharers), own * MIB, "{bytes} MiB of {sharers}");
        }
    }

    #[test]
    fn every_hardware_thread_counts_for_the_units_of_a_core() {
        for (threads, per_core, sockets) in
            [(2, 1, 1), (2, 2, 1), (96, 2, 2), (7, 2, 2), (1, 2, 8), (6, 0, 0)]
        {
            let topology = split(threads, per_core, sockets);
            let all = topology.slices * topology.subslices_per_slice * topology.threads_per_eu;
            assert_eq!(all, threads, "{threads} {per_core} {sockets}");
            assert!(topology.eus() >= EUS_OF_A_CORE);
        }
    }

    #[test]
    fn kernel_lists_are_counted() {
        assert_eq!(list_length("0"), Some(1));
        assert_eq!(list_length("0-3,8"), Some(5));
        assert_eq!(list_length("3-0"), None);
        assert_eq!(list_length(""), None);
    }

    #[test]
    fn host_describes_this_machine() {
        let host = DeviceProfile::host();
        assert_eq!(host.topology.lanes() % u64::from(host.topology.simd_width), 0);
        assert!(host.memory.total_size > 1 << 20);
        assert!(!host.caches.is_empty() && host.caches.is_sorted_by_key(|cache| cache.level));
        assert!(!host.name.is_empty() && host.name.len() < 256);
        assert!(host.name.starts_with("ze_cpu on "), "a CPU does not pass for a GPU: {}", host.name);
        assert_eq!(host.ip_version, 0x0500_4004);
    }
}
