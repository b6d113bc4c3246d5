"""Mixtures that count samples as they arrive, after steps that leave some out or make several. The references are counts."""

from __future__ import annotations

import base64
import itertools
import json
import random
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

import headrace as hr
from headrace._loader.packed import packed, unpacked

pytestmark = pytest.mark.usefixtures("one_engine")


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    return tmp_path_factory.mktemp("arriving")


@pytest.fixture(scope="module")
def lines(folder):
    """Sources of whole numbers: the first gives 0 and up, the next 1000 and up, and so on."""

    def made(number: int, length: int) -> hr.Pipeline:
        path = folder / f"{number}-{length}.jsonl"
        path.write_text("".join(json.dumps({"n": 1000 * number + i}) + "\n" for i in range(length)))
        return hr.read(path, fields={"n": ("n", "int64")}).shuffle().drop("key")

    return made


def third(s):
    return s["n"] % 3 == 0


def none(s):
    return False


def twice(s):
    return [s, s]


class Pairs:
    """Sums of two samples."""

    def __init__(self):
        self.held = []

    def accumulate(self, s):
        self.held.append(int(s["n"]))
        if len(self.held) == 2:
            (a, b), self.held = self.held, []
            return [{"n": a // 1000 * 1000 + (a + b) % 1000}]
        return []

    def flush(self):
        return []


STEPS = {
    "filter": lambda p: p.filter(third, workers=1),
    "flat_map": lambda p: p.flat_map(twice, workers=1),
    "aggregate": lambda p: p.aggregate(Pairs, gives={"n": np.int64}),
}


def steps_of(pipeline: hr.Pipeline, world: int, state=None, **options) -> list[list[int]]:
    """The global batches of an epoch, or of its rest."""
    loaders = [pipeline.loader(epochs=1, rank=r, world_size=world, **options) for r in range(world)]
    if state is not None:
        for loader in loaders:
            loader.load_state_dict(state)
    found = [[n for batch in step for n in batch["n"].tolist()] for step in itertools.zip_longest(*loaders)]
    for loader in loaders:
        loader.close()
    return found


@pytest.mark.parametrize("step", STEPS)
def test_weights_are_those_of_what_arrives(lines, step):
    """Block after block, whatever becomes of a source's samples before, and with any number of ranks."""
    pipeline = hr.mix({STEPS[step](lines(0, 50)): 0.7, lines(1, 40): 0.3}, until=320).batch(global_size=8)
    alone = steps_of(pipeline, 1)
    values = [n for batch in alone for n in batch]
    assert len(values) == 320
    for past in range(0, 321, 64):
        got = sum(n < 1000 for n in values[:past])
        assert abs(got - 0.7 * past) <= 2, past
    if step == "filter":
        kept = Counter(n for n in values if n < 1000)  # pass after pass: 17 of 50 are kept
        assert set(kept) == set(range(0, 50, 3))
        assert max(kept.values()) - min(kept.values()) <= 4
    assert steps_of(pipeline, 4) == alone


@pytest.mark.parametrize("step", ["filter", "flat_map"])
def test_they_go_on_at_every_cut_with_other_ranks(lines, step):
    pipeline = hr.mix({STEPS[step](lines(0, 20)): 2, lines(1, 7): 1}, until=40).batch(global_size=8)
    whole = steps_of(pipeline, 1)
    for cut in range(1, len(whole)):
        with pipeline.loader(epochs=1) as loader:
            for _, _ in zip(range(cut), loader):
                pass
            state = json.loads(json.dumps(loader.state_dict()))
        assert steps_of(pipeline, 1 + cut % 2, state) == whole[cut:]


def test_epochs_differ_and_hold(lines):
    pipeline = hr.mix({STEPS["filter"](lines(0, 30)): 1, lines(1, 30): 1}, until=64).batch(16)
    with pipeline.loader(epochs=2) as loader:
        first, second = ([n for batch in loader for n in batch["n"].tolist()] for _ in range(2))
    assert first != second
    assert [sum(n < 1000 for n in epoch) for epoch in (first, second)] == [32, 32]


def test_schedules_count_arrivals(lines):
    a, b = STEPS["filter"](lines(0, 50)), lines(1, 50)
    pipeline = hr.mix([a, b], schedule=[(0, [1, 0]), (4, [1, 1])], until=128).batch(global_size=16)
    steps = steps_of(pipeline, 1)
    assert [sum(n < 1000 for n in step) for step in steps[:4]] == [16] * 4
    assert sum(n < 1000 for step in steps[4:] for n in step) == 32


def test_stats_count_what_arrived(lines):
    pipeline = hr.mix({"a": STEPS["filter"](lines(0, 50)), "b": lines(1, 40)}, weights=[3, 1], until=64)
    with pipeline.batch(16).loader(epochs=1) as loader:
        for _ in loader:
            pass
        (mixed,) = loader.stats()["mixes"]
    assert [(s["name"], round(s["asked"], 3)) for s in mixed["sources"]] == [("a", 0.75), ("b", 0.25)]
    assert [s["given"] for s in mixed["sources"]] == [48, 16]


def test_without_a_number_of_samples_nobody_knows_the_end(lines):
    a, b = STEPS["filter"](lines(0, 50)), lines(1, 40)
    for options in ({}, {"until": "longest"}, {"until": "shortest"}):
        with pytest.raises(hr.RecipeError, match=r'until must be a number of samples: of\[0\] has the step "filter", so'):
            hr.mix({a: 1, b: 1}, **options).batch(4).loader()
    with pytest.raises(hr.RecipeError, match=r'of\[0\] begins with "mix_2", which cannot restart'):
        hr.mix([hr.mix({a: 1, b: 1}, until=9), b]).batch(4).loader()


def test_a_source_of_which_nothing_arrives_ends_the_run(lines):
    pipeline = hr.mix({"all": lines(0, 50), "nothing": lines(1, 40).filter(none, workers=1)}, weights=[1, 1], until=64)
    with pipeline.batch(4).loader(epochs=1) as loader, pytest.raises(hr.errors.HeadraceError, match=r'source "nothing" came through'):
        for _ in loader:
            pass


def test_a_weight_of_0_leaves_a_source_out(lines, folder):
    (folder / "empty.jsonl").write_text("")
    empty = hr.read(folder / "empty.jsonl", fields={"n": ("n", "int64")}).drop("key")
    a = STEPS["filter"](lines(0, 50))
    with hr.mix([(a, 1), (empty, 0)], until=32).batch(8).loader(epochs=1) as loader:
        assert all(n < 1000 for batch in loader for n in batch["n"].tolist())
    with pytest.raises(hr.errors.HeadraceError, match=r"has no samples: leave it out, or give it the weight 0|no samples"):
        hr.mix([(a, 1), (empty, 1)], until=32).batch(8).loader()


def text_lines(folder: Path, name: str, lengths: list[int]) -> hr.Pipeline:
    path = folder / f"{name}.jsonl"
    path.write_text("".join(json.dumps({"text": name[0] * n, "size": n}) + "\n" for n in lengths))
    return hr.read(path, fields={"text": "text", "size": ("size", "int64")}).shuffle().drop("key")


def ids(s):
    return {"ids": np.zeros(len(s["text"]), np.int32), "text": s["text"], "size": s["size"]}


BY = {
    "text": lambda p: p,
    "size": lambda p: p,
    "ids": lambda p: p.map(ids, gives={"ids": ("int32", (None,)), "text": str, "size": np.int64}),
}


@pytest.mark.parametrize("by", BY)
def test_weights_in_lengths_hold_at_every_sample(folder, by):
    """Bytes of a text, tokens of an array, or a column of lengths: within the longest samples."""
    short, long = [BY[by](text_lines(folder, name, lengths)) for name, lengths in (("short", [3, 1, 4]), ("long", [50, 200, 90]))]
    pipeline = hr.mix({"s": short, "l": long}, weights=[3, 1], by=by, until=400).select("size", "source").batch(8)
    given = {"s": 0, "l": 0}
    with pipeline.loader(epochs=1) as loader:
        for batch in loader:
            for size, name in zip(batch["size"].tolist(), batch["source"]):
                given[name] += size
                asked = 0.75 * sum(given.values())
                assert -200 <= given["s"] - asked <= 4
        (mixed,) = loader.stats()["mixes"]
    assert [s["given"] for s in mixed["sources"]] == [given["s"], given["l"]]


def test_lengths_go_on_at_every_cut_with_other_ranks(folder):
    a, b = text_lines(folder, "x", [5, 9, 2, 30, 8]), text_lines(folder, "y", [40, 3, 77])
    pipeline = hr.mix({"a": a, "b": b}, weights=[1, 2], by="size", until=64).batch(global_size=8)

    whole = steps_by(pipeline, 1)
    assert len(whole) == 8
    assert steps_by(pipeline, 4) == whole
    for cut in range(1, len(whole), 2):
        with pipeline.loader(epochs=1) as loader:
            for _, _ in zip(range(cut), loader):
                pass
            state = json.loads(json.dumps(loader.state_dict()))
        assert steps_by(pipeline, 1 + cut % 4, state) == whole[cut:]


def test_schedules_of_lengths_hold_and_go_on(folder):
    """Each stretch has its shares of the lengths; a run goes on at every cut, with other ranks."""
    a, b = text_lines(folder, "p", [5, 9, 2, 30, 8]), text_lines(folder, "q", [40, 3, 77])
    schedule = [(0, [1, 0]), (10, [1, 3]), (30, [0, 1]), (34, [5, 1])]
    in_samples = [(8 * step, weights) for step, weights in schedule]
    alone = hr.mix({"a": a, "b": b}, schedule=in_samples, counted="samples", by="size", until=320).select("size", "source").batch(8)
    with alone.loader(epochs=1) as loader:
        samples = [one for batch in loader for one in zip(batch["size"].tolist(), batch["source"])]
    assert len(samples) == 320
    for first, end, share in ((0, 80, 1), (80, 240, 1 / 4), (240, 272, 0), (272, 320, 5 / 6)):
        given = dict.fromkeys("ab", 0)
        for size, name in samples[first:end]:
            given[name] += size
        asked = share * sum(given.values())
        assert abs(given["a"] - asked) <= (2 * 77 if 0 < share < 1 else 0), (first, given)

    pipeline = hr.mix({"a": a, "b": b}, schedule=schedule, by="size", until=320).batch(global_size=8)
    whole = steps_by(pipeline, 1)
    assert steps_by(pipeline, 4) == whole
    for cut in (1, 9, 10, 11, 29, 31, 34, 39):
        with pipeline.loader(epochs=1) as loader:
            for _, _ in zip(range(cut), loader):
                pass
            state = json.loads(json.dumps(loader.state_dict()))
        assert steps_by(pipeline, 1 + cut % 2, state) == whole[cut:]


def steps_by(pipeline: hr.Pipeline, world: int, state=None) -> list[list[str]]:
    """The texts of the global batches of an epoch, or of its rest."""
    loaders = [pipeline.loader(epochs=1, rank=r, world_size=world) for r in range(world)]
    for loader in loaders:
        if state is not None:
            loader.load_state_dict(state)
    found = [[text for batch in step for text in batch["text"]] for step in itertools.zip_longest(*loaders)]
    for loader in loaders:
        loader.close()
    return found


def test_states_of_100_sources_are_small(folder):
    sources = [text_lines(folder, f"s{i}", [1 + i]) for i in range(100)]
    pipeline = hr.mix([(p, 1) for p in sources], by="size", until=10_000).batch(10)
    with pipeline.loader(epochs=1) as loader:
        for _, _ in zip(range(50), loader):
            pass
        state = loader.state_dict()
    assert state["aggregates"]
    assert len(json.dumps(state)) <= 4096
    assert state["sources"].startswith("zlib:")
    places = unpacked(state["sources"])
    draw = random.Random(7)
    for place in places.values():  # as after weeks, of sources of all sizes
        place["samples"], place["position"] = draw.randrange(1 << 39, 1 << 40), draw.randrange(1 << 30)
    (stage,) = state["aggregates"]
    sums = base64.b64encode(draw.randbytes(6 * 100)).decode()
    old = {**state, "sources": places, "aggregates": {stage: {"groups": 1 << 40, "state": json.dumps(sums)}}}
    assert 3000 < len(json.dumps(packed(old))) <= 4096
    with pipeline.loader(epochs=1) as loader:
        whole = [batch["text"] for batch in loader]
    with pipeline.loader(epochs=1) as loader:
        loader.load_state_dict(json.loads(json.dumps(state)))
        assert [batch["text"] for batch in loader] == whole[50:]
        for damaged, why in (
            (state["sources"][:-8], "cut off|Error -|Incorrect padding|padding"),
            ("zlib:!", "Only base64 data|Invalid|Non-base64"),
            ("read", "must be as they were saved, but are text that does not begin with 'zlib:'"),
            ("zlib:eNqrrgUAAXUA+Q==", "must be places with how many samples there are"),  # {}
        ):
            with pytest.raises(hr.errors.StateMismatch, match=why):
                loader.load_state_dict({**state, "sources": damaged})


def test_lengths_that_cannot_be(folder):
    a = text_lines(folder, "a", [5, 9])
    path = folder / "negative.jsonl"
    path.write_text('{"text": "q", "size": 4}\n{"text": "q", "size": -2}\n')
    negative = hr.read(path, fields={"text": "text", "size": ("size", "int64")}).drop("key")
    pipeline = hr.mix([(a, 1), (negative, 1)], by="size", until=40).batch(4)
    with pipeline.loader(epochs=1) as loader, pytest.raises(hr.errors.HeadraceError, match='"size" is -2: a length must be at least 0'):
        for _ in loader:
            pass
    for make, why in (
        (lambda: hr.mix({a: 1}, by="length", until=9), 'by is "length": the samples have the fields'),
        (lambda: hr.mix([a], by="size", until=9), 'by is "size", but no weights count its length'),
        (lambda: hr.mix([a], repeat=2, by="size", until=9), "repeat says how often each sample comes, however long it is: give weights"),
        (lambda: hr.mix({a: 1}, by="size"), 'until must be a number of samples: weights count the length of "size"'),
        (lambda: hr.mix({a: -1}, by="size", until=9), r"weights\[0\] is -1"),
        (lambda: hr.mix({a: 0}, by="size", until=9), "weights has only zeros"),
    ):
        with pytest.raises(hr.errors.HeadraceError, match=why):
            make().batch(2).loader()
