"""Operations on Python literals, which Python itself computes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numba.core import types

from pipedsl.target.operations import Operation, TypeMismatch, known
from pipedsl.target.promotion import is_weak
from pipedsl.target.types import constant


def fold(function: Callable[..., Any], *operands: types.Type) -> Operation | None:
    """The result of `function` as a literal, or None if an operand is no literal."""
    values = [operand.value for operand in operands if is_weak(operand)]
    if len(values) < len(operands):
        return None
    try:
        return known(constant(function(*values)))
    except (ArithmeticError, ValueError, TypeError) as error:
        raise TypeMismatch(f"{error}.") from None
