"""SMEM: scalar loads and stores."""

from __future__ import annotations

import numpy as np
import pytest
from memory_cases import ALL, GFX9, RDNA, run_on

from pipedsl.core.errors import MemoryFault


@pytest.mark.parametrize("arch", ALL)
@pytest.mark.parametrize("dwords", [1, 2, 4, 8, 16])
def test_loads(arch, dwords):
    data = np.arange(64, dtype=np.uint32) + 5
    name = (
        f"s_load_b{32 * dwords}"
        if arch in RDNA
        else "s_load_dword" + (f"x{dwords}" if dwords > 1 else "")
    )
    span = f"s[16:{15 + dwords}]" if dwords > 1 else "s16"
    lines = [f"{name} {span}, s[2:3], 0x10"]
    assert run_on(arch, lines, data).sgprs[16 : 16 + dwords].tolist() == list(range(9, 9 + dwords))


@pytest.mark.parametrize("arch", ALL)
@pytest.mark.parametrize(
    ("operand", "first"),
    [("0x13", 4), ("-0x8", -2), ("s8", 3), ("s8 offset:0x8", 5), ("s8 offset:-0x4", 2), ("m0", 1)],
)
def test_offsets(arch, operand, first):
    """Immediates are signed, registers are not; the low two bits of the address are ignored."""
    data = np.arange(16, dtype=np.uint32)
    lines = ["s_add_u32 s4, s2, 16", "s_mov_b32 s5, s3", f"s_load_dword s6, s[4:5], {operand}"]
    state = run_on(arch, lines, data, sgprs={8: 12, 124: 4})
    assert state.sgprs[6] == 4 + first


def test_narrow_loads_of_gfx12():
    data = np.array([0x01F2_83F4, 0xFFFF_8000, 7], np.uint32)
    lines = [
        "s_load_u8 s8, s[2:3], 0x2", "s_load_i8 s9, s[2:3], 0x2", "s_load_u16 s10, s[2:3], 0x0",
        "s_load_i16 s11, s[2:3], 0x4", "s_load_b96 s[12:14], s[2:3], 0x0",
    ]  # fmt: skip
    state = run_on("gfx1201", lines, data)
    assert state.sgprs[8:15].tolist() == [0xF2, 0xFFFFFFF2, 0x83F4, 0xFFFF8000, *data.tolist()]


@pytest.mark.parametrize("arch", ALL)
def test_buffer_loads_give_zero_beyond_the_resource(arch):
    data = np.arange(16, dtype=np.uint32) + 1
    name = "s_buffer_load_b128" if arch in RDNA else "s_buffer_load_dwordx4"
    lines = [
        "s_mov_b64 s[4:5], s[2:3]",
        f"{name} s[8:11], s[4:7], 0x8",
        f"{name} s[4:7], s[4:7], 0x20",
    ]
    state = run_on(arch, lines, data, sgprs={6: 16, 7: 0})
    assert state.sgprs[8:12].tolist() == [3, 4, 0, 0]
    assert state.sgprs[4:8].tolist() == [0] * 4


@pytest.mark.parametrize("arch", GFX9)
def test_stores(arch):
    data = np.zeros(8, np.uint32)
    lines = [
        "s_store_dwordx2 s[8:9], s[2:3], 0x4", "s_mov_b64 s[4:5], s[2:3]",
        "s_buffer_store_dwordx2 s[8:9], s[4:7], 0x10",
    ]  # fmt: skip
    run_on(arch, lines, data, sgprs={6: 20, 7: 0, 8: 3, 9: 4})
    assert data.tolist() == [0, 3, 4, 0, 3, 0, 0, 0]


def test_a_load_beyond_the_array():
    with pytest.raises(
        MemoryFault, match="an access of 16 bytes to data at index 2 is out of its 4 elements"
    ):
        run_on("gfx942", ["s_load_dwordx4 s[8:11], s[2:3], 0x8"], np.zeros(4, np.uint32))


def test_a_load_of_exec_takes_effect():
    data = np.array([0b101, 0], np.uint32)
    lines = ["v_mov_b32_e32 v1, 1", "s_load_dwordx2 exec, s[2:3], 0x0", "v_mov_b32_e32 v1, 2"]
    assert run_on("gfx942", lines, data).vgprs[1, :4].tolist() == [2, 1, 2, 1]
