"""Functions of adjacent steps are one stage: they are called one after the other, with what the one before has returned."""

import asyncio
import json
import os
import re
import signal
import time

import numpy as np
import pytest

import headrace as hr

LONG = 60  # seconds: what takes so long hangs


def numbers(count):
    return hr.source([{"n": i} for i in range(count)])


def rows(loader):
    return [dict(zip(batch.keys(), row)) for batch in loader for row in zip(*batch.values())]


def functions(loader):
    return {f["stage"]: f for f in loader.stats()["functions"]}


def stages(loader):
    return [s["name"] for s in loader.stats()["stages"]]


class Opaque:
    """What can be neither pickled nor be in an array."""

    def __init__(self, value):
        self.value = value

    def __reduce__(self):
        raise TypeError("nobody can pickle this")


def test_adjacent_steps_are_one_stage():
    def first(s):
        return {"n": s["n"], "a": s["n"] + 1}

    def odd(n):
        return n % 2 == 1

    def last(a):
        return 10 * a

    pipeline = numbers(40).map(first).filter(odd, fields="n").map(last, fields="a", to="b").batch(5)
    with pipeline.loader(epochs=1, workers=2) as loader:
        got = [(int(r["n"]), int(r["a"]), int(r["b"])) for r in rows(loader)]
        assert "map+filter+map_2" in stages(loader)
    assert got == [(n, n + 1, 10 * (n + 1)) for n in range(1, 40, 2)]


def test_the_last_of_a_chain_writes_into_the_batch():
    def first(s):
        return {"n": s["n"], "image": np.full((8, 8), s["n"] % 250, np.uint8)}

    def second(image):
        return image + 1

    with numbers(30).map(first).map(second, fields="image").batch(10).loader(epochs=1, workers=2) as loader:
        for r in rows(loader):
            assert (r["image"] == int(r["n"]) % 250 + 1).all()
        assert stages(loader)[-1] == "source+map+map_2+batch"


def test_between_functions_values_are_any_objects(tmp_path):
    for i in range(12):
        (tmp_path / f"{i}.txt").write_text(f"{i} {i * i}")

    def opened(s):
        return {"n": s["n"], "file": open(tmp_path / f"{s['n']}.txt"), "opaque": Opaque(s["n"])}

    def parsed(file, opaque):
        with file:
            return [int(word) for word in file.read().split()], opaque

    def summed(s):
        return {"sum": sum(s["words"]), "n": s["opaque"].value}

    pipeline = numbers(12).map(opened).map(parsed, fields=["file", "opaque"], to=["words", "opaque"]).map(summed)
    with pipeline.batch(4).loader(epochs=1, workers=2) as loader:
        assert [(int(r["n"]), int(r["sum"])) for r in rows(loader)] == [(i, i + i * i) for i in range(12)]


def test_values_between_may_change_their_form():
    """Nobody but the last function has to give the same type each time."""

    def ragged(s):
        return {"n": s["n"], "x": np.arange(s["n"] % 5, dtype=np.int64) if s["n"] % 2 else list(range(s["n"] % 5))}

    def total(s):
        return {"n": s["n"], "total": int(sum(s["x"]))}

    with numbers(30).map(ragged).map(total).batch(6).loader(epochs=1) as loader:
        assert [int(r["total"]) for r in rows(loader)] == [sum(range(i % 5)) for i in range(30)]


def test_what_gives_says_holds_between_too():
    def wrong(s):
        return {"n": s["n"], "x": np.zeros(3 if s["n"] == 7 else 2, np.float32)}

    def last(s):
        return {"n": s["n"]}

    gives = {"n": "int64", "x": ("float32", (2,))}
    with numbers(20).map(wrong, gives=gives).map(last, gives={"n": "int64"}).batch(5).loader(epochs=1) as loader:
        with pytest.raises(hr.errors.SampleError, match=r"map: .*wrong.*float32 \[3\]; the step gives float32 \[2\]"):
            list(loader)


