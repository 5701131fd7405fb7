"""The linear values of a function: where each is acquired, and which variables name it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from numba.core import ir, types

from pipedsl.target.composites import Object
from pipedsl.target.dataflow import phi_copies
from pipedsl.target.function import SELF
from pipedsl.target.ownership import State
from pipedsl.target.scopes import MANAGER
from pipedsl.target.types import Constant

_UNNAMED = ("$", MANAGER, SELF)


class Linear:
    """Base of classes whose instances must be released exactly once.

    Where fields of these names are constants, the compiler looks at them: `scoped` (a with block
    is to acquire and release the value), `advanced` (whoever it was acquired from has moved on, so
    that another one can be acquired), `signals` (see `MAY_SIGNAL`).

    Attributes
    ----------
    RELEASES : frozenset of str
        Methods that release.
    FENCES : frozenset of str
        Methods that take, as `vmcnt`, how many copies to LDS may stay in flight. Where the call and
        the field `vmcnt` do not say so, the compiler counts.
    SIGNALS, MAY_SIGNAL : frozenset of str
        Methods of which one may be called, once; the latter count if the field `signals` is true.
    """

    RELEASES: ClassVar[frozenset[str]] = frozenset()
    FENCES: ClassVar[frozenset[str]] = frozenset()
    SIGNALS: ClassVar[frozenset[str]] = frozenset()
    MAY_SIGNAL: ClassVar[frozenset[str]] = frozenset()


@dataclass(frozen=True)
class Origin:
    """Where a value was acquired.

    Attributes
    ----------
    name : str
        As the user calls the value.
    loc : numba.core.ir.Loc
    kind : Object
    source : str or None
        The variable, with attributes, whose method acquired it.
    """

    name: str
    loc: ir.Loc
    kind: Object
    source: str | None

    def has(self, field: str) -> bool:
        """Whether `field` is a constant and true."""
        ty = self.kind.fields.get(field)
        return isinstance(ty, Constant) and bool(ty.value)

    @property
    def cls(self) -> type[Linear]:
        """The value's class."""
        assert issubclass(self.kind.cls, Linear)
        return self.kind.cls

    def signals(self, method: str) -> bool:
        """Whether `method` signals."""
        return method in self.cls.SIGNALS or (method in self.cls.MAY_SIGNAL and self.has("signals"))

    def counts(self, method: str) -> bool:
        """Whether `method` fences copies, and their number is left to the compiler."""
        return method in self.cls.FENCES and self.kind.fields.get("vmcnt") == types.none

    def keeps_place(self, other: Origin) -> bool:
        """Whether `other`, acquired while this is held, would be the same again."""
        return (
            self.source is not None
            and (self.source, self.cls) == (other.source, other.cls)
            and not self.has("advanced")
        )

    def __str__(self) -> str:
        return f"{self.name} (line {self.loc.line})"


def is_linear(ty: types.Type) -> bool:
    """Whether `ty` is the type of a linear value."""
    return isinstance(ty, Object) and issubclass(ty.cls, Linear)


