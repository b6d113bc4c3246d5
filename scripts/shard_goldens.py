"""Write the shards that the tests of shard/… read, and what others read in them.

It needs what the tests do not: TensorFlow, mosaicml-streaming, litdata and array_record. Run
it as `python scripts/shard_goldens.py FORMAT…`, in an environment that has them, from the
root of the repository. Files are small, and committed.
"""

import base64
import gzip
import io
import itertools
import json
import random
import shutil
import struct
import sys
import zipfile
from pathlib import Path
from typing import Any

import numpy as np

FORMATS = ["tfrecord", "mds", "zipfile", "npy", "megatron", "litdata", "arrayrecord"]


def value(kind: str, data: bytes) -> dict[str, str]:
    """A field's value, as shardtest.Golden reads it."""
    return {"type": kind, "bytes": base64.b64encode(data).decode()}


def array(a: Any) -> dict[str, str]:
    """An array, or a number, of NumPy's."""
    a = np.asarray(a)
    shape = f" [{', '.join(map(str, a.shape))}]" if a.shape else ""
    return value(a.dtype.name + shape, np.ascontiguousarray(a).tobytes())


def write(folder: Path, name: str, samples: list[dict[str, Any]]) -> None:
    """Write what a shard should have: keys and fields."""
    text = json.dumps(samples, indent=1, sort_keys=True)
    (folder / f"{name}.json").write_text(text + "\n")


def folder_of(name: str) -> Path:
    """The emptied folder of a format's goldens."""
    folder = Path("shard") / name / "testdata"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    return folder


# TFRecord: written and read by TensorFlow.


def example_fields(record: bytes) -> dict[str, Any]:
    """The features of a record, of which TensorFlow's messages say what they are."""
    import tensorflow as tf
    from google.protobuf.message import DecodeError

    fields: dict[str, Any] = {}
    try:
        e = tf.train.Example.FromString(record)
    except DecodeError:
        return {"record": value("bytes", record)}
    for name, feature in e.features.feature.items():
        match feature.WhichOneof("kind"):
            case "bytes_list":
                values = feature.bytes_list.value
                if len(values) == 1:
                    fields[name] = value("bytes", values[0])
            case "int64_list":
                a = np.array(feature.int64_list.value, np.int64)
                fields[name] = array(a[0] if len(a) == 1 else a)
            case "float_list":
                f = np.array(feature.float_list.value, np.float32)
                fields[name] = array(f[0] if len(f) == 1 else f)
    return fields or {"record": value("bytes", record)}


def examples() -> list[bytes]:
    """Serialized Examples of every kind."""
    import tensorflow as tf

    rng = random.Random(1)
    records = []
    for i in range(6):
        e = tf.train.Example()
        f = e.features.feature
        f["image/encoded"].bytes_list.value.append(rng.randbytes(30 + 40 * i))
        f["image/class"].int64_list.value.append(-i if i % 2 else 1 << 7 * i)
        f["box"].float_list.value.extend(rng.random() for _ in range(4 * i))
        f["ids"].int64_list.value.extend(rng.getrandbits(63) - 2**62 for _ in range(i))
        f["score"].float_list.value.append(i / 3)
        f["names"].bytes_list.value.extend([b"a", b"bc"])
        f["empty"].bytes_list.value.extend([])
        records.append(e.SerializeToString(deterministic=True))
    s = tf.train.SequenceExample()
    s.context.feature["length"].int64_list.value.append(7)
    s.feature_lists.feature_list["frames"].feature.add().int64_list.value.append(1)
    records.append(s.SerializeToString(deterministic=True))
    # Lists that are not packed, as protobuf 2 wrote them; a field that nobody knows.
    floats = b"\x12\x0a\x0d" + struct.pack("<f", 1.5) + b"\x0d" + struct.pack("<f", -2)
    entries = b""
    for name, feature in ((b"i", b"\x1a\x05\x08\x01\x08\x80\x01"), (b"f", floats)):
        entry = b"\x0a" + bytes([len(name)]) + name + b"\x12" + bytes([len(feature)]) + feature
        entries += b"\x0a" + bytes([len(entry)]) + entry
    records.append(b"\x7a\x02zz" + b"\x0a" + bytes([len(entries)]) + entries)
    records.append(b"no Example: \xff\xff\xff")
    records.append(b"")
    return records


