"""Running a bare list of instructions: no kernel, no metadata, full view of the registers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from pipedsl.core.arch import get_arch
from pipedsl.core.config import config
from pipedsl.core.errors import AssemblyError
from pipedsl.core.html import Shown
from pipedsl.isa.instruction import decode
from pipedsl.isa.metadata import KernelMetadata
from pipedsl.isa.operands import EXEC, M0, VCC
from pipedsl.sim import layout as at
from pipedsl.sim.launch import Launch
from pipedsl.sim.memory import Memory
from pipedsl.sim.module import Kernel
from pipedsl.sim.reader import Program, strip_comment
from pipedsl.sim.run import run_one
from pipedsl.sim.shape import GroupShape

_NAME = "execute"


@dataclass(frozen=True)
class State(Shown):
    """Registers and LDS of one wave after its last instruction.

    Attributes
    ----------
    vgprs, agprs : numpy.ndarray
        uint32, shape (registers, lanes of the wave).
    sgprs : numpy.ndarray
        uint32, shape (106,).
    scc, m0 : int
    vcc, exec : int
        One bit per lane.
    lds : numpy.ndarray
        uint8.
    instructions : int
        Executed wave instructions.
    """

    vgprs: np.ndarray
    agprs: np.ndarray
    sgprs: np.ndarray
    scc: int
    vcc: int
    exec: int
    m0: int
    lds: np.ndarray
    instructions: int

    def __repr__(self) -> str:
        registers = f"{len(self.vgprs)} VGPRs, {len(self.sgprs)} SGPRs"
        return f"<State after {self.instructions} instructions: {registers}, exec={self.exec:#x}>"


def execute(
    lines: Sequence[str] | str,
    *,
    arch: str,
    lanes: int | None = None,
    vgprs: Mapping[int, object] | np.ndarray | None = None,
    sgprs: Mapping[int, int] | Sequence[int] | None = None,
    lds_bytes: int = 0,
    scratch_bytes: int = 0,
    memory: Memory | None = None,
    agprs: Mapping[int, object] | np.ndarray | None = None,
    step_budget: int | None = None,
) -> State:
    """Run instructions in one wave.

    Parameters
    ----------
    lines : sequence of str or str
        Instructions and labels, one a line. ``s_endpgm`` is supplied at the end.
    arch : str
    lanes : int, optional
        Active lanes: EXEC starts with this many low bits set. A whole wave by default.
    vgprs, agprs : mapping or array, optional
        Initial values by register index: a scalar for every lane, or up to one per lane (any
        32-bit dtype). Registers start at 0.
    sgprs : mapping or sequence, optional
        Initial scalar registers; 106 is ``vcc_lo``, 124 ``m0``.
    lds_bytes : int
        LDS, zeroed.
    scratch_bytes : int
        Scratch per lane.
    memory : Memory, optional
        Global memory; none by default.
    step_budget : int, optional

    Returns
    -------
    State

    Raises
    ------
    AssemblyError, UnsupportedInstruction, MemoryFault, StepBudgetExceeded
    """
    program = _program(lines.splitlines() if isinstance(lines, str) else lines, arch)
    size = get_arch(arch).wave_size
    active = size if lanes is None else lanes
    if not 0 < active <= size:
        raise AssemblyError(f"a wave of {arch} has 1 to {size} lanes, not {active}.")
    program.kernels[_NAME] = _metadata(arch, size, lds_bytes, scratch_bytes)
    kernel = Kernel(program, _NAME, "")
    shape = GroupShape(kernel, (active, 1, 1), 0)
    launch = Launch(shape, memory or Memory(), (1, 1, 1), b"", {})
    group = launch.group(0)
    record = shape.wave_records(group.arena)[0]
    rows = record[at.WAVE_HEADER :].view(np.uint32).reshape(-1, size)
    scalars = record[at.SCALARS : at.WAVE_HEADER].view(np.uint32)
    lds = group.arena[shape.lds_offset :][:lds_bytes]
    rows[: kernel.wave.vgprs + kernel.wave.agprs] = 0
    lds[:] = 0
    scalars[:EXEC] = 0
    _fill(rows, vgprs)
    _fill(rows[kernel.wave.vgprs :], agprs)
    pairs = sgprs.items() if isinstance(sgprs, Mapping) else enumerate(sgprs or ())
    for index, value in pairs:
        scalars[index] = int(value) & 0xFFFFFFFF
    run_one(launch, group, config.step_budget if step_budget is None else step_budget)
    mask = (1 << size) - 1
    wide = scalars.view(np.uint64)
    return State(
        rows[: kernel.wave.vgprs].copy(),
        rows[kernel.wave.vgprs :][: kernel.wave.agprs].copy(),
        scalars[:106].copy(),
        int(record[at.SCC : at.SCC + 4].view(np.int32)[0]),
        int(wide[VCC // 2]) & mask,
        int(wide[EXEC // 2]) & mask,
        int(scalars[M0]),
        lds.copy(),
        group.steps,
    )


def _fill(rows: np.ndarray, values: Mapping[int, object] | np.ndarray | None) -> None:
    pairs = (
        values.items()
        if isinstance(values, Mapping)
        else enumerate(() if values is None else values)
    )
    for index, value in pairs:
        if isinstance(value, (int, np.integer)):
            rows[index] = int(value) & 0xFFFFFFFF
            continue
        lanes = np.atleast_1d(np.asarray(value))
        if lanes.dtype.itemsize != 4:
            lanes = lanes.astype(np.float32 if lanes.dtype.kind == "f" else np.int64)
            lanes = lanes if lanes.dtype.kind == "f" else (lanes & 0xFFFFFFFF).astype(np.uint32)
        row = np.ascontiguousarray(lanes).view(np.uint32)
        rows[index, : len(row)] = row


def _program(lines: Sequence[str], arch: str) -> Program:
    program = Program(get_arch(arch).name)
    for number, raw in enumerate([*lines, "s_endpgm"], 1):
        line = strip_comment(raw)
        if line.endswith(":") and " " not in line:
            program.labels[line[:-1]] = len(program.instructions)
        elif line:
            mnemonic, _, rest = line.replace("\t", " ").partition(" ")
            program.instructions.append(decode(mnemonic, rest.strip(), program.arch, line=number))
    program.labels[_NAME] = 0
    return program


def _metadata(arch: str, wave_size: int, lds_bytes: int, scratch_bytes: int) -> KernelMetadata:
    agprs = 256 if get_arch(arch).has("agpr") else 0
    return KernelMetadata(
        name=_NAME, arch=arch, args=(), kernarg_size=0, lds_bytes=lds_bytes,
        scratch_bytes=scratch_bytes,
        wave_size=wave_size, vgpr_count=256 + agprs, agpr_count=agprs, sgpr_count=106,
        vgpr_spills=0, sgpr_spills=0, max_block=wave_size,
        descriptor={
            "next_free_vgpr": 256 + agprs, "accum_offset": 256, "float_denorm_mode_32": 3,
            "system_sgpr_workgroup_id_x": 0,
        },
    )  # fmt: skip
