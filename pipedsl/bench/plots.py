"""Plots of sweeps, with matplotlib, which the ``bench`` extra installs."""

from __future__ import annotations

import io
import os
from pathlib import Path
from typing import Any

from pipedsl.bench.records import Records
from pipedsl.core.errors import LaunchError, ToolchainMissing
from pipedsl.core.files import write_whole
from pipedsl.dispatch.callsite import caller

FORMATS = (".svg", ".png", ".pdf")


class Plot:
    """A figure that a notebook shows.

    Attributes
    ----------
    figure : matplotlib.figure.Figure
    title : str
    """

    def __init__(self, figure: Any, title: str) -> None:
        self.figure = figure
        self.title = title

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write ``.svg``, ``.png`` or ``.pdf``, whole or not at all."""
        suffix = Path(path).suffix
        if suffix not in FORMATS:
            raise LaunchError(
                f"a plot cannot be saved as {Path(path).name!r}.",
                fix=f"use a name that ends in {', '.join(FORMATS)}.",
                where=caller(),
            )
        write_whole(path, self._rendered(suffix[1:]))

    def _rendered(self, form: str) -> bytes:
        data = io.BytesIO()
        self.figure.savefig(data, format=form)
        return data.getvalue()

    def _repr_png_(self) -> bytes:
        return self._rendered("png")

    def __repr__(self) -> str:
        return f"<Plot {self.title}>"


def plot(records: Records) -> Plot:
    """Throughput of a sweep of pipelines against stages and roles, and their roofline.

    Parameters
    ----------
    records : Records
        From `pipelines`.

    Returns
    -------
    Plot

    Raises
    ------
    LaunchError
        If no configuration worked.
    ToolchainMissing
        Without matplotlib.
    """
    if not records.rows:
        raise LaunchError("there is nothing to plot: no configuration worked.", where=caller())
    figure_class = _figure_class()
    tiles = list(dict.fromkeys(row["tile"] for row in records))
    figure = figure_class(figsize=(5.5 * (len(tiles) + 1), 4.5), layout="constrained")
    axes = figure.subplots(1, len(tiles) + 1, squeeze=False)[0]
    for axis, tile in zip(axes, tiles, strict=False):
        _throughput(axis, [row for row in records if row["tile"] == tile], tile)
    _roofline(axes[-1], records)
    figure.suptitle(records.title)
    return Plot(figure, records.title)


def _figure_class() -> Any:
    try:
        from matplotlib.figure import Figure  # noqa: PLC0415 (an extra, slow to import)
    except ImportError:
        raise ToolchainMissing(
            "plots need matplotlib.", fix="pip install 'pipedsl[bench]'.", where=caller()
        ) from None
    return Figure


def _throughput(axis: Any, rows: list[Any], tile: str) -> None:
    roles = sorted({(row["producers"], row["consumers"]) for row in rows})
    for producers, consumers in roles:
        line = sorted(
            (row["stages"], row["flops_per_cycle"])
            for row in rows
            if (row["producers"], row["consumers"]) == (producers, consumers)
        )
        axis.plot(*zip(*line, strict=True), marker="o", label=f"{producers}P {consumers}C")
    axis.set_xticks(sorted({row["stages"] for row in rows}))
    axis.set(title=tile, xlabel="stages", ylabel="FLOP per modelled cycle and CU", ylim=0)
    axis.legend(fontsize="small", ncols=2)


def _roofline(axis: Any, records: Records) -> None:
    width = records.rows[0]["peak_bytes_per_cycle"]
    peak = max(row["peak_flops_per_cycle"] or 0 for row in records)
    knee = peak / width
    intensities = [row["flops_per_byte"] for row in records]
    ends = min(*intensities, knee / 4), max(*intensities, knee * 4)
    axis.plot([ends[0], knee, ends[1]], [ends[0] * width, peak, peak], color="black")
    for tile in dict.fromkeys(row["tile"] for row in records):
        points = [
            (row["flops_per_byte"], row["flops_per_cycle"])
            for row in records
            if row["tile"] == tile
        ]
        axis.scatter(*zip(*points, strict=True), s=14, label=tile)
    axis.set(
        xscale="log", yscale="log", title="roofline of a CU", xlabel="FLOP per byte of memory",
        ylabel="FLOP per modelled cycle and CU",
    )  # fmt: skip
    axis.minorticks_off()
    axis.legend(fontsize="small")
