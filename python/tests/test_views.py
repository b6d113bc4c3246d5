"""Several views of one image."""

import json
import subprocess

import numpy as np
import pytest
from PIL import Image

import headrace as hr
from headrace._client.program import find_program
from headrace._steps import ON_IMAGES
from headrace.errors import RecipeError, SampleError

SIZES = [(40, 60), (64, 48), (50, 50), (33, 91)]


@pytest.fixture(scope="module")
def pictures(tmp_path_factory):
    folder = tmp_path_factory.mktemp("pictures")
    rng = np.random.default_rng(4)
    for i, (height, width) in enumerate(SIZES):
        Image.fromarray(rng.integers(0, 256, (height, width, 3), np.uint8)).save(folder / f"{i}.png")
    return sorted(map(str, folder.iterdir()))


def rows(p, **options):
    with p.loader(epochs=1, **options) as loader:
        return [{k: np.array(v) if isinstance(v, np.ndarray) else v for k, v in sample.items()} for sample in loader]


def augmented(p):
    return p.random_resized_crop(16, scale=(0.2, 1)).random_flip().color_jitter(0.4)


def test_views_are_what_pillow_makes(pictures):
    made = (
        hr.files(pictures)
        .decode_image()
        .views(small=lambda p: p.resize((20, 30)), middle=lambda p: p.center_crop(24).rotate90(1), keep=True)
    )
    for row, path in zip(rows(made), pictures, strict=True):
        with Image.open(path) as image:
            np.testing.assert_array_equal(row["image"], np.asarray(image))
            np.testing.assert_array_equal(row["small"], np.asarray(image.resize((30, 20), Image.Resampling.BILINEAR)))
            top, left = round((image.height - 24) / 2), round((image.width - 24) / 2)
            part = np.asarray(image.crop((left, top, left + 24, top + 24)))
            assert row["middle"].shape == part.shape
            assert np.array_equal(row["middle"], np.rot90(part)) or np.array_equal(row["middle"], np.rot90(part, -1))


@pytest.mark.parametrize("workers", [1, 4])
@pytest.mark.parametrize("fuse", [True, False])
def test_each_view_is_as_if_it_were_alone(pictures, tmp_path, workers, fuse):
    """A view has the pixels that a pipeline of its steps alone has, whose steps have the same names; and no two views are alike."""
    both = hr.files(pictures, seed=3).shuffle().decode_image().views(2, augmented).batch(2)
    with both.loader(epochs=2, workers=workers, fuse=fuse) as loader:
        got = [{k: np.array(v) for k, v in b.items() if k.startswith("view")} for _ in range(2) for b in loader]
    assert [set(b) for b in got] == [{"view_0", "view_1"}] * 4
    assert not any((b["view_0"] == b["view_1"]).all() for b in got)
    for i, name in enumerate(["view_0", "view_1"]):
        described = json.loads(both.recipe("json"))
        files, shuffle, decode, _, *steps, _, batch = described["steps"]
        steps = [
            {op: {k: v for k, v in args.items() if k != "field"}} for op, args in (next(iter(s.items())) for s in steps[3 * i : 3 * i + 3])
        ]
        if i:
            steps = [step | {"name": f"{next(iter(step))}_2"} for step in steps]
        (tmp_path / "alone.json").write_text(json.dumps(described | {"steps": [files, shuffle, decode, *steps, batch]}))
        with hr.load(tmp_path / "alone.json").loader(epochs=2, workers=workers) as loader:
            alone = [np.array(b["image"]) for _ in range(2) for b in loader]
        for one, b in zip(alone, got, strict=True):
            np.testing.assert_array_equal(one, b[name])


def test_many_views_with_little_memory(pictures):
    """Views of an image are in its memory until they have their own."""
    made = (
        hr.files(pictures * 20, seed=1).decode_image().views(large=(2, augmented), small=(6, lambda p: p.random_resized_crop(8))).batch(8)
    )
    with made.loader(epochs=1, memory="1MiB") as loader:
        count = 0
        for b in loader:
            assert set(b) == {"key", *(f"large_{i}" for i in range(2)), *(f"small_{i}" for i in range(6))}
            count += len(b["key"])
    assert count == 80


def noisy(image, rng):
    image[...] = rng.integers(0, 256, image.shape)  # as a function may that changes what it is given
    return image


def cropped_and_noisy(p):
    return p.random_resized_crop(16).map(noisy).random_flip()


