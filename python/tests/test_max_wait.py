"""Batches that do not wait to be full, of a source whose samples arrive one by one."""

from __future__ import annotations

import json
import queue
import threading
from time import perf_counter, sleep

import numpy as np
import pytest

import headrace as hr

WAIT = 0.05  # seconds, which a busy machine may prolong and never shortens


class Requests:
    """A queue that ends with None."""

    def __init__(self) -> None:
        self.queue: queue.Queue[dict | None] = queue.Queue()

    def __iter__(self):
        return iter(self.queue.get, None)

    def put(self, *numbers: int) -> None:
        for n in numbers:
            self.queue.put({"n": n, "x": np.full(5, n, np.float32), "text": f"request {n}", "any": {"of": n}})

    def pipeline(self, **options) -> hr.Pipeline:
        gives = {"n": int, "x": ("float32", (5,)), "text": str, "any": object}
        return (
            hr.source(self, gives=gives, where="here")
            .map(same, fields="n", to="n", gives=int, where="here")
            .batch(8, **{"max_wait": WAIT, **options})
        )


def same(number: int) -> int:
    return number


def listed(samples: list[dict]) -> dict:
    return {"n": np.array([s["n"] for s in samples]), "sum": np.sum([s["x"] for s in samples], axis=0)}


@pytest.mark.parametrize("options", [{}, {"prefetch": 0}, {"prefetch": 1, "order": "completion"}], ids=str)
def test_a_batch_is_given_when_it_is_full_or_its_time_is_over(options: dict) -> None:
    requests = Requests()
    with requests.pipeline().loader(epochs=1, **options) as loader:
        loop = iter(loader)
        began = perf_counter()
        requests.put(0, 1, 2)
        some = next(loop)["n"].tolist()
        while len(some) < 3:  # a thread that puts may be interrupted
            some += next(loop)["n"].tolist()
        assert sorted(some) == [0, 1, 2]
        assert perf_counter() - began >= WAIT

        threading.Timer(WAIT, requests.queue.put, [None]).start()
        requests.put(*range(3, 14))
        rest = [(batch["n"].tolist(), batch) for batch in loop]
        assert sorted(n for numbers, _ in rest for n in numbers) == list(range(3, 14))
        assert all(len(numbers) <= 8 for numbers, _ in rest)
        for numbers, batch in rest:
            np.testing.assert_array_equal(batch["x"], np.repeat(np.float32(numbers)[:, None], 5, axis=1))
            assert list(batch["text"]) == [f"request {n}" for n in numbers]
            assert batch["any"] == [{"of": n} for n in numbers]


def test_a_function_makes_batches_that_are_not_full() -> None:
    requests = Requests()
    pipeline = requests.pipeline(collate=listed, where="here")
    requests.put(0, 1)
    with pipeline.loader(epochs=1) as loader:  # which tries the function, and waits for no more than a sample
        batches = iter(loader)
        batch = next(batches)
        while batch["n"].tolist()[-1] != 1:
            batch = next(batches)
        assert batch["sum"].shape == (5,)
        requests.queue.put(None)
        assert list(loader.resume()) == []


def test_what_is_in_work_does_not_hold_back_what_is_done() -> None:
    held = threading.Event()

    def slow(sample: dict) -> dict:
        if sample["n"] == 1:
            assert held.wait(60)
        return sample

    requests = Requests()
    requests.put(*range(4))
    requests.queue.put(None)
    pipeline = hr.source(requests, gives={"n": int, "x": ("float32", (5,)), "text": str, "any": object}, where="here")
    with pipeline.map(slow, where="here", workers=4).batch(8, max_wait=WAIT).loader(epochs=1) as loader:
        loop = iter(loader)
        assert next(loop)["n"].tolist() == [0]
        held.set()
        assert [n for batch in loop for n in batch["n"].tolist()] == [1, 2, 3]


class Numbers:
    def __len__(self) -> int:
        return 23

    def __getitem__(self, i: int) -> dict:
        sleep(0.004)
        return {"n": i}


def test_a_state_counts_samples() -> None:
    pipeline = hr.source(Numbers(), gives={"n": int}, where="here").batch(8, max_wait=0.01)
    seen: list[int] = []
    state = None
    for stop in (1, 2, 3, 100):
        with pipeline.loader(epochs=1) as loader:
            if state is not None:
                loader.load_state_dict(json.loads(json.dumps(state)))
            for number, batch in enumerate(loader, 1):
                seen += batch["n"].tolist()
                state = loader.state_dict()
                if number == stop:
                    break
            else:
                break
    assert seen == list(range(23))
    with pipeline.loader(epochs=1) as loader:
        assert loader.max_batches == 23
        with pytest.raises(hr.errors.WrongType, match="max_wait"):
            len(loader)


@pytest.mark.parametrize(
    ("pipeline", "options", "why"),
    [
        (lambda s: s.batch(8, max_wait=1), {"rank": 0, "world_size": 2}, 'max_wait of "batch", with world_size 2'),
        (lambda s: s.batch(8, max_wait=1), {"rank": 1, "world_size": 2, "steps_per_epoch": 3}, "give each rank a loader of its own"),
        (lambda s: s.shuffle().batch(8, max_wait=1), {}, 'has max_wait, and "shuffle" sets the order'),
        (lambda s: s.batch(global_size=8, max_wait=1), {}, "max_wait and global_size cannot both be given"),
        (lambda s: s.batch(8, drop_last=True, max_wait=1), {}, "max_wait and drop_last cannot both be given"),
        (lambda s: s.batch(8, max_wait=1).unbatch(), {}, '"unbatch".*makes other samples of the batches'),
        (lambda s: s.batch(8, max_wait=0), {}, "max_wait is 0: must be from 0.001 to 86400 seconds"),
        (lambda s: s.batch(8, max_wait=float("nan")), {}, "max_wait is nan: must be a number of seconds"),
    ],
)
def test_where_it_would_be_unclear_it_is_refused(pipeline, options: dict, why: str) -> None:
    with pytest.raises(hr.errors.RecipeError, match=why):
        pipeline(hr.source(range(50), gives=int)).loader(**options)


def test_lists_of_a_sampler_are_whole() -> None:
    with pytest.raises(hr.errors.RecipeError, match='has max_wait, and "sampler" sets the order'):
        hr.source(range(50), gives=int, sampler=[[1, 2], [3]]).batch(max_wait=1).loader()
