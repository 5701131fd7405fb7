"""Which devices there are, and which one is current."""

from __future__ import annotations

import re
import threading
from dataclasses import dataclass
from functools import cache
from types import TracebackType

from pipedsl.core.arch import ARCHS, Arch, get_arch
from pipedsl.core.config import config
from pipedsl.core.current import provide_current_arch
from pipedsl.core.errors import ConfigError, DeviceError
from pipedsl.runtime.device import Device
from pipedsl.runtime.hip import find_gpus
from pipedsl.runtime.simulated import SimulatedDevice

DEFAULT_SIMULATED = "gfx942"


def get_device(spec: str | None = None) -> Device:
    """The device for `spec`, or the current one.

    Parameters
    ----------
    spec : str, optional
        ``"auto"`` (the first supported AMD GPU, else ``"sim:gfx942"``), ``"hip"`` (the first
        supported AMD GPU), ``"hip:1"``, ``"sim"`` or ``"sim:gfx950"``. By default what
        `use_device`, ``config.device`` or ``PIPEDSL_DEVICE`` says, read now.

    Returns
    -------
    Device
        The same object for the same device at every call.

    Raises
    ------
    ConfigError
        If `spec` is none of these.
    TargetError
        If the arch is not supported.
    DeviceError
        If there is no such GPU; the message says why.
    """
    if spec is None:
        spec = config.device
    device = _resolved.get(spec)
    if device is None:
        with _lock:
            device = _resolved[spec] = _resolve(spec)
    return device


class use_device:  # noqa: N801 (used like a function)
    """Make a device current.

    As a call, for the current thread from now on; as a context manager, for the block and the
    thread or task that runs it. Threads that start later follow ``config.device``.

    Parameters
    ----------
    spec : str
        See `get_device`, which says what is raised.

    Examples
    --------
    >>> with use_device("sim:gfx950") as device:
    ...     device.arch.name
    'gfx950'
    """

    def __init__(self, spec: str) -> None:
        self.device = get_device(spec)
        self._spec = spec
        self._before = config.set_for_thread(device=spec)

    def __enter__(self) -> Device:
        config.set_for_thread(**self._before)
        self._scope = config.scope(device=self._spec)
        self._scope.__enter__()
        return self.device

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._scope.__exit__(kind, error, traceback)

    def __repr__(self) -> str:
        return f"use_device({self._spec!r})"


@dataclass(frozen=True)
class Candidate:
    """A device that ``auto`` looks at.

    Attributes
    ----------
    spec : str
    description : str
    device : Device or None
        None if it cannot be used.
    reason : str or None
        Why not.
    """

    spec: str
    description: str
    device: Device | None
    reason: str | None


@cache
def candidates() -> tuple[Candidate, ...]:
    """What ``auto`` looks at, in order; it takes the first with a device."""
    gpus, missing = find_gpus()
    found = [
        Candidate(f"hip:{gpu.ordinal}", gpu.description, gpu.device, gpu.reason) for gpu in gpus
    ]
    if missing is not None:
        found.append(Candidate("hip", "AMD GPU through HIP", None, missing))
    simulated = _simulated(DEFAULT_SIMULATED)
    return (*found, Candidate(simulated.name, simulated.description, simulated, None))


_resolved: dict[str, Device] = {}
_lock = threading.RLock()


def _resolve(spec: str) -> Device:
    match = re.fullmatch(r"(auto)|hip(?::(\d+))?|(sim)(?::(\w+))?", spec)
    if match is None:
        raise ConfigError(
            f"{spec!r} is not a device.", fix="use auto, hip, hip:N, sim or sim:ARCH."
        )
    if match[3]:
        return _simulated(match[4] or DEFAULT_SIMULATED)
    wanted = None if match[2] is None else f"hip:{int(match[2])}"
    reasons = []
    for candidate in candidates():
        if not match[1] and not candidate.spec.startswith("hip"):
            continue
        if wanted not in (None, candidate.spec) and candidate.spec != "hip":
            continue
        if candidate.device is not None:
            return candidate.device
        reasons.append(f"{candidate.spec}: {candidate.reason}")
    raise DeviceError(
        f"there is no device {spec!r} ({'; '.join(reasons) or 'HIP lists fewer GPUs'}).",
        fix=f'use_device("sim:ARCH") simulates one of {", ".join(ARCHS)}.',
    )


@cache
def _simulated(arch: str) -> SimulatedDevice:
    return SimulatedDevice(get_arch(arch))


def _current_arch() -> Arch:
    return get_device().arch


provide_current_arch(_current_arch)
