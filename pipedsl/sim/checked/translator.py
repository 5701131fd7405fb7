"""From the instructions of a kernel to a host function that runs it in checked mode."""

from __future__ import annotations

from typing import cast

from pipedsl.isa.instruction import Instruction
from pipedsl.sim.checked import clocks, commit, issue, wait  # noqa: F401  (registers micro-kernels)
from pipedsl.sim.checked.dataflow import flow_facts, pending_registers
from pipedsl.sim.checked.emit import CheckedMachine
from pipedsl.sim.events.polls import find_comparisons
from pipedsl.sim.translator import Translation, Translator


class CheckedTranslator(Translator):
    """Translates one kernel for the checked mode."""

    machine = CheckedMachine

    def run(self) -> Translation:
        m = cast(CheckedMachine, self.m)
        m.facts = flow_facts(self.flow, m.arch, m.layout)
        comparisons = find_comparisons(self.code, self.program.labels, m.lanes)
        m.polls = frozenset(comparison.load for comparison in comparisons.values())
        m.pending = pending_registers(self.flow, m.facts)
        return super().run()

    def translate_one(self, ins: Instruction) -> None:
        m = cast(CheckedMachine, self.m)
        m.before(self.index, ins)
        super().translate_one(ins)
        if not m.irb.block.is_terminated:
            m.after(self.index, ins)
