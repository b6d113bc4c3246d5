"""A shortage on the machine is not a sample's fault: none is skipped for it."""

from __future__ import annotations

import os
import resource
import signal
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

import headrace as hr
from conftest import engine_pid
from own import COUNT, images


def take_descriptors(pid: int) -> tuple[int, int]:
    """Leave a process no descriptor more than it has; tell what it had."""
    before = resource.prlimit(pid, resource.RLIMIT_NOFILE)
    resource.prlimit(pid, resource.RLIMIT_NOFILE, (3, before[1]))
    return before


@pytest.mark.parametrize("on_error", ["skip", "replace", "raise"])
def test_an_engine_without_descriptors(pictures, tmp_path, on_error):
    letters = tmp_path / "letters"
    loader = images(pictures).batch(1).loader(epochs=None, workers=2, on_error=on_error, dead_letters=letters)
    with loader, pytest.raises(hr.SourceError, match=r"ulimit -n") as caught:
        next(iter(loader))
        take_descriptors(engine_pid())
        for _ in range(5):
            list(loader)
    assert not isinstance(caught.value, hr.SampleError)
    assert not letters.exists() or not letters.read_text()


def test_it_goes_on_when_descriptors_come_back(pictures, tmp_path):
    letters = tmp_path / "letters"
    loader = images(pictures).batch(1).loader(epochs=1, workers=2, on_error="skip", dead_letters=letters)
    with loader:
        batches = iter(loader)
        got = [next(batches)["key"][0]]
        pid = engine_pid()
        before = take_descriptors(pid)
        timer = threading.Timer(0.5, resource.prlimit, (pid, resource.RLIMIT_NOFILE, before))
        timer.start()
        got += [batch["key"][0] for batch in batches]
        timer.join()
    assert got == sorted(got)
    assert len(got) == COUNT
    assert not letters.exists() or not letters.read_text()


def test_a_folder_that_is_gone(tmp_path):
    from own import make_pictures

    (tmp_path / "data").mkdir()
    folder = make_pictures(tmp_path / "data")
    loader = images(folder).batch(1).loader(epochs=None, workers=1, on_error="skip", max_errors=1000)
    with loader, pytest.raises(hr.SourceError, match=r"whether the folder is still there"):
        next(iter(loader))
        os.rename(folder, tmp_path / "gone")
        for _ in range(3):
            list(loader)


