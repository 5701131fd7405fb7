"""Memory instructions: which micro-kernel, with which addresses."""

from __future__ import annotations

from collections.abc import Callable

from llvmlite import ir

from pipedsl.core.errors import AssemblyError
from pipedsl.isa.instruction import Instruction
from pipedsl.isa.operands import Operand, Reg, Symbol
from pipedsl.sim.builder import I32, I64
from pipedsl.sim.machine import Machine


def access(m: Machine, ins: Instruction) -> list:
    """Apply a ``style="memory"`` row; its traits are ``space``, ``kind`` and ``form``."""
    traits = ins.opcode.traits
    HANDLERS[traits["space"], traits["kind"]](m, ins)
    return []


def operand(ins: Instruction, index: int) -> Operand:
    """Operand `index` in the order of the text."""
    bound = [o for s, o in (*ins.dsts, *ins.srcs) if not s.implicit]
    found = bound[index] if index < len(bound) else None
    if found is None:
        raise AssemblyError(f"line {ins.line}: {ins.mnemonic} lacks an operand.")
    return found


def register(ins: Instruction, index: int) -> Reg:
    """Operand `index`, which must be a register."""
    value = operand(ins, index).value
    if not isinstance(value, Reg):
        raise AssemblyError(f"line {ins.line}: {ins.mnemonic} needs a register here.")
    return value


def row_range(m: Machine, ins: Instruction, reg: Reg, dwords: int) -> ir.Value:
    """Pointer to the first of `dwords` rows, all of which exist."""
    m.vector_pointer(reg, dwords - 1)
    return m.vector_pointer(reg)


def form_dwords(form: str) -> int:
    """Registers that a memory form takes."""
    return max(int(form.strip("uibhl")) // 32, 1)


def global_address(m: Machine, ins: Instruction, at: int) -> tuple[str, ir.Value, ir.Value]:
    """Addressing mode, pointer to the address rows, and 64-bit base of a FLAT-encoded access."""
    vector = operand(ins, at).value
    offset = ins.modifier("offset")
    saddr = operand(ins, at + 1).value if len(ins.fields.operands) > at + 1 else Symbol("off")
    if isinstance(saddr, Reg) and saddr.file == "s":
        base = m.irb.add(m.read_scalar_index(saddr.index, 2), I64(offset))
        if not isinstance(vector, Reg):
            return "none", m.wave, base
        return "v32", m.vector_pointer(vector), base
    if not isinstance(vector, Reg):
        raise AssemblyError(f"line {ins.line}: {ins.mnemonic} needs an address register.")
    return "v64", row_range(m, ins, vector, 2), I64(offset)


def _global_load(m: Machine, ins: Instruction) -> None:
    form = ins.opcode.traits["form"]
    mode, vector, base = global_address(m, ins, 1)
    row = row_range(m, ins, register(ins, 0), form_dwords(form))
    m.micro(("global_load", m.lanes, mode, form), row, vector, base)


def _global_store(m: Machine, ins: Instruction) -> None:
    form = ins.opcode.traits["form"]
    vector = operand(ins, 0).value
    data = register(ins, 1)
    saddr = operand(ins, 2).value
    offset = ins.modifier("offset")
    row = row_range(m, ins, data, form_dwords(form))
    if isinstance(saddr, Reg):
        base = m.irb.add(m.read_scalar_index(saddr.index, 2), I64(offset))
        mode, pointer = (
            ("v32", m.vector_pointer(vector)) if isinstance(vector, Reg) else ("none", m.wave)
        )
    else:
        mode, pointer, base = "v64", row_range(m, ins, register(ins, 0), 2), I64(offset)
    m.micro(("global_store", m.lanes, mode, form), row, pointer, base)


def _lds_load(m: Machine, ins: Instruction) -> None:
    form = ins.opcode.traits["form"]
    row = row_range(m, ins, register(ins, 0), form_dwords(form))
    address = m.vector_pointer(register(ins, 1))
    m.micro(("lds_load", m.lanes, form), row, address, I32(ins.modifier("offset")))


def _lds_store(m: Machine, ins: Instruction) -> None:
    form = ins.opcode.traits["form"]
    address = m.vector_pointer(register(ins, 0))
    row = row_range(m, ins, register(ins, 1), form_dwords(form))
    m.micro(("lds_store", m.lanes, form), row, address, I32(ins.modifier("offset")))


def _pair_offsets(ins: Instruction) -> tuple[int, int]:
    """Byte offsets of a two-address access: in elements, or in 64 elements (``st64``)."""
    unit = (
        form_dwords(ins.opcode.traits["form"])
        * 4
        * (64 if "st64" in ins.mnemonic or "stride64" in ins.mnemonic else 1)
    )
    return ins.modifier("offset0") * unit, ins.modifier("offset1") * unit


def _lds_load2(m: Machine, ins: Instruction) -> None:
    form = ins.opcode.traits["form"]
    row = row_range(m, ins, register(ins, 0), 2 * form_dwords(form))
    address = m.vector_pointer(register(ins, 1))
    m.micro(("lds_load2", m.lanes, form, *_pair_offsets(ins)), row, address)


def _lds_store2(m: Machine, ins: Instruction) -> None:
    form = ins.opcode.traits["form"]
    rows = [row_range(m, ins, register(ins, i), form_dwords(form)) for i in (1, 2)]
    address = m.vector_pointer(register(ins, 0))
    m.micro(("lds_store2", m.lanes, form, *_pair_offsets(ins)), *rows, address)


def _lds_atomic(m: Machine, ins: Instruction) -> None:
    traits = ins.opcode.traits
    bits, returns = traits["bits"], int(traits["returns"])
    vector, data = register(ins, returns), row_range(m, ins, register(ins, returns + 1), bits // 32)
    target = row_range(m, ins, register(ins, 0), bits // 32) if returns else m.wave
    key = ("lds_atomic", m.lanes, traits["op"], bits, returns)
    m.micro(key, target, data, m.vector_pointer(vector), I32(ins.modifier("offset")))


def _scalar_load(m: Machine, ins: Instruction) -> None:
    dwords = form_dwords(ins.opcode.traits["form"])
    target, base = register(ins, 0), register(ins, 1)
    address = m.irb.add(m.read_scalar_index(base.index, 2), I64(ins.modifier("offset")))
    offset = operand(ins, 2)
    address = m.irb.add(address, m.irb.zext(m.read_scalar(offset), I64))
    address = m.irb.and_(address, I64(~3 & (1 << 64) - 1))
    m.micro(("scalar_load", dwords), m.scalar_pointer(target.index), address)


HANDLERS: dict[tuple[str, str], Callable[[Machine, Instruction], None]] = {
    ("global", "load"): _global_load,
    ("global", "store"): _global_store,
    ("lds", "load"): _lds_load,
    ("lds", "store"): _lds_store,
    ("lds", "load2"): _lds_load2,
    ("lds", "store2"): _lds_store2,
    ("lds", "atomic"): _lds_atomic,
    ("scalar", "load"): _scalar_load,
}
