"""Tables that are looked up by key give the columns that pandas merges."""

import itertools
import random
from datetime import date

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import headrace as hr
from conftest import cases
from headrace.errors import RecipeError, SampleError, StateMismatch

pytestmark = pytest.mark.usefixtures("one_engine")


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HEADRACE_CACHE", str(tmp_path / "cache"))


def items(r, text):
    """A table of items with values of many types."""
    n = r.choice([1, 5, 700])
    if text:
        keys = [f"item {k}" for k in r.sample(range(10**6), n)]
    else:
        keys = r.sample(range(-n, n) if r.random() < 0.5 else range(-(2**62), 2**62), n)
    return pd.DataFrame({
        "item": keys, "price": [r.uniform(0, 9) for _ in range(n)], "stock": np.array([r.randint(0, 9) for _ in range(n)], np.int16),
        "title": ["a", *(r.choice(["", "a", "ä" * 50]) for _ in range(n - 1))], "sold": [r.random() < 0.5 for _ in range(n)],
    })  # fmt: skip


def rows_of(pipeline, **options):
    with pipeline.loader(epochs=1, **options) as loader:
        for batch in loader:
            for k in range(len(batch["n"])):
                yield {name: batch[name][k] for name in batch if name != "key"}


@pytest.mark.parametrize("seed", range(cases(5, 200)))
def test_columns_are_those_that_pandas_merges(seed):
    r = random.Random(seed)
    text = r.random() < 0.4
    table, n = items(r, text), r.choice([3, 100, 9000])
    events = pd.DataFrame({"n": range(n), "item": [r.choice(table["item"].tolist()) for _ in range(n)]})
    narrow = not text and table["item"].abs().max() < 100
    pq.write_table(pa.table({"n": events["n"], "item": pa.array(events["item"], pa.int8() if narrow else None)}), "events.parquet")
    name = r.choice(["items.parquet", "items.arrow", "items.csv"])
    if name.endswith("csv"):
        table.drop(columns="sold").to_csv(name, index=False)
    elif name.endswith("arrow"):
        with pa.ipc.new_file(name, pa.Table.from_pandas(table).schema) as f:
            f.write_table(pa.Table.from_pandas(table))
    else:
        pq.write_table(pa.Table.from_pandas(table), name, row_group_size=50)

    of = hr.read("events.parquet", fields=["n", *(["item"] if r.random() < 0.5 else [])], lookup={"item": name})
    of = of.shuffle(seed=seed).batch(r.choice([1, 7, 5000])) if r.random() < 0.5 else of.batch(64)
    want = events.merge(table, on="item", how="left")
    for policy in ({}, {"on_error": "replace"}):
        seen = []
        for row in rows_of(of, **policy):
            seen.append(int(row["n"]))
            for column in ("price", "stock", "title", *(["sold"] if not name.endswith("csv") else [])):
                assert row[column] == want[column][seen[-1]], (column, seen[-1])
                if column == "stock" and not name.endswith("csv"):
                    assert row[column].dtype == np.int16
        assert sorted(seen) == list(range(n))


def write(**tables):
    for name, columns in tables.items():
        pq.write_table(pa.table(columns), f"{name}.parquet")


def test_arrays_texts_and_other_names():
    vectors = pa.FixedSizeListArray.from_arrays(np.arange(6, dtype=np.float32), 3)
    write(events={"n": [0, 1, 2], "of": [7, 9, 7]}, items={"id": [9, 7], "v": vectors, "tags": [["a"], []], "x": [1, 2]})
    lookup = {"of": {"from": "items.parquet", "key": "id", "fields": {"vector": "v", "tags": "tags", "y": ("x", "float32")}}}
    rows = list(rows_of(hr.read("events.parquet", lookup=lookup).batch(2)))
    assert [row["vector"].tolist() for row in rows] == [[3, 4, 5], [0, 1, 2], [3, 4, 5]]
    assert [list(row["tags"]) for row in rows] == [[], ["a"], []]
    assert [(row["y"], row["y"].dtype) for row in rows] == [(2, np.float32), (1, np.float32), (2, np.float32)]


