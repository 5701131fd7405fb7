"""Imports every module that fills the tables of operations."""

from pipedsl.target import (  # noqa: F401
    arithmetic,
    arrays,
    checks,
    comparison,
    conversion,
    index,
    lanes,
    local,
    mathematics,
    memory,
    sequences,
    sign,
    sync,
    vectors,
)
