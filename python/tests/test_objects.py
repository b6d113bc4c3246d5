"""Values other than arrays, numbers, str and bytes: pickled in a worker, unpickled in the next one and in the loop."""

from __future__ import annotations

import dataclasses
import datetime
import enum
import fractions
import json
import mmap
import os
import random
import struct
import subprocess
import sys
import threading
import tracemalloc
from collections import OrderedDict, namedtuple
from typing import Any

import numpy as np
import pytest
import yaml

import headrace as hr
from conftest import ROOT, environment_of, run_python
from headrace._batch.objects import Damaged, Objects, parse, unpickle
from own import images, plain, rows

ENGINE = ROOT / "python/src/headrace/_bin/headrace"


@dataclasses.dataclass
class Box:
    corners: np.ndarray
    name: str
    inside: Any = None


class Colour(enum.Enum):
    RED = "r"


Point = namedtuple("Point", "x y")


# The bytes.


def stored(value):
    """The bytes of a value, in memory as workers share it."""
    pickled = Objects().pickle(value)
    memory = mmap.mmap(-1, pickled.size)
    pickled.write(memoryview(memory))
    return memory


def same(one, other):
    """Whether two values are alike, with arrays in them."""
    if isinstance(one, np.ndarray):
        assert (one.dtype, one.shape) == (other.dtype, other.shape)
        np.testing.assert_array_equal(one, other)
    elif isinstance(one, dict):
        assert list(one) == list(other)
        assert all(same(one[key], other[key]) for key in one)
    elif isinstance(one, (list, tuple)):
        assert len(one) == len(other)
        assert all(map(same, one, other))
    elif dataclasses.is_dataclass(one):
        assert same(vars(one), vars(other))
    else:
        assert one == other
    assert type(one) is type(other)
    return True


VALUES = [
    None,
    {},
    [],
    "text",
    7,
    1 << 200,
    1 + 2j,
    {"a": np.arange(5), "b": [np.ones((3, 4), np.float32), {"c": (np.zeros((0, 3)), None)}]},
    ["some", "words", "ü\ud800"],
    Box(np.eye(3), "box", Box(np.arange(2), "inner")),
    {Colour.RED, 3, "x"},
    Point(1, np.float32(2)),
    OrderedDict(b=1, a=2),
    fractions.Fraction(1, 3),
    datetime.datetime(2024, 2, 29),
    np.arange(24).reshape(2, 3, 4)[:, ::2, ::-1],
    np.asfortranarray(np.arange(6.0).reshape(2, 3)),
    np.array(["a", "bc"]),
    np.array([1, 2], ">i4"),
    np.array([(1, 2.5)], [("n", "i4"), ("x", "f8")]),
    np.array([None, {"a": 1}], object),
    np.array(3.5),
    np.arange(5).astype("M8[D]"),
    b"",
    b"x" * 4096,
    b"\0" * 4097,
    b"xyz" * 1_000_000,
    [np.arange(100000), b"x" * 100000, bytearray(b"y" * 70000)],
    [np.arange(i) for i in range(300)],
]


@pytest.mark.parametrize("own", [False, True])
@pytest.mark.parametrize("i", range(len(VALUES)))
def test_values_come_back(i, own):
    assert same(unpickle(memoryview(stored(VALUES[i])), own), VALUES[i])


def buffers_of(value):
    """The arrays in a value that have memory in its bytes."""
    return [array for array in value if array.size]


def test_arrays_are_written_once_and_read_where_they_lie():
    arrays = [np.random.default_rng(i).random((300, 7 * i)) for i in range(5)] + [np.asfortranarray(np.ones((200, 300)))]
    tracemalloc.start()
    try:
        pickled = Objects().pickle({"arrays": arrays})
        assert tracemalloc.get_traced_memory()[1] < 100_000  # nothing was copied yet
    finally:
        tracemalloc.stop()
    memory = mmap.mmap(-1, pickled.size)
    pickled.write(memoryview(memory))
    whole = np.frombuffer(memory, np.uint8)
    got = unpickle(memoryview(memory), own=False)["arrays"]
    for array, other in zip(arrays, got, strict=True):
        np.testing.assert_array_equal(array, other)
        if array.size:
            assert np.shares_memory(other, whole)
            assert (other.ctypes.data - whole.ctypes.data) % 64 == 0
            assert other.flags.writeable
    got[1][0, 0] = 7  # and what is written there is written to the memory
    assert unpickle(memoryview(memory), own=False)["arrays"][1][0, 0] == 7
    for array in buffers_of(unpickle(memoryview(memory), own=True)["arrays"]):
        assert not np.shares_memory(array, whole)
        assert array.flags.writeable
        assert array.ctypes.data % 64 == 0


