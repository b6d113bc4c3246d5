"""Types of columns: times, decimals, dictionaries, tensors and nulls, as pyarrow reads them from the same file."""

import decimal
import json
import math
import os
import random
import re
import subprocess

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import headrace as hr
from conftest import WHOLE
from headrace._client.program import find_program
from headrace.errors import HeadraceError, RecipeError, SampleError, SourceError

pytestmark = pytest.mark.usefixtures("one_engine")

TABLES = 300 if WHOLE else 2  # of each format
UNITS = ("s", "ms", "us", "ns")


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HEADRACE_CACHE", str(tmp_path / "cache"))


def digits(r, kind):
    """A decimal of a type."""
    n = r.choice([1, kind.precision, r.randint(1, kind.precision)])
    return decimal.Decimal(r.choice(["", "-"]) + str(r.randrange(10**n))).scaleb(-kind.scale, decimal.Context(prec=99))


def kinds(r):
    """A type of each family, and values for it."""
    unit, zone = r.choice(UNITS), r.choice([None, "UTC", "Europe/Paris", "+05:30"])
    precision = r.choice([1, 9, 10, 18, 19, 38])
    scale = r.randint(0, precision)
    wide = pa.decimal256(r.randint(39, 76), r.randint(0, 30))
    whole = lambda low, high: lambda: r.choice([low, high, r.randint(low, high)])  # noqa: E731
    narrow = pa.decimal128(precision, scale)
    words = [f"word {i}" * r.randint(0, 3) + str(i) for i in range(r.randint(1, 9))]
    index = r.choice([pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.uint8()])
    of_number = r.choice([pa.int8(), pa.uint16(), pa.int32(), pa.uint64(), pa.float16(), pa.float32(), pa.float64(), pa.timestamp("us")])
    element = (lambda: float(r.randint(-9, 9))) if pa.types.is_floating(of_number) else lambda: r.randint(0, 99)
    return {
        "stamp": (pa.timestamp(unit, zone), whole(-(10**9), 10**9)),
        "day": (pa.date32(), whole(-30_000, 30_000)),
        "hour": (r.choice([pa.time32("s"), pa.time32("ms"), pa.time64("us"), pa.time64("ns")]), whole(0, 86_399)),
        "took": (pa.duration(r.choice(UNITS)), whole(-(2**62), 2**62)),
        "price": (narrow, lambda: digits(r, narrow)),
        "wide": (wide, lambda: digits(r, wide)),
        "word": (pa.dictionary(index, pa.string()), lambda: r.choice(words)),
        "text": (r.choice([pa.string(), pa.large_string()]), lambda: r.choice(words)),
        "whole": (r.choice([pa.int8(), pa.uint8(), pa.int32()]), whole(0, 100)),
        "u64": (pa.uint64(), whole(0, 2**64 - 1)),
        "f16": (pa.float16(), lambda: r.choice([0.5, math.nan, -math.inf])),
        "f64": (pa.float64(), lambda: r.choice([r.random(), math.nan])),
        "flag": (pa.bool_(), lambda: r.random() < 0.5),
        "list": (r.choice([pa.list_, pa.large_list])(of_number), lambda: [element() for _ in range(r.randint(0, 4))]),
    }


def table(r):
    rows = r.choice([1, 2, 9, 50])
    columns = {}
    for name, (kind, value) in kinds(r).items():
        nulls = r.choice([0, 0.3, 0.3, 1])
        values = [None if r.random() < nulls else value() for _ in range(rows)]
        if pa.types.is_dictionary(kind):
            columns[name] = pa.array(values, kind.value_type).dictionary_encode().cast(kind)
        else:
            columns[name] = pa.array(values, kind)
    columns["nothing"] = pa.nulls(rows)
    return pa.table(columns)


def numbers(column):
    """The whole numbers that are stored; None for null."""
    kind = column.type
    narrow = pa.types.is_date32(kind) or pa.types.is_time32(kind)
    return column.cast(pa.int32() if narrow else pa.int64()).to_pylist() if pa.types.is_temporal(kind) else column.to_pylist()


