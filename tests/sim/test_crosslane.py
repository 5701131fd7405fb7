"""Data between lanes: DPP, SDWA, permutes, swaps, indexed registers."""

from __future__ import annotations

import numpy as np
import pytest
from arithmetic import ALL, GFX9, RDNA, lanes, run

from pipedsl.core.errors import SimulationError
from pipedsl.sim import execute


def ids(arch: str) -> np.ndarray:
    return np.arange(lanes(arch), dtype=np.uint32)


@pytest.mark.parametrize("arch", ALL)
def test_reading_and_writing_one_lane(arch):
    text = ["v_readlane_b32 s0, v0, 5", "s_mov_b32 s1, 7", "v_readlane_b32 s2, v0, s1",
            "v_mov_b32 v20, v0", "v_writelane_b32 v20, s0, 3", "v_readfirstlane_b32 s3, v0"]  # fmt: skip
    state = run(text, arch, ids(arch) + 100)
    assert state.sgprs[[0, 2, 3]].tolist() == [105, 107, 100]
    assert state.vgprs[20][2:5].tolist() == [102, 105, 104]


@pytest.mark.parametrize("arch", ALL)
def test_first_lane_of_an_empty_exec_is_lane_zero_and_writelane_ignores_exec(arch):
    clear = "s_mov_b64 exec, 0" if arch in GFX9 else "s_mov_b32 exec_lo, 0"
    state = run([clear, "v_readfirstlane_b32 s3, v0", "v_writelane_b32 v20, 9, 4"], arch, ids(arch) + 50)
    assert state.sgprs[3] == 50
    assert state.vgprs[20][4] == 9


@pytest.mark.parametrize("arch", ALL)
def test_lane_counts(arch):
    text = ["v_mbcnt_lo_u32_b32 v20, -1, 0"]
    if arch in GFX9:
        text.append("v_mbcnt_hi_u32_b32 v20, -1, v20")
    assert np.array_equal(run(text, arch).vgprs[20], ids(arch))


def dpp(arch: str, control: str, *, setup: tuple[str, ...] = ()) -> np.ndarray:
    text = [*setup, f"v_mov_b32_dpp v0, v0 {control} row_mask:0xf bank_mask:0xf"]
    return run(text, arch, ids(arch)).vgprs[0]


@pytest.mark.parametrize("arch", ALL)
def test_dpp_reads_all_lanes_before_it_writes(arch):
    lane = ids(arch).astype(int)
    assert np.array_equal(dpp(arch, "quad_perm:[1,0,3,2]"), lane ^ 1)
    assert np.array_equal(dpp(arch, "row_ror:1"), lane & ~15 | (lane - 1) & 15)
    assert np.array_equal(dpp(arch, "row_mirror"), lane ^ 15)
    assert np.array_equal(dpp(arch, "row_half_mirror"), lane ^ 7)


@pytest.mark.parametrize("arch", ALL)
def test_dpp_lanes_without_a_source(arch):
    lane = ids(arch).astype(int)
    kept = np.where(lane % 16 == 0, lane, lane - 1)
    assert np.array_equal(dpp(arch, "row_shr:1"), kept)
    zeroed = np.where(lane % 16 == 0, 0, lane - 1)
    assert np.array_equal(dpp(arch, "row_shr:1 bound_ctrl:1"), zeroed)
    # Lane 1 is inactive: lane 2 reads nothing valid.
    mask = "s_mov_b64 exec, -3" if arch in GFX9 else "s_mov_b32 exec_lo, -3"
    assert dpp(arch, "row_shr:1", setup=(mask,))[:4].tolist() == [0, 1, 2, 2]


