"""Pipelines that end without a batch give samples, and samples need not be dicts."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

import functions
import headrace as hr


class Items:
    """Samples of all kinds of fields; the array has another shape in each."""

    def __len__(self):
        return 10

    def __getitem__(self, i):
        return {"x": np.full((i % 3 + 1, 2), i, np.float32), "n": i, "t": f"t{i}", "o": {"i": i}, "b": bytes([i])}


GIVES = {"x": ("float32", (None, 2)), "n": int, "t": str, "o": object, "b": bytes}
SAMPLES = hr.source(Items(), gives=GIVES)


def all_of(pipeline, **options):
    with pipeline.loader(epochs=1, **options) as loader:
        return list(loader)


def double(x):
    return 2 * x


def odd(x):
    return x % 2 == 1


def twice(x):
    yield x
    yield (x, "again")


def mixed(x):
    return [x, None, "text", {"x": x}, np.arange(x)][x % 5]


def grid(x):
    return np.full((x + 1, 2), x)


def row(x):
    return np.full(2, x, np.float32)


async def later(x):
    return x + 1


def fails(x):
    if x == 5:
        raise ValueError("five")
    return x


def sums(items):
    return {"sum": np.int64(sum(items))}


def test_samples_are_dicts_of_what_they_have():
    for i, sample in enumerate(all_of(SAMPLES)):
        want = {**Items()[i], "key": str(i)}
        np.testing.assert_array_equal(sample.pop("x"), want.pop("x"))
        assert sample == want
        assert [type(sample[name]) for name in ("n", "t", "o", "b")] == [int, str, dict, bytes]


def test_images_of_any_size(photos):
    pipeline = hr.files(photos).decode_image()
    samples = all_of(pipeline)
    with pipeline.batch(1, collate=functions.collated).loader(epochs=1) as loader:
        for sample, batch in zip(samples, loader):
            np.testing.assert_array_equal(sample["image"], batch["image"][0])
    shapes = {sample["image"].shape for sample in samples}
    assert len(shapes) > 1
    planes = all_of(pipeline.normalize(0.5, 0.25).layout("NCHW"))
    assert [p["image"].shape for p in planes] == [(3, *s["image"].shape[:2]) for s in samples]
    assert all(isinstance(sample["bytes"], bytes) for sample in all_of(hr.files(photos)))


def test_ranks_share_the_samples():
    parts = [[sample["n"] for sample in all_of(SAMPLES, rank=rank, world_size=3)] for rank in range(3)]
    assert len({len(part) for part in parts}) == 1
    assert set().union(*parts) == set(range(10))


def test_the_loader_counts_samples():
    with SAMPLES.loader(epochs=1) as loader:
        assert len(loader) == 10
        assert "10 samples per epoch" in repr(loader)
        assert loader.schema["x"].shape == (None, 2)
        assert loader.schema["b"].kind == "bytes"


def test_samples_may_be_kept():
    """More than there are slots, and without a warning."""
    many = all_of(hr.source(range(500)).map(row))
    assert [int(sample[0]) for sample in many] == list(range(500))


def test_bad_samples_follow_the_policy():
    pipeline = hr.source(range(10)).map(fails)
    with pytest.raises(hr.SampleError, match="five"):
        all_of(pipeline)
    assert all_of(pipeline, on_error="skip") == [0, 1, 2, 3, 4, 6, 7, 8, 9]
    replaced = all_of(pipeline, on_error="replace")
    assert len(replaced) == 10
    assert 5 not in replaced


@pytest.mark.parametrize("where", ["process", "thread"])
def test_the_loop_is_given_what_the_function_returns(where):
    numbers = hr.source(range(20))
    assert all_of(numbers) == list(range(20))
    assert all_of(numbers.map(double, where=where)) == list(range(0, 40, 2))
    assert all_of(numbers.map(later, where=where)) == list(range(1, 21))
    assert all_of(numbers.filter(odd, where=where)) == list(range(1, 20, 2))
    assert all_of(numbers.flat_map(twice, where=where))[:3] == [0, (0, "again"), 1]
    for i, value in enumerate(all_of(numbers.map(mixed, where=where))):
        np.testing.assert_equal(value, mixed(i))
    for i, value in enumerate(all_of(numbers.map(grid, where=where))):
        np.testing.assert_array_equal(value, grid(i))


def test_values_that_are_no_dicts_come_into_batches():
    numbers = hr.source(range(10))
    (first, last) = all_of(numbers.map(double).batch(6))
    np.testing.assert_array_equal(first, np.arange(0, 12, 2))
    assert last.tolist() == [12, 14, 16, 18]
    assert all_of(numbers.map(row).batch(10))[0].shape == (10, 2)
    assert all_of(numbers.batch(5, collate=sums)) == [{"sum": 10}, {"sum": 35}]
    assert all_of(hr.source(["a", "b"]).batch(2)) == [["a", "b"]]


def test_a_recipe_may_end_without_batch(tmp_path):
    file = tmp_path / "odd.yaml"
    file.write_text("headrace: 1\nsteps:\n  - source: {function: 'functions:NUMBERS', length: 4}\n")
    assert all_of(hr.load(file)) == functions.NUMBERS


def test_previews_show_samples(photos):
    with hr.files(photos, label="parent").decode_image().loader(epochs=1) as loader:
        assert "the first 3 of" in repr(loader.preview(3))


def test_torch_has_tensors_and_numbers():
    torch = pytest.importorskip("torch")
    sample = all_of(SAMPLES.to("torch"))[1]
    assert torch.equal(sample["x"], torch.ones(2, 2))
    assert sample["n"] == 1
    assert torch.equal(all_of(hr.source(range(2)).map(row).to("torch"))[1], torch.ones(2))


def test_nothing_is_left_behind():
    """A program that leaves the loop in the middle ends."""
    text = "import headrace as hr\nfor x in hr.source(range(10**6)).loader():\n    print(x)\n    break\n"
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, timeout=120)
    assert (done.stdout.split(), done.returncode) == (["0"], 0), done.stderr


def test_routes_of_samples_that_are_no_dicts():
    times = [(True, lambda p: p.map(lambda x: -x, gives=int)), lambda p: p.map(lambda x: 10 * x, gives=int)]
    routed = hr.source(range(6)).route(lambda x: x % 2 == 0, times)
    assert list(routed.loader(epochs=1)) == [0, 10, -2, 30, -4, 50]


def named(value):
    return {"_": value}


PAIRS = [{"_": i, "a": -i} for i in range(4)]


@pytest.mark.parametrize(
    ("make", "why"),
    [
        (lambda: hr.source([{"_": 1}]), "a dict whose only field is '_', the name of a sample that is not a dict"),
        (lambda: hr.source([1, 2]).map(named), "give it another name, such as 'x', or return the value alone"),
        (lambda: hr.source([1, 2]).map(named).map(double), "a dict whose only field is '_'"),
        (lambda: hr.source([1, 2]).flat_map(lambda n: [named(n)]), "a dict whose only field is '_'"),
        (lambda: hr.source([1, 2]).batch(2, collate=lambda ns: {"_": np.array(ns)}), "a dict whose only field is '_'"),
        (lambda: hr.source([1, 2]).map(named, where="here"), "a dict whose only field is '_'"),
        (lambda: hr.source([{"_": 1}], gives={"_": int}), "gives is .*'_' alone is the name .* only its type"),
        (lambda: hr.source([1, 2]).map(named, gives={"_": int}), "gives is .*'_' alone is the name"),
        (lambda: hr.source([1, 2], fields="_"), r'step "source" \(#1\): fields is the one field "_"'),
        (lambda: hr.source(PAIRS).select("_"), r'step "select" \(#2\): fields leaves the one field "_".*give it another name'),
        (lambda: hr.source(PAIRS).drop("a", "key"), r'step "drop" \(#2\): fields leaves the one field "_"'),
        (lambda: hr.source([{"a": 1}]).drop("key").rename({"a": "_"}), r'step "rename" \(#3\): fields leaves the one field "_"'),
    ],
)
def test_no_dict_is_taken_for_a_sample_that_is_none(make, why):
    with pytest.raises(hr.HeadraceError, match=why):
        all_of(make())


def test_a_field_of_that_name_beside_others_is_one():
    """Functions of a chain, too, get the dict."""
    assert [int(s["_"]) for s in all_of(hr.source(PAIRS))] == [0, 1, 2, 3]
    seen = hr.source(PAIRS).filter(lambda s: s["a"] < 0).map(lambda s: s).map(lambda s: {"n": s["_"] + s["a"], "a": s["a"]})
    assert [(int(s["n"]), int(s["a"])) for s in all_of(seen)] == [(0, -1), (0, -2), (0, -3)]
    assert [s["x"] for s in all_of(hr.source([1, 2]).rename({"_": "x"}))] == [1, 2]
    by = hr.source([1, 2, 3]).route(odd, [(False, lambda p: p.map(double, gives=int)), (True, lambda p: p.map(double, gives=int))])
    assert all_of(by) == [2, 4, 6]