def unscaled(d, scale):
    return int(d.scaleb(scale, decimal.Context(prec=99)))


def check(path, read):
    """What a file gives is what pyarrow has read from it."""
    fields = {}
    for name in read.column_names:
        fields[name + " none"] = (name, "is_null")
    for name in ("stamp", "day", "hour", "took", "whole", "u64"):
        fields[name] = (name, None, 7)
    fields |= {
        "price": ("price", None, "none"),
        "wide": ("wide", str, "none"),
        "wide f64": ("wide", "float64"),
        "price f32": ("price", "float32", 1e9),
    }
    fields |= {"word": ("word", str, "none"), "text": ("text", None, "none"), "code": ("word", "int16", -1)}
    fields |= {"f16": ("f16", None, 3), "f64": ("f64", None, math.inf), "flag": ("flag", None, True), "list": ("list", None, [])}
    fields |= {"nan": "f64", "nothing": ("nothing", "float32"), "no text": ("nothing", str, "none")}
    if (precise := read["price"].type.precision) <= 18:
        fields["cents"] = ("price", "int64", 0)
    with hr.read(path, fields=fields).batch(len(read), ragged=["list"]).loader(epochs=1) as loader:
        (batch,), schema = list(loader), loader.schema
    text = lambda name: list(batch[name])  # noqa: E731
    for name in read.column_names:
        assert batch[name + " none"].tolist() == read[name].is_null().to_pylist(), name

    for name in ("stamp", "day", "hour", "took", "whole", "u64"):
        assert batch[name].tolist() == [7 if v is None else v for v in numbers(read[name])], name
        if (kind := read[name].type) and pa.types.is_temporal(kind) and read[name].null_count < len(read):
            assert (schema[name].dtype, schema[name].logical) == ("int64", str(kind))
    for name in ("price", "wide"):
        kind, values = read[name].type, read[name].to_pylist()
        assert text(name) == ["none" if v is None else format(v, "f") for v in values]
        if read[name].null_count < len(read):
            assert re.sub(r"\d+\(", "(", schema[name].logical) == f"decimal({kind.precision}, {kind.scale})"
    assert np.array_equal(batch["wide f64"], [math.nan if v is None else float(v) for v in read["wide"].to_pylist()], equal_nan=True)
    values = [1e9 if v is None else float(v) for v in read["price"].to_pylist()]
    np.testing.assert_allclose(batch["price f32"], np.array(values, np.float32), rtol=1e-7)
    if precise <= 18:
        values = [0 if v is None else unscaled(v, read["price"].type.scale) for v in read["price"].to_pylist()]
        assert batch["cents"].tolist() == values

    words = read["word"].to_pylist()
    assert text("word") == ["none" if v is None else v for v in words]
    names = schema["code"].names or ()
    assert [None if c < 0 else names[c] for c in batch["code"].tolist()] == words
    if isinstance(read["word"].type, pa.DictionaryType) and read["word"].num_chunks == 1 and any(words):
        assert batch["code"].tolist() == [-1 if i is None else i for i in read["word"].chunk(0).indices.to_pylist()]
    assert text("text") == ["none" if v is None else v for v in read["text"].to_pylist()]
    for name, null in (("f16", 3), ("f64", math.inf), ("flag", True)):
        values = [null if v is None else v for v in read[name].to_pylist()]
        assert np.array_equal(batch[name], np.array(values, batch[name].dtype), equal_nan=name != "flag"), name
    assert np.array_equal(batch["nan"], [math.nan if v is None else v for v in read["f64"].to_pylist()], equal_nan=True)
    assert np.isnan(batch["nothing"]).all()
    assert set(text("no text")) == {"none"}
    of = read["list"].type.value_type
    lists = read["list"].cast(pa.large_list(pa.int64())) if pa.types.is_timestamp(of) else read["list"]
    assert [a.tolist() for a in batch["list"]] == [v or [] for v in lists.to_pylist()]


