"""Small samples from an object with `__getitem__`: many come with one message, and a batch is what a loop makes of them."""

from __future__ import annotations

import itertools
import os
import random
import signal
import time
from typing import Any

import numpy as np
import pytest

import headrace as hr

N = 1500


class Samples:
    """Samples of any kind. What is made of `i` depends on nothing else."""

    def __init__(self, kind: str, n: int = N, bad: tuple[int, ...] = (), log: str = "") -> None:
        self.kind, self.n, self.bad, self.log = kind, n, bad, log

    def __len__(self) -> int:
        return self.n

    def __getitem__(self, i: int) -> Any:
        if self.log:
            with open(f"{self.log}.{os.getpid()}", "a") as f:
                f.write(f"{i}\n")
        if i in self.bad:
            raise ValueError(f"{i} is bad")
        return made(self.kind, i)


def made(kind: str, i: int) -> Any:
    row = np.arange(i, i + 64, dtype=np.int32)
    if kind == "array":
        return row
    if kind == "int":
        return i
    if kind == "text":
        return "x" * (i % 7) + str(i)
    return {"x": row, "n": i, "f": i / 4, "text": "ä" * (i % 5)}


class Reuses(Samples):
    """Gives the same memory again and again."""

    def __getitem__(self, i: int) -> Any:
        self.memory = getattr(self, "memory", np.empty(64, np.int32))
        self.memory[:] = made("array", i)
        return self.memory


def plus(x: Any) -> Any:
    if isinstance(x, dict):
        return {**x, "x": x["x"] + 1, "n": x["n"] + 1}
    return x + ("!" if isinstance(x, str) else 1)


def in_place(x: Any) -> Any:
    x += 1
    return x


def rows_of(batches: Any, kind: str) -> list[Any]:
    rows: list[Any] = []
    for batch in batches:
        if kind == "dict":
            columns = [batch[name].tolist() if name != "text" else list(batch[name]) for name in ("x", "n", "f", "text")]
            rows += zip(*columns)
        else:
            rows += batch.tolist() if hasattr(batch, "tolist") else list(batch)
    return rows


def want(kind: str, i: int, functions: int) -> Any:
    value = made(kind, i)
    for _ in range(functions):
        value = plus(value)
    if kind == "dict":
        return (value["x"].tolist(), value["n"], value["f"], value["text"])
    return value.tolist() if kind == "array" else value


def pipeline(kind: str, functions: int, where: str = "process", samples: Any = None) -> hr.Pipeline:
    chain = hr.source(samples or Samples(kind), where=where)
    for _ in range(functions):
        chain = chain.map(plus, where=where)
    return chain


@pytest.mark.parametrize("where", ["process", "thread"])
@pytest.mark.parametrize("functions", [0, 2])
@pytest.mark.parametrize("kind", ["array", "int", "text", "dict"])
def test_batches_are_those_of_a_loop(kind: str, functions: int, where: str) -> None:
    with pipeline(kind, functions, where).batch(100).loader(epochs=2, workers=2) as loader:
        for _ in range(2):
            assert rows_of(loader, kind) == [want(kind, i, functions) for i in range(N)]
        assert all(f["restarts"] == 0 for f in loader.stats()["functions"])


def doubled(batch: Any) -> Any:
    return {"n": batch["n"] * 2, "x": batch["x"]}


def test_batches_that_go_on() -> None:
    """Functions on batches, and their rows again, know which samples these are; a cut within changes nothing."""
    chain = hr.source(Samples("dict")).shuffle(seed=1).map(plus).batch(16).map(doubled).unbatch().batch(10)
    with chain.loader(epochs=1, workers=2) as loader:
        whole = [batch["n"].tolist() for batch in loader]
        assert all(f["restarts"] == 0 for f in loader.stats()["functions"])
    assert sorted(itertools.chain(*whole)) == [2 * (i + 1) for i in range(N)]
    with chain.loader(epochs=1, workers=1) as loader:
        for _, _ in zip(range(40), loader):
            pass
        state = loader.state_dict()
    with chain.loader(epochs=1, workers=2) as loader:
        loader.load_state_dict(state)
        assert [batch["n"].tolist() for batch in loader] == whole[40:]