def test_keys_that_are_missing():
    write(events={"n": range(4), "item": [1, 2, 3, 1]}, items={"item": [1, 3], "price": [1.5, 3.5], "kind": [4, 5], "name": ["a", "c"]})
    of = hr.read("events.parquet", lookup={"item": "items.parquet"})
    says = r'(?s)field "item": items\.parquet has no row for the key 2.*in events\.parquet, sample 1'
    with pytest.raises(SampleError, match=says), of.batch(2).loader(epochs=1) as loader:
        list(loader)
    assert [int(row["n"]) for row in rows_of(of.batch(1), on_error="skip")] == [0, 2, 3]

    fields = {"price": "price", "kind": ("kind", None, -1), "name": ("name", None, "none")}
    of = hr.read("events.parquet", lookup={"item": {"from": "items.parquet", "fields": fields, "missing": "null"}})
    for policy in ({}, {"on_error": "replace"}):
        rows = list(rows_of(of.batch(3), **policy))
        assert [row["kind"] for row in rows] == [4, -1, 5, 4]
        assert [row["name"] for row in rows] == ["a", "none", "c", "a"]
        assert np.array_equal([row["price"] for row in rows], [1.5, np.nan, 3.5, 1.5], equal_nan=True)


def test_keys_that_are_null_or_floats():
    """A key that is null, or NaN, is one only if you say which."""
    write(events={"n": range(3), "item": [1, None, 2], "real": [1.0, float("nan"), 2.0]}, items={"item": [1, 2, -1], "x": [10, 20, 0]})
    of = hr.read("events.parquet", fields=["n"], lookup={"item": "items.parquet"})
    with pytest.raises(SampleError, match=r"(?s)item.*null.*sample 1"), of.batch(3).loader(epochs=1) as loader:
        list(loader)
    of = hr.read("events.parquet", fields={"n": "n", "item": ("item", None, -1)}, lookup={"item": "items.parquet"})
    assert [int(row["x"]) for row in rows_of(of.batch(3))] == [10, 0, 20]
    of = hr.read("events.parquet", fields=["n", "real"], lookup={"real": {"from": "items.parquet", "key": "item"}})
    with pytest.raises(RecipeError, match=r'"real" is float64: a key is .* text; whole .* by fields={"real": \("real", "int64"\)}'):
        of.batch(3).loader()
    with pytest.raises(RecipeError, match=r'"real" is float64: a key is .* text; write the column "real" of events.parquet again as int64'):
        hr.read("items.parquet", lookup={"item": {"from": "events.parquet", "key": "real", "fields": ["n"]}}).batch(3).loader()
    of = hr.read("events.parquet", fields={"n": "n", "real": ("real", "int64")}, lookup={"real": {"from": "items.parquet", "key": "item"}})
    with pytest.raises(SampleError, match=r"(?s)real.*sample 1"), of.batch(3).loader(epochs=1) as loader:
        list(loader)


GIVEN = {
    "dict of arrays": lambda table: {name: column.to_numpy() for name, column in table.items()},
    "dict of lists": lambda table: {name: column.tolist() for name, column in table.items()},
    "pandas": lambda table: table,
    "pyarrow": pa.Table.from_pandas,
    "record batch": pa.RecordBatch.from_pandas,
}


@pytest.mark.parametrize("text", [False, True])
@pytest.mark.parametrize("given", GIVEN)
def test_tables_in_memory(given, text):
    """They give what the same table in a file gives."""
    r = random.Random(7)
    numbers = r.sample(range(-700, 700), 500)
    table = pd.DataFrame({
        "item": [f"item {k}" for k in numbers] if text else numbers, "price": [r.uniform(0, 9) for _ in numbers],
        "stock": np.array([r.randint(0, 9) for _ in numbers], np.int16), "title": [r.choice(["", "a", "ä" * 50]) for _ in numbers],
        "sold": [r.random() < 0.5 for _ in numbers],
    })  # fmt: skip
    keys = r.choices(list(table["item"]), k=100)
    write(events={"n": range(100), "item": keys})
    table.to_parquet("items.parquet")
    for policy in ({}, {"on_error": "replace"}):
        for how in ({}, {"key": "item", "fields": {"price": "price", "t": "title"}}):
            of = [hr.read("events.parquet", lookup={"item": {"from": one, **how}}) for one in ("items.parquet", GIVEN[given](table))]
            a, b = (list(rows_of(p.shuffle(seed=1).batch(7), **policy)) for p in of)
            assert a == b
    whole = hr.read("events.parquet", lookup={"item": GIVEN[given](table)}).batch(100)
    with whole.loader(epochs=1) as loader:
        (batch,) = loader
    assert list(batch["title"]) == table.set_index("item")["title"].loc[keys].tolist()


class Lazy:
    """As a LazyFrame of polars, which reads its columns when it is collected."""

    columns = property(lambda self: pytest.fail("columns were read"))

    def collect(self):
        return pd.DataFrame({"item": [1], "x": [2]})


