"""The K loops of the GEMM kernels: no more instructions per matrix instruction than these limits."""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).resolve().parents[2] / "benchmarks"))

from gemm_code import PEERS, PROGRAMS, class_of, k_loop, wide_addresses

from common import Gemm, compile_for, element_type, presets_for

# Instructions per matrix instruction; the first four are what Triton 3.9 needs for the tile.
LIMITS = {
    ("gfx942", "simple", "128x128x64"): PEERS["gfx942", (128, 128, 64)],
    ("gfx942", "pingpong", "256x256x64"): PEERS["gfx942", (256, 256, 64)],
    ("gfx950", "simple", "128x128x64"): PEERS["gfx950", (128, 128, 64)],
    ("gfx950", "pingpong", "256x256x64"): PEERS["gfx950", (256, 256, 64)],
    ("gfx942", "specialized", "128x128x32"): 2.2,
}


@pytest.mark.parametrize("arch", ["gfx942", "gfx950"])
@pytest.mark.parametrize("program", PROGRAMS)
def test_k_loops_are_lean(arch: str, program: str) -> None:
    module = PROGRAMS[program]
    for preset, fields in presets_for(module.PRESETS, arch).items():
        gemm = Gemm(arch, element_type("bf16", arch), **fields)
        compiled = compile_for(module.make_kernel, gemm)
        loop = k_loop(compiled)
        counts = Counter(map(class_of, loop))
        assert counts["matrix"] >= 8
        assert wide_addresses(loop) == 0
        resources = compiled.resources
        assert (resources.vgpr_spills, resources.sgpr_spills, resources.scratch_bytes) == (0, 0, 0)
        limit = LIMITS.get((arch, program, preset))
        if limit is not None:
            assert len(loop) <= limit * counts["matrix"]
