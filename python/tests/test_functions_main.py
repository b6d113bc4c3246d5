"""Steps with `where="main"`: functions of batches that the loop itself calls."""

from __future__ import annotations

import signal
import threading
import traceback
import weakref
from typing import ClassVar

import numpy as np
import pytest

import headrace as hr
from conftest import Struck, pipeline


def plain(photos):
    with pipeline(photos).loader(epochs=2) as loader:
        return [[batch["image"].copy() for batch in loader] for _ in range(2)]


def test_a_function_of_batches(photos):
    want = plain(photos)
    p = pipeline(photos).map(lambda batch: {"x": batch["image"][:, ::2], "key": batch["key"]}, where="main")
    with p.loader(epochs=2) as loader:
        for images in want:
            got = list(loader)
            assert [set(batch) for batch in got] == [{"x", "key"}] * len(images)
            for batch, image in zip(got, images, strict=True):
                np.testing.assert_array_equal(batch["x"], image[:, ::2])


def test_it_may_return_anything(photos):
    p = (
        pipeline(photos)
        .map(lambda batch: batch["label"].tolist(), where="main")
        .map(sum, where="main")
        .map(lambda n: n * 1.0, where="main")
    )
    with pipeline(photos).loader(epochs=1) as loader:
        want = [float(batch["label"].sum()) for batch in loader]
    with p.loader(epochs=1) as loader:
        assert list(loader) == want
        assert set(loader.schema) == {"image", "label", "key"}  # of what the engine gives


def test_fields(photos):
    def split(image, label):
        return image[..., 0], label + 1

    p = pipeline(photos).map(split, where="main", fields=["image", "label"], to=["red", "label"])
    p = p.map(lambda red: red.mean(), where="main", fields="red", to="mean")
    with pipeline(photos).loader(epochs=1) as one, p.loader(epochs=1) as other:
        for want, got in zip(one, other, strict=True):
            assert list(got) == ["image", "label", "key", "red", "mean"]
            np.testing.assert_array_equal(got["red"], want["image"][..., 0])
            np.testing.assert_array_equal(got["label"], want["label"] + 1)
            assert got["mean"] == want["image"][..., 0].mean()


@pytest.mark.parametrize(
    ("function", "arguments", "message"),
    [
        (lambda x: x, {"fields": "imag"}, r"needs the field 'imag', but the batch has \['image', 'label', 'key'\]"),
        (lambda x: (x,), {"fields": "image", "to": ["a", "b"]}, "returned tuple: must be a tuple of 2, for a, b"),
        (lambda x: 3, {"fields": "image", "to": ["a", "b"]}, "returned int: must be a tuple of 2, for a, b"),
    ],
)
def test_fields_that_do_not_fit(photos, function, arguments, message):
    with pipeline(photos).map(function, where="main", **arguments).loader() as loader:
        with pytest.raises(hr.HeadraceError, match=message):
            next(iter(loader))
    with pipeline(photos).map(lambda batch: 5, where="main").map(function, where="main", fields="image").loader() as loader:
        with pytest.raises(hr.HeadraceError, match="needs the field 'image', but the batch has int"):
            next(iter(loader))


def test_torch(photos):
    torch = pytest.importorskip("torch")
    p = pipeline(photos).map(lambda image: image.float() / 255, where="main", fields="image").to("torch")
    with p.loader(epochs=1) as loader:
        batch = next(iter(loader))
    assert isinstance(batch["image"], torch.Tensor)
    assert batch["image"].dtype == torch.float32


def drawn(photos, **options):
    def draw(batch, rng):
        return rng.integers(0, 1 << 62, 3).tolist()

    p = pipeline(photos).map(lambda batch: batch, where="main").map(draw, where="main")
    with p.loader(epochs=2, **options) as loader:
        return [list(loader) for _ in range(2)]


