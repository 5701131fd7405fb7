"""Operators and the numeric built-ins.

Signed ``//`` and ``%`` round as Python's do; by a positive constant power of two they are one
shift and one ``and``. Dividing an int by zero is undefined. Floats follow IEEE 754, without
contraction or reassociation.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from llvmlite import ir
from numba.core import types

from pipedsl.target.conversion import literal
from pipedsl.target.folding import fold
from pipedsl.target.narrow import is_eight_bits
from pipedsl.target.operations import (
    Operation,
    TypeMismatch,
    implements,
    scalar,
)
from pipedsl.target.promotion import common, scalar_type
from pipedsl.target.types import Constant, dtype_name
from pipedsl.target.vectors import elementwise

if TYPE_CHECKING:
    from pipedsl.target.compilation import Compilation

Build = Callable[..., ir.Value]

_SUFFIX = {types.float16: "f16", types.float32: "f32", types.float64: "f64"}


def suffix(ty: types.Type) -> str:
    """LLVM's suffix for a scalar type in an intrinsic's name."""
    return _SUFFIX.get(ty) or f"i{ty.bitwidth}"


def _binary(symbol: str, function: Any, inplace: Any, ints: Build, floats: Build | None) -> None:
    def typer(compilation: Compilation, a: types.Type, b: types.Type) -> Operation:
        vector = elementwise(symbol, a, b, ints, floats)
        if vector is not None:
            return vector
        if scalar_type(a) is None or scalar_type(b) is None:
            raise TypeMismatch(f"{symbol} is not defined for {a} and {b}.")
        folded = fold(function, a, b)
        if folded is not None:
            return folded
        ty = common(a, b)
        if isinstance(ty, types.Float):
            if floats is None or is_eight_bits(ty):
                raise TypeMismatch(
                    f"{symbol} is not defined for {dtype_name(ty)}.", "use integers."
                )
            return scalar(ty, [ty, ty], lambda builder, x, y: floats(builder, x, y))
        divisor = b.value if isinstance(b, Constant) else None
        return scalar(ty, [ty, ty], lambda builder, x, y: ints(builder, x, y, ty, divisor))

    implements(function, *([inplace] if inplace is not None else []))(typer)


def _simple(name: str) -> Build:
    return lambda builder, x, y, ty=None, divisor=None: getattr(builder, name)(x, y)


def _power_of_two(divisor: Any) -> int | None:
    """log2 of a divisor that is a constant positive power of two."""
    if isinstance(divisor, int) and divisor > 0 and divisor & (divisor - 1) == 0:
        return divisor.bit_length() - 1
    return None


def _floor_divide(
    builder: ir.IRBuilder, x: ir.Value, y: ir.Value, ty: Any, divisor: Any
) -> ir.Value:
    if not ty.signed:
        return builder.udiv(x, y)
    shift = _power_of_two(divisor)
    if shift is not None:
        return builder.ashr(x, ir.Constant(x.type, shift))
    quotient = builder.sdiv(x, y)
    inexact = _opposite_remainder(builder, builder.srem(x, y), y)
    return builder.sub(quotient, builder.zext(inexact, x.type))


def _modulo(builder: ir.IRBuilder, x: ir.Value, y: ir.Value, ty: Any, divisor: Any) -> ir.Value:
    if not ty.signed:
        return builder.urem(x, y)
    if _power_of_two(divisor) is not None:
        return builder.and_(x, ir.Constant(x.type, divisor - 1))
    remainder = builder.srem(x, y)
    return builder.select(
        _opposite_remainder(builder, remainder, y), builder.add(remainder, y), remainder
    )


def _opposite_remainder(builder: ir.IRBuilder, remainder: ir.Value, y: ir.Value) -> ir.Value:
    """Whether a remainder is not zero and its sign is not the divisor's."""
    zero = ir.Constant(y.type, 0)
    signs_differ = builder.icmp_signed("<", builder.xor(remainder, y), zero)
    return builder.and_(builder.icmp_unsigned("!=", remainder, zero), signs_differ)


def _float_floor_divide(builder: ir.IRBuilder, x: ir.Value, y: ir.Value) -> ir.Value:
    """(x - x mod y) / y, rounded to the integer that it is but for rounding."""
    exact = builder.fdiv(builder.fsub(x, _float_modulo(builder, x, y)), y)
    return builder.call(_round_even(builder, x.type), [exact])


def _round_even(builder: ir.IRBuilder, kind: ir.Type) -> ir.Function:
    name = {"half": "f16", "float": "f32", "double": "f64"}[str(kind)]
    return builder.module.declare_intrinsic(f"llvm.rint.{name}", fnty=ir.FunctionType(kind, [kind]))


