"""The buffer in which waits that gave up note who waited for what.

An int64 counts them; records of `RECORD` int64 follow, as many as `CAPACITY`, the last of which takes
what comes beyond.
"""

from __future__ import annotations

CAPACITY = 63
FIELDS = ("workgroup", "thread", "address", "value", "wanted", "line")
RECORD = 8
BYTES = 8 * (1 + RECORD * (CAPACITY + 1))
PARAMETER = "pipedsl.timeouts"
"""Name of the hidden kernel argument that points to it."""
