"""Records as a table, for terminals and notebooks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from pipedsl.core.html import box

_ROWS = 500  # of an HTML table, so that it stays small


def to_text(rows: Sequence[Mapping[str, Any]]) -> str:
    """Aligned columns under a line of names."""
    if not rows:
        return ""
    names = list(rows[0])
    cells = [names, *([_cell(row[name]) for name in names] for row in rows)]
    widths = [max(len(line[i]) for line in cells) for i in range(len(names))]
    texts = [isinstance(rows[0][name], str) for name in names]
    return "\n".join(
        "  ".join(
            cell.ljust(width) if text else cell.rjust(width)
            for cell, width, text in zip(line, widths, texts, strict=True)
        ).rstrip()
        for line in cells
    )


def to_html(
    rows: Sequence[Mapping[str, Any]], title: str = "", notes: Sequence[str] = ()
) -> str:  # fmt: skip
    """A table of at most 500 rows in a box, and lines under it."""
    parts = []
    if rows:
        names = list(rows[0])
        parts.append("<table><tr>" + "".join(f"<th>{escape(n)}</th>" for n in names) + "</tr>")
        parts += (
            "<tr>"
            + "".join(f"<td{_left(row[n])}>{escape(_cell(row[n]))}</td>" for n in names)
            + "</tr>"
            for row in rows[:_ROWS]
        )
        parts.append("</table>")
    if len(rows) > _ROWS:
        parts.append(f"<div>and {len(rows) - _ROWS} rows more</div>")
    parts += (f'<div class="bad">{escape(note)}</div>' for note in notes[:_ROWS])
    return box("".join(parts), title)


def _left(value: Any) -> str:
    return ' class="l"' if isinstance(value, str) else ""


def _cell(value: Any) -> str:
    if value is None:
        return "-"
    if isinstance(value, float):
        return f"{value:.3g}" if abs(value) < 100 else f"{value:.0f}"
    return str(value)
