"""What the builder makes of merge, route and failures, before anything runs."""

from __future__ import annotations

import re

import numpy as np
import pytest

import headrace as hr

CATS, DOGS = hr.files("cats", label="parent"), hr.files("dogs", label="parent")


def tree():
    of = [CATS.shuffle().decode_image().failures(retries=2), hr.merge([DOGS], order="arrival").decode_image()]
    branches = [
        (["*.png", "*.gif"], lambda p: p.random_crop(8).route("label", [(range(2), lambda p: p.random_flip()), lambda p: p])),
        lambda p: p.center_crop(8),
    ]
    return hr.merge(of, until="shortest").route("key", branches).failures(on_error="skip").batch(4)


def test_a_tree_is_drawn():
    assert (
        repr(tree())
        == """\
merge(until='shortest')
├─ files(pattern='cats', label='parent')
│      .shuffle()
│      .decode_image()
│      .failures(retries=2)
└─ merge(order='arrival')
   └─ files(pattern='dogs', label='parent')
   .decode_image()
.route(by='key')
├─ '*.png', '*.gif': random_crop(size=8).route(by='label')
│  ├─ 0, 1: random_flip(p=0.5)
│  └─ all others: nothing
└─ all others: center_crop(size=8)
.failures(on_error='skip').batch(size=4, drop_last=False)"""
    )
    many = CATS.route("label", [(range(9), lambda p: p)])
    assert repr(many) == "files(pattern='cats', label='parent').route(by='label')\n└─ 0, 1, 2, … 9 in all: nothing"


def test_a_tree_comes_back(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "tree.yaml").write_text(tree().recipe())
    loaded = hr.load("tree.yaml")
    assert loaded == hr.load("tree.yaml")
    assert loaded.recipe() == tree().recipe()
    assert loaded != hr.merge([loaded])
    # Files without a root start at the current directory, wherever in the tree they are.
    text = (
        "headrace: 1\nsteps: [{merge: {of: [[{files: {pattern: a}}, shuffle], [{merge: {of: [[{files: {pattern: b}}]]}}]]}}, "
        "{route: {by: key, branches: [{steps: [decode_image]}]}}]\n"
    )
    (tmp_path / "short.yaml").write_text(text)
    (merge, route) = hr.load("short.yaml")._described()["steps"]
    ((first, shuffle), (inner,)) = merge["merge"]["of"]
    assert first["files"]["root"] == inner["merge"]["of"][0][0]["files"]["root"] == str(tmp_path)
    assert shuffle == {"shuffle": {}}
    assert route["route"]["branches"][0]["steps"][0]["decode_image"]["mode"] == "exact"


def test_a_merge_has_what_its_pipelines_have(tmp_path):
    (tmp_path / "a.yaml").write_text("headrace: 1\nseed: 5\nsteps: [{files: {pattern: a}}]\nloader: {epochs: 3}\n")
    (tmp_path / "b.yaml").write_text("headrace: 1\nseed: 5\nsteps: [{files: {pattern: b}}]\nloader: {epochs: 4}\n")
    a, b = hr.load(tmp_path / "a.yaml"), hr.load(tmp_path / "b.yaml")
    merged = hr.merge(p.to("torch") for p in (a, a))
    assert (merged._seed, merged._format, merged._defaults) == (5, a.to("torch")._format, {"epochs": 3})
    for others, text in [
        ([a, b], "pipeline 1 has the section loader {'epochs': 4}, but pipeline 0 has {'epochs': 3}: they must be the same"),
        ([a, a, a.to("torch")], "pipeline 2 has the format 'torch', but pipeline 0 has 'numpy': they must be the same"),
        ([hr.files("x", seed=1), hr.files("y")], "pipeline 1 has the seed 0, but pipeline 0 has 1: they must be the same"),
        ([], "there is nothing to merge: give pipelines"),
        ([a, "b"], "item 1 is 'b': must be a pipeline"),
    ]:
        with pytest.raises(hr.RecipeError, match=f"^headrace: merge: {re.escape(text)}$"):
            hr.merge(others)
    for one in [(a, a), (a,), (5,)]:
        with pytest.raises(hr.RecipeError, match=r"give one list of pipelines: merge\(\[a, b\]\)"):
            hr.merge(*one)


