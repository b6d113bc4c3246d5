"""Operations one by one give the pixels of the one operation that they usually are."""

from __future__ import annotations

import numpy as np
import pytest

import headrace as hr
from conftest import augmented, digests, files_of
from steps import ON_PIXELS, step_on_images

pytestmark = pytest.mark.usefixtures("one_engine")


def chain(rng: np.random.Generator, description: hr.Pipeline) -> hr.Pipeline:
    """Some operations, whatever they are worth one after the other."""

    def side() -> int:
        return int(rng.integers(20, 90))

    def filter():
        return rng.choice(["bilinear", "box", "hamming", "bicubic", "lanczos"]).item()

    color = rng.choice(["rgb", "rgba", "gray"]).item()
    images = description.decode_image(color=color)
    named = ("resize", "resize_to_bucket", "center_crop", "pad", "random_crop", "random_resized_crop", "grayscale")
    operations = [
        lambda p: p.resize(side(), filter=filter()),
        lambda p: p.resize((side(), side()), filter=filter()),
        lambda p: p.resize((side(), side()), filter=filter(), fit=rng.choice(["pad", "crop"]).item(), anchor="right"),
        lambda p: p.resize_to_bucket([(side(), side()), (side(), side())], filter=filter()),
        lambda p: p.center_crop((side(), side())),
        lambda p: p.pad(3).random_crop(20),
        lambda p: p.random_resized_crop((side(), side()), filter=filter()),
        lambda p: p.pad((1, 2, 3, 4), 70),
        *(lambda p, name=name: step_on_images(name, rng.integers(1000))(p) for name in ON_PIXELS if name not in named),
    ]
    for i in rng.integers(len(operations), size=rng.integers(1, 6)):
        images = operations[i](images)
    images = images.center_crop((side(), side()))
    if color != "rgba" and rng.random() < 0.5:
        images = images.normalize(0.45, 0.22, rng.choice(["float32", "float16", "bfloat16"]).item())
    return images.layout(rng.choice(["NHWC", "NCHW"]).item())


@pytest.mark.parametrize("seed", range(4))
def test_random_chains(photos, seed):
    images = chain(np.random.default_rng(seed), hr.files(files_of(photos)[:9], seed=seed)).batch(4)
    with images.loader(epochs=2) as one, images.loader(epochs=2, fuse=False) as many:
        for _ in range(2):
            for a, b in zip(one, many, strict=True):
                assert a["key"] == b["key"]
                assert a["image"].tobytes() == b["image"].tobytes(), images


def test_statistics_of_each(photos):
    images = hr.files(photos).decode_image().resize(40).center_crop(32).color_jitter(0.4).normalize(0, 1).layout("NCHW").batch(4)
    with images.loader(epochs=1, fuse=False) as loader:
        list(loader)
        apart = [stage["name"] for stage in loader.stats()["stages"]]
        text = str(loader.stats())
    for name in apart:
        assert f"{name} " in text, text
    assert apart[-5:] == ["decode_image", "resize", "center_crop", "color_jitter", "normalize+layout+batch"]
    with images.loader(epochs=1) as loader:
        list(loader)
        fused = [stage["name"] for stage in loader.stats()["stages"]]
    assert fused[-1] == "decode_image+resize+center_crop+color_jitter+normalize+layout+batch"


def test_state_goes_from_one_to_the_other(photos):
    """What is fused says nothing about which samples come: states fit."""
    with augmented(photos).loader(epochs=1) as loader:
        whole = digests(loader)
    with augmented(photos).loader(epochs=1) as loader:
        loop = iter(loader)
        head = digests(next(loop) for _ in range(5))
        state = loader.state_dict()
    with augmented(photos).loader(epochs=1, fuse=False) as loader:
        loader.load_state_dict(state)
        assert head + digests(loader) == whole
