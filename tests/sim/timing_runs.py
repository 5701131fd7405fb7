"""Runs of small kernels in the timing mode."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from kernels import kernel_text
from pipedsl import sim
from pipedsl.core.arch import get_arch
from pipedsl.sim.timing.result import TimedRun


def timed(
    body: str, arch: str = "gfx942", *, waves: int = 1, lds_bytes: int = 0, words: int = 4096
) -> TimedRun:
    """Run `body` in one workgroup; it may use the pointer to `words` zeros in s[4:5]."""
    head = "s_load_dwordx2 s[4:5], s[0:1], 0x0\ns_waitcnt lgkmcnt(0)\n"
    if arch == "gfx1201":
        head = head.replace("s_waitcnt lgkmcnt(0)", "s_wait_kmcnt 0x0")
    text = kernel_text(head + body, arch, lds_bytes=lds_bytes, vgprs=128)
    kernel = sim.load_assembly(text).kernels["k"]
    out = np.zeros(words, np.uint32)
    stats = kernel.launch(1, waves * get_arch(arch).wave_size, [out], timing=True)
    assert stats.timed is not None
    return stats.timed


def each(line: Callable[[int], str], arch: str = "gfx942", *, count: int = 32, **options) -> float:  # type: ignore[no-untyped-def]
    """Cycles that one more of a stream of lines takes, from runs of two lengths."""
    before, after = options.pop("before", ""), options.pop("after", "")
    short, long = (
        timed("\n".join([before, *map(line, range(n)), after]), arch, **options).cycles
        for n in (count, 2 * count)
    )
    return (long - short) / count
