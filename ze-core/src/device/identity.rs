//! Which device of the machine one is: what tells equal devices, and their parts, apart.

use crate::device::Device;

/// A root device's number and which of its parts one is. They are those of the machine, whatever of it a program sees.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Place {
    pub root: u8,
    /// None for a device of all its parts.
    pub part: Option<u8>,
}

impl Device {
    /// Which part of its root device it is; 0 for a root device, and a part that is one because the mask leaves no other.
    pub fn sub_device_id(&self) -> u32 {
        self.place().part.filter(|_| self.is_part()).unwrap_or(0).into()
    }

    /// 16 bytes that no other device of the machine has, the same in every process, with every mask and hierarchy.
    pub fn uuid(&self) -> [u8; 16] {
        let mut uuid = self.profile().uuid();
        let Place { root, part } = self.place();
        uuid[14] = root;
        uuid[15] = part.map_or(0, |part| part + 1);
        uuid
    }

    /// Domain, bus, device and function on the PCI bus. A processor is none of its devices but what is in front of it, so the first device is where
    /// the host bridge is, and others are at the functions behind that. Programs that pair devices by their addresses take one for granted: Intel MPI does not
    /// start without it. Parts are where their device is.
    pub fn pci_address(&self) -> [u32; 4] {
        const FUNCTIONS: u32 = 8;
        let root = u32::from(self.place().root);
        [0, 0, root / FUNCTIONS, root % FUNCTIONS]
    }
}

/// What nobody knows of the speed of a device's slot: its generation, lanes, and bytes a second.
pub const UNKNOWN_SPEED: i32 = -1;
