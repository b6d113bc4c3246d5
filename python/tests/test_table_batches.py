"""Batches that are filled by columns are those that are filled row by row, and what pyarrow reads."""

import random

import numpy as np
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
import pytest

import headrace as hr
from conftest import cases

pytestmark = pytest.mark.usefixtures("one_engine")

NUMBERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "float32", "float64", "bool")


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HEADRACE_CACHE", str(tmp_path / "cache"))


def numbers(r, dtype, rows):
    if dtype == "bool":
        return [r.random() < 0.5 for _ in range(rows)]
    if dtype.startswith("float"):
        nulls = r.choice([0, 0.3])
        values = [r.choice([0.0, -1.5, np.inf, r.uniform(-9, 9)]) for _ in range(rows)]
        return [None if r.random() < nulls else float(np.array(v, dtype)) for v in values]
    limits = np.iinfo(dtype)
    few = r.random() < 0.3  # so that runs are packed into few bits, or none
    return [7 if few else r.choice([int(limits.min), int(limits.max), r.randint(int(limits.min), int(limits.max))]) for _ in range(rows)]


def write(path, table, r):
    if path.endswith(".parquet"):
        pq.write_table(table, path, row_group_size=r.choice([1, 7, 100, 1000]), compression=r.choice(["snappy", "zstd", "none"]))
    else:
        pa.feather.write_feather(table, path, compression=r.choice(["lz4", "zstd", "uncompressed"]), chunksize=r.choice([3, 70]))


def tables(r, rows_of, suffix):
    """Files with the same columns, and all rows of them."""
    columns = {f"c{i}": r.choice(NUMBERS) for i in range(r.randint(1, 5))}
    lists = {"texts": pa.string(), "bytes": pa.binary(), "ragged": pa.list_(pa.int32()), "fixed": pa.list_(pa.float32(), 3)}
    chosen = {name: t for name, t in lists.items() if r.random() < 0.4}
    names, all_of = [], []
    for number, rows in enumerate(rows_of):
        of = {name: pa.array(numbers(r, dtype, rows), getattr(pa, dtype + "_" * (dtype == "bool"))()) for name, dtype in columns.items()}
        make = {
            "texts": lambda: r.choice(["", "a", "ümlaut", "long " * r.randint(1, 30)]),
            "bytes": lambda: r.randbytes(r.choice([0, 1, 300])),
            "ragged": lambda: [r.randint(-9, 9) for _ in range(r.choice([0, 1, 20]))],
            "fixed": lambda: [r.random() for _ in range(3)],
        }
        of |= {name: pa.array([make[name]() for _ in range(rows)], t) for name, t in chosen.items()}
        names.append(f"{number}{suffix}")
        write(names[-1], pa.table(of), r)
        all_of.append(pa.table(of))
    ragged = [name for name in chosen if name == "ragged"]
    fields = [*columns, *(name for name in chosen if name != "bytes")]
    return names, fields, ragged, pa.concat_tables(all_of)


def equal(got, want, name):
    got, want = got[name], want[name]
    if not isinstance(got, np.ndarray):
        assert len(got) == len(want)
        assert all(np.array_equal(a, b) for a, b in zip(got, want, strict=True)), name
        return
    assert got.dtype == want.dtype
    assert got.tobytes() == want.tobytes(), name


