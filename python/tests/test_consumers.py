"""Programs that take too little, and programs that keep too much."""

from __future__ import annotations

import time
import warnings

import pytest

import headrace as hr
from conftest import children, descriptors, mappings, pipeline


def test_one_that_never_reads(photos):
    with pipeline(photos).loader() as loader:
        time.sleep(0.3)
        assert loader.stats()["stages"]
    assert not mappings()


def test_one_that_breaks_out_of_every_epoch(photos):
    with pipeline(photos).loader() as loader:
        for _ in range(20):
            for _ in loader:
                break
        assert loader.state_dict()["epoch"] == 19


def test_one_that_keeps_every_batch(photos):
    with pipeline(photos).loader(epochs=2) as loader:
        with pytest.warns(hr.HeadraceWarning) as caught:
            batches = list(loader)
            batches += list(loader)
        assert len(caught) == 1, [str(w.message) for w in caught]
        assert "hold" in str(caught[0].message)
        assert caught[0].filename == __file__
    copies = [b["image"].copy() for b in batches]
    assert len({b["image"].__array_interface__["data"][0] for b in batches}) == 24
    assert all((b["image"] == c).all() for b, c in zip(batches, copies))
    with pipeline(photos).loader(epochs=2) as loader:
        for batch, copy in zip(loader, copies):
            assert (batch["image"] == copy).all()


def test_what_was_kept_goes_back_to_the_system(photos):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pipeline(photos).loader() as loader:
            for _ in range(3):
                batches = list(loader)
                held = len(mappings())
                assert held > 5
                del batches
                assert len(mappings()) < 5
            next(iter(loader))
            fds = len(descriptors())
            for _ in range(3):
                list(loader)
            next(iter(loader))
            assert len(descriptors()) <= fds + 1


def test_past_the_hold_limit(photos):
    slot = 48 * 48 * 3 * 4
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pipeline(photos).loader(hold_limit=9 * slot) as loader:
            loop = iter(loader)
            held = []
            with pytest.raises(hr.HeldBatches) as caught:
                held.extend(loop)
            # `extend` gives what it took only at the end, so nothing is held by now.
            # Once more, one by one:
            del caught, held
            loader.set_epoch(3)
            loop = iter(loader)
            held = []
            with pytest.raises(hr.HeldBatches, match="hold_limit") as caught:
                for batch in loop:
                    held.append(batch)
            assert 4 <= len(held) <= 11
            assert str(len(held)) in str(caught.value)
            with pytest.raises(hr.HeldBatches):
                next(loop)
            keys = [k for b in held for k in b["key"]]
            # next() works again once something is let go, and nothing was lost meanwhile.
            del held[:4], batch
            held.append(next(loop))
            keys += held[-1]["key"]
            del held
            keys += [k for b in loop for k in b["key"]]
    with pipeline(photos).loader() as loader:
        loader.set_epoch(3)
        assert keys == [k for b in loader for k in b["key"]]


def test_loaders_that_are_made_and_left(photos):
    before, fds = children(), len(descriptors())
    for i in range(15):
        with pipeline(photos).loader() as loader:
            if i % 3:
                next(iter(loader))
    assert children() == before
    assert len(descriptors()) <= fds
