"""The gpu module: on the host, coordinates on the device, features of targets."""

from __future__ import annotations

import re
from pathlib import Path

import llvmlite.binding as llvm
import numpy as np
import pytest

from pipedsl import gpu
from pipedsl.codegen import compile_ir
from pipedsl.core.arch import ARCHS
from pipedsl.core.errors import CompilationError, KernelError, TargetError
from pipedsl.frontend import KernelSource, Options, lower, type_of
from pipedsl.target.matrix_table import NAMES
from pipedsl.target.module import DATA_LAYOUT, TRIPLE

HOST_CALLS = {
    "thread_idx.x": lambda: gpu.thread_idx.x,
    "block_dim.z": lambda: gpu.block_dim.z,
    "lane_id()": gpu.lane_id,
    "wave_id()": gpu.wave_id,
    "barrier()": gpu.barrier,
    "fence_lds()": gpu.fence_lds,
    "shared.array()": lambda: gpu.shared.array(4, np.int32),
    "fma()": lambda: gpu.fma(1, 2, 3),
    "sleep()": lambda: gpu.sleep(0),
}


@pytest.mark.parametrize("name", HOST_CALLS)
def test_on_the_host(name):
    with pytest.raises(KernelError) as caught:
        HOST_CALLS[name]()
    assert caught.value.message == f"gpu.{name} exists in kernels and device functions only."


def test_wave_size_on_the_host():
    assert gpu.wave_size() in (32, 64)


def test_public_names_are_documented():
    for name in gpu.__all__:
        assert getattr(gpu, name).__doc__


def test_data_layout_is_llvms():
    llvm.initialize_all_targets()
    for arch in ARCHS:
        machine = llvm.Target.from_triple(TRIPLE).create_target_machine(cpu=arch)
        assert str(machine.target_data) == DATA_LAYOUT


def coordinates(out):
    x, y, z = gpu.thread_idx.x, gpu.thread_idx.y, gpu.thread_idx.z
    thread = (z * gpu.block_dim.y + y) * gpu.block_dim.x + x
    block = (gpu.block_idx.z * gpu.grid_dim.y + gpu.block_idx.y) * gpu.grid_dim.x + gpu.block_idx.x
    size = gpu.block_dim.x * gpu.block_dim.y * gpu.block_dim.z
    at = block * size + thread
    out[at, 0] = thread
    out[at, 1] = block
    out[at, 2] = gpu.lane_id()
    out[at, 3] = gpu.wave_id()


@pytest.mark.parametrize("arch", ARCHS)
@pytest.mark.parametrize(
    ("grid", "block"), [(2, 96), ((3, 2), (8, 12)), ((1, 2, 2), (4, 8, 5)), (1, 16)]
)
def test_coordinates(run, arch, grid, block):
    threads, blocks = int(np.prod(block)), int(np.prod(grid))
    out = np.full((threads * blocks, 4), -1, np.int32)
    run(coordinates, out, grid=grid, block=block, arch=arch)
    thread = np.tile(np.arange(threads), blocks)
    wave = ARCHS[arch].wave_size
    np.testing.assert_array_equal(out[:, 0], thread)
    np.testing.assert_array_equal(out[:, 1], np.repeat(np.arange(blocks), threads))
    np.testing.assert_array_equal(out[:, 2], thread % wave)
    np.testing.assert_array_equal(out[:, 3], thread // wave)


def test_wave_size_in_a_kernel(run):
    def kernel(out):
        out[0] = gpu.wave_size()

    for arch, row in ARCHS.items():
        out = np.zeros(1, np.int32)
        run(kernel, out, arch=arch)
        assert out[0] == row.wave_size


def swap(out):
    i = gpu.thread_idx.x
    a, b = gpu.permlane32_swap(i, i + 100)
    out[i] = a + b


def swapped(arch, **options):
    types = [type_of(np.zeros(64, np.int32))]
    return lower(KernelSource.capture(swap), types, arch, 64, Options(**options))


def test_a_feature_that_the_arch_lacks():
    with pytest.raises(TargetError) as caught:
        swapped("gfx942")
    assert caught.value.message == "gfx942 has no gpu.permlane32_swap()."
    assert caught.value.fix == "compile for gfx950."
    assert caught.value.where.source_line().strip() == "a, b = gpu.permlane32_swap(i, i + 100)"
    asm = compile_ir(swapped("gfx950").llvm_ir, "gfx950", kernel="swap").asm
    assert "v_permlane32_swap_b32" in asm


def test_a_feature_forced_past_the_check_is_llvms_error():
    text = swapped("gfx942", unchecked=True).llvm_ir
    with pytest.raises(CompilationError, match="Cannot select"):
        compile_ir(text, "gfx942", kernel="swap")
    assert compile_ir(swapped("gfx950").llvm_ir, "gfx950", kernel="swap").asm


def test_every_public_name_has_a_test_that_runs_it():
    """Matrix instructions are run by name in test_matrix; the others stand in kernels of tests."""
    folder = Path(__file__).parent
    text = "".join(path.read_text() for path in sorted(folder.parent.rglob("test_*.py")))
    text += "".join(path.read_text() for path in sorted(folder.parent.rglob("rings.py")))
    # What only the library calls stands in its own modules, which these tests run too.
    internal = {name for name in gpu.__all__ if name.startswith(("counter_", "declare_"))}
    named = set(re.findall(r"gpu\.(\w+)", text)) | set(NAMES) | internal
    named |= {f"atomic_{name}" for name in re.findall(r'"(\w+)"', text)}
    named |= {"Index3", "VectorType", "static_check"}
    assert set(gpu.__all__) <= named


@pytest.mark.parametrize("arch", ARCHS)
def test_rounding_sizes_and_pointers(run, arch):
    def kernel(out, x):
        t = gpu.thread_idx.x
        out[0, t] = gpu.floor(x[t])
        out[1, t] = gpu.rint(x[t])
        one = gpu.element(x, t)
        out[2, t] = one[0] * gpu.size_of(np.float64) + gpu.size_of(gpu.vec(np.float16, 4))

    x = np.linspace(-4, 4, 64, dtype=np.float32)
    out = np.zeros((3, 64), np.float32)
    run(kernel, out, x, arch=arch, block=64)
    np.testing.assert_array_equal(out, [np.floor(x), np.rint(x), x * 8 + 8])
