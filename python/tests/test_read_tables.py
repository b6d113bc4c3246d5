"""Samples of Parquet, Arrow, JSONL and CSV, by number."""

import gzip
import io
import json
import random
import tarfile

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

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
    with pytest.raises(SourceError, match=r"\"tags\": it is .*, and only lists of numbers have a place in a batch"):
        next(iter(hr.read(name, fields=["tags"]).batch(2).loader()))
    # The null is in the third group of rows, after others have had numbers.
    with pytest.raises(SourceError, match=r"\"late\": it has no value in row \d+ of a .* \(null\)"):
        next(iter(hr.read(name, fields=["late"]).batch(2).loader()))
    has = r"image\.bytes, image\.path, text, (ids, vector, )?label, score"
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
