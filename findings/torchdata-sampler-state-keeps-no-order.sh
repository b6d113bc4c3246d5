#!/usr/bin/env bash
# torchdata 0.11.0 (nodes), PyTorch 2.15.0 (CPU): SamplerWrapper over RandomSampler without a seed.
# One would guess that get_state() and reset(state) go on with the same epoch: torchdata calls its nodes stateful.
# What happens: the state holds how many samples were given, not the order. The resumed node draws another order, so
# of one epoch some samples come twice and others never, without a warning.
# Where users meet it: SamplerWrapper(RandomSampler(dataset)) is the usual way to shuffle in torchdata.nodes.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install -q uv
"$work/venv/bin/uv" pip install -q --python "$work/venv/bin/python" torch==2.15.0 torchdata==0.11.0 numpy==2.4.6
"$work/venv/bin/python" - <<'PY'
import sys

import torchdata.nodes as nodes
from torch.utils.data import RandomSampler

def node():
    return nodes.SamplerWrapper(RandomSampler(range(100)))

first = node()
first.reset()
given = [next(first) for _ in range(50)]
state = first.state_dict()
rest = list(first)

second = node()
second.reset(state)
resumed = list(second)
lost = set(range(100)) - set(given) - set(resumed)
twice = set(given) & set(resumed)
print(f"given {len(given)}, left {len(rest)}, resumed {len(resumed)}: {len(lost)} never came, {len(twice)} came twice")
print("state:", {k: v for k, v in state.items()})
sys.exit(0 if lost and twice and resumed != rest else 1)
PY
