"""Imports every module that fills the tables of operations."""

from pipedsl.target import (  # noqa: F401
    arithmetic,
    arrays,
    atomics,
    budget,
    buffers,
    checks,
    comparison,
    conversion,
    index,
    lanes,
    local,
    mathematics,
    matrix,
    memory,
    scheduling,
    sequences,
    sign,
    sync,
    timeouts,
    vectors,
)
