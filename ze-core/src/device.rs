//! Devices: a profile, the engine that executes, and the streams that are alive.

use crate::clock::DeviceClock;
use crate::env;
use crate::error::{Error, Result};
use crate::fabric::Vertex;
use crate::fork::{Mutex, OnceLock, Slow};
use crate::handle::{self, object};
use crate::signal::EngineId;
use crate::stream::{Priority, Stream};
use crate::sysman::Sysman;
use crate::sysman::activity::Activity;
use crate::sysman::roots::Roots;
use std::sync::{Arc, Weak};
use ze_engine::{Engine, EngineConfig};
use ze_extensions::DeviceProfile;
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

/// The device.
pub struct Device {
    profile: Arc<DeviceProfile>,
    clock: DeviceClock,
    /// Created by the first module: a program that only looks at devices starts no threads.
    engine: OnceLock<Arc<Engine>>,
    streams: Mutex<Vec<Weak<Stream>>>,
    /// What the ordinals of the device's queues name, each with the one index that it has.
    queue_engines: [EngineId; QUEUE_GROUPS.len()],
    /// What the commands of all streams keep busy.
    activity: Arc<Activity>,
    sysman: Slow<Sysman>,
    handle: OnceLock<usize>,
    vertex: Vertex,
}

object!(Device, Device, ze_device_handle_t);

impl Device {
    pub fn new(profile: DeviceProfile) -> Arc<Self> {
        Arc::new(Self {
            clock: DeviceClock::new(&profile),
            profile: Arc::new(profile),
            engine: OnceLock::new(),
            streams: Mutex::default(),
            queue_engines: QUEUE_GROUPS.map(|_| EngineId::new()),
            activity: Arc::default(),
            sysman: Slow::default(),
            handle: OnceLock::new(),
            vertex: Vertex::default(),
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

    pub fn clock(&self) -> &DeviceClock {
        &self.clock
    }

    /// What compiles and runs kernels.
    pub fn engine(&self) -> &Arc<Engine> {
        self.engine.get_or_init(|| {
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
        &self.activity
    }

    /// What system management knows of the device.
    pub fn sysman(&self) -> &Sysman {
        self.sysman.get_or_init(|| Sysman::discover(&Roots::default(), &self.profile, &self.activity))
    }

    /// A stream for a queue or an immediate list of a group.
    pub fn new_stream(&self, group: QueueGroup, priority: Priority) -> Arc<Stream> {
        let stream = Stream::with_priority(self.queue_engines[group as usize], &self.activity, priority);
        let mut streams = self.streams.lock();
        streams.retain(|stream| stream.strong_count() != 0);
        streams.push(Arc::downgrade(&stream));
        stream
    }

    /// The streams of all queues and immediate lists.
    pub fn streams(&self) -> Vec<Arc<Stream>> {
        self.streams.lock().iter().filter_map(Weak::upgrade).collect()
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
