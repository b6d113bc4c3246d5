"""Steps on columns give what NumPy gives, and the same bytes by columns, row by row, and on whole batches."""

import random

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import headrace as hr
from conftest import cases

pytestmark = pytest.mark.usefixtures("one_engine")

DTYPES = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "float32", "float64", "bool")
WORDS = ("", "a", "ümlaut", "a longer text, of more than thirty-two bytes", "b" * 100)


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HEADRACE_CACHE", str(tmp_path / "cache"))


def xxh64(data, seed):
    """The hash, as https://github.com/Cyan4973/xxHash/blob/dev/doc/xxhash_spec.md says it."""
    p1, p2, p3, p4, p5 = 11400714785074694791, 14029467366897019727, 1609587929392839161, 9650029242287828579, 2870177450012600261
    mask = 2**64 - 1

    def turn(x, n):
        x &= mask
        return (x << n | x >> (64 - n)) & mask

    def lane(acc, word):
        return turn(acc + word * p2, 31) * p1 & mask

    at, acc = 0, seed + p5
    if len(data) >= 32:
        accs = [seed + p1 + p2, seed + p2, seed, seed - p1]
        while at + 32 <= len(data):
            accs = [lane(acc, int.from_bytes(data[at + 8 * i : at + 8 * i + 8], "little")) for i, acc in enumerate(accs)]
            at += 32
        acc = sum(turn(a, n) for a, n in zip(accs, (1, 7, 12, 18), strict=True))
        for a in accs:
            acc = (acc ^ lane(0, a)) * p1 + p4 & mask
    acc = acc + len(data) & mask
    while at + 8 <= len(data):
        acc = turn(acc ^ lane(0, int.from_bytes(data[at : at + 8], "little")), 27) * p1 + p4 & mask
        at += 8
    if at + 4 <= len(data):
        acc = turn(acc ^ int.from_bytes(data[at : at + 4], "little") * p1 & mask, 23) * p2 + p3 & mask
        at += 4
    for byte in data[at:]:
        acc = turn(acc ^ byte * p5 & mask, 11) * p1 & mask
    acc = (acc ^ acc >> 33) * p2 & mask
    acc = (acc ^ acc >> 29) * p3 & mask
    return acc ^ acc >> 32


def numbers(r, dtype, rows):
    if dtype == "bool":
        return np.array([r.random() < 0.5 for _ in range(rows)])
    if dtype.startswith("float"):
        return np.array([r.choice([0.0, np.nan, np.inf, -1.5, r.uniform(-99, 99)]) for _ in range(rows)], dtype)
    limits = np.iinfo(dtype)
    return np.array(
        [r.choice([0, 1, r.randint(max(-9, int(limits.min)), 9), int(limits.max), int(limits.min)]) for _ in range(rows)], dtype
    )


def float_of(a):
    return a.dtype if a.dtype.kind == "f" else np.dtype("float32")


def is_float(a):
    return a.dtype.kind == "f"


def some_step(r, of, table):
    """A step that may come next, and what NumPy makes of the table by it; None: the step drawn has no numbers to work on."""
    name = r.choice([n for n in table if table[n].dtype.kind != "U"])
    a = table[name]
    wide = a.astype("float64")
    done = dict(table)
    with np.errstate(all="ignore"):
        match r.choice(["cast", "scale", "clip", "log1p", "fill_nan", "bucketize", "hash_buckets", "one_hot", "concat", "lists"]):
            case "cast":
                dtype = r.choice(DTYPES)
                as_dtype = a.astype(dtype)
                lost = as_dtype.astype("float64") != np.trunc(wide) if as_dtype.dtype.kind in "iu" else np.isinf(as_dtype) != np.isinf(wide)
                if dtype == "bool":
                    lost = np.isnan(wide)
                if lost.any():
                    return None
                done[name], of = as_dtype, of.cast(name, dtype)
            case "scale":
                low, by = r.choice([(0.0, 1.0), (1.5, 3.0), (-20.25, 0.125)])
                scaled = ((wide - low) / by).astype(float_of(a))
                if (np.isinf(scaled) != np.isinf(wide)).any():
                    return None
                done[name], of = scaled, of.scale(name, **r.choice([{"mean": low, "std": by}, {"min": low, "max": low + by}]))
            case "clip":
                if a.dtype.kind == "b":
                    return None
                done[name], of = np.clip(a, 0, 5).astype(a.dtype), of.clip(name, 0, 5)
            case "log1p":
                if not (~(wide <= -1)).all():
                    return None
                done[name], of = np.log1p(wide).astype(float_of(a)), of.log1p(name)
            case "fill_nan":
                if not is_float(a):
                    return None
                done[name], of = np.where(np.isnan(a), a.dtype.type(2.5), a), of.fill_nan(name, 2.5)
            case "bucketize":
                if np.isnan(wide).any():
                    return None
                edges, right = sorted({r.uniform(-9, 9) for _ in range(r.randint(1, 9))} | {0.0}), r.random() < 0.5
                done[name] = np.searchsorted(edges, wide, side="right" if right else "left").astype("int64")
                of = of.bucketize(name, edges, right=right)
            case "hash_buckets":
                name = r.choice([n for n in table if table[n].dtype.kind in "iuU"] or [None])
                if name is None or (table[name].dtype.kind == "U" and table[name].ndim > 1):
                    return None
                seed, buckets = r.choice([0, 7]), r.choice([1, 10, 2**40])
                texts = [v.encode() if isinstance(v, str) else (v % 2**64).to_bytes(8, "little") for v in table[name].ravel().tolist()]
                done[name] = np.array([xxh64(t, seed) % buckets for t in texts], "int64").reshape(table[name].shape)
                of = of.hash_buckets(name, buckets, seed=seed or None)
            case "one_hot":
                if a.ndim > 2:
                    return None
                done[name], of = np.eye(10, dtype="float32")[np.clip(a, 0, 9).astype("int64")] if a.dtype.kind in "iu" else None, of
                if done[name] is None:
                    return None
                of = of.clip(name, 0, 9).one_hot(name, 10)
            case "concat":
                names = [n for n in table if table[n].ndim < 3 and table[n].dtype.kind != "U" and table[n].dtype != "float64"]
                names = r.sample(names, min(len(names), 3))
                if not names:
                    return None
                joined = np.column_stack([table[n].astype("float32") for n in names])
                done = {n: v for n, v in table.items() if n not in names} | {f"{names[0]}x": joined}
                of = of.concat(names, to=f"{names[0]}x")
            case "lists":
                if a.ndim != 2:
                    return None
                mean = [float(i) for i in range(a.shape[1])]
                done[name], of = ((wide - mean) / 2).astype(float_of(a)), of.scale(name, mean=mean, std=2)
    return of, done


