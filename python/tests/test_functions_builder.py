"""What the builder makes of functions, before anything runs: names, types, pickles, and what is refused."""

from __future__ import annotations

import functools
import operator
import pickle
import re
import sys
import threading
import types

import numpy as np
import pytest

import functions
import headrace as hr
from conftest import run_python
from headrace._recipe import interpreter
from headrace._recipe.functions import Names

IMAGES = hr.files("data/train").decode_image().resize((48, 48))


def step(pipeline):
    return pipeline._described()["steps"][-1]


def test_what_the_engine_is_told():
    assert step(IMAGES.map(functions.brighter)) == {"map": {"function": "functions:brighter"}}
    p = IMAGES.map(functions.noisy, fields="image", to=["a"], workers=np.int64(3), where="thread", seed=["torch", "random"], copy=True)
    assert step(p) == {
        "map": {
            "function": "functions:noisy",
            "fields": ["image"],
            "to": ["a"],
            "workers": 3,
            "where": "thread",
            "seed": ["torch", "random"],
            "copy": True,
        }
    }
    assert step(IMAGES.filter(functions.is_dark, fields=["image"], seed="numpy")) == {
        "filter": {"function": "functions:is_dark", "fields": ["image"], "seed": ["numpy"]}
    }
    assert step(IMAGES.flat_map(functions.halves, gives={"image": ("uint8", (24, 48, 3))})) == {
        "flat_map": {"function": "functions:halves", "gives": {"image": {"dtype": "uint8", "shape": [24, 48, 3]}}}
    }
    assert step(IMAGES.batch(3, collate=functions.collated, gives={"n": int}, fields="image", workers=2, where="thread")) == {
        "batch": {
            "size": 3,
            "drop_last": False,
            "collate": {
                "function": "functions:collated",
                "fields": ["image"],
                "gives": {"n": {"dtype": "int64"}},
                "workers": 2,
                "where": "thread",
            },
        }
    }
    assert step(IMAGES.map(functions.same).failures(retries=2)) == {"map": {"function": "functions:same"}, "failures": {"retries": 2}}


class Numbered:
    """A data set of which objects are made."""

    def __len__(self):
        return 2

    def __getitem__(self, i):
        return {"n": i}


@pytest.mark.parametrize(
    ("gives", "told"),
    [
        (("uint8", (2, 3)), {"dtype": "uint8", "shape": [2, 3]}),
        ((np.float32, [None, np.int64(4)]), {"dtype": "float32", "shape": [None, 4]}),
        ((np.dtype("int16"), 7), {"dtype": "int16", "shape": [7]}),
        (np.float16, {"dtype": "float16"}),
        ("bfloat16", {"dtype": "bfloat16"}),
        (int, {"dtype": "int64"}),
        (float, {"dtype": "float64"}),
        (bool, {"dtype": "bool"}),
        (np.dtype("int64"), {"dtype": "int64"}),
        ({"dtype": "uint8", "shape": [None]}, {"dtype": "uint8", "shape": [None]}),
        (str, "text"),
        ("text", "text"),
        (bytes, "bytes"),
        (object, "object"),
        ("object", "object"),
        (dict, "object"),
        (list, "object"),
    ],
)
def test_types(gives, told):
    p = IMAGES.map(functions.mirrored, fields="image", gives={"image": gives})
    assert step(p)["map"]["gives"] == {"image": told}
    if not isinstance(gives, dict):
        assert p == IMAGES.map(functions.mirrored, fields="image", gives=gives)


def test_types_of_torch():
    torch = pytest.importorskip("torch")
    p = IMAGES.map(functions.mirrored, fields="image", gives=(torch.float32, (3, 4)))
    assert step(p)["map"]["gives"] == {"image": {"dtype": "float32", "shape": [3, 4]}}


