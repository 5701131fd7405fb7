"""How the meaning of a row acts on the machine: one function per style."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

from llvmlite import ir

from pipedsl.core.errors import AssemblyError
from pipedsl.isa.instruction import Instruction
from pipedsl.isa.opcode import Slot, Unit
from pipedsl.isa.operands import Operand, Reg
from pipedsl.sim.access import access
from pipedsl.sim.builder import Builder
from pipedsl.sim.machine import Machine
from pipedsl.sim.matrix import matrix
from pipedsl.sim.modes import VSKIP, rounding
from pipedsl.sim.results import output_modifiers, write_lane_result, write_scalar_result
from pipedsl.sim.sources import lane_source, packed_source, scalar_source, width

Write = Callable[[], None]


def apply(m: Machine, instruction: Instruction) -> None:
    """Emit the effect of `instruction`; both halves of a dual instruction read before either writes."""
    if instruction.opcode.unit in _SKIPPED and m.modes.varying >> VSKIP & 1:
        with _unless_skipped(m):
            _apply(m, instruction)
    else:
        _apply(m, instruction)


def _apply(m: Machine, instruction: Instruction) -> None:
    writes = []
    part: Instruction | None = instruction
    while part is not None:
        m.current = part
        writes += STYLES[part.opcode.style](m, part)
        part = part.partner
    m.relative = bool(m.indexed & 8)
    for write in writes:
        write()
    m.relative = False
    m.widen()


_SKIPPED = frozenset(
    (
        Unit.VALU, Unit.TRANS, Unit.MATRIX, Unit.DS, Unit.FLAT, Unit.GLOBAL, Unit.SCRATCH,
        Unit.BUFFER,
    )
)  # fmt: skip


@contextmanager
def _unless_skipped(m: Machine) -> Iterator[None]:
    """Code that runs where MODE.VSKIP is clear."""
    run, done = (m.function.append_basic_block(name) for name in ("vector", "skipped"))
    m.forget()
    m.irb.cbranch(m.modes.test(m, VSKIP), done, run)
    m.irb.position_at_end(run)
    yield
    m.irb.branch(done)
    m.irb.position_at_end(done)
    m.forget()


def _scalar(m: Machine, ins: Instruction) -> list[Write]:
    sources = [scalar_source(m, ins, slot, operand) for slot, operand in ins.srcs]
    sources += [scalar_source(m, ins, slot, op) for slot, op in ins.dsts if slot.updated]
    return [
        partial(write_scalar_result, m, slot, operand, value)
        for slot, operand, value in _results(m, m.s, ins, sources)
    ]


def _lanes(m: Machine, ins: Instruction) -> list[Write]:
    sources = []
    for index, (slot, operand) in enumerate(ins.srcs):
        m.relative = bool(m.indexed >> index & 1)
        sources.append(lane_source(m, ins, slot, operand, index))
    m.relative = False
    for slot, operand in ins.dsts:
        if slot.updated:
            assert operand is not None
            sources.append(m.read_lanes(operand, slot.type))
    return [
        partial(write_lane_result, m, ins, slot, operand, value)
        for slot, operand, value in _results(m, m.b, ins, sources)
    ]


def _packed(m: Machine, ins: Instruction) -> list[Write]:
    halves: list[list[ir.Value]] = [[], []]
    for slot, operand in (*ins.dsts, *ins.srcs):
        value = operand.value if operand is not None else None
        if width(slot.type) == 32 and isinstance(value, Reg) and value.count < 2:
            raise AssemblyError(f"line {ins.line}: {ins.mnemonic} takes pairs of registers.")
    for index, (slot, operand) in enumerate(ins.srcs):
        assert operand is not None
        for half in (0, 1):
            halves[half].append(packed_source(m, ins, slot, operand, index, half))
    (slot, operand), *_ = ins.dsts
    assert operand is not None and isinstance(operand.value, Reg)
    reg = operand.value
    if slot.updated:
        old = m.read_lanes(operand, "u32")
        for half in (0, 1):
            word = m.b.trunc("u16", m.b.lshr(old, 16 * half))
            halves[half].append(m.b.bitcast(slot.type, word))
    low, high = (_results(m, m.b, ins, sources)[0][2] for sources in halves)

    def write() -> None:
        if width(slot.type) == 32:
            m.write_lanes(reg, "u32", m.b.bitcast("u32", low))
            m.write_row(reg, m.b.bitcast("u32", high), 1)
            return
        wide = [m.b.zext("u32", m.b.bitcast("u16", v)) for v in (low, high)]
        m.write_row(reg, m.b.or_(wide[0], m.b.shl(wide[1], 16)))

    return [write]


def _machine(m: Machine, ins: Instruction) -> list[Write]:
    assert ins.opcode.meaning is not None
    ins.opcode.meaning(m, ins)
    return []


def _results(
    m: Machine, b: Builder, ins: Instruction, sources: list[Any]
) -> list[tuple[Slot, Operand | None, ir.Value]]:
    """Each destination with its value, output modifiers applied."""
    meaning = ins.opcode.meaning
    if "clamp" in ins.modifiers:
        meaning = ins.opcode.traits.get("saturated", meaning)
    assert meaning is not None
    extra: dict[str, Any] = {"ins": ins} if ins.opcode.traits.get("inspects") else {}
    if ins.opcode.traits.get("overflows"):
        extra["clamps"] = m.overflow_clamps()
    kinds = [slot.type for slot, _ in ins.dsts if slot.type in ("f16", "f32", "f64")]
    if kinds and not ins.opcode.traits.get("raw"):
        with rounding(m, kinds[0]):
            values = meaning(b, *sources, **extra)
    else:
        values = meaning(b, *sources, **extra)
    values = values if isinstance(values, tuple) else (values,)
    return [
        (slot, operand, output_modifiers(m, b, ins, slot, value))
        for (slot, operand), value in zip(ins.dsts, values, strict=True)
    ]


STYLES: dict[str, Callable[[Machine, Instruction], list[Write]]] = {
    "scalar": _scalar,
    "lanes": _lanes,
    "packed": _packed,
    "machine": _machine,
    "memory": access,
    "matrix": matrix,
}
