#!/usr/bin/env bash
# Subject: torchvision 0.29.2 (PyTorch 2.15.0, CPU), transforms.v2.SanitizeBoundingBoxes with boxes of four corners (XYXYXYXY).
#
# One would guess that min_size means the same for a box in every format: the shorter of its two sides. v2 converts between formats
# without a loss.
#
# What happens: for four corners the second side is measured between an x and a y (of its coordinates the wrong ones are subtracted
# from each other), so a long thin box counts as a large one. The same box of 10 by 0.5 pixels is dropped by min_size=1 as XYXY and
# kept as XYXYXYXY.
#
# Where a user meets it: a detector of turned boxes (aerial images, documents) after random crops: slivers at the edge of the crop
# stay in the labels, though the step that drops them is there.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install -q uv
"$work/venv/bin/uv" pip install -q --python "$work/venv/bin/python" torch==2.15.0 torchvision==0.29.2 numpy==2.4.6
"$work/venv/bin/python" - <<'PY'
import sys

import torch
from torchvision import tv_tensors
from torchvision.transforms import v2


def kept(corners, format):
    boxes = tv_tensors.BoundingBoxes([corners], format=format, canvas_size=(100, 100), dtype=torch.float32)
    sample = v2.SanitizeBoundingBoxes(min_size=1)({"boxes": boxes, "labels": torch.tensor([1])})
    return len(sample["boxes"])


edges = kept((10, 10, 20, 10.5), "XYXY")
corners = kept((10, 10, 20, 10, 20, 10.5, 10, 10.5), "XYXYXYXY")
print(f"a box of 10 x 0.5 with min_size=1: {edges} kept as XYXY, {corners} kept as its four corners")
sys.exit(not (edges == 0 and corners == 1))
PY
echo "the format decides whether a thin box is dropped"