def test_arrays_that_cannot_be_written_stay_so():
    array = np.arange(1000)
    array.flags.writeable = False
    for own in (False, True):
        assert not unpickle(memoryview(stored([array])), own)[0].flags.writeable


def test_views_are_copied_once():
    image = np.random.default_rng(0).integers(0, 256, (1000, 1000, 3), np.uint8)
    tracemalloc.start()
    try:
        pickled = Objects().pickle([image[:, ::-1]])
        assert tracemalloc.get_traced_memory()[1] < image.nbytes + 100_000
    finally:
        tracemalloc.stop()
    assert pickled.size < image.nbytes + 1000
    assert same(unpickle(memoryview(stored([image[:, ::-1]])), own=False), [image[:, ::-1]])


@pytest.mark.timeout(300)
def test_tensors_are_as_good_as_arrays():
    torch = pytest.importorskip("torch")
    given = {
        "x": torch.arange(3000, dtype=torch.float32).reshape(50, 60),
        "turned": torch.arange(12).reshape(3, 4).T,
        "half": torch.ones(1000, dtype=torch.bfloat16),
        "none": torch.empty(0),
        "number": torch.tensor(3),
    }
    data = stored(given)
    whole = np.frombuffer(data, np.uint8)
    for own in (False, True):
        got = unpickle(memoryview(data), own)
        for name, tensor in given.items():
            assert torch.equal(got[name], tensor), name
            assert got[name].dtype == tensor.dtype
        assert np.shares_memory(got["x"].numpy(), whole) is not own
    graph = torch.ones(3, requires_grad=True)
    back = unpickle(memoryview(stored([graph, torch.nn.Parameter(torch.ones(2))])), own=True)
    assert [type(t) for t in back] == [torch.Tensor, torch.nn.Parameter]
    assert back[0].requires_grad


