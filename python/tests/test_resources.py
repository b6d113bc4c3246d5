"""What engine and trainer use, beside the statistics of the stages: as /proc has it, and as the system's other calls do."""

from __future__ import annotations

import os
import re
import resource
import time
from pathlib import Path

import pytest

import headrace as hr
from conftest import augmented, engine_pid, pipeline, rest_of_epochs, run_python, within


def spin(seconds: float) -> float:
    """Use the CPU, and tell how much of it was used."""
    begun = time.process_time()
    while time.process_time() - begun < seconds:
        pass
    return time.process_time() - begun


def by_name(stats: hr.Stats) -> dict[str, dict]:
    return {process["name"]: process for process in stats["resources"]["processes"]}


def test_who_uses_what(photos):
    with augmented(photos).loader(epochs=9) as loader:
        spin(0.2)  # before anything was asked for: that is not counted
        loop = iter(loader)
        next(loop)
        spent = spin(0.5)
        assert len(list(loop)) + len(rest_of_epochs(loader)) == 9 * 12 - 1
        resources = loader.stats()["resources"]
        processes = by_name(loader.stats())
        assert list(processes) == ["trainer", "engine"]
        trainer, engine = processes["trainer"], processes["engine"]
        assert (trainer["pid"], engine["pid"]) == (os.getpid(), engine_pid())
        used = (trainer["user_ns"] + trainer["system_ns"]) / 1e9
        assert spent - 0.03 <= used <= resources["elapsed_ns"] / 1e9 * os.cpu_count()
        assert engine["user_ns"] + engine["system_ns"] > 0
        assert resources["cores"] >= 1
        for process in (trainer, engine):
            assert process["peak"] >= process["resident"] > 1 << 20
            assert 0 <= process["shared"] <= process["resident"]
            assert process["threads"] >= 1
        assert abs(trainer["peak"] - resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024) < 64 << 20
        size = sum(path.stat().st_size for path in photos.rglob("*.jpg"))
        assert engine["read"] >= 8 * size  # by reading the files, of which some were read ahead, and a little besides
        assert engine["read"] < 9 * size + (8 << 20)
        text = loader.stats().text
        table = text[text.index("\nprocess ") :]
        assert re.search(r"^process +/\d+ cores? +memory +shared +peak +read +disk +written$", table, re.MULTILINE), table
        assert re.search(r"^trainer +[\d.]+ +[\d.]+ [MG]iB ", table, re.MULTILINE), table
        assert re.search(r"^engine +[\d.]+ +[\d.]+ MiB ", table, re.MULTILINE), table
    assert by_name(loader.stats())["engine"]["pid"] == engine["pid"]  # as it was at last


def test_numbers_of_an_interval(photos):
    with pipeline(photos).loader(epochs=2) as loader:
        list(loader)
        first = loader.stats()
        spent = spin(0.3)
        list(loader)
        assert within(8, lambda: loader.stats()["yielded"] == 24)  # what runs ahead has done so
        second = loader.stats()
        between = loader.stats(since=first)
        assert second["stages"][-1]["in"] == 92
        for now, then, difference in zip(second["stages"], first["stages"], between["stages"], strict=True):
            assert difference["in"] == now["in"] - then["in"] <= 46
        assert between["yielded"] == second["yielded"] - first["yielded"]
        assert 0 < between["elapsed_ns"] < second["elapsed_ns"]
        trainer = by_name(between)["trainer"]
        assert spent - 0.03 <= (trainer["user_ns"] + trainer["system_ns"]) / 1e9
        assert 0 < between["resources"]["elapsed_ns"] < second["resources"]["elapsed_ns"]
        assert by_name(between)["engine"]["read"] < by_name(second)["engine"]["read"]
        assert by_name(between)["engine"]["resident"] > 1 << 20  # what is held is of now
        assert f"{between['yielded']} batches; {between['stages'][-1]['in']} samples in " in between.text
        nothing = loader.stats(since=loader.stats())
        assert nothing["yielded"] == 0
        assert loader.stats()["stages"][-1]["in"] == 92  # without it they are of all since the beginning
        with pytest.raises(ValueError, match="not earlier statistics of this loader"), pipeline(photos, 7).loader(epochs=1) as other:
            other.stats(since={**first, "stages": [{**first["stages"][0], "name": "another"}]})
        with pytest.raises(ValueError, match="not earlier statistics"), pipeline(photos).loader(epochs=1) as fresh:
            fresh.stats(since=second)
        for wrong in ("statistics", 3, {}, {"stages": 3}):
            with pytest.raises(ValueError, match=r"stats\(since"):
                loader.stats(since=wrong)
    with pytest.raises(hr.LoaderClosed):
        loader.stats(since=first)


def test_an_answer_that_nobody_waited_for(photos):
    with pipeline(photos).loader(epochs=1) as loader:
        loader._run.session._send_json(6, {"number": -1})  # as after a KeyboardInterrupt within stats()
        list(loader)
        assert loader.stats()["yielded"] == 12


@pytest.mark.parametrize("name", ["a b", ") R (", "((", "x)", "tab\\there"])
def test_programs_of_any_name(photos, name):
    done = run_python(
        """
        import sys
        from pathlib import Path
        from conftest import pipeline
        Path("/proc/self/comm").write_text(sys.argv[2])
        with pipeline(sys.argv[1]).loader(epochs=1) as loader:
            list(loader)
            for p in loader.stats()["resources"]["processes"]:
                print(p["name"], p["threads"] >= 1, p["resident"] > 1 << 20)
        """,
        photos,
        name,
    )
    assert done.stdout == "trainer True True\nengine True True\n", done.stderr


def parent(pid):
    return int(Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[1])


def test_workers_have_lines_of_their_own(photos):
    def burn(sample):
        begun = time.process_time()
        while time.process_time() - begun < 0.01:
            pass
        return sample

    with hr.files(photos).decode_image().resize((8, 8)).map(burn, workers=2).batch(4).loader(epochs=1) as loader:
        list(loader)
        stats = loader.stats()
        workers = [process for process in stats["resources"]["processes"] if process["name"] == "map"]
        assert len({process["pid"] for process in workers}) == 2
        (server,) = {parent(process["pid"]) for process in workers}
        assert parent(server) == engine_pid()
        assert sum(process["user_ns"] + process["system_ns"] for process in workers) >= 46 * 0.01 * 1e9 * 0.9
        assert re.search(r"^map ×2 +[\d.]+ +[\d.]+ MiB", stats.text, re.MULTILINE), stats.text
        text = repr(loader)
        assert re.search(r"^  map\+batch ×\d+ ", text, re.MULTILINE), text
