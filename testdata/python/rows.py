"""Functions at the end of recipes, whose results are in the rows of batches."""

import os
import signal
import time

import numpy as np


def several(sample, rng):
    """Results of all sizes, one of them what was given, changed in place."""
    image = sample["image"]
    image[:] = 255 - image
    return {
        "name": os.path.basename(sample["key"]) + "é",
        "large": rng.random((70, 40)),
        "image": image,
        "middle": rng.integers(0, 256, (60, 100), np.uint8)[::2, ::-1],
        "small": rng.random(3).astype(np.float32),
        "empty": np.empty((0, 3), np.int16),
        "number": np.uint16(image.sum() % 65536),
        "dark": bool(image[0, 0, 0] < 100),
    }


async def later(sample, rng):
    import asyncio

    await asyncio.sleep(0)
    return several(sample, rng)


def mirrored(image):
    return image[:, ::-1], np.ascontiguousarray(image[::-1]), image


def told(sample):
    """Does what the file STAGES_TROUBLE says of this sample, after it has written one field: "die"; once more, the rest of the list."""
    name = os.path.basename(sample["key"])
    path = os.path.join(os.environ["STAGES_TROUBLE"], name)
    large = np.full((100, 100), int(name[:3]) + 1, np.float32)
    if not os.path.exists(path):
        return {"key": sample["key"], "large": large, "image": sample["image"]}
    with open(path) as f:
        what, *rest = f.read().split()
    if rest:
        with open(path, "w") as f:
            f.write(" ".join(rest))
    if what == "die":
        os.kill(os.getpid(), signal.SIGKILL)
    if what == "raise":
        raise ValueError(f"no good: {name}")
    if what == "hang":
        time.sleep(1000)
    image = sample["image"].astype(np.float32) if what == "misfit" else sample["image"]
    return {"key": sample["key"], "large": -large, "image": image}


def slow(sample):
    time.sleep(0.02)
    return {"key": sample["key"], "large": np.full(5000, sample["label"], np.int64)}


STORED = np.zeros((512, 512), np.float32)


def stored(sample):
    """An array that is there: what it costs to have it in a batch is copying."""
    return {"large": STORED}


def stored_out(sample, out):
    """The same, copied by the function itself."""
    out["large"][...] = STORED
    return out


class Thousand:
    """A source of numbers."""

    def __len__(self):
        return 1000

    def __getitem__(self, i):
        return {"n": i}


BATCH = np.zeros(4 << 20, np.float32)


def whole(samples):
    return {"batch": BATCH}


def whole_but_the_first(samples):
    """Next to nothing where it is the first batch, by which slots are made."""
    return {"batch": BATCH[: 4 if samples[0]["key"] == "0" else None]}
