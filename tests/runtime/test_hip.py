"""The HIP device, through hip-python and a HIP library of the tests' own.

The library runs launches on the simulator (hip_simulation.py) from what HIP itself would know:
code object bytes, kernel name, extents and kernarg bytes. No GPU is involved.
"""

from __future__ import annotations

import pytest

SCALE = """
import numpy as np
import pipedsl
from pipedsl import gpu

@pipedsl.pipelined_kernel
def scale(out, values, factor, offset):
    i = gpu.block_idx.x * gpu.block_dim.x + gpu.thread_idx.x
    if i < values.shape[0]:
        out[i] = values[i] * factor + offset
"""


def kernel_file(tmp_path, text: str = SCALE) -> str:
    (tmp_path / "kernels_under_test.py").write_text(text)
    return f"import sys; sys.path.insert(0, {str(tmp_path)!r})\n"


@pytest.fixture
def hip(run_hip, tmp_path):
    """Runs a script that may import `scale`, with launches going to the simulator."""

    def run(script: str, **environment: str) -> list[str]:
        prologue = kernel_file(tmp_path) + (
            "import numpy as np, pipedsl, hip_simulation\n"
            "from kernels_under_test import scale\n"
            "hip_simulation.install()\n"
        )
        return run_hip(prologue + script, **environment).splitlines()

    return run


@pytest.mark.parametrize("arch", ["gfx90a", "gfx942", "gfx950", "gfx1100", "gfx1201"])
def test_a_launch_arrives_whole(hip, arch: str) -> None:
    output = hip(
        """
device = pipedsl.get_device()
values = np.arange(1000, dtype=np.int32)
out = np.full(1000, -1, np.int32)
arguments = (out, values, np.int32(3), np.int64(2**33 + 5))
compiled = scale.compile(*arguments, block=128)
hip_simulation.know(compiled.asm, device.arch.name)
scale[8, 128](*arguments)
print(device.name, device.arch.name)
print(np.array_equal(out, values * 3 + 5))
print(hip_simulation.launches)
print(hip_simulation.library.pipedsl_test_live_allocations())
""",
        HIP_SHIM_ARCHS=f"{arch}:sramecc+:xnack-",
    )
    launch = {"name": "scale", "grid": (8, 1, 1), "block": (128, 1, 1), "lds_bytes": 0, "stream": 0}
    assert output == [f"hip:0 {arch}", "True", f"[{launch}]", "0"]


def test_device_arrays_streams_events_and_dynamic_lds(hip) -> None:
    output = hip(
        """
values = pipedsl.to_device(np.arange(64, dtype=np.int32))
out = pipedsl.device_array(64, np.int32)
hip_simulation.know(scale.compile(out, values, 2, 1, block=(8, 8)).asm, "gfx942")
stream, start, end = pipedsl.stream(), pipedsl.event(), pipedsl.event()
start.record(stream)
scale[(1, 2, 3), (8, 8), stream, 512](out, values, 2, 1)
end.record(stream)
end.synchronize()
stream.synchronize()
pipedsl.synchronize()
print(out.copy_to_host(stream=stream)[:8].tolist())
launch = hip_simulation.launches[0]
print(launch["grid"], launch["block"], launch["lds_bytes"], launch["stream"] == stream.ptr != 0)
print(start.elapsed_time(end))
""",
    )
    assert output == ["[1, 3, 5, 7, 9, 11, 13, 15]", "(1, 2, 3) (8, 8, 1) 512 True", "1.5"]


def test_streams_of_other_libraries(hip) -> None:
    output = hip(
        """
from rocm.bindings import hip
class CuPy: ptr = 0x1000
class Torch: cuda_stream = 0x2000
class Core:
    def __cuda_stream__(self): return 0, 0x3000
native = hip.hipStreamCreate()[1]
out = pipedsl.device_array(1, np.int32)
hip_simulation.know(scale.compile(out, out, 2, 1, block=1).asm, "gfx942")
for stream in (CuPy, Torch, Core(), 0x4000, native, None):
    scale[1, 1, stream](out, out, 2, 1)
print([hex(launch["stream"]) for launch in hip_simulation.launches if launch["stream"] < 0x5000])
print(hip_simulation.launches[4]["stream"] == int(native))
try:
    scale[1, 1, "fast"](out, out, 2, 1)
except pipedsl.LaunchError as error:
    print(error.message)
""",
    )
    assert output == [
        "['0x1000', '0x2000', '0x3000', '0x4000', '0x0']",
        "True",
        "'fast' is not a stream.",
    ]


