"""Packed math, dot products and mixed precision: which half goes where, and with which sign."""

from __future__ import annotations

import numpy as np
import pytest
from arithmetic import ALL, GFX9, RDNA, lanes, patterns, result, run


def halves(arch: str, *pairs: tuple[float, float]) -> list[np.ndarray]:
    """One register per pair: (low, high) as float16."""
    return [
        np.full(lanes(arch), np.array(pair, np.float16).view(np.uint32)[0], np.uint32) for pair in pairs
    ]


def pair(state, register: int = 20) -> tuple[float, float]:
    low, high = state.vgprs[register][:1].view(np.float16)
    return float(low), float(high)


@pytest.mark.parametrize("arch", ALL)
def test_halves_and_signs_of_packed_floats(arch):
    x, y = halves(arch, (1, 2), (10, 20))
    for modifiers, wanted in (
        ("", (11, 22)), ("op_sel:[1,0]", (12, 22)), ("op_sel_hi:[0,1]", (11, 21)),
        ("op_sel:[1,1] op_sel_hi:[0,0]", (22, 11)), ("neg_lo:[1,0]", (9, 22)),
        ("neg_hi:[0,1]", (11, -18)),
    ):  # fmt: skip
        assert pair(run(f"v_pk_add_f16 v20, v0, v2 {modifiers}", arch, x, y)) == wanted, modifiers


@pytest.mark.parametrize("arch", ALL)
def test_an_inline_constant_stands_in_the_low_half(arch):
    (x,) = halves(arch, (1, 2))
    assert pair(run("v_pk_add_f16 v20, v0, 1.0 op_sel_hi:[1,0]", arch, x)) == (2, 3)
    assert pair(run("v_pk_add_f16 v20, v0, 1.0", arch, x)) == (2, 2)


@pytest.mark.parametrize("arch", ALL)
def test_packed_fma_and_choices(arch):
    num = "_num" if arch == "gfx1201" else ""
    x, y, z = halves(arch, (2, 3), (5, -7), (1, 1))
    assert pair(run("v_pk_fma_f16 v20, v0, v2, v4", arch, x, y, z)) == (11, -20)
    assert pair(run(f"v_pk_max{num}_f16 v20, v0, v2", arch, x, y)) == (5, 3)
    assert pair(run(f"v_pk_min{num}_f16 v20, v0, v2", arch, x, y)) == (2, -7)


@pytest.mark.parametrize("arch", ALL)
def test_packed_integers(arch):
    x, y = (patterns(np.uint32, lanes(arch), seed) for seed in (1, 2))
    a, b = x.view(np.uint16).astype(int), y.view(np.uint16).astype(int)

    def check(text: str, wanted: np.ndarray) -> None:
        assert np.array_equal(run(text, arch, x, y).vgprs[20].view(np.uint16), wanted.astype(np.uint16))

    check("v_pk_add_u16 v20, v0, v2", a + b)
    check("v_pk_add_u16 v20, v0, v2 clamp", np.minimum(a + b, 0xFFFF))
    check("v_pk_sub_u16 v20, v0, v2 clamp", np.maximum(a - b, 0))
    check("v_pk_mul_lo_u16 v20, v0, v2", a * b)
    check("v_pk_lshlrev_b16 v20, v0, v2", b << (a & 15))
    signed = x.view(np.int16).astype(int), y.view(np.int16).astype(int)
    check("v_pk_max_i16 v20, v0, v2", np.maximum(*signed))
    check("v_pk_add_i16 v20, v0, v2 clamp", np.clip(signed[0] + signed[1], -32768, 32767))


@pytest.mark.parametrize("arch", GFX9)
def test_packed_float32_picks_dwords(arch):
    low, high = (np.full(64, v, np.float32) for v in (1.0, 2.0))
    setup = ["v_mov_b32 v1, v2", "v_mov_b32 v10, v0", "v_mov_b32 v11, v2"]
    for modifiers, wanted in (("", (2, 4)), ("op_sel:[1,0] op_sel_hi:[0,1]", (3, 3)), ("neg_lo:[1,0]", (0, 4))):
        state = run([*setup, f"v_pk_add_f32 v[20:21], v[0:1], v[10:11] {modifiers}"], arch, low, high)
        assert (result(state, np.float32, 20)[0], result(state, np.float32, 21)[0]) == wanted
    state = run([*setup, "v_pk_mov_b32 v[20:21], v[0:1], v[10:11] op_sel:[1,0]"], arch, low, high)
    assert (result(state, np.float32, 20)[0], result(state, np.float32, 21)[0]) == (2, 1)


@pytest.mark.parametrize("arch", ALL)
def test_mixed_precision_sources(arch):
    (x,) = halves(arch, (2, 3))
    y = np.full(lanes(arch), 10.0, np.float32)
    for modifiers, wanted in (
        ("op_sel_hi:[1,0,0]", 30), ("op_sel:[1,0,0] op_sel_hi:[1,0,0]", 40),
        ("op_sel_hi:[1,0,0] neg_lo:[1,0,0]", -10),
    ):  # fmt: skip
        state = run(f"v_fma_mix_f32 v20, v0, v2, v2 {modifiers}", arch, x, y)
        assert result(state, np.float32)[0] == wanted
    text = ["v_mov_b32 v20, -1", "v_fma_mixlo_f16 v20, v2, v2, v2", "v_fma_mixhi_f16 v20, v0, v2, v2 op_sel_hi:[1,0,0]"]
    assert pair(run(text, arch, x, y)) == (110, 30)


@pytest.mark.parametrize("arch", ALL)
def test_dot_products(arch):
    x, y, z = (patterns(np.uint32, lanes(arch), seed) for seed in (1, 2, 3))
    a, b = (v.view(np.uint8).reshape(-1, 4).astype(np.int64) for v in (x, y))
    ours = run("v_dot4_u32_u8 v20, v0, v2, v4", arch, x, y, z).vgprs[20]
    assert np.array_equal(ours, ((a * b).sum(1) + z).astype(np.uint32))
    a, b = (v.view(np.int8).reshape(-1, 4).astype(np.int64) for v in (x, y))
    signed = "v_dot4_i32_i8 v20, v0, v2, v4" if arch in GFX9 else "v_dot4_i32_iu8 v20, v0, v2, v4 neg_lo:[1,1,0]"
    ours = run(signed, arch, x, y, z).vgprs[20]
    assert np.array_equal(ours, ((a * b).sum(1) + z.view(np.int32)).astype(np.uint32))
    ours = run(f"{signed} clamp", arch, x, y, z).vgprs[20]
    exact = np.clip((a * b).sum(1) + z.view(np.int32), -(1 << 31), (1 << 31) - 1)
    assert np.array_equal(ours.view(np.int32), exact)
    first, second = halves(arch, (2, 3), (5, 7))
    ours = run("v_dot2_f32_f16 v20, v0, v2, 1.0", arch, first, second)
    assert result(ours, np.float32)[0] == 32


@pytest.mark.parametrize("arch", RDNA)
def test_dot_product_of_bf16(arch):
    x = np.full(32, 0x40400000 | 0x3F80, np.uint32)  # 1, 3
    ours = result(run("v_dot2_f32_bf16 v20, v0, v0, 0.5", arch, x), np.float32)
    assert ours[0] == 10.5
