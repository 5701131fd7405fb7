"""Values that are released exactly once on every path, such as a stage of a pipeline.

After types are known, the uses of each such value are followed through the function's control flow.
Conditions are not understood: a path that is in the code counts as taken.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from numba.core import ir, types

from pipedsl.core.errors import ProtocolError
from pipedsl.target.composites import Object
from pipedsl.target.dataflow import phi_copies
from pipedsl.target.operations import TypeMismatch
from pipedsl.target.ownership import Ownership, State


class Linear:
    """Base of classes whose instances must be released exactly once.

    Attributes
    ----------
    RELEASES : frozenset of str
        Methods that release.
    """

    RELEASES: ClassVar[frozenset[str]] = frozenset()


@dataclass(frozen=True)
class _Origin:
    """Where a value was acquired."""

    name: str
    loc: ir.Loc

    def __str__(self) -> str:
        return f"{self.name} (line {self.loc.line})"


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
        self._released: set[str] = set()  # values, on some path
        self._copies: dict[str, str] = {}
        self._acquired: dict[str, State] = {}
        self._origins: dict[str, _Origin] = {}
        for inst in self._assignments():
            self._classify(inst.target.name, inst.value, inst.loc)
        copies = phi_copies(self._blocks)
        self._moves = {
            (label, target): self._moves_to(target, copies[label])
            for label in self._blocks
            for target in self._blocks[label].terminator.get_targets()
        }
        self._name_origins()

    def run(self) -> None:
        """Follow the values to a fixed point, then look at every use."""
        incoming = {min(self._blocks): Ownership()}
        pending = list(incoming)
        while pending:
            label = pending.pop()
            state = incoming[label].copy()
            for inst in self._blocks[label].body:
                self._step(inst, state)
            for target in self._blocks[label].terminator.get_targets():
                arriving = state.copy()
                arriving.move(self._moves[label, target])
                known = incoming.get(target)
                merged = arriving if known is None else known.joined(arriving)
                if merged != known:
                    incoming[target] = merged
                    pending.append(target)
        for label in sorted(incoming):
            state = incoming[label]
            for inst in self._blocks[label].body:
                for complaint in self._complaints(inst, state):
                    raise complaint
                self._step(inst, state)
            for target in self._blocks[label].terminator.get_targets():
                for value in state.overwritten(self._moves[label, target]):
                    raise self._not_released(value)

    # What the variables are

    def _assignments(self) -> Iterator[ir.Assign]:
        for block in self._blocks.values():
            for inst in block.body:
                if isinstance(inst, ir.Assign) and _linear(self._types[inst.target.name]):
                    yield inst

    def _classify(self, name: str, value: Any, loc: ir.Loc) -> None:
        """Copies name what another variable names; a value in a tuple or a field is not followed."""
        if isinstance(value, ir.Var):
            self._copies[name] = value.name
        elif isinstance(value, ir.Expr) and value.op == "cast":
            self._copies[name] = value.value.name
        elif isinstance(value, ir.Expr) and value.op == "call":
            scoped = self._types[name].fields.get("scoped")
            self._acquired[name] = State.MADE if getattr(scoped, "value", False) else State.HELD
            self._origins[name] = _Origin("a stage", loc)
        elif isinstance(value, ir.Arg) and not self._is_own_method(self._types[name]):
            self._acquired[name] = State.LENT
            self._origins[name] = _Origin("a stage", loc)

    def _is_own_method(self, ty: types.Type) -> bool:
        return getattr(ty.cls, self._function.__name__, None) is self._function

    def _root(self, name: str) -> str:
        while name in self._copies:
            name = self._copies[name]
        return name

    def _moves_to(self, target: int, copies: list[tuple[str, ir.Var]]) -> list[tuple[str, str]]:
        phis = {
            inst.target.name
            for inst in self._blocks[target].find_insts(ir.Assign)
            if isinstance(inst.value, ir.Expr) and inst.value.op == "phi"
        }
        return [
            (phi, self._root(source.name))
            for phi, source in copies
            if phi in phis and _linear(self._types[phi])
        ]

    def _name_origins(self) -> None:
        """Values are called as the user calls them; one that was moved, after its first line."""
        for name in self._copies:
            self._call(self._root(name), name)
        changed = True
        while changed:
            changed = False
            for moves in self._moves.values():
                for phi, source in moves:
                    new, old = self._origins.get(source), self._origins.get(phi)
                    if new is not None and (old is None or new.loc.line < old.loc.line):
                        self._origins[phi] = new
                        changed = True
        for name in list(self._origins):
            self._call(name, name)

    def _call(self, value: str, name: str) -> None:
        shown = name.partition("~")[0].partition(".")[0]
        if value in self._origins and not shown.startswith(("$", "self@")):
            self._origins[value] = _Origin(repr(shown), self._origins[value].loc)

    # What the instructions do

    def _acquisition(self, inst: ir.Stmt) -> str | None:
        name = inst.target.name if isinstance(inst, ir.Assign) else None
        return name if name in self._acquired else None

    def _access(self, inst: ir.Stmt) -> tuple[str, str, type[Linear]] | None:
        """The variable whose attribute `inst` reads, the attribute, and the value's class."""
        if not (isinstance(inst, ir.Assign) and isinstance(inst.value, ir.Expr)):
            return None
        expr = inst.value
        cls = _linear(self._types[expr.value.name]) if expr.op == "getattr" else None
        return None if cls is None else (self._root(expr.value.name), expr.attr, cls)

    def _given_away(self, inst: ir.Stmt) -> list[str]:
        """Variables that `inst` stores in a tuple or returns: their fate is decided elsewhere."""
        if isinstance(inst, ir.Return):
            return [self._root(inst.value.name)]
        if isinstance(inst, ir.Assign) and isinstance(inst.value, ir.Expr):
            items = inst.value.items if inst.value.op == "build_tuple" else ()
            return [self._root(item.name) for item in items]
        return []

    def _step(self, inst: ir.Stmt, state: Ownership) -> None:
        acquired = self._acquisition(inst)
        if acquired is not None:
            state.acquire(acquired, self._acquired[acquired])
        state.forget(self._given_away(inst))
        access = self._access(inst)
        if access is None:
            return
        variable, name, cls = access
        if name in cls.RELEASES:
            self._released |= state.of(variable)
            state.put(variable, State.RELEASED)
        elif name == "__enter__":
            state.put(variable, State.HELD)

    def _complaints(self, inst: ir.Stmt, state: Ownership) -> Iterator[TypeMismatch]:
        acquired = self._acquisition(inst)
        if acquired is not None and state.is_open(acquired):
            yield self._not_released(acquired)
        access = self._access(inst)
        if access is not None:
            variable, name, cls = access
            for value in sorted(state.of(variable)):
                yield from self._wrong_access(inst.loc, value, state.states[value], name, cls)
        if isinstance(inst, ir.Return):
            state = state.copy()
            state.forget(self._given_away(inst))
            yield from (self._not_released(v) for v in sorted(state.states) if state.is_open(v))

    def _wrong_access(
        self, loc: ir.Loc, value: str, states: frozenset[State], name: str, cls: type[Linear]
    ) -> Iterator[TypeMismatch]:
        what, releases = self._origins[value], name in cls.RELEASES
        if State.LENT in states and releases:
            message = f"{what} is released in a function that was only given it."
            yield _error(loc, message, "release it where it is acquired.")
        if State.MADE in states and name != "__enter__":
            fix = "write `with ... as stage:`, or call the pipeline's acquire_ method."
            yield _error(loc, f"{what} is used outside a with block.", fix)
        if State.RELEASED in states and releases:
            fix = "release it once; a with block does it."
            yield _error(loc, f"{what} is released twice.", fix)
        if State.RELEASED in states:
            fix = "use it before, or acquire anew."
            yield _error(loc, f"{what} is used after its release.", fix)

    def _not_released(self, value: str) -> TypeMismatch:
        what = self._origins[value]
        how = "not released on every path" if value in self._released else "never released"
        return _error(what.loc, f"{what} is {how}.", "call release(), or use a with block.")


def _error(loc: ir.Loc, message: str, fix: str) -> TypeMismatch:
    error = TypeMismatch(message, fix, kind=ProtocolError)
    error.loc = loc
    return error
