"""When operands are ready, and what a wave has outstanding."""

from __future__ import annotations

from collections.abc import Callable

from pipedsl.sim.timing import records as r
from pipedsl.sim.timing.code import Value, Variable
from pipedsl.sim.timing.fields import Record
from pipedsl.sim.timing.state import State


class Scoreboard:
    """Ready times of registers, and rings of completion times per wait counter."""

    def __init__(self, state: State) -> None:
        self.state = state
        self.c = state.c
        self.cu = state.cu

    def prepare(self, wave: Record) -> None:
        """When the operands of the wave's next instruction are there, and what it waits for."""
        c, cu = self.c, self.cu
        row = self.state.row(wave.pc)
        due, kind = c.variable(0), c.variable(r.DEPENDENCY)
        # Results are written in order, so a write waits for the one before; a matrix instruction
        # that accumulates in place does so through its accumulator.
        written = c.select(row.accumulator_count != 0, 0, row.target_count)
        for first, count, results in (
            (row.sources, row.source_count, "results"),
            (row.accumulators, row.accumulator_count, "accumulators"),
            (row.targets, written, "results"),
        ):
            with c.loop(count) as place:
                due.raise_to(wave.at(results, c.load(cu.registers, first + place)))
        with c.when(row.category == r.INTERNAL), c.loop(r.COUNTERS) as counter:
            limit = row.at("limits", counter)
            self._outstanding(wave, counter, limit, due, kind, row.at("wait_kinds", counter))
        with c.when(row.counter >= 0):
            busy = c.value(r.UNIT_BUSY)
            self._outstanding(wave, row.counter, row.capacity - 1, due, kind, busy)
        wave.due = due()
        wave.due_kind = kind()
        wave.category = row.category
        wave.matrix = row.matrix_cycles
        wave.shadow = row.shadow

    def _outstanding(
        self, wave: Record, counter: Value, limit: Value, due: Variable, kind: Variable, reason: Value,
    ) -> None:  # fmt: skip
        """Wait until at most `limit` operations of `counter` are outstanding; below 0 do not wait."""
        c = self.c
        with c.when((limit >= 0) & (wave.at("issued", counter) > limit)):
            number = wave.at("issued", counter) - 1 - limit
            done = wave.at("ring", (counter << 6) + (number & (r.RING - 1)))
            with c.when(done > due()):
                due.set(done)
                kind.set(reason)

    def write_results(self, wave: Record, row: Record, time: Value) -> None:
        """The results of an instruction that issues at `time`."""
        c = self.c
        ready = time + row.latency
        forward = c.select(row.forward != 0, time + row.forward, ready)
        with c.loop(row.target_count) as place:
            register = c.load(self.cu.registers, row.targets + place)
            wave.put("results", register, ready)
            wave.put("accumulators", register, forward)

    def count(self, wave: Record, row: Record, done: Value) -> None:
        """Enter an operation into its counters' rings, which stay sorted by completion."""
        c = self.c
        for name in ("counter", "second_counter"):
            counter = getattr(row, name)
            with c.when(counter >= 0):
                finish = c.select(row.ordered != 0, c.max(done, wave.at("tail", counter)), done)
                with c.when(row.ordered != 0):
                    wave.put("tail", counter, finish)
                place = c.variable(wave.at("issued", counter))
                wave.put("issued", counter, place() + 1)
                oldest = c.max(place() - (r.RING - 1), 0)

                def slot(number: Value, counter: Value = counter) -> Value:
                    return (counter << 6) + (number & (r.RING - 1))

                def later(finish: Value = finish, place: Variable = place, oldest: Value = oldest,
                          slot: Callable[[Value], Value] = slot) -> Value:  # fmt: skip
                    return (place() > oldest) & (wave.at("ring", slot(place() - 1)) > finish)

                with c.loop_while(later):
                    wave.put("ring", slot(place()), wave.at("ring", slot(place() - 1)))
                    place.set(place() - 1)
                wave.put("ring", slot(place()), finish)
