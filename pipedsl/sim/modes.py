"""The MODE register: rounding, denormals, clamp and IEEE rules of float instructions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from llvmlite import ir

from pipedsl.isa.instruction import Instruction
from pipedsl.sim import layout
from pipedsl.sim.builder import I1, I32, Builder

if TYPE_CHECKING:
    from pipedsl.sim.machine import Machine

ROUND, DENORM, DX10_CLAMP, IEEE, FP16_OVERFLOW, VSKIP = 0, 4, 8, 9, 23, 28


class Modes:
    """What is known of MODE at translation: its initial value, and the bits that the code changes.

    A bit that no instruction changes is a Python int, so the usual modes cost nothing.
    """

    def __init__(self, initial: int, code: Iterable[Instruction]) -> None:
        self.initial = initial
        self.varying = 0
        for ins in code:
            changed: Callable[[Instruction], int] | None = ins.opcode.traits.get("changes_mode")
            if changed is not None:
                self.varying |= changed(ins)

    def field(self, m: Machine, first: int, bits: int = 1) -> int | ir.Value:
        """Bits ``first .. first + bits - 1``: an int, or an i32 read at run time."""
        mask = ((1 << bits) - 1) << first
        if not self.varying & mask:
            return (self.initial & mask) >> first
        mode = m.load(m.at(layout.MODE), I32)
        return m.irb.and_(m.irb.lshr(mode, I32(first)), I32((1 << bits) - 1))

    def test(self, m: Machine, bit: int) -> bool | ir.Value:
        """One bit: a bool, or an i1 read at run time."""
        value = self.field(m, bit)
        return bool(value) if isinstance(value, int) else m.irb.trunc(value, I1)


def _wide(kind: str) -> int:
    """MODE has one pair of fields for f32 and one for f16 and f64."""
    return 0 if kind == "f32" else 2


def flush(m: Machine, b: Builder, kind: str, value: ir.Value, *, output: bool) -> ir.Value:
    """`value` with denormals replaced by zeros of their sign where MODE says so."""
    keep = m.modes.test(m, DENORM + _wide(kind) + output)
    if keep is True:
        return value
    small = b.fcmp("<", b.fabs(value), _SMALLEST_NORMAL[kind])
    if not isinstance(keep, bool):
        flushes = m.irb.not_(keep)
        small = b.and_(small, b.splat(flushes))
    return b.select(small, b.math("copysign", b.const(kind, 0.0), value), value)


_SMALLEST_NORMAL = {"f16": 2.0**-14, "f32": 2.0**-126, "f64": 2.0**-1022}


@contextmanager
def rounding(m: Machine, kind: str) -> Iterator[None]:
    """Code in which the host rounds results of `kind` as MODE says.

    The code gets blocks of its own: floating-point operations are free to move within one.
    """
    mode = m.modes.field(m, ROUND + _wide(kind), 2)
    if mode == 0 and isinstance(mode, int):
        yield
        return
    direction = I32(mode) if isinstance(mode, int) else mode
    # llvm.set.rounding counts from toward-zero, MODE from to-nearest; the order is the same.
    _set_rounding(m, m.irb.and_(m.irb.add(direction, I32(1)), I32(3)))
    _new_block(m)
    yield
    _new_block(m)
    _set_rounding(m, I32(1))


def _set_rounding(m: Machine, direction: ir.Value) -> None:
    module = m.function.module
    callee = module.globals.get("llvm.set.rounding")
    if callee is None:
        callee = ir.Function(module, ir.FunctionType(ir.VoidType(), [I32]), "llvm.set.rounding")
    m.irb.call(callee, [direction])


def _new_block(m: Machine) -> None:
    block = m.function.append_basic_block("rounded")
    m.irb.branch(block)
    m.irb.position_at_end(block)
