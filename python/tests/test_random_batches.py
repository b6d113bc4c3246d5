"""Random small tables in several files: batches in order, shuffled and in windows have the rows that pyarrow reads, each once."""

import csv
import json
import os
import random
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import headrace as hr
from conftest import WHOLE

ROUNDS = int(os.environ.get("HEADRACE_TABLES", "300" if WHOLE else "5"))  # tables in each form
SEED = int(os.environ.get("HEADRACE_SEED", "0"))

WHOLE_NUMBERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
FLOATS = ("float16", "float32", "float64")


pytestmark = pytest.mark.usefixtures("one_engine")


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HEADRACE_CACHE", str(tmp_path / "cache"))


class Column:
    """A random column: its Arrow array, how it is read, and what rows are then."""

    def __init__(self, r, name, rows, kind):
        self.ragged = False
        nulls = r.choice([0, 0, 0.05, 0.5])
        getattr(self, kind)(r, name, [r.random() < nulls for _ in range(rows)])

    def same(self, got, want):
        """Whether a row of a batch is that of the table."""
        if isinstance(want, np.ndarray):
            return got.dtype == want.dtype and got.shape == want.shape and got.tobytes() == want.tobytes()
        if isinstance(want, np.generic):
            return got.dtype == want.dtype and (got == want or (got != got and want != want))
        return type(got) is type(want) and got == want

    def whole(self, r, name, gone):
        dtype = r.choice(WHOLE_NUMBERS)
        limits = np.iinfo(dtype)
        lo, hi = r.choice([(limits.min, limits.max), (0, 1), (0, 100), (max(limits.min, -3), 3)])
        runs = r.choice([1, 1, 30])
        values = [None if g else v for g, v in zip(gone, _runs(r, runs, len(gone), lambda: r.randint(int(lo), int(hi))))]
        self.array = pa.array(values, getattr(pa, dtype)())
        to = r.choice([dtype, dtype, "int64" if dtype != "uint64" else dtype, "float64"])
        if to == "float64":
            self.field, fill = (name, to), np.nan
        else:
            fill = r.choice([0, 1, 100])
            self.field = (name, r.choice([None, to]) if to == dtype else to, fill)
        self.want = [np.array(fill if v is None else v).astype(to)[()] for v in values]

    def real(self, r, name, gone):
        dtype = r.choice(FLOATS)
        some = [0.0, -0.5, float("inf"), float("nan"), 1.5, 2.0]
        values = [None if g else float(np.array(r.choice([*some, r.uniform(-9, 9)]), dtype)) for g in gone]
        self.array = pa.array([v if v is None else np.array(v, dtype)[()] for v in values], getattr(pa, dtype)())
        fill = r.choice([None, None, -1.0])
        self.field = name if fill is None else (name, None, fill)
        self.want = [np.array((np.nan if fill is None else fill) if v is None else v, dtype)[()] for v in values]

    def boolean(self, r, name, gone):
        values = [None if g else r.random() < 0.5 for g in gone]
        self.array, self.field = pa.array(values, pa.bool_()), (name, None, False)
        self.want = [np.bool_(bool(v)) for v in values]

    def null(self, r, name, gone):
        self.array = pa.array([None if g else 1 for g in gone], pa.int8())
        self.field, self.want = (name, "is_null"), [np.bool_(g) for g in gone]

    def text(self, r, name, gone):
        some = ["", "a", "ümlaut 😀", "longer than a view holds " * r.randint(1, 9), 'q"\\', "line\nbreak"]
        values = _runs(r, r.choice([1, 10]), len(gone), lambda: r.choice([*some, str(r.random())]))
        values = [None if g else v for g, v in zip(gone, values)]
        kind = r.choice([pa.string(), pa.large_string(), pa.string_view(), pa.dictionary(pa.int32(), pa.string())])
        self.array, fill = pa.array(values, kind), r.choice(["", "none"])
        self.field, self.want = (name, None, fill), [fill if v is None else v for v in values]

    def codes(self, r, name, gone):
        names = ["b", "a", "ümlaut"]
        values = [None if g else r.choice(names) for g in gone]
        self.array = pa.array(values, pa.dictionary(pa.int8(), pa.string()))
        self.field, self.names, self.want = (name, "int16", -1), True, [np.int16(-1) if v is None else v for v in values]
        self.same = lambda got, want: got.dtype == np.int16 and (self.said[got] == want if isinstance(want, str) else got == want)

    def time(self, r, name, gone):
        unit = r.choice(["s", "ms", "us", "ns"])
        values = [None if g else r.randint(-(10**12), 10**12) for g in gone]
        kind = r.choice([pa.timestamp(unit) if unit != "s" else pa.timestamp("ms"), pa.duration(unit)])
        self.array = pa.array(values, pa.int64()).cast(kind)
        self.field, self.want = (name, None, 7), [np.int64(7 if v is None else v) for v in values]

    def decimal(self, r, name, gone):
        digits = r.choice([5, 17, 30])
        values = [None if g else Decimal(r.randint(-(10 ** min(digits, 17)) + 1, 10 ** min(digits, 17) - 1)).scaleb(-2) for g in gone]
        self.array = pa.array(values, pa.decimal128(digits, 2))
        if r.random() < 0.5:
            self.field, self.want = (name, None, "none"), ["none" if v is None else f"{v:f}" for v in values]
        else:
            self.field = (name, "int64", -1)
            self.want = [np.int64(-1 if v is None else int(v.scaleb(2))) for v in values]

    def fixed(self, r, name, gone):
        dtype, width = r.choice(["int32", "float32", "uint8"]), r.randint(1, 5)
        values = [[r.randint(0, 99) for _ in range(width)] for _ in gone]
        kind = getattr(pa, dtype)()
        if r.random() < 0.5:
            self.array, self.field = pa.array(values, pa.list_(kind, width)), name
        else:
            self.array, self.field = pa.array(values, pa.list_(kind)), (name, (dtype, (width,)))
        self.want = [np.array(v, dtype) for v in values]

    def lists(self, r, name, gone):
        dtype = r.choice(["int64", "int16", "float32"])
        values = [None if g else [r.randint(0, 99) for _ in range(r.choice([0, 1, 2, 30]))] for g in gone]
        self.array = pa.array(values, r.choice([pa.list_, pa.large_list])(getattr(pa, dtype)()))
        self.field, self.ragged, self.want = (name, None, []), True, [np.array(v or [], dtype) for v in values]

    def texts(self, r, name, gone):
        values = [None if g else [r.choice(["", "a", "ümlaut", "one of more " * 5]) for _ in range(r.choice([0, 1, 3]))] for g in gone]
        self.array = pa.array(values, pa.list_(pa.string()))
        self.field, self.want = (name, None, []), [v or [] for v in values]


