"""Random LLVM IR programs, run on the host and, compiled for AMD, on the simulator.

    python tests/sim/differential.py --programs 2000 --seed 1

Each program reads a few words per lane, computes, branches per lane, loops, and stores words. Both
results must be equal bit for bit. A mismatch prints its seed; ``--show SEED`` prints the program.

``0.0 - x`` is left out: LLVM 22's AMDGPU backend makes ``-x`` of it where a multiplication follows,
which has the wrong sign for zeros (seed 1044 of the programs with it).
"""

from __future__ import annotations

import argparse
import ctypes
import random
import sys
import time
from collections.abc import Sequence

import llvmlite.binding as llvm
import numpy as np

from pipedsl import sim
from pipedsl.codegen import compile_ir
from pipedsl.core.arch import ARCHS

LANES = 64
WORDS_IN, WORDS_OUT = 8, 12

_INT_OPS = ("add", "sub", "mul", "and", "or", "xor")
_COMPARE = ("eq", "ne", "ugt", "uge", "ult", "ule", "sgt", "sge", "slt", "sle")
_FCOMPARE = (
    "oeq",
    "one",
    "ogt",
    "oge",
    "olt",
    "ole",
    "ueq",
    "une",
    "ugt",
    "uge",
    "ult",
    "ule",
    "ord",
    "uno",
)
_BITS = {"i8": 8, "i16": 16, "i32": 32, "i64": 64, "half": 16, "float": 32, "double": 64}
_INTS = ("i8", "i16", "i32", "i64")
_FLOATS = ("half", "float", "double")
_SUFFIX = {"half": "f16", "float": "f32", "double": "f64"}
_NAN = {"half": 0x7E00, "float": 0x7FC00000, "double": 0x7FF8000000000000}