def test_separate_and_together_give_the_same():
    def draw(s, rng):
        return {**s, "a": rng.random()}

    def again(s, rng):
        return {**s, "b": rng.random()}

    def keep(a):
        return a < 0.7

    pipeline = numbers(60).map(draw).map(again).filter(keep, fields="a").batch(7)
    both = []
    for fuse in (True, False):
        with pipeline.loader(epochs=2, workers=2, fuse=fuse) as loader:
            both.append([(int(r["n"]), float(r["a"]), float(r["b"])) for r in rows(loader)])
            assert ("map+map_2+filter" in stages(loader)) is fuse
    assert both[0] == both[1]
    assert all(a != b for _, a, b in both[0])


def test_policies_and_places_break_a_chain():
    def same(s):
        return s

    def names(pipeline):
        with pipeline.batch(4).loader(epochs=1, workers=2) as loader:
            assert len(rows(loader)) == 12
            return [name for name in stages(loader) if "map" in name]

    assert names(numbers(12).map(same).map(same, workers=1)) == ["map", "map_2+batch"]
    assert names(numbers(12).map(same, workers=1).map(same, workers=1)) == ["map+map_2+batch"]
    assert names(numbers(12).map(same).map(same, where="thread")) == ["map", "map_2+batch"]
    assert names(numbers(12).map(same, where="thread").map(same, where="thread")) == ["map+map_2+batch"]
    assert names(numbers(12).map(same).map(same).failures(retries=1).map(same)) == ["map", "map_2", "map_3+batch"]
    assert names(numbers(12).map(same).map(same, seed="numpy")) == ["map", "map_2+batch"]


def test_statistics_tell_the_time_of_each_function():
    def quick(s):
        return s

    def slow(s):
        time.sleep(0.004)
        return s

    def half(n):
        return n % 2 == 0

    with numbers(100).map(quick).map(slow).filter(half, fields="n").map(quick).batch(10).loader(epochs=1, workers=2) as loader:
        list(loader)
        of = functions(loader)
        text = loader.stats().text
    assert [of[name]["calls"] for name in ("map", "map_2", "filter", "map_3")] == [100, 100, 100, 50]
    assert of["map_2"]["time_ns"] >= 100 * 4e6
    for name in ("map", "filter", "map_3"):
        assert of[name]["time_ns"] < of["map_2"]["time_ns"] / 2
        assert of[name]["within"] == "map+map_2+filter+map_3"
    # The source's function is not one of the chain.
    share = 100 * of["map_2"]["time_ns"] / sum(one["time_ns"] for one in of.values() if one["within"] == of["map_2"]["within"])
    assert abs(int(re.search(r"map_2 >?(\d+) %", text)[1]) - share) <= 1  # of a quiet machine >99 %


class Epochs:
    """A function that learns of each epoch."""

    def __init__(self, learn):
        self.learn = learn

    def set_epoch(self, epoch):
        self.learn()

    def __call__(self, s):
        return s


def test_times_of_functions_are_theirs_alone():
    """What the worker does between samples, such as `set_epoch` or sending results, is in none of them."""

    def first(s):
        return s

    slow = Epochs(lambda: time.sleep(0.4))
    with numbers(20).map(first).map(slow).batch(5).loader(epochs=1, workers=1) as loader:
        assert len(rows(loader)) == 20
        of = functions(loader)
    assert of["map"]["calls"] == of["map_2"]["calls"] == 20
    assert of["map"]["time_ns"] < 0.3e9
    assert of["map_2"]["time_ns"] < 0.3e9


def test_an_epoch_that_a_function_refuses():
    """Before any function of the chain has been called."""

    def refuses():
        raise ValueError("no such epoch")

    def first(s):
        return s

    with (
        pytest.raises(hr.errors.SampleError, match=r"^map_2: .*no such epoch"),
        numbers(20).map(first).map(Epochs(refuses)).batch(5).loader(epochs=1, workers=1) as loader,
    ):
        list(loader)


@pytest.mark.parametrize("which", [0, 1, 2])
def test_failures_name_the_function(which):
    def failing(at):
        def function(s):
            if at == which and s["n"] == 13:
                raise ValueError("unlucky")
            return s

        return function

    pipeline = numbers(30).map(failing(0)).map(failing(1)).map(failing(2)).batch(5)
    step = ["map", "map_2", "map_3"][which]
    with pipeline.loader(epochs=1, workers=2) as loader, pytest.raises(hr.errors.SampleError, match="unlucky") as caught:
        list(loader)
    assert caught.value.step == step
    assert str(caught.value).startswith(f"{step}: ")
    assert "test_chains.py:" in str(caught.value).splitlines()[0]
    assert (caught.value.key, caught.value.index, caught.value.remote_type) == ("13", 13, "ValueError")


