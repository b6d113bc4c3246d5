"""Where samples come from, and what they are called."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

import headrace as hr
from conftest import CLASSES, digests, files_of, photo

pytestmark = pytest.mark.usefixtures("one_engine")


def load(source, size: int = 7, **options):
    with hr.files(source, **options).decode_image().resize(32).center_crop(32).batch(size).loader(epochs=1) as loader:
        batches = list(loader)
    keys = [k for b in batches for k in b["key"]]
    labels = [int(n) for b in batches for n in b["label"]] if "label" in batches[0] else None
    return keys, labels, digests(batches)


def test_every_form_gives_the_same(photos, monkeypatch):
    files = files_of(photos)
    expected = load(photos, label="parent")
    assert expected[0] == files
    assert expected[1] == [CLASSES.index(Path(f).parent.name) for f in files]
    for source in (str(photos), f"{photos}/*/*.jpg", f"{photos}/**/*.jpg", photos / "**", f"{photos}/[abc]??/*.jp[g]", files):
        assert load(source, label="parent") == expected
    pairs = list(zip(map(Path, files), expected[1]))
    assert load(pairs) == expected


def test_paths_keep_the_form_in_which_they_were_given(photos, monkeypatch):
    monkeypatch.chdir(photos)
    files = files_of(photos)
    relative = [os.path.relpath(f, photos) for f in files]
    assert load("*/*.jpg")[0] == relative
    assert load(relative[::-1])[0] == relative[::-1]
    description = hr.files("ant").decode_image().resize(32).center_crop(32).batch(4)
    monkeypatch.chdir("/")
    with description.loader(epochs=1) as loader:  # the folder of .files() counts, not that of .loader()
        assert next(iter(loader))["key"][0] == relative[0]


def test_a_list_may_name_a_file_twice(photos):
    one = files_of(photos)[0]
    keys, _, _ = load([one, one, one])
    assert keys == [one] * 3


def test_labels_of_pairs_are_taken_as_they_are(photos):
    files = files_of(photos)[:3]
    keys, labels, _ = load([(files[0], -5), (files[1], 1 << 40), (files[2], np.int32(7))])
    assert keys == files
    assert labels == [-5, 1 << 40, 7]


def test_names_that_are_not_utf8(tmp_path):
    folder = os.fsencode(tmp_path) + b"/h\xff/\xe9t\xe9"
    os.makedirs(folder)
    names = [b"\xfe\xff.jpg", "grün ☃.jpg".encode(), b'back\\slash "quote".jpg', b"new\nline.jpg"]
    for i, name in enumerate(names):
        photo(i, 50, 40).save(os.fsdecode(folder + b"/" + name), "jpeg")
    expected = sorted(folder + b"/" + name for name in names)
    for source in (tmp_path, os.fsencode(tmp_path) + b"/h\xff/*/*.jpg", [os.fsdecode(e) for e in expected], expected):
        keys, _, _ = load(source)
        assert [os.fsencode(k) for k in keys] == expected
        assert all(os.path.exists(k) for k in keys)
    with hr.files(tmp_path, label="parent").decode_image().resize(32).center_crop(32).batch(4).loader(epochs=1) as loader:
        assert [os.fsencode(c) for c in loader.classes] == [b"\xe9t\xe9"]


def test_folders_give_images_only_and_no_hidden_ones(tmp_path):
    for name in ("a.jpg", "b.JPEG", "c.txt", ".d.jpg", "sub/e.jpg", ".hidden/f.jpg", "sub/.g.jpg"):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        photo(1, 40, 40).save(path, "jpeg")
    assert [Path(k).name for k in load(tmp_path)[0]] == ["a.jpg", "b.JPEG", "e.jpg"]


def test_order_is_that_of_bytes(tmp_path):
    for name in ("a.jpg", "B.jpg", "ä.jpg", "_.jpg", "10.jpg", "9.jpg"):
        photo(1, 40, 40).save(tmp_path / name)
    keys, _, _ = load(tmp_path)
    assert keys == sorted(keys, key=os.fsencode)
    assert len(keys) == 6


@pytest.mark.parametrize("count", [1, 50_000])
def test_long_lists(photos, count):
    one = files_of(photos)[0]
    with hr.files([one] * count).decode_image().resize(32).center_crop(32).batch(8).loader(epochs=1) as loader:
        assert len(loader) == -(-count // 8)
        assert next(iter(loader))["key"][0] == one
