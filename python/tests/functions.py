"""Functions for steps of the tests, in a module that workers import quickly."""

from __future__ import annotations

import numpy as np


def same(sample):
    return sample


def brighter(sample):
    return {**sample, "image": np.minimum(sample["image"].astype(np.uint16) + 40, 255).astype(np.uint8)}


def mirrored(image):
    return image[:, ::-1]


def noisy(image, rng):
    return np.clip(image + rng.integers(-20, 20, image.shape), 0, 255).astype(np.uint8)


def mean_of(image):
    return float(image.mean())


def is_dark(image):
    return image.mean() < 100


def halves(sample):
    image = sample["image"]
    for half in (image[:24], image[24:]):
        yield {**sample, "image": half}


class Counter:
    """Counts the samples that this worker had."""

    def __init__(self):
        self.count = 0

    def __call__(self, sample):
        self.count += 1
        return {**sample, "count": self.count}


class Add:
    def __init__(self, amount):
        self.amount = amount

    def __call__(self, image):
        return image + np.uint8(self.amount)

    def doubled(self, image):
        return image + np.uint8(2 * self.amount)


async def later(sample):
    return sample


def numbers():
    yield from ({"x": i} for i in range(10))
