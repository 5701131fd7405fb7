"""MUBUF: addresses and bounds of buffer resources, and loads that go to LDS."""

from __future__ import annotations

import numpy as np
import pytest
from memory_cases import ALL, GFX9, GFX94, RDNA, lanes_of, returning, run_on

from pipedsl.core.errors import MemoryFault

RAW = 3 << 28  # OOB_SELECT of gfx11 and gfx12


def run_buffer(arch, lines, data, records, *, stride=0, word3=RAW, vgprs=None, **more):
    """Run with a resource over `data` in s[4:7]."""
    lines = ["s_mov_b64 s[4:5], s[2:3]", f"s_or_b32 s5, s5, {hex(stride << 16)}", *lines]
    scalars = {6: records, 7: word3, **more.pop("sgprs", {})}
    return run_on(arch, lines, data, vgprs=vgprs, sgprs=scalars, **more)


def zero(arch: str) -> str:
    return "null" if arch == "gfx1201" else "0"


def lane_numbers(arch: str) -> np.ndarray:
    return np.arange(lanes_of(arch), dtype=np.uint32)


@pytest.mark.parametrize("arch", ALL)
def test_every_part_of_the_address_counts(arch):
    lane = lane_numbers(arch)
    data = np.arange(4096, dtype=np.uint32)
    state = run_buffer(
        arch,
        [
            f"buffer_load_dword v10, v0, s[4:7], {zero(arch)} offen offset:8",
            "buffer_load_dword v11, v0, s[4:7], s8 offen",
            "buffer_load_dword v12, off, s[4:7], s8 offset:4",
        ],
        data, 16384, vgprs={0: lane * 4}, sgprs={8: 400},
    )  # fmt: skip
    assert np.array_equal(state.vgprs[10], lane + 2)
    assert np.array_equal(state.vgprs[11], lane + 100)
    assert (state.vgprs[12] == 101).all()


@pytest.mark.parametrize("arch", ALL)
def test_index_times_stride(arch):
    lane = lane_numbers(arch)
    data = np.arange(1024, dtype=np.uint32)
    state = run_buffer(
        arch,
        [
            f"buffer_load_dword v10, v0, s[4:7], {zero(arch)} idxen offset:4",
            f"buffer_load_dword v11, v[0:1], s[4:7], {zero(arch)} idxen offen",
        ],
        data, 5, stride=12, word3=0, vgprs={0: lane, 1: 8},
    )  # fmt: skip
    inside = lane < 5  # the index is compared with the number of records
    assert np.array_equal(state.vgprs[10], np.where(inside, 3 * lane + 1, 0))
    assert np.array_equal(state.vgprs[11], np.where(inside, 3 * lane + 2, 0))


