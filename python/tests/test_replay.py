"""A batch of a run, made again in another process, and what learns of its rows."""

from __future__ import annotations

import json

import numpy as np
import pytest
from PIL import Image

import headrace as hr
from conftest import augmented, digest, digests, pipeline, run_python


def cropped(folder, size=4):
    """Crops and flips alone: what Pillow does exactly, too, once the pixels are there."""
    images = hr.files(folder, label="parent", seed=5).shuffle().decode_image()
    return images.random_crop(64).random_flip().random_vertical_flip(0.3).random_rotate90(0.6).batch(size)


def redone(row):
    """The image of a row, from its file and what learns of its draws."""
    drawn = {draw["step"]: draw["values"] for draw in row["draws"]}
    image = Image.open(row["key"]).convert("RGB")
    x, y, width, height = (drawn["random_crop"][key] for key in ("x", "y", "width", "height"))
    image = image.crop((x, y, x + width, y + height))
    if drawn["random_flip"]["flipped"]:
        image = image.transpose(Image.Transpose.FLIP_LEFT_RIGHT)
    if drawn["random_vertical_flip"]["flipped"]:
        image = image.transpose(Image.Transpose.FLIP_TOP_BOTTOM)
    return np.rot90(np.asarray(image), drawn["random_rotate90"]["turns"])


def test_the_same_bytes_come_out_in_another_process(photos, tmp_path):
    with augmented(photos).loader(epochs=2) as loader:
        states, seen = [loader.state_dict()], []
        for _ in range(2):
            for batch in loader:
                seen.append(digest(batch))
                states.append(loader.state_dict())
    recipe = tmp_path / "run.yaml"
    recipe.write_text(augmented(photos).recipe())
    asked = [(0, 0), (0, 7), (5, 3), (11, 1), (3, 20), (23, 0)]  # some in the epoch after
    code = """
        import json, sys
        import headrace as hr
        from conftest import digest
        states = json.load(open(sys.argv[2]))
        for at, n in json.loads(sys.argv[3]):
            print(json.dumps(digest(hr.replay(sys.argv[1], states[at], n).batch)))
    """
    (tmp_path / "states.json").write_text(json.dumps(states))
    ran = run_python(code, recipe, tmp_path / "states.json", json.dumps(asked))
    assert ran.returncode == 0, ran.stderr
    got = [json.loads(line) for line in ran.stdout.splitlines()]
    assert got == json.loads(json.dumps([seen[at + n] for at, n in asked]))


def test_what_is_told_of_a_row_makes_its_picture(photos):
    with cropped(photos).loader(epochs=1) as loader:
        loop = iter(loader)
        next(loop)
        state = loader.state_dict()
        later = [next(loop) for _ in range(5)][-1]
    flips = turns = 0
    for n in range(10):
        batch, rows = hr.replay(cropped(photos), state, n)
        assert len(rows) == len(batch["key"])
        if n == 4:
            assert digest(batch) == digest(later)
        for i, row in enumerate(rows):
            assert row["key"] == batch["key"][i]
            assert (row["source"], row["epoch"], row["position"]) == ("files", 0, 4 * (n + 1) + i)
            assert np.abs(redone(row).astype(int) - batch["image"][i]).max() <= 1
            flips += row["draws"][1]["values"]["flipped"]
            turns += row["draws"][3]["values"]["turns"]
    assert flips
    assert turns


def test_the_index_is_that_of_the_list(photos):
    files = sorted(photos.rglob("*.jpg"))
    with cropped(files).loader(epochs=1) as loader:
        state = loader.state_dict()
    assert all(str(files[row["index"]]) == row["key"] for row in hr.replay(cropped(files), state, 6).rows)


def test_a_rank_and_its_losses(own_photos):
    (own_photos / "bee" / "007.jpg").write_bytes(b"\xff\xd8\xff nothing")
    options = {"on_error": "replace"}
    told = {}
    for rank in range(2):
        with cropped(own_photos, 2).loader(epochs=1, rank=rank, world_size=2, **options) as loader:
            state = loader.state_dict()
            whole = digests(loader)
        for n, seen in enumerate(whole):
            batch, rows = hr.replay(cropped(own_photos, 2), state, n, **options)
            assert digest(batch) == seen
            told.update({row["replaced"]["key"]: row for row in rows if "replaced" in row})
    (bad,) = told
    assert bad.endswith("bee/007.jpg")
    assert told[bad]["key"] != bad
    assert told[bad]["replaced"]["stage"].startswith("decode_image")


def test_a_run_that_skips_is_gone_through(own_photos):
    (own_photos / "ant" / "000.jpg").write_bytes(b"nothing")
    with cropped(own_photos, 2).loader(epochs=2, on_error="skip") as loader:
        state = loader.state_dict()
        seen = digests(loader) + digests(loader)
    assert [digest(hr.replay(cropped(own_photos, 2), state, n, on_error="skip").batch) for n in (0, 5, 9)] == [seen[n] for n in (0, 5, 9)]


def test_what_cannot_be_replayed(photos):
    with pipeline(photos).loader() as loader:
        state = loader.state_dict()
    with pytest.raises(hr.StateMismatch, match="another pipeline: step"):
        hr.replay(cropped(photos), state)
    with pytest.raises(hr.StateMismatch, match="not a loader state: it has no 'version', 'order', 'recipe'"):
        hr.replay(pipeline(photos), {"world_size": 1, "rank": 0, "epoch": 0, "sources": {}})
    for wrong, why in (
        (None, "it is None: must be what state_dict"),
        ({**state, "sources": []}, "its sources are"),
        ({**state, "epoch": 1.5}, "its epoch is 1.5"),
        ({**state, "replaced": -1}, "its replaced is -1"),
        ({**state, "dropped": -1}, "it dropped -1 samples, more than it had"),
    ):
        with pytest.raises(hr.StateMismatch, match=why):
            hr.replay(pipeline(photos), wrong)
    with pytest.raises(hr.RecipeError, match="batch -1 to replay"):
        hr.replay(pipeline(photos), state, -1)
    with pytest.raises(hr.RecipeError, match=r"batch is 1\.5: must be a whole number"):
        hr.replay(pipeline(photos), state, 1.5)
    with pytest.raises(hr.RecipeError, match=r"replay\(workers=…\): the options are order, on_error"):
        hr.replay(pipeline(photos), state, workers=3)
    with pytest.raises(hr.RecipeError, match="on_error"):
        hr.replay(pipeline(photos), state, on_error="pray")
    nothing = hr.files(sorted(photos.rglob("*.jpg"))[:1]).decode_image().center_crop(8).batch(2, drop_last=True)
    with nothing.loader() as loader, pytest.raises(hr.RecipeError, match="there is no batch 3"):
        hr.replay(nothing, loader.state_dict(), 3)
