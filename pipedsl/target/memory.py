"""Arrays in LDS."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numba.core import types

from pipedsl.core.dtypes import DTYPES
from pipedsl.target import gpu
from pipedsl.target.composites import Array
from pipedsl.target.operations import (
    Operation,
    TypeMismatch,
    Value,
    attributes_of,
    implements,
    known,
)
from pipedsl.target.types import LDS, SCALARS, Constant, constant, dtype_name, memory_type
from pipedsl.target.vector_type import VectorType

if TYPE_CHECKING:
    from pipedsl.target.compilation import Compilation
    from pipedsl.target.lowering import Lowering


@attributes_of(type(gpu.shared))
def _shared_attribute(compilation: Compilation, source: types.Type, name: str) -> Operation | None:
    return known(_ARRAY) if name == "array" else None


_ARRAY = Constant(type(gpu.shared).array)


@implements(type(gpu.shared).array)
def _shared_array(compilation: Compilation, shape: types.Type, dtype: types.Type) -> Operation:
    sizes = constant_shape(shape, "gpu.shared.array()")
    scalar = dtype_of(dtype)
    dynamic = sizes == (0,)
    if not dynamic and any(size <= 0 for size in sizes):
        raise TypeMismatch(f"gpu.shared.array() has the shape {sizes}.", "use positive sizes.")
    name = next(key for key, value in SCALARS.items() if value == scalar)
    kind = Array(scalar, len(sizes), space=LDS, shape=sizes)
    count = int(np.prod(sizes, dtype=object))

    def emit(low: Lowering, values: Sequence[Value]) -> Value:
        element = memory_type(scalar)
        return (low.module.allocate_lds(element, count, DTYPES[name].bytes, low.where()),)

    return Operation(kind, [shape, dtype], emit)


def constant_shape(shape: types.Type, what: str) -> tuple[int, ...]:
    """The shape that an argument of `what` stands for."""
    kinds = shape.types if isinstance(shape, types.BaseTuple) else (shape,)
    if not 1 <= len(kinds) <= 3:
        raise TypeMismatch(f"{what} has {len(kinds)} axes.", "use 1 to 3 axes.")
    sizes = []
    for kind in kinds:
        if not isinstance(kind, Constant) or not isinstance(kind.value, int):
            raise TypeMismatch(
                f"the shape of {what} is not a compile-time constant.",
                "use literals, globals or values that the kernel's factory closes over.",
            )
        sizes.append(int(kind.value))
    return tuple(sizes)


@implements(gpu.size_of)
def _size_of(compilation: Compilation, kind: types.Type) -> Operation:
    if isinstance(kind, Constant) and isinstance(kind.value, VectorType):
        return known(constant(kind.value.nbytes))
    return known(constant(DTYPES[dtype_name(dtype_of(kind))].bytes))


def dtype_of(dtype: types.Type) -> types.Type:
    """The scalar type that an argument stands for."""
    value: Any = dtype.value if isinstance(dtype, Constant) else None
    try:
        name = str(value) if isinstance(value, types.Type) else np.dtype(value).name
    except TypeError:
        name = ""
    if value is None or name not in SCALARS:
        raise TypeMismatch(
            f"{dtype} is not a dtype that kernels support.", f"use one of {', '.join(SCALARS)}."
        )
    return SCALARS[name]
