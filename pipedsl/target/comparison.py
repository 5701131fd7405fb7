"""Comparisons, ``is`` and ``not``. NaN compares as IEEE 754 says."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any

from llvmlite import ir
from numba.core import types

from pipedsl.target.folding import fold
from pipedsl.target.operations import Operation, TypeMismatch, implements, known, scalar
from pipedsl.target.promotion import common, scalar_type
from pipedsl.target.types import Constant, constant

if TYPE_CHECKING:
    from pipedsl.target.compilation import Compilation


def _compare(symbol: str, function: Any) -> None:
    def typer(compilation: Compilation, a: types.Type, b: types.Type) -> Operation:
        if scalar_type(a) is None or scalar_type(b) is None:
            return _compare_known(symbol, function, a, b)
        folded = fold(function, a, b)
        if folded is not None:
            return folded
        ty = common(a, b)

        def build(builder: ir.IRBuilder, x: ir.Value, y: ir.Value) -> ir.Value:
            if isinstance(ty, types.Float):
                compare = builder.fcmp_unordered if symbol == "!=" else builder.fcmp_ordered
            else:
                compare = builder.icmp_signed if ty.signed else builder.icmp_unsigned
            return compare(symbol, x, y)

        return scalar(types.boolean, [ty, ty], build)

    implements(function)(typer)


def _compare_known(symbol: str, function: Any, a: types.Type, b: types.Type) -> Operation:
    if symbol in ("==", "!=") and isinstance(a, Constant) and isinstance(b, Constant):
        return known(constant(bool(function(a.value, b.value))))
    raise TypeMismatch(f"{symbol} is not defined for {a} and {b}.")


for _symbol, _name in (
    ("==", "eq"), ("!=", "ne"), ("<", "lt"), ("<=", "le"), (">", "gt"), (">=", "ge"),
):  # fmt: skip
    _compare(_symbol, getattr(operator, _name))


def _identical(a: types.Type, b: types.Type) -> bool:
    if types.none in (a, b):
        return a == b
    if isinstance(a, Constant) and isinstance(b, Constant):
        return a.value is b.value
    raise TypeMismatch("`is` compares with None or between compile-time values only.", "use ==.")


@implements(operator.is_)
def _is(compilation: Compilation, a: types.Type, b: types.Type) -> Operation:
    return known(constant(_identical(a, b)))


@implements(operator.is_not)
def _is_not(compilation: Compilation, a: types.Type, b: types.Type) -> Operation:
    return known(constant(not _identical(a, b)))


@implements(operator.not_)
def _not(compilation: Compilation, value: types.Type) -> Operation:
    if value == types.none:
        return known(constant(True))
    if scalar_type(value) is None:
        raise TypeMismatch(f"`not` is not defined for {value}.")
    folded = fold(operator.not_, value)
    if folded is not None:
        return folded
    return scalar(types.boolean, [types.boolean], lambda builder, x: builder.not_(x))
