"""Where a wave is in a ring."""

from __future__ import annotations

import numpy as np

from pipedsl.target import gpu


class RingPosition:
    """A slot and a lap, which advance in place: two registers of the wave.

    Both are the same in all lanes, so that in uniform control flow they are SGPRs.

    Parameters
    ----------
    num_stages : int
        Slots of the ring; a compile-time constant.
    phase : int
        The first lap.
    """

    def __init__(self, num_stages: int, phase: int = 0) -> None:
        cells = gpu.local.array(2, np.int32)
        cells[0] = 0
        cells[1] = phase
        self.num_stages = num_stages
        self.cells = cells

    def stage(self) -> int:
        """The slot, int32."""
        return self.cells[0]

    def phase(self) -> int:
        """The lap, int32."""
        return self.cells[1]

    def step(self) -> None:
        """Go to the next slot; the lap grows when the ring wraps."""
        following = self.cells[0] + 1
        if self.num_stages & (self.num_stages - 1) == 0:
            self.cells[0] = following % self.num_stages
            self.cells[1] = self.cells[1] + following // self.num_stages
        elif following == self.num_stages:
            self.cells[0] = 0
            self.cells[1] = self.cells[1] + 1
        else:
            self.cells[0] = following
