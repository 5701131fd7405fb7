"""Matrix products of a wave: operands are unpacked once into panels, then rows of D accumulate."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import astuple, dataclass, replace

from llvmlite import ir

from pipedsl.isa.families.matrix_shape import MatrixShape
from pipedsl.sim.builder import I32, I64, PTR
from pipedsl.sim.micro.matrix_elements import COMPUTED, Tile
from pipedsl.sim.micro.matrix_panels import Panel, Unpacker, scales
from pipedsl.sim.micro.matrix_sums import RULES, Rows, scaled, sequential
from pipedsl.sim.micro.narrow_floats import FORMATS
from pipedsl.sim.micro.registry import Micro, micro_kernel

# Lanes of accumulators that stay in vector registers at once: 16 of 16 floats.
_TILE_LANES = 256
# Exponent of the smallest normal number of a type.
_LOWEST = {"f16": -14, **{name: 1 - f.bias for name, f in FORMATS.items()}}


@dataclass(frozen=True)
class Product:
    """What one micro-kernel computes: a shape with the modifiers of an instruction.

    Attributes
    ----------
    rule : str
        Key of `RULES`, or empty: fused multiply-add in the order of k.
    run : int
        Products that the rule adds at once.
    constant : bool
        C is one value instead of registers.
    signs : int
        Negations: bit 0 A at even k, 1 A at odd k, 2 and 3 B likewise, 4 C; bit 5: C's absolute
        value comes first.
    clamp : bool
        An integer result saturates.
    half : int
        Half of the registers that holds 16-bit C and D, where a register has one.
    cbsz, abid, blgp : int
        A's block broadcast and B's lane group pattern.
    first_index : int
        Bit of the index register where A's sparse indices begin.
    scales : str
        For A and B: ``v`` scales in a register row or ``s`` a scalar, then the byte: ``v0s3``.
    """

    rule: str = ""
    run: int = 1
    constant: bool = False
    signs: int = 0
    clamp: bool = False
    half: int = 0
    cbsz: int = 0
    abid: int = 0
    blgp: int = 0
    first_index: int = 0
    scales: str = ""

    def key(self, shape: MatrixShape) -> tuple:
        """Key of the micro-kernel."""
        return ("matrix", *astuple(self), *shape.key())

    @classmethod
    def of_key(cls, parameters: tuple) -> tuple[Product, MatrixShape]:
        """The product and the shape of a key's parameters."""
        count = len(cls.__dataclass_fields__)
        return cls(*parameters[:count]), MatrixShape(*parameters[count:])


def _kinds(*parameters: object) -> list[ir.Type]:
    product, shape = Product.of_key(parameters)
    extra = [PTR] if shape.sparse else [PTR if c == "v" else I32 for c in product.scales[::2]]
    return [PTR, PTR, PTR, I64 if product.constant else PTR, *extra]


@micro_kernel("matrix", _kinds)
def matrix(k: Micro, *parameters: object) -> None:
    """One product in all lanes, whatever EXEC is.

    Arguments: rows of D, A, B, C (or C's bits), then A's index row or the two scales.
    """
    product, shape = Product.of_key(parameters)
    Kernel(k, product, shape).build()
    k.ret(0)


