"""Devices and what lives on them: arrays, streams, events."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from pipedsl.runtime.arrays import DeviceArray, new_array
from pipedsl.runtime.device import Device, Event, Executable, Stream, stream_pointer
from pipedsl.runtime.devices import Candidate, candidates, get_device, use_device

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
    "get_device",
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


def synchronize() -> None:
    """Wait for all work of the current device; errors of that work are raised here."""
    get_device().synchronize()


def stream() -> Stream:
    """A new queue of the current device, for ``kernel[grid, block, stream]``."""
    return get_device().stream()


def event() -> Event:
    """A new marker of the current device, for timing and for waiting."""
    return get_device().event()