def test_functions_that_have_no_descriptors_left(pictures):
    def leaks(image):
        resource.setrlimit(resource.RLIMIT_NOFILE, (3, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
        open("/dev/null").close()
        return image

    with pytest.raises(hr.SourceError, match=r"Too many open files[\s\S]*ulimit -n"):
        with images(pictures).map(leaks, fields="image").batch(1).loader(epochs=1, on_error="skip", max_errors=1000) as loader:
            list(loader)


def test_io_waits_for_descriptors(pictures):
    path = next(pictures.rglob("*.*"))
    expected = hr.io.load_image(path)
    pid = engine_pid()
    before = take_descriptors(pid)
    timer = threading.Timer(0.3, resource.prlimit, (pid, resource.RLIMIT_NOFILE, before))
    timer.start()
    assert (hr.io.load_image(path) == expected).all()
    timer.join()
    take_descriptors(pid)
    with pytest.raises(hr.MemoryRefused, match=r"ulimit -n"):
        hr.io.load_image(path)
    hr.io.close()


@pytest.mark.parametrize("on_error", ["raise", "skip"])
def test_address_space_during_a_run(photos, on_error):
    """The engine says so, or falls, because Go needs addresses; no sample is tried, or left out, for it."""
    pipeline = hr.files(photos).decode_image().resize(64).center_crop(64).batch(2)
    with (
        pipeline.loader(epochs=None, workers=2, on_error=on_error) as loader,
        pytest.raises(hr.HeadraceError, match=r"ulimit -v") as caught,
    ):
        next(iter(loader))
        resource.prlimit(engine_pid(), resource.RLIMIT_AS, (100 << 20, resource.RLIM_INFINITY))
        for _ in range(1000):
            list(loader)
    assert isinstance(caught.value, (hr.EngineDied, hr.MemoryRefused))
    assert "in flight" not in str(caught.value)
    assert not list(loader.errors)


def test_another_loader_while_the_engine_has_no_descriptors(pictures):
    """It is refused, with the remedy. The first one goes on, and so do others when descriptors have come back."""
    pipeline = images(pictures).batch(1)
    with pipeline.loader(epochs=1, workers=2) as first:
        batches = iter(first)
        got = [next(batches)["key"][0]]
        pid = engine_pid()
        before = take_descriptors(pid)
        for _ in range(2):
            with pytest.raises(hr.MemoryRefused, match=r"the engine cannot open another session: .*ulimit -n"):
                pipeline.loader(epochs=1)
        resource.prlimit(pid, resource.RLIMIT_NOFILE, before)
        with pipeline.loader(epochs=1, workers=2) as second:
            assert len(list(second)) == COUNT
        got += [batch["key"][0] for batch in batches]
        assert engine_pid() == pid
    assert len(got) == COUNT


@pytest.fixture
def no_processes() -> Iterator[Path]:
    """A control group of no more processes and threads than it has, for which one has to be root."""
    group = Path(f"/sys/fs/cgroup/pids/headrace-test-{os.getpid()}")
    if not group.parent.is_dir():
        group = Path(f"/sys/fs/cgroup/headrace-test-{os.getpid()}")
    try:
        group.mkdir()
        (group / "pids.max").write_text("1")
    except OSError as error:
        pytest.skip(f"no control group can be made here: {error}")
    yield group
    (group / "pids.max").write_text("max")
    hr.io.close()
    for pid in (group / "cgroup.procs").read_text().split():
        (group.parent / "cgroup.procs").write_text(pid)
    group.rmdir()


def same(image):
    return image


@pytest.mark.parametrize("on_error", ["raise", "skip"])
@pytest.mark.parametrize("come_back", [True, False], ids=["come_back", "stay_away"])
def test_a_worker_that_cannot_be_started_again(pictures, no_processes, on_error, come_back):
    """It died while no process may be started. No sample is left out for it.

    The group bars threads as well as processes. Go ends a program that needs one more, and then it is the engine's end that
    has to name the remedy.
    """
    for _ in range(5):
        try:
            _worker_that_cannot_be_started_again(pictures, no_processes, on_error, come_back)
            return
        except hr.EngineDied as died:
            if "pids.max" not in str(died):
                raise
            if not come_back:
                return
            (no_processes / "pids.max").write_text("max")
    pytest.fail("the engine needed a thread five times")


def _worker_that_cannot_be_started_again(pictures, no_processes, on_error, come_back):
    (no_processes / "pids.max").write_text("1")
    loader = images(pictures).map(same, fields="image").batch(1).loader(epochs=20, workers=1, on_error=on_error)
    with loader:
        batches = iter(loader)
        first = next(batches)["key"][0]
        engine = engine_pid()
        workers = [int(pid) for task in Path(f"/proc/{engine}/task").iterdir() for pid in (task / "children").read_text().split()]
        for pid in (engine, *workers):
            (no_processes / "cgroup.procs").write_text(str(pid))
        for pid in workers:
            os.kill(pid, signal.SIGKILL)
        if come_back:
            timer = threading.Timer(0.5, (no_processes / "pids.max").write_text, ["max"])
            timer.start()
            got = [first, *(batch["key"][0] for batch in batches), *(batch["key"][0] for _ in range(19) for batch in loader)]
            timer.join()
            assert got == sorted(set(got)) * 20
            assert len(got) == 20 * COUNT
        else:
            with pytest.raises(hr.SourceError, match=r"no worker of map can start[\s\S]*pids.max"):
                for _ in range(20):
                    list(loader)
        assert not list(loader.errors)
