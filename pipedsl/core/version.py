"""The package's version, and fingerprints of its own source; both are parts of cache keys."""

from __future__ import annotations

import hashlib
from functools import cache
from pathlib import Path

__version__ = "0.1.0"


@cache
def source_fingerprint(*packages: str) -> str:
    """Hash of the source of some of pipedsl's packages.

    What a cache holds is then never older than the code that would make it anew.
    """
    digest = hashlib.sha256()
    root = Path(__file__).parent.parent
    for package in packages:
        for path in sorted((root / package).rglob("*.py")):
            digest.update(path.read_bytes())
    return digest.hexdigest()
