"""Timing rows of scalar loads, LDS and vector memory."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pipedsl.isa.counters import queue_names
from pipedsl.isa.instruction import Instruction
from pipedsl.isa.opcode import Unit
from pipedsl.sim.timing import records as r
from pipedsl.sim.timing.constants import Constant, Used
from pipedsl.sim.timing.phases import phases
from pipedsl.sim.timing.row import Fill, InstructionRow, Target


def _scalar_memory(target: Target, ins: Instruction, row: InstructionRow, used: Used) -> None:
    clock = ins.opcode.style == "machine"
    row.values.update(category=r.SCALAR, action=r.CLOCK if clock else r.SCALAR_MEMORY)
    row.values["latency"] = used("clock_latency" if clock else "scalar_hit")
    if not clock:
        used("l2_latency")
    _counted(target, ins, row)
    row.targets = []


def _lds(target: Target, ins: Instruction, row: InstructionRow, used: Used) -> None:
    row.values.update(category=r.LDS, action=r.LDS_ACCESS)
    _lds_access(target, ins, row, used)
    _counted(target, ins, row)
    row.targets = []


def _lds_access(target: Target, ins: Instruction, row: InstructionRow, used: Used) -> None:
    traits = ins.opcode.traits
    kind = str(traits.get("kind", ""))
    width = _width(traits)
    stores = kind.startswith(("store", "atomic")) and "load" not in kind
    found = phases(target.arch, "write" if stores else "read", width)
    row.constants[f"lds_phases_{width}"] = Constant(
        f"LDS phases of {width} bytes a lane", frozenset([target.arch.name]), len(found.lanes),
        "phases", found.kind, found.source,
    )  # fmt: skip
    for name in (
        "lds_latency", "lds_conflict", "lds_ports",
        *(("lds_write_bytes", "lds_address") if stores else ("lds_port_bytes",)),
    ):  # fmt: skip
        used(name)
    unit = width if width in (4, 8, 16) else 4
    row.lanes = tuple(lane for phase in found.lanes for lane in phase)
    row.values.update(
        stores=int(stores), atomic=int(kind.startswith("atomic")),
        signal=int(kind.startswith("atomic") and not ins.opcode.traits.get("returns")),
        phase_count=len(found.lanes), phase_length=len(found.lanes[0]),
        unit_shift=unit.bit_length() - 1, units=max(width // unit, 1),
        bank_mask=found.banks * 4 // unit - 1,
        bank_shift=(found.banks * 4 // unit).bit_length() - 1,
    )  # fmt: skip


def _vector_memory(target: Target, ins: Instruction, row: InstructionRow, used: Used) -> None:
    traits = ins.opcode.traits
    kind = str(traits.get("kind", ""))
    row.values.update(category=r.MEMORY, action=r.VECTOR_MEMORY)
    if traits.get("cache"):
        row.values.update(action=r.CACHE, latency=used("l2_latency"))
        row.values["argument"] = int("inv" in ins.mnemonic)
    else:
        stores = kind.startswith(("store", "atomic")) and "load" not in kind
        to_lds = "lds" in ins.mnemonic or "lds" in ins.modifiers
        for name in (
            "l1_latency", "l2_latency", "l2_width", "l1_width",
            *(() if stores else ("memory_latency", "memory_width", "device_width", "shared_l2", "clock", "cus")),
            *(("lds_latency",) if to_lds or ins.opcode.unit is Unit.FLAT else ()),
        ):  # fmt: skip
            used(name)
        row.values.update(
            stores=int(stores),
            atomic=int(kind.startswith("atomic")), bypass=int(_bypasses(ins)),
            to_lds=int(to_lds),
        )  # fmt: skip
    _counted(target, ins, row)
    row.targets = []


def _counted(target: Target, ins: Instruction, row: InstructionRow) -> None:
    names = queue_names(ins, target.arch)
    for place, name in zip(("counter", "second_counter"), names, strict=False):
        row.values[place] = target.counters.index(target.queues[name].counter)
    if names:
        row.values["capacity"] = target.queues[names[0]].capacity
        row.values["ordered"] = int(target.queues[names[0]].ordered)


def _bypasses(ins: Instruction) -> bool:
    """Whether an access goes past the cache of the CU: device or system scope."""
    scope = ins.modifiers.get("scope", "")
    return "glc" in ins.modifiers or "sc1" in ins.modifiers or scope in ("SCOPE_DEV", "SCOPE_SYS")


def _width(traits: Mapping[str, Any]) -> int:
    """Bytes per lane of one access."""
    form = str(traits.get("form", ""))
    bits = int(form.strip("uibhl")) if form.strip("uibhl").isdigit() else 0
    return max((bits or int(traits.get("bits", 32) or 32)) // 8, 1)


MEMORY: dict[Unit, Fill] = {
    Unit.SMEM: _scalar_memory, Unit.DS: _lds,
    **dict.fromkeys((Unit.GLOBAL, Unit.BUFFER, Unit.SCRATCH, Unit.FLAT), _vector_memory),
}  # fmt: skip
