"""A web server that many have."""

from __future__ import annotations

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
    with hr.read(f"{nginx}/{form}").shuffle(seed=1).batch(4).loader(epochs=1) as there:
        got = content(there)
    with hr.read(f"{data}/{form}").shuffle(seed=1).batch(4).loader(epochs=1) as here:
        assert got == content(here)


def test_parts_of_a_film(nginx: str, data: pathlib.Path) -> None:
    assert hr.io.load_video(f"{nginx}/v.mp4", [50, 51])[0].tolist() == hr.io.load_video(str(data / "v.mp4"), [50, 51])[0].tolist()


def test_a_shard_that_is_replaced(nginx: str, data: pathlib.Path) -> None:
    shard, was = data / "replaced.tar", (data / "000.tar").read_bytes()
    shard.write_bytes(was)
    try:
        with hr.read(f"{nginx}/replaced.tar").batch(1).loader(prefetch=0) as loader:
            next(iter(loader))
            new = data / "new"
            new.write_bytes(was[:-512] + b"x" * 512)
            new.replace(shard)
            with pytest.raises(HeadraceError, match="changed"):
                sum(1 for _ in loader for _ in loader)
    finally:
        shard.unlink()


def test_what_is_not_there(nginx: str) -> None:
    with pytest.raises(HeadraceError, match="404"), hr.files([f"{nginx}/none.png"]).loader() as loader:
        next(iter(loader))
