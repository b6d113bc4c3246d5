"""Recipes in files, as Python reads and writes them. Independent judges are PyYAML and the package jsonschema."""

from __future__ import annotations

import contextlib
import functools
import inspect
import json
import os
import random
import subprocess
import sys
from pathlib import Path

import jsonschema
import numpy as np
import pytest
import yaml

import functions
import headrace as hr
from conftest import pipeline
from headrace._client.program import find_program
from headrace._steps import ON_IMAGES
from steps import of_schema, operations, right

TRAIN = """\
headrace: 1
vars:
  root: data/train
  size: 224
  flip: null
seed: 3
steps:
  - files: {pattern: "${root}/*/*.JPEG", label: parent}
  - shuffle
  - decode_image
  - resize: {size: 256}
  - center_crop: {size: "${size}"}
  - {random_flip: {p: "${flip}"}, name: flip}
  - batch: {size: 32}
loader: {epochs: 2, on_error: skip, max_errors: 0.25, memory: 512MiB, prefetch: 3, workers: null}
"""

# How to call methods with arguments drawn at random, if their arguments depend on each
# other, or have more forms in Python than in a recipe. The schema says how to call all
# others: of_schema.
RANDOM = {
    "select": lambda r: r.sample(["image", "key"], r.choice([1, 2])),
    "drop": lambda r: ["key"],
    "copy": lambda r: {"field": "key", "to": r.choice([["a"], ["no", "b c"]])},
    "rename": lambda r: {"key": r.choice(["name", "Na me"])},
    "shuffle": lambda r: {"seed": r.choice([None, 0, 2**64 - 1])},
    "decode_image": lambda r: {
        "mode": r.choice([None, "exact", "fast"]),
        "orient": r.choice([None, True, False]),
        "color": r.choice([None, "rgb"]),
        "background": r.choice([None, (1, 0, 255)]),
        "dtype": r.choice([None, "uint8"]),
        "frame": r.choice([None, 0]),
        "max_pixels": r.choice([None, 1, 178_956_969]),
        "field": r.choice([None, "bytes"]),
        "to": r.choice([None, "image", "no", "yes", "1e3", "y", "null", "a b", "é: #", "~", "'", "$x", "${x}", "$$"]),
    },
    "resize": lambda r: {"size": r.choice([r.randint(1, 999), (3, 4), np.int64(7)]), "max_size": None, "filter": filter_of(r)},
    "resize_to_bucket": lambda r: {"sizes": [(r.randint(1, 999), 4), (5, r.randint(1, 999)), 6][: r.randint(1, 3)], "filter": filter_of(r)},
    "random_resized_crop": lambda r: {
        "size": r.choice([9, (3, 4)]),
        "scale": r.choice([None, (0.1, 1), (r.random() / 2 + 1e-9, 0.75)]),
        "ratio": r.choice([None, (1e-3, 3)]),
        "filter": filter_of(r),
    },
    "pad": lambda r: {"padding": r.choice([0, (1, 2), (1, 2, 3, 4)]), "fill": r.choice([0, 9, (1, 2, 3)])},
    "rotate90": lambda r: {"turns": r.randint(-9, 9)},
    "rotate": lambda r: {"angle": r.uniform(-400, 400), "filter": warp_of(r), "expand": True, "center": r.choice([None, (3, 4.5)])},
    "random_rotation": lambda r: {"degrees": r.choice([15, (-3, 90)]), "filter": warp_of(r), "fill": r.choice([0, (1, 2, 3)])},
    "affine": lambda r: {"angle": r.random(), "translate": r.choice([None, (3, -4.5)]), "shear": r.choice([None, (1, 2)])},
    "random_affine": lambda r: {
        "degrees": r.choice([15, (-3, 90)]),
        "translate": r.choice([None, (0.1, 1)]),
        "scale": r.choice([None, (0.5, 2)]),
        "shear": r.choice([None, 5, (-1, 2), (1, 2, 3, 4)]),
        "filter": warp_of(r),
    },
    "perspective": lambda r: {
        "start": [(0, 0), (9, 0), (9, 9), (0, 9)],
        "end": [[r.randrange(9), r.randrange(9)] for _ in range(4)],
        "filter": warp_of(r),
    },
    "random_perspective": lambda r: {"distortion_scale": r.random(), "p": r.choice([0.25, 1]), "filter": warp_of(r)},
    "elastic": lambda r: {"alpha": r.choice([50, (3, 4.5)]), "sigma": r.choice([2, (0, 9)]), "filter": warp_of(r)},
    "random_zoom_out": lambda r: {"fill": r.choice([0, (1, 2, 3)]), "side_range": r.choice([None, (1, 2)]), "p": r.random()},
    "scale_jitter": lambda r: {"target_size": r.choice([9, (3, 4)]), "scale_range": r.choice([None, (0.5, 2)]), "filter": filter_of(r)},
    "random_short_size": lambda r: {"sizes": r.choice([[9], range(3, 9)]), "max_size": r.choice([None, 99])},
    "random_iou_crop": lambda r: {"min_scale": r.random() / 2 + 1e-9, "sampler_options": r.choice([None, [0, 0.5]])},
    "sanitize_boxes": lambda r: {"min_size": r.choice([1, 2.5]), "min_area": r.choice([1, 9])},
    "color_jitter": lambda r: {
        "brightness": r.choice([0, 0.4, (0.5, 2)]),
        "contrast": r.random(),
        "saturation": r.choice([0, (1, 1)]),
        "hue": r.choice([0, 0.1, (-0.5, 0.25)]),
        "p": r.choice([None, 0, 0.8, 1]),
    },
    "grayscale": lambda r: {"channels": 3},
    "normalize": lambda r: {
        "mean": r.choice([0, 0.5, (0.1, 0.2, 1e-7)]),
        "std": r.choice([1, (0.1, 0.2, 0.3)]),
        "dtype": r.choice([None, "float32", "float16", "bfloat16"]),
    },
    "layout": lambda r: {"layout": r.choice(["NHWC", "NCHW"])},
    "route": lambda r: r.choice(
        [
            {"by": "key", "branches": [("*.png", flipped), (["a", "${x}", "b\udcff*"], lambda p: p)]},
            {
                "by": "key",
                "branches": [(b"\xff*", flipped), (Path("x"), lambda p: p.route("key", [flipped])), lambda p: p.rotate90().random_flip()],
            },
            {"by": "key", "branches": [lambda p: flipped(p).failures(**failures_of(r))]},
        ]
    ),
    "batch": lambda r: r.choice(
        [
            {"size": 3},
            {"global_size": 8},
            {"size": 1, "drop_last": True},
            {"size": 2, "collate": functions.collated, "gives": r.choice([None, {"n": (int, (None,))}]), **of_workers(r)},
        ]
    ),
    "map": lambda r: r.choice(
        [
            {"function": functions.brighter, **of_workers(r), "gives": r.choice([None, {"image": ("uint8", (8, None, 3)), "é: #": str}])},
            {"function": functions.noisy, "fields": "image", "to": r.choice([None, ["image"], "no"]), **of_workers(r)},
            {"function": functions.Counter, "gives": {"a": bytes, "b": int, "c": (np.float16, ())}},
        ]
    ),
    "filter": lambda r: {"function": functions.is_dark, "fields": r.choice(["image", ["image"]]), **of_workers(r)},
    "flat_map": lambda r: {"function": functions.halves, "gives": r.choice([None, {"image": ("uint8", (8, 8, 3))}]), **of_workers(r)},
    "aggregate": lambda r: {
        "aggregator": functions.Pairs,
        "fields": r.choice([None, None, "image"]),
        "gives": r.choice([None, {"image": ("uint8", (2, 8, 8, 3)), "key": str}]),
        "seed": r.choice([(), ["numpy"]]),
    },
    "decode_audio": lambda r: {
        "rate": r.choice([8000, 44100]),
        "channels": 1,
        "duration": r.choice([0.5, 2]),
        "start": r.choice([None, "begin", "center", "random", 1.5]),
        "short": r.choice([None, "silence", "repeat", "error"]),
        "dtype": r.choice([None, "int16", np.float32]),
        "layout": r.choice([None, "T", "TC", "CT"]),
        "field": None,
        "to": r.choice([None, "sound"]),
    },
    "decode_video": lambda r: {
        **r.choice(
            [{"frames": 8, "stride": 2}, {"frames": np.int32(8), "fps": 12.5}, {"segments": 4}, {"fps": 2, "max_frames": 8}, {"frames": 3}]
        ),
        "clips": r.choice([None, 1, 3]),
        "start": r.choice([None, "begin", "center", "random"]),
        "short": r.choice([None, "repeat", "loop", "black", "error"]),
        "times": r.choice([None, "at"]),
        "window": r.choice([None, "when"]),
        "stream": r.choice([None, 1]),
        "orient": r.choice([None, False]),
        **r.choice(
            [
                {"dtype": "uint8"},
                {"dtype": np.uint16},
                {"color": "rgb"},
                {"color": "nv12", "size": (48, 64), "matrix": "how"},
                {"color": "yuv420", "size": 32},
            ]
        ),
        **r.choice([{}, {"damaged": "error"}, {"damaged": "keep", "mask": "bad"}]),
        "max_pixels": r.choice([None, 99]),
        "field": None,
        "to": r.choice([None, "clip"]),
    },
    "video_clips": lambda r: {
        "frames": r.choice([4, np.int32(8)]),
        **r.choice([{}, {"stride": 2, "step": 4}, {"fps": 12.5, "step": 3}, {"clips": 3}, {"clips": 2, "start": "center", "fps": 4}]),
        "short": r.choice([None, "repeat", "loop", "black", "error", "drop"]),
        "times": r.choice([None, "at"]),
        "number": r.choice([None, "n"]),
        "stream": r.choice([None, 1]),
        "orient": r.choice([None, False]),
        "mode": r.choice([None, "fast"]),
        **r.choice(
            [
                {"dtype": "uint8"},
                {"dtype": np.uint16},
                {"color": "rgb"},
                {"color": "nv12", "size": (48, 64), "matrix": "how"},
                {"color": "yuv420", "size": 32},
            ]
        ),
        **r.choice([{}, {"damaged": "error"}, {"damaged": "keep", "mask": "bad"}]),
        "max_pixels": r.choice([None, 99]),
        "field": None,
        "to": r.choice([None, "clip"]),
    },
    "decode_npy": lambda r: {
        "dtype": r.choice(["int32", "float16", "bool"]),
        "shape": r.choice([None, [None], (None, 4)]),
        "field": r.choice([None, "bytes"]),
        "to": r.choice([None, "tokens", "no", "é: #"]),
    },
    "bucket_batch": lambda r: {
        "lengths": r.choice([8, [4, 16], (np.int64(3), 5)]),
        **r.choice([{"size": 3}, {"global_size": 6}, {"tokens": 64}, {"bytes": 4096}]),
        "pad": r.choice([0, 7]),
        "pad_to": r.choice([None, "bucket", "longest"]),
        "overlong": r.choice([None, "error", "truncate", "drop"]),
        "drop_last": r.choice([False, True]),
    },
    "pack": lambda r: {
        "length": r.randint(1, 999),
        **r.choice([{"size": 1}, {"size": np.int32(4)}, {"global_size": 12}]),
        "fit": r.choice([None, "best", "first"]),
        "open": r.choice([None, 3]),
        "pad": r.choice([0, 7]),
        "overlong": r.choice([None, "error", "truncate", "drop"]),
        "drop_last": r.choice([False, True]),
    },
    "unbatch": lambda r: {},
}
# Sources, and what has a test of its own.
ELSEWHERE = {"files", "read", "source", "merge", "mix", "boxes", "points", "sampler", "weighted", "mixup", "cutmix", "mosaic", "copy_paste"}


