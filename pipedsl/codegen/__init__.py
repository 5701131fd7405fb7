"""LLVM IR to assembly and hsaco."""

from pipedsl.codegen.llvm import Lowered, compile_ir, start_worker

__all__ = ["Lowered", "compile_ir", "start_worker"]
