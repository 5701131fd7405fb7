"""Scalar arithmetic against plain Python."""

from __future__ import annotations

import pytest
from arithmetic import ALL, GFX9, RDNA

from pipedsl.core.errors import UnsupportedInstruction
from pipedsl.sim import execute

VALUES = (0, 1, 2, 31, 32, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 0x12345678, 0xDEADBEEF)
M32, M64 = (1 << 32) - 1, (1 << 64) - 1


def signed(value: int, bits: int = 32) -> int:
    return value - (value >> (bits - 1) << bits)


def scalar(text: str, arch: str, **sgprs: int) -> tuple[int, int]:
    """s[8:9] as 64 bits, and SCC; keyword ``s2=value`` sets registers (64 bits take a pair)."""
    registers = {}
    for name, value in sgprs.items():
        index = int(name[1:])
        registers[index] = value & M32
        if value > M32:
            registers[index + 1] = value >> 32
    state = execute([text], arch=arch, sgprs=registers)
    return int(state.sgprs[8]) | int(state.sgprs[9]) << 32, state.scc


BINARY = {
    "s_add_u32": lambda x, y: ((x + y) & M32, x + y > M32),
    "s_sub_u32": lambda x, y: ((x - y) & M32, y > x),
    "s_add_i32": lambda x, y: ((x + y) & M32, not -(1 << 31) <= signed(x) + signed(y) < 1 << 31),
    "s_and_b32": lambda x, y: (x & y, x & y != 0),
    "s_xor_b32": lambda x, y: (x ^ y, x != y),
    "s_lshl_b32": lambda x, y: (x << (y & 31) & M32, x << (y & 31) & M32 != 0),
    "s_ashr_i32": lambda x, y: (signed(x) >> (y & 31) & M32, signed(x) >> (y & 31) != 0),
    "s_max_i32": lambda x, y: (max(signed(x), signed(y)) & M32, signed(x) > signed(y)),
    "s_min_u32": lambda x, y: (min(x, y), x < y),
    "s_mul_i32": lambda x, y: (x * y & M32, 0),
    "s_mul_hi_u32": lambda x, y: (x * y >> 32, 0),
    "s_mul_hi_i32": lambda x, y: (signed(x) * signed(y) >> 32 & M32, 0),
    "s_lshl3_add_u32": lambda x, y: (((x << 3) + y) & M32, (x << 3) + y > M32),
    "s_absdiff_i32": lambda x, y: (
        abs(signed((x - y) & M32)) & M32, signed((x - y) & M32) != 0
    ),
    "s_bfm_b32": lambda x, y: (((1 << (x & 31)) - 1) << (y & 31) & M32, 0),
}  # fmt: skip


@pytest.mark.parametrize("arch", ALL)
@pytest.mark.parametrize("name", BINARY)
def test_two_operands(name, arch):
    for x in VALUES:
        for y in VALUES[::3]:
            wanted = BINARY[name](x, y)
            assert scalar(f"{name} s8, s2, s4", arch, s2=x, s4=y) == tuple(map(int, wanted)), (x, y)


def quadmask(x: int) -> int:
    return sum(1 << i for i in range(16) if x >> 4 * i & 15)


UNARY = {
    "s_brev_b32": lambda x: int(f"{x:032b}"[::-1], 2), "s_not_b32": lambda x: ~x & M32,
    "s_bcnt1_i32_b32": int.bit_count, "s_bcnt0_i32_b32": lambda x: 32 - x.bit_count(),
    "s_quadmask_b32": quadmask, "s_sext_i32_i8": lambda x: signed(x & 255, 8) & M32,
    "s_wqm_b32": lambda x: sum(15 << 4 * i for i in range(8) if x >> 4 * i & 15),
    "s_abs_i32": lambda x: abs(signed(x)) & M32,
}  # fmt: skip


@pytest.mark.parametrize("arch", ALL)
@pytest.mark.parametrize("name", UNARY)
def test_one_operand(name, arch):
    for x in VALUES:
        assert scalar(f"{name} s8, s2", arch, s2=x)[0] == UNARY[name](x), x


