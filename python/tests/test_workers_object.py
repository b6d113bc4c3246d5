"""`headrace.Workers`: sets of processes that steps share, or have to themselves."""

from __future__ import annotations

import threading
from functools import partial

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


def test_two_loaders_have_processes_of_their_own():
    pool = hr.Workers(processes=1, initializer=partial(in_sets.begin, 1))
    pipeline = numbers().map(marked("a"), where=pool).batch(8)
    one, other = run(pipeline, "a"), run(pipeline, "a")
    assert not one[0][0] & other[0][0]


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
        (lambda: hr.Workers(0), "processes is 0: takes 1 to 256"),
        (lambda: hr.Workers(threads=1000), "threads is 1000: takes 1 to 256"),
        (lambda: hr.Workers(initializer=3), "initializer is 3: takes a function without arguments"),
        (lambda: hr.Workers(initializer=in_sets.begin), "missing a required argument: 'value': it is called without arguments"),
        (lambda: hr.Workers(env={"A": 1}), "env has 'A': 1: takes names and values of text"),
        (lambda: numbers().flat_map(marked("a"), where=hr.Workers()), "flat_map shares none"),
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
