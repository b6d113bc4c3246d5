"""Pipelines: `PipelineBuilder`, `build_pipeline`, and what is around them."""

from __future__ import annotations

from typing import NoReturn

from .._missing import missing
from ._away import SharedMemoryRingBuffer, SharedMemorySegmentPool, iterate_in_subprocess, run_pipeline_in_subprocess
from ._builder import PipelineBuilder
from ._caches import cache_iterator
from ._hooks import StageInfo, TaskHook, TaskPerfStats, TaskStatsHook
from ._profile import ProfileResult, profile_pipeline
from ._queues import QueuePerfStats, StatsQueue
from ._run import Pipeline, PipelineFailure, build_pipeline

__all__ = [
    "Pipeline",
    "PipelineBuilder",
    "PipelineFailure",
    "ProfileResult",
    "QueuePerfStats",
    "SharedMemoryRingBuffer",
    "SharedMemorySegmentPool",
    "StageInfo",
    "StatsQueue",
    "TaskHook",
    "TaskPerfStats",
    "TaskStatsHook",
    "build_pipeline",
    "cache_iterator",
    "iterate_in_subprocess",
    "profile_pipeline",
    "run_pipeline_in_subprocess",
]


def __getattr__(name: str) -> NoReturn:
    missing(__name__, name)
