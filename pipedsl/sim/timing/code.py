"""Host code of the cycle scheduler in the notation of integer arithmetic."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from llvmlite import ir

from pipedsl.sim.builder import I8, I64, PTR
from pipedsl.sim.micro.registry import Micro


class Value:
    """A 64-bit signed integer, or the bit that a comparison yields, in code under construction."""

    __hash__ = None  # type: ignore[assignment]

    def __init__(self, code: Code, ir_value: ir.Value) -> None:
        self.code = code
        self.ir = ir_value

    def _binary(self, operation: str, other: Any) -> Value:
        method = getattr(self.code.k.irb, operation)
        return Value(self.code, method(self.ir, self.code.raw(other, self.ir.type)))

    def _compare(self, operation: str, other: Any) -> Value:
        other = self.code.raw(other, self.ir.type)
        return Value(self.code, self.code.k.irb.icmp_signed(operation, self.ir, other))

    def __add__(self, other: Any) -> Value:
        return self._binary("add", other)

    __radd__ = __add__

    def __sub__(self, other: Any) -> Value:
        return self._binary("sub", other)

    def __rsub__(self, other: Any) -> Value:
        return Value(self.code, self.code.raw(other)) - self

    def __mul__(self, other: Any) -> Value:
        return self._binary("mul", other)

    def __floordiv__(self, other: Any) -> Value:
        return self._binary("udiv", other)

    def __and__(self, other: Any) -> Value:
        return self._binary("and_", other)

    def __or__(self, other: Any) -> Value:
        return self._binary("or_", other)

    def __xor__(self, other: Any) -> Value:
        return self._binary("xor", other)

    def __lshift__(self, other: Any) -> Value:
        return self._binary("shl", other)

    def __rshift__(self, other: Any) -> Value:
        return self._binary("lshr", other)

    def __invert__(self) -> Value:
        return Value(self.code, self.code.k.irb.not_(self.ir))

    def __eq__(self, other: Any) -> Value:  # type: ignore[override]
        return self._compare("==", other)

    def __ne__(self, other: Any) -> Value:  # type: ignore[override]
        return self._compare("!=", other)

    def __lt__(self, other: Any) -> Value:
        return self._compare("<", other)

    def __le__(self, other: Any) -> Value:
        return self._compare("<=", other)

    def __gt__(self, other: Any) -> Value:
        return self._compare(">", other)

    def __ge__(self, other: Any) -> Value:
        return self._compare(">=", other)


class Variable:
    """A local variable: ``x()`` reads it, ``x.set(value)`` writes it."""

    def __init__(self, code: Code, initial: Any) -> None:
        self.code = code
        with code.k.irb.goto_entry_block():
            self.place = code.k.irb.alloca(I64)
        self.set(initial)

    def __call__(self) -> Value:
        return Value(self.code, self.code.k.irb.load(self.place, typ=I64))

    def set(self, value: Any) -> None:
        self.code.k.irb.store(self.code.raw(value), self.place)

    def raise_to(self, value: Any) -> None:
        """Make it `value` if that is larger."""
        self.set(self.code.max(self(), value))


class Code:
    """Statements and memory accesses of a micro-kernel under construction."""

    def __init__(self, k: Micro) -> None:
        self.k = k

    def raw(self, value: Any, kind: ir.Type = I64) -> ir.Value:
        """The LLVM value of a `Value`, a `Variable` or a Python integer."""
        if isinstance(value, Variable):
            value = value()
        return value.ir if isinstance(value, Value) else kind(int(value))

    def value(self, number: int) -> Value:
        return Value(self, I64(number))

    def variable(self, initial: Any = 0) -> Variable:
        return Variable(self, initial)

    def select(self, test: Value, yes: Any, no: Any) -> Value:
        return Value(self, self.k.irb.select(test.ir, self.raw(yes), self.raw(no)))

    def max(self, first: Any, *others: Any) -> Value:
        for other in others:
            first = Value(self, self.k.s.smax(self.raw(first), self.raw(other)))
        return first

    def count_ones(self, value: Value) -> Value:
        return Value(self, self.k.s.popcount(value.ir))

    def first_one(self, value: Value) -> Value:
        """Position of the lowest set bit of a value that is not 0."""
        return Value(self, self.k.s.count_trailing_zeros(value.ir))

    # memory
    def load(self, pointer: Any, index: Any = 0) -> Value:
        """Element `index` of the i64 array at `pointer`."""
        return Value(self, self.k.irb.load(self._element(pointer, index), align=8, typ=I64))

    def store(self, value: Any, pointer: Any, index: Any = 0) -> None:
        self.k.irb.store(self.raw(value), self._element(pointer, index), align=8)

    def load_i32(self, pointer: Value, offset: int) -> Value:
        """The 32-bit integer at a byte offset, sign-extended."""
        irb = self.k.irb
        place = irb.gep(irb.inttoptr(pointer.ir, PTR), [I64(offset)], source_etype=I8)
        return Value(self, irb.sext(irb.load(place, align=4, typ=ir.IntType(32)), I64))

    def store_i32(self, value: Any, pointer: Value, offset: int) -> None:
        irb = self.k.irb
        place = irb.gep(irb.inttoptr(pointer.ir, PTR), [I64(offset)], source_etype=I8)
        irb.store(irb.trunc(self.raw(value), ir.IntType(32)), place, align=4)

    def _element(self, pointer: Any, index: Any) -> ir.Value:
        irb = self.k.irb
        return irb.gep(irb.inttoptr(self.raw(pointer), PTR), [self.raw(index)], source_etype=I64)

    # control
    @contextmanager
    def when(self, test: Value) -> Iterator[None]:
        """The statements run where `test` holds."""
        inside, after = self.k.block("when"), self.k.block("after")
        self.k.irb.cbranch(test.ir, inside, after)
        self.k.irb.position_at_end(inside)
        yield
        if not self.k.irb.block.is_terminated:
            self.k.irb.branch(after)
        self.k.irb.position_at_end(after)

    def choose(self, test: Value, yes: Callable[[], None], no: Callable[[], None]) -> None:
        """``yes()`` where `test` holds, else ``no()``."""
        first, second, after = (self.k.block(n) for n in ("yes", "no", "after"))
        self.k.irb.cbranch(test.ir, first, second)
        for block, emit in ((first, yes), (second, no)):
            self.k.irb.position_at_end(block)
            emit()
            if not self.k.irb.block.is_terminated:
                self.k.irb.branch(after)
        self.k.irb.position_at_end(after)

    def switch(self, selector: Value, cases: Mapping[int, Callable[[], None]]) -> None:
        """Run the case of `selector`; none for a number that is not there."""
        irb, after = self.k.irb, self.k.block("after")
        table = irb.switch(selector.ir, after)
        for number, emit in cases.items():
            block = self.k.block(f"case{number}")
            table.add_case(I64(number), block)
            irb.position_at_end(block)
            emit()
            if not irb.block.is_terminated:
                irb.branch(after)
        irb.position_at_end(after)

    @contextmanager
    def loop(self, count: Any) -> Iterator[Value]:
        """``for i in range(count)``."""
        with self.k.loop(self.raw(count)) as index:
            yield Value(self, index)

    @contextmanager
    def loop_while(self, test: Callable[[], Value]) -> Iterator[None]:
        """``while test():``."""
        irb = self.k.irb
        head, inside, after = (self.k.block(n) for n in ("while", "inside", "after"))
        irb.branch(head)
        irb.position_at_end(head)
        irb.cbranch(test().ir, inside, after)
        irb.position_at_end(inside)
        yield
        irb.branch(head)
        irb.position_at_end(after)

    def ret(self, code: int) -> None:
        """Return; nothing may follow in this block."""
        self.k.ret(code)
