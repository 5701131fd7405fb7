"""Conversions against NumPy and ml_dtypes."""

from __future__ import annotations

import numpy as np
import pytest
from arithmetic import ALL, GFX9, lanes, patterns, result, run, same

from pipedsl.sim import execute

SPECIAL = np.array(
    [0.5, -0.5, 1.5, 2.5, -1.5, 2147483520.0, 2147483648.0, -2147483648.0, 4294967040.0, 4294967296.0,
     -1.0, np.inf, -np.inf, np.nan, 1e-40, 65535.9], np.float32,
)  # fmt: skip


@pytest.mark.parametrize("arch", ALL)
@pytest.mark.parametrize("kind", ["i32", "u32"])
def test_float_to_integer_truncates_and_saturates(kind, arch):
    x = np.resize(SPECIAL, lanes(arch))
    limits = np.iinfo(np.int32 if kind == "i32" else np.uint32)
    wide = np.nan_to_num(x.astype(np.float64), nan=0.0, posinf=1e300, neginf=-1e300)
    wanted = np.trunc(np.clip(wide, limits.min, limits.max)).astype(np.int64)
    assert np.array_equal(run(f"v_cvt_{kind}_f32 v20, v0", arch, x).vgprs[20], wanted.astype(np.uint32))
    ours = run(f"v_cvt_{kind}_f64 v20, v[0:1]", arch, x.astype(np.float64)).vgprs[20]
    assert np.array_equal(ours, wanted.astype(np.uint32))


@pytest.mark.parametrize("arch", ALL)
def test_integer_to_float_rounds_to_nearest(arch):
    x = patterns(np.uint32, lanes(arch), 1)
    same(result(run("v_cvt_f32_u32 v20, v0", arch, x), np.float32), x.astype(np.float32))
    same(result(run("v_cvt_f32_i32 v20, v0", arch, x), np.float32), x.view(np.int32).astype(np.float32))
    same(result(run("v_cvt_f64_u32 v[20:21], v0", arch, x), np.float64), x.astype(np.float64))
    for place in range(4):
        ours = result(run(f"v_cvt_f32_ubyte{place} v20, v0", arch, x), np.float32)
        same(ours, (x >> 8 * place & 0xFF).astype(np.float32))


@pytest.mark.parametrize("arch", ALL)
def test_between_floats(arch):
    x = patterns(np.float32, lanes(arch), 2)
    x[20:] = np.random.default_rng(0).normal(size=lanes(arch) - 20) * 1e-6
    with np.errstate(all="ignore"):
        same(result(run("v_cvt_f16_f32 v20, v0", arch, x), np.float16), x.astype(np.float16))
        wide = patterns(np.float64, lanes(arch), 3)
        same(result(run("v_cvt_f32_f64 v20, v[0:1]", arch, wide), np.float32), wide.astype(np.float32))
    same(result(run("v_cvt_f64_f32 v[20:21], v0", arch, x), np.float64), x.astype(np.float64))
    half = patterns(np.float16, lanes(arch), 4)
    same(result(run("v_cvt_f32_f16 v20, v0", arch, half), np.float32), half.astype(np.float32))


@pytest.mark.parametrize("arch", ALL)
def test_packed_conversions(arch):
    x = np.resize(np.array([1.0009765, -1.0009765, 65519.0, 65536.0, 1e-8, 0.3], np.float32), lanes(arch))
    name = "v_cvt_pkrtz_f16_f32" if arch in GFX9 else "v_cvt_pk_rtz_f16_f32"
    ours = run(f"{name} v20, v0, v0", arch, x).vgprs[20].view(np.float16)[:12:2]
    wanted = np.array([1.0, -1.0, 65504, 65504, 0, 0.2998], np.float16)
    same(ours, wanted)
    y = np.resize(np.array([-100000, 100000, 5, -5], np.int32), lanes(arch))
    ours = run("v_cvt_pk_i16_i32 v20, v0, v0", arch, y).vgprs[20]
    assert ours[:4].view(np.int16)[::2].tolist() == [-32768, 32767, 5, -5]
    z = np.resize(np.array([1.0, -1.0, 2.0, 0.5, np.nan], np.float32), lanes(arch))
    name = "v_cvt_pknorm_i16_f32" if arch in GFX9 else "v_cvt_pk_norm_i16_f32"
    ours = run(f"{name} v20, v0, v0", arch, z).vgprs[20][:5].view(np.int16)[::2]
    assert ours.tolist() == [32767, -32767, 32767, 16384, 0]
    offsets = np.resize(np.arange(16, dtype=np.uint32), lanes(arch))
    ours = result(run("v_cvt_off_f32_i4 v20, v0", arch, offsets), np.float32)[:16]
    assert ours.tolist() == [((i ^ 8) - 8) / 16 for i in range(16)]


def small_types(arch: str):
    ml = pytest.importorskip("ml_dtypes")
    if arch == "gfx942":
        return {"fp8": ml.float8_e4m3fnuz, "bf8": ml.float8_e5m2fnuz}
    return {"fp8": ml.float8_e4m3fn, "bf8": ml.float8_e5m2}


def bytes_of(state, register: int) -> np.ndarray:
    return state.vgprs[register].view(np.uint8).reshape(-1, 4)


