"""Ranks that are processes at the same time, each with an engine of its own, for test_lanes.py.

They are forked after headrace is imported, and what they tell is written as JSON. `python lane_program.py SEED...`
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path

from forked_ranks import forked
from lane_compositions import check


def in_processes(world, of_rank):
    """What each rank has, all of them at once."""
    with tempfile.TemporaryDirectory() as folder:
        codes = forked(world, lambda rank: Path(folder, str(rank)).write_text(json.dumps(of_rank(rank))))
        if any(codes):
            raise SystemExit(f"ranks have ended with {codes}")
        return [json.loads(Path(folder, str(rank)).read_text()) for rank in range(world)]


if __name__ == "__main__":
    for seed in sys.argv[1:]:
        check(int(seed), in_processes)
