"""What goes wrong says what, where, why, and what to do."""

from __future__ import annotations

import os
import subprocess

import pytest

import headrace as hr
from conftest import children, files_of, pipeline, run_python


def description(source, size: int = 4):
    return hr.files(source).decode_image().resize(32).center_crop(32).batch(size)


# Sources.


def test_a_missing_folder(tmp_path):
    before = children()
    with pytest.raises(hr.SourceError, match="nowhere") as caught:
        description(tmp_path / "nowhere").loader()
    assert isinstance(caught.value, OSError)
    assert children() == before


def test_a_pattern_that_matches_nothing(photos):
    with pytest.raises(hr.SourceError, match=r"\*\.webp"):
        description(f"{photos}/*/*.webp").loader()


def test_an_empty_folder(tmp_path):
    with pytest.raises(hr.SourceError, match=str(tmp_path)):
        description(tmp_path).loader()


def test_no_files():
    with pytest.raises(hr.RecipeError, match="nothing to read"):
        description([]).loader()


def test_an_unreadable_folder(own_photos):
    # Root reads everything, so another user runs the engine: nobody, by a program of
    # its own.
    closed = own_photos / "bee"
    closed.chmod(0)
    try:
        done = as_nobody(own_photos, "hr.files(sys.argv[1])")
    finally:
        closed.chmod(0o755)
    assert "SourceError" in done.stderr, done.stderr
    assert "bee" in done.stderr
    assert "permission denied" in done.stderr.lower()


def test_an_unreadable_file(own_photos):
    closed = own_photos / "ant" / "003.jpg"
    closed.chmod(0)
    done = as_nobody(own_photos, "hr.files(sys.argv[1])")
    assert "SampleError" in done.stderr, done.stderr
    assert "003.jpg" in done.stderr
    assert "permission denied" in done.stderr.lower()


def as_nobody(folder, source: str) -> subprocess.CompletedProcess[str]:
    for path in (folder, *folder.parents):
        if os.stat(path).st_uid == os.getuid() and path != path.parent:
            path.chmod(path.stat().st_mode | 0o755)
    return run_python(
        f"""
        import os, sys
        import headrace as hr
        from headrace._client.program import find_program
        import shutil, tempfile
        # A place that nobody can reach, too.
        place = tempfile.mkdtemp()
        os.chmod(place, 0o755)
        os.environ["HEADRACE_ENGINE"] = shutil.copy(find_program(), place)
        try:
            import numpy, json, ctypes, resource, headrace._loader.loader, headrace._recipe.table
            if os.getuid() == 0:
                os.setgid(65534)
                os.setuid(65534)
            with {source}.decode_image().resize(32).center_crop(32).batch(4).loader(epochs=1) as loader:
                list(loader)
        finally:
            pass
        """,
        folder,
    )


def test_a_file_that_vanishes(own_photos):
    with pytest.raises(hr.SampleError, match=r"gone\.jpg"):
        list(description([*files_of(own_photos), f"{own_photos}/gone.jpg"]).loader(epochs=1))


def test_a_folder_in_a_list(own_photos):
    with pytest.raises(hr.SampleError, match="folder"):
        list(description([own_photos]).loader(epochs=1))


def test_a_fifo_does_not_hang(tmp_path):
    os.mkfifo(tmp_path / "a.jpg")
    with pytest.raises(hr.SampleError, match=r"a\.jpg"):
        list(description([tmp_path / "a.jpg"]).loader(epochs=1))


# Samples.


