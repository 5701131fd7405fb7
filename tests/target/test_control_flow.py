"""Loops, branches, tuples, device functions and objects, run on the simulator."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

from pipedsl import gpu
from pipedsl.frontend import device_function

RANGES = [
    (5,), (0,), (-3,), (2, 9), (9, 2), (0, 10, 3), (0, 9, 3), (10, 0, -1), (10, 0, -4),
    (-5, 6, 2), (2147483640, 2147483647, 5), (-2147483648, 2147483647, 1 << 30), (7, 7, 2),
]  # fmt: skip


def checksum(values):
    total = 0
    for value in values:
        total = total * 3 + value
    return np.array([total], dtype=object).astype(object)[0] % 2**32


@pytest.mark.parametrize("arguments", RANGES)
@pytest.mark.parametrize("constant_step", [True, False])
def test_range(run, arguments, constant_step):
    start, stop, step = (0, *arguments, 1) if len(arguments) == 1 else (*arguments, 1)[:3]
    if constant_step:

        def kernel(out, start, stop, unused):
            total = np.uint32(0)
            for i in range(start, stop, step):
                total = total * np.uint32(3) + np.uint32(i)
            out[0] = total
    else:

        def kernel(out, start, stop, by):
            total = np.uint32(0)
            for i in range(start, stop, by):
                total = total * np.uint32(3) + np.uint32(i)
            out[0] = total

    out = np.zeros(1, np.uint32)
    run(kernel, out, np.int32(start), np.int32(stop), np.int32(step))
    assert out[0] == checksum(range(start, stop, step))


def test_range_variable_keeps_its_value_and_type(run):
    def kernel(out, n):
        i = -1
        for i in range(n):  # noqa: B007
            pass
        out[0] = i

    for n in (0, 5):
        out = np.zeros(1, np.int32)
        run(kernel, out, np.int32(n))
        assert out[0] == n - 1


def collatz(n):
    steps = 0
    while n != 1:
        n = n // 2 if n % 2 == 0 else 3 * n + 1
        steps += 1
        if steps > 200:
            break
    else:
        steps += 1000
    return steps


def test_divergent_while_with_break_and_else(run):
    function = device_function(collatz)

    def kernel(out):
        i = gpu.thread_idx.x
        out[i] = function(i + 1)

    out = np.zeros(64, np.int32)
    run(kernel, out)
    assert out.tolist() == [collatz(i + 1) for i in range(64)]


def test_continue_and_nested_loops(run):
    def kernel(out):
        lane = gpu.thread_idx.x
        total = 0
        for i in range(8):
            if i == lane % 8:
                continue
            for j in range(i):
                if j == 5:
                    break
                total += i * j
        out[lane] = total

    out = np.zeros(64, np.int32)
    run(kernel, out)
    expected = [
        sum(i * j for i in range(8) if i != lane % 8 for j in range(min(i, 5)))
        for lane in range(64)
    ]
    assert out.tolist() == expected


def test_swap_in_a_loop(run):
    """Both variables of a parallel assignment take the other's old value."""

    def kernel(out, n):
        a, b = 0, 1
        for _ in range(n):
            a, b = b, a + b
        out[0] = a

    out = np.zeros(1, np.int32)
    run(kernel, out, np.int32(20))
    assert out[0] == 6765


def test_accumulators_start_as_python_numbers(run):
    def kernel(out, a):
        total = 0.0
        count = 0
        for i in range(a.shape[0]):
            total += a[i]
            count += 1
        out[0] = total
        out[1] = count

    a = np.linspace(0, 1, 9)
    out = np.zeros(2)
    run(kernel, out, a)
    assert out.tolist() == [sum(a.tolist()), 9]


@device_function
def minmax(a, b):
    if a < b:
        return a, b
    return b, a


@device_function
def scale(x, factor=2, *, offset=1):
    return x * factor + offset


def test_device_functions_return_tuples_and_have_defaults(run):
    def kernel(out, a, b):
        i = gpu.thread_idx.x
        low, high = minmax(a[i], b[i])
        pair = minmax(high, low)
        out[i] = scale(low) + scale(high, 10) + scale(pair[-1], offset=7, factor=3) + len(pair)

    rng = np.random.default_rng(0)
    a, b = rng.integers(0, 99, 64, dtype=np.int32), rng.integers(0, 99, 64, dtype=np.int32)
    out = np.zeros(64, np.int32)
    run(kernel, out, a, b)
    low, high = np.minimum(a, b), np.maximum(a, b)
    np.testing.assert_array_equal(out, 2 * low + 1 + 10 * high + 1 + 3 * high + 7 + 2)


class Window:
    """An object with constant, scalar and array fields."""

    LIMIT = 3

    def __init__(self, data, width, start=None):
        if start is None:
            start = width
        self.data = data
        self.width = width
        self.start = start + self.shift(1)

    @staticmethod
    def shift(x):
        return x * 10

    def get(self, i):
        return self.data[self.start + i % self.width]

    def moved(self, by):
        return Window(self.data, self.width, by)


def test_objects(run):
    def kernel(out, a):
        i = gpu.thread_idx.x
        first = Window(a, 4)
        second = first.moved(20)
        out[i] = first.get(i) + 100 * second.get(i) + Window.LIMIT + Window.shift(2)

    a = np.arange(64, dtype=np.int32)
    out = np.zeros_like(a)
    run(kernel, out, a)
    np.testing.assert_array_equal(out, (14 + a % 4) + 100 * (30 + a % 4) + 3 + 20)


def test_branches_on_closed_over_values_are_not_typed(run):
    def make(shape, transform):
        def kernel(out):
            i = gpu.thread_idx.x
            value = i + 1
            if transform is not None:
                value = transform(value)
            if len(shape) == 2:
                out[i, shape[1] - 1] = value
            else:
                out[i] = value

        return kernel

    out = np.zeros(64, np.int32)
    run(make((64,), None), out)
    np.testing.assert_array_equal(out, np.arange(1, 65))
    grid = np.zeros((64, 2), np.int32)
    run(make((64, 2), scale), grid)
    np.testing.assert_array_equal(grid[:, 1], 2 * np.arange(1, 65) + 1)


@dataclass(frozen=True)
class Layout:
    shape: tuple

    @property
    def ndim(self):
        return len(self.shape)


class Holder:
    def __init__(self, layout):
        self.layout = layout

    def put(self, out, value):
        i = gpu.thread_idx.x
        if self.layout.ndim == 2:
            out[i, 0] = value
        else:
            out[i] = value


def test_branches_on_attributes_of_dataclasses_are_not_typed(run):
    def make(layout):
        def kernel(out):
            Holder(layout).put(out, 7)

        return kernel

    for layout in (Layout((64,)), Layout((64, 1))):
        out = np.zeros(layout.shape, np.int32)
        run(make(layout), out)
        np.testing.assert_array_equal(out, 7)


@device_function
def total(a):
    result = 0
    if a.ndim == 2:
        for i in range(a.shape[0]):
            for j in range(a.shape[1]):
                result += a[i, j]
    else:
        for i in range(a.shape[0]):
            result += a[i]
    return result


def test_branches_on_the_rank_of_an_array(run):
    def kernel(out, a, b):
        out[0] = total(a)
        out[1] = total(b)

    a = np.arange(12, dtype=np.int32).reshape(3, 4)
    out = np.zeros(2, np.int32)
    run(kernel, out, a, a[1])
    assert out.tolist() == [66, 22]