def same_code(ours: np.ndarray, wanted: np.ndarray) -> None:
    kind = wanted.dtype
    same(ours.view(kind).astype(np.float32), wanted.astype(np.float32))


@pytest.mark.parametrize("arch", ["gfx942", "gfx950", "gfx1201"])
@pytest.mark.parametrize("name", ["fp8", "bf8"])
def test_eight_bit_floats(name, arch):
    kind = small_types(arch)[name]
    rng = np.random.default_rng(5)
    x = np.ldexp(rng.normal(size=lanes(arch)), rng.integers(-12, 12, lanes(arch))).astype(np.float32)
    x[:8] = [0, -0.0, np.nan, np.inf, 448, 464.1, 57344, 1e-9]
    y = -x[::-1].copy()
    text = [
        "v_mov_b32 v20, 0", f"v_cvt_pk_{name}_f32 v20, v0, v2",
        f"v_cvt_pk_{name}_f32 v20, v2, v0 op_sel:[0,0,1]",
    ]  # fmt: skip
    codes = bytes_of(run(text, arch, x, y), 20)
    with np.errstate(all="ignore"):
        for place, source in enumerate((x, y, y, x)):
            same_code(codes[:, place].copy(), source.astype(kind))
    every = np.arange(256, dtype=np.uint32)
    for start in range(0, 256, lanes(arch)):
        raw = every[start : start + lanes(arch)]
        ours = result(run(f"v_cvt_f32_{name} v20, v0", arch, raw), np.float32)
        same(ours, raw.astype(np.uint8).view(kind).astype(np.float32))


def test_overflow_of_eight_bit_floats_follows_mode():
    x = np.full(64, 1e9, np.float32)
    text = ["v_mov_b32 v20, 0", "v_mov_b32 v21, 0", "v_cvt_pk_fp8_f32 v20, v0, v0",
            "s_setreg_imm32_b32 hwreg(HW_REG_MODE, 23, 1), 1", "v_cvt_pk_fp8_f32 v21, v0, v0"]  # fmt: skip
    state = run(text, "gfx942", x)
    assert (state.vgprs[20][0], state.vgprs[21][0]) == (0x8080, 0x7F7F)
    state = run(text, "gfx950", x)
    assert (state.vgprs[20][0], state.vgprs[21][0]) == (0x7F7F, 0x7E7E)


@pytest.mark.parametrize(("arch", "text"), [
    ("gfx942", "v_cvt_f32_fp8_sdwa v20, v0 src0_sel:BYTE_2"),
    ("gfx1201", "v_cvt_f32_fp8_e64 v20, v0 byte_sel:2"),
])  # fmt: skip
def test_byte_selection(arch, text):
    one = 0x40 if arch == "gfx942" else 0x38
    x = np.full(lanes(arch), one << 16, np.uint32)
    assert result(run(text, arch, x), np.float32)[0] == 1


@pytest.mark.parametrize("name", ["fp8", "bf8"])
def test_stochastic_rounding_is_bounded_by_the_neighbours(name):
    kind = small_types("gfx950")[name]
    x = np.full(64, 1.03, np.float32)
    none, all_ = np.zeros(64, np.uint32), np.full(64, 0xFFFFFFFF, np.uint32)
    down = bytes_of(run(["v_mov_b32 v20, 0", f"v_cvt_sr_{name}_f32 v20, v0, v2"], "gfx950", x, none), 20)
    up = bytes_of(run(["v_mov_b32 v20, 0", f"v_cvt_sr_{name}_f32 v20, v0, v2"], "gfx950", x, all_), 20)
    step = 0.125 if name == "fp8" else 0.25
    assert float(down[0, :1].view(kind)[0]) == 1 and float(up[0, :1].view(kind)[0]) == 1 + step


@pytest.mark.parametrize("name", ["fp6", "bf6", "fp4"])
def test_scaled_conversions(name):
    ml = pytest.importorskip("ml_dtypes")
    kind = {"fp6": ml.float6_e2m3fn, "bf6": ml.float6_e3m2fn, "fp4": ml.float4_e2m1fn}[name]
    largest = float(ml.finfo(kind).max)
    values = np.random.default_rng(6).normal(size=(32, 64)).astype(np.float32) * 8

    def rounded(x: np.ndarray) -> np.ndarray:
        return np.clip(x / 4, -largest, largest).astype(kind).astype(np.float32) * 4

    scale = {100: np.full(64, 4.0, np.float32)}
    registers = {i: values[i].view(np.uint32) for i in range(32)} | scale
    if name == "fp4":
        text = ["v_mov_b32 v64, 0", "v_cvt_scalef32_pk_fp4_f32 v64, v0, v1, v100 op_sel:[0,0,1,1]",
                "v_cvt_scalef32_pk_f32_fp4 v[80:81], v64, v100 op_sel:[1,1,0]"]  # fmt: skip
        order = [0, 1]
    else:
        text = [f"v_cvt_scalef32_2xpk16_{name}_f32 v[64:69], v[0:15], v[16:31], v100",
                f"v_cvt_scalef32_pk32_f32_{name} v[80:111], v[64:69], v112"]  # fmt: skip
        registers[112] = scale[100]
        order = [i // 2 + 16 * (i % 2) for i in range(32)]
    state = execute(text, arch="gfx950", vgprs=registers)
    for place, source in enumerate(order):
        same(state.vgprs[80 + place].view(np.float32), rounded(values[source]))
