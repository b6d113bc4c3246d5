"""Mixtures whose sources a function of the user's chooses. The references are loops without Headrace."""

from __future__ import annotations

import functools
import itertools
import json
import random
import re
from pathlib import Path

import numpy as np
import pytest

import headrace as hr

pytestmark = pytest.mark.usefixtures("one_engine")


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    return tmp_path_factory.mktemp("chosen")


@pytest.fixture(scope="module")
def lines(folder):
    """Sources of whole numbers: the first gives 0 and up, the next 1000 and up, and so on."""

    def made(number: int, length: int) -> hr.Pipeline:
        path = folder / f"{number}-{length}.jsonl"
        path.write_text("".join(json.dumps({"n": 1000 * number + i}) + "\n" for i in range(length)))
        return hr.read(path, fields={"n": ("n", "int64")}).shuffle().drop("key")

    return made


def thirds(turn, given):
    return "b" if turn % 3 == 2 else "a"


def drawn(turn, given):
    return random.Random(turn).randrange(2)


def least(turn, given):
    return min(given, key=given.get)


class Phases:
    """The first source up to a sample, then more and more of the other: it remembers how many it has chosen."""

    def __init__(self, start=6):
        self.start = start
        self.chosen = 0

    def __call__(self, turn, given):
        self.chosen += 1
        assert sum(given.values()) == self.chosen - 1
        return np.int64(self.chosen > self.start and self.chosen * 7 % 5 < 3)

    def state_dict(self):
        return {"chosen": self.chosen}

    def load_state_dict(self, state):
        self.chosen = state["chosen"]


CHOOSERS = {
    "function": thirds,
    "random": drawn,
    "counts": least,
    "class": Phases,
    "object": Phases(3),
    "partial": functools.partial(lambda shift, turn, given: (turn + shift) % 2, 1),
}


def own(choose):
    """A chooser as each lane has it."""
    if isinstance(choose, type):
        return choose()
    return Phases(choose.start) if isinstance(choose, Phases) else choose


def sources_of(choose, until: int, size: int, lanes: int) -> list[int]:
    """The sources of an epoch, by a loop: each lane has so many rows of every batch."""
    choosers = [own(choose) for _ in range(lanes)]
    given = [{"a": 0, "b": 0} for _ in range(lanes)]
    found = []
    for turn in range(until):
        lane = turn % size // (size // lanes)
        choice = choosers[lane](turn, given[lane])
        name = choice if isinstance(choice, str) else "ab"[int(choice)]
        given[lane][name] += 1
        found.append("ab".index(name))
    return found


def mixed(lines, choose, until: int, by_filter: bool = False) -> hr.Pipeline:
    a = lines(0, 50)
    if by_filter:
        a = a.filter(even, workers=1)
    return hr.mix({"a": a, "b": lines(1, 7)}, choose=choose, until=until)


def even(s):
    return s["n"] % 2 == 0


def steps_of(pipeline: hr.Pipeline, world: int, state=None, **options) -> list[list[int]]:
    """The global batches of an epoch, or of its rest."""
    loaders = [pipeline.loader(epochs=1, rank=r, world_size=world, **options) for r in range(world)]
    try:
        for loader in loaders:
            if state is not None:
                loader.load_state_dict(state)
        missing: dict = {"n": np.array([], np.int64)}
        return [[n for batch in step for n in batch["n"].tolist()] for step in itertools.zip_longest(*loaders, fillvalue=missing)]
    finally:
        for loader in loaders:
            loader.close()


@pytest.mark.parametrize("name", CHOOSERS)
def test_sources_come_as_they_are_chosen(lines, name):
    choose = CHOOSERS[name]
    pipeline = mixed(lines, choose, 150)
    with pipeline.batch(10).loader(epochs=1) as loader:
        names = [one for batch in loader for one in batch["source"]]
        (told,) = loader.stats()["mixes"]
    assert ["ab".index(one) for one in names] == sources_of(choose, 150, 10, 1)
    assert {s["name"]: (s["asked"], s["given"]) for s in told["sources"]} == {one: (0, names.count(one)) for one in "ab"}


