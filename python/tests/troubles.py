"""Ways into trouble: for each message that docs/guide/troubleshooting.md shows, a function that runs into it, by the title of the section.

The functions work in a folder of their own, with images in data/train. Those that spoil their process are run in another one, by this
file as a program: `python troubles.py TITLE` prints the message.
"""

from __future__ import annotations

import os
import pickle
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import traceback
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from PIL import Image

import headrace as hr
from conftest import DEBUG_ENGINE, ROOT, engine_pid


class Trouble(NamedTuple):
    run: Callable[[], object]
    apart: bool  # in a process of its own
    warns: bool  # the message is a warning


TROUBLES: dict[str, Trouble] = {}


def trouble(title: str, *, apart: bool = False, warns: bool = False) -> Callable[[Callable[[], object]], Callable[[], object]]:
    def note(run: Callable[[], object]) -> Callable[[], object]:
        TROUBLES[title] = Trouble(run, apart, warns)
        return run

    return note


def said(title: str) -> str:
    """The message, as Python writes it."""
    _, _, warns = trouble = TROUBLES[title]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            trouble.run()
        except Exception as error:
            if not warns:
                return "".join(traceback.format_exception_only(error)).strip()
            raise
    found = [f"HeadraceWarning: {warning.message}" for warning in caught if warning.category is hr.HeadraceWarning]
    return found[0] if warns and found else f"nothing was raised; warnings: {found}"


def images(pattern: str = "data/train") -> hr.Pipeline:
    return hr.files(pattern, label="parent").decode_image()


def train() -> hr.Pipeline:
    """A pipeline that works."""
    return hr.files("data/train", label="parent").shuffle().decode_image().resize(64).center_crop(48).batch(4)


def spoil(name: str, change: Callable[[bytes], bytes]) -> None:
    path = Path("data/train") / name
    path.write_bytes(change(path.read_bytes()))


# Mistakes in a pipeline.


@trouble("An argument does not fit")
def _() -> None:
    images().resize(0).center_crop(48).batch(4).loader()


@trouble("An argument is of another kind")
def _() -> None:
    images().resize("big")  # type: ignore[arg-type]


@trouble("An argument that does not exist")
def _() -> None:
    images().resize(256, antialias=True)  # type: ignore[call-arg]


@trouble("A method that does not exist")
def _() -> None:
    images().RandomHorizontalFlip()


@trouble("A field that is not in the batch")
def _() -> None:
    next(iter(train().loader()))["images"]


@trouble("A framework that is not installed", apart=True)
def _() -> None:
    sys.modules["jax"] = None  # type: ignore[assignment]
    train().to("jax").loader()


@trouble("There is no image to work on")
def _() -> None:
    hr.files("data/train").resize(64).center_crop(48).batch(4).loader()


@trouble("A shuffle that comes too late")
def _() -> None:
    images().center_crop(48).shuffle().batch(4).loader()


@trouble("Images of several sizes in a batch")
def _() -> None:
    hr.files("data/train").decode_image().resize(64).batch(4).loader()


@trouble("An operation after normalize")
def _() -> None:
    images().center_crop(48).normalize(0.5, 0.25).random_flip().batch(4).loader()


@trouble("A setting of the loader does not fit")
def _() -> None:
    train().loader(workers=0)


@trouble("Skipping bad samples on several ranks")
def _() -> None:
    train().loader(on_error="skip", rank=0, world_size=2)


@trouble("The byte budget is too small")
def _() -> None:
    train().loader(memory="16KiB")


# Recipes in files.


@trouble("A recipe that is not there")
def _() -> None:
    hr.load("recepe.yaml")


@trouble("A recipe with a mistake, in Python")
def _() -> None:
    Path("recipe.yaml").write_text(Path("recipe.yaml").read_text().replace("decode_image", "decode_picture"))
    hr.load("recipe.yaml")


# The source.


@trouble("A folder that is not there")
def _() -> None:
    images("data/trian").center_crop(48).batch(4).loader()


@trouble("Nothing fits the pattern")
def _() -> None:
    images("data/train/*/*.jpgg").center_crop(48).batch(4).loader()


@trouble("A folder without images")
def _() -> None:
    os.mkdir("data/empty")
    images("data/empty").center_crop(48).batch(4).loader()


# Bad samples.


