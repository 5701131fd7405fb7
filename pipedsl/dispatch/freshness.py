"""Whether the names that a compiled kernel froze still mean what they meant."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pipedsl.frontend import DeviceFunction

_MISSING = object()


class Dependencies:
    """Globals and closed-over variables of a kernel and of the device functions that it reaches.

    A compilation takes their values as constants; a notebook cell that runs again rebinds them.
    Comparing identities costs well under a microsecond, so every launch can.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        self._globals: list[tuple[dict[str, Any], str, Any]] = []
        self._cells: list[tuple[Any, Any]] = []
        self._reach(function, set())

    def changed(self) -> bool:
        """Whether a name was bound to another object since this was made."""
        for namespace, name, value in self._globals:
            if namespace.get(name, _MISSING) is not value:
                return True
        return any(_contents(cell) is not value for cell, value in self._cells)

    def _reach(self, function: Callable[..., Any], seen: set[int]) -> None:
        if id(function) in seen:
            return
        seen.add(id(function))
        code, namespace = function.__code__, function.__globals__
        values = []
        for name in code.co_names:
            if name in namespace:
                values.append(namespace[name])
                self._globals.append((namespace, name, namespace[name]))
        for cell in function.__closure__ or ():
            values.append(_contents(cell))
            self._cells.append((cell, values[-1]))
        for value in values:
            if isinstance(value, DeviceFunction):
                self._reach(value.function, seen)


def _contents(cell: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError:
        return _MISSING
