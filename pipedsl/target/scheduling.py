"""Waits, priorities, scheduling hints, clocks and inline assembly."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from llvmlite import ir
from numba.core import types

from pipedsl.isa.counters import encode_waits
from pipedsl.target import gpu
from pipedsl.target.composites import Vector
from pipedsl.target.operations import Operation, TypeMismatch, Value, implements
from pipedsl.target.promotion import scalar_type
from pipedsl.target.stamps import read_clock
from pipedsl.target.sync import fence
from pipedsl.target.types import SCALARS, Constant, register_type
from pipedsl.target.vector_type import VectorType
from pipedsl.target.vectors import vector_of

if TYPE_CHECKING:
    from pipedsl.target.compilation import Compilation
    from pipedsl.target.lowering import Lowering

_VOID, _I16, _I32, _I64 = ir.VoidType(), ir.IntType(16), ir.IntType(32), ir.IntType(64)


def _constant(what: str, value: types.Type, low: int, high: int) -> int:
    """A compile-time int in a range."""
    if not isinstance(value, Constant) or not isinstance(value.value, int):
        raise TypeMismatch(f"{what} takes a compile-time constant.")
    if not low <= value.value <= high:
        raise TypeMismatch(f"{what} is given {value.value}.", f"use {low} to {high}.")
    return int(value.value)


def _hint(intrinsic: str, *args: ir.Constant, given: Sequence[types.Type]) -> Operation:
    def emit(low: Lowering, values: Sequence[Value]) -> Value:
        low.call(f"llvm.amdgcn.{intrinsic}", _VOID, list(args))
        return ()

    return Operation(types.none, list(given), emit)


@implements(gpu.setprio)
def _setprio(compilation: Compilation, priority: types.Type) -> Operation:
    level = _constant("gpu.setprio()", priority, 0, 3)
    return _hint("s.setprio", ir.Constant(_I16, level), given=[priority])


@implements(gpu.sched_barrier)
def _sched_barrier(compilation: Compilation, mask: Any = 0) -> Operation:
    bits = _constant("gpu.sched_barrier()", mask, 0, 0x7FF)
    return _hint("sched.barrier", ir.Constant(_I32, bits), given=[mask])


@implements(gpu.sched_group_barrier)
def _sched_group_barrier(
    compilation: Compilation, mask: types.Type, size: types.Type, group: Any = 0
) -> Operation:
    numbers = [
        _constant("gpu.sched_group_barrier()", value, 0, limit)
        for value, limit in ((mask, 0x7FF), (size, 1024), (group, 255))
    ]
    args = [ir.Constant(_I32, number) for number in numbers]
    return _hint("sched.group.barrier", *args, given=[mask, size, group])


# Counters by name, and what gfx12 calls them (RDNA4 ISA, "Data dependency resolution").
_GFX12 = {
    "vmcnt": "loadcnt", "lgkmcnt": "dscnt", "vscnt": "storecnt",
}  # fmt: skip
_LIMITS = {"vmcnt": 63, "lgkmcnt": 15, "vscnt": 63}


@implements(gpu.waitcnt)
def _waitcnt(
    compilation: Compilation, vmcnt: Any = None, lgkmcnt: Any = None, vscnt: Any = None
) -> Operation:
    wanted = {
        name: _constant(f"gpu.waitcnt({name}=)", value, 0, _LIMITS[name])
        for name, value in (("vmcnt", vmcnt), ("lgkmcnt", lgkmcnt), ("vscnt", vscnt))
        if value is not types.none
    }
    if not wanted:
        raise TypeMismatch("gpu.waitcnt() waits for nothing.", "name a counter: vmcnt=0.")

    def emit(low: Lowering, values: Sequence[Value]) -> Value:
        _wait(low, wanted)
        return ()

    return Operation(types.none, [vmcnt, lgkmcnt, vscnt], emit)


@implements(gpu.fence_lds)
def _fence_lds(compilation: Compilation, vmcnt: Any = None) -> Operation:
    """LLVM's fence also waits for all copies to LDS in flight; a stated count replaces it."""
    copies = None
    if vmcnt is not types.none:
        copies = _constant("gpu.fence_lds(vmcnt=)", vmcnt, 0, _LIMITS["vmcnt"])

    def emit(low: Lowering, values: Sequence[Value]) -> Value:
        if copies is None:
            fence(low, "acq_rel", lds_only=True)
        else:
            _wait(low, {"vmcnt": copies, "lgkmcnt": 0})
        return ()

    return Operation(types.none, [vmcnt], emit)


