"""Which registers may still be written by an operation in flight, before each instruction."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from pipedsl.checker.events import OVERWRITTEN_EARLY, READ_EARLY
from pipedsl.core.arch import Arch
from pipedsl.isa.counters import queue_names, queues, wait_limits
from pipedsl.isa.instruction import Instruction
from pipedsl.isa.operands import Reg
from pipedsl.sim.checked.layout import register_index
from pipedsl.sim.flow import Flow
from pipedsl.sim.layout import WaveLayout


@dataclass(frozen=True)
class Facts:
    """What the dataflow needs of one instruction; register sets are bit masks.

    Attributes
    ----------
    queues : tuple of int
        Queues that it counts on.
    loaded : int
        Registers that it writes when it completes.
    read, written : int
        Registers that it reads, and those that it writes at once.
    proves : int
        Bit per queue of which it proves everything complete.
    """

    queues: tuple[int, ...]
    loaded: int
    read: int
    written: int
    proves: int


def facts(ins: Instruction, arch: Arch, wave: WaveLayout) -> Facts:
    """The facts of one instruction."""
    names = list(queues(arch))
    on = tuple(names.index(name) for name in queue_names(ins, arch))
    written = _mask(ins.writes(wave.lanes), wave)
    read = _mask(ins.reads(wave.lanes), wave)
    if str(ins.opcode.traits.get("kind", "")).startswith("load"):
        # A load that keeps half of its register reads the other half when it completes.
        updated = [o.value for s, o in ins.dsts if s.updated and o is not None]
        read &= ~_mask([reg for reg in updated if isinstance(reg, Reg)], wave)
    limits = wait_limits(ins, arch)
    proves = sum(
        1 << number
        for number, queue in enumerate(queues(arch).values())
        if limits.get(queue.counter) == 0
    )
    return Facts(on, written if on else 0, read, 0 if on else written, proves)


def flow_facts(flow: Flow, arch: Arch, wave: WaveLayout) -> dict[int, Facts]:
    """The facts of all instructions that a run may come to."""
    code = flow.program.instructions
    return {index: facts(code[index], arch, wave) for index in flow.reachable()}


def uses_of(f: Facts, pending: int) -> list[tuple[int, int, int]]:
    """(first, count, kind) of the pending registers that an instruction reads or overwrites."""
    read = f.read & pending
    overwritten = f.written & pending & ~read
    return [
        (first, count, kind)
        for mask, kind in ((read, READ_EARLY), (overwritten, OVERWRITTEN_EARLY))
        for first, count in runs(mask)
    ]


def uses_in(
    flow: Flow, arch: Arch, wave: WaveLayout
) -> dict[int, list[tuple[int, int, int]]]:
    """As `uses_of`, for all instructions that a run may come to."""
    known = flow_facts(flow, arch, wave)
    pending = pending_registers(flow, known)
    return {index: uses_of(f, pending.at(index)) for index, f in known.items()}


def runs(mask: int) -> Iterator[tuple[int, int]]:
    """(first, count) of the runs of set bits."""
    while mask:
        first = (mask & -mask).bit_length() - 1
        rest = mask >> first
        count = (~rest & (rest + 1)).bit_length() - 1
        yield first, count
        mask &= ~(((1 << count) - 1) << first)


def _mask(registers: list[Reg], wave: WaveLayout) -> int:
    mask = 0
    for reg in registers:
        mask |= ((1 << reg.count) - 1) << register_index(wave, reg.file, reg.index)
    return mask


@dataclass
class Pending:
    """Result of the dataflow: per instruction, a mask of registers that may be pending."""

    before: dict[int, int] = field(default_factory=dict)

    def at(self, index: int) -> int:
        """Registers that an operation in flight may still write when `index` is reached."""
        return self.before.get(index, 0)


def pending_registers(flow: Flow, facts_of: Mapping[int, Facts]) -> Pending:
    """Forward dataflow: loads add registers, waits for 0 and checked uses remove them."""
    count = 1 + max((q for f in facts_of.values() for q in f.queues), default=0)
    states: dict[int, tuple[int, ...]] = {flow.entry: (0,) * count}
    todo = [flow.entry]
    while todo:
        index = todo.pop()
        after = _transfer(states[index], facts_of[index])
        for following in flow.successors(index):
            if following not in facts_of:
                continue
            known = states.get(following)
            merged = after if known is None else tuple(map(int.__or__, known, after))
            if merged != known:
                states[following] = merged
                todo.append(following)
    result = Pending()
    for index, state in states.items():
        for mask in state:
            result.before[index] = result.before.get(index, 0) | mask
    return result


def _transfer(state: tuple[int, ...], f: Facts) -> tuple[int, ...]:
    gone = f.read | f.written | f.loaded
    return tuple(
        (0 if f.proves >> queue & 1 else mask & ~gone) | (f.loaded if queue in f.queues else 0)
        for queue, mask in enumerate(state)
    )
