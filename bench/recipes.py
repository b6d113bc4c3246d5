"""Whole recipes of augmentation, from JPEG files to batches of uint8: images a CPU second, beside the same in Python.

    PYTHONPATH=python/src:FOLDER-OF-ALBUMENTATIONS python bench/recipes.py [--rounds 5] [--seconds 4] [--only simclr,dino]

simclr   two views of 224: a crop by a fifth or more, flip, jitter of colours, gray, a blur of 23 pixels by chance
dino     two views of 224 and six of 96, as DINO draws them, each blurred by chance, the second solarized by chance
timm     a crop of 224, flip, RandAugment as rand-m9-mstd0.5-inc1, erasing by noise, each by chance

v2 decodes by torchvision and works on tensors; pillow decodes by Pillow and has Pillow's blur, the rest is v2 on its images;
albumentations decodes by OpenCV; timm is timm's own on Pillow's images, where it is installed. Each is one process with one
thread, and headrace has its own and the engine, so what is compared is CPU time: that of all processes of a contestant.
"""

from __future__ import annotations

import argparse
import json
import os
import pathlib
import random
import time
from collections.abc import Callable
from typing import Any

os.environ["OMP_NUM_THREADS"] = "1"
os.environ["NO_ALBUMENTATIONS_UPDATE"] = "1"

from machine import ROOT, wait_for_quiet
from measure import cpu_seconds
from turns import note, report, run

WARM = 64  # images


def headrace(recipe: str, files: list[str]) -> Any:
    import headrace as hr

    def drawn(view: Any, size: int, low: float, high: float) -> Any:
        return view.random_resized_crop(size, scale=(low, high)).random_flip()

    def simclr(view: Any) -> Any:
        view = drawn(view, 224, 0.2, 1).color_jitter(0.8, 0.8, 0.8, 0.2, p=0.8).random_grayscale(0.2)
        return view.random_apply(lambda p: p.gaussian_blur(23), p=0.5)

    def dino(view: Any, size: int, low: float, high: float, blur: float) -> Any:
        view = drawn(view, size, low, high).color_jitter(0.4, 0.4, 0.2, 0.1, p=0.8).random_grayscale(0.2)
        return view.random_apply(lambda p: p.gaussian_blur(9), p=blur)

    chain = hr.files([(file, 0) for file in files * 40]).shuffle(seed=1).decode_image()
    if recipe == "simclr":
        chain = chain.views(2, simclr)
    elif recipe == "dino":
        chain = chain.views(
            first=lambda view: dino(view, 224, 0.4, 1, 1.0),
            second=lambda view: dino(view, 224, 0.4, 1, 0.1).random_solarize(128, 0.2),
            small=(6, lambda view: dino(view, 96, 0.05, 0.4, 0.5)),
        )
    else:
        chain = drawn(chain, 224, 0.08, 1).rand_augment(config="rand-m9-mstd0.5-inc1").random_erasing(0.25, value="random")
    with chain.batch(32).loader(epochs=1) as loader:
        for batch in loader:
            yield len(batch["label"])


def by_calls(load: Callable[[str], Any], views: list[Callable[[Any], Any]]) -> Callable[[list[str]], Any]:
    def images(files: list[str]) -> Any:
        order = files * 40
        random.Random(1).shuffle(order)
        for file in order:
            image = load(file)
            for view in views:
                view(image)
            yield 1

    return images


def v2(recipe: str, files: list[str], pillow: bool = False) -> Any:
    import torch
    from PIL import Image, ImageFilter
    from torchvision.io import ImageReadMode, decode_jpeg, read_file
    from torchvision.transforms import v2 as T

    torch.set_num_threads(1)

    class PillowBlur:
        def __call__(self, image: Any) -> Any:
            return image.filter(ImageFilter.GaussianBlur(random.uniform(0.1, 2)))

    def blur(size: int) -> Any:
        return PillowBlur() if pillow else T.GaussianBlur(size, (0.1, 2.0))

    def drawn(size: int, low: float, high: float) -> list[Any]:
        return [T.RandomResizedCrop(size, scale=(low, high), antialias=True), T.RandomHorizontalFlip()]

    def dino(size: int, low: float, high: float, chance: float, *more: Any) -> Any:
        jitter = T.RandomApply([T.ColorJitter(0.4, 0.4, 0.2, 0.1)], 0.8)
        return T.Compose(
            [*drawn(size, low, high), jitter, T.RandomGrayscale(0.2), T.RandomApply([blur(9)], chance), *more, *last]
        )

    last: list[Any] = [T.PILToTensor()] if pillow else []
    if recipe == "simclr":
        jitter = T.RandomApply([T.ColorJitter(0.8, 0.8, 0.8, 0.2)], 0.8)
        views = [T.Compose([*drawn(224, 0.2, 1), jitter, T.RandomGrayscale(0.2), T.RandomApply([blur(23)], 0.5), *last])] * 2
    elif recipe == "dino":
        views = [dino(224, 0.4, 1, 1.0), dino(224, 0.4, 1, 0.1, T.RandomSolarize(128, 0.2)), *[dino(96, 0.05, 0.4, 0.5)] * 6]
    else:
        views = [T.Compose([*drawn(224, 0.08, 1), T.RandAugment(), *last, T.RandomErasing(0.25)])]

    def load(file: str) -> Any:
        if pillow:
            with Image.open(file) as image:
                return image.convert("RGB")
        return decode_jpeg(read_file(file), ImageReadMode.RGB)

    return by_calls(load, views)(files)


