"""Checked mode: registers that an operation in flight will write."""

from __future__ import annotations

import numpy as np
import pytest
from checking import check, codes, fixes, line_of

GFX9_HEAD = """
\ts_load_dwordx2 s[4:5], s[0:1], 0x0
\ts_waitcnt lgkmcnt(0)
\tv_lshlrev_b32_e32 v1, 2, v0
"""


def loads(*tail: str) -> str:
    """Three loads in flight, into v2, v3 and v4, then `tail`."""
    three = [f"\tglobal_load_dword v{n}, v1, s[4:5] offset:{4 * n}" for n in (2, 3, 4)]
    return GFX9_HEAD + "\n".join([*three, *(f"\t{line}" for line in tail)]) + "\n"


def test_a_proven_use_is_no_finding():
    assert codes(check(loads("s_waitcnt vmcnt(0)", "v_add_u32_e32 v5, v2, v4"))) == []


def test_an_early_read_names_register_lines_and_the_weakest_wait():
    body = loads("v_add_u32_e32 v5, 1, v2")
    (finding,) = check(body).findings
    use, load = line_of(body, "v_add_u32"), line_of(body, "global_load_dword v2")
    assert finding.code == "C110"
    assert finding.message == (
        f"v2 is read by `v_add_u32_e32 v5, 1, v2` (line {use}) before "
        f"`global_load_dword v2, v1, s[4:5] offset:8` (line {load}) is proven complete."
    )
    assert finding.fix == f"put s_waitcnt vmcnt(2) before line {use}."
    assert (finding.line, finding.related) == (use, ((load, None),))
    assert (finding.kernel, finding.workgroup, finding.wave) == ("k", (0, 0, 0), 0)


@pytest.mark.parametrize(("register", "allowed"), [(2, 2), (3, 1), (4, 0)])
def test_the_weakest_wait_is_clean_and_one_weaker_is_not(register, allowed):
    use = f"v_mov_b32_e32 v5, v{register}"
    assert codes(check(loads(f"s_waitcnt vmcnt({allowed})", use))) == []
    stats = check(loads(f"s_waitcnt vmcnt({allowed + 1})", use))
    assert fixes(stats) == [f"put s_waitcnt vmcnt({allowed}) before line {stats.findings[0].line}."]


def test_what_is_reported_is_made_right():
    out = np.arange(256, dtype=np.int32)
    body = GFX9_HEAD + """
\tglobal_load_dword v2, v1, s[4:5]
\tv_add_u32_e32 v3, 5, v2
\tglobal_store_dword v1, v3, s[4:5]
"""
    assert len(check(body, out).findings) == 1
    assert out[:64].tolist() == list(range(5, 69))


def test_overwriting_a_register_whose_load_is_in_flight():
    body = loads("v_mov_b32_e32 v3, 0", "s_waitcnt vmcnt(0)")
    stats = check(body)
    assert codes(stats) == [("C111", line_of(body, "v_mov_b32_e32 v3"))]
    assert "v3 is overwritten by" in stats.findings[0].message
    assert "vmcnt(1)" in stats.findings[0].fix


def test_a_later_load_of_the_same_queue_may_replace_an_earlier_one():
    again = "global_load_dword v2, v1, s[4:5]"
    assert codes(check(loads(again, "s_waitcnt vmcnt(0)", "v_mov_b32_e32 v5, v2"))) == []


def test_a_load_of_another_queue_may_not():
    body = loads("ds_read_b32 v2, v1", "s_waitcnt vmcnt(0) lgkmcnt(0)")
    assert codes(check(body, lds_bytes=1024)) == [("C111", line_of(body, "ds_read_b32"))]


def test_both_halves_of_a_register_may_be_in_flight():
    body = GFX9_HEAD + """
\tv_mov_b32_e32 v2, 0
\tglobal_load_short_d16 v2, v1, s[4:5]
\tglobal_load_short_d16_hi v2, v1, s[4:5]
\ts_waitcnt vmcnt(0)
\tv_mov_b32_e32 v5, v2
"""
    assert codes(check(body)) == []


def test_addresses_are_read_at_issue():
    body = loads("global_load_dword v9, v[2:3], off", "s_waitcnt vmcnt(0)")
    out = np.zeros(256, np.int32)  # v[2:3] holds 0: the fault that follows is the kernel's
    with pytest.raises(Exception, match="nothing is allocated") as caught:
        check(body, out)
    assert [(f.code, f.line) for f in caught.value.findings] == [
        ("C110", line_of(body, "global_load_dword v9"))
    ]


