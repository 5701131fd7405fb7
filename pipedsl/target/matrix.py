"""Matrix multiply-accumulate: by exact name, or chosen by operand types and arch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from llvmlite import ir
from numba.core import types

from pipedsl.core.errors import TargetError
from pipedsl.target import gpu
from pipedsl.target.composites import Vector
from pipedsl.target.matrix_table import NAMES, ROWS, MatrixOp
from pipedsl.target.narrow import BFLOAT
from pipedsl.target.operations import Operation, TypeMismatch, Value, implements
from pipedsl.target.promotion import scalar_type
from pipedsl.target.types import SCALARS, dtype_name

if TYPE_CHECKING:
    from pipedsl.target.compilation import Compilation
    from pipedsl.target.lowering import Lowering

_I1, _I32 = ir.IntType(1), ir.IntType(32)
_ELEMENTS: dict[str, ir.Type] = {
    "half": ir.HalfType(), "bfloat": BFLOAT, "float": ir.FloatType(), "double": ir.DoubleType(),
    "i16": ir.IntType(16), "i32": _I32, "i64": ir.IntType(64),
}  # fmt: skip


def _form(name: str) -> ir.Type:
    """LLVM type of a form: ``half4``, ``i16x4``, ``i64``, ``float``."""
    if name in _ELEMENTS:
        return _ELEMENTS[name]
    element = next(key for key in _ELEMENTS if name.startswith(key))
    return ir.VectorType(_ELEMENTS[element], int(name[len(element) :].lstrip("x")))


def _operand(kind: tuple[str, int]) -> types.Type:
    dtype, count = kind
    return SCALARS[dtype] if count == 1 else Vector(SCALARS[dtype], count)


def _signature(ty: types.Type) -> tuple[str, int] | None:
    if isinstance(ty, Vector):
        return dtype_name(ty.dtype), ty.count
    scalar = scalar_type(ty)
    return None if scalar is None else (dtype_name(scalar), 1)


def _operation(row: MatrixOp) -> Operation:
    kinds = [_operand(row.a), _operand(row.b), _operand(row.c)]

    def emit(low: Lowering, values: Sequence[Value]) -> Value:
        form = _form(row.form)
        a, b, c = (value[0] for value in values)
        a, b = (low.builder.bitcast(x, form) if x.type != form else x for x in (a, b))
        args: list[ir.Value] = [a, b, c]
        if row.style == "mfma":
            args += [ir.Constant(_I32, 0)] * 3
        elif row.style == "wmma_int":
            signed, clamp = ir.Constant(_I1, 1), ir.Constant(_I1, 0)
            args = [signed, a, signed, b, c, clamp]
        return (low.call(f"llvm.amdgcn.{row.intrinsic}", c.type, args),)

    return Operation(kinds[2], kinds, emit)


def _describe(kinds: Sequence[types.Type]) -> str:
    return ", ".join(str(kind) for kind in kinds)


def _exact(name: str) -> Any:
    rows = [row for row in ROWS if row.name == name]

    def typer(compilation: Compilation, a: types.Type, b: types.Type, c: types.Type) -> Operation:
        arch = compilation.arch.name
        usable = [row for row in rows if arch in row.archs]
        if not usable:
            if compilation.unchecked:
                return _operation(rows[0])
            able = ", ".join(dict.fromkeys(arch for row in rows for arch in row.archs))
            raise TypeMismatch(
                f"{arch} has no gpu.{name}().", f"compile for {able}.", kind=TargetError
            )
        row = usable[0]
        given = tuple(_signature(kind) for kind in (a, b, c))
        if given != (row.a, row.b, row.c):
            wanted = _describe([_operand(kind) for kind in (row.a, row.b, row.c)])
            raise TypeMismatch(
                f"gpu.{name}() takes {wanted} on {arch}, not {_describe((a, b, c))}."
            )
        return _operation(row)

    return typer


for _name in NAMES:
    implements(getattr(gpu, _name))(_exact(_name))


@implements(gpu.mfma)
def _mfma(compilation: Compilation, a: types.Type, b: types.Type, c: types.Type) -> Operation:
    arch = compilation.arch
    given = tuple(_signature(kind) for kind in (a, b, c))
    here = [row for row in ROWS if arch.name in row.archs]
    for row in here:
        if given == (row.a, row.b, row.c):
            return _operation(row)
    same = [row for row in here if given[0] is not None and row.a[0] == given[0][0]]
    options = "; ".join(
        _describe([_operand(kind) for kind in (row.a, row.b, row.c)]) for row in same or here[:4]
    )
    raise TypeMismatch(
        f"{arch.name} has no matrix instruction for {_describe((a, b, c))}.", f"use {options}."
    )
