"""States of several ranks, from which a rank of another number goes on; and those that do not belong together."""

from __future__ import annotations

import os
import signal

import pytest

import headrace as hr
from conftest import augmented, engine_pid, pipeline, running, within


def test_states_that_are_not_of_one_run_are_refused(photos):
    """Also where one of them is the loader's own, which alone it could go on from."""
    build = pipeline(photos, 2)
    with build.loader(epochs=3) as loader:
        states = []
        for epoch in range(3):
            loader.set_epoch(epoch)
            next(iter(loader))
            states.append(loader.state_dict())
        for given, why in (
            (states[:2], "two states of rank 0"),
            ([states[0], states[0]], "two states of rank 0"),
            ([states[0], states[1] | {"rank": 1}], "a state of rank 1, and the world_size is 1"),
            ([states[0], states[0] | {"rank": 1, "world_size": 2}], "world_size is 1 in one and 2 in another"),
        ):
            with pytest.raises(hr.StateMismatch, match=why):
                loader.load_state_dict(given)
        loader.load_state_dict(states[1])
    two = [state | {"world_size": 2, "rank": rank} for rank, state in enumerate((states[0], states[2]))]
    with build.loader(epochs=3, world_size=2) as loader:
        with pytest.raises(hr.StateMismatch, match="rank 1 was in epoch 2 and rank 0 still in epoch 0"):
            loader.load_state_dict(two)
        with pytest.raises(hr.StateMismatch, match=r"rank 1 of 2: .* another seed"):
            loader.load_state_dict([two[0], two[0] | {"rank": 1, "recipe": "00"}])
        loader.load_state_dict([two[0], two[0] | {"rank": 1}])


def test_missing_ranks_are_named(photos):
    states = []
    for rank in range(4):
        with pipeline(photos).loader(epochs=1, rank=rank, world_size=4) as loader:
            next(iter(loader))
            states.append(loader.state_dict())
    with pipeline(photos).loader(epochs=1, rank=0, world_size=2) as loader:
        with pytest.raises(hr.StateMismatch, match="there is none of ranks 0, 2"):
            loader.load_state_dict([states[3], states[1]])
        with pytest.raises(hr.StateMismatch, match="there is no record"):
            loader.load_state_dict([])
        with pytest.raises(hr.StateMismatch, match="not a loader state"):
            loader.load_state_dict([*states[:3], {"epoch": 0}])
        assert next(iter(loader)), "nothing has changed"
        loader.load_state_dict(states)
        state = loader.state_dict()
        assert (state["world_size"], state["rank"], state["batches"]) == (2, 0, 1)
        assert state["sources"]["files"] == {"samples": 46, "position": 0, "ahead": [], "lost": [], "open": [], "done": [[0, 16]]}
        loader.load_state_dict(state)
        assert loader.state_dict() == state


def test_a_state_is_gathered_by_an_engine_that_has_died_before(photos):

    with augmented(photos).loader(epochs=1, rank=0, world_size=2) as one, augmented(photos).loader(epochs=1, rank=1, world_size=2) as two:
        states = []
        for loader in (one, two):
            next(iter(loader))
            states.append(loader.state_dict())
    with augmented(photos).loader(epochs=1) as loader:
        loop = iter(loader)
        next(loop)
        pid = engine_pid()
        os.kill(pid, signal.SIGKILL)
        within(8, lambda: not running(pid))
        with pytest.raises(hr.EngineDied):
            list(loop)
        loader.load_state_dict(states)
        assert sum(len(b["key"]) for b in loader) == 46 - 8
