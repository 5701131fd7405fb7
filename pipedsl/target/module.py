"""The LLVM module of one kernel: signature, attributes, declarations and LDS."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from llvmlite import ir

from pipedsl.core.arch import Arch
from pipedsl.core.errors import SourceLocation
from pipedsl.target.debuginfo import LineTable
from pipedsl.target.types import LDS

TRIPLE = "amdgcn-amd-amdhsa"
DATA_LAYOUT = (
    "e-m:e-p:64:64-p1:64:64-p2:32:32-p3:32:32-p4:64:64-p5:32:32-p6:32:32-p7:160:256:256:32"
    "-p8:128:128:128:48-p9:192:256:256:32-i64:64-v16:16-v24:32-v32:32-v48:64-v96:128-v192:256"
    "-v256:256-v512:512-v1024:1024-v2048:2048-n32:64-S32-A5-G1-ni:7:8:9"
)
"""LLVM's layout of the target: stack slots are in address space 5, globals in 1."""

_CODE_OBJECT_V5 = 500

# Inputs that the hardware or the runtime prepares; a kernel that does not ask for one keeps
# registers free and its kernarg segment small.
_INPUTS = (
    "dispatch-ptr", "queue-ptr", "dispatch-id", "implicitarg-ptr", "lds-kernel-id",
    "hostcall-ptr", "heap-ptr", "multigrid-sync-arg", "default-queue", "completion-action",
    "workgroup-id-x", "workgroup-id-y", "workgroup-id-z",
    "workitem-id-x", "workitem-id-y", "workitem-id-z",
)  # fmt: skip


class KernelModule:
    """One kernel under construction.

    Parameters
    ----------
    name : str
        Symbol of the kernel.
    filename, line
        Where the user defined it.
    arch : Arch
    block : tuple of int or None
        Workgroup size per axis, where it is known.
    parameters : sequence of (str, llvmlite.ir.Type)
        The flattened kernel arguments.

    Attributes
    ----------
    function : llvmlite.ir.Function
    debug : LineTable
    lds_bytes : int
        LDS allocated so far.
    lds_arrays : list of LdsArray
    """

    def __init__(
        self,
        name: str,
        filename: str,
        line: int,
        arch: Arch,
        block: tuple[int, int, int] | None,
        parameters: Sequence[tuple[str, ir.Type]],
    ) -> None:
        self.arch = arch
        self.block = block
        self.module = ir.Module(name, context=ir.Context())
        self.module.triple = TRIPLE
        self.module.data_layout = DATA_LAYOUT
        self.debug = LineTable(self.module, filename)
        kind = ir.FunctionType(ir.VoidType(), [ty for _, ty in parameters])
        self.function = ir.Function(self.module, kind, name)
        self.function.calling_convention = "amdgpu_kernel"
        for argument, (label, _) in zip(self.function.args, parameters, strict=True):
            argument.name = label
        self.lds_bytes = 0
        self.lds_arrays: list[LdsArray] = []
        self._inputs: set[str] = set()
        self._flag("amdhsa_code_object_version", _CODE_OBJECT_V5, behavior=1)
        self._flag("Debug Info Version", 3, behavior=2)

    def _flag(self, name: str, value: int, behavior: int) -> None:
        i32 = ir.IntType(32)
        flag = self.module.add_metadata([ir.Constant(i32, behavior), name, ir.Constant(i32, value)])
        self.module.add_named_metadata("llvm.module.flags").add(flag)

    def argument(self, name: str) -> ir.Value:
        """The kernel argument `name`."""
        return next(argument for argument in self.function.args if argument.name == name)

    def declare(self, name: str, result: ir.Type, args: Sequence[ir.Type]) -> ir.Function:
        """The LLVM intrinsic `name`."""
        found = self.module.globals.get(name)
        if found is None:
            found = ir.Function(self.module, ir.FunctionType(result, list(args)), name)
        return found

    def scopes(self, *names: str) -> ir.MDValue:
        """LLVM's list of alias scopes, which `names` stand for in this module."""
        domain = self.module.add_metadata(["pipedsl"])
        return self.module.add_metadata(
            [self.module.add_metadata([name, domain]) for name in names]
        )

    def require(self, *inputs: str) -> None:
        """Ask for hardware or runtime inputs, e.g. ``"workgroup-id-x"``."""
        self._inputs.update(inputs)

    def allocate_lds(
        self, element: ir.Type, count: int, item_bytes: int, where: SourceLocation
    ) -> ir.GlobalVariable:
        """Reserve LDS for `count` elements; 0 stands for the launch's dynamic LDS."""
        array = ir.GlobalVariable(
            self.module,
            ir.ArrayType(element, count),
            self.module.get_unique_name("lds"),
            addrspace=LDS,
        )
        array.align = 16
        array.type = ir.PointerType(addrspace=LDS)
        if count == 0:
            array.linkage = "external"
            return array
        array.linkage = "internal"
        array.initializer = ir.Constant(array.value_type, ir.Undefined)
        self.lds_bytes = -(-self.lds_bytes // 16) * 16 + count * item_bytes
        self.lds_arrays.append(LdsArray(count, count * item_bytes, where))
        return array

    def finish(self, waves_per_eu: int | None = None) -> str:
        """The module's text, with registers left for `waves_per_eu` waves per SIMD."""
        x, y, z = self.block or (0, 0, 0)
        size = f"{x * y * z},{x * y * z}" if self.block else f"1,{self.arch.max_block}"
        attributes = {
            "amdgpu-flat-work-group-size": size,
            "uniform-work-group-size": "true",
            **({"amdgpu-waves-per-eu": f"{waves_per_eu},{waves_per_eu}"} if waves_per_eu else {}),
            **{f"amdgpu-no-{name}": "" for name in _INPUTS if name not in self._inputs},
        }
        text = " ".join(
            f'"{key}"="{value}"' if value else f'"{key}"' for key, value in attributes.items()
        )
        self.function.attributes = _Attributes(f"nounwind norecurse {text}")
        return str(self.module)


@dataclass(frozen=True)
class LdsArray:
    """One array in LDS: its elements, its bytes, and the line that makes it."""

    count: int
    nbytes: int
    where: SourceLocation


class _Attributes(ir.FunctionAttributes):
    """Function attributes as text: llvmlite's own class refuses string attributes."""

    def __init__(self, text: str) -> None:
        super().__init__()
        set.add(self, text)
