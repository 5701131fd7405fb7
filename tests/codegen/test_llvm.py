"""compile_ir: what it returns, and that LLVM's death is an exception like any other."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from pipedsl import codegen
from pipedsl.codegen import llvm
from pipedsl.codegen.pool import WorkerPool
from pipedsl.core.config import config
from pipedsl.core.errors import CompilationError, SourceLocation

HERE = SourceLocation("/somewhere/ring.py", 7, text="def ring(result, n):")

# An MFMA that gfx950 has and gfx942 lacks: LLVM aborts the process on it.
GFX950_MFMA = {
    "declarations": "declare <4 x float> @llvm.amdgcn.mfma.f32.16x16x32.f16"
    "(<8 x half>, <8 x half>, <4 x float>, i32, i32, i32)",
    "body": "%v = call <4 x float> @llvm.amdgcn.mfma.f32.16x16x32.f16"
    "(<8 x half> splat (half 1.0), <8 x half> splat (half 1.0), <4 x float> zeroinitializer,"
    " i32 0, i32 0, i32 0)\n store <4 x float> %v, ptr addrspace(1) %result",
}


def test_assembly_and_optimised_ir_of_every_arch(kernel_ir, arch):
    lowered = codegen.compile_ir(kernel_ir("%unused = add i32 %n, 5"), arch, kernel="k")
    assert f'.amdgcn_target "amdgcn-amd-amdhsa--{arch}"' in lowered.asm
    assert ".amdhsa_code_object_version 5" in lowered.asm
    assert "\nk:\n" in lowered.asm
    assert "define amdgpu_kernel void @k" in lowered.optimized_ir
    assert "%unused" not in lowered.optimized_ir


def test_abort_in_instruction_selection_is_an_error_and_the_next_compile_works(kernel_ir):
    module = kernel_ir(**GFX950_MFMA)
    with pytest.raises(CompilationError) as caught:
        codegen.compile_ir(module, "gfx942", kernel="k", where=HERE)
    assert str(caught.value).splitlines() == [
        "[P300] LLVM cannot compile 'k' for gfx942: "
        "Cannot select: intrinsic %llvm.amdgcn.mfma.f32.16x16x32.f16.",
        "  at /somewhere/ring.py:7",
        "    def ring(result, n):",
        "  fix: gfx942 has no instruction for this; use another arch or operation.",
    ]
    assert "v_mfma_f32_16x16x32_f16" in codegen.compile_ir(module, "gfx950", kernel="k").asm


def test_too_much_lds_is_an_error_and_the_next_compile_works(kernel_ir):
    module = kernel_ir(lds=160000)
    with pytest.raises(CompilationError) as caught:
        codegen.compile_ir(module, "gfx942", kernel="k", where=HERE)
    assert caught.value.message == (
        "LLVM cannot compile 'k' for gfx942: "
        "local memory (160000) exceeds limit (65536) in function 'k'."
    )
    assert caught.value.fix == "use less LDS: fewer stages or smaller tiles."
    assert caught.value.where == HERE
    asm = codegen.compile_ir(module, "gfx950", kernel="k").asm
    assert ".amdhsa_group_segment_fixed_size 160000" in asm


def test_ir_that_does_not_parse(kernel_ir):
    with pytest.raises(CompilationError) as caught:
        codegen.compile_ir(kernel_ir("%x = frobnicate i32 %n"), "gfx942", kernel="k", where=HERE)
    assert caught.value.message == (
        "LLVM cannot compile 'k' for gfx942: line 7 of the IR: expected instruction opcode."
    )


def test_ir_that_does_not_verify(kernel_ir):
    body = "br label %next\nnext:\n%x = add i32 %y, 1\n%y = add i32 %n, 1"
    with pytest.raises(CompilationError, match="Instruction does not dominate all uses"):
        codegen.compile_ir(kernel_ir(body), "gfx942", kernel="k")


@pytest.mark.parametrize(
    ("output", "message", "line"),
    [
        ("error: ring.py:12:3: bad thing in function k\n", "bad thing in function k", 12),
        ("error: other.py:12:3: bad thing\n", "bad thing", 7),
        ("error: <unknown>:0:0: bad thing\n", "bad thing", 7),
        (
            "warning: old\nLLVM ERROR: out of registers\nPLEASE submit a bug\n",
            "out of registers",
            7,
        ),
        ("Traceback:\n  in lower\nMemoryError\n", "MemoryError", 7),
        ("", "its process ended with status -9", 7),
    ],
)
def test_what_a_dying_compiler_wrote_becomes_the_message(monkeypatch, output, message, line):
    script = f"""
