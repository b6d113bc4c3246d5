"""The engine dies, or the trainer does."""

from __future__ import annotations

import gc
import json
import os
import signal
import time
import warnings

import pytest

import headrace as hr
from conftest import DEBUG_ENGINE, augmented, children, digests, engine_pid, files_of, pipeline, running, start_python, stop, within

# Enough batches that most are not on their way when the engine dies.
SMALL = 1


def kill(pid: int) -> None:
    os.kill(pid, signal.SIGKILL)
    within(20, lambda: not running(pid))


def test_killed_in_mid_epoch(photos):
    with augmented(photos, SMALL).loader(epochs=1) as loader:
        loop = iter(loader)
        batch = next(loop)
        copy = batch["image"].copy()
        kill(engine_pid())
        begun = time.monotonic()
        with pytest.raises(hr.EngineDied, match="killed by SIGKILL") as caught:
            for _ in loop:
                pass
        assert time.monotonic() - begun < 20
        assert caught.value.status == "killed by SIGKILL"
        assert "memory" in str(caught.value)
        assert (batch["image"] == copy).all()
        with pytest.raises(hr.EngineDied):
            next(loop)
        assert loader.stats() is not None


def test_killed_while_the_client_waits(photos):
    """With no batch on its way, and the client in poll."""
    import threading

    with augmented(photos, 46).loader(epochs=None) as loader:
        pid = engine_pid()
        stop(pid)
        timer = threading.Timer(0.3, kill, [pid])
        timer.start()
        begun = time.monotonic()
        with pytest.raises(hr.EngineDied):
            for _ in range(100):
                list(loader)
        assert time.monotonic() - begun < 20
        timer.join()


def test_its_last_words_are_in_the_error(photos):
    with augmented(photos, SMALL).loader() as loader:
        loop = iter(loader)
        next(loop)
        os.kill(engine_pid(), signal.SIGQUIT)  # Go prints all stacks and exits
        with pytest.raises(hr.EngineDied) as caught:
            list(loop)
        assert "SIGQUIT" in caught.value.last_words
        assert "its last words" in str(caught.value)
        assert "SIGQUIT" in str(caught.value)


def test_the_next_loop_gets_a_new_engine(photos):
    with augmented(photos).loader(epochs=3) as loader:
        first = digests(loader)
        loop = iter(loader)
        next(loop)
        state = loader.state_dict()
        kill(engine_pid())
        with pytest.raises(hr.EngineDied):
            list(loop)
        again = digests(loader)  # epoch 2: the second was left in its middle
        loader.load_state_dict(state)
        rest = digests(loader)
    with augmented(photos).loader(epochs=3) as whole:
        epochs = [digests(whole) for _ in range(3)]
    assert first == epochs[0]
    assert again == epochs[2]
    assert rest == epochs[1][1:]


def test_every_loader_notices(photos):
    with augmented(photos, SMALL).loader() as one, augmented(photos, SMALL).loader() as two:
        loops = [iter(one), iter(two)]
        for loop in loops:
            next(loop)
        kill(engine_pid())
        for loop in loops:
            with pytest.raises(hr.EngineDied):
                list(loop)
        assert next(iter(one))
        assert next(iter(two))


def test_a_connection_that_ends_alone_costs_nobody_the_engine(photos):
    with augmented(photos, SMALL).loader() as one, augmented(photos, SMALL).loader() as two:
        loops = [iter(one), iter(two)]
        for loop in loops:
            next(loop)
        pid = engine_pid()
        one._run.session.channel.shut()
        with pytest.raises(hr.EngineFailed, match="ended this connection without a reason; other loaders of this program continue"):
            list(loops[0])
        assert len(list(loops[1])) == 45
        assert engine_pid() == pid
        assert next(iter(one))


def test_under_skip_the_run_goes_on_at_the_same_place(photos):
    with augmented(photos).loader(epochs=2) as loader:
        whole = digests(loader) + digests(loader)
    with augmented(photos).loader(epochs=2, on_error="skip") as loader:
        got = []
        with pytest.warns(hr.HeadraceWarning, match="engine died: killed by SIGKILL; continuing at the same place") as caught:
            for epoch in range(2):
                for i, batch in enumerate(loader):
                    got.append(digest := digests([batch])[0])
                    del batch, digest
                    if i in (0, 3, 7) or (epoch, i) == (1, 11):
                        kill(engine_pid())
        assert got == whole
        assert 6 <= len(caught) <= 7
        assert loader.errors.total == 0


def test_an_engine_that_dies_again_and_again(photos, monkeypatch):
    with augmented(photos).loader(epochs=1, on_error="skip") as loader:
        from headrace._client.session import Session

        opened = Session.opened

        def and_killed(self):
            told = opened(self)
            kill(self.connection.engine.pid)
            while self.channel.receive():
                pass
            self.channel.start = self.channel._end  # no batch comes through
            return told

        monkeypatch.setattr(Session, "opened", and_killed)
        loop = iter(loader)
        kill(engine_pid())
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            with pytest.raises(hr.EngineDied):
                for _ in loop:
                    pass