def test_the_data_of_a_store_may_be_overwritten_at_once():
    out = np.zeros(256, np.int32)
    body = GFX9_HEAD + """
\tv_mov_b32_e32 v2, 7
\tglobal_store_dword v1, v2, s[4:5]
\tv_mov_b32_e32 v2, 8
\tv_mov_b32_e32 v1, 0
"""
    assert codes(check(body, out)) == []
    assert out[:64].tolist() == [7] * 64


def test_scalar_loads_come_back_in_any_order():
    body = """
\ts_load_dwordx2 s[4:5], s[0:1], 0x0
\ts_load_dword s6, s[0:1], 0x0
\ts_waitcnt lgkmcnt(1)
\ts_mov_b32 s7, s4
\ts_waitcnt lgkmcnt(0)
\ts_mov_b32 s7, s6
"""
    stats = check(body)
    assert codes(stats) == [("C110", line_of(body, "s_mov_b32 s7, s4"))]
    assert "s4 is read" in stats.findings[0].message
    assert "lgkmcnt(0)" in stats.findings[0].fix


def lds_reads(wait: str, use: str, between: str = "") -> str:
    return f"""
\tv_mov_b32_e32 v1, 0
\tds_read_b32 v2, v1
\tds_read_b32 v3, v1 offset:4
{between}
\t{wait}
\t{use}
\ts_waitcnt lgkmcnt(0)
"""


def test_lds_operations_complete_in_order():
    wait = "s_waitcnt lgkmcnt(1)"
    assert codes(check(lds_reads(wait, "v_mov_b32_e32 v5, v2"), lds_bytes=64)) == []
    stats = check(lds_reads(wait, "v_mov_b32_e32 v5, v3"), lds_bytes=64)
    assert [f.code for f in stats.findings] == ["C110"]
    assert "lgkmcnt(0)" in stats.findings[0].fix


def test_a_scalar_load_in_between_may_be_what_is_left():
    # Three are outstanding; one may stay, and it may be the scalar load or the younger LDS read.
    scalar = "\ts_load_dword s8, s[0:1], 0x0"
    older = lds_reads("s_waitcnt lgkmcnt(1)", "v_mov_b32_e32 v5, v2", scalar)
    younger = lds_reads("s_waitcnt lgkmcnt(1)", "v_mov_b32_e32 v5, v3", scalar)
    assert codes(check(older, lds_bytes=64)) == []
    assert [f.code for f in check(younger, lds_bytes=64).findings] == ["C110"]


@pytest.mark.parametrize(
    ("wait", "expected"),
    [("vmcnt(0)", 1), ("lgkmcnt(0)", 1), ("vmcnt(0) lgkmcnt(0)", 0), ("vmcnt(0) lgkmcnt(1)", 1)],
)
def test_flat_needs_both_counters(wait, expected):
    body = f"""
\ts_load_dwordx2 s[4:5], s[0:1], 0x0
\ts_waitcnt lgkmcnt(0)
\tv_mov_b32_e32 v2, s4
\tv_mov_b32_e32 v3, s5
\tflat_load_dword v6, v[2:3]
\ts_waitcnt {wait}
\tv_mov_b32_e32 v7, v6
"""
    stats = check(body)
    assert len(stats.findings) == expected
    if expected:
        assert "s_waitcnt vmcnt(0) lgkmcnt(0)" in stats.findings[0].fix


def test_a_full_counter_proves_the_oldest():
    many = "\n".join(f"\tds_read_b32 v{n}, v1" for n in range(2, 19))  # 17; lgkmcnt counts to 15
    body = f"\tv_mov_b32_e32 v1, 0\n{many}\n\tv_mov_b32_e32 v20, v{{}}\n\ts_waitcnt lgkmcnt(0)\n"
    assert codes(check(body.format(3), lds_bytes=64)) == []
    assert [f.code for f in check(body.format(4), lds_bytes=64).findings] == ["C110"]


def test_a_finding_is_reported_once_per_instruction():
    body = """
\ts_load_dwordx2 s[4:5], s[0:1], 0x0
\ts_waitcnt lgkmcnt(0)
\tv_mov_b32_e32 v1, 0
\ts_mov_b32 s6, 5
.Lloop:
\tglobal_load_dword v2, v1, s[4:5]
\tv_mov_b32_e32 v3, v2
\ts_sub_u32 s6, s6, 1
\ts_cmp_lg_u32 s6, 0
\ts_cbranch_scc1 .Lloop
"""
    assert len(check(body, waves=4).findings) == 1


