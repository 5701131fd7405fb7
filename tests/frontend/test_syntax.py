"""Constructs that kernels do not have: refused at decoration, at the user's line."""

from __future__ import annotations

import linecache
import textwrap

import pytest

from pipedsl.core.errors import KernelError, KernelSyntaxError
from pipedsl.frontend import KernelSource, device_function

CASES = {
    "try": ("try:\n    x = 1\nexcept ValueError:\n    x = 2", "try/except is not supported", 2),
    "raise": ("raise ValueError", "raise is not supported", 2),
    "assert": ("assert out", "assert is not supported", 2),
    "yield": ("x = 1\nyield x", "yield is not supported", 3),
    "list comprehension": ("x = [i for i in range(4)]", "comprehensions are not supported", 2),
    "generator": ("x = sum(i for i in out)", "comprehensions are not supported", 2),
    "list": ("x = [1, 2]", "lists are not supported", 2),
    "dict": ("x = {}", "dicts are not supported", 2),
    "set": ("x = {1}", "sets are not supported", 2),
    "f-string": ("x = f'{out}'", "f-strings are not supported", 2),
    "lambda": ("x = lambda: 1", "lambda is not supported", 2),
    "nested def": ("def g():\n    pass", "nested functions are not supported", 2),
    "class": ("class A:\n    pass", "classes cannot be defined in kernels", 2),
    "import": ("import math", "import is not supported", 2),
    "from import": ("from math import sin", "import is not supported", 2),
    "global": ("global G\nG = 1", "global is not supported", 2),
    "del": ("x = 1\ndel x", "del is not supported", 3),
    "star call": ("len(*out)", "star arguments are not supported", 2),
    "double star call": ("len(**out)", "star arguments are not supported", 2),
    "slice": ("out[0:2] = 1", "slices are not supported", 2),
    "match": ("match out:\n    case 1:\n        pass", "match is not supported", 2),
    "print": ("print(out)", "print() is not supported", 2),
    "return": ("if out:\n    return 1", "a kernel returns nothing", 3),
}


def define(text: str, name: str = "k"):
    """The function `name` of `text`, with its source readable, as in a notebook cell."""
    filename = f"<cell {abs(hash(text))}>"
    linecache.cache[filename] = (len(text), None, text.splitlines(True), filename)
    scope: dict = {}
    exec(compile(text, filename, "exec"), scope)
    return scope[name]


@pytest.mark.parametrize("name", CASES)
def test_refused(name):
    body, message, line = CASES[name]
    function = define("def k(out):\n" + textwrap.indent(body, "    ") + "\n")
    with pytest.raises(KernelSyntaxError) as caught:
        KernelSource.capture(function)
    error = caught.value
    assert error.message.startswith(message)
    assert error.fix
    assert error.where.line == line
    assert error.where.filename == function.__code__.co_filename
    assert error.where.source_line().strip() == body.splitlines()[line - 2].strip()


def test_caret_is_under_the_construct():
    function = define("def k(out):\n    out[0] = 1 + len([1])\n")
    with pytest.raises(KernelSyntaxError) as caught:
        KernelSource.capture(function)
    assert caught.value.lines()[2:4] == ["    out[0] = 1 + len([1])", " " * 21 + "^"]


def test_async_kernel():
    function = define("async def k(out):\n    out[0] = 1\n")
    with pytest.raises(KernelSyntaxError, match="async is not supported"):
        KernelSource.capture(function)


@pytest.mark.parametrize("parameters", ["*out", "**out"])
def test_star_parameters(parameters):
    function = define(f"def k({parameters}):\n    return\n")
    with pytest.raises(KernelSyntaxError, match="star arguments are not supported"):
        KernelSource.capture(function)


def test_lambda_kernel():
    function = define("k = lambda out: None\n")
    with pytest.raises(KernelSyntaxError, match="not defined by a def statement"):
        KernelSource.capture(function)


def test_no_source():
    scope: dict = {}
    exec("def k(out):\n    out[0] = 1\n", scope)
    with pytest.raises(KernelSyntaxError, match=r"the source of k\(\) cannot be read"):
        KernelSource.capture(scope["k"])


def test_not_a_function():
    with pytest.raises(KernelSyntaxError, match="is not a Python function"):
        KernelSource.capture(len)


def test_device_functions_return_values_but_have_the_other_limits():
    device_function(define("def k(x):\n    return x + 1\n"))
    with pytest.raises(KernelSyntaxError, match="try/except is not supported"):
        device_function(
            define("def k(x):\n    try:\n        return 1\n    finally:\n        pass\n")
        )


def test_device_function_on_the_host():
    helper = device_function(define("def k(x):\n    return x + 1\n"))
    assert helper.function(1) == 2
    with pytest.raises(KernelError, match=r"the device function k\(\) exists in kernels only"):
        helper(1)


def test_decorated_source_starts_at_the_decorator():
    text = "def mark(f):\n    return f\n\n@mark\ndef k(out):\n    out[0] = [1]\n"
    with pytest.raises(KernelSyntaxError) as caught:
        KernelSource.capture(define(text))
    assert caught.value.where.line == 6
