"""Translation in checked mode: operations are issued, not performed, and uses are checked."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from llvmlite import ir

from pipedsl.isa.counters import queues, wait_limits
from pipedsl.isa.instruction import Instruction
from pipedsl.sim import layout as at
from pipedsl.sim.builder import I8, I32, I64, PTR, micro_symbol
from pipedsl.sim.checked import layout as c
from pipedsl.sim.checked.access import memory_access
from pipedsl.sim.checked.dataflow import Facts, Pending, runs, uses_of
from pipedsl.sim.checked.defer import Call, Plan, define_thunk
from pipedsl.sim.checked.wait import NO_LIMIT
from pipedsl.sim.machine import Machine


class CheckedMachine(Machine):
    """A `Machine` whose memory instructions go into the wave's queues.

    The micro-kernels that a memory instruction calls become a thunk: a function that runs them
    later, on copies of the registers that they read. The translator sets the attributes.

    Attributes
    ----------
    facts : dict of int to Facts
        Per instruction.
    pending : Pending
    polls : frozenset of int
        Loads whose value is compared at once.
    """

    def __init__(self, *args: Any, **more: Any) -> None:
        super().__init__(*args, **more)
        self.facts: dict[int, Facts] = {}
        self.pending = Pending()
        self.polls: frozenset[int] = frozenset()
        self._calls: list[Call] = []
        self._offsets: dict[int, tuple[ir.Value, int]] = {}
        self._index = 0

    # hooks of the translator
    def before(self, index: int, ins: Instruction) -> None:
        """Check the registers that `ins` uses, where one may be pending."""
        self._index, self._calls = index, []
        self._offsets = {id(self.wave): (self.wave, 0)}
        possible, f = self.pending.at(index), self.facts[index]
        uses = uses_of(f, possible)
        if not uses:
            return
        record = self.load(self.at(at.CHECKED_WAVE), PTR, 8)
        notes: ir.Value = I32(0)
        for first, count, _ in uses:
            for register in range(first, first + count):
                place = self.irb.gep(record, [I64(c.PENDING + 4 * register)], source_etype=I8)
                notes = self.irb.or_(notes, self.load(place, I32))
        touched = self.function.append_basic_block("touched")
        go_on = self.function.append_basic_block("untouched")
        self.irb.cbranch(self.irb.icmp_unsigned("!=", notes, I32(0)), touched, go_on)
        self.irb.position_at_end(touched)
        for first, count, kind in uses:
            self._service("checked_touch", *map(I32, (first, count, index, kind, c.NO_QUEUE)))
        self.irb.branch(go_on)
        self.irb.position_at_end(go_on)

    def after(self, index: int, ins: Instruction) -> None:
        """Issue the operation of `ins`, or prove what it waits for."""
        if self.facts[index].queues:
            self._issue(index, ins)
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
    def _issue(self, index: int, ins: Instruction) -> None:
        plan = Plan(ins, self.layout)
        thunk: ir.Value = PTR(None)
        if self._calls:
            for _, args in self._calls:
                plan.add(args, self._offsets)
            module = self.function.module
            thunk = define_thunk(module, f"operation{index}", self._calls, plan, self._declare)
            self._stage(plan.numbers)
        self._service("checked_issue", self._descriptor(ins, plan), thunk)

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

    def _stage(self, numbers: Sequence[ir.Value]) -> None:
        """Leave the numbers that a thunk will want where `checked_issue` takes them from."""
        if not numbers:
            return
        area = self.load(self.at_group(at.CHECKED), PTR, 8)
        for position, number in enumerate(numbers):
            place = self.irb.gep(area, [I64(c.STAGED + 8 * position)], source_etype=I8)
            self.store(number if number.type == I64 else self.irb.zext(number, I64), place, 8)

    def _descriptor(self, ins: Instruction, plan: Plan) -> ir.Value:
        """The constant that tells `checked_issue` about the instruction (see `layout`)."""
        f = self.facts[self._index]
        of_arch = list(queues(self.arch).values())
        first, second = f.queues[0], f.queues[-1]
        loaded = list(runs(f.loaded))
        start, count = loaded[0] if loaded else (0, 0)
        recheck = c.NO_RECHECK
        if f.loaded & self.pending.at(self._index):
            recheck = first if of_arch[first].ordered else c.NO_QUEUE
        path, lds, far = memory_access(ins)
        if self._index in self.polls:
            lds, far = (access | c.POLL if access else 0 for access in (lds, far))
        words = [
            self._index, first, second, path, lds, far, start, count, recheck,
            len(plan.numbers), min(plan.targets, default=0), plan.payload, len(plan.rows), of_arch[first].capacity, of_arch[second].capacity,
        ]  # fmt: skip
        words += [number for row in plan.rows for number in row]
        kind = ir.ArrayType(I32, len(words))
        table = ir.GlobalVariable(self.function.module, kind, f"descriptor{self._index}")
        table.initializer = ir.Constant(kind, [I32(word) for word in words])
        table.global_constant, table.linkage = True, "internal"
        return table
