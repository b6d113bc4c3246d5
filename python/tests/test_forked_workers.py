"""Workers are forked from one process that has imported their modules, unless an import leaves something that a fork would share."""

from __future__ import annotations

import inspect
import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import headrace as hr
from conftest import engine_pid, running, within

# What the module of the functions begins with. `IMPORTED` has a line for each process that imports it.
BEGINNING = """
import os, random, sys, time
import numpy as np
with open({imported!r}, "a") as file:
    file.write(f"{{os.getpid()}}\\n")
HERE = os.getpid() != {program}
"""

FUNCTIONS = """
def look(sample):
    time.sleep(0.05)
    return {"pid": os.getpid(), "parent": os.getppid(), "numbers": np.array([random.random(), np.random.random(), rng.random()])}

def dies_once(sample):
    try:
        os.close(os.open(f"{sys.modules[__name__].__file__}.died", os.O_CREAT | os.O_EXCL))
    except FileExistsError:
        return look(sample)
    os._exit(7)

class rng:
    random = staticmethod(lambda: 0.0)

FD = "/proc/self/fd/"

def state(sample):
    import ctypes, gc, resource, signal, threading, json
    death = ctypes.c_int()
    ctypes.CDLL(None).prctl(2, ctypes.byref(death))
    where = lambda fd: "".join(c for c in os.readlink(FD + fd) if not c.isdigit())
    return {"said": json.dumps({
        "descriptors": {fd: [where(fd), os.get_inheritable(int(fd))] for fd in os.listdir("/proc/self/fd") if os.path.exists(FD + fd)},
        "signals": {s.name: str(signal.getsignal(s)).split(" at ")[0] for s in signal.Signals},
        "blocked": sorted(signal.pthread_sigmask(signal.SIG_BLOCK, [])),
        "group": os.getpgid(0) == os.getpid(), "session": os.getsid(0), "death": death.value, "argv": sys.argv, "path": sys.path,
        "environment": {name: value for name, value in os.environ.items() if name != "HEADRACE_WORKER_OF"}, "folder": os.getcwd(),
        "threads": sorted(t.name for t in threading.enumerate() if not t.name.startswith("headrace")), "collects": gc.isenabled(),
        "limits": [resource.getrlimit(n) for n in range(16)], "main": sorted(vars(sys.modules["__main__"])), "umask": os.umask(0o22),
    }, sort_keys=True)}
"""


GIVES = {"pid": "int64", "parent": "int64", "numbers": ("float64", 3)}


