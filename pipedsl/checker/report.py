"""What a check says: findings, and how to read them."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

from pipedsl.core.errors import DeadlockError, SimulationError, SourceLocation
from pipedsl.core.findings import CODES, Finding
from pipedsl.core.html import box
from pipedsl.core.version import __version__


@dataclass(frozen=True)
class Report:
    """The outcome of a check; true if nothing was found.

    Attributes
    ----------
    kernel, arch : str
    findings : tuple of Finding
        Each once, in the order in which they were found.
    runs : int
        Interleavings that were run.
    instructions : int
        Wave instructions of all runs.
    drawing : tuple of str
        For a deadlock, who waits for whom.
    explored : str
        What an exploration covered; empty without one.
    hints : tuple of Finding
        What is not wrong but slow, or not needed.
    """

    kernel: str
    arch: str
    findings: tuple[Finding, ...]
    runs: int
    instructions: int
    drawing: tuple[str, ...] = ()
    explored: str = ""
    hints: tuple[Finding, ...] = ()

    def __bool__(self) -> bool:
        return not self.findings

    def __str__(self) -> str:
        parts = [self._head(), *map(str, self.findings)]
        parts += [f"  {line}" for line in self.drawing]
        return "\n".join([*parts, *(f"hint {hint}" for hint in self.hints)])

    def __repr__(self) -> str:
        codes = ", ".join(finding.code for finding in self.findings)
        return f"<Report {self.kernel} on {self.arch}: {codes or 'clean'}>"

    def _head(self) -> str:
        covered = f" and {self.explored}" if self.explored else ""
        return f"{self.kernel} on {self.arch}: {self._verdict()} in {self.runs} runs{covered}"

    def _verdict(self) -> str:
        count = len(self.findings)
        return f"{count} finding{'s' * (count != 1)}" if count else "clean"

    def _repr_html_(self) -> str:
        rows = "".join(_row(finding) for finding in (*self.findings, *self.hints)[:_SHOWN])
        drawing = f"<pre>{escape(chr(10).join(self.drawing))}</pre>" if self.drawing else ""
        table = (
            f"<table><tr><th>code</th><th>finding</th><th>where</th><th>fix</th></tr>{rows}</table>"
        )
        return box(f"{table if rows else ''}{drawing}", self._head())

    def to_json(self) -> str:
        """The report as JSON text."""
        return json.dumps(
            {
                "kernel": self.kernel,
                "arch": self.arch,
                "runs": self.runs,
                "instructions": self.instructions,
                "findings": [_record(finding) for finding in self.findings],
                "hints": [_record(hint) for hint in self.hints],
                "drawing": list(self.drawing),
                "explored": self.explored,
            },
            indent=2,
        )

    def to_sarif(self) -> str:
        """The report as SARIF 2.1.0 text, which editors and code hosts read."""
        shown = (*self.findings, *self.hints)
        codes = sorted({finding.code for finding in shown})
        rules = [
            {
                "id": code,
                "shortDescription": {"text": CODES[code].title},
                "fullDescription": {"text": CODES[code].explanation},
            }
            for code in codes
        ]
        driver = {"name": "pipedsl", "version": __version__, "rules": rules}
        results = [_sarif(finding) for finding in shown]
        log = {
            "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
            "version": "2.1.0",
            "runs": [{"tool": {"driver": driver}, "results": results}],
        }
        return json.dumps(log, indent=2)


_SHOWN = 100  # findings in a notebook: each is a few lines


class Collector:
    """Gathers the findings of several runs, each once."""

    def __init__(self, kernel: str, arch: str) -> None:
        self._kernel = kernel
        self._arch = arch
        self._found: dict[tuple[object, ...], Finding] = {}
        self._drawing: tuple[str, ...] = ()
        self._explored = ""
        self._hints: tuple[Finding, ...] = ()
        self._runs = 0
        self._instructions = 0

    def add(
        self, findings: Iterable[Finding], error: SimulationError | None, instructions: int
    ) -> None:
        """What one run showed."""
        self._runs += 1
        self._instructions += instructions
        self._keep(findings, () if error is None else (error,))

    def add_explored(
        self, findings: Iterable[Finding], errors: Iterable[SimulationError], covered: str
    ) -> None:
        """What an exploration showed."""
        self._explored = covered
        self._keep(findings, errors)

    def add_hints(self, hints: Iterable[Finding]) -> None:
        """What could be less."""
        self._hints = tuple(hints)

    def _keep(self, findings: Iterable[Finding], errors: Iterable[SimulationError]) -> None:
        for finding in findings:
            self._found.setdefault(finding.identity, finding)
        for error in errors:
            stopped = _stopped(error, self._kernel)
            self._found.setdefault((stopped.code, error.where, ""), stopped)
            if isinstance(error, DeadlockError):
                self._drawing = self._drawing or error.drawing

    def report(self) -> Report:
        """All that was found."""
        return Report(
            self._kernel, self._arch, tuple(self._found.values()), self._runs, self._instructions,
            self._drawing, self._explored, self._hints,
        )  # fmt: skip


def _stopped(error: SimulationError, kernel: str) -> Finding:
    code = "C400" if isinstance(error, DeadlockError) else "C410"
    fix = error.fix or "see the message."
    return Finding(code, error.message, fix, kernel, (0, 0, 0), 0, None, 0, error.where)


def _record(finding: Finding) -> dict[str, Any]:
    return {
        "code": finding.code,
        "title": finding.title,
        "message": finding.message,
        "fix": finding.fix,
        "workgroup": list(finding.workgroup),
        "wave": finding.wave,
        "lane": finding.lane,
        "line": finding.line,
        "where": _place(finding.where),
        "related": [{"line": line, "where": _place(where)} for line, where in finding.related],
    }


def _place(where: SourceLocation | None) -> dict[str, Any] | None:
    return None if where is None else {"file": where.filename, "line": where.line}


def _sarif(finding: Finding) -> dict[str, Any]:
    places = [finding.where, *(where for _, where in finding.related)]
    known = [_physical(where) for where in places if where is not None]
    result: dict[str, Any] = {
        "ruleId": finding.code,
        "level": CODES[finding.code].level,
        "message": {"text": f"{finding.message} Fix: {finding.fix}"},
        "locations": known[:1],
    }
    if known[1:]:
        result["relatedLocations"] = known[1:]
    return result


def _physical(where: SourceLocation) -> dict[str, Any]:
    path = Path(where.filename)
    uri = path.as_uri() if path.is_absolute() else where.filename
    region = {"startLine": where.line}
    return {"physicalLocation": {"artifactLocation": {"uri": uri}, "region": region}}


def _row(finding: Finding) -> str:
    where = finding.where
    place = f"{Path(where.filename).name}:{where.line}" if where else f"line {finding.line}"
    source = (where.source_line() or "").strip() if where else ""
    cells = (finding.code, finding.message, f"{place} {source}", finding.fix)
    return "<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in cells) + "</tr>"
