"""Modifiers and operand kinds of matrix instructions."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from matrix_operands import decode, draw, pack, product, run

from pipedsl.core.errors import AssemblyError, UnsupportedInstruction
from pipedsl.isa.opcode import TABLE
from pipedsl.sim import execute


def _case(name: str, arch: str, seed: int = 0):  # type: ignore[no-untyped-def]
    row = TABLE.find(name, arch)
    assert row is not None
    s = row.traits["shape"]
    rng = np.random.default_rng(seed)
    a = draw(rng, s.a, (s.blocks, s.m, s.k), whole=True)
    b = draw(rng, s.b, (s.blocks, s.k, s.n), whole=True)
    c = rng.integers(-9, 10, (s.blocks, s.m, s.n)).astype(np.float64)
    return row, s, a, b, c


@pytest.mark.parametrize(
    ("name", "arch"),
    [
        ("v_mfma_f32_32x32x8f16", "gfx90a"),
        ("v_mfma_f32_32x32x8_f16", "gfx942"),
        ("v_mfma_f32_32x32x8f16", "gfx950"),
        ("v_mfma_f32_16x16x16bf16_1k", "gfx942"),
        ("v_mfma_f64_16x16x4f64", "gfx942"),
        ("v_mfma_f32_4x4x4_16b_f16", "gfx950"),
    ],
)
def test_old_and_new_spellings(name: str, arch: str) -> None:
    row, s, a, b, c = _case(name, arch)
    got = run(row, arch, pack(a, s, "a"), pack(b, s, "b"), c, name=name)
    np.testing.assert_array_equal(got, product(a, b, c, s))


@pytest.mark.parametrize("files", ["avva", "vaav", "aaaa", "avav", "vvaa"])
@pytest.mark.parametrize("arch", ["gfx90a", "gfx942", "gfx950"])
def test_operands_in_agprs(files: str, arch: str) -> None:
    row, s, a, b, c = _case("v_mfma_f32_32x32x8f16", arch)
    got = run(row, arch, pack(a, s, "a"), pack(b, s, "b"), c, files=files)
    np.testing.assert_array_equal(got, product(a, b, c, s))


@pytest.mark.parametrize(
    ("name", "arch"),
    [
        ("v_mfma_f32_32x32x8f16", "gfx942"),
        ("v_mfma_f32_16x16x16f16", "gfx950"),
        ("v_mfma_f64_16x16x4f64", "gfx90a"),
        ("v_mfma_f32_32x32x4_2b_bf16", "gfx942"),
        ("v_wmma_f32_16x16x16_f16", "gfx1100"),
        ("v_wmma_f16_16x16x16_f16", "gfx1201"),
    ],
)
def test_d_is_c(name: str, arch: str) -> None:
    row, s, a, b, c = _case(name, arch)
    got = run(row, arch, pack(a, s, "a"), pack(b, s, "b"), c, in_place=True)
    np.testing.assert_array_equal(got, product(a, b, c, s))


@pytest.mark.parametrize(
    ("name", "arch", "text", "value"),
    [
        ("v_mfma_f32_32x32x8f16", "gfx942", "0", 0.0),
        ("v_mfma_f32_32x32x8f16", "gfx942", "1.0", 1.0),
        ("v_mfma_f32_16x16x16bf16_1k", "gfx90a", "-4.0", -4.0),
        ("v_mfma_f64_16x16x4f64", "gfx942", "0.5", 0.5),
        ("v_mfma_f64_4x4x4f64", "gfx90a", "1.0", 1.0),
        ("v_mfma_i32_16x16x32_i8", "gfx942", "64", 64),
        ("v_mfma_i32_16x16x32_i8", "gfx950", "-16", -16),
        ("v_wmma_f32_16x16x16_f16", "gfx1100", "2.0", 2.0),
        ("v_wmma_f16_16x16x16_f16", "gfx1201", "1.0", 1.0),
        ("v_wmma_f32_16x16x16_fp8_fp8", "gfx1201", "0", 0.0),
    ],
)
def test_c_as_inline_constant(name: str, arch: str, text: str, value: float) -> None:
    row, s, a, b, c = _case(name, arch)
    got = run(row, arch, pack(a, s, "a"), pack(b, s, "b"), text)
    np.testing.assert_array_equal(got, product(a, b, np.full_like(c, value), s))


def test_exec_is_ignored() -> None:
    row, s, a, b, c = _case("v_mfma_f32_32x32x8f16", "gfx942")
    before = ("s_mov_b64 exec, 0",)
    got = run(row, "gfx942", pack(a, s, "a"), pack(b, s, "b"), c, before=before)
    np.testing.assert_array_equal(got, product(a, b, c, s))


@pytest.mark.parametrize(("cbsz", "abid"), [(1, 0), (1, 1), (2, 0), (2, 3)])
def test_cbsz_broadcasts_the_block_abid_of_a(cbsz: int, abid: int) -> None:
    row, s, a, b, c = _case("v_mfma_f32_16x16x4_4b_f16", "gfx942")
    blocks = [block - block % 2**cbsz + abid for block in range(4)]
    suffix = f"cbsz:{cbsz} abid:{abid}"
    got = run(row, "gfx942", pack(a, s, "a"), pack(b, s, "b"), c, suffix=suffix)
    np.testing.assert_array_equal(got, product(a[blocks], b, c, s))


@pytest.mark.parametrize(
    ("blgp", "lanes"),
    [
        (1, lambda lane: lane % 32),
        (2, lambda lane: lane % 32 + 32),
        (3, lambda lane: (lane + 16) % 64),
        (4, lambda lane: lane % 16),
        (5, lambda lane: lane % 16 + 16),
        (6, lambda lane: lane % 16 + 32),
        (7, lambda lane: lane % 16 + 48),
    ],
)
def test_blgp_permutes_the_lanes_of_b(blgp, lanes) -> None:  # type: ignore[no-untyped-def]
    row, s, a, b, c = _case("v_mfma_f32_32x32x2f32", "gfx942")
    packed = pack(b, s, "b")
    moved = packed[:, [lanes(lane) for lane in range(64)]]
    got = run(row, "gfx942", pack(a, s, "a"), packed, c, suffix=f"blgp:{blgp}")
    np.testing.assert_array_equal(got, run(row, "gfx942", pack(a, s, "a"), moved, c))
    assert not np.array_equal(got, run(row, "gfx942", pack(a, s, "a"), packed, c))


@pytest.mark.parametrize("suffix", ["neg:[{0},{1},{2}]", "blgp:{3}"])
@pytest.mark.parametrize("signs", [(1, 0, 0), (0, 1, 0), (0, 0, 1), (1, 1, 1)])
def test_negation_of_f64(suffix: str, signs: tuple[int, int, int]) -> None:
    row, s, a, b, c = _case("v_mfma_f64_16x16x4_f64", "gfx942")
    text = suffix.format(*signs, signs[0] + 2 * signs[1] + 4 * signs[2])
    got = run(row, "gfx942", pack(a, s, "a"), pack(b, s, "b"), c, suffix=text)
    x, y, z = (1 - 2 * sign for sign in signs)
    np.testing.assert_array_equal(got, x * decode(a, "f64") @ (y * decode(b, "f64")) + z * c)


@pytest.mark.parametrize("arch", ["gfx1100", "gfx1201"])
def test_wmma_negates_even_and_odd_k_and_takes_the_magnitude_of_c(arch: str) -> None:
    row, s, a, b, c = _case("v_wmma_f32_16x16x16_f16", arch)
    suffix = "neg_lo:[1,0,1] neg_hi:[0,1,1]"
    got = run(row, arch, pack(a, s, "a"), pack(b, s, "b"), c, suffix=suffix)
    even = np.where(np.arange(16) % 2 == 0, -1.0, 1.0)
    left, right = decode(a, "f16") * even, decode(b, "f16") * -even[:, None]
    np.testing.assert_array_equal(got, left @ right - np.abs(c))


@pytest.mark.parametrize("half", [0, 1])
def test_op_sel_picks_the_half_of_c_and_d_on_gfx11(half: int) -> None:
    row, s, a, b, c = _case("v_wmma_f16_16x16x16_f16", "gfx1100")
    suffix = f"op_sel:[0,0,{half}]"
    got = run(row, "gfx1100", pack(a, s, "a"), pack(b, s, "b"), c, suffix=suffix, half=half)
    np.testing.assert_array_equal(got, product(a, b, c, s))


def test_the_other_half_of_d_is_kept_on_gfx11() -> None:
    ones = dict.fromkeys(range(16), 0x3C003C00)
    vgprs = {**ones, **dict.fromkeys(range(16, 24), 0x12340000)}
    line = "v_wmma_f16_16x16x16_f16 v[16:23], v[0:7], v[8:15], v[16:23]"
    state = execute([line], arch="gfx1100", vgprs=vgprs)
    assert (state.vgprs[16:24] == 0x12344C00).all()  # 16.0 below what was there


@pytest.mark.parametrize("arch", ["gfx1100", "gfx1201"])
@pytest.mark.parametrize("bits", [8, 4])
@pytest.mark.parametrize("signed", [(0, 1), (1, 0), (1, 1)])
def test_signedness_of_integers(arch: str, bits: int, signed: tuple[int, int]) -> None:
    row, s, a, b, c = _case(f"v_wmma_i32_16x16x16_iu{bits}", arch)
    types = [f"{'i' if flag else 'u'}{bits}" for flag in signed]
    suffix = f"neg_lo:[{signed[0]},{signed[1]},0]"
    got = run(row, arch, pack(a, s, "a"), pack(b, s, "b"), c, suffix=suffix)
    np.testing.assert_array_equal(got, product(a, b, c, replace(s, a=types[0], b=types[1])))


@pytest.mark.parametrize(("suffix", "wraps"), [("", True), ("clamp", False)])
def test_clamp_saturates_integers(suffix: str, wraps: bool) -> None:
    row = TABLE.find("v_wmma_i32_16x16x16_iu8", "gfx1100")
    assert row is not None
    s = row.traits["shape"]
    a, b = (np.full((1, 16, 16), 255, np.uint64) for _ in range(2))
    c = np.full((1, 16, 16), 2**31 - 10)
    got = run(row, "gfx1100", pack(a, s, "a"), pack(b, s, "b"), c, suffix=suffix)
    total = 16 * 255**2 + 2**31 - 10
    assert (got == (total - 2**32 if wraps else 2**31 - 1)).all()


def test_f16_denormals_and_specials_of_fast_mode() -> None:
    vgprs = {0: 0x00010001, 1: 0x00010001, 2: 0x3C003C00, 3: 0x3C003C00}
    line = "v_mfma_f32_16x16x16f16 v[4:7], v[0:1], v[2:3], 0"
    state = execute([line], arch="gfx942", vgprs=vgprs)
    assert (state.vgprs[4:8].view(np.float32) == 16 * 2.0**-24).all()
    state = execute([line], arch="gfx942", vgprs={**vgprs, 0: 0x7C007C00})
    assert np.isposinf(state.vgprs[4:8].view(np.float32)).all()
    state = execute([line], arch="gfx942", vgprs={**vgprs, 0: 0x7C00FC00})
    assert np.isnan(state.vgprs[4:8].view(np.float32)).all()


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (
            "v_mfma_f32_32x32x8f16 v[0:15], v[16:17], v[18:19], s[0:15]",
            "line 1: v_mfma_f32_32x32x8f16 needs vector registers here.",
        ),
        (
            "v_mfma_f32_32x32x8f16 v[0:15], v[16:17], v[18:19], 0 cbsz:1",
            "line 1: v_mfma_f32_32x32x8f16 cannot have cbsz:1.",
        ),
        (
            "v_mfma_f32_32x32x8f16 v[0:15], v[16:17], v[18:19], 0 blgp:8",
            "line 1: v_mfma_f32_32x32x8f16 cannot have blgp:8.",
        ),
        (
            "v_mfma_f32_16x16x128_f8f6f4 v[0:3], v[8:15], v[16:23], 0 cbsz:5",
            "line 1: v_mfma_f32_16x16x128_f8f6f4 has formats 0 to 4 only.",
        ),
        (
            "v_mfma_f32_16x16x128_f8f6f4 v[0:3], v[8:11], v[16:23], 0",
            "line 1: v_mfma_f32_16x16x128_f8f6f4 takes 8 registers here, not 4.",
        ),
    ],
)
def test_operands_that_do_not_fit(line: str, message: str) -> None:
    with pytest.raises(AssemblyError) as caught:
        execute([line], arch="gfx950")
    assert message in str(caught.value)


def test_another_targets_instruction_is_refused() -> None:
    with pytest.raises(UnsupportedInstruction, match="does not have v_mfma_f32_16x16x32_f16"):
        execute(["v_mfma_f32_16x16x32_f16 v[0:3], v[4:7], v[8:11], 0"], arch="gfx942")