@pytest.mark.parametrize("where", ["process", "thread", "here"])
def test_a_function_of_a_view(pictures, where):
    """It is given its view and nothing else, between the view's other steps, and changes no other view."""

    def inverted(image):
        return 255 - image

    def plus(image, label):
        return image + np.uint8(label)

    p = (
        hr.files([(path, i) for i, path in enumerate(pictures)])
        .decode_image()
        .views(
            plain=lambda p: p.center_crop(32),
            inverse=lambda p: p.map(inverted, where=where).center_crop(32),
            named=lambda p: p.center_crop(32).map(inverted, fields="image", gives=("uint8", (32, 32, 3)), where=where),
            spoilt=lambda p: p.map(noisy, where=where).center_crop(32),
            more=lambda p: p.center_crop(32).map(plus, fields=["image", "label"], to="image", where=where).map(inverted, where=where),
            keep=True,
        )
    )
    for i, (row, path) in enumerate(zip(rows(p), pictures, strict=True)):
        with Image.open(path) as image:
            np.testing.assert_array_equal(row["image"], np.asarray(image))
        np.testing.assert_array_equal(row["inverse"], 255 - row["plain"])
        np.testing.assert_array_equal(row["named"], row["inverse"])
        np.testing.assert_array_equal(row["more"], 255 - (row["plain"] + np.uint8(i)))
        assert row["spoilt"].shape == (32, 32, 3)
        assert not np.array_equal(row["spoilt"], row["plain"])


def test_functions_of_views_draw_for_themselves_and_go_on(pictures):
    made = hr.files(pictures * 4, seed=7).shuffle().decode_image().views(2, cropped_and_noisy).batch(2)
    with made.loader(epochs=1, workers=3) as loader:
        whole = []
        for batch in loader:
            whole.append(seen(batch))
            if len(whole) == 3:
                state = loader.state_dict()
    assert not any((batch["view_0"] == batch["view_1"]).all() for batch in whole)
    ranks = []
    for rank in range(2):
        with made.loader(epochs=1, rank=rank, world_size=2) as loader:
            loader.load_state_dict(state)
            ranks += [(key, a.tobytes(), b.tobytes()) for batch in map(seen, loader) for key, a, b in zip(*batch.values(), strict=True)]
    want = [(key, a.tobytes(), b.tobytes()) for batch in whole[3:] for key, a, b in zip(*batch.values(), strict=True)]
    assert sorted(ranks) == sorted(want)


def test_a_function_that_fails_names_its_view(pictures):
    def late(image):
        if image.shape[0] == 64:
            raise ValueError("not this one")
        return image

    made = hr.files(pictures).decode_image().views(a=lambda p: p.map(noisy), b=(2, lambda p: p.map(noisy).map(late)))
    with made.loader(epochs=1) as loader, pytest.raises(SampleError, match=r"late.*not this one\n.*1\.png, in b_0\.map_2, ") as caught:
        list(loader)
    assert caught.value.step == "b_0.map_2"
    skipped = (
        hr.files(pictures).decode_image().views(v=lambda p: p.map(late).failures(on_error="skip", max_errors=1).center_crop(8)).batch(3)
    )
    with skipped.loader(epochs=1) as loader:
        assert [len(batch["key"]) for batch in loader] == [3]
        assert loader.errors.total == 1


def test_a_recipe_has_functions_of_views(pictures, tmp_path):
    made = hr.files(pictures).decode_image().center_crop(8).views(a=lambda p: p.map(np.flipud), b=lambda p: p.random_flip(p=0)).batch(4)
    described = made.recipe("json")
    steps = json.loads(described)["steps"]
    assert [step for step in steps if "map" in step] == [
        {"map": {"function": "numpy:flipud", "fields": ["a"], "where": "process", "copy": False}, "name": "a.map"}
    ]
    (tmp_path / "views.json").write_text(described)
    (batch,) = rows(hr.load(tmp_path / "views.json"))
    np.testing.assert_array_equal(batch["a"], batch["b"][:, ::-1])


@pytest.mark.parametrize("where", ["process", "here"])
def test_a_function_changes_one_view_alone(pictures, where):
    def black(view):
        view[...] = 0
        return view

    p = (
        hr.files(pictures)
        .decode_image()
        .copy("image", to="other")
        .map(black, fields="other", to="other", gives={"other": ("uint8", (None, None, 3))}, where=where)
    )
    for row, path in zip(rows(p), pictures, strict=True):
        assert not row["other"].any()
        with Image.open(path) as image:
            np.testing.assert_array_equal(row["image"], np.asarray(image))


def test_text_and_numbers_are_copied(pictures):
    p = (
        hr.files([(path, i) for i, path in enumerate(pictures)])
        .decode_image()
        .resize((8, 8))
        .copy("label", to=["a", "b"])
        .copy("key", to="name")
        .batch(4)
    )
    (batch,) = rows(p)
    assert batch["a"].tolist() == batch["b"].tolist() == batch["label"].tolist() == [0, 1, 2, 3]
    assert list(batch["name"]) == pictures


def test_a_bad_view_is_named(pictures):
    made = hr.files(pictures).decode_image().views(2, lambda p: p.random_crop(45)).batch(1)
    with made.loader(epochs=1) as loader, pytest.raises(SampleError, match=r"0\.png.*random_crop"):
        list(loader)


def seen(batch):
    return {name: np.array(value) if isinstance(value, np.ndarray) else list(value) for name, value in batch.items()}


def same(a, b):
    assert a.keys() == b.keys()
    for name in a:
        np.testing.assert_array_equal(a[name], b[name])


