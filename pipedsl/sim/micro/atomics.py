"""Atomic read-modify-write of the lanes of a wave."""

from __future__ import annotations

from collections.abc import Callable

from llvmlite import ir

from pipedsl.sim.builder import PTR
from pipedsl.sim.micro.lanes import each_lane, lane_addresses
from pipedsl.sim.micro.memory import address_type
from pipedsl.sim.micro.moves import read_integer, write_integer
from pipedsl.sim.micro.pointers import exec_bits
from pipedsl.sim.micro.registry import Micro, micro_kernel
from pipedsl.sim.micro.updates import CONSECUTIVE, PAIR_UPDATES, UPDATES


@micro_kernel(
    "atomic",
    lambda lanes, space, mode, op, bits, returns: [PTR, PTR, PTR, PTR, address_type(space)],
)
def atomic(k: Micro, lanes: int, space: str, mode: str, op: str, bits: int, returns: int) -> None:
    """``dst row, data row, second data row, address rows, base``: update memory lane by lane."""
    target, data, second, vector, base = k.args
    addresses = lane_addresses(k, lanes, space, mode, vector, base)
    mask = exec_bits(k, lanes)
    update_lanes(
        k, lanes, space, addresses, mask, op, bits, target if returns else None, data, second
    )
    k.ret(0)


def update_lanes(
    k: Micro, lanes: int, space: str, addresses: ir.Value, mask: ir.Value, op: str, bits: int,
    target: ir.Value | None, data: ir.Value, second: ir.Value,
) -> None:  # fmt: skip
    """Apply `op` for the lanes of `mask`, lowest first; old values go to `target`."""
    for lane, pointer in each_lane(
        k, lanes, space, addresses, mask, bits // 8, write=True, align=bits // 8, together=False
    ):
        operands = [read_integer(k, data, lane, lanes, bits)]
        if op in CONSECUTIVE:
            operands.append(read_integer(k, data, lane, lanes, bits, bits // 32))
        elif op in PAIR_UPDATES:
            operands.append(read_integer(k, second, lane, lanes, bits))
        old = update_memory(k, pointer, ir.IntType(bits), op, operands, shared=space != "lds")
        if target is not None:
            write_integer(k, target, lane, lanes, old)


def update_memory(
    k: Micro,
    pointer: ir.Value,
    kind: ir.IntType,
    op: str,
    operands: list[ir.Value],
    *,
    shared: bool,
) -> ir.Value:
    """Replace the integer at `pointer` by what `op` makes of it; returns the old one.

    `shared`: other host threads may update it too. The waves of a workgroup run on one thread, so
    LDS is not.
    """
    update: Callable[..., ir.Value] = {**UPDATES, **PAIR_UPDATES}[op]
    width = kind.width // 8
    seen = k.load(kind, pointer, 0, width)
    if not shared:
        k.store(update(k.s, seen, *operands), pointer, 0, width)
        return seen
    irb = k.irb
    before, again, done = irb.block, k.block("exchange"), k.block("exchanged")
    irb.branch(again)
    irb.position_at_end(again)
    old = irb.phi(kind)
    old.add_incoming(seen, before)
    new = update(k.s, old, *operands)
    result = irb.cmpxchg(pointer, old, new, "seq_cst", "seq_cst")
    current = irb.extract_value(result, 0)
    old.add_incoming(current, irb.block)
    irb.cbranch(irb.extract_value(result, 1), done, again)
    irb.position_at_end(done)
    return current
