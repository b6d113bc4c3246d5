"""A batch within a time limit, and what is left of an epoch after a `break`."""

from __future__ import annotations

import math
import threading
import time
from pathlib import Path

import pytest

import headrace as hr
from conftest import pipeline

pytestmark = pytest.mark.usefixtures("one_engine")


def keys(batches):
    return [k for b in batches for k in b["key"]]


@pytest.fixture(scope="module")
def epochs(photos):
    """The keys of the first epochs, batch by batch."""
    with pipeline(photos).loader(epochs=4) as loader:
        return [[list(b["key"]) for b in loader] for _ in range(4)]


def gated(folder, batches=4):
    """A pipeline of which batch i waits for a file of that name in a folder."""

    class Gate:
        def __iter__(self):
            for i in range(batches):
                while not (Path(folder) / str(i)).exists():
                    time.sleep(0.002)
                yield {"value": i}

    return hr.source(Gate(), gives={"value": "int64"}).batch(1)


def value(batch):
    return int(batch["value"][0])


def test_a_batch_that_is_not_ready_in_time_comes_with_the_next_call(tmp_path):
    with gated(tmp_path).loader(epochs=1) as loader:
        for i in range(4):
            for timeout in (0, 0.02):
                began = time.monotonic()
                with pytest.raises(TimeoutError, match="none is lost: the next call gets it") as caught:
                    loader.get(timeout=timeout)
                assert time.monotonic() - began >= timeout
                assert isinstance(caught.value, hr.NotReady)
                assert isinstance(caught.value, hr.HeadraceError)
            before = loader.state_dict()
            assert before["batches"] == i
            (tmp_path / str(i)).touch()
            assert value(loader.get(timeout=60)) == i
        with pytest.raises(StopIteration):
            loader.get(timeout=60)
        with pytest.raises(hr.EpochsExhausted):
            loader.get(timeout=60)


def test_a_limit_of_nothing_takes_what_is_ready(photos):
    with pipeline(photos).loader(epochs=1) as loader:
        got = [loader.get()["key"][0]]
        while len(got) < 12:
            try:
                got.append(loader.get(timeout=0)["key"][0])
            except hr.NotReady:
                time.sleep(0.001)
        assert len(set(got)) == 12
        with pytest.raises(StopIteration):
            while True:
                try:
                    loader.get(timeout=0)
                except hr.NotReady:
                    time.sleep(0.001)


def test_epochs_by_get_are_those_of_loops(photos, epochs):
    with pipeline(photos).loader(epochs=3) as loader:
        for expected in epochs[:3]:
            got = []
            with pytest.raises(StopIteration):
                while True:
                    got.append(list(loader.get(timeout=60)["key"]))
            assert got == expected
        with pytest.raises(hr.EpochsExhausted):
            loader.get()


def test_get_takes_from_the_loop_that_is_under_way(photos, epochs):
    with pipeline(photos).loader() as loader:
        got = []
        for batch in loader:
            got.append(list(batch["key"]))
            if len(got) < 12:
                got.append(list(loader.get(timeout=60)["key"]))
        assert got == epochs[0]
        assert list(loader.get()["key"]) == epochs[1][0]
        assert [list(b["key"]) for b in loader.resume()] == epochs[1][1:]


def test_get_goes_on_with_an_epoch_that_was_left(photos, epochs):
    with pipeline(photos).loader() as loader:
        for _ in loader:
            break
        assert list(loader.get()["key"]) == epochs[0][1]
        assert list(loader.get()["key"]) == epochs[0][2]
        assert [list(b["key"]) for b in loader] == epochs[1]  # a loop begins the next
        loader.set_epoch(3)
        assert list(loader.get()["key"]) == epochs[3][0]


def test_waiting_for_another_thread_is_limited_too(tmp_path):
    with gated(tmp_path).loader(epochs=1) as loader:
        got = []
        inside = threading.Event()

        def wait():
            inside.set()
            got.append(value(loader.get()))

        thread = threading.Thread(target=wait)
        thread.start()
        inside.wait()
        for _ in range(20):
            with pytest.raises(hr.NotReady):
                loader.get(timeout=0.01)
        for i in range(4):
            (tmp_path / str(i)).touch()
        thread.join()
        while len(got) < 4:
            got.append(value(loader.get(timeout=60)))
        assert got == [0, 1, 2, 3]


@pytest.mark.parametrize("timeout", [-1, -0.001, math.nan])
def test_limits_that_are_none(photos, timeout):
    with pipeline(photos).loader() as loader:
        with pytest.raises(ValueError, match="must be at least 0 seconds, or None"):
            loader.get(timeout=timeout)
        assert loader.get(timeout=math.inf)["key"]


@pytest.mark.parametrize("timeout", ["1", True, [1]])
def test_limits_that_are_no_numbers(photos, timeout):
    with pipeline(photos).loader() as loader, pytest.raises(TypeError, match="must be a number of seconds, or None"):
        loader.get(timeout=timeout)


def test_get_of_a_closed_loader(photos):
    loader = pipeline(photos).loader()
    loader.close()
    with pytest.raises(hr.LoaderClosed):
        loader.get(timeout=1)


@pytest.mark.parametrize("taken", [1, 5, 12])
def test_what_is_left_after_a_break(photos, epochs, taken):
    with pipeline(photos).loader(epochs=2) as loader:
        for i, _ in enumerate(loader, 1):
            if i == taken:
                break
        state = loader.state_dict()
        assert loader.resume() is loader
        assert loader.state_dict() == state
        left = epochs[0][taken:] or epochs[1]  # after an epoch's last batch nothing was left
        assert [list(b["key"]) for b in loader] == left


def test_resuming_again_and_again(photos, epochs):
    with pipeline(photos).loader() as loader:
        got = []
        while len(got) < 12:
            for batch in loader.resume():
                got.append(list(batch["key"]))
                break
        assert got == epochs[0]
        assert list(next(iter(loader))["key"]) == epochs[1][0]


def test_resuming_with_steps_per_epoch(photos, epochs):
    with pipeline(photos).loader(steps_per_epoch=5) as loader:
        for _ in loader:
            break
        assert [list(b["key"]) for b in loader.resume()] == epochs[0][1:5]
        assert [list(b["key"]) for b in loader] == epochs[1][:5]


@pytest.mark.parametrize("prefetch", [0, 1, 7])
def test_so_many_batches_are_made_ahead(photos, prefetch, epochs):
    with pipeline(photos).loader(epochs=1, prefetch=prefetch) as loader:
        assert [list(b["key"]) for b in loader] == epochs[0]
        assert f"prefetch: {prefetch}" in loader.recipe()


@pytest.mark.parametrize("prefetch", [-1, 1001])
def test_depths_that_are_none(photos, prefetch):
    with pytest.raises(hr.RecipeError, match=f"prefetch is {prefetch}: must be from 0, on demand, to 1000 batches"):
        pipeline(photos).loader(prefetch=prefetch)
