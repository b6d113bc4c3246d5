"""The command that comes with the package is the engine's program, not another one that starts it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import headrace as hr
from conftest import SOURCES

COMMAND = [sys.executable, "-c", "from headrace._client.command import main; main()"]


def environment(**more: str) -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(SOURCES), **more}


@pytest.mark.parametrize("command", [COMMAND, [sys.executable, "-m", "headrace"]])
def test_it_is_the_program(command):
    done = subprocess.run([*command, "version"], env=environment(), capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith(f"headrace {hr.__version__} (")


def test_it_ends_as_the_program_ends(tmp_path):
    program = tmp_path / "engine"
    program.write_text('#!/bin/sh\necho "$$ $*"\nexit 7\n')
    program.chmod(0o755)
    child = subprocess.Popen(
        [*COMMAND, "run", "two words"], env=environment(HEADRACE_ENGINE=str(program)), stdout=subprocess.PIPE, text=True
    )
    out, _ = child.communicate()
    assert (child.returncode, out) == (7, f"{child.pid} run two words\n"), "the same process, so that signals reach it"


def test_without_a_program(tmp_path):
    done = subprocess.run([*COMMAND, "version"], env=environment(HEADRACE_ENGINE=str(tmp_path / "none")), capture_output=True, text=True)
    assert done.returncode == 1
    assert "no such file" in done.stderr
    Path(tmp_path / "text").write_text("")
    done = subprocess.run([*COMMAND, "version"], env=environment(HEADRACE_ENGINE=str(tmp_path / "text")), capture_output=True, text=True)
    assert done.returncode == 1
    assert "Permission denied" in done.stderr