class Module:
    """A module of the user's, that is imported here and in workers."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.folder = folder
        self.monkeypatch = monkeypatch
        self.imported = folder / "imported"

    def write(self, more: str = "", name: str = "forked_functions"):
        text = BEGINNING.format(imported=str(self.imported), program=os.getpid())
        (self.folder / f"{name}.py").write_text(text + FUNCTIONS + more)
        self.monkeypatch.syspath_prepend(self.folder)
        self.monkeypatch.delitem(sys.modules, name, raising=False)
        module = __import__(name)
        self.monkeypatch.setitem(sys.modules, name, module)
        return module

    def importers(self) -> list[int]:
        """The processes that have imported it, but for this one."""
        pids = list(map(int, self.imported.read_text().split()))
        return [pid for pid in pids if pid != os.getpid()]


@pytest.fixture
def module(tmp_path, monkeypatch):
    return Module(tmp_path, monkeypatch)


def run(function, count=24, workers=3, **options):
    """The results, and what statistics say of why workers were not forked."""
    pipeline = hr.source([{"n": i} for i in range(count)]).map(function, workers=workers, **options).batch(1)
    with pipeline.loader(epochs=1) as loader:
        batches = [{name: list(value) if name == "said" else np.array(value) for name, value in batch.items()} for batch in loader]
        (spawned,) = {f.get("spawned") for f in loader.stats()["functions"] if f["stage"] == "map"}
    assert len(batches) == count
    return batches, spawned


def pids(batches, name="pid") -> set[int]:
    return {int(batch[name][0]) for batch in batches}


def test_one_process_imports_for_all(module):
    batches, spawned = run(module.write().look)
    assert spawned is None
    assert len(pids(batches)) == 3
    (server,) = module.importers()
    assert pids(batches, "parent") == {server}
    for i in range(2):  # no two workers draw the same
        assert len({float(batch["numbers"][0][i]) for batch in batches}) == len(batches)
    assert not any(map(running, [server, *pids(batches)]))


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("import threading\nif HERE: threading.Thread(target=time.sleep, args=[3], daemon=True).start()", "starts a thread"),
        ("import subprocess\nif HERE: child = subprocess.Popen(['sleep', '3'])", "starts a process"),
        ("if HERE: r, w = os.pipe()", r"leaves a file or socket open \(pipe:"),
        ("import mmap\nif HERE: shared = mmap.mmap(-1, 4096)", "maps shared memory"),
        ("import signal\nif HERE: signal.signal(signal.SIGCHLD, signal.SIG_IGN)", "ignores SIGCHLD"),
        ("if HERE: np.random.seed(7)", "seeds a global generator of random numbers"),
        ("if HERE: random.seed(7)", "seeds a global generator of random numbers"),
        ("rng = np.random.default_rng()", r"makes a generator of random numbers \(forked_functions.rng\)"),
        ("rng = random.Random()", r"makes a generator of random numbers \(forked_functions.rng\)"),
    ],
    ids=["thread", "process", "descriptor", "memory", "SIGCHLD", "numpy", "random", "Generator", "Random"],
)
def test_what_a_fork_would_share_has_workers_started_one_by_one(module, text, why):
    batches, spawned = run(module.write(text).look, 6, 2)
    assert spawned is not None
    assert re.fullmatch(f"importing forked_functions {why}.*", spawned)
    assert pids(batches) < set(module.importers())  # and the one that was to fork them


def test_a_forked_worker_is_like_one_that_was_started_by_itself(module):
    one, other = module.write(), module.write("if HERE: os.pipe2(os.O_CLOEXEC)\n", name="started")
    forked, no_reason = run(one.state, gives={"said": "text"})
    started, reason = run(other.state, gives={"said": "text"})
    assert no_reason is None
    assert reason is not None
    (a,), (b,) = ({text for batch in batches for text in batch["said"]} for batches in (forked, started))
    a, b = json.loads(a), json.loads(b)
    for fd in set(b["descriptors"]) - set(a["descriptors"]):
        assert b["descriptors"].pop(fd)[0].startswith("pipe:")  # that the module has left
    assert a == b


def test_workers_may_use_headrace_themselves(photos):
    def width(sample):
        return {"width": hr.io.load_image(sample["key"]).shape[1]}

    paths = sorted(path for path in photos.rglob("*") if path.is_file())[:4]
    with hr.files(paths).map(width, gives={"width": "int64"}, workers=2).batch(4).loader(epochs=1) as loader:
        (batch,) = loader
    for got, path in zip(batch["width"], paths, strict=True):
        with Image.open(path) as image:
            assert got == image.width


def test_a_worker_that_dies_is_forked_again(module):
    batches, spawned = run(module.write().dies_once, gives=GIVES)
    assert spawned is None
    (server,) = module.importers()
    assert pids(batches, "parent") == {server}


# In the process that forks, the calls of a function of os go wrong that `wrong` names by their numbers.
FAULTS = """
import errno
if HERE:
    NUMBER, REAL, PARENT = 0, os.{name}, os.getpid()
    def faulty(*arguments):
        global NUMBER
        if os.getpid() != PARENT:
            return REAL(*arguments)
        NUMBER += 1
        if not {wrong}(NUMBER):
            return REAL(*arguments)
        {fault}
    os.{name} = faulty
