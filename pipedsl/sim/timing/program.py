"""A kernel prepared for the timing mode: host code cut into segments, and its timing rows."""

from __future__ import annotations

from pipedsl.sim.loaded import Code, LoadedKernel
from pipedsl.sim.sgprs import mode_register
from pipedsl.sim.timing import records as r
from pipedsl.sim.timing.row import Target
from pipedsl.sim.timing.spins import Spin, find_spins
from pipedsl.sim.timing.tables import Tables, build_tables
from pipedsl.sim.timing.translation import TimedTranslator


class TimedProgram:
    """Code and tables of one kernel.

    Attributes
    ----------
    code : Code
        Translated into segments.
    tables : Tables
    spins : list of Spin
    entry : int
        First instruction.

    Raises
    ------
    UnsupportedInstruction
        For an instruction that the model has no row for.
    """

    def __init__(self, kernel: LoadedKernel) -> None:
        self.kernel = kernel
        program = kernel.program
        self.entry = program.labels[kernel.name]
        flow = TimedTranslator(program, self.entry, kernel.wave, mode_register(kernel.metadata))
        self.tables: Tables = build_tables(
            program.instructions, flow.reached(), Target(kernel.arch)
        )
        self.spins: list[Spin] = find_spins(
            program.instructions, flow.targets(), kernel.wave.lanes
        )  # fmt: skip
        rows = self.tables.rows
        rows[flow.ends(), r.ROW_FIELDS["last"]] = 1
        for spin in self.spins:
            rows[sorted(spin.members), r.ROW_FIELDS["spin"]] = spin.number
            rows[sorted(spin.polls), r.ROW_FIELDS["poll"]] = 1
        self.code: Code = kernel.code(TimedTranslator)
