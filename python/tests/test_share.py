"""Functions of `headrace.io` in worker processes, with engines of their own and with one that is shared."""

from __future__ import annotations

import gc
import multiprocessing
import multiprocessing.resource_tracker
import os
import signal
import socket
import tempfile
import textwrap
import time
from pathlib import Path

import numpy as np
import pytest

import headrace as hr
from conftest import descriptors, engine_pid, engines, files_of, in_child, mappings, run_python, running, some, start_python, stop, within


@pytest.fixture(scope="module", autouse=True)
def resource_tracker():
    """Python starts this process with the first child that is spawned, and keeps it."""
    multiprocessing.resource_tracker.ensure_running()


@pytest.fixture(autouse=True)
def closed():
    yield
    hr.io.close()
    gc.collect()


class Photos:
    """What users write, and who worked on it. PyTorch takes any such object for a Dataset, so that not every process has to import it."""

    def __init__(self, paths: list[str]) -> None:
        self.paths = paths

    def __len__(self) -> int:
        return len(self.paths)

    def __getitem__(self, i: int) -> tuple[np.ndarray, int, int]:
        return hr.io.load_image(self.paths[i], width=160, height=160), os.getpid(), engine_of_this_process()


def engine_of_this_process() -> int:
    """An engine that this process has started; 0: none."""
    from headrace._client.engine import manager

    return manager._shared.pid if manager._shared is not None else 0


def epoch(paths: list[str], context: str) -> tuple[np.ndarray, set[int], set[int]]:
    torch = pytest.importorskip("torch")
    from torch.utils.data import DataLoader

    loader = DataLoader(Photos(paths), batch_size=4, num_workers=2, multiprocessing_context=context)
    images, pids, engines = zip(*loader)
    assert all(isinstance(image, torch.Tensor) for image in images)
    return torch.cat(images).numpy(), set(torch.cat(pids).tolist()), set(torch.cat(engines).tolist())


@pytest.mark.parametrize(("context", "begun"), some([("fork", False), ("fork", True), ("spawn", True)], 2))
def test_workers_of_a_dataloader_have_engines_of_their_own(photos, context, begun):
    paths = files_of(photos)[:16]
    if begun:  # the trainer has used its own before
        hr.io.load_image(paths[0])
    images, pids, engines = epoch(paths, context)
    assert len(pids) == len(engines) == 2
    assert 0 not in engines
    assert within(10, lambda: not any(map(running, engines)))
    assert (images == hr.io.load_image_batch(paths, 160, 160)).all()
    assert engine_pid() not in engines


@pytest.mark.parametrize(("context", "begun"), some([("fork", False), ("fork", True), ("spawn", True)], 2))
def test_workers_of_a_dataloader_share_an_engine(photos, context, begun):
    paths = files_of(photos)[:16]
    if begun:
        hr.io.load_image(paths[0])
    with hr.io.share() as share:
        assert share.open
        pid = engine_pid()
        images, pids, engines = epoch(paths, context)
        assert len(pids) == 2
        assert engines == {0}  # none was started
        assert (images == hr.io.load_image_batch(paths, 160, 160)).all()
        assert engine_pid() == pid
    assert not share.open
    assert "HEADRACE_IO_SHARED" not in os.environ


def shared_name() -> str:
    return os.environ["HEADRACE_IO_SHARED"].partition("@")[2]


def sockets() -> str:
    """The names of the sockets that there are."""
    return Path("/proc/net/unix").read_text()


