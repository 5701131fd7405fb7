"""Observed runs: a launch whose events go to the checker."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from functools import partial

from pipedsl.core.config import config
from pipedsl.core.errors import SimulationError
from pipedsl.core.findings import Finding
from pipedsl.sim import layout as at
from pipedsl.sim import micro
from pipedsl.sim.events.emit import EventTranslator
from pipedsl.sim.events.feed import Feed
from pipedsl.sim.events.stream import EventStream
from pipedsl.sim.faults import raise_outcome
from pipedsl.sim.group import Group
from pipedsl.sim.launch import Launch
from pipedsl.sim.stuck import Observation, probe

_SLICE_STEPS = 20_000  # short, so that workgroups take turns
_RUN = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_void_p)


@dataclass(frozen=True)
class Observed:
    """What an observed run showed.

    Attributes
    ----------
    findings : tuple of Finding
    error : SimulationError or None
        What stopped the run.
    instructions : int
    """

    findings: tuple[Finding, ...]
    error: SimulationError | None
    instructions: int


def observe(
    launch: Launch,
    *,
    seed: int = 0,
    workgroups: int | None = None,
    step_budget: int | None = None,
) -> Observed:
    """Run the first `workgroups` workgroups (all by default) with the checker looking on."""
    count = launch.total if workgroups is None else min(workgroups, launch.total)
    run = _Run(launch, count, seed, config.step_budget if step_budget is None else step_budget)
    error: SimulationError | None = None
    try:
        run.finish()
    except SimulationError as stopped:
        error = stopped
    finally:
        launch.template.close()
    run.drain()
    return Observed(run.feed.findings.found(), error, run.steps())


class _Run:
    """The workgroups of an observed run, which take turns on one thread."""

    def __init__(self, launch: Launch, count: int, seed: int, budget: int) -> None:
        self.launch = launch
        self.budget = budget
        self.feed = Feed(launch, count)
        self._enter = _RUN(micro.address(micro.micro_key("run_group")))
        entry = launch.kernel.code(EventTranslator).address
        self._groups: list[Group] = []
        self._streams: list[EventStream] = []
        for index in range(count):
            group = launch.group(index)
            group.prepare(_SLICE_STEPS, budget, seed and seed * 2654435761 + index + 1)
            group.set_entry(entry)
            self._groups.append(group)
            self._streams.append(EventStream(group, partial(self.feed.take, index)))
        self._live = list(range(count))
        self._waiting: set[int] = set()

    def finish(self) -> None:
        """Run all to their end."""
        while self._live:
            for index in tuple(self._live):
                outcome = self._slice(index)
                if outcome == at.FINISHED:
                    self._live.remove(index)
                    self._waiting.clear()
                elif outcome != at.PAUSED:
                    raise_outcome(outcome, self._groups[index], self.launch, self.budget)

    def _slice(self, index: int) -> int:
        group = self._groups[index]
        outcome = self._enter(group.pointer, None)
        self._streams[index].drain()
        if outcome != at.PAUSED:
            return outcome
        stuck, outcome = probe(group, self._enter)
        self._streams[index].drain()
        if not stuck:
            self._waiting.clear()
            return outcome
        observed = Observation(group, self.launch)
        observed.run(self.launch.kernel.code(EventTranslator).address)
        self._streams[index].attach(group)
        if observed.proven:
            self._waiting.add(index)
            if not observed.global_polls or len(self._waiting) == len(self._live):
                raise observed.error()
        return observed.outcome

    def drain(self) -> None:
        """Hand on the last events."""
        for stream in self._streams:
            stream.drain()

    def steps(self) -> int:
        """Wave instructions executed."""
        return sum(group.steps for group in self._groups)
