"""Programs as users of SPDL write them, with headrace.compat.spdl."""

from __future__ import annotations

import asyncio
import copy
import logging
import os
import pickle
import threading
import time
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from fractions import Fraction
from multiprocessing import get_context

import numpy as np
import pytest

import films
import headrace as hr
from conftest import WHOLE
from headrace.compat import spdl
from headrace.compat.spdl import PipelineBuilder, PipelineFailure
from headrace.compat.spdl.dataloader import CacheDataLoader, get_pytorch_dataloader
from headrace.compat.spdl.pipeline import build_pipeline, cache_iterator, defs, profile_pipeline
from headrace.compat.spdl.source import DistributedRandomSampler
from headrace.compat.spdl.source.utils import MergeIterator

pytestmark = pytest.mark.usefixtures("io_closed")


def test_functions_and_groups():
    pipeline = (
        PipelineBuilder().add_source(range(10)).pipe(lambda x: 3 * x).pipe(lambda x: x + 1).aggregate(4).add_sink(2).build(num_threads=1)
    )
    with pipeline.auto_stop():
        assert list(pipeline) == [[1, 4, 7, 10], [13, 16, 19, 22], [25, 28]]
        assert list(pipeline) == []


def test_any_object_passes_and_none_drops():
    async def fetch(x):
        await asyncio.sleep(0.001)
        return threading.Lock(), x

    def parts(pair):
        yield pair[1]
        yield None
        yield -pair[1]

    builder = PipelineBuilder().add_source(iter(range(1, 7))).pipe(fetch, concurrency=3, output_order="input").pipe(parts)
    builder = builder.pipe({i: i for i in (1, -1, 2, -2, 3)}.get).aggregate(2, drop_last=True).disaggregate().add_sink()
    assert list(builder.build(num_threads=2)) == [1, -1, 2, -2]


def test_a_stage_alone_lets_items_pass():
    """A stage after it, which keeps its own order, does not hold it to that of the source."""
    passed = threading.Event()

    def first(x):
        assert x or passed.wait(20)
        return x

    def then(x):
        if x == 3:
            passed.set()
        return [x]

    builder = PipelineBuilder().add_source(range(8)).pipe(first, concurrency=2).pipe(then).disaggregate().add_sink(1)
    got = list(builder.build(num_threads=4))
    assert sorted(got) == list(range(8))
    assert got[0] != 0


def test_a_mapping_gives_its_keys():
    assert list(PipelineBuilder().add_source({3: "a", 5: "b"}).pipe(lambda x: 2 * x).add_sink(1).build(num_threads=1)) == [6, 10]


def test_a_cache_can_be_copied():
    cache = CacheDataLoader([1, 2], 1, 1, stop_after=3)
    assert list(copy.copy(cache)) == list(cache)
    assert cache.copy() == [1, 2], "what it has not is its loader's"


class Sums:
    def __init__(self):
        self.total = 0

    def accumulate(self, x):
        self.total += x
        return self.flush() if self.total > 9 else None

    def flush(self):
        total, self.total = self.total, 0
        return total or None


@pytest.mark.parametrize(("drop_last", "sums"), [(False, [10, 11, 6]), (True, [10, 11])])
def test_aggregators(drop_last, sums):
    pipeline = PipelineBuilder().add_source([1, 2, 3, 4, 5, 6, 6]).aggregate(Sums(), drop_last=drop_last).add_sink(1).build(num_threads=1)
    assert list(pipeline) == sums


def test_a_continuous_source_is_an_epoch_for_each_loop():
    pipeline = PipelineBuilder().add_source([1, 2], continuous=True).pipe([0, 10, 20]).add_sink(1).build(num_threads=1)
    assert [list(pipeline), list(pipeline)] == [[10, 20], [10, 20]]
    pipeline.stop()


def fails(x):
    if x % 5 == 3:
        raise ValueError(f"bad {x}")
    return x


