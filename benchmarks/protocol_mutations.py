"""Mutation score of the checker: every protocol fault that can be put into the shipped kernels.

Takes every kernel, and the library of pipelines under it, and changes one thing at a time: drops or
weakens a wait, a fence, a signal or an initialisation, swaps signal and data, miscounts arrivals, moves a
phase, shrinks the ring, lets one wave leave early. Each changed program is compiled and checked. It must
be reported by a code that names the fault and at a line of the code that has it, or be refused by the
compiler, or be shown equivalent: same assembly, or every interleaving tried, right and clean.

    python benchmarks/protocol_mutations.py [--only stress] [--jobs 2] [--verbose]
"""

from __future__ import annotations

import argparse
import importlib
import multiprocessing
import os
import shutil
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from source_mutants import Mutant, Verdict, mutants

ROOT = Path(__file__).resolve().parent.parent
LIBRARY = "pipedsl/pipeline"


@dataclass(frozen=True)
class Case:
    """A launch, and the sources whose changes it shows.

    Attributes
    ----------
    name : str
    files : tuple of str
        Relative to the project.
    """

    name: str
    files: tuple[str, ...]


CASES = (
    Case("stress", ("kernels/stress.py",)),
    Case("copy_pipeline", ("kernels/copy_pipeline.py", *(f"{LIBRARY}/{n}.py" for n in (
        "counter", "pipeline", "position", "roles", "stage")))),
    Case("gemm_pipeline", ("kernels/gemm_warp_specialized.py",)),
    Case("gemm_split", ("kernels/gemm_warp_specialized.py", f"{LIBRARY}/tile_sync.py")),
    Case("gemm_single", (f"{LIBRARY}/tile_sync.py",)),
    Case("gemm_simple", ("kernels/gemm_simple.py",)),
    Case("gemm_pingpong", ("kernels/gemm_pingpong.py",)),
    Case("reduction", ("kernels/reduction.py",)),
    Case("softmax", ("kernels/softmax.py",)),
    Case("attention", ("kernels/attention.py",)),
)  # fmt: skip


def judge(task: tuple[Case, str, Mutant | None, str]) -> Verdict:
    """In a process of its own, on a copy of the sources."""
    case, file, mutant, base = task
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        for part in ("pipedsl", "kernels"):
            shutil.copytree(ROOT / part, root / part, ignore=shutil.ignore_patterns("__pycache__"))
        if mutant is not None:
            (root / file).write_text(mutant.text)
        sys.path[:0] = [folder, str(root / "kernels")]
        module = importlib.import_module("mutation_judge")
        return module.judge(case.name, root / file, mutant, base)


def tasks(only: str | None) -> Iterator[tuple[Case, str, Mutant]]:
    """All changed programs."""
    for case in CASES:
        if only not in (None, case.name):
            continue
        for file in case.files:
            for mutant in mutants((ROOT / file).read_text()):
                yield case, file, mutant


def main(argv: list[str] | None = None) -> int:
    """Print killed, equivalent and missed changes; 1 if one is missed or an original is reported."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", choices=[case.name for case in CASES], help="one kernel")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="processes")
    parser.add_argument("--verbose", action="store_true", help="print every change")
    options = parser.parse_args(argv)
    start = time.perf_counter()
    chosen = [case for case in CASES if options.only in (None, case.name)]
    context = multiprocessing.get_context("fork")
    bad, base = 0, {}
    with context.Pool(options.jobs, maxtasksperchild=1) as pool:
        for case, verdict in zip(
            chosen, pool.map(judge, [(c, c.files[0], None, "") for c in chosen], 1), strict=True
        ):
            base[case.name] = verdict.code
            bad += verdict.kind != "clean"
            print(f"{case.name}: unchanged {verdict.kind} {verdict.detail}", flush=True)
    total: Counter[tuple[str, str]] = Counter()
    with context.Pool(options.jobs, maxtasksperchild=1) as pool:
        listed = list(tasks(options.only))
        for (case, file, mutant), verdict in zip(
            listed,
            pool.imap(judge, [(*task, base[task[0].name]) for task in listed], 1),
            strict=True,
        ):
            kind = _kind(verdict, base[case.name])
            total[case.name, kind] += 1
            if options.verbose or kind not in ("killed", "equivalent"):
                place = f"{file}:{mutant.line}"
                print(
                    f"{case.name}: {kind}: {place} {mutant.kind}: {verdict.kind} {verdict.detail}",
                    flush=True,
                )
    for case in chosen:
        counts = {kind: n for (name, kind), n in sorted(total.items()) if name == case.name}
        print(case.name, ", ".join(f"{n} {kind}" for kind, n in counts.items()))
    score = Counter(
        {
            k: sum(n for (_, kind), n in total.items() if kind == k)
            for k in ("killed", "equivalent", "missed")
        }
    )
    print(
        f"total: {score['killed']} killed, {score['equivalent']} equivalent, {score['missed']} missed, {time.perf_counter() - start:.0f} s"
    )
    return int(bool(score["missed"] or bad))


def _kind(verdict: Verdict, base: str) -> str:
    if verdict.kind in ("found", "refused"):
        return "killed"
    same = verdict.code == base
    return "equivalent" if verdict.kind == "clean" and (same or verdict.explored) else "missed"


if __name__ == "__main__":
    sys.exit(main())
