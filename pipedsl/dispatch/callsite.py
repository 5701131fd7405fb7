"""The user's line: the innermost stack frame outside pipedsl."""

from __future__ import annotations

import sys
from pathlib import Path

from pipedsl.core.errors import SourceLocation

_PACKAGE = str(Path(__file__).parent.parent) + "/"


def caller() -> SourceLocation | None:
    """Where the user's code called into pipedsl."""
    frame = sys._getframe(1)
    while frame is not None:
        filename = frame.f_code.co_filename
        if not filename.startswith(_PACKAGE):
            return SourceLocation(filename, frame.f_lineno)
        frame = frame.f_back  # type: ignore[assignment]
    return None
