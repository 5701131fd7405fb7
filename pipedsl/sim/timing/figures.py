"""The constants of the model: issue and execution, LDS, memory, synchronisation."""

from __future__ import annotations

from pipedsl.sim.timing.constants import CDNA, CDNA3, RDNA, constant

_PROFILER = "ROCm Compute Profiler documentation, pipeline descriptions"
_LLVM = "LLVM SISchedule.td"
_TRITON = "facebookexperimental/triton, AMDLatencyModel.cpp and amd_latency.py"
_PYHIP = "tingqli/pyhip, docs/mem_latency.md (MI308X)"
_COISSUE = "tingqli/pyhip, docs/mfma-valu-coissue.md (gfx942)"
_CHIPS = "Chips and Cheese, Testing AMD's Giant MI300X"
_MIRAGE = "rocm-systems, mirage timing.rs (nanoseconds at 2.1 GHz, itself not measured)"

# fmt: off

# Issue: a SIMD of CDNA has its turn every fourth clock, one of RDNA every clock.
constant("turn", 4, "cycles", "published", f"{_PROFILER}: scheduler", CDNA)
constant("turn", 1, "cycles", "published", "RDNA3 ISA, 1.2", RDNA)
constant("simds", 4, "SIMDs per CU", "published", f"{_PROFILER}: CU", CDNA)
constant("simds", 2, "SIMDs per CU", "published", "RDNA3 ISA, 1.2", RDNA)

# Vector arithmetic
constant("valu_issue", 4, "cycles per wave", "published", f"{_PROFILER}: VALU, 16 lanes", CDNA)
constant("valu_issue", 1, "cycles per wave", "published", "RDNA3 ISA, 1.2: 32 lanes", RDNA)
constant("valu_latency", 8, "cycles", "measured", f"{_TRITON}: dependent FMA", ["gfx950"])
constant("valu_latency", 8, "cycles", "assumed", "as measured on gfx950", ["gfx942"])
constant("valu_latency", 4, "cycles", "published", "gem5 v24 GPU model: VALU bypass", ["gfx90a"])
constant("valu_latency", 5, "cycles", "published", f"{_LLVM}: VALU of GFX11, GFX12", RDNA)
constant("trans_issue", 16, "cycles per wave", "measured", f"{_COISSUE}: v_exp_f32, v_rcp_f32", ["gfx942"])
constant("trans_issue", 16, "cycles per wave", "assumed", "as measured on gfx942", ["gfx90a", "gfx950"])
constant("trans_issue", 4, "cycles per wave", "published", "RDNA3 ISA: 8 transcendental lanes", RDNA)
constant("trans_latency", 20, "cycles", "derived", "trans_issue and one turn", CDNA)
constant("trans_latency", 10, "cycles", "published", f"{_LLVM}: GFX11", ["gfx1100"])
constant("trans_latency", 9, "cycles", "published", f"{_LLVM}: GFX12", ["gfx1201"])
constant("quarter_issue", 16, "cycles per wave", "published", f"{_LLVM}: WriteIntMul, quarter rate", CDNA)
constant("quarter_issue", 4, "cycles per wave", "published", f"{_LLVM}: WriteIntMul, quarter rate", RDNA)
constant("wide_issue", 8, "cycles per wave", "published", f"{_LLVM}: Write64Bit, half rate", CDNA)
constant("wide_issue", 2, "cycles per wave", "published", f"{_LLVM}: Write64Bit, half rate", RDNA)
constant("convert_issue", 16, "cycles per wave", "published", f"{_LLVM}: WriteFloatCvt, quarter rate", CDNA)
constant("convert_issue", 1, "cycles per wave", "published", f"{_LLVM}: WriteFloatCvt of GFX11, full rate", RDNA)
constant("double_issue", 4, "cycles per wave", "derived", "peak FP64 of MI250X, MI300X: full rate", CDNA)
constant("double_issue", 32, "cycles per wave", "derived", "peak FP64 of Navi 31 and 48: 1/32 of FP32", RDNA)

