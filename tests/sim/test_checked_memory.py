"""Checked mode: bytes that one wave signals, or reuses, before they are complete."""

from __future__ import annotations

import numpy as np
import pytest
from checking import check, codes, line_of

SEEDS = range(4)

# Both waves write their LDS dwords, meet, and read the other wave's.
EXCHANGE = """
\ts_load_dwordx2 s[4:5], s[0:1], 0x0
\tv_and_b32_e32 v0, 0x3ff, v0
\tv_lshlrev_b32_e32 v1, 2, v0
\tds_write_b32 v1, v0
\t{wait}
\ts_barrier
\tv_xor_b32_e32 v2, 0x100, v1
\tds_read_b32 v3, v2
\ts_waitcnt lgkmcnt(0)
\tglobal_store_dword v1, v3, s[4:5]
"""


@pytest.mark.parametrize("seed", SEEDS)
def test_data_behind_a_barrier(seed):
    out = np.zeros(128, np.int32)
    body = EXCHANGE.format(wait="s_waitcnt lgkmcnt(0)")
    assert codes(check(body, out, waves=2, lds_bytes=512, seed=seed)) == []
    assert out.tolist() == [i ^ 64 for i in range(128)]


@pytest.mark.parametrize("seed", SEEDS)
def test_a_barrier_before_the_write_is_complete(seed):
    # The scalar load, too, is in flight; that it may be the last one left changes nothing.
    body = EXCHANGE.format(wait="s_nop 0")
    stats = check(body, np.zeros(128, np.int32), waves=2, lds_bytes=512, seed=seed)
    found = [f for f in stats.findings if f.code == "C120"]
    (finding,) = found
    write, read = line_of(body, "ds_write_b32"), line_of(body, "ds_read_b32")
    barrier = line_of(body, "s_barrier")
    other = 1 - finding.wave
    assert finding.line == read
    assert finding.related == ((write, None), (barrier, None))
    assert finding.message == (
        f"`ds_read_b32 v3, v2` (line {read}) of wave {finding.wave} uses LDS byte {256 * other}, "
        f"which wave {other}'s `ds_write_b32 v1, v0` (line {write}) has not been proven to have "
        f"completed."
    )
    assert finding.fix == (
        f"let wave {other} execute s_waitcnt lgkmcnt(0) before its s_barrier at line {barrier}."
    )


def test_the_weakest_wait_before_a_barrier_counts_younger_operations():
    body = """
\tv_and_b32_e32 v0, 0x3ff, v0
\tv_lshlrev_b32_e32 v1, 2, v0
\tds_write_b32 v1, v0
\tds_read_b32 v4, v1 offset:512
\tds_read_b32 v5, v1 offset:512
\ts_waitcnt lgkmcnt({})
\ts_barrier
\tv_xor_b32_e32 v2, 0x100, v1
\tds_read_b32 v3, v2
\ts_waitcnt lgkmcnt(0)
"""
    assert codes(check(body.format(2), waves=2, lds_bytes=1024)) == []
    (finding,) = check(body.format(3), waves=2, lds_bytes=1024).findings
    assert "execute s_waitcnt lgkmcnt(2) before" in finding.fix


REUSE = """
\tv_and_b32_e32 v0, 0x3ff, v0
\tv_lshlrev_b32_e32 v1, 2, v0
\tv_xor_b32_e32 v2, 0x100, v1
\tds_write_b32 v1, v0
\ts_waitcnt lgkmcnt(0)
\ts_barrier
\tds_read_b32 v3, v2
\t{before}
\ts_barrier
\t{after}
\tds_write_b32 v1, v1
\ts_waitcnt lgkmcnt(0)
"""


@pytest.mark.parametrize("seed", SEEDS)
def test_a_buffer_reused_before_it_has_been_read(seed):
    wait = "s_waitcnt lgkmcnt(0)"
    good, bad = REUSE.format(before=wait, after="s_nop 0"), REUSE.format(before="s_nop 0", after=wait)
    assert codes(check(good, waves=2, lds_bytes=512, seed=seed)) == []
    stats = check(bad, waves=2, lds_bytes=512, seed=seed)
    assert codes(stats) == [("C121", line_of(bad, "ds_write_b32 v1, v1"))]
    assert "writes LDS byte" in stats.findings[0].message


