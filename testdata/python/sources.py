"""Objects that tests take samples from."""

import os
import signal

import numpy as np


class Numbers:
    """Ten thousand samples, each made of its number."""

    def __init__(self):
        self.x = np.arange(40_000, dtype=np.float32).reshape(10_000, 4)

    def __len__(self):
        return len(self.x)

    def __getitem__(self, i):
        return {"x": self.x[i], "n": i, "name": f"sample {i}"}


class Deadly(Numbers):
    def __getitem__(self, i):
        if i == 7:
            os.kill(os.getpid(), signal.SIGKILL)
        return super().__getitem__(i)


def dies():
    yield from ({"n": i} for i in range(5))
    os.kill(os.getpid(), signal.SIGKILL)


class Walk:
    """Numbers that are gone through one after the other, as those of Numbers."""

    def __init__(self):
        self.at, self.loaded = 0, False

    def __iter__(self):
        if not self.loaded:
            self.at = 0
        self.loaded = False
        while self.at < 60:
            self.at += 1
            n = self.at - 1
            yield {"n": n, "x": np.arange(4 * n, 4 * n + 4, dtype=np.float32)}

    def state_dict(self):
        return {"at": np.int64(self.at)}

    def load_state_dict(self, state):
        self.at, self.loaded = state["at"], True


class Pairs:
    """Two samples are one. It fails for some, and at the end."""

    def __init__(self):
        self.first = None

    def accumulate(self, sample):
        if sample["n"] % 9 == 7:
            raise ValueError("seven is bad")
        if self.first is None:
            self.first = sample
            return None
        first, self.first = self.first, None
        return {"n": "text" if sample["n"] == 10 else first["n"], "x": np.stack([first["x"], sample["x"]])}

    def flush(self):
        raise ValueError("no end")


class DeadlyPairs(Pairs):
    def accumulate(self, sample):
        if sample["n"] == 17:
            os.kill(os.getpid(), signal.SIGKILL)
        return super().accumulate(sample)
