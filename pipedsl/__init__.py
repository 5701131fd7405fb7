"""Warp-specialised AMD GPU kernels in Python, with or without a GPU.

::

    from pipedsl import pipelined_kernel, AmdCounterBackend, gpu

Names are loaded on first use: ``import pipedsl`` itself imports neither Numba nor HIP.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from pipedsl.core.version import __version__

if TYPE_CHECKING:
    from pipedsl import bench, sim, views
    from pipedsl.bench import Config, autotune
    from pipedsl.checker.report import Report
    from pipedsl.core.config import config
    from pipedsl.core.errors import (
        AssemblyError,
        CompilationError,
        ConfigError,
        DeadlockError,
        DeviceError,
        HipError,
        KernelError,
        KernelSyntaxError,
        KernelTypeError,
        LaunchError,
        MemoryFault,
        PipedslError,
        ProtocolError,
        ResourceError,
        SimulationError,
        StepBudgetExceeded,
        TargetError,
        ToolchainMissing,
        UnsupportedInstruction,
    )
    from pipedsl.dispatch import CompiledKernel, Kernel, device_function, pipelined_kernel
    from pipedsl.dispatch.checking import check
    from pipedsl.dispatch.tracing import Trace, trace
    from pipedsl.pipeline import (
        AmdCounterBackend,
        PipelineBackend,
        ProducerConsumerPipeline,
        RingPosition,
        Roles,
        SharedTile,
        SingleCounterSync,
        SplitCounterSync,
    )
    from pipedsl.runtime import (
        DeviceArray,
        device_array,
        event,
        from_dlpack,
        get_device,
        pinned_array,
        stream,
        synchronize,
        to_device,
        use_device,
    )
    from pipedsl.target import gpu

_MODULES = ("bench", "sim", "views")
_HOMES = {
    "pipedsl.bench": ("Config", "autotune"),
    "pipedsl.core.config": ("config",),
    "pipedsl.core.errors": (
        "AssemblyError",
        "CompilationError",
        "ConfigError",
        "DeadlockError",
        "DeviceError",
        "HipError",
        "KernelError",
        "KernelSyntaxError",
        "KernelTypeError",
        "LaunchError",
        "MemoryFault",
        "PipedslError",
        "ProtocolError",
        "ResourceError",
        "SimulationError",
        "StepBudgetExceeded",
        "TargetError",
        "ToolchainMissing",
        "UnsupportedInstruction",
    ),
    "pipedsl.checker.report": ("Report",),
    "pipedsl.dispatch.checking": ("check",),
    "pipedsl.dispatch.tracing": ("Trace", "trace"),
    "pipedsl.dispatch": ("CompiledKernel", "Kernel", "device_function", "pipelined_kernel"),
    "pipedsl.pipeline": (
        "AmdCounterBackend",
        "PipelineBackend",
        "ProducerConsumerPipeline",
        "RingPosition",
        "Roles",
        "SharedTile",
        "SingleCounterSync",
        "SplitCounterSync",
    ),
    "pipedsl.runtime": (
        "DeviceArray",
        "device_array",
        "event",
        "from_dlpack",
        "get_device",
        "pinned_array",
        "stream",
        "synchronize",
        "to_device",
        "use_device",
    ),
    "pipedsl.target": ("gpu",),
}
_HOME_OF = {name: module for module, names in _HOMES.items() for name in names}

__all__ = [
    "AmdCounterBackend",
    "AssemblyError",
    "CompilationError",
    "CompiledKernel",
    "Config",
    "ConfigError",
    "DeadlockError",
    "DeviceArray",
    "DeviceError",
    "HipError",
    "Kernel",
    "KernelError",
    "KernelSyntaxError",
    "KernelTypeError",
    "LaunchError",
    "MemoryFault",
    "PipedslError",
    "PipelineBackend",
    "ProducerConsumerPipeline",
    "ProtocolError",
    "Report",
    "ResourceError",
    "RingPosition",
    "Roles",
    "SharedTile",
    "SimulationError",
    "SingleCounterSync",
    "SplitCounterSync",
    "StepBudgetExceeded",
    "TargetError",
    "ToolchainMissing",
    "Trace",
    "UnsupportedInstruction",
    "__version__",
    "autotune",
    "bench",
    "check",
    "config",
    "device_array",
    "device_function",
    "event",
    "from_dlpack",
    "get_device",
    "gpu",
    "pinned_array",
    "pipelined_kernel",
    "sim",
    "stream",
    "synchronize",
    "to_device",
    "trace",
    "use_device",
    "views",
]


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return import_module(f"pipedsl.{name}")
    home = _HOME_OF.get(name)
    if home is None:
        raise AttributeError(f"module 'pipedsl' has no attribute {name!r}")
    value = getattr(import_module(home), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
