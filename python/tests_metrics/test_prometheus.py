"""A real Prometheus scrapes real runs: every query of the board and the alerts gives data, and alerts fire."""

from __future__ import annotations

import json
import pathlib
import re
import shutil
import socket
import subprocess
import threading
import time
import urllib.parse
import urllib.request
from contextlib import contextmanager

import pytest

import headrace as hr
from web_server import WebServer

EXAMPLES = pathlib.Path(__file__).parents[2] / "examples/metrics"


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def slow(x):
    time.sleep(0.02)
    if x % 40 == 7:
        raise ValueError("bad")
    return x


@contextmanager
def running(loader, wait=0.0):
    """A loop in a thread, until the end of the block."""
    end = threading.Event()

    def loop():
        for _ in loader:
            if end.wait(wait):
                return

    thread = threading.Thread(target=loop)
    thread.start()
    try:
        yield
    finally:
        end.set()
        thread.join()
        loader.close()


@contextmanager
def server(folder, *options):
    """A Prometheus with the examples' configuration, in a hurry, and where it answers."""
    port = free_port()
    command = [
        shutil.which("prometheus") or "prometheus",
        f"--config.file={folder}/prometheus.yml",
        f"--web.listen-address=127.0.0.1:{port}",
    ]
    with subprocess.Popen([*command, f"--storage.tsdb.path={folder}/{port}", "--log.level=error", *options]) as process:
        try:
            yield f"http://127.0.0.1:{port}"
        finally:
            process.terminate()


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The examples' files, beside three loaders that show all that there is."""
    folder, port = tmp_path_factory.mktemp("prometheus"), free_port()
    config = (EXAMPLES / "prometheus.yml").read_text().replace("9464", str(port)).replace("5s", "250ms")
    (folder / "prometheus.yml").write_text(config)
    (folder / "alerts.yml").write_text(re.sub(r"\[\d+m\]", "[5s]", re.sub(r"for: \d+m", "for: 1s", (EXAMPLES / "alerts.yml").read_text())))
    subprocess.run(["promtool", "check", "config", folder / "prometheus.yml"], check=True, capture_output=True)

    (folder / "files").mkdir()
    for i in range(20):
        (folder / "files" / f"{i}.jsonl").write_text("".join(json.dumps({"n": n}) + "\n" for n in range(100)))
    at = f"prometheus://127.0.0.1:{port}?job=test&loader="
    with WebServer(folder / "files") as files:
        first, second = (hr.read([f"{files.url}/{i}.jsonl" for i in r], fields={"n": "n"}) for r in (range(10), range(10, 20)))
        web = hr.mix({first: 0.7, second: 0.3}, source=None).batch(10)
        starved = hr.source(range(10**6)).map(slow, gives=int, where="thread", workers=1).batch(4)
        with (
            running(starved.loader(metrics=f"{at}starved", on_error="skip", max_errors=0.5)),
            running(web.loader(metrics=f"{at}web"), wait=0.02),
            running(web.loader(metrics=f"{at}ranks", rank=1, world_size=2), wait=0.02),
        ):
            yield folder


@pytest.fixture(scope="module")
def prometheus(folder):
    with server(folder) as at:
        yield at


def asked(prometheus, path, **query):
    url = f"{prometheus}/api/v1/{path}?{urllib.parse.urlencode(query)}"
    for _ in range(100):
        try:
            answer = json.load(urllib.request.urlopen(url, timeout=10))
        except OSError:
            time.sleep(0.2)  # it begins
        else:
            assert answer["status"] == "success"
            return answer["data"]
    raise TimeoutError(url)


def data(prometheus, query, enough=bool):
    """What a query gives, once there is something."""
    query = re.sub(r"\$__rate_interval", "5s", query).replace("$job", ".*").replace("$loader", ".*")
    result = None
    for _ in range(150):
        result = asked(prometheus, "query", query=query)["result"]
        if enough(result):
            return result
        time.sleep(0.2)
    pytest.fail(f"{query} gives {result}")


BOARD = json.loads((EXAMPLES / "dashboard.json").read_text())
QUERIES = [target["expr"] for panel in BOARD["panels"] for target in panel["targets"]]


@pytest.mark.parametrize("query", QUERIES)
def test_queries_of_the_board(prometheus, query):
    data(prometheus, query)


def test_variables_of_the_board(prometheus):
    for variable in BOARD["templating"]["list"][1:]:
        name, label = re.fullmatch(r"label_values\((\w+), (\w+)\)", variable["query"]).groups()
        data(prometheus, f"count by ({label}) ({name})")
    assert {one["metric"]["loader"] for one in data(prometheus, "headrace_info", lambda r: len(r) == 3)} == {"starved", "web", "ranks"}
    assert data(prometheus, 'headrace_info{rank="1", job="test"}')


def alerts():
    """The expressions of the alerts, without their limits."""
    text = (EXAMPLES / "alerts.yml").read_text()
    for name, expression in re.findall(r"alert: (\w+)\n +expr: >\n((?: {10}.*\n)+)", text):
        for part in re.split(r"\n\s+and on .*?\)", expression):
            yield pytest.param(re.sub(r"\[\d+m\]", "[5s]", re.sub(r" (>|==) [\d.]+\s*$", "", part)), id=name)


@pytest.mark.parametrize("query", list(alerts()))
def test_queries_of_alerts(prometheus, query):
    data(prometheus, query)


@pytest.mark.parametrize("alert", ["HeadraceLoopWaits", "HeadraceLosesSamples"])
def test_alerts_fire(prometheus, alert):
    fired = data(prometheus, f'ALERTS{{alertname="{alert}", alertstate="firing"}}')
    assert {one["metric"]["loader"] for one in fired} == {"starved"}


def test_native_histograms(folder):
    """A server that asks for them has them, and then none of the others."""
    with server(folder, "--enable-feature=native-histograms") as prometheus:
        query = 'histogram_quantile(0.5, sum(rate(headrace_batch_wait_seconds{loader="starved"}[5s])))'
        native = data(prometheus, query, lambda r: r and r[0]["value"][1] != "NaN")
        assert 0.03 < float(native[0]["value"][1]) < 0.5  # four calls of 20 ms
        assert data(prometheus, "headrace_stage_duration_seconds")


def test_exemplars(folder):
    """A slow wait leads to its batch."""
    with server(folder, "--enable-feature=native-histograms,exemplar-storage") as prometheus:
        query = 'headrace_batch_wait_seconds{loader="starved"}'
        for _ in range(150):
            now = time.time()
            found = asked(prometheus, "query_exemplars", query=query, start=now - 600, end=now)
            if found:
                break
            time.sleep(0.2)
        exemplars = [one for series in found for one in series["exemplars"]]
        assert exemplars
        assert exemplars[-1]["labels"].keys() == {"epoch", "batch"}
        assert float(exemplars[-1]["value"]) > 0.03  # four calls of 20 ms


def test_the_names_hold(prometheus):
    """No name is changed on the way, and each has its type and help."""
    told = asked(prometheus, "metadata")
    ours = {name: kinds[0]["type"] for name, kinds in told.items() if name.startswith("headrace_")}
    page = (pathlib.Path(__file__).parents[2] / "docs/guide/metrics.md").read_text()
    assert ours == dict(re.findall(r"^\| `(headrace_\w+)` \| (\w+) \|", page, re.M))
