"""The rules of docs/design.md that the import contracts cannot state."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parent.parent / "pipedsl"
FILES = sorted(PACKAGE.rglob("*.py"))


def imports(tree: ast.AST) -> list[str]:
    """Modules that the statements of `tree` import."""
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.append(node.module)
    return found


def names(path: Path) -> str:
    return str(path.relative_to(PACKAGE))


@pytest.mark.parametrize("path", FILES, ids=names)
def test_only_two_packages_import_numba_core(path):
    modules = [m for m in imports(ast.parse(path.read_text())) if m.startswith("numba.core")]
    assert not modules or names(path).startswith(("target/", "checker/host/"))


@pytest.mark.parametrize("path", FILES, ids=names)
def test_no_internal_import_inside_a_function(path):
    functions = [
        node
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
    ]
    inside = [m for function in functions for m in imports(function) if m.startswith("pipedsl")]
    assert not inside


def test_the_rules_see_something():
    assert len(FILES) > 50
    assert imports(ast.parse("import numba.core.types\nfrom pipedsl.sim import run")) == [
        "numba.core.types",
        "pipedsl.sim",
    ]
