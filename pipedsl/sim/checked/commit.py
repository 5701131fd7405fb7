"""Completion of operations: their effect happens here, not where they were issued."""

from __future__ import annotations

from llvmlite import ir

from pipedsl.sim import layout as at
from pipedsl.sim.builder import I32, I64, PTR
from pipedsl.sim.checked import layout as c
from pipedsl.sim.checked.clocks import acquire, publish
from pipedsl.sim.checked.view import View, complete, has, set_state, while_
from pipedsl.sim.micro.registry import Micro, micro_kernel

THUNK = ir.FunctionType(I32, [PTR, PTR, I32, PTR]).as_pointer()
_FAULT = (at.FAULT_KIND, at.FAULT_LANE, at.FAULT_ADDRESS, at.FAULT_ADDRESS + 4, at.FAULT_BYTES)


def run_thunk(
    k: Micro, view: View, thunk: ir.Value, payload: ir.Value, trial: int, target: ir.Value,
    instruction: ir.Value,
) -> None:  # fmt: skip
    """Perform an operation, or (`trial`) only find its addresses; returns from `k` on a fault."""
    failed = k.irb.call(thunk, [k.group, payload, I32(trial), target])
    with k.when(k.s.ucmp("!=", failed, 0)):
        for field in _FAULT:
            k.store(k.load(I32, payload, field, 4), k.wave, field, 4)
        place = k.irb.shl(k.irb.zext(instruction, I64), I64(2))
        line = k.load(I32, view.get(c.LINES, PTR), place, 4)
        k.store(line, k.wave, at.FAULT_INSTRUCTION, 4)
        k.ret(1)


@micro_kernel("checked_commit", lambda: [I32])
def checked_commit(k: Micro) -> None:
    """``all``: commit every operation of the wave that must be complete, or all of them.

    What is due: operations that a wait or the counter's capacity proves complete, those in flight
    for too long, and everything older on the same path to memory.
    """
    irb, (everything,) = k.irb, k.args
    view = View(k)
    record, row = view.record(view.own), view.row(view.own, view.own)
    tail, head = k.load(I32, record, c.TAIL, 4), k.load(I32, row, 0, 4)
    count = irb.zext(irb.sub(irb.add(head, I32(1)), tail), I64)
    newest = [k.variable(I32, 0) for _ in range(3)]
    turn = view.get(c.ROUND)

    def uncommitted(number: ir.Value) -> tuple[ir.Value, ir.Value]:
        entry = view.entry(record, number)
        return entry, irb.not_(has(k, k.load(I32, entry, c.E_STATE, 4), c.COMMITTED))

    with k.loop(count) as index:
        number = irb.add(tail, irb.trunc(index, I32))
        entry, waits = uncommitted(number)
        due = has(k, k.load(I32, entry, c.E_STATE, 4), c.DUE)
        late = irb.icmp_signed("<=", k.load(I64, entry, c.E_DEADLINE, 8), turn)
        due = irb.or_(irb.or_(due, late), complete(k, entry, row))
        due = irb.or_(due, k.s.ucmp("!=", everything, 0))
        with k.when(irb.and_(waits, due)):
            set_state(k, entry, c.DUE)
            path = k.load(I32, entry, c.E_PATH, 4)
            for which in (c.LDS_PATH, c.VECTOR_PATH):
                with k.when(k.s.ucmp("==", path, which)):
                    irb.store(number, newest[which])
    with k.loop(count) as index:
        number = irb.add(tail, irb.trunc(index, I32))
        entry, waits = uncommitted(number)
        path = k.load(I32, entry, c.E_PATH, 4)
        limit = irb.select(
            k.s.ucmp("==", path, c.LDS_PATH),
            irb.load(newest[c.LDS_PATH], typ=I32), irb.load(newest[c.VECTOR_PATH], typ=I32),
        )  # fmt: skip
        older = irb.and_(k.s.ucmp("!=", path, c.SCALAR_PATH), k.s.ucmp("<=", number, limit))
        due = irb.or_(older, has(k, k.load(I32, entry, c.E_STATE, 4), c.DUE))
        with k.when(irb.and_(waits, due)):
            _commit(k, view, record, number, entry)
    _advance_tail(k, view, record, head)
    k.ret(0)


