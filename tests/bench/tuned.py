"""A tuned function of a module, which other processes find by its name."""

from __future__ import annotations

import pipedsl
from pipedsl.bench import PipelineConfig, pipeline_kernel


@pipedsl.autotune(
    [pipedsl.Config(stages=s, consumers=c) for s, c in ((1, 1), (2, 4), (9, 4))], key=["a", "b"]
)
def matmul(a, b, c, stages, consumers):
    """``c = a @ b.T``, in tiles of 64 x 64."""
    plan = PipelineConfig("gfx942", stages, 2, consumers, (64, 64, 32), a.shape[1])
    pipeline_kernel(plan)[(b.shape[0] // 64, a.shape[0] // 64), plan.threads](a, b, c)
