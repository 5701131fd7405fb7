"""The timing model against published measurements, one line per figure.

    python benchmarks/model_error.py

Every figure is taken by a kernel that reads the clock, as the measurement it is compared with did.
The error is relative to the figure; where a range was measured, to its middle. Then come whole
products, as throughput relative to the last of their table: the model knows nothing of the clock
that power leaves. The exit status is 1 when a measured figure is off by more than 15 %, or when the
products are not in the order that was measured.
"""

from __future__ import annotations

import csv
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

import published_gemm
from probe_kernel import Bench
from probes import figure

from pipedsl.sim.timing.result import TimedRun

DATA = Path(__file__).resolve().parent / "data"
LIMIT = 0.15
KINDS = ("measured", "published", "estimate")


@dataclass(frozen=True)
class Comparison:
    """A figure and what the model says.

    Attributes
    ----------
    arch, name : str
    value, modelled : float
    unit : str
    kind : str
        One of `KINDS`.
    """

    arch: str
    name: str
    value: float
    modelled: float
    unit: str
    kind: str

    @property
    def error(self) -> float:
        """Relative error."""
        return self.modelled / self.value - 1

    def __str__(self) -> str:
        return (
            f"{self.arch}  {self.name:<40} {self.value:8.2f} {self.modelled:8.2f} {self.error:+7.1%}"
            f"  {self.kind:<9} {self.unit}"
        )


def figures(benches: dict[str, Bench], kinds: Sequence[str] = KINDS) -> Iterator[Comparison]:
    """The rows of ``data/measured.csv`` of some kinds, each with its probe."""
    for row in _rows("measured.csv"):
        if row["kind"] not in kinds:
            continue
        arch = row["arch"]
        modelled = figure(benches.setdefault(arch, Bench(arch)), row["probe"])
        value = float(row["value"])
        yield Comparison(arch, row["figure"], value, modelled, row["unit"], row["kind"])


def products() -> tuple[list[Comparison], list[TimedRun]]:
    """The rows of ``data/published_gemm.csv`` relative to the last, and their runs."""
    rows = _rows("published_gemm.csv")
    runs, rates = [], []
    for row in rows:
        tile, m = (int(row["rows"]), int(row["columns"])), int(row["m"])
        run = published_gemm.time(row["kernel"], *tile, m)
        runs.append(run)
        rates.append(m / run.launch_cycles)
    values = [float(row["tflops"]) for row in rows]
    comparisons = []
    for row, value, rate in zip(rows, values, rates, strict=True):
        name = "{producers} producers, {consumers} consumers, {rows} x {columns}".format(**row)
        comparisons.append(
            Comparison("gfx950", name, value / values[-1], rate / rates[-1], "of the last", "measured")
        )  # fmt: skip
    return comparisons, runs


def _rows(name: str) -> list[dict[str, str]]:
    with (DATA / name).open(newline="") as file:
        return list(csv.DictReader(file))


def _print_assumed(title: str, runs: Iterable[TimedRun]) -> None:
    print(f"\nassumed constants behind {title}:")
    for _, row in sorted({row.name: row for run in runs for row in run.assumed}.items()):
        print(f"  {row}")


def main() -> int:
    """Print the comparison and the assumed constants behind it."""
    benches: dict[str, Bench] = {}
    print(f"{'':8}{'figure':<40} {'figure':>8} {'model':>8} {'error':>7}")
    results = []
    for result in figures(benches):
        print(result, flush=True)
        results.append(result)
    ratios, runs = products()
    print("\nHipKittens, table 2 (bf16, N = K = 8192):", *ratios, sep="\n")
    for arch, bench in sorted(benches.items()):
        _print_assumed(f"the figures of {arch}", bench.runs)
    _print_assumed("the products", runs)
    measured = [r for r in (*results, *ratios) if r.kind == "measured"]
    worst = max(measured, key=lambda r: abs(r.error))
    print(f"\n{len(measured)} measured figures, worst error {worst.error:+.1%} ({worst.name})")
    modelled = [ratio.modelled for ratio in ratios]
    return int(abs(worst.error) > LIMIT or modelled != sorted(modelled))


if __name__ == "__main__":
    sys.exit(main())
