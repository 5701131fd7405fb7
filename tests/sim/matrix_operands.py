"""Matrix operands for tests: values of every element type, in and out of registers."""

from __future__ import annotations

from collections.abc import Callable

import ml_dtypes
import numpy as np

from pipedsl.isa.families.matrix_shape import BITS, MatrixShape
from pipedsl.isa.opcode import TABLE, Opcode
from pipedsl.sim import execute

FLOATS = {
    "f64": np.float64, "f32": np.float32, "xf32": np.float32, "f16": np.float16,
    "bf16": ml_dtypes.bfloat16, "fp8": ml_dtypes.float8_e4m3fn, "bf8": ml_dtypes.float8_e5m2,
    "fp8_fnuz": ml_dtypes.float8_e4m3fnuz, "bf8_fnuz": ml_dtypes.float8_e5m2fnuz,
    "fp6": ml_dtypes.float6_e2m3fn, "bf6": ml_dtypes.float6_e3m2fn, "fp4": ml_dtypes.float4_e2m1fn,
}  # fmt: skip

# Register indices of the operands of `run`.
A, B, C, D, EXTRA = 0, 32, 64, 128, 224


def matrix_rows(arch: str) -> list[Opcode]:
    """All rows of matrix instructions of `arch`."""
    return [row for row in TABLE.rows() if "shape" in row.traits and arch in row.archs]


def codes(values: np.ndarray, kind: str) -> np.ndarray:
    """Bit patterns (uint64) of `values` in the type `kind`."""
    if kind in FLOATS:
        typed = np.asarray(values).astype(FLOATS[kind])
        return typed.view(f"u{typed.dtype.itemsize}").astype(np.uint64)
    return np.asarray(values, np.int64).astype(np.uint64) & np.uint64((1 << BITS[kind]) - 1)


def decode(patterns: np.ndarray, kind: str) -> np.ndarray:
    """Values (float64) of bit patterns."""
    if kind in FLOATS:
        dtype = np.dtype(FLOATS[kind])
        return patterns.astype(f"u{dtype.itemsize}").view(dtype).astype(np.float64)
    bits = BITS[kind]
    signed = kind.startswith("i") and not kind.startswith("iu")
    values = patterns.astype(np.int64)
    return np.where(signed & (values >> (bits - 1) == 1), values - (1 << bits), values).astype(
        np.float64
    )