@pytest.mark.parametrize("arch", ALL)
def test_dpp_row_and_bank_masks(arch):
    lane = ids(arch).astype(int)
    text = "v_mov_b32_dpp v20, v0 quad_perm:[0,0,0,0] row_mask:0x2 bank_mask:0x5"
    ours = run(text, arch, ids(arch) + 1).vgprs[20]
    enabled = (lane // 16 == 1) & (lane // 4 % 4 % 2 == 0)
    assert np.array_equal(ours, np.where(enabled, (lane & ~3) + 1, 0))


@pytest.mark.parametrize("arch", RDNA)
def test_dpp8_and_row_share(arch):
    lane = ids(arch).astype(int)
    ours = run("v_mov_b32_dpp v20, v0 dpp8:[7,6,5,4,3,2,1,0]", arch, ids(arch)).vgprs[20]
    assert np.array_equal(ours, lane ^ 7)
    ours = run("v_mov_b32_dpp v20, v0 row_share:3 row_mask:0xf bank_mask:0xf", arch, ids(arch)).vgprs[20]
    assert np.array_equal(ours, lane & ~15 | 3)


def test_dpp_broadcasts_to_the_next_row():
    text = "v_mov_b32_dpp v20, v0 row_bcast:15 row_mask:0xa bank_mask:0xf"
    ours = run(text, "gfx942", ids("gfx942")).vgprs[20]
    assert ours[[0, 16, 31, 32, 48]].tolist() == [0, 15, 15, 0, 47]


@pytest.mark.parametrize("arch", RDNA)
def test_permutation_within_and_across_rows(arch):
    lane = ids(arch)
    setup = ["s_mov_b32 s0, 0x89abcdef", "s_mov_b32 s1, 0x01234567"]
    ours = run([*setup, "v_permlane16_b32 v20, v0, s0, s1"], arch, lane).vgprs[20]
    assert np.array_equal(ours, lane ^ 15)
    ours = run([*setup, "v_permlanex16_b32 v20, v0, s0, s1"], arch, lane).vgprs[20]
    assert np.array_equal(ours, lane ^ 31)


def test_swaps_of_lane_groups():
    lane = ids("gfx950")
    for size in (16, 32):
        text = f"v_permlane{size}_swap_b32 v0, v2"
        state = run(text, "gfx950", lane, lane + 100)
        upper = (lane & size) != 0
        assert np.array_equal(state.vgprs[0], np.where(upper, (lane ^ size) + 100, lane))
        assert np.array_equal(state.vgprs[2], np.where(upper, lane + 100, lane ^ size))


@pytest.mark.parametrize("arch", ALL)
def test_swap_of_registers_in_the_active_lanes(arch):
    mask = "s_mov_b64 exec, 1" if arch in GFX9 else "s_mov_b32 exec_lo, 1"
    state = run([mask, "v_swap_b32 v0, v2"], arch, ids(arch) + 1, ids(arch) + 100)
    assert state.vgprs[0][:2].tolist() == [100, 2]
    assert state.vgprs[2][:2].tolist() == [1, 101]


def test_sdwa_selects_and_merges():
    x = np.full(64, 0x80402010, np.uint32)

    def ours(text: str) -> int:
        return int(run(["v_mov_b32 v20, -1", text], "gfx942", x).vgprs[20][0])

    pad = "dst_sel:BYTE_1 dst_unused:UNUSED_PAD src0_sel:BYTE_2"
    assert ours(f"v_mov_b32_sdwa v20, v0 {pad}") == 0x4000
    keep = "dst_sel:WORD_1 dst_unused:UNUSED_PRESERVE src0_sel:BYTE_3"
    assert ours(f"v_mov_b32_sdwa v20, v0 {keep}") == 0x0080FFFF
    wide = "dst_sel:DWORD dst_unused:UNUSED_PAD src0_sel:BYTE_3 src1_sel:DWORD"
    assert ours(f"v_add_u32_sdwa v20, sext(v0), v0 {wide}") == (0x80402010 - 0x80) & 0xFFFFFFFF


@pytest.mark.parametrize("arch", RDNA)
def test_registers_relative_to_m0(arch):
    text = ["s_mov_b32 m0, 2", "v_movrels_b32 v20, v0", "v_movreld_b32 v21, v0"]
    state = run(text, arch, ids(arch), ids(arch) + 100)
    assert state.vgprs[20][1] == 101
    assert state.vgprs[23][1] == 1


def test_indexed_registers_of_gfx9():
    text = ["s_mov_b32 s0, 2", "s_set_gpr_idx_on s0, gpr_idx(SRC0)", "v_mov_b32 v20, v0",
            "s_set_gpr_idx_off", "v_mov_b32 v21, v0", "s_set_gpr_idx_on s0, gpr_idx(DST)",
            "v_mov_b32 v22, v0", "s_set_gpr_idx_off"]  # fmt: skip
    state = run(text, "gfx942", ids("gfx942"), ids("gfx942") + 100)
    assert state.vgprs[20:25, 1].tolist() == [101, 1, 0, 0, 1]


def test_an_index_beyond_the_registers_stops_the_run():
    with pytest.raises(SimulationError, match="register number out of range"):
        execute(["s_mov_b32 m0, 0x1000", "v_movrels_b32 v20, v0"], arch="gfx1100")


def test_skipped_vector_instructions():
    text = ["s_setvskip 1, 0", "v_mov_b32 v20, 7", "v_readfirstlane_b32 s1, v0", "s_mov_b32 s2, 3",
            "s_setvskip 0, 0", "v_mov_b32 v21, 7"]  # fmt: skip
    state = run(text, "gfx942", ids("gfx942") + 9)
    assert state.vgprs[20:22, 0].tolist() == [0, 7]
    assert state.sgprs[1:3].tolist() == [0, 3]


@pytest.mark.parametrize("arch", GFX9)
def test_accumulation_registers(arch):
    text = ["v_accvgpr_write_b32 a3, v0", "v_accvgpr_read_b32 v20, a3", "v_accvgpr_write_b32 a4, 1.0"]
    state = run(text, arch, ids(arch))
    assert np.array_equal(state.vgprs[20], ids(arch))
    assert state.agprs[4][0] == 0x3F800000
