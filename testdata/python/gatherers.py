"""Objects that gather samples, for the tests of aggregate; and, as a program, what they make when no engine is there."""

import asyncio
import inspect
import json
import os
import signal
import sys
import time

import numpy as np


class Pairs:
    """Two samples are one; of an odd number the last one stands alone. It remembers nothing that it has given something for."""

    def __init__(self):
        self.first = None

    def accumulate(self, sample):
        if self.first is None:
            self.first = sample
            return None
        first, self.first = self.first, None
        return {"n": first["n"] * 1000 + sample["n"], "x": np.stack([first["x"], sample["x"]])}

    def flush(self):
        if self.first is None:
            return []
        return [{"n": self.first["n"], "x": np.stack([self.first["x"], 0 * self.first["x"]])}]


class Hoard:
    """What it gives depends on all that it was ever given in an epoch, and it keeps some of that for later, and of what it has failed for."""

    salt = 1
    flushes = True

    def __init__(self):
        self.seen = 0
        self.kept = []

    def mix(self, v):
        return (v * 2654435761 + self.salt * 40503 + self.seen * 97) >> 3 & 0xFFFF

    def accumulate(self, sample):
        self.seen += 1
        self.kept.append(sample)
        r = self.mix(sample["n"])
        if r % 4 == 0:
            n = 1 + r // 4 % len(self.kept)
            given, self.kept = self.kept[:n], self.kept[n:]
            for i, k in enumerate(given):
                if r % 7 == 3 and i == n // 2:
                    raise ValueError("no half of it")
                yield self.made(k)
        elif r % 7 == 3:
            raise ValueError("not this one")

    def made(self, sample):
        return {"n": 1000 * sample["n"] + self.seen, "x": sample["x"] + np.float32(self.seen)}

    def flush(self):
        if self.flushes:
            yield from map(self.made, self.kept)
            if self.seen % 2:
                yield {"n": -self.seen, "x": np.zeros(4, np.float32)}

    def state_dict(self):
        return {"seen": self.seen, "kept": self.kept}

    def load_state_dict(self, state):
        self.seen, self.kept = state["seen"], state["kept"]


class Quiet(Hoard):
    salt = 9
    flushes = False


class Forgetful(Hoard):
    """It remembers things, and cannot say what."""

    state_dict = None


class Window:
    """The sum of the last three, of numbers that are given by name; it draws, too."""

    def __init__(self):
        self.last = []

    def accumulate(self, n, rng):
        self.last = [*self.last[-2:], n]
        if len(self.last) == 3:
            return {"n": sum(self.last), "drawn": rng.integers(1 << 40)}
        return None

    def flush(self, rng):
        return {"n": 0, "drawn": rng.integers(1 << 40)}

    def state_dict(self):
        return {"last": self.last}

    def load_state_dict(self, state):
        self.last = state["last"]


class AtTheEnd:
    """Gives all it has at the end, backwards."""

    def __init__(self):
        self.all = []

    async def accumulate(self, sample):
        self.all.append(sample)

    async def flush(self):
        return self.all[::-1]


class Bad(Pairs):
    """Fails as its name says."""

    def accumulate(self, sample):
        n = sample["n"]
        if n == 7:
            raise ValueError("seven is bad")
        if n == 8:
            return {"n": "eight", "x": np.zeros((2, 4), np.float32)}
        return super().accumulate(sample)


class BadFlush(Pairs):
    def flush(self):
        raise ValueError("no end")


class Deadly(Pairs):
    def accumulate(self, sample):
        if sample["n"] == 7:
            os.kill(os.getpid(), signal.SIGKILL)
        return super().accumulate(sample)


class Hangs(Pairs):
    def accumulate(self, sample):
        if sample["n"] == 7:
            time.sleep(1000)
        return super().accumulate(sample)


class Unwritten(Pairs):
    def state_dict(self):
        return {"first": {1}}

    def load_state_dict(self, state):
        pass


class Halves:
    """The upper half of a picture, then the lower."""

    def accumulate(self, sample):
        image = sample["image"]
        yield {"image": image[:2], "label": sample["label"]}
        yield {"image": image[2:], "label": sample["label"]}

    def flush(self):
        return None


if __name__ == "__main__":
    numbers, failed = json.loads(sys.argv[2]), []
    gives = []
    gathers = globals()[sys.argv[1]]()
    samples = [{"n": n, "x": np.arange(4 * n, 4 * n + 4, dtype=np.float32)} for n in numbers]

    def take(result):
        if inspect.iscoroutine(result):
            result = asyncio.run(result)
        for sample in [] if result is None else [result] if isinstance(result, dict) else result:
            gives.append([sample["n"], np.asarray(sample["x"], float).ravel().tolist()])

    for sample in samples:
        try:
            take(gathers.accumulate(sample))
        except ValueError:
            failed.append(sample["n"])
    if samples:
        take(gathers.flush())
    print(json.dumps({"gives": gives, "failed": failed}))
