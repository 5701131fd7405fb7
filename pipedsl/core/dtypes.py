"""Element types that kernels and executors share: one row each."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

try:
    import ml_dtypes
except ImportError:
    ml_dtypes = None


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
        The type in LLVM IR (memory form: bool is ``i8``). Eight-bit floats are ``i8``: LLVM has no
        arithmetic on them.
    feature : str or None
        Feature that an arch must have to convert and multiply values of the type.
    """

    name: str
    bytes: int
    kind: str
    llvm: str
    feature: str | None = None

    @property
    def numpy(self) -> np.dtype:
        """The NumPy dtype; of the narrow floats, ml_dtypes'.

        Raises
        ------
        TypeError
            If it takes ml_dtypes, which is not installed.
        """
        if self.name in _NARROW and ml_dtypes is None:
            raise TypeError(f"{self.name} needs the package ml-dtypes")
        return np.dtype(getattr(ml_dtypes, self.name) if self.name in _NARROW else self.name)


DTYPES: dict[str, DType] = {
    dtype.name: dtype
    for dtype in (
        DType("bool", 1, "bool", "i8"),
        *(DType(f"int{bits}", bits // 8, "int", f"i{bits}") for bits in (8, 16, 32, 64)),
        *(DType(f"uint{bits}", bits // 8, "uint", f"i{bits}") for bits in (8, 16, 32, 64)),
        DType("float16", 2, "float", "half"),
        DType("float32", 4, "float", "float"),
        DType("float64", 8, "float", "double"),
        DType("bfloat16", 2, "float", "bfloat"),
        DType("float8_e4m3fnuz", 1, "float", "i8", "fp8_fnuz"),
        DType("float8_e5m2fnuz", 1, "float", "i8", "fp8_fnuz"),
        DType("float8_e4m3fn", 1, "float", "i8", "fp8_ocp"),
        DType("float8_e5m2", 1, "float", "i8", "fp8_ocp"),
    )
}

_NARROW = frozenset(name for name in DTYPES if name.startswith(("bfloat", "float8")))
