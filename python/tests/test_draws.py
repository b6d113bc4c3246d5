"""What random steps draw for the samples that flat_map and aggregate make: each its own, and the same wherever and whenever it is made."""

from __future__ import annotations

import json
import random

import numpy as np
import pytest

import headrace as hr

NUMBERS = [{"n": n} for n in range(12)]
VIEW = {"n": int, "view": int}
DRAWN = {**VIEW, "drawn": float}


def views(sample):
    """Several samples of one, of some none."""
    for view in range(sample["n"] % 4):
        yield {"n": sample["n"], "view": view}


def halves(sample):
    for half in range(2):
        yield {"n": sample["n"], "view": 2 * sample["view"] + half}


def drawing(sample, rng):
    return {"n": sample["n"], "view": sample["view"], "drawn": float(rng.random())}


def seeded(sample, rng):
    return {**drawing(sample, rng), "python": random.random(), "numpy": float(np.random.random())}


class Windows:
    """Gives three samples for every two that came, and four at the end."""

    def __init__(self):
        self.held = []

    def accumulate(self, sample):
        self.held.append(100 * sample["n"] + sample["view"])
        if len(self.held) < 2:
            return
        total, self.held = sum(self.held), []
        for view in range(3):
            yield {"n": total, "view": view}

    def flush(self):
        for view in range(4):
            yield {"n": sum(self.held), "view": view}

    def state_dict(self):
        return {"held": self.held}

    def load_state_dict(self, state):
        self.held = state["held"]


def flat():
    return hr.source(NUMBERS, seed=5).shuffle().flat_map(views, gives=VIEW, workers=1)


def nested():
    return flat().flat_map(halves, gives=VIEW, workers=1)


def gathered():
    return nested().aggregate(Windows, gives=VIEW)


def random_steps(pipeline, workers=1):
    return pipeline.map(seeded, seed=("random", "numpy"), gives={**DRAWN, "python": float, "numpy": float}, workers=workers)


def rows(loader):
    return [row for batch in loader for row in zip(*(batch[name].tolist() for name in ("n", "view", "drawn", "python", "numpy")))]


