"""The user's source: captured, checked, typed and lowered to LLVM IR."""

from pipedsl.frontend.arguments import signature_key, type_of
from pipedsl.frontend.device import DeviceFunction, device_function
from pipedsl.frontend.lower import FrontendResult, Options, lower
from pipedsl.frontend.source import KernelSource

__all__ = [
    "DeviceFunction",
    "FrontendResult",
    "KernelSource",
    "Options",
    "device_function",
    "lower",
    "signature_key",
    "type_of",
]
