"""Steps that share worker processes: one set for all that say nothing, one process for threads."""

import logging
import os
import signal
import sys
import threading
import time

import pytest

import headrace as hr


def numbers(count):
    return hr.source([{"n": i} for i in range(count)])


def pids(loader):
    return {function["stage"]: set(function["pids"]) for function in loader.stats()["functions"]}


def test_steps_share_their_processes():
    def first(s):
        return {**s, "a": os.getpid()}

    def second(s):
        return {**s, "b": os.getpid()}

    def third(s):
        return {**s, "c": os.getpid()}

    with numbers(200).map(first).map(second).map(third).batch(10).loader(epochs=1, workers=2) as loader:
        rows = [tuple(int(x) for x in row) for batch in loader for row in zip(batch["a"], batch["b"], batch["c"])]
        of_steps = pids(loader)
    used = {pid for row in rows for pid in row}
    assert len(rows) == 200
    assert len(used) <= 2
    assert set(of_steps) == {"source", "map", "map_2", "map_3"}
    assert all(used <= those for those in of_steps.values())


def test_a_step_that_says_workers_has_its_own():
    def first(s):
        return {**s, "a": os.getpid()}

    def second(s):
        return {**s, "b": os.getpid()}

    with numbers(60).map(first).map(second, workers=1).batch(10).loader(epochs=1, workers=2) as loader:
        rows = [tuple(int(x) for x in row) for batch in loader for row in zip(batch["a"], batch["b"])]
    assert len({b for _, b in rows}) == 1
    assert not {a for a, _ in rows} & {b for _, b in rows}


def test_threads_share_one_process_and_keep_their_numbers():
    """Each step has threads of its own: no more of its calls run at once than it has."""

    def slow(s):
        with lock:
            here.append(1)
            most.append(len(here))
        time.sleep(0.002)
        with lock:
            here.pop()
        return {"n": s["n"], "most": max(most), "pid": os.getpid()}

    def after(s):
        return {**s, "other": os.getpid()}

    # The lists are made again where the function is called: in the worker.
    lock, here, most = _Lock(), [], []
    pipeline = numbers(200).map(slow, where="thread", workers=3).map(after, where="thread", workers=2).batch(20)
    with pipeline.loader(epochs=1, workers=2) as loader:
        batches = list(loader)
    assert max(int(b["most"].max()) for b in batches) == 3
    assert len({int(p) for b in batches for p in (*b["pid"], *b["other"])}) == 1


class _Lock:
    """A lock that can be pickled."""

    def __init__(self):
        self.lock = threading.Lock()

    def __reduce__(self):
        return _Lock, ()

    def __enter__(self):
        return self.lock.__enter__()

    def __exit__(self, *error):
        return self.lock.__exit__(*error)


def test_what_is_said_names_its_step(caplog):
    def first(s):
        print("printed by first", s["n"])  # noqa: T201
        print("and again", file=sys.stderr)  # noqa: T201
        return s

    def second(s):
        print("printed by second", s["n"])  # noqa: T201
        logging.getLogger("mine").warning("logged by second %d", s["n"])
        return s

    caplog.set_level(logging.INFO)
    with numbers(40).map(first).map(second).batch(10).loader(epochs=1, workers=2) as loader:
        list(loader)
    said = {}
    for record in caplog.records:
        if record.name.startswith("headrace.worker."):
            said.setdefault(record.getMessage().rstrip("0123456789 "), set()).add(record.name.removeprefix("headrace.worker."))
    assert said == {"printed by first": {"map"}, "and again": {"map"}, "printed by second": {"map_2"}, "logged by second": {"map_2"}}


