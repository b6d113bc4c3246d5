"""Functions that write where their results go: the parameter `out`, against what the same functions return without it."""

from __future__ import annotations

import json
import os

import numpy as np
import pytest

import headrace as hr
from own import assert_alike, images, plain, rows

GIVES = {
    "image": ("uint8", (48, 40, 3)),
    "wide": ("float64", (70, 40)),
    "middle": ("int32", (40, 50)),
    "small": ("float32", (2, 3)),
    "empty": ("int16", (0, 3)),
    "n": "uint16",
    "key": str,
}


def made(sample, rng):
    """Results of all sizes: what travels with messages, and what does not."""
    image = sample["image"]
    return {
        "image": 255 - image,
        "wide": rng.random((70, 40)),
        "middle": rng.integers(0, 1 << 30, (40, 50), np.int32),
        "small": rng.random((2, 3)).astype(np.float32),
        "empty": np.empty((0, 3), np.int16),
        "n": np.uint16(image.sum() % 65536),
        "key": sample["key"],
    }


def written(sample, rng, out):
    result = made(sample, rng)
    for name, memory in out.items():
        memory[...] = result[name]
        result[name] = memory
    return result


async def awaited(sample, rng, out):
    import asyncio

    memory = {name: array.ctypes.data for name, array in out.items()}
    await asyncio.sleep(0.001)
    result = written(sample, rng, out)
    assert memory == {name: result[name].ctypes.data for name in out}
    return result


def crossed(sample, rng, out):
    """Returns memory that was lent for other results, and views of it, which must be read before anything is written there."""
    result = made(sample, rng)
    out["wide"][...], out["small"][...], out["middle"][...] = result["wide"], result["small"], result["middle"][::-1]
    out["image"][...] = result["image"][:, ::-1]
    result["wide"] = out["wide"].reshape(40, 70).T.copy().T.reshape(70, 40)
    result["middle"] = out["middle"][::-1]
    result["image"] = out["image"][:, ::-1]
    result["small"] = out["small"].view()
    return result


def test_what_is_written_is_what_would_be_returned(pictures):
    want = rows(images(pictures).map(made, gives=GIVES), fuse=False)
    for function, where, workers in ((written, "process", 2), (written, "thread", 3), (awaited, "process", 1), (crossed, "process", 1)):
        for fuse in (True, False):
            assert_alike(rows(images(pictures).map(function, gives=GIVES, where=where, workers=workers), fuse=fuse), want)


def swapped(image, out):
    a, b, count = out
    assert count is None
    a[...], b[...] = image, 255 - image
    return b, a, 7


def one(image, out):
    np.subtract(255, image, out=out)
    return out


def ignored(image, out):
    out[...] = 99
    return 255 - image


def perhaps(image, out=None):
    assert out is not None
    return np.subtract(255, image, out=out)


def of_torch(image, out):
    import torch

    to = torch.from_numpy(out)
    to.copy_(255 - torch.from_numpy(image))
    return to


def test_of_named_fields_out_is_an_array_or_several(pictures):
    image = ("uint8", (48, 40, 3))
    p = images(pictures).map(swapped, fields="image", to=["a", "b", "n"], gives={"b": image, "n": "int64", "a": image})
    for fuse in (True, False):
        got = rows(p, fuse=fuse)
        assert_alike(got, [{**s, "a": 255 - s["image"], "b": s["image"], "n": 7} for s in plain(pictures)])
    for function in (one, ignored, perhaps):
        got = rows(images(pictures).map(function, fields="image", gives=image))
        assert_alike(got, [{**s, "image": 255 - s["image"]} for s in plain(pictures)])


def test_out_may_be_filled_by_pytorch(pictures):
    pytest.importorskip("torch")
    got = rows(images(pictures).map(of_torch, fields="image", gives=("uint8", (48, 40, 3)), workers=1))
    assert_alike(got, [{**s, "image": 255 - s["image"]} for s in plain(pictures)])


def whose(image, out):
    """Where `out` is: the name of the file that is mapped there."""
    memory, nothing = out
    assert nothing is None
    memory[...] = image
    at = memory.ctypes.data
    with open("/proc/self/maps") as maps:
        for line in maps:
            begin, end = (int(n, 16) for n in line.split()[0].split("-"))
            if begin <= at < end:
                return memory, "".join(line.split(maxsplit=5)[5:]).strip()
    return memory, ""


@pytest.mark.parametrize("where", ["process", "thread"])
def test_it_is_the_row_of_the_batch(pictures, where):
    p = images(pictures).map(whose, fields="image", to=["image", "file"], gives={"image": ("uint8", (48, 40, 3)), "file": str}, where=where)
    assert {row["file"] for row in rows(p)} == {"/memfd:headrace-pool (deleted)"}
    assert "/memfd:headrace-pool (deleted)" not in {row["file"] for row in rows(p, fuse=False)}


def test_a_parameter_that_may_be_left_out(pictures):
    """Nobody knows how large a result will be before the first one, so that is made without."""

    def tried(image, out=None):
        return 255 - image if out is None else np.subtract(255, image, out=out)

    got = rows(images(pictures).map(tried, fields="image"))
    assert_alike(got, [{**s, "image": 255 - s["image"]} for s in plain(pictures)])

    def another(image, out="jpeg"):
        assert out == "jpeg"
        return image.shape[0]

    got = rows(images(pictures).map(another, fields="image", to="n"))
    assert_alike(got, [{**s, "n": 48} for s in plain(pictures)])


def fails_late(image, key, out):
    """Writes, and then fails, or dies."""
    out[...] = 77
    number = int(key.rpartition("/")[2].partition(".")[0][-2:])
    if number % 5 == 1:
        raise ValueError("too late")
    if number % 5 == 2:
        os._exit(3)
    out[...] = 255 - image
    return out


def test_a_row_that_was_written_by_a_function_that_failed(pictures):
    p = images(pictures).map(fails_late, fields=["image", "key"], to="image", gives=("uint8", (48, 40, 3))).failures(on_error="skip")
    got = rows(p)
    kept = [s for s in plain(pictures) if int(s["key"].rpartition("/")[2].partition(".")[0][-2:]) % 5 not in (1, 2)]
    assert_alike(got, [{**s, "image": 255 - s["image"]} for s in kept])
    assert 0 < len(kept) < len(plain(pictures))


def forgets(image, out):
    out[...] = 255 - image


def test_a_function_that_writes_and_returns_nothing(pictures):
    with images(pictures).map(forgets, fields="image", gives=("uint8", (48, 40, 3))).batch(4).loader(epochs=1) as loader:
        with pytest.raises(hr.HeadraceError, match=r"field 'image' is None; .*; what is written into out must be returned, too"):
            next(iter(loader))


def test_recipes_with_functions_that_need_it_must_say_what_they_give(pictures, tmp_path, monkeypatch):
    (tmp_path / "needs_out.py").write_text("def f(image, out):\n    out[...] = image\n    return out\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    recipe = images(pictures).batch(4)._described()
    path = tmp_path / "recipe.json"
    for gives, what in ((None, "has no gives"), ({"n": {"dtype": "int64"}}, "returns no array of known shape")):
        args = {"function": "needs_out:f", "fields": ["image"], "to": ["n"]}
        steps = [*recipe["steps"][:-1], {"map": {**args, "gives": gives} if gives else args}, recipe["steps"][-1]]
        path.write_text(json.dumps({**recipe, "steps": steps}))
        with pytest.raises(hr.HeadraceError, match=what), hr.load(path).loader(epochs=1) as loader:
            next(iter(loader))