@pytest.mark.parametrize("form", ["parquet", "arrow"])
def test_random_types(form):
    r = random.Random(int(os.environ.get("HEADRACE_SEED", "0")))
    for _ in range(TABLES):
        made = table(r)
        path = f"{r.randrange(2**63)}.{form}"
        if form == "parquet":
            pq.write_table(
                made,
                path,
                compression=r.choice(["none", "snappy", "zstd"]),
                row_group_size=r.choice([2, 99]),
                data_page_version=r.choice(["1.0", "2.0"]),
                use_dictionary=r.random() < 0.7,
                store_decimal_as_integer=r.random() < 0.4,
                use_deprecated_int96_timestamps=r.random() < 0.2 and not pa.types.is_timestamp(made["list"].type.value_type),
                data_page_size=r.choice([1, 1 << 20]),
                write_batch_size=r.choice([3, 1024]),
            )
            # Lists are as they were written: pyarrow 26 reads no row of some whose pages have one value.
            read = pa.table(
                {name: made[name] if name == "list" else pq.read_table(path, columns=[name])[name] for name in made.column_names}
            )
        else:
            new = r.choice([pa.ipc.new_file, pa.ipc.new_stream])
            options = pa.ipc.IpcWriteOptions(compression=r.choice([None, "lz4", "zstd"]))
            with pa.OSFile(path, "wb") as f, new(f, made.schema, options=options) as w:
                w.write_table(made, r.choice([1, 3, 99]))
            read = made
        check(path, read)
        os.remove(path)


def rows(source, **fields):
    """All samples of one batch, by field."""
    with hr.read(source, fields=fields or None).batch(10_000).loader(epochs=1) as loader:
        (batch,) = list(loader)
    return {name: batch[name] if isinstance(batch[name], list) else np.asarray(batch[name]).tolist() for name in fields}


def refused(source, match, error=HeadraceError, **fields):
    with pytest.raises(error, match=match):
        hr.read(source, fields=fields or None).batch(2).loader().close()


@pytest.mark.parametrize("name", ["a.csv", "a.jsonl", "a.tsv"])
def test_nulls_of_lines(name):
    frame = pd.DataFrame({"n": [3, None, -5], "x": [0.5, None, 2.0], "t": ["a", None, ""], "b": [True, None, False]})
    if name == "a.jsonl":
        objects = json.loads(frame.to_json(orient="records"))
        for o in objects:
            o["n"] = o["n"] if o["n"] is None else int(o["n"])
        with open(name, "w") as f:
            f.writelines(json.dumps({"deep": o} if o["n"] != -5 else {"deep": o | {"more": 1}}) + "\n" for o in objects)
        below = "deep."
    else:
        frame["n"] = frame["n"].astype("Int64")
        frame.to_csv(name, index=False, sep="\t" if name == "a.tsv" else ",")
        below = ""
    got = rows(name, n=(below + "n", "int16", 300), none=(below + "n", "is_null"), x=(below + "x", "float32", -1),
        nan=(below + "x", "float64"), t=(below + "t", str, "?"), b=(below + "b", "bool", False), no=(below + "t", "is_null"))  # fmt: skip
    assert got["n"] == [3, 300, -5]
    assert got["none"] == [False, True, False]
    assert got["x"] == [0.5, -1, 2]
    assert math.isnan(got["nan"][1])
    assert list(got["t"]) == (["a", "?", ""] if below else ["a", "?", "?"])  # in a table, empty text is none
    assert got["b"] == [True, False, False]
    assert got["no"] == ([False, True, False] if below else [False, True, True])


def test_nulls_of_members_of_json():
    texts = ['{"a": 1, "t": ["x"]}', '{"a": null, "t": null}', "{}"]
    pq.write_table(pa.table({"about": texts}), "a.parquet")
    assert rows("a.parquet", a=("about.a", None, 9), no=("about.a", "is_null"), t=("about.t", (str, (None,)), [])) == {
        "a": [1, 9, 9],
        "no": [False, True, True],
        "t": [["x"], [], []],
    }


