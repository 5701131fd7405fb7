"""The rules of a ring of slots, checked on the arrivals and waits of a run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import NamedTuple

from pipedsl.checker.events import ATOMIC, LDS, READ, WRITE, Access, Compared, Event, Site
from pipedsl.isa.rings import Ring


class Violation(NamedTuple):
    """A broken rule.

    Attributes
    ----------
    code : str
    message, fix : str
    wave, site : int
    """

    code: str
    message: str
    fix: str
    wave: int
    site: int


class RingMonitor:
    """Follows one ring of one workgroup.

    Parameters
    ----------
    ring : Ring
    sites : sequence of Site
    report : callable
        Called with each `Violation`.
    """

    def __init__(
        self, ring: Ring, sites: Sequence[Site], report: Callable[[Violation], None]
    ) -> None:
        self.ring = ring
        self.sites = sites
        self._report = report
        self._values: dict[tuple[str, int], int] = {}
        self._initialised: set[tuple[str, int]] = set()
        self._in_use = False
        self._used_by: dict[int, set[str]] = {}
        self._loads: dict[tuple[int, int], tuple[str, int]] = {}
        self._wrote: Counter[int] = Counter()
        self._lap: dict[int, list[int]] = {}
        self.roles: dict[int, str] = {}

    def feed(self, event: Event) -> None:
        """Take the next event of the workgroup."""
        if isinstance(event, Access):
            self._access(event)
        elif isinstance(event, Compared):
            counter = self._loads.pop((event.wave, event.load), None)
            if counter is not None:
                self._compared(event, counter)

    def _access(self, event: Access) -> None:
        bits = self.sites[event.site].access.get(event.space, 0)
        counters = self._counters(event)
        if bits & ATOMIC and counters:
            self._arrive(event, counters)
        elif bits & WRITE and counters:
            self._initialise(event, counters)
        elif bits & WRITE:
            self._wrote[event.wave] += 1
        elif bits & READ and len(counters) == 1:
            self._loads[event.wave, event.site] = next(iter(counters))
        if event.site in self._used_by and not counters and event.space == LDS:
            self._outside(event)

    def _counters(self, event: Access) -> set[tuple[str, int]]:
        if event.space != LDS:
            return set()
        low, high = int(event.addresses.min()), int(event.addresses.max()) + event.width
        ring = self.ring
        if high <= ring.base or low >= ring.end:
            return set()
        step = ring.bits // 8
        starts = {
            place
            for address in event.addresses.tolist()
            for place in range(max(address, ring.base), min(address + event.width, ring.end), step)
        }
        return {found for place in starts if (found := ring.counter(place)) is not None}

    def _initialise(self, event: Access, counters: set[tuple[str, int]]) -> None:
        if self._in_use:
            self._tell(
                "C332", event.wave, event.site,
                f"wave {event.wave} writes {_names(counters)} while the ring is in use.",
                "initialise the ring once, before a barrier, and carry on with the next lap.",
            )  # fmt: skip
        self._initialised |= counters
        for counter in counters:
            self._values[counter] = 0

    def _arrive(self, event: Access, counters: set[tuple[str, int]]) -> None:
        self._in_use = True
        wave, site, ring = event.wave, event.site, self.ring
        (kind, stage), *others = sorted(counters)
        self._use(wave, site, kind, stage)
        if len(event.addresses) > 1:
            self._tell(
                "C322", wave, site,
                f"{len(event.addresses)} lanes of wave {wave} raise {_names(counters)}.",
                "let one lane do it, as arrive_full() and arrive_empty() do.",
            )  # fmt: skip
        before = self._values.get((kind, stage), 0)
        value = event.value if event.value is not None and not others else before + 1
        self._values[kind, stage] = value
        self.roles.setdefault(wave, "producer" if kind == "full" else "consumer")
        if kind == "full":
            self._check_data(wave, site, stage, value)
        limit = self._limit(kind, stage)
        if value > limit and before <= limit:
            per_lap = ring.arrivals(kind)
            other = "empty" if kind == "full" else "full"
            self._tell(
                "C320" if kind == "full" else "C321", wave, site,
                f"wave {wave} raises {kind}[{stage}] to {value}, and {other}[{stage}] is "
                f"{self._values.get((other, stage), 0)}: at most {limit} arrivals "
                f"({per_lap} per lap) are due.",
                f"let {per_lap} wave{'s' if per_lap > 1 else ''} call arrive_{kind}() once per lap, "
                f"after wait_{other}(), or give the backend the number of waves that do.",
            )  # fmt: skip
        if ring.bits == 32 and value >= 1 << 30:
            self._tell(
                "C370", wave, site,
                f"{kind}[{stage}] is {value}, and a 32-bit counter ends at {(1 << 31) - 1}.",
                "use 64-bit counters.",
            )  # fmt: skip

    def _limit(self, kind: str, stage: int) -> int:
        """Arrivals that can be due: a slot is filled once more than drained, drained as filled."""
        ring = self.ring
        if kind == "full":
            laps = self._values.get(("empty", stage), 0) // ring.consumer_arrivals + 1
            return laps * ring.producer_arrivals
        return self._values.get(("full", stage), 0) // ring.producer_arrivals * ring.consumer_arrivals

    def _check_data(self, wave: int, site: int, stage: int, value: int) -> None:
        lap = self._lap.setdefault(stage, [])
        lap.append(self._wrote.pop(wave, 0))
        if value % self.ring.producer_arrivals == 0:
            if not any(lap):
                self._tell(
                    "C350", wave, site,
                    f"wave {wave} raises full[{stage}], and nothing was written since the last signal.",
                    "write the slot before the signal, and put gpu.fence_lds() between.",
                )  # fmt: skip
            lap.clear()

    def _compared(self, event: Compared, counter: tuple[str, int]) -> None:
        needed = _needed(event)
        kind, stage = counter
        self.roles.setdefault(event.wave, "consumer" if kind == "full" else "producer")
        self._use(event.wave, event.load, kind, stage)
        if needed is None or needed <= 0:
            needed = 0
        ring, wave = self.ring, event.wave
        per_lap = ring.arrivals(kind)
        if needed % per_lap:
            self._tell(
                "C341", wave, event.load,
                f"wave {wave} waits for {needed} arrivals at {kind}[{stage}], and {per_lap} arrive per lap.",
                "wait for a multiple of the arrivals per lap.",
            )  # fmt: skip
            return
        other = "empty" if kind == "full" else "full"
        done = self._values.get((other, stage), 0) // ring.arrivals(other)
        least = (done + (kind == "full")) * per_lap
        if needed < least and (kind == "full" or self.roles.get(wave) != "consumer"):
            self._tell(
                "C340", wave, event.load,
                f"wave {wave} waits for {needed} arrivals at {kind}[{stage}] when "
                f"{other}[{stage}] is {self._values.get((other, stage), 0)}: its lap needs {least}.",
                f"let the phase of wait_{kind}() grow by one per lap"
                + (", from 0." if kind == "full" else ", from 1."),
            )  # fmt: skip

    def _use(self, wave: int, site: int, kind: str, stage: int) -> None:
        kinds = self._used_by.setdefault(site, set())
        kinds.add(kind)
        if len(kinds) > 1:
            self._tell_outside(wave, site, f"{kind}[{stage}]")
        if (kind, stage) not in self._initialised:
            self._tell(
                "C331", wave, site,
                f"wave {wave} uses {kind}[{stage}], which nobody has initialised.",
                "let one thread call init_barriers(), then call gpu.barrier().",
            )  # fmt: skip

    def _outside(self, event: Access) -> None:
        self._tell_outside(event.wave, event.site, f"LDS byte {int(event.addresses[0])}")

    def _tell_outside(self, wave: int, site: int, what: str) -> None:
        self._tell(
            "C360", wave, site,
            f"wave {wave} takes {what} for a counter of a stage: the ring has {self.ring.num_stages}.",
            "keep stages below the number that the backend was given.",
        )  # fmt: skip

    def _tell(self, code: str, wave: int, site: int, message: str, fix: str) -> None:
        self._report(Violation(code, message, fix, wave, site))


def _needed(event: Compared) -> int | None:
    """The least value that ends the wait, for a test of "at least" in either form."""
    if event.relation in ("ge", "lt"):
        return event.other
    return event.other + 1 if event.relation in ("gt", "le") else None


def _names(counters: set[tuple[str, int]]) -> str:
    return ", ".join(f"{kind}[{stage}]" for kind, stage in sorted(counters))
