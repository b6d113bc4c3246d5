"""`headrace.Workers`: sets of processes that steps share, or have to themselves."""

from __future__ import annotations

import os
import threading
import time
from functools import partial
from pathlib import Path

import numpy as np
import pytest

import headrace as hr
import in_sets


def numbers(count=64):
    return hr.source([{"n": i} for i in range(count)])


def marked(name):
    return partial(in_sets.mark, name=name)


def run(pipeline, *names, **options):
    """What a step has marked samples with, each kind by itself."""
    with pipeline.loader(epochs=1, **options) as loader:
        batches = list(loader)
    assert [n for batch in batches for n in batch["n"].tolist()] == list(range(64))
    return [tuple({row[i] for batch in batches for row in batch[name].tolist()} for i in range(3)) for name in names]


def test_steps_share_a_set_or_stay_apart():
    one = hr.Workers(processes=2, initializer=partial(in_sets.begin, 7), env={"OF_THE_SET": "3"})
    other = hr.Workers(processes=1)
    pipeline = numbers().map(marked("a"), where=one).map(marked("b"), where=other).map(marked("c"), where=one).map(marked("d")).batch(8)
    a, b, c, d = run(pipeline, "a", "b", "c", "d", workers=2)
    assert len(a[0] | c[0]) <= 2
    assert len(b[0]) == 1
    assert not (a[0] | c[0]) & b[0]
    assert not (a[0] | b[0] | c[0]) & d[0]
    assert a[1:] == c[1:] == ({7}, {3})
    assert b[1:] == d[1:] == ({0}, {0})


def test_threads_of_processes():
    pool = hr.Workers(processes=2, threads=3)
    with numbers(200).map(in_sets.thread, fields="n", to="where", where=pool).batch(8).loader(epochs=1) as loader:
        rows = [row for batch in loader for row in batch["where"].tolist()]
        (function,) = [function for function in loader.stats()["functions"] if function["stage"] == "map"]
    assert len(function["pids"]) == 2
    assert {pid for pid, _, _ in rows} <= set(function["pids"])
    assert 2 < len({(pid, thread) for pid, thread, _ in rows}) <= 6
    assert max(beside for _, _, beside in rows) <= 3


@pytest.mark.parametrize("workers", [1, 2])
def test_workers_of_a_step_bound_its_calls(workers):
    pool = hr.Workers(processes=1, threads=4)
    pipeline = numbers().map(in_sets.thread, fields="n", to="where", where=pool, workers=workers).batch(8)
    with pipeline.loader(epochs=1) as loader:
        assert max(beside for batch in loader for _, _, beside in batch["where"].tolist()) == workers


def test_steps_behind_batch_and_batches_of_functions():
    pool = hr.Workers(processes=1)
    pipeline = numbers().batch(8, collate=in_sets.stacked, where=pool).map(in_sets.with_pid, where=pool).unbatch()
    with pipeline.map(in_sets.same_pid, where=pool).batch(4).loader(epochs=1) as loader:
        assert [batch["same"].all() for batch in loader] == [True] * 16


# Several loaders.


def pids(loader):
    return {pid for function in loader.stats()["functions"] if function["stage"] != "source" for pid in function["pids"]}


def soon(true, seconds=20):
    """Wait until something is so."""
    until = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < until
        time.sleep(0.02)


