"""Integer arithmetic against NumPy and plain Python."""

from __future__ import annotations

import numpy as np
import pytest
from arithmetic import ALL, GFX9, RDNA, lanes, patterns, result, run

M32 = 0xFFFFFFFF


def words(arch: str, count: int, seed: int = 0) -> list[np.ndarray]:
    return [patterns(np.uint32, lanes(arch), seed + i) for i in range(count)]


def check(text: str, arch: str, wanted, count: int, seed: int = 0) -> None:
    """`wanted` is a function of Python ints, wrapped to 32 bits."""
    sources = words(arch, count, seed)
    ours = run(text, arch, *sources).vgprs[20]
    expected = [wanted(*(int(v) for v in lane)) & M32 for lane in zip(*sources, strict=True)]
    assert ours.tolist() == expected, text


def signed(value: int, bits: int = 32) -> int:
    value &= (1 << bits) - 1
    return value - (value >> (bits - 1) << bits)


def field(value: int, at: int, count: int) -> int:
    return (value >> (at & 31)) & ((1 << (count & 31)) - 1)


@pytest.mark.parametrize("arch", ALL)
def test_two_operands(arch):
    check("v_add_u32 v20, v0, v2", arch, lambda x, y: x + y, 2)
    check("v_subrev_u32 v20, v0, v2", arch, lambda x, y: y - x, 2)
    check("v_mul_hi_u32 v20, v0, v2", arch, lambda x, y: x * y >> 32, 2)
    check("v_mul_hi_i32 v20, v0, v2", arch, lambda x, y: signed(x) * signed(y) >> 32, 2)
    check("v_mul_u32_u24 v20, v0, v2", arch, lambda x, y: (x & 0xFFFFFF) * (y & 0xFFFFFF), 2)
    check("v_mul_i32_i24 v20, v0, v2", arch, lambda x, y: signed(x, 24) * signed(y, 24), 2)
    check("v_mul_hi_i32_i24 v20, v0, v2", arch, lambda x, y: signed(x, 24) * signed(y, 24) >> 32, 2)
    check("v_lshlrev_b32 v20, v0, v2", arch, lambda n, x: x << (n & 31), 2)
    check("v_ashrrev_i32 v20, v0, v2", arch, lambda n, x: signed(x) >> (n & 31), 2)
    check("v_xnor_b32 v20, v0, v2", arch, lambda x, y: ~(x ^ y), 2)
    check("v_bfm_b32 v20, v0, v2", arch, lambda n, at: ((1 << (n & 31)) - 1) << (at & 31), 2)
    check("v_bcnt_u32_b32 v20, v0, v2", arch, lambda x, y: x.bit_count() + y, 2)
    check("v_max_i32 v20, v0, v2", arch, lambda x, y: max(signed(x), signed(y)), 2)
    check("v_min_u32 v20, v0, v2", arch, min, 2)


@pytest.mark.parametrize("arch", ALL)
def test_three_operands(arch):
    check("v_add3_u32 v20, v0, v2, v4", arch, lambda x, y, z: x + y + z, 3)
    check("v_xad_u32 v20, v0, v2, v4", arch, lambda x, y, z: (x ^ y) + z, 3)
    check("v_lshl_add_u32 v20, v0, v2, v4", arch, lambda x, n, z: (x << (n & 31)) + z, 3)
    check("v_add_lshl_u32 v20, v0, v2, v4", arch, lambda x, y, n: (x + y) << (n & 31), 3)
    check("v_and_or_b32 v20, v0, v2, v4", arch, lambda x, y, z: x & y | z, 3)
    check("v_bfi_b32 v20, v0, v2, v4", arch, lambda m, x, y: m & x | ~m & y, 3)
    check("v_bfe_u32 v20, v0, v2, v4", arch, field, 3)
    check("v_alignbit_b32 v20, v0, v2, v4", arch, lambda x, y, n: (x << 32 | y) >> (n & 31), 3)
    check("v_alignbyte_b32 v20, v0, v2, v4", arch, lambda x, y, n: (x << 32 | y) >> 8 * (n & 3), 3)
    check("v_med3_i32 v20, v0, v2, v4", arch, lambda *v: sorted(map(signed, v))[1], 3)
    check("v_max3_u32 v20, v0, v2, v4", arch, max, 3)
    check("v_mad_u32_u24 v20, v0, v2, v4", arch, lambda x, y, z: (x & 0xFFFFFF) * (y & 0xFFFFFF) + z, 3)


