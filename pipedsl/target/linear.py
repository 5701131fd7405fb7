"""Values that are released exactly once on every path, such as a stage of a pipeline.

After types are known, the uses of each such value are followed through the function's control flow.
Conditions are not understood: a path that is in the code counts as taken.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from numba.core import ir, types

from pipedsl.core.errors import ProtocolError
from pipedsl.target.acquisitions import Acquisitions, is_linear
from pipedsl.target.copies import called, issues_copies
from pipedsl.target.operations import Operation, TypeMismatch
from pipedsl.target.ownership import Ownership, State


def check_linear(
    func_ir: ir.FunctionIR,
    variables: Mapping[str, types.Type],
    operations: Mapping[Any, Operation],
    function: Any,
) -> dict[ir.Expr, int]:
    """Refuse a function that does not release what it acquires exactly once.

    Returns
    -------
    dict
        By call that fences copies to LDS and leaves their number to the compiler: how many may
        stay in flight.

    Raises
    ------
    TypeMismatch
        Which becomes a `ProtocolError` at the user's line.
    """
    if not any(is_linear(ty) for ty in variables.values()):
        return {}
    check = _Check(func_ir.blocks, variables, operations, function)
    check.run()
    return check.fences


_MOST = 63  # that vmcnt can name


class _Check:
    def __init__(
        self,
        blocks: Mapping[int, ir.Block],
        variables: Mapping[str, types.Type],
        operations: Mapping[Any, Operation],
        function: Any,
    ) -> None:
        self.fences: dict[ir.Expr, int] = {}
        self._operations = operations
        self._copies = issues_copies(operations)
        self._blocks = blocks
        self._types = variables
        self._values = Acquisitions(blocks, variables, function)
        self._released: set[str] = set()  # values, on some path

    def run(self) -> None:
        """Follow the values to a fixed point, then look at every use."""
        moves = self._values.moves
        incoming = {min(self._blocks): Ownership()}
        pending = list(incoming)
        while pending:
            label = pending.pop()
            state = incoming[label].copy()
            for inst in self._blocks[label].body:
                self._step(inst, state)
            for target in self._blocks[label].terminator.get_targets():
                arriving = state.copy()
                arriving.move(moves[label, target])
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
                if self._copies:
                    self._count(inst, state)
                self._step(inst, state)
            for target in self._blocks[label].terminator.get_targets():
                for value in state.overwritten(moves[label, target]):
                    raise self._not_released(value)

    # What the instructions do

    def _acquisition(self, inst: ir.Stmt) -> str | None:
        name = inst.target.name if isinstance(inst, ir.Assign) else None
        return name if name in self._values.acquired else None

    def _access(self, inst: ir.Stmt) -> tuple[str, str] | None:
        """The variable whose attribute `inst` reads, and the attribute."""
        expr = inst.value if isinstance(inst, ir.Assign) else None
        if not (isinstance(expr, ir.Expr) and expr.op == "getattr"):
            return None
        name = expr.value.name
        return (self._values.root(name), expr.attr) if is_linear(self._types[name]) else None

    def _given_away(self, inst: ir.Stmt) -> list[str]:
        """Variables that `inst` stores in a tuple or returns: their fate is decided elsewhere."""
        if isinstance(inst, ir.Return):
            return [self._values.root(inst.value.name)]
        if isinstance(inst, ir.Assign) and isinstance(inst.value, ir.Expr):
            items = inst.value.items if inst.value.op == "build_tuple" else ()
            return [self._values.root(item.name) for item in items]
        return []

    def _releases(self, value: str, method: str) -> bool:
        return method in self._values.origins[value].cls.RELEASES

    def _step(self, inst: ir.Stmt, state: Ownership) -> None:
        acquired = self._acquisition(inst)
        if acquired is not None:
            state.acquire(acquired, self._values.acquired[acquired])
        state.forget(self._given_away(inst))
        copies = self._issued(inst)
        if copies is not None:
            state.issue(self._values.uses[inst.target.name], copies)
        variable, method = self._access(inst) or ("", "")
        for value in state.of(variable):
            if self._releases(value, method):
                self._released.add(value)
                state.put(variable, State.RELEASED)
            elif method == "__enter__":
                state.put(variable, State.HELD)
            elif self._values.origins[value].signals(method) and state.is_open(value):
                state.put(variable, State.SIGNALLED)

    def _issued(self, inst: ir.Stmt) -> int | None:
        """How many copies to LDS `inst` issues at least; None if it issues none."""
        call = called(inst)
        return None if call is None else self._operations[call].copies

    def _count(self, inst: ir.Stmt, state: Ownership) -> None:
        """Note a call that fences: it waits for the value's own copies, not for younger ones."""
        call = called(inst)
        if call is None:
            return
        given = [*call.args, *(value for _, value in call.kws)]
        if any(self._types[value.name] != types.none for value in given):
            return
        member = self._values.member(call.func.name)
        values = state.of(self._values.root(member.value.name)) if member else frozenset()
        if member is None or not values or not values <= state.pending.keys():
            return
        if all(self._values.origins[value].counts(member.attr) for value in values):
            self.fences[call] = min(_MOST, *(state.pending[value] for value in values))

    # What is wrong with them

    def _complaints(self, inst: ir.Stmt, state: Ownership) -> Iterator[TypeMismatch]:
        acquired = self._acquisition(inst)
        if acquired is not None:
            yield from self._wrong_acquisition(inst.loc, acquired, state)
        variable, method = self._access(inst) or ("", "")
        for value in sorted(state.of(variable)):
            yield from self._wrong_access(inst.loc, value, state.states[value], method)
        if isinstance(inst, ir.Return):
            state = state.copy()
            state.forget(self._given_away(inst))
            yield from (self._not_released(v) for v in sorted(state.states) if state.is_open(v))

    def _wrong_acquisition(
        self, loc: ir.Loc, acquired: str, state: Ownership
    ) -> Iterator[TypeMismatch]:
        if state.is_open(acquired):
            yield self._not_released(acquired)
        new = self._values.origins[acquired]
        for value in sorted(state.states):
            held = self._values.origins[value]
            if state.is_open(value) and held.keeps_place(new):
                message = f"{new.name} takes the slot that {held} still holds."
                fix = "release that first, or use acquire_and_advance() or wait_and_advance()."
                yield _error(loc, message, fix)

    def _wrong_access(
        self, loc: ir.Loc, value: str, states: frozenset[State], method: str
    ) -> Iterator[TypeMismatch]:
        what, releases = self._values.origins[value], self._releases(value, method)
        if State.LENT in states and releases:
            message = f"{what} is released in a function that was only given it."
            yield _error(loc, message, "release it where it is acquired.")
        if State.MADE in states and method != "__enter__":
            fix = "write `with ... as stage:`, or call the pipeline's acquire_ method."
            yield _error(loc, f"{what} is used outside a with block.", fix)
        if State.RELEASED in states and releases:
            fix = "release it once; a with block does it."
            yield _error(loc, f"{what} is released twice.", fix)
        if State.RELEASED in states:
            fix = "use it before, or acquire anew."
            yield _error(loc, f"{what} is used after its release.", fix)
        if State.SIGNALLED in states and what.signals(method):
            fix = "drop arrive(), or end with release_without_signal()."
            yield _error(loc, f"{what} signals twice.", fix)

    def _not_released(self, value: str) -> TypeMismatch:
        what = self._values.origins[value]
        how = "not released on every path" if value in self._released else "never released"
        return _error(what.loc, f"{what} is {how}.", "call release(), or use a with block.")


def _error(loc: ir.Loc, message: str, fix: str) -> TypeMismatch:
    error = TypeMismatch(message, fix, kind=ProtocolError)
    error.loc = loc
    return error
