"""Timelines as pictures: of modelled launches, and of kernels that noted the clock themselves."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import singledispatch
from pathlib import Path

from pipedsl.core.errors import SourceLocation
from pipedsl.dispatch.stamps import Stamp, StampedRun
from pipedsl.sim.timing.result import TimedRun
from pipedsl.sim.timing.timeline import Interval
from pipedsl.views.picture import KINDS, Arrow, Bar, Picture, Row

_PACKAGE = str(Path(__file__).parent.parent)


@singledispatch
def picture_of(run: TimedRun | StampedRun) -> Picture:
    """The timeline of a launch."""
    raise NotImplementedError(type(run))


@picture_of.register
def _modelled(run: TimedRun) -> Picture:
    roles = [wave.role for wave in run.waves]
    rows = tuple(
        Row(f"wave {number} ({role})", f"workgroup {run.waves[number].workgroup}")
        for number, role in enumerate(roles)
    )
    bars = tuple(
        Bar(i.wave, i.kind, i.start, i.end, _label(i.kind, i.stage, i.lap), _hover(i))
        for i in run.intervals
    )
    arrows = tuple(
        Arrow(a.source, a.target, a.sent, a.received, f"{a.kind}[{a.stage}]") for a in run.arrows
    )
    title = f"{run.kernel} on {run.arch}: {run.cycles} modelled cycles"
    return Picture(
        title, "modelled cycles", rows, bars, arrows, run.cycles, _summary(bars, roles)
    )


@picture_of.register
def _stamped(run: StampedRun) -> Picture:
    first = min(stamps[0].time for _, _, stamps in run.waves)
    end = max(stamps[-1].time for _, _, stamps in run.waves) - first
    bars: list[Bar] = []
    roles = []
    for row, (_, _, stamps) in enumerate(run.waves):
        mine = list(_bars(row, stamps, first, run.sources))
        kinds = {bar.kind for bar in mine}
        names = [n for n, kind in (("producer", "empty"), ("consumer", "full")) if kind in kinds]
        roles.append("+".join(names) or "worker")
        bars += mine
    rows = tuple(
        Row(f"wave {wave} ({role})", f"workgroup {group}")
        for (group, wave, _), role in zip(run.waves, roles, strict=True)
    )
    lost = (f"{run.lost} older notes were replaced by newer ones.",) * (run.lost > 0)
    return Picture(
        f"{run.kernel} on {run.device}: {end} shader clocks", "shader clocks", rows, tuple(bars),
        tuple(_arrows(run, first)), end, (*_summary(bars, roles), *lost),
    )  # fmt: skip


def _bars(
    row: int, stamps: Sequence[Stamp], first: int, sources: dict[str, str]
) -> Iterator[Bar]:  # fmt: skip
    now, waiting = stamps[0].time, None
    for stamp in stamps:
        if stamp.kind in ("full", "empty", "barrier"):
            if stamp.time > now:
                yield Bar(row, "work", now - first, stamp.time - first)
            now, waiting = stamp.time, stamp
        elif stamp.kind == "got" and waiting is not None:
            slot = None if waiting.kind == "barrier" else waiting.slot
            text = f"{KINDS[waiting.kind]}, {stamp.time - now} clocks from {now - first}"
            text += _place(waiting.line, sources)
            label = _label(waiting.kind, slot, waiting.lap)
            yield Bar(row, waiting.kind, now - first, stamp.time - first, label, text)
            now, waiting = stamp.time, None
    if stamps[-1].time > now:
        yield Bar(
            row, waiting.kind if waiting else "work", now - first, stamps[-1].time - first
        )


def _arrows(run: StampedRun, first: int) -> Iterator[Arrow]:
    """From the last signal to a counter before a wait for it ended, if it came after it began."""
    for target, (group, _, stamps) in enumerate(run.waves):
        begun: Stamp | None = None
        for stamp in stamps:
            if stamp.kind in ("full", "empty"):
                begun = stamp
            elif stamp.kind == "got" and begun is not None:
                signals = [
                    (signal.time, source)
                    for source, (other, _, theirs) in enumerate(run.waves)
                    if other == group
                    for signal in theirs
                    if signal.kind == "signal"
                    and signal.address == begun.address
                    and begun.time <= signal.time <= stamp.time
                ]
                if signals:
                    sent, source = max(signals)
                    label = f"{begun.kind}[{begun.slot}]"
                    yield Arrow(source, target, sent - first, stamp.time - first, label)
                begun = None


def _summary(bars: Sequence[Bar], roles: Sequence[str]) -> tuple[str, ...]:
    """What each role waits for, the longest first, and what may help."""
    total: dict[str, dict[str, int]] = {}
    for bar in bars:
        into = total.setdefault(roles[bar.row], dict.fromkeys(KINDS, 0))
        into[bar.kind] += bar.end - bar.start
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


def _label(kind: str, slot: int | None, lap: int | None) -> str:
    return "" if slot is None else f"{kind}[{slot}] lap {lap}"


def _hover(interval: Interval) -> str:
    text = f"{KINDS[interval.kind]}, {interval.end - interval.start} cycles from {interval.start}"
    if interval.line is None:
        return text
    name, line = interval.line
    source = SourceLocation(name, line).source_line() or ""  # knows the cells of notebooks too
    return f"{text}\n{Path(name).name}:{line} {source.strip()}".rstrip()


def _place(line: int, sources: dict[str, str]) -> str:
    """The user's line, where only one file can have it."""
    files = {name: text for name, text in sources.items() if not name.startswith(_PACKAGE)}
    found = [(name, text.splitlines()) for name, text in files.items()]
    found = [(name, lines) for name, lines in found if 0 < line <= len(lines)]
    if not line or len(found) != 1:
        return ""
    name, lines = found[0]
    return f"\n{Path(name).name}:{line} {lines[line - 1].strip()}"