# Wave 0 writes a value and raises a counter in LDS; wave 1 polls it, then reads the value.
HANDOFF = """
\ts_load_dwordx2 s[4:5], s[0:1], 0x0
\tv_readfirstlane_b32 s6, v0
\ts_and_b32 s6, s6, 0x3ff
\tv_mov_b32_e32 v1, 0
\tv_mov_b32_e32 v2, 1
\tv_mov_b32_e32 v9, 77
\tds_write_b32 v1, v1
\ts_waitcnt lgkmcnt(0)
\ts_barrier
\ts_cmp_ge_u32 s6, 64
\ts_cbranch_scc1 .Lconsumer
{produce}
\ts_endpgm
.Lconsumer:
\ts_sleep 1
\tds_read_b32 v3, v1
\ts_waitcnt lgkmcnt(0)
\tv_readfirstlane_b32 s7, v3
\ts_cmp_eq_u32 s7, 0
\ts_cbranch_scc1 .Lconsumer
{consume}
\ts_waitcnt vmcnt(0) lgkmcnt(0)
"""
SIGNAL = "\ts_mov_b64 exec, 1\n\tds_add_u32 v1, v2"
READ_LDS = "\tds_read_b32 v4, v1 offset:16"


@pytest.mark.parametrize("seed", SEEDS)
def test_lds_data_before_an_lds_counter_needs_no_wait(seed):
    body = HANDOFF.format(produce=f"\tds_write_b32 v1, v9 offset:16\n{SIGNAL}", consume=READ_LDS)
    assert codes(check(body, waves=2, lds_bytes=64, seed=seed)) == []


def dma(wait: str) -> str:
    produce = f"""
\ts_mov_b32 m0, 16
\tglobal_load_lds_dword v1, s[4:5]
\t{wait}
{SIGNAL}"""
    return HANDOFF.format(produce=produce, consume=READ_LDS)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("wait", ["s_nop 0", "s_waitcnt lgkmcnt(0)", "s_waitcnt vmcnt(1)"])
def test_a_load_to_lds_signalled_before_it_is_complete(wait, seed):
    data = np.arange(256, dtype=np.int32)
    assert codes(check(dma("s_waitcnt vmcnt(0)"), data, waves=2, lds_bytes=512, seed=seed)) == []
    body = dma(wait)
    (finding,) = check(body, data, waves=2, lds_bytes=512, seed=seed).findings
    assert (finding.code, finding.line, finding.wave) == ("C120", line_of(body, READ_LDS.strip()), 1)
    signal = line_of(body, "ds_add_u32")
    assert finding.fix == f"let wave 0 execute s_waitcnt vmcnt(0) before its ds_add_u32 at line {signal}."


def test_the_wave_that_loads_to_lds_must_wait_itself():
    body = """
\ts_load_dwordx2 s[4:5], s[0:1], 0x0
\ts_waitcnt lgkmcnt(0)
\tv_lshlrev_b32_e32 v1, 2, v0
\ts_mov_b32 m0, 0
\tglobal_load_lds_dword v1, s[4:5]
\t{}
\tds_read_b32 v2, v1
\ts_waitcnt lgkmcnt(0)
"""
    assert codes(check(body.format("s_waitcnt vmcnt(0)"), lds_bytes=256)) == []
    bad = body.format("s_waitcnt lgkmcnt(0)")
    (finding,) = check(bad, lds_bytes=256).findings
    read = line_of(bad, "ds_read_b32")
    assert (finding.code, finding.line) == ("C120", read)
    assert "which its own `global_load_lds_dword v1, s[4:5]`" in finding.message
    assert finding.fix == f"put s_waitcnt vmcnt(0) before line {read}."


def test_a_load_to_lds_over_bytes_that_are_still_being_read():
    body = """
\ts_load_dwordx2 s[4:5], s[0:1], 0x0
\ts_waitcnt lgkmcnt(0)
\tv_lshlrev_b32_e32 v1, 2, v0
\ts_mov_b32 m0, 0
\tds_read_b32 v2, v1
\t{}
\tglobal_load_lds_dword v1, s[4:5]
\ts_waitcnt vmcnt(0) lgkmcnt(0)
"""
    assert codes(check(body.format("s_waitcnt lgkmcnt(0)"), lds_bytes=256)) == []
    bad = body.format("s_nop 0")
    assert codes(check(bad, lds_bytes=256)) == [("C121", line_of(bad, "global_load_lds"))]


