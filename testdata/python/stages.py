"""Functions that tests of the engine call, and what they give when nobody but Python calls them: python stages.py < questions."""

import base64
import json
import os
import signal
import sys
import time

import numpy as np
from PIL import Image, ImageFilter


def smooth(image):
    """An image in, an image of another size out."""
    return np.asarray(Image.fromarray(np.asarray(image)).filter(ImageFilter.GaussianBlur(2)).resize((12, 10), Image.Resampling.BICUBIC))


def whole(sample):
    """A sample in, another one out: fields gone, fields new, one of every kind."""
    image = sample["image"]
    return {
        "key": sample["key"],
        "label": sample["label"] + 100,
        "mean": float(image.mean()),
        "corner": image[:4, :5],
        "histogram": np.histogram(image, bins=8, range=(0, 256))[0].astype(np.int32),
        "height": np.uint16(image.shape[0]),
        "dark": bool(image.mean() < 100),
        "name": os.path.basename(sample["key"]) + "é",
    }


def negative(image):
    """Works in place."""
    image[:] = 255 - image
    return image


def swap(a, b):
    return b, a


def twice(image):
    return image, image


def opened(data):
    """Decodes by itself."""
    import io

    with Image.open(io.BytesIO(bytes(data))) as image:
        return np.asarray(image.convert("RGB").resize((8, 6)))


def draws(sample, rng):
    return {"key": sample["key"], "draws": rng.integers(0, 1 << 60, 3), "more": rng.random()}


def even(key):
    return int(os.path.basename(key)[:3]) % 2 == 0


def tiles(sample):
    """As many samples as the number in the file's name says, modulo 4."""
    for i in range(int(os.path.basename(sample["key"])[:3]) % 4):
        yield {"key": sample["key"], "tile": sample["image"][i : i + 2, :3], "number": i}


def copies(sample):
    """More than any queue holds."""
    for i in range(200):
        yield {"key": sample["key"], "image": sample["image"], "number": i}


def parts(image):
    for i in range(3):
        yield image[i]


def sizes(image):
    """Leaves the extents that differ as they are."""
    return 255 - image


def kept(sample):
    return {name: sample[name] for name in ("key", "upper") if name in sample and not ("upper" in sample and name == "key")}


def nothing(sample):
    return False


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


async def joined(samples):
    """Is given fields, and gives values in their order."""
    return " ".join(os.path.basename(key) for key, _ in samples), np.array([label for _, label in samples])


def stacked(labels):
    return np.array(labels, np.int64)[None]


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


class Counter:
    """Each worker has its own."""

    def __init__(self):
        self.calls = 0

    def __call__(self, sample):
        self.calls += 1
        print("worker counts", self.calls)
        return {"key": sample["key"], "pid": os.getpid(), "calls": self.calls}


async def later(key):
    import asyncio

    await asyncio.sleep(0)
    return key.upper()


def odd(n):
    return n % 3 != 1


def bare(sample):
    return {"n": sample["n"], "x": sample["x"]}


def untidy(sample):
    """Takes longer for some than for others."""
    time.sleep(sample["n"] % 3 / 1000)
    return sample


def written(value):
    if isinstance(value, str):
        return {"text": value}
    array = np.asarray(value)
    return {"dtype": array.dtype.name, "shape": array.shape, "data": base64.b64encode(array.tobytes()).decode()}


def answer(question):
    with Image.open(question["path"]) as image:
        pixels = np.array(image.convert("RGB"))
    sample = {"key": question["path"], "label": question["label"], "image": pixels}
    function = globals()[question["function"]]
    if question.get("fields"):
        out = function(*[sample[name] for name in question["fields"]])
        return {question["fields"][0]: out}
    return function(sample)


if __name__ == "__main__":
    for line in sys.stdin:
        out = answer(json.loads(line))
        print(json.dumps({name: written(value) for name, value in out.items()}))


def drawn(sample, rng):
    return {"drawn": rng.integers(1 << 40)}
