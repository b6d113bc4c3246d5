"""`gaussian_blur`: a sigma for each image, beside boxes and masks, in recipes and in clips, within a level of torchvision."""

import numpy as np
import pytest
import torch
from torchvision.transforms import v2

import headrace as hr
from films import ffmpeg

N = 40
IMAGE = np.random.default_rng(1).integers(0, 256, (30, 41, 3), np.uint8)
MASK = np.arange(30 * 41, dtype=np.int64).astype(np.uint8).reshape(30, 41)


def blurred(array, size, sigma):
    """torchvision's result for an image or a clip whose channels come last."""
    return v2.functional.gaussian_blur(torch.from_numpy(array).movedim(-1, -3), [size, size], [sigma, sigma]).movedim(-3, -1).numpy()


def is_near(ours, theirs):
    return np.abs(ours.astype(int) - theirs).max() <= 1


def source(n=N, **more):
    forms = {"image": ("uint8", (30, 41, 3)), "mask": ("uint8", (30, 41)), **dict.fromkeys(more, ("float32", (None, 4)))}
    return hr.source([{"image": IMAGE, "mask": MASK, **more} for _ in range(n)], gives=forms, seed=5)


def drawn(steps, name="gaussian_blur"):
    """The batch, and the sigma of each row."""
    with steps.loader(epochs=1) as loader:
        state = loader.state_dict()
        (batch,) = [{key: np.array(value) for key, value in batch.items() if key != "key"} for batch in loader]
    rows = hr.replay(steps, state).rows
    return batch, [draw["values"]["sigma"] for row in rows for draw in row["draws"] if draw["step"] == name]


def test_each_image_by_the_sigma_that_is_told():
    batch, sigmas = drawn(source().gaussian_blur(9, field="image").batch(N))
    assert len(set(sigmas)) == N
    assert all(0.1 <= sigma < 2 for sigma in sigmas)
    assert abs(np.mean(sigmas) - 1.05) < 5 * 1.9 / 12**0.5 / N**0.5
    for image, sigma in zip(batch["image"], sigmas, strict=True):
        assert is_near(image, blurred(IMAGE, 9, sigma))
    assert (batch["mask"] == MASK).all()


def test_workers_and_passes_make_no_difference():
    steps = source().random_flip(field="image").gaussian_blur(7, field="image").random_flip(field="image").batch(N)
    expected, _ = drawn(steps)
    for options in ({"workers": 1}, {"fuse": False}):
        with steps.loader(epochs=1, **options) as loader:
            (batch,) = loader
            assert (batch["image"] == expected["image"]).all()


def test_boxes_stay():
    steps = source(1, boxes=np.array([[1, 2, 6, 7]], np.float32)).boxes().gaussian_blur(5, 1.5, field="image")
    with steps.loader(epochs=1) as loader:
        (got,) = loader
        assert (got["boxes"] == [[1, 2, 6, 7]]).all()
        assert is_near(got["image"], blurred(IMAGE, 5, 1.5))


def test_a_recipe_says_the_same():
    steps = hr.files("x").decode_image().gaussian_blur(23).gaussian_blur(3, sigma=1).gaussian_blur(5, (0.5, 2.0))
    said = [{"kernel_size": 23}, {"kernel_size": 3, "sigma": 1.0}, {"kernel_size": 5, "sigma": [0.5, 2.0]}]
    assert steps._described()["steps"][2:] == [{"gaussian_blur": args} for args in said]


def test_all_frames_of_a_clip_have_one_sigma(tmp_path):
    path = tmp_path / "clip.mp4"
    ffmpeg("-f", "lavfi", "-i", "testsrc2=s=48x32:r=25", "-frames:v", 4, path)
    clips = hr.files([(str(path), i) for i in range(6)], content=False, seed=2).decode_video(4, stride=1, start="begin").resize((32, 48))
    plain, _ = drawn(clips.batch(6))
    batch, sigmas = drawn(clips.gaussian_blur(11).batch(6))
    for clip, original, sigma in zip(batch["video"], plain["video"], sigmas, strict=True):
        assert is_near(clip, blurred(original, 11, sigma))


def test_an_image_smaller_than_the_kernel():
    """torchvision raises; ours is mirrored again."""
    steps = source(1).center_crop(5, field="image").gaussian_blur(23, 4, field="image").batch(1)
    batch, _ = drawn(steps)
    part = IMAGE[12:17, 18:23].astype(np.uint8)
    wide = np.pad(part, ((11, 11), (11, 11), (0, 0)), mode="reflect")
    assert is_near(batch["image"][0], blurred(wide, 23, 4.0)[11:16, 11:16])


@pytest.mark.parametrize(
    ("steps", "says"),
    [
        (lambda p: p.gaussian_blur(4, field="image"), "kernel_size is 4: must be odd"),
        (lambda p: p.gaussian_blur(129, field="image"), "kernel_size is 129: must be from 1 to 127"),
        (lambda p: p.gaussian_blur(3, 0, field="image"), "sigma is 0: must be above 0, or two rising numbers"),
        (lambda p: p.gaussian_blur(3, (2, 1), field="image"), r"sigma is \[2,1\]: must be above 0, or two rising numbers"),
        (lambda p: p.gaussian_blur(3, "wide", field="image"), "sigma is 'wide': must be a number"),
        (lambda p: p.gaussian_blur(3, fields=["image", "mask"]), "gaussian_blur of a mask, whose numbers are not colours"),
        (lambda p: p.normalize(0, 1, field="image").gaussian_blur(3, field="image"), "put it before normalize"),
    ],
)
def test_mistakes(steps, says):
    with pytest.raises(hr.RecipeError, match=says):
        steps(source(2)).batch(2).loader()


def test_images_of_16_bits_are_refused():
    with pytest.raises(hr.RecipeError, match="gaussian_blur of uint16: must be uint8"):
        hr.files("*.png").decode_image(dtype="uint16").gaussian_blur(3).batch(1).loader()
