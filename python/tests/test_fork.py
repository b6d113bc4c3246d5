"""The trainer forks: DataLoader workers, multiprocessing, anything."""

from __future__ import annotations

import multiprocessing
import os
import signal

import numpy as np
import pytest
import torch

import headrace as hr
from conftest import augmented, children, digests, engine_pid, in_child, pipeline, run_python, running


def touches(loader, loop):
    """Everything that a child could try."""

    def work():
        for touch in (lambda: next(loop), lambda: iter(loader), loader.stats, lambda: loader.set_epoch(3), lambda: loader.__enter__()):
            with pytest.raises(hr.ForkedLoader, match="forked"):
                touch()
        loader.close()  # what a `with` statement does on the way out: nothing

    return work


def test_the_child_gets_a_clear_error(photos):
    with augmented(photos).loader(epochs=1) as loader:
        loop = iter(loader)
        in_child(touches(loader, loop))
        got = [next(loop)]
        in_child(touches(loader, loop))
        got += loop_with_forks(loop, lambda: in_child(touches(loader, loop)))
        result = digests(got)
        del got
    with augmented(photos).loader(epochs=1) as loader:
        assert result == digests(loader)


def loop_with_forks(loop, fork):
    import warnings

    got = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", hr.HeadraceWarning)
        for i, batch in enumerate(loop):
            got.append(batch)
            if i % 3 == 0:
                fork()
    return got


def test_what_the_child_writes_stays_in_the_child(photos):
    with augmented(photos).loader(epochs=2) as loader:
        loop = iter(loader)
        held = [next(loop)["image"], next(loop)["image"]]
        copies = [image.copy() for image in held]
        pid = engine_pid()

        def work():
            assert (held[0] == copies[0]).all()
            held[0][:] = 7
            torch.from_numpy(held[1])[:] = 9
            assert (held[0] == 7).all()
            assert (held[1] == 9).all()

            def grandchild():
                assert (held[0] == 7).all()
                held[0][:] = 8

            in_child(grandchild)
            assert (held[0] == 7).all()

        in_child(work)
        assert (held[0] == copies[0]).all()
        assert (held[1] == copies[1]).all()
        assert running(pid)
        held.clear()
        rest = digests(loop)
    with augmented(photos).loader(epochs=1) as loader:
        assert digests(loader)[2:] == rest


def test_the_child_lets_go_of_batches_and_the_parent_keeps_them(photos):
    with augmented(photos).loader(epochs=1) as loader:
        loop = iter(loader)
        batch = next(loop)
        copy = batch["image"].copy()

        def work():
            nonlocal batch, loader, loop
            del batch, loop
            del loader

        in_child(work)
        for _ in loop:
            pass
        assert (batch["image"] == copy).all()


def test_a_child_can_have_a_loader_of_its_own(photos):
    with augmented(photos).loader(epochs=1) as loader:
        loop = iter(loader)
        head = digests([next(loop)])
        expected = {}

        def work():
            with augmented(photos).loader(epochs=1) as own:
                expected["got"] = digests(own)
                assert expected["got"][0] == head[0]
                assert len(expected["got"]) == 12
            assert not children()

        in_child(work)
        assert len(digests(loop)) == 11


def test_a_child_that_outlives_the_loader_does_not_keep_the_engine(photos):
    r, w = os.pipe()
    with pipeline(photos).loader() as loader:
        next(iter(loader))
        pid = engine_pid()
        child = os.fork()
        if child == 0:
            os.close(w)
            os.read(r, 1)
            os._exit(0)
        os.close(r)
    assert not running(pid)
    os.close(w)
    os.waitpid(child, 0)


def test_an_engine_that_dies_while_a_child_holds_copies_of_its_sockets(photos):
    r, w = os.pipe()
    with pipeline(photos, 1).loader() as loader:
        loop = iter(loader)
        next(loop)
        child = os.fork()
        if child == 0:
            os.close(w)
            os.read(r, 1)
            os._exit(0)
        os.close(r)
        os.kill(engine_pid(), signal.SIGKILL)
        with pytest.raises(hr.EngineDied):
            list(loop)
    os.close(w)
    os.waitpid(child, 0)


