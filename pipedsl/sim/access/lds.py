"""DS instructions that touch LDS."""

from __future__ import annotations

from llvmlite import ir

from pipedsl.isa.instruction import Instruction
from pipedsl.sim.access.operands import Bound, destination, form_dwords, rows, sources
from pipedsl.sim.builder import I32
from pipedsl.sim.machine import Machine


def _load(m: Machine, ins: Instruction) -> None:
    form = ins.opcode.traits["form"]
    row = rows(m, ins, destination(ins), form_dwords(form))
    address, base = _address(m, ins, sources(ins)[0])
    m.micro(("load", m.lanes, "lds", "v32", form), row, address, base)


def _store(m: Machine, ins: Instruction) -> None:
    form = ins.opcode.traits["form"]
    vector, data = sources(ins)
    address, base = _address(m, ins, vector)
    m.micro(
        ("store", m.lanes, "lds", "v32", form), rows(m, ins, data, form_dwords(form)), address, base
    )


def _address(m: Machine, ins: Instruction, vector: Bound) -> tuple[ir.Value, ir.Value]:
    return rows(m, ins, vector), I32(ins.modifier("offset"))


def _pair(ins: Instruction) -> list[ir.Value]:
    """Byte offsets of the two accesses of a 2addr instruction."""
    stride = ins.opcode.traits["stride"]
    return [I32(ins.modifier(name) * stride) for name in ("offset0", "offset1")]


def _load2(m: Machine, ins: Instruction) -> None:
    form = ins.opcode.traits["form"]
    row = rows(m, ins, destination(ins), 2 * form_dwords(form))
    m.micro(("lds_load2", m.lanes, form), row, rows(m, ins, sources(ins)[0]), *_pair(ins))


def _store2(m: Machine, ins: Instruction) -> None:
    form = ins.opcode.traits["form"]
    vector, *data = sources(ins)
    values = [rows(m, ins, operand, form_dwords(form)) for operand in data]
    m.micro(("lds_store2", m.lanes, form), *values, rows(m, ins, vector), *_pair(ins))


def _swap2(m: Machine, ins: Instruction) -> None:
    form = ins.opcode.traits["form"]
    vector, *data = sources(ins)
    row = rows(m, ins, destination(ins), 2 * form_dwords(form))
    values = [rows(m, ins, operand, form_dwords(form)) for operand in data]
    m.micro(("lds_swap2", m.lanes, form), row, *values, rows(m, ins, vector), *_pair(ins))


def _atomic(m: Machine, ins: Instruction) -> None:
    traits = ins.opcode.traits
    dwords = traits["bits"] // 32
    vector, *data = sources(ins)
    values = [rows(m, ins, operand, dwords) for operand in data]
    target = rows(m, ins, destination(ins), dwords) if traits["returns"] else m.wave
    key = ("atomic", m.lanes, "lds", "v32", traits["op"], traits["bits"], int(traits["returns"]))
    first, second = values if len(values) == 2 else (values[0], m.wave)
    m.micro(key, target, first, second, *_address(m, ins, vector))


def _lane_base(m: Machine, ins: Instruction) -> ir.Value:
    """M0's low half + offset: where the lane's number times 4 starts."""
    low = m.irb.and_(m.read_m0(), I32(0xFFFF))
    return m.irb.add(low, I32(ins.modifier("offset")))


def _load_addtid(m: Machine, ins: Instruction) -> None:
    row = rows(m, ins, destination(ins))
    m.micro(("load", m.lanes, "lds", "tid", "b32"), row, m.wave, _lane_base(m, ins))


def _store_addtid(m: Machine, ins: Instruction) -> None:
    row = rows(m, ins, sources(ins)[0])
    m.micro(("store", m.lanes, "lds", "tid", "b32"), row, m.wave, _lane_base(m, ins))


def _count(m: Machine, ins: Instruction) -> None:
    address = m.irb.add(m.read_m0(), I32(ins.modifier("offset")))
    m.micro(
        ("lds_count", m.lanes, ins.opcode.traits["op"]), rows(m, ins, destination(ins)), address
    )


def _load_transposed(m: Machine, ins: Instruction) -> None:
    traits = ins.opcode.traits
    row = rows(m, ins, destination(ins), form_dwords(traits["form"]))
    key = ("lds_load_transposed", m.lanes, traits["form"], traits["bits"])
    m.micro(key, row, *_address(m, ins, sources(ins)[0]))


HANDLERS = {
    ("lds", "load"): _load,
    ("lds", "store"): _store,
    ("lds", "load2"): _load2,
    ("lds", "store2"): _store2,
    ("lds", "swap2"): _swap2,
    ("lds", "atomic"): _atomic,
    ("lds", "load_addtid"): _load_addtid,
    ("lds", "store_addtid"): _store_addtid,
    ("lds", "count"): _count,
    ("lds", "load_transposed"): _load_transposed,
}
