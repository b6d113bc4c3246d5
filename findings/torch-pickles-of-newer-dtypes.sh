#!/usr/bin/env bash
# PyTorch 2.15.0 (CPU): pickle of tensors of the newer dtypes: uint16, uint32, uint64 and all of float8.
# One would guess that what pickle.dumps() writes, pickle.loads() reads: so it is for int16 and bfloat16, and torch.save()
# and copy.deepcopy() keep these dtypes, too.
# What happens: dumps() writes the tensor without a word, and loads() raises AttributeError, since an UntypedStorage has no
# dtype. What was written cannot be read by the PyTorch that wrote it.
# Where users meet it: quantized weights, tokens as uint16 or other samples that are kept with pickle.dump(), in a cache of
# pickles, or sent by a queue that pickles without torch.multiprocessing. view() as a signed type or uint8 keeps them.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install -q uv
"$work/venv/bin/uv" pip install -q --python "$work/venv/bin/python" torch==2.15.0 numpy==2.4.6
"$work/venv/bin/python" - <<'PY'
import copy
import io
import pickle
import sys

import torch


def saved(tensor):
    file = io.BytesIO()
    torch.save(tensor, file)
    file.seek(0)
    return torch.load(file)


wrong = []
for name in ("bfloat16", "int16", "uint16", "uint32", "uint64", "float8_e4m3fn", "float8_e5m2", "float8_e8m0fnu"):
    tensor = torch.tensor([1.0, 2.0, 4.0]).to(getattr(torch, name))
    others = all(torch.equal(f(tensor).view(torch.uint8), tensor.view(torch.uint8)) for f in (saved, copy.deepcopy))
    data = pickle.dumps(tensor)
    try:
        pickle.loads(data)
        read = "read"
    except AttributeError as error:
        read = f"AttributeError: {error}"
    print(f"{name}: torch.save and deepcopy {'work' if others else 'fail'}; pickle.dumps gives {len(data)} bytes; loads: {read}")
    wrong.append(not others or (read != "read") != name.startswith(("uint", "float8")))
sys.exit(any(wrong))
PY
