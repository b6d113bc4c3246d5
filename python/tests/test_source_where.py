"""Where an object of the program is read: in processes, in threads, or here."""

import os
import threading

import numpy as np
import pytest

import headrace as hr


class Rows:
    """It says who reads it."""

    def __init__(self, count, lock=None):
        self.count = count
        if lock is not None:
            self.lock = lock  # which cannot be sent anywhere

    def __len__(self):
        return self.count

    def __getitem__(self, i):
        return {"x": np.full((3, 5000), i, np.int32), "n": i, "pid": os.getpid(), "thread": threading.get_ident()}


def read(rows, where, **options):
    with hr.source(rows, where=where).batch(4).loader(epochs=1, **options) as loader:
        batches = list(loader)
    assert [int(n) for b in batches for n in b["n"]] == list(range(len(rows)))
    for b in batches:
        assert (b["x"] == b["n"][:, None, None]).all()
    return {int(p) for b in batches for p in b["pid"]}, {int(t) for b in batches for t in b["thread"]}


def test_processes():
    pids, _ = read(Rows(40), "process", workers=2)
    assert os.getpid() not in pids


def test_threads_of_one_process():
    pids, _ = read(Rows(60), "thread", workers=2)
    assert len(pids) == 1
    assert os.getpid() not in pids


def test_here_it_is_the_object_itself():
    pids, threads = read(Rows(30, threading.Lock()), "here")
    assert pids == {os.getpid()}
    assert threading.get_ident() not in threads


def test_a_set_of_workers():
    pids, _ = read(Rows(40), hr.Workers(processes=1, threads=1))
    assert len(pids) == 1
    assert os.getpid() not in pids


@pytest.mark.parametrize("where", ["thread", "here"])
def test_what_is_iterated_over(where):
    lock = threading.Lock() if where == "here" else None

    def samples():
        for n in range(25):
            with lock or threading.Lock():
                yield {"n": n, "pid": os.getpid()}

    with hr.source(samples, where=where).batch(5).loader(epochs=1) as loader:
        batches = list(loader)
    assert [int(n) for b in batches for n in b["n"]] == list(range(25))
    assert ({int(p) for b in batches for p in b["pid"]} == {os.getpid()}) == (where == "here")


def test_names_are_told_where_it_is_read():
    lock = threading.Lock()

    def name(i):
        with lock:
            return f"row {i}"

    with hr.source(Rows(8, lock), keys=name, where="here").batch(4).loader(epochs=1) as loader:
        assert [key for b in loader for key in b["key"]] == [f"row {i}" for i in range(8)]


def test_functions_of_the_same_place_follow():
    with (
        hr.source(Rows(20, threading.Lock()), where="here")
        .map(lambda n: 2 * n, fields="n", where="thread")
        .batch(4)
        .loader(epochs=1) as loader
    ):
        assert [int(n) for b in loader for n in b["n"]] == [2 * i for i in range(20)]


@pytest.mark.parametrize(
    ("make", "what"),
    [
        (lambda: hr.source(Rows(3), where="main"), "where is 'main'"),
        (lambda: hr.source(Rows(3), where="moon"), "where is 'moon'"),
        (lambda: hr.source(Rows(3), where="here", generators=["numpy"]), "would seed the generators that your program uses"),
        (lambda: hr.source(lambda: iter([{"n": 1}]), where=hr.Workers(processes=1)), "which steps cannot share"),
        (lambda: hr.source(Rows(3), where=hr.Workers(threads=2), generators=["numpy"]), "use threads=1"),
    ],
)
def test_what_is_refused(make, what):
    with pytest.raises(hr.errors.RecipeError, match=what):
        make()


def test_a_loader_over_an_empty_queue_says_what_it_waits_for(monkeypatch):
    import queue
    import threading

    monkeypatch.setattr("headrace._client.unheard._HERE", 0.5)
    messages = queue.Queue()

    class Messages:
        def __iter__(self):
            while (n := messages.get()) is not None:
                yield {"n": n}

    timer = threading.Timer(1.5, lambda: [messages.put(n) for n in (0, 1, None, 2, 3, None)])
    timer.start()
    with pytest.warns(hr.HeadraceWarning, match=r"first sample of .*Messages.*gives=") as told:
        loader = hr.source(Messages(), where="here").batch(2).loader(epochs=1)
    assert len(told) == 1
    assert next(iter(loader))["n"].size
    loader.close()
