"""Hooks: around the functions of a pipeline, with its statistics, for one loader or for all of a process."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import json
import logging
import os
import subprocess
import sys
import textwrap
import threading
import time

import numpy as np
import pytest

import headrace as hr
from conftest import SOURCES

LONG = 60  # seconds: what takes so long hangs


@pytest.fixture(autouse=True)
def nothing_is_left():
    yield
    gc.collect()
    until = time.monotonic() + LONG
    while (left := [t for t in threading.enumerate() if t.name.startswith("headrace")]) and time.monotonic() < until:
        time.sleep(0.01)
    assert not left


class Notes:
    """Writes what happens into a file, whatever process it happens in."""

    def __init__(self, path):
        self.path = str(path)
        self.calls = 0

    def write(self, **line):
        with open(self.path, "a") as file:
            file.write(json.dumps(line | {"pid": os.getpid(), "hook": id(self)}) + "\n")

    def stage(self, step):
        self.write(stage=step, at="begin")
        yield
        self.write(stage=step, at="end")

    def call(self, call):
        self.calls += 1
        args = [plain(one) for one in call.args]
        try:
            yield
        except BaseException as error:
            self.write(call=call.step, args=args, raised=type(error).__name__)
            raise
        self.write(call=call.step, args=args, result=plain(call.result))


class AsyncNotes(Notes):
    """The same with coroutines."""

    async def stage(self, step):
        await asyncio.sleep(0)
        self.write(stage=step, at="begin")
        yield
        await asyncio.sleep(0)
        self.write(stage=step, at="end")

    async def call(self, call):
        args = [plain(one) for one in call.args]
        await asyncio.sleep(0)
        yield
        await asyncio.sleep(0)
        self.write(call=call.step, args=args, result=plain(call.result))


def plain(value):
    if isinstance(value, dict):
        return {name: plain(one) for name, one in value.items() if name != "key"}
    if isinstance(value, (list, tuple)):
        return [plain(one) for one in value]
    return value.tolist() if hasattr(value, "tolist") else value


def lines(path):
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def calls(path, step):
    """What a step was given and has returned, once for each: functions that say nothing of their results may be tried."""
    told = {(json.dumps(line["args"]), json.dumps(line.get("result"))) for line in lines(path) if line.get("call") == step}
    return [(json.loads(args), json.loads(result)) for args, result in sorted(told)]


def numbers(count=4):
    return hr.source([{"n": i} for i in range(count)])


def double(n):
    return 2 * n


def kept(n):
    return True


async def later(n):
    await asyncio.sleep(0.001)
    return n + 1


def twice(sample):
    yield {"n": sample["n"]}
    yield {"n": -sample["n"]}


def values(pipeline, hooks=(), **options):
    with pipeline.loader(epochs=1, hooks=hooks, **options) as loader:
        return [n for batch in loader for n in np.asarray(batch["n"]).tolist()]


PLACES = ["process", "thread", "here", hr.Workers(processes=1, threads=2)]
KINDS = [Notes, AsyncNotes]


@pytest.mark.parametrize("where", PLACES, ids=str)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("function", [double, later])
def test_a_hook_is_around_each_call_where_the_function_is(tmp_path, where, kind, function):
    notes = kind(tmp_path / "notes")
    result = [0, 2, 4, 6] if function is double else [1, 2, 3, 4]
    pipeline = numbers().map(function, fields="n", where=where).batch(2)
    assert values(pipeline, [notes]) == result == values(pipeline)

    path = tmp_path / "notes"
    assert calls(path, "map") == [([i], result[i]) for i in range(4)]
    assert calls(path, "source") == [([i], {"n": i}) for i in range(4)]
    told = [line for line in lines(path) if line.get("call") == "map" or line.get("stage") == "map"]
    assert {line["pid"] == os.getpid() for line in told} == {where == "here"}
    for pid in {line["pid"] for line in told}:
        own = [line for line in told if line["pid"] == pid]
        assert [line["at"] for line in own if "at" in line] == ["begin", "end"], "once in each process"
        assert "at" in own[-1]
        assert "at" in own[0], "before all calls"
        assert len({line["hook"] for line in lines(path) if line["pid"] == pid}) == 1, "one for all its steps and threads"


def test_a_hook_of_a_loader_is_around_what_only_this_process_has(tmp_path):
    lock = threading.Lock()  # which cannot be pickled

    class Seen:
        def __init__(self):
            self.seen = []

        def call(self, call):
            with lock:
                self.seen.append((call.step, plain(call.args)))

    seen = Seen()
    pipeline = hr.files([str(SOURCES / "headrace" / "py.typed")] * 3).map(lambda s: {"n": len(s["key"])}, where="here").batch(2)
    values(pipeline.map(lambda batch: batch, where="main").map(double, fields="n", where="main"), [seen])
    assert sorted(step for step, _ in seen.seen) == ["main"] * 2 + ["main_2"] * 2 + ["map"] * 3


@pytest.mark.parametrize("kind", KINDS)
def test_the_functions_of_a_chain_are_told_apart(tmp_path, kind):
    """A chain in which one is async runs in an event loop, with the others and their hooks."""
    for workers in ({}, {"workers": 2}):
        path = tmp_path / f"notes{len(workers)}"
        pipeline = numbers().map(double, fields="n", **workers).map(later, fields="n", **workers).filter(kept, fields="n", **workers)
        assert values(pipeline.batch(2), [kind(path)]) == [1, 3, 5, 7]
        assert calls(path, "map") == [([i], 2 * i) for i in range(4)]
        assert calls(path, "map_2") == [([2 * i], 2 * i + 1) for i in range(4)]
        assert calls(path, "filter") == [([2 * i + 1], True) for i in range(4)]


@pytest.mark.parametrize("kind", KINDS)
def test_it_is_around_each_step_of_what_makes_several_samples(tmp_path, kind):
    path = tmp_path / "notes"
    assert values(numbers(2).flat_map(twice).batch(2), [kind(path)]) == [0, 0, 1, -1]
    for i in range(2):
        told = [line["result"] for line in lines(path) if line.get("call") == "flat_map" and line["args"] == [{"n": i}]]
        assert told[-3:] == [{"n": i}, {"n": -i}, None]

    path = tmp_path / "source"
    pipeline = hr.source(lambda: ({"n": i} for i in range(3)), gives={"n": int}).batch(3)
    assert values(pipeline, [kind(path)]) == [0, 1, 2]
    assert [line["result"] for line in lines(path) if line.get("call") == "source"] == [{"n": 0}, {"n": 1}, {"n": 2}, None]


class Pairs:
    def __init__(self):
        self.held = []

    def accumulate(self, n):
        self.held.append(n)
        if len(self.held) == 2:
            held, self.held = self.held, []
            return {"n": sum(held)}
        return None

    def flush(self):
        return None


def total(samples):
    return {"n": np.array([sum(int(s["n"]) for s in samples)])}


def test_aggregators_and_functions_of_batches_have_it(tmp_path):
    path = tmp_path / "notes"
    assert values(numbers().aggregate(Pairs, fields="n", gives={"n": int}).batch(2), [Notes(path)]) == [1, 5]
    assert ([3], {"n": 5}) in calls(path, "aggregate")
    assert ([], None) in calls(path, "aggregate"), "flush()"
    assert values(numbers().batch(2, collate=total), [Notes(path)]) == [1, 5]
    assert ([[{"n": 2}, {"n": 3}]], {"n": [5]}) in calls(path, "batch")


STEPS = "steps: [{source: {function: functions:Numbers, length: 3}}, {map: {function: functions:same}}, {batch: {size: 3}}]\n"


def test_imported_functions_of_a_recipe_have_it(tmp_path):
    recipe = tmp_path / "recipe.yaml"
    recipe.write_text("headrace: 1\n" + STEPS)
    with hr.load(recipe).loader(epochs=1, hooks=[Notes(tmp_path / "notes")]) as loader:
        (batch,) = loader
    assert batch["n"].tolist() == [0, 1, 2]
    assert calls(tmp_path / "notes", "map") == [([{"n": i}], {"n": i}) for i in range(3)]


def noisy(sample, rng, out=None):
    out["x"][:] = rng.normal(size=4) + sample["n"]
    return out


@pytest.mark.parametrize("where", ["process", "here"])
def test_hooks_change_nothing(tmp_path, where):
    def rows(hooks):
        pipeline = numbers(20).shuffle().map(noisy, gives={"x": ("float64", (4,))}, where=where).batch(4)
        with pipeline.loader(epochs=1, hooks=hooks) as loader:
            return np.concatenate([batch["x"] for batch in loader])

    assert (rows([Notes(tmp_path / "a"), AsyncNotes(tmp_path / "b")]) == rows([])).all()


class Ordered:
    def __init__(self, name, path):
        self.name, self.path = name, path

    @contextlib.contextmanager
    def call(self, call):
        self.write(f"{self.name} before")
        try:
            yield
        finally:
            self.write(f"{self.name} after")

    def write(self, text):
        with open(self.path, "a") as file:
            file.write(text + "\n")


class Plain(Ordered):
    """Its method returns nothing: it is called before."""

    def call(self, call):
        self.write(f"{self.name} called")


class Coroutine(Ordered):
    async def call(self, call):
        await asyncio.sleep(0)
        self.write(f"{self.name} awaited")


@pytest.mark.parametrize("where", ["process", "here"])
def test_the_first_is_the_outermost(tmp_path, where):
    path = tmp_path / "order"
    hooks = [Ordered("a", path), Plain("b", path), Coroutine("c", path), Ordered("d", path)]
    gives = {"gives": {"n": int}}
    source = hr.files([str(SOURCES / "headrace" / "py.typed")])
    values(source.map(lambda s: {"n": 1}, where=where, **gives).select("n").batch(1), hooks)
    assert path.read_text().splitlines() == ["a before", "b called", "c awaited", "d before", "d after", "a after"]


def odd_fails(n):
    if n % 2:
        raise KeyError(n)
    return n


class Swallows:
    def call(self, call):
        with contextlib.suppress(Exception):
            yield


@pytest.mark.parametrize("where", ["process", "here"])
@pytest.mark.parametrize("kind", [Notes, Swallows])
def test_a_hook_sees_exceptions_and_cannot_undo_them(tmp_path, where, kind):
    hooks = [Swallows(), Notes(tmp_path / "notes"), Swallows()] if kind is Swallows else [Notes(tmp_path / "notes")]
    pipeline = numbers().map(odd_fails, fields="n", where=where).batch(2)
    with pipeline.loader(epochs=1, hooks=hooks, on_error="skip") as loader:
        assert [n for batch in loader for n in batch["n"].tolist()] == [0, 2]
        assert sorted(lost.key for lost in loader.errors) == ["1", "3"]
    raised = [line["args"] for line in lines(tmp_path / "notes") if line.get("raised") == "KeyError"]
    assert sorted(raised) == [[1], [3]]
    with pipeline.loader(hooks=hooks) as loader, pytest.raises(hr.SampleError, match="KeyError: 1"):
        list(loader)


class FailsBefore:
    def call(self, call):
        if call.step != "source":
            raise OSError("no metrics today")
        yield


class FailsAtOnce(FailsBefore):
    def call(self, call):
        if call.step != "source":
            raise OSError("no metrics today")


class FailsAfter(FailsBefore):
    def call(self, call):
        yield
        if call.step != "source":
            raise OSError("no metrics today")


class FailsAwaited(FailsBefore):
    async def call(self, call):
        await asyncio.sleep(0)
        yield
        if call.step != "source":
            raise OSError("no metrics today")


@pytest.mark.parametrize("hook", [FailsBefore, FailsAtOnce, FailsAfter, FailsAwaited])
@pytest.mark.parametrize("where", ["process", "here", "main"])
@pytest.mark.parametrize("on_error", ["raise", "skip", "replace"])
def test_a_hook_that_fails_ends_the_run(hook, where, on_error):
    step = "main" if where == "main" else "map"
    pipeline = numbers().batch(2).map(double, fields="n", where="main") if where == "main" else None
    pipeline = pipeline or numbers().map(double, fields="n", where=where).failures(retries=1).batch(2)
    with pytest.raises(hr.HookFailed) as caught:
        values(pipeline, [hook()], on_error=on_error)
    assert f"the hook {hook.__name__} failed in call() around a call of {step}: OSError: no metrics today" in str(caught.value)
    if where == "process":
        assert "in call" in caught.value.remote_traceback


@pytest.mark.parametrize("function", [double, later, twice], ids=["map", "async map", "flat_map"])
def test_it_does_so_whatever_the_function_is(function):
    pipeline = numbers().flat_map(twice) if function is twice else numbers().map(function, fields="n")
    with pytest.raises(hr.HookFailed, match=r"FailsAfter failed in call\(\) around a call of (map|flat_map): OSError"):
        values(pipeline.batch(2), [FailsAfter()], on_error="skip")


class FailsToBegin:
    def stage(self, step):
        raise OSError("no database")


@pytest.mark.parametrize("where", ["process", "here", "main"])
def test_a_hook_that_cannot_begin_a_stage_ends_the_run(where):
    pipeline = numbers()
    pipeline = pipeline.batch(2).map(double, fields="n", where=where) if where == "main" else pipeline.map(double, where=where).batch(2)
    with pytest.raises(hr.HookFailed, match=r"the hook FailsToBegin failed in stage\(\) for (source|map|main): OSError: no database"):
        values(pipeline, [FailsToBegin()], on_error="skip")


class FailsToEnd:
    def stage(self, step):
        yield
        raise OSError(f"cannot flush {step}")


def test_a_hook_that_cannot_end_a_stage_is_logged(caplog):
    with caplog.at_level(logging.ERROR):
        assert values(numbers().map(double, fields="n", where="here").batch(2), [FailsToEnd()]) == [0, 2, 4, 6]
    told = "\n".join(record.getMessage() for record in caplog.records)
    for step in ("source", "map"):
        assert f"the hook FailsToEnd failed in stage() for {step}: OSError: cannot flush {step}" in told


class Wrong:
    def call(self, call):
        return 3


@pytest.mark.parametrize("where", ["process", "here", "main"])
def test_what_is_no_context_manager_is_refused(where):
    pipeline = numbers()
    pipeline = pipeline.batch(2).map(double, fields="n", where=where) if where == "main" else pipeline.map(double, where=where).batch(2)
    with pytest.raises(
        hr.HookFailed, match=r"the hook Wrong failed in call.*TypeError: returned int 3: must be a context manager, or None"
    ):
        values(pipeline, [Wrong()])


def test_what_cannot_be_a_hook_is_refused():
    class Locked:
        def __init__(self):
            self.lock = threading.Lock()

        def call(self, call):
            pass

    pipeline = numbers().map(double, fields="n").batch(2)
    with pytest.raises(hr.RecipeError, match="the hook Locked cannot be sent to workers: its attribute 'lock' cannot be pickled"):
        pipeline.loader(hooks=[Locked()])
    with pytest.raises(hr.RecipeError, match=r"Locked is a class: give objects, such as Locked\(\)"):
        pipeline.loader(hooks=[Locked])
    with pytest.raises(hr.RecipeError, match="has none of the methods stage, call, stats, stalled and background"):
        pipeline.loader(hooks=[3])
    with pytest.raises(hr.RecipeError, match="hooks is 3: must be a list"):
        pipeline.loader(hooks=3)
    for every in (0, -1, "often"):
        with pytest.raises(hr.RecipeError, match="every is"):
            pipeline.loader(every=every)


class Keeps:
    def __init__(self, lock=None):
        self.lock = lock  # not sent to workers, for it is not called there
        self.told = []

    def stats(self, stats):
        self.told.append(stats)


class KeepsLater(Keeps):
    async def stats(self, stats):
        await asyncio.sleep(0)
        self.told.append(stats)


@pytest.mark.parametrize("kind", [Keeps, KeepsLater])
def test_statistics_come_again_and_again_and_at_the_end(kind):
    hook = kind(threading.Lock())
    with numbers(40).map(double, fields="n").batch(2).loader(hooks=[hook, hr.Hook()], every=0.02) as loader:
        until = time.monotonic() + LONG
        for _ in loader:
            while len(hook.told) < loader._run.number + 2 and time.monotonic() < until:
                time.sleep(0.005)
            if len(hook.told) >= 3:
                break
        before = len(hook.told)
    assert 3 <= before < len(hook.told)
    assert type(hook.told[-1]) is hr.Stats
    assert hook.told[-1]["loop_ns"] == loader.stats()["loop_ns"], "those of the end"
    assert [stage["name"] for stage in hook.told[0]["stages"]] == [stage["name"] for stage in hook.told[-1]["stages"]]


def test_the_last_come_without_waiting_for_the_interval():
    hook = Keeps()
    with numbers().batch(2).loader(epochs=1, hooks=[hook]) as loader:
        list(loader)
    assert len(hook.told) == 1


def test_a_loader_that_is_forgotten_has_no_thread():
    loader = numbers().batch(2).loader(hooks=[Keeps()])
    next(iter(loader))
    assert "headrace-stats" in [thread.name for thread in threading.enumerate()]
    del loader  # the fixture waits for the thread's end


def test_a_program_that_does_not_close_its_loader_is_told_the_last(tmp_path):
    program = """
        import sys, headrace as hr

        class Prints:
            def stats(self, stats):
                print(stats["stages"][-1]["out"], flush=True)

        loader = hr.source([{"n": i} for i in range(4)]).batch(2).loader(epochs=1, hooks=[Prints()])
        print(len(list(loader)))
    """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(program)], capture_output=True, text=True, timeout=LONG)
    assert (done.stdout.split(), done.stderr) == (["2", "2"], "")


class FailsToTell:
    def stats(self, stats):
        raise OSError("no server")


def test_a_hook_that_cannot_tell_is_a_warning():
    after = Keeps()
    with pytest.warns(hr.HeadraceWarning, match=r"the hook FailsToTell failed in stats\(\): OSError: no server"):
        assert values(numbers().batch(2), [FailsToTell(), after]) == [0, 1, 2, 3]
    assert after.told


@pytest.fixture
def as_before():
    names = ("hooks", "every", "on_error", "max_errors", "workers", "epochs", "order")
    before = hr.defaults(**dict.fromkeys(names))
    yield
    hr.defaults(**before)


@pytest.mark.usefixtures("as_before")
def test_defaults_are_those_of_all_loaders_of_a_process(tmp_path):
    first, own = Keeps(), Keeps()
    assert hr.defaults(hooks=[first], epochs=1, on_error="skip") == {"hooks": None, "epochs": None, "on_error": None}
    with numbers().map(odd_fails, fields="n").batch(2).loader(hooks=[own]) as loader:
        assert [n for batch in loader for n in batch["n"].tolist()] == [0, 2]
    assert len(first.told) == len(own.told) == 1, "a loader's own hooks come besides"

    with numbers().map(odd_fails, fields="n").batch(2).loader(on_error="raise") as loader, pytest.raises(hr.SampleError):
        list(loader)  # what a loader says counts

    (tmp_path / "r.yaml").write_text("headrace: 1\n" + STEPS + "loader: {epochs: 2}\n")
    with hr.load(tmp_path / "r.yaml").loader() as loader:
        assert len(list(loader)) == len(list(loader)) == 1  # and what a recipe says
        with pytest.raises(hr.EpochsExhausted):
            iter(loader)

    hr.defaults(hooks=None, epochs=None)
    with numbers().batch(4).loader() as loader:
        assert [len(list(loader)) for _ in range(3)] == [1, 1, 1]
    assert len(first.told) == 3


@pytest.mark.usefixtures("as_before")
def test_defaults_are_refused_where_they_are_said_or_used():
    with pytest.raises(hr.RecipeError, match=r"'rank' is not one of epochs, workers, .*hooks, every"):
        hr.defaults(rank=3)
    with pytest.raises(hr.RecipeError, match="has none of the methods"):
        hr.defaults(hooks=[object()])
    hr.defaults(workers="many")
    with pytest.raises(hr.RecipeError, match="workers is 'many'"):
        numbers().batch(4).loader()


def test_calls_are_named_in_pytorchs_profiles():
    torch = pytest.importorskip("torch")
    from torch._C._profiler import _ExperimentalConfig

    pipeline = numbers(200).map(double, fields="n", where="here").batch(2).map(lambda batch: batch, where="main")
    with (
        pipeline.loader(epochs=1) as loader,
        torch.profiler.profile(
            activities=[torch.profiler.ProfilerActivity.CPU], experimental_config=_ExperimentalConfig(profile_all_threads=True)
        ) as profile,
    ):
        assert len(list(loader)) == 100
    counts = {event.key: event.count for event in profile.key_averages()}
    assert counts["headrace: next"] == 101
    assert counts["headrace: main"] == 100
    assert "headrace: map" in counts
    with pipeline.loader(epochs=1) as loader, torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as profile:
        list(loader)
    counts = {event.key: event.count for event in profile.key_averages()}
    assert counts["headrace: next"] == 101
    assert counts["headrace: main"] == 100
