"""What `headrace run --out` writes is what the loader yields, as other programs read it: tarfile, NumPy, WebDataset, Pillow."""

from __future__ import annotations

import gc
import io
import json
import os
import signal
import subprocess
import tarfile
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
import webdataset as wds
from PIL import Image

import headrace as hr
from conftest import DEBUG_ENGINE, PHOTOS
from headrace._client.program import find_program

EPOCHS = 2

HEAD = """
headrace: 1
seed: 7
steps:
  - files: {pattern: "photos/*/*.jpg", label: parent}
  - shuffle
  - decode_image
  - random_resized_crop: {size: [24, 20]}
"""

RECIPES = {
    "uint8": HEAD + "  - batch: {size: 4}\n",
    "float32": HEAD + "  - normalize: {mean: 0.5, std: 0.25}\n  - layout: {layout: NCHW}\n  - batch: {size: 4}\n",
    "bfloat16": HEAD + "  - normalize: {mean: 0.5, std: 0.25, dtype: bfloat16}\n  - batch: {size: 4}\n",
    "gray": HEAD.replace("decode_image", "decode_image: {color: gray}") + "  - batch: {size: 4}\n",
    "no label": HEAD.replace(", label: parent", "") + "  - batch: {size: 4}\n",
}


@pytest.fixture(params=list(RECIPES))
def recipe(request, tmp_path, monkeypatch, photos) -> str:
    """The text of a recipe, which is in the current folder, beside its images."""
    monkeypatch.chdir(tmp_path)
    Path("photos").symlink_to(photos)
    Path("recipe.yaml").write_text(RECIPES[request.param])
    return RECIPES[request.param]


def run(*args: str, **options: Any) -> subprocess.CompletedProcess[str]:
    return subprocess.run([find_program(), "run", "recipe.yaml", *args], capture_output=True, text=True, **options)


def write(*args: str) -> None:
    done = run("--epochs", str(EPOCHS), *args)
    assert done.returncode == 0, done.stderr


def yielded() -> list[dict[str, Any]]:
    """The samples of all epochs, one by one."""
    samples = []
    with hr.load("recipe.yaml").loader(epochs=EPOCHS) as loader:
        for _ in range(EPOCHS):
            for batch in loader:
                samples += [
                    {name: np.array(values[i]) if name != "key" else values[i] for name, values in batch.items()}
                    for i in range(len(batch["key"]))
                ]
    assert len(samples) == EPOCHS * PHOTOS
    return samples


def contents(folder: str) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in Path(folder).iterdir()}


def bits(array: np.ndarray) -> np.ndarray:
    return array.view(np.uint16) if array.dtype == ml_dtypes.bfloat16 else array


def read_by_webdataset(shards: list[str], decode: str | None = None) -> list[dict[str, Any]]:
    samples = list(wds.WebDataset(shards, shardshuffle=False).decode(*([decode] if decode else [])))
    gc.collect()  # it leaves its files open: here the warnings are ignored
    return samples


careless = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning", "ignore::ResourceWarning")


def test_npy(recipe):
    write("--out", "npy:out")
    want = yielded()
    manifest = json.loads(Path("out/manifest.json").read_text())
    arrays = {path.stem: np.load(path, mmap_mode="r") for path in Path("out").glob("*.npy")}
    assert set(arrays) == set(want[0]) - {"key"}
    for name, array in arrays.items():
        expected = np.stack([bits(sample[name]) for sample in want])
        assert (array.dtype, array.shape) == (expected.dtype, expected.shape)
        assert np.array_equal(array, expected)
        assert array.offset % 64 == 0
        assert not array.flags.writeable
    keys = [json.loads(line) for line in Path("out/key.jsonl").read_text().splitlines()]
    assert keys == [sample["key"] for sample in want]
    assert manifest["samples"] == len(want)
    assert manifest["epochs"] == [{"samples": PHOTOS, "lost": 0}] * EPOCHS
    assert manifest.get("classes") == (None if "label" not in want[0] else ["ant", "bee", "cat"])
    fields = {field["name"]: field for field in manifest["fields"]}
    assert set(fields) == set(want[0])
    assert fields["image"]["dtype"] == str(want[0]["image"].dtype)
    assert ("ml_dtypes" in fields["image"].get("note", "")) == (fields["image"]["dtype"] == "bfloat16")
    if fields["image"]["dtype"] == "bfloat16":
        assert np.array_equal(arrays["image"][3].view(ml_dtypes.bfloat16), want[3]["image"])


