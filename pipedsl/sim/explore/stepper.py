"""One workgroup that is driven wave by wave, and can be taken back."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from hashlib import blake2b

import numpy as np

from pipedsl.checker.detector import Detector, Snapshot
from pipedsl.checker.findings import Findings
from pipedsl.core.errors import DeadlockError
from pipedsl.core.findings import Finding
from pipedsl.sim import layout as at
from pipedsl.sim import micro
from pipedsl.sim.events.feed import detector_of, program_of
from pipedsl.sim.events.stream import EventStream
from pipedsl.sim.explore.translator import SteppingTranslator
from pipedsl.sim.faults import raise_outcome
from pipedsl.sim.launch import Launch
from pipedsl.sim.stuck import Observation

_RUN = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_void_p)
_IGNORED = (at.STEPS, at.RANDOM, at.CURRENT, at.CLOCK)  # fields of a group that decide nothing


@dataclass(frozen=True)
class Moment:
    """All that a workgroup, its memory and the detector hold."""

    arena: np.ndarray
    memory: tuple[np.ndarray, ...]
    detector: Snapshot


class Stepper:
    """Workgroup 0 of a launch.

    Parameters
    ----------
    launch : Launch
    budget : int
        Wave instructions in all.
    """

    def __init__(self, launch: Launch, budget: int) -> None:
        self.launch = launch
        self._budget = budget
        program = program_of(launch)
        self._detector: Detector = detector_of(launch, program, 1)
        self._findings = Findings(program, self._detector)
        self._code = launch.kernel.code(SteppingTranslator)
        self._text = {ins.line: str(ins) for ins in launch.kernel.instructions}
        self._enter = _RUN(micro.address(micro.micro_key("run_wave")))
        self.group = launch.group(0)
        self.group.prepare(1 << 60, 1 << 60, 0)
        self.group.set_entry(self._code.address)
        self._stream = EventStream(self.group, lambda words: self._detector.feed(0, words))
        self.instructions = 0

    @property
    def waves(self) -> int:
        """Waves of the workgroup."""
        return self.group.shape.waves

    def close(self) -> None:
        """Unmap what the launch mapped."""
        self.launch.template.close()

    def live(self) -> bool:
        """Whether a wave has not ended."""
        return any(self.group.status(wave) != at.DONE for wave in range(self.waves))

    def ready(self) -> list[int]:
        """Waves that have not ended and are not at a closed barrier."""
        return [wave for wave in range(self.waves) if self.group.can_run(wave)]

    def step(self, wave: int) -> bool:
        """Run a wave up to its next synchronisation operation; false if that was a vain look.

        Raises
        ------
        SimulationError
            If the wave fails, or the budget is used up.
        """
        group = self.group
        place, memory = self._place(wave), self._bytes()
        outcome = self._enter(group.pointer, group.wave_pointer(wave))
        self._stream.drain()
        self.instructions += group.take_steps()
        if outcome == at.FAULTED:
            raise_outcome(outcome, group, self.launch, self._budget)
        if self.instructions > self._budget:
            raise_outcome(at.OVER_BUDGET, group, self.launch, self._budget)
        waits = group.status(wave) == at.READY and self._place(wave) == place
        return not waits or memory != self._bytes()

    def stuck(self) -> DeadlockError | None:
        """The error, if it is proven that no wave will do anything again."""
        observed = Observation(self.group, self.launch, self._code, SteppingTranslator)
        observed.run(self._code.address)
        self._stream.attach(self.group)
        return observed.error() if observed.proven else None

    def findings(self) -> tuple[Finding, ...]:
        """What the detector has found in all that was run, taken back or not."""
        return self._findings.found()

    def save(self) -> Moment:
        """The present moment."""
        memory = tuple(found.array.copy() for found in self.launch.memory.writable())
        return Moment(self.group.arena.copy(), memory, self._detector.save())

    def restore(self, moment: Moment) -> None:
        """Go back, or forth, to a moment; findings stay."""
        self.group.arena[:] = moment.arena
        for found, kept in zip(self.launch.memory.writable(), moment.memory, strict=True):
            found.array[:] = kept
        self._detector.restore(moment.detector)

    def key(self) -> bytes:
        """Equal for moments from which the same can happen and be found."""
        arena = self.group.arena.copy()
        header = arena[: at.GROUP_HEADER]
        for field in _IGNORED:
            header[field : field + 8] = 0
        self.group.shape.wave_records(arena)[:, at.FUEL : at.FUEL + 8] = 0
        total = blake2b(arena.data, digest_size=16)
        for found in self.launch.memory.writable():
            total.update(found.array.data)
        for part in self._detector.knowledge():
            total.update(part.data)
        return total.digest()

    def _place(self, wave: int) -> str:
        """The instruction at which a wave stands: a loop that waits starts with a copy of its test."""
        return self._text.get(self._code.resume[self.group.resume_point(wave)], "")

    def _bytes(self) -> bytes:
        """LDS and what is written in global memory, as a digest."""
        total = blake2b(self.group.memory.data, digest_size=16)
        for found in self.launch.memory.writable():
            total.update(found.array.data)
        return total.digest()