def store(arch: str, wait: str) -> str:
    """Wave 0 stores to global memory and raises the LDS counter; wave 1 reads it back."""
    if arch == "gfx942":
        produce = f"\tglobal_store_dword v1, v9, s[4:5]\n\t{wait}\n{SIGNAL}"
        return HANDOFF.format(produce=produce, consume="\tglobal_load_dword v4, v1, s[4:5]")
    waits = {"gfx1100": "s_waitcnt vmcnt(0) lgkmcnt(0)", "gfx1201": "s_wait_loadcnt_dscnt 0x0"}
    barrier = {"gfx1100": "s_barrier", "gfx1201": "s_barrier_signal -1\n\ts_barrier_wait -1"}
    scalar = {"gfx1100": "s_waitcnt lgkmcnt(0)", "gfx1201": "s_wait_kmcnt 0x0"}
    return f"""
\ts_load_b64 s[4:5], s[0:1], 0x0
\tv_readfirstlane_b32 s6, v0
\ts_and_b32 s6, s6, 0x3ff
\tv_mov_b32_e32 v1, 0
\tv_mov_b32_e32 v2, 1
\tv_mov_b32_e32 v9, 77
\tds_store_b32 v1, v1
\t{scalar[arch]}
\t{waits[arch]}
\t{barrier[arch]}
\ts_cmp_ge_u32 s6, 32
\ts_cbranch_scc1 .Lconsumer
\tglobal_store_b32 v1, v9, s[4:5]
\t{wait}
\ts_mov_b32 exec_lo, 1
\tds_add_u32 v1, v2
\ts_endpgm
.Lconsumer:
\ts_sleep 1
\tds_load_b32 v3, v1
\t{waits[arch]}
\tv_readfirstlane_b32 s7, v3
\ts_cmp_eq_u32 s7, 0
\ts_cbranch_scc1 .Lconsumer
\tglobal_load_b32 v4, v1, s[4:5]
\t{waits[arch]}
"""


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(
    ("arch", "good", "bad"),
    [
        ("gfx942", "s_waitcnt vmcnt(0)", "s_waitcnt lgkmcnt(0)"),
        ("gfx1100", "s_waitcnt_vscnt null, 0x0", "s_waitcnt vmcnt(0)"),
        ("gfx1201", "s_wait_storecnt 0x0", "s_wait_loadcnt 0x0"),
    ],
)
def test_a_store_signalled_before_it_is_complete(arch, good, bad, seed):
    run = {"arch": arch, "waves": 2, "lds_bytes": 64, "seed": seed}
    assert codes(check(store(arch, good), np.zeros(64, np.int32), **run)) == []
    (finding,) = check(store(arch, bad), np.zeros(64, np.int32), **run).findings
    assert (finding.code, finding.wave) == ("C130", 1)
    assert f"let wave 0 execute {good} before its ds_add_u32" in finding.fix


def test_bytes_arrive_as_late_as_the_seed_says():
    """A load that nothing orders behind the store sees the old value with some seeds."""
    body = """
\ts_load_dwordx2 s[4:5], s[0:1], 0x0
\tv_readfirstlane_b32 s6, v0
\ts_and_b32 s6, s6, 0x3ff
\tv_mov_b32_e32 v1, 0
\tv_mov_b32_e32 v2, 77
\ts_waitcnt lgkmcnt(0)
\ts_cmp_ge_u32 s6, 64
\ts_cbranch_scc1 .Lsecond
\tglobal_store_dword v1, v2, s[4:5]
\ts_sleep 1
\ts_sleep 1
\ts_sleep 1
\ts_endpgm
.Lsecond:
\ts_sleep 1
\ts_sleep 1
\tglobal_load_dword v4, v1, s[4:5]
\ts_waitcnt vmcnt(0)
\tglobal_store_dword v1, v4, s[4:5] offset:4
"""
    seen = set()
    for seed in range(12):
        out = np.zeros(64, np.int32)
        assert codes(check(body, out, waves=2, seed=seed)) == []
        assert out[0] == 77
        seen.add(int(out[1]))
    assert seen == {0, 77}


