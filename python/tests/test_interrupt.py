"""Ctrl-C, and everything else that a signal handler may raise anywhere."""

from __future__ import annotations

import os
import re
import signal
import textwrap
import threading
import time

import pytest

import headrace as hr
from conftest import Struck, augmented, digest, digests, engine_pid, pipeline, running, start_python, state_of, stop, within


def interrupt_after(seconds: float) -> threading.Timer:
    timer = threading.Timer(seconds, os.kill, [os.getpid(), signal.SIGINT])
    timer.start()
    return timer


def test_ctrl_c_while_waiting(photos):
    with augmented(photos).loader(epochs=2) as loader:
        loop = iter(loader)
        got = digests([next(loop)])
        pid = engine_pid()
        stop(pid)  # so that next() waits for sure
        timer = interrupt_after(0.3)
        begun = time.monotonic()
        with pytest.raises(KeyboardInterrupt):
            for batch in loop:
                got += digests([batch])
        assert time.monotonic() - begun < 20  # not until the engine goes on
        timer.join()
        os.kill(pid, signal.SIGCONT)
        got += digests(loop)  # the loader goes on as if nothing had happened
        assert digests(loader)
    with augmented(photos).loader(epochs=1) as loader:
        assert got == digests(loader)


def test_ctrl_c_ends_a_program_cleanly(photos):
    program = start_python(
        """
        import sys
        from conftest import Struck, augmented, engine_pid
        with augmented(sys.argv[1]).loader() as loader:
            print(engine_pid(), flush=True)
            while True:
                for batch in loader:
                    pass
        """,
        photos,
    )
    pid = int(program.stdout.readline())
    time.sleep(0.2)
    program.send_signal(signal.SIGINT)
    _, err = program.communicate(timeout=10)
    assert program.returncode == -signal.SIGINT
    assert err.rstrip().endswith("KeyboardInterrupt"), err
    assert within(8, lambda: not running(pid))


@pytest.mark.parametrize("place", ["engine.crash.new_page", "engine.crash.new_words", "engine.socket_pair", "engine.os.pidfd_open"])
def test_ctrl_c_while_the_engine_starts(place, monkeypatch):
    """Nothing is lost that was opened just before: see nothing_is_left."""
    from headrace._client import engine

    name, _, function = place.rpartition(".")
    module = engine if name == "engine" else getattr(engine, name.split(".")[1])
    opened = getattr(module, function)

    def interrupted(*args):
        made = opened(*args)
        os.kill(os.getpid(), signal.SIGINT)
        return made

    monkeypatch.setattr(module, function, interrupted)
    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt):
        hr.source([1, 2], fields="x").batch(2).loader()
    assert signal.getsignal(signal.SIGINT) is before
    monkeypatch.undo()
    with hr.source([1, 2], fields="x").batch(2).loader(epochs=1) as loader:
        assert len(list(loader)) == 1


def test_the_engine_lives_through_signals_of_the_terminal(photos):
    with augmented(photos).loader(epochs=1) as loader:
        loop = iter(loader)
        next(loop)
        os.kill(engine_pid(), signal.SIGINT)
        os.kill(engine_pid(), signal.SIGHUP)
        time.sleep(0.05)
        assert len(list(map(digest, loop))) == 11


