"""The decorator of functions that kernels call."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pipedsl.frontend.source import KernelSource
from pipedsl.target import function as target


class DeviceFunction(target.DeviceFunction):
    """A Python function that kernels and other device functions can call.

    Every call is expanded in place, specialised for the types of its arguments; arguments that
    are compile-time constants stay constants inside. Recursion is refused.

    Attributes
    ----------
    function : callable
        The Python function itself, to call on the host.
    source : KernelSource
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        self.source = KernelSource.capture(function, is_kernel=False)
        super().__init__(function)

    @property
    def text(self) -> str:
        """Source text captured at decoration."""
        return self.source.text


def device_function(function: Callable[..., Any]) -> DeviceFunction:
    """Make `function` callable from kernels.

    Raises
    ------
    KernelSyntaxError
        If it holds something that kernels do not have.
    """
    return DeviceFunction(function)
