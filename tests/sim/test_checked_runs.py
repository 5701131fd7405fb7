"""Checked runs as a whole: seeds, results, idle waits, switches, errors."""

from __future__ import annotations

import numpy as np
import pytest
from checking import check, codes, line_of

from kernels import kernel_text
from pipedsl import config, sim
from pipedsl.core.errors import MemoryFault
from pipedsl.core.findings import CODES, CheckWarning, Finding

SUM = """
\ts_load_dwordx2 s[4:5], s[0:1], 0x0
\ts_waitcnt lgkmcnt(0)
\tv_and_b32_e32 v0, 0x3ff, v0
\tv_lshlrev_b32_e32 v1, 2, v0
\tglobal_load_dword v2, v1, s[4:5]
\ts_waitcnt vmcnt(0)
\tds_write_b32 v1, v2
\ts_waitcnt lgkmcnt(0)
\ts_barrier
\tv_xor_b32_e32 v3, 4, v1
\tds_read_b32 v4, v3
\ts_waitcnt lgkmcnt(0)
\tv_add_u32_e32 v4, v4, v2
\tglobal_store_dword v1, v4, s[4:5]
"""
EARLY = "\ts_load_dwordx2 s[4:5], s[0:1], 0x0\n\ts_mov_b32 s6, s4\n\ts_waitcnt lgkmcnt(0)\n"


def kernel(body: str, **options):
    return sim.load_assembly(kernel_text(body, **options)).kernels["k"]


@pytest.mark.parametrize("seed", range(5))
def test_a_right_kernel_computes_what_it_computes_in_fast_mode(seed):
    k = kernel(SUM, lds_bytes=1024)
    fast, late = np.arange(256, dtype=np.int32), np.arange(256, dtype=np.int32)
    plain = k.launch(1, 256, [fast], seed=seed)
    stats = k.launch(1, 256, [late], seed=seed, check=True)
    assert np.array_equal(fast, late)
    assert (plain.findings, stats.findings, plain.idle_waits) == ((), (), ())
    assert stats.instructions == plain.instructions


def test_a_seed_is_one_run():
    body = """
\ts_load_dwordx2 s[4:5], s[0:1], 0x0
\tv_lshlrev_b32_e32 v1, 2, v0
\tv_readfirstlane_b32 s6, v0
\tv_mov_b32_e32 v2, s6
\ts_waitcnt lgkmcnt(0)
\tv_mov_b32_e32 v3, 0
\tglobal_store_dword v3, v2, s[4:5]
\ts_sleep 1
\tglobal_load_dword v4, v3, s[4:5]
\ts_waitcnt vmcnt(0)
\tglobal_store_dword v1, v4, s[4:5]
"""
    k = kernel(body)

    def result(seed):
        out = np.zeros(1024, np.int32)
        k.launch(1, 256, [out], seed=seed, check=True)
        return out.tobytes()

    assert [result(seed) for seed in range(6)] == [result(seed) for seed in range(6)]
    assert len({result(seed) for seed in range(12)}) > 1


def test_waits_that_never_prove_anything():
    body = SUM.replace("\ts_barrier", "\ts_waitcnt vmcnt(0) lgkmcnt(0)\n\ts_barrier")
    stats = check(body, np.zeros(256, np.int32), lds_bytes=1024)
    line = line_of(body, "vmcnt(0) lgkmcnt(0)")
    assert [(w.line, w.counter) for w in stats.idle_waits] == [(line, "vmcnt"), (line, "lgkmcnt")]


def test_a_wait_that_is_not_reached_is_not_called_idle():
    body = "\ts_branch .Lend\n\ts_waitcnt vmcnt(0)\n.Lend:\n"
    assert check(body).idle_waits == ()


def test_cache_control_counts_on_vmcnt():
    stats = check("\tbuffer_wbl2 sc1\n\ts_waitcnt vmcnt(0)\n\tbuffer_inv sc1\n\ts_waitcnt vmcnt(0)\n")
    assert stats.idle_waits == ()


def test_findings_of_a_grid_are_reported_once():
    text = kernel_text(EARLY)
    k = sim.load_assembly(text).kernels["k"]
    stats = k.launch(40, 128, [np.zeros(4, np.int32)], check=True)
    assert [(f.code, f.line) for f in stats.findings] == [("C110", line_of(EARLY, "s_mov_b32 s6"))]


def test_the_knob_switches_checking_on():
    k = kernel(EARLY)
    out = np.zeros(4, np.int32)
    assert k.launch(1, 64, [out]).findings == ()
    with config.scope(check=True):
        assert len(k.launch(1, 64, [out]).findings) == 1
        assert k.launch(1, 64, [out], check=False).findings == ()


def test_the_knob_is_read_from_the_environment(monkeypatch):
    monkeypatch.setenv("PIPEDSL_CHECK", "1")
    assert len(kernel(EARLY).launch(1, 64, [np.zeros(4, np.int32)]).findings) == 1


