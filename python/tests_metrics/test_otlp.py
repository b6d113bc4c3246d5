"""What a run sends to a collector, read with OpenTelemetry's own description of the messages."""

from __future__ import annotations

import json
import os
import pathlib
import re
import subprocess
import time

import pytest

import headrace as hr

PAGE = pathlib.Path(__file__).parents[2] / "docs/guide/metrics.md"


@pytest.fixture
def receiver():
    """Its port, and a function that ends it and returns what it was sent."""
    command = [os.environ["OTLP_PYTHON"], pathlib.Path(__file__).with_name("receiver.py")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        port = int(process.stdout.readline())

        def end():
            process.terminate()
            return [json.loads(line) for line in process.stdout]

        yield port, end
        process.kill()


def attributes(of):
    """Texts and whole numbers by name; JSON has the latter as texts, too."""
    return {a["key"]: next(iter(a["value"].values())) for a in of.get("attributes", [])}


def slow(x):
    time.sleep(0.002)
    if x == 50:
        raise ValueError("bad")
    return x


def test_a_run(receiver, monkeypatch):
    for name in [name for name in os.environ if name.startswith("OTEL_")]:
        monkeypatch.delenv(name)
    port, end = receiver
    pipeline = hr.source(range(400)).map(slow, gives=int, workers=2).batch(8)
    with pipeline.loader(epochs=1, on_error="skip", metrics=f"otlp://127.0.0.1:{port}?loader=train&job=night&traces=60") as loader:
        n = sum(len(batch) for batch in loader)
        stats = loader.stats()
    assert n == 399
    sent = end()

    last = [message["resourceMetrics"][0] for message in sent if "resourceMetrics" in message][-1]
    resource = attributes(last["resource"])
    assert resource["service.name"] == "headrace"
    assert resource["service.instance.id"]
    metrics = {metric["name"]: metric for metric in last["scopeMetrics"][0]["metrics"]}
    assert last["scopeMetrics"][0]["scope"] == {"name": "headrace", "version": hr.__version__}

    kinds = {"counter": "sum", "gauge": "gauge", "histogram": "histogram"}
    table = dict(re.findall(r"^\| `(headrace_\w+)` \| (\w+) \|", PAGE.read_text(), re.M))
    names = {name.removesuffix("_total").replace("_", "."): kinds[kind] for name, kind in table.items()}
    assert metrics.keys() <= names.keys()
    assert len(metrics) > 25
    for name, metric in metrics.items():
        assert names[name] in metric, name
        unit = "s" if name.endswith("seconds") else "By" if name.endswith("bytes") else None
        assert metric.get("unit") == unit, name
        for point in metric[names[name]]["dataPoints"]:
            assert attributes(point).items() >= {"loader": "train", "job": "night"}.items()

    batches = metrics["headrace.batches"]["sum"]
    assert batches["isMonotonic"]
    assert batches["aggregationTemporality"] == "AGGREGATION_TEMPORALITY_CUMULATIVE"
    assert batches["dataPoints"][0]["asDouble"] in (49, 50)  # that the last one was taken would be told with the next request
    (lost,) = (
        p["asDouble"]
        for p in metrics["headrace.stage.failures"]["sum"]["dataPoints"]
        if attributes(p)["outcome"] == "lost" and p["asDouble"]
    )
    assert lost == 1
    waits = metrics["headrace.batch.wait.seconds"]["histogram"]["dataPoints"][0]
    assert sum(map(int, waits["bucketCounts"])) == int(waits["count"]) in (48, 49)  # without the first
    assert len(waits["bucketCounts"]) == len(waits["explicitBounds"]) + 1
    assert waits["sum"] == pytest.approx(stats["waited_ns"] / 1e9, rel=0.25)

    spans = [span for message in sent for r in message.get("resourceSpans", []) for span in r["scopeSpans"][0]["spans"]]
    roots = [span for span in spans if "parentSpanId" not in span]
    assert roots
    root = roots[0]
    assert root["name"] == "sample"
    assert attributes(root).items() >= {"loader": "train", "job": "night", "epoch": "0"}.items()
    steps = [span for span in spans if span.get("parentSpanId") == root["spanId"]]
    assert {step["traceId"] for step in steps} == {root["traceId"]}
    assert any(step["name"].startswith("map") and int(step["endTimeUnixNano"]) - int(step["startTimeUnixNano"]) > 1e6 for step in steps)
    assert min(int(step["startTimeUnixNano"]) for step in steps) == int(root["startTimeUnixNano"])