@pytest.mark.parametrize("arch", ALL)
def test_signed_bit_field(arch):
    def wanted(x: int, at: int, count: int) -> int:
        at, count = at & 31, count & 31
        return signed(signed(x) >> at, count) if count else 0

    check("v_bfe_i32 v20, v0, v2, v4", arch, wanted, 3)
    check("v_bfe_i32 v20, v0, 28, 8", arch, lambda x: signed(x) >> 28, 1)


def permuted(high: int, low: int, selector: int) -> int:
    data = low.to_bytes(4, "little") + high.to_bytes(4, "little")
    out = 0
    for place in range(4):
        number = selector >> 8 * place & 0xFF
        if number > 12:
            value = 0xFF
        elif number == 12:
            value = 0
        elif number >= 8:
            value = 0xFF * (data[2 * (number - 8) + 1] >> 7)
        else:
            value = data[number]
        out |= value << 8 * place
    return out


@pytest.mark.parametrize("arch", ALL)
def test_byte_permutation(arch):
    check("v_perm_b32 v20, v0, v2, v4", arch, permuted, 3)
    for selector in (0x03020100, 0x07060504, 0x0B0A0908, 0x0D0C0005, 0x05040100):
        text = f"v_perm_b32 v20, v0, v2, {selector:#x}"
        if arch in RDNA:
            check(text, arch, lambda x, y, s=selector: permuted(x, y, s), 2)
        else:
            check_with_scalar(f"s_mov_b32 s0, {selector:#x}", "v_perm_b32 v20, v0, v2, s0", arch,
                              lambda x, y, s=selector: permuted(x, y, s))  # fmt: skip


def check_with_scalar(setup: str, text: str, arch: str, wanted) -> None:
    x, y = words(arch, 2)
    ours = run([setup, text], arch, x, y).vgprs[20]
    assert ours.tolist() == [wanted(int(a), int(b)) for a, b in zip(x, y, strict=True)]


@pytest.mark.parametrize("arch", ALL)
def test_sums_of_absolute_differences(arch):
    def parts(value: int) -> list[int]:
        return list(value.to_bytes(4, "little"))

    def sad(x: int, y: int) -> int:
        return sum(abs(a - b) for a, b in zip(parts(x), parts(y), strict=True))

    check("v_sad_u8 v20, v0, v2, v4", arch, lambda x, y, z: sad(x, y) + z, 3)
    check("v_sad_hi_u8 v20, v0, v2, v4", arch, lambda x, y, z: (sad(x, y) << 16) + z, 3)
    check("v_sad_u32 v20, v0, v2, v4", arch, lambda x, y, z: abs(x - y) + z, 3)
    check(
        "v_sad_u16 v20, v0, v2, v4", arch,
        lambda x, y, z: abs((x & 0xFFFF) - (y & 0xFFFF)) + abs((x >> 16) - (y >> 16)) + z, 3,
    )  # fmt: skip


@pytest.mark.parametrize("arch", ALL)
def test_bit_counts(arch):
    old = arch in GFX9
    text = "v_ffbh_u32" if old else "v_clz_i32_u32"
    check(f"{text} v20, v0", arch, lambda x: 32 - x.bit_length() if x else -1, 1)
    text = "v_ffbl_b32" if old else "v_ctz_i32_b32"
    check(f"{text} v20, v0", arch, lambda x: (x & -x).bit_length() - 1, 1)
    check("v_bfrev_b32 v20, v0", arch, lambda x: int(f"{x:032b}"[::-1], 2), 1)


@pytest.mark.parametrize("arch", ALL)
def test_clamp_saturates_integers(arch):
    def limited(value: int) -> int:
        return max(-(1 << 31), min(value, (1 << 31) - 1))

    check("v_add_u32_e64 v20, v0, v2 clamp", arch, lambda x, y: min(x + y, M32), 2)
    check("v_sub_u32_e64 v20, v0, v2 clamp", arch, lambda x, y: max(x - y, 0), 2)
    name = "v_add_i32" if arch in GFX9 else "v_add_nc_i32"
    check(f"{name} v20, v0, v2 clamp", arch, lambda x, y: limited(signed(x) + signed(y)), 2)
    check(
        "v_mad_u32_u24 v20, v0, v2, v4 clamp", arch,
        lambda x, y, z: min((x & 0xFFFFFF) * (y & 0xFFFFFF) + z, M32), 3,
    )  # fmt: skip


@pytest.mark.parametrize("arch", ALL)
def test_carries(arch):
    mask = "vcc" if arch in GFX9 else "vcc_lo"
    x, y = words(arch, 2)
    with_carry = "v_addc_co_u32" if arch in GFX9 else "v_add_co_ci_u32"
    text = [f"v_add_co_u32 v20, {mask}, v0, v2", f"{with_carry} v21, {mask}, 0, 0, {mask}"]
    state = run(text, arch, x, y)
    total = x.astype(np.uint64) + y
    assert np.array_equal(state.vgprs[20], total.astype(np.uint32))
    assert np.array_equal(state.vgprs[21], (total >> np.uint64(32)).astype(np.uint32))


