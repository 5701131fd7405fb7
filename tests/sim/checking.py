"""Checked runs of small bodies, for the tests of the checked mode."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from kernels import kernel_text
from pipedsl import sim
from pipedsl.core.arch import get_arch
from pipedsl.sim.run import RunStats


def check(
    body: str,
    *args: np.ndarray | None,
    arch: str = "gfx942",
    waves: int = 1,
    seed: int = 0,
    lds_bytes: int = 0,
    vgprs: int = 32,
) -> RunStats:
    """Run `body` on one workgroup of `waves` waves; the first array's address is in s[4:5]."""
    given = args or (np.arange(256, dtype=np.int32),)
    text = kernel_text(
        body, arch, lds_bytes=lds_bytes, vgprs=vgprs,
        args=[(f"a{i}", "global_buffer", 8) for i in range(len(given))],
    )  # fmt: skip
    kernel = sim.load_assembly(text).kernels["k"]
    return kernel.launch(1, waves * get_arch(arch).wave_size, list(given), check=True, seed=seed)


def line_of(stats_body: str, fragment: str, nth: int = 0) -> int:
    """Line, in the text that `kernel_text` makes, of the `nth` line that holds `fragment`."""
    found = [
        number
        for number, line in enumerate(kernel_text(stats_body).splitlines(), 1)
        if fragment in line
    ]
    return found[nth]


def codes(stats: RunStats) -> list[tuple[str, int]]:
    """Code and line of each finding."""
    return [(finding.code, finding.line) for finding in stats.findings]


def fixes(stats: RunStats) -> Sequence[str]:
    """What each finding says to change."""
    return [finding.fix for finding in stats.findings]
