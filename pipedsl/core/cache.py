"""A directory of files named by content hash: atomic writes, safe to share and to delete."""

from __future__ import annotations

import hashlib
import os
import tempfile
from pathlib import Path

from pipedsl.core.config import config


def content_key(*parts: str | bytes) -> str:
    """Hash of `parts`; their boundaries count."""
    digest = hashlib.sha256()
    for part in parts:
        data = part.encode() if isinstance(part, str) else part
        digest.update(len(data).to_bytes(8, "little"))
        digest.update(data)
    return digest.hexdigest()


class FileCache:
    """Bytes by key under ``config.cache_dir / section``.

    An entry carries its own checksum, so a torn or edited file reads as a miss. A directory that
    cannot be written turns the cache off; it never fails the caller.
    """

    def __init__(self, section: str) -> None:
        self.section = section

    def _path(self, key: str) -> Path:
        return Path(config.cache_dir) / self.section / key[:2] / key[2:]

    def get(self, key: str) -> bytes | None:
        """The bytes stored under `key`, or None."""
        if not config.cache:
            return None
        try:
            blob = self._path(key).read_bytes()
        except OSError:
            return None
        check, data = blob[:32], blob[32:]
        return data if hashlib.sha256(data).digest() == check else None

    def put(self, key: str, data: bytes) -> None:
        """Store `data` under `key`; readers see all of it or nothing."""
        if not config.cache:
            return
        path = self._path(key)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=".tmp-")
            try:
                with os.fdopen(handle, "wb") as file:
                    file.write(hashlib.sha256(data).digest() + data)
                os.replace(temporary, path)
            except BaseException:
                Path(temporary).unlink(missing_ok=True)
                raise
        except OSError:
            return
