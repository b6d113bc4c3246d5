"""Where workers import from: where the program does, in its order, and nowhere else."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap
import zipapp
from pathlib import Path

import pytest

from conftest import environment_of
from headrace._client.program import find_program

TRAPS = ["json", "numpy", "headrace", "sitecustomize", "usercustomize", "encodings", "runpy", "mmap", "readline"]
PROGRAM = """
import json, os, sys
sys.path[1:1] = [entry for entry in sys.argv[2].split(os.pathsep) if entry and entry not in sys.path]
import headrace as hr

def look(sample):
    import json, os, sys
    flags = {name: getattr(sys.flags, name) for name in dir(sys.flags) if name in NAMES}
    return {"said": json.dumps([sys.path, flags, os.environ.get("PYTHONPATH"), os.environ.get("SEEN", "")])}

NAMES = ["isolated", "ignore_environment", "no_user_site", "safe_path", "optimize", "dev_mode", "utf8_mode"]
os.chdir(sys.argv[4] if len(sys.argv) > 4 else ".")
with hr.files(sys.argv[1]).map(look, where=sys.argv[3]).batch(2, drop_last=False).loader(epochs=1, workers=2) as loader:
    said = {text for batch in loader for text in batch["said"]}
flags = {name: getattr(sys.flags, name) for name in dir(sys.flags) if name in NAMES}
print(json.dumps([[json.loads(text) for text in said], [sys.path, flags, os.environ.get("PYTHONPATH"), ""]]))
"""


@pytest.fixture
def trapped(tmp_path, pictures):
    """A data folder in which modules are that tell when they are imported."""
    folder = tmp_path / "data"
    folder.mkdir()
    for name in TRAPS:
        (folder / f"{name}.py").write_text(f"open({str(tmp_path / 'sprung')!r}, 'a').write('{name} ')\nraise ImportError('trap')\n")
    yield folder
    sprung = tmp_path / "sprung"
    assert not sprung.exists(), sprung.read_text()


def run(folder: Path, program: list[str], flags: list[str], *arguments: object, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *flags, *program, *map(str, arguments)],
        cwd=folder,
        env=environment_of(**environment),
        capture_output=True,
        text=True,
        timeout=60,
    )


def recipe(folder: Path, pictures: Path, function: str, said: object = "text") -> None:
    files = {"root": str(pictures), "pattern": "**/*.png"}
    steps = [{"files": files}, {"map": {"function": function, "gives": {"said": said}}}, {"batch": {"size": 2}}]
    (folder / "r.yaml").write_text(json.dumps({"headrace": 1, "steps": steps}))


SAFE = ["-P"] if sys.version_info >= (3, 11) else ["-I"]


@pytest.mark.parametrize(
    ("flags", "where", "environment"),
    [
        (["-I"], "process", {}),
        ([*SAFE, "-s", "-O"], "process", {}),
        (["-E"], "process", {}),
        ([], "process", {"PYTHONSAFEPATH": "1"}),
        ([], "process", {"PYTHONINSPECT": ""}),
        (["-X", "dev"], "thread", {}),
    ],
)
def test_workers_import_from_where_the_program_does(tmp_path, trapped, pictures, flags, where, environment):
    script = tmp_path / "program" / "train.py"
    script.parent.mkdir()
    script.write_text(PROGRAM)
    done = run(trapped, [str(script)], flags, pictures, environment_of()["PYTHONPATH"], where, **environment)
    assert done.returncode == 0, done.stderr
    seen, want = json.loads(done.stdout)
    assert seen == [want]
    assert str(trapped) not in want[0]


def test_a_module_of_the_program_hides_one_of_the_current_folder(tmp_path, trapped, pictures):
    """The folder of the script comes first, as in the program, and functions are found there."""
    script = tmp_path / "program" / "train.py"
    script.parent.mkdir()
    (script.parent / "mine.py").write_text("def look(sample):\n    return {'said': 'mine'}\n")
    (trapped / "mine.py").write_text((trapped / "json.py").read_text())
    script.write_text(
        textwrap.dedent("""
        import sys
        import headrace as hr, mine
        with hr.files(sys.argv[1]).map(mine.look).batch(2, drop_last=False).loader(epochs=1) as loader:
            print({text for batch in loader for text in batch["said"]})
        """)
    )
    done = run(trapped, [str(script)], [], pictures)
    assert done.stdout == "{'mine'}\n", done.stderr


def test_site_runs_in_workers_as_in_the_program(tmp_path, trapped, pictures):
    """`sitecustomize` comes from PYTHONPATH, and neither from the script's folder nor from the current one."""
    script = tmp_path / "program" / "train.py"
    script.parent.mkdir()
    script.write_text(PROGRAM)
    (script.parent / "sitecustomize.py").write_text((trapped / "json.py").read_text())
    path = tmp_path / "path"
    path.mkdir()
    (path / "sitecustomize.py").write_text("import os; os.environ['SEEN'] = os.environ.get('SEEN', '') + 'x'")
    python_path = f"{path}{os.pathsep}{environment_of()['PYTHONPATH']}"
    done = run(trapped, [str(script)], [], pictures, "", "process", PYTHONPATH=python_path)
    assert done.returncode == 0, done.stderr
    (seen,), want = json.loads(done.stdout)
    assert seen == [*want[:3], "xx"]  # the worker's environment is the program's, in which it has run once


