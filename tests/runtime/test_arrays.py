"""Device arrays, on the simulator."""

from __future__ import annotations

import gc

import numpy as np
import pytest

import pipedsl
from pipedsl import DeviceError, config


@pytest.fixture(autouse=True)
def simulator():
    with pipedsl.use_device("sim:gfx942") as device:
        yield device


def test_a_round_trip_keeps_values_dtype_and_shape() -> None:
    host = np.arange(24, dtype=np.float16).reshape(2, 3, 4)
    array = pipedsl.to_device(host)
    back = array.copy_to_host()
    np.testing.assert_array_equal(back, host)
    assert (back.dtype, array.shape, array.strides) == (host.dtype, host.shape, host.strides)
    assert (array.ndim, array.size, array.nbytes, len(array)) == (3, 24, 48, 2)


def test_strided_sources_and_targets() -> None:
    host = np.arange(20, dtype=np.int32).reshape(4, 5)
    array = pipedsl.to_device(host.T[::-1])
    out = np.zeros((10, 4), np.int32)
    assert array.copy_to_host(out[::2]) is not None
    np.testing.assert_array_equal(out[::2], host.T[::-1])
    assert not out[1::2].any()


def test_copy_from_host_replaces_the_content() -> None:
    array = pipedsl.device_array((3,), np.int64)
    array.copy_from_host(np.array([1, 2, 3]))
    assert array.copy_to_host().tolist() == [1, 2, 3]


@pytest.mark.parametrize("shape", [0, (0,), (3, 0)])
def test_empty_arrays(shape: object) -> None:
    array = pipedsl.device_array(shape, np.float32)
    assert array.copy_to_host().size == 0


def test_a_freed_array_cannot_be_used() -> None:
    array = pipedsl.to_device(np.zeros(4, np.float32))
    array.free()
    array.free()
    with pytest.raises(DeviceError, match=r"the device array of shape \(4,\) was freed"):
        array.copy_to_host()
    with pytest.raises(DeviceError, match="was freed"):
        array.copy_from_host(np.zeros(4, np.float32))
    assert repr(array) == "DeviceArray(shape=(4,), dtype=float32, sim:gfx942, freed)"


def test_memory_is_given_back_with_the_last_reference(simulator) -> None:
    array = pipedsl.to_device(np.zeros(4, np.float32))
    address = array.address
    assert simulator.memory.view(address, 16).size == 16
    del array
    gc.collect()
    with pytest.raises(DeviceError):
        simulator.memory.view(address, 16)


@pytest.mark.parametrize(
    ("dtype", "shown"),
    [("complex64", "complex64"), ("datetime64[s]", "datetime64"), (">i4", ">i4")],
)
def test_dtypes_that_kernels_lack(dtype: str, shown: str) -> None:
    with pytest.raises(DeviceError, match=rf"dtype {shown}.* is not supported") as caught:
        pipedsl.to_device(np.zeros(2, dtype))
    assert "float16" in caught.value.fix


def test_shapes_that_are_none() -> None:
    with pytest.raises(DeviceError, match=r"the shape \(2, -1\) has a negative extent"):
        pipedsl.device_array((2, -1), np.int32)
    with pytest.raises(DeviceError, match=r"the shape 2.5 must hold integers"):
        pipedsl.device_array(2.5, np.int32)


def test_copies_check_shape_dtype_and_access() -> None:
    array = pipedsl.to_device(np.zeros(4, np.float32))
    with pytest.raises(DeviceError, match=r"out has shape \(5,\) and dtype float32; the device"):
        array.copy_to_host(np.zeros(5, np.float32))
    with pytest.raises(DeviceError, match="source has shape .* and dtype int32; the device array"):
        array.copy_from_host(np.zeros(4, np.int32))
    with pytest.raises(DeviceError, match="out must be a NumPy array, not list"):
        array.copy_to_host([0, 0, 0, 0])
    locked = np.zeros(4, np.float32)
    locked.flags.writeable = False
    with pytest.raises(DeviceError, match="out is read-only"):
        array.copy_to_host(locked)


def test_numpy_can_take_a_device_array() -> None:
    array = pipedsl.to_device(np.array([1, 2, 3], np.int32))
    np.testing.assert_array_equal(np.asarray(array), [1, 2, 3])
    assert np.asarray(array, np.float64).dtype == np.float64
    with pytest.raises(ValueError, match="can only be copied"):
        np.array(array, copy=False)


def test_events_and_streams_of_the_simulator() -> None:
    start, end, stream = pipedsl.event(), pipedsl.event(), pipedsl.stream()
    start.record(stream)
    end.record()
    stream.synchronize()
    end.synchronize()
    assert start.elapsed_time(end) >= 0
    with pytest.raises(DeviceError, match="an event was not recorded"):
        start.elapsed_time(pipedsl.event())
    pipedsl.synchronize()
    assert config.device == "sim:gfx942"
