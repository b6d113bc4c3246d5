"""Sequences in buckets and packed rows, and images of several sizes, against NumPy."""

from __future__ import annotations

import json
import pathlib
from collections.abc import Iterable
from typing import Any

import numpy
import pytest

import headrace as hr

pytestmark = pytest.mark.usefixtures("one_engine")

Sample = dict[str, Any]


@pytest.fixture
def arrays(tmp_path: pathlib.Path) -> dict[str, numpy.ndarray]:
    """Files of sequences of 3-vectors, by their names."""
    r = numpy.random.default_rng(3)
    made = {}
    for i, n in enumerate([3, 1, 9, 4, 4, 2, 8, 8, 1, 5, 3, 3, 9, 7, 2, 6, 1, 1, 4, 10]):
        path = tmp_path / f"class{i % 3}" / f"{i:03d}.npy"
        path.parent.mkdir(exist_ok=True)
        made[str(path)] = r.standard_normal((n, 3), "f4")
        numpy.save(path, made[str(path)])
    return dict(sorted(made.items()))


def folder(arrays: dict[str, numpy.ndarray]) -> pathlib.Path:
    return pathlib.Path(next(iter(arrays))).parent.parent


def vectors(arrays: dict[str, numpy.ndarray]) -> hr.Pipeline:
    return hr.files(folder(arrays), label="parent").decode_npy("float32", (None, 3), to="x")


def padded(rows: list[numpy.ndarray], length: int, pad: float) -> numpy.ndarray:
    out = numpy.full((len(rows), length, *rows[0].shape[1:]), pad, rows[0].dtype)
    for i, row in enumerate(rows):
        out[i, : len(row)] = row
    return out


def same(got: Any, want: numpy.ndarray) -> None:
    numpy.testing.assert_array_equal(numpy.asarray(got), want)
    assert numpy.asarray(got).dtype == want.dtype


def label_of(key: str) -> int:
    return int(pathlib.Path(key).parent.name[-1])


@pytest.mark.parametrize("pad_to", ["bucket", "longest"])
def test_buckets_are_padded_as_numpy_would(arrays: dict[str, numpy.ndarray], pad_to: str) -> None:
    bounds, sizes = [4, 10], [5, 2]
    pipeline = vectors(arrays).bucket_batch(bounds, tokens=20, pad=-1.5, pad_to=pad_to)  # type: ignore[arg-type]
    expected, open_ = [], [[], []]
    for key, a in arrays.items():
        k = 0 if len(a) <= 4 else 1
        open_[k].append(key)
        if len(open_[k]) == sizes[k]:
            expected.append((k, open_[k]))
            open_[k] = []
    expected += [(k, rest) for k, rest in enumerate(open_) if rest]
    with pipeline.loader(epochs=1) as loader:
        assert loader.schema["x"][:3] == ("tensor", "float32", (None, 3))
        assert loader.schema["x_length"][:3] == ("tensor", "int64", ())
        with pytest.raises(TypeError, match="max_batches"):
            len(loader)
        batches = list(loader)
        assert len(batches) == len(expected) <= loader.max_batches
    for batch, (k, keys) in zip(batches, expected):
        rows = [arrays[key] for key in keys]
        assert list(batch["key"]) == keys
        same(batch["x"], padded(rows, bounds[k] if pad_to == "bucket" else max(map(len, rows)), -1.5))
        same(batch["x_length"], numpy.array([len(row) for row in rows]))
        same(batch["label"], numpy.array([label_of(key) for key in keys]))


def unpacked(batch: Any) -> Iterable[tuple[str, Sample]]:
    """The samples of a packed batch, each as its row has it."""
    ids, positions = numpy.asarray(batch["x_segment_ids"]), numpy.asarray(batch["x_positions"])
    assert ids.dtype == positions.dtype == numpy.int32
    for row in range(len(ids)):
        keys = json.loads(batch["key"][row])
        assert set(ids[row]) - {0} == set(range(1, len(keys) + 1))
        for number, key in enumerate(keys, 1):
            where = numpy.flatnonzero(ids[row] == number)
            assert (numpy.diff(where) == 1).all()
            same(positions[row][where], numpy.arange(len(where), dtype="i4"))
            yield key, {"x": numpy.asarray(batch["x"])[row][where], "label": numpy.asarray(batch["label"])[row][where]}
        empty = ids[row] == 0
        assert not positions[row][empty].any()
        assert (numpy.asarray(batch["x"])[row][empty] == 7).all()
        assert (numpy.asarray(batch["label"])[row][empty] == -100).all()