@pytest.mark.parametrize("seed", range(cases(10, 300)))
def test_batches_are_those_of_rows(seed):
    r = random.Random(seed)
    rows_of = [r.choice([0, 1, 64, 65, 300]) for _ in range(r.randint(1, 3))] + [r.randint(5, 200)]
    names, fields, ragged, table = tables(r, rows_of, r.choice([".parquet", ".arrow"]))
    size = r.choice([1, 3, 64, 100])
    of = hr.read(names, fields=fields)
    if r.random() < 0.7:
        of = of.shuffle(seed=seed, **r.choice([{}, {"window": 100}]))
    if r.random() < 0.3:
        of = of.rename({fields[0]: "renamed"})
        fields = ["renamed", *fields[1:]]
    of = of.batch(size, drop_last=r.random() < 0.3, ragged=ragged)
    ranks = r.choice([{}, {"rank": 1, "world_size": 2}])

    # on_error="replace" has each row be a sample that may fail.
    with of.loader(epochs=2, **ranks) as whole, of.loader(epochs=2, on_error="replace", **ranks) as by_row:
        state, at = None, r.randrange(4)
        for number, (a, b) in enumerate(zip(whole, by_row, strict=True)):
            for name in (*fields, "key"):
                equal(a, b, name)
            if number == at:
                state = by_row.state_dict()
                assert {k: v for k, v in whole.state_dict().items() if k != "recipe"}["sources"] == state["sources"]
        assert whole.state_dict()["sources"] == by_row.state_dict()["sources"]

    # Without a shuffle it is what pyarrow reads.
    numeric = [name for name in table.column_names if name.startswith("c")]
    with hr.read(names, fields=numeric).batch(size).loader(epochs=1) as loader:
        at = 0
        for batch in loader:
            for name in numeric:
                want = table[name][at : at + len(batch[name])].to_numpy()
                assert np.array_equal(batch[name], want, equal_nan=want.dtype.kind == "f"), name
            at += len(batch["key"])
        assert at == len(table)


def total(a, b):
    assert a.shape == b.shape
    return a + b, float(len(a))


def failing(a):
    if 130.0 in a:
        raise ValueError("130 is bad")
    return a


def test_functions_on_batches_get_columns():
    """A function after batch is called once a batch, and no sample is made for it; states, keys and rows are those of samples."""
    rows = 300
    pq.write_table(pa.table({"a": np.arange(rows, dtype="float64"), "b": np.arange(rows) * 2.0}), "t.parquet", row_group_size=70)
    batches = hr.read("t.parquet", fields=["a", "b"]).shuffle(seed=3).batch(64)
    of = batches.map(total, fields=["a", "b"], to=["sum", "n"], where="here")
    with batches.loader(epochs=1) as loader:
        want = [(batch["a"], batch["b"], batch["key"]) for batch in loader]
    with of.loader(epochs=2) as loader:
        got, state = [], None
        for number, batch in enumerate(loader):
            got.append((batch["a"], batch["b"], batch["sum"], batch["key"]))
            assert batch["n"] == len(batch["a"])
            if number == 2:
                state = loader.state_dict()
        assert "read samples" not in [stage["name"] for stage in loader.stats()["stages"]]  # the stage of rows
    assert len(got) == len(want) == 5
    for (a, b, keys), (x, y, together, names) in zip(want, got, strict=True):
        assert x.tolist() == a.tolist()
        assert y.tolist() == b.tolist()
        assert together.tolist() == (a + b).tolist()
        assert list(names) == list(keys)
    with of.loader(epochs=1) as loader:
        loader.load_state_dict(state)
        assert [batch["a"].tolist() for batch in loader] == [a.tolist() for a, *_ in want[3:]]

    with of.drop("n").unbatch().batch(50).loader(epochs=1) as loader:
        rows_again = [(key, x) for batch in loader for key, x in zip(batch["key"], batch["sum"].tolist(), strict=True)]
    assert rows_again == [(key, 3 * a) for of_a, _, keys in want for key, a in zip(keys, of_a.tolist(), strict=True)]


def test_a_batch_of_columns_that_fails_is_lost_with_its_samples():
    pq.write_table(pa.table({"a": np.arange(200.0)}), "t.parquet")
    of = hr.read("t.parquet", fields=["a"]).batch(64)
    with pytest.raises(hr.errors.SampleError, match="130 is bad"), of.map(failing, fields="a").loader(epochs=1) as loader:
        list(loader)
    bad = of.map(failing, fields="a").failures(on_error="skip")
    with bad.loader(epochs=1) as loader:
        assert [len(batch["a"]) for batch in loader] == [64, 64, 8]
        assert len(loader.errors) == 64
