"""Waves that wait for what cannot come: who waits for whom, as text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from pipedsl.core.errors import SourceLocation
from pipedsl.isa.rings import Ring


@dataclass(frozen=True)
class PolledWord:
    """A word that a wave reads again and again.

    Attributes
    ----------
    space : {"LDS", "global"}
    address : int
    value : int or None
        What it holds.
    needed : str or None
        What would end the wait, e.g. ``">= 3"``.
    """

    space: str
    address: int
    value: int | None = None
    needed: str | None = None

    def counter(self, rings: Sequence[Ring]) -> tuple[Ring, str, int] | None:
        """Ring, kind and stage, if the word is a declared counter."""
        for ring in rings if self.space == "LDS" else ():
            found = ring.counter(self.address)
            if found is not None:
                return (ring, *found)
        return None

    def name(self, rings: Sequence[Ring]) -> str:
        """The word in the user's terms."""
        place = f"LDS byte {self.address}" if self.space == "LDS" else f"address {self.address:#x}"
        found = self.counter(rings)
        return place if found is None else f"{found[1]}[{found[2]}] ({place})"


@dataclass(frozen=True)
class Wait:
    """What one wave does.

    Attributes
    ----------
    wave : int
    kind : {"poll", "barrier", "loop", "ended"}
    line : int
        Of the assembly text.
    where : SourceLocation or None
    words : tuple of PolledWord
    """

    wave: int
    kind: str
    line: int = 0
    where: SourceLocation | None = None
    words: tuple[PolledWord, ...] = field(default=())


