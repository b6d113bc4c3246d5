"""Which samples come: split, take, skip, shard and slices."""

from __future__ import annotations

import itertools
import json
import random

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch

import headrace as hr
from conftest import WHOLE
from headrace.errors import RecipeError, StateMismatch, WrongType

pytestmark = pytest.mark.usefixtures("one_engine")


class Numbers:
    def __init__(self, count):
        self.count = count

    def __len__(self):
        return self.count

    def __getitem__(self, i):
        return {"n": i}


def numbers(count, **options):
    return hr.source(Numbers(count), gives={"n": int}, where="here", **options)


def joined(lists):
    return list(itertools.chain.from_iterable(lists))


def given(pipeline, epochs=1, **options):
    """The numbers of each epoch."""
    with pipeline.loader(epochs=epochs, workers=1, **options) as loader:
        return [[n for batch in loader for n in batch["n"].tolist()] for _ in range(epochs)]


def test_a_pipeline_is_sliced_like_a_list():
    everything = list(range(50))
    pipeline = numbers(50)
    for cut in (slice(10), slice(-7, None), slice(3, 40, 5), slice(None, None, 7), slice(45, 1000), slice(-1000, 2)):
        assert given(pipeline[cut].batch(4)) == [everything[cut]], cut
    assert given(pipeline.take(7).batch(4)) == [everything[:7]]
    assert given(pipeline.skip(7).batch(4)) == [everything[7:]]
    assert given(pipeline.shard(2, 4).batch(4)) == [everything[2::4]]
    assert pipeline[10:20] == pipeline.slice(10, 20)
    with pipeline[5:][::3].batch(4).loader(epochs=1) as loader:
        assert len(loader) == -(-len(everything[5:][::3]) // 4)


def test_before_and_after_shuffle():
    pipeline = numbers(50, seed=3)
    assert [sorted(one) for one in given(pipeline.take(8).shuffle().batch(4), 2)] == [list(range(8))] * 2
    whole = given(pipeline.shuffle().batch(4), 2)
    assert given(pipeline.shuffle().take(8).batch(4), 2) == [one[:8] for one in whole]
    assert given(pipeline.shuffle()[::2].skip(3).batch(4), 2) == [one[::2][3:] for one in whole]
    drawn = given(pipeline.weighted([1, 2] * 25, draws=30).batch(4), 2)
    assert given(pipeline.weighted([1, 2] * 25, draws=30).shard(1, 3).batch(4), 2) == [one[1::3] for one in drawn]
    order = list(range(49, -1, -2))
    assert given(numbers(50, sampler=order)[3:-3].batch(4), 2) == [order[3:-3]] * 2


class Growing:
    """A sampler whose epochs differ in length."""

    def __init__(self):
        self.epoch = 0

    def set_epoch(self, epoch):
        self.epoch = epoch

    def __len__(self):
        return 20

    def __iter__(self):
        return iter(range(20 - 6 * self.epoch))


def test_slices_of_epochs_of_several_lengths():
    pipeline = numbers(50, sampler=Growing())
    assert given(pipeline[-4:].batch(3), 3) == [list(range(n))[-4:] for n in (20, 14, 8)]
    with pytest.raises(hr.HeadraceError, match=r"skip leaves none of the 8 samples that come in epoch 2"):
        given(pipeline.skip(10).batch(3), 3)


@pytest.mark.parametrize("seed", range(40 if WHOLE else 2))
def test_ranks_states_and_any_composition(seed):
    """Against a list, in whatever steps: all ranks together, and from any batch on with any number of ranks."""
    r = random.Random(seed)
    count = r.randrange(60, 120)
    pipeline, want = numbers(count, seed=seed), list(range(count))

    def choose(pipeline, want):
        for _ in range(r.randrange(3)):
            op = r.choice(["take", "skip", "shard", "slice"])
            n = r.randrange(1, 9)
            if op == "take":
                n = len(want) - n
                pipeline, want = pipeline.take(n), want[:n]
            elif op == "skip":
                pipeline, want = pipeline.skip(n), want[n:]
            elif op == "shard":
                pipeline, want = pipeline.shard(1, 2), want[1::2]
            else:
                pipeline, want = pipeline[n:-n:2], want[n:-n:2]
        return pipeline, want

    pipeline, want = choose(pipeline, want)
    epoch = r.randrange(3)
    if r.random() < 0.7:
        order = given(numbers(len(want), seed=seed).shuffle().batch(8), epoch + 1)[epoch]
        pipeline, want = pipeline.shuffle(), [want[i] for i in order]
    pipeline, want = choose(pipeline, want)
    pipeline = pipeline.batch(global_size=8)

    def batches(world, state=None, steps=None):
        """The global batches of an epoch, and the states of all ranks."""
        parts, kept = [], []
        for rank in range(world):
            with pipeline.loader(rank=rank, world_size=world, workers=1, uneven=True) as loader:
                if state is None:
                    loader.set_epoch(epoch)
                else:
                    loader.load_state_dict(state)
                mine = []
                for batch in loader:
                    mine.append(batch["n"].tolist())
                    if len(mine) == steps:
                        kept.append(loader.state_dict())
                        break
                parts.append(mine)
        return [joined(part[i] for part in parts if i < len(part)) for i in range(max(map(len, parts)))], kept

    full = [want[i : i + 8] for i in range(0, len(want), 8)]
    assert batches(1)[0] == full
    assert batches(3)[0] == full
    if len(full) > 2:
        _, states = batches(2, steps=2)
        assert batches(4, json.loads(json.dumps(states)))[0] == full[2:]


def test_merged_sources_are_sliced():
    merged = hr.merge([numbers(10).take(3), numbers(100).shuffle()[:2]])
    (got,) = given(merged.batch(5))
    assert len(got) == 5
    assert [n for n in got if n < 3][:3]


def test_states_of_other_slices_are_refused():
    with numbers(50).take(20).batch(4).loader() as loader:
        next(iter(loader))
        state = loader.state_dict()
    with numbers(50).take(24).batch(4).loader() as loader, pytest.raises(StateMismatch, match="take"):
        loader.load_state_dict(state)


CUTS = {
    "an order": lambda p: p.shuffle()[:20],
    "take": lambda p: p.take(20).shuffle(),
    "skip": lambda p: p[-20:].shuffle(),
    "shard": lambda p: p.shard(0, 2).shuffle(),
    "two": lambda p: p[:30].shuffle()[:20],
    "a part": lambda p: p[:30].split({"a": 0.9, "b": 0.1})["a"].shuffle()[:20],
    "lanes": lambda p: p.shuffle()[:20].filter(any_key, where="here"),
    "mix": lambda p: hr.mix({"a": p.shuffle()[:20], "b": p.take(9)}, until=60),
}


def any_key(sample):
    return True


@pytest.mark.parametrize("cut", CUTS)
def test_a_source_that_has_grown_is_refused_though_as_many_are_chosen(cut, tmp_path):
    def loader():
        return CUTS[cut](hr.files(tmp_path)).drop("bytes").batch(global_size=4).loader(workers=1)

    for n in range(41):
        (tmp_path / f"{n + 100}.jpg").write_bytes(b"?")
    with loader() as first:
        batches = iter(first)
        for _ in range(3):
            next(batches)
        state = json.loads(json.dumps(first.state_dict()))
        rest = [batch["key"] for batch in batches]
    # Engines have saved some without the numbers.
    old = {**state, "sources": {name: {**place, "of": None} for name, place in state["sources"].items()}}
    for known in (state, old):
        with loader() as same:
            same.load_state_dict(known)
            assert [batch["key"] for batch in same] == rest
    (tmp_path / "000.jpg").write_bytes(b"?")
    with loader() as grown, pytest.raises(StateMismatch, match=r"had 41 samples of which|another number of them"):
        grown.load_state_dict(state)
        next(iter(grown))


def test_a_part_goes_on_unless_it_has_grown(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # names, and so the parts, are those of every run

    def loader(part):
        parts = hr.files("files").split({"a": 0.5, "b": 0.5})
        return parts[part].shuffle()[:10].drop("bytes").batch(2).loader(workers=1)

    folder = tmp_path / "files"
    folder.mkdir()
    for n in range(41):
        (folder / f"{n + 100}.jpg").write_bytes(b"?")
    states, rest = {}, {}
    for part in "ab":
        with loader(part) as first:
            batches = iter(first)
            next(batches)
            states[part] = first.state_dict()
            rest[part] = [batch["key"] for batch in batches]
    (folder / "000.jpg").write_bytes(b"?")
    refused = []
    for part in "ab":
        with loader(part) as grown:
            try:
                grown.load_state_dict(states[part])
                assert [batch["key"] for batch in grown] == rest[part]
            except StateMismatch:
                refused.append(part)
    assert len(refused) == 1


def test_what_replaces_a_sample_is_one_of_those_that_come():
    class Bad(Numbers):
        def __getitem__(self, i):
            if i % 4 == 1:
                raise ValueError("bad")
            return {"n": i}

    pipeline = hr.source(Bad(200), gives={"n": int}, where="here")[:20]
    (got,) = given(pipeline.shuffle().batch(5), on_error="replace", max_errors=100)
    assert len(got) == 20
    assert max(got) < 20


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda p: p.take(0), "take.*n is 0: must be at least 1"),
        (lambda p: p.skip(-1), "skip.*n is -1: must be at least 0"),
        (lambda p: p[::-1], "step is -1: must be at least 1"),
        (lambda p: p[::0], "step is 0: must be at least 1"),
        (lambda p: p.shard(4, 4), "index is 4 of 4 parts: must be from 0 to 3"),
        (lambda p: p.shard(0, 0), "count is 0: must be at least 1"),
        (lambda p: p.skip(50), r'skip\(n=50\) leaves no sample of "source", which has 50 there'),
        (lambda p: p[20:10], r'leaves no sample of "source", which has 50 there'),
        (lambda p: p.take(3).shard(3, 4), r'leaves no sample of "source", which has 3 there'),
        (lambda p: p.map(abs, fields="n", where="here").take(3), 'take.*comes after "map": it must directly follow the source'),
        (lambda p: p.shuffle().take(3).shuffle(), 'shuffle_2.*comes after "take": it must directly follow the source'),
        (lambda p: hr.merge([p, p]).take(3), 'comes after "merge": it must directly follow the sources inside it'),
    ],
)
def test_what_cannot_be_sliced(make, said):
    with pytest.raises(RecipeError, match=said):
        make(numbers(50)).batch(2).loader()


