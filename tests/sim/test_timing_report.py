"""What a timed run reports: where time went, hand-offs, constants."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from timing_runs import timed

from kernels import kernel_text
from pipedsl import sim
from pipedsl.core.config import config
from pipedsl.core.errors import LaunchError, MemoryFault, StepBudgetExceeded, TargetError
from pipedsl.sim.timing.constants import Constant, constant, constants, find_constant
from pipedsl.sim.timing.result import PLACES
from pipedsl.sim.timing.spins import find_spins

# A ring of one slot at LDS byte 16; full counter at 0, empty counter at 8. Wave 0 sleeps before it
# produces, wave 1 stores what it consumes.
LAPS = 6
RING = f"""
    s_load_dwordx2 s[4:5], s[0:1], 0x0
    v_mov_b32 v1, 0
    v_mov_b32 v2, 0
    v_mov_b32 v3, 0
    v_mov_b32 v8, 1
    v_mov_b32 v9, 0
    ds_write_b64 v1, v[2:3]
    ds_write_b64 v1, v[2:3] offset:8
    s_waitcnt lgkmcnt(0)
    s_barrier
    v_readfirstlane_b32 s6, v0
    s_mov_b32 s8, 0
    s_mov_b64 exec, 1
    s_cmp_ge_u32 s6, 64
    s_cbranch_scc1 .Lconsumer
.Lproducer:
    ds_read_b64 v[4:5], v1 offset:8
    s_waitcnt lgkmcnt(0)
    v_cmp_lt_u32 vcc, v4, s8
    s_cbranch_vccnz .Lproducer
    s_sleep 4
    s_add_u32 s8, s8, 1
    v_mov_b32 v6, s8
    ds_write_b32 v1, v6 offset:16
    s_waitcnt lgkmcnt(0)
    ds_add_u64 v1, v[8:9]
    s_cmp_lt_u32 s8, {LAPS}
    s_cbranch_scc1 .Lproducer
    s_endpgm
.Lconsumer:
    s_add_u32 s8, s8, 1
.Lpoll:
    s_sleep 0
    ds_read_b64 v[4:5], v1
    s_waitcnt lgkmcnt(0)
    v_cmp_lt_u32 vcc, v4, s8
    s_cbranch_vccnz .Lpoll
    ds_read_b32 v6, v1 offset:16
    s_lshl_b32 s9, s8, 2
    v_mov_b32 v7, s9
    s_waitcnt lgkmcnt(0)
    ds_add_u64 v1, v[8:9] offset:8
    global_store_dword v7, v6, s[4:5]
    s_cmp_lt_u32 s8, {LAPS}
    s_cbranch_scc1 .Lconsumer
