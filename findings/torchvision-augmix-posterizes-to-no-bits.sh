#!/usr/bin/env bash
# Subject: torchvision 0.29.2 (PyTorch 2.15.0, CPU), transforms.v2.AugMix and functional.posterize, on images of Pillow 13.0.0.
#
# One would guess that an augmentation which accepts severity=10 works for every image, and alike for tensors and Pillow images.
#
# What happens: at the last two of AugMix's ten strengths posterize is asked to keep no bits. For tensors the result is black. Pillow
# 13 refuses: it keeps one bit at least. So AugMix(severity=10) works on tensors, and on Pillow images it raises whenever it draws that
# change, for a few images of a hundred.
#
# Where a user meets it: a training with strong AugMix on Pillow images that ends with a ValueError some batches into its first epoch,
# in a worker, after tests with a handful of images passed.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install -q uv
"$work/venv/bin/uv" pip install -q --python "$work/venv/bin/python" torch==2.15.0 torchvision==0.29.2 numpy==2.4.6 pillow==13.0.0
"$work/venv/bin/python" - <<'PY'
import sys

import torch
from PIL import Image
from torchvision.transforms import v2
from torchvision.transforms.v2 import functional as F

tensor = torch.full((3, 64, 64), 200, dtype=torch.uint8)
picture = Image.new("RGB", (64, 64), (200, 200, 200))


def said(call):
    try:
        return call()
    except ValueError as error:
        return f"ValueError: {error}"


print("posterize(bits=0) of a tensor:", said(lambda: F.posterize(tensor, 0).unique().tolist()))
print("posterize(bits=0) of a Pillow image:", refused := said(lambda: F.posterize(picture, 0)))


def failures(image):
    augmix, failed = v2.AugMix(severity=10), 0
    for seed in range(300):
        torch.manual_seed(seed)
        failed += isinstance(said(lambda: augmix(image)), str)
    return failed


tensors, pictures = failures(tensor), failures(picture)
print(f"AugMix(severity=10), 300 images: {tensors} raise as tensors, {pictures} as Pillow images")
sys.exit(not (F.posterize(tensor, 0).max() == 0 and isinstance(refused, str) and tensors == 0 and pictures > 0))
PY
echo "the last strengths of AugMix raise for Pillow images alone"