def test_what_fails_is_logged_and_dropped(caplog):
    build = PipelineBuilder().add_source(range(200)).pipe(fails).add_sink(1).build
    caplog.set_level(logging.ERROR, "headrace.compat.spdl")
    assert list(build(num_threads=1)) == [x for x in range(200) if x % 5 != 3]
    assert len(caplog.records) == 40
    assert "fails (stage 1): an item has failed, and is dropped: ValueError: bad 3" in caplog.messages[0]
    for most in (2, Fraction(1, 10)):
        with pytest.raises(PipelineFailure, match=r"fails \(stage 1\): \d+ of \d+ items have failed; max_failures is") as caught:
            list(build(num_threads=1, max_failures=most))
        assert isinstance(caught.value.__cause__, ValueError)


def test_a_sink_without_a_limit_is_ahead():
    made = threading.Semaphore(0)

    def make(x):
        made.release()
        return x

    pipeline = PipelineBuilder().add_source(range(50)).pipe(make).add_sink(0).build(num_threads=1)
    with pipeline.auto_stop():
        for _ in range(50):
            assert made.acquire(timeout=20)
        assert pipeline.get_item() == 0


def test_executors_and_time_limits():
    gate = threading.Event()
    with ThreadPoolExecutor(1, thread_name_prefix="mine") as executor:

        def waits(x):
            gate.wait(10)
            return x, threading.current_thread().name.startswith("mine")

        pipeline = PipelineBuilder().add_source(range(2)).pipe(waits, executor=executor).add_sink(1).build(num_threads=1)
        with pipeline.auto_stop():
            with pytest.raises(TimeoutError):
                pipeline.get_item(timeout=0.05)
            gate.set()
            assert pipeline.get_item(timeout=30) == (0, True)
            assert next(pipeline.get_iterator()) == (1, True)
            with pytest.raises(EOFError):
                pipeline.get_item()


def test_stopping_early():
    def endless():
        yield from iter(int, 1)

    pipeline = PipelineBuilder().add_source(endless()).pipe(lambda x: x).aggregate(2).pipe(lambda x: x).add_sink(1).build(num_threads=1)
    begin = time.monotonic()
    with pipeline.auto_stop():
        assert pipeline.get_item() == [0, 0]
    assert time.monotonic() - begin < 20


def test_every_queue_has_its_name_and_its_numbers():
    """The names are SPDL's, which programs write into their data bases."""
    queues = []

    class Queue(spdl.pipeline.StatsQueue):
        def __init__(self, info, *, buffer_size):
            super().__init__(info, buffer_size=buffer_size)
            queues.append((self, buffer_size))

    def twice(x):
        return [x, x]

    start = PipelineBuilder().add_source(range(20)).pipe(twice, concurrency=4).aggregate(3).pipe(len, name="b").pipe(twice)
    pipeline = start.disaggregate().pipe(abs).add_sink(7).build(num_threads=2, queue_class=Queue)
    with pipeline.auto_stop():
        assert sorted(pipeline) == [2, 2] + 12 * [3]
        names = [str(queue.info).split(":", 1)[1] for queue, _ in queues]
        items = {str(queue.info).split(":")[2]: queue._whole().num_items for queue, _ in queues}
    assert names == ["0:src", "1:twice[4]", "2:aggregate", "3:b", "4:twice", "5:disaggregate", "6:abs", "7:sink"]
    assert [size for _, size in queues] == 7 * [2] + [7]
    made = {"src": 20, "twice[4]": 20, "aggregate": 7, "b": 7, "twice": 7, "disaggregate": 14, "abs": 14, "sink": 14}
    assert all(0 <= items[name] - count <= 2 for name, count in made.items()), items  # and ends, which also SPDL counts

    queues.clear()
    few, none = (defs.PipelineConfig(defs.SourceConfig(range(n)), [defs.Pipe(abs)], defs.SinkConfig(1)) for n in (5, 0))
    merged = defs.PipelineConfig(defs.Merge([none, few]), [], defs.SinkConfig(1))
    with (pipeline := build_pipeline(merged, num_threads=1, queue_class=Queue)).auto_stop():
        assert list(pipeline) == [0, 1, 2, 3, 4]
        items = [queue._whole().num_items for queue, _ in queues if queue.info.stage_name == "src"]
    assert items[0] < 2
    assert items[1] >= 5


