"""``math`` functions.

float16 and float32 `exp`, `exp2`, `log`, `log2` and `log10` use the hardware's instructions with
LLVM's range handling (1 to 2 ulp); `sqrt`, `fma` and division are correctly rounded. `sin`, `cos`,
`tan`, `tanh` and `pow`, and everything above in float64, are computed in float64 by `mathlib`:
correctly rounded in almost all cases for float32, a few ulp for float64 (see there). `floor`,
`ceil` and `trunc` give ints as in Python: int32, or int64 for float64.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from llvmlite import ir
from numba.core import types

from pipedsl.target import gpu, mathlib
from pipedsl.target.arithmetic import suffix
from pipedsl.target.conversion import convert_scalar
from pipedsl.target.folding import fold
from pipedsl.target.operations import (
    Operation,
    TypeMismatch,
    Typer,
    Value,
    implements,
    scalar,
)
from pipedsl.target.promotion import as_float, common, scalar_type
from pipedsl.target.types import register_type

if TYPE_CHECKING:
    from pipedsl.target.compilation import Compilation
    from pipedsl.target.lowering import Lowering

_I32 = ir.IntType(32)


def _intrinsic(function: Any, name: str, arity: int = 1) -> None:
    """A function that is one LLVM intrinsic in every float type."""

    def operation(*operands: types.Type) -> Operation:
        folded = fold(function, *operands) if function.__module__ == "math" else None
        if folded is not None:
            return folded
        ty = common(*(as_float(operand) for operand in operands))

        def emit(low: Lowering, values: Sequence[Value]) -> Value:
            arguments = [value[0] for value in values]
            return (low.call(f"llvm.{name}.{suffix(ty)}", arguments[0].type, arguments),)

        return Operation(ty, [ty] * len(operands), emit)

    typers: dict[int, Typer] = {
        1: lambda compilation, x: operation(x),
        2: lambda compilation, x, y: operation(x, y),
        3: lambda compilation, x, y, z: operation(x, y, z),
    }
    implements(function)(typers[arity])


_intrinsic(math.sqrt, "sqrt")
_intrinsic(math.copysign, "copysign", 2)
_intrinsic(gpu.fma, "fma", 3)
_intrinsic(gpu.rint, "rint")
_intrinsic(gpu.floor, "floor")
if hasattr(math, "fma"):
    _intrinsic(math.fma, "fma", 3)


def _in_float64(compilation: Any, body: Any, *operands: types.Type) -> Operation:
    """A function of `mathlib`: computed in float64, rounded to the operands' type."""
    ty = common(*(as_float(operand) for operand in operands))
    typed = compilation.typed(body.function, (types.float64,) * len(operands))

    def emit(low: Lowering, values: Sequence[Value]) -> Value:
        wide = [(convert_scalar(low.builder, value[0], ty, types.float64),) for value in values]
        (result,) = low.expand(typed, wide)
        return (convert_scalar(low.builder, result, types.float64, ty),)

    return Operation(ty, [ty] * len(operands), emit)


def _hardware(function: Any, name: str, body: Any) -> None:
    """An intrinsic in float16 and float32, a function of `mathlib` in float64."""

    def typer(compilation: Compilation, x: types.Type) -> Operation:
        folded = fold(function, x)
        if folded is not None:
            return folded
        ty = as_float(x)
        if ty == types.float64:
            return _in_float64(compilation, body, x)
        return Operation(
            ty,
            [ty],
            lambda low, values: (
                low.call(f"llvm.{name}.{suffix(ty)}", values[0][0].type, values[0]),
            ),
        )

    implements(function)(typer)


_hardware(math.exp, "exp", mathlib.exp)
_hardware(math.log, "log", mathlib.log)
_hardware(math.log2, "log2", mathlib.log2)
_hardware(math.log10, "log10", mathlib.log10)
if hasattr(math, "exp2"):
    _hardware(math.exp2, "exp2", mathlib.exp2)


