"""Random small tables in every format: what a shard gives is what pyarrow, json, csv, tarfile and NumPy read, or what was written."""

import csv
import gzip
import io
import json
import math
import os
import random
import tarfile
import zipfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import headrace as hr
import record_files
from conftest import WHOLE

ROUNDS = 40 if WHOLE else 1  # of 25 tables in each form
TABLES = 25

NUMBERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "float32", "float64", "bool")
BAD = object()  # the fate of a null that is not a float


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HEADRACE_CACHE", str(tmp_path / "cache"))


def number(r, dtype):
    if dtype == "bool":
        return r.random() < 0.5
    if dtype.startswith("float"):
        return float(np.array(r.choice([0.0, -1.5, math.inf, r.uniform(-9, 9)]), dtype))
    limits = np.iinfo(dtype)
    return r.choice([int(limits.min), int(limits.max), 0, r.randint(int(limits.min), int(limits.max))])


def kind(dtype):
    return getattr(pa, dtype + "_" * (dtype == "bool"))()


def column(r, rows):
    """A random column: its Arrow array, and what each row is to be."""
    nulls = r.choice([0, 0, 0.3])
    forms = [
        "number",
        "number",
        "text",
        "bytes",
        "list",
        "list of lists",
        "fixed",
        "dictionary",
        "struct",
        "structs",
        "texts",
        "deep texts",
    ]
    form = r.choice(forms)
    dtype = r.choice(NUMBERS)
    holes = dtype.startswith("float") and r.random() < 0.5  # nulls in lists

    def one():
        return None if holes and r.random() < 0.3 else number(r, dtype)

    def nullable(make):
        return [None if r.random() < nulls else make() for _ in range(rows)]

    def filled(v):
        if isinstance(v, list):
            return np.array(
                [[math.nan if e is None else e for e in x] if isinstance(x, list) else math.nan if x is None else x for x in v], dtype
            )
        return v

    bad = [BAD if v is None else v for v in ()]
    if form in ("number", "dictionary"):
        values = nullable(lambda: number(r, dtype))
        array = pa.array(values, kind(dtype))
        if form == "dictionary" and dtype not in ("bool", "float16"):
            array = array.dictionary_encode()
        lost = math.nan if dtype.startswith("float") else BAD
        return "", array, [lost if v is None else v for v in values]
    if form == "text":
        values = nullable(lambda: r.choice(["", "a", "ümlaut", "longer than a view holds " * r.randint(1, 9)]))
        array = pa.array(values, r.choice([pa.string(), pa.large_string(), pa.string_view()]))
    elif "texts" in form:
        gaps = r.choice([0, 0.1])

        def texts(deep):
            one = (lambda: texts(deep - 1)) if deep else (lambda: r.choice(["", "a", "ümlaut", "one of more " * r.randint(1, 9)]))
            return [None if r.random() < gaps else one() for _ in range(r.choice([0, 1, 2, 9]))]

        deep = form == "deep texts"
        values = nullable(lambda: texts(deep))
        array = pa.array(values, r.choice([pa.list_, pa.large_list])(r.choice([pa.string(), pa.large_string()])) if not deep else
            pa.list_(r.choice([pa.list_, pa.large_list])(pa.string())))  # fmt: skip
        return "", array, [BAD if v is None else without_nulls(v, deep) for v in values]
    elif form == "bytes":
        values = nullable(lambda: r.randbytes(r.choice([0, 1, 4, 300])))
        array = pa.array(values, r.choice([pa.binary(), pa.large_binary(), pa.binary_view()]))
    elif form == "list":
        values = nullable(lambda: [one() for _ in range(r.choice([0, 1, 2, 30]))])
        array = pa.array(values, r.choice([pa.list_, pa.large_list])(kind(dtype)))
    elif form == "list of lists":
        width = r.randint(1, 5)
        values = nullable(lambda: [[one() for _ in range(width)] for _ in range(r.choice([0, 1, 3]))])
        array = pa.array(values, pa.list_(pa.list_(kind(dtype), r.choice([-1, width]))))
        values = [v if v is None else np.array(filled(v), dtype).reshape(-1, width) for v in values]
    elif form == "fixed":
        width = r.randint(1, 5)
        values = nullable(lambda: [one() for _ in range(width)])
        array = pa.array(values, pa.list_(kind(dtype), width))
    elif form == "struct":
        values = nullable(lambda: {"in": {"x": r.choice([None, "t"]), "y": 1}})
        array = pa.array(values, pa.struct([("in", pa.struct([("x", pa.string()), ("y", pa.int8())]))]))
        values = [None if v is None else v["in"]["x"] for v in values]
        return ".in.x", array, [BAD if v is None else v for v in values]
    else:
        values = nullable(lambda: [{"x": one(), "t": "t"} for _ in range(r.choice([0, 1, 4]))])
        array = pa.array(values, pa.list_(pa.struct([("x", kind(dtype)), ("t", pa.string())])))
        values = [v if v is None else [e["x"] for e in v] for v in values]
        return ".x", array, [BAD if v is None else filled(v) for v in values]
    return "", array, [BAD if v is None else filled(v) for v in values] + bad


