"""The listing of a compiled kernel."""

from __future__ import annotations

from collections import defaultdict

from pipedsl.checker.report import Report
from pipedsl.core.image import KernelImage
from pipedsl.sim import load_assembly
from pipedsl.sim.timing.result import TimedRun
from pipedsl.views.listing import Instruction, Line, Listing


def listing_of(
    image: KernelImage, run: TimedRun | None = None, report: Report | None = None
) -> Listing:
    """Its assembly, with the times of `run` and the findings of `report`."""
    code = load_assembly(image.asm).kernels[image.name].instructions
    times = {} if run is None else {row.index: (row.count, row.cycles, row.stalls) for row in run.table}
    instructions = tuple(
        Instruction(one.line, str(one), one.source, *_figures(times, index, run is not None))
        for index, one in enumerate(code)
    )
    notes: dict[Line, list[str]] = defaultdict(list)
    for finding in () if report is None else (*report.findings, *report.hints):
        if finding.where is not None:
            note = f"[{finding.code}] {finding.message}"
            notes[finding.where.filename, finding.where.line].append(note)
    title = f"{image.name} for {image.arch}"
    if run is not None:
        title += f": {run.cycles} modelled cycles"
    if report is not None:
        title += f", {len(report.findings)} findings"
    return Listing(
        title, instructions, {line: tuple(texts) for line, texts in notes.items()}, image.sources
    )


def _figures(
    times: dict[int, tuple[int, int, int]], index: int, timed: bool
) -> tuple[int | None, int | None, int | None]:
    if not timed:
        return None, None, None
    return times.get(index, (0, 0, 0))
