"""Timing rows of branches, waits, barriers and what only the sequencer sees."""

from __future__ import annotations

from pipedsl.core.errors import UnsupportedInstruction
from pipedsl.isa.counters import wait_limits
from pipedsl.isa.instruction import Instruction
from pipedsl.isa.opcode import Unit
from pipedsl.sim.timing import records as r
from pipedsl.sim.timing.constants import Used
from pipedsl.sim.timing.row import Fill, InstructionRow, Target

UNTIMED = {"s_sleep_var": "its length is in a register"}
"""Instructions that the simulator executes and the model refuses, and why."""


def _branch(target: Target, ins: Instruction, row: InstructionRow, used: Used) -> None:
    row.values.update(category=r.BRANCH, action=r.JUMP, extra=used("branch_taken"))
    if ins.opcode.traits.get("flow") == "end":
        row.values.update(action=r.END, extra=0)


def _wait(target: Target, ins: Instruction, row: InstructionRow, used: Used) -> None:
    row.values["category"] = r.INTERNAL
    for counter, limit in wait_limits(ins, target.arch).items():
        if counter not in target.counters:
            continue  # nothing that the model times counts on it (expcnt, samplecnt, bvhcnt)
        number = target.counters.index(counter)
        row.limits[number] = limit
        memory = counter in target.memory_counters
        row.wait_kinds[number] = r.WAIT_MEMORY if memory else r.WAIT_LDS


def _internal(target: Target, ins: Instruction, row: InstructionRow, used: Used) -> None:
    row.values["category"] = r.INTERNAL
    if ins.opcode.name == "s_nop":
        row.values["extra"] = int(ins.fields.text.strip() or "0", 0) * used("turn")
    elif ins.opcode.name == "s_setprio":
        row.values.update(action=r.PRIORITY, argument=int(ins.fields.text.strip(), 0))


def _synchronise(target: Target, ins: Instruction, row: InstructionRow, used: Used) -> None:
    row.values["category"] = r.INTERNAL
    name = ins.opcode.name
    if name == "s_sleep":
        clocks = int(ins.fields.text.strip(), 0) * used("sleep_unit")
        row.values.update(action=r.SLEEP, extra=clocks)
    elif name.startswith("s_barrier_signal"):
        row.values.update(action=r.SIGNAL)
    elif name == "s_barrier_wait":
        used("barrier_latency")
        row.values.update(action=r.BARRIER_WAIT)
    elif name == "s_barrier":
        used("barrier_latency")
        row.values.update(action=r.BARRIER)
    else:
        raise UnsupportedInstruction(
            f"line {ins.line}: the timing model cannot time {ins.mnemonic}: {UNTIMED[name]}.",
            fix="run without timing.",
        )


CONTROL: dict[Unit, Fill] = {
    Unit.BRANCH: _branch, Unit.WAIT: _wait, Unit.INTERNAL: _internal, Unit.SYNC: _synchronise,
}  # fmt: skip