def tfrecord() -> None:
    """Files of TensorFlow's writer, and what its reader finds in them."""
    import tensorflow as tf

    folder = folder_of("tfrecord")
    kinds = {"plain.tfrecord": "", "gzip.tfrecord.gz": "GZIP", "zlib.tfrecord": "ZLIB"}
    for name, kind in kinds.items():
        with tf.io.TFRecordWriter(str(folder / name), kind) as writer:
            for record in examples():
                writer.write(record)
        read = [r.numpy() for r in tf.data.TFRecordDataset(str(folder / name), kind)]
        write(folder, name, [{"fields": example_fields(r)} for r in read])


# MDS: written and read by Streaming.


def mds() -> None:
    """Sets of Streaming's writer: plain, of every compression, with several shards."""
    from PIL import Image
    from streaming import LocalDataset, MDSWriter

    columns = {
        "a_bytes": "bytes",
        "b_str": "str",
        "c_int": "int",
        "d_uint8": "uint8",
        "e_float32": "float32",
        "f_json": "json",
        "g_ndarray": "ndarray",
        "h_typed": "ndarray:int16",
        "i_fixed": "ndarray:float64:2,3",
        "j_str_int": "str_int",
        "k_str_float": "str_float",
        "l_pil": "pil",
        "m_png": "png",
        "n_float16": "float16",
        "o_decimal": "str_decimal",
        "p_pkl": "pkl",
    }
    from decimal import Decimal

    rng = np.random.default_rng(2)
    samples = []
    for i in range(9):
        image = Image.fromarray(rng.integers(0, 255, (3 + i, 4, 3), np.uint8))
        samples.append(
            {
                "a_bytes": rng.bytes(i * 7),
                "b_str": "grüße " * i,
                "c_int": -(10**i),
                "d_uint8": i,
                "e_float32": i / 7,
                "f_json": {"a": [i, None]},
                "g_ndarray": rng.random((i + 1, 2)).astype(["float32", "float16", "uint64"][i % 3]),
                "h_typed": rng.integers(-9, 9, (2, 300)[: 1 + i % 2], np.int16),
                "i_fixed": rng.random((2, 3)),
                "j_str_int": 10**i,
                "k_str_float": i / 3,
                "l_pil": image,
                "m_png": image.convert("L"),
                "n_float16": np.float16(i / 5),
                "o_decimal": Decimal(i) / 8,
                "p_pkl": {"i": i},
            }
        )
    folder = folder_of("mds")
    for name, compression in [
        ("plain", None),
        ("zstd", "zstd:7"),
        ("gz", "gz"),
        ("br", "br:5"),
        ("bz2", "bz2"),
        ("snappy", "snappy"),
    ]:
        out = folder / name
        limit = 6_000 if name == "plain" else 1 << 20
        chosen = samples if name in ("plain", "zstd") else samples[:2]
        with MDSWriter(out=str(out), columns=columns, compression=compression, hashes=["sha1"], size_limit=limit) as writer:
            for s in chosen:
                writer.write(s)
        readable = out
        if compression:  # LocalDataset reads what is unpacked
            from streaming.base.compression import decompress

            readable = Path("/tmp") / f"golden-mds-{name}"
            shutil.rmtree(readable, ignore_errors=True)
            shutil.copytree(out, readable)
            for packed in readable.glob("*.mds.*"):
                raw = decompress(compression, packed.read_bytes())
                packed.with_suffix("").write_bytes(raw)
        dataset = LocalDataset(str(readable))
        index = json.loads((out / "index.json").read_text())
        at = 0
        for described in index["shards"]:
            shard = (described["zip_data"] or described["raw_data"])["basename"]
            want = [mds_fields(dataset, k) for k in range(at, at + described["samples"])]
            at += described["samples"]
            write(out, shard, [{"fields": f} for f in want])


