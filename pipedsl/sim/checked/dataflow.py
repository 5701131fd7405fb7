"""Which registers may still be written by an operation in flight, before each instruction."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from pipedsl.core.arch import Arch
from pipedsl.isa.counters import queue_names, queues, wait_limits
from pipedsl.isa.instruction import Instruction
from pipedsl.isa.operands import Reg
from pipedsl.sim.checked.layout import register_index
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


def pending_registers(
    entry: int, facts_of: Mapping[int, Facts], successors: Callable[[int], list[int]]
) -> Pending:
    """Forward dataflow from `entry`: loads add registers, waits for 0 and checked uses remove them."""
    count = 1 + max((q for f in facts_of.values() for q in f.queues), default=0)
    states: dict[int, tuple[int, ...]] = {entry: (0,) * count}
    todo = [entry]
    while todo:
        index = todo.pop()
        after = _transfer(states[index], facts_of[index])
        for following in successors(index):
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
