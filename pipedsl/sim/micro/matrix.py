"""Matrix products of a wave: operands are unpacked once into panels, then rows of D accumulate."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import astuple, dataclass

from llvmlite import ir

from pipedsl.isa.families.matrix_shape import MatrixShape
from pipedsl.sim.builder import DOUBLE, FLOAT, I32, I64, PTR
from pipedsl.sim.micro.matrix_elements import COMPUTED, Rows, Tile
from pipedsl.sim.micro.registry import Micro, micro_kernel

# Lanes of accumulators that stay in vector registers at once: 16 of 16 floats.
_TILE_LANES = 256


@dataclass(frozen=True)
class Product:
    """What one micro-kernel computes: a shape with the modifiers of an instruction.

    Attributes
    ----------
    numerics : {"fast", "exact"}
    constant : bool
        C is one value instead of registers.
    signs : int
        Negations: bit 0 A at even k, 1 A at odd k, 2 and 3 B likewise, 4 C; bit 5: C's absolute value.
    clamp : bool
        An integer result saturates.
    half : int
        Half of the registers that holds 16-bit C (bit 0) and D (bit 1), where a register has one.
    cbsz, abid, blgp : int
        A's block broadcast and B's lane group pattern.
    """

    numerics: str
    constant: bool = False
    signs: int = 0
    clamp: bool = False
    half: int = 0
    cbsz: int = 0
    abid: int = 0
    blgp: int = 0

    def key(self, shape: MatrixShape) -> tuple:
        """Key of the micro-kernel."""
        return ("matrix", *astuple(self), *shape.key())

    @classmethod
    def of_key(cls, parameters: tuple) -> tuple[Product, MatrixShape]:
        """The product and the shape of a key's parameters."""
        count = len(cls.__dataclass_fields__)
        return cls(*parameters[:count]), MatrixShape(*parameters[count:])


def _kinds(*parameters: object) -> list[ir.Type]:
    product, _ = Product.of_key(parameters)
    return [PTR, PTR, PTR, I64 if product.constant else PTR]


@micro_kernel("matrix", _kinds)
def matrix(k: Micro, *parameters: object) -> None:
    """``D rows, A rows, B rows, C rows or bits``: one product in all lanes, whatever EXEC is."""
    product, shape = Product.of_key(parameters)
    Kernel(k, product, shape).build()
    k.ret(0)


