"""Several sources as one: whose turn it is, and what comes of each. The references are loops over lists, and NumPy."""

from __future__ import annotations

import itertools
import json
import math
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import headrace as hr
from conftest import rest_of_epochs

SIDE = 12
COUNTS = {"ant": 7, "bee": 4, "cat": 1}


def noise(seed: int) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 256, (SIDE, SIDE, 3), np.uint8)


def write(folder: Path, counts: dict[str, int]) -> dict[str, list[str]]:
    """PNG files, which every decoder reads the same, in a folder each. Returns the paths in the order of the folders."""
    paths: dict[str, list[str]] = {}
    for k, (name, count) in enumerate(counts.items()):
        (folder / name).mkdir(parents=True)
        paths[name] = [f"{folder}/{name}/{i}.png" for i in range(count)]
        for i, path in enumerate(paths[name]):
            Image.fromarray(noise(1000 * k + i)).save(path)
    return paths


@pytest.fixture(scope="module")
def animals(tmp_path_factory) -> dict[str, list[str]]:
    return write(tmp_path_factory.mktemp("animals"), COUNTS)


def source(paths: list[str], **options) -> hr.Pipeline:
    return hr.files(paths, **options).decode_image()


def keys(loader) -> list[str]:
    return [key for batch in loader for key in batch["key"]]


def epochs_of(pipeline: hr.Pipeline, epochs: int = 1, **options) -> list[list[str]]:
    with pipeline.center_crop(8).batch(3).loader(epochs=epochs, **options) as loader:
        return [keys(loader) for _ in range(epochs)]


def in_turns(streams: list[list[str]], until: str) -> list[str]:
    """One after the other. The turns of a stream that has ended are left out, or the first of them ends it all."""
    left, merged = [list(s) for s in streams], []
    for turn in itertools.count():
        stream = left[turn % len(left)]
        if stream:
            merged.append(stream.pop(0))
        elif until == "shortest" or not any(left):
            return merged


@pytest.mark.parametrize("until", ["longest", "shortest"])
@pytest.mark.parametrize("names", [["ant"], ["ant", "bee"], ["bee", "ant"], ["ant", "bee", "cat"], ["cat", "ant", "bee"]])
@pytest.mark.parametrize("workers", [1, 5])
def test_in_turns(animals, names, until, workers):
    merged = hr.merge([source(animals[name]) for name in names], until=until)
    want = in_turns([animals[name] for name in names], until)
    assert epochs_of(merged, 2, workers=workers) == [want, want]
    with merged.center_crop(8).batch(3).loader(epochs=1, workers=workers) as loader:
        assert len(loader) == math.ceil(len(want) / 3)


def test_each_has_steps_of_its_own(animals):
    """What comes of each is what NumPy makes of the same file."""
    turned = source(animals["bee"]).rotate90().center_crop((6, 8))
    flipped = source(animals["ant"]).random_flip(1).center_crop((8, 8))
    with hr.merge([turned, flipped]).center_crop((6, 8)).batch(4).loader(epochs=1) as loader:
        got = {key: image.copy() for batch in loader for key, image in zip(batch["key"], batch["image"], strict=True)}
    assert len(got) == 11
    for i, path in enumerate(animals["bee"]):
        np.testing.assert_array_equal(got[path], np.rot90(noise(1000 + i))[3:9, 2:10])
    for i, path in enumerate(animals["ant"]):
        np.testing.assert_array_equal(got[path], noise(i)[3:9, ::-1][:, 2:10])


def test_sizes_may_differ(animals):
    """A crop behind the merge makes them one size."""
    small = source(animals["ant"]).center_crop(8)
    with hr.merge([small, source(animals["bee"])]).center_crop(4).batch(11).loader(epochs=1) as loader:
        (batch,) = (b["image"].copy() for b in loader)
    np.testing.assert_array_equal(batch[0], noise(0)[4:8, 4:8])
    np.testing.assert_array_equal(batch[1], noise(1000)[4:8, 4:8])


