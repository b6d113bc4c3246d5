"""What `headrace run --out` writes as Parquet, JSON lines, TFRecord and Megatron's files, as pyarrow, json and NumPy read it."""

from __future__ import annotations

import io
import json
import struct
import subprocess
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from PIL import Image

import headrace as hr
from conftest import PHOTOS
from headrace._client.program import find_program

HEAD = """
headrace: 1
seed: 7
steps:
  - files: {pattern: "photos/*/*.jpg", label: parent, metadata: table.csv}
  - shuffle
  - decode_image
  - random_resized_crop: {size: [24, 20]}
"""


@pytest.fixture(autouse=True)
def place(tmp_path, monkeypatch, photos):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HEADRACE_CACHE", str(tmp_path / "cache"))
    Path("photos").symlink_to(photos)
    rows = ["file_name,caption,score"]
    rows += [
        f'photos/{path.relative_to(photos)},"é ""{i}""\n\t€",{i / 7 if i else "-0.0"}'
        for i, path in enumerate(sorted(photos.rglob("*.jpg")))
    ]
    Path("table.csv").write_text("\n".join(rows) + "\n")


def write(recipe: str, *args: str, code: int = 0) -> str:
    Path("recipe.yaml").write_text(recipe)
    done = subprocess.run([find_program(), "run", "recipe.yaml", "--quiet", *args], capture_output=True, text=True)
    assert done.returncode == code, done.stderr
    return done.stderr


def yielded() -> list[dict[str, Any]]:
    with hr.load("recipe.yaml").loader(epochs=1) as loader:
        return [
            {name: values[i] if isinstance(values[i], str) else np.array(values[i]) for name, values in batch.items()}
            for batch in loader
            for i in range(len(next(iter(batch.values()))))
        ]


def recipe(*steps: str, head: str = HEAD.replace("photos/*/*.jpg", "photos").replace("table.csv", "../table.csv")) -> str:
    return head + "".join(f"  - {step}\n" for step in (*steps, "batch: {size: 4}"))


