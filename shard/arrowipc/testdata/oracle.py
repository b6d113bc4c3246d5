"""Writes files and streams of Arrow with pyarrow, and says what pyarrow reads from them."""

import base64
import datetime
import decimal
import io
import math
import random
import struct

import numpy as np
import pyarrow as pa


def runs(values, ends, kind):
    """An array of runs of equal values."""
    last = [i for i in range(len(values)) if i + 1 == len(values) or values[i + 1] != values[i]]
    return pa.RunEndEncodedArray.from_arrays(pa.array([i + 1 for i in last], ends), pa.array([values[i] for i in last], kind))


def arrays(args):
    rows, r = args["rows"], random.Random(args.get("seed", 0))
    words = ["", "short", "a word that is longer than a view holds", "ümlaut"]

    def nulls(values, every):
        return [None if i % every == 1 else v for i, v in enumerate(values)]

    texts = [r.choice(words) for _ in range(rows)]
    blobs = [r.randbytes(r.randrange(args.get("largest", 30))) for _ in range(rows)]
    images = [None if i % 5 == 2 else {"bytes": b if i % 7 else None, "path": f"{i}.jpg"} for i, b in enumerate(blobs)]
    return {
        "image": pa.array(images, pa.struct([("bytes", pa.binary()), ("path", pa.string())])),
        "text": pa.array(nulls(texts, 6), pa.string()),
        "large": pa.array(nulls(texts, 4), pa.large_string()),
        "large blob": pa.array(blobs, pa.large_binary()),
        "view": pa.array(nulls(texts, 3), pa.string_view()),
        "blob view": pa.array(blobs, pa.binary_view()),
        "fixed": pa.array(nulls([b[:1].ljust(4) for b in blobs], 5), pa.binary(4)),
        "word": pa.array(nulls(texts, 7), pa.string()).dictionary_encode(),
        "class": pa.array([r.randrange(3) + 10 for _ in range(rows)], pa.int64()).dictionary_encode(),
        "weight": pa.array(nulls([r.randrange(3) / 2 for _ in range(rows)], 4), pa.float32()).dictionary_encode(),
        "label": pa.array([r.randrange(-(2**63), 2**63) for _ in range(rows)], pa.int64()),
        "i8": pa.array([r.randrange(-128, 128) for _ in range(rows)], pa.int8()),
        "u64": pa.array([r.randrange(2**64) for _ in range(rows)], pa.uint64()),
        "u32": pa.array([r.randrange(2**32) for _ in range(rows)], pa.uint32()),
        "flag": pa.array([r.random() < 0.5 for _ in range(rows)], pa.bool_()),
        "f16": pa.array([i / 8 - 1 for i in range(rows)], pa.float16()),
        "f32": pa.array(nulls([r.random() for _ in range(rows)], 4), pa.float32()),
        "f64": pa.array([r.random() for _ in range(rows)], pa.float64()),
        "day": pa.array([datetime.date(2020, 1, 1 + i % 28) for i in range(rows)], pa.date32()),
        "when": pa.array(range(rows), pa.timestamp("us")),
        "took": pa.array(range(rows), pa.duration("ms")),
        "hour": pa.array([i % 24 * 3600 for i in range(rows)], pa.time32("s")),
        "tokens": pa.array(nulls([[i, -i] * (i % 4) for i in range(rows)], 6), pa.list_(pa.int32())),
        "large list": pa.array([[i] * r.randrange(5) for i in range(rows)], pa.large_list(pa.uint16())),
        "pair": pa.array(nulls([[i / 3, -i] for i in range(rows)], 5), pa.list_(pa.float32(), 2)),
        "bytes": pa.array([list(b) for b in blobs], pa.list_(pa.uint8())),
        "i64s": pa.array([[-(2**63), 2**63 - 1]] * rows, pa.list_(pa.int64())),
        "f64s": pa.array([[math.nan, i / 7] for i in range(rows)], pa.list_(pa.float64())),
        "halves": pa.array([[i / 8] for i in range(rows)], pa.list_(pa.float16())),
        "in struct": pa.array(
            [{"ids": [i] * (i % 3)} if i % 4 else None for i in range(rows)], pa.struct([("ids", pa.list_(pa.int8()))])
        ),
        # What is refused, between columns that have to be found nevertheless.
        "ragged": pa.array([[[1] * j for j in range(3)] for i in range(rows)], pa.list_(pa.list_(pa.int32()))),
        "none": pa.array([[]] * rows, pa.list_(pa.int32(), 0)),
        "gaps": pa.array([[i, None] if i == rows - 1 else [i] for i in range(rows)], pa.list_(pa.int32())),
        "gaps in pairs": pa.array([[i, None] if i == 0 else [i, i] for i in range(rows)], pa.list_(pa.int32(), 2)),
        "money": pa.array(list(range(rows)), pa.decimal128(9, 2)),
        "kept": pa.array([{"deep": {"url": f"u{i}"}, "tags": ["a"]} for i in range(rows)]),
        "map": pa.array([[("a", i)] for i in range(rows)], pa.map_(pa.string(), pa.int32())),
        "sparse": pa.array(nulls(list(range(rows)), 2), pa.int32()),
        "nothing": pa.nulls(rows),
        "lists of views": pa.array([["a", words[2]] for _ in range(rows)], pa.list_(pa.string_view())),
        "structs": pa.array([[{"a": "x"}] for _ in range(rows)], pa.list_(pa.struct([("a", pa.string())]))),
        "lists of bytes": pa.array([[b"x"] for _ in range(rows)], pa.list_(pa.binary())),
        "lists of pairs": pa.array([[["a", "b"]] for _ in range(rows)], pa.list_(pa.list_(pa.string(), 2))),
        "deeper texts": pa.array([[[["a"]]] for _ in range(rows)]),
        "texts": pa.array(
            [
                [None if i % 8 == 6 and j == 1 else texts[(i + j) % rows] for j in range(i % 5)] if i % 7 != 3 else None
                for i in range(rows)
            ],
            pa.list_(pa.string()),
        ),
        "pairs of texts": pa.array(nulls([[f"a{i}", "b"] for i in range(rows)], 5), pa.list_(pa.large_string(), 2)),
        "view of texts": pa.array([[words[i % 4]] * (i % 4) for i in range(rows)], pa.list_view(pa.string())),
        "deep texts": pa.array(
            [
                [None if i % 9 == 8 and j == 1 else inner(words, i, j) for j in range(i % 4)] if i % 7 != 4 else None
                for i in range(rows)
            ],
            pa.list_(pa.large_list(pa.large_string())),
        ),
        "union": pa.UnionArray.from_dense(
            pa.array([0] * rows, pa.int8()), pa.array(range(rows), pa.int32()), [pa.array(texts), pa.array([1])]
        ),
        "other union": pa.UnionArray.from_sparse(pa.array([0] * rows, pa.int8()), [pa.array(texts), pa.array(range(rows))]),
        "flags": pa.array(
            [[r.random() < 0.5 for _ in range(i % 5)] if i % 7 != 3 else None for i in range(rows)], pa.list_(pa.bool_())
        ),
        "nested": pa.array([[[i, -i]] * (i % 3) if i % 6 != 3 else None for i in range(rows)], pa.list_(pa.list_(pa.int32()))),
        "nested fixed": pa.array(
            [None if i % 5 == 2 else [[i / 8] * 3, [1 / 2] * 3] for i in range(rows)], pa.list_(pa.list_(pa.float16(), 3), 2)
        ),
        "holes": pa.array([[r.choice([None, 0.5, i]) for _ in range(i % 5)] for i in range(rows)], pa.large_list(pa.float32())),
        "deep holes": pa.array(
            [[[None if r.random() < 0.3 else k / 4 for k in range(3)]] * (i % 3) for i in range(rows)],
            pa.list_(pa.list_(pa.float64())),
        ),
        "objects": pa.array([[{"box": [j, 2.5], "n": j} for j in range(i % 3)] for i in range(rows)]),
        "large view": pa.array(nulls([[i] * (i % 3) for i in range(rows)], 4), pa.large_list_view(pa.int8())),
        "run numbers": runs(nulls([i // 3 for i in range(rows)], 4), pa.int16(), pa.int32()),
        "run floats": runs(nulls([i // 3 / 2 for i in range(rows)], 5), pa.int64(), pa.float32()),
        "run texts": runs(nulls([words[i // 5 % 4] for i in range(rows)], 8), pa.int32(), pa.string()),
        "runs": pa.RunEndEncodedArray.from_arrays(pa.array([rows][: rows > 0], pa.int32()), pa.array(["a"][: rows > 0])),
        "list view": pa.array([[i] * (i % 4) for i in range(rows)], pa.list_view(pa.int32())),
        "last": pa.array([f"last {i}" for i in range(rows)]),
    }


REFUSED = {
    "none",
    "gaps",
    "gaps in pairs",
    "map",
    "lists of views",
    "lists of bytes",
    "lists of pairs",
    "deeper texts",
    "ragged",
    "union",
    "other union",
}


def inner(words, i, j):
    """A list in a list, of which the first text may be null."""
    return [words[k] if k or i % 5 else None for k in range((i + j) % 3)]


def write(args):
    columns = arrays(args)
    if "columns" in args:
        columns = {name: columns[name] for name in args["columns"]}
    table = pa.table(columns)
    out = io.BytesIO()
    options = pa.ipc.IpcWriteOptions(compression=args.get("compression"), emit_dictionary_deltas=args.get("deltas", False))
    new = pa.ipc.new_stream if args.get("stream") else pa.ipc.new_file
    with new(out, table.schema, options=options) as w:
        # Slices begin in the middle of buffers, and of bytes of validity.
        for batch in table.to_batches(max_chunksize=args.get("batch", 1000)):
            w.write_batch(batch)
    data = out.getvalue()
    if args.get("open_end"):
        data = data[:-8]
    reader = pa.ipc.open_stream(data) if args.get("stream") else pa.ipc.open_file(data)
    return [{"fields": row(r)} for r in reader.read_all().select(kept(columns)).to_pylist()], data


def kept(columns):
    return [name for name in columns if name not in REFUSED]


def deltas(args):
    """A stream whose dictionary grows, and then is replaced."""
    out = io.BytesIO()
    batches = [
        pa.DictionaryArray.from_arrays(pa.array(i, pa.int8()), pa.array(d))
        for i, d in [([0, 1], ["a", "b"]), ([2, 0], ["a", "b", "c"]), ([0, None, 1], ["x", "y"])]
    ]
    schema = pa.schema([("word", batches[0].type)])
    with pa.ipc.new_stream(out, schema, options=pa.ipc.IpcWriteOptions(emit_dictionary_deltas=True)) as w:
        for b in batches:
            w.write_batch(pa.record_batch([b], schema=schema))
    rows = pa.ipc.open_stream(out.getvalue()).read_all().to_pylist()
    return [{"fields": row(r)} for r in rows], out.getvalue()


FLOATS = {"f16": "float16", "f32": "float32", "f64": "float64", "weight": "float32", "run floats": "float32"}
WHOLE = {
    "i8": "int8",
    "u32": "uint32",
    "u64": "uint64",
    "flag": "bool",
    "sparse": "int32",
    "run numbers": "int32",
}
LISTS = {
    **{
        "tokens": "int32",
        "large list": "uint16",
        "pair": "float32",
        "bytes": "uint8",
        "i64s": "int64",
        "f64s": "float64",
        "halves": "float16",
    },
    "in struct.ids": "int8",
    "flags": "bool",
    "nested": "int32",
    "nested fixed": "float16",
    "holes": "float32",
    "deep holes": "float64",
    "objects.box": "float64",
    "objects.n": "int64",
    "list view": "int32",
    "large view": "int8",
}


TEXTS = {
    **dict.fromkeys(("texts", "pairs of texts", "view of texts", "structs.a", "kept.tags"), "text [?]"),
    "deep texts": "text [?, ?]",
}


def stream(v, deep):
    """Texts after their lengths, and before a list in a list a mark. What is null in a list is empty."""
    if v is None:
        return None
    if deep:
        return b"".join(b"\xfe\xff\xff\xff" + stream(e or [], False) for e in v)
    return b"".join(struct.pack("<I", len((e or "").encode())) + (e or "").encode() for e in v)


INNER = {"nested": [2], "nested fixed": [3], "deep holes": [3], "objects.box": [2]}


def row(r):
    flat = {}
    for name, v in flatten(r):
        if name in FLOATS:
            flat[name] = {"type": FLOATS[name], "bytes": b64(np.array(math.nan if v is None else v, FLOATS[name]).tobytes())}
        elif v is not None and name in LISTS:
            a = np.array(v, LISTS[name])
            shape = [len(v), *INNER.get(name, [])]
            flat[name] = {"type": f"{LISTS[name]} {shape}", "bytes": b64(a.tobytes())}
        elif name in TEXTS:
            if (made := stream(v, "deep" in name)) is not None:
                flat[name] = {"type": TEXTS[name], "bytes": b64(made)}
        elif v is not None:
            flat[name] = value(v, WHOLE.get(name, "int64"))
    return flat


def flatten(r, path=""):
    for name, v in r.items():
        if name == "structs":
            yield "structs.a", [o["a"] for o in v]
        elif name == "objects":
            yield from ((f"objects.{k}", [o[k] for o in v]) for k in ("box", "n"))
        elif isinstance(v, dict):
            yield from flatten(v, f"{path}{name}.")
        else:
            yield path + name, v


def value(v, whole):
    if isinstance(v, decimal.Decimal):
        v = int(v * 100)
    elif isinstance(v, datetime.datetime):
        v = round((v - datetime.datetime(1970, 1, 1)) / datetime.timedelta(microseconds=1))
    elif isinstance(v, datetime.date):
        v = (v - datetime.date(1970, 1, 1)).days
    elif isinstance(v, datetime.timedelta):
        v = round(v / datetime.timedelta(milliseconds=1))
    elif isinstance(v, datetime.time):
        v = v.hour * 3600
    if isinstance(v, int):
        return {"type": whole, "bytes": b64(np.array(v, whole).tobytes())}
    if isinstance(v, str):
        return {"type": "text", "bytes": b64(v.encode())}
    return {"type": "bytes", "bytes": b64(v)}


def b64(b):
    return base64.b64encode(b).decode()