def test_names():
    def inner(sample):
        return sample

    add = functions.Add(3)
    p = (
        IMAGES.map(lambda s: s)
        .map(lambda s: dict(s))
        .map(inner)
        .map(add, fields="image")
        .map(add.doubled, fields="image")
        .map(functools.partial(functions.noisy), fields="image")
        .map(np.ascontiguousarray, fields="image")
        .map(operator.itemgetter("image"), fields="image")
        .map(functions.Counter)
    )
    first = inner
    p = p.map(first)
    here = f"{__name__}:test_names.<locals>"
    names = [step["map"]["function"] for step in p._described()["steps"] if "map" in step]
    assert names == [
        f"{here}.<lambda>",
        f"{here}.<lambda>#2",
        f"{here}.inner",
        "functions:Add()",
        "functions:Add.doubled",
        "functions:partial(noisy)",
        "numpy:ascontiguousarray",
        "operator:itemgetter()",
        "functions:Counter",
        f"{here}.inner",
    ]
    assert (
        repr(p)
        .replace("\n    ", "")
        .endswith(
            ".map(inner).map(Add(), fields=['image']).map(Add.doubled, fields=['image'])"
            ".map(partial(noisy), fields=['image']).map(ascontiguousarray, fields=['image']).map(itemgetter(), fields=['image'])"
            ".map(Counter).map(inner)"
        )
    )
    gathered = Names()
    p._described(gathered)
    assert len(gathered.functions) == 9
    assert all(callable(function.value) for function in gathered.functions.values())


def test_repr():
    p = IMAGES.map(functions.same, where="thread").batch(3, collate=functions.collated).map(functions.same, where="main")
    shown = repr(p).replace("\n    .", ".")
    assert shown.endswith(".map(same, where='thread').batch(size=3, drop_last=False, collate=collated).map(same, where='main')")
    assert repr(hr.source([{"x": 1}] * 5)) == "source(list(), length=5)"
    assert repr(hr.source(functions.numbers)) == "source(numbers)"


def test_equality():
    assert IMAGES.map(functions.same) == IMAGES.map(functions.same)
    assert IMAGES.map(functions.same) != IMAGES.map(functions.brighter)
    data = [1, 2]
    assert hr.source(data, fields="x") == hr.source(data, fields="x")
    assert hr.source(data, fields="x") != hr.source(data, fields="y")
    assert pickle.loads(pickle.dumps(IMAGES.map(functions.same))) == IMAGES.map(functions.same)


class Silent:
    pass


class Asking:
    def __init__(self, size):
        self.size = size

    def __call__(self, sample):
        return sample


def two(a, b):
    return a