def work_of_a_process(queue):
    queue.put(sum(range(100)))


def test_multiprocessing_between_batches(photos):
    context = multiprocessing.get_context("fork")
    with augmented(photos).loader(epochs=1) as loader:
        got = []
        for i, batch in enumerate(loader):
            got += digests([batch])
            if i % 4 == 1:
                queue = context.Queue()
                process = context.Process(target=work_of_a_process, args=(queue,))
                process.start()
                assert queue.get(timeout=20) == 4950
                process.join()
                queue.close()
                queue.join_thread()
    with augmented(photos).loader(epochs=1) as loader:
        assert got == digests(loader)


class Squares(torch.utils.data.Dataset):
    def __init__(self, loader=None):
        self.loader = loader

    def __len__(self):
        return 12

    def __getitem__(self, i):
        if self.loader is not None:
            next(iter(self.loader))
        return i * i


def test_a_dataloader_in_the_same_process(photos):
    with augmented(photos).loader(epochs=1) as loader:
        other = torch.utils.data.DataLoader(Squares(), batch_size=1, num_workers=2, multiprocessing_context="fork")
        pairs = [(digests([a])[0], int(b)) for a, b in zip(loader, other)]
    assert [b for _, b in pairs] == [i * i for i in range(12)]
    with augmented(photos).loader(epochs=1) as loader:
        assert [a for a, _ in pairs] == digests(loader)


def test_a_loader_inside_dataloader_workers(photos):
    with augmented(photos).loader() as loader:
        wrong = torch.utils.data.DataLoader(Squares(loader), num_workers=1, multiprocessing_context="fork")
        with pytest.raises(hr.ForkedLoader, match="no worker processes are needed"):
            list(wrong)
        assert next(iter(loader))


def test_forks_in_one_thread_while_another_waits_for_batches(photos):
    done = run_python(
        """
        import os, sys, threading
        from conftest import augmented, children, digests
        stop = threading.Event()
        def fork():
            while not stop.is_set():
                pid = os.fork()
                if pid == 0:
                    os._exit(0)
                assert os.waitpid(pid, 0)[1] == 0
        thread = threading.Thread(target=fork)
        with augmented(sys.argv[1]).loader(epochs=4) as loader:
            thread.start()
            got = [digests(loader) for _ in range(4)]
            stop.set()
            thread.join()
        with augmented(sys.argv[1]).loader(epochs=4) as loader:
            assert got == [digests(loader) for _ in range(4)]
        """,
        photos,
        PYTHONWARNINGS="ignore",
    )
    assert done.returncode == 0, done.stderr


def test_spawned_processes_take_the_pipeline(photos):
    # In a program of its own, because multiprocessing leaves its resource tracker
    # running.
    done = run_python(
        """
        import multiprocessing, sys
        from conftest import augmented, digests, load
        if __name__ == "__main__":
            description = augmented(sys.argv[1])
            with multiprocessing.get_context("spawn").Pool(1) as pool, description.loader(epochs=1) as loader:
                assert pool.apply(load, [description]) == digests(loader)
        """,
        photos,
    )
    assert done.returncode == 0, done.stderr


def test_writes_of_the_parent_reach_no_engine_after_release(photos):
    """A child holds views of slots that the parent has given back and the engine has filled again: both see their own."""
    with pipeline(photos).loader() as loader:
        loop = iter(loader)
        batch = next(loop)
        r, w = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(w)
            os.read(r, 1)
            batch["image"][:] = 3
            os._exit(0 if (np.asarray(batch["image"]) == 3).all() else 1)
        os.close(r)
        del batch
        first = digests(next(loop) for _ in range(5))
        os.close(w)
        assert os.waitpid(child, 0)[1] == 0
        rest = digests(loop)
    with pipeline(photos).loader() as loader:
        assert digests(loader)[1:] == first + rest