@pytest.mark.parametrize(
    ("field", "message"),
    [
        (("x", "uint8", 300), r'"x": the value for null is 300: it is not valid as uint8'),
        (("x", "int64", math.nan), r'"x": the value for null is "nan": int64 needs a number'),
        (("x", "int64", "0"), r'"x": the value for null is "0": int64 needs a number'),
        (("x", "int64", []), r'"x": the value for null is \[\]: int64 needs one value'),
        (("t", str, 0), r'"t": the value for null is 0: text needs text'),
        (("l", None, 0), r'"l": the value for null is 0: int64 \[\?\] needs an empty list, \[\]'),
        (("x", "int64", None), r"fields has None as the value for null of 'f': must be a number"),
        (("x", "int64", [1]), r"fields has \[1\] as the value for null of 'f'"),
        (("x", "int64", 0, 0), r"must be the name of a part or column, \(name, type\), or \(name, type, value\)"),
        (("t", "int32", -1), r'"t" as int32: it is text; only a dictionary has codes'),
        (("cat", "bool"), r'"cat" as bool: it is text'),
        (("price", "bool"), r'"price" as bool: it is text decimal128\(10, 2\)'),
    ],
)
def test_values_for_null_that_are_wrong(field, message):
    table = {"x": [1, None], "t": ["a", None], "l": [[1], None], "cat": pa.array(["a", None]).dictionary_encode()}
    table["price"] = pa.array([decimal.Decimal("1.20"), None], pa.decimal128(10, 2))
    pq.write_table(pa.table(table), "a.parquet")
    refused("a.parquet", message, f=field)


def test_what_to_write_for_nulls():
    pq.write_table(pa.table({"x": [1, None], "t": ["a", None], "y": [1, 2]}), "a.parquet")
    refused(
        "a.parquet",
        r'give a value for it, fields=\{"x": \("x", None, 0\)\}, or read it as float64, .*, fields=\{"x": \("x", "float64"\)\}',
    )
    refused("a.parquet", r'"t": in 1 of 2 .*; give a value for it, as in fields=\{"t": \("t", None, ""\)\}')
    with pytest.raises(SampleError, match=r'give the value for null, as in \("x", None, 0\)'):
        rows("a.parquet", x="x")
    with pytest.raises(SampleError, match=r'give the value for null, as in \("t", None, ""\)'):
        rows("a.parquet", t="t")


@pytest.mark.parametrize("form", ["parquet", "arrow"])
def test_decimals_that_do_not_fit(form):
    values = [decimal.Decimal(10**20), decimal.Decimal(-7)]
    write(pa.table({"d": pa.array(values, pa.decimal128(30, 3)), "c": pa.array([300, 2], pa.decimal128(5, 0))}), f"a.{form}")
    with pytest.raises(SampleError, match=r'field "d": damaged: "100000000000000000000000" is not valid as int64'):
        rows(f"a.{form}", d=("d", "int64"))
    with pytest.raises(SampleError, match=r'field "c": damaged: "?300"? is not valid as uint8'):
        rows(f"a.{form}", c=("c", "uint8"))
    assert rows(f"a.{form}", d="d", f=("d", "float64")) == {"d": ["100000000000000000000.000", "-7.000"], "f": [1e20, -7.0]}


def write(table, path):
    if path.endswith("parquet"):
        pq.write_table(table, path)
    else:
        with pa.ipc.new_file(path, table.schema) as w:
            w.write_table(table)


def files(form, *columns):
    """A file for each of some columns, called x."""
    for i, column in enumerate(columns):
        write(pa.table({"x": column, "y": pa.array([i] * len(column), pa.int64())}), f"{i}.{form}")
    return [f"{i}.{form}" for i in range(len(columns))]


