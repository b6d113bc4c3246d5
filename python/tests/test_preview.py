"""Contact sheets: what `headrace preview` draws, beside what the client gets and what Pillow makes of the same files."""

from __future__ import annotations

import io
import json
import os
import signal
import subprocess
import threading
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from torchvision.transforms import v2 as transforms

import headrace as hr
from conftest import DEBUG_ENGINE, ROOT, augmented, children, digests, engine_pid, files_of, photo, pipeline, some, within

ENGINE = ROOT / "python/src/headrace/_bin/headrace"
MARGIN, GAP = 16, 12
SIDE = 80


@pytest.fixture
def pictures(tmp_path):
    """Without loss, so that decoders cannot differ."""
    for i in range(6):
        folder = tmp_path / "data" / f"class{i % 2}"
        folder.mkdir(parents=True, exist_ok=True)
        photo(i, 100 + 20 * i, 160 - 10 * i).save(folder / f"{i}.png")
    return tmp_path / "data"


def sheet(tmp_path, steps, *options) -> np.ndarray:
    recipe = tmp_path / "recipe.json"
    recipe.write_text(json.dumps({"headrace": 1, "steps": [*steps, {"batch": {"size": 4}}]}))
    out = tmp_path / "sheet.png"
    subprocess.run([ENGINE, "preview", recipe, "-o", out, "--columns", "6", *options], check=True, capture_output=True)
    with Image.open(out) as image:
        assert image.mode == "RGB"
        return np.asarray(image).astype(int)


def tiles(sheet: np.ndarray, first: np.ndarray, side: int, count: int = 6) -> list[np.ndarray]:
    """The tiles of the one row, whose place below the header is where the first one is."""
    row = sheet[:, MARGIN : MARGIN + side]
    far = [np.abs(row[y : y + side] - first).max() for y in range(len(sheet) - side)]
    top = int(np.argmin(far))
    return [sheet[top : top + side, MARGIN + i * (side + GAP) :][:, :side] for i in range(count)]


def test_tiles_are_what_the_client_gets_and_what_pillow_makes(tmp_path, pictures):
    steps = [{"files": {"pattern": str(pictures)}}, "decode_image", {"resize": {"size": 96}}, {"center_crop": {"size": SIDE}}]
    numbers = [{"normalize": {"mean": [0.4, 0.5, 0.6], "std": [0.2, 0.25, 0.3]}}, {"layout": {"layout": "NCHW"}}]
    with hr.files(pictures).decode_image().resize(96).center_crop(SIDE).batch(6).loader(epochs=1) as loader:
        batch = next(iter(loader))
    ours = batch["image"].astype(int)
    pillows = transforms.Compose([transforms.Resize(96), transforms.CenterCrop(SIDE)])
    large = np.repeat(np.repeat(ours, 2, axis=1), 2, axis=2)  # each pixel a square
    drawn = tiles(sheet(tmp_path, steps + numbers, "--tile", str(2 * SIDE)), large[0], 2 * SIDE)
    for tile, mine, key in zip(drawn, large, batch["key"], strict=True):
        assert np.array_equal(tile, mine)
        with Image.open(key) as image:
            assert np.abs(tile[::2, ::2] - np.asarray(pillows(image)).astype(int)).max() <= 1


def test_small_tiles_are_scaled_down_as_pillow_does(tmp_path, pictures):
    steps = [{"files": {"pattern": str(pictures)}}, "decode_image", {"center_crop": {"size": SIDE}}]
    with hr.files(pictures).decode_image().center_crop(SIDE).batch(6).loader(epochs=1) as loader:
        images = [Image.fromarray(image) for image in next(iter(loader))["image"]]
    small = [np.asarray(image.resize((33, 33), Image.Resampling.BILINEAR)).astype(int) for image in images]
    drawn = tiles(sheet(tmp_path, steps, "--tile", "33"), small[0], 33)
    for tile, want in zip(drawn, small, strict=True):
        assert np.array_equal(tile, want)


# From Python.