def writes(image, out):
    return out


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: IMAGES.map("augment"), "map: 'augment' cannot be called: give a function, a class, or an object with __call__"),
        (lambda: IMAGES.map(Silent), "map: the class Silent has no method __call__: each worker makes an object of it, and calls that"),
        (
            lambda: IMAGES.map(Asking),
            "map: the class Asking: missing a required argument: 'size': each worker makes an object of it without",
        ),
        (lambda: IMAGES.map(two), "map: two: missing a required argument: 'b': it is given the sample, a dict, and rng= if it takes that"),
        (lambda: IMAGES.map(two, fields="image"), "map: two: missing a required argument: 'b': it is given the field 'image', and"),
        (
            lambda: IMAGES.map(two, fields=["a", "b", "c"]),
            "map: two: too many positional arguments: it is given the fields 'a', 'b', 'c', and rng=",
        ),
        (lambda: IMAGES.map(writes), "map: writes has the argument out, memory for its result: give its size with gives=, such as"),
        (
            lambda: IMAGES.map(writes, gives={"n": int, "text": str, "image": ("uint8", (None, 3))}),
            "map: writes has the argument out, memory for its result, but returns no array of known shape: 'n', 'text', 'image'",
        ),
        (
            lambda: IMAGES.filter(writes),
            "filter: writes has the argument out, memory for its result, which only a map in workers or a source supports",
        ),
        (lambda: IMAGES.batch(2).map(writes, where="main"), "map: writes has the argument out, memory for its result, which only a map in"),
        (lambda: IMAGES.map(functions.halves), "map: halves is a generator, which gives several samples: use flat_map"),
        (lambda: IMAGES.filter(functions.halves), "filter: halves is a generator, which gives several samples: use flat_map"),
        (lambda: IMAGES.map(two, to="x"), "map: to= needs fields="),
        (lambda: IMAGES.map(two, fields=[]), r"map: fields is \[\]: must be the name of a field, or several names"),
        (lambda: IMAGES.map(two, fields=["a", "a"]), r"map: fields is \['a', 'a'\]: must be the name of a field, or several names"),
        (lambda: IMAGES.map(two, fields=["a", 3]), r"map: fields is \['a', 3\]: must be the name of a field, or several names"),
        (lambda: IMAGES.map(functions.same, where="gpu"), "map: where is 'gpu': must be 'process' or 'thread' or 'here' or 'main'"),
        (lambda: IMAGES.filter(functions.same, where="main"), "filter: where is 'main': must be 'process' or 'thread'"),
        (lambda: IMAGES.map(functions.same, seed="jax"), "map: seed is 'jax': must be names of 'random', 'numpy', 'torch'"),
        (lambda: IMAGES.map(functions.same, workers=2.5), "workers is 2.5: must be a whole number"),
        (lambda: IMAGES.map(functions.same, gives=3), r"map: gives 3 with shape \(\) as 'the sample': must be"),
        (lambda: IMAGES.map(functions.same, gives={}), "map: gives is {}: must be types by field, such as"),
        (
            lambda: IMAGES.map(functions.same, gives={"x": 3}),
            r"map: gives 3 with shape \(\) as 'x': must be \(dtype, shape\), a dtype, str",
        ),
        (
            lambda: IMAGES.map(functions.same, gives={"x": (int, 2, 3)}),
            r"map: gives \(.*, 2, 3\) as 'x': must be \(dtype, shape\), a dtype",
        ),
        (lambda: IMAGES.map(functions.same, gives={"x": (int, "a")}), "map: gives .* with shape 'a' as 'x': must be"),
        (
            lambda: IMAGES.map(two, fields=["a", "b"], gives={"a": int}),
            "map: gives has the fields 'a', but the function gives 'a', 'b'",
        ),
        (lambda: IMAGES.batch(2, gives={"x": int}), "batch: gives= is for a function that makes the batch: give collate= as well"),
        (lambda: IMAGES.batch(2, copy=True), "batch: copy= is for a function that makes the batch: give collate= as well"),
        (lambda: IMAGES.batch(2, collate=two), "batch: two: missing a required argument: 'b': it is given a list of samples"),
        (lambda: IMAGES.batch(2, collate=two, fields=["a", "b"]), "batch: two: missing a required argument: 'b': it is given a list of"),
        (lambda: IMAGES.batch(2, collate=3), "batch: 3 cannot be called: give a function, a class, or an object with __call__"),
        (
            lambda: IMAGES.batch(2, collate=functions.halves),
            "batch: halves is a generator: give a function that returns the fields of one",
        ),
        (
            lambda: IMAGES.batch(2, collate=functions.collated, where="main"),
            'batch: collate runs in a worker: use .map.f, where="main". after',
        ),
        (
            lambda: IMAGES.batch(2, collate=functions.collated).failures(on_error="replace"),
            'failures: on_error is "replace": collate fails for a whole batch, and no other batch can replace it',
        ),
        (
            lambda: hr.source(functions.numbers()),
            "source: numbers is a generator that has begun to run here, .*: give the function that makes it, numbers without",
        ),
        (lambda: hr.source(Numbered), "source: Numbered is a class whose objects are read by number: give such an object"),
        (lambda: hr.source({"n": n} for n in range(3)), "source: <genexpr> is .*: give a generator function"),
        (lambda: hr.source({"a": 1}), r"source: {'a': 1} is dict: must be a list, or an object that is read by number, 0 to len"),
        (lambda: hr.source("abc"), "source: 'abc' is str: must be a list"),
        (lambda: hr.source(5), "source: 5: must be an object with __getitem__ and __len__, one to iterate over, or a function"),
    ],
)
def test_mistakes(build, message):
    with pytest.raises(hr.RecipeError, match=f"^headrace: {message}"):
        build()


