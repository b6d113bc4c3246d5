"""What a recipe of somebody else may do before it runs, and to which files."""

from __future__ import annotations

import copy
import sys

import pytest

import headrace as hr

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