class Writer:
    """Writes one random program as the body of ``void @NAME(ptr in, ptr out, i32 tid)``."""

    def __init__(self, seed: int, space: str) -> None:
        self.random = random.Random(seed)
        self.space = space
        self.lines: list[str] = []
        self.intrinsics: set[str] = set()
        self.pools: dict[str, list[str]] = {kind: [] for kind in (*_INTS, *_FLOATS, "i1")}
        self.count = 0
        self.blocks = 0
        self.block = "entry"

    def new(self, text: str, kind: str) -> str:
        self.count += 1
        name = f"%v{self.count}"
        self.lines.append(f"  {name} = {text}")
        self.pools[kind].append(name)
        return name

    def hidden(self, text: str) -> str:
        """A value that later steps do not draw from."""
        self.count += 1
        self.lines.append(f"  %v{self.count} = {text}")
        return f"%v{self.count}"

    def pick(self, kind: str) -> str:
        pool = self.pools[kind]
        if not pool or (kind != "i1" and self.random.random() < 0.15):
            return self.constant(kind)
        recent = pool[-6:] if self.random.random() < 0.6 else pool
        return self.random.choice(recent)

    def constant(self, kind: str) -> str:
        r = self.random
        if kind == "i1":
            return r.choice(("true", "false"))
        if kind in _INTS:
            bits = _BITS[kind]
            value = r.choice((0, 1, -1, 1 << (bits - 1), r.getrandbits(bits), r.randrange(64)))
            value &= (1 << bits) - 1
            return str(value - (1 << bits) if value >> (bits - 1) else value)
        return {"half": "0xH{:04X}", "float": "{}", "double": "{}"}[kind].format(
            r.choice((0x3C00, 0xC000, 0x0001, 0x7BFF, 0x3555))
            if kind == "half"
            else r.choice(("1.0", "-2.5", "0.0", "-0.0", "1.0e+10", "3.0e-3", "65504.0"))
            if kind == "double"
            else r.choice(
                ("1.0", "-2.5", "0.0", "-0.0", "1.0e+10", "0x3F50624DE0000000", "65504.0")
            )
        )

    def call(self, name: str, kind: str, *args: str) -> str:
        kinds = ", ".join(arg.split()[0] for arg in args)
        self.intrinsics.add(f"declare {kind} @{name}({kinds})")
        return f"call {kind} @{name}({', '.join(args)})"

    # one step
    def step(self) -> None:
        r = self.random
        choice = r.random()
        if choice < 0.4:
            self.integer(r.choice(_INTS) if r.random() < 0.5 else "i32")
        elif choice < 0.65:
            self.floating(r.choice(_FLOATS) if r.random() < 0.5 else "float")
        elif choice < 0.85:
            self.conversion()
        elif choice < 0.93:
            kind = r.choice((*_INTS, *_FLOATS))
            self.new(
                f"select i1 {self.condition()}, {kind} {self.pick(kind)}, {kind} {self.pick(kind)}",
                kind,
            )
        else:
            self.load()

    def integer(self, kind: str) -> None:
        r, bits = self.random, _BITS[kind]
        x, y = self.pick(kind), self.pick(kind)
        choice = r.random()
        if choice < 0.5:
            self.new(f"{r.choice(_INT_OPS)} {kind} {x}, {y}", kind)
        elif choice < 0.68:
            amount = self.hidden(f"and {kind} {y}, {bits - 1}")
            self.new(f"{r.choice(('shl', 'lshr', 'ashr'))} {kind} {x}, {amount}", kind)
        elif choice < 0.76 and kind in ("i32", "i64"):
            low = self.hidden(f"and {kind} {y}, 1023")
            divisor = self.hidden(f"or {kind} {low}, 1")
            self.new(f"{r.choice(('udiv', 'sdiv', 'urem', 'srem'))} {kind} {x}, {divisor}", kind)
        elif choice < 0.9:
            name = r.choice(("umin", "umax", "smin", "smax", "uadd.sat", "ssub.sat", "fshl"))
            args = [f"{kind} {x}", f"{kind} {y}"] + (
                [f"{kind} {self.pick(kind)}"] if name == "fshl" else []
            )
            self.new(self.call(f"llvm.{name}.{kind}", kind, *args), kind)
        else:
            name = r.choice(
                ("ctpop", "bitreverse", "ctlz", "cttz", *(("bswap",) if bits > 8 else ()))
            )
            extra = ["i1 false"] if name in ("ctlz", "cttz") else []
            self.new(self.call(f"llvm.{name}.{kind}", kind, f"{kind} {x}", *extra), kind)

    def floating(self, kind: str) -> None:
        r = self.random
        x, y = self.pick(kind), self.pick(kind)
        choice = r.random()
        if choice < 0.6:
            operation = r.choice(("fadd", "fsub", "fmul"))
            if operation == "fsub" and x == "0.0":
                x = "-0.0"  # LLVM 22 negates for AMDGPU where it should subtract from +0
            self.new(f"{operation} {kind} {x}, {y}", kind)
        elif choice < 0.7:
            self.new(f"fdiv {kind} {x}, {y}", kind)
        elif choice < 0.8 and kind != "half":
            z = self.pick(kind)
            name = f"llvm.fma.{_SUFFIX[kind]}"
            self.new(self.call(name, kind, *(f"{kind} {v}" for v in (x, y, z))), kind)
        else:
            name = r.choice(("fabs", "floor", "ceil", "trunc", "rint", "sqrt"))
            self.new(self.call(f"llvm.{name}.{_SUFFIX[kind]}", kind, f"{kind} {x}"), kind)

    def condition(self) -> str:
        r = self.random
        if r.random() < 0.6:
            kind = r.choice(_INTS)
            return self.new(
                f"icmp {r.choice(_COMPARE)} {kind} {self.pick(kind)}, {self.pick(kind)}", "i1"
            )
        kind = r.choice(_FLOATS)
        return self.new(
            f"fcmp {r.choice(_FCOMPARE)} {kind} {self.pick(kind)}, {self.pick(kind)}", "i1"
        )

    def conversion(self) -> None:
        r = self.random
        source, target = r.choice((*_INTS, *_FLOATS)), r.choice((*_INTS, *_FLOATS))
        x = self.pick(source)
        if source == target or {source, target} == {"half", "double"}:
            return  # no host instruction rounds a double to half once
        wider = _BITS[target] > _BITS[source]
        if source in _INTS and target in _INTS:
            op = r.choice(("zext", "sext")) if wider else "trunc"
            self.new(f"{op} {source} {x} to {target}", target)
        elif source in _FLOATS and target in _FLOATS:
            self.new(f"{'fpext' if wider else 'fptrunc'} {source} {x} to {target}", target)
        elif source in _INTS:
            self.new(f"{r.choice(('sitofp', 'uitofp'))} {source} {x} to {target}", target)
        elif _BITS[source] == _BITS[target] and r.random() < 0.5:
            self.bits(source, x)
        else:
            sign = r.choice("su")
            name = f"llvm.fpto{sign}i.sat.{target}.{_SUFFIX[source]}"
            self.new(self.call(name, target, f"{source} {x}"), target)

    def bits(self, kind: str, x: str) -> str:
        """The bits of a float, with one pattern for every NaN."""
        target = f"i{_BITS[kind]}"
        nan = self.hidden(f"fcmp uno {kind} {x}, {x}")
        raw = self.hidden(f"bitcast {kind} {x} to {target}")
        return self.new(f"select i1 {nan}, {target} {_NAN[kind]}, {target} {raw}", target)

    def load(self) -> None:
        index = self.hidden(f"and i32 {self.pick('i32')}, {LANES * WORDS_IN - 1}")
        wide = self.hidden(f"zext i32 {index} to i64")
        pointer = self.hidden(f"getelementptr i32, {self.space} %in, i64 {wide}")
        self.new(f"load i32, {self.space} {pointer}, align 4", "i32")

    # structure
    def label(self) -> str:
        self.blocks += 1
        return f"b{self.blocks}"

    def start(self, label: str) -> None:
        self.lines.append(f"{label}:")
        self.block = label

    def sizes(self) -> dict[str, int]:
        return {kind: len(pool) for kind, pool in self.pools.items()}

    def cut(self, sizes: dict[str, int]) -> None:
        """Forget what does not dominate the code that follows."""
        for kind, size in sizes.items():
            del self.pools[kind][size:]

    def branch(self, depth: int) -> None:
        yes, no, join = self.label(), self.label(), self.label()
        self.lines.append(f"  br i1 {self.condition()}, label %{yes}, label %{no}")
        kinds = [self.random.choice((*_INTS, *_FLOATS)) for _ in range(2)]
        incoming: list[list[tuple[str, str]]] = []
        before = self.sizes()
        for label in (yes, no):
            self.start(label)
            self.body(self.random.randint(1, 5), depth + 1)
            values = [self.pick(kind) for kind in kinds]
            incoming.append([(value, self.block) for value in values])
            self.lines.append(f"  br label %{join}")
            self.cut(before)
        self.start(join)
        for place, kind in enumerate(kinds):
            (a, from_a), (b, from_b) = (side[place] for side in incoming)
            self.new(f"phi {kind} [ {a}, %{from_a} ], [ {b}, %{from_b} ]", kind)

    def loop(self, depth: int) -> None:
        head, body, done = self.label(), self.label(), self.label()
        trips = self.hidden(f"and i32 {self.pick('i32')}, 7")
        kind = self.random.choice((*_INTS, *_FLOATS))
        initial, entered = self.pick(kind), self.block
        self.lines.append(f"  br label %{head}")
        self.start(head)
        self.count += 2
        counter, carried = f"%v{self.count - 1}", f"%v{self.count}"
        place = len(self.lines)
        self.lines += ["", ""]
        before = self.sizes()
        self.pools[kind].append(carried)
        test = self.hidden(f"icmp ult i32 {counter}, {trips}")
        self.lines.append(f"  br i1 {test}, label %{body}, label %{done}")
        self.start(body)
        self.body(self.random.randint(1, 5), depth + 1)
        following = self.hidden(f"add i32 {counter}, 1")
        value = self.pick(kind)
        self.lines.append(f"  br label %{head}")
        self.lines[place] = (
            f"  {counter} = phi i32 [ 0, %{entered} ], [ {following}, %{self.block} ]"
        )
        self.lines[place + 1] = (
            f"  {carried} = phi {kind} [ {initial}, %{entered} ], [ {value}, %{self.block} ]"
        )
        self.cut(before)
        self.start(done)
        self.pools[kind].append(carried)

    def body(self, steps: int, depth: int) -> None:
        for _ in range(steps):
            choice = self.random.random()
            if depth < 3 and choice < 0.12:
                self.branch(depth)
            elif depth < 2 and choice < 0.18:
                self.loop(depth)
            else:
                self.step()

    def program(self) -> None:
        base = self.hidden(f"mul i32 %tid, {WORDS_IN}")
        for word in range(WORDS_IN):
            index = self.hidden(f"add i32 {base}, {word}")
            wide = self.hidden(f"zext i32 {index} to i64")
            pointer = self.hidden(f"getelementptr i32, {self.space} %in, i64 {wide}")
            value = self.new(f"load i32, {self.space} {pointer}, align 4", "i32")
            if word < 2:
                self.new(f"bitcast i32 {value} to float", "float")
        self.body(self.random.randint(15, 40), 0)
        for word in range(WORDS_OUT):
            self.store(word)

    def store(self, word: int) -> None:
        kind = self.random.choice((*_INTS, *_FLOATS))
        value = self.pick(kind)
        if kind in _FLOATS:
            value, kind = self.bits(kind, value), f"i{_BITS[kind]}"
        if kind == "i64":
            high = self.hidden(f"lshr i64 {value}, 32")
            mixed = self.hidden(f"xor i64 {value}, {high}")
            value = self.hidden(f"trunc i64 {mixed} to i32")
        elif kind != "i32":
            value = self.hidden(f"zext {kind} {value} to i32")
        base = self.hidden(f"mul i32 %tid, {WORDS_OUT}")
        index = self.hidden(f"add i32 {base}, {word}")
        wide = self.hidden(f"zext i32 {index} to i64")
        pointer = self.hidden(f"getelementptr i32, {self.space} %out, i64 {wide}")
        self.lines.append(f"  store i32 {value}, {self.space} {pointer}, align 4")