# Matrix: see matrix.py for the passes of each instruction.
constant("pass", 4, "cycles", "published", "AMD matrix instruction calculator", CDNA)
constant("matrix_result", 12, "cycles", "derived", "CDNA3 ISA 4.5: 3 wait states beyond the passes before another unit reads the result", CDNA)
constant("matrix_result", 5, "cycles", "assumed", "as the latency of the VALU", RDNA)

# Packed float32 beside MFMA
constant("packed_switch", 8, "cycles", "measured", f"{_COISSUE}: MFMA and 1 to 4 v_pk_add_f32", ["gfx942"])
constant("packed_switch", 8, "cycles", "assumed", "as measured on gfx942", ["gfx90a", "gfx950"])
constant("packed_switch", 0, "cycles", "assumed", "no such instruction", RDNA)

# Scalar
constant("salu_latency", 4, "cycles", "published", f"{_LLVM}: one turn", CDNA)
constant("salu_latency", 2, "cycles", "published", f"{_LLVM}: GFX11, GFX12", RDNA)
constant("branch_taken", 12, "cycles", "derived", f"{_TRITON}: the loops around its gathers and MFMAs", ["gfx950"])
constant("branch_taken", 12, "cycles", "assumed", "as derived for gfx950", ["gfx90a", "gfx942"])
constant("branch_taken", 16, "cycles", "assumed", f"half of the 32 of {_LLVM}", RDNA)
constant("scalar_hit", 20, "cycles", "assumed", f"{_LLVM}: SMEM", CDNA + RDNA)
constant("clock_latency", 20, "cycles", "assumed", "as a scalar load", CDNA + RDNA)

# LDS
constant("lds_ports", 2, "ports per CU", "published", f"{_PROFILER}: LDS, SIMDs in pairs", CDNA)
constant("lds_ports", 1, "ports per CU", "assumed", "one LDS request path a CU", RDNA)
constant("lds_port_bytes", 64, "bytes per cycle", "measured", f"{_PYHIP}: ds_read_b32, b128", ["gfx90a", "gfx942"])
constant("lds_port_bytes", 128, "bytes per cycle", "published", "CDNA4 white paper: LDS read bandwidth doubled", ["gfx950"])
constant("lds_port_bytes", 128, "bytes per cycle", "published", "RDNA3 ISA: 32 lanes a cycle", RDNA)
constant("lds_write_bytes", 64, "bytes per cycle", "published", f"{_PROFILER}: LDS", CDNA)
constant("lds_write_bytes", 128, "bytes per cycle", "assumed", "as for reads", RDNA)
constant("lds_address", 4, "cycles per store", "published", f"{_PROFILER}: a 4-byte store takes 8 cycles, a 16-byte store 20", CDNA)
constant("lds_address", 1, "cycles per store", "assumed", "address and data share the port as on CDNA", RDNA)
constant("lds_latency", 40, "cycles", "measured", f"{_PYHIP}: 52 and 64 less port, issue, wait", ["gfx942"])
constant("lds_latency", 40, "cycles", "derived", f"{_TRITON}: 69 for a chase less shift, issue, wait, loop", ["gfx950"])
constant("lds_latency", 40, "cycles", "assumed", "as measured on gfx942", ["gfx90a"])
constant("lds_latency", 20, "cycles", "published", f"{_LLVM}: LDS of GFX11, GFX12", RDNA)
constant("lds_conflict", 72, "cycles", "measured", f"{_PYHIP}: 120 and 119 with bank conflicts", ["gfx942"])
constant("lds_conflict", 72, "cycles", "assumed", "as measured on gfx942", ["gfx90a", "gfx950"])
constant("lds_conflict", 0, "cycles", "assumed", "conflicts cost their extra cycles alone", RDNA)

