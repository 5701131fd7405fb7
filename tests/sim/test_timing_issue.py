"""Issue, dependencies, the matrix core and its shadow: cycles that follow from published figures."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest
from timing_runs import each, timed

from pipedsl.core.arch import ARCHS, get_arch
from pipedsl.core.errors import UnsupportedInstruction
from pipedsl.isa.instruction import Instruction
from pipedsl.isa.opcode import TABLE, Fidelity
from pipedsl.isa.operands import Fields
from pipedsl.sim.timing.row import Target
from pipedsl.sim.timing.rows import instruction_row
from pipedsl.sim.timing.rows_control import UNTIMED

ALL = sorted(ARCHS)
FMA = "v_fma_f32 v{0}, v{1}, v{1}, v{1}"


# LLVM SISchedule.td: classes WriteIntMul, Write64Bit, WriteFloatCvt, WriteDouble; a trans unit of 4
# lanes (measured by tingqli/pyhip: 16 cycles); FP64 at full rate (peak of MI300X).
@pytest.mark.parametrize(
    ("line", "cycles"),
    [
        ("v_mul_lo_u32 v{0}, v20, v21", 16),
        ("v_lshlrev_b64 v[{0}:{1}], 3, v[20:21]", 8),
        ("v_cvt_f32_i32 v{0}, v20", 16),
        ("v_cvt_pk_u8_f32 v{0}, v20, v21, v22", 4),
        ("v_fma_f64 v[{0}:{1}], v[20:21], v[20:21], v[20:21]", 4),
        ("v_log_f32 v{0}, v20", 16),
    ],
)
def test_slower_vector_instructions_take_their_rate(line, cycles):
    def text(i: int) -> str:
        first = 32 + 2 * (i % 16)
        return line.format(first, first + 1)

    assert each(text, "gfx942") == cycles


# A wave of 64 lanes takes 4 cycles of a 16-lane SIMD, one of 32 lanes 1 cycle.
@pytest.mark.parametrize(
    ("arch", "cycles"),
    [("gfx90a", 4), ("gfx942", 4), ("gfx950", 4), ("gfx1100", 1), ("gfx1201", 1)],
)
def test_independent_vector_instructions_issue_at_the_rate_of_the_simd(arch, cycles):
    assert each(lambda i: FMA.format(8 + i % 8, 20), arch) == cycles


# gfx950: 8 cycles measured (facebookexperimental/triton); RDNA: 5 in LLVM's model.
@pytest.mark.parametrize(("arch", "cycles"), [("gfx950", 8), ("gfx1100", 5), ("gfx1201", 5)])
def test_a_dependent_vector_instruction_waits_for_the_latency(arch, cycles):
    assert each(lambda i: FMA.format(8, 8), arch) == cycles


def test_a_wave_can_issue_beside_another_one_that_waits_for_a_result():
    one = each(lambda i: FMA.format(8, 8), "gfx950")
    two = each(lambda i: FMA.format(8, 8), "gfx950", waves=5)  # waves 0 and 4 share a SIMD
    assert one == two == 8


@pytest.mark.parametrize(("waves", "cycles"), [(1, 4), (4, 4), (5, 8), (8, 8), (12, 12)])
def test_four_waves_have_a_simd_each_and_more_share_them(waves, cycles):
    assert each(lambda i: FMA.format(8 + i % 8, 20), waves=waves) == cycles


def test_waves_on_one_simd_issue_to_different_units_in_one_turn():
    """A scalar and a vector stream on one SIMD take no longer than either."""

    def line(i: int) -> str:
        return f"v_add_u32 v{8 + i % 8}, v20, v20"

    scalar = "\n".join(f"s_add_u32 s{10 + i % 8}, s20, 1" for i in range(64))
    body = f"""
        v_readfirstlane_b32 s6, v0
        s_cmp_ge_u32 s6, 256
        s_cbranch_scc1 .Lsecond
        {chr(10).join(map(line, range(64)))}
        s_endpgm
        .Lsecond:
        {scalar}
    """
    spent = [wave.spent for wave in timed(body, waves=5).waves]
    assert spent[0]["unit"] + spent[4]["unit"] < 32


def test_the_higher_priority_wins_the_simd():
    stream = "\n".join(FMA.format(8 + i % 8, 20) for i in range(64))
    body = f"""
        v_readfirstlane_b32 s6, v0
        s_cmp_ge_u32 s6, 256
        s_cbranch_scc1 .Lhigh
        s_setprio 0
        s_branch .Lwork
        .Lhigh:
        s_setprio 3
        .Lwork:
        {stream}
    """
    run = timed(body, waves=5)
    assert run.waves[0].cycles - run.waves[4].cycles > 200
    assert run.waves[0].spent["unit"] > 200 > 16 > run.waves[4].spent["unit"]


# Passes of 4 cycles: AMD's matrix instruction calculator; gfx950: LLVM SISchedule.td.
MATRIX = [
    ("gfx90a", "v_mfma_f32_32x32x8f16 {d16}, v[4:5], v[6:7], {d16}", 64),
    ("gfx90a", "v_mfma_f32_16x16x16f16 {d4}, v[4:5], v[6:7], {d4}", 32),
    ("gfx90a", "v_mfma_f32_4x4x4f16 {d4}, v[4:5], v[6:7], {d4}", 8),
    ("gfx942", "v_mfma_f32_32x32x8_f16 {d16}, v[4:5], v[6:7], {d16}", 32),
    ("gfx942", "v_mfma_f32_16x16x16_bf16 {d4}, v[4:5], v[6:7], {d4}", 16),
    ("gfx942", "v_mfma_f32_32x32x4_2b_f16 v[32:63], v[4:5], v[6:7], v[32:63]", 64),
    ("gfx942", "v_mfma_f32_16x16x4_f32 {d4}, v4, v6, {d4}", 32),
    ("gfx942", "v_mfma_f32_16x16x32_fp8_bf8 {d4}, v[4:5], v[6:7], {d4}", 16),
    ("gfx942", "v_mfma_f64_16x16x4_f64 {d8}, v[4:5], v[6:7], {d8}", 32),
    ("gfx950", "v_mfma_f32_16x16x32_bf16 {d4}, v[4:7], v[8:11], {d4}", 16),
    ("gfx950", "v_mfma_f32_32x32x16_f16 {d16}, v[4:7], v[8:11], {d16}", 32),
    ("gfx950", "v_mfma_f64_16x16x4_f64 {d8}, v[4:5], v[6:7], {d8}", 64),
    ("gfx950", "v_mfma_f32_16x16x128_f8f6f4 {d4}, v[4:11], v[12:19], {d4}", 32),
    ("gfx950", "v_mfma_f32_16x16x128_f8f6f4 {d4}, v[4:9], v[12:17], {d4} cbsz:2 blgp:2", 16),
    ("gfx1100", "v_wmma_f32_16x16x16_f16 {d8}, v[4:11], v[12:19], {d8}", 32),
    ("gfx1201", "v_wmma_f32_16x16x16_f16 {d8}, v[4:7], v[12:15], {d8}", 16),
]


def registers(i: int) -> dict[str, str]:
    """Four accumulators of each size, used in turn."""
    return {f"d{n}": f"v[{32 + n * (i % 4)}:{31 + n + n * (i % 4)}]" for n in (4, 8, 16)}


@pytest.mark.parametrize(("arch", "line", "cycles"), MATRIX)
def test_independent_matrix_instructions_keep_the_core_busy(arch, line, cycles):
    assert each(lambda i: line.format(**registers(i)), arch, count=16) == cycles


@pytest.mark.parametrize(("arch", "line", "cycles"), MATRIX)
def test_accumulation_in_place_runs_at_the_same_rate(arch, line, cycles):
    assert each(lambda i: line.format(**registers(0)), arch, count=16) == cycles


with (Path(__file__).parents[2] / "benchmarks" / "data" / "matrix_cycles.csv").open() as _table:
    CALCULATOR = list(csv.DictReader(_table))


@pytest.mark.parametrize("arch", ["gfx90a", "gfx942", "gfx1100", "gfx1201"])
def test_cycles_are_those_of_the_matrix_instruction_calculator(arch):
    rows = [row for row in CALCULATOR if row["arch"] == arch]
    assert len(rows) > 5
    wrong = []
    for row in rows:
        name = row["instruction"]
        opcode = TABLE.find(name, arch)
        assert opcode is not None
        slots = tuple(tuple((s, None) for s in side) for side in (opcode.dsts, opcode.srcs))
        values = instruction_row(
            Instruction(name, opcode, *slots, Fields((), {}, "")), Target(get_arch(arch))
        ).values
        beside = values["matrix_cycles"] - values["busy"]
        if (values["matrix_cycles"], beside) != (int(row["cycles"]), int(row["beside"])):
            wrong.append(name)
    assert not wrong


def test_utilisation_is_the_busy_part_of_four_matrix_cores():
    line = MATRIX[3][1]
    run = timed("\n".join(line.format(**registers(i)) for i in range(64)))
    assert run.matrix_utilisation == 64 * 32 / (4 * run.cycles)


# tingqli/pyhip measures 16.05, 16.05 and 20.05 on gfx942, and 28.04 for packed float32.
@pytest.mark.parametrize(("count", "cycles"), [(1, 16), (3, 16), (4, 20), (6, 28)])
def test_three_vector_instructions_fit_in_the_shadow_of_four_passes(count, cycles):
    def group(i: int) -> str:
        others = [FMA.format(100 + j, 120) for j in range(count)]
        return "\n".join([MATRIX[4][1].format(**registers(i)), *others])

    assert each(group, count=16) == cycles


def test_packed_float32_does_not_run_in_the_shadow():
    def group(i: int) -> str:
        return f"{MATRIX[4][1].format(**registers(i))}\nv_pk_add_f32 v[100:101], v[102:103], v[104:105]"

    assert each(group, count=16) == 28


def test_another_unit_waits_for_the_result_beyond_the_passes():
    """CDNA3 ISA 4.5: 3 wait states more than the passes."""
    matrix = MATRIX[3][1].format(**registers(0))
    run = timed(f"{matrix}\nv_mov_b32 v4, v32")
    assert run.table[-2].text.startswith("v_mov_b32")
    assert run.table[-2].stalls == 32 + 12 - 4


# s_sleep n: about 64 n clocks (CDNA4 and RDNA4 ISA pseudocode).
@pytest.mark.parametrize("arch", ALL)
@pytest.mark.parametrize("length", [1, 7, 127])
def test_sleep_takes_64_clocks_a_unit(arch, length):
    run = timed(f"s_sleep {length}", arch)
    slept = next(row for row in run.table if row.text.startswith("s_sleep"))
    assert slept.cycles == 64 * length
    assert run.waves[0].spent["sleep"] == 64 * length - (4 if arch.startswith("gfx9") else 1)


@pytest.mark.parametrize("count", [0, 1, 7])
def test_nop_takes_a_turn_for_each_wait_state(count):
    assert each(lambda i: f"s_nop {count}") == 4 * (count + 1)


@pytest.mark.parametrize("arch", ALL)
def test_a_barrier_opens_at_the_latest_arrival(arch):
    barrier = "s_barrier"
    if arch == "gfx1201":
        barrier = "s_barrier_signal -1\ns_barrier_wait -1"
    lanes = get_arch(arch).wave_size
    body = f"""
        v_readfirstlane_b32 s6, v0
        s_cmp_ge_u32 s6, {lanes}
        s_cbranch_scc1 .Lmeet
        s_sleep 10
        .Lmeet:
        {barrier}
        s_nop 0
    """
    run = timed(body, arch, waves=3)
    ends = [
        next(i.end for i in run.intervals if i.wave == w and i.kind == "barrier") for w in range(3)
    ]
    latest = max(i.start for i in run.intervals if i.kind == "barrier")
    assert max(ends) - min(ends) <= 1 and latest < ends[0] <= latest + 40
    early = [i for i in run.intervals if i.kind == "barrier" and i.wave != 0]
    assert all(i.end - i.start > 500 for i in early)


def test_waves_that_have_ended_are_not_waited_for():
    body = """
        v_readfirstlane_b32 s6, v0
        s_cmp_ge_u32 s6, 64
        s_cbranch_scc1 .Lend
        s_barrier
        .Lend:
        s_nop 0
    """
    assert timed(body, waves=4).cycles < 700


def test_every_instruction_has_a_row_on_every_target():
    """A row comes from the unit and, for matrix instructions, from the table of rates."""
    missing = set()
    for row in TABLE.rows():
        for name in (row.name, *row.aliases):
            slots = tuple(tuple((s, None) for s in side) for side in (row.dsts, row.srcs))
            ins = Instruction(name, row, *slots, Fields((), {}, "0"))
            for arch in row.archs if row.fidelity is not Fidelity.UNSUPPORTED else ():
                try:
                    instruction_row(ins, Target(get_arch(arch)))
                except UnsupportedInstruction:
                    missing.add(name)
    assert missing == set(UNTIMED) == {"s_sleep_var"}


def test_an_instruction_without_a_row_is_an_error():
    with pytest.raises(UnsupportedInstruction) as caught:
        timed("s_sleep_var s6", "gfx1201")
    reason = "its length is in a register"
    assert caught.value.message == f"line 10: the timing model cannot time s_sleep_var: {reason}."
    assert caught.value.fix == "run without timing."
