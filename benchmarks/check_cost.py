"""What checking costs: a launch that is checked against one that is not, in the same run.

Prints, for the specialised GEMM, a ring of single words and a copy: the first check of a process (the
detector's host code read from the disk cache), the look at the first workgroup, a checked launch, and the
checked mode, which `pipedsl.check` runs besides; each as a ratio to the plain simulator run on one thread.
The limit is for checked launches.

    python benchmarks/check_cost.py [--size 512]
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

sys.path.append(str(Path(__file__).resolve().parent.parent / "kernels"))

import copy_pipeline
import gemm_warp_specialized
import stress
from common import Gemm, element_type, operands, presets_for
from pipedsl import config, use_device
from pipedsl.core.arch import get_arch
from pipedsl.dispatch.rehearsal import Rehearsal


def seconds(call: Callable[[], Any], times: int) -> float:
    """Least time of `times` calls."""
    best = float("inf")
    for _ in range(times):
        start = time.perf_counter()
        call()
        best = min(best, time.perf_counter() - start)
    return best


def measure(name: str, launcher: Any, args: tuple[Any, ...], times: int) -> float:
    """Print a kernel's line; returns the ratio of a checked launch."""
    arguments, compiled = launcher.compile(args, {}, get_arch("gfx942"))
    geometry = launcher.geometry
    rehearsal = Rehearsal(compiled.image, geometry, arguments)
    memory, kernarg = rehearsal.prepare()
    place = memory, geometry.grid, geometry.block, kernarg
    kernel = rehearsal.kernel

    def plain() -> None:
        with config.scope(threads=1):
            kernel.run(*place, check=False)

    def checked() -> None:
        with config.scope(threads=1):
            kernel.run(*place, check=True)

    plain(), checked()
    start = time.perf_counter()
    kernel.look(*place)
    cold = time.perf_counter() - start
    base = seconds(plain, times)
    first = seconds(lambda: kernel.look(*place), times)
    looked = seconds(lambda: kernel.run_observed(*place), times)
    late = seconds(checked, times)
    print(
        f"{name:<28} plain {base * 1e3:8.2f} ms   first workgroup {first * 1e3:7.2f} ms "
        f"({first / base:5.2f}x; at first {cold * 1e3:6.0f} ms)   checked launch "
        f"{looked / base:5.2f}x   checked mode {late / base:5.2f}x"
    )
    return looked / base


def main(argv: list[str] | None = None) -> int:
    """Print the ratios; 1 if one is above the limit."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--size", type=int, default=512, help="M, N and K (default 512)")
    parser.add_argument("--times", type=int, default=5, help="runs of which the best counts")
    parser.add_argument("--limit", type=float, default=6.0, help="highest ratio (default 6)")
    options = parser.parse_args(argv)
    size = options.size
    with use_device("sim:gfx942"):
        worst = []
        fields = next(iter(presets_for(gemm_warp_specialized.PRESETS, "gfx942").values()))
        gemm = Gemm("gfx942", element_type("bf16", "gfx942"), **fields).fitted(size, size)
        a, b = operands(size, size, size, gemm.dtype)
        launcher = gemm_warp_specialized.make_kernel(gemm)[gemm.grid(size, size), gemm.threads]
        c = np.zeros((size, size), np.float32)
        worst.append(measure(f"specialised GEMM {size}", launcher, (a, b, c), options.times))
        n = np.int32(8192)
        ring = stress.make_stress(4)[1, 128]
        worst.append(measure("stress ring", ring, (np.zeros(n, np.int32), n), options.times))
        source = np.arange(1 << 20, dtype=np.float32)
        copy = copy_pipeline.make_kernel(4, 1, 1, 4)[64, 128]
        args = np.zeros_like(source), source, np.int32(64)
        worst.append(measure("copy pipeline", copy, args, options.times))
    print(f"highest ratio {max(worst):.2f}, limit {options.limit:g}")
    return int(max(worst) > options.limit)


if __name__ == "__main__":
    sys.exit(main())
