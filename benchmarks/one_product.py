"""One matrix product in a process of its own, for ``sim_speed.py``: ``one_product.py FILE``."""

from __future__ import annotations

import pickle
import resource
import sys
import time
from pathlib import Path
from typing import NamedTuple

import numpy as np

from pipedsl import sim


class Matmul(NamedTuple):
    """A float16 product of one size through a kernel, and how to launch it."""

    name: str
    text: str
    kernel: str
    grid: tuple[int, int, int]
    block: int
    lds_bytes: int
    args: list
    result: np.ndarray

    def run(self, kernel: sim.Kernel, check: bool = False) -> sim.RunStats:
        """Launch once."""
        return kernel.launch(self.grid, self.block, self.args, self.lds_bytes, check=check)


def main() -> None:
    """Print the time until the kernel is translated, that of the product, and the peak memory."""
    product = Matmul(*pickle.loads(Path(sys.argv[1]).read_bytes()))
    start = time.perf_counter()
    kernel = sim.load_assembly(product.text).kernels[product.kernel]
    kernel.code()
    ready = time.perf_counter()
    product.run(kernel)
    done = time.perf_counter()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(ready - start, done - ready, peak)


if __name__ == "__main__":
    main()