def read(preview: hr.Preview) -> np.ndarray:
    with Image.open(io.BytesIO(preview.png)) as image:
        assert (image.format, image.mode, image.size) == ("PNG", "RGB", (preview.width, preview.height))
        return np.asarray(image).astype(int)


def test_a_preview_is_what_the_loader_gives(tmp_path, pictures):
    images = hr.files(pictures, label="parent", seed=3).shuffle().decode_image().random_resized_crop(SIDE).random_flip()
    with images.normalize(0.5, 0.25).batch(6).loader(epochs=3) as loader:
        preview = loader.preview(6, columns=6, tile=2 * SIDE)
    with images.batch(6).loader(epochs=1) as plain:
        batch = next(iter(plain))
    large = np.repeat(np.repeat(batch["image"].astype(int), 2, axis=1), 2, axis=2)
    for tile, mine in zip(tiles(read(preview), large[0], 2 * SIDE), large, strict=True):
        assert np.abs(tile - mine).max() <= 1
    assert [s.key for s in preview.samples] == list(batch["key"])
    assert [s.label for s in preview.samples] == [f"class{n} ({n})" for n in batch["label"]]
    assert all(s.error is None for s in preview.samples)
    assert (preview.epoch, preview.samples_per_epoch) == (0, 6)
    assert preview._repr_png_() == preview.png
    name = preview.save(tmp_path / "sheet.png")
    assert Path(name).read_bytes() == preview.png
    assert f"the first 6 of 6 samples of epoch 0, {preview.width}×{preview.height} pixels" in repr(preview)
    assert all(f"{s.key}  {s.label}" in repr(preview) for s in preview.samples)


def test_a_preview_takes_nothing_from_the_loader(photos):
    with augmented(photos).loader(epochs=3) as loader:
        expected = [digests(loader) for _ in range(3)]
    with augmented(photos).loader(epochs=3) as loader:
        before = loader.preview(4)
        got = digests(loader)
        loop = iter(loader)
        got += digests([next(loop) for _ in range(5)])
        state, epochs, pid = loader.state_dict(), loader._run.stats, engine_pid()
        now = loader.preview(4)
        assert loader.state_dict() == state
        assert loader._run.stats == epochs
        assert engine_pid() == pid
        got += digests(loop)
        got += digests(loader)
        assert now.epoch == 1
        assert [s.key for s in now.samples] == list(expected[1][0][3])
        assert [s.key for s in before.samples] == list(expected[0][0][3])
        assert loader.preview(4, epoch=0).png == before.png
        assert got == expected[0] + expected[1] + expected[2]
        assert loader.preview(3, epoch=5).samples  # beyond the epochs that are run


def test_a_preview_of_samples_that_fail(own_photos):
    for path in files_of(own_photos)[1:3]:
        Path(path).write_bytes(b"no picture \x1b[31m")
    images = hr.files(own_photos).decode_image().resize(32).center_crop(32).batch(4)
    with images.loader(epochs=1) as loader:  # the loader itself would raise
        preview = loader.preview(50)
        assert [s.error is not None for s in preview.samples] == [False, True, True] + 13 * [False]
        assert "unknown image format" in preview.samples[1].error
        assert "fails: decode_image" in repr(preview)
        assert len(preview.samples) == 16
        assert loader.errors.total == 0


def test_a_preview_of_an_epoch_that_nobody_knows_the_length_of():
    def grow():
        for i in range(5):
            yield {"image": np.full((8, 9, 3), 40 * i, np.uint8), "key": f"number {i}"}

    with hr.source(grow).batch(2).loader(epochs=1) as loader:
        preview = loader.preview(3)
    assert [s.key for s in preview.samples] == ["number 0", "number 1", "number 2"]
    assert preview.samples_per_epoch == -1
    assert repr(preview).startswith("<headrace.Preview: the first 3 of epoch 0, ")


def test_a_preview_of_two_ranks_and_several_sources(pictures):
    merged = hr.merge([hr.files(f"{pictures}/class0"), hr.files(f"{pictures}/class1")]).decode_image().center_crop(48).batch(1)
    with merged.loader(epochs=1) as loader:
        expected = [key for batch in loader for key in batch["key"]]
    with merged.loader(epochs=1, rank=1, world_size=2, steps_per_epoch=2) as loader:
        assert [s.key for s in loader.preview().samples] == expected


