"""Statistics of all ranks: what each tells, and which of them the others wait for."""

from __future__ import annotations

import json
import random
import subprocess
import sys
import types
from pathlib import Path

import pytest

import headrace as hr
from conftest import ROOT, environment_of, run_python
from headrace._loader import ranks as all_ranks

PROGRAM = Path(__file__).with_name("all_ranks_program.py")
PARTS = ("wait_ns", "handed_ns", "main_ns", "step_ns")
KEYS = {"rank", "data_rank", "data_ranks", "host", "pid", "batches", "samples", "lost", "start_ns", "loop_ns", "share", "limits", "verdict"}


@pytest.fixture(scope="module")
def said(tmp_path_factory):
    """What each process said."""
    folder = tmp_path_factory.mktemp("ranks")
    done = subprocess.run([sys.executable, PROGRAM, folder], env=environment_of(), capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return [json.loads((folder / f"{rank}.json").read_text()) for rank in range(2)]


def test_the_slow_rank_is_named(said):
    for rank, told in enumerate(said):
        first = told["first"]
        fast, slow = first["ranks"]
        assert set(fast) == {*KEYS, *PARTS}
        assert slow["share"] > 0.5 > fast["share"]
        assert slow["wait_ns"] > 15 * 0.03e9
        assert fast["step_ns"] > 15 * 0.03e9, "its steps are as long as those of the slow rank, for which it waits"
        assert [slow["rank"], slow["data_rank"], slow["data_ranks"]] == [1, 1, 2]
        assert fast["pid"] != slow["pid"]
        assert slow["batches"] == fast["batches"] == 20
        assert slow["samples"] >= 40
        assert first["skew"]["late"] == [1]
        assert first["skew"]["slowest"] == 1
        assert first["skew"]["verdict"].startswith("Rank 1 is late: it waits for data ")
        assert "In each step the others wait for it" in first["skew"]["verdict"]
        assert first["verdict"] == first["ranks"][rank]["verdict"], "the rest is this rank's own"
        assert "ranks" not in told["alone"]


def test_the_table_is_below_the_verdict(said):
    for told in said:
        lines = told["first"]["text"].splitlines()
        head = next(i for i, line in enumerate(lines) if line.split()[:2] == ["rank", "waits"])
        assert " ".join(lines[:head]).startswith(told["first"]["verdict"] + " " + told["first"]["skew"]["verdict"])
        assert lines[head + 1].split()[0] == "0"
        assert lines[head + 2].split()[:2] == ["▶", "1"]
        assert lines[head + 3] == ""
        assert " batches; " in lines[head + 4]
        assert max(map(len, lines)) <= 80


def test_the_parts_of_a_loop_add_up(said):
    for told in said:
        for name in ("untouched", "first", "since", "closed", "main", "mesh"):
            for one in told[name]["ranks"]:
                assert sum(one[part] for part in PARTS) == one["loop_ns"], name
                assert min(one[part] for part in PARTS) >= 0
        assert max(one["loop_ns"] for one in told["first"]["ranks"]) < told["took"] * 1e9


def test_both_ranks_are_told_the_same(said):
    for name in ("untouched", "first", "since", "closed", "main", "mesh"):
        assert said[0][name]["ranks"] == said[1][name]["ranks"]
        assert said[0][name]["skew"] == said[1][name]["skew"]
    assert said[0]["untouched"]["skew"]["late"] == []


def test_they_count_from_an_earlier_result(said):
    for one in said[0]["since"]["ranks"]:
        assert one["batches"] == 10
    assert said[0]["since"]["skew"]["late"] == [1]
    assert said[0]["closed"]["ranks"][1]["batches"] == 30


def test_steps_of_the_program_itself_make_a_rank_late(said):
    main = said[1]["main"]
    assert main["ranks"][0]["main_ns"] > 10 * 0.03e9
    assert main["ranks"][1]["main_ns"] == 0
    assert main["skew"]["late"] == [0]
    assert "it spends " in main["skew"]["verdict"]
    assert 'in steps with where="main"' in main["skew"]["verdict"]
    assert "main" in main["text"]


def test_ranks_that_hold_the_same_data(said):
    told = said[0]["mesh"]["ranks"]
    assert [(one["rank"], one["data_rank"], one["data_ranks"]) for one in told] == [(0, 0, 1), (1, 0, 1)]
    assert said[0]["mesh"]["skew"]["late"] == [1]


def test_a_rank_that_has_none_ends_the_others(said):
    wrong = "headrace: stats(since=int): must be what stats() returned before"
    assert said[1]["wrong since"] == f"WrongValue: {wrong}"
    assert said[0]["wrong since"] == f'RankFailed: headrace: stats(ranks="all"): rank 1 has no statistics: {wrong}'
    assert said[0]["wrong ranks"] == 'WrongValue: headrace: stats(ranks=0): must be "all", or None for this rank alone'


def test_a_rank_that_is_gone(said):
    assert said[0]["gone"].startswith('RankFailed: headrace: stats(ranks="all"): another rank did not call it, or has ended')
    assert said[0]["gone"].endswith("all processes of torch.distributed must call it, at the same place of their loops")
    assert said[0]["seconds"] < 60


def test_what_feeders_made_counts():
    """The engine of such a loader has made nothing itself."""
    run = types.SimpleNamespace(config={"rank": 1, "world_size": 2})
    told = all_ranks._numbers(
        run, hr.Stats(yielded=0, stages=[{"name": "batch", "in": 0, "lost": 0}], trainer={"batches": 5, "samples": 40}), 1
    )
    assert (told["batches"], told["samples"]) == (5, 40)


def of_numbers(**options):
    return hr.source([{"n": i} for i in range(8)], gives={"n": int}, where="here").batch(2).loader(epochs=1, workers=1, **options)


def test_a_rank_that_does_not_come(monkeypatch):
    """What PyTorch raises when the time of the group is over."""

    def gather(every, own):
        raise RuntimeError("[/pytorch/third_party/gloo/buffer.cc:81] Timed out waiting 1800000ms for recv operation to complete")

    group = types.SimpleNamespace(get_rank=lambda: 0, get_world_size=lambda: 2, all_gather_object=gather)
    monkeypatch.setattr(all_ranks, "_group", lambda run: group)
    with of_numbers() as loader, pytest.raises(hr.RankFailed, match=r"\(Timed out waiting 1800000ms for recv operation to complete\)"):
        loader.stats(ranks="all")


def test_without_pytorch():
    """One rank has the same keys; several need torch.distributed, which is not imported for them."""
    done = run_python(
        """
        import sys
        import headrace as hr
        def loader(**options):
            return hr.source([{"n": i} for i in range(8)], gives={"n": int}, where="here").batch(2).loader(epochs=1, **options)
        with loader() as alone:
            list(alone)
            stats = alone.stats(ranks="all")
            (one,) = stats["ranks"]
            print(one["rank"], one["batches"], one["samples"], stats["skew"]["late"], stats["skew"]["verdict"] == "")
            print(stats["text"].startswith(stats["verdict"][:20]), "rank " in stats["text"])
        with loader(rank=1, world_size=2) as several:
            try:
                several.stats(ranks="all")
            except ValueError as error:
                print(error)
        print("torch" in sys.modules)
        """
    )
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0] == "0 4 8 [] True"
    assert lines[1] == "True False"
    assert 'stats(ranks="all"): this is rank 1 of 2, and torch.distributed, which the numbers go through, is not initialised' in lines[2]
    assert "init_process_group(…)" in lines[2]
    assert lines[3] == "False"