@pytest.mark.parametrize(("begun", "path"), [("script", "{0}:{1}"), ("module", ":{1}"), ("archive", "{1}::"), ("script", ".:{1}:lib")])
def test_a_program_that_goes_to_a_data_folder(tmp_path, trapped, pictures, begun, path):
    """What was the current folder when the program began stays so for its workers, in `PYTHONPATH` too."""
    folder = tmp_path / "program"
    (folder / "lib").mkdir(parents=True)
    (folder / ("__main__.py" if begun == "archive" else "train.py")).write_text(PROGRAM)
    (trapped / "lib").mkdir()
    (trapped / "lib" / "sitecustomize.py").write_text((trapped / "json.py").read_text())
    program = {"script": ["train.py"], "module": ["-m", "train"], "archive": [str(tmp_path / "train.pyz")]}[begun]
    if begun == "archive":
        zipapp.create_archive(folder, program[0])
    python_path = path.format(tmp_path / "none", environment_of()["PYTHONPATH"])
    done = run(folder, program, [], pictures, "", "process", trapped, PYTHONPATH=python_path)
    assert done.returncode == 0, done.stderr
    (seen,), want = json.loads(done.stdout)
    assert seen[:2] == want[:2]
    assert str(trapped) not in seen[0]


@pytest.mark.parametrize(("command", "path"), [(["run"], ":{}"), (["inspect", "--samples", "1"], "::{}::")])
def test_empty_entries_of_the_path_are_no_folder(tmp_path, trapped, pictures, command, path):
    """They are left behind by `PYTHONPATH=$PYTHONPATH:/x`, and Python would import from the current folder before all else."""
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "own_steps.py").write_text("import json, numpy\ndef look(sample):\n    return {'said': json.dumps('own')}\n")
    (trapped / "own_steps.py").write_text((trapped / "json.py").read_text())
    recipe(trapped, pictures, "own_steps:look")
    for folder in (trapped, tmp_path):  # as the current one, and as that of the recipe alone
        python_path = path.format(f"{tmp_path / 'own'}{os.pathsep}{environment_of()['PYTHONPATH']}")
        done = command_line(folder, [command[0], str(trapped / "r.yaml"), *command[1:]], PYTHONPATH=python_path)
        assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(("missing", "said"), [("headrace", "text"), ("numpy", "text"), ("numpy", {"dtype": "int8", "shape": [2]})])
def test_what_workers_lack_does_not_come_from_the_current_folder(tmp_path, trapped, pictures, missing, said):
    python = tmp_path / "python"
    python.write_text(f'#!/bin/sh\nexec {sys.executable} -S "$@"\n')  # without site-packages
    python.chmod(0o755)
    recipe(trapped, pictures, "operator:truth", said)
    python_path = "" if missing == "headrace" else environment_of()["PYTHONPATH"]
    done = command_line(trapped, ["run", "r.yaml"], HEADRACE_PYTHON=str(python), PYTHONPATH=python_path)
    assert done.returncode != 0
    assert f"No module named '{missing}'" in done.stderr


def command_line(folder: Path, arguments: list[str], **environment: str) -> subprocess.CompletedProcess[str]:
    environment = environment_of(**{"HEADRACE_PYTHON": sys.executable, **environment})
    return subprocess.run([find_program(), *arguments], cwd=folder, env=environment, capture_output=True, text=True, timeout=60)


@pytest.mark.parametrize(("safe", "found"), [("", True), ("1", sys.version_info < (3, 11))])
def test_functions_of_a_recipe(trapped, pictures, safe, found):
    """The current folder is after everything else, for functions that are found nowhere before."""
    (trapped / "own_steps.py").write_text("import json, numpy\ndef look(sample):\n    return {'said': json.dumps('own')}\n")
    recipe(trapped, pictures, "own_steps:look")
    done = command_line(trapped, ["run", "r.yaml"], PYTHONSAFEPATH=safe)
    if found:
        assert done.returncode == 0, done.stderr
    else:
        assert done.returncode != 0
        assert "No module named 'own_steps'" in done.stderr


def test_no_python_of_the_current_folder(trapped, pictures):
    """An empty entry of PATH is the current folder, from which no program is started."""
    (trapped / "python3").write_text(f"#!/bin/sh\necho python3 >> {trapped.parent}/sprung\n")
    (trapped / "python3").chmod(0o755)
    recipe(trapped, pictures, "operator:truth")
    environment = {name: value for name, value in environment_of(PATH=":.").items() if name != "HEADRACE_PYTHON"}
    done = subprocess.run([find_program(), "run", "r.yaml"], cwd=trapped, env=environment, capture_output=True, text=True, timeout=60)
    assert done.returncode != 0
    assert "python3" in done.stderr
