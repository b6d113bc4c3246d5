"""Headrace, as its README shows it."""

import headrace as hr


def batches(job):
    # What is the default is left out, so that older trees can be measured with these
    # files.
    images = hr.files(job.files).decode_image(**({"mode": job.mode} if job.mode != "exact" else {}))
    if job.work == "val":
        images = images.resize(256).center_crop(224)
    else:
        images = images.random_resized_crop(224).random_flip(0.5)
    if job.dtype != "uint8":
        images = images.normalize(mean=job.mean, std=job.std, dtype=job.dtype).layout("NCHW")
    with images.batch(32).loader(epochs=1, workers=job.workers or None) as loader:
        for batch in loader:
            yield batch["image"]