def _runs(r, mean, n, make):
    """Values of which some come several times, one after the other."""
    values = []
    while len(values) < n:
        values += [make()] * r.randint(1, 2 * mean - 1)
    return values[:n]


ARROW = ("whole", "whole", "real", "boolean", "null", "text", "codes", "time", "decimal", "fixed", "lists", "texts")
KINDS = {"parquet": ARROW, "arrow": ARROW, "csv": ("whole", "real", "text"), "jsonl": ("whole", "real", "boolean", "text"), "npy": ()}


def write(r, form, name, table):
    """Write some rows."""
    if form == "parquet":
        codec = r.choice(["none", "snappy", "gzip", "zstd", "brotli"])
        pq.write_table(table, name, compression=codec, row_group_size=r.choice([1, 3, 20, 999]), data_page_version=r.choice(["1.0", "2.0"]),
            use_dictionary=r.random() < 0.5, data_page_size=r.choice([1, 64, 1 << 20]), write_batch_size=r.choice([1, 5, 1024]),
            write_page_index=r.random() < 0.5, write_page_checksum=r.random() < 0.3)  # fmt: skip
        assert pq.read_metadata(name).num_rows == len(table)
    elif form == "arrow":
        options = pa.ipc.IpcWriteOptions(compression=r.choice([None, "lz4", "zstd"]))
        with pa.OSFile(name, "wb") as f, pa.ipc.new_file(f, table.schema, options=options) as w:
            for batch in table.unify_dictionaries().to_batches(max_chunksize=r.choice([1, 3, 20, 999])):
                w.write_batch(batch)
    elif form == "csv":
        with open(name, "w", newline="", encoding="utf-8") as f:
            w = csv.writer(f, quoting=r.choice([csv.QUOTE_MINIMAL, csv.QUOTE_ALL]))
            w.writerows([table.column_names, *zip(*([_plain(v) for v in column.to_pylist()] for column in table.columns))])
    elif form == "jsonl":
        with open(name, "w", encoding="utf-8") as f:
            f.writelines(json.dumps(row, ensure_ascii=r.random() < 0.5) + "\n" for row in table.to_pylist())
    else:
        raise AssertionError(form)


def _plain(value):
    return "" if value is None else repr(float(value)) if isinstance(value, (float, np.floating)) else value


def tables(r, form):
    """Some files, how they are read, and what their rows are, by name."""
    rows = r.choice([1, 2, 40, 300, 1500])
    columns = {f"c{i}": Column(r, f"c{i}", rows, r.choice(KINDS[form])) for i in range(r.randint(1, 6))}
    for name, column in columns.items():
        column.said = None
        if form in ("csv", "jsonl"):  # which say no types
            _typed(form, name, column)
    table = pa.table({"n": pa.array(range(rows), pa.int64()), **{name: column.array for name, column in columns.items()}})
    cuts = sorted(r.choice([0, rows, r.randint(0, rows)]) for _ in range(r.choice([0, 0, 2])))
    files, at = {}, 0
    for i, end in enumerate([*cuts, rows]):
        if end > at or (form in ("parquet", "arrow") and rows > 1):
            files[f"{i}.{form}"] = (at, end)
            write(r, form, f"{i}.{form}", table.slice(at, end - at))
        at = end
    return files, columns, rows


