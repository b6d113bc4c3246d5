"""Programs that end without closing their loader say nothing, and have their own exit code."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from conftest import some

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


@pytest.mark.parametrize(("wrap", "end", "code"), some([("", "", 0), (TORCH, "sys.exit(3)", 3), ("", "sys.exit(3)", 3), (TORCH, "", 0)], 2))
def test_a_loader_that_is_not_closed_says_nothing(wrap, end, code):
    if wrap:
        pytest.importorskip("torch")
    program = PROGRAM.replace("WRAP", wrap).replace("END", end)
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (code, "", "")


NUMBERS = """
import sys
import headrace as hr

class Numbers:
    def __len__(self):
        return 64
    def __getitem__(self, i):
        return {"x": float(i)}

def opened():
    loader = hr.source(Numbers()).batch(4).loader(epochs=3)
    loop = iter(loader)
    return loader, loop, next(loop)

"""


def program(tmp_path: Path, text: str, *arguments: str) -> subprocess.CompletedProcess:
    """Run a program from a file, which the processes that it spawns read, too."""
    file = tmp_path / "program.py"
    file.write_text(NUMBERS + text)
    return subprocess.run([sys.executable, file, *arguments], capture_output=True, text=True, timeout=120, check=False)


@pytest.mark.parametrize("way", ["spawn", "forkserver", "fork"])
def test_processes_of_multiprocessing_that_close_nothing(tmp_path, way):
    """Parent and children have loaders of their own, in the middle of a loop, when they end."""
    text = """
import multiprocessing

def child():
    global kept
    kept = opened()

if __name__ == "__main__":
    kept = opened()
    context = multiprocessing.get_context(sys.argv[1])
    children = [context.Process(target=child) for _ in range(2)]
    for process in children:
        process.start()
    for process in children:
        process.join()
    with context.Pool(2) as pool:
        pool.apply(child)
    print([process.exitcode for process in children], next(kept[1])["x"].tolist())
"""
    done = program(tmp_path, text, way)
    assert (done.returncode, done.stdout, done.stderr) == (0, "[0, 0] [4.0, 5.0, 6.0, 7.0]\n", "")


@pytest.mark.parametrize("traced", [False, True], ids=["plain", "traced"])
@pytest.mark.parametrize("when", ["before", "after"])
def test_functions_at_exit_use_loaders(tmp_path, when, traced):
    """Registered before the first loader, so that they run last, or after it: the open loader goes on, and new ones open."""
    text = f"""
import atexit, os

def use():
    print(next(loop)["x"].tolist(), loader.state_dict()["epoch"], loader.stats()["yielded"])
    with hr.source(Numbers()).batch(8).loader(epochs=1) as another:
        print(sum(1 for _ in another))
    if {traced}:
        loader.close()

if {when == "before"}:
    atexit.register(use)
loader, loop, batch = opened()
if {traced}:
    loader.trace(sys.argv[1])
if {when == "after"}:
    atexit.register(use)
"""
    trace = tmp_path / "trace.json"
    done = program(tmp_path, text, str(trace))
    assert (done.returncode, done.stdout, done.stderr) == (0, "[4.0, 5.0, 6.0, 7.0] 0 2\n8\n", "")
    assert not traced or json.loads(trace.read_text())  # the bracket at its end is there


@pytest.mark.parametrize("end", some(["", "raise SystemExit(3)", "raise ValueError('mine')"], 1))  # Lightning takes long to import
def test_lightning_without_close(tmp_path, end):
    pytest.importorskip("lightning")
    text = f"""
import warnings, logging
warnings.simplefilter("ignore")
logging.disable(logging.WARNING)
import lightning, torch

class Model(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(1, 1)
    def training_step(self, batch, index):
        if index == 2:
            {end or "pass"}
        return self.layer(batch["x"].float()[:, None]).sum()
    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=1e-9)

loader = hr.source(Numbers()).batch(4).to("torch").loader()
trainer = lightning.Trainer(
    max_steps=5, accelerator="cpu", logger=False, enable_checkpointing=False, enable_progress_bar=False,
    enable_model_summary=False, default_root_dir=sys.argv[1],
)
trainer.fit(Model(), torch.utils.data.DataLoader(hr.torch.IterableDataset(loader), batch_size=None))
print(trainer.global_step)
"""
    done = program(tmp_path, text, str(tmp_path))
    if "ValueError" in end:
        assert done.returncode == 1
        assert done.stderr.rstrip().endswith("ValueError: mine")
        assert done.stderr.count("Traceback") == 1
        assert "headrace/" not in done.stderr
        return
    assert (done.returncode, done.stdout) == (3, "") if end else (0, "5\n"), done.stderr
    assert "Traceback" not in done.stderr
    assert "Exception ignored" not in done.stderr
