"""One loop is one epoch."""

from __future__ import annotations

import sys
from types import ModuleType

import pytest

import headrace as hr
from conftest import digests, files_of, pipeline

pytestmark = pytest.mark.usefixtures("one_engine")


def keys(batches):
    return [k for b in batches for k in b["key"]]


@pytest.fixture(scope="module")
def epochs(photos):
    """The keys of the first epochs, each from a loop that ran to its end."""
    with pipeline(photos).loader(epochs=6) as loader:
        return [keys(loader) for _ in range(6)]


def test_epochs_have_all_samples_in_orders_of_their_own(photos, epochs):
    assert all(sorted(e) == files_of(photos) for e in epochs)
    assert len({tuple(e) for e in epochs}) == 6


def test_a_loop_past_the_last_epoch(photos):
    with pipeline(photos).loader(epochs=2) as loader:
        list(loader)
        list(loader)
        with pytest.raises(hr.EpochsExhausted, match="all 2 epochs were run"):
            list(loader)
        with pytest.raises(hr.EpochsExhausted):
            iter(loader)


def test_no_epochs(photos):
    with pipeline(photos).loader(epochs=0) as loader, pytest.raises(hr.EpochsExhausted):
        iter(loader)


def test_an_exhausted_loop_stays_exhausted(photos):
    with pipeline(photos).loader(epochs=2) as loader:
        loop = iter(loader)
        list(loop)
        assert next(loop, None) is None
        assert next(loop, None) is None


@pytest.mark.parametrize("taken", [1, 2, 5, 11, 12])
def test_break_ends_the_epoch(photos, epochs, taken):
    with pipeline(photos).loader(epochs=6) as loader:
        for expected in epochs[:3]:
            got = []
            for i, batch in enumerate(loader, 1):
                got.extend(batch["key"])
                if i == taken:
                    break
            assert got == expected[: 4 * taken]
        assert keys(loader) == epochs[3]


def test_a_loop_that_took_nothing_is_begun_again(photos, epochs):
    with pipeline(photos).loader(epochs=2) as loader:
        iter(loader)
        iter(loader)
        assert keys(loader) == epochs[0]
        iter(loader)
        assert keys(loader) == epochs[1]


def test_an_older_loop_has_ended(photos, epochs):
    with pipeline(photos).loader() as loader:
        old = iter(loader)
        next(old)
        new = iter(loader)
        assert next(new)["key"] == epochs[1][:4]
        with pytest.raises(hr.LoopEnded):
            next(old)
        assert next(new)["key"] == epochs[1][4:8]


def test_set_epoch(photos, epochs):
    with pipeline(photos).loader() as loader:
        for n in (0, 1, 2, 5, 3, 3, 0):
            loader.set_epoch(n)
            assert keys(loader) == epochs[n]
        with pytest.raises(hr.RecipeError, match="epochs count from 0"):
            loader.set_epoch(-1)


def test_set_epoch_with_the_pending_one_changes_nothing(photos, epochs):
    with pipeline(photos).loader() as loader:
        loop = iter(loader)
        next(loop)
        loader.set_epoch(1)  # pending once this loop is left
        assert next(loop)["key"] == epochs[0][4:8]
        assert keys(loader) == epochs[1]


def test_set_epoch_back_into_the_epoch_that_was_left(photos, epochs):
    with pipeline(photos).loader() as loader:
        loop = iter(loader)
        next(loop)
        loader.set_epoch(0)
        with pytest.raises(hr.LoopEnded):
            next(loop)
        assert keys(loader) == epochs[0]


def test_set_epoch_beyond_the_last(photos, epochs):
    with pipeline(photos).loader(epochs=2) as loader:
        loader.set_epoch(2)
        with pytest.raises(hr.EpochsExhausted):
            iter(loader)
        loader.set_epoch(1)
        assert keys(loader) == epochs[1]


def test_torchs_idiom(photos, epochs):
    with pipeline(photos).loader(epochs=3) as loader:
        for n in range(3):
            loader.set_epoch(n)
            assert keys(loader) == epochs[n]


def test_batches_of_an_epoch_do_not_depend_on_how_it_was_reached(photos):
    with pipeline(photos).loader(epochs=3) as straight:
        first = [digests(straight) for _ in range(3)]
    with pipeline(photos).loader(epochs=3) as jumping:
        jumping.set_epoch(2)
        assert digests(jumping) == first[2]


def test_many_small_epochs(photos):
    few = files_of(photos)[:3]
    with hr.files(few).shuffle().decode_image().resize(32).center_crop(32).batch(2).loader(epochs=50) as loader:
        for n in range(50):
            if n % 7 == 3:
                next(iter(loader))
            else:
                assert sorted(keys(loader)) == few


def test_an_epoch_without_batches(photos):
    few = files_of(photos)[:3]
    with hr.files(few).decode_image().resize(32).center_crop(32).batch(4, drop_last=True).loader(epochs=2) as loader:
        assert len(loader) == 0
        assert list(loader) == []
        assert loader.state_dict()["epoch"] == 1
        assert list(loader) == []
        with pytest.raises(hr.EpochsExhausted):
            iter(loader)


def test_objects_are_searched_while_the_first_loader_is_imported(monkeypatch):
    """A thread of `where="here"` may begin before the module of loaders is whole."""
    from headrace._worker.epochs import epochs_of

    monkeypatch.setitem(sys.modules, "headrace._loader.loader", ModuleType("headrace._loader.loader"))
    assert epochs_of([object()]) is None
