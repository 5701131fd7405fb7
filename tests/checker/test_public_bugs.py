"""Bugs of public reports, rebuilt as small kernels: each is found, and its repair is clean."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

import pipedsl
from kernels import kernel_text
from pipedsl.checker.report import Report
from pipedsl.sim import load_assembly
from tests.checker.protocol_bugs import too_many_producers_declared

_SETUP = """
\ts_load_dwordx2 s[4:5], s[0:1], 0x0
\tv_and_b32_e32 v0, 0x3ff, v0
\tv_lshlrev_b32_e32 v1, 2, v0
\tv_readfirstlane_b32 s7, v1
\tv_xor_b32_e32 v2, 0x100, v1
\ts_mov_b32 m0, s7
\ts_waitcnt lgkmcnt(0)
"""


@dataclass(frozen=True)
class Bug:
    """A report.

    Attributes
    ----------
    report : str
    codes : frozenset of str
        One of them names the fault.
    body : str
        With ``{0}`` where the fault is.
    faulty, right : str
    """

    report: str
    codes: frozenset[str]
    body: str
    faulty: str
    right: str


BUGS = (
    Bug(
        "LLVM PR 179305: LDS is read while the copy that fills it is in flight",
        frozenset(("C120",)),
        _SETUP + """
\tglobal_load_lds_dword v1, s[4:5]
\t{0}
\tds_read_b32 v3, v1
\ts_waitcnt lgkmcnt(0)
\tglobal_store_dword v1, v3, s[4:5] offset:1024
""",
        "s_waitcnt vmcnt(1)", "s_waitcnt vmcnt(0)",
    ),
    Bug(
        "triton #11696: a barrier stands before the wait for an LDS read",
        frozenset(("C121", "C211")),
        _SETUP + """
\tds_write_b32 v1, v0
\ts_waitcnt lgkmcnt(0)
\ts_barrier
\tds_read_b32 v3, v2
\t{0}
\tds_write_b32 v1, v1
\ts_waitcnt lgkmcnt(0)
\tglobal_store_dword v1, v3, s[4:5]
""",
        "s_barrier\n\ts_waitcnt lgkmcnt(0)", "s_waitcnt lgkmcnt(0)\n\ts_barrier",
    ),
    Bug(
        "rocm-libraries #10893: the compiler moves a copy behind the wait that is meant for it",
        frozenset(("C120",)),
        _SETUP + """
\t{0}
\ts_barrier
\tds_read_b32 v3, v2
\ts_waitcnt lgkmcnt(0)
\tglobal_store_dword v1, v3, s[4:5] offset:1024
""",
        "s_waitcnt vmcnt(0)\n\tglobal_load_lds_dword v1, s[4:5]",
        "global_load_lds_dword v1, s[4:5]\n\ts_waitcnt vmcnt(0)",
    ),
    Bug(
        "rocm-libraries #10653: the barrier waits for memory while LDS reads are outstanding",
        frozenset(("C121", "C211")),
        _SETUP + """
\tds_read_b32 v3, v2
\t{0}
\ts_barrier
\tglobal_load_lds_dword v1, s[4:5]
\ts_waitcnt vmcnt(0) lgkmcnt(0)
\tglobal_store_dword v1, v3, s[4:5] offset:1024
""",
        "s_waitcnt vmcnt(0)", "s_waitcnt lgkmcnt(0)",
    ),
    Bug(
        "a consumer frees a slot in global memory before its LDS reads have returned",
        frozenset(("C121",)),
        _SETUP + """
\tv_mov_b32_e32 v5, 1
\tv_mov_b32_e32 v6, 0
\tv_cmp_gt_u32_e32 vcc, 64, v0
\ts_cbranch_vccz .Lproducer
\tds_read_b32 v3, v1
\t{0}
\tv_cmp_eq_u32_e32 vcc, 0, v0
\ts_and_saveexec_b64 s[10:11], vcc
\tglobal_atomic_add v6, v5, s[4:5] offset:2048
\ts_mov_b64 exec, s[10:11]
\ts_waitcnt vmcnt(0) lgkmcnt(0)
\tglobal_store_dword v1, v3, s[4:5] offset:1024
\ts_endpgm
.Lproducer:
\tglobal_load_dword v4, v6, s[4:5] offset:2048 glc
\ts_waitcnt vmcnt(0)
\tv_readfirstlane_b32 s8, v4
\ts_cmp_lt_i32 s8, 1
\ts_cbranch_scc1 .Lproducer
\tds_write_b32 v2, v0
\ts_waitcnt lgkmcnt(0)
""",
        "s_nop 0", "s_waitcnt lgkmcnt(0)",
    ),
)  # fmt: skip


def report(body: str) -> Report:
    kernel = load_assembly(kernel_text(body, lds_bytes=1024)).kernels["k"]
    return kernel.check(1, 128, [np.zeros(1024, np.int32)], explore=4)


@pytest.mark.parametrize("bug", BUGS, ids=lambda bug: bug.report.split(":")[0])
def test_the_bug_is_found(bug: Bug) -> None:
    found = report(bug.body.format(bug.faulty))
    assert bug.codes & {finding.code for finding in found.findings}, found


@pytest.mark.parametrize("bug", BUGS, ids=lambda bug: bug.report.split(":")[0])
def test_its_repair_is_clean(bug: Bug) -> None:
    found = report(bug.body.format(bug.right))
    assert found, found


def test_cutlass_2404_a_wrong_arrival_count_hangs() -> None:
    with pipedsl.use_device("sim:gfx942"):
        launcher = too_many_producers_declared[1, 128]
        found = pipedsl.check(launcher, np.zeros(64, np.int32), np.int32(6), seeds=1)
    (finding,) = [finding for finding in found.findings if finding.code == "C400"]
    assert "empty[0]" in finding.message
    assert "wait_empty" in (finding.where.source_line() or "")
    drawing = "\n".join(found.drawing)
    assert "full[0]" in drawing
    assert "empty[0]" in drawing
