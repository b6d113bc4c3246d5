"""Grain with threads and the operations of quick_ops."""

import grain
import quick_ops


def batches(job):
    load = quick_ops.load_val if job.work == "val" else quick_ops.load_train
    options = grain.ReadOptions(num_threads=job.workers or 4, prefetch_buffer_size=128)
    yield from grain.MapDataset.source(job.files).map(load).to_iter_dataset(options).batch(32)
