"""A web server that many have."""

from __future__ import annotations

import os
import pathlib
import urllib.parse

import pytest

import headrace as hr
from headrace.errors import HeadraceError
from test_web import content, images, names


def test_files(nginx: str, data: pathlib.Path) -> None:
    there = [f"{nginx}/{urllib.parse.quote(name)}" for name in names(data)]
    with images(hr.files(there, label="parent"), epochs=2) as loader, images(hr.files(str(data), label="parent"), epochs=2) as here:
        assert content(loader) == content(here)
        (host,) = loader.stats()["hosts"]
    assert (host["failed"], host["retries"]) == (0, 0)


@pytest.mark.parametrize("form", ["{000..003}.tar", "t.parquet"])
def test_shards(form: str, nginx: str, data: pathlib.Path) -> None:
    def described(place: str) -> hr.Pipeline:
        read = hr.read(f"{place}/{form}")
        return read.shuffle(seed=1).decode_image().resize((8, 8)).batch(4) if "tar" in form else read.shuffle(seed=1).batch(4)

    with described(nginx).loader(epochs=1) as there, described(str(data)).loader(epochs=1) as here:
        assert content(there) == content(here)


def test_parts_of_a_film(nginx: str, data: pathlib.Path) -> None:
    assert hr.io.load_video(f"{nginx}/v.mp4", [50, 51])[0].tolist() == hr.io.load_video(str(data / "v.mp4"), [50, 51])[0].tolist()


def test_a_shard_that_is_replaced(nginx: str, data: pathlib.Path) -> None:
    """Its ETag is the second of its date, and its size."""
    shard, was = data / "replaced.tar", (data / "000.tar").read_bytes()
    shard.write_bytes(was)
    os.utime(shard, (1e9, 1e9))

    def read_on(loader: hr.Loader) -> None:
        for _ in range(200):  # what was read ahead is of before
            for _ in loader:
                pass

    try:
        with hr.read(f"{nginx}/replaced.tar").decode_image().resize((8, 8)).batch(1).loader(prefetch=0) as loader:
            next(iter(loader))
            new = data / "new"
            new.write_bytes(was)
            new.replace(shard)
            with pytest.raises(HeadraceError, match="changed"):
                read_on(loader)
    finally:
        shard.unlink()


def test_what_is_not_there(nginx: str) -> None:
    with pytest.raises(HeadraceError, match="404"), hr.files([f"{nginx}/none.png"]).loader() as loader:
        next(iter(loader))
