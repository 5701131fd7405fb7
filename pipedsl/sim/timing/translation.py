"""Translation for the cycle scheduler: a wave stops before every access and after every block."""

from __future__ import annotations

from llvmlite import ir

from pipedsl.isa.opcode import Unit
from pipedsl.sim import layout
from pipedsl.sim.builder import I32, I64
from pipedsl.sim.layout import WaveLayout
from pipedsl.sim.machine import Machine
from pipedsl.sim.reader import Program
from pipedsl.sim.translator import Translator

_ACCESSES = frozenset(
    {Unit.DS, Unit.SMEM, Unit.FLAT, Unit.GLOBAL, Unit.SCRATCH, Unit.BUFFER}
)  # fmt: skip


class TimedMachine(Machine):
    """A machine that leaves the function wherever the next segment begins.

    Attributes
    ----------
    blocks : dict of int to ir.Block
        First instruction of each segment to its code.
    """

    blocks: dict[int, ir.Block]

    def micro(self, key: tuple, *args: ir.Value) -> None:
        accesses = self.current is not None and self.current.opcode.unit in _ACCESSES
        super().micro(("traced", *key) if accesses else key, *args)

    def clock(self) -> ir.Value:
        """The modelled cycle at which the current instruction issues."""
        return self.load(self.at_group(layout.CLOCK), I64, 8)

    def goto(self, block: ir.Block, *, backward: bool) -> None:
        self.settle()
        self.store(I32(self._resume_index(block)), self.at(layout.PC))
        self.irb.ret(I32(layout.YIELDED))

    def suspend(self, status: int) -> None:
        self.goto(self.following(), backward=False)

    def _resume_index(self, block: ir.Block) -> int:
        return next(index for index, known in self.blocks.items() if known is block)

    def following(self) -> ir.Block:
        """Block of the next instruction."""
        raise NotImplementedError


class TimedTranslator(Translator):
    """Cuts a kernel into segments: an access and what follows it, up to the next one.

    The resume point of a wave is the number of the instruction that its next segment begins with.
    """

    machine = TimedMachine

    def __init__(
        self, program: Program, entry: int, wave: WaveLayout, mode: int, matrix: str = "fast"
    ) -> None:
        super().__init__(program, entry, wave, mode, matrix)
        assert isinstance(self.m, TimedMachine)
        self.m.blocks = self.blocks
        self.m.following = lambda: self.blocks[self.index + 1]  # type: ignore[method-assign]

    def leaders(self, reachable: set[int]) -> set[int]:
        leaders = super().leaders(reachable)
        for index in reachable:
            unit = self.code[index].opcode.unit
            if unit in _ACCESSES:
                leaders.add(index)
            elif unit is Unit.SYNC:
                leaders.add(index + 1)
        return leaders & reachable

    def _dispatch(self, block: ir.Block) -> None:
        irb = self.m.irb
        irb.position_at_end(block)
        self.m.forget()
        choice = irb.switch(self.m.load(self.m.at(layout.PC), I32), self.blocks[self.entry])
        for leader, target in self.blocks.items():
            choice.add_case(I32(leader), target)

    def reached(self) -> list[int]:
        """Instructions that can run, in the order of the text."""
        return sorted(self.flow.reachable())

    def ends(self) -> list[int]:
        """Instructions that end a segment."""
        reachable = self.flow.reachable()
        leaders = self.leaders(reachable)
        return [i for i in sorted(reachable) if i + 1 in leaders or self._flow(i)]

    def targets(self) -> dict[int, int]:
        """Branch to the instruction it jumps to."""
        direct = (i for i in self.reached() if self._flow(i) in ("jump", "branch"))
        return {index: self.flow.target(self.code[index]) for index in direct}

    def _flow(self, index: int) -> str | None:
        return self.code[index].opcode.traits.get("flow")
