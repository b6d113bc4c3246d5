"""Functions that make large things of small ones, for the tests of what is made ahead of who takes it."""

import os

import numpy as np

SHAPE = (256, 1024)  # of float32: 1 MiB


def large(n):
    return np.full(SHAPE, n, np.float32)


def told(what):
    """Says that something has been reached, and waits until it may go on, by FIFOs: one opens when its other end does."""
    folder = os.environ.get("AHEAD_FOLDER")
    if folder:
        os.close(os.open(os.path.join(folder, what), os.O_WRONLY))
        os.close(os.open(os.path.join(folder, what + ".on"), os.O_RDONLY))


def several(sample):
    told("begun")
    for i in range(4):
        yield {"n": 10 * sample["n"] + i, "big": large(sample["n"])}


class Stream:
    """Large things, one after the other."""

    def __iter__(self):
        told("begun")
        for i in range(40):
            yield {"n": i, "big": large(i)}


def some(sample):
    """None of some, and an error for others, after what was made of them."""
    if sample["n"] % 5 == 1:
        return
    yield {"n": 10 * sample["n"], "big": large(sample["n"])}
    if sample["n"] % 5 == 3:
        raise ValueError("no second one")
    yield {"n": 10 * sample["n"] + 1, "big": large(sample["n"])}


def two(sample):
    for i in range(2):
        yield {"n": 10 * sample["n"] + i, "big": large(sample["n"])}


def small(sample):
    return {"n": sample["n"], "mean": float(sample["big"].mean())}


def picky(sample):
    if sample["n"] // 10 % 2:
        raise ValueError("not this one")
    return small(sample)


class Sums:
    """Gives something large for each, and at the end."""

    def accumulate(self, sample):
        told("begun")
        return {"n": sample["n"], "big": large(sample["n"])}

    def flush(self):
        told("flushed")
        return [{"n": -1, "big": large(1)}]


class Twos:
    """Two are one, which is large, and then another."""

    def __init__(self):
        self.first = None

    def accumulate(self, sample):
        if self.first is None:
            self.first = sample["n"]
            return
        first, self.first = self.first, None
        for i in range(2):
            yield {"n": first + i, "big": large(first)}

    def flush(self):
        return [] if self.first is None else [{"n": self.first, "big": large(0)}]
