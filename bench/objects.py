"""Images of a server of objects on this machine: images a CPU second, in turns with other readers and with local files.

    PYTHONPATH=python/src ENVIRONMENT/bin/python bench/objects.py BED [--rounds 5] [--delay 30ms] [--rate 1e8] [--tls] [--only …]

BED is the folder that data.py has filled; the environment has obstore, fsspec with aiohttp, s3fs, torch, torchvision, litdata,
s3torchconnector, mosaicml-streaming and datasets, or what of these is to take part. The server (bench/objects) is a process of
its own, whose CPU is nobody's. With --delay each of its answers begins so late, with --rate all have so many bytes a second.

bytes     the bytes of each image in memory: headrace; obstore and fsspec, 64 requests at once
link      the bytes of each image, in a loop of four epochs of which three count: headrace, for --rate 1.25e8 --delay 30ms
val       decoded, resized to 256, cropped to 224, batches of 32: headrace; headrace from local files; and in the two workers of a
          DataLoader, decoded with torchvision over Pillow: obstore and fsspec, which read 32 images at once; LitData's raw
          dataset; s3torchconnector
shards    the same of shards in the bucket: headrace, from tar, in any order; headrace from local tar; datasets, streaming the
          same tar from one end to the other; Mosaic, of its own shards, which it copies to the disk first
"""

from __future__ import annotations

import argparse
import asyncio
import importlib
import io
import json
import os
import pathlib
import resource
import subprocess
import sys
import tarfile
import tempfile
import time
from collections.abc import Iterator
from typing import Any

from measure import cpu_seconds
from turns import note, report, run

AT_ONCE = 64


def headrace(work: str, names: list[str]) -> Iterator[int]:
    import headrace as hr

    if work == "shards":
        tar = hr.read(f"{names[0]}/tar/{{000..007}}.tar").shuffle(seed=0)
        with tar.decode_image().resize(256).center_crop(224).batch(32).loader(epochs=1) as loader:
            for batch in loader:
                yield len(batch["image"])
        return
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


def crop() -> Any:
    from torchvision.transforms import v2

    return v2.Compose([v2.Resize(256), v2.CenterCrop(224), v2.PILToTensor()])


def raw(data: bytes, transform: Any = None) -> Any:
    from PIL import Image

    return (transform or crop())(Image.open(io.BytesIO(data)).convert("RGB"))


def of_litdata(names: list[str]) -> Any:
    from litdata import StreamingRawDataset
    from litdata.streaming import downloader

    downloader._OBSTORE_CLIENT_OPTIONS["allow_http"] = True  # no setting does it
    folder = tempfile.mkdtemp()
    return StreamingRawDataset(
        names[0] + "/train", cache_dir=folder, transform=raw, storage_options={"endpoint_url": os.environ["AWS_ENDPOINT_URL"]}
    )


def of_s3torch(names: list[str]) -> Any:
    from s3torchconnector import S3ClientConfig, S3MapDataset

    return S3MapDataset.from_prefix(
        names[0] + "/train/",
        region="us-east-1",
        endpoint=os.environ["AWS_ENDPOINT_URL"],
        transform=lambda reader: raw(reader.read()),
        s3client_config=S3ClientConfig(force_path_style=True),
    )


def of_mosaic(names: list[str]) -> Any:
    from streaming import StreamingDataset

    class Mosaic(StreamingDataset):  # type: ignore[misc]
        def __getitem__(self, at: int) -> Any:
            return raw(super().__getitem__(at)["jpg"])

    os.environ["S3_ENDPOINT_URL"] = os.environ["AWS_ENDPOINT_URL"]
    return Mosaic(remote=names[0] + "/mds", local=tempfile.mkdtemp(), shuffle=False, batch_size=32)