class Acquisitions:
    """The linear values of a function.

    Values in tuples and in fields of objects are not among them.

    Attributes
    ----------
    acquired : dict of str to State
        By variable that a call, or a parameter, gives a value to: the value's first state.
    origins : dict of str to Origin
        By value: the variables of `acquired`, and phis.
    moves : dict of (int, int) to list of (str, str)
        By edge between blocks: which phi takes over which variable's value.
    uses : dict of str to frozenset of str
        By variable: the variables whose linear value it was computed from. A phi of such results
        stands for itself: their values may have got other names since.
    """

    def __init__(
        self, blocks: Mapping[int, ir.Block], variables: Mapping[str, types.Type], function: Any
    ) -> None:
        self._types = variables
        self._function = function
        self._definitions = {
            inst.target.name: inst for block in blocks.values() for inst in _assignments(block)
        }
        self.acquired: dict[str, State] = {}
        self.origins: dict[str, Origin] = {}
        for name in self._definitions:
            if is_linear(variables[name]):
                self._classify(name)
        copies = phi_copies(dict(blocks))
        self.moves = {
            (label, target): self._moves_to(blocks[target], copies[label])
            for label in blocks
            for target in blocks[label].terminator.get_targets()
        }
        self._name_origins()
        self.uses = self._find_uses()

    def root(self, name: str) -> str:
        """The variable that `name` is a copy of."""
        value = self._definitions[name].value if name in self._definitions else None
        if isinstance(value, ir.Var):
            return self.root(value.name)
        if isinstance(value, ir.Expr) and value.op == "cast":
            return self.root(value.value.name)
        return name

    def _classify(self, name: str) -> None:
        inst, kind = self._definitions[name], self._types[name]
        value = inst.value
        if isinstance(value, ir.Expr) and value.op == "call":
            origin = Origin("a stage", inst.loc, kind, self._source(value))
            self.acquired[name] = State.MADE if origin.has("scoped") else State.HELD
            self.origins[name] = origin
        elif isinstance(value, ir.Arg) and not self._is_own_method(kind):
            self.acquired[name] = State.LENT
            self.origins[name] = Origin("a stage", inst.loc, kind, None)

    def _is_own_method(self, kind: Object) -> bool:
        return getattr(kind.cls, self._function.__name__, None) is self._function

    def _source(self, call: ir.Expr) -> str | None:
        method = self.member(call.func.name)
        return None if method is None else self._path(method.value.name)

    def _path(self, name: str) -> str:
        member = self.member(name)
        if member is None:
            return self.root(name)
        return f"{self._path(member.value.name)}.{member.attr}"

    def member(self, name: str) -> ir.Expr | None:
        """The attribute that the variable `name` stands for."""
        inst = self._definitions.get(self.root(name))
        is_member = inst and isinstance(inst.value, ir.Expr) and inst.value.op == "getattr"
        return inst.value if inst and is_member else None

    def _find_uses(self) -> dict[str, frozenset[str]]:
        uses = {
            name: frozenset({self.root(name)} if is_linear(self._types[name]) else ())
            for name in self._definitions
        }
        changed = True
        while changed:
            changed = False
            for name, inst in self._definitions.items():
                if is_linear(self._types[name]):
                    continue
                found = uses[name].union(
                    *(uses.get(var.name, frozenset()) for var in inst.list_vars())
                )
                if found and isinstance(inst.value, ir.Expr) and inst.value.op == "phi":
                    found = frozenset({name})
                if found != uses[name]:
                    uses[name] = found
                    changed = True
        return uses

    def _moves_to(self, target: ir.Block, copies: list[tuple[str, ir.Var]]) -> list:
        phis = {inst.target.name for inst in _assignments(target)}
        return [
            (phi, self.root(source.name))
            for phi, source in copies
            if phi in phis and is_linear(self._types[phi])
        ]

    def _name_origins(self) -> None:
        """Values are called as the user calls them; one that was moved, after its first line."""
        for name in self._definitions:
            self._call(self.root(name), name)
        changed = True
        while changed:
            changed = False
            for moves in self.moves.values():
                for phi, source in moves:
                    new, old = self.origins.get(source), self.origins.get(phi)
                    if new is not None and (old is None or new.loc.line < old.loc.line):
                        self.origins[phi] = new
                        changed = True
        for name in list(self.origins):
            self._call(name, name)

    def _call(self, value: str, name: str) -> None:
        shown = name.partition("~")[0].partition(".")[0]
        if value in self.origins and not shown.startswith(_UNNAMED):
            self.origins[value] = replace(self.origins[value], name=repr(shown))


def _assignments(block: ir.Block) -> Iterator[ir.Assign]:
    return (inst for inst in block.body if isinstance(inst, ir.Assign))
