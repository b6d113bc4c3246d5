"""What SPDL has and `headrace.compat.spdl` has not, with what to write instead."""

from __future__ import annotations

from typing import NoReturn

INSTEAD = {
    "MergeOp": 'hr.merge([p, q], order="round_robin"), or hr.mix({p: 2, q: 1})',
    "get_pytorch_dataloader": "hr.source(dataset, sampler=…).batch(n).loader()",
    "AsyncQueue": 'queues are in the engine: loader.stats()["queues"]',
    "ProcessGroupStatsMonitor": 'loader.stats()["resources"]',
    "BackgroundTask": ".loader(hooks=[…]) with a method `async def background`",
    "run_pipeline_in_subinterpreter": "run_pipeline_in_subprocess",
    "iterate_in_subinterpreter": "iterate_in_subprocess",
    "PriorityThreadPoolExecutor": ".map(f, where=pool), of any executor",
    "PriorityProcessPoolExecutor": ".map(f, where=pool), of any executor",
    "Demuxer": "hr.io.stream_video(src, frames=16), stream_audio(src)",
    "Decoder": "hr.io.stream_video(src, frames=16), stream_audio(src)",
    "Muxer": "hr.io.save_video(to, frames, fps, audio=…), remux(…)",
    "FilterGraph": "hr.io.filter(graph, frames)",
    "demux_audio": "hr.io.load_audio(src, rate=…)",
    "ImageNet": "hr.files(folder, label=…)",
}
"""By the name in SPDL."""


def see(name: str) -> str:
    """Where to read on."""
    instead = INSTEAD.get(name)
    return "see From SPDL, row by row, for what does the same" + (f": {instead}" if instead else "")


def missing(module: str, name: str) -> NoReturn:
    """Say what to write instead of a name."""
    if name.startswith("_"):
        raise AttributeError(name)
    raise ImportError(f"{module} has no {name}: {see(name)}", name=name)
