"""What the live page costs the engine, and how soon a browser shows it; what OTLP costs.

    PYTHONPATH=python/src .venv/bin/python bench/page.py BED [--rounds 7] [--seconds 6]
    PYTHONPATH=python/src build/browser/bin/python bench/page.py BED --paint 15

Loaders of images take turns in one process: without a page; with one that nobody looks at; with one that is looked at; with the
newest sample, too; and without a page, with metrics and traces sent by OTLP. First with a loop that takes one batch a second,
where the CPU time of the page is what differs; then with one that takes all there are, for the rate. Each ratio and difference is
of two runs of one round. With --paint Chromium opens the page so often: its first contentful paint, in milliseconds, and nothing
else is measured. On an idle machine.
"""

from __future__ import annotations

import argparse
import contextlib
import http.client
import http.server
import itertools
import json
import os
import pathlib
import shutil
import statistics
import threading
import time
import urllib.parse
import urllib.request
from collections.abc import Iterator

import headrace as hr

KINDS = ("without", "page", "looked", "samples", "otlp")


class Sink(http.server.BaseHTTPRequestHandler):
    """Takes what is posted."""

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(200)
        self.end_headers()

    def log_message(self, *args: object) -> None:
        pass


@contextlib.contextmanager
def sink() -> Iterator[str]:
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Sink) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"otlp://127.0.0.1:{server.server_port}?traces=6"
        server.shutdown()


class Looking(threading.Thread):
    """Reads the events of a page as a browser does, and its samples if it should."""

    def __init__(self, page: str, samples: bool) -> None:
        super().__init__(daemon=True)
        self.page, self.samples, self.end = page, samples, threading.Event()
        self.drawn = 0

    def run(self) -> None:
        address = urllib.parse.urlsplit(self.page)
        connection = http.client.HTTPConnection(address.netloc, timeout=10)
        connection.request("GET", address.path + "events?loader=")
        answer = connection.getresponse()
        with contextlib.suppress(OSError, http.client.HTTPException):  # the loader ends
            while not self.end.is_set() and (line := answer.readline()):
                if self.samples and line.startswith(b"data: "):
                    shown = json.loads(line[6:])["now"]["id"]
                    self.drawn += bool(urllib.request.urlopen(f"{self.page}sample?loader={shown}", timeout=5).read())
        connection.close()


def run(pipeline: hr.Pipeline, kind: str, seconds: float, step: float, metrics: str) -> dict[str, float]:
    with pipeline.loader(page=kind in ("page", "looked", "samples"), metrics=metrics if kind == "otlp" else "") as loader:
        looking = None
        if kind in ("looked", "samples"):
            looking = Looking(loader.page(), kind == "samples")
            looking.start()
        loop = (batch for _ in itertools.count() for batch in loader)
        for _ in range(10):
            next(loop)
        before, began, batches = loader.stats(), time.monotonic(), 0
        while time.monotonic() - began < seconds:
            next(loop)
            batches += 1
            time.sleep(step)
        took = time.monotonic() - began
        stats = loader.stats(since=before)
        (engine,) = (one for one in stats["resources"]["processes"] if one["name"] == "engine")
        if looking is not None:
            looking.end.set()
    return {
        "rate": batches / took,
        "cpu": (engine["user_ns"] + engine["system_ns"]) / 1e9 / took,
        "memory": engine["resident"] / 1e6,
        "drawn": looking.drawn if looking else 0,
    }


def told(name: str, rounds: list[dict[str, dict[str, float]]]) -> None:
    print(name)
    for kind in KINDS:
        middle = {what: statistics.median(one[kind][what] for one in rounds) for what in rounds[0][kind]}
        rate = sorted(one[kind]["rate"] / one["without"]["rate"] for one in rounds)
        more = sorted(100 * (one[kind]["cpu"] - one["without"]["cpu"]) for one in rounds)
        print(
            f"{kind:8} {middle['rate']:.1f} batches/s (× {statistics.median(rate):.3f}, {rate[0]:.3f} to {rate[-1]:.3f}), "
            f"CPU {100 * middle['cpu']:.1f} % of a core ({statistics.median(more):+.2f}, {more[0]:+.2f} to {more[-1]:+.2f}), "
            f"{middle['memory']:.0f} MB, {middle['drawn']:.0f} samples drawn"
        )


def paint(pipeline: hr.Pipeline, times: int) -> None:
    from playwright.sync_api import sync_playwright

    program = shutil.which("chromium-headless-shell") or shutil.which("chromium")
    with pipeline.loader(page=True) as loader, sync_playwright() as playwright:
        next(iter(loader))
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        all = []
        for _ in range(times):
            context = browser.new_context()
            page = context.new_page()
            page.goto(loader.page())
            while not (entries := page.evaluate("performance.getEntriesByName('first-contentful-paint').map(e => e.startTime)")):
                page.wait_for_timeout(20)
            all.append(entries[0])
            context.close()
        browser.close()
    all.sort()
    print(f"first paint: {statistics.median(all):.0f} ms, {all[0]:.0f} to {all[-1]:.0f}, of {times}")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("bed", type=pathlib.Path)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--seconds", type=float, default=6)
    parser.add_argument("--paint", type=int, default=0)
    options = parser.parse_args()
    pipeline = hr.files(f"{options.bed}/data/train").shuffle().decode_image().random_resized_crop(224).random_flip().batch(32)
    print(f"load {os.getloadavg()[0]:.1f}")
    if options.paint:
        paint(pipeline, options.paint)
        return
    with sink() as otlp:
        run(pipeline, "without", 1, 0, otlp)
        n = len(KINDS)
        for name, step in (("a loop of 1 batch/s", 1.0), ("a loop that takes all there are", 0.0)):
            turns = [KINDS[i % n :] + KINDS[: i % n] for i in range(options.rounds)]
            told(name, [{kind: run(pipeline, kind, options.seconds, step, otlp) for kind in turn} for turn in turns])


if __name__ == "__main__":
    main()
