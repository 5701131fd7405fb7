"""Operations as thunks: the calls of a memory instruction, to be made later on copies of its sources."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from llvmlite import ir

from pipedsl.core.errors import AssemblyError
from pipedsl.isa.instruction import Instruction
from pipedsl.isa.operands import Reg
from pipedsl.sim import layout as at
from pipedsl.sim.builder import I8, I32, I64, PTR
from pipedsl.sim.checked import layout as c
from pipedsl.sim.checked.commit import THUNK
from pipedsl.sim.layout import WaveLayout

Call = tuple[tuple, tuple[ir.Value, ...]]
Declare = Callable[[tuple, Sequence[ir.Type]], ir.Function]


class Place(NamedTuple):
    """Where a thunk finds an argument.

    Attributes
    ----------
    base : {"target", "payload", "argument", "constant"}
        The wave's record (or what stands in for it in a trial), the payload, a number in the
        payload, or the value itself.
    value : int or ir.Value
        Byte offset from the base.
    """

    base: str
    value: int | ir.Value


class Plan:
    """Where the arguments of an instruction's calls come from.

    Attributes
    ----------
    places : list of list of Place
        Per call and argument.
    targets : list of int
        Offsets in the wave's record of what the calls write.
    rows : list of (int, int)
        Offset in the wave's record and bytes of the registers to copy.
    numbers : list of ir.Value
        Integers that are known only when the instruction is issued.
    """

    def __init__(self, ins: Instruction, wave: WaveLayout) -> None:
        self.ins = ins
        self.wave = wave
        self.places: list[list[Place]] = []
        self.targets: list[int] = []
        self.rows: list[tuple[int, int]] = []
        self.numbers: list[ir.Value] = []

    def add(self, args: Sequence[ir.Value], offsets: dict[int, tuple[ir.Value, int]]) -> None:
        """Place the arguments of one call; `offsets` tells what pointers into the record mean.

        The first pointer to a destination is where the result goes; any other is a source.
        """
        places, given = [], False
        for arg in args:
            known = offsets.get(id(arg))
            if known is not None and not given and self._operand(known[1], loaded=True):
                given = True
                self.targets.append(known[1])
                places.append(Place("target", known[1]))
            elif known is not None:
                places.append(Place("payload", self._source(known[1])))
            elif isinstance(arg, ir.Constant):
                places.append(Place("constant", arg))
            else:
                places.append(Place("argument", self._number(arg)))
        self.places.append(places)

    @property
    def payload(self) -> int:
        """Bytes of the header, the numbers and the rows."""
        return c.P_ROWS + sum(size for _, size in self.rows)

    def _number(self, arg: ir.Value) -> int:
        if len(self.numbers) == c.ARGUMENTS or not isinstance(arg.type, ir.IntType):
            raise AssemblyError(f"line {self.ins.line}: {self.ins.mnemonic} cannot be deferred.")
        self.numbers.append(arg)
        return c.P_ARGUMENTS + 8 * (len(self.numbers) - 1)

    def _source(self, offset: int) -> int:
        if offset < at.WAVE_HEADER:  # the payload starts with a copy of the header
            return offset
        place = self.payload
        self.rows.append((offset, self._operand(offset, loaded=False) or self.wave.row))
        return place

    def _operand(self, offset: int, *, loaded: bool) -> int:
        """Bytes from `offset` to the end of the longest operand that lies there; 0 if none does."""
        bound = self.ins.dsts if loaded else (*self.ins.srcs, *self.ins.dsts)
        sizes = [0]
        for _, operand in bound:
            if operand is not None and isinstance(operand.value, Reg):
                reg = operand.value
                start, step = self._place_of(reg)
                if start <= offset < start + reg.count * step:
                    sizes.append(start + reg.count * step - offset)
        return max(sizes)

    def _place_of(self, reg: Reg) -> tuple[int, int]:
        if reg.file == "s":
            return self.wave.scalar(reg.index), 4
        start = self.wave.vgpr(reg.index) if reg.file == "v" else self.wave.agpr(reg.index)
        return start, self.wave.row


def define_thunk(
    module: ir.Module, name: str, calls: Sequence[Call], plan: Plan, declare: Declare
) -> ir.Function:
    """``i32 name(group, payload, trial, target)``: make the calls, or their trials."""
    thunk = ir.Function(module, THUNK.pointee, name)
    thunk.linkage = "internal"
    group, payload, trial, target = thunk.args
    irb = ir.IRBuilder(thunk.append_basic_block("entry"))
    on_trial = irb.icmp_unsigned("!=", trial, I32(0))
    for (key, args), places in zip(calls, plan.places, strict=True):
        kinds = [PTR if isinstance(a.type, ir.PointerType) else a.type for a in args]
        callee = irb.select(on_trial, declare(("trial", *key), kinds), declare(key, kinds))
        values = [
            _argument(irb, arg.type, place, payload, target)
            for arg, place in zip(args, places, strict=True)
        ]
        failed = irb.icmp_unsigned("!=", irb.call(callee, [group, payload, *values]), I32(0))
        stop, go_on = thunk.append_basic_block("fault"), thunk.append_basic_block("ok")
        irb.cbranch(failed, stop, go_on)
        irb.position_at_end(stop)
        irb.ret(I32(1))
        irb.position_at_end(go_on)
    irb.ret(I32(0))
    return thunk


def _argument(
    irb: ir.IRBuilder, kind: ir.Type, place: Place, payload: ir.Value, target: ir.Value
) -> ir.Value:
    if not isinstance(place.value, int):
        return place.value
    base = target if place.base == "target" else payload
    pointer = irb.gep(base, [I64(place.value)], source_etype=I8)
    if place.base != "argument":
        return pointer
    wide = irb.load(pointer, align=8, typ=I64)
    return wide if kind == I64 else irb.trunc(wide, kind)