def test_polls_of_a_counter_that_others_raise_are_no_finding():
    # Wave 1 knows from the barrier that the add is issued, not that it is complete: it polls.
    produce = f"{SIGNAL}\n\ts_barrier"
    body = HANDOFF.format(produce=produce, consume="\ts_nop 0")
    body = body.replace(".Lconsumer:", ".Lconsumer:\n\ts_barrier\n.Lpoll:").replace(
        "s_cbranch_scc1 .Lconsumer\n\ts_nop", "s_cbranch_scc1 .Lpoll\n\ts_nop"
    )
    for seed in SEEDS:
        assert codes(check(body, waves=2, lds_bytes=64, seed=seed)) == []


@pytest.mark.parametrize("lanes", ["-1", "1"])
def test_a_sum_needs_its_wait_before_the_barrier(lanes):
    # Unlike a poll, the read that follows does not look again.
    body = f"""
\tv_mov_b32_e32 v1, 0
\tv_mov_b32_e32 v2, 1
\ts_mov_b64 exec, {lanes}
\tds_add_u32 v1, v2
\t{{}}
\ts_barrier
\tds_read_b32 v3, v1
\ts_waitcnt lgkmcnt(0)
\tv_add_u32_e32 v3, v3, v2
"""
    assert codes(check(body.format("s_waitcnt lgkmcnt(0)"), waves=2, lds_bytes=64)) == []
    bad = body.format("s_nop 0")
    (finding,) = check(bad, waves=2, lds_bytes=64).findings
    assert (finding.code, finding.line) == ("C120", line_of(bad, "ds_read_b32"))
    barrier = f"before its s_barrier at line {line_of(bad, 's_barrier')}."
    assert finding.fix.endswith(f"execute s_waitcnt lgkmcnt(0) {barrier}")


def test_accesses_that_nothing_orders_are_not_called_missing_waits():
    body = """
\tv_mov_b32_e32 v1, 0
\tds_write_b32 v1, v0
\tds_read_b32 v2, v1
\ts_waitcnt lgkmcnt(0)
"""
    assert codes(check(body, waves=4, lds_bytes=64)) == []


def test_interleaved_lanes_do_not_overlap():
    # The waves write even and odd dwords of the same range: the ranges cross, the bytes do not.
    body = """
\tv_and_b32_e32 v0, 0x3ff, v0
\tv_lshrrev_b32_e32 v1, 6, v0
\tv_and_b32_e32 v2, 63, v0
\tv_lshlrev_b32_e32 v2, 3, v2
\tv_lshl_add_u32 v1, v1, 2, v2
\tds_write_b32 v1, v0
\ts_barrier
\tds_read_b32 v3, v1
\ts_waitcnt lgkmcnt(0)
"""
    assert codes(check(body, waves=2, lds_bytes=512)) == []


def test_a_scalar_load_of_what_the_wave_has_just_stored():
    body = """
\ts_load_dwordx2 s[4:5], s[0:1], 0x0
\ts_waitcnt lgkmcnt(0)
\tv_mov_b32_e32 v1, 0
\tv_mov_b32_e32 v2, 5
\tglobal_store_dword v1, v2, s[4:5]
\t{}
\ts_load_dword s6, s[4:5], 0x0
\ts_waitcnt lgkmcnt(0)
"""
    assert codes(check(body.format("s_waitcnt vmcnt(0)"))) == []
    bad = body.format("s_nop 0")
    assert codes(check(bad)) == [("C130", line_of(bad, "s_load_dword s6"))]


def test_a_vector_load_sees_the_stores_of_its_own_wave():
    out = np.zeros(64, np.int32)
    body = """
\ts_load_b64 s[4:5], s[0:1], 0x0
\ts_waitcnt lgkmcnt(0)
\tv_lshlrev_b32_e32 v1, 2, v0
\tv_mov_b32_e32 v2, 5
\tglobal_store_b32 v1, v2, s[4:5]
\tglobal_load_b32 v3, v1, s[4:5]
\ts_waitcnt vmcnt(0)
\tv_add_nc_u32_e32 v3, 1, v3
\tglobal_store_b32 v1, v3, s[4:5]
"""
    assert codes(check(body, out, arch="gfx1100")) == []
    assert out[:32].tolist() == [6] * 32
