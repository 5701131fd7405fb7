"""Addresses of code and constant data, as instructions compute them."""

from __future__ import annotations

import re

from pipedsl.isa.expressions import Evaluator, ExpressionError
from pipedsl.sim import layout
from pipedsl.sim.reader import Program

CODE_STRIDE = 8  # every instruction takes this many bytes of the simulated code space
_CODE_BASE = layout.CODE_SLOT << 32
_DATA_BASE = layout.DATA_SLOT << 32
_RELATIVE = re.compile(r"(?P<name>[\w.$]+)@(?:got)?(?:rel|abs)32(?:@(?P<half>lo|hi))?(?:[+-]\d+)?$")


def code_address(index: int) -> int:
    """Device address of instruction `index`."""
    return _CODE_BASE + index * CODE_STRIDE


def symbol_value(program: Program, expression: str, index: int) -> int:
    """Value of a symbolic operand of instruction `index`.

    ``sym@rel32@lo+4`` and its high half are relative to the ``s_getpc_b64`` before them, whatever
    the encoded distance, since the addends that compilers write only make up for that distance.

    Raises
    ------
    ExpressionError
        If a name is unknown.
    """
    if relative := _RELATIVE.match(expression):
        value = _address(program, relative["name"])
        if "@rel32" in expression:
            value -= code_address(_getpc_before(program, index) + 1)
        return (value >> 32 if relative["half"] == "hi" else value) & 0xFFFFFFFF
    names = set(re.findall(r"[A-Za-z_.$][\w.$]*", expression))
    addresses = {name: str(_address(program, name)) for name in names}
    return Evaluator(addresses).evaluate(expression)


def _address(program: Program, name: str) -> int:
    if name in program.labels:
        return code_address(program.labels[name])
    if name in program.symbols:
        return _DATA_BASE + program.symbols[name]
    raise ExpressionError(f"there is no symbol {name}")


def _getpc_before(program: Program, index: int) -> int:
    for earlier in range(index, -1, -1):
        if program.instructions[earlier].mnemonic == "s_getpc_b64":
            return earlier
    raise ExpressionError("a pc-relative address needs an s_getpc_b64 before it")
