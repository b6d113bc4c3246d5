"""Programs that end without closing their loader say nothing, and have their own exit code."""

from __future__ import annotations

import subprocess
import sys

import pytest

PROGRAM = """
import ctypes, sys
import numpy as np
import headrace as hr
def numbers():
    for i in range(64):
        yield {"x": np.full(8, i)}
loader = hr.source(numbers).batch(4).loader(epochs=3)
WRAP
loop = iter(loader)
batch = next(loop)
for name, module in list(sys.modules.items()):
    if name.startswith("headrace"):  # as long as C, or a thread, holds a module, its globals are cleared before it goes
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(module))
END
"""
TORCH = """
import torch
loader = torch.utils.data.DataLoader(hr.torch.IterableDataset(loader), batch_size=None)
"""


@pytest.mark.parametrize("wrap", ["", TORCH], ids=["alone", "torch"])
@pytest.mark.parametrize(("end", "code"), [("", 0), ("sys.exit(3)", 3)], ids=["end", "exit"])
def test_a_loader_that_is_not_closed_says_nothing(wrap, end, code):
    if wrap:
        pytest.importorskip("torch")
    program = PROGRAM.replace("WRAP", wrap).replace("END", end)
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (code, "", "")
