"""How functions of the user's in threads scale, with and without the GIL of the same Python.

    PYTHONPATH=python/src PYTHON bench/free_threads.py [--rounds 20] [--seconds 0.2] [--work python,pillow]

With a Python built with --disable-gil (3.13t, 3.14t), PYTHON_GIL=1 and 0 compare the same build; another has its GIL
alone. Each combination of function, threads and GIL has programs that stay: bare threads, bare threads that are sent
packs of five calls by another process, Headrace's where="thread", its where="here", without a GIL its worker
processes, and SPDL where it is installed. All take turns in each round, in an
order that moves on by one. What is printed are ratios of pairs of the same round: the median, and an interval that
holds the true median in 95 of 100 cases (order statistics; with fewer than 6 rounds, all that was seen).

A round is a new loader or pipeline of one epoch: one that stayed would work ahead while others are measured. Calls
return the time at which they began, so a round is from the beginning of its 21st call, wherever that was, until the
last result has come: by then a first sample was tried and all workers have begun. A round's calls take one bare
thread --seconds. A first round, in which modules are imported, does not count. With the defaults all of it takes five
minutes on two quiet cores.
"""

from __future__ import annotations

import argparse
import io
import json
import math
import os
import select
import socket
import statistics
import struct
import subprocess
import sys
import sysconfig
import time
from collections.abc import Callable, Sequence
from typing import Any

from PIL import Image  # not inside the function: each round has a new worker, which would import it in its first call

CONTESTANTS = ("bare", "packs", "thread", "here", "process", "spdl")
BEGUN = 20  # calls of a round before it is measured
PLAIN = 20_000  # steps of plain Python a call


def plain(n: int) -> int:
    """Python alone: nothing of it releases a GIL."""
    began = time.monotonic_ns()
    total = n
    for i in range(PLAIN):
        total = (total * 31 + i) & 0xFFFFFF
    return began


