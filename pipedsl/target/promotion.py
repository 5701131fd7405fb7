"""The type of a mix of scalar types.

=====================================  =====================================================
operands                               result
=====================================  =====================================================
two ints                               NumPy's common type; int64 with uint64 gives uint64
two floats                             the wider
an int and a float                     the float
bools only                             int32
a Python literal and a typed operand   the typed operand's type, where the literal fits in it
Python literals only                   a literal, computed at compile time
=====================================  =====================================================

A variable that only ever holds Python literals is int32 (int64 if they do not fit), float32 or bool.
"""

from __future__ import annotations

import numpy as np
from numba.core import types

from pipedsl.target.composites import Array
from pipedsl.target.narrow import NarrowFloat, bfloat16
from pipedsl.target.operations import TypeMismatch
from pipedsl.target.types import SCALARS, Constant, dtype_name, is_scalar


def scalar_type(ty: types.Type) -> types.Type | None:
    """The type that a scalar has in a register, or None if `ty` is no scalar."""
    if isinstance(ty, Constant):
        return ty.scalar
    return ty if is_scalar(ty) else None


def is_weak(ty: types.Type) -> bool:
    """Whether `ty` is a Python literal, whose type gives way."""
    return isinstance(ty, Constant) and ty.scalar is not None and ty.weak


def _fits(value: float, scalar: types.Integer) -> bool:
    info = np.iinfo(dtype_name(scalar))
    return info.min <= value <= info.max


def _join(a: types.Type, b: types.Type) -> types.Type:
    if a == b:
        return a
    a_float, b_float = isinstance(a, types.Float), isinstance(b, types.Float)
    if a_float != b_float:
        return a if a_float else b
    if a_float and (isinstance(a, NarrowFloat) or isinstance(b, NarrowFloat)):
        return _join_narrow(a, b)
    if {a, b} == {types.int64, types.uint64}:
        return types.uint64
    return SCALARS[np.promote_types(dtype_name(a), dtype_name(b)).name]


def _join_narrow(a: types.Type, b: types.Type) -> types.Type:
    """Two different floats, one of which is bfloat16 or has eight bits."""
    if a.bitwidth == b.bitwidth == 8 or {a, b} == {bfloat16, types.float16}:
        return types.float32
    return max(a, b, key=lambda ty: ty.bitwidth)


def unify(a: types.Type, b: types.Type) -> types.Type | None:
    """The type of a variable that is assigned both, or None if there is none."""
    if a == b:
        return a
    if isinstance(a, types.BaseTuple) and isinstance(b, types.BaseTuple):
        if len(a) != len(b):
            return None
        items = [unify(x, y) for x, y in zip(a.types, b.types, strict=True)]
        return None if None in items else types.BaseTuple.from_types(items)
    if isinstance(a, Array) and isinstance(b, Array):
        either = a.parameters | b.parameters
        same = a.attributed_to(either)
        return same if same == b.attributed_to(either) else None
    left, right = scalar_type(a), scalar_type(b)
    if left is None or right is None:
        return None
    if is_weak(a) and not is_weak(b):
        return _with_literal(a, right)
    if is_weak(b) and not is_weak(a):
        return _with_literal(b, left)
    return _join(left, right)


def _with_literal(literal: Constant, other: types.Type) -> types.Type:
    value = literal.value
    if isinstance(other, types.Float):
        return other
    if isinstance(value, float):
        return types.float64 if getattr(other, "bitwidth", 1) == 64 else types.float32
    if isinstance(value, bool):
        return other
    if isinstance(other, types.Integer) and _fits(value, other):
        return other
    return _join(literal.scalar, other)


def common(*operands: types.Type) -> types.Type:
    """The type in which arithmetic on `operands` is done.

    Raises
    ------
    TypeMismatch
        If one of them is no scalar.
    """
    for ty in operands:
        if scalar_type(ty) is None:
            raise TypeMismatch(f"a number was expected, not {ty}.")
    result = operands[0]
    for ty in operands[1:]:
        joined = unify(result, ty)
        assert joined is not None
        result = joined
    found = scalar_type(result)
    assert found is not None
    return types.int32 if found == types.boolean else found


def as_float(ty: types.Type) -> types.Type:
    """The float type for an operand of a function that works on floats only."""
    found = common(ty)
    if isinstance(found, types.Float):
        return found
    return types.float64 if found.bitwidth == 64 else types.float32
