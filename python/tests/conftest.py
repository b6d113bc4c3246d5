"""What the tests share: images on disk, the real engine, and a look at what is left behind."""

from __future__ import annotations

import functools
import gc
import os
import re
import shutil
import signal
import subprocess
import sys
import textwrap
import time
import traceback
import zlib
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import cloudpickle
import numpy as np
import pytest
from PIL import Image

import headrace as hr

# Who starts the tests in the background, as a shell does with `&`, has them ignore
# SIGINT, and their children with them.
signal.signal(signal.SIGINT, signal.default_int_handler)

ROOT = Path(__file__).resolve().parents[2]
SOURCES = ROOT / "python" / "src"
DEBUG_ENGINE = ROOT / "bin" / "headrace-debug"

WHOLE = os.environ.get("HEADRACE_TESTS") == "whole"


def cases(few: int, all: int) -> int:
    """How many of many like cases to try, or which of them: all in `make test-all`, a few in `make test`."""
    return all if WHOLE else few


def some(like: list[Any], few: int) -> list[Any]:
    """So many of cases that are much like each other, and all of them in `make test-all`."""
    return like[: cases(few, len(like))]


PHOTOS = 46  # 12 batches of 4, the last one not full
CLASSES = ["ant", "bee", "cat"]


def pytest_configure() -> None:
    program = os.environ.get("HEADRACE_ENGINE") or SOURCES / "headrace" / "_bin" / "headrace"
    if not Path(program).is_file():
        pytest.exit(f"no engine at {program}: run scripts/build.sh first", returncode=3)


BY_REFERENCE = {"test_functions_builder", "test_objects"}  # they are about how things are pickled


def pytest_collection_finish() -> None:
    # Workers that import the module of a test import pytest with it, which takes them
    # longer than all else. What they import by name is in functions.py.
    for name, module in sys.modules.items():
        if name.startswith("test_") and name not in BY_REFERENCE:
            cloudpickle.register_pickle_by_value(module)
    gc.collect()  # once whole, before tests freeze what they find


def pytest_unconfigure() -> None:
    gc.unfreeze()


