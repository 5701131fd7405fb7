"""What a clean launch does more than it must: hints, from the events of a run.

A run is observed in fast mode, where waits change nothing that happens. So the same events show what the
checker would say without a wait, or without a barrier's order.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from pipedsl.checker.events import ACCESS, ARRIVE, LDS, READ, WAIT, Site
from pipedsl.checker.findings import Program
from pipedsl.core.findings import Finding
from pipedsl.isa.counters import queues
from pipedsl.sim.events.feed import detector_of, program_of
from pipedsl.sim.events.stream import Event, decode
from pipedsl.sim.launch import Launch
from pipedsl.sim.observed import FIRST_STEPS, observe
from pipedsl.sim.timing.phases import phases

_SEGMENT = 64  # bytes of memory that are fetched together
_FACTOR = 1.5  # below that, neither conflicts nor scattered lanes are worth a word
_WIDTHS = (4, 8, 16)

_VECTOR = ("vmcnt", "loadcnt")  # counters of which a user says how many may stay in flight

Trace = list[tuple[int, np.ndarray]]


def find_hints(make: Callable[[], Launch], seeds: Sequence[int]) -> tuple[Finding, ...]:
    """Hints for a launch whose checks are clean.

    Parameters
    ----------
    make : callable
        Prepares the launch anew.
    seeds : sequence of int
        Interleavings; what one of them needs is needed.
    """
    traces: list[Trace] = []
    for seed in seeds:
        launch = make()
        trace: Trace = []
        observe(launch, seed=seed, workgroups=1, step_budget=FIRST_STEPS, keep=trace)
        traces.append(trace)
    hints = _Hints(launch, program_of(launch))
    found = [*hints.synchronisation(traces), *hints.accesses(traces[0])]
    return tuple({finding.identity: finding for finding in found}.values())


@dataclass(frozen=True)
class _Hints:
    launch: Launch
    program: Program

    def synchronisation(self, traces: Sequence[Trace]) -> Iterator[Finding]:
        """Waits and barriers of Python lines without which the runs are as clean."""
        if not self._clean(traces, self.program.sites):
            return
        executed = {
            event.site for event in _events(traces[0]) if event.kind in (WAIT, ARRIVE)
        }  # fmt: skip
        for number in sorted(executed):
            site = self.program.sites[number]
            if site.where is None:
                continue
            if not site.limits:
                if self._clean(traces, self._with(number, replace(site, silent=True))):
                    yield self._finding(
                        "C512", number, f"nothing relies on the order that `{site.text}` makes.",
                        "leave gpu.barrier() out, unless other inputs need it.",
                    )  # fmt: skip
            elif _asked_for(site):
                yield from self._wait(traces, number, site)

    def _wait(self, traces: Sequence[Trace], number: int, site: Site) -> Iterator[Finding]:
        if self._clean(traces, self._with(number, replace(site, limits={}))):
            yield self._finding(
                "C510", number, f"nothing relies on what `{site.text}` waits for.",
                "leave the wait or fence out, unless other inputs need it.",
            )  # fmt: skip
            return
        for queue, limit in site.limits.items():
            row = list(queues(self.launch.kernel.arch).values())[queue]
            enough = limit
            while row.counter in _VECTOR and enough < 16:
                weaker = {**site.limits, queue: enough + 1}
                if not self._clean(traces, self._with(number, replace(site, limits=weaker))):
                    break
                enough += 1
            if limit < enough < 16:
                yield self._finding(
                    "C511", number,
                    f"`{site.text}` waits for {row.counter}({limit}), and {row.counter}({enough}) "
                    f"is enough.",
                    f"let {enough} operations stay in flight, as with gpu.fence_lds(vmcnt={enough}).",
                )  # fmt: skip

    def accesses(self, trace: Trace) -> Iterator[Finding]:
        """Bank conflicts and scattered accesses, by instruction."""
        seen: dict[int, list[tuple[float, float]]] = defaultdict(list)
        for event in _events(trace):
            if event.kind == ACCESS and len(event.addresses) == self.launch.kernel.wave.lanes:
                spent = self._spent(event)
                if spent is not None and len(seen[event.site]) < 64:
                    seen[event.site].append(spent)
        for number, pairs in sorted(seen.items()):
            taken, least = (sum(column) for column in zip(*pairs, strict=True))
            if least and taken / least >= _FACTOR:
                yield self._access(number, taken / least)

    def _access(self, number: int, factor: float) -> Finding:
        site = self.program.sites[number]
        if site.access.get(LDS):
            return self._finding(
                "C520", number, f"bank conflicts make `{site.text}` {factor:.1f} times as long.",
                "pad the rows of the array, or permute its chunks as gpu tiles do.",
            )  # fmt: skip
        return self._finding(
            "C521", number,
            f"`{site.text}` touches {factor:.1f} times the segments of {_SEGMENT} bytes that its "
            f"lanes need.",
            "let neighbouring lanes access neighbouring elements.",
        )  # fmt: skip

    def _spent(self, event: Event) -> tuple[float, float] | None:
        """What the access takes, and the least for so many bytes: cycles of LDS, or segments."""
        addresses, width = event.addresses, event.width
        if event.space != LDS:
            first, last = addresses // _SEGMENT, (addresses + width - 1) // _SEGMENT
            touched = len(np.union1d(first, last))
            return touched, -(-len(np.unique(addresses)) * width // _SEGMENT)
        if width not in _WIDTHS:
            return None
        access = "read" if self.program.sites[event.site].access[LDS] & READ else "write"
        served = phases(self.launch.kernel.arch, access, width)
        cycles = 0
        for lanes in served.lanes:
            words = np.unique(addresses[list(lanes)][:, None] // 4 + np.arange(width // 4))
            cycles += int(np.bincount(words % served.banks).max())
        ideal = sum(max(1, len(lanes) * width // 4 // served.banks) for lanes in served.lanes)
        return cycles, ideal

    def _with(self, number: int, site: Site) -> list[Site]:
        return [*self.program.sites[:number], site, *self.program.sites[number + 1 :]]

    def _clean(self, traces: Sequence[Trace], sites: Sequence[Site]) -> bool:
        for trace in traces:
            detector = detector_of(self.launch, replace(self.program, sites=sites), 1)
            for group, words in trace:
                detector.feed(group, words)
            if detector.conflicts() or detector.violations():
                return False
        return True

    def _finding(self, code: str, number: int, message: str, fix: str) -> Finding:
        site = self.program.sites[number]
        return Finding(
            code, message, fix, self.program.name, (0, 0, 0), 0, None, site.line, site.where
        )


def _events(trace: Trace) -> Iterator[Event]:
    for _, words in trace:
        yield from decode(words)


def _asked_for(site: Site) -> bool:
    """Whether the user's line asks for the wait, rather than the compiler for a register."""
    text = (site.where.source_line() or "") if site.where is not None else ""
    return any(name in text for name in ("fence", "waitcnt", "barrier", "produce", "commit"))
