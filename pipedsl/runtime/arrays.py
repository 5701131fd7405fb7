"""Arrays in device memory."""

from __future__ import annotations

import math
import operator
import weakref
from collections.abc import Sequence
from typing import Any

import numpy as np

from pipedsl.core.dtypes import DTYPES
from pipedsl.core.errors import DeviceError
from pipedsl.core.html import Shown
from pipedsl.runtime.device import Device, stream_pointer


class DeviceArray(Shown):
    """A C-contiguous array in the memory of one device; made by `to_device` or `device_array`.

    Attributes
    ----------
    device : Device
    shape : tuple of int
    strides : tuple of int
        Bytes.
    dtype : numpy.dtype
    ndim, size, nbytes : int
    kind : tuple
        The dtype and the number of axes.
    """

    def __init__(self, device: Device, shape: tuple[int, ...], dtype: np.dtype) -> None:
        self.device = device
        self.shape = shape
        self.dtype = dtype
        self.ndim = len(shape)
        self.kind = (dtype, self.ndim)
        self.size = math.prod(shape)
        self.nbytes = self.size * dtype.itemsize
        self.strides = tuple(
            dtype.itemsize * math.prod(shape[axis + 1 :]) for axis in range(self.ndim)
        )
        address = device.allocate(
            self.nbytes, f"{dtype.name} array of shape {shape}", dtype.itemsize
        )
        self._address: int | None = address
        self._release = weakref.finalize(self, device.free, address)
        self._release.atexit = False

    @property
    def address(self) -> int:
        """Device address of the first element.

        Raises
        ------
        DeviceError
            After `free`.
        """
        if self._address is None:
            raise DeviceError(
                f"the device array of shape {self.shape} was freed.",
                fix="use an array before its free(), or make a new one.",
            )
        return self._address

    def copy_to_host(self, out: np.ndarray | None = None, stream: Any = None) -> np.ndarray:
        """Copy to a NumPy array and wait for it.

        Parameters
        ----------
        out : numpy.ndarray, optional
            Array of the same shape and dtype to fill (any strides); a new one by default.
        stream : optional
            The copy waits for the work in this stream.

        Returns
        -------
        numpy.ndarray
            `out`, or the new array.
        """
        address, pointer = self.address, stream_pointer(stream)
        if out is None:
            out = np.empty(self.shape, self.dtype)
        self._check(out, "out")
        if not out.flags.writeable:
            raise DeviceError("out is read-only.", fix="pass a writeable array.")
        if out.flags.c_contiguous:
            self.device.copy_to_host(out, address, pointer)
        else:
            dense = np.empty(self.shape, self.dtype)
            self.device.copy_to_host(dense, address, pointer)
            out[...] = dense
        return out

    def copy_from_host(self, source: np.ndarray, stream: Any = None) -> None:
        """Copy from `source`, an array of the same shape and dtype (any strides)."""
        address, pointer = self.address, stream_pointer(stream)
        self._check(source, "source")
        self.device.copy_to_device(address, np.ascontiguousarray(source), pointer)

    def free(self) -> None:
        """Give the memory back now; the array cannot be used afterwards. Twice is allowed."""
        self._address = None
        self._release()

    def _check(self, array: np.ndarray, name: str) -> None:
        if not isinstance(array, np.ndarray):
            raise DeviceError(f"{name} must be a NumPy array, not {type(array).__name__}.")
        if array.shape != self.shape or array.dtype != self.dtype:
            raise DeviceError(
                f"{name} has shape {array.shape} and dtype {array.dtype}; the device array has "
                f"shape {self.shape} and dtype {self.dtype}."
            )

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("len() of an array without dimensions")
        return self.shape[0]

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        if copy is False:
            raise ValueError("a device array can only be copied to the host")
        host = self.copy_to_host()
        return host if dtype is None else host.astype(dtype)

    def __repr__(self) -> str:
        state = "" if self._address is not None else ", freed"
        return f"DeviceArray(shape={self.shape}, dtype={self.dtype}, {self.device.name}{state})"


def new_array(device: Device, shape: int | Sequence[int], dtype: Any) -> DeviceArray:
    """An uninitialised array on `device`; checks `shape` and `dtype`."""
    try:
        extents = tuple(
            operator.index(extent)
            for extent in (shape if isinstance(shape, Sequence) else (shape,))
        )
    except TypeError:
        raise DeviceError(f"the shape {shape!r} must hold integers.") from None
    if any(extent < 0 for extent in extents):
        raise DeviceError(f"the shape {extents} has a negative extent.")
    return DeviceArray(device, extents, supported_dtype(dtype))


def supported_dtype(dtype: Any) -> np.dtype:
    """`dtype` as a NumPy dtype that kernels have.

    Raises
    ------
    DeviceError
        For any other dtype, a foreign byte order included.
    """
    resolved = np.dtype(dtype)
    if resolved.name not in DTYPES or not resolved.isnative:
        raise DeviceError(
            f"dtype {resolved.str if not resolved.isnative else resolved} is not supported.",
            fix=f"use one of {', '.join(DTYPES)}.",
        )
    return resolved
