"""The system refuses memory or descriptors."""

from __future__ import annotations

import pytest

from conftest import run_python

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
    done = run_python(BODY.format(before="import numpy, headrace._loader"), photos, kind, value, kept, PYTHONWARNINGS="ignore")
    assert done.returncode == 0, done.stderr
    assert words in done.stdout, (done.stdout, done.stderr)


def test_address_space_of_the_client(photos):
    done = run_python(
        """
        import sys
        import headrace as hr
        from headrace import _memory
        _memory._mmap = lambda *a: (_memory.ctypes.set_errno(12), _memory._FAILED)[1]
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
    done = run_python(BODY.format(before="import numpy, headrace._loader"), photos, "RLIMIT_NOFILE", 40, "keep", PYTHONWARNINGS="ignore")
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