def rank_of(share, rank=0, host="a", **more):
    loop = 10**9
    clocks = {"loop_ns": loop, "wait_ns": int(share * loop), "handed_ns": 0, "main_ns": 0, "step_ns": loop - int(share * loop)}
    return {"rank": rank, "host": host, "samples": 10**8, "lost": 0, "limits": "", "share": share, **clocks, **more}


def test_the_rule_is_that_of_the_live_page():
    """live/ranks_test.go reads the same cases."""
    cases = json.loads((ROOT / "live/testdata/ranks.json").read_text())
    for case in cases:
        told = all_ranks.skew_of([rank_of(share, rank) for rank, share in enumerate(case["shares"])])
        assert (told["late"], told["slowest"], told["verdict"]) == (case["late"], case["slowest"], case["says"]), case["name"]


def test_a_host_is_named_if_the_late_ranks_are_all_on_it():
    def said(late, hosts):
        return all_ranks.skew_of([rank_of(0.5 if rank in late else 0.0, rank, host) for rank, host in enumerate(hosts)])["verdict"]

    assert said({3}, "aabb").startswith("Rank 3 (on b) is late: ")
    assert said({2, 3}, "aaabb").startswith("Ranks 2 and 3 are late: ")
    assert said({3, 4}, "aaabb").startswith("Ranks 3 and 4 (on b) are late: ")
    assert said({3}, "aaaa").startswith("Rank 3 is late: ")


def test_any_clocks_add_up():
    """Those of a client that is in the middle of a wait, too, whose parts are not of the same moment."""
    draw = random.Random(7)
    run = types.SimpleNamespace(config={"rank": 0, "world_size": 1})
    for _ in range(500):
        clocks = {f"{name}_ns": draw.choice([0, draw.randrange(10**12)]) for name in ("loop", "waited", "handed", "main")}
        told = all_ranks._numbers(run, hr.Stats(clocks), 0)
        assert sum(told[part] for part in PARTS) == told["loop_ns"] == clocks["loop_ns"]
        assert min(told[part] for part in PARTS) >= 0
        assert 0 <= told["share"] <= 1


def test_the_table_of_many_ranks_is_small():
    draw = random.Random(3)
    hosts = ["node-with-a-long-name.example", "b"]
    every = [
        rank_of(draw.random() ** 4, rank, draw.choice(hosts), main_ns=10**7, lost=12345, limits="decode_image+random_resized_crop+batch")
        for rank in range(2048)
    ]
    skew = all_ranks.skew_of(every)
    lines = all_ranks._table(every, skew["late"])
    assert len(lines) == 18
    assert max(map(len, lines)) <= 80
    assert lines[-1] == '2032 more ranks wait no longer; stats["ranks"] has all'
    shown = [int(line.replace("▶", "").split()[0]) for line in lines[1:-1]]
    assert shown == sorted(shown)
    assert skew["slowest"] in shown
    assert len(skew["verdict"]) < 300
