"""``gpu.static_range``: loops that are unrolled before types are inferred.

Each iteration is a copy of the body in which the loop variable is a literal, so that indices,
shapes and conditions computed from it are known at compile time.
"""

from __future__ import annotations

import copy
import operator
from collections import Counter
from collections.abc import Mapping
from typing import Any

from numba.core import ir, types
from numba.core.controlflow import CFGraph

from pipedsl.target import gpu
from pipedsl.target.composites import Object
from pipedsl.target.operations import TypeMismatch
from pipedsl.target.types import Constant

LIMIT = 4096
"""Most iterations of one unrolled loop."""

_ARITHMETIC = frozenset(
    (
        operator.add, operator.sub, operator.mul, operator.floordiv, operator.mod,
        operator.lshift, operator.rshift, operator.and_, operator.or_, operator.xor,
    )
)  # fmt: skip

Blocks = dict[int, ir.Block]
_OUTSIDE = -1


class _Unknown(Exception):
    """The value depends on the run."""


def unroll(func_ir: ir.FunctionIR, args: Mapping[str, types.Type]) -> bool:
    """Unroll every loop over ``gpu.static_range``; whether there was one.

    Parameters
    ----------
    func_ir : numba.core.ir.FunctionIR
        Not yet in SSA form; no block is empty but for a jump.
    args : mapping of str to numba.types.Type
        Types of the parameters; constants among them may be bounds.

    Raises
    ------
    TypeMismatch
        If a bound is not a compile-time constant.
    """
    if not any(_is_static_range(inst) for inst in _assignments(func_ir.blocks)):
        return False
    names = {name: ty for name, ty in args.items() if isinstance(ty, (Constant, Object))}
    worker = _Unroller(func_ir.blocks)
    known = {name: _of(ty) for name, ty in names.items()}
    func_ir.blocks = worker.region(func_ir.blocks, min(func_ir.blocks), known)
    return True


def _of(ty: types.Type) -> Any:
    return ty.value if isinstance(ty, Constant) else ty


def _assignments(blocks: Blocks) -> list[ir.Assign]:
    return [inst for block in blocks.values() for inst in block.body if isinstance(inst, ir.Assign)]


def _is_static_range(inst: ir.Assign) -> bool:
    value = inst.value
    if isinstance(value, (ir.Global, ir.FreeVar)):
        return value.value is gpu.static_range
    return isinstance(value, ir.Expr) and value.op == "getattr" and value.attr == "static_range"