def test_weights(animals):
    """The mixture is what was asked for, is drawn anew in each epoch, and is the same in each run."""
    many = [source(animals["ant"][:1] * 3000), source(animals["bee"][:1] * 3000)]
    merged = hr.merge(many, weights=[3, 1], until="shortest")
    first, second = epochs_of(merged, 2)
    for epoch in (first, second):
        share = sum(key == animals["ant"][0] for key in epoch) / len(epoch)
        assert abs(share - 0.75) < 5 * math.sqrt(0.75 * 0.25 / len(epoch)), "five standard deviations from what was asked for"
        assert len(epoch) > 3500
        # Draws are independent: ants are followed by ants as often as ants come at all.
        pairs = [b == animals["ant"][0] for a, b in itertools.pairwise(epoch) if a == animals["ant"][0]]
        assert abs(sum(pairs) / len(pairs) - 0.75) < 5 * math.sqrt(0.75 * 0.25 / len(pairs))
    assert first != second
    assert epochs_of(merged, 2, workers=1) == [first, second]
    assert epochs_of(hr.merge(many, weights=[3, 1], until="shortest", seed=0), 1) == [first]
    assert epochs_of(hr.merge(many, weights=[3, 1], until="shortest", seed=1), 1) != [first]
    longest = epochs_of(hr.merge(many, weights=[3, 1]))[0]
    assert longest[: len(first)] == first
    assert len(longest) == 6000


def test_decoding_behind_the_merge(animals):
    """What is merged may be the files themselves."""
    merged = hr.merge([hr.files(animals[name]) for name in ("ant", "bee")]).decode_image()
    assert epochs_of(merged) == [in_turns([animals["ant"], animals["bee"]], "longest")]


def test_by_arrival_everything_comes_once(animals):
    for epoch in epochs_of(hr.merge([source(paths) for paths in animals.values()], order="arrival"), 3):
        assert sorted(epoch) == sorted(path for paths in animals.values() for path in paths)


def test_each_is_shuffled_by_itself(animals):
    merged = hr.merge([hr.files(animals["ant"]).shuffle().decode_image(), source(animals["bee"])])
    first, second = epochs_of(merged, 2)
    for epoch in (first, second):
        assert [key for key in epoch if key in animals["bee"]] == animals["bee"]
        assert sorted(key for key in epoch if key in animals["ant"]) == animals["ant"]
    assert first != second
    assert epochs_of(merged, 2, workers=1) == [first, second]
    # The seed of shuffle is the source's: alone it gives the same order.
    assert epochs_of(hr.files(animals["ant"]).shuffle().decode_image(), 1) == [[key for key in first if key in animals["ant"]]]


def test_merges_in_merges(animals):
    inner = hr.merge([source(animals["ant"]), source(animals["bee"])])
    streams = [in_turns([animals["ant"], animals["bee"]], "longest"), animals["cat"] * 3]
    assert epochs_of(hr.merge([inner, source(animals["cat"] * 3)])) == [in_turns(streams, "longest")]


def test_labels_are_numbers_of_all_folders(animals):
    folders = [str(Path(animals[name][0]).parent) for name in ("cat", "ant")]
    with hr.merge([hr.files(f, label="parent").decode_image() for f in folders]).center_crop(8).batch(8).loader(epochs=1) as loader:
        assert loader.classes == ["ant", "cat"]
        (batch,) = loader
        assert [loader.classes[label] for label in batch["label"]] == [Path(key).parent.name for key in batch["key"]]


HOW = {
    "turns": {},
    "shortest": {"until": "shortest"},
    "weights": {"weights": [2, 1, 1]},
    "weights until the shortest": {"weights": [1, 2, 9], "until": "shortest"},
}


def mixed(animals, **how) -> hr.Pipeline:
    streams = [
        hr.files(animals["ant"]).shuffle().decode_image(),
        hr.merge([source(animals["bee"]), source(animals["ant"])]),
        source(animals["cat"] * 4),
    ]
    return hr.merge(streams, **how).random_crop(8).random_flip().batch(2)


