"""Files with a table beside them, as Hugging Face's imagefolder has it."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import headrace as hr
from headrace.errors import RecipeError, SourceError, StateMismatch

pytestmark = pytest.mark.usefixtures("one_engine")


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("HEADRACE_CACHE", str(tmp_path / "cache"))


@pytest.fixture
def table(own_photos):
    """A row for each photo, in no order."""
    names = [str(p.relative_to(own_photos)) for p in sorted(own_photos.rglob("*.jpg"))]
    rows = pd.DataFrame(
        {
            "file_name": names,
            "caption": [f'a "cat", {i} é' for i in range(len(names))],
            "class": range(len(names)),
            "score": [None if i == 3 else i / 4 for i in range(len(names))],
        }
    )
    return rows.sample(frac=1, random_state=2)  # a first row without nulls, which tells the types


def write(table, path):
    if path.suffix == ".jsonl":
        table.to_json(path, orient="records", lines=True)
    elif path.suffix == ".csv":
        table.to_csv(path, index=False)
    else:
        table.to_parquet(path, index=False)
    return path.name


def rows_of(pipeline):
    with pipeline.loader(epochs=1) as loader:
        samples = [{name: np.array(value) if name == "bytes" else value for name, value in sample.items()} for sample in loader]
    return {name: [sample[name] for sample in samples] for name in samples[0]}


def dtype(pipeline, field):
    with pipeline.drop("bytes").batch(2).loader(epochs=1) as loader:
        return next(iter(loader))[field].dtype


@pytest.mark.parametrize("name", ["metadata.jsonl", "metadata.csv", "metadata.parquet"])
def test_columns_are_what_pandas_says(own_photos, table, name):
    described = hr.files(own_photos, metadata=write(table, own_photos / name), label="parent")
    assert dtype(described, "class") == np.int64
    assert dtype(described, "score") == np.float64
    rows = rows_of(described)
    assert rows.keys() == {"bytes", "label", "key", "caption", "class", "score"}
    assert rows["key"] == sorted(rows["key"])
    assert len(rows["key"]) == len(table)

    table = table.set_index("file_name")
    for i, key in enumerate(rows["key"]):
        want = table.loc[key.removeprefix(f"{own_photos}/")]
        assert rows["caption"][i] == want["caption"]
        assert rows["class"][i] == want["class"]
        np.testing.assert_equal(float(rows["score"][i]), float(want["score"]))
        assert bytes(rows["bytes"][i]) == Path(key).read_bytes()


def test_fields_patterns_and_ranks(own_photos, table, monkeypatch):
    monkeypatch.chdir(own_photos.parent)
    write(table, own_photos / "labels.parquet")
    described = hr.files("photos/*/*", metadata="labels.parquet", fields={"text": "caption", "label": "class"}, seed=3)
    rows = rows_of(described)
    assert rows.keys() == {"bytes", "text", "label", "key"}
    assert dtype(described, "label") == np.int64

    seen = []
    for rank in range(2):
        with described.shuffle().drop("bytes").batch(4).loader(epochs=1, rank=rank, world_size=2) as loader:
            seen += [(key, int(label)) for batch in loader for key, label in zip(batch["key"], batch["label"])]
    assert sorted(seen) == sorted(zip(rows["key"], map(int, rows["label"])))


def test_fields_with_types(own_photos, table):
    described = hr.files(own_photos, metadata=write(table, own_photos / "m.csv"), fields={"x": ("class", "float32"), "y": ("score", str)})
    rows = rows_of(described)
    assert sorted(rows["x"]) == list(range(len(table)))
    assert dtype(described, "x") == np.float32
    assert "0.25" in rows["y"]
    assert "" in rows["y"]


def test_recipes_in_files(own_photos, table, tmp_path):
    write(table, own_photos / "metadata.csv")
    (tmp_path / "r.yaml").write_text(f"""
headrace: 1
steps:
  - files: {{pattern: {own_photos}, metadata: metadata.csv, fields: {{text: caption, x: [class, float32]}}}}