@pytest.mark.parametrize("form", ["parquet", "arrow"])
def test_files_that_differ(form):
    ints, texts = pa.array([1, 2], pa.int32()), pa.array(["a", "b"])
    ms, us = pa.array([1, 2], pa.timestamp("ms")), pa.array([1, 2], pa.timestamp("us"))
    for a, b, said in (
        (ints, texts, f"it is text in 1.{form}, and int32 in 0.{form}"),
        (ms, us, f"it is int64 timestamp\\[ms\\] in 0.{form}, and int64 timestamp\\[us\\] in 1.{form}"),
        (
            pa.array([1], pa.decimal128(9, 2)),
            pa.array([1], pa.decimal128(9, 3)),
            r"decimal128\(9, 2\) in 0.*, and int64 decimal128\(9, 3\) in 1",
        ),
        (pa.array([[1]]), pa.array([[0.5]]), r"it is int64 \[\?\] in 0.*, and float64 \[\?\] in 1"),
    ):
        both = files(form, a, b)
        refused(both, said)
        refused(both, said, x="x")
    refused(files(form, ms, us), "would mean different things", x=("x", "int64"))
    both = files(form, ints, pa.array([2**40]))
    refused(both, f"it is int32 in 0.{form}, and int64 in 1.{form}.*give the type")
    assert rows(both, x=("x", "int64")) == {"x": [1, 2, 2**40]}


@pytest.mark.parametrize("form", ["parquet", "arrow"])
def test_files_without_rows_or_values(form):
    nothing, none = pa.nulls(2), pa.array([], pa.string())
    assert rows(files(form, pa.array([1, 2]), none, pa.array([3])), x="x") == {"x": [1, 2, 3]}
    all_null = files(form, nothing, pa.array([1, 2]), pa.nulls(1))
    assert rows(all_null, x=("x", "int64", -1), no=("x", "is_null")) == {"x": [-1, -1, 1, 2, -1], "no": [True, True, False, False, True]}
    assert rows(files(form, nothing, pa.array(["a"])), x=("x", None, "?")) == {"x": ["?", "?", "a"]}
    refused(files(form, nothing), "in 2 of 2 samples")
    assert rows(files(form, nothing), x=("x", str, "?"), no=("x", "is_null")) == {"x": ["?", "?"], "no": [True, True]}


@pytest.mark.parametrize("form", ["parquet", "arrow"])
def test_names_of_several_files(form):
    """Codes are places among the names of all files, in the order in which they come first; pandas has the same of one file."""
    frame = pd.DataFrame({"x": pd.Categorical(["low", "high", None, "low"], ["low", "middle", "high"], ordered=True)})
    write(pa.Table.from_pandas(frame), f"p.{form}")
    fields = {"x": ("x", "int8", -1)}
    with hr.read(f"p.{form}", fields=fields).batch(9).loader(epochs=1) as loader:
        assert next(iter(loader))["x"].tolist() == frame["x"].cat.codes.tolist()
        assert loader.schema["x"].names == ("low", "middle", "high")
        assert loader.schema["x"].logical == "dictionary"
        assert repr(loader.schema["x"]).endswith("shape=(), logical='dictionary', names=('low', 'middle', 'high'))")
    both = files(form, pa.array(["b", "a"]).dictionary_encode(), pa.array(["c", "a", "b"]).dictionary_encode())
    with hr.read(both, fields=fields).batch(9).loader(epochs=1) as loader:
        assert next(iter(loader))["x"].tolist() == [0, 1, 2, 1, 0]
        assert loader.schema["x"].names == ("b", "a", "c")
    refused(files(form, pa.array(["b"]).dictionary_encode(), pa.array(["c"])), "only a dictionary has codes", x=("x", "int8"))
    many = pa.array([str(i) for i in range(200)]).dictionary_encode()
    refused(files(form, many), r'"x" as int8 dictionary\[200\]: it has 200 names|"x" as int8: it has 200 names', x=("x", "int8"))


