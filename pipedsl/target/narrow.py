"""bfloat16 and the eight-bit floats, which neither Numba nor llvmlite has."""

from __future__ import annotations

import struct

from llvmlite import ir
from numba.core import types

from pipedsl.core.dtypes import DTYPES


class NarrowFloat(types.Float):
    """A float type that NumPy has only through ml_dtypes."""

    def __init__(self, name: str) -> None:
        types.Number.__init__(self, name)
        self.bitwidth = 8 * DTYPES[name].bytes

    def __lt__(self, other: object) -> bool:
        return isinstance(other, types.Float) and self.bitwidth < other.bitwidth


class BFloatType(ir.Type):
    """LLVM's ``bfloat``."""

    intrinsic_name = "bf16"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, BFloatType)

    def __hash__(self) -> int:
        return hash(BFloatType)

    def _to_string(self) -> str:
        return "bfloat"

    def format_constant(self, value: float) -> str:
        """The constant in LLVM's hexadecimal form, rounded to nearest even."""
        return f"0xR{bfloat_bits(value):04X}"


def bfloat_bits(value: float) -> int:
    """The bits of `value` as a bfloat16, rounded to nearest even."""
    (bits,) = struct.unpack("<I", struct.pack("<f", value))
    if value != value:
        return (bits >> 16) | 0x40
    return (bits + 0x7FFF + (bits >> 16 & 1)) >> 16


BFLOAT = BFloatType()
bfloat16 = NarrowFloat("bfloat16")
EIGHT_BITS = {name: NarrowFloat(name) for name in DTYPES if name.startswith("float8")}


def is_eight_bits(ty: types.Type) -> bool:
    """Whether `ty` is one of the eight-bit floats, which convert but do not compute."""
    return isinstance(ty, NarrowFloat) and ty.bitwidth == 8
