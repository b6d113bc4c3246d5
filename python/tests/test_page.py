"""The live page, read as a browser reads it, and `headrace top`."""

from __future__ import annotations

import http.server
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request
import warnings

import pytest

import headrace as hr
from headrace._client.program import find_program

pytestmark = pytest.mark.smoke


@pytest.fixture(autouse=True)
def alone(monkeypatch):
    """Loaders of other tests on this machine are not shown. The engine starts with this environment; names of sockets must be short."""
    for name in ("HEADRACE_PAGE", "HEADRACE_METRICS", "HEADRACE_LOG", "RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE"):
        monkeypatch.delenv(name, raising=False)
    with tempfile.TemporaryDirectory(prefix="hr-") as place:
        monkeypatch.setenv("XDG_RUNTIME_DIR", place)
        yield


def slow(x):
    time.sleep(0.002)
    return x


def numbers(n=100_000):
    return hr.source(range(n)).map(slow, gives=int, workers=1, where="thread").batch(10)


def moments(address, enough, loader=""):
    """The first event that has enough."""
    with urllib.request.urlopen(f"{address}events?loader={loader}", timeout=30) as events:
        began = time.monotonic()
        for line in events:
            if line.startswith(b"data: "):
                assert len(line) <= 8 * 1024 + 8
                event = json.loads(line[6:])
                if enough(event):
                    return event
            if time.monotonic() - began > 30:
                break
    pytest.fail(f"not enough: {event}")


def reads(loader):
    """A thread that takes batches until the loader is closed."""

    def run():
        try:
            for _ in loader:
                pass
        except hr.LoaderClosed:
            pass

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    return thread


def test_the_bottleneck_is_shown(capfd):
    with numbers().loader(page=True) as loader:
        address = loader.page()
        assert f"headrace: the page of this loader: {address}\n" in capfd.readouterr().err
        assert address == loader.page()
        thread = reads(loader)
        now = moments(address, lambda event: event["now"]["limits"] >= 0)["now"]
        assert now["stages"][now["limits"]]["name"].startswith("map")
        assert "The bottleneck is map" in now["sentence"]
        assert now["loop"]["share"] > 0.5
        assert now["progress"]["samples"] > 0
        assert now["pid"] == os.getpid()
        page = urllib.request.urlopen(address, timeout=5)
        assert page.read().startswith(b"<!doctype html>")
        assert "default-src 'none'" in page.headers["Content-Security-Policy"]
    thread.join(10)
    with pytest.raises(urllib.error.URLError):
        urllib.request.urlopen(address, timeout=5)


def test_steps_of_the_program_itself_are_no_wait():
    def own(batch):
        time.sleep(0.02)
        return batch

    steps = hr.source([{"n": i} for i in range(10_000)], gives={"n": int}, where="here").batch(2).map(own, where="main")
    with steps.loader(page=True) as loader:
        thread = reads(loader)
        now = moments(loader.page(), lambda event: event["now"]["loop"].get("main_share", 0) > 0.5)["now"]
        assert 0.015 < now["loop"]["main"] < 0.2
        assert now["loop"]["share"] < 0.5
        assert now["limits"] == -1, "the loop limits"
    thread.join(10)


def test_nobody_else_is_answered():
    with numbers().loader(page=True) as loader:
        address = loader.page()
        root = address[: address.rindex("/", 0, -1) + 1]
        for url, header in (
            (root, {}),
            (root + "A" * 26 + "/", {}),
            (address, {"Host": "evil.example"}),
            (address + "history?loader=1", {"Origin": "http://evil.example"}),
        ):
            with pytest.raises(urllib.error.HTTPError, match="403"):
                urllib.request.urlopen(urllib.request.Request(url, headers=header), timeout=5)


def test_there_is_none_unless_it_is_asked_for(capfd):
    with numbers(20).loader(epochs=1) as loader:
        assert sum(len(batch) for batch in loader) == 20
    assert "page" not in capfd.readouterr().err
    assert not os.listdir(os.environ["XDG_RUNTIME_DIR"])


def test_who_says_that_there_is_a_page(monkeypatch, capfd):
    """The loader, before `hr.defaults`, before the environment."""

    def has_page(**given):
        with numbers(20).loader(epochs=1, **given):
            return "the page of this loader" in capfd.readouterr().err

    monkeypatch.setenv("HEADRACE_PAGE", "1")
    assert has_page()
    assert not has_page(page=False)
    before = hr.defaults(page=False)
    try:
        assert not has_page()
        assert has_page(page=True)
    finally:
        hr.defaults(**before)


