"""Conflicts and violations in words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from pipedsl.checker.detector import Conflict
from pipedsl.checker.events import LDS, Event, Site
from pipedsl.checker.protocol import RingMonitor, Violation
from pipedsl.core.findings import Finding
from pipedsl.isa.rings import Ring


@dataclass
class Program:
    """What is known of the program that is checked.

    Attributes
    ----------
    name : str
    sites : sequence of Site
    rings : sequence of Ring
    grid : tuple of int
    waves : int
        Of a workgroup.
    wait_text : mapping of int to str
        Queue to the wait that proves all of it.
    """

    name: str
    sites: Sequence[Site]
    rings: Sequence[Ring]
    grid: tuple[int, int, int]
    waves: int
    wait_text: Mapping[int, str] = field(default_factory=dict)

    def workgroup(self, wave: int) -> tuple[int, int, int]:
        """Of a wave of the launch."""
        index = wave // self.waves
        x, rest = index % self.grid[0], index // self.grid[0]
        return x, rest % self.grid[1], rest // self.grid[1]


class Findings:
    """Collects what a run shows, each pair of Python lines once."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self._shown: dict[tuple[object, ...], Conflict | Violation] = {}
        self._monitors: dict[int, list[RingMonitor]] = {}

    def found(self) -> tuple[Finding, ...]:
        """What was collected, in the order of the run."""
        findings: dict[tuple[object, ...], Finding] = {}
        for shown in self._shown.values():
            if isinstance(shown, Violation):
                site = self.program.sites[shown.site]
                one = self._finding(shown.code, shown.message, shown.fix, shown.wave, site, ())
            else:
                one = self._conflict(shown)
            findings.setdefault(identity(one), one)
        return tuple(findings.values())

    def feed(self, event: Event) -> None:
        """Let the monitors of the workgroup's rings see an event, before the detector does."""
        if not self.program.rings:
            return
        group = event.wave // self.program.waves
        monitors = self._monitors.get(group)
        if monitors is None:
            monitors = self._monitors[group] = [
                RingMonitor(ring, self.program.sites, self.violation) for ring in self.program.rings
            ]
        for monitor in monitors:
            monitor.feed(event)

    def violation(self, violation: Violation) -> None:
        """A broken rule of a ring."""
        self._shown.setdefault((violation.code, violation.site), violation)

    def conflict(self, conflict: Conflict) -> None:
        """Two accesses that nothing orders, or where the first may not be complete."""
        key = conflict.past.site, conflict.access.site, conflict.unordered
        self._shown.setdefault(key, conflict)

    def _conflict(self, conflict: Conflict) -> Finding:
        access, past = conflict.access, conflict.past
        if conflict.unordered and self._is_counter(conflict):
            code = "C330"
        elif not conflict.unordered:
            code = _INCOMPLETE[conflict.space, conflict.writes[0]]
        else:
            code = self._race_code(conflict)
        first, second = self.program.sites[past.site], self.program.sites[access.site]
        place = f"LDS byte {past.address}" if conflict.space == LDS else f"the byte at {past.address:#x}"
        verbs = ["writes" if writes else "reads" for writes in conflict.writes]
        message = (
            f"{self._who(past.wave)} {verbs[0]} {place} by `{first.text}` (line {first.line}), "
            f"{self._who(access.wave)} {verbs[1]} it by `{second.text}` (line {second.line}), "
            f"{self._how(conflict)}."
        )
        return self._finding(
            code, message, self._fix(code, conflict), access.wave, second, (first,)
        )

    def _how(self, conflict: Conflict) -> str:
        if conflict.unordered:
            return "and nothing orders them"
        return "and the first may not be complete"

    def _is_counter(self, conflict: Conflict) -> bool:
        address = conflict.past.address
        rings = self.program.rings if conflict.space == LDS else ()
        return any(ring.base <= address < ring.end for ring in rings)

    def _race_code(self, conflict: Conflict) -> str:
        wrote_first, writes = conflict.writes
        if conflict.space != LDS:
            return "C220" if wrote_first and writes else "C221"
        roles = [self._role(wave) for wave in (conflict.past.wave, conflict.access.wave)]
        if sorted(roles) == ["consumer", "producer"] and not (wrote_first and writes):
            return "C311" if wrote_first else "C310"
        return "C210" if wrote_first and writes else "C211"

    def _role(self, wave: int) -> str:
        for monitor in self._monitors.get(wave // self.program.waves, ()):
            if wave in monitor.roles:
                return monitor.roles[wave]
        return ""

    def _who(self, wave: int) -> str:
        role = self._role(wave)
        text = f"wave {wave % self.program.waves}"
        if self.program.grid != (1, 1, 1):
            text += f" of workgroup {self.program.workgroup(wave)}"
        return f"{text} ({role})" if role else text

    def _fix(self, code: str, conflict: Conflict) -> str:
        past, access = conflict.past, conflict.access
        first, second = (self.program.sites[s] for s in (past.site, access.site))
        if code == "C330":
            return "put gpu.barrier() between init_barriers() and the first wait or arrival."
        if not conflict.unordered:
            wait = self.program.wait_text.get(past.queue, "a wait")
            return (
                f"let {self._who(past.wave)} execute {wait} after line {first.line}, before it signals "
                f"or reaches the barrier."
            )
        if code == "C310":
            return (
                "let the producer wait for the empty signal of the slot, and the consumers raise it "
                "after their reads."
            )
        if code == "C311":
            return "let the consumer wait for the full signal of the slot, and the producers raise it after their writes."
        if conflict.space == LDS:
            return f"put gpu.barrier(), or a signal and a wait, between lines {first.line} and {second.line}."
        if self.program.workgroup(past.wave) != self.program.workgroup(access.wave):
            return "give each workgroup bytes of its own, or let the second one run in another launch."
        return f"put gpu.barrier() between lines {first.line} and {second.line}."

    def _finding(
        self, code: str, message: str, fix: str, wave: int, site: Site, others: Sequence[Site]
    ) -> Finding:
        related = tuple((other.line, other.where) for other in others)
        group = self.program.workgroup(wave)
        return Finding(
            code, message, fix, self.program.name, group, wave % self.program.waves, None,
            site.line, site.where, related,
        )  # fmt: skip


def identity(finding: Finding) -> tuple[object, ...]:
    """What makes two findings one: the code and the lines that take part, Python's where known."""
    places = [(finding.line, finding.where), *finding.related]
    return finding.code, *((w.filename, w.line) if w is not None else n for n, w in places)


_INCOMPLETE = {
    (LDS, True): "C120", (LDS, False): "C121", ("global", True): "C130", ("global", False): "C131",
}  # fmt: skip

