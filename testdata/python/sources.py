"""Objects that tests take samples from."""

import asyncio
import os
import signal
import time

import numpy as np


class Numbers:
    """Ten thousand samples, each made of its number."""

    def __init__(self):
        self.x = np.arange(40_000, dtype=np.float32).reshape(10_000, 4)

    def __len__(self):
        return len(self.x)

    def __getitem__(self, i):
        return {"x": self.x[i], "n": i, "name": f"sample {i}"}


class Pairs:
    """What a torch Dataset is like: items are tuples of a picture and a label."""

    def __len__(self):
        return 12

    def __getitem__(self, i):
        if i >= 12:
            raise IndexError(i)
        return np.full((6, 5, 3), i, np.uint8), i % 3


class Bad(Numbers):
    def __getitem__(self, i):
        if i == 7:
            raise ValueError("seven is bad")
        return super().__getitem__(i)


class Deadly(Numbers):
    def __getitem__(self, i):
        if i == 7:
            os.kill(os.getpid(), signal.SIGKILL)
        return super().__getitem__(i)


class Odd(Numbers):
    def __getitem__(self, i):
        return {"x": np.zeros(3 + (i == 7), np.int16), "text": "a"}


def many():
    for i in range(1000):
        yield {"n": i, "square": np.full(3, i * i, np.int64)}


async def later():
    for i in range(50):
        await asyncio.sleep(0)
        yield {"n": i}


def breaks():
    yield from ({"n": i} for i in range(5))
    raise RuntimeError("no more of this")


def dies():
    yield from ({"n": i} for i in range(5))
    os.kill(os.getpid(), signal.SIGKILL)


def none():
    return iter(())


def ranked(rank, world_size):
    for i in range(rank, 100, world_size):
        yield {"n": i}


once = iter([{"n": 1}, {"n": 2}])
several = [{"n": 1}, {"n": 2}]


class Saved:
    """A stream that can go on where it was. It does not only count: what comes depends on what came before."""

    def __init__(self):
        self.at = 0
        self.x = 1
        self.epoch = 0
        self.loaded = False

    def set_epoch(self, epoch):
        self.epoch = epoch

    def __iter__(self):
        if not self.loaded:
            self.at, self.x = 0, 1 + self.epoch
        self.loaded = False
        while self.at < 500:
            self.at += 1
            self.x = self.x * 6364136223846793005 % (1 << 61)
            yield {"n": self.at, "x": self.x, "pid": os.getpid()}

    def state_dict(self):
        return {"at": self.at, "x": self.x, "share": 0.5, "none": None}

    def load_state_dict(self, state):
        assert state["share"] == 0.5 and state["none"] is None
        self.at, self.x, self.loaded = state["at"], state["x"], True


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


class Iterator:
    """What iter() makes has the state, not what it is made of."""

    def __init__(self):
        self.at = 0

    def __iter__(self):
        return self

    def __next__(self):
        if self.at == 100:
            raise StopIteration
        self.at += 1
        return {"n": self.at}

    def state_dict(self):
        return self.at

    def load_state_dict(self, state):
        self.at = state


class Fresh:
    def __iter__(self):
        return Iterator()


class Wide(Saved):
    def state_dict(self):
        return "x" * (2 << 20)


class Unwritten(Saved):
    def state_dict(self):
        return {"x": {1}}


def slow():
    for i in range(3):
        yield {"n": i}
    time.sleep(60)