@pytest.mark.parametrize(("fit", "format"), [("best", "numpy"), ("first", "torch")])
def test_packed_rows_hold_every_sequence_whole(arrays: dict[str, numpy.ndarray], fit: str, format: str) -> None:
    pipeline = vectors(arrays).pack(11, 3, fit=fit, open=3, pad={"x": 7, "label": -100}).to(format)  # type: ignore[arg-type]
    with pipeline.loader(epochs=1) as loader:
        assert loader.schema["x"][:3] == ("tensor", "float32", (11, 3))
        batches = list(loader)
    assert [len(b["x"]) for b in batches[:-1]] == [3] * (len(batches) - 1)
    found = {}
    for batch in batches:
        for key, sample in unpacked(batch):
            assert key not in found
            found[key] = sample
    assert found.keys() == arrays.keys()
    for key, a in arrays.items():
        same(found[key]["x"], a)
        same(found[key]["label"], numpy.full(len(a), label_of(key)))


@pytest.mark.parametrize(
    ("value", "told"),
    [
        (numpy.zeros(3, "f8"), "the elements are <f8: must be <f4, float32"),
        (numpy.zeros(3, ">f4"), "the highest byte first"),
        (numpy.zeros((3, 1), "f4"), "the file holds an array [3, 1]: the recipe says [?]"),
        (numpy.zeros(9, "f4"), "and the last bucket has room for 8: add a bucket to lengths, or write overlong="),
        (numpy.array([{}]), "Python objects"),
        (b"\x93NUMPY", "the file ends in its header"),
        (b"GIF89a", "not a NumPy file"),
    ],
)
def test_what_is_no_sequence_is_told(tmp_path: pathlib.Path, value: Any, told: str) -> None:
    for i in range(3):
        numpy.save(tmp_path / f"{i}.npy", numpy.zeros(i + 1, "f4"))
    bad = tmp_path / "1.npy"
    if isinstance(value, bytes):
        bad.write_bytes(value)
    else:
        numpy.save(bad, value)
    grouping = {"bucket_batch": ((8,), {"size": 2}), "pack": ((8, 1), {})}
    for name, (given, options) in list(grouping.items())[: 2 if "elements" in told else 1]:
        pipeline = getattr(hr.files(tmp_path).decode_npy("float32"), name)(*given, **options)
        with pipeline.loader(epochs=1) as loader:
            with pytest.raises(hr.SampleError) as raised:
                list(loader)
            assert told in str(raised.value)
            assert str(bad) in str(raised.value)
        with pipeline.loader(epochs=1, on_error="skip", max_errors=1) as loader:
            keys = [key for batch in loader for row in batch["key"] for key in (json.loads(row) if row[0] == "[" else [row])]
            assert keys == [str(tmp_path / "0.npy"), str(tmp_path / "2.npy")]
            assert len(loader.errors) == 1


@pytest.mark.parametrize(
    ("step", "long", "told"),
    [
        (
            ("bucket_batch", [4, 10], {"size": 2}),
            {"b": 50},
            r'the field "b" has 50 elements, and the last bucket has room for 10: add a bucket',
        ),
        (("bucket_batch", [4, 10], {"tokens": 20}), {"a": 11, "b": 12}, r'the field "b" has 12 .* or write overlong="truncate" or "drop"'),
        (("pack", 10, {"size": 2}), {"b": 9}, r'the fields "a" and "b" have 5 and 9 elements: pack needs .* bucket_batch pads each'),
        (
            ("pack", 10, {"size": 2}),
            {"a": 11, "b": 11},
            r'the field "a" has 11 elements, and a row has room for 10: raise length, or write over',
        ),
        (("pack", 10, {"size": 2}), {"a": 0, "b": 0}, r'the field "a" is empty: there is nothing to pack; leave such samples out'),
    ],
)
def test_which_of_several_sequences_is_wrong(step: Any, long: dict[str, int], told: str) -> None:
    samples = [{name: numpy.zeros((long.get(name, 5) if i == 2 else 5, 2), "i4") for name in "ab"} for i in range(4)]
    pipeline = hr.source(samples, gives=dict.fromkeys("ab", ("int32", (None, 2))))
    name, length, options = step
    with getattr(pipeline, name)(length, **options).loader(epochs=1) as loader:
        with pytest.raises(hr.SampleError, match=told) as raised:
            list(loader)
    assert raised.value.index == 2


@pytest.mark.parametrize("step", ["pack", "bucket_batch"])
def test_a_global_size_is_shared_by_the_ranks(arrays: dict[str, numpy.ndarray], step: str) -> None:
    def made(size: int, world: int, rank: int) -> list[int]:
        given = (11,) if step == "pack" else ([10],)
        pipeline = getattr(vectors(arrays), step)(*given, global_size=size)
        with pipeline.loader(epochs=1, rank=rank, world_size=world, steps_per_epoch=1) as loader:
            return [len(batch["x"]) for batch in loader]

    assert made(6, 1, 0) == [6]
    assert [made(6, 2, rank) for rank in range(2)] == [[3], [3]]
    if step == "pack":  # which has lanes
        with pytest.raises(hr.RecipeError, match="3 ranks do not divide 5 lanes"):
            made(5, 3, 0)
    else:
        assert [made(5, 3, rank) for rank in range(3)] == [[2], [2], [1]]
    with pytest.raises(hr.RecipeError, match="has both size and global_size"):
        getattr(vectors(arrays), step)(11, size=2, global_size=2).loader()
    with pytest.raises(hr.RecipeError, match=f"global_size of .*{step} is 2, with world_size 3: must be at least one row for each rank"):
        made(2, 3, 0)