def test_a_table_without_rows_yet():
    write(events={"item": [1]})
    with pytest.raises(RecipeError, match=r"lookup has a Lazy for 'item', which has no rows yet: give its collect\(\)"):
        hr.read("events.parquet", lookup={"item": Lazy()})
    with hr.read("events.parquet", lookup={"item": Lazy().collect()}).batch(1).loader(epochs=1) as loader:
        assert [list(batch["x"]) for batch in loader] == [[2]]


def test_a_table_in_memory_without_a_row():
    write(events={"n": range(3), "item": [4, 9, 5]})
    vectors = np.arange(6, dtype=np.float32).reshape(2, 3)
    table = {"id": np.array([5, 4], np.int32), "v": vectors, "kind": [7, 8], "name": ["a", "b"]}
    fields = {"v": "v", "kind": ("kind", None, -1), "name": ("name", None, ""), "gone": ("kind", "is_null")}
    lookup = {"item": {"from": table, "key": "id", "fields": fields, "missing": "null"}}
    with hr.read("events.parquet", lookup=lookup).batch(3).loader(epochs=1) as loader:
        (batch,) = loader
    np.testing.assert_array_equal(batch["v"], [vectors[1], [np.nan] * 3, vectors[0]])
    assert batch["kind"].tolist() == [8, -1, 7]
    assert list(batch["name"]) == ["b", "", "a"]
    assert batch["gone"].tolist() == [False, True, False]
    with (
        hr.read("events.parquet", lookup={"item": {"from": table, "key": "id"}}).batch(3).loader(epochs=1) as loader,
        pytest.raises(SampleError, match=r"(?s)events.parquet\[1\].*9"),
    ):
        list(loader)


def test_a_state_knows_its_table_in_memory():
    write(events={"n": range(8), "item": [1, 2] * 4})
    of = [hr.read("events.parquet", lookup={"item": {"item": [1, 2], "price": [1.5, last]}}).batch(2) for last in (2.5, 2.5, 9.5)]
    with of[0].loader(epochs=1) as loader:
        rest = [batch["price"].tolist() for batch in loader if batch["n"][0] > 0 or not (state := loader.state_dict())]
    with of[1].loader(epochs=1) as loader:
        loader.load_state_dict(state)
        assert [batch["price"].tolist() for batch in loader] == rest
    with of[2].loader(epochs=1) as loader, pytest.raises(StateMismatch):
        loader.load_state_dict(state)
    assert len(str(state)) < 2000


NOT = [
    ({"lookup": {"item": {"item": [1, 2, 1], "x": [1, 2, 3]}}}, "two rows have the same key, 1:\nrow 0 of the table\nrow 2 of the table"),
    ({"lookup": {"item": {"item": [1, 2], "x": [1]}}}, "has 1 values of 'x' for 'item', and 2 of 'item': give equally many"),
    ({"lookup": {"item": {"id": [1, 2], "x": [1, 2]}}}, 'unknown column "item": the columns are id, x: name that with the keys'),
    ({"lookup": {"item": {"item": [1.0, 2.0], "x": [1, 2]}}}, '"item" is float64: a key is a whole number or text'),
    ({"lookup": {"item": {"item": ["a", "b"], "x": [1, 2]}}}, 'keys "item" are int64, and those of the table are text'),
    ({"lookup": {"item": {"item": [1, 2], "name": ["a", "b"]}}}, 'of "item" has "name", and there is such a field already'),
    ({"lookup": {"item": {"item": [1, 2], "x": [[1], [2, 3]]}}}, "'x' for 'item', whose arrays differ in shape"),
    ({"lookup": {"item": {"item": [1, 2], "x": [1.0, float("nan")]}}}, "with a missing value, or no finite number"),
    ({"lookup": {"item": {"item": [1, 2], "x": ["a", None]}}}, "with a missing value as value 1: write the table into a file"),
    ({"lookup": {"item": {"item": [1, 2], "x": [1.5, None]}}}, "with a missing value as value 1: write the table into a file"),
    ({"lookup": {"item": {"item": [1, 2], "x": ["a", 1]}}}, "with 1 as value 1, and text before or after it"),
    ({"lookup": {"item": {"item": [1, 2], "x": [date(2026, 1, 1)] * 2}}}, "of the type date: must be whole numbers"),
    ({"lookup": {"item": {"item": [1, 2], "x": [None, {}]}}}, "with a missing value as value 0"),
    ({"lookup": {"item": {"from": {"item": [1, 2], "x": [1, 2]}, "missing": "null"}}}, "give the value for null"),
    (
        {"lookup": {"item": {"from": {"item": [1, 2], "x": [1, 2]}, "fields": {"x": ("x", "float32")}}}},
        '"x": it is int64, and float32 is asked for: convert the array that you give',
    ),
    ({"lookup": {"item": {"from": {"item": [1, 2], "x": [1, 2]}, "fields": ["y"]}}}, 'unknown column "y"'),
    ({"lookup": {"item": "twice.parquet"}}, "two rows have the same key, 1:\ntwice.parquet, row 0\ntwice.parquet, row 2"),
    ({"lookup": {"item": "nothing.parquet"}}, "nothing.parquet"),
    ({"lookup": {"item": "events.parquet"}}, 'of "item" has "n", and there is such a field already'),
    ({"lookup": {"itm": "items.parquet"}}, 'no such field: "itm"'),
    ({"lookup": {"item": {"from": "items.parquet", "key": "id"}}}, 'no such field: "id"'),
    ({"lookup": {"item": {"from": "items.parquet", "fields": ["prise"]}}}, 'did you mean "price"?'),
    ({"lookup": {"name": {"from": "items.parquet", "key": "item"}}}, 'keys "name" are text, and those of items.parquet are int64'),
    ({"lookup": {"item": {"from": "items.parquet", "missing": "null"}}}, "give the value for null"),
    ({"lookup": {"item": {"from": "items.parquet", "missing": "drop"}}}, 'missing is "drop": must be "null", or left out'),
    ({"lookup": {"item": "lists.parquet"}}, '"l" is int64 [?]: a column that is looked up has text, bytes, numbers or arrays of one shape'),
    ({"lookup": {"item": {"from": "nulls.parquet", "fields": ["x"]}}}, "null"),
    ({"lookup": ["items.parquet"]}, "must be tables by field, as in {'item': 'items.parquet'}"),
    ({"lookup": {"item": 3}}, "must be the path of a table, arrays by column, or"),
    ({"lookup": {"item": {"from": "items.parquet", "on": "id"}}}, "must be from, key, fields or missing"),
    ({"lookup": {"item": {"from": "items.parquet", "key": 3}}}, "must be text"),
    ({"lookup": {3: "items.parquet"}}, "must be names of fields"),
]


