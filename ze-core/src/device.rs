//! Devices: a profile, the engine that executes, and the streams that are alive.
//!
//! A *root device* may have parts, its sub-devices, which are devices, too. All devices of a process execute on the same
//! threads: two of them do not make a CPU faster, and either alone may have all of it.

pub mod hierarchy;
mod identity;

use crate::budget::Budget;
use crate::clock::DeviceClock;
use crate::env;
use crate::error::{Error, Result};
use crate::fabric::Vertex;
use crate::fork::{Mutex, OnceLock, Slow};
use crate::handle::{self, object};
use crate::metrics::Metrics;
use crate::signal::EngineId;
use crate::stream::{Priority, Stream};
use crate::sysman::Sysman;
use crate::sysman::activity::Activity;
use crate::sysman::roots::Roots;
use hierarchy::has_sub_devices;
pub use identity::{Place, UNKNOWN_SPEED};
use std::sync::{Arc, Weak};
use ze_engine::{Engine, EngineConfig};
use ze_extensions::{DeviceProfile, Hierarchy};
use ze_headers::ze_device_handle_t;

/// Queues of each group that a program can tell apart by index. Each one that it creates executes by itself all the same.
pub const QUEUES_OF_A_GROUP: u32 = 1;

/// A queue group: what an ordinal names.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum QueueGroup {
    /// Kernels, and everything that a copy queue does.
    Compute,
    /// Copies, fills and synchronisation only.
    Copy,
}

/// The groups by their ordinals. Devices of Intel's have a group for copies alone, and programs, the conformance tests among
/// them, look for one by its flags.
pub const QUEUE_GROUPS: [QueueGroup; 2] = [QueueGroup::Compute, QueueGroup::Copy];

/// What devices execute with. It is created by the first module: a program that only looks at devices starts no threads.
#[derive(Default)]
struct LazyEngine(OnceLock<Arc<Engine>>);

/// What a root device and its parts have in common for system management and tools.
struct System {
    profile: Arc<DeviceProfile>,
    /// What the commands of all streams keep busy.
    activity: Arc<Activity>,
    parts: Slow<Sysman>,
    metrics: Slow<Metrics>,
}

/// A root device that is to be made.
pub struct RootDevice<'a> {
    pub profile: DeviceProfile,
    /// Its number on the machine.
    pub number: u8,
    pub hierarchy: Hierarchy,
    /// Those of its parts that a program sees, ascending; none where it sees nothing of the device.
    pub visible: &'a [u32],
    /// A device of the same limits, whose engine is used.
    pub like: Option<&'a Device>,
    /// What its memory is part of.
    pub memory: Option<Arc<Budget>>,
}

/// A device.
pub struct Device {
    profile: Arc<DeviceProfile>,
    place: Place,
    hierarchy: Hierarchy,
    /// The device that this is a part of.
    root: Option<Weak<Device>>,
    /// Parts of this device, which a program sees as devices.
    parts: Vec<Arc<Device>>,
    /// How many there are, whatever of them is seen.
    all_parts: u32,
    /// Of device and shared memory: what the device reports.
    memory: Arc<Budget>,
    clock: DeviceClock,
    engine: Arc<LazyEngine>,
    streams: Mutex<Vec<Weak<Stream>>>,
    /// What the ordinals of the device's queues name, each with the one index that it has.
    queue_engines: [EngineId; QUEUE_GROUPS.len()],
    /// Of the root device.
    system: Arc<System>,
    handle: OnceLock<usize>,
    vertex: Vertex,
}

object!(Device, Device, ze_device_handle_t);

impl Device {
    /// A machine's only device, with all its parts.
    pub fn new(profile: DeviceProfile) -> Arc<Self> {
        let visible: Vec<u32> = (0..profile.parts()).collect();
        let hierarchy = profile.sub_devices.hierarchy;
        Self::root(RootDevice { profile, number: 0, hierarchy, visible: &visible, like: None, memory: None })
    }

    /// A root device and what is seen of its parts.
    pub fn root(made: RootDevice) -> Arc<Self> {
        let RootDevice { profile: whole, number, hierarchy, visible, like, memory } = made;
        let (all_parts, seen) = (whole.parts(), visible.len() as u32);
        let place = Place { root: number, part: None };
        let engine = like.map_or_else(Arc::default, |like| Arc::clone(&like.engine));
        // Of a device that is not seen there is all: system management shows it.
        let own = Arc::new(whole.share(if seen == 0 { all_parts } else { seen }));
        let system = Arc::new(System {
            profile: Arc::clone(&own),
            activity: Arc::default(),
            parts: Slow::default(),
            metrics: Slow::default(),
        });
        let device = |profile: Arc<DeviceProfile>, place, memory: Option<Arc<Budget>>| Self {
            clock: DeviceClock::new(&profile),
            memory: Arc::new(Budget::within(profile.memory.total_size, memory)),
            profile,
            place,
            hierarchy,
            root: None,
            parts: Vec::new(),
            all_parts,
            engine: Arc::clone(&engine),
            streams: Mutex::default(),
            queue_engines: QUEUE_GROUPS.map(|_| EngineId::new()),
            system: Arc::clone(&system),
            handle: OnceLock::new(),
            vertex: Vertex::default(),
        };
        if !has_sub_devices(hierarchy, visible.len(), all_parts) {
            let part = visible.first().filter(|_| all_parts > 1 && seen == 1).map(|&part| part as u8);
            return Arc::new(device(own, Place { part, ..place }, memory));
        }
        let share = Arc::new(whole.share(1));
        Arc::new_cyclic(|root| {
            let mut own = device(own, place, memory);
            let part = |&number: &u32| {
                let place = Place { part: Some(number as u8), ..place };
                let part = device(Arc::clone(&share), place, Some(Arc::clone(&own.memory)));
                Arc::new(Self { root: Some(Weak::clone(root)), ..part })
            };
            own.parts = visible.iter().map(part).collect();
            own
        })
    }

