"""A run that was cut anywhere goes on with exactly the batches that were missing."""

from __future__ import annotations

import json
import os
import signal
import threading
from itertools import chain
from types import MappingProxyType

import numpy as np
import pytest

import headrace as hr
from conftest import augmented, digests, engine_pid, pipeline, stop

pytestmark = pytest.mark.smoke


def position(loader) -> int:
    return loader.state_dict()["sources"]["files"]["position"]


@pytest.fixture(scope="module")
def whole(photos):
    """Every batch of two epochs."""
    with augmented(photos).loader(epochs=2) as loader:
        return digests(loader) + digests(loader)


def rest_of(loader) -> list:
    got = []
    while True:
        try:
            got += digests(loader)
        except hr.EpochsExhausted:
            return got


@pytest.mark.parametrize("cut", range(13))
def test_cut_at_every_batch(photos, whole, cut):
    with augmented(photos).loader(epochs=2) as loader:
        loop = iter(loader)
        head = [next(loop) for _ in range(cut)]
        head = digests(head)
        state = json.loads(json.dumps(loader.state_dict()))
    assert (state["epoch"], state["sources"]["files"]["position"]) == ((0, 4 * cut) if cut < 12 else (1, 0))
    with augmented(photos).loader(epochs=2) as again:
        again.load_state_dict(state)
        assert again.state_dict() == state
        assert head + rest_of(again) == whole


def test_resuming_in_the_same_loader_and_more_than_once(photos, whole):
    with augmented(photos).loader(epochs=2) as loader:
        loop = iter(loader)
        for _ in range(5):
            next(loop)
        state = loader.state_dict()
        for _ in range(3):
            loader.load_state_dict(state)
            loop = iter(loader)
            assert digests(next(loop) for _ in range(2)) == whole[5:7]
        assert position(loader) == 28


def test_the_state_of_a_loop_that_was_left(photos):
    with pipeline(photos).loader(epochs=2) as loader:
        assert position(loader) == 0
        for i, _ in enumerate(loader):
            if i == 2:
                break
        assert (loader.state_dict()["epoch"], position(loader)) == (0, 12)
        loop = iter(loader)
        assert (loader.state_dict()["epoch"], position(loader)) == (1, 0)
        next(loop)
        assert position(loader) == 4
        for _ in loop:
            pass
        assert (loader.state_dict()["epoch"], position(loader)) == (2, 0)
    assert loader.state_dict()["epoch"] == 2


def test_set_epoch_with_the_restored_epoch_changes_nothing(photos, whole):
    with augmented(photos).loader(epochs=2) as loader:
        loop = iter(loader)
        for _ in range(3):
            next(loop)
        state = loader.state_dict()
    with augmented(photos).loader(epochs=2) as again:
        again.load_state_dict(state)
        again.set_epoch(0)
        assert digests(again) == whole[3:12]
        again.set_epoch(1)
        assert digests(again) == whole[12:]


def test_the_last_state_of_all(photos):
    with pipeline(photos).loader(epochs=1) as loader:
        list(loader)
        state = loader.state_dict()
    with pipeline(photos).loader(epochs=1) as again:
        again.load_state_dict(state)
        with pytest.raises(hr.EpochsExhausted):
            iter(again)
    with pipeline(photos).loader(epochs=2) as longer:
        longer.load_state_dict(state)
        assert len(list(longer)) == 12


@pytest.mark.parametrize(
    ("other", "why"),
    [
        (lambda folder: pipeline(folder, 5), r"another pipeline: step 6 was batch\(size=4\), here it is batch\(size=5\)"),
        (lambda folder: pipeline(folder, seed=3), "another seed: the steps are the same"),
        (
            lambda folder: (
                hr.files(folder, label="parent").shuffle(seed=1).decode_image().resize(64).random_flip().center_crop(48).batch(4)
            ),
            "it lacks random_flip, here step 5",
        ),
        (lambda folder: pipeline(folder / "ant"), "step 1 was files"),
    ],
)
def test_states_of_other_runs_are_refused(photos, other, why):
    with pipeline(photos).loader() as loader:
        state = loader.state_dict()
    with other(photos).loader() as loader:
        with pytest.raises(hr.StateMismatch, match=why):
            loader.load_state_dict(state)
        assert next(iter(loader))  # and nothing has changed


