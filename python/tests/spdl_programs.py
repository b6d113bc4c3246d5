"""Small programs of the kinds that SPDL documents, and what they gave with SPDL 0.8.0.

`python spdl_programs.py spdl` runs them with SPDL itself (scripts/test_spdl.sh), `test_spdl_programs.py` with `headrace.compat.spdl`.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import importlib
import io
import os
import subprocess
import sys
import tarfile
import tempfile
import wave
from concurrent.futures import ThreadPoolExecutor

import numpy as np

# What is called in other processes is found by its name.


class Unpicklable:
    def __init__(self, x):
        self.x, self.f = x, lambda: None


def wrapped(x):
    return None if x == 3 else Unpicklable(x * 2)


def unwrapped(wrapped):
    return wrapped.x + 1, os.getpid()


def double(x):
    return 2 * x


def arrays(n):
    for i in range(n):
        yield np.full(100_000, i, np.int32)


def of(spdl, module, *names):
    """Names of a module of SPDL."""
    found = importlib.import_module(f"{spdl}.{module}")
    return [getattr(found, name) for name in names]


def intro(spdl):
    (builder,) = of(spdl, "pipeline", "PipelineBuilder")
    pipeline = builder().add_source(range(12)).pipe(double).pipe(lambda x: x + 1).aggregate(5).add_sink(3).build(num_threads=1)
    with pipeline.auto_stop():
        return list(pipeline)


def stages(spdl):
    """Async, a table, a generator in an executor of its own, what drops items."""
    (builder,) = of(spdl, "pipeline", "PipelineBuilder")

    async def later(x):
        await asyncio.sleep(0.002 * (x % 3))
        return x

    def parts(x):
        yield x
        yield -x

    with ThreadPoolExecutor(2) as pool:
        start = builder().add_source(range(8)).pipe(later, concurrency=4, output_order="input").pipe({1: 10, 2: 20, 5: 50, 6: 60}.get)
        pipeline = start.pipe(parts, executor=pool).aggregate(3).disaggregate().add_sink(1).build(num_threads=2)
        with pipeline.auto_stop():
            return list(pipeline)


def definitions(spdl):
    (build,) = of(spdl, "pipeline", "build_pipeline")
    names = ("Aggregate", "Disaggregate", "Merge", "PathVariants", "Pipe", "PipelineConfig", "SinkConfig", "SourceConfig")
    aggregate, disaggregate, merge, variants, pipe, config, sink, source = of(spdl, "pipeline.defs", *names)
    known = {0: 0, 1: 10, 4: 40}
    squares = config[int](src=source(range(5)), pipes=[pipe(lambda x: x * x), aggregate(2)], sink=sink(10))
    others = config(src=source(range(10, 13)), pipes=[pipe(lambda x: x + 100, concurrency=2)], sink=sink(5))
    paths = [[pipe(known)], [pipe(lambda x: (x, x * 10)), pipe(lambda pair: pair[1])]]
    pipes = [pipe(lambda x: x if isinstance(x, list) else [x]), disaggregate(), variants(lambda x: 0 if x in known else 1, paths)]
    pipeline = build(config(src=merge([squares, others]), pipes=pipes, sink=sink(20)), num_threads=4)
    with pipeline.auto_stop():
        return sorted(pipeline)


def paths(spdl):
    """Aggregates and nested paths."""
    (builder,) = of(spdl, "pipeline", "PipelineBuilder")
    aggregate, variants, pipe = of(spdl, "pipeline.defs", "Aggregate", "PathVariants", "Pipe")
    inner = variants(lambda x: x % 4 // 2, [[pipe(lambda x: -x)], [pipe(lambda x: None if x == 2 else x)]])
    start = builder().add_source(range(12)).path_variants(lambda x: x % 2, [[inner], [aggregate(4), pipe(sum)]])
    pipeline = start.pipe(lambda x: (x, x)).disaggregate().add_sink(2).build(num_threads=2)
    with pipeline.auto_stop():
        return sorted(pipeline)


def hooks(spdl):
    builder, hook = of(spdl, "pipeline", "PipelineBuilder", "TaskHook")
    seen, stages = [], []

    class Keep(hook):
        def __init__(self, info):
            self.info = info

        @contextlib.asynccontextmanager
        async def stage_hook(self):
            stages.append(f"{self.info.stage_name} begins")
            yield
            stages.append(f"{self.info.stage_name} ends")

        @contextlib.asynccontextmanager
        async def task_hook(self, input_item=None):
            try:
                yield
            except ValueError as error:
                seen.append((input_item, str(error)))
                raise

    def fails(x):
        if x % 5 == 3:
            raise ValueError(f"bad {x}")
        return x

    pipeline = builder().add_source(range(10)).pipe(fails).add_sink(1).build(num_threads=1, task_hook_factory=lambda info: [Keep(info)])
    with pipeline.auto_stop():
        got = list(pipeline)
    return got, seen, stages


def statistics(spdl):
    builder, hook, queue = of(spdl, "pipeline", "PipelineBuilder", "TaskStatsHook", "StatsQueue")
    told, queues = [], []

    class Tell(hook):
        async def interval_stats_callback(self, stats):
            told.append((stats.num_tasks, stats.num_failures, stats.ave_time >= 0.01, stats.p90_time >= 0.01))

    class Queue(queue):
        async def interval_stats_callback(self, stats):
            if self.info.stage_name == "slow":
                queues.append((stats.num_items, 0 < stats.qps < 110, stats.ave_get_time > 0.005, stats.occupancy_rate < 0.9))

    async def slow(x):
        await asyncio.sleep(0.01)
        if x == 5:
            raise ValueError
        return x

    start = builder().add_source(range(60)).pipe(lambda x: x).pipe(slow).add_sink(1)
    queue_class = functools.partial(Queue, interval=0.2)
    pipeline = start.build(num_threads=1, queue_class=queue_class, task_hook_factory=lambda info: [Tell(info, 0.2)])
    with pipeline.auto_stop():
        count = len(list(pipeline))
    last = [one for one in told if one[2]]  # of the stage that is slow
    queued = sum(items for items, *_ in queues)
    return (
        count,
        20 < sum(tasks for tasks, *_ in last) <= 60,
        sum(failed for _, failed, *_ in last),
        last[0][2:],
        20 < queued < 60,
        queues[0][1:],
    )


def region(spdl):
    """Stages in processes, which hand on what cannot be pickled."""
    (builder,) = of(spdl, "pipeline", "PipelineBuilder")
    main, processes = of(spdl, "pipeline.defs", "MAIN_PROCESS", "ProcessPoolExecutorConfig")
    inside = builder().add_source(range(6)).to(processes(max_workers=1)).pipe(wrapped).pipe(unwrapped).to(main)
    pipeline = inside.pipe(lambda pair: (pair[0], pair[1] != os.getpid())).add_sink(2).build(num_threads=2)
    with pipeline.auto_stop():
        return sorted(pipeline)


def subprocess_epochs(spdl):
    builder, run = of(spdl, "pipeline", "PipelineBuilder", "run_pipeline_in_subprocess")
    (sampler,) = of(spdl, "source", "DistributedRandomSampler")
    (shuffled,) = of(spdl, "source.utils", "embed_shuffle")
    source = shuffled(sampler(10, rank=1, world_size=2))
    inner = builder().add_source(source, continuous=True).pipe(double).aggregate(2, drop_last=True).add_sink(3)
    outer = builder().add_source(run(inner.get_config(), num_threads=1), continuous=True).add_sink(3).build(num_threads=1)
    with outer.auto_stop():
        return [[[int(x) for x in batch] for batch in outer] for _ in range(2)]


def subprocess_items(spdl):
    iterate, pool = of(spdl, "pipeline", "iterate_in_subprocess", "SharedMemorySegmentPool")
    return [int(x.sum()) for x in iterate(functools.partial(arrays, 4), arena=pool(1 << 20, 4))]


def samplers(spdl):
    ordered, drawn = of(spdl, "source", "DistributedDeterministicSampler", "DistributedRandomSampler")
    one = drawn(7, rank=0, world_size=2, ddp_drop_last_distributed_round=False)
    found = [list(ordered(8, rank=1, world_size=3, ddp_drop_last_distributed_round=False)), list(one)]
    one.shuffle(seed=3)
    found += [list(one), list(drawn(4, rank=1, world_size=2, num_draws=10, weights=[1, 1, 2, 4], seed=1))]
    return [[int(x) for x in numbers] for numbers in found]


def sources(spdl):
    merge, repeat = of(spdl, "source.utils", "MergeIterator", "repeat_source")
    few, many = range(3), range(10, 16)
    found = [list(merge([few, many], stop_after=stop)) for stop in (-1, 0, 5)]
    found += [
        list(merge([few, many], weights=weights, stop_after=stop, seed=2)) for weights, stop in (([0.1, 0.3], 0), ([2, 1], -1), ([1, 1], 6))
    ]
    again = repeat([1, 2])
    return [*found, [next(again) for _ in range(5)]]


def loaders(spdl):
    loader, cached = of(spdl, "dataloader", "DataLoader", "CacheDataLoader")
    batches = loader(range(10), preprocessor=double, batch_size=4, aggregator=sum, num_threads=2, output_order="input")
    return list(batches), list(batches), list(cached(batches, 1, 2, 5))


def profile(spdl):
    (run,) = of(spdl, "pipeline", "profile_pipeline")
    aggregate, pipe, config, sink, source = of(spdl, "pipeline.defs", "Aggregate", "Pipe", "PipelineConfig", "SinkConfig", "SourceConfig")
    cfg = config(src=source(range(20)), pipes=[pipe(double), aggregate(4)], sink=sink(2))
    results = run(cfg, num_inputs=10)
    return [([s.concurrency for s in r.stats], all(s.qps > 0 for s in r.stats)) for r in results]


def files(spdl):
    """Arrays, recordings, archives."""
    load_npy, load_npz, load_wav, iter_tar, to_numpy = of(spdl, "io", "load_npy", "load_npz", "load_wav", "iter_tarfile", "to_numpy")
    npy, npz, wav, tar = (io.BytesIO() for _ in range(4))
    np.save(npy, np.arange(6).reshape(2, 3))
    np.savez(npz, a=np.ones(3, np.float32))
    with wave.open(wav, "wb") as out:
        out.setnchannels(2), out.setsampwidth(2), out.setframerate(8000)
        out.writeframes(np.arange(16000, dtype=np.int16).tobytes())
    with tarfile.open(fileobj=tar, mode="w") as archive:
        member = tarfile.TarInfo("a.txt")
        member.size = 3
        archive.addfile(member, io.BytesIO(b"abc"))
    samples = to_numpy(load_wav(wav.getvalue(), 0.25, 0.5))
    found = [(name, bytes(data)) for name, data in iter_tar(tar.getvalue())]
    return load_npy(npy.getvalue()).tolist(), load_npz(npz.getvalue())["a"].tolist(), (samples.shape, int(samples[0, 0])), found


def media(spdl):
    """Pixels: of a video the same, of images nearly."""
    names = ("demux_video", "demux_image", "decode_packets", "convert_frames", "sample_decode_video", "load_image_batch", "to_numpy")
    demux_video, demux_image, decode, convert, some, batch, to_numpy = of(spdl, "io", *names)
    (desc,) = of(spdl, "io", "get_video_filter_desc")
    with tempfile.TemporaryDirectory() as folder:
        clip, image, bad = (os.path.join(folder, name) for name in ("clip.mp4", "image.png", "bad.png"))
        made = ["ffmpeg", "-v", "error", "-f", "lavfi", "-i", "testsrc2=size=96x64:rate=10:duration=2"]
        subprocess.run([*made, "-threads", "1", "-c:v", "libx264", "-pix_fmt", "yuv420p", clip], check=True)
        subprocess.run([*made, "-frames:v", "1", "-pix_fmt", "rgb24", image], check=True)
        with open(bad, "wb") as file:
            file.write(b"no image")
        graph = desc(scale_width=40, scale_height=40, crop_width=32, crop_height=32)
        whole = to_numpy(convert(decode(demux_video(clip), filter_desc=graph)))
        few = to_numpy(convert(some(demux_video(clip), [3, 7, 12], filter_desc=graph)))
        single = to_numpy(convert([decode(demux_image(image), filter_desc=desc(scale_width=40, scale_height=30, scale_mode=None))]))
        many = to_numpy(batch([image, bad, image], width=48, height=48, strict=False))
    sums = [int(x.astype(np.int64).sum()) for x in (whole, few)]
    near = [round(float(x.mean()) / 4) for x in (single, many)]
    return whole.shape, few.shape, sums, bool((few == whole[[3, 7, 12]]).all()), single.shape, many.shape, near


GIVE = {
    "intro": [[1, 3, 5, 7, 9], [11, 13, 15, 17, 19], [21, 23]],
    "stages": [10, -10, 20, -20, 50, -50, 60, -60],
    "definitions": [0, 10, 40, 90, 160, 1100, 1110, 1120],
    "paths": [-8, -8, -4, -4, 0, 0, 6, 6, 10, 10, 16, 16, 20, 20],
    "hooks": ([0, 1, 2, 4, 5, 6, 7, 9], [(3, "bad 3"), (8, "bad 8")], ["fails begins", "fails ends"]),
    "statistics": (59, True, 1, (True, True), True, (True, True, True)),
    "region": [(1, True), (3, True), (5, True), (9, True), (11, True)],
    "subprocess_epochs": [[[18, 4], [12, 14]], [[4, 10], [8, 18]]],
    "subprocess_items": [0, 100000, 200000, 300000],
    "samplers": [[1, 4, 7], [4, 1, 5, 0], [1, 5, 0, 6], [3, 3, 2, 2, 0]],
    "sources": [
        [0, 10, 1, 11, 2, 12],
        [0, 10, 1, 11, 2, 12, 13, 14, 15],
        [0, 10, 1, 11, 2],
        [0, 10, 1, 11, 12, 2, 13, 14, 15],
        [0, 1, 2],
        [0, 1, 2, 10, 11, 12],
        [1, 2, 1, 2, 1],
    ],
    "loaders": ([12, 44, 34], [12, 44, 34], [12, 44, 12, 12, 12]),
    "profile": [([32, 16, 8, 4, 1], True), ([1], True)],
    "files": ([[0, 1, 2], [3, 4, 5]], [1.0, 1.0, 1.0], ((4000, 2), 4000), [("a.txt", b"abc")]),
    "media": ((20, 32, 32, 3), (3, 32, 32, 3), [4144353, 622637], True, (1, 30, 40, 3), (2, 48, 48, 3), [20, 13]),
}


def main(spdl):
    for name, give in GIVE.items():
        got = globals()[name](spdl)
        assert got == give, (name, got, give)


if __name__ == "__main__":
    import logging

    logging.disable(logging.CRITICAL)
    main(sys.argv[1])
