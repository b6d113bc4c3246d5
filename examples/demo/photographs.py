"""Makes a folder of small JPEG files, a folder per class, out of real images.

Usage: python photographs.py FOLDER

The images are those of two Debian packages (also in Ubuntu) that hold wallpapers under free licences. They are
downloaded and unpacked, not installed. From each of them come many crops, the same ones every time. Where nothing can be
downloaded, generated images take their place, and the program says so.
"""

from __future__ import annotations

import os
import pathlib
import random
import shutil
import subprocess
import sys

from PIL import Image, ImageFilter

PACKAGES = ["lomiri-wallpapers-16.04", "lomiri-wallpapers-20.04"]
CLASSES = {
    "bird": ["Kleiber_by_Lukas_Baubkus", "free_by_Peter_Nerlich"],
    "brushes": ["Picture_1A_by_freespace"],
    "clock": ["greentock_by_Peter_Nerlich"],
    "dandelion": ["seeding_by_Clements_Engelhardt"],
    "fig": ["Picture_0B_by_freespace"],
    "mountains": ["aitzgorri_by_Aitzol_Berasategi", "picosdeeuropa_by_Aitzol_Berasategi"],
    "stream": ["life_by_Aitzol_Berasategi"],
    "sunset": ["sunset_by_Aitzol_Berasategi"],
}
PER_CLASS = 60
SIZES = [(500, 375), (500, 333), (375, 500), (480, 360), (640, 426), (400, 400)]


def main(folder: pathlib.Path) -> None:
    if folder.is_dir() and len(list(folder.glob("*/*.jpg"))) == PER_CLASS * len(CLASSES):
        return
    partial = folder.with_name(folder.name + ".partial")
    shutil.rmtree(partial, ignore_errors=True)
    cache = folder.parent / "packages"
    try:
        originals = unpack(download(PACKAGES, cache), cache)
    except (OSError, subprocess.CalledProcessError) as e:
        print(f"The photographs could not be downloaded ({e}).")
        print("Generated pictures take their place: the figures below are then not those of photographs.")
        originals = {}
    write(partial, originals)
    shutil.rmtree(folder, ignore_errors=True)
    partial.rename(folder)
    files = list(folder.glob("*/*.jpg"))
    print(f"{len(files)} pictures in {len(CLASSES)} folders, {sum(f.stat().st_size for f in files) / 1e6:.0f} MB: {folder}")


def write(folder: pathlib.Path, originals: dict[str, pathlib.Path]) -> None:
    """Writes the folders of all classes; where an original is missing, a generated image takes its place."""
    for number, (label, names) in enumerate(CLASSES.items()):
        (folder / label).mkdir(parents=True)
        pictures = [reduced(originals[n]) if n in originals else generated(number, k) for k, n in enumerate(names)]
        for i in range(PER_CLASS):
            draw = random.Random(f"{label} {i}")
            image = crop(pictures[i % len(pictures)], draw)
            image.save(folder / label / f"{label}-{i:02d}.jpg", quality=draw.choice([82, 88, 92, 95]))


def download(packages: list[str], cache: pathlib.Path) -> list[pathlib.Path]:
    """Fetches packages by apt-get into cache, as far as they are not there."""
    cache.mkdir(parents=True, exist_ok=True)
    missing = [p for p in packages if not list(cache.glob(f"{p}_*.deb"))]
    if missing:
        print("downloading the photographs:", ", ".join(missing))
        if apt(["download", *missing], cache) != 0:
            # A fresh machine has no package lists yet.
            apt(["update"], cache, root=True)
            if apt(["download", *missing], cache) != 0:
                raise OSError("apt-get download failed")
    return [next(cache.glob(f"{p}_*.deb")) for p in packages]


def apt(arguments: list[str], folder: pathlib.Path, root: bool = False) -> int:
    command = ["apt-get", "-q", *arguments]
    if root and os.geteuid() != 0:
        command = ["sudo", "-n", *command]
    try:
        return subprocess.run(command, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode
    except FileNotFoundError:
        return 127


def unpack(packages: list[pathlib.Path], cache: pathlib.Path) -> dict[str, pathlib.Path]:
    """Unpacks the packages and gives every JPEG file in them by its name."""
    files = {}
    for package in packages:
        folder = cache / package.name.split("_")[0]
        if not folder.is_dir():
            subprocess.run(["dpkg-deb", "-x", package, folder], check=True)
        files.update({f.stem: f for f in sorted(folder.rglob("*.jpg"))})
    return files


def reduced(path: pathlib.Path, longest: int = 1600) -> Image.Image:
    image = Image.open(path)
    image.draft("RGB", (longest, longest))
    image = image.convert("RGB")
    image.thumbnail((longest, longest), Image.Resampling.LANCZOS)
    return image


def generated(*key: int) -> Image.Image:
    """An image with smooth and rough places and edges, so that it compresses somewhat like an image."""
    draw = random.Random(f"{key}")
    colour = [draw.randrange(256) for _ in range(3)]
    image = Image.effect_noise((1600, 1200), 60).convert("RGB").filter(ImageFilter.GaussianBlur(2))
    wash = Image.radial_gradient("L").resize(image.size)
    image = Image.composite(image, Image.new("RGB", image.size, tuple(colour)), wash)
    for _ in range(40):
        x, y, size = draw.randrange(1500), draw.randrange(1100), draw.randrange(20, 200)
        image.paste(tuple(draw.randrange(256) for _ in range(3)), (x, y, x + size, y + size // 2))
    return image


def crop(image: Image.Image, draw: random.Random) -> Image.Image:
    """A part of the image, of a size as images in data sets have it."""
    width, height = draw.choice(SIZES)
    scale = min(image.width / width, image.height / height) * draw.uniform(0.5, 1.0)
    x = draw.uniform(0, image.width - width * scale)
    y = draw.uniform(0, image.height - height * scale)
    return image.resize((width, height), Image.Resampling.BICUBIC, box=(x, y, x + width * scale, y + height * scale))


if __name__ == "__main__":
    if len(sys.argv) != 2 or sys.argv[1].startswith("-"):
        sys.exit(__doc__)
    main(pathlib.Path(sys.argv[1]))
