"""``pipedsl.autotune``: a function that finds its fastest configuration."""

from __future__ import annotations

import functools
import inspect
import json
import sys
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import BrokenExecutor, Executor
from importlib import import_module
from typing import Any

import numpy as np
from tqdm import tqdm

from pipedsl.bench.measurement import Measurement, do_bench
from pipedsl.bench.records import Records
from pipedsl.bench.sweep import PACKAGES, can_spawn, processes
from pipedsl.core.cache import FileCache, content_key
from pipedsl.core.config import config
from pipedsl.core.errors import LaunchError, PipedslError
from pipedsl.core.html import Shown
from pipedsl.core.version import source_fingerprint
from pipedsl.dispatch.callsite import caller
from pipedsl.dispatch.freshness import Dependencies
from pipedsl.frontend.fingerprint import fingerprint
from pipedsl.runtime import DeviceArray, get_device, to_device, use_device
from pipedsl.runtime.simulated import SimulatedDevice


class Config(Shown):
    """One choice of keyword arguments for a tuned function.

    Examples
    --------
    ``Config(stages=3, tile=(64, 64, 32))``
    """

    def __init__(self, **kwargs: Any) -> None:
        self.kwargs = kwargs

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Config) and self.kwargs == other.kwargs

    def __hash__(self) -> int:
        return hash(repr(self))

    def __repr__(self) -> str:
        return f"Config({', '.join(f'{name}={value!r}' for name, value in self.kwargs.items())})"


Prune = Callable[[Sequence[Config], Mapping[str, Any]], Sequence[Config]]


