"""Rows that an expression chooses are those that pyarrow chooses, in every order, on every path."""

import datetime
import decimal
import functools
import json
import math
import operator
import random
import re
import subprocess

import numpy as np
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.feather
import pyarrow.parquet as pq
import pytest

import headrace as hr
from conftest import cases
from headrace._client.program import find_program
from headrace.errors import HeadraceError, RecipeError, SourceError, StateMismatch

pytestmark = pytest.mark.usefixtures("one_engine")

KINDS = {
    "i8": pa.int8(),
    "i64": pa.int64(),
    "u64": pa.uint64(),
    "f32": pa.float32(),
    "f64": pa.float64(),
    "flag": pa.bool_(),
    "city": pa.string(),
    "word": pa.dictionary(pa.int32(), pa.string()),
    "price": pa.decimal128(9, 2),
    "sum": pa.decimal128(30, 3),
    "when": pa.timestamp("us"),
    "utc": pa.timestamp("ms", "UTC"),
    "day": pa.date32(),
    "hour": pa.time32("s"),
    "empty": pa.int64(),
}
WORDS = ["", "a", "ab", "b", "über", "it's", 'say "x"', "back\\slash", "line\nbreak", "日本"]
DAY = datetime.datetime(2026, 11, 29)


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HEADRACE_CACHE", str(tmp_path / "cache"))


def value(r, name):
    """A value of a column, of which others are equal, less and more."""
    near = r.randint(-3, 3)
    match name:
        case "i8":
            return r.choice([near, -128, 127])
        case "i64":
            return r.choice([near, -(2**63), 2**63 - 1, 2**53 + near])
        case "u64":
            return r.choice([abs(near), 2**64 - 1, 2**63 + near])
        case "f32":
            return r.choice([near / 2, 0.1, math.inf, -math.inf, math.nan, -0.0])
        case "f64":
            return r.choice([near / 2, 0.1, math.inf, -math.inf, math.nan, 1e300])
        case "flag":
            return r.random() < 0.5
        case "city" | "word":
            return r.choice(WORDS)
        case "price":
            return decimal.Decimal(r.choice([near * 100, 150, -1230, 9999999])).scaleb(-2)
        case "sum":
            return decimal.Decimal(r.choice([near * 1000, 1500, 10**29 + near])).scaleb(-3, decimal.Context(prec=99))
        case "when" | "utc":
            return DAY + datetime.timedelta(hours=12 * near, milliseconds=r.choice([0, 1, 500]))
        case "day":
            return (DAY + datetime.timedelta(days=near)).date()
        case "hour":
            return datetime.time(abs(near), 30)
    return None


def written(name, v):
    """A value as it is written in an expression."""
    match v:
        case bool() | str() | int():
            return repr(v)
        case float():
            return repr(v)
        case decimal.Decimal():
            return format(v, "f")
        case datetime.datetime():
            return repr(v.isoformat(sep=" ") + ("+00:00" if name == "utc" else ""))
    return repr(v.isoformat())


def usable(r, name):
    """A value that can be written."""
    v = value(r, name)
    return usable(r, name) if isinstance(v, float) and not math.isfinite(v) else v