@pytest.mark.parametrize("arch", ALL)
def test_positions_of_bits(arch):
    first, leading, run = (
        ("s_ff1_i32_b32", "s_flbit_i32_b32", "s_flbit_i32") if arch in GFX9
        else ("s_ctz_i32_b32", "s_clz_i32_u32", "s_cls_i32")
    )  # fmt: skip
    for x in VALUES:
        assert scalar(f"{first} s8, s2", arch, s2=x)[0] == (x & -x).bit_length() - 1 & M32
        assert scalar(f"{leading} s8, s2", arch, s2=x)[0] == (32 - x.bit_length() if x else M32)
        flipped = x ^ (M32 if x >> 31 else 0)
        assert scalar(f"{run} s8, s2", arch, s2=x)[0] == (32 - flipped.bit_length() if flipped else M32)


@pytest.mark.parametrize("arch", ALL)
def test_wide_operations(arch):
    x = 0x8000000100000003
    assert scalar("s_quadmask_b64 s[8:9], s[2:3]", arch, s2=x)[0] == quadmask(x)
    assert scalar("s_brev_b64 s[8:9], s[2:3]", arch, s2=x)[0] == int(f"{x:064b}"[::-1], 2)
    assert scalar("s_lshr_b64 s[8:9], s[2:3], 31", arch, s2=x)[0] == x >> 31
    assert scalar("s_bfe_u64 s[8:9], s[2:3], 0x100010", arch, s2=x)[0] == x >> 16 & 0xFFFF
    assert scalar("s_bfe_i64 s[8:9], s[2:3], 0x80038", arch, s2=x)[0] == M64 & -128
    assert scalar("s_bcnt1_i32_b64 s8, s[2:3]", arch, s2=x) == (4, 1)
    assert scalar("s_bitreplicate_b64_b32 s[8:9], s2", arch, s2=0x80000005)[0] == 0xC000000000000033


@pytest.mark.parametrize("arch", ALL)
def test_selection_and_packing(arch):
    text = ["s_cmp_gt_i32 s2, -1", "s_cselect_b32 s8, s2, s4", "s_pack_lh_b32_b16 s9, s2, s4",
            "s_cmp_lg_u64 s[2:3], 0", "s_cmov_b32 s10, s2"]  # fmt: skip
    state = execute(text, arch=arch, sgprs={2: 0x80001111, 4: 0x22223333})
    assert state.sgprs[8:11].tolist() == [0x22223333, 0x22221111, 0x80001111]


@pytest.mark.parametrize("arch", ALL)
def test_registers_relative_to_m0(arch):
    text = ["s_mov_b32 m0, 2", "s_movrels_b32 s8, s2", "s_movreld_b32 s9, s2"]
    state = execute(text, arch=arch, sgprs={2: 5, 4: 6})
    assert (state.sgprs[8], state.sgprs[11]) == (6, 5)


@pytest.mark.parametrize("arch", ALL)
def test_calls_return(arch):
    text = ["s_call_b64 s[4:5], sub", "s_mov_b32 s9, 2", "s_branch done", "sub:", "s_mov_b32 s8, 1",
            "s_setpc_b64 s[4:5]", "done:"]  # fmt: skip
    assert execute(text, arch=arch).sgprs[8:10].tolist() == [1, 2]


def test_scalar_floats_of_gfx12():
    text = [
        "s_add_f32 s8, s2, s3", "s_mov_b32 s9, 1.0", "s_fmac_f32 s9, s2, s3", "s_cvt_f32_i32 s10, s4",
        "s_cvt_i32_f32 s11, s3", "s_cmp_lt_f32 s2, s3", "s_cselect_b32 s12, 1, 0",
        "s_cvt_pk_rtz_f16_f32 s13, s2, s3", "s_min_num_f32 s14, s2, s3", "s_trunc_f32 s15, s3",
        "v_s_sqrt_f32 s16, s5",
    ]  # fmt: skip
    state = execute(text, arch="gfx1201", sgprs={2: 0x3FC00000, 3: 0x40200000, 4: M32 - 4, 5: 0x41100000})
    wanted = [0x40800000, 0x40980000, 0xC0A00000, 2, 1, 0x41003E00, 0x3FC00000, 0x40000000, 0x40400000]
    assert state.sgprs[8:17].tolist() == wanted
    with pytest.raises(UnsupportedInstruction, match="does not have s_add_f32 for gfx942"):
        execute(["s_add_f32 s8, s2, s3"], arch="gfx942")


@pytest.mark.parametrize("arch", RDNA)
def test_mode_fields(arch):
    name = "HW_REG_WAVE_MODE" if arch == "gfx1201" else "HW_REG_MODE"
    text = ["s_denorm_mode 0x5", "s_round_mode 0x2", f"s_getreg_b32 s8, hwreg({name}, 0, 8)"]
    assert execute(text, arch=arch).sgprs[8] == 0x52
