"""Names with a scheme: file:// in every door, and one message about those that nothing can read."""

from __future__ import annotations

import os
import pathlib
import urllib.parse
from collections.abc import Callable
from typing import Any

import numpy
import pytest

import headrace as hr
from headrace.errors import HeadraceError

pytestmark = [pytest.mark.usefixtures("io_closed", "one_engine")]

STORES = "file://, abfs://, abfss://, az://, gs://, hf://, http://, https://, s3://"
MESSAGE = f"ftp:// names cannot be read or written here, only paths and {STORES}: copy the data to a disk or mount it, and give that path"


@pytest.fixture
def photos(tmp_path: pathlib.Path) -> pathlib.Path:
    from PIL import Image

    folder = tmp_path / "a b%+é"
    for kind in ("cat", "dog"):
        (folder / kind).mkdir(parents=True)
        Image.fromarray(numpy.full((16, 16, 3), len(kind), numpy.uint8)).save(folder / kind / "x.png")
    return folder


def url(path: pathlib.Path) -> str:
    return "file://" + urllib.parse.quote(str(path))


def keys(described: Any) -> tuple[list[str], list[int]]:
    with described.decode_image().resize((8, 8)).batch(2).loader() as loader:
        batch = next(iter(loader))
        return list(batch["key"]), batch["label"].tolist()


def test_files_by_url(photos: pathlib.Path) -> None:
    want = [str(photos / kind / "x.png") for kind in ("cat", "dog")], [0, 1]
    assert keys(hr.files(url(photos), label="parent")) == want
    assert keys(hr.files(url(photos) + "/*/*.png", label="parent")) == want
    assert keys(hr.files(photos.as_uri().replace("file://", "FILE://localhost"), label="parent")) == want
    listed = [url(photos / "cat" / "x.png"), str(photos / "dog" / "x.png")]
    assert keys(hr.files(listed, label="parent")) == (listed, [0, 1])
    assert keys(hr.files(url(photos) + "/**/*.png", label=len)) == (want[0], [len(name) for name in want[0]])
    with hr.files(listed, content=False).batch(2).loader() as loader:  # a function opens them by their paths
        assert list(next(iter(loader))["path"]) == want[0]


def test_metadata_by_url(photos: pathlib.Path) -> None:
    (photos / "metadata.jsonl").write_text('{"file_name": "cat/x.png", "label": 5}\n{"file_name": "dog/x.png", "label": 7}\n')
    for table in ("metadata.jsonl", url(photos / "metadata.jsonl")):
        assert keys(hr.files(url(photos), metadata=table, fields=["label"]))[1] == [5, 7]


def test_shards_by_url(photos: pathlib.Path) -> None:
    (photos / "all.csv").write_text("n\n1\n2\n")
    with hr.read(url(photos / "all.csv")).batch(2).loader() as loader:
        assert next(iter(loader))["n"].tolist() == [1, 2]


def test_io_by_url(photos: pathlib.Path) -> None:
    assert hr.io.load_image(url(photos / "dog" / "x.png")).shape == (16, 16, 3)
    with pytest.raises(FileNotFoundError, match=r"none\.png"):
        hr.io.load_image(url(photos / "none.png"))
    sound = numpy.zeros((100, 1), numpy.int16)
    hr.io.save_audio(photos / "a.wav", sound, 8000)
    assert hr.io.audio_info(url(photos / "a.wav")).samples == 100
    with hr.io.stream_audio(url(photos / "a.wav")) as pieces:
        assert sum(len(piece) for piece in pieces) == 100


def test_recipes_by_url(photos: pathlib.Path) -> None:
    (photos / "r.yaml").write_text('headrace: 1\nvars: {root: .}\nsteps:\n  - files: {pattern: "${root}", label: parent}\n')
    assert keys(hr.load(url(photos / "r.yaml"), root=url(photos)))[1] == [0, 1]


def refused(door: Callable[[], Any], says: str) -> None:
    with pytest.raises(HeadraceError) as error:
        door()
    text = str(error.value)
    assert says in text
    assert "ftp://b/x" in text
    assert text.count("ftp://b/x") == 1 or "recipe" in text, text


@pytest.mark.parametrize(
    "door",
    [
        lambda name: hr.files(name).decode_image().resize((8, 8)).batch(1).loader(),
        lambda name: hr.files([name, "/tmp/y.jpg"]).decode_image().resize((8, 8)).batch(1).loader(),
        lambda name: hr.files([(name, 1)]).decode_image().resize((8, 8)).batch(1).loader(),
        lambda name: hr.files(name, label=len),
        lambda name: hr.files(name, metadata="m.csv").decode_image().resize((8, 8)).batch(1).loader(),
        lambda name: hr.read(name).batch(1).loader(),
        lambda name: hr.read([name]).batch(1).loader(),
        lambda name: hr.load(name),
        lambda name: hr.io.load_image(name),
        lambda name: hr.io.load_audio(name),
        lambda name: hr.io.load_video(name),
        lambda name: hr.io.video_info(name),
        lambda name: hr.io.load_media(name),
        lambda name: next(iter(hr.io.stream_audio(name))),
        lambda name: hr.io.demux(name),
    ],
)
def test_one_message_in_every_door(door: Callable[[str], Any]) -> None:
    refused(lambda: door("ftp://b/x.mp4"), MESSAGE)


def test_names_that_only_look_so(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from PIL import Image

    monkeypatch.chdir(tmp_path)
    os.makedirs("s3:/b")
    names = ["a:b.png", "C:\\x.png", "C://x.png", "./s3://b/x.png"]
    os.mkdir("C:")
    for name in names:
        Image.fromarray(numpy.zeros((4, 4, 3), numpy.uint8)).save(name)
        assert hr.io.load_image(name).shape == (4, 4, 3)
        assert hr.files(name).decode_image().resize((8, 8)).batch(1).loader().close() is None
    assert keys(hr.files([(name, i) for i, name in enumerate(names[:2])])) == (names[:2], [0, 1])


def test_a_name_of_pathlib() -> None:
    with pytest.raises(HeadraceError, match=r'"s3:/b/train" does not exist; names of stores begin with s3://'):
        hr.files(pathlib.Path("s3://b/train")).decode_image().resize((8, 8)).batch(1).loader()
    with pytest.raises(HeadraceError, match=r'"file://nas/x" is a file of the host "nas": mount its folder'):
        hr.files("file://nas/x").decode_image().resize((8, 8)).batch(1).loader()
