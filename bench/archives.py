"""CPU of reading archives, recordings and tar files in memory, with `headrace.io` and with others.

    PYTHONPATH=python/src ENVIRONMENT/bin/python bench/archives.py

npz         two arrays of 1.2 MB together, stored and deflated: load_npz, with zlib and, where it is installed, isal; NumPy; SPDL
wav         a view on 10 s of 16-bit stereo: load_wav, soundfile (which copies), SPDL
tar         2,000 members of 20 KB, in memory and as a stream: iter_tar, Python's tarfile, SPDL

All take turns, so that they have the same machine; what is not installed is left out. The last line of each is Headrace's CPU
time over that of the fastest of the others, by round: 1.00 or less is wanted.
"""

from __future__ import annotations

import io
import statistics
import tarfile
import time
import zlib
from collections.abc import Callable
from importlib import import_module
from typing import Any

import headrace.io
import numpy as np
from headrace._io import deflate

ROUNDS = 15
SHAPES = {"image": (3, 640, 480), "label": (640, 480)}
RATE, SECONDS = 44_100, 10
MEMBERS, SIZE = 2000, 20_000

Reader = Callable[[bytes], Any]


def installed(name: str) -> Any:
    try:
        return import_module(name)
    except ImportError:
        return None


spdl, soundfile, isal = installed("spdl.io"), installed("soundfile"), installed("isal.isal_zlib")


def npz(save: Callable[..., None]) -> bytes:
    random = np.random.default_rng(0)
    buffer = io.BytesIO()
    save(buffer, **{name: random.integers(0, 256, shape, np.uint8) // 8 for name, shape in SHAPES.items()})
    return buffer.getvalue()


def npz_readers() -> dict[str, Reader]:
    def by(library: Any) -> Reader:
        def read(data: bytes) -> Any:
            deflate.crc32, deflate.decompressobj, deflate.Error = library.crc32, library.decompressobj, library.error
            return list(headrace.io.load_npz(data).values())

        return read

    found = {"numpy": lambda data: list(np.load(io.BytesIO(data)).values()), "headrace": by(zlib)}
    if isal:
        found["headrace, isal"] = by(isal)
    if spdl:
        found["spdl"] = lambda data: list(spdl.load_npz(data).values())
    return found


def wav() -> bytes:
    import wave

    buffer = io.BytesIO()
    with wave.open(buffer, "wb") as file:
        file.setnchannels(2)
        file.setsampwidth(2)
        file.setframerate(RATE)
        file.writeframes(np.random.default_rng(0).integers(-9999, 9999, 2 * RATE * SECONDS, np.int16).tobytes())
    return buffer.getvalue()


def wav_readers() -> dict[str, Reader]:
    found: dict[str, Reader] = {"headrace": lambda data: headrace.io.load_wav(data)[0]}
    if soundfile:
        found["soundfile"] = lambda data: soundfile.read(io.BytesIO(data), dtype="int16")[0]
    if spdl:
        found["spdl"] = lambda data: np.asarray(spdl.load_wav(data))
    return found


def tar() -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as file:
        for i in range(MEMBERS):
            member = tarfile.TarInfo(f"train/n{i:08}/image_{i}.jpg")
            member.size = SIZE
            file.addfile(member, io.BytesIO(bytes(SIZE)))
    return buffer.getvalue()


def by_tarfile(data: bytes) -> Any:
    with tarfile.open(fileobj=io.BytesIO(data)) as file:
        return [(member.name, file.extractfile(member).read()) for member in file]  # type: ignore[union-attr]


def tar_readers(stream: bool) -> dict[str, Reader]:
    def of(data: bytes) -> Any:
        return io.BytesIO(data) if stream else data

    found: dict[str, Reader] = {"headrace": lambda data: list(headrace.io.iter_tar(of(data))), "tarfile": by_tarfile}
    if spdl:
        found["spdl"] = lambda data: list(spdl.iter_tarfile(of(data)))
    return found


def same(a: Any, b: Any) -> bool:
    return len(a) == len(b) and all(
        x[0] == y[0] and bytes(x[1]) == bytes(y[1]) if isinstance(x, tuple) else np.array_equal(x, y) for x, y in zip(a, b)
    )


def cpu_ms(read: Reader, data: bytes, calls: int) -> float:
    began = time.process_time_ns()
    for _ in range(calls):
        read(data)
    return (time.process_time_ns() - began) / calls / 1e6


def contest(kind: str, data: bytes, readers: dict[str, Reader], calls: int) -> None:
    took: dict[str, list[float]] = {}
    want = readers["headrace"](data)
    for name, read in readers.items():
        if not same(read(data), want):
            raise SystemExit(f"{name} reads something else")
    for _ in range(ROUNDS):
        for name, read in readers.items():
            took.setdefault(name, []).append(cpu_ms(read, data, calls))
    for name, times in took.items():
        print(f"{kind}, {name}: {statistics.median(times):.4f} CPU ms a call [{min(times):.4f}-{max(times):.4f}]")
    others = {name: times for name, times in took.items() if not name.startswith("headrace")}
    for name in took.keys() - others.keys() if others else ():
        ratios = [mine / min(theirs) for mine, *theirs in zip(took[name], *others.values())]
        print(f"{kind}: {name} / the faster of {', '.join(others)}: {statistics.median(ratios):.2f}")


def main() -> None:
    for kind, save in (("stored npz", np.savez), ("deflated npz", np.savez_compressed)):
        contest(kind, npz(save), npz_readers(), 20)
    contest("wav", wav(), wav_readers(), 1000)
    contest("tar in memory", tar(), tar_readers(False), 5)
    contest("tar, streamed", tar(), tar_readers(True), 5)


if __name__ == "__main__":
    main()