def mds_fields(dataset: Any, k: int) -> dict[str, Any]:
    """A sample as Streaming decodes it."""
    got = dataset[k]
    text = {n: value("text", got[n].encode()) for n in ["b_str"]}
    arrays = {n: array(got[n]) for n in ["g_ndarray", "h_typed", "i_fixed", "l_pil"]}
    png = io.BytesIO()
    got["m_png"].save(png, format="PNG")
    return {
        **text,
        **arrays,
        "a_bytes": value("bytes", got["a_bytes"]),
        "c_int": array(np.int64(got["c_int"])),
        "d_uint8": array(got["d_uint8"]),
        "e_float32": array(got["e_float32"]),
        "f_json": value("text", json.dumps(got["f_json"]).encode()),
        "j_str_int": array(np.int64(got["j_str_int"])),
        "k_str_float": array(np.float64(got["k_str_float"])),
        "m_png": value("bytes", png.getvalue()),
        "n_float16": array(got["n_float16"]),
        "o_decimal": value("text", str(got["o_decimal"]).encode()),
    }


# zip and npz: written by Python and NumPy, read by them.


def zip_samples(name: Path) -> list[dict[str, Any]]:
    """The members of a zip file, grouped as WebDataset groups those of a tar file."""
    groups: dict[str, dict[str, Any]] = {}
    with zipfile.ZipFile(name) as z:
        for member in z.namelist():
            folder, slash, base = member.rpartition("/")
            if base.startswith(".") or "." not in base or folder.startswith("__MACOSX"):
                continue
            stem, _, suffix = base.partition(".")
            fields = groups.setdefault(folder + slash + stem, {})
            fields[suffix.lower()] = value("bytes", z.read(member))
    return [{"key": key, "fields": fields} for key, fields in groups.items()]


def zip_files() -> None:
    """Zip files of every kind that Python writes."""
    rng = random.Random(3)
    folder = folder_of("zipfile")
    content = {
        "train/cat/1.JPG": rng.randbytes(300),
        "train/cat/1.cls": b"7",
        "train/cat/2.jpg": b"",
        "train/dog.v2/3.seg.png": b"0" * 2000,
        "train/readme": b"left out",
        "train/.DS_Store": b"left out",
        "__MACOSX/train/cat/1.jpg": b"left out",
        "train/cat/2.cls": b"8",
        "4.txt": "grüße".encode(),
    }

    class Stream(io.RawIOBase):
        """A file in which nobody can go back, so that sizes come after the data."""

        def __init__(self, name: Path):
            self.file = name.open("wb")

        def writable(self) -> bool:
            return True

        def write(self, data: Any) -> int:
            return self.file.write(data)

        def close(self) -> None:
            self.file.close()

    def fill(target: Any, method: int, wide: bool = False) -> None:
        with zipfile.ZipFile(target, "w", method) as z:
            z.mkdir("train")
            for name, data in content.items():
                info = zipfile.ZipInfo(name)
                info.compress_type = method if len(data) != 300 else zipfile.ZIP_STORED
                with z.open(info, "w", force_zip64=wide) as f:
                    f.write(data)

    fill(folder / "stored.zip", zipfile.ZIP_STORED)
    fill(folder / "deflated.zip", zipfile.ZIP_DEFLATED)
    fill(folder / "bzip2.zip", zipfile.ZIP_BZIP2)
    fill(folder / "wide.zip", zipfile.ZIP_DEFLATED, wide=True)
    fill(Stream(folder / "stream.zip"), zipfile.ZIP_DEFLATED)
    fill(Stream(folder / "stream-stored.zip"), zipfile.ZIP_STORED)
    prefixed = b"#!/bin/sh\n" + (folder / "stored.zip").read_bytes()
    (folder / "prefixed.zip").write_bytes(prefixed)
    for name in folder.glob("*.zip"):
        write(folder, name.name, zip_samples(name))

    numbers = np.random.default_rng(4)
    arrays: dict[str, Any] = {
        "images": numbers.integers(0, 255, (7, 4, 3), np.uint8),
        "labels": np.arange(7),
        "weights": numbers.random((7, 1)).astype(np.float32),
        "classes": np.array(10),
        "names": np.array(["a"] * 7),
        "turned": np.asfortranarray(numbers.random((7, 5))),
    }
    np.savez(folder / "stored.npz", **arrays)
    np.savez_compressed(folder / "deflated.npz", **arrays)
    for name in folder.glob("*.npz"):
        read = np.load(name)
        fields = [{k: array(read[k][i]) for k in ("images", "labels", "weights")} for i in range(7)]
        write(folder, name.name, [{"fields": f} for f in fields])