def steps_of(r, of, table, count):
    state = r.getstate()
    while count:
        count -= 1
        of, table = some_step(r, of, table) or (of, table)
    return state, of, table


def same(got, want, name):
    if want.dtype.kind == "U":
        assert list(got) == want.tolist(), name
        return
    assert got.dtype == want.dtype, name
    assert got.shape == want.shape, name
    if want.dtype.kind == "f":  # the last bit of a logarithm is a library's own
        rtol = {2: 2e-3, 4: 3e-7, 8: 1e-14}[want.dtype.itemsize]
        np.testing.assert_allclose(got, want, rtol=rtol, atol=0, err_msg=name)
    else:
        np.testing.assert_array_equal(got, want, err_msg=name)


@pytest.mark.parametrize("seed", range(cases(12, 400)))
def test_steps_are_those_of_numpy(seed):
    r = random.Random(seed)
    rows = r.choice([1, 60, 300])
    table = {f"c{i}": numbers(r, r.choice(DTYPES), rows) for i in range(r.randint(1, 4))}
    table["text"] = np.array([r.choice(WORDS) for _ in range(rows)])
    table["fixed"] = np.array([[r.uniform(-9, 9) for _ in range(3)] for _ in range(rows)], "float32")
    arrays = {n: pa.FixedSizeListArray.from_arrays(pa.array(a.ravel()), 3) if a.ndim > 1 else pa.array(a) for n, a in table.items()}
    pq.write_table(pa.table(arrays), "table.parquet", row_group_size=r.choice([7, 100]))

    read = hr.read("table.parquet", fields=list(table))
    size, count = r.choice([1, 7, 64, 1000]), r.randint(1, 6)
    state, before, want = steps_of(r, read, table, count)
    r.setstate(state)
    _, after, _ = steps_of(r, read.batch(size), table, count)
    before = before.batch(size)

    # on_error="replace" has each row be a sample.
    with before.loader(epochs=1) as a, before.loader(epochs=1, on_error="replace") as b, after.loader(epochs=1) as c:
        at = 0
        for by_column, by_row, of_batch in zip(a, b, c, strict=True):
            n = len(by_column["key"])
            for name, column in want.items():
                same(by_column[name], column[at : at + n], name)
                for other in (by_row[name], of_batch[name]):
                    if isinstance(other, np.ndarray):
                        assert other.dtype == by_column[name].dtype
                        assert other.tobytes() == by_column[name].tobytes(), name
                    else:
                        assert list(other) == list(by_column[name]), name
            at += n
        assert at == rows


