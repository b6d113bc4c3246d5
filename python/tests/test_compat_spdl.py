"""Programs as users of SPDL write them, with headrace.compat.spdl."""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction

import pytest

import headrace as hr
from headrace.compat.spdl import PipelineBuilder, PipelineFailure


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
    build = PipelineBuilder().add_source(range(20)).pipe(fails).add_sink(1).build
    caplog.set_level(logging.ERROR, "headrace.compat.spdl")
    assert list(build(num_threads=1)) == [x for x in range(20) if x % 5 != 3]
    assert len(caplog.records) == 4
    assert "fails (stage 1): an item has failed, and is dropped: ValueError: bad 3" in caplog.messages[0]
    for most in (2, Fraction(1, 10)):
        with pytest.raises(PipelineFailure, match=r"fails \(stage 1\): \d of \d+ items have failed; max_failures is"):
            list(build(num_threads=1, max_failures=most))


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


def test_what_is_not_there_is_said():
    with pytest.raises(ImportError, match=r"headrace\.compat\.spdl has no TaskStatsHook: see From SPDL.*: \.loader\(hooks="):
        from headrace.compat.spdl import TaskStatsHook  # noqa: F401
    with pytest.raises(AttributeError, match=r"PipelineBuilder has no path_variants: see From SPDL.*\.route\("):
        PipelineBuilder().path_variants()
    with pytest.raises(hr.RecipeError, match=r"build: task_hook_factory= is not supported: write the pipeline with hr.source"):
        PipelineBuilder().add_source([1]).build(num_threads=1, task_hook_factory=print)
    with pytest.raises(TypeError, match="max_failure"):  # which was meant to be max_failures
        PipelineBuilder().add_source([1]).build(num_threads=1, max_failure=3)
    with pytest.raises(hr.RecipeError, match="call add_source first"):
        PipelineBuilder().build(num_threads=1)
    with pytest.raises(hr.RecipeError, match="pipe: 3 cannot be called"):
        PipelineBuilder().pipe(3)
