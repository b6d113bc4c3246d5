"""Fields of a batch whose arrays differ in their first extent; and such arrays beside files."""

from __future__ import annotations

import json
import subprocess

import jax
import ml_dtypes
import numpy as np
import pytest
import torch
from PIL import Image
from torchvision import tv_tensors
from torchvision.transforms import v2

import headrace as hr
from headrace._client.program import find_program
from headrace.errors import RecipeError

pytestmark = pytest.mark.usefixtures("one_engine")


def scenes(count=10):
    r = np.random.default_rng(0)
    rows = []
    for i in range(count):
        n = i % 4
        rows.append({"boxes": r.random((n, 4), "float32"), "labels": r.integers(0, 90, n), "id": i})
    return rows


GIVES = {"boxes": ("float32", (None, 4)), "labels": ("int64", (None,)), "id": int}


def batches(pipeline, **options):
    with pipeline.loader(epochs=1, **options) as loader:
        return list(loader)


@pytest.mark.parametrize("where", ["here", "process"])
def test_lists_over_one_memory(where):
    rows = scenes()
    pipeline = hr.source(rows, gives=GIVES, where=where).batch(4, ragged=["boxes", "labels"])
    got = batches(pipeline)
    assert [len(batch["id"]) for batch in got] == [4, 4, 2]
    for batch in got:
        boxes = batch["boxes"]
        assert isinstance(boxes, list)
        assert isinstance(boxes, hr.Ragged)
        for i, one, labels in zip(batch["id"], boxes, batch["labels"], strict=True):
            np.testing.assert_array_equal(one, rows[i]["boxes"], strict=True)
            np.testing.assert_array_equal(labels, rows[i]["labels"], strict=True)
            assert one.size == 0 or np.shares_memory(one, boxes.values)
        np.testing.assert_array_equal(boxes.values, np.concatenate([rows[i]["boxes"] for i in batch["id"]]))
        assert boxes.offsets.tolist() == np.cumsum([0] + [len(rows[i]["boxes"]) for i in batch["id"]]).tolist()
        boxes.values[:] = 0  # it is yours
    with pipeline.loader(epochs=1) as loader:
        assert loader.schema["boxes"] == hr.Field("ragged", "float32", (None, 4))
        assert "{boxes: float32 [?, 4], labels: int64 [?], id: int64 []" in repr(loader)


def test_the_first_sample_tells_the_type():
    rows = scenes()[1:]
    got = batches(hr.source(rows, where="here").batch(4, ragged=["boxes", "labels"]))
    for batch in got:
        for i, one in zip(batch["id"], batch["boxes"], strict=True):
            np.testing.assert_array_equal(one, rows[i - 1]["boxes"], strict=True)


def test_other_frameworks():
    rows = scenes()
    pipeline = hr.source(rows, gives=GIVES, where="here").batch(5, ragged=["boxes", "labels"])
    batch = batches(pipeline.to("torch"))[0]
    assert all(
        isinstance(one, torch.Tensor) and one.untyped_storage().data_ptr() == batch["boxes"].values.untyped_storage().data_ptr()
        for one in batch["boxes"]
    )
    jagged = torch.nested.nested_tensor_from_jagged(batch["boxes"].values, torch.from_numpy(batch["boxes"].offsets))
    assert [len(one) for one in jagged.unbind()] == [0, 1, 2, 3, 0]
    assert batches(pipeline.to("torch", device="cpu"))[0]["labels"][2].tolist() == rows[2]["labels"].tolist()
    batch = batches(pipeline.to("jax"))[0]
    assert all(isinstance(one, jax.Array) for one in batch["boxes"])
    np.testing.assert_array_equal(batch["boxes"][3], rows[3]["boxes"])
    x, y = batches(pipeline.to("torch").tuples("boxes", "labels"))[0]
    assert len(x) == len(y) == 5


