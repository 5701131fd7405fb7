"""How events lie in the buffer that a run fills (see `pipedsl.checker.events`), in bytes."""

from __future__ import annotations

# Buffer header: byte offsets.
NEXT = 0  # pointer to where the next event goes
LIMIT = 8  # pointer behind which no event may start
DRAIN = 16  # function that empties the buffer
HEADER = 64

# Event: byte offsets; the addresses of an access follow.
KIND = 0  # i32
WAVE = 4  # i32, number in the workgroup
SITE = 8  # i32, instruction
COUNT = 12  # i32, addresses
CONTINUES = 16  # i64, 1 for a further access of the same instruction
WIDTH = 24  # bytes of one lane's access, i32
SPACE = 28  # i32
VALUE = 32  # i64: what an LDS access of up to 8 bytes left at its first address; a compared value
EVENT = 40
LARGEST = EVENT + 64 * 8
