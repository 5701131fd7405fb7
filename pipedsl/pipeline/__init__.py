"""The producer/consumer protocol between the waves of a workgroup."""

from pipedsl.pipeline.backend import PipelineBackend
from pipedsl.pipeline.counter import AmdCounterBackend, CounterHandle

__all__ = ["AmdCounterBackend", "CounterHandle", "PipelineBackend"]
