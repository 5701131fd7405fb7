"""Right programs under the checker: nothing may be reported.

Runs every shipped kernel on every target it is for, all workgroups, with every launch checked (observed by
the race and protocol checker, then run in checked mode), and with `--foreign` the matrix products that
Triton made, for assembly that no one here wrote.

    python benchmarks/false_alarms.py [--foreign FOLDER] [--seeds 2]
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

sys.path.append(str(Path(__file__).resolve().parent.parent / "kernels"))

import attention
import copy_pipeline
import gemm_pingpong
import gemm_simple
import gemm_warp_specialized
import reduction
import softmax
import stress
from common import Gemm, check, element_type, presets_for
from pipedsl import config, use_device
from pipedsl.core.arch import ARCHS, get_arch
from pipedsl.core.findings import CheckWarning
from pipedsl.sim import Memory, load_assembly
from pipedsl.sim.arguments import pack_arguments
from pipedsl.sim.check import check_kernel


def programs(arch: str) -> Iterator[tuple[str, Callable[[], object]]]:
    """Name and run of every kernel that is for `arch`."""
    for stages in stress.STAGES:
        yield f"stress {stages}", lambda stages=stages: stress.check(stages, 40, arch)
    for waves in ((1, 1), (2, 2), (1, 3)):
        yield f"copy_pipeline {waves}", lambda w=waves: copy_pipeline.run(arch, 3000, 2, *w, 2)
    yield "reduction", lambda: reduction.run(arch, 5000, 3)
    yield "softmax", lambda: softmax.run(arch, 3, 700)
    if arch in attention.CDNA:
        yield "attention", lambda: attention.run(arch, 1, 128, 160, 64, "f16", "causal")
    for module in (gemm_simple, gemm_pingpong, gemm_warp_specialized):
        for name, fields in presets_for(module.PRESETS, arch).items():
            gemm = Gemm(arch, element_type("bf16", arch), **fields)
            rows, columns, depth = gemm.block
            shape = (rows + 16, columns, 5 * depth)
            yield (
                f"{module.__name__} {name}",
                lambda m=module, g=gemm, s=shape: check(m.make_kernel, g, s, np.float32, True),
            )


def alarms(run: Callable[[], object], arch: str, seed: int) -> list[str]:
    """What is reported."""
    with (
        use_device(f"sim:{arch}"), config.scope(check=True, seed=seed),
        warnings.catch_warnings(record=True) as caught,
    ):  # fmt: skip
        warnings.simplefilter("always")
        run()
    return [str(w.message) for w in caught if issubclass(w.category, CheckWarning)]


def foreign(folder: Path, arch: str, seeds: int) -> list[str]:
    """What is reported of Triton's matrix product on small integers."""
    text = (folder / f"triton_matmul_{arch}.s").read_text()
    kernel = load_assembly(text).kernels["mm"]
    m, n, k = 128, 64, 96
    random = np.random.default_rng(0)

    def prepare() -> tuple[Memory, bytes]:
        memory = Memory()
        a, b = (random.integers(-3, 4, s).astype(np.float16) for s in ((m, k), (k, n)))
        args = [a, b, np.zeros((m, n), np.float16), m, n, k, k, 1, n, 1, n, 1, None, None]
        grid, block = (m // 64, n // 64, 1), (4 * get_arch(arch).wave_size, 1, 1)
        return memory, pack_arguments(kernel.metadata, args, memory, grid, block, 32768)

    grid, block = (m // 64, n // 64, 1), (4 * get_arch(arch).wave_size, 1, 1)
    report = check_kernel(kernel, grid, block, prepare, range(seeds), lds_bytes=32768)
    return [str(finding) for finding in report.findings]


def main(argv: list[str] | None = None) -> int:
    """Print what is reported; 1 if anything is."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--foreign", type=Path, help="folder of triton_matmul_ARCH.s")
    parser.add_argument("--seeds", type=int, default=2, help="interleavings (default 2)")
    options = parser.parse_args(argv)
    start, count, total = time.perf_counter(), 0, 0
    for arch in ARCHS:
        for name, run in programs(arch):
            found = [text for seed in range(options.seeds) for text in alarms(run, arch, seed)]
            count, total = count + len(found), total + 1
            print(
                f"{arch:<8} {name:<40} {len(found)} reported", *found, sep="\n  " if found else ""
            )
        if options.foreign is not None:
            found = foreign(options.foreign, arch, options.seeds)
            count, total = count + len(found), total + 1
            print(f"{arch:<8} {'Triton matmul':<40} {len(found)} reported", *found, sep="\n  ")
    seconds = time.perf_counter() - start
    print(
        f"{total} programs, {options.seeds} interleavings each: {count} reported, {seconds:.0f} s"
    )
    return int(bool(count))


if __name__ == "__main__":
    sys.exit(main())
