"""Device memory: bounds, alignment, freed and read-only arrays, and what the errors say."""

from __future__ import annotations

import numpy as np
import pytest

from kernels import kernel_text
from pipedsl import sim
from pipedsl.core.errors import DeviceError, LaunchError, MemoryFault

STORE = """
\t.file\t1 "src" "user.py"
\t.loc\t1 12 0
\ts_load_dwordx2 s[4:5], s[0:1], 0x0
\ts_load_dword s6, s[0:1], 0x8
\tv_mov_b32_e32 v1, 42
\ts_waitcnt lgkmcnt(0)
\tv_mov_b32_e32 v2, s6
\tv_cmp_eq_u32_e32 vcc, 3, v0
\ts_and_b64 exec, exec, vcc
\t.loc\t1 14 0
\tglobal_store_dword v2, v1, s[4:5]
"""
ARGS = (("out", "global_buffer", 8), ("offset", "by_value", 4))
GAP = 1 << 32


def run(out, offset: int, body: str = STORE):
    kernel = sim.load_assembly(kernel_text(body, args=ARGS)).kernels["k"]
    return kernel.launch(1, 64, [out, np.uint32(offset)])


def test_a_store_lands():
    out = np.zeros(8, np.int32)
    run(out, 12)
    assert out.tolist() == [0, 0, 0, 42, 0, 0, 0, 0]


@pytest.mark.parametrize(("offset", "index"), [(32, 8), (36, 9), (2**32 - 4, -1)])
def test_out_of_bounds_names_array_index_lane_and_line(offset, index):
    out = np.zeros(8, np.int32)
    if index < 0:  # reach below the array through the base pointer
        body = STORE.replace("\tv_mov_b32_e32 v2, s6", "\tv_mov_b32_e32 v2, 0\n\ts_sub_u32 s4, s4, 4\n\ts_subb_u32 s5, s5, 0")
    else:
        body = STORE
    with pytest.raises(MemoryFault) as caught:
        run(out, offset, body)
    message = str(caught.value)
    if index < 0:
        assert "nothing is allocated" in message
    else:
        assert f"an access of 4 bytes to out at index {index} is out of its 8 elements" in message
    assert "lane 3" in message
    assert "workgroup (0, 0, 0), wave 0" in message
    assert caught.value.where.filename == "src/user.py"
    assert caught.value.where.line == 14
    assert not out.any()


def test_partly_out_of_bounds_is_out_of_bounds():
    body = STORE.replace("global_store_dword v2, v1", "global_store_dwordx2 v2, v[0:1]")
    with pytest.raises(MemoryFault, match="an access of 8 bytes to out at index 7 is out of its 8"):
        run(np.zeros(8, np.int32), 28, body)


def test_stores_take_any_byte_address():
    out = np.zeros(8, np.int32)
    run(out, 2)
    assert out.tolist() == [42 << 16, 0, 0, 0, 0, 0, 0, 0]


def test_atomic_operations_need_natural_alignment():
    body = STORE.replace("global_store_dword", "global_atomic_add")
    with pytest.raises(MemoryFault, match="an access of 4 bytes to out at byte 2 is misaligned"):
        run(np.zeros(8, np.int32), 2, body)


def test_a_write_to_a_read_only_array():
    out = np.zeros(8, np.int32)
    out.flags.writeable = False
    with pytest.raises(MemoryFault, match="a write of 4 bytes to out at index 1, which is read-only"):
        run(out, 4)


def test_freed_memory_is_named():
    memory = sim.Memory()
    address = memory.allocate(64, "scratchpad")
    memory.free(address)
    kernel = sim.load_assembly(kernel_text(STORE, args=ARGS)).kernels["k"]
    segment = address.to_bytes(8, "little") + (0).to_bytes(4, "little")
    with pytest.raises(MemoryFault, match="an access of 4 bytes to scratchpad, which was freed"):
        kernel.run(memory, (1, 1, 1), (64, 1, 1), segment)


def test_lds_out_of_bounds_and_misaligned():
    for line, address, message in (
        ("ds_read_b32 v1, v0", 64, "at byte 64 is outside the workgroup's 64 bytes"),
        ("ds_read_b32 v1, v0", 61, "at byte 61 is outside the workgroup's 64 bytes"),
        ("ds_add_u32 v0, v1", 2, "an LDS access of 4 bytes at byte 2 is misaligned"),
    ):
        with pytest.raises(MemoryFault, match=message):
            sim.execute([line], arch="gfx942", vgprs={0: address}, lds_bytes=64)


def test_allocations_do_not_reach_each_other():
    memory = sim.Memory()
    first, second = memory.allocate(16, "a"), memory.allocate(16, "b")
    assert abs(second - first) >= GAP
    memory.view(first, 16)[:] = 7
    assert not memory.view(second, 16).any()


def test_host_side_errors():
    memory = sim.Memory()
    address = memory.allocate(16)
    with pytest.raises(DeviceError, match="17 bytes at .* are not allocated"):
        memory.view(address, 17)
    memory.free(address)
    with pytest.raises(DeviceError, match="nothing is allocated at"):
        memory.free(address)
    with pytest.raises(DeviceError, match="array is not C-contiguous"):
        memory.map(np.zeros((4, 4))[:, ::2])
    with pytest.raises(DeviceError, match="cannot have -1 bytes"):
        memory.allocate(-1)
    with pytest.raises(DeviceError, match="no memory for"):
        memory.allocate(1 << 60)


@pytest.mark.parametrize(
    ("args", "message"),
    [
        ([], "k takes 2 arguments, got 0"),
        ([np.zeros(8, np.int32), np.uint64(1)], "offset takes 4 bytes, not the 8 of"),
        ([np.uint32(1), np.uint32(1)], "out takes an array, not"),
        ([np.zeros(8, np.int32), np.zeros(3)], "offset takes a 4-byte scalar, not an array"),
        ([np.zeros(8, np.int32), 1 << 40], "does not fit the 4 bytes of offset"),
        ([np.zeros(8, np.int32), "x"], "offset takes a 4-byte scalar, not 'x'"),
    ],
)
def test_argument_errors(args, message):
    kernel = sim.load_assembly(kernel_text(STORE, args=ARGS)).kernels["k"]
    with pytest.raises(LaunchError, match=message):
        kernel.launch(1, 64, args)


@pytest.mark.parametrize(("grid", "block"), [(0, 64), (-1, 64), ((1, 1, 1, 1), 64), (1, 0), (1.5, 64)])
def test_geometry_errors(grid, block):
    kernel = sim.load_assembly(kernel_text(STORE, args=ARGS)).kernels["k"]
    with pytest.raises(LaunchError, match="must be one to three positive integers"):
        kernel.launch(grid, block, [np.zeros(8, np.int32), np.uint32(0)])
