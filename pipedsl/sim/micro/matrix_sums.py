"""How products are added up: one function per rule.

The rules of CDNA2 and CDNA3 are those that MMA-Sim (Xie et al., arXiv:2511.10909) found to be
bit-exact on the hardware.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from llvmlite import ir

from pipedsl.sim.builder import FLOAT, I64, Builder
from pipedsl.sim.micro.matrix_panels import Panel
from pipedsl.sim.micro.registry import Micro

_SMALLEST_NORMAL = 2.0**-126


@dataclass(frozen=True)
class Rows:
    """Some rows of one block of D, and the operands that they need.

    Attributes
    ----------
    k : Micro
    b : Builder
        Over the columns.
    left, right, sums : Panel
        A, B, and the rows' accumulators, which start as C.
    depth : int
        k.
    block, a_block : int
    first, count : int
        The rows.
    lowest : tuple of int
        Exponents of the smallest normal numbers of A's and B's type.
    """

    k: Micro
    b: Builder
    left: Panel
    right: Panel
    sums: Panel
    depth: int
    block: int
    a_block: int
    first: int
    count: int
    lowest: tuple[int, int] = (-126, -126)

    def factor(self, line: int | ir.Value, row: int | ir.Value) -> ir.Value:
        """Element of A in row ``first + row``, in every column."""
        start = self.left.line(self.a_block, line)
        if isinstance(row, int):
            offset: int | ir.Value = (self.first + row) * self.left.bytes
        else:
            place = self.k.irb.add(row, I64(self.first))
            offset = self.k.irb.mul(place, I64(self.left.bytes))
        return self.b.splat(self.k.load(self.left.element, start, offset, self.left.bytes))


def sequential(p: Rows) -> None:
    """Fused multiply-add in the order of k."""
    with p.k.loop(p.depth) as line:
        _multiply_add(p, p.sums, line)


def _multiply_add(p: Rows, sums: Panel, line: ir.Value) -> None:
    right = p.right.get(p.block, line)
    for row in range(p.count):
        left, total = p.factor(line, row), sums.get(0, row)
        if p.left.element == FLOAT or p.left.bytes == 8:
            total = p.b.fma(left, right, total)
        else:
            total = p.b.add(total, p.b.mul(left, right))
        sums.put(total, 0, row)


def scaled(p: Rows, partial: Panel, left_scales: Panel, right_scales: Panel) -> None:
    """Blocks of 32 k, each scaled by its pair of scales before it is added."""
    b = p.b
    with p.k.loop(p.depth // 32) as block:
        for row in range(p.count):
            partial.put(b.const("f32", 0.0), 0, row)
        with p.k.loop(32) as offset:
            start = p.k.irb.mul(block, I64(32))
            _multiply_add(p, partial, p.k.irb.add(start, offset))
        right = right_scales.get(0, block)
        for row in range(p.count):
            place = left_scales.line(0, block)
            left = b.splat(p.k.load(left_scales.element, place, (p.first + row) * 8, 8))
            dot = b.fmul(b.fconvert("f64", partial.get(0, row)), b.fmul(left, right))
            total = b.fadd(b.fconvert("f64", p.sums.get(0, row)), dot)
            p.sums.put(b.fconvert("f32", total), 0, row)


def flushed(p: Rows, run: int) -> None:
    """CDNA2: products and their pairwise sums in f32, each result's denormals flushed."""
    b, k = p.b, p.k
    with k.loop(p.depth // run) as step, k.loop(p.count) as row:
        start = k.irb.mul(step, I64(run))
        terms = []
        for i in range(run):
            line = k.irb.add(start, I64(i))
            product = b.fmul(p.factor(line, row), p.right.get(p.block, line))
            terms.append(_flush(b, product))
        while len(terms) > 1:
            pairs = zip(terms[::2], terms[1::2], strict=True)
            terms = [_flush(b, b.fadd(x, y)) for x, y in pairs]
        p.sums.put(_flush(b, b.fadd(p.sums.get(0, row), terms[0])), 0, row)


def _flush(b: Builder, x: ir.Value) -> ir.Value:
    small = b.fcmp("<", b.fabs(x), _SMALLEST_NORMAL)
    return b.select(small, b.math("copysign", b.const("f32", 0.0), x), x)


def fused(p: Rows, run: int) -> None:
    """CDNA3 f16, bf16, xf32: `run` products aligned to the largest and truncated, then C."""
    with p.k.loop(p.depth // run) as step, p.k.loop(p.count) as row:
        total = _aligned(p.b, _terms(p, step, row, run, range(run)))
        p.sums.put(_add_addend(p.b, total, p.sums.get(0, row), drops=False), 0, row)


def interleaved(p: Rows, run: int) -> None:
    """CDNA3 fp8: even and odd k of `run` products are fused apart, then joined, then C."""
    b = p.b
    with p.k.loop(p.depth // run) as step, p.k.loop(p.count) as row:
        halves = [_aligned(b, _terms(p, step, row, run, range(i, run, 2))) for i in (0, 1)]
        top = b.smax(halves[0].exponent, halves[1].exponent)
        units = [b.fmul(h.units, power(b, b.sub(h.exponent, top))) for h in halves]
        joined = b.fadd(*(b.math("floor", u) for u in units))
        total = _Fixed(joined, top)
        p.sums.put(_add_addend(b, total, p.sums.get(0, row), drops=True), 0, row)


@dataclass(frozen=True)
class _Fixed:
    """``units * 2**(exponent - 24)``: whole f64 units, i32 exponent."""

    units: ir.Value
    exponent: ir.Value


def _terms(
    p: Rows, step: ir.Value, row: ir.Value, run: int, offsets: Sequence[int]
) -> list[tuple[ir.Value, ir.Value]]:
    """Products as exact f64, with the sum of their factors' exponents."""
    b, k = p.b, p.k
    found = []
    for offset in offsets:
        line = k.irb.add(k.irb.mul(step, I64(run)), I64(offset))
        left, right = p.factor(line, row), p.right.get(p.block, line)
        value = b.fmul(b.fconvert("f64", left), b.fconvert("f64", right))
        exponent = b.add(exponent_of(b, left, p.lowest[0]), exponent_of(b, right, p.lowest[1]))
        found.append((value, b.select(b.fcmp("==", value, 0.0), -126, exponent)))
    return found


def _aligned(b: Builder, terms: list[tuple[ir.Value, ir.Value]]) -> _Fixed:
    """The sum of the terms, each truncated to 24 fraction bits below the largest exponent."""
    top = terms[0][1]
    for _, exponent in terms[1:]:
        top = b.smax(top, exponent)
    unit = power(b, b.sub(b.const("i32", 24), top))
    total = None
    for value, _ in terms:
        # A product beyond f32 is infinite.
        big = b.fcmp(">=", b.fabs(value), 2.0**128)
        infinite = b.math("copysign", b.const("f64", float("inf")), value)
        part = b.math("trunc", b.fmul(b.select(big, infinite, value), unit))
        total = part if total is None else b.fadd(total, part)
    assert total is not None
    return _Fixed(total, top)


def _add_addend(b: Builder, total: _Fixed, addend: ir.Value, *, drops: bool) -> ir.Value:
    """Join with C at 31 and 24 fraction bits, rounded down, then to f32.

    With `drops`, C does not count when it lies wholly below its last place.
    """
    own = exponent_of(b, addend, -126)
    top = b.smax(total.exponent, own)
    left = b.math("floor", b.fmul(total.units, power(b, b.add(b.sub(total.exponent, top), 7))))
    place = power(b, b.sub(b.const("i32", 24), top))
    right = b.math("floor", b.fmul(b.fconvert("f64", addend), place))
    if drops:
        right = b.select(b.icmp("<", own, b.sub(top, 25)), 0.0, right)
    whole = b.fadd(left, b.fmul(right, 128.0))
    return b.fconvert("f32", b.fmul(whole, power(b, b.sub(top, 31))))


def exponent_of(b: Builder, x: ir.Value, lowest: int) -> ir.Value:
    """Exponent of f32 `x` in a format whose smallest normal number is ``2**lowest``."""
    field = b.and_(b.lshr(b.bitcast("i32", x), 23), 255)
    return b.smax(b.sub(field, 127), lowest)


def power(b: Builder, exponent: ir.Value) -> ir.Value:
    """2 to an i32 exponent in f64's normal range."""
    return b.bitcast("f64", b.shl(b.zext("u64", b.add(exponent, 1023)), 52))


RULES: dict[str, Callable[[Rows, int], None]] = {
    "flushed": flushed,
    "fused": fused,
    "interleaved": interleaved,
}
