"""Waves of a workgroup: barriers, spins, fairness, budgets, interruption."""

from __future__ import annotations

import os
import subprocess
import sys
import threading

import numpy as np
import pytest

from kernels import kernel_text
from pipedsl import sim
from pipedsl.core.errors import LaunchError, ResourceError, StepBudgetExceeded

# Wave 0 waits, without a sleep, for LDS word 0 to be set by wave 1, then stores 7.
SPIN = """
\ts_load_dwordx2 s[4:5], s[0:1], 0x0
\tv_mov_b32_e32 v1, 0
\tv_mov_b32_e32 v2, 0
\tv_readfirstlane_b32 s6, v0
\ts_and_b32 s6, s6, 0x3ff
\ts_cmp_ge_u32 s6, 64
\ts_cbranch_scc1 .Lsecond
\tds_write_b32 v1, v2
\ts_waitcnt lgkmcnt(0)
\ts_barrier
.Lspin:
\tds_read_b32 v3, v1
\ts_waitcnt lgkmcnt(0)
\tv_readfirstlane_b32 s7, v3
\ts_cmp_lg_u32 s7, 0
\ts_cbranch_scc0 .Lspin
\tv_mov_b32_e32 v4, 7
\tglobal_store_dword v1, v4, s[4:5]
\ts_endpgm
.Lsecond:
\ts_barrier
\tv_mov_b32_e32 v4, 1
\tds_write_b32 v1, v4
"""

FOREVER = """
.Lloop:
\ts_add_u32 s4, s4, 1
\ts_branch .Lloop
"""


def kernel(body: str, **options):
    return sim.load_assembly(kernel_text(body, **options)).kernels["k"]


def test_a_spin_without_sleep_lets_the_other_wave_run():
    out = np.zeros(1, np.int32)
    kernel(SPIN, lds_bytes=16).launch(1, 128, [out])
    assert out[0] == 7


@pytest.mark.parametrize("seed", range(8))
def test_every_seed_is_a_legal_interleaving(seed):
    out = np.zeros(1, np.int32)
    memory = sim.Memory()
    address = memory.map(out, "out")
    k = kernel(SPIN, lds_bytes=16)
    k.run(memory, (1, 1, 1), (128, 1, 1), address.to_bytes(8, "little"), seed=seed)
    assert out[0] == 7


def test_the_same_seed_gives_the_same_instruction_count():
    counts = []
    for seed in (3, 3, *range(4, 12)):
        out = np.zeros(1, np.int32)
        memory = sim.Memory()
        segment = memory.map(out, "out").to_bytes(8, "little")
        k = kernel(SPIN, lds_bytes=16)
        counts.append(k.run(memory, (1, 1, 1), (128, 1, 1), segment, seed=seed).instructions)
    assert counts[0] == counts[1]
    assert len(set(counts)) > 1


def test_barrier_releases_when_the_other_waves_have_ended():
    body = """
\tv_readfirstlane_b32 s6, v0
\ts_and_b32 s6, s6, 0x3ff
\ts_cmp_ge_u32 s6, 64
\ts_cbranch_scc1 .Lend
\ts_barrier
.Lend:
"""
    assert kernel(body).launch(1, 192, [None]).waves == 3


def test_waiting_for_a_barrier_that_no_wave_signals_is_a_deadlock():
    body = """
\ts_barrier_signal -1
\ts_barrier_wait -1
\ts_barrier_signal -1
\tv_readfirstlane_b32 s6, v0
\ts_and_b32 s6, s6, 0x3ff
\ts_cmp_ge_u32 s6, 32
\ts_cbranch_scc1 .Lsecond
\ts_barrier_wait -1
.Lsecond:
\ts_barrier_wait -1
"""
    k = sim.load_assembly(kernel_text(body, "gfx1201")).kernels["k"]
    assert k.launch(1, 64, [None]).waves == 2


def test_step_budget_is_an_error_that_names_the_workgroup():
    k = kernel(FOREVER)
    with pytest.raises(StepBudgetExceeded, match=r"workgroup \(0, 0, 0\) executed more than 50000 instr"):
        k.run(sim.Memory(), (1, 1, 1), (64, 1, 1), bytes(8), step_budget=50_000)


@pytest.mark.parametrize("grid", [1, 8])
def test_ctrl_c_stops_a_launch(grid):
    script = f"""
import signal, sys, threading, time, os
sys.path.insert(0, {os.path.dirname(__file__)!r})
from kernels import kernel_text
from test_scheduler import FOREVER
from pipedsl import sim
k = sim.load_assembly(kernel_text(FOREVER)).kernels["k"]
threading.Timer(0.5, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell may have it ignored
start = time.monotonic()
try:
    k.launch({grid}, 64, [None])
except KeyboardInterrupt:
    print("stopped", time.monotonic() - start)
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60)
    word, seconds = done.stdout.split()
    assert word == "stopped"
    assert float(seconds) < 2.5  # half a second until the signal, one to answer, slack for a busy host


def test_workgroups_may_wait_for_each_other():
    """Workgroup 0 spins on a flag that workgroup 3 sets."""
    body = """
\ts_load_dwordx2 s[4:5], s[0:1], 0x0
\tv_mov_b32_e32 v1, 0
\ts_cmp_eq_u32 s2, 3
\ts_cbranch_scc1 .Lset
\ts_cmp_lg_u32 s2, 0
\ts_cbranch_scc1 .Lend
.Lspin:
\tglobal_load_dword v2, v1, s[4:5]
\ts_waitcnt vmcnt(0)
\tv_readfirstlane_b32 s6, v2
\ts_cmp_eq_u32 s6, 5
\ts_cbranch_scc0 .Lspin
\tv_mov_b32_e32 v3, 9
\tglobal_store_dword v1, v3, s[4:5] offset:4
\ts_endpgm
.Lset:
\tv_mov_b32_e32 v2, 5
\tglobal_store_dword v1, v2, s[4:5]
.Lend:
"""
    out = np.zeros(2, np.int32)
    kernel(body).launch(4, 64, [out])
    assert out.tolist() == [5, 9]


def test_only_the_named_workgroups_run():
    body = """
\ts_load_dwordx2 s[4:5], s[0:1], 0x0
\ts_lshl_b32 s6, s2, 2
\tv_mov_b32_e32 v1, s6
\tv_mov_b32_e32 v2, 1
\tglobal_store_dword v1, v2, s[4:5]
"""
    out = np.zeros(5, np.int32)
    k = kernel(body)
    assert k.launch(5, 64, [out], workgroups=[1, 4]).workgroups == 2
    assert out.tolist() == [0, 1, 0, 0, 1]
    with pytest.raises(LaunchError, match="there is no workgroup 5 in a grid of 5"):
        k.launch(5, 64, [out], workgroups=[5])


def test_launches_from_two_threads_do_not_mix():
    k = kernel(SPIN, lds_bytes=16)
    outs = [np.zeros(1, np.int32) for _ in range(2)]
    threads = [threading.Thread(target=k.launch, args=(1, 128, [out])) for out in outs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [out[0] for out in outs] == [7, 7]


def test_lds_over_the_limit_is_refused():
    with pytest.raises(ResourceError, match="needs 70000 bytes of LDS, gfx942 has 65536"):
        kernel(SPIN, lds_bytes=16).launch(1, 128, [np.zeros(1, np.int32)], lds_bytes=70000 - 16)


def test_block_over_the_compiled_limit_is_refused():
    with pytest.raises(LaunchError, match="at most 1024 work-items, not 2048"):
        kernel(SPIN, lds_bytes=16).launch(1, 2048, [np.zeros(1, np.int32)])
