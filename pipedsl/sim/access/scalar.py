"""SMEM instructions."""

from __future__ import annotations

from llvmlite import ir

from pipedsl.isa.instruction import Instruction
from pipedsl.isa.operands import Imm
from pipedsl.sim.access.operands import Bound, destination, operands, register, scalars, sources
from pipedsl.sim.builder import I64
from pipedsl.sim.machine import Machine


def _offset(m: Machine, ins: Instruction, operand: Bound) -> ir.Value:
    """Immediate (signed) or register (unsigned) offset plus ``offset:``, as i64."""
    assert operand is not None
    if isinstance(operand.value, Imm):
        return I64(int(operand.value.value) + ins.modifier("offset"))
    return m.irb.add(m.irb.zext(m.read_scalar(operand), I64), I64(ins.modifier("offset")))


def _address(m: Machine, ins: Instruction, base: Bound, offset: Bound) -> list[ir.Value]:
    """Arguments of the micro-kernels: an address, or a resource's pointer and an offset."""
    where = _offset(m, ins, offset)
    if ins.opcode.traits["space"] == "scalar":
        return [m.irb.add(m.read_scalar_index(register(ins, base).index, 2), where)]
    return [scalars(m, ins, base), where]


def _load(m: Machine, ins: Instruction) -> None:
    key = (f"{ins.opcode.traits['space']}_load", ins.opcode.traits["form"])
    m.micro(key, scalars(m, ins, destination(ins)), *_address(m, ins, *sources(ins)))
    m.forget()  # EXEC may be among the destinations


def _store(m: Machine, ins: Instruction) -> None:
    data, *address = sources(ins)
    key = (f"{ins.opcode.traits['space']}_store", ins.opcode.traits["form"])
    m.micro(key, scalars(m, ins, data), *_address(m, ins, *address))


def _atomic(m: Machine, ins: Instruction) -> None:
    traits = ins.opcode.traits
    data, *address = operands(ins)
    key = (f"{traits['space']}_atomic", traits["op"], traits["bits"], int(traits["returns"]))
    m.micro(key, scalars(m, ins, data), *_address(m, ins, *address))


HANDLERS = {
    (space, kind): handler
    for space in ("scalar", "scalar_buffer")
    for kind, handler in (("load", _load), ("store", _store), ("atomic", _atomic))
}