def test_failures_are_skipped_and_replaced():
    def first(s):
        return s

    def second(s):
        if s["n"] % 10 == 3:
            raise ValueError(s["n"])
        return s

    pipeline = numbers(50).map(first).map(second).batch(5)
    with pipeline.loader(epochs=1, workers=2, on_error="skip", max_errors=5) as loader:
        assert [int(r["n"]) for r in rows(loader)] == [n for n in range(50) if n % 10 != 3]
        assert loader.stats()["stages"][-1]["lost"] == 5
    with pipeline.loader(epochs=1, workers=2, on_error="replace", max_errors=5) as loader:
        got = [int(r["n"]) for r in rows(loader)]
    assert len(got) == 50
    assert not any(n % 10 == 3 for n in got)


def test_a_death_names_its_function():
    def first(s):
        return s

    def deadly(s):
        if s["n"] == 5:
            os.kill(os.getpid(), signal.SIGKILL)
        return s

    with numbers(20).map(first).map(deadly).batch(5).loader(epochs=1, workers=2) as loader:
        with pytest.raises(hr.errors.SampleError, match=r"the worker of map_2 \(process"):
            list(loader)


def test_a_kept_copy_stays_as_it_is():
    def first(s):
        return {"n": s["n"], "x": table}

    def changes(x):
        x += 1
        return x

    table = np.zeros(2000, np.int64)
    with numbers(20).map(first).map(changes, fields="x", copy=True).batch(5).loader(epochs=1, workers=1) as loader:
        for r in rows(loader):
            assert (r["x"] == 1).all()


def test_coroutines_of_a_chain_run_beside_each_other():
    here, all_here = [], asyncio.Event()

    async def first(s):
        here.append(1)
        most = len(here)
        if most == 16:
            all_here.set()
        await asyncio.wait_for(all_here.wait(), LONG)
        await asyncio.sleep(0.02)
        here.pop()
        return {"n": s["n"], "here": most}

    async def second(n):
        await asyncio.sleep(0.02)
        return n + 1

    gives = {"n": int, "here": int}  # or the first sample is tried alone
    pipeline = numbers(64).map(first, gives=gives, workers=16).map(second, fields="n", to="m", gives=int, workers=16).batch(8)
    with pipeline.loader(epochs=1) as loader:
        got = rows(loader)
        of = functions(loader)
    assert [int(r["m"]) for r in got] == list(range(1, 65))
    assert max(int(r["here"]) for r in got) == 16
    assert len({*of["map"]["pids"]}) == 1
    assert of["map_2"]["time_ns"] >= 64 * 0.02e9


def test_memory_of_its_own_for_each_result():
    def first(s):
        return {"n": s["n"], "x": np.full(5000, s["n"], np.int32)}

    def into(x, out):
        np.multiply(x, 2, out=out)
        return out

    def after(x):
        return x + 1

    gives = {"x": ("int32", (5000,))}
    pipeline = numbers(20).map(first, gives={"n": "int64", **gives}).map(into, fields="x", gives=gives)
    for chain in (pipeline, pipeline.map(after, fields="x", gives=gives)):
        with chain.batch(4).loader(epochs=1, workers=2) as loader:
            for r in rows(loader):
                assert (r["x"] == 2 * int(r["n"]) + (chain is not pipeline)).all()


def same_twice(n):
    a = np.full(3, n)
    return a, a


def negative(a):
    a *= -1
    return a


@pytest.mark.parametrize("fuse", [True, False])
def test_what_a_function_returns_twice_is_not_shared(fuse):
    """The next function works in place, and changes one of the two."""
    pipeline = hr.source([{"n": 1}, {"n": 2}]).map(same_twice, fields="n", to=["a", "b"]).map(negative, fields="a")
    with pipeline.batch(2).loader(epochs=1, fuse=fuse) as loader:
        (batch,) = loader
    assert batch["a"].tolist() == [[-1] * 3, [-2] * 3]
    assert batch["b"].tolist() == [[1] * 3, [2] * 3]


