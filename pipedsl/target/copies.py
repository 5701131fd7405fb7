"""Copies to LDS that a function issues, and calls that are told how many may stay in flight."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from numba.core import ir

from pipedsl.target.operations import Operation


def called(inst: ir.Stmt) -> ir.Expr | None:
    """The call that `inst` makes."""
    value = inst.value if isinstance(inst, ir.Assign) else None
    return value if isinstance(value, ir.Expr) and value.op == "call" else None


def issues_copies(operations: Mapping[Any, Operation | None]) -> bool:
    """Whether one of `operations` copies to LDS; Numba has none for some statements."""
    return any(each is not None and each.copies is not None for each in operations.values())


def least_copies(blocks: Mapping[int, ir.Block], operations: Mapping[Any, Operation]) -> int | None:
    """Copies that a function issues on every path, at least; None if there are none on any."""
    if not issues_copies(operations):
        return None
    issued = {
        label: sum(
            operations[call].copies or 0
            for inst in block.body
            if (call := called(inst)) is not None
        )
        for label, block in blocks.items()
    }
    first = min(blocks)
    least = {first: issued[first]}
    pending = [first]
    while pending:
        label = pending.pop()
        for target in blocks[label].terminator.get_targets():
            count = least[label] + issued[target]
            if count < least.get(target, count + 1):
                least[target] = count
                pending.append(target)
    ends = [label for label in least if isinstance(blocks[label].terminator, ir.Return)]
    return min((least[label] for label in ends), default=0)


def state_counts(blocks: Mapping[int, ir.Block], fences: Mapping[ir.Expr, int]) -> None:
    """Give each call of `fences` its number as the argument `vmcnt`."""
    for block in blocks.values():
        body: list[ir.Stmt] = []
        for inst in block.body:
            call = called(inst)
            if call is not None and call in fences:
                count = ir.Var(block.scope, f"{inst.target.name}.vmcnt", inst.loc)
                body.append(ir.Assign(ir.Const(fences[call], inst.loc), count, inst.loc))
                call.args, call.kws = [], (("vmcnt", count),)
            body.append(inst)
        block.body = body
