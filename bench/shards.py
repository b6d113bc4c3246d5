"""Compares images from tar files with the same images from files of their own, and with webdataset, in turns.

    PYTHONPATH=python/src ENVIRONMENT/bin/python bench/shards.py BED [--rounds 7] [--images 4000] [--only tar,files]

BED is the folder that data.py has filled; the environment has webdataset, torch and torchvision. The images are in eight tar
files as WebDataset has them, image and label. The work is W1's "val": decode, resize to 256, crop 224, batches of 32.

files           headrace from files, in their order
tar             headrace from tar files, in their order
tar shuffled    in a global random order
files shuffled  likewise
webdataset      webdataset with torchvision over Pillow, in two workers of a DataLoader

Each contestant has a process of its own. A round does everything once, in turns; ratios are taken within a round, of CPU time and
of images a second. Files are in the page cache.
"""

from __future__ import annotations

import argparse
import io
import json
import pathlib
import resource
import statistics
import subprocess
import sys
import tarfile
import time

SHARDS = 8


def headrace(source, shuffled):
    def run(folder, paths):
        import headrace as hr

        if source == "files":
            samples = hr.files([(path, int(pathlib.Path(path).parent.name[1:])) for path in paths])
        else:
            samples = hr.read(f"{folder}/train-{{000..{SHARDS - 1:03}}}.tar", fields={"bytes": "jpg", "label": "cls"})
        if shuffled:
            samples = samples.shuffle()
        with samples.decode_image().resize(256).center_crop(224).batch(32).loader(epochs=1) as loader:
            return sum(len(batch["image"]) for batch in loader)

    return run


def webdataset(folder, paths):
    import torch
    import webdataset as wds
    from torchvision.transforms import v2

    torch.set_num_threads(1)
    steps = v2.Compose([v2.Resize(256), v2.CenterCrop(224), v2.PILToTensor()])
    shards = f"{folder}/train-{{000..{SHARDS - 1:03}}}.tar"
    samples = wds.WebDataset(shards, shardshuffle=False).decode("pilrgb").to_tuple("jpg", "cls").map_tuple(steps, int).batched(32)
    return sum(len(images) for images, labels in wds.WebLoader(samples, batch_size=None, num_workers=2, prefetch_factor=4))


CONTESTANTS = {
    "files": headrace("files", False),
    "tar": headrace("tar", False),
    "files shuffled": headrace("files", True),
    "tar shuffled": headrace("tar", True),
    "webdataset": webdataset,
}
AGAINST = {"tar": ["files", "webdataset"], "tar shuffled": ["files shuffled", "webdataset"]}


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
    """The tar files of these images."""
    folder = bed / f"tar-{len(paths)}"
    if folder.exists():
        return folder
    draft = bed / f"tar-{len(paths)}.draft"
    draft.mkdir(exist_ok=True)
    each = -(-len(paths) // SHARDS)
    for number in range(SHARDS):
        with tarfile.open(draft / f"train-{number:03}.tar", "w") as tar:
            for path in map(pathlib.Path, paths[number * each : (number + 1) * each]):
                for suffix, data in (("jpg", path.read_bytes()), ("cls", path.parent.name[1:].encode())):
                    member = tarfile.TarInfo(f"{path.parent.name}/{path.stem}.{suffix}")
                    member.size = len(data)
                    tar.addfile(member, io.BytesIO(data))
    draft.rename(folder)
    return folder


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
