"""Every step on images that there is: what all of them have in common, with arguments that the schema allows."""

from __future__ import annotations

import inspect

import numpy as np
import pytest
import torch
from PIL import Image
from torchvision.transforms import v2

import headrace as hr
from films import ffmpeg
from headrace._steps import INSTEAD
from steps import ON_PIXELS, operations, step_on_images

pytestmark = pytest.mark.usefixtures("one_engine")

N, P = 300, 0.3
RNG = np.random.default_rng(1)
IMAGE = RNG.integers(9, 256, (61, 70, 3), np.uint8)  # not all levels, so that autocontrast changes it
MASK = RNG.integers(0, 9, (61, 70), np.uint8)
BOXES = np.array([[1, 2, 6, 7], [10, 20, 70, 61]], np.float32)
GIVES = {"image": ("uint8", (61, 70, 3)), "mask": ("uint8", (61, 70)), "boxes": ("float32", (None, 4))}
OF_EACH = {"random_photometric_distort", "random_choice"}  # p is the chance of each of several changes
WITH_CHANCE = sorted(name for name in ON_PIXELS if "p" in operations()[name]["properties"] and name not in OF_EACH)


def source(n, seed=5):
    return hr.source([{"image": IMAGE, "mask": MASK, "boxes": BOXES}] * n, gives=GIVES, seed=seed)


def samples(pipeline, **options):
    with pipeline.loader(epochs=1, **options) as loader:
        return [{name: np.array(value) for name, value in sample.items()} for sample in loader]


def step(name, seed=0):
    """A step with arguments that fit the image."""
    said = operations()[name]
    return step_on_images(name, seed, **({"size": 60 if "size" in said["required"] else 90} if "size" in said["properties"] else {}))


def each(pipeline, steps, field="image"):
    """A field for each step, which works on it."""
    pipeline = pipeline.copy(field, list(steps))
    for to, add in steps.items():
        pipeline = add(pipeline, field=to)
    return pipeline


def test_only_the_field_changes():
    """Whatever works on it at once, and in one pass or several."""
    steps = each(source(6).copy("image", ["before"]), {name: step(name) for name in ON_PIXELS})
    plain, other = samples(steps), samples(steps, workers=1, fuse=False)
    for a, b in zip(plain, other, strict=True):
        for name in ON_PIXELS:
            assert np.array_equal(a[name], b[name]), name
        for name, was in (("image", IMAGE), ("before", IMAGE), ("mask", MASK), ("boxes", BOXES)):
            assert np.array_equal(a[name], was), name


def test_boxes_move_only_if_pixels_do():
    steps = source(3).boxes()
    on_colours = [name for name in ON_PIXELS if refuses_masks(name)]
    assert {"color_jitter", "grayscale"} < set(on_colours) < set(ON_PIXELS)
    for name in on_colours:
        if name != "grayscale" and "augment" not in name:  # one may leave one channel, the others turn and shift too
            steps = step(name)(steps, field="image")
    assert all(np.array_equal(sample["boxes"], BOXES) for sample in samples(steps))


def refuses_masks(name):
    try:
        step(name)(source(1), fields=["image", "mask"]).loader().close()
    except hr.RecipeError as error:
        return f"{name} of a mask" in str(error)
    return False


def test_all_frames_of_a_clip_alike(tmp_path):
    Image.fromarray(IMAGE[:60]).save(tmp_path / "image.png")
    ffmpeg("-loop", 1, "-i", tmp_path / "image.png", "-frames:v", 4, "-c:v", "ffv1", tmp_path / "still.mkv")
    clips = hr.files([(str(tmp_path / "still.mkv"), i) for i in range(4)], content=False, seed=2).decode_video(3, stride=1, start="begin")
    for clip in samples(each(clips, {name: step(name) for name in ON_PIXELS}, "video")):
        for name in ON_PIXELS:
            assert len(clip[name]) == 3
            assert all(np.array_equal(frame, clip[name][0]) for frame in clip[name]), name


def test_so_many_change():
    steps = {f"{name} {p}": step_on_images(name, p=p) for name in WITH_CHANCE for p in (0, P, 1)}
    got = samples(each(source(N), steps))
    changed = {field: sum(not np.array_equal(sample[field], IMAGE) for sample in got) for field in steps}
    for name in WITH_CHANCE:
        share = P * changed[f"{name} 1"] / N
        assert share > 0.2, name
        assert changed[f"{name} 0"] == 0, name
        assert abs(changed[f"{name} {P}"] - N * share) < 5 * (N * share * (1 - share)) ** 0.5, name


# What the names in a call of INSTEAD stand for, if the schema has no better.
NAMES = {"p": 1, "ratio": (1, 1), "mean": [0.4, 0.5, 0.6], "std": [0.25, 0.5, 0.2], "width": 64, "height": 64, "sizes": [64]}

# Ranges and shifts that a single number does not stand for.
PAIRS = {"scale", "scale_range", "shear", "side_range", "translate"}

# What they cut and drop depends on boxes: test_box_steps compares them.
BY_BOXES = {"RandomIoUCrop", "SanitizeBoundingBoxes"}

# We follow Pillow: of tensors, other pixels are the nearest, and what is interpolated fades
# twice at a border.
AS_PILLOW = {"affine", "perspective"}


def meant(name):
    """Arguments by what the schema says: of a range the middle, and no chance."""
    values = {}
    for argument, said in operations()[name]["properties"].items():
        value = said["examples"][0] if "examples" in said else said.get("default")
        if isinstance(value, list) and len(value) == 2:
            value = sum(value) // 2 if isinstance(value[0], int) and value[1] > 2 else sum(value) / 2
            value = (value, value) if argument in PAIRS else value
        values[argument] = (1, 1) if argument == "scale" and "crop" in name else value
    if name in ("five_crop", "ten_crop"):  # which have to fit into the image
        values["size"] = 32
    return values | NAMES


@pytest.mark.filterwarnings("ignore:The image decoding and encoding capabilities")  # torchvision's, of JPEG
@pytest.mark.parametrize("name", sorted(set(INSTEAD) - BY_BOXES))
def test_what_is_written_instead_does_the_same(name):
    """Pixels are torchvision's, or nearly; if they are drawn, only the form is."""
    call = INSTEAD[name]
    built, args = call[1:-1].split("(", 1)
    names = meant(built)
    steps = eval(f"pipeline{call}", {"pipeline": source(4).select("image")}, names)
    ours = [sample["image"] for sample in samples(steps)]
    image = Image.fromarray(IMAGE) if name in AS_PILLOW else v2.functional.to_image(IMAGE)
    if ours[0].dtype != np.uint8:
        image = v2.functional.to_dtype(image, torch.float32, scale=True)
    if inspect.isclass(getattr(v2, name, None)):
        theirs = eval(f"v2.{name}({args})", {"v2": v2}, names)(image)
    else:
        theirs = eval(f"v2.functional.{name}(image, {args})", {"v2": v2, "image": image}, names)
    theirs = torch.stack(theirs) if isinstance(theirs, tuple) else theirs
    theirs = np.array(theirs) if name in AS_PILLOW else theirs.movedim(-3, -1).numpy()
    assert ours[0].shape == theirs.shape
    assert ours[0].dtype == theirs.dtype
    if all(np.array_equal(ours[0], other) for other in ours):
        assert np.abs(ours[0].astype(float) - theirs.astype(float)).max() <= (1 if theirs.dtype == np.uint8 else 1e-6)