def _library(function: Any, body: Any, arity: int = 1) -> None:
    """A function of `mathlib` in every float type."""

    def operation(compilation: Any, *operands: types.Type) -> Operation:
        return fold(function, *operands) or _in_float64(compilation, body, *operands)

    if arity == 1:
        implements(function)(lambda compilation, x: operation(compilation, x))
    else:
        implements(function)(lambda compilation, x, y: operation(compilation, x, y))


_library(math.sin, mathlib.sin)
_library(math.cos, mathlib.cos)
_library(math.tan, mathlib.tan)
_library(math.tanh, mathlib.tanh)
_library(math.pow, mathlib.power, 2)


def _to_int(function: Any, name: str) -> None:
    def typer(compilation: Compilation, x: types.Type) -> Operation:
        folded = fold(function, x)
        if folded is not None:
            return folded
        found = common(x)
        if not isinstance(found, types.Float):
            return scalar(found, [found], lambda builder, value: value)
        result = types.int64 if found == types.float64 else types.int32

        def emit(low: Lowering, values: Sequence[Value]) -> Value:
            rounded = low.call(f"llvm.{name}.{suffix(found)}", values[0][0].type, values[0])
            return (convert_scalar(low.builder, rounded, found, result),)

        return Operation(result, [found], emit)

    implements(function)(typer)


_to_int(math.floor, "floor")
_to_int(math.ceil, "ceil")
_to_int(math.trunc, "trunc")
_to_int(round, "rint")


def _classify(function: Any, build: Any) -> None:
    def typer(compilation: Compilation, x: types.Type) -> Operation:
        folded = fold(function, x)
        if folded is not None:
            return folded
        ty = as_float(x)
        return scalar(types.boolean, [ty], build)

    implements(function)(typer)


def _magnitude(builder: ir.IRBuilder, x: ir.Value) -> tuple[ir.Value, ir.Constant]:
    kind = x.type
    name = {"half": "f16", "float": "f32", "double": "f64"}[str(kind)]
    fabs = builder.module.declare_intrinsic(f"llvm.fabs.{name}", fnty=ir.FunctionType(kind, [kind]))
    return builder.call(fabs, [x]), ir.Constant(kind, math.inf)


_classify(math.isnan, lambda builder, x: builder.fcmp_unordered("uno", x, x))
_classify(math.isinf, lambda builder, x: builder.fcmp_ordered("==", *_magnitude(builder, x)))
_classify(math.isfinite, lambda builder, x: builder.fcmp_ordered("<", *_magnitude(builder, x)))


@implements(math.ldexp)
def _ldexp(compilation: Compilation, x: types.Type, exponent: types.Type) -> Operation:
    ty = as_float(x)
    if not isinstance(scalar_type(exponent), types.Integer):
        raise TypeMismatch(f"math.ldexp() takes an int exponent, not {exponent}.")

    def emit(low: Lowering, values: Sequence[Value]) -> Value:
        arguments = [values[0][0], values[1][0]]
        return (low.call(f"llvm.ldexp.{suffix(ty)}.i32", arguments[0].type, arguments),)

    return Operation(ty, [ty, types.int32], emit)


@implements(math.frexp)
def _frexp(compilation: Compilation, x: types.Type) -> Operation:
    ty = as_float(x)
    kind = register_type(ty)
    exponent = ir.IntType(16) if ty == types.float16 else _I32
    name = f"{suffix(ty)}"

    def emit(low: Lowering, values: Sequence[Value]) -> Value:
        mantissa = low.call(f"llvm.amdgcn.frexp.mant.{name}", kind, values[0])
        power = low.call(f"llvm.amdgcn.frexp.exp.i{exponent.width}.{name}", exponent, values[0])
        if exponent.width < 32:
            power = low.builder.sext(power, _I32)
        return (mantissa, power)

    return Operation(types.Tuple((ty, types.int32)), [ty], emit)
