"""LDS, caches, memory and the waits for them."""

from __future__ import annotations

import math

import numpy as np
import pytest
from timing_runs import each, timed

from kernels import kernel_text
from pipedsl import sim
from pipedsl.core.arch import get_arch
from pipedsl.sim.timing.constants import find_constant
from pipedsl.sim.timing.phases import phases

LDS = 32768


def read_lds(form: str, place: int) -> str:
    dwords = int(form[1:]) // 32
    first = 32 + 4 * (place % 12)
    target = f"v{first}" if dwords == 1 else f"v[{first}:{first + dwords - 1}]"
    return f"ds_read_{form} {target}, v1"


# 32 banks of 4 bytes, 32 lanes a phase, 64 bytes a cycle to a wave (ROCm Compute Profiler;
# measured by tingqli/pyhip for strides of 1, 8 and 32: 4, 16 and 64 cycles).
@pytest.mark.parametrize("stride", [1, 2, 3, 4, 8, 16, 32, 33])
def test_a_stride_in_lds_costs_its_bank_conflicts(stride):
    ways = math.gcd(stride, 32)
    options = {"before": f"v_mul_lo_u32 v1, v0, {4 * stride}", "after": "s_waitcnt lgkmcnt(0)"}
    # No more reads than the counter holds, or its capacity would be measured.
    cycles = each(lambda i: read_lds("b32", i), count=7, lds_bytes=LDS, **options)
    assert cycles == max(4, 2 * ways)


@pytest.mark.parametrize("arch", ["gfx90a", "gfx942", "gfx950"])
def test_lanes_that_read_one_word_share_it(arch):
    run = timed("v_mov_b32 v1, 0\nds_read_b32 v2, v1\ns_waitcnt lgkmcnt(0)", arch, lds_bytes=LDS)
    assert run.conflict_cycles == 0


# ROCm Compute Profiler: a 4-byte store takes 8 cycles, a 16-byte store 20.
@pytest.mark.parametrize(("form", "data", "cycles"), [("b32", "v8", 8), ("b128", "v[8:11]", 20)])
def test_a_store_sends_its_address_through_the_same_port(form, data, cycles):
    place = f"v_mul_lo_u32 v1, v0, {int(form[1:]) // 8}"
    line = f"ds_write_{form} v1, {data}"
    assert each(lambda i: line, before=place, lds_bytes=LDS, after="s_waitcnt lgkmcnt(0)") == cycles


def test_both_ports_together_give_one_wide_read_every_eight_cycles():
    place = "v_mul_lo_u32 v1, v0, 16"
    options = {"before": place, "lds_bytes": LDS, "after": "s_waitcnt lgkmcnt(0)"}
    alone = each(lambda i: read_lds("b128", i), **options)
    four = each(lambda i: read_lds("b128", i), waves=4, **options)
    assert (alone, four / 4) == (16, 8)


