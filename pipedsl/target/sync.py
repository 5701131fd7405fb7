"""Waiting, and the order of memory accesses between waves."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from llvmlite import ir
from numba.core import types

from pipedsl.core.arch import Arch
from pipedsl.isa.rings import ring_comment
from pipedsl.target import gpu
from pipedsl.target.arrays import element_pointer
from pipedsl.target.composites import Array
from pipedsl.target.operations import (
    Operation,
    TypeMismatch,
    Value,
    implements,
)
from pipedsl.target.promotion import scalar_type
from pipedsl.target.stamps import stamp
from pipedsl.target.types import LDS, Constant

if TYPE_CHECKING:
    from pipedsl.target.compilation import Compilation
    from pipedsl.target.lowering import Lowering

_VOID, _I32 = ir.VoidType(), ir.IntType(32)


class _LdsFence(ir.Fence):
    """A workgroup fence that orders LDS only: no cache is written back, no load waited for."""

    def descr(self, buf: list[str]) -> None:
        metadata = self._stringify_metadata(leading_comma=True)
        buf.append(f'fence syncscope("workgroup") {self.ordering}{metadata}\n')


def fence(low: Lowering, ordering: str, *, lds_only: bool) -> None:
    """Emit a fence of the workgroup."""
    builder = low.builder
    if not lds_only:
        builder.fence(ordering, targetscope="workgroup")
        return
    instruction = _LdsFence(builder.block, ordering)
    tag = low.module.module.add_metadata(["amdgpu-synchronize-as", "local"])
    instruction.set_metadata("mmra", tag)
    builder._insert(instruction)


@implements(gpu.barrier)
def _barrier(compilation: Compilation) -> Operation:
    def emit(low: Lowering, values: Sequence[Value]) -> Value:
        fence(low, "release", lds_only=False)
        stamp(low, "barrier")
        low.call("llvm.amdgcn.s.barrier", _VOID, [])
        stamp(low, "got")
        fence(low, "acquire", lds_only=False)
        return ()

    return Operation(types.none, (), emit)


@implements(gpu.sleep)
def _sleep(compilation: Compilation, amount: types.Type) -> Operation:
    if not isinstance(amount, Constant) or not isinstance(amount.value, int):
        raise TypeMismatch("gpu.sleep() takes a compile-time constant.")
    if not 0 <= amount.value <= 127:
        raise TypeMismatch(f"gpu.sleep({amount.value}) is out of range.", "use 0 to 127.")
    operand = ir.Constant(_I32, amount.value)

    def emit(low: Lowering, values: Sequence[Value]) -> Value:
        low.call("llvm.amdgcn.s.sleep", _VOID, [operand])
        return ()

    return Operation(types.none, [amount], emit)


def _check_counters(name: str, counters: types.Type, index: types.Type) -> None:
    if not (
        isinstance(counters, Array)
        and counters.space == LDS
        and counters.dtype in (types.int32, types.int64)
        and counters.ndim == 1
    ):
        raise TypeMismatch(f"{name}() takes a 1-D int32 or int64 array in LDS, not {counters}.")
    if not isinstance(scalar_type(index), types.Integer):
        raise TypeMismatch(f"{name}() takes an int index, not {index}.")


@implements(gpu.counter_load)
def _counter_load(compilation: Compilation, counters: types.Type, index: types.Type) -> Operation:
    """A volatile load, not an atomic one, on which LLVM would drop the alias scopes."""
    _check_counters("counter_load", counters, index)

    def emit(low: Lowering, values: Sequence[Value]) -> Value:
        pointer = element_pointer(low, counters, values[0], index, values[1])
        # Keep the address in a VGPR: a spin would copy it from its SGPR in every round.
        kind = ir.FunctionType(pointer.type, [pointer.type])
        pinned = ir.InlineAsm(kind, "", "=v,0")
        pointer = low.builder.call(pinned, [pointer], attrs=("nounwind", "readnone"))
        load = _VolatileLoad(low.builder.block, pointer, ir.IntType(counters.dtype.bitwidth))
        # Copies to LDS go elsewhere: a spin does not wait for those in flight.
        load.set_metadata("alias.scope", low.module.scopes("counters"))
        load.set_metadata("noalias", low.module.scopes("copies"))
        low.builder._insert(load)
        fence(low, "acquire", lds_only=True)
        return (load,)

    return Operation(counters.dtype, [counters, index], emit)


class _VolatileLoad(ir.instructions.LoadInstr):
    """A load that happens as often as the program says."""

    def __init__(self, block: ir.Block, pointer: ir.Value, kind: ir.IntType) -> None:
        super().__init__(block, pointer, "", typ=kind)
        self.align = kind.width // 8

    def descr(self, buf: list[str]) -> None:
        text: list[str] = []
        super().descr(text)
        buf.append("".join(text).replace("load ", "load volatile ", 1))


@implements(gpu.declare_ring)
def _declare_ring(
    compilation: Compilation,
    counters: types.Type,
    num_stages: types.Type,
    producer_arrivals: types.Type,
    consumer_arrivals: types.Type,
) -> Operation:
    """A comment in the assembly, which travels with the text wherever that goes."""
    if not isinstance(counters, Array) or counters.space != LDS:
        raise TypeMismatch(f"declare_ring() takes an array in LDS, not {counters}.")
    kinds = (num_stages, producer_arrivals, consumer_arrivals)
    numbers = [ty.value for ty in kinds if isinstance(ty, Constant)]
    if len(numbers) != len(kinds):
        raise TypeMismatch("declare_ring() takes compile-time constants.")
    stages, producers, consumers = numbers
    bits = counters.dtype.bitwidth

    def emit(low: Lowering, values: Sequence[Value]) -> Value:
        base = values[0][0]
        text = ring_comment(bits, stages, producers, consumers, "$0")
        # A register, since LLVM prints no address of LDS; a reader finds the constant in it.
        kind = ir.FunctionType(ir.VoidType(), [base.type])
        assembly = ir.InlineAsm(kind, text, "v", side_effect=True)
        low.builder.call(assembly, [base])
        return ()

    return Operation(types.none, [counters, *kinds], emit)


@implements(gpu.counter_signal)
def _counter_signal(
    compilation: Compilation, counters: types.Type, index: types.Type, offset: Any = 0
) -> Operation:
    """The addition is assembly: LLVM's atomic optimiser would count the active lanes first."""
    _check_counters("counter_signal", counters, index)
    if not isinstance(offset, Constant) or not isinstance(offset.value, int):
        raise TypeMismatch("counter_signal() takes a compile-time constant as offset.")
    bits = counters.dtype.bitwidth
    text = _elect_and_add(compilation.arch, bits, bits // 8 * offset.value)

    def emit(low: Lowering, values: Sequence[Value]) -> Value:
        pointer = element_pointer(low, counters, values[0], index, values[1])
        saved = ir.IntType(compilation.arch.wave_size)
        one = ir.Constant(ir.IntType(bits), 1)
        kind = ir.FunctionType(saved, [pointer.type, one.type])
        # An early-clobber result for the saved mask; s_lshl writes SCC.
        constraints = "=&s,v,v,~{scc},~{memory}"
        assembly = ir.InlineAsm(kind, text, constraints, side_effect=True)
        low.builder.call(assembly, [pointer, one], attrs=("convergent",))
        return ()

    return Operation(types.none, [counters, index, offset], emit)


def _elect_and_add(arch: Arch, width: int, distance: int) -> str:
    """Narrow EXEC to the first active lane, add to a counter of `width` bits, restore EXEC.

    LLVM never runs inline assembly with EXEC = 0, so there is a first active lane.
    """
    find = "s_ff1_i32" if arch.generation < 11 else "s_ctz_i32"
    exec_, bits = ("exec", "b64") if arch.wave_size == 64 else ("exec_lo", "b32")
    offset = f" offset:{distance}" if distance else ""
    lane = f"{exec_}" if bits == "b32" else "exec_lo"
    return "\\0A".join(
        (
            f"s_mov_{bits} $0, {exec_}",
            f"{find}_{bits} {lane}, {exec_}",
            f"s_lshl_{bits} {exec_}, 1, {lane}",
            f"ds_add_u{width} $1, $2{offset}",
            f"s_mov_{bits} {exec_}, $0",
        )
    )
