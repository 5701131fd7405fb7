"""Ring buffers with counters of their own for every tile: waves that share one tile of a stage
synchronise on it alone, not on the whole stage.

Both classes have the same members, so that a kernel can take either. Laps count from 0 on both
sides: ``RingPosition(num_stages)`` keeps a wave's stage and lap. They order nothing: fence the data
first, as with a `PipelineBackend`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from pipedsl.pipeline.counter import AmdCounterBackend
from pipedsl.target import gpu


class SplitCounterSync:
    """Two int32 counters per tile and stage: one that writers raise, one that readers raise.

    Parameters
    ----------
    num_tiles : int
        Tiles of a stage; compile-time constants, as all parameters.
    num_stages : int
    writes, reads : int
        Waves that write a tile, and waves that read it, per lap.
    """

    def __init__(self, num_tiles: int, num_stages: int, writes: int, reads: int) -> None:
        gpu.declare_stages(num_stages)
        self.num_tiles = num_tiles
        self.num_stages = num_stages
        self.ring = AmdCounterBackend(num_tiles * num_stages, writes, reads, counter=np.int32)

    @staticmethod
    def storage_elems(num_tiles: int, num_stages: int) -> int:
        """Number of int32 counters in LDS."""
        return 2 * num_tiles * num_stages

    def init(self) -> None:
        """Initialise the counters; all waves call it, and a barrier of the workgroup ends it."""
        if gpu.thread_idx.x + gpu.thread_idx.y + gpu.thread_idx.z == 0:
            self.ring.init_barriers(self.ring.producer_arrivals, self.ring.consumer_arrivals)
        gpu.barrier()

    def wait_empty(self, tile: int, stage: int, lap: int) -> None:
        """As a writer: wait until the readers of lap ``lap - 1`` are done with the tile."""
        self.ring.wait_empty(tile * self.num_stages + stage, lap + 1)

    def wait_full(self, tile: int, stage: int, lap: int) -> None:
        """As a reader: wait until the tile was written in `lap`."""
        self.ring.wait_full(tile * self.num_stages + stage, lap)

    def arrive_full(self, tile: int, stage: int) -> None:
        """Count this wave in as a writer of the tile that is done."""
        self.ring.arrive_full(tile * self.num_stages + stage)

    def arrive_empty(self, tile: int, stage: int) -> None:
        """Count this wave in as a reader of the tile that is done."""
        self.ring.arrive_empty(tile * self.num_stages + stage)


class SingleCounterSync:
    """One int32 counter per tile and stage that writers and readers both raise.

    It grows by ``writes + reads`` per lap: half the LDS of `SplitCounterSync`, and writers and
    readers meet at one address.

    Parameters
    ----------
    num_tiles, num_stages, writes, reads : int
        As of `SplitCounterSync`.
    """

    def __init__(self, num_tiles: int, num_stages: int, writes: int, reads: int) -> None:
        gpu.static_check(writes >= 1, "writes is {}.", "use 1 or more.", writes)
        gpu.static_check(reads >= 1, "reads is {}.", "use 1 or more.", reads)
        gpu.declare_stages(num_stages)
        self.num_tiles = num_tiles
        self.num_stages = num_stages
        self.writes = writes
        self.per_lap = writes + reads
        self.counters = gpu.shared.array(num_tiles * num_stages, np.int32)

    @staticmethod
    def storage_elems(num_tiles: int, num_stages: int) -> int:
        """Number of int32 counters in LDS."""
        return num_tiles * num_stages

    def init(self) -> None:
        """Initialise the counters; all waves call it, and a barrier of the workgroup ends it."""
        if gpu.thread_idx.x + gpu.thread_idx.y + gpu.thread_idx.z == 0:
            for i in range(self.num_tiles * self.num_stages):
                self.counters[i] = 0
        gpu.barrier()

    def wait_empty(self, tile: int, stage: int, lap: int) -> None:
        """As a writer: wait until the readers of lap ``lap - 1`` are done with the tile."""
        self._wait(tile, stage, lap * self.per_lap, "empty", lap)

    def wait_full(self, tile: int, stage: int, lap: int) -> None:
        """As a reader: wait until the tile was written in `lap`."""
        self._wait(tile, stage, lap * self.per_lap + self.writes, "full", lap)

    def arrive_full(self, tile: int, stage: int) -> None:
        """Count this wave in as a writer of the tile that is done."""
        index = tile * self.num_stages + stage
        gpu.stamp("signal", self.counters, index, index, 0)
        gpu.counter_signal(self.counters, index)

    def arrive_empty(self, tile: int, stage: int) -> None:
        """Count this wave in as a reader of the tile that is done."""
        index = tile * self.num_stages + stage
        gpu.stamp("signal", self.counters, index, index, 0)
        gpu.counter_signal(self.counters, index)

    def _wait(self, tile: int, stage: int, threshold: Any, kind: str, lap: int) -> None:
        index = tile * self.num_stages + stage
        wanted: Any = np.int32(threshold)
        gpu.stamp(kind, self.counters, index, index, lap)
        started = gpu.stopwatch()
        while gpu.any_lane(gpu.counter_load(self.counters, index) < wanted):
            gpu.sleep(0)
            gpu.give_up(started, self.counters, index, wanted)
        gpu.stamp("got", self.counters, index, index, lap)