def arguments(r, name):
    if name in RANDOM:
        return RANDOM[name](r)
    return right(r, name) if name in ON_IMAGES else of_schema(name)(r)


DRAWN = sorted(set(operations()) - ELSEWHERE)
FIELDS = ("select", "drop", "rename", "copy")
FUNCTIONS = ("map", "filter", "flat_map", "aggregate")
LAST = ("normalize", "layout", "batch", "unbatch", *FUNCTIONS)  # may only follow what is of one size, or be last
SEQUENCES = ("bucket_batch", "pack")  # are of no image
ELEMENTS = (*FIELDS, *FUNCTIONS, *LAST, *SEQUENCES, "decode_image", "merge", "route", "shuffle")


def flipped(p):
    return p.random_flip(0.25)


def failures_of(r):
    return {
        "on_error": r.choice(["skip", "replace"]),
        "max_errors": r.choice([None, 3, np.int32(3), 0.5, 1.0]),
        "retries": r.choice([None, 0, 7]),
        "time_limit": r.choice([None, 1, 0.25]),
    }


def of_workers(r):
    return {
        "workers": r.choice([None, 1, np.int64(7)]),
        "where": r.choice(["process", "thread"]),
        "seed": r.choice([(), "random", ["torch", "numpy"]]),
        "copy": r.choice([False, True]),
    }


