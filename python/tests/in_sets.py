"""Functions that workers of `test_workers_object` import."""

from __future__ import annotations

import asyncio
import os
import threading
import time

import numpy as np

BEGUN = None
LOCK = threading.Lock()
inside = greatest = 0


def begin(value):
    global BEGUN
    assert BEGUN is None, "once in each process"
    BEGUN = value


def mark(sample, name):
    """Note the process, its initializer and its environment."""
    return {**sample, name: np.array([os.getpid(), BEGUN or 0, int(os.environ.get("OF_THE_SET", "0"))])}


def thread(n):
    """The process and thread, and how many calls were beside each other in the process so far."""
    global inside, greatest
    with LOCK:
        inside += 1
        greatest = max(greatest, inside)
    time.sleep(0.02)
    with LOCK:
        inside -= 1
    return np.array([os.getpid(), threading.get_ident(), greatest], np.uint64)


def with_pid(batch):
    return {"pid": np.full(len(batch["n"]), os.getpid())}


def same_pid(sample):
    return {"same": sample["pid"] == os.getpid()}


def stacked(samples):
    return {"n": np.array([sample["n"] for sample in samples])}


def fails():
    raise LookupError("no table")


def dies():
    os._exit(7)


def dies_once(sample):
    """End the process of one sample, unless it is tried again."""
    died = os.environ.get("DIED")
    if sample["n"] == 20 and died and not os.path.exists(died):
        open(died, "w").close()
        os._exit(3)
    return sample


def double(sample):
    return {**sample, "n": 2 * sample["n"]}


async def double_async(sample):
    await asyncio.sleep(0)
    return double(sample)


def mappings(sample):
    """How much of Headrace's memory the process maps."""
    with open("/proc/self/maps") as maps:
        return {"n": sample["n"], "pid": os.getpid(), "mappings": sum("/memfd:headrace" in line for line in maps)}


class Closing:
    """Notes in a file when it is closed."""

    def __init__(self, log):
        self.log = log

    def __call__(self, sample):
        return sample

    def close(self):
        with open(self.log, "a") as log:
            log.write("closed\n")


class ClosingAsync(Closing):
    async def __call__(self, sample):
        await asyncio.sleep(0)
        return sample

    async def close(self):
        await asyncio.sleep(0)
        Closing.close(self)


class Counts:
    """A hook."""

    calls = 0

    def call(self, call):
        Counts.calls += 1


def hooked(sample):
    return {"n": sample["n"], "calls": Counts.calls}


class CannotBegin:
    def __init__(self):
        raise ValueError("cannot begin")

    def __call__(self, sample):
        return sample


def says(sample):
    print("sample", sample["n"])  # noqa: T201
    return True