def npy() -> None:
    """Files of numpy.save."""
    folder = folder_of("npy")
    rng = np.random.default_rng(5)
    for name, a in {
        "images": rng.integers(0, 255, (6, 4, 5, 3), np.uint8),
        "vector": rng.random(9),
        "halves": rng.random((3, 2)).astype(np.float16),
        "truth": rng.random((4, 3)) > 0.5,
        "none": np.zeros((0, 3), np.int32),
    }.items():
        np.save(folder / f"{name}.npy", a)
        rows = np.load(folder / f"{name}.npy", mmap_mode="r")
        write(folder, f"{name}.npy", [{"fields": {"array": array(r)}} for r in rows])


# Megatron's index: from its description.


def megatron() -> None:
    """Pairs of .bin and .idx, as megatron.core.datasets.indexed_dataset describes them."""
    folder = folder_of("megatron")
    rng = np.random.default_rng(6)
    codes = {"uint16": 8, "int32": 4}

    def pair(name: str, dtype: str, sequences: list[Any], limits: list[int], modes: bool = False) -> None:
        lengths = np.array([len(s) for s in sequences], np.int32)
        places = np.concatenate([[0], np.cumsum(lengths[:-1])]) if len(lengths) else []
        size = np.dtype(dtype).itemsize
        (folder / f"{name}.bin").write_bytes(b"".join(s.tobytes() for s in sequences))
        head = b"MMIDIDX\0\0" + struct.pack("<QBQQ", 1, codes[dtype], len(sequences), len(limits))
        idx = head + lengths.tobytes() + (np.array(places, np.int64) * size).tobytes()
        idx += np.array(limits, np.int64).tobytes() + (bytes(len(sequences)) if modes else b"")
        (folder / f"{name}.idx").write_bytes(idx)
        pairs = itertools.pairwise(limits)
        documents = [np.concatenate(sequences[a:b]) for a, b in pairs] or sequences
        write(folder, f"{name}.bin", [{"fields": {"tokens": array(d)}} for d in documents])

    tokens = [rng.integers(0, 60_000, n).astype(np.uint16) for n in (3, 1, 400, 9, 20)]
    pair("text", "uint16", tokens, [0, 2, 3, 5])
    pair("sequences", "int32", [t.astype(np.int32) for t in tokens[:3]], [0])


# LitData: written by its optimizer's writer, read by its reader.


