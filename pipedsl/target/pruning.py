"""Branches that the arguments' types decide: the other side is not typed at all."""

from __future__ import annotations

import operator
import types as pytypes
from dataclasses import is_dataclass
from typing import Any

import numpy as np
from numba.core import ir, types
from numba.core.analysis import compute_cfg_from_blocks
from numba.core.ir_utils import GuardException, get_definition

from pipedsl.target.composites import Array, Object
from pipedsl.target.types import Constant, dtype_name

_COMPARISONS = frozenset(
    {operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge}
)


class _Undecided(Exception):
    """The value depends on the run."""


def prune(func_ir: ir.FunctionIR, args: list[types.Type]) -> None:
    """Turn branches on compile-time conditions into jumps, and drop the dead blocks.

    `func_ir` is in SSA form.
    """
    for block in func_ir.blocks.values():
        branch = block.body[-1]
        if not isinstance(branch, ir.Branch):
            continue
        try:
            condition = _known(_value(func_ir, branch.cond, args))
        except (_Undecided, GuardException, KeyError):
            continue
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
    """The Python value of `var`, or its Numba type where only that is known."""
    node = get_definition(func_ir, var)
    if isinstance(node, ir.Arg):
        return _of_type(args[node.index])
    if isinstance(node, (ir.Const, ir.Global, ir.FreeVar)):
        return node.value
    if not isinstance(node, ir.Expr):
        raise _Undecided

    def value(operand: ir.Var) -> Any:
        return _value(func_ir, operand, args)

    if node.op == "call" and len(node.args) == 1 and not node.kws:
        callee = get_definition(func_ir, node.func)
        if isinstance(callee, ir.Global) and callee.value is bool:
            return bool(_known(value(node.args[0])))
        if isinstance(callee, ir.Global) and callee.value is len:
            return _length(value(node.args[0]))
    if node.op == "static_getitem":
        made = get_definition(func_ir, node.value)
        while isinstance(made, ir.Expr) and made.op == "exhaust_iter":
            made = get_definition(func_ir, made.value)
        if isinstance(made, ir.Expr) and made.op == "build_tuple":
            return value(made.items[node.index])
    if node.op == "getattr":
        return _attribute(value(node.value), node.attr)
    if node.op == "unary" and node.fn is operator.not_:
        return not _known(value(node.value))
    if node.op == "binop":
        left, right = value(node.lhs), value(node.rhs)
        if node.fn in (operator.is_, operator.is_not) and (left is None or right is None):
            return node.fn(left, right)
        if node.fn in _COMPARISONS:
            return node.fn(_known(left), _known(right))
    raise _Undecided


def _of_type(ty: types.Type) -> Any:
    if ty == types.none:
        return None
    return ty.value if isinstance(ty, Constant) else ty


def _known(value: Any) -> Any:
    if isinstance(value, types.Type):
        raise _Undecided
    return value


def _length(value: Any) -> int:
    if isinstance(value, (tuple, types.BaseTuple)):
        return len(value)
    raise _Undecided


def _attribute(value: Any, name: str) -> Any:
    if isinstance(value, Object) and name in value.fields:
        return _of_type(value.fields[name])
    if isinstance(value, Array) and name == "ndim":
        return value.ndim
    if isinstance(value, Array) and name == "dtype":
        return np.dtype(dtype_name(value.dtype))
    plain = isinstance(value, (pytypes.ModuleType, type)) or is_dataclass(value)
    if plain and hasattr(value, name):
        return getattr(value, name)
    raise _Undecided