def test_of_ranks_the_first_has_the_page(monkeypatch, capfd):
    monkeypatch.setenv("LOCAL_WORLD_SIZE", "2")
    with numbers().loader(page=True, rank=0, world_size=2) as first, numbers().loader(page=True, rank=1, world_size=2) as second:
        assert capfd.readouterr().err.count("the page of this loader") == 1
        threads = [reads(first), reads(second)]
        both = moments(first.page(), lambda event: len(event["loaders"]) == 2)
        assert [(one["rank"], one["ranks"]) for one in both["loaders"]] == [(0, 2), (1, 2)]
        other = moments(first.page(), lambda event: event["now"]["rank"] == 1, both["loaders"][1]["id"])
        assert other["now"]["id"] == both["loaders"][1]["id"]
    for thread in threads:
        thread.join(10)


@pytest.mark.parametrize("page", ["yes", -1, 65536, 1.5, "7070"])
def test_ports_that_are_none(page):
    with pytest.raises(hr.RecipeError, match=r"page is .*: must be True for any port that is free, or a port from 1 to 65535"):
        numbers().loader(page=page)
    with numbers(20).loader() as loader, pytest.raises(hr.RecipeError, match=r"page: port is .*: must be"):
        loader.page(page)


def test_a_port_that_another_program_has():
    """It is said which, and the loader goes on."""
    with http.server.HTTPServer(("127.0.0.1", 0), http.server.BaseHTTPRequestHandler) as server:
        port = server.server_address[1]
        with warnings.catch_warnings(record=True) as said, numbers(200).loader(epochs=1, page=port) as loader:
            warnings.simplefilter("always")
            assert sum(len(batch) for batch in loader) == 200
            with pytest.raises(hr.RecipeError, match=f"127.0.0.1:{port}: address already in use"):
                loader.page(port)
            assert loader.page().startswith("http://127.0.0.1:")
        assert any(f"127.0.0.1:{port}: address already in use; the loader goes on without it" in str(one.message) for one in said)


def test_lost_samples_are_shown(tmp_path):
    """With whatever name they have."""
    for i in range(20):
        (tmp_path / f"<img src=x onerror=alert({i})>.jpg").write_bytes(b"no image")
    pipeline = hr.files(str(tmp_path / "*.jpg")).decode_image().resize((8, 8)).batch(4)
    with pipeline.loader(on_error="skip", max_errors=100, page=True, epochs=1) as loader:
        assert list(loader) == []
        now = moments(loader.page(), lambda event: event["now"]["lost"] == 20)["now"]
    assert now["failures"][0]["stage"] == "decode_image"
    assert "<img src=x onerror=alert(" in now["failures"][0]["key"]


def test_an_engine_that_is_started_again_has_a_page(capfd):
    with pytest.warns(hr.HeadraceWarning, match="engine"), numbers().loader(page=True, on_error="skip") as loader:
        loop = iter(loader)
        next(loop)
        os.kill(loader._run.session.connection.engine.pid, signal.SIGKILL)
        for _ in range(20):
            next(loop)
        assert moments(loader.page(), lambda event: event["now"]["progress"]["samples"] > 0)
        assert capfd.readouterr().err.count("the page of this loader") == 2


def top(*arguments, code=0):
    process = subprocess.run([find_program(), "top", *arguments], capture_output=True, text=True, timeout=30, check=False)
    assert process.returncode == code, process.stderr
    return process.stdout + process.stderr


def test_top():
    assert "loader(page=True)" in top(code=1)
    with numbers().loader(page=True) as loader, numbers().loader(metrics="prometheus://127.0.0.1:1?loader=val") as other:
        threads = [reads(loader), reads(other)]
        moments(loader.page(), lambda event: event["now"]["limits"] >= 0)
        text = top("loader 1")
        assert "The bottleneck is map" in " ".join(text.split())
        assert "1 more: headrace top --all" in text
        assert max(map(len, text.splitlines())) <= 80
        lines = top("--all").splitlines()
        assert len(lines) == 3
        assert "loader 1" in lines[1]
        assert "val" in lines[2]
        assert [one["name"] for one in json.loads(top("--once", "--json"))] == ["loader 1", "val"]
        assert "there are loader 1, val" in top("train", code=1)
    for thread in threads:
        thread.join(10)


