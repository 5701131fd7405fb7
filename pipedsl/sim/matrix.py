"""Matrix instructions: which micro-kernel, from the row's shape and the instruction's modifiers."""

from __future__ import annotations

from dataclasses import replace

from llvmlite import ir

from pipedsl.core.errors import AssemblyError
from pipedsl.isa.families.matrix_shape import BITS, SCALED_TYPES, MatrixShape
from pipedsl.isa.instruction import Instruction
from pipedsl.isa.operands import Imm, Operand, Reg, constant_bits
from pipedsl.sim.builder import I64
from pipedsl.sim.machine import Machine
from pipedsl.sim.micro.matrix import Product


def matrix(m: Machine, ins: Instruction) -> list:
    """Apply a ``style="matrix"`` row; its trait ``shape`` is a `MatrixShape`. EXEC is ignored."""
    shape = _typed(ins, ins.opcode.traits["shape"])
    (_, d), *_ = ins.dsts
    sources = [operand for _, operand in ins.srcs]
    a, b, *rest = sources
    c, extra = (d, rest) if shape.sparse else (rest[0], rest[1:])
    product, addend = Product(clamp="clamp" in ins.modifiers, half=ins.bit("op_sel", 2)), None
    if c is not None and isinstance(c.value, Imm):
        product, addend = replace(product, constant=True), _constant(c, shape.d)
    if m.matrix_numerics == "exact":
        rule, run = ins.opcode.traits.get("exact", ("", 1))
        product = replace(product, rule=rule, run=run)
    arguments = [
        _rows(m, ins, d, shape.d_registers),
        _rows(m, ins, a, shape.a_registers),
        _rows(m, ins, b, shape.b_registers),
        addend or _rows(m, ins, c, shape.d_registers),
    ]
    if shape.sparse:
        product = replace(product, first_index=_first_index(ins, shape))
        arguments.append(_rows(m, ins, extra[0], 1))
    elif shape.layout == "mfma_scaled":
        picked, values = _scales(m, ins, extra)
        product = replace(product, scales=picked)
        arguments += values
    else:
        cbsz, abid, blgp = _broadcast(ins, shape)
        product = replace(product, cbsz=cbsz, abid=abid, blgp=blgp)
    product = replace(product, signs=_signs(ins, shape, c))
    m.micro(product.key(shape), *arguments)
    return []


def _rows(m: Machine, ins: Instruction, operand: Operand | None, count: int) -> ir.Value:
    """Pointer to the first of `count` vector registers."""
    reg = operand.value if operand is not None else None
    if not isinstance(reg, Reg) or reg.file == "s":
        raise AssemblyError(f"line {ins.line}: {ins.mnemonic} needs vector registers here.")
    if reg.count < count:
        raise AssemblyError(
            f"line {ins.line}: {ins.mnemonic} takes {count} registers here, not {reg.count}."
        )
    m.vector_pointer(reg, count - 1)
    return m.vector_pointer(reg)


def _constant(operand: Operand, kind: str) -> ir.Value:
    """Bits of an inline constant C in the type that is accumulated."""
    assert isinstance(operand.value, Imm)
    bits = 64 if kind == "f64" else 32
    return I64(constant_bits(operand.value.value, bits, kind != "i32"))


def _typed(ins: Instruction, shape: MatrixShape) -> MatrixShape:
    """The shape with the types that modifiers choose.

    neg_lo makes ``iu8`` and ``iu4`` signed; cbsz and blgp are the formats of A and B of f8f6f4.
    """
    if shape.layout == "mfma_scaled":
        codes = [ins.modifier("cbsz"), ins.modifier("blgp")]
        if not all(0 <= code < len(SCALED_TYPES) for code in codes):
            raise AssemblyError(f"line {ins.line}: {ins.mnemonic} has formats 0 to 4 only.")
        return replace(shape, a=SCALED_TYPES[codes[0]], b=SCALED_TYPES[codes[1]])
    if not shape.a.startswith("iu"):
        return shape
    bits = BITS[shape.a]
    a, b = (f"{'i' if ins.bit('neg_lo', i) else 'u'}{bits}" for i in (0, 1))
    return replace(shape, a=a, b=b)


def _signs(ins: Instruction, shape: MatrixShape, c: Operand | None) -> int:
    """Negations: see `Product.signs`."""
    if shape.d == "i32":
        return 0
    if shape.d == "f64":
        # One bit for each of A, B and C, written neg:[a,b,c]; the field is that of blgp.
        bits = [ins.bit("neg", i) or ins.modifier("blgp") >> i & 1 for i in range(3)]
        return bits[0] * 0b11 | bits[1] * 0b1100 | bits[2] << 4
    low = [ins.bit("neg_lo", i) for i in range(3)]
    high = [ins.bit("neg_hi", i) for i in range(3)]
    signs = low[0] | high[0] << 1 | low[1] << 2 | high[1] << 3 | low[2] << 4 | high[2] << 5
    return signs ^ (c is not None and c.neg) << 4


def _broadcast(ins: Instruction, shape: MatrixShape) -> tuple[int, int, int]:
    """cbsz, abid and blgp; the last is a negation where the type is f64."""
    limits = {"cbsz": shape.blocks.bit_length(), "abid": 16, "blgp": 8}
    values = [ins.modifier(name) for name in limits]
    for value, (name, limit) in zip(values, limits.items(), strict=True):
        if not 0 <= value < limit:
            raise AssemblyError(f"line {ins.line}: {ins.mnemonic} cannot have {name}:{value}.")
    cbsz, abid, blgp = values
    return cbsz, abid, 0 if shape.d == "f64" else blgp


def _first_index(ins: Instruction, shape: MatrixShape) -> int:
    """Bit of the index register where the indices begin.

    abid (while cbsz is 0) or index_key picks one of the sets that a register holds.
    """
    chosen = ins.modifier("index_key") or (0 if ins.modifier("cbsz") else ins.modifier("abid"))
    return shape.elements * chosen % 32


def _scales(
    m: Machine, ins: Instruction, operands: list[Operand | None]
) -> tuple[str, list[ir.Value]]:
    """`Product.scales` and the arguments; without scale operands nothing is scaled."""
    picked, values = "", []
    for index, operand in enumerate(operands):
        assert operand is not None
        byte = ins.bit("op_sel", index) + 2 * ins.bit("op_sel_hi", index)
        vector = isinstance(operand.value, Reg) and operand.value.file != "s"
        values.append(_rows(m, ins, operand, 1) if vector else m.read_scalar(operand))
        picked += f"{'v' if vector else 's'}{byte}"
    return picked, values
