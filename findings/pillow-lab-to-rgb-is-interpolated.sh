#!/usr/bin/env bash
# Subject: Pillow 13.0.0, Image.convert("RGB") of an image in CIE L*a*b* (mode "LAB", as TIFF files have it).
#
# One would guess that the conversion is the formula, rounded: at most a level from what a colour management
# system works out for each pixel.
#
# What happens: Pillow asks Little CMS with its default flags, and Little CMS then replaces the whole
# transform by a coarse table that it interpolates in. Against its own transform without that optimisation
# (Flags.NOOPTIMIZE) single values are dozens of levels off, dark saturated colours most.
#
# Where a user meets it: a dataset of Lab TIFFs (printing, microscopy, art scans) decoded by Pillow, compared
# with any other decoder, or trained on one and served by another.
set -euo pipefail
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install -q pillow==13.0.0 numpy==2.4.6
"$work/venv/bin/python" - <<'END'
import numpy as np
from PIL import Image, ImageCms

pixels = np.random.default_rng(0).integers(0, 256, (200, 300, 3), dtype=np.uint8)
lab = Image.fromarray(pixels).convert("LAB")  # colours that RGB has
exact = ImageCms.buildTransform(
    ImageCms.createProfile("LAB"), ImageCms.createProfile("sRGB"), "LAB", "RGB", flags=ImageCms.Flags.NOOPTIMIZE
)
converted = np.asarray(lab.convert("RGB")).astype(int)
right = np.asarray(ImageCms.applyTransform(lab, exact)).astype(int)
off = np.abs(converted - right)
print(f"convert('RGB') against the same transform without tables: greatest difference {off.max()}, mean {off.mean():.2f}")
print(f"values more than 2 levels off: {(off > 2).mean():.1%}")
assert off.max() >= 20 and (off > 2).mean() > 0.02, "Pillow's conversion is near the exact one now"
END
