"""Signs and extremes: unary ``-``, ``+`` and ``~``, `abs`, `min` and `max`.

`min` and `max` of floats give the other operand where one is NaN.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from llvmlite import ir
from numba.core import types

from pipedsl.target.arithmetic import suffix
from pipedsl.target.folding import fold
from pipedsl.target.operations import Operation, TypeMismatch, Value, implements, scalar
from pipedsl.target.promotion import common
from pipedsl.target.types import dtype_name

if TYPE_CHECKING:
    from pipedsl.target.compilation import Compilation
    from pipedsl.target.lowering import Lowering


@implements(operator.neg)
def _negative(compilation: Compilation, value: types.Type) -> Operation:
    folded = fold(operator.neg, value)
    if folded is not None:
        return folded
    ty = common(value)
    if isinstance(ty, types.Float):
        return scalar(ty, [ty], lambda builder, x: builder.fneg(x))
    return scalar(ty, [ty], lambda builder, x: builder.neg(x))


@implements(operator.pos)
def _positive(compilation: Compilation, value: types.Type) -> Operation:
    folded = fold(operator.pos, value)
    if folded is not None:
        return folded
    ty = common(value)
    return scalar(ty, [ty], lambda builder, x: x)


@implements(operator.invert)
def _invert(compilation: Compilation, value: types.Type) -> Operation:
    folded = fold(operator.invert, value)
    if folded is not None:
        return folded
    ty = common(value)
    if isinstance(ty, types.Float):
        raise TypeMismatch(f"~ is not defined for {dtype_name(ty)}.", "use integers.")
    return scalar(ty, [ty], lambda builder, x: builder.not_(x))


@implements(abs, math.fabs)
def _absolute(compilation: Compilation, value: types.Type) -> Operation:
    folded = fold(abs, value)
    if folded is not None:
        return folded
    ty = common(value)
    if isinstance(ty, types.Float):
        return Operation(
            ty, [ty], lambda low, v: (low.call(f"llvm.fabs.{suffix(ty)}", v[0][0].type, v[0]),)
        )
    if not ty.signed:
        return scalar(ty, [ty], lambda builder, x: x)

    def build(builder: ir.IRBuilder, x: ir.Value) -> ir.Value:
        negative = builder.icmp_signed("<", x, ir.Constant(x.type, 0))
        return builder.select(negative, builder.neg(x), x)

    return scalar(ty, [ty], build)


def _extreme(function: Any, intrinsic: str) -> None:
    def typer(compilation: Compilation, *values: types.Type) -> Operation:
        if len(values) == 1 and isinstance(values[0], types.BaseTuple):
            raise TypeMismatch(
                f"{function.__name__}() of a tuple is not supported in kernels.",
                f"pass the items: {function.__name__}(a, b).",
            )
        if len(values) < 2:
            raise TypeMismatch(f"{function.__name__}() takes two values or more in kernels.")
        folded = fold(function, *values)
        if folded is not None:
            return folded
        ty = common(*values)
        if isinstance(ty, types.Float):
            name = f"llvm.{intrinsic}num.{suffix(ty)}"
        else:
            name = f"llvm.{'s' if ty.signed else 'u'}{intrinsic}.{suffix(ty)}"

        def emit(low: Lowering, args: Sequence[Value]) -> Value:
            result = args[0][0]
            for (other,) in args[1:]:
                result = low.call(name, result.type, [result, other])
            return (result,)

        return Operation(ty, [ty] * len(values), emit)

    implements(function)(typer)


_extreme(min, "min")
_extreme(max, "max")
