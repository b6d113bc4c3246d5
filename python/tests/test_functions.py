"""Functions in workers: what they are given and what becomes of what they give, against the same functions in plain Python."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys

import numpy as np
import pytest
import yaml
from PIL import Image

import functions
import headrace as hr
from conftest import environment_of, run_python
from headrace._client.program import find_program
from own import COUNT, assert_alike, images, plain, rows


@pytest.mark.parametrize("where", ["process", "thread"])
@pytest.mark.parametrize("workers", [1, 2, 5])
def test_a_function_of_samples(pictures, where, workers):
    got = rows(images(pictures).map(functions.brighter, where=where, workers=workers))
    assert_alike(got, [functions.brighter(sample) for sample in plain(pictures)])


def test_a_function_of_fields(pictures):
    got = rows(images(pictures).map(functions.mirrored, fields="image"))
    assert_alike(got, [{**s, "image": functions.mirrored(s["image"])} for s in plain(pictures)])

    def apart(image, label):
        return image[:24], image[24:], label + 0.5

    got = rows(images(pictures).map(apart, fields=["image", "label"], to=["top", "bottom", "label"]))
    assert_alike(got, [{**s, "top": s["image"][:24], "bottom": s["image"][24:], "label": s["label"] + 0.5} for s in plain(pictures)])


def test_what_a_function_is_given(pictures):
    def look(sample):
        image, label, key = sample["image"], sample["label"], sample["key"]
        said = [type(image).__name__, str(image.dtype), image.shape, type(label).__name__, type(key).__name__, image.flags.c_contiguous]
        return {"said": json.dumps(said), "key": key}

    for row in rows(images(pictures).map(look)):
        assert json.loads(row["said"]) == ["ndarray", "uint8", [48, 40, 3], "int", "str", True]


def test_the_content_of_files(pictures):
    def opened(data, key):
        import io

        return np.asarray(Image.open(io.BytesIO(bytes(data))))

    got = rows(hr.files(pictures, label="parent").map(opened, fields=["bytes", "key"], to="image").map(without_bytes))
    assert_alike(got, plain(pictures))


def without_bytes(sample):
    return {name: value for name, value in sample.items() if name != "bytes"}


NEW = {
    "mean": lambda image: float(image.mean()),
    "size": lambda image: image.size,
    "dark": lambda image: bool(image.mean() < 100),
    "name": lambda image: f"ü{image[0, 0, 0]}",
    "small": lambda image: image[0, 0, 0],
    "half": lambda image: np.float16(image[0, 0, 0]),
    "plane": lambda image: image[..., 0].astype(np.float32).T,
    "empty": lambda image: image[:0],
    "big": lambda image: image.astype(">u2"),
}


@pytest.mark.parametrize("name", NEW)
def test_new_fields_are_found_out(pictures, name):
    make = NEW[name]
    p = images(pictures).map(lambda s: {**s, name: make(s["image"])})
    got = rows(p)
    for row, sample in zip(got, plain(pictures), strict=True):
        want = make(sample["image"])
        np.testing.assert_array_equal(row[name], want)
        if not isinstance(want, str):
            assert row[name].dtype == np.asarray(want).dtype.newbyteorder("=")
            assert row[name].shape == np.shape(want)


def test_declared_types(pictures):
    gives = {"plane": ("float32", (40, 48)), "name": str, "n": int, "b": bool, "x": "float16"}

    def make(sample):
        image = sample["image"]
        return {
            "plane": image[..., 0].astype(np.float32).T,
            "name": sample["key"][-6:],
            "n": image.size,
            "b": True,
            "x": np.float16(1.5),
        }

    with images(pictures).map(make, gives=gives).batch(4).loader(epochs=1) as loader:
        assert {name: (f.dtype, f.shape) for name, f in loader.schema.items() if name in gives} == {
            "plane": ("float32", (40, 48)),
            "name": (None, None),
            "n": ("int64", ()),
            "b": ("bool", ()),
            "x": ("float16", ()),
        }
    assert_alike(rows(images(pictures).map(make, gives=gives)), [make(s) for s in plain(pictures)])


def at(key, good, bad):
    """A function that gives something else for one sample."""
    return lambda sample: bad(sample) if sample["key"].endswith(key) else good(sample)


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        (lambda s: {**s, "image": s["image"][:7]}, r"image"),
        (lambda s: {**s, "image": s["image"].astype(np.float64)}, r"image"),
        (lambda s: {**s, "image": s["image"][..., 0]}, r"image"),
        (lambda s: {k: v for k, v in s.items() if k != "image"}, r"image"),
        (lambda s: {**s, "label": "text"}, r"label"),
        (lambda s: {**s, "label": None}, r"label"),
        (lambda s: 5, r"int"),
        (lambda s: None, r"None"),
        (lambda s: {**s, "label": 1 << 70}, r"label"),
    ],
)
def test_results_that_do_not_fit(pictures, bad, message):
    p = images(pictures).map(at("04.png", functions.same, bad)).batch(4)
    with p.loader(epochs=1) as loader:
        with pytest.raises(hr.SampleError, match=message) as caught:
            list(loader)
    assert caught.value.key.endswith("04.png")
    assert "04.png" in str(caught.value)
    with p.loader(epochs=1, on_error="skip") as loader:
        assert sum(len(batch["key"]) for batch in loader) == COUNT - 1
        assert [error.key[-6:] for error in loader.errors] == ["04.png"]


def test_a_tuple_that_is_too_short(pictures):
    p = images(pictures).map(lambda image: (image,), fields="image", to=["a", "b"], gives={"a": ("uint8", (48, 40, 3)), "b": int}).batch(4)
    with p.loader(epochs=1) as loader, pytest.raises(hr.SampleError, match="returned 1 values, not 2: a, b"):
        next(iter(loader))


def test_results_of_pillow(pictures):
    def turned(image):
        return Image.fromarray(image).rotate(180)

    got = rows(images(pictures).map(turned, fields="image"))
    assert_alike(got, [{**s, "image": np.asarray(turned(s["image"]))} for s in plain(pictures)])


@pytest.mark.timeout(300)  # its workers import PyTorch
def test_results_of_torch(pictures):
    torch = pytest.importorskip("torch")

    def planes(image):
        return torch.from_numpy(image).permute(2, 0, 1).float() / 255

    got = rows(images(pictures).map(planes, fields="image", gives=("float32", (3, 48, 40)), workers=1))
    assert_alike(
        got, [{**s, "image": (torch.from_numpy(s["image"].copy()).permute(2, 0, 1).float() / 255).numpy()} for s in plain(pictures)]
    )


def test_arrays_may_be_changed_in_place_and_kept_as_copies(pictures):
    def darken(image):
        image //= 2
        return image

    want = [{**s, "image": s["image"] // 2} for s in plain(pictures)]
    assert_alike(rows(images(pictures).map(darken, fields="image")), want)

    class Before:
        def __init__(self):
            self.last = np.zeros((48, 40, 3), np.uint8), ""

        def __call__(self, image, key):
            last, self.last = self.last, (image, key)
            return last

    gives = {"image": ("uint8", (48, 40, 3)), "before": str}
    got = rows(images(pictures).map(Before, fields=["image", "key"], to=["image", "before"], copy=True, gives=gives, workers=1))
    pixels = {"": np.zeros((48, 40, 3), np.uint8), **{s["key"]: s["image"] for s in plain(pictures)}}
    for row in got:
        np.testing.assert_array_equal(row["image"], pixels[row["before"]])
    assert len({row["before"] for row in got}) == len(got) == COUNT


def test_operations_before_and_behind(pictures):
    p = hr.files(pictures).decode_image().center_crop((40, 40)).map(functions.mirrored, fields="image").rotate90(1)
    p = p.map(functions.mirrored, fields="image").normalize(0, 1).layout("NCHW")
    want = []
    for sample in plain(pictures):
        image = functions.mirrored(np.rot90(functions.mirrored(sample["image"][4:44])))
        want.append({"image": (image / np.float32(255)).transpose(2, 0, 1)})
    for row, other in zip(rows(p), want, strict=True):
        np.testing.assert_allclose(row["image"], other["image"], atol=1e-6)


# Random numbers.


def random_rows(pictures, workers, where="process", epochs=2):
    p = images(pictures, seed=5, shuffle=True).map(functions.noisy, fields="image", where=where, workers=workers)
    return [row["image"].tobytes() for row in rows(p, epochs=epochs)]


def test_random_numbers_do_not_depend_on_workers(pictures):
    want = random_rows(pictures, 1)
    assert len(set(want)) == 2 * COUNT
    assert random_rows(pictures, 3, where="thread") == want


def test_random_numbers_are_those_of_the_sample(pictures):
    def draw(sample, rng):
        return {"key": sample["key"], "x": rng.random(), "y": np.float64(rng.normal())}

    def drawn(p):
        return {row["key"]: (float(row["x"]), float(row["y"])) for row in rows(p)}

    plainly = drawn(images(pictures, seed=3).map(draw))
    assert len(set(plainly.values())) == COUNT
    assert drawn(images(pictures, seed=3, shuffle=True).map(draw)) == plainly
    assert drawn(images(pictures, seed=4).map(draw)) != plainly
    twice = images(pictures, seed=3).map(draw, gives={"key": str, "x": float, "y": float}).map(draw)
    assert not set(drawn(twice).values()) & set(plainly.values())


def by_random(sample):
    torch = sys.modules.get("torch")
    return {"key": sample["key"], "a": random.random(), "b": np.random.random(), "c": float(torch.rand(1)) if torch else 0.0}


def test_global_generators_are_seeded(pictures):
    def drawn(workers, **options):
        p = images(pictures).map(by_random, workers=workers, gives={"key": str, "a": float, "b": float, "c": float}, **options)
        return [(row["key"], float(row["a"]), float(row["b"])) for row in rows(p)]

    want = drawn(1, seed=["random", "numpy"])
    assert drawn(3, seed=["random", "numpy"]) == want
    assert len({a for _, a, _ in want}) == len({b for _, _, b in want}) == COUNT
    only = drawn(2, seed="numpy")
    assert [b for _, _, b in only] == [b for _, _, b in want]
    assert [a for _, a, _ in only] != [a for _, a, _ in want]


def test_torch_is_seeded(pictures):
    pytest.importorskip("torch")

    def draw(sample):
        import torch

        return {"x": float(torch.rand(1))}

    with images(pictures).map(draw, workers=1, seed=["torch"], gives={"x": float}).batch(8).loader(epochs=1) as loader:
        loop = iter(loader)
        want = next(loop)["x"].tolist()
        state = loader.state_dict()
        rest = [x for batch in loop for x in batch["x"].tolist()]
        assert len({*want, *rest}) == COUNT
        loader.load_state_dict(state)
        assert [x for batch in loader for x in batch["x"].tolist()] == rest


# Set-up, async, threads.


def test_each_worker_has_an_object_of_a_class(pictures, tmp_path):
    class Own:
        def __init__(self):
            self.calls = 0
            with open(tmp_path / f"made-{os.getpid()}", "x"):
                pass

        def __call__(self, sample):
            self.calls += 1
            return {"pid": os.getpid(), "calls": self.calls}

        def close(self):
            with open(tmp_path / f"closed-{os.getpid()}", "x"):
                pass

    got = rows(images(pictures).map(Own, workers=3, gives={"pid": int, "calls": int}))
    by_worker = {}
    for row in got:
        by_worker.setdefault(int(row["pid"]), []).append(int(row["calls"]))
    assert all(sorted(calls) == list(range(1, len(calls) + 1)) for calls in by_worker.values())
    made = {int(path.name[5:]) for path in tmp_path.glob("made-*")}
    assert set(by_worker) <= made
    assert 1 <= len(made) <= 3
    assert os.getpid() not in made
    # One that had just been made when nothing was left to do may have been ended with
    # its process.
    assert set(by_worker) <= {int(path.name[7:]) for path in tmp_path.glob("closed-*")} <= made


def test_async_functions(pictures):
    async def slowly(sample):
        import asyncio

        await asyncio.sleep(0.001)
        return functions.brighter(sample)

    assert_alike(rows(images(pictures).map(slowly)), [functions.brighter(s) for s in plain(pictures)])


def test_threads_are_of_one_process(pictures):
    def where(sample):
        import threading
        import time

        time.sleep(0.01)
        return {"pid": os.getpid(), "thread": threading.get_ident() % (1 << 62)}

    got = rows(images(pictures).map(where, where="thread", workers=4, gives={"pid": int, "thread": int}))
    assert len({int(row["pid"]) for row in got}) == 1
    assert 1 < len({int(row["thread"]) for row in got}) <= 4
    got = rows(images(pictures).map(where, workers=2, gives={"pid": int, "thread": int}), epochs=40)
    assert len({int(row["pid"]) for row in got}) == 2


def test_workers_are_as_this_process(pictures, monkeypatch, tmp_path):
    monkeypatch.setenv("HEADRACE_TEST_WORD", "wörd")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path / "modules"))
    (tmp_path / "modules").mkdir()
    (tmp_path / "modules/own_words.py").write_text("WORD = 'mine'\n")

    def look(sample):
        import own_words

        return {"said": json.dumps([sys.executable, os.getcwd(), os.environ["HEADRACE_TEST_WORD"], own_words.WORD, __name__])}

    (said,) = {row["said"] for row in rows(images(pictures).map(look, gives={"said": str}))}
    assert json.loads(said) == [sys.executable, str(tmp_path), "wörd", "mine", __name__]


# Filter and flat_map.


def test_filter(pictures):
    p = images(pictures).filter(functions.is_dark, fields="image")
    want = [s for s in plain(pictures) if functions.is_dark(s["image"])]
    assert 2 < len(want) < COUNT - 2
    assert_alike(rows(p), want)
    assert_alike(rows(p.filter(lambda s: s["label"] == 1)), [s for s in want if s["label"] == 1])
    with p.batch(4).loader(epochs=1) as loader:
        assert list(loader)
        assert loader.errors.total == 0
        with pytest.raises(TypeError):
            len(loader)
    assert rows(images(pictures).filter(lambda s: False)) == []


def test_what_flat_map_cannot_replace_ends_the_run_and_says_why(pictures):
    def some(sample):
        yield {"key": sample["key"]}
        if sample["key"].endswith("07.png"):
            raise ValueError("no more")

    steps = images(pictures).flat_map(some, gives={"key": str})
    with steps.batch(4).loader(epochs=1, on_error="replace") as loader, pytest.raises(hr.SampleError) as caught:
        list(loader)
    assert caught.value.remote_type == "ValueError"
    assert 'on_error="replace" cannot replace it' in str(caught.value)
    with steps.failures(on_error="skip").batch(4).loader(epochs=1, on_error="replace") as loader:
        assert sum(len(batch["key"]) for batch in loader) == COUNT
        assert (loader.errors.total, loader.errors.replaced) == (1, 0)


def test_flat_map(pictures):
    p = images(pictures).flat_map(functions.halves)
    assert_alike(rows(p), [half for s in plain(pictures) for half in functions.halves(s)])

    def some(image):
        return [(image[i], i) for i in range(int(image[0, 0, 0]) % 4)]

    got = rows(images(pictures).flat_map(some, fields="image", to=["row", "i"], gives={"row": ("uint8", (40, 3)), "i": int}))
    assert_alike(got, [{**s, "row": row, "i": i} for s in plain(pictures) for row, i in some(s["image"])])


# The program.


SCRIPT = """
import sys
import numpy as np
import headrace as hr