def test_shuffled_cut_and_resumed() -> None:
    """At each cut the rest is what it is without one, with other workers and ranks."""
    chain = hr.source(Samples("dict")).shuffle(seed=5).map(plus).batch(64)
    with chain.loader(epochs=1, workers=2) as loader:
        whole = [rows_of([batch], "dict") for batch in loader]
    assert sorted(itertools.chain(*whole)) == sorted(want("dict", i, 1) for i in range(N))
    for cut in random.Random(3).sample(range(len(whole)), 4):
        with chain.loader(epochs=1, workers=1) as loader:
            for _, _ in zip(range(cut), loader):
                pass
            state = loader.state_dict()
        with chain.loader(epochs=1, workers=3) as loader:
            loader.load_state_dict(state)
            assert [rows_of([batch], "dict") for batch in loader] == whole[cut:]
    parts = [list(chain.loader(epochs=1, workers=1, rank=rank, world_size=2)) for rank in range(2)]
    assert sorted(rows_of(parts[0] + parts[1], "dict")) == sorted(itertools.chain(*whole))


def test_memory_that_is_used_again() -> None:
    for added, chain in enumerate((hr.source(Reuses("array")), hr.source(Reuses("array")).map(in_place))):
        with chain.batch(100).loader(epochs=1, workers=1) as loader:
            rows = np.concatenate(list(loader))
        assert np.array_equal(rows, np.arange(N)[:, None] + np.arange(added, 64 + added))


def test_each_sample_is_asked_for_once(tmp_path: Any) -> None:
    with pipeline("array", 0, samples=Samples("array", log=str(tmp_path / "calls"))).batch(64).loader(epochs=1, workers=2) as loader:
        for _ in loader:
            pass
    calls = [int(line) for path in tmp_path.glob("calls.*") for line in path.read_text().split()]
    assert sorted(calls) == list(range(N))


@pytest.mark.parametrize("functions", [0, 2])
@pytest.mark.parametrize("kind", ["array", "dict"])
def test_the_first_that_fails_is_named(kind: str, functions: int) -> None:
    bad = Samples(kind, bad=(1111, 1200))
    with pipeline(kind, functions, samples=bad).batch(50).loader(epochs=1, workers=2) as loader:
        rows = []
        with pytest.raises(hr.SampleError, match=r"(?s)ValueError: 1111 is bad.* of 1111, .*position 1111") as raised:
            for batch in loader:
                rows += rows_of([batch], kind)
        assert raised.value.index == 1111
    assert rows == [want(kind, i, functions) for i in range(len(rows))]
    with pipeline(kind, functions, samples=bad).batch(50).loader(epochs=1, workers=2, on_error="skip") as loader:
        assert rows_of(loader, kind) == [want(kind, i, functions) for i in range(N) if i not in bad.bad]


class Changes(Samples):
    def __getitem__(self, i: int) -> Any:
        return made("array", i)[: 64 - (i == 1234)]


class Dies(Samples):
    """One worker dies with a sample, or all do."""

    def __init__(self, flag: str, always: bool) -> None:
        super().__init__("int")
        self.flag, self.always = flag, always

    def __getitem__(self, i: int) -> Any:
        if i == 1000 and (self.always or not os.path.exists(self.flag)):
            open(self.flag, "w").close()
            os.kill(os.getpid(), signal.SIGKILL)
        return i


def test_a_sample_that_does_not_fit_is_named() -> None:
    with hr.source(Changes("array")).batch(50).loader(epochs=1, workers=2) as loader:
        with pytest.raises(hr.SampleError, match=r"(?s)int32 \[63\]; the step gives int32 \[64\].* of 1234, .*position 1234"):
            list(loader)


def test_workers_that_die(tmp_path: Any) -> None:
    with hr.source(Dies(str(tmp_path / "once"), False)).batch(50).loader(epochs=1, workers=2) as loader:
        assert rows_of(loader, "int") == list(range(N))
    with hr.source(Dies(str(tmp_path / "always"), True)).batch(50).loader(epochs=1, workers=2) as loader:
        with pytest.raises(hr.SampleError, match=r"1000.*SIGKILL"):
            list(loader)


class Naps(Samples):
    """One sample takes long."""

    def __getitem__(self, i: int) -> Any:
        if i == 700:
            time.sleep(1)
        return i


def test_what_takes_long_holds_back_nothing() -> None:
    with hr.source(Naps("int")).batch(50).loader(epochs=1, workers=2) as loader:
        batches = iter(loader)
        rows = rows_of([next(batches) for _ in range(12)], "int")
        assert rows == list(range(600))
        assert rows + rows_of(batches, "int") == list(range(N))