@pytest.mark.parametrize("name", ["random", "class"])
def test_global_batches_are_those_of_any_number_of_ranks(lines, name):
    choose = CHOOSERS[name]
    pipeline = mixed(lines, choose, 96, by_filter=True).batch(global_size=8)
    alone = steps_of(pipeline, 1)
    assert [n // 1000 for step in alone for n in step] == sources_of(choose, 96, 8, 8)
    for world in (2, 4) if choose is Phases else (3,):
        assert steps_of(pipeline, world, uneven=world == 3) == alone


def test_it_goes_on_at_every_cut_with_other_ranks(lines):
    pipeline = mixed(lines, Phases, 40).batch(global_size=8)
    whole = steps_of(pipeline, 1)
    assert len(whole) == 5
    for cut in range(1, len(whole)):
        with pipeline.loader(epochs=1) as loader:
            for _, _ in zip(range(cut), loader):
                pass
            state = json.loads(json.dumps(loader.state_dict()))
        assert steps_of(pipeline, 1 + cut % 2, state) == whole[cut:]


def test_it_goes_on_far_beyond_what_is_chosen_at_a_time(lines):
    pipeline = mixed(lines, Phases, 400).batch(9)
    with pipeline.loader(epochs=2) as loader:
        whole = [batch["n"].tolist() for _ in range(2) for batch in loader]
    for cut in (15, 44, 70):
        with pipeline.loader(epochs=2) as loader:
            batches = (batch for _ in range(2) for batch in loader)
            for _, _ in zip(range(cut), batches):
                pass
            state = json.loads(json.dumps(loader.state_dict()))
        with pipeline.loader(epochs=2) as loader:
            loader.load_state_dict(state)
            rest = [batch["n"].tolist() for _ in range(2 - cut // 45) for batch in loader]
        assert rest == whole[cut:], cut


def test_turns_go_on_from_epoch_to_epoch(lines):
    pipeline = mixed(lines, late, 40).batch(8)
    with pipeline.loader(epochs=2) as loader:
        epochs = [{one for batch in loader for one in batch["source"]} for _ in range(2)]
    assert epochs == [{"a"}, {"b"}]


def late(turn, given):
    assert sum(given.values()) == turn % 40
    return int(turn >= 40)


class Forgetful:
    """It remembers something, and does not say what."""

    def __init__(self):
        self.chosen = 0

    def __call__(self, turn, given):
        self.chosen += 1
        return self.chosen % 2


def test_an_object_without_a_state_cannot_go_on_within_an_epoch(lines):
    pipeline = mixed(lines, Forgetful, 400).batch(8)
    with pipeline.loader(epochs=1) as loader:
        for _, _ in zip(range(3), loader):
            pass
        state = loader.state_dict()
    with pipeline.loader(epochs=1) as loader:
        loader.load_state_dict(state)
        with pytest.raises(hr.errors.HeadraceError, match=r"Forgetful has no state_dict\(\) and load_state_dict"):
            list(loader)


def test_ranks_that_choose_for_themselves_are_not_divided_again(lines):
    pipeline = mixed(lines, drawn, 96).batch(8)
    loaders = [pipeline.loader(epochs=1, rank=r, world_size=2) for r in range(2)]
    states = []
    for loader in loaders:
        next(iter(loader))
        states.append(loader.state_dict())
        loader.close()
    with pipeline.loader(epochs=1) as loader, pytest.raises(hr.errors.StateMismatch, match=r'it is from other ranks, and what .* "mix"'):
        loader.load_state_dict(states)


def nobody(turn, given):
    return "c" if turn == 5 else "a"


def beyond(turn, given):
    return 2


def none(turn, given):
    return None


def fails(turn, given):
    raise KeyError("no such phase")


def spoils(turn, given):
    given["a"] = 7


class Unsaid(Phases):
    def state_dict(self):
        return {"chosen": object()}


@pytest.mark.parametrize(
    ("choose", "why"),
    [
        (nobody, r"mix.*choose returned 'c' for turn 5: must be the name of a source or its number: 'a', 'b', or 0 to 1"),
        (beyond, r"choose returned 2 for turn 0"),
        (none, r"choose returned None for turn 0"),
        (fails, r"no such phase"),
        (spoils, r"mappingproxy"),
        (Unsaid, r"state_dict\(\) of .*Unsaid must be plain JSON"),
    ],
)
def test_choices_that_are_wrong_name_the_mix(lines, choose, why):
    with mixed(lines, choose, 40).batch(4).loader(epochs=1) as loader, pytest.raises(hr.errors.HeadraceError) as raised:
        list(loader)
    text = str(raised.value).replace("\n", " ")
    assert "mix" in text
    assert re.search(why, text), text


async def coroutine(turn, given):
    return 0


class NotCalled:
    pass


def test_what_cannot_choose_is_refused(lines):
    a, b = lines(0, 50), lines(1, 7)
    for make, why in (
        (lambda: hr.mix([a, b], choose="a", until=9), "choose is 'a': must be a function, or a class whose objects can be called"),
        (lambda: hr.mix([a, b], choose=NotCalled, until=9), r"choose is the class NotCalled, which has no method __call__\(turn, given\)"),
        (lambda: hr.mix([a, b], choose=NotCalled(), until=9), "choose is <.*NotCalled.*>: must be a function"),
        (lambda: hr.mix([a, b], choose=lambda turn: 0, until=9), r"too many positional arguments: it is given \(turn, given\)"),
        (lambda: hr.mix([a, b], choose=coroutine, until=9), "choose is coroutine, which is async"),
        (lambda: hr.mix([a, b], choose=thirds), "until is missing: with choose no source says when an epoch ends"),
        (lambda: hr.mix([a, b], choose=thirds, until="longest"), 'until is "longest", but with choose no source says'),
        (lambda: hr.mix({a: 1, b: 1}, choose=thirds, until=9), "choose is given together with weights: use only one of weights and choose"),
        (lambda: hr.mix([a, b], choose=thirds, repeat=2, until=9), "choose is given together with repeat"),
        (lambda: hr.mix([a, b], choose=thirds, by="n", until=9), 'by is "n", but no weights count its length'),
    ):
        with pytest.raises(hr.errors.HeadraceError, match=why):
            make().batch(2).loader()


def test_a_source_without_samples_is_refused(lines, folder):
    (folder / "empty.jsonl").write_text("")
    empty = hr.read(folder / "empty.jsonl", fields={"n": ("n", "int64")}).drop("key")
    with pytest.raises(hr.errors.HeadraceError, match='source "none" has no samples: leave it out'):
        hr.mix({"a": lines(0, 50), "none": empty}, choose=least, until=9).batch(2).loader()


def test_there_may_be_more_lanes_than_samples(lines):
    """Of a mix that chooses, and of one that counts what arrives."""
    assert [len(step) for step in steps_of(mixed(lines, thirds, 3).batch(global_size=8), 1)] == [3]
    arriving = hr.mix({lines(0, 50).filter(even, workers=1): 1, lines(1, 7): 1}, until=3).batch(global_size=8)
    assert [len(step) for step in steps_of(arriving, 1)] == [3]


def test_recipes_name_the_function(tmp_path, lines, monkeypatch):
    """In a file the function is named, and imported where it is called."""
    (tmp_path / "curriculum.py").write_text("def pick(turn, given):\n    return turn % 2\n")
    monkeypatch.syspath_prepend(tmp_path)
    import curriculum

    text = mixed(lines, curriculum.pick, 12).batch(3).recipe()
    assert 'choose: "curriculum:pick"' in text
    (tmp_path / "mix.yaml").write_text(text)
    with hr.load(tmp_path / "mix.yaml").loader(epochs=1) as loader:
        assert [one for batch in loader for one in batch["source"]] == ["a", "b"] * 6
    with pytest.raises(hr.errors.RecipeError, match="a recipe cannot have"):
        mixed(lines, lambda turn, given: 0, 9).batch(3).recipe()
    (tmp_path / "mix.yaml").write_text(text.replace("curriculum:pick", "pick"))
    with pytest.raises(hr.errors.RecipeError, match='choose is "pick": must be "module:name"'):
        hr.load(tmp_path / "mix.yaml").loader()