def warp_of(r):
    return r.choice([None, "nearest", "bilinear", "bicubic"])


def filter_of(r):
    return r.choice([None, "bilinear", "box", "hamming", "bicubic", "lanczos"])


def sources(r):
    paths = [
        "a.jpg",
        "no",
        "b\udcff.jpg",
        "$${x}",
        "1e3",
        "é #",
        "- x",
        "{a: b}",
        "x" * 150,
        "\u2028",
        "a\nb",
        "\x7f",
        "=",
        "0o7",
        "1_0",
        "12:30",
        ".inf",
    ]
    source = r.choice(["data/*/*.jpg", paths, [(path, i - 3) for i, path in enumerate(paths)], paths[r.randrange(len(paths))]])
    label = r.choice([None, "parent"]) if not isinstance(source[0], tuple) else None
    seed = r.choice([0, 7, 2**64 - 1])
    p = hr.files(source, label=label, seed=seed)
    if r.random() < 0.3:
        p = p.failures(**failures_of(r))
    return p


def merged(r):
    """What several give, with everything that a merge can say."""
    of = [sources(r)]
    while len(of) < 3:
        of += [p for p in [sources(r)] if p._seed == of[0]._seed and labelled(p) == labelled(of[0])]
    of[1] = hr.merge([of[1]], order="arrival") if r.random() < 0.5 else of[1].shuffle()
    how = r.choice(
        [
            {},
            {"order": "round_robin", "until": "shortest"},
            {"until": 9},
            {"order": "arrival", "until": "longest"},
        ]
    )
    return hr.merge(of, **how)


