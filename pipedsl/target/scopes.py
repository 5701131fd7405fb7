"""``with`` blocks of a kernel, rewritten before Numba sees the function.

``with X as name: BODY`` becomes ``it = X; it.__enter__(); name = it; BODY; it.__exit__()``: kernels
have no exceptions, so a block is left at its end or not at all.
"""

from __future__ import annotations

import ast
import dis
import linecache
import types
import weakref
from collections.abc import Iterator
from typing import Any

from pipedsl.core.errors import KernelSyntaxError, SourceLocation

MANAGER = "with@"
"""Prefix of the variables that hold what a block entered."""

_OPCODES = {dis.opmap.get(name, -1) for name in ("BEFORE_WITH", "SETUP_WITH", "LOAD_SPECIAL")}
_captured: weakref.WeakKeyDictionary[Any, str] = weakref.WeakKeyDictionary()
_expanded: weakref.WeakKeyDictionary[Any, Any] = weakref.WeakKeyDictionary()


def remember(function: Any, text: str) -> None:
    """Use `text`, its file as it was at decoration, when `function` is expanded."""
    _captured[function] = text


def expand(function: Any) -> Any:
    """`function` with its ``with`` blocks written out; itself where it has none."""
    if _OPCODES.isdisjoint(function.__code__.co_code[::2]):
        return function
    if function not in _expanded:
        _expanded[function] = _rewritten(function)
    return _expanded[function]


def ways_out(block: ast.With) -> Iterator[tuple[ast.stmt, str]]:
    """Statements that leave `block` before its end, each with the word for it."""
    yield from _ways_out(block.body, in_loop=False)


def _ways_out(body: list[ast.stmt], *, in_loop: bool) -> Iterator[tuple[ast.stmt, str]]:
    for statement in body:
        if isinstance(statement, ast.Return):
            yield statement, "return"
        elif isinstance(statement, ast.Break) and not in_loop:
            yield statement, "break"
        elif isinstance(statement, ast.Continue) and not in_loop:
            yield statement, "continue"
        loop = in_loop or isinstance(statement, (ast.For, ast.While))
        yield from _ways_out(getattr(statement, "body", []), in_loop=loop)
        yield from _ways_out(getattr(statement, "orelse", []), in_loop=in_loop)


LEAVING_FIX = "let the block end, or acquire the stage without with and release it."


def leaving_message(block: ast.With, word: str, line: int) -> str:
    """What is wrong with a statement that leaves `block`, which begins at `line` of the file."""
    target = block.items[-1].optional_vars
    name = repr(target.id) if isinstance(target, ast.Name) else "the stage"
    return f"{word} leaves the with block of {name} (line {line}) before its end."


class _Expansion(ast.NodeTransformer):
    def __init__(self, filename: str) -> None:
        self._filename = filename
        self._count = 0

    def visit_With(self, node: ast.With) -> list[ast.stmt]:
        for leaving, word in ways_out(node):
            raise KernelSyntaxError(
                leaving_message(node, word, node.lineno),
                fix=LEAVING_FIX,
                where=SourceLocation(self._filename, leaving.lineno),
            )
        body: list[ast.stmt] = []
        for statement in node.body:
            replaced = self.visit(statement)
            body += replaced if isinstance(replaced, list) else [replaced]
        for item in reversed(node.items):
            body = self._entered(item, node, body)
        return body

    def _entered(self, item: ast.withitem, node: ast.With, body: list[ast.stmt]) -> list[ast.stmt]:
        target = item.optional_vars
        if target is not None and not isinstance(target, ast.Name):
            raise KernelSyntaxError(
                "with takes one name after as.", where=SourceLocation(self._filename, node.lineno)
            )
        self._count += 1
        name = f"{MANAGER}{self._count}"  # the body may give `target` another value
        entry: list[ast.stmt] = [
            ast.Assign([ast.Name(name, ast.Store())], item.context_expr),
            _call(name, "__enter__"),
        ]
        if target is not None:
            entry.append(ast.Assign([target], ast.Name(name, ast.Load())))
        leave = _call(name, "__exit__")
        for statement in (*entry, leave):
            ast.copy_location(statement, node)
            statement.end_lineno = node.lineno  # CPython places a method call on its last line
            ast.fix_missing_locations(statement)
        return [*entry, *body, leave]


def _call(name: str, method: str) -> ast.Expr:
    return ast.Expr(ast.Call(ast.Attribute(ast.Name(name, ast.Load()), method, ast.Load()), [], []))


def _rewritten(function: Any) -> Any:
    """`function` from its file once more, where the file is the context that names have in it."""
    code = function.__code__
    text = _captured.get(function)
    if text is None:
        linecache.checkcache(code.co_filename)
        text = "".join(linecache.getlines(code.co_filename))
    try:
        tree = ast.parse(text)
        found = _code_in(compile(tree, code.co_filename, "exec", dont_inherit=True), code)
    except SyntaxError:
        found = None
    if found is None or any(getattr(found, part) != getattr(code, part) for part in _PARTS):
        raise KernelSyntaxError(
            f"{function.__name__}() is not what its file says any more.",
            fix="import its module anew.",
            where=SourceLocation(code.co_filename, code.co_firstlineno),
        )
    _Expansion(code.co_filename).visit(_definition(tree, code))
    inner = _code_in(compile(tree, code.co_filename, "exec", dont_inherit=True), code)
    assert inner is not None
    cells = dict(zip(code.co_freevars, function.__closure__ or (), strict=True))
    made = types.FunctionType(
        inner,
        function.__globals__,
        function.__name__,
        function.__defaults__,
        tuple(cells[name] for name in inner.co_freevars),
    )
    made.__kwdefaults__ = function.__kwdefaults__
    made.__module__ = function.__module__
    made.__qualname__ = function.__qualname__
    return made


_PARTS = ("co_code", "co_names", "co_varnames", "co_freevars", "co_consts")


def _code_in(outer: types.CodeType, code: types.CodeType) -> types.CodeType | None:
    """The function within `outer` that has the name and the place of `code`."""
    for inner in outer.co_consts:
        if isinstance(inner, types.CodeType):
            if (inner.co_name, inner.co_firstlineno) == (code.co_name, code.co_firstlineno):
                return inner
            found = _code_in(inner, code)
            if found is not None:
                return found
    return None


def _definition(tree: ast.Module, code: types.CodeType) -> ast.FunctionDef:
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and node.name == code.co_name:
            first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
            if first == code.co_firstlineno:
                return node
    raise AssertionError(f"no definition of {code.co_name}")
