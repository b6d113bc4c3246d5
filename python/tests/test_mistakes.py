"""What people type out of habit: the error says what is wrong, where, why, and what to write.

Each mistake in mistakes.txt is a line of a program of its own. Its error must be a HeadraceError, end in that line but for
one of this package, and have the words that follow: what is wrong, why, and what to write instead.
"""

import contextlib
import copy
import linecache
import os
import pickle
import re
import subprocess
import sys
import traceback
from pathlib import Path

import pytest

import headrace as hr
from own import images

HERE = os.path.dirname(os.path.abspath(hr.__file__))


MISTAKES = (Path(__file__).parent / "mistakes.txt").read_text().splitlines()
ROWS = [line.split(" | ") for line in MISTAKES if line and not line.startswith("#")]


@pytest.mark.parametrize(("code", "what", "why", "remedy"), ROWS, ids=[row[0] for row in ROWS])
def test_a_mistake_is_told_with_its_remedy(code, what, why, remedy, pictures, tmp_path, monkeypatch):
    for i, picture in enumerate(sorted(pictures.rglob("*.png"))[:2]):
        (tmp_path / f"{i}.JPEG").symlink_to(picture)
    (tmp_path / "train.yaml").write_text("headrace: 1\nsteps: []\n")
    monkeypatch.chdir(tmp_path)
    name, source = "<mistake>", f"import torch\n\n{code}\n"
    linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)
    pipeline = images(pictures).resize((8, 8))
    with pytest.raises(hr.HeadraceError) as caught:
        exec(compile(source, name, "exec"), {"hr": hr, "p": pipeline})
    text = str(caught.value)
    for said in (what, why, remedy):
        assert said in text
    frames = traceback.extract_tb(caught.value.__traceback__)
    where = [frame for frame in frames if not frame.filename.startswith(HERE) and "torch" not in frame.filename]
    assert where[-1].line == code
    assert len(frames) - frames.index(where[-1]) <= 2 or "torch" in code  # at most one line of this package after it


def test_a_mistake_in_a_step_shows_the_line_of_the_step(pictures):
    pipeline = images(pictures).resize((8, 8))
    pipeline = pipeline.layout("CHW")
    with pytest.raises(hr.RecipeError) as caught:
        pipeline.batch(4).loader()
    first, where, code, carets = str(caught.value).splitlines()
    assert first.startswith('recipe: step "layout" (#5): layout is "CHW"')
    assert re.fullmatch(rf"    {re.escape(__file__)}:\d+", where)
    assert code == '      pipeline = pipeline.layout("CHW")'
    assert code[carets.index("^") : len(carets)] == 'layout("CHW")'


def test_carets_are_below_the_step_of_a_chain(pictures):
    with pytest.raises(hr.RecipeError) as caught:
        images(pictures).layout("NCHW").layout("é").resize((8, 8)).batch(4).loader()
    code, carets = str(caught.value).splitlines()[2:4]
    if sys.version_info >= (3, 11):  # which says where a call ends
        assert code[carets.index("^") : len(carets)] == 'layout("é")'


BROKEN = """
import headrace as hr
hr.files("x").decode_image().layout("CHW").batch(4).loader()
"""


@pytest.mark.parametrize(("terminal", "environment", "coloured"), [(True, {}, True), (True, {"NO_COLOR": "1"}, False), (False, {}, False)])
def test_colours_are_for_terminals(tmp_path, terminal, environment, coloured):
    (tmp_path / "train.py").write_text(BROKEN)
    ours, theirs = os.openpty() if terminal else os.pipe()
    inherited = {name: value for name, value in os.environ.items() if name != "NO_COLOR"}
    subprocess.run(
        [sys.executable, "train.py"], cwd=tmp_path, stderr=theirs, env={**inherited, "TERM": "xterm", "PYTHON_COLORS": "0", **environment}
    )
    os.close(theirs)
    said = b""
    with contextlib.suppress(OSError):  # which a terminal without writers gives
        while more := os.read(ours, 1 << 16):
            said += more
    os.close(ours)
    assert b"train.py:3" in said
    assert b"^^^^^" in said
    assert (b"\x1b[" in said) == coloured, said


def test_a_framework_that_is_not_installed_is_named(pictures, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "jax", None)
    with pytest.raises(hr.NotInstalled, match=r"\.to\('jax'\): jax is not installed for .*: pip install jax"):
        images(pictures).resize((8, 8)).batch(4).to("jax").loader()


def test_batches_are_dicts_that_show_types(pictures):
    with images(pictures).resize((8, 8)).batch(4).loader(epochs=1) as loader:
        batch = next(iter(loader))
    assert type(batch) is hr.Batch
    assert repr(batch).startswith("Batch(image=uint8 [4, 8, 8, 3], label=int64 [4], key=<4 texts: ")
    assert batch.get("images") is None
    assert "images" not in batch
    assert type(batch.copy()) is dict


def test_every_transform_of_torchvision_is_known():
    """As a step, or with what to write instead: nobody is sent to look it up."""
    v2 = pytest.importorskip("torchvision.transforms.v2")
    functional = pytest.importorskip("torchvision.transforms.v2.functional")
    names = [name for name in dir(v2) if isinstance(getattr(v2, name), type) and issubclass(getattr(v2, name), v2.Transform)]
    kernels = ("_bounding_boxes", "_image", "_keypoints", "_mask", "_video", "_tensor")
    looks = ("get_", "is_", "register_")
    names += [n for n in dir(functional) if n[0].islower() and not n.endswith(kernels) and not n.startswith(looks)]
    assert len(names) > 90
    for name in names:
        if not hasattr(hr.files("data"), name):
            with pytest.raises(AttributeError) as caught:
                getattr(hr.files("data"), name)
            assert "lists them" not in str(caught.value), name


def test_what_a_dataloader_has_is_known_of_a_loader():
    """And is absent as any attribute is: for hasattr, defaults, copies and pickles."""
    data = pytest.importorskip("torch.utils.data")
    names = [name for name in dir(data.DataLoader([1])) if not name.startswith(("_", "check_"))]
    assert {"dataset", "sampler", "batch_size", "num_workers", "collate_fn"} <= set(names)
    with hr.source([{"x": 1}] * 4).batch(2).loader(epochs=1) as loader:
        for name in names:
            assert getattr(loader, name, None) is None
            with pytest.raises(AttributeError, match=f"^a loader has no attribute {name}: ") as caught:
                getattr(loader, name)
            assert "lists them" not in str(caught.value), name
        assert not hasattr(loader, "_iterator")
        assert not hasattr(loader, "__pl_saved_args")
        for send in (copy.copy, copy.deepcopy, pickle.dumps):
            with pytest.raises(hr.WrongType, match="cannot be pickled"):
                send(loader)
    with pytest.raises(AttributeError, match=r"^classes$"):  # of one that was never opened: not that there is no such name
        hr.Loader.__new__(hr.Loader).classes  # noqa: B018
