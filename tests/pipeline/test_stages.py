"""Stages are acquired and released exactly once; what breaks that is refused with its line."""

from __future__ import annotations

import importlib.util
import inspect

import numpy as np
import pytest

from pipedsl import (
    AmdCounterBackend,
    KernelSyntaxError,
    KernelTypeError,
    ProducerConsumerPipeline,
    ProtocolError,
    device_function,
    gpu,
    pipelined_kernel,
)


def never_released(out, n):
    pipe = ProducerConsumerPipeline(AmdCounterBackend(2))
    stage = pipe.acquire_producer()  # here
    out[0] = stage.index()


def never_named(out, n):
    pipe = ProducerConsumerPipeline(AmdCounterBackend(2))
    pipe.acquire_consumer()  # here


def released_on_one_path(out, n):
    pipe = ProducerConsumerPipeline(AmdCounterBackend(2))
    stage = pipe.acquire_producer()  # here
    if n > 1:
        stage.commit()


def acquired_again_in_a_loop(out, n):
    pipe = ProducerConsumerPipeline(AmdCounterBackend(2))
    for _ in range(n):
        stage = pipe.acquire_consumer()  # here
        out[0] = stage.index()


def released_twice(out, n):
    pipe = ProducerConsumerPipeline(AmdCounterBackend(2))
    stage = pipe.acquire_consumer()
    stage.release()
    stage.release()  # here


def released_in_its_block(out, n):
    pipe = ProducerConsumerPipeline(AmdCounterBackend(2))
    with pipe.consume() as stage:  # here
        stage.release()


def used_after_release(out, n):
    pipe = ProducerConsumerPipeline(AmdCounterBackend(2))
    stage = pipe.acquire_consumer()
    stage.release()
    out[0] = stage.index()  # here


def used_after_its_block(out, n):
    pipe = ProducerConsumerPipeline(AmdCounterBackend(2))
    with pipe.produce() as stage:
        pass
    out[0] = stage.index()  # here


def used_without_a_block(out, n):
    pipe = ProducerConsumerPipeline(AmdCounterBackend(2))
    stage = pipe.produce()
    out[0] = stage.index()  # here


def renamed(out, n):
    pipe = ProducerConsumerPipeline(AmdCounterBackend(2))
    stage = pipe.acquire_consumer()
    other = stage
    other.release()
    out[0] = stage.index()  # here


@device_function
def give_back(stage):
    stage.release()  # here


def released_by_another_function(out, n):
    pipe = ProducerConsumerPipeline(AmdCounterBackend(2))
    stage = pipe.acquire_consumer()
    give_back(stage)


def last_one_not_released(out, n):
    pipe = ProducerConsumerPipeline(AmdCounterBackend(2))
    stage = pipe.acquire_and_advance()  # here
    for _ in range(n):
        following = pipe.acquire_and_advance()
        stage.commit(vmcnt=1)
        stage = following


def dropped_for_the_next(out, n):
    pipe = ProducerConsumerPipeline(AmdCounterBackend(2))
    stage = pipe.acquire_and_advance()  # here
    for _ in range(n):
        stage = pipe.acquire_and_advance()
    stage.commit()


def moved_and_released_in_both_names(out, n):
    pipe = ProducerConsumerPipeline(AmdCounterBackend(2))
    stage = pipe.acquire_and_advance()
    for _ in range(n):
        following = pipe.acquire_and_advance()
        stage.commit()  # here
        stage = following
        following.commit()
    stage.commit()


def signalled_twice(out, n):
    pipe = ProducerConsumerPipeline(AmdCounterBackend(2))
    with pipe.consume() as stage:  # here
        stage.arrive()


def committed_after_its_signal(out, n):
    pipe = ProducerConsumerPipeline(AmdCounterBackend(2))
    stage = pipe.acquire_producer(signal=False)
    if n > 1:
        stage.arrive()
    stage.commit()  # here


def arrives_in_a_loop(out, n):
    pipe = ProducerConsumerPipeline(AmdCounterBackend(2))
    stage = pipe.acquire_consumer()
    for _ in range(n):
        stage.arrive()  # here
    stage.release_without_signal()


def nested(out, n):
    pipe = ProducerConsumerPipeline(AmdCounterBackend(2))
    with pipe.produce() as stage:
        out[0] = n
        with pipe.produce() as other:  # here
            out[stage.index()] = other.index()


def held_twice(out, n):
    held = Drain(ProducerConsumerPipeline(AmdCounterBackend(2)))
    stage = held.pipe.acquire_producer()
    other = held.pipe.acquire_and_advance()  # here
    other.commit()
    stage.commit()