def picture() -> bytes:
    width, height = 500, 375
    image = Image.frombytes("RGB", (width, height), bytes(i * i // 7 & 255 for i in range(3 * width * height)))
    image.resize((50, 37)).resize((width, height), Image.Resampling.BICUBIC).save(file := io.BytesIO(), "JPEG", quality=90)
    return file.getvalue()


def pillow(n: int) -> int:
    """What a dataset does: decode, resize, take it out. Much of it releases a GIL."""
    began = time.monotonic_ns()
    with Image.open(io.BytesIO(PICTURE)) as image:
        resized = image.convert("RGB").resize((224, 224), Image.Resampling.BILINEAR)
    resized.tobytes()
    return began


FUNCTIONS = {"python": plain, "pillow": pillow}
PICTURE = b""


# Each contestant makes all calls and returns what they have, and when the last of it came: closing is not measured.

Made = tuple[list[int], int]


def of_bare(function: Callable[[int], int], threads: int, calls: int) -> Made:
    import threading

    # A thread takes the next number itself, as a program without any library would do.
    lock, numbers, results = threading.Lock(), iter(range(calls)), []

    def work() -> None:
        while True:
            with lock:
                n = next(numbers, None)
            if n is None:
                return
            results.append(function(n))

    workers = [threading.Thread(target=work) for _ in range(threads)]
    for one in workers:
        one.start()
    for one in workers:
        one.join()
    return results, time.monotonic_ns()


def of_packs(function: Callable[[int], int], threads: int, calls: int) -> Made:
    """The control: what it costs to be handed calls by another process, without an engine."""
    import threading

    pairs = [socket.socketpair() for _ in range(threads)]
    if os.fork() == 0:
        for mine, _ in pairs:
            mine.close()
        hand_out([theirs for _, theirs in pairs], calls)
        os._exit(0)
    results: list[int] = []

    def work(connection: socket.socket) -> None:
        connection.sendall(b"?")
        while count := struct.unpack("<q", connection.recv(8, socket.MSG_WAITALL))[0]:
            results.extend(made := [function(n) for n in range(count)])
            connection.sendall(b"r" * 8 * len(made) + b"?")

    workers = [threading.Thread(target=work, args=(mine,)) for mine, _ in pairs]
    for _, theirs in pairs:
        theirs.close()
    for one in workers:
        one.start()
    for one in workers:
        one.join()
    ended = time.monotonic_ns()
    for mine, _ in pairs:
        mine.close()
    os.wait()
    return results, ended


def hand_out(connections: Sequence[socket.socket], calls: int, pack: int = 5) -> None:
    """Send the number of calls in the next pack to a thread that asks, and 0 at the end."""
    threads = list(connections)
    while threads:
        for one in select.select(threads, [], [])[0]:
            asked = one.recv(1 << 16)
            if not asked:
                threads.remove(one)
            elif b"?" in asked:
                count = min(pack, calls)
                calls -= count
                one.sendall(struct.pack("<q", count))


def of_headrace(function: Callable[[int], int], threads: int, calls: int, where: str) -> Made:
    import headrace as hr

    pipeline = hr.source(range(calls)).map(function, gives=int, where=where, workers=threads).batch(10)
    with pipeline.loader(epochs=1) as loader:
        return [began for batch in loader for began in batch.tolist()], time.monotonic_ns()


def of_spdl(function: Callable[[int], int], threads: int, calls: int) -> Made:
    from spdl.pipeline import PipelineBuilder

    builder = PipelineBuilder().add_source(range(calls)).pipe(function, concurrency=threads).aggregate(10).add_sink(2)
    pipeline = builder.build(num_threads=threads)
    with pipeline.auto_stop():
        return [began for batch in pipeline for began in batch], time.monotonic_ns()


def contest(name: str, work: str, threads: int, calls: int) -> None:
    """Be one contestant: a round for each line that comes, with its seconds and the number of results in return."""
    global PICTURE
    PICTURE = picture() if work == "pillow" else b""
    function = FUNCTIONS[work]
    for _ in sys.stdin:
        if name == "bare":
            began, ended = of_bare(function, threads, calls)
        elif name == "packs":
            began, ended = of_packs(function, threads, calls)
        elif name == "spdl":
            began, ended = of_spdl(function, threads, calls)
        else:
            began, ended = of_headrace(function, threads, calls, name)
        took = (ended - sorted(began)[BEGUN]) / 1e9
        gil = sys._is_gil_enabled() if sys.version_info >= (3, 13) else True
        print(json.dumps([took, len(began), gil]), flush=True)
    os._exit(0)


class Program:
    """A contestant that stays."""

    def __init__(self, name: str, work: str, threads: int, calls: int, gil: int) -> None:
        command = [sys.executable, __file__, "--contest", name, "--work", work, "--threads", str(threads), "--calls", str(calls)]
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=os.environ | {"PYTHON_GIL": str(gil)}
        )
        self.gil = gil

    def round(self) -> tuple[float, int]:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        took, total, gil = json.loads(self.process.stdout.readline() or "[0, 0, null]")
        if gil is None:
            raise RuntimeError("a contestant has ended")
        if gil != bool(self.gil):
            raise RuntimeError(f"PYTHON_GIL={self.gil}, and the GIL is {'on' if gil else 'off'}")
        return took, total

    def end(self) -> None:
        self.process.kill()
        self.process.wait()


def interval(values: list[float]) -> tuple[float, float, float]:
    """The median, and between which two of the values it lies with 95 %."""
    values, n = sorted(values), len(values)
    outside, below = 0.0, 0
    while below < n // 2 and 2 * (outside + math.comb(n, below) / 2**n) <= 0.05:
        outside += math.comb(n, below) / 2**n
        below += 1
    low = max(0, below - 1)
    return statistics.median(values), values[low], values[n - 1 - low]


def calls_in(work: str, seconds: float) -> int:
    """The calls that one thread makes in that time, and those before."""
    global PICTURE
    PICTURE = picture()
    took = []
    for n in range(20):
        began = time.monotonic_ns()
        FUNCTIONS[work](n)
        took.append(time.monotonic_ns() - began)
    return BEGUN + max(20, int(seconds * 1e9 / min(took)))


def measure(work: str, contestants: list[str], rounds: int, calls: int) -> None:
    gils = (1, 0) if sysconfig.get_config_var("Py_GIL_DISABLED") else (1,)
    cases = [(name, threads, gil) for gil in gils for threads in (1, 2) for name in contestants]
    cases = [case for case in cases if case[0] != "process" or not case[2]]
    programs: dict[tuple[Any, ...], Program] = {}
    seconds: dict[tuple[Any, ...], list[float]] = {case: [] for case in cases}
    try:
        for name, threads, gil in cases:
            programs[name, threads, gil] = Program(name, work, threads, calls, gil)
        for case, program in programs.items():
            if (made := program.round()[1]) != calls:
                raise RuntimeError(f"{case}: {made} results of {calls} calls")
        for r in range(rounds):
            for case in cases[r % len(cases) :] + cases[: r % len(cases)]:
                seconds[case].append(programs[case].round()[0])
    finally:
        for program in programs.values():
            program.end()

    def ratio(one: tuple[Any, ...], other: tuple[Any, ...]) -> str:
        middle, low, high = interval([b / a for a, b in zip(seconds[one], seconds[other])])
        return f"{middle:5.2f} [{low:.2f}-{high:.2f}]"

    print(f"{work}: {calls} calls a round, {rounds} rounds")
    columns = "".join(f"{name:18}" for name in ("rate / bare", "rate / SPDL", "2 threads / 1", "GIL off / on"))
    print(f"  {'GIL':4}{'threads':16}{'µs a call':>10}  {columns.rstrip()}")
    for name, threads, gil in cases:
        case = name, threads, gil
        call = statistics.median(seconds[case]) / (calls - BEGUN)
        line = f"  {'on' if gil else 'off':4}{threads:<8}{name:8}{call * 1e6:10.1f}  "
        line += f"{ratio(case, ('bare', threads, gil)):18}"
        line += f"{ratio(case, ('spdl', threads, gil)) if 'spdl' in contestants else '':18}"
        line += f"{ratio(case, (name, 1, gil)) if threads > 1 else '':18}"
        line += ratio(case, (name, threads, 1)) if not gil and name != "process" else ""
        print(line.rstrip())


def main() -> None:
    options = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    options.add_argument("--rounds", type=int, default=20)
    options.add_argument("--seconds", type=float, default=0.2, help="that the calls of a round take one bare thread")
    options.add_argument("--calls", type=int, default=0, help=argparse.SUPPRESS)
    options.add_argument("--work", default="python,pillow")
    options.add_argument("--contest", choices=CONTESTANTS, help=argparse.SUPPRESS)
    options.add_argument("--threads", type=int, default=1, help=argparse.SUPPRESS)
    o = options.parse_args()
    if o.contest:
        contest(o.contest, o.work, o.threads, o.calls)
    if not sysconfig.get_config_var("Py_GIL_DISABLED"):
        print(f"{sys.executable} is not built with --disable-gil: with its GIL alone", file=sys.stderr)
    contestants = list(CONTESTANTS)
    try:
        import spdl.pipeline  # noqa: F401
    except ImportError:
        contestants.remove("spdl")
        print("SPDL is not installed here, and left out", file=sys.stderr)
    print(f"Python {sys.version.split()[0]}, {os.cpu_count()} CPUs")
    for work in o.work.split(","):
        measure(work, contestants, o.rounds, calls_in(work, o.seconds))


if __name__ == "__main__":
    main()
