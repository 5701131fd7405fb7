"""Translation that makes a run tell what its waves do to memory and to each other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

from llvmlite import ir

from pipedsl.checker.events import ACCESS, ARRIVE, COMPARE, END, LEAVE, USE, WAIT
from pipedsl.isa.counters import queue_names, wait_limits
from pipedsl.isa.instruction import Instruction
from pipedsl.isa.operands import Operand, Reg
from pipedsl.sim import layout as at
from pipedsl.sim.builder import I32, I64
from pipedsl.sim.checked import layout as c
from pipedsl.sim.checked.access import memory_access
from pipedsl.sim.checked.dataflow import uses_in
from pipedsl.sim.events import append as _append  # noqa: F401  (registers micro-kernels)
from pipedsl.sim.events.polls import Comparison, find_comparisons
from pipedsl.sim.machine import Machine
from pipedsl.sim.translator import Translation, Translator


class EventMachine(Machine):
    """A `Machine` that appends events; it suspends where `Machine` does.

    Attributes
    ----------
    index : int
        The instruction being translated.
    parts : int
        Micro-kernels that it has called to access memory.
    """

    def __init__(self, *args: Any, **more: Any) -> None:
        super().__init__(*args, **more)
        self.index = 0
        self.parts = 0

    def micro(self, key: tuple, *args: ir.Value) -> None:
        if self.current is not None and self.current.opcode.style == "memory":
            super().micro(("traced", *key), *args)
            atomic = any(bits & c.ATOMIC for bits in memory_access(self.current)[1:])
            super().micro(("event_accesses",), I32(self.index), I64(self.parts), I64(int(atomic)))
            self.parts += 1
            return
        if key == ("barrier_signal",):
            self.event(ARRIVE)
        super().micro(key, *args)

    def suspend(self, status: int) -> None:
        super().suspend(status)
        if status == at.AT_BARRIER:
            self.event(LEAVE)

    def leave(self, status: int) -> None:
        self.event(END)
        super().leave(status)

    def event(self, kind: int, value: ir.Value | None = None) -> None:
        """Append an event without addresses."""
        super().micro(("event",), I32(kind), I32(self.index), I64(0) if value is None else value)

    def compared(self, comparison: Comparison, ins: Instruction) -> None:
        """Tell what a polled word is compared with."""
        operand = ins.srcs[comparison.operand][1]
        assert operand is not None
        signed = comparison.signed
        value = self._first_lane(operand, comparison.bits)
        if comparison.bits < 64:
            value = self.irb.sext(value, I64) if signed else self.irb.zext(value, I64)
        self.event(COMPARE, value)

    def _first_lane(self, operand: Operand, bits: int) -> ir.Value:
        """The operand in the first active lane; in lane 0 if none is active."""
        if not isinstance(operand.value, Reg) or operand.value.file == "s":
            return self.read_scalar(operand, bits)
        lanes = self.read_lanes(operand, f"u{bits}")
        lane = self.irb.urem(
            self.s.count_trailing_zeros(self.read_exec()), self.mask_int(self.lanes)
        )
        return self.irb.extract_element(lanes, lane)


class EventTranslator(Translator):
    """Translates one kernel so that its runs append events."""

    machine = EventMachine
    comparisons: Mapping[int, Comparison]
    uses: Mapping[int, Sequence[tuple[int, int, int]]]

    def run(self) -> Translation:
        self.uses = uses_in(self.flow, self.m.arch, self.m.layout)
        self.comparisons = find_comparisons(self.code, self.program.labels, self.m.lanes)
        return super().run()

    def translate_one(self, ins: Instruction) -> None:
        m = cast(EventMachine, self.m)
        m.index = self.index
        found = self.comparisons.get(self.index)
        if found is not None:
            m.compared(found, ins)
        if self.uses[self.index]:
            m.event(USE)
        if wait_limits(ins, m.arch):
            m.event(WAIT)
        m.parts = 0
        super().translate_one(ins)
        if queue_names(ins, m.arch) and not m.parts:
            m.event(ACCESS)  # it counts on a queue and touches no memory, as ds_swizzle_b32