def test_a_state_without_steps_goes_on(photos, whole):
    with augmented(photos).loader(epochs=2) as loader:
        loop = iter(loader)
        for _ in range(3):
            next(loop)
        old = loader.state_dict()
    del old["steps"]
    with augmented(photos).loader(epochs=2) as again:
        again.load_state_dict(old)
        assert digests(again) == whole[3:12]
        assert again.state_dict()["steps"][-1].startswith("batch(size=4) ")
    with (
        pipeline(photos).loader() as other,
        pytest.raises(hr.StateMismatch, match="another recipe: by another pipeline, or with other seeds"),
    ):
        other.load_state_dict(old)


def test_states_of_other_world_sizes_are_refused(photos):
    with pipeline(photos).loader(rank=0, world_size=2) as loader:
        state = loader.state_dict()
    with pipeline(photos).loader() as loader, pytest.raises(hr.StateMismatch, match=r"world_size 2 by rank 0, .* there is none of rank 1"):
        loader.load_state_dict(state)


def test_another_decoder_is_a_warning(photos):
    with pipeline(photos).loader() as loader:
        state = loader.state_dict() | {"decoder": "another"}
        with pytest.warns(hr.HeadraceWarning, match="saved with the decoder 'another'"):
            loader.load_state_dict(state)
        assert next(iter(loader))


@pytest.mark.parametrize(("key", "why"), [("version", "it has version 1, this engine reads 2"), ("order", "order algorithm is version 1")])
def test_states_of_other_versions_are_refused(photos, key, why):
    with pipeline(photos).loader() as loader, pytest.raises(hr.StateMismatch, match=why):
        loader.load_state_dict(loader.state_dict() | {key: 1})


def test_things_that_are_no_states(photos):
    with pipeline(photos).loader() as loader:
        places = [loader.state_dict() | {"sources": sources} for sources in (5, {}, {"files": 5}, {"files": {}})]
        for state in (*places, {}, {"epoch": 1, "position": 0}, {"version": 2, "epoch": 1}):
            with pytest.raises(hr.StateMismatch, match="not a loader state"):
                loader.load_state_dict(state)


WRONG = [
    ({"epoch": "1"}, "its epoch is '1': must be a whole number, at least 0"),
    ({"epoch": -1}, "its epoch is -1"),
    ({"epoch": 1.0}, r"its epoch is 1\.0"),
    ({"epoch": True}, "its epoch is True"),
    ({"batches": "many"}, "its batches is 'many'"),
    ({"steps": "batch"}, "its steps are 'batch': must be a list of texts"),
    ({"steps": [5]}, r"its steps are \[5\]"),
    ({"quarantine": 3}, "its quarantine is 3: must be a list of whole numbers"),
    ({"quarantine": [-1]}, "its quarantine is -1"),
    ({"quarantine": [999]}, "it quarantines index 999 of 46 samples"),
    ({"parts": [5]}, r"its parts are \[5\]"),
    ({"merges": {"merge": 5}}, "its merges are"),
    ({"epoch": 1 << 70}, "its epoch is 1180591620717411303424"),
]
WRONG_PLACES = [
    ({"position": "x"}, "its position is 'x': must be a whole number, at least 0"),
    ({"position": 4.0}, r"its position is 4\.0"),
    ({"position": -1}, "its position is -1"),
    ({"position": 10**6}, "its position is 1000000 of an epoch of 46 samples"),
    ({"ahead": 3}, "its ahead is 3: must be a list of pairs"),
    ({"ahead": [3]}, r"its ahead is \[3\]: must be a list of pairs"),
    ({"ahead": [["a", 3]]}, "its ahead is 'a'"),
    ({"done": [[0, 1, 2]]}, "its done is .*: must be a list of pairs"),
    ({"done": [[0, 999]]}, "state does not fit"),
    ({"lost": "abc"}, "its lost is 'abc'"),
    ({"lost": [1.5]}, r"its lost is 1\.5"),
    ({"open": object()}, "its open is <object"),
]


