"""What a run says would make it faster, and workers that find their number."""

import json
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import headrace as hr
from conftest import run_python

CHANGES = {"more workers", "more cores", "faster step", "in the engine", "fewer bytes", "more read-ahead", "faster loop"}


def wait(n):
    time.sleep(0.02)
    return n


def numbers(**options):
    return hr.source(range(100_000)).map(wait, gives=int, **options).batch(4)


def loop(seconds, **options):
    """Iterate a loader that tunes itself for so long, or until it has changed something."""
    seen, until = [], time.monotonic() + seconds
    with numbers(**options).loader(epochs=1, tune=True) as loader:
        for batch in loader:
            seen += batch.tolist()
            if len(seen) % 40 == 0 and (loader.stats().get("tuned") or time.monotonic() > until):
                break
        stats = loader.stats()
        within = next(function["within"] for function in stats["functions"] if function["stage"] == "map")
        workers = next(stage["workers"] for stage in stats["stages"] if stage["name"] == within)
        return seen, workers, stats, loader.tuning()


def test_workers_of_a_function_that_waits():
    """Only a function has its workers changed that does not say how many it has."""
    with ThreadPoolExecutor() as threads:
        tuned, given, here = threads.map(lambda each: loop(*each[:1], **each[1]), [(60, {}), (5, {"workers": 1}), (5, {"where": "here"})])
    seen, workers, stats, settings = tuned
    if "tuned" not in stats:  # more workers do not help while other programs have all cores
        assert "Other programs use" in stats["verdict"]
        return
    change = stats["tuned"][0]
    assert change["to"] > change["from"] >= 1
    assert workers == (change["to"] if change["kept"] else change["from"])
    assert settings == ({change["stage"]: workers} if change["kept"] else {})
    assert seen == list(range(len(seen)))
    assert "tuned: " in str(stats)
    for seen, workers, stats, settings in given, here:
        assert (workers, stats.get("tuned"), settings) == (1, None, {})
        assert seen == list(range(len(seen)))


def test_advice_of_a_function_that_limits():
    with numbers(workers=1).loader(epochs=1) as loader:
        began = time.monotonic()
        for _ in loader:
            assert loader.stats()["advice"] == [] or time.monotonic() - began > 2
            if time.monotonic() - began > 2.6:
                break
        stats = loader.stats()
    advice = stats["advice"]
    assert {gain["change"] for gain in advice} <= CHANGES
    assert [gain["rate"] for gain in advice] == sorted((gain["rate"] for gain in advice), reverse=True)
    workers = next((gain for gain in advice if gain["change"] == "more workers"), None)
    if workers is None:  # as above
        assert "Other programs use" in stats["verdict"]
        return
    assert workers["from"] == 1
    assert workers["to"] > 1
    assert 0 < workers["least"] <= workers["rate"] <= workers["most"]
    assert workers["text"] in " ".join(str(stats).split())


ADVISED = """
import json, sys, time
import headrace as hr

def wait(n):
    time.sleep(0.02)
    return n

workers = json.loads(sys.argv[1])
with hr.source(range(1_000_000)).map(wait, gives=int, workers=1).batch(4).loader(epochs=1) as loader:
    for stage, n in workers.items():
        loader.set_workers(n, stage)
    before, began = None, time.monotonic()
    for _ in loader:
        if before is None and time.monotonic() - began > 1.5:
            before = loader.stats()
        if time.monotonic() - began > 5:
            break
    print(json.dumps(loader.stats(since=before)))
"""


def advised(workers):
    """The statistics of a run, as JSON alone."""
    return json.loads(run_python(ADVISED, json.dumps(workers)).stdout)


def rate(stats):
    """Samples a second."""
    return stats["stages"][-1]["in"] / (stats["loop_ns"] / 1e9)


def test_a_script_applies_the_first_advice_and_gets_the_gain():
    """From JSON to JSON: nothing but what `headrace schema stats` describes. Rates are compared with each other alone."""
    before = advised({})
    first = next((gain for gain in before["advice"] if "to" in gain), None)  # the others have to be programmed
    if first is None:  # more workers do not help while other programs have all cores
        assert "Other programs use" in before["verdict"]
        return
    assert first["change"] == "more workers"
    after = advised({first["stage"]: first["to"]})
    assert first["least"] > 1.5 * rate(before)
    assert 0.9 * first["least"] <= rate(after) <= 1.1 * first["most"]


def test_tune_is_true_or_false():
    with pytest.raises(hr.RecipeError, match="tune"):
        numbers().loader(tune=np.ones(2))