@pytest.mark.parametrize(("options", "says"), NOT)
def test_mistakes(options, says):
    write(
        events={"n": [0, 1], "item": [1, 2], "name": ["a", "b"]}, items={"item": [1, 2], "price": [1, 2]},
        twice={"item": [1, 2, 1], "price": [1, 2, 3]}, lists={"item": [1], "l": [[1, 2]]}, nulls={"item": [1, None], "x": [1, 2]},
    )  # fmt: skip
    with pytest.raises((RecipeError, OSError)) as caught:
        hr.read("events.parquet", **options).batch(2).loader()
    assert all(line in str(caught.value) for line in says.splitlines()), caught.value


def test_a_state_knows_its_tables():
    write(events={"n": range(8), "item": [1, 2] * 4}, items={"item": [1, 2], "price": [1.5, 2.5]})
    of = hr.read("events.parquet", lookup={"item": "items.parquet"}, rows="n != 3", window={"n": [0, 1]}).shuffle(seed=3).batch(2)
    rest = []
    with of.loader(epochs=1) as loader:
        for batch in loader:
            rest.append(batch["price"].tolist())
            if len(rest) == 1:
                state = loader.state_dict()
                first = {name: np.array(batch[name]) for name in ("n", "price")}
    rest = rest[1:]
    assert first["n"].shape == (2, 2)
    with of.loader(epochs=1) as loader:
        loader.load_state_dict(state)
        assert [batch["price"].tolist() for batch in loader] == rest
    write(items={"item": [1, 2], "price": [1.5, 9.5]})
    with of.loader(epochs=1) as loader, pytest.raises(StateMismatch, match="a table of lookup is another one now"):
        loader.load_state_dict(state)


def test_ranks_have_the_batches_of_one():
    write(events={"n": range(50), "item": [k % 7 for k in range(50)]}, items={"item": range(7), "price": [k / 2 for k in range(7)]})
    of = hr.read("events.parquet", lookup={"item": "items.parquet"}).shuffle(seed=1).lanes(4).batch(global_size=8)
    worlds = []
    for world in (1, 2, 4):
        steps = []
        for rank in range(world):
            with of.loader(epochs=1, rank=rank, world_size=world, uneven=True) as loader:
                steps.append([list(zip(b["n"].tolist(), b["price"].tolist(), strict=True)) for b in loader])
        worlds.append([sorted(itertools.chain(*step)) for step in itertools.zip_longest(*steps, fillvalue=[])])
    assert worlds[0] == worlds[1] == worlds[2]
    assert all(price == n % 7 / 2 for step in worlds[0] for n, price in step)
