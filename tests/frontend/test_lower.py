"""The contract of `lower`: parameters, LDS, sources, checks before LLVM."""

from __future__ import annotations

import re

import numpy as np
import pytest

from pipedsl import gpu
from pipedsl.codegen import compile_ir
from pipedsl.core.arch import ARCHS
from pipedsl.core.errors import CompilationError, KernelTypeError, ResourceError, TargetError
from pipedsl.frontend import KernelSource, Options, device_function, lower, type_of
from pipedsl.isa.metadata import read_metadata


def types_of(*values):
    return [type_of(value) for value in values]


@device_function
def store(target, i, value):
    target[i] = value


def kernel(out, matrix, flag, scale):
    i = gpu.thread_idx.x
    if flag:
        store(out, i, matrix[i, 0] * scale)


ARGUMENTS = types_of(np.zeros(4, np.float32), np.zeros((4, 4), np.float16).T, True, np.float64(1.0))


def test_parameters():
    out, matrix, flag, scale = lower(
        KernelSource.capture(kernel), ARGUMENTS, "gfx942", 64
    ).parameters
    assert (out.name, out.kind, out.dtype, out.ndim, out.written) == (
        "out", "array", "float32", 1, True,
    )  # fmt: skip
    assert (matrix.kind, matrix.dtype, matrix.ndim, matrix.written) == (
        "array",
        "float16",
        2,
        False,
    )
    assert matrix.parts == ("pointer", "shape.0", "shape.1", "stride.0", "stride.1")
    assert (flag.kind, flag.dtype, flag.ndim, flag.parts) == ("scalar", "bool", 0, ("value",))
    assert (scale.kind, scale.dtype) == ("scalar", "float64")


@pytest.mark.parametrize("arch", ARCHS)
def test_parts_are_the_explicit_arguments_of_the_metadata(arch):
    result = lower(KernelSource.capture(kernel), ARGUMENTS, arch, 64)
    asm = compile_ir(result.llvm_ir, arch, kernel=result.kernel).asm
    metadata = read_metadata(asm)
    (found,) = metadata.values() if isinstance(metadata, dict) else metadata
    parts = [
        parameter.name if part in ("pointer", "value") else f"{parameter.name}.{part}"
        for parameter in result.parameters
        for part in parameter.parts
    ]
    assert [argument.name for argument in found.args] == parts
    assert found.kernarg_size == 56  # nothing but the explicit arguments


def test_hidden_arguments_only_where_the_block_is_not_known():
    def sizes(out):
        out[0] = gpu.block_dim.x

    ir = {
        block: lower(KernelSource.capture(sizes), types_of(np.zeros(1, np.int32)), "gfx942", block)
        for block in (None, 64)
    }
    assert "implicitarg.ptr" in ir[None].llvm_ir
    assert '"amdgpu-no-implicitarg-ptr"' in ir[64].llvm_ir
    assert '"amdgpu-flat-work-group-size"="64,64"' in ir[64].llvm_ir
    assert '"amdgpu-flat-work-group-size"="1,1024"' in ir[None].llvm_ir


def test_block_axes():
    def position(out):
        out[gpu.thread_idx.y, gpu.thread_idx.x] = gpu.block_dim.y

    text = lower(
        KernelSource.capture(position), types_of(np.zeros((4, 16), np.int32)), "gfx942", (16, 4)
    ).llvm_ir
    assert "workitem.id.y" in text and "workitem.id.z" not in text
    assert "store i32 4," in text


def test_lines_of_the_kernel_and_of_its_device_functions():
    result = lower(KernelSource.capture(kernel), ARGUMENTS, "gfx942", 64)
    asm = compile_ir(result.llvm_ir, "gfx942", kernel="kernel").asm
    assert __file__ in result.sources
    lines = {int(line) for line in re.findall(r"\.loc\s+1 (\d+)", asm)}
    text = result.sources[__file__].splitlines()
    shown = {text[line - 1].strip() for line in lines if line}
    assert "target[i] = value" in shown
    assert "store(out, i, matrix[i, 0] * scale)" in shown


def test_lds_is_counted_and_aligned():
    def arrays(out):
        a = gpu.shared.array(3, np.int8)
        b = gpu.shared.array((2, 3), np.float64)
        a[0] = 1
        b[1, 2] = 2.0
        out[0] = a[0] + b[1, 2]

    result = lower(KernelSource.capture(arrays), types_of(np.zeros(1)), "gfx942", 64)
    assert result.lds_bytes == 16 + 48


def big(out):
    small = gpu.shared.array(16, np.int8)
    tiles = gpu.shared.array((2, 160, 129), np.float32)
    i = gpu.thread_idx.x
    tiles[1, i, 0] = 1.0
    small[i] = 1
    gpu.barrier()
    out[i] = tiles[0, 0, i] + small[0]


def test_lds_over_the_limit():
    source = KernelSource.capture(big)
    with pytest.raises(ResourceError) as caught:
        lower(source, types_of(np.zeros(1)), "gfx942", 64)
    error = caught.value
    assert error.message == (
        "the kernel takes 165136 bytes of LDS and gfx942 has 65536 per workgroup; "
        "this array takes 165120."
    )
    assert (
        error.where.source_line().strip() == "tiles = gpu.shared.array((2, 160, 129), np.float32)"
    )
    with pytest.raises(ResourceError, match="gfx950 has 163840"):
        lower(source, types_of(np.zeros(1)), "gfx950", 64)


def test_lds_forced_past_the_check_is_llvms_error():
    result = lower(
        KernelSource.capture(big), types_of(np.zeros(1)), "gfx942", 64, Options(unchecked=True)
    )
    with pytest.raises(CompilationError, match="local memory"):
        compile_ir(result.llvm_ir, "gfx942", kernel="big")


@pytest.mark.parametrize("block", [0, 1025, (64, 32), (1, 1, 0)])
def test_block_over_the_limit(block):
    with pytest.raises(ResourceError, match="is outside 1 to 1024 on gfx942"):
        lower(KernelSource.capture(kernel), ARGUMENTS, "gfx942", block)


def test_unknown_arch():
    with pytest.raises(TargetError, match="'gfx803' is not a supported arch"):
        lower(KernelSource.capture(kernel), ARGUMENTS, "gfx803", 64)


def test_argument_count():
    with pytest.raises(KernelTypeError, match=r"kernel\(\) takes 4 arguments, not 1"):
        lower(KernelSource.capture(kernel), ARGUMENTS[:1], "gfx942", 64)