@pytest.mark.parametrize("interval", [0.0011, 0.00023])
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # a finalizer may be what is struck
@pytest.mark.filterwarnings("ignore::headrace.HeadraceWarning")  # of holding the whole epoch
def test_exceptions_at_any_moment_of_next(photos, striker, interval):
    """No batch is lost, none comes twice, and the protocol stays in step."""
    with pipeline(photos).loader(epochs=None) as loader:
        expected = [digests(loader) for _ in range(20)]
    with pipeline(photos).loader(epochs=None) as loader:
        signal.setitimer(signal.ITIMER_REAL, interval, interval)
        for epoch in range(20):
            loop, batches = iter(loader), []
            while True:
                try:
                    striker.armed = True
                    for batch in loop:
                        batches += [batch]  # no call: between two of the loop's own steps, no handler runs
                    striker.armed = False
                    break
                except Struck:
                    pass
            striker.armed = False
            assert digests(batches) == expected[epoch]
            del batches, batch, loop
    assert striker.count > 5


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_exceptions_at_any_moment_of_anything(photos, striker):
    """Jumps, states and statistics, interrupted anywhere: afterwards the loader does what it is reported."""
    with pipeline(photos).loader() as loader:
        expected = [digests(loader) for _ in range(3)]
    with pipeline(photos).loader() as loader:
        signal.setitimer(signal.ITIMER_REAL, 0.0003, 0.00041)
        for turn in range(1500):
            try:
                striker.armed = True
                loader.set_epoch(turn % 3)
                loader.stats()
                state = loader.state_dict()
                next(iter(loader))
                loader.load_state_dict(state)
                next(iter(loader))
            except Struck:
                pass
            striker.armed = False
            if turn % 30 == 0:
                loader.set_epoch(2)
                loader.set_epoch(turn // 30 % 2)
                assert digests(loader) == expected[turn // 30 % 2]
    assert striker.count > 50


def test_closing_in_a_signal_handler(photos):
    def handler(*_):
        loader.close()
        raise SystemExit

    old = signal.signal(signal.SIGUSR1, handler)
    try:
        loader = pipeline(photos).loader()
        loop = iter(loader)
        next(loop)
        stop(engine_pid())
        pid = engine_pid()

        def strike():  # when the loop waits, however long it takes to get there
            within(20, lambda: loader._run.inside and state_of(threading.main_thread().native_id, os.getpid()) == "S")
            os.kill(os.getpid(), signal.SIGUSR1)
            time.sleep(0.2)
            os.kill(pid, signal.SIGCONT)

        thread = threading.Thread(target=strike)
        with pytest.raises(SystemExit):
            thread.start()
            for _ in range(100):
                list(loader)
        thread.join()
        loader.close()
    finally:
        signal.signal(signal.SIGUSR1, old)


def test_a_checkpoint_in_a_signal_handler(photos):
    states = []

    def handler(*_):
        states.append(loader.state_dict())
        os.kill(pid, signal.SIGCONT)

    old = signal.signal(signal.SIGUSR1, handler)
    try:
        with pipeline(photos).loader() as loader:
            loop = iter(loader)
            next(loop)
            pid = engine_pid()
            stop(pid)
            threading.Timer(0.3, os.kill, [os.getpid(), signal.SIGUSR1]).start()
            list(loop)
        assert 4 <= states[0]["sources"]["files"]["position"] <= 20
    finally:
        signal.signal(signal.SIGUSR1, old)


CTRL_C = {
    "in next(), which waits": """
        loop = iter(loader)
        next(loop)
        stop(engine_pid())
        print(engine_pid(), flush=True)
        threading.Timer(3, os.kill, [engine_pid(), signal.SIGCONT]).start()
        next_batch = [batch for batch in loop]  # the user's line
    """,
    "in the body of a loop": """
        for batch in loader:
            print(engine_pid(), flush=True)
            time.sleep(60)  # the user's line
    """,
    "in the loop": """
        print(engine_pid(), flush=True)
        while True:
            for batch in loader: pass  # the user's line
    """,
}


@pytest.mark.parametrize("where", CTRL_C)
@pytest.mark.parametrize("closed", ["with", "left open"])
def test_ctrl_c_leaves_nothing(photos, where, closed):
    """A terminal sends SIGINT to all processes of the group, the engine included. What is left is the program's own traceback."""
    body = textwrap.indent(textwrap.dedent(CTRL_C[where]), "    ")
    begin = (
        "with augmented(sys.argv[1]).loader() as loader:" if closed == "with" else "loader = augmented(sys.argv[1]).loader()\nif loader:"
    )
    program = start_python(
        f"import os, signal, sys, threading, time\nfrom conftest import augmented, engine_pid, stop\n{begin}\n{body}",
        photos,
        start_new_session=True,
    )
    pid = int(program.stdout.readline())
    time.sleep(0.2)
    os.killpg(program.pid, signal.SIGINT)
    _, err = program.communicate(timeout=20)
    assert program.returncode == -signal.SIGINT
    assert err.count("Traceback") == 1, err
    assert re.match(r'Traceback \(most recent call last\):\n  File "<string>", line \d+, in <module>\n', err), err
    assert err.rstrip().endswith("KeyboardInterrupt"), err
    assert within(8, lambda: not running(pid))


def test_ctrl_c_while_files_are_listed(tmp_path):
    """Within loader(): here among more folders than can be listed."""
    for i in range(40):
        (tmp_path / str(i)).mkdir()
        for name in "ab":
            (tmp_path / str(i) / name).symlink_to(f"../{i + 1}")
    (tmp_path / "40").mkdir()
    program = start_python(
        """
        import sys, threading
        import headrace as hr
        from conftest import children, within
        def tell():
            within(9, children)
            print(*children(), flush=True)
        threading.Thread(target=tell, daemon=True).start()
        hr.files(sys.argv[1] + "/0/**/*.jpg").decode_image().resize((8, 8)).batch(2).loader()
        """,
        tmp_path,
        start_new_session=True,
    )
    pid = int(program.stdout.readline())
    time.sleep(0.3)
    os.killpg(program.pid, signal.SIGINT)
    _, err = program.communicate(timeout=20)
    assert program.returncode == -signal.SIGINT
    assert err.rstrip().endswith("KeyboardInterrupt"), err
    assert err.count("Traceback") == 1, err
    assert within(8, lambda: not running(pid))
