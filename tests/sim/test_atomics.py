"""Atomic operations on LDS, global memory and through buffer resources."""

from __future__ import annotations

import struct

import numpy as np
import pytest
from memory_cases import ALL, GFX9, GFX94, RDNA, lanes_of, returning, run_on

from kernels import kernel_text
from pipedsl import sim

MASK = {32: 0xFFFFFFFF, 64: 0xFFFFFFFFFFFFFFFF}


def signed(x: int, bits: int) -> int:
    return x - (1 << bits) if x >> (bits - 1) else x


# Name on gfx9, name on gfx11 and gfx12 (without width), and what becomes of the old value.
OPERATIONS = {
    "swap swap_b": lambda old, x, n: x,
    "add add_u": lambda old, x, n: old + x,
    "sub sub_u": lambda old, x, n: old - x,
    "smin min_i": lambda old, x, n: min(old, x, key=lambda v: signed(v, n)),
    "smax max_i": lambda old, x, n: max(old, x, key=lambda v: signed(v, n)),
    "umin min_u": lambda old, x, n: min(old, x),
    "umax max_u": lambda old, x, n: max(old, x),
    "and and_b": lambda old, x, n: old & x,
    "or or_b": lambda old, x, n: old | x,
    "xor xor_b": lambda old, x, n: old ^ x,
    "inc inc_u": lambda old, x, n: 0 if old >= x else old + 1,
    "dec dec_u": lambda old, x, n: x if old == 0 or old > x else old - 1,
}


def values(bits: int, seed: int) -> list[int]:
    edge = [0, 1, MASK[bits], 1 << (bits - 1), (1 << (bits - 1)) - 1, 5]
    random = np.random.default_rng(seed).integers(0, 1 << 32, 58).tolist()
    return edge + [r * r & MASK[bits] for r in random]


