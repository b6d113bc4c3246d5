"""Fields that are left out, or called something else, without a function."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import headrace as hr
from conftest import files_of
from own import assert_alike, images, plain, rows

pytestmark = pytest.mark.usefixtures("one_engine")


def numbered(n=12):
    """Samples with a field of every kind."""
    return [
        {"n": i, "name": f"s{i}", "jpg": bytes([i] * 9), "row": np.arange(3) + i, "tokens": np.arange(i % 4, dtype=np.int32)}
        for i in range(n)
    ]


GIVES = {"n": int, "name": "text", "jpg": "bytes", "row": ("int64", (3,)), "tokens": ("int32", (None,))}


def kinds():
    return hr.source(numbered(), gives=GIVES)


def got(pipeline, **options):
    """The samples, without their keys."""
    return [{name: value for name, value in sample.items() if name != "key"} for sample in rows(pipeline, **options)]


def test_what_stays_is_as_it_was(pictures):
    want = plain(pictures)
    for fields in (["image"], ["label", "image"], ["key", "image"], ["image", "label", "key"]):
        samples = rows(images(pictures).select(*fields))
        assert [list(sample) for sample in samples] == [fields] * len(want)
        for sample, expected in zip(samples, want, strict=True):
            for name in fields:
                np.testing.assert_array_equal(sample[name], expected[name])


def test_lists_of_names(pictures):
    assert images(pictures).select("image", "label") == images(pictures).select(["image", "label"])
    assert images(pictures).drop(["key"]) == images(pictures).drop("key")


def test_what_is_dropped(pictures):
    samples = rows(images(pictures).drop("label", "key"))
    assert [list(sample) for sample in samples] == [["image"]] * len(samples)


def test_new_names(pictures):
    samples = rows(images(pictures).rename({"label": "class"}, image="pixels"))
    want = [{"pixels": sample["image"], "class": sample["label"]} for sample in plain(pictures)]
    assert_alike(samples, want)


def test_every_kind_of_value():
    samples = got(kinds().drop("jpg", "tokens").rename(n="m", name="text", row="line"))
    assert_alike(samples, [{"m": s["n"], "text": s["name"], "line": s["row"]} for s in numbered()])


def test_sequences_by_another_name():
    with kinds().select("tokens").rename(tokens="words").bucket_batch([2, 4], size=3).loader(epochs=1) as loader:
        lengths = sorted(n for b in loader for n in b["words_length"].tolist())
    assert lengths == sorted(i % 4 for i in range(12))


def test_names_are_exchanged():
    source = [{"a": i, "b": 100 + i, "c": 200 + i, "x": np.full(2, i), "y": np.full(2, -i)} for i in range(9)]
    samples = got(hr.source(source).rename(a="b", b="c", c="a", x="y", y="x"))
    assert_alike(samples, [{"b": s["a"], "c": s["b"], "a": s["c"], "y": s["x"], "x": s["y"]} for s in source])


def test_an_old_name_is_free_again():
    source = [{"a": np.full(2, i), "b": i} for i in range(9)]
    p = hr.source(source).rename(a="c").map(lambda b: np.full(2, -b), fields="b", to="a", gives={"a": ("int64", (2,))})
    samples = got(p.rename(c="d"))
    assert_alike(samples, [{"d": s["a"], "b": s["b"], "a": -s["a"]} for s in source])


def test_a_function_sees_the_new_names():
    samples = got(kinds().drop("jpg", "tokens").rename(n="m").map(lambda s: {"names": ",".join(sorted(s))}))
    assert {sample["names"] for sample in samples} == {"key,m,name,row"}


def test_a_renamed_file_is_decoded(photos):
    source = [{"file": Path(path).read_bytes(), "n": i} for i, path in enumerate(files_of(photos)[:8])]
    p = hr.source(source).rename(file="jpg").decode_image(field="jpg").resize((20, 20)).rename(image="pixels")
    one = got(p)
    other = got(hr.source(source).decode_image(field="file", to="pixels").resize((20, 20)))
    assert_alike(one, other)


def test_steps_on_an_image_stay_one_pass(photos):
    steps = [
        lambda p: p.decode_image(),
        lambda p: p.drop("key"),
        lambda p: p.resize(40),
        lambda p: p.rename(label="y"),
        lambda p: p.random_crop(32),
    ]
    p = hr.files(photos, label="parent")
    for step in steps:
        p = step(p)
    with p.batch(8).loader(epochs=1) as loader:
        batches = list(loader)
        names = [stage["name"] for stage in loader.stats()["stages"]]
    assert names == ["files", "read", "decode_image+drop+resize+rename+random_crop+batch"]
    assert [list(b) for b in batches] == [["image", "y"]] * 6
    with hr.files(photos, label="parent").decode_image().resize(40).random_crop(32).batch(8).loader(epochs=1) as loader:
        for one, other in zip(batches, loader, strict=True):
            np.testing.assert_array_equal(one["image"], other["image"])
            np.testing.assert_array_equal(one["y"], other["label"])


def test_the_image_itself_is_renamed_between_steps(photos):
    p = hr.files(photos, label="parent").decode_image().resize(40).rename(image="pixels", label="image").random_crop(32)
    with p.rename(pixels="image", image="label").batch(8).loader(epochs=1) as loader:
        batches = list(loader)
    with hr.files(photos, label="parent").decode_image().resize(40).random_crop(32).batch(8).loader(epochs=1) as loader:
        for one, other in zip(batches, loader, strict=True):
            np.testing.assert_array_equal(one["image"], other["image"])
            np.testing.assert_array_equal(one["label"], other["label"])


@pytest.mark.parametrize("fuse", [True, False])
def test_behind_a_choice_of_sizes(photos, fuse):
    p = hr.files(photos, label="parent").decode_image().resize_to_bucket([(20, 30), (30, 20)]).drop("key").rename(label="y")
    with p.batch(4).loader(epochs=1, fuse=fuse) as loader:
        shapes = {b["image"].shape[1:3] for b in loader}
    assert shapes == {(20, 30), (30, 20)}


def test_merged_with_what_is_called_otherwise():
    one = [{"n": i, "extra": "x", "row": np.full(2, i)} for i in range(6)]
    other = [{"m": 100 + i, "line": np.full(2, -i)} for i in range(6)]
    p = hr.merge([hr.source(one).drop("extra"), hr.source(other).rename(m="n", line="row")])
    samples = got(p)
    want = [sample for i in range(6) for sample in ({"n": i, "row": np.full(2, i)}, {"n": 100 + i, "row": np.full(2, -i)})]
    assert_alike(samples, want)


def test_in_branches():
    source = [{"kind": i % 2, "a": i, "b": -i} for i in range(12)]
    p = hr.source(source).route("kind", [(0, lambda p: p.drop("b").rename(a="c")), lambda p: p.drop("a").rename(b="c")])
    samples = got(p)
    assert_alike(samples, [{"kind": s["kind"], "c": s["b"] if s["kind"] else s["a"]} for s in source])


def test_samples_that_come_for_others(own_photos):
    broken = files_of(own_photos)[3]
    with open(broken, "r+b") as file:
        file.truncate(100)
    p = hr.files(own_photos, label="parent").rename(label="y").decode_image().drop("key").resize((20, 20)).batch(4)
    with p.loader(epochs=1, on_error="replace") as loader:
        batches = list(loader)
    assert sum(len(b["y"]) for b in batches) == 16
    assert loader.errors.replaced == 1


def test_classes_go_with_their_label(photos):
    p = hr.files(photos, label="parent").decode_image().resize((8, 8))
    with p.drop("label").batch(4).loader() as loader:
        assert loader.classes == []
    with p.drop("key").batch(4).loader() as loader:
        assert loader.classes == ["ant", "bee", "cat"]


def test_a_file_that_is_left_over_is_named_with_the_remedy():
    with pytest.raises(hr.RecipeError, match=r'cannot stack the field "jpg",.*leave the field out: drop\("jpg"\).*gives={"jpg": object}'):
        kinds().drop("tokens").batch(4).loader()
    assert len(rows(kinds().drop("jpg", "tokens"))) == 12


def test_recipes_have_them(photos, tmp_path):
    p = hr.files(photos, label="parent").decode_image().resize((8, 8)).drop("key").rename(label="y").select("y", "image").batch(4)
    (tmp_path / "r.yaml").write_text(p.recipe())
    with hr.load(tmp_path / "r.yaml").loader(epochs=1) as one, p.loader(epochs=1) as other:
        for a, b in zip(one, other, strict=True):
            assert list(a) == list(b) == ["y", "image"]
            np.testing.assert_array_equal(a["image"], b["image"])
    assert "drop" in repr(p)


@pytest.mark.parametrize(
    ("step", "message"),
    [
        (lambda p: p.drop("lable"), 'did you mean "label"'),
        (lambda p: p.select(), "fields is empty"),
        (lambda p: p.drop(3), "3 is not a field name"),
        (lambda p: p.rename(image=3), "must be names of fields"),
        (lambda p: p.rename(image="key"), 'renames "image" to "key", the name of another field'),
        (lambda p: p.drop("image", "label", "key"), "nothing would be left of a sample"),
    ],
)
def test_mistakes(photos, step, message):
    with pytest.raises(hr.RecipeError, match=message):
        step(hr.files(photos, label="parent").decode_image().resize((8, 8))).batch(4).loader()


def test_fields_of_batches():
    source = [{"a": i, "b": -i, "c": f"s{i}"} for i in range(10)]
    with hr.source(source).batch(4).drop("b", "key").rename(a="z").loader(epochs=1, workers=1) as loader:
        batches = [(b["z"].tolist(), list(b["c"])) for b in loader]
        assert list(loader.schema) == ["z", "c"]
    assert batches == [([s["a"] for s in part], [s["c"] for s in part]) for part in (source[:4], source[4:8], source[8:])]
    with hr.source(source).batch(4).unbatch().select("c").loader(epochs=1, workers=1) as loader:
        assert [str(sample["c"]) for sample in loader] == [s["c"] for s in source]