BATCHES = IMAGES.batch(4)


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: IMAGES.map(functions.same, where="main"), 'map: where="main" is for functions of batches, which come last'),
        (lambda: BATCHES.map(functions.same, where="main").random_flip(), 'random_flip: cannot follow map with where="main"'),
        (lambda: BATCHES.map(functions.same, where="main").map(functions.same), 'map: cannot follow map with where="main"'),
        (lambda: BATCHES.map(functions.same, where="main").failures(retries=1), 'failures: does not apply to map with where="main"'),
        (lambda: BATCHES.map(functions.same, where="main", workers=2), 'map: where="main" takes no workers='),
        (lambda: BATCHES.map(functions.same, where="main", copy=True), 'map: where="main" takes no copy='),
        (lambda: BATCHES.map(functions.same, where="main", seed="numpy"), 'map: where="main" takes no seed='),
        (lambda: BATCHES.map(functions.same, where="main", gives={"x": int}), 'map: where="main" takes no gives='),
        (
            lambda: BATCHES.map(functions.later, where="main"),
            'map: later is async: where="main" needs a function that returns its result',
        ),
        (lambda: hr.merge([BATCHES.map(functions.same, where="main")]), 'merge: pipeline 0 has a step with where="main"'),
    ],
)
def test_steps_of_the_loop_come_last(build, message):
    with pytest.raises(hr.RecipeError, match=f"^headrace: {message}"):
        build()


def test_the_engine_is_not_told_of_steps_of_the_loop():
    p = BATCHES.map(functions.same, where="main").map(lambda batch: batch, where="main", fields="image")
    assert p._described() == BATCHES._described()


@pytest.mark.parametrize(
    ("function", "why"),
    [
        (lambda s: s, "it has no name by which it can be imported: define it with def, at the top of a module"),
        (functions.Add(1), "it is an object: put a function into a module that uses it"),
    ],
)
def test_recipes_refuse_what_cannot_be_imported(function, why):
    with pytest.raises(hr.RecipeError, match=f"^headrace: a recipe cannot have .* in it, because {why}"):
        IMAGES.map(function).recipe()


def test_recipes_refuse_steps_of_the_loop():
    with pytest.raises(
        hr.RecipeError, match='a recipe has only steps of the engine: leave out map with where="main", and add it after load'
    ):
        BATCHES.map(functions.same, where="main").recipe()


def test_functions_of_the_program_itself_have_no_place_in_a_recipe():
    done = run_python("import headrace as hr\ndef f(s): return s\nhr.files('x').map(f).recipe()")
    assert "a recipe cannot have f in it, because it is defined in the program itself: put it in a module" in done.stderr


def described(pipeline):
    names = Names()
    pipeline._described(names)
    return names.functions


def test_pickles_are_references_where_that_is_enough():
    by_name = interpreter.pickled(described(IMAGES.map(functions.brighter)))
    assert len(by_name["functions:brighter"].data) < 100
    amount = 7
    ((name, pickled),) = interpreter.pickled(described(IMAGES.map(lambda image: image + amount, fields="image"))).items()
    assert "<lambda>" in name
    assert pickle.loads(pickled.data)(3) == 10


