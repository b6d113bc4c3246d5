"""SPDL with the operations of quick_ops, a batch per call."""

import numpy
import quick_ops
from spdl.pipeline import PipelineBuilder


def batches(job):
    workers = job.workers or 3
    load = quick_ops.load_val if job.work == "val" else quick_ops.load_train

    def load_batch(paths):
        return numpy.stack([load(p) for p in paths])

    pipeline = PipelineBuilder().add_source(job.files).aggregate(32).pipe(load_batch, concurrency=workers).add_sink(3)
    pipeline = pipeline.build(num_threads=workers)
    with pipeline.auto_stop():
        yield from pipeline
