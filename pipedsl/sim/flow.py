"""Which instructions of a kernel follow each other."""

from __future__ import annotations

from dataclasses import dataclass

from pipedsl.core.errors import AssemblyError
from pipedsl.isa.instruction import Instruction
from pipedsl.sim.reader import Program


@dataclass(frozen=True)
class Flow:
    """The control flow from instruction `entry` of a program on."""

    program: Program
    entry: int

    def successors(self, index: int) -> list[int]:
        """Instructions that may come after instruction `index`."""
        ins = self.program.instructions[index]
        flow = ins.opcode.traits.get("flow")
        if flow == "end":
            return []
        if flow == "indirect":
            return [*self.program.labels.values(), index + 1]
        if flow in ("jump", "branch"):
            target = self.target(ins)
            return [target] if flow == "jump" else [target, index + 1]
        return [index + 1]

    def target(self, ins: Instruction) -> int:
        """Where a direct jump or branch goes.

        Raises
        ------
        AssemblyError
            If there is no such label.
        """
        (_, operand) = next(pair for pair in ins.srcs if pair[0].file == "label")
        name = getattr(operand.value, "text", "") if operand is not None else ""
        if name not in self.program.labels:
            raise AssemblyError(f"line {ins.line}: there is no label {name or ins.fields.text}.")
        return self.program.labels[name]

    def reachable(self) -> set[int]:
        """Instructions that a run may come to.

        Raises
        ------
        AssemblyError
            If a run may leave the text.
        """
        seen: set[int] = set()
        count = len(self.program.instructions)
        todo = [self.entry]
        while todo:
            index = todo.pop()
            while index not in seen and 0 <= index < count:
                seen.add(index)
                first, *others = self.successors(index) or [-1]
                todo += others
                index = first
            if index >= count:
                raise AssemblyError("the code runs past the end of the text without s_endpgm.")
        return seen

    def leaders(self, reachable: set[int]) -> set[int]:
        """Instructions at which basic blocks start."""
        leaders = {self.entry}
        for index in reachable:
            if self.program.instructions[index].opcode.traits.get("flow"):
                leaders.update(self.successors(index))
        return leaders & reachable