@pytest.mark.parametrize("dead", [False, True])
def test_states_that_cannot_be_change_nothing(photos, whole, dead):
    changes = [(change, why) for change, why in WRONG] + [({"sources": place}, why) for place, why in WRONG_PLACES]
    with augmented(photos).loader(epochs=2) as loader:
        loop = iter(loader)
        for _ in range(3):
            next(loop)
        before = loader.state_dict()
        for change, why in changes[:: 5 if dead else 1]:
            wrong = json.loads(json.dumps(before))
            if "sources" in change:
                wrong["sources"]["files"] |= change["sources"]
            else:
                wrong |= change
            if dead:
                loader._run.drop()  # as after an engine's death
            with pytest.raises(hr.StateMismatch, match=why):
                loader.load_state_dict(wrong)
            assert loader.state_dict() == before
        if dead:
            loader.load_state_dict(before)
            loop = loader
        assert digests(loop) == whole[3:12]


def test_what_is_no_mapping_is_no_state(photos, whole):
    with augmented(photos).loader(epochs=2) as loader:
        loop = iter(loader)
        assert digests([next(loop)]) == whole[:1]
        for state in (None, 5, "", '{"version": 2}', b"{}", [None], [[]], [("version", 2)]):
            with pytest.raises(hr.StateMismatch, match="not a loader state"):
                loader.load_state_dict(state)
        assert digests(loop) == whole[1:12]


def test_a_state_for_a_run_that_has_ended_and_whose_engine_is_dead(photos, whole):
    with augmented(photos).loader(epochs=2) as loader:
        beginning = loader.state_dict()
        list(loader)
        middle = loader.state_dict()
        list(loader)
        ended = loader.state_dict()
        for state, left in ((beginning, whole), (middle, whole[12:]), (ended, [])):
            loader._run.drop()  # as after an engine's death
            with pytest.raises(hr.StateMismatch, match="another seed"):
                loader.load_state_dict(state | {"recipe": "ab"})
            loader.load_state_dict(state)
            assert loader.state_dict() == state
            assert digests(chain.from_iterable([loader] * (2 - state["epoch"]))) == left


def test_only_a_state_of_this_run_is_taken_within_next(photos, whole):
    """There the engine cannot be asked whether another one fits."""
    told = []

    def handler(*_):
        with pytest.raises(hr.HeadraceError, match="within next"):
            loader.load_state_dict(state | {"recipe": "ab"})
        loader.load_state_dict(state)
        told.append(True)
        os.kill(pid, signal.SIGCONT)

    old = signal.signal(signal.SIGUSR1, handler)
    try:
        with augmented(photos).loader(epochs=2) as loader:
            loop = iter(loader)
            got = digests([next(loop)])
            state, pid = loader.state_dict(), engine_pid()
            stop(pid)
            threading.Timer(0.3, os.kill, [os.getpid(), signal.SIGUSR1]).start()
            with pytest.raises(hr.LoopEnded):
                list(loop)
            assert told
            assert got + digests(loader) == whole[:12]
    finally:
        signal.signal(signal.SIGUSR1, old)


def test_numpys_numbers_are_numbers(photos, whole):
    with augmented(photos).loader(epochs=2) as loader:
        for i, _ in enumerate(loader):
            if i == 2:
                break
        state = loader.state_dict()
    loaded = state | {"epoch": np.int64(0), "batches": np.array(state["batches"]), "quarantine": np.array([], np.int64), "mine": 0.5}
    place = state["sources"]["files"]
    loaded["sources"] = {"files": place | {"position": np.int32(12), "samples": np.uint16(46), "ahead": np.zeros((0, 2), np.int64)}}
    with augmented(photos).loader(epochs=2) as again:
        again.load_state_dict(MappingProxyType(loaded))
        assert json.loads(json.dumps(again.state_dict())) == state
        assert digests(again) == whole[3:12]
