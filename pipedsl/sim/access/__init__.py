"""Memory instructions: which micro-kernel, with which addresses.

A ``style="memory"`` row states its address `space`, its `kind` and further traits; a handler of
this package turns them, and the operands, into a call of a micro-kernel.
"""

from __future__ import annotations

from pipedsl.core.errors import AssemblyError
from pipedsl.isa.instruction import Instruction
from pipedsl.sim.access import buffer, flat, lanes, lds, scalar
from pipedsl.sim.machine import Machine

__all__ = ["access"]

_HANDLERS = {
    **scalar.HANDLERS,
    **flat.HANDLERS,
    **buffer.HANDLERS,
    **lds.HANDLERS,
    **lanes.HANDLERS,
}
# Flags that add or change operands in ways that compilers of compute kernels do not use.
_REFUSED = ("tfe", "lwe", "gds", "addr64", "scale_offset")


def access(m: Machine, ins: Instruction) -> list:
    """Apply a ``style="memory"`` row."""
    for flag in _REFUSED:
        if flag in ins.modifiers:
            raise AssemblyError(
                f"line {ins.line}: the simulator does not have {flag} of {ins.mnemonic}."
            )
    traits = ins.opcode.traits
    _HANDLERS[traits["space"], traits["kind"]](m, ins)
    return []
