"""The timing row of an instruction."""

from __future__ import annotations

from pipedsl.core.errors import UnsupportedInstruction
from pipedsl.isa.instruction import Instruction
from pipedsl.sim.timing import records as r
from pipedsl.sim.timing.constants import Used
from pipedsl.sim.timing.row import InstructionRow, Target, register_numbers
from pipedsl.sim.timing.rows_arithmetic import ARITHMETIC
from pipedsl.sim.timing.rows_control import CONTROL
from pipedsl.sim.timing.rows_memory import MEMORY

_UNITS = {**ARITHMETIC, **CONTROL, **MEMORY}


def instruction_row(ins: Instruction, target: Target) -> InstructionRow:
    """The row of `ins`: issue category, unit, latency, registers, waits.

    Raises
    ------
    UnsupportedInstruction
        If no unit, or no figure for it, is known.
    """
    fill = _UNITS.get(ins.opcode.unit)
    if fill is None:
        raise UnsupportedInstruction(
            f"line {ins.line}: the timing model has no class for {ins.mnemonic} "
            f"({ins.opcode.unit.value}).",
            fix="run without timing.",
        )
    used = Used(target.arch.name)
    row = InstructionRow(constants=used.rows)
    row.values.update(counter=-1, second_counter=-1, busy=used("turn"), shadow=1)
    _registers(ins, row, target.arch.wave_size)
    fill(target, ins, row, used)
    return row


def _registers(ins: Instruction, row: InstructionRow, wave_size: int) -> None:
    row.sources = [n for reg in ins.reads(wave_size) for n in register_numbers(reg)]
    row.targets = [n for reg in ins.writes(wave_size) for n in register_numbers(reg)]
    if any(slot.file == "scc" for slot, _ in ins.srcs):
        row.sources.append(r.SCC_REGISTER)
    if any(slot.file == "scc" for slot, _ in ins.dsts):
        row.targets.append(r.SCC_REGISTER)