def of_datasets(names: list[str]) -> Any:
    from datasets import Image, load_dataset

    # It asks s3fs for a size of blocks that this has no argument for, so it reads by plain HTTP.
    files = [f"{os.environ['AWS_ENDPOINT_URL']}/bucket/tar/{i:03}.tar" for i in range(8)]
    read = load_dataset("webdataset", data_files=files, split="train", streaming=True)
    transform = crop()
    return (
        read.cast_column("jpg", Image())
        .map(lambda one: {"image": transform(one["jpg"].convert("RGB"))}, remove_columns=["jpg", "__key__", "__url__"])
        .with_format("torch")
    )


LOADED = {"litdata": of_litdata, "s3torch": of_s3torch, "mosaic": of_mosaic, "datasets": of_datasets}


def others(fetch: str, work: str, names: list[str]) -> Iterator[int]:
    if fetch in LOADED:
        from torch.utils.data import DataLoader

        for batch in DataLoader(LOADED[fetch](names), batch_size=32, num_workers=2):
            yield len(batch["image"] if isinstance(batch, dict) else batch)
        return
    if work == "bytes":
        for first in range(0, len(names), 32 * AT_ONCE):
            yield sum(len(b) > 0 for b in FETCH[fetch](names[first : first + 32 * AT_ONCE]))
        return
    from torch.utils.data import DataLoader

    yield from map(len, DataLoader(Images(fetch, names), batch_size=32, num_workers=2))  # type: ignore[arg-type]


def over_link(names: list[str]) -> dict[str, float]:
    """How fast a loop goes that has warmed up."""
    import headrace as hr

    began, used = 0.0, 0.0
    with hr.files(names).loader(epochs=4) as loader:
        for epoch in range(4):
            if epoch == 1:
                began, used = time.monotonic(), cpu_seconds()
            assert sum(1 for _ in loader) == len(names)
        took, spent = time.monotonic() - began, cpu_seconds() - used
    return {"rate": 3 * len(names) / took, "cpu": spent / 3 / len(names)}


def contest(name: str, work: str, names: list[str]) -> dict[str, float]:
    if work == "link":
        return over_link(names)
    for module in MODULES.get(name, ()):  # whose import is no part of it
        importlib.import_module(module)
    began, used = time.monotonic(), cpu_seconds()
    read = sum(headrace(work, names) if name in ("headrace", "local") else others(name, work, names))
    assert read == IMAGES or read == len(names), (read, len(names))
    usage = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    spent = sum(u.ru_utime + u.ru_stime for u in usage)
    took = time.monotonic() - began
    return {"rate": read / took, "cpu": (spent - used) / read}


IMAGES = int(os.environ.get("IMAGES", "2400"))
USUAL = ("torch.utils.data", "torchvision.transforms.v2", "PIL.Image")
MODULES = {
    "headrace": ("headrace",),
    "local": ("headrace",),
    "obstore": (*USUAL, "obstore"),
    "fsspec": (*USUAL, "fsspec", "aiohttp"),
    "litdata": (*USUAL, "litdata", "s3fs"),
    "s3torch": (*USUAL, "s3torchconnector"),
    "mosaic": (*USUAL, "streaming"),
    "datasets": (*USUAL, "datasets", "s3fs"),
}


