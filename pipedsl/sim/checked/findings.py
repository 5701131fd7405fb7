"""Findings in words: which instruction used what too early, and the weakest wait that is missing."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from pipedsl.core.arch import Arch
from pipedsl.core.errors import SourceLocation
from pipedsl.core.findings import Finding, IdleWait
from pipedsl.isa.counters import queues, wait_limits
from pipedsl.isa.instruction import Instruction
from pipedsl.sim.checked import layout as c
from pipedsl.sim.layout import WaveLayout
from pipedsl.sim.loaded import LoadedKernel

_CODES = {
    c.READ_EARLY: "C110", c.OVERWRITTEN_EARLY: "C111", c.LDS_UNWRITTEN: "C120",
    c.LDS_UNREAD: "C121", c.GLOBAL_UNWRITTEN: "C130", c.GLOBAL_UNREAD: "C131",
}  # fmt: skip


def render(
    record: np.ndarray, kernel: LoadedKernel, ids: tuple[int, int, int], sources: Mapping[str, str]
) -> Finding:
    """The finding that a record of `layout` stands for."""

    def field(offset: int) -> int:
        return int(record[offset // 4])

    code = kernel.instructions
    user, producer = code[field(c.R_USER)], code[field(c.R_PRODUCER)]
    kind, wave = field(c.R_KIND), field(c.R_WAVE)
    wait = wait_text(kernel.arch, _limits(kernel.arch, field))
    lines = [producer]
    if kind in (c.READ_EARLY, c.OVERWRITTEN_EARLY):
        message = _register_message(kind, kernel.wave, field(c.R_PLACE), user, producer)
        fix = f"put {wait} before line {user.line}."
    else:
        owner = field(c.R_PRODUCER_WAVE)
        address = int(record[c.R_ADDRESS // 4 :][:2].view(np.int64)[0])
        message = _memory_message(kind, address, wave, owner, user, producer)
        fix = f"put {wait} before line {user.line}."
        if owner != wave:
            signal = field(c.R_SIGNAL)
            place = "it signals"
            if signal >= 0:
                lines.append(code[signal])
                place = f"its {code[signal].mnemonic} at line {code[signal].line}"
            fix = f"let wave {owner} execute {wait} before {place}."
    return Finding(
        _CODES[kind], message, fix, kernel.name, ids, wave, None, user.line,
        source_location(user, sources),
        tuple((ins.line, source_location(ins, sources)) for ins in lines),
    )  # fmt: skip


def _limits(arch: Arch, field: Callable[[int], int]) -> dict[str, int]:
    of_arch = list(queues(arch).values())
    found: dict[str, int] = {}
    for queue, allowed in ((c.R_QUEUE, c.R_ALLOWED), (c.R_QUEUE2, c.R_ALLOWED2)):
        counter = of_arch[field(queue)].counter
        found[counter] = min(found.get(counter, 1 << 30), field(allowed))
    return found


def _register_message(
    kind: int, wave: WaveLayout, index: int, user: Instruction, producer: Instruction
) -> str:
    what = "read" if kind == c.READ_EARLY else "overwritten"
    return (
        f"{register_name(wave, index)} is {what} by `{user}` (line {user.line}) before "
        f"`{producer}` (line {producer.line}) is proven complete."
    )


def _memory_message(
    kind: int, address: int, wave: int, owner: int, user: Instruction, producer: Instruction
) -> str:
    memory = "LDS byte" if kind in (c.LDS_UNWRITTEN, c.LDS_UNREAD) else "the global byte at"
    place = str(address) if memory == "LDS byte" else f"{address:#x}"
    verb = "writes" if kind in (c.LDS_UNREAD, c.GLOBAL_UNREAD) else "uses"
    who = "its own" if owner == wave else f"wave {owner}'s"
    return (
        f"`{user}` (line {user.line}) of wave {wave} {verb} {memory} {place}, which {who} "
        f"`{producer}` (line {producer.line}) has not been proven to have completed."
    )


def register_name(wave: WaveLayout, index: int) -> str:
    """Name of a register by its place in the table of pending writes."""
    if index < wave.vgprs:
        return f"v{index}"
    if index < wave.vgprs + wave.agprs:
        return f"a{index - wave.vgprs}"
    scalar = index - wave.vgprs - wave.agprs
    special = {106: "vcc_lo", 107: "vcc_hi", 124: "m0", 126: "exec_lo", 127: "exec_hi"}
    return special.get(scalar, f"ttmp{scalar - 108}" if scalar >= 108 else f"s{scalar}")


def wait_text(arch: Arch, limits: Mapping[str, int]) -> str:
    """The wait instruction(s) for some counters, as the target spells them."""
    if arch.has("split_waits"):
        return " and ".join(f"s_wait_{name} {value:#x}" for name, value in limits.items())
    fields = [f"{name}({value})" for name, value in limits.items() if name != "vscnt"]
    parts = [f"s_waitcnt {' '.join(fields)}"] if fields else []
    if "vscnt" in limits:
        parts.append(f"s_waitcnt_vscnt null, {limits['vscnt']:#x}")
    return " and ".join(parts)


def idle_waits(
    kernel: LoadedKernel, useful: np.ndarray, sources: Mapping[str, str]
) -> tuple[IdleWait, ...]:
    """Fields of executed waits that proved nothing, from the bits that the waits left."""
    idle = []
    of_arch = list(queues(kernel.arch).values())
    for ins, bits in zip(kernel.instructions, useful, strict=True):
        if not bits & c.WAITED:
            continue
        for counter in wait_limits(ins, kernel.arch):
            numbers = [n for n, queue in enumerate(of_arch) if queue.counter == counter]
            if numbers and not any(bits >> n & 1 for n in numbers):
                idle.append(IdleWait(ins.line, counter, source_location(ins, sources)))
    return tuple(idle)


def source_location(ins: Instruction, sources: Mapping[str, str]) -> SourceLocation | None:
    """The Python line of an instruction."""
    if ins.source is None:
        return None
    name, line = ins.source
    lines = sources.get(name, "").splitlines()
    return SourceLocation(name, line, text=lines[line - 1] if 0 < line <= len(lines) else None)
