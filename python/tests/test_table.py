"""Files with values beside them: labels of any type, tuples, dicts and tables; and samples of WebDataset."""

from __future__ import annotations

import io
import tarfile

import numpy as np
import pytest
import webdataset

import headrace as hr

pytestmark = pytest.mark.usefixtures("one_engine")


def paths_of(photos):
    return sorted(photos.rglob("*.jpg"))[:8]


def rows_of(pipeline, **options):
    """All samples, by their keys."""
    rows = {}
    with pipeline.decode_image().resize(16).center_crop(16).batch(3).loader(epochs=1, **options) as loader:
        for batch in loader:
            for i, key in enumerate(batch["key"]):
                rows[key] = {name: batch[name][i] for name in batch if name not in ("image", "key")}
            dtypes = {name: batch[name].dtype for name in batch if hasattr(batch[name], "dtype")}
    return rows, dtypes


@pytest.mark.parametrize(
    ("values", "dtype"),
    [
        ([0.5 * i for i in range(8)], "float64"),
        ([np.float32(0.1 * i) for i in range(8)], "float32"),
        ([1, 2.5, 3, 4, 5, 6, 7, 8], "float64"),
        ([np.int32(i) for i in range(8)], "int64"),
        ([i % 2 == 0 for i in range(8)], "bool"),
        ([f"a cat, {i} é" for i in range(8)], None),
    ],
)
def test_labels_of_any_type(photos, values, dtype):
    files = paths_of(photos)
    pipeline = hr.files(list(zip(files, values))).shuffle(seed=3)
    rows, dtypes = rows_of(pipeline)
    assert {key: row["label"] for key, row in rows.items()} == dict(zip(map(str, files), values))
    assert dtypes.get("label") == dtype


def test_a_function_labels_files(photos):
    files = paths_of(photos)
    rows, _ = rows_of(hr.files(files, label=lambda path: path.rsplit("/", 2)[1]))
    assert {key: row["label"] for key, row in rows.items()} == {str(f): f.parent.name for f in files}
    folder, _ = rows_of(hr.files(photos, label=lambda path: len(path) / 2))
    plain, _ = rows_of(hr.files(photos))
    assert folder.keys() == plain.keys()
    assert all(row["label"] == len(key) / 2 for key, row in folder.items())


def test_tuples_dicts_and_tables_are_the_same(photos, tmp_path):
    pandas = pytest.importorskip("pandas")
    files = paths_of(photos)
    table = {
        "path": list(map(str, files)),
        "label": list(range(8)),
        "weight": [0.25 * i for i in range(8)],
        "text": [f"t{i}" for i in range(8)],
    }
    tuples = hr.files(list(zip(*table.values())), fields=["label", "weight", "text"])
    dicts = hr.files([dict(zip(table, row)) for row in zip(*table.values())])
    frame = hr.files(pandas.DataFrame(table).iloc[::1])
    other = hr.files(pandas.DataFrame(table).rename(columns={"path": "file"}), path="file")
    assert tuples == dicts == frame == other
    rows, dtypes = rows_of(frame.shuffle(seed=1))
    for i, path in enumerate(table["path"]):
        assert rows[path] == {"label": i, "weight": 0.25 * i, "text": f"t{i}"}
    assert dtypes["label"] == np.int64
    assert dtypes["weight"] == np.float64
    # a recipe says it again, and its state goes on; one of other values is refused
    recipe = tmp_path / "recipe.yaml"
    whole = frame.shuffle(seed=1).decode_image().resize(16).center_crop(16).batch(3)
    recipe.write_text(whole.recipe())
    with whole.loader(epochs=1) as loader:
        loop = iter(loader)
        next(loop)
        state = loader.state_dict()
        rest = [list(batch["text"]) for batch in loop]
    with hr.load(recipe).loader(epochs=1) as loader:
        loader.load_state_dict(state)
        assert [list(batch["text"]) for batch in loader] == rest
    changed = hr.files(pandas.DataFrame(table | {"weight": [1.5] * 8})).shuffle(seed=1).decode_image().resize(16).center_crop(16).batch(3)
    with changed.loader(epochs=1) as loader, pytest.raises(hr.StateMismatch):
        loader.load_state_dict(state)


@pytest.mark.parametrize(
    ("rows", "options", "match"),
    [
        ([("a", 1.5), ("b", None)], {}, "item 1 has label = None"),
        ([("a", 1.5), ("b", float("nan"))], {}, "item 1 has label = nan"),
        ([("a", "x"), ("b", 3)], {}, "text in some items"),
        ([("a", 1, 2)], {}, "give fields="),
        ([("a", 1), ("b", 1, 2)], {}, "item 1"),
        ([("a", 1 << 63)], {}, "int64 cannot hold"),
        ([("a", {1, 2})], {}, "type set"),
        ([{"file": "a"}], {}, "give path="),
        ([{"path": "a", "n": 1}, {"path": "b"}], {}, "item 1 has no 'n'"),
        (["a"], {"fields": ["n"]}, "paths alone"),
    ],
)
def test_tables_that_cannot_be(rows, options, match):
    with pytest.raises(hr.RecipeError, match=match):
        hr.files(rows, **options)


