"""How long compiling takes: imports, nothing cached, from disk, in memory, LLVM, hsaco.

Run as ``python benchmarks/compile_time.py [--arch gfx942] [--repeat 3]``. Each figure is the
median; those of a fresh process are taken in one, with a cache directory of its own.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from pipedsl import AmdCounterBackend, gpu, pipelined_kernel
from pipedsl.codegen import compile_ir
from pipedsl.codegen.hsaco import assemble, find_toolchain
from pipedsl.codegen.resources import read_resources
from pipedsl.core.arch import get_arch
from pipedsl.core.config import config
from pipedsl.core.errors import ToolchainMissing


def make(num_stages):
    """The counter ring: one producer wave, one consumer wave."""

    @pipelined_kernel
    def stress(result, n_items):
        backend = AmdCounterBackend(num_stages, producer_arrivals=1, consumer_arrivals=1)
        slots = gpu.shared.array(num_stages, np.int32)
        if gpu.thread_idx.x == 0:
            backend.init_barriers(1, 1)
        gpu.barrier()
        if gpu.wave_id() == 0:
            for i in range(n_items):
                stage = i % num_stages
                backend.wait_empty(stage, i // num_stages + 1)
                if gpu.lane_id() == 0:
                    slots[stage] = i + 1
                gpu.fence_lds()
                backend.arrive_full(stage)
        elif gpu.wave_id() == 1:
            for i in range(n_items):
                stage = i % num_stages
                backend.wait_full(stage, i // num_stages)
                if gpu.lane_id() == 0:
                    result[i] = slots[stage]
                gpu.fence_lds()
                backend.arrive_empty(stage)

    return stress


def compile_ring(num_stages, arch):
    """Compile the ring for two waves of `arch`."""
    block = 2 * get_arch(arch).wave_size
    return make(num_stages).compile(
        np.zeros(8192, np.int32), np.int32(8192), arch=arch, block=block
    )


# What a fresh process does. Numba comes first: every user of the DSL has paid for it.
FRESH = """
import json, sys, time
sys.path.insert(0, sys.argv[1])
spans = {}
def timed(name, function, *arguments):
    start = time.perf_counter()
    function(*arguments)
    spans[name] = time.perf_counter() - start
timed("numba", exec, "import numba")
timed("pipedsl", exec, "import pipedsl")
timed("names", exec, "from pipedsl import AmdCounterBackend, gpu, pipelined_kernel")
import compile_time
for name, stages in (("first", 4), ("second", 8), ("again", 4)):
    timed(name, compile_time.compile_ring, stages, sys.argv[2])
print(json.dumps(spans))
"""


def main() -> None:
    """Print one line per figure."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--arch", default="gfx942")
    parser.add_argument("--repeat", type=int, default=3, help="fresh processes per figure")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="pipedsl-bench-") as folder:
        cold, disk = [], []
        for number in range(options.repeat):
            os.environ["PIPEDSL_CACHE_DIR"] = str(Path(folder, str(number)))
            cold.append(_fresh(options.arch))
            disk.append(_fresh(options.arch))
        _report_stages(_medians(cold), _medians(disk))
        _report_parts(options.arch)


def _report_stages(cold: dict[str, float], disk: dict[str, float]) -> None:
    numba, first = cold["numba"], cold["first"]
    _line("import numba", numba)
    _line("import pipedsl, after numba", cold["pipedsl"], cold["pipedsl"] / numba, "import numba")
    _line("its compiler, on first use", cold["names"], cold["names"] / numba, "import numba")
    _line("compile, nothing cached", first)
    _line("compile another variant, warm", cold["second"], cold["second"] / first, "cold")
    _line("compile in a new process, from disk", disk["first"], disk["first"] / first, "cold")
    _line("decorate and compile again, from memory", cold["again"], cold["again"] / first, "cold")


def _report_parts(arch: str) -> None:
    ring = compile_ring(2, arch)
    llvm = _median_time(lambda: compile_ir(ring.llvm_ir, arch, kernel=ring.name))
    _line("LLVM, warm worker", llvm)
    resources = _median_time(lambda: read_resources(ring.asm, ring.name, arch))
    _line("read the resources", resources, resources / llvm, "LLVM")
    try:
        origin = find_toolchain(arch).origin
    except ToolchainMissing as missing:
        print(missing.message)
        return
    with config.scope(cache=False):
        made = _median_time(lambda: assemble(ring.asm, arch))
    _line(f"hsaco, made by {origin}", made, made / llvm, "LLVM")
    assemble(ring.asm, arch)
    cached = _median_time(lambda: assemble(ring.asm, arch))
    _line("hsaco, from disk", cached, cached / made, "made")


def _fresh(arch: str) -> dict[str, float]:
    command = [sys.executable, "-c", FRESH, str(Path(__file__).parent), arch]
    return json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout)


def _medians(runs: list[dict[str, float]]) -> dict[str, float]:
    return {name: statistics.median(run[name] for run in runs) for name in runs[0]}


def _median_time(function: Callable[[], object], repeat: int = 15) -> float:
    times = []
    for _ in range(repeat):
        start = time.perf_counter()
        function()
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def _line(name: str, seconds: float, ratio: float | None = None, of: str = "") -> None:
    comparison = "" if ratio is None else f"   {ratio:.4f} of {of}"
    print(f"{name:<42}{seconds * 1e3:10.3f} ms{comparison}")


if __name__ == "__main__":
    main()
