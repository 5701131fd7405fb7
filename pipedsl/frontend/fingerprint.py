"""What a compiled kernel depends on, as a hash."""

from __future__ import annotations

import ast
import builtins
import dataclasses
import sysconfig
import textwrap
import types
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from pipedsl.core.cache import content_key
from pipedsl.target.function import DeviceFunction


def fingerprint(function: Callable[..., Any], text: str | None = None) -> str:
    """Hash of `function` and of everything it refers to; `text` is its source, where captured."""
    return content_key(*_Walk().function(function, text))


class _Walk:
    """Collects one token per thing that is reached; what was seen is not walked again."""

    def __init__(self) -> None:
        self._seen: set[int] = set()

    def function(self, function: Callable[..., Any], text: str | None = None) -> Iterator[str]:
        if id(function) in self._seen:
            return
        self._seen.add(id(function))
        code = function.__code__
        yield f"function {code.co_filename}:{code.co_firstlineno} {function.__qualname__}"
        yield text if text is not None else _code_token(code)
        for default in (*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values()):
            yield from self.value(default)
        names = _names_in(function, text) if text is not None else code.co_names
        for name in sorted({*names, *code.co_freevars}):
            found, value = _resolve(function, name)
            if found:
                yield f"name {name}"
                yield from self.value(value)

    def value(self, value: Any) -> Iterator[str]:
        if isinstance(value, DeviceFunction):
            yield from self.function(value.function, getattr(value, "text", None))
        elif isinstance(value, (tuple, list)):
            yield f"{type(value).__name__} of {len(value)}"
            for item in value:
                yield from self.value(item)
        elif value is None or isinstance(value, (bool, int, float, complex, str, bytes)):
            yield f"{type(value).__name__} {value!r}"
        elif isinstance(value, np.generic):
            yield f"{value.dtype} {value.tobytes().hex()}"
        elif isinstance(value, np.dtype):
            yield f"dtype {value}"
        elif isinstance(value, type):
            yield from self.cls(value)
        elif dataclasses.is_dataclass(value):
            yield from self.cls(type(value))
            for field in dataclasses.fields(value):
                yield f"field {field.name}"
                yield from self.value(getattr(value, field.name))
        elif isinstance(value, types.ModuleType):
            yield f"module {value.__name__}"
        elif (function := _users_function(value)) is not None:
            yield from self.function(function)
        else:
            name = getattr(value, "__qualname__", None) or getattr(value, "__name__", "")
            yield f"object {type(value).__module__}.{type(value).__qualname__} {name}"

    def cls(self, cls: type) -> Iterator[str]:
        yield f"class {cls.__module__}.{cls.__qualname__}"
        if id(cls) in self._seen or cls.__module__ in ("builtins", "numpy", "typing"):
            return
        self._seen.add(id(cls))
        for base in cls.__mro__[1:]:
            yield from self.cls(base)
        for name, member in sorted(vars(cls).items()):
            if isinstance(member, staticmethod):
                member = member.__func__
            if isinstance(member, property) and member.fget is not None:
                member = member.fget
            if isinstance(member, types.FunctionType):
                yield from self.function(member)
            elif not name.startswith("__"):
                yield f"member {name}"
                yield from self.value(member)


def _code_token(code: types.CodeType) -> str:
    # The repr of a nested code object has its address, which is another in every process.
    nested = [_code_token(c) for c in code.co_consts if isinstance(c, types.CodeType)]
    plain = [c for c in code.co_consts if not isinstance(c, types.CodeType)]
    return repr((code.co_code, plain, nested, code.co_names, code.co_varnames, code.co_linetable))


_LIBRARIES = tuple({sysconfig.get_path(n) for n in ("stdlib", "platstdlib", "purelib", "platlib")})
_PACKAGE = str(Path(__file__).parent.parent)


def _users_function(value: Any) -> types.FunctionType | None:
    """The function that `value` is, or wraps as kernels and cached functions do, if it is the user's.

    Libraries are known by their names, and pipedsl by the fingerprint of its source.
    """
    function = getattr(value, "__wrapped__", value)
    if not isinstance(function, types.FunctionType):
        return None
    return None if function.__code__.co_filename.startswith((*_LIBRARIES, _PACKAGE)) else function


def _names_in(function: Callable[..., Any], text: str) -> Iterator[str]:
    """Names, and dotted names, that the source reads and that are not local."""
    local = set(function.__code__.co_varnames)
    for node in ast.walk(ast.parse(textwrap.dedent(text))):
        parts: list[str] = []
        while isinstance(node, ast.Attribute):
            parts.append(node.attr)
            node = node.value
        if isinstance(node, ast.Name) and node.id not in local:
            yield ".".join((node.id, *reversed(parts)))


def _resolve(function: Callable[..., Any], dotted: str) -> tuple[bool, Any]:
    """The object that a dotted name of `function` stands for, as far as modules and classes go."""
    first, *rest = dotted.split(".")
    cells = dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))
    if first in cells:
        try:
            value = cells[first].cell_contents
        except ValueError:
            return False, None
    elif first in function.__globals__:
        value = function.__globals__[first]
    elif hasattr(builtins, first):
        value = getattr(builtins, first)
    else:
        return False, None
    for name in rest:
        if not isinstance(value, (types.ModuleType, type)) or not hasattr(value, name):
            break
        value = getattr(value, name)
    return True, value
