"""The producer/consumer stress test: one wave fills a ring of LDS slots, another drains it.

    python kernels/stress.py --stages 4 --items 8192 --arch gfx942
    python kernels/stress.py --all

Every value must arrive, in order, whatever the number of slots. The exit status says whether.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np

from pipedsl import (
    AmdCounterBackend,
    Kernel,
    PipedslError,
    config,
    get_device,
    gpu,
    pipelined_kernel,
    use_device,
)
from pipedsl.core.arch import ARCHS

STAGES = (1, 2, 4, 8)


def make_stress(num_stages: int) -> Kernel:
    """The kernel for a ring of `num_stages` slots; launch it with one block of two waves."""

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
                gpu.fence_lds()  # the slot is written before the signal says so
                backend.arrive_full(stage)
        elif gpu.wave_id() == 1:
            for i in range(n_items):
                stage = i % num_stages
                backend.wait_full(stage, i // num_stages)
                if gpu.lane_id() == 0:
                    result[i] = slots[stage]
                gpu.fence_lds()  # the slot is read before the signal frees it
                backend.arrive_empty(stage)

    return stress


@dataclass(frozen=True)
class Outcome:
    """One checked launch.

    Attributes
    ----------
    device, arch : str
    stages, items : int
    wrong : int
        Items that did not arrive as sent.
    seconds : float
        From decoration to the checked result.
    """

    device: str
    arch: str
    stages: int
    items: int
    wrong: int
    seconds: float

    def __str__(self) -> str:
        verdict = "exact" if not self.wrong else f"{self.wrong} items WRONG"
        return (
            f"{self.arch:<8} {self.device:<12} {self.stages} stages  {self.items} items  "
            f"{verdict}  {self.seconds:.3f} s"
        )


def check(stages: int, items: int, arch: str | None = None) -> Outcome:
    """Run the kernel and compare all of `result` with what was sent.

    Parameters
    ----------
    stages, items : int
    arch : str, optional
        Run on the current device if it has this arch, else on its simulator. By default on the
        current device.
    """
    start = time.perf_counter()
    current = get_device()
    spec = current.name if arch in (None, current.arch.name) else f"sim:{arch}"
    with use_device(spec) as device, config.scope(check_first=False):  # the launch alone is timed
        result = np.zeros(items, np.int32)
        make_stress(stages)[1, 2 * gpu.wave_size()](result, np.int32(items))
    wrong = int(np.count_nonzero(result != np.arange(1, items + 1)))
    seconds = time.perf_counter() - start
    return Outcome(device.name, device.arch.name, stages, items, wrong, seconds)


def check_all(items: int) -> Iterable[Outcome]:
    """Every arch with every ring size, in order."""
    cases = [(stages, items, arch) for arch in ARCHS for stages in STAGES]
    with ThreadPoolExecutor(max_workers=2) as pool:
        yield from pool.map(lambda case: check(*case), cases)


def main(argv: list[str] | None = None) -> int:
    """Entry point; 0 if every item of every launch arrived as sent, else 1."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--stages", type=int, default=4, help="slots of the ring (default 4)")
    parser.add_argument("--items", type=int, default=8192, help="items to send (default 8192)")
    parser.add_argument("--arch", choices=ARCHS, help="target (default: the current device's)")
    parser.add_argument(
        "--all", action="store_true", help=f"stages {STAGES} on each of {', '.join(ARCHS)}"
    )
    options = parser.parse_args(argv)
    start = time.perf_counter()
    exact = total = 0
    single = ([options.stages], [options.items], [options.arch])
    outcomes = check_all(options.items) if options.all else map(check, *single)
    try:
        for outcome in outcomes:
            print(outcome, flush=True)
            exact += not outcome.wrong
            total += 1
    except PipedslError as error:
        print(error, file=sys.stderr)
        return 1
    print(f"{exact} of {total} exact in {time.perf_counter() - start:.2f} s")
    return 0 if exact == total else 1


if __name__ == "__main__":
    sys.exit(main())
