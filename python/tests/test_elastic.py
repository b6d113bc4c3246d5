"""The number of ranks changes in the middle of an epoch: ranks are processes, killed and started again in other numbers."""

from __future__ import annotations

import json
import os
import random
import signal
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import headrace as hr
from conftest import augmented, engine_pid, files_of, pipeline, running, start_python, within

RANK = """
    import json, sys, time, zlib
    from pathlib import Path
    import headrace as hr

    photos, batch, options, rank, world, states, folder = json.loads(sys.argv[1])
    build = hr.files(photos, seed=3).shuffle().decode_image().random_resized_crop(48).random_flip().batch(**batch)
    folder = Path(folder)

    def save(name, content):
        (folder / f"{name}.new").write_text(json.dumps(content))
        (folder / f"{name}.new").rename(folder / name)

    with build.loader(epochs=1, rank=rank, world_size=world, **options) as loader:
        if states:
            loader.load_state_dict(states[0] if len(states) == 1 else states)
        save(f"0-{rank}", {"rows": [], "state": loader.state_dict()})
        try:
            for step, b in enumerate(loader, 1):
                rows = [[key, zlib.crc32(image.tobytes())] for key, image in zip(b["key"], b["image"])]
                save(f"{step}-{rank}", {"rows": rows, "state": loader.state_dict()})
                time.sleep(0.01)
        except hr.EpochsExhausted:
            pass
    save(f"end-{rank}", None)
"""


class World:
    """Ranks that ran for a while."""

    def __init__(self, folder: Path, world: int) -> None:
        self.folder, self.world = folder, world

    def saved(self, rank: int) -> list[dict[str, Any]]:
        """What a rank has saved, step by step, from its beginning on."""
        steps = sorted(int(p.name.split("-")[0]) for p in self.folder.glob(f"[0-9]*-{rank}") if not p.name.startswith("end"))
        assert steps == list(range(len(steps)))
        return [json.loads((self.folder / f"{step}-{rank}").read_text()) for step in steps]

    @property
    def ended(self) -> bool:
        return all((self.folder / f"end-{rank}").exists() for rank in range(self.world))


def run(
    folder: Path, photos: Path, batch: dict[str, int], options: dict[str, Any], world: int, states: list[Any], steps: list[int] | None
) -> World:
    """Start a world, and kill each rank once it has come so far; None: they run to their end."""
    folder.mkdir()
    given = [[str(photos), batch, options, rank, world, states, str(folder)] for rank in range(world)]
    ranks = [start_python(RANK, json.dumps(all)) for all in given]
    try:
        for rank, process in enumerate(ranks):
            end = time.monotonic() + 60
            while steps is not None and process.poll() is None and not (folder / f"{steps[rank]}-{rank}").exists():
                assert time.monotonic() < end
                time.sleep(0.005)
            if steps is not None:
                process.send_signal(signal.SIGKILL)
            _, err = process.communicate(timeout=60)
            assert process.returncode in (0, -signal.SIGKILL), err
    finally:
        for process in ranks:
            process.kill()
            process.communicate()
    return World(folder, world)


def rows_of(photos: Path, batch: dict[str, int]) -> list[list[Any]]:
    """The global batches of an uninterrupted run, each a list of rows."""
    folder = photos.parent / f"whole-{batch}"
    if not folder.exists():
        run(folder, photos, batch, {}, 1, [], None)
    return [saved["rows"] for saved in World(folder, 1).saved(0)[1:]]


def test_global_batches_go_on_unchanged(photos, tmp_path):
    """After a kill the last step that all ranks have saved is gone on with, as training does; the state of any one rank is enough."""
    batch = {"global_size": 4}
    whole = rows_of(photos, batch)
    dice = random.Random(5)
    states: list[Any] = []
    got: list[Any] = []
    history = []
    for phase, world in enumerate([2, 4, 3]):
        steps = None if phase == 2 else [dice.randint(1, 3)] * world
        ran = run(tmp_path / str(phase), photos, batch, {}, world, states, steps)
        saved = [ran.saved(rank) for rank in range(world)]
        common = min(map(len, saved)) - 1
        assert ran.ended == (phase == 2)
        got += [[row for rank in saved for row in rank[step]["rows"]] for step in range(1, common + 1)]
        chosen = dice.randrange(world)
        states = [saved[chosen][common]["state"]]
        history.append((world, common, chosen))
    assert states[0]["epoch"] == 1
    full = len(whole) - 1
    assert got[:full] == whole[:full], history
    assert got[full][:2] == whole[full], history  # two are left, and three ranks: one comes a second time
    assert len(got) == len(whole)


def test_every_sample_comes_once(photos, tmp_path):
    """Each rank goes on from where it was, not in step with the others: that takes the states of all of them."""
    order, batch = "completion", {"size": 2}
    dice = random.Random(order)
    states: list[Any] = []
    seen: Counter[str] = Counter()
    for phase, world in enumerate([3, 4, 2]):
        steps = None if phase == 2 else [dice.randint(0, 3) for _ in range(world)]
        ran = run(tmp_path / str(phase), photos, batch, {"order": order, "workers": 4}, world, states, steps)
        saved = [ran.saved(rank) for rank in range(world)]
        seen.update(key for rank in saved for step in rank for key, _ in step["rows"])
        states = [rank[-1]["state"] for rank in saved]
        dice.shuffle(states)
    assert {state["epoch"] for state in states} == {1}
    assert sorted(seen) == files_of(photos)
    # What fills up a last batch comes from the epoch's start.
    again = {key for key, times in seen.items() if times > 1}
    assert again <= {row[0] for row in rows_of(photos, {"global_size": 4})[0][:3]}


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
        with pytest.raises(hr.StateMismatch, match="no state of a loader"):
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
        within(1, lambda: not running(pid))
        with pytest.raises(hr.EngineDied):
            list(loop)
        loader.load_state_dict(states)
        assert sum(len(b["key"]) for b in loader) == 46 - 8