def test_modules_of_classes_of_their_own_go_by_name(monkeypatch):
    """PyTorch has `torch.classes`, others load lazily. cloudpickle takes the first along with any method that says `self.classes`."""

    class Lazy(types.ModuleType):
        def __init__(self, name):
            super().__init__(name)
            self.lock = threading.Lock()

    lazy = Lazy("lazy_of_the_test")
    monkeypatch.setitem(sys.modules, "lazy_of_the_test", lazy)

    def uses(sample):
        return lazy

    ((_, pickled),) = interpreter.pickled(described(IMAGES.map(uses))).items()
    assert pickle.loads(pickled.data)(None) is lazy

    torch = pytest.importorskip("torch")

    class Named:
        classes = ("a", "b")

        def __call__(self, sample):
            return torch.zeros(len(self.classes)).numpy()

    ((_, pickled),) = interpreter.pickled(described(IMAGES.map(Named()))).items()
    assert pickle.loads(pickled.data)(None).tolist() == [0, 0]


def test_what_cannot_be_pickled_is_named():
    lock = threading.Lock()

    def locked(sample):
        with lock:
            return sample

    def message(value):
        with pytest.raises(hr.RecipeError) as caught:
            interpreter.pickled(described(IMAGES.map(value)))
        return str(caught.value)

    text = message(locked)
    assert text.startswith("headrace: locked cannot be sent to workers: ")
    assert "its variable 'lock' cannot be pickled: TypeError: cannot pickle '_thread.lock' object; make such things in the worker" in text
    adding = functions.Add(1)
    adding.lock = lock
    assert "Add() cannot be sent to workers: its attribute 'lock' cannot be pickled" in message(adding)
    assert "its argument 'amount' cannot be pickled" in message(functools.partial(functions.same, amount=lock))
    assert "the object that it is a method of cannot be pickled" in message(adding.doubled)


def test_what_is_too_large_is_named(monkeypatch):
    monkeypatch.setattr(interpreter, "MOST_BYTES", 1 << 20)
    table = np.zeros(1 << 20, np.uint8)
    small = 3
    with pytest.raises(hr.RecipeError) as caught:
        interpreter.pickled(described(IMAGES.map(lambda image: table[image] + small, fields="image")))
    assert re.search(
        r"is too large to be sent to workers: 1,0\d\d,\d\d\d bytes, most of it its variable 'table', 1,0\d\d,\d\d\d of all functions so"
        r" far, more than 1,048,576; have workers read it: in the __init__ of a class",
        str(caught.value),
    )


def test_what_workers_are(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("WEIRD", "\udcff")
    monkeypatch.setattr(sys, "path", ["", "lib", *sys.path])
    told = interpreter.interpreter({}, {})
    assert told["executable"] == sys.executable
    assert told["directory"] == str(tmp_path)
    assert told["path"][:2] == [str(tmp_path), str(tmp_path / "lib")]
    assert told["environment"]["WEIRD"] == "\udcff"
    assert told["functions"] == {}
    monkeypatch.setattr(sys, "executable", "")
    with pytest.raises(hr.RecipeError, match=r"sys.executable is empty.*: set HEADRACE_PYTHON to one for the workers"):
        interpreter.interpreter({}, {})
    monkeypatch.setenv("HEADRACE_PYTHON", "/usr/bin/python3")
    assert interpreter.interpreter({}, {})["executable"] == "/usr/bin/python3"


def test_flags_are_passed_on():
    done = run_python("from headrace._recipe.interpreter import interpreter; print(interpreter({}, {})['arguments'])")
    assert done.stdout == ("['-B']\n" if sys.flags.dont_write_bytecode else "[]\n")
    import subprocess

    told = "from headrace._recipe.interpreter import interpreter; print(interpreter({}, {})['arguments'])"
    code = f"import sys; sys.path[:0] = sys.argv[1:]; {told}"
    flags = ["-O", "-I", "-B", "-W", "error::UserWarning", "-X", "utf8=1", "-X", "faulthandler"]
    out = subprocess.run([sys.executable, *flags, "-c", code, *sys.path], capture_output=True, text=True, check=True).stdout
    safe = ["-P"] if sys.version_info >= (3, 11) else []
    assert out == f"{['-I', '-E', '-s', *safe, '-B', '-O', '-Werror::UserWarning', '-X', 'utf8=1', '-X', 'faulthandler']}\n"
