"""What went wrong in a run, in the user's terms."""

from __future__ import annotations

from typing import NoReturn

import numpy as np

from pipedsl.core.errors import (
    MemoryFault,
    SimulationError,
    SourceLocation,
    StepBudgetExceeded,
)
from pipedsl.sim import layout as at
from pipedsl.sim.group import Group
from pipedsl.sim.launch import Launch
from pipedsl.sim.stuck import Observation


def raise_outcome(outcome: int, group: Group, launch: Launch, budget: int) -> NoReturn:
    """Raise the error that a run's outcome stands for."""
    place = f"workgroup {group.ids}"
    if outcome == at.OVER_BUDGET:
        raise StepBudgetExceeded(
            f"{launch.kernel.name}: {place} executed more than {budget} instructions.",
            fix="look for a wait that is never satisfied, or raise config.step_budget.",
        )
    if outcome == at.DEADLOCK:
        raise Observation(group, launch).error()
    _raise_fault(group, launch, place)


def _raise_fault(group: Group, launch: Launch, place: str) -> NoReturn:
    header = group.wave_header(group.current)
    kind, lane = header[at.FAULT_KIND : at.FAULT_LANE + 4].view(np.int32)
    address = int(header[at.FAULT_ADDRESS : at.FAULT_ADDRESS + 8].view(np.uint64)[0])
    line, width = header[at.FAULT_INSTRUCTION : at.FAULT_BYTES + 4].view(np.int32)
    ins = next((i for i in launch.kernel.instructions if i.line == line), None)
    where = _source(ins.source if ins else None, launch)
    text = f"line {line}: {ins}" if ins else f"line {line}"
    who = f"{place}, wave {group.current}, lane {lane}"
    if kind in (at.TRAP, at.BAD_JUMP, at.BAD_REGISTER):
        raise SimulationError(f"{at.FAULTS[int(kind)]} ({who}; {text}).", where=where)
    raise MemoryFault(
        f"{_what(int(kind), address, int(width), launch, group)} ({who}; {text}).", where=where
    )


def _source(source: tuple[str, int] | None, launch: Launch) -> SourceLocation | None:
    if source is None:
        return None
    name, line = source
    lines = launch.sources.get(name, "").splitlines()
    return SourceLocation(name, line, text=lines[line - 1] if 0 < line <= len(lines) else None)


def _what(kind: int, address: int, width: int, launch: Launch, group: Group) -> str:
    if kind in (at.LDS_BOUNDS, at.LDS_MISALIGNED):
        problem = (
            "is misaligned"
            if kind == at.LDS_MISALIGNED
            else (f"is outside the workgroup's {group.shape.lds_bytes} bytes")
        )
        return f"an LDS access of {width} bytes at byte {address} {problem}"
    if kind == at.SCRATCH_BOUNDS:
        return f"a scratch access of {width} bytes at byte {address} is out of bounds"
    if kind == at.SWIZZLED:
        return (
            "an access through a buffer resource that swizzles, which the simulator does not have"
        )
    freed = launch.memory.find_freed(address)
    found = launch.memory.find(address)
    if found is None and freed is not None:
        return f"an access of {width} bytes to {freed.name}, which was freed"
    if found is None:
        return f"an access of {width} bytes at address {address:#x}, where nothing is allocated"
    offset = address - found.address
    if kind == at.OUT_OF_BOUNDS and offset >= 1 << 31:
        offset -= 1 << 32  # an index below zero wraps inside the allocation's 4 GiB range
    index = f"byte {offset}"
    if found.itemsize > 1 and offset % found.itemsize == 0:
        index = f"index {offset // found.itemsize}"
    if kind == at.READ_ONLY:
        return f"a write of {width} bytes to {found.name} at {index}, which is read-only"
    if kind == at.MISALIGNED:
        return f"an access of {width} bytes to {found.name} at byte {offset} is misaligned"
    limit = found.nbytes // found.itemsize
    unit = "elements" if found.itemsize > 1 else "bytes"
    return f"an access of {width} bytes to {found.name} at {index} is out of its {limit} {unit}"
