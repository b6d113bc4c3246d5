"""What make check asks for, and how the tests say how far they are."""

from __future__ import annotations

import os
import pathlib
import shutil
import subprocess

import pytest

ROOT = pathlib.Path(__file__).parents[2]
APT = "#!/bin/sh\ntouch {mark}\n"
TOOLS = (
    "awk bash basename cat cmp cut date dirname env find git gcc go grep "
    "id ldconfig mktemp paste pkg-config python3 readlink rm sed sha256sum sort head tr wc"
)


@pytest.fixture
def machine(tmp_path: pathlib.Path) -> dict[str, str]:
    """The environment of a machine that has apt-get and what TOOLS names; its home is empty."""
    bin = tmp_path / "bin"
    bin.mkdir()
    for name in TOOLS.split():
        if found := shutil.which(name):
            (bin / name).symlink_to(found)
    for name in ("apt-get", "sudo", "pip", "uv"):
        (bin / name).write_text(APT.format(mark=tmp_path / "installed"))
        (bin / name).chmod(0o755)
    home = tmp_path / "home"
    home.mkdir()
    gone = ("XDG_CACHE_HOME", "PROGRESS", "TOLD", "HEADRACE_PYTHON")
    kept = {name: value for name, value in os.environ.items() if name not in gone}
    return kept | {"PATH": str(bin), "HOME": str(home), "GOCACHE": str(tmp_path / "cache")}


def test_the_check_names_all_that_is_missing_in_one_line(machine: dict[str, str], tmp_path: pathlib.Path) -> None:
    os.remove(tmp_path / "bin/gcc")
    done = subprocess.run(["scripts/install.sh", "missing"], cwd=ROOT, env=machine, capture_output=True, text=True)
    assert done.returncode == 1
    assert done.stdout == ""
    line = done.stderr.rstrip("\n")
    assert "\n" not in line
    for package in ("gcc", "libspng-dev", "ffmpeg", "libarchive-tools", "scripts/requirements.txt", "make install"):
        assert package in line
    assert not (tmp_path / "installed").exists()
    assert not (tmp_path / "home/.cache").exists()


def test_the_check_is_silent_where_nothing_is_missing() -> None:
    done = subprocess.run(["scripts/install.sh", "missing"], cwd=ROOT, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "" or done.stdout.startswith("going on without ")


def test_make_check_installs_nothing() -> None:
    done = subprocess.run(["make", "-n", "check"], cwd=ROOT, capture_output=True, text=True, check=True)
    assert [line for line in done.stdout.splitlines() if "install" in line] == ["scripts/install.sh missing"]


PARTS = """
source scripts/common.sh
beside() { step three true; }
parts() {
    step one true
    attempt two true
    (%s) >/dev/null
    all_passed
}
with_progress parts
"""


def run(script: str) -> subprocess.CompletedProcess[str]:
    env = {name: value for name, value in os.environ.items() if name not in ("PROGRESS", "TOLD")}
    return subprocess.run(["bash", "-c", script], cwd=ROOT, env=env, capture_output=True, text=True)


def test_parts_say_how_far_they_are() -> None:
    done = run("exec 3>&1\n" + PARTS.replace("(%s) >/dev/null", "if planning; then beside; else TOLD=3 beside >/dev/null; fi"))
    assert done.returncode == 0, done.stderr
    ends = [line for line in done.stdout.splitlines() if ": ok, " in line]
    assert [line.split(":")[0] for line in ends] == ["── one", "── two", "── three"]
    assert [line[line.index("(") :].split(" after ")[0] for line in ends] == [f"({n} of 3 parts" for n in (1, 2, 3)]
    assert done.stdout.splitlines()[-1].startswith("3 parts passed in ")


def test_a_part_that_was_not_planned_is_an_error() -> None:
    done = run(PARTS % "planning || beside")
    assert done.returncode == 1
    assert "2 parts were planned, and 3 ran" in done.stderr


def test_a_part_that_fails_ends_the_run() -> None:
    done = run(PARTS.replace("step one true", "step one false") % "beside")
    assert done.returncode == 1
    assert "── one: FAILED" in done.stdout
    assert "two" not in done.stdout


def test_every_tier_can_be_counted() -> None:
    for tier in ("", "check", "lint", "go", "python", "rest"):
        done = subprocess.run(
            ["scripts/test.sh", *tier.split()],
            cwd=ROOT,
            env=os.environ | {"HEADRACE_PLAN": "1"},
            capture_output=True,
            text=True,
            check=True,
        )
        names = done.stdout.splitlines()
        assert names
        assert len(set(names)) == len(names), tier
        assert not [name for name in names if name.startswith("──")]
