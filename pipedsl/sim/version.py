"""A fingerprint of the simulator's own source: translations by other sources are never used."""

from __future__ import annotations

import hashlib
from pathlib import Path

_PACKAGES = ("sim", "isa", "core")


def _fingerprint() -> str:
    digest = hashlib.sha256()
    root = Path(__file__).parent.parent
    for package in _PACKAGES:
        for path in sorted((root / package).rglob("*.py")):
            digest.update(path.read_bytes())
    return digest.hexdigest()


FINGERPRINT = _fingerprint()
