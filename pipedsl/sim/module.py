"""Loading a text: modules and kernels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np

from pipedsl.checker.report import Report
from pipedsl.core.cache import content_key
from pipedsl.core.config import config
from pipedsl.core.errors import LaunchError
from pipedsl.core.findings import Finding
from pipedsl.core.html import Shown
from pipedsl.sim.arguments import pack_arguments
from pipedsl.sim.launch import Launch
from pipedsl.sim.loaded import LoadedKernel
from pipedsl.sim.memory import Memory
from pipedsl.sim.reader import Program, read_program
from pipedsl.sim.run import RunStats, run
from pipedsl.sim.shape import GroupShape
from pipedsl.sim.timing.program import TimedProgram
from pipedsl.sim.timing.result import TimedRun
from pipedsl.sim.timing.run import run_timed

_COPIED = 1 << 26  # bytes that are copied to look at a launch without being asked to
_SHAPES = 8  # blocks whose initial state a kernel keeps


@dataclass(frozen=True)
class Module(Shown):
    """An assembly text, ready to run.

    Attributes
    ----------
    arch : str
    kernels : mapping of str to Kernel
    """

    arch: str
    kernels: Mapping[str, Kernel]

    def __repr__(self) -> str:
        return f"<sim.Module {self.arch}: {', '.join(self.kernels)}>"


def load_assembly(text: str) -> Module:
    """Load AMDGPU assembly.

    Parameters
    ----------
    text : str
        Complete text with ``.amdgcn_target``, ``.amdhsa_kernel`` and ``.amdgpu_metadata``.

    Raises
    ------
    AssemblyError
        For text that is not assembly of a supported target; the message names the line.
    UnsupportedInstruction
        For an instruction that the simulator does not have; nothing has run.
    """
    program = read_program(text)
    key = content_key(text)
    kernels = {name: Kernel(program, name, key) for name in program.kernels}
    return Module(program.arch, kernels)


class Kernel(LoadedKernel, Shown):
    """One kernel of a module."""

    def __init__(self, program: Program, name: str, text_key: str) -> None:
        super().__init__(program, name, text_key)
        self._timed: TimedProgram | None = None
        self._shapes: dict[tuple[tuple[int, int, int], int], GroupShape] = {}

    def run(
        self,
        memory: Memory,
        grid: tuple[int, int, int],
        block: tuple[int, int, int],
        kernarg: bytes,
        *,
        lds_bytes: int = 0,
        workgroups: Sequence[int] | None = None,
        step_budget: int | None = None,
        seed: int | None = None,
        sources: Mapping[str, str] | None = None,
        check: bool | None = None,
        timing: bool = False,
        rest: bool = True,
    ) -> RunStats:
        """Run on prepared memory and kernel arguments.

        Parameters
        ----------
        memory : Memory
        grid, block : tuple of int
            Workgroups, and work-items of one, along x, y, z.
        kernarg : bytes
            The whole kernarg segment, hidden arguments included.
        lds_bytes : int
            Dynamic LDS beyond what the kernel declares.
        workgroups : sequence of int, optional
            Linear ids of the workgroups to run; all by default.
        step_budget, seed : int, optional
            Overrides of ``config.step_budget`` and ``config.seed``.
        sources : mapping of str to str, optional
            Text of source files that ``.loc`` names, for error messages.
        check : bool, optional
            Checked mode: operations complete as late as the ISA allows, and what uses them too early
            is reported in the result's `findings`. ``config.check`` by default.
        timing : bool
            Timing mode: modelled cycles are reported in the result's `timed`. Not with `check`.
        rest : bool
            Whether the workgroups that timing mode does not model run too.

        Raises
        ------
        MemoryFault, DeadlockError, StepBudgetExceeded
        LaunchError
            If the block or LDS does not fit.
        """
        if timing and check:
            raise LaunchError("a launch is checked or timed.", fix="run it twice.")
        checked = not timing and (config.check if check is None else check)
        shape = self._shape(block, lds_bytes)
        launch = Launch(shape, memory, grid, kernarg, sources or {}, checked)
        if timing:
            budget = config.step_budget if step_budget is None else step_budget
            if self._timed is None:
                self._timed = TimedProgram(self)
            return run_timed(launch, self._timed, workgroups, budget, rest)
        return run(launch, workgroups, step_budget, seed)

    def look(
        self,
        memory: Memory,
        grid: tuple[int, int, int],
        block: tuple[int, int, int],
        kernarg: bytes,
        *,
        lds_bytes: int = 0,
        sources: Mapping[str, str] | None = None,
    ) -> tuple[Finding, ...]:
        """Findings of the beginning of a launch's first workgroup; `memory` stays as it is.

        Parameters
        ----------
        memory, grid, block, kernarg, lds_bytes, sources
            As of `run`.
        """
        if memory.writable_bytes() > _COPIED:
            return ()
        shape = self._shape(block, lds_bytes)
        launch = Launch(shape, memory.clone(), grid, kernarg, sources or {})
        # Imported here because the detector needs Numba, which takes a while.
        return import_module("pipedsl.sim.observed").observe_first(launch)

    def run_observed(
        self,
        memory: Memory,
        grid: tuple[int, int, int],
        block: tuple[int, int, int],
        kernarg: bytes,
        *,
        lds_bytes: int = 0,
        sources: Mapping[str, str] | None = None,
    ) -> RunStats:
        """As `run`, with the checker looking on: the result has its findings.

        Parameters
        ----------
        memory, grid, block, kernarg, lds_bytes, sources
            As of `run`.
        """
        launch = Launch(self._shape(block, lds_bytes), memory, grid, kernarg, sources or {})
        seen = import_module("pipedsl.sim.observed").observe(launch, seed=config.seed)  # as in `look`
        if seen.error is not None:
            seen.error.findings = seen.findings
            raise seen.error
        return RunStats(
            seen.instructions, launch.total, launch.total * launch.shape.waves, seen.findings
        )

    def _shape(self, block: tuple[int, int, int], lds_bytes: int) -> GroupShape:
        key = block, lds_bytes
        found = self._shapes.get(key)
        if found is None:
            if len(self._shapes) >= _SHAPES:
                self._shapes.clear()
            found = self._shapes[key] = GroupShape(self, block, lds_bytes)
        return found

    def check(
        self,
        grid: int | Sequence[int],
        block: int | Sequence[int],
        args: Sequence[Any],
        lds_bytes: int = 0,
        *,
        seeds: Sequence[int] = range(4),
        explore: str | int | None = None,
        hints: bool = False,
    ) -> Report:
        """What is wrong with a launch; arrays stay as they are.

        Parameters
        ----------
        grid, block, args, lds_bytes
            As of `launch`.
        seeds, explore, hints
            As of `pipedsl.check`.
        """
        grid3, block3 = _triple(grid, "grid"), _triple(block, "block")

        def prepare() -> tuple[Memory, bytes]:
            memory = Memory()
            copies = [a.copy() if isinstance(a, np.ndarray) else a for a in args]
            return memory, pack_arguments(self.metadata, copies, memory, grid3, block3, lds_bytes)

        checking = import_module("pipedsl.sim.check")  # as in `look`
        return checking.check_kernel(
            self, grid3, block3, prepare, seeds, lds_bytes=lds_bytes, explore=explore, hints=hints
        )

    def launch(
        self,
        grid: int | Sequence[int],
        block: int | Sequence[int],
        args: Sequence[Any],
        lds_bytes: int = 0,
        workgroups: Sequence[int] | None = None,
        *,
        seed: int | None = None,
        check: bool | None = None,
        timing: bool = False,
        rest: bool = True,
    ) -> RunStats:
        """Run with arguments in metadata order.

        Parameters
        ----------
        grid, block : int or sequence of int
        args : sequence
            NumPy arrays (C-contiguous; used in place) for pointers, scalars for values. Hidden
            arguments are filled in where the metadata names their kind and may be left out.
        lds_bytes : int
        workgroups : sequence of int, optional
        seed, check, timing, rest : optional
            As in `run`.
        """
        grid3, block3 = _triple(grid, "grid"), _triple(block, "block")
        memory = Memory()
        kernarg = pack_arguments(self.metadata, args, memory, grid3, block3, lds_bytes)
        return self.run(
            memory, grid3, block3, kernarg, lds_bytes=lds_bytes, workgroups=workgroups, seed=seed,
            check=check, timing=timing, rest=rest,
        )  # fmt: skip

    def time(
        self,
        grid: int | Sequence[int],
        block: int | Sequence[int],
        args: Sequence[Any],
        lds_bytes: int = 0,
    ) -> TimedRun:
        """Model the time of a launch; only the workgroups that are modelled run.

        Parameters
        ----------
        grid, block, args, lds_bytes
            As for `launch`.
        """
        stats = self.launch(grid, block, args, lds_bytes, timing=True, rest=False)
        assert stats.timed is not None
        return stats.timed

    def __repr__(self) -> str:
        return f"<sim.Kernel {self.name} for {self.program.arch}>"


def _triple(value: int | Sequence[int], what: str) -> tuple[int, int, int]:
    items = list(value) if isinstance(value, Sequence) else [value]
    if not 1 <= len(items) <= 3 or not all(
        isinstance(i, (int, np.integer)) and i > 0 for i in items
    ):
        raise LaunchError(f"{what} must be one to three positive integers, not {value!r}.")
    x, y, z = (int(i) for i in (*items, 1, 1)[:3])
    return x, y, z