def test_random_numbers_are_those_of_the_batch(photos):
    want = drawn(photos)
    assert drawn(photos, workers=1) == want
    everything = [tuple(numbers) for epoch in want for numbers in epoch]
    assert len(set(everything)) == len(everything) == 24
    ranks = [drawn(photos, rank=rank, world_size=2) for rank in range(2)]
    assert not {tuple(n) for epoch in ranks[0] for n in epoch} & {tuple(n) for epoch in ranks[1] for n in epoch}

    p = pipeline(photos).map(lambda batch, *, rng: (batch["key"][0], rng.random()), where="main")
    with p.loader(epochs=2) as loader:
        whole = [batch for _ in range(2) for batch in loader]
    for stop in (0, 1, 5, 12, 13):
        with p.loader(epochs=2) as loader:
            state = loader.state_dict()
            for _ in range(2):
                for _ in loader:
                    state = loader.state_dict()
                    stop -= 1
                    if stop <= 0:
                        break
                if stop <= 0:
                    break
        with p.loader(epochs=2) as loader:
            loader.load_state_dict(state)
            rest = []
            with pytest.raises(hr.EpochsExhausted):
                while True:
                    rest += list(loader)
        assert rest == whole[len(whole) - len(rest) :]
        assert rest


def test_seeds_differ(photos):
    def draw(batch, rng):
        return rng.random()

    def first(seed):
        with pipeline(photos, seed=seed).map(draw, where="main").loader() as loader:
            return next(iter(loader))

    assert first(1) != first(2)
    assert first(1) == first(1)


def test_replay_makes_the_batch_that_the_loop_got(photos):
    p = pipeline(photos).map(lambda batch, rng: (batch["key"][0], rng.random()), where="main")
    with p.loader(epochs=1) as loader:
        state = loader.state_dict()
        batches = list(loader)
    assert hr.replay(p, state, 3).batch == batches[3]


class Failing:
    """Fails at some calls."""

    def __init__(self, *at):
        self.calls, self.at = 0, at

    def __call__(self, batch):
        self.calls += 1
        if self.calls - 1 in self.at:
            raise KeyError("mix")
        return batch


def test_errors_are_the_functions_own(photos):
    p = pipeline(photos)
    with p.loader(epochs=1) as loader:
        keys = [list(batch["key"]) for batch in loader]
    with p.map(Failing(2), where="main").loader(epochs=1) as loader:
        got = []
        with pytest.raises(KeyError) as caught:
            for batch in loader:
                got.append(list(batch["key"]))
                state = loader.state_dict()
        assert got == keys[:2]
        first, second, third, *_ = keys[2]
        assert caught.value.__notes__ == [f"headrace: Failing() was given batch 2 of epoch 0: {first!r}, {second!r}, {third!r}, … 4 in all"]
        shown = "".join(traceback.format_exception(caught.value))
        assert "self.calls += 1" in shown or "raise KeyError" in shown
        assert loader.state_dict() == state  # the batch that failed does not count
        state = loader.state_dict()
    with p.loader(epochs=1) as loader:
        loader.load_state_dict(state)
        assert [list(batch["key"]) for batch in loader] == keys[2:]


def test_the_loop_may_go_on_with_the_same_batch(photos):
    p = pipeline(photos)
    with p.loader(epochs=1) as loader:
        keys = [list(batch["key"]) for batch in loader]
    with p.map(Failing(0, 2, 3), where="main").loader(epochs=1) as loader:
        got, failed = [], 0
        loop = iter(loader)
        while True:
            try:
                got.append(list(next(loop)["key"]))
            except KeyError:
                failed += 1
            except StopIteration:
                break
        assert failed == 3
        assert got == keys
        assert loader.state_dict()["epoch"] == 1


def test_another_thread_may_take_over_a_batch_that_failed(photos):
    p = pipeline(photos)
    with p.loader(epochs=1) as loader:
        keys = [list(batch["key"]) for batch in loader]
    got = []
    with p.map(Failing(1), where="main").loader(epochs=1) as loader:
        loop = iter(loader)
        got.append(list(next(loop)["key"]))
        failure = []

        def fail():
            try:
                next(loop)
            except KeyError as error:
                failure.append(error)

        thread = threading.Thread(target=fail)
        thread.start()
        thread.join()
        assert len(failure) == 1
        got += [list(batch["key"]) for batch in loop]
    assert got == keys


