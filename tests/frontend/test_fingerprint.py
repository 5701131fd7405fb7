"""The fingerprint changes with everything that a kernel is made of, and with nothing else."""

from __future__ import annotations

import types
from dataclasses import dataclass

import numpy as np

from pipedsl.frontend import KernelSource, device_function

SIZE = 4
module = types.ModuleType("constants")
module.WIDTH = 3


@device_function
def helper(x):
    return x * SIZE


class Backend:
    LIMIT = 5

    def __init__(self, n):
        self.n = n

    def get(self):
        return self.n


def uses_global(out):
    out[0] = SIZE


def uses_helper(out):
    out[0] = helper(1)


def uses_module(out):
    out[0] = module.WIDTH


def uses_class(out):
    out[0] = Backend(1).get()


def factory(value):
    def kernel(out):
        out[0] = value

    return kernel


def fingerprint(function):
    return KernelSource.capture(function).fingerprint()


def test_repeatable():
    assert fingerprint(uses_helper) == fingerprint(uses_helper)
    assert fingerprint(factory(3)) == fingerprint(factory(3))


def test_closed_over_values():
    values = (
        3,
        3.0,
        True,
        1,
        np.int32(3),
        np.int64(3),
        np.float16,
        np.float32,
        (1, 2),
        (1, 3),
        None,
    )
    prints = [fingerprint(factory(value)) for value in values]
    assert len(set(prints)) == len(values)


def test_globals(monkeypatch):
    for function in (uses_global, uses_helper):
        before = fingerprint(function)
        with monkeypatch.context() as patch:
            patch.setitem(globals(), "SIZE", 5)
            assert fingerprint(function) != before
        assert fingerprint(function) == before


def test_module_attributes(monkeypatch):
    before = fingerprint(uses_module)
    monkeypatch.setattr(module, "WIDTH", 4)
    assert fingerprint(uses_module) != before


def test_class_members(monkeypatch):
    before = fingerprint(uses_class)
    monkeypatch.setattr(Backend, "LIMIT", 6)
    changed = fingerprint(uses_class)
    assert changed != before
    monkeypatch.setattr(Backend, "get", lambda self: self.n + 1)
    assert fingerprint(uses_class) not in (before, changed)


def test_unrelated_globals(monkeypatch):
    before = fingerprint(uses_global)
    monkeypatch.setitem(globals(), "OTHER", 5)
    assert fingerprint(uses_global) == before


@dataclass(frozen=True)
class Config:
    size: int

    @property
    def double(self):
        return 2 * self.size


def test_fields_of_dataclasses():
    base = fingerprint(factory(Config(4)))
    assert fingerprint(factory(Config(4))) == base
    assert fingerprint(factory(Config(5))) != base


def test_properties(monkeypatch):
    base = fingerprint(factory(Config(4)))
    monkeypatch.setattr(Config, "double", property(lambda self: 3 * self.size))
    assert fingerprint(factory(Config(4))) != base
