"""Conditions that are decided while compiling."""

from __future__ import annotations

from numba.core import types

from pipedsl.core.errors import ProtocolError
from pipedsl.target import gpu
from pipedsl.target.operations import Operation, TypeMismatch, implements
from pipedsl.target.types import Constant


@implements(gpu.static_check)
def _static_check(compilation, condition, message, fix=None, *values):  # type: ignore[no-untyped-def]
    if isinstance(condition, Constant) and not condition.value:
        shown = [value.value if isinstance(value, Constant) else value for value in values]
        raise TypeMismatch(
            message.value.format(*shown),
            fix.value if isinstance(fix, Constant) else None,
            kind=ProtocolError,
        )
    return Operation(types.none, (), lambda low, args: ())
