"""The builder: what it describes, and what it refuses before anything runs."""

from __future__ import annotations

import json
import os
import pickle
from pathlib import Path

import pytest

import headrace as hr

pytestmark = pytest.mark.smoke


def test_recipe():
    recipe = (
        hr.files("data/*.jpg", label="parent", seed=7)
        .shuffle(seed=3)
        .decode_image()
        .resize(256, max_size=300)
        .center_crop((224, 192))
        .random_flip(0.25)
        .batch(32, drop_last=True)
        ._described()
    )
    assert recipe == {
        "headrace": 1,
        "seed": 7,
        "steps": [
            {"files": {"pattern": "data/*.jpg", "root": os.getcwd(), "label": "parent"}},
            {"shuffle": {"seed": 3}},
            {"decode_image": {}},
            {"resize": {"size": 256, "max_size": 300}},
            {"center_crop": {"size": [224, 192]}},
            {"random_flip": {"p": 0.25}},
            {"batch": {"size": 32, "drop_last": True}},
        ],
    }
    assert json.loads(json.dumps(recipe)) == recipe


def test_random_resized_crop_and_global_batches():
    steps = hr.files(["a.jpg"]).random_resized_crop(224, scale=(0.1, 1), ratio=(1, 2)).batch(global_size=256)._described()["steps"]
    assert steps[1] == {"random_resized_crop": {"size": 224, "scale": [0.1, 1.0], "ratio": [1.0, 2.0]}}
    assert steps[2] == {"batch": {"global_size": 256, "drop_last": False}}


def test_operations_on_images():
    steps = (
        hr.files("x")
        .decode_image(mode="fast", color="gray", background=(1, 2, 3), dtype="uint16", frame=0, max_pixels=9)
        .resize((2, 3), filter="lanczos")
        .resize_to_bucket([(2, 3), 4], filter="box")
        .random_crop(5)
        .pad((1, 2), fill=(3, 4, 5))
        .random_vertical_flip()
        .rotate90(-1)
        .random_rotate90()
        .color_jitter(0.4, hue=(-0.1, 0.2))
        .grayscale(3)
        .random_grayscale()
        .normalize((0.1, 0.2, 0.3), 1, "float16")
        .layout("NCHW")
        ._described()["steps"][1:]
    )
    assert [next(iter(step.items())) for step in steps] == [
        ("decode_image", {"mode": "fast", "color": "gray", "background": [1, 2, 3], "dtype": "uint16", "frame": 0, "max_pixels": 9}),
        ("resize", {"size": [2, 3], "filter": "lanczos"}),
        ("resize_to_bucket", {"sizes": [[2, 3], 4], "filter": "box"}),
        ("random_crop", {"size": 5}),
        ("pad", {"padding": [1, 2], "fill": [3, 4, 5]}),
        ("random_vertical_flip", {"p": 0.5}),
        ("rotate90", {"turns": -1}),
        ("random_rotate90", {"p": 1.0}),
        ("color_jitter", {"brightness": 0.4, "contrast": 0.0, "saturation": 0.0, "hue": [-0.1, 0.2]}),
        ("grayscale", {"channels": 3}),
        ("random_grayscale", {"p": 0.1}),
        ("normalize", {"mean": [0.1, 0.2, 0.3], "std": 1.0, "dtype": "float16"}),
        ("layout", {"layout": "NCHW"}),
    ]


def test_numbers_of_numpy_are_numbers():
    np = pytest.importorskip("numpy")
    steps = hr.files("x").pad(np.array([1, 2])).random_flip(np.float32(0.5)).normalize(np.float64(0.5), np.ones(3)).rotate90(np.int8(3))
    assert [next(iter(step.values())) for step in steps._described()["steps"][1:]] == [
        {"padding": [1, 2], "fill": 0},
        {"p": 0.5},
        {"mean": 0.5, "std": [1.0, 1.0, 1.0]},
        {"turns": 3},
    ]
    json.dumps(steps._described())


