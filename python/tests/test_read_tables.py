"""Samples of Parquet, Arrow, JSONL and CSV, by number."""

import gzip
import io
import json
import random
import tarfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from PIL import Image

import headrace as hr
from headrace.errors import RecipeError, SampleError, SourceError

ROWS = 90
IMAGES = [{"bytes": random.Random(i).randbytes(20_000 + 100 * i), "path": f"{i}.jpg"} for i in range(ROWS)]


def table():
    numbers = range(ROWS)
    return pa.table(
        {
            "image": IMAGES,
            "label": list(numbers),
            "text": [f"text {i}" for i in numbers],
            "score": [None if i == 3 else i / 2 for i in numbers],
            "late": [None if i == 70 else i for i in numbers],
            "ids": [[i] * (i % 5) for i in numbers],
            "vector": [[i / 2, -i] for i in numbers],
            "tags": [["a", "b"] for i in numbers],
            "blobs": [[b"a"] for i in numbers],
        }
    )


def stream(path, compression):
    options = pa.ipc.IpcWriteOptions(compression=compression)
    with pa.OSFile(path, "wb") as f, pa.ipc.new_stream(f, table().schema, options=options) as w:
        for batch in table().to_batches(max_chunksize=20):
            w.write_batch(batch)


def tar(path):
    with tarfile.open(path, "w") as out:
        for i in range(ROWS):
            for suffix, data in (("cls", str(i).encode()), ("txt", f"text {i}".encode()), ("jpg", IMAGES[i]["bytes"])):
                info = tarfile.TarInfo(f"{i:04}.{suffix}")
                info.size = len(data)
                out.addfile(info, io.BytesIO(data))


