"""Compiled kernels on disk: round trip, damage, two processes."""

from __future__ import annotations

import json
import os
import subprocess
import sys

from pipedsl.codegen import store
from pipedsl.core.cache import FileCache, content_key
from pipedsl.core.config import config
from pipedsl.core.image import KernelImage, Parameter

KEY = content_key("a kernel")
ARTIFACT = store.Artifact(
    image=KernelImage(
        name="k",
        arch="gfx942",
        asm="k:\n\ts_endpgm\n",
        parameters=(
            Parameter("result", "array", "int32", 1, ("pointer", "shape.0"), written=True),
            Parameter("n", "scalar", "int32", 0, ("value",)),
        ),
        block=128,
        sources={"ring.py": "def k(result, n):\n    pass  # é\n"},
    ),
    stages={"typed": "...", "llvm": "define", "asm": "k:"},
)


def _files():
    return [file for file in (config.cache_dir / "kernels").rglob("*") if file.is_file()]


def test_round_trip():
    assert store.load(KEY) is None
    store.save(KEY, ARTIFACT)
    loaded = store.load(KEY)
    assert loaded == ARTIFACT
    assert list(loaded.stages) == ["typed", "llvm", "asm"]


def test_torn_and_edited_files_are_misses():
    store.save(KEY, ARTIFACT)
    (file,) = _files()
    whole = file.read_bytes()
    for damaged in (b"", whole[:20], whole[: len(whole) // 2], whole[:-1], whole[:-2] + b"!}"):
        file.write_bytes(damaged)
        assert store.load(KEY) is None
    store.save(KEY, ARTIFACT)
    assert store.load(KEY) == ARTIFACT


def test_documents_of_another_layout_are_misses():
    cache = FileCache("kernels")
    for document in ({}, [], {"image": {}, "stages": []}, {"image": {"name": 1}, "stages": 2}):
        cache.put(KEY, json.dumps(document).encode())
        assert store.load(KEY) is None
    cache.put(KEY, b"not json")
    assert store.load(KEY) is None


def test_nothing_is_stored_when_the_cache_is_off():
    with config.scope(cache=False):
        store.save(KEY, ARTIFACT)
    assert _files() == []
    assert store.load(KEY) is None


def test_two_processes_compile_and_save_the_same_kernel(kernel_ir):
    script = """
import sys
from pipedsl import codegen
from pipedsl.codegen import store
from pipedsl.core.image import KernelImage
ir = sys.stdin.read()
for _ in range(20):
    lowered = codegen.compile_ir(ir, "gfx942", kernel="k")
    image = KernelImage("k", "gfx942", lowered.asm)
    store.save("KEY", store.Artifact(image, {"llvm": lowered.optimized_ir}))
    loaded = store.load("KEY")
    assert loaded is not None and loaded.image.asm == lowered.asm
print(lowered.asm)
""".replace("KEY", KEY)
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", script],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=os.environ,
        )
        for _ in range(2)
    ]
    texts = []
    for process in processes:
        with process:
            process.stdin.write(kernel_ir())
            process.stdin.close()
            texts.append(process.stdout.read().strip())
        assert process.returncode == 0
    loaded = store.load(KEY)
    assert {loaded.image.asm.strip()} == set(texts)
    assert len(_files()) == 1