def test_bfloat16():
    rows = [{"x": np.arange(2 * n).reshape(n, 2).astype(ml_dtypes.bfloat16)} for n in (3, 0, 2)]
    want = [row["x"].tolist() for row in rows]
    pipeline = hr.source(rows, gives={"x": ("bfloat16", (None, 2))}, where="here").batch(3, ragged="x")
    got = batches(pipeline)[0]["x"]
    assert got.values.dtype == ml_dtypes.bfloat16
    assert [one.astype("float32").tolist() for one in got] == want
    got = batches(pipeline.to("torch"))[0]["x"]
    assert {got.values.dtype, *(one.dtype for one in got)} == {torch.bfloat16}
    assert [one.tolist() for one in got] == want
    got = batches(pipeline.to("jax"))[0]["x"]
    assert {one.dtype for one in got} == {jax.numpy.dtype("bfloat16")}
    assert [one.tolist() for one in got] == want


def test_ranks_states_and_losses():
    rows = scenes(30)
    pipeline = hr.source(rows, gives=GIVES, where="here").shuffle(seed=1).batch(global_size=6, ragged=["boxes", "labels"])
    whole = batches(pipeline)
    parts = [batches(pipeline, rank=rank, world_size=2) for rank in range(2)]
    for one, *two in zip(whole, *parts, strict=True):
        assert [b.tolist() for b in one["boxes"]] == [b.tolist() for part in two for b in part["boxes"]]
    with pipeline.loader(epochs=1) as loader:
        next(iter(loader))
        state = loader.state_dict()
    with pipeline.loader(epochs=1) as loader:
        loader.load_state_dict(state)
        assert [[b.tolist() for b in batch["boxes"]] for batch in loader] == [[b.tolist() for b in batch["boxes"]] for batch in whole[1:]]

    class Bad:
        def __len__(self):
            return 30

        def __getitem__(self, i):
            if i % 5 == 2:
                raise ValueError("bad")
            return rows[i]

    left = batches(hr.source(Bad(), gives=GIVES, where="here").batch(4, ragged=["boxes", "labels"]), on_error="skip", max_errors=100)
    assert [i for batch in left for i in batch["id"]] == [i for i in range(30) if i % 5 != 2]
    for batch in left:
        for i, one in zip(batch["id"], batch["boxes"], strict=True):
            np.testing.assert_array_equal(one, rows[i]["boxes"])


def test_arrays_that_functions_and_files_make(tmp_path):
    for i in range(5):
        np.save(tmp_path / f"{i}.npy", np.arange(i * 2, dtype="int32").reshape(i, 2))
    got = batches(hr.files(str(tmp_path / "*.npy")).decode_npy("int32", (None, 2), to="a").batch(3, ragged="a"))
    assert [one.tolist() for batch in got for one in batch["a"]] == [np.arange(i * 2).reshape(i, 2).tolist() for i in range(5)]
    mapped = hr.source(range(6), fields="n", where="here").map(
        lambda n: np.arange(n) > 2, fields="n", to="a", gives={"a": ("bool", (None,))}, where="here"
    )
    got = batches(mapped.batch(6, ragged="a"))[0]["a"]
    assert [one.tolist() for one in got] == [(np.arange(n) > 2).tolist() for n in range(6)]


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda p: p.batch(2, ragged=["boxes", "labels", "x"]), 'ragged has "x", and there is no such field'),
        (
            lambda p: p.batch(2, ragged=["boxes", "labels", "id"]),
            'the field "id", which is int64.*: must be an array whose first extent alone',
        ),
        (lambda p: p.batch(2, ragged=["boxes", "boxes", "labels"]), 'ragged has "boxes" twice'),
        (lambda p: p.batch(2, ragged="boxes"), 'cannot stack sequences of different lengths: the field "labels"'),
        (lambda p: p.batch(2, ragged=["boxes", "labels"], collate=len), "ragged is given with collate"),
        (lambda p: p.batch(2, ragged=["boxes", "labels"]).map(len, where="here"), "has ragged fields, which only your loop gets"),
        (lambda p: p.batch(2, ragged=["boxes", "labels"]).unbatch(), "has ragged fields, which only your loop gets"),
        (lambda p: p.route("id", [(0, lambda q: q.batch(1, ragged=["boxes", "labels"])), lambda q: q.batch(2)]), "ragged"),
    ],
)
def test_what_is_not_ragged(make, said):
    with pytest.raises(RecipeError, match=said):
        make(hr.source(scenes(), gives=GIVES, where="here")).loader()


