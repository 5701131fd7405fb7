"""Micro-kernels by key: built on demand, optimised once, cached on disk."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from llvmlite import ir

from pipedsl.sim import layout
from pipedsl.sim.builder import I8, I32, I64, LLVM_TYPES, PTR, Builder, micro_symbol
from pipedsl.sim.jit import Linked, host
from pipedsl.sim.micro.trial import note_access, stand_in

MicroBody = Callable[..., None]
_BODIES: dict[str, tuple[MicroBody, Callable[..., list[ir.Type]]]] = {}
LaneFunction = Callable[..., ir.Value]
_FUNCTIONS: dict[str, tuple[LaneFunction, str]] = {}
_linked: dict[tuple, Linked] = {}
_lock = threading.RLock()


class Micro:
    """A micro-kernel under construction: ``i32 f(group, wave, args...)``; 0 means success.

    Attributes
    ----------
    args : tuple of ir.Value
        Behind group and wave.
    trial : bool
        Whether accesses are only noted, not performed (see `trial`).
    """

    def __init__(
        self, key: tuple, kinds: list[ir.Type], *, traced: bool = False, trial: bool = False
    ) -> None:
        self.trial = trial
        self.module = ir.Module(micro_symbol(key))
        kind = ir.FunctionType(I32, [PTR, PTR, *kinds])
        self.function = ir.Function(self.module, kind, micro_symbol(key))
        self.group, self.wave, *rest = self.function.args
        self.args = tuple(rest)
        self.irb = ir.IRBuilder(self.function.append_basic_block("entry"))
        self.s = Builder(self.irb, 0)
        self._trace_parts: int | None = 0 if traced else None

    def lanes(self, count: int) -> Builder:
        """Operations over `count` lanes."""
        return Builder(self.irb, count)

    def at(self, pointer: ir.Value, offset: int | ir.Value) -> ir.Value:
        """`pointer` moved by `offset` bytes."""
        if isinstance(offset, int):
            offset = I64(offset)
        return self.irb.gep(pointer, [offset], source_etype=I8)

    def load(
        self, kind: ir.Type, pointer: ir.Value, offset: int | ir.Value = 0, align: int = 1
    ) -> ir.Value:
        return self.irb.load(self.at(pointer, offset), align=align, typ=kind)

    def store(
        self, value: ir.Value, pointer: ir.Value, offset: int | ir.Value = 0, align: int = 1
    ) -> None:
        self.irb.store(value, self.at(pointer, offset), align=align)

    def ret(self, code: int) -> None:
        self.irb.ret(I32(code))

    def trace(self, space: int, address: ir.Value, width: int, lane: ir.Value) -> None:
        """In a traced micro-kernel: note that `lane` accesses `width` bytes at `address`."""
        if self.trial:
            note_access(self, space, address, width)
        part = self._trace_parts
        if part is None or part >= layout.TRACE_PARTS:
            return
        self._trace_parts = part + 1
        record = self.at(self.load(PTR, self.group, layout.TRACE, 8), part * layout.TRACE_PART)
        lanes = self.load(I64, record, layout.TRACE_LANES, 8)
        self.store(self.irb.or_(lanes, self.irb.shl(I64(1), lane)), record, layout.TRACE_LANES, 8)
        self.store(I64(width | space << 32), record, layout.TRACE_WIDTH, 8)
        place = self.irb.add(self.irb.shl(lane, I64(3)), I64(layout.TRACE_ADDRESSES))
        self.store(address, record, place, 8)

    @property
    def observed(self) -> bool:
        """Whether every access must be noted, so that none may be checked together with others."""
        return self.trial or self._trace_parts is not None

    def place(self, pointer: ir.Value) -> ir.Value:
        """`pointer`, the place of a checked access; in a trial, memory that stands in for it."""
        return stand_in(self) if self.trial else pointer

    def block(self, name: str) -> ir.Block:
        return self.function.append_basic_block(name)

    def variable(self, kind: ir.Type, value: int | None) -> ir.Value:
        """A mutable value that holds `value` from here on."""
        with self.irb.goto_entry_block():
            pointer = self.irb.alloca(kind)
            pointer.type = PTR  # llvmlite gives a typed one
        self.irb.store(kind(value), pointer)
        return pointer

    @contextmanager
    def when(self, condition: ir.Value) -> Iterator[None]:
        """``if condition:``; the body may return."""
        inside, after = self.block("then"), self.block("after")
        self.irb.cbranch(condition, inside, after)
        self.irb.position_at_end(inside)
        yield
        if not self.irb.block.is_terminated:
            self.irb.branch(after)
        self.irb.position_at_end(after)

    @contextmanager
    def loop(self, count: int | ir.Value) -> Iterator[ir.Value]:
        """``for i in range(count)`` over i64."""
        count = I64(count) if isinstance(count, int) else count
        before, head = self.irb.block, self.block("loop")
        body, done = self.block("body"), self.block("done")
        self.irb.branch(head)
        self.irb.position_at_end(head)
        index = self.irb.phi(I64)
        index.add_incoming(I64(0), before)
        self.irb.cbranch(self.irb.icmp_unsigned("<", index, count), body, done)
        self.irb.position_at_end(body)
        yield index
        index.add_incoming(self.irb.add(index, I64(1)), self.irb.block)
        self.irb.branch(head)
        self.irb.position_at_end(done)

    @contextmanager
    def active_lanes(self, mask: ir.Value) -> Iterator[ir.Value]:
        """Loop over the set bits of `mask`, lowest first; yields the lane as i64."""
        kind = mask.type
        before, head = self.irb.block, self.block("lanes")
        body, done = self.block("lane"), self.block("lanes_done")
        self.irb.branch(head)
        self.irb.position_at_end(head)
        left = self.irb.phi(kind)
        left.add_incoming(mask, before)
        self.irb.cbranch(self.irb.icmp_unsigned("!=", left, kind(0)), body, done)
        self.irb.position_at_end(body)
        lane = self.s.count_trailing_zeros(left)
        yield lane if kind == I64 else self.irb.zext(lane, I64)
        left.add_incoming(self.irb.and_(left, self.irb.sub(left, kind(1))), self.irb.block)
        self.irb.branch(head)
        self.irb.position_at_end(done)


def micro_kernel(name: str, kinds: Callable[..., list[ir.Type]]):
    """Register ``body(k, *parameters)`` under `name`; `kinds(*parameters)` gives argument types."""

    def register(body: MicroBody) -> MicroBody:
        if name in _BODIES:
            raise ValueError(f"micro-kernel {name} is registered twice")
        _BODIES[name] = (body, kinds)
        return body

    return register


def lane_function(name: str, result: str) -> Callable[[LaneFunction], LaneFunction]:
    """Register ``body(b, *args)``, a pure function of lanes that returns `result` elements.

    An empty `result` stands for the type of the first argument.

    Meanings call it with ``b.function(name, result, *args)``; its key is the name, the number of
    lanes (0 for scalars) and the arguments' element types.
    """

    def register(body: LaneFunction) -> LaneFunction:
        if name in _FUNCTIONS:
            raise ValueError(f"lane function {name} is registered twice")
        _FUNCTIONS[name] = (body, result)
        return body

    return register


def _function_text(key: tuple) -> str:
    name, lanes, *elements = key
    body, result = _FUNCTIONS[name]
    irb = ir.IRBuilder()
    b = Builder(irb, lanes)
    module = ir.Module(micro_symbol(key))
    kinds = [b.type(LLVM_TYPES[element]) for element in elements]
    target = b.type(result) if result else kinds[0]
    function = ir.Function(module, ir.FunctionType(target, kinds), micro_symbol(key))
    irb.position_at_end(function.append_basic_block("entry"))
    irb.ret(body(b, *function.args))
    return str(module)


def micro_key(name: str, *parameters: int | str) -> tuple:
    """Key of one micro-kernel: its name and the parameters that specialise it.

    ``("traced", *key)`` is the micro-kernel `key` that also notes the addresses it accesses,
    ``("trial", *key)`` the one that only notes them.
    """
    return (name, *parameters)


def build_text(key: tuple) -> str:
    """LLVM IR of the micro-kernel or lane function `key`."""
    if key[0] in _FUNCTIONS:
        return _function_text(key)
    traced, trial = key[0] == "traced", key[0] == "trial"
    name, *parameters = key[1:] if traced or trial else key
    body, kinds = _BODIES[name]
    k = Micro(key, kinds(*parameters), traced=traced, trial=trial)
    body(k, *parameters)
    return str(k.module)


def address(key: tuple) -> int:
    """Address of the micro-kernel `key`, compiled on first use."""
    found = _linked.get(key)
    if found is None:
        with _lock:
            found = _linked.get(key)
            if found is None:
                image = host().compile(build_text(key), 3)
                found = _linked[key] = host().link(image, micro_symbol(key), {})
    return found.address
