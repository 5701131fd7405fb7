"""Which linear value each variable names, and what has happened to it, at one point of a function.

A value is called after the variable of its acquisition, or after the phi that it was moved to: a
phi takes over what it merges, so that the values of two rounds of a loop are kept apart.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from enum import Enum

_NOTHING: frozenset = frozenset()


class State(Enum):
    """What has happened to a value."""

    MADE = "made"  # by a call that is meant for a with block, not entered yet
    HELD = "held"
    SIGNALLED = "signalled"  # and still held
    LENT = "lent"  # to this function, which must give it back as it was
    RELEASED = "released"


_OPEN = frozenset({State.MADE, State.HELD, State.SIGNALLED})


@dataclass
class Ownership:
    """What is known at one point, over all paths that lead there.

    Attributes
    ----------
    names : dict of str to frozenset of str
        By variable: the values that it may name.
    states : dict of str to frozenset of State
        By value.
    pending : dict of str to int
        By value into whose slot copies to LDS were issued: how many copies for other values were
        issued after them, at least.
    """

    names: dict[str, frozenset[str]] = field(default_factory=dict)
    states: dict[str, frozenset[State]] = field(default_factory=dict)
    pending: dict[str, int] = field(default_factory=dict)

    def copy(self) -> Ownership:
        """An independent copy."""
        return Ownership(dict(self.names), dict(self.states), dict(self.pending))

    def joined(self, other: Ownership) -> Ownership:
        """What is known where two paths meet."""
        pending = dict(other.pending)
        for value, count in self.pending.items():
            pending[value] = min(count, pending.get(value, count))
        return Ownership(
            _joined(self.names, other.names), _joined(self.states, other.states), pending
        )

    def acquire(self, variable: str, state: State) -> None:
        """`variable` names a new value."""
        self.names[variable] = frozenset({variable})
        self.states[variable] = frozenset({state})
        self.pending.pop(variable, None)

    def issue(self, variables: Iterable[str], copies: int) -> None:
        """`copies` to LDS, or more, for the value that each of `variables` names.

        If they do not name exactly one value, it may be any.
        """
        named = {self.of(variable) for variable in variables}
        values = named.pop() if len(named) == 1 else _NOTHING
        if len(values) != 1:
            self.pending = {value: 0 for value in self.states if self.is_open(value)}
            return
        for value in self.pending:
            self.pending[value] += copies
        self.pending.update(dict.fromkeys(values, 0))

    def of(self, variable: str) -> frozenset[str]:
        """The values that `variable` may name, of those that are followed."""
        return self.names.get(variable, _NOTHING).intersection(self.states)

    def is_open(self, value: str) -> bool:
        """Whether `value`, on some path, still has to be released."""
        return bool(self.states.get(value, _NOTHING) & _OPEN)

    def put(self, variable: str, state: State) -> None:
        """The value that `variable` names is in `state`; where it may name several, each may be."""
        values = self.of(variable)
        for value in values:
            old = self.states[value] if len(values) > 1 else _NOTHING
            self.states[value] = old | {state}

    def forget(self, variables: Iterable[str]) -> None:
        """Follow what `variables` name no longer: it was handed to someone else."""
        for variable in variables:
            for value in self.of(variable):
                del self.states[value]

    def overwritten(self, moves: Sequence[tuple[str, str]]) -> list[str]:
        """Open values of phis that the phis' next values replace, though nothing else has them."""
        moved = frozenset().union(*(self.of(source) for _, source in moves))
        return [phi for phi, _ in moves if phi not in moved and self.is_open(phi)]

    def move(self, moves: Sequence[tuple[str, str]]) -> None:
        """Take an edge whose phis get ``(phi, source)`` all at once."""
        taken = [(phi, self.of(source)) for phi, source in moves]
        states = {
            phi: frozenset().union(*(self.states[value] for value in values))
            for phi, values in taken
        }
        pending: dict[str, int | None] = {}
        owner = {value: phi for phi, values in taken if len(values) == 1 for value in values}
        for phi, values in taken:
            counts = [self.pending[value] for value in values if value in self.pending]
            pending[phi] = min(counts, default=None)
        for value in owner:
            self.states.pop(value, None)
            self.pending.pop(value, None)
        for variable, values in self.names.items():
            self.names[variable] = frozenset(owner.get(value, value) for value in values)
        for phi, state in states.items():
            self.names[phi] = frozenset({phi})
            self.pending.pop(phi, None)
            if state:
                self.states[phi] = state
            if (count := pending[phi]) is not None:
                self.pending[phi] = count


def _joined(first: dict[str, frozenset], second: dict[str, frozenset]) -> dict[str, frozenset]:
    keys = first.keys() | second.keys()
    return {key: first.get(key, _NOTHING) | second.get(key, _NOTHING) for key in keys}