@trouble("A truncated file")
def _() -> None:
    spoil("ant/003.jpg", lambda data: data[: len(data) // 2])
    list(train().loader())


@trouble("A corrupt image")
def _() -> None:
    def break_length(jpeg: bytes) -> bytes:
        at = jpeg.index(b"\xff\xdb") + 2
        return jpeg[:at] + b"\x00\x01" + jpeg[at + 2 :]

    spoil("ant/003.jpg", break_length)
    list(train().loader())


@trouble("An input that headrace.io cannot read")
def _() -> None:
    spoil("ant/003.jpg", lambda jpeg: jpeg[:20])
    try:
        hr.io.load_image("data/train/ant/003.jpg")
    finally:
        hr.io.close()


@trouble("Not an image")
def _() -> None:
    spoil("ant/003.jpg", lambda _: b"<html>404 Not Found</html>")
    list(train().loader())


@trouble("A file that has gone")
def _() -> None:
    list(hr.files(["data/train/ant/gone.jpg"]).decode_image().center_crop(8).batch(4).loader())


@trouble("A file that may not be read", apart=True)
def _() -> None:
    """Root reads everything, so this process becomes another user's, who has the engine where he may go."""
    import numpy  # noqa: F401  # what is imported now need not be found later

    import headrace._loader.loader  # noqa: F401
    from headrace._client.program import find_program

    place = tempfile.mkdtemp(dir=".")
    os.chmod(place, 0o755)
    os.environ["HEADRACE_ENGINE"] = os.path.abspath(shutil.copy(find_program(), place))
    os.chmod("data/train/ant/003.jpg", 0)
    if os.getuid() == 0:
        os.setgid(65534)
        os.setuid(65534)
    list(train().loader())


@trouble("An image that is too large")
def _() -> None:
    def huge(jpeg: bytes) -> bytes:
        at = jpeg.index(b"\xff\xc0") + 5  # height and width
        return jpeg[:at] + b"\xff\xdc\xff\xdc" + jpeg[at + 4 :]

    spoil("ant/003.jpg", huge)
    list(train().loader())


@trouble("A crop that is larger than the image")
def _() -> None:
    list(images().random_crop(400).batch(4).loader())


@trouble("An AVIF, and no libavif", apart=True)
def _() -> None:
    from PIL import Image

    os.environ["HEADRACE_AVIF"] = "/nowhere/libavif.so"
    Image.open("data/train/ant/003.jpg").save("data/train/ant/003.jpg", format="avif")
    list(train().loader())


@trouble("A TIFF, and no libtiff", apart=True)
def _() -> None:
    from PIL import Image

    os.environ["HEADRACE_TIFF"] = "/nowhere/libtiff.so"
    Image.open("data/train/ant/003.jpg").save("data/train/ant/003.jpg", format="tiff")
    list(train().loader())


@trouble("Too many bad samples")
def _() -> None:
    spoil("ant/003.jpg", lambda _: b"")
    spoil("bee/004.jpg", lambda _: b"")
    list(train().loader(on_error="skip", max_errors=1))


# Functions of the program.


def squares() -> hr.Pipeline:
    return images().center_crop(48)


def augment(sample: dict[str, Any]) -> dict[str, Any]:
    return {**sample, "image": sample["imag"][::2]}


@trouble("A function that takes something else")
def _() -> None:
    def mix(image: Any, label: Any) -> Any: ...

    squares().map(mix, fields="image")


@trouble("A function that cannot be sent to workers")
def _() -> None:
    lock = threading.Lock()

    def guarded(sample: dict[str, Any]) -> dict[str, Any]:
        with lock:
            return sample

    squares().map(guarded).batch(4).loader()


@trouble("A function that a recipe cannot name")
def _() -> None:
    squares().map(lambda sample: sample).recipe()


@trouble("A function that workers cannot import")
def _() -> None:
    Path("own.yaml").write_text(squares().map(augment).batch(4).recipe("json").replace("troubles:augment", "troubles:augmen"))
    list(hr.load("own.yaml").loader())


@trouble("A function that raises")
def _() -> None:
    gives = {"image": ("uint8", (48, 48, 3)), "label": int, "key": str}
    list(squares().map(augment, gives=gives).batch(4).loader())


@trouble("A result that does not fit")
def _() -> None:
    list(squares().map(lambda image: image[::2], fields="image", gives=("uint8", (48, 48, 3))).batch(4).loader())


@trouble("A value that cannot be pickled")
def _() -> None:
    list(squares().map(lambda image: {"lock": threading.Lock()}, fields="image", to="meta", gives=object).batch(4).loader())


@trouble("A value that cannot be unpickled")
def _() -> None:
    class OfWorkers:
        def __setstate__(self, state: object) -> None:
            raise ImportError("only workers have this library")

        def __init__(self) -> None:
            self.held = 1

    with squares().map(lambda image: OfWorkers(), fields="image", to="meta", gives=object).batch(4).loader() as loader:
        next(iter(loader))


@trouble("A worker that ended")
def _() -> None:
    list(squares().map(lambda sample: os._exit(7), gives={"key": str}).batch(4).loader())


@trouble("A function that takes too long")
def _() -> None:
    def slow(sample: dict[str, Any]) -> None:
        threading.Event().wait()

    list(squares().map(slow, gives={"key": str}).failures(time_limit=1).batch(4).loader())


@trouble("An executor that takes no calls")
def _() -> None:
    from concurrent.futures import ThreadPoolExecutor

    pool = ThreadPoolExecutor(2)
    pool.shutdown()
    list(squares().map(lambda sample: sample, where=pool).batch(4).loader())


@trouble("A hook that fails")
def _() -> None:
    class Metrics:
        def call(self, call: Any) -> None:
            raise OSError("no server for metrics")

    list(squares().map(lambda sample: sample, gives={"key": str}).batch(4).loader(hooks=[Metrics()]))


# Memory.


@trouble("Batches that are kept")
def _() -> None:
    list(train().loader(hold_limit="100KB"))


@trouble("The program holds all batches", warns=True)
def _() -> None:
    list(train().loader(epochs=1))


def limit(kind: int, value: int) -> None:
    import numpy  # noqa: F401  # which opens files

    import headrace._loader.loader  # noqa: F401

    resource.setrlimit(kind, (value, resource.getrlimit(kind)[1]))


@trouble("No memory for batches", apart=True)
def _() -> None:
    limit(resource.RLIMIT_FSIZE, 1 << 20)
    list(images().center_crop(512).batch(4).loader())


@trouble("Too many open files", apart=True)
def _() -> None:
    limit(resource.RLIMIT_NOFILE, 8)
    list(train().loader())


@trouble("The machine lacks something")
def _() -> None:
    with train().loader(epochs=None, on_error="skip", max_errors=1000) as loader:
        next(iter(loader))
        os.rename("data/train", "data/gone")
        for _epoch in range(10):
            list(loader)


# Loops and processes.


@trouble("A row that is not there")
def _() -> None:
    next(iter(train().loader()))["key"][4]


@trouble("A loop that a function would have ended")
def _() -> None:
    def ends(batch: dict[str, Any]) -> dict[str, Any]:
        raise StopIteration

    list(train().map(ends, where="main").loader())


@trouble("Not statistics")
def _() -> None:
    loader = train().loader()
    list(loader)
    loader.stats(since={})


@trouble("An array that an archive lacks")
def _() -> None:
    np.savez("arrays.npz", x=np.zeros(3))
    hr.io.load_npz("arrays.npz")["y"]


@trouble("No epoch is left")
def _() -> None:
    loader = train().loader(epochs=1)
    for _epoch in range(2):
        for _batch in loader:
            pass


@trouble("An epoch that is too short")
def _() -> None:
    for number in (0, 3, 6, 9):
        spoil(f"ant/{number:03d}.jpg", lambda b: b[:100])
    list(train().loader(epochs=1, on_error="skip", steps_per_epoch=6))


@trouble("Another rank failed", apart=True)
def _() -> None:
    reads, writes = os.pipe()
    rank = int(os.fork() == 0)
    os.close(writes if rank else reads)
    os.environ |= {"RANK": str(rank), "WORLD_SIZE": "2"}
    from torch import distributed

    distributed.init_process_group("gloo", init_method=f"file://{os.getcwd()}/meeting", rank=rank, world_size=2)
    pipeline = hr.source(range(40), gives=int).filter(lambda n: 1 // (1 - rank) > 0, where="here").batch(2)
    try:
        list(pipeline.loader(epochs=1))
    finally:
        if rank == 1:
            os.read(reads, 1)  # until the other has ended
            os._exit(1)  # without its own error, a division by zero


@trouble("Nothing moves", warns=True)
def _() -> None:
    os.makedirs("data/large")
    Image.new("RGB", (8000, 8000)).save("data/large/0.jpg")  # little to read, and much to decode
    with hr.files("data/large").decode_image().resize((8, 8)).batch(1).loader(epochs=1, workers=1, stall_after=0.03) as loader:
        assert len(list(loader)) == 1


@trouble("No batch in time")
def _() -> None:
    class Slow:
        def __iter__(self):
            time.sleep(600)
            yield {"value": 1}

    with hr.source(Slow(), gives={"value": int}).batch(1).loader() as loader:
        loader.get(timeout=0)


@trouble("An older loop")
def _() -> None:
    loader = train().loader()
    first = iter(loader)
    next(first)
    next(iter(loader))
    next(first)


@trouble("The loader is closed")
def _() -> None:
    loader = train().loader()
    loader.close()
    iter(loader)


@trouble("A closed feed")
def _() -> None:
    feed = hr.Feed()
    with hr.source(feed, gives=int).batch(1).loader(epochs=1):
        pass
    feed.put(1)


@trouble("A loader in a forked process", apart=True)
def _() -> None:
    loader = train().loader()
    if os.fork():
        os.wait()
        os._exit(0)
    iter(loader)


@trouble("A loader cannot be pickled")
def _() -> None:
    pickle.dumps(train().loader())


@trouble("The length is not known")
def _() -> None:
    len(train().loader(epochs=1, on_error="skip"))


# States.


@trouble("A state of another pipeline")
def _() -> None:
    state = train().loader().state_dict()
    hr.files("data/train", label="parent").shuffle().decode_image().resize(64).center_crop(56).batch(4).loader().load_state_dict(state)


@trouble("A state of other data")
def _() -> None:
    state = train().loader().state_dict()
    os.remove("data/train/ant/003.jpg")
    train().loader().load_state_dict(state)


@trouble("A state of another number of ranks")
def _() -> None:
    loader = train().loader(rank=0, world_size=2)
    next(iter(loader))
    train().loader(rank=0, world_size=1).load_state_dict(loader.state_dict())


@trouble("Not a state")
def _() -> None:
    train().loader().load_state_dict({"model": 1})


@trouble("Another decoder than the state's", warns=True)
def _() -> None:
    loader = train().loader()
    state = loader.state_dict()
    state["decoder"] = "jpeg=libjpeg-turbo-9"
    loader.load_state_dict(state)
    next(iter(loader))


# The engine.


@trouble("No engine", apart=True)
def _() -> None:
    os.environ["HEADRACE_ENGINE"] = "/opt/headrace"
    train().loader()


@trouble("The engine was killed")
def _() -> None:
    kill_it(train().loader())


@trouble("The engine died, and the run goes on", warns=True)
def _() -> None:
    kill_it(train().loader(on_error="skip"))


def kill_it(loader: hr.Loader) -> None:
    batches = iter(loader)
    next(batches)
    os.kill(engine_pid(), signal.SIGKILL)
    list(batches)


@trouble("The engine crashed on a sample", apart=True)
def _() -> None:
    os.environ.update(HEADRACE_ENGINE=str(DEBUG_ENGINE), HEADRACE_TEST_CRASH="ant/003")
    list(train().loader(workers=1))


@trouble("An engine that ends at once", apart=True)
def _() -> None:
    os.environ["HEADRACE_ENGINE"] = "/bin/false"
    train().loader()


@trouble("An engine that does not answer as one", apart=True)
def _() -> None:
    os.environ["HEADRACE_ENGINE"] = "/bin/false"
    hr.version_info()


@trouble("Client and engine do not understand each other", apart=True)
def _() -> None:
    engine = Path("engine").absolute()
    engine.write_text("#!/bin/sh\nwhile [ $1 != --fd ]; do shift; done\nprintf 'HTTP/1.1 400 Bad Request, and more of it' >&$2; sleep 1\n")
    engine.chmod(0o755)
    os.environ["HEADRACE_ENGINE"] = str(engine)
    train().loader()


@trouble("Client and engine are of different releases", apart=True, warns=True)
def _() -> None:
    import headrace._client.engine

    headrace._client.engine.VERSION = "0.0.1"
    list(train().loader(epochs=1))


@trouble("An engine without C", apart=True, warns=True)
def _() -> None:
    engine = Path("engine").absolute()
    subprocess.run(["go", "build", "-o", engine, "./cmd/headrace"], cwd=ROOT, env={**os.environ, "CGO_ENABLED": "0"}, check=True)
    os.environ["HEADRACE_ENGINE"] = str(engine)
    list(train().loader(epochs=1))


if __name__ == "__main__":
    sys.stdout.write(said(sys.argv[1]))
