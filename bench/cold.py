"""Random reads of a file that is not in the page cache, with and without telling the kernel what is next.

    python3 bench/cold.py [--rounds 5] [--folder /tmp]

2 GiB are written into the folder, and removed. A round does everything once, in turns: 2,000 reads of 110 KB each, by one
reader and by several. Printed are reads a second, the middle of the rounds, the least and the most.
"""

from __future__ import annotations

import argparse
import os
import random
import statistics
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor

SIZE, EACH, READS = 2 << 30, 110_000, 2000
WAYS = [
    (1, 0),
    (1, 16),
    (6, 0),
    (6, 16),
    (32, 0),
]  # readers, and how many reads ahead fadvise is; six readers is what two cores have


def read(fd: int, at: list[int], readers: int, ahead: int) -> float:
    os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)

    def one(i: int) -> None:
        if ahead and i + ahead < len(at):
            os.posix_fadvise(fd, at[i + ahead], EACH, os.POSIX_FADV_WILLNEED)
        os.pread(fd, EACH, at[i])

    begin = time.perf_counter()
    with ThreadPoolExecutor(readers) as pool:
        list(pool.map(one, range(len(at))))
    return len(at) / (time.perf_counter() - begin)


def main() -> None:
    args = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    args.add_argument("--rounds", type=int, default=5)
    args.add_argument("--folder", default=tempfile.gettempdir())
    given = args.parse_args()
    with tempfile.TemporaryFile(dir=given.folder) as file:
        for _ in range(SIZE >> 24):
            file.write(os.urandom(1 << 24))
        file.flush()
        os.fsync(file.fileno())
        draw = random.Random(1)
        rates: dict[tuple[int, int], list[float]] = {way: [] for way in WAYS}
        for _ in range(given.rounds):
            for way in WAYS:
                at = [draw.randrange(SIZE - EACH) for _ in range(READS)]
                rates[way].append(read(file.fileno(), at, *way))
    for (readers, ahead), got in rates.items():
        print(f"{readers:3} readers, {ahead:2} ahead: {statistics.median(got):6.0f}/s ({min(got):.0f} to {max(got):.0f})")


if __name__ == "__main__":
    main()
