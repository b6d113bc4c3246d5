"""Makes the photographs that the contestants load: 4,000 JPEG files in 100 folders, the same ones every time.

    python data.py BED [--images N]

The sources are photographs in Debian packages, downloaded and unpacked but not installed. The files are meant to be like those
of ImageNet: half of them 500 x 375, some small, some large, qualities from 75 to 96, mostly 4:2:0, a few grey, progressive,
rotated by EXIF, or with restart markers. Sensor noise is added, because photographs that went through a wallpaper's smoothing
decode too fast.
"""

from __future__ import annotations

import argparse
import concurrent.futures
import functools
import pathlib
import sys

import numpy as np
from PIL import Image, ImageFile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "examples/demo"))
import photographs

PACKAGES = {
    "lomiri-wallpapers-16.04": "*",
    "lomiri-wallpapers-20.04": "[IK]*",
    "mate-backgrounds": "nature/*",
    "plasma-workspace-wallpapers": "contents/images/2560x1600.jpg",
}
CLASSES = 100
ImageFile.MAXBLOCK = 1 << 24  # Pillow needs room for a whole file when it optimises


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("bed", type=pathlib.Path)
    parser.add_argument("--images", type=int, default=4000)
    options = parser.parse_args()
    data = options.bed / "data"
    if (data / "bench_files.txt").exists():
        return
    sources = originals(options.bed / "packages")
    with concurrent.futures.ProcessPoolExecutor() as pool:
        make = functools.partial(make_file, data, sources, options.images)
        files = list(pool.map(make, range(options.images), chunksize=50))
    order = np.random.default_rng(2).permutation(len(files))
    (data / "bench_files.txt").write_text("".join(f"{files[i]}\n" for i in order))
    sizes = [f.stat().st_size for f in files]
    print(f"{len(files)} photographs out of {len(sources)}, {np.mean(sizes) / 1e3:.1f} KB each: {data}")


def originals(cache: pathlib.Path) -> list[pathlib.Path]:
    files = []
    photographs.unpack(photographs.download(list(PACKAGES), cache), cache)
    for package, pattern in PACKAGES.items():
        files += sorted(p for p in (cache / package).rglob("*.jpg") if p.match(pattern))
    return files


@functools.lru_cache(4)
def original(path: pathlib.Path) -> Image.Image:
    return photographs.reduced(path, 2400)


def make_file(data: pathlib.Path, sources: list[pathlib.Path], count: int, i: int) -> pathlib.Path:
    draw = np.random.default_rng([20250101, i])
    image = original(sources[i * len(sources) // count])  # neighbours share a source, for the cache
    image = noisy(cut(image, size(draw), draw), draw)
    options = {"quality": int(draw.choice([75, 82, 87, 90, 92, 94, 95, 96], p=[0.05, 0.06, 0.1, 0.16, 0.18, 0.15, 0.15, 0.15]))}
    kind = draw.random()
    if kind < 0.02:
        image = image.convert("L")
    else:
        options["subsampling"] = "4:4:4" if kind < 0.17 else "4:2:2" if kind < 0.2 else "4:2:0"
    special = draw.random()
    if special < 0.01:
        options["progressive"] = True
    elif special < 0.025:
        exif = Image.Exif()
        exif[0x112] = int(draw.choice([2, 3, 6, 8]))
        options["exif"] = exif
    elif special < 0.03:
        options["restart_marker_rows"] = 1
    label = f"n{i % CLASSES:06d}"
    path = data / "train" / label / f"{label}_{i:05d}.JPEG"
    path.parent.mkdir(parents=True, exist_ok=True)
    image.save(path, "JPEG", **options)
    return path


def size(draw: np.random.Generator) -> tuple[int, int]:
    kind = draw.random()
    if kind < 0.45:
        return 500, int(draw.choice([375, 333, 375, 375, 334, 400]))
    if kind < 0.62:
        return int(draw.choice([375, 333, 375])), 500
    if kind < 0.95:
        return int(draw.integers(220, 640)), int(draw.integers(200, 560))
    return int(draw.integers(800, 1600)), int(draw.integers(600, 1200))


def cut(image: Image.Image, size: tuple[int, int], draw: np.random.Generator) -> Image.Image:
    scale = min(image.width / size[0], image.height / size[1]) * draw.uniform(0.55, 1.0)
    width, height = size[0] * scale, size[1] * scale
    x, y = draw.uniform(0, image.width - width), draw.uniform(0, image.height - height)
    return image.resize(size, Image.Resampling.LANCZOS, box=(x, y, x + width, y + height))


def noisy(image: Image.Image, draw: np.random.Generator) -> Image.Image:
    """Contrast, brightness, and the noise of a sensor: much in the light, little in the colours."""
    pixels = (np.asarray(image, np.float32) - 128) * draw.uniform(0.85, 1.2) + 128 + draw.uniform(-15, 15)
    strength = draw.gamma(2.6, 3.5)
    pixels += draw.normal(0, strength, (*pixels.shape[:2], 1)) + draw.normal(0, strength * 0.35, pixels.shape)
    return Image.fromarray(pixels.clip(0, 255).astype(np.uint8))


if __name__ == "__main__":
    main()