import os, sys
os.read(0, 1)
sys.stderr.write({output!r})
sys.stderr.flush()
os.kill(os.getpid(), 9)
"""
    monkeypatch.setattr(llvm, "_pool", WorkerPool(command=[sys.executable, "-c", script]))
    with pytest.raises(CompilationError) as caught:
        codegen.compile_ir("", "gfx942", kernel="k", where=HERE)
    assert caught.value.message == f"LLVM cannot compile 'k' for gfx942: {message}."
    assert caught.value.where is not None
    assert (caught.value.where.filename, caught.value.where.line) == (HERE.filename, line)


def test_other_code_object_versions_are_refused(kernel_ir):
    with pytest.raises(CompilationError) as caught:
        codegen.compile_ir(kernel_ir(version=600), "gfx942", kernel="k", where=HERE)
    assert caught.value.message == (
        "the LLVM module of 'k' does not ask for code object version 5."
    )
    assert caught.value.fix == "set the module flag amdhsa_code_object_version to 500."


def test_a_compiler_that_hangs_is_ended(monkeypatch):
    hanging = [sys.executable, "-c", "import time; time.sleep(600)"]
    monkeypatch.setattr(llvm, "_pool", WorkerPool(command=hanging))
    with config.scope(compile_timeout=0.2), pytest.raises(CompilationError) as caught:
        codegen.compile_ir("", "gfx942", kernel="k", where=HERE)
    assert caught.value.message == "LLVM took more than 0.2 s for 'k' on gfx942."
    assert caught.value.fix == "make the kernel smaller, or raise config.compile_timeout."


def test_threads_get_their_own_answers(kernel_ir):
    def compile_one(number):
        body = f"store volatile i32 {number}, ptr addrspace(1) %result"
        return codegen.compile_ir(kernel_ir(body), "gfx942", kernel="k").asm

    numbers = range(100, 124)
    with ThreadPoolExecutor(8) as threads:
        texts = list(threads.map(compile_one, numbers))
    for number, asm in zip(numbers, texts, strict=True):
        assert f"v_mov_b32_e32 v1, {hex(number)}" in asm


# Python 3.12 warns that a fork of a threaded process may hang the child: here it must not.
@pytest.mark.filterwarnings("ignore:.*multi-threaded:DeprecationWarning")
def test_a_forked_child_compiles_too(kernel_ir):
    module = kernel_ir()
    codegen.compile_ir(module, "gfx942", kernel="k")
    child = os.fork()
    if child == 0:
        try:
            codegen.compile_ir(module, "gfx950", kernel="k")
            os._exit(0)
        finally:
            os._exit(1)
    assert os.waitpid(child, 0)[1] == 0
    assert "gfx1100" in codegen.compile_ir(module, "gfx1100", kernel="k").asm


def test_the_worker_ends_with_its_parent(tmp_path, kernel_ir):
    script = textwrap.dedent(
        """
        import os, sys
        from pipedsl import codegen
        from pipedsl.codegen import llvm
        codegen.compile_ir(sys.stdin.read(), "gfx942", kernel="k")
        print(*(worker._process.pid for worker in llvm._pool._workers), flush=True)
        os.kill(os.getpid(), 9)
        """
    )
    parent = subprocess.run(
        [sys.executable, "-c", script], input=kernel_ir(), capture_output=True, text=True
    )
    assert parent.returncode == -signal.SIGKILL, parent.stderr
    (worker,) = map(int, parent.stdout.split())
    for _ in range(500):
        if not _running(worker):
            return
        time.sleep(0.02)
    os.kill(worker, signal.SIGKILL)
    pytest.fail("the worker outlived its parent")


def _running(process):
    try:
        with open(f"/proc/{process}/stat") as stat:
            return stat.read().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False
