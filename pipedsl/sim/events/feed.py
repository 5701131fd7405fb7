"""From the events of simulated workgroups to those that the detector takes."""

from __future__ import annotations

from pipedsl.checker import events as ev
from pipedsl.checker.detector import Detector
from pipedsl.checker.findings import Findings, Program
from pipedsl.isa.counters import queue_names, queues, wait_limits
from pipedsl.isa.instruction import Instruction
from pipedsl.sim import layout as at
from pipedsl.sim.checked import layout as c
from pipedsl.sim.checked.access import memory_access
from pipedsl.sim.checked.findings import source_location, wait_text
from pipedsl.sim.events import layout as e
from pipedsl.sim.events.polls import find_comparisons
from pipedsl.sim.events.stream import Event
from pipedsl.sim.launch import Launch

_BITS = ((c.READ, ev.READ), (c.WRITE, ev.WRITE), (c.ATOMIC, ev.ATOMIC))


class Feed:
    """Gives the events of a launch to a detector.

    Parameters
    ----------
    launch : Launch
    groups : int
        Workgroups that are observed.
    """

    def __init__(self, launch: Launch, groups: int) -> None:
        kernel = launch.kernel
        self._code = kernel.instructions
        self._waves = launch.shape.waves
        of_arch = queues(kernel.arch)
        numbers = {name: number for number, name in enumerate(of_arch)}
        sites = [self._site(ins, launch, numbers) for ins in self._code]
        self._limits = [self._wait(ins, launch) for ins in self._code]
        labels = kernel.program.labels
        self._comparisons = find_comparisons(self._code, labels, kernel.wave.lanes)
        waits = {
            number: wait_text(kernel.arch, {queue.counter: 0})
            for number, queue in enumerate(of_arch.values())
        }
        program = Program(
            kernel.name, sites, kernel.program.rings, launch.grid, self._waves, waits
        )
        self.findings = Findings(program)
        self.detector = Detector(
            sites, groups, self._waves, tuple(of_arch.values()), frozenset({numbers["lds"]}),
            self.findings.conflict,
        )  # fmt: skip

    def take(self, group: int, event: Event) -> None:
        """An event of workgroup `group`."""
        converted = self._convert(group * self._waves + event.wave, event)
        if converted is not None:
            self.findings.feed(converted)
            self.detector.feed(converted)

    def _convert(self, wave: int, event: Event) -> ev.Event | None:
        if event.kind == e.ACCESS:
            lds = event.space == at.TRACE_LDS
            value = event.value if lds and event.width in (4, 8) else None
            space = ev.LDS if lds else ev.GLOBAL
            return ev.Access(wave, event.site, space, event.addresses, event.width, value)
        if event.kind == e.WAIT:
            return ev.Wait(wave, self._limits[event.site])
        if event.kind == e.COMPARE:
            found = self._comparisons[event.site]
            return ev.Compared(wave, found.load, found.relation, event.value, found.polls)
        if event.kind == e.ARRIVE:
            return ev.Arrive(wave, event.site)
        return ev.Leave(wave) if event.kind == e.LEAVE else ev.End(wave)

    @staticmethod
    def _site(ins: Instruction, launch: Launch, numbers: dict[str, int]) -> ev.Site:
        access = {}
        if ins.opcode.style == "memory":
            _, lds, far = memory_access(ins)
            for space, bits in ((ev.LDS, lds), (ev.GLOBAL, far)):
                access[space] = sum(theirs for ours, theirs in _BITS if bits & ours)
        on = tuple(numbers[name] for name in queue_names(ins, launch.kernel.arch))
        return ev.Site(str(ins), ins.line, source_location(ins, launch.sources), access, on)

    @staticmethod
    def _wait(ins: Instruction, launch: Launch) -> dict[int, int]:
        arch = launch.kernel.arch
        limits = wait_limits(ins, arch)
        return {
            number: limits[queue.counter]
            for number, queue in enumerate(queues(arch).values())
            if queue.counter in limits
        }
