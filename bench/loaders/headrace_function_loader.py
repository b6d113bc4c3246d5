"""Headrace, which reads files and calls a function of the user's in worker processes, or in threads of one."""

import io

import headrace as hr
import user_transform


def load(sample):
    return {"image": user_transform.load(io.BytesIO(sample["bytes"]))}


def batches(job):
    images = hr.files(job.files).map(load, workers=job.workers, where=job.mode)
    with images.batch(32).loader(epochs=1) as loader:
        for batch in loader:
            yield batch["image"]