def test_what_is_too_long_is_cut_or_left_out(tmp_path: pathlib.Path) -> None:
    for i, n in enumerate([3, 6, 2]):
        numpy.save(tmp_path / f"{i}.npy", numpy.arange(10 * i, 10 * i + n))
    sequences = hr.files(tmp_path).decode_npy("int64")
    (cut,) = sequences.bucket_batch([4], size=3, overlong="truncate").loader(epochs=1)
    same(cut["array"], numpy.array([[0, 1, 2, 0], [10, 11, 12, 13], [20, 21, 0, 0]]))
    same(cut["array_length"], numpy.array([3, 4, 2]))
    (left,) = sequences.bucket_batch([4], size=3, overlong="drop").loader(epochs=1)
    same(left["array"], numpy.array([[0, 1, 2, 0], [20, 21, 0, 0]]))
    packed_rows = list(sequences.pack(5, 3, overlong="truncate").loader(epochs=1))
    same(packed_rows[0]["array"], numpy.array([[10, 11, 12, 13, 14], [0, 1, 2, 20, 21]]))
    same(packed_rows[0]["array_positions"], numpy.array([[0, 1, 2, 3, 4], [0, 1, 2, 0, 1]], "i4"))


@pytest.mark.parametrize(("bounds", "options"), [([20, 60], {}), ([60], {}), ([20, 60], {"pad_to": "longest"}), ([60], {"tokens": 120})])
def test_one_field_chooses_the_bucket(bounds: list[int], options: Any) -> None:
    r = numpy.random.default_rng(8)
    lengths = [(int(r.integers(1, 61)), int(r.integers(0, 16))) for _ in range(23)]
    rows = [{"mel": numpy.full((n, 2), i, "f4"), "n": i, "tokens": numpy.full(m, i, "i4")} for i, (n, m) in enumerate(lengths)]
    gives: Any = {"mel": ("float32", (None, 2)), "n": int, "tokens": ("int32", (None,))}
    source = hr.source(rows, gives=gives, where="here")
    seen = []
    with source.bucket_batch(bounds, size=3, by="mel", pad={"tokens": -1, "mel": 7}, **options).loader(epochs=1) as loader:
        for batch in loader:
            mine = [int(i) for i in batch["n"]]
            seen += mine
            longest = max(lengths[i][0] for i in mine)
            bucket = longest if "pad_to" in options else next(bound for bound in bounds if longest <= bound)
            same(batch["mel"], padded([rows[i]["mel"] for i in mine], bucket, 7))
            same(batch["tokens"], padded([rows[i]["tokens"] for i in mine], max(lengths[i][1] for i in mine), -1))
            same(batch["mel_length"], numpy.array([lengths[i][0] for i in mine]))
            same(batch["tokens_length"], numpy.array([lengths[i][1] for i in mine]))
            assert len(mine) <= options.get("tokens", 180) // bucket
    assert sorted(seen) == list(range(23))


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"by": "no"}, 'by is "no": must be one of the sequences, mel, tokens'),
        ({"by": "n"}, 'by is "n": must be one of the sequences'),
        ({"by": "mel", "bytes": 4000}, "bytes is given, and so is by"),
    ],
)
def test_what_cannot_choose_the_bucket(options: Any, told: str) -> None:
    rows = [{"mel": numpy.zeros((30, 2), "f4"), "n": 0, "tokens": numpy.zeros(3, "i4")}]
    gives: Any = {"mel": ("float32", (None, 2)), "n": int, "tokens": ("int32", (None,))}
    with pytest.raises(hr.RecipeError, match=told):
        hr.source(rows, gives=gives).bucket_batch([40], size=1, **options).loader()
    with hr.source(rows, gives=gives, where="here").bucket_batch([20], size=1, by="tokens").loader(epochs=1) as loader:
        with pytest.raises(
            hr.SampleError, match=r'the field "mel" has 30 elements, .* add a bucket to lengths, or have this field choose: by="mel"'
        ):
            list(loader)


def test_what_a_filter_before_buckets_drops_is_counted():
    items = [{"x": numpy.zeros(n % 5 + 1, numpy.int32), "n": n} for n in range(24)]
    pipeline = hr.source(items, gives={"x": ("int32", (None,)), "n": int}).filter(lambda n: n % 2 == 0, fields="n")
    with pipeline.bucket_batch([3, 6], size=2).loader(epochs=1) as loader:
        seen = []
        for batch in loader:
            seen += map(int, batch["n"])
            if len(seen) < 12:
                finished = loader.state_dict()
    assert sorted(seen) == list(range(0, 24, 2))
    assert finished["dropped"] >= 9  # of 11 that are odd
