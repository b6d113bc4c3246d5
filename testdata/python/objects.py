"""Values other than arrays, for the engine's tests."""

import numpy as np


class Numbers:
    def __getitem__(self, i):
        return {"n": i}


def wrap(sample):
    n = sample["n"]
    return {"n": n, "meta": {"array": np.full(n * n * 10, n), "nothing": None}}


def told(meta):
    return f"{type(meta).__name__} {len(meta['array'])} {meta['array'].sum()} {meta['nothing']}"