CASES = [
    (signalled_twice, r"'stage' \(line {acquired}\) signals twice\."),
    (committed_after_its_signal, r"'stage' \(line {acquired}\) signals twice\."),
    (arrives_in_a_loop, r"'stage' \(line {acquired}\) signals twice\."),
    (nested, r"'other' takes the slot that 'stage' \(line {acquired}\) still holds\."),
    (held_twice, r"'other' takes the slot that 'stage' \(line {acquired}\) still holds\."),
    (never_released, r"'stage' \(line {acquired}\) is never released\."),
    (never_named, r"a stage \(line {acquired}\) is never released\."),
    (released_on_one_path, r"'stage' \(line {acquired}\) is not released on every path\."),
    (acquired_again_in_a_loop, r"'stage' \(line {acquired}\) is never released\."),
    (released_twice, r"'stage' \(line {acquired}\) is released twice\."),
    (released_in_its_block, r"'stage' \(line {acquired}\) is released twice\."),
    (used_after_release, r"'stage' \(line {acquired}\) is used after its release\."),
    (used_after_its_block, r"'stage' \(line {acquired}\) is used after its release\."),
    (used_without_a_block, r"'stage' \(line {acquired}\) is used outside a with block\."),
    (renamed, r"'(stage|other)' \(line {acquired}\) is used after its release\."),
    (last_one_not_released, r"'stage' \(line {acquired}\) is not released on every path\."),
    (dropped_for_the_next, r"'stage' \(line {acquired}\) is not released on every path\."),
    (moved_and_released_in_both_names, r"'stage' \(line {acquired}\) is released twice\."),
    (
        released_by_another_function,
        r"'stage' .* is released in a function that was only given it\.",
    ),
]


def line_with(function, part: str) -> int:
    lines, first = inspect.getsourcelines(function)
    return next(first + i for i, text in enumerate(lines) if part in text)


@pytest.mark.parametrize(("function", "message"), CASES, ids=lambda x: getattr(x, "__name__", ""))
def test_a_stage_is_released_exactly_once(function, message: str) -> None:
    if function is released_by_another_function:
        acquired, here = 0, line_with(give_back.function, "# here")
    else:
        acquiring = ".produce()" if ".produce()" in inspect.getsource(function) else "acquire_"
        acquiring = ".consume()" if ".consume()" in inspect.getsource(function) else acquiring
        acquired, here = line_with(function, acquiring), line_with(function, "# here")
    with pytest.raises(ProtocolError, match=message.format(acquired=acquired)) as caught:
        pipelined_kernel(function).compile(np.zeros(1, np.int32), np.int32(3), arch="gfx942")
    assert caught.value.where.line == here
    assert caught.value.fix


@device_function
def fill_from(stage, out):
    out[stage.index()] = 1


def test_a_stage_may_be_moved_and_lent() -> None:
    @pipelined_kernel
    def kernel(out, n):
        pipe = ProducerConsumerPipeline(AmdCounterBackend(4))
        pipe.init()
        older = pipe.acquire_and_advance()
        newer = pipe.acquire_and_advance()
        for _ in range(n):
            fill_from(older, out)
            older.commit()
            older = newer
            newer = pipe.acquire_and_advance()
        fill_from(older, out)
        older.commit()
        fill_from(newer, out)
        newer.commit()

    out = np.zeros(4, np.int32)
    kernel[1, 64](out, 1)
    assert out.tolist() == [1, 1, 1, 0]


def returns(out, n):
    pipe = ProducerConsumerPipeline(AmdCounterBackend(2))
    with pipe.consume() as stage:
        if n > 1:
            return  # here
        out[0] = stage.index()


def breaks(out, n):
    pipe = ProducerConsumerPipeline(AmdCounterBackend(2))
    for _ in range(n):
        with pipe.consume() as stage:
            if stage.index() > 1:
                break  # here


def continues(out, n):
    pipe = ProducerConsumerPipeline(AmdCounterBackend(2))
    while n > 0:
        with pipe.consume() as stage:
            if stage.index() > 1:
                continue  # here


@pytest.mark.parametrize(
    ("function", "word"), [(returns, "return"), (breaks, "break"), (continues, "continue")]
)
def test_nothing_jumps_out_of_a_block(function, word: str) -> None:
    message = rf"{word} leaves the with block of 'stage' \(line \d+\) before its end\."
    with pytest.raises(KernelSyntaxError, match=message) as caught:
        pipelined_kernel(function)
    assert caught.value.where.line == line_with(function, "# here")


class Drain:
    """A user's undecorated class: its methods are checked when they are compiled."""

    def __init__(self, pipe):
        self.pipe = pipe

    def all(self, out, n):
        for i in range(n):
            with self.pipe.consume() as stage:
                if i > 2:
                    break  # here
                out[i] = stage.index()


