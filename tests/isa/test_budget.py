"""Shares of registers and LDS, by hand."""

from __future__ import annotations

import pytest

from pipedsl.core.arch import get_arch
from pipedsl.isa.budget import Budget


def budget(arch: str, producers: int, consumers: int, **fields) -> Budget:
    numbers = {"accumulators": 0, "stages": 0, "stage_bytes": 0, "lds_bytes": 0, **fields}
    return Budget(arch, producers, consumers, **numbers)


@pytest.mark.parametrize(
    ("arch", "waves", "per_simd", "vgprs"),
    [
        ("gfx942", 4, 1, 512),
        ("gfx942", 8, 2, 256),
        ("gfx950", 12, 3, 168),  # 170, in granules of 8
        ("gfx90a", 16, 4, 128),
        ("gfx942", 5, 2, 256),  # one SIMD has two
        ("gfx1100", 8, 2, 256),  # four SIMDs of a WGP; the encoding's limit
        ("gfx1201", 32, 8, 192),  # 1536 of a SIMD for 8
    ],
)
def test_share_of_the_registers(arch: str, waves: int, per_simd: int, vgprs: int) -> None:
    shared = budget(arch, 1, waves - 1)
    assert (shared.waves_per_simd, shared.vgprs) == (per_simd, vgprs)


@pytest.mark.parametrize("arch", ["gfx942", "gfx1100"])
@pytest.mark.parametrize("needed", [1, 64, 96, 128, 168, 200, 256])
def test_the_most_waves_that_have_enough(arch: str, needed: int) -> None:
    most = budget(arch, 1, 1).waves_with(needed)
    assert budget(arch, 1, most - 1).vgprs >= needed
    assert most == 0 or budget(arch, 1, most).vgprs < needed


def test_a_wish_for_more_waves_leaves_fewer_registers() -> None:
    assert budget("gfx942", 2, 2, waves_per_eu=4).vgprs == 128
    assert budget("gfx942", 4, 12, waves_per_eu=2).vgprs == 128


def test_stages_within_a_limit() -> None:
    three = budget("gfx942", 4, 4, stages=3, stage_bytes=20_000, lds_bytes=61_000)
    assert [three.stages_within(size) for size in (61_000, 60_999, 21_000, 20_999)] == [3, 2, 1, 0]


def test_what_fits_is_limited_by_accumulators_and_by_lds() -> None:
    registers = budget("gfx950", 4, 4, accumulators=128)
    assert (registers.occupancy.workgroups, registers.occupancy.limited_by) == (2, "VGPRs")
    half = get_arch("gfx950").lds_bytes // 2
    assert budget("gfx950", 1, 1, lds_bytes=half).occupancy.workgroups == 2
    assert budget("gfx950", 1, 1, lds_bytes=half + 1).occupancy.workgroups == 1
