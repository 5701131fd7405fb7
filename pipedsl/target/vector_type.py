"""The type of a short vector, as user code names it."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from pipedsl.core.dtypes import DTYPES
from pipedsl.core.errors import KernelTypeError

COUNTS = (2, 3, 4, 8, 16, 32)


class VectorType:
    """`count` elements of `dtype`; made by ``gpu.vec(dtype, count)``.

    In a kernel, ``v = f16x4(x)`` is a vector of four times `x`, ``f16x4(a, b, c, d)`` one of four
    values, ``v[i]`` its element `i`.

    Attributes
    ----------
    dtype : str
        Canonical dtype name.
    count : int
    """

    def __init__(self, dtype: str, count: int) -> None:
        self.dtype = dtype
        self.count = count
        self.__name__ = f"vec({dtype}, {count})"

    @property
    def nbytes(self) -> int:
        """Size of a vector."""
        return DTYPES[self.dtype].bytes * self.count

    def __call__(self, *values: Any) -> Any:
        """Raise: vectors exist in kernels only."""
        raise KernelTypeError(
            f"{self.__name__} makes vectors in kernels only.", fix="use a NumPy array on the host."
        )

    def __repr__(self) -> str:
        return f"gpu.{self.__name__}"


@cache
def _interned(dtype: str, count: int) -> VectorType:
    return VectorType(dtype, count)


def vec(dtype: Any, count: int) -> VectorType:
    """The type of vectors of `count` elements of `dtype`; the same object for the same arguments.

    Raises
    ------
    KernelTypeError
        If `dtype` is not supported in kernels, or `count` is not 2, 3, 4, 8, 16 or 32.
    """
    name = dtype if isinstance(dtype, str) and dtype in DTYPES else np.dtype(dtype).name
    if name not in DTYPES or name == "bool":
        raise KernelTypeError(
            f"there are no vectors of {name}.", fix=f"use one of {', '.join(DTYPES)}."
        )
    if count not in COUNTS:
        raise KernelTypeError(
            f"a vector has {', '.join(map(str, COUNTS[:-1]))} or {COUNTS[-1]} elements, not {count}."
        )
    return _interned(name, int(count))
