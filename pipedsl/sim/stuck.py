"""Proof that the waves of a workgroup will never do anything again.

A wave's next steps follow from its registers, LDS and global memory. If, while no memory changes,
every wave that is not at a barrier comes back to a state that it was in before, then all of them
repeat what they did in between, for ever.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable

import numpy as np

from pipedsl.checker.deadlock import Deadlock, PolledWord, Wait
from pipedsl.checker.events import ACCESS, ARRIVE, COMPARE, END
from pipedsl.core.errors import DeadlockError, SourceLocation
from pipedsl.sim import layout as at
from pipedsl.sim import micro
from pipedsl.sim.checked.access import memory_access
from pipedsl.sim.checked.findings import source_location
from pipedsl.sim.checked.layout import WRITE
from pipedsl.sim.events.emit import EventTranslator
from pipedsl.sim.events.polls import find_comparisons
from pipedsl.sim.events.stream import Event, EventStream, decode
from pipedsl.sim.group import Group
from pipedsl.sim.launch import Launch
from pipedsl.sim.loaded import Code

_ROUNDS = 16  # turns of every wave in which its state must come back
Enter = Callable[[int, None], int]
_RUN = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_void_p)


def probe(group: Group, enter: Enter, quiet_rounds: int = 0) -> tuple[bool, int]:
    """Whether LDS stays as it is while every wave comes back to a state it was in.

    Cheap, and enough to look closer: it does not see what happens to global memory.

    Parameters
    ----------
    group : Group
    enter : callable
        Runs the group; up to `quiet_rounds` + 16 turns of every wave.
    quiet_rounds : int
        Turns before the comparison starts.

    Returns
    -------
    stuck : bool
    outcome : int
        Of the last run, as in `layout`.
    """
    outcome = at.PAUSED
    with group.single_rounds():
        for _ in range(quiet_rounds):
            outcome = enter(group.pointer, None)
            if outcome != at.PAUSED:
                return False, outcome
        memory, before, left = group.memory.copy(), group.states(), group.runnable()
        for number in range(1, _ROUNDS + 1):
            outcome = enter(group.pointer, None)
            if outcome != at.PAUSED or not np.array_equal(memory, group.memory):
                return False, outcome
            now = group.states()
            left = {wave for wave in left if not np.array_equal(now[wave], before[wave])}
            if not left:
                return True, outcome
            if number & (number - 1) == 0:  # a loop of several turns starts in the last half
                for wave in left:
                    before[wave] = now[wave]
    return False, outcome


class Observation:
    """A workgroup that seems stuck, and what it does in some more turns.

    Parameters
    ----------
    group : Group
    launch : Launch
    code : Code
        What `group` has been running.
    translator : type
        Whose code, with the same places to resume, tells events.

    Attributes
    ----------
    proven : bool
        Whether no wave wrote memory or reached a barrier, and all came back to a state.
    outcome : int
        Of the last run, as in `layout`.
    """

    def __init__(
        self,
        group: Group,
        launch: Launch,
        code: Code | None = None,
        translator: type[EventTranslator] = EventTranslator,
    ) -> None:
        self.group = group
        self.launch = launch
        self._code = launch.code if code is None else code
        self._translator = translator
        self.kernel = launch.kernel
        self._events: list[Event] = []
        self.proven = False
        self.outcome = at.DEADLOCK

    def run(self, entry: int) -> None:
        """Go on for a while and look; then the group is set to go on at `entry`."""
        group = self.group
        enter = _RUN(micro.address(micro.micro_key("run_group")))
        stream = EventStream(group, lambda words: self._events.extend(decode(words)))
        group.set_entry(self.kernel.code(self._translator).address)
        try:
            came_back, self.outcome = probe(group, enter)
            stream.drain()
        finally:
            group.set_entry(entry)
        self.proven = came_back and not any(self._writes(event) for event in self._events)

    @property
    def global_polls(self) -> bool:
        """Whether a wave reads global memory, which other workgroups may change."""
        return any(ev.kind == ACCESS and ev.space == at.TRACE_GLOBAL for ev in self._events)

    def _writes(self, event: Event) -> bool:
        if event.kind in (ARRIVE, END):
            return True
        if event.kind != ACCESS:
            return False
        _, lds, far = memory_access(self.kernel.instructions[event.site])
        return bool((lds if event.space == at.TRACE_LDS else far) & WRITE)

    def error(self) -> DeadlockError:
        """Who waits for what."""
        waits = tuple(self._wait(wave) for wave in range(self.group.shape.waves))
        found = Deadlock(waits, tuple(self.kernel.program.rings))
        error = DeadlockError(
            f"{self.kernel.name}: workgroup {self.group.ids}: {found.message()}",
            fix=found.fix(), where=found.where,
        )  # fmt: skip
        error.drawing = tuple(found.drawing())
        return error

    def _wait(self, wave: int) -> Wait:
        status = self.group.status(wave)
        line = self._code.resume[self.group.resume_point(wave)]
        if status == at.DONE:
            return Wait(wave, "ended")
        if status == at.AT_BARRIER:
            return Wait(wave, "barrier", line, self._location(line))
        words = self._words(wave)
        if not words:
            return Wait(wave, "loop", line, self._location(line))
        first = self.kernel.instructions[next(iter(words))]
        polled = tuple(dict.fromkeys(words.values()))
        return Wait(wave, "poll", first.line, source_location(first, self.launch.sources), polled)

    def _words(self, wave: int) -> dict[int, PolledWord]:
        """Load to the word that it polls: those that are compared, or all where none is."""
        code, labels = self.kernel.instructions, self.kernel.program.labels
        comparisons = find_comparisons(code, labels, self.kernel.wave.lanes)
        loads: dict[int, Event] = {}
        compared: dict[int, PolledWord] = {}
        plain: dict[int, PolledWord] = {}
        for event in self._events:
            if event.wave != wave:
                continue
            if event.kind == ACCESS and len(event.addresses):
                loads[event.site] = event
                plain[event.site] = self._word(event)
            elif event.kind == COMPARE:
                comparison = comparisons[event.site]
                load = loads.get(comparison.load)
                if load is not None:
                    word = self._word(load)
                    needed = None
                    if word.value is not None:
                        needed = comparison.needed(word.value, event.value)
                    compared[load.site] = PolledWord(word.space, word.address, word.value, needed)
        return compared or plain

    def _word(self, event: Event) -> PolledWord:
        address = int(event.addresses[0])
        if event.space == at.TRACE_LDS:
            return PolledWord("LDS", address, event.value if event.width in (4, 8) else None)
        value = None
        if event.width in (4, 8):
            raw = self.launch.memory.view(address, event.width)
            value = int.from_bytes(raw.tobytes(), "little", signed=True)
        return PolledWord("global", address, value)

    def _location(self, line: int) -> SourceLocation | None:
        code = self.kernel.instructions
        found = next((ins for ins in code if ins.line == line), None)
        return None if found is None else source_location(found, self.launch.sources)