def without_nulls(texts, deep):
    return [without_nulls(t or [], False) if deep else t or "" for t in texts]


def same(got, want):
    if isinstance(want, np.ndarray):
        return isinstance(got, np.ndarray) and got.dtype == want.dtype and (
            np.array_equal(got, want, equal_nan=want.dtype.kind == "f") or got.size == want.size == 0
        )  # fmt: skip
    if isinstance(want, float):
        return isinstance(got, float) and (got == want or (math.isnan(got) and math.isnan(want)))
    if isinstance(want, bytes):
        return bytes(got) == want
    return type(got) is type(want) and got == want


def check(path, fields, want):
    """Reads each field by itself, and compares rows, the lost ones too."""
    for name, rows in want.items():
        kept = [(i, v) for i, v in enumerate(rows) if v is not BAD]
        with hr.read(path, fields={"v": fields[name]}).loader(epochs=1, on_error="skip", max_errors=10_000) as loader:
            got = [s["v"] for s in loader]
            lost = [str(e) for e in loader.errors]
        assert len(got) == len(kept), (path, name, fields[name], lost[:2])
        for v, (i, w) in zip(got, kept, strict=True):
            assert same(v, w), (path, name, fields[name], i, v, w)
        assert len(lost) == min(len(rows) - len(kept), len(lost) or 99)
        assert all("no value (null)" in e for e in lost), lost


def seeds(form):
    return [int(os.environ.get("HEADRACE_SEED", "0")) * 1000 + i for i in range(ROUNDS)] if form else []


def tables(r):
    rows = r.choice([1, 2, 7, 40])
    columns, fields, want = {}, {}, {}
    for k in range(r.randint(2, 4)):
        below, array, values = column(r, rows)
        columns[f"c{k}"], fields[f"c{k}"], want[f"c{k}"] = array, f"c{k}{below}", values
    return rows, pa.table(columns), fields, want


@pytest.mark.parametrize("seed", seeds("parquet"))
def test_parquet(seed):
    r = random.Random(seed)
    for _ in range(TABLES if WHOLE else 3):
        _, table, fields, want = tables(r)
        codec = r.choice(["none", "snappy", "gzip", "zstd", "brotli"])
        pq.write_table(table, "a.parquet", compression=codec, row_group_size=r.choice([1, 3, 99]),
            data_page_version=r.choice(["1.0", "2.0"]), use_dictionary=r.random() < 0.5, data_page_size=r.choice([1, 64, 1 << 20]),
            write_batch_size=r.choice([1, 5, 1024]), store_schema=r.random() < 0.5)  # fmt: skip
        check("a.parquet", fields, want)


@pytest.mark.parametrize("seed", seeds("arrow"))
def test_arrow(seed):
    r = random.Random(seed)
    for _ in range(TABLES if WHOLE else 3):
        rows, table, fields, want = tables(r)
        options = pa.ipc.IpcWriteOptions(compression=r.choice([None, "lz4", "zstd"]), emit_dictionary_deltas=r.random() < 0.5)
        new, unify = r.choice([(pa.ipc.new_file, True), (pa.ipc.new_stream, False)])
        begin = r.randint(0, rows - 1)
        with pa.OSFile("a.arrow", "wb") as f, new(f, table.schema, options=options) as w:
            for batch in (table.unify_dictionaries() if unify else table).slice(begin).to_batches(max_chunksize=r.choice([1, 3, 99])):
                w.write_batch(batch)
        check("a.arrow", fields, {k: v[begin:] for k, v in want.items()})