def test_parquet():
    write(recipe(), "--out", "parquet:out/train-%03d.parquet", "--shard-samples", "20")
    want = yielded()
    shards = sorted(Path("out").glob("*"))
    assert [path.name for path in shards] == [*(f"train-{i:03}.parquet" for i in range(-(-PHOTOS // 20))), "train.manifest.json"]
    tables = [pq.read_table(path) for path in shards[:-1]]
    assert [len(table) for table in tables[:-1]] == [20] * (len(tables) - 1)
    assert tables[0].schema.field("label").type == pa.int64()
    assert tables[0].schema.field("image").type == pa.struct([("bytes", pa.binary()), ("path", pa.string())])

    for got, sample in zip((row for table in tables for row in table.to_pylist()), want, strict=True):
        assert np.array_equal(np.array(Image.open(io.BytesIO(got["image"]["bytes"]))), sample["image"])
        assert got["image"]["path"].endswith(".png")
        for name in ("label", "key", "caption", "score"):
            assert got[name] == sample[name]
            assert np.copysign(1, got["score"]) == np.copysign(1, sample["score"])

    # Hugging Face's datasets find the types of the columns here.
    features = json.loads(tables[0].schema.metadata[b"huggingface"])["info"]["features"]
    assert features["image"] == {"_type": "Image"}
    assert features["label"] == {"_type": "ClassLabel", "names": ["ant", "bee", "cat"]}
    assert features["score"] == {"_type": "Value", "dtype": "float64"}

    # And it is read again.
    described = hr.read("out/*.parquet", fields={"bytes": "image.bytes", "label": "label", "caption": "caption", "score": "score"})
    with described.decode_image().loader(epochs=1) as loader:
        for got, sample in zip(loader, want, strict=True):
            assert np.array_equal(got["image"], sample["image"])
            assert (got["label"], got["caption"], got["score"]) == (sample["label"], sample["caption"], sample["score"])


DTYPES = ["bool", "uint8", "int8", "uint16", "int16", "uint32", "int32", "uint64", "int64", "float16", "bfloat16", "float32", "float64"]


def arrays(dtype, shape=()):
    """Arrays of a type in files, and the recipe that reads them."""
    kind = np.dtype(getattr(ml_dtypes, dtype, dtype))
    rng = np.random.default_rng(1)
    Path("arrays").mkdir(exist_ok=True)
    for i in range(9):
        values = np.frombuffer(rng.bytes(8 * int(np.prod(shape))), np.int64).reshape(shape)
        values = rng.normal(size=shape).astype(kind) if "float" in dtype else values.astype(kind) if dtype != "bool" else values % 2 == 1
        np.save(f"arrays/{i}.npy", values.view(np.uint16) if dtype == "bfloat16" else values)
    steps = [f"decode_npy: {{dtype: {dtype}, shape: {list(shape)}, to: x}}"]
    return recipe(*steps, head='headrace: 1\nsteps:\n  - files: {pattern: "arrays/*.npy"}\n  - shuffle\n')


@pytest.mark.parametrize("dtype", DTYPES)
def test_numbers_in_parquet(dtype):
    write(arrays(dtype), "--out", "parquet:out/%d.parquet")
    table = pq.read_table("out/0.parquet")
    wide = "float32" if dtype in ("float16", "bfloat16") else dtype
    assert table.schema.field("x").type == pa.from_numpy_dtype(np.dtype(wide))
    assert table["x"].to_pylist() == [sample["x"].astype(wide).item() for sample in yielded()]


@pytest.mark.parametrize("dtype", DTYPES)
def test_arrays_in_parquet(dtype):
    write(arrays(dtype, (3, 2)), "--out", "parquet:out/%d.parquet")
    for got, sample in zip(pq.read_table("out/0.parquet")["x"].to_pylist(), yielded(), strict=True):
        want = sample["x"].view(np.uint16) if dtype == "bfloat16" else sample["x"]
        array = np.load(io.BytesIO(got))
        assert array.dtype == want.dtype
        assert array.tobytes() == want.tobytes()


def test_parquet_of_several_row_groups():
    """Row groups end at 64 MiB, and pages at 1 MiB."""
    Path("arrays").mkdir()
    for i in range(9):
        np.save(f"arrays/{i}.npy", np.full(3_000_000, i, np.float32))
    text = 'headrace: 1\nsteps:\n  - files: {pattern: "arrays/*.npy"}\n  - decode_npy: {dtype: float32, shape: [3000000], to: x}\n'
    write(text + "  - batch: {size: 1}\n", "--out", "parquet:out/%d.parquet")
    file = pq.ParquetFile("out/0.parquet")
    assert file.num_row_groups == 2
    assert [np.load(io.BytesIO(v.as_py()))[-1] for v in file.read()["x"]] == list(range(9))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(), (4,), (2, 3)])
def test_arrow(dtype, shape):
    """Arrays are lists of a fixed size; pyarrow checks offsets and lengths of all buffers."""
    write(arrays(dtype, shape), "--out", "arrow:out/%d.arrow", "--shard-samples", "7")
    tables = [pa.ipc.open_file(f"out/{i}.arrow").read_all() for i in range(2)]
    table = pa.concat_tables(tables)
    table.validate(full=True)
    wide = "float32" if dtype == "bfloat16" else dtype
    want = pa.from_numpy_dtype(np.dtype(wide))
    for extent in reversed(shape):
        want = pa.list_(want, extent)
    assert table.schema.field("x").type == want
    samples = yielded()
    assert [len(t) for t in tables] == [7, 2]
    assert table["key"].to_pylist() == [sample["key"] for sample in samples]
    assert table["x"].to_pylist() == [sample["x"].astype(wide).tolist() for sample in samples]
    with hr.read("out/*.arrow").batch(9).loader(epochs=1) as loader:  # and Headrace itself
        batch = next(iter(loader))
    assert batch["x"].tolist() == [sample["x"].astype(wide).tolist() for sample in samples]


@pytest.mark.parametrize("kind", ["parquet", "arrow"])
def test_a_table_that_is_written_is_the_one_that_was_read(kind):
    """Over several batches, row groups and record batches, with text of any length, in shards that end within batches."""
    rows = 200_000
    rng = np.random.default_rng(2)
    texts = [f"{'é' * (i % 5)}{i}" for i in range(rows)]
    source = pa.table(
        {
            "n": np.arange(rows),
            "half": rng.random(rows).astype("float16"),
            "small": rng.integers(0, 99, rows).astype("int8"),
            "yes": rng.random(rows) < 0.5,
            "text": texts,
        }
    )
    pq.write_table(source, "source.parquet")
    text = "headrace: 1\nsteps:\n  - read: {from: source.parquet, fields: [n, half, small, yes, text]}\n"
    text += "  - drop: {fields: [key]}\n  - batch: {size: 1000}\n"
    write(text, "--out", f"{kind}:out/%d.{kind}", "--shard-size", "2500000")
    names = sorted(Path("out").glob(f"*.{kind}"))
    assert len(names) > 1
    assert all(path.stat().st_size < 2_600_000 for path in names)
    read = pq.read_table if kind == "parquet" else lambda name: pa.ipc.open_file(name).read_all()
    table = pa.concat_tables(read(name) for name in names)
    table.validate(full=True)
    half = source["half"].cast(pa.float32()) if kind == "parquet" else source["half"]
    for name in source.column_names:
        assert table[name].combine_chunks() == (half if name == "half" else source[name]).combine_chunks(), name


def test_arrow_refuses_arrays_of_several_shapes():
    Path("arrays").mkdir()
    for i in range(4):
        np.save(f"arrays/{i}.npy", np.zeros(i + 1, np.float32))
    text = 'headrace: 1\nsteps:\n  - files: {pattern: "arrays/*.npy"}\n  - decode_npy: {dtype: float32, to: x}\n'
    said = write(text + "  - bucket_batch: {lengths: [2, 4], size: 2}\n", "--out", "arrow:other/%d.arrow", code=2)
    assert "--out arrow: x is float32 [?]: must have one shape in all samples; tar can hold it" in said


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(), (4,), (2, 3)])
def test_jsonl(dtype, shape):
    write(arrays(dtype, shape), "--out", "jsonl:out/%d.jsonl")
    lines = [json.loads(line) for line in Path("out/0.jsonl").read_text("utf-8").splitlines()]
    for got, sample in zip(lines, yielded(), strict=True):
        assert got["key"] == sample["key"]
        x = np.array(got["x"], sample["x"].dtype)
        assert x.shape == shape
        assert x.tobytes() == sample["x"].tobytes()


