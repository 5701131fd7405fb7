"""DLPack's structures and capsules (dlpack.h, version 0.8): how libraries lend each other arrays."""

from __future__ import annotations

import ctypes
import math
import weakref
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from pipedsl.core.dtypes import DTYPES
from pipedsl.core.errors import DeviceError

CPU, ROCM = 1, 10
_CODES = {"int": 0, "uint": 1, "float": 2, "bool": 6}
_BFLOAT = 4


class _Tensor(ctypes.Structure):
    _fields_ = (
        ("data", ctypes.c_void_p), ("device_type", ctypes.c_int32), ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32), ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16), ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)), ("byte_offset", ctypes.c_uint64),
    )  # fmt: skip


_Deleter = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


class _Managed(ctypes.Structure):
    _fields_ = (("tensor", _Tensor), ("context", ctypes.c_void_p), ("deleter", ctypes.c_void_p))


_api = ctypes.pythonapi
_api.PyCapsule_New.restype = ctypes.py_object
_api.PyCapsule_New.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
_api.PyCapsule_IsValid.argtypes = [ctypes.c_void_p, ctypes.c_char_p]
_api.PyCapsule_GetPointer.restype = ctypes.c_void_p
_api.PyCapsule_GetPointer.argtypes = [ctypes.c_void_p, ctypes.c_char_p]
_api.PyCapsule_SetName.argtypes = [ctypes.py_object, ctypes.c_char_p]

_NAME, _USED = b"dltensor", b"used_dltensor"
_lent: dict[int, Any] = {}  # by address of the structure: what must outlive it


@dataclass(frozen=True)
class Lent:
    """An array of another library.

    Attributes
    ----------
    address : int
    shape : tuple of int
    dtype : numpy.dtype
    device : (int, int)
        DLPack's device type and number.
    give_back : callable
        Call when the memory is not used any more; it also happens when this object goes.
    """

    address: int
    shape: tuple[int, ...]
    dtype: np.dtype
    device: tuple[int, int]
    give_back: Callable[[], Any]


@_Deleter
def _forget(address: int) -> None:
    _lent.pop(address, None)


@_Deleter
def _dropped(capsule: int) -> None:
    """A capsule goes that nobody took."""
    if _api.PyCapsule_IsValid(capsule, _NAME):
        _lent.pop(_api.PyCapsule_GetPointer(capsule, _NAME), None)


def export(
    owner: Any, address: int, shape: Sequence[int], dtype: np.dtype, device: tuple[int, int]
) -> Any:
    """A capsule that lends C-contiguous memory; `owner` lives until it is given back.

    Raises
    ------
    BufferError
        For a dtype that DLPack lacks.
    """
    row = DTYPES[dtype.name]
    if dtype.name.startswith("float8"):
        raise BufferError(f"DLPack has no {dtype.name}")
    code = _BFLOAT if dtype.name == "bfloat16" else _CODES[row.kind]
    ndim = len(shape)
    extents = (ctypes.c_int64 * ndim)(*shape)
    strides = (ctypes.c_int64 * ndim)(*(math.prod(shape[axis + 1 :]) for axis in range(ndim)))
    tensor = _Tensor(address, *device, ndim, code, 8 * row.bytes, 1, extents, strides, 0)
    managed = _Managed(tensor, None, ctypes.cast(_forget, ctypes.c_void_p))
    _lent[ctypes.addressof(managed)] = (managed, extents, strides, owner)
    pointer = ctypes.addressof(managed)
    return _api.PyCapsule_New(pointer, _NAME, ctypes.cast(_dropped, ctypes.c_void_p))


def take(capsule: Any) -> Lent:
    """What a capsule lends.

    Raises
    ------
    DeviceError
        If it was taken before, its dtype is unknown or it is not C-contiguous.
    """
    if not _api.PyCapsule_IsValid(id(capsule), _NAME):
        raise DeviceError("the DLPack capsule was used before.", fix="ask for a new one.")
    address = _api.PyCapsule_GetPointer(id(capsule), _NAME)
    managed = _Managed.from_address(address)
    tensor = managed.tensor
    shape = tuple(tensor.shape[axis] for axis in range(tensor.ndim))
    dtype = _dtype(tensor)
    _check_dense(tensor, shape)
    _api.PyCapsule_SetName(capsule, _USED)
    # The name is not copied by Python: it must live as long as the capsule.
    data = (tensor.data or 0) + tensor.byte_offset
    deleter = _Deleter(managed.deleter) if managed.deleter else None
    give_back = _GiveBack(deleter, address)
    return Lent(data, shape, dtype, (tensor.device_type, tensor.device_id), give_back)


class _GiveBack:
    """Calls a deleter once: when called, or when it goes."""

    def __init__(self, deleter: Any, address: int) -> None:
        self._finalizer = weakref.finalize(self, deleter, address) if deleter else None
        if self._finalizer is not None:
            self._finalizer.atexit = False

    def __call__(self) -> None:
        if self._finalizer is not None:
            self._finalizer()


def _dtype(tensor: _Tensor) -> np.dtype:
    for row in DTYPES.values():
        code = _BFLOAT if row.name == "bfloat16" else _CODES[row.kind]
        plain = not row.name.startswith("float8")
        if plain and (code, 8 * row.bytes, 1) == (tensor.code, tensor.bits, tensor.lanes):
            return row.numpy
    raise DeviceError(
        f"kernels have no dtype for DLPack's code {tensor.code} with {tensor.bits} bits.",
        fix="convert the array first.",
    )


def _check_dense(tensor: _Tensor, shape: tuple[int, ...]) -> None:
    if not tensor.strides or 0 in shape:
        return
    for axis, extent in enumerate(shape):
        if extent > 1 and tensor.strides[axis] != math.prod(shape[axis + 1 :]):
            raise DeviceError(
                f"the array of shape {shape} is not C-contiguous.",
                fix="make it contiguous in its own library.",
            )