def test_images_are_not_ragged(photos):
    with pytest.raises(RecipeError, match='ragged has the field "image", which is uint8'):
        hr.files(photos).decode_image().batch(2, ragged="image").loader()


# Beside files.


def coco(folder, count=9):
    """Pictures with boxes and labels, as COCO's annotations have them."""
    r = np.random.default_rng(1)
    rows = []
    for i in range(count):
        Image.fromarray(r.integers(0, 255, (60 + i, 80, 3), dtype="uint8")).save(folder / f"{i}.png")
        boxes = [[10.5, 5, 30, 25 + k] for k in range(i % 3)]
        rows.append({"path": str(folder / f"{i}.png"), "boxes": boxes, "labels": [k + 1 for k in range(i % 3)], "image_id": i})
    return rows


def test_detection_without_collate(tmp_path):
    rows = coco(tmp_path)
    pipeline = hr.files(rows).decode_image().boxes(along="labels").resize((32, 32)).to("torch")
    seen = 0
    for images, boxes, labels, ids in batches(pipeline.batch(4, ragged=["boxes", "labels"]).tuples("image", "boxes", "labels", "image_id")):
        targets = [{"boxes": b, "labels": c} for b, c in zip(boxes, labels)]  # what torchvision's models take
        for i, image, target in zip(ids.tolist(), images, targets):
            height = 60 + i
            want = tv_tensors.BoundingBoxes(
                torch.tensor(rows[i]["boxes"], dtype=torch.float64).reshape(-1, 4), format="XYXY", canvas_size=(height, 80)
            )
            want = v2.functional.resize(want, [32, 32])
            torch.testing.assert_close(target["boxes"], want.as_subclass(torch.Tensor), atol=1e-4, rtol=1e-5)
            assert target["labels"].tolist() == rows[i]["labels"]
            assert image.shape == (32, 32, 3)
            seen += 1
    assert seen == 9


@pytest.fixture
def files(tmp_path, monkeypatch):
    """Empty files of any name that has one letter."""
    monkeypatch.chdir(tmp_path)
    for name in "abc":
        (tmp_path / name).touch()


def values(rows, name="v", **options):
    """The values of a field in all samples, with its type."""
    with hr.files(rows, content=False, **options).batch(2, ragged=name).loader(epochs=1) as loader:
        field = loader.schema[name]
        return (field.dtype, field.shape), [one for batch in loader for one in batch[name]]


@pytest.mark.parametrize(
    ("column", "kind"),
    [
        ([[1, 2], [], [3]], ("int64", (None,))),
        ([[1.5, 2], [], [3]], ("float64", (None,))),
        ([(1, 2), (3,)], ("int64", (None,))),
        ([[[1, 2, 3, 4]], [], [[5, 6, 7, 8]] * 2], ("int64", (None, 4))),
        ([np.zeros((0, 4), "float32"), np.ones((2, 4), "float32")], ("float32", (None, 4))),
        ([np.ones(2, "float16"), np.ones(3, "float32") / 3], ("float32", (None,))),
        ([np.ones(2, "uint8"), np.ones(0, "uint8")], ("int64", (None,))),
        ([[True], [], [False, True]], ("bool", (None,))),
        ([torch.ones(2, 3), torch.zeros(1, 3)], ("float32", (None, 3))),
        ([[], []], ("float64", (None,))),
        ([np.zeros((2, 2, 3)), np.ones((1, 2, 3))], ("float64", (None, 2, 3))),
        ([[1], [2.5]], ("float64", (None,))),
        ([[-(2**63)], [2**63 - 1]], ("int64", (None,))),
    ],
)
@pytest.mark.usefixtures("files")
def test_arrays_beside_files(column, kind):
    rows = [{"path": name, "v": value} for name, value in zip("abc", column)]
    got_kind, got = values(rows)
    assert got_kind == kind
    for one, value in zip(got, column, strict=True):
        want = np.asarray(value, dtype=kind[0]).reshape(-1, *kind[1][1:])
        np.testing.assert_array_equal(one, want, strict=True)


