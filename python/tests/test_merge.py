"""Several sources as one: whose turn it is, and what comes of each. The references are loops over lists, and NumPy."""

from __future__ import annotations

import itertools
import json
import math
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import headrace as hr

pytestmark = pytest.mark.usefixtures("one_engine")

SIDE = 12
COUNTS = {"ant": 7, "bee": 4, "cat": 1}


def noise(seed: int) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 256, (SIDE, SIDE, 3), np.uint8)


def write(folder: Path, counts: dict[str, int]) -> dict[str, list[str]]:
    """PNG files, which every decoder reads the same, in a folder each. Returns the paths in the order of the folders."""
    paths: dict[str, list[str]] = {}
    for k, (name, count) in enumerate(counts.items()):
        (folder / name).mkdir(parents=True)
        paths[name] = [f"{folder}/{name}/{i}.png" for i in range(count)]
        for i, path in enumerate(paths[name]):
            Image.fromarray(noise(1000 * k + i)).save(path)
    return paths


@pytest.fixture(scope="module")
def animals(tmp_path_factory) -> dict[str, list[str]]:
    return write(tmp_path_factory.mktemp("animals"), COUNTS)


def source(paths: list[str], **options) -> hr.Pipeline:
    return hr.files(paths, **options).decode_image()


def keys(loader) -> list[str]:
    return [key for batch in loader for key in batch["key"]]


def epochs_of(pipeline: hr.Pipeline, epochs: int = 1, **options) -> list[list[str]]:
    with pipeline.center_crop(8).batch(3).loader(epochs=epochs, **options) as loader:
        return [keys(loader) for _ in range(epochs)]


def test_a_bad_sample_names_its_source(animals, tmp_path):
    bad = tmp_path / "bad.png"
    bad.write_bytes(b"no picture")
    merged = hr.merge([source(animals["ant"]), source([animals["bee"][0], str(bad)])]).center_crop(8).batch(1)
    with merged.loader(epochs=1) as loader:
        got = []
        with pytest.raises(hr.SampleError) as caught:
            got.extend(key for batch in loader for key in batch["key"])
        assert (caught.value.key, caught.value.source, caught.value.index) == (str(bad), "files_2", 1)
        assert got == [animals["ant"][0], animals["bee"][0], animals["ant"][1]]
    with merged.loader(epochs=1, on_error="skip") as loader:
        assert len(keys(loader)) == 8
        (lost,) = loader.errors
        assert (lost.source, lost.index, lost.key) == ("files_2", 1, str(bad))


def test_a_source_that_is_not_there(animals, tmp_path):
    with pytest.raises(hr.SourceError, match="nowhere"):
        hr.merge([source(animals["ant"]), hr.files(tmp_path / "nowhere").decode_image()]).center_crop(8).batch(1).loader()


def test_samples_without_a_key_get_one():
    """Their names are those that errors have, in whatever place the field is, and whichever lacks it."""
    source = [{"n": i, "text": f"s{i}"} for i in range(6)]
    keyed = hr.source(source)
    bare = hr.source(source).map(lambda sample: {"n": -sample["n"], "text": sample["text"]}, gives={"n": int, "text": str})
    halves = hr.source(source).flat_map(lambda sample: [{"n": sample["n"], "text": "x"}] * 2, gives={"n": int, "text": str})
    for pipelines in ([keyed, bare], [bare, keyed], [keyed, halves]):
        with hr.merge(pipelines).batch(4).loader(epochs=1, workers=1) as loader:
            assert set(loader.schema) == {"n", "text", "key"}
            keys = sorted(key for batch in loader for key in batch["key"])
        assert keys == sorted([str(i) for i in range(6)] * (3 if pipelines[1] is halves else 2))
    with hr.merge([bare, bare]).batch(4).loader(epochs=1, workers=1) as loader:
        assert set(loader.schema) == {"n", "text"}


def stop_after(animals, samples: int) -> hr.Pipeline:
    streams = [source(animals["ant"]).random_flip(), source(animals["cat"]), hr.files(animals["bee"] * 3).shuffle().decode_image()]
    return hr.merge(streams, until=samples).center_crop(8)


def test_an_epoch_of_so_many_samples(animals, tmp_path):
    """It is the beginning of what would come without an end: 7, 1 and 12 samples."""
    whole = epochs_of(stop_after(animals, 10**6), 3)
    assert [len(epoch) for epoch in whole] == [20] * 3
    for samples in (1, 7, 19, 20, 21):
        pipeline = stop_after(animals, samples)
        assert epochs_of(pipeline, 3) == [epoch[:samples] for epoch in whole]
        with pipeline.batch(3).loader() as loader:
            assert len(loader) == math.ceil(min(samples, 20) / 3)
            (tmp_path / "recipe.yaml").write_text(loader.recipe())
        with hr.load(tmp_path / "recipe.yaml").loader() as loader:
            assert len(keys(loader)) == min(samples, 20)


