"""Translation that gives up the core in front of every synchronisation operation.

Between two of them a wave runs undisturbed: what it does there to memory that others touch as well is
either ordered by synchronisation, so that its place among their steps does not matter, or a race, which
the detector reports.
"""

from __future__ import annotations

from typing import cast

from pipedsl.isa.instruction import Instruction
from pipedsl.isa.opcode import Unit
from pipedsl.sim import layout as at
from pipedsl.sim.checked.access import memory_access
from pipedsl.sim.checked.layout import ATOMIC
from pipedsl.sim.events.emit import EventMachine, EventTranslator
from pipedsl.sim.events.polls import find_comparisons
from pipedsl.sim.translator import Translation


class SteppingMachine(EventMachine):
    """An `EventMachine` that keeps the core where others yield it."""

    def suspend(self, status: int) -> None:
        if status != at.YIELDED:
            super().suspend(status)

    def stop(self, ins: Instruction) -> None:
        """Give up the core in front of `ins`."""
        self.current = ins
        super().suspend(at.YIELDED)


class SteppingTranslator(EventTranslator):
    """As `EventTranslator`, with a place to resume in front of every synchronisation operation."""

    machine = SteppingMachine
    _points: frozenset[int]

    def run(self) -> Translation:
        self._points = frozenset(self._synchronisation())
        return super().run()

    def translate_one(self, ins: Instruction) -> None:
        if self.index in self._points:
            cast(SteppingMachine, self.m).stop(ins)
        super().translate_one(ins)

    def _synchronisation(self) -> set[int]:
        """Atomic operations, loads that are compared, and without atomics all stores of a word."""
        code = {i: self.code[i] for i in self.flow.reachable() if _accesses(self.code[i])}
        atomics = {i for i, ins in code.items() if any(a & ATOMIC for a in memory_access(ins)[1:])}
        found = find_comparisons(self.code, self.program.labels, self.m.lanes)
        compared = {comparison.load for comparison in found.values()}
        # Kernel arguments come by scalar loads; no wave changes them.
        loads = {i for i in compared if self.code[i].opcode.unit is not Unit.SMEM}
        stores = {i for i, ins in code.items() if _stores_a_word(ins)}
        return atomics | loads | (stores if loads and not atomics else set())


def _accesses(ins: Instruction) -> bool:
    return ins.opcode.style == "memory"


def _stores_a_word(ins: Instruction) -> bool:
    traits = ins.opcode.traits
    return traits.get("kind") == "store" and traits.get("form") in ("b32", "b64")
