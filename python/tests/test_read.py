"""Samples of files that hold many of them."""

import gzip
import io
import json
import os
import subprocess
import tarfile

import numpy as np
import pytest

import headrace as hr
from headrace.errors import RecipeError, SourceError


def write(path, names):
    """A tar file with samples as WebDataset has them."""
    with tarfile.open(path, "w") as tar:
        for i, name in enumerate(names):
            parts = {
                "bin": np.arange(i, i + 3, dtype="<f4").tobytes(),
                "cls": b"%d" % (i % 3),
                "json": json.dumps({"text": f"é {name}", "size": {"w": i}}).encode(),
            }
            for suffix, data in parts.items():
                info = tarfile.TarInfo(f"{name}.{suffix}")
                info.size = len(data)
                tar.addfile(info, io.BytesIO(data))


@pytest.fixture(autouse=True)
def shards(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HEADRACE_CACHE", str(tmp_path / "cache"))
    for k in range(3):
        write(f"train-{k:03}.tar", [f"{k}/{i:04}" for i in range(5)])


FIELDS = {"text": "json.text", "label": "cls", "w": ("json.size.w", "float32"), "vector": ("bin", ("float32", 3))}


def test_fields_and_types():
    with hr.read("train-{000..002}.tar", fields=FIELDS).batch(15).loader(epochs=1) as loader:
        (batch,) = loader
    assert list(batch["key"]) == [f"{k}/{i:04}" for k in range(3) for i in range(5)]
    assert list(batch["text"]) == [f"é {key}" for key in batch["key"]]
    assert batch["label"].dtype == np.int64
    assert batch["label"].tolist() == [i % 3 for i in range(5)] * 3
    assert batch["w"].dtype == np.float32
    assert batch["w"].tolist() == [0, 1, 2, 3, 4] * 3
    assert batch["vector"].shape == (15, 3)
    assert batch["vector"][1].tolist() == [1, 2, 3]


def test_a_recipe_says_the_same(tmp_path):
    pipeline = hr.read(["train-000.tar", "train-00[12].tar"], fields=FIELDS, seed=3).shuffle().batch(4)
    (tmp_path / "read.yaml").write_text(pipeline.recipe("yaml"))
    here = hr.load("read.yaml")
    with pipeline.loader(epochs=1) as one, here.loader(epochs=1) as other:
        assert [list(b["key"]) for b in one] == [list(b["key"]) for b in other]
    assert "train-00[12].tar" in repr(here)
    names = hr.read("train-000.tar", fields=["json", "cls"]).batch(5)
    with names.loader(epochs=1) as loader:
        (batch,) = loader
    assert json.loads(batch["json"][2])["size"] == {"w": 2}


def test_a_state_goes_on_where_the_shards_were_moved_to(tmp_path):
    def keys(root, state=None, stop=None):
        got = []
        with hr.read(f"{root}/train-*.tar", fields={"label": "cls"}).shuffle().batch(4).loader(epochs=1) as loader:
            if state is not None:
                loader.load_state_dict(state)
            for batch in loader:
                got.append(list(batch["key"]))
                if len(got) == stop:
                    return got, loader.state_dict()
        return got, None

    whole, _ = keys(".")
    first, state = keys(".", stop=2)
    os.makedirs("moved")
    for k in range(3):
        os.rename(f"train-{k:03}.tar", f"moved/train-{k:03}.tar")
    assert first + keys("moved", state)[0] == whole
    write("moved/train-001.tar", [f"1/{i:04}" for i in range(1, 6)])
    with pytest.raises(Exception, match=r"train-001\.tar"):
        keys("moved", state)


def test_arrays_that_are_images(tmp_path):
    images = np.random.default_rng(1).integers(0, 255, (7, 9, 8, 3), dtype=np.uint8)
    np.save("images.npy", images)
    with hr.read("images.npy", fields={"image": "array"}).center_crop((5, 4)).batch(7).loader(epochs=1) as loader:
        (batch,) = loader
    assert np.array_equal(batch["image"], images[:, 2:7, 2:6])


@pytest.mark.parametrize(
    ("arguments", "error", "says"),
    [
        ({"source": "train-000.tar", "fields": {"a": "clz"}}, RecipeError, 'did you mean "cls"'),
        ({"source": "train-00{0..9}.tar"}, SourceError, "train-003.tar"),
        ({"source": "train-000.tar", "format": "zarr"}, SourceError, 'no format "zarr"'),
        ({"source": "train-000.tar", "format": 3}, RecipeError, "must be the name of a format"),
        ({"source": "train-000.tar", "fields": {"a": 3}}, RecipeError, "must be the name of a part"),
        ({"source": "train-000.tar", "fields": {3: "a"}}, RecipeError, "must be names of fields"),
        ({"source": "train-000.tar", "fields": {"a": ("cls", "int65")}}, RecipeError, "must be an object like"),
        ({"source": 3}, RecipeError, "is not a path"),
    ],
)
def test_mistakes(arguments, error, says):
    with pytest.raises(error, match=says):
        hr.read(**arguments).batch(2).loader().close()


def test_inspect_and_index(tmp_path):
    from headrace._client.program import find_program

    def run(*args):
        return subprocess.run([find_program(), *args], capture_output=True, text=True, check=True).stdout

    found = json.loads(run("inspect", "train-{000..002}.tar", "--json"))
    assert (found["format"], found["shards"], found["samples"]) == ("tar", 3, 15)
    assert [(f["name"], f["type"], f["samples"]) for f in found["fields"]] == [
        ("bin", "bytes", 15),
        ("cls", "int64", 15),
        ("json", "text", 15),
    ]
    assert "tar: 15 samples in 3 shards of 5 samples each" in run("inspect", "train-{000..002}.tar")
    assert "3 had an index that fits" in run("index", "train-{000..002}.tar")
    assert "3 indexed in" in run("index", "train-*.tar", "--force", "--beside")
    assert any(name.endswith(".hri") for name in os.listdir("_headrace"))


def compressed(lines):
    """Shards of JSON lines, each of which is unpacked as one."""
    for k, n in enumerate(lines):
        text = "".join(json.dumps({"key": f"{k}/{i}", "n": i}) + "\n" for i in range(n))
        with gzip.open(f"c4-{k}.json.gz", "wt") as file:
            file.write(text)


def test_windows_keep_neighbours_together(tmp_path):
    from headrace._client.program import find_program

    compressed([50, 40, 60, 30, 20])
    pipeline = hr.read("c4-*.json.gz", fields=["key", "n"], seed=4).shuffle(window=80).batch(16)
    with pipeline.loader(epochs=2) as loader:
        epochs = [[key for batch in loader for key in batch["key"]] for _ in range(2)]
    assert sorted(epochs[0]) == sorted(epochs[1]) == sorted(f"{k}/{i}" for k, n in enumerate([50, 40, 60, 30, 20]) for i in range(n))
    assert epochs[0] != epochs[1]
    for keys in epochs:
        for shard in "01234":
            places = [at for at, key in enumerate(keys) if key[0] == shard]
            assert places[-1] - places[0] < 80 + 60
            assert [keys[at] for at in places] != [f"{shard}/{i}" for i in range(len(places))]

    (tmp_path / "c4.yaml").write_text(pipeline.recipe("yaml"))
    assert "shuffle: {window: 80}" in (tmp_path / "c4.yaml").read_text()
    with hr.load("c4.yaml").loader(epochs=1) as loader:
        assert [key for batch in loader for key in batch["key"]] == epochs[0]

    told = subprocess.run([find_program(), "inspect", "c4-*.json.gz"], capture_output=True, text=True, check=True).stdout
    assert "about 40 samples are unpacked together: .shuffle() may unpack them for each one, .shuffle(window=65_536) does it once" in told
    told = subprocess.run([find_program(), "inspect", "c4.yaml"], capture_output=True, text=True, check=True).stdout
    assert "shuffled again in each, in windows of 80 samples" in " ".join(told.split())
    told = subprocess.run([find_program(), "inspect", "train-*.tar"], capture_output=True, text=True, check=True).stdout
    assert "unpacked" not in told


@pytest.mark.parametrize(("window", "says"), [(0, "window is 0: must be from 1"), (-3, "window is -3"), ("8", "must be a whole number")])
def test_windows_that_cannot_be(window, says):
    with pytest.raises(RecipeError, match=says):
        hr.read("train-*.tar", fields=FIELDS).shuffle(window=window).batch(4).loader()
