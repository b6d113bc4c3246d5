"""What becomes of functions in workers that fail, hang, die, or are stopped, and of everything around them."""

from __future__ import annotations

import contextlib
import logging
import os
import re
import signal
import subprocess
import sys
import time
import traceback
from pathlib import Path

import numpy as np
import pytest

import functions
import headrace as hr
from conftest import engine_pid, environment_of, run_python, running, start_python, within
from own import COUNT, assert_alike, images, plain

BAD = "07.png"


def once_at(key, what, otherwise=functions.same):
    """A function that does something at one sample."""

    def function(sample):
        if sample["key"].endswith(key):
            what(sample)
        return otherwise(sample)

    return function


def names(loader):
    return [key[-6:] for batch in loader for key in batch["key"]]


ALL = [f"{i:02d}.png" for i in [*range(0, COUNT, 2), *range(1, COUNT, 2)]]
WITHOUT = [name for name in ALL if name != BAD]


# Exceptions.


def fail(sample):
    raise ValueError("too dark: ü")


def test_an_error_names_the_users_line_first(pictures):
    p = images(pictures).map(once_at(BAD, fail)).batch(4)
    got = []
    with p.loader(epochs=1) as loader, pytest.raises(hr.SampleError) as caught:
        for batch in loader:
            got += [key[-6:] for key in batch["key"]]
    error = caught.value
    assert got == ALL[: ALL.index(BAD) // 4 * 4]
    line = fail.__code__.co_firstlineno + 1
    assert f"fail ({os.path.basename(__file__)}:{line}): ValueError: too dark: ü" in str(error)
    assert str(error).startswith("fail (")
    assert error.key.endswith(BAD)
    assert (error.stage, error.remote_type, error.remote_message) == ("map+batch", "ValueError", "too dark: ü")
    assert 'raise ValueError("too dark: ü")' in error.remote_traceback
    shown = "".join(traceback.format_exception(error))
    assert shown.index('raise ValueError("too dark: ü")') < shown.index("headrace.errors.SampleError: fail (")


class Odd(Exception):
    def __init__(self, a, b):
        super().__init__(a)
        self.b = b

    def __str__(self):
        raise RuntimeError("no text")


EXCEPTIONS = {
    "ZeroDivisionError": lambda s: 1 // 0,
    "Odd": lambda s: (_ for _ in ()).throw(Odd(1, 2)),
    "SystemExit": lambda s: sys.exit(3),
    "KeyboardInterrupt": lambda s: (_ for _ in ()).throw(KeyboardInterrupt),
    "KeyError": lambda s: [].append(s["imag"]),
    "RecursionError": lambda s: fail(s) if sys.setrecursionlimit(200) else (lambda f: f(f))(lambda f: f(f)),
    "_io.TextIOWrapper": lambda s: {**s, "x": sys.stdout},
    "function": lambda s: lambda: 3,
    "generator": lambda s: (i for i in range(3)),
}


def test_any_exception_and_any_result_is_the_samples(pictures):
    kinds = list(EXCEPTIONS)

    def function(sample):
        at = int(sample["key"][-6:-4])
        return EXCEPTIONS[kinds[at - 1]](sample) if 0 < at <= len(kinds) else sample

    with images(pictures).map(function, workers=1).batch(4).loader(epochs=1, on_error="skip") as loader:
        assert names(loader) == [name for name in ALL if not 0 < int(name[:2]) <= len(kinds)]
        lost = {int(lost.key[-6:-4]): lost.error for lost in loader.errors}
    assert sorted(lost) == list(range(1, len(kinds) + 1))
    for at, kind in enumerate(kinds, 1):
        assert kind in lost[at] or at > 6, (kind, lost[at])


def test_policies(pictures):
    p = images(pictures).map(once_at(BAD, fail))
    with p.batch(4).loader(epochs=2, on_error="skip") as loader:
        assert [names(loader), names(loader)] == [WITHOUT] * 2
        assert loader.errors.total == 2
    with p.batch(4).loader(epochs=1, on_error="replace") as loader:
        got = names(loader)
        assert len(got) == COUNT
        assert BAD not in got
        assert loader.errors.replaced == 1
    with pytest.raises(hr.TooManyErrors):  # while it is found out what it gives
        images(pictures).map(fail).batch(4).loader(epochs=1, on_error="skip", max_errors=3)
    p = images(pictures).map(fail, gives={"key": str})
    with p.batch(4).loader(epochs=1, on_error="skip", max_errors=3) as loader, pytest.raises(hr.TooManyErrors):
        list(loader)


def test_a_set_up_that_fails_is_told_in_full(pictures):
    class Broken:
        def __init__(self):
            raise RuntimeError("no such model")

        def __call__(self, sample):
            return sample

    began = time.monotonic()
    with pytest.raises(hr.HeadraceError, match="no such model"):
        with images(pictures).map(Broken).batch(4).loader(epochs=1, on_error="skip") as loader:
            list(loader)
    assert time.monotonic() - began < 60


# Workers that die.


def segfault(sample):
    import ctypes

    ctypes.string_at(0)


DEATHS = {
    "status 7|exit code 7|code 7": lambda sample: os._exit(7),
    "SIGSEGV": segfault,
}


@pytest.mark.parametrize(("how", "where"), [("SIGSEGV", "process"), ("status 7|exit code 7|code 7", "thread")])
def test_a_worker_that_dies_costs_one_sample(pictures, how, where):
    p = images(pictures).map(once_at(BAD, DEATHS[how]), workers=2, where=where).batch(4)
    with p.loader(epochs=2, on_error="skip") as loader:
        for _ in range(2):
            assert names(loader) == WITHOUT
        assert {lost.key[-6:] for lost in loader.errors} == {BAD}
        assert re.search(how, loader.errors[0].error), loader.errors
    with p.loader(epochs=1) as loader, pytest.raises(hr.SampleError, match=how) as caught:
        list(loader)
    assert caught.value.key.endswith(BAD)


def test_a_time_limit_shows_the_stack(pictures):
    def forever_here(sample):
        while True:
            time.sleep(0.01)

    p = images(pictures).map(once_at(BAD, forever_here), workers=2).failures(time_limit=1).batch(4)
    began = time.monotonic()
    with p.loader(epochs=1, on_error="skip") as loader:
        assert names(loader) == WITHOUT
        assert [lost.key[-6:] for lost in loader.errors] == [BAD]
    assert time.monotonic() - began < 30
    with p.loader(epochs=1) as loader, pytest.raises(hr.SampleError) as caught:
        list(loader)
    assert "forever_here" in f"{caught.value}{caught.value.remote_traceback}"
    assert "/_worker/" not in f"{caught.value}{caught.value.remote_traceback}"


# Signals.


def test_processes_of_a_function_can_be_ended(pictures):
    """Workers leave signals to the trainer, but those that they start hear them, forked or not."""

    def start(i):
        import multiprocessing
        import subprocess

        with multiprocessing.get_context("fork").Pool(1) as pool:  # ended by SIGTERM
            (length,) = pool.map(len, ["abc"])
        ended = []
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            os.kill(os.getpid(), number)  # which does not touch the worker
            sleeper = subprocess.Popen(["sleep", "100"])
            sleeper.send_signal(number)
            ended.append(sleeper.wait())
        return np.array([length, *ended])

    numbers = hr.source(range(2), fields="i", gives="int64")
    with numbers.map(start, fields="i", gives=("int64", (4,)), workers=1).batch(2).loader(epochs=1) as loader:
        (batch,) = loader
        assert batch["i"].tolist() == [[3, -15, -2, -1]] * 2
        assert loader.stats()["functions"][0]["restarts"] == 0


# Words of workers.


def test_words_of_workers_come_to_logging(pictures, caplog):
    def talk(sample):
        import warnings

        if sample["key"].endswith(BAD):
            print("printed ü", sample["label"])  # noqa: T201
            logging.getLogger("mine.here").error("logged %d", 7)
            warnings.warn("warned", stacklevel=1)
            os.write(2, b"written to stderr\n")
        return sample

    with caplog.at_level(logging.DEBUG, logger="headrace.worker"):
        with images(pictures).map(talk, workers=2).batch(4).loader(epochs=1) as loader:
            assert names(loader) == ALL
    told = [(record.name, record.levelname, record.getMessage()) for record in caplog.records if record.name.startswith("headrace.worker")]
    for level, text in [("INFO", "printed ü 1"), ("ERROR", "logged 7"), ("WARNING", "warned"), ("", "written to stderr")]:
        found = [t for t in told if text in t[2]]
        assert len(found) == 1, (text, told)
        assert found[0][0] == "headrace.worker.map"
        assert level in found[0][1]


def test_words_at_the_end_are_not_lost(pictures, caplog):
    class Last:
        def __call__(self, key):
            return key

        def close(self):
            print("good night")  # noqa: T201

    with caplog.at_level(logging.DEBUG, logger="headrace.worker"):
        steps = images(pictures).map(Last, fields="key", gives=str, workers=1)
        with steps.batch(4).loader(epochs=1) as loader:
            assert names(loader) == ALL
    assert [record.getMessage().strip() for record in caplog.records] == ["good night"]


TALKS = """
    import logging, sys
    import headrace as hr

    def talk(i):
        print("printed ü", i)
        print("complained", i, file=sys.stderr)
        logging.getLogger("own").info("said %d", i)
        return i

    {set_up}
    with hr.source(range(3), fields="i", gives="int64").map(talk, fields="i", gives="int64", workers=1).batch(3).loader(epochs=1) as loader:
        for batch in loader:
            assert batch["i"].tolist() == [0, 1, 2]
"""
PRINTED = [f"printed ü {i}" for i in range(3)]
COMPLAINED = [f"complained {i}" for i in range(3)]


@pytest.mark.parametrize(
    ("set_up", "stdout", "stderr"),
    [
        ("", PRINTED, COMPLAINED),  # who has not heard of logging
        ("logging.basicConfig()", PRINTED, [f"WARNING:headrace.worker.map:{text}" for text in COMPLAINED]),  # who has it for warnings
        ("logging.getLogger('headrace.worker').setLevel('ERROR')", [], []),  # silence
        ("logging.getLogger('headrace').addHandler(logging.NullHandler()); sys.stdout = None", [], []),
        ("sys.stdout.close()", [], COMPLAINED),
        ("sys.stdout.reconfigure(encoding='ascii')", [text.replace("ü", "\\xfc") for text in PRINTED], COMPLAINED),
    ],
)
def test_prints_are_seen_where_prints_are_seen(set_up, stdout, stderr):
    done = run_python(TALKS.format(set_up=set_up))
    assert (done.returncode, sorted(done.stdout.splitlines()), sorted(done.stderr.splitlines())) == (0, stdout, stderr)


def test_prints_are_logged_where_logging_shows_them():
    done = run_python(TALKS.format(set_up="logging.basicConfig(level='INFO')"))
    assert (done.returncode, done.stdout) == (0, "")
    for text in [*PRINTED, *COMPLAINED, *(f"said {i}" for i in range(3))]:
        assert f":headrace.worker.map:{text}\n" in done.stderr


def test_who_prints_does_not_wait_for_the_loop(tmp_path):
    """More than any queue holds is printed while nobody reads: the function goes on, and the rest is counted."""
    done = tmp_path / "done"

    def flood(i):
        for line in range(3_500):
            print(f"line {line} {'.' * 400}")  # noqa: T201
        done.touch()
        return i

    steps = hr.source(range(2), fields="i", gives="int64").map(flood, fields="i", gives="int64", workers=1).failures(time_limit=30)
    told = []
    handler = logging.Handler()
    handler.emit = lambda record: told.append(record.getMessage())
    logger = logging.getLogger("headrace.worker.map")
    logger.addHandler(handler)
    logger.setLevel("INFO")
    try:
        with steps.batch(2).loader(epochs=1) as loader:
            assert within(60, done.exists)
            assert [batch["i"].tolist() for batch in loader] == [[0, 1]]
    finally:
        logger.removeHandler(handler)
        logger.setLevel("NOTSET")
    printed = [text for text in told if text.startswith("line ")]
    dropped = [int(text.split()[0]) for text in told if "messages dropped: the program did not read them in time" in text]
    assert dropped
    assert len(printed) + sum(dropped) == 7_000


def test_a_print_comes_before_the_error(capsys):
    def fail(i):
        print("looking at", i)  # noqa: T201
        raise ValueError(i)

    steps = hr.source(range(2), fields="i", gives="int64").map(fail, fields="i", gives="int64", workers=1).batch(2)
    with steps.loader(epochs=1) as loader:
        with pytest.raises(hr.SampleError):
            next(iter(loader))
        loader.stats()
        assert "looking at 0\n" in capsys.readouterr().out


# The program and its processes.


def test_interrupt_leaves_no_process(pictures, tmp_path):
    program = start_python(
        """
        import os, sys, time
        import headrace as hr

        out = sys.argv[2]
        def slowly(sample):
            open(f"{out}/{os.getpid()}", "w").close()
            time.sleep(0.2)
            return sample

        loader = hr.files(sys.argv[1]).decode_image().center_crop(40).map(slowly, workers=2).batch(2).loader()
        print("begun", flush=True)
        for batch in loader:
            pass
        """,
        pictures,
        tmp_path,
    )
    assert program.stdout.readline() == "begun\n"
    assert within(20, lambda: len(list(tmp_path.iterdir())) >= 2)
    program.send_signal(signal.SIGINT)
    _, shown = program.communicate(timeout=30)
    assert "KeyboardInterrupt" in shown
    pids = [int(path.name) for path in tmp_path.iterdir()]
    assert within(8, lambda: not any(map(running, pids)))


@pytest.mark.parametrize("victim", ["trainer", "engine"])
def test_workers_end_with_whoever_started_them(pictures, tmp_path, victim):
    program = start_python(
        """
        import os, sys, time
        import headrace as hr
        out = sys.argv[2]
        def note(sample):
            open(f"{out}/{os.getpid()}", "w").close()
            time.sleep(0.1)
            return sample
        loader = hr.files(sys.argv[1]).decode_image().center_crop(40).map(note, workers=2).batch(2).loader()
        from headrace._client.engine import manager
        print(manager._shared.pid, flush=True)
        try:
            while True:
                for batch in loader:
                    pass
        except hr.EngineDied:
            time.sleep(60)
        """,
        pictures,
        tmp_path,
    )
    engine = int(program.stdout.readline())
    assert within(20, lambda: len(list(tmp_path.iterdir())) >= 2)
    pids = [int(path.name) for path in tmp_path.iterdir()]
    os.kill(program.pid if victim == "trainer" else engine, signal.SIGKILL)
    assert within(8, lambda: not any(map(running, pids)))
    program.kill()
    program.communicate()


def test_a_program_that_forks(pictures):
    with images(pictures).map(functions.brighter).batch(4).loader(epochs=1) as loader:
        loop = iter(loader)
        first = next(loop)
        pid = os.fork()
        if pid == 0:
            code = 1
            with contextlib.suppress(BaseException):
                try:
                    next(loop)
                except hr.ForkedLoader:
                    code = 0
            os._exit(code)
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
        assert len(first["key"]) + len(names(loop)) == COUNT


# State.


def test_replay_draws_the_same(pictures):
    p = images(pictures, seed=2, shuffle=True).map(functions.noisy, fields="image").batch(3)
    with p.loader(epochs=1) as loader:
        state = loader.state_dict()
        batches = [batch["image"].copy() for batch in loader]
    again = hr.replay(p, state, 4)
    np.testing.assert_array_equal(again.batch["image"], batches[4])
    assert len(again.rows) == 3


def test_an_engine_that_dies_starts_again_with_its_workers(pictures):
    p = images(pictures).map(functions.brighter, workers=2).batch(4)
    with p.loader(epochs=1, on_error="skip") as loader:
        loop = iter(loader)
        got = list(next(loop)["image"].copy())
        os.kill(engine_pid(), signal.SIGKILL)
        with pytest.warns(hr.HeadraceWarning, match="the engine died"):
            got += [image for batch in loop for image in batch["image"].copy()]
    assert_alike([{"image": image} for image in got], [{"image": functions.brighter(s)["image"]} for s in plain(pictures)])


def test_no_worker_starts_without_a_need(pictures):
    done = run_python(
        """
        import os, sys
        import headrace as hr
        with hr.files(sys.argv[1]).decode_image().resize((8, 8)).batch(4).loader(epochs=1) as loader:
            list(loader)
            assert "cloudpickle" not in sys.modules
        """,
        pictures,
    )
    assert done.returncode == 0, done.stderr


def test_the_loop_of_a_script_shows_the_users_line_first(pictures, tmp_path):
    script = tmp_path / "train.py"
    script.write_text(
        """\
import sys
import headrace as hr

def augment(sample):
    return sample["imag"]

for batch in hr.files(sys.argv[1]).decode_image().map(augment, gives={"image": ("uint8", (48, 40, 3))}).batch(4).loader(epochs=1):
    pass
"""
    )
    done = subprocess.run([sys.executable, script, pictures], env=environment_of(), capture_output=True, text=True, timeout=60)
    lines = done.stderr.splitlines()
    assert done.returncode == 1
    assert any(line == "KeyError: 'imag'" for line in lines)
    assert 'return sample["imag"]' in done.stderr
    last = next(line for line in lines if line.startswith("headrace.errors.SampleError: "))
    assert last.startswith("headrace.errors.SampleError: augment (train.py:5): KeyError: 'imag'")
    assert str(Path(hr.__file__).parent / "worker.py") not in done.stderr


def test_children_of_functions_end_with_the_trainer(pictures, tmp_path):
    """Also those that have left the worker's group."""
    program = start_python(
        """
        import os, subprocess, sys, time
        import headrace as hr

        def starts(sample):
            for new in (False, True):
                child = subprocess.Popen(["sleep", "1000"], start_new_session=new)
                print(child.pid, file=open(sys_argv[2], "a"), flush=True)
            time.sleep(1000)

        sys_argv = sys.argv
        with hr.files(sys.argv[1]).map(starts, gives={"x": int}).batch(1).loader(workers=1) as loader:
            next(iter(loader))
        """,
        pictures,
        tmp_path / "pids",
    )
    with program:
        try:
            assert within(60, lambda: (tmp_path / "pids").exists() and len((tmp_path / "pids").read_text().split()) >= 2)
        finally:
            program.kill()
    for pid in map(int, (tmp_path / "pids").read_text().split()):
        assert within(10, lambda pid=pid: not running(pid))


def never(x):
    raise ValueError(f"never {x}")


def test_what_no_sample_told_names_the_first_that_failed():
    """Where losses are skipped, nothing else would."""
    numbers = hr.source(range(1, 6), gives=int, where="here")
    for pipeline, step in [
        (numbers.map(never), "map"),
        (numbers.flat_map(never, where="here"), "flat_map"),
        (numbers.batch(2, collate=never, where="here"), "batch"),
        (numbers.route(lambda x: 0, [lambda p: p.map(never, where="here")], where="here"), "map"),
    ]:
        asked = rf'"{step}\w*" .*no sample came to find it from: set gives\. The first that failed:'
        with pytest.raises(hr.RecipeError, match=asked) as caught:
            pipeline.loader(epochs=1, on_error="skip", max_errors=100)
        assert "ValueError: never " in str(caught.value)
    with pytest.raises(hr.RecipeError, match=r"no sample came to find it from: set gives(?!.*first that failed)"):
        numbers.filter(lambda x: x > 9, where="here").map(never, where="here").loader(epochs=1, on_error="skip")


@pytest.mark.parametrize("new", [False, True])
def test_children_of_functions_end_with_the_engine(new):
    """The kernel ends the workers of an engine that is killed; the program ends what these have started."""

    class Starts:
        def __init__(self):
            self.child = subprocess.Popen(["sleep", "1000"], start_new_session=new)

        def __call__(self, sample):
            return {"pid": self.child.pid}

    with hr.source(list(range(100_000)), fields="n").map(Starts, gives={"pid": int}, workers=2).batch(1).loader() as loader:
        loop = iter(loader)
        pids = {int(next(loop)["pid"][0]) for _ in range(20)}
        os.kill(engine_pid(), signal.SIGKILL)
        with pytest.raises(hr.EngineDied):
            for batch in loop:
                pids.add(int(batch["pid"][0]))
    for pid in pids:
        assert within(20, lambda pid=pid: not running(pid))
