"""Named fields in memory that native code and Python share: arrays of 64-bit integers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pipedsl.sim.timing.code import Code, Value


class Record:
    """Named i64 fields behind a pointer: ``wave.ready``, ``wave.ready = t``, ``wave.at("ring", i)``."""

    _code: Code
    _pointer: Any
    _fields: Mapping[str, int]

    def __init__(self, code: Code, pointer: Any, fields: Mapping[str, int]) -> None:
        object.__setattr__(self, "_code", code)
        object.__setattr__(self, "_pointer", pointer)
        object.__setattr__(self, "_fields", fields)

    def __getattr__(self, name: str) -> Value:
        return self._code.load(self._pointer, self._fields[name])

    def __setattr__(self, name: str, value: Any) -> None:
        self._code.store(value, self._pointer, self._fields[name])

    def at(self, name: str, index: Any) -> Value:
        """Element `index` of an array field."""
        return self._code.load(self._pointer, self._element(name, index))

    def put(self, name: str, index: Any, value: Any) -> None:
        """Write element `index` of an array field."""
        self._code.store(value, self._pointer, self._element(name, index))

    def add(self, name: str, index: Any, amount: Any) -> None:
        """Add to element `index` of an array field."""
        self.put(name, index, self.at(name, index) + amount)

    def place(self, name: str) -> Value:
        """Where a field lies, as an integer."""
        base = Value(self._code, self._code.raw(self._pointer))
        return base + 8 * self._fields[name]

    def _element(self, name: str, index: Any) -> Value:
        return Value(self._code, self._code.raw(index)) + self._fields[name]


def layout(*fields: str | tuple[str, int]) -> tuple[dict[str, int], int]:
    """Index of each field in an array of i64, and the array's length; ``(name, n)`` takes n."""
    places, size = {}, 0
    for field in fields:
        name, count = (field, 1) if isinstance(field, str) else field
        places[name] = size
        size += count
    return places, size
