"""User code that passes ``mypy --strict``."""

from typing import Any

import numpy as np

import pipedsl
from pipedsl import (
    AmdCounterBackend,
    Config,
    DeviceArray,
    Kernel,
    Report,
    Roles,
    Trace,
    device_function,
    gpu,
    pipelined_kernel,
)
from pipedsl.bench import Measurement, Records, do_bench, pipelines
from pipedsl.views import Listing, annotate


@device_function
def twice(x: Any) -> Any:
    return 2 * x


@pipelined_kernel
def scale(out: Any, factor: float) -> None:
    out[gpu.thread_idx.x] = twice(out[gpu.thread_idx.x]) * factor


@pipelined_kernel(timeout_ms=10, trace=True)
def relay(out: Any, n: int) -> None:
    roles = Roles(producers=1, consumers=1)
    pipe = roles.pipeline(2)
    slots = gpu.shared.array((2, 64), np.float32)
    pipe.init()
    if roles.producer.mine():
        for i in range(n):
            with pipe.produce() as stage:
                slots[stage.index(), gpu.lane_id()] = i
    else:
        for i in range(n):
            with pipe.consume() as taken:
                out[i, gpu.lane_id()] = slots[taken.index(), gpu.lane_id()]


@pipelined_kernel
def counters(out: Any) -> None:
    ring = AmdCounterBackend(2, producer_arrivals=1, consumer_arrivals=1)
    if gpu.thread_idx.x == 0:
        ring.init_barriers(1, 1)
    gpu.barrier()
    ring.wait_full(0, 0)


@pipedsl.autotune([Config(factor=2.0)], key=["out"])
def tuned(out: Any, factor: float) -> None:
    scale[1, 64](out, factor)


def main() -> None:
    out: DeviceArray = pipedsl.to_device(np.zeros(64, np.float32))
    scale[1, 64](out, 2.0)
    scale[(1, 1), (64, 1), pipedsl.stream(), 256](out, factor=2.0)
    kernel: Kernel[...] = scale
    run = scale[1, 64].time(out, 2.0, arch="gfx942")
    cycles: int = run.cycles
    report: Report = pipedsl.check(relay[1, 128], out, 3, explore="exhaustive")
    with pipedsl.trace() as t:
        scale[1, 64](out, 2.0)
    traced: Trace = t
    listing: Listing = annotate(scale[1, 64], out, 2.0)
    taken: Measurement = do_bench(lambda: tuned(out))
    rows: Records = pipelines("gfx942", stages=[2])
    with pipedsl.config.scope(check=True), pipedsl.use_device("sim:gfx950"):
        print(kernel, cycles, report, traced, listing, float(taken), rows.best("roof_fraction"))