@pytest.mark.parametrize("arch", RDNA)
def test_out_of_bounds_selection(arch):
    lane = lane_numbers(arch)
    data = np.arange(1024, dtype=np.uint32) + 1
    line = [f"buffer_load_dword v10, v[0:1], s[4:7], {zero(arch)} idxen offen"]

    def loaded(select: int, records: int) -> np.ndarray:
        vgprs = {0: lane // 4, 1: lane % 4 * 4}
        return run_buffer(
            arch, line, data, records, stride=12, word3=select << 28, vgprs=vgprs
        ).vgprs[10]

    values = lane // 4 * 3 + lane % 4 + 1
    assert np.array_equal(loaded(0, 6), np.where((lane // 4 < 6) & (lane % 4 < 3), values, 0))
    assert np.array_equal(loaded(1, 6), np.where(lane // 4 < 6, values, 0))
    assert np.array_equal(loaded(2, 6), values)
    assert not loaded(2, 0).any()
    assert np.array_equal(loaded(3, 40), np.where(values <= 10, values, 0))


@pytest.mark.parametrize("arch", GFX9)
def test_bytes_bound_without_index_or_stride(arch):
    lane = lane_numbers(arch)
    data = np.arange(1024, dtype=np.uint32) + 1
    line = ["buffer_load_dword v10, v0, s[4:7], 0 offen"]
    state = run_buffer(arch, line, data, 40, stride=12, vgprs={0: lane * 4})
    assert np.array_equal(state.vgprs[10], np.where(lane < 10, lane + 1, 0))


@pytest.mark.parametrize("arch", ALL)
def test_dwords_are_bounded_one_by_one(arch):
    data = np.arange(64, dtype=np.uint32) + 1
    offsets = np.array([0, 16, 24, 28, 32, 0xFFFFFFFC], np.uint32)
    apart = np.array([0, 24, 32, 36, 40, 0xFFFFFFFC], np.uint32)
    lines = [
        f"buffer_load_dwordx4 v[4:7], v0, s[4:7], {zero(arch)} offen",
        f"buffer_store_dwordx4 v[8:11], v1, s[4:7], {zero(arch)} offen",
    ]
    state = run_buffer(
        arch, lines, data, 32, lanes=6,
        vgprs={0: offsets, 1: apart, **{4 + i: 99 for i in range(4)}, **{8 + i: 70 + i for i in range(4)}},
    )  # fmt: skip
    assert state.vgprs[4:8, :6].T.tolist() == [
        [1, 2, 3, 4], [5, 6, 7, 8], [7, 8, 0, 0], [8, 0, 0, 0], [0] * 4, [0] * 4,
    ]  # fmt: skip
    assert data[:9].tolist() == [70, 71, 72, 73, 5, 6, 70, 71, 9]


@pytest.mark.parametrize("arch", ALL)
def test_scalar_offset_counts_toward_the_bound(arch):
    lane = lane_numbers(arch)
    data = np.arange(64, dtype=np.uint32) + 1
    line = ["buffer_load_dword v10, v0, s[4:7], s8 offen"]
    state = run_buffer(arch, line, data, 32, vgprs={0: lane * 4}, sgprs={8: 16})
    assert np.array_equal(state.vgprs[10], np.where(lane < 4, lane + 5, 0))


@pytest.mark.parametrize("arch", ALL)
def test_halves_out_of_range_are_zero(arch):
    lines = [
        f"buffer_load_short_d16_hi v4, v0, s[4:7], {zero(arch)} offen",
        f"buffer_load_ubyte_d16 v5, v0, s[4:7], {zero(arch)} offen",
        f"buffer_load_sbyte v6, v0, s[4:7], {zero(arch)} offen",
        f"buffer_store_short v7, v0, s[4:7], {zero(arch)} offen",
    ]
    data = np.array([0xFFF2, 7, 8, 9], np.uint16)
    state = run_buffer(
        arch, lines, data, 4, lanes=2, vgprs={0: np.array([0, 4]), 4: 0x11112222, 5: 0x33334444, 7: 5}
    )  # fmt: skip
    assert [hex(v) for v in state.vgprs[4:7, 0]] == ["0xfff22222", "0x333300f2", "0xfffffff2"]
    assert [hex(v) for v in state.vgprs[4:7, 1]] == ["0x2222", "0x33330000", "0x0"]
    assert data.tolist() == [5, 7, 8, 9]


@pytest.mark.parametrize("arch", ALL)
def test_atomics_out_of_range_return_zero(arch):
    word = "add_u32" if arch in RDNA else "add"
    line = f"buffer_atomic_{word} v4, v0, s[4:7], {zero(arch)} offen {returning(arch)}"
    data = np.array([10, 20, 30], np.uint32)
    state = run_buffer(arch, [line], data, 8, lanes=3, vgprs={0: np.array([4, 0, 8]), 4: 1})
    assert state.vgprs[4, :4].tolist() == [20, 10, 0, 1]
    assert data.tolist() == [11, 21, 30]


def test_inside_the_resource_but_outside_the_array_is_a_fault():
    with pytest.raises(MemoryFault, match="to data at index 4 is out of its 4 elements"):
        run_buffer(
            "gfx942", ["buffer_load_dword v1, v0, s[4:7], 0 offen"], np.zeros(4, np.uint32), 4096,
            vgprs={0: 16},
        )  # fmt: skip


def test_swizzling_is_refused():
    with pytest.raises(MemoryFault, match="buffer resource that swizzles"):
        run_buffer(
            "gfx942", ["buffer_load_dword v1, off, s[4:7], 0"], np.zeros(4, np.uint32), 16,
            word3=1 << 23,
        )  # fmt: skip


LDS_FORMS = {
    "ubyte": np.uint8,
    "sbyte": np.int8,
    "ushort": np.uint16,
    "sshort": np.int16,
    "dword": np.uint32,
}


@pytest.mark.parametrize("arch", GFX9)
@pytest.mark.parametrize("form", LDS_FORMS)
def test_buffer_load_to_lds(arch, form):
    """Lane i writes M0 + offset + 4 i; masked lanes leave a gap, lanes out of range write 0."""
    kind = np.dtype(LDS_FORMS[form])
    lane = lane_numbers(arch)
    data = np.random.default_rng(5).integers(0, 256, 512).astype(np.uint8)
    lines = [
        "s_mov_b32 exec_lo, 0xfffffff7",
        "s_mov_b32 m0, 32",
        f"buffer_load_{form} v0, s[4:7], 0 offen offset:16 lds",
    ]
    size = kind.itemsize
    records = 16 + 60 * size
    state = run_buffer(arch, lines, data, records, vgprs={0: lane * size}, lds_bytes=512)
    values = data[16:].view(np.uint8)[: 64 * size].view(kind).astype(np.int64).astype(np.uint32)
    values[60:] = 0
    values[3] = 0  # LDS was 0
    assert np.array_equal(state.lds[48:304].view(np.uint32), values)
    assert not state.lds[:48].any() and not state.lds[304:].any()


@pytest.mark.parametrize("arch", GFX94)
def test_global_load_to_lds(arch):
    lane = lane_numbers(arch)
    data = np.arange(128, dtype=np.uint32)
    lines = [
        "s_mov_b32 m0, 16",
        "global_load_lds_dword v0, s[2:3] offset:8",
        "s_mov_b32 m0, 300",
        "global_load_lds_ushort v0, s[2:3] offset:4",
    ]
    state = run_on(arch, lines, data, vgprs={0: lane[::-1] * 4}, lds_bytes=1024)
    words = state.lds.view(np.uint32)
    assert np.array_equal(words[6:70], lane[::-1] + 2)
    assert np.array_equal(words[76:140], lane[::-1] + 1)


@pytest.mark.parametrize(
    "line", ["global_load_lds_{} v0, s[2:3]", "buffer_load_{} v0, s[4:7], 0 offen lds"]
)
@pytest.mark.parametrize("dwords", [3, 4])
def test_wide_loads_to_lds_are_16_bytes_apart(line, dwords):
    lane = lane_numbers("gfx950")
    data = np.arange(64 * dwords, dtype=np.uint32) + 1
    lines = ["s_mov_b32 m0, 64", line.format(f"dwordx{dwords}")]
    state = run_buffer(
        "gfx950", lines, data, data.nbytes, vgprs={0: lane * 4 * dwords}, lds_bytes=64 + 1024
    )  # fmt: skip
    rows = state.lds[64:].view(np.uint32).reshape(64, 4)
    assert np.array_equal(rows[:, :dwords], data.reshape(64, dwords))
    assert not rows[:, dwords:].any()


def test_a_load_to_lds_beyond_its_end():
    with pytest.raises(
        MemoryFault, match="an LDS access of 4 bytes at byte 128 is outside"
    ) as fault:
        run_on(
            "gfx942", ["s_mov_b32 m0, 0", "global_load_lds_dword v0, s[2:3]"], np.zeros(64, np.uint32),
            vgprs={0: 0}, lds_bytes=128,
        )  # fmt: skip
    assert "lane 32" in str(fault.value)
