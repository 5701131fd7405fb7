"""DS: loads and stores of LDS, and lane permutations."""

from __future__ import annotations

import numpy as np
import pytest
from memory_cases import ALL, GFX9, RDNA, lanes_of

from pipedsl import sim
from pipedsl.core.errors import AssemblyError, MemoryFault, UnsupportedInstruction

FORMS = ["u8", "i8", "u16", "i16", "b32"]


def some_words(n: int) -> np.ndarray:
    return np.random.default_rng(n).integers(0, 1 << 32, n).astype(np.uint32)


def spelled(line: str, arch: str) -> str:
    """gfx11's spelling of a gfx9 line."""
    if arch in GFX9:
        return line
    for old, new in (
        ("ds_read2st64", "ds_load_2addr_stride64"), ("ds_write2st64", "ds_store_2addr_stride64"),
        ("ds_wrxchg2st64", "ds_storexchg_2addr_stride64"), ("ds_read2", "ds_load_2addr"),
        ("ds_write2", "ds_store_2addr"), ("ds_wrxchg2", "ds_storexchg_2addr"),
        ("ds_wrxchg", "ds_storexchg"), ("ds_read", "ds_load"), ("ds_write", "ds_store"),
    ):  # fmt: skip
        if line.startswith(old):
            return new + line.removeprefix(old)
    return line