@pytest.mark.parametrize("arch", ALL)
def test_wide_multiply_add(arch):
    mask = "vcc" if arch in GFX9 else "vcc_lo"
    x, y = words(arch, 2)
    z = patterns(np.uint64, lanes(arch), 7)
    name = "v_mad_co_u64_u32" if arch == "gfx1201" else "v_mad_u64_u32"
    state = run(f"{name} v[20:21], {mask}, v0, v2, v[4:5]", arch, x, y, z)
    exact = [int(a) * int(b) + int(c) for a, b, c in zip(x, y, z, strict=True)]
    assert result(state, np.uint64).tolist() == [e & (1 << 64) - 1 for e in exact]
    assert state.vcc == sum(1 << i for i, e in enumerate(exact) if e >> 64)


@pytest.mark.parametrize("arch", ALL)
def test_signed_wide_multiply_add_gives_bit_64_of_the_exact_sum(arch):
    mask = "vcc" if arch in GFX9 else "vcc_lo"
    x, y = words(arch, 2)
    z = patterns(np.uint64, lanes(arch), 7)
    name = "v_mad_co_i64_i32" if arch == "gfx1201" else "v_mad_i64_i32"
    state = run(f"{name} v[20:21], {mask}, v0, v2, v[4:5]", arch, x, y, z)
    exact = [
        signed(int(a)) * signed(int(b)) + signed(int(c), 64) for a, b, c in zip(x, y, z, strict=True)
    ]
    assert result(state, np.uint64).tolist() == [e & (1 << 64) - 1 for e in exact]
    assert state.vcc == sum(1 << i for i, e in enumerate(exact) if e < 0)


@pytest.mark.parametrize("arch", ALL)
def test_shifts_of_64_bits(arch):
    n, x = patterns(np.uint32, lanes(arch), 2), patterns(np.uint64, lanes(arch), 3)
    for name, wanted in (
        ("v_lshlrev_b64", lambda n, x: x << n), ("v_lshrrev_b64", lambda n, x: x >> n),
        ("v_ashrrev_i64", lambda n, x: signed(x, 64) >> n),
    ):  # fmt: skip
        ours = result(run(f"{name} v[20:21], v0, v[2:3]", arch, n, x), np.uint64)
        assert ours.tolist() == [wanted(int(a) & 63, int(b)) & (1 << 64) - 1 for a, b in zip(n, x, strict=True)]


def test_lshl_add_u64():
    x, z = patterns(np.uint64, 64, 4), patterns(np.uint64, 64, 5)
    ours = result(run("v_lshl_add_u64 v[20:21], v[0:1], 3, v[2:3]", "gfx942", x, z), np.uint64)
    assert np.array_equal(ours, (x << np.uint64(3)) + z)


def test_any_function_of_three_bits():
    x, y, z = words("gfx950", 3)
    for table in (0x6C, 0x80, 0x01, 0xFF, 0xE8):
        ours = run(f"v_bitop3_b32 v20, v0, v2, v4 bitop3:{table:#x}", "gfx950", x, y, z).vgprs[20]
        bits = [table >> (4 * int(i) + 2 * int(j) + int(k)) & 1
                for i, j, k in zip(f"{x[9]:032b}", f"{y[9]:032b}", f"{z[9]:032b}", strict=True)]  # fmt: skip
        assert int(ours[9]) == int("".join(map(str, bits)), 2)


@pytest.mark.parametrize("arch", ALL)
def test_sixteen_bits(arch):
    x, y, z = (patterns(np.uint16, lanes(arch), s) for s in (1, 2, 3))
    add = "v_add_u16" if arch in GFX9 else "v_add_nc_u16"
    assert np.array_equal(result(run(f"{add} v20, v0, v2", arch, x, y), np.uint16), x + y)
    ours = result(run(f"{add}{'_e64' if arch in GFX9 else ''} v20, v0, v2 clamp", arch, x, y), np.uint16)
    assert np.array_equal(ours, np.minimum(x.astype(int) + y, 0xFFFF))
    ours = result(run("v_mad_u16 v20, v0, v2, v4", arch, x, y, z), np.uint16)
    assert np.array_equal(ours, x * y + z)
    ours = result(run("v_med3_i16 v20, v0, v2, v4", arch, x, y, z), np.int16)
    assert np.array_equal(ours, np.median([x.view(np.int16), y.view(np.int16), z.view(np.int16)], axis=0))