"""


@pytest.fixture(scope="module", params=["gfx90a", "gfx942", "gfx950"])
def ring(request):
    out = np.zeros(64, np.uint32)
    text = kernel_text(RING, request.param, lds_bytes=64)
    run = sim.load_assembly(text).kernels["k"].launch(1, 128, [out], timing=True).timed
    assert out[: LAPS + 1].tolist() == list(range(LAPS + 1))
    return run


def test_roles_follow_from_what_waves_signal(ring):
    assert [wave.role for wave in ring.waves] == ["producer", "consumer"]


def test_the_consumer_waits_for_full_while_the_producer_sleeps(ring):
    producer, consumer = (wave.spent for wave in ring.waves)
    assert producer["sleep"] == LAPS * (4 * 64 - 4)
    assert consumer["full"] > 0.6 * ring.waves[1].cycles
    assert consumer["empty"] == producer["full"] == 0
    assert 0 < producer["empty"] < consumer["full"]


def test_waits_have_stage_and_lap(ring):
    full = [i for i in ring.intervals if i.kind == "full"]
    assert [(i.wave, i.stage, i.lap) for i in full] == [(1, 0, lap) for lap in range(LAPS)]
    empty = [i for i in ring.intervals if i.kind == "empty"]
    assert [(i.wave, i.stage, i.lap) for i in empty] == [(0, 0, lap) for lap in range(LAPS)]


def test_arrows_lead_from_a_signal_to_the_wait_that_it_ends(ring):
    full = [a for a in ring.arrows if a.kind == "full"]
    assert [(a.source, a.target, a.stage) for a in full] == [(0, 1, 0)] * LAPS
    # No sooner than a read of LDS takes, and no later than two rounds of the poll.
    assert all(40 <= a.received - a.sent <= 200 for a in full)
    assert all(a.source == 1 and a.target == 0 for a in ring.arrows if a.kind == "empty")


def test_where_time_went_adds_up(ring):
    for wave in ring.waves:
        assert set(wave.spent) == set(PLACES)
        assert sum(wave.spent.values()) == wave.cycles
    assert sum(row.cycles for row in ring.table) == sum(wave.cycles for wave in ring.waves)
    assert sum(row.count for row in ring.table) == ring.instructions
    assert ring.cycles == max(wave.cycles for wave in ring.waves)
    assert ring.roles["consumer"] == dict(ring.waves[1].spent)


def test_intervals_have_no_gaps(ring):
    for wave in ring.waves:
        own = [i for i in ring.intervals if i.wave == wave.wave]
        assert [i.start for i in own] == [0, *(i.end for i in own[:-1])]
        assert own[-1].end == wave.cycles


def test_the_text_form_says_where_time_went(ring):
    lines = str(ring).splitlines()
    assert lines[0] == f"{ring.cycles} modelled cycles on {ring.arch} for the whole launch"
    assert lines[2].startswith("producer: issue ") and lines[3].startswith("consumer: issue ")
    assert "barrier_latency" in lines[4]
    assert repr(ring) == f"<TimedRun k on {ring.arch}: {ring.cycles} modelled cycles, 2 waves>"


def test_a_run_can_be_pickled(ring):
    again = pickle.loads(pickle.dumps(ring))
    assert (again.cycles, again.arrows, again.intervals) == (
        ring.cycles,
        ring.arrows,
        ring.intervals,
    )


def test_the_same_launch_takes_the_same_cycles():
    runs = [
        timed("v_lshlrev_b32 v1, 2, v0\nds_add_u32 v1, v0\ns_barrier\n", waves=4, lds_bytes=1024)
        for _ in range(2)
    ]
    assert runs[0].cycles == runs[1].cycles and runs[0].table == runs[1].table


def test_lines_of_python_collect_their_instructions():
    body = '.file 1 "a.py"\n.loc 1 7 0\nv_mov_b32 v1, 0\nv_mov_b32 v2, 0\n.loc 1 9 0\ns_sleep 3\n'
    run = timed(body)
    assert run.lines["a.py", 7] == (2, 8, 0)
    count, cycles, _ = run.lines["a.py", 9]  # s_endpgm belongs to it too
    assert count == 2 and cycles == 3 * 64 + 4


def test_a_result_names_the_assumed_constants_that_it_depends_on():
    plain = timed("v_mov_b32 v1, 0\n", "gfx950")
    with_store = timed("global_store_dword v0, v0, s[4:5]\n", "gfx950")
    memory = {"l1_latency", "l2_latency"}
    assert {row.name for row in plain.assumed} == {"l2_latency", "scalar_hit"}  # of its s_load
    assert memory <= {row.name for row in with_store.assumed}
    loads = timed("global_load_dword v1, v0, s[4:5]\n", "gfx950")
    assert "memory_width" in {row.name for row in loads.assumed}
    matrix = timed("v_mfma_f32_16x16x32_f16 v[0:3], v[4:7], v[8:11], v[0:3]\n", "gfx950")
    row = next(row for row in matrix.constants if row.name == "v_mfma_f32_16x16x32f16")
    assert (row.value, row.kind) == (16, "published")


@pytest.mark.parametrize("arch", ["gfx90a", "gfx942", "gfx950", "gfx1100", "gfx1201"])
def test_every_constant_has_a_unit_a_kind_and_a_source(arch):
    names = [row.name for row in constants(arch)]
    assert names == sorted(set(names)) and len(names) > 30
    for row in constants(arch):
        assert (
            row.unit and row.source and row.kind in ("measured", "published", "derived", "assumed")
        )


def test_a_constant_is_given_once_and_has_a_known_kind():
    with pytest.raises(ValueError, match="turn is given twice for gfx942"):
        constant("turn", 1, "cycles", "published", "nowhere", ["gfx942"])
    with pytest.raises(ValueError, match="guessed is not one of"):
        constant("other", 1, "cycles", "guessed", "nowhere", ["gfx942"])
    with pytest.raises(TargetError) as caught:
        find_constant("wings", "gfx942")
    assert caught.value.message == "the timing model has no wings for gfx942."
    row = Constant("turn", frozenset(["gfx942"]), 4, "cycles", "published", "a document")
    assert str(row) == "turn = 4 cycles (published: a document)"


@pytest.mark.parametrize(
    ("grid", "lds_bytes", "modelled", "rounds"),
    [(1, 0, 1, 1), (104, 0, 1, 1), (105, 0, 2, 1), (312, 0, 3, 1), (208, 40000, 1, 2)],
)
def test_a_cu_is_filled_before_there_is_another_round(grid, lds_bytes, modelled, rounds):
    """gfx90a: 104 CUs with 64 KiB of LDS each; workgroups spread over all CUs first."""
    body = """
        s_load_dwordx2 s[4:5], s[0:1], 0x0
        v_mov_b32 v1, 1
        s_lshl_b32 s6, s2, 2
        v_mov_b32 v2, s6
        s_waitcnt lgkmcnt(0)
        global_store_dword v2, v1, s[4:5]
    """
    out = np.zeros(grid, np.uint32)
    kernel = sim.load_assembly(kernel_text(body, "gfx90a", lds_bytes=lds_bytes)).kernels["k"]
    stats = kernel.launch(grid, 64, [out], timing=True)
    assert out.tolist() == [1] * grid  # those that are not modelled run too
    assert stats.workgroups == stats.timed.total_workgroups == grid
    assert stats.timed.workgroups == tuple(range(0, 104 * modelled, 104))  # dealt in turn
    assert stats.timed.rounds == rounds
    assert stats.timed.launch_cycles == rounds * stats.timed.cycles
    assert stats.timed.seconds == pytest.approx(stats.timed.launch_cycles / 1.7e9)


def test_workgroups_on_one_cu_share_its_units():
    body = "\n".join(f"v_add_u32 v{8 + i % 8}, v20, v20" for i in range(256))
    kernel = sim.load_assembly(kernel_text(body, "gfx90a")).kernels["k"]
    alone, shared = (
        kernel.launch(grid, 256, [np.zeros(1, np.uint32)], timing=True).timed for grid in (104, 208)
    )
    assert len(shared.workgroups) == 2
    assert shared.cycles - alone.cycles == 256 * 4


def test_checking_and_timing_exclude_each_other():
    kernel = sim.load_assembly(kernel_text("s_nop 0")).kernels["k"]
    with pytest.raises(LaunchError) as caught:
        kernel.launch(1, 64, [np.zeros(1, np.uint32)], timing=True, check=True)
    assert caught.value.message == "a launch is checked or timed."
    assert caught.value.fix == "run it twice."


def test_faults_and_endless_loops_are_reported_as_in_fast_mode():
    with pytest.raises(MemoryFault, match=r"out at index 100 .* wave 0, lane 0"):
        timed("v_mov_b32 v1, 400\nglobal_store_dword v1, v0, s[4:5]\n", words=4)
    with (
        config.scope(step_budget=10_000),
        pytest.raises(StepBudgetExceeded, match="more than 10000 instructions"),
    ):
        timed(".Lagain:\ns_branch .Lagain\n")


POLL = "ds_read_b32 v4, v1\ns_waitcnt lgkmcnt(0)\nv_cmp_lt_u32 vcc, v4, v5\n"


@pytest.mark.parametrize(
    ("body", "found"),
    [
        (f".Lw:\n{POLL}s_cbranch_vccnz .Lw\n", True),
        (f".Lw:\ns_sleep 1\n{POLL}s_cbranch_vccnz .Lw\n", True),
        # A register that goes around the loop: a chase, and a counted loop.
        (".Lw:\nds_read_b32 v1, v1\ns_waitcnt lgkmcnt(0)\nv_cmp_lt_u32 vcc, v1, v5\ns_cbranch_vccnz .Lw\n", False),
        (f".Lw:\n{POLL}s_add_u32 s6, s6, 1\ns_cmp_lt_u32 s6, 9\ns_cbranch_scc1 .Lw\n", False),
        # A loop that writes memory, or meets other waves, does more than wait.
        (f".Lw:\n{POLL}ds_write_b32 v1, v5\ns_cbranch_vccnz .Lw\n", False),
        (f".Lw:\n{POLL}s_barrier\ns_cbranch_vccnz .Lw\n", False),
        ("v_mov_b32 v1, 0\n.Lw:\nv_cmp_lt_u32 vcc, v4, v5\ns_cbranch_vccnz .Lw\n", False),
    ],
)  # fmt: skip
def test_polling_loops_are_found(body, found):
    program = sim.load_assembly(kernel_text(body)).kernels["k"].program
    branch = next(i for i, ins in enumerate(program.instructions) if "s_cbranch" in ins.mnemonic)
    spins = find_spins(program.instructions, {branch: program.labels[".Lw"]}, 64)
    assert bool(spins) is found


def test_a_peeled_first_test_belongs_to_its_loop():
    body = f"{POLL}s_cbranch_vccz .Lgo\n.Lw:\ns_sleep 0\n{POLL}s_cbranch_vccnz .Lw\n.Lgo:\n"
    program = sim.load_assembly(kernel_text(body)).kernels["k"].program
    (spin,) = find_spins(program.instructions, {8: program.labels[".Lw"]}, 64)
    assert spin.polls == {0, 5}
    assert spin.members == set(range(1, 9))