def test_a_wait_in_one_branch_is_no_wait_in_the_other():
    body = loads(
        "s_cmp_eq_u32 s2, 0", "s_cbranch_scc1 .Lpast", "s_waitcnt vmcnt(0)", "s_nop 0"
    )  # fmt: skip
    body += ".Lpast:\n\tv_mov_b32_e32 v5, v4\n"
    assert codes(check(body)) == [("C110", line_of(body, "v_mov_b32_e32 v5"))]


GFX12_HEAD = """
\ts_load_b64 s[4:5], s[0:1], 0x0
\ts_wait_kmcnt 0x0
\tv_lshlrev_b32_e32 v1, 2, v0
\tv_mov_b32_e32 v9, 0
\tglobal_load_b32 v2, v1, s[4:5]
\tglobal_load_b32 v3, v1, s[4:5]
\tds_load_b32 v4, v9
\tds_load_b32 v5, v9 offset:4
"""


@pytest.mark.parametrize(
    ("waits", "use", "expected"),
    [
        (["s_wait_loadcnt 0x1"], "v2", None),
        (["s_wait_loadcnt 0x1"], "v3", "s_wait_loadcnt 0x0"),
        (["s_wait_dscnt 0x1"], "v4", None),
        (["s_wait_dscnt 0x2"], "v4", "s_wait_dscnt 0x1"),
        (["s_wait_dscnt 0x0"], "v3", "s_wait_loadcnt 0x0"),
        (["s_wait_loadcnt_dscnt 0x1"], "v3", None),  # loads 0, LDS 1
        (["s_wait_loadcnt_dscnt 0x1"], "v5", "s_wait_dscnt 0x0"),
        (["s_wait_loadcnt_dscnt 0x100"], "v3", "s_wait_loadcnt 0x0"),  # loads 1, LDS 0
        (["s_wait_kmcnt 0x0", "s_wait_storecnt 0x0"], "v2", "s_wait_loadcnt 0x1"),
        (["s_wait_idle"], "v5", None),
    ],
)
def test_split_counters_of_gfx12(waits, use, expected):
    body = GFX12_HEAD + "".join(f"\t{w}\n" for w in waits) + f"\tv_mov_b32_e32 v6, {use}\n"
    found = fixes(check(body, arch="gfx1201", lds_bytes=64))
    assert [text.removeprefix("put ").split(" before")[0] for text in found] == (
        [expected] if expected else []
    )


@pytest.mark.parametrize(("wait", "clean"), [("s_waitcnt 0x3f0", True), ("s_waitcnt 0x7f0", False)])
def test_immediates_of_gfx11(wait, clean):
    # vmcnt is in bits 10-15: 0x3f0 asks for 0, 0x7f0 allows one.
    body = f"""
\ts_load_b64 s[4:5], s[0:1], 0x0
\ts_waitcnt lgkmcnt(0)
\tv_lshlrev_b32_e32 v1, 2, v0
\tglobal_load_b32 v2, v1, s[4:5]
\t{wait}
\tv_mov_b32_e32 v3, v2
"""
    assert (codes(check(body, arch="gfx1100")) == []) == clean


@pytest.mark.parametrize(("wait", "clean"), [("s_waitcnt 0xf70", True), ("s_waitcnt 0xf71", False)])
def test_immediates_of_gfx9(wait, clean):
    # vmcnt is in bits 0-3 and 14-15, lgkmcnt in 8-11: both ask for no LDS; 0xf71 allows one load.
    body = GFX9_HEAD + f"\tglobal_load_dword v2, v1, s[4:5]\n\t{wait}\n\tv_mov_b32_e32 v3, v2\n"
    assert (codes(check(body)) == []) == clean


def test_cross_lane_reads_through_lds_count_too():
    body = """
\tv_lshlrev_b32_e32 v1, 2, v0
\tds_bpermute_b32 v2, v1, v0
\tv_mov_b32_e32 v3, v2
"""
    stats = check(body)
    assert codes(stats) == [("C110", line_of(body, "v_mov_b32_e32 v3"))]
    assert "lgkmcnt(0)" in stats.findings[0].fix


def test_time_counts_as_a_scalar_load():
    body = "\ts_memtime s[6:7]\n\ts_mov_b32 s8, s6\n\ts_waitcnt lgkmcnt(0)\n\ts_mov_b32 s8, s7\n"
    assert codes(check(body)) == [("C110", line_of(body, "s_mov_b32 s8, s6"))]
