"""Scaled conversions of 8, 6 and 4-bit floats (gfx950).

Values are divided by a power of two, the exponent of a float32 operand, before they are encoded,
and multiplied by it after they are decoded (CDNA4 ISA, V_CVT_SCALEF32).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pipedsl.core.errors import AssemblyError
from pipedsl.isa.families.convert_small import encode, insert
from pipedsl.isa.opcode import TABLE, Fidelity, Unit

_OPEN = (
    "overflow of 8-bit formats follows MODE.FP16_OVFL, and stochastic rounding adds the noise to "
    "the bits that are dropped; the document states neither"
)
_BITS = {"fp8": 8, "bf8": 8, "fp6": 6, "bf6": 6, "fp4": 4}
_WIDTH = {"f32": 32, "f16": 16, "bf16": 16}


def _row(name: str, signature: str, meaning: Callable[..., None]) -> None:
    TABLE.add(
        f"v_cvt_scalef32_{name}", signature, meaning, unit=Unit.VALU, style="machine",
        archs=("gfx950",), fidelity=Fidelity.APPROXIMATE, reason=_OPEN,
    )  # fmt: skip


# Operands
def _operand(ins: Any, index: int) -> Any:
    operand = ins.srcs[index][1]
    if operand.neg or operand.abs:
        raise AssemblyError(f"line {ins.line}: {ins.mnemonic} has no source modifiers here.")
    return operand


def _scale(m: Any, ins: Any, index: int) -> Any:
    """The power of two in operand `index`, as f64; NaN for the largest exponent."""
    b = m.b
    exponent = b.and_(b.lshr(m.read_lanes(_operand(ins, index), "u32"), 23), 0xFF)
    power = b.bitcast("f64", b.shl(b.add(b.zext("u64", exponent), 1023 - 127), 52))
    return b.select(b.ucmp("==", exponent, 0xFF), float("nan"), power)


def _words(m: Any, operand: Any, count: int) -> list[Any]:
    """The dwords of an operand; only one-dword operands may be scalar."""
    if count == 1:
        return [m.read_lanes(operand, "u32")]
    return [m.read_row(operand.value, i) for i in range(count)]


def _field(b: Any, words: list[Any], at: int, bits: int) -> Any:
    """`bits` bits at bit `at` of a run of dwords; higher bits are left in."""
    word, shift = divmod(at, 32)
    value = b.lshr(words[word], shift)
    if shift + bits > 32:
        value = b.or_(value, b.shl(words[word + 1], 32 - shift))
    return b.and_(value, (1 << bits) - 1)


def _floats(m: Any, operand: Any, kind: str, count: int) -> list[Any]:
    """`count` elements of an operand as f32."""
    b, width = m.b, _WIDTH[kind]
    words = _words(m, operand, max(count * width // 32, 1))
    if kind == "f32":
        return [b.bitcast("f32", word) for word in words]
    halves = [b.lshr(words[i // 2], 16 * (i % 2)) for i in range(count)]
    if kind == "bf16":
        return [b.bitcast("f32", b.shl(half, 16)) for half in halves]
    return [b.fconvert("f32", b.bitcast("f16", b.trunc("u16", half))) for half in halves]


# Encoding
def _codes(m: Any, name: str, values: list[Any], scale: Any, noise: Any = None) -> list[Any]:
    """Codes of the scaled values; `noise` advances by the generator of ``v_prng_b32``."""
    b, clamps, codes = m.b, m.overflow_clamps(), []
    for value in values:
        scaled = b.fconvert("f32", b.fdiv(b.fconvert("f64", value), scale))
        if noise is None:
            codes.append(encode(b, name, clamps, scaled))
            continue
        codes.append(encode(b, name, clamps, scaled, noise))
        tap = b.select(b.icmp("<", noise, 0), b.const("u32", 197), 0)
        noise = b.xor(b.shl(noise, 1), tap)
    return codes


def _packed(b: Any, codes: list[Any], bits: int) -> list[Any]:
    """Codes side by side in dwords."""
    words = [b.const("u32", 0) for _ in range(-(-len(codes) * bits // 32))]
    for index, code in enumerate(codes):
        word, shift = divmod(index * bits, 32)
        code = b.and_(code, (1 << bits) - 1)
        words[word] = b.or_(words[word], b.shl(code, shift))
        if shift + bits > 32:
            words[word + 1] = b.or_(words[word + 1], b.lshr(code, 32 - shift))
    return words


def _place(ins: Any, bits: int) -> int:
    """Bit of the destination that op_sel names: a word, or a byte."""
    if bits == 16:
        return 16 * (ins.bit("op_sel", 2 if len(ins.srcs) == 2 else 3))
    return 8 * (ins.bit("op_sel", 2) + 2 * ins.bit("op_sel", 3))


def _encode_small(m: Any, ins: Any, name: str, values: list[Any], noise: Any = None) -> None:
    """One or two codes into a part of the destination."""
    codes = _codes(m, name, values, _scale(m, ins, len(ins.srcs) - 1), noise)
    bits = _BITS[name] * len(codes)
    (word,) = _packed(m.b, codes, _BITS[name])
    reg = ins.dsts[0][1].value
    m.write_row(reg, insert(m.b, m.read_row(reg), word, _place(ins, bits), bits))


def _encode_pair(m: Any, ins: Any, name: str, kind: str) -> None:
    if kind == "f32":
        values = [_floats(m, _operand(ins, i), kind, 1)[0] for i in (0, 1)]
    else:
        values = _floats(m, _operand(ins, 0), kind, 2)
    _encode_small(m, ins, name, values)


def _encode_noisy(m: Any, ins: Any, name: str, kind: str, count: int) -> None:
    values = _floats(m, _operand(ins, 0), kind, count)
    _encode_small(m, ins, name, values, m.read_lanes(_operand(ins, 1), "u32"))


def _encode_many(m: Any, ins: Any, name: str, values: list[Any], noise: Any = None) -> None:
    codes = _codes(m, name, values, _scale(m, ins, len(ins.srcs) - 1), noise)
    for dword, word in enumerate(_packed(m.b, codes, _BITS[name])):
        m.write_row(ins.dsts[0][1].value, word, dword)


def _encode_32(m: Any, ins: Any, name: str, kind: str, noisy: bool) -> None:
    noise = m.read_lanes(_operand(ins, 1), "u32") if noisy else None
    _encode_many(m, ins, name, _floats(m, _operand(ins, 0), kind, 32), noise)


def _encode_interleaved(m: Any, ins: Any, name: str) -> None:
    first, second = (_floats(m, _operand(ins, i), "f32", 16) for i in (0, 1))
    both = [value for pair in zip(first, second, strict=True) for value in pair]
    _encode_many(m, ins, name, both)


for _kind in ("f32", "f16", "bf16"):
    _pair = "f32, f32, f32" if _kind == "f32" else "b32, f32"
    _wide = "b64" if _kind == "f32" else "b32"
    for _name in ("fp8", "bf8", "fp4"):
        _row(
            f"pk_{_name}_{_kind}", f"+b32 = {_pair}",
            lambda m, i, n=_name, k=_kind: _encode_pair(m, i, n, k),
        )  # fmt: skip
    for _name in ("fp8", "bf8"):
        _row(
            f"sr_{_name}_{_kind}", "+b32 = b32, b32, f32",
            lambda m, i, n=_name, k=_kind: _encode_noisy(m, i, n, k, 1),
        )  # fmt: skip
    _row(
        f"sr_pk_fp4_{_kind}", f"+b32 = v:{_wide}, b32, f32",
        lambda m, i, k=_kind: _encode_noisy(m, i, "fp4", k, 2),
    )  # fmt: skip
    for _name in ("fp6", "bf6"):
        _many = "v:b1024" if _kind == "f32" else "v:b512"
        if _kind != "f32":
            _row(
                f"pk32_{_name}_{_kind}", f"b192 = {_many}, f32",
                lambda m, i, n=_name, k=_kind: _encode_32(m, i, n, k, False),
            )  # fmt: skip
        _row(
            f"sr_pk32_{_name}_{_kind}", f"b192 = {_many}, b32, f32",
            lambda m, i, n=_name, k=_kind: _encode_32(m, i, n, k, True),
        )  # fmt: skip
for _name in ("fp6", "bf6"):
    _row(
        f"2xpk16_{_name}_f32", "b192 = v:b512, v:b512, f32",
        lambda m, i, n=_name: _encode_interleaved(m, i, n),
    )  # fmt: skip


# Decoding
def _decoded(m: Any, ins: Any, name: str, at: int, count: int) -> list[Any]:
    """f32 values of `count` codes from bit `at` of the source, scaled."""
    b, bits, scale = m.b, _BITS[name], _scale(m, ins, 1)
    words = _words(m, _operand(ins, 0), max(count * bits // 32, 1))
    values = []
    for index in range(count):
        code = _field(b, words, at + index * bits, bits)
        value = b.fmul(b.fconvert("f64", b.function(f"from_{name}", "f32", code)), scale)
        values.append(b.fconvert("f32", value))
    return values


def _as_half(b: Any, value: Any, kind: str) -> Any:
    if kind == "bf16":
        return b.function("to_bf16", "u16", value)
    return b.bitcast("u16", b.fconvert("f16", value))


def _decode_many(m: Any, ins: Any, name: str, kind: str, at: int, count: int) -> None:
    b, reg = m.b, ins.dsts[0][1].value
    values = _decoded(m, ins, name, at, count)
    if kind == "f32":
        words = [b.bitcast("u32", value) for value in values]
    else:
        halves = [b.zext("u32", _as_half(b, value, kind)) for value in values]
        words = _packed(b, halves, 16)
    for dword, word in enumerate(words):
        m.write_row(reg, word, dword)


def _decode_one(m: Any, ins: Any, name: str, kind: str) -> None:
    at = 8 * (ins.bit("op_sel", 0) + 2 * ins.bit("op_sel", 1))
    (value,) = _decoded(m, ins, name, at, 1)
    reg = ins.dsts[0][1].value
    if kind == "f32":
        m.write_row(reg, m.b.bitcast("u32", value))
        return
    half = m.b.zext("u32", _as_half(m.b, value, kind))
    m.write_row(reg, insert(m.b, m.read_row(reg), half, 16 * ins.bit("op_sel", 2), 16))


def _decode_pair(m: Any, ins: Any, name: str, kind: str) -> None:
    byte = ins.bit("op_sel", 0) + 2 * ins.bit("op_sel", 1)
    at = 8 * byte if name == "fp4" else 16 * ins.bit("op_sel", 0)
    _decode_many(m, ins, name, kind, at, 2)


for _kind in ("f32", "f16", "bf16"):
    for _name in ("fp8", "bf8", "fp4"):
        _row(
            f"pk_{_kind}_{_name}", f"{'b64' if _kind == 'f32' else 'b32'} = b32, f32",
            lambda m, i, n=_name, k=_kind: _decode_pair(m, i, n, k),
        )  # fmt: skip
        if _name != "fp4" and _kind != "bf16":
            _row(
                f"{_kind}_{_name}", f"{'' if _kind == 'f32' else '+'}b32 = b32, f32",
                lambda m, i, n=_name, k=_kind: _decode_one(m, i, n, k),
            )  # fmt: skip
    for _name in ("fp6", "bf6"):
        _row(
            f"pk32_{_kind}_{_name}", f"{'b1024' if _kind == 'f32' else 'b512'} = v:b192, f32",
            lambda m, i, n=_name, k=_kind: _decode_many(m, i, n, k, 0, 32),
        )  # fmt: skip
