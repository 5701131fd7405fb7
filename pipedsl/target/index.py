"""Where a thread is: coordinates, lane and wave."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from llvmlite import ir
from numba.core import types

from pipedsl.target import gpu
from pipedsl.target.operations import (
    Operation,
    Value,
    attributes_of,
    implements,
    known,
)
from pipedsl.target.types import constant

if TYPE_CHECKING:
    from pipedsl.target.compilation import Compilation
    from pipedsl.target.lowering import Lowering

_I32 = ir.IntType(32)
_AXES = "xyz"

# Offsets of the implicit kernel arguments (code object V5, AMDGPUUsage): the grid's blocks per
# axis as 32-bit and the block's threads per axis as 16-bit unsigned values.
_BLOCK_COUNT, _GROUP_SIZE = 0, 12


@attributes_of(gpu.Index3)
def _coordinate(compilation: Compilation, source: types.Type, name: str) -> Operation | None:
    if name not in _AXES:
        return None
    axis = _AXES.index(name)
    block = compilation.block
    index = source.value
    if index is gpu.block_dim and block is not None:
        return known(constant(block[axis]))
    if index is gpu.thread_idx and block is not None and block[axis] == 1:
        return known(constant(0))
    emit = {
        gpu.thread_idx: _thread_idx,
        gpu.block_idx: _block_idx,
        gpu.block_dim: _block_dim,
        gpu.grid_dim: grid_dim,
    }[index]
    return Operation(types.int32, [source], lambda low, values: (emit(low, axis),))


def _thread_idx(low: Lowering, axis: int) -> ir.Value:
    low.module.require(f"workitem-id-{_AXES[axis]}")
    block = low.compilation.block
    limit = block[axis] if block else low.compilation.arch.max_block
    if limit == 1:
        return ir.Constant(_I32, 0)
    position = low.call(f"llvm.amdgcn.workitem.id.{_AXES[axis]}", _I32, [])
    bounds = [ir.Constant(_I32, 0), ir.Constant(_I32, limit)]
    position.set_metadata("range", low.module.module.add_metadata(bounds))
    return position


def _block_idx(low: Lowering, axis: int) -> ir.Value:
    low.module.require(f"workgroup-id-{_AXES[axis]}")
    return low.call(f"llvm.amdgcn.workgroup.id.{_AXES[axis]}", _I32, [])


def _block_dim(low: Lowering, axis: int) -> ir.Value:
    if low.compilation.block is not None:
        return ir.Constant(_I32, low.compilation.block[axis])
    size = _implicit_argument(low, _GROUP_SIZE + 2 * axis, ir.IntType(16))
    return low.builder.zext(size, _I32)


def grid_dim(low: Lowering, axis: int) -> ir.Value:
    """Workgroups along an axis."""
    return _implicit_argument(low, _BLOCK_COUNT + 4 * axis, _I32)


def _implicit_argument(low: Lowering, offset: int, kind: ir.IntType) -> ir.Value:
    low.module.require("implicitarg-ptr")
    base = low.call("llvm.amdgcn.implicitarg.ptr", ir.PointerType(addrspace=4), [])
    at = low.builder.gep(base, [ir.Constant(ir.IntType(64), offset)], source_etype=ir.IntType(8))
    value = low.builder.load(at, typ=kind, align=kind.width // 8)
    value.set_metadata("invariant.load", low.module.module.add_metadata([]))
    return value


@implements(gpu.wave_size)
def _wave_size(compilation: Compilation) -> Operation:
    return known(constant(compilation.arch.wave_size))


@implements(gpu.lane_id)
def _lane_id(compilation: Compilation) -> Operation:
    return Operation(types.int32, (), lambda low, values: (lane_number(low),))


def lane_number(low: Lowering) -> ir.Value:
    """Position of the thread in its wave."""
    ones, zero = ir.Constant(_I32, -1), ir.Constant(_I32, 0)
    lane = low.call("llvm.amdgcn.mbcnt.lo", _I32, [ones, zero])
    if low.compilation.arch.wave_size == 64:
        lane = low.call("llvm.amdgcn.mbcnt.hi", _I32, [ones, lane])
    return lane


@implements(gpu.wave_id)
def _wave_id(compilation: Compilation) -> Operation:
    """Uniform for LLVM too: a branch on it is a scalar branch."""
    shift = compilation.arch.wave_size.bit_length() - 1
    block = compilation.block
    if block is not None and block[0] * block[1] * block[2] <= compilation.arch.wave_size:
        return known(constant(0))

    def emit(low: Lowering, values: Sequence[Value]) -> Value:
        wave = low.builder.lshr(linear_thread(low), ir.Constant(_I32, shift))
        return (low.call("llvm.amdgcn.readfirstlane.i32", _I32, [wave]),)

    return Operation(types.int32, (), emit)


def linear_thread(low: Lowering) -> ir.Value:
    """Position of the thread in its block; waves are cut from this order."""
    block = low.compilation.block
    last = 2 if block is None else max(axis for axis in range(3) if axis == 0 or block[axis] > 1)
    linear = _thread_idx(low, last)
    for axis in range(last - 1, -1, -1):
        scaled = low.builder.mul(linear, _block_dim(low, axis), flags=("nuw", "nsw"))
        linear = low.builder.add(scaled, _thread_idx(low, axis), flags=("nuw", "nsw"))
    return linear


def block_size(low: Lowering) -> ir.Value:
    """Threads of a block."""
    size = _block_dim(low, 0)
    for axis in (1, 2):
        size = low.builder.mul(size, _block_dim(low, axis))
    return size
