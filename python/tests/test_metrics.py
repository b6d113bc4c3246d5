"""Metrics for Prometheus, read as a server of it reads them."""

from __future__ import annotations

import http.client
import http.server
import socket
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from contextlib import ExitStack, contextmanager

import pytest
from prometheus_client.parser import text_string_to_metric_families

import headrace as hr
from headrace._client.program import find_program

pytestmark = pytest.mark.smoke


@pytest.fixture(autouse=True)
def alone(monkeypatch, tmp_path):
    """Other tests on this machine may have loaders with metrics, too."""
    for name in ("HEADRACE_METRICS", "SLURM_JOB_ID", "TORCHELASTIC_RUN_ID"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def address():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return f"prometheus://127.0.0.1:{s.getsockname()[1]}"


def numbers(n=200):
    return hr.source(range(n)).map(lambda x: x, gives=int).batch(10)


def told(address, enough=lambda series: True):
    """The series that are served, by name and labels; once there are enough."""
    url = address.partition("?")[0].replace("prometheus", "http") + "/metrics"
    series: dict = {}
    for _ in range(200):
        try:
            text = urllib.request.urlopen(url, timeout=5).read().decode()
        except (OSError, http.client.HTTPException):  # nobody is there yet, or was killed within an answer
            series = {}
        else:
            families = text_string_to_metric_families(text)
            series = {(s.name, *sorted(s.labels.items())): s.value for family in families for s in family.samples}
            if enough(series):
                return series
        time.sleep(0.05)
    pytest.fail(f"not served at {url}: {series}")


def of(series, name, **labels):
    """The only series of a name that has these labels."""
    found = [value for key, value in series.items() if key[0] == name and set(labels.items()) <= set(key[1:])]
    assert len(found) == 1, (name, labels, found)
    return found[0]


@contextmanager
def ends(process):
    """Kills a process at the end."""
    with process:
        try:
            yield
        finally:
            process.kill()


def test_what_is_told(address):
    def late_at_first(x):
        time.sleep(0.2 * (x == 0))  # so that the loop waits for its first batch
        return x

    pipeline = hr.source(range(200)).map(late_at_first, gives=int).batch(10)
    with pipeline.loader(epochs=1, metrics=f"{address}?loader=train&job=night") as loader:
        for i, _ in enumerate(loader):
            time.sleep(0.01)
            if i == 15:
                stats = loader.stats()
                time.sleep(0.3)  # until statistics are read again
                series = told(address)
                break
    labels = {"loader": "train", "job": "night"}
    assert of(series, "headrace_batches_total", **labels) == pytest.approx(16, abs=1)
    assert of(series, "headrace_batch_wait_seconds_count", **labels) == pytest.approx(15, abs=3)
    assert of(series, "headrace_stage_items_total", stage="source", **labels) >= 160
    assert of(series, "headrace_function_calls_total", stage="map", **labels) >= 160
    assert of(series, "headrace_loop_seconds_total", part="step", **labels) > 0.1
    assert 0 < of(series, "headrace_start_seconds_total", **labels) <= stats["start_ns"] / 1e9 + 0.1  # the engine's part of it
    assert of(series, "headrace_info", version=hr.__version__, **labels) == 1
    assert of(series, "headrace_process_memory_bytes", process="engine", **labels) > 1e6
    assert not any("rank" in dict(key[1:]) for key in series)


def test_waits_are_those_of_the_loop(address):
    def slow(x):
        time.sleep(0.01)
        return x

    with hr.source(range(60)).map(slow, gives=int, workers=1, where="thread").batch(2).loader(epochs=1, metrics=address) as loader:
        for i, _ in enumerate(loader):
            if i == 25:
                stats = loader.stats()
                series = told(address, lambda series: of(series, "headrace_batch_wait_seconds_count") >= 20)
                break
    assert of(series, "headrace_batch_wait_seconds_sum") == pytest.approx(stats["waited_ns"] / 1e9, rel=0.25)
    assert of(series, "headrace_batch_wait_seconds_bucket", le="0.001") <= of(series, "headrace_batch_wait_seconds_count") / 2


def test_ranks_of_several_programs_share_an_address(address, monkeypatch):
    """The program with the port tells of all, and another has it when that one has ended."""
    monkeypatch.setenv("TORCHELASTIC_RUN_ID", "run-7")
    program = f"""
import sys, headrace as hr
with hr.source(range(1000)).batch(10).loader(rank=int(sys.argv[1]), world_size=2, metrics={address!r}) as loader:
    for batch in loader:
        sys.stdin.readline()
"""

    def start(rank):
        return ends(subprocess.Popen([sys.executable, "-c", program, str(rank)], stdin=subprocess.PIPE))

    def are(n):
        return lambda series: sum(key[0] == "headrace_info" for key in series) == n

    with ExitStack() as all:
        with start(0):
            told(address, are(1))
            all.enter_context(start(1))
            series = told(address, are(2))
            for rank in range(2):
                assert of(series, "headrace_batches_total", rank=str(rank), loader="1", job="run-7") >= 0
        assert of(told(address, are(1)), "headrace_batches_total", rank="1") >= 0


def test_what_is_closed_is_not_told(address):
    with numbers().loader(metrics=f"{address}?loader=a") as a, numbers().loader(metrics=f"{address}?loader=b") as b:
        next(iter(a)), next(iter(b))
        told(address, lambda series: sum(key[0] == "headrace_info" for key in series) == 2)
        a.close()
        assert of(told(address), "headrace_info") == 1
    with pytest.raises(urllib.error.URLError):
        urllib.request.urlopen(address.replace("prometheus", "http") + "/metrics", timeout=5)


def test_which_address_counts(address, monkeypatch):
    """The loader's, before that of `hr.defaults`, before the environment's; none is none."""
    monkeypatch.setenv("HEADRACE_METRICS", f"{address}?loader=environment")
    before = hr.defaults(metrics=f"{address}?loader=defaults")
    try:
        for given, name in ((f"{address}?loader=given", "given"), (None, "defaults")):
            with numbers().loader(metrics=given):
                assert of(told(address), "headrace_info", loader=name) == 1
        with numbers().loader(metrics=""), pytest.raises(urllib.error.URLError):
            urllib.request.urlopen(address.replace("prometheus", "http") + "/metrics", timeout=5)
    finally:
        hr.defaults(**before)
    with numbers().loader():
        assert of(told(address), "headrace_info", loader="environment") == 1


@pytest.mark.parametrize(
    ("metrics", "says"),
    [
        ("127.0.0.1:9464", "must be like prometheus://127.0.0.1:9464"),
        ("prometheus://127.0.0.1", "has no port"),
        ("prometheus://127.0.0.1:9464?rank=1", "has rank="),
        ("otlp://collector", "has no port"),
        (object(), "metrics is <object"),
    ],
)
def test_addresses_that_are_none(metrics, says):
    with pytest.raises(hr.RecipeError, match=says):
        numbers().loader(metrics=metrics)


def test_a_port_that_another_program_has():
    """It is said which, and the loader goes on."""
    with http.server.HTTPServer(("127.0.0.1", 0), http.server.BaseHTTPRequestHandler) as server:
        port = server.server_address[1]
        with pytest.warns(hr.HeadraceWarning, match=f"127.0.0.1:{port}: address already in use; the loader goes on"):
            with numbers().loader(epochs=1, metrics=f"prometheus://127.0.0.1:{port}") as loader:
                time.sleep(0.2)
                assert sum(len(batch) for batch in loader) == 200


class Collector:
    """Takes what is posted to it."""

    def __init__(self):
        posted = self.posted = {}

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                posted[self.path] = self.rfile.read(int(self.headers["Content-Length"]))
                self.send_response(200)
                self.end_headers()

            def log_message(self, *args):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.address = f"127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, args=[0.05], daemon=True).start()


@pytest.fixture
def collector():
    collector = Collector()
    yield collector
    collector.server.shutdown()
    collector.server.server_close()


def test_a_collector_is_sent_all(collector, tmp_path):
    """What the messages are is for tests_metrics, with OpenTelemetry's own description of them."""
    with numbers().loader(epochs=1, metrics=f"otlp://{collector.address}?loader=train&traces=60") as loader:
        for batch in loader:
            assert len(batch) == 10
            time.sleep(0.05)
    assert b"headrace.stage.seconds" in collector.posted["/v1/metrics"]
    assert b"train" in collector.posted["/v1/metrics"]
    assert b"sample" in collector.posted["/v1/traces"]
    collector.posted.clear()
    (tmp_path / "numbers.jsonl").write_text('{"n": 1}\n')
    (tmp_path / "recipe.yaml").write_text(f'headrace: 1\nsteps:\n  - read: {{from: "{tmp_path}/numbers.jsonl"}}\n  - batch: {{size: 1}}\n')
    command = [find_program(), "run", "recipe.yaml", "--quiet", "--metrics", f"otlp://{collector.address}"]
    subprocess.run(command, cwd=tmp_path, check=True, timeout=60)
    assert b"headrace.batches" in collector.posted["/v1/metrics"]


def test_a_collector_that_is_not_there(address, monkeypatch):
    """It is said once, and the loader goes on."""
    monkeypatch.setenv("OTEL_METRIC_EXPORT_INTERVAL", "100")
    program = f"""
import time, headrace as hr
with hr.source(range(100)).batch(10).loader(epochs=1, metrics={address.replace("prometheus", "otlp")!r}) as loader:
    print(sum(len(batch) for batch in loader if time.sleep(0.05) is None))
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout == "100\n"
    assert done.stderr.count("connection refused; the loader goes on") == 1


def test_the_command(address, tmp_path):
    (tmp_path / "numbers.jsonl").write_text("".join(f'{{"n": {i}}}\n' for i in range(50_000)))
    (tmp_path / "recipe.yaml").write_text(
        f'headrace: 1\nsteps:\n  - read: {{from: "{tmp_path}/numbers.jsonl"}}\n  - batch: {{size: 10}}\nloader: {{epochs: 100000}}\n'
    )
    command = [find_program(), "run", "recipe.yaml", "--metrics"]
    with ends(subprocess.Popen([*command, f"{address}?loader=command", "--quiet"], cwd=tmp_path)):
        series = told(address, lambda series: of(series, "headrace_batch_wait_seconds_count", loader="command") > 10)
    assert of(series, "headrace_batches_total", loader="command") > 10
    wrong = subprocess.run([*command, "9464"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert wrong.returncode == 2
    assert "must be like prometheus://127.0.0.1:9464" in wrong.stderr
