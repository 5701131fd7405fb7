"""Many configurations, on any executor, each measured once and kept."""

from __future__ import annotations

import functools
import json
import multiprocessing
import pickle
import signal
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import (
    BrokenExecutor,
    CancelledError,
    Executor,
    Future,
    ProcessPoolExecutor,
    ThreadPoolExecutor,
    as_completed,
)
from dataclasses import asdict
from pathlib import Path
from typing import Any, TypeVar

from tqdm import tqdm

from pipedsl.bench.records import Records
from pipedsl.core.cache import FileCache, content_key
from pipedsl.core.config import config
from pipedsl.core.errors import LaunchError, PipedslError
from pipedsl.core.version import source_fingerprint
from pipedsl.dispatch.callsite import caller

T = TypeVar("T")
Measure = Callable[[T], Mapping[str, Any]]

PACKAGES = (
    "bench", "checker", "codegen", "core", "dispatch", "frontend", "isa", "pipeline", "runtime",
    "sim", "target", "tiles", "views",
)  # fmt: skip
"""Packages whose source results depend on."""


def sweep(
    measure: Measure[T],
    configs: Sequence[T],
    *,
    version: str = "",
    executor: Executor | None = None,
    progress: bool = True,
    title: str = "",
    columns: Sequence[str] = (),
) -> Records:
    """Call `measure` for every configuration; results that are in the cache are not measured again.

    A result is stored as soon as it is there: a sweep that was killed goes on where it ended.

    Parameters
    ----------
    measure : callable
        From a configuration to numbers and texts by name; both must be picklable.
    configs : sequence of dataclass instances
    version : str
        Changes when `measure` does, e.g. a hash of what it is made of. Of pipedsl's own source the
        cache knows.
    executor : concurrent.futures.Executor, optional
        Where to measure: also ``dask.distributed.Client().get_executor()``. By default processes,
        one per core; a script that uses them needs the usual ``if __name__ == "__main__"``, and what a
        notebook defines runs in a thread of its own process instead.
    progress : bool
        Show a bar on stderr, where that is a terminal or a notebook.

    Returns
    -------
    Records
        In the order of `configs`: each row is the configuration, then the result. What raised a
        `PipedslError` or lost its process is among the failures.
    """
    cache = FileCache("sweeps")
    keys = [_key(measure, item, version) for item in configs]
    found: dict[int, dict[str, Any]] = {}
    for number, key in enumerate(keys):
        stored = cache.get(key)
        if stored is not None:
            found[number] = json.loads(stored)
    missing = [number for number in range(len(configs)) if number not in found]
    bar = tqdm(
        total=len(configs), initial=len(found), desc=title or "sweep", unit="config",
        disable=None if progress else True, file=sys.stderr,
    )  # fmt: skip
    with bar:
        for number, result in _results(measure, configs, missing, executor):
            found[number] = result
            if not result.pop("lost", False):
                cache.put(keys[number], json.dumps(result).encode())
            bar.update()
    rows: list[dict[str, Any]] = []
    failures: list[dict[str, Any]] = []
    for number, item in enumerate(configs):
        (failures if "reason" in found[number] else rows).append(
            {**_fields(item), **found[number]}
        )
    return Records(rows, failures, title, columns)


def _key(measure: Measure[T], item: T, version: str) -> str:
    return content_key(
        f"{_name(measure)}", repr(item), version, source_fingerprint(*PACKAGES), sys.version
    )


def _name(measure: Any) -> str:
    if isinstance(measure, functools.partial):
        return f"{_name(measure.func)} {measure.args!r} {measure.keywords!r}"
    return f"{measure.__module__}.{measure.__qualname__}"


def _fields(item: Any) -> dict[str, Any]:
    named = dict(item) if isinstance(item, Mapping) else asdict(item)
    return {
        name: "x".join(map(str, value)) if isinstance(value, tuple) else value
        for name, value in named.items()
    }


def _results(
    measure: Measure[T], configs: Sequence[T], missing: Sequence[int], executor: Executor | None
) -> Iterator[tuple[int, dict[str, Any]]]:
    if not missing:
        return
    if executor is not None:
        yield from _collect(executor, measure, configs, missing)
        return
    if not _can_travel(measure, configs[missing[0]]):
        with ThreadPoolExecutor(1) as thread:
            yield from _collect(thread, measure, configs, missing)
        return
    lost = []
    with processes(min(config.threads, len(missing))) as pool:
        for number, result in _collect(pool, measure, configs, missing):
            if result.get("lost"):
                lost.append(number)
            else:
                yield number, result
    # A process that dies takes the others' work with it: each of them alone shows which it was.
    for number in lost:
        with processes(1) as pool:
            yield from _collect(pool, measure, configs, [number])


def _can_travel(measure: Any, item: Any) -> bool:
    """Whether other processes find `measure`; what a notebook or a prompt defines, they do not.

    Raises
    ------
    LaunchError
        If it cannot be sent at all.
    """
    try:
        text = pickle.dumps((measure, item))
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        raise LaunchError(
            f"the measurement cannot be sent to another process: {error}.",
            fix="define it at the top level of a module, or pass executor=ThreadPoolExecutor(1).",
            where=caller(),
        ) from None
    has_file = hasattr(sys.modules["__main__"], "__file__")
    return can_spawn() and (has_file or b"__main__" not in text)


def can_spawn() -> bool:
    """Whether new processes can start: they read the main module's file, where it claims to have one."""
    file = getattr(sys.modules["__main__"], "__file__", None)
    return file is None or Path(file).is_file()


def processes(count: int) -> ProcessPoolExecutor:
    """New processes, which know nothing of this one's threads and locks."""
    context = multiprocessing.get_context("spawn")
    # Ctrl-C reaches them too; they leave it to this process.
    return ProcessPoolExecutor(count, context, signal.signal, (signal.SIGINT, signal.SIG_IGN))


def _collect(
    executor: Executor, measure: Measure[T], configs: Sequence[T], missing: Sequence[int]
) -> Iterator[tuple[int, dict[str, Any]]]:
    futures: dict[Future[dict[str, Any]], int] = {}
    try:
        for number in missing:
            futures[executor.submit(_attempt, measure, configs[number])] = number
        for future in as_completed(futures):
            try:
                yield futures[future], future.result()
            except (BrokenExecutor, CancelledError):
                yield futures[future], {"reason": "its process ended", "lost": True}
    except BrokenExecutor:
        done = set(futures.values())
        for number in missing:
            if number not in done:
                yield number, {"reason": "its process ended", "lost": True}
    finally:
        for future in futures:
            future.cancel()


def _attempt(measure: Measure[T], item: T) -> dict[str, Any]:
    try:
        return dict(measure(item))
    except PipedslError as error:
        return {"reason": error.message}