def pillow(recipe: str, files: list[str]) -> Any:
    return v2(recipe, files, pillow=True)


def albumentations(recipe: str, files: list[str]) -> Any:
    import albumentations as A
    import cv2

    cv2.setNumThreads(1)

    def drawn(size: int, low: float, high: float) -> list[Any]:
        return [A.RandomResizedCrop((size, size), scale=(low, high)), A.HorizontalFlip(p=0.5)]

    def dino(size: int, low: float, high: float, chance: float, *more: Any) -> Any:
        jitter = A.ColorJitter((0.6, 1.4), (0.6, 1.4), (0.8, 1.2), (-0.1, 0.1), p=0.8)
        blur = A.GaussianBlur((9, 9), (0.1, 2.0), p=chance)
        return A.Compose([*drawn(size, low, high), jitter, A.ToGray(p=0.2), blur, *more])

    if recipe == "simclr":
        jitter = A.ColorJitter((0.2, 1.8), (0.2, 1.8), (0.2, 1.8), (-0.2, 0.2), p=0.8)
        steps = [*drawn(224, 0.2, 1), jitter, A.ToGray(p=0.2), A.GaussianBlur((23, 23), (0.1, 2.0), p=0.5)]
        views = [A.Compose(steps)] * 2
    elif recipe == "dino":
        views = [dino(224, 0.4, 1, 1.0), dino(224, 0.4, 1, 0.1, A.Solarize(p=0.2)), *[dino(96, 0.05, 0.4, 0.5)] * 6]
    else:
        raise SystemExit("it has no RandAugment")

    def load(file: str) -> Any:
        return cv2.cvtColor(cv2.imread(file), cv2.COLOR_BGR2RGB)

    return by_calls(load, [lambda image, view=view: view(image=image) for view in views])(files)


def timm(recipe: str, files: list[str]) -> Any:
    from PIL import Image
    from timm.data.auto_augment import rand_augment_transform
    from timm.data.random_erasing import RandomErasing
    from torchvision.transforms import v2 as T

    erase = RandomErasing(0.25, mode="pixel", device="cpu")
    steps = [T.RandomResizedCrop(224), T.RandomHorizontalFlip(), rand_augment_transform("rand-m9-mstd0.5-inc1", {})]
    view = T.Compose([*steps, T.PILToTensor(), lambda image: erase(image.float())])

    def load(file: str) -> Any:
        with Image.open(file) as image:
            return image.convert("RGB")

    return by_calls(load, [view])(files)


RECIPES = {
    "simclr": (headrace, v2, pillow, albumentations),
    "dino": (headrace, v2, pillow, albumentations),
    "timm": (headrace, pillow, timm),
}


def contest(name: str, recipe: str, bed: str, seconds: float) -> dict[str, float]:
    files = (pathlib.Path(bed) / "data/bench_files.txt").read_text().split("\n")[:1200]
    images, began, used = 0, 0.0, 0.0
    loop = globals()[name](recipe, files)
    for n in loop:
        images += n
        now = time.monotonic()
        if not began and images >= WARM:
            images, began, used = 0, now, cpu_seconds()
        elif began and now > began + seconds:
            break
    used = cpu_seconds() - used  # before the processes of the loop end
    loop.close()
    return {"rate": images / (now - began), "cpu": 1e3 * used / images}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("case", nargs="*")
    parser.add_argument("--contest", action="store_true")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=4)
    parser.add_argument("--only", default="")
    parser.add_argument("--bed", default=os.environ.get("BED") or str(ROOT / "build/bed"))
    o = parser.parse_args()
    if o.contest:
        name, recipe, bed = o.case
        print(json.dumps(contest(name, recipe, bed, o.seconds)))
        return
    rounds: dict[str, dict[str, list[dict[str, float]]]] = {}
    for _ in range(o.rounds):
        wait_for_quiet(5)
        for recipe, contestants in RECIPES.items():
            for of in contestants:
                if not o.only or recipe in o.only.split(","):
                    note(rounds, recipe, of.__name__, run(__file__, o.seconds, of.__name__, recipe, o.bed))
    report(rounds, lambda of: f"{of['rate']:7.0f} images/s  {of['cpu']:7.2f} ms of CPU each")


if __name__ == "__main__":
    main()