AMOUNT = 3

def add(image):
    return np.minimum(image, 255 - AMOUNT) + np.uint8(AMOUNT)

class Subtract:
    def __call__(self, image):
        return image - np.uint8(AMOUNT)

p = hr.files(sys.argv[1]).decode_image().center_crop(40).map(add, fields="image", workers=2).map(Subtract, fields="image").batch(4)
with p.loader(epochs=1) as loader:
    for batch in loader:
        assert batch["image"].max() <= 252
print("once")
"""


def test_a_script_needs_no_guard(pictures, tmp_path):
    (tmp_path / "script.py").write_text(SCRIPT)
    done = subprocess.run(
        [sys.executable, tmp_path / "script.py", pictures], env=environment_of(), capture_output=True, text=True, timeout=60
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "once\n", "")


def test_what_a_notebook_defines(pictures):
    space: dict[str, object] = {"__name__": "__main__"}
    exec("import numpy as np\nAMOUNT = 5\ndef bright(image):\n    return np.maximum(image, AMOUNT)", space)
    got = rows(images(pictures).map(space["bright"], fields="image"))
    assert_alike(got, [{**s, "image": np.maximum(s["image"], 5)} for s in plain(pictures)])
    done = run_python(
        """
        import sys, headrace as hr
        space = {"__name__": "nowhere"}
        exec("def twice(image):\\n    return image * 2", space)
        images = hr.files(sys.argv[1]).decode_image().center_crop((48, 40))
        with images.map(space["twice"], fields="image").batch(4).loader(epochs=1) as loader:
            print(sum(len(batch["key"]) for batch in loader))
        """,
        pictures,
    )
    assert done.stdout == f"{COUNT}\n", done.stderr


def test_recipes_name_functions(pictures, tmp_path, monkeypatch):
    text = images(pictures).map(functions.brighter, workers=2).batch(4).recipe()
    path = tmp_path / "own.yaml"
    path.write_text(text)
    with hr.load(path).loader(epochs=1) as loader:
        got = [image for batch in loader for image in batch["image"].copy()]
        assert loader.recipe()
    for image, sample in zip(got, plain(pictures), strict=True):
        np.testing.assert_array_equal(image, functions.brighter(sample)["image"])
    environment = environment_of(HEADRACE_PYTHON=sys.executable)
    command = [find_program(), "run", path, "--epochs", "1"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    path.write_text(text.replace("functions:brighter", "functions:brihgter"))
    with pytest.raises(hr.HeadraceError, match="brihgter"):
        with hr.load(path).loader(epochs=1) as loader:
            list(loader)


def test_a_file_may_name_functions(tmp_path):
    path = tmp_path / "own.yaml"
    path.write_text("headrace: 1\nsteps:\n  - files: {pattern: a}\n  - decode_image\n  - map: {function: 'functions:brighter'}\n")
    p = hr.load(path)
    assert "map(functions:brighter" in repr(p)
    assert yaml.safe_load(p.recipe())["steps"][2]["map"]["function"] == "functions:brighter"
