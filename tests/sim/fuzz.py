"""Damaged texts and senseless launches: each runs, or is refused in one sentence.

    python tests/sim/fuzz.py --count 10000 [--seed 0]

A crash or a hang of the process is what this looks for; faulthandler shows where it was.
"""

from __future__ import annotations

import argparse
import faulthandler
import random
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

sys.path.append(str(Path(__file__).resolve().parents[2] / "kernels"))

from pipedsl import sim
from pipedsl.core.arch import ARCHS, get_arch
from pipedsl.core.config import config
from pipedsl.core.errors import PipedslError
from stress import make_stress

BUDGET = 20_000
NUMBERS = [0, 1, 9, 63, 255, 4096, 65535, 1 << 31, (1 << 32) - 1, 1 << 40, 1 << 63, 10**30]
SECONDS = 60  # after which an input counts as a hang


def stress_text(arch: str) -> str:
    """The assembly of the stress kernel: a complete text of a compiler."""
    threads = 2 * get_arch(arch).wave_size
    example = np.zeros(8, np.int32)
    return make_stress(2).compile(example, np.int32(8), arch=arch, block=threads).asm


def mutations(text: str, rng: random.Random, count: int) -> Iterator[str]:
    """Texts with a few characters, words or lines changed."""
    lines = text.splitlines()
    words = sorted({word for line in lines for word in line.split()})
    for _ in range(count):
        copy = list(lines)
        for _ in range(rng.randint(1, 3)):
            if copy:
                _damage(copy, rng.randrange(len(copy)), lines, words, rng)
        yield "\n".join(copy) + "\n"


def _damage(
    copy: list[str], at: int, lines: list[str], words: list[str], rng: random.Random
) -> None:
    line = copy[at]
    match rng.randrange(6):
        case 0:
            del copy[at]
        case 1:
            copy.insert(at, rng.choice(lines))
        case 2:
            parts = line.split(" ")
            parts[rng.randrange(len(parts))] = rng.choice(words)
            copy[at] = " ".join(parts)
        case 3:
            place = rng.randrange(len(line) + 1)
            copy[at] = line[:place] + chr(rng.randrange(1, 0x250)) + line[place + 1 :]
        case 4:
            other = rng.randrange(len(copy))
            copy[at], copy[other] = copy[other], line
        case _:
            digits = [i for i, c in enumerate(line) if c.isdigit()]
            if digits:
                place = rng.choice(digits)
                copy[at] = line[:place] + str(rng.choice(NUMBERS)) + line[place + 1 :]


def run_text(text: str) -> str:
    """Load and run a text with one array as argument; what came of it."""
    out = np.zeros(64, np.int32)
    try:
        for kernel in sim.load_assembly(text).kernels.values():
            memory = sim.Memory()
            size = kernel.metadata.kernarg_size
            segment = memory.map(out, "out").to_bytes(8, "little") + (8).to_bytes(8, "little") * 8
            block = (2 * kernel.arch.wave_size, 1, 1)
            kernel.run(
                memory, (1, 1, 1), block, segment[:size].ljust(size, b"\0"), step_budget=BUDGET
            )
    except PipedslError as error:
        return refusal(error)
    return "ran"


def launches(kernel: sim.Kernel, rng: random.Random, count: int) -> Iterator[str]:
    """Launches with random extents and arguments; what came of each."""
    for _ in range(count):
        values = [value(rng) for _ in range(rng.choice([0, 1, 2, 3, 3, 3, 4]))]
        extents = [
            rng.choice([1, 64, 0, -1, (1, 1), (2, 2, 2), (), "a", 1.5, 10**9, None]) for _ in "ab"
        ]
        budget = config.scope(step_budget=BUDGET)
        try:
            with budget:
                kernel.launch(*extents, values, lds_bytes=rng.choice([0, 0, 64, -5, 1 << 40]))
            yield "ran"
        except PipedslError as error:
            yield refusal(error)


def value(rng: random.Random) -> Any:
    """An argument that may make no sense."""
    sizes = [0, 1, 64, 4096]
    return rng.choice(
        [
            np.zeros(rng.choice(sizes), rng.choice([np.int32, np.float64, np.uint8])),
            np.zeros((4, 4), np.int32)[:, ::2],
            np.int32(rng.choice([0, -1, 8, 2**31 - 1])),
            rng.choice(NUMBERS),
            -rng.choice(NUMBERS),
            1.5,
            None,
            "text",
            b"bytes",
            [1, 2],
            np.array("x"),
            np.float64("nan"),
        ]
    )


def refusal(error: PipedslError) -> str:
    """The error's class; it must be one sentence."""
    assert "\n" not in error.message, error.message
    assert error.message.endswith("."), error.message
    return type(error).__name__


def fuzz(count: int, seed: int) -> Counter[str]:
    """`count` inputs, three quarters of them texts; how many ended how."""
    rng = random.Random(seed)
    texts = {arch: stress_text(arch) for arch in ARCHS}
    outcomes: Counter[str] = Counter()
    share = count * 3 // 4 // len(texts)
    for text in texts.values():
        for mutated in mutations(text, rng, share):
            faulthandler.dump_traceback_later(SECONDS, exit=True)
            outcomes[run_text(mutated)] += 1
    kernels = [next(iter(sim.load_assembly(text).kernels.values())) for text in texts.values()]
    for kernel in kernels:
        faulthandler.dump_traceback_later(SECONDS + count, exit=True)
        outcomes.update(launches(kernel, rng, (count - share * len(texts)) // len(kernels)))
    faulthandler.cancel_dump_traceback_later()
    return outcomes


def main() -> None:
    """Entry point."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--count", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    faulthandler.enable()
    start = time.perf_counter()
    with config.scope(cache=False):
        outcomes = fuzz(options.count, options.seed)
    for what, number in outcomes.most_common():
        print(f"{what:<28}{number:>8}")
    print(f"{outcomes.total()} inputs in {time.perf_counter() - start:.0f} s, seed {options.seed}")


if __name__ == "__main__":
    main()