def labelled(p):
    return bool({"label", "pairs"} & set(p._steps[0]["files"]))


# Steps on columns, of numbers and text that files have.
COLUMNS = {
    "cast": lambda r: {"fields": "label", "dtype": r.choice(["float32", "int16"])},
    "fill_nan": lambda r: {"fields": "label", "value": r.random()},
    "clip": lambda r: {"fields": ["label"], "min": -1, **({"max": 5} if r.random() < 0.5 else {})},
    "log1p": lambda r: {"fields": ["label"]},
    "scale": lambda r: {"fields": "label", **r.choice([{"mean": 1, "std": 2.5}, {"min": 0, "max": 9}])},
    "bucketize": lambda r: {"fields": "label", "boundaries": [1, 2.5, 9], "right": True},
    "hash_buckets": lambda r: {"fields": ["label", "key"], "buckets": r.randrange(1, 99), "seed": r.randrange(1, 9)},
    "one_hot": lambda r: {"fields": "label", "classes": r.randrange(1, 9)},
    "concat": lambda r: {"fields": ["label"], "to": "x", "dtype": r.choice(["float32", "float64"])},
}


def drawn(r, name):
    """A pipeline that has an operation in it, where it may be."""
    if name in COLUMNS:
        p = hr.files("data", label="parent")
        return getattr(p.cast("label", "float32") if name == "fill_nan" else p, name)(**COLUMNS[name](r))
    if name == "shuffle":
        return sources(r).shuffle(**arguments(r, name))
    if name == "split":
        return sources(r).split({"a": 0.5, "b": r.random() / 2}, seed=r.randrange(9))["b"]
    if name in ("take", "skip", "slice", "shard"):
        return fitting(r, sources(r), name)
    p = merged(r) if name == "merge" or r.random() < 0.3 else sources(r)
    if "merge" not in p._steps[0] and r.random() < 0.5:
        p = p.shuffle()
    if name in SEQUENCES:  # of a type that has every pad, and of one axis, as packs need
        p = p.decode_npy("int32", to=arguments(r, "decode_npy")["to"])
        return getattr(p, name)(**arguments(r, name))
    if name not in {*ELEMENTS, *ON_IMAGES}:
        return fitting(r, p, name)
    decoded = arguments(r, "decode_image")
    p = p.decode_image(**decoded | ({"to": None} if name in (*FUNCTIONS, *FIELDS) else {}))
    for middle in r.sample(DRAWN, 3):
        if middle in {*ON_IMAGES, "route"} - {*LAST, "grayscale"}:
            p = getattr(p, middle)(**arguments(r, middle))
    if name in ("batch", "unbatch", *FUNCTIONS):
        p = p.center_crop(8)
    if r.random() < 0.3 and "route" not in p._steps[-1]:
        p = p.failures(**failures_of(r))
    if name == "unbatch":
        p = p.batch(**arguments(r, "batch"))
    if name in ("decode_image", "merge"):
        return p
    args = arguments(r, name)
    return getattr(p, name)(*args) if isinstance(args, list) else getattr(p, name)(**args)


