"""The shape of a matrix instruction: which element of A, B, C and D lies in which register and lane.

Every layout of AMD's matrix instructions keeps a row of lanes together: the ``m`` (of A) or ``n``
(of B, C, D) lanes ``m * group + i`` hold the same register. So a layout is two functions, and
register counts, the unpacking code and the listing follow from the shape. The formulas are those of
AMD's matrix instruction calculator.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import astuple, dataclass

BITS = {
    "f64": 64, "f32": 32, "xf32": 32, "i32": 32, "f16": 16, "bf16": 16,
    "fp8": 8, "bf8": 8, "fp8_fnuz": 8, "bf8_fnuz": 8, "i8": 8, "u8": 8, "iu8": 8,
    "fp6": 6, "bf6": 6, "fp4": 4, "i4": 4, "u4": 4, "iu4": 4,
}  # fmt: skip

# Formats of f8f6f4 operands, by the number in cbsz (A) and blgp (B).
SCALED_TYPES = ("fp8", "bf8", "fp6", "bf6", "fp4")


@dataclass(frozen=True)
class MatrixShape:
    """``D[b] = A[b] @ B[b] + C[b]`` for ``b`` in ``blocks``, A of shape (m, k), B of (k, n).

    Attributes
    ----------
    m, n, k, blocks : int
    a, b, d : str
        Element types, keys of `BITS`; C has that of D.
    layout : str
        Key of `LAYOUTS`.
    sparse : bool
        A holds two of each four consecutive k (4:2 structured sparsity).
    """

    m: int
    n: int
    k: int
    blocks: int
    a: str
    b: str
    d: str
    layout: str = "mfma"
    sparse: bool = False

    @property
    def lanes(self) -> int:
        """Lanes of a wave."""
        return 64 if self.layout.startswith("mfma") else 32

    @property
    def groups(self) -> int:
        """Groups of lanes that hold different k (or blocks) of A and B."""
        return 1 if self.layout == "wmma11" else self.lanes // self.m

    @property
    def k_groups(self) -> int:
        """Groups of lanes that hold different k of one block."""
        return max(self.groups // self.blocks, 1)

    @property
    def elements(self) -> int:
        """Elements of B, and of A before compression, in one lane."""
        return self.k // self.k_groups

    @property
    def d_elements(self) -> int:
        """Elements of C and D in one lane."""
        return self.m * self.n * self.blocks // self.lanes

    @property
    def a_registers(self) -> int:
        """Registers of A."""
        return _registers(self.elements // (2 if self.sparse else 1) * BITS[self.a])

    @property
    def b_registers(self) -> int:
        """Registers of B."""
        return _registers(self.elements * BITS[self.b])

    @property
    def d_registers(self) -> int:
        """Registers of C and of D."""
        bits = 32 if self.half_rows else BITS[self.d]
        return _registers(self.d_elements * bits)

    @property
    def half_rows(self) -> bool:
        """Whether a register of C and D holds one 16-bit element, in the half that op_sel picks."""
        return self.layout == "wmma11" and BITS[self.d] == 16

    def k_of(self, kind: str, element: int, group: int) -> tuple[int, int]:
        """Block and k of one element of A (before compression) or B in the lanes of `group`.

        `kind` is the operand's element type, ``a`` or ``b``.
        """
        return LAYOUTS[self.layout].k_of(self, BITS[kind], element, group)

    def row_of(self, element: int, group: int) -> tuple[int, int]:
        """Block and row of one element of D in lanes ``n * group ..``; the lane gives the column."""
        return LAYOUTS[self.layout].row_of(self, element, group)

    def key(self) -> tuple:
        """Plain values that `MatrixShape` takes back."""
        return astuple(self)


@dataclass(frozen=True)
class Layout:
    """How elements lie in lanes: see `MatrixShape.k_of` and `MatrixShape.row_of`."""

    k_of: Callable[[MatrixShape, int, int, int], tuple[int, int]]
    row_of: Callable[[MatrixShape, int, int], tuple[int, int]]


def _registers(bits: int) -> int:
    return max(bits // 32, 1)


def _mfma_k(s: MatrixShape, bits: int, element: int, group: int) -> tuple[int, int]:
    return group % s.blocks, s.elements * (group // s.blocks) + element


def _mfma_row(s: MatrixShape, element: int, group: int) -> tuple[int, int]:
    if s.m == 4:
        return group % s.blocks, element + group // s.blocks
    groups = s.lanes // s.n
    if s.d == "f64":
        return 0, groups * element + group
    block, element = divmod(element, s.d_elements // s.blocks)
    return block, 4 * (groups * (element // 4) + group) + element % 4


def _scaled_k(s: MatrixShape, bits: int, element: int, group: int) -> tuple[int, int]:
    """8-bit types come in two runs of 16, each over half of k; narrower ones in one."""
    if bits < 8:
        return _mfma_k(s, bits, element, group)
    return 0, s.k // 2 * (element // 16) + 16 * group + element % 16


def _wmma11_k(s: MatrixShape, bits: int, element: int, group: int) -> tuple[int, int]:
    return 0, element


def _wmma11_row(s: MatrixShape, element: int, group: int) -> tuple[int, int]:
    return 0, 2 * element + group


def _wmma12_k(s: MatrixShape, bits: int, element: int, group: int) -> tuple[int, int]:
    """Runs of k go to the two halves of the wave in turn.

    A run is 4 elements of 16 bits, 8 in a sparse product; narrower types have one run.
    """
    run = s.elements if bits < 16 else 8 if s.sparse else 4
    return 0, 2 * run * (element // run) + run * group + element % run


def _wmma12_row(s: MatrixShape, element: int, group: int) -> tuple[int, int]:
    return 0, 8 * group + element


LAYOUTS = {
    "mfma": Layout(_mfma_k, _mfma_row),
    "mfma_scaled": Layout(_scaled_k, _mfma_row),
    "wmma11": Layout(_wmma11_k, _wmma11_row),
    "wmma12": Layout(_wmma12_k, _wmma12_row),
}