@pytest.mark.parametrize("form", ["parquet", "arrow"])
def test_tensors_of_one_shape(form):
    numbers = np.arange(24, dtype=np.float32).reshape(4, 2, 3)
    tensors = pa.FixedShapeTensorArray.from_numpy_ndarray(numbers)
    write(pa.table({"x": tensors, "y": pa.array([[1, 2]] * 4, pa.list_(pa.uint8(), 2))}), f"a.{form}")
    with hr.read(f"a.{form}").batch(4).loader(epochs=1) as loader:
        batch = next(iter(loader))
    np.testing.assert_array_equal(batch["x"], numbers)
    assert batch["y"].tolist() == [[1, 2]] * 4
    turned = pa.ExtensionArray.from_storage(
        pa.fixed_shape_tensor(pa.int32(), [2, 2], permutation=[1, 0]), pa.array([[1, 2, 3, 4]], pa.list_(pa.int32(), 4))
    )
    write(pa.table({"x": turned}), f"b.{form}")
    refused(f"b.{form}", r"its tensors are permuted \(\[1 0\]\): write them in the order of their rows")


@pytest.mark.parametrize("form", ["parquet", "arrow"])
def test_what_has_no_place_is_named(form):
    columns = {"map": pa.array([[("a", 1)]], pa.map_(pa.string(), pa.int32())), "prices": pa.array([[1]], pa.list_(pa.decimal128(5, 2)))}
    if form == "arrow":
        columns["union"] = pa.UnionArray.from_dense(pa.array([0], pa.int8()), pa.array([0], pa.int32()), [pa.array([1])])
        columns["interval"] = pa.array([(1, 2, 3)], pa.month_day_nano_interval())
        columns["views"] = pa.array([["a"]], pa.list_(pa.string_view()))
    write(pa.table({**columns, "y": pa.array([1])}), f"a.{form}")
    for name, why in {
        "map": "it is a map",
        "prices": "decimals?.*: write (floats|numbers)",
        "union": "unions",
        "interval": "intervals",
        "views": "list of views of text: write it as a list of string",
    }.items():
        if name in columns:
            refused(f"a.{form}", why, SourceError, x=name)
    assert rows(f"a.{form}", y="y") == {"y": [1]}


@pytest.mark.parametrize("form", ["parquet", "arrow"])
def test_columns_of_one_name_and_ten_thousand(form):
    one = pa.array([1])
    write(pa.Table.from_arrays([one, one, pa.array([2])], ["x", "x", "y"]), f"a.{form}")
    refused(f"a.{form}", '"x": two columns have this name', x="x")
    assert rows(f"a.{form}", y="y") == {"y": [2]}
    count = 10_000 if WHOLE else 600
    wide = pa.Table.from_arrays([pa.array([i, -i]) for i in range(count)], [f"column {i}" for i in range(count)])
    for i in range(2):
        write(wide, f"w{i}.{form}")
    assert rows(f"w*.{form}", a="column 0", b=f"column {count - 1}") == {"a": [0] * 4, "b": [count - 1, 1 - count] * 2}
    every = {f"column {i}": f"column {i}" for i in range(600)}
    with hr.read(f"w*.{form}", fields=every).batch(4).loader(epochs=1) as loader:
        batch = next(iter(loader))
    assert [batch[name][1] for name in every] == [-i for i in range(600)]


@pytest.mark.skipif(not WHOLE, reason="writes 400 MB")
@pytest.mark.parametrize("form", ["parquet", "arrow"])
def test_rows_of_a_hundred_megabytes(form):
    numbers = np.arange(25_000_000, dtype=np.float32)
    write(pa.table({"x": pa.array([b"a" * 100_000_000, b"b"]), "l": pa.array([numbers, numbers[:2]])}), f"a.{form}")
    with hr.read(f"a.{form}").loader(epochs=1) as loader:
        got = [(len(s["x"]), s["l"].sum()) for s in loader]
    assert got == [(100_000_000, numbers.sum()), (1, 1.0)]


