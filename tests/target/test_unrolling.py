"""gpu.static_range against the same loops in Python."""

from __future__ import annotations

import numpy as np
import pytest

from pipedsl import gpu, pipelined_kernel
from pipedsl.core.errors import KernelTypeError

ROWS = 3


def run(kernel, *args):
    out = np.zeros(1, np.int32)
    kernel[1, 1](out, *(np.int32(arg) for arg in args))
    return int(out[0])


@pipelined_kernel
def nested(out, limit):
    total = 0
    columns = ROWS * 2
    for i in gpu.static_range(ROWS):
        for j in gpu.static_range(i, columns):
            if j == 2:
                continue
            if total > limit:
                break
            total += i * 10 + j
        if i == 1:
            total += 1000
    out[0] = total


def nested_reference(limit):
    total = 0
    for i in range(3):
        for j in range(i, 6):
            if j == 2:
                continue
            if total > limit:
                break
            total += i * 10 + j
        if i == 1:
            total += 1000
    return total


@pytest.mark.parametrize("limit", [-1, 0, 10, 50, 10000])
def test_nested_loops_with_break_and_continue(limit):
    assert run(nested, limit) == nested_reference(limit)


def test_the_variable_is_a_literal_that_indexes_a_tuple():
    @pipelined_kernel
    def kernel(out):
        table = (10, 20, 30)
        total = 0
        for i in gpu.static_range(2, -1, -1):
            total = total * 3 + table[i]
        for _ in gpu.static_range(0):
            total += 1000
        out[0] = total + i

    assert run(kernel) == (30 * 3 + 20) * 3 + 10 + 0


def test_a_bound_may_come_from_a_tuple_that_the_function_unpacks():
    @pipelined_kernel
    def kernel(out):
        rows, columns, total = ROWS, 4, 0
        for i in gpu.static_range(rows):
            for j in gpu.static_range(columns):
                total += i * 10 + j
        out[0] = total

    assert run(kernel) == sum(i * 10 + j for i in range(3) for j in range(4))


def test_a_static_loop_inside_a_loop_at_run_time():
    @pipelined_kernel
    def kernel(out, n):
        total = 0
        for i in range(n):
            for j in gpu.static_range(4):
                total += i * j
        out[0] = total

    assert run(kernel, 7) == sum(i * j for i in range(7) for j in range(4))


def test_a_loop_at_run_time_inside_a_static_loop():
    @pipelined_kernel
    def kernel(out, n):
        total = 0
        for j in gpu.static_range(4):
            k = j
            while k < n:
                total += k
                k += j + 1
        out[0] = total

    assert run(kernel, 9) == sum(k for j in range(4) for k in range(j, 9, j + 1))


def test_no_loop_is_left():
    @pipelined_kernel
    def kernel(out):
        for i in gpu.static_range(5):
            out[i] = out[i] * (i + 1)

    out = np.ones(5, np.int32)
    kernel[1, 1](out)
    assert out.tolist() == [1, 2, 3, 4, 5]
    assert "s_cbranch" not in kernel.compile(out, arch="gfx942", block=64).asm


def test_bounds_at_run_time_are_refused():
    @pipelined_kernel
    def kernel(out, n):
        for i in gpu.static_range(n):
            out[i] = 1

    with pytest.raises(KernelTypeError, match="takes 1 to 3 compile-time ints") as caught:
        run(kernel, 3)
    assert "for i in gpu.static_range(n):" in str(caught.value)


def test_very_long_loops_are_refused():
    @pipelined_kernel
    def kernel(out):
        for i in gpu.static_range(100_000):
            out[0] = i

    with pytest.raises(KernelTypeError, match="would unroll 100000 iterations; the limit is 4096"):
        run(kernel)
