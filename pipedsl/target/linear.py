"""Values that are released exactly once on every path, such as a stage of a pipeline.

After types are known, the uses of each such value are followed through the function's control flow.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any, ClassVar

from numba.core import ir, types

from pipedsl.core.errors import ProtocolError
from pipedsl.target.composites import Object
from pipedsl.target.operations import TypeMismatch


class Linear:
    """Base of classes whose instances must be released exactly once.

    Attributes
    ----------
    RELEASES : frozenset of str
        Methods that release.
    """

    RELEASES: ClassVar[frozenset[str]] = frozenset()


class State(Enum):
    """What has happened to a value."""

    MADE = "made"  # by a call that is meant for a with block, not entered yet
    HELD = "held"
    RELEASED = "released"


States = dict[str, frozenset[State]]


@dataclass(frozen=True)
class _Origin:
    """Where a value was acquired."""

    name: str
    line: int
    loc: ir.Loc

    def __str__(self) -> str:
        return f"{self.name} (line {self.line})"


def check_linear(
    func_ir: ir.FunctionIR, variables: Mapping[str, types.Type], function: Any
) -> None:
    """Refuse a function that does not release what it acquires exactly once.

    Raises
    ------
    TypeMismatch
        Which becomes a `ProtocolError` at the user's line.
    """
    if any(_linear(ty) is not None for ty in variables.values()):
        _Check(func_ir, variables, function).run()


def _linear(ty: types.Type) -> type[Linear] | None:
    return ty.cls if isinstance(ty, Object) and issubclass(ty.cls, Linear) else None


class _Check:
    def __init__(
        self, func_ir: ir.FunctionIR, variables: Mapping[str, types.Type], function: Any
    ) -> None:
        self._blocks = func_ir.blocks
        self._types = variables
        self._function = function
        self._origins: dict[str, _Origin] = {}
        self._lent: set[str] = set()
        self._released: set[str] = set()  # on some path
        self._aliases = self._find_aliases()

    def run(self) -> None:
        """Follow the states to a fixed point, then look at every use."""
        entry = min(self._blocks)
        incoming: dict[int, States] = {entry: {}}
        pending = [entry]
        while pending:
            label = pending.pop()
            states = dict(incoming[label])
            for inst in self._blocks[label].body:
                self._step(inst, states)
            for target in self._blocks[label].terminator.get_targets():
                known = incoming.get(target)
                merged = _merge(known or {}, states)
                if merged != known:
                    incoming[target] = merged
                    pending.append(target)
        for label in sorted(incoming):
            states = dict(incoming[label])
            for inst in self._blocks[label].body:
                for complaint in self._complaints(inst, states):
                    raise complaint
                self._step(inst, states)

    def _find_aliases(self) -> dict[str, set[str]]:
        """For each variable the acquisitions that it may name."""
        aliases: dict[str, set[str]] = {}
        sources: dict[str, list[str]] = {}
        for inst in self._assignments():
            name = inst.target.name
            if _linear(self._types[name]) is None:
                continue
            value = inst.value
            if isinstance(value, ir.Var):
                sources[name] = [value.name]
            elif isinstance(value, ir.Expr) and value.op == "phi":
                sources[name] = [v.name for v in value.incoming_values if isinstance(v, ir.Var)]
            elif isinstance(value, ir.Expr) and value.op == "cast":
                sources[name] = [value.value.name]
            else:
                aliases[name] = {name}
                self._origins[name] = _Origin("a stage", inst.loc.line, inst.loc)
                if isinstance(value, ir.Arg):
                    self._lent.add(name)
        changed = True
        while changed:
            changed = False
            for name, origins in sources.items():
                found = set().union(*(aliases.get(origin, set()) for origin in origins))
                if found != aliases.get(name, set()):
                    aliases[name] = found
                    changed = True
        self._name_origins(aliases)
        return aliases

    def _name_origins(self, aliases: Mapping[str, set[str]]) -> None:
        for name, origins in aliases.items():
            shown = name.partition("~")[0].partition(".")[0]
            for origin in origins if not shown.startswith(("$", "self@")) else ():
                old = self._origins[origin]
                self._origins[origin] = _Origin(repr(shown), old.line, old.loc)

    def _assignments(self) -> Iterator[ir.Assign]:
        for block in self._blocks.values():
            for inst in block.body:
                if isinstance(inst, ir.Assign):
                    yield inst

    def _acquires(self, inst: ir.Stmt) -> str | None:
        """The acquisition that `inst` is."""
        if isinstance(inst, ir.Assign) and inst.target.name in self._origins:
            return str(inst.target.name)
        return None

    def _access(self, inst: ir.Stmt) -> tuple[set[str], str, type[Linear]] | None:
        """Acquisitions whose attribute `inst` reads, the attribute, and their class."""
        if not (isinstance(inst, ir.Assign) and isinstance(inst.value, ir.Expr)):
            return None
        expr = inst.value
        cls = _linear(self._types[expr.value.name]) if expr.op == "getattr" else None
        if cls is None:
            return None
        return self._aliases.get(expr.value.name, set()), expr.attr, cls

    def _given_away(self, inst: ir.Stmt) -> set[str]:
        """Acquisitions that `inst` stores in a tuple or returns: their fate is decided there."""
        if isinstance(inst, ir.Return):
            values = [inst.value]
        elif isinstance(inst, ir.Assign) and isinstance(inst.value, ir.Expr):
            values = list(inst.value.items) if inst.value.op == "build_tuple" else []
        else:
            values = []
        return set().union(*(self._aliases.get(value.name, set()) for value in values))

    def _step(self, inst: ir.Stmt, states: States) -> None:
        origin = self._acquires(inst)
        if origin is not None:
            states[origin] = frozenset({self._first_state(inst)})
        for given in self._given_away(inst):
            states.pop(given, None)
        access = self._access(inst)
        if access is None:
            return
        origins, name, cls = access
        for origin in origins & states.keys():
            if name in cls.RELEASES:
                states[origin] = frozenset({State.RELEASED})
                self._released.add(origin)
            elif name == "__enter__":
                states[origin] = frozenset({State.HELD})

    def _first_state(self, inst: ir.Assign) -> State:
        ty = self._types[inst.target.name]
        scoped = ty.fields.get("scoped")
        entered = inst.target.name in self._lent or not getattr(scoped, "value", False)
        return State.HELD if entered else State.MADE

    def _complaints(self, inst: ir.Stmt, states: States) -> Iterator[TypeMismatch]:
        origin = self._acquires(inst)
        if origin is not None and State.HELD in states.get(origin, ()):
            yield self._not_released(origin)
        access = self._access(inst)
        if access is not None:
            yield from self._wrong_access(inst, states, *access)
        if isinstance(inst, ir.Return):
            given = self._given_away(inst)
            for origin in sorted(states.keys() - given - self._lent):
                if states[origin] & {State.HELD, State.MADE}:
                    yield self._not_released(origin)

    def _wrong_access(
        self, inst: ir.Stmt, states: States, origins: set[str], name: str, cls: type[Linear]
    ) -> Iterator[TypeMismatch]:
        for origin in sorted(origins & states.keys()):
            what, state = self._origins[origin], states[origin]
            if origin in self._lent and name in cls.RELEASES and not self._is_own_method(cls):
                yield _error(
                    inst.loc,
                    f"{what} is released in a function that was only given it.",
                    "release it where it is acquired.",
                )
            if State.MADE in state and name != "__enter__":
                yield _error(
                    inst.loc,
                    f"{what} is used outside a with block.",
                    "write `with ... as stage:`, or call the pipeline's acquire_ method.",
                )
            if State.RELEASED not in state:
                continue
            if name in cls.RELEASES:
                yield _error(
                    inst.loc, f"{what} is released twice.", "release it once; a with block does it."
                )
            yield _error(
                inst.loc, f"{what} is used after its release.", "use it before, or acquire anew."
            )

    def _is_own_method(self, cls: type[Linear]) -> bool:
        return getattr(cls, self._function.__name__, None) is self._function

    def _not_released(self, origin: str) -> TypeMismatch:
        what = self._origins[origin]
        how = "not released on every path" if origin in self._released else "never released"
        return _error(what.loc, f"{what} is {how}.", "call release(), or use a with block.")


def _merge(first: States, second: States) -> States:
    empty: frozenset[State] = frozenset()
    return {
        name: first.get(name, empty) | second.get(name, empty)
        for name in first.keys() | second.keys()
    }


def _error(loc: ir.Loc, message: str, fix: str) -> TypeMismatch:
    error = TypeMismatch(message, fix, kind=ProtocolError)
    error.loc = loc
    return error
