"""Copies every video of a folder into MP4, without decoding: python remux.py films mp4

Players and loaders read the index of an MP4 alone, so clips of it cost less than those of other containers. Packets stay as
they are. What cannot be copied is named, and nothing is left of it.
"""

from __future__ import annotations

import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import headrace as hr

SUFFIXES = {".mkv", ".webm", ".avi", ".mov", ".ts", ".flv", ".mp4"}


def copy(source: Path, target: Path) -> str | None:
    """What went wrong, if something did."""
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        hr.io.remux(source, target, container={"movflags": "faststart"})  # the index comes first
    except (hr.MediaError, OSError) as error:
        return str(error)
    return None


def main(films: Path, copies: Path) -> int:
    sources = sorted(path for path in films.rglob("*") if path.suffix in SUFFIXES)
    targets = [copies / path.relative_to(films).with_suffix(".mp4") for path in sources]
    with ThreadPoolExecutor(8) as threads:  # they wait for the disk, without the GIL
        failures = [failure for failure in threads.map(copy, sources, targets) if failure]
    print(*failures, sep="\n", end="\n" if failures else "")
    print(f"{len(sources) - len(failures)} of {len(sources)} copied")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), Path(sys.argv[2])))