def test_times_of_96_bits():
    r = random.Random(3)
    stamps = [r.randrange(-(2**63) + 10**18, 2**63 - 10**18) for _ in range(50)] + [None, 0]
    pq.write_table(pa.table({"x": pa.array(stamps, pa.timestamp("ns"))}), "a.parquet", use_deprecated_int96_timestamps=True)
    assert rows("a.parquet", x=("x", None, 5))["x"] == [5 if s is None else s for s in stamps]
    far = pa.array([-62_135_596_800], pa.timestamp("s"))  # year 1
    pq.write_table(pa.table({"x": far.cast(pa.timestamp("us"))}), "b.parquet", use_deprecated_int96_timestamps=True)
    refused("b.parquet", "timestamp outside of the years 1678 to 2261.*write timestamp", x="x")
    lists = pa.table({"x": pa.array([[1]], pa.list_(pa.timestamp("ns")))})
    pq.write_table(lists, "c.parquet", use_deprecated_int96_timestamps=True)
    refused("c.parquet", r"list of timestamps of 96 bits \(int96\): write them as int64", x="x")


def test_the_schema_is_shown():
    stamps, cents = pa.array([1, 2], pa.timestamp("us", "UTC")), pa.array([1, 2], pa.decimal128(9, 2))
    write(pa.table({"t": stamps, "d": cents, "c": pa.array(["a", "b"]).dictionary_encode()}), "a.parquet")
    shown = subprocess.run([find_program(), "inspect", "a.parquet"], capture_output=True, text=True, check=True).stdout
    for line in (r"t +int64 timestamp\[us, tz=UTC\]", r"d +text decimal128\(9, 2\)", r"c +text dictionary\[2\]"):
        assert re.search(line, shown), shown


def test_times_of_two_units_do_not_mix():
    for unit in ("ms", "us"):
        write(pa.table({"x": pa.array([1, 2], pa.timestamp(unit))}), f"{unit}.parquet")
    a, b = (hr.read(f"{unit}.parquet") for unit in ("ms", "us"))
    with pytest.raises(RecipeError, match=r'the field "x" as int64 timestamp\[us\], but .* gives it as int64 timestamp\[ms\]'):
        hr.merge([a, b]).batch(2).loader()
    with hr.merge([a, a]).batch(2).loader() as loader:
        assert loader.schema["x"].logical == "timestamp[ms]"


def test_columns_in_the_order_of_the_file(tmp_path, monkeypatch):
    """Without fields=, and in messages, columns come as in the file; of several files, new ones come last."""
    monkeypatch.chdir(tmp_path)
    columns = {"zeta": [1, 2], "text": ["a", "b"], "alpha": [0.5, 1.5], "tags": [["a"], ["b"]], "beta": [1, None], "img": [b"a", b"b"]}
    table = pa.table(columns)
    pq.write_table(table, "0.parquet")
    with pa.OSFile("0.arrow", "wb") as f, pa.ipc.new_file(f, table.schema) as w:
        w.write_table(table)
    whole = table.drop_columns(["beta"])
    pq.write_table(whole.append_column("new", [[1, 2]]).append_column("a_new", [["x", None]]), "1.parquet")
    pq.write_table(whole, "w.parquet")
    with hr.read("w.parquet").loader(epochs=1) as loader:
        assert list(loader.schema) == ["zeta", "text", "alpha", "tags", "img", "key"]
    names = ["zeta", "text", "alpha", "tags", "beta", "img"]
    for name in ("0.parquet", "0.arrow"):
        with pytest.raises(RecipeError, match="the samples have " + ", ".join(names) + ", __key__"):
            hr.read(name, fields=["nope"]).loader()
        rest = ", ".join(f'"{name}": "{name}"' for name in names if name != "beta")
        with pytest.raises(SourceError, match="name them: fields={" + rest + "}"):
            hr.read(name).loader()
    with pytest.raises(SourceError) as error:
        hr.read(["0.parquet", "1.parquet"]).loader()
    places = [str(error.value).index(f'"{name}": in ') for name in ("beta", "new", "a_new")]
    assert places == sorted(places)
