"""Functions for steps of the tests, in a module that workers import quickly."""

from __future__ import annotations

import os

import numpy as np


def same(sample):
    return sample


def brighter(sample):
    return {**sample, "image": np.minimum(sample["image"].astype(np.uint16) + 40, 255).astype(np.uint8)}


def mirrored(image):
    return image[:, ::-1]


def noisy(image, rng):
    return np.clip(image + rng.integers(-20, 20, image.shape), 0, 255).astype(np.uint8)


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


def collated(samples):
    return {"image": np.stack([sample["image"] for sample in samples]), "count": np.int64(len(samples))}


class Pairs:
    """Two samples are one; the last of an odd number is alone."""

    def __init__(self):
        self.first = None

    def accumulate(self, sample):
        if self.first is None:
            self.first = sample
            return None
        first, self.first = self.first, None
        return {"n": 100 * first["n"] + sample["n"]}

    def flush(self):
        return self.first and {"n": self.first["n"]}


def counted():
    return [{"n": n, "x": np.array([n, n])} for n in range(40)]


async def later(sample):
    return sample


def numbers():
    yield from ({"x": i} for i in range(10))


def labels(samples):
    return {"labels": " ".join(map(str, samples))}


class Numbers:
    def __len__(self):
        return 3

    def __getitem__(self, i):
        return {"n": i}


class Sequences:
    """Sequences of different lengths, each with a number and a name."""

    def __init__(self, count=22):
        self.count = count

    def __len__(self):
        return self.count

    def __getitem__(self, i):
        return {"tokens": np.arange(i % 7 + 1, dtype=np.int32) + i, "label": i, "name": f"sample {i}"}


def padded(samples, rng):
    """What people write: the longest says how long all are."""
    length = max(len(sample["tokens"]) for sample in samples)
    tokens = np.zeros((len(samples), length), np.int64)
    for row, sample in zip(tokens, samples):
        row[: len(sample["tokens"])] = sample["tokens"]
    return {
        "tokens": tokens,
        "mask": tokens > 0,
        "labels": np.array([sample["label"] for sample in samples], np.float32),
        "names": ", ".join(sample["name"] for sample in samples),
        "size": len(samples),
        "drawn": rng.integers(0, 1 << 40),
    }


class Collator:
    """Each worker has its own, which counts."""

    def __init__(self):
        self.calls = 0

    def __call__(self, samples):
        self.calls += 1
        return {"calls": self.calls, "pid": os.getpid(), "size": len(samples)}


def fragile(samples):
    labels = [sample["label"] for sample in samples]
    if 9 in labels:
        raise ValueError("not with nine")
    if 14 in labels:
        os.kill(os.getpid(), 9)
    return {"labels": np.array(labels)}


NUMBERS = [3, 1, 4, 1]


def longest_caption(sample):
    assert type(sample["captions"]) is list
    sample["captions"].append("more")
    return {**sample, "longest": max(sample["captions"], key=len), "both": [sample["captions"][:1], "other"]}


def one_more_caption(sample):
    return {**sample, "captions": [*sample["captions"], "and more"]}


def count_captions(batch):
    return {**batch, "counts": [str(len(c)) for c in batch["captions"]]}


def all_captions(samples):
    return {"all": [s["captions"] for s in samples]}