# Vector memory, as one CU sees it
constant("l1_bytes", 16 << 10, "bytes", "published", "CDNA2 white paper", ["gfx90a"])
constant("l1_bytes", 32 << 10, "bytes", "published", "CDNA3 white paper", CDNA3)
constant("l1_bytes", 32 << 10, "bytes", "published", "RDNA3 and RDNA4 L0", RDNA)
constant("l1_line", 64, "bytes", "published", "CDNA2 white paper", ["gfx90a"])
constant("l1_line", 128, "bytes", "published", "CDNA3 white paper", CDNA3)
constant("l1_line", 128, "bytes", "published", "RDNA3 ISA", RDNA)
constant("l1_width", 64, "bytes per cycle", "published", f"{_PROFILER}: vL1D", CDNA)
constant("l1_width", 128, "bytes per cycle", "assumed", "a line per cycle", RDNA)
constant("l1_latency", 105, "cycles", "assumed", f"{_MIRAGE}: L1 50 ns", CDNA + RDNA)
constant("l2_bytes", 8 << 20, "bytes", "published", "CDNA2 white paper: of one die", ["gfx90a"])
constant("l2_bytes", 4 << 20, "bytes", "published", "CDNA3 white paper: of one XCD", CDNA3)
constant("l2_bytes", 6 << 20, "bytes", "published", "Navi 31", ["gfx1100"])
constant("l2_bytes", 8 << 20, "bytes", "published", "Navi 48", ["gfx1201"])
constant("l2_width", 64, "bytes per cycle and CU", "published", f"{_PROFILER}: L2 to vL1D", CDNA + RDNA)
constant("l2_latency", 273, "cycles", "assumed", f"{_MIRAGE}: L2 130 ns", CDNA + RDNA)
constant("memory_width", 32, "bytes per cycle", "measured", f"{_PYHIP}: one CU, dwordx4 every 32 cycles", ["gfx942"])
constant("memory_width", 32, "bytes per cycle", "assumed", "one CU, as measured on gfx942", ["gfx90a", "gfx950", *RDNA])
constant("device_width", 11900, "GB/s", "measured", f"{_CHIPS}: Infinity Cache", ["gfx942"])
constant("device_width", 11900, "GB/s", "assumed", "as measured on MI300X, which has the same Infinity Cache", ["gfx950"])
constant("device_width", 1638, "GB/s", "published", "MI210: HBM2e; no Infinity Cache", ["gfx90a"])
constant("device_width", 3500, "GB/s", "published", "RX 7900 XTX: effective memory bandwidth with Infinity Cache", ["gfx1100"])
constant("device_width", 2500, "GB/s", "derived", "Navi 48: Infinity Cache of 1024 bytes a clock at up to 2.5 GHz", ["gfx1201"])
constant("shared_l2", 0, "lines", "assumed", "a CU finds nothing in L2 that another brought: they run in step", CDNA + RDNA)
constant("memory_latency", 612, "cycles", "derived", f"{_PYHIP}: middle of 500 to 800, less issue and transfer", ["gfx942"])
constant("memory_latency", 752, "cycles", "derived", f"{_TRITON}: 790 (an estimate), less issue and transfer", ["gfx950"])
constant("memory_latency", 612, "cycles", "assumed", "as on gfx942", ["gfx90a", *RDNA])

# Synchronisation
constant("sleep_unit", 64, "cycles", "published", "CDNA4 and RDNA4 ISA pseudocode: s_sleep", CDNA + RDNA)
constant("barrier_latency", 32, "cycles", "assumed", f"no figure is published; {_LLVM} guesses 500 to 2000", CDNA + RDNA)

# The device around the CU
constant("cus", 104, "CUs", "published", "MI210; a die of MI250X has 110", ["gfx90a"])
constant("cus", 304, "CUs", "published", "MI300X", ["gfx942"])
constant("cus", 256, "CUs", "published", "MI355X", ["gfx950"])
constant("cus", 96, "CUs", "published", "RX 7900 XTX", ["gfx1100"])
constant("cus", 64, "CUs", "published", "RX 9070 XT", ["gfx1201"])
constant("clock", 1700, "MHz", "published", "MI210 peak engine clock", ["gfx90a"])
constant("clock", 2100, "MHz", "published", "MI300X peak engine clock", ["gfx942"])
constant("clock", 2400, "MHz", "published", "MI355X peak engine clock", ["gfx950"])
constant("clock", 2500, "MHz", "published", "RX 7900 XTX boost clock", ["gfx1100"])
constant("clock", 2970, "MHz", "published", "RX 9070 XT boost clock", ["gfx1201"])
