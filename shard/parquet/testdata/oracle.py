"""Writes Parquet files with pyarrow, and says what pyarrow reads from them."""

import base64
import datetime
import decimal
import io
import json
import math
import random
import struct

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq


LISTS = {
    "tokens": "int32",
    "l_i8": "int8",
    "l_u8": "uint8",
    "l_i16": "int16",
    "l_u16": "uint16",
    "l_u32": "uint32",
    "l_i64": "int64",
    "l_u64": "uint64",
    "l_f16": "float16",
    "l_f32": "float32",
    "l_f64": "float64",
    "l_bool": "bool",
}
TYPED = (
    LISTS
    | {"l_nested": "int64", "l_structs.a": "int64", "l_nan": "float32", "l_deep": "float64", "l_array": "float16"}
    | {"l_fixed": "float32", "l_struct.ids": "int64", "l_required": "int32"}
)


def lists(name, dtype, rows, r):
    """Lists of all lengths, of which some are empty and some are null."""

    def one(i):
        n = r.choice([0, 1, 2, 5, 40])
        if dtype == "bool":
            return [r.random() < 0.5 for _ in range(n)]
        if dtype.startswith("float"):
            return np.array([r.choice([r.random(), math.nan, -math.inf]) for _ in range(n)], dtype)
        low, high = int(np.iinfo(dtype).min), int(np.iinfo(dtype).max)
        return [r.choice([low, high, r.randint(low, high), 7]) for _ in range(n)]

    return pa.array(
        [None if i % 9 == 4 else one(i) for i in range(rows)], pa.list_(getattr(pa, dtype + "_" * (dtype == "bool"))())
    )


