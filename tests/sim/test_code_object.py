"""Code objects: taken apart with LLVM's tools where there are any, run like text."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from pipedsl import AmdCounterBackend, gpu, pipelined_kernel
from pipedsl.cli.main import main
from pipedsl.core.arch import ARCHS, get_arch
from pipedsl.core.errors import AssemblyError, ToolchainMissing
from pipedsl.sim import load_assembly
from pipedsl.sim.code_object import disassemble


@pipelined_kernel
def ring(out, n):
    backend = AmdCounterBackend(2)
    slots = gpu.shared.array(2, np.int32)
    if gpu.thread_idx.x == 0:
        backend.init_barriers(1, 1)
    gpu.barrier()
    if gpu.wave_id() == 0:
        for i in range(n):
            backend.wait_empty(i % 2, i // 2 + 1)
            if gpu.lane_id() == 0:
                slots[i % 2] = i * i
            gpu.fence_lds()
            backend.arrive_full(i % 2)
    else:
        for i in range(n):
            backend.wait_full(i % 2, i // 2)
            if gpu.lane_id() == 0:
                out[i] = slots[i % 2]
            gpu.fence_lds()
            backend.arrive_empty(i % 2)


def code_object(folder: Path, arch: str) -> Path:
    block = 2 * get_arch(arch).wave_size
    compiled = ring.compile(np.zeros(8, np.int32), np.int32(8), arch=arch, block=block)
    path = folder / "ring.hsaco"
    path.write_bytes(compiled.hsaco())
    return path


@pytest.mark.parametrize("arch", ARCHS)
def test_a_code_object_runs_as_its_text_does(arch: str, tmp_path: Path) -> None:
    path = code_object(tmp_path, arch)
    try:
        text = disassemble(path)
    except ToolchainMissing as error:
        pytest.skip(error.message)
    out = np.zeros(20, np.int32)
    numbers = [np.int32(20), np.int32(20)]
    block = 2 * get_arch(arch).wave_size
    load_assembly(text).kernels["ring"].launch(1, block, [out, *numbers])
    np.testing.assert_array_equal(out, np.arange(20) ** 2)
    args = ["--arg", "zeros:int32:20", "--arg", "i32:20", "--arg", "i32:20"]
    assert main(["run", str(path), "--block", str(block), *args]) == 0


def test_without_the_tools(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = code_object(tmp_path, "gfx942")
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr("pipedsl.sim.code_object._ROCM", str(tmp_path))
    with pytest.raises(ToolchainMissing, match="no llvm-objdump with its llvm-readelf"):
        disassemble(path)


def tool(folder: Path, name: str, script: str) -> None:
    path = folder / name
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)


@pytest.mark.parametrize(
    ("script", "error", "message"),
    [
        ("echo nothing", AssemblyError, "is no AMDGPU code object"),
        ("echo bad file >&2; exit 1", AssemblyError, "llvm-readelf-99: bad file"),
        ("kill -6 $$", ToolchainMissing, "crashed: it may not know the target"),
    ],
)
def test_tools_that_fail(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str, error: type, message: str
) -> None:
    tool(tmp_path, "llvm-readelf-99", script)
    tool(tmp_path, "llvm-objdump-99", script)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}/bin")
    path = tmp_path / "x.co"
    path.write_bytes(b"ELF")
    with pytest.raises(error, match=message):
        disassemble(path)