def plain(r, first):
    """A random value of JSON that is of the type of the first, and what it is to be."""
    make = {
        "int": lambda: r.randint(-(2**63), 2**63 - 1),
        "float": lambda: r.choice([0.5, -1e300, 1e-7, r.random()]),
        "bool": lambda: r.random() < 0.5,
        "text": lambda: r.choice(["", "a", 'q"\\', "ümlaut 😀", "\u2028\x7f", "line\nbreak"]),
        "list": lambda: [r.randint(-9, 9) for _ in range(r.randint(1, 4))],
        "boxes": lambda: [[r.random() for _ in range(4)] for _ in range(r.randint(1, 3))],
        "texts": lambda: [make["text"]() for _ in range(r.randint(1, 3))],
    }
    v = make[first]()
    if first == "texts":
        return v, v
    return v, np.array(v, {"list": "int64", "boxes": "float64"}[first]) if isinstance(v, list) else v


@pytest.mark.parametrize("seed", seeds("lines"))
def test_json(seed):
    """In lines, packed or not, in tar, in zip, and in a column of Parquet."""
    r = random.Random(seed)
    for _ in range(TABLES if WHOLE else 2):
        rows = r.choice([1, 3, 20])
        kinds = {f"f{k}": r.choice(["int", "float", "bool", "text", "list", "boxes", "texts"]) for k in range(3)}
        made = [{k: plain(r, kind) for k, kind in kinds.items()} for _ in range(rows)]
        objects = [{"deep": {k: v for k, (v, _) in row.items()}} for row in made]
        want = {k: [row[k][1] for row in made] for k in kinds}
        for i in range(1, rows):
            for k, kind in kinds.items():
                if r.random() < 0.1:
                    objects[i]["deep"][k] = None
                    want[k][i] = math.nan if kind == "float" else BAD
        lines = [json.dumps(o, ensure_ascii=r.random() < 0.5).encode() for o in objects]
        ends = r.choice([b"\n", b"\r\n", b"\n\n"])
        with open("a.jsonl", "wb") as f:
            f.write(ends.join(lines))
        with open("a.json.gz", "wb") as f:
            cut = r.randint(0, rows)
            f.write(gzip.compress(b"".join(x + b"\n" for x in lines[:cut])) + gzip.compress(b"".join(x + b"\n" for x in lines[cut:])))
        for path in ("a.jsonl", "a.json.gz"):
            check(path, {k: f"deep.{k}" for k in kinds}, want)
        with (
            tarfile.open("a.tar", "w", format=r.choice([tarfile.PAX_FORMAT, tarfile.GNU_FORMAT, tarfile.USTAR_FORMAT])) as t,
            zipfile.ZipFile("a.zip", "w") as z,
        ):
            for i, x in enumerate(lines):
                info = tarfile.TarInfo(f"{i:03}.json")
                info.size = len(x)
                t.addfile(info, io.BytesIO(x))
                z.writestr(zipfile.ZipInfo(f"{i:03}.json"), x, r.choice([zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED]))
        pq.write_table(pa.table({"json": [x.decode() for x in lines]}), "j.parquet")
        for path in ("a.tar", "a.zip", "j.parquet"):
            check(path, {k: f"json.deep.{k}" for k in kinds}, want)


@pytest.mark.parametrize("seed", seeds("csv"))
def test_csv(seed):
    r = random.Random(seed)
    for _ in range(TABLES if WHOLE else 3):
        rows, tab = r.choice([1, 3, 20]), r.random() < 0.5
        kinds = [r.choice(["int", "float", "text"]) for _ in range(3)]
        made = [[plain(r, kind)[0] for kind in kinds] for _ in range(rows)]
        for row in made[1:]:
            for k in range(3):
                row[k] = "" if r.random() < 0.1 else row[k]
        path = "a.tsv" if tab else "a.csv"
        with open(path, "w", newline="", encoding="utf-8") as f:
            writer = csv.writer(
                f,
                delimiter="\t" if tab else ",",
                lineterminator=r.choice(["\n", "\r\n"]),
                quoting=r.choice([csv.QUOTE_MINIMAL, csv.QUOTE_ALL]),
            )
            writer.writerows([["c0", "c1", "c2"], *made])
        lost = {"int": BAD, "float": math.nan, "text": ""}
        want = {f"c{k}": [lost[kind] if row[k] == "" else row[k] for row in made] for k, kind in enumerate(kinds)}
        check(path, {k: (k, {"int": "int64", "float": "float64", "text": str}[kinds[int(k[1])]]) for k in want}, want)