def test_closing_a_loader_whose_engine_is_dead(photos):
    loader = augmented(photos).loader()
    kill(engine_pid())
    loader.stats()
    loader.close()
    assert not children()


# Crashes in C. The engine of debug builds dereferences null where HEADRACE_TEST_CRASH
# is in the sample's key.


@pytest.fixture
def debug_engine(monkeypatch):
    assert DEBUG_ENGINE.is_file(), "scripts/build.sh debug builds it"
    monkeypatch.setenv("HEADRACE_ENGINE", str(DEBUG_ENGINE))


@pytest.mark.usefixtures("debug_engine")
def test_a_crash_names_the_samples_in_flight(photos, monkeypatch):
    guilty = files_of(photos)[20]
    monkeypatch.setenv("HEADRACE_TEST_CRASH", guilty[-12:])
    with augmented(photos).loader(epochs=1, workers=4) as loader, pytest.raises(hr.EngineDied) as caught:
        list(loader)
    error = caught.value
    assert guilty in [s.key for s in error.in_flight]
    assert guilty in str(error)
    assert 1 <= len(error.in_flight) <= 4
    assert next(s for s in error.in_flight if s.key == guilty).index == 20
    assert "on_error='skip'" in str(error)
    assert "SIGSEGV" in str(error) or "signal" in str(error)


@pytest.mark.usefixtures("debug_engine")
@pytest.mark.parametrize("workers", [1, 4])
def test_under_skip_the_guilty_sample_is_found_and_left_out(photos, monkeypatch, workers):
    files = files_of(photos)
    guilty = files[20]
    description = hr.files(files).decode_image().resize(32).center_crop(32).batch(4)
    monkeypatch.setenv("HEADRACE_TEST_CRASH", os.path.basename(guilty))
    with description.loader(epochs=3, on_error="skip", workers=workers) as loader:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            keys = [k for b in loader for k in b["key"]]
        assert "is the cause" in str(caught[-1].message)
        assert guilty in str(caught[-1].message)
        assert keys == [f for f in files if f != guilty]
        assert [e.key for e in loader.errors] == [guilty]
        assert loader.errors[0].index == 20
        state = json.loads(json.dumps(loader.state_dict()))
        assert state["quarantine"] == [20]
        again = [k for b in loader for k in b["key"]]  # and no crash in the next epoch
        assert again == keys
    # Nor in a run that goes on from the state.
    with description.loader(epochs=3, on_error="skip", workers=workers) as loader:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            loader.load_state_dict(state)
            assert [k for b in loader for k in b["key"]] == keys
        assert len(caught) <= 1  # what is read ahead before the state is there may have the sample in it


@pytest.mark.usefixtures("debug_engine")
def test_several_guilty_samples(photos, monkeypatch):
    files = files_of(photos)
    guilty = [f for f in files if os.path.basename(f)[2] == "3"]  # 003, 013, 023, …
    assert len(guilty) == 5
    links = [f"{os.path.dirname(f)}/{'guilty' if f in guilty else 'good'}-{os.path.basename(f)}" for f in files]
    try:
        for f, link in zip(files, links):
            os.symlink(f, link)
        monkeypatch.setenv("HEADRACE_TEST_CRASH", "guilty")
        with hr.files(links).shuffle().decode_image().resize(32).center_crop(32).batch(4).loader(epochs=2, on_error="skip") as loader:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                first = [k for b in loader for k in b["key"]]
                second = [k for b in loader for k in b["key"]]
        good = sorted(link for link in links if "guilty" not in link)
        assert sorted(first) == good
        assert sorted(second) == good
        assert loader.errors.total == 10
    finally:
        for link in links:
            os.unlink(link)


@pytest.mark.usefixtures("debug_engine")
def test_another_loader_is_not_blamed(photos, monkeypatch):
    """Two loaders share the engine; only one has the guilty sample."""
    files = files_of(photos)
    guilty, innocent = files[:23], files[23:]
    monkeypatch.setenv("HEADRACE_TEST_CRASH", os.path.basename(guilty[20]))

    def load(source):
        return hr.files(source).decode_image().resize(32).center_crop(32).batch(2).loader(epochs=1, on_error="skip", workers=4)

    with warnings.catch_warnings(), load(guilty) as one, load(innocent) as two:
        warnings.simplefilter("ignore")
        loops = [iter(one), iter(two)]
        keys = [[], []]
        left = [0, 1]
        while left:
            for i in list(left):
                batch = next(loops[i], None)
                if batch is None:
                    left.remove(i)
                else:
                    keys[i] += batch["key"]
        assert keys[0] == [f for f in guilty if f != guilty[20]]
        assert keys[1] == innocent
        assert two.errors.total == 0
        assert two.state_dict()["quarantine"] == []


