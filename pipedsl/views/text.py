"""A timeline in a terminal."""

from __future__ import annotations

from pipedsl.views.picture import KINDS, Picture

_LETTERS = {
    "work": "#", "full": "f", "empty": "e", "poll": "p", "memory": "m", "lds": "l", "barrier": "b",
}  # fmt: skip


def to_text(picture: Picture, width: int = 72) -> str:
    """A line per wave; each letter stands for what took most of its time."""
    spent: list[list[dict[str, float]]] = [
        [{} for _ in range(width)] for _ in picture.rows
    ]  # fmt: skip
    cell = max(picture.end, 1) / width
    for bar in picture.bars:
        first, last = int(bar.start / cell), min(int(bar.end / cell), width - 1)
        for column in range(first, last + 1):
            inside = min(bar.end, (column + 1) * cell) - max(bar.start, column * cell)
            into = spent[bar.row][column]
            into[bar.kind] = into.get(bar.kind, 0) + inside
    names = [row.name for row in picture.rows]
    pad = max(map(len, names), default=0)
    lines = [f"{picture.title}  (0 to {picture.end} {picture.unit})"]
    for name, columns in zip(names, spent, strict=True):
        letters = (_LETTERS[max(c, key=lambda k: c[k])] if c else " " for c in columns)
        lines.append(f"{name:<{pad}} |{''.join(letters)}|")
    used = {bar.kind for bar in picture.bars}
    lines.append(
        "  ".join(f"{_LETTERS[kind]} {text}" for kind, text in KINDS.items() if kind in used)
    )
    return "\n".join([*lines, *picture.summary])