@pytest.mark.parametrize("seed", seeds("npz"))
def test_arrays(seed):
    r = random.Random(seed)
    for _ in range(TABLES if WHOLE else 3):
        rows = r.choice([1, 3, 20])
        arrays = {}
        for k in range(3):
            dtype, shape = r.choice(NUMBERS), [r.randint(1, 3) for _ in range(r.choice([0, 0, 1, 2]))]
            size = int(np.prod([rows, *shape]))
            arrays[f"a{k}"] = np.array([number(r, dtype) for _ in range(size)], dtype).reshape(rows, *shape)
        r.choice([np.savez, np.savez_compressed])("a.npz", **arrays)
        want = {k: [v if v.ndim else v.item() for v in map(np.asarray, a)] for k, a in arrays.items()}
        check("a.npz", {k: k for k in arrays}, want)
        np.save("a.npy", arrays["a0"])
        with hr.read("a.npy").loader(epochs=1) as loader:
            (name,) = [k for k in loader.schema if k != "key"]
            assert all(same(s[name], w) for s, w in zip(loader, want["a0"], strict=True))


def words(r):
    return r.choice(["", "a", "ümlaut 😀", "x" * r.randint(1, 300), "line\nbreak"])


def blob(r):
    return r.randbytes(r.choice([0, 1, 300]))


def array(r, dtype, axes):
    shape = [r.choice([1, 2, 3, 0]) for _ in range(axes)]
    return np.array([number(r, dtype) for _ in range(math.prod(shape))], dtype).reshape(shape)


def of_records(r, rows, kinds):
    """Random columns of records: how each is written, what each row has, how it is read, and what each row is to be."""
    how, written, fields, want = {}, [{} for _ in range(rows)], {}, {}
    for k in range(r.randint(1, 5)):
        how[f"f{k}"], make, as_type, of = r.choice(kinds)(r)
        values = [make() for _ in range(rows)]
        for row, v in zip(written, values, strict=True):
            row[f"f{k}"] = v
        fields[f"f{k}"] = f"f{k}" if as_type is None else (f"f{k}", as_type)
        want[f"f{k}"] = [of(v) for v in values]
    return how, written, fields, want


def feature(make, as_type=None, of=lambda v: v[0]):
    return lambda r: (None, lambda: make(r), as_type, of)


def count(r):
    return r.choice([0, 1, 2, 30])


def several(make):
    return lambda r: [make(r) for _ in range(count(r))]


def numbers(dtype, many=lambda r: 1, of="int64"):
    return lambda r: np.array([number(r, dtype) for _ in range(many(r))], of)


FEATURES = [
    feature(numbers("int64"), None, lambda v: int(v[0])),
    feature(numbers("int8"), "int8", lambda v: int(v[0])),
    feature(numbers("float32", of="float32"), None, lambda v: float(v[0])),
    feature(numbers("float32", of="float32"), "float64", lambda v: float(v[0])),
    feature(lambda r: [blob(r)]),
    feature(lambda r: [words(r).encode()], str, lambda v: v[0].decode()),
    feature(several(lambda r: words(r).encode()), (str, (None,)), lambda v: [b.decode() for b in v]),
    feature(numbers("int64", count), ("int64", (None,)), lambda v: v),
    feature(numbers("float32", count, "float32"), ("float32", (None,)), lambda v: v),
    feature(numbers("float32", lambda r: 4 * r.randint(1, 3), "float32"), ("float32", (None, 4)), lambda v: v.reshape(-1, 4)),
    feature(lambda r: [array(r, "int16", 1).tobytes()], ("int16", (None,)), lambda v: np.frombuffer(v[0], "int16")),
]


@pytest.mark.parametrize("seed", seeds("tfrecord"))
def test_tfrecord(seed):
    r = random.Random(seed)
    for _ in range(TABLES if WHOLE else 3):
        _, written, fields, want = of_records(r, r.choice([1, 3, 20]), FEATURES)
        records = []
        for row in written:
            some = {k: v if len(v) or r.random() < 0.5 else None for k, v in row.items()}  # an empty list, or none
            some = {k: v for k, v in some.items() if v is not None or r.random() < 0.5}  # or no feature
            records.append(record_files.example(some, packed=r.random() < 0.8))
        data, name = record_files.tfrecord(records), r.choice(["a.tfrecord", "a.tfrecord.gz"])
        with open(name, "wb") as f:
            f.write(gzip.compress(data) if name.endswith("gz") else data)
        check(name, fields, want)


