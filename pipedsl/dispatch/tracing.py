"""``pipedsl.trace``: where the time of launches goes, as a timeline."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from pipedsl.core.errors import LaunchError
from pipedsl.core.files import write_whole
from pipedsl.dispatch.callsite import caller
from pipedsl.dispatch.pictures import picture_of
from pipedsl.dispatch.stamps import StampedRun, stamped_launches
from pipedsl.runtime import get_device
from pipedsl.runtime.simulated import SimulatedDevice, timed_launches
from pipedsl.sim.timing.result import TimedRun
from pipedsl.views.perfetto import to_trace_events
from pipedsl.views.picture import Picture
from pipedsl.views.svg import to_svg
from pipedsl.views.text import to_text


class Trace:
    """The timelines of launches; a notebook shows the last as a picture, a terminal as text.

    Attributes
    ----------
    runs : list of TimedRun or StampedRun
        One per launch, in order.
    """

    def __init__(self, runs: Iterable[TimedRun | StampedRun] = ()) -> None:
        self.runs = list(runs)

    @property
    def summary(self) -> tuple[str, ...]:
        """Where the time of each role of the last launch went, in words."""
        return picture_of(self._last()).summary

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

    def _last(self) -> TimedRun | StampedRun:
        if not self.runs:
            raise LaunchError(
                "no launch was traced.",
                fix='launch inside "with pipedsl.trace() as t:"; on a GPU, a kernel made with '
                "@pipelined_kernel(trace=True).",
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
def trace(*, stamps: bool | None = None) -> Iterator[Trace]:
    """Show where the time of the launches in the block goes.

    On a simulated device their time is modelled: results are those of any launch, and times are
    modelled cycles of one compute unit, never a GPU's. On a GPU the timeline comes from kernels made
    with ``@pipelined_kernel(trace=True)``, which note the shader clock at waits and signals.

    Parameters
    ----------
    stamps : bool, optional
        Take the timeline from the kernels' own notes; by default on a GPU alone.

    Examples
    --------
    ::

        with pipedsl.trace() as t:
            kernel[1, 128](out, n)
        t  # in a notebook cell: the timeline
        t.save("run.json")  # opens in Perfetto
    """
    noted = stamps if stamps is not None else not isinstance(get_device(), SimulatedDevice)
    traced = Trace()
    with timed_launches() as modelled, stamped_launches() as stamped:
        try:
            yield traced
        finally:
            traced.runs = list(stamped if noted else modelled)


def _page(picture: Picture) -> str:
    return f"<!doctype html><meta charset=utf-8><title>{picture.title}</title>{to_svg(picture)}"


_FORMATS: dict[str, Callable[[Picture], str]] = {
    ".svg": to_svg, ".html": _page, ".json": to_trace_events, ".txt": to_text,
}  # fmt: skip
