"""Steps that hold others, and policies: drawn for each sample, in views, in recipes and in replays."""

from __future__ import annotations

import numpy as np
import pytest

import headrace as hr

IMAGE = np.random.default_rng(3).integers(0, 256, (40, 50, 3), np.uint8)
GIVES = {"image": ("uint8", (40, 50, 3))}


def images(pipeline, field="image", **options):
    with pipeline.loader(epochs=1, **options) as loader:
        return [np.array(sample[field]) for sample in loader]


def source(n=40, seed=5):
    return hr.source([{"image": IMAGE}] * n, gives=GIVES, seed=seed)


def test_steps_are_applied_together_or_not():
    both = images(source(1).invert().posterize(3))[0]
    got = images(source(400).random_apply(lambda p: p.invert().posterize(3), p=0.25))
    applied = sum(np.array_equal(image, both) for image in got)
    assert applied + sum(np.array_equal(image, IMAGE) for image in got) == 400
    assert abs(applied - 100) < 45


def test_one_of_several_as_likely_as_said():
    one, two = images(source(1).invert())[0], images(source(1).posterize(3).solarize(10))[0]
    got = images(source(400).random_choice([lambda p: p.invert(), lambda p: p.posterize(3).solarize(10)], p=[3, 1]))
    first = sum(np.array_equal(image, one) for image in got)
    assert first + sum(np.array_equal(image, two) for image in got) == 400
    assert abs(first - 300) < 45


def test_any_order():
    orders = [images(source(1).solarize(100).posterize(1))[0], images(source(1).posterize(1).solarize(100))[0]]
    got = images(source(200).random_order(lambda p: p.solarize(100).posterize(1)))
    counts = [sum(np.array_equal(image, order) for image in got) for order in orders]
    assert sum(counts) == 200
    assert min(counts) > 60


POLICIES = {
    "rand": lambda p: p.rand_augment(),
    "timm": lambda p: p.rand_augment(config="rand-m9-mstd0.5-inc1", filter="bicubic", fill=(124, 116, 104)),
    "trivial": lambda p: p.trivial_augment(),
    "auto": lambda p: p.auto_augment("cifar10"),
    "own": lambda p: p.random_apply(lambda q: q.random_choice([lambda r: r.random_rotation(20), lambda r: r.adjust_sharpness(2)]), p=0.8),
}


@pytest.mark.parametrize("name", POLICIES)
def test_the_same_whoever_works(name):
    made = POLICIES[name](source())
    plain = images(made)
    assert len({image.tobytes() for image in plain}) > 10
    for options in ({"workers": 1}, {"workers": 2, "fuse": False}):
        assert all(map(np.array_equal, plain, images(made, **options)))
    first, second = images(source().views(2, POLICIES[name]), "view_0"), images(source().views(2, POLICIES[name]), "view_1")
    assert not all(map(np.array_equal, first, second))


def test_replays_say_what_was_done():
    made = source().random_apply(lambda p: p.random_adjust_sharpness(2, p=1).random_posterize(2), p=1).rand_augment().batch(4)
    with made.loader(epochs=1) as loader:
        state = loader.state_dict()
    replayed = hr.replay(made, state, batch=0)
    for row in replayed.rows:
        draws = {draw["step"]: draw["values"] for draw in row["draws"]}
        assert draws["random_apply"]["applied"]
        assert draws["random_apply"]["steps"][0].startswith("random_adjust_sharpness sharpened=")
        assert len(draws["rand_augment"]["steps"]) == 2


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda p: p.random_apply(lambda q: q.take(3)), "steps[0] is take, which does not work on an image"),
        (lambda p: p.random_apply(lambda q: q.posterize(9)), "steps[0] is posterize: bits is 9: must be from 0 to 8"),
        (lambda p: p.random_apply(lambda q: q.invert(field="image")), "steps[0] is invert with a field of its own"),
        (lambda p: p.random_choice([lambda q: q.invert()], p=[1, 2]), "p has 2 numbers for 1 steps"),
        (lambda p: p.random_choice([]), "random_choice of nothing"),
        (lambda p: p.random_apply(3), "must be a function of a pipeline, or a list of such functions"),
        (lambda p: p.rand_augment(config="rand-m9-mstdd"), '"mstdd" has no number'),
        (lambda p: p.rand_augment(config="augmix-m3"), 'must begin with "rand"'),
        (lambda p: p.rand_augment(config="rand-m9.5"), '"m9.5" must be m or n and a whole number'),
        (lambda p: p.rand_augment(3, config="rand-m9"), "leave these out"),
        (lambda p: p.rand_augment(magnitude=31), "must be from 0 to 30"),
    ],
)
def test_what_cannot_be(build, message):
    with pytest.raises(hr.RecipeError) as error:
        build(source()).loader()
    assert message in str(error.value)