def test_a_new_loop_ends_the_one_before(photos):
    with pipeline(photos).map(Failing(0), where="main").loader() as loader:
        old = iter(loader)
        with pytest.raises(KeyError):
            next(old)
        new = iter(loader)
        with pytest.raises(hr.LoopEnded):
            next(old)
        assert list(next(new)["key"])


def test_many_threads_get_each_batch_once(photos):
    p = pipeline(photos, size=2)
    with p.loader(epochs=1) as loader:
        keys = sorted(key for batch in loader for key in batch["key"])
    got = []
    with p.map(lambda batch: list(batch["key"]), where="main").loader(epochs=1) as loader:
        loop = iter(loader)
        threads = [threading.Thread(target=lambda: got.extend(loop)) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert sorted(key for batch in got for key in batch) == keys


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # a finalizer may be what is struck
def test_interrupts_lose_nothing(photos, striker):
    p = pipeline(photos).map(lambda batch: (list(batch["key"]), int(batch["image"].sum())), where="main")
    with p.loader(epochs=None) as loader:
        expected = [list(loader) for _ in range(10)]
    with p.loader(epochs=None) as loader:
        signal.setitimer(signal.ITIMER_REAL, 0.0007, 0.0007)
        for epoch in range(10):
            loop, batches = iter(loader), []
            while True:
                try:
                    striker.armed = True
                    for batch in loop:
                        batches += [batch]  # no call: between two of the loop's own steps, no handler runs
                    striker.armed = False
                    break
                except Struck:
                    pass
            assert batches == expected[epoch]
        signal.setitimer(signal.ITIMER_REAL, 0)
    assert striker.count > 10


class Made:
    made = 0
    open: ClassVar = weakref.WeakSet()

    def __init__(self):
        Made.made += 1
        Made.open.add(self)

    def __call__(self, batch):
        return batch

    def close(self):
        Made.open.discard(self)


def test_of_a_class_each_loader_has_an_object(photos):
    p = pipeline(photos).map(Made, where="main")
    assert Made.made == 0
    with p.loader(epochs=1) as one, p.loader(epochs=1) as other:
        assert Made.made == len(Made.open) == 2
        assert len(list(one)) == len(list(other)) == 12
    assert not Made.open


class Broken:
    def __init__(self):
        raise RuntimeError("no set-up")

    def __call__(self, batch):
        return batch


def test_a_set_up_that_fails(photos):
    with pytest.raises(RuntimeError, match="no set-up"):
        pipeline(photos).map(Made, where="main").map(Broken, where="main").loader()
    assert not Made.open


def test_headspace_and_profile(photos):
    p = pipeline(photos).map(lambda batch: {"n": len(batch["key"])}, where="main")
    with p.loader(epochs=1) as loader:
        assert hr.headspace(loader, lambda batch: batch["n"], batches=5).batches == 5
        assert loader.profile(items=8, workers=1).stages


def test_stop_iteration_does_not_end_the_loop(photos):
    """Raised by a function, it is a mistake: a loop that takes it for its end would leave batches out without a word."""
    with pipeline(photos).map(lambda batch: next(iter(())), where="main").loader(epochs=1) as loader:
        loop = iter(loader)
        for _ in range(2):
            with pytest.raises(RuntimeError, match="<lambda> raised StopIteration") as caught:
                next(loop)
            assert isinstance(caught.value.__cause__, StopIteration)
            assert "was given batch 0 of epoch 0" in caught.value.__notes__[0]
        assert loader.state_dict()["batches"] == 0


def test_errors_of_headrace_within_a_function_show_its_line(photos):
    def reads(batch):
        return hr.io.load_image(b"no image at all")

    with pipeline(photos).map(reads, where="main").loader(epochs=1) as loader:
        with pytest.raises(hr.MediaError, match="unknown image format") as caught:
            next(iter(loader))
    hr.io.close()
    assert 'return hr.io.load_image(b"no image at all")' in "".join(traceback.format_exception(caught.value))
