"""Inside a control group whose memory is limited, where the kernel really ends what takes more."""

from __future__ import annotations

import os
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from PIL import Image

from conftest import run_python

Limited = Callable[..., str]


@pytest.fixture
def limited() -> Iterator[Limited]:
    """Runs a program in a group of its own, for which one has to be root; gives what it printed."""
    root, file = Path("/sys/fs/cgroup/memory"), "memory.limit_in_bytes"
    if not root.is_dir():
        root, file = Path("/sys/fs/cgroup"), "memory.max"
    group = root / f"headrace-test-{os.getpid()}"
    try:
        group.mkdir()
        (group / file).write_text(str(1 << 40))
    except OSError as error:
        pytest.skip(f"no control group can be made here: {error}")

    def run(megabytes: int, code: str, *arguments: object) -> str:
        (group / file).write_text(str(megabytes << 20))
        enter = "import sys\nopen(sys.argv.pop(1), 'w').write('0')\n"
        done = run_python(enter + textwrap.dedent(code), group / "cgroup.procs", *arguments, timeout=300)
        assert done.returncode == 0, done.stderr
        return done.stdout

    yield run
    group.rmdir()


@pytest.fixture
def large(tmp_path) -> Path:
    """Four images of 100 megapixels, 300 MB each in memory, which are decoded whole."""
    folder = tmp_path / "large"
    folder.mkdir()
    Image.new("RGB", (10000, 10000), (200, 100, 50)).save(folder / "0.png", compress_level=1)
    for i in range(1, 4):
        os.link(folder / "0.png", folder / f"{i}.png")
    return folder


def test_the_budget_follows_the_limit(limited, large):
    """Nobody has said `memory=`: large images are decoded a few at a time, and nothing is ended."""
    told = limited(
        500,
        """
        import sys, headrace as hr
        with hr.files(sys.argv[1]).decode_image().resize(64).center_crop(64).batch(4).loader(epochs=1, workers=8) as loader:
            print(sum(len(batch["key"]) for batch in loader))
        """,
        large,
    )
    assert told == "4\n"


def test_an_engine_that_the_kernel_ends(limited, large):
    """Batches that were asked for are larger than the limit: the error says who ended the engine, and what the limit is."""
    told = limited(
        300,
        """
        import sys, headrace as hr
        try:
            with hr.files(sys.argv[1]).decode_image().resize(2900).center_crop(2900).batch(4).loader(epochs=1, memory="4GiB") as loader:
                list(loader)
        except hr.EngineDied as error:
            print(error)
        """,
        large,
    )
    assert "the kernel did it because memory was short" in told
    assert f"{300 << 20:,} bytes is all that the control group may use" in told


def test_a_worker_that_the_kernel_ends(limited):
    """Only the sample is lost whose function took too much, and the error says why."""
    told = limited(
        400,
        """
        import headrace as hr

        def hungry(n):
            return len(bytearray(800 << 20)) if n == 5 else n

        with hr.source([{"n": n} for n in range(12)]).map(hungry, fields="n", gives=int).batch(1).loader(
            epochs=1, on_error="skip"
        ) as loader:
            print([int(batch["n"][0]) for batch in loader])
            print(loader.errors[0])
        """,
    )
    got, error = told.split("\n", 1)
    assert got == str([n for n in range(12) if n != 5])
    assert "index 5" in error
    assert "it has run out of memory" in error