def _float_modulo(builder: ir.IRBuilder, x: ir.Value, y: ir.Value) -> ir.Value:
    zero = ir.Constant(x.type, 0.0)
    remainder = builder.frem(x, y)
    negative = builder.fcmp_ordered("<", remainder, zero)
    differs = builder.xor(negative, builder.fcmp_ordered("<", y, zero))
    wrong = builder.and_(builder.fcmp_unordered("!=", remainder, zero), differs)
    return builder.select(wrong, builder.fadd(remainder, y), remainder)


def _shift_right(
    builder: ir.IRBuilder, x: ir.Value, y: ir.Value, ty: Any, divisor: Any
) -> ir.Value:
    return (builder.ashr if ty.signed else builder.lshr)(x, y)


def _no_floats(symbol: str, function: Any, inplace: Any, ints: Build) -> None:
    _binary(symbol, function, inplace, ints, None)


for _symbol, _name, _ints, _floats in (
    ("+", "add", "add", "fadd"),
    ("-", "sub", "sub", "fsub"),
    ("*", "mul", "mul", "fmul"),
):
    _binary(
        _symbol,
        getattr(operator, _name),
        getattr(operator, f"i{_name}"),
        _simple(_ints),
        lambda builder, x, y, name=_floats: getattr(builder, name)(x, y),
    )

_binary("//", operator.floordiv, operator.ifloordiv, _floor_divide, _float_floor_divide)
_binary("%", operator.mod, operator.imod, _modulo, _float_modulo)
_no_floats("<<", operator.lshift, operator.ilshift, _simple("shl"))
_no_floats(">>", operator.rshift, operator.irshift, _shift_right)


def _bitwise(symbol: str, function: Any, inplace: Any, name: str) -> None:
    def typer(compilation: Compilation, a: types.Type, b: types.Type) -> Operation:
        vector = elementwise(symbol, a, b, lambda builder, x, y: getattr(builder, name)(x, y), None)
        if vector is not None:
            return vector
        if scalar_type(a) is None or scalar_type(b) is None:
            raise TypeMismatch(f"{symbol} is not defined for {a} and {b}.")
        folded = fold(function, a, b)
        if folded is not None:
            return folded
        both_bool = scalar_type(a) == scalar_type(b) == types.boolean
        ty = types.boolean if both_bool else common(a, b)
        if isinstance(ty, types.Float):
            raise TypeMismatch(f"{symbol} is not defined for {dtype_name(ty)}.", "use integers.")
        return scalar(ty, [ty, ty], lambda builder, x, y: getattr(builder, name)(x, y))

    implements(function, inplace)(typer)


_bitwise("&", operator.and_, operator.iand, "and_")
_bitwise("|", operator.or_, operator.ior, "or_")
_bitwise("^", operator.xor, operator.ixor, "xor")


@implements(operator.truediv, operator.itruediv)
def _true_divide(compilation: Compilation, a: types.Type, b: types.Type) -> Operation:
    """Ints give float32, or float64 where one of them has 64 bits."""
    vector = elementwise("/", a, b, None, lambda builder, x, y: builder.fdiv(x, y))
    if vector is not None:
        return vector
    folded = fold(operator.truediv, a, b)
    if folded is not None:
        return folded
    ty = common(a, b)
    if not isinstance(ty, types.Float):
        ty = types.float64 if ty.bitwidth == 64 else types.float32
    return scalar(ty, [ty, ty], lambda builder, x, y: builder.fdiv(x, y))


@implements(operator.pow, operator.ipow)
def _power(compilation: Compilation, a: types.Type, b: types.Type) -> Operation:
    """An int to a constant power is multiplications; everything else is `math.pow`."""
    folded = fold(operator.pow, a, b)
    if folded is not None:
        return folded
    ty = common(a, b)
    exponent = b.value if isinstance(b, Constant) and isinstance(b.value, int) else None
    if exponent is not None and 0 <= exponent <= 64:
        base = common(a)
        return Operation(
            base,
            [base, b],
            lambda low, values: (_multiply_out(low.builder, values[0][0], exponent, base),),
        )
    if not isinstance(ty, types.Float):
        raise TypeMismatch(
            "an int to a power that is not a constant from 0 to 64 is not supported.",
            "convert to float32 first.",
        )
    return compilation.resolve_call(Constant(math.pow), (a, b), {})


def _multiply_out(builder: ir.IRBuilder, x: ir.Value, exponent: int, ty: types.Type) -> ir.Value:
    multiply = builder.fmul if isinstance(ty, types.Float) else builder.mul
    result: ir.Value | None = None
    while exponent:
        if exponent & 1:
            result = x if result is None else multiply(result, x)
        exponent >>= 1
        if exponent:
            x = multiply(x, x)
    return literal(1, ty) if result is None else result