def stored(encoding, make, of=lambda v: v):
    return lambda r: (encoding, lambda: make(r), None, of)


def arrays_of(name, dtypes, axes):
    """A column of arrays that have one dtype, and one number of axes: that of the first says what they are."""

    def column(r):
        dtype, n = r.choice(dtypes), r.choice(axes)
        return name(dtype), lambda: array(r, dtype, n), None, lambda v: v if v.ndim else v.item()

    return column


def fixed_arrays(r):
    dtype, shape = r.choice(list(record_files.NUMPY_CODES)), [r.randint(1, 3) for _ in range(r.randint(1, 3))]

    def make():
        return np.array([number(r, dtype) for _ in range(math.prod(shape))], dtype).reshape(shape)

    return f"ndarray:{dtype}:{','.join(map(str, shape))}", make, None, lambda v: v


ENCODINGS = [
    stored("str", words),
    stored("bytes", blob),
    stored("int", lambda r: number(r, "int64")),
    stored("json", lambda r: json.dumps({"a": [words(r), 1.5]}).encode(), bytes.decode),
    stored("str_int", lambda r: number(r, "int64")),
    stored("str_float", lambda r: r.uniform(-1e9, 1e9)),
    lambda r: (kind := r.choice(list(record_files.NUMPY_CODES)), lambda: number(r, kind), None, lambda v: v),
    arrays_of(lambda dtype: "ndarray", list(record_files.NUMPY_CODES), [1, 2, 3]),
    arrays_of(lambda dtype: f"ndarray:{dtype}", list(record_files.NUMPY_CODES), [1, 2, 3]),
    fixed_arrays,
]


@pytest.mark.parametrize("seed", seeds("mds"))
def test_mds(seed):
    r = random.Random(seed)
    for i in range(TABLES if WHOLE else 3):
        how, written, fields, want = of_records(r, r.choice([1, 3, 20]), ENCODINGS)
        record_files.mds(f"mds-{i}", how, written, shards=r.randint(1, len(written)))
        check(f"mds-{i}", fields, want)


LEAVES = [
    stored("str", words),
    stored("bytes", blob),
    stored("int", lambda r: number(r, "int64")),
    stored("float", lambda r: number(r, "float64")),
    stored("bool", lambda r: number(r, "bool")),
    arrays_of(lambda dtype: "numpy", record_files.LITDATA_NUMPY, [2, 3]),
    arrays_of(lambda dtype: "tensor", list(record_files.TORCH_CODES), [0, 2, 3]),
    arrays_of(lambda dtype: f"no_header_numpy:{record_files.LITDATA_NUMPY.index(dtype)}", record_files.LITDATA_NUMPY, [1]),
    arrays_of(lambda dtype: f"no_header_tensor:{record_files.TORCH_CODES[dtype]}", list(record_files.TORCH_CODES), [1]),
]


@pytest.mark.parametrize("seed", seeds("litdata"))
def test_litdata(seed):
    r = random.Random(seed)
    for i in range(TABLES if WHOLE else 3):
        how, written, fields, want = of_records(r, r.choice([1, 3, 20]), LEAVES)
        record_files.litdata(f"litdata-{i}", how, written, chunks=r.randint(1, len(written)))
        check(f"litdata-{i}", fields, want)


def test_rows_of_arrow_in_litdata():
    """What LitData writes of dicts of simple values alone."""
    record_files.litdata("rows", {"a": "int"}, [{"a": 1}])
    data = Path("rows/chunk-0-0.bin").read_bytes() + b"LDARW01\0"
    Path("rows/chunk-0-0.bin").write_bytes(data)
    index = json.loads(Path("rows/index.json").read_text())
    index["chunks"][0]["chunk_bytes"] = len(data)
    Path("rows/index.json").write_text(json.dumps(index))
    with pytest.raises(hr.errors.SourceError, match=r"rows of Arrow.*hr\.source\(litdata\.StreamingDataset.*Parquet"):
        hr.read("rows").loader()
