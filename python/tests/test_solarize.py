"""`solarize` and `random_solarize`: which images change, beside boxes and masks, in recipes and in clips."""

import numpy as np
import pytest
import torch
from torchvision.transforms import v2

import headrace as hr
from films import ffmpeg

N, P = 600, 0.3
IMAGE = np.random.default_rng(1).integers(0, 256, (9, 7, 3), np.uint8)
MASK = np.arange(63, dtype=np.uint8).reshape(9, 7)


def solarized(array, threshold=128):
    """torchvision's result for an image or a clip whose channels come last."""
    return v2.functional.solarize(torch.from_numpy(array).movedim(-1, -3), threshold).movedim(-3, -1).numpy()


def source(n=N, **more):
    forms = {"image": ("uint8", (9, 7, 3)), "mask": ("uint8", (9, 7)), **dict.fromkeys(more, ("float32", (None, 4)))}
    return hr.source([{"image": IMAGE, "mask": MASK, **more} for _ in range(n)], gives=forms, seed=5)


def batch_of(pipeline, n=N, **options):
    with pipeline.batch(n).loader(epochs=1, **options) as loader:
        (batch,) = [{name: np.array(value) for name, value in batch.items() if name != "key"} for batch in loader]
    return batch


def test_so_many_change_and_nothing_beside_the_image():
    steps = source().random_solarize(70, P, field="image")
    got = batch_of(steps)
    changed = (got["image"] == solarized(IMAGE, 70)).all(axis=(1, 2, 3))
    assert (changed | (got["image"] == IMAGE).all(axis=(1, 2, 3))).all()
    assert abs(changed.sum() - N * P) < 5 * (N * P * (1 - P)) ** 0.5
    assert (got["mask"] == MASK).all()
    for options in ({"workers": 1}, {"fuse": False}):
        assert (batch_of(steps, **options)["image"] == got["image"]).all()


def test_boxes_stay():
    steps = source(1, boxes=np.array([[1, 2, 6, 7]], np.float32)).boxes().solarize(field="image")
    with steps.loader(epochs=1) as loader:
        (got,) = loader
        assert (got["boxes"] == [[1, 2, 6, 7]]).all()
        assert (got["image"] == solarized(IMAGE)).all()


def test_a_recipe_says_the_same():
    steps = hr.files("x").decode_image().solarize(99.5).random_solarize(7, p=0.25).solarize()
    said = [{"solarize": {"threshold": 99.5}}, {"random_solarize": {"threshold": 7.0, "p": 0.25}}, {"solarize": {"threshold": 128.0}}]
    assert steps._described()["steps"][2:] == said


def test_draws_are_told():
    steps = source().random_solarize(70, P, field="image").batch(N)
    with steps.loader(epochs=1) as loader:
        state = loader.state_dict()
        (batch,) = [np.array(batch["image"]) for batch in loader]
    for row, image in zip(hr.replay(steps, state).rows, batch, strict=True):
        draws = {draw["step"]: draw["values"] for draw in row["draws"]}
        assert draws["random_solarize"]["solarized"] == (image != IMAGE).any()


def test_all_frames_of_a_clip(tmp_path):
    path = tmp_path / "clip.mp4"
    ffmpeg("-f", "lavfi", "-i", "testsrc2=s=32x32:r=25", "-frames:v", 4, path)
    clips = hr.files([(str(path), i) for i in range(40)], content=False, seed=2).decode_video(4, stride=1, start="begin").resize((32, 32))
    plain, got = (batch_of(p, 40)["video"] for p in (clips, clips.random_solarize(99, 0.5)))
    changed = np.array([(a != b).any() for a, b in zip(got, plain, strict=True)])
    assert 0 < changed.sum() < 40
    for which, clip, original in zip(changed, got, plain, strict=True):
        assert (clip == (solarized(original, 99) if which else original)).all()


@pytest.mark.parametrize(
    ("steps", "says"),
    [
        (lambda p: p.solarize(256, field="image"), "threshold is 256: must be from 0 to 255"),
        (lambda p: p.random_solarize(9, 1.5, field="image"), "p is 1.5: must be from 0 to 1"),
        (lambda p: p.random_solarize(fields=["image", "mask"]), "random_solarize of a mask, whose numbers are not colours"),
        (lambda p: p.normalize(0, 1, field="image").solarize(field="image"), "put it before normalize"),
    ],
)
def test_mistakes(steps, says):
    with pytest.raises(hr.RecipeError, match=says):
        steps(source(2)).batch(2).loader()


def test_images_of_16_bits_are_refused():
    with pytest.raises(hr.RecipeError, match="solarize of uint16: must be uint8"):
        hr.files("*.png").decode_image(dtype="uint16").solarize().batch(1).loader()
