"""GLOBAL, FLAT and SCRATCH loads and stores."""

from __future__ import annotations

import numpy as np
import pytest
from memory_cases import ALL, RDNA, lanes_of, pointers, run_on

from pipedsl import sim
from pipedsl.core.errors import AssemblyError, MemoryFault

LOADS = {
    "ubyte u8": np.uint8, "sbyte i8": np.int8, "ushort u16": np.uint16, "sshort i16": np.int16,
    "dword b32": np.uint32,
}  # fmt: skip
D16_LOADS = {
    "ubyte_d16 d16_u8": (np.uint8, 0), "ubyte_d16_hi d16_hi_u8": (np.uint8, 16),
    "sbyte_d16 d16_i8": (np.int8, 0), "sbyte_d16_hi d16_hi_i8": (np.int8, 16),
    "short_d16 d16_b16": (np.int16, 0), "short_d16_hi d16_hi_b16": (np.int16, 16),
}  # fmt: skip
WIDE = {"dwordx2 b64": 2, "dwordx3 b96": 3, "dwordx4 b128": 4}


def word(names: str, arch: str) -> str:
    return names.split()[arch in RDNA]


def some_bytes(n: int) -> np.ndarray:
    return np.random.default_rng(n).integers(0, 256, n).astype(np.uint8)


@pytest.mark.parametrize("arch", ALL)
@pytest.mark.parametrize("space", ["global", "flat"])
@pytest.mark.parametrize("names", LOADS)
def test_load_extends(arch, space, names):
    lanes, kind = lanes_of(arch), np.dtype(LOADS[names])
    data = some_bytes(lanes * 4 + 8)
    offsets = np.arange(lanes, dtype=np.uint32)[::-1] * kind.itemsize
    tail = ", off" if space == "global" else ""
    line = f"{space}_load_{word(names, arch)} v3, v[1:2]{tail} offset:4"
    state = run_on(arch, [*pointers(arch), line], data, vgprs={0: offsets})
    values = data[4:][: lanes * kind.itemsize].view(kind)[::-1]
    assert np.array_equal(state.vgprs[3], values.astype(np.int64).astype(np.uint32))


@pytest.mark.parametrize("arch", ALL)
@pytest.mark.parametrize("names", D16_LOADS)
def test_d16_load_keeps_the_other_half(arch, names):
    lanes, (kind, shift) = lanes_of(arch), D16_LOADS[names]
    size = np.dtype(kind).itemsize
    data = some_bytes(lanes * size)
    state = run_on(
        arch, [f"global_load_{word(names, arch)} v3, v0, s[2:3]"], data,
        vgprs={0: np.arange(lanes, dtype=np.uint32) * size, 3: 0x12345678},
    )  # fmt: skip
    half = data.view(kind).astype(np.int64).astype(np.uint32) & 0xFFFF
    kept = 0x12345678 & ~(0xFFFF << shift)
    assert np.array_equal(state.vgprs[3], half << shift | kept)


@pytest.mark.parametrize("arch", ALL)
@pytest.mark.parametrize("names", WIDE)
def test_wide_loads_and_stores(arch, names):
    lanes, dwords = lanes_of(arch), WIDE[names]
    data = some_bytes(2 * lanes * 4 * dwords).view(np.uint32)
    half = lanes * dwords
    before = data[:half].copy()
    lines = [
        f"global_load_{word(names, arch)} v[4:{3 + dwords}], v0, s[2:3]",
        f"global_store_{word(names, arch)} v1, v[4:{3 + dwords}], s[2:3]",
    ]
    offsets = np.arange(lanes, dtype=np.uint32) * 4 * dwords
    state = run_on(arch, lines, data, vgprs={0: offsets, 1: offsets + 4 * half})
    assert np.array_equal(state.vgprs[4 : 4 + dwords].T.ravel(), before)
    assert np.array_equal(data, np.tile(before, 2))


