"""Branches, waits, barriers and other instructions that steer a wave."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pipedsl.core.errors import UnsupportedInstruction
from pipedsl.isa.opcode import ALL, GFX9, GFX11, GFX12, RDNA, TABLE, Unit

# Statuses that a wave leaves the core with (see the simulator's layout).
_AT_BARRIER, _DONE, _YIELDED = 1, 2, 4


def _row(names: str, signature: str, meaning: Callable[..., Any], unit: Unit, **more: Any) -> None:
    TABLE.add(names, signature, meaning, unit=unit, style="machine", **more)


def _end(m: Any, ins: Any) -> None:
    m.leave(_DONE)


def _jump(m: Any, ins: Any) -> None:
    m.branch_if(None)


_row("s_endpgm", "", _end, Unit.BRANCH, flow="end")
_row("s_branch", "= label", _jump, Unit.BRANCH, flow="jump")


def _conditional(test: Callable[[Any], Any]) -> Callable[[Any, Any], None]:
    def meaning(m: Any, ins: Any) -> None:
        m.branch_if(test(m))

    return meaning


_CONDITIONS: dict[str, tuple[str, Callable[[Any], Any]]] = {
    "scc0": ("scc", lambda m: m.s.not_(m.read_scc())),
    "scc1": ("scc", lambda m: m.read_scc()),
    "vccz": ("vcc", lambda m: m.s.ucmp("==", m.read_vcc(), 0)),
    "vccnz": ("vcc", lambda m: m.s.ucmp("!=", m.read_vcc(), 0)),
    "execz": ("exec", lambda m: m.s.ucmp("==", m.read_exec(), 0)),
    "execnz": ("exec", lambda m: m.s.ucmp("!=", m.read_exec(), 0)),
}
for _name, (_source, _test) in _CONDITIONS.items():
    _row(
        f"s_cbranch_{_name}", f"= label, {_source}", _conditional(_test), Unit.BRANCH, flow="branch"
    )


def _getpc(m: Any, ins: Any) -> None:
    m.write_scalar(ins.dsts[0][1], m.s.const("u64", m.next_address))


def _setpc(m: Any, ins: Any) -> None:
    m.jump_indirect(m.read_scalar(ins.srcs[0][1], 64))


def _swappc(m: Any, ins: Any) -> None:
    target = m.read_scalar(ins.srcs[0][1], 64)
    m.write_scalar(ins.dsts[0][1], m.s.const("u64", m.next_address))
    m.jump_indirect(target)


def _call(m: Any, ins: Any) -> None:
    m.write_scalar(ins.dsts[0][1], m.s.const("u64", m.next_address))
    m.branch_if(None)


_row("s_call_b64", "s:b64 = label", _call, Unit.BRANCH, flow="branch")
_row("s_getpc_b64", "s:b64 =", _getpc, Unit.SALU)
_row("s_setpc_b64", "= s:b64", _setpc, Unit.BRANCH, flow="indirect")
_row("s_swappc_b64", "s:b64 = s:b64", _swappc, Unit.BRANCH, flow="indirect")


def _nothing(m: Any, ins: Any) -> None:
    """No effect on the state that a program can see."""


for _name, _archs in {
    "s_nop": ALL, "s_sethalt": ALL, "s_setprio": ALL, "s_icache_inv": GFX9, "s_ttracedata": ALL,
    "s_inst_prefetch": GFX11, "s_set_inst_prefetch_distance": GFX11, "s_clause": RDNA,
    "s_delay_alu": RDNA, "s_sendmsg": ALL, "s_code_end": RDNA, "s_wait_alu": GFX12, "s_waitcnt_depctr": GFX11, "s_wait_idle": RDNA,
    "s_wait_event": RDNA, "s_version": RDNA, "s_dcache_inv": ALL, "s_dcache_wb": GFX9,
    "s_dcache_inv_vol": GFX9, "s_dcache_wb_vol": GFX9, "s_atc_probe": ALL,
    "s_atc_probe_buffer": ALL, "s_buffer_prefetch_data": GFX12, "s_prefetch_data_pc_rel": GFX12,
    "s_gl1_inv": GFX11, "s_prefetch_inst": GFX12, "s_prefetch_data": GFX12, "s_prefetch_inst_pc_rel": GFX12,
}.items():  # fmt: skip
    _row(_name, "= text", _nothing, Unit.INTERNAL, archs=_archs)

# Waits: with results committed at issue there is nothing left to wait for. What a counter proves
# is stated by `counters`, for the checked mode and the checker.
_row(
    "s_waitcnt",
    "= text",
    _nothing,
    Unit.WAIT,
    archs=GFX9 + GFX11,
    counters=("vmcnt", "lgkmcnt", "expcnt"),
)
for _name, _archs, _counters in (
    ("s_waitcnt_vscnt", GFX11, ("vscnt",)),
    ("s_waitcnt_vmcnt", GFX11, ("vmcnt",)),
    ("s_waitcnt_lgkmcnt", GFX11, ("lgkmcnt",)),
    ("s_waitcnt_expcnt", GFX11, ("expcnt",)),
    ("s_wait_loadcnt", GFX12, ("loadcnt",)),
    ("s_wait_storecnt", GFX12, ("storecnt",)),
    ("s_wait_samplecnt", GFX12, ("samplecnt",)),
    ("s_wait_bvhcnt", GFX12, ("bvhcnt",)),
    ("s_wait_dscnt", GFX12, ("dscnt",)),
    ("s_wait_kmcnt", GFX12, ("kmcnt",)),
    ("s_wait_expcnt", GFX12, ("expcnt",)),
    ("s_wait_loadcnt_dscnt", GFX12, ("loadcnt", "dscnt")),
    ("s_wait_storecnt_dscnt", GFX12, ("storecnt", "dscnt")),
):
    _row(_name, "= text", _nothing, Unit.WAIT, archs=_archs, counters=_counters)


def _sleep(m: Any, ins: Any) -> None:
    m.suspend(_YIELDED)


_row("s_sleep", "= imm", _sleep, Unit.SYNC)
_row("s_sleep_var", "= s:u32", _sleep, Unit.SYNC, archs=GFX12)


def _barrier(m: Any, ins: Any) -> None:
    m.micro(("barrier_signal",))
    m.suspend(_AT_BARRIER)


def _barrier_signal(m: Any, ins: Any) -> None:
    m.micro(("barrier_signal",))


def _barrier_wait(m: Any, ins: Any) -> None:
    m.suspend(_AT_BARRIER)


_row("s_barrier", "", _barrier, Unit.SYNC, archs=GFX9 + GFX11)
_row("s_barrier_signal", "= imm", _barrier_signal, Unit.SYNC, archs=GFX12)
_row("s_barrier_wait", "= imm", _barrier_wait, Unit.SYNC, archs=GFX12)

_TRAP = 8


def _trap(m: Any, ins: Any) -> None:
    m.fault(_TRAP)


_row("s_trap", "= imm", _trap, Unit.BRANCH, flow="end")

# Cache control: the simulated memory has no caches, so these order nothing that is not in order.
for _name, _archs in {
    "buffer_wbl2": GFX9, "buffer_inv": GFX9, "buffer_wbinvl1": GFX9, "buffer_wbinvl1_vol": GFX9,
    "buffer_invl2": GFX9, "buffer_gl0_inv": GFX11, "buffer_gl1_inv": GFX11, "global_inv": GFX12,
    "global_wb": GFX12, "global_wbinv": GFX12,
}.items():  # fmt: skip
    _row(_name, "= text", _nothing, Unit.BUFFER, archs=_archs, cache=True)


def _memtime(m: Any, ins: Any) -> None:
    m.write_scalar(ins.dsts[0][1], m.clock())


_REALTIME = ("MSG_RTN_GET_REALTIME", "0x83", "131")  # RDNA3 ISA, s_sendmsg_rtn


def _sendmsg_rtn(m: Any, ins: Any) -> None:
    if not any(name in ins.fields.text for name in _REALTIME):
        raise UnsupportedInstruction(
            f"line {ins.line}: of the messages that return a value only the time is simulated."
        )
    m.write_scalar(ins.dsts[0][1], m.clock())


_row("s_sendmsg_rtn_b64", "s:b64 = imm", _sendmsg_rtn, Unit.SMEM, archs=RDNA)
_row("s_memtime", "s:b64 =", _memtime, Unit.SMEM, archs=GFX9)
_row("s_memrealtime", "s:b64 =", _memtime, Unit.SMEM, archs=GFX9)
