"""Statistics beside the curves of a training: what is written; scripts/test_trackers.sh has the real programs."""

from __future__ import annotations

import sys
import types

import pytest

import headrace as hr


class Writer:
    """Keeps what a SummaryWriter is given."""

    def __init__(self):
        self.scalars = []

    def add_scalar(self, tag, value, step):
        self.scalars.append((tag, value, step))


def numbers():
    return hr.source(range(400)).map(lambda x: x, gives=int).batch(10)


def test_what_is_written():
    writer = Writer()
    with numbers().loader(epochs=1, hooks=[hr.log.tensorboard(writer)], every=60) as loader:
        assert sum(1 for _ in loader) == 40
        names = [stage["name"].replace("+", "_") for stage in loader.stats()["stages"]]
    values = {tag: value for tag, value, _ in writer.scalars}
    assert len(values) == len(writer.scalars)
    assert {step for _, _, step in writer.scalars} == {40}
    assert values["headrace/batches_per_second"] > 0
    assert 0 <= values["headrace/wait_share"] <= 1
    for name in names:
        shares = [values.get(f"headrace/stage/{name}/{clock}", 0) for clock in ("starved", "busy", "blocked", "gated", "queued")]
        assert sum(shares) == pytest.approx(1)
        assert values[f"headrace/stage/{name}/lost"] == 0
    assert values["headrace/memory_bytes"] >= 0


def test_numbers_are_of_the_interval():
    """What was before the last time counts no more."""
    writer = Writer()
    hook = hr.log.tensorboard(writer)
    before = {
        "elapsed_ns": 10**9,
        "yielded": 10,
        "loop_ns": 10**9,
        "waited_ns": 10**9,
        "stages": [{"name": "map", "starved_ns": 5, "busy_ns": 5, "blocked_ns": 0, "gated_ns": 0, "lost": 0}],
        "memory": {"used": 1},
        "resources": {"processes": [{"name": "engine", "user_ns": 10**9, "system_ns": 0, "ended_ns": 0}]},
    }
    after = {
        **before,
        "elapsed_ns": 3 * 10**9,
        "yielded": 50,
        "loop_ns": 3 * 10**9,
        "waited_ns": 10**9 + 5 * 10**8,
        "stages": [{"name": "map", "starved_ns": 5, "busy_ns": 8, "blocked_ns": 1, "gated_ns": 0, "queued_ns": 4, "lost": 3}],
        "resources": {"processes": [{"name": "engine", "user_ns": 4 * 10**9, "system_ns": 0, "ended_ns": 0}]},
    }
    hook.stats(before)
    writer.scalars.clear()
    hook.stats(after)
    values = {tag: value for tag, value, _ in writer.scalars}
    assert values == {
        "headrace/batches_per_second": 20,
        "headrace/wait_share": 0.25,
        "headrace/stage/map/starved": 0,
        "headrace/stage/map/busy": 0.375,
        "headrace/stage/map/blocked": 0.125,
        "headrace/stage/map/gated": 0,
        "headrace/stage/map/queued": 0.5,
        "headrace/stage/map/lost": 3,
        "headrace/memory_bytes": 1,
        "headrace/cores": 1.5,
    }
    writer.scalars.clear()
    hook.stats(after)
    assert not writer.scalars  # no time has passed
    hook.stats({**after, "elapsed_ns": 4 * 10**9, "loop_ns": 4 * 10**9, "waited_ns": 2 * 10**9, "main_ns": 3 * 10**8})
    shares = {tag: value for tag, value, _ in writer.scalars if tag.endswith("_share")}
    assert shares == pytest.approx({"headrace/wait_share": 0.2, "headrace/main_share": 0.3})  # own steps are not waits


def test_a_writer_that_raises_is_a_warning():
    class Full(Writer):
        def add_scalar(self, tag, value, step):
            raise OSError("the disk is full")

    with pytest.warns(hr.HeadraceWarning, match="the disk is full"):
        with numbers().loader(epochs=1, hooks=[hr.log.tensorboard(Full())], every=60) as loader:
            assert sum(1 for _ in loader) == 40


def test_what_is_no_writer():
    with pytest.raises(hr.WrongValue, match=r"log.tensorboard\(\) got a str, which has no add_scalar\(\): must be a SummaryWriter"):
        hr.log.tensorboard("runs")
    with pytest.raises(hr.WrongValue, match=r"log.wandb\(\) got a NoneType, which has no log\(\): must be what wandb.init\(\) returns"):
        hr.log.wandb(None)


def test_no_active_run(monkeypatch):
    """Its real library is in the tests of scripts/test_trackers.sh; here it only has to say that there is none."""
    monkeypatch.setitem(sys.modules, "mlflow", types.SimpleNamespace(active_run=lambda: None))
    with pytest.raises(hr.WrongValue, match=r"finds no active run: call mlflow.start_run\(\) before, or give run_id="):
        hr.log.mlflow()
