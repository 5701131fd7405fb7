"""A timeline as one static SVG element, for notebooks and files."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from html import escape

from pipedsl.views.picture import KINDS, Bar, Picture

_WIDTH, _LEFT, _ROW, _BAR = 960, 150, 26, 18
_TOP, _LEGEND, _AXIS, _LINE = 34, 22, 24, 16
_LEAST = 0.6  # pixels: what is narrower is merged with its neighbour
_LETTER = 6.0  # pixels
_COLUMNS = 150  # letters of a line of the summary
_BARS, _ARROWS = 2500, 400  # at most, so that the picture stays small

_COLOURS = {
    "work": "#3b7dd8", "full": "#e08a1e", "empty": "#d9534f", "poll": "#b07cc6",
    "memory": "#6aa84f", "lds": "#45a8a8", "barrier": "#8a8a8a",
}  # fmt: skip
_STYLE = (
    ".pipedsl{{font:11px sans-serif;background:#fff;color:#222}}"
    ".pipedsl text{{fill:#222}}.pipedsl .on{{fill:#fff;font-size:10px;pointer-events:none}}"
    ".pipedsl line,.pipedsl path{{stroke:#999;fill:none}}.pipedsl .arrow{{stroke:#222;opacity:.55}}"
    "{colours}"
    "@media (prefers-color-scheme:dark){{.pipedsl{{background:#111;color:#ddd}}"
    ".pipedsl text{{fill:#ddd}}.pipedsl .arrow{{stroke:#eee}}}}"
)


def to_svg(picture: Picture) -> str:
    """The timeline as text; below 300 kB whatever is in it."""
    scale = (_WIDTH - _LEFT - 10) / max(picture.end, 1)
    bars, hidden = _merged(picture, _LEAST / scale)
    bottom = _TOP + _LEGEND + len(picture.rows) * _ROW
    notes = [*picture.summary]
    if hidden:
        notes.append(
            f"{hidden} bars are narrower than a pixel and are drawn with their neighbours."
        )
    if len(picture.arrows) > _ARROWS:
        notes.append(f"The first {_ARROWS} of {len(picture.arrows)} signals are drawn.")
    notes = [line for note in notes for line in textwrap.wrap(note, _COLUMNS)]
    height = bottom + _AXIS + _LINE * len(notes) + 8
    colours = "".join(f".pipedsl .{kind}{{fill:{c}}}" for kind, c in _COLOURS.items())
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" class="pipedsl" viewBox="0 0 {_WIDTH} {height}" '
        f'width="{_WIDTH}" height="{height}" style="max-width:100%;height:auto" role="img">',
        f"<style>{_STYLE.format(colours=colours)}</style>",
        f'<text x="8" y="18" font-weight="bold">{escape(picture.title)}</text>',
        *_legend(),
        *_rows(picture),
        *(_bar(bar, scale) for bar in bars),
        *_arrows(picture, scale),
        *_axis(picture, scale, bottom),
        *(
            f'<text x="8" y="{bottom + _AXIS + _LINE * (n + 1)}">{escape(note)}</text>'
            for n, note in enumerate(notes)
        ),
        "</svg>",
    ]
    return "".join(parts)


def _legend() -> Iterator[str]:
    x = _LEFT
    for kind, text in KINDS.items():
        yield f'<rect class="{kind}" x="{x}" y="{_TOP - 8}" width="10" height="10"/>'
        yield f'<text x="{x + 14}" y="{_TOP + 1}">{text}</text>'
        x += 26 + int(len(text) * _LETTER)


def _rows(picture: Picture) -> Iterator[str]:
    groups = {row.group for row in picture.rows}
    for number, row in enumerate(picture.rows):
        name = f"{row.group} {row.name}" if len(groups) > 1 else row.name
        yield f'<text class="row" x="8" y="{_y(number) + 13}">{escape(name)}</text>'


def _bar(bar: Bar, scale: float) -> str:
    x, width = _LEFT + bar.start * scale, max((bar.end - bar.start) * scale, 0.3)
    y = _y(bar.row)
    hover = f"<title>{escape(bar.hover)}</title>" if bar.hover else ""
    rect = (
        f'<rect class="{bar.kind}" x="{x:.1f}" y="{y}" width="{width:.1f}" height="{_BAR}">'
        f"{hover}</rect>"
    )
    if bar.label and len(bar.label) * _LETTER + 4 < width:
        rect += f'<text class="on" x="{x + 3:.1f}" y="{y + 13}">{escape(bar.label)}</text>'
    return rect


def _arrows(picture: Picture, scale: float) -> Iterator[str]:
    for arrow in picture.arrows[:_ARROWS]:
        x0, x1 = (_LEFT + time * scale for time in (arrow.sent, arrow.received))
        y0, y1 = (_y(row) + _BAR / 2 for row in (arrow.source, arrow.target))
        tip = -4 if y1 > y0 else 4
        yield (
            f'<path class="arrow" d="M{x0:.1f} {y0}L{x1:.1f} {y1}m-3 {tip}l3 {-tip}l3 {tip}">'
            f"<title>{escape(arrow.label)}</title></path>"
        )


def _axis(picture: Picture, scale: float, bottom: int) -> Iterator[str]:
    yield f'<line x1="{_LEFT}" y1="{bottom}" x2="{_WIDTH - 10}" y2="{bottom}"/>'
    step = _step(picture.end)
    for time in range(0, picture.end + 1, step):
        x = _LEFT + time * scale
        yield f'<line x1="{x:.1f}" y1="{bottom}" x2="{x:.1f}" y2="{bottom + 4}"/>'
        yield f'<text x="{x:.1f}" y="{bottom + 15}" text-anchor="middle">{time}</text>'
    yield f'<text x="8" y="{bottom + 15}">{escape(picture.unit)}</text>'


def _step(end: int) -> int:
    """A round distance of about eight marks."""
    step = 1
    while end / step > 10:
        step *= 5 if str(step)[0] == "2" and end / (step * 2.5) <= 10 else 2
    magnitude = 10 ** (len(str(step)) - 1)
    return next(m * magnitude for m in (1, 2, 5, 10) if m * magnitude >= step)


def _y(row: int) -> int:
    return _TOP + _LEGEND + row * _ROW


def _merged(picture: Picture, least: float) -> tuple[list[Bar], int]:
    """Bars that can be seen: neighbours that are too narrow become one, of the longest one's kind."""
    while True:
        drawn: list[Bar] = []
        run: list[Bar] = []
        for bar in picture.bars:
            if bar.end - bar.start >= least:
                drawn += [*_one(run), bar]
                run = []
                continue
            if run and (run[0].row != bar.row or bar.end - run[0].start >= least):
                drawn += _one(run)
                run = []
            run.append(bar)
        drawn += _one(run)
        if len(drawn) <= _BARS:
            return drawn, len(picture.bars) - len(drawn)
        least *= 2


def _one(run: list[Bar]) -> list[Bar]:
    if len(run) < 2:
        return run
    longest = max(run, key=lambda bar: bar.end - bar.start)
    return [Bar(run[0].row, longest.kind, run[0].start, run[-1].end, "", longest.hover)]
