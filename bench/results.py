"""Reads what was measured."""

from __future__ import annotations

import json
import statistics

from machine import HERE

EMPTY = {
    "rates": {"runs": []},
    "engine": {"runs": []},
    "formats": {"runs": []},
    "memory": {"runs": []},
    "start": {"runs": []},
    "transforms": {"runs": []},
    "pixels": {"comparisons": {}},
}


def load(name: str) -> dict:
    """The results of that name; of the same form, but empty, where there are none."""
    path = HERE / f"results/{name}.json"
    return json.loads(path.read_text()) if path.exists() else EMPTY.get(name, {})


def ratios(report: dict, work: str, label: str, reference: str, rate: str = "images_per_s") -> list[float]:
    """A contestant's rate, divided by another's in the same round."""
    if reference == "own uint8":
        reference = label.rsplit(", ", 1)[0] if label.endswith(("float32", "bfloat16")) else label
    runs = [r for r in report["runs"] if r["work"] == work and "error" not in r]
    of = {r["round"]: r[rate] for r in runs if r["label"] == reference}
    return [r[rate] / of[r["round"]] for r in runs if r["label"] == label and r["round"] in of]


def rows_of(report: dict, work: str, rate: str = "images_per_s") -> dict[str, list[dict]]:
    """The runs that ended well, by contestant: the limits, Headrace, then the others, the fastest first."""
    rows: dict[str, list[dict]] = {}
    for run in report["runs"]:
        if run["work"] == work and "error" not in run:
            rows.setdefault(run["label"], []).append(run)
    return dict(sorted(rows.items(), key=lambda row: place(*row, rate)))


def markdown(head: list[str], *rows: list[str]) -> str:
    """A table."""
    return "\n".join("| " + " | ".join(line) + " |" for line in [head, ["---"] * len(head), *rows])


def place(label: str, runs: list[dict], rate: str) -> tuple[int, float]:
    if label.startswith(("limit", "headrace")):
        return (0 if label.startswith("limit") else 1), 0
    return 2, -statistics.median(r[rate] for r in runs)
