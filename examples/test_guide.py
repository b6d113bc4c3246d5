"""Runs what the guide shows, as it is there, and compares what it prints with what the guide says it prints.

In a page, a block of Python or YAML with a title is a file of that name; the other Python blocks are one program, from the page's
first to its last. A block of shell commands is run where those files are. A block of text is what the block before it prints, but
for the folder, which is /home/me/project there. In pages of MEASURED numbers may differ, and a line that is only `…` means any
number of lines.
Of a block of text with a title, which says where it was printed, one line has to be the same, as the head of a table is: the
others depend on how busy the machine is.
"""

from __future__ import annotations

import functools
import http.server
import json
import os
import pathlib
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from typing import NamedTuple

import pytest

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent
GUIDE = ROOT / "docs/guide"
ENGINE = ROOT / "python/src/headrace/_bin/headrace"
MARK = "── the next block ──"


class Block(NamedTuple):
    line: int
    language: str
    title: str
    code: str


def blocks(page: pathlib.Path) -> list[Block]:
    text = page.read_text()
    found = re.finditer(r"^```(\w*)[ \t]*(?:title=\"([^\"]+)\")?[^\n]*\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)
    return [Block(text.count("\n", 0, m.start()) + 1, m[1], m[2] or "", m[3]) for m in found]


def alike(want: str, got: str) -> bool:
    """Whether an output is what a page shows, but for numbers."""
    parts = [words(part) for part in re.split(r"^ *…\n", want, flags=re.MULTILINE)]
    text, place = words(got), 0
    for i, part in enumerate(parts):
        found = text.find(part, place)
        if found < 0 or (i == 0 and found > 0):
            return False
        place = found + len(part)
    return not parts[-1] or text.endswith(parts[-1])


def words(text: str) -> str:
    """The text with every number, its unit and the space around it made the same."""
    numbers = re.sub(r"[<>~≈]?[-+]?\d[\d.,]*( ?(ns|µs|ms|s|min|%|[KMG]i?B|B)(?!\w))?", "0", text)
    return "".join(" ".join(line.split()) + "\n" for line in numbers.rstrip().splitlines())


def lines(text: str) -> set[str]:
    """The lines of several words, with numbers made the same."""
    return {line for line in words(text).splitlines() if len(line.split()) > 2}


def program(code: list[Block], recipes: dict[int, str] | None = None) -> str:
    """The blocks of a page that are one program; a mark is printed before each but the first. The first variable of those with a
    recipe, by their lines, must be that pipeline."""
    return f"print({MARK!r})\n".join(block.code + same(block, (recipes or {}).get(block.line)) for block in code)


def same(block: Block, recipe: str | None) -> str:
    if recipe is None:
        return ""
    name = block.code.partition(" = ")[0]
    written = f"open('tab.yaml', 'w').write({recipe!r})\n"
    return f"{written}assert hr.load('tab.yaml').recipe() == {name}.recipe(), 'line {block.line}'\n"


def tabs(page: pathlib.Path) -> dict[int, Block]:
    """Recipes in YAML that are shown as tabs, by the line of the Python that they are."""
    found, text = blocks(page), page.read_text()
    pairs = {}
    for section in re.finditer(r"<!-- tabs -->.*?<!-- /tabs -->", text, re.DOTALL):
        first, last = (text.count("\n", 0, place) for place in section.span())
        inside = {block.language: block for block in found if first < block.line < last}
        pairs[inside["python"].line] = inside["yaml"]
    return pairs


@pytest.fixture(scope="module")
def photographs(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    """The folder that examples/demo/photographs.py makes, of generated images."""
    sys.path.insert(0, str(HERE / "demo"))
    import photographs

    folder = tmp_path_factory.mktemp("photographs")
    photographs.write(folder / "train", {})
    return folder


@pytest.fixture
def desk(photographs: pathlib.Path) -> Iterator[pathlib.Path]:
    """A working directory with data/train, and headrace and python in bin. Its name is short: long lines would be broken."""
    with tempfile.TemporaryDirectory(prefix="guide") as name:
        folder = pathlib.Path(name)
        (folder / "bin").mkdir()
        (folder / "bin/headrace").symlink_to(ENGINE)
        (folder / "bin/python").write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n')
        (folder / "bin/python").chmod(0o755)
        (folder / "bin/python3").symlink_to("python")
        shutil.copytree(photographs, folder / "work/data")
        yield folder / "work"


def run(desk: pathlib.Path, *command: str) -> str:
    environment = {
        **os.environ,
        "HEADRACE_CACHE": str(desk.parent / "cache"),
        "PATH": f"{desk.parent / 'bin'}:{os.environ['PATH']}",
    }
    done = subprocess.run(command, cwd=desk, env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout.replace(str(desk), "/home/me/project")


def check(page: pathlib.Path, shown: Block, printed: str) -> None:
    where = f"{page.relative_to(ROOT)}:{shown.line}"
    if shown.title:
        same = bool(lines(shown.code) & lines(printed))
    else:
        same = alike(shown.code, printed) if page.name in MEASURED else shown.code == printed
    assert same, f"{where}: the page shows\n{shown.code}\nbut this was printed:\n{printed}"


PAGES = [
    "from-pytorch.md",
    "tutorial.md",
    "order-state-memory.md",
    "bench-and-inspect.md",
    "run.md",
    "recipes.md",
    "augmentations.md",
    "detection.md",
    "contrastive.md",
    "your-data.md",
    "tables.md",
    "batches.md",
    "audio.md",
    "video.md",
    "only-the-decoders.md",
    "frameworks.md",
    "parallel.md",
    "live.md",
    "masks.md",
    "own-python.md",
    "skill.md",
    "from-spdl.md",
    "from-video-libraries.md",
    "from-data-libraries.md",
]
MEASURED = {"tutorial.md", "bench-and-inspect.md", "run.md", "recipes.md", "your-data.md"}  # they show rates and sizes


@pytest.mark.parametrize("name", PAGES)
def test_a_page(name: str, desk: pathlib.Path) -> None:
    page = GUIDE / name
    found = blocks(page)
    one = [block for block in found if block.language == "python" and not block.title]
    pairs = tabs(page)
    recipes = {line: block.code for line, block in pairs.items()}
    printed = run(desk, "python", "-c", program(one, recipes)).split(MARK + "\n") if one else []
    output = ""
    for block in found:
        if block in pairs.values():
            continue
        if block.language in ("python", "yaml") and block.title:
            (desk / block.title).write_text(block.code)
        elif block.language == "python":
            output = printed.pop(0)
        elif block.language == "sh":
            output = run(desk, "bash", "-euc", block.code)
        elif block.language in ("text", "yaml", "json"):
            check(page, block, output)


EACH = """
for call in {calls}:
    print(call)
    got = eval(call)
    if isinstance(got, hr.Pipeline):
        with got.loader(epochs=1) as loader:
            next(iter(loader))
    elif hasattr(got, "__next__"):
        next(got)
"""


@pytest.mark.parametrize(("name", "tables"), [("from-video-libraries.md", 5), ("from-data-libraries.md", 4)])
def test_the_counterparts_of_a_page(name: str, tables: int, desk: pathlib.Path) -> None:
    """What its tables put beside calls of other libraries runs, and pipelines give samples."""
    page = GUIDE / name
    for of, shards in (("mds", "mds"), ("litdata", "lit")):  # which their writers have written
        if not (desk / shards).exists():
            shutil.copytree(ROOT / "shard" / of / "testdata/plain", desk / shards)
    calls = re.findall(r"^\| [^|]*\| `((?:hr|tar|hub)\.[^`]*)`", page.read_text(), re.MULTILINE)
    assert len(calls) == len(re.findall(r"^\| ", page.read_text(), re.MULTILINE)) - tables  # their heads
    assert run(desk, "python", "-c", blocks(page)[0].code + EACH.format(calls=calls)).splitlines() == calls


def test_the_go_of_a_page() -> None:
    """A page's blocks of Go are one program, and its blocks of text what that prints."""
    page = GUIDE / "from-spdl-in-go.md"
    found = blocks(page)
    (ROOT / "build").mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=ROOT / "build", prefix="guide") as name:  # in the module, so that it finds the packages
        program = pathlib.Path(name) / "main.go"
        program.write_text("\n".join(block.code for block in found if block.language == "go"))
        assert not subprocess.run(["gofmt", "-d", program], capture_output=True, text=True).stdout
        subprocess.run(["go", "vet", program], cwd=ROOT, check=True)
        done = subprocess.run(["go", "run", program], cwd=ROOT, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    printed = [line.rstrip() for line in done.stdout.splitlines()]
    assert printed == [line for block in found if block.language == "text" for line in block.code.splitlines()]


TWELVE = """
import headrace as hr
paths = [f"data/train/fig/fig-{i:02d}.jpg" for i in range(12)]
with hr.files(paths).shuffle(seed=0).decode_image().resize((8, 8)).batch(4).loader(epochs=3) as loader:
    for epoch in range(3):
        print(*[paths.index(key) for batch in loader for key in batch["key"]])
"""


def test_the_drawing_of_the_order(desk: pathlib.Path) -> None:
    cells = re.findall(r'<text x="([\d.]+)" y="(122|174|226)">(\d+)</text>', (GUIDE / "order.svg").read_text())
    assert len(cells) == 36
    rows = {y: " ".join(n for x, at, n in sorted(cells, key=lambda cell: float(cell[0])) if at == y) for _, y, _ in cells}
    assert run(desk, "python", "-c", TWELVE).splitlines() == [rows[y] for y in ("122", "174", "226")]


def test_the_page_that_opens_the_guide(desk: pathlib.Path) -> None:
    code = {block.language: block.code for block in blocks(ROOT / "docs/README.md")}
    shown = code["python"].replace('batch["key"]', 'batch["key"]; print(len(batch["key"]), batch["image"].shape)')
    assert run(desk, "python", "-c", shown).splitlines() == ["32 (32, 224, 224, 3)"] * 15
    (desk / "train.yaml").write_text(code["yaml"])
    same = code["python"].partition("with ")[0] + 'print(train.recipe() == hr.load("train.yaml").recipe())'
    assert run(desk, "python", "-c", same) == "True\n"


def test_the_readme(desk: pathlib.Path) -> None:
    """Its program trains, its commands run, its message and its statistics are what Headrace prints."""
    found = blocks(ROOT / "README.md")
    (code,) = [block.code for block in found if block.language == "python"]
    message, shown = [block for block in found if block.language == "text"]
    wrong = "try:\n    train.loader(num_workers=8)\nexcept Exception as error:\n    print(error)\n"
    small = "torch.nn.Sequential(torch.nn.AdaptiveAvgPool2d(4), torch.nn.Flatten(), torch.nn.Linear(48, len(loader.classes)))"
    code = code.replace("torchvision.models.resnet18(num_classes=len(loader.classes))", small).replace("10", "2")
    val = desk / "data/val"
    val.symlink_to("train")
    said = run(desk, "python", "-c", f"{code}    print(loader.stats())\n{wrong}")
    val.unlink()
    assert said.count(" of val right\n") == 2
    assert " ".join(message.code.split()).split("WrongType: ")[1] in said
    assert lines(shown.code) & lines(said)

    (recipe,) = [block for block in found if block.language == "yaml"]
    (desk / "train.yaml").write_text(recipe.code)
    (commands,) = [block.code for block in found if block.language == "sh" and "headrace inspect" in block.code]
    (desk / "shards").mkdir()
    run(desk, "bash", "-euc", commands.replace("bench train.yaml", "bench train.yaml --seconds 1"))


def test_the_figures_of_the_readme() -> None:
    """They are what bench/results has, rounded."""
    text = (ROOT / "README.md").read_text()
    rates, memory = (json.loads((ROOT / f"bench/results/{name}.json").read_text()) for name in ("rates", "memory"))

    def middle(report: dict, work: str, label: str, what: str) -> float:
        return statistics.median(run[what] for run in report["runs"] if (run["work"], run["label"]) == (work, label))

    assert f"Measured on {rates['date'][:10]}" in text
    others = ("torch, torchvision", "torch, Pillow")
    rate = [middle(rates, "train", label, "images_per_s") for label in ("headrace", *others)]
    assert [float(x) for x in re.findall(r"([\d.]+)×", text)[:2]] == [int(10 * rate[0] / other) / 10 for other in rate[1:]]
    first = [middle(rates, "train", label, "first_batch_s") for label in ("headrace", *others)]
    said = re.search(r"First batch in ([\d.]+) s\*\* instead of (\d+)(?: to (\d+))?,", text)
    assert said
    assert (said[1], said[2], said[3] or said[2]) == (f"{first[0]:.1f}", f"{first[2]:.0f}", f"{first[1]:.0f}")
    assert f"**{middle(memory, 'val', 'headrace', 'peak_pss_mb'):.0f} MB of memory** instead of" in text
    assert f"instead of {middle(memory, 'val', others[0], 'peak_pss_mb'):.0f} for" in text


def test_the_commands_that_the_command_line_lists(desk: pathlib.Path) -> None:
    (recipe,) = [block for block in blocks(ROOT / "README.md") if block.language == "yaml"]
    (desk / "recipe.yaml").write_text(recipe.code)
    commands = re.findall(r"^\|.*\| `(headrace .*)` \|$", (GUIDE / "cli.md").read_text(), re.MULTILINE)
    assert len(commands) >= 8
    (desk / "train.py").write_text(
        "import headrace as hr\nfor _ in range(9):\n    for batch in hr.load('recipe.yaml').loader(epochs=1):\n        pass\n"
    )
    (desk / "films").mkdir()
    pattern = ["ffmpeg", "-v", "error", "-f", "lavfi", "-i", "testsrc2=s=64x48:r=25:d=1", "-c:v", "mpeg4"]
    subprocess.run([*pattern, desk / "films/1.mkv"], check=True)
    state = "import json, headrace as hr; json.dump(hr.load('recipe.yaml').loader().state_dict(), open('step.json', 'w'))"
    run(desk, sys.executable, "-c", state)
    (desk / "bucket").mkdir()
    (desk / "bucket/train").write_bytes(b"an object")
    handler = functools.partial(http.server.SimpleHTTPRequestHandler, directory=str(desk))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as store:
        threading.Thread(target=store.serve_forever).start()
        bucket = f"export AWS_NO_SIGN_REQUEST=yes AWS_ENDPOINT_URL=http://127.0.0.1:{store.server_port}\n"
        try:
            for command in commands:
                assert run(desk, "bash", "-euc", bucket + command.replace("--seconds 10", "--seconds 1")), command
        finally:
            store.shutdown()


@pytest.mark.parametrize(
    ("want", "got", "same"),
    [
        ("a 1 b\n", "a 22.5 b\n", True),
        ("a 1 b\n", "a  22.5   b \n", True),
        ("p50 3.8 ms\n", "p50 852 µs\n", True),
        ("<1 % >99 %\n", "7 % 8 %\n", True),
        ("12 samples\n", "7 sample\n", False),
        ("a\n", "a\nb\n", False),
        ("a\nb\n", "a\n", False),
        ("a\n…\nc\n", "a\nb\nb\nc\n", True),
        ("a\n…\nc\n", "a\nc\n", True),
        ("a\n…\n", "a\nb\n", True),
        ("…\nc\n", "a\nb\nc\n", True),
        ("…\nb\n", "a\nb\nc\n", False),
        ("a\n…\nc\n", "c\nb\na\n", False),
    ],
)
def test_alike(want: str, got: str, same: bool) -> None:
    assert alike(want, got) == same