def test_what_is_not_there_is_said():
    with pytest.raises(ImportError, match=r"headrace\.compat\.spdl\.pipeline has no AsyncQueue: see From SPDL.*: queues are in the engine"):
        from headrace.compat.spdl.pipeline import AsyncQueue  # noqa: F401
    with pytest.raises(ImportError, match=r"io has no Demuxer: see From SPDL.*stream_video"):
        from headrace.compat.spdl.io import Demuxer  # noqa: F401
    with pytest.raises(AttributeError, match=r"PipelineBuilder has no pipes: see From SPDL, row by row"):
        PipelineBuilder().pipes()
    with pytest.raises(hr.RecipeError, match=r"build: background_tasks= is not supported: write hr.source, and .*background"):
        PipelineBuilder().add_source([1]).build(num_threads=1, background_tasks=[print])
    with pytest.raises(hr.RecipeError, match=r"build: queue_class= must be a StatsQueue: write hr.source, and queues are in the engine"):
        PipelineBuilder().add_source([1]).pipe(abs).build(num_threads=1, queue_class=lambda info, buffer_size: None).start()
    with pytest.raises(TypeError, match="max_failure"):  # which was meant to be max_failures
        PipelineBuilder().add_source([1]).build(num_threads=1, max_failure=3)
    with pytest.raises(hr.RecipeError, match="call add_source first"):
        PipelineBuilder().build(num_threads=1)
    with pytest.raises(hr.RecipeError, match="pipe: 3 cannot be called"):
        PipelineBuilder().pipe(3)


def twice(x):
    yield x
    yield x + 10


def test_a_generator_in_a_pool_of_processes_gives_what_it_has_made():
    with ProcessPoolExecutor(1, mp_context=get_context("fork")) as pool:
        pipeline = PipelineBuilder().add_source([1, 2]).pipe(twice, executor=pool).add_sink(1).build(num_threads=1)
        assert list(pipeline) == [1, 11, 2, 12]


def fails_there(x):
    raise ValueError(f"bad {x}")


def with_process(processes):
    return [*processes, os.getpid()]


def test_a_region_after_a_region():
    target = defs.ProcessPoolExecutorConfig(max_workers=1)
    builder = PipelineBuilder().add_source([[]]).to(target).pipe(with_process).to(target).pipe(with_process).add_sink(1)
    ((one, other),) = builder.build(num_threads=1)
    assert one != os.getpid() != other


def test_what_fails_in_a_region_is_logged_dropped_and_counted(caplog):
    caplog.set_level(logging.ERROR, "headrace.compat.spdl")
    target = defs.ProcessPoolExecutorConfig(max_workers=1)
    builder = PipelineBuilder().add_source([1, 2]).to(target).pipe(twice).pipe(fails_there).to(defs.MAIN_PROCESS).add_sink(1)
    assert list(builder.build(num_threads=1)) == []
    assert len(caplog.records) == 4
    text = "fails_there: an item has failed, and is dropped: RuntimeError: ValueError: bad"
    assert sorted(caplog.messages) == [f"{text} {x}" for x in (1, 11, 12, 2)]  # a region that is not ordered gives what is done first
    with pytest.raises(PipelineFailure, match=r"fails_there: \d of \d items have failed; max_failures is 0"):
        list(builder.build(num_threads=1, max_failures=0))


def test_stages_of_a_region_have_limits_of_their_own():
    def built(most):
        builder = PipelineBuilder().add_source([1, 2]).to(defs.ProcessPoolExecutorConfig(max_workers=1))
        builder.pipe(twice, max_failures=0).pipe(fails_there, max_failures=most)
        return builder.to(defs.MAIN_PROCESS).add_sink(1).build(num_threads=1, max_failures=0)

    assert list(built(4)) == []
    with pytest.raises(PipelineFailure, match=r"fails_there: 4 of 4 items have failed; max_failures is 3"):
        list(built(3))


