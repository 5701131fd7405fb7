"""Changes of Python source, one at a time, that break the protocol of a pipeline.

Lines keep their numbers, so that a finding's line can be compared with that of the change.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

RACES = frozenset(("C120", "C121", "C130", "C131", "C210", "C211", "C220", "C221", "C310", "C311"))
COUNTS = frozenset(("C320", "C321", "C340", "C341", "C350", "C351"))
STUCK = frozenset(("C400",))
SETUP = frozenset(("C330", "C331", "C332", "C360", "C410"))
EARLY = frozenset(("C110", "C111"))

_WAITS = ("wait_full", "wait_empty", "wait_consumer", "wait_producer", "_wait")
_SIGNALS = ("arrive_full", "arrive_empty", "counter_signal", "arrive")
_FENCES = ("fence_lds",)
_SETUPS = ("init", "init_barriers", "init_mbars", "barrier")
_STEPS = ("producer_step", "consumer_step", "step")
_ARRIVALS = ("producer_arrivals", "consumer_arrivals", "writes", "reads")


@dataclass(frozen=True)
class Mutant:
    """One change.

    Attributes
    ----------
    kind : str
    line : int
    text : str
        The whole changed source.
    codes : frozenset of str
        Findings that name the fault; a change that the compiler refuses is found as well.
    """

    kind: str
    line: int
    text: str
    codes: frozenset[str]


@dataclass(frozen=True)
class Verdict:
    """What became of a changed program.

    Attributes
    ----------
    kind : {"found", "refused", "clean", "missed", "wrong code", "no line"}
    detail : str
    code : str
        Digest of its instructions.
    explored : bool
        Whether every interleaving was tried.
    """

    kind: str
    detail: str = ""
    code: str = ""
    explored: bool = False


def mutants(source: str) -> Iterator[Mutant]:
    """All changes of a module's kernel code."""
    tree = ast.parse(source)
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        for block in (body, getattr(node, "orelse", None)):
            if isinstance(block, list):
                yield from _in_block(source, block)
        if isinstance(node, ast.Call):
            yield from _in_call(source, node)
        elif isinstance(node, ast.Assign):
            yield from _in_assignment(source, node)
        elif isinstance(node, ast.For) and _name(node.iter) == "range":
            yield from _fewer_items(source, node)
        elif isinstance(node, ast.While) and isinstance(node.test, ast.Compare):
            yield from _leave_early(source, node)


def _in_block(source: str, block: list[ast.stmt]) -> Iterator[Mutant]:
    for place, statement in enumerate(block):
        if not (isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call)):
            continue
        name, call, line = _name(statement.value), _text(source, statement), statement.lineno

        def change(kind: str, new: str, codes: frozenset[str], at: ast.AST = statement) -> Mutant:
            return Mutant(kind, at.lineno, _replace(source, at, new), codes)  # type: ignore[attr-defined]

        if name in (*_WAITS, *_FENCES):
            yield change("wait or fence dropped", "pass", RACES | COUNTS | EARLY | STUCK)
        elif name in _SETUPS:
            yield change(f"{name}() dropped", "pass", RACES | SETUP | STUCK)
        elif name in _STEPS:
            yield change("step dropped", "pass", RACES | COUNTS | STUCK)
        if name not in _SIGNALS:
            continue
        yield change("signal dropped", "pass", STUCK | RACES)
        yield change("signal twice", f"{call}; {call}", RACES | COUNTS | STUCK)
        if name == "counter_signal":
            array, index, *more = (_text(source, a) for a in statement.value.args)
            one = f"gpu.atomic_add({array}, {' + '.join((index, *more))}, {array}.dtype.type(1))"
            yield change("signal by all lanes", one, frozenset(("C322",)) | COUNTS | RACES)
        counter = _loop_counter(source, statement)
        if counter and "empty" in name:
            yield change("one release skipped", f"if {counter} != 1: {call}", STUCK | RACES)
        if place and isinstance(block[place - 1], ast.Expr):
            before = block[place - 1]
            text = f"{call}; {_text(source, before)}"
            moved = _replace(_replace_text(source, statement, "pass"), before, text)
            yield Mutant("signal before the fence", line, moved, RACES | COUNTS)
        if place > 1 and before_is_data(block[place - 2]):
            data = block[place - 2]
            indent = " " * data.col_offset
            text = f"{call}\n{indent}{_text(source, data)}"
            yield Mutant(
                "signal before the data", line,
                _replace(_replace_text(source, statement, "pass"), data, text, keep=False),
                RACES | COUNTS,
            )  # fmt: skip


