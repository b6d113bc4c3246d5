"""Compares images from tar files and Parquet with the same images from files of their own, and with other loaders, in turns.

    PYTHONPATH=python/src ENVIRONMENT/bin/python bench/shards.py BED [--rounds 7] [--images 4000] [--only tar,files]

BED is the folder that data.py has filled; the environment has webdataset, litdata, datasets, torch and torchvision, or what of
these is to take part. The images are in eight tar files as WebDataset has them, image and label, and in as many Parquet files as
the Hub has them. The work is W1's "val": decode, resize to 256, crop 224, batches of 32.

files           headrace from files, in their order
tar             headrace from tar files, in their order
tar shuffled    in a global random order
parquet shuffled  likewise, from Parquet files
files shuffled  likewise
webdataset      webdataset with torchvision over Pillow, in two workers of a DataLoader
litdata         the same from chunks of LitData, which its own loader reads
hf              the same from a dataset of Hugging Face's datasets on disk

Each contestant has a process of its own. A round does everything once, in turns; ratios are taken within a round, of CPU time and
of images a second. Files are in the page cache.
"""

from __future__ import annotations

import argparse
import io
import json
import pathlib
import resource
import shutil
import statistics
import subprocess
import sys
import tarfile
import time
from importlib.util import find_spec

SHARDS = 8


def headrace(source, shuffled):
    def run(folder, paths):
        import headrace as hr

        if source == "files":
            samples = hr.files([(path, label_of(path)) for path in paths])
        elif source == "parquet":
            samples = hr.read(str(folder / "*.parquet"), fields={"bytes": "image.bytes", "label": "label"})
        else:
            samples = hr.read(f"{folder}/train-{{000..{SHARDS - 1:03}}}.tar", fields={"bytes": "jpg", "label": "cls"})
        if shuffled:
            samples = samples.shuffle()
        with samples.decode_image().resize(256).center_crop(224).batch(32).loader(epochs=1) as loader:
            return sum(len(batch["image"]) for batch in loader)

    return run


def label_of(path):
    return int(pathlib.Path(path).parent.name[1:])


def steps():
    import torch
    from torchvision.transforms import v2

    torch.set_num_threads(1)
    return v2.Compose([v2.Resize(256), v2.CenterCrop(224), v2.PILToTensor()])


def webdataset(folder, paths):
    import webdataset as wds

    shards = f"{folder}/train-{{000..{SHARDS - 1:03}}}.tar"
    samples = (
        wds.WebDataset(shards, shardshuffle=False).decode("pilrgb").to_tuple("jpg", "cls").map_tuple(steps(), int).batched(32)
    )
    return sum(len(images) for images, labels in wds.WebLoader(samples, batch_size=None, num_workers=2, prefetch_factor=4))


def in_chunks(path):
    return {"image": pathlib.Path(path).read_bytes(), "label": label_of(path)}


def litdata(folder, paths):
    import litdata
    from PIL import Image

    work = steps()

    class Images(litdata.StreamingDataset):
        def __getitem__(self, i):
            sample = super().__getitem__(i)
            return work(Image.open(io.BytesIO(sample["image"])).convert("RGB")), sample["label"]

    loader = litdata.StreamingDataLoader(Images(str(folder / "litdata")), batch_size=32, num_workers=2, prefetch_factor=4)
    return sum(len(images) for images, labels in loader)


def hf(folder, paths):
    import datasets
    import torch

    work = steps()

    def worked(rows):
        return {"image": [work(image.convert("RGB")) for image in rows["image"]], "label": rows["label"]}

    images = datasets.load_from_disk(str(folder / "hf")).with_transform(worked)
    return sum(
        len(batch["label"]) for batch in torch.utils.data.DataLoader(images, batch_size=32, num_workers=2, prefetch_factor=4)
    )


CONTESTANTS = {
    "files": headrace("files", False),
    "tar": headrace("tar", False),
    "files shuffled": headrace("files", True),
    "tar shuffled": headrace("tar", True),
    "parquet shuffled": headrace("parquet", True),
    "webdataset": webdataset,
    "litdata": litdata,
    "hf": hf,
}
OTHERS = ["webdataset", "litdata", "hf"]
AGAINST = {"tar": ["files", *OTHERS], "tar shuffled": ["files shuffled"], "parquet shuffled": ["files shuffled"]}