def test_the_socket_is_a_name_and_no_file(tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    with hr.io.share() as share:
        name = shared_name()
        assert f"@{name}" in sockets()
        assert hr.io.share() is share
        assert name in repr(share)
        assert not list(tmp_path.iterdir())
    assert within(10, lambda: name not in sockets())
    share.close()
    with hr.io.share() as other:
        assert other is not share
        assert shared_name() != name


@pytest.mark.skipif(os.getuid() != 0, reason="only root may become another user")
def test_other_users_are_not_let_in_and_not_trusted(photos):
    path = files_of(photos)[0]
    with hr.io.share():

        def listens():
            token, _, name = os.environ["HEADRACE_IO_SHARED"].partition("@")
            os.environ["HEADRACE_IO_SHARED"] = f"{token}@{name}-"  # which the other user has taken
            assert hr.io.load_image(path).any()
            assert engine_of_this_process()
            hr.io.close()

        def connects():
            with socket.socket(socket.AF_UNIX) as guest:
                os.setuid(54321)
                guest.connect(f"\0{shared_name()}")
                token = os.environ["HEADRACE_IO_SHARED"].partition("@")[0]
                try:
                    guest.sendall(token.encode())
                    assert guest.recv(100) == b""
                except (BrokenPipeError, ConnectionResetError):
                    pass

        in_child(connects)
        with socket.socket(socket.AF_UNIX) as other:
            os.seteuid(54321)
            try:
                other.bind(f"\0{shared_name()}-")
                other.listen()
            finally:
                os.seteuid(0)
            in_child(listens)


def uses_the_shared(path: str) -> None:
    assert hr.io.load_image(path).any()
    assert not engines()


def test_another_token_is_refused(photos):
    path = files_of(photos)[0]
    with hr.io.share():
        token, _, name = os.environ["HEADRACE_IO_SHARED"].partition("@")

        def work():
            os.environ["HEADRACE_IO_SHARED"] = f"{token[::-1]}@{name}"
            with pytest.raises(hr.ProtocolError, match="token"):
                hr.io.load_image(path)
            os.environ["HEADRACE_IO_SHARED"] = f"{token}@{name}"
            uses_the_shared(path)

        in_child(work)


@pytest.mark.parametrize("value", ["x@/nowhere", "x", "@", "x@" + 200 * "x"])
def test_a_share_that_is_gone_is_no_error(photos, value, monkeypatch):
    monkeypatch.setenv("HEADRACE_IO_SHARED", value)
    assert hr.io.load_image(files_of(photos)[0]).any()
    assert engine_of_this_process()


def segments_of(pid: int) -> int:
    """How many segments an engine has mapped."""
    return sum(
        "memfd:headrace-pool" in line or "memfd:headrace-batch" in line for line in Path(f"/proc/{pid}/maps").read_text().splitlines()
    )


def hold(path: str, ready: multiprocessing.Event) -> None:
    held = [hr.io.load_image(path, width=400, height=400) for _ in range(5)]
    ready.set()
    time.sleep(60)
    del held


@pytest.mark.parametrize("context", ["fork", "spawn"])
def test_what_a_dead_worker_held_is_let_go_of(photos, context):
    path = files_of(photos)[0]
    with hr.io.share():
        mine = hr.io.load_image(path, width=400, height=400)
        pid = engine_pid()
        before = segments_of(pid)
        assert before > 0
        ways = multiprocessing.get_context(context)
        ready = [ways.Event() for _ in range(3)]
        workers = [ways.Process(target=hold, args=(path, event)) for event in ready]
        for worker in workers:
            worker.start()
        assert all(event.wait(60) for event in ready)
        assert segments_of(pid) == before + 3
        for worker in workers:
            os.kill(worker.pid, signal.SIGKILL)
            worker.join()
        assert within(10, lambda: segments_of(pid) == before)
        assert (mine == hr.io.load_image(path, width=400, height=400)).all()
        for worker in workers:
            worker.close()


@pytest.mark.parametrize("also", ["nothing", "the engine", "the engine, stopped"])
def test_it_ends_with_its_owner(photos, also):
    """The owner is killed, and maybe its engine: nothing is left, and a child goes on with an engine of its own."""
    code = """
    import os, sys, time
    from pathlib import Path
    import headrace as hr
    from headrace._client.engine import manager

    share = hr.io.share()
    name = os.environ["HEADRACE_IO_SHARED"].partition("@")[2]
    if os.fork() == 0:
        print(hr.io.load_image(sys.argv[1]).shape, flush=True)
        while name in Path("/proc/net/unix").read_text():
            time.sleep(0.01)
        shape = hr.io.load_image(sys.argv[1]).shape
        print(shape, "own", manager._shared.pid, flush=True)
        hr.io.close()
        os._exit(0)
    print("engine", manager._shared.pid, name, flush=True)
    time.sleep(60)
    """
    path = files_of(photos)[0]
    before = set(os.listdir(tempfile.gettempdir()))
    owner = start_python(code, path)
    try:
        first = sorted(owner.stdout.readline().split() for _ in range(2))
        (_, engine, name) = first[1]
        pid = int(engine)
        assert first[0][0].startswith("(")
        assert running(pid)
        assert name in sockets()
        if also == "the engine":
            os.kill(owner.pid, signal.SIGSTOP)  # so that it does not notice first
            os.kill(pid, signal.SIGKILL)
        elif also == "the engine, stopped":
            stop(pid)
        os.kill(owner.pid, signal.SIGKILL)
        assert within(10, lambda: not running(pid))
        last = owner.stdout.readline().split()
        assert last[:-2] == first[0]
        assert int(last[-1]) != pid
        assert owner.stdout.readline() == ""
        assert name not in sockets()
        assert not {f for f in set(os.listdir(tempfile.gettempdir())) - before if f.startswith("headrace-")}
    finally:
        owner.kill()
        owner.wait()
        owner.stdout.close()
        owner.stderr.close()


def test_an_owner_that_is_killed_before_it_has_told_the_engine(tmp_path):
    owner = start_python(
        """
        import os, signal
        import headrace as hr
        from headrace._client.channel import Channel
        Channel.send_descriptor = lambda *a: os.kill(os.getpid(), signal.SIGKILL)
        hr.io.share()
        """,
        TMPDIR=str(tmp_path),
    )
    assert owner.communicate()[1] == ""
    assert owner.returncode == -signal.SIGKILL
    assert not list(tmp_path.iterdir())


def test_a_program_that_ends_without_closing_leaves_nothing(photos, tmp_path):
    done = run_python(
        """
        import os, sys
        import headrace as hr
        hr.io.share()
        hr.io.load_image(sys.argv[1])
        print(os.environ["HEADRACE_IO_SHARED"].partition("@")[2])
        """,
        files_of(photos)[0],
        TMPDIR=str(tmp_path),
    )
    assert done.returncode == 0, done.stderr
    assert within(10, lambda: done.stdout.strip() not in sockets())
    assert not list(tmp_path.iterdir())


def test_the_engine_that_is_shared_dies(photos):
    """The owner and its children go on, each with another."""
    paths = files_of(photos)
    with hr.io.share() as share:
        expected = hr.io.load_image(paths[0])

        def work():
            assert (hr.io.load_image(paths[0]) == expected).all()
            os.kill(pid, signal.SIGKILL)
            assert (hr.io.load_image(paths[0]) == expected).all()
            assert len(engines()) == 1
            hr.io.close()

        pid = engine_pid()
        in_child(work)
        assert not share.open
        assert (hr.io.load_image(paths[0]) == expected).all()
        assert engine_pid() != pid


def test_a_worker_uses_one_core(photos, monkeypatch):
    """A worker's engine learns so; the shared one is not, and neither is that of a child that is not a worker."""
    said = []
    from headrace._client import frames
    from headrace._client.channel import Channel

    send = Channel.send_descriptor

    def watched(self, kind, fd, payload=b""):
        if kind == frames.IO:
            said.append(payload)
        send(self, kind, fd, payload)

    monkeypatch.setattr(Channel, "send_descriptor", watched)
    path = files_of(photos)[0]

    def work(expected: bytes) -> None:
        hr.io.load_image(path)
        assert expected in said[-1], said
        assert (expected == b"cores") == (b"cores" in said[-1])
        hr.io.close()

    def process(expected: bytes) -> None:
        worker = multiprocessing.get_context("fork").Process(target=work, args=(expected,))
        worker.start()
        worker.join(60)
        assert worker.exitcode == 0
        worker.close()

    process(b"cores")
    in_child(lambda: work(b"protocol"))
    with hr.io.share():
        process(b"token")
    monkeypatch.setenv("HEADRACE_IO_CORES", "3")
    process(b"cores")
    hr.io.load_image(path)
    assert b'"cores": 3' in said[-1]
    hr.io.close()
    monkeypatch.setenv("HEADRACE_IO_CORES", "many")
    with pytest.raises(hr.EngineFailed, match="HEADRACE_IO_CORES"):
        hr.io.load_image(path)
    monkeypatch.delenv("HEADRACE_IO_CORES")
    monkeypatch.setenv("LOCAL_WORLD_SIZE", "2")
    hr.io.load_image(path)
    assert b'"local_world_size": 2' in said[-1]


def test_shares_come_and_go(photos):
    path = files_of(photos)[0]
    hr.io.load_image(path)
    before = len(descriptors()), len(mappings())
    for _ in range(20):
        with hr.io.share():
            pass
    in_child(lambda: hr.io.load_image(path) is not None and hr.io.close())
    assert (len(descriptors()), len(mappings())) == before


def test_a_worker_ends_its_engine(photos, tmp_path):
    """Before it ends itself, so that nobody else has to take in what is left of the engine."""
    in_worker = """
        import multiprocessing, os, sys
        from pathlib import Path
        import headrace as hr
        from headrace._client.engine import manager

        def work(path, to):
            hr.io.load_image(path)
            import multiprocessing.util
            pid = manager._shared.pid
            multiprocessing.util.Finalize(None, lambda: to.send((pid, Path(f"/proc/{pid}").exists())), exitpriority=-1)

        if __name__ == "__main__":
            for method in ("fork", "spawn", "forkserver"):
                context = multiprocessing.get_context(method)
                ours, theirs = context.Pipe()
                child = context.Process(target=work, args=(sys.argv[1], theirs))
                child.start()
                theirs.close()
                print(method, ours.recv()[1])
                child.join()
    """
    script = tmp_path / "program.py"
    script.write_text(textwrap.dedent(in_worker))
    done = run_python(f"import runpy, sys; runpy.run_path({str(script)!r}, run_name='__main__')", files_of(photos)[0])
    assert done.stdout.split() == ["fork", "False", "spawn", "False", "forkserver", "False"], done.stderr
