"""Tuples and ``range``."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from llvmlite import ir
from numba.core import types

from pipedsl.target.arrays import getitem as array_getitem
from pipedsl.target.composites import Array, LocalArray, Range, RangeIterator, Vector
from pipedsl.target.conversion import literal
from pipedsl.target.local import getitem as local_getitem
from pipedsl.target.operations import (
    Operation,
    TypeMismatch,
    Value,
    implements,
    known,
)
from pipedsl.target.promotion import common, scalar_type
from pipedsl.target.types import Constant, constant, register_type, registers
from pipedsl.target.vectors import getitem as vector_getitem

if TYPE_CHECKING:
    from pipedsl.target.compilation import Compilation
    from pipedsl.target.lowering import Lowering


@implements(operator.getitem)
def _getitem(compilation: Compilation, source: types.Type, index: types.Type) -> Operation:
    if isinstance(source, Array):
        return array_getitem(compilation, source, index)
    if isinstance(source, LocalArray):
        return local_getitem(compilation, source, index)
    if isinstance(source, Vector):
        return vector_getitem(compilation, source, index)
    if not isinstance(source, types.BaseTuple):
        raise TypeMismatch(f"{source} cannot be indexed.")
    if not isinstance(index, Constant) or not isinstance(index.value, int):
        raise TypeMismatch(
            "a tuple is indexed by a compile-time constant only.", "use an array in LDS instead."
        )
    if not -len(source) <= index.value < len(source):
        raise TypeMismatch(f"index {index.value} is out of range for a tuple of {len(source)}.")
    position = index.value % len(source)
    item = source.types[position]
    start = len(registers(*source.types[:position]))
    part = slice(start, start + len(registers(item)))
    return Operation(item, [source, index], lambda low, values: values[0][part])


@implements(len)
def _len(compilation: Compilation, source: types.Type) -> Operation:
    if isinstance(source, types.BaseTuple):
        return known(constant(len(source)))
    if isinstance(source, Array):
        size = compilation.resolve_attribute(source, "shape")
        first = size.return_type.types[0]
        return Operation(
            first, [source], lambda low, values: size.emit(low, values)[: len(registers(first))]
        )
    raise TypeMismatch(f"len() is not defined for {source}.")


@implements(range)
def _range(
    compilation: Compilation, first: types.Type, second: Any = None, step: Any = 1
) -> Operation:
    given = [ty for ty in (first, second, step) if ty != types.none]
    for ty in given:
        if not isinstance(scalar_type(ty), types.Integer):
            raise TypeMismatch(f"range() takes ints, not {ty}.", "convert with np.int32(...).")
    item = common(*given)
    constant_step = step.value if isinstance(step, Constant) else None
    if constant_step == 0:
        raise TypeMismatch("range() has step 0.")
    kind = Range(item, constant_step)
    targets = [item if ty != types.none else ty for ty in (first, second, step)]
    if constant_step is not None:
        targets[2] = step

    def emit(low: Lowering, values: Sequence[Value]) -> Value:
        start, stop, stride = values
        if second == types.none:
            start, stop = (literal(0, item),), start
        return (*start, *stop, *stride)

    return Operation(kind, targets, emit)


@implements("getiter")
def _getiter(compilation: Compilation, source: types.Type) -> Operation:
    if not isinstance(source, Range):
        raise TypeMismatch(f"a loop over {source} is not supported.", "loop over range(...).")

    def emit(low: Lowering, values: Sequence[Value]) -> Value:
        start, stop, *step = values[0]
        state = (low.slot(start.type), low.slot(start.type))
        remaining = _count(low.builder, source, start, stop, *step)
        low.store_slots((start, remaining), state)
        return (*state, *step)

    return Operation(RangeIterator(source), [source], emit)


def _count(
    builder: ir.IRBuilder,
    source: Range,
    start: ir.Value,
    stop: ir.Value,
    step: ir.Value | None = None,
) -> ir.Value:
    """How many values the range has; with step 1 the end itself, which the loop compares to."""
    if source.step == 1:
        return stop
    item = source.item
    compare = builder.icmp_signed if item.signed else builder.icmp_unsigned
    zero, one = ir.Constant(start.type, 0), ir.Constant(start.type, 1)
    if step is None:
        assert source.step is not None
        rising = ir.Constant(ir.IntType(1), int(source.step > 0))
        size = ir.Constant(start.type, abs(source.step))
    else:
        rising = compare(">", step, zero) if item.signed else ir.Constant(ir.IntType(1), 1)
        size = builder.select(rising, step, builder.neg(step))
    low, high = builder.select(rising, start, stop), builder.select(rising, stop, start)
    span = builder.sub(builder.sub(high, low), one)
    count = builder.add(builder.udiv(span, size), one)
    return builder.select(compare("<", low, high), count, zero)


@implements("iternext")
def _iternext(compilation: Compilation, iterator: types.Type) -> Operation:
    source = iterator.source
    item = source.item
    result = types.Pair(item, types.boolean)

    def emit(low: Lowering, values: Sequence[Value]) -> Value:
        next_slot, remaining_slot, *step = values[0]
        builder = low.builder
        kind = register_type(item)
        current = builder.load(next_slot, typ=kind)
        remaining = builder.load(remaining_slot, typ=kind)
        one = ir.Constant(kind, 1)
        if source.step == 1:
            compare = builder.icmp_signed if item.signed else builder.icmp_unsigned
            valid = compare("<", current, remaining)
        else:
            valid = builder.icmp_unsigned("!=", remaining, ir.Constant(kind, 0))
            builder.store(builder.sub(remaining, one), remaining_slot)
        stride = step[0] if step else ir.Constant(kind, source.step)
        builder.store(builder.add(current, stride), next_slot)
        return (current, valid)

    return Operation(result, [iterator], emit)
