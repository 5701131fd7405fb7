"""The timing mode: modelled cycles of a launch, and where they went."""

from pipedsl.sim.timing import figures as _figures  # noqa: F401  (fills the constants)
