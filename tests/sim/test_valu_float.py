"""Float arithmetic against NumPy, bit for bit, on random patterns and special values."""

from __future__ import annotations

import numpy as np
import pytest
from arithmetic import ALL, GFX9, RDNA, lanes, patterns, result, run, same

TYPES = {"f16": np.float16, "f32": np.float32, "f64": np.float64}


def regs(kind: str, *at: int) -> str:
    return ", ".join(f"v[{i}:{i + 1}]" if kind == "f64" else f"v{i}" for i in at)


def binary(name: str, kind: str, arch: str, seed: int = 1):
    x, y = (patterns(TYPES[kind], lanes(arch), seed + i) for i in (0, 1))
    return x, y, result(run(f"v_{name}_{kind} {regs(kind, 20, 0, 2)}", arch, x, y), TYPES[kind])


@pytest.mark.parametrize("arch", ALL)
@pytest.mark.parametrize("kind", TYPES)
def test_sums_and_products_are_correctly_rounded(kind, arch):
    with np.errstate(all="ignore"):
        x, y, ours = binary("add", kind, arch)
        same(ours, x + y)
        x, y, ours = binary("mul", kind, arch)
        same(ours, x * y)
        if kind != "f64":
            x, y, ours = binary("sub", kind, arch)
            same(ours, x - y)
            x, y, ours = binary("subrev", kind, arch)
            same(ours, y - x)


@pytest.mark.parametrize("arch", ALL)
def test_fma_rounds_once(arch):
    x, y, z = (patterns(np.float16, lanes(arch), seed) for seed in (3, 4, 5))
    text = "v_fma_f16 v20, v0, v2, v4"
    with np.errstate(all="ignore"):
        exact = x.astype(np.longdouble) * y.astype(np.longdouble) + z.astype(np.longdouble)
        same(result(run(text, arch, x, y, z), np.float16), exact.astype(np.float16))
    # 1 + 2^-30 squared minus its rounded square: only a fused operation sees the difference.
    a = np.full(lanes(arch), 1 + 2.0**-20, np.float32)
    ours = result(run("v_fma_f32 v20, v0, v2, v4", arch, a, a, -(a * a)), np.float32)
    same(ours, np.full(lanes(arch), 2.0**-40, np.float32))


@pytest.mark.parametrize("arch", ALL)
def test_fmac_reads_its_destination_and_source_modifiers_apply(arch):
    x, y, z = (np.full(lanes(arch), v, np.float32) for v in (3.0, -2.0, 10.0))
    text = ["v_mov_b32 v20, v4", "v_fmac_f32_e64 v20, -v0, |v2|"]
    same(result(run(text, arch, x, y, z), np.float32), np.full(lanes(arch), 4.0, np.float32))


@pytest.mark.parametrize("arch", ALL)
@pytest.mark.parametrize("kind", TYPES)
def test_minimum_and_maximum_order_zeros_and_pass_over_quiet_nan(kind, arch):
    num = "_num" if arch == "gfx1201" else ""
    for name, wanted in (("min", np.fmin), ("max", np.fmax)):
        x, y, ours = binary(name + num, kind, arch)
        keep = ~(np.isnan(x) | np.isnan(y)) & ((x != 0) | (y != 0))
        same(ours[keep], wanted(x, y)[keep])
    count = lanes(arch)
    zeros = np.resize(np.array([0.0, -0.0], TYPES[kind]), count)
    text = f"v_min{num}_{kind} {regs(kind, 20, 0, 2)}"
    assert np.signbit(result(run(text, arch, zeros, -zeros), TYPES[kind])).all()
    text = f"v_max{num}_{kind} {regs(kind, 20, 0, 2)}"
    assert not np.signbit(result(run(text, arch, zeros, -zeros), TYPES[kind])).any()
    nan = np.full(count, np.nan, TYPES[kind])
    same(result(run(text, arch, nan, zeros + 2), TYPES[kind]), zeros + 2)


@pytest.mark.parametrize("arch", ["gfx942", "gfx1100"])
def test_a_signalling_nan_wins_under_ieee_rules(arch):
    signalling = np.full(lanes(arch), 0x7F800001, np.uint32)
    ones = np.ones(lanes(arch), np.float32)
    state = run("v_max_f32 v20, v0, v2", arch, signalling, ones)
    assert (state.vgprs[20] == 0x7FC00001).all()


def test_a_signalling_nan_loses_on_gfx12():
    signalling = np.full(32, 0x7F800001, np.uint32)
    state = run("v_max_num_f32 v20, v0, v2", "gfx1201", signalling, np.ones(32, np.float32))
    same(result(state, np.float32), np.ones(32, np.float32))
    state = run("v_maximum_f32 v20, v0, v2", "gfx1201", signalling, np.ones(32, np.float32))
    assert (state.vgprs[20] == 0x7FC00001).all()


