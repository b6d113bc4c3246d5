#!/usr/bin/env bash
# PyTorch 2.15.0 (CPU): DataLoader(dataset, shuffle=True, generator=g) beside RandomSampler(dataset, generator=g).
# One would guess that a loader with shuffle=True visits what a RandomSampler with the same generator draws: the loader makes
# that sampler, and gives it the generator.
# What happens: the loader draws a seed for its workers from the generator first, even with num_workers=0. So the order is
# another one, in the first epoch and in later ones; a generator that has lost one int64 gives it. A loader with
# sampler=RandomSampler(dataset, generator=g) and no generator of its own has the sampler's order.
# Where users meet it: an order is written down with a sampler, or moved to a loader that only has the sampler (SPDL's
# get_pytorch_dataloader), and the run with the same seed trains on other batches.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install -q uv
"$work/venv/bin/uv" pip install -q --python "$work/venv/bin/python" torch==2.15.0 numpy==2.4.6
"$work/venv/bin/python" - <<'PY'
import sys

import torch
from torch.utils.data import DataLoader, RandomSampler

data = range(8)


def seeded():
    return torch.Generator().manual_seed(3)


def visited(loader):
    return [int(x) for batch in loader for x in batch]


drawn = list(RandomSampler(data, generator=seeded()))
own = visited(DataLoader(data, sampler=RandomSampler(data, generator=seeded())))
loader = visited(DataLoader(data, shuffle=True, generator=seeded()))
late = seeded()
torch.empty((), dtype=torch.int64).random_(generator=late)
after = list(RandomSampler(data, generator=late))
print("the sampler:                     ", drawn)
print("a loader with that sampler:      ", own)
print("a loader with shuffle=True:      ", loader)
print("the sampler, one number later:   ", after)
sys.exit(not (drawn == own != loader == after))
PY
echo "a loader draws a number from its generator before its sampler does"
