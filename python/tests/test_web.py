"""Files of a web server: every door takes their URLs, and gives what it gives of the same files here."""

from __future__ import annotations

import json
import pathlib
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np
import pytest

import headrace as hr
from conftest import environment_of, run_python
from headrace.errors import HeadraceError
from web_server import Handler, WebServer

pytestmark = [pytest.mark.usefixtures("io_closed", "one_engine")]

ENGINE = pathlib.Path(hr.__file__).parent / "_bin" / "headrace"


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    """Images in folders, the same in four tar files, a table, a recording and a video."""
    import io
    import tarfile

    import pyarrow as pa
    import pyarrow.parquet as pq
    from PIL import Image

    folder = tmp_path_factory.mktemp("data")
    rng = np.random.default_rng(0)
    for kind in ("cat", "dog é+%"):
        (folder / kind).mkdir()
        for i in range(8):
            Image.fromarray(rng.integers(0, 255, (40, 50, 3), np.uint8)).save(folder / kind / f"{i}.png")
    for shard in range(4):
        with tarfile.open(folder / f"{shard:03}.tar", "w") as tar:
            for i in range(4):
                image = (folder / "cat" / f"{shard * 2 + i % 2}.png").read_bytes()
                for suffix, content in (("png", image), ("cls", str(shard).encode())):
                    info = tarfile.TarInfo(f"{shard}-{i}.{suffix}")
                    info.size = len(content)
                    tar.addfile(info, io.BytesIO(content))
    pq.write_table(pa.table({"x": np.arange(1000), "text": [f"row {i}" for i in range(1000)]}), folder / "t.parquet", row_group_size=100)
    hr.io.save_audio(folder / "a.wav", rng.integers(-9000, 9000, (8000, 1), np.int16), 8000)
    frames = [rng.integers(0, 255, (64, 96, 3), np.uint8) for _ in range(100)]
    hr.io.save_video(folder / "v.mp4", iter(frames), 25, options={"g": "10"})
    return folder


@pytest.fixture
def web(data: pathlib.Path) -> Iterator[WebServer]:
    with WebServer(data) as server:
        yield server


def images(described: hr.Pipeline, **options: Any) -> hr.Loader:
    return described.shuffle(seed=3).decode_image().random_crop((16, 16)).batch(4).loader(**options)


def names(data: pathlib.Path) -> list[str]:
    return sorted(str(p.relative_to(data)) for p in data.glob("*/*.png"))


