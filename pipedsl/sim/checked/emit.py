"""Translation in checked mode: operations are issued, not performed, and uses are checked."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from llvmlite import ir

from pipedsl.core.errors import AssemblyError
from pipedsl.isa.counters import queues, wait_limits
from pipedsl.isa.instruction import Instruction
from pipedsl.isa.operands import Reg
from pipedsl.sim import layout as at
from pipedsl.sim.builder import I8, I32, I64, PTR, micro_symbol
from pipedsl.sim.checked import layout as c
from pipedsl.sim.checked.access import memory_access
from pipedsl.sim.checked.dataflow import Facts, Pending
from pipedsl.sim.checked.wait import NO_LIMIT
from pipedsl.sim.machine import Machine

Calls = list[tuple[tuple, tuple[ir.Value, ...]]]


class CheckedMachine(Machine):
    """A `Machine` whose memory instructions go into the wave's queues.

    The micro-kernels that a memory instruction calls become a thunk: a function that runs them
    later, on copies of the registers that they read. Attribute `facts` must be set before
    instructions are translated, `pending` too.
    """

    def __init__(self, *args: Any, **more: Any) -> None:
        super().__init__(*args, **more)
        self.facts: dict[int, Facts] = {}
        self.pending = Pending()
        self._calls: Calls = []
        self._offsets: dict[int, tuple[ir.Value, int]] = {}
        self._index = 0

    # hooks of the translator
    def before(self, index: int, ins: Instruction) -> None:
        """Check the registers that `ins` uses, where one may be pending."""
        self._index, self._calls = index, []
        self._offsets = {id(self.wave): (self.wave, 0)}
        possible, f = self.pending.at(index), self.facts[index]
        read = f.read & possible
        runs = [(run, c.READ_EARLY) for run in _runs(read)]
        runs += [(run, c.OVERWRITTEN_EARLY) for run in _runs(f.written & possible & ~read)]
        if not runs:
            return
        record = self.load(self.at(at.CHECKED_WAVE), PTR, 8)
        notes: ir.Value = I32(0)
        for (first, count), _ in runs:
            for register in range(first, first + count):
                place = self.irb.gep(record, [I64(c.PENDING + 4 * register)], source_etype=I8)
                notes = self.irb.or_(notes, self.load(place, I32))
        touched = self.function.append_basic_block("touched")
        go_on = self.function.append_basic_block("untouched")
        self.irb.cbranch(self.irb.icmp_unsigned("!=", notes, I32(0)), touched, go_on)
        self.irb.position_at_end(touched)
        for (first, count), kind in runs:
            self._service("checked_touch", *map(I32, (first, count, index, kind, c.NO_QUEUE)))
        self.irb.branch(go_on)
        self.irb.position_at_end(go_on)

    def after(self, index: int, ins: Instruction) -> None:
        """Issue the operation of `ins`, or prove what it waits for."""
        if self.facts[index].queues:
            thunk = self._thunk(ins) if self._calls else PTR(None)
            self._service("checked_issue", self._descriptor(ins), thunk)
            return
        limits = wait_limits(ins, self.arch)
        if limits:
            packed = 0
            for number, queue in enumerate(queues(self.arch).values()):
                limit = limits.get(queue.counter, NO_LIMIT)
                if limit and not queue.ordered:
                    limit = NO_LIMIT
                packed |= min(limit, NO_LIMIT) << 8 * number
            packed |= ((1 << 64) - 1) << 8 * len(queues(self.arch)) & (1 << 64) - 1
            self._service("checked_wait", I64(packed), I32(index))

    # what memory instructions and barriers do
    def at(self, offset: int) -> ir.Value:
        pointer = super().at(offset)
        self._offsets[id(pointer)] = (pointer, offset)
        return pointer

    def micro(self, key: tuple, *args: ir.Value) -> None:
        deferred = self.current is not None and self.current.opcode.style == "memory"
        if deferred and self.facts[self._index].queues:
            self._calls.append((key, args))
            return
        if key == ("barrier_signal",):
            self._service("checked_arrive", I32(self._index))
        super().micro(key, *args)

    def suspend(self, status: int) -> None:
        super().suspend(status)
        if status == at.AT_BARRIER:
            self._service("checked_leave")

    # parts
    def _service(self, name: str, *args: ir.Value) -> None:
        """Call a micro-kernel that notes the instruction of a fault itself."""
        kinds = [PTR if isinstance(a.type, ir.PointerType) else a.type for a in args]
        callee = self._declare((name,), kinds)
        failed = self.irb.call(callee, [self.group, self.wave, *args])
        stop = self.function.append_basic_block("fault")
        go_on = self.function.append_basic_block("ok")
        self.irb.cbranch(self.irb.icmp_unsigned("!=", failed, I32(0)), stop, go_on)
        self.irb.position_at_end(stop)
        self.irb.ret(I32(at.FAULT))
        self.irb.position_at_end(go_on)

    def _declare(self, key: tuple, kinds: Sequence[ir.Type]) -> ir.Function:
        name = micro_symbol(key)
        self.micros[name] = key
        module = self.function.module
        found = module.globals.get(name)
        if found is None:
            found = ir.Function(module, ir.FunctionType(I32, [PTR, PTR, *kinds]), name)
        return found

    def _thunk(self, ins: Instruction) -> ir.Function:
        """``i32 thunk(group, payload, trial, target)`` that makes the instruction's calls."""
        module, plan = self.function.module, self._plan(ins)
        kind = ir.FunctionType(I32, [PTR, PTR, I32, PTR])
        thunk = ir.Function(module, kind, f"operation{self._index}")
        thunk.linkage = "internal"
        group, payload, trial, target = thunk.args
        irb = ir.IRBuilder(thunk.append_basic_block("entry"))
        on_trial = irb.icmp_unsigned("!=", trial, I32(0))
        for (key, args), places in zip(self._calls, plan.places, strict=True):
            kinds = [a.type for a in args]
            callee = irb.select(
                on_trial, self._declare(("trial", *key), kinds), self._declare(key, kinds)
            )
            values = []
            for arg, place in zip(args, places, strict=True):
                if place is None:
                    values.append(arg)
                    continue
                base, offset = (target if place[0] == "target" else payload), place[1]
                pointer = irb.gep(base, [I64(offset)], source_etype=I8)
                if place[0] == "argument":
                    wide = irb.load(pointer, align=8, typ=I64)
                    values.append(wide if arg.type == I64 else irb.trunc(wide, arg.type))
                else:
                    values.append(pointer)
            failed = irb.icmp_unsigned("!=", irb.call(callee, [group, payload, *values]), I32(0))
            stop, go_on = thunk.append_basic_block("fault"), thunk.append_basic_block("ok")
            irb.cbranch(failed, stop, go_on)
            irb.position_at_end(stop)
            irb.ret(I32(1))
            irb.position_at_end(go_on)
        irb.ret(I32(0))
        return thunk

    def _plan(self, ins: Instruction) -> _Plan:
        """Where each argument of the calls comes from; emits the stores of those known only here."""
        plan = _Plan()
        for _, args in self._calls:
            target_given = False
            places: list[tuple[str, int] | None] = []
            for arg in args:
                known = self._offsets.get(id(arg))
                if known is not None:
                    offset = known[1]
                    if not target_given and self._operand(offset, ins, loaded=True) is not None:
                        target_given = True
                        plan.targets.append(offset)
                        places.append(("target", offset))
                    else:
                        places.append(("payload", self._source(offset, ins, plan)))
                elif isinstance(arg, ir.Constant):
                    places.append(None)
                elif arg.type == PTR:
                    raise AssemblyError(f"line {ins.line}: {ins.mnemonic} cannot be deferred.")
                else:
                    places.append(("argument", self._stage(arg, plan)))
            plan.places.append(places)
        self._last_plan = plan
        return plan

    def _stage(self, arg: ir.Value, plan: _Plan) -> int:
        if plan.arguments == c.ARGUMENTS:
            raise AssemblyError(f"line {self._line()}: too many arguments to defer.")
        area = self.load(self.at_group(at.CHECKED), PTR, 8)
        place = self.irb.gep(area, [I64(c.STAGED + 8 * plan.arguments)], source_etype=I8)
        self.store(arg if arg.type == I64 else self.irb.zext(arg, I64), place, 8)
        plan.arguments += 1
        return c.P_ARGUMENTS + 8 * (plan.arguments - 1)

    def _source(self, offset: int, ins: Instruction, plan: _Plan) -> int:
        """Place in the payload of what lies at `offset` of the wave's record."""
        if offset < at.WAVE_HEADER:
            return offset
        size = self._operand(offset, ins, loaded=False) or self.layout.row
        place = c.P_ROWS + sum(length for _, length in plan.rows)
        plan.rows.append((offset, size))
        return place

    def _operand(self, offset: int, ins: Instruction, *, loaded: bool) -> int | None:
        """Bytes from `offset` to the end of the longest operand that lies there, if one does."""
        bound = ins.dsts if loaded else (*ins.srcs, *ins.dsts)
        sizes = []
        for _, operand in bound:
            if operand is not None and isinstance(operand.value, Reg):
                reg = operand.value
                start, step = self._place_of(reg)
                if start <= offset < start + reg.count * step:
                    sizes.append(start + reg.count * step - offset)
        return max(sizes, default=None)

    def _place_of(self, reg: Reg) -> tuple[int, int]:
        if reg.file == "s":
            return self.layout.scalar(reg.index), 4
        start = self.layout.vgpr(reg.index) if reg.file == "v" else self.layout.agpr(reg.index)
        return start, self.layout.row

    def _descriptor(self, ins: Instruction) -> ir.Value:
        """The constant that tells `checked_issue` about the instruction (see `layout`)."""
        plan = self._last_plan if self._calls else _Plan()
        f = self.facts[self._index]
        of_arch = list(queues(self.arch).values())
        first, second = f.queues[0], f.queues[-1]
        loaded = list(_runs(f.loaded))
        start, count = loaded[0] if loaded else (0, 0)
        recheck = c.NO_RECHECK
        if f.loaded & self.pending.at(self._index):
            recheck = first if of_arch[first].ordered else c.NO_QUEUE
        path, lds, far = memory_access(ins)
        words = [
            self._index, first, second, path, lds, far, start, count, recheck, plan.arguments,
            min(plan.targets, default=0), c.P_ROWS + sum(size for _, size in plan.rows),
            len(plan.rows), of_arch[first].capacity, of_arch[second].capacity,
        ]  # fmt: skip
        words += [number for row in plan.rows for number in row]
        kind = ir.ArrayType(I32, len(words))
        table = ir.GlobalVariable(self.function.module, kind, f"descriptor{self._index}")
        table.initializer = ir.Constant(kind, [I32(word) for word in words])
        table.global_constant, table.linkage = True, "internal"
        return table


class _Plan:
    """Where a thunk finds its arguments: per call and argument a base and an offset."""

    def __init__(self) -> None:
        self.places: list[list[tuple[str, int] | None]] = []
        self.targets: list[int] = []
        self.rows: list[tuple[int, int]] = []
        self.arguments = 0


def _runs(mask: int) -> Iterator[tuple[int, int]]:
    """(first, count) of the runs of set bits."""
    while mask:
        first = (mask & -mask).bit_length() - 1
        rest = mask >> first
        count = (~rest & (rest + 1)).bit_length() - 1
        yield first, count
        mask &= ~(((1 << count) - 1) << first)
