"""What an engine costs when there is nothing to do: integers through stages that hand them on, Headrace's beside the others'.

    python engine.py [--bed BED] [--work peers,stages,workers] [--rounds 5] [--few] [--out results/NAME.json]

peers      three stages: every engine in turns, in the ways of engines/; Headrace by bench/items, read by a loop in Go, as package
           pipe is; the others by a loop in Python, as they are
stages     Headrace alone: 1 to 20 stages
workers    Headrace alone: 1 to 256 workers in each of three stages

One round runs everybody once. --few asks the others for a tenth of the items: to try whether everything works.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import pathlib
import subprocess
import sys

from machine import HERE, ROOT, commit, machine, machine_cpu, others_share, spread, versions, wait_for_quiet
from processes import failure

ITEMS = ROOT / "build/bench/items"
LIFE = ["-life", "1000"]
AHEAD = ["-buffer", "64"]

# Headrace, by the arguments of bench/items, and what Go itself can do.
OWN = {
    "limit, channels of Go": [*AHEAD, "-channels"],
    "headrace, completion order": AHEAD,
    "headrace, completion order, 4 workers": [*AHEAD, "-workers", "4"],
    "headrace, input order, 4 workers": [*AHEAD, "-workers", "4", "-ordered"],
    "headrace, input order, 4 workers, buffers of 2": ["-workers", "4", "-ordered"],
    "headrace, completion order, then batches of 32": [*AHEAD, "-batch", "32"],
}
# The others: environment of the bed, and for each way of an engine how many items it is
# asked for.
PEERS = {
    "python": ("venv-spdl", {"chain": 8_000_000}),
    "spdl": ("venv-spdl", {"one_by_one": 3_000, "four": 3_000, "input_order": 3_000, "chunks": 1_000_000}),
    "grain": ("venv-grain", {"indexed": 300_000, "iterated": 200_000, "threads": 8_000}),
    "tf": ("venv-tf", {"one_by_one": 50_000, "parallel": 50_000, "completion": 50_000, "chunks": 3_000_000}),
    "torch": ("venv-torch", {"chain": 400_000, "workers": 25_000, "chunks": 1_500_000}),
}
ORDERS = {"completion order": AHEAD, "input order": [*AHEAD, "-ordered"]}
STAGES = (1, 2, 5, 10, 20)
WORKERS = (1, 4, 16, 64, 256)


def main() -> None:
    options = arguments()
    subprocess.run(["go", "build", "-o", ITEMS, "./bench/items"], cwd=ROOT, check=True)
    report = {
        "date": datetime.datetime.now().astimezone().isoformat(timespec="seconds"),
        "machine": machine(),
        "commit": commit(),
        "versions": versions(options.bed),
        "load": os.getloadavg(),
        "rounds": options.rounds,
        "runs": [],
    }
    for number in range(options.rounds):
        for work in options.work.split(","):
            for run in WORKS[work](options):
                run = {"work": work, "round": number} | run
                report["runs"].append(run)
                print(said(run), file=sys.stderr, flush=True)
                if options.out:
                    options.out.write_text(json.dumps(report, indent=1) + "\n")
    for work in options.work.split(","):
        print(table(report, work))
    if any("error" in run for run in report["runs"]):
        raise SystemExit("some engines failed; see above")


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bed", type=pathlib.Path, default=pathlib.Path(os.environ.get("BED") or ROOT / "build/bed"))
    parser.add_argument("--work", default=",".join(WORKS), help=f"one or more of {', '.join(WORKS)}")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--few", action="store_true", help="a tenth of the items")
    parser.add_argument("--patience", type=float, default=30, help="seconds to wait for a quiet machine before each run")
    parser.add_argument("--seconds", type=float, default=1, help="how long one run of Headrace takes")
    parser.add_argument("--out", type=pathlib.Path)
    return parser.parse_args()


# The kinds of work.


def peers(options: argparse.Namespace):
    for label, form in OWN.items():
        yield own(label, form, options, lives="order" in label and "batch" not in label)
    for engine, (environment, ways) in PEERS.items():
        asked = [f"{way}={count // 10 if options.few else count}" for way, count in ways.items()]
        python = options.bed / environment / "bin/python"
        wait_for_quiet(options.patience)
        lines, more = ran([python, HERE / "count.py", engine, *asked])
        for way, line in zip(ways, lines + [{}] * len(ways)):
            yield {"label": f"{engine}, {way}"} | (line | more if line else {"error": more.get("error", "said nothing")})


def stages(options: argparse.Namespace):
    for order, form in ORDERS.items():
        for count in STAGES:
            yield own(f"headrace, {order}", [*form, "-stages", str(count)], options) | {"stages": count}


def workers(options: argparse.Namespace):
    for order, form in ORDERS.items():
        for count in WORKERS:
            yield own(f"headrace, {order}", [*form, "-workers", str(count)], options) | {"workers": count}


WORKS = {"peers": peers, "stages": stages, "workers": workers}


def own(label: str, form: list[str], options: argparse.Namespace, lives: bool = False) -> dict:
    wait_for_quiet(options.patience)
    lines, more = ran([ITEMS, "-for", f"{options.seconds}s", *form])
    run = {"label": label} | (lines[0] if lines else {}) | more
    if lives and "error" not in run:
        short, more = ran([ITEMS, "-for", f"{options.seconds / 2}s", *form, *LIFE])
        run |= {"life_ms": [short[0]["median_us"] / 1000]} if short else more
    return run


def ran(command: list) -> tuple[list[dict], dict]:
    """What a program has printed, and how much of the machine others used meanwhile; or why it failed."""
    before, mine = machine_cpu(), os.times()
    quiet = {"PYTHONWARNINGS": "ignore", "TF_CPP_MIN_LOG_LEVEL": "3", "CUDA_VISIBLE_DEVICES": "", "PYTHONPATH": ""}
    try:
        done = subprocess.run(
            [str(word) for word in command], env=os.environ | quiet, capture_output=True, text=True, timeout=300
        )
    except subprocess.TimeoutExpired:
        return [], {"error": "took longer than 300 s"}
    lines = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    if done.returncode != 0:
        return lines, failure(done.stdout, done.stderr, done.returncode)
    return lines, {"others": others_share(before, mine)}


# What came out.


def said(run: dict) -> str:
    what = f"{run['work']} {run['round']} {run['label']} {run.get('stages', run.get('workers', ''))}"
    if "error" in run:
        return f"{what}: {run['error']}"
    return f"{what}: {run['items_per_s']:,.0f} items/s, {run['cpu_us_per_item']:.3f} µs each, others {run['others']:.0%}"


def table(report: dict, work: str) -> str:
    rows: dict[tuple, list[dict]] = {}
    for run in report["runs"]:
        if run["work"] == work and "error" not in run:
            rows.setdefault((run["label"], run.get("stages", run.get("workers", ""))), []).append(run)
    lines = [f"\n{work}\n"]
    for (label, count), runs in rows.items():
        rate, cpu = spread([r["items_per_s"] for r in runs], ",.0f"), spread([r["cpu_us_per_item"] for r in runs], ".3f")
        lives = spread([ms for r in runs for ms in r.get("life_ms", [])], ".2f")
        lines.append(f"{label} {count}: {rate} items/s, {cpu} µs of CPU each{f', 1,000 items {lives} ms' if lives else ''}")
    return "\n".join(lines)


if __name__ == "__main__":
    main()
