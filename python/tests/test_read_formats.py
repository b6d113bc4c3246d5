"""Samples of formats that other libraries write, from the files that their own writers made (scripts/shard_goldens.py)."""

import base64
import json
import subprocess
from pathlib import Path

import numpy as np
import pytest

import headrace as hr
from headrace._client.program import find_program

SHARDS = Path(__file__).parents[2] / "shard"

CASES = {
    "tfrecord/testdata/plain.tfrecord": {
        "bytes": ("image/encoded", "bytes"),
        "label": ("image/class", "int64"),
        "score": ("score", "float32"),
    },
    "mds/testdata/plain/index.json": {"bytes": "a_bytes", "label": "d_uint8", "text": "b_str", "matrix": "i_fixed"},
    "litdata/testdata/plain/index.json": {"bytes": "bytes", "label": "label", "text": "text"},
    "zipfile/testdata/deflated.npz": {"image": "images", "label": "labels"},
    "npy/testdata/images.npy": {"image": "array"},
    "zipfile/testdata/stored.zip": {"bytes": "jpg"},
}


def golden(path):
    """What the library that wrote the shards reads in them."""
    folder = path.parent
    names = sorted(folder.glob("*.json")) if path.name == "index.json" else [folder / f"{path.name}.json"]
    return [s["fields"] for name in names if name.name != "index.json" for s in json.loads(name.read_text())]


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("HEADRACE_CACHE", str(tmp_path))


@pytest.mark.parametrize("name", CASES)
def test_samples_are_what_their_writers_read(name):
    fields = CASES[name]
    want = golden(SHARDS / name)
    # Records at the end of the TFRecord have other features.
    with hr.read(SHARDS / name, fields=fields).loader(epochs=1, on_error="skip") as loader:
        got = [{field: sample[field] for field in fields} for sample in loader]
    names = {field: of if isinstance(of, str) else of[0] for field, of in fields.items()}
    want = [w for w in want if all(of in w for of in names.values())]
    assert len(got) == len(want) > 0
    for one, other in zip(got, want, strict=True):
        for field, of in names.items():
            data = base64.b64decode(other[of]["bytes"])
            if other[of]["type"] in ("bytes", "text"):
                assert one[field] == (data.decode() if isinstance(one[field], str) else data)
            else:
                dtype = other[of]["type"].partition(" ")[0]
                assert np.asarray(one[field], dtype).tobytes() == data


@pytest.mark.parametrize("kind", ["parquet", "arrow", "jsonl", "tar"])
def test_a_folder_that_run_wrote(kind, tmp_path, monkeypatch):
    """The manifest beside its files is left out. A table that another program calls so is read."""
    monkeypatch.chdir(tmp_path)
    Path("in.jsonl").write_text('{"n": 3}\n{"n": 4}\n')
    Path("r.yaml").write_text("headrace: 1\nsteps:\n  - read: {from: in.jsonl, fields: [n]}\n  - batch: {size: 1}\n")
    for out in (f"{kind}:out/%05d.{kind}", f"{kind}:named/train-%05d.{kind}"):
        subprocess.run([find_program(), "run", "r.yaml", "--quiet", "--out", out], check=True)
    assert [p.name for p in Path("named").glob("*manifest*")] == ["train.manifest.json"]
    for name in ("out", "out/*", "named", "named/*"):
        with hr.read(name).loader(epochs=1) as loader:
            assert len(loader) == 2
            assert kind == "tar" or [s["n"] for s in loader] == [3, 4]
    Path("other").mkdir()
    for name in ("a.jsonl", "manifest.json"):
        Path("other", name).write_text('{"n": 5}\n')
    with hr.read("other").loader(epochs=1) as loader:
        assert [s["n"] for s in loader] == [5, 5]
