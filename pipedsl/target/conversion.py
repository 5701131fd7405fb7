"""Conversions between scalar types, constants and tuples."""

from __future__ import annotations

import builtins
from typing import TYPE_CHECKING, Any

import numpy as np
from llvmlite import ir
from numba.core import types

from pipedsl.core.dtypes import DTYPES, ml_dtypes
from pipedsl.target.narrow import NarrowFloat, bfloat16, is_eight_bits
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

_F32, _I32, _I1 = ir.FloatType(), ir.IntType(32), ir.IntType(1)


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
    if target == bfloat16:
        return ir.Constant(kind, float(value))
    if is_eight_bits(target):
        return ir.Constant(kind, int(DTYPES[dtype_name(target)].numpy.type(value).view(np.uint8)))
    with np.errstate(over="ignore"):
        return ir.Constant(kind, float(np.dtype(dtype_name(target)).type(value)))


def convert_scalar(
    builder: ir.IRBuilder, value: ir.Value, source: types.Type, target: types.Type
) -> ir.Value:
    """One register of type `source` as one of type `target`."""
    kind = register_type(target)
    if source == target:
        return value
    if is_eight_bits(source):
        wide = from_eight_bits(builder, value, source)
        return convert_scalar(builder, wide, types.float32, target)
    if is_eight_bits(target):
        wide = convert_scalar(builder, value, source, types.float32)
        return to_eight_bits(builder, wide, target)
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


def from_eight_bits(builder: ir.IRBuilder, value: ir.Value, source: types.Type) -> ir.Value:
    """An eight-bit float as float32; the instruction has the arch's own format."""
    name = f"llvm.amdgcn.cvt.f32.{_format(source)}"
    kind = ir.FunctionType(_F32, [_I32, _I32])
    callee = builder.module.declare_intrinsic(name, fnty=kind)
    return builder.call(callee, [builder.zext(value, _I32), ir.Constant(_I32, 0)])


def to_eight_bits(builder: ir.IRBuilder, value: ir.Value, target: types.Type) -> ir.Value:
    """A float32 as an eight-bit float, round to nearest even."""
    name = f"llvm.amdgcn.cvt.pk.{_format(target)}.f32"
    kind = ir.FunctionType(_I32, [_F32, _F32, _I32, _I1])
    callee = builder.module.declare_intrinsic(name, fnty=kind)
    zero = ir.Constant(_I32, 0)
    pair = builder.call(callee, [value, value, zero, ir.Constant(_I1, 0)])
    return builder.trunc(pair, register_type(target))


def _format(eight_bits: types.Type) -> str:
    return "fp8" if "e4m3" in dtype_name(eight_bits) else "bf8"


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
    if isinstance(target, NarrowFloat):
        return known(Constant(float(source.value), target, weak=False))
    value = literal(source.value, target).constant
    if isinstance(target, types.Integer) and not target.signed:
        value &= (1 << target.bitwidth) - 1
    return known(Constant(bool(value) if target == types.boolean else value, target, weak=False))


def _converter(target: types.Type) -> Typer:
    def typer(compilation: Compilation, value: types.Type) -> Operation:
        for kind in (target, value):
            if is_eight_bits(kind) and not isinstance(value, Constant):
                name = dtype_name(kind)
                feature = DTYPES[name].feature
                assert feature is not None
                compilation.require(feature, f"conversion of {name}")
        return explicit(target, value)

    return typer


for _name, _scalar in SCALARS.items():
    implements(_scalar)(_converter(_scalar))
    if _name in np.sctypeDict or ml_dtypes is not None:
        implements(DTYPES[_name].numpy.type)(_converter(_scalar))


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
