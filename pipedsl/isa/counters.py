"""Wait counters: what an instruction counts on, and what a wait instruction proves."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from pipedsl.core.arch import Arch
from pipedsl.core.errors import AssemblyError
from pipedsl.isa.instruction import Instruction
from pipedsl.isa.opcode import Unit


@dataclass(frozen=True)
class Queue:
    """Operations of one wave that share a counter and a rule of completion.

    Attributes
    ----------
    counter : str
    capacity : int
        Operations that the counter can hold; the next one waits for the oldest.
    ordered : bool
        Whether they complete in the order of issue. Of an unordered queue only a wait for 0 proves
        anything.
    """

    counter: str
    capacity: int
    ordered: bool = True


@cache
def queues(arch: Arch) -> dict[str, Queue]:
    """The queues of a target by role; the position of a role is the queue's number.

    Counter widths: LLVM's ``AMDGPUBaseInfo``. Orders: AMD's CDNA3, RDNA3 and RDNA4 ISA documents
    (data dependency resolution) and LLVM's ``SIInsertWaitcnts``.
    """
    if arch.generation == 9:
        return {
            "vector": Queue("vmcnt", 63),
            "lds": Queue("lgkmcnt", 15),
            "scalar": Queue("lgkmcnt", 15, ordered=False),
            "flat": Queue("vmcnt", 63, ordered=False),
        }
    if arch.has("split_waits"):
        names = ("loadcnt", 63), ("dscnt", 63), ("kmcnt", 31), ("storecnt", 63)
    else:
        names = ("vmcnt", 63), ("lgkmcnt", 63), ("lgkmcnt", 63), ("vscnt", 63)
    vector, lds, scalar, store = names
    return {
        "vector": Queue(*vector),
        "lds": Queue(*lds),
        "scalar": Queue(*scalar, ordered=False),
        "store": Queue(*store),
        # Mixed with other stores they complete in any order, among themselves in order.
        "scratch store": Queue(*store),
    }


def queue_names(ins: Instruction, arch: Arch) -> tuple[str, ...]:
    """Roles of the queues that `ins` counts on: none, one, or two (FLAT)."""
    row = ins.opcode
    if row.traits.get("cache"):
        return _cache_operation(ins.mnemonic, arch)
    if row.unit is Unit.DS:
        return ("lds",)
    if row.unit is Unit.SMEM:
        return ("scalar",)
    if row.unit not in (Unit.GLOBAL, Unit.BUFFER, Unit.SCRATCH, Unit.FLAT):
        return ()
    flat = row.unit is Unit.FLAT
    if arch.generation == 9:
        # FLAT operations may complete in any order (CDNA3 ISA, FLAT: ordering).
        return ("flat", "scalar") if flat else ("vector",)
    store = "scratch store" if row.unit is Unit.SCRATCH else "store"
    queue = "vector" if _returns(ins) else store
    return (queue, "lds") if flat else (queue,)


def _cache_operation(mnemonic: str, arch: Arch) -> tuple[str, ...]:
    if arch.generation == 9:
        return ("vector",)
    if arch.has("split_waits"):
        return ("vector",) if mnemonic == "global_inv" else ("store",)
    return ()


def _returns(ins: Instruction) -> bool:
    """Whether a vector memory instruction brings data back: to registers or to LDS."""
    if any(operand is not None for _, operand in ins.dsts):
        return True
    return str(ins.opcode.traits.get("kind", "")).startswith("load") or "lds" in ins.mnemonic


_FIELD = re.compile(r"(\w+?)(?:_sat)?\s*\(\s*(0[xX][0-9a-fA-F]+|\d+)\s*\)")
_NUMBER = re.compile(r"(?:null\s*,\s*)?(0[xX][0-9a-fA-F]+|\d+)$")


def wait_limits(ins: Instruction, arch: Arch) -> dict[str, int]:
    """Counter to the most operations that may stay outstanding after `ins`; empty if it is no wait.

    Raises
    ------
    AssemblyError
        If the operand is not a wait's.
    """
    if ins.opcode.name == "s_wait_idle":
        return {queue.counter: 0 for queue in queues(arch).values()}
    counters = ins.opcode.traits.get("counters")
    if ins.opcode.unit is not Unit.WAIT or not counters:
        return {}
    text = ins.fields.text.strip()
    if number := _NUMBER.match(text):
        return _unpack(ins.opcode.name, tuple(counters), int(number[1], 0), arch)
    limits = {name: int(value, 0) for name, value in _FIELD.findall(text)}
    if not limits or not set(limits) <= set(counters):
        raise AssemblyError(f"line {ins.line}: {ins.mnemonic} {text} names no counter that it has.")
    return limits


# (lowest bit, bits) of the parts of s_waitcnt's immediate (LLVM AMDGPUBaseInfo, encodeWaitcnt).
_GFX9 = {"vmcnt": ((0, 4), (14, 2)), "expcnt": ((4, 3),), "lgkmcnt": ((8, 4),)}
_GFX11 = {"vmcnt": ((10, 6),), "expcnt": ((0, 3),), "lgkmcnt": ((4, 6),)}


def encode_waits(limits: Mapping[str, int], arch: Arch) -> int:
    """The immediate of an ``s_waitcnt``; what `limits` does not name is not waited for."""
    value = 0
    for name, parts in (_GFX9 if arch.generation == 9 else _GFX11).items():
        rest = limits.get(name, -1)
        for low, bits in parts:
            value |= (rest & (1 << bits) - 1) << low
            rest >>= bits
    return value


def _unpack(name: str, counters: tuple[str, ...], value: int, arch: Arch) -> dict[str, int]:
    if name == "s_waitcnt":
        fields = _GFX9 if arch.generation == 9 else _GFX11
        return {counter: _extract(value, parts) for counter, parts in fields.items()}
    if len(counters) == 2:
        return {counters[0]: value >> 8 & 63, counters[1]: value & 63}
    return {counters[0]: value}


def _extract(value: int, parts: tuple[tuple[int, int], ...]) -> int:
    result = shift = 0
    for low, bits in parts:
        result |= (value >> low & ((1 << bits) - 1)) << shift
        shift += bits
    return result
