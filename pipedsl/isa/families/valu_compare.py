"""Vector comparisons: to a mask (v_cmp), or to EXEC (v_cmpx)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pipedsl.isa.opcode import ALL, GFX9, GFX11, RDNA, TABLE, Unit

Test = Callable[..., Any]


def _rows(
    name: str, sources: str, test: Test, archs: tuple[str, ...] = ALL, **more: Any
) -> None:
    """``v_cmp_<name>`` and ``v_cmpx_<name>``; the latter writes a mask too on gfx9."""
    common = {"unit": Unit.VALU, "style": "lanes", **more}
    old, new = ([a for a in archs if a in group] for group in (GFX9, RDNA))
    TABLE.add(f"v_cmp_{name}", f"mask = {sources}", test, archs=archs, **common)
    TABLE.add(f"v_cmpx_{name}", f"exec = {sources}", test, archs=new, **common)
    TABLE.add(
        f"v_cmpx_{name}",
        f"mask, exec = {sources}",
        lambda b, *values: (test(b, *values),) * 2,
        archs=old,
        **common,
    )


_ORDER = {"eq": "==", "gt": ">", "ge": ">=", "lt": "<", "le": "<="}


def _always(value: bool) -> Test:
    return lambda b, x, y: b.const("mask", value)


for _bits in (16, 32, 64):
    for _sign in "ui":
        _t = f"{_sign}{_bits}"
        for _name, _op in {**_ORDER, "ne": "!="}.items():
            _test: Test = (
                (lambda b, x, y, o=_op: b.icmp(o, x, y))
                if _sign == "i"
                else (lambda b, x, y, o=_op: b.ucmp(o, x, y))
            )
            _rows(f"{_name}_{_t}", f"{_t}, {_t}", _test)
        _archs: tuple[str, ...] = GFX9 if _bits == 16 else GFX9 + GFX11
        for _name, _value in (("f", False), ("t", True)):
            _rows(f"{_name}_{_t}", f"{_t}, {_t}", _always(_value), _archs)

# Float comparisons: a plain one is false for NaN, its negation (n..) true.
_FLOAT: dict[str, Test] = {
    **{name: (lambda b, x, y, o=op: b.fcmp(o, x, y)) for name, op in _ORDER.items()},
    "lg": lambda b, x, y: b.fcmp("!=", x, y),
    "neq": lambda b, x, y: b.fcmp_unordered("!=", x, y),
    "nlt": lambda b, x, y: b.fcmp_unordered(">=", x, y),
    "nle": lambda b, x, y: b.fcmp_unordered(">", x, y),
    "ngt": lambda b, x, y: b.fcmp_unordered("<=", x, y),
    "nge": lambda b, x, y: b.fcmp_unordered("<", x, y),
    "nlg": lambda b, x, y: b.fcmp_unordered("==", x, y),
    "o": lambda b, x, y: b.irb.fcmp_ordered("ord", x, y),
    "u": lambda b, x, y: b.irb.fcmp_unordered("uno", x, y),
}
for _t in ("f16", "f32", "f64"):
    for _name, _test in _FLOAT.items():
        _rows(f"{_name}_{_t}", f"{_t}, {_t}", _test)
    for _name, _value, _archs in (
        ("f", False, GFX9 + GFX11), ("tru", True, GFX9 + GFX11), ("t", True, GFX11),
    ):  # fmt: skip
        _rows(f"{_name}_{_t}", f"{_t}, {_t}", _always(_value), _archs)
    _mask = "u16" if _t == "f16" else "u32"
    _rows(
        f"class_{_t}",
        f"{_t}, {_mask}",
        lambda b, x, classes: b.ucmp(
            "!=", b.and_(b.lshr(b.zext("u32", classes), b.function("class", "u32", x)), 1), 0
        ),
        raw=True,
    )
