"""What a timing row holds, and what it needs to know of its target."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from pipedsl.core.arch import Arch
from pipedsl.isa.counters import queues
from pipedsl.isa.instruction import Instruction
from pipedsl.isa.operands import Reg
from pipedsl.sim.timing import records as r
from pipedsl.sim.timing.constants import Constant, Used


@dataclass
class InstructionRow:
    """Fields of `records.ROW_FIELDS` for one instruction, and the constants behind them.

    Attributes
    ----------
    values : dict of str to int
    sources, accumulators, targets : list of int
        Registers by number in the scoreboard.
    limits, wait_kinds : list of int
        Per counter: the most operations that a wait leaves outstanding (-1: any number), and what
        kind of time the wait takes.
    lanes : tuple of int
        Lanes in the order of the LDS phases.
    constants : dict of str to Constant
    """

    values: dict[str, int] = field(default_factory=dict)
    sources: list[int] = field(default_factory=list)
    accumulators: list[int] = field(default_factory=list)
    targets: list[int] = field(default_factory=list)
    limits: list[int] = field(default_factory=lambda: [-1] * r.COUNTERS)
    wait_kinds: list[int] = field(default_factory=lambda: [0] * r.COUNTERS)
    lanes: tuple[int, ...] = ()
    constants: dict[str, Constant] = field(default_factory=dict)


class Target:
    """The wait counters of one target.

    Attributes
    ----------
    arch : Arch
    counters : tuple of str
        Wait counters by number.
    memory_counters : set of str
        Those that count vector memory.
    """

    def __init__(self, arch: Arch) -> None:
        self.arch = arch
        self.queues = queues(arch)
        self.counters = tuple(dict.fromkeys(q.counter for q in self.queues.values()))
        self.memory_counters = {
            q.counter for role, q in self.queues.items() if role not in ("lds", "scalar")
        }


Fill = Callable[[Target, Instruction, InstructionRow, Used], None]


def register_numbers(reg: Reg) -> list[int]:
    """Numbers of a range of registers in the scoreboard."""
    first = {"s": 0, "v": r.FIRST_VGPR, "a": r.FIRST_AGPR}[reg.file] + reg.index
    return list(range(first, first + reg.count))
