"""Types of launch arguments."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from pipedsl.core.dtypes import DTYPES
from pipedsl.core.errors import KernelTypeError
from pipedsl.target.signature import ArgumentType, array_type, scalar_type

_NARROW_BYTES = 1 << 32
_NARROW_SIZE = 1 << 31


def type_of(value: Any) -> ArgumentType:
    """The type that `value` has in a kernel: hashable, and its ``str`` is stable.

    A Python int is int32 (int64 if it does not fit), a Python float is float32: pass
    ``np.float64(x)`` for more. An array is anything with ``dtype``, ``shape`` and ``strides``.

    Raises
    ------
    KernelTypeError
        If kernels cannot take it.
    """
    if hasattr(value, "shape") and not isinstance(value, np.generic):
        return _array(value)
    if isinstance(value, (bool, np.bool_)):
        return scalar_type("bool")
    if isinstance(value, int):
        return scalar_type(_int_name(value))
    if isinstance(value, np.generic):
        return scalar_type(_supported(value.dtype))
    if isinstance(value, float):
        return scalar_type("float32")
    raise KernelTypeError(
        f"a kernel cannot take a {type(value).__name__}.",
        fix="pass arrays, NumPy scalars or Python numbers.",
    )


def signature_key(types: Sequence[ArgumentType]) -> str:
    """Text that identifies the argument types, the same in every process."""
    return ", ".join(str(ty) for ty in types)


def _int_name(value: int) -> str:
    for name in ("int32", "int64", "uint64"):
        info = np.iinfo(name)
        if info.min <= value <= info.max:
            return name
    raise KernelTypeError(f"the integer {value} needs more than 64 bits.", fix="pass two halves.")


def _supported(dtype: Any) -> str:
    dtype = np.dtype(dtype)
    if dtype.name not in DTYPES or not dtype.isnative:
        raise KernelTypeError(
            f"kernels cannot take the dtype {dtype.str if dtype.names is None else dtype}.",
            fix=f"use one of {', '.join(DTYPES)}.",
        )
    return dtype.name


def _array(value: Any) -> ArgumentType:
    shape = value.shape
    strides = value.strides
    ndim = len(shape)
    if not 1 <= ndim <= 3:
        raise KernelTypeError(
            f"a kernel cannot take a {ndim}-D array.", fix="reshape it to 1, 2 or 3 axes."
        )
    dtype = np.dtype(value.dtype)
    name = _supported(dtype)
    contiguous = _is_contiguous(shape, strides, dtype.itemsize)
    if not contiguous and any(stride % dtype.itemsize for stride in strides):
        raise KernelTypeError(
            f"the array's strides {tuple(strides)} are no multiples of its item size "
            f"{dtype.itemsize}.",
            fix="pass a copy of it.",
        )
    span = sum(
        (size - 1) * abs(stride) for size, stride in zip(shape, strides, strict=True) if size
    )
    wide = (
        span + dtype.itemsize > _NARROW_BYTES
        or any(size >= _NARROW_SIZE for size in shape)
        or (not contiguous and any(stride < 0 for stride in strides))
    )
    return _array_type(name, ndim, contiguous, wide)


@lru_cache(maxsize=256)
def _array_type(dtype: str, ndim: int, contiguous: bool, wide: bool) -> ArgumentType:
    return array_type(dtype, ndim, contiguous=contiguous, wide=wide)


def _is_contiguous(shape: Sequence[int], strides: Sequence[int], itemsize: int) -> bool:
    if 0 in shape:
        return True
    expected = itemsize
    for size, stride in zip(reversed(shape), reversed(strides), strict=True):
        if size != 1 and stride != expected:
            return False
        expected *= size
    return True