def words(numbers: list[int], bits: int) -> list[np.ndarray]:
    return [
        np.array([n >> 32 * i & 0xFFFFFFFF for n in numbers], np.uint32) for i in range(bits // 32)
    ]


def reg(first: int, bits: int) -> str:
    return f"v[{first}:{first + bits // 32 - 1}]"


def check(state, memory: np.ndarray, olds, datas, operation, bits, first=10):
    lanes = state.vgprs.shape[1]
    old, data = olds[:lanes], datas[:lanes]
    expected = [operation(o, d, bits) & MASK[bits] for o, d in zip(old, data, strict=True)]
    kind = np.uint32 if bits == 32 else np.uint64
    assert memory.view(kind)[:lanes].tolist() == expected
    if first is not None:
        got = sum(state.vgprs[first + i].astype(object) << 32 * i for i in range(bits // 32))
        assert got.tolist() == old


@pytest.mark.parametrize("arch", ALL)
@pytest.mark.parametrize("bits", [32, 64])
@pytest.mark.parametrize("names", OPERATIONS)
@pytest.mark.parametrize("space", ["global", "flat", "buffer"])
def test_integer_operations_on_memory(arch, bits, names, space):
    lanes, operation = lanes_of(arch), OPERATIONS[names]
    olds, datas = values(bits, 1), values(bits, 2)[::-1]
    data = np.array(olds[:lanes], np.uint32 if bits == 32 else np.uint64)
    old, new = names.split()
    word = f"{new}{bits}" if arch in RDNA else old + ("_x2" if bits == 64 else "")
    offsets = np.arange(lanes, dtype=np.uint32) * (bits // 8)
    flag, value, result = returning(arch), reg(4, bits), reg(10, bits)
    if space == "buffer":
        zero = "null" if arch == "gfx1201" else "0"
        copies = [f"v_mov_b32_e32 v{10 + i}, v{4 + i}" for i in range(bits // 32)]
        lines = [*copies, f"buffer_atomic_{word} {result}, v0, s[4:7], {zero} offen {flag}"]
    elif space == "global":
        lines = [f"global_atomic_{word} {result}, v0, {value}, s[2:3] {flag}"]
    else:
        add = "v_add_nc_u32_e32" if arch in RDNA else "v_add_u32_e32"
        lines = [
            f"{add} v8, s2, v0", "v_mov_b32_e32 v9, s3",
            f"flat_atomic_{word} {result}, v[8:9], {value} {flag}",
        ]  # fmt: skip
    lines = ["s_mov_b64 s[4:5], s[2:3]", *lines]
    rows = {4 + i: row[:lanes] for i, row in enumerate(words(datas, bits))}
    state = run_on(
        arch, lines, data, vgprs={0: offsets, **rows}, sgprs={6: data.nbytes, 7: 3 << 28}
    )  # fmt: skip
    check(state, data, olds, datas, operation, bits)


@pytest.mark.parametrize("arch", ALL)
@pytest.mark.parametrize("bits", [32, 64])
@pytest.mark.parametrize(
    "names", [n for n in OPERATIONS if not n.startswith("swap")] + ["rsub rsub_u"]
)
@pytest.mark.parametrize("returns", [False, True])
def test_integer_operations_on_lds(arch, bits, names, returns):
    lanes = lanes_of(arch)
    operation = OPERATIONS.get(names, lambda old, x, n: x - old)
    olds, datas = values(bits, 3), values(bits, 4)[::-1]
    head, _, kind = names.split()[1].rpartition("_")
    name = f"ds_{head}_rtn_{kind}{bits}" if returns else f"ds_{head}_{kind}{bits}"
    result = f"{reg(10, bits)}, " if returns else ""
    rows = {4 + i: row[:lanes] for i, row in enumerate(words(datas, bits))}
    rows |= {14 + i: row[:lanes] for i, row in enumerate(words(olds, bits))}
    state = sim.execute(
        [f"ds_write_b{bits} v0, {reg(14, bits)} offset:8", f"{name} {result}v0, {reg(4, bits)} offset:8"],
        arch=arch, vgprs={0: np.arange(lanes, dtype=np.uint32) * (bits // 8), **rows},
        lds_bytes=lanes * bits // 8 + 8,
    )  # fmt: skip
    check(state, state.lds[8:], olds, datas, operation, bits, 10 if returns else None)


def one(line: str, arch: str, old: int, bits: int, registers: dict[int, int]) -> tuple[int, int]:
    """Old value and new value of one lane's returning atomic on LDS; it writes v[10:11]."""
    state = sim.execute(
        [f"ds_write_b{bits} v0, {reg(14, bits)}", line], arch=arch, lanes=1, lds_bytes=8,
        vgprs={0: 0, 14: old & 0xFFFFFFFF, 15: old >> 32, **registers},
    )  # fmt: skip
    old_seen = int(state.vgprs[10, 0]) | (int(state.vgprs[11, 0]) << 32 if bits == 64 else 0)
    return old_seen, int.from_bytes(state.lds.tobytes()[: bits // 8], "little")


def f32(x: float) -> int:
    return struct.unpack("<I", struct.pack("<f", x))[0]


@pytest.mark.parametrize("arch", ALL)
def test_compare_and_swap_on_lds(arch):
    name = "ds_cmpst_rtn_b32" if arch in GFX9 else "ds_cmpstore_rtn_b32"
    # gfx9: comparand then value; gfx11 and gfx12: value then comparand.
    first, second = (7, 9) if arch in GFX9 else (9, 7)
    line = f"{name} v10, v0, v1, v2"
    assert one(line, arch, 7, 32, {1: first, 2: second}) == (7, 9)
    assert one(line, arch, 8, 32, {1: first, 2: second}) == (8, 8)


@pytest.mark.parametrize("arch", [*GFX9, "gfx1100"])
def test_float_compare_and_swap_on_lds(arch):
    name = "ds_cmpst_rtn_f32" if arch in GFX9 else "ds_cmpstore_rtn_f32"
    zero, negative_zero, nan = 0, 1 << 31, 0x7FC00000
    order = (lambda c, v: {1: c, 2: v}) if arch in GFX9 else (lambda c, v: {1: v, 2: c})
    line = f"{name} v10, v0, v1, v2"
    assert one(line, arch, negative_zero, 32, order(zero, 5)) == (negative_zero, 5)
    assert one(line, arch, nan, 32, order(nan, 5)) == (nan, nan)


@pytest.mark.parametrize("arch", ALL)
@pytest.mark.parametrize("bits", [32, 64])
def test_compare_and_swap_on_memory(arch, bits):
    lanes = lanes_of(arch)
    data = np.arange(lanes, dtype=np.uint32 if bits == 32 else np.uint64)
    word = f"cmpswap_b{bits}" if arch in RDNA else "cmpswap" + ("_x2" if bits == 64 else "")
    n = bits // 32
    comparand = np.where(np.arange(lanes) % 2, np.arange(lanes), 1000).astype(np.uint32)
    line = f"global_atomic_{word} {reg(10, bits)}, v0, {reg(4, 2 * bits)}, s[2:3] {returning(arch)}"
    offsets = np.arange(lanes, dtype=np.uint32) * (bits // 8)
    state = run_on(arch, [line], data, vgprs={0: offsets, 5: 0, 7: 0, 4: 77, 4 + n: comparand})
    assert data.tolist() == [77 if i % 2 else i for i in range(lanes)]
    assert state.vgprs[10].tolist() == list(range(lanes))


@pytest.mark.parametrize("arch", ALL)
def test_mask_or_and_exchange(arch):
    assert one("ds_mskor_rtn_b32 v10, v0, v1, v2", arch, 0b1101, 32, {1: 0b0101, 2: 0b0010}) == (
        13,
        10,
    )
    word = "wrxchg" if arch in GFX9 else "storexchg"
    assert one(f"ds_{word}_rtn_b64 v[10:11], v0, v[1:2]", arch, 5, 64, {1: 1, 2: 2}) == (
        5,
        2 << 32 | 1,
    )
    line = "ds_condxchg32_rtn_b64 v[10:11], v0, v[1:2]"
    old = 6 << 32 | 5
    assert one(line, arch, old, 64, {1: 1 << 31 | 9, 2: 8}) == (old, 6 << 32 | 9)
    assert one(line, arch, old, 64, {1: 9, 2: 1 << 31 | 8}) == (old, 8 << 32 | 5)


@pytest.mark.parametrize("arch", [*GFX9, "gfx1100"])
def test_wrap(arch):
    line = "ds_wrap_rtn_b32 v10, v0, v1, v2"
    assert one(line, arch, 12, 32, {1: 10, 2: 3}) == (12, 2)
    assert one(line, arch, 9, 32, {1: 10, 2: 3}) == (9, 12)


def test_clamped_subtraction():
    for old, new in ((5, 2), (2, 0)):
        assert one("ds_sub_clamp_rtn_u32 v10, v0, v1", "gfx1201", old, 32, {1: 3}) == (old, new)
    for old, new in ((5, 2), (2, 2)):
        assert one("ds_cond_sub_rtn_u32 v10, v0, v1", "gfx1201", old, 32, {1: 3}) == (old, new)
    data = np.array([5], np.uint32)
    run_on(
        "gfx1100",
        ["global_atomic_csub_u32 v1, v0, v2, s[2:3] glc"],
        data,
        lanes=1,
        vgprs={0: 0, 2: 9},
    )
    assert data[0] == 0


@pytest.mark.parametrize("arch", ALL)
def test_float_operations_on_lds(arch):
    suffix = "_num" if arch == "gfx1201" else ""
    for name, new in (
        ("add_rtn_f32", -0.5),
        (f"min{suffix}_rtn_f32", -2.0),
        (f"max{suffix}_rtn_f32", 1.5),
    ):
        assert one(f"ds_{name} v10, v0, v1", arch, f32(1.5), 32, {1: f32(-2.0)}) == (
            f32(1.5),
            f32(new),
        )
    if arch in GFX9:
        old, new = (struct.unpack("<Q", struct.pack("<d", x))[0] for x in (1.5, 4.0))
        line = "ds_add_rtn_f64 v[10:11], v0, v[1:2]"
        assert one(line, arch, old, 64, {1: 0, 2: 0x40040000}) == (old, new)


@pytest.mark.parametrize("arch", [*GFX94, "gfx1201"])
def test_packed_additions(arch):
    data = np.array([1.5, -2.0, 3.0, 65504.0], np.float16)
    addend = np.array([0.25, 2.0], np.float16).view(np.uint32)[0]
    run_on(
        arch,
        ["global_atomic_pk_add_f16 v0, v1, s[2:3]"],
        data,
        lanes=1,
        vgprs={0: 0, 1: int(addend)},
    )
    assert data.tolist() == [1.75, 0.0, 3.0, 65504.0]
    # bf16: 256 + 1 is a tie that goes to even, 258 + 1 one that goes up; NaN stays NaN.
    for old, x, new in (
        (0x4380_4381, 0x3F80_3F80, 0x4380_4382),
        (0x7FC0_0000, 0x3F80_0000, 0x7FC0_0000),
    ):
        data = np.array([old], np.uint32)
        run_on(
            arch, ["global_atomic_pk_add_bf16 v0, v1, s[2:3]"], data, lanes=1, vgprs={0: 0, 1: x}
        )
        assert int(data[0]) == new, hex(int(data[0]))


def test_float_additions_on_memory():
    data = np.array([1.5], np.float32)
    run_on("gfx90a", ["global_atomic_add_f32 v0, v1, s[2:3]"], data, vgprs={0: 0, 1: f32(1.0)})
    assert data[0] == 65.5
    wide = np.array([1.5], np.float64)
    run_on(
        "gfx942",
        ["global_atomic_add_f64 v0, v[4:5], s[2:3]"],
        wide,
        vgprs={0: 0, 4: 0, 5: 0x3FF00000},
    )
    assert wide[0] == 65.5


@pytest.mark.parametrize("arch", ["gfx942", "gfx1201"])
def test_workgroups_on_several_threads_lose_no_update(arch):
    load = "s_load_dwordx2 s[4:5], s[0:1], 0x0"
    wait = "s_wait_kmcnt 0x0" if arch == "gfx1201" else "s_waitcnt lgkmcnt(0)"
    add = "global_atomic_add_u32" if arch == "gfx1201" else "global_atomic_add"
    loop = ["s_movk_i32 s6, 100", "v_mov_b32_e32 v1, 0", "v_mov_b32_e32 v2, 1", ".LBB0_1:"]
    tail = [
        f"{add} v1, v2, s[4:5]",
        "s_add_i32 s6, s6, -1",
        "s_cmp_lg_u32 s6, 0",
        "s_cbranch_scc1 .LBB0_1",
    ]
    text = kernel_text("\n".join([load, wait, *loop, *tail]), arch)
    out = np.zeros(1, np.uint32)
    lanes = lanes_of(arch)
    sim.load_assembly(text).kernels["k"].launch(32, lanes, [out])
    assert out[0] == 32 * lanes * 100


@pytest.mark.parametrize(("line", "old", "after", "kept"), [
    ("s_atomic_add s6, s[2:3], 0x4", 7, 12, 5), ("s_atomic_add s6, s[2:3], 0x4 glc", 7, 12, 7),
    ("s_atomic_inc s6, s[2:3], s8 glc", 5, 0, 5),
])  # fmt: skip
def test_scalar_atomics(line, old, after, kept):
    data = np.array([1, old], np.uint32)
    state = run_on("gfx942", [line], data, sgprs={6: 5, 8: 4})
    assert data.tolist() == [1, after]
    assert state.sgprs[6] == kept
