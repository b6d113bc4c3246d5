"""Images from a web server on this machine: images a CPU second, in turns with other readers and with local files.

    PYTHONPATH=python/src ENVIRONMENT/bin/python bench/objects.py BED [--rounds 5] [--delay 30ms] [--only headrace,obstore]

BED is the folder that data.py has filled; the environment has obstore, fsspec with aiohttp, torch and torchvision, or what of
these is to take part. The server (bench/objects) is a process of its own, whose CPU is nobody's. With --delay each of its answers
begins so late.

bytes     the bytes of each image in memory: headrace; obstore and fsspec, 64 requests at once
val       decoded, resized to 256, cropped to 224, batches of 32: headrace; headrace from local files; obstore and fsspec in the
          two workers of a DataLoader, which read 32 images at once, and decode with torchvision over Pillow
"""

from __future__ import annotations

import argparse
import asyncio
import io
import json
import os
import pathlib
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from typing import Any

from measure import cpu_seconds
from turns import note, report, run

AT_ONCE = 64


def headrace(work: str, names: list[str]) -> Iterator[int]:
    import headrace as hr

    files = hr.files(names)
    if work == "bytes":
        with files.loader(epochs=1) as loader:
            for sample in loader:
                yield int(len(sample["bytes"]) > 0)
    else:
        with files.decode_image().resize(256).center_crop(224).batch(32).loader(epochs=1) as loader:
            for batch in loader:
                yield len(batch["image"])


def fetch_obstore(names: list[str]) -> list[bytes]:
    from obstore.store import HTTPStore

    host = names[0].split("/", 3)
    store = HTTPStore.from_url("/".join(host[:3]), client_options={"allow_http": True})

    async def one(gate: asyncio.Semaphore, name: str) -> bytes:
        async with gate:
            return bytes(await (await store.get_async(name.split("/", 3)[3])).bytes_async())

    async def every() -> list[bytes]:
        gate = asyncio.Semaphore(AT_ONCE)
        return await asyncio.gather(*(one(gate, name) for name in names))

    return asyncio.run(every())


def fetch_fsspec(names: list[str]) -> list[bytes]:
    import fsspec

    store = fsspec.filesystem("http")
    return list(store.cat(names, batch_size=AT_ONCE).values())


FETCH = {"obstore": fetch_obstore, "fsspec": fetch_fsspec}


class Images:
    """A dataset whose __getitems__ reads the images of a batch together."""

    def __init__(self, fetch: str, names: list[str]) -> None:
        from torchvision.transforms import v2

        self.fetch, self.names = fetch, names
        self.transform = v2.Compose([v2.Resize(256), v2.CenterCrop(224), v2.PILToTensor()])

    def __len__(self) -> int:
        return len(self.names)

    def __getitems__(self, places: list[int]) -> list[Any]:
        from PIL import Image

        return [
            self.transform(Image.open(io.BytesIO(b)).convert("RGB")) for b in FETCH[self.fetch]([self.names[i] for i in places])
        ]


def others(fetch: str, work: str, names: list[str]) -> Iterator[int]:
    if work == "bytes":
        for first in range(0, len(names), 32 * AT_ONCE):
            yield sum(len(b) > 0 for b in FETCH[fetch](names[first : first + 32 * AT_ONCE]))
        return
    from torch.utils.data import DataLoader

    yield from map(len, DataLoader(Images(fetch, names), batch_size=32, num_workers=2))  # type: ignore[arg-type]


def contest(name: str, work: str, names: list[str]) -> dict[str, float]:
    began, used = time.monotonic(), cpu_seconds()
    read = sum(headrace(work, names) if name in ("headrace", "local") else others(name, work, names))
    assert read == len(names), (read, len(names))
    usage = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    spent = sum(u.ru_utime + u.ru_stime for u in usage)
    took = time.monotonic() - began
    return {"rate": read / took, "cpu": (spent - used) / read}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("bed", type=pathlib.Path, nargs="?")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--images", type=int, default=2400)
    parser.add_argument("--delay", default="0s")
    parser.add_argument("--only", default="headrace,local,obstore,fsspec")
    parser.add_argument("--contest", nargs=3)
    parser.add_argument("--seconds", type=float)
    options = parser.parse_args()
    if options.contest:
        name, names, work = options.contest
        print(json.dumps(contest(name, work, pathlib.Path(names).read_text().split("\n"))))
        return

    with tempfile.TemporaryDirectory() as folder:
        program = pathlib.Path(folder, "objects")
        subprocess.run(["go", "build", "-o", program, "./bench/objects"], check=True, cwd=pathlib.Path(__file__).parent.parent)
        data = (options.bed / "data").resolve()
        server = subprocess.Popen([program, data, options.delay], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert server.stdout is not None
        url = server.stdout.readline().strip()
        files = [line.split()[0] for line in (data / "bench_files.txt").read_text().splitlines()][: options.images]
        files = [os.path.relpath(data / f, data) for f in files]
        there, here = pathlib.Path(folder, "there"), pathlib.Path(folder, "here")
        there.write_text("\n".join(f"{url}/{f}" for f in files))
        here.write_text("\n".join(str(data / f) for f in files))
        rounds: Any = {}
        works = [
            (work, name) for work in ("bytes", "val") for name in options.only.split(",") if (work, name) != ("bytes", "local")
        ]
        for _ in range(options.rounds):
            for work, name in works:
                note(rounds, work, name, run(__file__, 0, name, here if name == "local" else there, work))
        server.terminate()
    report(rounds, lambda got: f"{got['rate']:8.0f} images/s   {got['cpu'] * 1e6:8.0f} µs of CPU an image")


if __name__ == "__main__":
    sys.exit(main())
