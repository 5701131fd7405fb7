"""Where the variables of a function body live."""

from __future__ import annotations

from collections import defaultdict

from numba.core import ir


def phi_copies(blocks: dict[int, ir.Block]) -> dict[int, list[tuple[str, ir.Var]]]:
    """By block: which variables it copies into phis of its successors."""
    copies: dict[int, list[tuple[str, ir.Var]]] = defaultdict(list)
    for block in blocks.values():
        for inst in block.find_insts(ir.Assign):
            if isinstance(inst.value, ir.Expr) and inst.value.op == "phi":
                phi = inst.value
                for label, source in zip(phi.incoming_blocks, phi.incoming_values, strict=True):
                    if source is not ir.UNDEFINED:
                        copies[label].append((inst.target.name, source))
    return copies


def block_local(blocks: dict[int, ir.Block]) -> set[str]:
    """Variables assigned once that are used in that block only, or assigned in the first block.

    They need no slot: their definition is above every use.
    """
    first = min(blocks)
    homes: dict[str, int] = {}
    shared: set[str] = set()
    for label, block in blocks.items():
        for inst in block.body:
            if isinstance(inst, ir.Assign):
                name = inst.target.name
                is_phi = isinstance(inst.value, ir.Expr) and inst.value.op == "phi"
                if name in homes or is_phi:
                    shared.add(name)
                homes[name] = label
    for label, block in blocks.items():
        for inst in block.body:
            if (
                isinstance(inst, ir.Assign)
                and isinstance(inst.value, ir.Expr)
                and inst.value.op == "phi"
            ):
                phi = inst.value
                for origin, source in zip(phi.incoming_blocks, phi.incoming_values, strict=True):
                    if source is not ir.UNDEFINED and homes.get(source.name) not in (origin, first):
                        shared.add(source.name)
                continue
            for var in inst.list_vars():
                if homes.get(var.name) not in (label, first):
                    shared.add(var.name)
    return {name for name in homes if name not in shared}
