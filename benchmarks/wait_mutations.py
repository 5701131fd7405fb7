"""Does the checked simulator notice every wait that a kernel needs?

    python benchmarks/wait_mutations.py                       # the project's kernels
    python benchmarks/wait_mutations.py --foreign FOLDER      # and Triton's matmuls in FOLDER

Every wait instruction is dropped, and each of its counters is allowed one more operation, one change
at a time. A change is *reported*; or the unchanged wait is *idle* (nothing was in flight); or it is
*redundant* (something was in flight, nothing that the runs used relies on it, and all runs computed
the same bytes); else it is *missed*, and the exit status is 1.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from pipedsl import sim
from pipedsl.core.arch import ARCHS, get_arch
from pipedsl.sim.checked.mutants import Runner, judge, mutants, reference

sys.path.append(str(Path(__file__).resolve().parent.parent / "kernels"))

from sim_speed import expand

import gemm_pingpong
import gemm_simple
import gemm_warp_specialized
from common import Gemm, element_type, operands, presets_for
from stress import make_stress


class Case(NamedTuple):
    """A kernel and how to run it."""

    name: str
    text: str
    kernel: str
    run: Runner


def stress(arch: str, stages: int, items: int = 24) -> Case:
    """The producer/consumer ring."""
    lanes = get_arch(arch).wave_size
    example = np.zeros(items, np.int32)
    compiled = make_stress(stages).compile(example, np.int32(items), arch=arch, block=2 * lanes)

    def run(kernel: sim.Kernel, seed: int) -> tuple[sim.RunStats, np.ndarray]:
        result = np.zeros(items, np.int32)
        numbers = [np.int32(items)] * (len(kernel.metadata.args) - 1)
        return kernel.launch(1, 2 * lanes, [result, *numbers], check=True, seed=seed), result

    return Case(f"stress, {stages} stages, {arch}", compiled.asm, compiled.image.name, run)


def gemm(arch: str, module: Any, preset: str) -> Case:
    """One of the project's GEMMs on small integers, one workgroup."""
    fields = presets_for(module.PRESETS, arch)[preset]
    configuration = Gemm(arch, element_type("bf16", arch), **fields)
    rows, columns, depth = configuration.block
    a, b = operands(rows, columns, 4 * depth, configuration.dtype)
    configuration = configuration.fitted(columns, 4 * depth)
    example = np.zeros((rows, columns), np.float32)
    threads = configuration.threads
    compiled = module.make_kernel(configuration).compile(a, b, example, arch=arch, block=threads)

    def run(kernel: sim.Kernel, seed: int) -> tuple[sim.RunStats, np.ndarray]:
        c = np.zeros((rows, columns), np.float32)
        pairs = zip(compiled.image.parameters, (a, b, c), strict=True)
        args = [value for parameter, array in pairs for value in expand(parameter, array)]
        return kernel.launch(1, threads, args, check=True, seed=seed), c

    return Case(f"{module.__name__} {preset}, {arch}", compiled.asm, compiled.image.name, run)


def matmul(path: Path, arch: str, m: int = 64, n: int = 64, k: int = 96) -> Case:
    """Triton's float16 matmul on small integers."""
    random = np.random.default_rng(0)
    a, b = (random.integers(-3, 4, shape).astype(np.float16) for shape in ((m, k), (k, n)))

    def run(kernel: sim.Kernel, seed: int) -> tuple[sim.RunStats, np.ndarray]:
        c = np.zeros((m, n), np.float16)
        args = [a, b, c, m, n, k, k, 1, n, 1, n, 1, None, None]
        block = 4 * get_arch(arch).wave_size
        grid = (m // 64, n // 64, 1)
        return kernel.launch(grid, block, args, lds_bytes=32768, check=True, seed=seed), c

    return Case(f"Triton matmul, {arch}", path.read_text(), "mm", run)


def cases(foreign: Path | None) -> Iterator[Case]:
    """The project's kernels, then those of `foreign`."""
    for arch in ARCHS:
        for stages in (1, 4):
            yield stress(arch, stages)
        for preset in ("mojo", "mojo-split", "mojo-pipeline"):
            yield gemm(arch, gemm_warp_specialized, preset)
        yield gemm(arch, gemm_simple, "64x64x64")
        if presets_for(gemm_pingpong.PRESETS, arch):
            yield gemm(arch, gemm_pingpong, "192x256x64")
    if foreign is not None:
        for arch in ARCHS:
            path = foreign / f"triton_matmul_{arch}.s"
            if path.is_file():
                yield matmul(path, arch)


def score(case: Case, seeds: Sequence[int], *, verbose: bool) -> Counter[str]:
    """Judge every mutant of a case and print a line."""
    start = time.perf_counter()
    good = reference(case.text, case.kernel, case.run, seeds)
    outcomes: Counter[str] = Counter()
    for mutant in mutants(case.text, case.kernel):
        verdict = judge(mutant, case.kernel, case.run, seeds, good)
        outcomes[verdict.outcome] += 1
        if verbose or verdict.outcome == "missed":
            print(
                f"  line {mutant.line}: {mutant.change}: {verdict.outcome} {verdict.why}".rstrip()
            )
    counts = "  ".join(
        f"{outcomes[name]:4} {name}" for name in ("reported", "idle", "redundant", "missed")
    )
    print(f"{case.name:<28}{counts}  {time.perf_counter() - start:6.1f} s", flush=True)
    return outcomes


def main(argv: list[str] | None = None) -> int:
    """Entry point; 0 if nothing is missed."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--foreign", type=Path, help="folder with triton_matmul_<arch>.s")
    parser.add_argument("--seeds", type=int, default=6, help="runs of each change (default 6)")
    parser.add_argument("--verbose", action="store_true", help="print every change")
    options = parser.parse_args(argv)
    total: Counter[str] = Counter()
    for case in cases(options.foreign):
        total += score(case, range(options.seeds), verbose=options.verbose)
    print("total: " + ", ".join(f"{count} {name}" for name, count in sorted(total.items())))
    return 1 if total["missed"] else 0


if __name__ == "__main__":
    sys.exit(main())
