"""What the tests of package extern have workers do."""

import asyncio
import ctypes
import os
import random
import signal
import sys
import threading
import time

import numpy as np


def double(sample):
    return {"x": 2 * sample["x"]}


def same(sample):
    return sample


def trouble(sample):
    """What the text says happens."""
    what = sample["what"]
    if what == "raise":
        raise ValueError("no such crop")
    if what == "library":
        np.stack([])
    if what == "exit":
        os._exit(7)
    if what == "sys.exit":
        sys.exit("no more")
    if what == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    if what == "segfault":
        ctypes.string_at(0)
    if what == "hang":
        time.sleep(1000)
    if what == "child":
        if os.fork() == 0:
            time.sleep(1000)
        os._exit(3)
    if what == "stderr":
        os.write(2, b"the last words\n")
        os._exit(1)
    return {"x": sample["x"]}


def pixels(sample):
    return {
        "image": sample["image"] + 1,
        "n": int(sample["image"].sum()),
        "what": sample["what"].upper(),
        "raw": bytes(sample["raw"])[::-1],
    }


def in_place(sample):
    sample["image"] += 1
    return sample


def slow_in_place(sample):
    sample["image"] += 1
    time.sleep(0.002)
    return sample


def fresh(sample):
    return {"image": sample["image"].copy()}


def grow(sample):
    return {"image": np.full(sample["n"], 7, np.float32)}


def weak(sample):
    return {"a": np.float64(3), "b": 1, "c": np.bool_(True), "d": np.array(7, np.uint8), "e": 2}


def draws(sample, rng):
    return {"r": rng.random(), "p": random.random(), "n": np.random.rand(), "pid": os.getpid()}


class Arrives:
    """Leaves a file where it runs when it is made."""

    def __init__(self):
        open(f"arrived-{os.getpid()}", "w").close()

    def __call__(self, sample):
        return {"x": sample["x"]}


class Broken:
    def __init__(self):
        raise RuntimeError("no set-up")


async def async_trouble(sample):
    if sample["what"] == "raise":
        await asyncio.sleep(0.001)
        raise ValueError("no such crop")
    await asyncio.sleep(0.01)
    return trouble(sample)


async def later(sample):
    await asyncio.sleep(0.001)
    return {"x": sample["x"] + 1}


def parts(sample):
    for i in range(sample["x"]):
        yield {"x": i}


def endless(sample):
    i = 0
    while True:
        sys.stdout.write(f"{i}\n")
        yield {"x": i}
        i += 1


def endless_and_big(sample):
    i = 0
    while True:
        sys.stdout.write(f"{i}\n")
        yield {"x": i, "image": np.full((300, 300), i, np.float32)}
        i += 1


def texts(sample):
    for _ in range(3):
        yield {"text": "x" * sample["x"]}


def big_parts(sample):
    for i in range(sample["x"]):
        yield {"image": np.full((300, 300), i, np.float32)}


class Pairs:
    """Aggregates: two samples are one."""

    def __init__(self):
        self.held = []

    def accumulate(self, sample):
        self.held.append(sample["x"])
        if len(self.held) == 2:
            pair, self.held = self.held, []
            return [{"x": sum(pair)}]
        return None

    def flush(self):
        yield from ({"x": x} for x in self.held)
        self.held = []

    def state_dict(self):
        return {"held": self.held}

    def load_state_dict(self, state):
        self.held = state["held"]


class Gathering:
    """Gives what it has been given, by twos: a sample, a list, or nothing."""

    def __init__(self):
        self.held = []

    async def accumulate(self, sample):
        if sample["x"] == -9:
            os.kill(os.getpid(), signal.SIGKILL)
        self.held.append(sample)
        if len(self.held) < 2:
            return None
        pair, self.held = self.held, []
        return pair

    def flush(self):
        return self.held[0] if self.held else None

    def close(self):
        print("closed with", len(self.held))


gathering = Gathering()


def mean(samples):
    return {"x": sum(s["x"] for s in samples) // len(samples)}


def ragged(samples):
    """Arrays of one extent, a number and a text."""
    n = samples[0]["n"]
    return {"wide": np.full((n, 3), n, np.float32), "n": n, "small": np.arange(n % 7, dtype=np.uint8), "name": f"{n}", "tall": np.full(2 * n, -n, np.int32)}


def pid(sample):
    return {"x": os.getpid(), "thread": threading.get_ident()}


def nap(sample):
    time.sleep(0.3)
    return sample


def inner(x):
    return undefined_name  # noqa: F821


class Items:
    """Samples by their numbers; some numbers are trouble."""

    def __getitem__(self, i):
        if i == 1_000_000:
            raise ValueError("no such crop")
        if i == 2_000_000:
            os.kill(os.getpid(), signal.SIGKILL)
        if i == 3_000_000:
            time.sleep(0.3)
        return {"x": i, "name": f"n{i}", "row": np.full(5, i % 30000, np.int16)}
