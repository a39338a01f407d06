//! Devices: a profile, the engine that executes, and the streams that are alive.

use crate::clock::DeviceClock;
use crate::env;
use crate::error::{Error, Result};
use crate::fork::{Mutex, OnceLock, Slow};
use crate::handle::{self, object};
use crate::signal::EngineId;
use crate::stream::Stream;
use crate::sysman::Sysman;
use crate::sysman::activity::Activity;
use crate::sysman::roots::Roots;
use std::sync::{Arc, Weak};
use ze_engine::{Engine, EngineConfig};
use ze_extensions::DeviceProfile;
use ze_headers::ze_device_handle_t;

/// Queues that a program can tell apart by index. Each one that it creates executes by itself all the same.
pub const QUEUES_OF_THE_GROUP: u32 = 1;

/// The device.
pub struct Device {
    profile: Arc<DeviceProfile>,
    clock: DeviceClock,
    /// Created by the first module: a program that only looks at devices starts no threads.
    engine: OnceLock<Arc<Engine>>,
    streams: Mutex<Vec<Weak<Stream>>>,
    /// What the one ordinal and index of the device's queues name.
    queue_engine: EngineId,
    /// What the commands of all streams keep busy.
    activity: Arc<Activity>,
    sysman: Slow<Sysman>,
    handle: OnceLock<usize>,
}

object!(Device, Device, ze_device_handle_t);

impl Device {
    pub fn new(profile: DeviceProfile) -> Arc<Self> {
        Arc::new(Self {
            clock: DeviceClock::new(&profile),
            profile: Arc::new(profile),
            engine: OnceLock::new(),
            streams: Mutex::default(),
            queue_engine: EngineId::new(),
            activity: Arc::default(),
            sysman: Slow::default(),
            handle: OnceLock::new(),
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

    /// A stream for a queue or an immediate list.
    pub fn new_stream(&self) -> Arc<Stream> {
        let stream = Stream::new(self.queue_engine, &self.activity);
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

    /// Checks the number of a queue group: there is one.
    pub fn check_queue_ordinal(&self, ordinal: u32) -> Result<()> {
        match ordinal {
            0 => Ok(()),
            ordinal => {
                Err(Error::InvalidArgument(format!("queue group {ordinal}: the device has one, group 0")))
            }
        }
    }

    /// Checks the index of a queue in its group.
    pub fn check_queue_index(&self, index: u32) -> Result<()> {
        if index < QUEUES_OF_THE_GROUP {
            return Ok(());
        }
        Err(Error::InvalidArgument(format!("queue {index}: the group has {QUEUES_OF_THE_GROUP}")))
    }
}