""")
    rows = rows_of(hr.load(tmp_path / "r.yaml"))
    assert rows.keys() == {"bytes", "key", "text", "x"}
    assert sorted(rows["x"]) == list(range(len(table)))


def test_the_table_may_be_one_of_the_files(own_photos, table):
    rows = rows_of(hr.files(f"{own_photos}/**", metadata=write(table, own_photos / "metadata.csv"), fields=["class"]))
    assert sorted(rows["class"]) == list(range(len(table)))


def test_a_changed_table_is_noticed(own_photos, table):
    described = hr.files(own_photos, metadata=write(table, own_photos / "m.csv")).drop("bytes").batch(4)
    with described.loader(epochs=1) as loader:
        next(iter(loader))
        state = loader.state_dict()
    with described.loader(epochs=1) as loader:
        loader.load_state_dict(state)
        assert len(list(loader)) == len(table) // 4 - 1
    table["class"] += 1
    write(table, own_photos / "m.csv")
    with (
        pytest.raises(StateMismatch, match=r"its source .files.: changed: the metadata have changed"),
        described.loader(epochs=1) as loader,
    ):
        loader.load_state_dict(state)
        next(iter(loader))


def spoilt(table, how):
    first = table["file_name"].iloc[0]
    match how:
        case "no row":
            return table.iloc[1:], f"has no row for the file .*{first}"
        case "no file":
            return pd.concat(
                [table, table.iloc[:1].assign(file_name="none.jpg")]
            ), "row 16 of .* is for the file .none.jpg., which is not among the 16 files"
        case "twice":
            return pd.concat([table, table.iloc[:1]]), "rows 0 and 16 of .* are both for the file"
        case "no column":
            return table.rename(columns={"file_name": "name"}), 'has no column "file_name".*, but name, caption, class, score'


@pytest.mark.parametrize("how", ["no row", "no file", "twice", "no column"])
@pytest.mark.parametrize("name", ["m.jsonl", "m.csv", "m.parquet"])
def test_tables_that_do_not_fit(own_photos, table, name, how):
    bad, message = spoilt(table, how)
    with pytest.raises(SourceError, match=message):
        hr.files(own_photos, metadata=write(bad, own_photos / name)).loader()


def test_other_mistakes(own_photos, table):
    write(table, own_photos / "m.jsonl")

    def opened(*args, **options):
        return hr.files(*(args or [own_photos]), **options).loader()

    with pytest.raises(SourceError, match=r"none.csv.*no such file"):
        opened(metadata="none.csv")
    with pytest.raises(RecipeError, match='no such field: "captoin"; did you mean "caption"'):
        opened(metadata="m.jsonl", fields=["captoin"])
    with pytest.raises(RecipeError, match='has a field "bytes", which files already have'):
        opened(metadata="m.jsonl", fields={"bytes": "caption"})
    with pytest.raises(RecipeError, match="for a pattern or a folder; a list brings its values itself"):
        opened([own_photos / "a.jpg"], metadata="m.jsonl")
    with pytest.raises(RecipeError, match="label= is a function"):
        opened(metadata="m.jsonl", label=len)
    with pytest.raises(RecipeError, match=r"fields= names values"):
        opened(fields=["caption"])
    (own_photos / "list.jsonl").write_text("".join(json.dumps({"file_name": name, "box": [1, 2]}) + "\n" for name in table["file_name"]))
    with pytest.raises(SourceError, match=r'the column "box" of .* is .*int64.*, and a field beside files is one number or text'):
        opened(metadata="list.jsonl")
    assert rows_of(hr.files(own_photos, metadata="list.jsonl", fields={"box": ("box", str)}))["box"][0] == "[1, 2]"
    (own_photos / "late.jsonl").write_text(
        "".join(json.dumps({"file_name": n, "x": i or None}) + "\n" for i, n in enumerate(table["file_name"]))
    )
    with pytest.raises(SourceError, match=r'field "x".*\n?.*late.jsonl, sample 0'):
        opened(metadata="late.jsonl", fields={"x": ("x", "int64")})