def test_text_in_jsonl():
    write(recipe("drop: {fields: [image]}"), "--out", "jsonl:out/%d.jsonl", "--shard-size", "2KB")
    shards = sorted(Path("out").glob("*.jsonl"), key=lambda path: int(path.stem))
    assert len(shards) > 1
    assert all(path.stat().st_size <= 2000 for path in shards)
    got = [json.loads(line) for path in shards for line in path.read_text("utf-8").splitlines()]
    assert got == [{name: value if isinstance(value, str) else value.item() for name, value in sample.items()} for sample in yielded()]


def test_numbers_that_json_has_not():
    Path("arrays").mkdir()
    np.save("arrays/0.npy", np.float32("nan"))
    text = 'headrace: 1\nsteps:\n  - files: {pattern: "arrays/*.npy"}\n  - decode_npy: {dtype: float32, shape: [], to: x}\n'
    text += "  - batch: {size: 1}\n"
    write(text, "--out", "jsonl:out/%d.jsonl")
    assert json.loads(Path("out/0.jsonl").read_text())["x"] is None
    np.save("arrays/0.npy", np.float32("inf"))
    assert "x: +Inf is not a JSON number" in write(text, "--out", "jsonl:new/%d.jsonl", code=1)


def records(path):
    """The records of a file of TFRecord, whose checksums are compared by bits."""

    def masked(data):
        crc = 0xFFFFFFFF
        for byte in data:
            crc ^= byte
            for _ in range(8):
                crc = crc >> 1 ^ (0x82F63B78 & -(crc & 1))
        crc ^= 0xFFFFFFFF
        return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF

    data, at = Path(path).read_bytes(), 0
    while at < len(data):
        (n, sum_of_length) = struct.unpack_from("<QI", data, at)
        record = data[at + 12 : at + 12 + n]
        (sum_of_record,) = struct.unpack_from("<I", data, at + 12 + n)
        assert sum_of_length == masked(data[at : at + 8])
        assert n > 5000 or sum_of_record == masked(record)
        at += 16 + n
        yield record


def message(data):
    """The fields of a message of protocol buffers, all of which have a length here."""
    at = 0

    def varint():
        nonlocal at
        value = shift = 0
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    while at < len(data):
        tag = varint()
        assert tag & 7 == 2
        n = varint()
        yield tag >> 3, data[at : at + n]
        at += n


def features(record):
    """What a tf.train.Example has, as its description in TensorFlow says."""
    ((_, inside),) = message(record)
    found = {}
    for _, entry in message(inside):
        (_, name), (_, feature) = message(entry)
        ((kind, values),) = message(feature)
        lists = [value for _, value in message(values)]
        if kind == 2:
            found[name.decode()] = np.frombuffer(lists[0], np.float32)
        elif kind == 3:
            numbers, value, shift = [], 0, 0
            for byte in lists[0]:
                value |= (byte & 127) << shift
                shift += 7
                if byte < 128:
                    numbers.append(value - (1 << 64) if value >> 63 else value)
                    value = shift = 0
            found[name.decode()] = np.array(numbers, np.int64)
        else:
            found[name.decode()] = lists[0]
    return found