class Kernel:
    """Builds the code of one product."""

    def __init__(self, k: Micro, product: Product, shape: MatrixShape) -> None:
        self.k = k
        self.product = product
        self.shape = shape
        self.type = COMPUTED.get(shape.a, "f32")
        self.b = k.lanes(shape.n)
        self.rows_at_once = min(shape.m, max(_TILE_LANES // shape.n, 1))
        self.element = {"f64": DOUBLE, "f32": FLOAT, "i32": I32}[self.type]
        self.bytes = 8 if self.type == "f64" else 4

    def build(self) -> None:
        s, k = self.shape, self.k
        d, a, b, c = k.args
        panel_a = self._panel(s.m)
        panel_b = self._panel(s.n)
        sums = [self._slot(self.b.type(self.element)) for _ in range(self.rows_at_once)]
        self._unpack_a(a, panel_a)
        self._unpack_b(b, panel_b)
        half = self.product.half if s.half_rows else None
        source = Tile(k, c, s.lanes, s.n, s.d, None if half is None else half & 1)
        target = Tile(k, d, s.lanes, s.n, s.d, None if half is None else half >> 1)
        for block, rows in self._pieces():
            for slot, (_, element, group) in zip(sums, rows, strict=False):
                k.irb.store(self._addend(source, element, group), slot)
            self._accumulate(panel_a, panel_b, block, rows, sums)
            for slot, (_, element, group) in zip(sums, rows, strict=False):
                target.store(k.irb.load(slot, typ=self.b.type(self.element)), element, group)

    # panels: [block][k][row or column], in the computed type
    def _panel(self, width: int) -> ir.Value:
        count = self.shape.blocks * self.shape.k * width
        return self._slot(ir.ArrayType(self.element, count))

    def _slot(self, kind: ir.Type) -> ir.Value:
        slot = self.k.irb.alloca(kind)
        slot.align = 64
        slot.type = PTR
        return slot

    def _place(self, block: int, kk: int, width: int) -> int:
        return (block * self.shape.k + kk) * width * self.bytes

    def _unpack_a(self, pointer: ir.Value, panel: ir.Value) -> None:
        s = self.shape
        rows = Rows(self.k, pointer, s.lanes)
        for index in range(s.elements):
            value = rows.element(index, s.a)
            for group in range(s.groups):
                block, kk = s.k_of(index, group)
                self._fill(panel, self._lanes_of(value, group, s.m), block, kk, s.m, 0)

    def _unpack_b(self, pointer: ir.Value, panel: ir.Value) -> None:
        s = self.shape
        rows = Rows(self.k, pointer, s.lanes)
        for index in range(s.elements):
            value = rows.element(index, s.b)
            for group in range(s.groups):
                block, kk = s.k_of(index, group)
                self._fill(panel, self._lanes_of(value, group, s.n), block, kk, s.n, 2)

    def _fill(
        self, panel: ir.Value, piece: ir.Value, block: int, kk: int, width: int, sign: int
    ) -> None:
        if self.product.signs >> (sign + kk % 2) & 1:
            piece = self.k.irb.fneg(piece)
        align = min(width * self.bytes, 64)
        self.k.store(piece, panel, self._place(block, kk, width), align)

    def _lanes_of(self, value: ir.Value, group: int, width: int) -> ir.Value:
        return take(self.k, value, range(group * width, (group + 1) * width))

    # D by pieces of rows that fit the host's vector registers
    def _pieces(self) -> Iterator[tuple[int, list[tuple[int, int, int]]]]:
        """Block and (row, element, group of lanes) of the rows that accumulate together."""
        s = self.shape
        where = {}
        for element in range(s.d_elements):
            for group in range(s.lanes // s.n):
                where[s.row_of(element, group)] = element, group
        for block in range(s.blocks):
            for first in range(0, s.m, self.rows_at_once):
                rows = range(first, first + self.rows_at_once)
                yield block, [(row, *where[block, row]) for row in rows]

    def _addend(self, source: Tile, element: int, group: int) -> ir.Value:
        if self.product.constant:
            bits = self.k.args[3]
            whole = bits if self.type == "f64" else self.k.irb.trunc(bits, I32)
            return self.b.splat(self.k.irb.bitcast(whole, self.element))
        value = source.load(element, group)
        if self.product.signs & 32:
            value = self.b.fabs(value)
        return self.b.fneg(value) if self.product.signs & 16 else value

    def _accumulate(
        self,
        panel_a: ir.Value,
        panel_b: ir.Value,
        block: int,
        rows: list[tuple[int, int, int]],
        sums: list[ir.Value],
    ) -> None:
        """Add the products to `sums`, k by k."""
        s, k, irb = self.shape, self.k, self.k.irb
        vector = self.b.type(self.element)
        a_block = self._a_block(block)
        with k.loop(s.k) as kk:
            a_line = irb.mul(kk, I64(s.m * self.bytes))
            b_line = irb.mul(kk, I64(s.n * self.bytes))
            column = k.at(panel_b, irb.add(b_line, I64(self._place(block, 0, s.n))))
            right = k.load(vector, column, 0, min(s.n * self.bytes, 64))
            start = k.at(panel_a, irb.add(a_line, I64(self._place(a_block, 0, s.m))))
            for slot, (row, _, _) in zip(sums, rows, strict=False):
                left = self.b.splat(k.load(self.element, start, row * self.bytes, self.bytes))
                irb.store(self._multiply_add(left, right, irb.load(slot, typ=vector)), slot)

    def _multiply_add(self, left: ir.Value, right: ir.Value, total: ir.Value) -> ir.Value:
        if self.type == "i32":
            return self.b.add(total, self.b.mul(left, right))
        return self.b.fma(left, right, total)

    def _a_block(self, block: int) -> int:
        """Block of A that takes part: cbsz lets 2**cbsz blocks share the one that abid picks."""
        shared = 1 << self.product.cbsz
        return block - block % shared + self.product.abid % shared


def take(k: Micro, value: ir.Value, lanes: range) -> ir.Value:
    """The lanes `lanes` of a vector."""
    if len(lanes) == value.type.count:
        return value
    mask = ir.Constant(ir.VectorType(I32, len(lanes)), [I32(lane) for lane in lanes])
    return k.irb.shuffle_vector(value, ir.Constant(value.type, ir.Undefined), mask)
