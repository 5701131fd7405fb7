"""Conversions between scalar types, constants and tuples."""

from __future__ import annotations

import builtins
from typing import TYPE_CHECKING, Any

import numpy as np
from llvmlite import ir
from numba.core import types

from pipedsl.target.operations import (
    Operation,
    TypeMismatch,
    Typer,
    Value,
    implements,
    known,
)
from pipedsl.target.promotion import common, scalar_type
from pipedsl.target.types import (
    SCALARS,
    Constant,
    constant,
    dtype_name,
    is_scalar,
    register_type,
    registers,
)

if TYPE_CHECKING:
    from pipedsl.target.compilation import Compilation


def convert(builder: ir.IRBuilder, value: Value, source: types.Type, target: types.Type) -> Value:
    """`value` of type `source` as a value of type `target`."""
    if source == target:
        return value
    if isinstance(target, types.BaseTuple):
        out: list[ir.Value] = []
        position = 0
        for item, wanted in zip(source.types, target.types, strict=True):
            width = len(registers(item))
            out.extend(convert(builder, value[position : position + width], item, wanted))
            position += width
        return tuple(out)
    if not is_scalar(target):
        return value
    if isinstance(source, Constant):
        return (literal(source.value, target),)
    return (convert_scalar(builder, value[0], source, target),)


def literal(value: Any, target: types.Type) -> ir.Constant:
    """An LLVM constant of a scalar type; ints wrap, floats are rounded."""
    kind = register_type(target)
    if target == types.boolean:
        return ir.Constant(kind, int(bool(value)))
    if isinstance(target, types.Integer):
        bits = int(value) & ((1 << target.bitwidth) - 1)
        return ir.Constant(kind, bits - (bits >> (target.bitwidth - 1) << target.bitwidth))
    with np.errstate(over="ignore"):
        return ir.Constant(kind, float(np.dtype(dtype_name(target)).type(value)))


def convert_scalar(
    builder: ir.IRBuilder, value: ir.Value, source: types.Type, target: types.Type
) -> ir.Value:
    """One register of type `source` as one of type `target`."""
    kind = register_type(target)
    if source == target:
        return value
    if target == types.boolean:
        zero = ir.Constant(value.type, 0 if not isinstance(source, types.Float) else 0.0)
        if isinstance(source, types.Float):
            return builder.fcmp_unordered("!=", value, zero)
        return builder.icmp_unsigned("!=", value, zero)
    if isinstance(source, types.Float):
        if isinstance(target, types.Float):
            narrower = target.bitwidth < source.bitwidth
            return (builder.fptrunc if narrower else builder.fpext)(value, kind)
        return (builder.fptosi if target.signed else builder.fptoui)(value, kind)
    unsigned = source == types.boolean or not source.signed
    if isinstance(target, types.Float):
        return (builder.uitofp if unsigned else builder.sitofp)(value, kind)
    if kind.width == value.type.width:
        return value
    if kind.width < value.type.width:
        return builder.trunc(value, kind)
    return (builder.zext if unsigned else builder.sext)(value, kind)


def explicit(target: types.Type, source: types.Type) -> Operation:
    """The conversion that a user writes as ``np.float32(x)``."""
    if scalar_type(source) is None:
        raise TypeMismatch(f"a number was expected, not {source}.")
    if not isinstance(source, Constant):
        return Operation(
            target,
            [source],
            lambda low, values: (convert_scalar(low.builder, values[0][0], source, target),),
        )
    if isinstance(target, types.Integer) and not np.isfinite(source.value):
        raise TypeMismatch(f"{source.value} cannot become {target}.")
    value = literal(source.value, target).constant
    if isinstance(target, types.Integer) and not target.signed:
        value &= (1 << target.bitwidth) - 1
    return known(Constant(bool(value) if target == types.boolean else value, target, weak=False))


def _converter(target: types.Type) -> Typer:
    return lambda compilation, value: explicit(target, value)


for _name, _scalar in SCALARS.items():
    implements(_scalar, np.dtype(_name).type)(_converter(_scalar))


@implements(builtins.bool)
def _bool(compilation: Compilation, value: types.Type) -> Operation:
    if value == types.none:
        return known(constant(False))
    if isinstance(value, Constant) and value.scalar is not None:
        return known(constant(bool(value.value)))
    return explicit(types.boolean, value)


@implements(builtins.int)
def _int(compilation: Compilation, value: types.Type) -> Operation:
    """int32, or 64 bits for a 64-bit int; a literal stays a literal."""
    if isinstance(value, Constant) and value.scalar is not None and value.weak:
        return known(constant(int(value.value)))
    found = common(value)
    return explicit(found if isinstance(found, types.Integer) else types.int32, value)


@implements(builtins.float)
def _float(compilation: Compilation, value: types.Type) -> Operation:
    """float32, or float64 for a 64-bit operand; a literal stays a literal."""
    if isinstance(value, Constant) and value.scalar is not None and value.weak:
        return known(constant(float(value.value)))
    wide = common(value).bitwidth == 64
    return explicit(types.float64 if wide else types.float32, value)