def test_tfrecord():
    write(recipe(), "--out", "tfrecord:out/train-%05d.tfrecord", "--shard-samples", "30")
    want = yielded()
    got = [features(record) for path in sorted(Path("out").glob("*.tfrecord")) for record in records(path)]
    for one, sample in zip(got, want, strict=True):
        assert one.keys() == sample.keys()
        assert np.array_equal(np.array(Image.open(io.BytesIO(one["image"]))), sample["image"])
        assert one["label"].tolist() == [sample["label"]]
        assert one["caption"].decode() == sample["caption"]
        assert one["score"].tolist() == [np.float32(sample["score"])]

    described = hr.read("out/*.tfrecord", fields={"bytes": "image", "label": "label", "caption": ("caption", str), "score": "score"})
    with described.decode_image().loader(epochs=1) as loader:
        for one, sample in zip(loader, want, strict=True):
            assert np.array_equal(one["image"], sample["image"])
            assert (one["label"], one["caption"]) == (sample["label"], sample["caption"])


@pytest.mark.parametrize("dtype", [dtype for dtype in DTYPES if dtype != "uint64"])
def test_arrays_in_tfrecord(dtype):
    write(arrays(dtype, (2, 5)), "--out", "tfrecord:out/%d.tfrecord")
    for one, sample in zip(map(features, records("out/0.tfrecord")), yielded(), strict=True):
        is_float = "float" in dtype
        assert one["x"].dtype == (np.float32 if is_float else np.int64)
        assert np.array_equal(one["x"].reshape(2, 5), sample["x"].astype(np.float32 if is_float else np.int64))


@pytest.mark.parametrize("dtype", ["uint8", "int8", "int16", "int32", "int64", "uint16"])
def test_megatron(dtype):
    write(arrays(dtype, (6,)), "--out", "bin:out/corpus-%02d.bin", "--shard-samples", "4")
    assert sorted(path.name for path in Path("out").iterdir()) == [
        *(f"corpus-{i:02}.{suffix}" for i in range(3) for suffix in ("bin", "idx")),
        "corpus.manifest.json",
    ]
    want, got = yielded(), []
    for i in range(3):  # as megatron/core/datasets/indexed_dataset.py reads it
        index = Path(f"out/corpus-{i:02}.idx").read_bytes()
        assert index[:9] == b"MMIDIDX\x00\x00"
        version, code, sequences, documents = struct.unpack_from("<QBQQ", index, 9)
        kind = [None, np.uint8, np.int8, np.int16, np.int32, np.int64, np.float64, np.float32, np.uint16][code]
        assert (version, kind, documents) == (1, np.dtype(dtype), sequences + 1)
        lengths = np.frombuffer(index, np.int32, sequences, 34)
        pointers = np.frombuffer(index, np.int64, sequences, 34 + 4 * sequences)
        of_documents = np.frombuffer(index, np.int64, documents, 34 + 12 * sequences)
        assert len(index) == 34 + 12 * sequences + 8 * documents
        assert of_documents.tolist() == list(range(documents))
        data = Path(f"out/corpus-{i:02}.bin").read_bytes()
        got += [np.frombuffer(data, kind, n, at) for n, at in zip(lengths, pointers)]
        assert len(data) == lengths.sum() * kind().itemsize
    assert [x.tolist() for x in got] == [sample["x"].tolist() for sample in want]

    with hr.read("out/*.bin", fields=["tokens"]).loader(epochs=1) as loader:
        assert [sample["tokens"].tolist() for sample in loader] == [sample["x"].tolist() for sample in want]


@pytest.mark.parametrize(
    ("target", "steps", "message"),
    [
        ("jsonl:out/%d.jsonl", [], "--out jsonl: image is an image, which JSON has no form for"),
        ("bin:out/%d.bin", [], "--out bin: image is not a sequence of whole numbers"),
        ("bin:out/%d.bin", ["select: {fields: [key]}"], "--out bin: there is no field of tokens"),
        ("bin:out/%d.tar", [], "and end in .bin, as in bin:out/train-%06d.bin"),
        ("parquet:out", [], "must have a single %d or %06d for its number"),
        ("zip:out/%d.zip", [], "must be tar:PATTERN"),
    ],
)
def test_what_is_refused(target, steps, message):
    assert message in write(recipe(*steps), "--out", target, code=2)


def test_more_that_is_refused():
    assert '--images is "png": --out jsonl writes arrays and no images' in write(
        arrays("int32"), "--out", "jsonl:out/%d.jsonl", "--images", "png", code=2
    )
    assert "x is uint64, and TensorFlow's records have int64" in write(arrays("uint64"), "--out", "tfrecord:out/%d.tfrecord", code=2)
    assert '--images is "npy": must be png, jpg or webp' in write(
        arrays("int8"), "--out", "tfrecord:out/%d.tfrecord", "--images", "npy", code=2
    )