class Squares:
    def __len__(self):
        return 10

    def __getitem__(self, i):
        return i * i


def test_a_loader_of_pytorchs_kind_gives_the_batches_of_its_sampler():
    options = {"sampler": [3, 2, 1, 0, 4, 5, 9], "collate_fn": list, "in_order": True}
    loader = get_pytorch_dataloader(Squares(), 3, num_workers=2, **options)
    assert len(loader) == 3
    assert list(loader) == [[9, 4, 1], [0, 16, 25], [81]]
    even = get_pytorch_dataloader(Squares(), 3, drop_last=True, **options)
    assert (len(even), list(even._sampler)) == (2, [[3, 2, 1], [0, 4, 5]])
    if WHOLE:  # workers take long to import torch
        import torch

        def generator():
            return torch.Generator().manual_seed(3)

        shuffled = get_pytorch_dataloader(Squares(), 4, shuffle=True, num_workers=2, in_order=True, generator=generator())
        order = list(torch.utils.data.RandomSampler(range(10), generator=generator()))
        assert [batch.tolist() for batch in shuffled] == [[i * i for i in order[at : at + 4]] for at in (0, 4, 8)]


@pytest.mark.parametrize("src", [b"no media" * 99, "/nowhere/film.mp4"], ids=["bytes", "path"])
def test_an_input_that_fails_is_a_runtime_error(src):
    """Programs for SPDL catch that."""
    frames = np.zeros((3, 8, 8, 3), np.uint8)
    for call in (
        lambda: spdl.io.demux_video(src),
        lambda: spdl.io.decode_packets(spdl.io.demux_image(src)),
        lambda: spdl.io.load_audio(src),
        lambda: spdl.io.load_image(src),
        lambda: spdl.io.load_image_batch([src], width=8, height=8),
        lambda: spdl.io.load_npy(src),
        lambda: spdl.io.load_npz(src),
        lambda: spdl.io.load_video(src),
        lambda: spdl.io.load_wav(src),
        lambda: spdl.io.decode_packets(frames, filter_desc="nothing=3"),
    ):
        with pytest.raises(RuntimeError) as caught:
            call()
        assert isinstance(caught.value, hr.MediaError)
        assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)


def test_video_has_the_bytes_of_the_command(tmp_path):
    """Also where nothing is scaled, and colours alone are converted, which graphs of hr.io.filter do more exactly."""
    film = tmp_path / "a.mkv"
    films.ffmpeg("-f", "lavfi", "-i", "testsrc2=size=64x48:duration=0.2", "-c:v", "ffv1", "-pix_fmt", "yuv420p", film)

    def expected(*filters, pix_fmt="rgb24"):
        return np.frombuffer(films.ffmpeg("-i", film, *filters, "-f", "rawvideo", "-pix_fmt", pix_fmt, "-"), np.uint8)

    assert np.array_equal(spdl.io.load_video(film).ravel(), expected())
    scaled = spdl.io.get_video_filter_desc(scale_width=32, scale_height=32, filter_desc="hflip")
    assert np.array_equal(spdl.io.load_video(film, filter_desc=scaled).ravel(), expected("-vf", scaled))
    assert np.array_equal(
        spdl.io.load_video(film, filter_desc="scale=30:20,format=rgba").ravel(), expected("-vf", "scale=30:20", pix_fmt="rgba")
    )
    assert np.array_equal(spdl.io.sample_decode_video(spdl.io.demux_video(film), [1, 4]), spdl.io.load_video(film)[[1, 4]])
    exact = spdl.io.load_video(film, filter_desc="sws_flags=bicubic+accurate_rnd+full_chroma_int+bitexact;format=rgb24")
    assert np.array_equal(exact, hr.io.filter("format=rgb24", film))
    assert not np.array_equal(exact, spdl.io.load_video(film))