class Kernel:
    """Builds the code of one product."""

    def __init__(self, k: Micro, product: Product, shape: MatrixShape) -> None:
        self.k = k
        self.product = product
        self.shape = s = shape
        self.kind = COMPUTED.get(s.a, "f32")
        self.b = k.lanes(s.n)
        self.count = min(s.m, max(_TILE_LANES // s.n, 1))
        self.left = Panel(k, self.kind, s.blocks, s.k, s.m)
        self.right = Panel(k, self.kind, s.blocks, s.k, s.n)
        self.sums = Panel(k, self.kind, 1, self.count, s.n)
        self.partial = Panel(k, self.kind, 1, self.count, s.n)
        self.left_scales = Panel(k, "f64", 1, max(s.k // 32, 1), s.m)
        self.right_scales = Panel(k, "f64", 1, max(s.k // 32, 1), s.n)

    def build(self) -> None:
        s, k = self.shape, self.k
        d, _, _, c, *_ = k.args
        self._unpack()
        half = self.product.half if s.half_rows else None
        source = Tile(k, c, s.lanes, s.n, s.d, half)
        target = Tile(k, d, s.lanes, s.n, s.d, half)
        for block, first, places in self._pieces():
            for row, place in enumerate(places):
                self.sums.put(self._start(source, place), 0, row)
            self._accumulate(block, first)
            for row, place in enumerate(places):
                target.store(self._finish(source, self.sums.get(0, row), place), *place)

    def _unpack(self) -> None:
        s, k, product = self.shape, self.k, self.product
        _, a, b, _, *extra = k.args
        flushes = product.rule == "flushed"
        smallest = {kind: 2.0 ** _LOWEST.get(kind, -126) for kind in (s.a, s.b) if flushes}
        unpacker = Unpacker(k, s, product.signs, smallest)
        if s.sparse:
            unpacker.sparse_a(a, extra[0], product.first_index, self.left)
        else:
            unpacker.a(a, self.left)
        unpacker.b(b, self.right, product.blgp)
        if product.scales:
            left, right = int(product.scales[1]), int(product.scales[3])
            scales(k, extra[0], left, s.lanes, self.left_scales, s.m)
            scales(k, extra[1], right, s.lanes, self.right_scales, s.n)

    def _pieces(self) -> Iterator[tuple[int, int, list[tuple[int, int]]]]:
        """Block, first row and places (element, lane group) of the rows that accumulate together."""
        s = self.shape
        where = {}
        for element in range(s.d_elements):
            for group in range(s.lanes // s.n):
                where[s.row_of(element, group)] = element, group
        for block in range(s.blocks):
            for first in range(0, s.m, self.count):
                rows = range(first, first + self.count)
                yield block, first, [where[block, row] for row in rows]

    def _start(self, source: Tile, place: tuple[int, int]) -> ir.Value:
        """What the sum starts from: C, or 0 where C is added with saturation at the end."""
        if self.product.clamp:
            return self.b.const("i32", 0)
        value = self._addend(source, place)
        if self.product.rule == "flushed":
            value = self.b.select(self.b.fcmp("<", self.b.fabs(value), 2.0**-126), 0.0, value)
        return value

    def _finish(self, source: Tile, total: ir.Value, place: tuple[int, int]) -> ir.Value:
        if self.product.clamp:
            return self.b.saturating("sadd", total, self._addend(source, place))
        return total

    def _addend(self, source: Tile, place: tuple[int, int]) -> ir.Value:
        b, signs = self.b, self.product.signs
        if self.product.constant:
            bits = self.k.args[3]
            whole = bits if self.kind == "f64" else self.k.irb.trunc(bits, I32)
            value = b.splat(self.k.irb.bitcast(whole, self.left.element))
        else:
            value = source.load(*place)
        if signs & 32:
            value = b.fabs(value)
        return b.fneg(value) if signs & 16 else value

    def _accumulate(self, block: int, first: int) -> None:
        s, product = self.shape, self.product
        # cbsz lets 2**cbsz blocks share the block of A that abid picks.
        shared = 1 << product.cbsz
        a_block = block - block % shared + product.abid % shared
        rows = Rows(
            self.k, self.b, self.left, self.right, self.sums, s.k, block, a_block, first, self.count
        )
        if product.scales:
            scaled(rows, self.partial, self.left_scales, self.right_scales)
        elif product.rule:
            lowest = _LOWEST.get(s.a, -126), _LOWEST.get(s.b, -126)
            RULES[product.rule](replace(rows, lowest=lowest), min(product.run, s.k))
        else:
            sequential(rows)
