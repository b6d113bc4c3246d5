"""What a recipe of somebody else may do before it runs, and to which files."""

from __future__ import annotations

import copy
import io
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import warnings

import pytest

import headrace as hr
from conftest import in_child
from headrace._client.program import find_program

RECIPE = """headrace: 1
steps:
  - files: {root: ROOT, pattern: "**/*.jpg"}
  - decode_image
  - center_crop: {size: 8}
  - map: {function: "marking_module:same", fields: [image]}
  - filter: {function: "marking_module:some", fields: [key]}
  - flat_map: {function: "marking_module:twice"}
  - batch: {size: 2, collate: {function: "marking_module:put"}}
"""


def test_looking_at_a_recipe_imports_nothing(own_photos, tmp_path, monkeypatch):
    mark = tmp_path / "mark"
    (tmp_path / "marking_module.py").write_text(f"open({str(mark)!r}, 'w').close()\n\ndef same(image):\n    return image\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    file = tmp_path / "recipe.yaml"
    file.write_text(RECIPE.replace("ROOT", str(own_photos)))
    pipeline = hr.load(file)
    assert "marking_module:same" in repr(pipeline)
    assert "marking_module:same" in pipeline._repr_html_()
    assert pipeline == copy.deepcopy(pipeline)
    for format in ("yaml", "json"):
        assert "marking_module:same" in pipeline.recipe(format)
    assert not mark.exists()
    assert "marking_module" not in sys.modules


def test_a_recipe_writes_to_its_own_dead_letters_only(own_photos, tmp_path, monkeypatch):
    (own_photos / "ant" / "002.jpg").write_bytes(b"nothing")
    monkeypatch.chdir(tmp_path)
    pipeline = hr.files(own_photos).decode_image().resize(16).center_crop(16).batch(4)
    text = pipeline.recipe().rstrip() + "\nloader: {epochs: 1, on_error: skip, dead_letters: NAME}\n"
    precious = tmp_path / "precious.jsonl"
    precious.write_text("precious\n")
    (tmp_path / "link.jsonl").symlink_to(precious)
    recipe = tmp_path / "recipe.yaml"
    for name in ("precious.jsonl", "link.jsonl", "new.txt", str(precious)):
        recipe.write_text(text.replace("NAME", name))
        with pytest.raises(hr.RecipeError, match="a recipe names"):
            hr.load(recipe).loader()
    recipe.write_text(text.replace("NAME", "../outside.jsonl"))
    with pytest.raises(hr.RecipeError, match=r"recipe.yaml:\d+:\d+: loader: dead_letters is .*: must be a path without \.\."):
        hr.load(recipe)
    assert precious.read_text() == "precious\n"
    assert not (tmp_path / "new.txt").exists()

    # the run's own, of which a second part is resumed
    recipe.write_text(text.replace("NAME", "bad.jsonl"))
    with hr.load(recipe).loader(epochs=2) as loader:
        list(loader)
        state = loader.state_dict()
    assert (tmp_path / "bad.jsonl").read_text().count("\n") >= 1
    with hr.load(recipe).loader(epochs=2) as loader:
        before = (tmp_path / "bad.jsonl").read_text().count("\n")
        loader.load_state_dict(state)
        list(loader)
    assert (tmp_path / "bad.jsonl").read_text().count("\n") >= before + 1  # an engine runs ahead of the loop

    # and what the program says itself may be any file
    with hr.load(recipe).loader(dead_letters=precious) as loader:
        list(loader)
    lines = precious.read_text().splitlines()
    assert lines[0] == "precious"
    assert len(lines) == 2


ANN, BOB, CAT = 48001, 48002, 48003  # whom no file of the machine belongs to


@pytest.fixture
def everybodys():
    """A folder like /tmp: everybody may make files, and remove their own."""
    if os.geteuid() != 0:
        pytest.skip("only root can give files away")
    folder = tempfile.mkdtemp()
    os.chmod(folder, 0o1777)
    yield folder
    shutil.rmtree(folder)


def test_an_index_of_somebody_else(everybodys, monkeypatch):
    monkeypatch.chdir(everybodys)
    monkeypatch.delenv("HEADRACE_CACHE", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", f"{everybodys}/cache")
    with tarfile.open("a.tar", "w") as tar:
        for i, text in enumerate((b"right", b"other")):
            member = tarfile.TarInfo(f"{i}.txt")
            member.size = len(text)
            tar.addfile(member, io.BytesIO(text))
    os.chown("a.tar", ANN, ANN)
    subprocess.run([find_program(), "index", "--beside", "a.tar"], check=True, stdout=subprocess.DEVNULL)
    for name in ("_headrace", f"_headrace/{next(n for n in os.listdir('_headrace') if n.endswith('.hri'))}"):
        os.chown(name, BOB, BOB)
    os.mkdir("cache")
    os.chown("cache", CAT, CAT)

    def read():
        os.setresuid(CAT, CAT, CAT)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            for _ in range(2):
                with hr.read("a.tar").loader(epochs=1) as loader:
                    assert [sample["txt"] for sample in loader] == ["right", "other"]
        said = [str(w.message) for w in caught]
        assert len(said) == 1, said
        assert f"could have been written by user {BOB}, who could not have written the data: it is not used; the index is now in" in said[0]
        assert f"{everybodys}/cache/headrace/index/" in said[0]

    in_child(read)
