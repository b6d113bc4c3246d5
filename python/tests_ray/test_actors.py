"""Calls of a step that actors of a real Ray make: results are those of a run without."""

from __future__ import annotations

import os
import pathlib
import time

import numpy as np
import pytest
import ray

import headrace as hr

LIST = [np.full(4, n, np.float32) for n in range(40)]


@pytest.fixture(scope="module", autouse=True)
def node():
    """A cluster of one node that says that it has two GPUs: Ray names its own to each actor, and nothing here uses one."""
    os.environ["RAY_AUTH_MODE"] = "disabled"
    here = os.pathsep.join([os.path.dirname(__file__), os.environ.get("PYTHONPATH", "")])
    for left in (2, 1, 0):  # under load a raylet may not start in time, which says nothing of us
        try:
            ray.init(num_cpus=3, num_gpus=2, log_to_driver=False, include_dashboard=False, runtime_env={"env_vars": {"PYTHONPATH": here}})
            break
        except Exception:
            ray.shutdown()
            if not left:
                raise
    yield
    ray.shutdown()


class Model:
    """Says where it is, and which object it is."""

    def __init__(self):
        self.calls = 0
        self.made = time.monotonic_ns()

    def __call__(self, batch):
        self.calls += 1
        batch["x"] += 1  # what it is given is its own
        time.sleep(0.05)
        gpu = int(os.environ["CUDA_VISIBLE_DEVICES"])
        rows = len(batch["x"])
        return {"x": batch["x"] * 2, "process": np.full(rows, os.getpid()), "gpu": np.full(rows, gpu), "made": np.full(rows, self.made)}


class Ends:
    def __init__(self):
        self.folder = pathlib.Path(os.environ["HOME"])

    def __call__(self, x):
        self.path = str(x)
        return x

    def close(self):
        pathlib.Path(self.path).touch()


def plain(x):
    return (x + 1) * 2


def fails_at_3(x):
    if x[0] == 3:
        raise ValueError("bad 3")
    return x


def dies_once(x, marker):
    if x[0] == 3 and not os.path.exists(marker):
        pathlib.Path(marker).touch()
        os._exit(1)
    return x


def dies_at_3(x):
    if x[0] == 3:
        os._exit(1)
    return x


class Epochs:
    def set_epoch(self, epoch):
        self.epoch = epoch

    def __call__(self, x):
        return x


def of(executor, function, **options):
    return hr.source(LIST, fields="x").shuffle(seed=2).map(function, fields="x", where=executor, **options).batch(4)


def test_a_model_is_made_once_on_each_actor():
    whole = hr.source(LIST, fields="x").shuffle(seed=2)
    with hr.ray.actors(2, gpus=1) as models, whole.batch(4).map(Model, where=models).loader(epochs=2) as loader:
        got = [batch for _ in range(2) for batch in loader]
    with whole.map(plain, fields="x").batch(4).loader(epochs=2) as loader:
        want = [batch["x"] for _ in range(2) for batch in loader]
    assert len(got) == len(want) == 20
    for one, other in zip(got, want):
        np.testing.assert_array_equal(one["x"], other)
    seen = {(int(p), int(g), int(m)) for b in got for p, g, m in zip(b["process"], b["gpu"], b["made"])}
    assert len(seen) == 2
    assert {gpu for _, gpu, _ in seen} == {0, 1}
    assert os.getpid() not in {process for process, _, _ in seen}


def test_objects_end_with_their_actors(tmp_path):
    one = tmp_path / "closed"
    with hr.ray.actors(1) as pool, hr.source([str(one)]).map(Ends, where=pool).batch(1).loader(epochs=1) as loader:
        assert len(list(loader)) == 1
        assert not one.exists()
    assert one.exists()
    words = r"takes no calls: RuntimeError: its actors were ended by shutdown\(\)"
    over = hr.source([1]).map(abs, where=pool).batch(1)
    with pytest.raises(hr.errors.ExecutorFailed, match=words), over.loader(epochs=1) as loader:
        list(loader)


def test_what_a_function_raises_is_raised():
    with hr.ray.actors(1) as pool:
        with of(pool, fails_at_3).loader(epochs=1) as loader, pytest.raises(hr.errors.SampleError, match="bad 3") as raised:
            list(loader)
        assert "fails_at_3" in str(raised.value.__cause__)  # the traceback of the actor
        with of(pool, fails_at_3).loader(epochs=1, on_error="skip") as loader:
            assert sum(len(batch["x"]) for batch in loader) == 39


def test_an_actor_that_dies_loses_nothing(tmp_path):
    marker = str(tmp_path / "died")
    with hr.ray.actors(1) as pool, of(pool, lambda x: dies_once(x, marker)).loader(epochs=1) as loader:
        got = [batch["x"] for batch in loader]
    with hr.source(LIST, fields="x").shuffle(seed=2).batch(4).loader(epochs=1) as loader:
        want = [batch["x"] for batch in loader]
    np.testing.assert_array_equal(got, want)
    assert os.path.exists(marker)


def test_a_sample_that_ends_every_actor_is_a_bad_one():
    with hr.ray.actors(1) as pool, of(pool, dies_at_3, workers=1).loader(epochs=1, on_error="skip") as loader:
        kept = np.concatenate([batch["x"][:, 0] for batch in loader])
    assert sorted(kept) == [n for n in range(40) if n != 3]


def test_a_cluster_without_room_is_said(monkeypatch):
    monkeypatch.setattr("headrace.ray.pool._SILENT", 0.3)
    words = r"0 of 1 actors have begun after 0 s: each needs gpus=8 and cpus=1, and the cluster has .* of 2 GPUs free, .* of 3 cores free"
    with hr.ray.actors(gpus=8) as pool, pytest.warns(hr.HeadraceWarning, match=words):
        pool._look.join(20)


def test_nonsense_is_refused():
    for wrong in ({"n": 0}, {"gpus": -1}, {"cpus": -1}):
        with pytest.raises(hr.errors.RecipeError, match="must be at least 1 actor, and 0 of each"):
            hr.ray.actors(**wrong)
    with hr.ray.actors() as pool, pytest.raises(hr.errors.RecipeError, match=r"Epochs has set_epoch\(\)"):
        list(hr.source(LIST, fields="x").map(Epochs, fields="x", where=pool).batch(4).loader(epochs=1))
