"""What becomes of samples that fail in one step: tried again, left out, replaced. The references are lists and NumPy."""

from __future__ import annotations

import json
import os
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import headrace as hr

pytestmark = pytest.mark.usefixtures("one_engine")

SIDE = 12


def noise(seed: int) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 256, (SIDE, SIDE, 3), np.uint8)


def write(folder: Path, count: int, bad: tuple[int, ...] = ()) -> list[str]:
    folder.mkdir(exist_ok=True)
    paths = []
    for i in range(count):
        path = folder / f"{i:02d}.png"
        if i in bad:
            path.write_bytes(b"\x89PNG\r\n\x1a\n, and then nothing that a decoder knows")
        else:
            Image.fromarray(noise(i)).save(path)
        paths.append(str(path))
    return paths


def cropped(paths, **failures) -> hr.Pipeline:
    p = hr.files(paths).decode_image()
    return (p.failures(**failures) if failures else p).center_crop(8)


def number(key: str) -> int:
    return int(Path(key).stem)


# Skip, in one step.


def test_a_step_skips_although_the_loader_raises(tmp_path):
    paths = write(tmp_path, 10, bad=(3, 7))
    with cropped(paths, on_error="skip").batch(2).loader(epochs=2) as loader:
        for epoch in range(2):
            assert [key for b in loader for key in b["key"]] == [p for i, p in enumerate(paths) if i not in (3, 7)]
            assert loader.errors.total == 2 * epoch + 2
        assert {e.key for e in loader.errors} == {paths[3], paths[7]}
        assert all("decode_image" in e.stage for e in loader.errors)


def test_another_step_is_not_affected(tmp_path):
    """A file that cannot be read is none of decoding's failures, and the other way round."""
    paths = write(tmp_path, 6, bad=(4,))
    os.remove(paths[2])
    with cropped(paths, on_error="skip").batch(1).loader(epochs=1) as loader, pytest.raises(hr.SampleError) as caught:
        list(loader)
    assert caught.value.key == paths[2]
    read = hr.files(paths).failures(on_error="skip").decode_image().center_crop(8)
    with read.batch(1).loader(epochs=1) as loader, pytest.raises(hr.SampleError) as caught:
        list(loader)
    assert caught.value.key == paths[4]
    both = hr.files(paths).failures(on_error="skip").decode_image().failures(on_error="skip").center_crop(8)
    with both.batch(1).loader(epochs=1) as loader:
        assert [number(b["key"][0]) for b in loader] == [0, 1, 3, 5]
        assert {e.key for e in loader.errors} == {paths[2], paths[4]}


def test_a_step_raises_although_the_loader_skips(tmp_path):
    paths = write(tmp_path, 6, bad=(4,))
    with cropped(paths, on_error="raise").batch(1).loader(epochs=1, on_error="skip") as loader:
        got = []
        with pytest.raises(hr.SampleError) as caught:
            got.extend(number(b["key"][0]) for b in loader)
        assert got == [0, 1, 2, 3]
        assert caught.value.key == paths[4]


# Dead letters.


def letters(file):
    return [json.loads(line) for line in file.read_text().splitlines()]


@pytest.mark.parametrize("on_error", ["skip", "replace"])
def test_dead_letters_have_what_errors_has(own_photos, tmp_path, monkeypatch, on_error):
    (own_photos / "ant" / "002.jpg").write_bytes(b"nothing")
    (own_photos / "bee" / "005.jpg").write_bytes(b"")
    file = tmp_path / "bad.jsonl"
    file.write_text('{"was": "there"}\n')
    monkeypatch.chdir(tmp_path)
    pipeline = hr.files(own_photos).shuffle().decode_image().resize(16).center_crop(16).batch(4)
    with pipeline.loader(epochs=2, on_error=on_error, dead_letters="bad.jsonl") as loader:
        for _ in range(2):
            list(loader)
        errors = [{"rank": 0} | {name: getattr(e, name) for name in type(e).__slots__ if name[0] != "_"} for e in loader.errors]
    assert len(errors) == 4
    assert letters(file) == [{"was": "there"}, *errors]


def test_dead_letters_of_a_recipe_and_of_no_folder(own_photos, tmp_path):
    pipeline = hr.files(own_photos).decode_image().resize(16).center_crop(16).batch(4)
    with pytest.raises(hr.RecipeError, match=r"dead_letters cannot be written: open .*: no such file"):
        pipeline.loader(dead_letters=tmp_path / "none" / "bad.jsonl")
    with pytest.raises(hr.RecipeError, match="dead_letters is 3: must be the name of a file"):
        pipeline.loader(dead_letters=3)
    recipe = tmp_path / "recipe.yaml"
    with pipeline.loader(epochs=1, on_error="skip", dead_letters=tmp_path / "bad.jsonl") as loader:
        recipe.write_text(loader.recipe())
    (own_photos / "ant" / "002.jpg").write_bytes(b"nothing")
    assert letters(tmp_path / "bad.jsonl") == []
    with hr.load(recipe).loader() as loader:
        list(loader)
    (one,) = letters(tmp_path / "bad.jsonl")
    assert one["key"].endswith("ant/002.jpg")
    assert not one["replaced"]


def test_numbers_of_the_loader_are_numbers(photos):
    pipeline = hr.files(photos).decode_image().resize(16).center_crop(16).batch(4)
    for options, text in (
        ({"max_errors": float("inf")}, "max_errors is inf: must be a number"),
        ({"max_errors": "many"}, "max_errors is 'many': must be a number"),
        ({"stall_after": float("nan")}, "stall_after is nan: must be a number"),
        ({"stall_after": "soon"}, "stall_after is 'soon': must be a number"),
        ({"jpeg": "libjpeg"}, 'jpeg is "libjpeg": must be "headrace" or "turbo"'),
    ):
        with pytest.raises(hr.RecipeError, match=text):
            pipeline.loader(on_error="skip", **options)
    with pipeline.loader(epochs=1, on_error="skip", max_errors=np.int64(3), stall_after=np.float32(2.5)) as loader:
        assert loader._run.config["max_errors"] == 3
        assert loader._run.config["stall_after"] == 2.5
        list(loader)
    with pytest.raises(hr.RecipeError, match=r"time_limit is 0: must be from 0\.001 to 86400"):
        hr.files(photos).decode_image().failures(time_limit=0).center_crop(16).batch(4).loader()


def test_a_failure_says_how_often_it_was_tried(own_photos):
    (own_photos / "ant" / "000.jpg").write_bytes(b"nothing")
    pipeline = hr.files(own_photos).decode_image().failures(retries=2, wait=0).center_crop(16).batch(4)
    with pipeline.loader(epochs=1) as loader, pytest.raises(hr.SampleError, match=r"ant/000\.jpg.*\(tried 3 times\)"):
        list(loader)
