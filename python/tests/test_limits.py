"""The system refuses memory or descriptors."""

from __future__ import annotations

import os
import resource
import shutil
import subprocess
import tempfile

import pytest

from conftest import run_python
from headrace._client.crash import Death, InFlight
from headrace._client.program import find_program

BODY = """
    import resource, sys
    import headrace as hr
    from conftest import pipeline
    kind, value, kept = sys.argv[2], int(sys.argv[3]), sys.argv[4] == "keep"
    {before}
    resource.setrlimit(getattr(resource, kind), (value, resource.getrlimit(getattr(resource, kind))[1]))
    try:
        loader = hr.files(sys.argv[1]).decode_image().resize(512).center_crop(512).batch(2).loader(epochs=None, workers=1)
        held = []
        with loader:
            while len(held) < 200:
                for batch in loader:
                    if kept:
                        held.append(batch)
                    elif loader.state_dict()["epoch"]:
                        raise SystemExit("no limit was met")
    except hr.MemoryRefused as error:
        print(error)
        assert isinstance(error, MemoryError)
"""


@pytest.mark.parametrize(
    ("kind", "value", "kept", "words"),
    [
        ("RLIMIT_FSIZE", 1 << 20, "drop", "ulimit -f"),
        ("RLIMIT_FSIZE", 1000, "drop", "ulimit -f"),
        ("RLIMIT_NOFILE", 8, "drop", "ulimit -n"),
    ],
)
def test_limits(photos, kind, value, kept, words):
    done = run_python(BODY.format(before="import numpy, headrace._loader.loader"), photos, kind, value, kept, PYTHONWARNINGS="ignore")
    assert done.returncode == 0, done.stderr
    assert words in done.stdout, (done.stdout, done.stderr)


def test_address_space_of_the_client(photos):
    done = run_python(
        """
        import sys
        import headrace as hr
        from headrace._client import memory
        memory._mmap = lambda *a: (memory.ctypes.set_errno(12), memory._FAILED)[1]
        with hr.files(sys.argv[1]).decode_image().center_crop(512).batch(2).loader() as loader:
            try:
                next(iter(loader))
            except hr.MemoryRefused as error:
                print(error)
        """,
        photos,
    )
    assert done.returncode == 0, done.stderr
    assert "Cannot allocate memory" in done.stdout
    assert "ulimit -v" in done.stdout