"""
NOT_AGAIN = 'raise BlockingIOError(errno.EAGAIN, "Resource temporarily unavailable")'
NO_DESCRIPTOR = 'raise OSError(errno.EMFILE, "Too many open files")'
DIES_AT_ONCE = "return REAL() or os._exit(3)"
SOMETIMES = "(1, 3).__contains__"


def children(pid: int) -> set[int]:
    return {int(child) for task in Path(f"/proc/{pid}/task").iterdir() for child in (task / "children").read_text().split()}


@pytest.mark.parametrize(
    ("name", "fault"),
    [("fork", NOT_AGAIN), ("pidfd_open", NO_DESCRIPTOR), ("fork", DIES_AT_ONCE)],
    ids=["no process", "no descriptor", "dies at once"],
)
def test_a_fork_that_goes_wrong_is_tried_again(module, name, fault):
    """A process or descriptor may be there a little later, and a worker that has been given no sample costs none."""
    look = module.write(FAULTS.format(name=name, wrong=SOMETIMES, fault=fault)).look
    with hr.source([{"n": i} for i in range(24)]).map(look, gives=GIVES, workers=3).batch(1).loader(epochs=None) as loader:
        batches = [{name: array.copy() for name, array in batch.items()} for batch in loader]
        (server,) = pids(batches, "parent")
        known = lambda: {pid for function in loader.stats()["functions"] for pid in function["pids"]}  # noqa: E731
        assert within(30, lambda: children(server) == known()), "nothing is left of those that went wrong"
        assert len(pids(batches)) == 3
        assert not list(loader.errors)
    assert len(batches) == 24


@pytest.mark.parametrize(
    ("fault", "words"),
    [(NOT_AGAIN, r"no worker of map can start[\s\S]*ulimit -u"), (DIES_AT_ONCE, "status 3")],
    ids=["no process", "dies at once"],
)
@pytest.mark.parametrize("on_error", ["raise", "skip"])
def test_a_fork_that_always_goes_wrong_ends_the_run(module, fault, words, on_error):
    look = module.write(FAULTS.format(name="fork", wrong="bool", fault=fault)).look
    pipeline = hr.source([{"n": i} for i in range(24)], where="here").map(look, gives=GIVES, workers=3).batch(1)
    with pytest.raises(hr.HeadraceError, match=words):
        with pipeline.loader(epochs=1, on_error=on_error) as loader:
            list(loader)


def test_workers_outlive_the_process_that_forked_them_as_others(module):
    """It is killed, and its workers with it: others take their place, and nothing is lost."""
    pipeline = hr.source([{"n": i} for i in range(60)]).map(module.write().look, workers=2).batch(1)
    with pipeline.loader(epochs=1) as loader:
        batches, engine = [], engine_pid()
        for batch in loader:
            batches.append({name: array.copy() for name, array in batch.items()})
            if len(batches) == 5:
                os.kill(int(batch["parent"][0]), signal.SIGKILL)
        (function,) = (f for f in loader.stats()["functions"] if f["stage"] == "map")
    assert len(batches) == 60
    assert function["spawned"] == "the process that forked them has ended"
    assert int(batches[-1]["parent"][0]) == engine


def test_workers_end_with_the_engine(module):
    pipeline = hr.source([{"n": i} for i in range(1000)]).map(module.write().look, workers=2).batch(1)
    with pipeline.loader(epochs=1) as loader:
        loop = iter(loader)
        processes = set()
        for _ in range(8):
            batch = next(loop)
            processes |= {int(batch["pid"][0]), int(batch["parent"][0])}
        os.kill(engine_pid(), signal.SIGKILL)
        assert within(10, lambda: not any(map(running, processes)))
        with pytest.raises(hr.EngineDied):
            list(loop)


@pytest.mark.parametrize("text", ["os._exit(3)", "os.kill(os.getpid(), 11)", "raise SystemExit(4)", "raise LookupError('no table')"])
def test_an_import_that_fails_in_workers(module, text):
    """The message is the one of a worker, wherever it failed first."""
    function = module.write(f"if HERE: {text}\n").look
    expected = {"os": "ended before their first sample", "raise S": "SystemExit: 4", "raise L": "LookupError: no table"}
    with pytest.raises(hr.HeadraceError, match=next(said for how, said in expected.items() if text.startswith(how))):
        run(function, gives={"pid": "int64", "parent": "int64", "numbers": ("float64", 3)})


def test_a_loader_is_closed_while_an_import_hangs(module):
    function = module.write("if HERE: time.sleep(1000)\n").look
    gives = {"pid": "int64", "parent": "int64", "numbers": ("float64", 3)}
    with hr.source([{"n": 1}], where="here").map(function, gives=gives).batch(1).loader(epochs=1):
        assert within(60, module.importers)
        engine, began = engine_pid(), time.monotonic()
    assert time.monotonic() - began < 12  # after 15 s the client would have killed the engine
    assert within(10, lambda: not any(map(running, [engine, *module.importers()])))


def test_an_initializer_is_called_before_modules_of_functions_are_imported(module):
    functions = module.write("FIRST = os.environ.get('SET_BY_INITIALIZER')\ndef first(s): return {'first': FIRST or ''}\n")

    def initializer():
        import os

        os.environ["SET_BY_INITIALIZER"] = "yes"

    pipeline = hr.source([{"n": i} for i in range(8)]).map(functions.first, where=hr.Workers(2, initializer=initializer)).batch(4)
    with pipeline.loader(epochs=1) as loader:
        assert {text for batch in loader for text in batch["first"]} == {"yes"}


def test_what_is_registered_for_the_end_is_done_by_each_worker(module, tmp_path):
    text = f"import atexit\natexit.register(lambda: HERE and open(f{str(tmp_path / 'end-{os.getpid()}')!r}, 'w').close())\n"
    batches, spawned = run(module.write(text).look)
    assert spawned is None
    ended = {path.name for path in tmp_path.glob("end-*")}
    assert ended >= {f"end-{pid}" for pid in pids(batches)}
    assert f"end-{module.importers()[0]}" not in ended


def of_numbers(n):
    return {"n": n, "half": n / 2, "even": n % 2 == 0, "text": str(n), "numpy": "numpy" in sys.modules}


def test_workers_without_arrays_do_without_numpy(tmp_path):
    """Numbers and texts need none, whether it is said what they are or found out; what they are is the same as with NumPy."""
    (tmp_path / "plain_numbers.py").write_text("import sys\n\n\n" + inspect.getsource(of_numbers))
    code = """