def content(batches: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """All that is in batches, but the names of samples."""
    return [{name: np.asarray(b[name]).tolist() for name in sorted(b) if name != "key"} for b in batches]


def test_files(data: pathlib.Path, web: WebServer) -> None:
    there = [f"{web.url}/{name.replace('%', '%25')}" for name in names(data)]
    with (
        images(hr.files(there, label="parent"), epochs=2) as loader,
        images(hr.files([str(data / n) for n in names(data)], label="parent"), epochs=2) as here,
    ):
        got, want = [dict(b) for b in loader], [dict(b) for b in here]
    assert len(got) == len(want) == 4
    assert content(got) == content(want)
    assert got[0]["key"][0].startswith(web.url)


def test_a_file_takes_one_request(tmp_path: pathlib.Path) -> None:
    """Its size comes with its bytes; a large one takes another request for the rest, once the loader knows their size."""
    rng = np.random.default_rng(0)
    large = {7, 30}
    for k in range(40):
        (tmp_path / f"{k:02d}.bin").write_bytes(rng.bytes(700_000 if k in large else 1 + 3_000 * k))
    with (
        WebServer(tmp_path) as web,
        hr.files([f"{web.url}/{k:02d}.bin" for k in range(40)]).loader(epochs=1) as loader,
    ):
        assert [s["bytes"] for s in loader] == [p.read_bytes() for p in sorted(tmp_path.glob("*.bin"))]
        assert {name: n for name, n in web.requests.items() if n != 1} == {f"{k:02d}.bin": 2 for k in large}
        (host,) = loader.stats()["hosts"]
    assert host["host"] == web.url.removeprefix("http://")
    assert (host["requests"], host["failed"], host["retries"]) == (42, 0, 0)
    assert host["wanted_bytes"] == host["fetched_bytes"] == sum(p.stat().st_size for p in tmp_path.glob("*.bin"))
    assert host["took_ns"] > 0


@pytest.mark.parametrize("form", ["{000..003}.tar", "t.parquet"])
def test_shards(form: str, data: pathlib.Path, web: WebServer) -> None:
    def described(place: str) -> hr.Pipeline:
        read = hr.read(f"{place}/{form}")
        return read.shuffle(seed=1).decode_image().resize((8, 8)).batch(4) if "tar" in form else read.shuffle(seed=1).batch(4)

    with described(str(data)).loader() as here, described(web.url).loader() as there:
        want, got = content(here), content(there)
    assert len(want) in (4, 250)
    assert got == want


def test_braces_need_no_listing(web: WebServer) -> None:
    """A service may deny names that it does not have. A shard is asked for twice: its version, and its headers."""
    web.fault = lambda handler: "{" in handler.name and handler.refuse(403)
    with images(hr.read(web.url + "/{000..003}.tar"), epochs=1) as loader:
        assert sum(len(batch["key"]) for batch in loader) == 16
        opened = Counter(name for name in web.requests.elements() if name.endswith(".tar"))
    assert opened["001.tar"] < 40, opened


def test_a_state_goes_on(data: pathlib.Path, web: WebServer) -> None:
    def loader(place: str) -> hr.Loader:
        return images(hr.read(place + "/{000..003}.tar"))

    with loader(web.url) as whole:
        want = content(whole)
    with loader(web.url) as first:
        begun = iter(first)
        got = content([next(begun)])
        state = first.state_dict()
    text = json.dumps(state)
    assert web.url not in text
    with loader(web.url) as second:
        second.load_state_dict(json.loads(text))
        assert got + content(second) == want


def test_single_files(data: pathlib.Path, web: WebServer) -> None:
    assert np.array_equal(hr.io.load_image(web.url + "/cat/0.png"), hr.io.load_image(data / "cat/0.png"))
    assert np.array_equal(hr.io.load_audio(web.url + "/a.wav")[0], hr.io.load_audio(data / "a.wav")[0])
    assert hr.io.video_info(web.url + "/v.mp4").frames == 100
    size = (data / "v.mp4").stat().st_size
    web.sent.clear()
    clip = hr.io.load_video(web.url + "/v.mp4", [50, 51])
    assert np.array_equal(clip[0], hr.io.load_video(data / "v.mp4", [50, 51])[0])
    assert web.sent["v.mp4"] < size / 2, "a clip reads the index and what its frames need"


def command(*line: str, **variables: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([ENGINE, *line], env=environment_of(**variables), capture_output=True, text=True, timeout=60, check=False)


def test_commands(data: pathlib.Path, web: WebServer, tmp_path: pathlib.Path) -> None:
    cache = {"HEADRACE_CACHE": str(tmp_path)}
    assert "16 samples in 4 shards" in command("inspect", web.url + "/{000..003}.tar", **cache).stdout
    assert "16 samples, 4 shards of tar" in command("index", web.url + "/{000..003}.tar", **cache).stdout
    web.sent.clear()
    assert "16 samples in 4 shards" in command("inspect", web.url + "/{000..003}.tar", **cache).stdout
    assert web.sent["001.tar"] < 100, "the index is kept, by the versions of the shards"
    recipe = tmp_path / "r.yaml"
    steps = f"  - read: {{from: '{web.url}/{{000..003}}.tar'}}\n  - decode_image\n  - resize: {{size: [8, 8]}}\n  - batch: {{size: 4}}\n"
    recipe.write_text("headrace: 1\nsteps:\n" + steps)
    done = command("run", str(recipe), **cache)
    assert "16 samples" in done.stdout + done.stderr
    assert "bytes, version" in command("doctor", web.url + "/000.tar").stdout
    missing = command("doctor", web.url + "/none.tar")
    assert missing.returncode == 1
    assert "answers 404 Not Found" in " ".join(missing.stdout.split())
    beside = command("index", web.url + "/{000..003}.tar", "--beside", "--force", **cache)
    assert beside.returncode != 0
    assert "its store takes no objects" in beside.stderr


def test_errors_say_what_to_do(web: WebServer) -> None:
    with pytest.raises(FileNotFoundError, match=r"answers 404 Not Found"):
        hr.io.load_image(web.url + "/none.png")
    for pattern in ("/*.png", "/cat/"):
        with pytest.raises(HeadraceError, match="a web server has no listing: name each file"):
            images(hr.files(web.url + pattern))
    with pytest.raises(HeadraceError, match=r"004\.tar: 127.* answers 404 Not Found.* \(and so are 2 of 3 shards\)"):
        hr.read(web.url + "/{003..005}.tar").batch(1).loader()
    with pytest.raises(HeadraceError, match="there is no host of this name"):
        images(hr.read("http://nothing.invalid/000.tar"))

    web.fault = lambda handler: handler.refuse(403)
    with pytest.raises(HeadraceError, match=r"access is denied: put a user and password for the host into ~/\.netrc"):
        images(hr.read(web.url + "/{000..003}.tar"))
    with pytest.raises(PermissionError) as denied:
        hr.io.load_image(web.url + "/cat/0.png?signature=SECRET")
    assert "SECRET" not in str(denied.value)
    assert sum(web.requests.values()) < 30, "denied access stops at once"


def test_signed_urls_are_shown_without_their_signature(data: pathlib.Path, web: WebServer) -> None:
    def signed(name: str) -> str:
        return f"{web.url}/{name}?signature=SECRET"

    with images(hr.files([signed("cat/0.png"), signed("cat/1.png")], label="parent")) as loader:
        assert next(iter(loader))["image"].shape == (2, 16, 16, 3)
    for door in (
        lambda: list(images(hr.files([signed("a.wav")]))),
        lambda: list(images(hr.files([signed("none.png")]))),
        lambda: hr.files(signed("none.png")).decode_image().resize((8, 8)).batch(1).loader(),
        lambda: hr.read(signed("none.tar")).batch(1).loader(),
        lambda: hr.io.load_image(signed("a.wav")),
        lambda: hr.io.video_info(signed("none.mp4")),
    ):
        with pytest.raises(HeadraceError) as refused:
            door()
        assert "SECRET" not in str(refused.value)


def test_a_server_that_fails_now_and_then(data: pathlib.Path, web: WebServer) -> None:
    """A tenth of the answers break off, and a few are refused: the batches are the same."""
    count = 0

    def fault(handler: Handler) -> bool:
        nonlocal count
        count += 1
        if count % 10 == 3:
            handler.connection.close()
            handler.close_connection = True
            return True
        return count % 25 == 7 and handler.refuse(503)

    web.fault = fault
    with images(hr.read(web.url + "/{000..003}.tar")) as there, images(hr.read(str(data) + "/{000..003}.tar")) as here:
        assert content(there) == content(here)
    assert count > 20


def test_a_file_that_changes(tmp_path: pathlib.Path) -> None:
    """What was replaced while a run reads it ends the run, and is not mixed with what was there."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    def write(first: int) -> None:
        text = [f"{i:1000}" for i in range(first, first + 1000)]
        pq.write_table(pa.table({"text": text}), tmp_path / "t.parquet", row_group_size=10, compression=None, use_dictionary=False)

    write(0)
    with WebServer(tmp_path) as web, hr.read(web.url + "/t.parquet").batch(10).loader(prefetch=0) as loader:
        begun = iter(loader)
        assert int(next(begun)["text"][0]) == 0
        write(1000)
        with pytest.raises(HeadraceError, match="changed"):
            for batch in begun:
                assert int(batch["text"][0]) < 1000


def test_signatures_in_names_are_not_said() -> None:
    """Nor are they used: a name is in recipes and states."""
    image = np.zeros((4, 4, 3), np.uint8)
    for call in (
        lambda: hr.io.load_image("az://c/x.png?sv=1&sig=SECRET"),
        lambda: hr.io.save_image("az://c/x.png?sv=1&sig=SECRET", image),
        lambda: hr.io.save_image("az://c/x.png?sv=1&sig=SECRET", image, format="png"),
        lambda: hr.io.save_video("az://c/x.mp4?sv=1&sig=SECRET", [image], 25, format="mp4"),
        lambda: hr.files("az://c/x*.png?sv=1&sig=SECRET").loader(),
        lambda: hr.read("az://c/x.tar?sv=1&sig=SECRET").loader(),
        lambda: hr.files(["az://c/x.png?sv=1&sig=SECRET"]).loader(),
    ):
        with pytest.raises(HeadraceError) as refused:
            call()
        assert "SECRET" not in str(refused.value)
        assert "az://c/x" in str(refused.value)


@pytest.mark.parametrize("on_error", ["raise", "skip"])
def test_a_single_file_that_is_replaced(on_error: Any, tmp_path: pathlib.Path) -> None:
    """All epochs have the version of the first read, or the run ends: no sample is to blame for it."""
    for i in range(20):
        (tmp_path / f"{i}.bin").write_bytes(bytes([i]) * 50)
    with WebServer(tmp_path) as web, hr.files([f"{web.url}/{i}.bin" for i in range(20)]).loader(prefetch=0, on_error=on_error) as loader:
        assert len([1 for _ in loader]) == 20
        (tmp_path / "7.bin").write_bytes(b"n" * 50)
        with pytest.raises(HeadraceError, match=r"7\.bin.*changed: it was replaced .*write new data under new names"):
            for _ in range(20):  # what was read ahead is of before
                for sample in loader:
                    assert b"n" not in sample["bytes"]


def test_the_processes_of_a_node_share_the_pace(tmp_path: pathlib.Path) -> None:
    """Eight ranks may send as many requests as one, and a rank that is killed gives back what it had."""
    for i in range(160):
        (tmp_path / f"{i}.bin").write_bytes(b"x" * 50)
    within, most, lock = 0, 0, threading.Lock()

    def slow(handler: Handler) -> bool:
        nonlocal within, most
        with lock:
            within += 1
            most = max(most, within)
        time.sleep(0.05)
        handler.answer()
        with lock:
            within -= 1
        return True

    runtime = tmp_path / "run"
    runtime.mkdir(mode=0o700)
    program = """
import sys
import headrace as hr
with hr.files([f"{sys.argv[1]}/{i}.bin" for i in range(160)]).loader(epochs=int(sys.argv[2])) as loader:
    for _ in range(int(sys.argv[2])):
        for _ in loader:
            pass
    print(loader.stats()["hosts"][0]["at_once"], flush=True)
    sys.stdin.read()
"""
    with WebServer(tmp_path, slow) as web:

        def rank(epochs: int) -> subprocess.Popen[str]:
            line = [sys.executable, "-c", program, web.url, str(epochs)]
            return subprocess.Popen(
                line, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment_of(XDG_RUNTIME_DIR=str(runtime))
            )

        ranks = [rank(1) for _ in range(4)]
        told = [int(one.stdout.readline()) for one in ranks]  # type: ignore[union-attr]
        assert most <= 90, (most, told)  # 16 at first, and a tenth more with each of 640 answers; alone, each would have 32
        assert not [p for p in runtime.rglob("*") if p.is_file() and web.url[7:].encode() in str(p).encode() + p.read_bytes()]
        assert len(list((runtime / "headrace" / "pages").iterdir())) == 1
        for one in ranks[:2]:
            one.kill()
        for one in ranks:
            one.communicate()
        alone = rank(1)
        assert int(alone.stdout.readline()) >= 16  # type: ignore[union-attr]
        alone.communicate()


def test_a_proxy_and_passwords(data: pathlib.Path, web: WebServer, tmp_path: pathlib.Path) -> None:
    """Requests go by the proxy of the environment; passwords are in no URL."""
    program = """
import sys
import headrace as hr
print(hr.io.load_image("http://far.example/cat/0.png").shape)
"""
    done = run_python(program, HTTP_PROXY=web.url, NO_PROXY="")
    assert "(40, 50, 3)" in done.stdout, done.stderr
    assert web.headers[-1]["Host"] == "far.example"
    with pytest.raises(HeadraceError, match=r"put them into ~/\.netrc") as refused:
        hr.io.load_image("http://me:SECRET@far.example/x.png")
    assert "SECRET" not in str(refused.value)