def test_ragged_columns_and_lists_of_text():
    lists = [[1, -2, 300], [], [7]]
    words = [["a", "b"], [], ["c"]]
    pq.write_table(pa.table({"n": pa.array(lists, pa.list_(pa.int32())), "words": words}), "ragged.parquet")
    read = hr.read("ragged.parquet", fields=["n", "words"])
    of = read.clip("n", 0, 200).cast("n", "uint8").bucketize("n", [1, 100]).batch(2, ragged=["n"])
    for options in ({}, {"on_error": "replace"}):
        with of.loader(epochs=1, **options) as loader:
            got = [row.tolist() for batch in loader for row in batch["n"]]
        assert got == [[0, 0, 2], [], [1]]
    hot = read.clip("n", 0, 2).one_hot("n", 3).batch(3, ragged=["n"])
    with hot.loader(epochs=1) as loader:
        rows = next(iter(loader))["n"]
    assert [row.shape for row in rows] == [(3, 3), (0, 3), (1, 3)]
    assert rows[0].argmax(1).tolist() == [1, 0, 2]
    hashed = read.hash_buckets("words", 1000).batch(3, ragged=["n", "words"])
    with hashed.loader(epochs=1) as loader:
        got = [row.tolist() for row in next(iter(loader))["words"]]
    assert got == [[xxh64(w.encode(), 0) % 1000 for w in row] for row in words]


def test_fields_that_are_renamed_copied_and_dropped_on_the_way():
    pq.write_table(pa.table({"age": [20.0, 30.0, 41.0], "n": [1, 2, 3]}), "t.parquet")
    of = (
        hr.read("t.parquet", fields=["age", "n"])
        .copy("age", to=["bucket", "raw"])
        .bucketize("bucket", [25, 40])
        .rename(age="a", bucket="age")
    )
    of = of.scale("a", mean=30, std=10).copy("a", to=["again"]).drop("n").batch(3)
    for options in ({}, {"on_error": "replace"}):
        with of.loader(epochs=1, **options) as loader:
            batch = next(iter(loader))
            assert batch["age"].tolist() == [0, 1, 2]
            assert batch["raw"].tolist() == [20.0, 30.0, 41.0]
            assert batch["a"].tolist() == batch["again"].tolist() == [-1.0, 0.0, 1.1]
            assert "n" not in batch


BAD = {
    "cast": (lambda p: p.cast("x", "uint8"), 'the field "x" becomes 300, which does not fit uint8'),
    "whole": (lambda p: p.cast("n", "uint8"), 'the field "n" is 300, which does not fit uint8'),
    "nan": (lambda p: p.cast("nan", "int32"), 'the field "nan" is NaN, which int32 does not have: put fill_nan before this step'),
    "bucketize": (lambda p: p.bucketize("nan", [0]), 'the field "nan" is NaN, which is in no bucket: put fill_nan before bucketize'),
    "log1p": (lambda p: p.log1p("low"), 'the field "low" is -1: log1p needs numbers above -1; put clip before it'),
    "one_hot": (lambda p: p.one_hot("n", 4), 'the field "n" is 300: one_hot has the classes 0 to 3'),
    "scale": (lambda p: p.cast("x", "float16").scale("x", mean=0, std=0.001), 'the field "x" becomes 300000, which does not fit float16'),
    "concat": (lambda p: p.concat(["low", "n"], to="m", dtype="int8"), 'the field "n" is 300, which does not fit int8'),
}


@pytest.mark.parametrize("step", BAD)
def test_bad_values_are_named(step):
    """By columns, row by row and in a batch: the file, the row, the field, the value, the step, and what to do."""
    change, message = BAD[step]
    good = {"x": 1.0, "n": 1, "nan": 1.0, "low": 1.0}
    bad = {"x": 300.0, "n": 300, "nan": float("nan"), "low": -1.0}
    pq.write_table(pa.Table.from_pylist([good] * 5 + [bad] + [good] * 4), "bad.parquet")
    read = hr.read("bad.parquet", fields=list(good))
    for options in ({}, {"order": "completion"}):  # by columns, and row by row
        with pytest.raises(hr.errors.SampleError) as info, change(read).batch(8).loader(epochs=1, **options) as loader:
            list(loader)
        assert message in str(info.value)
        assert "bad.parquet[5]" in str(info.value)
        assert f"in {step if step not in ('whole', 'nan') else 'cast'}" in str(info.value)
    with pytest.raises(hr.errors.SampleError, match="of row 5 ") as info, change(read.batch(8)).loader(epochs=1) as loader:
        list(loader)
    assert message.replace('" ', '" of row 5 ', 1) in str(info.value)
    with change(read).batch(8).loader(epochs=1, on_error="skip") as loader:
        assert sum(len(batch["key"]) for batch in loader) == 9


def test_rows_that_differ_in_a_batch_are_refused():
    pq.write_table(pa.table({"a": [1.0, 2.0, 3.0]}), "t.parquet")
    of = hr.read("t.parquet", fields=["a"]).batch(3).map(shorten, fields="a", to=["a", "b"], where="here")
    with pytest.raises(hr.errors.SampleError, match=r'the field "b" has 2 rows, and those before it have 3'):
        with of.concat(["a", "b"], to="x").loader(epochs=1) as loader:
            list(loader)


def shorten(a):
    return a, a[:-1]