def fitting(r, p, name):
    """A step of another kind, after files or a decoder. Arguments that do not fit each other become examples, or are left out."""
    said, args = operations()[name], arguments(r, name)
    tries = [args, {arg: said["properties"][arg].get("examples", [given])[0] for arg, given in args.items()}]
    tries += [dict(list(tries[1].items())[:n]) for n in reversed(range(len(args)))]
    for args in tries:
        audio = p.decode_audio(16000, "mono")
        for before in (p, audio, p.decode_npy("int32"), audio.log_mel(), p.decode_image(), p.decode_video(8)):
            with contextlib.suppress(hr.RecipeError, TypeError):
                made = getattr(before, name)(**args)
                made.recipe()
                return made
    raise AssertionError(f"{name} fits after nothing")


def test_every_operation_is_drawn():
    steps = {name for name, method in vars(hr.Pipeline).items() if inspect.isfunction(method) and not name.startswith("_")}
    assert steps - {"to", "tuples", "recipe", "loader", "failures", "views"} - ELSEWHERE == set(DRAWN) >= set(RANDOM)


@pytest.mark.parametrize("name", ["merge", *DRAWN])
def test_round_trip(name, tmp_path):
    validator = validator_of_recipes()
    r = random.Random(name)
    for i in range(3):
        p = drawn(r, name)
        texts = {format: p.recipe(format) for format in ("yaml", "json")}
        assert yaml.safe_load(texts["yaml"]) == json.loads(texts["json"])
        validator.validate(json.loads(texts["json"]))
        for format, text in texts.items():
            path = tmp_path / f"{i}.{format}"
            path.write_text(text)
            loaded = hr.load(path)
            assert loaded.recipe(format) == text
            assert_same_steps(p, loaded)