def fill(folder: pathlib.Path, files: list[pathlib.Path], only: set[str]) -> int:
    """Put the images into a bucket: as they are, in tar files, and in Mosaic's shards. Returns their bytes."""
    total = 0
    for file in files:
        at = folder / "train" / file.parent.name / file.name
        at.parent.mkdir(parents=True, exist_ok=True)
        at.write_bytes(file.read_bytes())
        total += at.stat().st_size
    (folder / "tar").mkdir()
    for i in range(8):
        with tarfile.open(folder / "tar" / f"{i:03}.tar", "w", format=tarfile.USTAR_FORMAT) as tar:
            for file in files[i::8]:
                tar.add(file, file.name.replace(".JPEG", ".jpg"))
    if "mosaic" in only:
        from streaming import MDSWriter

        with MDSWriter(out=str(folder / "mds"), columns={"jpg": "bytes"}, size_limit=1 << 25) as out:
            for file in files:
                out.write({"jpg": file.read_bytes()})
    return total


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("bed", type=pathlib.Path, nargs="?")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--delay", default="0s")
    parser.add_argument("--rate", type=float, default=0)
    parser.add_argument("--tls", action="store_true")
    parser.add_argument("--works", default="bytes,val,shards")
    parser.add_argument("--only", default="headrace,local,obstore,fsspec,litdata,s3torch,mosaic,datasets")
    parser.add_argument("--contest", nargs=3)
    parser.add_argument("--seconds", type=float)
    options = parser.parse_args()
    if options.contest:
        name, names, work = options.contest
        print(json.dumps(contest(name, work, pathlib.Path(names).read_text().split("\n"))))
        return

    with tempfile.TemporaryDirectory() as made:
        program, bucket = pathlib.Path(made, "objects"), pathlib.Path(made, "bucket")
        subprocess.run(["go", "build", "-o", program, "./bench/objects"], check=True, cwd=pathlib.Path(__file__).parent.parent)
        only = options.only.split(",")
        files = [
            pathlib.Path(line.split()[0]) for line in (options.bed / "data" / "bench_files.txt").read_text().splitlines()[:IMAGES]
        ]
        total = fill(bucket, files, set(only))
        line = [program, "-delay", options.delay, "-rate", str(options.rate)]
        if options.tls:
            line += ["-tls", pathlib.Path(made, "certificate")]
            os.environ |= {"SSL_CERT_FILE": f"{made}/certificate", "AWS_CA_BUNDLE": f"{made}/certificate"}
        server = subprocess.Popen([*line, bucket], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert server.stdout is not None
        url = server.stdout.readline().strip()
        os.environ |= {
            "AWS_ENDPOINT_URL": url,
            "AWS_ACCESS_KEY_ID": "test",
            "AWS_SECRET_ACCESS_KEY": "test",
            "AWS_REGION": "us-east-1",
            "AWS_EC2_METADATA_DISABLED": "true",
        }
        images = [f"train/{file.parent.name}/{file.name}" for file in files]
        lists = {"there": [f"{url}/{i}" for i in images], "here": [f"{bucket}/{i}" for i in images]}
        lists |= {"objects": [f"s3://bucket/{i}" for i in images], "bucket": ["s3://bucket"], "disk": [str(bucket)]}
        for name, names in lists.items():
            pathlib.Path(made, f"{name}.txt").write_text("\n".join(names))

        def names_of(work: str, name: str) -> pathlib.Path:
            if work == "shards":
                return pathlib.Path(made, "disk.txt" if name == "local" else "bucket.txt")
            if name in LOADED:
                return pathlib.Path(made, "bucket.txt")
            return pathlib.Path(made, "here.txt" if name == "local" else "objects.txt" if name == "headrace" else "there.txt")

        taking = {
            "bytes": ["headrace", "obstore", "fsspec"],
            "link": ["headrace"],
            "val": ["headrace", "local", "obstore", "fsspec", "litdata", "s3torch"],
            "shards": ["headrace", "local", "datasets", "mosaic"],
        }
        rounds: Any = {}
        for _ in range(options.rounds):
            for work in options.works.split(","):
                for name in taking[work]:
                    if name in only:
                        note(rounds, work, name, run(__file__, 0, name, names_of(work, name), work))
        server.terminate()

    def line_of(got: dict[str, float]) -> str:
        text = f"{got['rate']:8.0f} images/s   {got['cpu'] * 1e6:8.0f} µs of CPU an image"
        return text + (f"   {got['rate'] * total / IMAGES / options.rate:.2f} of the link" if options.rate else "")

    report(rounds, line_of)


if __name__ == "__main__":
    sys.exit(main())
