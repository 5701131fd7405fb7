"""Line tables: which user line each instruction comes from."""

from __future__ import annotations

from typing import Any

from llvmlite import ir


class LineTable:
    """Debug metadata of one module: files, functions and lines, no variables.

    Parameters
    ----------
    module : llvmlite.ir.Module
    filename : str
        File of the kernel.
    """

    def __init__(self, module: ir.Module, filename: str) -> None:
        self._module = module
        self.filenames: set[str] = set()
        self._unit = module.add_debug_info(
            "DICompileUnit",
            {
                "language": ir.DIToken("DW_LANG_Python"),
                "file": self._file(filename),
                "producer": "pipedsl",
                "runtimeVersion": 0,
                "isOptimized": True,
                "emissionKind": ir.DIToken("LineTablesOnly"),
            },
            is_distinct=True,
        )
        module.add_named_metadata("llvm.dbg.cu").add(self._unit)
        self._type = module.add_debug_info("DISubroutineType", {"types": module.add_metadata([])})

    def _file(self, filename: str) -> Any:
        self.filenames.add(filename)
        return self._module.add_debug_info("DIFile", {"filename": filename, "directory": ""})

    def scope(self, filename: str, name: str, line: int) -> Any:
        """The function `name`, defined at `line`."""
        return self._module.add_debug_info(
            "DISubprogram",
            {
                "name": name,
                "file": self._file(filename),
                "line": line,
                "scopeLine": line,
                "type": self._type,
                "unit": self._unit,
                "spFlags": ir.DIToken("DISPFlagDefinition | DISPFlagOptimized"),
            },
            is_distinct=True,
        )

    def location(self, scope: Any, line: int, called_from: Any = None) -> Any:
        """A line of `scope`; `called_from` is the location of the call that was expanded."""
        fields = {"line": line, "column": 1, "scope": scope}
        if called_from is not None:
            fields["inlinedAt"] = called_from
        return self._module.add_debug_info("DILocation", fields, is_distinct=True)
