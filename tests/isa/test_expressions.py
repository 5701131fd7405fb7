"""Assembler expressions against LLVM's assembler."""

from __future__ import annotations

import importlib.util
import random
import struct
import subprocess
from pathlib import Path

import pytest

from pipedsl.isa.expressions import Evaluator, ExpressionError, LayoutDependent

LITERALS = [
    "0", "1", "2", "3", "7", "10", "0x1F", "017", "0b101", "65536", "-5", "~3", "!0", "!7",
    "4294967296", "0x7fffffffffffffff",
]  # fmt: skip
OPERATORS = [
    "+", "-", "*", "/", "%", "&", "|", "^", "<<", ">>", "==", "!=", "<>", "<", "<=", ">", ">=",
    "&&", "||",
]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1 + 2 * 3", 7),
        ("1 | 6 & 3", 3),  # one level, from the left: (1 | 6) & 3
        ("1 + 2 & 3", 3),  # & binds tighter than +
        ("2 << 3 + 1", 17),
        ("-7 / 2", -3),
        ("-7 % 3", -1),
        ("-1 >> 60", 15),
        ("3 > 2", -1),
        ("3 && 2", 1),
        ("~65536 & 0xfffff", 0xEFFFF),
        ("0x7fffffffffffffff + 1", -(2**63)),
        ("max(1, 5, -3)", 5),
        ("min(4, 2)", 2),
        ("or(1, 4)", 5),
        ("alignto(max(1, 41), 4)", 44),
        ("((2))", 2),
    ],
)
def test_values(text, value):
    assert Evaluator({}).evaluate(text) == value


def test_symbols_are_evaluated_when_used():
    symbols = {"a": "b + 1", "b": "max(c, 3)", "c": "9", '.L"odd': "x", "unused": "1/0"}
    assert Evaluator(symbols).evaluate("a * 2") == 20


def test_register_totals_depend_on_the_register_file():
    assert Evaluator({}, unified_agprs=True).evaluate("totalnumvgprs(3, 41)") == 47
    assert Evaluator({}, unified_agprs=True).evaluate("totalnumvgprs(0, 41)") == 41
    assert Evaluator({}).evaluate("totalnumvgprs(3, 41)") == 41


def test_labels_have_no_value_yet():
    evaluator = Evaluator({}, is_label={"end", "start"}.__contains__)
    with pytest.raises(LayoutDependent):
        evaluator.evaluate("(end - start) << 4")


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "an operand is missing in the expression ''"),
        ("1 +", "an operand is missing in the expression '1 +'"),
        ("(1", "')' is missing in the expression '(1'"),
        ("max(1", "')' is missing in the expression 'max(1'"),
        ("1 2", "unexpected '2' in the expression '1 2'"),
        ("1 @ 2", "unexpected '@ 2' in the expression '1 @ 2'"),
        ("system(1)", "unknown function 'system' in the expression 'system(1)'"),
        ("alignto(1)", "wrong number of arguments for 'alignto' in the expression 'alignto(1)'"),
        ("alignto(1, 0)", "an alignment of 0"),
        ("1 % 0", "division by zero"),
        ("1 << 64", "a shift by 64"),
        ("09", "'09' is not an octal number"),
        ("9" * 70, "the number 999999999999... does not fit in 64 bits"),
        ("nowhere", "'nowhere' is not defined"),
        ("self", "'self' is defined by itself"),
        ("(" * 5000 + "1" + ")" * 5000, "the expression nests too deep"),
    ],
)
def test_malformed_expressions(text, reason):
    with pytest.raises(ExpressionError) as caught:
        Evaluator({"self": "self + 1"}).evaluate(text)
    assert str(caught.value) == reason


def _random_expression(source, depth):
    if depth == 0:
        return source.choice(LITERALS)
    shape = source.random()
    if shape < 0.2:
        return f"({_random_expression(source, depth - 1)})"
    if shape < 0.3:
        return source.choice("-~+") + _random_expression(source, depth - 1)
    operator = source.choice(OPERATORS)
    parts = [_random_expression(source, depth - 1) for _ in range(2)]
    return f" {operator} ".join(parts)


def test_agrees_with_llvms_assembler(tmp_path):
    ziglang = importlib.util.find_spec("ziglang")
    if ziglang is None:
        pytest.skip("ziglang is not installed")
    source, evaluator, expected = random.Random(20), Evaluator({}), {}
    while len(expected) < 1500:
        text = _random_expression(source, source.randint(1, 3))
        try:
            expected[text] = evaluator.evaluate(text)
        except ExpressionError:
            continue
    marker = b"\xef\xbe\xed\xfe" * 2
    lines = [f".quad {text}" for text in expected]
    (tmp_path / "x.s").write_text(
        "\n".join([".section .x", ".long 0xfeedbeef, 0xfeedbeef", *lines, ""])
    )
    subprocess.run(
        [
            Path(ziglang.origin).with_name("zig"),
            "clang",
            "--target=amdgcn-amd-amdhsa",
            "-mcpu=gfx942",
            "-c",
            "x.s",
            "-o",
            "x.o",
        ],
        cwd=tmp_path,
        check=True,
    )
    data = (tmp_path / "x.o").read_bytes()
    found = struct.unpack_from(f"<{len(expected)}q", data, data.index(marker) + len(marker))
    assert dict(zip(expected, found, strict=True)) == expected
