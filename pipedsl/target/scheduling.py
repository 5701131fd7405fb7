"""Waits, priorities, scheduling hints, clocks and inline assembly."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from llvmlite import ir
from numba.core import types

from pipedsl.target import gpu
from pipedsl.target.composites import Vector
from pipedsl.target.operations import Operation, TypeMismatch, Value, implements
from pipedsl.target.promotion import scalar_type
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
    "vmcnt": "s_wait_loadcnt", "lgkmcnt": "s_wait_dscnt", "vscnt": "s_wait_storecnt",
    "kmcnt": "s_wait_kmcnt", "expcnt": "s_wait_expcnt",
}  # fmt: skip
_LIMITS = {"vmcnt": 63, "lgkmcnt": 15, "expcnt": 7, "vscnt": 63, "kmcnt": 31}


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


@implements(gpu.fence_copies)
def _fence_copies(compilation: Compilation, pending: Any = None) -> Operation:
    """LLVM's own waits do not know that another wave will read the copies."""
    stated = pending != types.none
    count = _constant("gpu.fence_copies()", pending, 0, _LIMITS["vmcnt"]) if stated else 0

    def emit(low: Lowering, values: Sequence[Value]) -> Value:
        if stated or low.copies_in_flight:
            _wait(low, {"vmcnt": count})
        low.copies_in_flight = False
        return ()

    return Operation(types.none, [pending], emit)


def _wait(low: Lowering, wanted: dict[str, int]) -> None:
    text = _wait_text(low.compilation.arch.generation, dict(wanted))
    kind = ir.FunctionType(_VOID, [])
    low.builder.call(ir.InlineAsm(kind, text, "~{memory}", side_effect=True), [])


def _wait_text(generation: int, wanted: dict[str, int]) -> str:
    if generation == 12:
        return "\\0A".join(f"{_GFX12[name]} {value}" for name, value in wanted.items())
    lines = []
    stores = wanted.pop("vscnt", None)
    if stores is not None and generation == 9:
        wanted["vmcnt"] = min(stores, wanted.get("vmcnt", stores))
    elif stores is not None:
        lines.append(f"s_waitcnt_vscnt null, {stores}")
    if wanted:
        lines.append("s_waitcnt " + " ".join(f"{name}({value})" for name, value in wanted.items()))
    return "\\0A".join(lines)


@implements(gpu.clock)
def _clock(compilation: Compilation) -> Operation:
    """``s_memtime`` on gfx9; the shader cycle counter elsewhere."""

    def emit(low: Lowering, values: Sequence[Value]) -> Value:
        name = (
            "llvm.amdgcn.s.memtime" if compilation.arch.generation == 9 else "llvm.readcyclecounter"
        )
        return (low.call(name, _I64, []),)

    return Operation(types.int64, (), emit)


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
