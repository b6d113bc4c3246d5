"""Samples of files that hold many of them."""

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
        ({"source": "train-000.tar", "format": 3}, RecipeError, "takes the name of a format"),
        ({"source": "train-000.tar", "fields": {"a": 3}}, RecipeError, "takes the name of a part"),
        ({"source": "train-000.tar", "fields": {3: "a"}}, RecipeError, "takes names of fields"),
        ({"source": "train-000.tar", "fields": {"a": ("cls", "int65")}}, RecipeError, "takes an object like"),
        ({"source": 3}, RecipeError, "is no path"),
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