def _typed(form, name, column):
    """A column of a format without types: what it is, is said."""
    of = column.want[0]
    kind = of.dtype.name if isinstance(of, np.generic) else str
    if form == "jsonl" and isinstance(kind, str) and kind.startswith("float"):  # JSON has no other numbers
        finite = [v if v is None or np.isfinite(v) else 0.25 for v in (None if v is None else float(v) for v in column.array.to_pylist())]
        column.array = pa.array(finite, pa.float64())
        column.want = [np.array(w if v is None else v, kind)[()] for v, w in zip(finite, column.want)]
    if form == "csv" and kind is str:  # empty text is null
        fill = column.field[2]
        column.want = [v or fill for v in column.want]
    name, _, *fill = (column.field, None) if isinstance(column.field, str) else column.field
    column.field = (name, kind, *fill)


@pytest.mark.parametrize("form", ["parquet", "arrow", "csv", "jsonl"])
@pytest.mark.parametrize("seed", range(SEED, SEED + ROUNDS))
def test_tables(form, seed):
    r = random.Random(f"{form} {seed}")
    files, columns, rows = tables(r, form)
    size = r.choice([1, 7, 64, 1000]) if rows < 100 else r.choice([50, 64, 1000])
    order = r.choice([{}, {"seed": seed}, {"seed": seed, "window": r.choice([2, 30, 1000])}])
    least = r.choice([None, None, r.randrange(rows)])
    fields = {"n": "n" if form != "csv" else ("n", "int64"), **{name: column.field for name, column in columns.items()}}
    of = hr.read(list(files), fields=fields, rows=None if least is None else f"n >= {least}")
    if order:
        of = of.shuffle(**order)
    ragged = [name for name, column in columns.items() if column.ragged]
    of = of.batch(size, ragged=ragged or None)

    numbers, state, at = [], None, r.randrange(-(-(rows - (least or 0)) // size))
    with of.loader(epochs=1) as loader:
        for column in columns.values():
            if hasattr(column, "names"):
                column.said = loader.schema[column.field[0]].names
        for step, batch in enumerate(loader):
            numbers.append(batch["n"].tolist())
            assert list(batch["key"]) == [_key(files, n) for n in numbers[-1]]
            for name, column in columns.items():
                for row, n in enumerate(numbers[-1]):
                    assert column.same(batch[name][row], column.want[n]), (name, column.field, n, batch[name][row], column.want[n])
            if step == at:
                state = loader.state_dict()
    every = [n for batch in numbers for n in batch]
    assert sorted(every) == list(range(least or 0, rows))
    assert order or every == sorted(every)
    assert all(len(batch) == size for batch in numbers[:-1])

    # Each row a sample of its own gives the same, and so does what is left of an epoch.
    with of.loader(epochs=1, on_error="replace") as loader:
        assert [batch["n"].tolist() for batch in loader] == numbers
    if len(numbers) <= at + 1:
        return
    with of.loader(epochs=1) as loader:
        loader.load_state_dict(state)
        assert [batch["n"].tolist() for batch in loader] == numbers[at + 1 :]


def _key(files, n):
    ((name, begin),) = [(name, begin) for name, (begin, end) in files.items() if begin <= n < end]
    return f"{name}[{n - begin}]"


@pytest.mark.parametrize("seed", range(SEED, SEED + ROUNDS))
def test_arrays(seed):
    r = random.Random(seed)
    rows, dtype = r.choice([1, 40, 700]), r.choice([*WHOLE_NUMBERS, *FLOATS, "bool"])
    shape = [r.randint(1, 3) for _ in range(r.choice([0, 1, 2]))]
    array = np.frombuffer(r.randbytes(rows * int(np.prod(shape)) * 8), dtype="uint8")[::8].astype(dtype).reshape(rows, *shape)
    np.save("a.npy", array)
    np.save("b.npy", array[: rows // 2])
    both = np.concatenate([array, array[: rows // 2]])
    order = r.choice([{}, {"seed": seed}, {"seed": seed, "window": r.choice([2, 30, 1000])}])
    of = hr.read(["a.npy", "b.npy"] if rows > 1 else ["a.npy"])
    with (of.shuffle(**order) if order else of).batch(r.choice([1, 7, 64])).loader(epochs=1) as loader:
        (name,) = [name for name in loader.schema if name != "key"]
        seen = []
        for batch in loader:
            rows_of = [int(key[6:-1]) + (rows if key[0] == "b" else 0) for key in batch["key"]]
            seen += rows_of
            assert batch[name].dtype == dtype
            assert np.array_equal(batch[name], both[rows_of], equal_nan=dtype.startswith("float"))
    assert sorted(seen) == list(range(len(both)))
    assert order or seen == sorted(seen)