    /// The handle, the same for the life of the process.
    pub fn handle(self: &Arc<Self>) -> Result<ze_device_handle_t> {
        if let Some(&handle) = self.handle.get() {
            return Ok(handle as ze_device_handle_t);
        }
        let handle = handle::publish(Arc::clone(self))?;
        Ok(*self.handle.get_or_init(|| handle as usize) as ze_device_handle_t)
    }

    pub(crate) fn vertex(&self) -> &Vertex {
        &self.vertex
    }

    pub fn profile(&self) -> &Arc<DeviceProfile> {
        &self.profile
    }

    pub fn place(&self) -> Place {
        self.place
    }

    /// Its parts that are seen, whether or not the hierarchy lets programs go from one to the other.
    pub fn parts(&self) -> &[Arc<Device>] {
        &self.parts
    }

    /// How many parts it has, seen or not: 1 where it has no sub-devices.
    pub fn all_parts(&self) -> u32 {
        self.all_parts
    }

    /// `zeDeviceGetSubDevices`: in the flat hierarchy nothing leads from a device to its parts.
    pub fn sub_devices(&self) -> &[Arc<Device>] {
        if self.hierarchy == Hierarchy::Flat { &[] } else { &self.parts }
    }

    /// `zeDeviceGetRootDevice`: none for a device that is no sub-device.
    pub fn root_device(&self) -> Option<Arc<Device>> {
        if self.hierarchy == Hierarchy::Flat { None } else { self.whole() }
    }

    /// Whether it is a part of a device that is seen, too.
    pub fn is_part(&self) -> bool {
        self.root.is_some()
    }

    /// Whether programs are told that the device is a sub-device.
    pub fn is_sub_device(&self) -> bool {
        self.is_part() && self.hierarchy != Hierarchy::Flat
    }

    /// The device that this is a part of, in every hierarchy.
    pub fn whole(&self) -> Option<Arc<Device>> {
        self.root.as_ref()?.upgrade()
    }

    /// Whether both are the same root device or parts of it.
    pub fn is_of_the_same_root(&self, other: &Self) -> bool {
        self.place.root == other.place.root
    }

    /// What its device and shared memory is counted against.
    pub(crate) fn memory(&self) -> &Arc<Budget> {
        &self.memory
    }

    pub fn clock(&self) -> &DeviceClock {
        &self.clock
    }

    /// What compiles and runs kernels. Devices of one machine share it, and with it its threads.
    pub fn engine(&self) -> &Arc<Engine> {
        let LazyEngine(engine) = &*self.engine;
        engine.get_or_init(|| {
            let (defaults, compute) = (EngineConfig::default(), &self.profile.compute);
            Engine::new(EngineConfig {
                threads: env::threads().unwrap_or(defaults.threads),
                cache_dir: env::cache_dir(),
                dump: env::dump(),
                isa: env::isa(),
                tiering: env::tiering(),
                max_group_size: compute.max_total_group_size,
                max_group_dimensions: compute.max_group_size,
                max_group_count: compute.max_group_count,
                max_local_bytes: compute.max_shared_local_memory.into(),
                print_bytes: self.profile.module.printf_buffer_size,
                ..defaults
            })
        })
    }

    /// How long the device's engines were busy.
    pub fn activity(&self) -> &Activity {
        &self.system.activity
    }

    /// What system management knows of the device, which for a part is what it knows of the whole.
    pub fn sysman(&self) -> &Sysman {
        let System { profile, activity, parts, .. } = &*self.system;
        parts.get_or_init(|| Sysman::discover(&Roots::default(), profile, activity))
    }

    /// What is measured of the device: of a part what is measured of the whole.
    pub fn metrics(&self) -> &Metrics {
        let System { activity, metrics, .. } = &*self.system;
        metrics.get_or_init(|| Metrics::discover(activity, self.clock))
    }

    /// A stream for a queue or an immediate list of a group.
    pub fn new_stream(&self, group: QueueGroup, priority: Priority) -> Arc<Stream> {
        let stream =
            Stream::with_priority(self.queue_engines[group as usize], &self.system.activity, priority);
        let mut streams = self.streams.lock();
        streams.retain(|stream| stream.strong_count() != 0);
        streams.push(Arc::downgrade(&stream));
        stream
    }

    /// The streams of all queues and immediate lists, those of its parts included.
    pub fn streams(&self) -> Vec<Arc<Stream>> {
        let mut streams: Vec<_> = self.streams.lock().iter().filter_map(Weak::upgrade).collect();
        streams.extend(self.parts.iter().flat_map(|part| part.streams()));
        streams
    }

    /// `zeDeviceSynchronize`.
    pub fn synchronize(&self) -> Result<()> {
        self.streams().iter().map(|stream| stream.synchronize(u64::MAX)).fold(Ok(()), Result::and)
    }

    /// The group of an ordinal.
    pub fn queue_group(&self, ordinal: u32) -> Result<QueueGroup> {
        let group = QUEUE_GROUPS.get(ordinal as usize).copied();
        group.ok_or_else(|| {
            let count = QUEUE_GROUPS.len();
            Error::InvalidArgument(format!("queue group {ordinal}: the device has {count}, from 0 on"))
        })
    }

    /// Checks the index of a queue in its group.
    pub fn check_queue_index(&self, index: u32) -> Result<()> {
        if index < QUEUES_OF_A_GROUP {
            return Ok(());
        }
        Err(Error::InvalidArgument(format!("queue {index}: the group has {QUEUES_OF_A_GROUP}")))
    }
}
