"""Figures that a few instructions show with the clock of the machine they run on."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from probe_kernel import Bench

_REPEATS = 64


def figure(bench: Bench, probe: str) -> float:
    """The figure of a probe such as ``"chain v_fma_f32"``, in modelled cycles."""
    name, *parameters = probe.split()
    return PROBES[name](bench, *parameters)


def _lines(items: Sequence[str]) -> str:
    return "\n".join(items)


def _chain(bench: Bench, op: str) -> float:
    return bench.cycles(_lines([f"{op} v2, v2, v2, v2"] * _REPEATS)) / _REPEATS


_OPERANDS = {"v_fma_f32": "v{0}, v{1}, v{1}, v{1}", "v_exp_f32": "v{0}, v{1}", "v_rcp_f32": "v{0}, v{1}",
             "v_add_f32": "v{0}, v{1}, v{1}", "v_pk_add_f32": "v[{0}:{2}], v[{1}:{3}], v[{1}:{3}]"}  # fmt: skip


def _independent(op: str, place: int) -> str:
    first = 64 + 4 * (place % 8)
    return f"{op} " + _OPERANDS[op].format(first, first + 2, first + 1, first + 3)


def _per_item(bench: Bench, body: Callable[[int], str], **options: object) -> float:
    """Cycles of one more item, from runs of two lengths."""
    short, long = (
        bench.cycles(_lines([body(i) for i in range(n)]), **options)  # type: ignore[arg-type]
        for n in (_REPEATS, 2 * _REPEATS)
    )
    return (long - short) / _REPEATS


def _stream(bench: Bench, op: str) -> float:
    return _per_item(bench, lambda i: _independent(op, i))


def _matrix_text(op: str, accumulator: int, narrow: bool = False) -> str:
    """`narrow`: with inputs of 4 bits, where the instruction leaves that open."""
    first = 128 + 32 * accumulator
    rows, kind = op.split("_")[3].split("x", maxsplit=1)[0], op.rsplit("_", 1)[1]
    result = {"32": 16, "16": 4, "4": 1}[rows] * (2 if kind == "f64" else 1)
    if kind == "f8f6f4":
        size = 4 if narrow else 8
    elif kind in ("f64", "fp8", "xf32"):
        size = 2
    else:
        deep = op.split("_")[3] in ("16x16x32", "32x32x16")
        size = 1 if kind == "f32" else (4 if deep else 2)
    a, b = f"v[4:{3 + size}]" if size > 1 else "v4", f"v[12:{11 + size}]" if size > 1 else "v12"
    d = f"v[{first}:{first + result - 1}]"
    return f"{op} {d}, {a}, {b}, {d}" + (" cbsz:4 blgp:4" if narrow else "")


def _matrix(bench: Bench, op: str, streams: str, narrow: str = "") -> float:
    body = [_matrix_text(op, i % int(streams), bool(narrow)) for i in range(_REPEATS)]
    return bench.cycles(_lines(body)) / _REPEATS


def _matrix_loop(bench: Bench, op: str, streams: str) -> float:
    """A counted loop, unrolled by 8 as LLVM does it."""
    count, rounds = 8 * int(streams), 16
    body = _loop([_matrix_text(op, i % int(streams)) for i in range(count)], rounds)
    return bench.cycles(body) / (rounds * count)


def _loop(body: Sequence[str], rounds: int) -> str:
    step = ["s_add_u32 s14, s14, 1", f"s_cmp_lt_u32 s14, {rounds}", "s_cbranch_scc1 .Lnext"]
    return _lines(["s_mov_b32 s14, 0", ".Lnext:", *body, *step])


def _shadow(bench: Bench, op: str, count: str, matrix: str = "v_mfma_f32_16x16x16_bf16") -> float:
    def group(place: int) -> str:
        others = [_independent(op, place * int(count) + i) for i in range(int(count))]
        return _lines([_matrix_text(matrix, place % 4), *others])

    return _per_item(bench, group)


def _clock(bench: Bench) -> float:
    return bench.cycles("")


def _sleep(bench: Bench, units: str) -> float:
    return bench.cycles(f"s_sleep {units}") - _clock(bench)


def _lds_place(form: str, stride: str = "1") -> str:
    """A lane's place: `stride` elements of the instruction's width apart."""
    scale = int(stride) * int(form[1:]) // 8
    return f"v_mul_lo_u32 v1, v0, {scale}"


def _lds_read(form: str, place: int) -> str:
    dwords = int(form[1:]) // 32
    target = (
        f"v[{64 + 4 * place}:{63 + 4 * place + dwords}]" if dwords > 1 else f"v{64 + 4 * place}"
    )
    return f"ds_read_{form} {target}, v1 offset:{place * 64 * 4 * dwords}"


def _lds_reads(bench: Bench, form: str, stride: str, count: int, waves: int = 1) -> int:
    reads = [_lds_read(form, i) for i in range(count)]
    return bench.cycles(
        _lines([*reads, "s_waitcnt lgkmcnt(0)"]), prepare=_lds_place(form, stride), waves=waves
    )


def _lds_latency(bench: Bench, form: str, stride: str) -> float:
    return _lds_reads(bench, form, stride, 1)


def _lds_throughput(bench: Bench, form: str, stride: str) -> float:
    """As its source computes it: ten more reads in front of the wait."""
    return (_lds_reads(bench, form, stride, 11) - _lds_reads(bench, form, stride, 1)) / 10


def _lds_pair(bench: Bench, form: str) -> float:
    """Waves on both SIMD pairs read at once; cycles per read of the CU."""
    return (_lds_reads(bench, form, "1", 11, 4) - _lds_reads(bench, form, "1", 1, 4)) / 40


def _lds_store(bench: Bench, form: str) -> float:
    last = 63 + int(form[1:]) // 32
    data = f"v[64:{last}]" if last > 64 else "v64"
    return _per_item(bench, lambda i: f"ds_write_{form} v1, {data}", prepare=_lds_place(form))


def _gather(bench: Bench, streams: str) -> float:
    """A loop of index = table[index], the shift that makes an address included."""
    count, rounds = int(streams), 32
    shifts = [f"v_lshlrev_b32 v{32 + i}, 2, v{16 + i}" for i in range(count)]
    reads = [f"ds_read_b32 v{48 + i}, v{32 + i}" for i in range(count)]
    ends = [
        f"s_waitcnt lgkmcnt({count - 1 - i})\nv_mov_b32 v{16 + i}, v{48 + i}" for i in range(count)
    ]
    body = _lines([
        "s_mov_b32 s14, 0", ".Lnext:", *shifts, *reads, "s_add_u32 s14, s14, 1",
        f"s_cmp_lt_u32 s14, {rounds}", *ends, "s_cbranch_scc1 .Lnext",
    ])  # fmt: skip
    table = [
        "v_lshlrev_b32 v1, 2, v0", "v_mov_b32 v2, 0", "ds_write_b32 v1, v2",
        *(f"v_mov_b32 v{16 + i}, 0" for i in range(count)), "s_waitcnt lgkmcnt(0)",
    ]  # fmt: skip
    return bench.cycles(body, prepare=_lines(table)) / (rounds * count)


def _global_loads(bench: Bench, count: int) -> int:
    loads = [
        f"global_load_dwordx4 v[{64 + 4 * i}:{67 + 4 * i}], v{32 + i}, s[12:13]"
        for i in range(count)
    ]
    places = [
        f"v_lshlrev_b32 v{32 + i}, 4, v0\nv_add_u32 v{32 + i}, {1024 * i}, v{32 + i}"
        for i in range(count)
    ]
    return bench.cycles(_lines([*loads, "s_waitcnt vmcnt(0)"]), prepare=_lines(places))


def _global_latency(bench: Bench) -> float:
    return _global_loads(bench, 1)


def _global_throughput(bench: Bench) -> float:
    return (_global_loads(bench, 11) - _global_loads(bench, 1)) / 10


PROBES: dict[str, Callable[..., float]] = {
    "chain": _chain, "stream": _stream, "matrix": _matrix, "matrix_loop": _matrix_loop,
    "shadow": _shadow, "clock": _clock, "sleep": _sleep,
    "lds_latency": _lds_latency, "lds_throughput": _lds_throughput, "lds_pair": _lds_pair,
    "lds_store": _lds_store, "gather": _gather, "global_latency": _global_latency,
    "global_throughput": _global_throughput,
}  # fmt: skip
