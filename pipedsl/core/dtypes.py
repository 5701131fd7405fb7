"""Element types that kernels and executors share: one row each."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class DType:
    """One element type.

    Attributes
    ----------
    name : str
        NumPy's name, e.g. ``"float16"``.
    bytes : int
    kind : {"int", "uint", "float", "bool"}
    llvm : str
        The type in LLVM IR (memory form: bool is ``i8``).
    """

    name: str
    bytes: int
    kind: str
    llvm: str

    @property
    def numpy(self) -> np.dtype:
        """The NumPy dtype."""
        return np.dtype(self.name)


DTYPES: dict[str, DType] = {
    dtype.name: dtype
    for dtype in (
        DType("bool", 1, "bool", "i8"),
        *(DType(f"int{bits}", bits // 8, "int", f"i{bits}") for bits in (8, 16, 32, 64)),
        *(DType(f"uint{bits}", bits // 8, "uint", f"i{bits}") for bits in (8, 16, 32, 64)),
        DType("float16", 2, "float", "half"),
        DType("float32", 4, "float", "float"),
        DType("float64", 8, "float", "double"),
    )
}
