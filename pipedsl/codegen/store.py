"""Compiled kernels on disk, as JSON: reading an entry never runs code."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from types import MappingProxyType
from typing import Any

from pipedsl.core.cache import FileCache
from pipedsl.core.image import KernelImage, Parameter
from pipedsl.isa.budget import Budget

_cache = FileCache("kernels")


@dataclass(frozen=True)
class Artifact:
    """One compiled kernel.

    Attributes
    ----------
    image : KernelImage
    stages : mapping of str to str
        Text of every stage of the compilation, in order.
    budget : Budget or None
        What a kernel with roles takes of a compute unit, as known before the compilation.
    """

    image: KernelImage
    stages: Mapping[str, str]
    budget: Budget | None = None


def load(key: str) -> Artifact | None:
    """The artifact saved under `key`, or None where there is none that this version can read."""
    data = _cache.get(key)
    if data is None:
        return None
    try:
        return _decode(json.loads(data))
    except (ValueError, KeyError, TypeError):
        return None


def save(key: str, artifact: Artifact) -> None:
    """Keep `artifact` under `key`.

    Parameters
    ----------
    key : str
        Hash of everything that the compilation depends on (`pipedsl.core.cache.content_key`),
        pipedsl's version included.
    artifact : Artifact
    """
    image = {
        **{name: getattr(artifact.image, name) for name in ("name", "arch", "asm", "block")},
        "parameters": [asdict(parameter) for parameter in artifact.image.parameters],
        "sources": dict(artifact.image.sources),
    }
    budget = None if artifact.budget is None else asdict(artifact.budget)
    document = {"image": image, "stages": list(artifact.stages.items()), "budget": budget}
    _cache.put(key, json.dumps(document).encode())


def _decode(document: dict[str, Any]) -> Artifact:
    image = document["image"]
    parameters = tuple(
        Parameter(**{**fields, "parts": tuple(fields["parts"])}) for fields in image["parameters"]
    )
    sources = MappingProxyType(image["sources"])
    return Artifact(
        image=KernelImage(**{**image, "parameters": parameters, "sources": sources}),
        stages=MappingProxyType(dict(document["stages"])),
        budget=None if document["budget"] is None else Budget(**document["budget"]),
    )