def test_what_is_not_a_slice():
    with pytest.raises(WrongType, match=r"pipeline\[10:20\] uses a range"):
        numbers(50)[3]
    with pytest.raises(RecipeError, match="must be a whole number"):
        numbers(50)["a":"b"]
    with pytest.raises(RecipeError, match="must be a whole number"):
        numbers(50).take(0.5)


def test_slices_of_unknown_length_are_refused():
    def forever():
        yield {"n": 1}

    for cut in (lambda p: p.take(3), lambda p: p[3:], lambda p: p.shard(0, 2), lambda p: p.split({"a": 0.5})["a"]):
        with pytest.raises(RecipeError, match='comes after "source", whose number of samples is unknown'):
            cut(hr.source(forever, where="here")).batch(2).loader()


def test_a_sampler_of_lists_is_not_sliced():
    lists = torch.utils.data.BatchSampler(range(50), 4, False)
    with pytest.raises(RecipeError, match='comes after "sampler", which gives lists, each a batch'):
        numbers(50, sampler=lists).take(3).batch().loader()


# Splits.


def test_parts_never_overlap_and_are_all():
    """What `random_split` promises, but for exact counts; and that a part stays what it is."""
    shares = {"train": 0.7, "val": 0.2, "test": 0.1}
    parts = {name: given(part.batch(8))[0] for name, part in numbers(600).split(shares).items()}
    assert list(parts) == list(shares)
    assert sorted(joined(parts.values())) == list(range(600))
    for name, share in shares.items():
        deviation = (600 * share * (1 - share)) ** 0.5
        assert abs(len(parts[name]) - 600 * share) < 4 * deviation
    theirs = torch.utils.data.random_split(range(600), list(shares.values()))
    assert [abs(len(a) - len(b)) < 100 for a, b in zip(theirs, parts.values())] == [True] * 3
    more = {name: given(part.batch(8))[0] for name, part in numbers(900).split(shares).items()}
    assert {name: [n for n in part if n < 600] for name, part in more.items()} == parts
    other = {name: given(part.batch(8))[0] for name, part in numbers(600).split(shares, seed=1).items()}
    assert other != parts
    cut = {name: given(part.batch(8))[0] for name, part in numbers(600).split({"train": 0.7, "val": 0.05, "rest": 0.25}).items()}
    assert cut["train"] == parts["train"]