def test_the_first_supported_gpu_is_taken_and_others_say_why(hip) -> None:
    output = hip(
        """
from pipedsl.runtime import candidates
print(pipedsl.get_device().name)
for candidate in candidates():
    print(candidate.spec, "|", candidate.description, "|", candidate.reason)
print(pipedsl.get_device("hip:2").arch.name)
for spec in ("hip:0", "hip:7"):
    try:
        pipedsl.get_device(spec)
    except pipedsl.DeviceError as error:
        print(error.message)
""",
        HIP_SHIM_ARCHS="gfx906:sramecc+:xnack-,gfx942:sramecc+:xnack-,gfx1100",
    )
    assert output == [
        "hip:1",
        "hip:0 | Test GPU 0 (gfx906:sramecc+:xnack-) | "
        "'gfx906:sramecc+:xnack-' is not a supported arch",
        "hip:1 | Test GPU 1 (gfx942:sramecc+:xnack-) | None",
        "hip:2 | Test GPU 2 (gfx1100) | None",
        "sim:gfx942 | simulator of gfx942 | None",
        "gfx1100",
        "there is no device 'hip:0' (hip:0: 'gfx906:sramecc+:xnack-' is not a supported arch).",
        "there is no device 'hip:7' (HIP lists fewer GPUs).",
    ]


def test_a_library_without_a_gpu_falls_back(hip) -> None:
    output = hip(
        """
from pipedsl.runtime import candidates
print(pipedsl.get_device().name, "|", candidates()[0].reason)
""",
        HIP_SHIM_ARCHS=",",
    )
    assert output == [
        "sim:gfx942 | hipGetDeviceCount returned hipErrorNoDevice (100): "
        "no ROCm-capable device is detected"
    ]


@pytest.mark.parametrize(
    ("function", "status"),
    [
        ("hipMalloc", "hipErrorOutOfMemory (2): out of memory"),
        ("hipMemcpyAsync", "hipErrorOutOfMemory (2): out of memory"),
        ("hipModuleGetFunction", "hipErrorNotFound (500): named symbol not found"),
        ("hipModuleLaunchKernel", "hipErrorOutOfMemory (2): out of memory"),
        ("hipStreamSynchronize", "hipErrorOutOfMemory (2): out of memory"),
    ],
)
def test_a_failing_call_is_an_error_and_changes_nothing(hip, function: str, status: str) -> None:
    output = hip(
        f"""
import os
out, values = np.full(4, -1, np.int32), np.arange(4, dtype=np.int32)
hip_simulation.know(scale.compile(out, values, 2, 1, block=64).asm, "gfx942")
os.environ["HIP_SHIM_FAIL"] = {function!r}
try:
    scale[1, 64](out, values, 2, 1)
except pipedsl.HipError as error:
    print(error.message)
    print(error.where.source_line())
print(out.tolist(), hip_simulation.library.pipedsl_test_live_allocations())
del os.environ["HIP_SHIM_FAIL"]
scale[1, 64](out, values, 2, 1)
print(out.tolist())
""",
    )
    assert output[0] == f"{function} returned {status}."
    assert output[-2:] == ["[-1, -1, -1, -1] 0", "[1, 3, 5, 7]"]


def test_a_function_that_the_library_lacks(hip) -> None:
    output = hip(
        """
from pipedsl.runtime.hip_api import call
try:
    call("hipDeviceReset")
except pipedsl.HipError as error:
    print(error.message)
""",
    )
    assert output[0].startswith("hipDeviceReset is not in the HIP library:")


def test_the_stress_kernel(run_hip) -> None:
    output = run_hip(
        """
        import pathlib, runpy, sys
        import numpy as np, pipedsl, hip_simulation
        sys.path.insert(0, str(pathlib.Path.cwd() / "kernels"))
        from stress import make_stress
        hip_simulation.install()
        kernel = make_stress(4)
        result = np.zeros(2000, np.int32)
        hip_simulation.know(kernel.compile(result, np.int32(2000), block=128).asm, "gfx942")
        kernel[1, 128](result, np.int32(2000))
        print(pipedsl.get_device().name, np.array_equal(result, np.arange(1, 2001)))
        """
    )
    assert output == "hip:0 True\n"