class _Unroller:
    def __init__(self, blocks: Blocks) -> None:
        self._next_label = max(blocks)
        self._uses = _occurrences(blocks)
        self._definitions: dict[str, list[ir.Assign]] = {}
        for inst in _assignments(blocks):
            self._definitions.setdefault(inst.target.name, []).append(inst)

    def region(self, blocks: Blocks, entry: int, known: Mapping[str, Any]) -> Blocks:
        """`blocks` without static loops; `known` are values of variables at their `entry`."""
        blocks = dict(blocks)
        while (loop := self._find(blocks, entry, known)) is not None:
            self._expand(blocks, loop, known)
        return blocks

    def _expand(self, blocks: Blocks, loop: _StaticLoop, known: Mapping[str, Any]) -> None:
        header = blocks.pop(loop.header)
        body = {label: blocks.pop(label) for label in loop.body}  # in flow order, entry first
        private = {loop.item, *self._private(body, loop.first)}
        starts = [self._label() for _ in loop.values]
        for position, value in enumerate(loop.values):
            following = (*starts, loop.exit)[position + 1]
            labels = {label: self._label() for label in body}
            labels[loop.header] = following
            names = {name: self._renamed(header.scope, name, loop.loc) for name in private}
            region = {
                labels[label]: _copy_block(block, labels, names) for label, block in body.items()
            }
            first, item = labels[loop.first], names[loop.item]
            literal = ir.Const(value, loop.loc)
            entry = ir.Block(header.scope, header.loc)
            entry.body = [
                ir.Assign(literal, ir.Var(header.scope, item, loop.loc), loop.loc),
                ir.Jump(first, loop.loc),
            ]
            blocks[starts[position]] = entry
            inner = {**known, _original(item): value}
            for place, inst in enumerate(region[first].body):
                if _copies(inst, item):
                    region[first].body[place] = ir.Assign(literal, inst.target, inst.loc)
                    inner[_original(inst.target.name)] = value
            blocks.update(self.region(region, first, inner))
        entry_label = (*starts, loop.exit)[0]
        for block in blocks.values():
            _retarget(block, {loop.header: entry_label})
            block.body = [_without_iterator(inst, loop) for inst in block.body]

    def _find(self, blocks: Blocks, entry: int, known: Mapping[str, Any]) -> _StaticLoop | None:
        """The first outermost static loop of `blocks`."""
        for label in _graph(blocks, entry).topo_order():
            for inst in blocks[label].body if label in blocks else ():
                call = self._static_range_of(inst)
                if call is None:
                    continue
                values = self._values(call, known)
                iterator = inst.target.name
                copies = {i.target.name for i in blocks[label].body if _copies(i, iterator)}
                (header,) = blocks[label].terminator.get_targets()
                return _StaticLoop(
                    blocks, entry, header, values, {inst.value.value.name, iterator, *copies}
                )
        return None

    def _static_range_of(self, inst: ir.Stmt) -> ir.Assign | None:
        """The call of ``gpu.static_range`` whose iterator `inst` makes."""
        if not _expr(inst, "getiter"):
            return None
        call = self._definition(inst.value.value.name)
        if call is None or not _expr(call, "call"):
            return None
        callee = self._definition(call.value.func.name)
        return call if callee is not None and _is_static_range(callee) else None

    def _definition(self, name: str) -> ir.Assign | None:
        """What defines `name`, if there is one definition."""
        found = self._definitions.get(_original(name), ())
        return found[0] if len(found) == 1 else None

    def _values(self, call: ir.Assign, known: Mapping[str, Any]) -> range:
        try:
            if call.value.kws:
                raise _Unknown
            bounds = [self._evaluate(arg.name, known) for arg in call.value.args]
            values = range(*(operator.index(bound) for bound in bounds))
        except (_Unknown, TypeError, ValueError, ArithmeticError):
            raise _located(
                call,
                "gpu.static_range() takes 1 to 3 compile-time ints, with a step that is not 0.",
                "use literals, values that the kernel closes over, or range() for a loop at run "
                "time.",
            ) from None
        if len(values) > LIMIT:
            raise _located(
                call,
                f"gpu.static_range() would unroll {len(values)} iterations; the limit is {LIMIT}.",
                "use range().",
            )
        return values

    def _evaluate(self, name: str, known: Mapping[str, Any]) -> Any:
        if _original(name) in known:
            return known[_original(name)]
        found = self._definition(name)
        node = found.value if found is not None else None
        if isinstance(node, (ir.Const, ir.Global, ir.FreeVar)):
            return node.value
        if isinstance(node, ir.Var):
            return self._evaluate(node.name, known)
        if not isinstance(node, ir.Expr):
            raise _Unknown
        if node.op == "getattr":
            return _attribute(self._evaluate(node.value.name, known), node.attr)
        if node.op == "static_getitem":
            return self._evaluate(self._item(node).name, known)
        if node.op == "unary" and node.fn is operator.neg:
            return -self._evaluate(node.value.name, known)
        if node.op in ("binop", "inplace_binop"):
            function = node.fn if node.op == "binop" else node.immutable_fn
            if function in _ARITHMETIC:
                left, right = (self._evaluate(v.name, known) for v in (node.lhs, node.rhs))
                return function(left, right)
        if node.op == "call" and not node.kws:
            callee = self._evaluate(node.func.name, known)
            if callee in (min, max, len, int):
                return callee(*(self._evaluate(arg.name, known) for arg in node.args))
        raise _Unknown

    def _item(self, node: ir.Expr) -> ir.Var:
        """The item of a tuple that the function itself builds, as in ``a, b = x, y``."""
        made = self._definition(node.value.name)
        if made is not None and _expr(made, "exhaust_iter"):
            made = self._definition(made.value.value.name)
        if made is None or not _expr(made, "build_tuple"):
            raise _Unknown
        return made.value.items[node.index]

    def _private(self, body: Blocks, first: int) -> set[str]:
        """Variables that no iteration shares with another, or with the rest: each copy of the
        body gets its own.

        Shared names would be variables with one definition per copy, which cost SSA form dearly.
        """
        assigned = {inst.target.name for inst in _assignments(body)}
        inside = _occurrences(body)
        carried = _live_at(body, first)
        return {
            name
            for name in assigned - carried
            if name.startswith("$") or inside[name] == self._uses[_original(name)]
        }

    def _renamed(self, scope: ir.Scope, name: str, loc: ir.Loc) -> str:
        fresh = f"{_original(name)}~{self._label()}"
        scope.get_or_define(fresh, loc)
        return fresh

    def _label(self) -> int:
        self._next_label += 1
        return self._next_label


class _StaticLoop:
    """One loop over ``gpu.static_range`` with its values.

    Attributes
    ----------
    header : int
        Block that asks for the next value.
    body : list of int
        Blocks of the iteration in flow order, without the header.
    first, exit : int
    item : str
        Variable that receives the next value.
    values : range
    dropped : set of str
        Variables that held the range and its iterator.
    """

    def __init__(
        self, blocks: Blocks, entry: int, header: int, values: range, dropped: set[str]
    ) -> None:
        block = blocks[header]
        branch = block.terminator
        self.header = header
        self.first, self.exit = branch.truebr, branch.falsebr
        self.loc = block.body[0].loc
        self.values = values
        self.dropped = dropped
        (pair,) = (i.target.name for i in block.body if _expr(i, "iternext"))
        (raw,) = (
            i.target.name
            for i in block.body
            if _expr(i, "pair_first") and i.value.value.name == pair
        )
        copies = [i.target.name for i in block.body if _copies(i, raw)]
        self.item = copies[0] if copies else raw
        self.body = self._body(blocks, entry)

    def _body(self, blocks: Blocks, entry: int) -> list[int]:
        graph = _graph(blocks, entry)
        loop = graph.loops().get(self.header)
        if loop is None:  # every path leaves in the first iteration
            self.values = self.values[:1]
            return [self.first]
        inside = set(loop.body) - {self.header}
        return [label for label in graph.topo_order() if label in inside]