def _write(registers: np.ndarray, bit: int, lanes: slice, patterns: np.ndarray, bits: int) -> None:
    wide = patterns.astype(object) << (bit % 32)
    for step in range(-(-(bit % 32 + bits) // 32)):
        word = np.array([int(w) >> 32 * step & 0xFFFFFFFF for w in wide], np.uint32)
        registers[bit // 32 + step, lanes] |= word


def pack(patterns: np.ndarray, shape: MatrixShape, operand: str) -> np.ndarray:
    """Registers (uint32, [register, lane]) of A ``[block, m, k]`` or B ``[block, k, n]``."""
    kind, width = (shape.a, shape.m) if operand == "a" else (shape.b, shape.n)
    count = shape.a_registers if operand == "a" and not shape.sparse else shape.b_registers
    lines = patterns.swapaxes(1, 2) if operand == "a" else patterns
    registers = np.zeros((count, shape.lanes), np.uint32)
    for element in range(shape.elements):
        for group in range(shape.lanes // width):
            block, k = shape.k_of(kind, element, group % shape.groups)
            lanes = slice(group * width, (group + 1) * width)
            _write(registers, element * BITS[kind], lanes, lines[block, k], BITS[kind])
    return registers


def places(shape: MatrixShape, half: int = 0):  # type: ignore[no-untyped-def]
    """First bit and lanes of each row of D: ``(block, row), bit, lanes``."""
    bits = BITS[shape.d]
    for element in range(shape.d_elements):
        for group in range(shape.lanes // shape.n):
            bit = element * 32 + 16 * half if shape.half_rows else element * bits
            lanes = slice(group * shape.n, (group + 1) * shape.n)
            yield shape.row_of(element, group), bit, lanes


def pack_d(values: np.ndarray, shape: MatrixShape, half: int = 0) -> np.ndarray:
    """Registers of C or D ``[block, m, n]``."""
    registers = np.zeros((shape.d_registers, shape.lanes), np.uint32)
    patterns = codes(values, shape.d)
    for (block, row), bit, lanes in places(shape, half):
        _write(registers, bit, lanes, patterns[block, row], BITS[shape.d])
    return registers


def unpack_d(registers: np.ndarray, shape: MatrixShape, half: int = 0) -> np.ndarray:
    """Values (float64) of D ``[block, m, n]``."""
    bits = BITS[shape.d]
    patterns = np.zeros((shape.blocks, shape.m, shape.n), np.uint64)
    for (block, row), bit, lanes in places(shape, half):
        word = registers[bit // 32, lanes].astype(np.uint64) >> np.uint64(bit % 32)
        if bits == 64:
            word |= registers[bit // 32 + 1, lanes].astype(np.uint64) << np.uint64(32)
        patterns[block, row] = word & np.uint64((1 << bits) - 1)
    return decode(patterns, shape.d)


def operands(file: str, first: int, count: int) -> str:
    """``v[0:3]`` or ``v0``."""
    return f"{file}{first}" if count == 1 else f"{file}[{first}:{first + count - 1}]"


def draw(
    rng: np.random.Generator, kind: str, size: tuple[int, ...], whole: bool = False
) -> np.ndarray:
    """Random patterns: small whole numbers, or values over the type's useful range."""
    if kind not in FLOATS:
        bits = BITS[kind]
        return rng.integers(0, 1 << bits, size).astype(np.uint64)
    if whole:
        limit = {"fp4": 4, "bf6": 4, "fp6": 3, "bf8": 4, "bf8_fnuz": 4}.get(kind, 8)
        return codes(rng.integers(-limit, limit + 1, size), kind)
    return codes(rng.standard_normal(size), kind)


def run(
    row: Opcode,
    arch: str,
    a: np.ndarray,
    b: np.ndarray,
    c: np.ndarray | str,
    *,
    shape: MatrixShape | None = None,
    suffix: str = "",
    extra: dict[int, np.ndarray] | None = None,
    before: tuple[str, ...] = (),
    name: str = "",
    half: int = 0,
    in_place: bool = False,
    files: str = "vvvv",
) -> np.ndarray:
    """D of one instruction.

    Parameters
    ----------
    a, b : numpy.ndarray
        Registers.
    c : numpy.ndarray or str
        Matrix of values, or a constant as written.
    files : str
        Register files of D, A, B and C.
    """
    s = shape or row.traits["shape"]
    loaded: dict[str, dict[int, np.ndarray]] = {"v": {}, "a": {}}
    where_d = C if in_place or s.sparse else D
    for file, first, registers in (
        (files[1], A, a), (files[2], B, b),
        *(() if isinstance(c, str) else ((files[3], C, pack_d(c, s, half)),)),
    ):  # fmt: skip
        loaded[file].update({first + i: r for i, r in enumerate(registers)})
    loaded["v"].update({EXTRA + i: r for i, r in (extra or {}).items()})
    parts = [
        operands(files[3] if where_d == C else files[0], where_d, s.d_registers),
        operands(files[1], A, len(a) if not s.sparse else s.a_registers),
        operands(files[2], B, len(b)),
    ]
    if not s.sparse:
        parts.append(c if isinstance(c, str) else operands(files[3], C, s.d_registers))
    parts += [operands("v", EXTRA + i, 1) for i in extra or {}]
    line = f"{name or row.name} {', '.join(parts)} {suffix}"
    agprs = {"agprs": loaded["a"]} if loaded["a"] else {}
    state = execute([*before, line], arch=arch, vgprs=loaded["v"], **agprs)
    file = files[3] if where_d == C else files[0]
    rows = (state.agprs if file == "a" else state.vgprs)[where_d : where_d + s.d_registers]
    return unpack_d(rows, s, half)


def product(a: np.ndarray, b: np.ndarray, c: np.ndarray, s: MatrixShape) -> np.ndarray:
    """``a @ b + c`` in float64 of patterns `a` and `b`, per block."""
    cut: Callable[[np.ndarray], np.ndarray] = lambda x: x  # noqa: E731
    if s.a == "xf32":
        cut = lambda x: x & np.uint64(0xFFFFE000)  # noqa: E731
    return decode(cut(a), s.a) @ decode(cut(b), s.b) + c
