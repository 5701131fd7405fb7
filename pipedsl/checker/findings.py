"""What a detector found, in words."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from pipedsl.checker.detector import Conflict, Detector, Early, Violation
from pipedsl.checker.events import Site
from pipedsl.checker.violations import explain
from pipedsl.core.findings import Finding
from pipedsl.isa.rings import Ring


@dataclass(frozen=True)
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
    wait_text : callable
        The wait after which at most so many operations of a queue are outstanding.
    register_name : callable
        Name of a register by number.
    """

    name: str
    sites: Sequence[Site]
    rings: Sequence[Ring]
    grid: tuple[int, int, int]
    waves: int
    wait_text: Callable[[int, int], str]
    register_name: Callable[[int], str]

    def workgroup(self, wave: int) -> tuple[int, int, int]:
        """Of a wave of the launch."""
        index = wave // self.waves
        x, rest = index % self.grid[0], index // self.grid[0]
        return x, rest % self.grid[1], rest // self.grid[1]


class Findings:
    """What `detector` has seen of `program`, each pair of lines once."""

    def __init__(self, program: Program, detector: Detector) -> None:
        self._program = program
        self._detector = detector

    def found(self) -> tuple[Finding, ...]:
        """Broken rules of rings, then conflicts, each in the order of the run."""
        findings: dict[tuple[object, ...], Finding] = {}
        for violation in self._detector.violations():
            one = self._violation(violation)
            findings.setdefault(one.identity, one)
        for conflict in self._detector.conflicts():
            one = self._pair(conflict)
            findings.setdefault(one.identity, one)
        return tuple(findings.values())

    def _pair(self, pair: Conflict | Early) -> Finding:
        return self._early(pair) if isinstance(pair, Early) else self._conflict(pair)

    def _violation(self, violation: Violation) -> Finding:
        message, fix = explain(violation, self._who(violation.wave))
        site = self._program.sites[violation.site]
        return self._finding(violation.code, message, fix, violation.wave, site, ())

    def _early(self, early: Early) -> Finding:
        load, use = (self._program.sites[site] for site in early.sites)
        verb = "overwritten" if early.overwritten else "read"
        message = (
            f"{self._program.register_name(early.register)} is {verb} by `{use.text}` "
            f"(line {use.line}) before `{load.text}` (line {load.line}) is proven complete."
        )
        wait = self._program.wait_text(load.queues[0], early.allowed)
        fix = f"put {wait} before line {use.line}."
        return self._finding(
            "C111" if early.overwritten else "C110", message, fix, early.wave, use, (load,)
        )

    def _conflict(self, conflict: Conflict) -> Finding:
        code = self._code(conflict)
        first, second = (self._program.sites[site] for site in conflict.sites)
        address = conflict.address
        place = f"LDS byte {address}" if conflict.space == "LDS" else f"the byte at {address:#x}"
        verbs = ["writes" if writes else "reads" for writes in conflict.writes]
        how = "nothing orders them" if conflict.unordered else "the first may not be complete"
        message = (
            f"{self._who(conflict.waves[0])} {verbs[0]} {place} by `{first.text}` "
            f"(line {first.line}), {self._who(conflict.waves[1])} {verbs[1]} it by "
            f"`{second.text}` (line {second.line}), and {how}."
        )
        return self._finding(
            code, message, self._fix(code, conflict), conflict.waves[1], second, (first,)
        )

    def _code(self, conflict: Conflict) -> str:
        in_lds = conflict.space == "LDS"
        wrote_first, writes = conflict.writes
        if not conflict.unordered:
            return _INCOMPLETE[in_lds, wrote_first]
        rings = self._program.rings if in_lds else ()
        if any(ring.base <= conflict.address < ring.end for ring in rings):
            return "C330"
        if not in_lds:
            return "C220" if wrote_first and writes else "C221"
        roles = [self._detector.role(wave) for wave in conflict.waves]
        if sorted(roles) == ["consumer", "producer"] and not (wrote_first and writes):
            return "C311" if wrote_first else "C310"
        return "C210" if wrote_first and writes else "C211"

    def _who(self, wave: int) -> str:
        role = self._detector.role(wave)
        text = f"wave {wave % self._program.waves}"
        if self._program.grid != (1, 1, 1):
            text += f" of workgroup {self._program.workgroup(wave)}"
        return f"{text} ({role})" if role else text

    def _fix(self, code: str, conflict: Conflict) -> str:
        first, second = (self._program.sites[site] for site in conflict.sites)
        if code == "C330":
            return "put gpu.barrier() between init_barriers() and the first wait or arrival."
        if not conflict.unordered:
            wait = self._program.wait_text(first.queues[0], conflict.allowed)
            return (
                f"let {self._who(conflict.waves[0])} execute {wait} after line {first.line}, "
                f"before it signals or reaches the barrier."
            )
        if code in _RING_FIXES:
            return _RING_FIXES[code]
        lines = f"between lines {first.line} and {second.line}"
        if conflict.space == "LDS":
            return f"put gpu.barrier(), or a signal and a wait, {lines}."
        if self._program.workgroup(conflict.waves[0]) != self._program.workgroup(conflict.waves[1]):
            return (
                "give each workgroup bytes of its own, or let the second one run in another launch."
            )
        return f"put gpu.barrier() {lines}."

    def _finding(
        self, code: str, message: str, fix: str, wave: int, site: Site, others: Sequence[Site]
    ) -> Finding:
        related = tuple((other.line, other.where) for other in others)
        program = self._program
        return Finding(
            code, message, fix, program.name, program.workgroup(wave), wave % program.waves, None,
            site.line, site.where, related,
        )  # fmt: skip


_INCOMPLETE = {
    (True, True): "C120", (True, False): "C121", (False, True): "C130", (False, False): "C131",
}  # fmt: skip
_RING_FIXES = {
    "C310": "let the producer wait for the empty signal of the slot, and the consumers raise it "
    "after their reads.",
    "C311": "let the consumer wait for the full signal of the slot, and the producers raise it "
    "after their writes.",
}
