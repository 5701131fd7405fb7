"""Numba's errors as the user's: one sentence, at the user's line."""

from __future__ import annotations

import re
from typing import Any

from numba.core import errors

from pipedsl.core.errors import PipedslError, SourceLocation
from pipedsl.target.operations import TypeMismatch

_REPHRASED = (
    (
        re.compile(r"Cannot unify (.+) and (.+) for '([^'.]+)(?:\.[\d.]+)?', defined at"),
        r"{3!r} is {1} on one way through the code and {2} on another.",
        "use one type for it.",
    ),
    (
        re.compile(r".*expected (\d+)', 'got (\d+)'"),
        "a tuple of {2} is unpacked into {1} names.",
        None,
    ),
    (
        re.compile(r".*expected (\d+), got (\d+)"),
        "a tuple of {2} is unpacked into {1} names.",
        None,
    ),
    (
        re.compile(r"Can't unify return type from the following types: (.+)"),
        "the function returns values of different types: {1}.",
        "return one type.",
    ),
)
_TUPLE = re.compile(r"(?:Uni)?Tuple\([^()]*(?:\([^()]*\)[^()]*)*\)")


def innermost(error: errors.NumbaError, function: Any) -> TypeMismatch:
    """`error` in the user's terms, with the line of the innermost user function."""
    found = error if isinstance(error, TypeMismatch) else _rephrase(error)
    if found.where is None and not _is_library(function):
        found.where = _where(error, function)
    return found


def user_error(error: errors.NumbaError, function: Any) -> PipedslError:
    """`error` as one of pipedsl's own."""
    found = innermost(error, function)
    return found.kind(_TUPLE.sub("a tuple", found.message), fix=found.fix, where=found.where)


def _rephrase(error: errors.NumbaError) -> TypeMismatch:
    text = str(getattr(error, "msg", error)).strip()
    first = text.splitlines()[0] if text else "the types do not fit"
    for pattern, message, fix in _REPHRASED:
        match = pattern.match(first)
        if match:
            return TypeMismatch(message.format(None, *match.groups()), fix)
    return TypeMismatch(first if first.endswith(".") else f"{first}.")


def _is_library(function: Any) -> bool:
    """Whether `function` is part of pipedsl: its errors are shown at the line that calls it."""
    return (function.__module__ or "").startswith("pipedsl.")


def _where(error: errors.NumbaError, function: Any) -> SourceLocation:
    code = function.__code__
    line = error.loc.line if error.loc is not None and error.loc.line else code.co_firstlineno
    return SourceLocation(code.co_filename, line)
