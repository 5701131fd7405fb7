"""How long a matrix instruction keeps the matrix core of its SIMD."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from pipedsl.core.errors import UnsupportedInstruction
from pipedsl.isa.instruction import Instruction
from pipedsl.isa.opcode import strip_encoding
from pipedsl.sim.timing.constants import CDNA3, Constant

_CALCULATOR = "AMD matrix instruction calculator"
_LLVM = "LLVM SISchedule.td, SIDPGFX950FullSpeedModel"


@dataclass(frozen=True)
class MatrixRate:
    """Cycles of the instructions that a pattern names.

    Attributes
    ----------
    pattern : str
        Regular expression for the whole mnemonic.
    archs : tuple of str
    cycles : int
    kind, source : str
        As those of a `Constant`.
    beside : int
        The last cycles of them, beside which other vector instructions can issue.
    """

    pattern: str
    archs: tuple[str, ...]
    cycles: int
    kind: str
    source: str
    beside: int = 0


def _passes(count: int, pattern: str, archs: tuple[str, ...], source: str = _CALCULATOR,
            taken: int = 1) -> MatrixRate:  # fmt: skip
    """Of `count` passes of 4 cycles, `taken` keep other vector instructions from issuing."""
    return MatrixRate(pattern, archs, 4 * count, "published", source, 4 * (count - taken))


_MI300 = ("gfx942",)
_MI350 = ("gfx950",)
_FULL = r"(f16|bf16|i8|xf32|(fp8|bf8)_(fp8|bf8))"

# The first row that matches counts.
_RATES = (
    # MI200: every 32x32 takes 16 passes, every 16x16 takes 8.
    _passes(8, r"v_mfma_f64_16x16x4_?f64", ("gfx90a",), taken=8),
    _passes(4, r"v_mfma_f64_4x4x4(_4b_)?f64", ("gfx90a",), taken=4),
    _passes(16, r"v_mfma_\w+_32x32x.*", ("gfx90a",)),
    _passes(8, r"v_mfma_\w+_16x16x.*", ("gfx90a",)),
    _passes(2, r"v_mfma_\w+_4x4x.*", ("gfx90a",)),
    # MI300 and MI350: float64
    _passes(8, r"v_mfma_f64_16x16x4_?f64", _MI300, taken=8),
    _passes(16, r"v_mfma_f64_16x16x4_?f64", _MI350, _LLVM, taken=16),
    _passes(4, r"v_mfma_f64_4x4x4(_4b_)?_?f64", CDNA3, taken=4),
    # float32
    _passes(16, r"v_mfma_f32_32x32x[12](_2b)?_?f32", CDNA3, taken=16),
    _passes(8, r"v_mfma_f32_16x16x[14](_4b)?_?f32", CDNA3, taken=8),
    _passes(2, r"v_mfma_f32_4x4x1(_16b)?_?f32", CDNA3, taken=2),
    # several blocks
    _passes(16, r"v_mfma_\w+_32x32x4(_2b_(f16|bf16|i8)|f16|i8|bf16_1k)", CDNA3),
    _passes(8, r"v_mfma_\w+_16x16x4(_4b_(f16|bf16|i8)|f16|i8|bf16_1k)", CDNA3),
    _passes(2, r"v_mfma_\w+_4x4x4(_16b_(f16|bf16|i8)|f16|i8|bf16_1k)", CDNA3),
    # f8f6f4: see `_narrow_inputs`
    _passes(4, r"v_mfma_(scale_)?f32_16x16x128_f8f6f4", _MI350, _LLVM),
    _passes(8, r"v_mfma_(scale_)?f32_32x32x64_f8f6f4", _MI350, _LLVM),
    # one block of the narrow types
    _passes(8, r"v_mfma_\w+_32x32x(4|8|16|32)_?" + _FULL + "(_1k)?", CDNA3),
    _passes(4, r"v_mfma_\w+_16x16x(8|16|32|64)_?" + _FULL + "(_1k)?", CDNA3),
    _passes(8, r"v_smfmac_\w+_32x32x\d+_?" + _FULL, CDNA3, taken=2),
    _passes(4, r"v_smfmac_\w+_16x16x\d+_?" + _FULL, CDNA3, taken=2),
    # RDNA
    MatrixRate(r"v_wmma_\w+_16x16x16_(f16|bf16|iu8)", ("gfx1100",), 32, "published", _CALCULATOR),
    MatrixRate(r"v_wmma_\w+_16x16x16_iu4", ("gfx1100",), 16, "published", _CALCULATOR),
    MatrixRate(r"v_s?wmmac?_\w+_16x16x(16|32)_(f16|bf16)", ("gfx1201",), 16, "published", _CALCULATOR),
    MatrixRate(r"v_s?wmmac?_\w+_16x16x(16|32|64)_(iu8|iu4|(fp8|bf8)_(fp8|bf8))", ("gfx1201",), 8,
               "published", _CALCULATOR),
)  # fmt: skip


def matrix_rate(ins: Instruction, arch: str) -> MatrixRate:
    """The row of a matrix instruction, for the inputs that its modifiers name.

    Raises
    ------
    UnsupportedInstruction
        If no row gives its cycles.
    """
    name = strip_encoding(ins.mnemonic)
    for row in _RATES:
        if arch in row.archs and re.fullmatch(row.pattern, name):
            if "f8f6f4" in name and not _narrow_inputs(ins):
                return replace(row, cycles=2 * row.cycles, beside=row.beside + row.cycles)
            return row
    raise UnsupportedInstruction(
        f"line {ins.line}: the timing model has no cycles for {name} on {arch}.",
        fix="run without timing.",
    )


def _narrow_inputs(ins: Instruction) -> bool:
    """Whether both inputs have 6 or 4 bits: formats 2, 3 and 4 of ``cbsz`` and ``blgp``."""
    return ins.modifier("cbsz") >= 2 and ins.modifier("blgp") >= 2


def as_constant(row: MatrixRate, name: str) -> Constant:
    """The row as a constant, for the list of what a result depends on."""
    return Constant(name, frozenset(row.archs), row.cycles, "cycles", row.kind, row.source)
