"""Several threads and one loader: every batch goes to one of them."""

from __future__ import annotations

import threading
import time

import pytest

import headrace as hr
from conftest import files_of, pipeline


@pytest.mark.filterwarnings("ignore::headrace.HeadraceWarning")  # each of them holds a batch
def test_threads_share_an_epoch(photos):
    with pipeline(photos, 1).loader(epochs=1) as loader:
        loop, lock, keys, failures = iter(loader), threading.Lock(), [], []

        def work():
            try:
                for batch in loop:
                    with lock:
                        keys.extend(batch["key"])
            except BaseException as error:
                failures.append(error)

        threads = [threading.Thread(target=work) for _ in range(4)]
        for t in threads:
            t.start()
        for t in threads:
            t.join(30)
        assert not failures
        assert sorted(keys) == files_of(photos)
        assert loader.state_dict()["epoch"] == 1


def test_statistics_from_another_thread(photos):
    with pipeline(photos).loader() as loader:
        stop = threading.Event()

        def watch():
            while not stop.is_set():
                assert loader.stats()["stages"]
                loader.state_dict()

        watcher = threading.Thread(target=watch)
        watcher.start()
        for _ in range(5):
            assert len(list(map(len, loader))) == 12
        stop.set()
        watcher.join(10)
        assert not watcher.is_alive()


def test_closing_from_another_thread_while_next_waits(photos):
    import os
    import signal

    from conftest import engine_pid, stop

    loader = pipeline(photos).loader()
    pid = engine_pid()
    stop(pid)
    caught = []

    def wait():
        try:
            for _ in range(10):
                list(loader)
        except hr.LoaderClosed as error:
            caught.append(error)

    thread = threading.Thread(target=wait)
    thread.start()
    time.sleep(0.3)
    threading.Timer(0.3, os.kill, [pid, signal.SIGCONT]).start()
    begun = time.monotonic()
    loader.close()
    thread.join(10)
    assert not thread.is_alive()
    assert len(caught) == 1
    assert time.monotonic() - begun < 20
    with pytest.raises(hr.LoaderClosed):
        iter(loader)
