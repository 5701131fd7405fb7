"""The arch that host-side questions are about: the runtime answers, lower layers ask."""

from __future__ import annotations

from collections.abc import Callable

from pipedsl.core.arch import Arch, get_arch

_provider: Callable[[], Arch] | None = None


def current_arch() -> Arch:
    """Arch of the current device; gfx942 where no runtime is loaded."""
    return _provider() if _provider is not None else get_arch("gfx942")


def provide_current_arch(provider: Callable[[], Arch]) -> None:
    """Let `provider` answer `current_arch` from now on."""
    global _provider
    _provider = provider
