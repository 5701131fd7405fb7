"""Attributes: of Python objects known at compile time, of objects in kernels, of arrays."""

from __future__ import annotations

import inspect
import math
import types as pytypes
from typing import TYPE_CHECKING, Any

import numpy as np
from numba.core import types

from pipedsl.target.composites import Method, Object
from pipedsl.target.operations import ATTRIBUTES, Operation, TypeMismatch, known
from pipedsl.target.types import Constant, constant

if TYPE_CHECKING:
    from pipedsl.target.compilation import Compilation


def attribute(compilation: Compilation, source: types.Type, name: str) -> Operation:
    """The operation for reading the attribute `name`.

    Raises
    ------
    TypeMismatch
    """
    owner = type(source.value) if isinstance(source, Constant) else type(source)
    found: Operation | None = None
    if owner in ATTRIBUTES:
        found = ATTRIBUTES[owner](compilation, source, name)
    elif isinstance(source, Constant):
        found = _python_attribute(compilation, source.value, name)
    elif isinstance(source, Object):
        found = _object_attribute(compilation, source, name)
    if found is None and name == "__enter__":
        raise TypeMismatch(
            f"with cannot enter {source}.", "give it a stage: pipe.produce() or pipe.consume()."
        )
    if found is None:
        raise TypeMismatch(f"{source} has no attribute {name!r} in kernels.")
    return found


def has_init(callee: Any) -> bool:
    """Whether `callee` is a class whose ``__init__`` is Python code."""
    return isinstance(callee, type) and isinstance(
        inspect.getattr_static(callee, "__init__"), pytypes.FunctionType
    )


def _python_attribute(compilation: Compilation, value: Any, name: str) -> Operation | None:
    try:
        found = (
            inspect.getattr_static(value, name) if isinstance(value, type) else getattr(value, name)
        )
    except AttributeError:
        return None
    if isinstance(found, staticmethod):
        return known(Constant(compilation.method(found.__func__)))
    if isinstance(found, (classmethod, property)):
        return None
    try:
        return known(constant(getattr(value, name)))
    except ValueError as error:
        raise TypeMismatch(f"{_name(value)}.{name}: {error}.") from None


def _object_attribute(compilation: Compilation, source: Object, name: str) -> Operation | None:
    if name in source.fields:
        part = source.field_slice(name)
        return Operation(source.fields[name], [source], lambda low, values: values[0][part])
    found = inspect.getattr_static(source.cls, name, None)
    if isinstance(found, pytypes.FunctionType):
        method = Method(source, compilation.method(found))
        return Operation(method, [source], lambda low, values: values[0])
    return _python_attribute(compilation, source.cls, name)


def _name(value: Any) -> str:
    return getattr(value, "__name__", None) or repr(value)


def not_callable(callee: Any) -> TypeMismatch:
    """The error for a call of something that kernels cannot call."""
    name = _name(callee)
    module = getattr(callee, "__module__", None) or ""
    if isinstance(callee, (pytypes.FunctionType, pytypes.MethodType)) and not module.startswith(
        ("numpy", "math")
    ):
        return TypeMismatch(
            f"{name}() is an ordinary Python function.",
            "decorate it with @pipedsl.device_function.",
        )
    if isinstance(callee, np.ufunc):
        module = "numpy"
    where = f"{module}." if module and module != "builtins" else ""
    instead = f"use math.{name}()." if module == "numpy" and hasattr(math, name) else None
    return TypeMismatch(f"{where}{name}() is not supported in kernels.", instead)