@functools.cache
def photo(seed: int, width: int, height: int) -> Image.Image:
    """An image with edges, gradients and noise, so that wrong resampling and wrong offsets show."""
    rng = np.random.default_rng(seed)
    y, x = np.mgrid[0:height, 0:width]
    planes = [np.sin(x / rng.uniform(5, 60)) * 60 + np.cos(y / rng.uniform(5, 60)) * 60 + 128 for _ in range(3)]
    pixels = np.stack(planes, axis=-1) + rng.normal(0, 6, (height, width, 3))
    pixels[height // 3 : height // 2, width // 4 : width // 2] = rng.integers(0, 255, 3)
    return Image.fromarray(np.clip(pixels, 0, 255).astype(np.uint8))


def make_photos(folder: Path, count: int = PHOTOS, **options: Any) -> Path:
    """A tree of JPEG files: folder/class/number.jpg."""
    rng = np.random.default_rng(count)
    for i in range(count):
        path = folder / CLASSES[i % len(CLASSES)] / f"{i:03d}.jpg"
        path.parent.mkdir(parents=True, exist_ok=True)
        photo(i, int(rng.integers(90, 260)), int(rng.integers(90, 260))).save(path, quality=90, **options)
    return folder


@pytest.fixture(scope="session")
def photos(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_photos(tmp_path_factory.mktemp("photos"))


@pytest.fixture(scope="session")
def pictures(tmp_path_factory: pytest.TempPathFactory) -> Path:
    from own import make_pictures

    return make_pictures(tmp_path_factory.mktemp("pictures"))


@pytest.fixture(scope="session")
def sixteen_photos(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_photos(tmp_path_factory.mktemp("sixteen"), 16)


@pytest.fixture
def own_photos(sixteen_photos: Path, tmp_path: Path) -> Path:
    """A tree that the test may damage."""
    return Path(shutil.copytree(sixteen_photos, tmp_path / "photos"))


# Loaders whose environments differ do not share a process that imports, and pytest has a
# variable with the name of each test.


@pytest.hookimpl(wrapper=True)
def pytest_fixture_setup() -> Iterator[None]:
    os.environ.pop("PYTEST_CURRENT_TEST", None)
    return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_pyfunc_call() -> Iterator[None]:
    os.environ.pop("PYTEST_CURRENT_TEST", None)
    return (yield)


@pytest.fixture(scope="module")
def one_engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """An engine that all loaders of a module share, as they do where one is always open: starting one takes as long as many a test."""
    from headrace._client.engine import manager

    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("HEADRACE_CACHE", str(tmp_path_factory.mktemp("cache")))
        connection = manager.connect()
    yield
    connection.close()


@pytest.fixture
def io_closed() -> Iterator[None]:
    """After each test of a module the functions of `headrace.io` have no engine."""
    yield
    hr.io.close()


def files_of(folder: Path) -> list[str]:
    return sorted(map(str, folder.rglob("*.jpg")))


def pipeline(folder: Path | str, size: int = 4, **options: Any) -> hr.Pipeline:
    return hr.files(folder, label="parent", **options).shuffle(seed=1).decode_image().resize(64).center_crop(48).batch(size)


def augmented(folder: Path | str, size: int = 4, seed: int = 0) -> hr.Pipeline:
    """Everything that is random."""
    images = hr.files(folder, label="parent", seed=seed).shuffle().decode_image()
    images = images.random_resized_crop(52).random_crop(48).random_flip(0.5).random_vertical_flip(0.3).random_rotate90()
    return images.color_jitter(0.4, 0.4, 0.4, 0.1).random_grayscale(0.2).batch(size)


def digest(batch: dict[str, Any]) -> tuple[Any, ...]:
    """Everything in a batch, as something small to compare."""
    return (
        zlib.crc32(np.ascontiguousarray(batch["image"]).tobytes()),
        batch["image"].shape,
        tuple(batch["label"].tolist()) if "label" in batch else None,
        tuple(batch["key"]),
    )


def digests(batches: Iterable[dict[str, Any]]) -> list[tuple[Any, ...]]:
    return [digest(batch) for batch in batches]


def load(description: hr.Pipeline) -> list[tuple[Any, ...]]:
    with description.loader(epochs=1) as loader:
        return digests(loader)


def rest_of_epochs(loader: hr.Loader, most: int | None = None) -> list[tuple[Any, ...]]:
    """The batches that are left of all epochs, or so many of them, as something small to compare."""
    got: list[tuple[Any, ...]] = []
    while most is None or len(got) < most:
        try:
            for batch in loader:
                got.append(digest(batch))
                if len(got) == most:
                    break
        except hr.EpochsExhausted:
            break
    return got


def children() -> set[int]:
    """Processes that this one has started and that are there, zombies as well."""
    found = set()
    for task in os.listdir("/proc/self/task"):
        try:
            found.update(map(int, Path(f"/proc/self/task/{task}/children").read_text().split()))
        except FileNotFoundError:
            pass  # the thread has just ended
    return found


def engines() -> set[int]:
    """The engines among them: Python's own helpers, such as the resource tracker of multiprocessing, do not concern us."""
    found = set()
    for pid in children():
        try:
            if Path(f"/proc/{pid}/comm").read_text().startswith("headrace"):
                found.add(pid)
        except FileNotFoundError:
            pass  # it has just been reaped
    return found


def descriptors() -> dict[int, str]:
    found = {}
    for fd in os.listdir("/proc/self/fd"):
        try:
            found[int(fd)] = os.readlink(f"/proc/self/fd/{fd}")
        except FileNotFoundError:
            pass  # the one that listdir itself had open
    return found


def mappings() -> list[str]:
    """The segments of engines that are mapped here."""
    return [line for line in Path("/proc/self/maps").read_text().splitlines() if "memfd:headrace" in line]


def engine_pid() -> int:
    """The engine of this process's loaders."""
    from headrace._client.engine import manager

    assert manager._shared is not None
    return manager._shared.pid


def running(pid: int) -> bool:
    return state_of(pid) not in "ZX"


def stop(pid: int) -> None:
    """Stop a process: when this returns all its threads have stopped, of which SIGSTOP alone is only the beginning."""
    os.kill(pid, signal.SIGSTOP)
    assert within(10, lambda: all(state_of(thread, pid) in "TX" for thread in map(int, os.listdir(f"/proc/{pid}/task"))))


def state_of(thread: int, pid: int | None = None) -> str:
    """The state of a process, or of a thread of one, a letter of Linux; X: it is gone."""
    try:
        return Path(f"/proc/{pid or thread}/task/{thread}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return "X"


def within(seconds: float, condition: Callable[[], bool]) -> bool:
    """Whether a condition comes true in time."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if condition():
            return True
        time.sleep(0.01)
    return condition()


@pytest.fixture(scope="session", autouse=True)
def uvloop_has_its_pipe() -> None:
    """One that a process keeps, which it makes with its first loop."""
    try:
        import uvloop
    except ImportError:
        return
    uvloop.new_event_loop().close()


@pytest.fixture(autouse=True)
def nothing_is_left() -> Iterator[None]:
    """Fails a test that leaves a process, a descriptor or a mapping after."""
    # What was there before is not searched again: PyTorch alone has a million objects.
    gc.collect()
    gc.freeze()
    before, before_fds, before_maps = children(), descriptors(), set(mappings())
    yield
    # A test that failed is kept here, with all that its frames have. What it holds is not the next one's fault.
    for name in ("last_type", "last_value", "last_traceback", "last_exc"):
        vars(sys).pop(name, None)
    gc.collect()
    within(20, lambda: not children() - before)
    left = children() - before
    for pid in left:
        os.kill(pid, signal.SIGKILL)
    assert not left, f"processes left behind: {left}"
    fds: dict[int, str] = {}

    def left_mappings() -> set[str]:
        return set(mappings()) - before_maps

    def closed() -> bool:  # threads that end with what they served may not have had their turn
        fds.clear()
        fds.update({fd: what for fd, what in descriptors().items() if fd not in before_fds and not re.match("/(?!memfd:)", what)})
        return not fds

    assert within(5, closed), f"descriptors left behind: {fds}"
    assert within(5, lambda: not left_mappings()), left_mappings()


class Struck(Exception):
    pass


class Striker:
    """A timer whose handler raises in the middle of whatever runs, once after each `armed = True`."""

    def __init__(self) -> None:
        self.armed = False
        self.count = 0

    def strike(self, *_: object) -> None:
        if self.armed:
            self.armed = False
            self.count += 1
            raise Struck


@pytest.fixture
def striker():
    striker = Striker()
    old = signal.signal(signal.SIGALRM, striker.strike)
    yield striker
    striker.armed = False
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, old)


def run_python(code: str, *arguments: Any, timeout: float = 60, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a program of its own, with this package."""
    return subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code), *map(str, arguments)],
        env=environment_of(**environment),
        capture_output=True,
        text=True,
        timeout=timeout,
    )


def start_python(code: str, *arguments: Any, start_new_session: bool = False, **environment: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-u", "-c", textwrap.dedent(code), *map(str, arguments)],
        env=environment_of(**environment),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=start_new_session,
    )


def in_child(work: Callable[[], object]) -> None:
    """Run work in a forked child; raise what it raised."""
    r, w = os.pipe()
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            os.close(r)
            signal.alarm(20)
            work()
            code = 0
        except BaseException:
            os.write(w, traceback.format_exc().encode()[-4000:])
        finally:
            os._exit(code)
    os.close(w)
    with os.fdopen(r) as f:
        text = f.read()
    _, status = os.waitpid(pid, 0)
    assert status == 0, text or f"the child ended with {status}"


def environment_of(**changes: str) -> dict[str, str]:
    path = os.pathsep.join([str(SOURCES), str(Path(__file__).parent)])
    return {**os.environ, "PYTHONPATH": path, **changes}
