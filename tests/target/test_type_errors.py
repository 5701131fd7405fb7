"""Typing errors: one sentence, the user's line, what to change."""

from __future__ import annotations

import math

import numpy as np
import pytest

from pipedsl import gpu
from pipedsl.core.errors import KernelTypeError
from pipedsl.frontend import KernelSource, device_function, lower, type_of

TABLE = [1, 2, 3]
LOOKUP = np.zeros(3)
BIG = 2**70


def plain(x):
    return x


@device_function
def recursive(x):
    return recursive(x - 1) if x > 0 else x


@device_function
def pair(x):
    return x, x + 1


class Point:
    def __init__(self, x):
        self.x = x

    def double(self):
        return self.x * 2


def undefined_name(out):
    out[0] = missing  # noqa: F821


def undefined_attribute(out):
    out[0] = gpu.thread_idx.w


def ordinary_function(out):
    out[0] = plain(1)


def calls_itself(out):
    out[0] = recursive(out[0])


def wrong_arity(out):
    out[0] = pair(1, 2)


def wrong_keyword(out):
    out[0] = pair(y=1)


def unsupported_math(out):
    out[0] = math.gamma(out[0])


def unsupported_numpy(out):
    out[0] = np.sqrt(out[0])


def unsupported_builtin(out):
    out[0] = sorted(out)


def wrong_rank(out):
    out[0, 0] = 1


def float_index(out):
    out[0.5] = 1


def tuple_into_array(out):
    out[0] = (1, 2)


def item_of_scalar(out):
    x = 1
    out[0] = x[0]


def assign_to_scalar(out):
    x = 1
    x[0] = 2


def dynamic_tuple_index(out):
    t = (1, 2)
    out[0] = t[gpu.thread_idx.x]


def tuple_out_of_range(out):
    t = (1, 2)
    out[0] = t[2]


def text_value(out):
    out[0] = "a"


def no_common_type(out):
    x = 1
    if out[0] > 0:
        x = (1, 2)
    out[0] = x[0]


def bitwise_float(out):
    out[0] = out[0] & 1


def shift_float(out):
    out[0] = out[0] << 1


def loop_over_array(out):
    for x in out:
        out[0] = x


def float_range(out):
    for i in range(out[0]):
        out[i] = 1


def zero_step(out):
    for i in range(0, 4, 0):
        out[i] = 1


def dynamic_shape(out):
    t = gpu.shared.array(gpu.thread_idx.x, np.float32)
    t[0] = out[0]


def four_axes(out):
    t = gpu.shared.array((1, 1, 1, 1), np.float32)
    out[0] = t[0, 0, 0, 0]


def empty_shape(out):
    t = gpu.shared.array((4, 0), np.float32)
    out[0] = t[0, 0]


def bad_dtype(out):
    t = gpu.shared.array(4, np.complex64)
    out[0] = t[0]


def lds_out_of_range(out):
    t = gpu.shared.array(4, np.float32)
    out[0] = t[4]


def global_list(out):
    out[0] = TABLE[0]


def global_array(out):
    out[0] = LOOKUP[0]


def huge_int(out):
    out[0] = BIG


def division_by_zero(out):
    out[0] = 1 // 0


def set_attribute(out):
    p = Point(1)
    p.x = 2
    out[0] = p.x


def unknown_attribute(out):
    out[0] = Point(1).y


def constructor_arity(out):
    out[0] = Point().x


def call_a_number(out):
    x = out[0]
    out[0] = x(1)


def unpack_too_many(out):
    a, b, c = pair(1)
    out[0] = a + b + c


def min_of_one(out):
    out[0] = min(out[0])


def nan_to_int(out):
    out[0] = np.int32(math.nan)


def int_power(out):
    i = gpu.thread_idx.x
    out[0] = i**i


