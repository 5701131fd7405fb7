"""Results of a sweep: tidy records, and what failed."""

from __future__ import annotations

import csv
import io
import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pipedsl.core.errors import LaunchError
from pipedsl.core.files import write_whole
from pipedsl.dispatch.callsite import caller
from pipedsl.views.table import to_html, to_text

Record = Mapping[str, Any]


class Records:
    """One mapping per configuration that worked, with the same keys; and the others with a reason.

    Attributes
    ----------
    rows : list of mapping
    failures : list of mapping
        The configuration, and under ``"reason"`` why it has no row.
    title : str
    columns : tuple of str
        What `print` and notebooks show; all keys by default.
    """

    def __init__(
        self,
        rows: Sequence[Record],
        failures: Sequence[Record] = (),
        title: str = "",
        columns: Sequence[str] = (),
    ) -> None:
        self.rows = list(rows)
        self.failures = list(failures)
        self.title = title
        self.columns = tuple(columns)

    def best(self, key: str, *, most: bool = True) -> Record:
        """The row with the largest (or smallest) value under `key`.

        Raises
        ------
        LaunchError
            If there is no row, or no such key.
        """
        if not self.rows or key not in self.rows[0]:
            raise LaunchError(
                f"there is no row with {key!r}.",
                fix=f"the keys are {', '.join(self.rows[0])}." if self.rows else None,
                where=caller(),
            )
        return (max if most else min)(self.rows, key=lambda row: row[key])

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write ``.csv`` (rows alone) or ``.json`` (rows and failures), whole or not at all."""
        suffix = Path(path).suffix
        if suffix not in (".csv", ".json"):
            raise LaunchError(
                f"results cannot be saved as {Path(path).name!r}.",
                fix="use a name that ends in .csv or .json.",
                where=caller(),
            )
        write_whole(path, self.to_csv() if suffix == ".csv" else self.to_json())

    def to_csv(self) -> str:
        """The rows, with a line of names."""
        text = io.StringIO()
        if self.rows:
            writer = csv.DictWriter(text, list(self.rows[0]), lineterminator="\n")
            writer.writeheader()
            writer.writerows(self.rows)
        return text.getvalue()

    def to_json(self) -> str:
        """Rows and failures."""
        return json.dumps({"rows": self.rows, "failures": self.failures}, indent=1) + "\n"

    def to_pandas(self) -> Any:
        """The rows as a ``pandas.DataFrame``; pandas must be installed."""
        import pandas  # noqa: PLC0415 (an extra)

        return pandas.DataFrame(self.rows)

    def _shown(self) -> list[dict[str, Any]]:
        columns = self.columns or (tuple(self.rows[0]) if self.rows else ())
        return [{name: row[name] for name in columns} for row in self.rows]

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Any:
        return iter(self.rows)

    def __repr__(self) -> str:
        return f"<Records {self.title}: {len(self.rows)} rows, {len(self.failures)} failures>"

    def __str__(self) -> str:
        parts = [self.title] * bool(self.title) + [to_text(self._shown())] * bool(self.rows)
        return "\n".join([*parts, *map(_failed, self.failures)])

    def _repr_html_(self) -> str:
        return to_html(self._shown(), self.title, [_failed(row) for row in self.failures])


def _failed(row: Record) -> str:
    config = ", ".join(f"{k}={v}" for k, v in row.items() if k != "reason")
    return f"failed: {config}: {row['reason']}"
