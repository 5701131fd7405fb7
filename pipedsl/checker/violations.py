"""Broken rules of rings in words."""

from __future__ import annotations

from collections.abc import Callable

from pipedsl.checker.detector import Violation

_OTHER = {"full": "empty", "empty": "full"}


def explain(violation: Violation, who: str) -> tuple[str, str]:
    """What `who` did wrong, in one sentence, and the fix."""
    return _WORDS[violation.code](violation, who, f"{violation.kind}[{violation.stage}]")


def _too_often(v: Violation, who: str, counter: str) -> tuple[str, str]:
    per_lap, other = v.ring.arrivals(v.kind), _OTHER[v.kind]
    return (
        f"{who} raises {counter} to {v.value}, and {other}[{v.stage}] is {v.other}: at most "
        f"{v.limit} arrivals ({per_lap} per lap) are due.",
        f"let {per_lap} wave{'s' * (per_lap > 1)} call arrive_{v.kind}() once per lap, after "
        f"wait_{other}(), or give the backend the number of waves that do.",
    )


def _earlier_lap(v: Violation, who: str, counter: str) -> tuple[str, str]:
    first = 0 if v.kind == "full" else 1
    return (
        f"{who} waits for {v.value} arrivals at {counter} when {_OTHER[v.kind]}[{v.stage}] is "
        f"{v.other}: its lap needs {v.limit}.",
        f"let the phase of wait_{v.kind}() grow by one per lap, from {first}.",
    )


def _outside(v: Violation, who: str, counter: str) -> tuple[str, str]:
    what = counter if v.value < 0 else f"LDS byte {v.value}"
    return (
        f"{who} takes {what} for a counter of a stage: the ring has {v.ring.num_stages}.",
        "keep stages below the number that the backend was given.",
    )


_WORDS: dict[str, Callable[[Violation, str, str], tuple[str, str]]] = {
    "C320": _too_often,
    "C321": _too_often,
    "C322": lambda v, who, counter: (
        f"{v.value} lanes of {who} raise {counter}.",
        "let one lane do it, as arrive_full() and arrive_empty() do.",
    ),
    "C331": lambda v, who, counter: (
        f"{who} uses {counter}, which nobody has initialised.",
        "let one thread call init_barriers(), then call gpu.barrier().",
    ),
    "C332": lambda v, who, counter: (
        f"{who} writes {counter} while the ring is in use.",
        "initialise the ring once, before a barrier, and carry on with the next lap.",
    ),
    "C340": _earlier_lap,
    "C341": lambda v, who, counter: (
        f"{who} waits for {v.value} arrivals at {counter}, and {v.other} arrive per lap.",
        "wait for a multiple of the arrivals per lap, with phases from 1 for wait_empty() and from "
        "0 for wait_full().",
    ),
    "C350": lambda v, who, counter: (
        f"{who} raises {counter}, and nothing was written since the last signal.",
        "write the slot before the signal, and put gpu.fence_lds() between.",
    ),
    "C351": lambda v, who, counter: (
        f"{who} raised {counter} to {v.value}, and nobody waited for more than {v.other}.",
        "let the consumers take as many slots as the producers fill.",
    ),
    "C360": _outside,
    "C370": lambda v, who, counter: (
        f"{counter} is {v.value}, and a 32-bit counter ends at {(1 << 31) - 1}.",
        "use 64-bit counters.",
    ),
}