def cpu_seconds():
    """CPU time of this process and of all that have ended: the engine and workers do with their loop."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(u.ru_utime + u.ru_stime for u in used)


def contest(name, folder, paths):
    """Prints images a second, and CPU seconds an image."""
    run = CONTESTANTS[name]
    assert run(folder, paths) == len(paths)  # libraries are loaded, the index is made, files are in the page cache
    begun, cpu = time.monotonic(), cpu_seconds()
    assert run(folder, paths) == len(paths)
    took, used = time.monotonic() - begun, cpu_seconds() - cpu
    print(json.dumps({"rate": len(paths) / took, "cpu": used / len(paths)}))


def made(bed, paths):
    """The shards of these images, of each kind."""
    folder = bed / f"shards-{len(paths)}"
    if folder.exists():
        return folder
    draft = bed / f"shards-{len(paths)}.draft"
    shutil.rmtree(draft, ignore_errors=True)
    draft.mkdir()
    each = -(-len(paths) // SHARDS)
    for number in range(SHARDS):
        some = paths[number * each : (number + 1) * each]
        with tarfile.open(draft / f"train-{number:03}.tar", "w") as tar:
            for path in map(pathlib.Path, some):
                for suffix, data in (("jpg", path.read_bytes()), ("cls", str(label_of(path)).encode())):
                    member = tarfile.TarInfo(f"{path.parent.name}/{path.stem}.{suffix}")
                    member.size = len(data)
                    tar.addfile(member, io.BytesIO(data))
    if find_spec("pyarrow"):
        parquet(draft, paths, each)
    if find_spec("litdata"):
        import litdata

        litdata.optimize(in_chunks, paths, str(draft / "litdata"), chunk_bytes="64MB", num_workers=1)
    if find_spec("datasets"):
        import datasets

        rows = {
            "image": [{"bytes": pathlib.Path(path).read_bytes(), "path": None} for path in paths],
            "label": list(map(label_of, paths)),
        }
        kinds = datasets.Features({"image": datasets.Image(), "label": datasets.Value("int64")})
        datasets.Dataset.from_dict(rows, features=kinds).save_to_disk(str(draft / "hf"))
    draft.rename(folder)
    return folder


def parquet(folder, paths, each):
    """Parquet files as the Hub has them: groups of 100 rows, Snappy, no dictionaries for what is in images."""
    import pyarrow as pa
    from pyarrow.parquet import write_table

    for number in range(SHARDS):
        some = paths[number * each : (number + 1) * each]
        images = pa.array([{"bytes": pathlib.Path(path).read_bytes(), "path": path} for path in some])
        table = pa.table({"image": images, "label": pa.array(map(label_of, some), pa.int64())})
        write_table(table, folder / f"train-{number:05}.parquet", row_group_size=100, use_dictionary=["label"])


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("bed", type=pathlib.Path)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--images", type=int, default=4000)
    parser.add_argument("--only", default=",".join(CONTESTANTS))
    parser.add_argument("--contest", help=argparse.SUPPRESS)
    options = parser.parse_args()
    paths = (options.bed / "data/bench_files.txt").read_text().split()[: options.images]
    folder = made(options.bed, paths)
    if options.contest:
        return contest(options.contest, folder, paths)

    rounds = {}
    for number in range(options.rounds):
        for name in options.only.split(","):
            command = [sys.executable, __file__, str(options.bed), "--images", str(len(paths)), "--contest", name]
            ran = subprocess.run(command, capture_output=True, text=True)
            if ran.returncode:
                print(f"{name} is left out: {ran.stderr.strip().splitlines()[-1]}", file=sys.stderr)
                continue
            rounds.setdefault(name, []).append(json.loads(ran.stdout))
        print(f"round {number + 1} of {options.rounds}", file=sys.stderr)
    for name, got in rounds.items():
        rate, cpu = (statistics.median(r[key] for r in got) for key in ("rate", "cpu"))
        line = f"{name:15} {rate:8.1f}/s {1000 * cpu:7.3f} ms CPU"
        for other in AGAINST.get(name, []):
            pairs = list(zip(got, rounds.get(other, [])))
            for key in ("cpu", "rate") if pairs else ():
                ratios = sorted(b["cpu"] / a["cpu"] if key == "cpu" else a["rate"] / b["rate"] for a, b in pairs)
                line += f"   {statistics.median(ratios):.3f} x {other} by {key} ({ratios[0]:.3f} to {ratios[-1]:.3f})"
        print(line)


if __name__ == "__main__":
    main()
