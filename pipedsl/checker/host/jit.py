"""Host code for the detector: Numba compiles it once per machine and version of this package."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numba
from numba import njit
from numba.core.caching import CompileResultCacheImpl, FunctionCache, _CacheLocator

from pipedsl.core.cache import content_key
from pipedsl.core.config import config

_PACKAGE = Path(__file__).parent.parent
_FINGERPRINT = content_key(
    numba.__version__,
    *(
        f"{path.relative_to(_PACKAGE)}\n{path.read_text()}"
        for path in sorted(_PACKAGE.rglob("*.py"))
    ),
)


class _Locator(_CacheLocator):
    """Keeps machine code in the cache directory, in a place for this text of the detector."""

    def __init__(self, py_func: Callable[..., Any]) -> None:
        self._line = py_func.__code__.co_firstlineno

    def get_cache_path(self) -> str:
        return str(config.cache_dir / "checker" / _FINGERPRINT[:16])

    def get_source_stamp(self) -> str:
        return _FINGERPRINT

    def get_disambiguator(self) -> str:
        return str(self._line)

    @classmethod
    def from_function(cls, py_func: Callable[..., Any], py_file: str) -> _Locator:
        return cls(py_func)


class _CacheImpl(CompileResultCacheImpl):
    _locator_classes = (_Locator,)


class _Cache(FunctionCache):
    _impl_class = _CacheImpl


def compiled(function: Callable[..., Any]) -> Any:
    """Host code of `function`, made at the first call or read from the disk cache."""
    dispatcher = njit(nogil=True, error_model="numpy")(function)
    if config.cache:
        dispatcher._cache = _Cache(function)
    return dispatcher


inlined = njit(nogil=True, error_model="numpy", no_cpython_wrapper=True, no_cfunc_wrapper=True)
"""Host code that becomes part of its callers'."""