@pytest.mark.usefixtures("files")
def test_arrays_in_frames_tuples_and_recipes(tmp_path):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"path": ["a", "b"], "v": [[1, 2], [3]]})
    assert [one.tolist() for one in values(frame)[1]] == [[1, 2], [3]]
    assert [one.tolist() for one in values([("a", [1.5]), ("b", [])], name="label")[1]] == [[1.5], []]
    path = tmp_path / "recipe.yaml"
    path.write_text(hr.files([("a", [[1.5, 2]]), ("b", [])], content=False).batch(2, ragged="label").recipe())
    with hr.load(path).loader(epochs=1) as loader:
        assert [one.tolist() for one in next(iter(loader))["label"]] == [[[1.5, 2]], []]


@pytest.mark.parametrize(
    ("column", "said"),
    [
        ([[1], 2], "item 1 has v = 2, a single value, and other items have arrays"),
        ([[1], "a"], "item 1 has v = 'a', which is not an array of numbers"),
        ([[1], None], "item 1 has v = None, which is not an array of numbers"),
        ([[[1, 2], [3]], [[1, 2]]], r"item 0 has v = \[\[1, 2\], \[3\]\], which cannot become an array"),
        ([["a", "b"]], "which is not an array of numbers"),
        ([np.zeros((2, 3)), np.zeros((2, 4))], r"item 1 has v of shape \[2, 4\], item 0 of \[2, 3\]: only the first extent"),
        ([np.zeros((2, 3)), np.zeros(2)], r"item 1 has v of shape \[2\], item 0 of \[2, 3\]: only the first extent"),
        ([np.zeros((2, 0))], "only the first extent may be 0"),
        ([[1.0, float("nan")]], "has a missing value, or no finite number"),
        ([[True], [1]], "v has bools in some items and numbers in others"),
        ([[2**63]], "which int64 cannot hold"),
        ([[1 + 2j]], "which is not an array of numbers"),
    ],
)
def test_values_without_a_type(column, said):
    with pytest.raises(RecipeError, match=said):
        hr.files([{"path": f"{i}", "v": value} for i, value in enumerate(column)])


@pytest.mark.usefixtures("files")
def test_ragged_fields_in_commands(tmp_path):
    path = tmp_path / "recipe.yaml"
    pipeline = hr.files([("a", [[1.5, 2]]), ("b", [])], content=False, seed=1).take(2).batch(2, ragged="label")
    path.write_text(pipeline.recipe())

    def said(*command, code=0):
        done = subprocess.run([find_program(), *command], capture_output=True, text=True)
        assert done.returncode == code, done.stderr
        return done.stdout + done.stderr

    assert "2 samples" in said("run", path, "--epochs", "1")
    assert 'the field "label" is ragged' in said("run", path, "--out", f"jsonl:{tmp_path}/out-%d.jsonl", code=2)
    assert "label" in said("inspect", path)
    (tmp_path / "state.json").write_text(json.dumps(pipeline.loader(rank=0, world_size=1).state_dict()))
    assert "label" in said("replay", path, "--state", "state.json", "--batch", "0")


def test_columns_of_recipes_are_checked(tmp_path):
    def said(column, paths=2):
        path = tmp_path / "recipe.json"
        files = {"paths": ["a", "b"][:paths], "columns": {"v": column}, "content": False}
        path.write_text(json.dumps({"headrace": 1, "steps": [{"files": files}, {"batch": {"size": 2, "ragged": ["v"]}}]}))
        with pytest.raises(RecipeError) as error:
            hr.load(path).loader()
        return str(error.value)

    assert "which cannot have the shape [?, 4]" in said({"shape": [None, 4], "float32": [[1, 2, 3], []]})
    assert "which cannot have the shape [2]" in said({"shape": [2], "float32": [[1, 2], [1]]})
    assert "must be an object like" in said({"shape": [None, None], "float32": [[], []]})
    assert "must be an object like" in said({"shape": [0], "float32": [[], []]})
    assert "must be an object like" in said({"shape": [], "float32": [[], []]})
    assert "must be an object like" in said({"shape": [None], "float32": [[1], None]})
    assert "must be an object like" in said({"shape": [None], "text": [["a"], ["b"]]})
    assert "must be an object like" in said({"shape": [None]})
    assert "there are 2 paths" in said({"shape": [None], "int64": [[1]]})
