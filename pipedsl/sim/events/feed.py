"""What the detector must know of a kernel before it sees its events."""

from __future__ import annotations

from weakref import WeakKeyDictionary

from pipedsl.checker import events as ev
from pipedsl.checker.detector import Detector
from pipedsl.checker.findings import Program
from pipedsl.isa.counters import Queue, queue_names, queues, wait_limits
from pipedsl.isa.instruction import Instruction
from pipedsl.sim.checked import layout as c
from pipedsl.sim.checked.access import memory_access
from pipedsl.sim.checked.dataflow import facts, runs, uses_in
from pipedsl.sim.checked.findings import register_name, source_location, wait_text
from pipedsl.sim.events.polls import find_comparisons
from pipedsl.sim.flow import Flow
from pipedsl.sim.launch import Launch
from pipedsl.sim.loaded import LoadedKernel

_BITS = ((c.READ, ev.READ), (c.WRITE, ev.WRITE), (c.ATOMIC, ev.ATOMIC))


def program_of(launch: Launch) -> Program:
    """A launch as findings name it; its sites are the instructions."""
    kernel, arch = launch.kernel, launch.kernel.arch
    of_arch = list(queues(arch).values())

    def text(queue: int, allowed: int) -> str:
        return wait_text(arch, {of_arch[queue].counter: allowed if of_arch[queue].ordered else 0})

    return Program(
        kernel.name, _sites_of(launch), kernel.program.rings, launch.grid, launch.shape.waves, text,
        lambda index: register_name(kernel.wave, index),
    )  # fmt: skip


def detector_of(launch: Launch, program: Program, groups: int) -> Detector:
    """A detector for the first `groups` workgroups."""
    kernel = launch.kernel
    names = list(queues(kernel.arch))
    registers = kernel.wave.vgprs + kernel.wave.agprs + 128
    return Detector(
        program.sites, groups, program.waves, list(queues(kernel.arch).values()),
        frozenset({names.index("lds")}), program.rings, launch.shape.lds_bytes, registers,
        launch.memory.total_bytes(), launch.template.constant,
    )  # fmt: skip


_sites: WeakKeyDictionary[LoadedKernel, list[ev.Site]] = WeakKeyDictionary()


def _sites_of(launch: Launch) -> list[ev.Site]:
    found = _sites.get(launch.kernel)
    if found is None:
        found = _sites[launch.kernel] = _make_sites(launch)
    return found


def _make_sites(launch: Launch) -> list[ev.Site]:
    kernel = launch.kernel
    program = kernel.program
    comparisons = {
        index: ev.Comparison(found.load, found.relation, found.polls)
        for index, found in find_comparisons(
            kernel.instructions, program.labels, kernel.wave.lanes
        ).items()
    }
    flow = Flow(program, program.labels[kernel.name])
    uses = uses_in(flow, kernel.arch, kernel.wave)
    return [
        _site(ins, launch, tuple(uses.get(index, ())), comparisons.get(index))
        for index, ins in enumerate(kernel.instructions)
    ]


def _site(
    ins: Instruction,
    launch: Launch,
    uses: tuple[tuple[int, int, int], ...],
    compares: ev.Comparison | None,
) -> ev.Site:
    kernel = launch.kernel
    of_arch = queues(kernel.arch)
    numbers = {name: number for number, name in enumerate(of_arch)}
    access = {}
    if ins.opcode.style == "memory":
        _, lds, far = memory_access(ins)
        for space, bits in ((ev.LDS, lds), (ev.GLOBAL, far)):
            access[space] = sum(theirs for ours, theirs in _BITS if bits & ours)
    on = tuple(numbers[name] for name in queue_names(ins, kernel.arch))
    loaded = list(runs(facts(ins, kernel.arch, kernel.wave).loaded))
    return ev.Site(
        str(ins), ins.line, source_location(ins, launch.sources), access, on,
        _limits(ins, list(of_arch.values()), launch), loaded[0] if loaded else (0, 0), uses,
        compares,
    )  # fmt: skip


def _limits(ins: Instruction, of_arch: list[Queue], launch: Launch) -> dict[int, int]:
    limits = wait_limits(ins, launch.kernel.arch)
    return {
        number: limits[queue.counter]
        for number, queue in enumerate(of_arch)
        if queue.counter in limits
    }