def _wait(low: Lowering, wanted: dict[str, int]) -> None:
    """Intrinsics, where there are some: LLVM knows what they have waited for."""
    arch = low.compilation.arch
    limits = dict(wanted)
    if arch.has("split_waits"):
        for name, value in limits.items():
            low.call(f"llvm.amdgcn.s.wait.{_GFX12[name]}", _VOID, [ir.Constant(_I16, value)])
        return
    stores = limits.pop("vscnt", None)
    if stores is not None and not arch.has("vscnt"):
        limits["vmcnt"] = min(stores, limits.get("vmcnt", stores))
    elif stores is not None:
        text = f"s_waitcnt_vscnt null, {stores}"
        kind = ir.FunctionType(_VOID, [])
        low.builder.call(ir.InlineAsm(kind, text, "~{memory}", side_effect=True), [])
    if limits:
        operand = ir.Constant(_I32, encode_waits(limits, arch))
        low.call("llvm.amdgcn.s.waitcnt", _VOID, [operand])


@implements(gpu.clock)
def _clock(compilation: Compilation) -> Operation:
    """``s_memtime`` on gfx9; the shader cycle counter elsewhere."""

    return Operation(types.int64, (), lambda low, values: (read_clock(low),))


_FILES = {"v": "VGPRs", "s": "SGPRs"}


@implements(gpu.asm)
def _asm(compilation: Compilation, text: types.Type, *args: types.Type) -> Operation:
    """Operands are `$0`, `$1` ... in the text; results come first."""
    if not isinstance(text, Constant) or not isinstance(text.value, str):
        raise TypeMismatch("gpu.asm() takes a literal string.")
    results = [arg for arg in args if _result_kind(arg) is not None]
    if len(results) > 1 or (results and args[0] is not results[0]):
        raise TypeMismatch("gpu.asm() takes one result type, before its operands.")
    target = _result_kind(results[0]) if results else types.none
    operands = list(args[len(results) :])
    for operand in operands:
        if not isinstance(operand, Vector) and scalar_type(operand) is None:
            raise TypeMismatch(f"gpu.asm() cannot pass {operand} in registers.")
    kinds = [arg if isinstance(arg, Vector) else scalar_type(arg) for arg in operands]
    constraints = ["=v"] * len(results) + ["v"] * len(operands) + ["~{memory}", "~{scc}"]
    body = text.value.replace("\n", "\\0A").replace('"', "\\22")

    def emit(low: Lowering, values: Sequence[Value]) -> Value:
        inputs = [value[0] for value in values[1 + len(results) :]]
        out = _VOID if not results else _llvm(target)
        kind = ir.FunctionType(out, [value.type for value in inputs])
        assembly = ir.InlineAsm(kind, body, ",".join(constraints), side_effect=True)
        value = low.builder.call(assembly, inputs, attrs=("convergent",))
        return (value,) if results else ()

    return Operation(target, [text, *results, *kinds], emit)


def _result_kind(arg: types.Type) -> Any:
    """The type that a constant type argument stands for."""
    if isinstance(arg, Constant) and isinstance(arg.value, VectorType):
        return vector_of(arg.value)
    if isinstance(arg, Constant) and isinstance(arg.value, type):
        return SCALARS.get(arg.value.__name__)
    return None


def _llvm(kind: Any) -> ir.Type:
    return kind.llvm if isinstance(kind, Vector) else register_type(kind)
