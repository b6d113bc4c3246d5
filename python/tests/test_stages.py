"""Stages after batch: whatever works on samples works on batches, which are samples with one more axis."""

from __future__ import annotations

import os

import numpy as np
import pytest

import headrace as hr

COUNT = 22


class Items:
    def __len__(self):
        return COUNT

    def __getitem__(self, i):
        return {"x": np.full((2, 3), i, np.float32), "n": i, "t": f"t{i}", "o": {"i": i}}


SAMPLES = hr.source(Items())
GIVES = {"y": ("float32", (None,)), "n": ("int64", (None,)), "t": (str, (None,)), "o": (object, (None,)), "key": (str, (None,))}
ROW = {"y": "float32", "n": int, "t": str, "o": object, "key": str}


def model(batch):
    """Makes something of each field; the arrays are views, the texts and objects lists."""
    assert batch["x"].shape == (len(batch["n"]), 2, 3)
    texts = [text.upper() for text in batch["t"]]
    return {"y": batch["x"].sum((1, 2)), "n": batch["n"], "t": texts, "o": batch["o"], "key": batch["key"]}


def modelled(i):
    return {"y": 6.0 * i, "n": i, "t": f"T{i}", "o": {"i": i}, "key": str(i)}


def encode(sample):
    return {**sample, "n": sample["n"] * 2}


def full(batch):
    return len(batch["n"]) == 8


def negative(x):
    return -x


def noisy(x, rng):
    return x + rng.random(x.shape, np.float32)


def parts(batch):
    for n in batch["n"]:
        yield {"n": int(n), "rows": len(batch["n"])}


def fails(batch):
    if 9 in batch["n"]:
        raise ValueError("nine")
    return batch


def fewer(batch):
    return {"n": batch["n"][1:]}


def pid(batch):
    return {"pid": os.getpid(), "n": batch["n"]}


class Pairs:
    """Makes one batch of two."""

    def __init__(self):
        self.held = []

    def accumulate(self, batch):
        self.held.append(batch["n"])
        if len(self.held) == 2:
            held, self.held = self.held, []
            return {"n": np.concatenate(held)}

    def flush(self):
        return {"n": self.held[0]} if self.held else None

    def state_dict(self):
        return {"held": self.held}

    def load_state_dict(self, state):
        self.held = state["held"]


def plain(batch):
    """A batch, or a sample, as something that compares."""
    return {name: value.tolist() if isinstance(value, np.ndarray) else value for name, value in batch.items()}


def all_of(pipeline, **options):
    with pipeline.loader(epochs=1, **options) as loader:
        return [plain(batch) for batch in loader]


def rows(first, last):
    wanted = [modelled(i) for i in range(first, last)]
    return {name: [row[name] for row in wanted] for name in wanted[0]}


MODEL = SAMPLES.batch(8).map(model, gives=GIVES)
CHAIN = MODEL.unbatch().map(encode, gives=ROW)


@pytest.mark.parametrize("gives", [None, GIVES], ids=["tried", "said"])
@pytest.mark.parametrize("where", ["process", "thread"])
def test_a_function_is_given_batches(gives, where):
    with SAMPLES.batch(8).map(model, gives=gives, where=where).loader(epochs=1) as loader:
        assert len(loader) == 3
        got = [plain(batch) for batch in loader]
    assert got == [rows(0, 8), rows(8, 16), rows(16, 22)]


def test_fields_and_filters():
    got = all_of(SAMPLES.batch(8).map(negative, fields="x").filter(full))
    assert [batch["n"] for batch in got] == [list(range(8)), list(range(8, 16))]
    assert got[1]["x"] == (-np.stack([Items()[i]["x"] for i in range(8, 16)])).tolist()
    assert got[1]["key"] == [str(i) for i in range(8, 16)]


def test_rows_are_samples_again():
    with MODEL.unbatch().loader(epochs=1) as loader:
        assert len(loader) == COUNT
        got = [plain(sample) for sample in loader]
    assert got == [modelled(i) for i in range(COUNT)]
    assert all_of(SAMPLES.batch(4).unbatch())[7]["o"] == {"i": 7}


