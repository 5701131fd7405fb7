"""Arrays in device memory."""

from __future__ import annotations

import math
import operator
import weakref
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from pipedsl.core.dtypes import DTYPES
from pipedsl.core.errors import DeviceError
from pipedsl.core.html import Shown
from pipedsl.runtime import dlpack
from pipedsl.runtime.device import Device, stream_pointer


class DeviceArray(Shown):
    """A C-contiguous array in the memory of one device; made by `to_device` or `device_array`.

    Parameters
    ----------
    device, shape, dtype
    lent : int, optional
        Address of memory that is another's; the array allocates its own by default.
    give_back : callable, optional
        Called when lent memory is not used any more.

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

    def __init__(
        self,
        device: Device,
        shape: tuple[int, ...],
        dtype: np.dtype,
        lent: int | None = None,
        give_back: Callable[[], Any] | None = None,
    ) -> None:
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
        if lent is None:
            name = f"{dtype.name} array of shape {shape}"
            lent = device.allocate(self.nbytes, name, dtype.itemsize)
            give_back = partial(device.free, lent)
        assert give_back is not None
        self._release = weakref.finalize(self, give_back)
        self._address: int | None = lent
        self._release.atexit = False

    @classmethod
    def around(cls, device: Any, array: np.ndarray) -> DeviceArray:
        """The bytes of a C-contiguous NumPy array as an array of a simulated device, in place."""
        address = device.memory.map(array, f"{array.dtype.name} array of shape {array.shape}")
        return cls(device, array.shape, array.dtype, address, partial(device.free, address))

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

    def copy_to_host(
        self, out: np.ndarray | None = None, stream: Any = None, *, wait: bool = True
    ) -> np.ndarray:
        """Copy to a NumPy array.

        Parameters
        ----------
        out : numpy.ndarray, optional
            Array of the same shape and dtype to fill (any strides); a new one by default.
        stream : optional
            The copy waits for the work in this stream.
        wait : bool
            False returns while the copy may still run: `out`, C-contiguous and best from
            `pinned_array`, holds the result after ``stream.synchronize()``.

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
            self.device.copy_to_host(out, address, pointer, wait)
        elif not wait:
            raise _not_dense("out")
        else:
            dense = np.empty(self.shape, self.dtype)
            self.device.copy_to_host(dense, address, pointer)
            out[...] = dense
        return out

    def copy_from_host(self, source: np.ndarray, stream: Any = None, *, wait: bool = True) -> None:
        """Copy from `source`, an array of the same shape and dtype (any strides).

        With ``wait=False`` it returns while the copy may still run: `source` must be C-contiguous, best
        from `pinned_array`, and stay as it is until ``stream.synchronize()``.
        """
        address, pointer = self.address, stream_pointer(stream)
        self._check(source, "source")
        if not wait and not source.flags.c_contiguous:
            raise _not_dense("source")
        self.device.copy_to_device(address, np.ascontiguousarray(source), pointer, wait)

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        """For PyTorch and others; absent on a simulated device, whose memory is the host's."""
        if self.device.dlpack_device[0] != dlpack.ROCM:
            raise AttributeError("__cuda_array_interface__ is of arrays on a GPU")
        return {
            "shape": self.shape, "typestr": self.dtype.str, "data": (self.address, False),
            "strides": None, "version": 3, "stream": None,
        }  # fmt: skip

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.device.dlpack_device

    def __dlpack__(self, **options: Any) -> Any:
        """A DLPack capsule; on a simulated device of the host's memory."""
        device = self.device.dlpack_device
        if options.get("dl_device") not in (None, device):
            raise BufferError(f"the array is on {self.device.name}")
        self.device.synchronize()
        address = self.device.host_address(self.address, self.nbytes)
        return dlpack.export(self, address, self.shape, self.dtype, device)

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


def _not_dense(name: str) -> DeviceError:
    return DeviceError(
        f"{name} is not C-contiguous, so the copy needs time of its own.",
        fix="pass a C-contiguous array, or leave out wait=False.",
    )


def new_array(device: Device, shape: int | Sequence[int], dtype: Any) -> DeviceArray:
    """An uninitialised array on `device`; checks `shape` and `dtype`."""
    return DeviceArray(device, checked_shape(shape), supported_dtype(dtype))


def checked_shape(shape: int | Sequence[int]) -> tuple[int, ...]:
    """`shape` as a tuple.

    Raises
    ------
    DeviceError
        If it does not hold non-negative integers.
    """
    try:
        extents = tuple(
            operator.index(extent)
            for extent in (shape if isinstance(shape, Sequence) else (shape,))
        )
    except TypeError:
        raise DeviceError(f"the shape {shape!r} must hold integers.") from None
    if any(extent < 0 for extent in extents):
        raise DeviceError(f"the shape {extents} has a negative extent.")
    return extents


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