def test_dtypes_by_name():
    class Dtype:
        name = "int32"

    class int32:  # as numpy.int32 is a type
        pass

    for dtype in (Dtype(), int32):
        assert CATS.decode_npy(dtype) == CATS.decode_npy("int32")
    for dtype in (None, 5):
        with pytest.raises(hr.RecipeError, match="must be the name of a dtype"):
            CATS.decode_npy(dtype)


def test_what_a_merge_is_given():
    assert hr.merge([CATS])._steps == ({"merge": {"of": [list(CATS._steps)]}},)
    numbers = hr.mix([CATS, DOGS], weights=np.array([1, 0.5]), seed=np.uint64(7))
    assert numbers._steps[0]["mix"] | {"of": None} == {"of": None, "weights": [1.0, 0.5], "seed": 7}
    with pytest.raises(hr.RecipeError, match=r"^headrace: weights is 'a': must be a number$"):
        hr.mix([CATS], weights=["a"])
    with pytest.raises(hr.RecipeError, match=r"^headrace: seed is 1\.5: must be a whole number$"):
        hr.mix([CATS], weights=[1], seed=1.5)


def test_what_branches_take():
    same = lambda p: p  # noqa: E731
    (route,) = CATS.route("key", [("a", same), (b"\xff", same), (7, same), (np.int64(8), same), ({9}, same), (None, same)])._steps[1:]
    whens = [branch.get("when") for branch in route["route"]["branches"]]
    assert whens == [["a"], ["\udcff"], [7], [8], [9], None]
    for branch, text in [
        (3, r"branch 0 is 3: must be \(what it matches, a function of a pipeline\), or a function alone"),
        (("a", "b"), r"branch 0 is \('a', 'b'\): must be \(what it matches, a function of a pipeline\), or a function alone"),
        (lambda p: None, "the function of branch 0 returns None: must return the pipeline it is given, with its steps"),
        ((1.5, same), "branch 0 matches 1.5: must be patterns of text, or whole numbers"),
        (([True], same), "branch 0 matches True: must be patterns of text, or whole numbers"),
    ]:
        with pytest.raises(hr.RecipeError, match=f"^headrace: route: {text}$"):
            CATS.route("key", [branch])


def test_what_failures_are_given():
    p = CATS.decode_image().failures(on_error="replace", max_errors=np.int64(3), retries=2, wait=1, time_limit=0.5)
    assert p._steps[1]["failures"] == {"on_error": "replace", "max_errors": 3, "retries": 2, "wait": 1.0, "time_limit": 0.5}
    again = p.failures(max_errors=0.5).random_flip()
    assert again._steps[1]["failures"] == p._steps[1]["failures"] | {"max_errors": 0.5}
    assert "failures" not in again._steps[2]
    assert p._steps[1]["failures"]["max_errors"] == 3
    for wrong, text in [
        ({"retries": 1.5}, "retries is 1.5: must be a whole number"),
        ({"wait": "x"}, "wait is 'x': must be a number"),
        ({"time_limit": float("inf")}, "time_limit is inf: must be a number"),
        ({"max_errors": "many"}, "max_errors is 'many': must be a number"),
    ]:
        with pytest.raises(hr.RecipeError, match=f"^headrace: {text}$"):
            CATS.failures(**wrong)
    with pytest.raises(hr.RecipeError, match=r"^headrace: failures: there is no step before it$"):
        CATS.route("key", [lambda p: p.failures(retries=1)])


@pytest.mark.parametrize(
    ("pipeline", "text"),
    [
        (hr.merge([CATS.decode_image(), DOGS]), r'step "merge" \(#1\): of\[1\] gives samples without the field "image"'),
        (CATS.route("kye", [lambda p: p]), r'step "route" \(#2\): by is "kye": the samples have the fields bytes, label, key'),
        (CATS.route("key", [("a", lambda p: DOGS), lambda p: p]), r'step "files_2" \(#3\): is a source and can only begin a recipe'),
        (CATS.decode_image().failures(on_error="ignore"), r'step "decode_image" \(#2\): failures.on_error is "ignore"'),
    ],
)
def test_mistakes_name_their_steps(pipeline, text):
    with pytest.raises(hr.RecipeError, match=text):
        pipeline.loader()
    with pytest.raises(hr.RecipeError, match="^recipe: .*" + text):
        pipeline.recipe()