def test_batches_of_rows_and_batches_of_batches():
    got = all_of(CHAIN.batch(5))
    assert [batch["n"] for batch in got] == [list(range(i, min(i + 10, 44), 2)) for i in range(0, 44, 10)]
    assert got[4]["t"] == ["T20", "T21"]
    twice = all_of(SAMPLES.batch(4, drop_last=True).map(model).batch(2))
    assert [np.shape(batch["y"]) for batch in twice] == [(2, 4), (2, 4), (1, 4)]
    assert twice[1]["t"] == [[f"T{i}" for i in range(8, 12)], [f"T{i}" for i in range(12, 16)]]
    assert twice[2]["o"] == [[{"i": i} for i in range(16, 20)]]


def test_several_of_one_and_one_of_several():
    assert all_of(SAMPLES.batch(8).flat_map(parts)) == [{"n": i, "rows": 8 if i < 16 else 6} for i in range(COUNT)]
    assert all_of(SAMPLES.batch(8).aggregate(Pairs)) == [{"n": list(range(16))}, {"n": list(range(16, 22))}]


def test_routes_of_batches():
    def tag(batch):
        return {"size": len(batch["n"]), "n": batch["n"]}

    gives = {"size": int, "n": ("int64", (None,))}
    routed = (
        SAMPLES.batch(8)
        .map(tag, gives=gives)
        .route("size", [(8, lambda p: p.map(negative, fields="n", gives={"n": ("int64", (None,))})), lambda p: p])
    )
    assert [batch["n"] for batch in all_of(routed)] == [[-i for i in range(8)], [-i for i in range(8, 16)], list(range(16, 22))]


def test_sequences_and_collate_in_the_middle():
    def ragged(i):
        return {"s": np.arange(i % 3 + 1), "n": i}

    def longest(batch):
        return {**batch, "longest": int(batch["s_length"].max())}

    samples = hr.source(range(6)).map(ragged, gives={"s": ("int64", (None,)), "n": int})
    got = all_of(samples.bucket_batch([3], size=3).map(longest).filter(lambda b: b["longest"] == 3))
    assert [batch["n"] for batch in got] == [[0, 1, 2], [3, 4, 5]]

    def collate(samples):
        return {"sum": np.int64(sum(sample["n"] for sample in samples)), "n": np.array([sample["n"] for sample in samples])}

    assert all_of(SAMPLES.batch(11, collate=collate).map(negative, fields="sum")) == [
        {"sum": -55, "n": list(range(11))},
        {"sum": -176, "n": list(range(11, 22))},
    ]


def test_what_a_collate_made_stays_until_its_rows_are_taken():
    """Its worker writes into memory that is the batch's own, not a result's that is given back."""

    def halves(samples):
        numbers = np.array([sample["n"] for sample in samples[::2]])
        return {"n": numbers, "more": numbers * 2}

    numbers = hr.source([{"n": i} for i in range(500)], gives={"n": int})
    pipeline = numbers.batch(5, collate=halves, gives={"n": ("int64", (None,)), "more": ("int64", (None,))}).unbatch().batch(2)
    rows = [row for batch in all_of(pipeline, workers=1) for row in zip(batch["n"], batch["more"], strict=True)]
    assert rows == [(n, 2 * n) for n in range(500) if n % 5 in (0, 2, 4)]


def test_what_a_collate_made_may_grow():
    """The fields that still fit into the first memory of a batch are not lost when others do not."""

    def wider(samples):
        n = samples[0]["n"]
        return {"n": np.full(1 + n, n), "more": np.full(1 + n, 2 * n)}

    numbers = hr.source([{"n": i} for i in range(300)], gives={"n": int})
    batches = all_of(numbers.batch(3, collate=wider).map(lambda batch: {"n": batch["n"], "more": batch["more"]}), workers=2)
    assert batches == [{"n": [n] * (1 + n), "more": [2 * n] * (1 + n)} for n in range(0, 300, 3)]


def test_what_a_collate_made_may_have_any_number_of_rows():
    def halves(samples):
        return {"n": np.array([sample["n"] for sample in samples[::2]])}

    pipeline = SAMPLES.batch(5, collate=halves, gives={"n": ("int64", (None,))}).unbatch().batch(2)
    assert [batch["n"] for batch in all_of(pipeline)] == [[0, 2], [4, 5], [7, 9], [10, 12], [14, 15], [17, 19], [20]]
    with pipeline.loader(epochs=1) as loader:
        assert loader.max_batches is None
    with pytest.raises(hr.RecipeError, match=r"made by the collate of batch.*steps_per_epoch"):
        pipeline.loader(rank=0, world_size=2)
    with pipeline.loader(rank=0, world_size=2, steps_per_epoch=3) as loader:
        assert len(list(loader)) == 3


