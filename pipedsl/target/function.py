"""Functions that kernels can call."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from numba.core import ir, postproc
from numba.core.bytecode import ByteCode, FunctionIdentity
from numba.core.interpreter import Interpreter
from numba.core.ir_utils import build_definitions, simplify_CFG
from numba.core.ssa import reconstruct_ssa
from numba.core.types import Type

from pipedsl.core.errors import KernelError
from pipedsl.core.html import Shown
from pipedsl.target.pruning import prune
from pipedsl.target.scopes import expand
from pipedsl.target.unrolling import unroll

SELF = "self@"
"""Prefix of the variables that stand for the fields of an object under construction."""


class DeviceFunction(Shown):
    """A Python function that kernels can call; each call is expanded in place.

    Parameters
    ----------
    function : callable
        A Python function, or a static or bound method's function.
    """

    def __init__(self, function: Any) -> None:
        self.function = function
        self.__name__ = function.__name__
        self.__doc__ = function.__doc__
        self.__wrapped__ = function
        self.signature = inspect.signature(function)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Raise: on the host there is only `function`."""
        raise KernelError(
            f"the device function {self.__name__}() exists in kernels only.",
            fix=f"call {self.__name__}.function() to run it as Python.",
        )

    def __repr__(self) -> str:
        return f"<device function {self.__name__}>"


def translate(function: Any, args: dict[str, Type]) -> ir.FunctionIR:
    """Numba IR of a Python function, in SSA form, without branches that `args` rule out."""
    func_ir = _interpret(_identity(expand(function)))
    unroll(func_ir, args)
    return _to_ssa(func_ir, args)


def translate_init(function: Any, args: dict[str, Type]) -> tuple[ir.FunctionIR, tuple[str, ...]]:
    """Numba IR of an ``__init__`` that returns the tuple of the fields, and the fields' names."""
    identity = _identity(function)
    func_ir = _interpret(identity)
    unroll(func_ir, args)
    fields = _fields_to_variables(func_ir, identity.arg_names[0])
    return _to_ssa(func_ir, args), fields


def _interpret(identity: FunctionIdentity) -> ir.FunctionIR:
    func_ir = Interpreter(identity).interpret(ByteCode(identity))
    func_ir.blocks = simplify_CFG(func_ir.blocks)
    return func_ir


def _identity(function: Any) -> FunctionIdentity:
    """As `FunctionIdentity.from_function`, without its search through all loaded modules."""
    self = FunctionIdentity()
    self.func = function
    self.func_qualname = function.__qualname__
    self.func_name = function.__name__
    self.code = function.__code__
    self.module = None
    self.modname = function.__module__
    self.is_generator = inspect.isgeneratorfunction(function)
    self.pysig = inspect.signature(function)
    self.filename = function.__code__.co_filename
    self.firstlineno = function.__code__.co_firstlineno
    self.arg_names = list(self.pysig.parameters)
    self.arg_count = len(self.arg_names)
    self.unique_id = next(FunctionIdentity._unique_ids)
    self.unique_name = f"{self.func_qualname}${self.unique_id}"
    return self


def _to_ssa(func_ir: ir.FunctionIR, args: dict[str, Type]) -> ir.FunctionIR:
    """SSA form; unrolled blocks stay apart, since Numba searches a block from its start."""
    func_ir._definitions = build_definitions(func_ir.blocks)
    postproc.PostProcessor(func_ir).run(emit_dels=False)
    with _recursion(3 * len(func_ir.blocks)):
        func_ir = reconstruct_ssa(func_ir)
    func_ir._definitions = build_definitions(func_ir.blocks)
    prune(func_ir, list(args.values()))
    return func_ir


@contextmanager
def _recursion(depth: int) -> Iterator[None]:
    """Allow `depth` calls more: Numba looks for definitions up a chain of blocks."""
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(limit + depth)
    try:
        yield
    finally:
        sys.setrecursionlimit(limit)


def _fields_to_variables(func_ir: ir.FunctionIR, receiver: str) -> tuple[str, ...]:
    aliases: set[str] = set()
    fields: dict[str, None] = {}
    for _, block in sorted(func_ir.blocks.items()):
        for inst in block.body:
            if isinstance(inst, ir.Assign):
                value = inst.value
                if (isinstance(value, ir.Arg) and value.name == receiver) or (
                    isinstance(value, ir.Var) and value.name in aliases
                ):
                    aliases.add(inst.target.name)
            elif isinstance(inst, ir.SetAttr) and inst.target.name in aliases:
                fields.setdefault(inst.attr)
    for block in func_ir.blocks.values():
        body: list[ir.Stmt] = []
        for inst in block.body:
            body.extend(_rewrite(inst, block.scope, aliases, fields))
        block.body = body
    return tuple(fields)


def _rewrite(
    inst: ir.Stmt, scope: ir.Scope, aliases: set[str], fields: dict[str, None]
) -> list[ir.Stmt]:
    def field(name: str) -> ir.Var:
        return scope.get_or_define(SELF + name, inst.loc)

    if isinstance(inst, ir.SetAttr) and inst.target.name in aliases:
        return [ir.Assign(inst.value, field(inst.attr), inst.loc)]
    if isinstance(inst, ir.Assign) and isinstance(inst.value, ir.Expr):
        expr = inst.value
        if expr.op == "getattr" and expr.value.name in aliases and expr.attr in fields:
            return [ir.Assign(field(expr.attr), inst.target, inst.loc)]
    if isinstance(inst, ir.Return):
        result = scope.redefine("$object", inst.loc)
        build = ir.Expr.build_tuple([field(name) for name in fields], inst.loc)
        return [ir.Assign(build, result, inst.loc), ir.Return(result, inst.loc)]
    return [inst]