@pytest.mark.parametrize("arch", ALL)
@pytest.mark.parametrize("form", FORMS)
def test_narrow_loads_extend(arch, form):
    lanes, words = lanes_of(arch), some_words(lanes_of(arch))
    kind = np.dtype({"u": "u", "i": "i", "b": "u"}[form[0]] + str(int(form[1:]) // 8))
    lane = np.arange(lanes, dtype=np.uint32)
    lines = ["ds_write_b32 v0, v1", f"ds_read_{form} v3, v2 offset:{kind.itemsize}"]
    places = (lane[::-1] * kind.itemsize) % (lanes * 4 - kind.itemsize)
    state = sim.execute(
        [spelled(line, arch) for line in lines], arch=arch, lds_bytes=lanes * 4,
        vgprs={0: lane * 4, 1: words, 2: places},
    )  # fmt: skip
    memory = words.view(np.uint8)
    values = [memory[p + kind.itemsize :][: kind.itemsize].view(kind)[0] for p in places]
    assert np.array_equal(state.vgprs[3], np.array(values).astype(np.int64).astype(np.uint32))


@pytest.mark.parametrize("arch", ALL)
@pytest.mark.parametrize("dwords", [1, 2, 3, 4])
def test_wide_stores_and_loads(arch, dwords):
    lanes, words = lanes_of(arch), some_words(lanes_of(arch) * dwords).reshape(-1, dwords)
    lane = np.arange(lanes, dtype=np.uint32)
    span = lambda first: f"v[{first}:{first + dwords - 1}]"  # noqa: E731
    lines = [
        f"ds_write_b{32 * dwords} v0, {span(4)} offset:16",
        f"ds_read_b{32 * dwords} {span(12)}, v1 offset:16",
    ]
    order = np.random.default_rng(0).permutation(lanes).astype(np.uint32)
    state = sim.execute(
        [spelled(line, arch) for line in lines], arch=arch, lds_bytes=lanes * dwords * 4 + 16,
        vgprs={0: lane * 4 * dwords, 1: order * 4 * dwords, **{4 + i: words[:, i] for i in range(dwords)}},
    )  # fmt: skip
    assert np.array_equal(state.lds[16:].view(np.uint32), words.ravel())
    assert np.array_equal(state.vgprs[12 : 12 + dwords].T, words[order])


@pytest.mark.parametrize("arch", ALL)
def test_halves(arch):
    lines = [
        "ds_write_b16 v0, v1", "ds_write_b16_d16_hi v0, v1 offset:2", "ds_write_b8 v0, v1 offset:4",
        "ds_write_b8_d16_hi v0, v1 offset:5", "ds_read_u16_d16 v4, v0 offset:2",
        "ds_read_u16_d16_hi v5, v0", "ds_read_u8_d16 v6, v0 offset:5",
        "ds_read_i8_d16_hi v7, v0 offset:5", "ds_read_i8_d16 v8, v0 offset:4",
        "ds_read_u8_d16_hi v9, v0 offset:4",
    ]  # fmt: skip
    state = sim.execute(
        [spelled(line, arch) for line in lines], arch=arch, lanes=1, lds_bytes=8,
        vgprs={0: 0, 1: 0x92348678, **dict.fromkeys(range(4, 10), 0xAAAABBBB)},
    )  # fmt: skip
    assert state.lds.tobytes() == bytes.fromhex("7886 3492 7834 0000")
    assert [int(v[0]) for v in state.vgprs[4:10]] == [
        0xAAAA9234, 0x8678BBBB, 0xAAAA0034, 0x0034BBBB, 0xAAAA0078, 0x0078BBBB,
    ]  # fmt: skip


@pytest.mark.parametrize("arch", ALL)
@pytest.mark.parametrize(("bits", "stride"), [(32, 1), (64, 1), (32, 64), (64, 64)])
def test_two_addresses(arch, bits, stride):
    n, size = bits // 32, bits // 8
    word = "st64" if stride == 64 else ""
    at = [size * stride * i for i in (1, 3)]
    lines = [
        f"ds_write2{word}_b{bits} v0, v[4:{3 + n}], v[8:{7 + n}] offset0:1 offset1:3",
        f"ds_read2{word}_b{bits} v[0:{2 * n - 1}], v0 offset0:3 offset1:1",
        f"ds_wrxchg2{word}_rtn_b{bits} v[20:{19 + 2 * n}], v30, v[8:{7 + n}], v[4:{3 + n}] offset0:1 offset1:3",
    ]
    state = sim.execute(
        [spelled(line, arch) for line in lines], arch=arch, lanes=1, lds_bytes=at[1] + size,
        vgprs={0: 0, 30: 0, 4: 10, 5: 11, 8: 20, 9: 21},
    )  # fmt: skip
    first, second = [10, 11][:n], [20, 21][:n]
    assert state.vgprs[: 2 * n, 0].tolist() == second + first
    assert state.vgprs[20 : 20 + 2 * n, 0].tolist() == first + second
    memory = state.lds.view(np.uint32)
    assert memory[at[0] // 4 :][:n].tolist() == second  # exchanged
    assert memory[at[1] // 4 :][:n].tolist() == first


@pytest.mark.parametrize("arch", ALL)
def test_addresses_wrap_at_32_bits(arch):
    state = sim.execute(
        [spelled("ds_read_b32 v1, v0 offset:16", arch)], arch=arch, vgprs={0: 0xFFFFFFF4, 1: 9}, lds_bytes=8
    )  # fmt: skip
    assert not state.vgprs[1].any()


@pytest.mark.parametrize("arch", ALL)
def test_addresses_from_the_lane_number(arch):
    lanes = lanes_of(arch)
    lines = ["ds_write_addtid_b32 v0 offset:8", "ds_read_addtid_b32 v1 offset:4"]
    state = sim.execute(
        [spelled(line, arch) for line in lines], arch=arch, lds_bytes=lanes * 4 + 12,
        vgprs={0: np.arange(lanes, dtype=np.uint32) + 1}, sgprs={124: 4},
    )  # fmt: skip
    assert state.lds.view(np.uint32).tolist() == [0, 0, 0, *range(1, lanes + 1)]
    assert state.vgprs[1].tolist() == list(range(lanes))


@pytest.mark.parametrize("arch", [*GFX9, "gfx1100"])
def test_append_and_consume(arch):
    lines = ["ds_append v1 offset:4", "ds_append v2 offset:4", "ds_consume v3 offset:4"]
    state = sim.execute(lines, arch=arch, lanes=5, lds_bytes=16, sgprs={124: 8}, vgprs={3: 99})
    assert [v[:6].tolist() for v in state.vgprs[1:4]] == [
        [0] * 5 + [0],
        [5] * 5 + [0],
        [10] * 5 + [99],
    ]
    assert state.lds.view(np.uint32).tolist() == [0, 0, 0, 5]


def test_append_on_gfx12_is_refused():
    with pytest.raises(
        UnsupportedInstruction, match="ds_append for gfx1201: compilers pass the address in M0"
    ):
        sim.execute(["ds_append v1"], arch="gfx1201")


@pytest.mark.parametrize(("bits", "dwords", "name"), [
    (16, 2, "ds_read_b64_tr_b16"), (8, 2, "ds_read_b64_tr_b8"), (4, 2, "ds_read_b64_tr_b4"),
    (6, 3, "ds_read_b96_tr_b6"),
])  # fmt: skip
def test_transposed_loads(bits, dwords, name):
    """Rows of 16 elements lie one after the other; lane i of 16 gets column i."""
    words = some_words(64 * dwords)
    lane = np.arange(64, dtype=np.uint32)
    stores = [f"ds_write_b32 v1, v{4 + i} offset:{4 * i}" for i in range(dwords)]
    state = sim.execute(
        [*stores, f"{name} v[10:{9 + dwords}], v1"], arch="gfx950", lds_bytes=words.nbytes,
        vgprs={1: lane * 4 * dwords, **{4 + i: words[i::dwords] for i in range(dwords)}},
    )  # fmt: skip

    def elements(raw: np.ndarray) -> np.ndarray:
        unpacked = np.unpackbits(raw.view(np.uint8), bitorder="little")
        return unpacked.reshape(-1, bits).astype(np.int64) @ (1 << np.arange(bits))

    tiles = elements(words).reshape(4, 32 * dwords // bits, 16)
    result = elements(np.ascontiguousarray(state.vgprs[10 : 10 + dwords].T)).reshape(4, 16, -1)
    assert np.array_equal(result, tiles.transpose(0, 2, 1))


@pytest.mark.parametrize("arch", ALL)
def test_permutations_respect_exec(arch):
    lanes = lanes_of(arch)
    source = np.arange(lanes, dtype=np.uint32)[::-1] * 4
    state = sim.execute(
        ["ds_bpermute_b32 v2, v0, v1 offset:4", "ds_permute_b32 v3, v4, v1"], arch=arch,
        lanes=lanes - 2,
        vgprs={0: source + 4 * lanes, 1: np.arange(lanes, dtype=np.uint32) + 100, 2: 7, 3: 7, 4: 12},
    )  # fmt: skip
    wanted = [(lanes - 1 - i + 1) % lanes for i in range(lanes - 2)]
    assert state.vgprs[2].tolist() == [100 + w if w < lanes - 2 else 0 for w in wanted] + [7, 7]
    scattered = [0] * (lanes - 2)
    scattered[3] = 100 + lanes - 3  # the highest lane of all that name lane 3
    assert state.vgprs[3].tolist() == [*scattered, 7, 7]


def test_gather_from_inactive_lanes():
    state = sim.execute(
        ["ds_bpermute_fi_b32 v2, v0, v1"], arch="gfx1201", lanes=1,
        vgprs={0: 31 * 4, 1: np.arange(32, dtype=np.uint32)},
    )  # fmt: skip
    assert state.vgprs[2][0] == 31


SWIZZLES = {
    "swizzle(SWAP,16)": lambda i: i ^ 16,
    "swizzle(SWAP,1)": lambda i: i ^ 1,
    "swizzle(REVERSE,8)": lambda i: i ^ 7,
    "swizzle(BROADCAST,4,1)": lambda i: i & ~3 | 1,
    "swizzle(QUAD_PERM,3,2,1,0)": lambda i: i & ~3 | 3 - (i & 3),
    'swizzle(BITMASK_PERM,"01pip")': lambda i: i & 32 | (i & 7 ^ 2 | 8),
    "swizzle(ROTATE,0,3)": lambda i: i & 32 | (i + 3) % 32,
    "swizzle(ROTATE,1,3)": lambda i: i & 32 | (i - 3) % 32,
    "swizzle(FFT,31)": lambda i: i,
    "swizzle(FFT,0)": lambda i: i & 32 | int(f"{i & 31:05b}"[::-1], 2),
    "0x401f": lambda i: i ^ 16,
    "0xe01f": lambda i: i,
}


@pytest.mark.parametrize("arch", ["gfx942", "gfx1100"])
@pytest.mark.parametrize("text", SWIZZLES)
def test_swizzle(arch, text):
    lanes = lanes_of(arch)
    state = sim.execute(
        [f"ds_swizzle_b32 v1, v0 offset:{text}"], arch=arch,
        vgprs={0: np.arange(lanes, dtype=np.uint32)},
    )  # fmt: skip
    assert state.vgprs[1].tolist() == [SWIZZLES[text](i) for i in range(lanes)]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("swizzle(SWAP)", "invalid literal"),
        ("swizzle(TWIST,1)", r"swizzle\(TWIST,1\) is not a swizzle mode"),
        ('swizzle(BITMASK_PERM,"01x")', '"01x" is not five of 0, 1, p, i'),
        ("swizzle(QUAD_PERM,0,1,2,4)", "does not name four lanes of a quad"),
    ],
)
def test_malformed_swizzle(text, message):
    with pytest.raises(AssemblyError, match=message):
        sim.execute([f"ds_swizzle_b32 v1, v0 offset:{text}"], arch="gfx942")


def test_a_store_outside_names_lane_and_byte():
    address = np.full(64, 4, np.uint32)
    address[9] = 60
    with pytest.raises(
        MemoryFault, match="an LDS access of 16 bytes at byte 60 is outside the workgroup's 64"
    ) as fault:
        sim.execute(["ds_write_b128 v0, v[4:7]"], arch="gfx942", vgprs={0: address}, lds_bytes=64)
    assert "lane 9" in str(fault.value)


@pytest.mark.parametrize("arch", RDNA)
def test_gfx11_spellings_exist(arch):
    sim.execute(
        ["ds_load_b32 v1, v0", "ds_store_b32 v0, v1", "ds_nop"],
        arch=arch,
        vgprs={0: 0},
        lds_bytes=4,
    )