def test_bytes_that_are_damaged():
    data = bytearray(stored({"a": np.arange(10), "b": [np.ones(100), "text"], "c": np.zeros(0)}))
    parse(memoryview(data))
    for n in range(len(data)):
        with pytest.raises(Damaged):
            parse(memoryview(data)[:n])
    with pytest.raises(Damaged):
        parse(memoryview(data + b"\0"))
    rng = random.Random(1)
    refused = 0
    head = 16 + 8 * 3
    for _ in range(20000):
        wild = bytearray(data)
        for _ in range(rng.randint(1, 3)):
            at = rng.randrange(head // 4) * 4
            struct.pack_into("<I", wild, at, rng.choice([0, 1, 2, 3, 0x7FFFFFFF, 0xFFFFFFFF, rng.getrandbits(32), rng.getrandbits(9)]))
        try:
            stream, buffers = parse(memoryview(wild))
        except Damaged:
            refused += 1
            continue
        assert 16 + 8 * len(buffers) + len(stream) + sum(map(len, buffers)) <= len(wild)
    assert refused > 10000
    with pytest.raises(Damaged):
        unpickle(memoryview(b"no object"), own=True)


# In workers.


def described(sample):
    """A sample with values of all kinds."""
    image = sample["image"]
    return {
        "label": sample["label"],
        "meta": {"key": sample["key"][-6:], "image": image, "crops": [image[i : i + 9, ::2] for i in range(3)], "none": None},
        "box": Box(image[0].astype(np.float32), sample["key"]),
        "words": sample["key"].split("/"),
        "nothing": None,
        "pair": (image[..., 0], "grey"),
        "some": Colour.RED if sample["label"] else 1 + 1j,
    }


NAMES = ["meta", "box", "words", "nothing", "pair", "some"]


def test_values_of_all_kinds(pictures):
    p = images(pictures).map(described, workers=2, where="thread")
    with p.batch(4).loader(epochs=1) as loader:
        assert {name: field.kind for name, field in loader.schema.items()} == {"label": "tensor", **dict.fromkeys(NAMES, "object")}
        assert all(loader.schema[name][:3] == ("object", None, None) for name in NAMES)
        got = [{name: values[i] for name, values in batch.items()} for batch in loader for i in range(len(batch["box"]))]
    for one, sample in zip(got, plain(pictures), strict=True):
        want = described(sample)
        assert list(one) == list(want)
        assert all(same(one[name], want[name]) for name in NAMES)


def test_batches_have_lists(pictures):
    with images(pictures).map(described).batch(4).loader(epochs=1) as loader:
        batches = list(loader)
        shared = mapped("headrace")
    assert [type(batch["meta"]) for batch in batches] == [list] * len(batches)
    assert [len(batch["meta"]) for batch in batches] == [len(batch["label"]) for batch in batches]
    assert shared
    metas = [meta for batch in batches for meta in batch["meta"]]
    for meta, sample in zip(metas, plain(pictures), strict=True):  # the loader is closed: what there is is the program's own
        image = meta["image"]
        np.testing.assert_array_equal(image, sample["image"])
        assert image.flags.writeable
        assert not any(start <= image.ctypes.data < end for start, end in shared)
        image[...] = 0
    assert not any(meta["image"].any() for meta in metas)


def mapped(name):
    """Where files of this name are mapped in this process."""
    with open("/proc/self/maps") as maps:
        places = [line.split()[0].split("-") for line in maps if name in line]
    return [(int(start, 16), int(end, 16)) for start, end in places]


@pytest.mark.parametrize("copy", [False, True])
def test_inputs_are_views_of_shared_memory(pictures, copy):
    def large(sample):
        return {"meta": {"a": np.full((400, 400), sample["label"], np.float32), "b": [np.arange(70000)]}}

    def look(meta):
        inside = [
            any(start <= array.ctypes.data and array.ctypes.data + array.nbytes <= end for start, end in mapped("headrace-heap"))
            for array in (meta["a"], *meta["b"])
        ]
        return json.dumps([inside, [array.ctypes.data % 64 for array in (meta["a"], *meta["b"])], float(meta["a"].sum())])

    p = images(pictures).map(large).map(look, fields="meta", copy=copy)
    told = [json.loads(row["meta"]) for row in rows(p, fuse=False)]
    assert told == [[[not copy] * 2, [0, 0], 160000.0 * sample["label"]] for sample in plain(pictures)]


def test_results_are_copied_once():
    class Watch:
        """Tells how much memory was there at most since the call before."""

        def __init__(self):
            tracemalloc.start()

        def __call__(self, sample):
            peak = tracemalloc.get_traced_memory()[1]
            tracemalloc.reset_peak()
            if sample["x"] < 400:
                return {"peak": 0, "meta": None}  # so quick that several go together
            return {"peak": peak, "meta": {"a": [np.ones(5_000_000)]}}

    source = hr.source([{"x": i} for i in range(406)])
    with source.map(Watch, workers=1, gives={"peak": int, "meta": object}).batch(1).loader(epochs=1, order="input") as loader:
        peaks = [int(batch["peak"][0]) for batch in loader]
    assert max(peaks) > 40_000_000  # the array itself
    assert max(peaks) < 60_000_000  # and not once more


def test_an_object_may_be_changed_and_returned():
    def change(sample):
        sample["meta"]["a"] += 1
        sample["meta"]["said"].append("changed")
        return sample

    source = hr.source([{"meta": {"a": np.full(n, i), "said": []}} for i, n in enumerate([3, 100_000] * 6)])
    for i, row in enumerate(rows(source.map(change).map(change))):
        assert row["meta"]["said"] == ["changed"] * 2
        assert (row["meta"]["a"] == i + 2).all()


def test_steps_that_do_not_touch_them_pass_them_on(pictures):
    p = images(pictures).map(described).map(lambda label: label + 1, fields="label").filter(lambda label: label == 2, fields="label")
    want = [described(sample) for sample in plain(pictures) if sample["label"] == 1]
    got = rows(p)
    assert len(got) == len(want)
    for one, other in zip(got, want, strict=True):
        assert all(same(one[name], other[name]) for name in NAMES)


def test_filter_flat_map_and_coroutines(pictures):
    async def counted(meta, words):
        return len(meta["crops"]) + len(words)

    p = images(pictures).map(described).filter(lambda pair: pair[0].mean() < 110, fields="pair")
    want = [described(sample) for sample in plain(pictures)]
    want = [sample for sample in want if sample["pair"][0].mean() < 110]
    assert 2 < len(want) < len(plain(pictures))
    got = rows(p.map(counted, fields=["meta", "words"], to="count"))
    assert [int(row["count"]) for row in got] == [3 + len(sample["words"]) for sample in want]
    # Fields that pass by a function which makes several samples of one go with each.
    got = rows(p.flat_map(lambda words: [(word,) for word in words], fields="words", to="word", gives=object))
    assert [row["word"] for row in got] == [(word,) for sample in want for word in sample["words"]]
    assert all(same(row["meta"], described(s)["meta"]) for s in plain(pictures) for row in got if row["box"].name == s["key"])


class Indexed:
    def __len__(self):
        return 30

    def __getitem__(self, i):
        return {"n": i, "meta": {"a": np.full(i * 100, i), "next": None if i % 2 else [i]}}


def yielded():
    for i in range(30):
        yield Indexed()[i]


@pytest.mark.parametrize("source", [Indexed(), yielded])
def test_sources_give_them(source):
    got = rows(hr.source(source))
    assert [int(row["n"]) for row in got] == list(range(30))
    assert all(same(row["meta"], Indexed()[i]["meta"]) for i, row in enumerate(got))


def test_declared_objects_take_anything():
    values = [None, 3, "x", b"y", np.arange(3), np.array(["a"]), [1], {"a": 2}, 2.5, np.arange(2, dtype=np.complex64)]
    source = hr.source([{"x": i} for i in range(len(values))])
    got = rows(source.map(lambda x: values[x], fields="x", to="value", gives=dict))
    assert all(same(row["value"], value) for row, value in zip(got, values, strict=True))


def test_buckets_have_lists_and_rows_cannot():
    items = [{"tokens": np.arange(1 + i % 7), "meta": {"i": i}} for i in range(40)]
    p = hr.source(items, gives={"tokens": ("int64", (None,)), "meta": object})
    seen = []
    with p.bucket_batch([4, 8], size=4).loader(epochs=1) as loader:
        for batch in loader:
            assert [1 + meta["i"] % 7 for meta in batch["meta"]] == batch["tokens_length"].tolist()
            seen += [meta["i"] for meta in batch["meta"]]
    assert sorted(seen) == list(range(40))
    with pytest.raises(hr.RecipeError, match=r"cannot pack the field \"meta\", which is an object: a row has several samples"):
        p.pack(16, size=2).loader()


def test_the_steps_of_the_loop_get_lists(pictures):
    def told(batch):
        return {"names": [box.name for box in batch["box"]], "metas": [type(meta).__name__ for meta in batch["meta"]]}

    with images(pictures).map(described).batch(4).map(told, where="main").loader(epochs=1) as loader:
        got = list(loader)
    assert [name for batch in got for name in batch["names"]] == [sample["key"] for sample in plain(pictures)]
    assert {meta for batch in got for meta in batch["metas"]} == {"dict"}


@pytest.mark.timeout(300)
def test_other_frameworks_leave_them_alone(pictures):
    torch = pytest.importorskip("torch")
    with images(pictures).map(described).batch(4).to("torch").loader(epochs=1) as loader:
        batch = next(iter(loader))
        assert isinstance(batch["label"], torch.Tensor)
        assert isinstance(batch["meta"][0]["image"], np.ndarray)


# Classes of the program itself.

SCRIPT = """
import dataclasses, enum, sys
import numpy as np
import headrace as hr

class Kind(enum.Enum):
    SMALL = 1
    LARGE = 2

@dataclasses.dataclass
class Item:
    kind: Kind
    data: np.ndarray
    seen = 0

    def size(self):
        return self.data.size

@dataclasses.dataclass(slots=True)
class Point:
    x: int

class Named(Point):
    __slots__ = ("__name", "__weakref__", "free")

    def __init__(self, x):
        self.x, self.__name = x, str(x)

    def name(self):
        return self.__name

class Open:
    __slots__ = ("x", "__dict__")

def make(sample):
    opened = Open()
    opened.x = opened.y = sample["n"]
    for slotted in (Point(1), Named(1)):
        assert not hasattr(slotted, "__dict__") and slotted.__slots__
    return {
        "item": Item(Kind.LARGE if sample["n"] > 5 else Kind.SMALL, np.arange(sample["n"] * 1000)),
        "slotted": [Point(sample["n"]), Named(sample["n"]), opened],
    }

def use(item):
    assert isinstance(item, Item) and isinstance(item.kind, Kind), type(item)
    return item, item.size()

Item.seen = 1
pipeline = hr.source([{"n": n} for n in range(12)]).map(make, workers=2).map(use, fields="item", to=["item", "size"], workers=2).batch(3)
with pipeline.loader(epochs=1) as loader:
    Item.seen = 2  # workers need not know
    for batch in loader:
        for item, size in zip(batch["item"], batch["size"]):
            assert type(item) is Item and item.kind in (Kind.SMALL, Kind.LARGE)
            assert item.size() == size and Item.seen == 2
        for point, named, opened in batch["slotted"]:
            assert (type(point), type(named), type(opened)) == (Point, Named, Open)
            assert point.x == named.x == int(named.name()) == opened.x == opened.y
print("done")
"""


def test_classes_of_a_script(tmp_path):
    (tmp_path / "script.py").write_text(SCRIPT)
    done = subprocess.run([sys.executable, tmp_path / "script.py"], env=environment_of(), capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout, done.stderr) == (0, "done\n", "")


# When it fails.


def test_what_cannot_be_pickled_is_a_bad_sample():
    def make(sample):
        return {"meta": {"lock": threading.Lock() if sample["x"] == 5 else None}}

    p = hr.source([{"x": i} for i in range(12)]).map(make).batch(3)
    message = (
        r"make \(test_objects.py:\d+\): TypeError: field 'meta' is a dict and cannot be pickled: TypeError: cannot pickle '_thread.lock'"
    )
    with p.loader(epochs=1) as loader, pytest.raises(hr.SampleError, match=message) as caught:
        list(loader)
    assert caught.value.key == "5"
    with p.loader(epochs=1, on_error="skip") as loader:
        assert sum(len(batch["meta"]) for batch in loader) == 11
        assert [error.key for error in loader.errors] == ["5"]


class Shy:
    """Cannot be unpickled by a process that the environment names."""

    def __init__(self, x):
        self.x = x

    def __setstate__(self, state):
        if str(os.getpid()) == os.environ.get("SHY") and state["x"] == 5:
            raise ValueError("not here")
        vars(self).update(state)


def test_what_the_next_worker_cannot_unpickle_is_a_bad_sample():
    class Use:
        def __init__(self):
            os.environ["SHY"] = str(os.getpid())

        def __call__(self, sample):
            return {"x": sample["shy"].x}

    p = hr.source([{"x": i} for i in range(12)]).map(lambda s: {"shy": Shy(s["x"])}).map(Use, gives={"x": int})
    with p.batch(3).loader(epochs=1, fuse=False) as loader, pytest.raises(hr.SampleError) as caught:
        list(loader)
    assert "field 'shy' cannot be unpickled here: ValueError: not here" in str(caught.value)
    assert caught.value.key == "5"
    with p.batch(3).loader(epochs=1, on_error="skip", fuse=False) as loader:
        assert [x for batch in loader for x in batch["x"].tolist()] == [0, 1, 2, 3, 4, 6, 7, 8, 9, 10, 11]


def test_what_the_loop_cannot_unpickle_stays_the_next_batch(monkeypatch):
    p = hr.source([{"x": i} for i in range(12)]).map(lambda s: {"shy": Shy(s["x"])}).batch(3)
    with p.loader(epochs=1) as loader:
        loop = iter(loader)
        assert [shy.x for shy in next(loop)["shy"]] == [0, 1, 2]
        state = loader.state_dict()
        monkeypatch.setenv("SHY", str(os.getpid()))
        for _ in range(3):
            with pytest.raises(
                hr.HeadraceError, match="the object 'shy' in row 2 of the next batch cannot be unpickled here: ValueError"
            ) as caught:
                next(loop)
            assert isinstance(caught.value.__cause__, ValueError)
            assert loader.state_dict() == state
        monkeypatch.delenv("SHY")
        assert [shy.x for batch in loop for shy in batch["shy"]] == list(range(3, 12))


def test_arrays_that_no_batch_has_name_the_way_out():
    source = hr.source([{"x": i} for i in range(4)])
    with pytest.raises(
        hr.SampleError, match=r"'z' is an array of complex64: must be .*; the step gives it as it is with gives={'z': object}"
    ):
        source.map(lambda s: {"z": np.ones(2, np.complex64)}).batch(2).loader()


def test_what_does_not_fit_has_its_article():
    p = hr.source([{"x": i} for i in range(4)]).map(lambda s: {"x": object() if s["x"] else 1}).batch(2)
    with p.loader(epochs=1) as loader, pytest.raises(hr.SampleError, match="field 'x' is an object; the step gives int64"):
        list(loader)


# The command.


@pytest.fixture
def recipe(tmp_path, pictures):
    (tmp_path / "own_objects.py").write_text(
        "def describe(sample):\n    return {'image': sample['image'], 'key': sample['key'], 'meta': {'label': sample['label']}}\n"
    )
    steps = [
        {"files": {"pattern": "**/*.png", "root": str(pictures), "label": "parent"}},
        "decode_image",
        {"center_crop": {"size": [48, 40]}},
        {"map": {"function": "own_objects:describe"}},
        {"batch": {"size": 4}},
    ]
    path = tmp_path / "objects.yaml"
    path.write_text(yaml.safe_dump({"headrace": 1, "steps": steps}))
    return path


def command(recipe, *arguments):
    environment = environment_of(HEADRACE_PYTHON=sys.executable)
    environment["PYTHONPATH"] += os.pathsep + str(recipe.parent)
    engine = os.environ.get("HEADRACE_ENGINE", str(ENGINE))
    return subprocess.run([engine, *map(str, arguments)], env=environment, capture_output=True, text=True, timeout=60)


def test_the_command_runs_and_shows_them(recipe, tmp_path):
    done = command(recipe, "run", recipe, "--epochs", "1")
    assert done.returncode == 0, done.stderr
    done = command(recipe, "inspect", "--samples", "5", recipe)
    assert done.returncode == 0, done.stderr
    assert "meta an object, " in done.stdout
    done = command(recipe, "inspect", "--samples", "1", "--json", recipe)
    assert json.loads(done.stdout)["samples"][0]["objects"][0]["name"] == "meta"
    done = command(recipe, "preview", recipe, "-o", tmp_path / "sheet.png")
    assert done.returncode == 0, done.stderr
    for target in (f"npy:{tmp_path}/npy", f"tar:{tmp_path}/tar/%d.tar"):
        done = command(recipe, "run", recipe, "--out", target)
        assert done.returncode != 0
        assert 'the field "meta" holds Python objects' in done.stderr


def test_a_batch_is_made_again(recipe, monkeypatch):
    monkeypatch.syspath_prepend(str(recipe.parent))
    with hr.load(recipe).loader(epochs=1) as loader:
        states, batches = [loader.state_dict()], []
        for batch in loader:
            batches.append(batch)
            states.append(loader.state_dict())
    again = hr.replay(recipe, states[2], 1)
    assert same(again.batch["meta"], batches[3]["meta"])
    assert len(again.rows) == 4


def test_the_loop_of_a_program_that_ends(tmp_path):
    done = run_python(
        """
        import headrace as hr
        source = hr.source([{"x": i} for i in range(100)])
        for batch in source.map(lambda s: {"meta": {"x": s["x"]}}).batch(2).loader(epochs=1):
            if batch["meta"][0]["x"] > 20:
                print("left")
                break
        """
    )
    assert (done.returncode, done.stdout) == (0, "left\n"), done.stderr
