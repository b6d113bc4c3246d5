"""What a faster loader would bring: of any iterable, and of whole programs."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time

import pytest
import torch.utils.data

import headrace as hr
from conftest import SOURCES, some
from headrace._client.program import find_program

TORCH = """
import sys, time, torch

class Slow(torch.utils.data.Dataset):
    def __len__(self): return 40
    def __getitem__(self, i):
        time.sleep({sample})
        return torch.full((3,), i)

def main():
    print("arguments", sys.argv[1:], __name__)
    loader = torch.utils.data.DataLoader(Slow(), batch_size=4, num_workers={workers}, multiprocessing_context={context})
    try:
        for epoch in range({epochs}):
            count = 0
            for batch in loader:
                assert batch.shape == (4, 3)
                count += 1
                time.sleep({step})
            assert count == len(loader)
    except Exception:
        print("nothing is to be caught")
    finally:
        print("cleaned up")

if __name__ == "__main__":
    main()
"""


def program(text, **numbers):
    values = {"sample": 0, "step": 0, "workers": 0, "epochs": 10**6, "context": None} | numbers
    for name, value in values.items():
        text = text.replace("{" + name + "}", repr(value))
    return text


def explain(tmp_path, text, *arguments, batches=20):
    (tmp_path / "train.py").write_text(text)
    environment = {**os.environ, "PYTHONPATH": str(SOURCES), "HEADRACE_PYTHON": sys.executable}
    command = [find_program(), "explain", "--batches", str(batches), "train.py", *arguments]
    return subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=120, check=False)


def ratio(text):
    found = re.search(r"could make the program ([\d.]+) times as fast", " ".join(text.split()))
    return float(found[1]) if found else 1.0


@pytest.mark.parametrize("numbers", some([{"workers": 1}, {}, {"workers": 1, "context": "spawn"}], 1))
def test_a_program_that_waits_for_its_loader(tmp_path, numbers):
    done = explain(tmp_path, program(TORCH, sample=0.005, step=0.002, **numbers), "--lr", "0.1")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "arguments ['--lr', '0.1'] __main__" in done.stdout
    assert "nothing is to be caught" not in done.stdout
    before, _, after = done.stdout.partition("cleaned up")
    assert before
    assert "explain: torch.utils.data.DataLoader, 20 batches as they come and 20 kept" in " ".join(after.split())
    assert max(map(len, after.splitlines())) <= 80
    assert ratio(after) > 2


def test_a_program_whose_step_is_slow(tmp_path):
    done = explain(tmp_path, program(TORCH, step=0.03))
    assert done.returncode == 0, done.stdout + done.stderr
    assert ratio(done.stdout) < 1.5, done.stdout


def test_a_program_with_a_loader_of_headrace(tmp_path, photos):
    text = f"""
import headrace as hr
with hr.files({str(photos)!r}).decode_image().resize(64).center_crop(64).batch(4).loader() as loader:
    while True:
        for batch in loader:
            assert batch["image"].shape[1:] == (64, 64, 3)
"""
    done = explain(tmp_path, text)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "explain: Headrace's loader, 20 batches" in done.stdout
    assert "loader.stats()" in done.stdout


def test_a_program_that_makes_a_loader_for_each_epoch(tmp_path):
    text = program(TORCH, step=0.001).replace(
        "            for batch in loader:", "            for batch in torch.utils.data.DataLoader(Slow(), 4):"
    )
    done = explain(tmp_path, text)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "20 batches as they come and 20 kept" in " ".join(done.stdout.split())


def test_programs_that_cannot_be_explained(tmp_path):
    done = explain(tmp_path, program(TORCH, epochs=2))
    assert done.returncode == 1
    assert "the program asked its loaders for 20 batches, but 44 are needed" in done.stderr
    assert explain(tmp_path, "print('no loader')").returncode == 1
    failed = explain(tmp_path, "raise ValueError('mine')")
    assert failed.returncode == 1
    assert "ValueError: mine" in failed.stderr
    assert explain(tmp_path, "import sys; sys.exit(7)").returncode == 7
    assert "must be at least 5" in explain(tmp_path, "", batches=4).stderr
    (tmp_path / "train.py").unlink()
    missing = subprocess.run(
        [sys.executable, "-m", "headrace._loader.explain", "train.py"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(SOURCES)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert "there is no program 'train.py'" in missing.stderr


def test_headspace_of_any_loader():
    class Numbers(torch.utils.data.Dataset):
        def __len__(self):
            return 12

        def __getitem__(self, i):
            time.sleep(0.002)
            return torch.tensor(i)

    seen = []
    found = hr.headspace(torch.utils.data.DataLoader(Numbers(), batch_size=3), lambda batch: seen.append(batch.tolist()), 10, cached=2)
    assert seen[:5] == [[0, 1, 2], [3, 4, 5], [6, 7, 8], [9, 10, 11], [0, 1, 2]]
    assert seen[12:15] == [[0, 1, 2], [3, 4, 5], [0, 1, 2]]
    assert found.batches == 10
    assert found.ratio > 2

    assert hr.headspace(iter(range(30)), lambda _: None, 20).batches == 20
    with pytest.raises(hr.HeadraceError, match="ended after 10 batches, and cannot restart"):
        hr.headspace(iter(range(10)), lambda _: None, 20)
    with pytest.raises(ValueError, match="the loader has no batches"):
        hr.headspace([], lambda _: None)