def test_frames_that_a_video_has_not():
    frames = np.arange(3, dtype=np.uint8).repeat(192).reshape(3, 8, 8, 3)
    assert spdl.io.sample_decode_video(frames, [2, 0, 2])[:, 0, 0, 0].tolist() == [2, 0, 2]
    for indices, absent in (([3], 3), ([0, -1], -1), ([1, 99, 2], 99)):
        with pytest.raises(IndexError, match=f"no frame {absent}$"):
            spdl.io.sample_decode_video(frames, indices)
    with pytest.raises(ValueError, match="indices is empty"):
        spdl.io.sample_decode_video(frames, [])


async def later(x):
    return x


def with_paths(*path):
    return PipelineBuilder().add_source([1]).path_variants(lambda x: 0, [path]).build(num_threads=1).start()


def region(*pipes):
    target = defs.PlacementConfig(defs.ProcessPoolExecutorConfig())
    config = defs.PipelineConfig(defs.SourceConfig([1]), [target, *pipes, defs.PlacementConfig(defs.MAIN_PROCESS)], defs.SinkConfig(1))
    return build_pipeline(config, num_threads=1).start()


@pytest.mark.parametrize(
    ("wrong", "error"),
    [
        (lambda: defs.Pipe(later, executor="pool"), r"pipe: executor= is for functions that are not async"),
        (lambda: defs.PathVariants(len, [[]], batched=True), r"PathVariants: batched= is not supported: route items before"),
        (lambda: defs.Merge([], op=later), r"Merge: op= is not supported: write hr.merge"),
        (lambda: with_paths(defs.PlacementConfig(None)), r"PlacementConfig.* cannot be on a path: put it after path_variants"),
        (lambda: region(defs.Aggregate(2)), r"aggregate cannot be between \.to\(…\) and \.to\(MAIN_PROCESS\): put it after"),
        (lambda: region(defs.Pipe(abs, executor="pool")), r"abs is in a worker process: leave out executor="),
        (lambda: profile_pipeline(defs.PipelineConfig(defs.Merge([]), [], defs.SinkConfig(1))), r"profile_pipeline: a chain of pipe"),
        (lambda: DistributedRandomSampler(3, rank=3, world_size=3), r"sampler: 3 draws for rank 3 of 3"),
        (lambda: DistributedRandomSampler(3, rank=0, world_size=1, num_draws=4), r"4 draws of 3 without weights: give weights"),
        (lambda: DistributedRandomSampler(3, rank=0, world_size=1, weights=[1, -1, 1]), r"weights must be 3 numbers from 0 on"),
        (lambda: MergeIterator([[1]], weights=[0]), r"MergeIterator: weights must be numbers from 0 on, with a sum above 0"),
        (lambda: MergeIterator([]), r"MergeIterator: give iterables"),
        (lambda: get_pytorch_dataloader(Squares(), worker_init_fn=abs), r"get_pytorch_dataloader: worker_init_fn: see From SPDL.*sampler="),
        (lambda: get_pytorch_dataloader(Squares(), pin_memory=True), r"get_pytorch_dataloader: pin_memory: see From SPDL"),
        (lambda: get_pytorch_dataloader(Squares(), batch_sampler=[[1]]), r"batch_sampler= excludes batch_size"),
        (lambda: get_pytorch_dataloader(Squares(), sampler=[1], shuffle=True), r"sampler= and shuffle= exclude each other"),
        (lambda: cache_iterator([1], 2, return_caches_after=1), r"0 < num_caches <= return_caches_after"),
        (
            lambda: spdl.io.sample_decode_video(np.zeros((1, 8, 8, 3), np.uint8), [0], filter_desc="format=yuv420p"),
            r"pixels of yuv420p are not supported",
        ),
        (lambda: spdl.io.load_image_batch([b"no image"], width=8, height=8), r"1 of 1 images could not be loaded"),
    ],
)
def test_what_cannot_be_done_is_refused(wrong, error):
    with pytest.raises((hr.RecipeError, hr.MediaError), match=error):
        wrong()
