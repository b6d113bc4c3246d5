"""Functions that tests of the engine call."""

import os
import signal
import time

import numpy as np


def even(key):
    return int(os.path.basename(key)[:3]) % 2 == 0


def copies(sample):
    for i in range(20):
        yield {"key": sample["key"], "image": sample["image"], "number": i}


def tokens(key):
    return np.arange(int(os.path.basename(key)[:3]) % 5 + 1, dtype=np.int32)


def padded(samples, rng):
    """Sequences of one length, and what a batch may have besides: numbers, text."""
    each = [tokens(sample["key"]) for sample in samples]
    out = np.full((len(each), max(map(len, each))), -1, np.int32)
    for row, one in zip(out, each):
        row[: len(one)] = one
    names = " ".join(os.path.basename(sample["key"]) for sample in samples)
    sizes = np.array([sample["image"].shape[:2] for sample in samples], np.uint16)
    return {"tokens": out, "names": names, "count": len(samples), "sizes": sizes, "drawn": rng.integers(0, 1 << 60)}


def renamed(labels):
    return {"twice": np.array(labels) * 2}


def growing(keys):
    """Each batch is larger than the one before."""
    number = int(os.path.basename(keys[0])[:3])
    return {"data": np.full(1 + 50_000 * number, number, np.uint8), "more": np.full((number, 3), 7.5)}


def gathered(samples):
    """Does what told does."""
    each = [told(sample) for sample in samples]
    return {"names": " ".join(os.path.basename(one["key"]) for one in each), "images": np.stack([one["image"] for one in each])}


def told(sample):
    """Does what the file STAGES_TROUBLE says of this sample: {"003.png": "die"}; what it says of it once more is the rest of the list."""
    name = os.path.basename(sample["key"])
    folder = os.environ["STAGES_TROUBLE"]
    path = os.path.join(folder, name)
    what = ""
    if os.path.exists(path):
        with open(path) as f:
            todo = f.read().split()
        if todo:
            what = todo[0]
            if len(todo) > 1:
                with open(path, "w") as f:
                    f.write(" ".join(todo[1:]))
    if what == "die":
        os.kill(os.getpid(), signal.SIGKILL)
    if what == "exit":
        os._exit(3)
    if what == "raise":
        raise ValueError(f"no good: {name}")
    if what == "hang":
        time.sleep(1000)
    if what == "misfit":
        return {"key": sample["key"], "image": sample["image"].astype(np.float32)}
    return {"key": sample["key"], "image": sample["image"]}
