"""Devices and what lives on them: arrays, streams, events."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from pipedsl.runtime.arrays import DeviceArray, checked_shape, new_array, supported_dtype
from pipedsl.runtime.device import Device, Event, Executable, Stream, stream_pointer
from pipedsl.runtime.devices import Candidate, candidates, get_device, use_device
from pipedsl.runtime.interop import borrow, host_or_device, is_foreign

__all__ = [
    "Candidate",
    "Device",
    "DeviceArray",
    "Event",
    "Executable",
    "Stream",
    "candidates",
    "device_array",
    "event",
    "from_dlpack",
    "get_device",
    "host_or_device",
    "is_foreign",
    "pinned_array",
    "stream",
    "stream_pointer",
    "synchronize",
    "to_device",
    "use_device",
]


def to_device(array: Any, stream: Any = None) -> DeviceArray:
    """Copy a NumPy array (any strides) to the current device.

    Raises
    ------
    DeviceError
        If the dtype is not one that kernels have.
    """
    source = np.asarray(array)
    target = new_array(get_device(), source.shape, source.dtype)
    target.copy_from_host(source, stream)
    return target


def device_array(shape: int | Sequence[int], dtype: Any) -> DeviceArray:
    """An uninitialised array on the current device.

    Raises
    ------
    DeviceError
        If the shape is not of non-negative integers, or the dtype not one that kernels have.
    """
    return new_array(get_device(), shape, dtype)


def pinned_array(shape: int | Sequence[int], dtype: Any) -> np.ndarray:
    """A NumPy array that copies to and from the current device reach directly.

    On a GPU its memory is locked by HIP, so that copies with ``wait=False`` run beside other work; on
    a simulated device it is an ordinary array.

    Raises
    ------
    DeviceError
        As `device_array`.
    """
    extents = checked_shape(shape)
    return get_device().host_array(extents, supported_dtype(dtype))


def from_dlpack(array: Any) -> DeviceArray:
    """The memory of another library's array as an array of the current device, without a copy.

    Takes objects with ``__dlpack__`` or ``__cuda_array_interface__``: PyTorch and CuPy on ROCm for a
    GPU, NumPy and whatever lives in the host's memory for a simulated device. The other library's
    array must not be freed by force while this one is used.

    Raises
    ------
    DeviceError
        If the array is elsewhere, is not C-contiguous, or has a dtype that kernels lack.
    """
    return borrow(get_device(), array)


def synchronize() -> None:
    """Wait for all work of the current device; errors of that work are raised here."""
    get_device().synchronize()


def stream() -> Stream:
    """A new queue of the current device, for ``kernel[grid, block, stream]``."""
    return get_device().stream()


def event() -> Event:
    """A new marker of the current device, for timing and for waiting."""
    return get_device().event()