class Column(list):
    """A column as polars has them: what is compared, is so value by value."""

    def __eq__(self, other):
        return Column(value == other for value in self)

    def __ne__(self, other):
        return Column(value != other for value in self)

    def __bool__(self):
        raise TypeError("the truth value of a Series is ambiguous")

    __hash__ = None


class Table:
    def __init__(self, **columns):
        self.columns = list(columns)
        self.values = columns

    def __getitem__(self, name):
        return Column(self.values[name])


class LazyTable(Table):
    columns = ()

    def collect(self):
        return Table(**self.values)


def test_tables_of_other_libraries():
    """Polars has lists in columns, and tables that are no more than a plan. Found with polars 2.1."""
    assert hr.files(Table(path=["a", "b"], y=[1, 2], z=["u", "v"])) == hr.files([("a", 1, "u"), ("b", 2, "v")], fields=["y", "z"])
    assert hr.files(Table(path=["a"], y=[Column([1])])) == hr.files([("a", [1])], fields=["y"])
    with pytest.raises(hr.RecipeError, match="LazyTable has no rows yet"):
        hr.files(LazyTable(path=["a"]))


def test_columns_that_files_have_already(photos):
    for name in ("key", "bytes"):
        with pytest.raises(hr.RecipeError, match=f'has a field "{name}"'):
            hr.files([(path, 1) for path in paths_of(photos)], fields=name).decode_image().resize(16).center_crop(16).batch(2).loader()


def test_samples_of_webdataset(photos, tmp_path):
    shard = tmp_path / "shard-000000.tar"
    with tarfile.open(shard, "w") as tar:
        for i, path in enumerate(paths_of(photos)):
            for suffix, data in (("jpg", path.read_bytes()), ("cls", str(i).encode()), ("json", b'{"n": %d}' % i), ("seg.txt", b"s%d" % i)):
                member = tarfile.TarInfo(f"train/{i:06d}.{suffix}")
                member.size = len(data)
                tar.addfile(member, io.BytesIO(data))
    dataset = webdataset.WebDataset(str(shard), shardshuffle=False).decode()
    pipeline = hr.source(dataset).decode_image(field="jpg").resize(16).center_crop(16).batch(4)
    with pipeline.loader(epochs=1) as loader:
        batches = list(loader)
    assert [n for batch in batches for n in batch["cls"].tolist()] == list(range(8))
    assert [n for batch in batches for n in batch["json"]] == [{"n": i} for i in range(8)]
    assert [s for batch in batches for s in batch["seg.txt"]] == [f"s{i}" for i in range(8)]
    assert [k for batch in batches for k in batch["key"]] == [f"train/{i:06d}" for i in range(8)]
    assert batches[0]["image"].shape == (4, 16, 16, 3)


def test_a_batch_of_a_table_is_replayed_with_its_columns(photos, tmp_path):
    pandas = pytest.importorskip("pandas")
    files = paths_of(photos)
    table = {"path": list(map(str, files)), "score": [i / 8 for i in range(8)], "text": [f"t{i}" for i in range(8)]}
    frame = hr.files(pandas.DataFrame(table), seed=3).shuffle().decode_image().random_crop(16).batch(3)
    recipe = tmp_path / "recipe.yaml"
    recipe.write_text(frame.recipe())
    with frame.loader(epochs=2) as loader:
        next(iter(loader))
        state = loader.state_dict()
    with frame.loader(epochs=2) as loader:
        loader.load_state_dict(state)
        seen = [batch for _ in range(2) for batch in loader]
    for pipeline in (frame, recipe):
        for number in (0, 1, 4):
            batch, rows = (replayed := hr.replay(pipeline, state, number)).batch, replayed.rows
            assert (batch["image"] == seen[number]["image"]).all()
            assert (batch["score"] == seen[number]["score"]).all()
            assert list(batch["text"]) == list(seen[number]["text"])
            assert [table["text"][table["path"].index(row["key"])] for row in rows] == list(batch["text"])


def test_missing_values_of_pandas_are_told_as_such(photos):
    pandas = pytest.importorskip("pandas")
    for missing in (pandas.NA, pandas.NaT, None, float("nan")):
        with pytest.raises(hr.RecipeError, match=r"item 0 has score = .*, which is a missing value, or no finite number"):
            hr.files([(str(paths_of(photos)[0]), missing)], fields="score")
