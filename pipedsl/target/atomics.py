"""Atomic read-modify-write on arrays in global memory and LDS."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from llvmlite import ir
from numba.core import types

from pipedsl.target import gpu
from pipedsl.target.arrays import check_index, element_pointer
from pipedsl.target.composites import Array
from pipedsl.target.operations import Operation, TypeMismatch, Value, implements
from pipedsl.target.promotion import scalar_type
from pipedsl.target.types import GLOBAL, Constant, dtype_name, register_type

if TYPE_CHECKING:
    from pipedsl.target.compilation import Compilation
    from pipedsl.target.lowering import Lowering

SCOPES = {"wave": "wavefront", "workgroup": "workgroup", "agent": "agent", "system": ""}
"""Who sees the operation in order: scope names and LLVM's."""

ORDERS = {"relaxed": "monotonic", "acquire": "acquire", "release": "release", "acq_rel": "acq_rel"}
"""Memory orders and LLVM's."""

# int operation (signed, unsigned), float operation; None where there is none.
_OPERATIONS: dict[str, tuple[str, str, str | None]] = {
    "add": ("add", "add", "fadd"),
    "sub": ("sub", "sub", "fsub"),
    "min": ("min", "umin", "fmin"),
    "max": ("max", "umax", "fmax"),
    "and": ("and", "and", None),
    "or": ("or", "or", None),
    "xor": ("xor", "xor", None),
    "exchange": ("xchg", "xchg", "xchg"),
}


class _AtomicUpdate(ir.AtomicRMW):
    """An ``atomicrmw`` with a scope, which llvmlite's own lacks."""

    def __init__(
        self, parent: ir.Block, op: str, ptr: ir.Value, val: ir.Value, scope: str, order: str
    ) -> None:
        super().__init__(parent, op, ptr, val, order, "")
        self.scope = scope

    def descr(self, buf: list[str]) -> None:
        ptr, val = self.operands
        scope = f'syncscope("{self.scope}") ' if self.scope else ""
        buf.append(
            f"atomicrmw {self.operation} {ptr.type} {ptr.get_reference()}, {val.type} "
            f"{val.get_reference()} {scope}{self.ordering}{self._stringify_metadata(leading_comma=True)}\n"
        )


def _word(what: str, value: types.Type, table: dict[str, str]) -> str:
    text = value.value if isinstance(value, Constant) else None
    if text not in table:
        raise TypeMismatch(f"{what} is not {value}.", f"use one of {', '.join(table)}.")
    return table[text]


def _register(name: str) -> None:
    signed, unsigned, floating = _OPERATIONS[name]
    function = getattr(gpu, f"atomic_{name}")

    def typer(
        compilation: Compilation,
        array: types.Type,
        index: types.Type,
        value: types.Type,
        scope: Any = "agent",
        order: Any = "relaxed",
    ) -> Operation:
        what = function.__name__
        if not isinstance(array, Array):
            raise TypeMismatch(f"gpu.{what}() takes an array, not {array}.")
        check_index(array, index)
        dtype = array.dtype
        is_float = isinstance(dtype, types.Float)
        op = floating if is_float else signed if getattr(dtype, "signed", False) else unsigned
        if op is None or dtype == types.boolean or dtype.bitwidth not in (32, 64):
            raise TypeMismatch(f"gpu.{what}() is not defined for {dtype_name(dtype)}.")
        if scalar_type(value) is None:
            raise TypeMismatch(f"gpu.{what}() takes a number, not {value}.")
        synced = _word("the scope", scope, SCOPES)
        ordering = _word("the order", order, ORDERS)
        compilation.written |= array.parameters

        def emit(low: Lowering, values: Sequence[Value]) -> Value:
            pointer = element_pointer(low, array, values[0], index, values[1])
            update = _AtomicUpdate(low.builder.block, op, pointer, values[2][0], synced, ordering)
            if is_float and array.space == GLOBAL:
                # Arrays are in the device's own coarse-grained memory: the native instruction is
                # right, where LLVM would otherwise loop on a compare-and-swap.
                for note in ("amdgpu.no.fine.grained.memory", "amdgpu.ignore.denormal.mode"):
                    update.set_metadata(note, low.module.module.add_metadata([]))
            low.builder._insert(update)
            return (update,)

        return Operation(dtype, [array, index, dtype, scope, order], emit)

    implements(function)(typer)


for _name in _OPERATIONS:
    _register(_name)


@implements(gpu.atomic_cas)
def _atomic_cas(
    compilation: Compilation,
    array: types.Type,
    index: types.Type,
    expected: types.Type,
    value: types.Type,
) -> Operation:
    if not isinstance(array, Array):
        raise TypeMismatch(f"gpu.atomic_cas() takes an array, not {array}.")
    check_index(array, index)
    dtype = array.dtype
    if not isinstance(dtype, types.Integer) or dtype.bitwidth not in (32, 64):
        raise TypeMismatch(f"gpu.atomic_cas() is not defined for {dtype_name(dtype)}.")
    compilation.written |= array.parameters

    def emit(low: Lowering, values: Sequence[Value]) -> Value:
        pointer = element_pointer(low, array, values[0], index, values[1])
        kind = register_type(dtype)
        pair = low.builder.cmpxchg(pointer, values[2][0], values[3][0], "acq_rel", "acquire")
        pair.type = ir.LiteralStructType([kind, ir.IntType(1)])
        return (low.builder.extract_value(pair, 0),)

    return Operation(dtype, [array, index, dtype, dtype], emit)
