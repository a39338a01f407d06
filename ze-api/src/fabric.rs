//! `zeFabric*`.

use ze_core::device::Device;
use ze_core::driver::Driver;
use ze_core::error::Result;
use ze_core::fabric::{FabricEdge, FabricVertex};
use ze_core::handle;
use ze_headers::*;

use crate::args::{list, output};

/// `zeFabricVertexGetExp`.
pub unsafe fn zeFabricVertexGetExp(
    hDriver: ze_driver_handle_t,
    pCount: *mut u32,
    phVertices: *mut ze_fabric_vertex_handle_t,
) -> Result<()> {
    let driver = handle::get::<Driver>(hDriver)?;
    let devices = driver.devices();
    // SAFETY: the caller passes null or valid pointers.
    unsafe {
        list(pCount, phVertices, devices.len(), |index, out| {
            *out = devices[index].fabric_vertex()?;
            Ok(())
        })
    }
}

/// `zeFabricVertexGetSubVerticesExp`: those of the sub-devices.
pub unsafe fn zeFabricVertexGetSubVerticesExp(
    hVertex: ze_fabric_vertex_handle_t,
    pCount: *mut u32,
    phSubvertices: *mut ze_fabric_vertex_handle_t,
) -> Result<()> {
    let device = handle::get::<FabricVertex>(hVertex)?.device()?;
    let parts = device.sub_devices();
    // SAFETY: the caller passes null or valid pointers.
    unsafe {
        list(pCount, phSubvertices, parts.len(), |index, out| {
            *out = parts[index].fabric_vertex()?;
            Ok(())
        })
    }
}

/// `zeFabricVertexGetPropertiesExp`.
pub unsafe fn zeFabricVertexGetPropertiesExp(
    hVertex: ze_fabric_vertex_handle_t,
    pVertexProperties: *mut ze_fabric_vertex_exp_properties_t,
) -> Result<()> {
    let vertex = handle::get::<FabricVertex>(hVertex)?;
    // SAFETY: the caller passes null or a valid structure.
    vertex.properties(unsafe { output(pVertexProperties, "pVertexProperties") }?)
}

/// `zeFabricVertexGetDeviceExp`.
pub unsafe fn zeFabricVertexGetDeviceExp(
    hVertex: ze_fabric_vertex_handle_t,
    phDevice: *mut ze_device_handle_t,
) -> Result<()> {
    let vertex = handle::get::<FabricVertex>(hVertex)?;
    // SAFETY: the caller passes null or a valid pointer.
    let out = unsafe { output(phDevice, "phDevice") }?;
    *out = vertex.device()?.handle()?;
    Ok(())
}

/// `zeDeviceGetFabricVertexExp`.
pub unsafe fn zeDeviceGetFabricVertexExp(
    hDevice: ze_device_handle_t,
    phVertex: *mut ze_fabric_vertex_handle_t,
) -> Result<()> {
    let device = handle::get::<Device>(hDevice)?;
    // SAFETY: the caller passes null or a valid pointer.
    let out = unsafe { output(phVertex, "phVertex") }?;
    *out = device.fabric_vertex()?;
    Ok(())
}

/// `zeFabricEdgeGetExp`: none.
pub unsafe fn zeFabricEdgeGetExp(
    hVertexA: ze_fabric_vertex_handle_t,
    hVertexB: ze_fabric_vertex_handle_t,
    pCount: *mut u32,
    phEdges: *mut ze_fabric_edge_handle_t,
) -> Result<()> {
    handle::get::<FabricVertex>(hVertexA)?;
    handle::get::<FabricVertex>(hVertexB)?;
    // SAFETY: the caller passes null or valid pointers.
    unsafe { list(pCount, phEdges, 0, |_, _| Ok(())) }
}

/// `zeFabricEdgeGetVerticesExp`.
pub unsafe fn zeFabricEdgeGetVerticesExp(
    hEdge: ze_fabric_edge_handle_t,
    _phVertexA: *mut ze_fabric_vertex_handle_t,
    _phVertexB: *mut ze_fabric_vertex_handle_t,
) -> Result<()> {
    handle::get::<FabricEdge>(hEdge).map(drop)
}

/// `zeFabricEdgeGetPropertiesExp`.
pub unsafe fn zeFabricEdgeGetPropertiesExp(
    hEdge: ze_fabric_edge_handle_t,
    _pEdgeProperties: *mut ze_fabric_edge_exp_properties_t,
) -> Result<()> {
    handle::get::<FabricEdge>(hEdge).map(drop)
}
