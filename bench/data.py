"""Makes the images that the contestants load, as far as they are missing: the same ones every time.

    python data.py BED [--images N]

The sources are images in Debian packages, downloaded and unpacked but not installed. There are three sets:

train     4,000 JPEG files in 100 folders, listed in bench_files.txt. They are meant to be like those of ImageNet: half of them
          500 x 375, some small, some large, qualities from 75 to 96, mostly 4:2:0, a few grey, progressive, rotated by EXIF, or
          with restart markers.
large     200 JPEG files of 1 to 8 megapixels, listed in large_files.txt: 3:2, 4:3 and 16:9, qualities from 85 to 95, as cameras
          and phones write them, one in ten progressive.
formats   PNG, WebP and AVIF of 0.2 to 2 megapixels, 24 images each, listed in formats/png.txt and so on.

Sensor noise is added, because images that went through a wallpaper's smoothing decode too fast; less of it to large
images, since cameras smooth those.
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
LARGE = 200
PER_FORMAT = 24
ImageFile.MAXBLOCK = 1 << 24  # Pillow needs room for a whole file when it optimises


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("bed", type=pathlib.Path)
    parser.add_argument("--images", type=int, default=4000)
    options = parser.parse_args()
    data = options.bed / "data"
    sets = {
        data / "bench_files.txt": (options.images, make_file),
        data / "large_files.txt": (LARGE, make_large_file),
        data / "formats/png.txt": (PER_FORMAT, make_png),
        data / "formats/webp.txt": (PER_FORMAT, make_webp),
        data / "formats/avif.txt": (PER_FORMAT, make_avif),
    }
    missing = {path: made for path, made in sets.items() if not path.exists()}
    if not missing:
        return
    sources = originals(options.bed / "packages")
    with concurrent.futures.ProcessPoolExecutor() as pool:
        for path, (count, make) in missing.items():
            make_set(pool, path, functools.partial(make, data, sources, count), count, len(sources))


def make_set(pool: concurrent.futures.Executor, path: pathlib.Path, make, count: int, sources: int) -> None:
    """Makes the files of one set, then its list, in a mixed order: a list means a complete set."""
    files = list(pool.map(make, range(count), chunksize=max(1, min(50, count // 24))))
    order = np.random.default_rng(2).permutation(len(files))
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{files[i]}\n" for i in order))
    sizes = [f.stat().st_size for f in files]
    print(f"{len(files)} pictures out of {sources} photographs, {np.mean(sizes) / 1e3:.1f} KB each: {path}")


def originals(cache: pathlib.Path) -> list[pathlib.Path]:
    files = []
    photographs.unpack(photographs.download(list(PACKAGES), cache), cache)
    for package, pattern in PACKAGES.items():
        files += sorted(p for p in (cache / package).rglob("*.jpg") if p.match(pattern))
    return files


@functools.lru_cache(4)
def original(path: pathlib.Path, longest: int = 2400) -> Image.Image:
    return photographs.reduced(path, longest)


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


def make_large_file(data: pathlib.Path, sources: list[pathlib.Path], count: int, i: int) -> pathlib.Path:
    draw = np.random.default_rng([20261121, i])
    image = taken(sources[i * len(sources) // count], draw, 1e6, 8e6)
    options = {"quality": int(draw.choice([85, 88, 90, 92, 93, 95])), "subsampling": "4:2:0"}
    kind = draw.random()
    if kind < 0.12:
        options["subsampling"] = "4:2:2" if kind < 0.06 else "4:4:4"
    special = draw.random()
    if special < 0.1:
        options["progressive"] = True
    elif special < 0.2:
        exif = Image.Exif()
        exif[0x112] = int(draw.choice([3, 6, 8]))
        options["exif"] = exif
    path = data / "large" / f"{i:03d}.jpg"
    path.parent.mkdir(parents=True, exist_ok=True)
    image.save(path, "JPEG", **options)
    return path


def make_png(data: pathlib.Path, sources: list[pathlib.Path], count: int, i: int) -> pathlib.Path:
    return make_format(data, sources, count, i, "png")


def make_webp(data: pathlib.Path, sources: list[pathlib.Path], count: int, i: int) -> pathlib.Path:
    draw = np.random.default_rng([20261122, 1, i])
    return make_format(data, sources, count, i, "webp", quality=int(draw.choice([75, 80, 85, 90])))


def make_avif(data: pathlib.Path, sources: list[pathlib.Path], count: int, i: int) -> pathlib.Path:
    draw = np.random.default_rng([20261122, 2, i])
    return make_format(data, sources, count, i, "avif", quality=int(draw.choice([60, 70, 75, 80])), speed=8)


def make_format(data: pathlib.Path, sources: list[pathlib.Path], count: int, i: int, name: str, **options: int) -> pathlib.Path:
    """The same image for each format."""
    draw = np.random.default_rng([20261122, 0, i])
    image = taken(sources[i * len(sources) // count], draw, 0.2e6, 2e6)
    path = data / "formats" / name / f"{i:02d}.{name}"
    path.parent.mkdir(parents=True, exist_ok=True)
    image.save(path, name.upper(), **options)
    return path


def taken(source: pathlib.Path, draw: np.random.Generator, least: float, most: float) -> Image.Image:
    """An image of least to most pixels, evenly by their logarithm, as a camera would have taken it."""
    pixels = float(np.exp(draw.uniform(np.log(least), np.log(most))))
    ratio = float(draw.choice([3 / 2, 4 / 3, 4 / 3, 16 / 9]))
    if draw.random() < 0.3:
        ratio = 1 / ratio
    width = round((pixels * ratio) ** 0.5)
    image = cut(original(source, 6000), (width, round(pixels / width)), draw)
    return noisy(image, draw, strength=draw.gamma(2.6, 3.5) * min(1, (0.22e6 / pixels) ** 0.25))


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


def noisy(image: Image.Image, draw: np.random.Generator, strength: float | None = None) -> Image.Image:
    """Contrast, brightness, and the noise of a sensor: much in the light, little in the colours."""
    pixels = (np.asarray(image, np.float32) - 128) * draw.uniform(0.85, 1.2) + 128 + draw.uniform(-15, 15)
    if strength is None:
        strength = draw.gamma(2.6, 3.5)
    pixels += draw.normal(0, strength, (*pixels.shape[:2], 1)) + draw.normal(0, strength * 0.35, pixels.shape)
    return Image.fromarray(pixels.clip(0, 255).astype(np.uint8))


if __name__ == "__main__":
    main()
