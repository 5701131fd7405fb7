"""The look of HTML that notebooks show: light and dark, no outside resources."""

from __future__ import annotations

from html import escape

LIMIT = 300_000
"""Bytes that no HTML form is larger than."""

STYLE = (
    "<style>.pipedsl-box{font:12px monospace;background:#fff;color:#222;padding:6px;overflow:auto}"
    ".pipedsl-box table{border-collapse:collapse;color:inherit}"
    ".pipedsl-box td,.pipedsl-box th{padding:1px 8px;text-align:right;border:0;white-space:pre}"
    ".pipedsl-box .l{text-align:left}.pipedsl-box tr.h{border-top:1px solid #999}"
    ".pipedsl-box .dim{opacity:.65}.pipedsl-box .bad{color:#c62828}"
    "@media (prefers-color-scheme:dark){.pipedsl-box{background:#111;color:#ddd}"
    ".pipedsl-box .bad{color:#ff8a80}}</style>"
)


def box(body: str, title: str = "") -> str:
    """`body`, HTML, in a box with the style."""
    head = f"<b>{escape(title)}</b>" if title else ""
    return f'<div class="pipedsl-box">{STYLE}{head}{body}</div>'


def text_box(text: str, title: str = "") -> str:
    """Plain text in a box; what is beyond `LIMIT` is left out, and said to be."""
    kept = text[: LIMIT // 3]
    note = "" if kept == text else f"<i>{len(text) - len(kept)} characters more</i>"
    return box(f"<pre>{escape(kept)}</pre>{note}", title)


class Shown:
    """An object whose text notebooks show in a box."""

    __slots__ = ()

    def _repr_html_(self) -> str:
        return text_box(str(self))
