"""Runs what the documents and this folder show, as it is there."""

from __future__ import annotations

import concurrent.futures
import http.client
import http.server
import itertools
import json
import os
import pathlib
import re
import signal
import socket
import subprocess
import sys
import threading
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from PIL import Image

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    """A working directory with images in data/train, a folder per class."""
    folder = tmp_path_factory.mktemp("examples")
    sys.path.insert(0, str(HERE / "demo"))
    import photographs

    for label in range(4):
        (folder / f"data/train/class{label}").mkdir(parents=True)
        picture = photographs.generated(label)
        for i in range(24):
            image = picture.resize((400, 300), box=(10 * i, 5 * i, 800 + 10 * i, 600 + 5 * i))
            image.save(folder / f"data/train/class{label}/{i:02d}.JPEG", quality=90)
    return folder


def run(folder: pathlib.Path, *arguments: str) -> str:
    command = [sys.executable, *arguments]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return done.stdout


def code_blocks(document: str, language: str = "python") -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", (ROOT / document).read_text(), re.DOTALL)


def test_the_quick_start_of_the_readme(folder: pathlib.Path) -> None:
    """It runs as it is there, on smaller crops for one epoch."""
    (block,) = code_blocks("README.md")
    val = folder / "data/val"
    val.symlink_to("train")
    smaller = block.replace("224)", "32)").replace("256)", "36)").replace("10", "1")
    said = run(folder, "-c", smaller)
    val.unlink()
    assert re.fullmatch(r"epoch 0: loss \d+\.\d\d, \d+ of val right\n", said)


def test_the_recipe_and_the_commands_of_the_readme(folder: pathlib.Path, tmp_path: pathlib.Path) -> None:
    (recipe,) = code_blocks("README.md", "yaml")
    (commands,) = [block for block in code_blocks("README.md", "sh") if "headrace" in block]
    (tmp_path / "headrace").symlink_to(ROOT / "python/src/headrace/_bin/headrace")
    (folder / "train.yaml").write_text(recipe)
    environment = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"}
    for command in commands.splitlines():
        done = subprocess.run(command, shell=True, cwd=folder, env=environment, capture_output=True, text=True, timeout=300)
        assert done.returncode == 0, command + done.stdout + done.stderr
        assert done.stdout, command
    with Image.open(folder / "sheet.png") as sheet:
        assert sheet.width > 500


def test_augmentations(folder: pathlib.Path) -> None:
    out = run(folder, str(HERE / "augmentations.py"), "data/train/class1/00.JPEG", "rows.png")
    with Image.open(folder / "rows.png") as sheet:
        assert sheet.size == (8 * 144, 12 * 144)
        for i, operation in enumerate(out.splitlines()):
            row = [sheet.crop((144 * k, 144 * i, 144 * (k + 1), 144 * (i + 1))).tobytes() for k in range(8)]
            assert (len(set(row)) > 1) == (i > 0), operation


def test_resume(folder: pathlib.Path) -> None:
    assert "the same batch" in run(folder, str(HERE / "resume.py"), "data/train")


