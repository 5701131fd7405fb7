"""Dot products of 8 and 4-bit integers over lanes."""

from __future__ import annotations

from functools import partial

from llvmlite import ir

from pipedsl.sim.builder import Builder
from pipedsl.sim.micro.registry import lane_function


def _terms(b: Builder, word: ir.Value, bits: int, signed: bool) -> list[ir.Value]:
    """The fields of a dword, extended to 32 bits."""
    fields = []
    for at in range(0, 32, bits):
        raised = b.shl(word, 32 - bits - at)
        fields.append((b.ashr if signed else b.lshr)(raised, 32 - bits))
    return fields


def _products(b: Builder, x: ir.Value, y: ir.Value, count: int, signs: str) -> list[ir.Value]:
    factors = (_terms(b, v, 32 // count, s == "i") for v, s in zip((x, y), signs, strict=True))
    return [b.mul(first, second) for first, second in zip(*factors, strict=True)]


def _wrapping(
    count: int, signs: str, b: Builder, x: ir.Value, y: ir.Value, z: ir.Value
) -> ir.Value:
    for product in _products(b, x, y, count, signs):
        z = b.add(z, product)
    return z


def _saturating(
    count: int, signs: str, signed: bool, b: Builder, x: ir.Value, y: ir.Value, z: ir.Value
) -> ir.Value:
    wide = b.sext("i64", z) if signed else b.zext("i64", z)
    for product in _products(b, x, y, count, signs):
        wide = b.add(wide, b.sext("i64", product))
    if signed:
        return b.trunc("u32", b.smax(b.smin(wide, 0x7FFFFFFF), -0x80000000))
    return b.trunc("u32", b.umin(wide, 0xFFFFFFFF))


for _count in (4, 8):
    for _signs in ("uu", "ui", "iu", "ii"):
        _name = f"dot{_count}_{_signs}"
        lane_function(_name, "u32")(partial(_wrapping, _count, _signs))
        for _end, _signed in (("", "i" in _signs), ("_signed", True)):
            lane_function(f"{_name}_saturated{_end}", "u32")(
                partial(_saturating, _count, _signs, _signed)
            )