@pytest.mark.parametrize(
    ("add", "message"),
    [
        (lambda p: p.random_flip("often"), "p is 'often': must be a number"),
        (lambda p: p.random_flip(float("nan")), "p is nan: must be a number"),
        (lambda p: p.color_jitter(hue=float("inf")), "hue is inf: must be a number"),
        (lambda p: p.color_jitter(0.4, p="often"), "p is 'often': must be a number"),
        (lambda p: p.normalize((0.5, None, 0.5), 1), "mean is None: must be a number"),
        (lambda p: p.random_resized_crop(3, scale=0.5), r"scale is 0\.5: must be \(least, greatest\)"),
        (lambda p: p.pad(1.5), r"padding is 1\.5: must be a whole number"),
        (lambda p: p.resize("big"), "size is 'big': must be a whole number"),
        (lambda p: p.decode_image(frame="first"), "frame is 'first': must be a whole number"),
        (lambda p: p.decode_image(max_pixels=1e6), r"max_pixels is 1000000\.0: must be a whole number"),
        (lambda p: p.decode_image(background=(1, 2, 3.5)), r"background is 3\.5: must be a whole number"),
    ],
)
def test_what_is_no_number(add, message):
    with pytest.raises(hr.RecipeError, match=message):
        add(hr.files("x"))


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("x/*.jpg", {"pattern": "x/*.jpg"}),
        (Path("x"), {"pattern": "x"}),
        (b"x/\xff", {"pattern": "x/\udcff"}),
        (["a.jpg", Path("b.jpg"), b"c\xff.jpg"], {"paths": ["a.jpg", "b.jpg", "c\udcff.jpg"]}),
        ([("a.jpg", 1), (Path("b.jpg"), 0)], {"pairs": [["a.jpg", 1], ["b.jpg", 0]]}),
        (iter(["a.jpg"]), {"paths": ["a.jpg"]}),
        ([], {"paths": []}),
    ],
)
def test_sources(source, expected):
    args = hr.files(source)._described()["steps"][0]["files"]
    assert args.pop("root") == os.getcwd()
    assert args == expected


@pytest.mark.parametrize("source", [[("a.jpg", 1), "b.jpg"], ["a.jpg", ("b.jpg", 1)], [("a", 1, 2)], [3], 5])
def test_sources_that_are_none(source):
    with pytest.raises((hr.RecipeError, TypeError)):
        hr.files(source)


def test_numpy_labels_are_whole_numbers():
    np = pytest.importorskip("numpy")
    args = hr.files([("a.jpg", np.int64(3))])._described()["steps"][0]["files"]
    assert json.dumps(args["pairs"]) == '[["a.jpg", 3]]'


def test_the_root_is_where_files_was_called(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    description = hr.files("x")
    monkeypatch.chdir("/")
    assert description._described()["steps"][0]["files"]["root"] == str(tmp_path)


def test_a_pipeline_never_changes():
    base = hr.files("x").decode_image()
    one, two = base.resize(32), base.resize(64)
    assert [len(p._described()["steps"]) for p in (base, one, two)] == [2, 3, 3]
    assert one != two
    assert one == base.resize(32)


def test_it_can_be_pickled():
    description = hr.files("x").decode_image().batch(3).to("torch")
    assert pickle.loads(pickle.dumps(description)) == description


def test_repr():
    text = repr(hr.files([f"{i}.jpg" for i in range(100)]).resize(5))
    assert "100 items" in text
    assert text.endswith(".resize(size=5)")


@pytest.mark.parametrize(
    ("amount", "bytes"), [(5, 5), ("5", 5), ("2GiB", 2 << 30), ("1.5 kb", 1500), ("512 MiB", 512 << 20), ("1TB", 10**12), (None, None)]
)
def test_amounts_of_memory(amount, bytes):
    from headrace._recipe.arguments import byte_count

    assert byte_count("memory", amount) == bytes


@pytest.mark.parametrize("amount", ["", "much", "5 bits", "GiB", "1e", "--3", "2 Gi B"])
def test_amounts_that_are_none(amount):
    with pytest.raises(hr.RecipeError, match="memory is"):
        hr.files("x").loader(memory=amount)


def test_formats():
    with pytest.raises(hr.RecipeError, match="must be 'numpy', 'torch' or 'jax'"):
        hr.files("x").to("tensorflow")


def test_the_environment_of_torchrun_is_checked(monkeypatch):
    monkeypatch.setenv("RANK", "first")
    with pytest.raises(hr.RecipeError, match="RANK in the environment is 'first'"):
        hr.files("x").loader()