def test_remux(folder: pathlib.Path) -> None:
    films = folder / "films"
    (films / "cat").mkdir(parents=True)
    pattern = ["ffmpeg", "-v", "error", "-f", "lavfi", "-i", "testsrc2=s=64x48:r=25:d=1", "-pix_fmt", "yuv420p"]
    for name in ("cat/0.mkv", "1.ts", "2.avi"):
        subprocess.run([*pattern, "-c:v", "mpeg4", films / name], check=True)
    (films / "3.webm").write_bytes(b"no film")
    (films / "4.txt").write_bytes(b"no film")
    done = subprocess.run(
        [sys.executable, HERE / "remux.py", films, folder / "mp4"], capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 1, done.stderr
    assert "3 of 4 copied" in done.stdout
    assert "3.webm" in done.stdout
    copies = sorted(path.relative_to(folder / "mp4").as_posix() for path in (folder / "mp4").rglob("*") if path.is_file())
    assert copies == ["1.mp4", "2.mp4", "cat/0.mp4"]
    counts = ["ffprobe", "-v", "error", "-count_packets", "-show_entries", "stream=codec_name,nb_read_packets", "-of", "csv=p=0"]
    for name in copies:
        assert (
            subprocess.run([*counts, folder / "mp4" / name], capture_output=True, text=True, check=True).stdout.strip()
            == "mpeg4,25"
        )


@pytest.fixture(scope="module")
def words(folder: pathlib.Path) -> pathlib.Path:
    """Tones in place of words, in several formats and of several lengths."""
    import headrace as hr

    for word, pitch in {"yes": 300, "no": 900, "go": 2000}.items():
        (folder / "words" / word).mkdir(parents=True)
        for i in range(12):
            tone = 0.4 * np.sin(2 * np.pi * pitch * (1 + 0.02 * i) * np.arange(14000 + 2000 * i) / 16000)
            hr.io.save_audio(folder / "words" / word / f"{i}.{('flac', 'wav', 'mka')[i % 3]}", tone.astype(np.float32), 16000)
    hr.io.close()
    return folder / "words"


def test_keyword_spotting(folder: pathlib.Path, words: pathlib.Path) -> None:
    assert run(folder, str(HERE / "keyword_spotting.py"), "words", "6").splitlines()[-1].endswith("100% right")


def test_transcription(folder: pathlib.Path, words: pathlib.Path) -> None:
    files = sorted(words.rglob("*.*"))
    lines = [f"{path.relative_to(folder)}\t{path.parent.name}, the {path.stem}th time\n" for path in files if path.is_file()]
    (folder / "said.tsv").write_text("".join(lines))
    out = run(folder, str(HERE / "transcription.py"), "said.tsv").splitlines()
    assert out[-1].startswith("36 recordings, ")
    assert len(out) >= 10


def test_two_tower(folder: pathlib.Path) -> None:
    """Users of four kinds click items of their own kind."""
    draw = np.random.default_rng(0)
    user, item = draw.integers(0, 200, 4000), draw.integers(0, 100, 4000)
    item += user % 4 - item % 4
    age = [None if k % 10 == 0 else 20 + u % 50 for k, u in enumerate(user.tolist())]
    clicks = pa.table({
        "user": [f"u{n}" for n in user], "item": [f"item {n}" for n in item],
        "age": pa.array(age, pa.int32()), "price": 1.5 + item % 9,
    })  # fmt: skip
    pq.write_table(clicks, folder / "clicks.parquet")
    last = run(folder, str(HERE / "two_tower.py"), "clicks.parquet", "6").splitlines()[-1]
    assert re.match(r"epoch 5: loss \d", last)
    assert int(re.findall(r"(\d+)% right", last)[0]) > 75, last  # by chance 50


def test_robot_windows(folder: pathlib.Path) -> None:
    """A robot whose action is to follow a curve that its last two states foretell."""
    for number in range(2):
        t = np.concatenate([np.arange(60) / 10 for _ in range(5)])
        curve = np.stack([np.sin(t + number + k) for k in range(3)], 1).astype(np.float32)
        episodes = pa.table({
            "episode_index": np.repeat(np.arange(5) + 5 * number, 60), "timestamp": t.astype(np.float32),
            "observation.state": pa.FixedSizeListArray.from_arrays(curve.ravel(), 3),
            "action": pa.FixedSizeListArray.from_arrays(curve[:, :2].ravel() / 2, 2),
        })  # fmt: skip
        pq.write_table(episodes, folder / f"episodes-{number}.parquet")
    said = run(folder, str(HERE / "robot_windows.py"), "episodes-0.parquet", "episodes-1.parquet", "12")
    losses = [float(line.partition("loss ")[2]) for line in said.splitlines()]
    assert len(losses) == 12
    assert losses[-1] < 0.01 < losses[0]


def test_train_torch(folder: pathlib.Path) -> None:
    assert "epoch 1" in run(folder, str(HERE / "train_torch.py"), "data/train")


def test_views_for_contrastive_training(folder: pathlib.Path) -> None:
    for program in ("simclr.py", "dino.py"):
        losses = re.findall(r"epoch [01]: loss (\d+\.\d\d)\n", run(folder, str(HERE / program), "data/train"))
        assert len(losses) == 2, program


def test_own_transform(folder: pathlib.Path) -> None:
    out = run(folder, str(HERE / "own_transform.py"), "data/train", "painted.png")
    assert "6 batches" in out
    assert "map" in out
    with Image.open(folder / "painted.png") as sheet:
        assert sheet.size == (8 * 128, 2 * 128)
        assert len(sheet.getcolors(1 << 18)) < 1 << 15, "nothing is posterized"


def test_the_demo_draws_its_sheet(folder: pathlib.Path) -> None:
    out = run(folder, str(HERE / "demo/demo.py"), "data/train", "sheet.png")
    assert "images per second" in out
    with Image.open(folder / "sheet.png") as sheet:
        assert sheet.width == 8 * (224 + 12) - 12 + 2 * 16
        assert len(sheet.resize((64, 64)).getcolors(4096)) > 100, "the sheet is empty"


def test_colours_in_go(folder: pathlib.Path) -> None:
    command = ["go", "run", "./examples/colours", str(folder / "data/train")]
    lines = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout.splitlines()
    assert [line.split()[0] for line in lines] == ["class0", "class1", "class2", "class3"]


@pytest.mark.parametrize(("suffix", "format", "levels"), [("png", "PNG", 0), ("jpg", "JPEG", 12), ("webp", "WEBP", 12)])
def test_contactsheet_in_go(folder: pathlib.Path, tmp_path: pathlib.Path, suffix: str, format: str, levels: int) -> None:
    name = tmp_path / f"sheet.{suffix}"
    photographs = folder / "data/train/class0"
    subprocess.run(["go", "run", "./examples/contactsheet", str(photographs), str(name)], cwd=ROOT, check=True)
    want = np.zeros((4 * 128, 6 * 128, 3), np.int16)
    for i, path in enumerate(sorted(photographs.iterdir())):
        with Image.open(path) as photograph:  # 400 x 300: 170 x 128, of which the middle begins at 21
            tile = photograph.resize((170, 128), Image.Resampling.BILINEAR).crop((21, 0, 149, 128))
        y, x = i // 6 * 128, i % 6 * 128
        want[y : y + 128, x : x + 128] = np.asarray(tile)
    with Image.open(name) as sheet:
        assert (sheet.format, sheet.size) == (format, (768, 512))
        assert np.abs(np.asarray(sheet.convert("RGB"), np.int16) - want).mean() <= levels


def test_serve_model(folder: pathlib.Path) -> None:
    """Many clients at once, some of whom send damaged images, or leave."""
    command = [sys.executable, "-u", str(HERE / "serve_model.py"), "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as service:
        try:
            assert service.stdout is not None
            assert service.stderr is not None
            url = service.stdout.readline().strip()
            host = url.removeprefix("http://").rstrip("/")

            def post(body: bytes, method: str = "POST") -> tuple[int, Any]:
                connection = http.client.HTTPConnection(host, timeout=60)
                connection.request(method, "/", body)
                answer = connection.getresponse()
                return answer.status, json.loads(answer.read())

            photographs = sorted((folder / "data/train").rglob("*.JPEG"))[:24]
            sent = [path.read_bytes() for path in photographs]
            broken = [b"no image", sent[0][: len(sent[0]) // 3], sent[1][:200] * 9]
            with socket.create_connection(tuple(host.split(":"))) as gone:  # in the middle of its request
                gone.sendall(b"POST / HTTP/1.1\r\nContent-Length: 1000\r\n\r\nhalf")
            with concurrent.futures.ThreadPoolExecutor(12) as clients:
                answers = list(clients.map(post, [*sent[:12], *broken, *sent[12:]]))
            assert post(b"", "GET")[0] == 405
            service.send_signal(signal.SIGTERM)
            assert (service.wait(60), service.stderr.read()) == (0, "")
        finally:
            service.kill()
    refused = answers[12:15]
    del answers[12:15]
    assert [status for status, _ in refused] == [400] * 3, refused
    assert all("JPEG" in said["error"] or "image" in said["error"] for _, said in refused), refused
    assert [status for status, _ in answers] == [200] * 24
    for path, (_, said) in zip(photographs, answers):
        with Image.open(path) as image:
            expected = np.asarray(image.convert("RGB")).mean((0, 1))
        assert np.abs(np.array(said["mean"]) - expected).max() < 3  # resized, and scaled by libjpeg


def test_fetch_images(folder: pathlib.Path) -> None:
    """From a server that keeps its answers back until eight requests are there; it has nothing for one of them."""
    pytest.importorskip("aiohttp")
    arrived, together = itertools.count(1), threading.Event()

    class Handler(http.server.SimpleHTTPRequestHandler):
        def __init__(self, *given: Any) -> None:
            super().__init__(*given, directory=str(folder / "data/train"))

        def do_GET(self) -> None:
            if next(arrived) >= 8:
                together.set()
            together.wait(60)
            super().do_GET()

        def log_message(self, *_: object) -> None:
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        base = f"http://127.0.0.1:{server.server_port}"
        urls = [f"{base}/class{label}/{i:02d}.JPEG" for label in range(4) for i in range(10)]
        out = run(folder, str(HERE / "fetch_images.py"), *urls, f"{base}/missing.JPEG")
    finally:
        server.shutdown()
        server.server_close()
    *batches, lost = out.splitlines()
    assert sorted(key for line in batches for key in line.split(") ")[1].split()) == sorted(urls)
    assert [line.split(") ")[0] for line in batches] == ["(8, 64, 64, 3"] * 5
    assert "missing.JPEG" in lost
    assert "404" in lost
