"""Conditions that are decided while compiling."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from numba.core import types

from pipedsl.core.errors import ProtocolError
from pipedsl.target import gpu
from pipedsl.target.operations import (
    Operation,
    TypeMismatch,
    implements,
)
from pipedsl.target.types import Constant

if TYPE_CHECKING:
    from pipedsl.target.compilation import Compilation


@implements(gpu.static_check)
def _static_check(
    compilation: Compilation,
    condition: types.Type,
    message: types.Type,
    fix: Any = None,
    *values: types.Type,
) -> Operation:
    if isinstance(condition, Constant) and not condition.value:
        shown = [value.value if isinstance(value, Constant) else value for value in values]
        raise TypeMismatch(
            message.value.format(*shown),
            fix.value if isinstance(fix, Constant) else None,
            kind=ProtocolError,
        )
    return Operation(types.none, (), lambda low, args: ())
