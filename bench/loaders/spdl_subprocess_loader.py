"""SPDL with its own operations, as spdl_loader, in a process of its own, from which batches come one by one."""

from spdl.pipeline import PipelineBuilder, run_pipeline_in_subprocess
from spdl_loader import load_train, load_val


def batches(job):
    load = load_val if job.work == "val" else load_train
    builder = PipelineBuilder().add_source(job.files).aggregate(32).pipe(load, concurrency=job.workers).add_sink(3)
    yield from run_pipeline_in_subprocess(builder, num_threads=job.workers)
