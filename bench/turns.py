"""Contestants that are programs of their own, in turns: what the benchmarks of videos and recordings share."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable

Rounds = dict[str, dict[str, list[dict]]]  # what was measured: by work, then contestant, one for each round


def run(program: str, seconds: float, *case: object) -> dict | None:
    """What one contestant has printed, as JSON; None: it cannot take part, which is said."""
    command = [sys.executable, program, "--seconds", str(seconds), "--contest", *map(str, case)]
    ran = subprocess.run(command, capture_output=True, text=True, env=os.environ | {"BEGAN": str(time.monotonic())})
    if ran.returncode:
        print(f"{case[0]} is left out of {case[-1]}: {(ran.stderr.strip().splitlines() or ['?'])[-1]}", file=sys.stderr)
        return None
    return json.loads(ran.stdout)


def note(rounds: Rounds, work: str, name: str, got: dict | None) -> None:
    if got is not None:
        rounds.setdefault(work, {}).setdefault(name, []).append(got)


def report(rounds: Rounds, line_of: Callable[[dict[str, float]], str]) -> None:
    """Print medians, in the form that `line_of` gives them, and how many times as much Headrace does as each other."""
    for work, contestants in rounds.items():
        print(work)
        for name, got in contestants.items():
            line = f"  {name:14} " + line_of({key: statistics.median(r[key] for r in got) for key in got[0]})
            for key in ("rate", "cpu") if name != "headrace" and "rate" in got[0] else ():
                pairs = zip(contestants.get("headrace", []), got)
                ratios = sorted(ours[key] / theirs[key] if key == "rate" else theirs[key] / ours[key] for ours, theirs in pairs)
                if ratios:
                    line += f"   headrace {statistics.median(ratios):.2f} x by {key} ({ratios[0]:.2f} to {ratios[-1]:.2f})"
            print(line)
