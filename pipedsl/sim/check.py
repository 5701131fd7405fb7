"""Checking a kernel: several interleavings, each with late completions and with the detector."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from pipedsl.checker.report import Collector, Report
from pipedsl.core.config import config
from pipedsl.core.errors import SimulationError
from pipedsl.sim.explore.rare import run_rare
from pipedsl.sim.explore.search import Explored, Search
from pipedsl.sim.explore.stepper import Stepper
from pipedsl.sim.hints import find_hints
from pipedsl.sim.launch import Launch
from pipedsl.sim.loaded import LoadedKernel
from pipedsl.sim.memory import Memory
from pipedsl.sim.observed import observe
from pipedsl.sim.run import run
from pipedsl.sim.shape import GroupShape

_STATES = 100_000  # after which an exploration gives up

Prepare = Callable[[], tuple[Memory, bytes]]
"""Makes fresh memory, and the kernel arguments that point into it."""


def check_kernel(
    kernel: LoadedKernel,
    grid: tuple[int, int, int],
    block: tuple[int, int, int],
    prepare: Prepare,
    seeds: Sequence[int],
    *,
    lds_bytes: int = 0,
    sources: Mapping[str, str] | None = None,
    explore: str | int | None = None,
    hints: bool = False,
) -> Report:
    """Run with every seed twice: in checked mode, and observed by the race and protocol checker.

    Parameters
    ----------
    kernel : LoadedKernel
    grid, block : tuple of int
    prepare : callable
        Called before each run, so that none sees what another wrote.
    seeds : sequence of int
        Of the interleavings; 0 takes turns.
    lds_bytes : int
    sources : mapping of str to str, optional
    explore : "exhaustive" or int, optional
        Also drive the first workgroup through every interleaving of its synchronisation operations,
        or through so many rare ones.
    hints : bool
        Also look for synchronisation that is not needed, and for accesses that are slow.
    """
    collector = Collector(kernel.name, kernel.arch.name)
    shape = GroupShape(kernel, block, lds_bytes)

    def launch(checked: bool = False) -> Launch:
        memory, kernarg = prepare()
        return Launch(shape, memory, grid, kernarg, sources or {}, checked)

    for seed in seeds:
        try:
            stats = run(launch(checked=True), None, None, seed)
            collector.add(stats.findings, None, stats.instructions)
        except SimulationError as error:
            collector.add(error.findings, error, 0)
        seen = observe(launch(), seed=seed)
        collector.add(seen.findings, seen.error, seen.instructions)
    if explore is not None:
        covered = _explore(launch(), explore)
        collector.add_explored(covered.findings, covered.errors, str(covered))
    if hints:
        collector.add_hints(find_hints(launch, list(seeds)[:2]))
    return collector.report()


def _explore(launch: Launch, how: str | int) -> Explored:
    stepper = Stepper(launch, config.step_budget)
    try:
        return run_rare(stepper, how) if isinstance(how, int) else Search(stepper, _STATES).run()
    finally:
        stepper.close()
