"""What importing costs, and what the package shows."""

from __future__ import annotations

import inspect
import pickle
import sysconfig

import pytest

import headrace as hr
from conftest import run_python


def test_import_loads_no_numpy_and_starts_nothing():
    done = run_python(
        """
        import sys, os
        before = set(os.listdir("/proc/self/fd"))
        import headrace
        heavy = {"numpy", "torch", "json", "socket", "subprocess", "typing", "dataclasses", "ctypes", "asyncio"} & set(sys.modules)
        assert not heavy - given, heavy
        assert set(os.listdir("/proc/self/fd")) == before
        headrace.files("x").decode_image().batch(2)
        assert "numpy" not in sys.modules
        assert not open(f"/proc/self/task/{os.getpid()}/children").read()
    """.replace("before =", "given = set(sys.modules); before =", 1)
    )
    assert done.returncode == 0, done.stderr


def test_the_engine_starts_before_numpy_is_imported(photos):
    done = run_python(
        """
        import os, sys
        import headrace as hr
        seen = []
        spawn = os.posix_spawn
        def watched(*a, **k):
            seen.append("numpy" in sys.modules)
            return spawn(*a, **k)
        os.posix_spawn = watched
        with hr.files(sys.argv[1]).decode_image().resize(32).center_crop(32).batch(4).loader(epochs=1) as loader:
            assert len(list(loader)) == 12
        assert seen == [False], seen
        """,
        photos,
    )
    assert done.returncode == 0, done.stderr


def test_opening_a_loader_passes_few_files(photos):
    """One who reads what `loader()` does, opens these files, and comes back to one of them this often."""
    done = run_python(
        """
        import os, sys
        import headrace as hr
        pipeline = hr.files(sys.argv[1]).decode_image().resize([8, 8]).batch(4)
        inside, way = os.path.dirname(hr.__file__), []
        def called(frame, event, _):
            name = frame.f_code.co_filename
            if event == "call" and name.startswith(inside) and way[-1:] != [name]:
                way.append(name)
        sys.setprofile(called)
        loader = pipeline.loader(epochs=1)
        sys.setprofile(None)
        loader.close()
        files = {os.path.relpath(name, inside) for name in way}
        assert "_loader/loader.py" in files and "_client/engine.py" in files, files
        print(len(files), len(way) - len(files), sorted(files))
    """,
        photos,
    )
    assert done.returncode == 0, done.stderr
    files, returns = map(int, done.stdout.split()[:2])
    assert files <= 25, done.stdout
    assert returns <= 40, done.stdout


def test_every_public_name_is_there_and_documented():
    for name in hr.__all__:
        value = getattr(hr, name)
        if name == "__version__":
            continue
        assert inspect.getdoc(value), name
        if inspect.isclass(value):
            for member, what in vars(value).items():
                if not member.startswith("_") and (inspect.isfunction(what) or isinstance(what, property)):
                    if member in ("after_fork",):
                        continue
                    assert inspect.getdoc(what), f"{name}.{member}"
    assert set(hr.__all__) <= set(dir(hr))


def test_what_is_public_says_so():
    """Where a class or function is within the package is nobody's business: not of a traceback, a pickle or a recipe."""
    for module in (hr, hr.io):
        for name in getattr(module, "__all__", ("Npz", "Share", "load_npy", "load_npz")):
            value = getattr(module, name)
            if name != "__version__":
                assert value.__module__ in ("headrace", "headrace.errors", "headrace.io", "headrace.pipeline"), name
                assert pickle.loads(pickle.dumps(value)) is value
    told = hr.Field("tensor", "uint8", (2, None))
    assert pickle.loads(pickle.dumps(told)) == told
    assert repr(hr.Stats).startswith("<class 'headrace.Stats'")
    assert '"headrace.io:load_npy"' in hr.files("x").map(hr.io.load_npy, fields="bytes", to="array").batch(2).recipe()


def test_unknown_names_are_refused():
    assert not hasattr(hr, "nothing_of_the_kind")


@pytest.mark.skipif(not sysconfig.get_config_var("Py_GIL_DISABLED"), reason="this Python has a GIL; scripts/pythons.sh runs those without")
def test_the_gil_stays_off():
    """In the program and in workers, whatever of the package is imported."""
    done = run_python(
        """
        import os, sys, warnings
        if "PYTHON_GIL" in os.environ:  # which would keep it off for us
            del os.environ["PYTHON_GIL"]
            os.execv(sys.executable, [sys.executable, "-W", "error", *sys.orig_argv[1:]])
        import pkgutil, headrace as hr
        for module in pkgutil.walk_packages(hr.__path__, "headrace."):
            if not {"__main__", "torch", "planes"} & set(module.name.split(".")):
                __import__(module.name)
        assert not sys._is_gil_enabled()
        on = lambda n: int(sys._is_gil_enabled())
        for place in ("process", "thread", "here"):
            with hr.source(range(8)).map(on, where=place, gives=int).batch(4).loader(epochs=1) as loader:
                assert not sum(map(sum, loader)), place
    """
    )
    assert done.returncode == 0, done.stderr