@pytest.mark.parametrize("samples", [8, 13, 40])
def test_ranks_share_so_many_samples(animals, samples):
    """Each has as many, and together they are the samples of the epoch, rounded up; uneven: exactly."""
    pipeline = stop_after(animals, samples).batch(2)
    for uneven in (False, True):
        counts = []
        for rank in range(2):
            with pipeline.loader(epochs=1, rank=rank, world_size=2, uneven=uneven) as loader:
                counts.append(len(keys(loader)))
        assert sum(counts) == min(samples, 20) if uneven else set(counts) == {math.ceil(min(samples, 22) / 2)}


def lengths(n: int, length: int, begin: int = 0) -> hr.Pipeline:
    """Arrays that are as long as each other, as of a function whose first result says so."""
    rows = [{"x": np.full(length, begin + i)} for i in range(n)]
    return hr.source(rows, gives={"x": ("int64", (length,))})


def together(kind: str) -> hr.Pipeline:
    if kind == "merge":
        return hr.merge([lengths(6, 3), lengths(6, 5, 100)])
    if kind == "mix":
        return hr.mix([(lengths(6, 3), 1), (lengths(6, 5, 100), 1)])
    if kind == "mix by length":
        return hr.mix([(lengths(6, 3), 1), (lengths(6, 5, 100), 1)], by="x", until=12)
    both = {0: lambda x: np.full(3, x), 1: lambda x: np.full(5, 100 + x)}
    branches = [
        ([i], lambda p, f=f, n=n: p.map(f, fields="n", to="x", gives={"x": ("int64", (n,))})) for (i, f), n in zip(both.items(), (3, 5))
    ]
    return hr.source([{"n": i % 2} for i in range(12)], gives={"n": int}).route("n", branches).drop("n")


@pytest.mark.parametrize("kind", ["merge", "mix", "mix by length", "route"])
def test_lengths_that_differ_between_sources_alone(kind):
    """Each source says a length, and together they are sequences of any."""
    p = together(kind)
    with p.loader(epochs=1) as loader:
        want = sorted(sample["x"].tolist() for sample in loader)
    assert {len(one) for one in want} == {3, 5}

    with p.pack(8, size=1).loader(epochs=1) as loader:
        rows = [(batch["x"][0], batch["x_segment_ids"][0]) for batch in loader]
    assert sorted(x[ids == k].tolist() for x, ids in rows for k in range(1, ids.max() + 1)) == want
    with p.bucket_batch([4, 8], size=2).loader(epochs=1) as loader:
        batches = [(batch["x"], batch["x_length"]) for batch in loader]
    assert sorted(row[:n].tolist() for x, many in batches for row, n in zip(x, many)) == want
    assert all(x.shape[1] == (4 if n.max() == 3 else 8) for x, n in batches)
    with p.batch(4, collate=lambda samples: {"all": [one["x"].tolist() for one in samples]}).loader(epochs=1) as loader:
        assert sorted(x for batch in loader for x in batch["all"]) == want


def by_filter(samples: int) -> hr.Pipeline:
    """Two sources, of which all pass a filter: global batches have lanes."""
    first, second = (hr.source([{"n": begin + i} for i in range(30)], gives={"n": int}) for begin in (0, 100))
    return hr.merge([first.shuffle(), second], until=samples).filter(lambda n: True, fields="n", where="here")


@pytest.mark.parametrize("samples", [1, 5, 11])
def test_lanes_of_which_some_have_no_samples(samples):
    """The same batches on every number of ranks, also after each of them, in two epochs."""
    pipeline = by_filter(samples).lanes(8).batch(global_size=8)

    def run(world, states=None, cut=None):
        ranks = []
        for rank in range(world):
            with pipeline.loader(epochs=2, rank=rank, world_size=world, uneven=True) as loader:
                if states is not None:
                    loader.load_state_dict(states)
                epochs = [[batch["n"].tolist() for batch in itertools.islice(loader, cut)] for _ in range(2 if cut is None else 1)]
                ranks.append((epochs, loader.state_dict()))
        batches = [
            [list(itertools.chain(*parts)) for parts in itertools.zip_longest(*of_ranks, fillvalue=[])]
            for of_ranks in zip(*(epochs for epochs, _ in ranks))
        ]
        return batches, [state for _, state in ranks]

    whole, _ = run(1)
    assert [sum(map(len, epoch)) for epoch in whole] == [samples, samples]
    for world in (2, 8):
        assert run(world)[0] == whole
    if len(whole[0]) > 1:
        for before, after in [(1, 8), (8, 2)]:
            first, states = run(before, cut=1)
            assert first == [whole[0][:1]]
            assert run(after, states)[0] == [whole[0][1:], whole[1]]


