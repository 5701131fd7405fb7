"""Typed operations on lanes or scalars, as host LLVM IR: what the meanings in `isa` are written in."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from llvmlite import ir

I1, I8, I16, I32, I64 = (ir.IntType(bits) for bits in (1, 8, 16, 32, 64))
HALF, FLOAT, DOUBLE = ir.HalfType(), ir.FloatType(), ir.DoubleType()
PTR = ir.PointerType()

ELEMENTS: dict[str, ir.Type] = {
    "f16": HALF, "f32": FLOAT, "f64": DOUBLE, "bf16": I16, "mask": I1, "scc": I1,
    **{f"{sign}{bits}": ir.IntType(bits) for sign in "uib" for bits in (8, 16, 32, 64)},
    "b96": ir.IntType(96), "b128": ir.IntType(128),
}  # fmt: skip

_SUFFIX = {HALF: "f16", FLOAT: "f32", DOUBLE: "f64"}
# Element types by LLVM's overload suffix.
LLVM_TYPES: dict[str, ir.Type] = {
    **{suffix: kind for kind, suffix in _SUFFIX.items()},
    **{f"i{kind.width}": kind for kind in (I8, I16, I32, I64)},
}


class Builder:
    """Operations on values of one shape: `lanes` lanes, or scalars when `lanes` is 0.

    A value is an LLVM value; its type is an element type or a vector of `lanes` of them. Constants
    are splatted. Methods take Python numbers wherever a value of a known type goes beside them.
    """

    def __init__(
        self, irb: ir.IRBuilder, lanes: int, micros: dict[str, tuple] | None = None
    ) -> None:
        self.irb = irb
        self.lanes = lanes
        self._micros = micros

    # types and constants
    def type(self, element: str | ir.Type) -> ir.Type:
        """The LLVM type of one value with this element type."""
        scalar = ELEMENTS[element] if isinstance(element, str) else element
        return ir.VectorType(scalar, self.lanes) if self.lanes else scalar

    @staticmethod
    def element(value: ir.Value) -> ir.Type:
        """The element type of `value`."""
        return value.type.element if isinstance(value.type, ir.VectorType) else value.type

    def const(self, element: str | ir.Type, number: int | float) -> ir.Value:
        """The constant `number` in every lane."""
        return splat_constant(self.type(element), number)

    def _pair(self, x: Any, y: Any) -> tuple[ir.Value, ir.Value]:
        if isinstance(y, (int, float)):
            return x, splat_constant(x.type, y)
        if isinstance(x, (int, float)):
            return splat_constant(y.type, x), y
        return x, y

    def _call(self, name: str, result: ir.Type, *args: ir.Value) -> ir.Value:
        module = self.irb.module
        function = module.globals.get(name)
        if function is None:
            function = ir.Function(module, ir.FunctionType(result, [a.type for a in args]), name)
        return self.irb.call(function, args)

    def intrinsic(self, name: str, *args: ir.Value, extra: Sequence[ir.Value] = ()) -> ir.Value:
        """Call the overloaded LLVM intrinsic `name`, which returns the type of its first operand."""
        return self._call(f"llvm.{name}.{mangle(args[0].type)}", args[0].type, *args, *extra)

    def function(self, name: str, result: str, *args: ir.Value) -> ir.Value:
        """Call the precompiled lane function `name`; it returns elements of type `result`."""
        key = (name, self.lanes, *(mangle(self.element(a)) for a in args))
        assert self._micros is not None
        self._micros[micro_symbol(key)] = key
        return self._call(micro_symbol(key), self.type(result), *args)

    # integers
    def add(self, x: Any, y: Any) -> ir.Value:
        return self.irb.add(*self._pair(x, y))

    def sub(self, x: Any, y: Any) -> ir.Value:
        return self.irb.sub(*self._pair(x, y))

    def mul(self, x: Any, y: Any) -> ir.Value:
        return self.irb.mul(*self._pair(x, y))

    def and_(self, x: Any, y: Any) -> ir.Value:
        return self.irb.and_(*self._pair(x, y))

    def or_(self, x: Any, y: Any) -> ir.Value:
        return self.irb.or_(*self._pair(x, y))

    def xor(self, x: Any, y: Any) -> ir.Value:
        return self.irb.xor(*self._pair(x, y))

    def not_(self, x: ir.Value) -> ir.Value:
        return self.irb.xor(x, splat_constant(x.type, -1))

    def shl(self, x: Any, amount: Any) -> ir.Value:
        """Shift left; the amount is taken modulo the width, as the hardware does."""
        x, amount = self._pair(x, amount)
        return self.irb.shl(x, self._modulo(amount))

    def lshr(self, x: Any, amount: Any) -> ir.Value:
        """Logical shift right, amount modulo the width."""
        x, amount = self._pair(x, amount)
        return self.irb.lshr(x, self._modulo(amount))

    def ashr(self, x: Any, amount: Any) -> ir.Value:
        """Arithmetic shift right, amount modulo the width."""
        x, amount = self._pair(x, amount)
        return self.irb.ashr(x, self._modulo(amount))

    def _modulo(self, amount: ir.Value) -> ir.Value:
        return self.irb.and_(amount, splat_constant(amount.type, self.element(amount).width - 1))

    def icmp(self, op: str, x: Any, y: Any) -> ir.Value:
        """Signed comparison; `op` is a Python operator text."""
        return self.irb.icmp_signed(op, *self._pair(x, y))

    def ucmp(self, op: str, x: Any, y: Any) -> ir.Value:
        """Unsigned comparison."""
        return self.irb.icmp_unsigned(op, *self._pair(x, y))

    def smin(self, x: Any, y: Any) -> ir.Value:
        return self.intrinsic("smin", *self._pair(x, y))

    def smax(self, x: Any, y: Any) -> ir.Value:
        return self.intrinsic("smax", *self._pair(x, y))

    def umin(self, x: Any, y: Any) -> ir.Value:
        return self.intrinsic("umin", *self._pair(x, y))

    def umax(self, x: Any, y: Any) -> ir.Value:
        return self.intrinsic("umax", *self._pair(x, y))

    def popcount(self, x: ir.Value) -> ir.Value:
        return self.intrinsic("ctpop", x)

    def count_leading_zeros(self, x: ir.Value) -> ir.Value:
        """Leading zero bits; the width when `x` is 0."""
        return self.intrinsic("ctlz", x, extra=(ir.Constant(I1, 0),))

    def count_trailing_zeros(self, x: ir.Value) -> ir.Value:
        """Trailing zero bits; the width when `x` is 0."""
        return self.intrinsic("cttz", x, extra=(ir.Constant(I1, 0),))

    def bit_reverse(self, x: ir.Value) -> ir.Value:
        return self.intrinsic("bitreverse", x)

    def funnel_right(self, high: ir.Value, low: ir.Value, amount: Any) -> ir.Value:
        """Low half of ``(high:low) >> (amount mod width)``."""
        low, amount = self._pair(low, amount)
        return self.intrinsic("fshr", high, low, amount)

    def saturating(self, op: str, x: ir.Value, y: ir.Value) -> ir.Value:
        """``uadd``, ``sadd``, ``usub`` or ``ssub`` with saturation."""
        return self.intrinsic(f"{op}.sat", x, y)

    def overflow(self, op: str, x: ir.Value, y: ir.Value) -> tuple[ir.Value, ir.Value]:
        """``uadd``, ``sadd``, ``usub``, ``ssub``: wrapped result and overflow bit."""
        name = f"llvm.{op}.with.overflow.{mangle(x.type)}"
        bit = ir.VectorType(I1, self.lanes) if isinstance(x.type, ir.VectorType) else I1
        pair = self._call(name, ir.LiteralStructType([x.type, bit]), x, y)
        return self.irb.extract_value(pair, 0), self.irb.extract_value(pair, 1)

    # floats
    def fadd(self, x: Any, y: Any) -> ir.Value:
        return self.irb.fadd(*self._pair(x, y))

    def fsub(self, x: Any, y: Any) -> ir.Value:
        return self.irb.fsub(*self._pair(x, y))

    def fmul(self, x: Any, y: Any) -> ir.Value:
        return self.irb.fmul(*self._pair(x, y))

    def fdiv(self, x: Any, y: Any) -> ir.Value:
        return self.irb.fdiv(*self._pair(x, y))

    def fneg(self, x: ir.Value) -> ir.Value:
        return self.irb.fneg(x)

    def fabs(self, x: ir.Value) -> ir.Value:
        return self.intrinsic("fabs", x)

    def fma(self, x: Any, y: Any, z: Any) -> ir.Value:
        """``x * y + z`` with one rounding; f16 goes through double, where it is exact enough."""
        x, y = self._pair(x, y)
        x, z = self._pair(x, z)
        if self.element(x) == HALF and self._micros is not None:
            return self.function("fma", "f16", x, y, z)
        if self.element(x) == HALF:
            wide = [self.fconvert("f64", v) for v in (x, y, z)]
            return self.fconvert("f16", self.intrinsic("fma", *wide))
        return self.intrinsic("fma", x, y, z)

    def math(self, name: str, *args: ir.Value) -> ir.Value:
        """A float intrinsic: sqrt, floor, ceil, trunc, rint, roundeven, exp2, log2, sin, cos, copysign, ldexp."""
        return self.intrinsic(name, *args)

    def fcmp(self, op: str, x: Any, y: Any) -> ir.Value:
        """Ordered comparison; false when either is NaN."""
        return self.irb.fcmp_ordered(op, *self._pair(x, y))

    def fcmp_unordered(self, op: str, x: Any, y: Any) -> ir.Value:
        """Unordered comparison; true when either is NaN."""
        return self.irb.fcmp_unordered(op, *self._pair(x, y))

    def is_nan(self, x: ir.Value) -> ir.Value:
        return self.irb.fcmp_unordered("uno", x, x)

    # choice and conversion
    def select(self, mask: ir.Value, x: Any, y: Any) -> ir.Value:
        """`x` where `mask`, else `y`."""
        return self.irb.select(mask, *self._pair(x, y))

    def zext(self, element: str, x: ir.Value) -> ir.Value:
        target = self.type(element)
        return x if x.type == target else self.irb.zext(x, target)

    def sext(self, element: str, x: ir.Value) -> ir.Value:
        target = self.type(element)
        return x if x.type == target else self.irb.sext(x, target)

    def trunc(self, element: str, x: ir.Value) -> ir.Value:
        target = self.type(element)
        return x if x.type == target else self.irb.trunc(x, target)

    def bitcast(self, element: str, x: ir.Value) -> ir.Value:
        """Same bits per lane, another element type of the same width."""
        target = self.type(element)
        return x if x.type == target else self.irb.bitcast(x, target)

    def fconvert(self, element: str, x: ir.Value) -> ir.Value:
        """Float to float, round to nearest even."""
        target, width = self.type(element), {HALF: 16, FLOAT: 32, DOUBLE: 64}
        source_bits, target_bits = width[self.element(x)], width[ELEMENTS[element]]
        if source_bits == target_bits:
            return x
        if (source_bits, target_bits) == (64, 16):
            return self.irb.fptrunc(self._to_odd(x), target)
        return (
            self.irb.fpext(x, target) if source_bits < target_bits else self.irb.fptrunc(x, target)
        )

    def _to_odd(self, x: ir.Value) -> ir.Value:
        """f64 to f32 with an odd last bit where inexact: rounding that once more rounds only once."""
        near = self.irb.fptrunc(x, self.type("f32"))
        back, raw = self.irb.fpext(near, x.type), self.bitcast("u32", near)
        raw = self.select(self.fcmp(">", self.fabs(back), self.fabs(x)), self.sub(raw, 1), raw)
        return self.bitcast("f32", self.select(self.fcmp("!=", back, x), self.or_(raw, 1), raw))

    def to_float(self, element: str, x: ir.Value, *, signed: bool) -> ir.Value:
        """Integer to float."""
        return (self.irb.sitofp if signed else self.irb.uitofp)(x, self.type(element))

    def to_int(self, element: str, x: ir.Value, *, signed: bool) -> ir.Value:
        """Float to integer: toward zero, saturating, NaN to 0 (as the hardware converts)."""
        target = self.type(element)
        name = f"llvm.fpto{'s' if signed else 'u'}i.sat.{mangle(target)}.{mangle(x.type)}"
        return self._call(name, target, x)

    # lanes
    def splat(self, scalar: ir.Value) -> ir.Value:
        """`scalar` in every lane."""
        if not self.lanes:
            return scalar
        vector = ir.VectorType(scalar.type, self.lanes)
        one = self.irb.insert_element(ir.Constant(vector, ir.Undefined), scalar, I32(0))
        zeros = ir.Constant(ir.VectorType(I32, self.lanes), None)
        return self.irb.shuffle_vector(one, ir.Constant(vector, ir.Undefined), zeros)

    def extract(self, vector: ir.Value, lane: ir.Value | int) -> ir.Value:
        """The value of one lane."""
        return self.irb.extract_element(vector, I32(lane) if isinstance(lane, int) else lane)

    def mask_to_int(self, mask: ir.Value) -> ir.Value:
        """Bits of a lane mask as an integer of `lanes` bits."""
        return self.irb.bitcast(mask, ir.IntType(self.lanes))

    def int_to_mask(self, bits: ir.Value) -> ir.Value:
        """Lane mask of an integer of `lanes` bits."""
        return self.irb.bitcast(bits, ir.VectorType(I1, self.lanes))

    def lane_order(self, lanes: Sequence[int]) -> ir.Constant:
        """The lane that each lane reads, as the mask of a shuffle."""
        return ir.Constant(ir.VectorType(I32, len(lanes)), [I32(lane) for lane in lanes])

    def lane_ids(self) -> ir.Value:
        """0, 1, 2, ... as u32."""
        return ir.Constant(ir.VectorType(I32, self.lanes), [I32(i) for i in range(self.lanes)])


class _Splat(ir.Constant):
    """A vector constant in LLVM's short form; writing out 64 equal lanes is slow to print and parse."""

    def __init__(self, kind: ir.VectorType, scalar: ir.Constant) -> None:
        self.type = kind
        self.constant = scalar

    def _get_reference(self) -> str:
        return f"splat ({self.constant.type} {self.constant.get_reference()})"


def splat_constant(kind: ir.Type, number: int | float) -> ir.Constant:
    """`number` as a constant of `kind`, in every lane of a vector type."""
    element = kind.element if isinstance(kind, ir.VectorType) else kind
    if isinstance(element, ir.IntType):
        number = int(number) & ((1 << element.width) - 1)
        if element.width == 1:
            scalar = ir.Constant(element, bool(number))
        else:
            scalar = ir.Constant(element, number)
    else:
        scalar = ir.Constant(element, float(number))
    if not isinstance(kind, ir.VectorType):
        return scalar
    return _Splat(kind, scalar)


def micro_symbol(key: tuple) -> str:
    """Linker symbol of a micro-kernel."""
    return "micro_" + "_".join(str(part) for part in key)


def mangle(kind: ir.Type) -> str:
    """LLVM's overload suffix of a type."""
    if isinstance(kind, ir.VectorType):
        return f"v{kind.count}{mangle(kind.element)}"
    if isinstance(kind, ir.IntType):
        return f"i{kind.width}"
    return _SUFFIX[kind]
