"""Where an object of the program is read: in processes, in threads, or here."""

import functools
import os
import queue
import threading

import numpy as np
import pytest

import headrace as hr
from headrace._client.unheard import Unheard


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


class Messages:
    """A queue, which gives each sample once."""

    def __init__(self, *samples):
        self.queue = queue.Queue()
        self.put(*samples)

    def put(self, *samples):
        for sample in samples:
            self.queue.put(sample)

    def __iter__(self):
        while (n := self.queue.get()) is not None:
            yield {"n": n}


def plus(n):
    return n + 10


def pair(n):
    return [n, n]


def twice(n):
    yield from (n, n)


@pytest.mark.parametrize(
    ("steps", "message"),
    [
        (lambda: hr.source(Messages(), where="here"), r"first sample of .*Messages.*learns the types.*hr.source\(…, gives="),
        (
            lambda: hr.source(Messages(), where="here", gives={"n": int}).map(plus, fields="n"),
            r"sample of .*Messages.*what .*plus returns.*map\(…, gives=",
        ),
    ],
)
def test_a_loader_over_an_empty_queue_says_what_it_waits_for(steps, message, monkeypatch):
    pipeline = steps()
    put = functools.partial(pipeline._steps[0]["source"]["function"].value.put, 0, 1, None)
    tell = Unheard.tell
    monkeypatch.setattr(Unheard, "tell", lambda self: [tell(self), put()])  # what it waits for comes when it has said so
    monkeypatch.setattr("headrace._client.unheard._HERE", 0.2)
    monkeypatch.setattr("headrace._client.session._SILENT", 0.1)
    late = threading.Timer(20, put)  # a loader that says nothing has an end, too
    late.start()
    with pytest.warns(hr.HeadraceWarning, match=message) as told:
        loader = pipeline.batch(2).loader(epochs=1)
    late.cancel()
    assert len(told) == 1
    assert [batch["n"].size for batch in loader] == [2]
    loader.close()


@pytest.mark.parametrize(
    ("steps", "want"),
    [
        (lambda p: p, range(40)),
        (lambda p: p.map(plus, fields="n", to="m", where="here").map(plus, fields="n"), range(10, 50)),
        (lambda p: p.filter(lambda n: n > 4, fields="n", where="here").map(plus, fields="n"), range(15, 50)),
        (lambda p: p.flat_map(twice, fields="n"), sorted([*range(40)] * 2)),
    ],
)
def test_what_gives_samples_only_once_loses_none(steps, want):
    for gives in (None, {"n": int}):
        pipeline = steps(hr.source(Messages(*range(40), None), where="here", gives=gives))
        with pipeline.batch(4).loader(epochs=1, workers=1) as loader:
            assert [n for batch in loader for n in batch["n"].tolist()] == list(want)


class Spool:
    """A folder whose files are taken away as they are read."""

    def __init__(self, folder):
        self.folder = folder

    def __iter__(self):
        array = np.zeros(2)  # the same for all samples
        for name in sorted(os.listdir(self.folder)):
            os.remove(os.path.join(self.folder, name))
            array[:] = int(name)
            yield {"n": array}

    def close(self):
        self.folder = None  # nobody reads from it now


def test_workers_lose_none_either(tmp_path):
    for i in range(30):
        (tmp_path / f"{i:02}").touch()
    with hr.source(Spool(tmp_path)).map(pair, fields="n", to="m").batch(5).loader(epochs=1, workers=2) as loader:
        assert [n for batch in loader for n in batch["n"][:, 1].tolist()] == list(range(30))


def test_what_begins_again_for_each_epoch_does_so():
    class Rows:
        epochs = 0

        def __iter__(self):
            Rows.epochs += 1
            return iter([{"n": 10 * self.epoch + i} for i in range(3)])

        def set_epoch(self, epoch):
            self.epoch = epoch

    with hr.source(Rows(), where="here").map(plus, fields="n").batch(3).loader(epochs=2) as loader:
        assert [batch["n"].tolist() for _ in range(2) for batch in loader] == [[10, 11, 12], [20, 21, 22]]
        assert Rows.epochs == 2
        loader.set_epoch(1)
        assert [batch["n"].tolist() for batch in loader] == [[20, 21, 22]]


def test_an_iterator_that_fails_while_the_loader_opens_fails_in_its_place():
    class Fails:
        def __iter__(self):
            yield {"n": 1}
            raise ValueError("broken off")

    with hr.source(Fails(), where="here").map(plus, fields="n").batch(1).loader(epochs=1) as loader:
        loop = iter(loader)
        assert next(loop)["n"].tolist() == [11]
        with pytest.raises(hr.HeadraceError, match="broken off"):
            next(loop)