@pytest.mark.usefixtures("debug_engine")
@pytest.mark.parametrize("on_error", ["skip", "replace"])
@pytest.mark.parametrize("order", ["round_robin", "arrival"])
def test_the_guilty_sample_of_a_second_source(photos, monkeypatch, on_error, order):
    """Sources count their positions by themselves, and share the numbers of their samples."""
    files = files_of(photos)
    first, second = files[:20], files[20:]
    monkeypatch.setenv("HEADRACE_TEST_CRASH", os.path.basename(second[11]))

    def load():
        sources = [hr.files(part).shuffle(seed=1).decode_image() for part in (first, second)]
        return hr.merge(sources, order=order).center_crop(32).batch(4).loader(epochs=1, on_error=on_error, workers=4)

    with warnings.catch_warnings(record=True) as caught, load() as loader:
        warnings.simplefilter("always")
        keys = [k for b in loader for k in b["key"]]
        state = loader.state_dict()
        bad = list(loader.errors)
    assert any("is the cause" in str(w.message) for w in caught)
    assert state["quarantine"] == [20 + 11]
    assert [(e.key, e.source, e.index, e.replaced) for e in bad] == [(second[11], "files_2", 11, on_error == "replace")]
    assert second[11] not in keys
    assert set(keys) == set(files) - {second[11]}
    assert len(keys) == len(files) - (on_error == "skip")
    if order == "round_robin":
        with warnings.catch_warnings(), load() as again:
            warnings.simplefilter("ignore")  # it may have crashed before it hears of the state
            again.load_state_dict(state | {"epoch": 0})
            assert [k for b in again for k in b["key"]] == keys, "another run leaves it out in the same way"


# The trainer.


def test_the_engine_follows_a_killed_trainer(photos):
    trainer = start_python(
        """
        import sys
        from conftest import augmented, engine_pid
        loader = augmented(sys.argv[1]).loader()
        while True:
            for i, batch in enumerate(loader):
                if i == 3:
                    print(engine_pid(), flush=True)
        """,
        photos,
    )
    with trainer:
        pid = int(trainer.stdout.readline())
        assert running(pid)
        trainer.kill()
        trainer.wait()
        assert within(8, lambda: not running(pid))
        trainer.stdout.close()
        trainer.stderr.close()


@pytest.mark.parametrize("thread", ["main", "ended", "other"])
def test_a_stopped_engine_follows_a_killed_trainer(photos, thread):
    """It goes on when its trainer ends, whichever thread of it has started the engine, and ends."""
    trainer = start_python(
        """
        import sys, threading
        from conftest import augmented, engine_pid
        loader = augmented(sys.argv[1]).loader()
        def begin():
            next(iter(loader))
            print(engine_pid(), flush=True)
            if sys.argv[2] != "ended":
                threading.Event().wait()
        if sys.argv[2] == "main":
            begin()
        thread = threading.Thread(target=begin)
        thread.start()
        thread.join()
        threading.Event().wait()
        """,
        photos,
        thread,
    )
    with trainer:
        pid = int(trainer.stdout.readline())
        try:
            stop(pid)
            trainer.kill()
            trainer.wait()
            assert within(10, lambda: not running(pid))
        finally:
            if running(pid):
                kill(pid)
        trainer.stdout.close()
        trainer.stderr.close()


def test_a_stopped_engine_follows_a_trainer_that_just_ends(photos):
    trainer = start_python(
        """
        import sys
        from conftest import augmented, engine_pid, stop
        loader = augmented(sys.argv[1]).loader()
        next(iter(loader))
        print(engine_pid(), flush=True)
        stop(engine_pid())
        """,
        photos,
    )
    out, _ = trainer.communicate(timeout=30)
    try:
        assert within(10, lambda: not running(int(out)))
    finally:
        if running(int(out)):
            kill(int(out))


def test_the_engine_follows_a_trainer_that_just_ends(photos):
    trainer = start_python(
        """
        import sys
        from conftest import augmented, engine_pid
        loader = augmented(sys.argv[1]).loader()
        batch = next(iter(loader))
        print(engine_pid(), flush=True)
        """,
        photos,
    )
    out, err = trainer.communicate(timeout=30)
    assert (trainer.returncode, err) == (0, "")
    assert within(8, lambda: not running(int(out)))


def test_no_process_is_left_behind_by_many_loaders(photos):
    before = children()
    for _ in range(10):
        loader = pipeline(photos).loader()
        next(iter(loader))
        del loader
    gc.collect()
    with pipeline(photos).loader() as loader:
        next(iter(loader))
        assert within(8, lambda: len(children() - before) == 1)


def test_loaders_that_were_dropped_leave_no_zombie():
    """Neither used nor broken off, and with nothing called after."""
    for begin in (lambda loader: None, lambda loader: next(iter(loader))):
        before = children()
        for _ in range(3):
            begin(hr.source(list(range(6))).batch(2).loader(epochs=1))
        gc.collect()
        assert within(20, lambda before=before: not children() - before)


def test_an_exception_while_an_engine_starts_leaves_no_zombie(monkeypatch):
    before = children()

    def refuse(*_):
        raise InterruptedError(4, "struck")

    monkeypatch.setattr("headrace._client.oom.Watch", refuse)
    with pytest.raises(hr.HeadraceError, match="struck"):
        hr.source(list(range(6))).batch(2).loader()
    monkeypatch.undo()
    assert within(20, lambda: not children() - before)
