"""One launch of a kernel: what all its workgroups share."""

from __future__ import annotations

from collections.abc import Mapping

from pipedsl.sim.checked.area import Checker
from pipedsl.sim.checked.translator import CheckedTranslator
from pipedsl.sim.group import Group, GroupTemplate
from pipedsl.sim.memory import Memory
from pipedsl.sim.shape import GroupShape


class Launch:
    """A kernel with everything that one launch adds."""

    def __init__(
        self,
        shape: GroupShape,
        memory: Memory,
        grid: tuple[int, int, int],
        kernarg: bytes,
        sources: Mapping[str, str],
        checked: bool = False,
    ) -> None:
        self.kernel = kernel = shape.kernel
        self.shape = shape
        self.memory = memory
        self.grid = grid
        self.sources = sources
        self.code = kernel.code(CheckedTranslator) if checked else kernel.code()
        self.template = GroupTemplate(shape, memory, grid, kernarg)
        self.checker = Checker(shape, sources) if checked else None
        self.total = grid[0] * grid[1] * grid[2]

    def group(self, index: int) -> Group:
        """Workgroup number `index`, ready to run."""
        x, rest = index % self.grid[0], index // self.grid[0]
        ids = (x, rest % self.grid[1], rest // self.grid[1])
        return Group(self.template, ids, self.code.address)
