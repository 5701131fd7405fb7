"""The timing model against published measurements, one line per figure.

    python benchmarks/model_error.py

Every figure is taken by a kernel that reads the clock, as the measurement it is compared with did.
The error is relative to the figure; where a range was measured, to its middle. The exit status is 1
when a measured figure is off by more than 15 %.
"""

from __future__ import annotations

import csv
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from probes import Bench

DATA = Path(__file__).resolve().parent / "data" / "measured.csv"
LIMIT = 0.15


@dataclass(frozen=True)
class Figure:
    """A row of ``data/measured.csv``."""

    arch: str
    figure: str
    probe: str
    value: float
    unit: str
    kind: str
    source: str


@dataclass(frozen=True)
class Comparison:
    """A figure and what the model says."""

    figure: Figure
    modelled: float

    @property
    def error(self) -> float:
        """Relative error."""
        return self.modelled / self.figure.value - 1

    def __str__(self) -> str:
        row = self.figure
        return (
            f"{row.arch}  {row.figure:<40} {row.value:8.2f} {self.modelled:8.2f} {self.error:+7.1%}"
            f"  {row.kind:<9} {row.unit}"
        )


def figures() -> list[Figure]:
    """The rows of the data file."""
    with DATA.open(newline="") as file:
        return [
            Figure(r["arch"], r["figure"], r["probe"], float(r["value"]), r["unit"], r["kind"], r["source"])
            for r in csv.DictReader(file)
        ]  # fmt: skip


def compare(rows: Iterable[Figure], benches: dict[str, Bench]) -> list[Comparison]:
    """Run every row's probe."""
    return [
        Comparison(row, benches.setdefault(row.arch, Bench(row.arch)).figure(row.probe))
        for row in rows
    ]


def main() -> int:
    """Print the comparison and the assumed constants behind it."""
    benches: dict[str, Bench] = {}
    print(f"{'':8}{'figure':<40} {'figure':>8} {'model':>8} {'error':>7}")
    results = compare(figures(), benches)
    for result in results:
        print(result)
    for arch, bench in sorted(benches.items()):
        rows = {row.name: row for run in bench.runs for row in run.assumed}
        print(f"\nassumed constants behind the figures of {arch}:")
        for _, row in sorted(rows.items()):
            print(f"  {row}")
    measured = [r for r in results if r.figure.kind == "measured"]
    worst = max(measured, key=lambda r: abs(r.error))
    print(f"\n{len(measured)} measured figures, worst error {worst.error:+.1%} ({worst.figure.figure})")
    return int(abs(worst.error) > LIMIT)


if __name__ == "__main__":
    sys.exit(main())
