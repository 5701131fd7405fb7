"""The buffer in which kernels with ``trace=True`` note the shader clock.

A region per wave: how many stamps the wave made, a spare word, then the last `CAPACITY` of them, two
int64 each: the clock, and the fields of `FIELDS` from the lowest bit up.
"""

from __future__ import annotations

KINDS = ("start", "full", "empty", "barrier", "got", "signal", "end")
"""A wave starts; begins to wait for a full or an empty slot, or at a barrier; got what it waited for; is
about to signal; ends."""

FIELDS = (("kind", 3), ("slot", 9), ("line", 16), ("address", 16), ("lap", 20))
"""Names and bits; the address, of a counter in LDS, is in units of 4 bytes."""

CAPACITY = 1024
WORDS = 2 + 2 * CAPACITY
"""int64 of a wave's region."""

GROUPS = 8
"""Workgroups, the first ones, that are traced."""

PARAMETER = "pipedsl.stamps"
"""Name of the hidden kernel argument that points to the buffer."""


def regions(waves: int) -> int:
    """Regions of the buffer, for workgroups of `waves` waves."""
    return GROUPS * waves


def unpack(word: int) -> dict[str, int]:
    """The fields of a stamp's second word."""
    result, word = {}, word & (1 << 64) - 1
    for name, bits in FIELDS:
        result[name] = word & (1 << bits) - 1
        word >>= bits
    return result
