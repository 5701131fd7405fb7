"""Compiling: what a compiled kernel shows, when it is made anew, and that it is made once."""

from __future__ import annotations

import linecache
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import pipedsl
from pipedsl import KernelSyntaxError, LaunchError, TargetError, gpu
from pipedsl.core.arch import ARCHS
from pipedsl.dispatch import compiler


@pipedsl.pipelined_kernel
def add(out, value):
    out[gpu.thread_idx.x] += value


EXAMPLE = (np.zeros(4, np.int32), np.int32(1))


@pytest.fixture
def compilations(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Names of the kernels that the compiler was asked for, with an empty memory cache."""
    asked: list[str] = []
    original = compiler.lower

    def lower(source, *rest):
        asked.append(source.name)
        return original(source, *rest)

    monkeypatch.setattr(compiler, "lower", lower)
    monkeypatch.setattr(compiler, "_compiled", {})
    return asked


def cell(text: str, number: int, namespace: dict | None = None) -> dict:
    """Run `text` as a notebook runs a cell."""
    filename = f"<cell-{number}>"
    linecache.cache[filename] = (len(text), None, text.splitlines(keepends=True), filename)
    namespace = namespace if namespace is not None else {"pipedsl": pipedsl, "gpu": gpu}
    exec(compile(text, filename, "exec"), namespace)
    return namespace


@pytest.mark.parametrize("arch", ARCHS)
def test_a_compiled_kernel_shows_itself(arch: str) -> None:
    compiled = add.compile(*EXAMPLE, arch=arch, block=128)
    assert list(compiled.stages) == ["source", "llvm", "llvm_optimized", "asm"]
    assert compiled.stages["source"].startswith("@pipedsl.pipelined_kernel\ndef add(out, value):")
    assert compiled.llvm_ir == compiled.stages["llvm"]
    assert "define amdgpu_kernel" in compiled.llvm_ir
    assert compiled.asm == compiled.stages["asm"]
    assert f'.amdgcn_target "amdgcn-amd-amdhsa--{arch}"' in compiled.asm.replace("unknown-", "")
    assert (compiled.name, compiled.arch, compiled.image.block) == ("add", arch, 128)
    assert compiled.resources.lds_bytes == 0
    assert compiled.hsaco()[:4] == b"\x7fELF"
    assert repr(compiled) == (
        f"<CompiledKernel add for {arch}, block 128: {compiled.resources.vgprs} VGPRs, "
        f"{compiled.resources.sgprs} SGPRs, 0 bytes of LDS>"
    )


def test_the_default_arch_is_the_current_device_s() -> None:
    with pipedsl.use_device("sim:gfx1100"):
        assert add.compile(*EXAMPLE).arch == "gfx1100"


def test_compile_checks_its_arguments() -> None:
    with pytest.raises(TargetError, match="'gfx906' is not a supported arch") as caught:
        add.compile(*EXAMPLE, arch="gfx906")
    assert caught.value.where.source_line().strip() == 'add.compile(*EXAMPLE, arch="gfx906")'
    with pytest.raises(LaunchError, match="the block cannot be 2048"):
        add.compile(*EXAMPLE, block=2048)
    with pytest.raises(LaunchError, match=r"takes 2 arguments \(out, value\), not 1"):
        add.compile(EXAMPLE[0])


def test_the_decorator_takes_options_or_none() -> None:
    def nothing():
        pass

    assert isinstance(pipedsl.pipelined_kernel(nothing), pipedsl.Kernel)
    assert isinstance(pipedsl.pipelined_kernel()(nothing), pipedsl.Kernel)
    assert pipedsl.pipelined_kernel(unchecked=True)(nothing).options.unchecked
    with pytest.raises(TypeError, match="unchecks"):
        pipedsl.pipelined_kernel(unchecks=True)
    with pytest.raises(KernelSyntaxError, match="is not a Python function"):
        pipedsl.pipelined_kernel(3)


def test_a_kernel_looks_like_its_function() -> None:
    assert (add.__name__, add.name, repr(add)) == ("add", "add", "<Kernel add(out, value)>")
    assert repr(add[2, (8, 8)]) == "<add[(2, 1, 1), (8, 8, 1)]>"


def test_one_compilation_per_types_block_and_arch(compilations: list[str]) -> None:
    out = np.zeros(64, np.int32)
    for _ in range(3):
        add[1, 64](out, np.int32(1))
    add[2, 64](np.zeros(64, np.int32), np.int32(1))
    assert compilations == ["add"]
    add[1, 32](out, np.int32(1))
    add[1, 64](out, np.int64(1))
    with pipedsl.use_device("sim:gfx950"):
        add[1, 64](out, np.int32(1))
    assert compilations == ["add"] * 4
    assert out[0] == 6


def test_the_disk_cache_serves_a_new_process(compilations: list[str]) -> None:
    first = add.compile(*EXAMPLE, arch="gfx942", block=64)
    compiler._compiled.clear()
    second = add.compile(*EXAMPLE, arch="gfx942", block=64)
    assert compilations == ["add"]
    assert second is not first
    assert second.image == first.image
    assert dict(second.stages) == dict(first.stages)


def test_threads_that_launch_at_once_compile_once(compilations: list[str]) -> None:
    @pipedsl.pipelined_kernel
    def fresh(out):
        out[gpu.thread_idx.x] = 1

    barrier = threading.Barrier(4)

    def work(_: int) -> bool:
        with pipedsl.use_device("sim:gfx942"):
            out = np.zeros(64, np.int32)
            barrier.wait()
            fresh[1, 64](out)
            return bool((out == 1).all())

    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(work, range(4)))
    assert compilations == ["fresh"]


def test_a_failed_compilation_leaves_nothing_behind(compilations: list[str]) -> None:
    @pipedsl.pipelined_kernel
    def broken(out):
        out[0] = undefined_name  # noqa: F821

    for _ in range(2):
        with pytest.raises(pipedsl.KernelError, match="undefined_name"):
            broken.compile(np.zeros(1, np.int32))
    assert compilations == ["broken", "broken"]


KERNEL_CELL = """
@pipedsl.pipelined_kernel
def kernel(out):
    out[gpu.thread_idx.x] = {}
"""


def test_a_cell_that_runs_again_is_never_stale() -> None:
    out = np.zeros(4, np.int32)
    for number, value in enumerate((5, 6, 5)):
        namespace = cell(KERNEL_CELL.format(value), number)
        namespace["kernel"][1, 4](out)
        assert (out == value).all()


def test_a_global_that_is_bound_anew() -> None:
    out = np.zeros(4, np.int32)
    namespace = cell("VALUE = 5\n" + KERNEL_CELL.format("VALUE"), 10)
    namespace["kernel"][1, 4](out)
    assert (out == 5).all()
    namespace["VALUE"] = 7
    namespace["kernel"][1, 4](out)
    assert (out == 7).all()


def test_a_device_function_whose_cell_runs_again() -> None:
    helper = "@pipedsl.device_function\ndef helper(x):\n    return x {} 3\n"
    namespace = cell(helper.format("+"), 20)
    cell(KERNEL_CELL.format("helper(4)"), 21, namespace)
    out = np.zeros(4, np.int32)
    namespace["kernel"][1, 4](out)
    assert (out == 7).all()
    cell(helper.format("*"), 22, namespace)
    namespace["kernel"][1, 4](out)
    assert (out == 12).all()


def test_a_name_that_is_bound_after_the_decoration() -> None:
    namespace = cell(KERNEL_CELL.format("helper()"), 25)
    out = np.zeros(4, np.int32)
    for number, value in enumerate((3, 4)):
        cell(
            f"@pipedsl.device_function\ndef helper():\n    return {value}\n", 26 + number, namespace
        )
        namespace["kernel"][1, 4](out)
        assert (out == value).all()


def test_a_device_function_behind_another() -> None:
    namespace = cell("@pipedsl.device_function\ndef inner():\n    return 1\n", 30)
    cell("@pipedsl.device_function\ndef outer():\n    return inner()\n", 31, namespace)
    cell(KERNEL_CELL.format("outer()"), 32, namespace)
    out = np.zeros(4, np.int32)
    namespace["kernel"][1, 4](out)
    cell("@pipedsl.device_function\ndef inner():\n    return 2\n", 33, namespace)
    namespace["kernel"][1, 4](out)
    assert (out == 2).all()


def test_a_closed_over_variable_that_changes() -> None:
    value = 1

    @pipedsl.pipelined_kernel
    def kernel(out):
        out[gpu.thread_idx.x] = value

    out = np.zeros(4, np.int32)
    kernel[1, 4](out)
    assert (out == 1).all()
    value = 2
    kernel[1, 4](out)
    assert (out == 2).all()


def test_a_factory_makes_distinct_kernels() -> None:
    def make(value, dtype):
        @pipedsl.pipelined_kernel
        def kernel(out):
            out[gpu.thread_idx.x] = dtype(value)

        return kernel

    out = np.zeros(4, np.float32)
    make(2.75, np.int32)[1, 4](out)
    assert (out == 2).all()
    make(2.75, np.float32)[1, 4](out)
    assert (out == 2.75).all()
