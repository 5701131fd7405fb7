"""The worker pool against workers of its own, without LLVM."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time

import pytest

from pipedsl.codegen import worker
from pipedsl.codegen.pool import WorkerDied, WorkerPool, WorkerTimeout
from pipedsl.core.errors import CompilationError

# Replies with its process id and the request; "die" and "hang" do so.
ECHO = f"""
import os, runpy, sys, time
tools = runpy.run_path({worker.__file__!r})
while (request := tools["read_message"](0)) is not None:
    if request[0] == "die":
        sys.stderr.write("last words " + request[1])
        sys.stderr.flush()
        os._exit(3)
    if request[0] == "hang":
        time.sleep(600)
    tools["write_message"](1, str(os.getpid()), *request)
"""


@pytest.fixture
def pool():
    made = WorkerPool(limit=2, command=[sys.executable, "-c", ECHO])
    yield made
    made.close()


def test_a_worker_is_reused(pool):
    first, *_ = pool.request("a", timeout=60)
    second, *_ = pool.request("b", timeout=60)
    assert first == second


def test_start_is_what_the_first_request_uses(pool):
    pool.start()
    pool.start()
    (started,) = pool._workers
    assert pool.request("a", timeout=60)[0] == str(started._process.pid)


def test_messages_keep_their_boundaries_and_size(pool):
    fields = ("", "é", "x" * 3_000_000, "\0\n")
    assert pool.request(*fields, timeout=60)[1:] == fields


def test_death_reports_status_and_what_this_request_wrote(pool):
    for word in ("one", "two"):
        with pytest.raises(WorkerDied) as caught:
            pool.request("die", word, timeout=60)
        assert (caught.value.status, caught.value.output) == (3, f"last words {word}")
    assert pool.request("alive", timeout=60)[1] == "alive"


def test_a_worker_that_died_while_idle_is_replaced(pool):
    before, *_ = pool.request("a", timeout=60)
    (idle,) = pool._workers
    idle._process.kill()
    idle._process.wait()
    after, text = pool.request("b", timeout=60)
    assert (text, after != before) == ("b", True)


def test_timeout_ends_the_worker_and_spares_the_next(pool):
    pool.request("a", timeout=60)
    (busy,) = pool._workers
    with pytest.raises(WorkerTimeout):
        pool.request("hang", timeout=0.2)
    assert busy._process.returncode == -9
    assert pool.request("b", timeout=60)[1] == "b"


def test_an_interrupt_ends_the_worker_and_spares_the_next(pool):
    def interrupt(signum, frame):
        raise KeyboardInterrupt

    previous = signal.signal(signal.SIGALRM, interrupt)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.2)
        with pytest.raises(KeyboardInterrupt):
            pool.request("hang", timeout=60)
    finally:
        signal.signal(signal.SIGALRM, previous)
    assert pool._workers == []
    assert pool.request("b", timeout=60)[1] == "b"


def test_no_more_workers_than_the_limit(pool):
    seen = set()

    def work():
        for _ in range(5):
            seen.add(pool.request("a", timeout=60)[0])

    threads = [threading.Thread(target=work) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert 1 <= len(seen) <= 2


# Python 3.12 warns that a fork of a threaded process may hang the child: here it must not.
@pytest.mark.filterwarnings("ignore:.*multi-threaded:DeprecationWarning")
def test_fork_during_a_request_leaves_both_sides_working(pool):
    results = []
    busy = threading.Thread(target=lambda: results.append(_attempt(pool)))
    busy.start()
    while not pool._workers or pool._workers[0] in pool._idle:
        time.sleep(0.001)
    child = os.fork()
    if child == 0:
        try:
            ok = pool.request("child", timeout=60)[1] == "child"
            pool.close()
            os._exit(0 if ok else 2)
        finally:
            os._exit(1)
    assert os.waitpid(child, 0)[1] == 0
    assert pool.request("parent", timeout=60)[1] == "parent"
    pool.close()
    busy.join()
    assert results == ["died"]


def _attempt(pool):
    try:
        return pool.request("hang", timeout=60)
    except WorkerDied:
        return "died"


def test_an_interpreter_that_does_not_start():
    pool = WorkerPool(command=["/nonexistent/python"])
    with pytest.raises(CompilationError) as caught:
        pool.request("a", timeout=60)
    assert caught.value.message.startswith("the compiler's process cannot be started: ")
    assert caught.value.fix == "sys.executable must be a Python interpreter."
