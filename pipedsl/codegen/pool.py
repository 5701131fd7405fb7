"""Warm worker processes: started early, reused, replaced when LLVM ends one."""

from __future__ import annotations

import atexit
import importlib.util
import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Sequence
from pathlib import Path

from pipedsl.codegen import worker
from pipedsl.core.errors import CompilationError


class WorkerPool:
    """Up to `limit` workers, shared by all threads.

    A forked child starts with none of its own; the parent's are not touched.

    Parameters
    ----------
    limit : int
        Workers at the same time; further requests wait.
    command : sequence of str, optional
        What to run as a worker; by default LLVM's.
    """

    _workers: list[_Worker]
    _idle: list[_Worker]

    def __init__(self, limit: int = 2, command: Sequence[str] | None = None) -> None:
        self._limit = limit
        self._command = command
        self._reset()
        atexit.register(self.close)
        os.register_at_fork(after_in_child=self._abandon)

    def start(self) -> None:
        """Start a worker unless there is one; returns before it is ready."""
        with self._lock:
            if not self._workers:
                self._idle.append(self._spawn())

    def request(self, *fields: str, timeout: float) -> tuple[str, ...]:
        """Reply of a worker to `fields`.

        Parameters
        ----------
        timeout : float
            Seconds that the worker may take once it has the request.

        Raises
        ------
        WorkerTimeout
            If it took longer; the worker is gone.
        WorkerDied
            If it ended instead of replying.
        CompilationError
            If no worker can be started.
        """
        with self._slots:
            taken = self._take()
            try:
                reply = taken.ask(fields, timeout)
            except BaseException:
                self._discard(taken)
                raise
            with self._lock:
                self._idle.append(taken)
            return reply

    def close(self) -> None:
        """End all workers; a request under way raises WorkerDied."""
        with self._lock:
            idle, self._idle = self._idle, []
            busy = [each for each in self._workers if each not in idle]
            self._workers = []
        for each in idle:
            each.stop()
        for each in busy:
            # Its pipes are in use: the thread that waits on them closes them.
            each.kill()

    def _reset(self) -> None:
        self._lock = threading.Lock()
        self._slots = threading.BoundedSemaphore(self._limit)
        self._workers = []
        self._idle = []

    def _abandon(self) -> None:
        for each in self._workers:
            each.abandon()
        self._reset()

    def _take(self) -> _Worker:
        with self._lock:
            while self._idle:
                candidate = self._idle.pop()
                if candidate.alive():
                    return candidate
                self._forget(candidate)
            return self._spawn()

    def _spawn(self) -> _Worker:
        new = _Worker(self._command or _default_command())
        self._workers.append(new)
        return new

    def _discard(self, dead: _Worker) -> None:
        with self._lock:
            self._forget(dead)

    def _forget(self, dead: _Worker) -> None:
        if dead in self._workers:
            self._workers.remove(dead)
        dead.stop()


class WorkerDied(Exception):
    """A worker ended instead of replying.

    Attributes
    ----------
    status : int
        Exit status, negative for a signal.
    output : str
        What it wrote to stderr during the request.
    """

    def __init__(self, status: int, output: str) -> None:
        super().__init__(f"the worker ended with status {status}")
        self.status, self.output = status, output


class WorkerTimeout(Exception):
    """A worker was ended because it took too long."""


class _Worker:
    """One process and the pipes to it."""

    def __init__(self, command: Sequence[str]) -> None:
        # All unbuffered: a buffer's lock, held by another thread during a fork, would block the
        # child in `abandon`.
        self._log = tempfile.TemporaryFile(mode="ab+", buffering=0)  # noqa: SIM115  (closed with the worker)
        try:
            # A session of its own: Ctrl-C in the terminal is the parent's business.
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._log,
                bufsize=0,
                start_new_session=True,
            )
        except OSError as error:
            self._log.close()
            raise CompilationError(
                f"the compiler's process cannot be started: {error}.",
                fix="sys.executable must be a Python interpreter.",
            ) from None

    def alive(self) -> bool:
        return self._process.poll() is None

    def ask(self, fields: Sequence[str], timeout: float) -> tuple[str, ...]:
        self._log.truncate(0)
        expired = threading.Event()

        def expire() -> None:
            expired.set()
            self.kill()

        deadline = threading.Timer(timeout, expire)
        deadline.daemon = True
        deadline.start()
        try:
            reply = self._exchange(fields)
        finally:
            deadline.cancel()
            deadline.join()
        if expired.is_set():
            raise WorkerTimeout
        if reply is None:
            raise WorkerDied(self._process.wait(), self._read_log())
        return reply

    def _exchange(self, fields: Sequence[str]) -> tuple[str, ...] | None:
        requests, replies = self._process.stdin, self._process.stdout
        assert requests is not None
        assert replies is not None
        try:
            worker.write_message(requests.fileno(), *fields)
        except BrokenPipeError:
            return None
        return worker.read_message(replies.fileno())

    def _read_log(self) -> str:
        self._log.seek(0)
        return self._log.read().decode(errors="replace")

    def kill(self) -> None:
        self._process.kill()

    def stop(self) -> None:
        self.kill()
        self._process.wait()
        self._close()

    def abandon(self) -> None:
        """Drop the pipes without touching the process, which belongs to the parent."""
        self._process.returncode = 0
        self._close()

    def _close(self) -> None:
        for stream in (self._process.stdin, self._process.stdout, self._log):
            if stream is not None:
                stream.close()


def _default_command() -> list[str]:
    """Worker command: isolated and without ``site``, which would double the start-up time."""
    spec = importlib.util.find_spec("llvmlite")
    if spec is None or spec.origin is None:
        raise CompilationError("llvmlite is not installed.", fix="pip install llvmlite.")
    packages = str(Path(spec.origin).parent.parent)
    return [sys.executable, "-I", "-S", worker.__file__, packages]
