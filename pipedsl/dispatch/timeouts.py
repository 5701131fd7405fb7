"""Launches whose waits give up: the buffer, and the error that it stands for."""

from __future__ import annotations

import numpy as np

from pipedsl.checker.deadlock import Deadlock, PolledWord, Wait
from pipedsl.core.errors import DeadlockError, SourceLocation
from pipedsl.core.image import KernelImage
from pipedsl.core.timeouts import BYTES, CAPACITY, FIELDS, RECORD
from pipedsl.runtime import Device
from pipedsl.sim import load_assembly

_CALLS = ("wait_", "produce", "consume", "acquire", "tail", "signal_and_step", "and_advance")


class TimeoutBuffer:
    """The buffer of one kernel on one device.

    Attributes
    ----------
    address : int
        On the device.
    """

    def __init__(self, device: Device, image: KernelImage) -> None:
        self._device = device
        self._image = image
        self.address = device.allocate(BYTES, "timeouts", 8)

    def clear(self, stream: int) -> None:
        """Before a launch: nobody has given up."""
        self._device.copy_to_device(self.address, np.zeros(BYTES // 8, np.int64), stream)

    def check(self, stream: int) -> None:
        """Wait for the launch.

        Raises
        ------
        DeadlockError
            If a wave has given up.
        """
        self._device.synchronize(stream)
        words = np.zeros(BYTES // 8, np.int64)
        self._device.copy_to_host(words, self.address, stream)
        count = min(int(words[0]), CAPACITY)
        if count:
            rows = words[1 : 1 + count * RECORD].reshape(count, RECORD)
            raise self._error([dict(zip(FIELDS, row, strict=False)) for row in rows.tolist()])

    def close(self) -> None:
        """Give the memory back."""
        self._device.free(self.address)

    def _error(self, records: list[dict[str, int]]) -> DeadlockError:
        kernel = load_assembly(self._image.asm).kernels[self._image.name]
        group = records[0]["workgroup"]
        waits = tuple(self._wait(r) for r in records if r["workgroup"] == group)
        found = Deadlock(waits, tuple(kernel.program.rings))  # who gave up first comes first
        error = DeadlockError(
            f"{self._image.name}: workgroup {_axes(group)}: gave up after timeout_ms: "
            f"{found.message()}",
            fix=found.fix(), where=found.where,
        )  # fmt: skip
        error.drawing = tuple(found.drawing())
        return error

    def _wait(self, record: dict[str, int]) -> Wait:
        x, y, z = _axes(record["thread"])
        lanes = load_assembly(self._image.asm).kernels[self._image.name].wave.lanes
        # The block's extents are those that the code was compiled for; one axis is the rule.
        wave = (x + y + z) // lanes if y == z == 0 else x // lanes
        word = PolledWord("LDS", record["address"], record["value"], f">= {record['wanted']}")
        return Wait(wave, "poll", 0, self._place(record["line"]), (word,))

    def _place(self, line: int) -> SourceLocation | None:
        """The user's line, in the file where it waits."""
        for name, text in self._image.sources.items():
            lines = text.splitlines()
            if 0 < line <= len(lines) and any(call in lines[line - 1] for call in _CALLS):
                return SourceLocation(name, line, text=lines[line - 1])
        return None


def _axes(packed: int) -> tuple[int, int, int]:
    x, y, z = (packed >> 21 * axis & (1 << 21) - 1 for axis in range(3))
    return x, y, z
