"""The producer/consumer protocol between the waves of a workgroup."""

from pipedsl.pipeline.backend import PipelineBackend
from pipedsl.pipeline.counter import AmdCounterBackend, CounterHandle
from pipedsl.pipeline.pipeline import ProducerConsumerPipeline
from pipedsl.pipeline.position import RingPosition
from pipedsl.pipeline.roles import Role, Roles
from pipedsl.pipeline.stage import ConsumerStage, ProducerStage
from pipedsl.pipeline.tile import SharedTile
from pipedsl.pipeline.tile_sync import SingleCounterSync, SplitCounterSync

__all__ = [
    "AmdCounterBackend",
    "ConsumerStage",
    "CounterHandle",
    "PipelineBackend",
    "ProducerConsumerPipeline",
    "ProducerStage",
    "RingPosition",
    "Role",
    "Roles",
    "SharedTile",
    "SingleCounterSync",
    "SplitCounterSync",
]
