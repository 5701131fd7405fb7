"""Matrix instructions: which micro-kernel, from the row's shape and the instruction's modifiers."""

from __future__ import annotations

from dataclasses import replace

from llvmlite import ir

from pipedsl.core.errors import AssemblyError
from pipedsl.isa.families.matrix_shape import BITS, MatrixShape
from pipedsl.isa.instruction import Instruction
from pipedsl.isa.operands import Imm, Operand, Reg, constant_bits
from pipedsl.sim.builder import I64
from pipedsl.sim.machine import Machine
from pipedsl.sim.micro.matrix import Product


def matrix(m: Machine, ins: Instruction) -> list:
    """Apply a ``style="matrix"`` row; its trait ``shape`` is a `MatrixShape`. EXEC is ignored."""
    shape = _typed(ins, ins.opcode.traits["shape"])
    (_, d), *_ = ins.dsts
    a, b, c = (operand for _, operand in ins.srcs)
    constant = c is not None and isinstance(c.value, Imm)
    product = Product(
        m.matrix_numerics,
        constant=constant,
        signs=_signs(ins, c),
        clamp="clamp" in ins.modifiers,
        half=ins.bit("op_sel", 2) * 3,
        **_broadcast(ins, shape),
    )
    addend = _constant(ins, c, shape.d) if constant else _rows(m, ins, c, shape.d_registers)
    m.micro(
        product.key(shape),
        _rows(m, ins, d, shape.d_registers),
        _rows(m, ins, a, shape.a_registers),
        _rows(m, ins, b, shape.b_registers),
        addend,
    )
    return []


def _rows(m: Machine, ins: Instruction, operand: Operand | None, count: int) -> ir.Value:
    """Pointer to the first of exactly `count` vector registers."""
    reg = operand.value if operand is not None else None
    if not isinstance(reg, Reg) or reg.file == "s":
        raise AssemblyError(f"line {ins.line}: {ins.mnemonic} needs vector registers here.")
    if reg.count != count:
        raise AssemblyError(
            f"line {ins.line}: {ins.mnemonic} takes {count} registers here, not {reg.count}."
        )
    m.vector_pointer(reg, count - 1)
    return m.vector_pointer(reg)


def _constant(ins: Instruction, operand: Operand | None, kind: str) -> ir.Value:
    """Bits of an inline constant C in the type that is accumulated."""
    assert operand is not None and isinstance(operand.value, Imm)
    bits = 64 if kind == "f64" else 32
    return I64(constant_bits(operand.value.value, bits, kind != "i32"))


def _typed(ins: Instruction, shape: MatrixShape) -> MatrixShape:
    """The shape with the signedness that neg_lo gives to ``iu8`` and ``iu4``."""
    if not shape.a.startswith("iu"):
        return shape
    bits = BITS[shape.a]
    a, b = (f"{'i' if ins.bit('neg_lo', i) else 'u'}{bits}" for i in (0, 1))
    return replace(shape, a=a, b=b)


def _signs(ins: Instruction, c: Operand | None) -> int:
    """Negations: see `Product.signs`."""
    shape: MatrixShape = ins.opcode.traits["shape"]
    if shape.d == "i32":
        return 0
    if shape.d == "f64":
        # One bit for each of A, B and C, written neg:[a,b,c]; the field is that of blgp.
        bits = [ins.bit("neg", i) or ins.modifier("blgp") >> i & 1 for i in range(3)]
        return bits[0] * 0b11 | bits[1] * 0b1100 | bits[2] << 4
    low = [ins.bit("neg_lo", i) for i in range(3)]
    high = [ins.bit("neg_hi", i) for i in range(3)]
    signs = low[0] | high[0] << 1 | low[1] << 2 | high[1] << 3 | low[2] << 4 | high[2] << 5
    if c is not None:
        signs ^= c.neg << 4
    return signs


def _broadcast(ins: Instruction, shape: MatrixShape) -> dict[str, int]:
    fields = {name: ins.modifier(name) for name in ("cbsz", "abid", "blgp")}
    if shape.d == "f64":
        fields["blgp"] = 0
    limits = {"cbsz": shape.blocks.bit_length(), "abid": 16, "blgp": 8}
    for name, value in fields.items():
        if not 0 <= value < limits[name]:
            raise AssemblyError(f"line {ins.line}: {ins.mnemonic} cannot have {name}:{value}.")
    return fields
