"""The process that runs LLVM for AMDGPU: it may die, the user's session may not.

Run as a script by `pipedsl.codegen.pool`, without the rest of pipedsl. LLVM's own messages go to
stderr; requests come from stdin and replies leave by what stdout was at the start.
"""

from __future__ import annotations

import os
import resource
import select
import struct
import sys
import threading
from collections.abc import Callable


def main() -> None:
    """Serve requests ``(arch, llvm_ir)`` until stdin ends.

    A reply is ``("ok", optimized_ir, asm)`` or ``("error", message)``.
    """
    sys.path.insert(0, sys.argv[1])
    replies = os.dup(1)
    os.dup2(2, 1)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    threading.Thread(target=_exit_with_parent, daemon=True).start()
    lower = _load_llvm()
    while (request := read_message(0)) is not None:
        arch, llvm_ir = request
        try:
            lowered = lower(arch, llvm_ir)
        except Exception as error:
            write_message(replies, "error", str(error))
        else:
            write_message(replies, "ok", *lowered)


def read_message(descriptor: int) -> tuple[str, ...] | None:
    """Next message from a file descriptor, or None where it ends."""
    try:
        (count,) = struct.unpack("<I", _read(descriptor, 4))
        sizes = struct.unpack(f"<{count}Q", _read(descriptor, 8 * count))
        return tuple(_read(descriptor, size).decode() for size in sizes)
    except EOFError:
        return None


def write_message(descriptor: int, *fields: str) -> None:
    """Send `fields` as one message: their count, their lengths in bytes, their bytes."""
    data = [field.encode() for field in fields]
    head = struct.pack(f"<I{len(data)}Q", len(data), *map(len, data))
    rest = memoryview(head + b"".join(data))
    while rest:
        rest = rest[os.write(descriptor, rest) :]


def _read(descriptor: int, size: int) -> bytes:
    parts = []
    while size:
        part = os.read(descriptor, min(size, 1 << 20))
        if not part:
            raise EOFError
        parts.append(part)
        size -= len(part)
    return b"".join(parts)


def _exit_with_parent() -> None:
    """End the process when the other end of stdin closes, even in the middle of a compile."""
    poll = select.poll()
    poll.register(0, 0)
    poll.poll()
    os._exit(0)


def _load_llvm() -> Callable[[str, str], tuple[str, str]]:
    # Here, since the parent imports this module for its messages and must not load LLVM for it.
    from llvmlite import binding  # noqa: PLC0415

    binding.initialize_all_targets()
    binding.initialize_all_asmprinters()
    target = binding.Target.from_triple("amdgcn-amd-amdhsa")

    def lower(arch: str, llvm_ir: str) -> tuple[str, str]:
        machine = target.create_target_machine(cpu=arch, opt=3, reloc="pic")
        module = binding.parse_assembly(llvm_ir)
        module.verify()
        module.triple = target.triple
        module.data_layout = str(machine.target_data)
        builder = binding.create_pass_builder(machine, binding.create_pipeline_tuning_options(3))
        builder.getModulePassManager().run(module, builder)
        optimized_ir = str(module)
        return optimized_ir, machine.emit_assembly(module)

    return lower


if __name__ == "__main__":
    main()