@pytest.mark.parametrize("how", HOW)
def test_going_on_in_the_middle(animals, how):
    with mixed(animals, **HOW[how]).loader(epochs=3) as loader:
        whole = rest_of_epochs(loader)
    for cut in range(0, len(whole), 2):
        with mixed(animals, **HOW[how]).loader(epochs=3) as loader:
            head, state = rest_of_epochs(loader, cut), json.loads(json.dumps(loader.state_dict()))
        with mixed(animals, **HOW[how]).loader(epochs=3, workers=1) as again:
            again.load_state_dict(state)
            assert again.state_dict() == state
            assert head + rest_of_epochs(again) == whole


def test_going_on_by_arrival(animals):
    """Which batches come may differ; that each sample comes once, may not."""
    expected = sorted(path for paths in animals.values() for path in paths)
    for cut in range(5):
        build = hr.merge([source(paths) for paths in animals.values()], order="arrival").center_crop(8).batch(2)
        with build.loader(epochs=1) as loader:
            loop = iter(loader)
            head = [key for _ in range(cut) for key in next(loop)["key"]]
            state = loader.state_dict()
        with build.loader(epochs=1) as again:
            again.load_state_dict(state)
            assert sorted(head + keys(again)) == expected


@pytest.mark.parametrize("how", ["turns", "shortest", "weights"])
@pytest.mark.parametrize("world", [2, 3])
def test_ranks_have_equally_many_batches(animals, how, world):
    options = HOW[how] if "weights" not in HOW[how] else {"weights": [2, 1]}
    merged = hr.merge([source(animals["ant"]), source(animals["bee"] * 2)], **options).center_crop(8).batch(2)
    ranks = []
    for rank in range(world):
        with merged.loader(epochs=2, rank=rank, world_size=world) as loader:
            ranks.append([[list(batch["key"]) for batch in loader] for _ in range(2)])
            assert len(loader) == len(ranks[-1][0])
    assert len({tuple(len(batch) for epoch in epochs for batch in epoch) for epochs in ranks}) == 1
    if how == "turns":
        seen = {key for epochs in ranks for batch in epochs[0] for key in batch}
        assert seen == {*animals["ant"], *animals["bee"]}
    # All ranks take the same turns.
    turns = [[[Path(key).parent.name for key in batch] for epoch in epochs for batch in epoch] for epochs in ranks]
    assert all(t == turns[0] for t in turns)


def test_what_cannot_be_done_with_ranks(animals):
    merged = hr.merge([source(animals["ant"]), source(animals["bee"])], order="arrival", until="shortest").center_crop(8).batch(2)
    with pytest.raises(hr.RecipeError, match=r'merge "merge" by arrival until the shortest ends, with world_size 2'):
        merged.loader(rank=0, world_size=2)


def test_a_bad_sample_names_its_source(animals, tmp_path):
    bad = tmp_path / "bad.png"
    bad.write_bytes(b"no picture")
    merged = hr.merge([source(animals["ant"]), source([animals["bee"][0], str(bad)])]).center_crop(8).batch(1)
    with merged.loader(epochs=1) as loader:
        got = []
        with pytest.raises(hr.SampleError) as caught:
            got.extend(key for batch in loader for key in batch["key"])
        assert (caught.value.key, caught.value.source, caught.value.index) == (str(bad), "files_2", 1)
        assert got == [animals["ant"][0], animals["bee"][0], animals["ant"][1]]
    with merged.loader(epochs=1, on_error="skip") as loader:
        assert len(keys(loader)) == 8
        (lost,) = loader.errors
        assert (lost.source, lost.index, lost.key) == ("files_2", 1, str(bad))


def test_a_source_that_is_not_there(animals, tmp_path):
    with pytest.raises(hr.SourceError, match="nowhere"):
        hr.merge([source(animals["ant"]), hr.files(tmp_path / "nowhere").decode_image()]).center_crop(8).batch(1).loader()
