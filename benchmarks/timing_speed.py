"""What the timing mode costs on the host, as ratios to the fast mode of the same process.

    python benchmarks/timing_speed.py [--arch gfx942] [--size 512]

The kernel is the warp-specialised GEMM. Every figure is the best of several runs on one host thread,
translation excluded. Workgroups that are alike need not all be modelled: the first line is what a
timed launch costs, the second what it costs when the rest is left out too, the third what modelling
costs for each workgroup.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

sys.path.append(str(Path(__file__).resolve().parent.parent / "kernels"))

import gemm_warp_specialized
from common import CDNA, Gemm, element_type, operands, presets_for
from pipedsl import use_device
from pipedsl.core.config import config
from pipedsl.runtime.simulated import timed_launches

LIMIT = 15


def best(run: Callable[[], object], repeats: int = 5) -> float:
    """Seconds of the fastest of several runs, after one that is not counted."""
    run()
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return min(times)


def main() -> int:
    """Print the ratios; the exit status is 1 if a timed launch is too slow."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--arch", default="gfx942", choices=CDNA)
    parser.add_argument("--size", default=512, type=int, help="M = N = K, default 512")
    options = parser.parse_args()
    arch, size = options.arch, options.size
    preset = presets_for(gemm_warp_specialized.PRESETS, arch)["128x128x32"]
    gemm = Gemm(arch, element_type("bf16", arch), **preset).fitted(size, size)
    a, b = operands(size, size, size, gemm.dtype)
    c = np.zeros((size, size), np.float32)
    launch = gemm_warp_specialized.make_kernel(gemm)[gemm.grid(size, size), gemm.threads]
    with config.scope(threads=1), use_device(f"sim:{arch}"):
        fast = best(lambda: launch(a, b, c))
        with timed_launches() as runs:
            timed = best(lambda: launch(a, b, c))
        alone = best(lambda: launch.time(a, b, c))
    run = runs[-1]
    total, modelled = run.total_workgroups, len(run.workgroups)
    # Both modes run what is not modelled; the difference is what modelling costs.
    each = (timed - fast) / modelled / (fast / total) + 1
    print(run)
    print(f"timed launch / fast launch              {timed / fast:6.2f}")
    print(f"launch.time() / fast launch             {alone / fast:6.2f}")
    print(f"modelled workgroup / fast workgroup     {each:6.2f}")
    return int(timed > LIMIT * fast)


if __name__ == "__main__":
    sys.exit(main())