def test_a_fault_names_the_access_and_its_lane():
    body = """
\ts_load_dwordx2 s[4:5], s[0:1], 0x0
\ts_waitcnt lgkmcnt(0)
\tv_lshlrev_b32_e32 v1, 2, v0
\tglobal_load_dword v2, v1, s[4:5]
\ts_waitcnt vmcnt(0)
"""
    k = kernel(body, args=[("data", "global_buffer", 8)])
    text = (
        r"4 bytes to data at index 10 is out of its 10 elements \(workgroup \(0, 0, 0\), wave 0, "
        rf"lane 10; line {line_of(body, 'global_load')}"
    )
    with pytest.raises(MemoryFault, match=text):
        k.launch(1, 64, [np.zeros(10, np.int32)], check=True)


def test_an_error_carries_what_had_been_found():
    body = EARLY + "\tv_mov_b32_e32 v1, 0\n\tglobal_load_dword v2, v1, s[4:5] offset:64\n"
    with pytest.raises(MemoryFault) as caught:
        kernel(body).launch(1, 64, [np.zeros(4, np.int32)], check=True)
    assert [f.code for f in caught.value.findings] == ["C110"]


def test_findings_name_the_python_line():
    body = '\t.file\t1 "/home/user" "kernel.py"\n\t.loc\t1 2 0\n' + EARLY
    k = kernel(body)
    memory = sim.Memory()
    segment = memory.map(np.zeros(4, np.int32), "out").to_bytes(8, "little")
    stats = k.run(
        memory, (1, 1, 1), (64, 1, 1), segment, check=True,
        sources={"/home/user/kernel.py": "def f(x):\n    y = x[0]\n"},
    )  # fmt: skip
    (finding,) = stats.findings
    assert (finding.where.filename, finding.where.line) == ("/home/user/kernel.py", 2)
    assert str(finding).splitlines() == [
        f"[C110] {finding.message}", "  at /home/user/kernel.py:2", "    y = x[0]",
        f"  fix: {finding.fix}",
    ]  # fmt: skip


def test_a_warning_carries_its_finding():
    finding = Finding("C110", "a message.", "a fix.", "k", (0, 0, 0), 0, None, 3)
    warning = CheckWarning(finding)
    assert warning.finding is finding
    assert str(warning) == "[C110] a message.\n  fix: a fix."


def test_every_code_is_explained():
    stats = check(EARLY)
    assert {code for code, _ in codes(stats)} <= set(CODES)


def test_scratch_and_atomics_happen_once():
    body = """
\ts_load_dwordx2 s[4:5], s[0:1], 0x0
\tv_mov_b32_e32 v1, 0
\tv_mov_b32_e32 v2, 3
\tscratch_store_dword off, v2, off offset:4
\tscratch_load_dword v3, off, off offset:4
\ts_waitcnt vmcnt(0) lgkmcnt(0)
\tglobal_atomic_add v4, v1, v3, s[4:5] sc0
\tds_add_rtn_u32 v5, v1, v3
\tds_write_b32 v1, v1 offset:8
\ts_waitcnt vmcnt(0) lgkmcnt(0)
"""
    out = np.zeros(4, np.int32)
    text = kernel_text(body, lds_bytes=64, scratch=16)
    stats = sim.load_assembly(text).kernels["k"].launch(1, 64, [out], check=True)
    assert stats.findings == ()
    assert out[0] == 3 * 64


def test_address_and_data_may_be_the_same_registers():
    body = """
\ts_load_dwordx2 s[4:5], s[0:1], 0x0
\tv_lshlrev_b32_e32 v2, 4, v0
\tv_mov_b32_e32 v3, 11
\tv_mov_b32_e32 v4, 12
\tv_mov_b32_e32 v5, 13
\tds_write_b128 v2, v[2:5]
\tds_read_b128 v[2:5], v2
\ts_waitcnt lgkmcnt(0)
\tv_lshlrev_b32_e32 v6, 4, v0
\tglobal_store_dwordx4 v6, v[2:5], s[4:5]
"""
    out = np.zeros((64, 4), np.int32)
    assert codes(check(body, out, lds_bytes=1024)) == []
    assert out.tolist() == [[16 * lane, 11, 12, 13] for lane in range(64)]


def test_a_spin_that_waits_for_an_operation_in_flight_ends():
    # Wave 0 never executes a wait; wave 1 spins until the store has completed by itself.
    body = """
\ts_load_dwordx2 s[4:5], s[0:1], 0x0
\tv_readfirstlane_b32 s6, v0
\ts_and_b32 s6, s6, 0x3ff
\tv_mov_b32_e32 v1, 0
\tv_mov_b32_e32 v2, 1
\ts_waitcnt lgkmcnt(0)
\ts_cmp_ge_u32 s6, 64
\ts_cbranch_scc1 .Lspin
\tglobal_store_dword v1, v2, s[4:5]
\ts_barrier
\ts_endpgm
.Lspin:
\tglobal_load_dword v3, v1, s[4:5]
\ts_waitcnt vmcnt(0)
\tv_readfirstlane_b32 s7, v3
\ts_cmp_eq_u32 s7, 0
\ts_cbranch_scc1 .Lspin
\ts_barrier
"""
    for seed in range(4):
        out = np.zeros(4, np.int32)
        assert codes(check(body, out, waves=2, seed=seed)) == []