def damage(path, kind: str) -> None:
    data = bytearray(path.read_bytes())
    if kind == "truncated":
        data = data[: len(data) * 2 // 3]
    elif kind == "corrupt":
        # Restart markers out of nowhere, in the middle of the compressed data.
        at = len(data) // 2
        data[at : at + 40] = b"\xff\xd3" * 20
    elif kind == "header":
        data[:100] = bytes(100)
    elif kind == "empty":
        data = data[:0]
    elif kind == "text":
        data = bytearray(b"<html>404 Not Found</html>")
    path.write_bytes(data)


KINDS = ["truncated", "corrupt", "header", "empty", "text"]


@pytest.mark.parametrize("kind", KINDS)
def test_a_bad_image_stops_the_run(own_photos, kind):
    bad = own_photos / "bee" / "007.jpg"
    damage(bad, kind)
    files = files_of(own_photos)
    index = files.index(str(bad))
    with description(files).loader(epochs=1) as loader:
        got = []
        with pytest.raises(hr.SampleError) as caught:
            got.extend(batch["key"] for batch in loader)
        error = caught.value
        assert (error.key, error.index, error.epoch, error.position) == (str(bad), index, 0, index)
        assert error.stage is not None
        assert str(bad) in str(error)
        assert str(index) in str(error)
        assert (error.step or error.stage) in str(error)
        assert [k for keys in got for k in keys] == files[: index // 4 * 4], "all batches before it come first"
        assert loader.state_dict()["sources"]["files"]["position"] == index // 4 * 4


def test_the_loop_stays_failed_and_the_next_one_goes_on(own_photos):
    files = files_of(own_photos)
    damage(own_photos / "bee" / "007.jpg", "truncated")
    with description(files).loader(epochs=2) as loader:
        loop = iter(loader)
        with pytest.raises(hr.SampleError) as first:
            list(loop)
        with pytest.raises(hr.SampleError) as second:
            next(loop)
        assert str(first.value) == str(second.value)
        assert vars(first.value) == vars(second.value)
        with pytest.raises(hr.SampleError) as third:
            list(loader)
        assert third.value.epoch == 1


@pytest.mark.parametrize("kind", KINDS)
def test_bad_images_are_left_out(own_photos, kind):
    bad = [own_photos / "ant" / "000.jpg", own_photos / "bee" / "007.jpg", own_photos / "cat" / "014.jpg"]
    for path in bad:
        damage(path, kind)
    files = files_of(own_photos)
    with description(files).loader(epochs=2, on_error="skip") as loader:
        with pytest.raises(TypeError, match="max_batches"):
            len(loader)
        assert loader.max_batches == 4
        keys = [list(b["key"]) for b in loader]
        assert [k for ks in keys for k in ks] == [f for f in files if f not in map(str, bad)]
        assert [len(ks) for ks in keys] == [4, 4, 4, 1]
        assert loader.errors.total == 3 == len(loader.errors)
        assert {e.key for e in loader.errors} == set(map(str, bad))
        for e in loader.errors:
            assert e.index == files.index(e.key)
            assert e.epoch == 0
            assert e.stage
            assert e.error
        assert str(bad[0]) in repr(loader.errors)
        assert list(loader)
        assert loader.errors.total == 6
    decode = [s for s in loader.stats()["stages"] if s["lost"]]
    assert sum(s["lost"] for s in decode) == 6


def test_too_many_bad_images(own_photos):
    files = files_of(own_photos)
    for path in files[4:8]:
        os.truncate(path, 300)
    with description(files).loader(epochs=1, on_error="skip", max_errors=3) as loader:
        with pytest.raises(hr.TooManyErrors, match=r"3(.|\n)*\n  loader\.errors lists them; max_errors= allows more than 1 %") as caught:
            list(loader)
        assert caught.value.key in files[4:8]
    with description(files).loader(epochs=1, on_error="skip", max_errors=4) as loader:
        assert sum(len(b["key"]) for b in loader) == 12
    with description(files).loader(epochs=1, on_error="skip", max_errors=0.1) as loader, pytest.raises(hr.TooManyErrors):
        list(loader)
    with description(files).loader(epochs=1, on_error="skip", max_errors=0.25) as loader:
        assert sum(len(b["key"]) for b in loader) == 12


def test_only_the_first_thousand_errors_are_kept(own_photos):
    bad = files_of(own_photos)[0]
    os.truncate(bad, 200)
    with description([bad] * 1500 + files_of(own_photos)[1:5]).loader(epochs=1, on_error="skip", max_errors=2000) as loader:
        assert sum(len(b["key"]) for b in loader) == 4
        assert loader.errors.total == 1500
        assert len(loader.errors) == 1000
        assert "500 more" in repr(loader.errors)


# Settings.


@pytest.mark.parametrize(
    ("build", "why"),
    [
        (lambda f: hr.files(f).decode_image().center_crop(32).batch(0), "batch"),
        (lambda f: hr.files(f).decode_image().center_crop(32).batch(), "batch"),
        (lambda f: hr.files(f).decode_image().center_crop(32).batch(4, global_size=8), "batch"),
        (lambda f: hr.files(f).center_crop(32).batch(4), "center_crop"),
        (lambda f: hr.files(f).decode_image().resize(-3).center_crop(32).batch(4), "resize"),
        (lambda f: hr.files(f).decode_image().center_crop(32).random_flip(2).batch(4), "random_flip"),
        (lambda f: hr.files(f).decode_image().resize(32).batch(4), "resize"),
        (lambda f: hr.files(f, label="grandparent").decode_image().center_crop(32).batch(4), "label"),
        (lambda f: hr.files(f).decode_image().shuffle().center_crop(32).batch(4), "shuffle"),
    ],
)
def test_pipelines_that_cannot_work(photos, build, why):
    with pytest.raises(hr.RecipeError, match=why):
        build(photos).loader()


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"workers": 0}, "workers"),
        ({"order": "random"}, "order"),
        ({"on_error": "ignore"}, "on_error"),
        ({"max_errors": 3}, "max_errors"),
        ({"on_error": "skip", "max_errors": 1.5}, "max_errors"),
        ({"epochs": -1}, "epochs"),
        ({"memory": "10KiB"}, "memory"),
    ],
)
def test_settings_that_cannot_work(photos, options, why):
    with pytest.raises(hr.RecipeError, match=why):
        pipeline(photos).loader(**options)


def test_no_engine(monkeypatch, tmp_path):
    monkeypatch.setenv("HEADRACE_ENGINE", str(tmp_path / "none"))
    with pytest.raises(hr.EngineNotFound, match="HEADRACE_ENGINE"):
        hr.files("x").loader()
    (tmp_path / "none").write_text("#!/bin/sh\n")
    with pytest.raises(hr.EngineNotFound, match="cannot be executed"):
        hr.files("x").loader()
    (tmp_path / "none").write_text("neither a program nor a script")
    (tmp_path / "none").chmod(0o755)
    with pytest.raises(hr.HeadraceError, match="cannot start the engine"):
        hr.files("x").loader()


def test_something_else_for_an_engine(monkeypatch):
    monkeypatch.setenv("HEADRACE_ENGINE", "/bin/false")
    with pytest.raises(hr.EngineDied, match="exited with status 1"):
        hr.files("x").loader()
