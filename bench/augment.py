"""What a step of augmentation costs on one core: ours beside torchvision v2 on tensors and on Pillow images, and albumentations.

    PYTHONPATH=folder-with-albumentations python augment.py [--only rotate,…] [--sizes 224,512] [--rounds 5] [--out FILE.json]

CPU time of a call in milliseconds, the least of all rounds, which take turns: images of uint8 with three channels, in memory.
Ours is bench/augment, without the engine; what a step draws is part of its time. Needs torchvision, albumentations 2.0.8 and
OpenCV.
"""

from __future__ import annotations

import argparse
import json
import os
import pathlib
import subprocess
import time
import warnings

os.environ["OMP_NUM_THREADS"] = "1"
os.environ["NO_ALBUMENTATIONS_UPDATE"] = "1"
warnings.simplefilter("ignore")

import albumentations as A  # noqa: E402
import cv2  # noqa: E402
import numpy as np  # noqa: E402
import PIL.Image  # noqa: E402
import torch  # noqa: E402
from torchvision.transforms import v2  # noqa: E402
from torchvision.transforms.v2 import functional as F  # noqa: E402

torch.set_num_threads(1)
cv2.setNumThreads(1)

PROGRAM = pathlib.Path(__file__).resolve().parent.parent / "build/bench/augment"
NEAREST, LINEAR, CUBIC = cv2.INTER_NEAREST, cv2.INTER_LINEAR, cv2.INTER_CUBIC
AT = {"fill": 0, "p": 1.0}


def corners(size):
    end = size - 1
    return [[0, 0], [end, 0], [end, end], [0, end]], [[20, 15], [end - 29, 10], [end - 14, end - 24], [12, end - 8]]


def rotation(name, filter, number, of_cv2):
    step = {"rotate": {"angle": 17, "filter": filter}}
    return name, step, lambda x: F.rotate(x, 17.0, number, fill=0), A.Rotate((17, 17), interpolation=of_cv2, p=1.0)


def affine(name, filter, number, of_cv2):
    step = {"affine": {"angle": 17, "translate": [7, -5], "scale": 1.1, "shear": [8, 3], "filter": filter}}
    theirs = A.Affine(rotate=(17, 17), scale=(1.1, 1.1), translate_px=(7, 7), shear=(8, 8), interpolation=of_cv2, p=1.0)
    return name, step, lambda x: F.affine(x, 17.0, [7, -5], 1.1, [8.0, 3.0], number, fill=0), theirs


def perspective(size, name, filter, number, of_cv2):
    start, end = corners(size)
    step = {"perspective": {"start": start, "end": end, "filter": filter}}
    return (
        name,
        step,
        lambda x: F.perspective(x, start, end, number, fill=0),
        A.Perspective((0.1, 0.1), interpolation=of_cv2, p=1.0),
    )


