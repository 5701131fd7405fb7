"""What a launch costs in Python: on the simulator, and through HIP on a library that does nothing.

Run as ``python benchmarks/launch_overhead.py [--repeat 2000]``. Each figure is the median of five
runs, everything compiled and cached. The HIP figures need a C compiler (or ziglang), for the
tests' libamdhip64.so, and an assembler for AMDGPU.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from pipedsl import device_array, gpu, pipelined_kernel, use_device

TESTS = Path(__file__).resolve().parent.parent / "tests" / "runtime"


@pipelined_kernel
def empty():
    pass


@pipelined_kernel
def touch(out, values, factor):
    if gpu.thread_idx.x < 0:
        out[0] = values[0] * factor


def microseconds(launch: Callable[[], object], repeat: int) -> float:
    """Median time of one `launch`, in us."""
    launch()
    runs = []
    for _ in range(5):
        start = time.perf_counter()
        for _ in range(repeat):
            launch()
        runs.append((time.perf_counter() - start) / repeat * 1e6)
    return statistics.median(runs)


def report(what: str, value: float, note: str = "") -> None:
    """Print one figure."""
    print(f"{what:<58}{value:8.2f} us{note}", flush=True)


def simulator(repeat: int) -> None:
    """Figures of the simulator."""
    with use_device("sim:gfx942"):
        out, values = device_array(64, np.int32), device_array(64, np.int32)
        host = np.zeros(64, np.int32)
        three = np.int32(3)
        report("sim: empty kernel", microseconds(lambda: empty[1, 64](), repeat))
        report(
            "sim: two device arrays and a scalar",
            microseconds(lambda: touch[1, 64](out, values, three), repeat),
        )
        report(
            "sim: two NumPy arrays and a scalar",
            microseconds(lambda: touch[1, 64](host, host, three), repeat),
        )


def hip(repeat: int) -> None:
    """Figures of HIP; the process must see the library that does nothing."""
    from rocm.bindings import hip as api  # noqa: PLC0415 (only where the library is)

    with use_device("hip"):
        out, values = device_array(64, np.int32), device_array(64, np.int32)
        three = np.int32(3)
        total = microseconds(lambda: touch[1, 64](out, values, three), repeat)
        launcher = touch[1, 64]
        bound = microseconds(lambda: launcher(out, values, three), repeat)
    module = api.hipModuleLoadData(b"code object")[1]
    function = api.hipModuleGetFunction(module, b"touch")[1]
    native = api.hipModuleLaunchKernel
    extra = np.array([3], np.uint64)  # HIP_LAUNCH_PARAM_END
    address = extra.ctypes.data
    bare = microseconds(lambda: native(function, 1, 1, 1, 64, 1, 1, 0, 0, None, address), repeat)
    report("hip: two device arrays and a scalar", total, f"  ({total / bare:.1f} x the bare call)")
    report("hip: the same with kernel[grid, block] taken once", bound)
    report("hip: bare hipModuleLaunchKernel of hip-python", bare)


def main() -> int:
    """Entry point."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--repeat", type=int, default=2000, help="launches in a run")
    parser.add_argument("--hip", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.hip:
        hip(options.repeat)
        return 0
    simulator(options.repeat)
    sys.path.insert(0, str(TESTS))
    import hip_library  # noqa: PLC0415 (of the tests)

    with tempfile.TemporaryDirectory(prefix="pipedsl-") as folder:
        environment = hip_library.build(Path(folder))
        if environment is None:
            print("hip: no C compiler to build the library with")
            return 0
        command = [sys.executable, __file__, "--hip", "--repeat", str(options.repeat)]
        return subprocess.run(command, env={**os.environ, **environment}).returncode


if __name__ == "__main__":
    sys.exit(main())
