"""What a call, operator or attribute means: one `Operation`, with its types and its code."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

from llvmlite import ir
from numba.core import errors, types
from numba.core.typing.templates import Signature

from pipedsl.core.errors import KernelTypeError, PipedslError, SourceLocation
from pipedsl.target.types import constant

if TYPE_CHECKING:
    from pipedsl.target.compilation import Compilation
    from pipedsl.target.lowering import Lowering

Value = tuple[ir.Value, ...]
"""The registers of one value."""

Emit = Callable[["Lowering", Sequence[Value]], Value]
"""Emits the code of an operation, given its arguments, already of the operation's types."""

Typer = Callable[..., "Operation"]
"""Chooses the operation for argument types: ``typer(compilation, *types)``."""


class Operation(Signature):
    """A resolved operation.

    Parameters
    ----------
    return_type : numba.types.Type
    args : sequence of numba.types.Type
        Arguments are converted to these types before `emit` sees them.
    emit : callable
    pick : sequence of int or str, optional
        Which positional (int) or keyword (str) argument of the call each argument is; None for
        one that the call left out and whose type is constant.
    copies : int or None
        How many copies to LDS it issues at least; None if it issues none.
    """

    def __init__(
        self,
        return_type: types.Type,
        args: Sequence[types.Type],
        emit: Emit,
        pick: Sequence[int | str | None] | None = None,
        copies: int | None = None,
    ) -> None:
        super().__init__(return_type, tuple(args), None)
        self.emit = emit
        self.copies = copies
        self.pick = tuple(pick) if pick is not None else tuple(range(len(self.args)))


class TypeMismatch(errors.TypingError):
    """A typing error in the user's terms.

    Numba retries what failed while types are still incomplete, so this becomes an error of
    class `kind`, at the user's line `where`, only if it is final.
    """

    def __init__(
        self, message: str, fix: str | None = None, kind: type[PipedslError] = KernelTypeError
    ) -> None:
        super().__init__(message)
        self.message = message
        self.fix = fix
        self.kind = kind
        self.where: SourceLocation | None = None


def known(ty: types.Type) -> Operation:
    """The operation that does nothing: its result is known at compile time."""
    return Operation(ty, (), lambda low, args: ())


def scalar(
    return_type: types.Type, args: Sequence[types.Type], build: Callable[..., ir.Value]
) -> Operation:
    """An operation on scalars: ``build(builder, *values)`` gives the one result."""
    return Operation(
        return_type, args, lambda low, values: (build(low.builder, *(v[0] for v in values)),)
    )


FUNCTIONS: dict[Any, Typer] = {}
"""Typer of every Python object that kernels may call, operators included."""

ATTRIBUTES: dict[type, Callable[..., Operation | None]] = {}
"""Typer of attributes, by class of the Numba type or, for a constant, of the Python value."""


def implements(*objects: Any) -> Callable[[Typer], Typer]:
    """Register the decorated typer for calls of `objects`."""

    def register(typer: Typer) -> Typer:
        for each in objects:
            FUNCTIONS[each] = typer
        return typer

    return register


def attributes_of(*classes: type) -> Callable[[Callable], Callable]:
    """Register the decorated ``typer(compilation, type, name)`` for attributes of `classes`."""

    def register(typer: Callable) -> Callable:
        for each in classes:
            ATTRIBUTES[each] = typer
        return typer

    return register


def bind(
    name: str,
    signature: inspect.Signature,
    args: Sequence[types.Type],
    kws: dict[str, types.Type],
) -> tuple[list[types.Type], list[int | str | None]]:
    """Types of the parameters of `signature`, in order, and where each comes from.

    Raises
    ------
    TypeMismatch
        If the call does not fit the signature.
    """
    try:
        bound = signature.bind(*range(len(args)), **{key: key for key in kws})
    except TypeError as error:
        raise TypeMismatch(
            f"{name}() {_complaint(error)}.", f"its signature is {name}{signature}."
        ) from None
    kinds: list[types.Type] = []
    pick: list[int | str | None] = []
    for parameter in signature.parameters.values():
        origin = bound.arguments.get(parameter.name)
        if isinstance(origin, tuple):
            kinds.extend(args[position] for position in origin)
            pick.extend(origin)
        elif isinstance(origin, int):
            kinds.append(args[origin])
            pick.append(origin)
        elif isinstance(origin, str):
            kinds.append(kws[origin])
            pick.append(origin)
        elif parameter.kind is parameter.VAR_POSITIONAL:
            continue
        else:
            kinds.append(constant(parameter.default))
            pick.append(None)
    return kinds, pick


def _complaint(error: TypeError) -> str:
    """What `Signature.bind` complains about, as a predicate."""
    text = str(error)
    for start, predicate in (
        ("missing a required", "lacks the argument"),
        ("too many positional", "is given too many arguments"),
        ("got an unexpected keyword", "has no parameter"),
        ("multiple values for", "is given twice the argument"),
    ):
        if text.startswith(start):
            name = text.rpartition(" ")[2]
            return f"{predicate} {name}" if "'" in name else predicate
    return f"is called wrongly: {text}"


@cache
def _visible_signature(typer: Typer) -> inspect.Signature:
    """What a call may pass to `typer`: all but the compilation."""
    full = inspect.signature(typer)
    return inspect.Signature(
        [p.replace(annotation=p.empty) for p in list(full.parameters.values())[1:]]
    )


def resolve_builtin(
    compilation: Compilation,
    function: Any,
    args: Sequence[types.Type],
    kws: dict[str, types.Type],
) -> Operation | None:
    """The operation for a call of a registered `function`, or None if it is not registered."""
    typer = FUNCTIONS.get(function)
    if typer is None:
        return None
    visible = _visible_signature(typer)
    name = getattr(function, "__name__", str(function))
    kinds, pick = bind(name, visible, args, kws)
    operation = typer(compilation, *kinds)
    if operation.args:
        operation.pick = tuple(pick)
    return operation
