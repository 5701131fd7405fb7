"""A timeline as Chrome trace events, which Perfetto and chrome://tracing open."""

from __future__ import annotations

import json
from typing import Any

from pipedsl.views.picture import KINDS, Picture


def to_trace_events(picture: Picture) -> str:
    """JSON text: a process per workgroup, a thread per wave; one cycle is shown as a microsecond."""
    groups = list(dict.fromkeys(row.group for row in picture.rows))
    process = [groups.index(row.group) for row in picture.rows]
    events: list[dict[str, Any]] = []
    for number, group in enumerate(groups):
        events.append(_named("process_name", number, 0, group))
    for number, row in enumerate(picture.rows):
        events.append(_named("thread_name", process[number], number, row.name))
    for bar in picture.bars:
        name = f"{KINDS[bar.kind]} {bar.label}".strip()
        events.append({
            "name": name, "cat": bar.kind, "ph": "X", "ts": bar.start, "dur": bar.end - bar.start,
            "pid": process[bar.row], "tid": bar.row, "args": {"where": bar.hover},
        })  # fmt: skip
    for number, arrow in enumerate(picture.arrows):
        ends = (("s", arrow.sent, arrow.source), ("f", arrow.received, arrow.target))
        for phase, time, row_number in ends:
            events.append({
                "name": arrow.label, "cat": "signal", "ph": phase, "id": number, "ts": time,
                "pid": process[row_number], "tid": row_number,
                **({"bp": "e"} if phase == "f" else {}),
            })  # fmt: skip
    return json.dumps({
        "traceEvents": events,
        "displayTimeUnit": "ns",
        "otherData": {"title": picture.title, "unit": picture.unit},
    })  # fmt: skip


def _named(kind: str, process: int, thread: int, name: str) -> dict[str, Any]:
    return {"name": kind, "ph": "M", "pid": process, "tid": thread, "args": {"name": name}}