def _graph(blocks: Blocks, entry: int) -> CFGraph:
    """Control flow of `blocks`; everything outside is one node."""
    graph = CFGraph()
    for label in (*blocks, _OUTSIDE):
        graph.add_node(label)
    for label, block in blocks.items():
        for target in block.terminator.get_targets():
            graph.add_edge(label, target if target in blocks else _OUTSIDE)
        if block.is_terminated and not block.terminator.get_targets():
            graph.add_edge(label, _OUTSIDE)
    graph.set_entry_point(entry)
    graph.process()
    return graph


def _attribute(value: Any, name: str) -> Any:
    if isinstance(value, Object):
        if name in value.fields and isinstance(value.fields[name], Constant):
            return value.fields[name].value
        if name in value.fields:
            raise _Unknown
        value = value.cls
    if isinstance(value, types.Type) or not hasattr(value, name):
        raise _Unknown
    return getattr(value, name)


# Numba IR


def _expr(inst: ir.Stmt, op: str) -> bool:
    return isinstance(inst, ir.Assign) and isinstance(inst.value, ir.Expr) and inst.value.op == op


def _copies(inst: ir.Stmt, name: str) -> bool:
    """Whether `inst` is ``x = name``."""
    return (
        isinstance(inst, ir.Assign) and isinstance(inst.value, ir.Var) and inst.value.name == name
    )


def _located(inst: ir.Stmt, message: str, fix: str) -> TypeMismatch:
    error = TypeMismatch(message, fix)
    error.loc = inst.loc
    return error


def _without_iterator(inst: ir.Stmt, loop: _StaticLoop) -> ir.Stmt:
    """The range and its iterator have no value; what named them names None."""
    if isinstance(inst, ir.Assign) and inst.target.name in loop.dropped:
        return ir.Assign(ir.Const(None, inst.loc), inst.target, inst.loc)
    return inst


def _occurrences(blocks: Blocks) -> Counter[str]:
    """How often each variable stands in `blocks`."""
    return Counter(
        var.name for block in blocks.values() for inst in block.body for var in inst.list_vars()
    )


def _live_at(blocks: Blocks, entry: int) -> set[str]:
    """Variables that some path from `entry` within `blocks` reads before it assigns them."""
    reads: dict[int, set[str]] = {}
    assigns: dict[int, set[str]] = {}
    for label, block in blocks.items():
        read, assigned = reads.setdefault(label, set()), assigns.setdefault(label, set())
        for inst in block.body:
            names = [var.name for var in inst.list_vars()]
            if isinstance(inst, ir.Assign):
                names.remove(inst.target.name)
            read |= set(names) - assigned
            if isinstance(inst, ir.Assign):
                assigned.add(inst.target.name)
    live = {label: set(found) for label, found in reads.items()}
    changed = True
    while changed:
        changed = False
        for label, block in blocks.items():
            after = set().union(*(live.get(t, ()) for t in block.terminator.get_targets()))
            found = reads[label] | (after - assigns[label])
            if found != live[label]:
                live[label] = found
                changed = True
    return live[entry]


def _original(name: str) -> str:
    return name.partition("~")[0]


def _copy_block(block: ir.Block, labels: Mapping[int, int], names: Mapping[str, str]) -> ir.Block:
    clone = ir.Block(block.scope, block.loc)
    clone.body = [_copy_statement(inst, names) for inst in block.body]
    _retarget(clone, labels)
    return clone


def _copy_statement(inst: ir.Stmt, names: Mapping[str, str]) -> ir.Stmt:
    clone = copy.copy(inst)
    for field, value in vars(inst).items():
        if isinstance(value, ir.Var):
            setattr(clone, field, _copy_operand(value, names))
    if isinstance(inst, ir.Assign) and isinstance(inst.value, ir.Expr):
        expr = copy.copy(inst.value)
        expr._kws = {key: _copy_operand(item, names) for key, item in expr._kws.items()}
        clone.value = expr
    return clone


def _copy_operand(operand: Any, names: Mapping[str, str]) -> Any:
    if isinstance(operand, ir.Var):
        new = names.get(operand.name)
        return operand if new is None else ir.Var(operand.scope, new, operand.loc)
    if isinstance(operand, (list, tuple)):
        return type(operand)(_copy_operand(item, names) for item in operand)
    return operand


def _retarget(block: ir.Block, renamed: Mapping[int, int]) -> None:
    end = block.terminator
    if isinstance(end, ir.Jump) and end.target in renamed:
        block.body[-1] = ir.Jump(renamed[end.target], end.loc)
    elif isinstance(end, ir.Branch):
        true, false = (renamed.get(label, label) for label in (end.truebr, end.falsebr))
        block.body[-1] = ir.Branch(end.cond, true, false, end.loc)