@pytest.mark.parametrize("arch", ALL)
@pytest.mark.parametrize(
    ("names", "kind", "shift"),
    [("byte b8", np.uint8, 0), ("byte_d16_hi d16_hi_b8", np.uint8, 16),
     ("short b16", np.uint16, 0), ("short_d16_hi d16_hi_b16", np.uint16, 16),
     ("dword b32", np.uint32, 0)],
)  # fmt: skip
def test_narrow_stores_touch_only_their_bytes(arch, names, kind, shift):
    lanes, size = lanes_of(arch), np.dtype(kind).itemsize
    data = np.full(lanes * 2 * size, 0xEE, np.uint8)
    values = some_bytes(lanes * 4).view(np.uint32)
    run_on(
        arch, [f"global_store_{word(names, arch)} v0, v3, s[2:3]"], data,
        vgprs={0: np.arange(lanes, dtype=np.uint32) * 2 * size, 3: values},
    )  # fmt: skip
    view = data.view(kind).reshape(lanes, 2)
    assert np.array_equal(view[:, 0], (values >> shift).astype(kind))
    assert (data.reshape(lanes, 2, size)[:, 1] == 0xEE).all()


@pytest.mark.parametrize("arch", ALL)
def test_offsets_may_be_negative_and_masked_lanes_do_nothing(arch):
    lanes = lanes_of(arch)
    data = np.arange(lanes + 2, dtype=np.uint32)
    offsets = np.arange(lanes, dtype=np.uint32) * 4 + 8
    offsets[5:] = 0xFFFFFF00  # far outside, but these lanes are off
    state = run_on(
        arch, ["global_load_dword v3, v0, s[2:3] offset:-8", "global_store_dword v0, v3, s[2:3]"],
        data, vgprs={0: offsets, 3: 77}, lanes=5,
    )  # fmt: skip
    assert state.vgprs[3][:5].tolist() == [0, 1, 2, 3, 4]
    assert (state.vgprs[3][5:] == 77).all()
    assert data[:8].tolist() == [0, 1, 0, 1, 2, 3, 4, 7]


@pytest.mark.parametrize("arch", ALL)
def test_a_load_without_active_lanes_is_nothing(arch):
    zero = "s_mov_b64 exec, 0" if lanes_of(arch) == 64 else "s_mov_b32 exec_lo, 0"
    lines = [zero, "global_load_dword v3, v[0:1], off", "ds_read_b32 v3, v0"]
    state = run_on(arch, lines, np.zeros(1, np.uint32), vgprs={3: 9})
    assert (state.vgprs[3] == 9).all()


def test_lanes_may_reach_different_allocations():
    memory = sim.Memory()
    arrays = [np.full(4, 10 + i, np.uint32) for i in range(64)]
    where = np.array([memory.map(a, f"a{i}") for i, a in enumerate(arrays)], np.uint64)
    lanes = {0: (where & 0xFFFFFFFF).astype(np.uint32), 1: (where >> 32).astype(np.uint32)}
    lines = [
        "global_load_dwordx2 v[4:5], v[0:1], off",
        "global_store_dword v[0:1], v2, off offset:12",
    ]
    lanes[2] = np.arange(64, dtype=np.uint32)
    state = sim.execute(lines, arch="gfx942", vgprs=lanes, memory=memory)
    assert state.vgprs[5].tolist() == [10 + i for i in range(64)]
    assert [int(a[3]) for a in arrays] == list(range(64))
    assert all((a[:3] == 10 + i).all() for i, a in enumerate(arrays))


def test_of_equal_addresses_the_highest_lane_wins():
    data = np.zeros(1, np.uint32)
    run_on(
        "gfx942", ["global_store_dword v0, v1, s[2:3]"], data,
        vgprs={0: 0, 1: np.arange(64, dtype=np.uint32)},
    )  # fmt: skip
    assert data[0] == 63


def test_the_first_lane_outside_is_named():
    offsets = np.arange(64, dtype=np.uint32) * 4
    offsets[[7, 40]] = 256
    with pytest.raises(MemoryFault, match="to data at index 64 is out of its 64 elements") as fault:
        run_on(
            "gfx942", ["global_load_dword v1, v0, s[2:3]"], np.zeros(64, np.uint32),
            vgprs={0: offsets},
        )  # fmt: skip
    assert "lane 7" in str(fault.value)


