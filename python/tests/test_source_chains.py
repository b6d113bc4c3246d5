"""The workers that call functions read the samples of their source, too: nothing else changes by that."""

import os

import numpy as np
import pytest

import headrace as hr
from own import taken

COUNT = 45


class Rows:
    """Samples that are views of memory of the object's own."""

    def __init__(self, form):
        self.form = form
        self.data = np.arange(COUNT * 6, dtype=np.float32).reshape(COUNT, 2, 3)

    def __len__(self):
        return COUNT

    def __getitem__(self, i):
        if self.form == "value":
            return self.data[i]
        if self.form == "tuple":
            return self.data[i], i
        return {
            "x": self.data[i], "n": i, "third": i / 3, "word": "é" * (i % 3), "raw": bytes([i]), "ok": i % 2 == 0,
            "turned": np.arange(4, dtype=">i2").reshape(2, 2).T, "pid": os.getpid(),
        }  # fmt: skip


GIVES = {
    "x": ("float32", (2, 3)),
    "n": "int64",
    "third": "float32",
    "word": "text",
    "raw": "bytes",
    "ok": "bool",
    "turned": ("int16", (2, 2)),
    "pid": "int64",
}


def in_place(x):
    x += 1
    x *= 2
    return x


def looked_at(s):
    """What a function is given, in its result."""
    kinds = [type(s[name]).__name__ for name in ("x", "n", "third", "word", "ok", "turned")]
    s["x"] += 1
    told = f"{kinds} {s['third']!r} {bytes(s['raw'])!r} {s['turned'].dtype} {s['turned'].flags.writeable} {s.get('key')}"
    return {"x": s["x"], "word": s["word"] + "!", "told": told, "same": s["pid"] == os.getpid()}


def both(pipeline, **options):
    """What comes, with the stages fused and apart, over two epochs; and the stages."""
    got, names = [], []
    for fuse in (True, False):
        with pipeline.batch(4).loader(epochs=2, workers=2, fuse=fuse, **options) as loader:
            got.append([taken(batch) for _ in range(2) for batch in loader])
            names.append([s["name"] for s in loader.stats()["stages"]])
    assert names[0][-1].startswith("source+")
    assert "read" not in names[0]
    assert "read" in names[1]
    return got


@pytest.mark.parametrize("where", ["process", "thread", "here"])
@pytest.mark.parametrize("said", [True, False])
@pytest.mark.parametrize("form", ["value", "tuple", "dict"])
def test_functions_are_given_what_they_were_given(form, said, where):
    gives = {"dict": GIVES, "tuple": {"x": GIVES["x"], "n": "int64"}, "value": {"x": GIVES["x"]}}[form] if said else None
    fields = {"dict": None, "tuple": ["x", "n"], "value": ["x"]}[form]
    pipeline = hr.source(Rows(form), gives=gives, fields=fields, where=where).shuffle(seed=3)
    if form == "dict":
        pipeline = pipeline.map(looked_at, where=where)
    else:
        pipeline = pipeline.map(in_place, fields="x", where=where).map(in_place, fields="x", where=where)
    together, apart = both(pipeline)
    elsewhere = 0
    for batch, other in zip(together, apart, strict=True):
        if form == "dict":
            elsewhere += batch.pop("same").count(False)
            other.pop("same")
        assert batch == other
    assert elsewhere <= (0 if said else 2), "but for samples that were read when the loader was opened"


class Broken:
    def __len__(self):
        return 12

    def __getitem__(self, i):
        if i == 5:
            raise KeyError("x")
        return {"x": np.zeros(3 if i == 9 else 2, np.float32)}


def test_a_sample_that_cannot_be_read_is_the_sources():
    def plus(x):
        return x + 1

    pipeline = hr.source(Broken(), gives={"x": ("float32", (2,))}).map(plus, fields="x").batch(2)
    with pytest.raises(hr.SampleError) as error, pipeline.loader(epochs=1, workers=1) as loader:
        list(loader)
    assert error.value.key == "5"
    assert str(error.value).startswith("source: ")
    assert "KeyError: 'x'" in str(error.value)

    with pipeline.loader(epochs=1, workers=2, on_error="skip", max_errors=2) as loader:
        assert sum(len(batch["x"]) for batch in loader) == 10
        told = sorted((e.key, str(e)) for e in loader.errors)
        calls = {f["stage"]: f["calls"] for f in loader.stats()["functions"]}
    assert [key for key, _ in told] == ["5", "9"]
    assert all(": source: " in text for _, text in told), told
    assert calls == {"source": 12, "map": 10}

    with pipeline.loader(epochs=1, workers=2, on_error="replace", max_errors=2) as loader:
        assert sum(len(batch["x"]) for batch in loader) == 12


async def later(x):
    return x + 1


def test_coroutines_behind_a_source():
    together, apart = both(hr.source(Rows("value"), fields="x").map(later, fields="x").map(in_place, fields="x"))
    assert together == apart


class Objects(Rows):
    def __getitem__(self, i):
        return {"x": self.data[i], "any": {"i": i}}


def test_what_stays_apart():
    """Objects, which a function could change in the source; names; what says something else about its workers."""

    def x_of(s):
        return {"x": s["x"]}

    for source, step in (
        (hr.source(Objects("dict")), {}),
        (hr.source(Rows("dict"), keys=str), {}),
        (hr.source(Rows("dict"), where="thread"), {}),
        (hr.source(Rows("dict")), {"workers": 2}),
        (hr.source(Rows("dict")).failures(retries=1), {}),
    ):
        with source.map(x_of, **step).batch(5).loader(epochs=1) as loader:
            assert sum(len(batch["x"]) for batch in loader) == COUNT
            assert "read" in [s["name"] for s in loader.stats()["stages"]], step
