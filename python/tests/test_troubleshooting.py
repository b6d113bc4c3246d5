"""The page on troubleshooting shows messages as they are: each is provoked, and compared with the page.

Every section of docs/guide/troubleshooting.md has a function in troubles.py, or a command line here, that runs into its message; and
each of these has its section. Numbers and absolute paths may differ, words may not.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import headrace as hr
from conftest import ROOT, SOURCES, make_photos
from troubles import TROUBLES, said

PAGE = ROOT / "docs/guide/troubleshooting.md"
ENGINE = SOURCES / "headrace/_bin/headrace"
RECIPE = """\
headrace: 1
vars: {root: data/train, size: 64}
steps:
  - files: {pattern: "${root}", label: parent}
  - decode_image
  - resize: {size: "${size}"}
  - center_crop: {size: 48}
  - batch: {size: 4}
"""

# What people type, with RECIPE in recipe.yaml.
COMMANDS = {
    "Too little address space": "ulimit -v 1000000; headrace version",
    "A key or an operation that does not exist": "sed -i 's/resize/resise/; s/{size: 4}/{sise: 4}/' recipe.yaml; headrace run recipe.yaml",
    "A value of another kind": "sed -i 's/48/small/' recipe.yaml; headrace run recipe.yaml",
    "Invalid YAML": "echo '  - {batch' >> recipe.yaml; headrace run recipe.yaml",
    "An undeclared variable": "headrace run recipe.yaml --set rot=data/val",
    "A variable without a value": "sed -i 's/root: data.train/root: null/' recipe.yaml; headrace run recipe.yaml",
    "Another run has written there": """
        headrace run recipe.yaml --epochs 1 --out npy:out 2>/dev/null
        sed -i s/48/32/ recipe.yaml
        headrace run recipe.yaml --epochs 1 --out npy:out""",
    "An image in a format that is not written": "headrace preview recipe.yaml -o sheet.tiff",
    "A flag that does not exist": "headrace run recipe.yaml --worker 2",
}


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working directory: with data/train, a recipe, and headrace in bin, where other users may go too."""
    for folder in (tmp_path, *tmp_path.parents[:-1]):
        if folder.stat().st_uid == os.getuid():
            folder.chmod(folder.stat().st_mode | 0o755)
    make_photos(tmp_path / "data/train", 24)
    (tmp_path / "recipe.yaml").write_text(RECIPE)
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/headrace").symlink_to(ENGINE)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def provoked(title: str, desk: Path) -> str:
    """The message."""
    if title in COMMANDS:
        return said_by_command(title, desk)
    return said_apart(title) if TROUBLES[title].apart else said(title)


def said_apart(title: str) -> str:
    """What a program of its own meets."""
    environment = {**os.environ, "PYTHONPATH": f"{SOURCES}:{Path(__file__).parent}"}
    command = [sys.executable, Path(__file__).with_name("troubles.py"), title]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300)
    return done.stdout.strip() or done.stderr


def said_by_command(title: str, desk: Path) -> str:
    environment = {**os.environ, "PATH": f"{desk / 'bin'}:{os.environ['PATH']}"}
    done = subprocess.run(["bash", "-c", COMMANDS[title]], env=environment, capture_output=True, text=True, timeout=60)
    return done.stderr.strip()


def sections() -> dict[str, list[str]]:
    """The messages of the page by the titles above them."""
    found: dict[str, list[str]] = {}
    for part in re.split(r"^### ", PAGE.read_text(), flags=re.MULTILINE)[1:]:
        title, _, body = part.partition("\n")
        found[title] = re.findall(r"^```text\n(.*?)\n```$", body, flags=re.DOTALL | re.MULTILINE)
    return found


def words(text: str) -> str:
    """The text with numbers and absolute paths made the same."""
    text = re.sub(r"(?<![\w.])/(?:[\w.+-]+/)*[\w.+-]+", "/path", text)
    return re.sub(r"0x[0-9a-f]+|\d[\d,.]*(?=\D|$)", "0", text)


def alike(shown: str, got: str) -> bool:
    """Whether a message is what the page shows; `…` is there for anything."""
    pattern = ".*?".join(map(re.escape, words(shown).split("…")))
    return re.fullmatch(pattern, words(got), flags=re.DOTALL) is not None


def test_every_section_has_its_trouble() -> None:
    assert sorted(sections()) == sorted([*TROUBLES, *COMMANDS])
    assert all(len(messages) == 1 for messages in sections().values())


def test_every_error_is_on_the_page() -> None:
    shown = "\n".join(message for messages in sections().values() for message in messages)
    for name in hr.errors.__all__:
        if name != "HeadraceError":  # the base of all
            assert f"{name}: " in shown, f"docs/guide/troubleshooting.md shows no {name}"


@pytest.mark.parametrize("title", [*TROUBLES, *COMMANDS])
@pytest.mark.timeout(300)
def test_a_message(title: str, desk: Path) -> None:
    (shown,) = sections()[title]
    got = re.sub(r"\n {4}\S+troubles\.py:\d+\n {6}.*(\n +\^+)?", "", provoked(title, desk))  # the line that added a step
    assert alike(shown, got), f"{PAGE.name} shows under {title!r}\n{shown}\nbut it is\n{got}"


@pytest.mark.parametrize(
    ("shown", "got", "same"),
    [
        ("a 1 b", "a 22,500 b", True),
        ('in "/home/me/data"', 'in "/tmp/x-1/data"', True),
        ("data/train/a.jpg", "data/val/a.jpg", False),
        ("a … c", "a b\nb c", True),
        ("a …", "b", False),
        ("version 0.1.0", "version 1.2", True),
        ("a (b) [c]", "a (b) [c]", True),
        ("a", "a b", False),
    ],
)
def test_alike(shown: str, got: str, same: bool) -> None:
    assert alike(shown, got) == same
