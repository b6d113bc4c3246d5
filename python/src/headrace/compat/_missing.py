"""What SPDL has and `headrace.compat.spdl` has not, with what to write instead."""

from __future__ import annotations

INSTEAD = {
    "path_variants": "hr.source(…).route(router, [lambda p: p.map(f), …])",
    "to": "where= of each step",
    "Merge": "hr.merge([p, q])",
    "MergeIterator": "hr.merge([p, q], weights=…, until=…)",
    "PathVariants": "hr.source(…).route(router, […])",
    "DataLoader": "hr.source(dataset).map(f).batch(n).loader()",
    "CacheDataLoader": "docs/guide/bench-and-inspect.md: what a perfect loader would gain",
    "PyTorchDataLoader": "hr.source(dataset, sampler=…).batch(n).loader()",
    "TaskHook": ".loader(hooks=[…])",
    "TaskStatsHook": ".loader(hooks=[…], every=10.0)",
    "StatsQueue": 'loader.stats()["queues"]',
    "AsyncQueue": 'queues are in the engine: loader.stats()["queues"]',
    "profile_pipeline": "loader.profile()",
    "run_pipeline_in_subprocess": "the engine is a process already: hr.source(…).loader()",
    "iterate_in_subprocess": "hr.source(iterable).loader()",
    "embed_shuffle": ".shuffle()",
    "repeat_source": ".loader(epochs=None)",
    "DistributedRandomSampler": ".shuffle() and .loader(rank=…, world_size=…)",
    "DistributedDeterministicSampler": ".loader(rank=…, world_size=…)",
    "SharedMemorySegmentPool": "batches of a loader are in shared memory",
}
"""By the name in SPDL."""

OF_BUILD = {
    "queue_class": INSTEAD["AsyncQueue"],
    "task_hook_factory": INSTEAD["TaskHook"],
    "report_stats_interval": ".loader(every=…)",
}
"""By the argument of `build`; others are SPDL's inner ones."""


def see(name: str) -> str:
    """Where to read on."""
    instead = INSTEAD.get(name)
    return "see From SPDL, row by row, for what does the same" + (f": {instead}" if instead else "")