@pytest.mark.parametrize("end", ["exit", "kill"])
def test_a_death_costs_other_steps_nothing(end):
    def deadly(s):
        if s["n"] == 13:
            if end == "kill":
                os.kill(os.getpid(), signal.SIGKILL)
            os._exit(3)
        return s

    def after(s):
        return {"n": s["n"] + 1000}

    pipeline = numbers(100).map(deadly).map(after).batch(10)
    with pipeline.loader(epochs=1, workers=2, on_error="skip", max_errors=3) as loader:
        got = [int(n) for batch in loader for n in batch["n"]]
        assert [lost.stage for lost in loader.errors] == ["source+map+map_2+batch"]
    assert got == [1000 + n for n in range(100) if n != 13]


def test_a_time_limit_is_the_steps_own():
    def hangs(s):
        if s["n"] == 7:
            time.sleep(60)
        return s

    def slow(s):
        time.sleep(0.01)
        return s

    pipeline = numbers(40).map(hangs).failures(time_limit=1.5).map(slow).batch(10)
    with pipeline.loader(epochs=1, workers=2, on_error="skip", max_errors=3) as loader:
        got = [int(n) for batch in loader for n in batch["n"]]
        assert len(loader.errors) == 1
    assert got == [n for n in range(40) if n != 7]


@pytest.mark.parametrize("where", ["process", "thread"])
@pytest.mark.parametrize("workers", [1, 5])
def test_so_many_calls_of_an_async_function_run_at_once(where, workers):
    async def slow(s):
        import asyncio

        here.append(1)
        most.append(len(here))
        await asyncio.sleep(0.001 * (s["n"] % 3))
        here.pop()
        return {"n": s["n"], "most": max(most), "pid": os.getpid()}

    here, most = [], []  # made again where the function is called
    with numbers(100).map(slow, where=where, workers=workers).batch(20).loader(epochs=1) as loader:
        batches = list(loader)
    assert [int(n) for b in batches for n in b["n"]] == list(range(100))
    assert max(int(b["most"].max()) for b in batches) == workers
    assert len({int(p) for b in batches for p in b["pid"]}) == 1


class Broken:
    """A class whose objects cannot be made."""

    def __init__(self):
        raise RuntimeError("no licence")

    def __call__(self, s):
        return s


def test_a_function_that_cannot_be_loaded_is_named():
    def fine(s):
        return {"n": s["n"]}

    gives = {"n": "int64"}
    pipeline = numbers(10).map(fine, gives=gives).map(Broken, gives=gives).batch(2)
    with pytest.raises(hr.HeadraceError, match="no licence"), pipeline.loader(epochs=1) as loader:
        list(loader)


def test_the_number_of_workers_of_a_step_changes_while_others_work():
    def first(s):
        return {**s, "a": os.getpid()}

    def second(s):
        return {**s, "b": os.getpid()}

    with numbers(400).map(first).map(second).batch(10).loader(epochs=2, workers=2) as loader:
        stages = list(pids(loader))
        for epoch in range(2):
            got = []
            for i, batch in enumerate(loader):
                got += [int(n) for n in batch["n"]]
                if i == 5:
                    loader.set_workers(3 if epoch == 0 else 1, stage=stages[-1])
            assert got == list(range(400))


def test_functions_are_tried_in_the_processes_of_the_run(tmp_path):
    """Without `gives`, one sample goes through all functions before the others, where these go."""
    told = str(tmp_path / "told")

    def tell(step):
        with open(told, "a") as file:
            file.write(f"{step} {os.getpid()}\n")

    def first(s):
        tell("first")
        return {"n": s["n"], "x": s["n"] * 2}

    def second(s):
        tell("second")
        return {"n": s["n"], "y": s["x"] + 1}

    with numbers(50).map(first).map(second).batch(10).loader(epochs=1, workers=2) as loader:
        assert [int(y) for batch in loader for y in batch["y"]] == [2 * n + 1 for n in range(50)]
        of_the_run = set().union(*pids(loader).values())
    with open(told) as file:
        calls = [line.split() for line in file]
    assert {int(pid) for _, pid in calls} <= of_the_run
    assert [sum(step == name for step, _ in calls) for name in ("first", "second")] == [50, 50]