def test_a_stall_is_shown(address_of_metrics):
    """On the page, in statistics, metrics and probes, and to hooks; until something moves."""
    free = threading.Event()

    def hangs(x):
        if x == 25:
            free.wait(60)
        return x

    reports = []

    class Pager:
        def stalled(self, report):
            reports.append(report)

    pipeline = hr.source(range(100_000)).map(hangs, gives=int, workers=1, where="here").batch(10)
    with warnings.catch_warnings(), pipeline.loader(page=True, metrics=address_of_metrics, stall_after=0.5, hooks=[Pager()]) as loader:
        warnings.simplefilter("ignore")
        address = loader.page()
        assert probe(address_of_metrics, "healthz") == (200, "ok\n")
        thread = reads(loader)
        now = moments(address, lambda event: event["now"].get("stalled"))["now"]
        assert 'has not finished "25"' in now["stalled"]
        assert now["sentence"].startswith("Nothing has moved for ")
        status, text = probe(address_of_metrics, "healthz")
        assert status == 503
        assert text.startswith("loader 1: nothing has moved for ")
        assert probe(address_of_metrics, "readyz")[0] == 503
        assert "Nothing has moved for" in top("--once")
        free.set()
        moments(address, lambda event: not event["now"].get("stalled") and event["now"]["progress"]["samples"] > 100)
        assert "stalled" not in loader.stats()
        assert loader.stats()["stalls"] == 1
        assert probe(address_of_metrics, "healthz")[0] == 200
        assert probe(address_of_metrics, "readyz") == (200, "ok\n")
    thread.join(10)
    assert len(reports) == 1
    assert "has not finished" in reports[0]


@pytest.fixture
def address_of_metrics():
    import socket

    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return f"prometheus://127.0.0.1:{s.getsockname()[1]}"


def probe(address, path):
    url = f"{address.replace('prometheus', 'http')}/{path}"
    for _ in range(100):
        try:
            with urllib.request.urlopen(url, timeout=5) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode()
        except OSError:
            time.sleep(0.05)  # nobody is there yet
    pytest.fail(url)


def test_warnings_as_json():
    program = """
import headrace as hr, threading
free = threading.Event()
def hangs(x):
    if x == 5:
        free.wait(0.7)
    return x
with hr.source(range(100)).map(hangs, gives=int, workers=1, where="here").batch(10).loader(epochs=1, stall_after=0.2, page=True) as loader:
    for batch in loader:
        pass
"""
    told = subprocess.run(
        [sys.executable, "-c", program], env={**os.environ, "HEADRACE_LOG": "json", "RANK": "0"}, capture_output=True, text=True, check=True
    )
    lines = [json.loads(line) for line in told.stderr.splitlines()]
    assert [(line["level"], line["code"], line["rank"]) for line in lines] == [("INFO", "page", "0"), ("WARNING", "stall", "0")]
    assert lines[1]["msg"].startswith("nothing has moved for 0.2")


def test_the_command(tmp_path):
    (tmp_path / "numbers.jsonl").write_text("".join(f'{{"n": {i}}}\n' for i in range(50_000)))
    (tmp_path / "recipe.yaml").write_text(
        f'headrace: 1\nsteps:\n  - read: {{from: "{tmp_path}/numbers.jsonl"}}\n  - batch: {{size: 10}}\nloader: {{epochs: 100000}}\n'
    )
    command = [find_program(), "run", "recipe.yaml"]
    with subprocess.Popen([*command, "--page", "--quiet"], cwd=tmp_path, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stderr is not None
            what, _, address = process.stderr.readline().strip().partition(": ")
            assert what == "the page of this run"
            now = moments(address, lambda event: event["now"]["progress"]["samples"] > 0)["now"]
            assert now["program"] == "headrace run recipe.yaml"
            assert "recipe.yaml" in top("--once")
        finally:
            process.kill()
    wrong = subprocess.run([*command, "--page=70000"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert wrong.returncode == 2
    assert '--page is "70000": must be a port' in wrong.stderr
    logged = subprocess.run(
        [*command, "--epochs", "1"], cwd=tmp_path, env={**os.environ, "HEADRACE_LOG": "json"}, capture_output=True, text=True, check=True
    )
    assert [json.loads(line)["event"] for line in logged.stderr.splitlines()] == ["start", "epoch", "end"]