@pytest.mark.parametrize(
    ("arguments", "message"),
    some(
        [
            ({"n": 0}, r"preview\(n=0\): must be from 1 to 10,000"),
            ({"n": 10_001}, "must be from 1 to 10,000"),
            ({"n": "4"}, "n is '4': must be a whole number"),
            ({"epoch": -1}, "epochs count from 0"),
            ({"epoch": 1 << 60}, "a preview of 16 samples"),
            ({"columns": 0}, "must be from 1 to 10,000"),
            ({"tile": 5000}, "must be from 1 to 4,096"),
            ({"n": 10_000, "tile": 4096, "columns": 1}, None),  # sheets this large take their time
        ],
        7,
    ),
)
def test_previews_that_cannot_be(pictures, arguments, message):
    with hr.files(pictures).decode_image().center_crop(48).batch(1).loader(epochs=1) as loader:
        if message is None:
            assert len(loader.preview(**arguments).samples) == 6
        else:
            with pytest.raises(hr.RecipeError, match=message):
                loader.preview(**arguments)
        with pytest.raises(ValueError, match=r"'sheet\.tiff' does not end in \.png"):
            loader.preview(1).save("sheet.tiff")
        with pytest.raises(FileNotFoundError):
            loader.preview(1).save("none/sheet.png")
    with pytest.raises(hr.LoaderClosed):
        loader.preview()


def test_a_preview_without_a_picture(tmp_path):
    np.save(tmp_path / "a.npy", np.zeros(3, np.float32))
    with hr.files(f"{tmp_path}/*.npy").decode_npy("float32", [3]).batch(1).loader(epochs=1) as loader:
        with pytest.raises(hr.RecipeError, match="no image to draw"):
            loader.preview()
        assert len(list(loader)) == 1


def test_a_preview_that_crashes_its_engine(photos, monkeypatch):
    """A loader that runs does not notice."""
    with pipeline(photos).loader(epochs=1) as loader:
        expected = digests(loader)
    with pipeline(photos).loader(epochs=1) as loader:
        loop = iter(loader)
        got = digests([next(loop)])
        monkeypatch.setenv("HEADRACE_ENGINE", str(DEBUG_ENGINE))
        monkeypatch.setenv("HEADRACE_TEST_CRASH", Path(expected[0][3][1]).stem)
        with pytest.raises(hr.EngineDied) as died:
            loader.preview()
        assert died.value.in_flight
        assert digests(loop) == expected[len(got) :]


def test_ctrl_c_ends_a_preview(photos):
    with pipeline(photos).loader(epochs=1) as loader:
        before = children()
        halt = threading.Thread(
            target=lambda: within(8, lambda: children() - before) and [os.kill(p, signal.SIGSTOP) for p in children() - before]
        )
        halt.start()
        timer = threading.Timer(0.6, os.kill, [os.getpid(), signal.SIGINT])
        timer.start()
        with pytest.raises(KeyboardInterrupt):
            while True:
                loader.preview(40)
        halt.join()
        timer.join()
        for pid in children() - before:
            os.kill(pid, signal.SIGCONT)
        assert within(8, lambda: not children() - before)
        assert len(digests(loader)) == 12


def test_a_preview_of_functions_of_python(pictures):
    def inverted(sample):
        return {**sample, "image": 255 - sample["image"]}

    images = hr.files(pictures).decode_image().center_crop(SIDE)
    with images.batch(6).loader(epochs=1) as loader:
        large = np.repeat(np.repeat(255 - next(iter(loader))["image"].astype(int), 2, axis=1), 2, axis=2)
    with images.map(inverted, workers=1).batch(6).loader(epochs=1) as loader:
        preview = loader.preview(6, columns=6, tile=2 * SIDE)
        assert len(list(loader)) == 1
    for tile, mine in zip(tiles(read(preview), large[0], 2 * SIDE), large, strict=True):
        assert np.array_equal(tile, mine)