def test_the_pipelines_seed_is_not_the_splits():
    a, b = (given(numbers(300, seed=seed).split({"val": 0.2})["val"].batch(8)) for seed in (1, 2))
    assert a == b


def test_files_stay_in_their_part(photos, tmp_path):
    files = sorted(map(str, photos.rglob("*.jpg")))
    parts = hr.files(files[::2]).split({"a": 0.5, "b": 0.5})
    sides = {key: name for name, part in parts.items() for key in keys(part)}
    assert sides.keys() == set(files[::2])
    for name, part in hr.files(files).shuffle().split({"a": 0.5, "b": 0.5}).items():
        for key in keys(part):
            assert sides.get(key, name) == name
    patient = [i // 3 for i in range(len(files))]
    by_patient = hr.files(list(zip(files, patient)), fields=["patient"]).split({"a": 0.5, "b": 0.5}, by="patient")
    where = {key: name for name, part in by_patient.items() for key in keys(part)}
    assert where.keys() == set(files)
    for i, file in enumerate(files):
        assert where[file] == where[files[i // 3 * 3]]


def test_truths_that_divide_are_those_of_their_rows(photos):
    """As the texts that JSON has for them, which were given as another column."""
    files = sorted(map(str, photos.rglob("*.jpg")))
    held = [i % 3 == 1 for i in range(len(files))]
    rows = [(file, one, "true" if one else "false") for file, one in zip(files, held)]
    shares = {"a": 0.5, "b": 0.5}

    def sides(by, seed):
        parts = hr.files(rows, fields=["held", "text"]).split(shares, by=by, seed=seed)
        return {name: keys(part) for name, part in parts.items()}

    def apart(seed):
        try:
            return sides("text", seed)
        except RecipeError:  # both values fall into one part
            return None

    seed, expected = next((seed, found) for seed in range(32) if (found := apart(seed)))
    assert sides("held", seed) == expected
    assert sorted(map(sorted, expected.values())) == sorted(
        [file for file, one in zip(files, held) if one == value] for value in (False, True)
    )


def keys(pipeline):
    with pipeline.drop("bytes").batch(3).loader(epochs=1) as loader:
        return [key for batch in loader for key in batch["key"]]


def test_rows_of_shards_stay_in_their_part(tmp_path):
    for i in range(3):
        folder = tmp_path / f"year{i}"
        folder.mkdir()
        pq.write_table(pa.table({"n": list(range(100 * i, 100 * i + 100))}), folder / "a.parquet")
    one = hr.read(str(tmp_path / "year1/*.parquet")).split({"a": 0.5, "b": 0.5})
    all_of = hr.read(str(tmp_path / "**/*.parquet")).split({"a": 0.5, "b": 0.5})
    few, many = ({name: given(part.batch(8))[0] for name, part in parts.items()} for parts in (one, all_of))
    assert sorted(many["a"] + many["b"]) == list(range(300))
    assert {name: [n for n in part if 100 <= n < 200] for name, part in many.items()} == few


def test_wherever_it_is_written_it_divides_the_source(photos):
    early = hr.files(photos).split({"a": 0.5, "b": 0.5})["a"].shuffle().decode_image().resize((8, 8)).batch(4)
    late = hr.files(photos).shuffle().decode_image().resize((8, 8)).batch(4).split({"a": 0.5, "b": 0.5})["a"]
    assert early.recipe() == late.recipe()
    merged = hr.merge([numbers(100), numbers(50)]).split({"a": 0.5, "b": 0.5})
    got = joined(given(part.batch(4))[0] for part in merged.values())
    assert sorted(got) == sorted([*range(100), *range(50)])
    cut = numbers(100)[:40].split({"a": 0.5, "b": 0.5})
    assert sorted(joined(given(part.batch(4))[0] for part in cut.values())) == list(range(40))


def test_a_split_of_a_mix_divides_each_source():
    def mixed(first, second):
        return hr.mix({"first": first, "second": second}, repeat=1)

    shares = {"a": 0.5, "b": 0.5}
    parts = mixed(numbers(100), mixed(numbers(50), numbers(80))).split(shares)
    of = [numbers(n).split(shares) for n in (100, 50, 80)]
    for name, part in parts.items():
        assert sorted(given(part.drop("source").batch(4))[0]) == sorted(joined(given(one[name].batch(4))[0] for one in of))


def test_a_split_is_a_recipe(tmp_path):
    part = numbers(100).split({"train": 0.9, "val": 0.1}, seed=3)["val"]
    assert "from: 0.9" in hr.files("x/*.jpg").split({"train": 0.9, "val": 0.1}, seed=3)["val"].decode_image().recipe()
    assert part != numbers(100).split({"train": 0.9, "val": 0.1})["val"]


@pytest.mark.parametrize(
    ("shares", "said"),
    [
        ({}, "there are no parts"),
        ({"a": 0.0, "b": 1.0}, "the share of 'a' is 0.0: must be above 0"),
        ({"a": -0.5}, "the share of 'a' is -0.5: must be above 0"),
        ({"a": float("nan")}, "the share of 'a' is nan: must be a number"),
        ({"a": 90, "b": 10}, "the share of 'a' is 90: must be at most 1"),
        ({"a": 0.9, "b": 0.2}, "the shares are 1.1 together: must be at most 1"),
        ({"a": "most"}, "the share of 'a' is 'most': must be a number"),
        ({"a": True}, "the share of 'a' is True: must be a number"),
        ({"a": 1.0, "b": 1e-30}, "the share of 'b' is too small"),
        ([0.9, 0.1], "must be a dict, such as"),
    ],
)
def test_shares_that_are_none(shares, said):
    with pytest.raises(RecipeError, match=said):
        numbers(50).split(shares)


def test_rounding_is_forgiven():
    assert list(numbers(50).split({"a": 0.7, "b": 0.2, "c": 0.1})["c"]._steps[1]["split"].values())[-1] == 1.0
    whole = given(numbers(50).split({"all": 1})["all"].batch(8))
    assert whole == [list(range(50))]


def test_a_split_of_one_sample():
    a, b = numbers(1).split({"a": 0.17, "b": 0.83}).values()
    assert given(b.batch(2)) == [[0]]
    with pytest.raises(RecipeError, match='none of the 1 samples of "source" falls into this part'):
        a.batch(2).loader()


def test_splits_that_cannot_be(photos):
    with pytest.raises(RecipeError, match='by is "patient", and there is no such field'):
        hr.files(photos).split({"a": 0.5}, by="patient")["a"].decode_image().loader()
    with pytest.raises(RecipeError, match="only once a sample is read"):
        hr.files(photos).split({"a": 0.5}, by="bytes")["a"].decode_image().loader()
    rows = [{"path": file, "boxes": boxes} for file, boxes in zip(sorted(photos.rglob("*.jpg")), (np.zeros((0, 4)), np.ones((1, 4))))]
    with pytest.raises(RecipeError, match=r'by is "boxes", which is float64 \[\?, 4\]: must be text or one number'):
        hr.files(rows, fields=["boxes"]).split({"a": 0.5}, by="boxes")["a"].decode_image().loader()
    with pytest.raises(RecipeError, match="which keys= gives only once they are read"):
        hr.source([{"n": 1}], keys=["a"]).split({"a": 0.5})["a"].loader()
    with pytest.raises(RecipeError, match="take comes after shuffle, so it has other samples in each epoch"):
        numbers(50).shuffle().take(3).split({"a": 0.5})
    with pytest.raises(RecipeError, match="weighted counts the samples of the whole source"):
        numbers(50).weighted([1] * 50).split({"a": 0.5})
    with pytest.raises(RecipeError, match="by is 3: must be the name of a field"):
        numbers(50).split({"a": 0.5}, by=3)


def test_steps_of_recipes_are_checked(tmp_path):
    def said(*steps):
        path = tmp_path / "recipe.json"
        path.write_text(json.dumps({"headrace": 1, "steps": [{"files": {"pattern": "x/*.jpg"}}, *steps, "decode_image"]}))
        with pytest.raises(RecipeError) as error:
            hr.load(path).loader()
        return str(error.value)

    assert 'comes after "shuffle", which sets the order' in said("shuffle", {"split": {"from": 0.5}})
    assert "to is 0.5, and from is 0.5: must be above it" in said({"split": {"from": 0.5, "to": 0.5}})
    assert "from is 1.5: must be from 0 to 1" in said({"split": {"from": 1.5}})
    assert "n" in said("take")


def test_crops_stay_with_their_samples(photos):
    files = hr.files(photos, seed=5)

    def images(pipeline):
        with pipeline.decode_image().random_resized_crop(16).batch(4).loader(epochs=1) as loader:
            return {key: np.array(image) for batch in loader for key, image in zip(batch["key"], batch["image"])}

    whole, part = images(files.shuffle()), images(files.shuffle()[3:9])
    assert len(part) == 6
    for key, image in part.items():
        assert (whole[key] == image).all()


@pytest.mark.parametrize("rows", [None, "user is not null"])
@pytest.mark.parametrize("by", ["user", "name", "country", "group"])
def test_split_by_a_column_of_a_table(by, rows, tmp_path):
    """Parts are those of files with the same values beside them; categories go by their names, in whatever order a file has them."""
    rng = random.Random(1)
    users = [rng.randrange(40) for _ in range(9000)]
    columns = {
        "user": [None if rows and i % 100 == 7 else 2**53 + u for i, u in enumerate(users)],
        "name": [f"ann {u}" for u in users],
        "country": pa.array([f"c{u % 11}" for u in users]).dictionary_encode(),
        "group": pa.array([u % 13 - 6 for u in users], pa.int8()),
    }
    table = pa.table(columns)
    pq.write_table(table.slice(0, 4000), tmp_path / "b.parquet")
    pq.write_table(table.slice(4000), tmp_path / "c.parquet")
    shares = {"a": 0.3, "b": 0.7}
    fields = {name: name for name in columns} | {"country": ("country", "int16")}
    parts = hr.read(str(tmp_path / "*.parquet"), fields=fields, rows=rows).split(shares, by=by, seed=3)
    values = [str(v) for v, u in zip(table[by].to_pylist(), columns["user"]) if u is not None]

    files = []
    for k, value in enumerate(sorted(set(values))):
        (tmp_path / f"{k}.bin").touch()
        files.append((str(tmp_path / f"{k}.bin"), value))
    of = dict(files)
    for name, part in hr.files(files, fields=["value"]).split(shares, by="value", seed=3).items():
        mine = {of[key] for key in keys(part)}
        with parts[name].loader(epochs=1) as loader:
            got = [s[by] for s in loader]
            if by == "country":
                got = [loader.schema["country"].names[code] for code in got]
        assert mine
        assert list(map(str, got)) == [v for v in values if v in mine]


def test_split_by_a_column_that_has_no_value(tmp_path):
    pq.write_table(pa.table({"user": [1, None, 3], "x": [1.0, 2.0, 3.0]}), tmp_path / "a.parquet")
    path = str(tmp_path / "a.parquet")
    with pytest.raises(RecipeError, match=r'by="user", and a sample has no such value: (.|\n)*in a\.parquet, sample 1|a\.parquet'):
        hr.read(path, fields=["user"]).split({"a": 0.5}, by="user")["a"].loader()
    with hr.read(path, fields={"user": ("user", None, -1)}).split({"a": 1.0}, by="user")["a"].loader(epochs=1) as loader:
        assert [int(s["user"]) for s in loader] == [1, -1, 3]
    with pytest.raises(RecipeError, match="only once a sample is read"):
        hr.read(path, fields=["x"]).split({"a": 0.5}, by="x")["a"].loader()