def text(seeds: Sequence[int], host: bool) -> str:
    """A module with one function per seed."""
    space = "ptr" if host else "ptr addrspace(1)"
    functions, intrinsics = [], set()
    for seed in seeds:
        writer = Writer(seed, space)
        writer.program()
        intrinsics |= writer.intrinsics
        body = "\n".join(writer.lines)
        if host:
            head = f"define void @k{seed}(ptr %in, ptr %out, i32 %tid) {{\nentry:\n"
        else:
            head = (
                f"define amdgpu_kernel void @k{seed}(ptr addrspace(1) %in, ptr addrspace(1) %out) #0 {{\n"
                "entry:\n  %tid = call i32 @llvm.amdgcn.workitem.id.x()\n"
            )
        functions.append(f"{head}{body}\n  ret void\n}}\n")
    if not host:
        intrinsics.add("declare i32 @llvm.amdgcn.workitem.id.x()")
    tail = "" if host else (
        f'attributes #0 = {{ "amdgpu-flat-work-group-size"="{LANES},{LANES}" }}\n'
        "!llvm.module.flags = !{!0}\n!0 = !{i32 1, !\"amdhsa_code_object_version\", i32 500}\n"
    )  # fmt: skip
    return "\n".join([*functions, *sorted(intrinsics), tail])