@pytest.mark.parametrize("arch", ALL)
def test_median_and_three_operand_choices(arch):
    num = "_num" if arch == "gfx1201" else ""
    x, y, z = (np.random.default_rng(s).normal(size=lanes(arch)).astype(np.float32) for s in range(3))
    for name, wanted in (("min3", np.min), ("max3", np.max), ("med3", np.median)):
        ours = result(run(f"v_{name}{num}_f32 v20, v0, v2, v4", arch, x, y, z), np.float32)
        same(ours, wanted([x, y, z], axis=0).astype(np.float32))


@pytest.mark.parametrize("arch", ALL)
def test_clamp_zeroes_nan_and_limits_to_one(arch):
    x = np.resize(np.array([-1.0, 0.25, 2.0, np.nan, np.inf, -0.0], np.float32), lanes(arch))
    ours = result(run("v_add_f32_e64 v20, v0, 0 clamp", arch, x), np.float32)
    same(ours, np.resize(np.array([0, 0.25, 1, 0, 1, 0], np.float32), lanes(arch)))


@pytest.mark.parametrize("arch", ALL)
def test_classes(arch):
    values = np.array(
        [0x7F800001, 0x7FC00000, 0xFF800000, 0xBF800000, 0x80000001, 0x80000000, 0, 1, 0x3F800000,
         0x7F800000], np.uint32,
    )  # fmt: skip
    mask = "vcc" if arch in GFX9 else "vcc_lo"
    x = np.resize(values, lanes(arch))
    for bit in range(10):
        state = run(f"v_cmp_class_f32 {mask}, v0, v2", arch, x, np.full(lanes(arch), 1 << bit, np.uint32))
        assert state.vcc & 0x3FF == 1 << bit


@pytest.mark.parametrize("arch", ALL)
def test_comparisons_of_nan(arch):
    mask = "vcc" if arch in GFX9 else "vcc_lo"
    x = np.resize(np.array([1.0, np.nan], np.float32), lanes(arch))
    y = np.ones(lanes(arch), np.float32)
    for name, number, nan in (("eq", 1, 0), ("lg", 0, 0), ("neq", 0, 1), ("nlt", 1, 1), ("ge", 1, 0),
                              ("u", 0, 1), ("o", 1, 0), ("nge", 0, 1), ("nlg", 1, 1)):  # fmt: skip
        state = run(f"v_cmp_{name}_f32 {mask}, v0, v2", arch, x, y)
        assert state.vcc & 3 == number | nan << 1, name


@pytest.mark.parametrize("arch", ALL)
@pytest.mark.parametrize("kind", TYPES)
def test_rounding_to_integers_and_fractions(kind, arch):
    x = np.linspace(-3.25, 3.25, lanes(arch)).astype(TYPES[kind])
    for name, wanted in (("floor", np.floor), ("ceil", np.ceil), ("trunc", np.trunc), ("rndne", np.rint)):
        ours = result(run(f"v_{name}_{kind} {regs(kind, 20, 0)}", arch, x), TYPES[kind])
        same(ours, wanted(x))
    tiny = np.full(lanes(arch), -np.finfo(TYPES[kind]).tiny, TYPES[kind])
    ours = result(run(f"v_fract_{kind} {regs(kind, 20, 0)}", arch, tiny), TYPES[kind])
    assert (ours < 1).all() and (ours > 0.99).all()


@pytest.mark.parametrize("arch", ALL)
def test_exponent_mantissa_and_scaling(arch):
    x = patterns(np.float32, lanes(arch), 8)
    x = x[np.isfinite(x)]
    mantissa, exponent = np.frexp(x)
    state = run(["v_frexp_mant_f32 v20, v0", "v_frexp_exp_i32_f32 v21, v0"], arch, x)
    same(result(state, np.float32)[: len(x)], mantissa)
    assert np.array_equal(state.vgprs[21].view(np.int32)[: len(x)], exponent)
    for power in (-160, -127, -1, 0, 40, 300):
        n = np.full(lanes(arch), power, np.int32)
        ours = result(run("v_ldexp_f32 v20, v0, v2", arch, x, n), np.float32)[: len(x)]
        with np.errstate(all="ignore"):
            same(ours, np.ldexp(x.astype(np.float64), power).astype(np.float32))


@pytest.mark.parametrize("arch", ALL)
def test_transcendental_functions_are_within_an_ulp(arch):
    rng = np.random.default_rng(9)
    x = rng.uniform(0.01, 30, lanes(arch)).astype(np.float32)
    wide = x.astype(np.float64)
    for name, wanted in (
        ("exp", np.exp2(wide)), ("log", np.log2(wide)), ("rcp", 1 / wide), ("sqrt", np.sqrt(wide)),
        ("rsq", 1 / np.sqrt(wide)), ("sin", np.sin(2 * np.pi * wide)), ("cos", np.cos(2 * np.pi * wide)),
    ):  # fmt: skip
        ours = result(run(f"v_{name}_f32 v20, v0", arch, x), np.float32)
        error = np.abs(ours - wanted) / np.spacing(np.abs(wanted.astype(np.float32)))
        assert error.max() < 0.51 or (name in ("sin", "cos") and error.max() < 1), name