def table(args):
    rows, seed, largest = args["rows"], args.get("seed", 0), args.get("largest", 3000)
    r = random.Random(seed)
    words = [f"word number {i} " * (i % 7 + 1) for i in range(23)]

    def content(i):
        if i % 11 == 3:
            return None
        n = r.randrange(largest)
        half = r.randbytes(n // 2)  # what does not compress, and what does
        return half + b"abcdef" * (n // 12)

    images = [None if i % 13 == 5 else {"bytes": content(i), "path": f"images/{i:05}.jpg"} for i in range(rows)]
    floats = [None if i % 7 == 1 else r.random() for i in range(rows)]
    columns = {
        "image": pa.array(images, pa.struct([("bytes", pa.binary()), ("path", pa.string())])),
        "label": pa.array([r.randrange(-(2**40), 2**40) for _ in range(rows)], pa.int64()),
        "text": pa.array([None if i % 17 == 2 else r.choice(words) for i in range(rows)], pa.string()),
        "all": pa.array([b"same"] * rows, pa.binary()),
        "none": pa.array([None] * rows, pa.string()),
        "small": pa.array([r.randrange(-128, 128) for _ in range(rows)], pa.int8()),
        "u32": pa.array([r.randrange(2**32) for _ in range(rows)], pa.uint32()),
        "u64": pa.array([r.randrange(2**64) for _ in range(rows)], pa.uint64()),
        "flag": pa.array([r.random() < 0.5 for _ in range(rows)], pa.bool_()),
        "f64": pa.array(floats, pa.float64()),
        "f32": pa.array([r.random() for _ in range(rows)], pa.float32()),
        "f16": pa.array([i / 8 - 4 for i in range(rows)], pa.float16()),
        "day": pa.array([datetime.date(2020, 1, 1 + i % 28) for i in range(rows)], pa.date32()),
        "when": pa.array([1_600_000_000_000_000 + i for i in range(rows)], pa.timestamp("us")),
        "hash": pa.array([r.randbytes(16) for _ in range(rows)], pa.binary(16)),
        "tokens": pa.array([[i, i + 1] for i in range(rows)], pa.list_(pa.int32())),
        **{name: lists(name, dtype, rows, r) for name, dtype in LISTS.items() if name != "tokens"},
        "l_fixed": pa.array([[i / 3] * 4 for i in range(rows)], pa.list_(pa.float32(), 4)),
        "l_struct": pa.array(
            [{"ids": None if i % 6 == 1 else list(range(i % 4))} for i in range(rows)],
            pa.struct([("ids", pa.large_list(pa.int64()))]),
        ),
        "l_required": pa.array([[1] * (i % 3) for i in range(rows)], pa.list_(pa.field("item", pa.int32(), nullable=False))),
        "l_nested": pa.array(
            [None if i % 7 == 5 else [[i, -j] for j in range(i % 4)] for i in range(rows)], pa.list_(pa.list_(pa.int64()))
        ),
        "l_structs": pa.array([[{"a": j, "t": "x"} for j in range(i % 3)] for i in range(rows)]),
        "l_nan": pa.array([[r.choice([None, 0.5, i]) for _ in range(i % 5)] for i in range(rows)], pa.list_(pa.float32())),
        "l_deep": pa.array(
            [[[[None if r.random() < 0.3 else k / 4 for k in range(3)]] * 2] * (i % 3) for i in range(rows)],
            pa.list_(pa.list_(pa.list_(pa.float64()))),
        ),
        "l_array": pa.array(
            [None if i % 5 == 2 else [[i / 8] * 3, [1 / 2] * 3] for i in range(rows)], pa.list_(pa.list_(pa.float16(), 3), 2)
        ),
        "l_ragged": pa.array([[[1] * (j + 1) for j in range(3)] for i in range(rows)]),
        "l_null_in": pa.array([[[1], None] for i in range(rows)]),
        "l_map": pa.array([[("a", 1)] for i in range(rows)], pa.map_(pa.string(), pa.int32())),
        "l_null": pa.array([[i, None] if i == rows - 1 else [i] for i in range(rows)]),
        "l_texts": pa.array(
            [None if i % 7 == 3 else [None if i % 8 == 6 and j == 1 else word(r, j) for j in range(i % 5)] for i in range(rows)],
            pa.list_(pa.string()),
        ),
        "l_deep_texts": pa.array(
            [
                None if i % 7 == 4 else [None if i % 11 == 10 and j == 1 else inner(r, i, j) for j in range(i % 4)]
                for i in range(rows)
            ],
            pa.large_list(pa.list_(pa.large_string())),
        ),
        "l_blobs": pa.array([[b"a"] for i in range(rows)]),
        "l_deeper_texts": pa.array([[[["a"]]] for i in range(rows)]),
        "kept": pa.array([{"tags": ["a"], "url": f"https://x/{i}"} for i in range(rows)]),
        "money": pa.array([i for i in range(rows)], pa.decimal128(10, 2)),
        "cat": pa.array([None if i % 9 == 4 else words[i % 5] for i in range(rows)]).dictionary_encode(),
        "sparse": pa.array([None if i % 5 == 0 else i for i in range(rows)], pa.int32()),
    }
    if "columns" in args:
        columns = {name: columns[name] for name in args["columns"]}
    return pa.table(columns)


def word(r, j):
    return r.choice(["", "ümlaut", f"a text of a list {j}", "and then a longer one " * j])


def inner(r, i, j):
    """A list in a list, of which the first text may be null."""
    return [word(r, k) if k or i % 5 else None for k in range((i + j) % 3)]


NUMBERS = {
    "label": "DELTA_BINARY_PACKED",
    "u32": "DELTA_BINARY_PACKED",
    "u64": "DELTA_BINARY_PACKED",
    "small": "DELTA_BINARY_PACKED",
    "day": "DELTA_BINARY_PACKED",
    "flag": "RLE",
    "f64": "BYTE_STREAM_SPLIT",
    "f32": "BYTE_STREAM_SPLIT",
    "f16": "BYTE_STREAM_SPLIT",
    "hash": "DELTA_BYTE_ARRAY",
    "text": "DELTA_BYTE_ARRAY",
    "kept.url": "DELTA_BYTE_ARRAY",
    "image.path": "DELTA_BYTE_ARRAY",
    "image.bytes": "DELTA_LENGTH_BYTE_ARRAY",
    "all": "DELTA_LENGTH_BYTE_ARRAY",
    "none": "DELTA_LENGTH_BYTE_ARRAY",
    **{f"{k}.list.element": "BYTE_STREAM_SPLIT" if "f" in k else "DELTA_BINARY_PACKED" for k in LISTS if k != "l_bool"},
    "l_bool.list.element": "RLE",
    "l_texts.list.element": "DELTA_BYTE_ARRAY",
    "l_deep_texts.list.element.list.element": "DELTA_LENGTH_BYTE_ARRAY",
}


def write(args):
    """Returns the rows as pyarrow reads them, and the file."""
    data = table(args)
    options = dict(args.get("options", {}))
    encoding = args.get("encoding", "dictionary")
    options["use_dictionary"] = encoding == "dictionary"
    if encoding == "delta":
        options["column_encoding"] = {k: v for k, v in NUMBERS.items() if k.split(".")[0] in data.column_names}
    out = io.BytesIO()
    pq.write_table(data, out, **options)
    return rows(out.getvalue()), out.getvalue()


def rows(file):
    return json.dumps([plain(row) for row in pq.read_table(io.BytesIO(file)).to_pylist()])


REFUSED = ("l_blobs", "l_deeper_texts", "l_ragged", "l_null_in", "l_map", "l_null")


def plain(row):
    """A row as fields by their paths: bytes in base64, numbers as they are stored."""
    flat = {}
    for name, value in row.items():
        if name in REFUSED:
            continue
        if isinstance(value, dict):
            flat.update({f"{name}.{k}": value[k] for k in value})
        elif name == "l_structs":
            flat["l_structs.a"] = [v["a"] for v in value]
            flat["l_structs.t"] = [v["t"] for v in value]
        else:
            flat[name] = value
    flat = {k: stream(v, "deep" in k) if k in TEXTS else v for k, v in flat.items()}
    return {k: stored(np.array(v, TYPED[k]).tobytes() if k in TYPED else v) for k, v in flat.items() if v is not None}


TEXTS = ("l_texts", "l_deep_texts", "l_structs.t", "kept.tags")


def stream(v, deep):
    """Texts after their lengths, and before a list in a list a mark. What is null in a list is empty."""
    if v is None:
        return None
    if deep:
        return b"".join(b"\xfe\xff\xff\xff" + stream(e or [], False) for e in v)
    return b"".join(struct.pack("<I", len((e or "").encode())) + (e or "").encode() for e in v)


def stored(v):
    if isinstance(v, decimal.Decimal):
        return str(int(v * 100))
    if isinstance(v, bool):
        return str(int(v))
    if isinstance(v, datetime.datetime):
        return str(round((v - datetime.datetime(1970, 1, 1)) / datetime.timedelta(microseconds=1)))
    if isinstance(v, datetime.date):
        return str((v - datetime.date(1970, 1, 1)).days)
    if isinstance(v, float):
        return "nan" if math.isnan(v) else v.hex()
    if isinstance(v, int):
        return str(v)
    return "=" + base64.b64encode(v.encode() if isinstance(v, str) else v).decode()


def int96(args):
    data = pa.table({"when": pa.array([1, 2], pa.timestamp("ns")), "text": ["a", "b"]})
    out = io.BytesIO()
    pq.write_table(data, out, use_deprecated_int96_timestamps=True)
    return None, out.getvalue()


def encrypted(args):
    import pyarrow.parquet.encryption as pe

    class Client(pe.KmsClient):
        def __init__(self, config):
            pe.KmsClient.__init__(self)

        def wrap_key(self, key, master):
            return base64.b64encode(key)

        def unwrap_key(self, key, master):
            return base64.b64decode(key)

    factory = pe.CryptoFactory(Client)
    settings = pe.EncryptionConfiguration(footer_key="k", column_keys={"k": ["secret"]}, plaintext_footer=args["plain_footer"])
    properties = factory.file_encryption_properties(pe.KmsConnectionConfig(), settings)
    data = pa.table({"secret": [1, 2], "text": ["a", "b"]})
    out = io.BytesIO()
    with pq.ParquetWriter(out, data.schema, encryption_properties=properties) as w:
        w.write_table(data)
    return None, out.getvalue()
