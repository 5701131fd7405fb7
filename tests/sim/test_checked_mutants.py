"""Waits dropped or weakened one at a time: each is reported, or shown to be unnecessary."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from kernels import kernel_text
from pipedsl import sim
from pipedsl.core.errors import SimulationError
from pipedsl.sim.checked.mutants import judge, mutants, reference

SEEDS = range(3)

# Rows of a tile go through LDS and come back transposed in two steps.
TRANSPOSE = """
\ts_load_dwordx2 s[4:5], s[0:1], 0x0
\tv_and_b32_e32 v0, 0x3ff, v0
\tv_lshlrev_b32_e32 v1, 2, v0
\tv_sub_u32_e32 v2, 0x1fc, v1
\ts_waitcnt lgkmcnt(0)
\tglobal_load_dword v3, v1, s[4:5]
\tglobal_load_dword v4, v1, s[4:5] offset:512
\ts_waitcnt vmcnt(1)
\tds_write_b32 v1, v3
\ts_waitcnt vmcnt(0)
\tds_write_b32 v1, v4 offset:512
\ts_waitcnt lgkmcnt(0)
\ts_barrier
\tds_read_b32 v5, v2
\tds_read_b32 v6, v2 offset:512
\ts_waitcnt lgkmcnt(1)
\tv_add_u32_e32 v5, 1, v5
\ts_waitcnt lgkmcnt(0)
\ts_barrier
\tds_write_b32 v1, v5
\tv_add_u32_e32 v6, v5, v6
\ts_waitcnt lgkmcnt(0)
\ts_barrier
\tds_read_b32 v7, v2
\ts_waitcnt lgkmcnt(0)
\tv_add_u32_e32 v6, v6, v7
\tglobal_store_dword v1, v6, s[4:5]
\ts_waitcnt vmcnt(0)
"""


def run(kernel, seed):
    data = np.arange(256, dtype=np.int32)
    return kernel.launch(1, 128, [data], check=True, seed=seed), data


def verdicts(text, runner=run):
    good = reference(text, "k", runner, SEEDS)
    return [judge(m, "k", runner, SEEDS, good) for m in mutants(text, "k")]


def test_every_wait_that_guards_a_use_is_reported_when_it_is_gone():
    found = verdicts(kernel_text(TRANSPOSE, lds_bytes=1024))
    last = kernel_text(TRANSPOSE).splitlines().index("\ts_endpgm")  # the line before it, from 1
    assert {v.mutant.line for v in found if v.outcome != "reported"} == {last}
    assert Counter(v.outcome for v in found) == {"reported": 16, "redundant": 2}
    assert all("C1" in v.why for v in found if v.outcome == "reported")


def test_a_wait_with_nothing_in_flight_is_idle():
    body = TRANSPOSE + "\ts_nop 0\n\ts_waitcnt vmcnt(0)\n"
    found = verdicts(kernel_text(body, lds_bytes=1024))
    assert [v.outcome for v in found[-2:]] == ["idle", "idle"]


def test_a_change_that_goes_wrong_without_a_report_is_missed():
    text = kernel_text(TRANSPOSE, lds_bytes=1024)
    unchanged = sum(1 for i in sim.load_assembly(text).kernels["k"].instructions if i.mnemonic == "s_nop")

    def broken(kernel, seed):
        nops = sum(1 for i in kernel.instructions if i.mnemonic == "s_nop")
        stats = kernel.launch(1, 128, [np.arange(256, dtype=np.int32)], check=False)
        return stats, np.array([nops - unchanged])

    outcomes = {(v.mutant.dropped, v.outcome) for v in verdicts(text, broken)}
    assert outcomes == {(True, "missed"), (False, "redundant")}


def test_a_kernel_with_a_finding_has_no_reference():
    text = kernel_text(TRANSPOSE.replace("s_waitcnt vmcnt(1)", "s_nop 0"), lds_bytes=1024)
    with pytest.raises(SimulationError, match="k has a finding before any change: .C110. v3 is read"):
        reference(text, "k", run, SEEDS)


@pytest.mark.parametrize(
    ("arch", "wait", "changes"),
    [
        ("gfx942", "s_waitcnt vmcnt(3) lgkmcnt(1)",
         ["s_nop 0", "s_waitcnt vmcnt(4) lgkmcnt(1)", "s_waitcnt vmcnt(3) lgkmcnt(2)"]),
        ("gfx942", "s_waitcnt lgkmcnt(15)", ["s_nop 0"]),  # the counter holds no more
        ("gfx1100", "s_waitcnt_vscnt null, 0x0", ["s_nop 0", "s_waitcnt_vscnt null, 0x1"]),
        ("gfx1201", "s_wait_kmcnt 0x0", ["s_nop 0", "s_wait_kmcnt 0x1"]),
        ("gfx1201", "s_wait_loadcnt_dscnt 0x102",
         ["s_nop 0", "s_wait_loadcnt_dscnt 0x202", "s_wait_loadcnt_dscnt 0x103"]),
    ],
)  # fmt: skip
def test_changes_of_one_wait(arch, wait, changes):
    text = kernel_text(f"\t{wait}\n", arch)
    line = text.splitlines().index(f"\t{wait}")
    found = list(mutants(text, "k"))
    assert [m.text.splitlines()[line].strip() for m in found] == changes
    assert all(m.line == line + 1 for m in found)
