"""GLOBAL, FLAT and SCRATCH instructions."""

from __future__ import annotations

from llvmlite import ir

from pipedsl.core.errors import AssemblyError
from pipedsl.isa.instruction import Instruction
from pipedsl.isa.operands import Reg
from pipedsl.sim.access.operands import Bound, destination, form_dwords, rows, sources
from pipedsl.sim.builder import I32, I64
from pipedsl.sim.machine import Machine


def _address(
    m: Machine, ins: Instruction, vector: Bound, scalar: Bound = None
) -> tuple[str, ir.Value, ir.Value]:
    """Addressing mode of the micro-kernels, address rows, and base (64 bits; 32 for SCRATCH)."""
    wide = ins.opcode.traits["space"] != "scratch"
    offset = ins.modifier("offset")
    base: ir.Value = I64(offset) if wide else I32(offset)
    has_scalar = scalar is not None and isinstance(scalar.value, Reg)
    if has_scalar:
        index = scalar.value.index  # type: ignore[union-attr]
        base = m.irb.add(m.read_scalar_index(index, 2 if wide else 1), base)
    if vector is None or not isinstance(vector.value, Reg):
        if wide and not has_scalar:
            raise AssemblyError(f"line {ins.line}: {ins.mnemonic} needs an address register.")
        return "none", m.wave, base
    if wide and not has_scalar:
        return "v64", rows(m, ins, vector, 2), base
    return "v32", rows(m, ins, vector), base


def _load(m: Machine, ins: Instruction) -> None:
    space, form = ins.opcode.traits["space"], ins.opcode.traits["form"]
    mode, vector, base = _address(m, ins, *sources(ins))
    row = rows(m, ins, destination(ins), form_dwords(form))
    m.micro(("load", m.lanes, space, mode, form), row, vector, base)


def _store(m: Machine, ins: Instruction) -> None:
    space, form = ins.opcode.traits["space"], ins.opcode.traits["form"]
    address, data, *scalar = sources(ins)
    mode, vector, base = _address(m, ins, address, *scalar)
    m.micro(
        ("store", m.lanes, space, mode, form), rows(m, ins, data, form_dwords(form)), vector, base
    )


def _atomic(m: Machine, ins: Instruction) -> None:
    traits = ins.opcode.traits
    address, data, *scalar = sources(ins)
    mode, vector, base = _address(m, ins, address, *scalar)
    dwords = traits["bits"] // 32
    source = rows(m, ins, data, ins.opcode.srcs[1].dwords)
    target = rows(m, ins, destination(ins), dwords) if traits["returns"] else m.wave
    key = (
        "atomic",
        m.lanes,
        traits["space"],
        mode,
        traits["op"],
        traits["bits"],
        int(traits["returns"]),
    )
    m.micro(key, target, source, m.wave, vector, base)


def _load_addtid(m: Machine, ins: Instruction) -> None:
    base = _lane_base(m, ins, sources(ins)[0])
    m.micro(("load", m.lanes, "global", "tid", "b32"), rows(m, ins, destination(ins)), m.wave, base)


def _store_addtid(m: Machine, ins: Instruction) -> None:
    data, scalar = sources(ins)
    base = _lane_base(m, ins, scalar)
    m.micro(("store", m.lanes, "global", "tid", "b32"), rows(m, ins, data), m.wave, base)


def _lane_base(m: Machine, ins: Instruction, scalar: Bound) -> ir.Value:
    if scalar is None or not isinstance(scalar.value, Reg):
        return I64(ins.modifier("offset"))
    return m.irb.add(m.read_scalar_index(scalar.value.index, 2), I64(ins.modifier("offset")))


def _load_lds(m: Machine, ins: Instruction) -> None:
    traits = ins.opcode.traits
    mode, vector, base = _address(m, ins, *sources(ins))
    key = ("load_lds", m.lanes, traits["space"], mode, traits["form"], traits["stride"])
    m.micro(key, lds_start(m, ins), vector, base)


def lds_start(m: Machine, ins: Instruction) -> ir.Value:
    """LDS address of lane 0 of a load to LDS; the offset moves it as it moves the source."""
    return m.irb.add(m.read_m0(), I32(ins.modifier("offset")))


HANDLERS = {
    **{
        (space, kind): handler
        for space in ("global", "flat", "scratch")
        for kind, handler in (("load", _load), ("store", _store), ("atomic", _atomic))
    },
    ("global", "load_addtid"): _load_addtid,
    ("global", "store_addtid"): _store_addtid,
    ("global", "load_lds"): _load_lds,
    ("scratch", "load_lds"): _load_lds,
}
