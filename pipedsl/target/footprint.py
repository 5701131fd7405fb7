"""Register arrays that matrix instructions write, and where in a kernel they are alive."""

from __future__ import annotations

from dataclasses import dataclass, field

from llvmlite import ir

from pipedsl.core.errors import SourceLocation

_PREFIXES = ("llvm.amdgcn.mfma", "llvm.amdgcn.smfmac", "llvm.amdgcn.wmma", "llvm.amdgcn.swmmac")


@dataclass(eq=False)
class RegisterArray:
    """One `gpu.local.array`.

    Attributes
    ----------
    vgprs : int
        Per lane.
    where : SourceLocation
    accumulates : bool
        Whether a matrix instruction writes it.
    blocks : list of llvmlite.ir.Block
        Where it is made and used.
    """

    vgprs: int
    where: SourceLocation
    accumulates: bool = False
    blocks: list[ir.Block] = field(default_factory=list)


class Footprint:
    """The register arrays of a kernel, found while it is lowered."""

    def __init__(self) -> None:
        self._arrays: dict[ir.Value, RegisterArray] = {}
        self._pointers: dict[ir.Value, ir.Value] = {}

    def add(self, slot: ir.Value, vgprs: int, where: SourceLocation, block: ir.Block) -> None:
        """`slot` is a register array, made in `block`."""
        self._arrays[slot] = RegisterArray(vgprs, where, blocks=[block])

    def keep(self, value: ir.Value, slot: ir.Value) -> None:
        """`value` is stored to a variable's `slot`; it may be the pointer to an array."""
        source = self._source(value)
        if source is not None:
            self._pointers[slot] = source

    def use(self, pointer: ir.Value, block: ir.Block, stored: ir.Value | None = None) -> None:
        """The array at `pointer` is read in `block`, or `stored` is put into it."""
        source = self._source(pointer)
        if source is None:
            return
        array = self._arrays[source]
        array.blocks.append(block)
        array.accumulates |= isinstance(stored, ir.CallInstr) and stored.callee.name.startswith(
            _PREFIXES
        )

    def _source(self, pointer: ir.Value) -> ir.Value | None:
        if isinstance(pointer, ir.LoadInstr):
            return self._pointers.get(pointer.operands[0])
        return pointer if pointer in self._arrays else None

    def accumulators(self) -> list[RegisterArray]:
        """The arrays that matrix instructions write."""
        return [array for array in self._arrays.values() if array.accumulates]

    def at_once(self) -> int:
        """The most VGPRs that accumulators occupy at one point."""
        arrays = self.accumulators()
        if len(arrays) <= 1:
            return sum(array.vgprs for array in arrays)
        alive: dict[ir.Block, int] = {}
        for array in arrays:
            for block in _between(array.blocks):
                alive[block] = alive.get(block, 0) + array.vgprs
        return max(alive.values())


def _between(blocks: list[ir.Block]) -> set[ir.Block]:
    """Blocks on paths that begin in the first of `blocks` and end in one of them."""
    forward = {block: _successors(block) for block in blocks[0].function.blocks}
    backward: dict[ir.Block, list[ir.Block]] = {block: [] for block in forward}
    for block, targets in forward.items():
        for target in targets:
            backward[target].append(block)
    return _reached(blocks[:1], forward) & _reached(blocks, backward)


def _successors(block: ir.Block) -> list[ir.Block]:
    operands = block.terminator.operands if block.terminator else ()
    return [operand for operand in operands if isinstance(operand, ir.Block)]


def _reached(starts: list[ir.Block], edges: dict[ir.Block, list[ir.Block]]) -> set[ir.Block]:
    found = set(starts)
    pending = list(found)
    while pending:
        new = [block for block in edges[pending.pop()] if block not in found]
        found.update(new)
        pending += new
    return found
