"""Checks of a kernel's syntax tree, before Numba sees the function."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from pipedsl.core.errors import KernelSyntaxError, SourceLocation
from pipedsl.target.scopes import LEAVING_FIX, leaving_message, ways_out

_LOOP = "use a for loop."
_FLAT = "move it to a function decorated with @pipedsl.device_function."

_UNSUPPORTED: dict[type[ast.AST], tuple[str, str]] = {
    ast.Try: ("try/except is not supported in kernels.", "kernels have no exceptions; use if."),
    ast.Raise: ("raise is not supported in kernels.", "kernels have no exceptions; use if."),
    ast.Assert: ("assert is not supported in kernels.", "check arguments before the launch."),
    ast.Yield: ("yield is not supported in kernels.", _LOOP),
    ast.YieldFrom: ("yield is not supported in kernels.", _LOOP),
    ast.Await: ("await is not supported in kernels.", "use gpu.barrier() to wait."),
    ast.AsyncFor: ("async is not supported in kernels.", _LOOP),
    ast.AsyncWith: ("async is not supported in kernels.", "use gpu.barrier() to wait."),
    ast.ListComp: ("comprehensions are not supported in kernels.", _LOOP),
    ast.SetComp: ("comprehensions are not supported in kernels.", _LOOP),
    ast.DictComp: ("comprehensions are not supported in kernels.", _LOOP),
    ast.GeneratorExp: ("comprehensions are not supported in kernels.", _LOOP),
    ast.List: ("lists are not supported in kernels.", "use a tuple or gpu.shared.array."),
    ast.Dict: ("dicts are not supported in kernels.", "use a tuple or gpu.shared.array."),
    ast.Set: ("sets are not supported in kernels.", "use a tuple or gpu.shared.array."),
    ast.JoinedStr: ("f-strings are not supported in kernels.", "format on the host."),
    ast.Lambda: ("lambda is not supported in kernels.", _FLAT),
    ast.FunctionDef: ("nested functions are not supported in kernels.", _FLAT),
    ast.AsyncFunctionDef: ("async is not supported in kernels.", _FLAT),
    ast.ClassDef: ("classes cannot be defined in kernels.", "define it outside the kernel."),
    ast.Import: ("import is not supported in kernels.", "import outside the kernel."),
    ast.ImportFrom: ("import is not supported in kernels.", "import outside the kernel."),
    ast.Global: ("global is not supported in kernels.", "write results to an array."),
    ast.Nonlocal: ("nonlocal is not supported in kernels.", "write results to an array."),
    ast.Delete: ("del is not supported in kernels.", "leave the variable alone."),
    ast.Starred: ("star arguments are not supported in kernels.", "write each argument out."),
    ast.Slice: ("slices are not supported in kernels.", "use an index per axis."),
    ast.Match: ("match is not supported in kernels.", "use if/elif."),
}
if hasattr(ast, "TryStar"):
    _UNSUPPORTED[ast.TryStar] = _UNSUPPORTED[ast.Try]


class SyntaxCheck:
    """Checks one function.

    Parameters
    ----------
    tree : ast.FunctionDef
    filename : str
    lines : list of str
        The file's lines as captured.
    first_line : int
        Line of the file at which the parsed text starts, counted from 1.
    indent : int
        Columns that were removed from the front of each line.
    """

    def __init__(
        self,
        tree: ast.FunctionDef | ast.AsyncFunctionDef,
        filename: str,
        lines: list[str],
        first_line: int,
        indent: int,
    ) -> None:
        self._tree = tree
        self._filename = filename
        self._lines = lines
        self._shift = first_line - 1
        self._indent = indent

    def run(self, *, is_kernel: bool) -> None:
        """Raise for the first construct that kernels do not have.

        Raises
        ------
        KernelSyntaxError
        """
        if isinstance(self._tree, ast.AsyncFunctionDef):
            raise self._error(self._tree, "async is not supported in kernels.", "use def.")
        self._check_parameters(self._tree.args)
        for node in _walk(self._tree.body):
            found = _UNSUPPORTED.get(type(node))
            if found is not None:
                raise self._error(node, *found)
            if is_kernel and isinstance(node, ast.Return) and not _is_none(node.value):
                raise self._error(node, "a kernel returns nothing.", "write results to an array.")
            if isinstance(node, ast.Call):
                self._check_call(node)
            if isinstance(node, ast.With):
                self._check_block(node)

    def _check_parameters(self, args: ast.arguments) -> None:
        for star in (args.vararg, args.kwarg):
            if star is not None:
                raise self._error(
                    star, "star arguments are not supported in kernels.", "name each parameter."
                )

    def _check_call(self, node: ast.Call) -> None:
        if isinstance(node.func, ast.Name) and node.func.id == "print":
            raise self._error(
                node, "print() is not supported in kernels.", "write values to an array."
            )
        if any(keyword.arg is None for keyword in node.keywords):
            raise self._error(
                node, "star arguments are not supported in kernels.", "write each argument out."
            )

    def _check_block(self, block: ast.With) -> None:
        for leaving, word in ways_out(block):
            message = leaving_message(block, word, block.lineno + self._shift)
            raise self._error(leaving, message, LEAVING_FIX)

    def _error(self, node: ast.AST, message: str, fix: str) -> KernelSyntaxError:
        line = getattr(node, "lineno", 1) + self._shift
        text = self._lines[line - 1] if line <= len(self._lines) else None
        column = getattr(node, "col_offset", 0) + self._indent
        return KernelSyntaxError(
            message, fix=fix, where=SourceLocation(self._filename, line, column, text)
        )


def _walk(body: list[ast.stmt]) -> Iterator[ast.AST]:
    """All nodes below `body` in source order."""
    for statement in body:
        yield statement
        yield from _descend(statement)


def _descend(node: ast.AST) -> Iterator[ast.AST]:
    for child in ast.iter_child_nodes(node):
        yield child
        yield from _descend(child)


def _is_none(value: ast.expr | None) -> bool:
    return value is None or (isinstance(value, ast.Constant) and value.value is None)
