"""What importing modules in workers takes is counted, shared between loaders of a program, and said where it is more than the calls."""

from __future__ import annotations

import math
import os
import re
import subprocess
import sys
import warnings

import numpy as np
import pytest

import headrace as hr
from conftest import SOURCES
from headrace._loader import imports

MODULE = """
import os, time
with open({imported!r}, "a") as file:
    file.write(f"{{os.getpid()}}\\n")
end = time.process_time() + {seconds}
while os.getpid() != {program} and time.process_time() < end:  # it takes this much of CPU time
    pass
class Numbers:
    def __len__(self):
        return 8
    def __getitem__(self, i):
        return {{"n": i}}
def double(sample):
    return {{"n": 2 * sample["n"] + {add}, "parent": os.getppid()}}
"""


@pytest.fixture
def module(tmp_path, monkeypatch):
    """Writes the module of the functions, and imports it here."""
    monkeypatch.setattr(imports, "_warned", False)
    monkeypatch.syspath_prepend(tmp_path)

    def write(seconds=0.05, add=0):
        text = MODULE.format(imported=str(tmp_path / "imported"), program=os.getpid(), seconds=seconds, add=add)
        (tmp_path / "slow_import.py").write_text(text)
        sys.modules.pop("slow_import", None)
        return __import__("slow_import").double

    yield write
    sys.modules.pop("slow_import", None)


def importers(tmp_path):
    return [pid for pid in (tmp_path / "imported").read_text().split() if int(pid) != os.getpid()]


def pipeline(function, **options):
    return hr.source([{"n": i} for i in range(8)], where="here").map(function, **options).batch(4)


def numbers(loader):
    return [int(n) for batch in loader for n in batch["n"]]


def test_loaders_of_one_program_share_imports(module, tmp_path):
    function = module(0)
    with pipeline(function).loader(epochs=1) as train, pipeline(function).loader(epochs=1) as val:
        assert numbers(train) == numbers(val) == list(range(0, 16, 2))
        first, second = (next(f for f in loader.stats()["functions"] if f["stage"] == "map") for loader in (train, val))
    assert len(importers(tmp_path)) == 1
    assert "slow_import" in first["imported"]
    assert "imported" not in second
    with pipeline(function).loader(epochs=1) as later:  # the process has ended with the last of them
        numbers(later)
    assert len(importers(tmp_path)) == 2


def test_modules_that_every_python_has_make_no_difference(module, tmp_path):
    """A function that uses more of Python itself or of NumPy has nothing imported again."""
    function = module(0)

    def others(sample):
        return {"n": np.int64(math.floor(function(sample)["n"])), "parent": 0}

    with pipeline(function).loader(epochs=1) as train, pipeline(others).loader(epochs=1) as val:
        assert numbers(train) == numbers(val) == list(range(0, 16, 2))
        assert "spawned" not in str(val.stats()["functions"])
    assert len(importers(tmp_path)) == 1


def test_steps_of_one_worker_share_imports(module, tmp_path):
    """The worker of the source, which is forked first, would import what map needs."""
    with hr.source([{"n": i} for i in range(8)]).map(module()).batch(4).loader(epochs=1) as loader:
        assert numbers(loader) == list(range(0, 16, 2))
        assert sum(f.get("import_cpu_ns", 0) for f in loader.stats()["functions"]) > 20_000_000
    assert len(importers(tmp_path)) == 1


def test_a_module_that_was_changed_is_imported_again(module, tmp_path):
    with pipeline(module(0)).loader(epochs=1) as before:
        assert numbers(before) == list(range(0, 16, 2))
        with pipeline(module(0, add=1000)).loader(epochs=1) as after:
            assert numbers(after) == list(range(1000, 1016, 2))
    assert len(importers(tmp_path)) == 2


def test_another_environment_imports_again(module, tmp_path, monkeypatch):
    function = module(0)
    with pipeline(function).loader(epochs=1) as one:
        monkeypatch.setenv("SLOW_IMPORT", "1")
        with pipeline(function).loader(epochs=1) as other:
            assert numbers(one) == numbers(other)
    assert len(importers(tmp_path)) == 2


