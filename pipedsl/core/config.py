"""Knobs: one row each, read late, from code or from the environment."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import platformdirs

from pipedsl.core.errors import ConfigError, provide_traceback_switch
from pipedsl.core.html import Shown


@dataclass(frozen=True)
class Knob:
    """One setting.

    Attributes
    ----------
    name : str
        Attribute of `config`; the environment variable is ``PIPEDSL_`` + upper case.
    default : callable
        Gives the value when nothing sets it.
    parse : callable
        Turns text or a Python value into the knob's value, or raises ValueError.
    doc : str
    """

    name: str
    default: Callable[[], Any]
    parse: Callable[[Any], Any]
    doc: str

    @cached_property
    def variable(self) -> str:
        """Name of the environment variable."""
        return f"PIPEDSL_{self.name.upper()}"


def _flag(value: Any) -> bool:
    text = str(value).strip().lower()
    if text in ("1", "true", "yes", "on"):
        return True
    if text in ("0", "false", "no", "off", ""):
        return False
    raise ValueError("expected 0 or 1")


def _positive(value: Any) -> int:
    number = int(value)
    if number <= 0:
        raise ValueError("expected a positive integer")
    return number


def _one_of(*choices: str) -> Callable[[Any], str]:
    def parse(value: Any) -> str:
        if value not in choices:
            raise ValueError(f"expected {' or '.join(choices)}")
        return str(value)

    return parse


def _seconds(value: Any) -> float:
    number = float(value)
    if not number > 0:
        raise ValueError("expected a positive number of seconds")
    return number


@cache
def _cpus() -> int:
    return os.cpu_count() or 1


KNOBS: dict[str, Knob] = {
    knob.name: knob
    for knob in (
        Knob("device", lambda: "auto", str, "auto, hip, hip:N, sim or sim:ARCH"),
        Knob(
            "cache_dir",
            lambda: Path(platformdirs.user_cache_dir("pipedsl")),
            lambda value: Path(value).expanduser(),
            "directory of compiled kernels and translations",
        ),
        Knob("cache", lambda: True, _flag, "whether the disk cache is used"),
        Knob("compile_timeout", lambda: 120.0, _seconds, "seconds that LLVM may take for one kernel"),
        Knob("step_budget", lambda: 4_000_000_000, _positive, "instructions one simulated workgroup may execute"),
        Knob(
            "matrix",
            lambda: "fast",
            _one_of("fast", "exact"),
            "rounding of simulated matrix instructions: fast (host FMA) or exact (as the hardware)",
        ),
        Knob(
            "traceback",
            lambda: False,
            _flag,
            "whether errors show Python's whole traceback instead of the user's line alone",
        ),
        Knob("seed", lambda: 0, int, "seed of the simulator's wave scheduling"),
        Knob("check", lambda: False, _flag, "whether every simulator launch is checked"),
        Knob(
            "check_first",
            lambda: True,
            _flag,
            "whether the first workgroup of a kernel's first simulator launch is checked",
        ),
        Knob(
            "autotune",
            lambda: True,
            _flag,
            "whether tuned functions measure; if not, they take their first configuration",
        ),
        Knob("threads", _cpus, _positive, "host threads of one simulated launch"),
    )
}  # fmt: skip

_overrides: ContextVar[dict[str, Any] | None] = ContextVar("pipedsl_config", default=None)
_process: dict[str, Any] = {}
_thread = threading.local()


class Config(Shown):
    """Typed access to the knobs: ``config.device``, ``config.scope(device="sim")``.

    A value comes from the innermost `scope`, else from `set_for_thread`, else from an assignment,
    else from the environment variable ``PIPEDSL_<NAME>``, else from the default; it is looked up
    at every read.
    """

    def __getattr__(self, name: str) -> Any:
        knob = _knob(name)
        for layer in (_overrides.get() or {}, _thread.__dict__, _process):
            if name in layer:
                return layer[name]
        text = os.environ.get(knob.variable)
        return _parse(knob, text, knob.variable) if text is not None else knob.default()

    def __setattr__(self, name: str, value: Any) -> None:
        _process[name] = _parse(_knob(name), value, f"config.{name}")

    @contextmanager
    def scope(self, **values: Any) -> Iterator[None]:
        """Set knobs for the current thread or task until the block ends."""
        parsed = {n: _parse(_knob(n), v, f"config.{n}") for n, v in values.items()}
        token = _overrides.set({**(_overrides.get() or {}), **parsed})
        try:
            yield
        finally:
            _overrides.reset(token)

    def set_for_thread(self, **values: Any) -> dict[str, Any]:
        """Set knobs for the current thread; None removes a setting.

        Returns
        -------
        dict
            What was set before, for a later call that restores it.
        """
        before = {name: _thread.__dict__.get(name) for name in values}
        parsed = {
            n: None if v is None else _parse(_knob(n), v, f"config.{n}") for n, v in values.items()
        }
        for name, value in parsed.items():
            if value is None:
                _thread.__dict__.pop(name, None)
            else:
                setattr(_thread, name, value)
        return before

    def __dir__(self) -> list[str]:
        return [*KNOBS, "scope", "set_for_thread"]

    def __repr__(self) -> str:
        return f"Config({', '.join(f'{name}={getattr(self, name)!r}' for name in KNOBS)})"


def _knob(name: str) -> Knob:
    knob = KNOBS.get(name)
    if knob is None:
        if name.startswith("_"):
            raise AttributeError(name)
        raise ConfigError(f"there is no setting {name!r}.", fix=f"use one of {', '.join(KNOBS)}.")
    return knob


def _parse(knob: Knob, value: Any, origin: str) -> Any:
    try:
        return knob.parse(value)
    except (TypeError, ValueError) as error:
        raise ConfigError(
            f"{origin} cannot be {value!r}: {error}.", fix=f"{knob.name}: {knob.doc}."
        ) from None


config = Config()
provide_traceback_switch(lambda: bool(config.traceback))