def assert_same_steps(given, loaded):
    """All that was given came back, in the one form that equal arguments have."""
    given, loaded = given._described(), loaded._described()
    assert given["seed"] == loaded["seed"]
    assert_same_chain(given["steps"], loaded["steps"])


def assert_same_chain(given, loaded):
    assert [op for step in given for op in step] == [op for step in loaded for op in step]
    for before, after in zip(given, loaded, strict=True):
        for (op, asked), (_, got) in zip(before.items(), after.items(), strict=True):
            for name, value in asked.items():
                if name == "of":
                    for chain, other in zip(value, got[name], strict=True):
                        assert_same_chain(chain, other)
                elif name == "branches":
                    for branch, other in zip(value, got[name], strict=True):
                        assert branch.get("when") == other.get("when")
                        assert_same_chain(branch["steps"], other["steps"])
                else:
                    assert same(op, name, value, got.get(name)), (op, name, value, got)


def same(op, name, asked, got):
    if name == "steps":  # inside of a step on an image: with all arguments
        return [next(iter(s)) if isinstance(s, dict) else s for s in asked] == [next(iter(s)) if isinstance(s, dict) else s for s in got]
    if op == "color_jitter" and name == "p":
        return got == asked or (got is None and asked == 1)
    if op == "color_jitter":
        middle = 0 if name == "hue" else 1
        pair = asked if isinstance(asked, list) else [max(middle - asked, 0) if middle else -asked, middle + asked]
        return got == pytest.approx(pair) if got is not None else pair == [middle, middle]
    if op == "rotate90":
        return got == asked % 4
    if name == "frame":
        return got is None
    if op in FUNCTIONS and name == "to":
        return got == asked or (got is None and asked == ["image"])
    if name == "gives":
        return got == {field: kind if isinstance(kind, str) else {"shape": [], **kind} for field, kind in asked.items()}
    if name == "collate":
        return all(same("", argument, value, got.get(argument)) for argument, value in asked.items())
    if name in ("retries", "pad") and asked == 0:
        return got is None
    if isinstance(asked, list) and len(set(map(str, asked))) == 1:
        return got in (asked[0], asked)
    return got == asked


@functools.cache
def validator_of_recipes():
    schema = json.loads(subprocess.check_output([find_program(), "schema"]))
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(schema)


def test_the_schema_marks_mistakes():
    validator = validator_of_recipes()
    validator.validate(yaml.safe_load(TRAIN))
    for wrong in (
        TRAIN.replace("size: 256", "siez: 256"),
        TRAIN.replace("- shuffle", "- shufle"),
        TRAIN.replace("label: parent", "label: folder"),
        TRAIN.replace("headrace: 1", "headrace: 2"),
        TRAIN.replace("epochs: 2", "epochs: two"),
        TRAIN.replace("{size: 256}", ""),
    ):
        assert wrong != TRAIN
        assert not validator.is_valid(yaml.safe_load(wrong)), wrong


def train(tmp_path: Path, text: str = TRAIN) -> Path:
    path = tmp_path / "train.yaml"
    path.write_text(text)
    return path


def test_load(tmp_path, monkeypatch):
    monkeypatch.setenv("flip", "0.125")
    monkeypatch.chdir(tmp_path)
    p = hr.load(train(tmp_path), size=192, root=Path("elsewhere"))
    (files, *steps) = p._described()["steps"]
    assert files == {"files": {"pattern": "elsewhere/*/*.JPEG", "root": str(tmp_path), "label": "parent", "max_bytes": 1 << 30}}
    assert steps[0] == {"shuffle": {}}
    assert steps[3] == {"center_crop": {"size": 192}}
    assert steps[4] == {"random_flip": {"p": 0.125}, "name": "flip"}
    text = repr(p).replace("\n    ", "")
    assert text.startswith("files(pattern='elsewhere/*/*.JPEG', label='parent', max_bytes=1073741824, seed=3).shuffle().decode_image(")
    assert "random_flip(p=0.125)" in repr(p)
    assert p == hr.load(str(train(tmp_path)), size="192", root="elsewhere")
    assert p != hr.load(os.fsencode(train(tmp_path)), root="elsewhere")