@dataclass(frozen=True)
class Deadlock:
    """A proven deadlock: no wave that has not ended will ever do more than it does now.

    Attributes
    ----------
    waits : tuple of Wait
        One per wave of the workgroup.
    rings : tuple of Ring
    """

    waits: tuple[Wait, ...]
    rings: tuple[Ring, ...] = ()

    @property
    def stuck(self) -> tuple[Wait, ...]:
        """The waves that wait."""
        return tuple(wait for wait in self.waits if wait.kind != "ended")

    @property
    def where(self) -> SourceLocation | None:
        """The line of the first wave that polls, else of the first that waits."""
        first = next((w for w in self.stuck if w.kind == "poll"), self.stuck[0])
        return first.where

    def message(self) -> str:
        """One sentence."""
        polls = [w for w in self.stuck if w.kind == "poll"]
        if not polls:
            at_barrier = [w.wave for w in self.stuck if w.kind == "barrier"]
            if not at_barrier:
                return f"{_waves([w.wave for w in self.stuck])} never leave{_s(self.stuck)} a loop that changes nothing."
            return f"{_waves(at_barrier)} wait{_s(at_barrier)} at a barrier that the others never reach."
        first = polls[0]
        words = ", ".join(word.name(self.rings) for word in first.words)
        text = f"wave {first.wave} waits for {self._condition(first)}"
        if len(self.stuck) > 1:
            others = [w.wave for w in self.stuck if w.wave != first.wave]
            return f"deadlock: {text}, and {_waves(others)} wait{_s(others)} too."
        return f"deadlock: {text}, and no wave is left to change {words}."

    def fix(self) -> str:
        """What to look at."""
        for wait in self.stuck:
            for word in wait.words:
                found = word.counter(self.rings)
                if found is not None:
                    return self._ring_fix(wait, word, *found)
        if any(w.kind == "barrier" for w in self.stuck):
            return "let every wave of the workgroup reach each barrier."
        return "let a wave that is not waiting itself change the word that is polled."

    def _ring_fix(self, wait: Wait, word: PolledWord, ring: Ring, kind: str, stage: int) -> str:
        arrive, per_lap = f"arrive_{kind}", ring.arrivals(kind)
        needed = _threshold(word)
        if needed is not None and needed >= per_lap << 31:
            return "wait_empty() takes phases from 1 on: start producers at phase 1."
        if word.value is not None and word.value % per_lap:
            return (
                f"{word.value % per_lap} of {per_lap} waves called {arrive}({stage}) in this lap: let "
                f"every one of them do so, or give the backend the number that do."
            )
        ended = [w.wave for w in self.waits if w.kind == "ended"]
        if ended:
            return (
                f"{_waves(ended)} ended; let {'it' if len(ended) == 1 else 'them'} make as many laps as "
                f"wave {wait.wave}, or wave {wait.wave} fewer."
            )
        ahead = next((w for w in self.stuck if self._is_ahead(w)), None)
        if ahead is not None:
            found = ahead.words[0].counter(self.rings)
            assert found is not None
            back = "arrive_full" if found[1] == "empty" else "arrive_empty"
            return (
                f"wave {ahead.wave} waits for a lap that the other side cannot start before it calls "
                f"{back}({found[2]}): add the call, or lower its phase by one."
            )
        return f"look for a missing {arrive}({stage}), or a phase that is too high."

    def _is_ahead(self, wait: Wait) -> bool:
        """Whether it waits for full slots while a wave that fills them waits for its own signal."""
        mine = [found for word in wait.words if (found := word.counter(self.rings)) is not None]
        others = [
            found
            for other in self.stuck
            for word in other.words
            if other.wave != wait.wave and (found := word.counter(self.rings)) is not None
        ]
        return any(
            kind == "full" and (ring, "empty") == other[:2]
            for ring, kind, _ in mine
            for other in others
        )

    def drawing(self) -> list[str]:
        """A line per wave, and why nobody ends the waits."""
        out = []
        for wait in self.waits:
            out.append(f"wave {wait.wave}{self._role(wait)} {self._state(wait)}")
            where = wait.where.source_line() if wait.where is not None else None
            if where is not None and wait.kind != "ended":
                out.append(f"    {where.strip()}")
        for text in dict.fromkeys(t for w in self.stuck for t in self._reasons(w)):
            out.append(text)
        return out

    def _role(self, wait: Wait) -> str:
        for word in wait.words:
            found = word.counter(self.rings)
            if found is not None:
                return " (producer)" if found[1] == "empty" else " (consumer)"
        return ""

    def _state(self, wait: Wait) -> str:
        place = f"line {wait.line}"
        if wait.where is not None:
            place = f"{wait.where.filename}:{wait.where.line}, {place}"
        if wait.kind == "ended":
            return "has ended"
        if wait.kind == "barrier":
            return f"is at a barrier ({place})"
        if wait.kind == "loop":
            return f"is in a loop that changes nothing ({place})"
        return f"waits for {self._condition(wait)} ({place})"

    def _condition(self, wait: Wait) -> str:
        return " and ".join(self._word(word) for word in wait.words)

    def _word(self, word: PolledWord) -> str:
        text = word.name(self.rings)
        if word.needed is not None:
            text += f" {word.needed}"
        if word.value is not None:
            text += f", which is {word.value}"
        found = word.counter(self.rings)
        needed = _threshold(word)
        if found is not None and needed is not None:
            ring, kind, _ = found
            text += f" (lap {needed // ring.arrivals(kind)} at {ring.arrivals(kind)} per lap)"
        return text

    def _reasons(self, wait: Wait) -> list[str]:
        others = [w for w in self.waits if w.wave != wait.wave]
        waiting = [w.wave for w in others if w.kind != "ended"]
        ended = [w.wave for w in others if w.kind == "ended"]
        parts = []
        if waiting:
            parts.append(f"{_waves(waiting)} wait{_s(waiting)} too")
        if ended:
            parts.append(f"{_waves(ended)} ha{'s' if len(ended) == 1 else 've'} ended")
        why = " and ".join(parts) or "there is no other wave"
        return [f"nobody changes {word.name(self.rings)}: {why}" for word in wait.words]


def _threshold(word: PolledWord) -> int | None:
    relation, _, number = (word.needed or "").partition(" ")
    if relation not in (">=", ">", "=="):
        return None
    return int(number) + (relation == ">")


def _waves(numbers: Sequence[int]) -> str:
    listed = ", ".join(map(str, numbers))
    return f"wave{'s' if len(numbers) > 1 else ''} {listed}"


def _s(items: Sequence[object]) -> str:
    return "" if len(items) > 1 else "s"
