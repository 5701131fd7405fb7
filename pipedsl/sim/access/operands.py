"""Operands of memory instructions as pointers into the wave's record."""

from __future__ import annotations

from llvmlite import ir

from pipedsl.core.errors import AssemblyError
from pipedsl.isa.instruction import Instruction
from pipedsl.isa.operands import Operand, Reg
from pipedsl.sim.machine import Machine

Bound = Operand | None


def register(ins: Instruction, operand: Bound) -> Reg:
    """`operand`, which must be a register."""
    if operand is None or not isinstance(operand.value, Reg):
        raise AssemblyError(f"line {ins.line}: {ins.mnemonic} needs a register here.")
    return operand.value


def rows(m: Machine, ins: Instruction, operand: Bound, dwords: int = 1) -> ir.Value:
    """Pointer to the first of `dwords` vector registers, all of which exist."""
    reg = register(ins, operand)
    m.vector_pointer(reg, dwords - 1)
    return m.vector_pointer(reg)


def scalars(m: Machine, ins: Instruction, operand: Bound) -> ir.Value:
    """Pointer to the first of consecutive scalar registers."""
    return m.scalar_pointer(register(ins, operand).index)


def destination(ins: Instruction) -> Bound:
    """The destination operand, if the row has one."""
    return ins.dsts[0][1] if ins.dsts else None


def sources(ins: Instruction) -> list[Bound]:
    """The source operands of the text, in order."""
    return [operand for slot, operand in ins.srcs if not slot.implicit]


def operands(ins: Instruction) -> list[Bound]:
    """Destinations, then sources, as in the text."""
    return [operand for _, operand in ins.dsts] + sources(ins)


def form_dwords(form: str) -> int:
    """Registers that a memory form takes."""
    return max(int(form.strip("uibhl")) // 32, 1)
