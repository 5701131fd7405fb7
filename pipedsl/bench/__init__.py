"""Microbenchmarks, sweeps and tuning, on a GPU or on the model."""

from pipedsl.bench.autotune import Config, Tuned, autotune
from pipedsl.bench.gemm import PipelineConfig, pipeline_kernel
from pipedsl.bench.measurement import Measurement, do_bench
from pipedsl.bench.micro import microbench
from pipedsl.bench.pipelines import measure_pipeline, pipelines
from pipedsl.bench.plots import Plot, plot
from pipedsl.bench.probes import PROBES
from pipedsl.bench.records import Records
from pipedsl.bench.sweep import sweep

__all__ = [
    "PROBES",
    "Config",
    "Measurement",
    "PipelineConfig",
    "Plot",
    "Records",
    "Tuned",
    "autotune",
    "do_bench",
    "measure_pipeline",
    "microbench",
    "pipeline_kernel",
    "pipelines",
    "plot",
    "sweep",
]
