"""From the instructions of a kernel to one host function."""

from __future__ import annotations

from dataclasses import dataclass

from llvmlite import ir

from pipedsl.core.arch import get_arch
from pipedsl.core.errors import AssemblyError, PipedslError
from pipedsl.isa.expressions import ExpressionError
from pipedsl.isa.instruction import Instruction
from pipedsl.sim import layout
from pipedsl.sim.apply import apply
from pipedsl.sim.builder import I32, I64, PTR
from pipedsl.sim.flow import Flow
from pipedsl.sim.layout import WaveLayout
from pipedsl.sim.machine import Machine
from pipedsl.sim.modes import Modes
from pipedsl.sim.reader import Program
from pipedsl.sim.symbols import CODE_STRIDE, code_address, symbol_value

ENTRY_SYMBOL = "wave_run"


@dataclass(frozen=True)
class Translation:
    """LLVM IR of one kernel.

    Attributes
    ----------
    text : str
    micros : dict of str to tuple
        The micro-kernels that it calls: symbol to key.
    resume : tuple of int
        Text line of each place where a wave may resume, by the number that its record holds.
    """

    text: str
    micros: dict[str, tuple]
    resume: tuple[int, ...]


class Translator:
    """Translates what is reachable from instruction `entry`, for an initial MODE register.

    `matrix` is the numerics of matrix instructions, as in ``config.matrix``. Other modes derive from
    this class and from `machine`.
    """

    machine: type[Machine] = Machine

    def __init__(
        self, program: Program, entry: int, wave: WaveLayout, mode: int, matrix: str = "fast"
    ) -> None:
        self.program = program
        self.entry = entry
        self.flow = Flow(program, entry)
        self.code = program.instructions
        self.module = ir.Module("kernel")
        function = ir.Function(self.module, ir.FunctionType(I32, [PTR, PTR]), ENTRY_SYMBOL)
        self.m = self.machine(function, get_arch(program.arch), wave, Modes(mode, self.code))
        self.m.matrix_numerics = matrix
        self.m.jump = self._jump  # type: ignore[method-assign]
        self.m.jump_indirect = self._jump_indirect  # type: ignore[method-assign]
        self.m.resolve = self._resolve  # type: ignore[method-assign]
        self.blocks: dict[int, ir.Block] = {}
        self.index = entry

    def run(self) -> Translation:
        """Define ``i32 wave_run(group, wave)``.

        It runs from the wave's resume point until the wave must give up the core, and returns a
        status of `layout`.

        Raises
        ------
        AssemblyError
            For operands or labels that do not exist.
        """
        function = self.m.function
        dispatch = function.append_basic_block("dispatch")
        reachable = self.flow.reachable()
        for leader in sorted(self.leaders(reachable)):
            self.blocks[leader] = function.append_basic_block(f"at{leader}")
        self.m.resume_points.append(self.blocks[self.entry])
        self.m.resume_lines.append(self.code[self.entry].line)
        for leader in sorted(self.blocks):
            self._block(leader, reachable)
        self._dispatch(dispatch)
        return Translation(str(self.module), dict(self.m.micros), tuple(self.m.resume_lines))

    def leaders(self, reachable: set[int]) -> set[int]:
        """Instructions at which blocks of host code start."""
        return self.flow.leaders(reachable)

    # emission
    def _block(self, leader: int, reachable: set[int]) -> None:
        m = self.m
        m.irb.position_at_end(self.blocks[leader])
        m.forget()
        m.indexed = 0
        index = leader
        while True:
            ins = self.code[index]
            self.index = index
            m.next_address = code_address(index + 1)
            m.count()
            self.translate_one(ins)
            index += 1
            if ins.opcode.traits.get("flow"):
                if not m.irb.block.is_terminated:
                    m.goto(self.blocks[index], backward=False)
                return
            if index in self.blocks:
                if not m.irb.block.is_terminated:
                    m.goto(self.blocks[index], backward=False)
                return

    def translate_one(self, ins: Instruction) -> None:
        """Emit the effect of `ins`, which is instruction `index`."""
        try:
            apply(self.m, ins)
        except PipedslError:
            raise
        except (TypeError, ValueError, AssertionError, IndexError, KeyError) as error:
            raise AssemblyError(
                f"line {ins.line}: the operands of {ins} do not fit: {error}."
            ) from error

    def _jump(self) -> tuple[ir.Block, bool]:
        target = self.flow.target(self.code[self.index])
        return self.blocks[target], target <= self.index

    def _jump_indirect(self, address: ir.Value) -> None:
        m = self.m
        m.settle()
        offset = m.irb.sub(address, I64(code_address(0)))
        bad = m.function.append_basic_block("bad_jump")
        choice = m.irb.switch(offset, bad)
        for index in sorted({*self.program.labels.values(), *self.blocks}):
            if index in self.blocks:
                choice.add_case(I64(index * CODE_STRIDE), self.blocks[index])
        m.irb.position_at_end(bad)
        m.fault(layout.BAD_JUMP)

    def _resolve(self, expression: str) -> int:
        try:
            return symbol_value(self.program, expression, self.index)
        except ExpressionError as error:
            raise AssemblyError(f"line {self.code[self.index].line}: {error}.") from None

    def _dispatch(self, block: ir.Block) -> None:
        irb = self.m.irb
        irb.position_at_end(block)
        self.m.forget()
        points = self.m.resume_points
        pc = self.m.load(self.m.at(layout.PC), I32)
        choice = irb.switch(pc, points[0])
        for number, point in enumerate(points[1:], 1):
            choice.add_case(I32(number), point)
