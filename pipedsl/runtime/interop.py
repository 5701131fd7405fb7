"""Arrays of other libraries, without copies: DLPack, and ``__cuda_array_interface__``."""

from __future__ import annotations

import ctypes
import math
from typing import Any

import numpy as np

from pipedsl.core.errors import DeviceError
from pipedsl.runtime import dlpack
from pipedsl.runtime.arrays import DeviceArray, supported_dtype
from pipedsl.runtime.device import Device

_OWN = (np.ndarray, np.generic, DeviceArray, bool, int, float)


def is_foreign(value: Any) -> bool:
    """Whether `value` is an array of another library."""
    kind = type(value)
    if issubclass(kind, _OWN):
        return False
    return hasattr(kind, "__dlpack__") or hasattr(value, "__cuda_array_interface__")


def borrow(device: Device, value: Any) -> DeviceArray:
    """The memory of another library's array as an array of `device`.

    Raises
    ------
    DeviceError
        If the array is elsewhere, is not C-contiguous, or has a dtype that kernels lack.
    """
    if hasattr(type(value), "__dlpack__"):
        lent = dlpack.take(value.__dlpack__())
        return _from_lent(device, lent)
    interface = getattr(value, "__cuda_array_interface__", None)
    if interface is None:
        raise DeviceError(
            f"a {type(value).__name__} lends no memory.",
            fix="pass an array with __dlpack__ or __cuda_array_interface__, or use to_device().",
        )
    return _from_interface(device, value, interface)


def host_or_device(device: Device, value: Any) -> np.ndarray | DeviceArray:
    """An argument of a launch: memory of the host as a NumPy array, other memory as `borrow`."""
    if not hasattr(type(value), "__dlpack__") or value.__dlpack_device__()[0] != dlpack.CPU:
        return borrow(device, value)
    return _host_array(dlpack.take(value.__dlpack__()))


def _host_array(lent: dlpack.Lent) -> np.ndarray:
    nbytes = math.prod(lent.shape) * lent.dtype.itemsize
    if not nbytes:
        return np.empty(lent.shape, lent.dtype)
    buffer = (ctypes.c_uint8 * nbytes).from_address(lent.address)
    buffer.lent = lent  # type: ignore[attr-defined]  # the memory lives as long as the array
    return np.frombuffer(memoryview(buffer), lent.dtype).reshape(lent.shape)


def _from_lent(device: Device, lent: dlpack.Lent) -> DeviceArray:
    kind, number = device.dlpack_device
    if lent.device != (kind, number):
        names = {dlpack.CPU: "the host", dlpack.ROCM: f"AMD GPU {lent.device[1]}"}
        place = names.get(lent.device[0], f"a device of DLPack's type {lent.device[0]}")
        raise DeviceError(
            f"the array is in the memory of {place}, and the device is {device.name}.",
            fix="copy it with to_device(), or choose its device with use_device().",
        )
    if kind == dlpack.CPU:
        return DeviceArray.around(device, _host_array(lent))
    return DeviceArray(device, lent.shape, lent.dtype, lent.address, lent.give_back)


def _from_interface(device: Device, value: Any, interface: dict[str, Any]) -> DeviceArray:
    if device.dlpack_device[0] != dlpack.ROCM:
        raise DeviceError(
            f"the array is in the memory of a GPU, and the device is {device.name}.",
            fix="copy it to the host first.",
        )
    shape, dtype = tuple(interface["shape"]), supported_dtype(interface["typestr"])
    strides = interface.get("strides")
    dense = tuple(math.prod(shape[axis + 1 :]) * dtype.itemsize for axis in range(len(shape)))
    if strides is not None and tuple(strides) != dense:
        raise DeviceError(
            f"the array of shape {shape} is not C-contiguous.",
            fix="make it contiguous in its own library.",
        )
    stream = interface.get("stream")
    if stream is not None:
        device.synchronize(stream)
    return DeviceArray(device, shape, dtype, interface["data"][0], [value].clear)