def expected_conflicts(addresses: np.ndarray, arch: str, width: int) -> int:
    """Cycles beyond one per phase and step, counted one phase and bank at a time."""
    found = phases(get_arch(arch), "read", width)
    unit = width if width in (4, 8, 16) else 4
    banks, extra = found.banks * 4 // unit, 0
    for lanes in found.lanes:
        rows: dict[int, set[int]] = {}
        for address in addresses[list(lanes)]:
            for step in range(width // unit):
                word = address // unit + step
                rows.setdefault(word % banks, set()).add(word // banks)
        extra += max(map(len, rows.values())) - width // unit
    return extra


@pytest.mark.parametrize("arch", ["gfx90a", "gfx942", "gfx950"])
@pytest.mark.parametrize("width", [4, 8, 16])
@pytest.mark.parametrize("seed", range(3))
def test_conflicts_follow_the_phase_tables(arch, width, seed):
    random = np.random.default_rng(seed)
    addresses = (random.integers(0, 8192 // width, 64) * width).astype(np.uint32)
    text = kernel_text(
        f"""
        s_load_dwordx2 s[4:5], s[0:1], 0x0
        v_lshlrev_b32 v1, 2, v0
        s_waitcnt lgkmcnt(0)
        global_load_dword v2, v1, s[4:5]
        s_waitcnt vmcnt(0)
        ds_read_b{8 * width} v[4:{3 + width // 4}], v2
        s_waitcnt lgkmcnt(0)
        """.replace("v[4:4]", "v4"),
        arch,
        lds_bytes=8192,
    )
    stats = sim.load_assembly(text).kernels["k"].launch(1, 64, [addresses], timing=True)
    assert stats.timed.conflict_cycles == expected_conflicts(addresses, arch, width)


def test_the_measured_phases_of_gfx950_differ_from_lanes_in_order():
    """16 lanes in order clash, where the 16 of a measured phase do not, and the other way round."""
    in_order = np.arange(64) * 16
    split = np.zeros(64, np.int64)
    for lanes in phases(get_arch("gfx950"), "read", 16).lanes:
        split[list(lanes)] = np.arange(16) * 16 + 256 * np.arange(16)
    for addresses, free in ((in_order, True), (split, True), (in_order * 16, False)):
        assert (expected_conflicts(addresses, "gfx950", 16) == 0) is free


def test_every_lane_is_in_one_phase():
    for arch in ("gfx90a", "gfx942", "gfx950", "gfx1100", "gfx1201"):
        for access in ("read", "write"):
            for width in (1, 2, 4, 8, 12, 16):
                found = phases(get_arch(arch), access, width)
                lanes = sorted(lane for phase in found.lanes for lane in phase)
                assert lanes == list(range(get_arch(arch).wave_size))
                assert len({len(phase) for phase in found.lanes}) == 1


LOAD = "global_load_dwordx4 v[{0}:{1}], v1, s[4:5]"


def stall(run, text: str, which: int = 0) -> int:  # type: ignore[no-untyped-def]
    return [row.stalls for row in run.table if row.text == text][which]


def test_a_line_comes_from_memory_once_and_from_the_cache_after():
    body = "\n".join(
        ["v_lshlrev_b32 v1, 4, v0", *(LOAD.format(4, 7) + "\ns_waitcnt vmcnt(0)" for _ in range(2))]
    )
    first, second = (stall(timed(body), "s_waitcnt vmcnt(0)", i) for i in range(2))
    assert 500 <= first <= 800  # the range that tingqli/pyhip measures
    assert second < find_constant("l1_latency", "gfx942").value + 16


def test_invalidating_the_cache_goes_back_to_l2():
    body = (
        "v_lshlrev_b32 v1, 4, v0\n"
        + f"{LOAD.format(4, 7)}\ns_waitcnt vmcnt(0)\nbuffer_inv sc1\ns_waitcnt vmcnt(0)\n" * 2
    )
    run = timed(body)
    again = stall(run, "s_waitcnt vmcnt(0)", 2)
    assert abs(again - find_constant("l2_latency", "gfx942").value) < 32


# tingqli/pyhip: one dwordx4 of a wave every 32 cycles from memory.
def test_memory_gives_32_bytes_a_cycle():
    def load(i: int) -> str:
        return f"v_add_u32 v1, {1024 * i}, v2\n{LOAD.format(32 + 4 * (i % 16), 35 + 4 * (i % 16))}"

    cycles = each(load, before="v_lshlrev_b32 v2, 4, v0", after="s_waitcnt vmcnt(0)", words=1 << 15)
    assert cycles == 32


# MI300X: 304 CUs at 2.1 GHz share 11.9 TB/s of Infinity Cache (Chips and Cheese): 18.6 bytes each.
@pytest.mark.parametrize(("workgroups", "width"), [(1, 32), (100, 32), (304, 18.6), (608, 18.6)])
def test_compute_units_that_run_together_share_the_memory(workgroups, width):
    rounds = 256
    body = f"""
        v_lshlrev_b32 v1, 4, v0
        s_mov_b32 s6, {rounds}
    .Lnext:
        {LOAD.format(4, 7)}
        v_add_u32 v1, 1024, v1
        s_sub_u32 s6, s6, 1
        s_cmp_lg_u32 s6, 0
        s_cbranch_scc1 .Lnext
        s_waitcnt vmcnt(0)
    """
    head = "s_load_dwordx2 s[4:5], s[0:1], 0x0\ns_waitcnt lgkmcnt(0)\n"
    kernel = sim.load_assembly(kernel_text(head + body)).kernels["k"]
    run = kernel.time(workgroups, 64, [np.zeros(256 * rounds, np.uint32)])
    latency = find_constant("memory_latency", "gfx942").value
    # Two workgroups on a CU read the same addresses: the second finds them in the CU's cache.
    assert len(run.workgroups) == max(1, workgroups // 304)
    assert (run.cycles - latency) * width == pytest.approx(1024 * rounds, rel=0.04)


def test_a_wait_lets_younger_loads_go_on():
    line = "v_lshlrev_b32 v1, 4, v0\nv_add_u32 v2, 2048, v1\n"
    loads = "global_load_dword v4, v1, s[4:5]\nglobal_load_dwordx4 v[8:11], v2, s[4:5]\n"
    run = timed(line + loads + "s_waitcnt vmcnt(1)\ns_waitcnt vmcnt(0)")
    assert stall(run, "s_waitcnt vmcnt(1)") > 500
    assert stall(run, "s_waitcnt vmcnt(0)") <= 64


def test_loads_complete_in_order():
    """A load that hits behind one that misses returns no earlier than that."""
    body = f"""
        v_lshlrev_b32 v1, 4, v0
        v_add_u32 v2, 8192, v1
        {LOAD.format(4, 7)}
        s_waitcnt vmcnt(0)
        global_load_dword v8, v2, s[4:5]
        {LOAD.format(12, 15)}
        s_waitcnt vmcnt(1)
        s_waitcnt vmcnt(0)
    """
    run = timed(body)
    assert stall(run, "s_waitcnt vmcnt(1)") > 500
    assert stall(run, "s_waitcnt vmcnt(0)", 1) == 0


def test_the_counter_holds_15_lds_operations():
    """The sixteenth waits for the first, although nothing asks for its result."""
    place = "v_mul_lo_u32 v1, v0, 128\n"
    run = timed(place + "ds_read_b32 v4, v1\n" * 16, lds_bytes=LDS)
    stalls = [row.stalls for row in run.table if row.text.startswith("ds_read")]
    assert stalls[1:15] == [0] * 14
    # The first took 40 cycles to the LDS and back and 72 for its conflicts; 15 turns have passed.
    assert stalls[15] == 40 + 72 - 15 * 4


def test_the_clock_counts_modelled_cycles():
    text = kernel_text(
        """
        s_load_dwordx2 s[4:5], s[0:1], 0x0
        s_waitcnt lgkmcnt(0)
        s_memtime s[8:9]
        s_sleep 5
        s_memtime s[10:11]
        s_waitcnt lgkmcnt(0)
        s_sub_u32 s6, s10, s8
        v_mov_b32 v1, s6
        v_mov_b32 v2, 0
        global_store_dword v2, v1, s[4:5]
        """
    )
    out = np.zeros(1, np.uint32)
    sim.load_assembly(text).kernels["k"].launch(1, 64, [out], timing=True)
    assert out[0] == 4 + 5 * 64  # its own turn, then the sleep
