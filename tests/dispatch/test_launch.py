"""Launching: extents, arguments, copies, and what each error says."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import pipedsl
from pipedsl import DeviceError, KernelTypeError, LaunchError, MemoryFault, gpu


@pipedsl.pipelined_kernel
def store(out, value):
    out[gpu.thread_idx.x] = value


@pipedsl.pipelined_kernel
def copy(out, source):
    if gpu.thread_idx.x < source.shape[0]:
        out[gpu.thread_idx.x] = source[gpu.thread_idx.x]


@pipedsl.pipelined_kernel
def extents(out):
    thread = gpu.thread_idx.x + gpu.thread_idx.y + gpu.thread_idx.z
    if thread + gpu.block_idx.x + gpu.block_idx.y + gpu.block_idx.z == 0:
        out[0] = gpu.grid_dim.x
        out[1] = gpu.grid_dim.y
        out[2] = gpu.grid_dim.z
        out[3] = gpu.block_dim.x
        out[4] = gpu.block_dim.y
        out[5] = gpu.block_dim.z


@pipedsl.pipelined_kernel
def empty():
    pass


@pytest.mark.parametrize(
    ("grid", "block", "seen"),
    [
        (3, 64, [3, 1, 1, 64, 1, 1]),
        ((3,), (64,), [3, 1, 1, 64, 1, 1]),
        ((2, 3), (8, 4), [2, 3, 1, 8, 4, 1]),
        ((2, 3, 4), (4, 4, 2), [2, 3, 4, 4, 4, 2]),
        (np.int64(2), np.uint8(32), [2, 1, 1, 32, 1, 1]),
    ],
)
def test_extents_reach_the_kernel(grid: object, block: object, seen: list[int]) -> None:
    out = np.zeros(6, np.int32)
    extents[grid, block](out)
    assert out.tolist() == seen


def test_stream_and_lds_are_optional() -> None:
    out = np.zeros(64, np.int32)
    store[1, 64, pipedsl.stream()](out, 1)
    store[1, 64, None, 1024](out, 2)
    assert (out == 2).all()


@pytest.mark.parametrize(
    ("key", "message", "fix"),
    [
        ((0, 64), "the grid cannot be 0.", "every extent is at least 1."),
        ((-1, 64), "the grid cannot be -1.", "every extent is at least 1."),
        ((1, 0), "the block cannot be 0.", "every extent is at least 1."),
        ((1, (8, -8)), "the block cannot be -8.", "every extent is at least 1."),
        ((2**31, 1), "the grid cannot be 2147483648; 2147483647 is the most along an axis.", None),
        ((2**30, 8), "grid 1073741824 times block 8 along x is over 4294967295 work-items.",
         "spread the grid over several axes."),
        ((1, 1025), "the block cannot be 1025; 1024 is the most along an axis.", None),
        ((1, (64, 32)), "a block of 64 x 32 x 1 has 2048 work-items; 1024 is the most.",
         "use a smaller block and a larger grid."),
        ((2.0, 64), "the grid must be an integer, not 2.0.", "use // for divisions."),
        ((1, "64"), "the block must be an integer, not '64'.", None),
        ((True, 64), "the grid must be an integer, not True.", None),
        (((1, 1, 1, 1), 64), "the grid has 4 extents; it can have one to three.", None),
        (((), 64), "the grid has 0 extents; it can have one to three.", None),
        (1, "store[...] takes a grid and a block, then optionally a stream and LDS bytes.",
         "write store[grid, block] or store[grid, block, stream, lds_bytes]."),
        ((1, 2, 0, 0, 0), "store[...] takes a grid and a block, then optionally a stream and LDS "
         "bytes.", "write store[grid, block] or store[grid, block, stream, lds_bytes]."),
        ((1, 64, "s"), "'s' is not a stream.",
         "pass pipedsl.stream(), a stream of another library, its address, or 0."),
        ((1, 64, 0, -4), "the dynamic LDS cannot be -4 bytes.", None),
        ((1, 64, 0, 1.5), "the dynamic LDS must be an integer, not 1.5.", "use // for divisions."),
    ],
)  # fmt: skip
def test_extents_that_cannot_be(key: object, message: str, fix: str | None) -> None:
    with pytest.raises(LaunchError) as caught:
        store[key]
    assert (caught.value.message, caught.value.fix) == (message, fix)
    assert caught.value.where.filename == __file__
    assert caught.value.where.source_line().strip() == "store[key]"


def test_a_call_without_extents() -> None:
    with pytest.raises(LaunchError) as caught:
        store(np.zeros(1), 1)
    assert caught.value.message == "kernel 'store' was called without a grid and a block."
    assert caught.value.fix == "write store[grid, block](out, value)."
    assert caught.value.where.source_line().strip() == "store(np.zeros(1), 1)"


@pytest.mark.parametrize("args", [(), (np.zeros(1),), (np.zeros(1), 1, 2)])
def test_a_wrong_number_of_arguments(args: tuple) -> None:
    with pytest.raises(LaunchError) as caught:
        store[1, 1](*args)
    message = f"kernel 'store' takes 2 arguments (out, value), not {len(args)}."
    assert caught.value.message == message
    assert "store[1, 1](*args)" in str(caught.value)


@pipedsl.pipelined_kernel
def scaled(out, value, /, factor=3, *, offset=4):
    out[gpu.thread_idx.x] = value * factor + offset


@pipedsl.pipelined_kernel
def named(out, value, factor=3):
    out[gpu.thread_idx.x] = value * factor


def test_names_and_defaults_work_as_in_python() -> None:
    out = np.zeros(64, np.int32)
    for launch, expected in (
        (lambda: scaled[1, 64](out, 2), 10),
        (lambda: scaled[1, 64](out, 2, 5), 14),
        (lambda: scaled[1, 64](out, 2, offset=1), 7),
        (lambda: named[1, 64](value=2, out=out), 6),
        (lambda: named[1, 64](out, factor=7, value=2), 14),
    ):
        launch()
        assert (out == expected).all()
    assert (
        named.compile(out, value=2, arch="gfx942").asm
        == named.compile(out, 2, 3, arch="gfx942").asm
    )


def test_wrong_names_of_arguments() -> None:
    out = np.zeros(64, np.int32)
    with pytest.raises(LaunchError, match="kernel 'named' has no parameter 'size'"):
        named[1, 64](out, 2, size=3)
    with pytest.raises(LaunchError, match="kernel 'named': multiple values for argument 'value'"):
        named[1, 64](out, 2, value=3)


def test_a_kernel_without_arguments() -> None:
    empty[1, 64]()
    with pytest.raises(LaunchError, match=r"kernel 'empty' takes 0 arguments, not 1\."):
        empty[1, 64](1)


def test_dynamic_lds_over_the_limit() -> None:
    out = np.zeros(64, np.int32)
    with pytest.raises(LaunchError) as caught:
        store[1, 64, 0, 65537](out, 1)
    assert caught.value.message == (
        "0 bytes of LDS in the kernel and 65537 at launch are over the 65536 of gfx942."
    )
    assert caught.value.fix == "launch with at most 65536 bytes."
    with pipedsl.use_device("sim:gfx950"):
        store[1, 64, 0, 65537](out, 1)


def test_a_read_only_array_that_the_kernel_writes() -> None:
    out, source = np.zeros(4, np.int32), np.arange(4, dtype=np.int32)
    source.flags.writeable = False
    copy[1, 4](out, source)
    assert out.tolist() == [0, 1, 2, 3]
    with pytest.raises(LaunchError) as caught:
        copy[1, 4](source, out)
    assert caught.value.message == "the kernel writes 'out', which is a read-only array."
    assert "copy[1, 4](source, out)" in str(caught.value)


@pytest.mark.parametrize(
    ("argument", "message"),
    [
        (np.zeros(4, np.complex64), "complex64|<c8"),
        (np.zeros(4, ">i4"), ">i4"),
        (np.zeros(4, "datetime64[s]"), "M8"),
        (np.zeros((1, 1, 1, 1), np.int32), "4-D array"),
        ("text", r"argument 'out': a kernel cannot take a str\."),
        (None, r"argument 'out': a kernel cannot take a NoneType\."),
        (2**64, "needs more than 64 bits"),
        (1j, "cannot take a complex"),
    ],
)
def test_arguments_that_kernels_lack(argument: object, message: str) -> None:
    with pytest.raises(KernelTypeError, match=message) as caught:
        store[1, 1](argument, 1)
    assert caught.value.where.source_line().strip() == "store[1, 1](argument, 1)"


@pytest.mark.parametrize(
    ("value", "dtype", "expected"),
    [
        (7, np.int64, 7),
        (-(2**31), np.int64, -(2**31)),
        (2**31, np.int64, 2**31),
        (-(2**63), np.int64, -(2**63)),
        (2**63, np.uint64, 2**63),
        (True, np.int32, 1),
        (0.5, np.float64, 0.5),
        (np.float16(0.25), np.float32, 0.25),
        (np.float64(1e300), np.float64, 1e300),
        (np.int8(-3), np.int32, -3),
        (np.uint16(65535), np.int32, 65535),
        (np.bool_(True), np.int32, 1),
    ],
)
def test_scalars_arrive(value: object, dtype: type, expected: object) -> None:
    out = np.zeros(1, dtype)
    store[1, 1](out, value)
    assert out[0] == expected


def test_signatures_with_the_same_assembly_encode_their_own_scalars() -> None:
    for dtype, value in ((np.int64, -1), (np.uint64, 2**63), (np.int64, -2)):
        out = np.zeros(1, dtype)
        store[1, 1](out, dtype(value))
        assert out[0] == value


def test_a_python_float_is_float32() -> None:
    out = np.zeros(1, np.float64)
    store[1, 1](out, 0.1)
    assert out[0] == np.float32(0.1)


@pytest.mark.parametrize(
    "view",
    [
        lambda a: a[::2], lambda a: a[::-1], lambda a: a[3:11], lambda a: a.reshape(4, 4)[:, 1],
    ],
)  # fmt: skip
def test_results_land_in_strided_views(view) -> None:
    base, expected = np.full(16, -1, np.int32), np.full(16, -1, np.int32)
    out = view(base)
    source = np.arange(out.size, dtype=np.int32) + 100
    copy[1, out.size](out, source)
    view(expected)[...] = source
    np.testing.assert_array_equal(base, expected)


def test_strided_sources_are_read_right() -> None:
    base, out = np.arange(32, dtype=np.int32), np.zeros(8, np.int32)
    copy[1, 8](out, base[::-4])
    np.testing.assert_array_equal(out, base[::-4])
    copy[1, 8](out, np.broadcast_to(np.int32(5), 8))
    assert (out == 5).all()


def test_only_written_arrays_come_back() -> None:
    out, source = np.zeros(4, np.int32), np.arange(4, dtype=np.int32)
    with pipedsl.use_device("sim:gfx942") as device:
        copied = []
        original = device.copy_to_host
        device.copy_to_host = lambda target, *rest: (copied.append(target), original(target, *rest))
        try:
            copy[1, 4](out, source)
        finally:
            del device.copy_to_host
    assert len(copied) == 1
    assert copied[0] is out


def test_the_same_array_twice_is_one_array() -> None:
    data = np.arange(8, dtype=np.int32)
    copy[1, 8](data, data)
    assert data.tolist() == list(range(8))


def test_overlapping_arrays_are_refused_where_one_is_written() -> None:
    data = np.arange(8, dtype=np.int32)
    with pytest.raises(LaunchError) as caught:
        copy[1, 4](data[:4], data[2:6])
    assert caught.value.message == (
        "'out' and 'source' overlap in memory and the kernel writes one."
    )
    copy[1, 4](data[0::2], data[1::2])
    assert data.tolist() == [1, 1, 3, 3, 5, 5, 7, 7]


def test_nothing_comes_back_from_a_launch_that_raises(simulator) -> None:
    out = np.full(8, -1, np.int32)
    with pytest.raises(MemoryFault, match="out"):
        store[1, 64](out, 1)
    assert (out == -1).all()
    store[1, 8](out, 1)
    assert (out == 1).all()


def test_device_arrays_stay_on_the_device() -> None:
    out = pipedsl.device_array(64, np.int32)
    store[1, 64](out, 3)
    assert (out.copy_to_host() == 3).all()
    host = np.zeros(64, np.int32)
    copy[1, 64](host, out)
    assert (host == 3).all()


def test_a_device_array_of_another_device() -> None:
    out = pipedsl.device_array(64, np.int32)
    with pipedsl.use_device("sim:gfx950"), pytest.raises(LaunchError) as caught:
        store[1, 64](out, 3)
    assert caught.value.message == ("'out' is an array on sim:gfx942; the launch is on sim:gfx950.")
    assert 'use_device("sim:gfx942")' in caught.value.fix


def test_a_freed_device_array() -> None:
    out = pipedsl.to_device(np.zeros(64, np.int32))
    store[1, 64](out, 3)
    out.free()
    with pytest.raises(DeviceError, match="was freed") as caught:
        store[1, 64](out, 3)
    assert Path(caught.value.where.filename) == Path(__file__)


def test_every_arch_in_one_process() -> None:
    for arch in ("gfx90a", "gfx942", "gfx950", "gfx1100", "gfx1201"):
        out = np.zeros(64, np.int32)
        with pipedsl.use_device(f"sim:{arch}"):
            store[1, 64](out, 9)
        assert (out == 9).all()
