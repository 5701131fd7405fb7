"""HIP's functions by name, statuses as exceptions; hip-python is imported on first use."""

from __future__ import annotations

from functools import cache
from types import ModuleType
from typing import Any

from pipedsl.core.errors import HipError


def call(function: str, *arguments: Any) -> Any:
    """Call a HIP function by name; its result without the status.

    Raises
    ------
    HipError
        If the status is not ``hipSuccess``, or the HIP library lacks the function.
    """
    api = binding()
    try:
        status, *results = getattr(api, function)(*arguments)
    except RuntimeError as error:
        raise HipError(f"{function} is not in the HIP library: {error}.") from None
    if status is not api.hipError_t.hipSuccess:
        raise failure(function, status)
    return results[0] if results else None


@cache
def binding() -> ModuleType:
    """hip-python's module of HIP functions; importing it needs no HIP library."""
    from rocm.bindings import hip  # noqa: PLC0415 (40 ms, and only wanted where HIP is asked)

    return hip


def failure(function: str, status: Any) -> HipError:
    """The exception for `status`, a ``hipError_t`` that `function` returned."""
    api, text = binding(), b""
    if api.has_symbol("hipGetErrorString"):
        text = api.hipGetErrorString(status)[1] or b""
    detail = f": {text.decode(errors='replace')}" if text else ""
    return HipError(f"{function} returned {status.name} ({int(status)}){detail}.")
