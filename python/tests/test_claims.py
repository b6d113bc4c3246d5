"""The page of claims, and programs of `bench` that need neither images nor other loaders."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

BENCH = Path(__file__).parents[2] / "bench"


@pytest.fixture(autouse=True)
def of_bench(monkeypatch):
    monkeypatch.syspath_prepend(str(BENCH))


def test_the_page_has_what_was_measured():
    import report

    for page in report.PAGES:
        text = (report.DOCS / page).read_text()
        assert report.written(page, text) == text, f"run bench/report.py: docs/{page} is not what was measured"


def test_each_part_has_its_tables():
    import claims
    import claims_tables

    text = (BENCH.parent / "docs/claims.md").read_text()
    for part in claims.PARTS:
        assert f"<!-- measured: {part}-verdict -->" in text
        assert f"{part}-verdict" in claims_tables.BLOCKS


def test_a_verdict_is_that_of_the_median():
    import claims_tables

    said = claims_tables.verdict([("rate", [1.9, 2.0, 9.0], "≥", 2), ("CPU", [0.4, 0.6, 0.6], "≤", 0.5), ("none", [], "≥", 1)])
    assert said.splitlines() == [
        "- rate: 2.00 [1.90–9.00], asked for ≥ 2: **passes**.",
        "- CPU: 0.60 [0.40–0.60], asked for ≤ 0.5: **does not pass**.",
    ]


def test_rounds_of_cases():
    """A round has each case once, in one order; those that need fewer rounds are in the first ones."""
    import claims

    cases = [claims.Case("w", "a", ()), claims.Case("w", "b", (), 0.5), claims.Case("w", "c", ())]
    assert [(number, case.label) for number, case in claims.turns_of(cases, 3)] == [
        (i, x) for i, of in enumerate(["abc", "abc", "ac"]) for x in of
    ]
    assert len(claims.turns_of(cases, 1)) == 3


def test_files_from_the_server():
    """All that were asked for come whole, and not sooner than the server answers."""
    python = [sys.executable, "-B"]
    with subprocess.Popen([*python, BENCH / "claims/remote.py"], stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout
            environment = os.environ | {"PORT": server.stdout.readline().strip(), "PYTHONPATH": str(BENCH.parent / "python/src")}
            program = [*python, BENCH / "claims/latency.py"]
            for label in ("limit, asyncio alone", "headrace, here"):
                ran = subprocess.run([*program, label, "8", "4"], env=environment, capture_output=True, text=True, check=True)
                assert 0 < json.loads(ran.stdout)["of_ideal"] < 1.2
        finally:
            server.kill()
