"""Mixtures that hold: who is next, what restarts, and where a run goes on. The references are counts."""

from __future__ import annotations

import json
import math
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import headrace as hr

pytestmark = pytest.mark.usefixtures("one_engine")

BLOCK = 64  # samples among which each source has its share


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    return tmp_path_factory.mktemp("mixed")


@pytest.fixture(scope="module")
def lines(folder):
    """Sources of whole numbers: the first of length 30 gives 0 to 29, the next of 50 gives 1000 to 1049, and so on."""

    def made(number: int, length: int, shuffled: bool = True) -> hr.Pipeline:
        path = folder / f"{number}-{length}.jsonl"
        if not path.exists():
            path.write_text("".join(json.dumps({"n": 1000 * number + i}) + "\n" for i in range(length)))
        source = hr.read(path, fields={"n": ("n", "int64")}).drop("key")
        return hr.read(path, fields={"n": ("n", "int64")}).shuffle().drop("key") if shuffled else source

    return made


def numbers(pipeline: hr.Pipeline, size: int = 16, epochs: int = 1, **options) -> list[list[int]]:
    """The numbers of each epoch."""
    with pipeline.batch(global_size=size).loader(epochs=epochs, **options) as loader:
        return [[n for batch in loader for n in batch["n"].tolist()] for _ in range(epochs)]