def drawn_and_told(s, rng):
    return {"n": s["n"], "x": float(rng.random())}


def not_every_fifth(n):
    if n % 5 == 4:
        raise ValueError(f"{n} is bad")
    return n


def moved(x, rng):
    return x + 10 * rng.integers(1, 100)


def drawing(fails=False):
    """Three functions, the outer ones of which draw."""
    steps = numbers(40).shuffle().map(drawn_and_told)
    if fails:
        steps = steps.map(not_every_fifth, fields="n")
    return steps.map(moved, fields="x", to="y").batch(4)


@pytest.mark.parametrize("fuse", [True, False])
def test_a_batch_of_a_chain_is_made_again_with_what_was_drawn(fuse):
    """The ledger has the key of each function of the chain, which draws the same numbers here."""
    with drawing().loader(epochs=1, fuse=fuse) as loader:
        loop = iter(loader)
        next(loop)
        state, want = loader.state_dict(), [next(loop) for _ in range(3)]
    for i, batch in enumerate(want):
        again = hr.replay(drawing(), state, i)
        for name in ("n", "x", "y"):
            assert again.batch[name].tolist() == batch[name].tolist()
        for row, n, x, y in zip(again.rows, batch["n"], batch["x"], batch["y"]):
            assert row["key"] == str(n)
            keys = {draw["step"]: np.array(draw["values"]["key"], np.uint64) for draw in row["draws"]}
            assert list(keys) == ["source", "map", "map_2"]
            first, last = (np.random.Generator(np.random.Philox(key=keys[step])) for step in ("map", "map_2"))
            assert x == first.random()
            assert y == x + 10 * last.integers(1, 100)


@pytest.mark.parametrize("where", ["process", "here"])
@pytest.mark.parametrize("on_error", ["skip", "replace"])
def test_dead_letters_of_a_chain_name_the_sample_and_the_step(tmp_path, where, on_error):
    def last(n):
        return 2 * n

    pipeline = numbers(20).map(not_every_fifth, fields="n", where=where).map(last, fields="n", to="m", where=where).batch(4)
    letters = tmp_path / "bad.jsonl"
    with pipeline.loader(epochs=1, on_error=on_error, max_errors=10, dead_letters=letters) as loader:
        assert "map+map_2" in "".join(stages(loader))
        kept = [row["n"] for row in rows(loader)]
        lost = sorted(loader.errors, key=lambda one: one.index)
    assert len(kept) == (16 if on_error == "skip" else 20)
    told = sorted((json.loads(line) for line in letters.read_text().splitlines()), key=lambda line: line["index"])
    assert [line["key"] for line in told] == [one.key for one in lost] == ["4", "9", "14", "19"]
    line_of = f"test_chains.py:{not_every_fifth.__code__.co_firstlineno + 2}"
    for n, line in zip((4, 9, 14, 19), told):
        assert line["stage"] == ("source+" if where == "process" else "") + "map+map_2+batch"
        assert line["error"].startswith(f"map: not_every_fifth ({line_of}): ValueError: {n} is bad")


class Remembers:
    """Keeps the dict that it was given, and looks next time whether it is as it was."""

    def __init__(self):
        self.last = {"n": 0, "same": 0}

    def __call__(self, sample):
        sample["same"] = int(sample["n"])
        sample["is"] = self.last["n"] == self.last["same"]
        self.last = sample
        return sample


def hundredfold(sample):
    sample["n"] = sample["n"] * 100 + 1
    return sample


@pytest.mark.parametrize("fuse", [True, False])
@pytest.mark.parametrize("count", [12, 3000])  # one by one, and several at a time
def test_a_dict_that_a_function_keeps_is_not_the_next_ones(fuse, count):
    pipeline = numbers(count).map(Remembers, workers=1).map(hundredfold, workers=1)
    with pipeline.batch(4).loader(epochs=1, fuse=fuse) as loader:
        got = rows(loader)
    assert [int(r["n"]) for r in got] == [100 * n + 1 for n in range(count)]
    assert all(r["is"] for r in got)
