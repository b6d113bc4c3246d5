"""Sequences packed into rows: how much of the rows stays empty, and how fast, beside Grain on the same lengths.

    python packing.py [--bed BED] [--rounds 3] [--sequences 20000] [--out results/NAME.json]
    python packing.py --empty [--sequences 1000000]

Both fill the same number of rows at once, and write tokens, segment ids and positions. Rows are of 2,048 tokens. How much
stays empty is the same in every round; it counts all rows, also those that an epoch ends with. --empty needs no Grain: it
prints how much stays empty, by fit and by the number of lanes that pack shares of the same lengths with 8 open rows each.
"""

from __future__ import annotations

import argparse
import array
import datetime
import json
import os
import pathlib
import random
import subprocess
import sys
from collections.abc import Callable

from machine import HERE, ROOT, commit, machine, spread, versions

LENGTH = 2048
OPEN = (8, 64)
LANES = (1, 8, 64, 256)
PROGRAM = ROOT / "build/bench/packing"
LENGTHS: dict[str, Callable[[random.Random], float]] = {
    "lognormal, median 245": lambda r: r.lognormvariate(5.5, 1),
    "uniform": lambda r: r.uniform(1, LENGTH),
    "four in five about 150, one about 1,400": lambda r: r.gauss(150, 40) if r.random() < 0.8 else r.gauss(1400, 200),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bed", type=pathlib.Path, default=pathlib.Path(os.environ.get("BED") or ROOT / "build/bed"))
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--sequences", type=int, default=20_000)
    parser.add_argument("--out", type=pathlib.Path)
    parser.add_argument("--empty", action="store_true")
    options = parser.parse_args()
    subprocess.run(["go", "build", "-o", PROGRAM, "./bench/packing"], cwd=ROOT, check=True)
    if options.empty:
        print(by_fit(options.sequences) + "\n\n" + by_lanes(options.sequences))
        return
    report = {
        "date": datetime.datetime.now().astimezone().isoformat(timespec="seconds"),
        "machine": machine(),
        "commit": commit(),
        "versions": {name: version for name, version in versions(options.bed).items() if name == "grain"},
        "load": os.getloadavg(),
        "sequences": options.sequences,
        "runs": [],
    }
    programs = {
        "headrace": [PROGRAM],
        "grain": [options.bed / "venv-grain/bin/python", HERE / "packing/grain_packing.py"],
    }
    for number in range(options.rounds):
        for name, draw in LENGTHS.items():
            lengths = drawn(draw, options.sequences)
            for fit in ("first", "best"):
                for rows in OPEN:
                    for label, program in programs.items():
                        run = {"lengths": name, "fit": fit, "open": rows, "label": label, "round": number}
                        run |= packed([*program, "--length", LENGTH, "--open", rows, "--fit", fit], lengths)
                        report["runs"].append(run)
                        print(run, file=sys.stderr, flush=True)
                        if options.out:
                            options.out.write_text(json.dumps(report, indent=1) + "\n")
    print(table(report))


def by_fit(sequences: int) -> str:
    """A table of how much stays empty."""
    lines = [
        "| lengths | first fit, 8 rows | first fit, 64 | best fit, 8 rows | best fit, 64 |",
        "| --- | --- | --- | --- | --- |",
    ]
    for name, draw in LENGTHS.items():
        lengths = drawn(draw, sequences)
        cells = [
            f"{packed([PROGRAM, '--length', LENGTH, '--open', rows, '--fit', fit, '--lanes', 1], lengths)['empty']:.2%}"
            for fit in ("first", "best")
            for rows in OPEN
        ]
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return "\n".join(lines)


def by_lanes(sequences: int) -> str:
    """A table of how full rows are, how many there are beside one lane's, and the most that lanes hold for later rows."""
    lines = ["| lengths | " + " | ".join(f"{n} lane{'s' * (n > 1)}" for n in LANES) + " |", "| --- " * (len(LANES) + 1) + "|"]
    for name, draw in LENGTHS.items():
        lengths = drawn(draw, sequences)
        runs = [packed([PROGRAM, "--length", LENGTH, "--open", 8, "--fit", "best", "--lanes", n], lengths) for n in LANES]
        cells = [f"{1 - run['empty']:.2%}, {run['rows'] / runs[0]['rows']:.4f} ×" for run in runs]
        lines.append(f"| {name} | {' | '.join(cells)} |")
    held = [f"{8 * LENGTH * 4 * n / 2**20:g} MiB" for n in LANES]
    return "\n".join([*lines, f"| tokens held, int32, at most | {' | '.join(held)} |"])


def drawn(draw: Callable[[random.Random], float], count: int) -> bytes:
    r = random.Random(7)
    return array.array("i", [min(LENGTH, max(1, round(draw(r)))) for _ in range(count)]).tobytes()


def packed(command: list, lengths: bytes) -> dict:
    before = os.times()
    done = subprocess.run(
        [str(word) for word in command], input=lengths, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True
    )
    after = os.times()
    said = json.loads(done.stdout)
    if said["tokens"] != sum(array.array("i", lengths)):
        raise SystemExit(f"{command[0]} has packed {said['tokens']} tokens of {sum(array.array('i', lengths))}")
    return {
        "rows": said["rows"],
        "empty": 1 - said["tokens"] / (said["rows"] * LENGTH),
        "sequences_per_s": len(lengths) / 4 / said["seconds"],
        "cpu_s": after.children_user + after.children_system - before.children_user - before.children_system,
    }


def table(report: dict) -> str:
    lines = []
    for key in dict.fromkeys((r["lengths"], r["fit"], r["open"]) for r in report["runs"]):
        runs = [r for r in report["runs"] if (r["lengths"], r["fit"], r["open"]) == key]
        for label in ("headrace", "grain"):
            mine = [r for r in runs if r["label"] == label]
            rate = spread([r["sequences_per_s"] for r in mine], ",.0f")
            lines.append(f"{', '.join(map(str, key))}: {label} {mine[0]['empty']:.2%} empty, {rate} sequences/s")
    return "\n".join(lines)


if __name__ == "__main__":
    main()