def test_tar(recipe):
    write("--out", "tar:out/train-%04d.tar", "--shard-samples", "20")
    want = yielded()
    shards = sorted(Path("out").glob("*.tar"))
    assert [shard.name for shard in shards] == [f"train-{i:04d}.tar" for i in range(5)]
    members: list[tuple[str, bytes]] = []
    for shard in shards:
        with tarfile.open(shard) as archive:
            assert all(member.isreg() and member.mtime == 0 and member.mode == 0o644 for member in archive.getmembers())
            members += [(member.name, archive.extractfile(member).read()) for member in archive.getmembers()]
    assert len({name for name, _ in members}) == len(members) == len(want) * len(want[0])
    grouped: dict[str, dict[str, bytes]] = {}
    for name, content in members:
        stem, suffix = name.split(".", 1)
        grouped.setdefault(stem, {})[suffix] = content
    assert list(grouped) == sorted(grouped), "in the order in which they were made"
    for number, ((stem, got), sample) in enumerate(zip(grouped.items(), want, strict=True)):
        assert stem == f"e{number // PHOTOS}-{number:09d}-" + sample["key"].removeprefix("photos/").removesuffix(".jpg").replace("/", "-")
        assert np.array_equal(np.load(io.BytesIO(got["npy"])), bits(sample["image"]))
        assert got["key.txt"].decode() == sample["key"]
        assert ("cls" in got) == ("label" in sample)
        if "label" in sample:
            assert int(got["cls"]) == sample["label"]


@careless
def test_webdataset(recipe):
    write("--out", "tar:out/train-%04d.tar", "--shard-size", "40KB")
    shards = sorted(map(str, Path("out").glob("*.tar")))
    assert len(shards) > 2
    assert all(os.path.getsize(shard) <= 40_000 for shard in shards)
    want = yielded()
    got = read_by_webdataset(shards)
    assert len(got) == len(want)
    for sample, expected in zip(got, want, strict=True):
        assert np.array_equal(sample["npy"], bits(expected["image"]))
        assert sample["key.txt"] == expected["key"]
        assert sample.get("cls") == expected.get("label")


@careless
@pytest.mark.parametrize("recipe", ["uint8", "gray"], indirect=True)
@pytest.mark.parametrize("form", ["png", "jpg", "webp"])
def test_pictures(recipe, form):
    write("--out", "tar:out/train-%04d.tar", "--images", form)
    want = yielded()
    got = read_by_webdataset(["out/train-0000.tar"], "pil")
    assert len(got) == len(want)
    for sample, expected in zip(got, want, strict=True):
        image = sample[form]
        given = expected["image"] if expected["image"].shape[2] == 3 else expected["image"][:, :, 0]
        if form == "jpg":  # the same as from Pillow's encoder, but for rounding
            file = io.BytesIO()
            Image.fromarray(given).save(file, "JPEG", quality=95)
            by_pillow = np.asarray(Image.open(file).convert("RGB")).astype(int)
            assert np.abs(np.asarray(image) - by_pillow).max() <= 8
        else:
            assert np.array_equal(np.asarray(image), np.asarray(Image.fromarray(given).convert("RGB")))
    with tarfile.open("out/train-0000.tar") as archive:
        pictures = [Image.open(archive.extractfile(name)) for name in archive.getnames() if name.endswith(form)]
        assert {picture.format for picture in pictures} == {{"jpg": "JPEG"}.get(form, form.upper())}


@pytest.mark.parametrize("recipe", ["float32"], indirect=True)
def test_what_is_no_picture_is_refused(recipe):
    done = run("--out", "tar:out/%d.tar", "--images", "jpg")
    assert done.returncode == 2
    assert done.stderr.startswith("headrace: --out: options do not fit: --images jpg: image is float32 [3, 24, 20]: must be uint8")


@pytest.mark.parametrize("recipe", ["uint8"], indirect=True)
def test_a_crash_in_c_names_the_sample(recipe):
    """Anyone who sees it knows which file it was; what was written before is safe, and the run goes on."""
    args = ["run", "recipe.yaml", "--quiet", "--workers", "1", "--checkpoint", "0s", "--out"]
    environment = {**os.environ, "HEADRACE_TEST_CRASH": "/040.jpg"}
    done = subprocess.run([DEBUG_ENGINE, *args, "npy:crashed"], env=environment, capture_output=True, text=True)
    assert done.returncode == -signal.SIGABRT
    first = next(line for line in done.stderr.splitlines() if line.startswith("goroutine "))
    assert '{"sample": "photos/bee/040.jpg"}' in first
    assert not Path("crashed/manifest.json").exists()
    for folder in ("crashed", "whole"):
        assert subprocess.run([DEBUG_ENGINE, *args, f"npy:{folder}"]).returncode == 0
    assert contents("crashed") == contents("whole")
