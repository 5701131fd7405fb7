"""How an instruction accesses memory: its path, and what it does in each space."""

from __future__ import annotations

from pipedsl.isa.instruction import Instruction
from pipedsl.isa.opcode import Unit
from pipedsl.sim.checked.layout import (
    ATOMIC,
    LDS_PATH,
    READ,
    SCALAR_PATH,
    VECTOR_PATH,
    WRITE,
)


def memory_access(ins: Instruction) -> tuple[int, int, int]:
    """Path, access to LDS and access to global memory (bits of `layout`)."""
    traits = ins.opcode.traits
    unit, space, kind = ins.opcode.unit, traits.get("space"), str(traits.get("kind", ""))
    path = {Unit.DS: LDS_PATH, Unit.SMEM: SCALAR_PATH}.get(unit, VECTOR_PATH)
    if kind == "load_lds":
        return path, WRITE, READ
    access = _kind(kind, bool(ins.dsts))
    in_lds = space in ("lds", "flat")
    in_global = space in ("global", "flat", "buffer", "scalar", "scalar_buffer")
    return path, access if in_lds else 0, access if in_global else 0


def _kind(kind: str, returns: bool) -> int:
    if kind.startswith("load"):
        return READ
    if kind.startswith("store"):
        return WRITE
    if kind in ("atomic", "swap2", "count"):
        return WRITE | ATOMIC | (READ if returns else 0)
    return 0
