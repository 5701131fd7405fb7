"""Kernels: decorated functions that are compiled for what they are called with."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Generic, NoReturn, ParamSpec, overload

from pipedsl.core.arch import Arch, get_arch
from pipedsl.core.errors import LaunchError, PipedslError
from pipedsl.core.html import Shown
from pipedsl.dispatch.arguments import argument_type, signature
from pipedsl.dispatch.callsite import caller
from pipedsl.dispatch.compiled import CompiledKernel
from pipedsl.dispatch.compiler import compile_kernel
from pipedsl.dispatch.freshness import Dependencies
from pipedsl.dispatch.geometry import Geometry, read_block, read_geometry
from pipedsl.dispatch.listing import listing_of
from pipedsl.dispatch.plan import LaunchPlan
from pipedsl.dispatch.rehearsal import Rehearsal
from pipedsl.frontend import KernelSource, Options
from pipedsl.runtime import get_device, host_or_device, is_foreign
from pipedsl.runtime.device import Dim3
from pipedsl.sim.check import check_kernel
from pipedsl.sim.timing.result import TimedRun
from pipedsl.views.listing import Listing

P = ParamSpec("P")
Extents = int | tuple[int, ...]
LaunchKey = (
    tuple[Extents, Extents] | tuple[Extents, Extents, Any] | tuple[Extents, Extents, Any, int]
)
"""What stands in ``kernel[...]``: grid, block, stream and dynamic LDS."""


class Kernel(Shown, Generic[P]):
    """A function for the GPU; made by `pipelined_kernel`.

    ``kernel[grid, block](*args)`` compiles on demand and launches on the current device.
    ``kernel[grid, block, stream, lds_bytes]`` chooses a stream and dynamic LDS. `grid`
    (workgroups) and `block` (work-items) are ints or tuples of up to three.

    Arguments are NumPy arrays (copied to the device; those that the kernel writes come back,
    and none does if the launch raises), `DeviceArray`, NumPy scalars, and Python bool, int
    (int32 where it fits, else int64) and float (float32). Names and defaults work as in Python.
    With NumPy arrays a launch returns when the kernel is done.
    """

    def __init__(self, function: Callable[P, Any], options: Options) -> None:
        self.source = KernelSource.capture(function)
        functools.update_wrapper(self, function)
        self.name = self.source.name
        self.options = options
        self._plans = _Plans(function)

    def __getitem__(self, key: LaunchKey) -> Launcher[P]:
        return Launcher(self, read_geometry(self.name, key))

    def __call__(self, *args: Any) -> NoReturn:
        raise LaunchError(
            f"kernel {self.name!r} was called without a grid and a block.",
            fix=f"write {self.name}[grid, block]({', '.join(self.source.parameters)}).",
            where=caller(),
        )

    def compile(
        self,
        *example_args: Any,
        arch: str | Arch | None = None,
        block: Any = None,
        **named_args: Any,
    ) -> CompiledKernel:
        """Compile without running, on any machine.

        Parameters
        ----------
        *example_args, **named_args
            Arguments of the wanted types, as for a launch; their values do not matter.
        arch : str, optional
            E.g. ``"gfx942"``; the current device's by default.
        block : int or tuple of int, optional
            Work-items of the workgroup; unknown by default.

        Returns
        -------
        CompiledKernel

        Raises
        ------
        KernelError, CompilationError
            With the kernel's source line.
        LaunchError
            For wrong arguments, with the caller's line.
        """
        try:
            extents = None if block is None else read_block(block)
            target = get_device().arch if arch is None else get_arch(arch)
            args = self.bind(example_args, named_args)
            return self.compile_for(args, target, extents)
        except PipedslError as error:
            error.where = error.where or caller()
            raise

    def launch(
        self, geometry: Geometry, args: tuple[Any, ...], named: Mapping[str, Any] | None = None
    ) -> None:
        """Launch with checked extents; what ``kernel[grid, block](*args, **named)`` calls."""
        try:
            if named or len(args) != len(self.source.parameters):
                args = self.bind(args, named or {})
            device = get_device()
            if any(map(is_foreign, args)):
                args = tuple(host_or_device(device, a) if is_foreign(a) else a for a in args)
            plans = self._plans
            if plans.names.changed():
                plans = self._plans = _Plans(self.source.function)
            key = (device, geometry.block, geometry.lds_bytes, signature(args))
            plan = plans.get(key)
            if plan is None:
                if not plans:  # a name may have been bound since the decoration
                    plans = self._plans = _Plans(self.source.function)
                image = self.compile_for(args, device.arch, geometry.block).image
                plan = plans[key] = LaunchPlan(device, image, geometry)
            plan.launch(geometry, args)
        except PipedslError as error:
            error.where = error.where or caller()
            raise

    def bind(self, args: tuple[Any, ...], named: Mapping[str, Any]) -> tuple[Any, ...]:
        """One argument per parameter, in order."""
        names = self.source.parameters
        unknown = [name for name in named if name not in names]
        if unknown:
            raise LaunchError(f"kernel {self.name!r} has no parameter {unknown[0]!r}.")
        try:
            bound = self.source.signature.bind(*args, **named)
        except TypeError as error:
            if len(args) + len(named) == len(names):
                raise LaunchError(f"kernel {self.name!r}: {error}.") from None
            listed = f" ({', '.join(names)})" if names else ""
            raise LaunchError(
                f"kernel {self.name!r} takes {len(names)} argument{'s' * (len(names) != 1)}{listed}, "
                f"not {len(args) + len(named)}."
            ) from None
        bound.apply_defaults()
        return tuple(bound.arguments.values())

    def compile_for(self, args: Sequence[Any], arch: Arch, block: Dim3 | None) -> CompiledKernel:
        """Compile for the types of `args`, one per parameter."""
        names = self.source.parameters
        types = [argument_type(name, arg) for name, arg in zip(names, args, strict=True)]
        return compile_kernel(self.source, types, arch, block, self.options)

    def __str__(self) -> str:
        return f"{self!r}\n{self.source.text.rstrip()}"

    def listing(self, *args: Any, **named: Any) -> NoReturn:
        """Raise: a listing is of a launch, or of a compiled kernel."""
        raise LaunchError(
            f"kernel {self.name!r} has no listing without a grid and a block.",
            fix=f"annotate({self.name}[grid, block], ...) or annotate({self.name}.compile(...)).",
            where=caller(),
        )

    def __repr__(self) -> str:
        return f"<Kernel {self.name}({', '.join(self.source.parameters)})>"


class _Plans(dict[tuple[Any, ...], LaunchPlan]):
    """Launch plans by device, extents and signature, good while `names` are unchanged."""

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__()
        self.names = Dependencies(function)


class Launcher(Shown, Generic[P]):
    """A kernel with the extents of a launch: ``kernel[grid, block]``; call it to launch."""

    __slots__ = ("_kernel", "geometry")

    def __init__(self, kernel: Kernel[P], geometry: Geometry) -> None:
        self._kernel = kernel
        self.geometry = geometry

    def __call__(self, *args: P.args, **named: P.kwargs) -> None:
        self._kernel.launch(self.geometry, args, named)

    def compile(
        self, args: tuple[Any, ...], named: Mapping[str, Any], arch: Arch
    ) -> tuple[tuple[Any, ...], CompiledKernel]:
        """The arguments in order, and the kernel compiled for them, this block and `arch`."""
        try:
            bound = self._kernel.bind(args, named)
            return bound, self._kernel.compile_for(bound, arch, self.geometry.block)
        except PipedslError as error:
            error.where = error.where or caller()
            raise

    def time(self, *args: Any, arch: str | Arch | None = None, **named: Any) -> TimedRun:
        """Model the time of this launch in the simulator, on copies of the arguments.

        As many workgroups run as share one compute unit; the others are taken to be alike.

        Parameters
        ----------
        *args, **named
            As for the launch.
        arch : str, optional
            E.g. ``"gfx942"``; the current device's by default.

        Returns
        -------
        TimedRun
        """
        target = get_device().arch if arch is None else get_arch(arch)
        arguments, compiled = self.compile(args, named, target)
        geometry, image = self.geometry, compiled.image
        rehearsal = Rehearsal(image, geometry, arguments)
        memory, kernarg = rehearsal.prepare()
        stats = rehearsal.kernel.run(
            memory, geometry.grid, geometry.block, kernarg, lds_bytes=geometry.lds_bytes,
            sources=image.sources, timing=True, rest=False,
        )  # fmt: skip
        assert stats.timed is not None
        return stats.timed

    def listing(self, *args: Any, arch: str | Arch | None = None, **named: Any) -> Listing:
        """Compile, time and check this launch; see `pipedsl.views.annotate`."""
        target = get_device().arch if arch is None else get_arch(arch)
        geometry = self.geometry
        run = self.time(*args, arch=target, **named)
        arguments, compiled = self.compile(args, named, target)
        rehearsal = Rehearsal(compiled.image, geometry, arguments)
        report = check_kernel(
            rehearsal.kernel, geometry.grid, geometry.block, rehearsal.prepare, [0],
            lds_bytes=geometry.lds_bytes, sources=compiled.image.sources,
        )  # fmt: skip
        return listing_of(compiled.image, run, report)

    def __str__(self) -> str:
        return repr(self)

    def __repr__(self) -> str:
        return f"<{self._kernel.name}[{self.geometry.grid}, {self.geometry.block}]>"


@overload
def pipelined_kernel(function: Callable[P, Any], /) -> Kernel[P]: ...
@overload
def pipelined_kernel(
    *,
    unchecked: bool = False,
    waves_per_eu: int | None = None,
    timeout_ms: float | None = None,
    trace: bool = False,
) -> Callable[[Callable[P, Any]], Kernel[P]]: ...


def pipelined_kernel(
    function: Callable[..., Any] | None = None,
    /,
    *,
    unchecked: bool = False,
    waves_per_eu: int | None = None,
    timeout_ms: float | None = None,
    trace: bool = False,
) -> Any:
    """Make a GPU kernel of a Python function.

    Use it bare (``@pipelined_kernel``) or with options (``@pipelined_kernel(...)``). The source
    is read now. Globals and closed-over variables are constants of a compilation; a launch that
    finds one bound to another object compiles anew.

    Parameters
    ----------
    unchecked : bool
        Leave arch limits and features to LLVM instead of checking them first.
    waves_per_eu : int, optional
        Waves per SIMD that the compiler leaves registers for.
    timeout_ms : float, optional
        Milliseconds of the device's clock after which a wait for a counter gives up. Every launch
        then waits for the kernel, and raises a `DeadlockError` that says who waited for what. The
        simulator, which proves deadlocks anyway, counts 100 instructions as a microsecond.
    trace : bool
        Note the shader clock at waits, signals and barriers, so that `pipedsl.trace` has a timeline
        on a GPU too. The notes take time themselves; without this there is no code for them.

    Returns
    -------
    Kernel

    Raises
    ------
    KernelError
        If the function's source has something that kernels do not have.
    """
    if timeout_ms is not None and not timeout_ms > 0:
        raise LaunchError(
            f"timeout_ms is {timeout_ms!r}.", fix="use a positive number.", where=caller()
        )
    options = Options(
        unchecked=unchecked, waves_per_eu=waves_per_eu, timeout_ms=timeout_ms, trace=trace
    )
    if function is None:
        return functools.partial(Kernel, options=options)
    return Kernel(function, options)
