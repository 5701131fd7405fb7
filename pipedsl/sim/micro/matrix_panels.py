"""Operands of a matrix product, unpacked from registers into panels that the products read."""

from __future__ import annotations

from llvmlite import ir

from pipedsl.isa.families.matrix_shape import MatrixShape
from pipedsl.sim.builder import DOUBLE, FLOAT, I32, I64, PTR
from pipedsl.sim.micro.matrix_elements import Rows
from pipedsl.sim.micro.registry import Micro

_ELEMENTS = {"f64": DOUBLE, "f32": FLOAT, "i32": I32}

# Lane groups of 16 that B's lanes take their values from, by blgp.
_PATTERNS = (
    (0, 1, 2, 3), (0, 1, 0, 1), (2, 3, 2, 3), (1, 2, 3, 0),
    (0, 0, 0, 0), (1, 1, 1, 1), (2, 2, 2, 2), (3, 3, 3, 3),
)  # fmt: skip


class Panel:
    """A matrix on the stack: ``[block][line]`` of `width` elements.

    Lines are k for A and B (the elements of a line are rows or columns), rows for sums.

    Parameters
    ----------
    k : Micro
        Positioned in the entry block, where LLVM promotes what it can to registers.
    kind : {"f64", "f32", "i32"}
    blocks, lines, width : int
    """

    def __init__(self, k: Micro, kind: str, blocks: int, lines: int, width: int) -> None:
        self._k = k
        self._lines = lines
        self.element = _ELEMENTS[kind]
        self.bytes = 8 if kind == "f64" else 4
        self._stride = width * self.bytes
        self.vector = k.lanes(width).type(self.element)
        self._slot = k.irb.alloca(ir.ArrayType(self.element, blocks * lines * width))
        self._slot.align = 64
        self._slot.type = PTR

    def line(self, block: int, line: int | ir.Value) -> ir.Value:
        """Pointer to a line."""
        if isinstance(line, int):
            return self._k.at(self._slot, (block * self._lines + line) * self._stride)
        offset = self._k.irb.mul(line, I64(self._stride))
        start = I64(block * self._lines * self._stride)
        return self._k.at(self._slot, self._k.irb.add(offset, start))

    def get(self, block: int, line: int | ir.Value) -> ir.Value:
        """A line as a vector."""
        return self._k.load(self.vector, self.line(block, line), 0, min(self._stride, 64))

    def put(self, value: ir.Value, block: int, line: int | ir.Value) -> None:
        """Write a line."""
        self._k.store(value, self.line(block, line), 0, min(self._stride, 64))


class Unpacker:
    """Fills the panels of A and B.

    Parameters
    ----------
    k : Micro
    shape : MatrixShape
    signs : int
        Negations, as in `Product`.
    smallest : mapping of str to float
        Per element type, the magnitude below which a value is read as zero.
    """

    def __init__(
        self, k: Micro, shape: MatrixShape, signs: int, smallest: dict[str, float]
    ) -> None:
        self._k = k
        self._shape = shape
        self._signs = signs
        self._smallest = smallest

    def a(self, pointer: ir.Value, panel: Panel) -> None:
        """Dense A."""
        s = self._shape
        rows = Rows(self._k, pointer, s.lanes)
        for index in range(s.elements):
            self._spread(rows.element(index, s.a), s.a, index, s.m, panel, self._signs & 3)

    def b(self, pointer: ir.Value, panel: Panel, blgp: int) -> None:
        """B, its lanes permuted in groups of 16 as `blgp` says."""
        s = self._shape
        lanes = [16 * group + lane for group in _PATTERNS[blgp] for lane in range(16)]
        rows = Rows(self._k, pointer, s.lanes, lanes if blgp else None)
        for index in range(s.elements):
            self._spread(rows.element(index, s.b), s.b, index, s.n, panel, self._signs >> 2 & 3)

    def sparse_a(self, pointer: ir.Value, indices: ir.Value, first_bit: int, panel: Panel) -> None:
        """A of which two of each four k are stored, with a 2-bit index each."""
        s = self._shape
        b = self._k.lanes(s.lanes)
        rows, index_row = Rows(self._k, pointer, s.lanes), Rows(self._k, indices, s.lanes)
        for quad in range(s.elements // 4):
            values = [rows.element(2 * quad + i, s.a) for i in (0, 1)]
            places = [b.and_(index_row.field(first_bit + 4 * quad + 2 * i, 2), 3) for i in (0, 1)]
            zero = ir.Constant(values[0].type, None)
            for place in range(4):
                value = b.select(b.ucmp("==", places[1], place), values[1], zero)
                value = b.select(b.ucmp("==", places[0], place), values[0], value)
                self._spread(value, s.a, 4 * quad + place, s.m, panel, self._signs & 3)

    def _spread(
        self, value: ir.Value, kind: str, index: int, width: int, panel: Panel, signs: int
    ) -> None:
        """Store the lanes that hold element `index` as lines of the panel."""
        s, b = self._shape, self._k.lanes(value.type.count)
        if kind in self._smallest:
            small = b.fcmp("<", b.fabs(value), self._smallest[kind])
            value = b.select(small, 0.0, value)
        for group in range(s.groups):
            block, kk = s.k_of(kind, index, group)
            piece = take(self._k, value, range(group * width, (group + 1) * width))
            panel.put(self._k.irb.fneg(piece) if signs >> kk % 2 & 1 else piece, block, kk)


def scales(k: Micro, source: ir.Value, byte: int, lanes: int, panel: Panel, width: int) -> None:
    """E8M0 block scales as f64: line g holds those of block g; 0xff is NaN.

    `source` is a register row (block g in the lanes of group g) or a scalar for all.
    """
    b = k.lanes(lanes)
    word = Rows(k, source, lanes).word(0) if source.type == PTR else b.splat(source)
    code = b.and_(b.lshr(word, 8 * byte), 255)
    wide = b.shl(b.zext("u64", b.add(code, 1023 - 127)), 52)
    value = b.bitcast("f64", b.select(b.ucmp("==", code, 255), 0x7FF8 << 48, wide))
    for group in range(lanes // width):
        panel.put(take(k, value, range(group * width, (group + 1) * width)), 0, group)


def take(k: Micro, value: ir.Value, lanes: range) -> ir.Value:
    """The lanes `lanes` of a vector."""
    if len(lanes) == value.type.count:
        return value
    mask = ir.Constant(ir.VectorType(I32, len(lanes)), [I32(lane) for lane in lanes])
    return k.irb.shuffle_vector(value, ir.Constant(value.type, ir.Undefined), mask)
