"""MUBUF instructions: addresses and bounds come from a buffer resource."""

from __future__ import annotations

from llvmlite import ir

from pipedsl.core.errors import AssemblyError
from pipedsl.isa.instruction import Instruction
from pipedsl.isa.operands import Reg
from pipedsl.sim.access.flat import lds_start
from pipedsl.sim.access.operands import (
    Bound,
    destination,
    form_dwords,
    operands,
    rows,
    scalars,
    sources,
)
from pipedsl.sim.builder import I32
from pipedsl.sim.machine import Machine


def _address(
    m: Machine, ins: Instruction, address: list[Bound]
) -> tuple[tuple[str, int], tuple[ir.Value, ...]]:
    """Key part (addressing mode, generation) and arguments of the buffer micro-kernels."""
    vector, resource, scalar = address
    index, offset = "idxen" in ins.modifiers, "offen" in ins.modifiers
    mode = ("both" if offset else "index") if index else ("offset" if offset else "none")
    if mode != "none" and (vector is None or not isinstance(vector.value, Reg)):
        raise AssemblyError(f"line {ins.line}: {ins.mnemonic} needs an address register.")
    pointer = m.wave if mode == "none" else rows(m, ins, vector, 2 if mode == "both" else 1)
    assert scalar is not None
    moved = m.read_scalar(scalar)
    return (mode, m.arch.generation), (
        pointer, scalars(m, ins, resource), moved, I32(ins.modifier("offset")),
    )  # fmt: skip


def _load(m: Machine, ins: Instruction) -> None:
    form = ins.opcode.traits["form"]
    key, args = _address(m, ins, sources(ins))
    m.micro(
        ("buffer_load", m.lanes, *key, form),
        rows(m, ins, destination(ins), form_dwords(form)),
        *args,
    )


def _store(m: Machine, ins: Instruction) -> None:
    form = ins.opcode.traits["form"]
    data, *address = sources(ins)
    key, args = _address(m, ins, address)
    m.micro(("buffer_store", m.lanes, *key, form), rows(m, ins, data, form_dwords(form)), *args)


def _atomic(m: Machine, ins: Instruction) -> None:
    traits = ins.opcode.traits
    data, *address = operands(ins)
    key, args = _address(m, ins, address)
    slot = (*ins.opcode.dsts, *ins.opcode.srcs)[0]
    row = rows(m, ins, data, slot.dwords)
    m.micro(
        ("buffer_atomic", m.lanes, *key, traits["op"], traits["bits"], int(traits["returns"])),
        row, *args,
    )  # fmt: skip


def _load_lds(m: Machine, ins: Instruction) -> None:
    traits = ins.opcode.traits
    key, args = _address(m, ins, sources(ins))
    m.micro(
        ("buffer_load_lds", m.lanes, *key, traits["form"], traits["stride"]),
        lds_start(m, ins), *args,
    )  # fmt: skip


HANDLERS = {
    ("buffer", "load"): _load,
    ("buffer", "store"): _store,
    ("buffer", "atomic"): _atomic,
    ("buffer", "load_lds"): _load_lds,
}
