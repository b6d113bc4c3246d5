"""Workers that come and go while a loader runs change nothing but the speed, and a run that does not move says so."""

from __future__ import annotations

import os
import random
import signal
import threading
import time
import warnings

import numpy as np
import pytest

import headrace as hr
from conftest import augmented, digests, engine_pid, photo


@pytest.fixture(scope="module")
def whole(photos):
    """Every batch of three epochs."""
    with augmented(photos).loader(epochs=3) as loader:
        return digests(loader) + digests(loader) + digests(loader)


def stages(loader) -> dict[str, int]:
    return {stage["name"]: stage["workers"] for stage in loader.stats()["stages"]}


def test_another_thread_may_set_workers(photos, whole):
    stop = threading.Event()
    with augmented(photos).loader(epochs=3) as loader:

        def change() -> None:
            while not stop.is_set():
                loader.set_workers(random.randint(1, 9))
                time.sleep(0.001)

        thread = threading.Thread(target=change)
        thread.start()
        try:
            assert digests(loader) + digests(loader) + digests(loader) == whole
        finally:
            stop.set()
            thread.join()


def test_the_number_is_in_the_statistics_and_stays(photos):
    with augmented(photos).loader(epochs=3, workers=2) as loader:
        last = list(stages(loader))[-1]
        loader.set_workers(6)
        loader.set_workers(3, stage="read")
        assert (stages(loader)[last], stages(loader)["read"]) == (6, 3)
        for _ in loader:
            pass
        loader.set_epoch(0)
        next(iter(loader))
        assert (stages(loader)[last], stages(loader)["read"]) == (6, 3)


def test_the_number_survives_the_engine(photos, whole):
    with augmented(photos).loader(epochs=3, on_error="skip") as loader:
        last = list(stages(loader))[-1]
        loop = iter(loader)
        got = digests([next(loop)])
        loader.set_workers(5, stage="read")
        loader.set_workers(7)
        os.kill(engine_pid(), signal.SIGKILL)
        with pytest.warns(hr.HeadraceWarning, match="the engine died"):
            got += digests(loop)
        assert got == whole[: len(got)]
        assert len(got) == 12
        assert (stages(loader)[last], stages(loader)["read"]) == (7, 5)


@pytest.mark.parametrize(
    ("workers", "stage", "message"),
    [
        *((workers, None, "must be a whole number from 1 to 256") for workers in (0, 257, -1, 1 << 70, 1.5, 2.0, "3", True, None, [2])),
        (2, 3, "must be the name of a stage"),
        (2, "raed", 'did you mean "read"'),
        (2, "files", "has one worker by its nature"),
    ],
)
def test_what_is_refused(photos, workers, stage, message):
    with augmented(photos).loader(epochs=1) as loader:
        before = stages(loader)
        with pytest.raises(hr.RecipeError, match=message):
            loader.set_workers(workers, stage=stage)
        assert stages(loader) == before
        assert len(digests(loader)) == 12
    with pytest.raises(hr.LoaderClosed):
        loader.set_workers(2)


def test_numpys_numbers_are_taken(photos):
    with augmented(photos).loader(epochs=1) as loader:
        loader.set_workers(np.int64(3), stage="read")
        assert stages(loader)["read"] == 3


def test_a_consumer_that_does_not_ask_is_no_stall(photos):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with augmented(photos).loader(epochs=1, stall_after=3) as loader:
            for _ in zip(range(2), loader):
                time.sleep(4)


def test_what_takes_too_long_is_told(tmp_path):
    """Images so large that nothing else moves while one is decoded."""
    for i in range(3):
        photo(i, 2200, 2200).save(tmp_path / f"{i}.jpg")
    pipeline = hr.files(f"{tmp_path}/*.jpg").decode_image().resize((8, 8)).batch(1)
    with (
        pytest.warns(hr.HeadraceWarning, match=r"nothing has moved for .*has not finished \".*\.jpg\" \(index \d, for .*time_limit"),
        pipeline.loader(epochs=1, workers=1, stall_after=0.002) as loader,
    ):
        assert len(list(loader)) == 3


@pytest.mark.parametrize("seconds", [-1, 1e9, "soon", float("inf"), float("nan")])
def test_times_that_cannot_be(photos, seconds):
    with pytest.raises(hr.RecipeError, match=r"stall_after is .*: must be (a number of seconds|from 0)"):
        augmented(photos).loader(stall_after=seconds)
