"""Elements of matrix operands: out of the registers of a wave, and results back into them."""

from __future__ import annotations

from collections.abc import Sequence

from llvmlite import ir

from pipedsl.isa.families.matrix_shape import BITS
from pipedsl.sim.builder import I16, I32, Builder
from pipedsl.sim.micro.narrow_floats import FORMATS, decode
from pipedsl.sim.micro.registry import Micro

# The type that products of an element type are computed in.
COMPUTED = {"f64": "f64", "i8": "i32", "u8": "i32", "i4": "i32", "u4": "i32"}


class Rows:
    """Consecutive registers of a wave, loaded once each.

    Parameters
    ----------
    k : Micro
    pointer : ir.Value
        The first register's row.
    lanes : int
    sources : sequence of int, optional
        The lane that each lane's value is taken from.
    """

    def __init__(
        self, k: Micro, pointer: ir.Value, lanes: int, sources: Sequence[int] | None = None
    ) -> None:
        self._k = k
        self._pointer = pointer
        self._b = k.lanes(lanes)
        self._sources = sources
        self._loaded: dict[int, ir.Value] = {}

    def word(self, register: int) -> ir.Value:
        """Register `register` in all lanes, u32."""
        if register not in self._loaded:
            offset = register * self._b.lanes * 4
            word = self._k.load(self._b.type("u32"), self._pointer, offset, 64)
            if self._sources is not None:
                mask = ir.Constant(word.type, [I32(lane) for lane in self._sources])
                word = self._k.irb.shuffle_vector(word, word, mask)
            self._loaded[register] = word
        return self._loaded[register]

    def field(self, first: int, bits: int) -> ir.Value:
        """`bits` bits from bit `first` on, in the low bits of u32; what lies above is undefined."""
        register, shift = divmod(first, 32)
        word = self.word(register)
        if shift + bits > 32:
            return self._b.funnel_right(self.word(register + 1), word, shift)
        return self._b.lshr(word, shift) if shift else word

    def element(self, index: int, kind: str) -> ir.Value:
        """Element `index` of each lane as its computed type."""
        bits = BITS[kind]
        if kind == "f64":
            low, high = (self._b.zext("u64", self.word(2 * index + i)) for i in (0, 1))
            return self._b.bitcast("f64", self._b.or_(low, self._b.shl(high, 32)))
        return widen(self._b, self.field(index * bits, bits), kind)


def widen(b: Builder, word: ir.Value, kind: str) -> ir.Value:
    """The low bits of `word` (u32) as the type that `kind` is computed in; exact."""
    bits = BITS[kind]
    if kind in FORMATS:
        return decode(FORMATS[kind], b, word)
    if kind == "f32":
        return b.bitcast("f32", word)
    if kind == "xf32":
        # 10 bits of mantissa take part in the product.
        return b.bitcast("f32", b.and_(word, 0xFFFFE000))
    if kind == "f16":
        return b.fconvert("f32", b.bitcast("f16", b.trunc("u16", word)))
    if kind == "bf16":
        return b.bitcast("f32", b.shl(word, 16))
    if kind in ("i8", "i4"):
        return b.ashr(b.shl(word, 32 - bits), 32 - bits)
    return b.and_(word, (1 << bits) - 1)


class Tile:
    """C or D in registers: pieces of ``n`` lanes, all of one row of the matrix.

    Parameters
    ----------
    k : Micro
    pointer : ir.Value
    lanes, n : int
    kind : str
        f64, f32, i32, f16 or bf16.
    half : int or None
        Half of each register that holds its only 16-bit element; None: two elements a register.
    """

    def __init__(
        self, k: Micro, pointer: ir.Value, lanes: int, n: int, kind: str, half: int | None
    ) -> None:
        self._k = k
        self._pointer = pointer
        self._row = lanes * 4
        self._n = n
        self._b = k.lanes(n)
        self._kind = kind
        self._half = half

    def load(self, element: int, group: int) -> ir.Value:
        """One piece as its computed type."""
        offset = self._offset(element, group)
        if self._kind == "f64":
            low, high = (self._load(I32, offset + i * self._row) for i in (0, 1))
            wide = self._b.shl(self._b.zext("u64", high), 32)
            return self._b.bitcast("f64", self._b.or_(self._b.zext("u64", low), wide))
        word = self._load(I32, offset)
        if self._kind == "i32":
            return word
        if BITS[self._kind] == 16:
            word = self._b.lshr(word, 16 * self._half_of(element))
        return widen(self._b, word, self._kind)

    def store(self, value: ir.Value, element: int, group: int) -> None:
        """Write one piece; 16-bit results are rounded to nearest even."""
        offset, b = self._offset(element, group), self._b
        if self._kind == "f64":
            wide = b.bitcast("u64", value)
            for i, shift in enumerate((0, 32)):
                self._store(b.trunc("u32", b.lshr(wide, shift)), offset + i * self._row)
        elif BITS[self._kind] == 16:
            shift = 16 * self._half_of(element)
            word = b.shl(b.zext("u32", narrow(b, value, self._kind)), shift)
            kept = b.and_(self._load(I32, offset), 0xFFFF0000 >> shift)
            self._store(b.or_(kept, word), offset)
        else:
            self._store(value, offset)

    def _half_of(self, element: int) -> int:
        return element % 2 if self._half is None else self._half

    def _offset(self, element: int, group: int) -> int:
        if self._kind == "f64":
            register = 2 * element
        elif BITS[self._kind] == 16 and self._half is None:
            register = element // 2
        else:
            register = element
        return register * self._row + group * self._n * 4

    def _load(self, kind: ir.Type, offset: int) -> ir.Value:
        return self._k.load(self._b.type(kind), self._pointer, offset, 4)

    def _store(self, value: ir.Value, offset: int) -> None:
        self._k.store(value, self._pointer, offset, 4)


def narrow(b: Builder, value: ir.Value, kind: str) -> ir.Value:
    """f32 `value` as the bits of an f16 or bf16, u16."""
    if kind == "f16":
        return b.bitcast("u16", b.fconvert("f16", value))
    raw = b.bitcast("u32", value)
    rounded = b.add(raw, b.add(b.and_(b.lshr(raw, 16), 1), 0x7FFF))
    quiet = b.or_(raw, 0x400000)
    return b.irb.trunc(b.lshr(b.select(b.is_nan(value), quiet, rounded), 16), b.type(I16))