MESSAGES = {
    undefined_name: "the name 'missing' is not defined.",
    undefined_attribute: "thread_idx has no attribute 'w' in kernels.",
    ordinary_function: "plain() is an ordinary Python function.",
    calls_itself: "recursive() calls itself: kernels have no recursion.",
    wrong_arity: "pair() is given too many arguments.",
    wrong_keyword: "pair() lacks the argument 'x'.",
    unsupported_math: "math.gamma() is not supported in kernels.",
    unsupported_numpy: "numpy.sqrt() is not supported in kernels.",
    unsupported_builtin: "sorted() is not supported in kernels.",
    wrong_rank: "a 1-D array takes 1 index, not 2.",
    float_index: "an array index is an int, not the constant 0.5.",
    tuple_into_array: "an array of float32 cannot hold a tuple.",
    item_of_scalar: "the constant 1 cannot be indexed.",
    assign_to_scalar: "items of the constant 1 cannot be assigned.",
    dynamic_tuple_index: "a tuple is indexed by a compile-time constant only.",
    tuple_out_of_range: "index 2 is out of range for a tuple of 2.",
    text_value: "an array of float32 cannot hold the constant 'a'.",
    no_common_type: "'x' is the constant 1 on one way through the code and a tuple on another.",
    bitwise_float: "& is not defined for float32.",
    shift_float: "<< is not defined for float32.",
    loop_over_array: "a loop over array(float32, 1-D) is not supported.",
    float_range: "range() takes ints, not float32.",
    zero_step: "range() has step 0.",
    dynamic_shape: "the shape of gpu.shared.array() is not a compile-time constant.",
    four_axes: "gpu.shared.array() has 4 axes.",
    empty_shape: "gpu.shared.array() has the shape (4, 0).",
    bad_dtype: "complex64 is not a dtype that kernels support.",
    lds_out_of_range: "index 4 is out of range for an axis of 4.",
    global_list: "'TABLE': a list from outside the kernel cannot be used in it.",
    global_array: "'LOOKUP': a ndarray from outside the kernel cannot be used in it.",
    huge_int: "'BIG': the integer 1180591620717411303424 needs more than 64 bits.",
    division_by_zero: "integer division or modulo by zero.",
    set_attribute: "the attribute 'x' cannot be assigned: objects in kernels do not change.",
    unknown_attribute: "Point has no attribute 'y' in kernels.",
    constructor_arity: "Point() lacks the argument 'x'.",
    call_a_number: "float32 cannot be called.",
    unpack_too_many: "a tuple of 2 is unpacked into 3 names.",
    min_of_one: "min() takes two values or more in kernels.",
    nan_to_int: "nan cannot become int32.",
    int_power: "an int to a power that is not a constant from 0 to 64 is not supported.",
}


# The line of the error, counted from the def, where it is not the kernel's last.
LINES = {
    loop_over_array: 1,
    float_range: 1,
    zero_step: 1,
    dynamic_shape: 1,
    four_axes: 1,
    empty_shape: 1,
    bad_dtype: 1,
    set_attribute: 2,
    unpack_too_many: 1,
}
FIXES = {
    ordinary_function: "decorate it with @pipedsl.device_function.",
    wrong_arity: "its signature is pair(x).",
    constructor_arity: "its signature is Point(x).",
    unsupported_numpy: "use math.sqrt().",
    global_array: "pass it as an argument.",
    bitwise_float: "use integers.",
    float_range: "convert with np.int32(...).",
    dynamic_tuple_index: "use an array in LDS instead.",
    int_power: "convert to float32 first.",
}


@pytest.mark.parametrize("function", MESSAGES, ids=lambda function: function.__name__)
def test_message_and_line(function):
    source = KernelSource.capture(function)
    with pytest.raises(KernelTypeError) as caught:
        lower(source, [type_of(np.zeros(4, np.float32))], "gfx942", 64)
    error = caught.value
    assert error.message == MESSAGES[function]
    assert error.code == "P220"
    assert error.where.filename == __file__
    blamed = KernelSource.capture(recursive.function, is_kernel=False)
    lines = (blamed if function is calls_itself else source).text.splitlines()
    assert error.where.source_line() == lines[LINES.get(function, -1)]


@pytest.mark.parametrize("function", FIXES, ids=lambda function: function.__name__)
def test_fix(function):
    with pytest.raises(KernelTypeError) as caught:
        lower(KernelSource.capture(function), [type_of(np.zeros(4, np.float32))], "gfx942", 64)
    assert caught.value.fix == FIXES[function]
