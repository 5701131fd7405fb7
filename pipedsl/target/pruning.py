"""Branches that the arguments' types decide: the other side is not typed at all."""

from __future__ import annotations

import builtins
import operator
from typing import Any

from numba.core import ir, types
from numba.core.analysis import compute_cfg_from_blocks
from numba.core.ir_utils import GuardException, get_definition

from pipedsl.target.types import Constant

_COMPARISONS = frozenset(
    {operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge}
)


class _Unknown(Exception):
    """The value depends on the run."""


class _Runtime:
    """Some value that is not None, known only at run time."""


_RUNTIME = _Runtime()


def prune(func_ir: ir.FunctionIR, args: list[types.Type]) -> None:
    """Turn branches on compile-time conditions into jumps, and drop the dead blocks.

    `func_ir` is in SSA form.
    """
    for block in func_ir.blocks.values():
        branch = block.body[-1]
        if not isinstance(branch, ir.Branch):
            continue
        try:
            condition = _value(func_ir, branch.cond, args)
        except (_Unknown, GuardException, KeyError):
            continue
        if not isinstance(condition, _Runtime):
            target = branch.truebr if condition else branch.falsebr
            block.body[-1] = ir.Jump(target, branch.loc)
    for label in compute_cfg_from_blocks(func_ir.blocks).dead_nodes():
        del func_ir.blocks[label]
    for label, block in func_ir.blocks.items():
        for inst in block.find_insts(ir.Assign):
            if isinstance(inst.value, ir.Expr) and inst.value.op == "phi":
                _drop_dead_edges(inst.value, label, func_ir.blocks)


def _drop_dead_edges(phi: ir.Expr, label: int, blocks: dict[int, ir.Block]) -> None:
    live = [
        (value, origin)
        for value, origin in zip(phi.incoming_values, phi.incoming_blocks, strict=True)
        if origin in blocks and label in blocks[origin].terminator.get_targets()
    ]
    phi.incoming_values[:] = [value for value, _ in live]
    phi.incoming_blocks[:] = [origin for _, origin in live]


def _value(func_ir: ir.FunctionIR, var: ir.Var, args: list[types.Type]) -> Any:
    node = get_definition(func_ir, var)
    if isinstance(node, ir.Arg):
        ty = args[node.index]
        if ty == types.none:
            return None
        return ty.value if isinstance(ty, Constant) else _RUNTIME
    if isinstance(node, (ir.Const, ir.Global, ir.FreeVar)):
        return node.value
    if not isinstance(node, ir.Expr):
        raise _Unknown
    if node.op == "call" and len(node.args) == 1:
        callee = get_definition(func_ir, node.func)
        if isinstance(callee, ir.Global) and callee.value is builtins.bool:
            return _decided(_value(func_ir, node.args[0], args), bool)
    if node.op == "unary" and node.fn is operator.not_:
        return _decided(_value(func_ir, node.value, args), operator.not_)
    if node.op == "binop":
        left, right = (_value(func_ir, side, args) for side in (node.lhs, node.rhs))
        if node.fn in (operator.is_, operator.is_not) and (left is None or right is None):
            return node.fn(left, right)
        if node.fn in _COMPARISONS and left is not _RUNTIME and right is not _RUNTIME:
            return node.fn(left, right)
    raise _Unknown


def _decided(value: Any, function: Any) -> bool:
    if value is _RUNTIME or not isinstance(value, (bool, int, float, type(None))):
        raise _Unknown
    return function(value)
