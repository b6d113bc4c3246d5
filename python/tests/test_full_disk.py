"""Files on a full disk: what writes them says so, with the file and what to do, and the batches come all the same."""

from __future__ import annotations

import contextlib
import errno
import json
import subprocess
import sys

import numpy as np
import pytest

import headrace as hr
from conftest import PHOTOS, augmented, pipeline, run_python, within

FULL = "no space left on device; the file system is full: free some space, or write elsewhere"


@pytest.fixture(params=["device", "disk"])
def full(request, tmp_path):
    """A file that can be opened, and takes nothing."""
    if request.param == "device":
        yield "/dev/full"
        return
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4k", "tmpfs", disk], capture_output=True, check=False)
    if mounted.returncode != 0:
        pytest.skip("mounting is not allowed here")
    try:
        (disk / "other").write_bytes(bytes(4096))
        yield str(disk / "file.png")
    finally:
        subprocess.run(["umount", "-l", disk], check=True)


def test_a_trace_is_said_on_close(photos, full):
    loader = augmented(photos).loader(epochs=1)
    trace = loader.trace(full)
    assert sum(1 for _ in loader) == 12
    with pytest.warns(hr.HeadraceWarning) as caught:
        loader.close()
    (warning,) = caught
    assert full in str(warning.message)
    assert FULL in str(warning.message)
    assert warning.filename == __file__
    with pytest.raises(hr.FileError, match=FULL) as refused:  # who asks is reported once more
        trace.stop()
    assert (refused.value.errno, refused.value.filename) == (errno.ENOSPC, full)
    loader.close()


def test_a_trace_is_said_where_warnings_are_errors(photos, full):
    program = f"""
import warnings
warnings.simplefilter("error")
import headrace as hr
loader = hr.files({str(photos)!r}).decode_image().resize((8, 8)).batch(7).loader(epochs=1)
loader.trace({full!r})
assert sum(1 for _ in loader) == {-(-PHOTOS // 7)}
try:
    loader.close()
except hr.HeadraceWarning as warning:
    print(warning)
loader.close()
print(loader.stats()["yielded"])
"""
    done = run_python(program)
    said, yielded = done.stdout.splitlines()
    assert FULL in said
    assert int(yielded) == -(-PHOTOS // 7)
    assert done.stderr == ""


@pytest.mark.parametrize("way", ["handler", "thread"])
def test_a_trace_is_said_by_a_loader_that_is_closed_within_next(photos, full, way):
    """No matter who closes it, next() learns from the engine what became of the file."""
    program = f"""
import signal, threading, time, warnings
warnings.simplefilter("always")
import headrace as hr
def slow():
    for number in range(64):
        yield {{"number": number}}
    time.sleep(600)
loader = hr.source(slow).batch(1).loader(epochs=1)
trace = loader.trace({full!r})
loop = iter(loader)
def close(*_):
    loader.close()
if {way!r} == "handler":
    signal.signal(signal.SIGALRM, close)
    signal.setitimer(signal.ITIMER_REAL, 1)
else:
    threading.Timer(1, close).start()
try:
    for _ in range(65):
        next(loop)
except hr.LoaderClosed as error:
    print(error)
try:
    trace.stop()
except OSError as error:
    print(error)
loader.close()
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120, check=False)
    assert (done.returncode, done.stdout.count("loader is closed"), done.stdout.count(FULL)) == (0, 1, 1), (done.stdout, done.stderr)
    assert done.stderr.count(FULL) == 1, done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("end", ["", "raise SystemExit(3)"], ids=["end", "exit"])
def test_a_trace_is_said_by_programs_that_do_not_close_their_loader(photos, full, tmp_path, end):
    program = f"""
import headrace as hr
loader = hr.files({str(photos)!r}).decode_image().resize((8, 8)).batch(7).loader()
loader.trace({full!r})
other = hr.files({str(photos)!r}).decode_image().resize((8, 8)).batch(7).loader()
other.trace({str(tmp_path / "whole.json")!r})
for loop in loader, other:
    next(iter(loop))
{end}
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == (3 if end else 0)
    assert FULL in done.stderr
    assert full in done.stderr
    assert "Traceback" not in done.stderr
    assert json.loads((tmp_path / "whole.json").read_text())  # the bracket at its end is there


def test_files_that_the_client_writes(photos, full):
    with pipeline(photos).loader() as loader:
        sheet = loader.preview(2)
    pixels = np.zeros((256, 256, 3), np.uint8)
    pixels[:] = np.random.default_rng(0).integers(0, 256, pixels.shape)
    writers = [lambda path: hr.io.save_image(path, pixels, format="png")]
    if full.endswith(".png"):
        writers.append(sheet.save)
    for write in writers:
        with contextlib.closing(hr.io), pytest.raises(hr.FileError) as caught:
            write(full)
        assert (caught.value.errno, caught.value.filename) == (errno.ENOSPC, full)
        assert "free some space, or write elsewhere" in str(caught.value)


def test_half_a_file_is_not_left(tmp_path):
    """Of one that was there before, what was written stays: its old content is gone in any case."""
    done = run_python(
        """
        import os, resource, sys
        import headrace as hr
        from headrace.errors import write_file  # of images and contact sheets
        os.chdir(sys.argv[1])
        open("old.png", "wb").close()
        resource.setrlimit(resource.RLIMIT_FSIZE, (1000, resource.RLIM_INFINITY))
        for name in ("new.png", "old.png"):
            try:
                write_file(name, bytes(5000))
            except hr.FileError:
                print(name, os.path.exists(name))
        """,
        tmp_path,
    )
    assert done.stdout == "new.png False\nold.png True\n", done.stderr


def test_dead_letters_are_said_and_cost_no_batch(photos, full, tmp_path):
    for name in ("a.jpg", "b.jpg"):
        (tmp_path / name).write_bytes(b"no image")
    good = [str(path) for path in sorted(photos.rglob("*.jpg"))[:6]]
    files = [*good[:3], str(tmp_path / "a.jpg"), *good[3:], str(tmp_path / "b.jpg")]
    steps = hr.files(files).decode_image().resize((8, 8)).batch(2)
    with pytest.warns(hr.HeadraceWarning) as caught, steps.loader(epochs=1, on_error="skip", dead_letters=full) as loader:
        keys = [key for batch in loader for key in batch["key"]]
    assert keys == good
    assert [lost.key for lost in loader.errors] == files[3::4]
    (warning,) = caught
    assert "a.jpg" in str(warning.message)
    assert full in str(warning.message)
    assert FULL in str(warning.message)


def test_a_warning_behind_the_last_batch_that_was_taken_is_said_on_close(photos, full, tmp_path):
    (tmp_path / "bad.jpg").write_bytes(b"no image")
    good = [str(path) for path in sorted(photos.rglob("*.jpg"))[:2]]
    loader = hr.files([*good, str(tmp_path / "bad.jpg")]).decode_image().resize((8, 8)).batch(2)
    loader = loader.loader(epochs=1, on_error="skip", dead_letters=full)
    next(iter(loader))  # the loss comes with the end of the epoch, which this program does not see
    channel = loader._run.session.channel
    within(30, lambda: loader.stats() and b"dead_letters" in bytes(channel._buffer[channel.start : channel._end]))
    with pytest.warns(hr.HeadraceWarning, match="dead_letters cannot be written"):
        loader.close()