def test_values_of_variables(tmp_path):
    text = 'headrace: 1\nvars: {path: null, v: null, w: 1}\nsteps:\n  - files: {pattern: "${path}"}\n  - {STEP}\n'

    def step(step: str, **given):
        return hr.load(train(tmp_path, text.replace("{STEP}", step)), path="a", **given)._described()["steps"][1:]

    assert step('shuffle: {seed: "${v}"}', v=2**64 - 1) == [{"shuffle": {"seed": 2**64 - 1}}]
    assert step('shuffle: {seed: "${v}"}', v=None) == [{"shuffle": {}}]
    assert step('shuffle: {seed: "${v}"}', v=np.int64(3)) == [{"shuffle": {"seed": 3}}]
    decode = 'decode_image: {orient: "${v}"}'
    assert step(decode, v=False)[0]["decode_image"]["orient"] is False
    crop = 'decode_image\n  - random_resized_crop: {size: "${v}", scale: "${w}"}'
    assert step(crop, v=[3, 4], w=(0.25, np.float64(0.5)))[1]["random_resized_crop"]["scale"] == [0.25, 0.5]
    for value in (object(), float("nan"), {1: 2}.keys()):
        with pytest.raises(
            hr.RecipeError, match=r"the variable v is .*: must be text, a path, a number, True, False, None, or a list of them"
        ):
            step("shuffle", v=value)
    assert (
        hr.load(train(tmp_path, text.replace("{STEP}", "shuffle")), path=b"\xff", v=1)._described()["steps"][0]["files"]["pattern"]
        == "\udcff"
    )


def test_mistakes_are_told_with_their_places(tmp_path):
    path = train(tmp_path, TRAIN.replace("size: 256", "size: big").replace("- shuffle", "- shufle").replace("epochs", "epoch"))
    with pytest.raises(hr.RecipeError) as caught:
        hr.load(path, flip=0.5)
    assert str(caught.value).splitlines() == [
        f'{path}:9:5: step "shufle" (#2): there is no operation "shufle": did you mean "shuffle"?',
        "    9 |   - shufle",
        "      |     ^^^^^^",
        f'{path}:11:20: step "resize" (#4): size is "big": must be a whole number, or [height, width]',
        "   11 |   - resize: {size: big}",
        "      |                    ^^^",
    ]
    with pytest.raises(hr.RecipeError, match=r'train.yaml:15:10: loader: unknown key "epoch": did you mean "epochs"\? the keys are'):
        hr.load(train(tmp_path, TRAIN.replace("epochs", "epoch")), flip=0.5)
    with pytest.raises(hr.RecipeError, match=r"vars\.flip has no value"):
        hr.load(train(tmp_path))
    with pytest.raises(hr.RecipeError, match=r"recipe\('toml'\): must be 'yaml' or 'json'"):
        hr.files("a").recipe("toml")
    many = hr.files([f"{i:040d}" for i in range(30000)]).decode_image().center_crop(3).batch(2)
    with pytest.raises(hr.RecipeError, match=r"bytes of YAML, more than the 1048576 that are read again: use recipe\(\"json\"\)$"):
        many.recipe()
    assert len(json.loads(many.recipe("json"))["steps"]) == 4
    with pytest.raises(hr.RecipeError, match=r'^recipe: step "resize" \(#2\): has no image to work on, only'):
        hr.files("a").resize(3).recipe()
    clip = hr.files("a", content=False).map(os.path.exists, fields="path", gives=("uint8", (2, 8, 9, 3)))
    with pytest.raises(hr.RecipeError, match=r'an array is an image if it is the field "image" of a source, or if a function returns it'):
        clip.normalize(0.5, 0.25).recipe()