def test_random_numbers_are_those_of_the_samples():
    pipeline = SAMPLES.batch(4).map(noisy, fields="x").unbatch().map(noisy, fields="x")
    assert all_of(pipeline, workers=1) == all_of(pipeline, workers=4)


@pytest.mark.parametrize(
    "pipeline",
    [
        SAMPLES.shuffle().drop("o").batch(4).map(noisy, fields="x"),
        SAMPLES.shuffle().drop("o").batch(4).map(noisy, fields="x").unbatch(),
        SAMPLES.shuffle().drop("o").batch(4).unbatch().batch(3),
    ],
    ids=["map", "unbatch", "batch"],
)
def test_replays(pipeline):
    with pipeline.loader(epochs=1) as loader:
        loop = iter(loader)
        next(loop)
        state = loader.state_dict()
        given = [plain(batch) for batch in loop]
    for k in (0, 3):
        made = hr.replay(pipeline, state, k)
        assert plain(made.batch) == given[k]
        assert [row["index"] for row in made.rows] == np.ravel(given[k]["n"]).tolist()


def test_ranks_have_as_many():
    got = [[sample["n"] for sample in all_of(CHAIN, rank=rank, world_size=2)] for rank in range(2)]
    assert len(got[0]) == len(got[1])
    assert {n // 2 for part in got for n in part} == set(range(COUNT))


def test_a_batch_that_fails_is_lost_with_its_samples():
    pipeline = SAMPLES.batch(8).map(fails).unbatch()
    with pytest.raises(hr.SampleError, match="nine"):
        all_of(pipeline)
    with pipeline.loader(epochs=1, on_error="skip", max_errors=10) as loader:
        assert [sample["n"] for sample in loader] == [*range(8), *range(16, 22)]
        assert len(loader.errors) == 8
        assert loader.errors[0].key == "8"
    with pytest.raises(hr.HeadraceError, match=r"makes samples from several, and cannot give another"):
        pipeline.loader(on_error="replace")


def test_a_batch_has_as_many_rows_as_samples():
    with pytest.raises(hr.SampleError, match='the field "n" has 7 rows, and 8 samples are in the batch'):
        all_of(SAMPLES.batch(8).map(fewer).unbatch())


def test_what_cannot_follow_a_batch_is_refused(photos):
    images = hr.files(photos).decode_image().resize((8, 8)).batch(2)
    with pytest.raises(hr.RecipeError, match='comes after "batch", which makes batches, and works on samples: put it before'):
        images.random_flip().loader()
    with pytest.raises(hr.RecipeError, match=r"cannot take batches apart: the field .* has no rows"):
        SAMPLES.unbatch().loader()


def test_memory_is_bounded_and_given_back():
    class Large:
        def __len__(self):
            return 64

        def __getitem__(self, i):
            return {"x": np.full(1 << 16, i, np.float32)}

    pipeline = hr.source(Large()).batch(4).map(negative, fields="x").unbatch().batch(8)
    with pipeline.loader(epochs=1, memory="24MiB") as loader:
        assert [int(batch["x"][0, 0]) for batch in loader] == [-8 * i for i in range(8)]
        assert loader.stats()["memory"]["peak"] <= 28 << 20  # the oldest of each stage is admitted in any case


def test_the_loop_may_still_do_the_last_steps():
    def here(batch):
        return {**batch, "here": os.getpid()}

    got = all_of(SAMPLES.batch(11).map(pid).map(here, where="main"))
    assert all(batch["here"] == os.getpid() != batch["pid"] for batch in got)


def test_recipes_have_stages_behind_batch(tmp_path):
    text = hr.source([1, 2, 3, 4, 5]).batch(2).unbatch().batch(5)
    assert "unbatch" in repr(text)
    file = tmp_path / "r.yaml"
    file.write_text(
        "headrace: 1\nsteps:\n  - source: {function: 'functions:NUMBERS', length: 4}\n  - batch: {size: 3}\n"
        "  - map: {function: 'numpy:negative'}\n  - unbatch\n  - batch: {size: 4}\n"
    )
    with hr.load(file).loader(epochs=1) as loader:
        assert next(iter(loader)).tolist() == [-3, -1, -4, -1]