def litdata() -> None:
    """Sets of LitData's BinaryWriter."""
    import torch
    from litdata import StreamingDataset, TokensLoader
    from litdata.streaming.writer import BinaryWriter

    folder = folder_of("litdata")
    rng = np.random.default_rng(7)
    samples = [
        {
            "bytes": rng.bytes(9 * i),
            "label": i,
            "score": i / 3,
            "good": bool(i % 2),
            "text": "grüße " * i,
            "pair": [torch.arange(i + 1), torch.rand(2, i + 1)],
            "row": rng.random(i + 2).astype(np.float32),
            "matrix": rng.integers(0, 9, (i + 1, 2), np.int16),
            "other": {1, 2},  # a pickle
        }
        for i in range(7)
    ]
    for name, options in {
        "plain": {"chunk_size": 4},
        "chunk": {"chunk_size": 10, "compression": "zstd", "compression_level": "chunk"},
        "batch": {"chunk_size": 10, "compression": "zstd:7", "compression_batch_size": 3},
        "sample": {"chunk_size": 10, "compression": "zstd", "compression_level": "sample"},
    }.items():
        out = folder / name
        writer = BinaryWriter(str(out), **options)
        for i, s in enumerate(samples):
            writer[i] = s
        writer.done()
        writer.merge()
        index = json.loads((out / "index.json").read_text())
        readable = Path("/tmp") / f"golden-litdata-{name}"  # it unpacks chunks where they are
        shutil.rmtree(readable, ignore_errors=True)
        shutil.copytree(out, readable)
        got = list(StreamingDataset(str(readable), shuffle=False))
        at = 0
        for chunk in index["chunks"]:
            part = got[at : at + chunk["chunk_size"]]
            at += chunk["chunk_size"]
            write(out, chunk["filename"], [{"fields": litdata_fields(s)} for s in part])

    out = folder / "tokens"
    writer = BinaryWriter(str(out), chunk_bytes=1 << 20, item_loader=TokensLoader())
    documents = [torch.arange(10 * i, 10 * i + i + 1) for i in range(3)]
    for i, d in enumerate(documents):
        writer[i] = d
    writer.done()
    writer.merge()
    index = json.loads((out / "index.json").read_text())
    fields = [{"fields": {"tokens": array(d.numpy())}} for d in documents]
    write(out, index["chunks"][0]["filename"], fields)


def litdata_fields(s: Any) -> dict[str, Any]:
    """A sample as LitData reads it."""
    return {
        "bytes": value("bytes", s["bytes"]),
        "label": array(np.int64(s["label"])),
        "score": array(np.float64(s["score"])),
        "good": array(np.bool_(s["good"])),
        "text": value("text", s["text"].encode()),
        "pair.0": array(s["pair"][0].numpy()),
        "pair.1": array(s["pair"][1].numpy()),
        "row": array(s["row"]),
        "matrix": array(s["matrix"]),
    }


# ArrayRecord: written and read by its module.


def arrayrecord() -> None:
    """Files of array_record's writer."""
    from array_record.python import array_record_module as module

    folder = folder_of("arrayrecord")
    records = [*examples(), bytes(range(256)) * 300, b"z" * 140_000, b"end"]
    for name, options, chosen in [
        ("none", "group_size:3,uncompressed", records),
        ("single", "group_size:1,uncompressed", records[:4] + records[-3:]),
        ("zstd", "group_size:2,zstd:3", records[:8] + records[-2:]),
        ("brotli", "group_size:100,brotli:5", records[:8] + records[-2:]),
        ("snappy", "group_size:4,snappy", records[:8] + records[-2:]),
        ("transposed", "group_size:4,transpose:true", records[:4]),
        ("empty", "group_size:1", []),
    ]:
        path = str(folder / f"{name}.array_record")
        writer = module.ArrayRecordWriter(path, options)
        for record in chosen:
            writer.write(record)
        writer.close()
        reader = module.ArrayRecordReader(path)
        read = reader.read_all() if chosen else []
        write(folder, f"{name}.array_record", [{"fields": example_fields(r)} for r in read])
        for file in (folder / f"{name}.array_record", folder / f"{name}.array_record.json"):
            Path(f"{file}.gz").write_bytes(gzip.compress(file.read_bytes(), mtime=0))
            file.unlink()


if __name__ == "__main__":
    for chosen in sys.argv[1:] or FORMATS:
        {"zipfile": zip_files}.get(chosen, globals().get(chosen))()  # type: ignore[misc]