def cases(size):
    """A line for each: its name, the step, torchvision's call for a tensor or a Pillow image, and albumentations' transform."""
    half = {"side_range": [1.5, 1.5], "p": 1}
    yield rotation("rotate, nearest", "nearest", 0, NEAREST)
    yield rotation("rotate, bilinear", "bilinear", 2, LINEAR)
    yield rotation("rotate, bicubic", "bicubic", 3, CUBIC)
    yield affine("affine, nearest", "nearest", 0, NEAREST)
    yield affine("affine, bilinear", "bilinear", 2, LINEAR)
    yield perspective(size, "perspective, nearest", "nearest", 0, NEAREST)
    yield perspective(size, "perspective, bilinear", "bilinear", 2, LINEAR)
    yield "elastic", {"elastic": {}}, v2.ElasticTransform(), A.ElasticTransform(alpha=50, sigma=5, p=1.0)
    yield (
        "zoom out",
        {"random_zoom_out": half},
        v2.RandomZoomOut(0, (1.5, 1.5), 1.0),
        A.PadIfNeeded(size * 3 // 2, size * 3 // 2, **AT),
    )
    yield (
        "scale jitter",
        {"scale_jitter": {"target_size": size, "scale_range": [0.7, 0.7]}},
        v2.ScaleJitter((size, size), (0.7, 0.7)),
        None,
    )
    yield from of_colours()
    yield from of_filters()
    yield "rand_augment", {"rand_augment": {}}, v2.RandAugment(), None
    yield "trivial_augment", {"trivial_augment": {}}, v2.TrivialAugmentWide(), None
    yield "auto_augment", {"auto_augment": {}}, v2.AutoAugment(), None
    yield "augmix", {"augmix": {}}, v2.AugMix(), None


def of_colours():
    """Steps whose new values depend on the old ones, or on how frequent these are."""
    yield "posterize", {"posterize": {"bits": 4}}, lambda x: F.posterize(x, 4), A.Posterize(num_bits=4, p=1.0)
    yield (
        "solarize",
        {"solarize": {"threshold": 128}},
        lambda x: F.solarize(x, 128),
        A.Solarize(threshold_range=(0.5, 0.5), p=1.0),
    )
    yield "invert", {"invert": {}}, F.invert, A.InvertImg(p=1.0)
    yield "equalize", {"equalize": {}}, F.equalize, A.Equalize(p=1.0)
    yield "autocontrast", {"autocontrast": {}}, F.autocontrast, A.AutoContrast(p=1.0)
    yield "gamma", {"adjust_gamma": {"gamma": 1.3}}, lambda x: F.adjust_gamma(x, 1.3), A.RandomGamma((130, 130), p=1.0)
    yield "permutation", {"random_channel_permutation": {}}, v2.RandomChannelPermutation(), A.ChannelShuffle(p=1.0)
    yield "photometric distort", {"random_photometric_distort": {}}, v2.RandomPhotometricDistort(), None


def of_filters():
    """Steps that look at neighbours, and those that draw for each value or rectangle."""
    sharper = {"adjust_sharpness": {"factor": 1.5}}
    yield "sharpness", sharper, lambda x: F.adjust_sharpness(x, 1.5), A.Sharpen(p=1.0)
    for k in (5, 9, 23):
        step = {"gaussian_blur": {"kernel_size": k, "sigma": [1.2, 1.2]}}
        theirs = A.GaussianBlur(blur_limit=(k, k), sigma_limit=(1.2, 1.2), p=1.0)
        yield f"blur, {k} pixels", step, lambda x, k=k: F.gaussian_blur(x, [k, k], [1.2, 1.2]), theirs
    wide = A.GaussianBlur(blur_limit=(23, 23), sigma_limit=(0.1, 2.0), p=1.0)
    yield "blur, sigma 0.1 to 2", {"gaussian_blur": {"kernel_size": 23}}, v2.GaussianBlur(23, (0.1, 2.0)), wide
    noise = A.GaussNoise(std_range=(0.1, 0.1), p=1.0)
    yield "noise", {"gaussian_noise": {"sigma": 0.1}}, lambda x: F.gaussian_noise(x, 0.0, 0.1), noise
    compressed = A.ImageCompression(quality_range=(50, 50), p=1.0)
    yield "jpeg", {"jpeg": {"quality": 50}}, lambda x: F.jpeg(x, 50), compressed
    area = {"p": 1, "scale": [0.11, 0.12], "ratio": [1, 1.01]}
    for name, value in (("erase", 0), ("erase, random", "random")):
        theirs = v2.RandomErasing(1.0, (0.11, 0.12), (1, 1.01), value)
        erasing = A.Erasing((0.11, 0.12), (1, 1.01), fill=value, p=1.0)
        yield name, {"random_erasing": {**area, "value": value}}, theirs, erasing


def main() -> None:
    options = arguments()
    report: dict[str, dict[str, float | None]] = {}
    for size in map(int, options.sizes.split(",")):
        for number in range(options.rounds):
            for name, took in of_round(size, options.only.split(",") if options.only else None):
                best = report.setdefault(f"{size} {name}", took)
                for label, value in took.items():
                    if value is not None and (best[label] is None or value < best[label]):
                        best[label] = value
            print(f"# {size}², round {number + 1} of {options.rounds}, load {os.getloadavg()[0]:.1f}", flush=True)
    if options.out:
        pathlib.Path(options.out).write_text(json.dumps(report, indent=1) + "\n")
    print("| | ours | v2, tensors | v2, Pillow | albumentations | × v2 | × albumentations |")
    print("|---|---|---|---|---|---|---|")
    for name, took in report.items():
        ours = took["ours"]
        ms = [f"{took[label]:.3f}" if took[label] is not None else "–" for label in ("ours", "v2", "pillow", "albumentations")]
        times = [f"{took[label] / ours:.1f}" if took[label] is not None else "–" for label in ("v2", "albumentations")]
        print(f"| {' | '.join([name, *ms, *times])} |")


def of_round(size, only):
    image = picture(size)
    array = np.asarray(image)
    tensor = F.pil_to_tensor(image).contiguous()
    with subprocess.Popen([PROGRAM, str(size), str(size)], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as ours:
        ours.stdin.write(array.tobytes())
        for name, step, of_v2, of_albumentations in cases(size):
            if only and not any(word in name for word in only):
                continue
            took = dict.fromkeys(("ours", "v2", "pillow", "albumentations"))
            ours.stdin.write(json.dumps(step).encode() + b"\n")
            ours.stdin.flush()
            took["ours"] = float(ours.stdout.readline())
            for label, call in {
                "v2": lambda f=of_v2: f(tensor),
                "pillow": lambda f=of_v2: f(image),
                "albumentations": of_albumentations and (lambda f=of_albumentations: f(image=array)),
            }.items():
                took[label] = best(call) if call else None
            yield name, took
        ours.stdin.close()


def best(call) -> float | None:
    try:
        call()
    except (RuntimeError, TypeError, NotImplementedError, ValueError):  # it has none for images of this kind
        return None
    least, calls = float("inf"), 1
    for _ in range(9):
        while True:
            start = time.process_time()
            for _ in range(calls):
                call()
            took = time.process_time() - start
            if took > 0.012 or calls >= 5000:
                break
            calls *= 2
        least = min(least, took / calls)
    return least * 1e3


def picture(size) -> PIL.Image.Image:
    """Smooth colours with some noise, as photos have."""
    rng = np.random.default_rng(1)
    small = rng.integers(0, 256, (12, 12, 3), np.uint8)
    smooth = np.asarray(PIL.Image.fromarray(small).resize((size, size), PIL.Image.Resampling.BICUBIC)).astype(int)
    return PIL.Image.fromarray((smooth + rng.integers(-8, 9, smooth.shape)).clip(0, 255).astype(np.uint8))


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help="words of names of steps")
    parser.add_argument("--sizes", default="224,512")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--out", default="")
    return parser.parse_args()


if __name__ == "__main__":
    main()