def test_more_batches_are_kept_than_there_are_descriptors(photos):
    done = run_python(
        BODY.format(before="import numpy, headrace._loader.loader"), photos, "RLIMIT_NOFILE", 40, "keep", PYTHONWARNINGS="ignore"
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == ""


def test_a_child_cannot_change_batches_whose_descriptors_were_spared(photos):
    done = run_python(
        """
        import os, resource, signal, sys
        import numpy
        import headrace as hr
        loader = hr.files(sys.argv[1]).decode_image().center_crop(64).batch(2).loader(epochs=None)
        resource.setrlimit(resource.RLIMIT_NOFILE, (40, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
        held = []
        with loader:
            while len(held) < 60:
                held += loader
            before = [batch["image"].copy() for batch in held]
            ends = []
            for batch in (held[0], held[-1]):
                child = os.fork()
                if not child:
                    assert batch["image"].sum() == batch["image"].copy().sum()  # reading is allowed
                    batch["image"][:] = 7
                    os._exit(0)
                ends.append(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
            assert ends == [0, -signal.SIGSEGV], ends
            assert all((a == b["image"]).all() for a, b in zip(before, held))
        """,
        photos,
        PYTHONWARNINGS="ignore",
    )
    assert done.returncode == 0, done.stderr


START = """
    import os, resource, sys
    import headrace as hr
    kind, value, policy = sys.argv[2], int(sys.argv[3]), sys.argv[4]
    pipeline = hr.files(sys.argv[1]).decode_image().resize(64).center_crop(64).batch(2)
    with pipeline.loader(epochs=1) as loader:
        list(loader)  # all is imported, by a user who may
    resource.setrlimit(getattr(resource, kind), (value, value))
    if kind == "RLIMIT_NPROC":
        os.setuid(20_000 + os.getpid() % 40_000)  # whom nobody else uses
    try:
        with pipeline.loader(epochs=1, workers=4, on_error=policy) as loader:
            list(loader)
    except hr.HeadraceError as error:
        print(error)
    else:
        print("no limit was met")
"""


@pytest.fixture
def program_of_all():
    """The engine where another user finds it: folders above the checkout, and of pytest, may be the user's own."""
    if os.getuid() != 0:
        pytest.skip("only root may become another user")
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        yield shutil.copy2(find_program(), folder)


@pytest.mark.parametrize("most", [3, 6, 10])
@pytest.mark.parametrize("command", [["version"], ["run", "none.yaml"]])
def test_the_command_is_refused_threads(program_of_all, command, most):
    """Of Go itself this would be pages of stacks."""

    def limited():
        resource.setrlimit(resource.RLIMIT_NPROC, (most, most))
        os.setuid(20_000 + os.getpid() % 40_000)  # whom nobody else uses

    done = subprocess.run([program_of_all, *command], preexec_fn=limited, cwd="/", capture_output=True, text=True, timeout=60)
    assert done.returncode == 1
    assert done.stderr.startswith(f"headrace: this process may start only {most - 1} of the ")
    assert "ulimit -u unlimited" in done.stderr
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize("policy", ["raise", "skip"])
@pytest.mark.parametrize(
    ("kind", "value", "words"),
    [
        ("RLIMIT_AS", 700 << 20, "700 MiB of address space: raise the limit (ulimit -v unlimited)"),
        ("RLIMIT_AS", 1300 << 20, "1300 MiB of address space: raise the limit (ulimit -v unlimited)"),
        ("RLIMIT_DATA", 100 << 20, "100 MiB of data: raise the limit (ulimit -d unlimited)"),
        ("RLIMIT_NOFILE", 9, "ulimit -n"),
        ("RLIMIT_NPROC", 1, "ulimit -u"),
        ("RLIMIT_NPROC", 4, "4 processes and threads of this user: raise the limit (ulimit -u unlimited)"),
    ],
)
def test_an_engine_that_cannot_start(photos, request, kind, value, words, policy):
    environment = {}
    if kind == "RLIMIT_NPROC":
        environment["HEADRACE_ENGINE"] = request.getfixturevalue("program_of_all")
    done = run_python(START, photos, kind, value, policy, OPENBLAS_NUM_THREADS="1", **environment)
    assert done.returncode == 0, done.stderr
    assert words in done.stdout, (done.stdout, done.stderr)
    assert done.stdout.count("\n") == 1, "a line, and none of Go's pages"
    assert "fatal error" not in done.stderr


@pytest.mark.parametrize(
    ("kind", "value", "words"),
    [
        ("RLIMIT_FSIZE", 100_000, "ulimit -f"),
        ("RLIMIT_AS", 1900 << 20, "ulimit -v"),  # Go's program may start here, and has no room for the memory
        ("RLIMIT_AS", 2300 << 20, "ulimit -v"),
    ],
)
def test_memory_that_workers_share(kind, value, words):
    done = run_python(
        """
        import resource, sys
        import numpy, headrace._loader.loader
        import headrace as hr
        kind, value = getattr(resource, sys.argv[1]), int(sys.argv[2])
        resource.setrlimit(kind, (value, resource.getrlimit(kind)[1]))
        try:
            with hr.source(range(8)).map(abs, workers=1).batch(2).loader(epochs=1, on_error="skip") as loader:
                list(loader)
        except (hr.MemoryRefused, hr.EngineDied) as error:
            print(error)
        """,
        kind,
        value,
        OPENBLAS_NUM_THREADS="1",
    )
    assert done.returncode == 0, done.stderr
    assert words in done.stdout, (done.stdout, done.stderr)


def test_crashes_with_limits_are_still_crashes():
    """A limit explains only what Go says of it; a crash under a generous one keeps its samples."""
    sample = InFlight("a.jpg", 3, 0, 3, 1)
    crash = "SIGSEGV: segmentation violation\nPC=0x1 m=3\nsignal arrived during cgo execution\n\ngoroutine 1:\nheadrace/arena.Of()\n"
    soft, most = resource.getrlimit(resource.RLIMIT_NPROC)
    try:
        resource.setrlimit(resource.RLIMIT_NPROC, (min(100_000, most) if most != resource.RLIM_INFINITY else 100_000, most))
        died = Death(2, crash, [sample]).error(1)
    finally:
        resource.setrlimit(resource.RLIMIT_NPROC, (soft, most))
    assert "'a.jpg'" in str(died)
    assert "ulimit" not in str(died)
