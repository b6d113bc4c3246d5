"""Profiles: each stage alone; and the headspace of a program's own step."""

from __future__ import annotations

import time

import numpy as np
import pytest

import headrace as hr
from conftest import PHOTOS, augmented, digests, pipeline


def test_a_profile_has_every_stage_and_prints_as_a_table(photos):
    with augmented(photos).loader(epochs=1, workers=2) as loader:
        profile = loader.profile(items=8, workers=(1, 3))
        names = [stage["name"] for stage in loader.stats()["stages"]]
        assert len(list(loader)) == 12  # it was not disturbed
    assert [stage.name for stage in profile.stages] == names
    assert profile.items == 16
    assert profile.stages[0].kind == "source"
    for stage in profile.stages[1:]:
        assert [(trial.workers, trial.items) for trial in stage.trials] == [(1, 8), (3, 8)]
        assert all(trial.rate > 0 and trial.seconds > 0 for trial in stage.trials)
        assert stage.best in stage.trials
    assert profile.slowest.best.samples_per_second == min(stage.best.samples_per_second for stage in profile.stages)
    assert str(profile) == repr(profile) == profile.text
    assert profile.verdict.split(".")[0] in " ".join(profile.text.split())
    assert profile._repr_html_().startswith("<pre>The stage ")


def test_a_profile_takes_apart_what_is_fused(photos):
    with augmented(photos).loader(epochs=1) as loader:
        assert len(loader.profile(workers=[1], fuse=False).stages) > len(loader.profile(workers=[1]).stages)
        assert loader.profile(workers=2).items == PHOTOS  # all that there are


def test_profiles_that_are_refused(photos, own_photos):
    with pipeline(photos).loader(memory=50_000_000) as loader:
        for arguments, words in (
            ({"items": 0}, "--items is 0"),
            ({"workers": [0]}, "workers has 0"),
            ({"workers": []}, r"workers is \[\]: must be numbers of workers"),
            ({"workers": [1.5]}, "must be a whole number"),
            ({"workers": "3"}, "must be a whole number"),
            ({"items": 2.5}, "must be a whole number"),
            ({"workers": [2, 2]}, "have one twice"),
            ({"items": 10**9, "workers": [1]}, "raise memory, or profile fewer"),
        ):
            with pytest.raises(hr.RecipeError, match=words):
                loader.profile(**arguments)
    with pytest.raises(hr.LoaderClosed):
        loader.profile()
    bad = sorted(own_photos.rglob("*.jpg"))[0]
    with pipeline(own_photos).loader() as loader:
        bad.write_bytes(bad.read_bytes()[:500])
        with pytest.raises(hr.HeadraceError, match=bad.name):
            loader.profile(workers=[1])


def test_a_profile_measures_functions_of_the_program(photos, monkeypatch):
    """Closures as well as what can be imported, in this interpreter, whatever else the environment names."""
    monkeypatch.setenv("HEADRACE_PYTHON", "/no/such/python")
    offset = np.uint8(3)

    class Brighter:
        def __call__(self, sample):
            print("brighter")  # noqa: T201
            return {**sample, "image": sample["image"] + offset}

    steps = hr.files(photos, label="parent").decode_image().resize((16, 16)).map(Brighter).filter(lambda label: label >= 0, fields="label")
    with steps.batch(4).map(lambda batch: batch, where="main").loader(epochs=1, workers=2) as loader:
        profile = loader.profile(items=8, workers=(1, 2))
        assert len(list(loader)) == 12
    assert [stage.name for stage in profile.stages] == ["files", "read", "decode_image+resize", "map+filter", "batch"]
    (stage,) = (stage for stage in profile.stages if stage.name == "map+filter")
    assert [(trial.workers, trial.items) for trial in stage.trials] == [(1, 8), (2, 8)]