@pytest.mark.parametrize("arch", ALL)
def test_transcendental_limits(arch):
    x = np.zeros(lanes(arch), np.float32)
    x[:6] = [0.0, -0.0, np.inf, -np.inf, np.nan, 1e-40]
    for name, wanted in (
        ("rcp", [np.inf, -np.inf, 0, -0.0, np.nan, np.inf]), ("exp", [1, 1, np.inf, 0, np.nan, 1]),
        ("log", [-np.inf, -np.inf, np.inf, np.nan, np.nan, -np.inf]),
        ("sqrt", [0, -0.0, np.inf, np.nan, np.nan, 0]),
    ):  # fmt: skip
        ours = result(run(f"v_{name}_f32 v20, v0", arch, x), np.float32)[:6]
        same(ours, np.array(wanted, np.float32))


# MODE
def set_mode(arch: str, first: int, width: int, value: int) -> str:
    name = "HW_REG_WAVE_MODE" if arch == "gfx1201" else "HW_REG_MODE"
    return f"s_setreg_imm32_b32 hwreg({name}, {first}, {width}), {value}"


@pytest.mark.parametrize("arch", ALL)
def test_denormals_are_kept_until_mode_says_otherwise(arch):
    x = np.full(lanes(arch), 1e-40, np.float32)
    smallest = np.full(lanes(arch), np.finfo(np.float32).tiny, np.float32)
    text = [
        "v_add_f32 v20, v0, v0", "v_mul_f32 v21, 0.5, v2", set_mode(arch, 4, 2, 0),
        "v_add_f32 v22, v0, v0", "v_mul_f32 v23, 0.5, v2", "v_mov_b32 v24, v0",
        set_mode(arch, 4, 2, 3), "v_add_f32 v25, v0, v0",
    ]  # fmt: skip
    state = run(text, arch, x, smallest)
    for register, wanted in ((20, x + x), (21, smallest / 2), (22, x * 0), (23, x * 0), (24, x), (25, x + x)):
        same(result(state, np.float32, register), wanted)


@pytest.mark.parametrize("arch", ALL)
def test_rounding_modes(arch):
    one, bit = (np.full(lanes(arch), v, np.float32) for v in (1.0, 2.0**-30))
    up, down = np.nextafter(one, one * 2), one
    for mode, positive, negative in ((0, one, -one), (1, up, -one), (2, one, -up), (3, down, -down)):
        text = [
            set_mode(arch, 0, 2, mode), "v_add_f32 v20, v0, v2", "v_sub_f32 v21, -v0, v2",
            set_mode(arch, 0, 2, 0), "v_add_f32 v22, v0, v2",
        ]  # fmt: skip
        state = run(text, arch, one, bit)
        same(result(state, np.float32, 20), positive)
        same(result(state, np.float32, 21), negative)
        same(result(state, np.float32, 22), one)


def test_the_output_modifier_needs_flushed_denormals_and_no_ieee():
    x = np.full(64, 3.0, np.float32)
    text = ["v_add_f32_e64 v20, v0, 1.0 mul:2", set_mode("gfx942", 4, 2, 0),
            "v_add_f32_e64 v21, v0, 1.0 mul:2", set_mode("gfx942", 9, 1, 0),
            "v_add_f32_e64 v22, v0, 1.0 mul:2", "v_add_f32_e64 v23, v0, 1.0 div:2"]  # fmt: skip
    state = run(text, "gfx942", x)
    assert [result(state, np.float32, r)[0] for r in (20, 21, 22, 23)] == [4, 4, 8, 2]


def test_sixteen_bit_results_zero_the_upper_half_on_gfx9_and_keep_it_later():
    x = np.full(64, 0x12340000 | 0x3C00, np.uint32)
    text = ["v_mov_b32 v20, v0", "v_add_f16 v20, v0, v0"]
    assert run(text, "gfx942", x).vgprs[20][0] == 0x4000
    assert run(text, "gfx1100", x[:32]).vgprs[20][0] == 0x12344000
    state = run(["v_mov_b32 v20, 0", "v_add_f16_e32 v20.h, v0.l, v0.l"], "gfx1100", x[:32])
    assert state.vgprs[20][0] == 0x40000000


@pytest.mark.parametrize("arch", RDNA)
def test_dual_instructions_read_before_they_write(arch):
    x, y = (np.full(32, v, np.float32) for v in (1.0, 2.0))
    state = run("v_dual_mov_b32 v0, v2 :: v_dual_mov_b32 v2, v0", arch, x, y)
    same(result(state, np.float32, 0), y)
    same(result(state, np.float32, 2), x)
