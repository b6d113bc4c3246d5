"""SPDL, which calls a function of the user's, a batch per call, in threads or in a pool of processes."""

from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import numpy
import user_transform
from spdl.pipeline import PipelineBuilder


def load_batch(paths):
    return numpy.stack([user_transform.load(p) for p in paths])


def batches(job):
    pool = ProcessPoolExecutor(job.workers, get_context("spawn")) if job.mode == "process" else None
    try:
        builder = PipelineBuilder().add_source(job.files).aggregate(32)
        builder = builder.pipe(load_batch, concurrency=job.workers, executor=pool).add_sink(3)
        with (pipeline := builder.build(num_threads=job.workers)).auto_stop():
            yield from pipeline
    finally:
        if pool:
            pool.shutdown(cancel_futures=True)