def gone(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    return False


def test_loaders_share_a_set():
    pool = hr.Workers(processes=2, initializer=partial(in_sets.begin, 7))
    first = numbers().map(marked("a"), where=pool).batch(8)
    second = numbers().map(marked("b"), where=pool).map(in_sets.double, where=pool, workers=1).batch(4)
    with first.loader() as train, second.loader() as val:
        for _ in range(3):
            batches = list(zip(train, val))  # turn by turn
            assert [n for a, _ in batches for n in a["n"].tolist()] == list(range(64))
            assert [n for _, b in batches for n in b["n"].tolist()] == list(range(0, 64, 2))
            assert {tuple(row[1:]) for a, b in batches for row in (*a["a"].tolist(), *b["b"].tolist())} == {(7, 0)}
            for _ in val:
                pass
        shared = pids(train)
        assert len(shared) == 2
        assert pids(val) <= shared
    soon(lambda: all(map(gone, shared)))
    with first.loader() as train:
        assert not pids(train) & shared


def test_a_loader_that_leaves_is_forgotten(tmp_path):
    pool = hr.Workers(processes=1, threads=2)
    stays = numbers(100_000).map(in_sets.mappings, where=pool).batch(8)
    with stays.loader() as loader:
        batches = iter(loader)
        before = next(batches)
        for i in range(5):
            log = str(tmp_path / f"{i}")
            with (
                numbers()
                .map(in_sets.Closing(log), where=pool)
                .map(partial(in_sets.double_async), where=pool)
                .map(in_sets.ClosingAsync(log + "a"), where=pool, workers=2)
                .batch(8)
                .loader(epochs=1) as other
            ):
                assert [n for batch in other for n in batch["n"].tolist()] == list(range(0, 128, 2))
                assert pids(other) == {before["pid"][0]}
            for name in (log, log + "a"):
                # Calls are made meanwhile, after which the worker looks at what it is to forget.
                soon(lambda name=name: next(batches) and os.path.exists(name) and Path(name).read_text() == "closed\n")
        for _ in range(20):
            after = next(batches)
        assert set(after["pid"].tolist()) == set(before["pid"].tolist())
        # The batches of the loader that goes on may have come meanwhile.
        assert after["mappings"].max() <= before["mappings"].max() + 2


def test_hooks_are_of_one_loader():
    pool = hr.Workers(processes=1)
    hook = in_sets.Counts()
    with numbers().map(marked("a"), where=pool).batch(8).loader(epochs=1) as one:
        batches = iter(one)
        first = next(batches)
        with numbers().map(in_sets.hooked, where=pool).batch(8).loader(epochs=1, hooks=[hook]) as other:
            assert sorted(n for batch in other for n in batch["calls"].tolist()) == list(range(1, 65))
        rest = [n for batch in batches for n in batch["n"].tolist()]
    assert [*first["n"].tolist(), *rest] == list(range(64))


def test_a_death_costs_another_loader_nothing(tmp_path):
    pool = hr.Workers(processes=1, env={"DIED": str(tmp_path / "died")})
    with numbers().map(marked("a"), where=pool).batch(8).loader(epochs=1) as one:
        batches = iter(one)
        first = next(batches)["a"][0, 0]
        with numbers().map(in_sets.dies_once, where=pool).batch(8).loader(epochs=1) as other:
            assert [n for batch in other for n in batch["n"].tolist()] == list(range(64))
            assert pids(other) == pids(one) != {first}
        assert [n for batch in batches for n in batch["n"].tolist()] == list(range(8, 64))


def test_a_function_that_cannot_be_loaded_is_one_loaders(tmp_path):
    pool = hr.Workers(processes=1)
    with numbers().map(marked("a"), where=pool).batch(8).loader(epochs=1) as one:
        batches = iter(one)
        next(batches)
        with pytest.raises(hr.HeadraceError, match="cannot begin"):
            run(numbers().map(in_sets.CannotBegin, where=pool).batch(8))
        assert [n for batch in batches for n in batch["n"].tolist()] == list(range(8, 64))


def test_modules_of_a_path_that_came_later(tmp_path, monkeypatch):
    pool = hr.Workers(processes=1)
    with numbers().map(marked("a"), where=pool).batch(8).loader(epochs=1) as one:
        next(iter(one))
        (tmp_path / "came_later.py").write_text("def negative(n):\n    return -n\n")
        monkeypatch.syspath_prepend(tmp_path)
        from came_later import negative

        with numbers().map(negative, fields="n", where=pool).batch(8).loader(epochs=1) as other:
            assert [n for batch in other for n in batch["n"].tolist()] == list(range(0, -64, -1))


def test_what_workers_say_is_heard_while_loaders_come_and_go(capfd):
    pool = hr.Workers(processes=1)
    with numbers().filter(in_sets.says, where=pool).batch(8).loader(epochs=1) as other:
        with numbers().map(marked("a"), where=pool).batch(8).loader(epochs=1) as one:
            assert len(list(one)) == 8
        assert len(list(other)) == 8
    assert {f"sample {n}" for n in range(64)} <= set(capfd.readouterr().out.splitlines())


def test_adjacent_steps_hand_on_any_objects():
    pool = hr.Workers(processes=2)
    pipeline = numbers().map(lambda s: {**s, "lock": threading.Lock()}, where=pool).map(lambda s: {"n": s["n"]}, where=pool).batch(8)
    assert run(pipeline) == []


def test_a_dead_worker_is_replaced_with_all_that_it_had(tmp_path):
    pool = hr.Workers(processes=1, initializer=partial(in_sets.begin, 5), env={"DIED": str(tmp_path / "died")})
    pipeline = numbers().map(marked("a"), where=pool).map(in_sets.dies_once, where=pool).batch(8)
    ((pids, begun, _),) = run(pipeline, "a")
    assert len(pids) == 2
    assert begun == {5}


# What goes wrong.


@pytest.mark.parametrize("gives", [None, {"n": "int64", "a": ("int64", 3)}])
@pytest.mark.parametrize("steps", [1, 2])
def test_an_initializer_that_raises(steps, gives):
    pool = hr.Workers(processes=2, initializer=in_sets.fails)
    pipeline = numbers().map(marked("a"), where=pool, gives=gives)
    if steps == 2:
        pipeline = pipeline.map(marked("a"), where=pool, workers=1, gives=gives)
    with pytest.raises(hr.HeadraceError, match=r"fails \(in_sets\.py:\d+\): LookupError: no table"):
        run(pipeline.batch(8))


def test_workers_that_die_as_they_begin():
    pool = hr.Workers(processes=2, initializer=in_sets.dies)
    with pytest.raises(hr.HeadraceError, match="have ended before their first sample; the last one ended with status 7"):
        run(numbers().map(marked("a"), where=pool).batch(8))


def test_what_is_refused():
    lock = threading.Lock()
    with pytest.raises(hr.RecipeError, match=r"cannot be sent to workers: .*lock"):
        numbers().map(marked("a"), where=hr.Workers(initializer=lambda: lock)).batch(8).loader()
    for wrong, text in (
        (lambda: hr.Workers(0), "processes is 0: must be from 1 to 256"),
        (lambda: hr.Workers(threads=1000), "threads is 1000: must be from 1 to 256"),
        (lambda: hr.Workers(initializer=3), "initializer is 3: must be a function without arguments"),
        (lambda: hr.Workers(initializer=in_sets.begin), "missing a required argument: 'value': it is called without arguments"),
        (lambda: hr.Workers(env={"A": 1}), "env has 'A': 1: must be names and values of text"),
        (lambda: numbers().flat_map(marked("a"), where=hr.Workers()), "cannot share it"),
        (lambda: numbers().map(marked("a"), where=hr.Workers(threads=2), seed="random"), "threads share the generators"),
        (lambda: hr.files("*").map(in_sets.same_pid, where=hr.Workers()).batch(8).recipe(), "cannot have hr.Workers in it"),
    ):
        with pytest.raises(hr.RecipeError, match=text):
            wrong()
    assert repr(hr.Workers(processes=2, threads=3)) == "Workers(processes=2, threads=3)"


def test_a_recipe_of_a_pipeline_can_be_seen():
    assert "Workers(processes=2)" in repr(numbers().map(np.negative, fields="n", where=hr.Workers(processes=2)).batch(8))


def test_a_file_has_no_sets(tmp_path):
    file = tmp_path / "r.yaml"
    file.write_text(
        'headrace: 1\nsteps:\n  - source: {function: "in_sets:x", length: 4}\n  - map: {function: "in_sets:y", where: "set:1"}\n'
        "  - batch: {size: 4}\n"
    )
    with pytest.raises(hr.HeadraceError, match="names workers that no program has described"):
        hr.load(file).loader()