@pytest.mark.parametrize("kind", [nested, gathered])
def test_each_output_draws_its_own_and_the_same_wherever_it_is_made(kind):
    with random_steps(kind()).batch(1).loader(epochs=1, workers=1) as loader:
        want, states = [], [loader.state_dict()]
        for batch in loader:
            want += rows([batch])
            states.append(loader.state_dict())
        for column in list(zip(*want))[2:]:
            assert len(set(column)) == len(want) > 25
        inside = [at for at, state in enumerate(states) if state["parts"]]
        at = inside[len(inside) // 2]  # in the middle of what was made of one
        loader.load_state_dict(json.loads(json.dumps(states[at])))
        assert rows(loader) == want[at:]
    with random_steps(kind(), 2).batch(3).loader(epochs=1, workers=3) as loader:
        assert rows(loader) == want


def test_sources_that_are_merged_draw_apart():
    merged = hr.merge([flat(), flat()]).map(drawing, gives=DRAWN, workers=1).batch(4)
    with merged.loader(epochs=1) as loader:
        drawn = [row for batch in loader for row in batch["drawn"].tolist()]
    assert len(set(drawn)) == len(drawn) == 36


def test_replays_name_the_output_and_draw_what_it_drew():
    steps = nested().map(drawing, gives=DRAWN, workers=1).batch(8)
    with steps.loader(epochs=1) as loader:
        batches, state = iter(loader), loader.state_dict()
        batch = [next(batches) for _ in range(3)][-1]
    again = hr.replay(steps, state, 2)
    assert again.batch["drawn"].tolist() == batch["drawn"].tolist()
    assert [row["output"] for row in again.rows] == [[view // 2, view % 2] for view in batch["view"].tolist()]
    assert [row["index"] for row in again.rows] == batch["n"].tolist()


def test_what_an_object_gives_is_an_output_of_what_it_was_given_last():
    steps = hr.source([{"n": n, "view": 0} for n in range(3)]).aggregate(Windows, gives=VIEW).batch(8)
    with steps.loader(epochs=1) as loader:
        state = loader.state_dict()
    told = [(row["index"], row["output"], view) for row, view in zip(*again(steps, state))]
    assert told == [(1, [0], 0), (1, [1], 1), (1, [2], 2), (2, [0], 0), (2, [1], 1), (2, [2], 2), (2, [3], 3)]


def again(steps, state):
    replayed = hr.replay(steps, state)
    return replayed.rows, replayed.batch["view"].tolist()


def test_views_of_a_picture_are_cut_out_elsewhere(pictures):
    """The engine's own operations, after a function."""

    def twice(sample):
        yield sample
        yield sample

    steps = hr.files(sorted(pictures.rglob("*.png"))[:6], seed=3).decode_image().flat_map(twice, workers=1)
    steps = steps.random_resized_crop(32).random_flip().color_jitter(0.4, 0.4).batch(12)
    with steps.loader(epochs=1, workers=3) as loader:
        state = loader.state_dict()
        (batch,) = loader
    assert all((one != other).any() for one, other in batch["image"].reshape(-1, 2, 32, 32, 3))
    replayed = hr.replay(steps, state, fuse=False)
    assert np.array_equal(replayed.batch["image"], batch["image"])
    crops = [draw["values"] for row in replayed.rows for draw in row["draws"] if draw["step"] == "random_resized_crop"]
    assert all(one != other for one, other in zip(crops[::2], crops[1::2]))


def test_whole_batches_draw_by_their_first_output():
    def collate(samples, rng):
        return {"drawn": np.array([rng.random()])}

    with flat().batch(1, collate=collate, gives={"drawn": (float, (1,))}, workers=1).loader(epochs=1) as loader:
        drawn = [batch["drawn"].item() for batch in loader]
    assert len(set(drawn)) == len(drawn) == 18


def picky(sample):
    if sample["n"] == 7 and sample["view"] in (0, 2):
        raise ValueError("no")
    return sample


@pytest.mark.parametrize("kind", ["skip", "replace"])
def test_losses_name_the_output(kind, tmp_path):
    steps = flat().map(picky, gives=VIEW, workers=1).batch(18)
    letters = tmp_path / "letters"
    with steps.loader(epochs=1, on_error=kind, dead_letters=letters) as loader:
        state = loader.state_dict()
        (batch,) = loader
        assert [(lost.index, lost.output) for lost in loader.errors] == [(7, [0]), (7, [2])]
        assert loader.errors.total == 2
        assert "output 2" in repr(loader.errors[1])
    assert [json.loads(line)["output"] for line in letters.read_text().splitlines()] == [[0], [2]]
    if kind == "replace":  # each by an output of another sample
        replaced = [row for row in hr.replay(steps, state, on_error=kind).rows if "replaced" in row]
        assert [(row["replaced"]["index"], row["replaced"]["output"]) for row in replaced] == [(7, [0]), (7, [2])]
        assert replaced[0]["output"] == [0]
        assert len({(row["index"], *row["output"]) for row in replaced}) == 2
    else:
        with steps.loader(epochs=1) as loader, pytest.raises(hr.SampleError, match="output 0") as caught:
            list(loader)
        assert (caught.value.index, caught.value.output) == (7, [0])
    assert len(batch["n"]) == (18 if kind == "replace" else 16)


def refuses(batch):
    if ((batch["n"] == 3) & (batch["view"] == 1)).any():
        raise ValueError("not this batch")
    return batch


def test_a_batch_that_is_lost_is_each_output_in_it(tmp_path):
    letters = tmp_path / "letters"
    steps = hr.source(NUMBERS).flat_map(views, gives=VIEW, workers=1).batch(4).map(refuses)
    with steps.loader(epochs=1, on_error="skip", dead_letters=letters) as loader:
        came = [(int(n), int(view)) for batch in loader for n, view in zip(batch["n"], batch["view"])]
        lost = [(error.index, *error.output) for error in loader.errors]
        assert loader.errors.total == 4
    everything = [(n, view) for n in range(12) for view in range(n % 4)]
    at = everything.index((3, 1)) // 4 * 4
    assert lost == everything[at : at + 4]
    assert len({n for n, _ in lost}) < 4  # several of one sample
    assert came == everything[:at] + everything[at + 4 :]
    assert [(letter["index"], *letter["output"]) for letter in map(json.loads, letters.read_text().splitlines())] == lost


def test_draws_are_pinned():
    samples = [{"n": n, "view": 0} for n in range(12)]
    with hr.source(samples, seed=5).shuffle().map(drawing, gives=DRAWN, workers=1).batch(3).loader(epochs=1) as loader:
        first = next(iter(loader))
    assert first["n"].tolist() == [1, 8, 3]
    assert first["drawn"].tolist() == pytest.approx([0.38827559, 0.7024218, 0.5483969], abs=1e-7)
