"""`color_jitter(p=)`: which images change, and to what."""

import numpy as np
import pytest
from PIL import Image

import headrace as hr
from films import ffmpeg

N, P = 1500, 0.8
FACTORS = (0.4, 0.4, 0.4, 0.1)


@pytest.fixture(scope="module")
def picture(tmp_path_factory):
    path = tmp_path_factory.mktemp("jitter") / "picture.png"
    Image.fromarray(np.random.default_rng(1).integers(0, 256, (9, 7, 3), np.uint8)).save(path)
    return str(path)


def decoded(picture, n=N):
    return hr.files([(picture, i) for i in range(n)], seed=5).decode_image().center_crop((9, 7))


def images(pipeline, n=N, **options):
    with pipeline.batch(n).loader(epochs=1, **options) as loader:
        (batch,) = [{name: np.array(value) for name, value in batch.items() if name != "key"} for batch in loader]
    return batch


def test_so_many_change_and_as_without_p(picture):
    plain = images(decoded(picture))["image"]
    always = images(decoded(picture).color_jitter(*FACTORS))["image"]
    got = images(decoded(picture).color_jitter(*FACTORS, p=P))["image"]
    same = [(a == b).all(axis=(1, 2, 3)) for a, b in ((got, always), (got, plain))]
    assert (same[0] | same[1]).all()
    assert abs(same[0].sum() - N * P) < 5 * (N * P * (1 - P)) ** 0.5
    assert (images(decoded(picture).color_jitter(*FACTORS, p=0))["image"] == plain).all()
    assert (images(decoded(picture).color_jitter(*FACTORS, p=1))["image"] == always).all()
    for options in ({"workers": 1}, {"fuse": False}):
        assert (images(decoded(picture).color_jitter(*FACTORS, p=P), **options)["image"] == got).all()


def test_what_changes_does_not_depend_on_other_draws(picture):
    """Neither on those of the flip beside it, nor on its own factors."""
    both = decoded(picture).random_flip(0.5).color_jitter(*FACTORS, p=0.5)
    with both.batch(N).loader(epochs=1) as loader:
        state = loader.state_dict()
    draws = [{draw["step"]: draw["values"] for draw in row["draws"]} for row in hr.replay(both.batch(N), state).rows]
    flipped = np.array([draw["random_flip"]["flipped"] for draw in draws])
    applied = np.array([draw["color_jitter"]["applied"] for draw in draws])
    for part in (applied[flipped], applied[~flipped]):
        assert abs(part.sum() - len(part) / 2) < 5 * (len(part) / 4) ** 0.5
    bright = np.array([draw["color_jitter"]["brightness"] for draw in draws if draw["color_jitter"]["applied"]])
    assert abs(bright.mean() - 1) < 5 * 0.8 / 12**0.5 / len(bright) ** 0.5


def test_views_draw_for_themselves(picture):
    got = images(decoded(picture).views(2, lambda p: p.color_jitter(*FACTORS, p=0.5)))
    plain = images(decoded(picture))["image"]
    one, other = ((got[name] != plain).any(axis=(1, 2, 3)) for name in ("view_0", "view_1"))
    for combination in (one & other, one & ~other, ~one & other, ~one & ~other):
        assert abs(combination.sum() - N / 4) < 5 * (N * 3 / 16) ** 0.5


def test_a_recipe_without_p_stays_as_it_was(picture):
    fingerprints = []
    for given in ({}, {"p": None}, {"p": 1}, {"p": 0.8}):
        pipeline = hr.files([picture]).decode_image().center_crop(5).color_jitter(*FACTORS, **given)
        with pipeline.batch(1).loader() as loader:
            fingerprints.append(loader.state_dict()["recipe"])
    assert fingerprints[0] == fingerprints[1] == fingerprints[2] != fingerprints[3]
    assert '"p"' not in hr.files([picture]).decode_image().color_jitter(*FACTORS).recipe("json")


def test_the_ledger_says_whether(picture):
    n = 60
    steps = decoded(picture, n).color_jitter(*FACTORS, p=0.5).batch(n)
    with steps.loader(epochs=1) as loader:
        state = loader.state_dict()
        (got,) = [np.array(batch["image"]) for batch in loader]
    plain = images(decoded(picture, n), n)["image"]
    replayed = hr.replay(steps, state)
    assert (replayed.batch["image"] == got).all()
    applied = []
    for row, image, original in zip(replayed.rows, got, plain, strict=True):
        (draw,) = row["draws"]
        applied.append(draw["values"]["applied"])
        assert applied[-1] == (image != original).any()
        assert sorted(draw["values"]["order"]) == (["brightness", "contrast", "hue", "saturation"] if applied[-1] else [])
    assert {True, False} == set(applied)


def test_all_frames_of_a_clip_change_or_none(tmp_path):
    n = 40
    path = tmp_path / "clip.mp4"
    ffmpeg("-f", "lavfi", "-i", "testsrc2=s=32x32:r=25", "-frames:v", 4, path)
    clips = hr.files([(str(path), i) for i in range(n)], content=False, seed=2).decode_video(4, stride=1, start="begin").resize((32, 32))
    plain = images(clips, n)["video"]
    always = images(clips.color_jitter(brightness=(0.3, 0.5)), n)["video"]
    got = images(clips.color_jitter(brightness=(0.3, 0.5), p=0.5), n)["video"]
    changed = np.array([(a != b).any(axis=(1, 2, 3)) for a, b in zip(got, plain, strict=True)])
    assert (changed.all(axis=1) | ~changed.any(axis=1)).all()
    assert 0 < changed[:, 0].sum() < n
    for which, image, jittered, original in zip(changed[:, 0], got, always, plain, strict=True):
        assert (image == (jittered if which else original)).all()
