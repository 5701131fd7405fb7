"""Integer expressions of assembler directives, evaluated as LLVM's assembler does."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping


class ExpressionError(ValueError):
    """An expression that has no value; the message says why."""


class LayoutDependent(ExpressionError):
    """The value depends on the address of a label, which is known only after assembling."""


class Evaluator:
    """Evaluates expressions over the symbols of one assembly text.

    The integers are signed 64-bit and wrap around; division truncates towards zero; a comparison
    that holds is -1. The functions are those that LLVM's AMDGPU back end writes.

    Parameters
    ----------
    symbols : mapping of str to str
        Expression of each ``.set`` symbol; evaluated when it is used.
    is_label : callable
        Tells whether a name without a ``.set`` is a label of the text.
    unified_agprs : bool
        Whether VGPRs and AGPRs share one register file (gfx90a and later gfx9), which
        ``totalnumvgprs`` needs.
    """

    def __init__(
        self,
        symbols: Mapping[str, str],
        is_label: Callable[[str], bool] = lambda name: False,
        unified_agprs: bool = False,
    ) -> None:
        self._symbols = symbols
        self._is_label = is_label
        self._functions: dict[str, Callable[..., int]] = {
            "max": max,
            "min": min,
            "or": _bitwise_or,
            "alignto": _align,
            "totalnumvgprs": _total_unified if unified_agprs else max,
        }
        self._values: dict[str, int] = {}
        self._open: set[str] = set()

    def evaluate(self, text: str) -> int:
        """Value of the expression `text`.

        Raises
        ------
        LayoutDependent
            If it refers to a label.
        ExpressionError
            If it is malformed, undefined or circular.
        """
        if text.isascii() and text.isdigit() and (text[0] != "0" or len(text) == 1):
            return _wrap(_number(text))
        try:
            return _Parser(text, self._symbol, self._functions).parse()
        except RecursionError:
            raise ExpressionError("the expression nests too deep") from None

    def _symbol(self, name: str) -> int:
        if name in self._values:
            return self._values[name]
        text = self._symbols.get(name)
        if text is None:
            if self._is_label(name):
                raise LayoutDependent(f"{name!r} is a label")
            raise ExpressionError(f"{name!r} is not defined")
        if name in self._open:
            raise ExpressionError(f"{name!r} is defined by itself")
        self._open.add(name)
        try:
            value = self._values[name] = self.evaluate(text)
        finally:
            self._open.discard(name)
        return value


_TOKEN = re.compile(
    r"""\s*(?:
      (?P<number>0[xX][0-9a-fA-F]+|0[bB][01]+|[0-9]+)(?![\w.$])
    | (?P<symbol>[A-Za-z_.$][\w.$@]*|"[^"\n]+")
    | (?P<operator><<|>>|==|!=|<>|<=|>=|&&|\|\||[-+*/%&|^~!<>(),])
    | (?P<end>$)
    )""",
    re.VERBOSE,
)

# Binding strength and meaning of the binary operators, as in LLVM's AsmParser for ELF targets.
_BINARY: dict[str, tuple[int, Callable[[int, int], int]]] = {
    "||": (1, lambda a, b: int(bool(a) or bool(b))),
    "&&": (2, lambda a, b: int(bool(a) and bool(b))),
    "==": (3, lambda a, b: -(a == b)),
    "!=": (3, lambda a, b: -(a != b)),
    "<>": (3, lambda a, b: -(a != b)),
    "<": (3, lambda a, b: -(a < b)),
    "<=": (3, lambda a, b: -(a <= b)),
    ">": (3, lambda a, b: -(a > b)),
    ">=": (3, lambda a, b: -(a >= b)),
    "+": (4, operator.add),
    "-": (4, operator.sub),
    "|": (5, operator.or_),
    "^": (5, operator.xor),
    "&": (5, operator.and_),
    "*": (6, operator.mul),
    "/": (6, lambda a, b: _divide(a, b)),
    "%": (6, lambda a, b: a - b * _divide(a, b)),
    "<<": (6, lambda a, b: a << _shift(b)),
    ">>": (6, lambda a, b: (a % 2**64) >> _shift(b)),
}
_UNARY: dict[str, Callable[[int], int]] = {
    "-": operator.neg,
    "+": operator.pos,
    "~": operator.invert,
    "!": operator.not_,
}


class _Parser:
    """Precedence climbing over the tokens of one expression."""

    def __init__(
        self,
        text: str,
        symbol: Callable[[str], int],
        functions: Mapping[str, Callable[..., int]],
    ) -> None:
        self._text = text
        self._lookup = symbol
        self._functions = functions
        self._position = 0
        self._advance()

    def parse(self) -> int:
        value = self._expression(1)
        if self._kind != "end":
            raise self._error(f"unexpected {self._token!r}")
        return value

    def _advance(self) -> None:
        match = _TOKEN.match(self._text, self._position)
        if match is None:
            raise self._error(f"unexpected {self._text[self._position :].strip()!r}")
        self._kind = str(match.lastgroup)
        self._token = match[self._kind]
        self._position = match.end()

    def _error(self, reason: str) -> ExpressionError:
        return ExpressionError(f"{reason} in the expression {self._text.strip()!r}")

    def _take(self, token: str) -> bool:
        if self._kind == "operator" and self._token == token:
            self._advance()
            return True
        return False

    def _expression(self, strength: int) -> int:
        left = self._operand()
        while self._kind == "operator" and self._token in _BINARY:
            binding, function = _BINARY[self._token]
            if binding < strength:
                break
            self._advance()
            left = _wrap(int(function(left, self._expression(binding + 1))))
        return left

    def _operand(self) -> int:
        kind, token = self._kind, self._token
        self._advance()
        if kind == "number":
            return _wrap(_number(token))
        if kind == "symbol":
            return self._call(token) if self._take("(") else self._lookup(token.strip('"'))
        if kind == "operator" and token in _UNARY:
            return _wrap(int(_UNARY[token](self._operand())))
        if kind == "operator" and token == "(":
            value = self._expression(1)
            if not self._take(")"):
                raise self._error("')' is missing")
            return value
        raise self._error("an operand is missing" if kind == "end" else f"unexpected {token!r}")

    def _call(self, name: str) -> int:
        arguments = [self._expression(1)]
        while self._take(","):
            arguments.append(self._expression(1))
        if not self._take(")"):
            raise self._error("')' is missing")
        function = self._functions.get(name)
        if function is None:
            raise self._error(f"unknown function {name!r}")
        if function in (max, min):
            return int(function(arguments))
        try:
            return _wrap(function(*arguments))
        except TypeError:
            raise self._error(f"wrong number of arguments for {name!r}") from None


def _wrap(value: int) -> int:
    return (value + 2**63) % 2**64 - 2**63


def _number(text: str) -> int:
    if len(text) > 66:
        raise ExpressionError(f"the number {text[:12]}... does not fit in 64 bits")
    if len(text) > 1 and text[0] == "0" and text[1] not in "xXbB":
        if not text.isascii() or set(text) & {"8", "9"}:
            raise ExpressionError(f"{text!r} is not an octal number")
        return int(text, 8)
    return int(text, 0)


def _divide(a: int, b: int) -> int:
    if b == 0:
        raise ExpressionError("division by zero")
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


def _shift(count: int) -> int:
    if not 0 <= count < 64:
        raise ExpressionError(f"a shift by {count}")
    return count


def _bitwise_or(*values: int) -> int:
    result = 0
    for value in values:
        result |= value
    return result


def _align(value: int, unit: int) -> int:
    if unit <= 0:
        raise ExpressionError(f"an alignment of {unit}")
    return -(-value // unit) * unit


def _total_unified(agprs: int, vgprs: int) -> int:
    return _align(vgprs, 4) + agprs if agprs else vgprs