import json, sys
import headrace as hr
import plain_numbers
kinds = {"n": int, "half": float, "even": bool, "text": str, "numpy": bool}
for gives in None, kinds, {**kinds, "n": "uint16", "half": "float32"}:
    step = hr.source(range(100)).map(plain_numbers.of_numbers, workers=2, **({"gives": gives} if gives else {}))
    with step.batch(10).loader(epochs=1) as loader:
        batches = [{name: list(batch[name]) for name in kinds} for batch in loader]
    print(json.dumps(batches, default=lambda value: value.item()))
"""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), *sys.path])}
    run = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    for line in run.stdout.splitlines():
        batches = json.loads(line)
        assert len(batches) == 10
        for k, batch in enumerate(batches):
            numbers = range(10 * k, 10 * k + 10)
            assert batch == {
                "n": list(numbers), "half": [n / 2 for n in numbers], "even": [n % 2 == 0 for n in numbers],
                "text": list(map(str, numbers)), "numpy": [False] * 10,
            }  # fmt: skip
    assert len(run.stdout.splitlines()) == 3


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("import numpy.random\nnumpy.random.random()", None),
        ("import numpy.random as r\nif HERE: r.set_state(('MT19937', [7] * 624, 3))", "seeds a global generator of random numbers"),
    ],
    ids=["drawn", "set"],
)
def test_numpys_generator_is_watched_from_when_it_is_imported(module, text, why):
    batches, spawned = run(module.write(text).look, 12, 3)
    assert spawned == (why and f"importing forked_functions {why}")
    for i in range(2 if why is None else 0):
        assert len({float(batch["numbers"][0][i]) for batch in batches}) == len(batches)
