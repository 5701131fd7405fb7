"""Micro-kernels that append to the buffer of events."""

from __future__ import annotations

from llvmlite import ir

from pipedsl.checker.events import ACCESS
from pipedsl.sim import layout as at
from pipedsl.sim.builder import I32, I64, PTR
from pipedsl.sim.events import layout as e
from pipedsl.sim.micro.registry import Micro, micro_kernel

_DRAIN = ir.FunctionType(I32, [PTR])
_ADDRESSES = ir.VectorType(I64, 64)


@micro_kernel("event", lambda: [I32, I32, I64])
def event(k: Micro) -> None:
    """``kind, site, value``: an event without addresses."""
    kind, site, value = k.args
    place = _room(k)
    _fill(k, place, kind, site)
    k.store(value, place, e.VALUE, 8)
    _advance(k, k.at(place, e.EVENT))
    k.ret(0)


@micro_kernel("event_accesses", lambda: [I32, I64, I64])
def event_accesses(k: Micro) -> None:
    """``site, before, atomic``: an event per part of the trace that has lanes, an empty one if none.

    `before` is not 0 where the instruction has appended events already. Lanes that all access one
    place are one address, except where every lane counts: of an atomic operation. The trace is empty
    after it.
    """
    site, before, atomic = k.args
    irb = k.irb
    parts = k.variable(I64, 0)
    irb.store(before, parts)
    trace = k.load(PTR, k.group, at.TRACE, 8)
    with k.loop(at.TRACE_PARTS) as index:
        part = k.at(trace, irb.mul(index, I64(at.TRACE_PART)))
        lanes = k.load(I64, part, at.TRACE_LANES, 8)
        with k.when(k.s.ucmp("!=", lanes, 0)):
            _append_part(k, part, lanes, site, irb.load(parts, typ=I64), atomic)
            k.store(I64(0), part, at.TRACE_LANES, 8)
            irb.store(I64(1), parts)
    with k.when(k.s.ucmp("==", irb.load(parts, typ=I64), 0)):
        place = _room(k)
        _fill(k, place, I32(ACCESS), site)
        _advance(k, k.at(place, e.EVENT))
    k.ret(0)


def _append_part(
    k: Micro, part: ir.Value, lanes: ir.Value, site: ir.Value, continues: ir.Value,
    atomic: ir.Value,
) -> None:  # fmt: skip
    irb = k.irb
    place = _room(k)
    _fill(k, place, I32(ACCESS), site)
    k.store(continues, place, e.CONTINUES, 8)
    k.store(k.load(I64, part, at.TRACE_WIDTH, 8), place, e.WIDTH, 8)
    end, count = k.variable(PTR, None), k.variable(I64, 0)
    irb.store(k.at(place, e.EVENT), end)
    irb.store(k.s.popcount(lanes), count)
    whole = k.s.ucmp("==", lanes, (1 << 64) - 1)
    with k.when(whole):
        addresses = k.load(_ADDRESSES, part, at.TRACE_ADDRESSES, 8)
        k.store(addresses, place, e.EVENT, 8)
        first = irb.extract_element(addresses, I32(0))
        one = irb.insert_element(ir.Constant(_ADDRESSES, ir.Undefined), first, I32(0))
        all_one = irb.shuffle_vector(one, one, ir.Constant(ir.VectorType(I32, 64), [0] * 64))
        differ = irb.bitcast(irb.icmp_unsigned("!=", addresses, all_one), I64)
        single = irb.and_(k.s.ucmp("==", differ, 0), k.s.ucmp("==", atomic, 0))
        irb.store(irb.select(single, I64(1), I64(64)), count)
    with k.when(irb.not_(whole)), k.active_lanes(lanes) as lane:
        slot = irb.add(irb.shl(lane, I64(3)), I64(at.TRACE_ADDRESSES))
        target = irb.load(end, typ=PTR)
        k.store(k.load(I64, part, slot, 8), target, 0, 8)
        irb.store(k.at(target, 8), end)
    kept = irb.load(count, typ=I64)
    k.store(irb.trunc(kept, I32), place, e.COUNT, 4)
    k.store(_value(k, place), place, e.VALUE, 8)
    _advance(k, k.at(place, irb.add(irb.shl(kept, I64(3)), I64(e.EVENT))))


def _value(k: Micro, place: ir.Value) -> ir.Value:
    """What lies at the first address now, where that is LDS and fits."""
    irb = k.irb
    found = k.variable(I64, 0)
    width = k.load(I32, place, e.WIDTH, 4)
    in_lds = k.s.ucmp("==", k.load(I32, place, e.SPACE, 4), at.TRACE_LDS)
    for size, kind in ((4, I32), (8, I64)):
        with k.when(irb.and_(in_lds, k.s.ucmp("==", width, size))):
            address = k.load(I64, place, e.EVENT, 8)
            value = k.load(kind, k.at(k.load(PTR, k.group, at.LDS_POINTER, 8), address), 0, 1)
            irb.store(value if size == 8 else irb.zext(value, I64), found)
    return irb.load(found, typ=I64)


def _fill(k: Micro, place: ir.Value, kind: ir.Value, site: ir.Value) -> None:
    k.store(kind, place, e.KIND, 4)
    k.store(k.load(I32, k.wave, at.WAVE_INDEX, 4), place, e.WAVE, 4)
    k.store(site, place, e.SITE, 4)
    k.store(I32(0), place, e.COUNT, 4)
    for offset in (e.CONTINUES, e.WIDTH, e.VALUE):
        k.store(I64(0), place, offset, 8)


def _room(k: Micro) -> ir.Value:
    """Pointer to where an event of any size fits; a full buffer is drained first."""
    irb = k.irb
    buffer = k.load(PTR, k.group, at.EVENTS, 8)
    full = irb.icmp_unsigned(">", k.load(PTR, buffer, e.NEXT, 8), k.load(PTR, buffer, e.LIMIT, 8))
    with k.when(full):
        drain = k.load(_DRAIN.as_pointer(), buffer, e.DRAIN, 8)
        failed = irb.call(drain, [k.group])
        with k.when(k.s.ucmp("!=", failed, 0)):
            k.ret(1)
    return k.load(PTR, buffer, e.NEXT, 8)


def _advance(k: Micro, end: ir.Value) -> None:
    k.store(end, k.load(PTR, k.group, at.EVENTS, 8), e.NEXT, 8)
