"""The addresses of an access, as its micro-kernel has just written them."""

from __future__ import annotations

from pipedsl.sim import layout as at
from pipedsl.sim.timing.code import Code, Value
from pipedsl.sim.timing.fields import Record

_PART = at.TRACE_PART // 8  # i64 words of one part


class Trace:
    """Reads the trace of the last access: parts of one access per lane."""

    def __init__(self, code: Code, cu: Record) -> None:
        self.c = code
        self.cu = cu

    def clear(self) -> None:
        """Forget the last instruction's addresses."""
        for part in range(at.TRACE_PARTS):
            self.c.store(0, self.cu.trace, part * _PART)

    def part(self, part: Value) -> tuple[Value, Value, Value]:
        """Active lanes, width in bytes and space of a part."""
        base = part * _PART
        word = self.c.load(self.cu.trace, base + 1)
        return self.c.load(self.cu.trace, base), word & 0xFFFFFFFF, word >> 32

    def address(self, part: Value, lane: Value) -> Value:
        """The address of one lane."""
        return self.c.load(self.cu.trace, part * _PART + lane + at.TRACE_ADDRESSES // 8)