@pytest.mark.parametrize("arch", ALL)
def test_flat_reaches_lds_scratch_and_global_memory(arch):
    lanes = lanes_of(arch)
    data = np.arange(lanes, dtype=np.uint32) + 100
    lane = np.arange(lanes, dtype=np.uint32)
    state = run_on(
        arch,
        [
            "v_mov_b32_e32 v4, 5", "ds_write_b32 v5, v4 offset:8",
            "s_mov_b64 s[4:5], src_shared_base", "s_mov_b64 s[6:7], src_private_base",
            "v_mov_b32_e32 v2, s5", "v_mov_b32_e32 v1, 8", "flat_load_dword v6, v[1:2]",
            "v_mov_b32_e32 v2, s7", "v_mov_b32_e32 v1, 4", "flat_store_dword v[1:2], v0 offset:4",
            "flat_load_dword v7, v[1:2] offset:4",
            *pointers(arch), "flat_load_dword v8, v[1:2]",
        ],
        data, vgprs={0: lane * 4, 5: 0}, lds_bytes=64, scratch_bytes=16,
    )  # fmt: skip
    assert (state.vgprs[6] == 5).all()
    assert np.array_equal(state.vgprs[7], lane * 4)  # every lane has its own
    assert np.array_equal(state.vgprs[8], lane + 100)


@pytest.mark.parametrize("arch", ALL)
def test_scratch_is_private_to_a_lane(arch):
    lane = np.arange(lanes_of(arch), dtype=np.uint32)
    lines = [
        "scratch_store_dwordx4 off, v[4:7], s4 offset:16",
        "scratch_store_byte v8, v0, off",
        "scratch_load_dwordx2 v[10:11], off, s5",
        "scratch_load_ubyte v12, v8, off",
    ]
    vgprs = {0: lane, 4: lane, 5: lane + 1, 6: lane + 2, 7: lane + 3, 8: lane % 8}
    state = sim.execute(
        lines, arch=arch, vgprs=vgprs, sgprs={4: 4, 5: 24}, scratch_bytes=64
    )  # fmt: skip
    assert np.array_equal(state.vgprs[10], lane + 1)
    assert np.array_equal(state.vgprs[11], lane + 2)
    assert np.array_equal(state.vgprs[12], lane)


@pytest.mark.parametrize("arch", ["gfx942", "gfx950", *RDNA])
def test_scratch_with_both_registers(arch):
    lines = ["scratch_store_dword v0, v1, s4 offset:4", "scratch_load_dword v2, off, s5"]
    state = sim.execute(
        lines, arch=arch, vgprs={0: 8, 1: 6}, sgprs={4: 4, 5: 16}, scratch_bytes=32
    )  # fmt: skip
    assert (state.vgprs[2] == 6).all()


def test_scratch_is_bounded():
    with pytest.raises(
        MemoryFault, match="a scratch access of 4 bytes at byte 30 is out of bounds"
    ):
        sim.execute(
            ["scratch_load_dword v0, off, s4"], arch="gfx942", sgprs={4: 30}, scratch_bytes=32
        )


@pytest.mark.parametrize("arch", RDNA)
def test_addtid(arch):
    data = np.arange(40, dtype=np.uint32)
    lines = ["global_load_addtid_b32 v1, s[2:3] offset:8", "global_store_addtid_b32 v1, s[2:3]"]
    state = run_on(arch, lines, data)
    assert state.vgprs[1].tolist() == list(range(2, 34))
    assert data.tolist() == [*range(2, 34), *range(32, 40)]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("global_load_dword v0, off, off", "needs an address register"),
        ("global_load_dword v0, v[2:3], off tfe", "does not have tfe of global_load_dword"),
        ("global_load_dword s0, v[2:3], off", "expected a vector register"),
        ("global_load_dwordx4 v[0:1], v[2:3], off", "expected 4 registers"),
        ("global_load_dword v0, v2", "expected 3 operands, got 2"),
    ],
)
def test_what_is_refused(line, message):
    with pytest.raises(AssemblyError, match=message):
        sim.execute([line], arch="gfx942")
