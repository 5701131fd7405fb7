"""``pipedsl.trace``: where the time of launches goes, as a timeline."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path

from pipedsl.core.errors import LaunchError
from pipedsl.core.files import write_whole
from pipedsl.dispatch.callsite import caller
from pipedsl.runtime.simulated import timed_launches
from pipedsl.sim.timing.result import TimedRun
from pipedsl.sim.timing.timeline import Interval
from pipedsl.views.perfetto import to_trace_events
from pipedsl.views.picture import KINDS, Arrow, Bar, Picture, Row
from pipedsl.views.svg import to_svg
from pipedsl.views.text import to_text


class Trace:
    """The timelines of launches; a notebook shows the last as a picture, a terminal as text.

    Attributes
    ----------
    runs : list of TimedRun
        One per launch, in order.
    """

    def __init__(self, runs: Iterable[TimedRun] = ()) -> None:
        self.runs = list(runs)

    @property
    def summary(self) -> tuple[str, ...]:
        """Where the time of each role of the last launch went, in words."""
        return summary_of(self._last())

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the last launch's timeline: ``.svg``, ``.html``, ``.txt``, or ``.json`` for Perfetto.

        The file is there whole or not at all.

        Raises
        ------
        LaunchError
            For another suffix, a file that cannot be written, or if nothing was launched.
        """
        target = Path(path)
        write = _FORMATS.get(target.suffix)
        if write is None:
            raise LaunchError(
                f"a timeline cannot be saved as {target.name!r}.",
                fix=f"use a name that ends in {', '.join(_FORMATS)}.",
                where=caller(),
            )
        text = write(picture_of(self._last()))
        try:
            write_whole(target, text)
        except LaunchError as error:
            error.where = caller()
            raise

    def _last(self) -> TimedRun:
        if not self.runs:
            raise LaunchError(
                "nothing was launched on a simulated device in the trace.",
                fix='launch a kernel inside "with pipedsl.trace() as t:".',
                where=caller(),
            )
        return self.runs[-1]

    def __str__(self) -> str:
        return to_text(picture_of(self.runs[-1])) if self.runs else repr(self)

    def __repr__(self) -> str:
        return f"<Trace of {len(self.runs)} launch{'es' * (len(self.runs) != 1)}>"

    def _repr_html_(self) -> str:
        return to_svg(picture_of(self.runs[-1])) if self.runs else ""


@contextmanager
def trace() -> Iterator[Trace]:
    """Model the time of every launch on a simulated device in the block.

    Results are those of any launch. The times are modelled cycles of one compute unit, never a GPU's.

    Examples
    --------
    ::

        with pipedsl.trace() as t:
            kernel[1, 128](out, n)
        t  # in a notebook cell: the timeline
        t.save("run.json")  # opens in Perfetto
    """
    traced = Trace()
    with timed_launches() as runs:
        try:
            yield traced
        finally:
            traced.runs = runs


def picture_of(run: TimedRun) -> Picture:
    """The timeline of a modelled launch."""
    rows = tuple(
        Row(f"wave {number} ({wave.role})", f"workgroup {wave.workgroup}")
        for number, wave in enumerate(run.waves)
    )
    return Picture(
        f"{run.kernel} on {run.arch}: {run.cycles} modelled cycles", "modelled cycles", rows,
        tuple(
            Bar(i.wave, i.kind, i.start, i.end, _label(i), _hover(i)) for i in run.intervals
        ),
        tuple(
            Arrow(a.source, a.target, a.sent, a.received, f"{a.kind}[{a.stage}]")
            for a in run.arrows
        ),
        run.cycles, summary_of(run),
    )  # fmt: skip


def summary_of(run: TimedRun) -> tuple[str, ...]:
    """What each role waits for, the longest first, and what may help."""
    total: dict[str, dict[str, int]] = {}
    for interval in run.intervals:
        into = total.setdefault(run.waves[interval.wave].role, dict.fromkeys(KINDS, 0))
        into[interval.kind] += interval.end - interval.start
    lines = []
    for role, spent in total.items():
        whole = sum(spent.values()) or 1
        waits = sorted(
            ((n, kind) for kind, n in spent.items() if n and kind != "work"), reverse=True
        )
        parts = [f"{KINDS[kind]} {n / whole:.0%} of the time" for n, kind in waits[:3]]
        advice = _ADVICE.get(waits[0][1], "") if waits and waits[0][0] > whole / 4 else ""
        text = ", ".join(parts) or "never waits"
        lines.append(f"{role}: {text}{': ' * bool(advice)}{advice}.")
    return tuple(lines)


_ADVICE = {
    "full": "producers are the slower side; more of them, or longer accesses, would help",
    "empty": "consumers are the slower side; more stages help only where their pace varies",
    "memory": "loads are not early enough; more stages, or loading a tile ahead, would hide them",
    "lds": "LDS is the limit; look for bank conflicts",
    "barrier": "waves meet more often than they need, or have different amounts of work",
}


def _label(interval: Interval) -> str:
    if interval.stage is None:
        return ""
    return f"{interval.kind}[{interval.stage}] lap {interval.lap}"


def _hover(interval: Interval) -> str:
    text = f"{KINDS[interval.kind]}, {interval.end - interval.start} cycles from {interval.start}"
    if interval.line is None:
        return text
    name, line = interval.line
    return f"{text}\n{Path(name).name}:{line} {_source(name, line)}".rstrip()


def _source(name: str, line: int) -> str:
    lines = _lines(name)
    return lines[line - 1].strip() if 0 < line <= len(lines) else ""


@lru_cache(maxsize=32)
def _lines(name: str) -> tuple[str, ...]:
    try:
        return tuple(Path(name).read_text().splitlines())
    except OSError:
        return ()


def _page(picture: Picture) -> str:
    return f"<!doctype html><meta charset=utf-8><title>{picture.title}</title>{to_svg(picture)}"


_FORMATS: dict[str, Callable[[Picture], str]] = {
    ".svg": to_svg, ".html": _page, ".json": to_trace_events, ".txt": to_text,
}  # fmt: skip
