"""SPDL with its own media operations (FFmpeg), a batch per call, bilinear scaling."""

import math
import random

import spdl.io
from spdl.pipeline import PipelineBuilder

RESIZED = "scale=w=256:h=256:force_original_aspect_ratio=increase:flags=bilinear,crop=224:224,format=pix_fmts=rgb24"
ONE_THREAD = spdl.io.decode_config(decoder_options={"threads": "1"})


def load_val(paths):
    return spdl.io.to_numpy(
        spdl.io.load_image_batch(paths, width=None, height=None, filter_desc=RESIZED, decode_config=ONE_THREAD)
    )


def load_train(paths):
    frames = [spdl.io.decode_packets(spdl.io.demux_image(p), decode_config=ONE_THREAD, filter_desc=random_crop()) for p in paths]
    return spdl.io.to_numpy(spdl.io.convert_frames(frames))


def random_crop():
    """The size of the image is known to FFmpeg only, so the crop is an expression in it."""
    scale = random.uniform(0.08, 1.0)
    ratio = math.exp(random.uniform(math.log(3 / 4), math.log(4 / 3)))
    width, height = f"min(iw,sqrt(iw*ih*{scale * ratio:.5f}))", f"min(ih,sqrt(iw*ih*{scale / ratio:.5f}))"
    x, y = f"(iw-ow)*{random.random():.5f}", f"(ih-oh)*{random.random():.5f}"
    flip = ",hflip" if random.random() < 0.5 else ""
    return f"crop=w='{width}':h='{height}':x='{x}':y='{y}',scale=224:224:flags=bilinear{flip},format=pix_fmts=rgb24"


def batches(job):
    workers = job.workers or 3
    load = load_val if job.work == "val" else load_train
    pipeline = PipelineBuilder().add_source(job.files).aggregate(32).pipe(load, concurrency=workers).add_sink(3)
    pipeline = pipeline.build(num_threads=workers)
    with pipeline.auto_stop():
        yield from pipeline