def test_nothing_jumps_out_of_a_block_in_a_method() -> None:
    def kernel(out, n):
        Drain(ProducerConsumerPipeline(AmdCounterBackend(2))).all(out, n)

    with pytest.raises(KernelSyntaxError, match="break leaves the with block of 'stage'") as caught:
        pipelined_kernel(kernel).compile(np.zeros(1, np.int32), np.int32(3), arch="gfx942")
    assert caught.value.where.line == line_with(Drain.all, "# here")


class Lanes:
    """A class with a private name and a decorated kernel's line numbers."""

    def __init__(self, pipe):
        self.pipe = pipe
        self.__first = 5

    def fill(self, out):
        with self.pipe.produce() as stage:
            out[stage.index()] = self.__first


def test_private_names_survive_the_rewriting() -> None:
    @pipelined_kernel
    def kernel(out):
        pipe = ProducerConsumerPipeline(AmdCounterBackend(2))
        pipe.init()
        Lanes(pipe).fill(out)

    out = np.zeros(4, np.int32)
    kernel[1, 64](out)
    assert out.tolist() == [5, 0, 0, 0]


def test_with_takes_a_stage_and_one_name() -> None:
    @pipelined_kernel
    def number(out):
        with gpu.lane_id() as lane:  # here
            out[0] = lane

    @pipelined_kernel
    def tuples(out):
        with gpu.lane_id() as (lane, other):
            out[0] = lane + other

    with pytest.raises(KernelTypeError, match="with cannot enter int32") as caught:
        number.compile(np.zeros(1, np.int32), arch="gfx942")
    assert caught.value.where.line == line_with(number.source.function, "# here")
    with pytest.raises(KernelSyntaxError, match="with takes one name after as"):
        tuples.compile(np.zeros(1, np.int32), arch="gfx942")


def test_a_block_may_reuse_its_name() -> None:
    @pipelined_kernel
    def kernel(out):
        pipe = ProducerConsumerPipeline(AmdCounterBackend(2))
        pipe.init()
        with pipe.produce() as stage:
            stage = stage.index() + 3
            out[0] = stage
        with pipe.produce():
            out[1] = pipe.producer_stage() + 1

    out = np.zeros(4, np.int32)
    kernel[1, 64](out)
    assert out.tolist() == [3, 2, 0, 0]


def test_a_file_that_changed_after_its_import(tmp_path) -> None:
    """A method is read when it is compiled: its file must still be what was imported."""
    path = tmp_path / "drains.py"
    text = inspect.getsource(Drain)
    path.write_text(text)
    spec = importlib.util.spec_from_file_location("drains", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    path.write_text("# a new first line\n" + text.replace("i > 2", "i > 3"))

    def kernel(out, n):
        module.Drain(ProducerConsumerPipeline(AmdCounterBackend(2))).all(out, n)

    with pytest.raises(KernelSyntaxError, match=r"all\(\) is not what its file says any more"):
        pipelined_kernel(kernel).compile(np.zeros(1, np.int32), np.int32(3), arch="gfx942")


@pytest.mark.parametrize("doubled", [False, True])
def test_constants_decide_branches_in_a_block(doubled: bool) -> None:
    @pipelined_kernel
    def kernel(out):
        pipe = ProducerConsumerPipeline(AmdCounterBackend(2))
        pipe.init()
        with pipe.produce() as stage:
            if doubled:
                out[stage.index()] = 2
            else:
                out.no_such_member()

    if doubled:
        out = np.zeros(4, np.int32)
        kernel[1, 64](out)
        assert out.tolist() == [2, 0, 0, 0]
    else:
        with pytest.raises(KernelTypeError, match="no_such_member"):
            kernel.compile(np.zeros(1, np.int32), arch="gfx942")


def test_a_loop_in_a_block_may_be_left() -> None:
    @pipelined_kernel
    def kernel(out, n):
        pipe = ProducerConsumerPipeline(AmdCounterBackend(2))
        pipe.init()
        with pipe.produce():
            for i in range(n):
                if i == 2:
                    break
                out[i] = i + 1

    out = np.zeros(4, np.int32)
    kernel[1, 64](out, 4)
    assert out.tolist() == [1, 2, 0, 0]


def test_closed_over_values_and_defaults_survive_the_rewriting() -> None:
    stages, scale = 2, 3

    @device_function
    def fill(pipe, out, factor=scale, *, offset=4):
        with pipe.produce() as stage, pipe.consume_explicit():
            out[stage.index()] = factor * scale + offset + stages

    @pipelined_kernel
    def kernel(out):
        first = ProducerConsumerPipeline(AmdCounterBackend(stages))
        first.init()
        with first.produce() as outer:
            out[2] = outer.index() + 1
        with first.consume() as inner:
            out[3] = inner.index() + 2
        with first.produce():
            pass
        fill_position = first
        fill(fill_position, out, offset=5)

    out = np.zeros(4, np.int32)
    kernel[1, 64](out)
    assert out.tolist() == [9 + 5 + 2, 0, 1, 2]