def counts(values, sources: int) -> list[int]:
    found = Counter(n // 1000 for n in values)
    return [found[i] for i in range(sources)]


def within(before: list[int], epoch: list[int], weights: list[float]) -> None:
    """Each source has its share of all epochs so far where a block begins, and where the epoch ends."""
    total = sum(weights)
    for past in [*range(0, len(epoch), BLOCK), len(epoch)]:
        values = before + epoch[:past]
        for got, weight in zip(counts(values, len(weights)), weights):
            assert abs(got - len(values) * weight / total) <= 2, (past, got, weight)


@pytest.mark.parametrize(
    ("weights", "lengths"),
    [([0.7, 0.3], [50, 40]), ([3, 1, 1], [30, 9, 200]), ([1], [7]), ([1, 0, 2], [20, 5, 30]), ([1e-3, 1], [3, 500]), ([1] * 12, [10] * 12)],
)
def test_weights_hold_and_sources_restart(lines, weights, lengths):
    sources = [lines(i, n) for i, n in enumerate(lengths)]
    epochs = numbers(hr.mix(list(zip(sources, weights)), until=501), epochs=3)
    values = []
    for epoch in epochs:
        assert len(epoch) == 501
        within(values, epoch, weights)
        values += epoch
    found = Counter(values)
    for i, (length, got) in enumerate(zip(lengths, counts(values, len(lengths)))):
        for k in range(length):  # pass after pass, without gaps
            assert found[1000 * i + k] in ((got // length, math.ceil(got / length)) if got else (0,))


def test_each_pass_is_shuffled_again(lines):
    values = numbers(hr.mix({lines(0, 128): 1}, until=512))[0]
    passes = [values[i : i + 128] for i in range(0, 512, 128)]
    assert all(sorted(one) == list(range(128)) for one in passes)
    assert len({tuple(one) for one in passes}) == 4


def test_without_shuffle_passes_are_in_order(lines):
    values = numbers(hr.mix({lines(0, 64, shuffled=False): 1}, until=192))[0]
    assert [sorted(values[i : i + 64]) for i in (0, 64, 128)] == [list(range(64))] * 3


def test_epochs_end(lines):
    a, b = lines(0, 60), lines(1, 20)
    assert counts(numbers(hr.mix({a: 1, b: 1}))[0], 2) == [60, 60]  # each at least once
    assert counts(numbers(hr.mix({a: 1, b: 1}, until="longest"))[0], 2) == [60, 60]
    assert counts(numbers(hr.mix({a: 1, b: 1}, until="shortest"))[0], 2) == [20, 20]
    assert counts(numbers(hr.mix({a: 0.9, b: 0.1}))[0], 2) == [180, 20]
    assert counts(numbers(hr.mix([a, b]))[0], 2) == [60, 20]
    assert counts(numbers(hr.mix([a, b], repeat=2))[0], 2) == [120, 40]
    first, second = numbers(hr.mix([a, b], repeat=[0.5, 1]), epochs=2)
    assert counts(first, 2) == counts(second, 2) == [30, 20]
    assert sorted(n for n in first + second if n < 1000) == list(range(60))  # another half
    assert counts(numbers(hr.mix([a, b], repeat=[2, 0.5], until=130))[0], 2) == [120, 10]


def test_shortest_goes_on_in_the_next_epoch(lines):
    a, b = lines(0, 60), lines(1, 20)
    epochs = numbers(hr.mix({a: 1, b: 1}, until="shortest"), epochs=3)
    assert sorted(n for epoch in epochs for n in epoch if n < 1000) == list(range(60))


def test_temperature(lines):
    a, b = lines(0, 400), lines(1, 100)
    assert counts(numbers(hr.mix([a, b], temperature=1, until=500))[0], 2) == [400, 100]
    assert counts(numbers(hr.mix([a, b], temperature=2, until=600))[0], 2) == [400, 200]
    assert counts(numbers(hr.mix([a, b], temperature=1e6, until=600))[0], 2) == [300, 300]


def test_schedule_in_steps_and_samples(lines):
    a, b = lines(0, 50), lines(1, 50)
    schedule = [(0, [1, 0]), (8, [1, 1]), (16, [0, 1])]
    values = [n for epoch in numbers(hr.mix([a, b], schedule=schedule, until=192), epochs=2) for n in epoch]
    assert [counts(values[i : i + 64], 2) for i in range(0, 384, 64)] == [[64, 0], [64, 0], [32, 32], [32, 32], [0, 64], [0, 64]]
    samples = hr.mix({"a": a, "b": b}, schedule=[(0, {"a": 1, "b": 0}), (100, {"a": 0, "b": 1})], counted="samples", until=192)
    assert counts(numbers(samples)[0], 2) == [100, 92]


@pytest.mark.parametrize("world", [1, 2])
@pytest.mark.parametrize("drop_last", [False, True])
def test_steps_are_global_batches_over_epochs(lines, world, drop_last):
    """Also of epochs whose last batch is smaller, or dropped, and with steps on batches."""
    mixed = hr.mix([lines(0, 50), lines(1, 50)], schedule=[(0, [1, 0]), (5, [0, 1]), (8, [1, 0])], until=160)
    batched = mixed.batch(global_size=64, drop_last=drop_last).select("n").map(whole, workers=1)
    found: list[set[int]] = [set() for _ in range(8 if drop_last else 12)]
    for rank in range(world):
        with batched.loader(epochs=4, rank=rank, world_size=world) as loader:
            steps = [batch["n"].tolist() for _ in range(4) for batch in loader]
        for step, values in zip(found, steps):
            step.update(n // 1000 for n in values)
    assert found == [{0}] * 5 + [{1}] * 3 + [{0}] * (len(found) - 8)


def whole(batch):
    return {"n": batch["n"]}


def some(s):
    return bool(s["n"] % 2)


def pairs(s):
    return [s, s]


def as_list(s):
    return {"n": np.full(2, s["n"])}


STEPLESS = {
    "the batch has a size for each rank": lambda p: p.batch(4),
    '"filter" does not make one sample of each': lambda p: p.filter(some).batch(global_size=4),
    '"flat_map" does not make one sample of each': lambda p: p.flat_map(pairs).batch(global_size=4),
    "batches are made of what comes of other batches": lambda p: p.batch(2).unbatch().batch(global_size=4),
    "nothing makes batches": lambda p: p,
    "samples are put into batches by what they are": lambda p: p.map(as_list, gives={"n": ("int64", (None,))}).pack(4, global_size=4),
    "its samples come among those of others": lambda p: hr.mix([(p, 1)], until=64).batch(global_size=4),
    "steps_per_epoch ends epochs of 16 steps after 3": lambda p: p.batch(global_size=4),
}


@pytest.mark.parametrize("why", STEPLESS)
def test_steps_that_are_no_number_of_samples_are_refused(lines, why):
    def mixed(**counted) -> hr.Pipeline:
        a, b = lines(0, 50), lines(1, 50)
        return hr.mix([a, b], schedule=[(0, [1, 0]), (8, [0, 1])], until=64, source=None, **counted)

    options = {"steps_per_epoch": 3} if "steps_per_epoch" in why else {}
    with pytest.raises(hr.errors.HeadraceError, match=f'mix "mix.*": its schedule counts steps.*{why}.*counted="samples"'):
        STEPLESS[why](mixed()).loader(**options)
    STEPLESS[why](mixed(counted="samples")).loader(**options).close()


def test_schedules_in_steps_have_previews(tmp_path):
    """Samples are then drawn one by one."""
    for name in "ab":
        Image.new("RGB", (8, 8)).save(tmp_path / f"{name}.png")
    chains = [hr.files(tmp_path / f"{name}.png").decode_image().center_crop(8) for name in "ab"]
    with hr.mix(chains, schedule=[(0, [1, 0]), (64, [0, 1])], until=512).batch(global_size=4).loader() as loader:
        assert {Path(sample.key).name for sample in loader.preview(3).samples} == {"a.png"}


def bad(s):
    if s["n"] % 7 == 0:
        raise ValueError("bad")
    return s


@pytest.mark.parametrize("kind", ["weighted", "once", "shuffled"])
def test_a_bad_sample_is_replaced_by_one_of_its_pass(lines, folder, kind):
    """Each pass has 64 samples of 100, and two are in an epoch, so no epoch has the number of its passes."""
    lines(0, 100)
    first = hr.read(folder / "0-100.jsonl", fields={"n": ("n", "int64")})
    chosen = {
        "weighted": lambda: first.weighted([1.0] * 100, draws=64),
        "once": lambda: first.weighted([1.0] * 100, draws=64, replacement=False),
        "shuffled": lambda: first.shuffle()[:64],
    }[kind]()
    pipeline = hr.mix([(chosen.drop("key"), 1)], until=128, source=None)
    plain = numbers(pipeline, 16, epochs=3)
    replaced = numbers(pipeline.map(bad, gives={"n": np.int64}, workers=1), 16, epochs=3, on_error="replace", max_errors=600)
    for before, after in zip(plain, replaced):
        for begin in (0, 64):
            was, now = before[begin : begin + 64], after[begin : begin + 64]
            assert all((x == y) == (x % 7 != 0) and y % 7 for x, y in zip(was, now))
            assert set(now) <= set(was)


@pytest.mark.parametrize("world", [1, 2, 4])
def test_ranks_share_one_order(lines, world):
    """The global batches are the same with any number of ranks."""
    mixed = hr.mix({lines(0, 50): 0.7, lines(1, 40): 0.3}, until=640)

    def batches(world: int) -> list[list[int]]:
        loaders = [mixed.batch(global_size=32).loader(epochs=1, rank=r, world_size=world) for r in range(world)]
        together = [[n for batch in step for n in batch["n"].tolist()] for step in zip(*loaders)]
        for loader in loaders:
            loader.close()
        return together

    alone = batches(1)
    assert batches(world) == alone
    within([], [n for batch in alone for n in batch], [0.7, 0.3])


@pytest.mark.parametrize("options", [{}, {"until": "shortest"}, {"repeat": [0.3, 2]}, {"until": 130}], ids=str)
def test_runs_go_on_at_every_batch(lines, options):
    weights = {} if "repeat" in options else {"weights": [2, 1]}
    pipeline = hr.mix([lines(0, 50), lines(1, 21)], **weights, **options).batch(8)

    def batches(loader, n: int | None = None) -> list[list[int]]:
        found = []
        while n is None or len(found) < n:
            for batch in loader:
                found.append(batch["n"].tolist())
                if len(found) == n:
                    break
            else:
                if loader.state_dict()["epoch"] == 2:
                    break
        return found

    with pipeline.loader(epochs=2) as loader:
        whole = batches(loader)
    for cut in range(1, len(whole), 3):
        with pipeline.loader(epochs=2) as loader:
            head = batches(loader, cut)
            state = loader.state_dict()
        with pipeline.loader(epochs=2) as loader:
            loader.load_state_dict(json.loads(json.dumps(state)))
            assert head + batches(loader) == whole


def test_another_number_of_ranks_goes_on(lines):
    pipeline = hr.mix({lines(0, 50): 0.7, lines(1, 40): 0.3}, until=640).batch(global_size=32)
    with pipeline.loader(epochs=1) as loader:
        whole = [batch["n"].tolist() for batch in loader]
    with pipeline.loader(epochs=1, rank=0, world_size=2) as loader:
        for _, _ in zip(range(7), loader):
            pass
        state = loader.state_dict()
    for world in (1, 4):
        loaders = [pipeline.loader(epochs=1, rank=r, world_size=world) for r in range(world)]
        for loader in loaders:
            loader.load_state_dict(state)
        rest = [[n for batch in step for n in batch["n"].tolist()] for step in zip(*loaders)]
        for loader in loaders:
            loader.close()
        assert rest == whole[7:]


def test_a_field_names_the_source(lines):
    a, b, c = lines(0, 30), lines(1, 30), lines(2, 30)
    inner = hr.mix({"web": a, "books": b}, weights={"web": 1, "books": 3})
    pipeline = hr.mix({"text": inner, "code": c}, weights=[2, 1], until=192)
    with pipeline.batch(64).loader(epochs=1) as loader:
        rows = [(n, name) for batch in loader for n, name in zip(batch["n"].tolist(), batch["source"])]
    assert all(name == ["text/web", "text/books", "code"][n // 1000] for n, name in rows)
    assert all(abs(got - asked) <= 2 for got, asked in zip(counts([n for n, _ in rows], 3), [32, 96, 64]))
    assert next(iter(hr.mix({a: 1, b: 1}).batch(1).loader()))["source"][0] in ("read", "read_2")
    assert "source" not in next(iter(hr.mix({a: 1, b: 1}, source=None).batch(1).loader()))
    assert next(iter(hr.mix([(a, 1)], names=["x"], source="domain").batch(1).loader()))["domain"][0] == "x"


def test_stats_tell_what_came_and_what_was_asked(lines):
    inner = hr.mix({"a": lines(0, 30), "b": lines(1, 30)}, weights=[1, 3])
    with hr.mix({"x": inner, "c": lines(2, 30)}, weights=[2, 1], until=192).batch(64).loader(epochs=1) as loader:
        for _ in loader:
            pass
        told = loader.stats()
    outer, inside = told["mixes"]
    assert [(s["name"], round(s["asked"], 3)) for s in outer["sources"]] == [("x", 0.667), ("c", 0.333)]
    assert [s["given"] for s in outer["sources"]] == [128, 64]
    assert sum(s["given"] for s in inside["sources"]) == 128
    assert "mix: x 66.7 % (asked 66.7), c 33.3 % (asked 33.3)" in str(told)


def test_steps_before_the_mix_are_each_source_s_own(lines):
    def tens(s):
        return {"n": s["n"] * 10}

    a = lines(0, 30).map(tens, gives={"n": np.int64}, workers=1)
    b = lines(1, 30).map(tens, gives={"n": np.int64}, workers=1)
    with hr.mix({a: 1, b: 1}, until=240).batch(8).loader(epochs=1) as loader:
        values = [(n, name) for batch in loader for n, name in zip(batch["n"].tolist(), batch["source"])]
    assert sorted(n for n, name in values if name == "read") == sorted(10 * n for n in range(30) for _ in range(4))
    assert sorted(n for n, name in values if name == "read_2") == sorted(10_000 + 10 * n for n in range(30) for _ in range(4))


def test_what_is_chosen_of_a_source_is_what_restarts(lines, folder):
    lines(0, 30), lines(1, 30)
    first, rest = (hr.read(folder / f"{i}-30.jsonl", fields={"n": ("n", "int64")}) for i in range(2))
    got = Counter(numbers(hr.mix({first.take(10).shuffle(): 1, rest: 1}, until=120))[0])
    assert {n: got[n] for n in got if n < 1000} == dict.fromkeys(range(10), 6)


def test_a_sample_that_comes_again_draws_something_else(lines):
    def noise(s, rng):
        return {"n": s["n"], "x": rng.random()}

    pipeline = hr.mix({lines(0, 5): 1}, until=50).map(noise, gives={"n": np.int64, "x": np.float64}, workers=1)
    with pipeline.batch(50).loader(epochs=2) as loader:
        drawn = [x for _ in range(2) for batch in loader for x in batch["x"].tolist()]
    assert len(set(drawn)) == 100


def test_recipes_hold_mixes(lines, tmp_path):
    pipeline = hr.mix({"a": lines(0, 30), "b": lines(1, 30)}, weights=[3, 1], until=64, seed=5).batch(8)
    (tmp_path / "mix.yaml").write_text(pipeline.recipe("yaml"))
    with hr.load(tmp_path / "mix.yaml").loader(epochs=1) as loader:
        again = [batch["n"].tolist() for batch in loader]
    with pipeline.loader(epochs=1) as loader:
        assert [batch["n"].tolist() for batch in loader] == again
    assert "mix(names=['a', 'b'], weights=[3.0, 1.0]" in repr(pipeline)


def test_states_are_small(lines):
    pipeline = hr.mix([(lines(i, 3), i + 1) for i in range(100)], until=10_000).batch(10)
    with pipeline.loader(epochs=1) as loader:
        for _, _ in zip(range(77), loader):
            pass
        state = loader.state_dict()
    assert state["sources"] == {"mix": {**state["sources"]["mix"], "samples": 10_000, "position": 770}}
    assert len(json.dumps(state)) <= 4096


def test_other_lengths_are_refused(lines, tmp_path):
    def loader(length: int) -> hr.Loader:
        path = tmp_path / "x.jsonl"
        path.write_text('{"n": 1}\n' * length)
        return hr.mix({lines(0, 9): 1, hr.read(path, fields={"n": ("n", "int64")}).drop("key"): 1}, until=40).batch(4).loader()

    with loader(5) as first:
        next(iter(first))
        state = first.state_dict()
    with loader(6) as second, pytest.raises(hr.errors.StateMismatch, match="one of its sources has other samples, or another number"):
        second.load_state_dict(state)
        next(iter(second))


def test_what_is_refused(lines, tmp_path):
    a, b = lines(0, 30), lines(1, 30)
    (tmp_path / "none.jsonl").write_text("")
    for make, why in (
        (lambda: hr.mix({a: -1, b: 1}), r"weights\[0\] is -1: must be a number, at least 0"),
        (lambda: hr.mix({a: 0, b: 0}), "weights has only zeros: one number must be above 0"),
        (lambda: hr.mix({a: math.nan, b: 1}), "weights is nan: must be a number"),
        (lambda: hr.mix({a: math.inf, b: 1}), "weights is inf: must be a number"),
        (lambda: hr.mix({a: 1e300, b: 1}), r"weights\[0\] is 1e\+300: must be at most 1e\+15"),
        (lambda: hr.mix({a: "x", b: 1}), "weights is 'x': must be a number"),
        (lambda: hr.mix([a, b], weights=[1]), "weights is a list of 1, but of has 2: give one for each"),
        (lambda: hr.mix([a, b], weights=[1, 1], repeat=[1, 1]), "repeat is given together with weights: use only one of"),
        (lambda: hr.mix([a, b], repeat=[0, 0]), "repeat has only zeros"),
        (lambda: hr.mix([a, b], temperature=0), "temperature is 0: must be a number above 0"),
        (lambda: hr.mix([a, b], temperature=math.nan), "temperature is nan: must be a number"),
        (lambda: hr.mix([a, b], names=["x", "x"]), r'names\[1\] is "x", as another one: give each its own'),
        (lambda: hr.mix([a, b], names=["x", ""]), r"names\[1\] is empty"),
        (lambda: hr.mix([a, b], names=["x"]), "names is a list of 1, but of has 2"),
        (lambda: hr.mix([a, b], schedule=[(0, [1, 1])]), "until is missing: weights change"),
        (lambda: hr.mix([a, b], schedule=[(5, [1, 1])], until=9), r"schedule\[0\].from is 5: the first weights must be from 0 on"),
        (lambda: hr.mix([a, b], schedule=[(0, [1, 1]), (0, [1, 2])], until=9), r"schedule\[1\].from is 0: must be above 0"),
        (lambda: hr.mix([a, b], schedule=[(0, [1, -1])], until=9), r"schedule\[0\].weights\[1\] is -1"),
        (lambda: hr.mix([a, b], schedule=[], until=9), "schedule is empty"),
        (lambda: hr.mix([a, b], counted="samples"), 'in is "samples", but there is no schedule'),
        (lambda: hr.mix([a, b], until=0), "until is 0: must be a number of samples, from 1 to"),
        (lambda: hr.mix([a, b], until="end"), 'until is "end": must be "longest" or "shortest"'),
        (lambda: hr.mix([a, hr.merge([a, b])]), r'of\[1\] begins with "merge", which cannot restart: mix its sources'),
        (lambda: hr.mix([a, b.batch(2)]), r'of\[1\] makes batches with "batch": make them after the mix'),
        (lambda: hr.mix([a, hr.source(iter([{"n": 1}]))]), r"of\[1\] is iterated over by"),
        (lambda: hr.mix([a, b.rename(n="source")], source="source"), 'gives samples with a field "source", which the mix would fill'),
        (lambda: hr.mix([a, hr.source(range(3))]), "gives samples"),
    ):
        with pytest.raises(hr.errors.HeadraceError, match=why):
            make().batch(2, drop_last=True).loader().close()
    with pytest.raises(hr.errors.HeadraceError, match=r"none\.jsonl|no samples"):
        hr.mix({a: 1, hr.read(tmp_path / "none.jsonl", fields={"n": ("n", "int64")}).drop("key"): 1}).batch(2).loader()


def test_what_python_refuses(lines):
    a, b = lines(0, 30), lines(1, 30)
    for make, why in (
        (lambda: hr.mix(a), r"mix: give pipelines with their weights: mix\(\{a: 0.7, b: 0.3\}\)"),
        (lambda: hr.mix([]), "mix: there is nothing to mix"),
        (lambda: hr.mix({}), "mix: there is nothing to mix"),
        (lambda: hr.mix([(a, 1), b]), r"(?s)mix: item 1 is \(.*must be a pipeline with its weight"),
        (lambda: hr.mix([a, 5]), "mix: item 1 is 5: must be a pipeline"),
        (lambda: hr.mix({a: 1}, weights=[1]), "mix: each pipeline has its weight already"),
        (lambda: hr.mix({"x": a, "y": b}, weights={"x": 1}), "mix: weights lacks 'y': the names are 'x', 'y'"),
        (lambda: hr.mix({"x": a, "y": b}, weights={"x": 1, "y": 1, "z": 1}), "mix: weights names 'z'"),
        (lambda: hr.mix({"x": a, "y": b}, names=["x", "y"]), "mix: names are the keys already"),
        (lambda: hr.mix([a, b], weights=5), "mix: weights is 5: must be a list of numbers"),
        (lambda: hr.mix([a, b], schedule=[3], until=9), "mix: schedule has 3: must be pairs of a step and weights"),
        (lambda: hr.mix([a, b], names=[1, 2]), "mix: a name is 1: must be text"),
        (lambda: hr.merge([a, b], weights=[0.7, 0.3]), r"merge: weights are for hr.mix.*write hr.mix\(\{a: 0.7, b: 0.3\}\)"),
        (
            lambda: hr.merge([a, b], weights=[1, 2], until="shortest"),
            r"write hr.mix\(\{a: 1, b: 2\}, until='shortest'\)",
        ),
    ):
        with pytest.raises(hr.RecipeError, match=why):
            make()