@pytest.mark.parametrize("world", [1, 2])
def test_a_run_goes_on_with_the_very_next_views(pictures, world):
    """In the middle of an epoch, also on another number of ranks: each sample has the views that the whole run gives it."""
    made = hr.files(pictures * 4, seed=7).shuffle().decode_image().views(big=augmented, small=(2, augmented)).batch(2)
    with made.loader(epochs=1) as loader:
        whole = [seen(batch) for batch in loader]
    with made.loader(epochs=1) as loader:
        loop = iter(loader)
        same(seen(next(loop)), whole[0])
        state = loader.state_dict()
    ranks = []
    for rank in range(world):
        with made.loader(epochs=1, rank=rank, world_size=world) as loader:
            loader.load_state_dict(state)
            ranks.append([seen(batch) for batch in loader])
    if world == 1:
        for got, want in zip(ranks[0], whole[1:], strict=True):
            same(got, want)
        return
    rows = [(batch["key"][i], *(batch[v][i].tobytes() for v in ("big", "small_0", "small_1"))) for batch in whole[1:] for i in range(2)]
    again = [
        (batch["key"][i], *(batch[v][i].tobytes() for v in ("big", "small_0", "small_1")))
        for rank in ranks
        for batch in rank
        for i in range(len(batch["key"]))
    ]
    assert sorted(again) == sorted(rows)


def test_views_are_replayed(pictures):
    made = hr.files(pictures * 3, seed=2).shuffle().decode_image().views(2, augmented).batch(2)
    with made.loader(epochs=1) as loader:
        state = loader.state_dict()
        for n, batch in enumerate(loader):
            again, rows = hr.replay(made, state, n)
            same(seen(again), seen(batch))
            for row in rows:
                drew = [(draw["step"], tuple(draw["values"].items())) for draw in row["draws"] if "crop" in draw["step"]]
                assert len(drew) == 2, "each view has draws of its own"
                assert drew[0][1] != drew[1][1]


def test_a_recipe_says_the_same(pictures, tmp_path):
    made = hr.files(pictures, seed=5).decode_image().views(2, augmented, keep=False).batch(2)
    (tmp_path / "views.yaml").write_text(made.recipe("yaml"))
    assert "copy: {field: image, to: [view_0, view_1]}" in made.recipe("yaml")
    for a, b in zip(rows(made), rows(hr.load(tmp_path / "views.yaml")), strict=True):
        np.testing.assert_array_equal(a["view_1"], b["view_1"])


def test_steps_of_views_are_those_on_images():
    schema = json.loads(subprocess.check_output([find_program(), "schema"]))["$defs"]
    on_fields = {name.removeprefix("args.") for name, args in schema.items() if {"field", "fields"} <= set(args.get("properties", ()))}
    assert on_fields - {"decode_npz", "frame_drop", "temporal_jitter"} == ON_IMAGES


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        (lambda p: p.views(), "there are none"),
        (lambda p: p.views(0, augmented), "0 is not a number of views"),
        (lambda p: p.views(True, augmented), "True is not a number of views"),
        (lambda p: p.views(augmented), "is not a number of views"),
        (lambda p: p.views(2), "None is not a function"),
        (lambda p: p.views(weak=3), r"weak is 3: must be a function of a pipeline, or \(how many, the function\)"),
        (lambda p: p.views(2, lambda p: None), "the function of view_0 returns None"),
        (
            lambda p: p.views(2, lambda p: p.shuffle()),
            "shuffle does not work on an image: put it before the views, or after them",
        ),
        (
            lambda p: p.views(2, lambda p: p.filter(len)),
            r'filter in view_0 would be of whole samples.*: write \.filter\(…, fields="view_0"\) after \.views\(…\)',
        ),
        (
            lambda p: p.views(2, lambda p: p.map(len, fields="key")),
            r"map in view_0 is not given the view: its fields are \['key'\]: leave them out, or add 'image', the view in here",
        ),
        (
            lambda p: p.views(2, lambda p: p.map(max, fields=["key", "image"])),
            r"map in view_0 would make \['key', 'image'\]: a view's function makes the view alone: add to=\"image\", or write \.map",
        ),
        (
            lambda p: p.views(a=lambda p: p.map(len, fields="image", to="size")),
            r'map in a would make \[\'size\'\].*, or write \.map\(…, fields="a", to=…\) after \.views\(…\)',
        ),
        (
            lambda p: p.views(2, lambda p: p.map(noisy, gives={"image": ("uint8", (8, 8, 3)), "label": "int64"})),
            r"map in view_0 would make \['image', 'label'\]: it is given the view, an image, and returns the view: say its type alone",
        ),
        (lambda p: p.views(2, lambda p: p.map(noisy, where="main")), r'map: where="main" is for functions of batches'),
        (lambda p: p.views(2, lambda p: p.random_flip(field="image")), "random_flip names its field: leave that out"),
        (lambda p: p.views(2, augmented, field=3), "copy: field is 3: must be the name of a field"),
        (lambda p: p.views(2, augmented, field="picture").batch(2).loader(), 'field is an unknown field "picture"'),
        (lambda p: p.views(key=augmented).batch(2).loader(), r'to\[0\] is "key": the samples have a field of this name already'),
    ],
)
def test_mistakes(pictures, wrong, says):
    with pytest.raises(RecipeError, match=says):
        wrong(hr.files(pictures).decode_image())
