"""Workers that die later than what is to blame for it."""

import asyncio
import os
import signal
import threading
import time

import numpy as np

armed = False


def once():
    """Whether this is the first call in any process."""
    try:
        os.close(os.open(os.environ["LATE"], os.O_CREAT | os.O_EXCL))
    except FileExistsError:
        return False
    return True


def die():
    os.kill(os.getpid(), signal.SIGKILL)


def poisons(sample):
    """Sample 3 does something to its process, the first time, under which another one dies."""
    global armed
    if armed:
        die()
    if sample["x"] == 3:
        armed = once()
    return sample


def changes(sample):
    """Changes what it was given, and dies in the middle of that, once."""
    image = sample["image"]
    image[: len(image) // 2] += 1
    if sample["x"] == 3 and once():
        die()
    image[len(image) // 2 :] += 1
    return sample


def changes_all(samples):
    for n, sample in enumerate(samples):
        sample["image"] += 1
        if n == 1 and once():
            die()
    return {"x": np.array([s["x"] for s in samples]), "image": np.stack([s["image"] for s in samples])}


def parts(sample):
    """Makes a hundred, and dies between two of them, once, when those before have been handed on."""
    for i in range(100):
        if i == 90 and sample["x"] == 3 and once():
            time.sleep(0.1)
            die()
        yield {"x": 1000 * sample["x"] + i}


def kills(sample):
    """Sample 5 ends its process, whenever it comes, after others have ended it for no reason of theirs."""
    if sample["x"] == 5 or sample["x"] == 3 and once():
        die()
    return sample


async def kills_async(sample):
    await asyncio.sleep(0)
    return kills(sample)


def thread_kills(sample):
    """Sample 5 ends its process a little later, from a thread of its own, the first time."""
    if sample["x"] == 5 and once():
        threading.Thread(target=lambda: (time.sleep(0.05), die())).start()
    time.sleep(0.01)
    return sample


flying = set()
seen = set()


async def first_waits(sample):
    """Gives how many calls there are at once. The first one is there until 150 others have been."""
    n = sample["x"]
    first = not seen
    seen.add(n)
    flying.add(n)
    now = len(flying)
    while first and len(seen) < 151:
        await asyncio.sleep(0.001)
    await asyncio.sleep(0.001)
    flying.remove(n)
    return {"x": now}


async def blocks_async(sample):
    await asyncio.sleep(0.05)
    if sample["x"] == 5:
        time.sleep(3600)
    return sample