@pytest.mark.parametrize("closed", [False, True], ids=["at the end", "when closed"])
def test_imports_that_take_more_than_all_calls_are_said(module, monkeypatch, closed):
    monkeypatch.setattr(imports, "_LEAST", 20_000_000)
    module()
    dataset = sys.modules["slow_import"].Numbers()
    loader = hr.source(dataset).batch(4).loader(epochs=None if closed else 1)
    said = r'importing slow_import for workers took .* source\(…, where="here"\)'
    if closed:
        for _ in loader:
            pass
        with pytest.warns(hr.HeadraceWarning, match=said):
            loader.close()
    else:
        with pytest.warns(hr.HeadraceWarning, match=said):
            numbers(loader)
        loader.close()
    functions = loader.stats()["functions"]
    assert sum(f.get("import_cpu_ns", 0) for f in functions) > 20_000_000
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        imports.warn_if_costly(functions, ["map"])  # once in a program


def slow(sample):
    import time

    time.sleep(0.1)
    return sample


def collated(samples):
    return {"n": [sample["n"] for sample in samples]}


def halves(value):
    return value


def test_nothing_is_said_where_calls_take_longer(module, monkeypatch):
    monkeypatch.setattr(imports, "_LEAST", 20_000_000)
    function = module()
    samples = hr.source([{"n": i} for i in range(2)])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with samples.map(lambda s: slow(function(s))).batch(2).loader(epochs=1) as loader:
            list(loader)


def test_steps_whose_place_nobody_has_chosen(module):
    """No process starts for this."""
    usual = hr.source([1, 2]).batch(2)
    assert imports.movable(usual._steps) == ["source"]
    here = hr.source([1, 2], where="here")
    assert imports.movable(here._steps) == []
    plain = hr.files("somewhere")
    assert imports.movable(plain.batch(2)._steps) == []
    for name, step in {
        "map": plain.map(halves),
        "filter": plain.filter(halves),
        "flat_map": plain.flat_map(halves),
        "batch": plain.batch(2, collate=collated),
    }.items():
        assert imports.movable(step._steps) == [name]
    assert imports.movable(plain.map(halves).map(halves, where="process")._steps) == []
    assert imports.movable(plain.map(halves).map(halves, seed=["random"])._steps) == []
    assert imports.movable(plain.map(halves, where="process").map(halves)._steps) == []
    assert imports.movable(plain.route(halves, [lambda p: p.map(halves), lambda p: p])._steps) == ["map"]
    assert imports.movable(plain.route("key", [("*", lambda p: p.map(halves, where="thread")), lambda p: p.filter(halves)])._steps) == []
    merged = hr.mix([hr.source([1]), hr.source([2]).filter(halves)], weights=[1, 1])
    assert imports.movable(merged._steps) == ["source", "filter"]


def test_explain_says_where_functions_are_called_and_what_it_costs(module, tmp_path):
    module()
    (tmp_path / "train.py").write_text(
        "import headrace as hr, slow_import\n"
        "with hr.source(slow_import.Numbers()).map(slow_import.double).batch(4).loader() as loader:\n"
        "    while True:\n"
        "        for batch in loader: pass\n"
    )
    command = [sys.executable, "-m", "headrace._loader.explain", "--batches", "5", "train.py"]
    environment = {**os.environ, "PYTHONPATH": str(SOURCES)}
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=60, check=True)
    said = r"source and map are called in \d worker process(es)?, by default: importing slow_import there took \d\.\d s of CPU, the calls "
    said += r'\d\.\d s until now\. With where="here" your program makes the calls, without this import\.'
    assert re.search(said, " ".join(done.stdout.split())), done.stdout


def test_places_of_functions_in_words(module):
    function = module(0)
    with hr.source([{"n": 1}] * 8, where="here").map(function, where="process").batch(4).loader(epochs=1) as loader:
        running = loader.stats()["functions"]
        list(loader)
        ended = [{**function, "pids": []} for function in running]
    for functions in (running, ended):
        said = imports.explained(functions, [])
        assert re.search(r"map is called in (\d )?worker process", said)
        assert "by default" not in said
        assert said.endswith("source is called by your program.")
    assert imports.explained([], []) == ""
