"""Small writers of TFRecord, MDS and LitData, by what their libraries document: independent of those that read."""

import json
import struct
from pathlib import Path

import numpy as np


def _crc_table():
    for n in range(256):
        for _ in range(8):
            n = n >> 1 ^ (0x82F63B78 if n & 1 else 0)
        yield n


CRC32C = list(_crc_table())


def masked_crc(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc = CRC32C[(crc ^ byte) & 0xFF] ^ crc >> 8
    crc ^= 0xFFFFFFFF
    return struct.pack("<I", ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF)


def tfrecord(records):
    """The bytes of a file of these records."""
    out = b""
    for record in records:
        size = struct.pack("<Q", len(record))
        out += size + masked_crc(size) + record + masked_crc(record)
    return out


def varint(n):
    n &= 2**64 - 1
    out = b""
    while n > 0x7F:
        out += bytes([n & 0x7F | 0x80])
        n >>= 7
    return out + bytes([n])


def message(number, data):
    return bytes([number << 3 | 2]) + varint(len(data)) + data


def example(features, packed=True):
    """A tf.train.Example. Values are a list of bytes, or an array of int64 or float32; None is a feature without a kind."""
    entries = b""
    for name, values in features.items():
        if values is None:
            feature = b""
        elif isinstance(values, list):
            feature = message(1, b"".join(message(1, v) for v in values))
        elif values.dtype == np.int64:
            each = [varint(int(v)) for v in values]
            feature = message(3, message(1, b"".join(each)) if packed else b"".join(b"\x08" + v for v in each))
        else:
            each = [struct.pack("<f", v) for v in values]
            feature = message(2, message(1, b"".join(each)) if packed else b"".join(b"\x0d" + v for v in each))
        entries += message(1, message(1, name.encode()) + message(2, feature))
    return message(1, entries)


def joined(head, samples):
    """How many samples there are, where each begins, and what follows: the form of MDS and LitData."""
    at = 4 * (len(samples) + 2) + len(head)
    ends = np.cumsum([at, *map(len, samples)]).astype("<u4")
    return struct.pack("<I", len(samples)) + ends.tobytes() + head + b"".join(samples)


NUMPY_CODES = {"uint8": 8, "int8": 9, "uint16": 16, "int16": 17, "float16": 18, "uint32": 32}
NUMPY_CODES |= {"int32": 33, "float32": 34, "uint64": 64, "int64": 65, "float64": 66}


def mds_value(encoding, v):
    kind, _, options = encoding.partition(":")
    if kind in ("str", "json"):
        return (v if kind == "str" else json.dumps(v)).encode() if not isinstance(v, bytes) else v
    if kind == "ndarray":
        dtype, _, shape = options.partition(":")
        width = 0 if max(v.shape, default=0) < 1 << 8 else 1
        begin = b"" if dtype else bytes([NUMPY_CODES[v.dtype.name]])
        extents = b"" if shape else bytes([v.ndim << 2 | width]) + np.array(v.shape, f"<u{1 << width}").tobytes()
        return begin + extents + v.tobytes()
    if kind == "int":
        return np.int64(v).tobytes()
    if kind in ("str_int", "str_float"):
        return str(v).encode()
    return v if isinstance(v, bytes) else np.array(v, kind).tobytes()


def mds_size(encoding):
    """How many bytes all values have; None: each its own."""
    kind, _, options = encoding.partition(":")
    if kind == "ndarray" and ":" in options:
        dtype, shape = options.split(":")
        return int(np.prod([int(n) for n in shape.split(",")])) * np.dtype(dtype).itemsize
    return 8 if kind == "int" else np.dtype(kind).itemsize if kind in NUMPY_CODES else None


def mds(folder, encodings, rows, shards=1):
    """A set of MDS, of rows that are dicts."""
    folder = Path(folder)
    folder.mkdir(exist_ok=True)
    names = sorted(encodings)
    sizes = [mds_size(encodings[n]) for n in names]
    config = {
        "column_encodings": [encodings[n] for n in names],
        "column_names": names,
        "column_sizes": sizes,
        "compression": None,
        "format": "mds",
        "hashes": [],
        "size_limit": 1 << 26,
        "version": 2,
    }
    described = []
    for k, part in enumerate(np.array_split(np.arange(len(rows)), shards)):
        samples = []
        for i in part:
            values = [mds_value(encodings[n], rows[i][n]) for n in names]
            open_sizes = [len(v) for v, size in zip(values, sizes, strict=True) if size is None]
            samples.append(np.array(open_sizes, "<u4").tobytes() + b"".join(values))
        data = joined(json.dumps(config, sort_keys=True).encode(), samples)
        name = f"shard.{k:05}.mds"
        (folder / name).write_bytes(data)
        raw = {"basename": name, "bytes": len(data), "hashes": {}}
        described.append({**config, "raw_data": raw, "samples": len(samples), "zip_data": None})
    (folder / "index.json").write_text(json.dumps({"shards": described, "version": 2}, sort_keys=True))


TORCH_CODES = {"float32": 1, "float64": 3, "float16": 9, "uint8": 11, "int8": 12, "int16": 14, "int32": 16, "int64": 18, "bool": 19}
LITDATA_NUMPY = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "float32", "float64")


def litdata_value(kind, v):
    kind, _, _ = kind.partition(":")
    if kind == "str":
        return v if isinstance(v, bytes) else v.encode()
    if kind in ("int", "float"):
        return np.array(v, {"int": "<i8", "float": "<f8"}[kind]).tobytes()
    if kind == "bool":
        return bytes([v])
    if kind == "numpy":
        return np.array([LITDATA_NUMPY.index(v.dtype.name), v.ndim, *v.shape], "<u4").tobytes() + v.tobytes()
    if kind == "tensor":
        return np.array([TORCH_CODES[v.dtype.name], v.ndim, *v.shape], ">u4").tobytes() + v.tobytes()
    return v.tobytes() if isinstance(v, np.ndarray) else v


def litdata(folder, kinds, rows, chunks=1):
    """A set of LitData, of rows that are flat dicts."""
    folder = Path(folder)
    folder.mkdir(exist_ok=True)
    described = []
    for k, part in enumerate(np.array_split(np.arange(len(rows)), chunks)):
        samples = []
        for i in part:
            values = [litdata_value(kind, rows[i][n]) for n, kind in kinds.items()]
            samples.append(np.array([len(v) for v in values], "<u4").tobytes() + b"".join(values))
        data = joined(b"", samples)
        name = f"chunk-0-{k}.bin"
        (folder / name).write_bytes(data)
        described.append({"chunk_bytes": len(data), "chunk_size": len(samples), "dim": None, "filename": name})
    leaf = {"type": None, "context": None, "children_spec": []}
    spec = {"type": "builtins.dict", "context": json.dumps(list(kinds)), "children_spec": [leaf] * len(kinds)}
    config = {
        "chunk_bytes": 64_000_000,
        "chunk_size": None,
        "compression": None,
        "data_format": list(kinds.values()),
        "data_spec": json.dumps([1, spec]),
        "encryption": None,
        "item_loader": "PyTreeLoader",
    }
    (folder / "index.json").write_text(json.dumps({"chunks": described, "config": config, "updated_at": "0"}, sort_keys=True))
