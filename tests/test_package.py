"""The public names, and what importing them costs."""

from __future__ import annotations

import subprocess
import sys

import pytest

import pipedsl
from pipedsl.core import errors

PUBLIC = [
    "AmdCounterBackend", "AssemblyError", "CompilationError", "CompiledKernel", "Config", "ConfigError",
    "DeadlockError", "DeviceArray", "DeviceError", "HipError", "Kernel", "KernelError",
    "KernelSyntaxError", "KernelTypeError", "LaunchError", "MemoryFault", "PipedslError",
    "PipelineBackend", "ProducerConsumerPipeline", "ProtocolError", "Report", "ResourceError",
    "RingPosition", "Roles", "SharedTile", "SimulationError", "SingleCounterSync",
    "SplitCounterSync", "StepBudgetExceeded", "TargetError", "ToolchainMissing", "Trace",
    "UnsupportedInstruction", "__version__", "autotune", "bench", "check", "config", "device_array", "device_function",
    "event", "from_dlpack", "get_device", "gpu", "pinned_array", "pipelined_kernel", "sim", "stream", "synchronize", "to_device",
    "trace", "use_device", "views",
]  # fmt: skip


def test_the_exported_names() -> None:
    assert pipedsl.__all__ == PUBLIC


@pytest.mark.parametrize("name", PUBLIC)
def test_every_exported_name_is_there(name: str) -> None:
    assert getattr(pipedsl, name) is not None
    assert name in dir(pipedsl)


def test_every_error_is_public() -> None:
    classes = {
        name
        for name, value in vars(errors).items()
        if isinstance(value, type) and issubclass(value, errors.PipedslError)
    }
    assert classes <= set(pipedsl.__all__)


def test_a_name_that_is_absent() -> None:
    with pytest.raises(AttributeError, match="module 'pipedsl' has no attribute 'kernel'"):
        _ = pipedsl.kernel


@pytest.mark.parametrize(
    ("statement", "absent"),
    [
        ("import pipedsl; pipedsl.config, pipedsl.PipedslError", ["numba", "llvmlite", "rocm"]),
        ("from pipedsl import pipelined_kernel, AmdCounterBackend, gpu", ["rocm", "hip", "scipy"]),
    ],
)
def test_imports_leave_heavy_packages_alone(statement: str, absent: list[str]) -> None:
    script = f"{statement}\nimport sys\nprint([n for n in {absent} if n in sys.modules])"
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert done.stdout == "[]\n"