def _commit(
    k: Micro, view: View, record: ir.Value, number: ir.Value, entry: ir.Value
) -> None:  # fmt: skip
    thunk = k.load(THUNK, entry, c.E_THUNK, 8)
    set_state(k, entry, c.COMMITTED)
    with k.when(k.irb.icmp_unsigned("!=", thunk, PTR(None))):
        payload = k.load(PTR, entry, c.E_PAYLOAD, 8)
        run_thunk(k, view, thunk, payload, 0, k.wave, k.load(I32, entry, c.E_INSTRUCTION, 4))
        log = view.log(record, number)
        publish(k, view, entry, log)
        acquire(k, view, entry, log)


def _advance_tail(k: Micro, view: View, record: ir.Value, head: ir.Value) -> None:
    tail = k.variable(I32, 0)
    k.irb.store(k.load(I32, record, c.TAIL, 4), tail)

    def committed() -> ir.Value:
        number = k.irb.load(tail, typ=I32)
        state = k.load(I32, view.entry(record, number), c.E_STATE, 4)
        return k.irb.and_(k.s.ucmp("<=", number, head), has(k, state, c.COMMITTED))

    while_(k, committed, lambda: _increment(k, tail))
    k.store(k.irb.load(tail, typ=I32), record, c.TAIL, 4)


def _increment(k: Micro, variable: ir.Value) -> None:
    k.irb.store(k.irb.add(k.irb.load(variable, typ=I32), I32(1)), variable)


@micro_kernel("checked_tick", list)
def checked_tick(k: Micro) -> None:
    """A turn of the scheduler passes for a wave: a seeded choice of its oldest operations completes."""
    irb = k.irb
    view = View(k)
    record, row = view.record(view.own), view.row(view.own, view.own)
    tail, head = k.load(I32, record, c.TAIL, 4), k.load(I32, row, 0, 4)
    with k.when(k.s.ucmp("<=", tail, head)):
        random = draw(k, view)
        chosen = irb.and_(k.s.ucmp("!=", random, 0), k.s.ucmp("==", irb.and_(random, I64(3)), 0))
        with k.when(chosen):
            _choose(k, view, record, random, tail, head)
        view.call_or_fail(c.COMMIT, k.group, k.wave, I32(0))
    k.ret(0)


def _choose(
    k: Micro, view: View, record: ir.Value, random: ir.Value, tail: ir.Value, head: ir.Value
) -> None:
    """Mark up to eight of the oldest operations on some of the paths as due."""
    irb = k.irb
    left = k.variable(I32, 0)
    some = irb.and_(irb.lshr(random, I64(2)), I64(7))
    irb.store(irb.add(irb.trunc(some, I32), I32(1)), left)
    paths = irb.trunc(irb.lshr(random, I64(5)), I32)
    with k.loop(irb.zext(irb.sub(irb.add(head, I32(1)), tail), I64)) as index:
        entry = view.entry(record, irb.add(tail, irb.trunc(index, I32)))
        waits = irb.not_(has(k, k.load(I32, entry, c.E_STATE, 4), c.COMMITTED))
        on_path = irb.trunc(irb.lshr(paths, k.load(I32, entry, c.E_PATH, 4)), ir.IntType(1))
        budget = irb.load(left, typ=I32)
        with k.when(irb.and_(irb.and_(waits, on_path), k.s.ucmp("!=", budget, 0))):
            set_state(k, entry, c.DUE)
            irb.store(irb.sub(budget, I32(1)), left)


def draw(k: Micro, view: View) -> ir.Value:
    """Next number of the area's generator; 0 where operations complete as late as possible."""
    x = view.get(c.RANDOM)
    for shift, left in ((13, True), (7, False), (17, True)):
        moved = k.irb.shl(x, I64(shift)) if left else k.irb.lshr(x, I64(shift))
        x = k.irb.xor(x, moved)
    k.store(x, view.area, c.RANDOM, 8)
    return k.irb.lshr(x, I64(16))
