"""Stamps of the shader clock, in kernels with ``trace=True``; no code at all in others."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from llvmlite import ir
from numba.core import types

from pipedsl.core.stamps import CAPACITY, FIELDS, GROUPS, KINDS, PARAMETER, WORDS
from pipedsl.target import gpu
from pipedsl.target.arrays import element_pointer
from pipedsl.target.composites import Array
from pipedsl.target.index import block_size, grid_dim, linear_thread
from pipedsl.target.operations import Operation, TypeMismatch, Value, implements, known
from pipedsl.target.types import LDS, Constant

if TYPE_CHECKING:
    from pipedsl.target.compilation import Compilation
    from pipedsl.target.lowering import Lowering

_I32, _I64 = ir.IntType(32), ir.IntType(64)
_PAIR = ir.VectorType(_I64, 2)
_SHIFTS = {name: sum(bits for _, bits in FIELDS[:i]) for i, (name, _) in enumerate(FIELDS)}


class Stamper:
    """Where the wave's next stamp goes."""

    def __init__(self, low: Lowering) -> None:
        self._cursor = low.slot(_I32, "stamps")
        low.builder.store(_I32(0), self._cursor)
        builder, size = low.builder, low.compilation.arch.wave_size
        wave = builder.udiv(linear_thread(low), _I32(size))
        wave = low.call("llvm.amdgcn.readfirstlane.i32", _I32, [wave])
        waves = builder.udiv(builder.add(block_size(low), _I32(size - 1)), _I32(size))
        group = _linear_group(low)
        self._traced = builder.icmp_unsigned("<", group, _I32(GROUPS))
        region = builder.add(builder.mul(group, waves), wave)
        buffer = low.module.argument(PARAMETER)
        offset = builder.mul(builder.zext(region, _I64), _I64(WORDS))
        self._region = builder.gep(buffer, [offset], source_etype=_I64)

    def stamp(self, low: Lowering, fields: dict[str, ir.Value]) -> None:
        """Note the clock, a kind, and what belongs to it."""
        with low.builder.if_then(self._traced):
            self._store(low, fields)

    def _store(self, low: Lowering, fields: dict[str, ir.Value]) -> None:
        builder = low.builder
        now = read_clock(low)
        word: ir.Value = _I64(0)
        for field, bits in FIELDS:
            if field in fields:
                value = builder.and_(fields[field], _I64((1 << bits) - 1))
                word = builder.or_(word, builder.shl(value, _I64(_SHIFTS[field])))
        cursor = builder.load(self._cursor, typ=_I32)
        place = builder.and_(cursor, _I32(CAPACITY - 1))
        record = builder.add(_I64(2), builder.mul(_I64(2), builder.zext(place, _I64)))
        pair = builder.insert_element(ir.Constant(_PAIR, ir.Undefined), now, _I32(0))
        pair = builder.insert_element(pair, word, _I32(1))
        at = builder.gep(self._region, [record], source_etype=_I64)
        builder.store(pair, at, align=16)
        made = builder.add(cursor, _I32(1))
        builder.store(made, self._cursor)
        builder.store(builder.zext(made, _I64), self._region, align=8)


def read_clock(low: Lowering) -> ir.Value:
    """The shader clock."""
    gfx9 = low.compilation.arch.generation == 9
    return low.call("llvm.amdgcn.s.memtime" if gfx9 else "llvm.readcyclecounter", _I64, [])


def stamp(low: Lowering, kind: str) -> None:
    """A stamp without a counter, if the kernel is traced."""
    if low.stamper is not None:
        low.stamper.stamp(low, {"kind": _I64(KINDS.index(kind)), "line": _I64(low.user_line())})


def _linear_group(low: Lowering) -> ir.Value:
    builder = low.builder
    linear: ir.Value = _I32(0)
    for axis in (2, 1, 0):
        name = "xyz"[axis]
        low.module.require(f"workgroup-id-{name}")
        part = low.call(f"llvm.amdgcn.workgroup.id.{name}", _I32, [])
        linear = builder.add(builder.mul(linear, grid_dim(low, axis)), part)
    return linear


@implements(gpu.stamp)
def _stamp(
    compilation: Compilation,
    kind: types.Type,
    counters: types.Type,
    index: types.Type,
    slot: types.Type,
    lap: types.Type,
) -> Operation:
    if not compilation.trace:
        return known(types.none)
    if not isinstance(kind, Constant) or kind.value not in KINDS:
        raise TypeMismatch(f"stamp() takes one of {', '.join(KINDS)}.")
    if not isinstance(counters, Array) or counters.space != LDS:
        raise TypeMismatch(f"stamp() takes an array in LDS, not {counters}.")
    number = KINDS.index(kind.value)

    def emit(low: Lowering, values: Sequence[Value]) -> Value:
        assert low.stamper is not None
        builder = low.builder
        pointer = element_pointer(low, counters, values[1], index, values[2])
        address = builder.zext(builder.ptrtoint(pointer, _I32), _I64)
        low.stamper.stamp(low, {
            "kind": _I64(number), "line": _I64(low.user_line()),
            "address": builder.lshr(address, _I64(2)),
            "slot": values[3][0], "lap": values[4][0],
        })  # fmt: skip
        return ()

    return Operation(types.none, [kind, counters, index, types.int64, types.int64], emit)
