//! The fabric: each device is a vertex of it, and there is no edge, as what links devices of a CPU is its memory.

use crate::device::Device;
use crate::error::Result;
use crate::fork::OnceLock;
use crate::handle::{self, object};
use crate::pnext::structures;
use std::sync::{Arc, Weak};
use ze_headers::*;

structures! {
    ze_fabric_vertex_exp_properties_t = ZE_STRUCTURE_TYPE_FABRIC_VERTEX_EXP_PROPERTIES;
}

/// The vertex that a device is.
pub struct FabricVertex {
    device: Weak<Device>,
}

object!(FabricVertex, FabricVertex, ze_fabric_vertex_handle_t);

/// A link between vertices: there is none, so that every handle is refused as the invalid one it is.
pub enum FabricEdge {}

object!(FabricEdge, FabricEdge, ze_fabric_edge_handle_t);

impl FabricVertex {
    /// `zeFabricVertexGetDeviceExp`.
    pub fn device(&self) -> Result<Arc<Device>> {
        self.device.upgrade().ok_or(crate::error::Error::Uninitialized)
    }

    /// `zeFabricVertexGetPropertiesExp`.
    pub fn properties(&self, out: &mut ze_fabric_vertex_exp_properties_t) -> Result<()> {
        out.uuid.id = self.device()?.uuid();
        out.type_ = match self.device()?.is_part() {
            true => ZE_FABRIC_VERTEX_EXP_TYPE_SUBDEVICE,
            false => ZE_FABRIC_VERTEX_EXP_TYPE_DEVICE,
        };
        out.remote = 0;
        let [domain, bus, device, function] = self.device()?.pci_address();
        out.address = ze_fabric_vertex_pci_exp_address_t { domain, bus, device, function };
        Ok(())
    }
}

/// A device's vertex, the same for the life of the process.
#[derive(Default)]
pub struct Vertex(OnceLock<usize>);

impl Device {
    /// `zeDeviceGetFabricVertexExp`.
    pub fn fabric_vertex(self: &Arc<Self>) -> Result<ze_fabric_vertex_handle_t> {
        let Vertex(vertex) = self.vertex();
        if let Some(&handle) = vertex.get() {
            return Ok(handle as ze_fabric_vertex_handle_t);
        }
        let handle = handle::publish(Arc::new(FabricVertex { device: Arc::downgrade(self) }))?;
        Ok(*vertex.get_or_init(|| handle as usize) as ze_fabric_vertex_handle_t)
    }
}