@pytest.fixture(autouse=True)
def shards(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HEADRACE_CACHE", str(tmp_path / "cache"))
    pq.write_table(table(), "snappy.parquet", row_group_size=33)
    pq.write_table(table(), "zstd.parquet", compression="zstd", row_group_size=33, data_page_version="2.0")
    stream("plain.arrow", None)
    stream("lz4.arrow", "lz4")
    tar("images.tar")
    lines = [json.dumps({"text": f"text {i}", "label": i, "meta": {"score": None if i == 3 else i / 2}}) + "\n" for i in range(ROWS)]
    with open("a.jsonl", "w") as f, gzip.open("b.json.gz", "wt") as packed:
        f.writelines(lines)
        packed.writelines(lines)
    with open("a.csv", "w") as f:
        f.writelines(["text,label,score\n", *(f'"text {i}",{i},{"" if i == 3 else i / 2}\n' for i in range(ROWS))])


def labels(path, fields, check):
    """The labels in the order of a shuffled epoch, and each sample checked."""
    order = []
    with hr.read(path, fields=fields, seed=7).shuffle().loader(epochs=1) as loader:
        for s in loader:
            check(s, int(s["label"]))
            order.append(int(s["label"]))
    return order


@pytest.mark.parametrize("name", ["snappy.parquet", "zstd.parquet", "plain.arrow", "lz4.arrow"])
def test_images_beside_labels(name):
    def check(s, i):
        assert bytes(s["bytes"]) == IMAGES[i]["bytes"]
        assert s["text"] == f"text {i}"
        np.testing.assert_equal(float(s["score"]), np.nan if i == 3 else i / 2)

    order = labels(name, {"bytes": "image.bytes", "label": "label", "text": "text", "score": "score"}, check)
    assert order == labels("images.tar", {"label": "cls", "bytes": "jpg"}, lambda s, i: None)


@pytest.mark.parametrize(("name", "score"), [("a.jsonl", "meta.score"), ("b.json.gz", "meta.score"), ("a.csv", "score")])
def test_lines(name, score):
    def check(s, i):
        assert s["text"] == f"text {i}"
        np.testing.assert_equal(float(s["score"]), np.nan if i == 3 else i / 2)

    assert sorted(labels(name, {"text": "text", "label": "label", "score": (score, "float32")}, check)) == list(range(ROWS))


@pytest.mark.parametrize("name", ["snappy.parquet", "plain.arrow"])
def test_columns_that_cannot_be_read(name):
    with pytest.raises(SourceError, match=r"\"blobs\": it is .*, and only lists of numbers and of text have a place in a batch"):
        next(iter(hr.read(name, fields=["blobs"]).batch(2).loader()))
    has = r"image\.bytes, image\.path, label, text, score, late, ids, vector, tags, __key__"
    with pytest.raises(RecipeError, match="the samples have " + has):
        hr.read(name, fields=["caption"]).batch(2).loader()


@pytest.mark.parametrize("name", ["snappy.parquet", "zstd.parquet", "plain.arrow", "lz4.arrow"])
def test_lists_of_numbers_are_arrays(name):
    def check(s, i):
        assert (s["ids"].dtype, s["vector"].dtype) == (np.int64, np.float64)
        assert (s["ids"].tolist(), s["vector"].tolist()) == ([i] * (i % 5), [i / 2, -i])

    fields = {"label": "label", "ids": "ids", "vector": ("vector", ("float64", (2,)))}
    assert sorted(labels(name, fields, check)) == list(range(ROWS))
    with hr.read(name, fields={k: fields[k] for k in ("vector", "label")}).batch(9).loader(epochs=1) as loader:
        for b in loader:
            np.testing.assert_array_equal(b["vector"], np.stack([b["label"] / 2, -b["label"]], 1))
    with hr.read(name, fields=["ids", "label"]).bucket_batch([2, 5], size=9).loader(epochs=1) as loader:
        for b in loader:
            assert (b["ids"].sum(1) == b["label"] * (b["label"] % 5)).all()
    with pytest.raises(RecipeError, match=r'cannot stack sequences of different lengths: the field "ids" is int64 \[\?\]'):
        hr.read(name, fields=["ids"]).batch(9).loader()
    with (
        hr.read(name, fields={"ids": ("ids", ("int64", (2,)))}).batch(2).loader(epochs=1) as loader,
        pytest.raises(SampleError, match=r'\[0\]: field "ids": damaged: 0 bytes as int64 \[2\]'),
    ):
        list(loader)


def test_pictures_are_the_same_from_everywhere(tmp_path):
    """Order, crops and states of the same pictures do not depend on what they lie in: files, tar, Parquet, Arrow."""
    rng, pictures = np.random.default_rng(2), []
    with tarfile.open("all.tar", "w") as tar:
        for i in range(23):
            path = Path("pictures", "even" if i % 2 == 0 else "odd", f"{i:02}.png")
            path.parent.mkdir(parents=True, exist_ok=True)
            Image.fromarray(rng.integers(0, 256, (20 + i, 30, 3), np.uint8)).save(path)
            pictures.append((i % 2, path))
        pictures.sort()
        for k, (label, path) in enumerate(pictures):
            tar.add(path, f"{k:02}.png")
            info = tarfile.TarInfo(f"{k:02}.cls")
            info.size = 1
            tar.addfile(info, io.BytesIO(b"%d" % label))
    rows = pa.table({"image": [{"bytes": path.read_bytes()} for _, path in pictures], "label": [label for label, _ in pictures]})
    pq.write_table(rows, "all.parquet", row_group_size=7)
    with pa.ipc.new_stream("all.arrow", rows.schema) as writer:
        writer.write_table(rows, 5)

    sources = [{"files": {"pattern": "pictures/*/*.png", "label": "parent"}, "name": "s"}]
    sources.append({"read": {"from": "all.tar", "fields": {"bytes": "png", "label": "cls"}}, "name": "s"})
    sources += [
        {"read": {"from": f"all.{kind}", "fields": {"bytes": "image.bytes", "label": "label"}}, "name": "s"}
        for kind in ("parquet", "arrow")
    ]
    steps = [
        {"shuffle": {"seed": 5}},
        "decode_image",
        {"random_resized_crop": {"size": 16}},
        "random_flip",
        {"select": {"fields": ["image", "label"]}},
    ]
    got, states = [], []
    for source in sources:
        Path("r.yaml").write_text(json.dumps({"headrace": 1, "steps": [source, *steps, {"batch": {"size": 4}}]}))
        with hr.load("r.yaml").loader(epochs=2) as loader:
            got.append([(np.array(b["image"]), b["label"].tolist()) for _ in range(2) for b in loader])
        with hr.load("r.yaml").loader(epochs=2) as loader:
            for _, _ in zip(range(3), loader, strict=False):
                pass
            state = loader.state_dict()
            del state["recipe"], state["steps"][0]
            state["sources"]["s"].pop("shards", None)
            states.append(state)
    assert len(got[0]) == 12
    for other in got[1:]:
        for (image, label), (same, also) in zip(got[0], other, strict=True):
            assert label == also
            np.testing.assert_array_equal(image, same)
    assert states == [states[0]] * 4


@pytest.mark.parametrize(
    ("name", "fields", "shuffle", "least", "most"),
    [
        ("words.tar", {"image": "jpg"}, {}, 1.0, 1.1),  # with the header before it
        ("words.tar", {"image": "jpg", "label": "cls"}, {}, 1.0, 1.15),  # with the headers before and between them
        ("plain.parquet", {"image": "image.bytes", "label": "label"}, {}, 0.99, 1.02),
        ("snappy.parquet", {"image": "image.bytes"}, {}, 1.0, 1.7),
        ("zstd.parquet", {"image": "image.bytes"}, {"window": 30}, 0.5, 1.1),
    ],
)
def test_what_was_read_for_what_is_used(name, fields, shuffle, least, most):
    """Random access reads a sample's own bytes, and a window what samples share once."""
    if name == "words.tar":
        tar(name)
    elif name == "plain.parquet":
        pq.write_table(table(), name, compression="none", row_group_size=33)
    with hr.read(name, fields=fields).shuffle(seed=1, **shuffle).loader(epochs=1) as loader:
        used = sum(len(sample["image"]) for sample in loader)
        stats = loader.stats()
    assert stats["shards"]["used_bytes"] == pytest.approx(used, rel=0.01)
    assert least <= stats["shards"]["read_bytes"] / stats["shards"]["used_bytes"] <= most
    assert "shards: " in stats["text"]


def test_reading_more_than_is_used_is_said():
    """Rows of a page that is unpacked for each of them, where nothing is kept of it."""
    texts = [random.Random(i).randbytes(1000).hex() for i in range(300)]
    pq.write_table(pa.table({"text": texts}), "long.parquet", compression="zstd")
    for options, least, most in (({"memory": "1MiB"}, 20, 1000), ({}, 0.4, 1.0)):  # compressed, it is less than is used of it
        with hr.read("long.parquet", fields=["text"]).shuffle(seed=1).loader(epochs=1, **options) as loader:
            assert sorted(sample["text"] for sample in loader) == sorted(texts)
            stats = loader.stats()
        times = stats["shards"]["read_bytes"] / stats["shards"]["used_bytes"]
        assert least < times < most
        assert (times > 2) == ("shuffle(window=…) reads what samples share once" in " ".join(stats["text"].split()))
