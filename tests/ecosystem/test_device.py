"""The SYCL runtime finds the driver's device, and its memory and queues work through dpctl."""

import dpctl
import dpctl.memory
import numpy as np
import pytest


@pytest.fixture(scope="module")
def device():
    return dpctl.SyclDevice()


def test_level_zero_offers_one_gpu():
    devices = dpctl.get_devices(backend="level_zero", device_type="gpu")
    assert len(devices) >= 1


def test_the_device_describes_itself(device):
    assert device.is_gpu
    assert device.max_work_group_size >= 256
    assert device.local_mem_size >= 32 * 1024
    assert device.global_mem_size > 0
    assert {8, 16, 32} <= set(device.sub_group_sizes)
    assert device.has_aspect_usm_device_allocations
    assert device.has_aspect_usm_host_allocations
    assert device.has_aspect_usm_shared_allocations


@pytest.mark.parametrize("kind", ["Device", "Host", "Shared"])
def test_bytes_go_through_unified_shared_memory(device, kind):
    queue = dpctl.SyclQueue(device, property="in_order")
    data = np.random.default_rng(1).integers(0, 256, 100_003, dtype=np.uint8)
    memory = getattr(dpctl.memory, f"MemoryUSM{kind}")(data.nbytes, queue=queue)
    memory.copy_from_host(data)
    assert np.array_equal(np.asarray(memory.copy_to_host()), data)
    assert memory.get_usm_type() == kind.lower()


@pytest.mark.parametrize("properties", [[], ["in_order"], ["enable_profiling"]])
def test_queues_copy_between_allocations(device, properties):
    queue = dpctl.SyclQueue(device, property=properties) if properties else dpctl.SyclQueue(device)
    source = dpctl.memory.MemoryUSMShared(4096, queue=queue)
    target = dpctl.memory.MemoryUSMDevice(4096, queue=queue)
    data = np.arange(4096, dtype=np.uint32).astype(np.uint8)
    source.copy_from_host(data)
    queue.memcpy(target, source, 4096)
    queue.wait()
    assert np.array_equal(np.asarray(target.copy_to_host()), data)