def inputs(seed: int) -> np.ndarray:
    """Words of every kind: random bits, small ints, floats."""
    rng = np.random.default_rng(seed)
    words = rng.integers(0, 1 << 32, LANES * WORDS_IN, dtype=np.uint32)
    words[::3] = rng.integers(0, 100, len(words[::3]))
    words[1::4] = rng.normal(scale=100, size=len(words[1::4])).astype(np.float32).view(np.uint32)
    return words


def run_host(seeds: Sequence[int]) -> list[np.ndarray]:
    """What the programs compute on this machine."""
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    module = llvm.parse_assembly(text(seeds, host=True))
    module.verify()
    machine = llvm.Target.from_default_triple().create_target_machine(
        cpu=llvm.get_host_cpu_name(),
        features=llvm.get_host_cpu_features().flatten(),
        opt=1,
        jit=True,
    )
    engine = llvm.create_mcjit_compiler(module, machine)
    engine.finalize_object()
    results = []
    for seed in seeds:
        kind = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int)
        function = kind(engine.get_function_address(f"k{seed}"))
        data, out = inputs(seed), np.zeros(LANES * WORDS_OUT, np.uint32)
        for lane in range(LANES):
            function(data.ctypes.data, out.ctypes.data, lane)
        results.append(out)
    return results


def run_simulator(seeds: Sequence[int], arch: str) -> list[np.ndarray]:
    """What the code compiled for `arch` computes on the simulator."""
    module = sim.load_assembly(compile_ir(text(seeds, host=False), arch, kernel="programs").asm)
    results = []
    for seed in seeds:
        out = np.zeros(LANES * WORDS_OUT, np.uint32)
        module.kernels[f"k{seed}"].launch(1, LANES, [inputs(seed), out])
        results.append(out)
    return results


def compare(seeds: Sequence[int], archs: Sequence[str]) -> dict[str, list[int]]:
    """Seeds whose results differ, by arch."""
    expected = run_host(seeds)
    wrong: dict[str, list[int]] = {}
    for arch in archs:
        found = run_simulator(seeds, arch)
        wrong[arch] = [
            seed
            for seed, want, got in zip(seeds, expected, found, strict=True)
            if not np.array_equal(want, got)
        ]
    return wrong


def main() -> int:
    """Compare many programs; 1 if any differs."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--programs", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=1, help="first seed")
    parser.add_argument("--batch", type=int, default=20)
    parser.add_argument("--arch", nargs="*", default=list(ARCHS), choices=list(ARCHS))
    parser.add_argument("--show", type=int, help="print the program of this seed and end")
    options = parser.parse_args()
    if options.show is not None:
        print(text([options.show], host=False))
        return 0
    start, total = time.perf_counter(), {arch: [] for arch in options.arch}
    for first in range(options.seed, options.seed + options.programs, options.batch):
        seeds = range(first, min(first + options.batch, options.seed + options.programs))
        for arch, seeds_wrong in compare(seeds, options.arch).items():
            total[arch] += seeds_wrong
            for seed in seeds_wrong:
                print(f"{arch}: seed {seed} differs", flush=True)
    for arch, wrong in total.items():
        print(f"{arch}: {options.programs - len(wrong)} of {options.programs} equal")
    print(f"{time.perf_counter() - start:.0f} s")
    return int(any(total.values()))


if __name__ == "__main__":
    sys.exit(main())