OPS = {"==": operator.eq, "!=": operator.ne, "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge}


def expression(r, names, deep=3):
    """An expression, and the same for pyarrow."""
    form = r.choice(["and", "or", "not", "leaf", "leaf"]) if deep else "leaf"
    if form in ("and", "or"):
        parts = [expression(r, names, deep - 1) for _ in range(r.randint(2, 3))]
        return f" {form} ".join(f"({text})" for text, _ in parts), functools.reduce(
            operator.and_ if form == "and" else operator.or_, (of for _, of in parts)
        )
    if form == "not":
        text, of = expression(r, names, deep - 1)
        return f"not ({text})", ~of
    name = r.choice(names)
    field = ds.field(name)
    plain = field.cast(pa.string()) if name == "word" else field
    kind = pa.string() if name == "word" else KINDS[name]
    form = r.choice(["null", "in", "compare", "compare", "compare", "chain"])
    if form == "null" or name == "empty":
        return (f"{name} is null", field.is_null()) if r.random() < 0.5 else (f"{name} is not null", field.is_valid())
    if name == "flag" and r.random() < 0.5:
        return name, field
    if form == "in":
        values = [usable(r, name) for _ in range(r.randint(1, 6))]
        text = f"{name} in ({', '.join(written(name, v) for v in values)},)"
        return text, functools.reduce(operator.or_, (plain == pa.scalar(v, kind) for v in values))  # as SQL has it
    if form == "chain" and name != "flag":
        low, high = usable(r, name), usable(r, name)
        text = f"{written(name, low)} <= {name} < {written(name, high)}"
        return text, (plain >= pa.scalar(low, kind)) & (plain < pa.scalar(high, kind))
    op = r.choice(["==", "!="]) if name == "flag" else r.choice(list(OPS))
    v = usable(r, name)
    return f"{name} {op} {written(name, v)}", OPS[op](plain, pa.scalar(v, kind))


def make(r, rows_of, suffix):
    """Files of random columns, and all rows of them. A column n numbers them."""
    names = r.sample([name for name in KINDS if suffix != ".jsonl" or name in ("i64", "f64", "flag", "city", "empty")], r.randint(2, 5))
    files, parts, first = [], [], 0
    for number, rows in enumerate(rows_of):
        columns = {"n": pa.array(range(first, first + rows), pa.int64())}
        first += rows
        for name in names:
            nulls = r.choice([0, 0, 0.3, 1 if number and suffix != ".jsonl" else 0])
            few = [value(r, name) for _ in range(r.choice([1, 3, 99]))]  # groups that one number decides
            values = [None if r.random() < nulls else r.choice(few) for _ in range(rows)]
            if suffix == ".jsonl":  # where types are those of the first values
                values = [v if v is None or not isinstance(v, float) or math.isfinite(v) else 0.5 for v in values]
                if number == 0 and rows and name != "empty":
                    values[0] = usable(r, name)
                values = [int(v) if name == "i64" and v is not None else v for v in values]
            columns[name] = pa.array(values, KINDS[name])
        table = pa.table(columns)
        files.append(f"{number}{suffix}")
        if suffix == ".parquet":
            pq.write_table(
                table,
                files[-1],
                row_group_size=r.choice([1, 7, 100, 1000]),
                data_page_size=r.choice([50, 10_000]),
                use_dictionary=r.random() < 0.5,
            )
        elif suffix == ".arrow":
            pa.feather.write_feather(table, files[-1], compression=r.choice(["lz4", "uncompressed"]), chunksize=r.choice([3, 70, 1000]))
        else:
            lines = ({k: v for k, v in row.items() if v is not None or r.random() < 0.5} for row in table.to_pylist())
            with open(files[-1], "w") as f:
                f.writelines(json.dumps(line, ensure_ascii=r.random() < 0.5) + "\n" for line in lines)
        parts.append(table)
    return files, names, pa.concat_tables(parts)


def numbers(pipeline, **options):
    with pipeline.loader(epochs=1, **options) as loader:
        return [int(n) for batch in loader for n in batch["n"]]


@pytest.mark.parametrize("seed", range(cases(4, 400)))
def test_rows_are_those_of_pyarrow(seed):
    r = random.Random(seed)
    suffix = r.choice([".parquet", ".parquet", ".arrow", ".jsonl"])
    rows_of = [r.randint(1, 200), *(r.choice([1, 63, 64, 65, 300]) for _ in range(r.randint(0, 2)))]
    files, names, table = make(r, rows_of, suffix)
    if suffix == ".jsonl":
        names = [name for name in names if name != "empty"]  # whose type no value tells
    for _ in range(12):
        text, of = expression(r, names)
        want = ds.dataset(table).to_table(filter=of, columns=["n"])["n"].to_pylist()
        rows = hr.read(files, fields=["n"], rows=text)
        if not want:
            with pytest.raises(RecipeError, match=f"rows is true of none of {table.num_rows:,} sample"):
                rows.batch(7).loader()
            continue
        size = r.choice([1, 7, 100])
        assert numbers(rows.batch(size)) == want, text
        if r.random() < 0.3:
            assert numbers(rows.batch(size), on_error="replace") == want, text  # each row by itself
            shuffled = rows.shuffle(seed=seed, **r.choice([{}, {"window": 50}])).batch(size)
            assert sorted(numbers(shuffled)) == want, text
            assert numbers(shuffled) == numbers(shuffled, on_error="replace"), text


@pytest.fixture
def table():
    columns = {
        "n": range(1000),
        "age": [None if i % 10 == 9 else i % 90 for i in range(1000)],
        "city": [("de", "fr", "us")[i % 3] for i in range(1000)],
        "score": np.arange(1000) / 8,
    }
    pq.write_table(pa.table({k: pa.array(v) for k, v in columns.items()}), "people.parquet", row_group_size=100, data_page_size=200)
    return [i for i in range(1000) if i % 10 != 9 and i % 90 > 3 and i % 3 < 2]


ROWS = "age > 3 and city in ('de', 'fr')"


def people(rows=ROWS, **options):
    return hr.read("people.parquet", fields=["n"], rows=rows, **options)


def test_rows_are_counted_ordered_and_divided_like_any_samples(table):
    with people().batch(10).loader(epochs=1) as loader:
        assert len(loader) == -(-len(table) // 10)
        batch = next(iter(loader))
        assert list(batch["n"]) == table[:10]
        assert batch["key"][0] == "people.parquet[4]"  # the row in its file
    assert numbers(people()[5:-5].batch(16)) == table[5:-5]
    parts = people().split({"train": 0.8, "val": 0.2})
    assert sorted(numbers(parts["train"].batch(16)) + numbers(parts["val"].batch(16))) == table
    for options in ({}, {"window": 64}):
        shuffled = people().shuffle(seed=3, **options).batch(16)
        whole = numbers(shuffled)
        assert sorted(whole) == table
        assert whole != table
        by_rank = [numbers(people().shuffle(seed=3, **options).batch(global_size=12), rank=k, world_size=3, uneven=True) for k in range(3)]
        assert sorted(n for own in by_rank for n in own) == table


def test_a_state_goes_on_with_the_same_rows_alone(table):
    shuffled = people().shuffle(seed=1).batch(16)
    with shuffled.loader(epochs=2) as loader:
        batches = []
        for batch in loader:
            batches.append([int(n) for n in batch["n"]])
            if len(batches) == 9:
                state = loader.state_dict()
    with people(" 3 < age and city in ['de', \"fr\"]").shuffle(seed=1).batch(16).loader(epochs=2) as loader:  # the same
        loader.load_state_dict(state)
        assert [[int(n) for n in batch["n"]] for batch in loader] == batches[9:]
    with (
        people("age > 4 and city in ('de', 'fr')").shuffle(seed=1).batch(16).loader(epochs=2) as loader,
        pytest.raises(StateMismatch) as other,
    ):
        loader.load_state_dict(state)
    assert "rows" in str(other.value)
    assert "age > 4" in str(other.value)


def test_rows_without_nulls_need_no_value_for_them():
    pq.write_table(pa.table({"n": [1, 2, 3], "age": [4, None, 6], "city": ["a", "b", None]}), "a.parquet")
    with pytest.raises(HeadraceError, match="age"):
        hr.read("a.parquet").batch(2).loader()
    with pytest.raises(HeadraceError, match="city") as other:
        hr.read("a.parquet", rows="age is not null").batch(2).loader()
    assert '"age"' not in str(other.value).split("to read the others")[0]
    with hr.read("a.parquet", rows="age is not null and city is not null").batch(2).loader(epochs=1) as loader:
        (batch,) = loader
        assert batch["age"].tolist() == [4]
        assert batch["age"].dtype == np.int64
        assert batch["city"][0] == "a"


def test_columns_of_other_types_and_names():
    pq.write_table(pa.table({"n": [0, 1], "a": pa.array([1, 300], pa.int32()), "first name": ["x", "y"]}), "0.parquet")
    pq.write_table(pa.table({"n": [2, 3], "a": [0.5, 300.5], "first name": ["z", "x"]}), "1.parquet")
    pq.write_table(pa.table({"n": [4, 5], "first name": ["x", None]}), "2.parquet")
    files = ["0.parquet", "1.parquet", "2.parquet"]
    for rows, want in {
        "a >= 300": [1, 3],
        "a < 0.75": [2],
        "a is null": [4, 5],
        "not a >= 300": [0, 2],
        "`first name` == 'x'": [0, 3, 4],
        "`first name` is null or a > 1e300": [5],
        "__key__ == '1.parquet[0]'": [2],
        "__key__ >= '1' and __key__ < '2'": [2, 3],
    }.items():
        assert numbers(hr.read(files, fields=["n"], rows=rows).batch(9)) == want, rows


def test_members_structs_and_other_formats():
    rows = [{"n": i, "meta": {"lang": ["de", "en"][i % 2], "score": i / 4}, "tags": ["a"] * i} for i in range(8)]
    with open("a.jsonl", "w") as f:
        f.writelines(json.dumps(row) + "\n" for row in rows)
    pq.write_table(pa.Table.from_pylist(rows), "a.parquet")
    with open("a.csv", "w") as f:
        f.write("n,lang,score\n" + "".join(f"{i},{['de', 'en'][i % 2]},{i / 4 if i else ''}\n" for i in range(8)))
    want = [4, 6]
    assert numbers(hr.read("a.jsonl", fields=["n"], rows="meta.lang == 'de' and meta.score >= 1").batch(3)) == want
    assert numbers(hr.read("a.parquet", fields=["n"], rows="meta.lang == 'de' and meta.score >= 1").batch(3)) == want
    assert numbers(hr.read("a.csv", fields=["n"], rows="lang == 'de' and score >= 1").batch(3)) == want
    assert numbers(hr.read("a.csv", fields=["n"], rows="score is null").batch(3)) == [0]


NOT = {
    "age > 'x'": 'compares "age", which is int64, with text: write a number, without quotes',
    "age == true": 'compares "age", which is int64, with true or false: write a number',
    "city == 3": "compares \"city\", which is text, with 3: write text in quotes, '3'",
    "aeg > 3": 'uses "aeg": no such field: "aeg"; did you mean "age"?',
    "age": 'has "age" alone, which is int64: write how it must be, as in "age > 0"',
    "city": """has "city" alone, which is text: write how it must be, as in "city == 'text'\"""",
    "flag == 'yes'": 'compares "flag", which is bool, with text: write true or false, without quotes',
    "flag == 2": 'compares "flag", which is bool, with 2: write true or false',
    "when > 'soon'": 'compares "when", which is timestamp[us], with text: write a date',
    "when > '2026-11-29 00:00Z'": "has a time zone, and the column has none: leave it out",
    "vector > 3": 'compares "vector", which is float64 [?]: only single numbers and text can be compared; "vector is null" works',
    "age >> 3": 'has ">" where a column or a value must be',
    "age > 99": "rows is true of none of 2 samples: age > 99; a source needs at least one",
}


@pytest.mark.parametrize("rows", NOT)
def test_mistakes_name_column_and_place(rows):
    columns = {"age": [1, 2], "city": ["a", "b"], "flag": [True, False], "when": [DAY, DAY], "vector": [[1.5], [2.5]]}
    pq.write_table(pa.table(columns), "a.parquet")
    with pytest.raises(RecipeError) as caught:
        hr.read("a.parquet", rows=rows).select("age").batch(2).loader()
    text = str(caught.value)
    assert NOT[rows] in text
    assert 'step "read" (#1): rows ' in text
    if "none of" not in text:
        lines = text.splitlines()
        at = next(i for i, line in enumerate(lines) if line.strip() == rows)
        assert lines[at + 1].strip() == "^"
        assert "test_rows.py" in text


@pytest.mark.parametrize("rows", ["", "  ", 3, b"age > 3", ["age > 3"]])
def test_rows_must_be_text(rows):
    with pytest.raises(RecipeError, match="must be an expression about columns in text"):
        hr.read("a.parquet", rows=rows)


def test_a_row_that_cannot_be_read_ends_the_opening():
    with open("a.jsonl", "w") as f:
        f.write('{"n": 1, "a": "x"}\n' * 150 + '{"n": 3, "a": \n')
    rows = hr.read("a.jsonl", fields=["n"], rows="a != 'x'").batch(1)
    with pytest.raises(SourceError, match=r"(?s)a\.jsonl.*rows= needs this value to decide whether the row comes"):
        rows.loader(on_error="skip")


def test_text_that_is_not_utf8_can_be_compared():
    table = pa.table({"n": [1, 2, 3], "a": pa.array([b"a", b"\xff", b"b"])})
    pq.write_table(table.set_column(1, "a", pa.Array.from_buffers(pa.string(), 3, table["a"].chunk(0).buffers())), "a.parquet")
    assert numbers(hr.read("a.parquet", fields=["n"], rows="a >= 'b'").batch(3)) == [2, 3]


def test_a_recipe_has_rows(table):
    with open("train.yaml", "w") as f:
        f.write(f'headrace: 1\nsteps:\n  - read: {{from: people.parquet, fields: [n], rows: "{ROWS}"}}\n  - batch: {{size: 100}}\n')
    assert numbers(hr.load("train.yaml")) == table
    with open("wrong.yaml", "w") as f:
        f.write("headrace: 1\nsteps:\n  - read:\n      from: people.parquet\n      rows: age >> 3\n  - batch: {size: 100}\n")
    done = subprocess.run([find_program(), "check", "wrong.yaml"], capture_output=True, text=True, check=False)
    assert done.returncode != 0
    assert "wrong.yaml:5:" in done.stdout + done.stderr
    assert 'has ">" where a column or a value must be' in done.stdout + done.stderr


TOKENS = re.findall(
    r"\S+", "age city `age` flag 3 -1.5e3 'de' ( ) [ ] , and or not in is null true < <= == != >= > = & \\ ' ` é 1e999 0x .. None"
)
TOKENS += ["\n", "\0", '"x\\"y"', "age > 3 and", "city in ('de',"]


@pytest.mark.parametrize("seed", range(cases(1, 200)))
def test_any_text_is_rows_or_a_mistake(seed, table):
    r = random.Random(seed)
    for _ in range(60):
        text = r.choice(["", " "]).join(r.choice(TOKENS) for _ in range(r.randint(1, 9)))
        if not text.strip():
            continue
        try:
            loader = people(text).batch(100).loader(epochs=1)
        except RecipeError as e:
            told = str(e)
        else:
            with loader:
                assert 0 < sum(len(batch["n"]) for batch in loader) <= 1000
            continue
        assert "rows " in told, text
