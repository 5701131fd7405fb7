"""The user's source, captured when the decorator runs."""

from __future__ import annotations

import ast
import inspect
import linecache
import textwrap
from collections.abc import Callable
from typing import Any

from pipedsl.core.errors import KernelSyntaxError, SourceLocation
from pipedsl.frontend.fingerprint import fingerprint
from pipedsl.frontend.syntax import SyntaxCheck
from pipedsl.target.scopes import remember


class KernelSource:
    """Source text of one Python function, and what it refers to.

    Attributes
    ----------
    function : callable
    name : str
    filename : str
    first_line : int
        Line of the function's first decorator or ``def``, counted from 1.
    text : str
        The function's lines.
    file_text : str
        The whole file, or notebook cell, as it was at capture.
    parameters : tuple of str
    """

    def __init__(self, function: Callable[..., Any], lines: list[str], file_text: str) -> None:
        self.function = function
        self.name = function.__name__
        self.filename = function.__code__.co_filename
        self.first_line = function.__code__.co_firstlineno
        self.text = "".join(lines)
        self.file_text = file_text
        self.signature = inspect.signature(function)
        self.parameters = tuple(self.signature.parameters)

    @classmethod
    def capture(cls, function: Callable[..., Any], *, is_kernel: bool = True) -> KernelSource:
        """Read the source of `function` now and check its syntax.

        Raises
        ------
        KernelSyntaxError
            If there is no source, or it holds something that kernels do not have.
        """
        if not inspect.isfunction(function):
            raise KernelSyntaxError(
                f"{function!r} is not a Python function.", fix="decorate a function made with def."
            )
        try:
            lines, _ = inspect.getsourcelines(function)
        except (OSError, TypeError):
            code = function.__code__
            raise KernelSyntaxError(
                f"the source of {function.__name__}() cannot be read.",
                fix="define it in a file or a notebook cell.",
                where=SourceLocation(code.co_filename, code.co_firstlineno),
            ) from None
        file_lines = linecache.getlines(function.__code__.co_filename)
        self = cls(function, lines, "".join(file_lines))
        self._check(file_lines, is_kernel)
        remember(function, self.file_text)
        return self

    def _check(self, file_lines: list[str], is_kernel: bool) -> None:
        indent = len(self.text) - len(self.text.lstrip())
        where = SourceLocation(self.filename, self.first_line)
        try:
            tree = ast.parse(textwrap.dedent(self.text)).body[0]
        except SyntaxError:
            tree = ast.Pass()
        if not isinstance(tree, (ast.FunctionDef, ast.AsyncFunctionDef)):
            raise KernelSyntaxError(
                f"{self.name} is not defined by a def statement.",
                fix="write it as def, without lambda.",
                where=where,
            )
        SyntaxCheck(tree, self.filename, file_lines, self.first_line, indent).run(
            is_kernel=is_kernel
        )

    @property
    def where(self) -> SourceLocation:
        """The line that defines the function."""
        line = self.function.__code__.co_firstlineno
        for offset, text in enumerate(self.text.splitlines()):
            if text.lstrip().startswith("def "):
                return SourceLocation(self.filename, line + offset, text=text)
        return SourceLocation(self.filename, line)

    def fingerprint(self) -> str:
        """Hash of this text, of every function it reaches and of the values they close over.

        Values are read when this is called: they are constants of each compilation.
        """
        return fingerprint(self.function, self.text)

    def __repr__(self) -> str:
        return f"<source of {self.name}() at {self.filename}:{self.first_line}>"
