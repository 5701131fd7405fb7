"""Running the workgroups of a launch on the host's cores."""

from __future__ import annotations

import ctypes
import threading
from collections import deque
from collections.abc import Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from dataclasses import dataclass

from pipedsl.core.config import config
from pipedsl.core.errors import LaunchError, SimulationError
from pipedsl.core.findings import Finding, IdleWait
from pipedsl.core.html import Shown
from pipedsl.sim import layout as at
from pipedsl.sim import micro
from pipedsl.sim.checked.area import QUIET_ROUNDS, Area
from pipedsl.sim.faults import raise_outcome
from pipedsl.sim.group import Group
from pipedsl.sim.launch import Launch
from pipedsl.sim.stuck import Observation, probe
from pipedsl.sim.timing.result import TimedRun

_SLICE_STEPS = 2_000_000  # short enough that Ctrl-C is answered at once
_RESIDENT = 64  # workgroups in flight, so that workgroups may wait for each other
_RUN = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_void_p)


@dataclass(frozen=True)
class RunStats(Shown):
    """What a run did.

    Attributes
    ----------
    instructions : int
        Wave instructions executed.
    workgroups, waves : int
    findings : tuple of Finding
        What the checked mode reports; empty in fast mode.
    idle_waits : tuple of IdleWait
        In checked mode, fields of executed waits that never proved anything.
    timed : TimedRun or None
        In timing mode, the modelled time.
    """

    instructions: int
    workgroups: int
    waves: int
    findings: tuple[Finding, ...] = ()
    idle_waits: tuple[IdleWait, ...] = ()
    timed: TimedRun | None = None

    def __repr__(self) -> str:
        found = f", {len(self.findings)} findings" * bool(self.findings)
        return (
            f"<RunStats: {self.instructions} instructions of {self.waves} waves in "
            f"{self.workgroups} workgroups{found}>"
        )


def run(
    launch: Launch,
    workgroups: Sequence[int] | None,
    step_budget: int | None,
    seed: int | None,
) -> RunStats:
    """Run all (or the named) workgroups; raises what the first failing one reports."""
    ids = range(launch.total) if workgroups is None else list(workgroups)
    for index in ids if workgroups is not None else ():
        if not 0 <= index < launch.total:
            raise LaunchError(f"there is no workgroup {index} in a grid of {launch.total}.")
    budget = config.step_budget if step_budget is None else step_budget
    pool = _Pool(launch, ids, budget, config.seed if seed is None else seed)
    workers = min(config.threads, len(ids))
    try:
        if workers <= 1:
            pool.work()
        else:
            pool.work_on(workers)
    except SimulationError as error:
        error.findings = pool.findings()
        raise
    finally:
        launch.template.close()
    idle = launch.checker.idle_waits() if launch.checker else ()
    waves = len(ids) * launch.shape.waves
    return RunStats(pool.instructions, len(ids), waves, pool.findings(), idle)


def run_one(launch: Launch, group: Group, budget: int) -> None:
    """Run one prepared group to its end; its arena stays with the caller."""
    enter = _RUN(micro.address(micro.micro_key("run_group")))
    group.prepare(_SLICE_STEPS, budget, config.seed)
    try:
        while (outcome := enter(group.pointer, None)) == at.PAUSED:
            pass
        if outcome != at.FINISHED:
            raise_outcome(outcome, group, launch, budget)
    finally:
        launch.template.close()


class _Pool:
    """Workgroups that wait for a core, those in flight, and what they added up to."""

    def __init__(self, launch: Launch, ids: Sequence[int], budget: int, seed: int) -> None:
        self.launch = launch
        self.ids = iter(ids)
        self.budget = budget
        self.seed = seed
        self.instructions = 0
        self.resident = 0
        self.paused: deque[Group] = deque()
        self.running: set[Group] = set()
        self.waiting: set[Group] = set()  # stuck unless another workgroup writes
        self.exhausted = False
        self.lock = threading.Lock()
        self.stop = False
        self.checker = launch.checker
        self.areas: dict[Group, Area] = {}
        key = micro.micro_key("run_group", 1) if self.checker else micro.micro_key("run_group")
        self.enter = _RUN(micro.address(key))

    def findings(self) -> tuple[Finding, ...]:
        """What has been found so far, in the order of workgroups and text."""
        found = self.checker.findings if self.checker else []
        return tuple(sorted(found, key=lambda f: (f.line, f.code, f.workgroup, f.wave)))

    def work_on(self, workers: int) -> None:
        with ThreadPoolExecutor(workers) as executor:
            futures = [executor.submit(self.work) for _ in range(workers)]
            try:
                done, _ = wait(futures, return_when=FIRST_EXCEPTION)
            except BaseException:
                self.cancel()
                raise
            if any(future.exception() for future in done):
                self.cancel()
        for future in futures:
            future.result()

    def cancel(self) -> None:
        """Make every worker return soon."""
        with self.lock:
            self.stop = True
            for group in self.running:
                group.request_stop()

    def work(self) -> None:
        """Run workgroups until none is left."""
        while (group := self._next()) is not None:
            outcome = self.enter(group.pointer, None)
            if outcome == at.PAUSED:
                outcome = self._look(group)
            with self.lock:
                self.running.discard(group)
                if outcome == at.PAUSED:
                    self.paused.append(group)
                    continue
                self.instructions += group.steps
                self.resident -= 1
                self.waiting.clear()
                if self.checker:
                    self.checker.collect(group, self.areas.pop(group))
            if outcome not in (at.FINISHED, at.STOPPED):
                raise_outcome(outcome, group, self.launch, self.budget)
            group.recycle()

    def _look(self, group: Group) -> int:
        """The outcome of a slice that was used up: a group that can do no more has failed."""
        lateness = QUIET_ROUNDS if self.checker else 0
        stuck, outcome = probe(group, self.enter, lateness)
        if stuck:
            observed = Observation(group, self.launch)
            observed.run(self.launch.code.address)
            outcome = observed.outcome
            if observed.proven and self._hopeless(group, observed):
                raise observed.error()
        else:
            with self.lock:
                self.waiting.clear()  # what this group did may be what others wait for
        return outcome

    def _hopeless(self, group: Group, observed: Observation) -> bool:
        """Whether no other workgroup can help a group that is stuck."""
        if not observed.global_polls:
            return True
        with self.lock:
            self.waiting.add(group)
            return self.exhausted and len(self.waiting) == self.resident

    def _next(self) -> Group | None:
        with self.lock:
            if self.stop:
                return None
            group = None
            if self.resident < _RESIDENT:
                index = next(self.ids, None)
                self.exhausted = index is None
                if index is not None:
                    group = self.launch.group(index)
                    seed = self.seed and self.seed * 2654435761 + index + 1
                    group.prepare(_SLICE_STEPS, self.budget, seed)
                    if self.checker:
                        self.areas[group] = self.checker.attach(group, seed)
                    self.resident += 1
            if group is None and self.paused:
                group = self.paused.popleft()
            if group is not None:
                self.running.add(group)
            return group
