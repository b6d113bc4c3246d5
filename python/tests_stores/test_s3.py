"""Objects of moto, which speaks as Amazon S3 does: every door takes their names, and gives what it gives of the same files here."""

from __future__ import annotations

import json
import os
import pathlib
import socket
import subprocess
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator
from typing import Any

import pytest

import headrace as hr
from headrace.errors import HeadraceError
from test_web import content, data, images  # noqa: F401

ENGINE = pathlib.Path(hr.__file__).parent / "_bin" / "headrace"
SECRET = "s3cr3t/KEY+of=nobody"


@pytest.fixture(scope="module")
def moto(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a server, for which the environment is set."""
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port = s.getsockname()[1]
    log = tmp_path_factory.mktemp("moto") / "log"
    with open(log, "w") as out:
        server = subprocess.Popen([os.environ["HEADRACE_MOTO"], "-p", str(port)], stdout=out, stderr=out)
    url = f"http://127.0.0.1:{port}"
    try:
        for _ in range(600):
            try:
                urllib.request.urlopen(url).close()
                break
            except urllib.error.URLError:
                assert server.poll() is None, log.read_text()
                time.sleep(0.1)
        os.environ.update(
            AWS_ENDPOINT_URL=url,
            AWS_ACCESS_KEY_ID="AKIDTEST",
            AWS_SECRET_ACCESS_KEY=SECRET,
            AWS_EC2_METADATA_DISABLED="true",
            HOME=str(tmp_path_factory.mktemp("home")),
        )
        yield url
    finally:
        server.terminate()
        server.wait()


def put(url: str, key: str, content: bytes | None) -> None:
    headers = {"Authorization": "AWS x:y", "Content-Type": "application/octet-stream"}  # or moto reads a form
    where = f"{url}/{urllib.parse.quote(key)}"
    urllib.request.urlopen(urllib.request.Request(where, content, method="PUT", headers=headers)).close()


@pytest.fixture(scope="module")
def bucket(moto: str, data: pathlib.Path) -> str:  # noqa: F811
    put(moto, "bucket", None)
    for file in data.rglob("*"):
        if file.is_file():
            put(moto, f"bucket/set/{file.relative_to(data)}", file.read_bytes())
    (data / "metadata.csv").write_text(
        "file_name,age\n" + "".join(f"{kind}/{i}.png,{i}\n" for kind in ("cat", "dog é+%") for i in range(8))
    )
    put(moto, "bucket/set/metadata.csv", (data / "metadata.csv").read_bytes())
    return "s3://bucket/set"


@pytest.mark.parametrize("pattern", ["", "/*/*.png", "/**/*.png", "/cat"])
def test_files(pattern: str, bucket: str, data: pathlib.Path) -> None:  # noqa: F811
    def described(place: str) -> hr.Pipeline:
        return hr.files(place + pattern, label="parent")

    with images(described(bucket), epochs=2) as there, images(described(str(data)), epochs=2) as here:
        want, got = content(here), content(there)
    assert len(want) >= 2
    assert got == want


def test_metadata(bucket: str, data: pathlib.Path) -> None:  # noqa: F811
    with images(hr.files(bucket, metadata="metadata.csv")) as there, images(hr.files(str(data), metadata="metadata.csv")) as here:
        assert content(there) == content(here)


@pytest.mark.parametrize("form", ["{000..003}.tar", "*.tar", "t.parquet"])
def test_shards(form: str, bucket: str, data: pathlib.Path) -> None:  # noqa: F811
    def described(place: str) -> hr.Pipeline:
        read = hr.read(f"{place}/{form}")
        return read.shuffle(seed=1).decode_image().resize((8, 8)).batch(4) if "tar" in form else read.shuffle(seed=1).batch(4)

    with described(bucket).loader() as there, described(str(data)).loader() as here:
        want, got = content(here), content(there)
    assert len(want) in (4, 250)
    assert got == want


def test_a_state_goes_on(bucket: str) -> None:
    def loader() -> hr.Loader:
        return images(hr.read(bucket + "/{000..003}.tar"))

    with loader() as whole:
        want = content(whole)
    with loader() as first:
        got = content([next(iter(first))])
        text = json.dumps(first.state_dict())
    assert SECRET not in text
    with loader() as second:
        second.load_state_dict(json.loads(text))
        assert got + content(second) == want


def test_single_files(bucket: str, data: pathlib.Path) -> None:  # noqa: F811
    def of(place: str) -> list[Any]:
        clip = hr.io.load_video(place + "/v.mp4", [50, 51])
        return [hr.io.load_image(place + "/dog é+%/0.png").tolist(), clip[0].tolist(), hr.io.load_audio(place + "/a.wav")[0].tolist()]

    assert of(bucket) == of(str(data))


def command(*line: str) -> tuple[int, str]:
    done = subprocess.run([ENGINE, *line], capture_output=True, text=True, timeout=120, check=False)
    assert SECRET not in done.stdout + done.stderr
    return done.returncode, done.stdout + done.stderr


def test_commands(bucket: str, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEADRACE_CACHE", str(tmp_path))
    assert "16 samples in 4 shards" in command("inspect", bucket + "/*.tar")[1]
    assert "16 samples, 4 shards of tar" in command("index", bucket + "/*.tar")[1]
    assert f'"{bucket}/cat/0.png"' in command("list", bucket + "/cat/*.png")[1]
    code, told = command("doctor", bucket)
    assert code == 0, told
    for fact in ("credentials  AWS_ACCESS_KEY_ID", "000.tar", "the first"):
        assert fact in told, told
    (tmp_path / "r.yaml").write_text(
        f"headrace: 1\nsteps:\n  - files: {{pattern: '{bucket}'}}\n  - decode_image\n  - resize: {{size: [8, 8]}}\n  - batch: {{size: 4}}\n"
    )
    code, told = command("run", str(tmp_path / "r.yaml"))
    assert code == 0, told
    assert "16 samples" in told


def test_what_cannot_be_read_is_said_before_anything_starts(bucket: str, moto: str) -> None:
    for name, says in (
        ("s3://missing/set", 'there is no bucket "missing" at 127.0.0.1'),
        (bucket + "/none/*.png", "matches nothing"),
        ("s3://*/x.png", "name one bucket"),
    ):
        with pytest.raises(HeadraceError) as refused:
            images(hr.files(name))
        assert says in str(refused.value)
        assert SECRET not in str(refused.value)
    with pytest.raises(FileNotFoundError, match="answers 404"):
        hr.io.load_image(bucket + "/none.png")
    with pytest.raises(HeadraceError, match=r"004\.tar.*answers 404 Not Found \(and so are 2 of 3 shards\)"):
        hr.read(bucket + "/{003..005}.tar").batch(1).loader()
