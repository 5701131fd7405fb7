"""Every interleaving that can matter, each state of the workgroup once."""

from __future__ import annotations

from dataclasses import dataclass, field

from pipedsl.core.errors import SimulationError
from pipedsl.core.findings import Finding
from pipedsl.sim.explore.stepper import Moment, Stepper


@dataclass(frozen=True)
class Explored:
    """What an exploration covered and found.

    Attributes
    ----------
    findings : tuple of Finding
    errors : tuple of SimulationError
        Of the interleavings that failed; deadlocks among them.
    interleavings : int
        Orders of synchronisation operations that the states stand for.
    states, steps : int
        Different states; runs of a wave from one synchronisation operation to the next.
    complete : bool
        Whether nothing is left to try.
    instructions : int
    """

    findings: tuple[Finding, ...]
    errors: tuple[SimulationError, ...]
    interleavings: int
    states: int
    steps: int
    complete: bool
    instructions: int

    def __str__(self) -> str:
        extent = "all" if self.complete else "the first"
        return (
            f"{extent} {self.interleavings} interleavings of synchronisation operations, "
            f"{self.states} states"
        )


@dataclass
class _Node:
    """A state: what is left to try there, and where that led."""

    moment: Moment | None
    left: list[int]
    following: list[bytes] = field(default_factory=list)
    failed: int = 0  # steps that ended the interleaving with an error
    blocked: int = 0


class Search:
    """Depth first, until nothing is left or `limit` states were seen."""

    def __init__(self, stepper: Stepper, limit: int) -> None:
        self._stepper = stepper
        self._limit = limit
        self._nodes: dict[bytes, _Node] = {}
        self._errors: dict[str, SimulationError] = {}
        self._steps = 0

    def run(self) -> Explored:
        """Explore from the present moment on."""
        root = self._stepper.key()
        path = [root]
        self._add(root)
        while path and len(self._nodes) < self._limit:
            node = self._nodes[path[-1]]
            if not node.left:
                self._leave(node)
                path.pop()
                continue
            found = self._try(node, node.left.pop())
            if found is None:
                continue
            node.following.append(found)
            if found not in self._nodes:
                self._add(found)
                path.append(found)
        stepper = self._stepper
        return Explored(
            stepper.findings(), tuple(self._errors.values()), self._count(root), len(self._nodes),
            self._steps, not path, stepper.instructions,
        )  # fmt: skip

    def _add(self, key: bytes) -> None:
        ready = self._stepper.ready()
        self._nodes[key] = _Node(self._stepper.save(), ready)

    def _try(self, node: _Node, wave: int) -> bytes | None:
        """Key of the state to which a step of `wave` leads; None if to none."""
        assert node.moment is not None
        self._stepper.restore(node.moment)
        self._steps += 1
        try:
            if self._stepper.step(wave):
                return self._stepper.key()
        except SimulationError as error:
            self._errors.setdefault(error.message, error)
            node.failed += 1
            return None
        node.blocked += 1
        return None

    def _leave(self, node: _Node) -> None:
        """All was tried: a state that nothing follows is the end, or a deadlock."""
        assert node.moment is not None
        if not node.following and not node.failed:
            self._stepper.restore(node.moment)
            if self._stepper.live():
                error = self._stepper.stuck()
                if error is not None:
                    self._errors.setdefault(error.message, error)
        node.moment = None

    def _count(self, root: bytes) -> int:
        """Ways from the first state to those that nothing follows."""
        counts: dict[bytes, int] = {}
        stack = [root]
        while stack:
            key = stack[-1]
            node = self._nodes[key]
            missing = [k for k in node.following if k not in counts and k in self._nodes]
            if missing and key not in counts:
                counts[key] = 0  # a state that leads back to itself adds no ways
                stack += missing
                continue
            ends = node.failed + (not node.following and not node.failed)
            counts[key] = ends + sum(counts.get(k, 0) for k in node.following)
            stack.pop()
        return counts[root]