def test_files_that_are_none(tmp_path):
    with pytest.raises(FileNotFoundError):
        hr.load(tmp_path / "none.yaml")
    with pytest.raises(IsADirectoryError):
        hr.load(tmp_path)
    with pytest.raises(TypeError):
        hr.load(3.5)


def test_an_engine_that_fails(tmp_path, monkeypatch):
    broken = tmp_path / "headrace"
    broken.write_text("#!/bin/sh\necho something >&2\nexit 1\n")
    broken.chmod(0o755)
    monkeypatch.setenv("HEADRACE_ENGINE", str(broken))
    with pytest.raises(hr.EngineFailed, match="something"):
        hr.load(train(tmp_path))
    broken.write_text("#!/bin/sh\nexit 5\n")
    with pytest.raises(hr.EngineFailed, match="convert ended with 5"):
        hr.files("a").recipe()


def test_a_recipe_from_standard_input():
    code = "import headrace as hr; print(hr.load('-', flip=1).recipe('json'))"
    out = subprocess.run([sys.executable, "-c", code], input=TRAIN.encode(), capture_output=True, check=True)
    assert json.loads(out.stdout)["steps"][0]["files"]["root"] == os.getcwd()


def test_a_file_named_like_an_option(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("--to").write_text(TRAIN)
    assert hr.load("--to", flip=1)._described()["seed"] == 3


def test_the_section_loader_has_the_defaults(photos, tmp_path, monkeypatch):
    text = """headrace: 1
vars: {root: null}
steps:
  - files: {pattern: "${root}/*/*.jpg", label: parent}
  - decode_image
  - center_crop: {size: 8}
  - batch: {size: 4}
loader: {epochs: 2, on_error: skip, max_errors: 1.0, memory: 64MiB, prefetch: 3, order: completion, fuse: null}
"""
    loaded = hr.load(train(tmp_path, text), root=photos)
    assert yaml.safe_load(loaded.recipe())["loader"]["memory"] == "64MiB"
    with loaded.loader() as loader:
        assert sum(1 for _ in loader) == loader.max_batches
        written = yaml.safe_load(loader.recipe())
        assert loader.recipe("json") == loader.recipe(format="json")
    expected = {"epochs": 2, "on_error": "skip", "max_errors": 1.0, "memory": 64 << 20, "prefetch": 3, "order": "completion", "fuse": True}
    assert written["loader"] == expected
    with loaded.to("torch").loader(epochs=1, on_error="raise", order="input", workers=1) as loader:
        assert type(next(iter(loader))["image"]).__module__ == "torch"
        written = yaml.safe_load(loader.recipe())["loader"]
    assert (written["epochs"], written["on_error"], written["order"], written["workers"]) == (1, "raise", "input", 1)
    assert "max_errors" not in written


def test_what_was_loaded_gives_the_same_batches(photos, tmp_path):
    p = pipeline(photos, seed=5) if "seed" in inspect.signature(pipeline).parameters else pipeline(photos)
    with p.loader(epochs=1) as loader:
        want = [batch["image"].tobytes() for batch in loader]
        state = loader.state_dict()
        text = loader.recipe()
    again = hr.load(train(tmp_path, text))
    with again.loader() as loader:
        assert [batch["image"].tobytes() for batch in loader] == want
        loader.load_state_dict(state)  # it is the same pipeline: its states fit


def test_steps_may_follow(tmp_path):
    path = train(tmp_path, "headrace: 1\nsteps:\n  - files: {pattern: a}\n  - decode_image\nloader: {epochs: 3}\n")
    p = hr.load(path).center_crop(3).batch(2)
    assert yaml.safe_load(p.recipe())["steps"][2:] == [{"center_crop": {"size": 3}}, {"batch": {"size": 2, "drop_last": False}}]
    assert yaml.safe_load(p.recipe())["loader"] == {"epochs": 3}
    assert p != hr.load(train(tmp_path, path.read_text().replace("3", "4"))).center_crop(3).batch(2)