class Tuned(Shown):
    """A function whose configuration is chosen at the first call with new key values.

    Attributes
    ----------
    name : str
    configs : tuple of Config
    best_config : Config or None
        The choice of the last call.
    timings : Records or None
        What the last tuning measured; None before one, and where the choice came from a cache.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        configs: Sequence[Config],
        key: Sequence[str],
        prune: Prune | None,
        executor: Executor | None,
        warmup: float,
        rep: float,
    ) -> None:
        self.function = function
        self.configs = tuple(configs)
        self.key = tuple(key)
        self.best_config: Config | None = None
        self.timings: Records | None = None
        self._prune, self._executor = prune, executor
        self._warmup, self._rep = warmup, rep
        self._signature = inspect.signature(function)
        self._chosen: dict[str, Config] = {}
        self._names: Dependencies | None = None
        self._source = ""
        functools.update_wrapper(self, function)
        self.name = function.__name__
        self._check()

    def _check(self) -> None:
        names = self._signature.parameters
        unknown = [name for name in self.key if name not in names]
        unknown += [name for c in self.configs for name in c.kwargs if name not in names]
        if unknown or not self.configs:
            what = f"has no parameter {unknown[0]!r}" if unknown else "has no configurations"
            raise LaunchError(f"{self.name}() {what}.", where=caller())

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        config = self.best_config = self.choose(*args, **kwargs)
        return self.function(*args, **kwargs, **config.kwargs)

    def choose(self, *args: Any, **kwargs: Any) -> Config:
        """The configuration that a call with these arguments takes, tuned now if need be.

        Arrays stay as they are: tuning works on copies.

        Raises
        ------
        LaunchError
            If no configuration works; the message has the last one's reason.
        """
        if not config.autotune:
            return self.configs[0]
        named = self._signature.bind_partial(*args, **kwargs).arguments
        key = self._cache_key(named)
        if key not in self._chosen:
            cache = FileCache("autotune")
            stored = cache.get(key)
            if stored is None:
                stored = json.dumps(self._tune(named, args, kwargs)).encode()
                cache.put(key, stored)
            self._chosen[key] = self.configs[json.loads(stored)]
        return self._chosen[key]

    def _cache_key(self, named: Mapping[str, Any]) -> str:
        device = get_device()
        if self._names is None or self._names.changed():  # a walk over all sources takes a while
            self._names, self._source = Dependencies(self.function), fingerprint(self.function)
        return content_key(
            self._source, repr(self.configs), device.name, device.description,
            device.arch.name, source_fingerprint(*PACKAGES),
            *(f"{name} {_key_value(named.get(name))}" for name in self.key),
        )  # fmt: skip

    def _tune(self, named: Mapping[str, Any], args: Any, kwargs: Mapping[str, Any]) -> int:
        kept = self.configs
        if self._prune is not None:
            kept = tuple(self._prune(self.configs, named))
        numbers = [n for n, item in enumerate(self.configs) if item in kept]
        device = get_device().name
        results = {}
        with tqdm(total=len(numbers), desc=f"tuning {self.name}", disable=None) as bar:
            for number, result in self._measured(numbers, device, args, kwargs):
                results[number] = result
                bar.update()
        times = {n: r for n, r in results.items() if isinstance(r, Measurement)}
        rows = [
            {**self.configs[n].kwargs, "time": times[n].median, "unit": times[n].unit}
            for n in numbers
            if n in times
        ]
        failed = [{**self.configs[n].kwargs, "reason": results[n]} for n in results if n not in times]
        self.timings = Records(rows, failed, f"{self.name}() on {device}")
        if not times:
            reason = failed[-1]["reason"] if failed else "all were pruned"
            raise LaunchError(
                f"no configuration of {self.name}() works: {reason}", where=caller()
            )
        return min(times, key=lambda n: times[n].median)

    def _measured(self, numbers: Sequence[int], device: str, args: Any, kwargs: Any) -> Any:
        travels = self._can_travel()
        function: Any = self if travels else self.function
        executor, own = self._executor, None
        if executor is None and travels:
            executor = own = processes(min(config.threads, len(numbers)) or 1)

        def task(number: int) -> tuple[Any, ...]:
            options = self.configs[number].kwargs
            return function, device, args, {**kwargs, **options}, self._warmup, self._rep

        if executor is None:
            yield from ((n, _attempt(*task(n))) for n in numbers)
            return
        args, kwargs = _with_arrays(args, _on_host), _with_arrays(kwargs, _on_host)
        futures = {n: executor.submit(_attempt, *task(n)) for n in numbers}
        try:
            for number, future in futures.items():
                try:
                    yield number, future.result()
                except BrokenExecutor:
                    yield number, "its process ended."
        finally:
            for future in futures.values():
                future.cancel()
            if own is not None:
                own.shutdown(cancel_futures=True)

    def _can_travel(self) -> bool:
        """Whether another process finds this by its name; a GPU is asked from one process only."""
        module = sys.modules.get(self.function.__module__)
        return (
            self.function.__module__ != "__main__"
            and can_spawn()
            and isinstance(get_device(), SimulatedDevice)
            and getattr(module, self.name, None) is self
        )

    def __reduce__(self) -> Any:
        return (_found, (self.function.__module__, self.name))

    def __repr__(self) -> str:
        return f"<Tuned {self.name}: {len(self.configs)} configurations>"


def _found(module: str, name: str) -> Any:
    return getattr(import_module(module), name)


def _attempt(
    function: Any, device: str, args: Any, kwargs: Any, warmup: float, rep: float
) -> Measurement | str:
    plain = function.function if isinstance(function, Tuned) else function
    try:
        with use_device(device):
            copies, named = _with_arrays(args, _copy), _with_arrays(kwargs, _copy)
            return do_bench(lambda: plain(*copies, **named), warmup, rep, whole=False)
    except PipedslError as error:
        return error.message


def _with_arrays(value: Any, change: Callable[[Any], Any]) -> Any:
    """Arguments with each array changed, also those in tuples and dicts."""
    if isinstance(value, (np.ndarray, DeviceArray)):
        return change(value)
    if isinstance(value, dict):
        return {name: _with_arrays(item, change) for name, item in value.items()}
    if type(value) is tuple:
        return tuple(_with_arrays(item, change) for item in value)
    return value


def _copy(array: np.ndarray | DeviceArray) -> np.ndarray | DeviceArray:
    return array.copy() if isinstance(array, np.ndarray) else to_device(array.copy_to_host())


def _on_host(array: np.ndarray | DeviceArray) -> np.ndarray:
    return array if isinstance(array, np.ndarray) else array.copy_to_host()


def _key_value(value: Any) -> str:
    if isinstance(value, (np.ndarray, DeviceArray)):
        return f"{value.dtype} {value.shape}"
    return repr(value)


def autotune(
    configs: Sequence[Config],
    key: Sequence[str],
    prune: Prune | None = None,
    *,
    executor: Executor | None = None,
    warmup: float = 25,
    rep: float = 100,
) -> Callable[[Callable[..., Any]], Tuned]:
    """Let a function choose the fastest of some configurations.

    The function launches kernels, and takes what configurations hold as keyword arguments. The choice
    is made by `do_bench` at the first call with new values of `key`, on copies of the arguments, and
    kept on disk for this function's source, this device and these values. On a simulated device it
    is made by modelled cycles. ``PIPEDSL_AUTOTUNE=0`` takes the first configuration unmeasured.

    Parameters
    ----------
    configs : sequence of Config
    key : sequence of str
        Parameters on which the choice depends: of arrays the dtype and shape, of others the value.
    prune : callable, optional
        From the configurations and the named arguments to the configurations worth measuring.
    executor : concurrent.futures.Executor, optional
        Where to measure. By default processes for a function of a module on a simulated device,
        else this process.
    warmup, rep : float
        Milliseconds, for `do_bench`.

    Examples
    --------
    ::

        @pipedsl.autotune([pipedsl.Config(stages=s) for s in (2, 3, 4)], key=["a", "b"])
        def matmul(a, b, c, stages):
            make_kernel(stages)[grid, block](a, b, c)
    """
    return lambda function: Tuned(function, configs, key, prune, executor, warmup, rep)