def before_is_data(statement: ast.stmt) -> bool:
    """Whether a statement writes or reads a slot: an assignment, a block, or a loader's call."""
    return not isinstance(statement, (ast.FunctionDef, ast.Return, ast.With))


def _in_call(source: str, call: ast.Call) -> Iterator[Mutant]:
    name = _name(call)
    if name in ("wait_full", "wait_empty") and len(call.args) > 1:
        phase = call.args[2 if len(call.args) > 2 else 1]
        for step, codes in ((-1, RACES | COUNTS), (1, STUCK | COUNTS)):
            yield _within(
                source, phase, f"({_text(source, phase)}) + {step}", f"phase {step:+}", codes
            )
    for word in call.keywords:
        if word.arg in _ARRIVALS:
            for step in (-1, 1):
                text = f"({_text(source, word.value)}) + {step}"
                yield _within(
                    source, word.value, text, f"arrivals {step:+}", STUCK | COUNTS | RACES | SETUP
                )
    if name in ("backend", "AmdCounterBackend") and call.args:
        first = call.args[0]
        text = f"{_text(source, first)} - 1"
        yield _within(source, first, text, "ring shrunk", STUCK | COUNTS | RACES | SETUP)
        for number in call.args[1:3]:
            for step in (-1, 1):
                text = f"({_text(source, number)}) + {step}"
                yield _within(source, number, text, f"arrivals {step:+}", STUCK | COUNTS | RACES)


def _in_assignment(source: str, node: ast.Assign) -> Iterator[Mutant]:
    target = node.targets[0]
    if isinstance(target, ast.Name) and target.id == "stage":
        text = f"({_text(source, node.value)}) // 2"
        yield _within(source, node.value, text, "stage reused", RACES | COUNTS | STUCK)


def _fewer_items(source: str, node: ast.For) -> Iterator[Mutant]:
    assert isinstance(node.iter, ast.Call)
    if len(node.iter.args) == 1 and _synchronises(node):
        end = node.iter.args[0]
        text = f"{_text(source, end)} - 1"
        yield _within(source, end, text, "one wave leaves early", STUCK | RACES | COUNTS)


def _leave_early(source: str, node: ast.While) -> Iterator[Mutant]:
    assert isinstance(node.test, ast.Compare)
    end = node.test.comparators[0]
    if _synchronises(node) and isinstance(node.test.ops[0], ast.Lt):
        yield _within(
            source,
            end,
            f"{_text(source, end)} - 64",
            "one wave leaves early",
            STUCK | RACES | COUNTS,
        )


def _synchronises(node: ast.AST) -> bool:
    names = {_name(call) for call in ast.walk(node) if isinstance(call, ast.Call)}
    return bool(names & {*_WAITS[:2], "produce", "consume"})


def _loop_counter(source: str, statement: ast.stmt) -> str | None:
    """Name of the variable of the ``for`` loop around a statement."""
    found = None
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.For) and isinstance(node.target, ast.Name):
            last = node.end_lineno or node.lineno
            if node.lineno < statement.lineno <= last and _name(node.iter) == "range":
                found = node.target.id
    return found


def _within(
    source: str, node: ast.expr, new: str, kind: str, codes: frozenset[str]
) -> Mutant:  # fmt: skip
    return Mutant(kind, node.lineno, _replace(source, node, new), codes)


def _name(node: ast.AST) -> str:
    if isinstance(node, ast.Call):
        node = node.func
    return node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")


def _text(source: str, node: ast.AST) -> str:
    return ast.get_source_segment(source, node) or ""


def _replace(source: str, node: ast.AST, new: str, *, keep: bool = True) -> str:
    """`source` with the node's text replaced; `keep` pads with lines to keep line numbers."""
    lines = source.splitlines(keepends=True)
    first, last = node.lineno - 1, node.end_lineno - 1  # type: ignore[attr-defined]
    head = lines[first].encode()[: node.col_offset].decode()  # type: ignore[attr-defined]
    tail = lines[last].encode()[node.end_col_offset :].decode()  # type: ignore[attr-defined]
    padding = "\n" * (last - first - new.count("\n")) if keep else ""
    if padding and not tail.strip():
        tail = tail + padding
    return "".join((*lines[:first], head + new + tail, *lines[last + 1 :]))


def _replace_text(source: str, node: ast.AST, new: str) -> str:
    return _replace(source, node, new)
