"""Observed runs: a launch whose events go to the checker."""

from __future__ import annotations

import ctypes
from collections import deque
from dataclasses import dataclass
from functools import partial

import numpy as np

from pipedsl.checker.findings import Findings
from pipedsl.core.config import config
from pipedsl.core.errors import SimulationError
from pipedsl.core.findings import Finding
from pipedsl.sim import layout as at
from pipedsl.sim import micro
from pipedsl.sim.events.emit import EventTranslator
from pipedsl.sim.events.feed import detector_of, program_of
from pipedsl.sim.events.stream import EventStream
from pipedsl.sim.faults import raise_outcome
from pipedsl.sim.group import Group
from pipedsl.sim.launch import Launch
from pipedsl.sim.stuck import Observation, probe

_SLICE_STEPS = 20_000  # short, so that workgroups take turns
FIRST_STEPS = 50_000
_RESIDENT = 16  # workgroups at once
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
    keep: list[tuple[int, np.ndarray]] | None = None,
) -> Observed:
    """Run the first `workgroups` workgroups (all by default) with the checker looking on.

    `keep` gets the events, with the workgroups that they are of.
    """
    count = launch.total if workgroups is None else min(workgroups, launch.total)
    budget = config.step_budget if step_budget is None else step_budget
    run = _Run(launch, count, seed, budget, keep)
    error: SimulationError | None = None
    try:
        run.finish()
    except SimulationError as stopped:
        error = stopped
    finally:
        launch.template.close()
    run.drain()
    return Observed(run.findings.found(), error, run.instructions)


def observe_first(launch: Launch) -> tuple[Finding, ...]:
    """What the first workgroup of a launch shows in its first `FIRST_STEPS` instructions.

    Errors are left to the launch itself.
    """
    return observe(launch, workgroups=1, step_budget=FIRST_STEPS).findings


class _Run:
    """The workgroups of an observed run, which take turns on one thread.

    More of them become resident as others end, or wait for global memory.
    """

    def __init__(
        self, launch: Launch, count: int, seed: int, budget: int,
        keep: list[tuple[int, np.ndarray]] | None,
    ) -> None:  # fmt: skip
        self.launch = launch
        self._keep = keep
        self.budget = budget
        self.instructions = 0
        program = program_of(launch)
        self.detector = detector_of(launch, program, count)
        self.findings = Findings(program, self.detector)
        self._enter = _RUN(micro.address(micro.micro_key("run_group")))
        self._entry = launch.kernel.code(EventTranslator).address
        self._seed = seed
        self._left = deque(range(count))
        self._groups: dict[int, Group] = {}
        self._streams: dict[int, EventStream] = {}
        self._spare: list[EventStream] = []  # of workgroups that have ended
        self._waiting: set[int] = set()

    def finish(self) -> None:
        """Run all to their end."""
        self._admit()
        while self._groups:
            for index in tuple(self._groups):
                outcome = self._slice(index)
                if outcome == at.FINISHED:
                    self._end(index)
                elif outcome != at.PAUSED:
                    raise_outcome(outcome, self._groups[index], self.launch, self.budget)

    def _admit(self) -> None:
        """Start workgroups: as many as run at once, or more if all of these wait."""
        wanted = _RESIDENT if len(self._waiting) < len(self._groups) else len(self._groups) + 1
        while self._left and len(self._groups) < wanted:
            index = self._left.popleft()
            group = self._groups[index] = self.launch.group(index)
            group.prepare(
                _SLICE_STEPS, self.budget, self._seed and self._seed * 2654435761 + index + 1
            )
            group.set_entry(self._entry)
            consume = partial(self._feed, index)
            if self._spare:
                self._streams[index] = self._spare.pop()
                self._streams[index].reuse(group, consume)
            else:
                self._streams[index] = EventStream(group, consume)

    def _feed(self, index: int, words: np.ndarray) -> None:
        if self._keep is not None:
            self._keep.append((index, words.copy()))
        self.detector.feed(index, words)

    def _end(self, index: int) -> None:
        group = self._groups.pop(index)
        self._spare.append(self._streams.pop(index))
        self.instructions += group.steps
        self.detector.forget(index)
        group.recycle()
        self._waiting.clear()
        self._admit()

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
            if not observed.global_polls:
                raise observed.error()
            if len(self._waiting) == len(self._groups):
                if not self._left:
                    raise observed.error()
                self._admit()
        return observed.outcome

    def drain(self) -> None:
        """Hand on the last events."""
        for index, stream in self._streams.items():
            stream.drain()
            self.instructions += self._groups[index].steps