def test_a_profile_of_a_function_that_fails(photos):
    def fail(image):
        print("headrace or not")  # noqa: T201
        raise ValueError(image.shape)

    steps = hr.files(photos).decode_image().resize((16, 16)).map(fail, fields="image", gives=("uint8", (16, 16, 3)))
    with steps.batch(4).loader(epochs=1) as loader, pytest.raises(hr.HeadraceError, match=r"ValueError: \(16, 16, 3\)") as caught:
        loader.profile(workers=[1])
    assert str(caught.value).startswith("headrace: the profile failed: ")
    assert "or not" not in str(caught.value)


def test_headspace_of_a_slow_loader_and_of_a_slow_step(photos):
    with pipeline(photos).loader() as loader:
        before = loader.state_dict()
        seen = []
        found = hr.headspace(loader, lambda batch: seen.append(len(batch["key"])), 30, cached=2)
        assert len(seen) == 2 + 30 + 30
        assert found.batches == 30
        assert found.waited <= found.seconds
        assert found.ratio == pytest.approx(found.cached_rate / found.rate)
        assert "times as fast" in str(found)  # a step that does nothing waits for everything
        assert loader.state_dict() == before

        found = hr.headspace(loader, lambda _: time.sleep(0.05), 10)
        assert found.cached_seconds >= 0.5
        assert found.seconds >= 0.5
        assert str(found) in repr(found)


def test_headspace_leaves_the_loader_where_it_was(photos):
    with augmented(photos).loader(epochs=2) as loader:
        whole = digests(loader)
    with augmented(photos).loader(epochs=2) as loader:
        got = []
        for batch in loader:
            got += digests([batch])
            if len(got) == 5:
                break
        hr.headspace(loader, lambda _: None, 40)  # more than both epochs have
        state = loader.state_dict()
        loader.load_state_dict(state)
        assert got + digests(loader) == whole


@pytest.mark.parametrize("cut", [1, 5, 11, 12])
def test_headspace_in_the_last_epoch(photos, cut):
    with augmented(photos).loader(epochs=1) as loader:
        whole = digests(loader)
    with augmented(photos).loader(epochs=1) as loader:
        loop = iter(loader)
        for _ in range(cut):
            next(loop)
        state = loader.state_dict()
        assert hr.headspace(loader, lambda _: None, 15).batches == 15
        assert loader.state_dict() == state
        if cut < 12:
            assert digests(loader) == whole[cut:]
        with pytest.raises(hr.EpochsExhausted):
            iter(loader)


@pytest.mark.parametrize("policy", ["skip", "replace"])
def test_headspace_leaves_the_errors_as_they_were(own_photos, policy):
    for bad in sorted(own_photos.rglob("*.jpg"))[::5]:
        bad.write_bytes(b"nothing")
    with augmented(own_photos).loader(epochs=1, on_error=policy, max_errors=0.9) as loader:
        list(loader)
        told = sorted(error.key for error in loader.errors)
    with augmented(own_photos).loader(epochs=1, on_error=policy, max_errors=0.9) as loader:
        loop = iter(loader)
        for _ in range(2):
            next(loop)
        before = list(loader.errors), loader.errors.total, loader.errors.replaced
        hr.headspace(loader, lambda _: None, 15)
        assert (list(loader.errors), loader.errors.total, loader.errors.replaced) == before
        list(loader)
        assert sorted(error.key for error in loader.errors) == told
        assert loader.errors.total == len(told)


def test_headspace_that_cannot_be_measured(photos):
    empty = hr.files(photos).decode_image().resize(48).center_crop(48).batch(1000, drop_last=True)
    with empty.loader() as loader, pytest.raises(ValueError, match="there is nothing to measure"):
        hr.headspace(loader, lambda _: None)
    with pipeline(photos).loader() as loader:
        before = loader.state_dict()
        for arguments in ((0,), (1,)):
            with pytest.raises(ValueError, match="numbers of at least 1"):
                hr.headspace(loader, lambda _: None, *arguments, cached=0)

        def fails(batch):
            raise KeyError("mine")

        with pytest.raises(KeyError, match="mine"):
            hr.headspace(loader, fails)
        assert loader.state_dict() == before