def test_uneven_ranks_of_which_some_have_no_samples():
    counts = []
    for rank in range(4):
        with by_filter(2).batch(2).loader(epochs=2, rank=rank, world_size=4, uneven=True) as loader:
            counts.append([sum(len(batch["n"]) for batch in loader) for _ in range(2)])
    assert counts == [[1, 1], [1, 1], [0, 0], [0, 0]]


@pytest.mark.parametrize("worlds", [(1, 2), (2, 1), (2, 3)])
def test_so_many_samples_are_left_for_other_ranks(animals, worlds):
    before, after = worlds
    pipeline = stop_after(animals, 18).batch(2, drop_last=False)
    states, seen = [], []
    for rank in range(before):
        with pipeline.loader(epochs=1, rank=rank, world_size=before) as loader:
            seen += [key for batch in itertools.islice(loader, 2) for key in batch["key"]]
            states.append(json.loads(json.dumps(loader.state_dict())))
    counts = []
    for rank in range(after):
        with pipeline.loader(epochs=1, rank=rank, world_size=after) as loader:
            loader.load_state_dict(states)
            counts.append(len(keys(loader)))
    assert set(counts) == {math.ceil((18 - len(seen)) / after)}


def test_what_cannot_end_so_is_refused(animals):
    two = [source(animals["ant"]), source(animals["bee"])]
    for until, order, why in [
        (0, None, "until is 0: must be a number of samples, at least 1, longest or shortest"),
        ("long", None, 'until is "long": must be "longest" or "shortest"'),
        (5, "arrival", 'until is 5, but order is "arrival"'),
        (2.5, None, "until is 2.5: must be a whole number"),
    ]:
        with pytest.raises(hr.RecipeError, match=why):
            hr.merge(two, until=until, order=order).center_crop(8).batch(3).loader()


def labelled(count: int, **fields) -> hr.Pipeline:
    return hr.source([{"n": i} | {name: value(i) for name, value in fields.items()} for i in range(count)])


def filled_rows(pipeline, **options):
    with pipeline.batch(4).loader(epochs=1, **options) as loader:
        fields = {name: field.dtype for name, field in loader.schema.items()}
        return fields, [
            {name: value.item() if hasattr(value, "item") else value for name, value in zip(batch, row, strict=True)}
            for batch in loader
            for row in zip(*batch.values(), strict=True)
        ]


def test_fields_that_some_lack_are_filled():
    one = labelled(4, label=lambda i: np.int16(i), score=lambda i: i / 2)
    two = labelled(3, text=lambda i: f"t{i}", label=lambda i: np.int16(-i))
    three = labelled(2)
    merged = hr.merge([one, two, three], fill={"label": -100, "score": 0.5})
    want = []
    for i in range(4):
        want.append({"n": i, "label": i, "score": i / 2, "text": "", "key": str(i)})
        want += [{"n": i, "label": -i, "score": 0.5, "text": f"t{i}", "key": str(i)}] * (i < 3)
        want += [{"n": i, "label": -100, "score": 0.5, "text": "", "key": str(i)}] * (i < 2)
    fields, rows = filled_rows(merged)
    assert rows == want
    assert fields == {"n": "int64", "label": "int16", "score": "float64", "text": None, "key": None}
    assert filled_rows(hr.merge([two, one, three], fill=7))[1][2]["label"] == 7
    assert filled_rows(hr.merge([labelled(2), labelled(2)], fill=7)) == filled_rows(hr.merge([labelled(2), labelled(2)]))

    parts = [filled_rows(merged, rank=rank, world_size=2)[1] for rank in range(2)]
    assert {frozenset(row.items()) for part in parts for row in part} == {frozenset(row.items()) for row in want}


def test_what_cannot_be_filled_is_refused():
    one = labelled(2, label=lambda i: np.uint8(i))
    arrays = labelled(2, box=lambda i: np.zeros(4))
    for pipelines, fill, why in [
        ([one, labelled(2)], -1, 'fill is -1 for the field "label": no uint8 has this value'),
        ([one, labelled(2)], {"label": 0.5}, 'fill is 0.5 for the field "label": no uint8'),
        ([one, labelled(2)], {"lable": 1}, 'fill names "lable": the fields that some lack are label'),
        ([one, one], {"label": 1}, 'fill names "label": no field is missing'),
        ([arrays, labelled(2)], 0, 'fill is for numbers and text, and the field "box", which some lack, is float64'),
        ([one, labelled(2, label=float)], 0, 'gives the field "label" as float64, but of.0. gives it as uint8'),
        ([one, labelled(2)], None, 'without the field "label"'),
        ([one, labelled(2)], "no", "fill is 'no': must be a number"),
        ([one, labelled(2)], math.nan, "fill is nan: must be a number"),
    ]:
        with pytest.raises(hr.RecipeError, match=why):
            hr.merge(pipelines, fill=fill).batch(2).loader()
